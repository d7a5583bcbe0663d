#!/usr/bin/env python3
"""Darknet-16 in PyTorch, as a measure for `halfcheck bench training/*`: images/s of whole training steps
(forward, backward, AdamW) at one batch size, on random images, CPU or CUDA.

    python3 benches/pytorch/darknet16.py [--batch 64] [--steps 20] [--threads 2] [--halfcheck PROGRAM]

With --halfcheck the two take turns, one after the other, and the ratio is printed."""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

import torch
from torch import nn


def conv(inputs, outputs, kernel, stride=1):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False),
        nn.BatchNorm2d(outputs),
        nn.LeakyReLU(0.1, inplace=True),
    )


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Sequential(conv(width, width // 2, 1), conv(width // 2, width, 3))

    def forward(self, x):
        return x + self.inner(x)


def darknet16(classes):
    layers = [conv(3, 16, 3)]
    width = 16
    for group, blocks in enumerate([1, 2, 2, 2, 2]):
        layers.append(conv(width, 2 * width, 3, 1 if group == 1 else 2))
        width *= 2
        layers += [Residual(width) for _ in range(blocks)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes))


def step_time(network, optimizer, images, labels):
    start = time.perf_counter()
    loss = nn.functional.cross_entropy(network(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    loss.item()
    return time.perf_counter() - start


def halfcheck_rate(program):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bench.json")
        subprocess.run([program, "bench", "training/darknet16", "--json", path], check=True,
                       stdout=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as file:
            rates = json.load(file)["rates"]
    return next(row["rate"] for row in rates if row["what"] == "fp32")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--halfcheck")
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    network = darknet16(10)
    assert sum(p.numel() for p in network.parameters()) == 5_071_482
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3, betas=(0.9, 0.99), weight_decay=1e-2)
    images = torch.randn(arguments.batch, 3, 32, 32).contiguous(memory_format=torch.channels_last)
    network = network.to(memory_format=torch.channels_last)
    labels = torch.randint(10, (arguments.batch,))

    ours, theirs = [], []
    for _ in range(3):
        step_time(network, optimizer, images, labels)
    for _ in range(arguments.rounds):
        times = [step_time(network, optimizer, images, labels) for _ in range(arguments.steps)]
        theirs.append(arguments.batch / statistics.median(times))
        print(f"PyTorch {torch.__version__}: {theirs[-1]:.0f} images/s", flush=True)
        if arguments.halfcheck:
            ours.append(halfcheck_rate(arguments.halfcheck))
            print(f"halfcheck: {ours[-1]:.0f} images/s, {ours[-1] / theirs[-1]:.2f} times", flush=True)


if __name__ == "__main__":
    main()
