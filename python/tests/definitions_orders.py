"""Right implementations of any definition: its own text in fp32, in an order of one's choice.

Each of WAYS does what a right implementation may do (docs/definitions.md has the table): it sums
forwards, backwards, shuffled, in pairs, or in blocks of 8 and 16; it divides or multiplies with a
reciprocal, takes exp as a power of 2, fuses products with sums, shifts by another number. So no
result of any of them may be beyond its bound."""

import math

import ml_dtypes
import mpmath
import numpy as np
from mpmath import mpf

from definitions_oracle import ABSENT, COMPARE, Evaluation, rounded

F = np.float32
DTYPES = {"fp32": F, "bf16": ml_dtypes.bfloat16, "fp16": np.float16}
FUNCTIONS = {"sqrt": np.sqrt, "exp": np.exp, "log": np.log, "log1p": np.log1p, "tanh": np.tanh,
             "erf": math.erf, "sin": np.sin, "cos": np.cos}
LOG2E = F(np.log2(np.e))


def pairs(terms):
    while len(terms) > 1:
        odd = [terms[-1]] if len(terms) % 2 else []
        terms = [a + b for a, b in zip(terms[::2], terms[1::2])] + odd
    return terms[0]


def forwards(terms):
    total = terms[0]
    for x in terms[1:]:
        total = total + x
    return total


def blocks(size):
    """As a vector unit does: `size` sums, each of every `size`-th term, and these in pairs."""
    return lambda terms: pairs([forwards(terms[i::size]) for i in range(min(size, len(terms)))])


def chunks(size):
    """As tiles do: sums of neighbours first."""
    return lambda terms: forwards([forwards(terms[i:i + size])
                                   for i in range(0, len(terms), size)])


def shuffled(terms):
    at = np.random.default_rng(len(terms)).permutation(len(terms))
    return forwards([terms[i] for i in at])


def largest_first(terms):
    return forwards(sorted(terms, key=abs, reverse=True))


SUMS = {"forwards": forwards, "backwards": lambda terms: forwards(terms[::-1]), "pairs": pairs,
        "blocks 8": blocks(8), "blocks 16": blocks(16), "chunks 8": chunks(8),
        "shuffled": shuffled, "largest first": largest_first}
# Sum, whether to divide by reciprocals, to take exp as a power of 2, and to fuse; what a shift is
# off by.
WAYS = {**{name: (name, False, False, False, 0) for name in SUMS},
        "reciprocals, exp2": ("blocks 16", True, True, False, 0),
        "fused": ("forwards", False, False, True, 0),
        "fused, exp2, shifted": ("pairs", True, True, True, 0.75)}


