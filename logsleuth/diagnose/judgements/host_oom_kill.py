"""The kernel, a cgroup or a node agent killed a process because the host ran out of memory.

Concludes: host-oom-kill from a SIGKILL with signs of memory pressure; explicit OOM lines are read from the cause's
own file.
Evidence: SIGKILL that no launcher sent, together with model or checkpoint loading just before, the same kill in several
attempts, killed DataLoader workers, or a host with little memory for what it loads.
Mistaken for: the launcher's own SIGKILL after 30 s, ``scancel --signal=KILL``, cuda-oom (which is a Python exception).
Example: ``exitcode: -9`` of local rank 1 while checkpoint shards were being loaded on a host with 31 GB.
"""

from __future__ import annotations

from collections.abc import Iterator

from logsleuth.catalog.spec import Catalog
from logsleuth.diagnose.blame import capital, evidence
from logsleuth.diagnose.exits import called, died, first_deaths, signal_of
from logsleuth.model.diagnosis import Finding, Passed
from logsleuth.model.events import Event, HostWork, WorkerExit
from logsleuth.model.job import JobView

CAUSE = "host-oom-kill"


def judge(job: JobView, catalog: Catalog) -> Iterator[Finding | Passed]:
    dead = [(e, f) for e, f in first_deaths(job, catalog) if signal_of(f) == "SIGKILL"]
    if not dead:
        yield Passed(CAUSE, "no process was killed by SIGKILL", "the kernel's log of that node")
        return
    signs = list(_signs(job))
    culprits = died(job, dead)
    attempts = [a for a in job.attempts if a.failed]
    if not signs and len(attempts) < 2:
        yield Finding(
            CAUSE,
            CAUSE,
            "low",
            evidence(dead[0][0], "SIGKILL leaves no message; the out-of-memory killer is its most frequent sender"),
            hypothesis=True,
            reason="SIGKILL that no launcher sent is most often the out-of-memory killer; the kernel's log would tell",
        )
        return
    who = called(job, dead, culprits)
    yield Finding(
        CAUSE,
        CAUSE,
        "medium",
        evidence(dead[0][0], "killed by SIGKILL, which no launcher sent", [(e, why) for e, why in signs]),
        culprits if len(attempts) < 2 else (),
        summary=f"{capital(who)} was killed by SIGKILL with signs that the host ran out of memory.",
        facts={"pid": dead[0][1].pid},
    )


def _signs(job: JobView) -> Iterator[tuple[Event, str]]:
    for event, _ in job.of(HostWork, what="checkpoint-load"):
        yield event, "a model was being loaded into host memory"
        break
    for event, fact in job.of(WorkerExit):
        if fact.signal == "SIGKILL":
            yield event, "a DataLoader worker was killed as well"
            break
    told = job.environment.told_by.get("memory")
    if told is not None:
        yield told, f"the host has {job.environment.first('memory')} of memory"
