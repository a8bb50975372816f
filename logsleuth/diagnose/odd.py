"""The odd ones out: ranks whose logs differ from those of nearly all others. Suspects, never culprits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from logsleuth.diagnose.blame import culprits_of_ranks
from logsleuth.diagnose.stuck import idle_ranks, waiting_ranks
from logsleuth.model.diagnosis import Culprit
from logsleuth.model.events import Progress
from logsleuth.model.job import JobView

#: So few ranks may differ, of four that do not.
SHARE = 4
FEWEST_RANKS = 3
#: A log that ends so much earlier than all others stopped by itself; less is buffering.
EARLY_S = 60.0


def odd_ones(job: JobView) -> tuple[Culprit, ...]:
    """Suspects by rank, each with the difference that makes it one."""
    found: dict[int, str] = {}
    known = len(job.coverage.ranks_seen) + len(job.coverage.ranks_silent)
    for kind in (_waits_in_nothing, _lags, _ends_early):
        odd = dict(kind(job))
        if len(odd) * SHARE <= known:
            found = odd | found
    return tuple(c for rank, why in sorted(found.items()) for c in culprits_of_ranks(job, [rank], why))


def _waits_in_nothing(job: JobView) -> Iterator[tuple[int, str]]:
    if len(waiting_ranks(job)) < FEWEST_RANKS - 1:
        return
    for rank in idle_ranks(job):
        lines = job.last_lines.get(rank, ())
        said = f"; its last line: “{lines[-1][:120]}”" if lines else ""
        yield rank, f"it reports no wait{said}"


def _lags(job: JobView) -> Iterator[tuple[int, str]]:
    """Ranks that printed fewer steps than the others agree on."""
    steps = _last_steps(job)
    if len(steps) < FEWEST_RANKS:
        return
    common, times = Counter(steps.values()).most_common(1)[0]
    if times > len(steps) / 2:
        for rank, step in steps.items():
            if step < common:
                yield rank, f"its last step is {step}, the others' {common}"


def _last_steps(job: JobView) -> Mapping[int, int]:
    steps: dict[int, int] = {}
    for event, fact in job.of(Progress):
        rank = job.rank(event)
        if rank is not None and fact.step is not None:
            steps[rank] = max(steps.get(rank, 0), fact.step)
    return steps


def _ends_early(job: JobView) -> Iterator[tuple[int, str]]:
    """Ranks with logs of their own that end clearly before all others'."""
    ends: dict[int, float] = {}
    for process in job.processes:
        if process.rank is not None and process.own_source:
            lasts = [job.digest(source).last for source in process.sources]
            stamps = [last.seconds for last in lasts if last and last.seconds]
            if stamps:
                ends[process.rank] = max(stamps)
    if len(ends) < FEWEST_RANKS:
        return
    usual = sorted(ends.values())[len(ends) // 2]
    for rank, end in ends.items():
        if end < usual - EARLY_S:
            yield rank, f"its log ends {usual - end:.0f} s before the others'"
