"""A flight recorder's dump in one shape, whatever format version wrote it (1.x, 2.x, a bare list; pickle or JSON).

What PyTorch's sources say and the field names do not: ``pg_status`` and entries name a group by ``pg_id``, the n-th
group of that process, and ``pg_config`` by its name; a coalesced batch is recorded as its parts, which stay
``scheduled`` for ever, and a closing entry with the state of the whole, all with the same sequence numbers; a
work of gloo is never seen to complete, but is retired when it has.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Numbers beyond are no sequence numbers; -1 means none.
_LARGEST = 2**62
_RANKS = re.compile(r"\d{1,9}")
_MOST_MEMBERS = 1_000_000
#: Names that say nothing: torch's default description, and gloo's.
_NO_DESC = ("", "undefined")
DEFAULT_GROUP = "0"


@dataclass(frozen=True, slots=True)
class Entry:
    """One record. ``peers`` as torch prints them (``0->3``, group ranks); ``created_s`` in seconds since 1970."""

    place: int
    record_id: int | None
    group: str | None
    group_desc: str | None
    pg_id: int | None
    backend: str
    operation: str
    peers: str | None
    collective_seq: int | None
    p2p_seq: int | None
    p2p: bool
    state: str | None
    done: bool
    numel_in: int | None
    numel_out: int | None
    timeout_ms: int | None
    created_s: float | None
    frames: Sequence[Any] = field(repr=False)

    @property
    def seq(self) -> int | None:
        """The number that counts works of this kind in the group."""
        return self.p2p_seq if self.p2p and self.p2p_seq is not None else self.collective_seq

    @property
    def launch(self) -> tuple[int | None, int | None]:
        """Equal for the parts of one coalesced batch and its closing entry."""
        unnumbered = self.collective_seq is None and self.p2p_seq is None
        return (None, -1 - self.place) if unnumbered else (self.collective_seq, self.p2p_seq)

    @property
    def closes_batch(self) -> bool:
        """``coalesced``, ``ALLGATHER_coalesced``: the state of the parts before it."""
        return self.operation.endswith("coalesced")


@dataclass(frozen=True, slots=True)
class Counters:
    """Sequence numbers of the last works; in a group with sends and receives those of both kinds mixed."""

    last_enqueued: int | None = None
    last_started: int | None = None
    last_completed: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """One process group of the dumping rank, with its entries, oldest first."""

    name: str
    desc: str | None
    members: tuple[int, ...]
    counters: Counters
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Dump:
    """``unnamed_groups``: how many have activity but cannot be told apart from other ranks' groups."""

    library_version: str | None
    groups: tuple[Group, ...]
    entries: tuple[Entry, ...]
    unnamed_groups: int


def read_dump(value: object) -> Dump | None:
    """The dump in ``value``, as unpickled or parsed; ``None`` where it is something else."""
    top: Mapping[Any, Any] = {"entries": value} if isinstance(value, list) else _mapping(value)
    if not top.keys() & {"entries", "pg_config", "pg_status"}:
        return None
    records = top.get("entries")
    records = records if isinstance(records, list) else []
    entries = tuple(_entry(place, record) for place, record in enumerate(records) if isinstance(record, dict))
    if records and not entries:
        return None
    config = _config(_mapping(top.get("pg_config")))
    status = _status(_mapping(top.get("pg_status")))
    names = _names_of_ids(entries, config, status)
    ids_with_activity = set(status) | {entry.pg_id for entry in entries if entry.pg_id is not None}
    by_name: dict[str, list[Entry]] = {}
    for entry in entries:
        name = names.get(entry.pg_id) if entry.group is None and entry.pg_id is not None else entry.group
        if name is not None:
            by_name.setdefault(name, []).append(entry)
    counters = {names[pg_id]: found for pg_id, found in status.items() if pg_id in names}
    return Dump(
        library_version=_text(top.get("comm_lib_version")) or _text(top.get("nccl_version")),
        groups=tuple(
            _group(name, by_name.get(name, []), config.get(name), counters.get(name))
            for name in sorted({*by_name, *counters}, key=_natural)
        ),
        entries=entries,
        unnamed_groups=len(ids_with_activity - set(names)),
    )


# --- groups ----------------------------------------------------------------------------------------------------------


def _config(config: Mapping[Any, Any]) -> dict[str, tuple[str | None, tuple[int, ...]]]:
    """Name -> description and global ranks. Format 1.x has ids for names and a list for the rest."""
    found: dict[str, tuple[str | None, tuple[int, ...]]] = {}
    for name, info in config.items():
        if isinstance(info, dict) and name != "":
            found[str(name)] = (_text(info.get("desc")), _members(info.get("ranks")))
        elif name == 0:
            found[DEFAULT_GROUP] = (None, _members(info))
    return found


def _members(ranks: object) -> tuple[int, ...]:
    """``"[0, 1, 2]"``, or the list itself."""
    if isinstance(ranks, str):
        ranks = [int(number) for number in _RANKS.findall(ranks)]
    if not isinstance(ranks, list) or len(ranks) > _MOST_MEMBERS:
        return ()
    return tuple(sorted({rank for item in ranks if (rank := _number(item)) is not None}))


