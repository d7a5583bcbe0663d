"""Each operator that halfcheck.torch.judged knows is judged, passes, and is found where it is wrong,
in each of its results."""

import math

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

import halfcheck.torch  # noqa: E402
from halfcheck.torch import elements, judged, slices  # noqa: E402

aten = torch.ops.aten


class Spoilt(TorchDispatchMode):
    """One result of an operator is wrong; of one that returns nothing, one of its arguments, or one
    tensor of that list. how: what is done to it."""

    def __init__(self, name, output=0, how=lambda t: t.mul_(1 + 2.0 ** -4).add_(2.0 ** -20)):
        super().__init__()
        self.name, self.output, self.how, self.met = name, output, how, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        results = func(*args, **(kwargs or {}))
        if func._schema.name == f"aten::{self.name}":
            given = results if isinstance(results, (tuple, list)) else [results]
            given = args if not func._schema.returns else given
            self.met += 1
            tensor = given[self.output]
            with torch.no_grad():
                self.how(tensor[-1] if isinstance(tensor, (tuple, list)) else tensor)
        return results


DRAWN = torch.randn(1 << 14, generator=torch.Generator().manual_seed(1))


def numbers(*shape, seed=0):
    """The same ones whenever they are asked for, without an operator that draws."""
    return DRAWN[seed * 1000:seed * 1000 + math.prod(shape)].view(shape).clone()


Q, K, V, DY = (numbers(2, 3, 12, 8, seed=seed) for seed in range(4))
IMAGES = numbers(2, 4, 9, 8)
ROWS, PICKED = numbers(10, 6), torch.tensor([1, 3, 3, 9, 0])
MASK = numbers(12, 12).masked_fill(torch.ones(12, 12).triu(5).bool(), -float("inf"))
EIGHT = getattr(torch, "float8_e4m3fn", None)


def flash(**more):
    return aten._scaled_dot_product_flash_attention_for_cpu(Q, K, V, **more)


def flash_backward(**more):
    y, lse = flash(**more)
    return aten._scaled_dot_product_flash_attention_for_cpu_backward(
        DY, Q, K, V, y, lse, 0.0, more.get("is_causal", False),
        **{key: value for key, value in more.items() if key != "is_causal"})


def recurrent(reverse=False):
    w, b = [numbers(4 * 6, n, seed=n) for n in (5, 6)], [numbers(24, seed=n) for n in (1, 2)]
    h, c = numbers(1, 3, 6), numbers(1, 3, 6, seed=1)
    return aten.mkldnn_rnn_layer(numbers(7, 3, 5), *w, *b, h, c, reverse, [], 2, 6, 1, True,
                                 False, False, True)


def recurrent_backward(reverse=False, biases=True, given=(True, True, True), batch=3):
    w, b = [numbers(4 * 6, n, seed=n) for n in (5, 6)], [numbers(24, seed=n) for n in (1, 2)]
    x, h, c = numbers(7, batch, 5), numbers(1, batch, 6), numbers(1, batch, 6, seed=1)
    b = b if biases else [numbers(24, n, seed=n) for n in (5, 6)]
    with torch.enable_grad():
        y, hy, cy, work = aten.mkldnn_rnn_layer(x, *w, *b, h, c, reverse, [], 2, 6, 1, biases,
                                                False, False, True)
    dy, dh, dc = (one if there else None for one, there in zip(
        (numbers(7, batch, 6, seed=3), numbers(1, batch, 6, seed=4), numbers(1, batch, 6, seed=5)),
        given))
    return aten.mkldnn_rnn_layer_backward(x, *w, *b, h, c, y, hy, cy, dy, dh, dc, reverse, 2, 6, 1,
                                          biases, True, False, [], False, work)


def pooled(n, **more):
    x = IMAGES if n == 2 else IMAGES.view(1, 2, 4, 9, 8)
    return getattr(F, f"max_pool{n}d")(x, 3, 2, 1, return_indices=True, **more)


def pooled_backward(n):
    x = (IMAGES if n == 2 else IMAGES.view(1, 2, 4, 9, 8)).clone().requires_grad_()
    y = getattr(F, f"max_pool{n}d")(x, 3, 2, 1)
    return lambda: y.backward(numbers(*y.shape))


GROUPS = torch.tensor([4, 4, 16], dtype=torch.int32)  # the second one is empty
LABELS = torch.arange(2 * 9 * 8).view(2, 9, 8) % 4


