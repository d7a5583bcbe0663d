"""What a watch says of trainings whose operators are all right: gradients that nothing has cleared,
or that are unscaled twice; losses that count padding; masks that let a token see what it is to
predict. Each has a line, and the right ones beside it have none."""

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import halfcheck.torch  # noqa: E402


class Model(nn.Module):
    """One head of attention on a text."""

    def __init__(self, mask="causal", causal=True, words=40, width=16):
        super().__init__()
        torch.manual_seed(0)
        self.tokens, self.head = nn.Embedding(words, width), nn.Linear(width, words)
        self.mask, self.causal = mask, causal

    def forward(self, ids):
        x, length = self.tokens(ids), ids.shape[1]
        if self.mask == "fused":
            return self.head(F.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None],
                                                            is_causal=self.causal)[:, 0])
        scores = x @ x.transpose(1, 2) / 4
        seen = torch.ones(length, length, dtype=torch.bool)
        seen = {"causal": seen.tril(), "one more": seen.tril(1), "none": seen,
                "one less": seen.tril(-1) | torch.eye(length, dtype=torch.bool),
                "window": seen.tril() & seen.triu(-3),
                "both sides": seen.tril(2) & seen.triu(-2)}[self.mask]
        return self.head(scores.masked_fill(~seen, -1e9).softmax(-1) @ x)


def texts(padded=False, rows=4, length=20):
    torch.manual_seed(1)
    ids = torch.randint(1, 40, (rows, length))
    if padded:
        ids[0, 9:], ids[2, 14:] = 0, 0
    return ids


def doubts(model, ids, target, ignored=-100):
    with halfcheck.torch.watch() as seen:
        got = model(ids)
        F.cross_entropy(got[:, :target.shape[1]].flatten(0, 1), target.flatten(),
                        ignore_index=ignored).backward()
    assert seen.ok(), seen
    return list(seen.doubtful)


SEES = "the mask of attention lets a token see the one that it is to predict"


@pytest.mark.parametrize("mask, wrong", (
    ("causal", False), ("one less", False), ("window", False), ("both sides", False),
    ("one more", True), ("none", True)))
def test_a_mask_that_shows_what_is_to_be_predicted_is_named(mask, wrong):
    ids = texts()
    assert doubts(Model(mask), ids[:, :-1], ids[:, 1:]) == [SEES] * wrong
    # As transformers do it: the last place predicts nothing.
    assert doubts(Model(mask), ids, ids[:, 1:]) == [SEES] * wrong


@pytest.mark.skipif(not hasattr(F, "scaled_dot_product_attention"), reason="PyTorch 1.13 has none")
@pytest.mark.parametrize("causal", (True, False))
def test_fused_attention_without_its_mask_is_named(causal):
    ids = texts()
    assert doubts(Model("fused", causal), ids[:, :-1], ids[:, 1:]) == [SEES] * (not causal)


def test_an_encoder_may_see_all():
    ids = texts()
    assert not doubts(Model("none"), ids, torch.randint(0, 40, ids.shape))


def test_an_encoder_beside_a_decoder_may_see_all():
    ids, other = texts(), texts().flip(0)
    decoder, encoder = Model("causal"), Model("none")
    both = lambda x: decoder(x) + encoder(other[:, :-1])
    assert not doubts(both, ids[:, :-1], ids[:, 1:])


@pytest.mark.parametrize("ignored, left", ((0, False), (-100, False), (0, True), (-100, True)))
def test_a_loss_that_counts_padding_is_named(ignored, left):
    ids = texts(padded=True)
    ids = ids.flip(1) if left else ids
    said = doubts(Model(), ids[:, :-1], ids[:, 1:], ignored)
    assert [line.startswith("targets that are padding") for line in said] == [True] * (ignored < 0)


def test_a_token_that_stands_elsewhere_too_is_no_padding():
    ids = texts(padded=True)
    ids[1, 3] = 0
    assert not doubts(Model(), ids[:, :-1], ids[:, 1:])


@pytest.mark.parametrize("shift, words", (
    (0, "the loss asks for the token that was read at the same place"), (1, None),
    (2, "the loss asks for the token after the next one")))
def test_targets_that_are_not_the_next_token_are_named(shift, words):
    ids = texts()
    said = doubts(Model("causal"), ids[:, :18], ids[:, shift:18 + shift])
    assert [line.startswith(words) for line in said] == [True] if words else not said


def test_a_masked_language_model_has_no_line():
    ids = texts()
    asked = torch.rand(ids.shape) < 0.5
    assert not doubts(Model("none"), torch.where(asked, 39, ids), torch.where(asked, ids, -100))


CLEARS = {
    "none": lambda p: setattr(p, "grad", None), "zero": lambda p: p.grad.zero_(),
    "data": lambda p: p.grad.data.zero_(), "factor": lambda p: p.grad.data.mul_(0),
    "part": lambda p: p.grad.__setitem__(slice(None), 0), "nothing": lambda p: None}


@pytest.mark.parametrize("how", CLEARS)
@pytest.mark.parametrize("every", (1, 3))
def test_gradients_that_nothing_has_cleared_are_named(how, every):
    torch.manual_seed(0)
    weight = nn.Parameter(torch.randn(4, 4))
    optimizer = torch.optim.SGD([weight], 1e-3)
    with halfcheck.torch.watch(optimizer, every=every) as seen:
        for _ in range(4):
            if weight.grad is not None:
                CLEARS[how](weight)
            for _ in range(2):
                weight.square().sum().backward()
            nn.utils.clip_grad_norm_([weight], 1.0)
            optimizer.step()
    assert [line.startswith("gradients are added to those of the step before")
            for line in seen.misused] == [True] * (how == "nothing")


def test_gradients_of_another_network_may_be_added_to_until_they_are_used():
    torch.manual_seed(0)
    maker, critic = nn.Linear(4, 4), nn.Linear(4, 1)
    first, second = (torch.optim.SGD(m.parameters(), 1e-3) for m in (maker, critic))
    with halfcheck.torch.watch(first) as seen:
        for _ in range(3):
            first.zero_grad(set_to_none=False)
            critic(maker(torch.ones(2, 4))).sum().backward()
            first.step()
            second.zero_grad(set_to_none=False)
            critic(maker(torch.ones(2, 4))).square().sum().backward()
            second.step()
    assert not seen.misused, seen


@pytest.mark.parametrize("by, wrong", ((None, False), ("scale", True), ("inverse", True),
                                       ("other", False)))
def test_gradients_that_are_unscaled_twice_are_named(by, wrong):
    torch.manual_seed(0)
    weight = nn.Parameter(torch.randn(4, 4))
    optimizer = torch.optim.SGD([weight], 1e-3)
    scaler = getattr(torch.amp, "GradScaler", None)
    if scaler is None:
        pytest.skip("this PyTorch scales on a GPU only")
    scaler = scaler("cpu", init_scale=1024.0)
    with halfcheck.torch.watch(optimizer) as seen:
        for _ in range(2):
            optimizer.zero_grad()
            scaler.scale(weight.square().sum()).backward()
            if by == "scale":
                weight.grad.div_(scaler.get_scale())
            elif by == "inverse":
                weight.grad.mul_(1 / scaler.get_scale())
            elif by == "other":
                weight.grad.div_(2)
            scaler.step(optimizer)
            scaler.update()
    assert [line.startswith("gradients were divided by the scale by hand")
            for line in seen.misused] == [True] * wrong, seen
