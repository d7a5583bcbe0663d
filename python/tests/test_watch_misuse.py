"""What people do wrong with a watch, and what their trainings do that it cannot look at: each has one
clear line, the training goes on, and nothing right is called wrong."""

import threading

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.utils import _python_dispatch  # noqa: E402

import halfcheck.torch  # noqa: E402

watch = halfcheck.torch.watch


def trained(device="cpu"):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step():
        optimizer.zero_grad()
        model(torch.ones(4, 8, device=device)).square().mean().backward()
        optimizer.step()
    return model, optimizer, step


def test_a_model_and_a_scaler_may_be_given_with_the_optimizer():
    model, optimizer, step = trained()
    for given, named in (((model,), {"optimizer": optimizer, "scaler": None}), ((optimizer,), {}),
                         ((model, optimizer), {}), ((), {"optimizer": optimizer})):
        with watch(*given, **named) as seen:
            step()
            step()
        assert seen.steps == 2 and seen.ok(), seen


@pytest.mark.parametrize("given, named, words", (
    (([],), {}, "watch takes an optimizer, and not list"),
    ((), {"optimizer": nn.Linear(2, 2)}, "watch takes an optimizer, and not Linear"),
    ((torch.optim.SGD(nn.Linear(2, 2).parameters(), 0.1),) * 2, {}, "watch takes one optimizer"),
    ((), {"every": 1.5}, "every is 1.5, and not a whole number"),
    ((), {"every": "10"}, "every is '10', and not a whole number"),
    ((), {"every": 0}, "every is 0, and not a whole number"),
    ((), {"budgets": True}, "watch has no option 'budgets'")))
def test_what_a_watch_does_not_take_is_said_in_one_line(given, named, words):
    with pytest.raises((TypeError, ValueError)) as refused:
        watch(*given, **named)
    assert str(refused.value).startswith(words) and "\n" not in str(refused.value)


def test_an_exception_inside_goes_out_and_leaves_the_optimizer_as_it_was():
    _, optimizer, step = trained()
    with pytest.raises(KeyError), watch(optimizer) as seen:
        step()
        raise KeyError("mine")
    step()
    assert seen.steps == 1 and seen.ok() and "step" not in vars(optimizer)


def test_watches_may_lie_in_each_other_but_not_in_themselves():
    _, optimizer, step = trained()
    outer = watch(optimizer)
    with outer as seen:
        with watch(optimizer) as inner:
            step()
        step()
        with pytest.raises(RuntimeError, match="this watch is open already"), outer:
            pass
    assert (seen.steps, inner.steps) == (2, 1) and seen.ok() and inner.ok()
    assert "step" not in vars(optimizer)


@pytest.mark.parametrize("every, watching", (
    ((1, 1), ("oi", "oi", "oi", "oi")), ((2, 1), ("i", "oi", "i", "oi")),
    ((1, 2), ("o", "oi", "o", "oi")), ((2, 2), ("", "oi", "", "oi"))))
def test_a_step_ends_for_its_own_watch_and_for_no_other_mode(every, watching):
    class Other(_python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    _, optimizer, step = trained()
    outer, inner = (watch(optimizer, every=n) for n in every)
    with outer, inner:
        for letters in watching:
            with Other() as other:
                step()
                modes = _python_dispatch._get_current_dispatch_mode_stack()
                wanted = [{"o": outer, "i": inner}[letter] for letter in letters]
                assert [mode.watch for mode in modes[:-1]] == wanted and modes[-1] is other
                del modes  # PyTorch's stack alone has them again
    assert not _python_dispatch._get_current_dispatch_mode_stack()
    assert (outer.step, inner.step) == (4, 4) and outer.seen.ok() and inner.seen.ok()


def test_a_watch_may_be_opened_again():
    _, optimizer, step = trained()
    again = watch(optimizer)
    for _ in range(2):
        with again as seen:
            step()
        assert seen.steps == 1 and seen.ok(), seen


def test_steps_of_another_thread_are_listed_and_go_on():
    model, optimizer, step = trained()
    before = model[0].weight.detach().clone()
    with watch(optimizer) as seen:
        other = threading.Thread(target=step)
        other.start()
        other.join()
    assert not torch.equal(before, model[0].weight)
    assert not seen.ok() and "nothing was judged" in str(seen)
    assert "another thread calls it" in str(seen)


def test_a_thread_may_have_a_watch_of_its_own():
    found = []

    def run():
        _, optimizer, step = trained()
        with watch(optimizer) as seen:
            step()
        found.append(seen)

    other = threading.Thread(target=run)
    other.start()
    other.join()
    assert found[0].steps == 1 and found[0].ok()


def test_a_model_without_numbers_is_listed():
    _, optimizer, step = trained("meta")
    with watch(optimizer) as seen:
        step()
    assert not seen.wrong() and "on the meta device" in str(seen)


def test_sparse_gradients_are_listed():
    embedding = nn.Embedding(10, 4, sparse=True)
    optimizer = torch.optim.SparseAdam(list(embedding.parameters()))
    with watch(optimizer) as seen:
        embedding(torch.tensor([1, 2])).sum().backward()
        optimizer.step()
    assert not seen.wrong() and "sparse or quantized" in str(seen)


def test_a_gradient_of_a_gradient_is_judged():
    x, weight = torch.ones(5, requires_grad=True), nn.Parameter(torch.eye(5) + 0.5)
    with watch() as seen:
        gradient, = torch.autograd.grad(torch.tanh(weight @ x / 4).sum(), x, create_graph=True)
        gradient.square().sum().backward()
    assert seen.ok() and not seen.wrong(), seen


@pytest.mark.skipif(not hasattr(torch, "func"), reason="this PyTorch has no torch.func")
def test_zeros_that_lie_nowhere_are_not_read():
    with watch() as seen:
        torch.func.hessian(lambda x: torch.sigmoid(x).square().sum())(torch.ones(5))
        torch.func.vmap(torch.func.grad(lambda x: (x**3).sum()))(torch.ones(3, 4))
    assert seen.ok(), seen
