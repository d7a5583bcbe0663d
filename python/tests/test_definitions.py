"""Definitions: the program's real numbers beside those of an evaluator that shares nothing with it."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import halfcheck
import halfcheck.definitions
import halfcheck.program
import halfcheck.safetensors
from halfcheck.formats import dtype_of

mpmath = pytest.importorskip("mpmath")
import definitions_inputs  # noqa: E402
import definitions_oracle  # noqa: E402
import definitions_orders  # noqa: E402
import definitions_random  # noqa: E402

LIBRARY = pathlib.Path(__file__).parents[2] / "definitions"
NAMES = sorted(file.stem for file in LIBRARY.glob("*.op"))
RANDOM_ONES = int(os.environ.get("HALFCHECK_RANDOM_DEFINITIONS", "300"))
AT_ONCE = 25


def in_fp32(arrays):
    return {name: a if a.dtype == np.int32 else a.astype(np.float32) for name, a in arrays.items()}


def program_values(source, arrays, folder):
    """What `halfcheck define --values` says: {result: {"shape", "want", "rest", "radius"}}."""
    file = folder / "inputs.safetensors"
    halfcheck.safetensors.write(file, {
        name: ("I32" if a.dtype == np.int32 else "F32", a.shape, a.tobytes())
        for name, a in arrays.items()})
    command = [halfcheck.program.path(), "define", source, "--tensors", file, "--values", "-"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def differences(definition, arrays, told):
    """A line for each element whose two real numbers differ by more than the program promises,
    2^-100 of the number or 2^-40 of the radius."""
    wrong = []
    with mpmath.workprec(definitions_oracle.PRECISION):
        for result, elements in definition.values(arrays).items():
            columns = (told[result][c] for c in ("want", "rest", "radius"))
            assert len(elements) == len(told[result]["want"])
            for (at, want), *number in zip(elements.items(), *columns):
                high, low, radius = (mpmath.mpf(float(x)) for x in number)
                got = high + low if mpmath.isfinite(high) else high
                same = got == want or (mpmath.isnan(got) and mpmath.isnan(want))
                allowed = abs(want) * mpmath.mpf(2)**-99 + radius * mpmath.mpf(2)**-40
                if not same and not abs(got - want) <= allowed:
                    wrong.append(f"{result}{list(at)}: {mpmath.nstr(want, 30)} by the oracle, "
                                 f"{mpmath.nstr(got, 30)} by the program")
    return wrong


@pytest.mark.parametrize("name", NAMES)
def test_a_definition_of_the_library_is_the_same_number_twice(name, tmp_path):
    definition = definitions_oracle.Definition((LIBRARY / f"{name}.op").read_text())
    assert definition.name == name
    arrays = in_fp32(definitions_inputs.inputs(definition, 1))
    told = program_values(LIBRARY / f"{name}.op", arrays, tmp_path)
    assert differences(definition, arrays, told) == []
    # Where the radius is infinite nothing is judged, and such inputs would test nothing.
    radii = [float(r) for result in told.values() for r in result["radius"]]
    assert sum(np.isfinite(radii)) >= 0.9 * len(radii)


@pytest.mark.parametrize("number, name", enumerate(NAMES))
def test_a_right_order_is_within_its_bound(number, name):
    """One order and one format each; reports/measured/definitions/orders.py tries them all."""
    definition = definitions_oracle.Definition((LIBRARY / f"{name}.op").read_text())
    form = ("bf16", "fp32", "fp16")[number % 3]
    ways = list(definitions_orders.WAYS)
    arrays = {n: a if a.dtype == np.int32 else a.astype(dtype_of(form))
              for n, a in definitions_inputs.inputs(definition, number).items()}
    results = definitions_orders.implementation(definition, in_fp32(arrays),
                                                ways[number % len(ways)], form)
    formats = definitions_orders.result_formats(definition)
    outputs = {n: a.astype(dtype_of(f or form)) for (n, a), f in zip(results.items(), formats)}
    verdict = halfcheck.judge(define=name, inputs=arrays, outputs=outputs)
    assert verdict.ok, f"{form}\n{verdict}"
    # A result that is far off is seen.
    first = outputs[definition.results[0]].reshape(-1)
    first[0] = first.dtype.type(1.25 * float(first[0]) + 1)
    verdict = halfcheck.judge(define=name, inputs=arrays, outputs=outputs)
    assert not verdict.ok


@pytest.mark.parametrize("first", range(0, RANDOM_ONES, AT_ONCE))
def test_a_random_definition_is_the_same_number_twice(first, tmp_path):
    for seed in range(first, first + AT_ONCE):
        text, arrays = definitions_random.definition(seed)
        file = tmp_path / "random.op"
        file.write_text(text)
        definition = definitions_oracle.Definition(text)
        wrong = differences(definition, arrays, program_values(file, arrays, tmp_path))
        assert wrong == [], f"seed {seed}:\n{text}"


def test_a_library_text_says_where_it_comes_from():
    for name in NAMES:
        lines = (LIBRARY / f"{name}.op").read_text().splitlines()
        assert lines[0].startswith("# ") and max(map(len, lines)) <= 100, name


def test_another_number_is_seen(tmp_path):
    text = "op f(x[i])\ny[i] = exp(x[i])\nreturn y\n"
    (tmp_path / "f.op").write_text(text)
    arrays = {"x": np.float32([0.5, 1, 2])}
    told = program_values(tmp_path / "f.op", arrays, tmp_path)
    assert differences(definitions_oracle.Definition(text), arrays, told) == []
    told["y"]["rest"][1] += 2.0**-50
    assert len(differences(definitions_oracle.Definition(text), arrays, told)) == 1


def test_a_text_is_checked_backward_more_than_once():
    torch = pytest.importorskip("torch")
    report = halfcheck.check(torch.abs, define="op f(x[i])\ny[i] = abs(x[i])\nreturn y\n",
                             formats=["fp32"], families=["normal", "whole"], backward=True)
    assert report.ok and len(report.rows) == 10


@pytest.mark.parametrize("name", ["silu", "sigmoid"])
def test_a_gradient_may_take_a_sigmoid_off_from_1(name):
    """As PyTorch does, whose difference has lost bits where the sigmoid is near 1."""
    torch = pytest.importorskip("torch")
    given = {"define": name, "formats": ["fp32"], "families": ["normal", "lognormal", "asked"],
             "backward": True, "arrays": "torch"}
    function = torch.sigmoid if name == "sigmoid" else torch.nn.functional.silu
    assert halfcheck.check(function, **given).ok

    class Wrong(torch.autograd.Function):
        """One who squares what is taken off."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return function(x)

        @staticmethod
        def backward(ctx, dy):
            x, = ctx.saved_tensors
            s = torch.sigmoid(x)
            return dy * s * (1 - s * s) if name == "sigmoid" else dy * s * (1 + x * (1 - s * s))
    with pytest.raises(halfcheck.Wrong):
        halfcheck.check(Wrong.apply, **given)


