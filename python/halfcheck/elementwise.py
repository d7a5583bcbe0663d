"""Texts of torch's operators on elements: sums, functions, choices, comparisons."""

import math
import re

from .graphs import ATOM, PRODUCT, SUM, UNARY, Node, Untold


def _unary(template, binds=ATOM, need=SUM):
    return lambda g, x, *_, **__: g.each(template, x, binds=binds, needs=[need])


def _binary(template, binds, left, right, **more):
    return lambda g, a, b, **_: g.each(template, a, b, binds=binds, needs=[left, right], **more)


def _logic(template):
    def build(g, a, b):
        a, b = (o if not isinstance(o, Node) or o.truth else
                g.each("{0} != 0", o, binds=SUM, needs=[PRODUCT], truth=True) for o in (a, b))
        return g.each(template, a, b, binds=SUM, needs=[ATOM, ATOM], truth="logic")
    return build


def plus(template):
    sign = _binary(template, SUM, SUM, PRODUCT)

    def build(g, a, b, alpha=1):
        whole = all(not isinstance(o, Node) or o.integer for o in (a, b)) and not isinstance(
            b, float)
        if alpha != 1:
            b = g.each("{0} * {1}", alpha, b, binds=PRODUCT, needs=[PRODUCT, UNARY])
        made = sign(g, a, b)
        made.integer = whole
        return made
    return build


def times(g, a, b):
    made = g.each("{0} * {1}", a, b, binds=PRODUCT, needs=[PRODUCT, UNARY])
    made.integer = all(isinstance(o, int) or isinstance(o, Node) and o.integer for o in (a, b))
    return made


def quotient(g, a, b, rounding_mode=None):
    made = g.each("{0} / {1}", a, b, binds=PRODUCT, needs=[PRODUCT, UNARY])
    if rounding_mode == "floor":
        return g.each("floor({0})", made, integer=True)
    if rounding_mode is not None:
        raise Untold(f"div with rounding_mode={rounding_mode!r}")
    return made


def _pow(g, x, power):
    texts = {-1: ("1 / {0}", PRODUCT), 0.5: ("sqrt({0})", ATOM), -0.5: ("1 / sqrt({0})", PRODUCT),
             1.5: ("{0} * sqrt({0})", PRODUCT)}
    if not isinstance(power, Node) and power == 1:
        return x
    if not isinstance(power, Node) and power in texts:
        text, binds = texts[power]
        return g.each(text, x, binds=binds, needs=[UNARY if power in (-1, 1.5) else SUM])
    if not isinstance(power, Node) and power == int(power) and 1 <= abs(power) <= 9:
        text = f"{{0}}^{int(abs(power))}"
        return g.each(f"1 / {text}" if power < 0 else text, x,
                      binds=PRODUCT if power < 0 else UNARY, needs=[ATOM])
    raise Untold("pow with an exponent that is no whole number from 1 to 9, nor 1/2")


def _sigmoid(g, x):
    return g.each("1 / (1 + exp(-{0}))", x, binds=PRODUCT, needs=[UNARY])


def _gelu(g, x, approximate="none"):
    if approximate == "tanh":
        return g.each("0.5 * {0} * (1 + tanh(sqrt(2 / pi) * ({0} + 0.044715 * {1}^3)))", x, x,
                      binds=PRODUCT, needs=[ATOM, ATOM])
    return g.each("0.5 * {0} * (1 + erf({0} / sqrt(2)))", x, binds=PRODUCT, needs=[ATOM])


def _clamp(g, x, low=None, high=None):
    if low is not None:
        x = g.each("max({0}, {1})", x, low)
    return x if high is None else g.each("min({0}, {1})", x, high)


def _softplus(g, x, beta=1, threshold=20):
    if beta == 1:
        return g.each("select({0} > {1}, {0}, log1p(exp({0})))", x, threshold,
                      needs=[PRODUCT, PRODUCT])
    return g.each("select({0} * {2} > {1}, {0}, log1p(exp({0} * {2})) / {2})", x, threshold, beta,
                  needs=[PRODUCT, PRODUCT, UNARY])


