"""What the machine and the scheduler print: the kernel log of a host, Slurm, and the driver of a Ray job."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from lab.simulate.happening import Happening
from lab.simulate.lines import Line, Speaker, Tell
from lab.simulate.scene import Scene

#: Xid, text, the cause that it names, and what CUDA tells the process (None: the process just hangs)
XIDS: dict[str, tuple[int, str, str, str | None]] = {
    "off-bus": (79, "GPU has fallen off the bus.", "gpu-fell-off-bus", None),
    "ecc": (95, (
        "Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No"
    ), "gpu-ecc-error", "uncorrectable ECC error encountered"),
    "gsp": (119, (
        "Timeout after 6s of waiting for RPC response from GPU{device} GSP! Expected function 76 "
        "(GSP_RM_CONTROL) (0x2080014b 0x5)."
    ), "gpu-hang-or-gsp-timeout", None),
    "nvlink": (74, (
        "NVLink: fatal error detected on link 3(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"
    ), "nvlink-error", "unspecified launch failure"),
    "mmu": (31, (
        "Ch 0000000a, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC2 GPCCLIENT_T1_7 faulted @ 0x7f41_b3000000. "
        "Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"
    ), "illegal-memory-access", "an illegal memory access was encountered"),
}  # fmt: skip
WORDS = {-6: "Aborted (core dumped)", -9: "Killed", -11: "Segmentation fault (core dumped)", -15: "Terminated"}


def kernel(scene: Scene, host: int, at_s: float, text: str, tells: tuple[Tell, ...] = ()) -> Line:
    """A line of ``dmesg -T`` or of journalctl."""
    now = scene.clock.on(host, at_s)
    start = f"[{now:%a %b} {now.day:2d} {now:%H:%M:%S %Y}] "
    if scene.job % 3 == 0:
        start = f"{now:%b} {now.day:2d} {now:%H:%M:%S} {scene.hosts[host]} kernel: "
    return Line(at_s, start + text, Speaker.KERNEL, host=host, tells=tells)


def oom_kill(scene: Scene, rank: int, at_s: float) -> Iterator[Line]:
    host, pid = scene.mesh.host_of(rank), scene.pids[rank]
    told = (Tell("kernel-oom", rank),)
    invoked = "python3 invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0"
    yield kernel(scene, host, at_s, invoked)
    yield kernel(
        scene, host, at_s,
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,"
        f"task_memcg=/user.slice,task=python3,pid={pid},uid=1000", told,
    )  # fmt: skip
    yield kernel(
        scene, host, at_s,
        f"Out of memory: Killed process {pid} (python3) total-vm:412938112kB, anon-rss:226492416kB, file-rss:68432kB, "
        "shmem-rss:16384kB, UID:1000 pgtables:489212kB oom_score_adj:0", told,
    )  # fmt: skip
    yield kernel(
        scene,
        host,
        at_s + 1.2,
        f"oom_reaper: reaped process {pid} (python3), now anon-rss:0kB, file-rss:0kB, shmem-rss:16384kB",
    )


def segfault(scene: Scene, rank: int, at_s: float) -> Iterator[Line]:
    host, pid = scene.mesh.host_of(rank), scene.pids[rank]
    text = (
        f"python3[{pid}]: segfault at 7f31c0a3f018 ip 00007f32b0c11e44 sp 00007ffd3a1c58e0 error 4 in "
        f"libcodec.so.2[7f32b0be4000+91000]"
    )
    yield kernel(scene, host, at_s, text, (Tell("kernel-segfault", rank),))


def xid(scene: Scene, rank: int, at_s: float, kind: str) -> Iterator[Line]:
    """The driver's report of a GPU fault: by bus id, and mostly with the pid of the process."""
    number, text, _, _ = XIDS[kind]
    host, device = scene.mesh.host_of(rank), scene.mesh.local_rank(rank)
    bus = f"0000:{0x1B + 0x20 * (device % 8):02x}:00"
    text = text.format(device=device)
    process = f"pid={scene.pids[rank]}, name=python3, "
    told = (Tell("xid", rank, value=kind),)
    yield kernel(scene, host, at_s, f"NVRM: Xid (PCI:{bus}): {number}, {process}{text}", told)
    if kind == "off-bus":
        yield kernel(scene, host, at_s, f"NVRM: GPU {bus}.0: GPU has fallen off the bus.")
    elif kind in ("ecc", "gsp"):
        after = "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
        yield kernel(scene, host, at_s + 0.4, f"NVRM: Xid (PCI:{bus}): 154, {after}")


