"""Process ends that mean something: not a clean end, not the launcher's own SIGTERM, not an abort after a watchdog."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from logsleuth.catalog.spec import Catalog
from logsleuth.diagnose.blame import culprit_of, ranks_text, tasks_are_ranks
from logsleuth.diagnose.exceptions import reading
from logsleuth.model.diagnosis import Culprit
from logsleuth.model.events import (
    CollectiveMismatch,
    CollectiveTimeout,
    CudaError,
    Event,
    MemoryExhausted,
    MonitoredBarrier,
    NcclError,
    NcclWarn,
    PeerLost,
    ProcessAborted,
    ProcessExit,
    PythonException,
    Setup,
    SignalReceived,
    SignalSent,
    StorageError,
    StoreError,
    WatchdogStuck,
)
from logsleuth.model.job import JobView
from logsleuth.model.timeline import ProcessTimeline

#: exit code -> signal, as torchelastic (negative) and shells (128+n) print it.
_SIGNALS = {
    1: "SIGHUP",
    2: "SIGINT",
    4: "SIGILL",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    11: "SIGSEGV",
    15: "SIGTERM",
}
#: torchelastic waits 30 s between SIGTERM and SIGKILL; a later failure is another story.
_PATIENCE_S = (20, 120)
#: Signals that a process's own code brings upon it.
CRASHES = frozenset({"SIGSEGV", "SIGILL", "SIGFPE"})
_FROM_OUTSIDE = frozenset({"SIGTERM", "SIGHUP", "SIGINT"})
#: What a process says of its own failure before it exits with a code.
_SELF_EXPLAINING = (
    CollectiveTimeout,
    CollectiveMismatch,
    MonitoredBarrier,
    PeerLost,
    StoreError,
    CudaError,
    MemoryExhausted,
    NcclError,
    NcclWarn,
    StorageError,
    Setup,
)


def signal_of(fact: ProcessExit) -> str | None:
    """The signal that ended a process, from its name or exit code."""
    if fact.signal is not None:
        return fact.signal
    code = fact.exit_code
    if code is None:
        return None
    if code < 0:
        return _SIGNALS.get(-code)
    return _SIGNALS.get(code - 128) if 128 < code < 160 else None


def deaths(job: JobView, catalog: Catalog) -> list[tuple[Event, ProcessExit]]:
    """Exits that were not clean and that no launcher caused, in the order told.

    Left out: an abort after a watchdog, and an exit that an exception of the same process explains.
    """
    aborted = any(True for _ in job.of(CollectiveTimeout, WatchdogStuck, ProcessAborted, NcclError))
    sent = {fact.pid: event for event, fact in job.of(SignalSent) if fact.pid is not None}
    killed = {f.pid for _, f in job.of(SignalSent) if f.signal == "SIGKILL"}
    telling = _self_explaining(job, catalog)
    explained = {job.rank(e) for e in telling}
    raised = {e.origin.pid for e in telling if isinstance(e.fact, PythonException)}
    actors = {f.pid for _, f in job.of(ProcessExit, by="ray") if f.pid is not None}
    found = []
    for event, fact in job.of(ProcessExit):
        signal = signal_of(fact)
        if (
            fact.exit_code == 0
            or (signal in _FROM_OUTSIDE and not _alone(job, fact))
            or (signal is None and fact.exit_code is None and fact.text is None)
        ):
            continue
        if aborted and (signal == "SIGABRT" or (signal is None and fact.exit_code is None and not _before(job, event))):
            continue
        if fact.pid in sent and (signal is None or sent[fact.pid].fact.signal == signal):  # type: ignore[attr-defined]
            continue
        if signal == "SIGKILL" and (fact.pid in killed or _long_after(job, event, fact)):
            continue
        if signal is None and fact.pid is not None and fact.pid in raised:
            continue
        if fact.by == "ray" and fact.pid is None and actors and actors <= raised:
            continue
        if signal is None and (fact.exit_code or 0) > 0 and explained:
            rank = rank_that_died(job, fact)
            if rank is None or rank in explained or None in explained:
                continue
        found.append((event, fact))
    return found


def _long_after(job: JobView, event: Event, fact: ProcessExit) -> bool:
    """Whether torchelastic's table dates a kill so long after its first failure that the launcher itself sent it: to a
    worker that had not listened to SIGTERM."""
    told = _table_time(fact)
    if told is None or fact.first_observed:
        return False
    least, most = _PATIENCE_S
    return any(
        least <= (told - time).total_seconds() <= most
        for e, f in job.of(ProcessExit, by="torchelastic")
        if e.locator.source == event.locator.source and f.host == fact.host and (time := _table_time(f)) is not None
    )


def _table_time(fact: ProcessExit) -> datetime | None:
    try:
        return datetime.strptime(fact.time or "", "%Y-%m-%d_%H:%M:%S")
    except ValueError:
        return None


def _before(job: JobView, event: Event) -> bool:
    """Whether a death that is told without code or signal came before the processes were taken down."""
    return all(job.precedes(event, other) for other, _ in job.of(CollectiveTimeout, WatchdogStuck, ProcessAborted))


def _alone(job: JobView, fact: ProcessExit) -> bool:
    """Whether a launcher saw this process end by a signal first, and had sent none itself: somebody else did."""
    sent = {f.pid for _, f in job.of(SignalSent)}
    told = any(True for _ in job.of(SignalReceived))
    return fact.first_observed and fact.pid is not None and fact.pid not in sent and not told and bool(sent)


def _self_explaining(job: JobView, catalog: Catalog) -> list[Event]:
    """Exceptions, and failures that processes report, which end in an exit with a code.

    One whose rank is not known may be any process's.
    """
    told = [e for e, _ in job.of(*_SELF_EXPLAINING) if e.role in ("cause", "symptom")]
    return told + [e for e, f in job.of(PythonException) if reading(f, catalog) != "launcher"]


def first_deaths(job: JobView, catalog: Catalog) -> list[tuple[Event, ProcessExit]]:
    """The deaths that the launchers saw first: before a scheduler's or launcher's clean-up in the same source."""
    found = deaths(job, catalog)
    cleanup = {
        event.locator.source: event.locator.start
        for event in reversed(job.events)
        if event.kind == "scheduler" or (isinstance(event.fact, SignalSent) and event.fact.by in ("slurm", "mpi"))
    }
    early = [(e, f) for e, f in found if e.locator.start < cleanup.get(e.locator.source, e.locator.start + 1)]
    return early or found


def rank_that_died(job: JobView, fact: ProcessExit) -> int | None:
    """The global rank of the process that an exit line names: as printed, by its pid, or by its local rank on one
    node."""
    if fact.rank is not None:
        return fact.rank
    by_pid = job.once(_rank_of_pid).get(fact.pid) if fact.pid is not None else None
    if by_pid is not None:
        return by_pid
    if fact.local_rank is not None and one_node(job):
        return fact.local_rank
    if fact.tasks is not None and fact.tasks.isdigit() and tasks_are_ranks(job):
        return int(fact.tasks)
    return None


def _rank_of_pid(job: JobView) -> dict[int, int]:
    """From launchers' tables, which tell both, and from what is known of the processes."""
    ranks = {f.pid: f.rank for _, f in job.of(ProcessExit) if f.pid is not None and f.rank is not None}
    for process in job.processes:
        if process.pid is not None and process.rank is not None:
            ranks.setdefault(process.pid, process.rank)
    return ranks


