"""A rank has fewer batches, skips a collective, or never comes to a monitored barrier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lab.logs import Logs
from lab.spec import Draw, Expect, Injection, Layout, Run
from lab.truth import PEER_LOST, by_elimination, either, expect

FAMILY = "uneven"
NOT_THIS = ("rank-exception", "peer-unreachable", "process-died-unexplained", "segfault", "preempted-or-cancelled")
MISSED = r"Ranks? ([\d, ]+) failed to pass monitoredBarrier"


def ended_early(run: Run, logs: Logs) -> Expect:
    """The rank is named where it says itself that its data ended.

    Where it does not, torchrun's table may betray it: it lists all ranks but those that ended with 0. Else the others
    merely lost a peer.
    """
    named = logs.ranks_showing("no more batches after", run.culprits)
    if named:
        return expect("rank-missing-collective", never=NOT_THIS, culprits=named, facts={"end": "no more batches after"})
    if _left_out_of_table(run, logs):
        return expect(
            "rank-missing-collective",
            also_ok=("peer-lost-unexplained", "process-died-unexplained", "collective-timeout-unexplained"),
            never=NOT_THIS,
            culprits=either((), run.culprits),
        )
    return expect(
        "peer-lost-unexplained",
        also_ok=("rank-missing-collective", "process-died-unexplained", "collective-timeout-unexplained"),
        never=NOT_THIS,
        culprits=by_elimination(run, logs, PEER_LOST),
    )


def _left_out_of_table(run: Run, logs: Logs) -> bool:
    """Whether all ranks but the culprits are in the table, and the logs show that there are more."""
    listed = {row.rank for row in logs.table()}
    others = set(range(run.world_size)) - set(run.culprits)
    size_known = f"world size {run.world_size}" in logs.text or max(run.culprits) < max(listed, default=-1)
    return listed == others and size_known


def skipped(run: Run, logs: Logs) -> Expect:
    """gloo pairs the calls by order: the odd rank's next all-reduce meets the others' with another size."""
    detail = "CollectiveFingerPrint" in logs.text
    return expect(
        "collective-shape-mismatch" if not detail else "collective-order-mismatch",
        also_ok=("collective-order-mismatch", "rank-missing-collective")
        if not detail
        else ("collective-shape-mismatch", "rank-missing-collective"),
        never=NOT_THIS,
        culprits=either((), run.culprits) if detail else (),
        facts={"rank": f"Rank {run.culprits[0]} is running collective"} if detail else {"abort": "op.preamble.length"},
    )


def not_at_barrier(run: Run, logs: Logs) -> Expect:
    return expect(
        "rank-missing-collective",
        also_ok=("straggler-host-work",),
        never=(*NOT_THIS, "peer-lost-unexplained", "collective-timeout-unexplained"),
        culprits=run.culprits,
        facts={"barrier": "failed to pass monitoredBarrier", "timeout": "5000 ms"},
    )


def gloo_runs(draw: Draw) -> Iterator[Run]:
    for name, layout, size, log_ranks, barrier in (
        ("leaves", Layout.CONSOLE, 3, "all", False),
        ("leaves-unseen", Layout.CONSOLE, 4, "first", False),
        ("leaves-unseen", Layout.TEE, 3, "none", False),
        ("waits", Layout.TEE, 3, "all", True),
        ("leaves", Layout.PER_RANK, 3, "all", False),
        ("waits", Layout.TWO_NODES, 4, "all", True),
        ("leaves", Layout.LOG_DIR, 2, "all", False),
    ):
        yield _short_data(draw, name, layout, size, {"log_ranks": log_ranks}, barrier)
    for name, layout, env in (
        ("skipped-collective", Layout.CONSOLE, {}),
        ("skipped-collective-detail", Layout.TEE, {"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}),
    ):
        mine = draw.of(name)
        rank = mine.rank(3)
        yield Run(
            id=f"{name}-{layout.value}-3-rank{rank}",
            family=FAMILY,
            job="waiting",
            layout=layout,
            world_size=3,
            why="One rank skipped a collective that the others called, so that its next call met theirs.",
            truth=skipped,
            injections=(Injection("skipped-collective", (rank,), mine.step()),),
            env=env,
            must_show=("mismatch",),
            script=mine.script(),
        )
    for name, layout, size, count, options, env in (
        ("monitored-barrier", Layout.CONSOLE, 4, 1, {"monitored": True}, {}),
        ("monitored-barrier-all", Layout.TEE, 4, 2, {"monitored": True, "all_ranks": True}, {}),
        ("monitored-barrier", Layout.PER_RANK, 3, 1, {"monitored": True}, {}),
        ("absent-detail", Layout.LOG_DIR, 3, 1, {}, {"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}),
    ):
        mine = draw.of(name, layout, size)
        ranks = _absent(mine, size, count)
        yield Run(
            id=f"{name}-{layout.value}-{size}-rank{'-'.join(map(str, ranks))}",
            family=FAMILY,
            job="waiting",
            layout=layout,
            world_size=size,
            why="The ranks that did not come to the barrier are named by rank 0.",
            truth=not_at_barrier,
            injections=(Injection("absent", ranks),),
            options={"late_s": 30, **options},
            settings={"steps": 5},
            env=env,
            must_show=(MISSED,),
            script=mine.script(),
        )


def nccl_runs(draw: Draw) -> Iterator[Run]:
    yield _short_data(draw, "waits", Layout.CONSOLE, 2, {"log_ranks": "all"}, True)


def _absent(draw: Draw, size: int, count: int) -> tuple[int, ...]:
    """Never rank 0: it is the one that reports."""
    ranks: list[int] = []
    while len(ranks) < count:
        ranks.append(draw.rank(size, but=(0, *ranks)))
    return tuple(sorted(ranks))


def _short_data(draw: Draw, name: str, layout: Layout, size: int, settings: Mapping[str, Any], barrier: bool) -> Run:
    draw = draw.of(name, layout, size)
    # Rank 0 logs in these runs: when it is not seen to end, the rank that ends is another one.
    rank = draw.rank(size, but=(0,) if settings["log_ranks"] == "first" else ())
    return Run(
        id=f"short-data-{name}-{layout.value}-{size}-rank{rank}",
        family=FAMILY,
        job="waiting",
        layout=layout,
        world_size=size,
        why="One rank had fewer batches than the others and ended cleanly; the others waited for it in an all-reduce.",
        truth=ended_early,
        injections=(Injection("short-data", (rank,)),),
        options={"short_steps": draw.step(), "barrier": barrier},
        settings=settings,
        must_show=(r"Connection closed by peer|Timed out waiting|Watchdog caught",),
        script=draw.script(),
    )
