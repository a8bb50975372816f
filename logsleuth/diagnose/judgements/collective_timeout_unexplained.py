"""A collective did not finish in time, and nothing in the logs says why.

Concludes: collective-timeout-unexplained, blaming nobody.
Evidence: watchdog timeouts, or dump signals due to one, or the user's word that a job that had made progress hangs.
Mistaken for: everything that ends in a timeout; it yields to each of them.
Example: ranks 1, 5 and 7 of an unknown world time out in ALLREDUCE number 2721.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from logsleuth.catalog.spec import Catalog
from logsleuth.diagnose.blame import capital, evidence, one, ranks_text
from logsleuth.diagnose.odd import odd_ones
from logsleuth.diagnose.stuck import StuckWork, stuck_works
from logsleuth.diagnose.waits import followers
from logsleuth.model.diagnosis import Finding, Passed
from logsleuth.model.events import CollectiveTimeout, DumpSignal, ProcessAborted, Progress
from logsleuth.model.job import JobView

CAUSE = "collective-timeout-unexplained"
MOST_SAID = 4


def judge(job: JobView, catalog: Catalog) -> Iterator[Finding | Passed]:
    works = stuck_works(job)
    if works and works[0].first.evidence is not None:
        work, first = works[0], works[0].first
        others = [(w.evidence, f"{one(w.rank)} waited as well") for w in work.waiters if w is not first and w.evidence]
        yield Finding(
            CAUSE,
            CAUSE,
            "medium",
            evidence(first.evidence, f"{work.op or 'a collective'} did not finish in time", others),  # type: ignore[arg-type]
            suspects=() if work.everybody_in else odd_ones(job),
            summary=_summary(work) + _followed(works, work),
            facts=work.facts,
        )
        return
    told = [e for e, _ in job.of(CollectiveTimeout)]
    told = told or [e for e, _ in job.of(DumpSignal, stage=("first", "observed", "received"))]
    told = told or [e for e, f in job.of(ProcessAborted) if f.reason == "timeout"]
    if told:
        yield Finding(
            CAUSE,
            CAUSE,
            "medium",
            evidence(told[0], "a collective timed out; the line that names it is not in these logs"),
            summary="A collective timed out, but the lines that name it are not in these logs.",
        )
        return
    progress = [e for e, _ in job.of(Progress)]
    if job.hung and progress:
        yield Finding(
            CAUSE,
            CAUSE,
            "low",
            evidence(progress[-1], "the last progress seen"),
            summary="The job stopped making progress; the logs hold no error.",
        )
        return
    yield Passed(CAUSE, "no collective timed out")


def _summary(work: StuckWork) -> str:
    waiting = ranks_text(w.rank for w in work.waiters)
    who = capital(waiting) if waiting else "A rank"
    number = f", work {work.seq} of {work.group.label}," if work.seq is not None else ""
    limit = work.first.timeout_ms
    within = f" within {limit / 1000:g} s" if limit else ""
    everybody = " Every rank of the group was in it." if work.everybody_in else ""
    what = f"{work.op or 'a collective'}{number}"
    return f"{who} waited in {what} that did not finish{within}.{everybody} The logs do not say why."


def _followed(works: Sequence[StuckWork], work: StuckWork) -> str:
    """Whom the chain of waits leads to this work, as a sentence."""
    led = followers(works, work)
    if not led:
        return ""
    said = sorted({f"{ranks_text(w.rank for w in wait.work.waiters)} ({wait.work.group.label})" for wait in led})
    more = f" and {len(said) - MOST_SAID} more groups" if len(said) > MOST_SAID else ""
    return f" Others only wait for ranks that are stuck there: {'; '.join(said[:MOST_SAID])}{more}."