def inferred():
    with torch.inference_mode():
        return F.linear(IMAGES, numbers(5, 8, seed=3), numbers(5))


def backward_of(f, *shape):
    x = numbers(*shape).requires_grad_()
    y = f(x)
    dy = numbers(*y.shape, seed=5)
    return lambda: y.backward(dy)


def volumes(f):
    return lambda: f(IMAGES.view(1, 2, 4, 9, 8))


def normed():
    return F.group_norm(IMAGES, 2, numbers(4), numbers(4, seed=1))


def normed_backward():
    x, w, b = IMAGES.clone(), numbers(4), numbers(4, seed=1)
    for tensor in (x, w, b):
        tensor.requires_grad_()
    y = F.group_norm(x, 2, w, b)
    return lambda: y.backward(numbers(*y.shape, seed=2))


def optimizer(name, **more):
    """A fused one, of two tensors with gradients, whose first step is made."""
    made = [nn.Parameter(numbers(5, 4)), nn.Parameter(numbers(7))]
    optimizer = getattr(torch.optim, name)(made, lr=0.1, fused=True, **more)
    for p in made:
        p.grad = numbers(*p.shape, seed=3)
    optimizer.step()
    return optimizer.step


def unscaled():
    grads, found, inverse = [numbers(5), numbers(3, 3)], torch.zeros(1), torch.full((1,), 0.3)
    return lambda: aten._amp_foreach_non_finite_check_and_unscale_(grads, found, inverse)


def scale(found=0.0):
    size, count = torch.tensor(64.0), torch.tensor(1, dtype=torch.int32)
    return lambda: aten._amp_update_scale_(size, count, torch.tensor(found), 2.0, 0.5, 2)


def written(f):
    """f of a tensor that it may write into."""
    return lambda: f(ROWS.clone())


def scaled(b=EIGHT, **more):
    x, w = numbers(16, 32).to(EIGHT), numbers(16, 32, seed=1).to(b)
    return torch._scaled_mm(x, w.t(), torch.tensor(0.3), torch.tensor(0.7), out_dtype=torch.float32,
                            **more)


