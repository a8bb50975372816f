"""GPU memory runs out on one rank. Without a GPU the job raises torch.OutOfMemoryError with the real wording itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lab.logs import Logs
from lab.spec import Draw, Expect, Injection, Layout, Run
from lab.truth import expect

FAMILY = "memory"
OUT_OF_MEMORY = r"OutOfMemoryError: CUDA out of memory\. Tried to allocate"


def truth(run: Run, logs: Logs) -> Expect:
    return expect(
        "cuda-oom",
        never=("host-oom-kill", "rank-exception", "peer-lost-unexplained", "preempted-or-cancelled"),
        culprits=logs.ranks_showing(OUT_OF_MEMORY, run.culprits),
        facts={"error": "CUDA out of memory. Tried to allocate"},
    )


def gloo_runs(draw: Draw) -> Iterator[Run]:
    for layout, size in ((Layout.CONSOLE, 3), (Layout.TEE, 4), (Layout.LOG_DIR, 2), (Layout.PER_RANK, 3)):
        yield _run(draw, layout, size, {})


def nccl_runs(draw: Draw) -> Iterator[Run]:
    yield _run(draw, Layout.CONSOLE, 2, {})


def _run(draw: Draw, layout: Layout, size: int, settings: Mapping[str, Any]) -> Run:
    draw = draw.of(layout, size)
    rank = draw.rank(size)
    return Run(
        id=f"out-of-memory-{layout.value}-{size}-rank{rank}",
        family=FAMILY,
        job="supervised",
        layout=layout,
        world_size=size,
        why="One rank ran out of GPU memory; the others lost their partner.",
        truth=truth,
        injections=(Injection("out-of-memory", (rank,), draw.step()),),
        settings=settings,
        must_show=(OUT_OF_MEMORY,),
        script=draw.script(),
    )
