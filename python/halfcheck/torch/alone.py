"""What a report found in PyTorch, shown in torch alone: this file needs no halfcheck.

    python3 findings_alone.py

`python -m halfcheck.torch` writes it beside its report, with its findings, and runs it: only what
it shows is printed as torch's. What is right is computed here in exact fractions, or in fp64 with
a bound that holds for a sum in fp32 in any order.
"""

import json
import math
import sys
from fractions import Fraction

import torch
import torch.nn.functional as F

FINDINGS = [["axpy", "bf16"], ["cast", "fp64-fp16"]]

DTYPES = {"fp64": torch.float64, "fp32": torch.float32, "bf16": torch.bfloat16,
          "fp16": torch.float16}
# Precision in bits, and the exponents of the smallest and the largest normal number.
SHAPES = {torch.float64: (53, -1022, 1023), torch.float32: (24, -126, 127),
          torch.bfloat16: (8, -126, 127), torch.float16: (11, -14, 15)}


def rounded(value, dtype):
    """The nearest number of the dtype to a fraction; of two the even one, as IEEE 754 says."""
    precision, emin, emax = SHAPES[dtype]
    if value == 0:
        return 0.0
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > size
    step = Fraction(2) ** (max(exponent, emin) - precision + 1)
    near = round(size / step) * step
    if near >= Fraction(2) ** (emax + 1):
        return math.copysign(math.inf, value)
    return float(near if value > 0 else -near)


def draw(dtype, *shape, spread=0):
    """Normal numbers, times a random power of two."""
    x = torch.randn(*shape, dtype=torch.float64)
    if spread:
        x = x * 2.0 ** torch.randint(-spread, spread + 1, shape)
    return x.to(dtype)


def first_wrong(what, results, wants):
    """How many results are not the one that is right, or None."""
    wrong = [(got, want) for got, want in zip(results, wants)
             if got != want and not (math.isnan(got) and math.isnan(want))]
    if not wrong:
        return None
    return f"{what}: {len(wrong)} of {len(wants)} results are wrong; {wrong[0][0]!r}, not {wrong[0][1]!r}"


def beyond(what, got, want, bound):
    """How far the farthest result is beyond its bound, or None."""
    error = (got.double() - want).abs()
    ratio = torch.where(error <= bound, torch.zeros(()).double(), error / bound)
    if not bool((ratio > 0).any()):
        return None
    return f"{what}: {ratio.max().item():.3g} times the bound"


def _rounded_once(name, function, exact, dtype):
    """An op that IEEE 754 defines has one right result."""
    x, y = draw(dtype, 4000, spread=4), draw(dtype, 4000, spread=4)
    wants = [exact(Fraction(a), Fraction(b)) for a, b in zip(x.double().tolist(), y.double().tolist())]
    got = function(x, y).double().tolist()
    return first_wrong(f"torch.{name}", got, [rounded(want, dtype) for want in wants])


def add(dtype):
    return _rounded_once("add", torch.add, lambda a, b: a + b, dtype)


def sub(dtype):
    return _rounded_once("sub", torch.sub, lambda a, b: a - b, dtype)


def mul(dtype):
    return _rounded_once("mul", torch.mul, lambda a, b: a * b, dtype)


def div(dtype):
    return _rounded_once("div", torch.div, lambda a, b: a / b, dtype)


def sqrt(dtype):
    """The right root r of x lies within half a unit in its last place: (r - u/2)^2 <= x."""
    precision, wrong = SHAPES[dtype][0], 0
    x = torch.rand(4000, dtype=torch.float64).to(dtype)
    for value, root in zip(x.double().tolist(), torch.sqrt(x).double().tolist()):
        half = Fraction(2) ** (math.frexp(root)[1] - precision - 1) if root else 0
        wrong += not (Fraction(root) - half) ** 2 <= Fraction(value) <= (Fraction(root) + half) ** 2
    return f"torch.sqrt: {wrong} of 4000 roots are wrong" if wrong else None


def axpy(dtype):
    """A product and a sum in fp32 or finer, then one rounding, with alpha as it is given."""
    alpha, unit = 1.1, 2.0 ** -(max(24, SHAPES[dtype][0]))
    x, y = draw(dtype, 4000), draw(dtype, 4000)
    want = alpha * x.double() + y.double()
    size = (alpha * x.double()).abs() + y.double().abs()
    bound = 4 * unit * size + torch.finfo(dtype).eps / 2 * (want.abs() + 4 * unit * size)
    return beyond("torch.add with alpha", torch.add(y, x, alpha=alpha), want, bound)


