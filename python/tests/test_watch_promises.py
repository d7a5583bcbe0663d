"""What halfcheck.torch.watch holds PyTorch's larger pieces to: each can be broken, and right ones
have no line."""

import json

import pytest

torch = pytest.importorskip("torch")

import halfcheck.torch  # noqa: E402
from halfcheck.torch import promises  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402


def seen_of(optimizer, weight, loss, steps=2, update=None):
    with halfcheck.torch.watch(optimizer) as seen:
        for _ in range(steps):
            optimizer.zero_grad()
            loss(weight).backward()
            (update or optimizer.step)()
    return seen


def weight_of(rows=6):
    torch.manual_seed(1)
    return torch.nn.Parameter(torch.randn(rows, 8))


def wave(weight):
    return (weight * 3).sin().mean()


MAKERS = [
    lambda w: torch.optim.SGD([w], 0.1),
    lambda w: torch.optim.SGD([w], 0.1, momentum=0.9, weight_decay=0.01),
    lambda w: torch.optim.Adam([w], 0.1),
    lambda w: torch.optim.Adam([w], 0.1, weight_decay=0.1),
    lambda w: torch.optim.AdamW([w], 0.1, weight_decay=0.1, betas=(0.8, 0.95)),
    lambda w: torch.optim.AdamW([w], 0.1, foreach=True),
    pytest.param(lambda w: torch.optim.AdamW([w], 0.1, fused=True), marks=pytest.mark.skipif(
        not hasattr(torch.ops.aten, "_scaled_dot_product_flash_attention_for_cpu"),
        reason="this PyTorch has no fused AdamW for processors")),
]


@pytest.mark.parametrize("make", MAKERS)
def test_a_right_step_is_judged_as_a_whole_and_is_right(make):
    weight = weight_of()
    seen = seen_of(make(weight), weight, wave)
    steps = [row for row in seen.rows.values() if row["operator"].endswith(".step")]
    assert steps and all(row["calls"] == 2 for row in steps), seen
    assert not any(row["wrong"] for row in steps), seen
    assert not seen.misused and not seen.gradients


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_a_mean_of_two_halves_may_be_taken_by_their_difference(kind, decay):
    """PyTorch's lerp by 1/2 is g - (g - m) / 2, and g - m is rounded; m / 2 + g / 2 is often
    exact. Networks that are trained against each other have this beta1."""
    weight = weight_of()
    optimizer = kind([weight], 0.1, betas=(0.5, 0.9), weight_decay=decay)
    angles = iter(torch.linspace(1.0, 9.0, 20))
    seen = seen_of(optimizer, weight, lambda w: (w * 3 + next(angles)).sin().mean(), steps=20)
    assert seen.ok(), seen


def test_adamw_of_a_pytorch_whose_groups_do_not_say_so_has_its_decay_apart():
    group = {"lr": 0.1, "weight_decay": 0.5, "betas": (0.9, 0.99), "eps": 1e-8}
    coupled = [promises._options("adamw", group, {}, decoupled)["coupled"]
               for decoupled in (True, False)]
    assert coupled == [False, True]


def test_a_class_whose_groups_are_others_ends_no_training():
    class Three(torch.optim.Adam):
        """As of three averages."""

        def step(self):
            for p in self.param_groups[0]["params"]:
                p.data.sub_(p.grad)

    weight = weight_of()
    optimizer = Three([weight], 0.1)
    optimizer.param_groups[0]["betas"] = (0.9, 0.99, 0.999)
    seen = seen_of(optimizer, weight, wave)
    (name, why), = seen.unjudged
    assert seen.ok() and name == "Three" and "ValueError" in why, seen


def test_gradients_that_are_cleared_before_the_step_are_doubtful():
    weight = weight_of()
    optimizer = torch.optim.SGD([weight], 0.1)
    assert not seen_of(optimizer, weight, wave).doubtful
    with halfcheck.torch.watch(optimizer) as seen:
        wave(weight).backward()
        optimizer.zero_grad(set_to_none=False)
        optimizer.step()
    words, = seen.doubtful
    assert words == "an optimizer steps with gradients that are all zeros"


def test_a_step_that_fails_does_not_hide_those_that_follow():
    weight = weight_of()
    first, second = (torch.optim.SGD([weight], 0.1) for _ in range(2))

    def failing():
        raise RuntimeError("no gradient today")

    with halfcheck.torch.watch(first) as seen:
        for _ in range(2):
            first.zero_grad()
            wave(weight).backward()
            with pytest.raises(RuntimeError):
                second.step(failing)
            second.step()
            first.step()
    assert list(seen.misused) == ["a parameter is stepped by two optimizers with one gradient"]


