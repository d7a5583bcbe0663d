"""Texts of torch's operators that put elements elsewhere, choose them by indices, or make them of
nothing."""

import math
import re

from .elementwise import lowest, masked, selected, where
from .graphs import ATOM, PRODUCT, SUM, Node, Untold


def _permute(g, x, order):
    order = [d % len(x.axes) for d in order]
    return g.view(x, [x.axes[d] for d in order],
                 lambda i: [i[order.index(d)] for d in range(len(order))])


def swap(g, x, a, b):
    order = list(range(len(x.axes)))
    order[a], order[b] = order[b], order[a]
    return _permute(g, x, order)


def _t(g, x):
    return swap(g, x, 0, 1) if len(x.axes) == 2 else x


def unsqueeze(g, x, dim):
    dim %= len(x.axes) + 1
    return g.view(x, [*x.axes[:dim], None, *x.axes[dim:]], lambda i: [*i[:dim], *i[dim + 1:]])


def squeeze(g, x, dims=None):
    dims = range(len(x.axes)) if dims is None else [dims] if isinstance(dims, int) else dims
    gone = {d % len(x.axes) for d in dims if g.size(x.axes[d]) == 1}

    def back(indices):
        places = iter(indices)
        return ["0" if d in gone else next(places) for d in range(len(x.axes))]
    return g.view(x, [axis for d, axis in enumerate(x.axes) if d not in gone], back)


def _expand(g, x, shape, **_):
    lead = len(shape) - len(x.axes)
    axes = [g.axis_of(n) if d < lead or (g.size(x.axes[d - lead]) == 1 and n not in (1, -1)) else
            x.axes[d - lead] for d, n in enumerate(shape)]
    return g.view(x, axes, lambda i: ["0" if g.size(axis) == 1 else place
                                        for place, axis in zip(i[lead:], x.axes)])


