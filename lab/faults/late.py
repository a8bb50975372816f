"""A rank is late: slow host work, slow storage, work of rank 0 before a barrier, a held interpreter lock, a hang."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lab.logs import Logs
from lab.spec import Draw, Expect, Injection, Layout, Run, Truth
from lab.truth import by_elimination, either, expect

FAMILY = "late"
NOT_THIS = ("rank-exception", "peer-unreachable", "segfault", "collective-shape-mismatch", "host-oom-kill")
TIMED_OUT = r"Timed out waiting \d+ms for (recv|send) operation|Watchdog caught collective operation timeout"
HOST_WORK = r"scoring 12000 hold-out articles|tokenizing 2400000 articles"


def seen_working(run: Run, logs: Logs) -> Expect:
    """The late rank's last line says what it was doing."""
    named = logs.ranks_showing(HOST_WORK, run.culprits)
    if not named and run.injections[0].kind == "first-rank-work":
        named = (0,)
    return expect(
        "straggler-host-work",
        also_ok=("rank-missing-collective",),
        never=(*NOT_THIS, "peer-lost-unexplained", "process-died-unexplained"),
        culprits=named if run.injections[0].kind != "first-rank-work" else either(named, ()),
        facts={"timeout": f"{run.settings.get('timeout_s', 5) * 1000}ms"}
        if run.settings.get("backend") != "nccl"
        else {},
    )


def unseen(run: Run, logs: Logs) -> Expect:
    """Nothing says what the late rank did. It may be guessed from its silence, not read."""
    return expect(
        "collective-timeout-unexplained",
        also_ok=("rank-missing-collective", "straggler-host-work"),
        never=(*NOT_THIS, "process-died-unexplained", "collective-order-mismatch"),
        culprits=by_elimination(run, logs, TIMED_OUT),
        facts={"timeout": f"{run.settings.get('timeout_s', 5) * 1000}ms"}
        if run.settings.get("backend") != "nccl"
        else {},
    )


def hung(run: Run, logs: Logs) -> Expect:
    """No timeout fired: the log just stops, and the user says that the job hangs."""
    return expect(
        "collective-timeout-unexplained",
        also_ok=("rank-missing-collective", "straggler-host-work", "init-hang-unexplained", "no-failure"),
        never=(*NOT_THIS, "process-died-unexplained", "cuda-oom"),
    )


def gloo_runs(draw: Draw) -> Iterator[Run]:
    for layout, size in ((Layout.LOG_DIR, 3), (Layout.PER_RANK, 4), (Layout.CONSOLE, 3), (Layout.TWO_NODES, 4)):
        yield _run(draw, "evaluation", layout, size, seen_working, {"log_ranks": "all"})
    for kind, layout, size in (
        ("pause", Layout.CONSOLE, 3),
        ("pause", Layout.LOG_DIR, 2),
        ("pause", Layout.TEE, 8),
        ("slow-storage", Layout.CONSOLE, 2),
        ("slow-storage", Layout.TEE, 3),
        ("backtracking", Layout.CONSOLE, 2),
        ("backtracking", Layout.PER_RANK, 3),
    ):
        yield _run(draw, kind, layout, size, unseen, {"log_ranks": "first"})
    for layout, size in ((Layout.CONSOLE, 3), (Layout.TEE, 2), (Layout.TWO_NODES, 4)):
        yield Run(
            id=f"rank-0-prepares-{layout.value}-{size}",
            family=FAMILY,
            job="waiting",
            layout=layout,
            world_size=size,
            why="Rank 0 prepared the data set while the others waited in a barrier, longer than the group's timeout.",
            truth=seen_working,
            injections=(Injection("first-rank-work", (0,)),),
            options={"late_s": 40, "prepare": True},
            must_show=(TIMED_OUT,),
            script=draw.of("prepare", layout, size).script(),
        )
    draw = draw.of("hang")
    rank = draw.rank(3)
    yield Run(
        id=f"hang-console-3-rank{rank}",
        family=FAMILY,
        job="waiting",
        layout=Layout.CONSOLE,
        world_size=3,
        why="One rank stood still and the timeout was 30 minutes; the user gave up and says that the job hangs.",
        truth=hung,
        injections=(Injection("pause", (rank,), draw.step()),),
        options={"late_s": 600},
        settings={"timeout_s": 1800},
        give_up_s=25,
        args=("--hung",),
        must_show=("step 2/",),
        script=draw.script(),
    )


def nccl_runs(draw: Draw) -> Iterator[Run]:
    yield _run(draw, "evaluation", Layout.CONSOLE, 2, seen_working, {"log_ranks": "all"})
    yield _run(draw, "pause", Layout.LOG_DIR, 2, unseen, {"log_ranks": "first"})


def _run(draw: Draw, kind: str, layout: Layout, size: int, truth: Truth, settings: Mapping[str, Any]) -> Run:
    draw = draw.of(kind, layout, size)
    # A silent rank 0 would be seen: it is the one that logs.
    rank = draw.rank(size, but=(0,) if truth is unseen else ())
    return Run(
        id=f"{kind}-{layout.value}-{size}-rank{rank}",
        family=FAMILY,
        job="waiting",
        layout=layout,
        world_size=size,
        why="One rank came too late to an all-reduce, and the others' timeout fired.",
        truth=truth,
        injections=(Injection(kind, (rank,), draw.step()),),
        options={"late_s": 40},
        settings=settings,
        must_show=(TIMED_OUT,),
        script=draw.script(),
    )
