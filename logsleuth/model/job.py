"""What the logs say of the job, put together: the only thing a judgement may look at."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from datetime import datetime, timezone
from typing import Any, TypeVar

from logsleuth.model.events import KINDS, Event, Fact, ProcessExit, Progress
from logsleuth.model.scan import Digest, SourceScan
from logsleuth.model.timeline import ProcessGroup, ProcessTimeline
from logsleuth.record import record

F = TypeVar("F", bound=Fact)
T = TypeVar("T")
#: Processes that write to one console at the same time interleave within about this much text.
INTERLEAVED_BYTES = 32 * 1024
_LATER_STAGES = frozenset(
    {"run-end", "progress", "comm-init", "init-stage", "transport", "collective-timeout", "host-work", "barrier-device"}
)


@record
class Environment:
    """Versions and settings found in the text. ``values`` maps an EnvFact's name to its distinct values, in order seen;
    ``settings`` a variable's name to its distinct values; ``told_by`` the event that first told each of both."""

    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    told_by: Mapping[str, Event] = field(default_factory=dict)

    def first(self, name: str) -> str | None:
        values = self.values.get(name, ())
        return values[0] if values else None


@record
class Coverage:
    """What was seen and what was not. ``ranks_without_log``: below the world size, and never heard of."""

    ranks_seen: tuple[int, ...] = ()
    ranks_silent: tuple[int, ...] = ()
    ranks_without_log: tuple[int, ...] = ()
    world_size: int | None = None
    world_size_known_by: str | None = None
    complete: bool = False


@record
class Attempt:
    """One try of the launcher's: ``index`` from 0, ``launch`` from 0 (separate runs appended to one file)."""

    launch: int
    index: int
    failed: bool
    events: int
    focus: bool = False


