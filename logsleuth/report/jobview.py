"""The job part of the report: attempts, processes, groups, collectives, environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from logsleuth.model.job import JobView
from logsleuth.model.timeline import GroupState, ProcessGroup, ProcessTimeline
from logsleuth.report import schema
from logsleuth.report.schema import MatchState

#: A process's state in each of its groups.
Standings = Sequence[tuple[ProcessGroup, GroupState]]


def build_job(job: JobView, names: Mapping[str, str]) -> schema.Job:
    """Everything that was put together of the job. ``names`` are those of the sources by their id."""
    standings: dict[str, list[tuple[ProcessGroup, GroupState]]] = {}
    for group in job.groups:
        for state in group.states:
            standings.setdefault(state.process, []).append((group, state))
    launches = len({a.launch for a in job.attempts}) or 1
    return schema.Job(
        launches=launches,
        attempts=[schema.Attempt(launch=a.launch, index=a.index, failed=a.failed, focus=a.focus) for a in job.attempts],
        worlds=[schema.World(size=job.world_size, known_by=job.coverage.world_size_known_by)],
        processes=[
            _process(p, standings.get(p.key, ()), names) for p in job.processes if p.rank is not None or p.events
        ],
        process_groups=[
            schema.ProcessGroup(
                name=g.label,
                guid=g.guid,
                desc=g.desc,
                size=g.size,
                ranks=sorted({s.rank for s in g.states if s.rank is not None}),
            )
            for g in job.groups
        ],
        collectives=[c for g in job.groups for c in _collectives(g)],
        environment=_environment(job),
    )


def _process(process: ProcessTimeline, standings: Standings, names: Mapping[str, str]) -> schema.Process:
    end = process.end
    return schema.Process(
        rank=process.rank,
        local_rank=process.local_rank,
        host=process.host,
        pid=process.pid,
        role=process.role,
        actor=process.actor,
        known_by=process.known_by,
        state=_state(process, standings),
        end=_end(process),
        exit_code=end.exit_code,
        signal=end.signal,
        last=process.events[-1].locator.text[:200] if process.events else None,
        groups=[
            schema.GroupStanding(
                group=g.label,
                stuck_seq=s.stuck_seq,
                op=s.stuck_op,
                numel_in=s.numel_in,
                numel_out=s.numel_out,
                last_enqueued=s.last_enqueued,
                last_completed=s.last_completed,
            )
            for g, s in standings
        ],
        sources=[names.get(source, source) for source in process.sources],
    )


def _state(process: ProcessTimeline, standings: Standings) -> str:
    stuck = [s for _, s in standings if s.timed_out]
    if stuck:
        return f"waited in {stuck[0].stuck_op or 'a collective'}"
    kinds = {event.kind for event in process.events}
    for kind, word in (
        ("memory-exhausted", "out of memory"),
        ("native-crash", "crashed"),
        ("exception", "raised"),
        ("cuda-error", "CUDA error"),
        ("watchdog-stuck", "watchdog stuck"),
        ("peer-lost", "lost a peer"),
        ("run-end", "ended well"),
        ("process-exit", "exited"),
        ("progress", "was running"),
    ):
        if kind in kinds:
            return word
    return "seen" if process.events else "silent"


def _end(process: ProcessTimeline) -> str | None:
    end = process.end
    if end.signal:
        return end.signal
    if end.exit_code is not None:
        return f"exit {end.exit_code}"
    return "clean" if end.clean else None


def _collectives(group: ProcessGroup) -> list[schema.Collective]:
    found = []
    stuck: dict[int | None, list[GroupState]] = {}
    for state in group.stuck():
        stuck.setdefault(state.stuck_seq, []).append(state)
    for seq, states in sorted(stuck.items(), key=lambda item: (item[0] is None, item[0] or 0)):
        ops = sorted({s.stuck_op for s in states if s.stuck_op})
        numel = sorted({s.numel_in for s in states if s.numel_in is not None})
        waiting = sorted({s.rank for s in states if s.rank is not None})
        behind = sorted(s.rank for s in group.states if s.rank is not None and seq is not None and s.behind(seq))
        first = states[0]
        found.append(
            schema.Collective(
                group=group.label,
                seq=seq,
                ops=ops,
                numel=numel,
                timeout_ms=first.timeout_ms,
                ran_ms=first.ran_ms,
                ranks_waiting=waiting,
                ranks_absent=behind,
                state=_match(group, ops, numel, waiting, behind),
            )
        )
    return found


def _match(group: ProcessGroup, ops: list[str], numel: list[int], waiting: list[int], behind: list[int]) -> MatchState:
    if behind:
        return "missing-ranks"
    if len(ops) > 1 and not group.ambiguous:
        return "op-mismatch"
    if (
        len(numel) > 1
        and not group.ambiguous
        and ops
        and ops[0] in ("ALLREDUCE", "BROADCAST", "REDUCE", "_ALLGATHER_BASE")
    ):
        return "size-mismatch"
    return "all-joined" if group.size is not None and len(waiting) >= group.size and not group.unnamed else "undecided"


def _environment(job: JobView) -> schema.Environment:
    env = job.environment
    return schema.Environment(
        torch=env.first("torch"),
        nccl=env.first("nccl"),
        driver=env.first("driver"),
        cuda=env.first("cuda"),
        kernel=env.first("kernel"),
        gpus=list(env.values.get("gpu", ())),
        values={name: list(values) for name, values in sorted(env.values.items())},
        settings={name: ", ".join(values) for name, values in sorted(env.settings.items())},
    )
