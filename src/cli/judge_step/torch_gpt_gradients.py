"""The gradients of gpt-tiny in fp64, halfcheck's against PyTorch's. Run by torch-test.

halfcheck takes steps in fp64 and writes one down; PyTorch takes the same one from the same weights
and bytes, by a model that is written here from docs/transformers.md alone. No element of a gradient
may be further from PyTorch's than 1e-13 of the largest in its tensor. The largest seen is 1e-15.
"""

import os
import subprocess
import sys
import tempfile

import torch
from torch.nn import functional

from halfcheck import safetensors

PROGRAM = sys.argv[1]
TYPES = {"F64": torch.float64, "F32": torch.float32, "I32": torch.int32}
BLOCKS, HEADS, LENGTH, WIDTH = 2, 2, 16, 32
MOST = 1e-13


def halfcheck_step():
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "run")
        ran = subprocess.run([PROGRAM, "train", "--network", "gpt-tiny", "--recipe", "fp64",
                              "--batch", "4", "--epochs", "1", "--dump", "3", "--out", out],
                             check=False, text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
        path = os.path.join(out, "step-3.safetensors")
        assert ran.returncode != 2 and os.path.exists(path), ran.stdout
        tensors, _ = safetensors.read(path)
        return {name: torch.frombuffer(bytearray(data), dtype=TYPES[kind]).reshape(shape)
                for name, (kind, shape, data) in tensors.items()}


def norm(x, weight, eps=1e-5):
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * weight


def attention(x, qkv):
    depth = WIDTH // HEADS
    number = torch.arange(depth) % (depth // 2)
    angle = torch.arange(LENGTH).double()[:, None] / 10000.0 ** (2.0 * number.double() / depth)

    def heads(part):
        return part.reshape(-1, LENGTH, HEADS, depth).transpose(1, 2)

    def turned(part):
        other = torch.cat([-part[..., depth // 2:], part[..., :depth // 2]], -1)
        return part * torch.cos(angle) + other * torch.sin(angle)

    q, k, v = (heads(part) for part in (x @ qkv.T).split(WIDTH, -1))
    scores = turned(q) @ turned(k).transpose(-1, -2) / depth ** 0.5
    later = torch.ones(LENGTH, LENGTH).triu(1).bool()
    y = scores.masked_fill(later, -torch.inf).softmax(-1) @ v
    return y.transpose(1, 2).reshape(-1, LENGTH, WIDTH)


def loss_of(weight, text, labels, eps=1e-5):
    x = weight["tok.weight"][text]
    for b in range(BLOCKS):
        y = attention(norm(x, weight[f"{b}.norm1.weight"], eps), weight[f"{b}.attention.qkv"])
        x = x + y @ weight[f"{b}.proj.weight"].T
        y = norm(x, weight[f"{b}.norm2.weight"], eps)
        y = functional.silu(y @ weight[f"{b}.mlp.gate"].T) * (y @ weight[f"{b}.mlp.up"].T)
        x = x + y @ weight[f"{b}.down.weight"].T
    logits = norm(x, weight["norm.weight"], eps) @ weight["tok.weight"].T
    return functional.cross_entropy(logits.reshape(-1, 256), labels.reshape(-1).long())


def worst(step, eps=1e-5):
    """The largest difference of an element, relative to the largest of its tensor."""
    weight = {name[8:]: value.clone().requires_grad_() for name, value in step.items()
              if name.startswith("weights.")}
    loss_of(weight, step["batch.text"].reshape(-1, LENGTH).long(), step["batch.labels"],
            eps).backward()
    assert len(weight) == 2 + 7 * BLOCKS, sorted(weight)
    return max(((step["gradients." + name] - value.grad).abs().max() / value.grad.abs().max())
               .item() for name, value in weight.items())


taken = halfcheck_step()
off = worst(taken)
print(f"gpt-tiny in fp64: gradients differ from PyTorch's by {off:.1e} at most")
assert off <= MOST, f"{off} is more than {MOST}"
planted = worst(taken, eps=1.00001e-5)
assert planted > MOST, "an eps of 1.00001e-5 was not seen"