def test_a_subclass_that_decays_twice_is_wrong():
    class Own(torch.optim.AdamW):
        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    p.mul_(1 - group["lr"] * group["weight_decay"])
            return super().step(closure)

    weight = weight_of()
    seen = seen_of(Own([weight], 0.1, weight_decay=0.1), weight, wave)
    assert [row["operator"] for row in seen.wrong()] == ["AdamW.step as Own has it"]
    assert not seen.ok()


def test_two_optimizers_that_step_one_parameter_with_one_gradient_are_named():
    weight = weight_of()
    first, second = (torch.optim.SGD([weight], 0.1) for _ in range(2))
    seen = seen_of(first, weight, wave, update=lambda: (second.step(), first.step()))
    assert list(seen.misused) == ["a parameter is stepped by two optimizers with one gradient"]
    assert not seen.ok()


def scaled(update):
    weight = weight_of()
    optimizer = torch.optim.SGD([weight], 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=128.0)
    seen = seen_of(optimizer, weight, lambda w: scaler.scale(wave(w)),
                   update=lambda: update(scaler, optimizer, weight))
    return list(seen.misused)


@pytest.mark.skipif(not hasattr(torch.amp, "GradScaler"),
                    reason="this PyTorch has no GradScaler for processors")
def test_scaling_is_followed():
    clip = torch.nn.utils.clip_grad_norm_

    def right(scaler, optimizer, weight):
        scaler.unscale_(optimizer)
        clip([weight], 1.0)
        scaler.step(optimizer)
        scaler.update()

    def without_scaler(scaler, optimizer, weight):
        optimizer.step()

    def clipped_first(scaler, optimizer, weight):
        clip([weight], 1.0)
        scaler.step(optimizer)
        scaler.update()

    assert scaled(right) == []
    assert "did not unscale" in scaled(without_scaler)[0]
    assert "clipped while they are scaled" in scaled(clipped_first)[0]


def function(derivative, forward=torch.sin):
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx, grad):
            return grad * derivative(ctx.saved_tensors[0])

    return Own


def gradients(own):
    weight = weight_of()
    apply, state = torch.autograd.Function.__dict__.get("apply"), torch.get_rng_state()
    seen = seen_of(torch.optim.SGD([weight], 0.1), weight, lambda w: own.apply(w).sum())
    assert torch.autograd.Function.__dict__.get("apply") is apply
    assert torch.equal(torch.get_rng_state(), state)
    return seen.gradients


def test_the_gradient_of_a_function_is_held_to_differences():
    assert not gradients(function(torch.cos))
    assert not gradients(function(lambda x: (x > 0).to(x.dtype), torch.relu))
    assert gradients(function(lambda x: torch.cos(x) * (1 + 1e-4)))
    assert gradients(function(lambda x: torch.ones_like(x), torch.round))  # may be meant: not wrong


def test_a_function_that_makes_nan_of_fp64_is_no_function_with_a_wrong_gradient():
    assert not gradients(function(torch.cos, lambda x: x.sin() * float("nan" if x.dtype ==
                                                                      torch.float64 else 1)))


def test_a_function_that_is_another_one_in_fp64_has_no_wrong_gradient():
    own = function(torch.cos, lambda x: x.sin() if x.dtype != torch.float64 else x * 0)
    assert not gradients(own)


def test_a_function_that_refuses_fp64_is_listed():
    def refuses(x):
        if x.dtype == torch.float64:
            raise TypeError("fp32 alone")
        return x.sin()

    weight = weight_of()
    own = function(torch.cos, refuses)
    seen = seen_of(torch.optim.SGD([weight], 0.1), weight, lambda w: own.apply(w).sum())
    assert not seen.gradients and any("derivative" in why for _, why in seen.unjudged)


