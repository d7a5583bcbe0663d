#!/usr/bin/env python3
"""How long it takes to judge by a definition, beside a plain evaluation of the same text in MPFR.

  speed.py HALFCHECK    processor seconds, and the ratio of the two

All elements of attention with 4 heads, 128 queries and keys, and heads of 64; and 64 elements of a
product of 1024 x 1024 x 1024. The plain evaluation is written here, in mpmath with gmpy2 if that is
there, with 128 bits: a few of the elements, each by the whole formula, times how many there are."""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "python"))

import mpmath  # noqa: E402
import numpy as np  # noqa: E402

from halfcheck import safetensors  # noqa: E402

RUNS = 2


def spent(command):
    """The least processor and wall seconds of some runs."""
    best = None
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        wall = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best = min(best or (used, wall), (used, wall))
    return best


def plain_attention(q, k, v, rows):
    """Some rows of head 0, each key's score by itself."""
    for t in rows:
        s = [mpmath.fsum(mpmath.mpf(float(a)) * mpmath.mpf(float(b)) for a, b in zip(q[0, t], key))
             / mpmath.sqrt(q.shape[2]) for key in k[0, :t + 1]]
        e = [mpmath.exp(x - max(s)) for x in s]
        yield [mpmath.fsum(p * mpmath.mpf(float(x)) for p, x in zip(e, v[0, :t + 1, c]))
               / mpmath.fsum(e) for c in range(v.shape[2])]


def file_of(folder, **tensors):
    path = os.path.join(folder, "t.safetensors")
    safetensors.write(path, {name: ("F32", a.shape, a.tobytes()) for name, a in tensors.items()})
    return path


def main():
    program = os.path.abspath(sys.argv[1])
    mpmath.mp.prec = 128
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((4, 128, 64)).astype("f") for _ in range(3))
    s = np.einsum("htd,hud->htu", q, k) / 8
    s[:, np.triu(np.ones((128, 128), bool), 1)] = -np.inf
    e = np.exp(s - s.max(-1, keepdims=True))
    y = (np.einsum("htu,hud->htd", e, v) / e.sum(-1, keepdims=True)).astype("f")
    lse = (np.log(e.sum(-1)) + s.max(-1)).astype("f")
    a, b = (rng.standard_normal((1024, 1024)).astype("f") for _ in range(2))
    with tempfile.TemporaryDirectory(prefix="halfcheck-") as folder:
        path = file_of(folder, q=q, k=k, v=v, y=y, lse=lse)
        used, wall = spent([program, "judge", "--define", "attention", "--tensors", path, "--all"])
        start = time.process_time()
        rows = list(range(7, 128, 16))
        list(plain_attention(q, k, v, rows))
        slow = (time.process_time() - start) * 4 * 128 / len(rows)
        print(f"attention, all of {y.size + lse.size} elements: {used:.2f} s of processor, "
              f"{wall:.2f} s; plainly {slow:.0f} s, {slow / used:.0f} times as long")
        few = (a[:8].astype(float) @ b[:, :8].astype(float)).astype("f")
        path = file_of(folder, a=np.ascontiguousarray(a[:8]), b=np.ascontiguousarray(b[:, :8]),
                       y=few)
        used, wall = spent([program, "judge", "--define", "matmul", "--tensors", path, "--all"])
        nothing, _ = spent([program, "define", "matmul"])
        start = time.process_time()
        for i in range(8):
            for j in range(8):
                mpmath.fsum(mpmath.mpf(float(x)) * mpmath.mpf(float(z))
                            for x, z in zip(a[i], b[:, j]))
        slow = time.process_time() - start
        print(f"64 elements of a product over 1024: {used * 1e3:.0f} ms of processor, "
              f"{wall * 1e3:.0f} ms, of which {nothing * 1e3:.0f} ms are the program's start; "
              f"plainly {slow * 1e3:.0f} ms, {slow / used:.1f} times as long")


if __name__ == "__main__":
    main()
