"""A Python exception in user code: on one rank, in a data loader worker, before the group exists, or on all ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lab.logs import Logs
from lab.spec import Draw, Expect, Injection, Layout, Run
from lab.truth import either, expect

FAMILY = "exception"
MESSAGES = {
    "missing-key": r"KeyError: 'label'",
    "bad-shape": r"mat1 and mat2 shapes cannot be multiplied \(8x12 and 16x32\)",
    "bad-label": r"IndexError: Target 97 is out of bounds",
    "missing-file": r"FileNotFoundError: \[Errno 2\] No such file or directory: 'data/shard-",
    "diverged": r"ValueError: loss is nan at step",
    "missing-module": r"ModuleNotFoundError: No module named 'flash_kernels'",
}
FACTS = {
    "missing-key": "KeyError: 'label'",
    "bad-shape": "mat1 and mat2 shapes cannot be multiplied",
    "bad-label": "IndexError: Target 97",
    "missing-file": "No such file or directory",
    "diverged": "ValueError: loss is nan",
    "missing-module": "No module named 'flash_kernels'",
}
FALLOUT = ("peer-lost-unexplained", "process-died-unexplained", "store-lost", "preempted-or-cancelled", "segfault")
WHY = "One rank raised an exception in user code; the others lost their connection to it or were ended by the launcher."


def one_rank(run: Run, logs: Logs) -> Expect:
    """The rank is named where its traceback carries its rank or stands in its own file.

    spawn says "Process 0": the index of a process, which is the rank only by custom.
    """
    kind = run.injections[0].kind
    named = logs.ranks_showing(MESSAGES[kind], run.culprits) or logs.exited_with(1, run.culprits)
    culprits = either((), run.culprits) if run.layout is Layout.SPAWN else named
    return expect("rank-exception", never=FALLOUT, culprits=culprits, facts={"exception": FACTS[kind]})


def all_ranks(run: Run, logs: Logs) -> Expect:
    """All ranks raise alike: nobody, those that got to say so, or all of them may be named."""
    kind = run.injections[0].kind
    seen = logs.ranks_showing(MESSAGES[kind], range(run.world_size))
    failed = logs.exited_with(1, range(run.world_size))
    return expect(
        "rank-exception",
        never=FALLOUT,
        culprits=either((), seen, failed, run.culprits),
        facts={"exception": FACTS[kind]},
    )


def exit_code_only(run: Run, logs: Logs) -> Expect:
    """The console without the workers' output: the table has an exit code, the reason is in a file not kept."""
    return expect(
        "process-died-unexplained",
        also_ok=("rank-exception",),
        never=("peer-lost-unexplained", "preempted-or-cancelled", "host-oom-kill"),
        culprits=logs.exited_with(1, run.culprits),
        facts={"exitcode": "exitcode  : 1"},
    )


def gloo_runs(draw: Draw) -> Iterator[Run]:
    for kind, layout, size, settings in (
        ("missing-key", Layout.CONSOLE, 4, {}),
        ("bad-shape", Layout.TEE, 3, {}),
        ("bad-label", Layout.LOG_DIR, 4, {}),
        ("missing-file", Layout.PER_RANK, 3, {"log_ranks": "all"}),
        ("diverged", Layout.TWO_NODES, 4, {}),
        ("bad-shape", Layout.LOG_DIR, 2, {"record": True}),
        ("missing-key", Layout.CONSOLE, 8, {"log_ranks": "all"}),
        ("missing-file", Layout.SPAWN, 3, {}),
    ):
        yield _run(draw, kind, layout, size, settings)
    for layout, size in ((Layout.CONSOLE, 3), (Layout.LOG_DIR, 2)):
        yield _run(draw, "missing-file", layout, size, {}, workers=1)
    yield _run(draw, "missing-module", Layout.TEE, 3, {"meet_first": False})
    for layout, size in ((Layout.CONSOLE, 2), (Layout.PER_RANK, 3)):
        injection = Injection("missing-module", tuple(range(size)))
        yield Run(
            id=f"missing-module-all-{layout.value}-{size}",
            family=FAMILY,
            job="supervised",
            layout=layout,
            world_size=size,
            why="Every rank failed alike to import a module, before any communication.",
            truth=all_ranks,
            injections=(injection,),
            must_show=(MESSAGES["missing-module"],),
            script=draw.of("all", layout, size).script(),
        )
    draw = draw.of("hidden")
    rank = draw.rank(3)
    yield Run(
        id=f"hidden-traceback-agent-only-3-rank{rank}",
        family=FAMILY,
        job="supervised",
        layout=Layout.AGENT_ONLY,
        world_size=3,
        why=WHY,
        notes="The workers' output went to files that were not kept; torchrun's table alone is there.",
        truth=exit_code_only,
        injections=(Injection("bad-label", (rank,), draw.step()),),
        must_show=(rf"\[0\]:\s+time.*\s+host.*\s+rank      : {rank} ",),
    )


def nccl_runs(draw: Draw) -> Iterator[Run]:
    yield _run(draw, "missing-key", Layout.CONSOLE, 2, {})
    yield _run(draw, "bad-label", Layout.LOG_DIR, 3, {})


def _run(draw: Draw, kind: str, layout: Layout, size: int, settings: Mapping[str, Any], *, workers: int = 0) -> Run:
    name = f"{kind}-worker" if workers else f"{kind}-record" if settings.get("record") else kind
    draw = draw.of(name, layout, size)
    rank = draw.rank(size)
    return Run(
        id=f"{name}-{layout.value}-{size}-rank{rank}",
        family=FAMILY,
        job="supervised",
        layout=layout,
        world_size=size,
        why=WHY if not workers else "A data loader worker of one rank raised an exception, which its rank re-raised.",
        truth=one_rank,
        injections=(Injection(kind, (rank,), draw.step()),),
        options={"workers": workers},
        settings=settings,
        must_show=(MESSAGES[kind],),
        script=draw.script(),
    )
