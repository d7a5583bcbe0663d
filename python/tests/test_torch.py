"""python -m halfcheck.torch: what it finds in a torch, and that it finds what is planted."""

import json
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from halfcheck.torch import alone, autocast, findings, optimizers, refusal, report, scaler, text  # noqa: E402
from widths import widest  # noqa: E402

PLANTED = """
import sys, torch
from halfcheck.torch import ops, serve
right = ops.sub
def sub(call):
    out = right(call)["out"]
    return {"out": torch.nextafter(out, out + 1) if out.dtype == torch.float32 else out}
ops.sub = sub
serve.serve()
"""


def run(*words, **more):
    """python -m halfcheck.torch."""
    return subprocess.run([sys.executable, "-W", "ignore", "-m", "halfcheck.torch", *words],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
                          check=False, **more)


def test_finds_that_axpy_rounds_alpha_and_that_add_is_right(tmp_path):
    ended = run("--ops", "add,axpy", "--level", "standard", "--out", str(tmp_path / "out"))
    assert ended.returncode == 1, ended.stderr
    with open(tmp_path / "out" / "findings.json", encoding="utf-8") as file:
        said = json.load(file)
    assert {(f["op"], f["formats"]) for f in said["findings"]} == {("axpy", "bf16"), ("axpy", "fp16")}
    assert all(f["wrong"] > 0 and f["unit"] == "ulp" for f in said["findings"])
    right = {(op, formats): passed == ran for _, op, formats, passed, ran in said["counts"]}
    assert right["add", "fp32"] and right["add", "bf16"] and right["axpy", "fp32"]
    assert said["machine"]["torch"] == torch.__version__
    assert widest(ended.stdout) <= 80, ended.stdout
    assert ended.stdout.index("FOUND") < ended.stdout.index("axpy") < ended.stdout.index("add")
    again = said["findings"][0]["repro"]
    assert "-m halfcheck.torch serve" in again
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "op/axpy/bf16" in page


def finding(op, formats):
    """One as a run makes it, whatever torch does."""
    return findings.Finding(op, formats, "torch", 1, 1, 1, 1, 2.0, 0.0, "ulp", "", "", "FAIL",
                            float("nan"), False)


def test_casts_that_saturate_are_not_asked_of_a_torch_that_does_not(tmp_path):
    ended = run("--ops", "cast", "--out", str(tmp_path / "out"))
    with open(tmp_path / "out" / "findings.json", encoding="utf-8") as file:
        said = json.load(file)
    assert not [f for f in said["findings"] if "saturating" in f["repro"]], said["findings"]
    shown = {f["formats"] for f in said["findings"] if f["alone"]}
    assert shown <= {"fp64-fp16", "fp64-bf16"}, ended.stdout  # which go by way of fp32


def test_prints_as_torchs_only_what_torch_alone_shows(tmp_path):
    found = [finding("axpy", "bf16"), finding("add", "fp32"), finding("cast", "fp16-bf16"),
             finding("adam", "fp32-torch-loop")]
    report.confirm(found, str(tmp_path))
    assert "torch.add with alpha" in found[0].alone
    assert [f.alone for f in found[1:]] == [None, None, None]
    assert "add fp32" not in text.found(found) and "axpy" in text.found(found)
    assert "add fp32" in text.unconfirmed(found[1:])
    ended = subprocess.run([sys.executable, "-W", "ignore", str(tmp_path / "findings_alone.py")],
                           capture_output=True, text=True, check=True, env={"PATH": ""})
    assert "axpy bf16: torch.add" in ended.stdout
    assert "add fp32: nothing is shown in torch alone" in ended.stdout


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div"])
def test_right_results_are_not_accused_in_torch_alone(op):
    for dtype in alone.SHAPES:
        assert alone.CHECKS[op][0](dtype) is None


def test_wrong_results_are_shown_in_torch_alone(monkeypatch):
    right = torch.add
    monkeypatch.setattr(torch, "add", lambda x, y: torch.nextafter(right(x, y), x))
    assert "results are wrong" in alone.add(torch.float32)
    assert alone.rounded(alone.Fraction(65520), torch.float16) == float("inf")
    assert alone.rounded(alone.Fraction(65519), torch.float16) == 65504
    assert alone.rounded(alone.Fraction(3, 2**25), torch.float16) == 2.0**-23


