"""What is known of a source beyond its events: time span, last lines, unknown trouble."""

from __future__ import annotations

from collections import deque

from logsleuth.model.events import Stamp
from logsleuth.model.masking import masked
from logsleuth.model.origin import Origin
from logsleuth.model.scan import Digest, LastLines, UnknownLine
from logsleuth.scan.lines import Piece
from logsleuth.sources.blocks import Window
from logsleuth.sources.prefixes import read_prefix

MOST_UNKNOWN_KINDS = 50
#: Error-like lines that are looked at per window; the rest is only counted as more of the same.
MOST_UNKNOWN_LOOKS = 200
LINES_OF_TAIL = 3
TAIL_LINES_LOOKED_AT = 400
_HEAD_LINES_LOOKED_AT = 40


class DigestBuilder:
    """Collects the digest while windows go by."""

    def __init__(self) -> None:
        self.bytes_read = 0
        self.flags: set[str] = set()
        self.notes: list[str] = []
        self._first: Stamp | None = None
        self._last: Stamp | None = None
        self._unknown: dict[str, UnknownLine] = {}
        self._looks = 0
        self._tail: Window | None = None

    def window(self, window: Window, bytes_read: int) -> None:
        """Note that ``window`` was scanned, and that so much of the source is read now."""
        if self.bytes_read == 0:
            self._read_head(window)
        self.bytes_read = bytes_read
        self._looks = 0
        self._tail = window

    @property
    def looks_at_unknown(self) -> bool:
        """Whether another error-like line of this window would be looked at."""
        return self._looks < MOST_UNKNOWN_LOOKS

    def unknown(self, piece: Piece, place: int) -> None:
        """An error-like line that no pattern read; it begins at ``place`` in the source."""
        self._looks += 1
        if self._looks > MOST_UNKNOWN_LOOKS:
            return
        text = read_prefix(piece.text).text
        kind = masked(text)
        seen = self._unknown.get(kind)
        if seen is not None:
            self._unknown[kind] = UnknownLine(kind, seen.sample, seen.start, seen.count + 1)
        elif len(self._unknown) < MOST_UNKNOWN_KINDS:
            self._unknown[kind] = UnknownLine(kind, text.strip()[:300], place, 1)

    def build(self) -> Digest:
        tails = self._read_tail()
        return Digest(
            bytes_read=self.bytes_read,
            first=self._first,
            last=self._last or self._first,
            tails=tails,
            unknown=tuple(self._unknown.values()),
            flags=frozenset(self.flags),
            notes=tuple(self.notes),
        )

    def _read_head(self, window: Window) -> None:
        head = window.data[: 16 * 1024]
        if b"\0" in head and head.count(b"\0") > len(head) // 10:
            self.flags.add("binary")
        for line in head.decode("utf-8", "replace").splitlines()[:_HEAD_LINES_LOOKED_AT]:
            stamp = read_prefix(line).stamp
            if stamp is not None and stamp.seconds is not None:
                self._first = stamp
                return

    def _read_tail(self) -> tuple[LastLines, ...]:
        if self._tail is None:
            return ()
        data = self._tail.data
        if data and not data.endswith(b"\n"):
            self.flags.add("truncated")
        lines = data[-64 * 1024 :].decode("utf-8", "replace").splitlines()[-TAIL_LINES_LOOKED_AT:]
        by_key: dict[str, tuple[Origin, deque[str]]] = {}
        for line in lines:
            prefixed = read_prefix(line)
            if prefixed.stamp is not None and prefixed.stamp.seconds is not None:
                self._last = prefixed.stamp
            if prefixed.text.strip():
                entry = by_key.setdefault(prefixed.key, (prefixed.origin, deque(maxlen=LINES_OF_TAIL)))
                entry[1].append(masked(prefixed.text))
        return tuple(LastLines(origin, tuple(texts)) for origin, texts in by_key.values())
