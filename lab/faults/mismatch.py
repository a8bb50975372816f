"""Ranks call collectives that do not fit: another order, size or type, with the debug mode DETAIL and without."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lab.logs import Logs
from lab.spec import Draw, Expect, Injection, Layout, Run, Truth
from lab.truth import either, expect

FAMILY = "mismatch"
DETAIL = {"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}
NOT_THIS = ("rank-exception", "peer-unreachable", "host-oom-kill", "straggler-host-work", "preempted-or-cancelled")


def order(run: Run, logs: Logs) -> Expect:
    """DETAIL prints both operations. Without it the tracebacks alone show who stood in which collective."""
    if "CollectiveFingerPrint" in logs.text:
        minority = run.culprits if run.world_size > 2 * len(run.culprits) else ()
        return expect(
            "collective-order-mismatch",
            never=(*NOT_THIS, "collective-shape-mismatch", "collective-timeout-unexplained"),
            culprits=minority,
            facts={"ops": ["OpType=ALLREDUCE", "OpType=BROADCAST"]},
        )
    return expect(
        "collective-order-mismatch",
        also_ok=("collective-timeout-unexplained", "rank-missing-collective"),
        never=NOT_THIS,
        culprits=either((), logs.ranks_showing(r"dist\.broadcast\(", run.culprits)),
        facts={"timeout": "5000ms"},
    )


def size(run: Run, logs: Logs) -> Expect:
    """DETAIL prints both shapes; gloo alone aborts the rank that receives too much, which is chance."""
    if "CollectiveFingerPrint" in logs.text:
        minority = run.culprits if run.world_size > 2 * len(run.culprits) else ()
        return expect(
            "collective-shape-mismatch",
            never=(*NOT_THIS, "collective-order-mismatch", "segfault"),
            culprits=minority,
            facts={"op": "OpType=ALLREDUCE"},
        )
    return expect(
        "collective-shape-mismatch",
        also_ok=("collective-order-mismatch",),
        never=(*NOT_THIS, "peer-lost-unexplained", "segfault"),
        facts={"abort": "op.preamble.length"},
    )


def debug_mode_crash(run: Run, logs: Logs) -> Expect:
    """DDP under DETAIL crashes every rank in torch 2.13 on the CPU: a native crash with nothing before it."""
    crashed = tuple(row.rank for row in logs.table() if row.exitcode == -11)
    return expect(
        "segfault",
        never=("rank-exception", "peer-lost-unexplained", "host-oom-kill", "collective-order-mismatch"),
        culprits=either((), crashed, tuple(range(run.world_size))),
        facts={"signal": "SIGSEGV"},
    )


def gloo_runs(draw: Draw) -> Iterator[Run]:
    for name, kind, truth, layout, ranks, env in (
        ("order", "other-order", order, Layout.CONSOLE, 3, {}),
        ("order", "other-order", order, Layout.LOG_DIR, 3, {}),
        ("order-detail", "other-order", order, Layout.CONSOLE, 3, DETAIL),
        ("order-detail", "other-order", order, Layout.LOG_DIR, 4, DETAIL),
        ("order-detail-halves", "other-order", order, Layout.TEE, 2, DETAIL),
        ("size", "other-size", size, Layout.TEE, 3, {}),
        ("size", "other-size", size, Layout.LOG_DIR, 2, {}),
        ("size-detail", "other-size", size, Layout.PER_RANK, 3, DETAIL),
        ("type-detail", "other-type", size, Layout.CONSOLE, 3, DETAIL),
    ):
        yield _run(draw, name, kind, truth, layout, ranks, {}, env)
    yield Run(
        id="ddp-under-detail-console-2",
        family=FAMILY,
        job="mismatch",
        layout=Layout.CONSOLE,
        world_size=2,
        why="No fault was injected: DDP with TORCH_DISTRIBUTED_DEBUG=DETAIL and gloo crashes in this torch.",
        truth=debug_mode_crash,
        env=DETAIL,
        must_show=("SIGSEGV",),
        script=draw.of("ddp").script(),
    )


def nccl_runs(draw: Draw) -> Iterator[Run]:
    yield _run(draw, "order-detail", "other-order", order, Layout.CONSOLE, 2, {}, DETAIL)
    yield _run(draw, "size-detail", "other-size", size, Layout.CONSOLE, 3, {}, DETAIL)


def _run(
    draw: Draw,
    name: str,
    kind: str,
    truth: Truth,
    layout: Layout,
    world_size: int,
    settings: Mapping[str, Any],
    env: Mapping[str, str],
) -> Run:
    draw = draw.of(name, layout, world_size)
    rank = draw.rank(world_size)
    return Run(
        id=f"{name}-{layout.value}-{world_size}-rank{rank}",
        family=FAMILY,
        job="mismatch",
        layout=layout,
        world_size=world_size,
        why="One rank called a collective that did not fit what the others called at the same place.",
        truth=truth,
        injections=(Injection(kind, (rank,), draw.step()),),
        options={"ddp": False},
        settings=settings,
        env=env,
        must_show=("mismatch|Timed out waiting",),
        script=draw.script(),
    )
