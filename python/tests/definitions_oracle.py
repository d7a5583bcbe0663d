"""A second opinion on definitions: reads their language and computes their real numbers by mpmath.

It shares no code with src/define: docs/definitions.md says what both do. `Definition(text)` is a
tree of tuples; `Definition.values(inputs, options)` has every element of every result, at PRECISION
bits. There are no radii here: only what the text means in real numbers."""

import itertools
import re

import mpmath
from mpmath import mpf

PRECISION = 300
TOKEN = re.compile(r"(?P<blank>[ \t\r]+|\#[^\n]*)|(?P<number>(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?)"
                   r"|(?P<name>[A-Za-z_]\w*)|(?P<sign>\*\*|<=|>=|==|!=|[-+*/<>()\[\],:;=^?\n])")
FORMATS = {"fp64": (53, -1022), "fp32": (24, -126), "bf16": (8, -126), "fp16": (11, -14),
           "e4m3": (4, -6), "e5m2": (3, -14)}
LARGEST = {"fp64": mpf(2)**1024 - mpf(2)**971, "fp32": mpf(2)**128 - mpf(2)**104,
           "bf16": mpf(2)**128 - mpf(2)**120, "fp16": mpf(65504), "e4m3": mpf(448),
           "e5m2": mpf(57344)}
REDUCTIONS = ("sum", "mean", "prod", "max", "min", "count", "any", "all")
ABSENT = None
NAN, INF = mpf("nan"), mpf("inf")


def equations(text):
    """The text without the blocks behind `return`: variants, and a backward."""
    return re.split(r"(?m)^(?:variant|backward) ", text)[0]


GOES_ON = re.compile(r"[ \t]+(?:[-+*/]|(?:where|and|or|mod)\b)")


def tokens(text):
    """The words and signs of a text. Between brackets the end of a line means nothing, nor before
    one that begins with a blank and goes on with an operator or `where`."""
    found, at, depth = [], 0, 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise ValueError(f"no token at {text[at:at + 20]!r}")
        at, kind, word = match.end(), match.lastgroup, match.group()
        if match.group("number"):
            kind = "number"
        depth += (word in ("(", "[")) - (word in (")", "]"))
        ends = word == "\n" and not depth and not GOES_ON.match(text, at)
        if match.group("blank") is None and (word != "\n" or ends):
            found.append((kind, word))
    return found + [("end", "")]


