"""Shared memory is full or too small: a process died of SIGBUS.

Concludes: shm-exhausted from SIGBUS; explicit texts about /dev/shm are read from the cause's own file.
Evidence: an exit by SIGBUS. A store to a shared-memory page that cannot be backed raises it.
Mistaken for: storage-failure (SIGBUS also comes from a truncated memory-mapped file on a broken disk: then an I/O
error is printed).
Example: DeepSpeed's ``exits with return code = -7``.
"""

from __future__ import annotations

from collections.abc import Iterator

from logsleuth.catalog.spec import Catalog
from logsleuth.diagnose.blame import capital, evidence, ranks_text
from logsleuth.diagnose.exits import died, first_deaths, signal_of
from logsleuth.model.diagnosis import Finding, Passed
from logsleuth.model.job import JobView

CAUSE = "shm-exhausted"


def judge(job: JobView, catalog: Catalog) -> Iterator[Finding | Passed]:
    dead = [(e, f) for e, f in first_deaths(job, catalog) if signal_of(f) == "SIGBUS"]
    if not dead:
        yield Passed(CAUSE, "no process ended by SIGBUS")
        return
    culprits = died(job, dead)
    who = ranks_text(c.rank for c in culprits) or "A process"
    yield Finding(
        CAUSE,
        CAUSE,
        "medium",
        evidence(dead[0][0], "ended by SIGBUS: a shared-memory page could not be backed"),
        culprits,
        summary=f"{capital(who)} died of SIGBUS, most often a full /dev/shm.",
        facts={"pid": dead[0][1].pid},
    )
