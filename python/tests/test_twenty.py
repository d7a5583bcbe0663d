"""Twenty kernels of torch, judged blind: the judge gets functions named a to t, and what each claims
to be. Ten are right, in orders of their own, and ten are subtly wrong; twenty/verdicts.json says
which, and is read only after all have been judged."""

import collections
import importlib.util
import json
import math
import pathlib
import re

import pytest

import halfcheck

pytest.importorskip("torch")
import definitions  # noqa: E402

FOLDER = pathlib.Path(__file__).parent / "twenty"
NAMES = "abcdefghijklmnopqrst"

# What each claims to be, and in which formats.
CLAIMS = {
    "a": ("xent", ["fp16"]), "b": ("gemm", ["bf16"]), "c": ("adamw", ["bf16"]),
    "d": ("bn_train", ["fp32"]), "e": ("sgd", ["fp32"]), "f": ("conv2d", ["fp16"]),
    "g": ("sum_squares", ["bf16"]), "h": ("adam", ["fp32"]), "i": ("master_to_model", None),
    "j": ("bn_train", ["bf16"]), "k": ("xent", ["fp32"]), "l": ("unscale", ["fp16"]),
    "m": ("conv2d", ["fp32"]), "n": ("gemm", ["bf16", "fp16"]), "o": ("adamw", ["bf16"]),
    "p": ("xent_bwd", ["bf16"]), "q": ("bn_train", ["fp32"]), "r": ("sgd", ["bf16"]),
    "s": ("sum_squares", ["fp32"]), "t": ("adam", ["fp32"]),
}


def judge(name):
    """The report of a right kernel, or the Wrong of another."""
    spec = importlib.util.spec_from_file_location(f"kernel_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    op, formats = CLAIMS[name]
    try:
        return halfcheck.check(module.kernel, op=op, formats=formats, arrays="torch")
    except halfcheck.Wrong as wrong:
        return wrong


@pytest.fixture(scope="module")
def judged():
    return {name: judge(name) for name in NAMES}


@pytest.fixture(scope="module")
def truth(judged):
    assert len(judged) == len(NAMES)
    return json.loads((FOLDER / "verdicts.json").read_text("utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_the_verdict_is_the_truth(judged, truth, name):
    found = judged[name]
    if truth[name] == "right":
        assert isinstance(found, halfcheck.checks.Report), str(found)
        assert found.ok and len(found.results) >= 10
    else:
        assert isinstance(found, halfcheck.Wrong), f"{name} passes, and is {truth[name]}"


def test_ten_are_right_and_ten_are_wrong(judged):
    kinds = collections.Counter(isinstance(found, halfcheck.Wrong) for found in judged.values())
    assert kinds == {True: 10, False: 10}


@pytest.mark.parametrize("name", NAMES)
def test_the_element_that_a_report_names_is_wrong_by_decimals_too(judged, truth, name):
    if truth[name] == "right":
        return
    wrong = judged[name]
    text = str(wrong)
    assert re.search(r"  wrong     \w+\[[\d, ]+\]", text), text
    verdict = wrong.verdict
    assert verdict is not None and verdict.kept in text
    case = definitions.Case(verdict.kept)
    worst = verdict.outputs[case.slot]["worst"]
    real, bound = case.real, definitions.D(worst["bound"])
    assert math.isnan(case.got) or abs(definitions.D(case.got) - real) > bound
    # Both say the same of the real value. Coefficients of theirs are rounded, and so is what
    # the report prints.
    slack = abs(real) * definitions.D("1e-13") + bound / 4
    assert abs(definitions.D(worst["want"]) - real) <= slack
