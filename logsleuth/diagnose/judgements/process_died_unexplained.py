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
from logsleuth.diagnose.exits import died, first_deaths, rank_that_died, signal_of
from logsleuth.model.diagnosis import Finding, Passed
from logsleuth.model.events import Event, ProcessExit
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
    alike = len({(f.exit_code, f.signal) for _, f in dead}) == 1
    signal = signal_of(fact)
    how = (
        f"by {signal}"
        if signal
        else f"with exit code {fact.exit_code}"
        if fact.exit_code is not None
        else "without a word"
    )
    who = ranks_text(c.rank for c in culprits) or _unranked(job, dead, fact, alike=alike)
    yield Finding(
        CAUSE,
        CAUSE,
        "medium",
        evidence(event, f"ended {how}", [(e, "also ended") for e, _ in dead if e is not event]),
        culprits,
        summary=f"{capital(who)} ended {how}, and these logs do not say why.",
        facts={"signal": signal, "exit_code": fact.exit_code, "pid": fact.pid},
    )


def _unranked(job: JobView, dead: list[tuple[Event, ProcessExit]], fact: ProcessExit, *, alike: bool) -> str:
    """What to call the dead where no single rank is blamed."""
    ranks = {rank for _, f in dead if (rank := rank_that_died(job, f)) is not None}
    if alike and len(ranks) > 1:
        return f"{ranks_text(ranks)} all"
    if fact.local_rank is not None and fact.rank is None:
        return f"local rank {fact.local_rank}{f' (pid {fact.pid})' if fact.pid else ''}"
    return f"process {fact.pid}" if fact.pid else "a process"
