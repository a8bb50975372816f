"""The group never forms: port in use, host unknown or unreachable, too few workers, ranks or world sizes that clash."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lab.logs import Logs
from lab.spec import Draw, Expect, Layout, Run, Truth
from lab.truth import either, expect

FAMILY = "rendezvous"
NOT_THIS = ("rank-exception", "process-died-unexplained", "peer-lost-unexplained", "cuda-oom", "segfault")
SHORT = ("--rdzv-conf", "timeout=8")
STATIC = ("--master-addr", "127.0.0.1", "--master-port", "{port}")
UNKNOWN_HOST = "trainer-0.training.invalid"


def port_in_use(run: Run, logs: Logs) -> Expect:
    return expect(
        "port-in-use",
        never=(*NOT_THIS, "master-unreachable", "rendezvous-timeout", "dns-failure"),
        culprits=either((), (0,)),
        facts={"error": "EADDRINUSE"},
    )


def unknown_host(run: Run, logs: Logs) -> Expect:
    return expect(
        "dns-failure",
        also_ok=("master-unreachable",),
        never=(*NOT_THIS, "port-in-use", "peer-unreachable"),
        facts={"host": UNKNOWN_HOST},
    )


def unreachable(run: Run, logs: Logs) -> Expect:
    return expect(
        "master-unreachable",
        never=(*NOT_THIS, "port-in-use", "dns-failure"),
        also_ok=("rendezvous-timeout",),
        facts={"error": "timed out"},
    )


def too_few(run: Run, logs: Logs) -> Expect:
    return expect(
        "rendezvous-timeout",
        also_ok=("world-size-mismatch", "init-hang-unexplained"),
        never=(*NOT_THIS, "port-in-use", "dns-failure", "collective-timeout-unexplained"),
    )


def clash(run: Run, logs: Logs) -> Expect:
    """A rank waits for a key of the store that nobody will write. Only one that got further states its world size."""
    stated = "world size 2" in logs.text
    return expect(
        "world-size-mismatch" if stated else "rendezvous-timeout",
        also_ok=(
            "rendezvous-timeout" if stated else "world-size-mismatch",
            "init-hang-unexplained",
            "collective-timeout-unexplained",
        ),
        never=(*NOT_THIS, "port-in-use", "dns-failure"),
    )


def missing_variable(run: Run, logs: Logs) -> Expect:
    return expect(
        "world-size-mismatch",
        also_ok=("rank-exception", "nccl-misconfiguration", "rendezvous-timeout", "master-unreachable"),
        never=("peer-lost-unexplained", "port-in-use", "dns-failure", "cuda-oom"),
        culprits=either((), tuple(range(run.world_size)), logs.ranks_showing("expected, but not set", range(8))),
        facts={"variable": "MASTER_PORT expected, but not set"},
    )


def no_backend(run: Run, logs: Logs) -> Expect:
    seen = logs.ranks_showing("NCCL", range(run.world_size)) or logs.exited_with(1, range(run.world_size))
    return expect(
        "backend-unavailable",
        never=("rank-exception", "peer-lost-unexplained", "process-died-unexplained", "rendezvous-timeout"),
        culprits=either((), seen, tuple(range(run.world_size))),
        facts={"error": "NCCL"},
    )


def gloo_runs(draw: Draw) -> Iterator[Run]:
    one, two, three = ({"RANK": str(rank)} for rank in (0, 1, 2))
    ghost = {"MASTER_ADDR": UNKNOWN_HOST}
    c10d = ("--rdzv-backend", "c10d", "--rdzv-id", "7", "--rdzv-conf", "join_timeout=8,timeout=8,read_timeout=8")
    yield _run("port-in-use", Layout.CONSOLE, 2, port_in_use, "EADDRINUSE", torchrun=STATIC, busy_port=True)
    yield _run("port-in-use", Layout.PER_RANK, 2, port_in_use, "EADDRINUSE", busy_port=True)
    yield _run("two-rank-0", Layout.PER_RANK, 2, port_in_use, "EADDRINUSE", rank_env=(one, one))
    yield _run("unknown-host", Layout.PER_RANK, 2, unknown_host, "gai error", rank_env=({**two, **ghost},))
    yield _run(
        "unknown-host",
        Layout.CONSOLE,
        2,
        unknown_host,
        "gai error",
        torchrun=(*c10d, "--rdzv-endpoint", f"{UNKNOWN_HOST}:29500", "--nnodes", "2"),
    )
    yield _run("nobody-listens", Layout.PER_RANK, 2, unreachable, "timed out", rank_env=(two,))
    yield _run("nobody-listens", Layout.TWO_NODES, 4, unreachable, "timed out|Error", nodes=(1,), torchrun=SHORT)
    yield _run("too-few", Layout.PER_RANK, 3, too_few, "2/3 clients joined", rank_env=(one, two))
    yield _run(
        "too-few-nodes",
        Layout.CONSOLE,
        2,
        too_few,
        "RendezvousTimeoutError",
        torchrun=(*c10d, "--rdzv-endpoint", "localhost:{port}", "--nnodes", "2"),
    )
    small = ({**one, "WORLD_SIZE": "2"}, {**two, "WORLD_SIZE": "3"})
    yield _run("world-sizes-differ", Layout.PER_RANK, 2, clash, "Timed out|timed out", rank_env=small)
    yield _run("two-rank-1", Layout.PER_RANK, 3, clash, "timed out", rank_env=(one, two, two))
    unset = tuple({**rank, "MASTER_PORT": ""} for rank in (one, two, three))
    yield _run("no-master-port", Layout.PER_RANK, 3, missing_variable, "expected, but not set", rank_env=unset)
    for layout in (Layout.CONSOLE, Layout.PER_RANK):
        yield _run(
            "no-nccl",
            layout,
            2,
            no_backend,
            "NCCL",
            settings={"backend": "nccl"},
            needs=frozenset({"cpu-only"}),
        )


def _run(
    name: str,
    layout: Layout,
    size: int,
    truth: Truth,
    must_show: str,
    *,
    settings: Mapping[str, Any] | None = None,
    torchrun: tuple[str, ...] = (),
    rank_env: tuple[dict[str, str], ...] = (),
    nodes: tuple[int, ...] = (),
    busy_port: bool = False,
    needs: frozenset[str] = frozenset(),
) -> Run:
    return Run(
        id=f"{name}-{layout.value}-{size}",
        family=FAMILY,
        job="joining",
        layout=layout,
        world_size=size,
        why="The process group could not be formed, for a reason in the way the job was started.",
        truth=truth,
        settings={"meet_first": False, "log_ranks": "all", "timeout_s": 6, **(settings or {})},
        torchrun=torchrun,
        rank_env=rank_env,
        nodes=nodes,
        busy_port=busy_port,
        must_show=(must_show,),
        needs=needs,
    )
