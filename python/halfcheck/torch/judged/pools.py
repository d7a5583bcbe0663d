"""Pools of images: the largest number below a window, whose bits and place are held, and means."""

import itertools
import math

import torch

from ..slices import Question, unravel
from .indexing import sums

# Each element has its own number of terms, and its own divisor.
MEANS = """op window_mean(x[i, k], n[i])
s[i] = sum(k: x[i,k])
y[i] = s[i] / n[i]
return y
"""

QUOTIENTS = """op quotient_sum(x[i, k], n[i, k])
y[i] = sum(k: x[i,k] / n[i,k])
return y
"""


def _list(value, count, default=None):
    value = default if value in ([], None, ()) else value
    value = [value] if isinstance(value, int) else list(value)
    return value * count if len(value) == 1 else value


class _Axis:
    """Along one axis: for each place of the result those in the image below its window, and how
    many of them a mean counts."""

    def __init__(self, below, counts=None):
        self.below = below
        self.counts = counts or [len(places) for places in below]

    def above(self, place):
        """The places of the result whose windows have this place of the image."""
        return [i for i, places in enumerate(self.below) if place in places]


def _windows(args, large, small):
    """An axis each of a pool with a kernel."""
    count, found = len(large), []
    kernel = _list(args["kernel_size"], count)
    for extent, results, size, stride, pad, dilation in zip(
            large, small, kernel, _list(args.get("stride"), count, kernel),
            _list(args.get("padding"), count, 0), _list(args.get("dilation"), count, 1)):
        below = [[at for at in range(p * stride - pad, p * stride - pad + size * dilation, dilation)
                  if 0 <= at < extent] for p in range(results)]
        padded = [min(p * stride - pad + size, extent + pad) - (p * stride - pad)
                  for p in range(results)]
        found.append(_Axis(below, padded if args.get("count_include_pad") else None))
    return found


def _adaptive(_, large, small):
    """Those of an adaptive pool."""
    return [_Axis([range(p * a // b, -(-(p + 1) * a // b)) for p in range(b)])
            for a, b in zip(large, small)]


def _planes(tensor, axes):
    return tensor.reshape(-1, *tensor.shape[tensor.dim() - axes:])


def _cut(image, below):
    for axis, places in enumerate(below):
        image = image.index_select(axis, torch.tensor(list(places), dtype=torch.int64))
    return image


def _places(where):
    return zip(*(part.tolist() for part in where))


def _max_pool(axes):
    """The largest number of each window, and it stands where the index says, within the window."""
    def gather(call):
        x, y, index = (_planes(t, axes) for t in (call.args["self"], *call.results[:2]))
        windows = _windows(call.args, x.shape[1:], y.shape[1:])
        where = call.chosen(y, 9)
        want, told = [], []
        for n, *place in _places(where):
            below = [axis.below[p] for axis, p in zip(windows, place)]
            want.append(_cut(x[n], below).amax())
            at = int(index[(n, *place)])
            inside = all(int(part) in places for part, places in
                         zip(unravel([at], x.shape[1:]), below))
            told.append(x[n].reshape(-1)[at] if inside else -want[-1] - 1)
        want, told = torch.stack(want), torch.stack(told)
        return [(want, y[where]), (torch.where(want.isnan(), want, told), y[where])]
    return gather


def _max_pool_backward(axes):
    """The sum of the gradients of the windows that have chosen a place."""
    def gather(call):
        dx = call.results[0]
        planes = dx.reshape(-1, math.prod(dx.shape[dx.dim() - axes:]))
        dy, index = (call.args[name].reshape(len(planes), -1)
                     for name in ("grad_output", "indices"))
        where = call.chosen(planes, 4)
        return [sums([dy[n][index[n] == place] for n, place in _places(where)], planes[where])]
    return gather


def _means(axes, made):
    def gather(call):
        x, y = (_planes(t, axes) for t in (call.args["self"], call.results[0]))
        windows = made(call.args, x.shape[1:], y.shape[1:])
        where = call.chosen(y, math.prod(max(map(len, axis.below)) for axis in windows))
        rows, counts = [], []
        for n, *place in _places(where):
            rows.append(_cut(x[n], [a.below[p] for a, p in zip(windows, place)]).reshape(-1))
            counts.append(call.args.get("divisor_override") or
                          math.prod(a.counts[p] for a, p in zip(windows, place)))
        wide = x.new_zeros(len(rows), max(map(len, rows)))
        for row, values in zip(wide, rows):
            row[:len(values)] = values
        return [Question(MEANS, {"x": wide, "n": torch.tensor(counts, dtype=torch.float32)},
                         {"y": y[where]})]
    return gather


def _means_backward(axes, made):
    """Each window hands an equal share to its places."""
    def gather(call):
        dx, dy = (_planes(t, axes) for t in (call.results[0], call.args["grad_output"]))
        windows = made(call.args, dx.shape[1:], dy.shape[1:])
        where = call.chosen(dx, 4)
        rows, divisors = [], []
        for n, *at in _places(where):
            above = list(itertools.product(*(a.above(p) for a, p in zip(windows, at))))
            rows.append([dy[(n, *place)] for place in above])
            divisors.append([float(call.args.get("divisor_override") or
                                   math.prod(a.counts[p] for a, p in zip(windows, place)))
                             for place in above])
        longest = max(1, *map(len, rows))
        call.elements(longest)
        wide, counts = dx.new_zeros(len(rows), longest), torch.ones(len(rows), longest)
        for i, (row, divisor) in enumerate(zip(rows, divisors)):
            if row:
                wide[i, :len(row)], counts[i, :len(row)] = torch.stack(row), torch.tensor(divisor)
        return [Question(QUOTIENTS, {"x": wide, "n": counts}, {"y": dx[where]})]
    return gather


STRUCTURED = {
    **{f"_adaptive_avg_pool{n}d": _means(n, _adaptive) for n in (2, 3)},
    **{f"_adaptive_avg_pool{n}d_backward": _means_backward(n, _adaptive) for n in (2, 3)},
    **{f"avg_pool{n}d": _means(n, _windows) for n in (2, 3)},
    **{f"avg_pool{n}d_backward": _means_backward(n, _windows) for n in (2, 3)},
    **{f"max_pool{n}d_with_indices_backward": _max_pool_backward(n) for n in (2, 3)},
}

MOVES = {f"max_pool{n}d_with_indices": _max_pool(n) for n in (2, 3)}