def quiet_kernel(scene: Scene, host: int, at_s: float) -> Iterator[Line]:
    """A kernel log in which nothing happens."""
    yield kernel(scene, host, at_s, "EXT4-fs (nvme1n1): mounted filesystem with ordered data mode. Quota mode: none.")
    yield kernel(
        scene, host, at_s + 2, "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024"
    )
    yield kernel(scene, host, at_s + 9, "mlx5_core 0000:9a:00.0 ibp154s0: Link up")


def lines_of(scene: Scene, it: Happening) -> Iterator[Line]:
    """The lines of Slurm and of Ray's driver; nothing for other happenings."""
    when = f"{scene.clock.on(0, it.at_s):%Y-%m-%dT%H:%M:%S}"
    step = f"{scene.job}.0"
    if it.kind == "task-exit" and it.rank is not None:
        code = it.number or 0
        word = WORDS.get(code) or f"Exited with exit code {code}"
        text = f"srun: error: {scene.host(it.rank)}: task {it.rank}: {word}"
        yield _slurm(it.at_s, text, (Tell("exit", it.rank, number=code, named=True),))
    elif it.kind == "oom-step" and it.rank is not None:
        text = (
            f"slurmstepd: error: Detected 1 oom_kill event in StepId={step}. Some of the step tasks have been "
            f"OOM Killed."
        )
        yield _slurm(it.at_s, text, (Tell("oom-step", it.rank),))
    elif it.kind == "step-cancelled":
        yield _slurm(it.at_s, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
        for host in scene.hosts:
            yield _slurm(it.at_s, f"slurmstepd: error: *** STEP {step} ON {host} CANCELLED AT {when} ***")
    elif it.kind == "time-limit":
        for host in scene.hosts[:1]:
            text = f"slurmstepd: error: *** JOB {scene.job} ON {host} CANCELLED AT {when} DUE TO TIME LIMIT ***"
            yield _slurm(it.at_s, text, (Tell("limit"),))
        yield _slurm(it.at_s, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
        for host in scene.hosts:
            text = f"slurmstepd: error: *** STEP {step} ON {host} CANCELLED AT {when} DUE TO TIME LIMIT ***"
            yield _slurm(it.at_s, text, (Tell("limit"),))
    elif it.kind == "node-failure" and it.host is not None:
        told = (Tell("node-failure", value=str(it.host)),)
        yield _slurm(it.at_s, f"srun: error: Node failure on {scene.hosts[it.host]}", told)
        text = (
            f"slurmstepd: error: *** STEP {step} ON {scene.hosts[0]} CANCELLED AT {when} DUE TO NODE FAILURE, "
            f"SEE SLURMCTLD LOG FOR DETAILS ***"
        )
        yield _slurm(it.at_s, text, told)
    elif it.kind == "actor-died" and it.rank is not None:
        yield from _actor_died(scene, it.at_s, it.rank, it.number or 0)


def _slurm(at_s: float, text: str, tells: tuple[Tell, ...] = ()) -> Line:
    return Line(at_s, text, Speaker.SLURM, tells=tells)


def _actor_died(scene: Scene, at_s: float, rank: int, code: int) -> Iterator[Line]:
    """The exception in Ray's driver. Its list of possible reasons is a list and no finding."""
    host = scene.mesh.host_of(rank)
    now: datetime.datetime = scene.clock.on(0, at_s)
    texts = [
        "Traceback (most recent call last):",
        f'  File "{scene.folder}/{scene.script}", line 211, in <module>',
        "    ray.get([worker.fit.remote() for worker in workers])",
        f'  File "{scene.site}/ray/_private/worker.py", line 2772, in get',
        "    values, debugger_breakpoint = worker.get_objects(object_refs, timeout=timeout)",
        "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
        "\tclass_name: TrainWorker",
        f"\tactor_id: {scene.job:08x}{rank:08x}01000000",
        f"\tpid: {scene.pids[rank]}",
        f"\tnamespace: {now:%Y%m%d}-train",
        f"\tip: {scene.address(host)}",
        "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit "
        "detail: Worker "
        "unexpectedly exits with a connection error code 2. End of file. There are some potential root causes. (1) The "
        "process is killed by SIGKILL by OOM killer due to high memory usage. (2) ray stop --force is called. (3) The "
        "worker is crashed unexpectedly due to SIGSEGV or other unexpected errors.",
    ]
    for text in texts:
        tells = (Tell("actor-died", rank, number=code),) if "ActorDiedError" in text else ()
        yield Line(at_s, text, Speaker.DRIVER, tells=tells)