# name: what calls it, or (made beforehand) what makes that.
CALLS = {
    "_scaled_dot_product_flash_attention_for_cpu": flash,
    "_scaled_dot_product_flash_attention_for_cpu_backward": flash_backward,
    "mkldnn_rnn_layer": recurrent, "mkldnn_rnn_layer_backward": recurrent_backward,
    "convolution": lambda: F.conv_transpose2d(IMAGES, numbers(4, 6, 3, 3), numbers(6), stride=2),
    "native_group_norm": normed,
    "_safe_softmax": lambda: aten._safe_softmax(numbers(4, 9), -1),
    "max_pool2d_with_indices": lambda: pooled(2), "max_pool3d_with_indices": lambda: pooled(3),
    "_adaptive_avg_pool2d": lambda: F.adaptive_avg_pool2d(IMAGES, (4, 3)),
    "_adaptive_avg_pool3d": volumes(lambda x: F.adaptive_avg_pool3d(x, (2, 4, 3))),
    "avg_pool2d": lambda: F.avg_pool2d(IMAGES, 3, 2, 1, ceil_mode=True),
    "avg_pool3d": volumes(lambda x: F.avg_pool3d(x, 2, 2, 1, count_include_pad=False)),
    "upsample_nearest1d": lambda: F.interpolate(IMAGES[0], scale_factor=2),
    "upsample_nearest2d": lambda: F.interpolate(IMAGES, size=(13, 20)),
    "upsample_nearest3d": volumes(lambda x: F.interpolate(x, scale_factor=2)),
    "index": lambda: ROWS[PICKED], "index_select": lambda: ROWS.index_select(0, PICKED),
    "gather": lambda: ROWS.gather(1, PICKED.view(1, 5) % 6),
    "index_put": lambda: aten.index_put(ROWS, [PICKED], numbers(5, 6), True),
    "index_put_": written(lambda x: x.index_put_((PICKED,), numbers(5, 6), accumulate=True)),
    "_index_put_impl": lambda: aten._index_put_impl(ROWS, [PICKED], numbers(5, 6), True),
    "_index_put_impl_": written(lambda x: aten._index_put_impl_(x, [PICKED], numbers(5, 6), True)),
    "index_add": lambda: ROWS.index_add(0, PICKED, numbers(5, 6), alpha=0.5),
    "index_add_": written(lambda x: x.index_add_(0, PICKED, numbers(5, 6))),
    "index_fill_": written(lambda x: x.index_fill_(0, PICKED, 2.5)),
    "scatter": lambda: ROWS.scatter(1, torch.tensor([[1, 2], [3, 4]]), numbers(2, 2)),
    "scatter_": written(lambda x: x.scatter_(-1, torch.tensor([[1, 2], [3, 4]]), 7.0)),
    "scatter_add": lambda: ROWS.scatter_add(1, torch.tensor([[1, 1], [3, 4]]), numbers(2, 2)),
    "scatter_add_": written(lambda x: x.scatter_add_(1, torch.tensor([[1, 1]]), numbers(1, 2))),
    "topk": lambda: ROWS.topk(3, dim=1), "sort": lambda: ROWS.sort(0),
    "max": lambda: (ROWS + 9).max(1), "min": lambda: (ROWS - 9).min(0),
    "amax": lambda: ROWS.amax((0, 1)), "amin": lambda: ROWS.amin(1),
    "mv": lambda: torch.mv(ROWS, numbers(6, seed=2)),
    "dot": lambda: torch.dot(ROWS[0], ROWS[1]),
    "vdot": lambda: torch.vdot(ROWS[0], ROWS[1]),
    "linear": inferred,
    "logsumexp": lambda: torch.logsumexp(ROWS, 1),
    "nll_loss2d_forward": lambda: F.nll_loss(IMAGES, LABELS, numbers(4).abs()),
    "smooth_l1_loss": lambda: F.smooth_l1_loss(ROWS, numbers(10, 6, seed=1), beta=0.5),
    "huber_loss": lambda: F.huber_loss(ROWS, numbers(10, 6, seed=1), delta=0.3),
    "mse_loss": lambda: F.mse_loss(ROWS, ROWS + numbers(10, 6)),
    "arange": lambda: torch.arange(3.0, 9.0, 0.3),
    "bernoulli_": lambda: torch.empty(100).bernoulli_(0.5),
    "_scaled_mm": scaled,
    "constant_pad_nd": lambda: F.pad(IMAGES, (1, 2, -1, 3), value=0.5),
    "eye": lambda: torch.eye(5, 7), "repeat": lambda: ROWS.repeat(3, 2, 1),
    "_grouped_mm": lambda: aten._grouped_mm(
        numbers(16, 8).bfloat16(), numbers(3, 8, 24, seed=1).bfloat16(), GROUPS),
    "binary_cross_entropy_with_logits": lambda: aten.binary_cross_entropy_with_logits(
        ROWS, ROWS.sigmoid()),
    "softplus_backward": lambda: aten.softplus_backward(ROWS, ROWS, 2.0, 1.0),
    "pow": lambda: 10000.0 ** ROWS,
    "scalar_tensor": lambda: aten.scalar_tensor(2.5),
}
MADE = {
    "nll_loss2d_backward": lambda: backward_of(
        lambda x: F.nll_loss(x, LABELS, numbers(4).abs()), 2, 4, 9, 8),
    "smooth_l1_loss_backward": lambda: backward_of(
        lambda x: F.smooth_l1_loss(x, numbers(10, 6, seed=1), beta=0.5), 10, 6),
    "huber_loss_backward": lambda: backward_of(
        lambda x: F.huber_loss(x, numbers(10, 6, seed=1), delta=0.3), 10, 6),
    "native_group_norm_backward": normed_backward,
    "max_pool2d_with_indices_backward": lambda: pooled_backward(2),
    "max_pool3d_with_indices_backward": lambda: pooled_backward(3),
    **{f"_adaptive_avg_pool{n}d_backward": lambda n=n: backward_of(
        lambda x: getattr(F, f"adaptive_avg_pool{n}d")(x, (3, 2, 4)[:n]), 2, 3, *(7, 5, 8)[:n])
       for n in (2, 3)},
    **{f"avg_pool{n}d_backward": lambda n=n: backward_of(
        lambda x: getattr(F, f"avg_pool{n}d")(x, 3, 2, 1, ceil_mode=True), 2, 3, *(7, 5, 8)[:n])
       for n in (2, 3)},
    **{f"upsample_nearest{n}d_backward": lambda n=n: backward_of(
        lambda x: F.interpolate(x, size=(9, 8, 12)[:n]), 2, 3, *(7, 5, 4)[:n]) for n in (1, 2, 3)},
    "mse_loss_backward": lambda: backward_of(lambda x: F.mse_loss(x, ROWS + 1), 10, 6),
    "convolution_backward": lambda: backward_of(
        lambda x: F.conv_transpose1d(x, numbers(4, 3, 3), groups=2, stride=2), 2, 4, 7),
    "_fused_adam_": lambda: optimizer("Adam", weight_decay=0.1),
    "_fused_adamw_": lambda: optimizer("AdamW", weight_decay=0.1, maximize=True),
    "_fused_sgd_": lambda: optimizer("SGD", momentum=0.9, nesterov=True, weight_decay=0.1),
    "_amp_foreach_non_finite_check_and_unscale_": unscaled,
    "_amp_update_scale_": scale,
}
# Further results, or arguments that are written.
OTHERS = [
    ("_scaled_dot_product_flash_attention_for_cpu", 1),
    ("_scaled_dot_product_flash_attention_for_cpu_backward", 1),
    ("_scaled_dot_product_flash_attention_for_cpu_backward", 2), ("mkldnn_rnn_layer", 2),
    *(("mkldnn_rnn_layer_backward", output) for output in range(1, 7)),
    ("native_group_norm", 1), ("native_group_norm", 2), ("native_group_norm_backward", 1),
    ("native_group_norm_backward", 2), ("_fused_adam_", 2), ("_fused_adam_", 3),
    ("_fused_sgd_", 2), ("_amp_foreach_non_finite_check_and_unscale_", 1)]
