"""PyTorch as a backend: `halfcheck run 'op/*' --backend 'pipe:python3 -m halfcheck.torch serve'`."""

import collections
import json
import os
import platform
import re

import torch

from .. import pipe
from . import norm, ops
from .optimizers import IMPLEMENTATIONS, ORDERS, optimizers
from .refusal import DTYPES, Refusal, refusal_of

REFUSALS = "HALFCHECK_TORCH_REFUSALS"
FLOATS = ["fp32", "fp64", "fp16", "bf16"]
SINGLE = ["fp32", "fp16", "bf16"]

# The formats of the first input, by op. torch refuses some of them in some versions.
FORMATS = {
    "cast": [format for format in DTYPES if format != "u8"],
    "axpy": SINGLE,
    "scale": SINGLE,
    "unscale": SINGLE,
    "sum": SINGLE,
    "dot": SINGLE,
    "sum_squares": SINGLE,
    "master_to_model": ["fp32"],
    "clip": ["fp32"],
}
PLAIN = (
    "cast add sub mul div sqrt axpy scale unscale sum dot sum_squares gemm conv2d conv2d_bwd_data"
    " conv2d_bwd_filter leaky_relu leaky_relu_bwd avg_pool avg_pool_bwd xent xent_bwd"
    " master_to_model"
).split()
NORMS = "bn_train bn_infer bn_bwd bn_leaky_train bn_leaky_infer bn_leaky_bwd".split()


def _refusing(name, kernel, refusals):
    """The kernel; what torch says that it does not take becomes a refusal, which is counted."""

    def answer(call):
        try:
            return kernel(call)
        except Exception as error:
            why = refusal_of(error)
            if why is None:
                raise
            refusals[name, call.format, why] += 1
            raise Refusal(why) from error

    return answer


def kernels(optimizer: "str | None" = None, refusals=None) -> dict:
    """All ops that this torch has, by name. Calls that it refuses are counted in `refusals`."""
    refusals = collections.Counter() if refusals is None else refusals
    table = {name: getattr(ops, name) for name in PLAIN}
    table.update({name: getattr(norm, name) for name in NORMS})
    table.update(optimizers(optimizer))
    if hasattr(torch.nn.utils, "clip_grads_with_norm_"):
        table["clip"] = ops.clip
    return {name: _refusing(name, kernel, refusals) for name, kernel in table.items()}


def facts() -> dict:
    """What the record says of this torch."""
    told = {
        "torch": torch.__version__,
        "python": platform.python_version(),
        "torch threads": str(torch.get_num_threads()),
    }
    capability = re.search(r"CPU capability usage: *(\S+)", torch.__config__.show())
    if capability:
        told["torch cpu"] = capability[1]
    for name in ("mkldnn", "mkl"):
        told[name] = "yes" if getattr(torch.backends, name).is_available() else "no"
    return told


def serve(optimizer=None, threads=None) -> None:
    """Answers halfcheck's calls on standard input until there are no more.

    The file that the environment names as REFUSALS gets one line more, with what was refused, how
    often and why.
    """
    refusals = os.environ.get(REFUSALS)
    if threads:
        torch.set_num_threads(threads)
    counts = collections.Counter()
    orders = [ORDERS[optimizer]] if optimizer else sorted(set(ORDERS.values()))
    table = {}
    for name, kernel in kernels(optimizer, counts).items():
        said = {"orders": orders} if name in ("adam", "adamw") else {}
        table[name] = pipe.Op(kernel, formats=FORMATS.get(name, FLOATS), raw=True, **said)
    name = "torch" if optimizer is None else f"torch-{optimizer}"
    title = f"PyTorch {torch.__version__}"
    if optimizer:
        title += ", " + " ".join(f"{k}={v}" for k, v in IMPLEMENTATIONS[optimizer].items())
    pipe.serve(table, name=name, title=title, layout="nchw", arrays="torch", facts=facts(),
               parallel=True)
    if refusals:
        rows = [[*key, count] for key, count in sorted(counts.items())]
        with open(refusals, "a", encoding="utf-8") as file:
            file.write(json.dumps(rows) + "\n")
