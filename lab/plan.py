"""All planned runs: every file in ``lab/faults`` yields some. There is no list to edit."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil

import lab.faults
from lab.spec import Draw, Run

DEFAULT_SEED = 7


def plan(seed: int = DEFAULT_SEED, backend: str = "gloo", only: str = "") -> list[Run]:
    """The runs of one backend in a stable order; ``only`` is a part of ``family/id``."""
    found: list[Run] = []
    for module in sorted(pkgutil.iter_modules(lab.faults.__path__), key=lambda it: it.name):
        fault = importlib.import_module(f"lab.faults.{module.name}")
        runs = getattr(fault, f"{backend}_runs", None)
        if runs is not None:
            found += runs(Draw(seed, module.name))
    if backend == "nccl":
        found = [_on_gpu(run) for run in found]
    ids = [run.id for run in found]
    if len(set(ids)) != len(ids):
        raise ValueError(f"ids are not unique: {sorted(it for it in ids if ids.count(it) > 1)}")
    return [run for run in found if only in f"{run.family}/{run.id}"]


def _on_gpu(run: Run) -> Run:
    """The same run with NCCL: all ranks share one GPU, and a timed-out rank does not wait long for others' dumps."""
    return dataclasses.replace(
        run,
        id=f"nccl-{run.id}",
        settings={**run.settings, "backend": "nccl"},
        env={"TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC": "1000", **run.env},
        needs=run.needs | {"gpu-nccl"},
        limit_s=180.0,
    )