def _cast(source, target):
    """Middles between two numbers of the target, and what lies just beside them."""
    near = draw(target, 2000).double()
    half = torch.ldexp(torch.ones(()).double(), torch.frexp(near)[1] - SHAPES[target][0] - 1)
    middle = near + half
    x = torch.cat([middle, middle * (1 + 2.0**-40), middle * (1 - 2.0**-40)]).to(source)
    wants = [rounded(Fraction(value), target) for value in x.double().tolist()]
    return first_wrong(f"{str(source)[6:]} to {str(target)[6:]}", x.to(target).double().tolist(), wants)


def _sum_bound(terms, count, want, dtype, wide=torch.float32):
    """n terms in fp32 in any order: n 2^-24 of their magnitudes, and the last rounding."""
    unit = torch.finfo(wide).eps / 2
    rest = torch.finfo(dtype).eps / 2 if dtype != wide else 0
    return (2 * count * unit * terms) * (1 + rest) + rest * want.abs() + torch.finfo(dtype).tiny


def sum(dtype):
    x = draw(dtype, 4099)
    want = x.double().sum()
    return beyond("torch.sum", x.sum(), want, _sum_bound(x.double().abs().sum(), 4099, want, dtype))


def dot(dtype):
    said = None
    for n in (40, 257, 4099):
        x, y = draw(dtype, n), draw(dtype, n)
        terms = x.double() * y.double()
        bound = _sum_bound(terms.abs().sum(), n, terms.sum(), dtype)
        said = said or beyond(f"torch.dot of {n}", torch.dot(x, y), terms.sum(), bound)
    return said


def gemm(dtype):
    """Products of matrices."""
    said = None
    for m, n, k in ((13, 9, 33), (5, 3, 300)):
        a, b = draw(dtype, m, k), draw(dtype, k, n)
        want = a.double() @ b.double()
        bound = _sum_bound(a.double().abs() @ b.double().abs(), k, want, dtype)
        said = said or beyond(f"torch.mm, {k} terms", torch.mm(a, b), want, bound)
    return said


def addmm_of_nothing(dtype):
    """addmm with nothing to add up: beta * c."""
    c, beta = draw(dtype, 5, 3), 1.7
    got = torch.addmm(c, torch.zeros(5, 0, dtype=dtype), torch.zeros(0, 3, dtype=dtype), beta=beta)
    want = beta * c.double()
    return beyond("torch.addmm of nothing", got, want,
                  want.abs() * (torch.finfo(dtype).eps / 2 + 2.0**-23))


def conv2d(dtype):
    """A sum in fp32 of 54 products."""
    x, w = draw(dtype, 2, 6, 7, 5), draw(dtype, 10, 6, 3, 3)
    want = F.conv2d(x.double(), w.double(), padding=1)
    size = F.conv2d(x.double().abs(), w.double().abs(), padding=1)
    return beyond("conv2d", F.conv2d(x, w, padding=1), want, _sum_bound(size, 54, want, dtype))


def conv2d_of_tiny_numbers(dtype):
    """Subnormal numbers times 1."""
    tiny = torch.finfo(dtype).tiny / 4
    one = F.conv2d(torch.full((1, 1, 3, 3), tiny, dtype=dtype), torch.ones(1, 1, 1, 1, dtype=dtype))
    got = one[0, 0, 0, 0].item()
    return None if got == tiny else f"conv2d: {tiny:.3g} * 1 = {got:.3g}"


def padding(dtype):
    """A filter with an infinite corner. At the image's corner it lies on the padding."""
    w = torch.ones(1, 1, 3, 3, dtype=dtype)
    w[0, 0, 0, 0] = math.inf
    corner = F.conv2d(torch.ones(1, 1, 4, 4, dtype=dtype), w, padding=1)[0, 0, 0, 0].item()
    return None if corner == 4 else f"conv2d: {corner} is the sum of four ones"


