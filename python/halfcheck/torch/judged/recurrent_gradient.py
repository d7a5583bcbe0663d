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


def _off_in_sum(sizes, matrix):
    """How far a product of a matrix with another is off, of which it has the magnitudes: terms that
    are added up in any order."""
    return (matrix.shape[0] + 1) * (_U * (sizes @ matrix.abs()) + _LEAST)


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
    takes them. What a time does not wait for is computed for all times at once."""

    def __init__(self, x, before, weights, cell, dy, dh, dc):
        hidden = cell.shape[-1]
        self.x, self.before, self.weights = x, before, weights
        read = torch.cat([x, before, torch.ones_like(x[..., :1]), torch.ones_like(x[..., :1])], -1)
        matrix = torch.cat([weights[0], weights[1], weights[2][:, None], weights[3][:, None]],
                           1).t()
        sums = _Near(read @ matrix, _off_in_sum(read.abs(), matrix))
        i, f, g, o = (act(_Near(*pair)) for act, *pair in zip(
            (_sigmoid, _sigmoid, _tanh, _sigmoid), sums.value.split(hidden, -1),
            sums.off.split(hidden, -1)))
        old, new = self._cells(cell, f, i * g)
        curve = _tanh(new)
        # a[t] is these times c[t], and the last one times h[t].
        self.by = [g * _sigmoid_slope(i), old * _sigmoid_slope(f), i * _tanh_slope(g),
                   curve * _sigmoid_slope(o)]
        self.three = torch.stack([part.value for part in self.by[:3]], 2)  # time, row, gate, unit
        self.forget, self.through = f, o * _tanh_slope(curve)
        self._backward(dy, dh, dc)

    @staticmethod
    def _cells(cell, forget, taken):
        """c[t] = f[t] c[t-1] + i[t] g[t], before and after each time, and how far off: as a product
        and a sum of _Near have it, whose factors are known for all times."""
        more, f = 1 + _U, forget.value
        by_size = more * (more * forget.off + _U * f)
        by_off, rest = more * more * forget.size(), more * (taken.off + _LEAST) + _LEAST
        values, offs = [cell], [torch.zeros_like(cell)]
        for t in range(len(f)):
            off = torch.addcmul(torch.addcmul(rest[t], by_off[t], offs[-1]), by_size[t],
                                values[-1].abs())
            values.append(torch.addcmul(taken.value[t], f[t], values[-1]))
            offs.append(off.add_(values[-1].abs(), alpha=_U))
        values, offs = torch.stack(values), torch.stack(offs)
        return _Near(values[:-1], offs[:-1]), _Near(values[1:], offs[1:])

    def _backward(self, dy, dh, dc):
        hs, cs, carried, back = [], [], [], []
        for t in reversed(range(len(dy))):
            h = dy[t] + dh
            c = torch.addcmul(dc, h, self.through.value[t])
            a = torch.cat([(c[:, None] * self.three[t]).flatten(1), h * self.by[3].value[t]], -1)
            hs.append(h), cs.append(c), carried.append(dc), back.append(a)
            dh, dc = a @ self.weights[1], c * self.forget.value[t]
        self.dh, self.dc = dh, dc
        h, c, dc, self.a = (torch.stack(part[::-1]) for part in (hs, cs, carried, back))
        # What each is off, from equal numbers before it.
        self.dh_off = _off_in_sum(self.a.abs(), self.weights[1])
        self.h_off = _U * h.abs()
        self.c_off = (_Near(dc) + _Near(h) * self.through).off
        self.dc_off = (_Near(c) * self.forget).off
        self.a_off = torch.cat([(_Near(factor) * part).off for factor, part in
                                zip((c, c, c, h), self.by)], -1)

    def off(self, begins):
        """How far results may be off, a number for each pair of a result and a row of the batch."""
        hidden, back, rows = self.forget.value.shape[2], self.weights[1].t(), begins.rows
        dh, dc = begins.ends["dh"], begins.ends["dc"]
        ahead = [torch.cat([own[:-1] + handed[1:], own[-1:]]) for own, handed in
                 ((self.h_off, self.dh_off), (self.c_off, self.dc_off))]  # what the next time reads
        factors = torch.cat([self.three.flatten(2), self.by[3].value, self.forget.value,
                             self.through.value, self.a_off, *ahead], 2)
        off = (dh.abs() * self.dh_off[0, rows]).sum(1) + (dc.abs() * self.dc_off[0, rows]).sum(1)
        for t in range(len(factors)):
            factor = factors[t, rows]
            three, last, forget, through, a_off, h_off, c_off = factor.split(
                [3 * hidden, *[hidden] * 3, 4 * hidden, hidden, hidden], 1)
            a = dh @ back
            a.view(-1).index_add_(0, begins.places, begins.numbers[t])
            for pair, derivatives in begins.first.get(t, ()):
                a[pair] += derivatives
            dc = (a[:, :3 * hidden] * three).view(-1, 3, hidden).sum(1).addcmul_(dc, forget)
            dh = torch.addcmul(dc * through, a[:, 3 * hidden:], last)
            off += a.abs_().mul_(a_off).sum(1) + (dc.abs() * c_off).addcmul_(dh.abs(), h_off).sum(1)
        return off


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
    _, batch, wide = layer.a.shape
    dx, dh, dc = dx[order], dh.reshape(-1, wide // 4), dc.reshape(-1, wide // 4)
    named = {"dx": dx, "dh": dh, "dc": dc, "dwx": dwx, "dwh": dwh, "db": db, "db2": db_too}
    if row is not None:
        rows = slice(row, row + 1)
        named = {"dx": dx[:, rows], "dh": dh[rows], "dc": dc[rows]}
    where = {name: unravel(call.places(got.numel(), _ELEMENTS, got), got.shape)
             for name, got in named.items()}
    begins = _Begins(layer, where)
    off = layer.off(begins)
    for name, got in named.items():
        value, terms = begins.found[name]
        pairs = off[begins.pairs[name]]
        pairs = pairs.view(-1, len(value)).sum(0)  # over the rows of the batch
        # Its terms are added up in any order.
        beyond = pairs * 1.01 + (terms != 0).sum(0) * (_U * terms.abs().sum(0) + _LEAST)
        yield Question(RESULT.format(name), {"low": value - beyond, "high": value + beyond},
                       {name: got[where[name]]})


class _Begins:
    """What results are made of directly: a sum of a's, with their factors, or dh or dc before the
    first time. Each pair of a result and a row of the batch has derivatives of its own. Gradients
    of weights are sums over all rows; the other results are of one."""

    def __init__(self, layer, where):
        a, batch, self.wide = layer.a, layer.a.shape[1], layer.a.shape[2]
        self.found, self.pairs, self.rows, self.count = {}, {}, [], 0
        time, row, feature = where["dx"]
        columns = layer.weights[0].t()[feature]
        terms = (columns * a[time, row]).t()
        self._take("dx", terms.sum(0), terms, row)
        self.first = {}  # of each time, pairs whose result is made of that time's a
        for pair, t in enumerate(time.tolist()):
            self.first.setdefault(t, []).append((pair, columns[pair]))
        for name, state in (("dh", layer.dh), ("dc", layer.dc)):
            self._take(name, state[where[name]], state.new_zeros(0, len(where[name][0])),
                       where[name][0])
        # The places of a whose factors are numbers[t], a pair, and these.
        places, numbers = [a.new_zeros(0, dtype=torch.int64)], [a.new_zeros(len(a), 0)]
        for name, read in (("dwx", layer.x), ("dwh", layer.before), ("db", None), ("db2", None)):
            if name not in where:
                continue
            units = where[name][0]
            factor = a.new_ones(*a.shape[:2], len(units)) if read is None else \
                read[:, :, where[name][1]]
            terms = (factor * a[:, :, units]).flatten(0, 1)
            self._take(name, terms.sum(0), terms,
                       torch.arange(batch).repeat_interleave(len(units)))
            places.append(torch.arange(self.count)[self.pairs[name]] * self.wide +
                          units.repeat(batch))
            numbers.append(factor.flatten(1))
        self.places, self.numbers = torch.cat(places), torch.cat(numbers, 1)
        self.rows = torch.cat(self.rows)
        self.ends = {name: a.new_zeros(self.count, self.wide // 4) for name in ("dh", "dc")}
        for name, one in self.ends.items():
            one[self.pairs[name]][torch.arange(len(where[name][0])), where[name][1]] = 1

    def _take(self, name, value, terms, rows):
        self.found[name] = value, terms
        self.pairs[name] = slice(self.count, self.count + len(rows))
        self.rows.append(rows)
        self.count += len(rows)


STRUCTURED = {"mkldnn_rnn_layer_backward": gradient}
