"""Convolutions, plain and transposed, forward and backward: chosen elements as sums of products."""

import math

import torch

from .. import operators
from ..slices import Question


class Window:
    """How a convolution goes over its images."""

    def __init__(self, args):
        weight = args["weight"]
        self.kernel = weight.shape[2:]
        self.stride, self.padding, self.dilation = (
            list(args[name]) * (len(self.kernel) if len(args[name]) == 1 else 1)
            for name in ("stride", "padding", "dilation"))
        self.groups = args["groups"]

    def taps(self, place, extents):
        """For each axis the pairs of a tap of the filter and the place in the image below it."""
        return [[(tap, start) for tap in range(size)
                 for start in [where * stride - padding + tap * dilation] if 0 <= start < extent]
                for where, extent, size, stride, padding, dilation in
                zip(place, extents, self.kernel, self.stride, self.padding, self.dilation)]


def patch(tensor, taps, side, kernel):
    """tensor[..., places of taps] of one image or filter, as large as the filter, and 0 beside."""
    whole = tensor.new_zeros(tensor.shape[0], *kernel)
    for axis, pairs in enumerate(taps):
        tensor = tensor.index_select(axis + 1, torch.tensor([pair[side] for pair in pairs],
                                                            dtype=torch.int64))
    whole[(slice(None), *torch.meshgrid(*[torch.tensor([pair[0] for pair in pairs],
                                                       dtype=torch.int64) for pairs in taps],
                                        indexing="ij"))] = tensor
    return whole.reshape(-1)


def _images(window, tensor, weight, where):
    """For each chosen y[n, k, o] of a convolution its terms: x[n, c, the place below r] and
    w[k, c, r], for all channels c and taps r."""
    each, filters = weight.shape[1], weight.shape[0] // window.groups
    rows = [patch(tensor[image, filter_ // filters * each:(filter_ // filters + 1) * each],
                  window.taps(place, tensor.shape[2:]), 1, window.kernel)
            for image, filter_, *place in zip(*(index.tolist() for index in where))]
    return torch.stack(rows), weight[where[1]].reshape(len(rows), -1)


def _back(window, tensor, weight, where):
    """For each chosen x[n, c, h] those of its gradient: dy[n, k, o] and w[k, c, r] for all filters k
    and taps r, o being where the tap r of a window lies on h."""
    each = weight.shape[0] // window.groups
    rows, columns = [], []
    for image, channel, *place in zip(*(index.tolist() for index in where)):
        first = channel // weight.shape[1] * each
        taps = [[(tap, (at + padding - tap * dilation) // stride)
                 for tap in range(size)
                 if (at + padding - tap * dilation) % stride == 0
                 and 0 <= (at + padding - tap * dilation) // stride < extent]
                for at, extent, size, stride, padding, dilation in
                zip(place, tensor.shape[2:], window.kernel, window.stride, window.padding,
                    window.dilation)]
        rows.append(patch(tensor[image, first:first + each], taps, 1, window.kernel))
        columns.append(weight[first:first + each, channel % weight.shape[1]].reshape(-1))
    return torch.stack(rows), torch.stack(columns)


def _filters(window, x, dy, dw, where):
    """For each chosen dw[k, c, r]: dy[n, k, o] and x[n, c, the place below r], for all images n and
    places o."""
    each = dw.shape[0] // window.groups
    rows, columns = [], []
    for filter_, channel, *tap in zip(*(index.tolist() for index in where)):
        image = x[:, filter_ // each * dw.shape[1] + channel]
        below = torch.zeros_like(dy[:, filter_], dtype=x.dtype)
        target = below
        for axis, (r, out, extent, stride, padding, dilation) in enumerate(
                zip(tap, dy.shape[2:], x.shape[2:], window.stride, window.padding,
                    window.dilation)):
            inside = [(o, o * stride - padding + r * dilation) for o in range(out)]
            inside = [pair for pair in inside if 0 <= pair[1] < extent]
            first = inside[0][0] if inside else 0
            target = target.narrow(axis + 1, first, len(inside))
            image = image.index_select(axis + 1, torch.tensor([pair[1] for pair in inside],
                                                              dtype=torch.int64))
        target.copy_(image)
        rows.append(dy[:, filter_].reshape(-1))
        columns.append(below.reshape(-1))
    return torch.stack(rows), torch.stack(columns)


def _question(terms, y, where, bias=None):
    inputs = dict(zip("ab", terms))
    if bias is None:
        return Question(operators.DOT, inputs, {"y": y[where]})
    return Question(operators.DOT_ADDED, {**inputs, "c": bias[where[1]]}, {"y": y[where]})


def convolution(call):
    """A transposed one is the gradient of a plain one by its image."""
    args, y = call.args, call.results[0]
    x, weight, window = args["input"], args["weight"], Window(args)
    if args["transposed"]:
        where = call.chosen(y, weight.shape[0] // window.groups * math.prod(window.kernel))
        return [_question(_back(window, x, weight, where), y, where, args.get("bias"))]
    where = call.chosen(y, weight[0].numel())
    return [_question(_images(window, x, weight, where), y, where, args.get("bias"))]


def convolution_backward(call):
    args = call.args
    x, weight, dy, window = args["input"], args["weight"], args["grad_output"], Window(args)
    dx, dw, db = call.results
    small, large = (x, dy) if args["transposed"] else (dy, x)  # how the window goes over them
    questions = []
    if dx is not None:
        terms = weight[0].numel() if args["transposed"] else \
            weight.shape[0] // window.groups * math.prod(window.kernel)
        where = call.chosen(dx, terms)
        made = (_images if args["transposed"] else _back)(window, dy, weight, where)
        questions.append(_question(made, dx, where))
    if dw is not None:
        where = call.chosen(dw, dy.shape[0] * math.prod(small.shape[2:]))
        questions.append(_question(_filters(window, large, small, dw, where), dw, where))
    if db is not None:
        rows = dy.transpose(0, 1).reshape(len(db), -1)
        where = call.chosen(db, rows.shape[1])
        questions.append(Question(operators.SUM, {"x": rows[where]}, {"y": db[where]}))
    return questions


STRUCTURED = {
    "convolution": convolution,
    "convolution_backward": convolution_backward,
}
