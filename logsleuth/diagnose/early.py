"""Is this a hang at the very start: set-up or the first collectives, before any training step?"""

from __future__ import annotations

from dataclasses import dataclass

from logsleuth.diagnose.stuck import StuckWork, stuck_works
from logsleuth.model.diagnosis import Passed
from logsleuth.model.events import BarrierDevice, CommInit, Event, InitStage, Interface, Progress, StoreError, Transport
from logsleuth.model.job import JobView

#: Works up to this number are the first of a group: the parameter check or broadcast, the first barrier.
FIRST_SEQ = 1
#: With everybody in, or with a known cause of such hangs, the first few count as well.
EARLY_SEQ = 3


@dataclass(frozen=True, slots=True)
class EarlyHang:
    """``event`` shows it best; ``works`` are the stuck ones, none in a silent hang; ``first``: nothing at all
    completed; ``silent``: no error line, only the user's word that the job hangs."""

    event: Event
    works: tuple[StuckWork, ...]
    first: bool
    silent: bool


def early_hang(job: JobView) -> EarlyHang | None:
    """The hang at the start, or ``None`` where the job got further, or nothing hangs."""
    works = stuck_works(job)
    trained = any(fact.step for _, fact in job.of(Progress) if fact.step and fact.step > 1)
    if works:
        early = [work for work in works if _is_early(work)]
        if not early or trained or any(_far(work) for work in works):
            return None
        event = early[0].first.evidence
        return None if event is None else EarlyHang(event, tuple(early), all(_is_first(work) for work in early), False)
    if not job.hung or trained:
        return None
    stages = [event for event, _ in job.of(InitStage, BarrierDevice, CommInit, Transport, Interface)]
    waiting = [event for event, _ in job.of(StoreError, what=("wait-timeout", "unique-id"))]
    shown = waiting or stages
    return EarlyHang(shown[-1], (), True, True) if shown else None


def local_hang(job: JobView, cause: str) -> EarlyHang | Passed:
    """The hang at the start of one node whose ranks all came: what is left is how its GPUs reach each other."""
    hang = early_hang(job)
    if hang is None:
        return Passed(cause, "the first collectives do not hang")
    if len(job.hosts) > 1 or any(work.absent for work in hang.works):
        return Passed(cause, "several nodes, or a rank that never came: the picture is another one")
    return hang


def _is_early(work: StuckWork) -> bool:
    return work.seq is not None and work.seq <= EARLY_SEQ and not _completed_much(work)


def _is_first(work: StuckWork) -> bool:
    return work.seq is not None and work.seq <= FIRST_SEQ


def _far(work: StuckWork) -> bool:
    return work.seq is not None and work.seq > EARLY_SEQ and not work.is_p2p


def _completed_much(work: StuckWork) -> bool:
    return any((w.last_completed or 0) >= (work.seq or 0) for w in work.waiters) and bool(work.seq)
