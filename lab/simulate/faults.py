"""The faults: each changes what one rank does, or what breaks around it.

A fault is a function of the draft of a run. ``FAULTS`` is the list that runs are drawn from.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from lab.simulate.aftermath import Surroundings
from lab.simulate.chatter import noise
from lab.simulate.engine import Breaks
from lab.simulate.lines import Line
from lab.simulate.mesh import Mesh
from lab.simulate.program import (
    Collective,
    HostWork,
    Leave,
    Program,
    Shape,
    Statement,
    StepDone,
    Synchronise,
    resized,
)
from lab.simulate.python_words import exception, fatal_error, out_of_memory
from lab.simulate.scene import Scene
from lab.simulate.system_words import oom_kill, quiet_kernel, segfault
from lab.simulate.versions import Torch

Extra = Callable[[Scene], Iterator[Line]]


@dataclass(slots=True)
class Draft:
    """A run while it is made up. ``first_step`` and ``at_step``: where the simulated part and the fault are;
    ``undisturbed_s``: when each simulated step would end if nothing went wrong."""

    mesh: Mesh
    torch: Torch
    shape: Shape
    rng: random.Random
    programs: dict[int, Program]
    around: Surroundings
    first_step: int
    at_step: int
    begin_s: float
    opening: bool
    undisturbed_s: tuple[float, ...]
    breaks: Breaks = field(default_factory=Breaks)
    culprits: tuple[int, ...] = ()
    extra: list[Extra] = field(default_factory=list)
    args: tuple[str, ...] = ()
    details: dict[str, object] = field(default_factory=dict)

    def rank(self) -> int:
        """A rank to blame, any of them."""
        chosen = self.rng.choice(list(self.mesh.ranks))
        self.culprits = (*self.culprits, chosen)
        return chosen

    def step_range(self, rank: int) -> tuple[int, int]:
        """Where the statements of the fault's step lie in the rank's program."""
        ends = [i for i, it in enumerate(self.programs[rank]) if isinstance(it, StepDone)]
        index = self.at_step - self.first_step
        begin = ends[index - 1] + 1 if index else self._after_opening(rank)
        return begin, ends[index]

    def _after_opening(self, rank: int) -> int:
        if not self.opening:
            return 0
        return next(i for i, it in enumerate(self.programs[rank]) if isinstance(it, Synchronise)) + 1

    def insert(self, rank: int, position: int, *statements: Statement) -> None:
        self.programs[rank][position:position] = statements

    def step_s(self) -> float:
        """When the fault's step begins."""
        index = self.at_step - self.first_step
        return self.undisturbed_s[index - 1] if index else self.begin_s

    def set(self, **changes: object) -> None:
        self.around = replace(self.around, **changes)  # type: ignore[arg-type]


def finished(draft: Draft) -> None:
    """A rank has fewer batches than the others: it leaves the loop and ends well."""
    rank = draft.rank()
    draft.insert(rank, draft.step_range(rank)[0], Synchronise(), Leave("finished"))


def elsewhere(draft: Draft) -> None:
    """A rank takes another way through the code and waits there for something of its own."""
    rank = draft.rank()
    begin, end = draft.step_range(rank)
    draft.insert(rank, begin if draft.rng.random() < 0.6 else draft.rng.randrange(begin, end), Leave("elsewhere"))


def late(what: str, always_first: bool = False) -> Callable[[Draft], None]:
    """A rank is busy on the host for longer than the timeout."""

    def act(draft: Draft) -> None:
        rank = 0 if always_first or draft.rng.random() < 0.5 else draft.rng.choice(list(draft.mesh.ranks))
        draft.culprits = (rank,)
        seconds = draft.around.timeout_s * draft.rng.uniform(1.2, 2.5) + 700
        if draft.opening:
            draft.insert(rank, 0, HostWork(what, seconds))
        else:
            draft.insert(rank, draft.step_range(rank)[0], Synchronise(), HostWork(what, seconds))

    return act


def raises(draft: Draft) -> None:
    _ends(draft, "raised", lambda scene, rank, at_s: exception(scene, rank, at_s, draft.rng.randrange(7)))


def cuda_oom(draft: Draft) -> None:
    _ends(draft, "raised", out_of_memory)


def two_raise(draft: Draft) -> None:
    """Two ranks fail by themselves, a few seconds apart."""
    raises(draft)
    first = draft.culprits
    others = [rank for rank in draft.mesh.ranks if rank not in first]
    if others:
        second = draft.rng.choice(others)
        begin, _ = draft.step_range(second)
        draft.insert(second, begin, HostWork("loader", 0.3), Leave("raised"))
        draft.culprits = (*first, second)
        draft.extra.append(_at_end(second, lambda s, r, t: exception(s, r, t, draft.rng.randrange(7))))


