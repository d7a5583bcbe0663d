"""What else a watch sees: the budget of the loss's error, what formats cost, what roundings come to
and what another run has otherwise. Each is given something to find."""

import json
import subprocess

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

import halfcheck.torch  # noqa: E402
from halfcheck import program  # noqa: E402
from halfcheck.torch import traces, wide  # noqa: E402
from test_watch import Spoilt, training, watched  # noqa: E402

ALL = {"budget": True, "formats": True, "through": "step", "trace": True}


def view_of(seen, name):
    found, = [view for view in seen.views if view.name == name]
    assert not found.failures, found.failures
    return found


def rows_of(seen, name, **wanted):
    return [row for row in view_of(seen, name).said()["rows"]
            if all(row[key] == value for key, value in wanted.items())]


def test_a_training_has_equal_bits_with_all_views_and_none_fails():
    plain, _ = training(2)
    got, seen = training(2, lambda optimizer: halfcheck.torch.watch(optimizer, **ALL))
    assert all(torch.equal(a, b) for a, b in zip(plain, got))
    for name in ALL:
        assert view_of(seen, name).text()
    said = json.dumps(seen.said(), allow_nan=False)
    assert all(name in json.loads(said) for name in ALL)


def test_an_unknown_view_is_refused():
    with pytest.raises(TypeError, match="'bugdet'; it has budget, formats"):
        halfcheck.torch.watch(bugdet=True)


# The budget.

def test_a_rounding_moves_the_loss_by_its_error_times_the_gradient():
    x = torch.randn(50, dtype=torch.float64).requires_grad_()
    weight = torch.randn(50, dtype=torch.float64)
    with halfcheck.torch.watch(budget=True) as seen:
        narrow = x.bfloat16()
        (narrow.double() * weight).sum().backward()
    row, = rows_of(seen, "budget", operator="_to_copy", format="bf16")
    error = x.detach().bfloat16().double() - x.detach()
    weight = weight.bfloat16().double()  # a gradient by bf16 is bf16
    assert row["moved"] == pytest.approx(float((error * weight).sum()), rel=1e-5)
    assert row["chance"] == pytest.approx(float((error * weight).norm()), rel=1e-5)
    assert view_of(seen, "budget").table()[0]["operator"] == "_to_copy"
    others = [row for row in rows_of(seen, "budget") if row["format"] == "fp64"]
    assert others and all(row["size"] == 0 for row in others)


def test_a_result_that_has_no_gradient_ends_no_training():
    """The engine calls a hook with None where another result of its operator has a gradient."""
    x = torch.linspace(-1, 1, 64).view(2, 8, 4).requires_grad_()
    with halfcheck.torch.watch(budget=True) as seen:
        y = torch.nn.functional.group_norm(x, 2).square().sum()
        gradient, = torch.autograd.grad(y, x, create_graph=True)
        gradient.square().mean().backward()
    assert view_of(seen, "budget").table(), str(seen)


def test_a_wrong_operator_is_first_in_the_budget():
    with Spoilt("tanh"):
        _, seen = training(1, lambda optimizer: halfcheck.torch.watch(optimizer, budget=True))
    assert view_of(seen, "budget").table()[0]["operator"] == "tanh", str(seen)
    with Spoilt("addmm"):
        _, seen = training(1, lambda optimizer: halfcheck.torch.watch(optimizer, budget=True))
    assert view_of(seen, "budget").table()[0]["operator"] == "addmm", str(seen)


def test_infinities_of_a_mask_move_nothing_and_what_is_written_over_has_its_own_row():
    x = torch.randn(4, 8, requires_grad=True)
    with halfcheck.torch.watch(budget=True) as seen:
        y = (x.bfloat16() * 1.5).masked_fill(torch.arange(8) > 5, -float("inf"))
        y = torch.softmax(y, -1) * 2
        y.mul_(3)
        (y.float() ** 2).sum().backward()
    rows = {row["operator"]: row for row in rows_of(seen, "budget")}
    assert rows["masked_fill.Scalar"]["size"] == 0
    assert rows["mul_.Tensor"]["size"] > 0 and rows["_softmax"]["size"] > 0, rows


