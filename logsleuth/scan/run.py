"""Scan one source: the reader is chosen by content, and what goes wrong becomes part of the digest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import BinaryIO, cast

from logsleuth.model.events import Event
from logsleuth.model.scan import Digest, SourceScan
from logsleuth.model.source import Source
from logsleuth.scan.index import PatternIndex
from logsleuth.scan.readers.error_json import is_error_json, scan_error_json
from logsleuth.scan.readers.recorder import is_recorder, scan_recorder
from logsleuth.scan.readers.text import scan_text
from logsleuth.sources.streams import damage_of

#: Bytes that readers are shown to recognise their form.
HEAD_BYTES = 64 * 1024
#: Tried in this order; what none of them recognises is text.
_STRUCTURED = ((is_recorder, scan_recorder), (is_error_json, scan_error_json))


def scan_source(source: Source, index: PatternIndex) -> SourceScan:
    """Everything that later stages get from ``source``. Never raises for bad input: the digest's flags and notes
    tell."""
    try:
        events, digest = _read(source, index)
    except FileNotFoundError:
        return _unread(source, "vanished", f"{source.name}: vanished before it could be read")
    except (OSError, EOFError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return _unread(source, "unreadable", f"{source.name}: cannot be read: {reason}")
    return SourceScan(source, tuple(events), digest)


def _read(source: Source, index: PatternIndex) -> tuple[list[Event], Digest]:
    stream = source.opener()
    try:
        head = stream.read(HEAD_BYTES)
        # Opened once: a member of a compressed archive would be unpacked from the archive's beginning a second time.
        opened = replace(source, opener=lambda: cast(BinaryIO, _FromHead(head, stream)))
        for recognises, scan in _STRUCTURED:
            if recognises(head, source.name):
                return scan(opened)
        events, digest = scan_text(opened, index)
        damage = damage_of(stream)
        return events, _damaged(digest, source, damage) if damage is not None else digest
    finally:
        stream.close()


def _damaged(digest: Digest, source: Source, damage: str) -> Digest:
    return replace(digest, flags=digest.flags | {"truncated"}, notes=(*digest.notes, f"{source.name}: {damage}"))


@dataclass(slots=True)
class _FromHead:
    """A stream whose first bytes were read already and are given again."""

    head: bytes
    rest: BinaryIO

    def read(self, size: int) -> bytes:
        given, self.head = self.head[:size], self.head[size:]
        return given or self.rest.read(size)

    def __enter__(self) -> _FromHead:
        return self

    def __exit__(self, *_: object) -> None:
        self.rest.close()


def _unread(source: Source, flag: str, note: str) -> SourceScan:
    return SourceScan(source, (), Digest(flags=frozenset({flag}), notes=(note,)))