def one_node(job: JobView) -> bool:
    """Whether the world fits one node, so that a local rank is the global rank."""
    return job.once(_one_node)


def _one_node(job: JobView) -> bool:
    if any(p.rank is not None and p.local_rank is not None and p.rank != p.local_rank for p in job.processes):
        return False
    gpus = job.environment.first("gpu-count")
    size = job.world_size
    machines = job.environment.first("nodes")
    if machines is not None:
        return machines == "1"
    if size is not None and (size <= 1 or (gpus is not None and gpus.isdigit() and size <= int(gpus))):
        return True
    return (size is not None and size <= 8 and len(job.hosts) <= 1) or len(job.hosts) == 1


def died(job: JobView, dead: list[tuple[Event, ProcessExit]]) -> tuple[Culprit, ...]:
    """The processes that died, where the text names them; nobody if all of several died alike, or if the log is missing
    that would tell whether it was the first to fail or gave up like others.

    Of several, those that a launcher saw first, those that ended in the same second (it polls one after the other),
    and those that crashed by the same signal: nobody else sends it. A process whose global rank is not known is named
    by its local rank and pid.
    """
    facts: dict[int, ProcessExit] = {}
    for _, fact in dead:
        rank = rank_that_died(job, fact)
        if rank is not None and not _would_tell(job, rank, fact):
            facts.setdefault(rank, fact)
    first = {f.rank for _, f in dead if f.first_observed and f.rank in facts}
    crashes = {signal_of(facts[rank]) for rank in first if rank is not None} & CRASHES
    if first and len(facts) > 1:
        facts = {
            rank: f
            for rank, f in facts.items()
            if rank in first or signal_of(f) in crashes or any(_with(f, facts[r]) for r in first if r is not None)
        }
        if _all_alike(job, facts):
            return ()
    elif job.world_size is not None and 1 < job.world_size <= len(facts):
        return ()
    elif len(facts) > 1:
        told = sorted(f.time for f in facts.values() if f.time is not None)
        facts = {rank: f for rank, f in facts.items() if f.time in (None, *told[:1])}
    return tuple(_named(job, rank, fact) for rank, fact in sorted(facts.items())) or _without_rank(dead)


