#!/usr/bin/env python3
"""Random definitions beside the evaluator in Python: values.py HALFCHECK A B tries those of seeds A to
B - 1, and prints each whose real numbers differ. The status is 1 if any does.

The test python/tests/test_definitions.py does the same to 300 of them."""

import os
import pathlib
import sys
import tempfile

import judging  # noqa: F401  finds the two packages below

import definitions_oracle
import definitions_random


def main():
    os.environ["HALFCHECK_PROGRAM"] = os.path.abspath(sys.argv[1])
    import test_definitions as test
    first, last = map(int, sys.argv[2:4])
    elements = finite = other = 0
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "random.op"
        for seed in range(first, last):
            text, arrays = definitions_random.definition(seed)
            file.write_text(text, encoding="utf-8")
            told = test.program_values(file, arrays, pathlib.Path(folder))
            wrong = test.differences(definitions_oracle.Definition(text), arrays, told)
            radii = [float(radius) for result in told.values() for radius in result["radius"]]
            elements += len(radii)
            finite += sum(radius < float("inf") for radius in radii)
            other += bool(wrong)
            if wrong:
                print(f"seed {seed}, {len(wrong)} elements differ; the first is {wrong[0]}",
                      flush=True)
    print(f"random definitions {first} to {last - 1}: {other} differ; of {elements} elements "
          f"{finite} have a bound")
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main())
