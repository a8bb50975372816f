"""Runs that end well and look bad: warnings, handled tracebacks, retries, progress bars, no clean shutdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lab.logs import Logs
from lab.spec import Draw, Expect, Injection, Layout, Run

FAMILY = "healthy"
ALARMS = ("rank-exception", "collective-timeout-unexplained", "peer-lost-unexplained", "store-lost", "segfault")


def truth(run: Run, logs: Logs) -> Expect:
    return Expect("no-failure", never=ALARMS)


def gloo_runs(draw: Draw) -> Iterator[Run]:
    yield _run(draw, "quiet", Layout.CONSOLE, 4)
    yield _run(draw, "quiet", Layout.LOG_DIR, 2, settings={"log_ranks": "all"}, env={"LOGLEVEL": "INFO"})
    yield _run(draw, "quiet", Layout.CONSOLE, 8)
    yield _run(draw, "quiet", Layout.TWO_NODES, 4, env={"LOGLEVEL": "INFO"})
    yield _run(draw, "warnings", Layout.TEE, 3, kinds=("warnings", "retried-download"), options={"find_unused": True})
    yield _run(draw, "bars", Layout.CONSOLE, 2, options={"bars": "all"}, needs=frozenset({"tqdm"}))
    yield _run(draw, "bars", Layout.PER_RANK, 2, options={"bars": "first"}, needs=frozenset({"tqdm"}))
    yield _run(draw, "handled-error", Layout.CONSOLE, 3, kinds=("skipped-sample",))
    yield _run(draw, "handled-error", Layout.PER_RANK, 2, kinds=("skipped-sample", "retried-download"))
    yield _run(draw, "untidy-end", Layout.CONSOLE, 3, options={"tidy": False})
    yield _run(draw, "untidy-end", Layout.PER_RANK, 3, options={"tidy": False})
    yield _run(
        draw, "cpp-info", Layout.CONSOLE, 2, env={"TORCH_CPP_LOG_LEVEL": "INFO", "TORCH_DISTRIBUTED_DEBUG": "INFO"}
    )


def nccl_runs(draw: Draw) -> Iterator[Run]:
    yield _run(draw, "quiet", Layout.CONSOLE, 2, env={"NCCL_DEBUG": "INFO"})


def _run(
    draw: Draw,
    name: str,
    layout: Layout,
    size: int,
    *,
    kinds: tuple[str, ...] = (),
    options: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
    needs: frozenset[str] = frozenset(),
) -> Run:
    draw = draw.of(name, layout, size)
    return Run(
        id=f"{name}-{layout.value}-{size}",
        family=FAMILY,
        job="healthy",
        layout=layout,
        world_size=size,
        why="The job ended well.",
        truth=truth,
        injections=tuple(Injection(kind, tuple(range(size)), draw.step()) for kind in kinds),
        options=options or {},
        settings={"steps": 30 if options and "bars" in options else 12, **(settings or {})},
        env=env or {},
        must_show=() if options and "bars" in options else ("training finished",),
        ends_well=True,
        needs=needs,
        script=draw.script(),
    )
