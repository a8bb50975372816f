"""How each process ended, as the launcher, the scheduler or the process itself tells it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from logsleuth.correlate.clues import Clues
from logsleuth.model.events import Event, NativeCrash, ProcessAborted, ProcessExit, RunEnd
from logsleuth.model.timeline import ProcessEnd, ProcessTimeline


def with_ends(
    processes: Sequence[ProcessTimeline], events: Sequence[Event], clues: Clues
) -> tuple[ProcessTimeline, ...]:
    """``processes`` with their ends, and with the pids that only a launcher tells.

    An exit line names its process by rank, by pid, or by its local rank on a host.
    """
    exits: dict[int, Event] = {}
    pids: dict[int, int] = {}
    for event in events:
        fact = event.fact
        if isinstance(fact, ProcessExit):
            rank = _rank(event, fact, clues)
            if rank is not None:
                exits.setdefault(rank, event)
                if fact.pid is not None:
                    pids.setdefault(rank, fact.pid)
    ended = []
    for process in processes:
        exited = exits.get(process.rank) if process.rank is not None else None
        pid = pids.get(process.rank) if process.pid is None and process.rank is not None else process.pid
        ended.append(replace(process, end=_end(process, exited), pid=pid))
    return tuple(ended)


def _rank(event: Event, fact: ProcessExit, clues: Clues) -> int | None:
    host = fact.host or event.origin.host
    if fact.rank is not None:
        return fact.rank
    of_pid = clues.of_pid(host, fact.pid) if fact.pid is not None else None
    if of_pid is None and fact.local_rank is not None:
        return clues.of_local_rank(host, fact.local_rank)
    return of_pid


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
