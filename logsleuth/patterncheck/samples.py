"""Every sample of a pattern through the whole extraction engine: as a file of its own, beside all other patterns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from logsleuth.catalog.spec import Catalog, PatternSpec
from logsleuth.model.events import Event, Fact
from logsleuth.model.source import Source
from logsleuth.patterncheck.place import place
from logsleuth.scan.extract import ORIGIN_GROUPS
from logsleuth.scan.index import PatternIndex, build_index
from logsleuth.scan.readers.text import scan_text
from logsleuth.sources.openers import HeldBytes


def sample_faults(catalog: Catalog, only: Iterable[str] = ()) -> list[str]:
    """``path:line: sentence`` for each sample that is not read as its file says, and each near miss that is read.

    ``only``: ids of patterns; all of them where empty.
    """
    index = build_index(catalog.patterns.values())
    chosen = [catalog.patterns[name] for name in only] or list(catalog.patterns.values())
    return sorted(fault for pattern in chosen for fault in _faults(pattern, index))


def read_events(text: str, index: PatternIndex) -> list[Event]:
    """What the engine reads in a file that holds ``text`` alone."""
    data = text.encode() + b"\n"
    return scan_text(Source(id="sample", name="sample", opener=HeldBytes(data), size=len(data)), index)[0]


def facts_of_samples(pattern: PatternSpec) -> list[Fact]:
    """The facts that a pattern yields on its own samples."""
    index = build_index([pattern], "find")
    return [event.fact for sample in pattern.samples for event in read_events(sample.text, index)]


def _faults(pattern: PatternSpec, index: PatternIndex) -> Iterator[str]:
    for number, sample in enumerate(pattern.samples, 1):
        events = [event for event in read_events(sample.text, index) if event.pattern == pattern.id]
        wrong = [_differences(event, sample.expect) for event in events]
        if not events:
            yield f"{place(pattern.path, 'samples', number)}: sample {number}: nothing is read"
        elif all(wrong):
            nearest = sorted(wrong, key=len)[0]
            yield f"{place(pattern.path, 'samples', number)}: sample {number}: {'; '.join(nearest)}"
    for number, miss in enumerate(pattern.near_misses, 1):
        if any(event.pattern == pattern.id for event in read_events(miss, index)):
            yield f"{place(pattern.path, 'near_misses', number)}: near miss {number}: is read"


def _differences(event: Event, expect: Mapping[str, Any]) -> list[str]:
    return [
        f"{name} is {have!r}, expected {want!r}"
        for name, want in expect.items()
        if (have := _value(event, name)) != want
    ]


def _value(event: Event, name: str) -> Any:
    if name in ORIGIN_GROUPS:
        return getattr(event.origin, name.removeprefix("o_"))
    value = getattr(event.fact, name, None)
    return list(value) if isinstance(value, tuple) else value
