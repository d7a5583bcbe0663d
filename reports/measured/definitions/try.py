#!/usr/bin/env python3
"""Holds real implementations to the definitions of the library: PyTorch's, and plain ones where it
has none. What PyTorch has no function of, and halfcheck has kernels of, is tried by these instead,
in `op/*` on exact and host. try.py HALFCHECK [NAME...] prints a row for each definition, implementation and format:
the worst error / bound of any element of any result, the median, and how many elements are wrong.

It needs numpy, ml_dtypes and torch; python/venv makes an environment that has them."""

import os
import re
import sys
import warnings

from judging import FORMATS, LIBRARY, Tally, definition_of, judged, names, text_of

import ml_dtypes
import numpy as np
import torch

import definitions_inputs
from implementations import IMPLEMENTATIONS, WIDE

TORCH = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
LARGER = {"t": 24, "u": 24, "d": 64, "e": 32, "n": 16, "c": 96, "i": 160, "o": 12, "j": 4, "k": 48,
          "l": 40, "r": 24, "v": 40, "b": 3, "m": 7}
EXTENTS = {
    "attention_grouped": {"h": 4}, "attention_mask": {"u": 16}, "rotary_halves": {"d": 64},
    "rotary_pairs": {"d": 64, "p": 32}, "rotary_table": {"t": 64, "p": 32},
    "rotary_table_bf16": {"t": 64, "p": 32}, "linear_int4": {"i": 64, "p": 32, "g": 16},
    "linear_fp8_blocks": {"i": 64, "p": 16, "o": 12, "b": 3}, "embedding_backward": {"n": 100},
    "conv1d": {"c": 12, "k": 3, "n": 2}, "conv1d_causal": {"c": 8, "k": 4, "n": 2},
    "conv2d": {"n": 2, "c": 8, "h": 9, "w": 7, "k": 5, "r": 3, "s": 3},
    "max_pool2d": {"n": 2, "c": 5, "h": 9, "w": 8}, "avg_pool2d": {"n": 2, "c": 5, "h": 9, "w": 8},
    "interpolate_nearest": {"n": 2, "c": 5, "h": 5, "w": 4}, "interpolate_linear": {"c": 8},
    "newton_schulz": {"r": 8, "c": 16},
    "router_softmax": {"e": 16}, "router_sigmoid": {"e": 16}, "router_balance_loss": {"e": 8},
    "group_norm": {"n": 3, "c": 8}, "instance_norm": {"n": 3, "c": 8}, "moe_combine": {"d": 32},
    "batch_norm": {"n": 64, "c": 12}, "ssm_scan": {"t": 32, "c": 8, "s": 8},
    "linear_cross_entropy": {"c": 50}, "linear_cross_entropy_stored": {"c": 50},
    "cumsum": {"n": 4, "t": 200}, "bmm": {"g": 2}, "info_nce": {"d": 32},
    "linear_attention": {"t": 24, "d": 16, "e": 16}, "attention_backward": {"e": 32},
}
SEEDS = 3


def drawn(definition, name, form, seed):
    """Inputs as the implementation takes them, and with the format of each."""
    size = {**LARGER, **EXTENTS.get(name, {})}
    arrays = definitions_inputs.inputs(definition, seed, size)
    formats = {t: "i32" if definition.is_index(t) else "fp32" if t in WIDE.get(name, ()) else form
               for t in arrays}
    given = {t: torch.tensor(a, dtype=torch.int64 if formats[t] == "i32" else TORCH[formats[t]])
             for t, a in arrays.items()}
    if name.startswith("linear_fp8"):  # numbers of e4m3 in a wider format
        for t in ("x", "w"):
            given[t] = torch.tensor(arrays[t].astype(ml_dtypes.float8_e4m3fn).astype(np.float32)
                                    ).to(given[t].dtype)
    if name == "attention_backward":  # what a forward pass keeps, and not any numbers
        q, k, v = (given[t].double() for t in "qkv")
        s = q @ k.transpose(1, 2) * q.shape[-1]**-0.5
        s = s.masked_fill(torch.ones_like(s[0]).triu(1).bool(), -torch.inf)
        given["lse"] = torch.logsumexp(s, -1).to(given["lse"].dtype)
        given["o"] = (torch.softmax(s, -1) @ v).to(given["o"].dtype)
    return given


def stored(tensor):
    """A tensor of torch as an array of the format's type."""
    if tensor.dtype in (torch.int64, torch.int32):
        return tensor.numpy().astype(np.int32)
    form = next(name for name, dtype in TORCH.items() if dtype == tensor.dtype)
    return tensor.detach().float().numpy().astype(FORMATS[form][1])


def row(program, name, label, function, form):
    """The worst and the median ratio over all results and seeds; None where torch has no such call."""
    definition, tally = definition_of(name), Tally()
    for seed in range(SEEDS):
        given = drawn(definition, name, form, seed)
        try:
            results = function(**{t: x.clone() for t, x in given.items()})
        except (RuntimeError, TypeError) as error:
            if "not implemented for" in str(error) or "expected scalar type" in str(error):
                return None
            raise
        results = results if isinstance(results, tuple) else (results,)
        tensors = {**given, **dict(zip(definition.results, results))}
        tally.add(judged(program, text_of(name), {t: stored(x) for t, x in tensors.items()}))
    return [name, label, form, f"{tally.worst:.3g}", tally.where, f"{tally.median:.2g}",
            f"{tally.wrong}/{tally.judged}"]


def main():
    program, chosen = os.path.abspath(sys.argv[1]), sys.argv[2:]
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    kernels = re.findall(r"HC_OP\((\w+),", (LIBRARY.parent / "src/op/defined.def").read_text())
    missing = set(names()) - set(IMPLEMENTATIONS) - set(kernels)
    if missing:
        raise SystemExit(f"no implementation of {', '.join(sorted(missing))}")
    print(f"torch {torch.__version__}, numpy {np.__version__}; worst: of error / bound")
    line = "{:<28}{:<38}{:<7}{:>8}  {:<6}{:>7}  {:>10}"
    print(line.format("definition", "implementation", "format", "worst", "of", "median", "wrong"))
    for name in chosen or sorted(IMPLEMENTATIONS):
        for label, function in IMPLEMENTATIONS[name]:
            for form in FORMATS:
                found = row(program, name, label, function, form)
                if found:
                    print(line.format(*found).rstrip(), flush=True)


if __name__ == "__main__":
    main()
