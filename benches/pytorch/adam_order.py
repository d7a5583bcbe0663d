#!/usr/bin/env python3
"""Holds the orders of roundings that kernels/element/adam.h states as torch-loop and torch-fused to a real PyTorch on
the CPU, and writes rows of its results for cases/optimizer/steps.c.

    python3 adam_order.py [--elements 200000] [--rows FILE]

From 2.0 on torch.optim.Adam and AdamW themselves are run (fused from 2.4 on); an older torch runs the tensor
methods that 2.x calls, one after the other: lerp_, mul_, addcmul_, sqrt, div, add_, addcdiv_. What is wanted is
computed here in numpy, each fp32 operation rounded once, fma by rounding to odd in fp64."""
import argparse
import math

import numpy as np
import torch

F = np.float32
VERSION = tuple(int(x) for x in torch.__version__.split("+")[0].split("a")[0].split(".")[:2])
# Hyperparameters that fp32 holds, but for beta2. In bf16 those that are rounded into it before 2.0 are bf16
# numbers: 1 - lr * decay, decay, beta2, sqrt(1 - beta2^t), eps.
SETTINGS = {
    torch.float32: [
        (1, 1e-3, 0.9, 0.999, 1e-8, 1e-2), (2, 1e-3, 0.9, 0.99, 1e-4, 0.0), (10, 0.5, 0.4, 0.95, 1e-8, 0.1),
        (1000, 3e-4, 0.95, 0.999, 1e-6, 1e-2), (65537, 0.1, 0.5, 0.9999, 0.0, 0.0)],
    torch.bfloat16: [
        (1, 0.5, 0.9, 0.75, 2.0**-20, 2.0**-4), (1, 2.0**-6, 0.4, 0.75, 2.0**-10, 0.0)],
}


def fma(a, b, c):
    """a b + c of fp32 numbers, rounded once."""
    a, b, c = (np.asarray(x, dtype=F).astype(np.float64) for x in (a, b, c))
    p = a * b + np.zeros_like(c)
    s = p + c
    t = s - p
    error = (p - (s - t)) + (c - t)
    bits = s.view(np.int64)
    odd = np.where((error > 0) == (s > 0), bits + 1, bits - 1)
    bits = np.where((error != 0) & (bits & 1 == 0), odd, bits)
    return bits.view(np.float64).astype(F)


def rounded(x, dtype):
    return torch.from_numpy(np.ascontiguousarray(x)).to(dtype).float().numpy()


def want(dtype, decoupled, setting, w, g, m, v, fused):
    """kernels/element/adam.h, HC_ORDER_TORCH_LOOP (or _FUSED); numpy arrays of fp32."""
    t, lr, beta1, beta2, eps, decay = setting
    keep = (lambda x: x) if fused else (lambda x: rounded(x, dtype))
    first, second = 1 - beta1**t, 1 - beta2**t
    if decoupled:
        w = keep(w * F(1 - lr * decay))
    elif decay:
        g = keep(fma(F(decay), w, g))
    rest = F(1 - beta1)
    m = keep(fma(rest, g - m, m) if rest < 0.5 else fma(rest - F(1), g - m, g))
    v = keep(fma(F(1 - beta2) * g, g, keep(F(beta2) * v)))
    d = keep(keep(keep(np.sqrt(v)) / F(math.sqrt(second))) + F(eps))
    w = keep(w + F(-(lr / first)) * m / d)
    return rounded(w, dtype), rounded(m, dtype), rounded(v, dtype)


def by_methods(decoupled, setting, w, g, m, v):
    t, lr, beta1, beta2, eps, decay = setting
    if decoupled:
        w.mul_(1 - lr * decay)
    elif decay:
        g = g.add(w, alpha=decay)
    m.lerp_(g, 1 - beta1)
    v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
    d = (v.sqrt() / math.sqrt(1 - beta2**t)).add_(eps)
    w.addcdiv_(m, d, value=-(lr / (1 - beta1**t)))
    return w, m, v


def by_optimizer(decoupled, setting, w, g, m, v, fused):
    t, lr, beta1, beta2, eps, decay = setting
    w = torch.nn.Parameter(w)
    w.grad = g
    kind = torch.optim.AdamW if decoupled else torch.optim.Adam
    options = {"fused": True} if fused else {"foreach": False}
    adam = kind([w], lr=lr, betas=(beta1, beta2), eps=eps, weight_decay=decay, **options)
    adam.state[w] = {"step": torch.tensor(float(t - 1)), "exp_avg": m, "exp_avg_sq": v}
    adam.step()
    return w.detach(), m, v


def inputs(dtype, n, seed):
    draw = torch.Generator().manual_seed(seed)
    w, g, m = (torch.randn(n, generator=draw) * s for s in (0.1, 0.01, 0.01))
    w[::4] = 0
    return [x.to(dtype) for x in (w, g, m, m * m + 1e-5)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--elements", type=int, default=200000)
    parser.add_argument("--rows", help="file for rows of results in C")
    options = parser.parse_args()
    ways = ["methods"] + (["loop"] if VERSION >= (2, 0) else []) + (["fused"] if VERSION >= (2, 4) else [])
    rows = []
    wrong = 0
    for dtype, settings in SETTINGS.items():
        for number, plain in enumerate(settings):
            setting = tuple(float(F(x)) if i in (1, 2) else x for i, x in enumerate(plain))
            for decoupled in (False, True):
                for way in ways:
                    before = inputs(dtype, options.elements, number)
                    now = [x.clone() for x in before]
                    if way == "methods":
                        got = by_methods(decoupled, setting, *now)
                    else:
                        got = by_optimizer(decoupled, setting, *now, way == "fused")
                    expected = want(dtype, decoupled, setting, *(x.float().numpy() for x in before), way == "fused")
                    off = [int((a.float().numpy().view(np.int32) != b.view(np.int32)).sum())
                           for a, b in zip(got, expected)]
                    wrong += sum(off)
                    print(f"{torch.__version__} {way:7} {str(dtype)[6:]:8} {'adamw' if decoupled else 'adam':5} "
                          f"t = {setting[0]:<6} differ in w, m, v: {off} of {options.elements}")
                    if way == "methods" and options.rows:
                        rows += table_rows(dtype, decoupled, setting, before, got)
    if options.rows:
        with open(options.rows, "w", encoding="ascii") as file:
            file.write(f"/* By benches/pytorch/adam_order.py with torch {torch.__version__}: op, format, t, decay; rate, betas, eps;\n"
                       "   w, g, m, v before; w, m, v after, as fp32 bits. */\n")
            file.writelines(rows)
    return 1 if wrong else 0


def table_rows(dtype, decoupled, setting, before, got):
    t, lr, beta1, beta2, eps, decay = setting
    name = {torch.float32: "HC_FP32", torch.bfloat16: "HC_BF16"}[dtype]
    rows = []
    for i in range(4):
        bits = [f"0x{x[i].float().numpy().view(np.uint32):08x}" for x in (*before, *got)]
        hyper = ", ".join(float(x).hex() for x in (lr, beta1, beta2, eps))
        rows.append(f"{{HC_OP_{'adamw' if decoupled else 'adam'}, {name}, {t}, {decay!r},\n"
                    f" {{{hyper}}},\n {{{', '.join(bits[:4])}}},\n {{{', '.join(bits[4:])}}}}},\n")
    return rows


if __name__ == "__main__":
    raise SystemExit(main())
