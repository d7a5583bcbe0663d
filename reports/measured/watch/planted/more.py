"""Twenty-eight bugs more, of kinds that bugs.py has not. `plant.py --more` plants them."""

import types

import torch
from torch import nn
import torch.nn.functional as F

import networks
from bugs import Bug, Kernels

BUGS = []
bf16 = torch.bfloat16


def bug(network, precision, kind, at):
    def take(plant):
        BUGS.append(Bug(plant, network, precision, kind, False, at))
        return plant
    return take


@bug("gpt", "fp32", "kernel", r"^(mm|addmm|bmm),")
def products_in_tf32(training):
    """Products in fp32 take 11 bits of each factor, as TF32 does."""
    def cut(x):
        return ((x.contiguous().view(torch.int32) + 4096) & -8192).view(torch.float32)
    return Kernels(mm=lambda func, a, b: func(cut(a), cut(b)),
                   addmm=lambda func, c, a, b, **words: func(c, cut(a), cut(b), **words))


@bug("moe", "fp32", "kernel", r"^(cos|sin),")
def cosine_without_reduction(training):
    """A cosine reduces its angle by 2 pi in fp32, in one step."""
    turn = torch.tensor(6.2831855)
    return Kernels(cos=lambda func, x: func(x - turn * torch.round(x / turn)))


@bug("gpt", "fp32", "kernel", r"^(linalg_vector_norm|_foreach_norm)")
def norm_without_the_last_tensor(training):
    """The norm of all gradients is that of each, but of the last element of each is left out."""
    def norms(func, tensors, *rest, **words):
        return func([t.reshape(-1)[:-1] for t in tensors], *rest, **words)
    return Kernels({"_foreach_norm.Scalar": norms})


@bug("resnet", "autocast", "kernel", r"^_amp_foreach")
def one_gradient_not_unscaled(training):
    """Of the gradients that are unscaled together the last one is left as it was."""
    return Kernels(_amp_foreach_non_finite_check_and_unscale_=lambda func, tensors, found, scale:
                   func(tensors[:-1], found, scale))


@bug("resnet", "fp32", "kernel", r"^native_batch_norm, running")
def running_statistics_the_other_way(training):
    """Batch norm keeps a tenth of its running statistics, and takes nine tenths of the batch's."""
    def norm(func, x, w, b, mean, var, train, momentum, eps):
        return func(x, w, b, mean, var, train, 1 - momentum, eps)
    return Kernels(native_batch_norm=norm)


@bug("gpt", "fp32", "kernel", r"^embedding,")
def token_of_its_neighbour(training):
    """The last token of a batch gets the row of the one that follows in the table."""
    def look(func, weight, ids, *rest, **words):
        ids = ids.clone()
        ids.view(-1)[-1] = (ids.view(-1)[-1] + 1) % weight.shape[0]
        return func(weight, ids, *rest, **words)
    return Kernels(embedding=look)


@bug("gpt", "fp32", "kernel", r"^_log_softmax_backward_data,")
def log_softmax_gradient_without_its_sum(training):
    """The gradient of log-softmax misses the sum of the gradients."""
    return Kernels(_log_softmax_backward_data=lambda func, dy, y, dim, dtype: dy)


@bug("gpt", "fp32", "kernel", r"^nll_loss_backward,")
def loss_gradient_of_the_batch(training):
    """The gradient of a mean of losses is divided by all tokens, the ignored ones, too."""
    def nll(func, dy, x, target, weight, reduction, ignore, total):
        return func(dy, x, target, weight, reduction, ignore,
                    torch.full_like(total, float(len(target))))
    return Kernels(nll_loss_backward=nll)


@bug("moe", "fp32", "kernel", r"^cat,")
def halves_joined_the_other_way(training):
    """Two tensors are joined in the other order."""
    return Kernels(cat=lambda func, tensors, dim=0: func(list(tensors)[::-1], dim))


@bug("gpt", "fp32", "kernel", r"^addcdiv_,")
def quotient_by_a_reciprocal(training):
    """AdamW's quotient multiplies by a reciprocal of 12 bits."""
    def step(func, p, m, v, value=1):
        inverse = ((1 / v).view(torch.int32) & -4096).view(torch.float32)
        return p.add_(m * inverse * value)
    return Kernels(addcdiv_=step)


@bug("gpt", "fp32", "kernel", r"^lerp_")
def moment_with_a_coarse_share(training):
    """AdamW's moment takes in 0.1 as bf16 has it, 0.10009765625."""
    return Kernels({"lerp_.Scalar": lambda func, m, g, weight:
                    func(m, g, float(torch.tensor(weight).to(bf16)))})


@bug("moe", "fp32", "kernel", r"^mean\.")
def mean_of_one_less(training):
    """A mean divides by n - 1."""
    def mean(func, x, dim, *rest, **words):
        count = x.shape[dim[0]]
        return func(x, dim, *rest, **words) * (count / (count - 1))
    return Kernels({"mean.dim": mean})


@bug("moe", "fp32", "function", r"gradient of")
def gradient_by_another_sigmoid(training):
    """The gradient of silu(a) b has a sigmoid of its own, which is right to 2^-10."""
    class Gated(networks.Gated):
        @staticmethod
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            s = torch.sigmoid(a) * (1 + 2.0 ** -10)
            return grad * b * s * (1 + a * (1 - s)), grad * F.silu(a)
    for expert in training.model.experts.experts:
        expert.gated = Gated


