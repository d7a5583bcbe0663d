"""The bugs: each one patches a training of networks.py in one place.

A bug is a function of the training. It may return a Kernels, whose operators then stand for
PyTorch's own. `at` is what a line of the watch's report has to match to have found the bug:
operator, output and format."""

import contextlib
import math
import types

import torch
from torch import nn
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

import networks

BUGS = []
bf16 = torch.bfloat16


class Bug:
    def __init__(self, plant, network, precision, kind, listed, at):
        self.plant, self.network, self.precision = plant, network, precision
        self.kind, self.listed, self.at = kind, listed, at
        self.name, self.words = plant.__name__, " ".join(plant.__doc__.split()).rstrip(".")


def bug(network, precision, kind, at, listed=False):
    """Takes a bug into the list. Kind: kernel, function (of autograd), module, optimizer or loop.
    Listed: it is of a kind that the specification names."""
    def take(plant):
        BUGS.append(Bug(plant, network, precision, kind, listed, at))
        return plant
    return take


class Kernels(TorchDispatchMode):
    """Operators by their ATen overloads, in place of PyTorch's own. The watch is outside of it, and
    sees what they return as what the operator returned."""

    def __init__(self, kernels=None, **others):
        super().__init__()
        self.kernels = {**(kernels or {}), **others}
        self.calls = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        schema = func._schema
        name = schema.name.split("::")[-1]
        overload = name + ("." + schema.overload_name if schema.overload_name else "")
        kernel = self.kernels.get(overload)
        if kernel is None:
            return func(*args, **(kwargs or {}))
        self.calls += 1
        return kernel(func, *args, **(kwargs or {}))


# Products, convolutions, sums and casts.

@bug("gpt", "fp32", "kernel", r"^(mm|addmm|bmm),", listed=True)
def accumulates_in_bf16(training):
    """Matrix products add up their terms in bf16."""
    def mm(func, a, b):
        total = torch.zeros(a.shape[0], b.shape[1], dtype=bf16)
        for i in range(a.shape[1]):
            total += (a[:, i, None] * b[i]).to(bf16)
        return total.float()
    return Kernels(mm=mm)


@bug("gpt", "fp32", "kernel", r"^(mm|addmm|bmm),", listed=True)
def last_tile(training):
    """The last tile of a product, of 8 columns, misses the last of its terms."""
    def mm(func, a, b):
        y = func(a, b)
        y[:, -8:] -= a[:, -1:] * b[-1:, -8:]
        return y
    return Kernels(mm=mm)


@bug("gpt", "autocast", "kernel", r"^addmm, bf16")
def bias_added_after_rounding(training):
    """A product in bf16 is rounded, and then its bias is added in bf16."""
    return Kernels(addmm=lambda func, c, a, b: (a @ b) + c)


@bug("gpt", "fp32", "kernel", r"^bmm,")
def batch_of_its_neighbour(training):
    """The last matrix of a batch is multiplied by its neighbour's."""
    def bmm(func, a, b):
        y = func(a, b)
        y[-1] = a[-1] @ b[-2]
        return y
    return Kernels(bmm=bmm)


@bug("gpt", "fp32", "kernel", r"^sum\.dim_IntList,")
def sum_of_floats_in_bf16(training):
    """Sums over an axis are kept in bf16."""
    return Kernels({"sum.dim_IntList": lambda func, x, *rest, **words:
                    func(x.to(bf16), *rest, **words).to(x.dtype)})


@bug("gpt", "autocast", "kernel", r"^_to_copy, bf16")
def casts_by_truncation(training):
    """Casts from fp32 to bf16 cut bits off, and do not round."""
    def to_copy(func, x, dtype=None, **words):
        if dtype == bf16 and x.dtype == torch.float32:
            return (x.contiguous().view(torch.int32) & -65536).view(torch.float32).to(bf16)
        return func(x, dtype=dtype, **words)
    return Kernels(_to_copy=to_copy)


@bug("resnet", "autocast", "kernel", r"^_to_copy, fp16")
def casts_without_subnormals(training):
    """Casts to fp16 flush subnormal numbers to 0."""
    def to_copy(func, x, dtype=None, **words):
        y = func(x, dtype=dtype, **words)
        return torch.where(y.abs() < 2.0 ** -14, 0, y) if dtype == torch.float16 else y
    return Kernels(_to_copy=to_copy)


