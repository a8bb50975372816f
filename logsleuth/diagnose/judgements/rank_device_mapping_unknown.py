"""Torch guessed which GPU a rank uses in a barrier.

Concludes: rank-device-mapping-unknown: as the root only if the guess is visibly wrong and the first collective
hangs, else contributing.
Evidence: the barrier's device warning; two ranks of one host with the same guess; a guess that differs from the
local rank.
Mistaken for: the error itself. The warning is common, and harmless when the guess equals the local rank or the run
goes on.
Example: rank 3 prints ``using GPU 3 to perform barrier``: the guess is right, look elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator

from logsleuth.catalog.spec import Catalog
from logsleuth.diagnose.blame import evidence
from logsleuth.diagnose.early import early_hang
from logsleuth.model.diagnosis import Finding, Passed
from logsleuth.model.events import BarrierDevice, Event
from logsleuth.model.job import JobView

CAUSE = "rank-device-mapping-unknown"


def judge(job: JobView, catalog: Catalog) -> Iterator[Finding | Passed]:
    guesses = [(e, f) for e, f in job.of(BarrierDevice) if f.device is not None]
    if not guesses:
        yield Passed(CAUSE, "no device was guessed")
        return
    if early_hang(job) is None:
        yield Passed(
            CAUSE, "the run went on, or nothing shows a hang in its first collectives: the warning is harmless"
        )
        return
    wrong = _wrong(job, guesses)
    if wrong is not None:
        yield Finding(
            CAUSE,
            CAUSE,
            "medium",
            evidence(wrong[0], wrong[1]),
            summary=f"Torch guessed the GPU of a barrier, and the guess is wrong: {wrong[1]}.",
        )
        return
    event, fact = guesses[0]
    yield Finding(
        CAUSE,
        CAUSE,
        "low",
        evidence(event, f"the guess (GPU {fact.device}) fits the rank, so this is not what hangs"),
        summary="Torch guessed the GPU of a barrier; the guess fits the rank, so the warning is not the cause.",
        contributing=True,
    )


def _wrong(job: JobView, guesses: list[tuple[Event, BarrierDevice]]) -> tuple[Event, str] | None:
    """An event that shows a wrong guess, and why it is wrong."""
    taken: dict[tuple[str | None, int | None], int] = {}
    for event, fact in guesses:
        process = job.process(event)
        rank = process.rank if process is not None else fact.group_rank
        local = process.local_rank if process is not None else None
        if local is not None and fact.device != local:
            return event, f"local rank {local} was given GPU {fact.device}"
        host = process.host if process is not None else None
        other = taken.setdefault((host, fact.device), rank if rank is not None else -1)
        if rank is not None and other not in (rank, -1) and (host is not None or (job.world_size or 9) <= 8):
            return event, f"ranks {other} and {rank} were both given GPU {fact.device}"
    return None