@bug("moe", "fp32", "function", r"gradient of")
def saves_what_it_writes_over(training):
    """A function saves its argument for its gradient, and then clamps it through .data."""
    class Gated(networks.Gated):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            y = F.silu(a) * b
            a.data.clamp_(min=0)
            return y

        @staticmethod
        def backward(ctx, grad):
            return networks.Gated.backward(ctx, grad)
    for expert in training.model.experts.experts:
        expert.gated = Gated


@bug("gpt", "fp32", "optimizer", r"AdamW\.step as Own")
def gradients_of_the_step_before(training):
    """An AdamW of one's own steps with the gradients of the step before."""
    class Own(torch.optim.AdamW):
        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    kept = self.__dict__.setdefault("late", {})
                    late = kept.get(p, p.grad * 0)
                    kept[p], p.grad = p.grad.clone(), late
            return super().step(closure)
    training.optimizer = Own(training.model.parameters(), 1e-2, weight_decay=0.1)


@bug("resnet", "fp32", "optimizer", r"SGD\.step as Own")
def nesterov_without_its_momentum(training):
    """An SGD of one's own with Nesterov's momentum steps by the buffer, and not by what follows."""
    class Own(torch.optim.SGD):
        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                group["nesterov"] = False
            super().step(closure)
            for group in self.param_groups:
                group["nesterov"] = True
    training.optimizer = Own(training.model.parameters(), 0.1, momentum=0.9, nesterov=True)


@bug("resnet", "autocast", "loop", r"(scale|unscale)")
def unscaled_twice(training):
    """Gradients are divided by the scale by hand, and GradScaler unscales them again."""
    def update():
        for p in training.model.parameters():
            p.grad.div_(training.scaler.get_scale())
        training.scaler.step(training.optimizer)
        training.scaler.update()
    training.update = update


@bug("gpt", "fp32", "loop", r"(clip|norm)")
def clipped_after_the_step(training):
    """Gradients are clipped when the optimizer has stepped already."""
    def update():
        training.optimizer.step()
        training.clip()
    training.update = update


@bug("gpt", "fp32", "loop", r"(grad|accum)")
def gradients_never_cleared(training):
    """No step clears the gradients of the step before."""
    training.step = lambda: (training.backward(), training.update())


@bug("gpt", "bf16", "loop", r"average takes in nothing")
def average_of_weights_in_bf16(training):
    """An average of the weights that takes in a thousandth of each step is kept in bf16."""
    average = [p.detach().clone() for p in training.model.parameters()]
    update = training.update

    def both():
        update()
        with torch.no_grad():
            for a, p in zip(average, training.model.parameters()):
                a.lerp_(p, 0.001)
    training.update = both


# Planted later still, when the rules were as they are.

@bug("gpt", "fp32", "kernel", r"^native_layer_norm_backward,")
def mean_of_another_batch(training):
    """Layer norm's gradient reads means that are a thousandth too large."""
    def back(func, dy, x, shape, mean, *rest):
        return func(dy, x, shape, mean * 1.001, *rest)
    return Kernels(native_layer_norm_backward=back)


@bug("gpt", "fp32", "kernel", r"(^_foreach_addcdiv_|AdamW\.step)")
def last_tensors_skipped(training):
    """An update of many tensors at once leaves the last two as they are."""
    def some(func, *given):
        count = max(1, len(given[0]) - 2)
        return func(*(one[:count] if isinstance(one, (list, tuple)) else one for one in given))
    training.optimizer = torch.optim.AdamW(training.model.parameters(), 1e-3, foreach=True)
    return Kernels({"_foreach_addcdiv_.ScalarList": some})


@bug("moe", "fp32", "kernel", r"^sum\.dim_IntList,")
def rows_read_twice(training):
    """A sum over rows reads each second row in place of the one that follows."""
    def rows(func, x, dims, *rest, **words):
        if x.dim() == 2 and list(dims) == [0]:
            x = x.clone()
            x[1::2] = x[:-1:2]
        return func(x, dims, *rest, **words)
    return Kernels({"sum.dim_IntList": rows})


@bug("gpt", "fp32", "kernel", r"^nll_loss_forward,")
def loss_in_fp16(training):
    """The loss is rounded to fp16."""
    def loss(func, *given):
        value, weight = func(*given)
        return value.half().float(), weight
    return Kernels(nll_loss_forward=loss)


@bug("resnet", "fp32", "function", r"gradient of .*Drop")
def mask_drawn_anew(training):
    """A dropout of one's own draws another mask in its backward pass."""
    class Drop(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * (torch.rand_like(x) < 0.75) / 0.75

        @staticmethod
        def backward(ctx, dy):
            return dy * (torch.rand_like(dy) < 0.75) / 0.75
    training.model.blocks.register_forward_hook(lambda module, given, y: Drop.apply(y))


@bug("gpt", "fp32", "loop", r"all zeros")
def cleared_before_the_step(training):
    """Gradients are set to zero between the backward pass and the step."""
    update = training.update

    def late():
        training.optimizer.zero_grad(set_to_none=False)
        update()
    training.update = late


@bug("gpt", "fp32", "module", r"(detach|no gradient)")
def branch_detached(training):
    """What attention adds is detached, and its weights get no gradient."""
    training.model.blocks[0].attention.register_forward_hook(lambda module, given, y: y.detach())


@bug("gpt", "fp32", "loop", r"(accumul|divide)")
def small_batches_not_averaged(training):
    """The gradients of four small batches are added up, and nobody divides them by four."""
    loss = training.loss
    training.accumulate = 4
    training.loss = lambda *given: 4 * loss(*given)
