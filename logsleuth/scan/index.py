"""The catalog's patterns arranged for scanning: anchor -> patterns, and one prefilter over all anchors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from logsleuth.catalog.spec import PatternSpec
from logsleuth.scan.lines import FILE_HEADER
from logsleuth.scan.prefilter import Prefilter, prefilter
from logsleuth.scan.vocabulary import Vocabulary

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
    """``patterns_of[i]`` are the patterns that anchor ``i`` may announce; empty for an error word.

    The rest is what the scan asks of them for each hit, worked out once: ``read_at_once`` are those of
    ``patterns_of[i]`` that are read where they stand, ``latest_ids`` the ids of the others, of which the last hits
    alone are read (``latest`` holds these patterns by id); ``error_like[i]``: a line with anchor ``i`` looks like
    trouble. ``file_header`` is the number of the anchor FILE_HEADER. ``vocabulary``: the words of all messages.
    """

    anchors: tuple[bytes, ...]
    patterns_of: tuple[tuple[PatternSpec, ...], ...]
    engine: Prefilter
    read_at_once: tuple[tuple[PatternSpec, ...], ...]
    latest_ids: tuple[tuple[str, ...], ...]
    error_like: tuple[bool, ...]
    latest: Mapping[str, PatternSpec]
    file_header: int
    vocabulary: Vocabulary


def build_index(patterns: Iterable[PatternSpec], engine: str | None = None) -> PatternIndex:
    """``engine``: one of ``prefilter.ENGINES``; the fastest at hand if ``None``."""
    by_anchor: dict[bytes, list[PatternSpec]] = {word: [] for word in (*ERROR_WORDS, FILE_HEADER.encode())}
    for pattern in patterns:
        for anchor in dict.fromkeys(pattern.anchors):
            by_anchor.setdefault(anchor.encode(), []).append(pattern)
    anchors: Sequence[bytes] = tuple(by_anchor)
    patterns_of = tuple(tuple(by_anchor[anchor]) for anchor in anchors)
    return PatternIndex(
        anchors=tuple(anchors),
        patterns_of=patterns_of,
        engine=prefilter(anchors, engine),
        read_at_once=tuple(tuple(p for p in each if p.keep != "latest-per-key") for each in patterns_of),
        latest_ids=tuple(tuple(p.id for p in each if p.keep == "latest-per-key") for each in patterns_of),
        error_like=tuple(anchor in ERROR_WORDS for anchor in anchors),
        latest={p.id: p for each in patterns_of for p in each if p.keep == "latest-per-key"},
        file_header=anchors.index(FILE_HEADER.encode()),
        vocabulary=Vocabulary({p.id: p for each in patterns_of for p in each}.values()),
    )
