"""Ctrl-C while logs are read: reading ends where it is, and what was read so far is used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import BinaryIO, cast

from logsleuth.model.scan import Digest, SourceScan
from logsleuth.model.source import Opener, Source

#: Bytes asked for at a time where there may be no end.
PIECE = 1024 * 1024
#: Flags that a source only has because it was not read to its end.
_BY_ITSELF = frozenset({"shrunk", "truncated", "empty"})


@dataclass(slots=True)
class Interruption:
    """``asked``: the user does not want to wait any longer."""

    asked: bool = False

    def listening(self, stream: BinaryIO) -> BinaryIO:
        """``stream``, which ends where Ctrl-C is pressed while somebody waits for its next bytes."""
        return cast(BinaryIO, _Listening(stream, self))


class _Layer:
    """A stream around another, with what readers of logs ask of it."""

    def __init__(self, stream: BinaryIO, interruption: Interruption) -> None:
        self._stream = stream
        self._interruption = interruption

    def close(self) -> None:
        self._stream.close()

    def __enter__(self) -> _Layer:
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        self.close()


class _Listening(_Layer):
    """In the main thread, where Ctrl-C arrives. Bytes are taken as they come: waiting for a full block would lose
    them. After its end it is not read again: a terminal would ask for a second Ctrl-D."""

    ended = False

    def read(self, size: int = -1) -> bytes:
        pieces: list[bytes] = []
        missing = size
        while missing and (piece := self._next(PIECE if missing < 0 else min(PIECE, missing))):
            pieces.append(piece)
            missing -= len(piece) if missing > 0 else 0
        return b"".join(pieces)

    def _next(self, size: int) -> bytes:
        if self.ended or self._interruption.asked:
            return b""
        take: Callable[[int], bytes] = getattr(self._stream, "read1", self._stream.read)
        try:
            piece = take(size)
        except KeyboardInterrupt:
            self._interruption.asked = True
            return b""
        self.ended = not piece
        return piece


class _Stoppable(_Layer):
    """In a thread of its own; ``was_cut``: it was asked for more than it gave."""

    was_cut = False

    def read(self, size: int = -1) -> bytes:
        if self._interruption.asked:
            self.was_cut = True
            return b""
        return self._stream.read(size)


@dataclass(slots=True)
class Stoppable:
    """A source whose reading ends at an interruption."""

    source: Source
    interruption: Interruption
    _streams: list[_Stoppable] = field(default_factory=list)

    def scanned(self, scan: Callable[[Source], SourceScan]) -> SourceScan:
        """What ``scan`` makes of the source, or of as much of it as was read."""
        if self.interruption.asked:
            return _unread(self.source)
        found = replace(scan(replace(self.source, opener=self._open)), source=self.source)
        if not any(stream.was_cut for stream in self._streams):
            return found
        return _unread(self.source) if "unreadable" in found.digest.flags else cut_off(found)

    @property
    def _open(self) -> Opener:
        def opened() -> BinaryIO:
            stream = _Stoppable(self.source.opener(), self.interruption)
            self._streams.append(stream)
            return cast(BinaryIO, stream)

        return opened


def cut_off(scan: SourceScan) -> SourceScan:
    """The scan of a source that goes on."""
    return replace(scan, digest=replace(scan.digest, flags=scan.digest.flags - _BY_ITSELF | {"interrupted"}))


def _unread(source: Source) -> SourceScan:
    return SourceScan(source, (), Digest(flags=frozenset({"interrupted"})))
