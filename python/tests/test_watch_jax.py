"""halfcheck.jax.watch: right steps have no wrong line, and each primitive can be wrong."""

# pylint: disable=wrong-import-position,invalid-name,protected-access

import subprocess

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import halfcheck.jax  # noqa: E402
from halfcheck import program  # noqa: E402
from halfcheck.jax import equations, watching  # noqa: E402

jnp, lax = jax.numpy, jax.lax


def numbers(*shape, seed=0):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape), "float32")


def attention(p, x):
    q, k, v = (x @ p[name] for name in "qkv")
    s = q @ k.T / 8**0.5
    s = jnp.where(jnp.tril(jnp.ones(s.shape, bool)), s, -jnp.inf)
    return x + jax.nn.softmax(s) @ v


def block(p, x):
    x = attention(p, x)
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    x = (x - mean) * lax.rsqrt(var + 1e-5) * p["g"]
    return x + jax.nn.gelu(x @ p["up"]) @ p["down"]


def loss_of(p, ids):
    x = p["e"][ids]
    with jax.named_scope("first"):
        x = block(p, x)
    return -jnp.take_along_axis(jax.nn.log_softmax(x @ p["e"].T), ids[:, None], -1).mean()


def parameters(form="float32"):
    shapes = {"e": (20, 8), "q": (8, 8), "k": (8, 8), "v": (8, 8), "g": (8,), "up": (8, 16),
              "down": (16, 8)}
    return {name: numbers(*shape, seed=i).astype(form)
            for i, (name, shape) in enumerate(shapes.items())}


@jax.jit
def step(p, m, v, ids, t):
    """One of Adam."""
    loss, g = jax.value_and_grad(loss_of)(p, ids)
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, g)
    p = jax.tree.map(lambda p, m, v: p - 0.01 * (m / (1 - 0.9**t)) / (
        jnp.sqrt(v / (1 - 0.99**t)) + 1e-8), p, m, v)
    return p, m, v, loss


def training(steps, watched):
    p = parameters()
    m, v = (jax.tree.map(jnp.zeros_like, p) for _ in range(2))
    for t in range(steps):
        ids = jnp.asarray(np.random.default_rng(t).integers(0, 20, 12))
        p, m, v, _ = watched(p, m, v, ids, t + 1.0)
    return jax.tree.leaves((p, m, v))


def seen_of(function, *given):
    watched = halfcheck.jax.watch(function)
    watched(*given)
    return watched.seen


def test_a_right_training_has_nothing_wrong_and_its_bits():
    watched = halfcheck.jax.watch(step, every=2)
    results, plain = training(3, watched), training(3, step)
    seen = watched.seen
    assert seen.ok(), str(seen)
    assert seen.steps == 2 and seen.asked >= 0.95 * seen.made, str(seen)
    assert not seen.gradients and not seen.coarse and not seen.first, str(seen)
    assert not any("failed" in why or "refused" in why for _, why in seen.unjudged), str(seen)
    assert all(np.array_equal(a, b) for a, b in zip(results, plain))
    places = {row["place"] for row in seen.rows.values()}
    assert {"first", "first, backward", "outside of layers"} <= places
    assert any(row["where"].startswith("test_watch_jax.py:") for row in seen.rows.values())


IMAGES, KERNEL, ROWS = numbers(2, 9, 9, 4), numbers(3, 3, 2, 6), numbers(10, 6)
PICKED = jnp.array([1, 3, 3, 9, 0])


def convolution(x, w):
    return lax.conv_general_dilated(x, w, (2, 1), "SAME", rhs_dilation=(1, 2),
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                    feature_group_count=2)