def _lerp(g, a, b, w):
    """From the nearer end, as torch does: no sum of the two cancels."""
    if isinstance(w, (int, float)) and abs(w) >= 0.5:
        return g.each("{1} - ({1} - {0}) * (1 - {2})", a, b, w, binds=SUM,
                      needs=[PRODUCT, SUM, PRODUCT])
    return g.each("{0} + {2} * ({1} - {0})", a, b, w, binds=SUM, needs=[PRODUCT, SUM, UNARY])


def elu(g, x, alpha=1, scale=1, input_scale=1):
    if scale != 1 or input_scale != 1:
        raise Untold("elu with scales")
    h = g.each("tanh({0} / 2)", x, needs=[UNARY])
    low = g.each("{1} * 2 * {0} / (1 - {0})", h, alpha, binds=PRODUCT, needs=[ATOM, PRODUCT])
    return g.each("select({0} > 0, {0}, {1})", x, low, needs=[PRODUCT])


def where(g, condition, a, b):
    if not condition.truth:
        condition = g.each("{0} != 0", condition, binds=SUM, needs=[PRODUCT], truth=True)
    made = g.each("select({0}, {1}, {2})", condition, a, b, needs=[None])
    if lowest(a):
        return masked(made, b, condition)
    return masked(made, a, contrary(g, condition)) if lowest(b) else made


def lowest(x):
    """Whether it is -inf throughout."""
    if isinstance(x, Node):
        return x.constant and x.at(["0"] * len(x.axes))[0] == "-inf"
    return x == -math.inf


def filled(g, x, mask, value):
    return where(g, mask, value, x)


def masked(made, x, gone):
    """Remembers that what `made` has is -inf where `gone`, and x elsewhere: softmax leaves these
    elements out, for which a difference of infinities would have no bound."""
    made.kept = x, gone
    return made


def _kept_by(operation):
    """What is masked stays so when a number is added to it, or it is scaled."""
    def build(g, a, b, **more):
        made = operation(g, a, b, **more)
        for x, other, first in ((a, b, True), (b, a, False)):
            if hasattr(x, "kept") and not hasattr(other, "kept"):
                inner, gone = x.kept
                return masked(made, operation(g, *((inner, other) if first else (other, inner)),
                                               **more), gone)
        return made
    return build


def _scaled_mask(operation):
    """The same for products and quotients with a number above 0."""
    held = _kept_by(operation)

    def build(g, a, b, **more):
        positive = any(isinstance(o, (int, float)) and o > 0 for o in (a, b))
        return (held if positive else operation)(g, a, b, **more)
    return build


def unless(text):
    """The contrary of a comparison, or of any truth."""
    for sign, other in ((" >= ", " < "), (" <= ", " > "), (" > ", " <= "), (" < ", " >= ")):
        if re.fullmatch(r"[^<>=!]*" + sign + r"[^<>=!]*", text) and not re.search(
                r"\b(and|or|not)\b", text):
            return text.replace(sign, other)
    twice = re.fullmatch(r"not \(([^()]*(?:\([^()]*\)[^()]*)*)\)", text)
    return twice[1] if twice else f"not ({text})"


def _put(g, x, indices, value, accumulate=False):
    if len(indices) != 1 or not indices[0].truth or accumulate:
        raise Untold("index_put but by a mask")
    return filled(g, x, indices[0], value)


def selected(g, x, mask):
    made = g.each("{0}", x, binds=SUM)
    made.mask = mask.used()
    return made


def compare(sign):
    return _binary(f"{{0}} {sign} {{1}}", SUM, PRODUCT, PRODUCT, truth=True)


def contrary(g, x):
    return g.each("not {0}", x, binds=SUM, needs=[ATOM], truth="logic")


def _test(template):
    return lambda g, x: g.each(template, x, truth=True)


