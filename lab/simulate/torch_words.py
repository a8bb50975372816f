"""What ProcessGroupNCCL prints on a rank, in the wording of each torch version."""

from __future__ import annotations

from collections.abc import Iterator

from lab.simulate.engine import Work
from lab.simulate.happening import Happening
from lab.simulate.lines import Line, Tell
from lab.simulate.mesh import Group
from lab.simulate.nccl_words import closed_by_peer, retries_exhausted
from lab.simulate.scene import Scene
from lab.simulate.versions import MAIN, Naming, Stamp, Status

NOT_RUN = (
    "This is most likely caused by incorrect usages of collectives, e.g., wrong sizes used across ranks, the order of "
    "collectives is not same for all ranks or the scheduled collective, for some reason, didn't run. "
    "Additionally, this "
    "can be caused by GIL deadlock or other reasons such as network errors or bugs in the communications library (e.g. "
    "NCCL), etc. "
)
CORRUPTED = (
    "Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent GPU "
    "operations might run on corrupted/incomplete data."
)
HUNG = (
    "without making progress in monitoring enqueued collectives. This typically indicates a NCCL/CUDA API "
    "{example}hang "
    "blocking the watchdog, and could be triggered by another thread holding the GIL inside a CUDA api{again}, "
    "or other "
    "deadlock-prone behaviors.If you suspect the watchdog is not actually stuck and a longer timeout would help, "
    "you can "
    "either increase the timeout (TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC) to a larger value or disable the heartbeat monitor "
    "(TORCH_NCCL_ENABLE_MONITORING=0).If either of aforementioned helps, feel free to file an issue to PyTorch "
    "about the "
    "short timeout or false positive abort; otherwise, please attempt to debug the hang. "
)


def lines_of(scene: Scene, it: Happening) -> Iterator[Line]:
    """The lines of what happens to a rank; nothing for what it does not print itself."""
    if it.rank is None:
        return
    if it.kind == "timeout" and it.work is not None:
        yield from _timeout(scene, it, it.work)
    elif it.kind == "async-error" and it.work is not None:
        yield from _async_error(scene, it, it.work)
    elif it.kind in ("dump-local", "dump-remote"):
        yield from _dump(scene, it)
    elif it.kind == "teardown" and it.work is not None:
        yield from _teardown(scene, it, it.work)
    elif it.kind == "watchdog-stuck":
        yield from _stuck(scene, it)
    elif it.kind == "monitor-kill":
        yield from _monitor_kill(scene, it)
    elif it.kind == "store-lost":
        yield from _store_lost(scene, it)


def cpp(
    scene: Scene, rank: int, at_s: float, severity: str, place: str, text: str, tells: tuple[Tell, ...] = ()
) -> Line:
    """A line of C++ code with the version's prefix. ``place`` is a purpose in Torch.lines, or ``file.cpp:line``."""
    if ":" not in place:
        place = f"ProcessGroupNCCL.cpp:{scene.torch.lines.get(place, 1200)}"
    host = scene.mesh.host_of(rank)
    now = scene.clock.on(host, at_s)
    if scene.torch.stamp is Stamp.BARE:
        start = f"[{severity} {place}] "
    elif scene.torch.stamp is Stamp.RANK:
        start = f"[rank{rank}]:[{severity} {place}] "
    else:
        fraction = int((at_s * 1e9 + scene.pids[rank] * 7919) % 1e9)
        start = f"[rank{rank}]:[{severity}{now.month}{now:%d %H:%M:%S}.{fraction:09d} {place}] "
    return Line(at_s, start + text, rank=rank, host=host, tells=tells, tagged=scene.torch.stamp is not Stamp.BARE)


def plain(scene: Scene, rank: int, at_s: float, text: str, tells: tuple[Tell, ...] = ()) -> Line:
    """A line of a worker without any prefix, as the C++ runtime prints it."""
    return Line(at_s, text, rank=rank, host=scene.mesh.host_of(rank), tells=tells)


