"""Texts of definitions from functions: a graph of tensors with named axes and texts as elements.

A node knows its axes and the text of its element at given indices. Views, and what is used once,
are read through; reductions, results, and what is used more than once become equations."""

import math
import re

# Words that a definition's text keeps for itself.
RESERVED = set("""op axis return where scan store shift select either sum prod max min mean count
any all abs floor sqrt exp log log1p tanh sin cos erf fma mod and or not inf nan pi true false isnan
isinf isfinite index use fp64 fp32 fp16 bf16 tf32 e4m3 e5m2""".split())
SUM, PRODUCT, UNARY, ATOM = range(4)  # how tightly a text binds
_LETTERS = "ijkrsabgopqz"


class Untold(Exception):  # and no TypeError, which Python takes for a refusal of *
    """An operator that has no text."""


class Node:
    """A tensor: `axes`, a name or None (of length 1) each; at(indices), a text and how it binds."""

    def __init__(self, axes, at, whole=False, view=None, truth=False, integer=False, hint="a"):
        self.axes, self.at = axes, at
        self.whole, self.view = whole, view  # an equation of its own; what it is a view of
        self.truth, self.integer = truth, integer
        self.hint = hint
        self.uses, self.name, self.label = 0, None, None
        self.constant = False  # the same number everywhere

    def used(self):
        """Counts a use, of what it is a view of as well."""
        self.uses += 1
        if self.view is not None and self.uses > 1:
            self.view.used()
        return self


