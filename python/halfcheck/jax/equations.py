"""What a primitive of jax computes, for some elements of its results: the inputs that these have,
and the text of a definition; or, of one that hands numbers on, the bits that are to come.

A primitive that is not here is not judged, and is listed as such. Numbers are arrays of numpy."""

import math

import numpy as np

from .. import jaxpr
from ..formats import DTYPES
from ..graphs import ATOM, SUM, Graph, Node, Untold
from ..torch.operators import DOT
from ..torch.operators import SUM as ROW_SUM

MOST_ELEMENTS = 64
MOST_TERMS = 1 << 13    # of all elements of one equation
LONGEST_ELEMENT = 1 << 20
MOST_COUNTS = 8         # of different numbers of terms that sums may have

FORMATS = {DTYPES[name]: name for name in ("fp64", "fp32", "bf16", "fp16", "e4m3", "e5m2")
           if name in DTYPES}

CAST = """op cast(x[i])
y[i] = x[i]
return y
"""


class Question:
    """Some results of a definition, and the inputs that they have. XLA takes subnormal numbers for
    0 on a processor, and says so: that is no error here."""

    allowed = ("flush=yes",)

    def __init__(self, text, inputs, results):
        self.text, self.inputs, self.results, self.options = text, inputs, results, {}


class Same:
    """Numbers that are handed on, and what came: their bits are equal. Of two zeros a maximum may
    be either: zeros says that it is one."""

    def __init__(self, want, got, zeros=False):
        self.want, self.got, self.zeros = want, got, zeros

    def differing(self):
        """The places in a row at which they are not what they were."""
        want, got = self.want.reshape(-1), self.got.reshape(-1)
        same = (want == got) & (self.zeros | (np.signbit(want) == np.signbit(got)))
        return np.flatnonzero(~(same | (np.isnan(want) & np.isnan(got))))


class TooLong(Exception):
    """One element has more terms than a watched step can afford."""


def is_float(value):
    return np.asarray(value).dtype in FORMATS


