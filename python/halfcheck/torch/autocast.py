"""torch.autocast layer by layer: in which format each layer of a small network computes, forward
and backward, and whether its result is within the bound of that format.

Each layer is judged alone, on the inputs that torch gave it. So an error of one layer is not held
against the next, and autocast's casts of weights and inputs, which its rules allow, are no errors.
"""

import warnings
from collections import namedtuple

import torch
import torch.nn.functional as F
from torch import nn

from .refusal import FORMATS

# What a layer has computed: a call of one of halfcheck's ops, with what came out.
Computed = namedtuple("Computed", "layer op format inputs outputs params")


def network() -> nn.Sequential:
    """Every kind of layer that halfcheck has an op for."""
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False),
        nn.BatchNorm2d(8),
        nn.LeakyReLU(0.1),
        nn.Conv2d(8, 16, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(16),
        nn.LeakyReLU(0.1),
        nn.AvgPool2d(4),
        nn.Flatten(),
        nn.Linear(16, 10),
    )


def formats() -> list:
    """The dtypes that autocast takes on the CPU of this torch."""
    return [dtype for dtype in (torch.bfloat16, torch.float16) if _takes(dtype)]


def _takes(dtype) -> bool:
    one = torch.ones(1, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with torch.autocast("cpu", dtype=dtype):
                return torch.mm(one, one).dtype == dtype
        except RuntimeError:
            return False


def _conv(layer, x, y, dx, dy):
    dtype = y.dtype
    p = {"stride": layer.stride[0], "pad": layer.padding[0], "tf32": False}
    x, w = x.to(dtype), layer.weight.detach().to(dtype)
    yield "conv2d", {"x": x, "w": w}, {"y": y}, p
    if dx is not None:
        yield "conv2d_bwd_data", {"dy": dy, "w": w}, {"dx": dx.to(dtype)}, p
    dw = layer.weight.grad.to(dtype)
    yield "conv2d_bwd_filter", {"x": x, "dy": dy}, {"dw": dw}, p


def _norm(layer, x, y, dx, dy):
    gamma, beta = layer.weight.detach(), layer.bias.detach()
    mean, variance = torch.zeros_like(beta), torch.ones_like(beta)
    p = {"eps": layer.eps, "momentum": layer.momentum}
    inputs = {"x": x, "gamma": gamma, "beta": beta, "mean": mean, "variance": variance}
    running = {"new_mean": layer.running_mean, "new_variance": layer.running_var}
    yield "bn_train", inputs, {"y": y, **running}, p
    args = (x, gamma, beta, mean.clone(), variance.clone(), True, layer.momentum, layer.eps)
    _, saved_mean, saved_invstd = torch.native_batch_norm(*args)
    inputs = {"x": x, "dy": dy, "gamma": gamma, "mean": saved_mean, "invstd": saved_invstd}
    gradients = {"dx": dx, "dgamma": layer.weight.grad, "dbeta": layer.bias.grad}
    yield "bn_bwd", inputs, gradients, {"eps": layer.eps}


def _leaky(layer, x, y, dx, dy):
    p = {"slope": layer.negative_slope}
    yield "leaky_relu", {"x": x}, {"y": y}, p
    yield "leaky_relu_bwd", {"y": y, "dy": dy}, {"dx": dx}, p


def _pool(layer, x, y, dx, dy):
    p = {"window": layer.kernel_size}
    yield "avg_pool", {"x": x}, {"y": y}, p
    yield "avg_pool_bwd", {"dy": dy}, {"dx": dx}, p


def _linear(layer, x, y, dx, dy):
    dtype = y.dtype
    x, w, bias = (t.detach().to(dtype) for t in (x, layer.weight, layer.bias))
    p = {"transpose_a": False, "transpose_b": False, "alpha": 1.0, "beta": 0.0}
    forward = {**p, "transpose_b": True, "beta": 1.0}
    yield "gemm", {"a": x, "b": w, "c": bias}, {"out": y}, forward
    yield "gemm", {"a": dy, "b": w}, {"out": dx.to(dtype)}, p
    dw = layer.weight.grad.to(dtype)
    yield "gemm", {"a": dy, "b": x}, {"out": dw}, {**p, "transpose_a": True}


_LAYERS = {
    nn.Conv2d: _conv,
    nn.BatchNorm2d: _norm,
    nn.LeakyReLU: _leaky,
    nn.AvgPool2d: _pool,
    nn.Linear: _linear,
}


def _hook(model):
    """Keeps what goes into and comes out of each layer, forward and backward."""
    kept = {layer: {"dx": None} for layer in model}

    def forward(layer, inputs, output):
        kept[layer].update(x=inputs[0].detach().clone(), y=output.detach().clone())

    def backward(layer, dx, dy):
        kept[layer].update(dy=dy[0].clone(), dx=None if dx[0] is None else dx[0].clone())

    for layer in model:
        layer.register_forward_hook(forward)
        layer.register_full_backward_hook(backward)
    return kept


def computed(dtype: torch.dtype, seed: int = 0) -> list:
    """One forward and backward pass of the network under autocast, as Computed."""
    torch.manual_seed(seed)
    model = network()
    images, labels = torch.randn(4, 3, 8, 8), torch.randint(10, (4,))
    scale = 1024.0 if dtype == torch.float16 else 1.0
    kept = _hook(model)
    with torch.autocast("cpu", dtype=dtype):
        logits = model(images)
        logits.retain_grad()
        loss = F.cross_entropy(logits, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the images need no gradient, of which torch's hook warns
        (loss * scale).backward()
    calls = []
    for number, layer in enumerate(model):
        k, name = kept[layer], f"{number} {type(layer).__name__}"
        for call in _LAYERS.get(type(layer), lambda *_: ())(layer, k["x"], k["y"], k["dx"], k["dy"]):
            calls.append((name, *call))
    labels = labels.int()
    z, loss = logits.detach(), loss.detach().reshape(1)
    wide = {"loss": loss.float()}
    calls.append(("loss", "xent", {"logits": z, "labels": labels}, wide, {"sum": False}))
    upstream = {"logits": z, "labels": labels, "upstream": torch.tensor([scale])}
    calls.append(("loss", "xent_bwd", upstream, {"dlogits": logits.grad}, {"sum": False}))
    formats_of = {"xent": FORMATS[loss.dtype]}
    return [
        Computed(layer, op, formats_of.get(op) or FORMATS[next(iter(outputs.values())).dtype],
                 {s: t.detach() for s, t in inputs.items()},
                 {s: t.detach() for s, t in outputs.items()}, params)
        for layer, op, inputs, outputs, params in calls
    ]
