"""Ranks issued different collectives at the same place of one group's order.

Concludes: collective-order-mismatch; the culprits are the strict minority, nobody when halves disagree.
Evidence: two fingerprints with different operations; the same group and sequence number with different operations;
ranks that wait for each other in a circle of groups, so that each entered them in another order.
Mistaken for: collective-shape-mismatch (operation equal), rank-missing-collective (the odd rank enqueued nothing
there). Sequence numbers of different groups prove nothing, and SEND/RECV are never compared by number.
Example: at work 80368 of default_pg rank 7 is in BROADCAST and rank 3 in ALLREDUCE.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from logsleuth.catalog.spec import Catalog
from logsleuth.diagnose.blame import culprits_of_ranks, evidence, one, ranks_text
from logsleuth.diagnose.stuck import P2P_OPS, stuck_works
from logsleuth.diagnose.waits import circle
from logsleuth.model.diagnosis import Finding, Passed
from logsleuth.model.events import CollectiveMismatch, StepOrder
from logsleuth.model.job import JobView
from logsleuth.model.timeline import GroupState, ProcessGroup

CAUSE = "collective-order-mismatch"
#: Without a group's name, equal small numbers may belong to different groups.
SMALLEST_UNNAMED_SEQ = 100


def judge(job: JobView, catalog: Catalog) -> Iterator[Finding | Passed]:
    found = [*_fingerprints(job), *_ledger(job)] or [*_circle(job)] or [*_hints(job)]
    if found:
        yield found[0]
    else:
        yield Passed(CAUSE, "no two ranks are known to be in different operations at one number of one group")


def _fingerprints(job: JobView) -> Iterator[Finding]:
    votes: dict[int, str] = {}
    first = None
    for event, fact in job.of(CollectiveMismatch):
        differ = fact.op != fact.other_op or (fact.seq != fact.other_seq and None not in (fact.seq, fact.other_seq))
        if not differ or fact.op is None or fact.other_op is None:
            continue
        first = first or (event, fact)
        for rank, op in ((fact.rank, fact.op), (fact.other_rank, fact.other_op)):
            if rank is not None:
                votes[rank] = op
    if first is None:
        return
    event, fact = first
    odd = minority(votes)
    yield Finding(
        CAUSE,
        CAUSE,
        "high",
        evidence(event, f"rank {fact.rank} runs {fact.op} where rank {fact.other_rank} runs {fact.other_op}"),
        culprits_of_ranks(job, odd, "the only one in another operation"),
        summary=f"Rank {fact.rank} called {fact.op} where rank {fact.other_rank} called {fact.other_op}: "
        "the ranks do not issue the same collectives in the same order.",
        facts={"op": fact.op, "other_op": fact.other_op, "seq": fact.seq},
    )


def _ledger(job: JobView) -> Iterator[Finding]:
    for group in job.groups:
        if group.ambiguous:
            continue
        for seq, states in by_seq(group).items():
            if group.unnamed and seq < SMALLEST_UNNAMED_SEQ:
                continue
            ops = {s.process: s.stuck_op for s in states if s.stuck_op and s.stuck_op not in P2P_OPS}
            if len(set(ops.values())) < 2:
                continue
            shown = [s for s in states if s.process in ops and s.timeout is not None]
            odd = minority({s.rank: s.stuck_op for s in shown if s.rank is not None and s.stuck_op}, group.size)
            said = " and ".join(f"{one(s.rank)} in {s.stuck_op}" for s in _one_per_op(shown))
            yield Finding(
                CAUSE,
                CAUSE,
                "medium",
                evidence(
                    shown[0].timeout,  # type: ignore[arg-type]
                    f"{one(shown[0].rank)} waits in {shown[0].stuck_op}, work {seq} of {group.label}",
                    [
                        (s.timeout, f"{one(s.rank)} waits in {s.stuck_op}, the same work")
                        for s in shown[1:]
                        if s.timeout
                    ],
                ),
                culprits_of_ranks(job, odd, "the only one in another operation"),
                summary=f"At work {seq} of {group.label} the ranks are in different collectives: {said}.",
                facts={"seq": seq, "group": group.label},
            )
            return


def _circle(job: JobView) -> Iterator[Finding]:
    """Ranks of several groups that wait for each other, where nobody is missing who waits in nothing."""
    works = stuck_works(job)
    found = () if any(work.absent for work in works) else circle(works)
    shown = [(wait, wait.work.first.evidence) for wait in found if wait.work.first.evidence is not None]
    if not shown:
        return
    said = [
        f"{ranks_text(w.rank for w in wait.work.waiters)} in {wait.work.op or 'a collective'} of "
        f"{wait.work.group.label} for {ranks_text(wait.ranks)}"
        for wait, _ in shown
    ]
    yield Finding(
        CAUSE,
        CAUSE,
        "medium",
        evidence(shown[0][1], said[0], [(e, text) for (_, e), text in zip(shown[1:], said[1:], strict=True)]),
        summary=f"Ranks wait for each other in a circle: {'; '.join(said)}. They entered these groups in different "
        "orders.",
        facts=shown[0][0].work.facts,
    )


def _hints(job: JobView) -> Iterator[Finding]:
    works = stuck_works(job)
    hint = next(iter(job.of(StepOrder, what="trace-cache")), None)
    if works and hint is not None and works[0].first.evidence is not None:
        yield Finding(
            CAUSE,
            CAUSE,
            "medium",
            evidence(
                hint[0],
                "the order of modules changed on this rank",
                [(works[0].first.evidence, "and a parameter collective never completed")],
            ),
            facts={"op": works[0].op, "seq": works[0].seq},
        )


def by_seq(group: ProcessGroup) -> dict[int, list[GroupState]]:
    """The states of those who timed out, by the work they are stuck in."""
    found: dict[int, list[GroupState]] = {}
    for state in group.stuck():
        if state.stuck_seq is not None:
            found.setdefault(state.stuck_seq, []).append(state)
    return found


def minority(votes: dict[int, str], size: int | None = None) -> list[int]:
    """The ranks outside the strict majority of the group (of those seen, where its ``size`` is not known).

    Empty when no value has one, or with two ranks only.
    """
    counts = Counter(votes.values())
    if len(votes) < 3 or len(counts) < 2:
        return []
    value, most = counts.most_common(1)[0]
    if most * 2 <= max(len(votes), size or 0):
        return []
    return sorted(rank for rank, vote in votes.items() if vote != value)


def _one_per_op(states: list[GroupState]) -> list[GroupState]:
    chosen: dict[str | None, GroupState] = {}
    for state in states:
        chosen.setdefault(state.stuck_op, state)
    return list(chosen.values())
