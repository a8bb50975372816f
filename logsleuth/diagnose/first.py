"""Which of many events came first, in time that grows with their number and not with its square."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import TypeAlias

from logsleuth.model.events import Event
from logsleuth.model.job import JobView

#: Events that are compared by one value: what they are compared in, the value, and whose events are compared.
_Lane: TypeAlias = tuple[tuple[Hashable, ...], float, Hashable]


def first_of(job: JobView, events: Iterable[Event]) -> list[Event]:
    """The events that none of the others clearly precedes: the first of each process, as far as the clocks can tell.

    An event needs to be held only against the earliest of each lane that it can be compared in, and against the
    earliest of another holder, as the very earliest may be its own.
    """
    pool = list(events)
    earliest: dict[tuple[Hashable, ...], dict[Hashable, tuple[float, int]]] = {}
    for number, event in enumerate(pool):
        for lane, value, holder in _lanes(job, event):
            holders = earliest.setdefault(lane, {})
            holders[holder] = min(holders.get(holder, (value, number)), (value, number))
    leading = {lane: [pool[number] for _, number in sorted(h.values())[:2]] for lane, h in earliest.items()}
    return [
        event
        for event in pool
        if not any(
            other is not event and job.clearly_precedes(other, event)
            for lane in _compared_in(job, event)
            for other in leading.get(lane, ())
        )
    ]


def _lanes(job: JobView, event: Event) -> Iterator[_Lane]:
    """By place in the source and by clock: within a process, and among processes."""
    process, source, clock = job.process_of.get(id(event)), event.locator.source, job.clock(event)
    kind = _kind_of_clock(job, event)
    yield ("own place", process, source), event.locator.start, None
    yield ("place", source, kind), event.locator.start, process
    if clock is not None:
        yield ("own clock", process, kind), clock, source
        yield ("clock", kind), clock, process


def _compared_in(job: JobView, event: Event) -> Iterator[tuple[Hashable, ...]]:
    process, source, kind = job.process_of.get(id(event)), event.locator.source, _kind_of_clock(job, event)
    yield "own place", process, source
    yield "own clock", process, kind
    yield "clock", kind
    for other in ("none", "zoned", "local"):
        yield "place", source, other


def _kind_of_clock(job: JobView, event: Event) -> str:
    if event.time is None or job.clock(event) is None:
        return "none"
    return "zoned" if event.time.utc_offset_s is not None else "local"
