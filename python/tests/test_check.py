"""check, on AdamWs that are right and AdamWs that are wrong."""

import os
import re
import subprocess
import sys
import textwrap

import kernels
import numpy as np
import pytest
from widths import widest

import halfcheck
from halfcheck.checks import case_names, patterns_of
from halfcheck.program import has_option

ADAMW = {"op": "adamw", "formats": ["bf16"]}


@pytest.mark.parametrize("function", kernels.RIGHT)
def test_right_ones_pass_in_any_order(function):
    report = halfcheck.check(function, **ADAMW)
    assert report.ok and not report.failed
    assert {"bf16", "bf16-state-bf16"} <= set(report.formats)
    assert len(report.results) >= 15
    assert f"{function.__name__} as adamw: " in str(report)
    assert any("it takes no eps_inside" in why for why in report.left_out)


@pytest.mark.parametrize("function", kernels.WRONG)
def test_wrong_ones_are_found(function):
    with pytest.raises(halfcheck.Wrong) as caught:
        halfcheck.check(function, **ADAMW)
    text = str(caught.value)
    assert re.search(r"new_[wmv]\[\d+\]", text)
    assert re.search(r"got +-?[0-9.]", text) and "ulp" in text
    assert widest(text) <= 80, text
    assert isinstance(caught.value, AssertionError)
    verdict = caught.value.verdict
    assert not verdict.ok and verdict.error > verdict.bound
    # The file keeps the inputs: the command gives the same verdict.
    again = subprocess.run([os.environ["HALFCHECK_PROGRAM"], *verdict.repro.split()[1:]],
                           stdout=subprocess.PIPE, text=True, check=False)
    assert again.returncode == 1 and again.stdout.startswith("FAIL")


def test_products_are_judged_where_they_fill_tiles():
    def no_tiles(a, b):
        out = a @ b
        return np.zeros_like(out) if min(out.shape) >= 128 and a.shape[1] >= 32 else out
    assert halfcheck.check(lambda a, b: a @ b, op="gemm", formats=["fp32"]).ok
    with pytest.raises(halfcheck.Wrong, match="FAIL size/gemm/fp32/257x257x257-plain"):
        halfcheck.check(no_tiles, op="gemm", formats=["fp32"])


def test_says_the_case_that_repeats_it():
    with pytest.raises(halfcheck.Wrong) as caught:
        halfcheck.check(kernels.no_bias_correction, **ADAMW)
    case = re.search(r"cases=\['(.*)'\]", str(caught.value))[1]
    with pytest.raises(halfcheck.Wrong) as again:
        halfcheck.check(kernels.no_bias_correction, op="adamw", cases=[case])
    assert [result.case for result in again.value.report.results] == [case]


def test_what_a_function_raises_comes_out_with_its_traceback():
    def bad(w, g, m, v, lr, beta1, beta2, eps, weight_decay, step):
        return [][1]
    with pytest.raises(IndexError) as caught:
        halfcheck.check(bad, **ADAMW)
    assert caught.traceback[-1].name == "bad"


def test_a_result_of_a_wrong_shape_says_what_was_expected():
    def bad(x, y):
        return (x + y)[:, None]
    with pytest.raises(TypeError, match=r"bad gives out of shape \[\d+, 1\], not \[\d+\]"):
        halfcheck.check(bad, op="add", formats=["fp32"])


def test_an_op_that_does_not_exist_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match="no op 'adamv'. Did you mean 'adam"):
        halfcheck.check(kernels.loop, op="adamv")


def test_a_parameter_that_means_nothing_is_refused_with_the_names():
    def bad(w, grad):
        return w
    with pytest.raises(TypeError, match=r"bad wants grad, and adamw has no such thing. Its names: "
                                        r"w, g, m, v, hyper, lr, beta1, step, found_inf, .*beta2"):
        halfcheck.check(bad, op="adamw")


@pytest.mark.parametrize("bad, why", [
    ({"formats": ["bf17"]}, "no cases of add in 'bf17'; there are bf16, fp16"),
    ({"level": "hard"}, "there are quick, standard, exhaustive"),
    ({"arrays": "tensorflow"}, "there are numpy, torch, jax, cupy"),
])
def test_bad_options_are_refused_with_the_good_ones(bad, why):
    with pytest.raises(ValueError, match=why):
        halfcheck.check(lambda x, y: x + y, op="add", **bad)


