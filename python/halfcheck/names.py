"""What people call an op: the names that PyTorch, numpy and jax have for halfcheck's, and what there
is in the place of an op that halfcheck has not.
"""

import difflib
import re

from . import program as _program


class Name:
    """Another name of an op: what it calls the op's inputs, and the parameters that it fixes."""

    def __init__(self, op, names=None, fixed=None):
        self.op, self.names, self.fixed = op, names or {}, fixed or {}


_LINEAR = Name("gemm", {"x": "a", "input": "a", "w": "b", "weight": "b", "b": "c", "bias": "c"},
               {"transpose_b": True})
_LOSS = Name("xent", {"x": "logits", "input": "logits", "y": "labels", "target": "labels"})
_NORM = {"input": "x", "weight": "gamma", "bias": "beta", "running_mean": "mean",
         "running_var": "variance"}

# What PyTorch calls the inputs of ops whose own name is PyTorch's.
_INPUTS = {
    "attention": {"query": "q", "key": "k", "value": "v"},
    "conv2d": {"input": "x", "weight": "w"},
    "layer_norm": {"input": "x", "weight": "w", "bias": "b"},
    "rms_norm": {"input": "x", "weight": "w"},
    **dict.fromkeys(("gelu", "silu", "softmax", "leaky_relu"), {"input": "x"}),
}

_OTHER_NAMES = {
    "addmm": Name("gemm", {"input": "c", "bias": "c", "mat1": "a", "mat2": "b"}, {"beta": 1}),
    "allreduce": Name("all_reduce"),
    "astype": Name("cast"),
    "avg_pool2d": Name("avg_pool"),
    "batch_norm": Name("bn_train", _NORM),
    "batchnorm": Name("bn_train", _NORM),
    "clip_grad_norm": Name("clip"),
    "clip_grad_norm_": Name("clip"),
    "conv": Name("conv2d", _INPUTS["conv2d"]),
    "convolution": Name("conv2d", _INPUTS["conv2d"]),
    "cross_entropy": _LOSS,
    "dense": _LINEAR,
    "linear": _LINEAR,
    "matmul": Name("gemm", {"x": "a", "y": "b", "input": "a", "other": "b"}),
    "mm": Name("gemm", {"x": "a", "y": "b", "input": "a", "mat2": "b"}),
    "softmax_cross_entropy": _LOSS,
}

_CALC = "halfcheck.calc takes it as a formula"

# What people call definitions of the library that are no ops.
_DEFINITIONS = {
    "binary_cross_entropy_with_logits": "bce_with_logits",
    "mse_loss": "mse",
    "normalize": "l2_normalize",
    "relu_squared": "relu2",
    "rope": "rotary_halves",
    "rotary": "rotary_halves",
    "rotary_embedding": "rotary_halves",
    "scaled_dot_product_attention": "attention",
    "sdpa": "attention",
}

# What there is for one who asks for an op that halfcheck has not.
_INSTEAD = {
    "batch_norm_backward": "bn_bwd has its gradients",
    "conv2d_backward": "conv2d_bwd_data and conv2d_bwd_filter are its gradients",
    "cross_entropy_backward": "xent_bwd is its gradient",
    "max_pool": "it rounds nothing; avg_pool is the pooling that does",
    "mean": "sum is the sum of all elements; avg_pool and all_reduce are means",
    "relu": "it rounds nothing; leaky_relu is the activation that does",
    "rsqrt": "sqrt and div are what it is made of",
    "sigmoid": _CALC,
    "tanh": _CALC,
    "var": "bn_moments gives mean and variance",
}


def _squeezed(name):
    """A name as that of a class may be: cross_entropy and CrossEntropyLoss are one, so are
    batch_norm and BatchNorm2d."""
    return re.sub("loss$|(?<=norm)[123]d$", "", name.lower().replace("_", ""))


def _like(plain, names):
    """The one of the names that is meant, or None."""
    same = [name for name in names if name == plain]
    return next(iter(same + [name for name in names if _squeezed(name) == _squeezed(plain)]), None)


def _instead(plain):
    """What there is in the place of an op that is not there."""
    library = _like(_DEFINITIONS.get(_like(plain, _DEFINITIONS), plain), _program.library())
    said = [f"the library has its definition, check(f, define={library!r})"] if library else []
    meant = _like(plain, _INSTEAD)
    return "; ".join(said + ([_INSTEAD[meant]] if meant else []))


def resolved(name):
    """The Name of what was asked for. ValueError if there is no such op, with what there is."""
    name = str(name)
    plain = name.lower().replace("-", "_").rsplit(".", 1)[-1]
    for asked in (name, plain):
        if asked in _program.ops():
            return Name(asked, _INPUTS.get(asked))
    meant = _like(plain, [*_OTHER_NAMES, *_program.ops()])
    if meant:
        return _OTHER_NAMES[meant] if meant in _OTHER_NAMES else Name(meant, _INPUTS.get(meant))
    instead = _instead(plain)
    near = difflib.get_close_matches(plain, [*_program.ops(), *_OTHER_NAMES], 1, 0.7)
    hint = f" Instead: {instead}." if instead else f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"there is no op {name!r}.{hint} halfcheck.ops() lists all of them")


class Ops(dict):
    """What halfcheck says of each op, by name. str() of it is a table for people."""

    def __str__(self):
        width = max(map(len, self))
        others = {}
        for name, other in _OTHER_NAMES.items():
            others.setdefault(other.op, []).append(name)
        lines = []
        for name, about in self.items():
            also = f" (also {', '.join(others[name])})" if name in others else ""
            lines.append(f"{name:{width}}  {about['title']}{also}")
        return "\n".join(lines)

    __repr__ = __str__


class About(dict):
    """What halfcheck says of one op: name, title, slots, params. str() of it is for people."""

    def __str__(self):
        return self["text"]

    __repr__ = __str__


def ops():
    """All ops: a dict by name, which prints as a table."""
    return Ops(_program.ops())


def explain(op):
    """What an op computes: its inputs and outputs with shapes and formats, and its parameters. A
    dict, which prints as `halfcheck explain op/NAME` does."""
    name = resolved(op).op
    return About({**_program.op_named(name), "text": _program.said("explain", "op/" + name)})
