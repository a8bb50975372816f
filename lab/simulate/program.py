"""What a rank does, statement by statement, as its Python code would issue it.

The CPU runs ahead of the GPU: a collective is enqueued and the program goes on until it needs a result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from lab.simulate.mesh import Group, Mesh

EQUAL_SIZES = frozenset({"ALLREDUCE", "BROADCAST", "REDUCE", "_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE", "ALLGATHER"})


@dataclass(frozen=True, slots=True)
class Collective:
    """One call. ``pair`` (sender, receiver) makes it a point-to-point operation, in which only these two take part."""

    group: Group
    op: str
    numel_in: int
    numel_out: int
    pair: tuple[int, int] | None = None

    @property
    def partners(self) -> tuple[int, ...]:
        return self.pair if self.pair is not None else self.group.members


@dataclass(frozen=True, slots=True)
class Compute:
    """A kernel on the GPU."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Synchronise:
    """The CPU waits for everything it has enqueued, as ``loss.item()`` does."""


@dataclass(frozen=True, slots=True)
class HostWork:
    """Work on the CPU or on files; nothing is enqueued meanwhile. ``what`` as in the taxonomy of host work."""

    what: str
    seconds: float


@dataclass(frozen=True, slots=True)
class StepDone:
    """The program prints its progress."""

    step: int


@dataclass(frozen=True, slots=True)
class Leave:
    """The rank issues nothing any more: ``finished`` (left the loop and ends well), ``elsewhere`` (alive, on another
    way through the code), ``raised``, ``killed``, ``crashed`` or ``gil`` (a thread holds the interpreter lock)."""

    how: str


Statement: TypeAlias = Collective | Compute | Synchronise | HostWork | StepDone | Leave
Program: TypeAlias = list[Statement]


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a model, drawn once for a run so that all ranks agree. ``lag``: steps between two synchronisations."""

    layers: int
    micro_batches: int
    numels: tuple[int, ...]
    step_s: float
    lag: int
    metrics: bool


def program(mesh: Mesh, rank: int, shape: Shape, first_step: int, steps: int, opening: bool) -> Program:
    """The rank's program over ``steps`` steps. ``opening``: with the collectives of wrapping the model before them."""
    statements: Program = _wrap_model(mesh, shape) if opening else []
    for step in range(first_step, first_step + steps):
        statements += _step(mesh, rank, shape)
        if shape.metrics:
            statements.append(Collective(mesh.world, "ALLREDUCE", 1, 1))
        if (step + 1) % shape.lag == 0:
            statements.append(Synchronise())
        statements.append(StepDone(step))
    return statements


def works_per_step(mesh: Mesh, rank: int, shape: Shape, group: Group) -> int:
    """By how much the sequence number of ``group`` grows in a step of ``rank``."""
    return sum(isinstance(it, Collective) and it.group == group for it in program(mesh, rank, shape, 0, 1, False))


def opening_works(mesh: Mesh, shape: Shape, group: Group) -> int:
    return sum(isinstance(it, Collective) and it.group == group for it in _wrap_model(mesh, shape))


def _wrap_model(mesh: Mesh, shape: Shape) -> Program:
    """DDP compares the parameters' shapes over the ranks and broadcasts them; others meet in a barrier."""
    if mesh.kind == "ddp":
        return [
            Collective(mesh.world, "ALLGATHER", 1, mesh.size),
            Collective(mesh.world, "BROADCAST", sum(shape.numels), sum(shape.numels)),
            Synchronise(),
        ]
    return [Collective(mesh.world, "ALLREDUCE", 1, 1), Synchronise()]


def _step(mesh: Mesh, rank: int, shape: Shape) -> Program:
    part = shape.step_s / max(1, shape.layers)
    if mesh.kind == "ddp":
        buckets: Program = [
            it
            for numel in shape.numels
            for it in (Compute(part / 2), Collective(mesh.world, "ALLREDUCE", numel, numel))
        ]
        return [Compute(shape.step_s / 2), *buckets]
    if mesh.kind == "fsdp":
        return _sharded_step(mesh.groups[-1], shape, part)
    return _grid_step(mesh, rank, shape, part)


def _sharded_step(group: Group, shape: Shape, part: float) -> Program:
    size = len(group.members)
    shards = [max(1, shape.numels[i % len(shape.numels)] // size) for i in range(shape.layers)]
    forward = [it for n in shards for it in (Collective(group, "_ALLGATHER_BASE", n, n * size), Compute(part / 2))]
    backward: Program = []
    for n in reversed(shards):
        backward += [Collective(group, "_ALLGATHER_BASE", n, n * size), Compute(part)]
        backward.append(Collective(group, "_REDUCE_SCATTER_BASE", n * size, n))
    return [*forward, *backward]


def _grid_step(mesh: Mesh, rank: int, shape: Shape, part: float) -> Program:
    """Micro batches through the pipeline, all forward, then all backward; then the gradients over data parallelism."""
    tp, pp, dp = mesh.find("tp", rank), mesh.find("pp", rank), mesh.find("dp", rank)
    stage = pp.rank_of(rank) if pp is not None else 0
    last = pp is None or stage == len(pp.members) - 1
    activations = shape.numels[0]
    layers: Program = []
    for _ in range(shape.layers):
        layers.append(Compute(part))
        if tp is not None:
            layers.append(Collective(tp, "ALLREDUCE", activations, activations))
    statements: Program = []
    for _ in range(shape.micro_batches):
        if pp is not None and stage > 0:
            statements.append(_transfer(pp, pp.members[stage - 1], rank, rank, activations))
        statements += layers
        if pp is not None and not last:
            statements.append(_transfer(pp, rank, pp.members[stage + 1], rank, activations))
    for _ in range(shape.micro_batches):
        if pp is not None and not last:
            statements.append(_transfer(pp, pp.members[stage + 1], rank, rank, activations))
        statements += layers
        if pp is not None and stage > 0:
            statements.append(_transfer(pp, rank, pp.members[stage - 1], rank, activations))
    if dp is not None:
        size = len(dp.members)
        shard = max(1, shape.numels[-1] // size)
        statements.append(Collective(dp, "_REDUCE_SCATTER_BASE", shard * size, shard))
        statements.append(Collective(dp, "_ALLGATHER_BASE", shard, shard * size))
    return statements


def _transfer(group: Group, sender: int, receiver: int, me: int, numel: int) -> Collective:
    return Collective(group, "SEND" if me == sender else "RECV", numel, numel, pair=(sender, receiver))


def resized(work: Collective, factor: float) -> Collective:
    """The same call with another amount of data, both sizes changed alike."""
    ratio = max(1, work.numel_out // max(1, work.numel_in))
    numel_in = max(1, int(work.numel_in * factor)) + 1
    if work.numel_in >= work.numel_out:
        shrink = max(1, work.numel_in // max(1, work.numel_out))
        return replace(work, numel_in=numel_in * shrink, numel_out=numel_in)
    return replace(work, numel_in=numel_in, numel_out=numel_in * ratio)
