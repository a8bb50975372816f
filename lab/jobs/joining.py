"""Ranks that only join the group and add a number: what is left when a job fails before its first step."""

from __future__ import annotations

import torch
import torch.distributed as dist
from trainer import device, say, setup, start


def main() -> None:
    rank = setup()
    total = torch.tensor([float(rank)], device=device())
    dist.all_reduce(total)
    say("sum over ranks %.0f", total.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    start(main)
