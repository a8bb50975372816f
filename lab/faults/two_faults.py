"""Two independent faults on two ranks in the same step: either may win the race, both are to be reported."""

from __future__ import annotations

from collections.abc import Iterator

from lab.logs import Logs
from lab.spec import Draw, Expect, Injection, Layout, Run
from lab.truth import either, expect

FAMILY = "two-faults"
CAUSES = {"missing-key": "rank-exception", "out-of-memory": "cuda-oom", "signal": "process-died-unexplained"}
SHOWN = {"missing-key": "KeyError: 'label'", "out-of-memory": "CUDA out of memory"}


def truth(run: Run, logs: Logs) -> Expect:
    """The cause is that of the first fault if its rank got to say it, and the other one is as good."""
    causes = [CAUSES[injection.kind] for injection in run.injections]
    named = [
        logs.ranks_showing(SHOWN[it.kind], it.ranks) if it.kind in SHOWN else logs.exited_with(-9, it.ranks)
        for it in run.injections
    ]
    shown = [cause for cause, ranks in zip(causes, named, strict=True) if ranks]
    return expect(
        shown[0],
        also_ok=tuple(shown[1:]),
        never=("peer-lost-unexplained", "preempted-or-cancelled", "rendezvous-timeout", "segfault"),
        culprits=either(*(ranks for ranks in named if ranks), tuple(rank for ranks in named for rank in ranks)),
    )


def gloo_runs(draw: Draw) -> Iterator[Run]:
    for layout, size, kinds in (
        (Layout.CONSOLE, 4, ("missing-key", "out-of-memory")),
        (Layout.LOG_DIR, 3, ("missing-key", "out-of-memory")),
        (Layout.TEE, 4, ("out-of-memory", "signal")),
    ):
        mine = draw.of(*kinds, layout)
        first = mine.rank(size)
        second = mine.rank(size, but=(first,))
        step = mine.step()
        yield Run(
            id=f"{'-and-'.join(kinds)}-{layout.value}-{size}-rank{first}-{second}",
            family=FAMILY,
            job="supervised",
            layout=layout,
            world_size=size,
            why="Two ranks failed in the same step for reasons that have nothing to do with each other.",
            truth=truth,
            injections=(Injection(kinds[0], (first,), step), Injection(kinds[1], (second,), step)),
            options={"signal": "SIGKILL"},
            must_show=(SHOWN[kinds[0]],),
            script=mine.script(),
        )
