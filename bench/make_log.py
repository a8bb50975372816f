"""Write a synthetic training log: what a rank prints in a long healthy run, with a failure at the end.

python bench/make_log.py OUT MEGABYTES [SEED]
"""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Iterator
from pathlib import Path

FAILURE = """\
[rank{rank}]:[E1103 04:12:09.912345678 ProcessGroupNCCL.cpp:629] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=88123, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600021 milliseconds before timing out.
[rank{rank}]:[E1103 04:12:09.913345678 ProcessGroupNCCL.cpp:2168] [PG ID 0 PG GUID 0(default_pg) Rank {rank}]  failure detected by watchdog at work sequence id: 88123 PG status: last enqueued work: 88124, last completed work: 88122
"""  # noqa: E501


WORDS = [
    "loss",
    "grad",
    "lr",
    "tokens",
    "batch",
    "layer",
    "forward",
    "backward",
    "optimizer",
    "bucket",
    "cache",
    "shard",
]
PROGRESS = (
    "[rank{rank}]: iteration {step:>8}/ 500000 | consumed samples: {samples} | "
    "elapsed time per iteration (ms): {ms:.1f}"
)
GUESS = (
    "[rank{rank}]:[W1103 01:{clock}.000000001 ProcessGroupNCCL.cpp:4561] [PG ID 0 PG GUID 0 Rank {rank}]  "
    "using GPU {rank} to perform barrier as devices used by this process are currently unknown."
)


def lines(rng: random.Random, rank: int) -> Iterator[str]:
    """Endless ordinary lines; one in 200 is progress, one in 2,000 a harmless warning."""
    for step in itertools.count(1):
        clock = f"{step % 60:02d}:{step % 60:02d}"
        kind = rng.random()
        if kind < 0.005:
            yield PROGRESS.format(rank=rank, step=step, samples=step * 512, ms=rng.random() * 900)
        elif kind < 0.0055:
            yield GUESS.format(rank=rank, clock=clock)
        else:
            pairs = " ".join(f"{rng.choice(WORDS)}={rng.random():.6f}" for _ in range(rng.randint(3, 9)))
            yield f"2026-11-03 01:{clock},{step % 1000:03d} INFO trainer.{rng.choice(WORDS)}: {pairs}"


def main() -> None:
    out, size = Path(sys.argv[1]), int(float(sys.argv[2]) * 1e6)
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 0)
    source = lines(rng, 3)
    block = "\n".join(next(source) for _ in range(40_000)) + "\n"
    with out.open("w", encoding="utf-8") as file:
        written = 0
        for number in itertools.count():
            if written >= size:
                break
            # No line of progress comes twice, as what was read of a line is remembered.
            written += file.write(block.replace("/ 500000 |", f"/ {500_000 + number} |"))
        file.write(FAILURE.format(rank=3))


if __name__ == "__main__":
    main()
