"""Optimizers in one operator, and GradScaler's kernels: what elements of some of their tensors
were before, and what they are."""

import torch

from .. import slices
from ..slices import Question

ADAMW = """op fused_adamw(p[i], w[i], m[i], v[i]; lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8,
               decay = 0.01, c1 = 1.0, c2 = 1.0, grad_scale = 1.0, sign = 1.0)
g[i]  = sign * w[i] / grad_scale
m2[i] = {m2}
v2[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i]
p2[i] = p[i] * (1 - lr * decay) - lr / c1 * m2[i] / (sqrt(v2[i]) / sqrt(c2) + eps)
return p2, m2, v2
"""

# The decay is part of the gradient, and so of both moments.
ADAM = """op fused_adam(p[i], w[i], m[i], v[i]; lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8,
              decay = 0.0, c1 = 1.0, c2 = 1.0, grad_scale = 1.0, sign = 1.0)
g[i]  = sign * w[i] / grad_scale + decay * p[i]
m2[i] = {m2}
v2[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i]
p2[i] = p[i] - lr / c1 * m2[i] / (sqrt(v2[i]) / sqrt(c2) + eps)
return p2, m2, v2
"""

# The mean of gradients is lerp(m, g, 1 - beta1), from the nearer end.
_NEAR, _FAR = "m[i] + (1 - beta1) * (g[i] - m[i])", "g[i] - beta1 * (g[i] - m[i])"

# An optimizer of one's own may take it as the documentation has it. Whether 1 - beta1 < 1 / 2: text.
EITHER = {near: f"either(beta1 * m[i] + (1 - beta1) * g[i], {text})"
          for near, text in ((True, _NEAR), (False, _FAR))}

SGD = """op fused_sgd(p[i], w[i], buf[i]; lr = 0.1, momentum = 0.9, decay = 0.0, damping = 0.0,
             nesterov = 0.0, grad_scale = 1.0, sign = 1.0)
g[i]    = sign * w[i] / grad_scale + decay * p[i]
buf2[i] = momentum * buf[i] + (1 - damping) * g[i]
p2[i]   = p[i] - lr * (nesterov * g[i] + select(nesterov > 0, momentum, 1) * buf2[i])
return p2, buf2
"""

SGD_PLAIN = """op fused_sgd_plain(p[i], w[i]; lr = 0.1, decay = 0.0, grad_scale = 1.0, sign = 1.0)
p2[i] = p[i] - lr * (sign * w[i] / grad_scale + decay * p[i])
return p2
"""

UNSCALE = """op unscale(g[i], r)
y[i] = g[i] * r
return y
"""


class _Tensors:
    """Elements of some tensors of each list, before and after."""

    def __init__(self, call, names):
        self.call, self.names = call, [name for name in names if call.args.get(name)]
        self.chosen = call.places(len(call.args["self"]), 4)
        self.where, self.before = [], []
        for i in self.chosen:
            tensors = [call.args[name][i] for name in self.names]
            where = call.chosen(tensors[0], values=False)
            self.where.append(where)
            self.before.append([slices.kept(t[where].reshape(-1)) for t in tensors])

    def each(self):
        """For each tensor: which one it is, what was, and what is."""
        for i, where, before in zip(self.chosen, self.where, self.before):
            after = [self.call.args[name][i][where].reshape(-1) for name in self.names]
            yield i, before, after


def _number(value, default=1.0):
    return default if value is None else float(value)


def _skipped(call):
    """Whether an infinity was found, so that nothing is done."""
    return bool(_number(call.args.get("found_inf"), 0.0))


def _same(taken):
    return [pair for _, before, after in taken.each() for pair in zip(before[:1], after[:1])]


