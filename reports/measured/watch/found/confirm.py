"""Each finding of docs/found.md by PyTorch alone, without halfcheck: what it is to be, from fp64,
and what comes.

    python3 confirm.py            prints a line for each, and writes confirmed.txt beside this file
    python3 confirm.py --print    only prints

A finding is confirmed if the result is farther from the real one than a right implementation is:
beside it stands the same computed in fp32 and rounded once (`right`), which for a format of 16 bits
is half a unit in the last place off. Confirmed is what is more than 0.6 units off, and in fp32 more
than 4 units; and twice as far as what is computed in fp32, or a third farther where that is one
rounding."""

import os
import sys
import textwrap
import warnings

import torch
import torch.nn.functional as F

aten = torch.ops.aten
bf16, fp16, fp32, fp64 = torch.bfloat16, torch.float16, torch.float32, torch.float64
NAMES = {bf16: "bf16", fp16: "fp16", fp32: "fp32"}
DIGITS = {bf16: 8, fp16: 11, fp32: 24}
FINDINGS = []


def finding(take):
    FINDINGS.append(take)
    return take


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def gradient(function, inputs, wanted, dtype, grad=None):
    """The gradient of inputs[wanted], where all of them are of one format."""
    inputs = [x.detach().to(dtype).clone().requires_grad_() for x in inputs]
    result = function(*inputs)
    grad = torch.ones_like(result) if grad is None else grad.to(dtype)
    return torch.autograd.grad(result, inputs[wanted], grad)[0]


def three(function, dtype):
    """(real, got, right): a function in fp64, in the format, and in fp32 with one rounding."""
    return function(fp64), function(dtype), function(fp32).to(dtype)


@finding
def layer_norm_beta():
    """layer_norm's gradient of beta is added up in bf16"""
    grad = torch.rand(1024, 128, generator=torch.Generator().manual_seed(1)).to(bf16)
    x = random(1024, 128).to(bf16)
    run = lambda d: gradient(lambda w, b: F.layer_norm(x.to(d), (128,), w, b),
                             [torch.ones(128), torch.zeros(128)], 1, d, grad)
    return *three(run, bf16), bf16


@finding
def layer_norm_gamma():
    """layer_norm's gradient of gamma is added up in bf16, from a mean and deviation in bf16"""
    x, grad = (random(1024, 128) + 2).to(bf16), random(1024, 128, seed=1).to(bf16)
    grad = (grad + x.sign()).to(bf16)
    run = lambda d: gradient(lambda w, b: F.layer_norm(x.to(d), (128,), w, b),
                             [torch.ones(128), torch.zeros(128)], 0, d, grad)
    return *three(run, bf16), bf16


@finding
def layer_norm_autocast():
    """layer_norm's gradients in fp32, of x in bf16 as in autocast, are added up in bf16"""
    grad = torch.rand(1024, 128, generator=torch.Generator().manual_seed(1)).to(bf16)
    x = random(1024, 128).to(bf16)

    def run(low, wide):
        b = torch.zeros(128, dtype=wide, requires_grad=True)
        F.layer_norm(x.to(low), (128,), torch.ones(128, dtype=wide), b).backward(grad.to(low))
        return b.grad
    return run(fp64, fp64), run(bf16, fp32), run(fp32, fp32), fp32


@finding
def layer_norm_input():
    """layer_norm's gradient of its input in fp32 is a difference of numbers as large as its mean"""
    x, grad = random(64, 32) + 1000, random(64, 32, seed=1)
    run = lambda d: gradient(lambda x: F.layer_norm(x, (32,)), [x], 0, d, grad)

    def centred(d):
        y = x.to(d) - x.to(d).mean(-1, keepdim=True)
        return gradient(lambda y: F.layer_norm(y, (32,)), [y], 0, d, grad)
    return run(fp64), run(fp32), centred(fp32), fp32


@finding
def batch_norm():
    """batch_norm subtracts a mean that was rounded to bf16"""
    x = (random(64, 4, 8, 8) + 3).to(bf16)
    one, none = torch.ones(4), torch.zeros(4)
    run = lambda d: aten.native_batch_norm(x.to(d), one.to(d), none.to(d), None, None, True, 0.1,
                                           1e-5)[0]
    return *three(run, bf16), bf16


