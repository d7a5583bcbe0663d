#!/usr/bin/env python3
"""Wrong implementations by the hundred: each definition with one sign, comparison, reduction, index or
number of its text changed, computed in fp32, and judged by the unchanged text.

  mutants.py HALFCHECK [NAME...]    prints each that is not called wrong, and how many were

A mutant whose results are the same numbers is left out: it is no fault. Of the others each that
passes shows a bound that is loose, or inputs on which the fault does not matter."""

import os
import random
import re
import sys

from judging import definition_of, judged, names, text_of

import numpy as np
import definitions_inputs
import definitions_oracle
import definitions_orders

CHANGES = [(r"(?<=[\w\])]) \+ (?=[\w(])", " - "), (r"(?<=[\w\])]) - (?=[\w(])", " + "),
           (r" \* ", " / "), (r" / ", " * "), (r"<=", "<"), (r" < ", " <= "), (r"\bmean\(", "sum("),
           (r"\bsum\(", "mean("), (r"\bmax\(", "min("), (r"\bexp\(", "tanh("), (r"\b0\.5\b", "0.501"),
           (r" \+ eps", ""), (r"\bsqrt\(", "abs("), (r"\^2", "^3"), (r"!=", "=="), (r"log1p", "log"),
           (r"\btanh\(", "erf("), (r", (\w)\]", r", \1 - 1]"), (r"\[(\w),", r"[\1 - 1,"), (r"1 \+ ", "")]
MOST = 8


def mutants(text):
    """Texts with one change each, in the equations."""
    lines = text.split("\n")
    first = next(i for i, line in enumerate(lines) if re.match(r"\w+(\[[^]]*\])? *=|scan", line))
    head, body = "\n".join(lines[:first]), "\n".join(lines[first:])
    found = []
    for pattern, other in CHANGES:
        for match in re.finditer(pattern, body):
            line = body.rfind("\n", 0, match.start()) + 1
            if "=" in body[line:match.start()] and not body[line:].startswith(("axis", "return")):
                changed = body[:match.start()] + match.expand(other) + body[match.end():]
                number = body[:match.start()].count("\n")
                found.append((changed.split("\n")[number].strip(), f"{head}\n{changed}"))
    random.Random(len(body)).shuffle(found)
    return found[:MOST]


def main():
    program, chosen = os.path.abspath(sys.argv[1]), sys.argv[2:]
    caught = faults = 0
    for name in chosen or names():
        definition = definition_of(name)
        arrays = {n: a if a.dtype == np.int32 else a.astype(np.float32)
                  for n, a in definitions_inputs.inputs(definition, 1).items()}
        right = definitions_orders.implementation(definition, arrays, "forwards", "fp32")
        for line, text in mutants(text_of(name)):
            try:
                got = definitions_orders.implementation(definitions_oracle.Definition(text), arrays,
                                                        "forwards", "fp32")
            except (ValueError, TypeError, KeyError, IndexError, AssertionError, RecursionError,
                    ZeroDivisionError):
                continue  # no text any more
            if any(got[r].shape != right[r].shape for r in right) or \
                    all(np.array_equal(got[r], right[r], equal_nan=True) for r in right):
                continue
            faults += 1
            if any(o["wrong"] for o in judged(program, text_of(name), {**arrays, **got})):
                caught += 1
            else:
                off = max(float(np.nanmax(np.abs(got[r] - right[r]), initial=0)) for r in right)
                print(f"{name}: not caught, {off:.2g} off: {line}", flush=True)
    print(f"{caught} of {faults} wrong implementations caught, in fp32")


if __name__ == "__main__":
    main()