def test_random_numbers_are_said_to_be_unseen():
    x = torch.ones(64, requires_grad=True)
    torch.manual_seed(3)
    with halfcheck.torch.watch(budget=True) as seen:
        F.dropout(x).sum().backward()
    assert any("random" in why for _, why, _ in view_of(seen, "budget").said()["unseen"])
    torch.manual_seed(3)
    with_it = F.dropout(x)
    torch.manual_seed(3)
    assert torch.equal(with_it, F.dropout(x))


# What formats cost.

def test_a_cast_flushes_and_overflows():
    x = torch.tensor([1e-9, 1e-6, 1.0, 0.0, 6e4, 1e6, 1e-3, 2.0])
    with halfcheck.torch.watch(formats=True) as seen:
        x.half()
    row, = rows_of(seen, "formats", format="fp16")
    wanted = {"numbers": 8, "zero": 2, "subnormal": 1, "near": 1, "infinite": 1, "nan": 0,
              "flushed": 1, "overflowed": 1, "saturated": 0}
    assert {name: row[name] for name in wanted} == wanted
    assert row["exponents"] == [(-20, 1), (-10, 1), (0, 1), (1, 1), (15, 1)]


def test_updates_below_half_an_ulp_are_lost():
    layer = nn.Linear(8, 4, bias=False).bfloat16()
    with torch.no_grad():
        layer.weight.fill_(1.0)
    optimizer = torch.optim.SGD(layer.parameters(), lr=1e-4)
    with halfcheck.torch.watch(optimizer, formats=True) as seen:
        layer(torch.ones(2, 8, dtype=torch.bfloat16)).sum().backward()
        optimizer.step()
    row, = rows_of(seen, "formats", operand="updates")
    assert row["layer"] == "Linear" and row["lost"] == row["numbers"] == 32
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
    with halfcheck.torch.watch(optimizer, formats=True) as seen:
        layer(torch.ones(2, 8, dtype=torch.bfloat16)).sum().backward()
        optimizer.step()
    assert rows_of(seen, "formats", operand="updates")[0]["lost"] == 0


def test_infinities_of_a_mask_cost_nothing_and_others_do():
    x = torch.ones(4, 4, dtype=torch.float16)
    with halfcheck.torch.watch(formats=True) as seen:
        y = x.masked_fill(torch.arange(4) > 2, -float("inf")) * 2
        del y
    assert sum(row["infinite"] for row in rows_of(seen, "formats")) == 0
    with halfcheck.torch.watch(formats=True) as seen:
        _ = x * 1e4 * 10
    assert sum(row["infinite"] for row in rows_of(seen, "formats")) == 16


# Through.

def test_what_has_come_together_stands_beside_what_is_an_operators_own():
    x = torch.randn(100)
    with halfcheck.torch.watch(through="step") as seen:
        y = x.bfloat16().float()
        _ = y * 3
    row, = rows_of(seen, "through", operator="mul.Tensor")
    off = float((x.bfloat16().double() - x.double()).norm() / x.double().norm())
    assert row["all"] == pytest.approx(off, rel=1e-3) and row["own"] < 1e-7


def test_a_shadow_follows_views_and_what_is_written_into_them():
    x, whole = torch.randn(6), torch.zeros(4, 6)
    with halfcheck.torch.watch(through="step") as seen:
        whole.t()[:, 1].copy_(x.bfloat16())
        whole[2:].add_(1)
        _ = whole.view(-1)[6:12] * 1
    row, = rows_of(seen, "through", operator="mul.Tensor")
    off = float((x.bfloat16().double() - x.double()).norm() / x.double().norm())
    assert row["all"] == pytest.approx(off, rel=1e-3) and row["own"] == 0