CALLS = {
    **{name: (lambda x, op=getattr(lax, name): op(x), ROWS) for name in (
        "exp", "tanh", "logistic", "erf", "sin", "cos", "neg", "abs", "sign", "floor", "expm1",
        "square")},
    **{name: (lambda x, op=getattr(lax, name): op(jnp.abs(x) + 0.1), ROWS) for name in (
        "log", "log1p", "sqrt", "rsqrt")},
    **{name: (lambda x, op=getattr(lax, name): op(x, x[::-1]), ROWS)
       for name in ("add", "sub", "mul", "div", "max", "min")},
    "integer_pow": (lambda x: x**3 + lax.integer_pow(x, -2) + lax.integer_pow(x, 1), ROWS), "pow": (lambda x: jnp.abs(x)**0.3, ROWS),
    "dot_general": (lambda x: jnp.einsum("abc,cba->ba", x, x.T), numbers(3, 4, 5)),
    "reduce_sum": (lambda x: x.sum(1), numbers(3, 40, 5)), "cumsum": (jnp.cumsum, ROWS),
    "conv_general_dilated": (lambda x: convolution(x, KERNEL), IMAGES),
    "gather": (lambda x: x[PICKED], ROWS),
    "scatter-add": (lambda x: x.at[PICKED].add(x[:5]), ROWS),
    "convert_element_type": (lambda x: x.astype("bfloat16"), ROWS),
    "select_n": (lambda x: jnp.where(x > 0, x, 2 * x), ROWS),
    "split": (lambda x: jnp.concatenate(jnp.split(x, 2, 1)[::-1]), ROWS),
    "concatenate": (lambda x: jnp.concatenate([x, x], 1), ROWS),
    "pad": (lambda x: lax.pad(x, 0.0, ((1, 2, 1), (0, 1, 0))), ROWS),
    "transpose": (lambda x: x.T, ROWS), "reshape": (lambda x: x.reshape(3, 20), ROWS),
    "broadcast_in_dim": (lambda x: jnp.broadcast_to(x, (2, 10, 6)), ROWS),
    "rev": (lambda x: x[::-1, ::-1], ROWS), "slice": (lambda x: lax.slice(x, (1, 2), (7, 6)), ROWS),
    "dynamic_slice": (lambda x: lax.dynamic_slice(x, (8, 1), (4, 3)), ROWS),
    "dynamic_update_slice": (lambda x: lax.dynamic_update_slice(x, x[:2, :3], (3, 2)), ROWS),
    "clamp": (lambda x: lax.clamp(-0.5, x, 0.5), ROWS), "reduce_max": (lambda x: x.max(1), ROWS),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_primitive_is_judged_passes_and_is_found_wrong(name, monkeypatch):
    function, given = CALLS[name]
    seen = seen_of(function, given)
    rows = [row for row in seen.rows.values() if row["operator"] == name]
    assert rows and seen.ok() and not seen.unjudged, str(seen)

    class Spoilt(equations.Call):
        def __init__(self, equation, given, results, chances):
            if equation.primitive.name == name:
                results = [(y * (1 + 2.0 ** -4) + 2.0 ** -20).astype(y.dtype) for y in results]
            super().__init__(equation, given, results, chances)
    monkeypatch.setattr(watching.equations, "Call", Spoilt)
    seen = seen_of(function, given)
    assert {row["operator"] for row in seen.wrong()} == {name}, str(seen)
    assert not seen.ok()


def norm(backward):
    """x / |x|, whose gradient is written by hand."""
    def forward(x):
        size = jnp.sqrt((x * x).sum())
        return x / size, (x, size)
    function = jax.custom_vjp(lambda x: forward(x)[0])
    function.defvjp(forward, backward)
    return function


def right(kept, dy):
    x, size = kept
    return (dy / size - x * (x * dy).sum() / size**3,)


def without_a_term(kept, dy):
    return (dy / kept[1],)


def doubled(x):
    """A tangent that is twice as long."""
    function = jax.custom_jvp(lambda x: jnp.sin(x))
    function.defjvps(lambda t, _, x: 2 * jnp.cos(x) * t)
    return function(x)


@pytest.mark.parametrize("each", [False, True])
def test_a_gradient_that_is_wrong_by_a_term_is_named(each):
    for backward, wrong in ((right, False), (without_a_term, True)):
        own = norm(backward)
        apply = jax.jit(jax.vmap(own) if each else own)
        given = numbers(3, 5) if each else numbers(5)
        jax.grad(lambda x: (apply(x) * given).sum())(given + 1)  # jax keeps this trace
        seen = seen_of(jax.jit(jax.grad(lambda x: (apply(x) * given).sum())), given + 1)
        assert bool(seen.gradients) == wrong, str(seen)
        assert not any("gradient" in name for name, _ in seen.unjudged), str(seen)
    assert "where differences say" in str(seen)
    assert seen_of(jax.grad(lambda x: doubled(x).sum()), ROWS).gradients


def test_a_function_that_is_not_finite_in_fp64_has_no_wrong_gradient():
    own = jax.custom_vjp(lambda x: x.sin() * (float("nan") if x.dtype == jnp.float64 else 1))
    own.defvjp(lambda x: (jnp.sin(x), x), lambda x, dy: (dy * jnp.cos(x),))
    seen = seen_of(jax.grad(lambda x: own(x).sum()), ROWS)
    assert not seen.gradients and any("gradient" in name for name, _ in seen.unjudged)


def test_a_cast_to_16_bits_and_back_in_the_middle_is_named():
    def cut(x, w):
        return ((x @ w).astype("bfloat16").astype("float32") ** 2).sum()

    def mixed(x, w):
        return (x.astype("bfloat16") @ w.astype("bfloat16")).astype("float32").sum()
    w = numbers(6, 6, seed=1)
    seen = seen_of(jax.jit(jax.grad(cut)), ROWS, w)
    assert seen.ok() and any("cast back" in words for words in seen.coarse), str(seen)
    assert not seen_of(jax.jit(jax.grad(mixed)), ROWS, w).coarse


def test_a_softmax_without_its_shift_makes_the_first_infinity():
    def unshifted(x):
        e = jnp.exp(x)
        return e / e.sum(-1, keepdims=True)
    seen = seen_of(jax.jit(unshifted), (100 * ROWS).astype("float16"))
    line, largest = seen.first["infinity"]
    assert line.operator == "exp" and line.format == "fp16" and largest > 12
    assert line.where.startswith("test_watch_jax.py:")
    assert seen.first["NaN"][0].operator == "div"


def test_what_loops_is_followed():
    def loops(x):
        x, rows = lax.scan(lambda c, r: (jnp.tanh(c + r), c * r), x[0], x, reverse=True)
        x = lax.while_loop(lambda x: (x * x).sum() > 0.1, lambda x: x * 0.5, x)
        return lax.cond(x[0] > 0, jnp.sin, jnp.cos, x) + rows.sum(0)

    @jax.jit
    def inside(x):
        return jax.checkpoint(jax.vmap(loops))(x)
    watched = halfcheck.jax.watch(jax.grad(lambda x: jax.checkpoint(
        lambda x: lax.scan(lambda c, r: (jnp.tanh(c + r), c * r), x[0], x)[1].sum())(x)))
    assert np.array_equal(watched(ROWS), watched.step(ROWS))
    assert watched.seen.ok() and watched.seen.asked == watched.seen.made, str(watched.seen)
    seen = seen_of(inside, numbers(2, 5, 4))
    assert seen.ok() and {"tanh", "sin", "cos"} <= {row["operator"] for row in seen.rows.values()}


def test_what_has_no_definition_is_listed_and_nothing_is_not_right():
    seen = seen_of(jnp.sort, ROWS)
    assert ("sort", "it has no definition") in seen.unjudged and not seen.ok()


def test_sums_of_a_gradient_in_bf16_are_jaxs_own_and_are_kept(tmp_path):
    p = parameters("bfloat16")
    seen = seen_of(jax.jit(jax.grad(lambda p: p["e"][jnp.zeros(300, int)].sum())), p)
    wrong = {row["operator"] for row in seen.wrong()}
    if not wrong:
        pytest.skip("this jax adds up in fp32")
    assert wrong <= {"scatter-add", "reduce_sum"}, str(seen)
    seen.report(tmp_path)
    ended = subprocess.run([program.path(), "judge", "--lines", str(tmp_path / "wrong.lines")],
                           stdout=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 1 and "FAIL" in ended.stdout
