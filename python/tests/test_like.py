"""check(kernel, like=plain): definitions that are made of plain functions of torch."""

import json
import subprocess

import numpy as np
import pytest

import halfcheck
import halfcheck.program
from halfcheck import safetensors

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

import plain  # noqa: E402
from halfcheck.likeness import Head, shown, text_of  # noqa: E402

SIZES = {"h": 2, "t": 5, "d": 8, "u": 7, "e": 6, "n": 4, "c": 12, "l": 5, "i": 9, "o": 3, "p": 4,
         "v": 10}
IDS = [row[0].__name__ for row in plain.FUNCTIONS]


def in_fp32(function):
    """A kernel: the function in fp32, and one rounding."""
    def kernel(*arguments):
        wide = [a.float() if a.is_floating_point() else a for a in arguments]
        own = next(a.dtype for a in arguments if a.is_floating_point())
        return function(*wide).to(own)
    return kernel


def sizes_of(inputs):
    return {axis: SIZES[axis] for axis in Head(inputs).axes}


def checked(kernel, function, inputs, **more):
    # torch 1.13's erf is off by more than 2 ulp in fp32 (reports/measured/definitions).
    given = {"formats": ["bf16"] if function is plain.geglu else ["bf16", "fp32"],
             "families": ["normal", "whole"],
             "sizes": [sizes_of(inputs)], **more}
    return halfcheck.check(kernel, like=function, inputs=inputs, **given)


def values(source, arrays, folder):
    file = folder / "inputs.safetensors"
    safetensors.write(file, {name: ("I32" if a.dtype == np.int32 else "F32", a.shape, a.tobytes())
                             for name, a in arrays.items()})
    said = subprocess.run([halfcheck.program.path(), "define", source, "--tensors", file,
                           "--values", "-"], stdout=subprocess.PIPE, check=True)
    first = next(iter(json.loads(said.stdout).values()))
    return (np.array([[float(x) for x in first[key]] for key in ("want", "rest")]))


@pytest.mark.parametrize("row", plain.FUNCTIONS, ids=IDS)
def test_a_right_kernel_passes_and_a_wrong_one_does_not(row):
    function, inputs, _, wrong = row
    report = checked(in_fp32(function), function, inputs)
    assert all(row["unbounded"] == 0 for *_, verdict in report.rows
               for row in verdict.outputs.values())
    assert report.ok and f"op {function.__name__}(" in str(report)
    with pytest.raises(halfcheck.Wrong):
        checked(in_fp32(wrong), function, inputs)


@pytest.mark.parametrize("row", [r for r in plain.FUNCTIONS if r[2]],
                         ids=[row[0].__name__ for row in plain.FUNCTIONS if row[2]])
def test_a_text_is_the_same_function_as_the_librarys(row, tmp_path):
    function, inputs, name, _ = row
    head, sizes = Head(inputs), sizes_of(inputs)
    text, _ = text_of(function, head, sizes)
    (tmp_path / "plain.op").write_text(text)
    rng = np.random.default_rng(5)
    arrays = {}
    for given, axes, index, along in head.rows:
        shape = tuple(sizes[axis] for axis in axes)
        arrays[given] = rng.integers(0, sizes.get(along, 2), shape).astype(np.int32) if index else \
            rng.standard_normal(shape).astype(np.float32)
    got = values(tmp_path / "plain.op", arrays, tmp_path)
    want = values(name, arrays, tmp_path)
    # Constants such as 1/sqrt(D) are fp64 in a function.
    error = abs((got[0] - want[0]) + (got[1] - want[1]))
    assert (error <= 1e-14 * (1 + abs(want[0]))).all(), text


@pytest.mark.parametrize("row", [r for r in plain.FUNCTIONS if r[0].__name__ in (
    "rms_norm", "attention", "swiglu", "linear", "softmax", "cross_entropy", "two_heads")],
                         ids=lambda row: row[0].__name__)
def test_gradients_are_judged_too(row):
    function, inputs, _, wrong = row
    assert checked(in_fp32(function), function, inputs, backward=True, families=["normal"]).ok
    with pytest.raises(halfcheck.Wrong):
        checked(in_fp32(wrong), function, inputs, backward=True, families=["normal"])


def test_a_text_says_lengths_by_their_names():
    text = shown(plain.attention, Head("q[h, t, d], k[h, u, d], v[h, u, e]"))
    assert "/ sqrt(D)" in text and "u >= t + (U - T + 1)" in text
    assert "floor(D / 2)" in shown(plain.rotary_halves, Head("x[h, t, d], co[t, d], si[t, d]"))


