"""Draws runs: a fault, a torch version, a layout, a mesh and a loss that go together."""

from __future__ import annotations

import random

from lab.simulate.layout import Layout
from lab.simulate.losses import Loss, possible
from lab.simulate.mesh import Mesh, flat, grid
from lab.simulate.run import Run
from lab.simulate.stage import ALL_FAULTS
from lab.simulate.versions import VERSIONS, Naming, Torch

#: (tp, dp, pp, GPUs of a host)
GRIDS = ((2, 2, 1, 4), (4, 2, 1, 8), (2, 4, 1, 4), (4, 4, 1, 8), (2, 2, 2, 4), (4, 2, 2, 8), (8, 4, 1, 8), (4, 4, 4, 8))
FLATS = ((2, 2), (4, 4), (8, 8), (8, 4), (16, 8), (32, 8), (64, 8))
#: Faults that need several hosts, a pipeline, a grid, the default group alone, Slurm, or a heartbeat monitor.
SEVERAL_HOSTS = frozenset({"ib-error", "node-lost", "unreachable", "wrong-interface"})
PIPELINE = frozenset({"p2p-order"})
GRID = frozenset({"skips-dp", "skips-tp"})
FLAT = frozenset({"unreachable", "wrong-interface", "init-missing", "stuck-first"})
SLURM = frozenset({"node-lost", "hang-then-limit"})
HEARTBEAT = frozenset({"gil"})
#: Faults whose logs hold little; nothing may be lost of them.
COMPLETE = frozenset(
    {
        "healthy",
        "healthy-noise",
        "healthy-running",
        "sigterm",
        "time-limit",
        "silent-hang",
        "unreachable",
        "wrong-interface",
        "init-missing",
    }
)
COMPLETE_SHARE = 0.55


def plan(count: int, seed: int, only: str = "") -> list[Run]:
    """``count`` runs whose id contains ``only``. The faults take turns, so that each comes equally often."""
    names = sorted(ALL_FAULTS)
    chosen = [name for name in names if only in name] or names
    runs: list[Run] = []
    number = 0
    while len(runs) < count and number < 200 * max(1, count):
        run = draw(number, seed, chosen[number % len(chosen)])
        if only in run.id:
            runs.append(run)
        number += 1
    return runs


def draw(number: int, seed: int, fault: str) -> Run:
    """Run ``number``: everything but the fault is drawn."""
    rng = random.Random(f"{seed}/{number}/plan")
    versions = list(VERSIONS.values())
    torch = rng.choice([it for it in versions if _fits(it, fault)])
    mesh = _mesh(rng, torch, fault)
    layouts = [Layout.SRUN] if fault in SLURM else [it for it in Layout if _possible(it, torch, mesh, fault)]
    layout = rng.choice(layouts)
    loss = Loss.NOTHING
    if fault not in COMPLETE and rng.random() > COMPLETE_SHARE:
        loss = rng.choice(possible(layout))
    return Run(number, seed, fault, torch, layout, loss, mesh)


def _fits(torch: Torch, fault: str) -> bool:
    return torch.heartbeat_s > 0 if fault in HEARTBEAT else True


def _possible(layout: Layout, torch: Torch, mesh: Mesh, fault: str) -> bool:
    if layout is Layout.RAY:
        return torch.at_least(2, 3) and fault not in ("sigterm", "time-limit")
    if fault == "sigterm":
        return layout is not Layout.SRUN
    return True


def _mesh(rng: random.Random, torch: Torch, fault: str) -> Mesh:
    """Any mesh on which the fault is possible; small ones more often."""
    described = torch.naming is not Naming.PG and rng.random() < 0.8
    meshes: list[Mesh] = []
    if fault not in PIPELINE | GRID:
        for world, per_host in FLATS:
            kind = "fsdp" if rng.random() < 0.4 and torch.at_least(1, 13) else "ddp"
            meshes.append(flat(world, per_host, kind, described))
    if fault not in FLAT:
        for tp, dp, pp, per_host in GRIDS:
            megatron = rng.random() < 0.5
            hashed = not megatron and torch.at_least(2, 5) and rng.random() < 0.4
            if pp > 1 or fault not in PIPELINE:
                meshes.append(grid(tp, dp, pp, per_host, megatron=megatron, described=described, hashed=hashed))
    if fault in SEVERAL_HOSTS:
        meshes = [mesh for mesh in meshes if len(mesh.hosts) > 1]
    return rng.choices(meshes, [1.0 if mesh.size <= 16 else 0.35 for mesh in meshes])[0]
