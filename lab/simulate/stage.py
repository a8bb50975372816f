"""One run from its plan to its files: model, aftermath, wording, layout, loss. Deterministic from seed and number."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator

from lab.simulate import agent_words, chatter, nccl_words, system_words, torch_words
from lab.simulate.aftermath import Aftermath, Surroundings
from lab.simulate.broken import BROKEN
from lab.simulate.engine import Engine, Rank
from lab.simulate.faults import FAULTS, Draft
from lab.simulate.happening import Happening
from lab.simulate.layout import Layout, arrange
from lab.simulate.lines import Clock, Line
from lab.simulate.losses import lose
from lab.simulate.mesh import Mesh
from lab.simulate.program import Shape, opening_works, program, works_per_step
from lab.simulate.run import Outcome, Run
from lab.simulate.scene import HOST_NAMES, SCRIPTS, Scene

ALL_FAULTS = {**FAULTS, **BROKEN}
#: Enough after the fault's step for everybody to run into the rank that stays away, over several groups.
SIMULATED_STEPS = 7
LATEST_FAULT = 2
STYLES = ("bar", "iter", "megatron", "metrics", "every-rank")
NUMELS = (4096, 589824, 2359296, 8388608, 25557032, 33554432, 131072000)
LAUNCHERS = {Layout.SRUN: "srun", Layout.RAY: "ray"}
#: Faults of the first collectives, or of a job that has just begun.
OPENING = frozenset({"stuck-first"})


def simulate(run: Run) -> tuple[Scene, Outcome]:
    """What came of the run, and the scene that its words were written from."""
    rng = random.Random(f"{run.seed}/{run.number}/model")
    draft = _draft(run, rng)
    ALL_FAULTS[run.fault](draft)
    base = {} if draft.opening else _base(run.mesh, draft.shape, draft.first_step)
    ranks = Engine(run.mesh, draft.programs, base, draft.begin_s, draft.breaks, draft.around.timeout_s).run()
    aftermath = Aftermath(run.mesh, ranks, run.torch, draft.around, rng)
    happenings = aftermath.run()
    exits = {rank: code for rank, (_, code) in aftermath.exits.items()}
    scene = _scene(run, draft, ranks, exits)
    gone = {rank: at_s for rank, (at_s, _) in aftermath.exits.items()}
    until_s = float(str(draft.details.get("until_s", "inf")))
    lines = [line for line in _lines(scene, draft, happenings, gone) if line.at_s <= until_s]
    files = arrange(scene, run.layout, lines)
    fault_s = draft.step_s() if not draft.opening else 0.0
    files = lose(
        scene, run.layout, run.loss, files, draft.culprits, fault_s, random.Random(f"{run.seed}/{run.number}/loss")
    )
    root = root_of(run.mesh, ranks, draft.culprits)
    return scene, Outcome(run, draft.culprits, ranks, exits, fault_s, root, files, draft.args)


def root_of(mesh: Mesh, ranks: dict[int, Rank], culprits: tuple[int, ...]) -> tuple[int, int | None] | None:
    """(group, number) of the first work that got stuck because of the culprits; of the first at all without them."""
    stuck = [work for rank in ranks.values() for work in rank.stuck().values()]
    blamed = [work for work in stuck if not culprits or set(work.call.partners) & set(culprits)]
    if not blamed:
        return None
    first = min(blamed, key=lambda work: (work.enqueued_s, work.rank))
    return first.call.group.number, first.seq if first.call.pair is None else None


def _draft(run: Run, rng: random.Random) -> Draft:
    mesh, torch = run.mesh, run.torch
    opening = run.fault in OPENING or (run.fault == "late-preprocess" and rng.random() < 0.6)
    first_step = 0 if opening else rng.choice((20, 120, 377, 1000, 4813))
    shape = Shape(
        layers=rng.randint(2, 4),
        micro_batches=rng.randint(1, 3),
        numels=tuple(rng.sample(NUMELS[1:], k=rng.randint(2, 4))),
        step_s=rng.choice((0.6, 1.5, 4.0, 11.0)),
        lag=1 if rng.random() < 0.6 else 2,
        metrics=rng.random() < 0.4,
    )
    begin_s = 40.0 if opening else 60 + first_step * shape.step_s * 1.5
    programs = {rank: program(mesh, rank, shape, first_step, SIMULATED_STEPS, opening) for rank in mesh.ranks}
    dry = Engine(mesh, programs, {}, begin_s).run()
    undisturbed_s = tuple(at_s for _, at_s in dry[0].steps)
    launcher = LAUNCHERS.get(run.layout, "torchrun")
    if run.layout is Layout.RANK_FILES and rng.random() < 0.4:
        launcher = "none"
    timeout_s = float(torch.timeout_s if rng.random() < 0.7 else rng.choice((300, 1200, 3600)))
    around = Surroundings(launcher, timeout_s, stubborn=rng.random() < 0.15, kills_on_bad_exit=rng.random() < 0.6)
    at_step = first_step + (0 if opening else rng.randint(1, LATEST_FAULT))
    return Draft(mesh, torch, shape, rng, programs, around, first_step, at_step, begin_s, opening, undisturbed_s)


def _base(mesh: Mesh, shape: Shape, first_step: int) -> dict[tuple[int, int], int]:
    """Works done before the simulated part, by rank and group."""
    return {
        (rank, group.number): opening_works(mesh, shape, group) + first_step * works_per_step(mesh, rank, shape, group)
        for rank in mesh.ranks
        for group in mesh.groups_of(rank)
    }


def _scene(run: Run, draft: Draft, ranks: dict[int, Rank], exits: dict[int, int]) -> Scene:
    rng = random.Random(f"{run.seed}/{run.number}/words")
    mesh, torch = run.mesh, run.torch
    start = datetime.datetime(
        torch.year, rng.randint(1, 12), rng.randint(1, 28), rng.randint(0, 23), rng.randint(0, 59)
    )
    skew_s = {host: rng.gauss(0, 1.5) for host in mesh.hosts}
    abroad = rng.random() < 0.1
    zones = {host: rng.choice((-8, -7, 1, 2, 8)) for host in mesh.hosts if abroad and host % 2}
    pattern = rng.choice(HOST_NAMES)
    first = rng.randint(1, 40)
    return Scene(
        mesh=mesh,
        torch=torch,
        shape=draft.shape,
        clock=Clock(start, skew_s, zones),
        launcher=draft.around.launcher,
        script=rng.choice(SCRIPTS),
        hosts=tuple(pattern.format(first + host) for host in mesh.hosts),
        pids=tuple(_pids(mesh, rng)),
        agent_pids=tuple(rng.randint(1000, 90000) for _ in mesh.hosts),
        venv=rng.choice(("/opt/venv", "/opt/conda", "/home/user/miniconda3/envs/llm")),
        style=rng.choice(STYLES),
        total_steps=draft.first_step + rng.choice((40, 1000, 5000)),
        timeout_s=draft.around.timeout_s,
        nccl_info=rng.random() < 0.2,
        job=rng.randint(10000, 999999),
        ranks=ranks,
        exits=exits,
        rng=rng,
    )


def _pids(mesh: Mesh, rng: random.Random) -> Iterator[int]:
    """Workers of one host follow each other; two hosts may well use the same numbers."""
    for host in mesh.hosts:
        first = rng.randint(2000, 400000)
        yield from range(first, first + len(mesh.on_host(host)))


def _lines(scene: Scene, draft: Draft, happenings: list[Happening], gone: dict[int, float]) -> Iterator[Line]:
    yield from chatter.opening(scene)
    if scene.launcher == "torchrun":
        for host in scene.mesh.hosts:
            yield from agent_words.start(scene, host, 0.5)
    if scene.nccl_info and not draft.details.get("own-nccl"):
        for rank in scene.mesh.ranks:
            yield from nccl_words.set_up(scene, rank, 20 + 0.01 * rank)
    yield from chatter.progress(scene, gone)
    yield from chatter.host_work(scene, gone)
    for words in draft.extra:
        yield from words(scene)
    for it in happenings:
        yield from torch_words.lines_of(scene, it)
        yield from agent_words.lines_of(scene, it)
        yield from system_words.lines_of(scene, it)
    for rank, state in scene.ranks.items():
        if state.left is not None and state.left[0] == "finished":
            yield from chatter.closing(scene, rank, state.left[1] + 0.5, draft.rng.random() < 0.7)