@finding
def batch_norm_deviation():
    """batch_norm's saved 1 / deviation is that of a variance rounded to bf16"""
    x = (random(8, 64, 4, 4) * 0.3 + 3).to(bf16)
    one, none = torch.ones(64), torch.zeros(64)
    run = lambda d: aten.native_batch_norm(x.to(d), one.to(d), none.to(d), None, None, True, 0.1,
                                           1e-5)[2]
    return *three(run, bf16), bf16


@finding
def log_softmax():
    """log_softmax rounds a sum and its logarithm to bf16: near 0, for a sure class, all is lost"""
    x = torch.tensor([[8.0, 1.0, 0.5, 0.0, -1.0, -2.0, -1.0, 0.0, 1.0, -3.0]]).to(bf16)
    run = lambda d: F.log_softmax(x.to(d), -1)
    return *three(run, bf16), bf16


@finding
def nll_loss():
    """nll_loss adds the losses of a batch up in bf16"""
    x = F.log_softmax(random(1000, 64), -1).to(bf16)
    which = torch.randint(0, 64, (1000,), generator=torch.Generator().manual_seed(2))
    run = lambda d: F.nll_loss(x.to(d), which)
    return *three(run, bf16), bf16


@finding
def bce_with_logits():
    """binary_cross_entropy_with_logits in bf16 rounds log(sigmoid(x)) to bf16, then subtracts it from
    (1 - t) x: what a sure no costs is lost"""
    x = (random(1000) - 6).to(bf16)
    run = lambda d: F.binary_cross_entropy_with_logits(x.to(d), torch.zeros(1000, dtype=d))
    return *three(run, bf16), bf16


@finding
def mse_loss():
    """mse_loss's gradient in bf16 rounds 2 / n, and a difference, before it multiplies"""
    x, y = random(1000).to(bf16), random(1000, seed=1).to(bf16)
    run = lambda d: gradient(lambda x: F.mse_loss(x, y.to(d)), [x], 0, d)
    return *three(run, bf16), bf16


@finding
def embedding():
    """embedding's gradient is added up in bf16"""
    grad = torch.full((4096, 1), 0.01).to(bf16)
    run = lambda d: aten.embedding_dense_backward(grad.to(d), torch.zeros(4096, dtype=torch.long),
                                                  1, -1, False)
    return *three(run, bf16), bf16


@finding
def embedding_fp16():
    """embedding's gradient is added up in fp16"""
    grad = torch.full((4096, 1), 0.01).to(fp16)
    run = lambda d: aten.embedding_dense_backward(grad.to(d), torch.zeros(4096, dtype=torch.long),
                                                  1, -1, False)
    return *three(run, fp16), fp16


@finding
def embedding_bag():
    """embedding_bag's gradient is added up in bf16, though its forward pass is in fp32"""
    run = lambda d: gradient(lambda w: F.embedding_bag(torch.zeros(1, 5000, dtype=torch.long), w,
                                                       mode="sum"), [torch.zeros(1, 4)], 0, d)
    return *three(run, bf16), bf16


@finding
def index():
    """The gradient of x[rows] (index_put_ with accumulate) is added up in bf16"""
    run = lambda d: gradient(lambda x: x[torch.zeros(1000, dtype=torch.long)],
                             [torch.zeros(1, 4)], 0, d)
    return *three(run, bf16), bf16


@finding
def index_add():
    """index_add adds up in bf16, where scatter_add of the same rows does not"""
    rows = torch.rand(4096, generator=torch.Generator().manual_seed(1)).to(bf16)
    run = lambda d: torch.zeros(1, dtype=d).index_add(0, torch.zeros(4096, dtype=torch.long),
                                                      rows.to(d))
    return *three(run, bf16), bf16


@finding
def cube():
    """x ** 3 in bf16 rounds x * x before it multiplies by x"""
    x = torch.linspace(0.1, 4, 4001).to(bf16)
    run = lambda d: x.to(d) ** 3
    return *three(run, bf16), bf16


@finding
def power():
    """x ** -0.5 in bf16 rounds the root before it divides: a graph convolution's degrees"""
    x = torch.arange(1, 50).to(bf16)
    run = lambda d: x.to(d) ** -0.5
    return *three(run, bf16), bf16