def scaled(x, w):
    return x * w


def test_a_function_does_not_change_what_it_is_judged_by():
    text = "op f(x[i], w[i])\ny[i] = x[i] * w[i]\nreturn y\n"

    def in_place(x, w):
        x *= w
        return x

    def cheat(x, w):
        x[...] = 1
        w[...] = 1
        return x * w

    for fn in (scaled, in_place):
        assert halfcheck.check(fn, define=text, formats=["fp32"], families=["normal"]).ok
    with pytest.raises(halfcheck.Wrong):
        halfcheck.check(cheat, define=text, formats=["fp32"], families=["normal"])


def softmax(x):
    wide = x.astype(np.float64)
    e = np.exp(wide - wide.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)).astype(x.dtype)


@pytest.mark.filterwarnings("ignore:.*encountered")
def test_rows_of_a_models_size_are_judged_and_one_wrong_element_is_found():
    report = halfcheck.check(softmax, define="softmax", formats="bf16")
    assert report.ok and {"n": 4096, "c": 1024} in [row[2] for row in report.rows]

    def late(x):
        y = softmax(x)
        if len(y) > 4000:
            y[4000, 7] = 0
        return y

    with pytest.raises(halfcheck.Wrong, match=r"n = 4096, c = 1024") as wrong:
        halfcheck.check(late, define="softmax", formats="bf16")
    assert "1 of 4096 elements is wrong" in str(wrong.value)


@pytest.mark.filterwarnings("ignore:.*encountered")
@pytest.mark.parametrize("border", [{"c": 15}, {"n": 128}])
def test_a_tile_whose_border_is_wrong_is_found(border):
    def broken(x):
        y = softmax(x)
        if all(x.shape["nc".index(axis)] == size for axis, size in border.items()):
            y[..., -1] = 0
        return y

    with pytest.raises(halfcheck.Wrong, match=" = ".join(map(str, *border.items())) + "\\b"):
        halfcheck.check(broken, define="softmax", formats="bf16")