@record
class JobView:
    """One attempt of the job in full (the focus), and what is known of the others.

    ``events`` are ordered by source and offset; ``process_of`` maps ``id(event)`` to an index in ``processes``.
    ``last_lines``: by rank, the end of what it printed, masked for numbers and paths.
    ``hung``: the user says that the job hangs. ``yearless``: some of its clocks print no year.
    """

    events: tuple[Event, ...]
    processes: tuple[ProcessTimeline, ...]
    groups: tuple[ProcessGroup, ...]
    environment: Environment
    coverage: Coverage
    attempts: tuple[Attempt, ...]
    scans: tuple[SourceScan, ...]
    process_of: Mapping[int, int]
    last_lines: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    hung: bool = False
    yearless: bool = False
    notes: tuple[str, ...] = ()
    _derived: dict[Callable[[JobView], Any], Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def once(self, derive: Callable[[JobView], T]) -> T:
        """``derive(self)``, worked out at the first call: what several judgements ask of the same job."""
        if derive not in self._derived:
            self._derived[derive] = derive(self)
        return self._derived[derive]  # type: ignore[no-any-return]

    def of(self, *kinds: type[F], **where: Any) -> Iterator[tuple[Event, F]]:
        """Events whose fact is one of ``kinds`` with the given field values (a tuple of values: any of them)."""
        places = self.once(_places_of_types)
        found = [place for kind in kinds for place in places.get(kind, ())]
        for place in found if len(kinds) == 1 else sorted(found):
            event = self.events[place]
            fact: Any = event.fact
            if all(_fits(getattr(fact, name), want) for name, want in where.items()):
                yield event, fact

    def of_kind(self, kind: str) -> Iterator[Event]:
        """Events of a kind, by its name."""
        return (event for event, _ in self.of(KINDS[kind]))

    def process(self, event: Event) -> ProcessTimeline | None:
        """The process that an event belongs to."""
        index = self.process_of.get(id(event))
        return self.processes[index] if index is not None else None

    def rank(self, event: Event) -> int | None:
        """The global rank that printed an event, where it is known."""
        process = self.process(event)
        return process.rank if process is not None else None

    def by_rank(self, rank: int) -> ProcessTimeline | None:
        return self.once(_processes_of_ranks).get(rank)

    def digest(self, source: str) -> Digest:
        return self.once(_digests).get(source, Digest())

    def clock(self, event: Event) -> float | None:
        """The event's time on a scale that all sources of this job share: see :func:`clock`."""
        return clock(event, yearless=self.yearless)

    # --- order -------------------------------------------------------------------------------------------------

    def precedes(self, first: Event, second: Event) -> bool | None:
        """Whether ``first`` came before ``second``; ``None`` where the logs cannot say.

        Within a source the file order decides; between sources whole seconds of the printed clocks, and only a
        difference of at least two of them (hosts' clocks differ).
        """
        if first.locator.source == second.locator.source:
            return first.locator.start < second.locator.start
        apart = self._seconds_apart(first, second)
        return None if apart is None or abs(apart) < 2 else apart > 0

    def clearly_precedes(self, first: Event, second: Event) -> bool:
        """Whether ``first`` came so much earlier that buffering and scheduling cannot have swapped two processes'
        lines.

        Within one process the order of its lines is the order of events.
        """
        if self.process(first) is self.process(second):
            return self.precedes(first, second) is True
        apart = self._seconds_apart(first, second)
        if apart is not None:
            return apart >= 2
        bytes_apart = second.locator.start - first.locator.start
        return first.locator.source == second.locator.source and bytes_apart > INTERLEAVED_BYTES

    def _seconds_apart(self, first: Event, second: Event) -> float | None:
        """How much later ``second`` is; ``None`` where their clocks cannot be compared: without a date, or where one
        prints its zone (a collector in UTC) and the other does not (the process, in the host's own zone)."""
        left, right = self.clock(first), self.clock(second)
        if first.time is None or second.time is None or left is None or right is None:
            return None
        zones_known = (first.time.utc_offset_s is not None, second.time.utc_offset_s is not None)
        return right - left if zones_known[0] == zones_known[1] else None

    def went_on(self, event: Event) -> bool:
        """Whether the process that printed ``event`` made progress or ended well after it, as its source shows.

        Other ranks' progress says nothing: they may have been ahead, or their lines were buffered. A progress bar
        that is only printed again while it is torn down is no progress. Trouble on the way in is also over when a
        later stage was reached.
        """
        stages = _LATER_STAGES if event.kind in ("rendezvous", "store-error") else frozenset({"run-end"})
        signs = self.once(_signs_of_life).get(event.locator.source, [])
        later = signs[bisect_right(signs, event.locator.end, key=_start) :]
        later = [e for e in later if self._may_be_of(e, event)]
        if any(e.kind in stages for e in later):
            return True
        after = [f.step for e in later if isinstance(f := e.fact, Progress)]
        if not after:
            return False
        earlier = signs[: bisect_right(signs, event.locator.start - 1, key=_start)]
        before = [f.step for e in earlier if isinstance(f := e.fact, Progress) and self._may_be_of(e, event)]
        reached = max((step for step in before if step is not None), default=0)
        advanced = {step for step in after if step is not None and step > reached}
        needed = 1 if not self.died else 2
        return len(advanced) >= needed or (not self.died and len(after) > 1 and None in after)

    def _may_be_of(self, other: Event, event: Event) -> bool:
        """Whether ``other`` may come from the process that printed ``event``."""
        mine, its = self.process(event), self.process(other)
        if mine is its or mine is None or its is None:
            return True
        if (mine.rank is not None and its.rank is not None) or (mine.pid is not None and its.pid is not None):
            return False
        return not self.died

    @property
    def died(self) -> bool:
        """Whether a launcher saw a process fail."""
        return self.once(_died)

    @property
    def world_size(self) -> int | None:
        return self.coverage.world_size

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(sorted({p.host for p in self.processes if p.host}))


def _places_of_types(job: JobView) -> dict[type[Fact], list[int]]:
    places: dict[type[Fact], list[int]] = {}
    for place, event in enumerate(job.events):
        places.setdefault(type(event.fact), []).append(place)
    return places


def _processes_of_ranks(job: JobView) -> dict[int, ProcessTimeline]:
    found: dict[int, ProcessTimeline] = {}
    for process in job.processes:
        if process.rank is not None:
            found.setdefault(process.rank, process)
    return found


def _signs_of_life(job: JobView) -> dict[str, list[Event]]:
    """Per source, in order, the events that may show that a process went on."""
    signs: dict[str, list[Event]] = {}
    for event in job.events:
        if event.kind in _LATER_STAGES:
            signs.setdefault(event.locator.source, []).append(event)
    return signs


def _start(event: Event) -> int:
    return event.locator.start


def _digests(job: JobView) -> dict[str, Digest]:
    return {scan.source.id: scan.digest for scan in job.scans}


def _died(job: JobView) -> bool:
    return any(e.role != "benign" and (f.exit_code or f.signal) for e, f in job.of(ProcessExit))


def clock(event: Event, *, yearless: bool = False) -> float | None:
    """Seconds of the event's printed time, comparable between sources of one job; ``None`` without a date.

    ``yearless``: some clocks of the job print no year, so all are counted from the beginning of their year.
    """
    stamp = event.time
    if stamp is None or stamp.seconds is None or not stamp.has_date:
        return None
    if not stamp.has_year:
        return stamp.seconds
    if not yearless:
        return stamp.seconds
    year = datetime.fromtimestamp(stamp.seconds, tz=timezone.utc).year
    return stamp.seconds - datetime(year, 1, 1, tzinfo=timezone.utc).timestamp()


def ordered(events: Iterable[Event]) -> tuple[Event, ...]:
    """By source and place in it."""
    return tuple(sorted(events, key=lambda e: (e.locator.source, e.locator.start, e.pattern, e.locator.end)))


def _fits(value: Any, want: Any) -> bool:
    return value in want if isinstance(want, tuple) else value == want
