"""Restarts and launches: which events belong together.

Restarts within one launch: lead with the first failing attempt. Launches appended to one file: lead with the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from logsleuth.model.events import AttemptStart, Event, ProcessExit, RunEnd, Scheduler
from logsleuth.model.job import Attempt, ordered

#: (launch, attempt); launches count backwards from 0, the last, so that sources that saw fewer of them line up.
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Split:
    """``events`` of the attempt to lead with, and what the others were."""

    events: tuple[Event, ...]
    attempts: tuple[Attempt, ...]


def split(events: Iterable[Event], wanted: int | None = None) -> Split:
    """The events of the attempt to lead with; ``wanted`` is the index of an attempt that the user asks for."""
    placed: list[tuple[Place, Event]] = []
    for _, of_source in groupby(ordered(events), key=lambda e: e.locator.source):
        placed += _placed(list(of_source))
    by_place: dict[Place, list[Event]] = {}
    for place, event in placed:
        by_place.setdefault(place, []).append(event)
    failing = [place for place in sorted(by_place) if any(_fails(event) for event in by_place[place])]
    focus = _focus(sorted(by_place), failing, wanted)
    first = min((place[0] for place in by_place), default=0)
    attempts = tuple(
        Attempt(place[0] - first, place[1], place in failing, len(by_place[place]), place == focus)
        for place in sorted(by_place)
    )
    return Split(ordered(by_place[focus]) if focus is not None else (), attempts)


def _placed(events: Sequence[Event]) -> list[tuple[Place, Event]]:
    """Each event of one source with its place."""
    launch = attempt = 0
    ended = False
    places: list[Place] = []
    for event in events:
        fact = event.fact
        if isinstance(fact, AttemptStart) and fact.launch:
            if ended:
                launch, attempt, ended = launch + 1, 0, False
        elif isinstance(fact, ProcessExit | RunEnd | Scheduler):
            ended = True
        places.append((launch, attempt if event.origin.attempt is None else event.origin.attempt))
        if isinstance(fact, AttemptStart) and not fact.launch:
            attempt = fact.attempt if fact.attempt is not None else attempt + 1
    return [((place[0] - launch, place[1]), event) for place, event in zip(places, events, strict=True)]


def _fails(event: Event) -> bool:
    return event.role in ("cause", "symptom") and event.kind not in (
        "signal-sent",
        "store-error",
        "peer-lost",
        "nccl-warn",
    )


def _focus(places: Sequence[Place], failing: Sequence[Place], wanted: int | None) -> Place | None:
    of_last = [place for place in places if place[0] == 0]
    if wanted is not None:
        of_last = [place for place in of_last if place[1] == wanted] or of_last
    failed = [place for place in of_last if place in failing]
    return failed[0] if failed else (of_last[-1] if of_last else None)
