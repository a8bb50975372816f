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
from logsleuth.diagnose.blame import capital, culprit_of, evidence, ranks_text
from logsleuth.diagnose.exits import first_deaths, rank_that_died, signal_of
from logsleuth.model.diagnosis import Culprit, Finding, Passed
from logsleuth.model.events import Event, ProcessExit
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


def died(job: JobView, dead: list[tuple[Event, ProcessExit]]) -> tuple[Culprit, ...]:
    """The processes that died, where the text names them; nobody if all of several died alike."""
    found: dict[int, Culprit] = {}
    for _event, fact in dead:
        rank = rank_that_died(job, fact)
        if rank is not None and rank not in found:
            process = job.by_rank(rank)
            known = (
                culprit_of(process, "the launcher names it")
                if process
                else Culprit(rank=rank, known_by="the launcher names it")
            )
            found[rank] = Culprit(
                rank=rank,
                local_rank=fact.local_rank if fact.local_rank is not None else known.local_rank,
                host=fact.host or known.host,
                pid=fact.pid or known.pid,
                known_by="the launcher names it",
            )
    first = [rank for rank in found if any(f.first_observed and f.rank == rank for _, f in dead)]
    if first and len(found) > 1:
        return tuple(found[rank] for rank in first)
    if job.world_size is not None and 1 < job.world_size <= len(found):
        return ()
    return tuple(found[rank] for rank in sorted(found))