@pytest.mark.filterwarnings("ignore:.*encountered")
def test_no_rows_have_no_results_and_a_function_that_does_not_take_them_is_told():
    def empty(x):
        return softmax(x) if x.size else np.zeros((1, x.shape[1]), x.dtype)

    def strict(x):
        if not x.size:
            raise ValueError("no rows")
        return softmax(x)

    few = {"define": "softmax", "formats": "fp32", "sizes": [{"n": 0, "c": 3}, {"n": 2, "c": 3}],
           "families": ["normal"]}
    assert "left out" not in str(halfcheck.check(softmax, **few))
    with pytest.raises(ValueError, match="y has another shape"):
        halfcheck.check(empty, **few)
    report = halfcheck.check(strict, **few)
    assert report.ok and "strict raises ValueError where n = 0: no rows" in str(report)


@pytest.mark.parametrize("more, eps", [({}, 1e-6), ({"eps": 1e-3}, 1e-3)])
def test_a_function_gets_the_options_that_it_names(more, eps):
    got = []

    def norm(x, weight, eps):
        got.append(eps)
        wide, weight = x.astype(np.float64), weight.astype(np.float64)
        squares = (wide * wide).mean(axis=1, keepdims=True)
        return (wide / np.sqrt(squares + eps) * weight).astype(x.dtype)

    assert halfcheck.check(norm, define="rms_norm", formats=["fp32"], families=["normal"],
                           sizes=[{"d": 8}], **more).ok
    assert set(got) == {eps}


def test_an_option_that_is_not_there_is_refused():
    with pytest.raises(TypeError, match="rms_norm has no option 'epz'; it has eps"):
        halfcheck.check(scaled, define="rms_norm", epz=1)
    with pytest.raises(TypeError, match="no option 'epz'"):
        halfcheck.judge(define="rms_norm", inputs=[np.ones((1, 1), "f"), np.ones(1, "f")],
                        output=np.ones((1, 1), "f"), epz=1)


def test_an_infinity_is_right_where_the_sum_is_one():
    text = "op f(d[t])\ny = sum(t: d[t] * 0.1)\nreturn y\n"
    d = np.float32([1.1, np.inf, 1.3])
    for got, ok in ((np.inf, True), (-np.inf, False), (np.nan, False), (1, False)):
        assert halfcheck.judge(define=text, inputs=[d], output=np.float32(got)).ok is ok


def test_an_index_beyond_32_bits_is_refused():
    text = "op f(x[v], at[n]: index v)\ny[n] = x[at[n]]\nreturn y\n"
    with pytest.raises(TypeError, match="at has integers beyond 32 bits"):
        halfcheck.judge(define=text, inputs=[np.ones(3, "f"), np.int64([2**32 + 1])],
                        output=np.ones(1, "f"))


def scan_as_tree(x, a, start):
    """A gated scan in log2(T) rounds: each place takes in what lies 1, 2, 4, ... places before."""
    decay, h = a.copy(), (1 - a) * x
    back = 1
    while back < len(a):
        later, kept = h.copy(), decay.copy()
        later[back:] = decay[back:] * h[:-back] + h[back:]
        kept[back:] = decay[back:] * decay[:-back]
        decay, h, back = kept, later, 2 * back
    return decay * start + h


def test_a_scan_that_is_a_tree_keeps_to_its_variant():
    how = {"define": "gated_scan", "formats": ["fp32"], "sizes": [{"t": 33, "c": 5}],
           "families": ["normal", "lognormal", "cancelling"]}
    with np.errstate(all="ignore"):
        assert halfcheck.check(scan_as_tree, variant="tree", **how).ok
        assert halfcheck.check(scan_as_tree, variant="any", **how).ok
        with pytest.raises(halfcheck.Wrong):
            halfcheck.check(lambda x, a, start: scan_as_tree(x, a, 0 * start), variant="any", **how)
    with pytest.raises(ValueError, match="no variant 'tee'; did you mean 'tree'"):
        halfcheck.check(scan_as_tree, variant="tee", **how)