def _status(status: Mapping[Any, Any]) -> dict[int, Counters]:
    """``pg_id`` -> counters, of those groups that have any."""
    found: dict[int, Counters] = {}
    for pg_id, numbers in status.items():
        values = _mapping(numbers)
        read = Counters(
            *(_number(values.get(f"last_{word}_collective")) for word in ("enqueued", "started", "completed"))
        )
        number = _number(pg_id)
        if number is not None and read != Counters():
            found[number] = read
    return found


def _names_of_ids(entries: Iterable[Entry], config: Collection[str], status: Collection[int]) -> dict[int, str]:
    """``pg_id`` -> name: as entries tie them together, and for groups without entries by the order of creation.

    Both the ids of a process and numeric names grow with every group, so between two groups that are tied as many ids
    as names belong to each other in that order; where the numbers of both differ, nothing is said.
    """
    tied = {entry.pg_id: entry.group for entry in entries if entry.pg_id is not None and entry.group is not None}
    if 0 not in tied and DEFAULT_GROUP not in tied.values() and (not config or DEFAULT_GROUP in config):
        tied[0] = DEFAULT_GROUP  # the first group that a process makes
    names = {*config} - {*tied.values()}
    ids = {*status} - {*tied}
    if len(ids) == len(names) == 1:
        return {**tied, ids.pop(): names.pop()}
    order = {name: number for name in (*names, *tied.values()) if (number := _number(name)) is not None}
    ties = sorted((pg_id, order.get(name, -1)) for pg_id, name in tied.items())
    in_order = all(left[1] < right[1] for left, right in itertools.pairwise(ties))
    if len(order) < len(names) + len(tied) or not in_order:
        return tied
    for low, high in zip([(-1, -1), *ties], [*ties, (_LARGEST, _LARGEST)], strict=True):
        ids_between = sorted(pg_id for pg_id in ids if low[0] < pg_id < high[0])
        names_between = sorted((name for name in names if low[1] < order[name] < high[1]), key=order.__getitem__)
        if len(ids_between) == len(names_between):
            tied.update(zip(ids_between, names_between, strict=True))
    return tied


def _group(
    name: str, entries: Sequence[Entry], config: tuple[str | None, tuple[int, ...]] | None, counters: Counters | None
) -> Group:
    desc = next((entry.group_desc for entry in entries if entry.group_desc), config[0] if config else None)
    return Group(
        name=name,
        desc=None if desc in _NO_DESC else desc,
        members=config[1] if config else (),
        counters=counters or _counted(entries),
        entries=tuple(entries),
    )


def _counted(entries: Sequence[Entry]) -> Counters:
    """The counters as far as the entries tell, for formats that have none."""
    works = [entry for entry in entries if not entry.p2p] or list(entries)
    enqueued = [entry.seq for entry in works if entry.seq is not None]
    completed = [entry.seq for entry in works if entry.seq is not None and entry.done]
    return Counters(last_enqueued=max(enqueued, default=None), last_completed=max(completed, default=None))


# --- entries ---------------------------------------------------------------------------------------------------------


def _entry(place: int, record: Mapping[Any, Any]) -> Entry:
    backend, _, title = (_text(record.get("profiling_name")) or "").rpartition(":")
    operation, _, peers = title.partition(" ")
    group = record.get("process_group", record.get("pg_name"))
    name, desc = (*group, None, None)[:2] if isinstance(group, (list, tuple)) else (group, None)
    state = _text(record.get("state"))
    p2p = record.get("is_p2p")
    created_ns = _number(record.get("time_created_ns")) or (_number(record.get("time_created_us")) or 0) * 1000
    return Entry(
        place=place,
        record_id=_number(record.get("record_id")),
        group=_text(name),
        group_desc=_text(desc),
        pg_id=_number(record.get("pg_id")),
        backend=backend,
        operation=operation,
        peers=peers or None,
        collective_seq=_number(record.get("collective_seq_id", record.get("seq_id"))),
        p2p_seq=_number(record.get("p2p_seq_id")),
        p2p=p2p if isinstance(p2p, bool) else operation in ("send", "recv"),
        state=state,
        done=state == "completed" or (backend == "gloo" and record.get("retired") is True),
        numel_in=_numel(record.get("input_sizes")),
        numel_out=_numel(record.get("output_sizes")),
        timeout_ms=_number(record.get("timeout_ms")),
        created_s=created_ns / 1e9 if 0 < created_ns < _LARGEST else None,
        frames=frames if isinstance(frames := record.get("frames"), list) else (),
    )


def _numel(sizes: object) -> int | None:
    """Elements of the first tensor: ``[[4096, 1, 5120]]``; a scalar's shape is empty."""
    shape = sizes[0] if isinstance(sizes, list) and sizes else None
    if not isinstance(shape, list) or len(shape) > 64:
        return None
    dimensions = [_number(size) for size in shape]
    known = [size for size in dimensions if size is not None]
    return math.prod(known) if len(known) == len(dimensions) and math.prod(known) < _LARGEST else None


def _mapping(value: object) -> Mapping[Any, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _number(value: object) -> int | None:
    """A number, also as text, as the JSON form has it; -1 means none."""
    if isinstance(value, str) and len(value) < 20 and value.isdecimal():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST else None


def _natural(name: str) -> tuple[bool, int, str]:
    return (False, int(name), name) if name.isdecimal() and len(name) < 20 else (True, 0, name)
