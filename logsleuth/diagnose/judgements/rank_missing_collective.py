"""A rank never entered the collective that the others wait in.

Concludes: rank-missing-collective, with the ranks that never came.
Evidence: a monitored barrier or desync report that names them; counters of a rank below the work that the others are
stuck in; a rank that was told of the timeout and has none itself; a rank whose own log shows no wait.
Mistaken for: straggler-host-work (it would have come, and its log shows slow work), a dead rank (exit or crash
first), a transport fault (then everybody is in). A rank that is only missing from an excerpt is a suspect at most.
Example: ranks 0, 1 and 3 time out in work 1580 of the default group; rank 2 prints ``last enqueued work: 1579``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from logsleuth.catalog.spec import Catalog
from logsleuth.diagnose.blame import capital, culprits_of_ranks, evidence, ranks_text
from logsleuth.diagnose.early import early_hang
from logsleuth.diagnose.stuck import (
    Absent,
    StuckWork,
    all_others_wait,
    laggards,
    only_idle,
    stuck_works,
    waiting_ranks,
    why_silent,
)
from logsleuth.model.diagnosis import Finding, Passed
from logsleuth.model.events import (
    CollectiveTimeout,
    DesyncReport,
    MonitoredBarrier,
    PeerLost,
    ProcessExit,
    RunEnd,
    SignalSent,
    StepOrder,
)
from logsleuth.model.job import JobView

CAUSE = "rank-missing-collective"
_HOW = {
    "counters": "its own counters end below the work that the others wait in",
    "signal": "it was told of the timeout by another rank and was waiting in nothing itself",
    "own-log": "its own log shows no wait in this work",
    "elimination": "every other rank reports the wait, in the same log",
    "behind": "its GPU has not finished what its peers in the same group have",
}
#: Clues in which the rank itself tells that it was not there.
_DIRECT = ("counters", "signal")
#: A rank's silence names it only where everybody else is known to wait: several may have been ended before they told.
MOST_SILENT = 1
#: So many must wait before the one that does not stands out.
FEWEST_WAITING = 3


def judge(job: JobView, catalog: Catalog) -> Iterator[Finding | Passed]:
    works = stuck_works(job)
    found = [*_barrier(job), *_desync(job)] or [*_from_works(job, works)] or [*_behind(job, works)]
    found = found or [*_idle(job, works)]
    yield from found or [*_ended_early(job)] or _left_alone(job, works)


def _barrier(job: JobView) -> Iterator[Finding]:
    """Rank 0 may tell of the missing ranks one by one and then of all of them."""
    told = [(e, f) for e, f in job.of(MonitoredBarrier, statement="missing") if f.ranks]
    if not told:
        return
    event, fact = max(told, key=lambda item: len(item[1].ranks))
    ranks = sorted({rank for _, f in told for rank in f.ranks})
    yield Finding(
        CAUSE,
        CAUSE,
        "medium",
        evidence(event, f"{ranks_text(ranks)} never reached the monitored barrier", [(e, "as well") for e, _ in told]),
        culprits_of_ranks(job, ranks, "rank 0's monitored barrier names it"),
        summary=f"{ranks_text(ranks).capitalize()} never reached a monitored barrier that the others waited in.",
        facts={"timeout_ms": fact.timeout_ms},
    )


def _desync(job: JobView) -> Iterator[Finding]:
    for event, fact in job.of(DesyncReport, statement=("never-joined", "not-joined")):
        if fact.ranks:
            work = f" #{fact.seq}" if fact.seq is not None else ""
            yield Finding(
                CAUSE,
                CAUSE,
                "medium",
                evidence(event, f"the desync report says that {ranks_text(fact.ranks)} did not join{work}"),
                culprits_of_ranks(job, fact.ranks, "the desync report names it"),
                summary=f"{ranks_text(fact.ranks).capitalize()} did not join collective{work} that the others wait in.",
                facts={"seq": fact.seq, "op": fact.op},
            )
            return


def _from_works(job: JobView, works: Sequence[StuckWork]) -> Iterator[Finding]:
    """Ranks that did not come to a work and wait nowhere else, over all groups; the first work is the one to tell."""
    open_works = [work for work in works if work.absent and not work.is_p2p and not work.everybody_in]
    if not open_works:
        return
    work = open_works[0]
    absent = {a.rank: a for w in reversed(open_works) for a in w.absent if w is work or a.how in _DIRECT}
    direct = [a for a in absent.values() if a.how in _DIRECT]
    silent = [a for a in absent.values() if a.how not in _DIRECT]
    telling = len(silent) <= MOST_SILENT and all_others_wait(job, work, silent) and early_hang(job) is None
    named = direct or (silent if telling else [])
    others = [a for a in absent.values() if a not in named]
    waiting = {w.rank for other in works for w in other.waiters}
    if named and len(named) <= len(waiting):
        sure = job.coverage.complete and all(a.how == "counters" for a in named)
        yield _finding(job, work, sorted(named, key=lambda a: a.rank), others, "high" if sure else "medium")


def _idle(job: JobView, works: Sequence[StuckWork]) -> Iterator[Finding]:
    """The one rank of a mesh that waits in no group at all, where each of the others waits in some."""
    shared = [work for work in works if not work.is_p2p and not work.group.unnamed and work.first.evidence is not None]
    idle = only_idle(job)
    if idle is None or not shared or len(waiting_ranks(job)) < FEWEST_WAITING or any(w.everybody_in for w in works):
        return
    absent = why_silent(job, idle)
    if absent is not None:
        yield _finding(job, shared[0], [absent], [], "medium")


def _ended_early(job: JobView) -> Iterator[Finding]:
    """A rank whose log ends well while the others lose their connection to it, or wait: it had less to do."""
    lost = [e for e, _ in job.of(PeerLost) if e.role != "benign"] + [e for e, _ in job.of(CollectiveTimeout)]
    ended = [e for e, _ in job.of(RunEnd)]
    if not lost or not ended:
        return
    victims = {job.rank(e) for e in lost}
    early = [e for e in ended if job.rank(e) not in victims or job.rank(e) is None]
    if not early or any(job.precedes(lost[0], e) for e in early) or len({job.rank(e) for e in ended}) > len(victims):
        return
    ranks = {rank for e in early if (rank := job.rank(e)) is not None}
    who = ranks_text(ranks) or "A rank"
    yield Finding(
        CAUSE,
        CAUSE,
        "medium",
        evidence(
            early[0], "ended well, while others still needed it", [(e, "lost it, or waited for it") for e in lost]
        ),
        culprits_of_ranks(job, ranks, "its own log ends well"),
        summary=f"{capital(who)} ended while the others still had collectives to run.",
    )


def _behind(job: JobView, works: Sequence[StuckWork]) -> Iterator[Finding]:
    named = laggards(job)
    mine = [w for w in works if any(s.rank in {a.rank for a in named} for s in w.waiters)]
    if not named or not mine:
        return
    who = ranks_text(a.rank for a in named)
    yield replace(
        _finding(job, mine[0], named, [], "medium"),
        summary=f"{who.capitalize()} had enqueued {mine[0].what}, but their GPUs never finished it while their peers "
        "were done: everybody else waits for them.",
    )


def _finding(
    job: JobView, work: StuckWork, named: Sequence[Absent], others: Sequence[Absent], confidence: str
) -> Finding:
    told = work.first.evidence or named[0].event
    assert told is not None
    return Finding(
        CAUSE,
        CAUSE,
        confidence,
        evidence(
            told,
            f"{ranks_text(w.rank for w in work.waiters) or 'a rank'} waited in {work.what} until the timeout",
            [(a.event, f"rank {a.rank}: {_HOW[a.how]}") for a in named if a.event is not None],
        ),
        tuple(c for a in named for c in culprits_of_ranks(job, [a.rank], _HOW[a.how])),
        tuple(c for a in others for c in culprits_of_ranks(job, [a.rank], _HOW[a.how])),
        summary=_summary(work, named),
        facts=work.facts,
    )


def _left_alone(job: JobView, works: Sequence[StuckWork]) -> Iterator[Finding | Passed]:
    """Only some ranks report, and the launcher found nobody else alive to stop: the others had already ended well."""
    silent = [a.rank for a in works[0].absent] if works else []
    passed = Passed(
        CAUSE,
        f"{ranks_text(silent)} told of no wait, which may have other reasons"
        if silent
        else "no rank is known to have stayed away",
        "the counters or the log of the ranks that did not time out",
    )
    if not works or works[0].is_p2p or works[0].everybody_in or works[0].first.evidence is None:
        yield passed
        return
    work = works[0]
    hint = next(iter(job.of(StepOrder, what="uneven-data")), None)
    exits = list(job.of(ProcessExit, by="torchelastic"))
    failed = {f.rank if f.rank is not None else f.local_rank for _, f in exits}
    aborted = [e for e, f in exits if f.signal == "SIGABRT" or f.exit_code == -6]
    stopped = any(True for _ in job.of(SignalSent))
    if hint is not None:
        yield Finding(CAUSE, CAUSE, "medium", evidence(hint[0], "ranks did not get the same work"), facts=work.facts)
    elif aborted and not stopped and len(failed) == 1 and len(work.waiters) == 1 and (work.seq or 0) > 1:
        who = ranks_text([work.first.rank]) or "one rank"
        gone = "the launcher stopped no other process: the others on this node had already ended"
        yield Finding(
            CAUSE,
            CAUSE,
            "medium",
            evidence(work.first.evidence, f"{who} waited alone in {work.what}", [(aborted[0], gone)]),  # type: ignore[arg-type]
            summary=f"{who.capitalize()} waited in {work.what} for ranks that had already ended.",
            facts=work.facts,
        )
    else:
        yield passed


def _summary(work: StuckWork, named: Sequence[Absent]) -> str:
    waiting = ranks_text(w.rank for w in work.waiters) or "the others"
    missing = ranks_text(a.rank for a in named)
    return f"{missing.capitalize()} never entered {work.what}; {waiting} waited there until the timeout."