@finding
def max_pool():
    """max_pool2d's gradient adds overlapping windows up in bf16"""
    x = torch.zeros(1, 1, 65, 65)
    x[..., 32, 32] = 1
    run = lambda d: gradient(lambda x: F.max_pool2d(x, 33, 1, 16), [x], 0, d)
    return *three(run, bf16), bf16


@finding
def avg_pool():
    """avg_pool2d's gradient adds overlapping windows up in bf16"""
    x = torch.zeros(1, 1, 65, 65)
    run = lambda d: gradient(lambda x: F.avg_pool2d(x, 33, 1, 16), [x], 0, d)
    return *three(run, bf16), bf16


@finding
def replication_pad():
    """The gradient of padding with the border is added up in bf16"""
    run = lambda d: gradient(lambda x: F.pad(x, (600, 600, 0, 0), mode="replicate"),
                             [torch.zeros(1, 1, 1, 4)], 0, d)
    return *three(run, bf16), bf16


@finding
def grid_sample():
    """grid_sample's gradient is added up in bf16"""
    run = lambda d: gradient(lambda x: F.grid_sample(x, torch.zeros(1, 64, 64, 2, dtype=d),
                                                     align_corners=True).sum() / 256,
                             [torch.zeros(1, 1, 3, 3)], 0, d)
    return *three(run, bf16), bf16


@finding
def add_scaled():
    """add(a, b, alpha) rounds alpha to bf16 first: SGD's weight decay of 0.01 is 0.0100098"""
    b = torch.ones(4).to(bf16)
    a = torch.full((4,), -0.01).to(bf16)
    run = lambda d: torch.add(a.to(d), b.to(d), alpha=0.01)
    return *three(run, bf16), bf16


@finding
def add_number():
    """x + 1e-8 rounds 1e-8 to bf16 first: Adam's eps"""
    x = torch.rand(1000, generator=torch.Generator().manual_seed(3)).mul(1e-9).to(bf16)
    run = lambda d: x.to(d) + 1e-8
    return *three(run, bf16), bf16


@finding
def add_integer():
    """A tensor of whole numbers that is added to bf16 is rounded to bf16 first: 257 counts as 256"""
    x, count = torch.arange(1, 200).to(bf16), torch.tensor(257)
    return x.double() + count, x + count, (x.float() + count).to(bf16), bf16


@finding
def mul_scalar():
    """A scalar tensor in fp32 times a tensor in bf16 is rounded to bf16 first: CLIP's scale"""
    x, scale = random(1000).to(bf16), torch.tensor(14.2857)
    return x.double() * scale.double(), scale * x, (x.float() * scale).to(bf16), bf16


@finding
def attention_lse():
    """Attention in bf16 takes an exponential of 14 bits, and so its logsumexp, which is in fp32"""
    q, k, v = (random(2, 4, 16, 16, seed=i).to(bf16) for i in range(3))
    lse = lambda q, k: torch.logsumexp(q @ k.transpose(-1, -2) / 4, -1)
    got = aten._scaled_dot_product_flash_attention_for_cpu(q, k, v)[1]
    got = got if got.shape == (2, 4, 16) else got.transpose(1, 2)
    return lse(q.double(), k.double()), got, lse(q.float(), k.float()), fp32


@finding
def attention_blocks():
    """Attention's gradients of keys and values in bf16 are rounded to bf16 after each block of 32,
    64 or 256 queries"""
    # One key has the weight 1 in each query, so that the gradient of its value is their sum.
    q, k, v = (random(1, 1, n, 64, seed=n).to(bf16) for n in (700, 1, 1))
    grad = random(1, 1, 700, 64).to(bf16)
    o, lse = aten._scaled_dot_product_flash_attention_for_cpu(q, k, v)
    got = aten._scaled_dot_product_flash_attention_for_cpu_backward(grad, q, k, v, o, lse, 0.0,
                                                                    False)[2]
    return grad.double().sum(2), got[:, :, 0], grad.float().sum(2).to(bf16), bf16


