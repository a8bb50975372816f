"""torchrun --max-restarts: the same fault in each attempt, another fault after a restart, a restart that helps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lab.logs import Logs
from lab.spec import Draw, Expect, Injection, Layout, Run, Truth
from lab.truth import either, expect

FAMILY = "restarts"
NOT_THIS = ("peer-lost-unexplained", "preempted-or-cancelled", "rendezvous-timeout", "store-lost", "cuda-oom")
STALE = r"Gloo connectFullMesh failed"
KEY = "KeyError: 'label'"
INFO = {"LOGLEVEL": "INFO"}
# torchrun 2.13 lets all attempts use the store of its c10d rendezvous. gloo then often finds the addresses of the
# attempt before, and the restart fails for that reason. Without sharing each attempt has a store of its own.
OWN_STORE = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}


def first_attempt(run: Run, logs: Logs) -> Expect:
    """The first failing attempt leads; a later fault of another kind on another rank is a second story."""
    return expect(
        "rank-exception",
        never=(*NOT_THIS, "segfault"),
        culprits=logs.ranks_showing(KEY, run.injections[0].ranks),
        facts={"exception": KEY},
    )


def then_killed(run: Run, logs: Logs) -> Expect:
    first = logs.ranks_showing(KEY, run.injections[0].ranks)
    return expect(
        "rank-exception",
        also_ok=("process-died-unexplained", "host-oom-kill"),
        never=(*NOT_THIS, "segfault"),
        culprits=either(first, (*first, *run.injections[1].ranks)),
        facts={"exception": KEY, "signal": "SIGKILL"},
    )


def then_stale(run: Run, logs: Logs) -> Expect:
    """The restart fails too, because it meets the addresses that the first attempt left in the store."""
    return expect(
        "rank-exception",
        also_ok=("stale-rendezvous-state",),
        never=(*NOT_THIS, "segfault", "peer-unreachable", "master-unreachable"),
        culprits=logs.ranks_showing(KEY, run.injections[0].ranks),
        facts={"exception": KEY, "restart": "Gloo connectFullMesh failed"},
    )


def recovered(run: Run, logs: Logs) -> Expect:
    """One attempt failed and the next one finished: both "it failed at first" and "it ended well" are right."""
    return expect(
        "rank-exception",
        also_ok=("no-failure",),
        never=(*NOT_THIS, "segfault", "process-died-unexplained"),
        culprits=logs.ranks_showing(KEY, run.injections[0].ranks),
        facts={"exception": KEY},
    )


def gloo_runs(draw: Draw) -> Iterator[Run]:
    for layout, env, restarts in ((Layout.LOG_DIR, {}, 2), (Layout.CONSOLE, INFO, 1), (Layout.TEE, {}, 1)):
        mine = draw.of("same", layout)
        rank = mine.rank(2)
        injections: tuple[Injection, ...] = (Injection("missing-key", (rank,), mine.step(), attempts=(0, 1, 2)),)
        yield _run(draw, "same-fault", layout, restarts, injections, env | OWN_STORE, first_attempt, f"rank{rank}")
    for layout, env in ((Layout.LOG_DIR, {}), (Layout.CONSOLE, INFO)):
        mine = draw.of("other", layout)
        rank = mine.rank(2)
        other = 1 - rank
        injections = (
            Injection("missing-key", (rank,), mine.step(), attempts=(0,)),
            Injection("signal", (other,), mine.step(), attempts=(1,)),
        )
        yield _run(draw, "other-fault", layout, 1, injections, env | OWN_STORE, then_killed, f"rank{rank}-then-{other}")
    for layout, env in ((Layout.CONSOLE, INFO), (Layout.LOG_DIR, {})):
        mine = draw.of("recovers", layout)
        rank = mine.rank(2)
        injections = (Injection("missing-key", (rank,), mine.step(), attempts=(0,)),)
        yield _run(draw, "recovers", layout, 1, injections, env | OWN_STORE, recovered, f"rank{rank}", ends_well=True)
    for layout in (Layout.CONSOLE, Layout.LOG_DIR):
        mine = draw.of("stale", layout)
        rank = mine.rank(2)
        injections = (Injection("missing-key", (rank,), mine.step(), attempts=(0,)),)
        yield _run(draw, "stale-store", layout, 1, injections, INFO, then_stale, f"rank{rank}", shows=STALE)


def _run(
    draw: Draw,
    name: str,
    layout: Layout,
    restarts: int,
    injections: tuple[Injection, ...],
    env: Mapping[str, str],
    truth: Truth,
    who: str,
    ends_well: bool = False,
    shows: str = KEY,
) -> Run:
    return Run(
        id=f"{name}-{layout.value}-2-{who}",
        family=FAMILY,
        job="supervised",
        layout=layout,
        world_size=2,
        why="torchrun restarted the workers after the first failure.",
        truth=truth,
        injections=injections,
        options={"signal": "SIGKILL"},
        env=env,
        torchrun=("--max-restarts", str(restarts)),
        must_show=(KEY, shows),
        ends_well=ends_well,
        script=draw.of(name, layout, "script").script(),
    )
