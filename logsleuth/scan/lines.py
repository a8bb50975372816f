"""Physical lines, pieces of them, and the following lines of the same origin, out of a window of bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from logsleuth.model.origin import Origin
from logsleuth.scan.extract import LONGEST_TEXT
from logsleuth.sources.blocks import Window
from logsleuth.sources.prefixes import Prefixed, read_prefix

#: ``==> rank3.log <==``: here another file begins.
FILE_HEADER = "==> "


@dataclass(frozen=True, slots=True)
class Piece:
    """A physical line, or a part of a very long one; ``start``/``end`` are offsets in the window's data."""

    start: int
    end: int
    text: str


def piece_at(data: bytes, at: int) -> Piece:
    """The physical line around offset ``at``; of a line longer than LONGEST_TEXT the part between carriage returns."""
    return piece_of(data, *span_at(data, at))


def piece_of(data: bytes, start: int, end: int) -> Piece:
    """``data[start:end]``, which ``span_at`` gave."""
    return Piece(start, end, data[start:end].decode("utf-8", "replace").rstrip("\r"))


def span_at(data: bytes, at: int) -> tuple[int, int]:
    """Where ``piece_at`` begins and ends: most lines with a hit are only counted."""
    floor = max(0, at - LONGEST_TEXT)
    start = data.rfind(b"\n", floor, at) + 1 or floor
    end = data.find(b"\n", at, start + LONGEST_TEXT)
    if end < 0 and start + LONGEST_TEXT < len(data):
        start = max(start, data.rfind(b"\r", floor, at) + 1)
        limit = min(len(data), at + LONGEST_TEXT)
        stops = [stop for stop in (data.find(b"\n", at, limit), data.find(b"\r", at, limit)) if stop >= 0]
        end = min(stops, default=limit)
    return start, len(data) if end < 0 else end


def next_line(data: bytes, end: int) -> Piece | None:
    """The physical line after offset ``end``."""
    start = data.find(b"\n", end) + 1
    if start <= 0 or start >= len(data):
        return None
    stop = data.find(b"\n", start)
    stop = len(data) if stop < 0 else stop
    return Piece(start, stop, data[start : min(stop, start + LONGEST_TEXT)].decode("utf-8", "replace").rstrip("\r"))


def previous_line(data: bytes, start: int) -> Piece | None:
    """The physical line before the one that begins at ``start``."""
    stop = data.rfind(b"\n", 0, start)
    if stop < 0:
        return None
    begin = data.rfind(b"\n", 0, stop) + 1
    return Piece(begin, stop, data[max(begin, stop - LONGEST_TEXT) : stop].decode("utf-8", "replace").rstrip("\r"))


def following(window: Window, piece: Piece, head: Prefixed, most: int) -> Iterator[tuple[Piece, str]]:
    """The next lines that carry the same prefixes as ``piece``, peeled: at most ``most``, looking at four times as
    many.

    Lines of other ranks in between are passed over; that is how an interleaved block is read.
    """
    raw_prefix = piece.text[: len(piece.text) - len(head.text)] if piece.text.endswith(head.text) else None
    line = piece
    given = 0
    for _ in range(4 * most):
        after = next_line(window.data, line.end)
        if after is None or after.text.startswith(FILE_HEADER):
            return
        line = after
        text = _same_origin(line.text, raw_prefix, head)
        if text is not None:
            yield line, text
            given += 1
            if given >= most:
                return


def _same_origin(text: str, raw_prefix: str | None, head: Prefixed) -> str | None:
    if raw_prefix and text.startswith(raw_prefix):
        return text[len(raw_prefix) :]
    if not head.key and (not text or text[0].isspace()):
        return text
    prefixed = read_prefix(text)
    return prefixed.text if prefixed.key == head.key and not _differ(prefixed.origin, head.origin) else None


def _differ(one: Origin, other: Origin) -> bool:
    """Whether two lines are known to come from different processes: a C++ header is no part of the key."""
    return any(
        None not in (left, right) and left != right
        for left, right in ((one.rank, other.rank), (one.pid, other.pid), (one.local_rank, other.local_rank))
    )