def killed(draft: Draft) -> None:
    """The kernel's OOM killer takes a rank."""
    _ends(draft, "killed", None)
    rank = draft.culprits[0]
    draft.set(oom_step=draft.rng.random() < 0.6)
    _kernel(draft, lambda scene: oom_kill(scene, rank, _left_s(scene, rank) - 0.02))


def crashes(draft: Draft) -> None:
    _ends(draft, "crashed", fatal_error if draft.rng.random() < 0.5 else None)
    rank = draft.culprits[0]
    _kernel(draft, lambda scene: segfault(scene, rank, _left_s(scene, rank)))


def other_op(draft: Draft) -> None:
    """One rank calls another collective in the place of one."""
    rank = draft.rank()
    position, call = _collective(draft, rank)
    other = draft.rng.choice([op for op in ("BROADCAST", "ALLREDUCE", "REDUCE") if op != call.op])
    draft.programs[rank][position] = replace(call, op=other)


def other_size(draft: Draft) -> None:
    """One rank calls the same collective with another amount of data."""
    rank = draft.rank()
    position, call = _collective(draft, rank)
    draft.programs[rank][position] = resized(call, draft.rng.choice((0.5, 0.875, 2.0)))


def gil(draft: Draft) -> None:
    """A thread of one rank holds the interpreter lock inside a CUDA call: the watchdog cannot go on."""
    rank = draft.rank()
    draft.insert(rank, draft.step_range(rank)[0], Leave("gil"))


def _ends(draft: Draft, how: str, words: Callable[[Scene, int, float], Iterator[Line]] | None) -> None:
    rank = draft.rank()
    begin, end = draft.step_range(rank)
    draft.insert(rank, begin if draft.rng.random() < 0.5 else draft.rng.randrange(begin, end), Leave(how))
    draft.set(notices_peers=draft.rng.random() < 0.5)
    if words is not None:
        draft.extra.append(_at_end(rank, words))


def _at_end(rank: int, words: Callable[[Scene, int, float], Iterator[Line]]) -> Extra:
    return lambda scene: words(scene, rank, _left_s(scene, rank))


def _left_s(scene: Scene, rank: int) -> float:
    left = scene.ranks[rank].left
    return left[1] if left is not None else scene.ranks[rank].now_s


def _kernel(draft: Draft, words: Extra) -> None:
    """The kernel logs of the hosts were kept as well, or not."""
    if draft.rng.random() < 0.6:
        draft.extra.append(words)
        draft.extra.append(lambda scene: (line for host in scene.mesh.hosts for line in quiet_kernel(scene, host, 1)))
        draft.details["kernel"] = True


def _collective(draft: Draft, rank: int) -> tuple[int, Collective]:
    """A collective of the fault's step that more than two ranks take part in, if there is one."""
    begin, end = draft.step_range(rank)
    calls = [(i, it) for i, it in enumerate(draft.programs[rank]) if begin <= i < end and isinstance(it, Collective)]
    calls = [(i, it) for i, it in calls if it.pair is None]
    large = [(i, it) for i, it in calls if len(it.group.members) > 2]
    return draft.rng.choice(large or calls)


def healthy(draft: Draft) -> None:
    """Nothing goes wrong; every rank ends well."""
    for rank in draft.mesh.ranks:
        draft.programs[rank] += [Synchronise(), Leave("finished")]


def healthy_noise(draft: Draft) -> None:
    """Nothing goes wrong, but it looks so in places."""
    healthy(draft)
    draft.extra.append(noise)


def healthy_running(draft: Draft) -> None:
    """The log of a job that is still at work."""


FAULTS: dict[str, Callable[[Draft], None]] = {
    "finished": finished,
    "elsewhere": elsewhere,
    "late-checkpoint": late("checkpoint"),
    "late-preprocess": late("preprocess", always_first=True),
    "late-evaluate": late("evaluate"),
    "late-loader": late("loader"),
    "exception": raises,
    "two-exceptions": two_raise,
    "cuda-oom": cuda_oom,
    "killed": killed,
    "segfault": crashes,
    "other-op": other_op,
    "other-size": other_size,
    "gil": gil,
    "healthy": healthy,
    "healthy-noise": healthy_noise,
    "healthy-running": healthy_running,
}