@finding
def convolution_garbage():
    """conv2d's gradient of a weight in bf16 is what memory held, where a tap saw padding alone"""
    results = []
    for attempt in range(12):  # memory may hold zeros, and once it did
        size = 16 << attempt % 3
        x, w = random(1, size, 1, 1).to(bf16), random(size, size, 3, 3).to(bf16)
        run = lambda d: gradient(lambda w: F.conv2d(x.to(d), w, stride=2, padding=1), [w], 0, d, x)
        junk = [torch.full((count,), 3e20) for count in (size, 9 * size * size, 64 * size) * 20]
        del junk
        results.append((run(fp64), run(bf16), run(fp32).to(bf16)))
    return *max(results, key=lambda r: float(r[1].double().abs().nan_to_num(1e38).max())), bf16


@finding
def convolution_fp16():
    """conv2d's gradient of its input in fp16 is added up in fp16"""
    x, w = random(8, 16, 3, 3).to(fp16), random(16, 16, 3, 3, seed=1).to(fp16)
    grad = random(8, 16, 3, 3, seed=2).to(fp16)
    run = lambda d: gradient(lambda x: F.conv2d(x, w.to(d), padding=1), [x], 0, d, grad)
    return *three(run, fp16), fp16


@finding
def scaled_mm():
    """_scaled_mm under autocast rounds both scaled matrices to bf16, and its sums once more"""
    x, w = (random(64, 64, seed=seed).to(torch.float8_e4m3fn) for seed in (0, 1))
    by, too = torch.tensor(0.37), torch.tensor(1.3)
    real = (x.double() @ w.double().t()) * by.double() * too.double()
    with torch.autocast("cpu", bf16):
        got = torch._scaled_mm(x, w.t(), by, too, out_dtype=bf16)
    return real, got, torch._scaled_mm(x, w.t(), by, too, out_dtype=bf16), bf16


@finding
def gelu():
    """gelu's gradient in fp32 is several units off"""
    x = torch.linspace(0.1, 5, 200001)
    run = lambda d: gradient(F.gelu, [x], 0, d)
    spelt = lambda d: (lambda x: (1 + torch.erf(x * 0.5**0.5)) / 2 + x * torch.exp(-x * x / 2) *
                       0.3989422804014327)(x.to(d))
    return spelt(fp64), run(fp32), spelt(fp32), fp32


@finding
def erf():
    """erf of a small number is 0 or a multiple of 2^-24 in bf16, and in fp32 where there is no
    MKL"""
    x = torch.logspace(-8, -6, 256).to(bf16)
    d = bf16 if torch.backends.mkl.is_available() else fp32
    return torch.erf(x.double()), torch.erf(x.to(d)), (x.float() * 1.1283791670955126).to(d), d


def units(real, got, dtype):
    """How many units in the last place of the real number the result is off."""
    exponent = torch.frexp(real.abs())[1].clamp_min(-125 if dtype != fp16 else -13)
    off = (got.double() - real).abs() / torch.ldexp(torch.ones_like(real),
                                                    exponent - DIGITS[dtype])
    return off.nan_to_num(torch.inf)


def line(take):
    """A finding in two lines, and whether it is confirmed."""
    torch.manual_seed(0)
    real, got, right, dtype = take()
    off, fine = units(real.double(), got, dtype), units(real.double(), right, dtype)
    place = int(off.flatten().argmax())
    numbers = [float(t.flatten()[place]) for t in (real, right, got)]
    worst, best = float(off.max()), float(fine.max())
    confirmed = worst > (4 if dtype == fp32 else 0.6) and worst > (2 if best > 0.51 else 1.3) * best
    words = " ".join(take.__doc__.split())
    title = textwrap.fill(f"{take.__name__}: {words}", 98, subsequent_indent="    ")
    return (f"{title}\n  {NAMES[dtype]}: real {numbers[0]:.7g}, in fp32 "
            f"{numbers[1]:.7g}, got {numbers[2]:.7g}: {float(off.max()):.3g} units off, in fp32 "
            f"{float(fine.max()):.2g}"), confirmed


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    lines, missing = [f"PyTorch {torch.__version__}, one thread"], 0
    for take in FINDINGS:
        words, confirmed = line(take)
        missing += not confirmed
        lines.append(words + ("" if confirmed else "\n  NOT CONFIRMED"))
    lines.append(f"{len(FINDINGS) - missing} of {len(FINDINGS)} are confirmed")
    print("\n".join(lines))
    if "--print" not in sys.argv:
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "confirmed.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    return int(missing > 0)


if __name__ == "__main__":
    sys.exit(main())