@bug("resnet", "fp32", "kernel", r"^convolution,")
def padding_repeats_the_border(training):
    """A convolution pads with the border's pixels in place of 0."""
    def convolution(func, x, w, b, stride, padding, *rest):
        if padding[0]:
            x, padding = F.pad(x, [padding[1]] * 2 + [padding[0]] * 2, mode="replicate"), [0, 0]
        return func(x, w, b, stride, padding, *rest)
    return Kernels(convolution=convolution)


@bug("resnet", "fp32", "kernel", r"^convolution_backward, ")
def last_image_lost(training):
    """The gradient of a convolution's weight misses the last image of the batch."""
    def backward(func, grad, x, *rest):
        gx, gw, gb = func(grad, x, *rest)
        return gx, func(grad[:-1], x[:-1].contiguous(), *rest)[1], gb
    return Kernels(convolution_backward=backward)


@bug("resnet", "fp32", "kernel", r"^convolution_backward, ")
def stride_ignored_in_gradient(training):
    """Where a convolution has a stride, the gradient of its input is moved by one column."""
    def backward(func, grad, x, w, bias, stride, *rest):
        gx, gw, gb = func(grad, x, w, bias, stride, *rest)
        return (gx.roll(1, 3) if stride[0] > 1 and gx is not None else gx), gw, gb
    return Kernels(convolution_backward=backward)


# Norms.

@bug("gpt", "fp32", "kernel", r"^native_layer_norm,", listed=True)
def eps_outside_of_the_root(training):
    """Layer norm divides by sqrt(variance) + eps."""
    def norm(func, x, shape, weight, bias, eps):
        mean = x.mean(-1, keepdim=True)
        rstd = 1 / (x.var(-1, unbiased=False, keepdim=True).sqrt() + eps)
        return (x - mean) * rstd * weight + bias, mean, rstd
    return Kernels(native_layer_norm=norm)


@bug("gpt", "fp32", "kernel", r"^native_layer_norm,.*(mean|rstd)", listed=True)
def statistic_saved_in_bf16(training):
    """Layer norm's result is right; the deviation that it saves for its gradient is in bf16."""
    def norm(func, *args):
        y, mean, rstd = func(*args)
        return y, mean, rstd.to(bf16).float()
    return Kernels(native_layer_norm=norm)


@bug("resnet", "fp32", "kernel", r"^(native_batch_norm|_native_batch_norm_legit|cudnn_batch_norm),",
     listed=True)
def saved_deviation_without_eps(training):
    """Batch norm saves an inverse deviation without eps."""
    def norm(func, x, w, b, m, v, train, momentum, eps):
        y, mean, _ = func(x, w, b, m, v, train, momentum, eps)
        return y, mean, 1 / x.var((0, 2, 3), unbiased=False).sqrt()
    return Kernels(native_batch_norm=norm)


@bug("resnet", "fp32", "kernel", r"^(native_batch_norm|_native_batch_norm_legit),")
def variance_of_n_less_one(training):
    """Batch norm normalizes with the variance of n - 1."""
    def norm(func, x, w, b, m, v, train, momentum, eps):
        _, mean, rstd = func(x, w, b, m, v, train, momentum, eps)
        count = x.numel() // x.shape[1]
        rstd = 1 / ((1 / rstd ** 2 - eps) * count / (count - 1) + eps).sqrt()
        side = (1, -1, 1, 1)
        return (x - mean.view(side)) * (rstd * w).view(side) + b.view(side), mean, rstd
    return Kernels(native_batch_norm=norm)


@bug("resnet", "fp32", "kernel", r"^native_batch_norm, .*(running|rv|var)")
def running_variance_of_n(training):
    """Batch norm's running variance takes in that of n, and not that of n - 1."""
    def norm(func, x, w, b, m, v, train, momentum, eps):
        old = v.clone()
        results = func(x, w, b, m, v, train, momentum, eps)
        v.copy_((1 - momentum) * old + momentum * x.var((0, 2, 3), unbiased=False))
        return results
    return Kernels(native_batch_norm=norm)


@bug("gpt", "fp32", "kernel", r"^native_layer_norm_backward, (dw|db)")
def gamma_of_the_last_block(training):
    """Layer norm's gradients of gamma and beta leave out the last 16 rows."""
    def backward(func, grad, x, shape, mean, rstd, *rest):
        dx, _, _ = func(grad, x, shape, mean, rstd, *rest)
        flat = grad.reshape(-1, grad.shape[-1]).clone()
        flat[-16:] = 0
        return (dx, *func(flat.view_as(grad), x, shape, mean, rstd, *rest)[1:])
    return Kernels(native_layer_norm_backward=backward)


