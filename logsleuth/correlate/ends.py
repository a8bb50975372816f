"""How each process ended, as the launcher, the scheduler or the process itself tells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from logsleuth.model.events import Event, NativeCrash, ProcessAborted, ProcessExit, RunEnd
from logsleuth.model.timeline import ProcessEnd, ProcessTimeline


def with_ends(
    processes: Sequence[ProcessTimeline], events: Sequence[Event], rank_of_pid: Mapping[int, int]
) -> tuple[ProcessTimeline, ...]:
    """``processes`` with their ends; an exit line names its process by rank or by pid."""
    exits: dict[int, Event] = {}
    for event in events:
        fact = event.fact
        if isinstance(fact, ProcessExit):
            rank = fact.rank if fact.rank is not None else rank_of_pid.get(fact.pid) if fact.pid is not None else None
            if rank is not None:
                exits.setdefault(rank, event)
    return tuple(replace(process, end=_end(process, exits.get(process.rank))) for process in processes)  # type: ignore[arg-type]


def _end(process: ProcessTimeline, exited: Event | None) -> ProcessEnd:
    if exited is not None and isinstance(exited.fact, ProcessExit):
        return ProcessEnd(exited.fact.exit_code, exited.fact.signal, exited.fact.exit_code == 0, exited)
    for event in reversed(process.events):
        if isinstance(event.fact, NativeCrash):
            return ProcessEnd(signal=event.fact.signal, event=event)
        if isinstance(event.fact, ProcessAborted):
            return ProcessEnd(signal="SIGABRT", event=event)
        if isinstance(event.fact, RunEnd):
            return ProcessEnd(clean=True, event=event)
    return ProcessEnd()
