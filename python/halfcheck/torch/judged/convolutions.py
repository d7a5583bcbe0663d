"""Convolutions, plain and transposed, forward and backward: chosen elements as sums of products."""

import math

import torch

from .. import operators
from ..slices import Question


class Window:
    """How a convolution goes over its images: along each axis, for places of a result and taps of
    the filter, where they meet in the image; -1 beside it."""

    def __init__(self, args):
        self.kernel = args["weight"].shape[2:]
        stride, padding, dilation = (
            list(args[name]) * (len(self.kernel) if len(args[name]) == 1 else 1)
            for name in ("stride", "padding", "dilation"))
        self.axes = list(zip(stride, padding, dilation))
        self.groups = args["groups"]

    def taps(self):
        return [torch.arange(size)[None] for size in self.kernel]

    def below(self, places, taps, extents):
        """The place in the image that a tap has under a place of the result."""
        found = []
        for (stride, padding, dilation), place, tap, extent in zip(self.axes, places, taps,
                                                                   extents):
            at = place * stride - padding + tap * dilation
            found.append(torch.where((at >= 0) & (at < extent), at, -1))
        return found

    def above(self, places, taps, extents):
        """The place of the result whose tap lies on a place of the image."""
        found = []
        for (stride, padding, dilation), place, tap, extent in zip(self.axes, places, taps,
                                                                   extents):
            at = place + padding - tap * dilation
            inside = (at % stride == 0) & (at >= 0) & (at < extent * stride)
            found.append(torch.where(inside, torch.div(at, stride, rounding_mode="floor"), -1))
        return found


def _read(tensor, images, channels, places):
    """tensor[images, channels, places], [row, further, ...] each, for each row one after the other;
    0 beside. places: for each axis [row, place]."""
    count = len(places)
    index, inside = [], torch.ones(1, dtype=torch.bool)
    for axis, place in enumerate(places):
        place = place.view(len(place), *[1] * (axis + 1), -1, *[1] * (count - axis - 1))
        index.append(place.clamp(min=0))
        inside = inside & (place >= 0)
    wide = [part.view(*part.shape, *[1] * count) for part in (images, channels)]
    values = tensor[(*wide, *index)]
    return torch.where(inside, values, values.new_zeros(())).reshape(len(values), -1)


def _images(window, tensor, weight, where):
    """For each chosen y[n, k, o] of a convolution its terms: x[n, c, the place below r] and
    w[k, c, r], for all channels c and taps r."""
    each, filters = weight.shape[1], weight.shape[0] // window.groups
    image, filter_, *place = (index[:, None] for index in where)
    channels = torch.div(filter_, filters, rounding_mode="floor") * each + torch.arange(each)
    below = window.below(place, window.taps(), tensor.shape[2:])
    return _read(tensor, image, channels, below), weight[where[1]].reshape(len(image), -1)


def _back(window, tensor, weight, where):
    """For each chosen x[n, c, h] those of its gradient: dy[n, k, o] and w[k, c, r] for all filters
    k and taps r, o being where the tap r of a window lies on h."""
    each = weight.shape[0] // window.groups
    image, channel, *place = (index[:, None] for index in where)
    group = torch.div(channel, weight.shape[1], rounding_mode="floor")
    filters = group * each + torch.arange(each)
    above = window.above(place, window.taps(), tensor.shape[2:])
    return (_read(tensor, image, filters, above),
            weight[filters, channel % weight.shape[1]].reshape(len(image), -1))


def _filters(window, x, dy, dw, where):
    """For each chosen dw[k, c, r]: dy[n, k, o] and x[n, c, the place below r], for all images n and
    places o."""
    each = dw.shape[0] // window.groups
    filter_, channel, *tap = (index[:, None] for index in where)
    channels = torch.div(filter_, each, rounding_mode="floor") * dw.shape[1] + channel
    places = [torch.arange(extent)[None] for extent in dy.shape[2:]]
    below = window.below(places, tap, x.shape[2:])
    return (dy.transpose(0, 1)[where[0]].reshape(len(filter_), -1),
            _read(x, torch.arange(len(x))[None], channels, below))


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
