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
from logsleuth.diagnose.blame import capital, evidence
from logsleuth.diagnose.exits import called, died, first_deaths, signal_of
from logsleuth.model.diagnosis import Finding, Passed
from logsleuth.model.job import JobView

CAUSE = "process-died-unexplained"


def judge(job: JobView, catalog: Catalog) -> Iterator[Finding | Passed]:
    dead = first_deaths(job, catalog)
    if not dead:
        yield Passed(CAUSE, "no process is known to have died by itself")
        return
    dead.sort(key=lambda item: not item[1].first_observed)
    culprits = died(job, dead)
    blamed = {c.rank for c in culprits}
    event, fact = next((d for d in dead if d[1].rank is not None and d[1].rank in blamed), dead[0])
    signal = signal_of(fact)
    how = (
        f"ended by {signal}"
        if signal
        else f"ended with exit code {fact.exit_code}"
        if fact.exit_code is not None
        else "failed; what it raised"
        if "exception" in (fact.text or "")
        else "died"
    )
    reason = "is not in these logs" if how.endswith("raised") else ", and these logs do not say why"
    who = capital(called(job, dead, culprits))
    yield Finding(
        CAUSE,
        CAUSE,
        "medium",
        evidence(event, how.partition(";")[0], [(e, "also ended") for e, _ in dead if e is not event]),
        culprits,
        summary=f"{who} {how}{reason}." if reason.startswith(",") else f"{who} {how} {reason}.",
        facts={"signal": signal, "exit_code": fact.exit_code, "pid": fact.pid, "by": fact.by},
    )
