"""Sends and receives were posted in orders that do not pair up.

Concludes: p2p-order-deadlock; usually nobody is blamed, both sides of a pair hold.
Evidence: both ranks of a pair stuck in RECV, or both in SEND, at the same number of their group; or two or more ranks
stuck in SEND, RECV or batched point-to-point works, and nobody stuck in a collective.
Mistaken for: collective-order-mismatch: ranks in different pair groups show different numbers, which proves nothing.
One rank alone in such a work does not say whether its peer is late, gone or out of order. A collective that a rank is
missing from, or that began to wait earlier, stalls the pairs of those who wait in it.
Example: ranks 0 and 4 of one pipeline group are both stuck in RECV, work 19257.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from logsleuth.catalog.spec import Catalog
from logsleuth.diagnose.blame import capital, evidence, ranks_text
from logsleuth.diagnose.stuck import StuckWork, stuck_works
from logsleuth.model.diagnosis import Finding, Passed
from logsleuth.model.job import JobView

CAUSE = "p2p-order-deadlock"
#: Clocks of a job's hosts agree to about this.
CLEARLY_S = 2.0
MOST_SAID = 4


def judge(job: JobView, catalog: Catalog) -> Iterator[Finding | Passed]:
    works = stuck_works(job)
    pairs = [work for work in works if work.is_p2p]
    crossed = [work for work in pairs if _is_crossed(work)]
    if crossed and not any(work.absent for work in works) and not _began_earlier(works, crossed):
        yield _finding(crossed, f"both ends of a pair are stuck in {crossed[0].op}, which neither matches")
        return
    waiters = [waiter for work in pairs for waiter in work.waiters]
    if len({w.process for w in waiters}) < 2:
        yield Passed(
            CAUSE, "fewer than two ranks are stuck in point-to-point works", "the works of the other ranks of the pairs"
        )
        return
    if any(not work.is_p2p for work in works):
        yield Passed(CAUSE, "a collective is stuck as well, and a rank that waits there stalls its pairs")
        return
    yield _finding(pairs, "point-to-point works wait on each other")


def _is_crossed(work: StuckWork) -> bool:
    """Whether the two ranks of a pair both receive, or both send: neither can ever be matched by the other."""
    ends = {w.group_rank for w in work.waiters}
    numbers = {w.stuck_seq for w in work.waiters}
    same = {w.stuck_op for w in work.waiters} in ({"RECV"}, {"SEND"})
    return same and ends == {0, 1} and len(numbers) == 1 and None not in numbers and work.group.size in (None, 2)


def _began_earlier(works: Sequence[StuckWork], pairs: Sequence[StuckWork]) -> bool:
    """Whether a collective began to wait clearly before the pairs did."""
    begun = [work.began_s for work in pairs if work.began_s is not None]
    others = [work.began_s for work in works if not work.is_p2p and work.began_s is not None]
    return bool(begun and others) and min(others) <= min(begun) - CLEARLY_S


def _finding(pairs: Sequence[StuckWork], why: str) -> Finding:
    waiters = [w for work in pairs for w in work.waiters if w.evidence is not None]
    shown = [w.evidence for w in waiters if w.evidence is not None]
    said = [
        f"{ranks_text([w.rank]) or 'a rank'} in {w.stuck_op} of {work.group.label}"
        for work in pairs
        for w in work.waiters
        if w.evidence is not None
    ]
    more = f" and {len(said) - MOST_SAID} more" if len(said) > MOST_SAID else ""
    return Finding(
        CAUSE,
        CAUSE,
        "medium",
        evidence(shown[0], said[0], zip(shown[1:], said[1:], strict=False)),
        summary=f"{capital(why)}: {'; '.join(said[:MOST_SAID])}{more}.",
        facts=pairs[0].facts,
    )
