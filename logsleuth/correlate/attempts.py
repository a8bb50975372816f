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
    """Each event of one source with its place.

    A launcher's banner that nothing but remarks follows was only printed late.
    """
    launch = attempt = 0
    ended = False
    places: list[Place] = []
    failures = _failures(events)
    last = max((n for n, e in enumerate(events) if not _is_launch(e) and e.role != "benign"), default=-1)
    for number, event in enumerate(events):
        fact = event.fact
        if _is_launch(event):
            if ended and number < last:
                launch, attempt, ended = launch + 1, 0, False
        elif isinstance(fact, ProcessExit | RunEnd | Scheduler):
            ended = True
        places.append((launch, attempt if event.origin.attempt is None else event.origin.attempt))
        if isinstance(fact, AttemptStart) and not fact.launch:
            attempt = fact.attempt if fact.attempt is not None else attempt + 1
        elif id(event) in failures:
            attempt = max(attempt, failures[id(event)])
    return [((place[0] - launch, place[1]), event) for place, event in zip(places, events, strict=True)]


def _is_launch(event: Event) -> bool:
    return isinstance(event.fact, AttemptStart) and event.fact.launch


def _failures(events: Sequence[Event]) -> dict[int, int]:
    """After which line of an agent which attempt begins: an agent tells of one failed worker group an attempt.

    Without INFO logs that is the only sign of a restart. The last failure is followed by none.
    """
    told: dict[int, list[Event]] = {}
    restarts_told = any(isinstance(e.fact, AttemptStart) and not e.fact.launch for e in events)
    for event in events:
        by_agent = event.origin.role == "agent" and event.origin.pid is not None
        if isinstance(event.fact, ProcessExit) and event.fact.by == "torchelastic" and by_agent and not restarts_told:
            told.setdefault(event.origin.pid or 0, []).append(event)
    return {id(event): number for of_agent in told.values() for number, event in enumerate(of_agent[:-1], 1)}


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
