"""Which process printed which line: events -> process timelines with ranks, and how each rank was learnt."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from logsleuth.model.events import CommInit, Event, InitStage, NcclWarn, ProcessExit, ProcessMap, Transport
from logsleuth.model.origin import Origin
from logsleuth.model.timeline import ProcessTimeline

#: Kinds whose ``group_rank`` is a global rank where nothing better is known: works of the default group.
_DEFAULT_GROUPS = (None, "0")
#: vLLM's workers of one tensor-parallel group: ``Worker_TP0``, ``VllmWorker-3``; with data or pipeline parallelism the
#: name has further parts and is no rank.
_WORKER = re.compile(r"(?:Worker_TP|VllmWorker-|VllmWorker TP)(\d+)")


@dataclass(frozen=True, slots=True)
class Identities:
    """``process_of`` maps ``id(event)`` to an index in ``processes``."""

    processes: tuple[ProcessTimeline, ...]
    process_of: Mapping[int, int]
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Clues:
    """What ties pids and local ranks to global ranks in this job.

    ``rank_of_local`` is by host and local rank. ``group_rank_is_global``: the rank that old torch prints without its
    group may be the global one; no two processes print the same.
    """

    rank_of_pid: dict[tuple[str | None, int], int] = field(default_factory=dict)
    rank_of_local: dict[tuple[str | None, int], int] = field(default_factory=dict)
    local_equals_global: bool = False
    group_rank_is_global: bool = True
    nnodes: int | None = None


def identify(
    events: Sequence[Event],
    named: Iterable[tuple[str, Origin]] = (),
    heard: Iterable[Origin] = (),
    every: Sequence[Event] | None = None,
) -> Identities:
    """Group ``events`` by process.

    ``named``: (source, origin of its path) and ``heard``: origins of ordinary lines, so that ranks without events
    are seen. ``every``: the events of all attempts, which may tell how local and global ranks lie.
    """
    clues = _clues(events if every is None else every)
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
    for source, origin in named:
        if origin.rank is not None and f"rank {origin.rank}" not in grouped:
            grouped[f"rank {origin.rank}"] = []
            origins[f"rank {origin.rank}"] = origin
            known_by[f"rank {origin.rank}"] = f"the name of {source}"
    for origin in heard:
        rank = origin.rank if origin.rank is not None else origin.task
        if rank is not None and f"rank {rank}" not in grouped:
            grouped[f"rank {rank}"] = []
            origins[f"rank {rank}"] = origin
            known_by[f"rank {rank}"] = "the line's prefix"
    own = {origin.rank for _, origin in named if origin.rank is not None}
    ordered_keys = sorted(grouped)
    processes = tuple(_timeline(key, tuple(grouped[key]), origins[key], known_by.get(key), own) for key in ordered_keys)
    process_of = {id(event): index for index, key in enumerate(ordered_keys) for event in grouped[key]}
    return Identities(processes, process_of)


def _clues(events: Sequence[Event]) -> _Clues:
    clues = _Clues()
    world = _world_of_communicators(events)
    pairs: Counter[bool] = Counter()
    pairs_in_messages: Counter[bool] = Counter()
    printed_by: dict[int, set[tuple[str | None, int | None, int | None]]] = {}
    hosts: set[str] = set()
    senders: dict[tuple[str | None, int], set[int]] = {}
    local_worlds: set[int] = set()
    stated_world: set[int] = set()
    for event in events:
        fact, origin = event.fact, event.origin
        if isinstance(fact, ProcessMap):
            if fact.rank is not None and fact.pid is not None:
                clues.rank_of_pid[fact.host, fact.pid] = fact.rank
            if fact.rank is not None and origin.pid is not None:
                clues.rank_of_pid[origin.host, origin.pid] = fact.rank
            if fact.rank is not None and fact.local_rank is not None:
                pairs[fact.rank == fact.local_rank] += 1
            if fact.nnodes is not None:
                clues.nnodes = max(clues.nnodes or 0, fact.nnodes)
            if fact.local_world_size is not None:
                local_worlds.add(fact.local_world_size)
            if fact.world_size is not None:
                stated_world.add(fact.world_size)
        elif isinstance(fact, InitStage) and fact.world_size is not None:
            stated_world.add(fact.world_size)
        elif isinstance(fact, ProcessExit) and fact.rank is not None:
            if fact.pid is not None:
                clues.rank_of_pid[fact.host, fact.pid] = fact.rank
            if fact.local_rank is not None:
                pairs[fact.rank == fact.local_rank] += 1
        elif isinstance(fact, Transport) and origin.pid is not None and not (fact.via or "").startswith("NET"):
            if fact.from_rank is not None:
                senders.setdefault((origin.host, origin.pid), set()).add(fact.from_rank)
        elif isinstance(fact, NcclWarn) and fact.what == "proxy" and fact.rank is not None and origin.pid is not None:
            clues.rank_of_pid.setdefault((origin.host, origin.pid), fact.rank)
        elif (
            isinstance(fact, CommInit)
            and origin.pid is not None
            and fact.nranks == world
            and fact.comm_rank is not None
        ):
            clues.rank_of_pid.setdefault((origin.host, origin.pid), fact.comm_rank)
        if isinstance(fact, CommInit) and fact.nnodes is not None:
            clues.nnodes = max(clues.nnodes or 0, fact.nnodes)
        group_rank = getattr(fact, "group_rank", None)
        if origin.local_rank is not None and origin.rank is not None:
            pairs[origin.local_rank == origin.rank] += 1
        elif origin.local_rank is not None and group_rank is not None and _default_group(fact):
            pairs_in_messages[origin.local_rank == group_rank] += 1
        if group_rank is not None and _default_group(fact) and (origin.local_rank, origin.pid) != (None, None):
            printed_by.setdefault(group_rank, set()).add((origin.host, origin.local_rank, origin.pid))
        if origin.host is not None:
            hosts.add(origin.host)
    if len(senders) > 1 and sorted(r for ranks in senders.values() for r in ranks) == list(range(len(senders))):
        for process, ranks in senders.items():
            clues.rank_of_pid.setdefault(process, next(iter(ranks)))
    clues.group_rank_is_global = all(_one_process(names) for names in printed_by.values())
    if not pairs and clues.group_rank_is_global:
        pairs = pairs_in_messages
    clues.local_equals_global = not pairs[False] and (
        pairs[True] > 0
        or clues.nnodes == 1
        or (len(hosts) == 1 and (clues.nnodes or 1) == 1)
        or bool(stated_world and local_worlds and max(stated_world) <= max(local_worlds))
    )
    if clues.nnodes is not None and clues.nnodes > 1:
        clues.local_equals_global = False
    clues.rank_of_local = _ranks_of_local_ranks(events, clues.rank_of_pid)
    return clues


def _one_process(names: set[tuple[str | None, int | None, int | None]]) -> bool:
    """Whether (host, local rank, pid) may all be one process: what is unknown may be anything."""
    return all(len({name[i] for name in names if name[i] is not None}) <= 1 for i in range(3))


def _ranks_of_local_ranks(
    events: Sequence[Event], rank_of_pid: Mapping[tuple[str | None, int], int]
) -> dict[tuple[str | None, int], int]:
    """(host, local rank) -> global rank, from launchers' tables and from lines that carry a local rank and a known pid;
    left out where they disagree."""
    told: dict[tuple[str | None, int], set[int]] = {}
    for event in events:
        fact, origin = event.fact, event.origin
        if isinstance(fact, ProcessExit | ProcessMap) and fact.rank is not None and fact.local_rank is not None:
            told.setdefault((fact.host or origin.host, fact.local_rank), set()).add(fact.rank)
        if origin.local_rank is not None:
            of_pid = rank_of_pid.get((origin.host, origin.pid)) if origin.pid is not None else None
            rank = origin.rank if origin.rank is not None else of_pid
            if rank is not None:
                told.setdefault((origin.host, origin.local_rank), set()).add(rank)
    return {place: next(iter(ranks)) for place, ranks in told.items() if len(ranks) == 1}


def _world_of_communicators(events: Sequence[Event]) -> int | None:
    return max((f.nranks for e in events if isinstance(f := e.fact, CommInit) and f.nranks), default=None)


def _default_group(fact: object) -> bool:
    return getattr(fact, "pg_guid", None) in _DEFAULT_GROUPS and getattr(fact, "pg_desc", None) in (None, "default_pg")


def _rank(event: Event, clues: _Clues, ranked_prefixes: bool) -> tuple[int | None, str | None]:
    """The global rank of the printing process, and a phrase that says how it is known."""
    fact, origin = event.fact, event.origin
    if origin.rank is not None:
        how = {"option": "--rank", "prefix": "the line's prefix", "path": "the file's name"}
        return origin.rank, how.get(origin.how("rank") or "", "the text")
    if origin.pid is not None:
        for host in (origin.host, None):
            if (host, origin.pid) in clues.rank_of_pid:
                return clues.rank_of_pid[host, origin.pid], f"pid {origin.pid}"
        by_pid = {rank for (_, pid), rank in clues.rank_of_pid.items() if pid == origin.pid}
        if len(by_pid) == 1:
            return by_pid.pop(), f"pid {origin.pid}"
    if origin.task is not None and origin.how("task") in ("prefix", "path", "option"):
        return origin.task, f"task {origin.task} of the launcher"
    if origin.local_rank is not None and clues.local_equals_global:
        return origin.local_rank, "local rank, on the only node seen"
    if origin.local_rank is not None and (origin.host, origin.local_rank) in clues.rank_of_local:
        return clues.rank_of_local[origin.host, origin.local_rank], "its local rank and host"
    by_name = _WORKER.fullmatch(origin.actor) if origin.actor else None
    if by_name is not None:
        return int(by_name[1]), f"the worker's name, {origin.actor}"
    group_rank = getattr(fact, "group_rank", None)
    if group_rank is not None and _default_group(fact) and not ranked_prefixes and clues.group_rank_is_global:
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
    key: str, events: tuple[Event, ...], origin: Origin, known_by: str | None, own: set[int]
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
        sources=tuple(sorted({event.locator.source for event in events})),
        events=events,
    )
