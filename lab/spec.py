"""The nouns of the lab: a planned run, what is injected, how its logs are kept, and what an expert would conclude.

A *fault* is a file in ``lab/faults``; it yields runs. A *run* becomes one case folder. The *truth* of a run is worked
out from the collected logs, because what an expert can say depends on what they happen to show.
"""

from __future__ import annotations

import enum
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from lab.logs import Logs


class Layout(str, enum.Enum):
    """What the user kept of the job's output."""

    CONSOLE = "console"  # torchrun, everything on one terminal
    TEE = "tee"  # torchrun --tee 3: "[default0]:" before the workers' lines
    LOG_DIR = "log-dir"  # torchrun --redirects 3: a folder for each attempt and local rank, and the console
    AGENT_ONLY = "agent-only"  # the same, of which only the console was kept
    TWO_NODES = "two-nodes"  # two torchrun agents, the console of each
    PER_RANK = "per-rank"  # a plain launcher: one process and one file for each rank, no agent
    SPAWN = "spawn"  # torch.multiprocessing.spawn on one terminal

    @property
    def launcher(self) -> str:
        """The name of the launcher in case.json."""
        return "unknown" if self in (Layout.PER_RANK, Layout.SPAWN) else "torchrun"


@dataclass(frozen=True, slots=True)
class Injection:
    """One thing that goes wrong: on these ranks, at this step (from 0), in these attempts of the launcher."""

    kind: str
    ranks: tuple[int, ...]
    step: int = 4
    attempts: tuple[int, ...] = (0,)


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal from outside to an agent, once ``after`` (a regex) is in the output."""

    name: str
    after: str
    node: int = 0


@dataclass(frozen=True, slots=True)
class Expect:
    """What an expert would conclude from these logs alone, in the fields of case.json."""

    cause: str
    also_ok: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    culprit_ranks: tuple[int, ...] | tuple[tuple[int, ...], ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    fix_mentions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """One planned run. ``options`` and ``settings`` go to the job, ``args`` to the analyzer (such as --hung)."""

    id: str
    family: str
    job: str
    layout: Layout
    world_size: int
    why: str
    truth: Truth
    injections: tuple[Injection, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    torchrun: tuple[str, ...] = ()
    rank_env: tuple[Mapping[str, str], ...] = ()
    nodes: tuple[int, ...] = ()
    private_mounts: tuple[tuple[str, str], ...] = ()  # (folder, size) of a tmpfs that only this run sees
    busy_port: bool = False
    signal: Signal | None = None
    give_up_s: float | None = None
    must_show: tuple[str, ...] = ()
    ends_well: bool = False
    needs: frozenset[str] = frozenset()
    args: tuple[str, ...] = ()
    script: str = "train.py"
    notes: str = ""
    limit_s: float = 90.0

    @property
    def culprits(self) -> tuple[int, ...]:
        """The ranks that something was injected on: the truth, whether or not the logs show it."""
        return tuple(sorted({rank for injection in self.injections for rank in injection.ranks}))


Truth: TypeAlias = Callable[[Run, Logs], Expect]


class Draw:
    """Deterministic choices: they follow from the seed and the name of the run alone, not from the runs before it."""

    def __init__(self, *key: object) -> None:
        self._key = key
        self._random = random.Random("/".join(it.value if isinstance(it, Layout) else str(it) for it in key))

    def of(self, *key: object) -> Draw:
        """The choices for one run of this fault."""
        return Draw(*self._key, *key)

    def rank(self, world_size: int, but: Sequence[int] = ()) -> int:
        return self._random.choice([rank for rank in range(world_size) if rank not in but])

    def step(self) -> int:
        return self._random.randrange(3, 9)

    def script(self) -> str:
        return self._random.choice(("train.py", "main.py", "finetune.py", "pretrain.py"))
