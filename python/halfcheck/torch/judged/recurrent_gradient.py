"""The gradient of an LSTM in one operator. What a time hands to the one before it is kept nowhere,
and so the layer's own equations are computed once more, in fp64; with them goes how far a right
implementation in fp32 may be off.

Given what the forward pass has returned, its gates are sums and functions of known numbers, each
unit's cell is a recurrence of its own, and the rest is linear:

    h[t] = dy[t] + dh[t]            c[t] = dc[t] + h[t] o (1 - tanh(cell)^2)
    a[t] = (c g i (1 - i), c cell' f (1 - f), c i (1 - g^2), h tanh(cell) o (1 - o))
    dh[t-1] = a[t] W                dc[t-1] = c[t] f

A result R is a sum of a's, or dh or dc before the first time. Each number above is off by at most
some e of its own, from equal numbers before it; what that does to R is e times R's derivative by
that number, and the derivatives of one R follow the same recurrence, forward in time. So the bound
is the sum of |derivative| e. Products of two e's are left out: they are smaller than the bound by
2^-20 or so, for which it is widened by a hundredth."""

import torch

from ..slices import Question, TooLong, unravel

RESULT = """op lstm_gradient(low[n], high[n])
{0}[n] = either(low[n], high[n])
return {0}
"""

_LSTM = 2  # mkldnn_rnn_layer's `mode`
_U, _LEAST = 2.0**-24 * 1.001, 2.0**-149  # fp32's unit, and its least number
_MOST = 1 << 22  # multiplications of a recurrence: with the whole batch, and a quarter of one row's
_ELEMENTS = 4  # of each result


class _Near:
    """Numbers, and how far off a right implementation's may be."""

    def __init__(self, value, off=None):
        self.value = value
        self.off = torch.zeros_like(value) if off is None else off

    def size(self):
        return self.value.abs() + self.off

    def rounded(self, value, off):
        return _Near(value, off + _U * (value.abs() + off) + _LEAST)

    def __add__(self, other):
        return self.rounded(self.value + other.value, self.off + other.off)

    def __mul__(self, other):
        value = self.value * other.value
        return self.rounded(value, self.size() * other.size() - value.abs())

    def times(self, matrix):
        """A product with a matrix that is known, added up in any order."""
        terms, sizes = matrix.shape[0] + 1, self.size() @ matrix.abs()
        return _Near(self.value @ matrix,
                     self.off @ matrix.abs() + terms * (_U * sizes + _LEAST))

    def at(self, index):
        return _Near(self.value[index], self.off[index])


def _sigmoid(x):
    """1 / (1 + exp(-x)): 4 u of the exponential, and two roundings. Its slope changes by less than
    0.1 a unit of x, and tanh's by less than 0.77."""
    s = torch.sigmoid(x.value)
    return _Near(s, (s * (1 - s) + 0.1 * x.off) * x.off + 6 * _U * s + _LEAST)


def _tanh(x):
    t = torch.tanh(x.value)
    return _Near(t, (1 - t * t + 0.77 * x.off) * x.off + 4 * _U * t.abs() + _LEAST)


def _sigmoid_slope(s):
    """s (1 - s), or s - s^2."""
    return _Near(s.value * (1 - s.value),
                 s.off * ((1 - 2 * s.value).abs() + s.off) + 3 * _U * s.size())


def _tanh_slope(t):
    """1 - t^2, or (1 - t)(1 + t)."""
    return _Near(1 - t.value**2, t.off * (2 * t.value.abs() + t.off) + 3 * _U)


