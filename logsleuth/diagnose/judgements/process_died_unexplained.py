"""A process is gone, and nothing says why.

Concludes: process-died-unexplained, with the one that died where it is named.
Evidence: an exit code, a signal or a death notice without an exception, a crash text or an out-of-memory line of
that process.
Mistaken for: the launcher ending the survivors (SIGTERM, its own SIGKILL after 30 s), an abort after a watchdog
timeout.
Example: ``Worker proc VllmWorker-3 died unexpectedly, shutting down executor.``
"""

from __future__ import annotations

from collections.abc import Iterator

from logsleuth.catalog.spec import Catalog
from logsleuth.diagnose.blame import capital, evidence, ranks_text
from logsleuth.diagnose.exits import died, first_deaths, signal_of
from logsleuth.model.diagnosis import Finding, Passed
from logsleuth.model.job import JobView

CAUSE = "process-died-unexplained"


def judge(job: JobView, catalog: Catalog) -> Iterator[Finding | Passed]:
    dead = first_deaths(job, catalog)
    if not dead:
        yield Passed(CAUSE, "no process is known to have died by itself")
        return
    dead.sort(key=lambda item: not item[1].first_observed)
    event, fact = dead[0]
    culprits = died(job, dead)
    signal = signal_of(fact)
    how = (
        f"by {signal}"
        if signal
        else f"with exit code {fact.exit_code}"
        if fact.exit_code is not None
        else "without a word"
    )
    who = ranks_text(c.rank for c in culprits) or (f"Process {fact.pid}" if fact.pid else "A process")
    yield Finding(
        CAUSE,
        CAUSE,
        "medium",
        evidence(event, f"ended {how}", [(e, "also ended") for e, _ in dead[1:]]),
        culprits,
        summary=f"{capital(who)} ended {how}, and these logs do not say why.",
        facts={"signal": signal, "exit_code": fact.exit_code, "pid": fact.pid},
    )
