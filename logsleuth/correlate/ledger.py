"""The ledger: per process group, where each process stands. Joined over ranks on the group's GUID, never on its id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from logsleuth.model.events import CollectiveTimeout, DumpSignal, Event, RecordedGroup, WatchdogStuck, WorkStatus
from logsleuth.model.job import clock
from logsleuth.model.timeline import GroupState, ProcessGroup, ProcessTimeline

UNNAMED = "unnamed"
#: From here on, equal numbers of two ranks are no coincidence.
SMALLEST_TELLING_SEQ = 20
#: Numbers that torch 2.3 prints for "nothing completed yet": an uninitialised integer.
_IMPOSSIBLE_LEAD = 1


@dataclass(slots=True)
class _Draft:
    """A group while it is put together."""

    guid: str | None = None
    desc: str | None = None
    members: set[int] = field(default_factory=set)
    states: dict[str, GroupState] = field(default_factory=dict)


def build_groups(processes: Sequence[ProcessTimeline], world_size: int | None) -> tuple[ProcessGroup, ...]:
    """All groups that the processes' lines speak of, ordered by name."""
    drafts: dict[str, _Draft] = {}
    for process in processes:
        for key, state, guid, desc in _states(process):
            draft = drafts.setdefault(key, _Draft())
            draft.guid = draft.guid if draft.guid is not None else guid
            draft.desc = draft.desc or desc
            draft.members |= _members(state)
            draft.states[process.key] = _merge(draft.states.get(process.key), state)
    _adopt_unnamed(drafts)
    groups = [_group(key, draft, world_size) for key, draft in sorted(drafts.items()) if draft.states]
    return tuple(groups)


def _adopt_unnamed(drafts: dict[str, _Draft]) -> None:
    """Timeouts whose group was not printed join the one group in which others are stuck at the same number.

    A small number may be equal by chance, so there the operation must be equal as well.
    """
    unnamed = drafts.get(UNNAMED)
    if unnamed is None:
        return
    for name, state in list(unnamed.states.items()):
        hosts = [
            draft
            for key, draft in drafts.items()
            if key != UNNAMED
            and name not in draft.states
            and any(_same_work(state, other) for other in draft.states.values())
        ]
        if len(hosts) == 1 and not any(name in draft.states for key, draft in drafts.items() if key != UNNAMED):
            hosts[0].states[name] = unnamed.states.pop(name)


def _same_work(state: GroupState, other: GroupState) -> bool:
    if state.stuck_seq is None or state.stuck_seq != other.stuck_seq:
        return False
    return state.stuck_seq >= SMALLEST_TELLING_SEQ or state.stuck_op == other.stuck_op


def _states(process: ProcessTimeline) -> Iterable[tuple[str, GroupState, str | None, str | None]]:
    """(group key, state, guid, desc) of one process; timeouts without a group are joined to the status of the same
    work."""
    statuses = [(e, f) for e in process.events if isinstance(f := e.fact, WorkStatus)]
    for event, status in statuses:
        yield _key(status.pg_guid, status.pg_id), _from_status(process, event, status), status.pg_guid, status.pg_desc
    group_of_work = {f.seq: f for _, f in statuses if f.seq is not None and (f.pg_guid or f.pg_id)}
    for event in process.events:
        fact = event.fact
        if isinstance(fact, CollectiveTimeout):
            named: CollectiveTimeout | WorkStatus = fact
            if fact.pg_guid is None and fact.pg_id is None:
                named = group_of_work.get(fact.seq, fact) if fact.seq is not None else fact
            state = _from_timeout(process, event, fact)
            yield _key(named.pg_guid, named.pg_id), state, named.pg_guid, named.pg_desc
        elif isinstance(fact, DumpSignal) and (fact.last_enqueued is not None or fact.last_completed is not None):
            yield _key(fact.pg_guid, fact.pg_id), _from_signal(process, event, fact), fact.pg_guid, fact.pg_desc
        elif isinstance(fact, RecordedGroup):
            yield _key(fact.pg_guid, None), _from_dump(process, event, fact), fact.pg_guid, fact.pg_desc
        elif isinstance(fact, WatchdogStuck) and fact.pg_guid is not None:
            state = GroupState(process.key, process.rank, fact.group_rank)
            yield _key(fact.pg_guid, fact.pg_id), state, fact.pg_guid, fact.pg_desc


def _key(guid: str | None, pg_id: str | None) -> str:
    return guid if guid is not None else (f"id {pg_id}" if pg_id is not None else UNNAMED)


