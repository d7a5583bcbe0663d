"""Group norm, some groups of some images, and softmax of rows that may be masked."""

import torch

from .. import operators
from ..slices import Question, along

# PyTorch's kernels for processors: x * a + (b - mean * a).
FORWARD = """op group_norm(x[i, c, l], w[i, c], b[i, c]; eps = 1e-5)
mu[i]      = mean(c, l: x[i,c,l])
v[i]       = mean(c, l: (x[i,c,l] - mu[i])^2)
rstd[i]    = 1 / sqrt(v[i] + eps)
a[i, c]    = rstd[i] * w[i,c]
d[i, c]    = b[i,c] - mu[i] * a[i,c]
y[i, c, l] = x[i,c,l] * a[i,c] + d[i,c]
return y, mu, rstd
"""

# From the mean and the deviation that the forward pass has kept: x * p + q, as above.
BACKWARD = """op group_norm_backward(dy[i, c, l], x[i, c, l], w[i, c], mu[i], rstd[i])
ga[i]       = mean(c, l: dy[i,c,l] * w[i,c])
gx[i]       = mean(c, l: dy[i,c,l] * w[i,c] * x[i,c,l])
p[i]        = (ga[i] * mu[i] - gx[i]) * rstd[i] * rstd[i] * rstd[i]
q[i]        = -p[i] * mu[i] - ga[i] * rstd[i]
dx[i, c, l] = dy[i,c,l] * rstd[i] * w[i,c] + (x[i,c,l] * p[i] + q[i])
return dx
"""

# (sum of dy x - mean * sum of dy) * rstd of each image.
WEIGHTS = """op group_norm_backward_weights(dy[n, c, l], x[n, c, l], mu[n, c], rstd[n, c])
s[n, c]  = sum(l: dy[n,c,l] * x[n,c,l])
d[n, c]  = sum(l: dy[n,c,l])
dw[c]    = sum(n: (s[n,c] - d[n,c] * mu[n,c]) * rstd[n,c])
db[c]    = sum(n, l: dy[n,c,l])
return dw, db
"""

# As softmax, but a row of nothing but masked places is 0.
SAFE_SOFTMAX = operators.SOFTMAX.replace("nan", "0")


def _groups(tensor, groups):
    """[image and group, channel of it, place]."""
    return tensor.reshape(tensor.shape[0] * groups, tensor.shape[1] // groups, -1)


def _weights(tensor, chosen, groups, like, default):
    """Those of the chosen groups' channels."""
    if tensor is None:
        return like.new_full(like.shape[:2], default)
    return tensor.reshape(groups, -1)[chosen % groups]


def group_norm(call):
    args, groups = call.args, call.args["group"]
    x, (y, mean, rstd) = _groups(args["input"], groups), call.results
    chosen = torch.tensor(call.places(len(x), min(4, call.elements(x[0].numel()))))
    taken = x[chosen]
    return [Question(FORWARD, {"x": taken,
                               "w": _weights(args.get("weight"), chosen, groups, taken, 1.0),
                               "b": _weights(args.get("bias"), chosen, groups, taken, 0.0)},
                     {"y": _groups(y, groups)[chosen], "mu": mean.reshape(-1)[chosen],
                      "rstd": rstd.reshape(-1)[chosen]}, {"eps": float(args["eps"])})]


def group_norm_backward(call):
    args, groups = call.args, call.args["group"]
    dx, dw, db = call.results
    x, dy = args["input"], args["grad_out"]
    mean, rstd = args["mean"].reshape(-1), args["rstd"].reshape(-1)
    questions = []
    if dx is not None:
        rows = _groups(x, groups)
        chosen = torch.tensor(call.places(len(rows), min(4, call.elements(rows[0].numel()))))
        taken = rows[chosen]
        questions.append(Question(
            BACKWARD, {"dy": _groups(dy, groups)[chosen], "x": taken, "mu": mean[chosen],
                       "rstd": rstd[chosen],
                       "w": _weights(args.get("weight"), chosen, groups, taken, 1.0)},
            {"dx": _groups(dx, groups)[chosen]}))
    if dw is not None or db is not None:
        count = x.shape[1]
        chosen = torch.tensor(call.places(count, min(8, call.elements(x.numel() // count))))
        of = chosen // (count // groups)
        images = (len(x), groups)
        questions.append(Question(
            WEIGHTS, {"dy": dy.reshape(*dy.shape[:2], -1)[:, chosen],
                      "x": x.reshape(*x.shape[:2], -1)[:, chosen],
                      "mu": mean.reshape(images)[:, of], "rstd": rstd.reshape(images)[:, of]},
            {name: value[chosen] for name, value in (("dw", dw), ("db", db))
             if value is not None}))
    return questions


STRUCTURED = {
    "native_group_norm": group_norm,
    "native_group_norm_backward": group_norm_backward,
    "_safe_softmax": along(SAFE_SOFTMAX, {"x": "self"}, "y"),
}
