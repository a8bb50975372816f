"""A signal from outside ends a healthy job: SIGTERM (preemption), SIGINT (Ctrl-C), SIGHUP (closed terminal)."""

from __future__ import annotations

from collections.abc import Iterator

from lab.logs import Logs
from lab.spec import Draw, Expect, Layout, Run, Signal
from lab.truth import expect

FAMILY = "outside"
NUMBERS = {"SIGTERM": 15, "SIGINT": 2, "SIGHUP": 1}


def truth(run: Run, logs: Logs) -> Expect:
    number = NUMBERS[run.signal.name] if run.signal else 0
    return expect(
        "preempted-or-cancelled",
        never=(
            "rank-exception",
            "process-died-unexplained",
            "rendezvous-timeout",
            "peer-lost-unexplained",
            "store-lost",
        ),
        facts={"signal": f"got signal: {number}"},
    )


def gloo_runs(draw: Draw) -> Iterator[Run]:
    for name, layout, size, node in (
        ("SIGTERM", Layout.CONSOLE, 3, 0),
        ("SIGTERM", Layout.LOG_DIR, 2, 0),
        ("SIGTERM", Layout.TWO_NODES, 4, 1),
        ("SIGINT", Layout.CONSOLE, 2, 0),
        ("SIGINT", Layout.TEE, 3, 0),
        ("SIGHUP", Layout.CONSOLE, 2, 0),
    ):
        mine = draw.of(name, layout)
        c10d = ("--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:{port}", "--rdzv-id", "7")
        yield Run(
            id=f"agent-{name.lower()}-{layout.value}-{size}",
            family=FAMILY,
            job="supervised",
            layout=layout,
            world_size=size,
            why=f"{name} reached the torchrun agent of a job that was training; no rank had failed.",
            truth=truth,
            settings={"steps": 400},
            torchrun=c10d if layout is Layout.TWO_NODES else (),
            signal=Signal(name, after=f"step {mine.step()}/", node=node),
            must_show=(rf"got signal: {NUMBERS[name]}",),
            script=mine.script(),
        )