def group_prefix(scene: Scene, rank: int, group: Group) -> str:
    """``[PG ID 1 PG GUID 3(mesh_tp) Rank 0] `` in the version's form, or ``[Rank 0] ``."""
    inner = group.rank_of(rank)
    naming = scene.torch.naming
    desc = group.desc if naming is not Naming.PG else None
    if naming is Naming.NONE:
        return f"[Rank {inner}] "
    if naming is Naming.ID:
        described = f"({desc})" if desc else ""
        return f"[PG ID {scene.mesh.pg_id(rank, group)} PG GUID {group.guid}{described} Rank {inner}] "
    return f"[PG {group.guid} ({desc}) Rank {inner}] " if desc else f"[PG {group.guid} Rank {inner}] "


def describe(scene: Scene, work: Work) -> str:
    """``WorkNCCL(...)``. Point-to-point works of 2.4 print the collective counter; that detail is left out."""
    call, torch = work.call, scene.torch
    parts = [f"SeqNum={work.seq}"] if torch.sequence else []
    parts.append(f"OpType={call.op}")
    if torch.sizes:
        parts += [f"NumelIn={call.numel_in}", f"NumelOut={call.numel_out}"]
    elif scene.job % 3:
        parts.append(f"TensorShape=[{call.numel_out}]")
    parts.append(f"Timeout(ms)={int(scene.timeout_s * 1000)}")
    return f"WorkNCCL({', '.join(parts)})"


def caught_text(scene: Scene, work: Work, ran_ms: int) -> str:
    group = work.call.group
    prefix = f"[Rank {group.rank_of(work.rank)}] "
    if scene.torch.name == MAIN:
        desc = f"({group.desc})" if group.desc else ""
        prefix = f"[PG GUID {group.guid}{desc} Rank {group.rank_of(work.rank)}] "
    return (
        f"{prefix}Watchdog caught collective operation timeout: {describe(scene, work)} ran for {ran_ms} milliseconds "
        "before timing out."
    )


def _told(work: Work) -> Tell:
    call = work.call
    return Tell("wait", work.rank, call.group.number, work.seq, f"{call.op} {call.numel_in} {call.numel_out}")


def _timeout(scene: Scene, it: Happening, work: Work) -> Iterator[Line]:
    rank, at_s = work.rank, it.at_s
    yield cpp(
        scene, rank, at_s, "E", "caught", caught_text(scene, work, int((at_s - work.enqueued_s) * 1000)), (_told(work),)
    )
    yield from _status(scene, work, at_s + 0.0005, timed_out=True)


def _status(scene: Scene, work: Work, at_s: float, timed_out: bool) -> Iterator[Line]:
    """Where the group of ``work`` stands on this rank."""
    torch, rank, group = scene.torch, work.rank, work.call.group
    enqueued, started, completed = scene.ranks[rank].counters(group, at_s)
    none_yet = "-1" if torch.status in (Status.FAILURE, Status.STARTED) else "0"
    shown = str(completed) if completed > 0 else none_yet
    prefix = group_prefix(scene, rank, group)
    tells = (Tell("counters", rank, group.number, enqueued), Tell("wait", rank, group.number, work.seq))
    counters = f"{work.seq}, last enqueued NCCL work: {enqueued}, last completed NCCL work: {shown}."
    if torch.status is Status.EXCEPTION:
        text = f"{prefix}Exception (either an error or timeout) detected by watchdog at work: {counters}"
        yield cpp(scene, rank, at_s, "E", "status", text, tells)
    if torch.status in (Status.EXCEPTION, Status.TIMEOUT) and timed_out:
        yield cpp(scene, rank, at_s + 0.0003, "E", "timeout", f"{prefix}Timeout at NCCL work: {counters}", tells)
    if torch.status in (Status.FAILURE, Status.STARTED):
        begun = ""
        if torch.status is Status.STARTED:
            op = next((w.call.op for w in reversed(scene.ranks[rank].works) if w.seq == started), "")
            begun = f", last started work: {started or -1} ({op})"
        text = (
            f"{prefix} failure detected by watchdog at work sequence id: {work.seq} PG status: last enqueued work: "
            f"{enqueued}{begun}, last completed work: {shown}"
        )
        yield cpp(scene, rank, at_s, "E", "status", text, tells)
        setting = "TORCH_FR_BUFFER_SIZE" if torch.at_least(2, 12) else "TORCH_NCCL_TRACE_BUFFER_SIZE"
        missing = "Stack trace of the failed collective not found, potentially because FlightRecorder is disabled."
        yield cpp(
            scene, rank, at_s + 0.0001, "E", "stack",
            f"{missing} You can enable it by setting {setting} to a non-zero value.",
        )  # fmt: skip
    if torch.dump:
        yield cpp(scene, rank, at_s + 0.0002, "E", "first", f"{prefix}First PG on this rank to signal dumping.")


