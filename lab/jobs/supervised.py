"""Supervised training with DDP. A rank meets bad data, runs out of memory, cannot save, or is gone at once."""

from __future__ import annotations

import ctypes
import mmap
import os
import pathlib
import re
import signal
import sys
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from trainer import Classifier, Corpus, device, say, say_step, settings, setup, start

BATCH = 8
DATA = pathlib.Path("data")
OUT_OF_MEMORY = (
    "CUDA out of memory. Tried to allocate 1.50 GiB. GPU {gpu} has a total capacity of 79.15 GiB of which 612.44 MiB "
    "is free. Including non-PyTorch memory, this process has 78.54 GiB memory in use. Of the allocated memory "
    "75.02 GiB is allocated by PyTorch, and 2.31 GiB is reserved by PyTorch but unallocated. If reserved but "
    "unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  "
    "See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
)


class Articles(Corpus):
    """The corpus as this rank reads it."""

    def __init__(self, rank: int) -> None:
        super().__init__(settings.steps * BATCH, width=settings.options.get("width", 16))
        self.rank = rank

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        sample = super().__getitem__(index)
        step = index // BATCH
        if settings.hits("missing-key", self.rank, step):
            del sample["label"]
        if settings.hits("bad-shape", self.rank, step):
            sample["input"] = sample["input"][:12]
        if settings.hits("bad-label", self.rank, step):
            sample["label"] = torch.tensor(97)
        if settings.hits("missing-file", self.rank, step):
            sample["input"] = read_shard(DATA / f"shard-{index:05d}.bin")
        if settings.hits("worker-killed", self.rank, step):
            os.kill(os.getpid(), signal.Signals[settings.options["worker_signal"]])
        return sample


def read_shard(path: pathlib.Path) -> torch.Tensor:
    return torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.float32)


class Encoder(Classifier):
    """The classifier, whose activations may not fit."""

    step = 0

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        if settings.hits("out-of-memory", dist.get_rank(), self.step):
            reserve_activations(dist.get_rank())
        return super().forward(inputs)


def reserve_activations(gpu: int) -> torch.Tensor:
    if settings.backend == "nccl":
        return torch.empty(1 << 45, dtype=torch.uint8, device=device())
    raise torch.OutOfMemoryError(OUT_OF_MEMORY.format(gpu=gpu))


def save_checkpoint(model: nn.Module, step: int) -> None:
    rank = dist.get_rank()
    path = pathlib.Path(settings.options["checkpoints"]) / f"step_{step}_rank{rank}.pt"
    path.parent.mkdir(parents=True, exist_ok=True)
    if settings.hits("checkpoint", rank):
        path.symlink_to(settings.options["full_device"])
    say("saving checkpoint of step %d to %s", step, path)
    if settings.options.get("plain_file"):
        with path.open("wb") as file:
            torch.save(model.state_dict(), file)
    else:
        torch.save(model.state_dict(), path)


def tokenize(step: int, rank: int) -> None:
    """The native part of the input pipeline: where processes crash, are killed, or leave without a word."""
    if settings.hits("signal", rank, step):
        os.kill(os.getpid(), signal.Signals[settings.options["signal"]])
        time.sleep(1)
    if settings.hits("null-pointer", rank, step):
        ctypes.string_at(0)
    if settings.hits("truncated-map", rank, step):
        read_truncated_map()
    if settings.hits("hard-exit", rank, step):
        os._exit(settings.options["exit_code"])
    if settings.hits("soft-exit", rank, step):
        sys.exit(settings.options["exit_code"])
    if settings.hits("backtracking", rank, step):
        re.match(r"(\w+\s?)+$", "word " * 40 + "!")


def read_truncated_map() -> bytes:
    """Reads shared memory whose pages are gone, which the kernel answers with SIGBUS."""
    with tempfile.TemporaryFile(dir="/dev/shm") as file:
        file.truncate(1 << 20)
        shared = mmap.mmap(file.fileno(), 1 << 20)
        file.truncate(0)
        return shared[:4096]


def check(loss: float, step: int) -> None:
    if settings.hits("diverged", dist.get_rank(), step):
        loss = float("nan")
    if loss != loss:
        raise ValueError(f"loss is {loss} at step {step}, giving up")


def main() -> None:
    if settings.hits("missing-module", int(os.environ["RANK"])):
        import flash_kernels  # noqa: F401
    rank = setup()
    model = Encoder(width=settings.options.get("width", 16)).to(device())
    replica = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(replica.parameters(), lr=0.05)
    loader = torch.utils.data.DataLoader(
        Articles(rank), batch_size=BATCH, num_workers=settings.options.get("workers", 0)
    )
    for step, batch in enumerate(loader):
        model.step = step
        tokenize(step, rank)
        inputs = batch["input"].to(device())
        labels = batch["label"].to(device())
        loss = nn.functional.cross_entropy(replica(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        check(loss.item(), step)
        say_step(step, loss.item())
        if step == settings.options.get("save_at"):
            save_checkpoint(model, step)
    dist.barrier()
    say("training finished")
    dist.destroy_process_group()


if __name__ == "__main__":
    start(main)
