"""Write what a job of many ranks prints when a collective times out: nearly every line holds an anchor.

python bench/make_console.py OUT RANKS [SEED]     OUT: a file, the ranks' lines mixed; or a folder, one file a rank
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from pathlib import Path

GROUP = "PG ID 0 PG GUID 0(default_pg) Rank {rank}"
TIMEOUT = (
    "[Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=4096, "
    "NumelOut=4096, Timeout(ms)=600000) ran for {ms} milliseconds before timing out."
)
TERMINATED = f"[{GROUP}] Process group watchdog thread terminated with exception: {TIMEOUT}"
HEADER = "[rank{rank}]:[E304 05:16:10.{rank:06d} ProcessGroupNCCL.cpp:616] "
NCCL = "node-{node}:{pid}:{pid} [{local}] NCCL INFO "
LINES = (
    f"{NCCL}Bootstrap : Using eth0:10.0.{{node}}.1<0>",
    f"{NCCL}NCCL version 2.21.5+cuda12.4",
    f"{NCCL}comm 0x55{{rank:06x}} rank {{rank}} nranks 1024 cudaDev {{local}} busId 1b000 commId 0xabc - Init COMPLETE",
    f"{HEADER}{TIMEOUT}",
    f"{HEADER}[{GROUP}] Timeout at NCCL work: 1580, last enqueued NCCL work: 1583, last completed NCCL work: 1579.",
    f"{HEADER}[{GROUP}] To avoid data inconsistency, we are taking the entire process down.",
    f"{HEADER}{TERMINATED}",
    "Exception raised from checkTimeout at ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:618 (most recent call "
    "first):",
    "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x96 (0x7f0b8c9b6f86 in /opt/libc10.so)",
    "frame #1: c10d::ProcessGroupNCCL::watchdogHandler() + 0x233 (0x7f0b4b2d3313 in /opt/libtorch_cuda.so)",
    "terminate called after throwing an instance of 'c10::DistBackendError'",
    f"  what():  {TERMINATED}",
)


def lines_of(rank: int) -> list[str]:
    """What one rank prints, in its order."""
    return [
        line.format(rank=rank, node=rank // 8, local=rank % 8, pid=4000 + rank, ms=600_000 + rank) for line in LINES
    ]


def mixed(rng: random.Random, ranks: Sequence[int]) -> list[str]:
    """The lines of all ranks as they come, one to three of a rank at a time."""
    waiting = [lines_of(rank) for rank in ranks]
    found: list[str] = []
    while waiting:
        number = rng.randrange(len(waiting))
        count = rng.randint(1, 3)
        found += waiting[number][:count]
        waiting[number] = waiting[number][count:]
        if not waiting[number]:
            waiting[number] = waiting[-1]
            waiting.pop()
    return found


def main() -> None:
    out, ranks = Path(sys.argv[1]), range(int(sys.argv[2]))
    if out.is_dir():
        for rank in ranks:
            (out / f"rank{rank}.log").write_text("\n".join(lines_of(rank)) + "\n", encoding="utf-8")
    else:
        rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 0)
        out.write_text("\n".join(mixed(rng, ranks)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
