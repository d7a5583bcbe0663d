#!/usr/bin/env python3
"""The GPT of `halfcheck train --network gpt` in PyTorch, and how many tokens each trains with in a
second of the processor.

    benches/pytorch/gpt.py [--halfcheck PROGRAM] [--threads N] [--rounds N] [--part N]
                           [--ways eager,compiled]

A round is an epoch of halfcheck, 100 steps of 16 pieces of 128 bytes and an evaluation of 320
pieces, the program's start and end with it, and the N-th part of as much by each of PyTorch's
ways: forward, backward, clipping, AdamW, and loss alone for the evaluation. Times are processor
time of all threads, the least of the rounds. bf16 is autocast beside the recipe amp-bf16. The ratio
is to PyTorch's fastest way, so that more than 1 is good for halfcheck."""

import argparse
import os
import resource
import subprocess
import tempfile
import time

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that wait do not count

import torch
import torch.nn.functional as F
from torch import nn

BLOCKS, WIDTH, HEADS, LENGTH, HIDDEN, BYTES, BATCH = 4, 128, 4, 128, 352, 256, 16
STEPS, TESTS = 100, 20
RECIPES = {"fp32": "fp32", "bf16": "amp-bf16"}


def angles():
    turn = torch.arange(LENGTH)[:, None] / 10000.0 ** (torch.arange(0, 32, 2) / 32)
    return turn.cos().repeat(1, 2), turn.sin().repeat(1, 2)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(WIDTH, 1e-5), nn.RMSNorm(WIDTH, 1e-5)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate, self.up = (nn.Linear(WIDTH, HIDDEN, bias=False) for _ in range(2))
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x, cos, sin):
        def turned(t):
            a, b = t.chunk(2, -1)
            return (t * cos + torch.cat((-b, a), -1) * sin).to(t.dtype)

        n = x.shape[0]
        q, k, v = self.qkv(self.norm1(x)).view(n, LENGTH, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        o = F.scaled_dot_product_attention(turned(q), turned(k), v, is_causal=True)
        x = x + self.proj(o.transpose(1, 2).reshape(n, LENGTH, WIDTH))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(BYTES, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))
        self.norm = nn.RMSNorm(WIDTH, 1e-5)
        for name, tensor in zip(("cos", "sin"), angles()):
            self.register_buffer(name, tensor)
        for p in self.parameters():
            if p.ndim == 2:
                nn.init.normal_(p, std=0.02)

    def forward(self, tokens):
        x = self.tok(tokens)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        return F.linear(self.norm(x), self.tok.weight)


class Training:
    def __init__(self, precision, way):
        torch.manual_seed(1)
        self.gpt, self.bf16 = Gpt(), precision == "bf16"
        assert sum(p.numel() for p in self.gpt.parameters()) == 836736
        matrices = [p for p in self.gpt.parameters() if p.ndim == 2]
        others = [p for p in self.gpt.parameters() if p.ndim < 2]
        self.optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1},
                                            {"params": others, "weight_decay": 0}],
                                           lr=2e-3, betas=(0.9, 0.95), fused=True)
        self.loss = self.forward if way == "eager" else torch.compile(self.forward)
        self.text = torch.randint(BYTES, (1 << 20,))

    def forward(self, pieces):
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
            logits = self.gpt(pieces[:, :-1])
        return F.cross_entropy(logits.float().view(-1, BYTES), pieces[:, 1:].reshape(-1))

    def pieces(self):
        at = torch.randint(len(self.text) - LENGTH, (BATCH, 1))
        return self.text[at + torch.arange(LENGTH + 1)]

    def epoch(self, part):
        """Seconds of the processor for an epoch, of which the part-th part is run."""
        start = time.process_time()
        for _ in range(STEPS // part):
            self.loss(self.pieces()).backward()
            nn.utils.clip_grad_norm_(self.gpt.parameters(), 1)
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
        with torch.no_grad():
            for _ in range(TESTS // part):
                self.loss(self.pieces())
        return part * (time.process_time() - start)


def halfcheck(program, recipe, threads):
    """The same of a whole run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run([program, "train", "--network", "gpt", "--recipe", recipe, "--epochs", "1",
                              "--measure-every", "1000000", "--threads", str(threads), "--out", folder],
                             stdout=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ran.returncode == 2:
        raise SystemExit(2)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--halfcheck", default="build/release/halfcheck")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--part", type=int, default=5)
    parser.add_argument("--ways", default="eager,compiled")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    ways = given.ways.split(",")
    tokens = STEPS * BATCH * LENGTH
    print(f"torch {torch.__version__}, {given.threads} threads; tokens in a second of the processor")
    print(f"{'':6}{'halfcheck':>10}" + "".join(f"{way:>10}" for way in ways) + f"{'ratio':>8}")
    for precision, recipe in RECIPES.items():
        theirs = {way: Training(precision, way) for way in ways}
        for training in theirs.values():
            training.epoch(TESTS)  # compiles
        ours, spent = [], {way: [] for way in ways}
        for _ in range(given.rounds):
            ours.append(halfcheck(given.halfcheck, recipe, given.threads))
            for way, training in theirs.items():
                spent[way].append(training.epoch(given.part))
        best = {way: min(times) for way, times in spent.items()}
        print(f"{precision:6}{tokens / min(ours):10.0f}" +
              "".join(f"{tokens / best[way]:10.0f}" for way in ways) +
              f"{min(best.values()) / min(ours):8.2f}", flush=True)


if __name__ == "__main__":
    main()
