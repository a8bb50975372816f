"""The same collective with sizes or types that differ where they must agree.

Concludes: collective-shape-mismatch; the culprits are the strict minority, nobody when halves disagree.
Evidence: fingerprints with equal operation and different shape or type; equal group, number and operation with
different element counts; a transport or framework that says so.
Mistaken for: collective-order-mismatch (the operation differs too). Uneven all-gather, gather, scatter,
reduce-scatter and all-to-all of lists are legal; unset sizes (2^64-1, or 0 for COALESCED) are no sizes; SEND/RECV
are never compared.
Example: at work 610 of PG 9 rank 1 gathers 56320 elements and rank 7 gathers 107520.
"""

from __future__ import annotations

from collections.abc import Iterator

from logsleuth.catalog.spec import Catalog
from logsleuth.diagnose.blame import culprits_of_events, culprits_of_ranks, evidence, one
from logsleuth.diagnose.judgements.collective_order_mismatch import SMALLEST_UNNAMED_SEQ, by_seq, minority
from logsleuth.model.diagnosis import Finding, Passed
from logsleuth.model.events import CollectiveMismatch, SizeMismatch
from logsleuth.model.job import JobView

CAUSE = "collective-shape-mismatch"
#: Operations whose element counts must be equal on all ranks.
EVEN_OPS = frozenset(
    {
        "ALLREDUCE",
        "ALLREDUCE_COALESCED",
        "BROADCAST",
        "REDUCE",
        "ALLGATHER_BASE",
        "_ALLGATHER_BASE",
        "_REDUCE_SCATTER_BASE",
        "COALESCED",
    }
)


def judge(job: JobView, catalog: Catalog) -> Iterator[Finding | Passed]:
    found = [*_fingerprints(job), *_ledger(job), *_said(job)]
    if found:
        yield found[0]
    else:
        yield Passed(CAUSE, "no two ranks are known to bring different sizes to one collective")


def _fingerprints(job: JobView) -> Iterator[Finding]:
    votes: dict[int, str] = {}
    first = None
    for event, fact in job.of(CollectiveMismatch):
        same_op = fact.op == fact.other_op and (fact.seq == fact.other_seq or None in (fact.seq, fact.other_seq))
        if not same_op or (fact.shape == fact.other_shape and fact.dtype == fact.other_dtype):
            continue
        first = first or (event, fact)
        for rank, value in (
            (fact.rank, f"{fact.shape} {fact.dtype}"),
            (fact.other_rank, f"{fact.other_shape} {fact.other_dtype}"),
        ):
            if rank is not None:
                votes[rank] = value
    if first is None:
        return
    event, fact = first
    what = "shape" if fact.shape != fact.other_shape else "type"
    mine, other = (fact.shape, fact.other_shape) if what == "shape" else (fact.dtype, fact.other_dtype)
    yield Finding(
        CAUSE,
        CAUSE,
        "high",
        evidence(
            event, f"same {fact.op}, but rank {fact.rank} brings {what} {mine} and rank {fact.other_rank} {other}"
        ),
        culprits_of_ranks(job, minority(votes), "the only one with another size"),
        summary=f"In {fact.op} rank {fact.rank} brings {what} [{mine}] and rank {fact.other_rank} [{other}]; "
        "they must be equal.",
        facts={"op": fact.op, "seq": fact.seq},
    )


def _ledger(job: JobView) -> Iterator[Finding]:
    for group in job.groups:
        if group.ambiguous:
            continue
        for seq, states in by_seq(group).items():
            if group.unnamed and seq < SMALLEST_UNNAMED_SEQ:
                continue
            sized = [s for s in states if s.stuck_op in EVEN_OPS and s.numel_in and s.timeout is not None]
            if len({s.stuck_op for s in states if s.stuck_op}) != 1 or len({s.numel_in for s in sized}) < 2:
                continue
            odd = minority({s.rank: str(s.numel_in) for s in sized if s.rank is not None}, group.size)
            first = sized[0]
            second = next(s for s in sized if s.numel_in != first.numel_in)
            yield Finding(
                CAUSE,
                CAUSE,
                "medium",
                evidence(
                    first.timeout,  # type: ignore[arg-type]
                    f"{one(first.rank)} brings {first.numel_in} elements to work {seq}",
                    [(s.timeout, f"{one(s.rank)} brings {s.numel_in}") for s in sized[1:] if s.timeout],
                ),
                culprits_of_ranks(job, odd, "the only one with another size"),
                summary=f"At work {seq} of {group.label} ({first.stuck_op}) {one(first.rank)} brings "
                f"{first.numel_in} elements and {one(second.rank)} {second.numel_in}; they must be equal.",
                facts={"op": first.stuck_op, "seq": seq, "group": group.label},
            )
            return


def _said(job: JobView) -> Iterator[Finding]:
    for event, fact in job.of(SizeMismatch):
        if event.role == "cause":
            yield Finding(
                CAUSE,
                CAUSE,
                "medium",
                evidence(event, "sizes differ between ranks"),
                culprits_of_events(job, [] if job.world_size != 1 else [event]),
                facts={"what": fact.what, "got": fact.got, "expected": fact.expected},
            )
            return
