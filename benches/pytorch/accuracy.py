#!/usr/bin/env python3
"""Trains Darknet-16 on real CIFAR-10 in PyTorch, in fp32 with the network, augmentation, AdamW and one-cycle of
`halfcheck train`: the accuracy that halfcheck's trainings are held against.

    python3 accuracy.py DATA [--classes airplane,dog] [--epochs 5] [--batch 64] [--rate 3e-3] [--seed 1] [--json FILE]

DATA holds CIFAR-10's binary files. Images are drawn in another order than halfcheck draws them, so that two runs
compare as two seeds do."""
import argparse
import json
import os
import sys
import time

import torch
from torch import nn

from darknet16 import DEVIATION, MEAN, augment, darknet16, one_cycle

NAMES = "airplane automobile bird cat deer dog frog horse ship truck".split()
RECORD = 1 + 3 * 32 * 32


def load(folder, files, classes):
    """Pixels u8 [N, 32, 32, 3] and labels [N], numbered in the order of `classes`."""
    rows = []
    for name in files:
        with open(os.path.join(folder, name), "rb") as file:
            data = file.read()
        if not data or len(data) % RECORD:
            raise ValueError(f"{name}: {len(data)} bytes are not whole records of {RECORD}")
        rows.append(torch.frombuffer(bytearray(data), dtype=torch.uint8).view(-1, RECORD))
    rows = torch.cat(rows)
    labels = torch.full((len(rows),), -1)
    for number, name in enumerate(classes):
        labels[rows[:, 0] == NAMES.index(name)] = number
    rows, labels = rows[labels >= 0], labels[labels >= 0]
    return rows[:, 1:].view(-1, 3, 32, 32).permute(0, 2, 3, 1).contiguous(), labels


def train_epoch(network, optimizer, data, arguments, epoch):
    """The mean loss. The last batch is as short as it comes."""
    pixels, labels = data
    mean, deviation = torch.tensor(MEAN), torch.tensor(DEVIATION)
    order = torch.randperm(len(labels))
    steps = (len(labels) + arguments.batch - 1) // arguments.batch
    total = 0.0
    network.train()
    for step in range(steps):
        lr, beta1 = one_cycle(arguments.rate, steps * arguments.epochs, epoch * steps + step)
        for group in optimizer.param_groups:
            group["lr"], group["betas"] = lr, (beta1, 0.99)
        index = order[step * arguments.batch:(step + 1) * arguments.batch]
        shifts, flips = torch.randint(9, (2, len(index))), torch.rand(len(index)) < 0.5
        loss = nn.functional.cross_entropy(network(augment(pixels, index, shifts, flips, mean, deviation)),
                                           labels[index])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / steps


def accuracy(network, data):
    pixels, labels = data
    network.eval()
    right = 0
    with torch.no_grad():
        for first in range(0, len(labels), 500):
            images = (pixels[first:first + 500].float() / 255 - torch.tensor(MEAN)) / torch.tensor(DEVIATION)
            logits = network(images.permute(0, 3, 1, 2))
            right += (logits.argmax(1) == labels[first:first + 500]).sum().item()
    return 100 * right / len(labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--classes", type=lambda text: text.split(","), default=NAMES)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--json")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    try:
        train = load(arguments.data, [f"data_batch_{i}.bin" for i in range(1, 6)], arguments.classes)
        test = load(arguments.data, ["test_batch.bin"], arguments.classes)
    except (OSError, ValueError) as error:
        print(f"accuracy.py: {error}", file=sys.stderr)
        return 2
    network = darknet16(len(arguments.classes)).to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(network.parameters(), betas=(0.9, 0.99), weight_decay=1e-2)
    rows = []
    for epoch in range(arguments.epochs):
        start = time.perf_counter()
        loss = train_epoch(network, optimizer, train, arguments, epoch)
        rate = len(train[1]) / (time.perf_counter() - start)
        rows.append({"epoch": epoch + 1, "loss": loss, "accuracy": accuracy(network, test), "images_per_second": rate})
        print(f"epoch {epoch + 1}/{arguments.epochs}  loss {loss:.4f}  accuracy {rows[-1]['accuracy']:6.2f} %  "
              f"{rate:.0f} images/s", flush=True)
        if arguments.json:
            with open(arguments.json, "w", encoding="utf-8") as file:
                json.dump({"torch": torch.__version__, "classes": arguments.classes, "batch": arguments.batch,
                           "rate": arguments.rate, "seed": arguments.seed, "epochs": rows}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
