"""What gathers, scatters, chooses and resamples. Where it only moves numbers, bits are held; where
several meet in one place, their sum is judged."""

import math

import torch

from .. import slices
from ..slices import Question, unravel

# Terms that have the number of the element that they belong to. The number that they are added to
# is one of them, and is not scaled.
SUMS = """op indexed_sum(x[n], of[n]: index, scaled[n]: index; rows = 1, alpha = 1.0)
axis i = rows
y[i] = sum(n: select(scaled[n] != 0, alpha * x[n], x[n]) where of[n] == i)
return y
"""

_TARGETS = 16


def sums(terms, results, added=None, alpha=1.0):
    """A question on results of which each is a sum of the terms, one tensor a result."""
    added = [] if added is None else [part.reshape(1) for part in added]
    parts = [*(part.reshape(-1) for part in terms), *added]
    x = torch.cat(parts)
    of = torch.cat([torch.full((part.numel(),), i % len(results)) for i, part in enumerate(parts)])
    scaled = torch.ones(len(x), dtype=torch.int64)
    if added:
        scaled[-len(added):] = 0
    if not len(x):  # nothing is added to any
        x, of, scaled = results.new_zeros(1), torch.tensor([0]), torch.tensor([0])
    return Question(SUMS, {"x": x, "of": of, "scaled": scaled}, {"y": results},
                    {"rows": len(results), "alpha": float(alpha)})


class _Indexed:
    """tensor[indices], indices having None for a whole axis, as ATen has them."""

    def __init__(self, shape, indices):
        full, axes, axis = [], [], 0
        for index in indices:
            if index is None:
                axis += 1
            elif index.dtype in (torch.bool, torch.uint8):
                for column in index.nonzero().t():
                    full.append(column)
                    axes.append(axis)
                    axis += 1
            else:
                full.append(index)
                axes.append(axis)
                axis += 1
        self.axes, self.shape = axes, shape
        self.indices = torch.broadcast_tensors(*full)
        self.lead = self.indices[0].dim()
        self.others = [a for a in range(len(shape)) if a not in axes]
        # Indices that are neighbours stay where they were; others come first.
        near = axes == list(range(axes[0], axes[-1] + 1))
        self.first = axes[0] if near else 0

    def source(self, where):
        """The elements of the tensor that lie at these places of the result, as places in a row."""
        lead = where[self.first:self.first + self.lead]
        rest = iter(where[:self.first] + where[self.first + self.lead:])
        taken = dict(zip(self.axes, (index[lead] for index in self.indices)))
        place = torch.zeros_like(where[0]) if where else torch.zeros(1, dtype=torch.int64)
        for axis, extent in enumerate(self.shape):
            here = taken[axis] if axis in taken else next(rest)
            place = place * extent + torch.where(here < 0, here + extent, here)
        return place

    def rows(self):
        """For each place of the indices, which row of the indexed axes it names."""
        place = torch.zeros_like(self.indices[0])
        for axis, index in zip(self.axes, self.indices):
            place = place * self.shape[axis] + torch.where(index < 0, index + self.shape[axis],
                                                           index)
        return place.reshape(-1)


def _index(call):
    x, y = call.args["self"], call.results[0]
    if not y.numel():
        return []
    where = call.chosen(y)
    source = _Indexed(x.shape, call.args["indices"]).source(where)
    return [(x[unravel(source.tolist(), x.shape)], y[where])]


def index_put(call):
    """Chosen rows, and what of the values goes there."""
    return _index_put(call, call.args["self"], call.results[0])


def _index_put(call, x, y):
    args = call.args
    at = _Indexed(x.shape, args["indices"])
    if at.first != at.axes[0] or not y.numel():
        return None
    rows = at.rows()
    shape = (*x.shape[:at.first], *at.indices[0].shape, *x.shape[at.first + len(at.axes):])
    values = args["values"].expand(shape).movedim(
        list(range(at.first, at.first + at.lead)), list(range(at.lead))).reshape(len(rows), -1)
    extents = [x.shape[axis] for axis in at.axes]

    def flat(tensor):
        return tensor.movedim(at.axes, list(range(len(at.axes)))).reshape(math.prod(extents), -1)
    x, y = flat(x), flat(y)
    return _scattered(call, x, y, rows, values, args["accumulate"])


