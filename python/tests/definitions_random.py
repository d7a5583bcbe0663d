"""Random definitions: texts that the grammar of docs/definitions.md gives, with inputs.

`definition(seed)` is a text and its arrays. Divisors, roots and logarithms are kept in range, and
numbers that were computed are compared with < and > alone, so that a real number means one thing."""

import numpy as np

AXES = ("i", "j", "k", "l")
INPUTS = {"a": ("i", "j"), "b": ("j", "k"), "c": ("j",), "x": ("k", "i", "l"), "s": (), "z": ("l",)}
INDICES = {"id": ("i",), "jd": ("k", "j")}
INDEX_AXES = {"id": "j", "jd": None}
OPTIONS = {"eps": "0.25", "rate": "1e-3", "n": "2", "flag": "true"}


class Writer:
    def __init__(self, seed):
        self.random = np.random.default_rng([seed, 30])
        self.extents = {axis: int(self.random.integers(1, 5)) for axis in AXES}
        self.tensors = dict(INPUTS)

    def one(self, *choices):
        return choices[self.random.integers(len(choices))]

    def chance(self, share):
        return self.random.random() < share

    def index(self, axis, bound):
        """A place for an axis: mostly itself, where it is bound; sometimes beside the tensor."""
        if axis in bound and self.chance(0.7):
            return axis
        return self.integer(bound, 1)

    def integer(self, bound, depth):
        if depth <= 0 or self.chance(0.3):
            choices = [str(self.random.integers(0, 4)), self.one(*AXES).upper(), "n"]
            return self.one(*choices, *bound, *bound, *bound)
        a, b = self.integer(bound, depth - 1), self.integer(bound, depth - 1)
        kind = self.random.integers(9)
        if kind == 0:
            name = self.one(*INDICES)
            return f"{name}[{', '.join(self.index(x, bound) for x in INDICES[name])}]"
        if kind == 1:
            return f"select({self.exact(bound)}, {a}, {b})"
        return (f"{a} + {b}", f"{self.random.integers(1, 4)}*({a}) - {b}",
                f"({a}) mod {self.random.integers(1, 5)}", f"floor(({a}) / 2)", f"min({a}, {b})",
                f"max({a}, {b} - 1)", f"abs({a} - {b})")[kind - 2]

    def exact(self, bound):
        """A truth of integers."""
        a, b = self.integer(bound, 0), self.integer(bound, 0)
        truth = f"{a} {self.one('<', '<=', '>', '>=', '==', '!=')} {b}"
        return self.one(truth, truth, truth, f"not ({truth})", "flag", "(flag or true)")

    def truth(self, bound, depth):
        if depth == 0 or self.chance(0.5):
            return self.exact(bound)
        kind = self.random.integers(5)
        if kind < 2:
            sign = self.one("<", ">")
            return f"{self.real(bound, depth - 1)} {sign} {self.real(bound, depth - 1)}"
        if kind == 2:
            free = [axis for axis in AXES if axis not in bound]
            if free:
                axis = self.one(*free)
                return f"{self.one('any', 'all')}({axis}: {self.truth((*bound, axis), depth - 1)})"
        a, b = self.truth(bound, depth - 1), self.truth(bound, depth - 1)
        return f"(({a}) {self.one('and', 'or')} ({b}))"

    def read(self, bound):
        name = self.one(*self.tensors)
        indices = ", ".join(self.index(axis, bound) for axis in self.tensors[name])
        return f"{name}[{indices}]" if indices else name

    def over(self, bound, depth):
        free = [axis for axis in AXES if axis not in bound]
        if not free:
            return self.read(bound)
        axis = self.one(*free)
        word = self.one("sum", "sum", "sum", "mean", "prod", "max", "min", "count")
        ranges = axis
        # Two axes at once, which is one sum; a mean over them has no condition.
        two = len(free) > 1 and self.chance(0.2)
        if self.chance(0.25) and not (two and word == "mean"):
            ranges += f" {self.one('<', '<=')} {self.integer(bound, 1)}"
        inside = (*bound, axis)
        if two:
            other = self.one(*(a for a in free if a != axis))
            ranges, inside = f"{ranges}, {other}", (*inside, other)
        body = self.truth(inside, 1) if word == "count" else self.real(inside, depth - 1)
        where = f" where {self.truth(inside, 1)}" if self.chance(0.25) and word != "mean" else ""
        whole = f"{word}({ranges}: {body}{where})"
        # max and min over nothing are infinite.
        return f"max(-8, min({whole}, 8))" if word in ("max", "min") else whole

    def real(self, bound, depth):
        if depth == 0 or self.chance(0.1):
            return self.one(self.read(bound), self.read(bound), self.read(bound),
                            self.one("0.1", "3", "1.5e-2", "pi", "eps", "rate"),
                            f"({self.integer(bound, 1)})")
        kind = self.random.integers(17)
        if kind < 4:
            return self.over(bound, depth)
        x = self.real(bound, depth - 1)
        if kind < 9:
            y = self.real(bound, depth - 1)
            return (f"{x} + {y}", f"({x}) * ({y})", f"({x}) - ({y})",
                    f"({x}) / (abs({y}) + 0.5)", f"{self.one('min', 'max')}({x}, {y})")[kind - 4]
        if kind == 9:
            y = self.real(bound, depth - 1)
            return f"select({self.truth(bound, 1)}, {x}, {y})"
        return (f"sqrt(abs({x}) + eps)", f"exp(-abs({x}))", f"log(abs({x}) + 0.125)",
                f"log1p(abs({x}))", f"{self.one('tanh', 'erf', 'sin', 'cos')}({x})",
                f"(tanh({x}))^{self.random.integers(1, 5)}",
                f"{self.one('fp16', 'bf16', 'fp32', 'store')}({x})")[kind - 10]

    def equation(self, name):
        axes = [str(a) for a in self.random.permutation(AXES)[:self.random.integers(0, 4)]]
        left = f"{name}[{', '.join(axes)}]" if axes else name
        lines = []
        if axes and self.chance(0.2):
            along = self.one(*axes)
            start = [axis if axis != along else "-1" for axis in axes]
            before = [axis if axis != along else f"{axis} - 1" for axis in axes]
            others = tuple(axis for axis in axes if axis != along)
            lines.append(f"{name}[{', '.join(start)}] = {self.real(others, 1)}")
            lines.append(f"scan {along}: {left} = tanh({name}[{', '.join(before)}]) * "
                         f"({self.real(tuple(axes), 2)}) + {self.real(tuple(axes), 2)}")
        else:
            where = f" where {self.truth(tuple(axes), 1)}" if self.chance(0.2) else ""
            store = self.one("", "", "", "store ", "store? ")
            lines.append(f"{left} = {store}{self.real(tuple(axes), 4)}{where}")
        self.tensors[name] = tuple(axes)
        return lines

    def arrays(self):
        drawn = {}
        for name, axes in {**INPUTS, **INDICES}.items():
            shape = tuple(self.extents[axis] for axis in axes)
            along = INDEX_AXES.get(name)
            most = self.extents[along] if along else 6
            drawn[name] = (self.random.integers(-1, most, size=shape).astype(np.int32)
                           if name in INDICES else
                           np.asarray(self.random.normal(size=shape), np.float32))
        return drawn


def definition(seed):
    """A text and its inputs, {name: array}."""
    w = Writer(seed)
    count = int(w.random.integers(1, 5))
    names = [f"y{n}" for n in range(count)]
    lines = [line for name in names for line in w.equation(name)]
    # Every input gives axes, and so that each is used, one result has them all.
    lines.append("rest = s + sum(i, j, k, l: a[i,j] * b[j,k] + c[j] * x[k,i,l] * z[l])"
                 " + sum(i: id[i] * 0.5) + max(k, j: jd[k,j])")
    head = ", ".join([*(f"{n}[{', '.join(a)}]" if a else n for n, a in INPUTS.items()),
                      "id[i]: index j", "jd[k, j]: index"])
    options = ", ".join(f"{name} = {value}" for name, value in OPTIONS.items())
    text = "\n".join([f"op random({head}; {options})", *lines, f"return {', '.join(names)}, rest"])
    return text + "\n", w.arrays()