OPERATORS = {
    "neg": _unary("-{0}", SUM, UNARY), "exp": _unary("exp({0})"), "log": _unary("log({0})"),
    "log1p": _unary("log1p({0})"), "sqrt": _unary("sqrt({0})"), "tanh": _unary("tanh({0})"),
    "rsqrt": _unary("1 / sqrt({0})", PRODUCT), "sin": _unary("sin({0})"), "cos": _unary("cos({0})"),
    "reciprocal": _unary("1 / {0}", PRODUCT, UNARY), "erf": _unary("erf({0})"),
    "abs": _unary("abs({0})"), "relu": _unary("max({0}, 0)"), "floor": _unary("floor({0})"),
    "square": _unary("{0}^2", UNARY, ATOM), "exp2": _unary("exp({0} * log(2))", ATOM, UNARY),
    "log2": _unary("log({0}) / log(2)", PRODUCT),
    "expm1": lambda g, x: g.each(
        "2 * {0} / (1 - {0})", g.each("tanh({0} / 2)", x, needs=[UNARY]), binds=PRODUCT,
        needs=[ATOM]),
    "sigmoid": _sigmoid, "silu": _unary("{0} / (1 + exp(-{0}))", PRODUCT, UNARY), "gelu": _gelu,
    "log_sigmoid_forward": lambda g, x: (g.each("min({0}, 0) - log1p(exp(-abs({0})))", x,
                                                binds=SUM), None),
    "leaky_relu": lambda g, x, slope=0.01: g.each("select({0} > 0, {0}, {1} * {0})", x, slope,
                                                  needs=[UNARY, PRODUCT]),
    "sgn": _unary("select({0} > 0, 1, select({0} < 0, -1, 0))", ATOM, PRODUCT),
    "sign": _unary("select({0} > 0, 1, select({0} < 0, -1, 0))", ATOM, PRODUCT),
    "softplus": _softplus, "elu": elu, "pow": _pow, "clamp": _clamp, "hardtanh": _clamp,
    "clamp_min": _clamp, "clamp_max": lambda g, x, high: _clamp(g, x, None, high),
    "add": _kept_by(plus("{0} + {1}")), "sub": plus("{0} - {1}"), "mul": _scaled_mask(times),
    "div": _scaled_mask(quotient),
    "rsub": lambda g, a, b, alpha=1: plus("{0} - {1}")(g, b, a, alpha=alpha),
    "maximum": _binary("max({0}, {1})", ATOM, SUM, SUM),
    "minimum": _binary("min({0}, {1})", ATOM, SUM, SUM),
    "floor_divide": lambda g, a, b: quotient(g, a, b, "floor"),
    "remainder": _binary("{0} mod {1}", PRODUCT, UNARY, UNARY, integer=True),
    "xlogy": lambda g, a, b: g.each("select({0} == 0, 0, {0} * log({1}))", a, b,
                                    needs=[UNARY, SUM]),
    "addcmul": lambda g, c, a, b, value=1: plus("{0} + {1}")(g, c, times(g, a, b), alpha=value),
    "addcdiv": lambda g, c, a, b, value=1: plus("{0} + {1}")(g, c, quotient(g, a, b), alpha=value),
    "fma": lambda g, a, b, c: plus("{0} + {1}")(g, times(g, a, b), c), "lerp": _lerp,
    "where": where, "masked_fill": filled, "index_put": _put, "masked_select": selected,
    "eq": compare("=="), "ne": compare("!="), "lt": compare("<"), "le": compare("<="),
    "gt": compare(">"), "ge": compare(">="), "logical_not": contrary, "bitwise_not": contrary,
    "logical_and": _logic("{0} and {1}"), "bitwise_and": _logic("{0} and {1}"),
    "logical_or": _logic("{0} or {1}"), "bitwise_or": _logic("{0} or {1}"),
    "isnan": _test("isnan({0})"), "isinf": _test("isinf({0})"),
}
