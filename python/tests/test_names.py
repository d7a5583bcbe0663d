"""The names that people have for ops and inputs, and what they get for those that halfcheck lacks."""

import numpy as np
import pytest

import halfcheck

QUICK = {"formats": ["fp32"], "level": "quick"}
FP32 = {"formats": ["fp32"]}  # of products, level quick has none without c


def _wide(x):
    return x if x.dtype == np.float64 else x.astype(np.float32)


def test_a_function_whose_names_mean_nothing_gets_the_inputs_in_their_order():
    with np.errstate(all="ignore"):
        report = halfcheck.check(lambda p, q: _wide(p) - _wide(q), op="sub", **QUICK)
        assert report.ok
        with pytest.raises(halfcheck.Wrong):
            halfcheck.check(lambda p, q: _wide(q) - _wide(p), op="sub", **QUICK)


def test_an_optional_input_at_the_end_may_be_taken_in_order_too():
    with np.errstate(all="ignore"):
        assert halfcheck.check(lambda p, q, r: _wide(p) @ _wide(q) + r, op="gemm", **FP32).ok


@pytest.mark.parametrize("function", [
    lambda y, other: y - other,  # y is the name of the second
    lambda p: p,  # too few
    lambda p, q, r: p - q,  # too many
])
def test_names_that_may_be_misspelt_are_not_taken_in_order(function):
    with pytest.raises(TypeError, match="and sub has no such thing"):
        halfcheck.check(function, op="sub", **QUICK)


@pytest.mark.parametrize("op", ["matmul", "mm", "MatMul", "torch.matmul"])
def test_a_product_is_found_by_its_other_names(op):
    with np.errstate(all="ignore"):
        report = halfcheck.check(lambda x, y: _wide(x) @ _wide(y), op=op, **FP32)
    assert report.ok and report.op == "gemm"


def test_a_linear_layer_has_its_weight_transposed_and_its_bias_added():
    with np.errstate(all="ignore"):
        report = halfcheck.check(lambda x, w, b: _wide(x) @ _wide(w).T + b, op="linear", **FP32)
        assert report.ok and len(report.results) >= 4
        with pytest.raises(halfcheck.Wrong):
            halfcheck.check(lambda x, w, b: _wide(x) @ _wide(w).T, op="linear", **FP32)


def test_judge_takes_the_same_names():
    a, b = np.ones((2, 3), np.float32), np.ones((4, 3), np.float32)
    assert halfcheck.judge("linear", [a, b], a @ b.T).ok
    assert not halfcheck.judge("linear", [a, b], a @ b.T + 1).ok


@pytest.mark.parametrize("op, hint", [
    ("relu", "leaky_relu"), ("tanh", "calc"), ("F.sigmoid", "calc"),
    ("grmm", "Did you mean 'gemm'")])
def test_an_op_that_is_not_there_is_answered_by_meaning(op, hint):
    with pytest.raises(ValueError, match=hint) as caught:
        halfcheck.check(lambda x: x, op=op)
    assert "fma" not in str(caught.value) and "\n" not in str(caught.value)


def test_a_word_that_is_near_to_nothing_gets_no_suggestion():
    with pytest.raises(ValueError) as caught:
        halfcheck.check(lambda x: x, op="zzzzzz")
    assert "mean" not in str(caught.value) and "halfcheck.ops()" in str(caught.value)


def test_an_op_that_a_definition_says_is_one_like_others():
    def softmax(x):
        e = np.exp(_wide(x) - _wide(x).max(axis=-1, keepdims=True, initial=-np.inf))
        return e / e.sum(axis=-1, keepdims=True)

    def unshifted(x):
        with np.errstate(all="ignore"):
            e = np.exp(x)
            return e / e.sum(axis=-1, keepdims=True)

    assert halfcheck.check(softmax, op="softmax", **FP32).ok
    with pytest.raises(halfcheck.Wrong):
        halfcheck.check(unshifted, op="softmax", **FP32)


def test_ops_lists_all_and_explain_tells_of_one():
    table = str(halfcheck.ops())
    assert {"gemm", "adamw"} <= set(halfcheck.ops())
    assert len(table.splitlines()) == len(halfcheck.ops()) and "also" in table
    about = halfcheck.explain("matmul")
    assert about["name"] == "gemm"
    assert "transpose_a" in str(about) and "[M, K]" in str(about)
    assert {"a", "b", "c", "out"} == {slot["name"] for slot in about["slots"]}
