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


def smooth(call):
    args = call.args
    if args["reduction"] == 0 or not args["beta"]:
        return None
    x, t = torch.broadcast_tensors(args["self"], args["target"])
    call.elements(x.numel())
    total = float(x.numel()) if args["reduction"] == 1 else 1.0
    return [Question(SMOOTH, {"x": x.reshape(-1), "t": t.reshape(-1)},
                     {"y": call.results[0].reshape(())}, {"total": total, "beta": args["beta"]})]


def smooth_backward(call):
    if not call.args["beta"]:
        return None
    question, = mse_backward(call)
    question.text = SMOOTH_BACKWARD
    question.options["beta"] = call.args["beta"]
    return [question]


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
    "mse_loss": mse,
    "mse_loss_backward": mse_backward,
    "smooth_l1_loss": smooth,
    "smooth_l1_loss_backward": smooth_backward,
}

MOVES = {"bernoulli": bernoulli}
