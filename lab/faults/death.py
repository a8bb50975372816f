"""A rank is gone without a Python word: killed, crashed in native code, a bus error, or it left by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lab.logs import Logs
from lab.spec import Draw, Expect, Injection, Layout, Run, Truth
from lab.truth import PEER_LOST, by_elimination, either, expect

FAMILY = "death"
UNSEEN = "Only the surviving ranks say something: their peer is gone. The lost rank's own file just ends."
FAULTHANDLER = {"PYTHONFAULTHANDLER": "1"}


def killed(run: Run, logs: Logs) -> Expect:
    """SIGKILL. torchrun's table and spawn's exception name the signal; with files of the ranks alone nothing does."""
    named = either((), run.culprits) if run.layout is Layout.SPAWN else logs.exited_with(-9, run.culprits)
    if not named:
        return expect(
            "peer-lost-unexplained",
            also_ok=("process-died-unexplained",),
            never=("rank-exception", "peer-unreachable", "collective-timeout-unexplained", "segfault"),
            culprits=by_elimination(run, logs, PEER_LOST),
        )
    return expect(
        "process-died-unexplained",
        also_ok=("host-oom-kill",),
        never=("rank-exception", "peer-lost-unexplained", "cuda-oom", "segfault", "preempted-or-cancelled"),
        culprits=named,
        facts={"signal": "SIGKILL"},
    )


def crashed(run: Run, logs: Logs) -> Expect:
    """SIGSEGV: the table, or faulthandler's "Fatal Python error" in the rank's own lines."""
    fatal = logs.ranks_showing("Fatal Python error: Segmentation fault", run.culprits)
    named = logs.exited_with(-11, run.culprits) or fatal
    if not named:
        return expect(
            "peer-lost-unexplained",
            also_ok=("process-died-unexplained",),
            never=("rank-exception", "peer-unreachable", "collective-timeout-unexplained"),
            culprits=by_elimination(run, logs, PEER_LOST),
        )
    return expect(
        "segfault",
        never=("rank-exception", "peer-lost-unexplained", "host-oom-kill", "preempted-or-cancelled"),
        culprits=named,
        facts={"signal": "Segmentation fault"} if fatal else {"signal": "SIGSEGV"},
    )


def bus_error(run: Run, logs: Logs) -> Expect:
    """SIGBUS in a process that uses shared memory is a full /dev/shm until shown otherwise."""
    return expect(
        "shm-exhausted",
        also_ok=("segfault", "process-died-unexplained"),
        never=("rank-exception", "peer-lost-unexplained", "cuda-oom", "host-oom-kill"),
        culprits=logs.exited_with(-7, run.culprits) or logs.ranks_showing("Fatal Python error: Bus", run.culprits),
        facts={"signal": "SIGBUS"},
    )


def left(run: Run, logs: Logs) -> Expect:
    """An exit code that says nothing."""
    code = int(run.options["exit_code"])
    return expect(
        "process-died-unexplained",
        also_ok=("rank-exception",),
        never=("peer-lost-unexplained", "preempted-or-cancelled", "segfault", "host-oom-kill"),
        culprits=logs.exited_with(code, run.culprits),
        facts={"exitcode": f"exitcode  : {code}"},
    )


def terminated(run: Run, logs: Logs) -> Expect:
    """SIGTERM to one worker: torchrun did not send it, so somebody outside did; the table names the rank."""
    first = tuple(row.rank for row in logs.table() if row.first and row.exitcode == -15)
    return expect(
        "process-died-unexplained",
        also_ok=("preempted-or-cancelled",),
        never=("rank-exception", "peer-lost-unexplained", "segfault"),
        culprits=tuple(rank for rank in run.culprits if rank in first),
        facts={"signal": "SIGTERM"},
    )


def aborted(run: Run, logs: Logs) -> Expect:
    return expect(
        "process-died-unexplained",
        also_ok=("segfault",),
        never=("rank-exception", "peer-lost-unexplained", "preempted-or-cancelled", "host-oom-kill"),
        culprits=logs.exited_with(-6, run.culprits),
        facts={"signal": "SIGABRT"},
    )


def worker_gone(run: Run, logs: Logs) -> Expect:
    """A data loader worker was killed by a signal, which its rank reports."""
    signal = run.options["worker_signal"]
    words = {"SIGKILL": "Killed", "SIGSEGV": "Segmentation fault", "SIGBUS": "Bus error"}[signal]
    suspicion = {"SIGKILL": "host-oom-kill", "SIGSEGV": "segfault", "SIGBUS": "shm-exhausted"}[signal]
    return expect(
        "dataloader-worker-killed",
        also_ok=(suspicion,),
        never=("rank-exception", "peer-lost-unexplained", "cuda-oom", "preempted-or-cancelled"),
        culprits=either(logs.ranks_showing(f"DataLoader worker .* is killed by signal: {words}", run.culprits)),
        facts={"signal": f"killed by signal: {words}"},
    )


def gloo_runs(draw: Draw) -> Iterator[Run]:
    for layout, size in (
        (Layout.CONSOLE, 4),
        (Layout.TEE, 3),
        (Layout.LOG_DIR, 2),
        (Layout.PER_RANK, 3),
        (Layout.TWO_NODES, 4),
        (Layout.AGENT_ONLY, 4),
        (Layout.SPAWN, 2),
        (Layout.CONSOLE, 8),
    ):
        yield _run(draw, "sigkill", "signal", killed, layout, size, {"signal": "SIGKILL"})
    for layout, size, env in (
        (Layout.CONSOLE, 3, {}),
        (Layout.TEE, 3, FAULTHANDLER),
        (Layout.LOG_DIR, 2, FAULTHANDLER),
        (Layout.PER_RANK, 3, FAULTHANDLER),
        (Layout.PER_RANK, 4, {}),
    ):
        name = "segfault-traced" if env else "segfault"
        yield _run(draw, name, "null-pointer", crashed, layout, size, {}, env)
    yield _run(draw, "sigbus", "truncated-map", bus_error, Layout.CONSOLE, 2, {})
    yield _run(draw, "sigbus-traced", "truncated-map", bus_error, Layout.LOG_DIR, 3, {}, FAULTHANDLER)
    yield _run(draw, "exit-code", "hard-exit", left, Layout.CONSOLE, 3, {"exit_code": 7})
    yield _run(draw, "sys-exit", "soft-exit", left, Layout.TEE, 2, {"exit_code": 3})
    yield _run(draw, "sigterm-one-worker", "signal", terminated, Layout.CONSOLE, 3, {"signal": "SIGTERM"})
    yield _run(draw, "sigabrt", "signal", aborted, Layout.LOG_DIR, 2, {"signal": "SIGABRT"})
    for layout, size, signal in (
        (Layout.TEE, 2, "SIGKILL"),
        (Layout.LOG_DIR, 3, "SIGBUS"),
        (Layout.CONSOLE, 2, "SIGSEGV"),
    ):
        options = {"worker_signal": signal, "workers": 1}
        yield _run(draw, f"loader-worker-{signal.lower()}", "worker-killed", worker_gone, layout, size, options)


def nccl_runs(draw: Draw) -> Iterator[Run]:
    for layout in (Layout.CONSOLE, Layout.LOG_DIR):
        yield _run(draw, "sigkill", "signal", killed, layout, 2, {"signal": "SIGKILL"}, settings={})


def _run(
    draw: Draw,
    name: str,
    kind: str,
    truth: Truth,
    layout: Layout,
    size: int,
    options: Mapping[str, Any],
    env: Mapping[str, str] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Run:
    draw = draw.of(name, layout, size)
    rank = draw.rank(size)
    return Run(
        id=f"{name}-{layout.value}-{size}-rank{rank}",
        family=FAMILY,
        job="supervised",
        layout=layout,
        world_size=size,
        why="One rank was gone at once, without a Python exception of its own; what the others print is fallout.",
        notes=UNSEEN if layout is Layout.PER_RANK else "",
        truth=truth,
        injections=(Injection(kind, (rank,), draw.step()),),
        options=options,
        env=env or {},
        settings=settings or {},
        script=draw.script(),
    )