class Reader:
    """Recursive descent; each method reads one rule and returns a tuple (kind, ...)."""

    def __init__(self, text):
        self.token = tokens(equations(text))
        self.at = 0
        self.axes, self.tensors, self.options = {}, {}, {}
        self.inputs, self.equations, self.starts, self.results = [], {}, {}, []
        self.scans, self.index_axes, self.shifts, self.formats = {}, {}, set(), {}

    def word(self, ahead=0):
        return self.token[min(self.at + ahead, len(self.token) - 1)][1]

    def kind(self):
        return self.token[self.at][0]

    def next(self):
        self.at += 1
        return self.token[self.at - 1][1]

    def take(self, word):
        if self.word() == word and self.kind() != "end":
            self.at += 1
            return True
        return False

    def want(self, word):
        if not self.take(word):
            raise ValueError(f"{word!r} is missing before {self.word()!r}")

    def read(self):
        while self.take("\n"):
            pass
        self.want("op")
        self.name = self.next()
        self.want("(")
        self.input()
        while self.take(","):
            self.input()
        if self.take(";"):
            self.option()
            while self.take(","):
                self.option()
        self.want(")")
        while self.kind() != "end":
            if not self.take("\n"):
                self.line()
        return self

    def input(self):
        name, axes, index, along = self.next(), [], False, None
        if self.take("["):
            axes.append(self.next())
            while self.take(","):
                axes.append(self.next())
            self.want("]")
        for axis in axes:
            self.axes.setdefault(axis, None)
        if self.take(":"):
            self.want("index")
            index = True
            if self.kind() == "name":
                along = self.next()
        self.index_axes[name] = along
        self.tensors[name] = (axes, index)
        self.inputs.append(name)

    def option(self):
        name = self.next()
        self.want("=")
        self.options[name] = self.truth()

    def line(self):
        scan = None
        if self.take("axis"):
            name = self.next()
            self.want("=")
            self.axes[name] = self.truth()
            return
        if self.take("return"):
            while True:
                self.results.append(self.next())
                if self.take(":"):
                    self.formats[self.results[-1]] = self.next()
                if not self.take(","):
                    return
        if self.take("scan"):
            scan = self.next()
            self.want(":")
        name, axes = self.next(), []
        if self.take("["):
            axes.append(self.left())
            while self.take(","):
                axes.append(self.left())
            self.want("]")
        self.want("=")
        if -1 in axes:
            self.starts[name] = (axes, self.truth())
            return
        if scan:
            self.tensors[name] = (axes, False)
            self.scans[name] = axes.index(scan)
        if self.word() == "shift":
            self.shifts.add(name)
        store = not self.take("shift") and self.word() == "store" and self.word(1) != "("
        if store:
            self.next()
            self.take("?")
        value = ("store", self.truth()) if store else self.truth()
        where = self.truth() if self.take("where") else None
        self.tensors[name] = (axes, False)
        self.equations[name] = (axes, value, where)

    def left(self):
        if self.take("-"):
            self.want("1")
            return -1
        return self.next()

    def chain(self, words, operand):
        value = operand()
        while self.word() in words and self.kind() in ("name", "sign"):
            word = self.next()
            value = (word, value, operand())
        return value

    def truth(self):
        return self.chain(("or",), lambda: self.chain(("and",), self.negation))

    def negation(self):
        if self.take("not"):
            return ("not", self.negation())
        value = self.sum()
        if self.word() in ("<", "<=", ">", ">=", "==", "!="):
            word = self.next()
            value = (word, value, self.sum())
        return value

    def sum(self):
        return self.chain(("+", "-"), lambda: self.chain(("*", "/", "mod"), self.sign))

    def sign(self):
        if self.take("-"):
            return ("minus", self.sign())
        value = self.item()
        if self.take("^") or self.take("**"):
            power = value
            for _ in range(int(self.next()) - 1):
                power = ("*", power, value)
            return power
        return value

    def item(self):
        if self.take("("):
            value = self.truth()
            self.want(")")
            return value
        kind, word = self.kind(), self.next()
        if kind == "number":
            return ("constant", int(word)) if word.isdigit() else ("decimal", word)
        if self.word() == "(":
            return self.applied(word)
        if word in self.tensors:
            indices = []
            if self.tensors[word][0]:
                self.want("[")
                indices.append(self.sum())
                while self.take(","):
                    indices.append(self.sum())
                self.want("]")
            return ("read", word, indices)
        if word in ("true", "false"):
            return ("constant", word == "true")
        if word in ("inf", "nan", "pi"):
            return ("decimal", word)
        if word in self.axes:
            return ("axis", word)
        if word in self.options:
            return ("option", word)
        if word.isupper() and word.lower() in self.axes:
            return ("extent", word.lower())
        raise ValueError(f"nobody knows {word!r}")

    def applied(self, word):
        self.want("(")
        if word in REDUCTIONS and (word not in ("max", "min") or self.ranges()):
            over = []
            while True:
                axis, bound = self.next(), None
                if self.word() in ("<", "<="):
                    bound = (self.next(), self.sum())
                over.append((axis, bound))
                if not self.take(","):
                    break
            self.want(":")
            body = self.truth()
            where = self.truth() if self.take("where") else None
            self.want(")")
            return ("over", word, over, body, where)
        operands = [self.truth()]
        while self.take(","):
            operands.append(self.truth())
        self.want(")")
        if word == "store":
            return ("store", operands[0])
        return ("cast", word, operands[0]) if word in FORMATS else ("apply", word, operands)

    def ranges(self):
        """Whether axes and a colon come: only a reduction has a colon before its bracket ends."""
        depth, at = 0, self.at
        while self.token[at][0] != "end" and depth >= 0:
            word = self.token[at][1]
            if word == ":" and depth == 0:
                return True
            depth += (word in ("(", "[")) - (word in (")", "]"))
            at += 1
        return False


def real(x):
    return x if isinstance(x, mpf) else mpf(x)