def _scattered(call, x, y, rows, values, accumulate, alpha=1.0):
    """y is x but for some rows, to which values go, or are added: a few elements of it."""
    named = rows.unique()
    most = min(_TARGETS, len(y))
    chosen = {*call.places(len(y), max(1, most // 2)),
              *(named[call.places(len(named), max(1, most // 2))].tolist() if len(named) else [])}
    terms, results, added = [], [], []
    for row in sorted(chosen):
        column = call.random.randrange(y.shape[1])
        found = (rows == row).nonzero().reshape(-1)
        if len(found) > slices.MOST_TERMS // _TARGETS:
            raise slices.TooLong(f"an element has {len(found)} terms")
        if not accumulate:
            if len(found) > 1:
                continue  # whichever comes last
            terms.append(values[found, column] if len(found) else x[row:row + 1, column])
        else:
            terms.append(values[found, column])
            added.append(x[row, column])
        results.append(y[row, column])
    if not results:
        return None
    return [sums(terms, torch.stack(results), torch.stack(added) if added else None, alpha)]


def index_add(call):
    return _index_add(call, call.args["self"], call.results[0])


def _index_add(call, x, y):
    args, axis = call.args, call.args["dim"]
    x, y, values = (t.movedim(axis, 0).reshape(t.shape[axis], -1)
                    for t in (x, y, args["source"]))
    return _scattered(call, x, y, args["index"].reshape(-1), values, True,
                      args.get("alpha", 1))


def _scatter(add):
    """scatter along one axis; `src` is a tensor or a number."""
    def gather(call, before=None):
        args, y = call.args, call.results[0]
        x = args["self"] if before is None else before
        index = args["index"]
        if args.get("reduce") or not index.numel() or not y.dim():
            return None
        axis = args["dim"] % y.dim()
        source = args.get("src", args.get("value"))
        where = call.chosen(index, values=False)
        named = [part.clone() for part in where]
        named[axis] = index[where]
        terms, results, added = [], [], []
        for place in zip(*(part.tolist() for part in named)):
            line = tuple(slice(None) if a == axis else place[a] for a in range(index.dim()))
            found = (index[line] == place[axis]).nonzero().reshape(-1)
            values = (source[line][found] if isinstance(source, torch.Tensor)
                      else x.new_full((len(found),), source))
            if not add and len(found) > 1:
                continue
            terms.append(values.to(y.dtype))
            added.append(x[place])
            results.append(y[place])
        if not add:  # and beside them nothing has changed
            named_places = {tuple(p) for p in zip(*(part.tolist() for part in named))}
            for place in zip(*(part.tolist() for part in call.chosen(y))):
                line = tuple(slice(None) if a == axis else place[a] for a in range(y.dim()))
                inside = all(place[a] < index.shape[a] for a in range(y.dim()) if a != axis)
                if place in named_places or inside and bool((index[line] == place[axis]).any()):
                    continue
                terms.append(x[place].reshape(1))
                results.append(y[place])
        if not results:
            return None
        return [sums(terms, torch.stack(results), torch.stack(added) if add else None)]
    return gather


def _index_fill(call, x):
    """A number in some places along an axis; beside them nothing has changed."""
    y, axis = call.results[0], call.args["dim"]
    where = call.chosen(y)
    hit = (where[axis][:, None] == call.args["index"].reshape(1, -1) % y.shape[axis]).any(-1)
    value = call.args["value"]
    value = value if isinstance(value, torch.Tensor) else torch.tensor(value)
    return slices.Same([(torch.where(hit, value.to(y.dtype), x[where]), y[where])])


def _gather(call):
    x, axis, index, y = (call.args["self"], call.args["dim"], call.args["index"],
                         call.results[0])
    where = call.chosen(y)
    at = list(where)
    at[axis % max(1, x.dim())] = index[where]
    return [(x[tuple(at)], y[where])]


def _index_select(call):
    x, y, axis = call.args["self"], call.results[0], call.args["dim"]
    where = list(call.chosen(y))
    got = y[tuple(where)]
    where[axis] = call.args["index"].reshape(-1)[where[axis]]
    return [(x[tuple(where)], got)]


def _ranked(call):
    """topk and sort: some rows in order, and the indices are where these stand."""
    x, (y, index) = call.args["self"], call.results[:2]
    axis = call.args["dim"]
    if not x.dim():
        return [(x, y)]
    x, y, index = (t.movedim(axis, -1).reshape(-1, t.shape[axis]) for t in (x, y, index))
    call.elements(x.shape[1])
    rows = torch.tensor(call.places(len(y), 8))
    most = bool(call.args.get("largest", call.args.get("descending", True)))
    best = x[rows].sort(-1, descending=most).values[:, :y.shape[1]]
    got = y[rows] if call.args.get("sorted", True) else y[rows].sort(-1, descending=most).values
    return [(best.reshape(-1), got.reshape(-1)),
            (x[rows].gather(1, index[rows]).reshape(-1), y[rows].reshape(-1))]


def _largest(word):
    """max and min along an axis, with the place; ties have any."""
    def gather(call):
        x, y = call.args["self"], call.results[0]
        axes = call.args.get("dim")
        if axes is None or axes == []:
            call.elements(x.numel())
            return [(getattr(x, f"a{word}")(), y)]
        axes = [axes] if isinstance(axes, int) else axes
        moved, kept = slices.rows_last(x, axes)
        flat = moved.reshape(math.prod(moved.shape[:kept]), -1)
        y = y.reshape(-1)
        rows = torch.tensor(call.places(len(y), call.elements(flat.shape[1])))
        pairs = [(getattr(flat[rows], f"a{word}")(-1), y[rows])]
        if len(call.results) > 1:
            index = call.results[1].reshape(-1)[rows]
            pairs.append((flat[rows, index], y[rows]))
        return pairs
    return gather


def _resampled(call):
    """Nearest: the place of each element of the result in the image."""
    x, y = call.args.get("self", call.args.get("input")), call.results[0]
    where = call.chosen(y)
    got = y[where]
    return [(x[(*where[:2], *_nearest(call, where[2:], x.shape[2:], y.shape[2:]))], got)]


def _nearest(call, places, small, large):
    factors = call.args.get("scale_factors")
    found = []
    for axis, (place, a, b) in enumerate(zip(places, small, large)):
        scale = factors[axis] if factors else None
        if scale is None:
            scale = call.args.get(f"scales_{'dhw'[3 - len(small):][axis]}") or \
                (call.args.get("scales") if len(small) == 1 else None)
        ratio = torch.tensor(1 / scale if scale else a / b, dtype=torch.float32)
        found.append((place.float() * ratio).floor().long().clamp(max=a - 1))
    return found


def resampled_backward(call):
    """The sum over all places that are taken from one."""
    dy, dx = call.args["grad_output"], call.results[0]
    small, large = dx.shape[2:], dy.shape[2:]
    of = _nearest(call, [torch.arange(b) for b in large], small, large)
    where = [part.tolist() for part in call.chosen(dx, math.prod(large) // math.prod(small))]
    terms = []
    for n, c, *place in zip(*where):
        part = dy[n, c]
        for axis, at in enumerate(place):
            part = part.index_select(axis, (of[axis] == at).nonzero().reshape(-1))
        terms.append(part)
    return [sums(terms, dx[tuple(torch.tensor(part) for part in where)])]


def _padded(call):
    """constant_pad_nd, whose list begins with the last axis; what is below 0 cuts off."""
    x, y, pad = call.args["self"], call.results[0], call.args["pad"]
    where = call.chosen(y)
    inside, places = torch.ones_like(where[0], dtype=torch.bool), list(where)
    for axis, before in zip(range(x.dim() - 1, -1, -1), pad[::2]):
        place = where[axis] - before
        inside &= (place >= 0) & (place < x.shape[axis])
        places[axis] = place.clamp(0, max(0, x.shape[axis] - 1))
    value = torch.full_like(y[where], call.args["value"])
    return [(torch.where(inside.to(x.device), x[tuple(places)], value) if x.numel() else value,
             y[where])]


def _repeated(call):
    x, y = call.args["self"], call.results[0]
    where = call.chosen(y)
    last = where[len(where) - x.dim():]
    return [(x[tuple(place % extent for place, extent in zip(last, x.shape))], y[where])]


def _eye(call):
    y = call.results[0]
    where = call.chosen(y)
    return [((where[0] == where[1]).to(y.device, y.dtype), y[where])]


STRUCTURED = {
    "index_put": index_put,
    "_index_put_impl": index_put,
    "index_add": index_add,
    "scatter": _scatter(False),
    "scatter_add": _scatter(True),
    "upsample_nearest1d_backward": resampled_backward,
    "upsample_nearest2d_backward": resampled_backward,
    "upsample_nearest3d_backward": resampled_backward,
}


def _in_place(gather):
    """Of one that writes into its first argument, which is kept as it was."""
    def before(call):
        x = call.args["self"].clone()
        return lambda: gather(call, x)
    return before


BEFORE = {
    "index_fill_": _in_place(_index_fill),
    "index_put_": _in_place(lambda call, x: _index_put(call, x, call.results[0])),
    "_index_put_impl_": _in_place(lambda call, x: _index_put(call, x, call.results[0])),
    "index_add_": _in_place(lambda call, x: _index_add(call, x, call.results[0])),
    "scatter_": _in_place(_scatter(False)),
    "scatter_add_": _in_place(_scatter(True)),
}

MOVES = {
    "amax": _largest("max"),
    "amin": _largest("min"),
    "constant_pad_nd": _padded,
    "eye": _eye,
    "gather": _gather,
    "index": _index,
    "index_select": _index_select,
    "max": _largest("max"),
    "repeat": _repeated,
    "min": _largest("min"),
    "sort": _ranked,
    "topk": _ranked,
    "upsample_nearest1d": _resampled,
    "upsample_nearest2d": _resampled,
    "upsample_nearest3d": _resampled,
}
