"""What the labels of many faults have in common: causes that no CPU log can bear out, and words that a fix must use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from lab.logs import Logs
from lab.spec import Expect, Run

Ranks: TypeAlias = tuple[int, ...] | tuple[tuple[int, ...], ...]

# Nothing in these runs has to do with a GPU link, a driver or InfiniBand: a root cause that says so is wrong.
FAR_OFF = ("driver-p2p-broken", "ib-transport-error", "gpu-fell-off-bus", "job-time-limit")

# What a rank prints when the connection to another one is gone.
PEER_LOST = r"Connection closed by peer|Connection reset by peer|Broken pipe|Socket closed|Connection was likely closed"

FIX_WORDS: dict[str, tuple[str, ...]] = {
    "backend-unavailable": ("gloo", "CUDA", "NCCL"),
    "collective-order-mismatch": ("same order", "same", "branch"),
    "collective-shape-mismatch": ("shape", "size", "pad"),
    "collective-timeout-unexplained": ("py-spy", "TORCH_DISTRIBUTED_DEBUG", "all ranks", "TORCH_FR_BUFFER_SIZE"),
    "cuda-oom": ("batch", "expandable_segments", "checkpointing"),
    "dataloader-worker-killed": ("num_workers", "memory", "dmesg"),
    "ddp-unused-parameters": ("find_unused_parameters",),
    "dns-failure": ("MASTER_ADDR", "getent", "resolve"),
    "init-hang-unexplained": ("py-spy", "TORCH_DISTRIBUTED_DEBUG", "WORLD_SIZE"),
    "master-unreachable": ("MASTER_ADDR", "MASTER_PORT", "nc -z", "listen"),
    "p2p-order-deadlock": ("send", "recv", "batch_isend_irecv"),
    "peer-lost-unexplained": ("dmesg", "log of", "logs of", "exit code"),
    "port-in-use": ("--standalone", "master-port", "master_port", "MASTER_PORT", "rdzv"),
    "preempted-or-cancelled": ("requeue", "checkpoint", "SIGTERM", "scheduler"),
    "process-died-unexplained": ("dmesg", "core", "OOM", "memory"),
    "rank-exception": ("traceback", "exception", "code"),
    "rank-missing-collective": ("drop_last", "uneven", "Join", "same number", "every rank"),
    "rendezvous-timeout": ("nnodes", "WORLD_SIZE", "node", "join_timeout"),
    "segfault": ("core", "gdb", "faulthandler", "PYTHONFAULTHANDLER"),
    "shm-exhausted": ("--shm-size", "/dev/shm", "ipc=host"),
    "storage-failure": ("disk", "quota", "df "),
    "straggler-host-work": ("timeout", "preprocess", "before"),
    "world-size-mismatch": ("WORLD_SIZE", "RANK", "node-rank"),
}


def expect(
    cause: str,
    *,
    also_ok: tuple[str, ...] = (),
    never: tuple[str, ...] = (),
    culprits: Ranks = (),
    facts: Mapping[str, Any] | None = None,
) -> Expect:
    """An Expect with the common parts filled in; what is right is taken out of what is forbidden."""
    right = {cause, *also_ok}
    return Expect(
        cause=cause,
        also_ok=also_ok,
        never=tuple(it for it in dict.fromkeys((*never, *FAR_OFF)) if it not in right),
        culprit_ranks=culprits,
        facts=dict(facts or {}),
        fix_mentions=FIX_WORDS.get(cause, ()),
    )


def by_elimination(run: Run, logs: Logs, pattern: str) -> Ranks:
    """Nobody, or the culprits where every other rank's own lines show ``pattern``: then only they are left."""
    others = [rank for rank in range(run.world_size) if rank not in run.culprits]
    all_others = len(logs.ranks_showing(pattern, others)) == len(others)
    return either((), run.culprits) if all_others else ()


def either(*sets: tuple[int, ...]) -> Ranks:
    """Several answers on the ranks are defensible: any of these sets."""
    different = tuple(dict.fromkeys(tuple(sorted(it)) for it in sets))
    return different[0] if len(different) == 1 else different