def test_each_layer_is_held_to_its_own_inputs():
    class Twice(nn.Module):
        def forward(self, x):
            return x * 2

    net = nn.Sequential(Twice(), Twice())
    x = torch.randn(40)
    with Spoilt("mul"), halfcheck.torch.watch(through="layers") as seen:
        net(x)
    first, second = (rows_of(seen, "through", place=place)[0]["all"] for place in "01")
    assert first > 0.03 and second == pytest.approx(first, rel=0.01)
    with Spoilt("mul"), halfcheck.torch.watch(through="step") as seen:
        net(x)
    assert rows_of(seen, "through", place="1")[0]["all"] > 1.9 * first
    with Spoilt("mul"), halfcheck.torch.watch(through="1") as seen:
        net(x)
    row, = rows_of(seen, "through")
    assert row["place"] == "1" and row["all"] == pytest.approx(first, rel=0.01)


def test_memory_that_is_used_again_has_no_old_shadow():
    with halfcheck.torch.watch(through="step") as seen:
        for _ in range(50):
            y = (torch.randn(1000).bfloat16() * 1.7).float()
            del y
            _ = torch.randn(1000) * 2
    row, = rows_of(seen, "through", operator="mul.Tensor", format="fp32")
    assert row["all"] < 1e-6, row


def test_statistics_in_half_are_seen_where_no_operator_is_wrong():
    x = torch.randn(16, 64) + 30
    with halfcheck.torch.watch(through="step") as seen:
        mean = x.mean(-1, keepdim=True).bfloat16()
        _ = x - mean
    row, = rows_of(seen, "through", operator="sub.Tensor")
    assert seen.ok() and row["all"] > 1e-2 and row["own"] < 1e-6


# Another run.

def traced(**more):
    return training(1, lambda optimizer: halfcheck.torch.watch(optimizer, trace=True), **more)[1]


def test_equal_runs_are_equal_bit_for_bit(tmp_path):
    one, two = traced(), traced()
    assert one.compare(two).same() and "same, bit for bit" in str(one.compare(two))
    two.report(tmp_path)
    assert one.compare(tmp_path).same() and one.compare(tmp_path / "seen.json").same()


def test_memory_that_is_written_over_is_no_input():
    def run(before):
        with halfcheck.torch.watch(trace=True) as seen:
            x = torch.full((2000,), before)[:1000]
            x.normal_(generator=torch.Generator().manual_seed(1))
            torch.full((1000,), before).fill_(2.0)
        return [call for call in view_of(seen, "trace").calls if call[1].split(".")[0] != "full"]
    one, two = run(1.0), run(3.0)
    assert len(one) == 2 and [call[5:] for call in one] == [call[5:] for call in two]


@pytest.mark.parametrize("name", ["tanh", "convolution_backward", "addcdiv_"])
def test_the_first_operator_that_makes_a_difference_is_named(name):
    plain = traced()
    with Spoilt(name):
        spoilt = traced()
    difference = spoilt.compare(plain)
    assert difference.first[0]["operator"].startswith(name) and not difference.input
    assert not difference.same() and "errors of another size" in str(difference)


def test_other_data_are_no_operators_difference():
    difference = traced(seed=1).compare(traced())
    assert not difference.same() and difference.input
    assert "before it come other inputs" in str(difference)


def test_what_is_no_run_is_refused(tmp_path):
    run = traced()
    with halfcheck.torch.watch() as seen:
        torch.ones(3) * 2
    with pytest.raises(ValueError, match="trace=True"):
        seen.compare(run)
    seen.report(tmp_path)
    with pytest.raises(ValueError, match="no calls"):
        run.compare(tmp_path)
    said = run.said()
    for broken in ("[", "[]", "{}", '{"rows": []}', json.dumps({**said, "trace": 1}),
                   json.dumps({**said, "trace": {**said["trace"], "calls": [[1, 2]]}}),
                   json.dumps({**said, "trace": {**said["trace"], "fields": []}}), "[" * 100000):
        (tmp_path / "seen.json").write_text(broken)
        with pytest.raises(ValueError, match="seen.json"):
            traces.read(tmp_path)


def test_a_run_that_is_none_is_refused_before_the_script_begins(tmp_path):
    (tmp_path / "train.py").write_text("print('begun')\n")
    for other in ("none", "train.py"):
        ended = watched("--compare", other, "train.py", cwd=tmp_path)
        assert ended.returncode == 2 and "--compare" in ended.stderr and "begun" not in ended.stdout


