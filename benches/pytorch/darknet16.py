#!/usr/bin/env python3
"""Darknet-16 in PyTorch, as a measure for `halfcheck train`: images/s of whole training steps (a batch
made on the device from a data set that lies there: random crop and flip; forward, backward, AdamW, one-cycle).

    python3 darknet16.py [--device cuda] [--precision fp32,fp16,bf16] [--batch 64,1024]
                         [--compile eager,reduce-overhead] [--halfcheck PROGRAM] [--json FILE]

With --halfcheck the two take turns and the ratio is to PyTorch's best way at that precision and batch.
fp32 is fp32 (TF32 is off, and is a precision of its own); fp16 is autocast with GradScaler, bf16 autocast.
The record is written anew after each measurement, so that a run which is cut leaves what it has."""
import argparse
import csv
import json
import math
import os
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn

RECIPES = {"fp32": "fp32", "tf32": "tf32", "fp16": "amp", "bf16": "amp-bf16"}
MEAN = (0.49139968, 0.48215841, 0.44653091)
DEVIATION = (0.24703223, 0.24348513, 0.26158784)


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


def one_cycle(peak, steps, step):
    """Learning rate and beta1: linear up over the first half, then a cosine down."""
    half = steps / 2
    if step < half:
        t = step / half
        return peak / 25 + (peak - peak / 25) * t, 0.95 - 0.10 * t
    down = (1 + math.cos(math.pi * (step - half) / half)) / 2
    return peak / 25e4 + (peak - peak / 25e4) * down, 0.95 - 0.10 * down


def augment(pixels, index, generator_shifts, flips, mean, deviation):
    """A batch [B, 3, 32, 32], channels last, of u8 pixels [N, 32, 32, 3]: padded by 4 by reflection,
    cropped, flipped, normalised."""
    line = torch.arange(32, device=pixels.device)
    across = torch.where(flips[:, None], 31 - line, line)

    def reflect(at):
        at = at.abs()
        return torch.where(at > 31, 62 - at, at)

    rows = reflect(line[None, :] + generator_shifts[0][:, None] - 4)
    columns = reflect(across + generator_shifts[1][:, None] - 4)
    batch = pixels[index[:, None, None], rows[:, :, None], columns[:, None, :]]
    return ((batch.float() / 255 - mean) / deviation).permute(0, 3, 1, 2)


class Training:
    """One way to train: precision, batch, eager or compiled."""

    def __init__(self, arguments, precision, batch, way):
        self.device, self.batch, self.precision, self.way = arguments.device, batch, precision, way
        cuda = self.device == "cuda"
        torch.manual_seed(0)
        self.network = darknet16(10).to(self.device, memory_format=torch.channels_last)
        assert sum(p.numel() for p in self.network.parameters()) == 5_071_482
        options = {"fused": True} if cuda else {}
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=3e-3, betas=(0.9, 0.99),
                                           weight_decay=1e-2, **options)
        if hasattr(torch.amp, "GradScaler"):
            self.scaler = torch.amp.GradScaler(self.device, enabled=precision == "fp16" and cuda)
        else:
            self.scaler = torch.cuda.amp.GradScaler(enabled=precision == "fp16" and cuda)
        self.pixels = torch.randint(256, (arguments.images, 32, 32, 3), dtype=torch.uint8, device=self.device)
        self.labels = torch.randint(10, (arguments.images,), device=self.device)
        self.mean = torch.tensor(MEAN, device=self.device)
        self.deviation = torch.tensor(DEVIATION, device=self.device)
        self.forward, self.augment = self.loss, augment
        if way != "eager":
            mode = None if way == "default" else way
            self.forward = torch.compile(self.loss, mode=mode)
            self.augment = torch.compile(augment)
        self.step_number = 0

    def loss(self, images, labels):
        half = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(self.precision)
        with torch.autocast(self.device, dtype=half or torch.bfloat16, enabled=half is not None):
            return nn.functional.cross_entropy(self.network(images), labels)

    def step(self):
        lr, beta1 = one_cycle(3e-3, 10000, self.step_number % 10000)
        for group in self.optimizer.param_groups:
            group["lr"], group["betas"] = lr, (beta1, 0.99)
        self.step_number += 1
        index = torch.randint(len(self.pixels), (self.batch,), device=self.device)
        shifts = torch.randint(9, (2, self.batch), device=self.device)
        flips = torch.rand(self.batch, device=self.device) < 0.5
        images = self.augment(self.pixels, index, shifts, flips, self.mean, self.deviation)
        loss = self.forward(images, self.labels[index])
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def rate(self, steps):
        """Images/s of so many steps, waited for once at the end."""
        set_tf32(self.precision == "tf32")
        wait(self.device)
        start = time.perf_counter()
        for _ in range(steps):
            self.step()
        wait(self.device)
        return steps * self.batch / (time.perf_counter() - start)


def set_tf32(allowed):
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed


def wait(device):
    if device == "cuda":
        torch.cuda.synchronize()


