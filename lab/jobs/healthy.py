"""A training that ends well but is noisy: warnings, handled errors, retries, progress bars."""

from __future__ import annotations

import sys
import time
import warnings

import torch
import torch.distributed as dist
from torch import nn
from trainer import Classifier, Corpus, device, log, say, say_step, settings, setup, start

BATCH = 8


def read_sample(sample: dict[str, torch.Tensor], step: int) -> torch.Tensor:
    """Some samples are broken; the program says so and goes on."""
    if settings.hits("skipped-sample", dist.get_rank(), step):
        try:
            return sample["pixels"]
        except KeyError:
            log.exception("sample of step %d has no pixels, using the text only", step)
    if settings.hits("retried-download", dist.get_rank(), step):
        log.warning("download timed out after 30 s: connection reset by peer, retrying (1/5)")
        log.warning("error rate 0.02, 0 errors in the last minute")
    return sample["input"]


def main() -> None:
    rank = setup()
    if settings.hits("warnings", rank):
        warnings.warn("lr_scheduler.step() was called before optimizer.step()", UserWarning, stacklevel=1)
    model = Classifier().to(device())
    unused = bool(settings.options.get("find_unused"))
    replica = nn.parallel.DistributedDataParallel(model, find_unused_parameters=unused)
    optimizer = torch.optim.SGD(replica.parameters(), lr=0.05)
    loader = torch.utils.data.DataLoader(Corpus(settings.steps * BATCH), batch_size=BATCH)
    bars = settings.options.get("bars")
    batches = loader
    if bars:
        from tqdm import tqdm

        batches = tqdm(loader, desc=f"rank {rank}", disable=bars == "first" and rank != 0, file=sys.stderr)
    for step, batch in enumerate(batches):
        loss = nn.functional.cross_entropy(replica(read_sample(batch, step).to(device())), batch["label"].to(device()))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if bars:
            time.sleep(0.12)
        else:
            say_step(step, loss.item())
    say("training finished, final loss %.4f", loss.item())
    if settings.options.get("tidy", True):
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    start(main)