def _from_status(process: ProcessTimeline, event: Event, fact: WorkStatus) -> GroupState:
    completed = fact.last_completed
    if completed is not None and fact.last_enqueued is not None and completed > fact.last_enqueued + _IMPOSSIBLE_LEAD:
        completed = None
    return GroupState(
        process.key,
        process.rank,
        fact.group_rank,
        stuck_seq=fact.seq,
        last_enqueued=fact.last_enqueued,
        last_started=fact.last_started,
        last_completed=completed,
        status=event,
    )


def _from_timeout(process: ProcessTimeline, event: Event, fact: CollectiveTimeout) -> GroupState:
    at = clock(event)
    began = at - fact.ran_ms / 1000 if at is not None and fact.ran_ms is not None else None
    return GroupState(
        process.key,
        process.rank,
        fact.group_rank,
        stuck_seq=fact.seq,
        stuck_op=fact.op,
        numel_in=fact.numel_in,
        numel_out=fact.numel_out,
        timeout_ms=fact.timeout_ms,
        ran_ms=fact.ran_ms,
        timeout=event,
        began_s=began,
    )


def _from_signal(process: ProcessTimeline, event: Event, fact: DumpSignal) -> GroupState:
    """Dump signals speak of the default group, whichever group timed out."""
    return GroupState(
        process.key,
        process.rank,
        fact.group_rank,
        last_enqueued=fact.last_enqueued,
        last_completed=fact.last_completed,
        status=event,
    )


def _from_dump(process: ProcessTimeline, event: Event, fact: RecordedGroup) -> GroupState:
    return GroupState(
        process.key,
        process.rank,
        stuck_seq=fact.seq,
        stuck_op=fact.op,
        numel_in=fact.numel_in,
        numel_out=fact.numel_out,
        timeout_ms=fact.timeout_ms,
        last_enqueued=fact.last_enqueued,
        last_started=fact.last_started,
        last_completed=fact.last_completed,
        status=event,
    )


def _members(state: GroupState) -> set[int]:
    fact = state.status.fact if state.status is not None else None
    return set(fact.members) if isinstance(fact, RecordedGroup) else set()


def _merge(old: GroupState | None, new: GroupState) -> GroupState:
    """Two readings of one process in one group: the first work that timed out wins; counters fill the gaps."""
    if old is None:
        return new
    if old.timeout is None and new.timeout is not None and new.stuck_seq == old.stuck_seq:
        old, new = new, old
    values: Mapping[str, object] = {
        name: getattr(new, name)
        for name in GroupState.__dataclass_fields__
        if getattr(old, name) is None and getattr(new, name) is not None and _may_fill(name, old, new)
    }
    return replace(old, **values)  # type: ignore[arg-type]


def _may_fill(name: str, old: GroupState, new: GroupState) -> bool:
    """A later work's op and sizes must not be mixed into an earlier one."""
    if name in ("stuck_op", "numel_in", "numel_out", "timeout", "timeout_ms", "ran_ms", "began_s"):
        return old.stuck_seq is None or new.stuck_seq == old.stuck_seq
    return True


def _group(key: str, draft: _Draft, world_size: int | None) -> ProcessGroup:
    """The finished group. A line whose rank is not known only repeats what the rank with its group rank said."""
    named = {s.group_rank for s in draft.states.values() if s.rank is not None}
    states = tuple(
        state
        for _, state in sorted(draft.states.items())
        if state.rank is not None or state.group_rank is None or state.group_rank not in named
    )
    by_group_rank: dict[int, set[str]] = {}
    for state in states:
        if state.group_rank is not None:
            by_group_rank.setdefault(state.group_rank, set()).add(state.process)
    group = ProcessGroup(
        key=key,
        guid=draft.guid,
        desc=draft.desc,
        states=states,
        members=tuple(sorted(draft.members)),
        unnamed=key == UNNAMED,
        ambiguous=any(len(names) > 1 for names in by_group_rank.values()),
    )
    return replace(group, size=_size(group, world_size))


def _size(group: ProcessGroup, world_size: int | None) -> int | None:
    """The group's size: the world's for the default group, else what an all-gather's element counts tell."""
    if group.members:
        return len(group.members)
    if group.is_world and world_size is not None and not group.unnamed:
        return world_size
    for state in group.states:
        if state.stuck_op in ("ALLGATHER", "_ALLGATHER_BASE") and state.numel_in and state.numel_out:
            size, rest = divmod(state.numel_out, state.numel_in)
            if rest == 0 and size > 1:
                return size
    return None
