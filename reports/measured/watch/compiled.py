"""Two public reports of differences between eager and compiled bf16, on a processor:

    PYTHONPATH=python HALFCHECK_PROGRAM=build/dev/halfcheck \\
        python3 reports/measured/watch/compiled.py

https://github.com/pytorch/pytorch/issues/168126, a triangular multiplication, and
https://github.com/pytorch/pytorch/issues/168186, halves of a product that are added up. Both are
written here anew and in small sizes; what halfcheck.torch.compiled says of each goes to
compiled.txt."""

import os
import sys

import torch
from torch import nn

import halfcheck.torch


class Triangle(nn.Module):
    """Of 168126: pairs of rows, gated and normed before and behind."""

    def __init__(self, width=8):
        super().__init__()
        self.norm_in, self.norm_out = nn.LayerNorm(width), nn.LayerNorm(width)
        self.p_in, self.g_in = (nn.Linear(width, 2 * width, bias=False) for _ in range(2))
        self.p_out, self.g_out = (nn.Linear(width, width, bias=False) for _ in range(2))

    def forward(self, x):
        x = self.norm_in(x)
        entered = x
        x = self.p_in(x) * self.g_in(x).sigmoid()
        a, b = torch.chunk(x.float(), 2, dim=-1)
        x = torch.einsum("bikd,bjkd->bijd", a, b)
        return self.p_out(self.norm_out(x)) * self.g_out(entered).sigmoid()


class Halves(nn.Module):
    """Of 168186."""

    def __init__(self, width=8):
        super().__init__()
        self.p_in, self.g_in = (nn.Linear(width, 2 * width, bias=False) for _ in range(2))

    def forward(self, x):
        a, b = torch.chunk(self.p_in(x) * self.g_in(x), 2, dim=-1)
        return a + b


def hold(name, module, x, out):
    for kind in (torch.float32, torch.bfloat16):
        torch._dynamo.reset()
        regions = halfcheck.torch.compiled()
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=kind != torch.float32):
            eager = module(x)
            made = torch.compile(module, backend=regions)(x)
        off = float((eager.float() - made.float()).abs().max())
        precision = "fp32" if kind == torch.float32 else "autocast bf16"
        print(f"{name}, {precision}: eager and compiled differ by up to {off:.2g}\n"
              f"  of numbers up to {float(eager.abs().max()):.2g}", file=out)
        print(f"{regions}\n", file=out, flush=True)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compiled.txt")
    with open(path, "w", encoding="utf-8") as out:
        print(f"PyTorch {torch.__version__.split('+')[0]} on a processor\n", file=out)
        hold("168126", Triangle(), torch.randn(1, 3, 3, 8), out)
        hold("168186", Halves(), torch.randn(1, 3, 3, 8), out)
    with open(path, encoding="utf-8") as file:
        sys.stdout.write(file.read())


if __name__ == "__main__":
    main()
