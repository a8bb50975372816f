"""A rank was late: work on the CPU or on files outlasted the timeout of those who waited for it.

Concludes: straggler-host-work, with the late rank.
Evidence: ranks stuck in a collective, and the last thing that another rank printed is preprocessing, a checkpoint, a
download, an evaluation or a compilation that was not finished.
Mistaken for: rank-missing-collective (its log shows no slow work), a P2P hang (the late rank is inside the transfer).
Example: ranks 1-3 time out in the first barrier; rank 0's last line is ``Map:  8%| 726000/9672101``.
"""

from __future__ import annotations

from collections.abc import Iterator

from logsleuth.catalog.spec import Catalog
from logsleuth.diagnose.blame import capital, culprit_of, evidence, ranks_text
from logsleuth.diagnose.stuck import StuckWork, stuck_works
from logsleuth.model.diagnosis import Finding, Passed
from logsleuth.model.events import Event, HostWork, Progress
from logsleuth.model.job import JobView
from logsleuth.model.timeline import ProcessTimeline

CAUSE = "straggler-host-work"
#: The share of the others' timeout after which a rank came too late.
NEARLY = 0.9
_AFTER = ("progress", "run-end", "exception", "process-exit", "native-crash", "memory-exhausted")


def judge(job: JobView, catalog: Catalog) -> Iterator[Finding | Passed]:
    works = stuck_works(job)
    if not works:
        yield from _in_silence(job)
        return
    work = works[0]
    arrived = _arrived_late(work)
    waiting = {w.process for group in job.groups for w in group.stuck()} - arrived
    if (work.everybody_in and not arrived) or work.first.evidence is None:
        yield Passed(CAUSE, "everybody was in the collective")
        return
    others = [w for w in work.waiters if w.process not in arrived]
    timeout = next((w.evidence for w in others if w.evidence is not None), work.first.evidence)
    late = [(p, busy) for p in job.processes if p.key not in waiting and (busy := _busy(job, p, timeout)) is not None]
    named = [(p, busy) for p, busy in late if p.rank is not None]
    if not late:
        yield Passed(CAUSE, "no other rank shows unfinished host work", "the log of the rank that was waited for")
        return
    chosen = named or late[:1]
    who, waited = ranks_text(p.rank for p, _ in chosen) or "a process", ranks_text(w.rank for w in others)
    limit = f" of {work.facts['timeout_s']} s" if work.facts["timeout_s"] else ""
    fact = chosen[0][1].fact
    assert isinstance(fact, HostWork)
    yield Finding(
        CAUSE,
        CAUSE,
        "medium",
        evidence(
            chosen[0][1],
            f"{who} was still busy on the host ({fact.what})",
            [(timeout, f"{waited or 'the others'} waited in {work.op or 'a collective'}")],
        ),
        tuple(culprit_of(p, "its own last line is host work") for p, _ in named),
        summary=f"{capital(who)} was still busy on the host ({fact.what}) when {waited or 'the others'}, waiting in "
        f"{work.what}, reached the timeout{limit}.",
        facts={**work.facts, "what": fact.what, "waiting": waited},
    )


def _arrived_late(work: StuckWork) -> set[str]:
    """The processes that came when the others had waited for nearly their whole timeout, and then timed out alone."""
    limits = [w.timeout_ms for w in work.waiters if w.timeout_ms is not None]
    if work.began_s is None or not limits:
        return set()
    late = work.began_s + NEARLY * min(limits) / 1000
    return {w.process for w in work.waiters if w.began_s is not None and w.began_s >= late}


def _in_silence(job: JobView) -> Iterator[Finding | Passed]:
    """The user says that the job hangs: the one rank whose last line is unfinished host work, while others trained."""
    busy = [(p, e) for p in job.processes if p.rank is not None and (e := _busy(job, p, None)) is not None]
    trained = {job.rank(e) for e, _ in job.of(Progress)}
    if not job.hung or len(busy) != 1 or not trained - {busy[0][0].rank}:
        yield Passed(CAUSE, "nobody timed out in a collective")
        return
    process, event = busy[0]
    assert isinstance(event.fact, HostWork)
    yield Finding(
        CAUSE,
        CAUSE,
        "medium",
        evidence(event, f"the last that rank {process.rank} printed is host work ({event.fact.what})"),
        (culprit_of(process, "its own last line is host work"),),
        summary=f"The job hangs without an error; the last that rank {process.rank} printed is unfinished work on its "
        f"host ({event.fact.what}).",
        facts={"what": event.fact.what},
    )


def _busy(job: JobView, process: ProcessTimeline, timeout: Event | None) -> Event | None:
    """The last host work of a process before the timeout, if nothing shows that it had ended by then.

    Where the process is not known by its rank, any rank's progress after it in the same source shows that.
    """
    last: Event | None = None
    for event in process.events:
        fact = event.fact
        if timeout is not None and job.precedes(timeout, event):
            continue
        if isinstance(fact, HostWork):
            done = fact.done is not None and fact.total is not None and fact.done >= fact.total
            last = None if done else event
        elif event.kind in _AFTER and last is not None and job.precedes(last, event):
            last = None
    if last is not None and process.rank is None:
        source, start = last.locator.source, last.locator.start
        if any(e.kind == "progress" and e.locator.source == source and e.locator.start > start for e in job.events):
            return None
    return last
