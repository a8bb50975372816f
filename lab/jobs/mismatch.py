"""Ranks that call collectives which do not fit together: other operation, size, type, group, or unused parameters."""

from __future__ import annotations

from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from trainer import Classifier, Corpus, device, say, say_step, settings, setup, start

BATCH = 8


class TwoHeads(Classifier):
    """A classifier with a second head that not every batch needs."""

    def __init__(self) -> None:
        super().__init__()
        self.image_head = nn.Linear(32, 4)

    def forward(self, inputs: torch.Tensor, with_images: bool = True) -> torch.Tensor:
        hidden = torch.relu(self.encoder(inputs))
        scores = self.head(hidden)
        return scores + self.image_head(hidden) if with_images else scores


def share_metrics(step: int, loss: torch.Tensor) -> None:
    """Sums the loss, then takes the learning rate from rank 0."""
    total = loss.detach().clone().reshape(1)
    rate = torch.full((1,), 0.05, device=device())
    if settings.hits("other-order", dist.get_rank(), step):
        dist.broadcast(rate, src=0)
        dist.all_reduce(total)
    else:
        dist.all_reduce(total)
        dist.broadcast(rate, src=0)


def gather_features(step: int) -> None:
    rows = settings.options.get("other_rows", 6) if settings.hits("other-size", dist.get_rank(), step) else 8
    dtype = torch.float64 if settings.hits("other-type", dist.get_rank(), step) else torch.float32
    features = torch.ones(rows, 16, dtype=dtype, device=device())
    dist.all_reduce(features)


def make_groups() -> tuple[dist.ProcessGroup, dist.ProcessGroup]:
    """Both hold all ranks. A new gloo group has a timeout of its own, 30 minutes unless it is given one."""
    ranks = list(range(dist.get_world_size()))
    seconds = settings.options.get("group_timeout_s")
    timeout = timedelta(seconds=seconds) if seconds else None
    return dist.new_group(ranks, timeout=timeout), dist.new_group(ranks, timeout=timeout)


def synchronize_groups(step: int, tensor_group: dist.ProcessGroup, data_group: dist.ProcessGroup) -> None:
    activations, gradients = torch.ones(8, device=device()), torch.ones(8, device=device())
    if settings.hits("group-order", dist.get_rank(), step):
        dist.all_reduce(gradients, group=data_group)
        dist.all_reduce(activations, group=tensor_group)
    else:
        dist.all_reduce(activations, group=tensor_group)
        dist.all_reduce(gradients, group=data_group)


def main() -> None:
    rank = setup()
    groups = make_groups() if settings.options.get("two_groups") else None
    model: nn.Module = TwoHeads().to(device())
    if settings.options.get("ddp", True):
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step, batch in enumerate(torch.utils.data.DataLoader(Corpus(settings.steps * BATCH), batch_size=BATCH)):
        with_images = not settings.hits("unused-parameters", rank, step)
        scores = model(batch["input"].to(device()), with_images)
        loss = nn.functional.cross_entropy(scores, batch["label"].to(device()))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        share_metrics(step, loss)
        gather_features(step)
        if groups:
            synchronize_groups(step, *groups)
        say_step(step, loss.item())
    dist.barrier()
    say("training finished")
    dist.destroy_process_group()


if __name__ == "__main__":
    start(main)
