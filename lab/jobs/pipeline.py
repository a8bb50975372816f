"""A pipeline of stages that pass activations forward and gradients back with send and recv."""

from __future__ import annotations

import torch
import torch.distributed as dist
from trainer import device, say, say_step, settings, setup, start

SHAPE = (256, 256)


def forward_backward(step: int) -> float:
    """One micro-batch through this stage. Every stage but the odd one out receives before it sends."""
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    activations = torch.ones(SHAPE, device=device())
    gradients = torch.ones(SHAPE, device=device())
    if rank > 0:
        dist.recv(activations, src=rank - 1)
    if settings.hits("expects-gradients-first", rank, step) and rank < last:
        dist.recv(gradients, src=rank + 1)
        dist.send(activations, dst=rank + 1)
    elif rank < last:
        dist.send(activations, dst=rank + 1)
        dist.recv(gradients, src=rank + 1)
    if rank > 0:
        dist.send(gradients, dst=rank - 1)
    return float(activations.mean())


def exchange_halo(step: int) -> None:
    """Neighbours swap borders; even ranks send first, odd ranks receive first, except where a rank does not."""
    rank, size = dist.get_rank(), dist.get_world_size()
    mine, theirs = torch.ones(SHAPE, device=device()), torch.empty(SHAPE, device=device())
    right, left = (rank + 1) % size, (rank - 1) % size
    if rank % 2 == 0 or settings.hits("sends-first", rank, step):
        dist.send(mine, dst=right)
        dist.recv(theirs, src=left)
    else:
        dist.recv(theirs, src=left)
        dist.send(mine, dst=right)


def main() -> None:
    setup()
    for step in range(settings.steps):
        loss = forward_backward(step)
        if settings.options.get("halo"):
            exchange_halo(step)
        say_step(step, loss)
    say("training finished")
    dist.destroy_process_group()


if __name__ == "__main__":
    start(main)
