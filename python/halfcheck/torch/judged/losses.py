"""Losses of two tensors, their gradients, and what makes constants."""

import torch

from ..slices import Question, at

SQUARES = """op squares(x[i], t[i])
y[i] = (x[i] - t[i])^2
return y
"""

MEAN_SQUARE = """op mean_square(x[i], t[i]; total = 1.0)
s = sum(i: (x[i] - t[i])^2)
y = s / total
return y
"""

SQUARES_BACKWARD = """op squares_backward(dy[i], x[i], t[i]; total = 1.0)
dx[i] = 2 / total * (x[i] - t[i]) * dy[i]
return dx
"""

SMOOTH = """op smooth_l1(x[i], t[i]; total = 1.0, beta = 1.0)
e[i] = abs(x[i] - t[i])
s    = sum(i: select(e[i] < beta, 0.5 * e[i]^2 / beta, e[i] - 0.5 * beta))
y    = s / total
return y
"""

SMOOTH_BACKWARD = """op smooth_l1_backward(dy[i], x[i], t[i]; total = 1.0, beta = 1.0)
d[i]  = x[i] - t[i]
s[i]  = select(d[i] < 0, -1, 1)
dx[i] = select(abs(d[i]) < beta, d[i] / beta, s[i]) * dy[i] / total
return dx
"""

HUBER = """op huber(x[i], t[i]; total = 1.0, beta = 1.0)
e[i] = abs(x[i] - t[i])
s    = sum(i: select(e[i] < beta, 0.5 * e[i]^2, beta * (e[i] - 0.5 * beta)))
y    = s / total
return y
"""

HUBER_BACKWARD = """op huber_backward(dy[i], x[i], t[i]; total = 1.0, beta = 1.0)
d[i]  = x[i] - t[i]
s[i]  = select(d[i] < 0, -beta, beta)
dx[i] = select(abs(d[i]) < beta, d[i], s[i]) * dy[i] / total
return dx
"""

# w and p: the weights of elements, and of their positive part. As PyTorch has it: (1 - t) x and
# max(-x, 0) may cancel.
LOGITS = """op bce_with_logits(x[i], t[i], w[i], p[i]; total = 1.0)
l[i] = 1 + (p[i] - 1) * t[i]
e[i] = (1 - t[i]) * x[i] + l[i] * (log1p(exp(-abs(x[i]))) + max(-x[i], 0))
{0}
return y
"""

RANGE = """op range(n[i]: index; start = 0.0, step = 1.0)
y[i] = start + step * n[i]
return y
"""


def mse(call):
    x, t, y = call.args["self"], call.args["target"], call.results[0]
    if call.args["reduction"] == 0:
        where = call.chosen(y)
        return [Question(SQUARES, {"x": at(x, where, y.shape), "t": at(t, where, y.shape)},
                         {"y": y[where]})]
    x, t = torch.broadcast_tensors(x, t)
    call.elements(x.numel())
    total = float(x.numel()) if call.args["reduction"] == 1 else 1.0
    return [Question(MEAN_SQUARE, {"x": x.reshape(-1), "t": t.reshape(-1)},
                     {"y": y.reshape(())}, {"total": total})]


def mse_backward(call):
    args, dx = call.args, call.results[0]
    where = call.chosen(dx)
    total = float(dx.numel()) if args["reduction"] == 1 else 1.0
    taken = {name: at(args[theirs], where, dx.shape) for name, theirs in
             (("dy", "grad_output"), ("x", "self"), ("t", "target"))}
    return [Question(SQUARES_BACKWARD, taken, {"dx": dx[where]}, {"total": total})]


def _with_width(text, width):
    """smooth_l1_loss and huber_loss, whose width has another name."""
    def gather(call):
        args = call.args
        if args["reduction"] == 0 or not args[width]:
            return None
        x, t = torch.broadcast_tensors(args["self"], args["target"])
        call.elements(x.numel())
        total = float(x.numel()) if args["reduction"] == 1 else 1.0
        return [Question(text, {"x": x.reshape(-1), "t": t.reshape(-1)},
                         {"y": call.results[0].reshape(())},
                         {"total": total, "beta": args[width]})]
    return gather


def _with_width_backward(text, width):
    def gather(call):
        if not call.args[width]:
            return None
        question, = mse_backward(call)
        question.text = text
        question.options["beta"] = call.args[width]
        return [question]
    return gather


def logits(call):
    args, y = call.args, call.results[0]
    x = args["self"]
    ones = torch.ones((), dtype=x.dtype)
    given = {"x": x, "t": args["target"], "w": args.get("weight"), "p": args.get("pos_weight")}
    given = {name: (ones if value is None else value).expand(x.shape)
             for name, value in given.items()}
    if args["reduction"] == 0:
        where = call.chosen(y)
        return [Question(LOGITS.format("y[i] = e[i] * w[i]"),
                         {name: value[where] for name, value in given.items()}, {"y": y[where]})]
    call.elements(x.numel())
    total = float(x.numel()) if args["reduction"] == 1 else 1.0
    return [Question(LOGITS.format("s = sum(i: e[i] * w[i])\ny = s / total"),
                     {name: value.reshape(-1) for name, value in given.items()},
                     {"y": y.reshape(())}, {"total": total})]


def arange(call):
    """start + i * step."""
    y = call.results[0]
    if not y.numel():
        return []
    where = call.chosen(y)
    return [Question(RANGE, {"n": where[0]}, {"y": y[where]},
                     {"start": float(call.args.get("start", 0)),
                      "step": float(call.args.get("step", 1))})]


def bernoulli(call):
    """Each number is 0 or 1, and their mean is as near to p as Hoeffding's inequality has it but
    once in 2^60."""
    y, p = call.results[0], call.args.get("p", 0.5)
    if isinstance(p, torch.Tensor):
        return None
    call.elements(y.numel())
    flat = y.detach().reshape(-1)
    ones = float((flat == 1).double().mean()) if len(flat) else p
    most = (61 * 0.6931471805599453 / (2 * max(1, len(flat)))) ** 0.5
    want = (flat != 0) if abs(ones - p) <= most else flat == 0
    return [(want.to(y.dtype), flat)]


STRUCTURED = {
    "arange": arange,
    "binary_cross_entropy_with_logits": logits,
    "huber_loss": _with_width(HUBER, "delta"),
    "huber_loss_backward": _with_width_backward(HUBER_BACKWARD, "delta"),
    "mse_loss": mse,
    "mse_loss_backward": mse_backward,
    "smooth_l1_loss": _with_width(SMOOTH, "beta"),
    "smooth_l1_loss_backward": _with_width_backward(SMOOTH_BACKWARD, "beta"),
}

MOVES = {"bernoulli": bernoulli}