class Call:
    """One equation that has run: its parameters, what it was given and what came, as arrays of
    numpy, and a source of chances."""

    def __init__(self, equation, given, results, chances):
        self.equation, self.params = equation, equation.params
        self.name = equation.primitive.name
        self.given, self.results, self.random = given, results, chances

    @property
    def y(self):
        return self.results[0]

    def chosen(self, terms=1):
        """Some elements of the result, as a tuple of indices: the ends, those of largest and
        smallest magnitude, and others by chance."""
        if terms > LONGEST_ELEMENT:
            raise TooLong(f"an element has {terms} terms")
        most = max(1, min(MOST_ELEMENTS, MOST_TERMS // max(terms, 1)))
        count = self.y.size
        if count <= most:
            places = range(count)
        else:
            places = {0, count - 1}
            if is_float(self.y):
                size = np.abs(self.y.reshape(-1).astype(np.float64))
                places |= {int(np.argmax(size)), int(np.argmin(size))}
            while len(places) < most:
                places.add(self.random.randrange(count))
        return np.unravel_index(np.array(sorted(places), int), self.y.shape) if self.y.shape else ()

    def taken(self, where):
        return self.y[where].reshape(-1) if where else self.y.reshape(1)


def question(call):
    """What an equation has to answer: questions, or what its bits are to be; None if it has no
    definition."""
    build = _STRUCTURED.get(call.name)
    if build is not None:
        return build(call)
    move = _MOVES.get(call.name)
    if move is not None:
        want = move(call)
        return None if want is None else Same(np.asarray(want), call.y, call.name in _ZEROS)
    return _elements(call)


# Elements

def _elements(call):
    if len(call.results) != 1 or call.y.size == 0:
        return None
    where = call.chosen()
    if not call.given or any(x.shape and (x.ndim != call.y.ndim or any(
            n not in (1, m) for n, m in zip(x.shape, call.y.shape))) for x in call.given):
        return None
    taken = [np.broadcast_to(x, call.y.shape) for x in call.given]
    taken = [_real(x[where].reshape(-1) if where else x.reshape(1)) for x in taken]
    if any(x is None for x in taken):
        return None
    got = call.taken(where)
    if call.name == "pow":
        kept = taken[0] > 0
        taken, got = [x[kept] for x in taken], got[kept]
        if not got.size:
            return None
    graph, nodes = Graph({"i": 2}), []
    for letter in "abc"[:len(taken)]:
        node = Node(["i"], None)
        node.name = graph.new_name(letter)
        nodes.append(node)
    try:
        if call.name == "add_any":
            made = jaxpr._E["add"](graph, *nodes)
        elif call.name == "pow":
            made = graph.each("exp({1} * log({0}))", *nodes, needs=[SUM, ATOM])
        else:
            made = jaxpr._Reader(graph).equation(call.equation, nodes)
        if made in nodes:  # a power of 1
            return [Question(CAST, {"x": taken[nodes.index(made)]}, {"y": got})]
        text, _ = graph.source([(made, None)], graph.new_name("one"),
                               [f"{node.name}[i]" for node in nodes])
    except Untold:
        return None
    result = text.rstrip().rsplit(" ", 1)[1]
    return [Question(text, dict(zip((node.name for node in nodes), taken)), {result: got})]


def _real(x):
    """As a definition may read it: integers that fp64 has are fp64."""
    if x.dtype in FORMATS:
        return np.ascontiguousarray(x)
    if x.dtype == bool or x.dtype.kind in "iu" and (np.abs(x.astype(object)) < 2**53).all():
        return x.astype(np.float64)
    return None


def _cast(call):
    x = call.given[0]
    if x.dtype == call.y.dtype:
        return Same(x, call.y)
    where = call.chosen()
    taken = _real(x[where].reshape(-1) if where else x.reshape(1))
    got = call.taken(where)
    if taken is None:
        return None
    if FORMATS[call.y.dtype] in ("e4m3", "e5m2"):  # beyond their range a cast may saturate or not
        kept = np.isfinite(got.astype(np.float32))
        taken, got = taken[kept], got[kept]
    return [Question(CAST, {"x": taken}, {"y": got})]


# Sums and products

def _dot(call):
    (over_a, over_b), (with_a, with_b) = call.params["dimension_numbers"]
    a, b = call.given[:2]
    if a.dtype not in FORMATS or b.dtype not in FORMATS:
        return None
    free_a = [d for d in range(a.ndim) if d not in (*over_a, *with_a)]
    free_b = [d for d in range(b.ndim) if d not in (*over_b, *with_b)]
    terms = math.prod(a.shape[d] for d in over_a)
    where = call.chosen(terms)
    batch = len(with_a)
    rows_a, rows_b = (_rows(x, [*along, *free], over, where[:batch] + own) for x, along, free, over,
                      own in ((a, with_a, free_a, over_a, where[batch:batch + len(free_a)]),
                              (b, with_b, free_b, over_b, where[batch + len(free_a):])))
    count = len(where[0]) if where else 1
    rows_a, rows_b = (np.broadcast_to(rows, (count, terms)) for rows in (rows_a, rows_b))
    return [Question(DOT, {"a": rows_a, "b": rows_b}, {"y": call.taken(where)})]


def _rows(x, kept, over, where):
    """Of some places along the axes that are kept the numbers along the others."""
    rows = x.transpose([*kept, *over]).reshape([x.shape[d] for d in kept] + [-1])
    return rows[where] if where else rows.reshape(1, -1)


def _sum(call):
    x, over = call.given[0], call.params["axes"]
    if not over:
        return Same(x, call.y)
    kept = [d for d in range(x.ndim) if d not in over]
    where = call.chosen(math.prod(x.shape[d] for d in over))
    return [Question(ROW_SUM, {"x": _rows(x, kept, over, where)}, {"y": call.taken(where)})]


def _sums(call, where, terms_of):
    """Questions about elements that are sums of different numbers of terms, some numbers of them
    after each other."""
    groups = {}
    for place, index in enumerate(zip(*where)):
        terms = terms_of(index)
        groups.setdefault(len(terms), []).append((place, terms))
    got = call.taken(where)
    chosen = sorted(groups)
    if len(chosen) > MOST_COUNTS:
        chosen = chosen[:1] + chosen[-MOST_COUNTS + 1:]
    return [Question(ROW_SUM, {"x": np.stack([terms for _, terms in groups[count]])},
                     {"y": got[[place for place, _ in groups[count]]]})
            for count in chosen]


def _cumsum(call):
    x, axis = call.given[0], call.params["axis"]
    where = call.chosen(x.shape[axis])

    def terms_of(index):
        row = x[index[:axis] + (slice(None),) + index[axis + 1:]]
        return row[index[axis]:] if call.params["reverse"] else row[:index[axis] + 1]
    return _sums(call, where, terms_of)


def _scatter_add(call):
    """Each element of the result is what the operand had there, and what updates add to it."""
    x, indices, updates = call.given
    numbers = call.params["dimension_numbers"]
    to = _targets(numbers, x.shape, indices, updates.shape)
    if to is None or updates.size > LONGEST_ELEMENT:
        return None
    order = np.argsort(to, kind="stable")
    flat, to = updates.reshape(-1)[order], to[order]
    where = call.chosen()
    if not where:
        return None

    def terms_of(index):
        place = np.ravel_multi_index(index, x.shape)
        first, last = np.searchsorted(to, place), np.searchsorted(to, place, "right")
        return np.concatenate([x[index].reshape(1), flat[first:last]])
    return _sums(call, where, terms_of)


def _targets(numbers, shape, indices, updates):
    """Where in an operand of that shape each update goes, as a place in a row; None if one of them
    lies outside."""
    own = np.indices(updates, sparse=False).reshape(len(updates), -1)
    window = list(numbers.update_window_dims)
    rows = [own[d] for d in range(len(updates)) if d not in window]
    at = [np.zeros(own.shape[1], np.int64) for _ in shape]
    index = indices[tuple(rows)] if rows else np.broadcast_to(
        indices.reshape(1, -1), (own.shape[1], indices.size))
    for k, d in enumerate(numbers.scatter_dims_to_operand_dims):
        at[d] = at[d] + index[:, k]
    for d, e in zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims):
        at[d] = at[d] + rows[e]
    whole = [d for d in range(len(shape)) if d not in numbers.inserted_window_dims and
             d not in numbers.operand_batching_dims]
    for d, e in zip(whole, window):
        at[d] = at[d] + own[e]
    if any((place < 0).any() or (place >= n).any() for place, n in zip(at, shape)):
        return None
    return np.ravel_multi_index(at, shape) if shape else None


def _convolution(call):
    x, w = call.given
    p = call.params
    numbers = p["dimension_numbers"]
    if p["batch_group_count"] != 1:
        return None
    x = x.transpose(numbers.lhs_spec)
    w = w.transpose(numbers.rhs_spec)
    group = w.shape[1]
    terms = math.prod(w.shape[1:])
    where = call.chosen(terms)
    left, right = [], []
    for index in zip(*where):
        n, o, *place = (index[d] for d in numbers.out_spec)
        first = o // (w.shape[0] // p["feature_group_count"]) * group
        part, kernel = x[n, first:first + group], w[o]
        for d, at in enumerate(place):
            reach = at * p["window_strides"][d] - p["padding"][d][0] + \
                np.arange(w.shape[2 + d]) * p["rhs_dilation"][d]
            step = p["lhs_dilation"][d]
            inside = (reach >= 0) & (reach % step == 0) & (reach // step < x.shape[2 + d])
            part = np.take(part, reach[inside] // step, axis=1 + d)
            kernel = np.take(kernel, np.flatnonzero(inside), axis=1 + d)
        left.append(part.reshape(-1))
        right.append(kernel.reshape(-1))
    got, questions = call.taken(where), []
    for count in sorted({len(row) for row in left}):
        places = [i for i, row in enumerate(left) if len(row) == count]
        if count:
            questions.append(Question(DOT, {"a": np.stack([left[i] for i in places]),
                                            "b": np.stack([right[i] for i in places])},
                                      {"y": got[places]}))
    return questions


def _split(call):
    x, axis = call.given[0], call.params["axis"]
    want = np.split(x, np.cumsum(call.params["sizes"])[:-1], axis)
    return Same(*(np.concatenate([part.reshape(-1) for part in parts])
                  for parts in (want, call.results)))


# Moves: what is to come, as an array

def _broadcast(call):
    x, shape, to = call.given[0], call.params["shape"], call.params["broadcast_dimensions"]
    own = [1] * len(shape)
    for d, e in enumerate(to):
        own[e] = x.shape[d]
    return np.broadcast_to(x.reshape(own), shape)


def _pad(call):
    x, value = call.given
    if any(low < 0 or high < 0 for low, high, _ in call.params["padding_config"]):
        return None
    made = np.full(call.y.shape, value, x.dtype)
    made[tuple(slice(low, low + (n - 1) * (inner + 1) + 1 if n else low, inner + 1)
               for (low, _, inner), n in zip(call.params["padding_config"], x.shape))] = x
    return made


def _slice(call):
    steps = call.params["strides"] or [1] * call.given[0].ndim
    return call.given[0][tuple(map(slice, call.params["start_indices"],
                                   call.params["limit_indices"], steps))]


def _starts(starts, shape, sizes):
    return [min(max(int(start), 0), n - size) for start, n, size in zip(starts, shape, sizes)]


def _dynamic_slice(call):
    x, *starts = call.given
    sizes = call.params["slice_sizes"]
    return x[tuple(slice(start, start + size) for start, size in
                   zip(_starts(starts, x.shape, sizes), sizes))]


def _dynamic_update_slice(call):
    x, part, *starts = call.given
    made = x.copy()
    made[tuple(slice(start, start + size) for start, size in
               zip(_starts(starts, x.shape, part.shape), part.shape))] = part
    return made


def _select(call):
    which, *cases = call.given
    if which.dtype == bool and len(cases) == 2:
        return np.where(which, cases[1], cases[0])
    return np.choose(which, cases) if len(cases) <= 32 else None


def _clamp(call):
    low, x, high = call.given
    return np.minimum(np.maximum(x, low), high).astype(x.dtype)


def _gather(call):
    """Where indices lie outside, what comes depends on the mode: such a call is not judged."""
    x, indices = call.given
    numbers, sizes = call.params["dimension_numbers"], call.params["slice_sizes"]
    shape = call.y.shape
    own = np.indices(shape).reshape(len(shape), -1)
    rows = [own[d] for d in range(len(shape)) if d not in numbers.offset_dims]
    index = indices[tuple(rows)] if rows else np.broadcast_to(
        indices.reshape(1, -1), (own.shape[1] if shape else 1, indices.size))
    at = [np.zeros(len(index), np.int64) for _ in x.shape]
    for k, d in enumerate(numbers.start_index_map):
        at[d] = at[d] + index[:, k]
        if (at[d] < 0).any() or (at[d] > x.shape[d] - sizes[d]).any():
            return None
    for d, e in zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims):
        at[d] = at[d] + rows[e]
    whole = [d for d in range(x.ndim) if d not in numbers.collapsed_slice_dims and
             d not in numbers.operand_batching_dims]
    for d, e in zip(whole, numbers.offset_dims):
        at[d] = at[d] + own[e]
    return x[tuple(at)].reshape(shape)


def _extreme(reduce):
    return lambda call: reduce.reduce(call.given[0], axis=tuple(call.params["axes"])) \
        if call.params["axes"] else call.given[0]


def _first(call):
    return call.given[0]


def _reshaped(call):
    return call.given[0].reshape(call.y.shape)


_STRUCTURED = {"convert_element_type": _cast, "dot_general": _dot, "reduce_sum": _sum,
               "cumsum": _cumsum, "scatter-add": _scatter_add,
               "conv_general_dilated": _convolution, "split": _split}

# Of zeros with either sign they hand one on.
_ZEROS = ("max", "min", "reduce_max", "reduce_min", "clamp")

_MOVES = {
    "reshape": _reshaped, "squeeze": _reshaped, "expand_dims": _reshaped,
    "transpose": lambda call: call.given[0].transpose(call.params["permutation"]),
    "broadcast_in_dim": _broadcast, "slice": _slice, "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice, "gather": _gather, "pad": _pad,
    "rev": lambda call: np.flip(call.given[0], call.params["dimensions"]),
    "concatenate": lambda call: np.concatenate(call.given, call.params["dimension"]),
    "select_n": _select, "clamp": _clamp, "copy": _first, "copy_p": _first,
    "stop_gradient": _first, "optimization_barrier": _first, "sharding_constraint": _first,
    "bitcast_convert_type": lambda call: call.given[0].view(call.y.dtype)
    if call.given[0].shape == call.y.shape else None,
    "max": lambda call: np.maximum(*call.given), "min": lambda call: np.minimum(*call.given),
    "reduce_max": _extreme(np.maximum), "reduce_min": _extreme(np.minimum),
}