def _async_error(scene: Scene, it: Happening, work: Work) -> Iterator[Line]:
    rank, at_s, torch = work.rank, it.at_s, scene.torch
    yield from (retries_exhausted if it.text == "ib" else closed_by_peer)(scene, rank, at_s - 0.01, work)
    told = (Tell("remote-error", rank),)
    if torch.naming is Naming.ID:
        text = f"[Rank {work.call.group.rank_of(rank)}] Collective {describe(scene, work)} raised the following async "
        yield cpp(scene, rank, at_s, "E", "async", f"{text}exception: {torch.peer_error}", told)
        yield plain(scene, rank, at_s, "ncclRemoteError: A call failed possibly due to a network error or a remote "
                    "process exiting prematurely.")  # fmt: skip
        yield plain(scene, rank, at_s, "Last error:")
        yield plain(scene, rank, at_s, "")
    yield from _status(scene, work, at_s + 0.001, timed_out=False)


def _dump(scene: Scene, it: Happening) -> Iterator[Line]:
    """The monitor of the default group: its counters are those of the default group, whatever failed."""
    rank = it.rank or 0
    world = scene.mesh.world
    prefix = group_prefix(scene, rank, world)
    enqueued, _, completed = scene.ranks[rank].counters(world, it.at_s)
    tells: tuple[Tell, ...] = (Tell("counters", rank, world.number, enqueued),)
    source = "this local rank"
    if it.number is not None:
        observed = f"{prefix}Observed flight recorder dump signal from another rank via TCPStore."
        yield cpp(scene, rank, it.at_s, "E", "observed", observed, (Tell("signalled", rank),))
        source = f" rank {it.number}"
        tells += (Tell("signalled", rank),)
    yield cpp(
        scene, rank, it.at_s + 0.0002, "E", "received",
        f"{prefix}Received a dump signal due to a collective timeout from {source} and we will try our best to "
        f"dump the "
        f"debug info. Last enqueued NCCL work: {enqueued or -1}, last completed NCCL work: {completed or -1}.{NOT_RUN}",
        tells,
    )  # fmt: skip
    tail = ", only active collectives: 0" if scene.torch.at_least(2, 8) else ""
    text = f"{prefix}ProcessGroupNCCL preparing to dump debug info. Include stack trace: 1{tail}"
    yield cpp(scene, rank, it.at_s + 0.0004, "E", "prepare", text)


def _teardown(scene: Scene, it: Happening, work: Work) -> Iterator[Line]:
    torch, rank, at_s = scene.torch, work.rank, it.at_s
    inner = f"[Rank {work.call.group.rank_of(rank)}] "
    down = "To avoid data inconsistency, we are taking the entire process down."
    shown = inner if torch.at_least(2, 3) else ""
    if torch.in_two_lines:
        yield cpp(scene, rank, at_s, "E", "teardown", shown + CORRUPTED)
        yield cpp(scene, rank, at_s + 0.0002, "E", "down", shown + down)
    else:
        old = "To avoid this inconsistency, we are taking the entire process down."
        yield cpp(scene, rank, at_s, "E", "teardown", f"{CORRUPTED} {old}")
    timed_out = it.text == "timeout"
    reason = caught_text(scene, work, it.number or 0) if timed_out else torch.peer_error
    told = (_told(work),) if timed_out else (Tell("remote-error", rank),)
    ended = reason
    if torch.at_least(2, 0):
        name = group_prefix(scene, rank, work.call.group)
        ended = f"{name}{torch.watchdog_name} watchdog thread terminated with exception: {reason}"
        yield cpp(scene, rank, at_s + 0.005, "E", "ended", ended, told)
    error = "c10::DistBackendError" if torch.at_least(2, 1) else "std::runtime_error"
    raised = _raised_from(scene, "checkTimeout" if timed_out else "checkForNCCLErrorsInternal")
    if torch.at_least(2, 1):
        yield from (plain(scene, rank, at_s + 0.0052, text) for text in raised)
    yield plain(scene, rank, at_s + 0.006, f"terminate called after throwing an instance of '{error}'")
    yield plain(scene, rank, at_s + 0.006, f"  what():  {ended}", told)


