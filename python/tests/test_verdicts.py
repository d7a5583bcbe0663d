"""What counts as right: of a verdict, a report, a finding. Green must mean green."""

from types import SimpleNamespace

import numpy as np
import pytest

import halfcheck
from halfcheck import checks, definitions, verdicts

NAMES = ("PASS", "FAIL", "SKIPPED", "UNIMPLEMENTED", "MISTRUSTED", "ERROR")


@pytest.mark.parametrize("name", NAMES)
def test_only_a_pass_is_ok(name):
    result = checks.Result({"case": "op/add/fp32/1/normal", "verdict": name})
    assert result.ok == (name == "PASS")
    report = checks.Report("f", "add", [result], {})
    assert report.ok == (name == "PASS")
    assert bool(report.failed) == (name != "PASS")
    assert report.formats == {"fp32": (1, 0) if name == "PASS" else (0, 1)}
    verdict = verdicts.Verdict({"op": "add", "verdict": name, "outputs": []}, "")
    assert verdict.ok == bool(verdict) == (name == "PASS")


def test_the_worst_output_is_the_one_that_is_wrong():
    def output(slot, wrong, error):
        return {"slot": slot, "wrong": wrong,
                "worst": {"error": float(error).hex(), "bound": (1.0).hex(), "ulps": 1}}

    for order in (1, -1):
        outputs = [output("dgamma", 0, 0.5), output("dx", 2, 3), output("dbeta", 0, 0.9)][::order]
        verdict = verdicts.Verdict({"op": "bn_bwd", "verdict": "FAIL", "outputs": outputs}, "")
        assert verdict.slot == "dx" and verdict.error == 3 and verdict.wrong == 2


def test_a_report_of_nothing_is_not_ok():
    assert not checks.Report("f", "add", [], {"no fp8": 12}).ok


def test_one_failure_among_passes_is_a_failure():
    rows = [checks.Result({"case": f"op/add/fp32/{i}/normal", "verdict": "PASS"}) for i in range(3)]
    assert checks.Report("f", "add", rows, {}).ok
    rows.insert(1, checks.Result({"case": "op/add/bf16/1/normal", "verdict": "MISTRUSTED"}))
    report = checks.Report("f", "add", rows, {})
    assert not report.ok and report.failed == [rows[1]]
    assert not report.only("op/add/bf16/1/normal").ok and report.only("op/add/fp32/1/normal").ok


def _defined(*names):
    """A report by a definition whose calls had these verdicts."""
    report = definitions.Report("f", SimpleNamespace(name="double", digest="0"))
    for name in names:
        said = {"verdict": name, "definition": "double", "digest": "0", "outputs": []}
        report.rows.append(("fp32", "normal", {"d": 4}, definitions.DefinedVerdict(said, name)))
    return report


@pytest.mark.parametrize("name", NAMES)
def test_by_a_definition_only_a_pass_is_ok(name):
    report = _defined(name)
    verdict = report.rows[0][3]
    assert verdict.ok == bool(verdict) == report.ok == (name == "PASS")
    assert bool(report.failed) == (name not in ("PASS", "MISTRUSTED"))


def test_a_report_by_a_definition_needs_a_pass_and_no_failure():
    assert not _defined().ok
    assert not _defined("MISTRUSTED", "MISTRUSTED").ok
    assert _defined("MISTRUSTED", "PASS").ok
    for names in (("PASS", "FAIL"), ("FAIL", "PASS", "PASS"), ("PASS", "ERROR", "PASS")):
        report = _defined(*names)
        assert not report.ok and report.failed == [
            row for row in report.rows if row[3].verdict in ("FAIL", "ERROR")]


DOUBLE = {"define": "op double(x[d])\ny[d] = 2 * x[d]\nreturn y\n", "formats": "fp32",
          "families": ["normal"], "sizes": [{"d": 8}]}


def test_a_check_by_a_definition_raises_where_nothing_is_right():
    def no(x):
        raise halfcheck.Unsupported("not today")

    with pytest.raises(halfcheck.Error, match="nothing was judged"):
        halfcheck.check(no, **DOUBLE)
    with pytest.raises(halfcheck.Wrong, match="first wrong: fp32, normal inputs, d = 8"):
        halfcheck.check(lambda x: 3 * x, **DOUBLE)
    assert halfcheck.check(lambda x: 2 * x, **DOUBLE).ok


def test_a_check_in_which_nothing_ran_raises():
    def no(x, y):
        raise halfcheck.Unsupported("not today")

    with pytest.raises(halfcheck.Error):
        halfcheck.check(no, op="add", formats=["fp32"], level="quick")


def test_a_function_that_refuses_by_value_is_wrong():
    def ordinary(x, y):
        both = np.concatenate([x, y])
        if not np.isfinite(both).all() or not both.any():
            raise halfcheck.Unsupported("busy")
        return x + y

    with pytest.raises(halfcheck.Wrong, match="refuses inputs by their values"):
        halfcheck.check(ordinary, op="add", formats=["fp32"])


LOGITS = np.zeros((2, 3), np.float32)
LOSS = np.array([np.log(3)], np.float32)


@pytest.mark.parametrize("label", [2**31, 2**32, -2**31 - 1, -2**63, 2**63 - 1])
def test_labels_beyond_32_bits_do_not_wrap(label):
    with pytest.raises(TypeError, match="beyond 32 bits"):
        halfcheck.judge("xent", inputs=[LOGITS, np.array([0, label])], output=LOSS)


def test_labels_of_64_bits_that_are_small_are_taken():
    assert halfcheck.judge("xent", inputs=[LOGITS, np.array([0, 2])], output=LOSS)
