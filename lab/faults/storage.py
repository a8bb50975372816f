"""Storage that is full: the device of a checkpoint, or shared memory under a data loader worker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lab.logs import Logs
from lab.spec import Draw, Expect, Injection, Layout, Run
from lab.truth import expect

FAMILY = "storage"
WORDS = ("No space left on device", "PytorchStreamWriter failed", "inline_container.cc", "iostream error")
WRITE_FAILED = "|".join(WORDS)
SHM_FAILED = r"out of shared memory|unable to (allocate|write|resize|open) .*(shm|shared memory|/torch_)|Bus error"


def checkpoint(run: Run, logs: Logs) -> Expect:
    return expect(
        "storage-failure",
        also_ok=("rank-exception",),
        never=("peer-lost-unexplained", "shm-exhausted", "preempted-or-cancelled"),
        culprits=logs.ranks_showing(WRITE_FAILED, run.culprits),
        facts={"error": next(it for it in WORDS if it in logs.text)},
    )


def shared_memory(run: Run, logs: Logs) -> Expect:
    return expect(
        "shm-exhausted",
        also_ok=("dataloader-worker-killed",),
        never=("storage-failure", "peer-lost-unexplained", "host-oom-kill", "segfault"),
        culprits=logs.ranks_showing(SHM_FAILED, run.culprits),
    )


def gloo_runs(draw: Draw) -> Iterator[Run]:
    for layout, size, by_all, plain in (
        (Layout.CONSOLE, 3, False, False),
        (Layout.LOG_DIR, 4, True, True),
        (Layout.PER_RANK, 2, True, False),
    ):
        mine = draw.of("device", layout, size)
        rank = mine.rank(size) if by_all else 0
        yield Run(
            id=f"checkpoint-device-full-{layout.value}-{size}-rank{rank}",
            family=FAMILY,
            job="supervised",
            layout=layout,
            world_size=size,
            why="One rank could not write its checkpoint because the device was full; the others lost their partner.",
            truth=checkpoint,
            injections=(Injection("checkpoint", (rank,)),),
            options={**_saving(mine.step()), "full_device": "/dev/full", "plain_file": plain},
            must_show=(WRITE_FAILED,),
            script=mine.script(),
        )
    mine = draw.of("quota")
    yield Run(
        id="checkpoint-quota-full-tee-2",
        family=FAMILY,
        job="supervised",
        layout=Layout.TEE,
        world_size=2,
        why="Both ranks wrote checkpoints to a file system with room for neither.",
        truth=_either_rank,
        injections=(Injection("small-disk", (0, 1)),),
        options={**_saving(mine.step()), "width": 2048},
        private_mounts=(("{train}/checkpoints", "64k"),),
        must_show=(WRITE_FAILED,),
        needs=frozenset({"mounts"}),
        script=mine.script(),
    )
    for layout, size in ((Layout.CONSOLE, 2), (Layout.LOG_DIR, 3)):
        yield Run(
            id=f"shared-memory-full-{layout.value}-{size}",
            family=FAMILY,
            job="supervised",
            layout=layout,
            world_size=size,
            why="/dev/shm had room for the batches of one data loader worker only; a worker of another rank failed.",
            truth=_any_rank_shm,
            injections=(Injection("small-shm", tuple(range(size))),),
            options={"workers": 1, "width": 60_000},
            private_mounts=(("/dev/shm", "3m"),),
            must_show=(SHM_FAILED,),
            needs=frozenset({"mounts"}),
            script=draw.of("shm", layout, size).script(),
        )


def _either_rank(run: Run, logs: Logs) -> Expect:
    return _any_of(checkpoint(run, logs))


def _any_rank_shm(run: Run, logs: Logs) -> Expect:
    return _any_of(shared_memory(run, logs))


def _any_of(one: Expect) -> Expect:
    """Who fails first is chance: those that show the error, or any one of them."""
    seen = tuple(it for it in one.culprit_ranks if isinstance(it, int))
    return expect(
        one.cause,
        also_ok=one.also_ok,
        never=one.never,
        culprits=((), seen, *((rank,) for rank in seen)) if len(seen) > 1 else ((), seen),
        facts=one.facts,
    )


def _saving(step: int) -> Mapping[str, Any]:
    return {"save_at": step, "checkpoints": "checkpoints"}
