"""judge and calc, whose numbers come from the program."""

import numpy as np
import pytest

import halfcheck

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(2, 3, 8, 8)).astype(np.float16)
W = RANDOM.normal(size=(4, 3, 3, 3)).astype(np.float16)


def conv(x, w):
    """In fp64, NCHW, padded by one."""
    wide = np.pad(x.astype(float), ((0, 0), (0, 0), (1, 1), (1, 1)))
    y = np.empty((len(x), len(w), *x.shape[2:]))
    for i, j in np.ndindex(*x.shape[2:]):
        y[:, :, i, j] = np.einsum("nchw,kchw->nk", wide[:, :, i:i + 3, j:j + 3], w.astype(float))
    return y.astype(x.dtype)


Y = conv(X, W)


def test_a_right_convolution_is_within_its_bound():
    verdict = halfcheck.judge("conv2d", inputs=[X, W], output=Y, stride=1, pad=1)
    assert verdict and verdict.ok and verdict.wrong == 0
    assert 0 < verdict.error <= verdict.bound and verdict.ulps <= 0.51
    assert sum(verdict.histogram["counts"]) == Y.size
    assert len(verdict.histogram["edges"]) == len(verdict.histogram["counts"])
    assert str(verdict).startswith("PASS") and verdict.repro is None


def test_a_wrong_element_is_found_and_kept(tmp_path):
    y = Y.copy()
    y[1, 2, 3, 4] += np.float16(0.125)
    file = tmp_path / "kept.safetensors"
    verdict = halfcheck.judge("conv2d", inputs={"x": X, "w": W}, outputs={"y": y}, pad=1, keep=file)
    assert not verdict and verdict.wrong == 1 and verdict.worst["index"] == [1, 2, 3, 4]
    assert verdict.slot == "y" and verdict.error > verdict.bound
    assert verdict.implementation > 1 >= verdict.format
    assert file.exists() and str(file) in verdict.repro
    assert "error/bound" in verdict.text and "error/bound" not in verdict.short


def test_strides_do_not_matter():
    x = np.asfortranarray(X)
    assert halfcheck.judge("conv2d", inputs=[x[:, ::-1][:, ::-1], W], output=Y[..., ::1], pad=1)


def test_layouts_differ():
    nhwc = [a.transpose(0, 2, 3, 1) for a in (X, W)]
    assert halfcheck.judge("conv2d", nhwc, Y.transpose(0, 2, 3, 1), layout="nhwc", pad=1)


def test_an_optimizer_has_its_numbers_by_name():
    w, g = np.float32([1, 2, -3]), np.float32([0.5, 0, 1])
    m = v = np.zeros(3, np.float32)
    new_m, new_v = np.float32(0.5) * g, np.float32(1 - 0.999) * g * g
    assert halfcheck.judge("adamw", [w, g, m, v], outputs={"new_m": new_m, "new_v": new_v},
                           lr=1e-3, beta1=0.5, step=1, beta2=0.999)


def test_labels_may_be_of_64_bits_and_a_loss_without_axes():
    logits = np.float32([[0, 0], [0, 0]])
    assert halfcheck.judge("xent", [logits, np.array([0, 1])],
                           outputs={"loss": np.float32(np.log(2))})


@pytest.mark.parametrize("arguments, why", [
    ({"inputs": [X, W], "output": Y[:1]}, r"y has shape"),
    ({"inputs": [X, W, W], "output": Y}, r"conv2d has 2 inputs \(x, w\), not 3"),
    ({"inputs": [X], "output": Y}, r"conv2d needs its input w, \[K, R, S, C\]"),
    ({"inputs": {"x": X, "q": W}, "output": Y}, "conv2d has no input 'q'; it has x, w"),
    ({"inputs": [X, W], "output": Y, "padd": 1}, "padd.* did you mean 'pad'"),
    ({"inputs": [X, W], "output": Y, "stride": "a"}, "stride is a whole number"),
    ({"inputs": [X, W], "output": Y.astype(complex)}, "y is complex128"),
    ({"inputs": [X, W.astype(np.float32)], "output": Y}, "w is fp32, not fp16"),
    ({"inputs": [X, W]}, "either output or outputs"),
    ({"inputs": [X, "W"], "output": Y}, "is no array"),
])
def test_bad_input_says_what_was_expected(arguments, why):
    with pytest.raises((TypeError, ValueError), match=why):
        halfcheck.judge("conv2d", **arguments)


def test_an_op_that_does_not_exist():
    with pytest.raises(ValueError, match="Did you mean 'conv2d'"):
        halfcheck.judge("conv2", [X, W], Y)


def test_calc_gives_columns_sentences_and_text():
    numbers = halfcheck.calc("w = 1", each="w = w - 1e-4", steps=1000, formats=["fp16", "fp32"])
    assert numbers.columns["w"]["fp16"][-1] == 1.0
    assert abs(numbers.columns["w"]["fp32"][-1] - 0.9) < 3e-5
    assert numbers.columns["w"]["real"][-1] == 0.9
    assert numbers.steps[-1] == 1000 and len(numbers.steps) == len(numbers.columns["w"]["fp16"])
    assert "never moves" in numbers.sentences["fp16"][0] and "never moves" in str(numbers)


def test_calc_of_plain_expressions():
    numbers = halfcheck.calc("1/3", "bf16(1/3)", formats=["bf16", "fp32"])
    assert numbers.columns["1/3"]["bf16"] == [0.333984375] and numbers.steps == [0]


@pytest.mark.parametrize("formulas, why", [(("w =",), "missing"), ((), "wants a formula"),
                                           ((3,), "no formula"), (("--help",), "no formula")])
def test_calc_refuses_what_is_no_formula(formulas, why):
    with pytest.raises((TypeError, ValueError), match=why):
        halfcheck.calc(*formulas)


@pytest.mark.parametrize("op", ["add", "mul"])
def test_a_result_of_another_shape_with_as_many_elements_is_refused(op):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    right = x + x if op == "add" else x * x
    assert halfcheck.judge(op, [x, x], right).ok
    for wrong in (right.reshape(3, 2), right.reshape(1, 6), right.reshape(6)):
        with pytest.raises(ValueError, match="out has shape"):
            halfcheck.judge(op, [x, x], wrong)
    with pytest.raises(ValueError, match="y has shape"):
        halfcheck.judge(op, [x, x.reshape(3, 2)], right)
