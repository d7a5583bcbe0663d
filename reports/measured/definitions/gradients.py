#!/usr/bin/env python3
"""Shows in torch alone why three of its gradients in fp32 are beyond the bounds of derived texts:
halfcheck is not asked. Needs torch and mpmath. Errors are in u = 2^-24."""

import math

import mpmath
import torch
import torch.nn.functional as F

mpmath.mp.prec = 100
U = 2.0 ** -24


def grad(f, x, dy=None):
    x = x.clone().requires_grad_(True)
    dy = torch.ones_like(x) if dy is None else dy
    return torch.autograd.grad(f(x), x, dy)[0].tolist()


def worst(got, want):
    return max(abs(a - b) / U for a, b in zip(got, want))


def main():
    x = torch.linspace(-0.5, 0.5, 5001)
    numbers = [mpmath.mpf(v) for v in x.tolist()]
    want = [mpmath.ncdf(v) + v * mpmath.npdf(v) for v in numbers]
    print(f"torch {torch.__version__}")
    for on in (True, False):
        with torch.backends.mkldnn.flags(enabled=on):
            print(f"gelu's gradient, |x| < 0.5, {'with' if on else 'without'} oneDNN: off by up to "
                  f"{float(worst(grad(F.gelu, x), want)):.1f} u")
    own = grad(lambda v: 0.5 * v * (1 + torch.erf(v * math.sqrt(0.5))), x)
    print(f"the same of 0.5 x (1 + torch.erf(x / sqrt(2))): {float(worst(own, want)):.1f} u")
    print(f"gelu(inf) is {F.gelu(torch.full([16], math.inf))[0].item()}, and "
          f"{math.inf * 0.5 * (1 + torch.erf(torch.tensor(math.inf))).item()} by torch.erf")

    row, w, b, dy = (torch.tensor([v]) for v in (0.9911377, 1.3390468, 0.0, 0.12573022))
    dw = grad(lambda v: F.layer_norm(row, [1], v, b, 1e-5), w, dy)[0]
    r = 1 / math.sqrt(1e-5)
    print(f"layer_norm of one element: dw is {dw:.3g}, and x - mean is 0; x r is {row.item() * r:.4g}, "
          f"of which half an ulp times dy is {abs(dy.item()) * 2.0 ** -16:.2g}")

    x = torch.linspace(0, 8, 5001)
    t = torch.zeros_like(x)
    got = grad(lambda v: F.binary_cross_entropy_with_logits(v, t, reduction="none"), x)
    want = [1 / (1 + mpmath.exp(-mpmath.mpf(v))) for v in x.tolist()]
    same = sum(a == b for a, b in zip(got, torch.sigmoid(x).tolist()))
    print(f"bce_with_logits' gradient is sigmoid(x) - target in {100 * same / len(got):.0f} %, and "
          f"off by up to {float(worst(got, want)):.1f} u; as 1 - exp(-x) / (1 + exp(-x)), "
          f"{float(worst((1 - torch.exp(-x) / (1 + torch.exp(-x))).tolist(), want)):.1f} u")


if __name__ == "__main__":
    main()
