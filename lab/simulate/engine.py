"""Runs the ranks' programs against each other: a collective completes only when every partner has entered it.

Each rank has one CPU, which enqueues, and one GPU queue, which works in order. The result says how far every rank came;
what is left in the queues is what its watchdog will complain about. Times are seconds since the job began.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from lab.simulate.mesh import Group, Mesh
from lab.simulate.program import (
    EQUAL_SIZES,
    Collective,
    Compute,
    HostWork,
    Leave,
    Program,
    Statement,
    StepDone,
    Synchronise,
)

#: Ways of leaving that end the process at once.
DEADLY = frozenset({"raised", "killed", "crashed"})
ENQUEUE_S = 0.0004
LATENCY_S = 0.004


@dataclass(slots=True)
class Work:
    """A collective that a rank has issued. ``seq`` counts in its group, from 1."""

    call: Collective
    rank: int
    seq: int
    enqueued_s: float
    started_s: float | None = None
    completed_s: float | None = None


@dataclass(slots=True)
class Rank:
    """How far a rank came."""

    rank: int
    now_s: float = 0.0
    gpu_s: float = 0.0
    position: int = 0
    queue: deque[Work | Compute] = field(default_factory=deque)
    works: list[Work] = field(default_factory=list)
    steps: list[tuple[int, float]] = field(default_factory=list)
    host_works: list[tuple[str, float, float]] = field(default_factory=list)
    left: tuple[str, float] | None = None
    counts: dict[int, int] = field(default_factory=dict)
    transfers: dict[tuple[int, int, int], int] = field(default_factory=dict)

    def stuck(self) -> dict[int, Work]:
        """Per group number, the first work that never completes."""
        found: dict[int, Work] = {}
        for work in self.works:
            if work.completed_s is None:
                found.setdefault(work.call.group.number, work)
        return found

    def counters(self, group: Group, at_s: float) -> tuple[int, int, int]:
        """(last enqueued, last started, last completed) of ``group`` at a time."""
        mine = [work for work in self.works if work.call.group.number == group.number]
        base = mine[0].seq - 1 if mine else self.counts.get(group.number, 0)
        enqueued = max((w.seq for w in mine if w.enqueued_s <= at_s), default=base)
        started = max((w.seq for w in mine if w.started_s is not None and w.started_s <= at_s), default=base)
        completed = max((w.seq for w in mine if w.completed_s is not None and w.completed_s <= at_s), default=base)
        return enqueued, started, completed


@dataclass(slots=True)
class Breaks:
    """What breaks besides the programs: GPUs that stop, and groups whose transport stops, from a time on."""

    dead_gpus: Mapping[int, float] = field(default_factory=dict)
    dead_groups: Mapping[int, float] = field(default_factory=dict)


class Engine:
    """One run. ``base`` gives the works that a rank has already done in a group before the first statement;
    ``patience_s`` is the timeout of the watchdogs."""

    def __init__(
        self,
        mesh: Mesh,
        programs: Mapping[int, Program],
        base: Mapping[tuple[int, int], int],
        begin_s: float,
        breaks: Breaks | None = None,
        patience_s: float = float("inf"),
    ) -> None:
        self._programs = programs
        self._breaks = breaks or Breaks()
        self._patience_s = patience_s
        self._open: dict[tuple[object, ...], dict[int, Work]] = {}
        self.ranks = {rank: Rank(rank, now_s=begin_s, gpu_s=begin_s) for rank in mesh.ranks}
        for (rank, number), count in base.items():
            self.ranks[rank].counts[number] = count

    def run(self) -> dict[int, Rank]:
        """Runs until nobody can move."""
        moved = True
        while moved:
            moved = False
            for rank in self.ranks.values():
                moved = self._advance_cpu(rank) or moved
                moved = self._advance_gpu(rank) or moved
        return self.ranks

    def _advance_cpu(self, rank: Rank) -> bool:
        moved = False
        statements = self._programs[rank.rank]
        while rank.left is None and rank.position < len(statements) and self._do(rank, statements[rank.position]):
            rank.position += 1
            moved = True
        return moved

    def _do(self, rank: Rank, statement: Statement) -> bool:
        """One statement of the CPU; false where it has to wait."""
        if isinstance(statement, Synchronise):
            if rank.queue:
                return False
            rank.now_s = max(rank.now_s, rank.gpu_s)
        elif isinstance(statement, Collective):
            rank.now_s += ENQUEUE_S
            number = statement.group.number
            rank.counts[number] = rank.counts.get(number, 0) + 1
            work = Work(statement, rank.rank, rank.counts[number], rank.now_s)
            rank.works.append(work)
            rank.queue.append(work)
        elif isinstance(statement, Compute):
            rank.now_s += ENQUEUE_S
            rank.queue.append(statement)
        elif isinstance(statement, HostWork):
            rank.host_works.append((statement.what, rank.now_s, rank.now_s + statement.seconds))
            rank.now_s += statement.seconds
        elif isinstance(statement, StepDone):
            rank.steps.append((statement.step, rank.now_s))
        elif isinstance(statement, Leave):
            rank.left = (statement.how, rank.now_s)
        return True

    def _advance_gpu(self, rank: Rank) -> bool:
        moved = False
        while rank.queue:
            head = rank.queue[0]
            if rank.gpu_s >= self._stops_s(rank) or (isinstance(head, Work) and head.enqueued_s >= self._stops_s(rank)):
                return moved
            if isinstance(head, Compute):
                rank.gpu_s += head.seconds
                rank.queue.popleft()
            elif head.completed_s is not None:
                rank.gpu_s = head.completed_s
                rank.queue.popleft()
            elif head.started_s is not None:
                return moved
            else:
                rank.gpu_s = max(rank.gpu_s, head.enqueued_s)
                self._enter(rank, head)
            moved = True
        return moved

    def _stops_s(self, rank: Rank) -> float:
        """From when on this rank's GPU starts nothing more: it broke, or its process ended."""
        ended_s = rank.left[1] if rank.left is not None and rank.left[0] in DEADLY else float("inf")
        return min(ended_s, self._breaks.dead_gpus.get(rank.rank, float("inf")))

    def _enter(self, rank: Rank, work: Work) -> None:
        """The kernel of ``work`` starts on this rank; with the last partner it completes for all."""
        work.started_s = rank.gpu_s
        inside = self._open.setdefault(self._match(rank, work), {})
        inside[rank.rank] = work
        partners = work.call.partners
        if len(inside) < len(partners) or not _agree(list(inside.values())):
            return
        begun = max(w.started_s or 0.0 for w in inside.values())
        broken_s = self._breaks.dead_groups.get(work.call.group.number)
        if broken_s is not None and begun >= broken_s:
            return
        if begun > min(w.enqueued_s for w in inside.values()) + self._patience_s:
            return  # the last one came when the first had been taken down by its watchdog
        for entered in inside.values():
            entered.completed_s = begun + LATENCY_S

    def _match(self, rank: Rank, work: Work) -> tuple[object, ...]:
        """Which calls belong together: by number in the group, or by number of the transfers from one to the other."""
        number = work.call.group.number
        if work.call.pair is None:
            return (number, work.seq)
        key = (number, *work.call.pair)
        rank.transfers[key] = rank.transfers.get(key, 0) + 1
        return (*key, rank.transfers[key])


def _agree(works: list[Work]) -> bool:
    if works[0].call.pair is not None:
        return True
    ops = {work.call.op for work in works}
    sizes = {(work.call.numel_in, work.call.numel_out) for work in works}
    return len(ops) == 1 and (len(sizes) == 1 or not ops & EQUAL_SIZES)