def test_finds_a_planted_defect(tmp_path, monkeypatch):
    from halfcheck import program
    planted = tmp_path / "planted.py"
    planted.write_text(PLANTED)
    record = tmp_path / "record.json"
    subprocess.run([program.path(), "run", "op/sub/fp32/257/*", "op/sub/bf16/257/*", "--backend",
                    f"pipe:{sys.executable} {planted}", "--json", str(record)], check=False,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    found = findings.findings(findings.rows_of(str(record)))
    assert [(f.op, f.formats) for f in found] == [("sub", "fp32")]
    assert found[0].failed == found[0].cases


def test_an_op_that_does_not_exist_is_refused_in_a_line(tmp_path):
    ended = run("--ops", "flash", cwd=tmp_path)
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1 and "'flash'" in ended.stderr


def test_tells_what_torch_lacks_from_what_went_wrong():
    half = torch.zeros(2).half()
    with pytest.raises(refusal.Refusal, match="torch gives fp16 here, not fp32"):
        refusal.into(half, ("fp32", [2]))
    with pytest.raises(refusal.Refusal, match="widens"):
        refusal.room_for(("fp32", [2]), half)
    assert refusal.room_for(("fp16", [2]), half.float()).dtype == torch.float16
    assert refusal.refusal_of(RuntimeError('"dot" not implemented for \'Half\'\nmore')) == \
        'torch: "dot" not implemented for \'Half\''
    assert refusal.refusal_of(RuntimeError("out of memory")) is None
    assert refusal.refusal_of(KeyError("dtype")) is None


@pytest.mark.parametrize("implementation", ["loop", "foreach"])
def test_an_optimizer_whose_step_is_left_out_changes_nothing(implementation):
    class Call:
        op = "adam"
        params = {"beta2": 0.99, "eps": 1e-8, "weight_decay": 0.0, "eps_inside": False,
                  "stochastic": False, "order": "ours", "arithmetic": "fp32"}
        inputs = {"w": torch.ones(3), "g": torch.ones(3), "m": torch.zeros(3), "v": torch.zeros(3),
                  "hyper": torch.tensor([0.5, 0.5, 1.0])}

    adam = optimizers.optimizers(implementation)["adam"]
    taken = adam(Call)
    # The first step of Adam is lr along the sign of the gradient.
    torch.testing.assert_close(taken["new_w"], torch.full((3,), 0.5))
    torch.testing.assert_close(taken["new_m"], torch.full((3,), 0.5))
    Call.inputs = {**Call.inputs, "found_inf": torch.ones(1)}
    left_out = adam(Call)
    assert left_out["new_w"].equal(torch.ones(3)) and left_out["new_m"].equal(torch.zeros(3))
    Call.params = {**Call.params, "arithmetic": "bf16"}
    with pytest.raises(refusal.Refusal, match="rounds each operation to fp32"):
        adam(Call)


def test_autocast_computes_convolutions_in_bf16_and_the_loss_in_fp32():
    assert torch.bfloat16 in autocast.formats()
    formats = {c.op: c.format for c in autocast.computed(torch.bfloat16)}
    assert formats["conv2d"] == formats["gemm"] == formats["conv2d_bwd_filter"] == "bf16"
    assert formats["xent"] == "fp32"


def test_nothing_of_a_record_reaches_the_terminal_as_a_command():
    assert "\x1b" not in text.wrapped("axpy\x1b[2J") and "\n" not in text.plain("a\nb")
    words = text.command("halfcheck run x --backend 'pipe:a b; c' --seed 1 " + "--json f " * 12)
    assert all(len(line) <= 80 for line in words.splitlines())
    assert "'pipe:a b; c'" in words


@pytest.mark.parametrize("verdict", ["FAIL", "ERROR"])
def test_what_failed_and_what_ended_with_an_error_are_findings(verdict):
    rows = [{"case": f"op/add/fp32/{i}/normal", "backend": "torch", "verdict": "PASS", "checked": 5,
             "error": "0x0p+0", "bound": "0x0p+0", "unit": "ulp", "note": "", "repro": ""}
            for i in range(3)]
    assert findings.findings(rows) == []
    rows[1]["verdict"] = verdict
    found = findings.findings(rows)
    assert [(f.op, f.formats, f.failed, f.cases) for f in found] == [("add", "fp32", 1, 3)]
    assert found[0].verdict == verdict
    assert findings.counts(rows) == {("torch", "add", "fp32"): (2, 3)}


def test_gradscaler_gets_the_interval_of_the_trace(monkeypatch, capsys):
    made = []

    class GradScaler:
        def __init__(self, device, growth_interval=2000):
            made.append((device, growth_interval))
            self.steps = 0

        scale = update = lambda self, *_: None

        def step(self, optimizer):
            found = not torch.isfinite(optimizer.param_groups[0]["params"][0].grad).all()
            self.steps += 0 if found else 1

        def get_scale(self):
            return float(2 ** (self.steps // made[-1][1]))

    monkeypatch.setattr(torch.amp, "GradScaler", GradScaler, raising=False)
    monkeypatch.setattr("sys.stdin", ["# a trace\n", "1 1 0\n", "2 2 inf\n", "3 3 0\n"])
    scaler.answer(2)
    assert made == [("cpu", 2)]
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["# a trace", "1 1 0 " + (1.0).hex(), "2 2 inf " + (1.0).hex(),
                     "3 3 0 " + (2.0).hex()]
