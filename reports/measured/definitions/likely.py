#!/usr/bin/env python3
"""How far the likely line of definitions is from right orders and from wrong ones: likely.py HALFCHECK

Each row is a kernel of numpy in fp32 on normal numbers, of some lengths: how many results were
judged, the largest error in units of the bound and of the likely line, and how many calls are
improbable. Right ones must not be."""

import os
import sys

from judging import judged

import numpy as np

F = np.float32
MATMUL = "op mm(x[m, k], w[n, k])\ny[m, n] = sum(k: x[m,k] * w[n,k])\nreturn y\n"
VARIANCE = "op var(x[m, k])\nu[m] = mean(k: x[m,k])\ny[m] = mean(k: (x[m,k] - u[m])^2)\nreturn y\n"
LENGTHS = (64, 256, 1024, 4096)
SEEDS = 6


def forwards(a):
    total = a[..., 0]
    for k in range(1, a.shape[-1]):
        total = total + a[..., k]
    return total


def lanes(count):
    def summed(a):
        parts = [forwards(a[..., i::count]) for i in range(min(count, a.shape[-1]))]
        while len(parts) > 1:
            parts = [sum(parts[i:i + 2][1:], parts[i]) for i in range(0, len(parts), 2)]
        return parts[0]
    return summed


def shuffled(a):
    return forwards(a[..., np.random.default_rng(a.shape[-1]).permutation(a.shape[-1])])


SUMS = {"forwards": forwards, "backwards": lambda a: forwards(a[..., ::-1]), "shuffled": shuffled,
        "16 lanes": lanes(16), "pairs": lanes(1 << 20)}


def cut(a, bits):
    """Rounded to nearest, with so many bits fewer."""
    return ((a.view(np.uint32) + (1 << bits >> 1)) & np.uint32(-(1 << bits) & 0xffffffff)).view(F)


def product(total, factors=lambda a: a):
    return lambda x, w: total(factors(x)[:, None] * factors(w)[None])


def one_pass(total):
    return lambda x: total(x * x) / F(x.shape[-1]) - (total(x) / F(x.shape[-1]))**2


def two_passes(total):
    return lambda x: total((x - (total(x) / F(x.shape[-1]))[:, None])**2) / F(x.shape[-1])


def rows():
    """(what, text, function, mean of the numbers, whether it is right)."""
    for name, total in SUMS.items():
        yield f"product, {name}", MATMUL, product(total), 0, True
        yield f"variance, two passes, {name}", VARIANCE, two_passes(total), 3000, True
    yield "product of tf32", MATMUL, product(lanes(16), lambda a: cut(a, 13)), 0, False
    yield "variance, one pass, 16 lanes", VARIANCE, one_pass(lanes(16)), 3000, False


def main():
    program, wrong = os.path.abspath(sys.argv[1]), 0
    print(f"{'kernel':<36}{'length':>7}{'results':>9}{'/ bound':>9}{'/ line':>9}  improbable")
    for what, text, function, mean, right in rows():
        for length in LENGTHS:
            results, bound, line, improbable, beyond = 0, 0.0, 0.0, 0, 0
            for seed in range(SEEDS):
                rng = np.random.default_rng(seed)
                given = {"x": (mean + rng.standard_normal((8, length))).astype(F)}
                if text is MATMUL:
                    given["w"] = rng.standard_normal((8, length)).astype(F)
                y = np.ascontiguousarray(function(*given.values()), F)
                said = judged(program, text, {**given, "y": y})[0]
                excess = np.nan_to_num(float(said["excess"]))
                results += said["judged"]
                bound = max(bound, float(said["worst"]["ratio"]))
                line = max(line, excess)
                improbable += excess > 1
                beyond += said["wrong"] > 0
            print(f"{what:<36}{length:>7}{results:>9}{bound:>9.2g}{line:>9.2g}  {improbable} of {SEEDS}"
                  + (f", {beyond} wrong" if beyond else ""), flush=True)
            wrong += right and (improbable > 0 or beyond > 0)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