def reshape(g, x, shape, *_):
    old = [g.size(axis) for axis in x.axes]
    if -1 in shape:
        known = -math.prod(shape) or 1
        shape = [math.prod(old) // known if n == -1 else n for n in shape]
    groups = _groups(old, shape)
    axes = [None] * len(shape)
    for olds, news in groups:
        for n in news:
            axes[n] = x.axes[olds[0]] if len(olds) == len(news) == 1 else g.axis_of(shape[n])

    def back(indices):
        found = ["0"] * len(old)
        for olds, news in groups:
            flat = _flat(g, [(indices[n], shape[n]) for n in news])
            for place, d in enumerate(olds):
                below = math.prod(old[e] for e in olds[place + 1:])
                text = flat if below == 1 else f"floor({_held(flat)} / {_size(g, below)})"
                found[d] = text if place == 0 else f"{_held(text)} mod {_size(g, old[d])}"
        return found
    return g.view(x, axes, back)


def _held(text):
    """In parentheses, unless it is a word, or a function of something."""
    alone = re.fullmatch(r"\w+|floor\([^()]*(\([^()]*\))?[^()]*\)", text)
    return text if alone else f"({text})"


def _size(g, n):
    text = g.size_text(n)
    return _held(text) if text[0] != "f" else text


def _flat(g, places):
    """The place of an element among all of these dimensions."""
    text = ""
    for index, n in places:
        size = _size(g, n)
        whole = re.fullmatch(rf"(.*) mod {re.escape(size)}", index)
        if whole and text == f"floor({whole[1]} / {size})":
            text = whole[1]  # they were parted just so
        else:
            text = index if not text else f"{_held(text)} * {size} + {index}"
    return text or "0"


def _groups(old, new):
    """Dimensions that become each other: ([old], [new]), without those of length 1."""
    olds = [d for d, n in enumerate(old) if n != 1]
    news = [d for d, n in enumerate(new) if n != 1]
    groups = []
    while olds and news:
        a, b = [olds.pop(0)], [news.pop(0)]
        while math.prod(old[d] for d in a) != math.prod(new[d] for d in b):
            if math.prod(old[d] for d in a) < math.prod(new[d] for d in b):
                a.append(olds.pop(0))
            else:
                b.append(news.pop(0))
        groups.append((a, b))
    return groups


def _shifted(g, index, start, step=1):
    index = index if step == 1 else f"{step}*{_held(index)}"
    return index if not start else f"{index} + {_size(g, start)}"


def _slice(g, x, dim=0, start=None, end=None, step=1):
    dim %= len(x.axes)
    size = g.size(x.axes[dim])
    first, last, step = slice(start, end, step).indices(size)
    count = len(range(first, last, step))
    if count == size:
        return x
    if not count:
        raise Untold("slice of no element")
    return g.view(x, [*x.axes[:dim], g.axis_of(count), *x.axes[dim + 1:]],
                 lambda i: [*i[:dim], _shifted(g, i[dim], first, step) if count > 1 else str(first),
                            *i[dim + 1:]])


def _select(g, x, dim, index):
    dim %= len(x.axes)
    place = g.size_text(index % g.size(x.axes[dim])) if index >= 0 else \
        f"{g.size_text(g.size(x.axes[dim]))} - {-index}"
    return g.view(x, [*x.axes[:dim], *x.axes[dim + 1:]], lambda i: [*i[:dim], place, *i[dim:]])


def _split(g, x, sizes, dim=0):
    total = g.size(x.axes[dim % len(x.axes)])
    if isinstance(sizes, int):
        sizes = [min(sizes, total - i) for i in range(0, total, sizes)]
    return [_slice(g, x, dim, sum(sizes[:i]), sum(sizes[:i + 1])) for i in range(len(sizes))]


def _unbind(g, x, dim=0):
    return [_select(g, x, dim, i) for i in range(g.size(x.axes[dim % len(x.axes)]))]


def _cat(g, xs, dim=0):
    xs = [x.used() for x in xs]
    dim %= len(xs[0].axes)
    sizes = [g.size(x.axes[dim]) for x in xs]
    axes = g.apart([*xs[0].axes[:dim], g.axis_of(sum(sizes)), *xs[0].axes[dim + 1:]])

    def at(indices):
        i, text = indices[dim], ""
        for n in range(len(xs) - 1, -1, -1):
            first = sum(sizes[:n])
            place = i if not first else f"{i} - {_size(g, first)}"
            if sizes[n] == 1:
                place = "0"
            own = g.text(xs[n], [*indices[:dim], place, *indices[dim + 1:]])
            text = f"select({i} < {_size(g, first + sizes[n])}, {own}, {text})" if text else own
        return text, ATOM
    return Node(axes, at, hint="z")


def _stack(g, xs, dim=0):
    dim %= len(xs[0].axes) + 1
    return _cat(g, [unsqueeze(g, x, dim) for x in xs], dim)


def _flip(g, x, dims):
    dims = {d % len(x.axes) for d in dims}
    return g.view(x, x.axes, lambda i: [
        f"{g.size_text(g.size(axis))} - 1 - {_held(place)}" if d in dims and axis else place
        for d, (place, axis) in enumerate(zip(i, x.axes))])


def _roll(g, x, shifts, dims=()):
    if len(dims) != len(shifts):
        raise Untold("roll without dims")
    by = {d % len(x.axes): s for d, s in zip(dims, shifts)}
    return g.view(x, x.axes, lambda i: [
        f"({place} - {by[d]}) mod {_size(g, g.size(axis))}" if d in by and axis else place
        for d, (place, axis) in enumerate(zip(i, x.axes))])


def _pad(g, x, widths, value=0):
    axes, first = list(x.axes), {}
    for d, (low, high) in enumerate(zip(widths[::2], widths[1::2])):
        d = len(axes) - 1 - d
        if low < 0 or high < 0:
            raise Untold("a pad below 0")
        first[d] = low, g.size(axes[d])
        axes[d] = g.axis_of(g.size(axes[d]) + low + high)
    x.used()
    axes = g.apart(axes)

    def at(indices):
        inner = [f"{i} - {first[d][0]}" if first.get(d, (0,))[0] else i
                 for d, i in enumerate(indices)]
        parts = [f"{i} >= {first[d][0]}" for d, i in enumerate(indices) if first.get(d, (0,))[0]]
        parts += [f"{inner[d]} < {_size(g, n)}" for d, (_, n) in first.items()
                  if g.size(axes[d]) > n + first[d][0]]
        text = g.text(x, inner)
        return f"select({' and '.join(parts)}, {text}, {value})" if parts else text, ATOM
    return Node(axes, at)


def _triangle(sign):
    def build(g, x, diagonal=0):
        x.used()

        def seen(indices):
            row, column = indices[-2:]
            size = g.size_text(abs(diagonal))
            return f"{column} {sign} {row}" + (f" {'+' if diagonal > 0 else '-'} {_held(size)}"
                                               if diagonal else "")

        def at(indices):
            text = g.read(x, indices)[0]
            if x.truth:
                return (seen(indices) if text == "true" else f"({text}) and {seen(indices)}"), SUM
            return f"select({seen(indices)}, {text}, 0)", ATOM
        made = Node(x.axes, at, truth=x.truth)
        if x.constant and x.at(["0"] * len(x.axes))[0] == "1":
            made.as_truth = Node(x.axes, lambda i: (seen(i), SUM), truth=True)
        if lowest(x):  # a mask that is added
            gone = Node(x.axes, lambda i: (seen(i), SUM), truth=True)
            return masked(where(g, gone, g.number(-math.inf), g.number(0)), g.number(0), gone)
        return made
    return build


# indices

def _embedding(g, weight, index, *_):
    weight.used()
    index.used()
    inner = len(index.axes)
    return Node(g.apart([*index.axes, *weight.axes[1:]]), lambda i: g.read(
        weight, [g.text(index, i[:inner]), *i[inner:]]))


def _index_select(g, x, dim, index):
    dim %= len(x.axes)
    x.used()
    index.used()
    return Node(g.apart([*x.axes[:dim], *index.axes, *x.axes[dim + 1:]]), lambda i: g.read(
        x, [*i[:dim], g.text(index, [i[dim]]), *i[dim + 1:]]))


def _gather(g, x, dim, index, **_):
    dim %= len(x.axes)
    x.used()
    index.used()
    return Node(index.axes, lambda i: g.read(
        x, [g.text(index, i) if d == dim else place if g.size(axis) > 1 else "0"
            for d, (place, axis) in enumerate(zip(i, x.axes))]))


def _index(g, x, indices):
    indices = list(indices) + [None] * (len(x.axes) - len(indices))
    known = [d for d, index in enumerate(indices) if index is not None]
    if any(indices[d].truth for d in known):
        if len(known) > 1:
            raise Untold("index by several masks")
        return selected(g, x, indices[known[0]])
    if known != list(range(known[0], known[-1] + 1)):
        raise Untold("index by tensors that do not stand side by side")
    x.used()
    shape = g.each(" ".join(f"{{{n}}}" for n in range(len(known))), *(indices[d] for d in known))
    first, count = known[0], len(shape.axes)
    axes = g.apart([*x.axes[:first], *shape.axes, *x.axes[known[-1] + 1:]])

    def at(places):
        own = places[first:first + count]
        texts = []
        for d in known:
            index = indices[d]
            lead = count - len(index.axes)
            texts.append(g.text(index, [p if g.size(axis) > 1 else "0"
                                        for p, axis in zip(own[lead:], index.axes)]))
        return g.read(x, [*places[:first], *texts, *places[first + count:]])
    return Node(axes, at)


# numbers from nothing

def arange(g, *bounds, **_):
    if any(b != int(b) for b in bounds):
        raise Untold("arange of numbers that are not whole")
    start, end, step = ([0, *bounds, 1] if len(bounds) == 1 else [*bounds, 1][:3])
    axis = g.axis_of(len(range(int(start), int(end), int(step))))
    return Node([axis], lambda i: (_shifted(g, i[0], start, step),
                                   ATOM if not start and step == 1 else SUM), integer=True)


def constant(value=None):
    def build(g, shape, *rest, dtype=None, **_):
        number = rest[0] if value is None else value
        if isinstance(shape, Node):
            axes = shape.axes
        else:
            axes = g.apart([g.axis_of(n) for n in shape])
        if str(dtype) == "torch.bool":
            number = bool(number)
        text = g.number(number)
        made = Node(axes, text.at, truth=text.truth, integer=text.integer)
        made.constant = True
        return made
    return build


def _cast(g, x, dtype=None, **_):
    name = {"torch.bfloat16": "bf16", "torch.float16": "fp16", "torch.float8_e4m3fn": "e4m3",
            "torch.float8_e5m2": "e5m2"}.get(str(dtype))
    if name:
        return g.each(f"{name}({{0}})", x)
    if str(dtype) == "torch.bool":
        if hasattr(x, "as_truth"):
            return x.as_truth
        if not x.truth:
            text = x.at(["0"] * len(x.axes))[0] if x.at else ""
            if text in ("0", "1"):  # of torch.ones(...).bool()
                return Node(x.axes, lambda _: ("true" if text == "1" else "false", ATOM),
                            truth=True)
            return g.each("{0} != 0", x, binds=SUM, needs=[PRODUCT], truth=True)
        return x
    return x


def _same(g, x, *_, **__):
    return x


OPERATORS = {
    "permute": _permute, "transpose": swap, "t": _t, "unsqueeze": unsqueeze, "squeeze": squeeze,
    "expand": _expand, "view": reshape, "_unsafe_view": reshape, "reshape": reshape,
    "_reshape_alias": reshape, "slice": _slice, "select": _select, "split": _split,
    "split_with_sizes": _split, "unbind": _unbind, "cat": _cat, "stack": _stack, "flip": _flip,
    "roll": _roll, "constant_pad_nd": _pad, "tril": _triangle("<="), "triu": _triangle(">="),
    "embedding": _embedding, "index_select": _index_select, "gather": _gather, "index": _index,
    "clone": _same, "alias": _same, "detach": _same, "contiguous": _same, "lift_fresh": _same,
    "lift": _same, "_to_copy": _cast, "convert_element_type": _cast, "arange": arange,
    "ones": constant(1),
    "zeros": constant(0), "full": constant(), "ones_like": constant(1),
    "zeros_like": constant(0), "full_like": constant(),
    "scalar_tensor": lambda g, value, **_: g.number(value),
}
