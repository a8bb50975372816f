"""PyTorch's flight recorder: one dump a rank -> where the rank stands in each of its process groups.

    nccl_trace_rank_3, comm_lib_trace_rank_3     a pickle of plain data
    {"entries":[{"collective_seq_id":4, ...      the same as JSON, from the worker's HTTP server

A work counts as unfinished where its state is not ``completed``. That it is ``retired`` does not help: the watchdog
also retires what timed out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from logsleuth.model.events import EnvFact, Event, Locator, RecordedGroup, Stamp
from logsleuth.model.scan import Digest
from logsleuth.model.source import Source
from logsleuth.scan.readers.dump import Dump, Entry, Group, read_dump
from logsleuth.scan.readers.pickles import is_pickle, plain_value
from logsleuth.scan.readers.whole import UnreadableError, json_value, read_whole

READER = "flight-recorder"
#: A dump of 2,000 works with their stacks takes 1 to 5 MB.
MOST_BYTES = 64 * 1024 * 1024
#: Keys of a dump's top level and of its entries, as a pickle and as JSON spell them.
_PICKLED_KEY = re.compile(rb"(?:X.\0\0\0|\x8c.)(?:pg_config|pg_status|profiling_name|time_created_[nu]s)", re.DOTALL)
_JSON_KEY = re.compile(rb'"(?:pg_status|profiling_name)"\s*:')
_NAMED_LIKE_DUMP = re.compile(r"(?:nccl|comm_lib)_trace_rank_\d+[^/!]*$")
#: Frames of torch and of installed packages are not the user's code; C++ frames name no Python file.
_NOT_OWN = re.compile(
    r"(?:^|[/\\])(?:torch|site-packages|dist-packages|importlib|lib(?:64)?[/\\]python\d[^/\\]*)[/\\]|^<"
)
#: NCCL has been at major version 2 since there are recorders; other libraries write their version into the same field.
_NCCL_RELEASE = re.compile(r"2\.\d+(?:\.\d+)*")

#: torch's operation names (WorkNCCL's OpType) by the recorder's, where they are not the same in capital letters.
_OPERATIONS = {
    "all_reduce": "ALLREDUCE",
    "all_reduce_barrier": "ALLREDUCE",  # NCCL's barrier is an all-reduce of one element
    "all_reduce_sparse": "_ALLREDUCE_SPARSE",
    "sparse_all_reduce": "_ALLREDUCE_SPARSE",
    "all_gather": "ALLGATHER",
    "all_gather_v": "ALLGATHER",
    "all_gather_single": "_ALLGATHER_BASE",
    "_all_gather_base": "_ALLGATHER_BASE",
    "reduce_scatter_v": "REDUCE_SCATTER",
    "reduce_scatter_single": "_REDUCE_SCATTER_BASE",
    "all_to_all": "ALLTOALL_BASE",
    "all_to_all_single": "ALLTOALL_BASE",
    "all_to_all_v_single": "ALLTOALL_BASE",
    "_broadcast_oop": "BROADCAST",
    "_reduce_oop": "REDUCE",
    "allgather_coalesced": "ALLGATHER",
    "reduce_scatter_coalesced": "REDUCE_SCATTER",
    "allreduce_coalesced": "COALESCED",
    "all_gather_into_tensor_coalesced": "COALESCED",
    "reduce_scatter_tensor_coalesced": "COALESCED",
}


def is_recorder(head: bytes, name: str) -> bool:
    """Whether a file that begins with ``head`` is a dump. The name only tells dumps from other pickles."""
    if is_pickle(head):
        return _PICKLED_KEY.search(head) is not None or _NAMED_LIKE_DUMP.search(name) is not None
    return head.lstrip()[:1] in (b"{", b"[") and _JSON_KEY.search(head) is not None


def scan_recorder(source: Source) -> tuple[list[Event], Digest]:
    """One event for each process group with any activity, the oldest unfinished work first.

    Raises UnreadableError for a dump that is damaged, refused or too large, OSError as files do.
    """
    data = read_whole(source, MOST_BYTES)
    dump = read_dump(plain_value(data) if is_pickle(data) else json_value(data))
    if dump is None:
        raise UnreadableError("it is no flight-recorder dump")
    created = sorted(entry.created_s for entry in dump.entries if entry.created_s is not None)
    found = [(group, first_unfinished(group)) for group in dump.groups]
    found.sort(key=lambda item: (item[1] is None, item[1].entry.place if item[1] else 0))
    events = [_group_event(source, group, work, created[-1] if created else None) for group, work in found]
    events += _library_events(source, dump)
    return events, Digest(
        bytes_read=len(data),
        first=_stamp(created[0]) if created else None,
        last=_stamp(created[-1]) if created else None,
        notes=tuple(_notes(source, dump)),
    )


def _notes(source: Source, dump: Dump) -> Iterable[str]:
    if dump.unnamed_groups:
        yield f"{source.name} counts works of process groups without naming them; left out: {dump.unnamed_groups}"


# --- the work that a group waits in ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Work:
    """What a group did or does in one go. ``parts``: the entries of a coalesced batch; ``entry`` has its state."""

    entry: Entry
    parts: tuple[Entry, ...]

    @property
    def p2p(self) -> bool:
        return any(part.p2p for part in self.parts)

    @property
    def sized(self) -> Entry:
        """The entry whose sizes stand for the work; a closing entry has none, and peers' parts differ."""
        return self.entry if self.entry.numel_in is not None or self.p2p else self.parts[0]

    @property
    def operation(self) -> str:
        return _OPERATIONS.get(self.entry.operation.lower(), self.entry.operation.upper())


