"""The catalog's patterns arranged for scanning: anchor -> patterns, and one prefilter over all anchors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from logsleuth.catalog.spec import PatternSpec
from logsleuth.scan.prefilter import Prefilter, prefilter

#: Lines with one of these that no pattern reads are counted as unknown trouble.
ERROR_WORDS = (
    b"Error",
    b"ERROR",
    b"error:",
    b"Exception",
    b"FATAL",
    b"Fatal",
    b"fatal",
    b" failed",
    b"FAILED",
    b"panic",
    b"Killed",
)


@dataclass(frozen=True, slots=True)
class PatternIndex:
    """``patterns_of[i]`` are the patterns that anchor ``i`` may announce; empty for an error word."""

    anchors: tuple[bytes, ...]
    patterns_of: tuple[tuple[PatternSpec, ...], ...]
    engine: Prefilter


def build_index(patterns: Iterable[PatternSpec], engine: str | None = None) -> PatternIndex:
    """``engine``: one of ``prefilter.ENGINES``; the fastest at hand if ``None``."""
    by_anchor: dict[bytes, list[PatternSpec]] = {word: [] for word in ERROR_WORDS}
    for pattern in patterns:
        for anchor in pattern.anchors:
            by_anchor.setdefault(anchor.encode(), []).append(pattern)
    anchors: Sequence[bytes] = tuple(by_anchor)
    return PatternIndex(tuple(anchors), tuple(tuple(by_anchor[a]) for a in anchors), prefilter(anchors, engine))
