#!/usr/bin/env python3
"""Causal attention, 8 heads of 1024 x 64, forward and backward: host's kernels beside PyTorch's.

    benches/pytorch/attention.py [--halfcheck PROGRAM] [--threads N] [--rounds N]

A round is `halfcheck bench op/attention-long op/attention_backward-long`, and then PyTorch's flash
kernel and its math path, of which the faster one counts. Times are processor time of all threads,
the least of the rounds, in milliseconds; the ratio is PyTorch's over host's, so that more than 1
is good for host."""

import argparse
import os
import subprocess
import time

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that wait do not count

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

HEADS, LENGTH, DEPTH, CALLS = 8, 1024, 64, 5
FORMATS = {"fp32": torch.float32, "bf16": torch.bfloat16}
PASSES = {"op/attention-long": "forward", "op/attention_backward-long": "backward"}


def host(program, threads):
    """Milliseconds by pass and format."""
    text = subprocess.run([program, "bench", *PASSES], check=True, text=True, capture_output=True,
                          env={**os.environ, "OMP_NUM_THREADS": str(threads)}).stdout
    rows = [line.split() for line in text.splitlines()[1:] if line.split()]
    return {(PASSES[row[0]], row[1]): 1000 / float(row[2]) for row in rows}


def least(work):
    work()
    spent = []
    for _ in range(CALLS):
        start = time.process_time()
        work()
        spent.append(1000 * (time.process_time() - start))
    return min(spent)


def pytorch():
    times = {}
    for name, dtype in FORMATS.items():
        for kernel in (SDPBackend.FLASH_ATTENTION, SDPBackend.MATH):
            q, k, v = (torch.randn(1, HEADS, LENGTH, DEPTH, dtype=dtype, requires_grad=True)
                       for _ in range(3))
            with sdpa_kernel(kernel):
                def forward():
                    return F.scaled_dot_product_attention(q, k, v, is_causal=True)
                with torch.no_grad():
                    spent = {"forward": least(forward)}
                y = forward()
                dy = torch.randn_like(y)
                spent["backward"] = least(
                    lambda: torch.autograd.grad(y, (q, k, v), dy, retain_graph=True))
            for way, x in spent.items():
                times[way, name] = min(x, times.get((way, name), x))
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--halfcheck", default="build/dev/halfcheck")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    rounds = [(host(given.halfcheck, given.threads), pytorch()) for _ in range(given.rounds)]
    print(f"torch {torch.__version__}, {given.threads} threads")
    print(f"{'pass':10}{'format':8}{'host':>8}{'PyTorch':>10}{'ratio':>8}")
    for key in rounds[0][1]:
        ours, theirs = (min(part[key] for part in side) for side in zip(*rounds))
        print(f"{key[0]:10}{key[1]:8}{ours:8.1f}{theirs:10.1f}{theirs / ours:8.2f}")


if __name__ == "__main__":
    main()