def _with(fact: ProcessExit, first: ProcessExit) -> bool:
    """Whether a failure table dates two ends alike, by a clock of whole seconds, and they ended alike."""
    return fact.time is not None and (fact.time, fact.host, fact.exit_code) == (first.time, first.host, first.exit_code)


def _all_alike(job: JobView, chosen: dict[int, ProcessExit]) -> bool:
    """Whether every rank that the launchers list, or that the world has, is among several that ended alike."""
    listed = {fact.rank for _, fact in job.of(ProcessExit) if fact.rank is not None}
    return len(chosen) > 1 and (job.world_size or 0) <= len(chosen) and listed <= set(chosen)


def _without_rank(dead: list[tuple[Event, ProcessExit]]) -> tuple[Culprit, ...]:
    """The one process that a launcher names by its local rank or pid, where nothing tells its global rank."""
    named = {f.pid: f for _, f in dead if f.rank is None and f.pid}
    if len(named) != 1 or any(f.rank is not None for _, f in dead):
        return ()
    fact = next(iter(named.values()))
    host = None if fact.host in ("0.0.0.0", "127.0.0.1", "localhost") else fact.host
    return (Culprit(local_rank=fact.local_rank, host=host, pid=fact.pid, known_by="the launcher names it"),)


def called(job: JobView, dead: list[tuple[Event, ProcessExit]], culprits: tuple[Culprit, ...]) -> str:
    """What to call the dead in a sentence: by rank, all together where they ended alike, by local rank, by pid."""
    ranks = {rank for _, f in dead if (rank := rank_that_died(job, f)) is not None}
    blamed = ranks_text(c.rank for c in culprits)
    if blamed:
        return blamed
    if len(ranks) > 1 and len({(f.exit_code, f.signal) for _, f in dead}) == 1:
        return f"{ranks_text(ranks)} all"
    if len(culprits) != 1:
        return "a process"
    (alone,) = culprits
    if alone.local_rank is None:
        return f"process {alone.pid}"
    return f"local rank {alone.local_rank} (pid {alone.pid})"


def _would_tell(job: JobView, rank: int, fact: ProcessExit) -> bool:
    """Whether a log that was not given would tell why this rank ended by itself, perhaps giving up as others did.

    Other ranks have logs of their own, and these do not tell that they lost a peer that went first.
    """
    own = {p.rank: p.streams for p in job.processes if p.own_source}
    given = rank in own and (not own[rank] or "stderr" in own[rank])
    if given or not own.keys() - {rank}:
        return False
    waited = any(True for _ in job.of(CollectiveTimeout, StoreError, MonitoredBarrier, CollectiveMismatch))
    lost = any(True for _ in job.of(PeerLost)) or any(True for _ in job.of(NcclWarn, what="peer-closed"))
    return signal_of(fact) == "SIGABRT" or (signal_of(fact) is None and (waited or not lost))


def _named(job: JobView, rank: int, fact: ProcessExit) -> Culprit:
    """A rank as its exit line tells it, with what else is known of its process."""
    process = job.by_rank(rank) or ProcessTimeline(f"rank {rank}", rank)
    known = culprit_of(process, "the launcher names it")
    return replace(
        known,
        local_rank=fact.local_rank if fact.local_rank is not None else known.local_rank,
        host=fact.host or known.host,
        pid=fact.pid or known.pid,
    )