@bug("resnet", "fp32", "kernel", r"^native_batch_norm_backward,")
def batch_norm_gradient_without_mean(training):
    """Batch norm's gradient of its input does not subtract the mean of the gradients."""
    def backward(func, grad, x, w, *rest):
        gx, gw, gb = func(grad, x, w, *rest)
        rstd = rest[3]
        return gx + (w * rstd * gb / (x.numel() // x.shape[1])).view(1, -1, 1, 1), gw, gb
    return Kernels(native_batch_norm_backward=backward)


# Activations, softmax, losses, dropout, pools.

@bug("gpt", "fp32", "kernel", r"^_softmax_backward_data,")
def softmax_gradient_of_the_diagonal(training):
    """Softmax's gradient is that of its diagonal alone."""
    return Kernels(_softmax_backward_data=lambda func, grad, y, dim, dtype: grad * y * (1 - y))


@bug("gpt", "bf16", "kernel", r"^_softmax, bf16")
def softmax_sums_in_bf16(training):
    """Softmax adds its exponentials up in bf16, one by one."""
    def softmax(func, x, dim, half):
        e = (x - x.amax(-1, keepdim=True)).exp()
        total = torch.zeros_like(e[..., 0])
        for i in range(e.shape[-1]):
            total = total + e[..., i]
        return e / total[..., None]
    return Kernels(_softmax=softmax)


@bug("gpt", "fp32", "kernel", r"^gelu, ")
def gelu_by_tanh(training):
    """GELU is that by tanh, where that by erf was asked for."""
    return Kernels(gelu=lambda func, x, approximate="none": func(x, approximate="tanh"))


@bug("gpt", "fp32", "kernel", r"^gelu_backward, ")
def gelu_gradient_by_tanh(training):
    """GELU's gradient is that of the other formula."""
    return Kernels(gelu_backward=lambda func, grad, x, approximate="none":
                   func(grad, x, approximate="tanh"))


@bug("moe", "fp32", "kernel", r"^silu,")
def fast_exponential(training):
    """SiLU takes an exponential with an error of 2^-16."""
    def silu(func, x):
        t = -x * 1.4426950408889634
        n = t.round()
        f = (t - n) * 0.6931471805599453
        e = 1 + f * (1 + f * (0.5 + f * (1 / 6 + f * (1 / 24))))
        return x / (1 + torch.ldexp(e, n))
    return Kernels(silu=silu)


@bug("resnet", "fp32", "kernel", r"^threshold_backward,")
def relu_lets_zero_through(training):
    """ReLU's gradient passes where its result is 0."""
    def backward(func, grad, y, threshold):
        kept = func(grad, y, threshold)
        kept[y == threshold] = grad[y == threshold]
        return kept
    return Kernels(threshold_backward=backward)


@bug("resnet", "fp32", "kernel", r"^max_pool2d_with_indices_backward,")
def pool_gradient_to_the_first(training):
    """Max pooling's gradient goes to the first element of each window."""
    def backward(func, grad, x, size, stride, padding, dilation, ceil, indices):
        first = torch.arange(x.shape[-2] * x.shape[-1]).view(1, 1, *x.shape[-2:])
        first = first[..., ::2, ::2].expand_as(grad).contiguous()
        return func(grad, x, size, stride, padding, dilation, ceil, first)
    return Kernels(max_pool2d_with_indices_backward=backward)


@bug("gpt", "fp32", "kernel", r"^nll_loss_forward,")
def ignored_tokens_counted(training):
    """The loss of tokens that are to be ignored is left out of the sum, and they are counted."""
    def forward(func, x, target, weight, reduction, ignored):
        loss, total = func(x, target, weight, reduction, ignored)
        return loss * total / len(target), total
    return Kernels(nll_loss_forward=forward)


@bug("gpt", "fp32", "kernel", r"^_log_softmax,")
def log_of_softmax(training):
    """Log-softmax is the logarithm of a softmax that was rounded to bf16."""
    return Kernels(_log_softmax=lambda func, x, dim, half:
                   x.softmax(dim).clamp_min(1e-30).to(bf16).float().log())


@bug("gpt", "fp32", "kernel", r"^div_\.Scalar,", listed=True)
def dropout_without_its_factor(training):
    """Dropout sets elements to 0, and does not divide the others by 1 - p."""
    return Kernels({"div_.Scalar": lambda func, x, by: x if by == 0.9 else func(x, by)})


# Embeddings, indices, moves.

@bug("gpt", "fp32", "kernel", r"^embedding_dense_backward,", listed=True)
def embedding_gradient_with_a_lost_row(training):
    """The gradient of an embedding leaves out the last token of a batch."""
    def backward(func, grad, ids, *rest):
        grad = grad.clone()
        grad.view(-1, grad.shape[-1])[-1] = 0
        return func(grad, ids, *rest)
    return Kernels(embedding_dense_backward=backward)


@bug("gpt", "autocast", "kernel", r"^embedding_dense_backward,")
def embedding_gradient_in_bf16(training):
    """The gradient of an embedding is added up in bf16."""
    return Kernels(embedding_dense_backward=lambda func, grad, *rest:
                   func(grad.to(bf16), *rest).to(grad.dtype))


@bug("moe", "fp32", "kernel", r"^index_add")
def updates_lost(training):
    """Of two rows that are added to one place the second one is lost, as in a race."""
    def add(func, x, dim, index, source, alpha=1):
        total = x.clone()
        total[index] = x[index] * 0.5 + source
        return total
    return Kernels(index_add=add)


@bug("moe", "fp32", "kernel", r"^(index_put|_unsafe_index_put|index_put_),?")
def gradient_of_a_row_lost(training):
    """The gradient of chosen rows leaves the last of them out."""
    def put(func, x, indices, values, accumulate=False):
        return func(x, [index[:-1] for index in indices], values[:-1], accumulate)
    return Kernels(index_put=put)


@bug("moe", "fp32", "kernel", r"^cat,")
def cat_in_the_wrong_order(training):
    """The two halves of a rotated vector change their places."""
    return Kernels(cat=lambda func, tensors, dim=0: func(list(tensors)[::-1], dim))


@bug("gpt", "fp32", "kernel", r"^clone,")
def copies_without_strides(training):
    """A contiguous copy of a transposed tensor takes its elements as they lie in memory."""
    def clone(func, x, memory_format=None):
        if memory_format == torch.contiguous_format and x.dim() == 4:
            return torch.as_strided(x, (x.numel(),), (1,)).clone().view(x.shape)
        return func(x, memory_format=memory_format)
    return Kernels(clone=clone)


@bug("moe", "fp32", "kernel", r"^rsqrt,")
def reciprocal_root_of_twelve_bits(training):
    """1 / sqrt has 12 bits, as the instruction of a processor has without a step of Newton's."""
    return Kernels(rsqrt=lambda func, x: (func(x).view(torch.int32) & -4096).view(torch.float32))


@bug("gpt", "bf16", "kernel", r"^(div|mul)\.(Tensor|Scalar), bf16")
def factor_rounded_first(training):
    """A product with a number rounds that number to bf16 first, and cuts its bits off."""
    def mul(func, a, b):
        if isinstance(b, float) or b.dim() == 0:
            b = torch.tensor(float(b))
            b = (b.view(torch.int32) & -65536 * 4).view(torch.float32)
        return func(a, b)
    return Kernels({"mul.Tensor": mul})


# Functions of autograd.

@bug("moe", "fp32", "function", r"Gated", listed=True)
def gated_gradient_without_a_term(training):
    """The gradient of silu(a) b misses the term with the derivative of the sigmoid."""
    class Gated(networks.Gated):
        @staticmethod
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            return grad * b * torch.sigmoid(a), grad * F.silu(a)
    for expert in training.model.experts.experts:
        expert.gated = Gated


@bug("gpt", "fp32", "function", r"Norm", listed=True)
def norm_gradient_without_the_mean(training):
    """A layer norm of one's own has a gradient without the mean of the gradients."""
    class Norm(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w, b, eps):
            rstd = 1 / (x.var(-1, unbiased=False, keepdim=True) + eps).sqrt()
            h = (x - x.mean(-1, keepdim=True)) * rstd
            ctx.save_for_backward(h, rstd, w)
            return h * w + b

        @staticmethod
        def backward(ctx, grad):
            h, rstd, w = ctx.saved_tensors
            g = grad * w
            gx = rstd * (g - h * (g * h).mean(-1, keepdim=True))
            return gx, (grad * h).sum((0, 1)), grad.sum((0, 1)), None
    norm = training.model.norm
    norm.forward = lambda x: Norm.apply(x, norm.weight, norm.bias, norm.eps)


@bug("gpt", "fp32", "function", r"Half")
def scale_lost_in_the_gradient(training):
    """A function that multiplies by 0.125 hands its gradient on as it is."""
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 0.125

        @staticmethod
        def backward(ctx, grad):
            return grad
    for block in training.model.blocks:
        attention = block.attention
        weights = attention.weights
        attention.weights = lambda scores, w=weights: w(Half.apply(scores) * 8)


@bug("resnet", "fp32", "function", r"Leaky")
def wrong_tensor_saved(training):
    """A leaky ReLU in place of x saves its result, of which it has taken the magnitude."""
    class Leaky(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = torch.where(x > 0, x, 0.1 * x)
            ctx.save_for_backward(y.abs())
            return y

        @staticmethod
        def backward(ctx, grad):
            return torch.where(ctx.saved_tensors[0] > 0, grad, 0.1 * grad)
    blocks, forward = training.model.blocks, training.model.blocks.forward
    blocks.forward = lambda x: Leaky.apply(forward(x) - 0.5)


# Optimizers.

@bug("gpt", "fp32", "optimizer", r"AdamW", listed=True)
def weight_decay_twice(training):
    """An AdamW of one's own shrinks the weights, and then calls AdamW, which does it again."""
    class Own(torch.optim.AdamW):
        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    p.mul_(1 - group["lr"] * group["weight_decay"])
            return super().step(closure)
    training.optimizer = Own(training.model.parameters(), 1e-2, weight_decay=0.1)


def _adam(step, **options):
    """An AdamW whose arithmetic is `step`."""
    class Own(torch.optim.AdamW):
        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    if not state:
                        state.update(step=torch.tensor(0.0), exp_avg=torch.zeros_like(p),
                                     exp_avg_sq=torch.zeros_like(p))
                    step(p, p.grad, state, group)
    return lambda training: setattr(training, "optimizer", Own(
        training.model.parameters(), 1e-2, weight_decay=0.1, **options))


def _right(p, g, state, group, eps_inside=False, corrected=True, first=1, coupled=False):
    b1, b2 = group["betas"]
    state["step"] += 1
    t = float(state["step"]) + first - 1
    if coupled:
        g = g + group["weight_decay"] * p
    else:
        p.mul_(1 - group["lr"] * group["weight_decay"])
    state["exp_avg"].lerp_(g, 1 - b1)
    state["exp_avg_sq"].mul_(b2).addcmul_(g, g, value=1 - b2)
    m, v = state["exp_avg"], state["exp_avg_sq"]
    if corrected:
        m, v = m / (1 - b1 ** t), v / (1 - b2 ** t)
    root = (v + group["eps"]).sqrt() if eps_inside else v.sqrt() + group["eps"]
    p.sub_(group["lr"] * m / root)


@bug("gpt", "fp32", "optimizer", r"AdamW")
def adam_eps_inside_of_the_root(training):
    """An AdamW of one's own takes the root of v + eps."""
    _adam(lambda *a: _right(*a, eps_inside=True))(training)


@bug("gpt", "fp32", "optimizer", r"AdamW")
def adam_without_bias_correction(training):
    """An AdamW of one's own does not correct its moments' bias."""
    _adam(lambda *a: _right(*a, corrected=False))(training)


@bug("gpt", "fp32", "optimizer", r"AdamW")
def adam_counts_from_two(training):
    """An AdamW of one's own takes the correction of the step that follows."""
    _adam(lambda *a: _right(*a, first=2))(training)


@bug("gpt", "fp32", "optimizer", r"AdamW")
def decay_through_the_moments(training):
    """An AdamW of one's own adds the decay to the gradient, as Adam does."""
    _adam(lambda *a: _right(*a, coupled=True))(training)


@bug("resnet", "fp32", "optimizer", r"SGD", listed=True)
def momentum_in_bf16(training):
    """An SGD of one's own keeps its momentum in bf16."""
    class Own(torch.optim.SGD):
        def step(self, closure=None):
            result = super().step(closure)
            for state in self.state.values():
                if state.get("momentum_buffer") is not None:
                    state["momentum_buffer"] = state["momentum_buffer"].to(bf16).float()
            return result
    training.optimizer = Own(training.model.parameters(), 0.1, momentum=0.9, weight_decay=1e-2)


@bug("moe", "bf16", "optimizer", r"(stale|master|copy)", listed=True)
def stale_master(training):
    """Of the master weights one is never copied into the model."""
    masters = training.optimizer

    def give_back(self):
        for master, parameter in list(zip(self.masters, self.model))[1:]:
            parameter.copy_(master)
    masters.give_back = types.MethodType(give_back, masters)


@bug("moe", "bf16", "kernel", r"^copy_, bf16")
def masters_copied_by_truncation(training):
    """Master weights are cut off, and not rounded, when they are copied into the model."""
    def copy(func, x, source, non_blocking=False):
        if x.dtype == bf16 and source.dtype == torch.float32:
            source = (source.view(torch.int32) & -65536).view(torch.float32)
        return func(x, source, non_blocking)
    return Kernels(copy_=copy)


# The loop: scaling, clipping, accumulation, losses, masks. Each operator here is right.

@bug("resnet", "autocast", "loop", r"(unscale|scale)", listed=True)
def gradients_not_unscaled(training):
    """The loss is scaled, and the optimizer's step is called without the scaler."""
    training.update = training.optimizer.step


@bug("resnet", "autocast", "loop", r"(clip|scale)", listed=True)
def clipped_before_unscaling(training):
    """Gradients are clipped while they are still scaled."""
    def update():
        training.clip()
        training.scaler.step(training.optimizer)
        training.scaler.update()
    training.update = update


@bug("gpt", "bf16", "loop", r"(accumul|through|grad)", listed=True)
def gradients_accumulated_in_bf16(training):
    """Gradients of 8 small batches are added up in bf16."""
    training.accumulate = 8


@bug("gpt", "fp32", "loop", r"(pad|loss)", listed=True)
def mean_over_padded_tokens(training):
    """The loss of padded tokens counts in the mean."""
    training.loss = lambda got, want: F.cross_entropy(got.reshape(-1, got.shape[-1]),
                                                      want.reshape(-1))


@bug("gpt", "fp32", "module", r"(attention|mask)", listed=True)
def mask_off_by_one(training):
    """Each token sees the one that it is to predict."""
    networks_mask = lambda length: torch.ones(length, length, dtype=torch.bool).tril(1)
    for block in training.model.blocks:
        block.attention.mask = networks_mask


@bug("gpt", "fp32", "module", r"attention")
def wrong_scale_of_attention(training):
    """Scores are divided by the size of a head, and not by its root."""
    for block in training.model.blocks:
        block.attention.scale = block.attention.scale ** 2


@bug("moe", "fp32", "module", r"(attention|rot|cos|sin)", listed=True)
def angles_in_bf16(training):
    """The angles of rotary embeddings are computed in bf16."""
    training.model.attention.angles_in = bf16


@bug("moe", "fp32", "module", r"norm", listed=True)
def rms_norm_eps_outside_of_the_root(training):
    """An RMS norm of one's own adds eps to the root."""
    def forward(self, x):
        return self.weight * (x / (x.pow(2).mean(-1, keepdim=True).sqrt() + self.eps))
    for name in ("norm", "norm1", "norm2"):
        norm = getattr(training.model, name)
        norm.forward = types.MethodType(forward, norm)


@bug("moe", "fp32", "module", r"experts")
def shares_not_normalized(training):
    """The shares of the chosen experts do not add up to 1."""
    experts = training.model.experts
    experts.shares = lambda x: experts.router(x).softmax(-1).topk(experts.chosen, -1)


@bug("gpt", "fp32", "loop", r"two optimizers", listed=True)
def tied_weights_updated_twice(training):
    """Embedding and head share a weight, and two optimizers step it."""
    second = torch.optim.AdamW(training.model.head.parameters(), 1e-2, weight_decay=0.1)
    step = training.optimizer.step

    def both():
        step()
        second.step()
    training.optimizer.step = both


@bug("gpt", "fp32", "module", r"(NaN|infinity)")
def rows_with_nothing_to_see(training):
    """The mask hides all of the first row, whose softmax is NaN."""
    for block in training.model.blocks:
        block.attention.mask = lambda length: torch.ones(length, length, dtype=torch.bool).tril(-1)


@bug("resnet", "autocast", "loop", r"(NaN|infinity)")
def scale_too_large(training):
    """The loss scale is 2^24, and gradients in fp16 are infinite."""
    training.scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 24)
