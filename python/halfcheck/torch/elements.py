"""Elementwise operators: chosen elements of a call, and the text of what they are.

The texts are those from which `check(kernel, like=plain)` makes definitions
(halfcheck.elementwise), and a few more of operators that only a training calls."""

import functools
import math

import torch

from .. import elementwise
from ..graphs import ATOM, PRODUCT, SUM, Graph, Node, Untold
from . import slices


def _own(template):
    """An operator on elements; what the template does not name is left out."""
    count = max(int(c) for c in template if c.isdigit() and f"{{{c}}}" in template) + 1

    def build(g, *given, **_):
        return g.each(template, *given[:count], binds=SUM, needs=[ATOM] * count)
    return build


def _gelu_backward(g, dy, x, approximate="none"):
    if approximate != "none":
        raise Untold("gelu_backward by tanh")
    return g.each("{0} * (0.5 * (1 + erf({1} / sqrt(2)))"
                  " + {1} * exp(-0.5 * {1} * {1}) / sqrt(2 * pi))",
                  dy, x, binds=PRODUCT, needs=[ATOM, ATOM])


def _pow(g, x, power):
    """By exp and log where the exponent is no whole number."""
    if isinstance(x, Node) and not isinstance(power, Node):
        if power == 1:
            return g.each("{0}", x, binds=SUM)
        if power != int(power) and power not in (0.5, -0.5, 1.5):
            return g.each("select({0} > 0, exp({1} * log({0})), select({0} == 0, {2}, nan))", x,
                          power, 0 if power > 0 else math.inf, needs=[ATOM, ATOM])
    if not isinstance(x, Node) and isinstance(power, Node) and x > 0:
        return g.each("exp({1} * log({0}))", x, power, needs=[SUM, ATOM])
    return elementwise.OPERATORS["pow"](g, x, power)


def _scaled(g, c, a, b, value, of):
    """A sum with a product or quotient that is scaled. Kernels scale the first factor, or both."""
    if value == 1:
        return elementwise.OPERATORS["add"](g, c, g.each(of, a, b, binds=PRODUCT,
                                                         needs=[PRODUCT, ATOM]))
    first = of.format(f"({value!r} * {{1}})", "{2}")
    both = f"{value!r} * (" + of.format("{1}", "{2}") + ")"
    return g.each(f"{{0}} + either({first}, {both})", c, a, b, binds=SUM, needs=[SUM, ATOM, ATOM])


def _elu_backward(g, dy, alpha, scale, input_scale, is_result, x):
    if scale != 1 or input_scale != 1:
        raise Untold("elu with scales")
    low = "{0} * ({1} + {2})" if is_result else "{0} * {2} * exp({1})"
    return g.each(f"select({{1}} > 0, {{0}}, {low})", dy, x, alpha, binds=SUM, needs=[ATOM] * 3)


# Of integers in a definition.
_OF_INTEGERS = ("remainder", "floor_divide")

OPERATORS = {
    **{name: build for name, build in elementwise.OPERATORS.items() if name not in _OF_INTEGERS},
    "_to_copy": _own("{0}"),
    "_saturated": _own("min(max({0}, -448), 448)"),
    "addcmul": lambda g, c, a, b, value=1: _scaled(g, c, a, b, value, "{0} * {1}"),
    "addcdiv": lambda g, c, a, b, value=1: _scaled(g, c, a, b, value, "{0} / {1}"),
    "copy": lambda g, _, source, *__: g.each("{0}", source, binds=SUM),
    "elu_backward": _elu_backward,
    "gelu_backward": _gelu_backward,
    "leaky_relu_backward": _own("select({1} > 0, {0}, {0} * {2})"),
    "native_dropout_backward": lambda g, dy, mask, scale: g.each(
        "select({1}, {0} * {2}, 0)", dy, mask, scale, binds=SUM, needs=[ATOM, None, ATOM]),
    "pow": _pow,
    "sigmoid_backward": _own("{0} * (1 - {1}) * {1}"),
    "silu_backward": _own("{0} * (1 / (1 + exp(-{1}))) * (1 + {1} * (1 - 1 / (1 + exp(-{1}))))"),
    "softplus_backward": _own(
        "select({1} * {2} > {3}, {0}, {0} / (1 + exp(-({1} * {2}))))"),
    "tanh_backward": _own("{0} * (1 - {1} * {1})"),
    "threshold_backward": _own("select({1} <= {2}, 0, {0})"),
}

FORMATS = {torch.float64: "fp64", torch.float32: "fp32", torch.bfloat16: "bf16",
           torch.float16: "fp16"}