class Graph:
    """Nodes, axes and the equations that are written so far. `sizes` has the inputs' axes."""

    def __init__(self, sizes):
        self.sizes = dict(sizes)
        self.declared, self.equations = [], []
        self.given = list(sizes)
        self.made = {}
        self.taken = set(RESERVED) | set(sizes)

    # texts

    def new_name(self, hint):
        """A name that nothing has, near to what is asked for."""
        hint = "".join(c for c in hint.lower() if c.isascii() and (c.isalnum() or c == "_"))
        hint = hint if hint and hint[0].isalpha() else "a"
        name, number = hint, 1
        while name in self.taken:
            number += 1
            name = f"{hint}{number}"
        self.taken.add(name)
        return name

    def size_text(self, size):
        """A length in terms of those of the inputs, if it is one."""
        known = {axis: self.sizes[axis] for axis in self.given}
        for axis, length in known.items():
            if length == size and size > 1:
                return axis.upper()
        for axis, length in known.items():
            if size > 2 and length == 2 * size:
                return f"floor({axis.upper()} / 2)"
        for axis, length in known.items():
            for other, more in known.items():
                if size > 4 and length * more == size and min(length, more) > 1:
                    return f"{axis.upper()} * {other.upper()}"
                if size > 4 and length - more in (size - 1, size, size + 1) and axis != other:
                    rest = size - length + more
                    end = f" {'+' if rest > 0 else '-'} 1" if rest else ""
                    return f"{axis.upper()} - {other.upper()}{end}"
        return str(size)

    def new_axis(self, size):
        """An axis of this length that is no other."""
        free = [letter for letter in _LETTERS if letter not in self.taken]
        name = self.new_name(free[0] if free else "i")
        self.declared.append(f"axis {name} = {self.size_text(size)}")
        self.sizes[name] = size
        return name

    def axis_of(self, size):
        """An axis of this length; None of 1."""
        if size == 1:
            return None
        return next((axis for axis, length in self.sizes.items() if length == size), None) or \
            self.new_axis(size)

    def apart(self, axes, without=()):
        """The axes with another one of the same length for each that is there already."""
        found = []
        for axis in axes:
            if axis is not None and (axis in found or axis in without):
                size = self.sizes[axis]
                axis = next((name for name, length in self.sizes.items() if length == size and
                             name not in found and name not in without), None) or \
                    self.new_axis(size)
            found.append(axis)
        return found

    def size(self, axis):
        return 1 if axis is None else self.sizes[axis]

    def number(self, value):
        """The node of a Python number."""
        if isinstance(value, bool):
            text = "true" if value else "false"
            return Node([], lambda _: (text, ATOM), truth=True)
        text, binds = number_text(value, [(a, self.sizes[a]) for a in self.given])
        made = Node([], lambda _: (text, binds), integer=isinstance(value, int))
        made.constant = True
        return made

    # reading

    def read(self, node, indices):
        """The text of an element, and how it binds."""
        if node.view is None and not node.truth and not _plain(node) and (
                node.whole or node.uses > 1 or node.label):
            self.emit(node)
        if node.name is not None:
            places = [i for i, axis in zip(indices, node.axes) if axis is not None]
            return (f"{node.name}[{','.join(places)}]" if places else node.name), ATOM
        return node.at(indices)

    def text(self, node, indices, binds=SUM):
        """The same in parentheses where it binds less tightly."""
        text, own = self.read(node, indices)
        return text if own >= binds else f"({text})"

    def real(self, node, indices, binds=SUM):
        """As a number where it is a truth."""
        if node.truth:
            return f"select({self.text(node, indices)}, 1, 0)"
        return self.text(node, indices, binds)

    def emit(self, node, result=False):
        """Writes the equation of a node."""
        if node.name is not None:
            return node.name
        text = node.at([axis or "0" for axis in node.axes])[0]
        if node.truth:
            text = f"select({text}, 1, 0)"
            node.truth = False
        node.name = self.new_name("y" if result else node.label or node.hint)
        places = ", ".join(axis for axis in node.axes if axis)
        self.equations.append((f"{node.name}[{places}]" if places else node.name, text))
        return node.name

    # making nodes

    def each(self, template, *operands, binds=ATOM, needs=(), truth=False, integer=False, hint="a"):
        """What an operation makes of elements: template.format of their texts, broadcast.
        `needs` says how tightly each text must bind."""
        key = (template, truth, *(id(o) if isinstance(o, Node) else repr(o) for o in operands))
        if key in self.made:
            return self.made[key][0]
        given = operands
        operands = [o.used() if isinstance(o, Node) else self.number(o) for o in operands]
        rank = max(len(o.axes) for o in operands)
        axes = [None] * rank
        for o in operands:
            for place, axis in enumerate(o.axes, rank - len(o.axes)):
                if axes[place] is None or (self.size(axes[place]) == 1 and self.size(axis) > 1):
                    axes[place] = axis
        axes = self.apart(axes)
        wants = list(needs) + [SUM] * (len(operands) - len(needs))

        def at(indices):
            texts = []
            for o, want in zip(operands, wants):
                own = [i if self.size(axis) > 1 or self.size(out) == 1 else "0"
                       for i, axis, out in zip(indices[rank - len(o.axes):], o.axes,
                                               axes[rank - len(o.axes):])]
                reader = self.text if want is None or truth == "logic" else self.real
                texts.append(reader(o, own, want or SUM))
            return template.format(*texts), binds
        made = Node(axes, at, truth=bool(truth), integer=integer, hint=hint)
        self.made[key] = made, given  # which stay alive, so that no other has their identity
        return made

    def over(self, word, x, dims, keep=False, template="{}", hint="l", shift=False, where=None):
        """A reduction. template is of what is reduced."""
        dims = sorted(d % len(x.axes) for d in dims) if x.axes else []
        key = (word, id(x), tuple(dims), keep, template, shift)
        if key in self.made and not where:
            return self.made[key][0]
        x.used()
        bound = {d: x.axes[d] for d in dims}
        kept = [axis for d, axis in enumerate(x.axes) if d not in bound]
        axes = [None if d in bound else axis for d, axis in enumerate(x.axes)] if keep else kept
        names = [axis for axis in bound.values() if axis is not None]

        def at(indices):
            places = iter(indices)
            inner = []
            for d in range(len(x.axes)):
                if d in bound:
                    inner.append(bound[d] or "0")
                    if keep:
                        next(places)
                else:
                    inner.append(next(places))
            text = template.format((self.text if word in ("count", "any", "all") else self.real)(
                x, inner, ATOM if template != "{}" else SUM))
            if names:
                text = f"{word}({', '.join(names)}: {text})"
                if where:
                    text = f"{text[:-1]} where {where(inner)})"
            return ("shift " if shift else "") + text, SUM if shift else ATOM
        made = Node(axes, at, whole=True, hint=hint, truth=word in ("any", "all"),
                    integer=word == "count")
        self.made[key] = made, x
        return made

    def product(self, a, b):
        """A product of matrices, or of stacks of them."""
        a.used()
        b.used()
        batch = max(len(a.axes), len(b.axes)) - 2
        axes = [None] * batch
        for o in (a, b):
            for place, axis in enumerate(o.axes[:-2], batch - len(o.axes) + 2):
                if axes[place] is None or (self.size(axes[place]) == 1 and self.size(axis) > 1):
                    axes[place] = axis
        axes = self.apart([*axes, a.axes[-2], b.axes[-1]])
        k = a.axes[-1] if a.axes[-1] is not None else b.axes[-2]
        k = k if k is None else self.apart([k], without=axes)[0]

        def at(indices):
            lead, m, n = indices[:-2], indices[-2], indices[-1]
            texts = []
            for o, places in ((a, [m, k or "0"]), (b, [k or "0", n])):
                rows = o.axes[:-2]
                own = [i if self.size(axis) > 1 or self.size(out) == 1 else "0" for i, axis, out in
                       zip(lead[batch - len(rows):], rows, axes[batch - len(rows):])]
                texts.append(self.real(o, own + places, PRODUCT))
            text = " * ".join(texts)
            return (f"sum({k}: {text})", ATOM) if k else (text, PRODUCT)
        return Node(axes, at, whole=True, hint="s")

    def view(self, x, axes, back):
        """The same numbers in other places: back(indices) are those in x."""
        x.used()
        axes = self.apart(axes)
        made = Node(axes, lambda indices: self.read(x, back(indices)), view=x, truth=x.truth,
                    integer=x.integer)
        made.back = back
        return made

    def source(self, results, name, inputs):
        """The text of a definition with these results, [(node, format or None)], and the results'
        shapes."""
        results = [(_base(node), form) for node, form in results]
        for node, _ in results:
            if node.view is not None or _plain(node) or node.name in {
                    row.split("[")[0] for row in inputs}:
                # A view, or an input as it is: an equation copies it.
                copy = Node(self.apart(node.axes), lambda i, n=node: self.read(n, i), whole=True)
                copy.label = node.label
                self.emit(copy, True)
                node.name, node.view = copy.name, None
            self.emit(node, True)
        used = " ".join(part for equation in self.equations for part in equation)
        lines = [f"op {name}({', '.join(inputs)})"]
        lines += [row for row in self.declared if re.search(rf"\b{row.split()[1]}\b", used)]
        width = max(len(left) for left, _ in self.equations)
        lines += [f"{left:{width}} = {right}" for left, right in self.equations]
        lines.append("return " + ", ".join(node.name + (f": {form}" if form else "")
                                           for node, form in results))
        return "\n".join(_folded(lines)) + "\n", [
            tuple(self.size(axis) for axis in node.axes if axis) for node, _ in results]


