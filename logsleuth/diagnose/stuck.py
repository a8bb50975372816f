"""Works that never finished: who waits in them, who never came, and which of them all the others follow from.

``last enqueued`` is counted after the call returned: ``last enqueued == last completed`` below the stuck number
means that the rank never reached the work, or is blocked inside the call. Sequence numbers count per group and are
never compared across groups.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from logsleuth.diagnose.blame import ranks_text
from logsleuth.model.events import DumpSignal, Event, NcclError, PeerLost, ProcessExit, WatchdogStuck
from logsleuth.model.job import JobView
from logsleuth.model.timeline import GroupState, ProcessGroup, ProcessTimeline

P2P_OPS = frozenset({"SEND", "RECV", "RECVANYSOURCE", "COALESCED"})
#: One rank's part ends before the others': its lead proves nothing.
_ROOTED_OPS = frozenset({"BROADCAST", "REDUCE", "SCATTER", "GATHER"})


@dataclass(frozen=True, slots=True)
class Absent:
    """A rank that did not come. ``how``: ``counters`` (its own numbers are below the stuck work's), ``signal`` (it was
    told of the timeout by another rank and reports none itself), ``own-log`` (its log shows no wait),
    ``elimination``; ``behind``: it came, but its GPU has not finished what its peers have."""

    rank: int
    how: str
    event: Event | None = None
    process: ProcessTimeline | None = None


@dataclass(frozen=True, slots=True)
class StuckWork:
    """One work of one group. ``waiters`` timed out in it; ``absent`` did not come and wait nowhere else;
    ``elsewhere`` did not come because they wait in another work."""

    group: ProcessGroup
    seq: int | None
    waiters: tuple[GroupState, ...]
    absent: tuple[Absent, ...]
    elsewhere: tuple[int, ...]
    everybody_in: bool

    @property
    def op(self) -> str | None:
        return next((w.stuck_op for w in self.waiters if w.stuck_op), None)

    @property
    def first(self) -> GroupState:
        """The waiter to cite: with a timeout line, lowest rank."""
        return min(self.waiters, key=lambda w: (w.timeout is None, w.rank is None, w.rank or 0, w.process))

    @property
    def began_s(self) -> float | None:
        begun = [w.began_s for w in self.waiters if w.began_s is not None]
        return min(begun) if begun else None

    @property
    def what(self) -> str:
        """For people: ``ALLREDUCE, work 1580 of default_pg``."""
        op = self.op or "a collective"
        return f"{op}, work {self.seq} of {self.group.label}" if self.seq is not None else f"{op} of {self.group.label}"

    @property
    def facts(self) -> dict[str, object]:
        """What texts may say of this work."""
        first = self.first
        return {
            "op": self.op,
            "seq": self.seq,
            "group": self.group.label,
            "timeout_ms": first.timeout_ms,
            "timeout_s": first.timeout_ms // 1000 if first.timeout_ms else None,
            "numel_in": first.numel_in,
            "waiting": ranks_text(w.rank for w in self.waiters),
        }

    @property
    def is_p2p(self) -> bool:
        """SEND, RECV, or a coalesced batch whose sizes are not set: only a pair of ranks takes part."""
        return is_pairwise(self.waiters)


def is_pairwise(waiters: Iterable[GroupState]) -> bool:
    """Whether a work involves only a pair of ranks, so that the other members of its group have no part in it."""
    states = list(waiters)
    ops = {w.stuck_op for w in states if w.stuck_op}
    sized = any(w.stuck_op == "COALESCED" and w.numel_in for w in states)
    return bool(ops) and ops <= P2P_OPS and not sized


def laggards(job: JobView) -> list[Absent]:
    """Ranks whose GPU has not finished works that other members of the same groups have finished.

    Said only where every member of a group is seen, where the operation needs everybody (the root of a broadcast may be
    ahead), and of ranks that are nowhere ahead themselves.
    """
    behind: dict[int, GroupState] = {}
    ahead: set[int] = set()
    for group in job.groups:
        stuck = [s for s in group.stuck() if s.rank is not None and s.stuck_seq is not None]
        if group.ambiguous or group.unnamed or group.size is None or len(stuck) < group.size or is_pairwise(stuck):
            continue
        lowest = min(s.stuck_seq for s in stuck if s.stuck_seq is not None)
        slow = [s for s in stuck if s.stuck_seq == lowest]
        fast = [s for s in stuck if (s.last_completed or 0) >= lowest and s.stuck_seq != lowest]
        if not fast or any(s.stuck_op in _ROOTED_OPS for s in slow) or len(slow) > len(fast):
            continue
        behind.update({s.rank: s for s in slow if s.rank is not None and s.rank not in behind})
        ahead |= {s.rank for s in fast if s.rank is not None}
    return [
        Absent(rank, "behind", state.evidence, job.by_rank(rank))
        for rank, state in sorted(behind.items())
        if rank not in ahead
    ]


def stuck_works(job: JobView) -> tuple[StuckWork, ...]:
    """Every work that somebody timed out in, the ones that explain others first, then the earliest."""
    return job.once(_stuck_works)


def _stuck_works(job: JobView) -> tuple[StuckWork, ...]:
    waiting: dict[int, set[str]] = {}
    for group in job.groups:
        for state in group.stuck():
            if state.rank is not None:
                waiting.setdefault(state.rank, set()).add(group.key)
    works = [_work(job, group, waiting) for group in job.groups if group.stuck()]
    return tuple(sorted(works, key=_order))


def _order(work: StuckWork) -> tuple[bool, bool, float, int, str]:
    derived = bool(work.elsewhere) and not work.absent
    began = work.began_s if work.began_s is not None else float("inf")
    return derived, not work.absent, began, -len(work.waiters), work.group.key


def _work(job: JobView, group: ProcessGroup, waiting: dict[int, set[str]]) -> StuckWork:
    stuck = group.stuck()
    numbers = [s.stuck_seq for s in stuck if s.stuck_seq is not None]
    seq = min(numbers) if numbers else None
    waiters = tuple(s for s in stuck if s.stuck_seq in (seq, None) or is_pairwise(stuck))
    inside = {s.rank for s in stuck if s.rank is not None}
    absent: dict[int, Absent] = {}
    pairwise = is_pairwise(waiters)
    if seq is not None and not group.ambiguous and not pairwise:
        for state in group.states:
            if state.rank is not None and state.behind(seq):
                absent[state.rank] = Absent(state.rank, "counters", state.evidence, job.by_rank(state.rank))
    for rank in () if pairwise else _missing_members(job, group, inside):
        if rank not in absent:
            found = _why_absent(job, rank, group)
            if found is not None:
                absent[rank] = found
    elsewhere = tuple(sorted(r for r in absent if waiting.get(r, set()) - {group.key}))
    named = tuple(absent[r] for r in sorted(absent) if r not in elsewhere)
    size = group.size if not group.unnamed else None
    return StuckWork(
        group, seq, waiters, named, elsewhere, everybody_in=size is not None and len(inside) >= size and not absent
    )


def _missing_members(job: JobView, group: ProcessGroup, inside: set[int]) -> list[int]:
    """Global ranks that belong to the group and are not among those who wait in it."""
    if group.members:
        return sorted(set(group.members) - inside)
    if group.is_world:
        heard = {p.rank for p in job.processes if p.rank is not None and (p.own_source or p.events)}
        known = set(range(job.world_size)) if job.world_size is not None else heard | _implied(inside)
        return sorted(known - inside)
    fitted = _global_rank_of_group_rank(group)
    if fitted is None:
        return []
    first, stride, size = fitted
    return [first + stride * g for g in range(size) if first + stride * g not in inside]


def _implied(inside: set[int]) -> set[int]:
    """A world that the waiting ranks imply: all but one of 0..n-1, the last included, with n a power of two from 4
    on."""
    size = max(inside, default=-1) + 1
    return set(range(size)) if size >= 4 and size & (size - 1) == 0 and len(inside) == size - 1 else set()


def _global_rank_of_group_rank(group: ProcessGroup) -> tuple[int, int, int] | None:
    """(first global rank, stride, size) if global ranks grow evenly with the group ranks, as meshes lay them out."""
    pairs = sorted({(s.group_rank, s.rank) for s in group.states if s.group_rank is not None and s.rank is not None})
    if group.ambiguous or len(pairs) < 2:
        return None
    (g0, r0), (g1, r1) = pairs[0], pairs[1]
    stride, rest = divmod(r1 - r0, g1 - g0)
    if rest or stride < 1 or any(r != r0 + stride * (g - g0) for g, r in pairs):
        return None
    first = r0 - stride * g0
    size = max(group.size or 0, pairs[-1][0] + 1)
    return (first, stride, size) if first >= 0 else None


def _why_absent(job: JobView, rank: int, group: ProcessGroup) -> Absent | None:
    """How we know that ``rank`` did not come, or ``None`` where it may as well be missing from the excerpt."""
    process = job.by_rank(rank)
    if process is not None and (process.own_source or process.events):
        return why_silent(job, rank)
    return Absent(rank, "elimination") if _all_in_one_console(job, group) else None


def why_silent(job: JobView, rank: int) -> Absent | None:
    """What the log of a rank that reports no wait says of it; ``None`` where it lost a connection or its watchdog was
    blocked, so that it may have been there, and where the stream in which the others report is not among its files."""
    process = job.by_rank(rank)
    blocked = PeerLost | NcclError | WatchdogStuck
    if process is None or any(isinstance(event.fact, blocked) for event in process.events):
        return None
    if process.streams and not job.once(_streams_of_reports) <= process.streams:
        return None
    for event in process.events:
        fact = event.fact
        if isinstance(fact, DumpSignal) and (fact.stage == "observed" or fact.from_rank not in (None, rank)):
            return Absent(rank, "signal", event, process)
    return Absent(rank, "own-log", process.events[-1] if process.events else None, process)


def _streams_of_reports(job: JobView) -> frozenset[str]:
    """The streams that the timeouts stand in, where files hold one stream of one rank each."""
    told = [s.evidence for group in job.groups for s in group.stuck() if s.evidence is not None]
    return frozenset(e.origin.stream for e in told if e.origin.stream is not None and e.origin.how("stream") == "path")


def only_idle(job: JobView) -> int | None:
    """The one rank of the job that waits in no group, where all are known and no log is cut off."""
    known, idle = _workers(job), idle_ranks(job)
    whole = known == set(range(job.world_size or len(known))) and _usual_size(len(known))
    return idle.pop() if len(idle) == 1 and whole and not _is_cut(job) else None


def _all_in_one_console(job: JobView, group: ProcessGroup) -> bool:
    """Whether one source carries all the ranks that wait, so that silence in it means something."""
    sources = {s.evidence.locator.source for s in group.stuck() if s.evidence is not None}
    return len(sources) == 1 and len(group.stuck()) >= 3 and not any(p.own_source for p in job.processes)


def all_others_wait(job: JobView, work: StuckWork, silent: Iterable[Absent]) -> bool:
    """Whether the silence of the ranks ``silent`` means something: the lines of all others can be told to be of this
    work, no other rank of the job is unheard of or waits in nothing, and no log is cut off in the middle of a line.
    """
    silent = list(silent)
    others = (idle_ranks(job) | set(job.coverage.ranks_without_log)) - {a.rank for a in silent}
    if others or _is_cut(job):
        return False
    alike = {w.stuck_op for w in work.waiters if w.stuck_op}
    if work.group.ambiguous or (work.group.unnamed and len(alike) > 1):
        return False
    if work.group.is_world and job.world_size is None:
        known = {w.rank for w in work.waiters} | set(work.elsewhere) | {a.rank for a in silent}
        exited = {n for _, f in job.of(ProcessExit) for n in (f.rank, f.local_rank) if n is not None}
        if exited - known:
            return False
        a_log_each = all(a.process is not None and a.process.own_source for a in silent)
        if known != set(range(len(known))) or not (a_log_each or _usual_size(len(known))):
            return False
    return True


def waiting_ranks(job: JobView) -> frozenset[int]:
    """The ranks that timed out in some group."""
    return job.once(_waiting_ranks)


def _waiting_ranks(job: JobView) -> frozenset[int]:
    return frozenset(s.rank for group in job.groups for s in group.stuck() if s.rank is not None)


def idle_ranks(job: JobView) -> set[int]:
    """The ranks of workers that are known and wait in no group."""
    return _workers(job) - waiting_ranks(job)


def _workers(job: JobView) -> set[int]:
    return {p.rank for p in job.processes if p.rank is not None and p.role == "worker"}


def _is_cut(job: JobView) -> bool:
    """Whether a log is cut off in the middle of a line."""
    return any("truncated" in scan.digest.flags for scan in job.scans)


def _usual_size(size: int) -> bool:
    """Whether so many ranks make up a usual world: a power of two, or whole nodes of eight."""
    return size & (size - 1) == 0 or size % 8 == 0
