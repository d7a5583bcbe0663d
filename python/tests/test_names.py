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


def test_a_linear_layer_without_a_bias_is_judged_too():
    with np.errstate(all="ignore"):
        report = halfcheck.check(lambda x, w: _wide(x) @ _wide(w).T, op="linear", **FP32)
        assert report.ok and len(report.results) >= 4
        with pytest.raises(halfcheck.Wrong):
            halfcheck.check(lambda x, w: 1.01 * (_wide(x) @ _wide(w).T), op="linear", **FP32)


def test_a_linear_layer_has_its_weight_transposed_and_its_bias_added():
    with np.errstate(all="ignore"):
        report = halfcheck.check(lambda x, w, b: _wide(x) @ _wide(w).T + b, op="linear", **FP32)
        assert report.ok and len(report.results) >= 4
        with pytest.raises(halfcheck.Wrong):
            halfcheck.check(lambda x, w, b: _wide(x) @ _wide(w).T, op="linear", **FP32)


@pytest.mark.parametrize("name, op", [
    ("RMSNorm", "rms_norm"), ("torch.nn.LayerNorm", "layer_norm"), ("layernorm", "layer_norm"),
    ("nn.CrossEntropyLoss", "xent"), ("BatchNorm2d", "bn_train"), ("nn.Linear", "gemm"),
    ("AvgPool2d", "avg_pool"), ("AdamW", "adamw")])
def test_a_layer_is_found_by_the_name_of_its_class(name, op):
    assert halfcheck.explain(name)["name"] == op


def _rms_norm(x, weight, eps):
    with np.errstate(all="ignore"):
        wide, weight = _wide(x), _wide(weight)
        squares = (wide * wide).mean(axis=1, keepdims=True) if wide.shape[1] else wide[:, :1]
        return (wide / np.sqrt(squares + wide.dtype.type(eps)) * weight).astype(x.dtype)


@pytest.mark.parametrize("function", [
    _rms_norm, lambda input, weight, eps: _rms_norm(input, weight, eps),
    lambda x, weight: _rms_norm(x, weight, 1e-6)])
def test_a_norm_may_have_the_names_of_torch_and_an_eps_of_its_own(function):
    assert halfcheck.check(function, op="rms_norm", **QUICK).ok


def test_a_norm_with_another_eps_of_its_own_is_wrong_and_told_so():
    with pytest.raises(halfcheck.Wrong, match="it takes no eps, and was thought to have eps=1e-06"):
        halfcheck.check(lambda x, weight: _rms_norm(x, weight, 1e-2), op="rms_norm", **QUICK)


def test_what_lacks_a_required_input_is_told_so():
    with pytest.raises(halfcheck.Wrong, match="it takes no w, which is among the inputs"):
        halfcheck.check(lambda x: _rms_norm(x, np.ones(x.shape[1]), 1e-6), op="rms_norm", **QUICK)


class Module:
    """What one of torch looks like."""

    def __init__(self, *kept):
        self.kept = kept

    def named_parameters(self):
        return [(name, None) for name in self.kept]

    def forward(self, x):
        wide = _wide(x)
        e = np.exp(wide - wide.max(axis=-1, keepdims=True, initial=-np.inf))
        return (e / e.sum(axis=-1, keepdims=True)).astype(x.dtype)

    def __call__(self, *inputs, **more):
        return self.forward(*inputs, **more)


def test_a_module_is_checked_unless_it_keeps_weights():
    with np.errstate(all="ignore"):
        assert halfcheck.check(Module(), op="softmax", **QUICK).ok
    for function in (Module("weight"), Module("weight").forward):
        with pytest.raises(TypeError, match="keeps its weight: give a function of all inputs"):
            halfcheck.check(function, op="rms_norm", **QUICK)


def test_who_asks_for_gradients_of_an_op_is_told_of_its_definition():
    with pytest.raises(TypeError, match="write define='rms_norm' in the place of op"):
        halfcheck.check(_rms_norm, op="RMSNorm", backward=True)
    with pytest.raises(TypeError, match="without define$"):
        halfcheck.check(lambda x: x, op="cast", backward=True)


def test_formats_that_pass_are_named_where_others_fail():
    def narrow(x, w):
        return _rms_norm(x.astype(np.float32), w, 1e-6).astype(x.dtype)

    with pytest.raises(halfcheck.Wrong, match="all cases pass in fp32\\n"):
        halfcheck.check(narrow, op="rms_norm", formats=["fp32", "fp64"])


def test_judge_takes_the_same_names():
    a, b = np.ones((2, 3), np.float32), np.ones((4, 3), np.float32)
    assert halfcheck.judge("linear", [a, b], a @ b.T).ok
    assert not halfcheck.judge("linear", [a, b], a @ b.T + 1).ok


@pytest.mark.parametrize("op, hint", [
    ("relu", "leaky_relu"), ("tanh", "calc"), ("F.sigmoid", "calc"),
    ("MaxPool2d", "define='max_pool2d'"),
    ("F.mse_loss", "define='mse'"), ("rope", "define='rotary_halves'"),
    ("nn.GroupNorm", "define='group_norm'"), ("mean", "sum is the sum"),
    ("scaled_dot_product_attention", "define='attention'"), ("grmm", "Did you mean 'gemm'")])
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
