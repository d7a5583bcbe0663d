"""Functions whose gradient somebody has written, custom_vjp and custom_jvp: what they hand back is
compared with differences of the function itself, in fp64, at what they were called with.

In a jaxpr nothing is left of them. So while a step is traced each of their arguments passes through
a primitive that does nothing, and says where it is; what runs the equations finds the numbers there.
"""

import contextlib

import numpy as np

import jax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from .. import slopes
from ..jaxpr import _with_fp64

_LARGEST = 2**18  # elements of the arguments of a function that is run again
_CALLS = 2        # of each function, in a step

mark = Primitive("halfcheck_mark")
mark.def_impl(lambda x, **_: x)
mark.def_abstract_eval(lambda x, **_: x)
ad.primitive_jvps[mark] = lambda given, tangents, **params: (mark.bind(*given, **params),
                                                             tangents[0])
batching.primitive_batchers[mark] = lambda given, dims, batched, **params: (
    mark.bind(*given, batched=(*batched, dims[0]), **params), dims[0])
mlir.register_lowering(mark, lambda _, x, **__: [x])  # for traces that jax keeps


class Written:
    """The calls of such functions, while a step is traced."""

    def __init__(self):
        self.calls = []
        self.values = {}

    @contextlib.contextmanager
    def listening(self):
        """Marks what such functions are given."""
        kinds = (jax.custom_vjp, jax.custom_jvp)
        before = [kind.__call__ for kind in kinds]
        for kind, own in zip(kinds, before):
            kind.__call__ = self._around(own)
        try:
            yield
        finally:
            for kind, own in zip(kinds, before):
                kind.__call__ = own

    def _around(self, own):
        def called(function, *args, **kwargs):
            inner = getattr(function, "fun", None)
            home = str(getattr(inner, "__module__", "") or "").split(".")[0]
            if home in ("jax", "jaxlib") or sum(
                    call[0] is function for call in self.calls) >= _CALLS:
                return own(function, *args, **kwargs)
            leaves, tree = jax.tree.flatten((args, kwargs))
            number = len(self.calls)
            self.calls.append((function, own, leaves, tree))
            leaves = [mark.bind(leaf, number=number, place=place, batched=())
                      if _is_array(leaf) else leaf for place, leaf in enumerate(leaves)]
            args, kwargs = jax.tree.unflatten(tree, leaves)
            return own(function, *args, **kwargs)
        return called

    def met(self, value, number, place, batched):
        """Keeps a number that a function is called with: of those of a vmap the first one."""
        for axis in reversed(batched):
            value = value if axis is None else np.take(np.asarray(value), 0, axis)
        self.values[number, place] = np.asarray(value)

    def wrong(self):
        """Names of functions; of each None and why it was not tried, or the argument, what
        differences say, and what the function says."""
        for number, (function, own, leaves, tree) in enumerate(self.calls):
            name = getattr(function.fun, "__qualname__", type(function).__name__)
            given = [self.values.get((number, place), leaf) for place, leaf in enumerate(leaves)]
            if any(isinstance(leaf, jax.core.Tracer) for leaf in given):
                yield name, "it lies where no equation runs", None
                continue
            if sum(np.size(leaf) for leaf in given if _is_array(leaf)) > _LARGEST:
                yield name, "its arguments are large", None
                continue
            try:
                with _with_fp64(jax):
                    found = _derivative(lambda *args, **kwargs: own(function, *args, **kwargs),
                                        given, tree)
            except Exception as error:  # a function may refuse fp64
                yield name, f"its derivative cannot be tried: {type(error).__name__}", None
                continue
            yield name, None, found


def _is_array(leaf):
    return isinstance(leaf, (jax.Array, np.ndarray, np.generic))


def _derivative(function, given, tree):
    """Compares what a function's gradient says with differences of the function, along three
    directions of each argument, near a point that it was called at: at the point itself a mask or a
    rectified zero may be a corner. Returns None, or of the argument that is off its number, the
    difference and what the gradient says.

    Differences over three widths tell how far they are off themselves; beyond eight times that, and
    64 roundings of the terms of the sum, in all three directions, it is another function."""
    random = np.random.default_rng(0)
    wide = [leaf.astype(np.float64) if _is_array(leaf) and jax.numpy.issubdtype(
        leaf.dtype, jax.numpy.floating) else leaf for leaf in given]
    scales = {i: float(np.sqrt(np.mean(np.square(leaf)))) or 1.0 for i, leaf in enumerate(wide)
              if isinstance(leaf, np.ndarray) and leaf.dtype == np.float64 and leaf.size}
    def value(*moved):
        leaves = list(wide)
        for i, leaf in zip(scales, moved):
            leaves[i] = leaf
        args, kwargs = jax.tree.unflatten(tree, leaves)
        outputs = [y for y in jax.tree.leaves(function(*args, **kwargs))
                   if jax.numpy.issubdtype(y.dtype, jax.numpy.floating)]
        if any(y.dtype != np.float64 for y in outputs):
            raise TypeError("it computes in fp32 whatever its arguments are")
        return outputs

    args, kwargs = jax.tree.unflatten(tree, given)
    ours = [y for y in map(np.asarray, jax.tree.leaves(function(*args, **kwargs)))
            if jax.numpy.issubdtype(y.dtype, jax.numpy.floating)]
    for y, want in zip(ours, value(*(wide[i] for i in scales))):
        if not np.linalg.norm(y.astype(np.float64) - want) <= np.linalg.norm(want) / 4:
            raise ArithmeticError("it is another function in fp64")
    for i, scale in scales.items():
        wide[i] = wide[i] + scale / 64 * random.standard_normal(wide[i].shape)
    outputs, back = jax.vjp(value, *(wide[i] for i in scales))
    weights = [random.standard_normal(y.shape) for y in outputs]
    gradients = back([jax.numpy.asarray(w) for w in weights])
    for i, gradient in zip(scales, gradients):
        off = [_off(value, [wide[j] for j in scales], list(scales).index(i), scales[i],
                    np.asarray(gradient), weights, random) for _ in range(3)]
        if all(off):
            return i, *max(off, key=lambda pair: abs(pair[0] - pair[1]))
    return None


def _off(value, point, i, scale, gradient, weights, random):
    """The difference along a direction, and what the gradient says of it, if they differ."""
    along = random.standard_normal(point[i].shape)

    def terms(moved):
        inputs = list(point)
        inputs[i] = inputs[i] + moved * along
        weighted = [np.asarray(y) * w for y, w in zip(value(*inputs), weights)]
        return (float(sum(t.sum() for t in weighted)),
                float(sum(np.abs(t).sum() for t in weighted)))

    return slopes.parts(terms, scale, float((gradient * along).sum()))
