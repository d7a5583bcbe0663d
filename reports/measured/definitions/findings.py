#!/usr/bin/env python3
"""Shows in torch alone what makes its CPU kernels leave the bounds of definitions: each row computes
an operation again with roundings at the places that are named, and counts equal results. 100 %
means that these roundings are the reason. Needs torch and numpy; halfcheck is not asked."""

import math

import torch
import torch.nn.functional as F

B = torch.bfloat16
aten = torch.ops.aten


def r(x):
    """Rounded to bf16, as fp32."""
    return x.to(B).float()


def silu(x):
    return r(x / r(1 + r(torch.exp(-x))))


def silu_backward(dy, x):
    s = r(1 / r(1 + r(torch.exp(-x))))
    return r(r(dy * s) * r(1 + r(x * r(1 - s))))


def gelu_tanh(x):
    beta, kappa = r(torch.tensor(math.sqrt(2) * 2 / math.sqrt(math.pi) * 0.5)), \
        r(torch.tensor(0.044715))
    cube = r(r(x * x) * x)
    inner = r(beta * r(x + r(kappa * cube)))
    return r(r(0.5 * x) * r(1 + r(torch.tanh(inner))))


def log_softmax(x):
    x = x - x.max(-1, keepdim=True).values
    return r(x - r(torch.log(r(torch.exp(x).sum(-1, keepdim=True)))))


def softmax_backward(dy, y):
    return r((dy - r((dy * y).sum(-1, keepdim=True))) * y)


def log_softmax_backward(dy, y):
    return r(dy - torch.exp(y) * r(dy.sum(-1, keepdim=True)))


def layer_norm(x, w, b, mu, rstd):
    return r((x * rstd + r(-rstd * mu)) * w + b)


def bce(x, t):
    m = (-x).clamp(min=0)
    return (1 - t) * x + m + torch.log(torch.exp(-m) + torch.exp(-x - m))


def embedding_backward(dy, at, rows):
    dw = torch.zeros(rows, dy.shape[1])
    for i, row in enumerate(at.tolist()):
        dw[row] = r(dw[row] + dy[i])
    return dw


def row(name, got, want, how):
    same = (got.float() == want).double().mean().item()
    print(f"{name:<30}{100 * same:6.1f} %  {how}")


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)

    def draw(*shape):
        return torch.randn(*shape).to(B)

    print(f"torch {torch.__version__}; equal to the same with these roundings:")
    x, dy = draw(64, 96), draw(64, 96)
    y = torch.softmax(x.float() * 4, -1).to(B)
    ly = torch.log_softmax(x.float() * 4, -1).to(B)
    w, b = draw(96), draw(96)
    xf, df = x.float(), dy.float()
    row("silu, bf16", F.silu(x), silu(xf), "every operation to bf16")
    row("silu_backward, bf16", aten.silu_backward(dy, x), silu_backward(df, xf),
        "every operation to bf16")
    row("gelu, tanh, bf16", F.gelu(x, approximate="tanh"), gelu_tanh(xf), "every operation to bf16")
    row("log_softmax, bf16", torch.log_softmax(x, -1), log_softmax(xf),
        "the sum of exp, and its logarithm, to bf16")
    row("_softmax_backward_data, bf16", aten._softmax_backward_data(dy, y, 1, B),
        softmax_backward(df, y.float()), "the sum of y dy to bf16")
    row("_log_softmax_backward_data", aten._log_softmax_backward_data(dy, ly, 1, B),
        log_softmax_backward(df, ly.float()), "the sum of dy to bf16")
    y, mu, rstd = (o.float() for o in aten.native_layer_norm(x, [96], w, b, 1e-5))
    row("layer_norm, bf16", y.to(B), layer_norm(xf, w.float(), b.float(), mu, rstd),
        "mean and rstd, and -mean rstd, to bf16")
    at = torch.randint(0, 16, (100,))
    d = draw(100, 32)
    row("embedding_dense_backward, bf16", aten.embedding_dense_backward(d, at, 16, -1, False),
        embedding_backward(d.float(), at, 16), "the sum so far to bf16")
    z, t = draw(8, 96), torch.arange(8)
    row("cross_entropy, rows, bf16", F.cross_entropy(z, t, reduction="none"),
        -torch.log_softmax(z, -1).float()[t, t], "it is minus torch.log_softmax in bf16")
    x32, t32 = torch.randn(6144) * 4, torch.rand(6144)
    row("bce_with_logits, fp32", F.binary_cross_entropy_with_logits(x32, t32, reduction="none"),
        bce(x32, t32), "log(exp(-m) + exp(-x - m)) in the place of log1p")
    x32 = -torch.rand(6144) / 16
    row("elu, fp32, near 0", F.elu(x32), torch.exp(x32) - 1, "exp(x) - 1 in the place of expm1")
    x32 = torch.linspace(-0.5, 0.5, 20000)
    want = torch.tensor([0.5 * v * (1 + math.erf(v / math.sqrt(2)))
                         for v in x32.double().tolist()], dtype=torch.float64)
    for on in (True, False):
        with torch.backends.mkldnn.flags(enabled=on):
            off = ((F.gelu(x32).double() - want) / want).abs().max().item()
        print(f"gelu by erf, fp32, |x| < 0.5, {'with' if on else 'without'} oneDNN: "
              f"up to {off * 2**24:.1f} u off")


if __name__ == "__main__":
    main()