def test_wide_arithmetic_takes_no_random_numbers_and_says_why_not():
    with pytest.raises(wide.NotWide, match="random"):
        wide.run(torch.ops.aten.bernoulli.default, (torch.ones(3),), {})
    with pytest.raises(wide.NotWide, match="no numbers"):
        wide.run(torch.ops.aten.zeros.default, ([3],), {})


# The page and the record.

def gate(was, is_):
    return subprocess.run([program.path(), "gate", "--baseline", was / "record.json",
                           is_ / "record.json"], check=False, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)


def test_the_gate_takes_a_record(tmp_path):
    for name, spoil in (("was", None), ("same", None), ("wrong", "tanh")):
        with Spoilt(spoil):
            traced().report(tmp_path / name)
    ended = gate(tmp_path / "was", tmp_path / "same")
    assert ended.returncode == 0 and "PASS: nothing is worse" in ended.stdout, ended.stdout
    ended = gate(tmp_path / "was", tmp_path / "wrong")
    assert ended.returncode == 1 and "watch/Net/tanh/fp32" in ended.stdout, ended.stdout


def test_a_report_has_a_page_whose_texts_are_escaped(tmp_path):
    class Bold(nn.Module):
        def forward(self, x):
            return x.half() * 1e4 * 1e4

    net = nn.Sequential()
    net.add_module("<b>", Bold())
    with Spoilt("mul"), halfcheck.torch.watch(**ALL) as seen:
        net(torch.ones(8))
    seen.report(tmp_path)
    page = (tmp_path / "watch.html").read_text()
    assert "&lt;b&gt;" in page and "<b>" not in page.replace('<b class="', "").replace("</b>", "")
    assert "FAIL" in page and "The first infinity was made by" in page and "<svg" in page
    assert "<script" not in page


# torch.compile.

inductor = pytest.mark.skipif(not hasattr(torch, "compile"), reason="this PyTorch has no compile")


def elided(graph, _, **__):
    """A compiler that keeps all narrow numbers wide, but for its results."""
    def run(*given):
        values = [value.double() if value.is_floating_point() else value for value in given]
        formats = iter([t.dtype for t in wide.tensors([graph.forward(*given)])])
        with Wide():
            return [t.to(next(formats)) for t in wide.tensors([graph.forward(*values)])]
    return run


class Wide(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        results, _ = wide.run(func, args, kwargs or {}, lambda tensor: tensor.double())
        return results[0] if len(results) == 1 else tuple(results)


def plain(graph, _, **__):
    return graph.forward


def wrong(graph, _, **__):
    """One that scales a result of its second operator by a little."""
    def run(*given):
        with Spoilt("mul"):
            return graph.forward(*given)
    return run


def narrow(x, w):
    y = (x * w).sum(-1, keepdim=True)
    return torch.tanh(x - y) * w + x


@inductor
@pytest.mark.parametrize("inner,outcome", [
    (plain, "as written"), (elided, "roundings elided"), (wrong, "wrong")])
def test_a_region_is_as_written_or_elided_or_wrong(inner, outcome):
    from halfcheck.torch.regions import Compiled

    torch._dynamo.reset()
    torch.manual_seed(2)
    x = torch.randn(8, 32).bfloat16().requires_grad_()
    w = torch.rand(32).bfloat16().requires_grad_()
    regions = Compiled(inner)
    torch.compile(narrow, backend=regions)(x, w).sum().backward()
    assert len(regions.regions) == 2, str(regions)
    assert {region.outcome for region in regions.regions} == {outcome}, str(regions)
    assert regions.ok() == (outcome != "wrong") and outcome in str(regions)
    assert {region.backward for region in regions.regions} == {False, True}


@inductor
def test_a_region_that_has_no_text_is_not_judged():
    from halfcheck.torch.regions import Compiled

    torch._dynamo.reset()
    # The name is a class each time, and no module of that name.
    regions = halfcheck.torch.compiled(plain), halfcheck.torch.compiled(plain)
    regions = regions[1]
    assert isinstance(regions, Compiled)
    torch.compile(torch.linalg.cholesky, backend=regions)(torch.eye(3))
    assert not regions.ok() and regions.regions[0].outcome == "not judged"
    assert "no text" in str(regions)
