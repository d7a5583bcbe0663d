"""Definitions from plain functions of torch or jax: what `check(kernel, like=plain)` judges by."""

import contextlib
import inspect
import re

import numpy as np

from . import jaxpr
from .arrays import kind_of
from .graphs import Graph, Node, Untold
from .traced import trace

# Lengths at which a text is shown, times four: each says what it is, and so do their differences.
_PRIMES = (11, 13, 17, 29, 37, 59, 73, 113, 151)
# Names of axes that nobody has named.
_AXES = "tudhnceijklmrsvabgopqz"
_INPUT = re.compile(r"\s*([A-Za-z]\w*)\s*(?:\[([^\]]*)\])?\s*(:\s*index(?:\s+([a-z]+))?)?\s*")


class Head:
    """The inputs of a definition as its first line has them: "x[t, d], id[n]: index v"."""

    def __init__(self, text):
        self.rows, self.texts = [], []
        for part in re.split(r",(?![^\[]*\])", text):
            found = _INPUT.fullmatch(part)
            if not found:
                raise ValueError(f"inputs={text!r}: {part.strip()!r} is no input; they are written "
                                 'as in a definition, "x[t, d], id[n]: index v"')
            name, axes, index, along = found.groups()
            axes = [axis.strip() for axis in axes.split(",")] if axes else []
            self.rows.append((name, axes, bool(index), along))
            self.texts.append(name + (f"[{', '.join(axes)}]" if axes else "") + (
                "" if not index else f": index {along}" if along else ": index"))
        self.axes = list(dict.fromkeys(axis for row in self.rows for axis in row[1]))

    def numbers(self, sizes):
        """Small numbers of these shapes, on which a function can run."""
        rng = np.random.default_rng(0)
        for _, axes, index, along in self.rows:
            shape = tuple(sizes[axis] for axis in axes)
            yield rng.integers(0, sizes.get(along, 2), shape) if index else \
                rng.random(shape).astype("f") + 0.5


def head_of(function, arrays):
    """The head for arrays by name, or in the order of the function's parameters: axes of one length
    are one, but for those of one array."""
    known = {}
    with contextlib.suppress(TypeError, ValueError):
        known = inspect.signature(function).parameters
    if isinstance(arrays, dict):
        names = list(arrays) if set(arrays) - set(known) else [n for n in known if n in arrays]
        arrays = [arrays[name] for name in names]
    else:
        names = list(known)[:len(arrays)]
        # *args and their like name no input.
        plain = all(known[n].kind not in (inspect.Parameter.VAR_POSITIONAL,
                                          inspect.Parameter.VAR_KEYWORD) for n in names)
        if len(names) < len(arrays) or not plain:
            names = [f"x{i}" for i in range(len(arrays))]
    names = [re.sub(r"\W", "", name).lstrip("_0123456789") or "x" for name in names]
    letters = iter([c for c in _AXES if c not in names] + [f"i{n}" for n in range(99)])
    axes, texts = {}, []
    for name, array in zip(names, arrays):
        own = []
        for size in array.shape:
            number = sum(axis[0] == size for axis in own)
            key = size, number
            if key not in axes:
                axes[key] = next(letters)
            own.append(key)
        texts.append(name + (f"[{', '.join(axes[key] for key in own)}]" if own else "") +
                     (": index" if array.dtype.kind in "iub" else ""))
    return Head(", ".join(texts))


def text_of(function, head, sizes, formats=None):
    """The text of a definition that computes what a function does on inputs of these sizes, and the
    shapes of its results. formats: those of the results, where they are not the tensors'."""
    graph = Graph({axis: sizes[axis] for axis in head.axes})
    name = re.sub(r"\W", "", getattr(function, "__name__", "").lower()).lstrip("_0123456789")
    name = graph.new_name(name or "plain")
    nodes, arguments = [], []
    for (given, axes, index, _), array in zip(head.rows, head.numbers(sizes)):
        node = Node(axes, None, integer=index)
        node.name = given
        graph.taken.add(given)
        nodes.append(node)
        arguments.append(np.asarray(array))
    try:
        results = _nodes_of(function, arguments, graph, nodes)
    except Untold as untold:
        raise TypeError(f"{_called(function)} uses {untold}, of which halfcheck has no text: write "
                        "the definition, or say it in other operators") from None
    if any(node.truth for node in results):
        raise TypeError(f"{_called(function)} gives truths, and a definition has numbers")
    return graph.source(list(zip(results, formats or [None] * len(results))), name, head.texts)


def _nodes_of(function, arguments, graph, nodes):
    """Those of its results, by the operators that it calls, or by its jaxpr."""
    if kind_of([function]) == "jax":
        return jaxpr.trace(function, arguments, graph, nodes)
    import torch

    return trace(function, [torch.from_numpy(array) for array in arguments], graph, nodes)[0]


def shown(function, head, sizes=None):
    """The text at lengths that tell the axes apart; at `sizes` where the function takes none of
    these."""
    refusal = None
    for own in [{axis: factor * _PRIMES[i] for i, axis in enumerate(head.axes)}
                for factor in (4, 1, 8)] + ([sizes] if sizes else []):
        try:
            return text_of(function, head, own)[0]
        except (RuntimeError, ValueError, IndexError, AssertionError) as error:
            refusal = refusal or error
    raise refusal


def _called(function):
    return getattr(function, "__name__", "the function")