def folded_norm(x, w, b, addend=lambda b, mu, a: b - mu * a):
    """group_norm by a factor and an addend a channel, as PyTorch's kernel on the CPU."""
    c = x.shape[1]
    rows = x.reshape(len(x), 2, -1)
    mu = rows.mean(-1, dtype=np.float32)
    r = 1 / np.sqrt(np.square(rows - mu[:, :, None]).mean(-1, dtype=np.float32) + np.float32(1e-5))
    mu, r = np.repeat(mu, c // 2, 1), np.repeat(r, c // 2, 1)
    a = r * w
    return x * a[:, :, None] + addend(b, mu, a)[:, :, None]


def merged(a, la, b, lb, lse=np.logaddexp):
    """attention_merge, the weights by the logarithm of their sum."""
    q = np.float32(lse(la, lb))
    pa, pb = np.exp(la - q), np.exp(lb - q)
    return pa[:, :, None] * a + pb[:, :, None] * b, np.logaddexp(la, lb)


def attention_of_roots(q, k, v, root=lambda scale: scale**0.5, late=1):
    """attention, q and k each multiplied by the root of the scale, as in PyTorch's math path."""
    r = np.float32(root(q.shape[2]**-0.5))
    s = (q * r) @ (k * r).transpose(0, 2, 1) * np.float32(late)
    m = s.max(-1, keepdims=True)
    z = np.exp(s - m)
    return z / z.sum(-1, keepdims=True) @ v, (m + np.log(z.sum(-1, keepdims=True)))[:, :, 0]


@pytest.mark.parametrize("name, variant, right, wrong, how", [
    ("attention", "roots", attention_of_roots,
     [lambda q, k, v: attention_of_roots(q, k, v, lambda scale: np.float16(scale**0.5)),
      lambda q, k, v: attention_of_roots(q, k, v, lambda scale: scale),
      lambda q, k, v: attention_of_roots(q, k, v, late=1 + 3e-5)],
     {"families": ["whole", "normal"], "causal": False,
      "sizes": [{"h": 33, "t": 4, "d": 64, "u": 3, "e": 33}]}),
    ("group_norm", "folded", folded_norm,
     [lambda x, w, b: folded_norm(x, w, b, lambda b, mu, a: b - mu * a / w),
      lambda x, w, b: folded_norm(x, w, b, lambda b, mu, a: b + 0 * mu * a),
      lambda x, w, b: folded_norm(x, w, b, lambda b, mu, a: b - (mu * a).astype(np.float16))],
     {"families": ["mixed", "normal", "lognormal"], "sizes": [{"n": 5, "c": 6, "l": 8}]}),
    ("attention_merge", "lse", merged,
     [lambda *parts: merged(*parts, lse=np.maximum),
      lambda *parts: merged(*parts, lse=lambda la, lb: np.logaddexp(la, lb).astype(np.float16)),
      lambda a, la, b, lb: (merged(a, la, b, lb)[0] * np.float32(1 + 3e-5), np.logaddexp(la, lb))],
     {"families": ["normal", "lognormal", "offset"], "sizes": [{"h": 2, "t": 17, "e": 8}]}),
])
def test_a_variant_takes_its_own_kernel_and_no_wrong_one(name, variant, right, wrong, how):
    how = {"define": name, "formats": ["fp32"], **how}
    with np.errstate(all="ignore"):
        assert halfcheck.check(right, variant=variant, **how).ok
        assert halfcheck.check(right, variant="any", **how).ok
        with pytest.raises(halfcheck.Wrong):
            halfcheck.check(right, **how)
        for kernel in wrong:
            with pytest.raises(halfcheck.Wrong):
                halfcheck.check(kernel, variant="any", **how)


def test_a_program_in_python_computes_definitions(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("import numpy as np\nimport halfcheck.pipe\nnp.seterr(all='ignore')\n\n\n"
                    "def norm(w, x):\n"
                    "    x, w = x.astype(np.float32), w.astype(np.float32)\n"
                    "    r = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-6))\n"
                    "    return x * r * w\n\n\n"
                    "halfcheck.pipe.serve(definitions={'rms_norm': norm})\n", encoding="utf-8")
    done = subprocess.run([halfcheck.program.path(), "run", "def/rms_norm/fp32/usual/*",
                           "def/gelu/fp32/usual/normal", "--backend",
                           f"pipe:{sys.executable} {file}"], stdout=subprocess.PIPE, text=True,
                          check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0, done.stdout
    assert "PASS: 14 of 15 results are as claimed; 1 MISTRUSTED; 1 case left out" in done.stdout


def test_a_function_of_jax_and_its_gradient_are_checked():
    jax = pytest.importorskip("jax")

    def norm(x, w, cut=lambda r: r):
        wide = x.astype(np.float32)
        r = cut(jax.lax.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-6))
        return (wide * r * w.astype(np.float32)).astype(x.dtype)

    def wrong(x, w):
        return norm(x, w, jax.lax.stop_gradient)

    few = {"define": "rms_norm", "formats": ["bf16", "fp32"], "families": ["normal"],
           "arrays": "jax"}
    assert halfcheck.check(norm, **few).ok
    assert halfcheck.check(norm, backward=True, **few).ok
    assert halfcheck.check(wrong, **few).ok
    with pytest.raises(halfcheck.Wrong, match="dx, bf16"):
        halfcheck.check(wrong, backward=True, **few)
    x = jax.numpy.asarray(np.random.default_rng(0).standard_normal((4, 33)), np.float32)
    y = jax.nn.softmax(x, axis=-1)
    assert halfcheck.judge(define="softmax", inputs=[x], outputs=[y]).ok
    assert not halfcheck.judge(define="softmax", inputs=[x], outputs=[y * 1.001]).ok


def _dynamic_map(signed):
    """bitsandbytes' create_dynamic_map of 8 bits: means of equal parts of [0.1, 1], by decades."""
    numbers = [0.0, 1.0]
    for i in range(7):
        edges = np.linspace(0.1, 1, 2**(i + (0 if signed else 1)) + 1)
        means = 10.0**(i - 6) * (edges[:-1] + edges[1:]) / 2
        numbers += [*means, *(-means if signed else [])]
    return np.sort(np.array(numbers)).astype(np.float32)


def _adam8(given, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, late_eps=False, floor=False,
           old=False):
    """Step 1, a block at a time. The three last are faults."""
    one = np.float32(1)
    m = np.float32(beta1) * given["q"][0][given["cm"]] * np.repeat(given["am"], 256)
    v = np.float32(beta2) * given["q"][1][given["cv"]] * np.repeat(given["av"], 256)
    m += (one - np.float32(beta1)) * given["g"]
    v += (one - np.float32(beta2)) * given["g"] * given["g"]
    root = np.float32(np.sqrt(1 - beta2))
    step = np.float32(lr / (1 - beta1)) * root
    p = given["p"] - step * (m / (np.sqrt(v) + np.float32(eps) * (one if late_eps else root)))
    codes, largest = [], []
    for x, q, before in ((m, given["q"][0], given["am"]), (v, given["q"][1], given["av"])):
        amax = np.abs(x).reshape(-1, 256).max(axis=1)
        share = x / np.repeat(before if old else amax, 256)
        edges = q[1:] if floor else (q[:-1] + q[1:]) / 2
        codes.append(np.searchsorted(edges, share).astype(np.float32))
        largest.append(amax)
    return [p, *largest, *codes]


def test_eight_bit_adam_is_judged_with_its_own_tables():
    random = np.random.default_rng(5)
    q = np.stack([_dynamic_map(True), _dynamic_map(False)])
    assert q.shape == (2, 256) and q[0][0] > -1 and q[1][0] == 0
    given = {"q": q, "p": random.normal(size=512).astype(np.float32),
             "g": random.normal(size=512).astype(np.float32) * np.float32(1e-3),
             "cm": random.integers(0, 256, 512).astype(np.int32),
             "cv": random.integers(0, 256, 512).astype(np.int32),
             "am": np.array([1e-3, 2e-3], np.float32), "av": np.array([1e-6, 1e-8], np.float32)}
    given["g"][:8] = given["am"][:1] * np.float32(1e-4)
    given["cv"][:8] = 0
    assert halfcheck.definitions.judge("adam8", given, _adam8(given)).ok
    for fault in ("late_eps", "floor", "old"):
        assert not halfcheck.definitions.judge("adam8", given, _adam8(given, **{fault: True})).ok


@pytest.mark.parametrize("name, gradient", [("adamw", "g"), ("adam_l2", "w")])
@pytest.mark.parametrize("beta1", [0.5, 0.75, 0.9])
def test_adams_mean_may_be_taken_from_the_nearer_end_as_pytorch_does(name, gradient, beta1):
    random = np.random.default_rng(1)
    p, g, m = (random.normal(size=1000).astype(np.float32) for _ in range(3))
    m *= (10.0 ** random.uniform(-4, 0, 1000)).astype(np.float32)
    keep, take = np.float32(beta1), np.float32(1 - beta1)

    def judged(m2):
        return halfcheck.definitions.judge(name, {"p": p, gradient: g, "m": m, "v": p * p},
                                           {"m2": m2}, beta1=beta1, decay=0.0).ok
    means = [keep * m + take * g, m + take * (g - m)]
    means += [g - keep * (g - m)] if beta1 == 0.5 else []
    for mean in means:
        assert judged(mean)
        assert not judged(mean * np.float32(1 + 3e-7))