def test_an_operator_without_a_text_is_named():
    def inverse(x):
        return torch.linalg.inv(x)
    with pytest.raises(TypeError, match="inverse uses linalg_inv_ex, of which halfcheck has no"):
        halfcheck.check(inverse, like=inverse, inputs="x[i, j]", sizes=[{"i": 3, "j": 3}])


def test_what_changes_a_part_of_a_tensor_is_refused():
    def first(x):
        y = x * 2
        y[0].mul_(3)
        return y
    with pytest.raises(TypeError, match="mul_ of a part of a tensor"):
        halfcheck.check(first, like=first, inputs="x[t, d]")

    def before(x):
        y = x * 2
        z = y.view(-1)
        y += 1
        return z
    with pytest.raises(TypeError, match="add_ of a part of a tensor"):
        halfcheck.check(before, like=before, inputs="x[t, d]")

    def whole(x):
        y = x * 2
        y += 1
        return y
    assert "x[t,d] * 2 + 1" in shown(whole, Head("x[t, d]"))


def test_truths_are_no_results():
    with pytest.raises(TypeError, match="positive gives truths"):
        def positive(x):
            return x > 0
        halfcheck.check(positive, like=positive, inputs="x[i]")


def test_a_tensor_that_comes_from_outside_is_refused():
    table = torch.arange(4.0)
    def outside(x):
        return x * table
    with pytest.raises(TypeError, match="a constant of 4 elements"):
        halfcheck.check(outside, like=outside, inputs="x[i]", sizes=[{"i": 4}])


def test_a_cast_to_a_narrow_format_is_a_rounding():
    def stored(x, w):
        return (x * 0.3).bfloat16().float() * w
    text, _ = text_of(stored, Head("x[i], w[i]"), {"i": 6})
    assert "bf16(x[i] * 0.3)" in text


def test_inputs_that_are_none_are_refused():
    with pytest.raises(TypeError, match="wants inputs"):
        halfcheck.check(plain.softmax, like=plain.softmax)
    with pytest.raises(ValueError, match="'x.n' is no input"):
        halfcheck.check(plain.softmax, like=plain.softmax, inputs="x.n")
    with pytest.raises(TypeError, match="has no 'eps'"):
        halfcheck.check(plain.softmax, like=plain.softmax, inputs="x[n, c]", eps=1)
    with pytest.raises(TypeError, match="either op, define or like"):
        halfcheck.check(plain.softmax, like=plain.softmax, define="softmax", inputs="x[n, c]")