def adam(text):
    def before(call):
        args = call.args
        if args.get("amsgrad") or not args["self"]:
            return None
        taken = _Tensors(call, ("self", "grads", "exp_avgs", "exp_avg_sqs"))
        scale, skipped = _number(args.get("grad_scale")), _skipped(call)

        def ask():
            questions = []
            beta1, beta2 = float(args["beta1"]), float(args["beta2"])
            for i, (p, w, m, v), (p2, _, m2, v2) in taken.each():
                step = float(args["state_steps"][i])
                options = {"lr": float(args["lr"]), "beta1": beta1, "beta2": beta2,
                           "eps": float(args["eps"]), "decay": float(args["weight_decay"]),
                           "c1": 1 - beta1 ** step, "c2": 1 - beta2 ** step, "grad_scale": scale,
                           "sign": -1.0 if args["maximize"] else 1.0}
                questions.append(Question(text.format(m2=_NEAR if 1 - beta1 < 0.5 else _FAR),
                                          {"p": p, "w": w, "m": m, "v": v},
                                          {"p2": p2, "m2": m2, "v2": v2}, options))
            return questions
        return (lambda: slices.Same(_same(taken))) if skipped else ask
    return before


def sgd(call):
    args = call.args
    if not args["self"]:
        return None
    momentum = float(args["momentum"])
    taken = _Tensors(call, ("self", "grads", "momentum_buffer_list"))
    scale, skipped = _number(args.get("grad_scale")), _skipped(call)

    def ask():
        questions = []
        common = {"lr": float(args["lr"]), "decay": float(args["weight_decay"]),
                  "grad_scale": scale, "sign": -1.0 if args["maximize"] else 1.0}
        for _, before, after in taken.each():
            inputs = dict(zip(("p", "w", "buf"), before))
            if not momentum or len(before) < 3:
                inputs.pop("buf", None)
                questions.append(Question(SGD_PLAIN, inputs, {"p2": after[0]}, common))
                continue
            options = {**common, "momentum": momentum, "damping": float(args["dampening"]),
                       "nesterov": 1.0 if args["nesterov"] else 0.0}
            if args["is_first_step"]:  # the buffer is the gradient
                inputs["buf"] = torch.zeros_like(inputs["buf"])
                options["damping"] = 0.0
            questions.append(Question(SGD, inputs, {"p2": after[0], "buf2": after[2]}, options))
        return questions
    return (lambda: slices.Same(_same(taken))) if skipped else ask


def unscale(call):
    """Gradients times the reciprocal of the scale, and whether any of them was infinite or NaN."""
    args = call.args
    taken = _Tensors(call, ("self",))
    found = args["found_inf"]
    was, factor = float(found), slices.kept(args["inv_scale"].reshape(()))
    bad = any(not bool(torch.isfinite(t).all()) for t in args["self"])

    def ask():
        if float(found) != (1.0 if bad else was):
            return slices.Same([(torch.full_like(found.reshape(1), 1.0 if bad else was),
                                 found.reshape(1))])
        if float(factor) == 1.0:  # then PyTorch leaves them alone, infinities and all
            return slices.Same([(before[0], after[0]) for _, before, after in taken.each()])
        return [Question(UNSCALE, {"g": before[0], "r": factor}, {"y": after[0]})
                for _, before, after in taken.each()]
    return ask


def update_scale(call):
    """The scale is one of three products, as the counter has it."""
    args = call.args
    scale, tracker = args["self"], args["growth_tracker"]
    was = scale.detach().clone()
    steps, found = int(tracker), float(args["found_inf"])

    def ask():
        want, counted = was, steps + 1
        if found:
            want, counted = was * args["scale_backoff_factor"], 0
        elif counted == args["growth_interval"]:
            grown = was * args["scale_growth_factor"]
            want, counted = grown if bool(torch.isfinite(grown).all()) else was, 0
        return slices.Same([(want.reshape(1), scale.reshape(1)),
                            (torch.tensor([float(counted)]), tracker.reshape(1).float())])
    return ask


BEFORE = {
    "_amp_foreach_non_finite_check_and_unscale_": unscale,
    "_amp_update_scale_": update_scale,
    "_fused_adam_": adam(ADAM),
    "_fused_adamw_": adam(ADAMW),
    "_fused_sgd_": sgd,
}