def test_bad_options_of_the_program_are_refused_in_its_words():
    with pytest.raises(halfcheck.Error, match="order"):
        halfcheck.check(kernels.loop, order="mine", **ADAMW)


def test_nothing_judged_is_an_error_that_says_why():
    def fixed(x):
        raise AssertionError("it is never called")
    with pytest.raises(halfcheck.Error, match="(?s)no case was judged.*takes no slope.*to get these "
                                              "calls: a parameter of that name"):
        halfcheck.check(fixed, op="leaky_relu", formats=["fp32"])


def _gradient_step(w, g, lr):
    with np.errstate(invalid="ignore"):
        return w - np.float32(lr) * g


def _norm(x, gamma, beta, mean, variance):
    root = np.sqrt(variance.astype(np.float64) + float(np.float32(1e-5)))
    return ((x.astype(np.float64) - mean) / root * gamma + beta).astype(x.dtype)


# What people write who know none of the op's options, and the same with a fault.
PLAIN = [
    ("gemm", lambda a, b: a @ b, lambda a, b: a @ b * np.float32(1.001)),
    ("gemm", lambda a, b, c: a @ b + c, lambda a, b, c: a @ b),
    ("gemm", lambda a, b, c=None: a @ b if c is None else a @ b + c, lambda a, b, c=None: a @ b),
    ("axpy", lambda x, y: x + y, lambda x, y: x - y),
    ("sgd", _gradient_step, lambda w, g, lr: w + np.float32(lr) * g),
    ("all_reduce", lambda x: x.mean(0), lambda x: x.mean(0) * np.float32(1.001)),
    ("bn_infer", _norm, lambda x, gamma, beta, mean, variance: _norm(x, gamma, beta, 0, variance)),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("op, right, wrong", PLAIN)
def test_plain_forms_have_cases_which_pass_and_fail(op, right, wrong):
    options = {"op": op, "formats": ["fp32"], "layout": "nhwc"}
    report = halfcheck.check(right, **options)
    assert report.ok and len(report.results) >= 5
    assert not report.left_out or "to get these calls: a parameter of that name" in str(report)
    with pytest.raises(halfcheck.Wrong):
        halfcheck.check(wrong, **options)


def test_a_function_that_always_adds_c_is_told_how_it_gets_the_calls_without():
    report = halfcheck.check(lambda a, b, c: a @ b + c, op="gemm", formats=["fp32"])
    assert any("always adds c" in why for why in report.left_out)
    assert "; c=None" in str(report)


def test_operators_and_built_in_functions_are_checked_too():
    assert halfcheck.check(np.sqrt, op="sqrt", formats=["fp32"]).ok
    assert halfcheck.check(lambda x, y: x * y, op="mul", formats=["fp16"]).ok


def test_torch_is_found_by_the_module_that_uses_it(tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "mine.py").write_text(textwrap.dedent("""
        import torch, halfcheck
        def relu(x, slope):
            assert isinstance(x, torch.Tensor)
            return torch.nn.functional.leaky_relu(x, slope)
        print(halfcheck.check(relu, op="leaky_relu", formats=["fp32"]))
        print(halfcheck.check(torch.add, op="add", formats=["bf16"]))
    """))
    ended = subprocess.run([sys.executable, str(tmp_path / "mine.py")], check=False,
                           capture_output=True, text=True)
    assert "relu as leaky_relu: " in ended.stdout and "add as add: " in ended.stdout, ended.stderr


def test_a_survey_says_formats_layouts_and_orders():
    def pool(x, window):
        n, c, h, w = x.shape
        wide = x.astype(np.float32).reshape(n, c, h // window, window, w // window, window)
        return wide.mean(axis=(3, 5), dtype=np.float32).astype(x.dtype)
    found = halfcheck.survey(pool, op="avg_pool", formats=["fp16"])
    assert found.layouts == ["nchw"] and "fp16" in found.formats
    assert "layout nchw: none of" in str(found)
    found = halfcheck.survey(kernels.no_bias_correction, **ADAMW)
    assert found.formats == [] and found.layouts == []


def test_a_survey_says_whose_bits_they_are():
    if not has_option("run", "--order"):
        pytest.skip("this halfcheck run has no --order")
    found = halfcheck.survey(np.sqrt, op="sqrt", formats=["fp32", "bf16"])
    assert sorted(found.orders["ours"]) == ["bf16", "fp32"]


def test_patterns_are_those_of_the_formats():
    assert patterns_of("add", "bf16") == ["op/add/bf16/*", "size/add/bf16/*"]
    assert patterns_of("add") == ["op/add/*", "size/add/*"]
    assert patterns_of("clip") == ["op/clip/*"]
    assert "op/adamw/bf16-state-bf16/*" in patterns_of("adamw", ["bf16"])
    assert patterns_of("adamw", ["fp32"], "torch-loop") == ["op/adamw/fp32/*",
                                                           "size/adamw/fp32/*", "bits/adamw/fp32*"]
    assert len(case_names("quick")) < len(case_names())


def test_a_missing_program_is_said(monkeypatch):
    monkeypatch.setenv("HALFCHECK_PROGRAM", "/nowhere/halfcheck")
    with pytest.raises(halfcheck.Error, match="HALFCHECK_PROGRAM is /nowhere/halfcheck, and there"):
        halfcheck.check(np.sqrt, op="sqrt")


@pytest.mark.parametrize("text, why", [
    ("echo halfcheck 0.0.1", "is halfcheck 0.0.1, and this package is"),
    ("echo hello", "is no halfcheck"),
])
def test_another_program_is_refused(monkeypatch, tmp_path, text, why):
    other = tmp_path / "halfcheck"
    other.write_text(f"#!/bin/sh\n{text}\n")
    other.chmod(0o755)
    monkeypatch.setenv("HALFCHECK_PROGRAM", str(other))
    with pytest.raises(halfcheck.Error, match=why):
        halfcheck.check(np.sqrt, op="sqrt")


def test_the_module_is_the_program():
    ended = subprocess.run([sys.executable, "-m", "halfcheck", "--version"], check=False,
                           stdout=subprocess.PIPE, text=True)
    assert ended.returncode == 0 and ended.stdout.startswith("halfcheck " + halfcheck.__version__)


def test_ctrl_c_ends_both(tmp_path):
    (tmp_path / "mine.py").write_text(textwrap.dedent("""
        import os, signal, subprocess, time
        import halfcheck
        def slow(x):
            os.kill(os.getpid(), signal.SIGINT)  # to this process alone, as in a notebook
            time.sleep(600)
            return x
        try:
            halfcheck.check(slow, op="sqrt", formats=["fp32"])
        except KeyboardInterrupt:
            children = subprocess.run(["ps", "-o", "comm=", "--ppid", str(os.getpid())],
                                      stdout=subprocess.PIPE, text=True).stdout.split()
            print("ended;", [name for name in children if "halfcheck" in name])
    """))
    ended = subprocess.run([sys.executable, str(tmp_path / "mine.py")], check=False, timeout=300,
                           capture_output=True, text=True)
    assert ended.stdout == "ended; []\n", ended.stderr


def test_fp8_is_sent_to_gemm_only_where_it_is_asked_for():
    seen = set()

    def gemm(a, b, c=None, alpha=1.0, beta=0.0, transpose_a=False, transpose_b=False):
        seen.add(str(a.dtype))
        a, b = (x.astype(np.float32) for x in (a, b))
        out = np.float32(alpha) * ((a.T if transpose_a else a) @ (b.T if transpose_b else b))
        return out if c is None or beta == 0 else out + np.float32(beta) * c.astype(np.float32)

    halfcheck.check(gemm, op="gemm", level="quick")
    assert "float8_e4m3fn" not in seen
    report = halfcheck.check(gemm, op="gemm", formats=["e4m3"])
    assert "float8_e4m3fn" in seen and list(report.formats) == ["e4m3-fp32"]
