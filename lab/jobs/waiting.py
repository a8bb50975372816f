"""Training with a hand-written gradient exchange, in which a rank comes late, leaves early or skips a collective."""

from __future__ import annotations

import re
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from trainer import Classifier, Corpus, device, say, say_step, settings, setup, start

BATCH = 8


class Articles(Corpus):
    """The corpus of one rank; its storage may be slow."""

    def __init__(self, rank: int, steps: int) -> None:
        super().__init__(steps * BATCH)
        self.rank = rank

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        if index % BATCH == 0 and settings.hits("slow-storage", self.rank, index // BATCH):
            fetch_from_storage()
        return super().__getitem__(index)


def fetch_from_storage() -> None:
    time.sleep(settings.options["late_s"])


def evaluate(step: int) -> None:
    say("step %d: scoring 12000 hold-out articles on the CPU", step)
    time.sleep(settings.options["late_s"])


def pause() -> None:
    time.sleep(settings.options["late_s"])


def prepare_dataset() -> None:
    """The main process works, the others wait for it."""
    if dist.get_rank() == 0:
        say("tokenizing 2400000 articles, this is done once")
        time.sleep(settings.options["late_s"])
    dist.barrier()


def clean(text: str) -> bool:
    return re.match(r"(\w+\s?)+$", text) is not None


def exchange_gradients(model: nn.Module) -> None:
    for parameter in model.parameters():
        if parameter.grad is not None:
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()


def gather_metrics(step: int, loss: torch.Tensor) -> None:
    total = loss.detach().clone()
    if not settings.hits("skipped-collective", dist.get_rank(), step):
        dist.all_reduce(total)
    say("step %d: mean loss %.4f", step, total.item() / dist.get_world_size())


def wait_for_all() -> None:
    if settings.options.get("monitored"):
        dist.monitored_barrier(
            timeout=timedelta(seconds=settings.timeout_s), wait_all_ranks=settings.options.get("all_ranks", False)
        )
    elif settings.options.get("barrier", True):
        dist.barrier()


def train(rank: int) -> None:
    steps = settings.steps
    if settings.hits("short-data", rank):
        steps = settings.options["short_steps"]
    model = Classifier().to(device())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step, batch in enumerate(torch.utils.data.DataLoader(Articles(rank, steps), batch_size=BATCH)):
        loss = nn.functional.cross_entropy(model(batch["input"].to(device())), batch["label"].to(device()))
        optimizer.zero_grad()
        loss.backward()
        if settings.hits("evaluation", rank, step):
            evaluate(step)
        if settings.hits("pause", rank, step):
            pause()
        if settings.hits("backtracking", rank, step):
            clean("word " * 40 + "!")
        exchange_gradients(model)
        optimizer.step()
        gather_metrics(step, loss)
        say_step(step, loss.item())
    say("no more batches after %d steps", steps)


def main() -> None:
    rank = setup()
    if settings.hits("first-rank-work", rank) or settings.options.get("prepare"):
        prepare_dataset()
    train(rank)
    if settings.hits("absent", rank):
        pause()
    wait_for_all()
    say("training finished")
    dist.destroy_process_group()


if __name__ == "__main__":
    start(main)
