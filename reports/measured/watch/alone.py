#!/usr/bin/env python3
"""What watch calls wrong in right trainings, shown in PyTorch alone, on a processor, without
halfcheck:

    python3 reports/measured/watch/alone.py

Each line: the operator, the worst element that it made, the number that the same operator makes in
fp64 of the same inputs, and how many times as far it is off as one rounding of the result may be,
and before that, where it is a convolution, a sum in fp32 in any order."""

import torch
import torch.nn.functional as F

aten = torch.ops.aten


def numbers(*shape, seed=0, form=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(form)


def ulp(size, form):
    """Of numbers of this size."""
    return torch.finfo(form).eps * 2.0 ** torch.frexp(size.clamp(min=1e-30))[1].double() / 2


def told(name, got, want, terms=0, size=0.0):
    """size: the sum of the magnitudes of so many terms."""
    got, want = got.detach(), want.detach().double()
    most = ulp(want.abs(), got.dtype) / 2 + terms * 2.0 ** -24 * size
    off = (got.double() - want).abs() / most
    place = int(off.reshape(-1).argmax())
    print(f"{name:38} {got.reshape(-1)[place]:12.6g} {want.reshape(-1)[place]:12.6g} "
          f"{off.reshape(-1)[place]:9.3g}")


def gradients(f, *tensors, sizes=False):
    """Those of the sum of f's result times numbers of its format; or of their magnitudes."""
    tensors = [t.detach().clone().requires_grad_() for t in tensors]
    y = f(*tensors)
    dy = numbers(*y.shape, seed=9).to(torch.bfloat16).to(y.dtype)
    y.backward(dy.abs() if sizes else dy)
    return [t.grad for t in tensors]


def convolutions():
    half = torch.float16
    x, w = numbers(4, 32, 8, 8, form=half), numbers(32, 32, 3, 3, seed=1, form=half)
    cases = {"convolution": (lambda x, w: F.conv2d(x, w, padding=1), x, w),
             "of 1 x 1": (F.conv2d, x, numbers(128, 32, 1, 1, seed=1, form=half)),
             "of stride 2": (lambda x, w: F.conv2d(x, w, padding=1, stride=2), x, w),
             "transposed": (lambda x, w: F.conv_transpose2d(x, w, stride=2), x,
                            numbers(32, 32, 2, 2, seed=1, form=half))}
    for name, (f, x, w) in cases.items():
        wide = [t.double() for t in (x, w)]
        told(f"fp16 {name}", f(x, w), f(*wide), 288, f(*(t.abs() for t in wide)))
        for which, got, want, size in zip(("image", "filter"), gradients(f, x, w),
                                          gradients(f, *wide), gradients(
                                              f, *(t.abs() for t in wide), sizes=True)):
            told(f"fp16 {name}, gradient of the {which}", got, want, 1152, size.abs())


def bias():
    x, w, b = (numbers(*shape, seed=seed, form=torch.float16) for seed, shape in
               enumerate([(2, 32, 8, 8), (32, 32, 2, 2), (32,)]))
    wide = [t.double() for t in (x, w, b)]
    told("fp16 transposed, with a bias", F.conv_transpose2d(x, w, b, stride=2),
         F.conv_transpose2d(*wide, stride=2), 33,
         F.conv_transpose2d(*(t.abs() for t in wide), stride=2))


def attention():
    for form in (torch.bfloat16, torch.float16):
        q, k, v = (numbers(1, 2, 32, 16, seed=seed, form=form) for seed in range(3))
        lse = aten._scaled_dot_product_flash_attention_for_cpu(q, k, v)[1]
        scores = q.double() @ k.double().transpose(-1, -2) / 4
        told(f"{str(form)[6:]} attention, lse in fp32", lse, scores.logsumexp(-1))


def norms():
    form = torch.bfloat16
    x, w, b = numbers(1024, 128, form=form), torch.ones(128, dtype=form), torch.zeros(128,
                                                                                     dtype=form)

    def layer(x, w, b):
        return F.layer_norm(x, (128,), w, b)
    for name, got, want in zip(("image", "weight", "bias"), gradients(layer, x, w, b),
                               gradients(layer, *(t.double() for t in (x, w, b)))):
        told(f"bf16 layer norm, gradient of the {name}", got, want)
    x = (numbers(4, 64, 4, 4) * 0.4 + 0.2).to(form)
    got = aten.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
    want = aten.native_batch_norm(x.double(), None, None, None, None, True, 0.1, 1e-5)
    told("bf16 batch norm", got[0], want[0])
    told("bf16 batch norm, saved 1 / deviation", got[2], want[2])


def sums():
    form = torch.bfloat16
    dy = torch.full((4096, 1), 0.01, dtype=form)
    ids = torch.zeros(4096, dtype=torch.int64)
    told("bf16 embedding, gradient", *(aten.embedding_dense_backward(t, ids, 1, -1, False)
                                       for t in (dy, dy.double())))
    x = numbers(1, 1, 33, 33, form=form)
    told("bf16 max_pool2d, gradient", *(gradients(lambda t: F.max_pool2d(t, 3, 1, 1), t)[0]
                                        for t in (x, x.double())))
    logs, ids = F.log_softmax(numbers(999, 9), -1).to(form), torch.zeros(999, dtype=torch.int64)
    told("bf16 nll_loss", *(F.nll_loss(t, ids) for t in (logs, logs.double())))


def elements():
    form = torch.bfloat16
    x, t = numbers(64, 97, form=form), numbers(64, 97, seed=1, form=form)
    told("bf16 log_softmax", F.log_softmax(x, -1), F.log_softmax(x.double(), -1))
    one = torch.ones((), dtype=form)
    told("bf16 mse_loss, gradient", aten.mse_loss_backward(one, x, t, 1),
         aten.mse_loss_backward(one.double(), x.double(), t.double(), 1))
    tiny = (numbers(999).abs() * 3e-8).to(form)
    told("bf16 _foreach_add of 1e-8", torch._foreach_add([tiny], 1e-8)[0], tiny.double() + 1e-8)
    # Beside each stands the same formula as torch computes it step by step.
    x = torch.linspace(0.5, 4, 9999)
    one, phi = torch.ones(9999), (-0.5 * x * x).exp() / (2 * torch.pi) ** 0.5
    cdf = 0.5 * (1 + torch.erf(x * 0.5 ** 0.5))
    told("fp32 gelu of 0.5 to 4", F.gelu(x), F.gelu(x.double()))
    told("  x * (0.5 * (1 + erf))", x * cdf, F.gelu(x.double()))
    want = aten.gelu_backward(one.double(), x.double())
    told("fp32 gelu, gradient, of 0.5 to 4", aten.gelu_backward(one, x), want)
    told("  step by step", cdf + x * phi, want)


def recurrent():
    """The cell's state after one step from 0, which is sigmoid(i) * tanh(g)."""
    lstm = torch.nn.LSTM(64, 64).bfloat16()
    with torch.no_grad():
        for i, p in enumerate(lstm.parameters()):
            p.copy_(numbers(*p.shape, seed=i) / 8)
    x = numbers(1, 64, 64, form=torch.bfloat16)
    w, _, b, c = (p.double() for p in lstm.parameters())
    i, _, g, _ = (x[0].double() @ w.t() + b + c).chunk(4, 1)
    told("bf16 LSTM, state after one step", lstm(x)[1][1][0], i.sigmoid() * g.tanh())


def main():
    torch.set_num_threads(1)
    print(f"PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, one thread\n")
    print(f"{'':38} {'got':>12} {'real':>12} {'times':>9}")
    for part in (convolutions, bias, attention, norms, sums, elements, recurrent):
        part()


if __name__ == "__main__":
    main()