class _Layer:
    """The equations above, of some rows of the batch. Times are in the order in which the layer
    takes them."""

    def __init__(self, x, before, weights, cell, dy, dh, dc):
        hidden = cell.shape[-1]
        self.x, self.before, self.weights = x, before, weights
        read = torch.cat([x, before, torch.ones_like(x[..., :1]), torch.ones_like(x[..., :1])], -1)
        sums = _Near(read).times(torch.cat([weights[0], weights[1], weights[2][:, None],
                                            weights[3][:, None]], 1).t())
        i, f, g, o = (act(_Near(*pair)) for act, *pair in zip(
            (_sigmoid, _sigmoid, _tanh, _sigmoid), sums.value.split(hidden, -1),
            sums.off.split(hidden, -1)))
        cells = [_Near(cell)]
        for t in range(len(x)):
            cells.append(f.at(t) * cells[-1] + i.at(t) * g.at(t))
        old, new = (_Near(torch.stack([c.value for c in part]), torch.stack([c.off for c in part]))
                    for part in (cells[:-1], cells[1:]))
        curve = _tanh(new)
        # a[t] is these times c[t], and the last one times h[t].
        self.by = [g * _sigmoid_slope(i), old * _sigmoid_slope(f), i * _tanh_slope(g),
                   curve * _sigmoid_slope(o)]
        self.forget, self.through = f, o * _tanh_slope(curve)
        self._backward(dy, dh, dc)

    def _backward(self, dy, dh, dc):
        hs, cs, carried, back = [], [], [], []
        by = torch.stack([part.value for part in self.by[:3]], 2)  # time, row, gate, unit
        for t in reversed(range(len(dy))):
            h = dy[t] + dh
            c = dc + h * self.through.value[t]
            a = torch.cat([(c[:, None] * by[t]).flatten(1), h * self.by[3].value[t]], -1)
            hs.append(h), cs.append(c), carried.append(dc), back.append(a)
            dh, dc = a @ self.weights[1], c * self.forget.value[t]
        self.dh, self.dc = dh, dc
        h, c, dc, self.a = (torch.stack(part[::-1]) for part in (hs, cs, carried, back))
        # What each is off, from equal numbers before it.
        sizes = _Near(self.a).times(self.weights[1])
        self.dh_off = sizes.off
        self.h_off = _U * h.abs()
        self.c_off = (_Near(dc) + _Near(h) * self.through).off
        self.dc_off = (_Near(c) * self.forget).off
        self.a_off = torch.cat([(_Near(factor) * part).off for factor, part in
                                zip((c, c, c, h), self.by)], -1)

    def sums(self, direct, dh, dc):
        """Results, and how far they may be off: direct(t) has their derivatives by a[t], and dh and
        dc those by these two before the first time."""
        value = (dh * self.dh).sum((1, 2)) + (dc * self.dc).sum((1, 2))
        by, size, off, count = [part.value for part in self.by], 0, 0, 0
        for t in range(len(self.a)):
            own = direct(t)
            terms = own * self.a[t]
            value, size = value + terms.sum((1, 2)), size + terms.abs().sum((1, 2))
            count = count + (own != 0).sum((1, 2))
            off = off + (dh.abs() * self.dh_off[t]).sum((1, 2)) + \
                (dc.abs() * self.dc_off[t]).sum((1, 2))
            a = own + dh @ self.weights[1].t()
            parts = a.split(a.shape[-1] // 4, -1)
            dc = sum(part * factor[t] for part, factor in zip(parts, by[:3])) + \
                dc * self.forget.value[t]
            dh = parts[3] * by[3][t] + dc * self.through.value[t]
            off = off + (a.abs() * self.a_off[t]).sum((1, 2)) + \
                (dc.abs() * self.c_off[t]).sum((1, 2)) + (dh.abs() * self.h_off[t]).sum((1, 2))
        return value, off * 1.01 + count * (_U * size + _LEAST)  # terms, added up in any order


def gradient(call):
    """mkldnn_rnn_layer_backward: one layer in one direction, in fp32."""
    args = call.args
    x, hidden = args["input"], args["hidden_size"]
    if args["mode"] != _LSTM or args["batch_sizes"] or x.dtype != torch.float32:
        return None
    times, batch, inputs = x.shape
    one = 4 * times * hidden * (inputs + 2 * hidden)
    if one > 4 * _MOST:
        raise TooLong(f"its recurrence has {one} multiplications for one row of the batch")
    whole = one * batch <= _MOST
    if not whole:
        call.beside = f"the gradients of its weights have {one * batch} multiplications"
    row = call.random.randrange(batch)
    rows = slice(None) if whole else slice(row, row + 1)
    order = list(range(times))
    if args["reverse"]:
        order.reverse()
    wide = lambda tensor: tensor.detach().double()
    weights = [wide(args[name]) for name in ("weight1", "weight2", "weight3", "weight4")]
    if not args["has_biases"]:
        weights[2:] = [weights[0].new_zeros(4 * hidden)] * 2
    state = lambda name: wide(args[name]).reshape(-1, hidden)[rows]
    given = lambda name: state(name) if args[name] is not None else torch.zeros_like(state("hx_"))
    y = wide(args["output"])[order][:, rows]
    dy = wide(args["grad_output"])[order][:, rows] if args["grad_output"] is not None else \
        torch.zeros_like(y)
    layer = _Layer(wide(x)[order][:, rows], torch.cat([state("hx_")[None], y[:-1]]), weights,
                   state("cx_tmp"), dy, given("grad_hy"), given("grad_cy"))
    return list(_asked(call, layer, order, None if whole else row))


def _asked(call, layer, order, row):
    """Questions of some elements of each result."""
    dx, dwx, dwh, db, db_too, dh, dc = call.results
    times, batch, wide = layer.a.shape
    dx, dh, dc = dx[order], dh.reshape(-1, wide // 4), dc.reshape(-1, wide // 4)
    named = {"dx": dx, "dh": dh, "dc": dc, "dwx": dwx, "dwh": dwh, "db": db, "db2": db_too}
    if row is not None:
        rows = slice(row, row + 1)
        named = {"dx": dx[:, rows], "dh": dh[rows], "dc": dc[rows]}
    where = {name: unravel(call.places(got.numel(), _ELEMENTS, got), got.shape)
             for name, got in named.items()}
    firsts, count = {}, 0
    for name, places in where.items():
        firsts[name] = torch.arange(count, count + len(places[0]))
        count += len(places[0])
    ends = {name: layer.a.new_zeros(count, batch, wide // 4) for name in ("dh", "dc")}
    for name, one in ends.items():
        one[(firsts[name], *where[name])] = 1
    columns = layer.weights[0].t()[where["dx"][2]]

    def direct(t):
        one = layer.a.new_zeros(count, batch, wide)
        mine = (where["dx"][0] == t).nonzero()[:, 0]
        one[firsts["dx"][mine], where["dx"][1][mine]] = columns[mine]
        for name, read in (("dwx", layer.x), ("dwh", layer.before)):
            if name in where:
                units, places = where[name]
                one[firsts[name], :, units] = read[t][:, places].t()
        for name in ("db", "db2"):
            if name in where:
                one[firsts[name], :, where[name][0]] = 1
        return one

    value, off = layer.sums(direct, ends["dh"], ends["dc"])
    for name, got in named.items():
        at = firsts[name]
        yield Question(RESULT.format(name), {"low": (value - off)[at], "high": (value + off)[at]},
                       {name: got[where[name]]})


STRUCTURED = {"mkldnn_rnn_layer_backward": gradient}