def rounded(x, name):
    """The nearest number of the format, ties to even; beyond the largest one infinity, or NaN where
    the format has none."""
    if not mpmath.isfinite(x) or x == 0:
        return NAN if name == "e4m3" and mpmath.isinf(x) else x
    precision, least = FORMATS[name]
    exponent = max(int(mpmath.floor(mpmath.log(abs(x), 2))), least)
    while mpf(2)**(exponent + 1) <= abs(x):
        exponent += 1
    while exponent > least and mpf(2)**exponent > abs(x):
        exponent -= 1
    unit = mpf(2)**(exponent - precision + 1)
    y = mpmath.nint(x / unit) * unit
    if abs(y) > LARGEST[name]:
        return NAN if name == "e4m3" else mpmath.sign(x) * INF
    return y


def divide(x, y):
    if y != 0 or mpmath.isnan(x):
        return x / y
    return NAN if x == 0 else mpmath.sign(x) * INF


def product(x, y):
    if (x == 0 and mpmath.isinf(y)) or (y == 0 and mpmath.isinf(x)):
        return NAN
    return x * y


FUNCTIONS = {
    "sqrt": lambda x: mpmath.sqrt(x) if x >= 0 else NAN,
    "exp": mpmath.exp, "tanh": mpmath.tanh, "erf": mpmath.erf,
    "sin": mpmath.sin, "cos": mpmath.cos,
    "log": lambda x: mpmath.log(x) if x > 0 else -INF if x == 0 else NAN,
    "log1p": lambda x: mpmath.log1p(x) if x > -1 else -INF if x == -1 else NAN,
    "fma": lambda x, y, z: product(x, y) + z,
}
COMPARE = {"<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b,
           ">=": lambda a, b: a >= b, "==": lambda a, b: a == b, "!=": lambda a, b: a != b}


class Definition:
    """A text that can be evaluated."""

    def __init__(self, text):
        self.read = Reader(text).read()
        self.name, self.inputs, self.results = self.read.name, self.read.inputs, self.read.results

    def axes(self, tensor):
        return self.read.tensors[tensor][0]

    def is_index(self, tensor):
        return self.read.tensors[tensor][1]

    def index_axis(self, tensor):
        """The axis whose places an input of indices has, or None."""
        return self.read.index_axes[tensor]

    def values(self, inputs, options=None):
        """{result: {index: mpf}}, 0 where `where` is false. Inputs are arrays of numbers."""
        with mpmath.workprec(PRECISION):
            return Evaluation(self.read, inputs, options or {}).results()


