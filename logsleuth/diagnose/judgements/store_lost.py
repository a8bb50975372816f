"""The process that hosts the key-value store went away.

Concludes: store-lost, with the rank that the message blames (the store's host, rank 0 by default).
Evidence: store operations that end in reset, broken pipe or 0 bytes, and no first failure of the host.
Mistaken for: a network fault. Practically always fallout: rank 0 or its agent ended first; it yields to every other
cause.
Example: ``retrieving ncclUniqueId from [0] ... store->get('0') got error: Connection reset by peer``.
"""

from __future__ import annotations

from collections.abc import Iterator

from logsleuth.catalog.spec import Catalog
from logsleuth.diagnose.blame import culprits_of_ranks, evidence, ranks_text
from logsleuth.model.diagnosis import Finding, Passed
from logsleuth.model.events import Rendezvous, RunEnd, StoreError
from logsleuth.model.job import JobView

CAUSE = "store-lost"
_GONE = ("reset by peer", "broken pipe", "0 bytes", "closed by peer", "connection was likely closed")


def judge(job: JobView, catalog: Catalog) -> Iterator[Finding | Passed]:
    lost = [(e, f) for e, f in job.of(StoreError, what=("lost", "should-dump")) if not job.went_on(e)]
    told = [(e, f) for e, f in job.of(StoreError, what="unique-id") if any(w in (f.error or "").lower() for w in _GONE)]
    if not lost and not told:
        yield from _without_a_store(job)
        yield Passed(CAUSE, "the store was not lost")
        return
    if not told and _ended_well(job):
        yield Passed(CAUSE, "the run had ended well, and its store with it")
        return
    event, _ = (told or lost)[0]
    ranks = {f.from_rank for _, f in told if f.from_rank is not None}
    named = sorted(ranks) if len(ranks) == 1 else []
    yield Finding(
        CAUSE,
        CAUSE,
        "medium",
        evidence(event, "the store's host closed the connection", [(e, "as well") for e, _ in (*told, *lost)]),
        culprits_of_ranks(job, named, "the survivors name it as the store's host"),
        summary=f"The store's host{f', {ranks_text(named)},' if named else ''} went away; its own log says why.",
    )


def _without_a_store(job: JobView) -> Iterator[Finding]:
    """The launcher's own word, which it has for a store that never listened as well as for one that went away."""
    said = [e for e, _ in job.of(Rendezvous, what="connection-lost") if not job.went_on(e)]
    if said and not any(True for _ in job.of(StoreError)):
        yield Finding(
            CAUSE,
            CAUSE,
            "low",
            evidence(said[0], "the launcher has no connection to the store", [(e, "as well") for e in said[1:]]),
            summary="The launcher has no connection to the rendezvous store: its host never listened, or went away.",
        )


def _ended_well(job: JobView) -> bool:
    """Whether a rank printed that it had finished, and nothing failed but connections, which any end closes."""
    finished = any(True for _ in job.of(RunEnd))
    closed = ("store-error", "peer-lost", "nccl-warn")
    failed = any(e.role in ("cause", "symptom") and e.kind not in closed for e in job.events)
    return finished and not failed
