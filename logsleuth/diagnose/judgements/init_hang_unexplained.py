"""Set-up, or the very first collectives, never complete, and the logs do not say why.

Concludes: init-hang-unexplained, blaming nobody.
Evidence: works numbered 0 or 1 that time out with nothing completed, or (with the user's word that the job hangs)
logs that stop at the set-up of communicators or at the first barrier.
Mistaken for: driver-p2p-broken, iommu-acs-blocks-p2p, wrong-network-interface, rank-missing-collective: each needs
its own evidence.
Example: both ranks of one machine time out in ALLGATHER number 1, last completed work -1.
"""

from __future__ import annotations

from collections.abc import Iterator

from logsleuth.catalog.spec import Catalog
from logsleuth.diagnose.blame import capital, evidence, one, ranks_text
from logsleuth.diagnose.early import early_hang
from logsleuth.diagnose.stuck import stuck_works
from logsleuth.model.diagnosis import Finding, Passed
from logsleuth.model.events import EnvFact, StoreError
from logsleuth.model.job import JobView

CAUSE = "init-hang-unexplained"


def judge(job: JobView, catalog: Catalog) -> Iterator[Finding | Passed]:
    hang = early_hang(job)
    waiting_for_store = [
        e
        for e, f in job.of(StoreError, what=("wait-timeout", "unique-id"))
        if f.what == "wait-timeout" or "imeout" in (f.error or "")
    ]
    if hang is None and waiting_for_store and not stuck_works(job):
        yield Finding(
            CAUSE,
            CAUSE,
            "medium",
            evidence(waiting_for_store[-1], "a key that another rank writes during set-up never came"),
            summary="Setting up a process group waited for another rank until the timeout; "
            "the logs do not say what kept it.",
        )
        return
    if hang is None:
        yield Passed(CAUSE, "no hang at the very start is visible")
        return
    if hang.silent:
        yield Finding(
            CAUSE,
            CAUSE,
            "medium",
            evidence(hang.event, "the last thing seen of the set-up"),
            summary="The job hangs while it sets up communication or in its first collective; "
            "the logs stop there without an error.",
        )
        return
    work = hang.works[0]
    warned = any(True for _ in job.of(EnvFact, name="kernel", warned=True))
    alone = len({w.process for w in work.waiters}) < 2
    if (not hang.first and not warned) or (alone and work.is_p2p):
        yield Passed(CAUSE, "the stuck work is not the first of its group")
        return
    waiting = ranks_text(w.rank for w in work.waiters) or "The waiting rank"
    yield Finding(
        CAUSE,
        CAUSE,
        "medium",
        evidence(
            hang.event,
            f"{work.op or 'a collective'}, work {work.seq}, never completed",
            [(w.evidence, f"nor on {one(w.rank)}") for w in work.waiters[1:] if w.evidence is not None],
        ),
        summary=f"{capital(waiting)} waited in {work.op or 'a collective'}, work {work.seq} of "
        f"{work.group.label}: the first collectives never completed, and the logs do not say why.",
        facts=work.facts,
    )
