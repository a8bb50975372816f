"""Which process printed which line: events -> process timelines with ranks, and how each rank was learnt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from logsleuth.correlate.clues import Clues, find_clues, in_default_group
from logsleuth.model.events import Event
from logsleuth.model.origin import Origin
from logsleuth.model.scan import SourceScan
from logsleuth.model.timeline import ProcessTimeline

#: vLLM's workers of one tensor-parallel group: ``Worker_TP0``, ``VllmWorker-3``; with data or pipeline parallelism the
#: name has further parts and is no rank.
_WORKER = re.compile(r"(?:Worker_TP|VllmWorker-|VllmWorker TP)(\d+)")


@dataclass(frozen=True, slots=True)
class Identities:
    """``process_of`` maps ``id(event)`` to an index in ``processes``; ``clues`` are what the ranks were learnt by."""

    processes: tuple[ProcessTimeline, ...]
    process_of: Mapping[int, int]
    clues: Clues
    notes: tuple[str, ...] = ()


def identify(
    events: Sequence[Event],
    files: Sequence[tuple[str, str, Origin]] = (),
    heard: Iterable[Origin] = (),
    every: Sequence[Event] | None = None,
) -> Identities:
    """Group ``events`` by process.

    ``files``: (id, name, origin of its path) of each source, and ``heard``: origins of ordinary lines, so that ranks
    without events are seen. ``every``: the events of all attempts, which may tell how local and global ranks lie.
    """
    clues = find_clues(events if every is None else every, [source for source, _, _ in files])
    ranked_prefixes = any(
        e.origin.rank is not None and e.origin.how("rank") in ("prefix", "option", "path") for e in events
    )
    grouped: dict[str, list[Event]] = {}
    origins: dict[str, Origin] = {}
    known_by: dict[str, str] = {}
    for event in events:
        rank, how = _rank(event, clues, ranked_prefixes)
        key = _key(event, rank)
        grouped.setdefault(key, []).append(event)
        origins[key] = origins[key].merged(event.origin) if key in origins else event.origin
        if rank is not None and how is not None:
            known_by.setdefault(key, how)
    own: dict[int, set[str]] = {}
    for source, name, origin in files:
        rank = _rank_of_file(source, origin, clues)
        if rank is None:
            continue
        own.setdefault(rank, set()).update([origin.stream] if origin.stream is not None else [])
        if f"rank {rank}" not in grouped:
            grouped[f"rank {rank}"] = []
            origins[f"rank {rank}"] = origin
            known_by[f"rank {rank}"] = f"the name of {name}"
    for origin in heard:
        rank = origin.rank if origin.rank is not None else origin.task
        if rank is not None and f"rank {rank}" not in grouped:
            grouped[f"rank {rank}"] = []
            origins[f"rank {rank}"] = origin
            known_by[f"rank {rank}"] = "the line's prefix"
    ordered_keys = sorted(grouped)
    processes = tuple(_timeline(key, tuple(grouped[key]), origins[key], known_by.get(key), own) for key in ordered_keys)
    process_of = {id(event): index for index, key in enumerate(ordered_keys) for event in grouped[key]}
    return Identities(processes, process_of, clues)


def last_lines(scans: Iterable[SourceScan], clues: Clues) -> dict[int, tuple[str, ...]]:
    """By rank, the end of what it printed: by the prefix of the lines, or in a file of its own."""
    found: dict[int, tuple[str, ...]] = {}
    for scan in scans:
        for tail in scan.digest.tails:
            rank = _rank_of_file(scan.source.id, scan.source.origin.merged(tail.origin), clues)
            if rank is not None and tail.origin.role is None:
                found.setdefault(rank, tail.lines)
    return found


def _rank_of_file(source: str, origin: Origin, clues: Clues) -> int | None:
    """The global rank that a file as a whole belongs to."""
    if origin.rank is not None:
        return origin.rank
    if origin.local_rank is not None:
        return clues.of_local_rank(origin.host, origin.local_rank)
    return clues.rank_of_source.get(source)


def _rank(event: Event, clues: Clues, ranked_prefixes: bool) -> tuple[int | None, str | None]:
    """The global rank of the printing process, and a phrase that says how it is known."""
    fact, origin = event.fact, event.origin
    if origin.rank is not None:
        how = {"option": "--rank", "prefix": "the line's prefix", "path": "the file's name"}
        return origin.rank, how.get(origin.how("rank") or "", "the text")
    of_pid = clues.of_pid(origin.host, origin.pid) if origin.pid is not None else None
    if of_pid is not None:
        return of_pid, f"pid {origin.pid}"
    if origin.task is not None and origin.how("task") in ("prefix", "path", "option"):
        return origin.task, f"task {origin.task} of the launcher"
    of_local = clues.of_local_rank(origin.host, origin.local_rank) if origin.local_rank is not None else None
    if of_local is not None:
        only = "on the only node seen" if clues.local_equals_global else f"of {origin.host or 'its host'}"
        return of_local, f"local rank, {only}"
    if event.locator.source in clues.rank_of_source:
        return clues.rank_of_source[event.locator.source], "the number of its file, as in the other files of the series"
    by_name = _WORKER.fullmatch(origin.actor) if origin.actor else None
    if by_name is not None:
        return int(by_name[1]), f"the worker's name, {origin.actor}"
    group_rank = getattr(fact, "group_rank", None)
    if group_rank is not None and in_default_group(fact) and not ranked_prefixes and clues.group_rank_is_global:
        return group_rank, "the rank in the message (torch before 2.2 prints no other)"
    if group_rank is not None and getattr(fact, "pg_guid", None) == "0":
        return group_rank, "the rank in the default group"
    return None, None


def _key(event: Event, rank: int | None) -> str:
    origin = event.origin
    if origin.role in ("kernel", "daemon", "agent"):
        return f"{origin.role} {origin.host or event.locator.source}"
    if rank is not None:
        return f"rank {rank}"
    if origin.actor is not None or origin.pid is not None:
        return f"process {origin.host or ''}/{origin.pid or ''}/{origin.actor or ''}"
    if origin.local_rank is not None:
        return f"local rank {origin.local_rank} of {origin.host or event.locator.source}"
    return f"source {event.locator.source}"


def _timeline(
    key: str, events: tuple[Event, ...], origin: Origin, known_by: str | None, own: Mapping[int, set[str]]
) -> ProcessTimeline:
    rank = int(key.removeprefix("rank ")) if key.startswith("rank ") else None
    return ProcessTimeline(
        key=key,
        rank=rank,
        local_rank=origin.local_rank,
        task=origin.task,
        host=origin.host,
        pid=origin.pid,
        attempt=origin.attempt,
        role=origin.role or "worker",
        actor=origin.actor,
        known_by=known_by,
        own_source=rank is not None and rank in own,
        streams=frozenset(own.get(rank, ())) if rank is not None else frozenset(),
        sources=tuple(sorted({event.locator.source for event in events})),
        events=events,
    )