def test_sizes_that_the_function_refuses_are_counted():
    def pairs(x):
        return x.view(x.shape[0] // 2, 2).sum(-1)
    report = halfcheck.check(pairs, like=pairs, inputs="x[i]", formats=["fp32"],
                             families=["normal"], sizes=[{"i": 4}, {"i": 5}])
    assert len(report.rows) == 1 and sum(report.left_out.values()) == 1


def test_a_result_of_another_shape_is_not_taken():
    with pytest.raises(ValueError):
        halfcheck.check(lambda x: x.softmax(-1).T.contiguous(), like=plain.softmax,
                        inputs="x[n, c]", sizes=[{"n": 3, "c": 4}], formats=["fp32"])


# What keeps a matrix of the same shape.
STEPS = [
    lambda x: x + 1, lambda x: 2 - x, lambda x: x * x, lambda x: x / (x * x + 2), lambda x: -x,
    lambda x: (x - 3)**2, lambda x: (x + 2)**1 * 3, lambda x: 1 / (x**2 + 1), lambda x: x.tanh(),
    lambda x: x.flip(-1) - x, lambda x: x.roll(1, -1), lambda x: F.silu(x), lambda x: F.gelu(x),
    lambda x: x - x.mean(-1, keepdim=True), lambda x: x.softmax(-1), lambda x: x.softmax(0) * 3,
    lambda x: torch.cat((x[:, 2:], x[:, :2]), -1), lambda x: x[:, ::2][:, 1:].sum(-1, True) + x,
    lambda x: torch.stack((x[:, ::2], x[:, 1::2]), -1).reshape(x.shape),
    lambda x: x.t().reshape(x.shape), lambda x: x.clamp(-1, 1) - 0.5 * x, lambda x: x.abs().sqrt(),
    lambda x: torch.where(x > 0.2, x, 0.3 * x), lambda x: (x / 9).exp().log(),
    lambda x: x.view(2, 2, -1).transpose(0, 1).reshape(x.shape), lambda x: x @ (x.t() @ x) * 0.1,
    lambda x: F.pad(x[:, 1:], (0, 1)), lambda x: x[:, 1:].flip(-1)[:, 2:].sum() * x,
    lambda x: x[:, 1:].flip(-1).std(-1, keepdim=True) + x, lambda x: x.tril(1) - 2,
    lambda x: (x - 1 - x.amax(0)) / 2, lambda x: x.norm(dim=-1, keepdim=True) - -3 * x,
    lambda x: torch.lerp(x, x + 1, 0.25), lambda x: F.layer_norm(x - 1, (x.shape[-1],)),
]


@pytest.mark.parametrize("seed", range(60))
def test_random_functions_have_the_numbers_of_their_texts(seed, tmp_path):
    rng = np.random.default_rng(seed)
    steps = [STEPS[i] for i in rng.integers(len(STEPS), size=5)]

    def function(x):
        for step in steps:
            x = step(x)
        return x
    x = rng.standard_normal((4, 6)).astype(np.float32)
    try:
        text, _ = text_of(function, Head("x[n, c]"), {"n": 4, "c": 6})
    except TypeError as refusal:
        pytest.skip(str(refusal))
    (tmp_path / "random.op").write_text(text)
    got = values(tmp_path / "random.op", {"x": x}, tmp_path)[0]
    want = function(torch.from_numpy(x).double()).numpy().reshape(-1)
    assert np.allclose(got, want, rtol=1e-9, atol=1e-9, equal_nan=True), text


@pytest.mark.parametrize("function", [
    lambda x: (x * 2).flip(-1), lambda x: (x * 2).roll(1, 0), lambda x: (x * 2).t(),
    lambda x: (x * 2).t().reshape(3, 3), lambda x: x.flip(0), lambda x: (x @ x)[None]])
def test_a_result_that_is_a_view_is_read_through_it(function, tmp_path):
    text, _ = text_of(function, Head("x[n, c]"), {"n": 3, "c": 3})
    (tmp_path / "view.op").write_text(text)
    x = np.arange(9, dtype="f").reshape(3, 3)
    want = function(torch.from_numpy(x)).numpy().reshape(-1)
    assert (values(tmp_path / "view.op", {"x": x}, tmp_path)[0] == want).all(), text


def _call_of(function, inputs):
    """Inputs of one call in bf16, and what a right kernel gives for them."""
    head = Head(inputs)
    arrays = [torch.from_numpy(np.asarray(array)) for array in head.numbers(sizes_of(inputs))]
    given = [a.bfloat16() if a.is_floating_point() else a for a in arrays]
    return given, in_fp32(function)(*given)


@pytest.mark.parametrize("row", plain.FUNCTIONS, ids=IDS)
@pytest.mark.parametrize("named", [True, False])
def test_results_of_one_call_are_judged_by_a_plain_function(row, named):
    function, inputs = row[:2]
    given, right = _call_of(function, inputs)
    axes = {"axes": inputs} if named else {}
    verdict = halfcheck.judge(like=function, inputs=given, output=right, **axes)
    assert verdict.ok, verdict.text
    assert "\njudged by\n  op " in verdict.text
    assert not halfcheck.judge(like=function, inputs=given, output=right * 1.0625, **axes).ok


def test_results_that_a_plain_function_judges_may_be_wider_than_the_inputs():
    def total(x):
        return (x * x).sum(-1)
    x = torch.randn(3, 40).bfloat16()
    right = total(x.float())
    assert halfcheck.judge(like=total, inputs={"x": x}, output=right).ok
    # Results in fp32 that were rounded to bf16 are not what comes in fp32.
    assert not halfcheck.judge(like=total, inputs={"x": x}, output=right.bfloat16().float()).ok


def test_a_question_by_a_plain_function_that_is_none_is_refused():
    x = torch.zeros(3, 4)
    with pytest.raises(TypeError, match="either op, define or like"):
        halfcheck.judge("sum", like=plain.softmax, inputs=[x], output=x)
    with pytest.raises(TypeError, match="no options"):
        halfcheck.judge(like=plain.softmax, inputs=[x], output=x, eps=1)
    with pytest.raises(ValueError, match=r"x has shape \[3, 4\], which is not that of x\[n\]"):
        halfcheck.judge(like=plain.softmax, inputs=[x], output=x, axes="x[n]")
    with pytest.raises(ValueError, match="w is not given"):
        halfcheck.judge(like=plain.softmax, inputs=[x], output=x, axes="x[n, c], w[c]")
    with pytest.raises(TypeError, match="axes with like alone"):
        halfcheck.judge(define="softmax", inputs=[x], output=x, axes="x[n, c]")
    with pytest.raises(TypeError, match="uses sort"):
        halfcheck.judge(like=lambda x: x.sort(-1).values, inputs=[x], output=x)
