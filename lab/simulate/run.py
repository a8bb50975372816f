"""One simulated run: its plan, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lab.simulate.engine import Rank
from lab.simulate.layout import Files, Layout
from lab.simulate.losses import Loss
from lab.simulate.mesh import Mesh
from lab.simulate.versions import Torch


@dataclass(frozen=True, slots=True)
class Run:
    """What is to be simulated. ``details`` are the fault's own choices."""

    number: int
    seed: int
    fault: str
    torch: Torch
    layout: Layout
    loss: Loss
    mesh: Mesh
    details: Mapping[str, object] = field(default_factory=dict)

    @property
    def id(self) -> str:
        shape = f"{self.mesh.kind}{self.mesh.size}"
        return f"{self.number:04d}-{self.fault}-{shape}-{self.torch.name}-{self.layout.value}-{self.loss.value}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it. ``root``: group and number of the work that everything else follows from, if there is one."""

    run: Run
    culprits: tuple[int, ...]
    ranks: Mapping[int, Rank]
    exits: Mapping[int, int]
    fault_s: float
    root: tuple[int, int | None] | None
    files: Files
    args: tuple[str, ...] = ()
