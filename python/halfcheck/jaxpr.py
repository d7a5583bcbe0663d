"""What a plain function of jax computes, as a graph of halfcheck.graphs: its jaxpr is read, and each
primitive has a text. A cast to a wider format is none; one to a narrower format is the function of
that name. It is traced with numbers of fp64, so that constants of the function stay what they are.
"""

import contextlib

import numpy as np

from . import elementwise, reductions, views
from .graphs import ATOM, PRODUCT, SUM, Node, Untold

_E, _V = elementwise.OPERATORS, views.OPERATORS

# Primitives that are an operator of torch's by another name, without parameters.
_SAME = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "neg": "neg", "exp": "exp",
         "log": "log", "log1p": "log1p", "expm1": "expm1", "tanh": "tanh", "logistic": "sigmoid",
         "erf": "erf", "sqrt": "sqrt", "rsqrt": "rsqrt", "sin": "sin", "cos": "cos", "abs": "abs",
         "sign": "sign", "floor": "floor", "max": "maximum", "min": "minimum", "square": "square",
         "exp2": "exp2", "pow": "pow", "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt",
         "ge": "ge", "and": "logical_and", "or": "logical_or", "not": "logical_not"}
_INSIDE = ("jaxpr", "call_jaxpr", "fun_jaxpr")
_NOTHING = {"copy", "copy_p", "optimization_barrier", "sharding_constraint", "reduce_precision"}


def trace(function, arguments, graph, nodes):
    """The nodes of what a function gives, by its jaxpr."""
    import jax

    wide = [array.astype(np.int64 if array.dtype.kind in "iu" else np.float64)
            for array in arguments]
    with _with_fp64(jax):
        closed = jax.make_jaxpr(function)(*wide)
        results = _Reader(graph).read(closed.jaxpr, closed.consts, nodes)
    return [graph.number(node) if not isinstance(node, Node) else node for node in results]


def _with_fp64(jax):
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    with contextlib.suppress(ImportError):
        from jax.experimental import enable_x64
        return enable_x64()
    raise ImportError("this version of jax has no enable_x64")


def _scalar(value):
    """A constant as a number of Python: the decimal that it was written as."""
    array = np.asarray(value)
    if array.size != 1:
        raise Untold(f"a constant of {array.size} elements")
    number = array.reshape(())[()].item()
    if isinstance(number, float) and np.isfinite(number) and float(np.float32(number)) == number:
        number = float(str(np.float32(number)))
    return number


