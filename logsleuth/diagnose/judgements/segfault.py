"""A native crash of a rank: the launcher saw SIGSEGV (or SIGILL, SIGFPE).

Concludes: segfault, with the rank that crashed first; crash texts of the process itself are read from the cause's
own file.
Evidence: an exit by SIGSEGV.
Mistaken for: SIGABRT (a C++ exception or a watchdog abort), SIGBUS (shared memory). A crash after a peer's abort is
fallout.
Example: ``exitcode  : -11 (pid: 4711)`` in torchelastic's failure table.
"""

from __future__ import annotations

from collections.abc import Iterator

from logsleuth.catalog.spec import Catalog
from logsleuth.diagnose.blame import capital, evidence
from logsleuth.diagnose.exits import CRASHES, called, died, first_deaths, signal_of
from logsleuth.model.diagnosis import Finding, Passed
from logsleuth.model.events import NativeCrash
from logsleuth.model.job import JobView

CAUSE = "segfault"


def judge(job: JobView, catalog: Catalog) -> Iterator[Finding | Passed]:
    dead = [(e, f) for e, f in first_deaths(job, catalog) if signal_of(f) in CRASHES]
    if not dead:
        yield Passed(CAUSE, "no process ended by SIGSEGV, SIGILL or SIGFPE")
        return
    culprits = died(job, dead)
    who = called(job, dead, culprits)
    crashes = [(e, "the crash itself") for e, _ in job.of(NativeCrash)]
    yield Finding(
        CAUSE,
        CAUSE,
        "high" if len([c for c in culprits if c.rank is not None]) == 1 else "medium",
        evidence(dead[0][0], f"ended by {signal_of(dead[0][1])}", crashes),
        culprits,
        summary=f"{capital(who)} crashed in native code ({signal_of(dead[0][1])}).",
        facts={"signal": signal_of(dead[0][1]), "pid": dead[0][1].pid},
    )
