"""Progress that is printed all the time: the first and the last lines of each rank become events, however long the
log is."""

from __future__ import annotations

from cases import shared_index

from logsleuth.model.events import Event
from logsleuth.model.source import Source
from logsleuth.scan.run import scan_source
from logsleuth.sources.openers import HeldBytes

FILLER = ("." * 99 + "\n") * 200
STEPS = 300


def progress(rank: int, step: int) -> str:
    return (
        f"[rank{rank}]: iteration {step:>8}/ 500000 | consumed samples: {step} | elapsed time per iteration (ms): 9.5\n"
    )


def steps_of(events: tuple[Event, ...], rank: int) -> list[object]:
    return [getattr(event.fact, "step", None) for event in events if event.origin.rank == rank]


def test_the_first_and_the_last_two_of_each_rank_are_kept() -> None:
    """Six megabytes: several blocks. Rank 7 is late and speaks three times in one block, rank 9 twice."""
    lines: list[str] = []
    for step in range(STEPS):
        lines += [FILLER, progress(step % 2, step)]
        if step in (250, 251, 252, 253):
            lines.append(progress(7, step))
        if step in (10, 290):
            lines.append(progress(9, step))
    data = "".join(lines).encode()
    scan = scan_source(Source("log", "log", HeldBytes(data), size=len(data)), shared_index())
    assert steps_of(scan.events, 0) == [0, 296, 298]
    assert steps_of(scan.events, 1) == [1, 297, 299]
    assert steps_of(scan.events, 7) == [250, 252, 253]
    assert steps_of(scan.events, 9) == [10, 290]
    starts = [event.locator.start for event in scan.events]
    assert starts == sorted(starts)
    assert all(data[event.locator.start :].startswith(b"[rank") for event in scan.events)