def _raised_from(scene: Scene, function: str) -> list[str]:
    source = "../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp"
    if scene.torch.at_least(2, 4):
        source = "/pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp"
    library = f"{scene.site}/torch/lib"
    return [
        f"Exception raised from {function} at {source}:{scene.torch.lines['throw']} (most recent call first):",
        f"frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x57 (0x7f1c3a2b9617 in {library}/libc10.so)",
        "frame #1: c10d::ProcessGroupNCCL::WorkNCCL::checkTimeout(std::optional<std::chrono::duration<long, "
        f"std::ratio<1l, 1000l> > >) + 0x232 (0x7f1bd0a6a332 in {library}/libtorch_cuda.so)",
        "",
    ]


def _stuck(scene: Scene, it: Happening) -> Iterator[Line]:
    torch, rank = scene.torch, it.rank or 0
    prefix = group_prefix(scene, rank, scene.mesh.world)
    told = (Tell("stuck", rank),)
    new = torch.status in (Status.FAILURE, Status.STARTED)
    if not new:
        text = f"{prefix}Heartbeat monitor timed out! Process will be terminated after dumping debug info. "
        yield cpp(scene, rank, it.at_s, "E", "monitor", f"{text}workMetaList_.size()=0", told)
    hung = HUNG.format(
        example="(e.g., CudaEventDestroy) " if new else "", again=" (for example, CudaEventDestroy)" if new else ""
    )
    text = f"ProcessGroupNCCL's watchdog got stuck for {torch.heartbeat_s} seconds {hung}"
    if new:
        yield cpp(scene, rank, it.at_s, "E", "stuck", prefix + text, told)
    else:
        yield cpp(scene, rank, it.at_s + 0.8, "F", "stuck", f"{prefix}{prefix}{text}workMetaList_.size() = 0", told)


def _monitor_kill(scene: Scene, it: Happening) -> Iterator[Line]:
    if scene.torch.status not in (Status.FAILURE, Status.STARTED):
        return
    rank = it.rank or 0
    prefix = group_prefix(scene, rank, scene.mesh.world)
    reason = "collective timeout or exception" if it.text == "timeout" else "ProcessGroupNCCL watchdog hang"
    told = (Tell("stuck", rank),) if it.text == "hang" else ()
    text = f"{prefix}{prefix}Terminating the process after attempting to dump debug info, due to {reason}."
    yield cpp(scene, rank, it.at_s, "F", "terminate", text, told)


def _store_lost(scene: Scene, it: Happening) -> Iterator[Line]:
    rank = it.rank or 0
    host = scene.mesh.host_of(rank)
    error = "Failed to recv, got 0 bytes. Connection was likely closed. Did the remote server shutdown or crash?"
    port = 40000 + (scene.pids[rank] * 13) % 20000
    where = f"SocketImpl(fd={60 + rank % 30}, addr=[{scene.hosts[host]}]:{port}, remote=[{scene.hosts[0]}]:29500)"
    yield cpp(scene, rank, it.at_s, "W", "TCPStore.cpp:125", f"[c10d] recvValue failed on {where}: {error}")
    prefix = group_prefix(scene, rank, scene.mesh.world)
    text = (
        f'{prefix}Failed to check the "should dump" flag on TCPStore, (maybe TCPStore server has shut down too early)'
    )
    yield cpp(scene, rank, it.at_s + 0.001, "W", "store", f"{text}, with error: {error}")
