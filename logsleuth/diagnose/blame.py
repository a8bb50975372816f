"""Processes and ranks -> culprits, and events -> evidence."""

from __future__ import annotations

from collections.abc import Iterable

from logsleuth.model.diagnosis import Culprit, Evidence
from logsleuth.model.events import CollectiveTimeout, Event, NcclError, ProcessExit, PythonException, Xid
from logsleuth.model.job import JobView
from logsleuth.model.timeline import ProcessTimeline

MOST_EVIDENCE = 8


def culprit_of(process: ProcessTimeline, known_by: str | None = None) -> Culprit:
    """A process as a culprit."""
    return Culprit(
        rank=process.rank,
        local_rank=process.local_rank,
        task=process.task,
        host=process.host,
        pid=process.pid,
        known_by=known_by or process.known_by,
    )


def culprits_of_ranks(job: JobView, ranks: Iterable[int], known_by: str) -> tuple[Culprit, ...]:
    """Ranks as culprits, with host and pid where the logs tell them."""
    found = []
    for rank in sorted(set(ranks)):
        process = job.by_rank(rank)
        found.append(culprit_of(process, known_by) if process is not None else Culprit(rank=rank, known_by=known_by))
    return tuple(found)


def culprits_of_events(job: JobView, events: Iterable[Event]) -> tuple[Culprit, ...]:
    """The distinct processes that printed ``events``; a kernel line blames its host and device."""
    found: dict[str, Culprit] = {}
    for event in events:
        process = job.process(event)
        fact = event.fact
        if isinstance(fact, Xid):
            found.setdefault(f"{fact.host}{fact.pci}", Culprit(host=fact.host or event.origin.host, pci=fact.pci))
        elif process is not None and (process.rank is not None or process.host is not None):
            found.setdefault(process.key, culprit_of(process))
    return tuple(sorted(found.values(), key=lambda c: (c.rank is None, c.rank or 0, c.host or "")))


def everybody(job: JobView, ranks: set[int]) -> bool:
    """Whether all ranks of a job of several are among ``ranks``: then the fault is common to them, and none stands
    out."""
    if len(ranks) < 2:
        return False
    if job.world_size is not None:
        return len(ranks) >= job.world_size
    seen = set(job.coverage.ranks_seen)
    return len(seen) > 1 and seen <= ranks


def silent_alike(job: JobView, ranks: set[int]) -> bool:
    """Whether other ranks also ended by themselves with an exit code, and nothing tells why: they may have failed
    alike."""
    told = {job.rank(event) for event, _ in job.of(PythonException, CollectiveTimeout, NcclError)}
    others = {
        f.rank for _, f in job.of(ProcessExit) if f.rank is not None and (f.exit_code or 0) > 0 and f.signal is None
    }
    return len(ranks) > 1 and bool(others - ranks - told)


def evidence(primary: Event, why: str, related: Iterable[tuple[Event, str]] = ()) -> tuple[Evidence, ...]:
    """One primary piece of evidence and related ones, each event once, at most MOST_EVIDENCE."""
    given = [Evidence(primary, why, primary=True)]
    seen = {(primary.locator.source, primary.locator.start)}
    for event, phrase in related:
        place = (event.locator.source, event.locator.start)
        if place not in seen:
            seen.add(place)
            given.append(Evidence(event, phrase))
    return tuple(given[:MOST_EVIDENCE])


def first_of(job: JobView, events: Iterable[Event]) -> list[Event]:
    """The events that none of the others clearly precedes: the first of each process, as far as the clocks can tell."""
    pool = list(events)
    return [
        event for event in pool if not any(job.clearly_precedes(other, event) for other in pool if other is not event)
    ]


def one(rank: int | None) -> str:
    """``rank 3``, or ``another process`` where its rank is unknown."""
    return f"rank {rank}" if rank is not None else "another process"


def ranks_text(ranks: Iterable[int | None]) -> str:
    """``rank 3``, ``ranks 1, 2 and 5``, ``ranks 0-7``; the empty string for none."""
    known = sorted({rank for rank in ranks if rank is not None})
    if not known:
        return ""
    parts: list[str] = []
    start = previous = known[0]
    for rank in [*known[1:], None]:
        if rank is not None and rank == previous + 1:
            previous = rank
            continue
        if previous - start >= 2:
            parts.append(f"{start}-{previous}")
        else:
            parts += [str(r) for r in range(start, previous + 1)]
        if rank is not None:
            start = previous = rank
    text = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"rank {text}" if len(known) == 1 else f"ranks {text}"
