#!/usr/bin/env python3
"""What watching costs: steps of one training, watched and not, one after the other.

    PYTHONPATH=python benches/pytorch/watch.py [--width N] [--foreach] [--threads N]
                                                 [--rounds N] [--every N]

The training is a GPT with four layers, of width 128 unless another is asked for, on 8 rows of 128
tokens, with AdamW, in a loop or by lists. A round is a plain step and a watched one. Processor time is that of the training and, apart from it, of the
program that judges beside it. The last line is a training in which one step of N is watched,
halfcheck's whole work included. Times of one run compare; those of two do not."""

import argparse
import resource
import statistics
import time

import torch
from torch import nn
import torch.nn.functional as F

import halfcheck.torch

LAYERS, HEADS, ROWS, TOKENS, VOCABULARY = 4, 4, 8, 128, 256


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = (part.view(ROWS, TOKENS, HEADS, -1).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).split(x.shape[2], 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(x.shape))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


def training(width, foreach):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(VOCABULARY, width), *(Block(width) for _ in range(LAYERS)),
                          nn.LayerNorm(width), nn.Linear(width, VOCABULARY))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, foreach=foreach)
    ids = torch.randint(0, VOCABULARY, (ROWS, TOKENS + 1))

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()).backward()
        optimizer.step()
    return step


def spent():
    """Processor seconds of this process, and of those that it has waited for."""
    beside = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time(), beside.ru_utime + beside.ru_stime


def timed(work):
    before = spent()
    work()
    return [b - a for a, b in zip(before, spent())]


def main():
    parser = argparse.ArgumentParser()
    for name, default in (("--width", 128), ("--threads", 1), ("--rounds", 5), ("--every", 100)):
        parser.add_argument(name, type=int, default=default)
    parser.add_argument("--foreach", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    step = training(arguments.width, arguments.foreach)
    step()

    def watched():
        with halfcheck.torch.watch() as seen:
            step()
        return seen

    seen = watched()
    rounds = [(timed(step), timed(watched)) for _ in range(arguments.rounds)]
    plain = statistics.median(one[0] for one, _ in rounds)
    own = statistics.median(two[0] for _, two in rounds)
    judge = statistics.median(two[1] for _, two in rounds)
    print(f"{seen.made} calls that make numbers, {seen.asked} judged, {seen.elements} elements")
    print(f"a step           {plain:.3f} s of a processor")
    print(f"a watched step   {own:.3f} s in the training, {own / plain:.2f} times the step")
    print(f"the judge        {judge:.3f} s beside it; with it "
          f"{(own + judge) / plain:.2f} times the step")
    share = (own + judge - plain) / plain / arguments.every
    print(f"one of {arguments.every} steps   {100 * share:.2f} % more")


if __name__ == "__main__":
    main()
