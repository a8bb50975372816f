"""The closed vocabulary of facts. Each kind is one small frozen dataclass; an :class:`Event` is a fact with its place.

A pattern says which kind it yields (``event: collective-timeout``); its named groups and constants fill the
fields below. A field is ``None`` where the text does not say. Durations carry their unit in their name. Ranks are
``rank`` (global) or ``group_rank`` (inside a process group); the text's wording decides which one a pattern fills.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from logsleuth.model.origin import Origin
from logsleuth.record import record

ROLES = ("cause", "symptom", "context", "benign")


@record
class Fact:
    """Base of all facts; ``kind`` is the kebab-case name that patterns use."""

    kind: ClassVar[str] = ""


# --- collectives and process groups ------------------------------------------------------------------------------


@record
class CollectiveTimeout(Fact):
    """A work ran past its timeout (``WorkNCCL(SeqNum=.., OpType=.., ..)``). ``numel_*`` are element counts, not bytes.

    ``blocking_wait``: reported by ``wait()`` and not by the watchdog.
    """

    kind: ClassVar[str] = "collective-timeout"
    op: str | None = None
    seq: int | None = None
    numel_in: int | None = None
    numel_out: int | None = None
    shape: str | None = None
    timeout_ms: int | None = None
    ran_ms: int | None = None
    group_rank: int | None = None
    pg_id: str | None = None
    pg_guid: str | None = None
    pg_desc: str | None = None
    blocking_wait: bool = False


@record
class WorkStatus(Fact):
    """Where a process group stands on one rank. ``seq`` is the failed work; -1 or absent numbers are ``None``.

    ``pg_guid`` is the group's name, equal on all members (``[PG 37 Rank 0]`` prints it alone); ``pg_id`` the n-th
    group made in that process.
    """

    kind: ClassVar[str] = "work-status"
    seq: int | None = None
    last_enqueued: int | None = None
    last_started: int | None = None
    last_started_op: str | None = None
    last_completed: int | None = None
    group_rank: int | None = None
    pg_id: str | None = None
    pg_guid: str | None = None
    pg_desc: str | None = None


@record
class RecordedGroup(Fact):
    """Where a rank stands in one group, from its flight-recorder dump. ``members`` are global ranks.

    ``seq``, ``op``, ``state`` (``scheduled`` or ``started``), sizes and ``where`` (innermost frame) belong to the
    first work that is not completed; ``None`` where everything is. ``p2p``: that work is a send or receive (then
    ``seq`` counts those).
    """

    kind: ClassVar[str] = "recorded-group"
    pg_guid: str | None = None
    pg_desc: str | None = None
    members: tuple[int, ...] = ()
    seq: int | None = None
    op: str | None = None
    state: str | None = None
    p2p: bool = False
    numel_in: int | None = None
    numel_out: int | None = None
    timeout_ms: int | None = None
    where: str | None = None
    last_enqueued: int | None = None
    last_started: int | None = None
    last_completed: int | None = None


@record
class DumpSignal(Fact):
    """The heartbeat monitor was told to dump. ``last_*`` are those of the DEFAULT group, whichever group timed out.

    ``stage``: ``first`` (this process signals), ``observed`` (another rank's signal was seen), ``received``,
    ``preparing``. ``from_rank`` is the global rank of the first signaller that reached the store;
    ``from_group_rank`` where the text names a rank of the group only.
    """

    kind: ClassVar[str] = "dump-signal"
    stage: str | None = None
    from_rank: int | None = None
    from_group_rank: int | None = None
    local: bool = False
    last_enqueued: int | None = None
    last_completed: int | None = None
    group_rank: int | None = None
    pg_id: str | None = None
    pg_guid: str | None = None
    pg_desc: str | None = None


@record
class WatchdogStuck(Fact):
    """The heartbeat monitor: the watchdog thread itself is blocked. ``queue`` is workMetaList_.size()."""

    kind: ClassVar[str] = "watchdog-stuck"
    stuck_s: int | None = None
    queue: int | None = None
    group_rank: int | None = None
    pg_id: str | None = None
    pg_guid: str | None = None
    pg_desc: str | None = None


@record
class ProcessAborted(Fact):
    """Torch takes the process down after a timeout or error (teardown lines, heartbeat kill): always fallout.

    ``reason``: ``timeout``, ``watchdog-hang``, ``error``, ``exception``.
    """

    kind: ClassVar[str] = "process-aborted"
    reason: str | None = None
    group_rank: int | None = None


@record
class DesyncReport(Fact):
    """One statement of the desync report. ``statement``: ``never-joined``, ``not-joined``, ``not-finished``,
    ``timed-out``, ``started``, ``finished``. ``ranks`` are group ranks of the default group. ``seq`` counts from 1."""

    kind: ClassVar[str] = "desync-report"
    statement: str | None = None
    ranks: tuple[int, ...] = ()
    seq: int | None = None
    op: str | None = None


@record
class CollectiveMismatch(Fact):
    """Two ranks' fingerprints differ (TORCH_DISTRIBUTED_DEBUG=DETAIL). ``rank``/``other_rank`` are group ranks.

    The text is symmetric: each rank names itself first. It does not say who is wrong.
    """

    kind: ClassVar[str] = "collective-mismatch"
    rank: int | None = None
    seq: int | None = None
    op: str | None = None
    shape: str | None = None
    dtype: str | None = None
    other_rank: int | None = None
    other_seq: int | None = None
    other_op: str | None = None
    other_shape: str | None = None
    other_dtype: str | None = None


@record
class SizeMismatch(Fact):
    """A transport, a wrapper or a framework found that sizes differ between ranks (bytes or elements, as printed)."""

    kind: ClassVar[str] = "size-mismatch"
    what: str | None = None
    got: str | None = None
    expected: str | None = None
    rank: int | None = None
    other_rank: int | None = None


@record
class MonitoredBarrier(Fact):
    """``statement``: ``missing`` (``ranks`` never came), ``victim`` (this rank came and lost rank 0), ``processed``."""

    kind: ClassVar[str] = "monitored-barrier"
    statement: str | None = None
    ranks: tuple[int, ...] = ()
    timeout_ms: int | None = None
    reporter: int | None = None


@record
class BarrierDevice(Fact):
    """Torch guessed the device of a barrier. ``device`` is the guessed CUDA index within the visible devices."""

    kind: ClassVar[str] = "barrier-device"
    group_rank: int | None = None
    device: int | None = None
    pg_id: str | None = None
    pg_guid: str | None = None


@record
class StepOrder(Fact):
    """A hint that ranks do not run the same steps: uneven data, an invalidated trace cache, unused parameters.

    ``what``: ``uneven-data``, ``trace-cache``, ``unused-parameters``, ``ready-twice``, ``static-graph``,
    ``different-models``, ``p2p-serialized``.
    """

    kind: ClassVar[str] = "step-order"
    what: str | None = None
    rank: int | None = None
    detail: str | None = None


# --- how processes end -------------------------------------------------------------------------------------------


@record
class PythonException(Fact):
    """An exception as printed. ``where`` is ``file:line in function`` of the innermost frame of the user's own code,
    ``innermost`` that of the last frame; ``chained`` tells that it happened while handling another one (``root_type``,
    ``root_message``). ``bare``: only its last line was seen, no traceback."""

    kind: ClassVar[str] = "exception"
    type: str | None = None
    message: str | None = None
    where: str | None = None
    innermost: str | None = None
    root_type: str | None = None
    root_message: str | None = None
    chained: bool = False
    bare: bool = False


@record
class ProcessExit(Fact):
    """A process is gone. ``exit_code`` as printed (negative or 128+n: a signal); ``signal`` a name such as SIGKILL.

    ``by`` says who tells it: ``torchelastic``, ``deepspeed``, ``slurm``, ``mpi``, ``spawn``, ``ray``, ``vllm``,
    ``shell``, ``kubernetes``, ``accelerate``, ``lightning``. ``first_observed``: torchelastic calls it the root
    cause (a claim). ``tasks`` is a Slurm task list as printed. ``time`` as printed in a failure table.
    """

    kind: ClassVar[str] = "process-exit"
    exit_code: int | None = None
    signal: str | None = None
    rank: int | None = None
    local_rank: int | None = None
    pid: int | None = None
    host: str | None = None
    tasks: str | None = None
    by: str | None = None
    first_observed: bool = False
    time: str | None = None
    error_file: str | None = None
    text: str | None = None


@record
class NativeCrash(Fact):
    """A native crash as the dying process or the kernel prints it. ``signal`` a name; ``where`` the top frame or
    library."""

    kind: ClassVar[str] = "native-crash"
    signal: str | None = None
    where: str | None = None
    pid: int | None = None
    process: str | None = None


@record
class SignalSent(Fact):
    """A launcher ends a process: the survivors' end, fallout of what came before. ``by`` as in ProcessExit."""

    kind: ClassVar[str] = "signal-sent"
    pid: int | None = None
    signal: str | None = None
    by: str | None = None


@record
class SignalReceived(Fact):
    """``who`` got a signal from outside: ``agent`` (a launcher), ``worker``. ``signal`` a name."""

    kind: ClassVar[str] = "signal-received"
    signal: str | None = None
    pid: int | None = None
    who: str | None = None
    local_rank: int | None = None


@record
class WorkerExit(Fact):
    """A DataLoader worker process died; the rank that owns it raises. ``signal`` as printed (Killed, Bus error)."""

    kind: ClassVar[str] = "dataloader-exit"
    pid: int | None = None
    signal: str | None = None
    exit_code: int | None = None


@record
class MemoryExhausted(Fact):
    """``where``: ``gpu``, ``host``, ``shm``. Sizes as printed, with their unit (``18.84 GiB``)."""

    kind: ClassVar[str] = "memory-exhausted"
    where: str | None = None
    requested: str | None = None
    capacity: str | None = None
    free: str | None = None
    device: int | None = None
    pid: int | None = None
    process: str | None = None
    path: str | None = None
    host: str | None = None


@record
class StorageError(Fact):
    """A file could not be read or written. ``what``: ``full``, ``quota``, ``stale``, ``io``, ``read-only``, ``slow``,
    ``write-failed``, ``corrupt``."""

    kind: ClassVar[str] = "storage-error"
    what: str | None = None
    errno: int | None = None
    path: str | None = None
    text: str | None = None


# --- GPU, driver, kernel -----------------------------------------------------------------------------------------


@record
class CudaError(Fact):
    """A CUDA or HIP error text. ``what`` is our word for it: ``illegal-access``, ``device-assert``, ``ecc``,
    ``nvlink``, ``gpu-lost``, ``launch-failure``, ``unknown``, ``launch-timeout``, ``not-initialized`` (802),
    ``driver-insufficient``, ``driver-mismatch`` (803, 804, NVML), ``no-device``, ``invalid-device``,
    ``peer-access``, ``no-kernel-image``, ``invalid-argument``, ``gpu-hang``, ``out-of-memory``, ``unhandled``.
    ``reporter``: ``watchdog`` (only found it) or ``None``."""

    kind: ClassVar[str] = "cuda-error"
    what: str | None = None
    code: int | None = None
    text: str | None = None
    reporter: str | None = None
    group_rank: int | None = None
    device: int | None = None


@record
class DeviceAssertion(Fact):
    """A kernel's own assertion line, printed by the rank that failed: ``file``, ``line``, ``assertion``."""

    kind: ClassVar[str] = "device-assertion"
    file: str | None = None
    line: int | None = None
    assertion: str | None = None


@record
class Xid(Fact):
    """NVIDIA's Xid (``code``) or NVSwitch SXid (``switch``). ``pci`` is the bus id, ``severity`` Fatal or Non-fatal."""

    kind: ClassVar[str] = "xid"
    code: int | None = None
    pci: str | None = None
    pid: int | None = None
    process: str | None = None
    text: str | None = None
    switch: bool = False
    severity: str | None = None
    host: str | None = None


@record
class KernelMessage(Fact):
    """A line of the kernel or of a node daemon. ``what``: ``hung-task``, ``pcie-error``, ``link-down``, ``link-up``,
    ``amdgpu-reset``, ``amdgpu-ras``, ``gpu-lost``, ``driver-load``, ``fs-error``, ``nfs-stalled``, ``iommu-fault``,
    ``soft-lockup``, ``fabric-error``, ``mce``."""

    kind: ClassVar[str] = "kernel-message"
    what: str | None = None
    pci: str | None = None
    device: str | None = None
    pid: int | None = None
    process: str | None = None
    text: str | None = None
    host: str | None = None


# --- NCCL --------------------------------------------------------------------------------------------------------


@record
class NcclWarn(Fact):
    """A ``NCCL WARN`` line (or the same text after ``Last error:``). ``what`` is our word where a cause needs one:
    ``duplicate-gpu``, ``version-mismatch``, ``no-interface``, ``ib-completion``, ``ib-async-event``, ``ib-call``,
    ``connect-failed``, ``peer-closed``, ``nvlink`` (P2P is off between GPUs that NVLink connects), ``wrong-magic``,
    ``truncated``, ``collective-mismatch``, ``shm``, ``p2p``, ``nvls``, ``topology``, ``plugin``, ``proxy``,
    ``invalid-rank``, ``rank-count``, ``cuda``, ``limit``, ``gdr``, ``setting``, ``memory``, ``usage``, ``other``.
    ``status`` is an ibv_wc_status or errno number. ``rank`` and ``other_rank`` are communicator ranks."""

    kind: ClassVar[str] = "nccl-warn"
    what: str | None = None
    text: str | None = None
    file: str | None = None
    line: int | None = None
    rank: int | None = None
    other_rank: int | None = None
    peer: str | None = None
    device: str | None = None
    status: int | None = None
    call: str | None = None
    interface: str | None = None


@record
class NcclError(Fact):
    """An error returned by NCCL through torch. ``result`` is ncclSystemError, ncclRemoteError, ...; ``version`` as
    printed.

    ``aborted``: the communicator was aborted after an earlier error (fallout)."""

    kind: ClassVar[str] = "nccl-error"
    result: str | None = None
    text: str | None = None
    version: str | None = None
    last_error: str | None = None
    op: str | None = None
    seq: int | None = None
    group_rank: int | None = None
    aborted: bool = False


@record
class CommInit(Fact):
    """A NCCL communicator's life. ``stage``: ``start``, ``complete``, ``abort``, ``destroy``. ``comm_rank`` is the
    rank inside the communicator, ``comm_id`` is equal on all members."""

    kind: ClassVar[str] = "comm-init"
    stage: str | None = None
    comm: str | None = None
    comm_rank: int | None = None
    nranks: int | None = None
    nnodes: int | None = None
    cuda_dev: int | None = None
    nvml_dev: int | None = None
    bus_id: str | None = None
    comm_id: str | None = None


@record
class Transport(Fact):
    """How NCCL connects two communicator ranks (``via`` P2P/IPC, SHM/direct/direct, NET/IB/0/GDRDMA, ...)."""

    kind: ClassVar[str] = "transport"
    from_rank: int | None = None
    to_rank: int | None = None
    via: str | None = None


@record
class Interface(Fact):
    """A network interface that NCCL or gloo uses. ``use``: ``bootstrap``, ``socket``, ``ib``, ``network``, ``gloo``."""

    kind: ClassVar[str] = "interface"
    use: str | None = None
    name: str | None = None
    address: str | None = None


@record
class PeerLost(Fact):
    """A connection to a peer broke: it names a victim's view. ``peer`` an address, ``local_rank`` where NCCL names it,
    ``peer_rank`` a global rank where the text gives one; ``by``: ``gloo``, ``nccl``, ``nccl-proxy``, ``torch``."""

    kind: ClassVar[str] = "peer-lost"
    peer: str | None = None
    peer_rank: int | None = None
    local_rank: int | None = None
    by: str | None = None
    text: str | None = None


# --- rendezvous, store, launcher, scheduler ----------------------------------------------------------------------


@record
class StoreError(Fact):
    """``what``: ``connect-timeout``, ``connect-refused``, ``connect-retry``, ``dns``, ``address-in-use``,
    ``bind-failed``, ``wait-timeout``, ``lost``, ``should-dump`` (the store was gone when the monitor asked),
    ``unique-id``, ``not-all-joined``, ``duplicate-rank``. ``from_rank`` is the rank the message blames (often rank
    0, the store's host)."""

    kind: ClassVar[str] = "store-error"
    what: str | None = None
    host: str | None = None
    port: int | None = None
    key: str | None = None
    error: str | None = None
    joined: int | None = None
    expected: int | None = None
    timeout_ms: int | None = None
    rank: int | None = None
    from_rank: int | None = None


@record
class Rendezvous(Fact):
    """``what``: ``waiting``, ``timeout``, ``closed``, ``connection-lost``, ``connect-failed``, ``joined``,
    ``complete``, ``missing-env``, ``rank-absent``, ``heartbeat-failed``, ``config-ignored``."""

    kind: ClassVar[str] = "rendezvous"
    what: str | None = None
    joined: int | None = None
    expected: int | None = None
    rank: int | None = None
    key: str | None = None
    run_id: str | None = None
    endpoint: str | None = None
    name: str | None = None
    timeout: str | None = None


@record
class Setup(Fact):
    """The job could not be set up as asked. ``what``: ``no-nccl``, ``no-gpu``, ``bad-world-size``, ``missing-rank``,
    ``already-initialized``, ``not-initialized``, ``wrong-device``, ``misconfigured``, ``limit``, ``version``,
    ``invalid-device``."""

    kind: ClassVar[str] = "setup"
    what: str | None = None
    name: str | None = None
    value: str | None = None
    text: str | None = None


@record
class Scheduler(Fact):
    """A scheduler or orchestrator speaks. ``what``: ``time-limit``, ``preempted``, ``node-failure``, ``requeued``,
    ``cancelled``, ``task-failure``, ``oom``, ``evicted``, ``revoked``, ``step-aborted`` (teardown). ``tasks`` is a
    task list as printed."""

    kind: ClassVar[str] = "scheduler"
    what: str | None = None
    job: str | None = None
    step: str | None = None
    node: str | None = None
    at: str | None = None
    by: str | None = None
    tasks: str | None = None


@record
class AttemptStart(Fact):
    """A launcher starts or restarts its workers. ``attempt`` counts from 0; ``launch``: a new launcher run begins."""

    kind: ClassVar[str] = "attempt-start"
    attempt: int | None = None
    launch: bool = False
    remaining: int | None = None


@record
class ProcessMap(Fact):
    """Who is who: any of pid, host, global rank, local rank, world size that the text ties together."""

    kind: ClassVar[str] = "process-map"
    rank: int | None = None
    local_rank: int | None = None
    pid: int | None = None
    host: str | None = None
    world_size: int | None = None
    nnodes: int | None = None
    local_world_size: int | None = None


# --- what else is known ------------------------------------------------------------------------------------------


@record
class EnvFact(Fact):
    """``name``: ``torch``, ``torch-build`` (told by source lines), ``nccl``, ``rccl``, ``rocm``, ``driver``,
    ``cuda``, ``cuda-driver``, ``kernel``, ``kernel-minimum``, ``gpu``, ``gpu-count``, ``os``, ``cpu``, ``memory``,
    ``python``, ``accelerate``, ``lightning``, ``deepspeed``, ``backend``, ``plugin``, ``network``, ``bus-id``.
    ``value`` as printed. ``warned``:
    a library printed it as a warning."""

    kind: ClassVar[str] = "env-fact"
    name: str | None = None
    value: str | None = None
    warned: bool = False


@record
class Setting(Fact):
    """An environment variable or option and its value."""

    kind: ClassVar[str] = "setting"
    name: str | None = None
    value: str | None = None


@record
class Progress(Fact):
    """Training goes on. ``step`` and ``total`` where printed."""

    kind: ClassVar[str] = "progress"
    step: int | None = None
    total: int | None = None


@record
class RunEnd(Fact):
    """A run ended well. ``what``: ``finished``, ``saved``, ``destroyed``, ``exit-0``."""

    kind: ClassVar[str] = "run-end"
    what: str | None = None


@record
class HostWork(Fact):
    """Work on the CPU or on files that other ranks may have to wait for. ``what``: ``preprocess``, ``checkpoint-save``,
    ``checkpoint-load``, ``download``, ``evaluate``, ``compile``, ``dataset``, ``storage-stall``. ``done``/``total``
    as printed."""

    kind: ClassVar[str] = "host-work"
    what: str | None = None
    done: int | None = None
    total: int | None = None


@record
class InitStage(Fact):
    """Set-up goes on: ``what``: ``parallel-init``, ``group-init``, ``barrier``, ``registered``, ``store-barrier``,
    ``p2p-init``."""

    kind: ClassVar[str] = "init-stage"
    what: str | None = None
    world_size: int | None = None
    backend: str | None = None


@record
class Stack(Fact):
    """A frame of a live process's stack (py-spy, faulthandler, flight recorder): ``thread``, ``where``."""

    kind: ClassVar[str] = "stack"
    thread: str | None = None
    where: str | None = None


@record
class Note(Fact):
    """Known and harmless: it is recognised so that it is never blamed. ``what`` says what it means in a few words."""

    kind: ClassVar[str] = "note"
    what: str | None = None


def _all_kinds() -> dict[str, type[Fact]]:
    found: dict[str, type[Fact]] = {}
    for value in list(globals().values()):
        if isinstance(value, type) and dataclasses.is_dataclass(value) and issubclass(value, Fact) and value.kind:
            found[value.kind] = value
    return found


#: Every event kind by its name.
KINDS: dict[str, type[Fact]] = _all_kinds()


# --- an event ----------------------------------------------------------------------------------------------------


@record
class Stamp:
    """A time as printed. ``seconds`` counts from 1970 in UTC where the zone is printed (``utc_offset_s``, already
    applied), else with the printed fields taken as UTC; ``None`` where the text has no date. ``has_year`` False: the
    year was not printed (1970 is used, so only differences inside one log mean anything). The nine-digit fraction of
    torch's C++ stamps is another clock and is dropped."""

    text: str
    seconds: float | None = None
    has_year: bool = True
    has_date: bool = True
    utc_offset_s: int | None = None


@record
class Locator:
    """The place of a text: byte span in a source (``start`` inclusive, ``end`` exclusive), with the lines around it.

    Line numbers are worked out at the end, for cited evidence only. ``entry`` is the index in a structured file.
    """

    source: str
    start: int
    end: int
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    entry: str | None = None

    @property
    def place(self) -> tuple[str, int]:
        """Where the text begins: equal for two readings of the same text, ordered within a source."""
        return self.source, self.start


@record
class Event:
    """A fact with who said it, when and where. ``role`` and ``pattern`` come from the pattern that read it.

    ``count`` > 1: the same text came so often (a launcher's "repeated Nx", or kept as a count).
    """

    fact: Fact
    role: str
    pattern: str
    origin: Origin
    locator: Locator
    time: Stamp | None = None
    count: int = 1

    @property
    def kind(self) -> str:
        return self.fact.kind
