"""What a run's lines are written from: versions, machines, pids, clocks, and habits of the program."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from lab.simulate.engine import Rank
from lab.simulate.lines import Clock
from lab.simulate.mesh import Mesh
from lab.simulate.program import Shape
from lab.simulate.versions import Torch

SCRIPTS = ("train.py", "pretrain.py", "finetune.py", "run_sft.py", "main.py")
HOST_NAMES = ("gpu-{:02d}", "node{}", "worker-{}", "dgx{:03d}", "ip-10-0-0-{}")


@dataclass(frozen=True, slots=True)
class Scene:
    """The stage of one run. ``rng`` is for wording only: what happens is decided before."""

    mesh: Mesh
    torch: Torch
    shape: Shape
    clock: Clock
    launcher: str
    script: str
    hosts: tuple[str, ...]
    pids: tuple[int, ...]
    agent_pids: tuple[int, ...]
    venv: str
    style: str  # bar | iter | megatron | metrics | every-rank
    total_steps: int
    timeout_s: float
    nccl_info: bool
    job: int
    ranks: Mapping[int, Rank]
    exits: Mapping[int, int]
    rng: random.Random

    def host(self, rank: int) -> str:
        return self.hosts[self.mesh.host_of(rank)]

    def address(self, host: int) -> str:
        return f"10.12.{self.job % 200}.{11 + host}"

    @property
    def site(self) -> str:
        return f"{self.venv}/lib/python{self.torch.python}/site-packages"

    @property
    def folder(self) -> str:
        return "/workspace/train" if self.job % 2 else "/home/user/llm"