def first_unfinished(group: Group) -> Work | None:
    """What a group waits in, if anything. A coalesced batch is one work with the state of its closing entry.

    Where completed entries are left out of a dump, the parts of completed batches are still in it. That a group is used
    for batches shows in numbers that entries share, or in an open part with the number of the last completed work.
    """
    batches: dict[tuple[int | None, int | None], list[Entry]] = {}
    for entry in group.entries:
        batches.setdefault(entry.launch, []).append(entry)
    works = [Work(_closing(parts) or parts[0], tuple(parts)) for parts in batches.values()]
    reached = group.counters.last_completed
    batched = any(len(work.parts) > 1 for work in works) or any(
        work.p2p and not work.entry.done and work.entry.seq == reached for work in works
    )
    has_p2p = any(work.p2p for work in works)
    for work in works:
        seq = work.entry.seq
        completed = seq is not None and reached is not None and seq <= reached and (work.p2p or not has_p2p)
        if not work.entry.done and not (batched and completed and not work.entry.closes_batch):
            return work
    return None


def _closing(parts: Sequence[Entry]) -> Entry | None:
    return next((entry for entry in reversed(parts) if entry.closes_batch), None)


def _own_frame(frames: Iterable[object]) -> str | None:
    """``file:line in function`` of the innermost frame of the user's code; the recorder lists the innermost first."""
    for frame in frames:
        if isinstance(frame, dict):
            file, line, function = (frame.get(key) for key in ("filename", "line", "name"))
            if isinstance(file, str) and file.endswith(".py") and not _NOT_OWN.search(file):
                return f"{file}:{line} in {function}"
    return None


# --- events ----------------------------------------------------------------------------------------------------------


def _group_event(source: Source, group: Group, work: Work | None, latest_s: float | None) -> Event:
    last = group.entries[-1] if group.entries else None
    shown = work.entry if work is not None else last
    created_s = shown.created_s if shown is not None else latest_s
    place = f"entry {shown.place if shown.record_id is None else shown.record_id}" if shown is not None else "pg_status"
    return Event(
        fact=RecordedGroup(
            pg_guid=group.name,
            pg_desc=group.desc,
            members=group.members,
            seq=work.entry.seq if work else None,
            op=work.operation if work else None,
            state=work.entry.state if work else None,
            p2p=work.p2p if work else False,
            numel_in=work.sized.numel_in if work else None,
            numel_out=work.sized.numel_out if work else None,
            timeout_ms=work.entry.timeout_ms if work else None,
            where=_own_frame(work.entry.frames) if work else None,
            last_enqueued=group.counters.last_enqueued,
            last_started=group.counters.last_started,
            last_completed=group.counters.last_completed,
        ),
        role="symptom" if work else "context",
        pattern=READER,
        origin=source.origin,
        locator=Locator(source.id, 0, 0, _sentence(group, work), entry=place),
        time=_stamp(created_s) if created_s is not None else None,
    )


def _sentence(group: Group, work: Work | None) -> str:
    """``ALLREDUCE, work 4711 of mesh_dp (3), scheduled; last completed 4710``."""
    label = f"{group.desc} ({group.name})" if group.desc else f"process group {group.name}"
    enqueued, completed = group.counters.last_enqueued, group.counters.last_completed
    if work is None:
        text = f"{label}: no unfinished work is recorded"
        text += f"; last enqueued {enqueued}" if enqueued is not None else ""
    else:
        peers = f" {work.entry.peers}" if work.entry.peers else ""
        number = f"{'point-to-point ' if work.p2p else ''}work {'?' if work.entry.seq is None else work.entry.seq}"
        text = f"{work.operation}{peers}, {number} of {label}, {work.entry.state or 'state unknown'}"
    return text + (f"; last completed {completed}" if completed is not None else "")


def _library_events(source: Source, dump: Dump) -> Iterable[Event]:
    version = dump.library_version or ""
    if _NCCL_RELEASE.fullmatch(version) and all(entry.backend in ("nccl", "") for entry in dump.entries):
        locator = Locator(source.id, 0, 0, f"NCCL {version}", entry="version")
        yield Event(EnvFact("nccl", version), "context", READER, source.origin, locator)


def _stamp(seconds: float) -> Stamp:
    printed = datetime.fromtimestamp(seconds, timezone.utc).isoformat(" ", "milliseconds")
    return Stamp(text=printed, seconds=seconds, utc_offset_s=0)