class Evaluation:
    """One definition with its inputs."""

    def __init__(self, read, inputs, options):
        self.d, self.inputs, self.kept = read, inputs, {}
        self.options = {name: options.get(name) for name in read.options}
        self.extents = {}
        for name in read.inputs:
            for axis, extent in zip(read.tensors[name][0], inputs[name].shape):
                if self.extents.setdefault(axis, extent) != extent:
                    raise ValueError(f"axis {axis} has two extents")
        for axis, extent in read.axes.items():
            if extent is not None:
                self.extents[axis] = self.value(extent, {})

    def results(self):
        answer = {}
        for name in self.d.results:
            axes = self.d.equations[name][0]
            places = itertools.product(*(range(self.extents[a]) for a in axes))
            answer[name] = {at: mpf(0) if (x := self.element(name, at)) is ABSENT else real(x)
                            for at in places}
        return answer

    def element(self, name, at):
        key = (name, at)
        if key not in self.kept:
            axes, value, where = self.d.equations[name]
            place = dict(zip(axes, at))
            if name in self.d.scans:  # from its start on, so that no recursion goes deep
                along = self.d.scans[name]
                for i in range(at[along]):
                    self.element(name, at[:along] + (i,) + at[along + 1:])
            there = True if where is None else self.value(where, place)
            self.kept[key] = self.value(value, place) if there else ABSENT
        return self.kept[key]

    def value(self, e, place):
        """An int, an mpf, a bool, or ABSENT."""
        kind = e[0]
        if kind == "constant":
            return e[1]
        if kind == "decimal":
            return +mpmath.pi if e[1] == "pi" else mpf(e[1])
        if kind == "axis":
            return place[e[1]]
        if kind == "extent":
            return self.extents[e[1]]
        if kind == "option":
            told = self.options[e[1]]
            return self.value(self.d.options[e[1]], place) if told is None else told
        if kind == "read":
            return self.element_read(e[1], e[2], place)
        if kind == "over":
            return self.over(e, place)
        if kind in ("and", "or"):
            first = self.value(e[1], place)
            return first if first is ABSENT or first == (kind == "or") else self.value(e[2], place)
        if kind == "apply" and e[1] == "select":
            condition = self.value(e[2][0], place)
            return ABSENT if condition is ABSENT else self.value(e[2][1 if condition else 2], place)
        if kind == "apply" and e[1] == "floor" and e[2][0][0] == "/":
            a, b = (self.value(o, place) for o in e[2][0][1:])
            if isinstance(a, int) and isinstance(b, int):
                return a // b
        operands = e[2] if kind == "apply" else e[1:]
        x = [self.value(o, place) if isinstance(o, tuple) else o for o in operands]
        if any(o is ABSENT for o in x):
            return ABSENT
        return self.operation(e[1] if kind == "apply" else kind, x)

    def operation(self, kind, x):
        integers = all(isinstance(o, int) for o in x)
        if kind == "not":
            return not x[0]
        if kind in COMPARE:
            return bool(COMPARE[kind](*(x if integers else map(real, x))))
        if kind == "either":
            return real(x[0])
        if kind == "store":  # a rounding that is owed: the real number has none
            return real(x[0])
        if kind == "minus":
            return -x[0]
        if kind == "cast":
            return rounded(real(x[1]), x[0])
        if kind == "mod":
            return x[0] % x[1]
        if kind in ("max", "min", "abs", "floor"):
            if not integers:
                x = [real(o) for o in x]
            if kind in ("max", "min"):
                bad = not integers and any(mpmath.isnan(o) for o in x)
                return NAN if bad else max(x) if kind == "max" else min(x)
            return abs(x[0]) if kind == "abs" else x[0] if integers else mpmath.floor(x[0])
        if integers and kind in "+-*":
            return x[0] + x[1] if kind == "+" else x[0] - x[1] if kind == "-" else x[0] * x[1]
        x = [real(o) for o in x]
        if kind == "+":
            return x[0] + x[1]
        if kind == "-":
            return x[0] - x[1]
        if kind == "*":
            return product(*x)
        if kind == "/":
            return divide(*x)
        return FUNCTIONS[kind](*x)

    def element_read(self, name, indices, place):
        at = tuple(self.value(i, place) for i in indices)
        axes, index = self.d.tensors[name]
        if name in self.d.inputs:
            array = self.inputs[name]
            if any(not 0 <= i < n for i, n in zip(at, array.shape)):
                return 0 if index else mpf(0)
            return int(array[at]) if index else mpf(float(array[at]))
        if name in self.d.scans and at[self.d.scans[name]] == -1:
            axes, start = self.d.starts[name]
            return self.value(start, {a: i for a, i in zip(axes, at) if a != -1})
        if any(not 0 <= i < self.extents[a] for i, a in zip(at, axes)):
            return mpf(0)
        return self.element(name, at)

    def over(self, e, place):
        _, word, over, body, where = e
        terms = []
        self.gather(over, body, where, dict(place), terms)
        if word == "count":
            return mpf(sum(map(bool, terms)))
        if word in ("any", "all"):
            return any(terms) if word == "any" else all(terms)
        terms = [real(x) for x in terms]
        if word in ("max", "min"):
            if any(mpmath.isnan(x) for x in terms):
                return NAN
            best = max if word == "max" else min
            return best(terms, default=-INF if word == "max" else INF)
        if word == "prod":
            y = mpf(1)
            for x in terms:
                y = product(y, x)
            return y
        total = sum(terms, mpf(0))
        return divide(total, mpf(len(terms))) if word == "mean" else total

    def gather(self, over, body, where, place, terms):
        """Appends the body at all places of the axes that are in their ranges, and where it is."""
        if not over:
            if where is None or self.value(where, place):
                x = self.value(body, place)
                if x is not ABSENT:
                    terms.append(x)
            return
        (axis, bound), rest = over[0], over[1:]
        for i in range(self.extents[axis]):
            place[axis] = i
            if bound is None or COMPARE[bound[0]](i, self.value(bound[1], place)):
                self.gather(rest, body, where, place, terms)
