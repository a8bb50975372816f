"""How many ranks there are, which were seen, and which were not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from logsleuth.model.events import CollectiveTimeout, CommInit, Event, InitStage, ProcessMap, Rendezvous, StoreError
from logsleuth.model.job import Coverage
from logsleuth.model.timeline import ProcessTimeline


def build_coverage(
    events: Sequence[Event], processes: Sequence[ProcessTimeline], world_size: int | None = None
) -> Coverage:
    """``world_size``: the user's word, over everything the text says."""
    size, known_by = (world_size, "--world-size") if world_size is not None else _world_size(events)
    ranks = sorted({p.rank for p in processes if p.rank is not None})
    if size is not None and ranks and ranks[-1] >= size:
        size, known_by = None, None
    seen = tuple(sorted({p.rank for p in processes if p.rank is not None and (p.events or not p.own_source)}))
    silent = tuple(rank for rank in ranks if rank not in seen)
    missing = tuple(rank for rank in range(size) if rank not in ranks) if size is not None and size <= 100_000 else ()
    return Coverage(
        ranks_seen=seen,
        ranks_silent=silent,
        ranks_without_log=missing,
        world_size=size,
        world_size_known_by=known_by,
        complete=size is not None and not missing,
    )


def _world_size(events: Iterable[Event]) -> tuple[int | None, str | None]:
    """The world size and how it is known: said outright, else the largest communicator, else an all-gather's sizes."""
    said: list[int] = []
    comms: list[int] = []
    gathered: list[int] = []
    for event in events:
        fact = event.fact
        if isinstance(fact, ProcessMap | InitStage) and fact.world_size:
            said.append(fact.world_size)
        elif isinstance(fact, Rendezvous | StoreError) and fact.expected and event.origin.role != "agent":
            said.append(fact.expected)
        elif isinstance(fact, CommInit) and fact.nranks:
            comms.append(fact.nranks)
        elif isinstance(fact, CollectiveTimeout) and fact.op in ("ALLGATHER", "_ALLGATHER_BASE"):
            in_default = fact.pg_guid in (None, "0") and fact.seq is not None and fact.seq <= 1
            if fact.numel_in and fact.numel_out and in_default and fact.numel_out % fact.numel_in == 0:
                gathered.append(fact.numel_out // fact.numel_in)
    for sizes, how in (
        (said, "stated in the text"),
        (comms, "the largest NCCL communicator"),
        (gathered, "an all-gather's sizes"),
    ):
        if sizes:
            return max(sizes), how
    return None, None
