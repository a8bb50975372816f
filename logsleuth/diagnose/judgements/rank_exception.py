"""User or framework code raised on a rank; the rest lost their partner.

Concludes: rank-exception, with the ranks that raised first; nobody when all ranks raised alike.
Evidence: the first exception that is not itself about communication, a launcher, or a signal, and that no other
pattern reads.
Mistaken for: its fallout (DistBackendError, ChildFailedError, connection errors); cuda-oom, storage-failure, device
asserts have their own ids.
Example: rank 16 raises ``RuntimeError: Check failed`` and 31 ranks wait until they are killed.
"""

from __future__ import annotations

from collections.abc import Iterator

from logsleuth.catalog.spec import Catalog
from logsleuth.diagnose.blame import capital, culprits_of_events, everybody, evidence, ranks_text
from logsleuth.diagnose.exceptions import program_exceptions
from logsleuth.diagnose.exits import died, rank_that_died, signal_of
from logsleuth.diagnose.first import first_of
from logsleuth.model.diagnosis import Culprit, Finding, Passed
from logsleuth.model.events import CollectiveTimeout, Event, ProcessExit
from logsleuth.model.job import JobView

CAUSE = "rank-exception"


def judge(job: JobView, catalog: Catalog) -> Iterator[Finding | Passed]:
    raised = program_exceptions(job, catalog)
    if not raised:
        yield Passed(CAUSE, "no exception of the program's own was printed")
        return
    timeouts = [event for event, _ in job.of(CollectiveTimeout)]
    before = [(e, f) for e, f in raised if not any(job.precedes(t, e) for t in timeouts)]
    if not before:
        yield Passed(CAUSE, "every exception was raised after a collective had timed out")
        return
    first = set(map(id, first_of(job, [e for e, _ in before])))
    leading = [(e, f) for e, f in before if id(e) in first]
    event, fact = min(leading, key=lambda item: (job.rank(item[0]) is None, item[1].bare))
    alike = [
        e
        for e, f in raised
        if (f.type, f.where) == (fact.type, fact.where) or (f.type, f.message) == (fact.type, fact.message)
    ]
    ranks = {rank for e in alike if (rank := job.rank(e)) is not None}
    common = everybody(job, ranks)
    culprits = () if common else culprits_of_events(job, alike) or _by_exit(job, alike)
    message = f": {fact.message}" if fact.message else ""
    who = "Every rank" if common else ranks_text(c.rank for c in culprits) or "A process"
    place = f" at {fact.where}" if fact.where else ""
    yield Finding(
        CAUSE,
        CAUSE,
        "high" if len(ranks) == 1 and not fact.bare and not timeouts else "medium",
        evidence(
            event, f"raised {'first' if len(raised) > 1 else 'here'}{place}", [(e, "raised alike") for e in alike]
        ),
        culprits,
        summary=f"{capital(who)} raised {fact.type}{message[:200]}{place}.",
        facts={"type": fact.type, "message": fact.message, "where": fact.where},
    )


def _by_exit(job: JobView, alike: list[Event]) -> tuple[Culprit, ...]:
    """The one process that a launcher saw end with an exit code, where the exception's line does not tell its rank.

    Nobody where the exception is printed several times and as many ended so: they may all have raised it.
    """
    ended = [(e, f) for e, f in job.of(ProcessExit) if signal_of(f) is None and (f.exit_code or 0) > 0]
    culprits = died(job, ended)
    ranks = {rank for _, f in ended if (rank := rank_that_died(job, f)) is not None}
    return culprits if len(culprits) == 1 and culprits[0].rank is not None and not 1 < len(ranks) <= len(alike) else ()
