"""DDP parameters that got no gradient: on all ranks (DDP says so) or on one (gloo aborts on a size)."""

from __future__ import annotations

from collections.abc import Iterator

from lab.logs import Logs
from lab.spec import Draw, Expect, Injection, Layout, Run
from lab.truth import either, expect

FAMILY = "unused"
MESSAGE = "Expected to have finished reduction in the prior iteration"


def all_ranks(run: Run, logs: Logs) -> Expect:
    seen = logs.ranks_showing(MESSAGE, range(run.world_size))
    return expect(
        "ddp-unused-parameters",
        never=("rank-exception", "peer-lost-unexplained", "rank-missing-collective", "collective-timeout-unexplained"),
        culprits=either((), seen, run.culprits),
        facts={"indices": "did not receive grad for rank"},
    )


def one_rank(run: Run, logs: Logs) -> Expect:
    """The rank with fewer gradients goes on to the next collective, where the sizes do not fit."""
    return expect(
        "collective-shape-mismatch",
        also_ok=("collective-order-mismatch", "ddp-unused-parameters", "rank-missing-collective"),
        never=("rank-exception", "peer-lost-unexplained", "host-oom-kill", "segfault"),
        facts={"abort": "op.preamble.length"},
    )


def gloo_runs(draw: Draw) -> Iterator[Run]:
    for name, layout, size, env in (
        ("unused", Layout.CONSOLE, 2, {}),
        ("unused-info", Layout.TEE, 3, {"TORCH_DISTRIBUTED_DEBUG": "INFO"}),
        ("unused", Layout.LOG_DIR, 2, {}),
    ):
        mine = draw.of(name, layout, size)
        yield Run(
            id=f"{name}-all-{layout.value}-{size}",
            family=FAMILY,
            job="mismatch",
            layout=layout,
            world_size=size,
            why="A head of the model took no part in one loss; DDP refuses the next iteration on every rank.",
            truth=all_ranks,
            injections=(Injection("unused-parameters", tuple(range(size)), mine.step()),),
            env=env,
            must_show=(MESSAGE,),
            script=mine.script(),
        )
    draw = draw.of("one")
    rank = draw.rank(3)
    yield Run(
        id=f"unused-console-3-rank{rank}",
        family=FAMILY,
        job="mismatch",
        layout=Layout.CONSOLE,
        world_size=3,
        why="One rank's batch did not use a head of the model, so its gradients were never exchanged.",
        truth=one_rank,
        injections=(Injection("unused-parameters", (rank,), draw.step()),),
        must_show=("mismatch",),
        script=draw.script(),
    )
