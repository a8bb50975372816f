"""Who waits for whom over several groups: chains are walked to their end, circles are deadlocks."""

from __future__ import annotations

from logsleuth.catalog.load import load_catalog
from logsleuth.diagnose.judgements import collective_order_mismatch, collective_timeout_unexplained
from logsleuth.diagnose.stuck import stuck_works
from logsleuth.diagnose.waits import circle, followers, waits
from logsleuth.model.diagnosis import Finding
from logsleuth.model.events import CollectiveTimeout, Event, Locator
from logsleuth.model.job import Coverage, Environment, JobView
from logsleuth.model.origin import Origin
from logsleuth.model.timeline import GroupState, ProcessGroup, ProcessTimeline

GROUPS = {"data": (0, 2), "model": (0, 1), "far": (1, 3), "last": (2, 3)}


def job_of(waiting: dict[str, tuple[int, ...]]) -> JobView:
    """Ranks 0-3, each stuck in the groups that ``waiting`` names it in; the members of groups are known."""
    groups = []
    for number, (name, ranks) in enumerate(sorted(waiting.items())):
        states = []
        for rank in ranks:
            place = Locator(f"rank{rank}.log", number, number + 1, "timeout")
            event = Event(CollectiveTimeout(seq=7, op="ALLREDUCE"), "symptom", "p", Origin(rank=rank), place)
            states.append(GroupState(f"rank {rank}", rank, stuck_seq=7, stuck_op="ALLREDUCE", timeout=event))
        groups.append(ProcessGroup(name, name, name, tuple(states), size=len(GROUPS[name]), members=GROUPS[name]))
    events = tuple(s.timeout for g in groups for s in g.states if s.timeout is not None)
    processes = tuple(
        ProcessTimeline(f"rank {r}", r, own_source=True, events=tuple(e for e in events if e.origin.rank == r))
        for r in range(4)
    )
    owners = {id(e): e.origin.rank or 0 for e in events}
    coverage = Coverage((0, 1, 2, 3), world_size=4, complete=True)
    return JobView(events, processes, tuple(groups), Environment(), coverage, (), (), owners)


def test_a_chain_leads_to_the_work_that_nobody_else_is_stuck_in() -> None:
    """0 waits in data for 2, 2 in last for 3, and 3 waits nowhere."""
    job = job_of({"data": (0,), "last": (2,)})
    works = stuck_works(job)
    assert [work.group.key for work in works] == ["last", "data"]
    assert [(w.work.group.key, w.ranks, w.other.group.key) for w in waits(works)] == [("data", (2,), "last")]
    assert [w.work.group.key for w in followers(works, works[0])] == ["data"]
    assert circle(works) == ()


def test_the_answer_says_who_only_follows() -> None:
    job = job_of({"data": (0,), "last": (2, 3)})
    found = next(iter(collective_timeout_unexplained.judge(job, load_catalog())))
    assert isinstance(found, Finding)
    assert found.summary is not None
    assert found.summary.endswith("Others only wait for ranks that are stuck there: rank 0 (data).")


def test_ranks_that_wait_for_each_other_entered_their_groups_in_different_orders() -> None:
    """0 waits in data for 2, 2 in last for 3, 3 in far for 1, and 1 in model for 0."""
    job = job_of({"data": (0,), "last": (2,), "far": (3,), "model": (1,)})
    assert len(circle(stuck_works(job))) == 4
    found = next(iter(collective_order_mismatch.judge(job, load_catalog())))
    assert isinstance(found, Finding)
    assert (found.cause, found.culprits) == ("collective-order-mismatch", ())
    assert found.summary is not None
    assert "rank 0 in ALLREDUCE of data for rank 2" in found.summary


def test_a_circle_with_a_rank_that_waits_nowhere_is_that_ranks_doing() -> None:
    """0 and 2 wait for each other, but 1 is missing from model as well and waits in nothing."""
    job = job_of({"data": (0,), "last": (2,), "model": (0,)})
    assert any(work.absent for work in stuck_works(job))
    assert not isinstance(next(iter(collective_order_mismatch.judge(job, load_catalog()))), Finding)
