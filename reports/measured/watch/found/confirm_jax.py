"""Each finding of docs/found.md about jax by jax alone, without halfcheck: what it is to be, from
fp64, and what comes.

    python3 confirm_jax.py            prints a line for each, and writes confirmed_jax.txt beside this
    python3 confirm_jax.py --print    only prints

Confirmed is what is more than 0.6 units in the last place of the real number off, where a right
implementation, which computes in fp32 and rounds once, is half a unit off; in fp32 more than 2."""

import os
import sys
import textwrap

import numpy as np

import jax
import jax.numpy as jnp
from jax import lax

BITS = {"bfloat16": 8, "float16": 11, "float32": 24}
FINDINGS = []


def finding(take):
    FINDINGS.append(take)
    return take


def drawn(*shape, seed=0, form="bfloat16"):
    return jnp.asarray(np.random.default_rng(seed).uniform(1, 2, shape), form)


def wide(x):
    return np.asarray(x).astype(np.float64)


@finding
def scatter_add():
    """The gradient of x[rows], as an embedding has it, is added up in bf16"""
    def of(e):
        return e[jnp.zeros(5000, int)].sum()
    got = jax.jit(jax.grad(of))(jnp.ones((3, 2), "bfloat16"))
    return np.array([[5000.0] * 2, [0.0] * 2, [0.0] * 2]), got


@finding
def scatter_add_fp16():
    """x.at[rows].add is added up in fp16"""
    return np.array([5000.0, 0]), jnp.zeros(2, "float16").at[jnp.zeros(5000, int)].add(1)


@finding
def reduce_sum():
    """Sums of gradients, which lax's reduce_sum makes, are added up in bf16; jnp.sum is not"""
    x = jnp.asarray(np.random.default_rng(0).standard_normal((300, 8)), "bfloat16")
    got = jax.jit(jax.linear_transpose(lambda b: jnp.broadcast_to(b[:, None], x.shape),
                                       jnp.ones(300, "bfloat16")))(x)[0]
    return wide(x).sum(1), got


@finding
def integer_pow():
    """x ** 3 in bf16 rounds x * x before it multiplies by x"""
    x = drawn(4000)
    return wide(x) ** 3, jax.jit(lambda x: x ** 3)(x)


@finding
def division():
    """A division by a number, or by rows, in fp16 multiplies by a reciprocal that is rounded"""
    x, y = drawn(4000, form="float16"), jnp.float16(1.7)
    return wide(x) / wide(y), jax.jit(lambda x, y: x / y)(x, y)


@finding
def logistic():
    """sigmoid in bf16 rounds the exponential, and its sum with 1, before it divides"""
    x = drawn(4000)
    return 1 / (1 + np.exp(-wide(x))), jax.jit(jax.nn.sigmoid)(x)


@finding
def tanh():
    """tanh in fp32 is several units off"""
    x = drawn(100000, form="float32") * 0.6
    return np.tanh(wide(x)), jax.jit(jnp.tanh)(x)


def confirm():
    lines = [f"jax {jax.__version__}, {jax.default_backend()}"]
    shown = 0
    for take in FINDINGS:
        real, got = take()
        form = str(got.dtype)
        unit = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(real), 1e-30))) - BITS[form] + 1)
        off = np.abs(wide(got) - real) / unit
        place = np.unravel_index(off.argmax(), off.shape)
        shown += off[place] > (2 if form == "float32" else 0.6)
        right = float(np.asarray(real[place], got.dtype))
        lines += textwrap.wrap(f"{take.__name__}: {take.__doc__}", 100, subsequent_indent="    ")
        lines.append(f"  {form}: real {real[place]:.7g}, rounded {right:.7g}, got "
                     f"{float(got[place]):.7g}: {off[place]:.3g} units off")
    lines.append(f"{shown} of {len(FINDINGS)} are confirmed")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    said = confirm()
    print(said, end="")
    if sys.argv[1:] != ["--print"]:
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "confirmed_jax.txt"), "w",
                  encoding="utf-8") as file:
            file.write(said)
