"""Processes and ranks -> culprits, and events -> evidence."""

from __future__ import annotations

from collections.abc import Iterable

from logsleuth.model.diagnosis import Culprit, Evidence
from logsleuth.model.events import (
    AttemptStart,
    CollectiveTimeout,
    Event,
    KernelMessage,
    MemoryExhausted,
    NativeCrash,
    NcclError,
    ProcessExit,
    PythonException,
    Scheduler,
    Xid,
)
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
    """The distinct processes that ``events`` speak of: that printed them, or whose pid or task a kernel or launcher
    names.

    A kernel line that fits no process blames its host and device.
    """
    found: dict[str, Culprit] = {}
    for event in events:
        process = _named_by(job, event) or job.process(event)
        fact = event.fact
        if process is not None and process.rank is not None:
            found.setdefault(process.key, culprit_of(process))
        elif isinstance(fact, Xid):
            found.setdefault(f"{fact.host}{fact.pci}", Culprit(host=fact.host or event.origin.host, pci=fact.pci))
        elif isinstance(fact, MemoryExhausted | KernelMessage | NativeCrash) and (fact.pid is not None):
            host = getattr(fact, "host", None) or event.origin.host
            found.setdefault(f"pid {host}/{fact.pid}", Culprit(host=host, pid=fact.pid, known_by="the kernel names it"))
        elif process is not None and process.host is not None and process.role == "worker":
            found.setdefault(process.key, culprit_of(process))
    return tuple(sorted(found.values(), key=lambda c: (c.rank is None, c.rank or 0, c.host or "")))


def _named_by(job: JobView, event: Event) -> ProcessTimeline | None:
    """The process of a rank whose pid or task an event of a kernel, a launcher or a scheduler names."""
    fact = event.fact
    pid = getattr(fact, "pid", None)
    if isinstance(fact, MemoryExhausted | KernelMessage | NativeCrash | Xid) and pid is not None:
        ranks = {f.rank for _, f in job.of(ProcessExit) if f.pid == pid and f.rank is not None}
        ranks |= {p.rank for p in job.processes if p.pid == pid and p.rank is not None}
        return job.by_rank(next(iter(ranks))) or ProcessTimeline(f"rank {min(ranks)}", min(ranks)) if ranks else None
    tasks = getattr(fact, "tasks", None)
    if isinstance(fact, Scheduler) and tasks is not None and tasks.isdigit() and tasks_are_ranks(job):
        return job.by_rank(int(tasks)) or ProcessTimeline(f"rank {tasks}", int(tasks), known_by="the launcher names it")
    return None


def tasks_are_ranks(job: JobView) -> bool:
    """Whether a launcher's tasks are the ranks themselves, and not nodes that each run torchrun."""
    elastic = any(True for _ in job.of(AttemptStart)) or any(True for _ in job.of(ProcessExit, by="torchelastic"))
    return not elastic


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
    seen = {primary.locator.place}
    for event, phrase in related:
        if event.locator.place not in seen:
            seen.add(event.locator.place)
            given.append(Evidence(event, phrase))
    return tuple(given[:MOST_EVIDENCE])


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


def capital(text: str) -> str:
    """``text`` as the beginning of a sentence: ``Rank 3 raised``."""
    return text[:1].upper() + text[1:]
