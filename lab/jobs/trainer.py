"""What the jobs share: settings, the process group, a small model and its data, one log line a step.

A job script reads like a user's program, because tracebacks print its lines and function names: a line that is
printed must not say that the failure was ordered. Settings travel as JSON in one environment variable.
"""

from __future__ import annotations

import json
import logging
import os
import pathlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

SETTINGS_VARIABLE = "LAB_SETTINGS"
MEETING_POINT_VARIABLE = "LAB_MEETING_POINT"
START_WAIT_S = 90.0

log = logging.getLogger("train")


@dataclass(frozen=True)
class Injection:
    """One thing that goes wrong: on these ranks, at this step, in these attempts of the launcher."""

    kind: str
    ranks: tuple[int, ...]
    step: int
    attempts: tuple[int, ...]


@dataclass(frozen=True)
class Settings:
    """How this run of a job goes. ``log_ranks`` is ``first``, ``all`` or ``none``."""

    injections: tuple[Injection, ...] = ()
    steps: int = 12
    backend: str = "gloo"
    timeout_s: float = 5.0
    log_ranks: str = "first"
    meet_first: bool = True
    record: bool = False
    spawn: int = 0
    options: dict[str, Any] = field(default_factory=dict)

    def hits(self, kind: str, rank: int, step: int | None = None) -> bool:
        """Whether ``kind`` happens to this rank now; without a step: whether it ever does in this attempt."""
        attempt = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
        return any(
            kind == it.kind and rank in it.ranks and attempt in it.attempts and step in (None, it.step)
            for it in self.injections
        )


def load_settings() -> Settings:
    values = json.loads(os.environ[SETTINGS_VARIABLE])
    injections = tuple(
        Injection(it["kind"], tuple(it["ranks"]), it["step"], tuple(it["attempts"])) for it in values.pop("injections")
    )
    return Settings(injections=injections, **values)


settings = load_settings()


class Corpus(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    """Random samples, the same in every process."""

    def __init__(self, length: int, width: int = 16) -> None:
        self.length = length
        self.width = width

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        generator = torch.Generator().manual_seed(index)
        return {"input": torch.randn(self.width, generator=generator), "label": torch.tensor(index % 4)}


class Classifier(nn.Module):
    def __init__(self, width: int = 16, classes: int = 4) -> None:
        super().__init__()
        self.encoder = nn.Linear(width, 32)
        self.head = nn.Linear(32, classes)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.encoder(inputs)))


def wait_for_all_imports() -> None:
    """Importing torch takes seconds, and not the same in each process: meet before any timeout runs."""
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    folder = pathlib.Path(os.environ[MEETING_POINT_VARIABLE])
    (folder / f"{attempt}-{os.environ['RANK']}").touch()
    end = time.monotonic() + START_WAIT_S
    while len(list(folder.glob(f"{attempt}-*"))) < int(os.environ["WORLD_SIZE"]) and time.monotonic() < end:
        time.sleep(0.05)


def setup() -> int:
    """Joins the process group; returns the rank."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    if settings.meet_first:
        wait_for_all_imports()
    if settings.backend == "nccl" and torch.cuda.is_available():
        share_one_gpu()
    dist.init_process_group(settings.backend, timeout=timedelta(seconds=settings.timeout_s))
    say("world size %d, backend %s", dist.get_world_size(), settings.backend)
    return dist.get_rank()


def share_one_gpu() -> None:
    """NCCL refuses two ranks of one host on one GPU, so each rank calls itself a host and talks over loopback."""
    os.environ["NCCL_HOSTID"] = f"host-{os.environ['RANK']}"
    os.environ.setdefault("NCCL_SOCKET_IFNAME", "lo")
    torch.cuda.set_device(0)


def device() -> torch.device:
    return torch.device("cuda", 0) if settings.backend == "nccl" else torch.device("cpu")


def say(message: str, *values: object) -> None:
    """A log line of this rank, if this rank logs; with the rank in the text where all ranks do."""
    rank = dist.get_rank()
    if settings.log_ranks == "all":
        log.info("[rank %d] " + message, rank, *values)
    elif settings.log_ranks == "first" and rank == 0:
        log.info(message, *values)


def say_step(step: int, loss: float) -> None:
    say("step %d/%d loss %.4f", step, settings.steps, loss)
    time.sleep(0.05)


def start(main: Callable[[], None]) -> None:
    """Runs ``main`` here, under torch's ``record``, or in spawned processes, as the settings say."""
    if settings.spawn and "RANK" not in os.environ:
        torch.multiprocessing.spawn(_spawned, args=(main, settings.spawn), nprocs=settings.spawn)
    elif settings.record:
        from torch.distributed.elastic.multiprocessing.errors import record

        record(main)()
    else:
        main()


def _spawned(rank: int, main: Callable[[], None], world_size: int) -> None:
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world_size))
    main()