# Which place was chosen.
INDICES = ["max_pool2d_with_indices", "max_pool3d_with_indices", "topk", "sort", "max", "min"]


NEW = hasattr(aten, "_scaled_dot_product_flash_attention_for_cpu")  # 2.3 and later


def calling(name):
    if (not hasattr(aten, name) or not NEW and name.startswith(("_fused", "_amp"))
            or name == "_scaled_mm"
            and not torch._C._dispatch_has_kernel_for_dispatch_key("aten::_scaled_mm", "CPU")):
        pytest.skip(f"this PyTorch has no {name} for processors")
    return MADE[name]() if name in MADE else CALLS[name]


@pytest.mark.parametrize("name", [*CALLS, *MADE])
def test_an_operator_passes_and_is_found_wrong(name):
    call = calling(name)
    with halfcheck.torch.watch() as seen:
        call()
    assert seen.ok() and not seen.unjudged, str(seen)
    wrong_in(name, 0)


def wrong_in(name, output, **how):
    call = calling(name)
    with Spoilt(name, output, **how) as spoilt, halfcheck.torch.watch() as seen:
        call()
    if not spoilt.met:
        pytest.skip(f"this PyTorch does not call {name}")
    wrong = {row["operator"].split(".")[0] for row in seen.wrong()}
    assert wrong - {"Adam", "AdamW", "SGD"} == {name}, str(seen)  # their steps are made of it


@pytest.mark.parametrize("name,output", OTHERS)
def test_each_result_of_an_operator_is_judged(name, output):
    wrong_in(name, output)


@pytest.mark.parametrize("name", INDICES)
def test_a_place_is_held_to_the_number_that_stands_there(name):
    wrong_in(name, 1, how=lambda places: places.copy_(places.flip(-1)))


def test_every_table_has_a_call_above_or_in_test_watch():
    # Those of slices.py and the elementwise ones have theirs in test_watch.py.
    beside = {*slices.STRUCTURED, *slices.MOVES, *elements.OPERATORS}
    rows = {*judged.STRUCTURED, *judged.MOVES, *judged.BEFORE} - beside
    names = {*CALLS, *MADE}
    assert not {row for row in rows if row not in names and row + "_" not in names}


def rightly(call):
    with halfcheck.torch.watch() as seen:
        call()
    assert seen.ok() and not seen.unjudged, str(seen)
    return seen


def test_sums_of_nothing_are_judged():
    x = torch.zeros(0, 8)
    with halfcheck.torch.watch() as seen:
        x.sum(0)
        x.sum(), (x + 1).sum(1)
    assert not seen.unjudged and not seen.wrong(), str(seen)


