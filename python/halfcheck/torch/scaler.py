"""torch's GradScaler between `halfcheck gen scaler/torch` and `halfcheck verify scaler/torch`.

It scales no gradient that is not made up: a trace says in which steps the gradients overflow, and
the scale after each step is the answer. torch.amp.GradScaler("cpu") came with torch 2.3.
"""

import sys

import torch


def lacks() -> "str | None":
    """Why this torch has no GradScaler that works without a GPU, or None."""
    if not hasattr(torch.amp, "GradScaler"):
        return f"torch {torch.__version__} has a GradScaler for CUDA alone (since 2.3 for the CPU)"
    return None


def answer(interval: int) -> None:
    """Reads a trace from standard input, and writes it with the scale after each step."""
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=0.0, foreach=False)
    scaler = torch.amp.GradScaler("cpu", growth_interval=interval)
    scaler.scale(torch.zeros(1))  # its scale is made at the first call
    for line in sys.stdin:
        if line.startswith("#"):
            print(line, end="")
            continue
        step, steps, found = line.split()
        weight.grad = torch.full_like(weight, float(found))
        scaler.step(optimizer)
        scaler.update()
        print(step, steps, found, scaler.get_scale().hex())