for _name, _format in (("float8_e4m3fn", "e4m3"), ("float8_e5m2", "e5m2")):
    if hasattr(torch, _name):
        FORMATS[getattr(torch, _name)] = _format


WHOLE = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)

NUMBERS, TRUTHS = object(), object()  # in place of a tensor of them


@functools.lru_cache(maxsize=4096)
def _text(name, names, given, keywords):
    """The definition of an operator on such arguments, and which of them it reads under which name;
    None if it has no text. names: the arguments' own."""
    build = OPERATORS.get(name)
    graph, inputs = Graph({"i": 2}), []

    def node(place):
        if given[place] not in (NUMBERS, TRUTHS):
            return given[place]
        made = Node(["i"], None)
        made.name = graph.new_name(names[place])
        inputs.append((place, made))
        if given[place] is NUMBERS:
            return made
        return graph.each("{0} != 0", made, binds=SUM, needs=[PRODUCT], truth=True)

    try:
        if build is None:
            return None
        made = build(graph, *map(node, range(len(given))), **dict(keywords))
        made = made[0] if isinstance(made, tuple) else made
        used = [(place, one.name) for place, one in inputs if one.uses]
        if not used or made.truth:
            return None
        text, _ = graph.source([(made, None)], graph.new_name(name.lstrip("_")),
                               [f"{one}[i]" for _, one in used])
    except Untold:
        return None
    return text, used


def _asked(name, names, args, keywords, where, shape):
    """The question about the elements at `where`, without their results, or None."""
    given = []
    for value in args:
        if isinstance(value, torch.Tensor) and value.dim() == 0 and shape:
            value = value.item()
        if isinstance(value, torch.Tensor):
            if value.dtype not in FORMATS and value.dtype not in WHOLE:
                return None
            value = TRUTHS if value.dtype == torch.bool else NUMBERS
        given.append(value)
    try:
        found = _text(name, tuple(names), tuple(given), tuple(keywords.items()))
    except TypeError:  # an argument that is a list
        return None
    if found is None:
        return None
    text, used = found
    inputs = {one: slices.at(args[place], where, shape) for place, one in used}
    for one, taken in inputs.items():
        if taken.dtype in WHOLE:
            if taken.dtype != torch.bool and bool((taken.abs() > 1 << 24).any()):
                return None  # fp32 has not all of these
            inputs[one] = taken.float()
    return slices.Question(text, inputs, {}, own=True)


def _with_results(question, tensor, where):
    name = question.text.rstrip().rsplit(" ", 1)[1]
    # Of a single number there are no indices, and what is taken is no copy yet.
    found = slices.taken(tensor, where).reshape(-1).detach()
    question.results = {name: found.to("cpu", copy=not where)}
    return [question]


def _in_a_row(given, result):
    """Arguments and a result as rows of numbers, if all that is no single number lies in memory as
    the result does: elements of a row are gathered in half the time."""
    if result.dim() < 2 or not result.is_contiguous() or not all(
            value.shape == result.shape and value.is_contiguous() or not value.dim()
            for value in given if isinstance(value, torch.Tensor)):
        return given, result
    return [value.view(-1) if isinstance(value, torch.Tensor) and value.dim() else value
            for value in given], result.view(-1)


def ask(name, names, call):
    """The questions of a call whose inputs are as they were, or None."""
    y = call.results[0]
    if y.dtype not in FORMATS or not y.numel():
        return None
    given, y = _in_a_row(call.given, y)
    where = call.chosen(y)
    if name == "_to_copy" and FORMATS[y.dtype] == "e4m3":
        # Beyond its range a cast to e4m3 may saturate, or make NaN: the format's paper has both.
        name, got = "_saturated", slices.taken(y, where).float()
        kept = ~(got.isnan() & (given[0][where].abs() > 448)).reshape(-1)
        where = tuple(index[kept] for index in where)
    question = _asked(name, names, given, call.keywords, where, y.shape)
    return question and _with_results(question, y, where)


def before(name, names, call, target=None):
    """Of an operator that writes into its first argument, or into `target`: gathers what its
    elements were, and returns what asks once it has run."""
    target = call.given[0] if target is None else target
    if target.dtype not in FORMATS or not target.numel():
        return lambda: None
    given, target = _in_a_row(call.given, target)
    where = call.chosen(target, values=False)
    question = _asked(name, names, given, call.keywords, where, target.shape)
    return lambda: question and _with_results(question, target, where)


def one_of(values, i, count):
    """The i-th of each list of so many, of an operator that is applied to lists of tensors."""
    return [value[i] if isinstance(value, (tuple, list)) and len(value) == count else value
            for value in values]