def _base(node):
    """What a result is a view of, where it only has more or fewer axes of length 1."""
    while node.view is not None and node.view.name is None and not node.view.truth:
        places = [f"#{d}" if axis else "0" for d, axis in enumerate(node.axes)]
        inner = node.back(places)
        if [(i, a) for i, a in zip(places, node.axes) if a] != \
                [(i, a) for i, a in zip(inner, node.view.axes) if a]:
            break
        node = node.view
    return node


def _plain(node):
    """Whether its text is so short that it is no equation: a number, a place."""
    return not node.whole and node.integer or not node.axes and node.view is None and \
        not node.whole


def _folded(lines):
    """Lines of at most 100 columns where they can be broken inside of brackets."""
    for line in lines:
        indent = ""
        while len(indent + line) > 98:
            depth, place = 0, 0
            for i, c in enumerate(line[:96 - len(indent)]):
                depth += (c in "([") - (c in ")]")
                if c == " " and depth > 0 and i > 8:
                    place = i
            if not place:
                break
            yield indent + line[:place]
            line, indent = line[place + 1:], "    "
        yield indent + line


def number_text(value, sizes=()):
    """A Python number as a text, and how it binds; what comes from a length is said by it."""
    if isinstance(value, float) and not math.isfinite(value):
        text = "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
        return text, SUM if value < 0 else ATOM
    for axis, size in sizes if isinstance(value, float) else ():
        if size > 4 and math.isclose(value, size**-0.5, rel_tol=1e-15):
            return f"1 / sqrt({axis.upper()})", PRODUCT
        if size > 4 and math.isclose(value, size**0.5, rel_tol=1e-15) and value != int(value):
            return f"sqrt({axis.upper()})", ATOM
    for axis, size in sizes if len(repr(value)) > 10 else ():
        near = round(value * size, 12)
        if size > 4 and len(repr(near)) < 7 and math.isclose(near / size, value, rel_tol=1e-15):
            return f"{number_text(near)[0]} / {axis.upper()}", PRODUCT
    for axis, size in sizes:
        if size > 10 and value == size:
            return axis.upper(), ATOM
    if value == int(value) and abs(value) < 2**53:
        text = str(int(value))
    else:
        text = repr(float(value)).replace("e-0", "e-").replace("e+0", "e+").replace("e+", "e")
    return text, UNARY if value < 0 else ATOM
