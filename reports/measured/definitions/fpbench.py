#!/usr/bin/env python3
"""Holds definitions that come from FPBench's cores to an evaluator of FPCore in Python with mpmath,
which reads the cores themselves.

  fpbench.py HALFCHECK FILE.fpcore...    github.com/FPBench/FPBench, benchmarks/*.fpcore

Each core without a loop is evaluated at points that its :pre allows; both must have the same number
to 2^-99, or to 2^-40 of the radius. Cores that have no definition are printed with the reason."""

import json
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

import mpmath

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / "python"))
import halfcheck.safetensors  # noqa: E402

POINTS, TRIES, BITS = 5, 4000, 400
mpf = mpmath.mpf
OPERATORS = {
    "fabs": abs, "sqrt": mpmath.sqrt, "exp": mpmath.exp, "exp2": lambda x: mpf(2)**x,
    "expm1": mpmath.expm1, "log": mpmath.log, "log1p": mpmath.log1p, "sin": mpmath.sin,
    "cos": mpmath.cos, "tan": mpmath.tan, "tanh": mpmath.tanh, "sinh": mpmath.sinh,
    "cosh": mpmath.cosh, "erf": mpmath.erf, "hypot": mpmath.hypot, "fmax": max, "fmin": min,
    "fma": lambda a, b, c: a * b + c, "pow": lambda x, n: x**n, "not": lambda a: not a,
    "/": lambda a, b: a / b, "-": lambda a, *b: a - b[0] if b else -a,
    "+": lambda *a: mpmath.fsum(a), "*": lambda *a: mpmath.fprod(a),
    "and": lambda *a: all(a), "or": lambda *a: any(a),
}
COMPARISONS = {"<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b,
               ">=": lambda a, b: a >= b, "==": lambda a, b: a == b}
CONSTANTS = {"PI": lambda: +mpmath.pi, "E": lambda: mpmath.exp(1), "TRUE": lambda: True,
             "FALSE": lambda: False}


def read(text):
    """All forms of a text as nested lists of words."""
    stack = [[]]
    for word in re.findall(r'"(?:\\.|[^"])*"|;[^\n]*|[()\[\]]|[^\s()\[\]";]+', text):
        if word.startswith(";"):
            continue
        if word in "([":
            stack.append([])
        elif word in ")]":
            form = stack.pop()
            stack[-1].append(form)
        else:
            stack[-1].append(word)
    return stack[0]


def number(word):
    parts = word.split("/")
    values = [mpf(float.fromhex(p)) if "x" in p else mpf(p) for p in parts]
    return values[0] / values[1] if len(values) == 2 else values[0]


def value(form, known):
    """The real number, or the truth, of an expression."""
    if isinstance(form, str):
        return known[form] if form in known else CONSTANTS[form]() if form in CONSTANTS else \
            number(form)
    head, *rest = form
    if head in ("let", "let*"):
        inner = dict(known)
        for name, bound in rest[0]:
            inner[name] = value(bound, inner if head == "let*" else known)
        return value(rest[1], inner)
    if head == "if":
        return value(rest[1 if value(rest[0], known) else 2], known)
    if head == "!":
        return value(rest[-1], known)
    operands = [value(r, known) for r in rest]
    if head == "!=":
        return len(set(operands)) == len(operands)
    if head in COMPARISONS:
        return all(COMPARISONS[head](a, b) for a, b in zip(operands, operands[1:]))
    return OPERATORS[head](*operands)


def parts(core):
    """The variables, properties and body of a core."""
    core = core[1:] if isinstance(core[1], list) else core[2:]
    names = [a if isinstance(a, str) else a[-1] for a in core[0]]
    properties, rest = {}, core[1:]
    while isinstance(rest[0], str) and rest[0].startswith(":"):
        properties[rest[0]], rest = rest[1], rest[2:]
    return names, properties, rest[0]


def ranges(form, found):
    """(<= low x high) of a precondition, by the variable."""
    if isinstance(form, list) and form[0] == "and":
        for part in form[1:]:
            ranges(part, found)
    elif isinstance(form, list) and form[0] in ("<", "<=") and len(form) == 4 and \
            isinstance(form[2], str):
        found[form[2]] = float(value(form[1], {})), float(value(form[3], {}))
    return found


def points(core):
    """Points of fp64 that the precondition allows."""
    names, properties, _ = parts(core)
    wish = properties.get(":pre", "TRUE")
    known, rng, found = ranges(wish, {}), random.Random(1), []
    for _ in range(TRIES):
        point = [rng.uniform(*known[n]) if n in known else rng.choice(
            (rng.uniform(0, 1), rng.uniform(-10, 10), rng.uniform(1, 1000))) for n in names]
        if value(wish, dict(zip(names, map(mpf, point)))):
            found.append(point)
        if len(found) == POINTS:
            break
    return found


def texts(program, file):
    """What halfcheck makes of each core: a text, or a line that begins with #."""
    said = subprocess.run([program, "define", "--fpcore", file], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    return [part for part in said.split("\n\n") if part.strip()]


def program_value(program, text, point, folder):
    """The number, what is left of it, and the radius."""
    source, file = os.path.join(folder, "core.op"), os.path.join(folder, "tensors")
    with open(source, "w", encoding="utf-8") as out:
        out.write(text + "\n")
    names = re.match(r"op \w+\(([^)]*)\)", text)[1].split(", ")
    halfcheck.safetensors.write(file, {name: ("F64", (), struct.pack("<d", x))
                                       for name, x in zip(names, point)})
    done = subprocess.run([program, "define", source, "--tensors", file, "--values", "-"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{done.stderr}\n{text}")
    row = json.loads(done.stdout)["result"]
    return [mpf(float(row[key][0])) for key in ("want", "rest", "radius")]


def main():
    program = os.path.abspath(sys.argv[1])
    mpmath.mp.prec = BITS
    cores = same = tried = 0
    reasons = {}
    with tempfile.TemporaryDirectory() as folder:
        for file in sys.argv[2:]:
            with open(file, encoding="utf-8") as given:
                forms = read(given.read())
            said = texts(program, file)
            if len(forms) != len(said):
                raise SystemExit(f"{file}: {len(forms)} cores, and {len(said)} answers")
            for core, text in zip(forms, said):
                cores += 1
                if text.startswith("#"):
                    why = text.split("no definition: ")[1]
                    reasons[why] = reasons.get(why, 0) + 1
                    continue
                names, _, body = parts(core)
                good, chosen = True, points(core)
                for point in chosen:
                    want = value(body, dict(zip(names, map(mpf, point))))
                    high, rest, radius = program_value(program, text, point, folder)
                    got = high + rest if mpmath.isfinite(high) else high
                    tried += 1
                    if isinstance(want, mpmath.mpc) or mpmath.isnan(want):
                        right = mpmath.isnan(got)
                    else:
                        right = got == want or \
                            abs(got - want) <= abs(want) * mpf(2)**-99 + radius * mpf(2)**-40
                    if not right:
                        good = False
                        print(f"{file}: at {point} want {mpmath.nstr(want, 30)}, "
                              f"got {mpmath.nstr(got, 30)}\n{text}")
                if not chosen:
                    print(f"{file}: no point that :pre allows was found\n{text}")
                same += good and bool(chosen)
    print(f"{cores} cores: {same} have the same numbers twice, at {tried} points")
    for why, count in sorted(reasons.items(), key=lambda row: -row[1]):
        print(f"  {count} have no definition: {why}")
    return 0 if same + sum(reasons.values()) == cores else 1


if __name__ == "__main__":
    sys.exit(main())
