#!/usr/bin/env python3
"""Two processes with DistributedDataParallel and gloo, each of which watches its own steps.

    PYTHONPATH=python reports/measured/watch/ddp.py [MODEL]"""

import os
import sys
import tempfile
import warnings

import torch
from torch import distributed, multiprocessing
from torch.nn.parallel import DistributedDataParallel

import halfcheck.torch
import kinds


class _Called(torch.nn.Module):
    """The loss of a model as what it makes, so that DDP sees it."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, batch):
        return self.model.loss(batch)


def _work(rank, count, model, meeting, folder):
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank,
                                   world_size=count)
    training = kinds.Training(model, kinds.Kind(), wrap=lambda m: DistributedDataParallel(
        _Called(m)))
    training.draw_of(rank)
    training.step()
    with halfcheck.torch.watch() as seen:
        training.step()
    same = [torch.zeros_like(p) for p in training.model.parameters()]
    for mine, other in zip(training.model.parameters(), same):
        other.copy_(mine.detach())
        distributed.broadcast(other, 0)
    equal = all(torch.equal(a, b) for a, b in zip(training.model.parameters(), same))
    with open(os.path.join(folder, str(rank)), "w", encoding="utf-8") as file:
        print(f"rank {rank}: weights are equal on both: {equal}\n{seen}", file=file)
    distributed.destroy_process_group()


def seen_by_two(model="nanoGPT"):
    """What each rank says."""
    with tempfile.TemporaryDirectory() as folder:
        multiprocessing.spawn(_work, (2, model, os.path.join(folder, "meeting"), folder), 2)
        return [open(os.path.join(folder, str(rank)), encoding="utf-8").read()
                for rank in range(2)]


if __name__ == "__main__":
    print("\n".join(seen_by_two(*sys.argv[1:])))
