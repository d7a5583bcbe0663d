"""What a tired user gives: each is answered by an exception that says what was expected."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import halfcheck

ADD = {"op": "add", "formats": ["fp32"]}


def test_a_function_of_numpy_may_give_what_lies_in_strides():
    def strided(x, y):
        return np.repeat(x + y, 2)[::2]
    with np.errstate(all="ignore"):
        assert halfcheck.check(strided, **ADD).ok


@pytest.mark.parametrize("given, why", [
    (None, "bad returned None; the outputs are out"),
    (1.0, r"bad gives out of shape \[\], not \[\d+\]"),
    ("sum", "bad gives out as str, not as an array of fp32"),
    (object(), "bad gives out as object, not as an array of fp32"),
    (np.zeros(1, bool), "bad gives out in bool where fp32 is asked for"),
    ({"sum": 1}, "bad gave sum; the outputs are out"),
    ((1, 2), "bad returned 2 results; the outputs are out"),
])
def test_a_result_that_is_none_says_what_was_expected(given, why):
    def bad(x, y):
        return given
    with pytest.raises(TypeError, match=why):
        halfcheck.check(bad, **ADD)


def test_a_float64_result_is_left_out_and_that_is_why_nothing_was_judged():
    def wide(x, y):
        with np.errstate(all="ignore"):
            return x.astype(np.float64) + y
    with pytest.raises(halfcheck.Error, match="(?s)no case was judged.*gives out in fp64 where "
                                              "fp32 is asked for"):
        halfcheck.check(wide, **ADD)


def test_a_bool_of_torch_is_named():
    torch = pytest.importorskip("torch")

    def bad(x, y):
        return torch.ones(3, dtype=torch.bool)
    # PyTorch 2 exports its bools through DLPack, PyTorch 1.13 does not.
    with pytest.raises(TypeError, match="bad gives out (as torch.bool, not as an array of fp32|"
                                        "in bool where fp32 is asked for)"):
        halfcheck.check(bad, arrays="torch", **ADD)


def test_what_a_function_raises_says_in_which_call():
    def bad(x, y):
        raise RuntimeError("a device is lost")
    with pytest.raises(RuntimeError, match="a device is lost") as caught:
        halfcheck.check(bad, **ADD)
    notes = getattr(caught.value, "__notes__", [])
    assert notes == ["halfcheck asked for add with x fp32 [1], y fp32 [1]"] or \
        sys.version_info < (3, 11)


@pytest.mark.parametrize("arrays, method, hint", [
    ("numpy", "float", "arrays='torch' gives torch's"),
    ("torch", "astype", "arrays='numpy' gives numpy's"),
])
def test_arrays_of_another_library_are_named(arrays, method, hint):
    if arrays == "torch":
        pytest.importorskip("torch")
    with pytest.raises(AttributeError) as caught:
        halfcheck.check(lambda x, y: getattr(x, method)("f") + y, arrays=arrays, **ADD)
    assert hint in "".join(getattr(caught.value, "__notes__", [hint]))


def test_a_function_that_raises_without_elements_is_left_out_there():
    def add(x, y):
        assert x.size > 0
        with np.errstate(all="ignore"):
            return x + y
    report = halfcheck.check(add, **ADD)
    assert report.ok
    assert any("it raises AssertionError where x is empty" in why for why in report.left_out)


def test_an_optional_input_that_a_function_does_not_take_is_left_out():
    def unscale(x, scale, found_inf, reciprocal):
        with np.errstate(all="ignore"):
            out = x * (np.float32(1) / scale) if reciprocal else x / scale
        found = not np.isfinite(x).all() or found_inf is not None and found_inf[0] != 0
        return out, np.full(1, found, np.float32)
    report = halfcheck.check(unscale, op="unscale", cases=["op/unscale/fp32/*"])
    assert report.ok
    assert any("it takes no override" in why for why in report.left_out)


@pytest.mark.parametrize("formats", ["bf16", ("bfloat16",), [type("bfloat16", (), {})]])
def test_formats_have_the_names_that_people_use(formats):
    assert halfcheck.checks.patterns_of("add", formats) == ["op/add/bf16/*",
                                                             "size/add/bf16/*"]


def test_formats_of_torch_are_taken():
    torch = pytest.importorskip("torch")
    assert halfcheck.checks.patterns_of("add", torch.bfloat16) == ["op/add/bf16/*",
                                                                    "size/add/bf16/*"]
    assert halfcheck.checks.patterns_of("add", [np.float16]) == ["op/add/fp16/*",
                                                                  "size/add/fp16/*"]


@pytest.mark.parametrize("bad, why", [
    ({"formats": []}, r"formats=\[\] names none; there are bf16, fp16"),
    ({"layout": "NCHW"}, "layout='NCHW': there are nchw, nhwc"),
    ({"op": "adamv"}, "Did you mean 'adam"),
])
def test_arguments_that_mean_nothing_are_refused(bad, why):
    with pytest.raises(ValueError, match=why):
        halfcheck.check(np.add, **{**ADD, **bad})


def test_one_pattern_of_cases_need_not_be_a_list():
    report = halfcheck.check(np.sqrt, op="sqrt", cases="op/sqrt/fp32/1/*")
    assert [result.case for result in report.results] == ["op/sqrt/fp32/1/normal"]
    with pytest.raises(halfcheck.Error, match="no case matches 'nothing'"):
        halfcheck.check(np.sqrt, op="sqrt", cases="nothing")


X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("inputs, output, why", [
    ([X, X], X[0], r"add: out has shape \[3\], not \[2, 3\]"),
    ([X, X[0]], X, r"add: y has shape \[3\], not \[2, 3\]"),
    ([X, X.astype("f2")], X, "add: y is fp16, not fp32"),
    ([X, X], X.astype("f8"), "add: out is fp64, not fp32"),
    ([X, X + 0j], X, "add: y is complex64; halfcheck has fp64, fp32"),
    ([X.astype(">f4"), X], X, "add: x is >f4; halfcheck has fp64, fp32"),
    ([X.reshape(1, 1, 1, 2, 3)] * 2, X, "add: x has 5 dimensions; tensors have 4 at most"),
    ([X], X, "add needs its input y"),
    ([X, X, X], X, r"add has 2 inputs \(x, y\), not 3"),
    ({"a": X, "y": X}, X, "add has no input 'a'; it has x, y"),
    ([X, "y"], X, "builtins.str is no array"),
])
def test_judge_says_what_the_op_has(inputs, output, why):
    with pytest.raises((TypeError, ValueError), match=why):
        halfcheck.judge("add", inputs=inputs, output=output)


def test_judge_takes_arrays_that_lie_in_strides():
    assert halfcheck.judge("add", inputs=[X.T, X.T], output=(X + X).T).ok
    assert halfcheck.judge("add", inputs=[X[::-1], X[:, ::1][::-1]], output=(X + X)[::-1]).ok
    assert not halfcheck.judge("add", inputs=[X[::-1], X[::-1]], output=X + X).ok


@pytest.mark.parametrize("parameter, why", [
    ({"strid": 1}, "conv2d has no parameter 'strid'; did you mean 'stride'"),
    ({"stride": (2, 2)}, "stride is a whole number, not '2,2'"),
    ({"pad": 0.5}, "pad is a whole number"),
    ({"layout": "NCHW"}, "NCHW"),
])
def test_judge_says_what_a_parameter_is(parameter, why):
    ones = np.ones((1, 1, 3, 3), np.float32)
    with pytest.raises((ValueError, halfcheck.Error), match=why):
        halfcheck.judge("conv2d", inputs=[ones, ones], output=ones[:, :, :1, :1] * 9, **parameter)


@pytest.mark.parametrize("body, why", [
    ("", "ended"),
    ("print('hello')", "hello"),
    ("import no_such_module", "ended"),
    ("import halfcheck.pipe\nhalfcheck.pipe.serve(ops={'adamv': min})", "adamv"),
    ("import halfcheck.pipe\nhalfcheck.pipe.serve(ops={'add': None})", "ended"),
    ("import halfcheck.pipe\nhalfcheck.pipe.serve(name='exact', ops={'add': min})", "exact"),
])
def test_a_program_that_is_none_is_a_line_and_status_2(tmp_path, body, why):
    (tmp_path / "mine.py").write_text(textwrap.dedent(body))
    ended = subprocess.run(
        [os.environ["HALFCHECK_PROGRAM"], "run", "op/add/fp32/1/*", "--backend",
         f"pipe:{sys.executable} {tmp_path}/mine.py"], check=False, capture_output=True, text=True)
    assert ended.returncode == 2
    lines = [line for line in ended.stderr.splitlines() if line.startswith("halfcheck: ")]
    assert len(lines) == 1 and why in lines[0], ended.stderr
