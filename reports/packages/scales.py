"""What E8M0 scale a block's amax has under the rules of MX, exactly, and which packages differ.

The scale is 2^k. frexp takes the amax, in fp64, apart into s 2^e with 1 <= s < 2; the format's
largest number is S 2^emax. So floor is e - emax, rp (the least k with amax <= M 2^k) is one more
where s > S, and ceil is floor, one more where s > 1. The code is k + 127, between 0 and 254.
"""
import argparse

import numpy as np

from rule import FORMATS, value

RULES = ("floor", "rp", "ceil", "even")


def parts(name):
    """emax, S of the format's largest number, and its bits of fraction."""
    largest = float(value(name, FORMATS[name][3]))
    fraction, exponent = np.frexp(largest)
    return int(exponent) - 1, 2 * float(fraction), FORMATS[name][1]


def code(rule, name, amax):
    """The codes of positive, finite amaxes."""
    emax, largest, fraction_bits = parts(name)
    fraction, exponent = np.frexp(np.asarray(amax).astype(np.float64))
    s = 2 * fraction
    more = {"floor": 0, "rp": s > largest, "ceil": s > 1,
            "even": s + 2.0 ** -(fraction_bits + 1) >= 2}[rule]
    return np.clip(exponent - 1 - emax + more + 127, 0, 254)


def edges(name, width):
    """fp32 amaxes of every exponent, within `width` ulps of where some rule takes a step, and
    4,096 others each: a log2 of fp32 errs by fewer ulps than that."""
    _, largest, fraction_bits = parts(name)
    near = np.arange(-width, width + 1)
    steps = [0, int((largest - 1) * 2**23), (1 << 23) - (1 << (22 - fraction_bits))]
    within = np.unique(np.concatenate([step + near for step in steps]
                                      + [np.arange(0, 1 << 23, 1 << 11)]))
    bits = np.add.outer(np.arange(0, 256, dtype=np.int64) << 23, within).ravel()
    bits = np.unique(bits[(bits > 0) & (bits < 0x7F800000)]).astype(np.uint32)
    return bits.view(np.float32)


def report(package, rows):
    """Prints a line for each (what it is, rule, format, codes of an array of amaxes)."""
    parser = argparse.ArgumentParser(description=f"{package} against the rules of MX")
    parser.add_argument("--only", default="", help="rows whose name has this in it")
    parser.add_argument("--width", type=int, default=2048, help="ulps on either side of a step")
    options = parser.parse_args()
    print(f"# {package}; amaxes near every step of the rules, and others")
    print("# what\trule\tformat\tamaxes\tdiffer\ttoo low\tfirst\tof 0, inf, NaN", flush=True)
    special = np.array([0, np.inf, np.nan], np.float32)
    for title, rule, name, function in rows:
        if options.only not in f"{title} {name}":
            continue
        amaxes = edges(name, options.width)
        want, got = code(rule, name, amaxes), np.asarray(function(amaxes)).astype(np.int64)
        wrong = np.flatnonzero(want != got)
        first = "-"
        if len(wrong):
            at = wrong[0]
            first = f"{amaxes.view(np.uint32)[at]:08x}: want {want[at]:02x}, got {got[at]:02x}"
        others = " ".join(f"{int(one):02x}" for one in np.asarray(function(special)))
        print(title, rule, name, len(amaxes), len(wrong), int((got < want).sum()), first, others,
              sep="\t", flush=True)
