"""What halfcheck found in PyTorch, in torch alone: each number here needs no halfcheck.

    python3 docs/examples/torch_findings.py
"""

import math
import warnings

import torch
import torch.nn.functional as F

warnings.simplefilter("ignore")


def square_root(dtype):
    """An IEEE square root has one right result. These are checked in exact integers."""
    x = torch.rand(20000, generator=torch.Generator().manual_seed(0), dtype=dtype)
    bits = 24 if dtype == torch.float32 else 53
    wrong = 0
    for value, root in zip(x.tolist(), torch.sqrt(x).tolist()):
        # The right root r of x lies within half a unit in its last place: (r - u/2)^2 <= x.
        scale = 2 ** (bits - math.frexp(root)[1])
        r, below = int(root * scale), int(value * 2.0**200) * scale * scale * 4
        wrong += not (2 * r - 1) ** 2 << 200 <= below <= (2 * r + 1) ** 2 << 200
    return f"{wrong} of {len(x)} roots are wrong"


def scaled_sum(dtype):
    """torch.add(y, x, alpha=1.1) with x = 1, y = -1: the result shows what alpha is."""
    x, y = torch.tensor([1.0], dtype=dtype), torch.tensor([-1.0], dtype=dtype)
    right = torch.tensor(1.1 - 1).to(dtype).item()
    return f"1.1 * 1 - 1 = {torch.add(y, x, alpha=1.1).item():.6f}, not {right:.6f}"


def cast_of_fp64_to_fp16():
    """1 + 2^-11 + 2^-30 lies above the middle between two fp16 numbers; fp32 rounds it there."""
    x = torch.tensor(1 + 2.0**-11 + 2.0**-30, dtype=torch.float64)
    return f"{x.item():.10f} -> {x.half().item():.10f}; above it is {1 + 2.0**-10:.10f}"


def convolution_of_tiny_numbers(dtype):
    """Subnormal numbers times 1."""
    tiny = torch.finfo(dtype).tiny / 4
    x, w = torch.full((1, 1, 3, 3), tiny, dtype=dtype), torch.ones(1, 1, 1, 1, dtype=dtype)
    return f"{tiny:.3g} * 1 = {F.conv2d(x, w)[0, 0, 0, 0].item():.3g}"


def padding(dtype):
    """A filter with an infinite corner. At the image's corner it lies on the padding."""
    w = torch.ones(1, 1, 3, 3, dtype=dtype)
    w[0, 0, 0, 0] = math.inf
    y = F.conv2d(torch.ones(1, 1, 4, 4, dtype=dtype), w, padding=1)
    return f"y[0, 0] = {y[0, 0, 0, 0].item()}, the sum of four ones"


def gradient_of_a_convolution(dtype):
    """The error of dx, in bounds of a sum in fp32 that is rounded once."""
    torch.manual_seed(0)
    shape = (4, 32, 16, 16)
    w, dy = torch.randn(32, 32, 3, 3).to(dtype), torch.randn(shape).to(dtype)
    dx, want, size = (torch.nn.grad.conv2d_input(shape, *terms, padding=1) for terms in
                      ((w, dy), (w.double(), dy.double()), (w.double().abs(), dy.double().abs())))
    bound = 288 * 2.0**-24 * size + torch.finfo(dtype).eps / 2 * want.abs()
    return f"{((dx.double() - want).abs() / bound).max().item():.1f} times the bound"


def batch_norm(dtype):
    """A model cast to 16 bits as a whole, whose statistics then have 16 bits, too."""
    torch.manual_seed(0)
    x = (torch.randn(16, 4, 8, 8) + 3).to(dtype)
    z = x.double()
    z = z - z.mean((0, 2, 3), keepdim=True)
    want = z / (z.square().mean((0, 2, 3), keepdim=True) + 1e-5).sqrt()
    ulp = torch.finfo(dtype).eps * 2.0 ** want.abs().log2().floor()
    errors = [((m(x).double() - want).abs() / ulp).max().item() for m in
              (torch.nn.BatchNorm2d(4).to(dtype), torch.nn.BatchNorm2d(4))]
    return f"{errors[0]:.0f} ulp off; with fp32 weights and statistics {errors[1]:.1f}"


def loss_scale():
    """GradScaler's product of a half loss and a scale of 2^17."""
    return f"0.25 * 2^17 = {(torch.tensor([0.25]).half() * torch.tensor(2.0**17)).item()}"


SIXTEEN = (torch.float16, torch.bfloat16)
FINDINGS = {
    square_root: (torch.float32, torch.float64),
    scaled_sum: SIXTEEN,
    cast_of_fp64_to_fp16: (),
    convolution_of_tiny_numbers: SIXTEEN,
    padding: (torch.float32, *SIXTEEN),
    gradient_of_a_convolution: SIXTEEN,
    batch_norm: SIXTEEN,
    loss_scale: (),
}


def main():
    """One line for each; torch says what it does not do."""
    print(f"torch {torch.__version__}")
    for function, dtypes in FINDINGS.items():
        for arguments in [(dtype,) for dtype in dtypes] or [()]:
            try:
                said = function(*arguments)
            except RuntimeError as error:
                said = f"torch: {error}"
            name = function.__name__.replace("_", " ")
            print(", ".join([name, *(str(dtype)[6:] for dtype in arguments)]) + f": {said}")


if __name__ == "__main__":
    main()
