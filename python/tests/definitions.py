"""The real value of one output element, by Python's decimals: a second opinion beside MPFR's.

It reads the file that a failing check keeps: the smallest sub-problem that is still wrong."""

import decimal
import itertools

import numpy as np

import halfcheck.safetensors
from halfcheck.formats import DTYPES

_TYPES = {"F64": "fp64", "F32": "fp32", "BF16": "bf16", "F16": "fp16", "I32": "i32"}
decimal.getcontext().prec = 60
D = decimal.Decimal


class Case:
    """A kept case: inputs and got as arrays of decimals, params, and which element it is about."""

    def __init__(self, path):
        tensors, about = halfcheck.safetensors.read(path)
        arrays = {name: np.frombuffer(data, DTYPES[_TYPES[dtype]]).reshape(shape)
                  for name, (dtype, shape, data) in tensors.items()}
        self.op, self.slot = about["halfcheck.op"], about["halfcheck.output"]
        self.index = tuple(map(int, about["halfcheck.element"].split(",")))
        self.params = {name[4:]: _number(value) for name, value in about.items()
                       if name.startswith("set.")}
        self.got = float(arrays.pop(self.slot)[self.index])
        self.inputs = {name: np.vectorize(lambda x: D(float(x)), otypes=[object])(array)
                       for name, array in arrays.items()}

    @property
    def real(self):
        """The real value, from the op's definition."""
        return _DEFINITIONS[self.op](self.inputs, self.params, self.slot, self.index)


def _number(text):
    if text in ("true", "false"):
        return text == "true"
    return D(float.fromhex(text)) if "0x" in text and "p" in text else text


def _optimizer(inputs, params, slot, decoupled):
    w, g = inputs["w"][0], inputs["g"][0]
    lr, beta1, step = inputs["hyper"]
    if "found_inf" in inputs and inputs["found_inf"][0] != 0:
        return None, inputs[slot[4:]][0]
    if decoupled:
        w = w * (1 - lr * params["weight_decay"])
    else:
        g = g + params["weight_decay"] * w
    return (w, g, lr, beta1, step), None


def _adam(inputs, params, slot, _, decoupled=False):
    begin, unchanged = _optimizer(inputs, params, slot, decoupled)
    if begin is None:
        return unchanged
    w, g, lr, beta1, step = begin
    beta2 = params["beta2"]
    m = beta1 * inputs["m"][0] + (1 - beta1) * g
    v = beta2 * inputs["v"][0] + (1 - beta2) * g * g
    root = (v / (1 - beta2**step)).sqrt() + params["eps"]
    return {"new_w": w - lr * m / (1 - beta1**step) / root, "new_m": m, "new_v": v}[slot]


def _adamw(inputs, params, slot, index):
    return _adam(inputs, params, slot, index, decoupled=True)


def _sgd(inputs, params, slot, _):
    begin, unchanged = _optimizer(inputs, params, slot, params["decoupled"])
    if begin is None:
        return unchanged
    w, g, lr, beta1, _ = begin
    velocity = beta1 * inputs["momentum"][0] + g
    step = g + beta1 * velocity if params["nesterov"] else velocity
    return {"new_w": w - lr * step, "new_momentum": velocity}[slot]


def _bn_train(inputs, params, slot, index):
    channel = index[1] if slot == "y" else index[0]
    x = inputs["x"][:, channel].reshape(-1)
    mean = sum(x) / len(x)
    squares = sum((x - mean) ** 2)
    invstd = 1 / (squares / len(x) + params["eps"]).sqrt()
    gamma, beta = inputs["gamma"][channel], inputs["beta"][channel]
    keep = 1 - params["momentum"]
    batch = squares / max(len(x) - 1, 1)
    if slot == "y":
        return (inputs["x"][index] - mean) * invstd * gamma + beta
    return {"saved_mean": mean, "saved_invstd": invstd,
            "new_mean": keep * inputs["mean"][channel] + params["momentum"] * mean,
            "new_variance": keep * inputs["variance"][channel] + params["momentum"] * batch}[slot]


def _conv2d(inputs, params, _, index):
    x, w = inputs["x"], inputs["w"]
    image, k, p, q = index
    stride, pad = int(params["stride"]), int(params["pad"])
    total = D(0)
    for c, r, s in itertools.product(*map(range, w.shape[1:])):
        i, j = p * stride + r - pad, q * stride + s - pad
        if 0 <= i < x.shape[2] and 0 <= j < x.shape[3]:
            total += x[image, c, i, j] * w[k, c, r, s]
    return total


def _gemm(inputs, params, _, index):
    a = inputs["a"].T if params["transpose_a"] else inputs["a"]
    b = inputs["b"].T if params["transpose_b"] else inputs["b"]
    total = params["alpha"] * sum(a[index[0]] * b[:, index[1]])
    if params["beta"] != 0:
        c = inputs["c"]
        total += params["beta"] * (c[index] if c.ndim == 2 else c[index[1]])
    return total


def _master_to_model(inputs, _, __, index):
    return inputs["master"][index]


def _sum_squares(inputs, *_):
    partial = inputs["partial"][0] if "partial" in inputs else D(0)
    return partial + sum(inputs["x"].reshape(-1) ** 2)


def _xent(inputs, params, *_):
    rows = [sum(z.exp() for z in row).ln() - row[int(label)]
            for row, label in zip(inputs["logits"], inputs["labels"])]
    return sum(rows) / (1 if params["sum"] else len(rows))


_DEFINITIONS = {"adam": _adam, "adamw": _adamw, "bn_train": _bn_train, "conv2d": _conv2d,
                "gemm": _gemm, "master_to_model": _master_to_model, "sgd": _sgd,
                "sum_squares": _sum_squares, "xent": _xent}