def test_running_statistics_of_batch_norm_are_judged():
    class Off(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            results = func(*args, **(kwargs or {}))
            if func._schema.name == "aten::native_batch_norm":
                args[self.place].mul_(1.001)
            return results

    def wrong(place):
        norm, off = torch.nn.BatchNorm2d(3), Off()
        off.place = place
        torch.manual_seed(1)
        with off, halfcheck.torch.watch() as seen:
            norm(torch.randn(4, 3, 5, 5) + 1)
        return {row["output"] for row in seen.wrong()}

    assert wrong(3) == {"running_mean"}
    assert wrong(4) == {"running_var"}


def test_a_masked_place_of_a_row_with_a_nan_is_not_demanded_to_be_0():
    x = torch.randn(4, 8)
    x[:, 5:] = -torch.inf
    x[1, 0] = torch.nan
    with halfcheck.torch.watch() as seen:
        x.softmax(-1)
    assert not seen.wrong() and seen.elements >= 24, seen


def test_a_broken_rule_is_in_the_report(tmp_path):
    weight = weight_of()
    others = [torch.optim.SGD([weight], 0.1) for _ in range(2)]
    with halfcheck.torch.watch() as seen:
        wave(weight).backward()
        for optimizer in others:
            optimizer.step()
    seen.report(tmp_path)
    words, = seen.misused
    page = (tmp_path / "watch.html").read_text()
    assert words in page and "<title>FAIL: " in page
    results = json.loads((tmp_path / "record.json").read_text())["results"]
    rules, = [result for result in results if result["case"] == "watch/rules"]
    assert rules["verdict"] == "FAIL" and words in rules["note"]


def test_an_sgd_with_the_momentum_of_nesterov_is_judged_as_a_whole():
    weight = weight_of()
    seen = seen_of(torch.optim.SGD([weight], 0.1, momentum=0.9, nesterov=True), weight, wave, 3)
    steps = [row for row in seen.rows.values() if row["operator"] == "SGD.step"]
    assert steps and not any(row["wrong"] for row in steps), seen

    class Own(torch.optim.SGD):
        @torch.no_grad()
        def step(self, closure=None):
            self.param_groups[0]["nesterov"] = False
            super().step(closure)
            self.param_groups[0]["nesterov"] = True

    seen = seen_of(Own([weight], 0.1, momentum=0.9, nesterov=True), weight, wave, 3)
    assert [row["operator"] for row in seen.wrong()] == ["SGD.step as Own has it"]


@pytest.mark.parametrize("most, after, named", ((1.0, True, True), (float("inf"), True, False),
                                                (1.0, False, False)))
def test_clipping_what_an_optimizer_has_used_already_is_named(most, after, named):
    weight = weight_of()
    optimizer = torch.optim.SGD([weight], 0.1)

    def update():
        for what in (optimizer.step, clip) if after else (clip, optimizer.step):
            what()

    clip = lambda: torch.nn.utils.clip_grad_norm_([weight], most)
    seen = seen_of(optimizer, weight, wave, 2, update)
    assert bool(seen.misused) == named and seen.ok() == (not named)


@pytest.mark.parametrize("forget", (True, False))
def test_a_copy_of_master_weights_that_is_forgotten_is_named(forget):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Linear(16, 8)).bfloat16()
    masters = [p.detach().float().requires_grad_() for p in model.parameters()]
    optimizer = torch.optim.SGD(masters, 10.0)
    with halfcheck.torch.watch(optimizer) as seen:
        for _ in range(3):
            model(torch.ones(4, 8, dtype=torch.bfloat16)).square().sum().backward()
            for master, p in zip(masters, model.parameters()):
                master.grad, p.grad = p.grad.float() / (p.grad.abs().max() + 1), None
            optimizer.step()
            with torch.no_grad():
                for master, p in list(zip(masters, model.parameters()))[forget:]:
                    p.copy_(master)
    assert any("copy was forgotten" in words for words in seen.misused) == forget


@pytest.mark.parametrize("make, words", (
    (lambda: torch.linspace(0, 1000, 50).bfloat16().cos(), "cos of angles in bf16, up to 1000"),
    (lambda: torch.linspace(0, 3, 50).bfloat16().cos(), None),
    (lambda: torch.linspace(0, 1000, 50).cos(), None),
    (lambda: torch.full((50,), 3.0).bfloat16().mul_(0.9999), "a factor changes nothing in bf16"),
    (lambda: torch.full((50,), 3.0).bfloat16().mul_(0.875), None),
    (lambda: torch.full((50,), 3.0).bfloat16().lerp_(torch.full((50,), 4.0).bfloat16(), 0.001),
     "an average takes in nothing in bf16"),
    (lambda: torch.full((50,), 3.0).bfloat16().lerp_(torch.full((50,), 4.0).bfloat16(), 0.1), None),
))
def test_numbers_that_are_coarser_than_what_is_made_of_them_are_named_and_not_wrong(make, words):
    with halfcheck.torch.watch() as seen:
        make()
    assert seen.ok(), seen
    assert [line.startswith(words) for line in seen.coarse] == [True] if words else not seen.coarse


@pytest.mark.parametrize("passes", (2, 8))
def test_gradients_of_many_passes_that_are_added_up_in_16_bits_are_named(passes):
    weight = torch.nn.Parameter(torch.ones(4, 4, dtype=torch.bfloat16))
    with halfcheck.torch.watch() as seen:
        for _ in range(2):
            weight.grad.zero_() if weight.grad is not None else None
            for _ in range(passes):
                (weight * 3).sum().backward()
    assert bool(seen.coarse) == (passes == 8), seen
