"""What ties pids, local ranks and files to global ranks: learnt from all lines, used for those that tell no rank."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from logsleuth.model.events import CommInit, Event, InitStage, NcclWarn, ProcessExit, ProcessMap, Transport

#: Groups whose ranks are global ranks where nothing better is known.
_DEFAULT_GROUPS = (None, "0")
#: Of a series of files, the number: ``logs/worker-3.log``.
_NUMBERED = re.compile(r"(?P<before>.*(?<!\d))(?P<number>\d{1,6})(?P<after>\D*)")
#: So many files of a series must hold the rank of their number before the others' numbers are ranks.
FEWEST_OF_SERIES = 2

#: A process as its host and pid, or as its host and local rank.
Place: TypeAlias = tuple[str | None, int]


@dataclass(frozen=True)
class Clues:
    """``rank_of_pid`` by host and pid, ``rank_of_local`` by host and local rank, ``rank_of_source`` by the source's
    id. ``local_equals_global``: there is one node. ``group_rank_is_global``: the rank that old torch prints without
    its group may be the global one, as no two processes print the same."""

    rank_of_pid: Mapping[Place, int] = field(default_factory=dict)
    rank_of_local: Mapping[Place, int] = field(default_factory=dict)
    rank_of_source: Mapping[str, int] = field(default_factory=dict)
    local_equals_global: bool = False
    group_rank_is_global: bool = True

    def of_pid(self, host: str | None, pid: int) -> int | None:
        """The rank of a pid: on its host, on a host that is not told, or on the only host that has this pid."""
        for place in ((host, pid), (None, pid)):
            if place in self.rank_of_pid:
                return self.rank_of_pid[place]
        return self._rank_of_lone_pid.get(pid)

    def of_local_rank(self, host: str | None, local_rank: int) -> int | None:
        """The rank of a local rank: the same on the only node, else what is known of it or of its host."""
        if self.local_equals_global:
            return local_rank
        if (host, local_rank) in self.rank_of_local:
            return self.rank_of_local[host, local_rank]
        first = self._first_rank_of_host.get(host)
        return first + local_rank if first is not None else None

    @cached_property
    def _rank_of_lone_pid(self) -> dict[int, int]:
        """Of pids that are one rank's, whatever their host."""
        ranks: dict[int, set[int]] = {}
        for (_, pid), rank in self.rank_of_pid.items():
            ranks.setdefault(pid, set()).add(rank)
        return {pid: min(of_pid) for pid, of_pid in ranks.items() if len(of_pid) == 1}

    @cached_property
    def _first_rank_of_host(self) -> dict[str | None, int]:
        """Where two or more known local ranks say that a host's ranks follow each other."""
        firsts: dict[str | None, list[int]] = {}
        for (host, local_rank), rank in self.rank_of_local.items():
            firsts.setdefault(host, []).append(rank - local_rank)
        return {host: told[0] for host, told in firsts.items() if len(told) > 1 and len(set(told)) == 1}


def find_clues(events: Sequence[Event], sources: Iterable[str]) -> Clues:
    """The clues in ``events`` of all attempts. ``sources``: the ids of all sources, also of those without events."""
    of_pid = _ranks_of_pids(events)
    global_in_messages = _group_rank_is_global(events)
    return Clues(
        of_pid,
        _ranks_of_local_ranks(events, of_pid),
        _ranks_of_sources(events, sources),
        _local_equals_global(events, global_in_messages),
        global_in_messages,
    )


def in_default_group(fact: object) -> bool:
    """Whether a fact's ``group_rank`` is told for the default group, or for none."""
    return getattr(fact, "pg_guid", None) in _DEFAULT_GROUPS and getattr(fact, "pg_desc", None) in (None, "default_pg")


def _ranks_of_pids(events: Sequence[Event]) -> dict[Place, int]:
    """From process maps and launchers' tables; else from prefixes with both, or NCCL's own lines."""
    world = max((f.nranks for e in events if isinstance(f := e.fact, CommInit) and f.nranks), default=None)
    told: dict[Place, int] = {}
    hints: dict[Place, set[int]] = {}
    senders: dict[Place, set[int]] = {}
    for event in events:
        fact, origin = event.fact, event.origin
        here = (origin.host, origin.pid) if origin.pid is not None else None
        if isinstance(fact, ProcessMap | ProcessExit) and fact.rank is not None and fact.pid is not None:
            told[fact.host, fact.pid] = fact.rank
        if here is None:
            continue
        if isinstance(fact, ProcessMap) and fact.rank is not None:
            told[here] = fact.rank
        elif origin.rank is not None and origin.role is None:
            hints.setdefault(here, set()).add(origin.rank)
        elif isinstance(fact, NcclWarn) and fact.what == "proxy" and fact.rank is not None:
            hints.setdefault(here, set()).add(fact.rank)
        elif isinstance(fact, CommInit) and fact.nranks == world and fact.comm_rank is not None:
            hints.setdefault(here, set()).add(fact.comm_rank)
        elif isinstance(fact, Transport) and fact.from_rank is not None and not (fact.via or "").startswith("NET"):
            senders.setdefault(here, set()).add(fact.from_rank)
    if len(senders) > 1 and sorted(r for ranks in senders.values() for r in ranks) == list(range(len(senders))):
        hints = senders | hints
    return {place: min(ranks) for place, ranks in hints.items() if len(ranks) == 1} | told