class _Reader:
    """Reads equations, whose variables are nodes, or numbers where they are the same always."""

    def __init__(self, graph):
        self.graph = graph

    def read(self, jaxpr, consts, inputs):
        known = dict(zip(jaxpr.constvars, map(_scalar, consts)))
        known.update(zip(jaxpr.invars, inputs))

        def value(var):
            return _scalar(var.val) if hasattr(var, "val") else known[var]
        for equation in jaxpr.eqns:
            made = self.equation(equation, [value(var) for var in equation.invars])
            for var, node in zip(equation.outvars,
                                 made if isinstance(made, (list, tuple)) else [made]):
                known[var] = node
        return [value(var) for var in jaxpr.outvars]

    def equation(self, equation, given):
        name, params = equation.primitive.name, equation.params
        inner = next((params[key] for key in _INSIDE if params.get(key) is not None), None)
        if inner is not None and name not in ("scan", "while", "cond"):
            return self.read(getattr(inner, "jaxpr", inner), getattr(inner, "consts", []), given)
        shape = equation.outvars[0].aval.shape
        if not any(isinstance(x, Node) for x in given) and not shape and given and \
                len(equation.outvars) == 1:
            return _scalar(equation.primitive.bind(*map(np.asarray, given), **params))
        if name in _NOTHING:
            return given[0]
        build = getattr(self, "_" + name, None)
        if build is not None:
            return build(given, params, shape)
        if name in _SAME:
            return _E[_SAME[name]](self.graph, *given)
        raise Untold(name)

    # elements

    def _sub(self, given, *_):
        made = _E["sub"](self.graph, *given)
        of, exponentials = getattr(given[1], "shifts", (None, None))
        if of is not None and of is given[0]:
            made.exponential = exponentials
        return made

    def _exp(self, given, *_):
        x = given[0]
        return getattr(x, "exponential", None) or _E["exp"](self.graph, x)

    def _div(self, given, *_):
        """A sum divided by the number of its terms is a mean."""
        a, b = given
        x, dims, keep = getattr(a, "sums", (None, (), False))
        if x is not None and not isinstance(b, Node) and \
                b == np.prod([self.graph.size(x.axes[d]) for d in dims]):
            return reductions.OPERATORS["mean"](self.graph, x, list(dims), keep)
        return _E["div"](self.graph, a, b)

    def _max(self, given, *_):
        """max(-inf, m) is m."""
        rest = [x for x in given if not (isinstance(x, float) and x == -np.inf)]
        return rest[0] if len(rest) == 1 else _E["maximum"](self.graph, *given)

    def _integer_pow(self, given, params, _):
        return _E["pow"](self.graph, given[0], params["y"])

    def _is_finite(self, given, *_):
        made = self.graph.each("isfinite({0})", given[0], truth=True)
        made.finite = given[0]
        return made

    def _lt(self, given, *_):
        made = _E["lt"](self.graph, *given)
        if not isinstance(given[1], Node) and given[1] == 0:
            made.negative = given[0]
        return made

    def _select_n(self, given, *_):
        """Of a truth the case for false comes first. An index counted from the end is none, since
        places are never negative; and of what is infinite no maximum is taken for a shift."""
        which, *cases = given
        if len(cases) != 2:
            raise Untold("select_n of more than two cases")
        if not isinstance(which, Node):
            return cases[bool(which)]
        if getattr(which, "negative", None) is cases[0] and cases[0].integer:
            return cases[0]
        if getattr(which, "finite", None) is cases[1] and hasattr(cases[1], "largest"):
            return cases[1]
        cases = [self.graph.number(x) if not isinstance(x, Node) else x for x in cases]
        return elementwise.where(self.graph, which, cases[1], cases[0])

    def _convert_element_type(self, given, params, _):
        kind = str(np.dtype(params["new_dtype"]))
        x = given[0]
        if kind == "bool" and x.truth:
            return x
        if kind == "bool":
            return self.graph.each("{0} != 0", x, binds=SUM, needs=[PRODUCT], truth=True)
        name = {"bfloat16": "bf16", "float16": "fp16", "float8_e4m3fn": "e4m3",
                "float8_e5m2": "e5m2"}.get(kind)
        return self.graph.each(f"{name}({{0}})", x) if name else x

    def _stop_gradient(self, given, *_):
        """jax takes the maximum off before exponentials, and says so by this."""
        x = given[0]
        of, dims, keep = getattr(x, "largest", (None, (), False))
        if of is None or len(dims) != 1:
            return x
        m, e = reductions._exponentials(self.graph, of, dims[0])
        m = m if keep else views.squeeze(self.graph, m, dims[0])
        m.shifts = of, e
        return m

    # reductions and products

    def _reduce(self, word, given, params, remember=None):
        x, dims = given[0], list(params["axes"])
        if not dims:
            return x
        made = self.graph.over(word, x, dims, hint={"sum": "l", "max": "m"}.get(word, "a"))
        if remember:
            setattr(made, remember, (x, tuple(dims), False))
        return made

    def _reduce_sum(self, given, params, _):
        return self._reduce("sum", given, params, "sums")

    def _reduce_max(self, given, params, _):
        return self._reduce("max", given, params, "largest")

    def _reduce_min(self, given, params, _):
        return self._reduce("min", given, params)

    def _reduce_prod(self, given, params, _):
        return self._reduce("prod", given, params)

    def _reduce_or(self, given, params, _):
        return self._reduce("any", given, params)

    def _reduce_and(self, given, params, _):
        return self._reduce("all", given, params)

    def _cumsum(self, given, params, _):
        x, d, graph = given[0].used(), params["axis"], self.graph
        sign = ">=" if params["reverse"] else "<="
        u = graph.new_axis(graph.size(x.axes[d]))

        def at(i):
            inner = graph.real(x, [*i[:d], u, *i[d + 1:]], SUM)
            return f"sum({u} {sign} {i[d]}: {inner})", ATOM
        return Node(list(x.axes), at, whole=True)

    def _dot_general(self, given, params, _):
        (over_a, over_b), (with_a, with_b) = params["dimension_numbers"]
        graph = self.graph
        a, b = (x.used() for x in given)
        free_a = [d for d in range(len(a.axes)) if d not in (*over_a, *with_a)]
        free_b = [d for d in range(len(b.axes)) if d not in (*over_b, *with_b)]
        axes = graph.apart([*(a.axes[d] or b.axes[e] for d, e in zip(with_a, with_b)),
                            *(a.axes[d] for d in free_a), *(b.axes[d] for d in free_b)])
        summed = []
        for d, e in zip(over_a, over_b):
            axis = a.axes[d] or b.axes[e]
            summed.append(axis and graph.apart([axis], without=[*axes, *summed])[0])

        def at(i):
            batch, rest = i[:len(with_a)], i[len(with_a):]
            places = [axis or "0" for axis in summed]
            texts = []
            for x, over, along, free, own in ((a, over_a, with_a, free_a, rest[:len(free_a)]),
                                              (b, over_b, with_b, free_b, rest[len(free_a):])):
                at_dim = {**dict(zip(over, places)), **dict(zip(along, batch)),
                          **dict(zip(free, own))}
                texts.append(graph.real(x, [at_dim[d] for d in range(len(x.axes))], PRODUCT))
            names = ", ".join(axis for axis in summed if axis)
            text = " * ".join(texts)
            return (f"sum({names}: {text})", ATOM) if names else (text, PRODUCT)
        return Node(axes, at, whole=True, hint="s")

    # places

    def _broadcast_in_dim(self, given, params, _):
        shape, to, graph = params["shape"], params["broadcast_dimensions"], self.graph
        x = given[0]
        if not isinstance(x, Node):
            return views.constant()(graph, shape, x)
        own = {d: axis for d, axis in zip(to, x.axes)}
        axes = [own[d] if d in own and graph.size(own[d]) == n else graph.axis_of(n)
                for d, n in enumerate(shape)]
        made = graph.view(x, axes, lambda i: ["0" if graph.size(axis) == 1 else i[d]
                                              for d, axis in zip(to, x.axes)])
        made.constant = x.constant
        for what in ("sums", "largest"):
            of, dims, keep = getattr(x, what, (None, (), False))
            if of is not None and not keep and len(shape) == len(of.axes) and all(
                    (n == 1) == (d in dims) or n == graph.size(of.axes[d])
                    for d, n in enumerate(shape)) and all(shape[d] == 1 for d in dims):
                setattr(made, what, (of, dims, True))
        if hasattr(x, "shifts"):
            made.shifts = x.shifts
        return made

    def _reshape(self, given, params, _):
        return views.reshape(self.graph, given[0], list(params["new_sizes"]))

    def _squeeze(self, given, params, _):
        return views.squeeze(self.graph, given[0], list(params["dimensions"]))

    def _expand_dims(self, given, params, _):
        x = given[0]
        for d in sorted(params["dimensions"]):
            x = views.unsqueeze(self.graph, x, d)
        return x

    def _transpose(self, given, params, _):
        return _V["permute"](self.graph, given[0], list(params["permutation"]))

    def _slice(self, given, params, _):
        x = given[0]
        steps = params["strides"] or [1] * len(x.axes)
        for d, (start, end, step) in enumerate(zip(params["start_indices"],
                                                   params["limit_indices"], steps)):
            x = _V["slice"](self.graph, x, d, start, end, step)
        return x

    def _split(self, given, params, _):
        return _V["split_with_sizes"](self.graph, given[0], [int(n) for n in params["sizes"]],
                                      params["axis"])

    def _concatenate(self, given, params, _):
        made = _V["cat"](self.graph, given, params["dimension"])
        made.parts = given, params["dimension"]
        return made

    def _rev(self, given, params, _):
        return _V["flip"](self.graph, given[0], params["dimensions"])

    def _pad(self, given, params, _):
        x, value = given
        if any(inner for _, _, inner in params["padding_config"]) or isinstance(value, Node):
            raise Untold("pad between elements, or by what is computed")
        widths = [n for low, high, _ in reversed(params["padding_config"]) for n in (low, high)]
        return _V["constant_pad_nd"](self.graph, x, widths, self.graph.number(value).at([])[0])

    def _iota(self, _, params, shape):
        d = params["dimension"]
        axes = self.graph.apart([self.graph.axis_of(n) for n in shape])
        return Node(axes, lambda i: (i[d], ATOM), integer=True)

    def _gather(self, given, params, shape):
        """Elements by indices: each index chooses a place along its dimension, of which one remains;
        the other dimensions are whole."""
        x, index = given
        numbers, graph = params["dimension_numbers"], self.graph
        chosen = list(numbers.start_index_map)
        sizes = [graph.size(axis) for axis in x.axes]
        if sorted(chosen) != sorted(numbers.collapsed_slice_dims) or any(
                n != sizes[d] for d, n in enumerate(params["slice_sizes"]) if d not in chosen):
            raise Untold("gather of more than elements and whole rows")
        x.used()
        index.used()
        whole = [d for d in range(len(sizes)) if d not in chosen]
        own = [d for d in range(len(shape)) if d not in numbers.offset_dims]
        out = [None] * len(shape)
        for d, axis in zip(own, index.axes):
            out[d] = axis
        for d, e in zip(numbers.offset_dims, whole):
            out[d] = x.axes[e]
        parts, along = getattr(index, "parts", (None, None))
        alone = parts if parts and along == len(index.axes) - 1 and all(
            graph.size(part.axes[-1]) == 1 for part in parts) else None

        def at(i):
            rows = [i[d] for d in own]
            places = dict(zip(whole, (i[d] for d in numbers.offset_dims)))
            for k, d in enumerate(chosen):
                node, last = (alone[k], "0") if alone else (index, str(k))
                places[d] = graph.text(node, [p if graph.size(axis) > 1 else "0" for p, axis in
                                              zip(rows, node.axes[:-1])] + [last])
            return graph.read(x, [places[d] for d in range(len(sizes))])
        return Node(graph.apart(out), at)
