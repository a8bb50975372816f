"""Ranks that wait for each other: two groups used in opposite orders, send and recv that do not pair up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lab.logs import Logs
from lab.spec import Draw, Expect, Injection, Layout, Run, Truth
from lab.truth import either, expect

FAMILY = "crossed"
NOT_THIS = ("rank-exception", "peer-unreachable", "segfault", "host-oom-kill", "straggler-host-work")


def groups(run: Run, logs: Logs) -> Expect:
    """No message names a group, but the tracebacks show which rank waits in the call on which group."""
    return expect(
        "collective-order-mismatch",
        also_ok=("collective-timeout-unexplained", "rank-missing-collective", "p2p-order-deadlock"),
        never=(*NOT_THIS, "process-died-unexplained", "collective-shape-mismatch"),
        culprits=either((), logs.ranks_showing(r"gradients, group=data_group", run.culprits)),
        facts={"timeout": "5000ms"},
    )


def hung_groups(run: Run, logs: Logs) -> Expect:
    return expect(
        "collective-timeout-unexplained",
        also_ok=("collective-order-mismatch", "rank-missing-collective", "init-hang-unexplained", "no-failure"),
        never=(*NOT_THIS, "process-died-unexplained"),
    )


def pipeline(run: Run, logs: Logs) -> Expect:
    """The tracebacks of the waiting ranks stand in send or recv; who was out of order cannot be read."""
    return expect(
        "p2p-order-deadlock",
        also_ok=("collective-timeout-unexplained",),
        never=(*NOT_THIS, "collective-shape-mismatch", "process-died-unexplained"),
        culprits=either((), run.culprits) if run.injections[0].kind == "expects-gradients-first" else (),
        facts={"timeout": "5000ms"},
    )


def gloo_runs(draw: Draw) -> Iterator[Run]:
    for layout, size in ((Layout.CONSOLE, 3), (Layout.LOG_DIR, 4)):
        yield _run(draw, "two-groups", "mismatch", "group-order", groups, layout, size, _two_groups(5))
    mine = draw.of("hang")
    rank = mine.rank(2)
    yield Run(
        id=f"two-groups-hang-console-2-rank{rank}",
        family=FAMILY,
        job="mismatch",
        layout=Layout.CONSOLE,
        world_size=2,
        why="The new groups have gloo's own timeout of 30 minutes; the user gave up and says that the job hangs.",
        truth=hung_groups,
        injections=(Injection("group-order", (rank,), mine.step()),),
        options=_two_groups(None),
        give_up_s=25,
        args=("--hung",),
        must_show=("step 2/",),
        script=mine.script(),
    )
    for layout, size in ((Layout.CONSOLE, 3), (Layout.PER_RANK, 4)):
        yield _run(draw, "pipeline", "pipeline", "expects-gradients-first", pipeline, layout, size, {}, last=False)
    mine = draw.of("ring")
    yield Run(
        id="all-send-first-tee-4",
        family=FAMILY,
        job="pipeline",
        layout=Layout.TEE,
        world_size=4,
        why="In one step all ranks of a ring sent before they received.",
        truth=pipeline,
        injections=(Injection("sends-first", (1, 3), mine.step()),),
        options={"halo": True},
        must_show=("for send operation",),
        script=mine.script(),
    )


def _two_groups(timeout_s: int | None) -> Mapping[str, Any]:
    return {"ddp": False, "two_groups": True, "group_timeout_s": timeout_s}


def _run(
    draw: Draw,
    name: str,
    job: str,
    kind: str,
    truth: Truth,
    layout: Layout,
    size: int,
    options: Mapping[str, Any],
    last: bool = True,
) -> Run:
    draw = draw.of(name, layout, size)
    rank = draw.rank(size, but=() if last else (size - 1,))
    return Run(
        id=f"{name}-{layout.value}-{size}-rank{rank}",
        family=FAMILY,
        job=job,
        layout=layout,
        world_size=size,
        why="One rank used two groups, or send and recv, in the opposite order: each waited for the other.",
        truth=truth,
        injections=(Injection(kind, (rank,), draw.step()),),
        options=options,
        must_show=(r"Timed out waiting 5000ms for (recv|send) operation",),
        script=draw.script(),
    )