def _ranks_of_local_ranks(events: Sequence[Event], rank_of_pid: Mapping[Place, int]) -> dict[Place, int]:
    """From launchers' tables, and from lines that carry a local rank and a known pid; not where they disagree."""
    told: dict[Place, set[int]] = {}
    for event in events:
        fact, origin = event.fact, event.origin
        if isinstance(fact, ProcessExit | ProcessMap) and fact.rank is not None and fact.local_rank is not None:
            told.setdefault((fact.host or origin.host, fact.local_rank), set()).add(fact.rank)
        if origin.local_rank is not None:
            of_pid = rank_of_pid.get((origin.host, origin.pid)) if origin.pid is not None else None
            rank = origin.rank if origin.rank is not None else of_pid
            if rank is not None:
                told.setdefault((origin.host, origin.local_rank), set()).add(rank)
    return {place: min(ranks) for place, ranks in told.items() if len(ranks) == 1}


def _ranks_of_sources(events: Iterable[Event], sources: Iterable[str]) -> dict[str, int]:
    """``worker-2.log`` is rank 2's if ``worker-0.log`` and ``worker-1.log`` hold lines of rank 0 and 1 alone."""
    heard: dict[str, set[int]] = {}
    for event in events:
        if event.origin.rank is not None:
            heard.setdefault(event.locator.source, set()).add(event.origin.rank)
    series: dict[tuple[str, str], dict[str, int]] = {}
    for source in sources:
        if match := _NUMBERED.fullmatch(source):
            series.setdefault((match["before"], match["after"]), {})[source] = int(match["number"])
    found: dict[str, int] = {}
    for numbers in series.values():
        agreeing = [source for source, number in numbers.items() if heard.get(source) == {number}]
        if len(agreeing) >= FEWEST_OF_SERIES and all(heard.get(s, {n}) == {n} for s, n in numbers.items()):
            found.update(numbers)
    return found


def _group_rank_is_global(events: Iterable[Event]) -> bool:
    """Whether no two processes print the same rank in messages that do not name their group."""
    printed_by: dict[int, set[tuple[str | int | None, ...]]] = {}
    for event in events:
        fact, origin = event.fact, event.origin
        group_rank = getattr(fact, "group_rank", None)
        if group_rank is not None and in_default_group(fact) and (origin.local_rank, origin.pid) != (None, None):
            printed_by.setdefault(group_rank, set()).add((origin.host, origin.local_rank, origin.pid))
    return all(_may_be_one(names) for names in printed_by.values())


def _may_be_one(names: set[tuple[str | int | None, ...]]) -> bool:
    """Whether (host, local rank, pid) may all be one process: what is unknown may be anything."""
    return all(len({name[i] for name in names if name[i] is not None}) <= 1 for i in range(3))


def _local_equals_global(events: Sequence[Event], global_in_messages: bool) -> bool:
    """Whether local ranks are global ranks: they are printed together as equal, or there is one node."""
    pairs: Counter[bool] = Counter()
    in_messages: Counter[bool] = Counter()
    nodes, local_sizes, world_sizes = [1], [0], [0]
    for event in events:
        fact, origin = event.fact, event.origin
        if isinstance(fact, ProcessMap | ProcessExit) and fact.rank is not None and fact.local_rank is not None:
            pairs[fact.rank == fact.local_rank] += 1
        if origin.local_rank is not None and origin.rank is not None:
            pairs[origin.local_rank == origin.rank] += 1
        elif origin.local_rank is not None and in_default_group(fact):
            group_rank = getattr(fact, "group_rank", None)
            if group_rank is not None:
                in_messages[origin.local_rank == group_rank] += 1
        if isinstance(fact, ProcessMap | CommInit) and fact.nnodes is not None:
            nodes.append(fact.nnodes)
        if isinstance(fact, ProcessMap | InitStage) and fact.world_size is not None:
            world_sizes.append(fact.world_size)
        if isinstance(fact, ProcessMap) and fact.local_world_size is not None:
            local_sizes.append(fact.local_world_size)
    if not pairs and global_in_messages:
        pairs = in_messages
    if pairs[False] or max(nodes) > 1:
        return False
    hosts = {event.origin.host for event in events if event.origin.host is not None}
    fits_one_node = 0 < max(world_sizes) <= max(local_sizes)
    return pairs[True] > 0 or len(nodes) > 1 or len(hosts) == 1 or fits_one_node
