"""Sends and receives were posted in orders that do not pair up.

Concludes: p2p-order-deadlock; usually nobody is blamed, both sides of a pair hold.
Evidence: two or more ranks stuck in SEND, RECV or batched point-to-point works, and nobody stuck in a collective.
Mistaken for: collective-order-mismatch: ranks in different pair groups show different numbers, which proves nothing.
One rank alone in such a work does not say whether its peer is late, gone or out of order.
Example: rank 0 is stuck in SEND of PG 37 and rank 3 in COALESCED (sizes unset) of PG 35.
"""

from __future__ import annotations

from collections.abc import Iterator

from logsleuth.catalog.spec import Catalog
from logsleuth.diagnose.blame import evidence, ranks_text
from logsleuth.diagnose.judgements.rank_missing_collective import work_facts
from logsleuth.diagnose.stuck import stuck_works
from logsleuth.model.diagnosis import Finding, Passed
from logsleuth.model.job import JobView

CAUSE = "p2p-order-deadlock"


def judge(job: JobView, catalog: Catalog) -> Iterator[Finding | Passed]:
    works = stuck_works(job)
    pairs = [work for work in works if work.is_p2p]
    waiters = [waiter for work in pairs for waiter in work.waiters]
    if len({w.process for w in waiters}) < 2:
        yield Passed(
            CAUSE, "fewer than two ranks are stuck in point-to-point works", "the works of the other ranks of the pairs"
        )
        return
    if any(not work.is_p2p for work in works):
        yield Passed(CAUSE, "a collective is stuck as well, and a rank that waits there stalls its pairs")
        return
    shown = [w.evidence for w in waiters if w.evidence is not None]
    said = [
        f"{ranks_text([w.rank]) or 'a rank'} in {w.stuck_op} of {work.group.label}"
        for work in pairs
        for w in work.waiters
    ]
    yield Finding(
        CAUSE,
        CAUSE,
        "medium",
        evidence(shown[0], said[0], zip(shown[1:], said[1:], strict=False)),
        summary=f"Point-to-point works wait on each other: {'; '.join(said[:3])}.",
        facts=work_facts(pairs[0]),
    )