def _gradient(which, dtype):
    x, w, dy = draw(dtype, 4, 32, 8, 8), draw(dtype, 32, 32, 3, 3), draw(dtype, 4, 32, 8, 8)
    make, first, shape, count = {
        "input": (torch.nn.grad.conv2d_input, w, x.shape, 288),
        "weight": (torch.nn.grad.conv2d_weight, x, w.shape, 256)}[which]

    def call(change):
        one, two = change(first), change(dy)
        return make(shape, one, two, padding=1) if which == "input" else make(one, shape, two, padding=1)

    want, size = call(torch.Tensor.double), call(lambda t: t.double().abs())
    return beyond(f"gradient of conv2d's {which}", call(lambda t: t), want,
                  _sum_bound(size, count, want, dtype))


def conv2d_bwd_data(dtype):
    return _gradient("input", dtype)


def conv2d_bwd_filter(dtype):
    return _gradient("weight", dtype)


def bn_train(dtype):
    """A model cast to 16 bits as a whole, whose statistics then have 16 bits, too."""
    x = (torch.randn(16, 4, 8, 8, dtype=torch.float64) + 3).to(dtype)
    z = x.double()
    z = z - z.mean((0, 2, 3), keepdim=True)
    want = z / (z.square().mean((0, 2, 3), keepdim=True) + 1e-5).sqrt()
    got = torch.nn.BatchNorm2d(4).to(dtype)(x).detach()
    # 1,024 elements a channel: their sums in fp32 in any order, an fp32 quotient, one rounding.
    bound = torch.finfo(dtype).eps / 2 * want.abs() + 2 * 1024 * 2.0**-24 * (1 + want.abs()) * 4
    return beyond("BatchNorm2d", got, want, bound)


def _with_scale(what, function, dtype):
    """A 16-bit tensor with an fp32 scale that has no dimension: one operation, one rounding."""
    x, factor = draw(dtype, 4000), torch.tensor(1537.3)
    want = function(x.double(), factor.double())
    return beyond(f"a tensor {what} a scale of 1537.3", function(x, factor), want,
                  want.abs() * (torch.finfo(dtype).eps / 2 + 2.0**-23) + torch.finfo(dtype).tiny)


def scale(dtype):
    return _with_scale("times", torch.mul, dtype)


def unscale(dtype):
    return _with_scale("over", torch.div, dtype)


def loss_scale(dtype):
    """GradScaler's product of a loss and a scale of 2^17."""
    got = (torch.tensor([0.25], dtype=dtype) * torch.tensor(2.0**17)).item()
    return None if got == 2.0**15 else f"0.25 * 2^17 = {got}"


CHECKS = {
    "add": (add,), "sub": (sub,), "mul": (mul,), "div": (div,), "sqrt": (sqrt,), "axpy": (axpy,),
    "sum": (sum,), "dot": (dot,), "gemm": (gemm, addmm_of_nothing),
    "conv2d": (conv2d, conv2d_of_tiny_numbers, padding), "conv2d_bwd_data": (conv2d_bwd_data,),
    "conv2d_bwd_filter": (conv2d_bwd_filter,), "bn_train": (bn_train,),
    "bn_leaky_train": (bn_train,), "scale": (scale, loss_scale), "unscale": (unscale,),
}


def _tried(check, dtype):
    """What torch does not do for the dtype it does not do wrongly."""
    try:
        return check(dtype)
    except RuntimeError:
        return None


def shown(op, formats):
    """What torch alone does wrongly in this op and these formats, or None."""
    torch.manual_seed(0)
    words = [DTYPES.get(word) for word in formats.split("-state")[0].split("-")]
    if None in words:
        return None
    if op in ("cast", "master_to_model"):
        return _cast(words[0], words[-1]) if len(words) == 2 else None
    said = [_tried(check, words[0]) for check in CHECKS.get(op, ()) if len(words) == 1]
    return "; ".join(line for line in said if line) or None


def main():
    """A line for each finding; with --json a list of what is shown, None where nothing is."""
    said = [shown(op, formats) for op, formats in FINDINGS]
    if sys.argv[1:] == ["--json"]:
        print(json.dumps(said))
        return
    print(f"torch {torch.__version__}")
    for (op, formats), line in zip(FINDINGS, said):
        print(f"{op} {formats}: {line or 'nothing is shown in torch alone'}")


if __name__ == "__main__":
    main()