@pytest.mark.skipif(not hasattr(aten, "_grouped_mm"), reason="an older PyTorch")
def test_the_gradient_of_groups_is_a_sum_over_each_group():
    x, dy = numbers(16, 8).bfloat16(), numbers(16, 24, seed=1).bfloat16()
    call = lambda: aten._grouped_mm(x.t(), dy, GROUPS)
    rightly(call)
    with Spoilt("_grouped_mm", how=lambda y: y[1].add_(0.5)), halfcheck.torch.watch() as seen:
        call()
    assert seen.wrong(), str(seen)


needs_new = pytest.mark.skipif(not NEW, reason="an older PyTorch")


@needs_new
@pytest.mark.parametrize("more", [{"is_causal": True}, {"attn_mask": MASK}, {"scale": 0.5}])
def test_attention_is_judged_with_its_mask_and_scale(more):
    rightly(lambda: flash_backward(**more))


@needs_new
@pytest.mark.parametrize("wrong", ["scale", "mask", "causal"])
def test_attention_under_another_mask_is_wrong(wrong):
    given = {"scale": ({"scale": 0.5}, {"scale": 0.4}), "causal": ({"is_causal": True}, {}),
             "mask": ({"attn_mask": MASK}, {"attn_mask": MASK.roll(1, 1)})}[wrong]

    class Other(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            if "flash" in func._schema.name:
                kwargs, args = given[1], args[:3]
            return func(*args, **kwargs)
    with Other(), halfcheck.torch.watch() as seen:
        flash(**given[0])
    assert seen.wrong(), str(seen)


@pytest.mark.skipif(not hasattr(aten, "mkldnn_rnn_layer"), reason="an older PyTorch")
def test_a_layer_that_goes_backwards_through_time_is_judged():
    rightly(lambda: recurrent(True))


needs_rnn = pytest.mark.skipif(not hasattr(aten, "mkldnn_rnn_layer_backward"),
                               reason="an older PyTorch")


@needs_rnn
@pytest.mark.parametrize("more", [
    {"reverse": True}, {"biases": False}, {"given": (False, True, False)},
    {"given": (True, False, False)}, {"given": (False, False, True)}])
def test_the_gradient_of_a_recurrent_layer_is_judged_as_it_is_called(more):
    rightly(lambda: recurrent_backward(**more))


@needs_rnn
def test_of_a_large_recurrent_layer_some_rows_are_judged_and_what_is_not_is_said(monkeypatch):
    monkeypatch.setattr(judged.recurrent_gradient, "_MOST", 2500)
    with halfcheck.torch.watch() as seen:
        recurrent_backward()
    assert seen.ok() and seen.elements > 8, str(seen)
    assert "the gradients of its weights have" in str(seen)
    monkeypatch.setattr(judged.recurrent_gradient, "_MOST", 200)
    with halfcheck.torch.watch() as seen:
        recurrent_backward()
    assert "multiplications for one row of the batch" in str(seen)


def backwards_by_hand(wrong):
    """An LSTM's gradient as its equations say, but for one term that is left out."""
    class Other(TorchDispatchMode):
        met = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            results = func(*args, **(kwargs or {}))
            if func._schema.name != "aten::mkldnn_rnn_layer_backward":
                return results
            self.met += 1
            x, wx, wh, bx, bh, h, c, y, _, _, dy, dh, dc = args[:13]
            h, c, dh, dc = h[0], c[0], dh[0], dc[0]
            before, cells = torch.cat([h[None], y[:-1]]), [c]
            i, f, g, o = (x @ wx.t() + before @ wh.t() + bx + bh).chunk(4, -1)
            i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
            for t in range(len(x)):
                cells.append(f[t] * cells[t] + i[t] * g[t])
            steps = []
            for t in reversed(range(len(x))):
                curve = cells[t + 1].tanh()
                d = dy[t] + dh
                if wrong == "the cell's gradient is not handed on":
                    dc = torch.zeros_like(dc)
                dc = dc + d * o[t] * (1 - curve**2 * (wrong != "tanh has no slope"))
                old = cells[t + 1] if wrong == "the forget gate meets the new cell" else cells[t]
                slope = 1 if wrong == "a gate has no slope" else 1 - i[t]
                a = torch.cat([dc * g[t] * i[t] * slope, dc * old * f[t] * (1 - f[t]),
                               dc * i[t] * (1 - g[t]**2), d * curve * o[t] * (1 - o[t])], -1)
                dh, dc = a @ wh, dc * f[t]
                steps.insert(0, a)
            a = torch.stack(steps).flatten(0, 1)
            shifted = y if wrong == "the weight meets the state that follows" else before
            if wrong == "the last row of the batch is left out":
                a = a.view(len(x), -1, a.shape[-1]).clone()
                a[:, -1] = 0
                a = a.flatten(0, 1)
            return (torch.stack(steps) @ wx, a.t() @ x.flatten(0, 1), a.t() @ shifted.flatten(0, 1),
                    a.sum(0), a.sum(0), dh[None], dc[None])
    return Other()


@needs_rnn
@pytest.mark.parametrize("wrong", [
    None, "the cell's gradient is not handed on", "tanh has no slope", "a gate has no slope",
    "the forget gate meets the new cell", "the weight meets the state that follows",
    "the last row of the batch is left out"])
def test_a_term_that_an_lstms_gradient_misses_is_found(wrong):
    with backwards_by_hand(wrong) as mode, halfcheck.torch.watch() as seen:
        recurrent_backward()
    assert mode.met and (seen.ok() if wrong is None else seen.wrong()), str(seen)


@pytest.mark.skipif(not hasattr(aten, "_safe_softmax"), reason="an older PyTorch")
def test_a_row_that_is_masked_throughout_is_0_in_safe_softmax():
    x = numbers(4, 16)
    x[1, 8:] = x[2] = -float("inf")
    rightly(lambda: aten._safe_softmax(x, -1))


def test_what_writes_into_out_is_judged_though_out_is_an_input():
    def call():
        x = ROWS.clone()
        torch.mul(x, 3.0, out=x)
        torch.mm(ROWS, ROWS.t(), out=torch.empty(10, 10))
    rightly(call)
    for name in ("mul", "mm"):
        with Spoilt(name) as spoilt, halfcheck.torch.watch() as seen:
            call()
        assert spoilt.met and seen.wrong(), str(seen)


def test_random_bits_that_are_too_often_1_are_wrong():
    with halfcheck.torch.watch() as seen:
        torch.empty(1000).bernoulli_(0.5)
    assert seen.ok()
    wrong_in("bernoulli_", 0, how=lambda t: t.fill_(1))
    wrong_in("bernoulli_", 0, how=lambda t: t.fill_(0))


@needs_new
@pytest.mark.parametrize("found", [0.0, 1.0])
def test_a_scale_grows_or_shrinks(found):
    rightly(scale(found))


@needs_new
def test_what_is_not_finite_is_found_when_gradients_are_unscaled():
    grads, found = [torch.tensor([1.0, float("inf")])], torch.zeros(1)

    def call():
        aten._amp_foreach_non_finite_check_and_unscale_(grads, found, torch.full((1,), 0.5))
    rightly(call)
    found.zero_()
    with Spoilt("_amp_foreach_non_finite_check_and_unscale_", 1, lambda t: t.zero_()), \
            halfcheck.torch.watch() as seen:
        call()
    assert seen.wrong(), str(seen)


@pytest.mark.skipif(EIGHT is None, reason="an older PyTorch")
def test_casts_to_eight_bits_are_judged():
    rightly(lambda: (numbers(300) * 200).to(EIGHT).float())
    rightly(lambda: (numbers(300) * 200).to(torch.float8_e5m2).float())
    wrong_in_cast = (numbers(300) * 100)

    class Truncated(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            y = func(*args, **(kwargs or {}))
            if y.dtype == EIGHT:
                y.view(torch.uint8).bitwise_and_(0xFE)
            return y
    with Truncated(), halfcheck.torch.watch() as seen:
        wrong_in_cast.to(EIGHT)
    assert seen.wrong(), str(seen)


def test_a_bias_from_which_a_sum_begins_is_right():
    """The bias is one more term, and no summand of a finished sum."""
    x, w = torch.full((1, 2), 1.0), torch.tensor([[2.0 ** -24, -1.0]])
    y = (torch.ones(1) + x[0, 0] * w[0, 0]) + x[0, 1] * w[0, 1]

    class Begun(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            made = func(*args, **(kwargs or {}))
            return made.copy_(y) if "addmm" in func._schema.name else made
    with Begun(), halfcheck.torch.watch() as seen:
        F.linear(x, w, torch.ones(1))
    assert seen.ok(), str(seen)