def halfcheck_rate(arguments, recipe, batch):
    """The best epoch but the first of a training on synthetic images."""
    steps = 200 if arguments.device == "cuda" and batch < 512 else 24 if arguments.device == "cuda" else 4
    with tempfile.TemporaryDirectory() as folder:
        command = [arguments.halfcheck, "train", "--recipe", recipe, "--backend", arguments.backend, "--batch",
                   str(batch), "--epochs", "3", "--images", str((steps * batch + 9) // 10), "--out", folder]
        if arguments.device == "cuda":
            command += ["--measure-every", "1000000"]
        ran = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if ran.returncode == 2:  # 1: it did not learn, which such a short one may well not
            raise RuntimeError(ran.stderr.strip())
        with open(os.path.join(folder, "epochs.csv"), encoding="utf-8") as file:
            rates = [float(row["images_per_second"]) for row in csv.DictReader(file)]
    return max(rates[1:])


class Record:
    """halfcheck's schema: rates, and what they were measured on."""

    def __init__(self, path):
        self.path = path
        self.document = {"schema": 1, "environment": {"torch": torch.__version__, "python": sys.version.split()[0]},
                         "results": [], "rates": []}
        if torch.cuda.is_available():
            self.document["environment"].update(gpu=torch.cuda.get_device_name(), cuda=torch.version.cuda,
                                                cudnn=str(torch.backends.cudnn.version()))

    def add(self, bench, what, rate, unit, against=None, other=None):
        row = {"bench": bench, "what": what, "rate": rate, "unit": unit}
        ratio = ""
        if against:
            row.update(against=against, other=other, ratio=rate / other)
            ratio = f"  {rate / other:.2f} of {against}"
        self.document["rates"].append(row)
        print(f"{bench:28} {what:32} {rate:12.4g} {unit}{ratio}", flush=True)
        if self.path:
            with open(self.path + ".part", "w", encoding="utf-8") as file:
                json.dump(self.document, file, indent=1)
            os.replace(self.path + ".part", self.path)


def peaks(record, device):
    """What the device does at its best: a copy, and large products."""
    def best(work):
        work()
        times = []
        for _ in range(5):
            wait(device)
            start = time.perf_counter()
            for _ in range(10):
                work()
            wait(device)
            times.append((time.perf_counter() - start) / 10)
        return min(times)

    x = torch.randn(1 << 28, device=device)
    y = torch.empty_like(x)
    record.add("pytorch/copy", "fp32", 2 * 4 * len(x) / best(lambda: y.copy_(x)), "bytes/s")
    del x, y
    set_tf32(False)
    for name, kind in (("fp32", torch.float32), ("fp16", torch.float16), ("bf16", torch.bfloat16)):
        a = torch.randn(8192, 8192, device=device).to(kind)
        record.add("pytorch/matmul", name + " 8192", 2 * 8192**3 / best(lambda: a @ a), "FLOP/s")


def measure(record, arguments, precision, batch, deadline):
    """All ways of PyTorch and halfcheck in turns; the best of each."""
    steps = arguments.steps
    trainings, rates, ours = [], {}, []
    for way in arguments.compile:
        if time.monotonic() > deadline:
            break
        try:
            training = Training(arguments, precision, batch, way)
            training.rate(max(3, steps // 4))
            trainings.append(training)
        except Exception as error:  # a compiler that is not there, say: the other ways still count
            print(f"{precision} {way}: {str(error).strip().splitlines()[-1]}", file=sys.stderr, flush=True)
    for _ in range(arguments.rounds):
        for training in trainings:
            rates[training.way] = max(rates.get(training.way, 0), training.rate(steps))
        if arguments.halfcheck and trainings:
            try:
                ours.append(halfcheck_rate(arguments, RECIPES[precision], batch))
            except RuntimeError as error:
                print(f"halfcheck {RECIPES[precision]}: {error}", file=sys.stderr, flush=True)
    for way, rate in rates.items():
        record.add("pytorch/darknet16", f"{precision} batch {batch} {way}", rate, "images/s")
    if ours:
        way = max(rates, key=rates.get)
        record.add("training/against-pytorch", f"{RECIPES[precision]} batch {batch}", max(ours), "images/s",
                   f"PyTorch {torch.__version__} {precision} {way}", rates[way])


def main():
    def words(text):
        return text.split(",")

    def numbers(text):
        return [int(word) for word in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--precision", type=words, help="default fp32; on cuda fp32,fp16,bf16")
    parser.add_argument("--batch", type=numbers, help="default 64; on cuda 64,1024")
    parser.add_argument("--compile", type=words, help="eager, default, reduce-overhead (CUDA graphs); default eager; "
                        "on cuda eager,reduce-overhead")
    parser.add_argument("--steps", type=int, help="in a round; default 20; on cuda 100")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--images", type=int, default=10000, help="of the random data set")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--halfcheck", help="the program to take turns with")
    parser.add_argument("--backend", help="its backend (default: cuda on cuda, host on cpu)")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin nothing new after so many")
    parser.add_argument("--json")
    arguments = parser.parse_args()

    cuda = arguments.device == "cuda"
    if cuda and not torch.cuda.is_available():
        print("darknet16.py: this PyTorch finds no CUDA device", file=sys.stderr)
        return 2
    arguments.precision = arguments.precision or (["fp16", "fp32", "bf16"] if cuda else ["fp32"])
    arguments.batch = arguments.batch or ([64, 1024] if cuda else [64])
    arguments.compile = arguments.compile or (["eager", "reduce-overhead"] if cuda else ["eager"])
    arguments.steps = arguments.steps or (100 if cuda else 20)
    arguments.backend = arguments.backend or ("cuda" if cuda else "host")
    torch.set_num_threads(arguments.threads)

    deadline = time.monotonic() + arguments.seconds
    record = Record(arguments.json)
    if cuda:
        peaks(record, arguments.device)
    for batch in arguments.batch:
        for precision in arguments.precision:
            if time.monotonic() > deadline:
                print(f"not begun, for lack of time: {precision} batch {batch}", flush=True)
            else:
                measure(record, arguments, precision, batch, deadline)
    return 0


if __name__ == "__main__":
    sys.exit(main())
