#!/usr/bin/env python3
"""Runs definitions in right orders (python/tests/definitions_orders.py) and judges the results.

  orders.py HALFCHECK [NAME...]          each definition of the library in each format: the worst
                                         error / bound over all orders, and where it is; "blocks" is
                                         fp32 in pairs and lanes of 16, by the bound of
                                         order=blocks(16)
  orders.py HALFCHECK --random A B       random definitions A to B - 1

The status is 1 if any element is beyond its bound: then the bound is wrong, since every order is a
right one. What stays far below 1 is loose."""

import os
import sys

from judging import FORMATS, Tally, definition_of, judged, names, text_of

import numpy as np
import definitions_inputs
import definitions_oracle
import definitions_orders
import definitions_random

SEEDS = (1,)
# The ways whose sums are in pairs, or of 16 lanes; and what is stated of them.
BLOCKED = ("pairs", "blocks 16", "reciprocals, exp2", "fused, exp2, shifted")
STATED = ("order=blocks(16)",)


def in_format(arrays, form):
    """As the implementations see them: fp32 arrays that hold numbers of the format."""
    return {name: a if a.dtype == np.int32 else a.astype(FORMATS[form][1]).astype(np.float32)
            for name, a in arrays.items()}


def tried(program, text, definition, draws, form, tally, ways=definitions_orders.WAYS, allow=()):
    formats = [f or form for f in definitions_orders.result_formats(definition)]
    for arrays in draws:
        given = in_format(arrays, form)
        stored = {name: a if a.dtype == np.int32 else a.astype(FORMATS[form][1])
                  for name, a in given.items()}
        for way in ways:
            got = definitions_orders.implementation(definition, given, way, form)
            with np.errstate(over="ignore"):
                results = {name: got[name].astype(FORMATS[f][1])
                           for name, f in zip(definition.results, formats)}
            tally.add(judged(program, text, {**stored, **results}, allow), f", {way}")


def library(program, chosen):
    line = "{:<31}{:<7}{:>9}  {:<34}{:>8}{:>8}  {}"
    print(f"error / bound over {len(definitions_orders.WAYS)} orders, inputs of seed {SEEDS[0]}")
    print(line.format("definition", "format", "worst", "of", "median", "judged", "beyond"))
    beyond = 0
    for name in chosen or names():
        definition = definition_of(name)
        draws = [definitions_inputs.inputs(definition, seed) for seed in SEEDS]
        for form in (*FORMATS, "blocks"):
            tally = Tally()
            if form == "blocks":
                tried(program, text_of(name), definition, draws, "fp32", tally, BLOCKED, STATED)
            else:
                tried(program, text_of(name), definition, draws, form, tally)
            print(line.format(name, form, f"{tally.worst:.3g}", tally.where, f"{tally.median:.2g}",
                              tally.judged, tally.wrong), flush=True)
            beyond += tally.wrong
    return beyond


def random_ones(program, first, last):
    beyond, whole = 0, Tally()
    for seed in range(first, last):
        text, arrays = definitions_random.definition(seed)
        tally = Tally()
        tried(program, text, definitions_oracle.Definition(text), [arrays], "fp32", tally)
        if tally.wrong:
            print(f"seed {seed}: {tally.worst:.3g} of {tally.where}\n{text}", flush=True)
        beyond += tally.wrong
        whole.judged += tally.judged
        whole.unbounded += tally.unbounded
        whole.worst = max(whole.worst, tally.worst)
    print(f"random definitions {first} to {last - 1} in fp32, {len(definitions_orders.WAYS)} orders "
          f"each: {whole.judged} elements,\n{whole.unbounded} of them without a bound; the worst "
          f"error / bound is {whole.worst:.3g}, and {beyond} are beyond it")
    return beyond


def main():
    program, words = os.path.abspath(sys.argv[1]), sys.argv[2:]
    if words[:1] == ["--random"]:
        return 1 if random_ones(program, int(words[1]), int(words[2])) else 0
    return 1 if library(program, words) else 0


if __name__ == "__main__":
    sys.exit(main())
