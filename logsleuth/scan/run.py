"""Scan one source: the reader is chosen by content, and what goes wrong becomes part of the digest."""

from __future__ import annotations

from logsleuth.model.scan import Digest, SourceScan
from logsleuth.model.source import Source
from logsleuth.scan.index import PatternIndex
from logsleuth.scan.readers.text import scan_text


def scan_source(source: Source, index: PatternIndex) -> SourceScan:
    """Everything that later stages get from ``source``. Never raises for bad input: the digest's flags and notes
    tell."""
    try:
        events, digest = scan_text(source, index)
    except FileNotFoundError:
        return _unread(source, "vanished", f"{source.name}: vanished before it could be read")
    except (OSError, EOFError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return _unread(source, "unreadable", f"{source.name}: cannot be read: {reason}")
    return SourceScan(source, tuple(events), digest)


def _unread(source: Source, flag: str, note: str) -> SourceScan:
    return SourceScan(source, (), Digest(flags=frozenset({flag}), notes=(note,)))
