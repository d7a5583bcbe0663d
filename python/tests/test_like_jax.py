"""check(kernel, like=plain): definitions that are made of plain functions of jax, by their jaxpr."""

# pylint: disable=wrong-import-position,invalid-name

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import halfcheck  # noqa: E402
from halfcheck.likeness import Head, shown  # noqa: E402

jnp = jax.numpy
SIZES = {"h": 2, "t": 5, "d": 8, "u": 7, "e": 6, "n": 4, "c": 12, "i": 9, "o": 3, "v": 10}


def rms_norm(x, w):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * w


def attention(q, k, v):
    s = jnp.einsum("htd,hud->htu", q, k) / q.shape[-1] ** 0.5
    t, u = s.shape[-2:]
    s = jnp.where(jnp.arange(u) <= jnp.arange(t)[:, None] + u - t, s, -jnp.inf)
    return jnp.einsum("htu,hue->hte", jax.nn.softmax(s, -1), v)


def layer_norm(x, w, b):
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5) * w + b


def cross_entropy(z, target):
    return -jax.nn.log_softmax(z)[jnp.arange(z.shape[0]), target].mean()


def rotary(x, co, si):
    a, b = jnp.split(x, 2, -1)
    return x * co + jnp.concatenate([-b, a], -1) * si


def stored(x):
    return x.astype(jnp.bfloat16).astype(x.dtype) * 2


PLAIN = [
    (rms_norm, "x[t, d], w[d]", "/ sqrt(a2[t] + 1e-6)"),
    (attention, "q[h, t, d], k[h, u, d], v[h, u, e]", "shift max(u: a[h,t,u] where u <= "),
    (layer_norm, "x[t, d], w[d], b[d]", "+ 1e-5"),
    (cross_entropy, "z[n, c], target[n]: index c", "z[n,target[n]] - m[n]"),
    (rotary, "x[h, t, d], co[t, d], si[t, d]", "select(d < floor(D / 2), -x[h,t,d + floor(D / 2)]"),
    (lambda w, i: w[i], "w[v, d], i[n]: index v", "w[i[n],d]"),
    (lambda x, w, b: x @ w.T + b, "x[n, i], w[o, i], b[o]", "sum(i: x[n,i] * w[o,i])"),
    (lambda x: jnp.cumsum(x, -1), "x[n, t]", "sum(i <= t: x[n,i])"),
    (lambda x: jax.nn.logsumexp(x, -1), "x[n, c]", "shift max(c: x[n,c])"),
    (lambda x: jax.nn.silu(x), "x[i]", "1 / (1 + exp(-x[i]))"),
    (stored, "x[i]", "bf16(x[i]) * 2"),
]


@pytest.mark.parametrize("plain, inputs, text", PLAIN)
def test_a_text_says_what_a_plain_function_computes(plain, inputs, text):
    assert text in shown(plain, Head(inputs))


def in_fp32(plain):
    """The same function, computed in fp32 and rounded to its first argument's format."""
    def kernel(*given):
        wide = [x if x.dtype.kind == "i" else x.astype(jnp.float32) for x in given]
        return plain(*wide).astype(given[0].dtype)
    return kernel


@pytest.mark.parametrize("plain, inputs, _", PLAIN)
def test_a_right_kernel_passes_and_a_wrong_one_does_not(plain, inputs, _):
    given = {"like": plain, "inputs": inputs, "formats": ["bf16"], "families": ["normal"],
             "arrays": "jax", "sizes": [{axis: SIZES[axis] for axis in Head(inputs).axes}]}
    right = in_fp32(plain)
    assert halfcheck.check(right, **given).ok

    def wrong(*given):
        return (right(*given) * 1.01).astype(given[0].dtype)
    with pytest.raises(halfcheck.Wrong):
        halfcheck.check(wrong, **given)


def test_gradients_by_vjp_are_judged_by_the_derived_one():
    given = {"like": rms_norm, "inputs": "x[t, d], w[d]", "formats": ["bf16"], "arrays": "jax",
             "families": ["normal"], "sizes": [{"t": 5, "d": 17}], "backward": True}
    assert halfcheck.check(in_fp32(rms_norm), **given).ok

    def cut(x, w):
        wide = x.astype(jnp.float32)
        r = jax.lax.stop_gradient(jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-6))
        return (wide * r * w.astype(jnp.float32)).astype(x.dtype)
    with pytest.raises(halfcheck.Wrong):
        halfcheck.check(cut, **given)


def test_a_primitive_that_has_no_text_and_a_table_from_outside_are_named():
    with pytest.raises(TypeError, match="uses sort, of which halfcheck has no text"):
        shown(lambda x: jnp.sort(x), Head("x[i]"))
    table = jnp.arange(3.0)
    with pytest.raises(TypeError, match="a constant of 3 elements"):
        shown(lambda x: x * table.sum() + table[0] + jnp.dot(table, table) * x, Head("x[i]"))


def test_constants_are_the_decimals_that_were_written():
    text = shown(lambda x: x * 0.1 + np.float32(0.3), Head("x[i]"))
    assert "x[i] * 0.1 + 0.3" in text