class Implementation(Evaluation):
    """Evaluates in fp32 as one of WAYS, with inputs and stores in `io`."""

    def __init__(self, read, inputs, options, way, io):
        self.sum, self.reciprocals, self.exp2, self.fused, self.off = WAYS[way]
        self.io = io
        super().__init__(read, inputs, options)

    def to_io(self, x):
        return F(nearest(x, self.io))

    def results(self, formats):
        """Each result as the fp32 numbers of its format, which is `io` where none is given."""
        answer = {}
        for name, format in zip(self.d.results, formats):
            axes = self.d.equations[name][0]
            array = np.zeros(tuple(self.extents[a] for a in axes), F)
            for at in np.ndindex(*array.shape):
                x = self.element(name, at)
                array[at] = 0 if x is ABSENT else nearest(F(x), format or self.io)
            answer[name] = array
        return answer

    def element(self, name, at):
        new = (name, at) not in self.kept
        x = super().element(name, at)
        if new and name in self.d.shifts and x is not ABSENT and np.isfinite(x):
            x = self.kept[name, at] = F(x) + F(self.off)
        return x

    def value(self, e, place):
        if e[0] == "decimal":
            return F(np.pi) if e[1] == "pi" else nearest_decimal(e[1])
        if e[0] == "option" and self.options[e[1]] is None:
            # What is computed beforehand has one rounding.
            with mpmath.workprec(120):
                exact = Evaluation(self.d, self.inputs, {}).value(self.d.options[e[1]], {}) \
                    if self.d.options[e[1]][0] != "constant" else self.d.options[e[1]][1]
                return exact if isinstance(exact, (bool, int)) else nearest(exact, "fp32")
        if self.fused and e[0] in "+-" and e[0] != "minus" and e[1][0] == "*":
            a, b = (self.value(o, place) for o in e[1][1:])
            c = self.value(e[2], place)
            if not any(x is ABSENT or isinstance(x, int) for x in (a, b, c)):
                exact = np.float64(a) * np.float64(b)  # fits into fp64
                return fused(exact, np.float64(c if e[0] == "+" else -c))
        return super().value(e, place)

    def operation(self, kind, x):
        integers = all(isinstance(o, int) for o in x)
        if integers and kind not in ("/", "store", "exp", "sqrt", "log", "cast"):
            return super().operation(kind, x)
        if kind == "cast":
            return F(nearest(x[1], x[0]))
        x = [F(o) for o in x]
        if kind in COMPARE:
            return bool(COMPARE[kind](*x))
        if kind == "either":
            return x[self.reciprocals]
        if kind == "store":
            return self.to_io(x[0])
        if kind == "minus":
            return -x[0]
        if kind in ("max", "min"):
            return (np.maximum if kind == "max" else np.minimum).reduce(x)
        if kind in ("abs", "floor"):
            return getattr(np, kind)(x[0])
        if kind == "/" and self.reciprocals:
            return x[0] * (F(1) / x[1])
        if kind in "+-*/":
            return {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[kind](*x)
        if kind == "exp" and self.exp2:
            return F(np.exp2(np.float64(x[0] * LOG2E)))
        if kind == "fma":
            return fused(np.float64(x[0]) * np.float64(x[1]), np.float64(x[2]))
        return F(FUNCTIONS[kind](np.float64(x[0])))

    def element_read(self, name, indices, place):
        x = super().element_read(name, indices, place)
        return x if x is ABSENT or isinstance(x, int) else F(x)

    def over(self, e, place):
        _, word, over, body, where = e
        terms = []
        self.gather(over, body, where, dict(place), terms)
        if word in ("any", "all", "count"):
            return F(sum(map(bool, terms))) if word == "count" else getattr(np, word)(terms)
        terms = [F(x) for x in terms]
        if not terms:
            return {"sum": F(0), "mean": F(np.nan), "prod": F(1), "max": F(-np.inf),
                    "min": F(np.inf)}[word]
        if word in ("max", "min"):
            return F(getattr(np, word)(terms))
        if word == "prod":
            return F(np.prod(terms, dtype=F))
        total = SUMS[self.sum](terms)
        return self.operation("/", [total, F(len(terms))]) if word == "mean" else total


def nearest(x, format):
    """The nearest number of the format, as fp32."""
    if isinstance(x, mpf) or format not in DTYPES:
        with mpmath.workprec(120):
            return F(float(rounded(x if isinstance(x, mpf) else mpf(float(x)), format)))
    return F(F(x).astype(DTYPES[format]))


def nearest_decimal(text):
    with mpmath.workprec(120):
        return nearest(mpf(text), "fp32")


def fused(product, addend):
    """product + addend, exact numbers of fp64, rounded to fp32 once: the sum is rounded to odd
    first."""
    total = product + addend
    back = total - product
    rest = (product - (total - back)) + (addend - back)
    if rest != 0 and np.isfinite(total) and not total.view(np.int64) & 1:
        total = np.nextafter(total, np.inf if rest > 0 else -np.inf)
    return F(total)


def result_formats(definition):
    return [definition.read.formats.get(name) for name in definition.results]


def implementation(definition, inputs, way, io, options=None):
    with np.errstate(all="ignore"):
        it = Implementation(definition.read, inputs, options or {}, way, io)
        return it.results(result_formats(definition))

