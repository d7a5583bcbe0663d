"""torch's and ml_dtypes' conversions of the halves and fp64: python cast_half.py HALFCHECK

The 65,536 inputs of each half go through `halfcheck gen | verify`. fp64 has numbers next to ties
that fp32 has not: tie (1 + 2^-40) must round up, and by way of fp32 it is a tie.
"""
import subprocess
import sys
from fractions import Fraction

import ml_dtypes
import numpy as np
import torch

from rule import FORMATS, value

TORCH = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2,
         "e4m3fnuz": torch.float8_e4m3fnuz, "e5m2fnuz": torch.float8_e5m2fnuz}
NUMPY = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
         "e4m3fnuz": ml_dtypes.float8_e4m3fnuz, "e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
         "e2m3": ml_dtypes.float6_e2m3fn, "e3m2": ml_dtypes.float6_e3m2fn,
         "e2m1": ml_dtypes.float4_e2m1fn}
HALF = {"fp16": (torch.float16, np.float16), "bf16": (torch.bfloat16, ml_dtypes.bfloat16)}


def by_torch(bits, source, name):
    half = torch.from_numpy(bits.view(np.int16).copy()).view(HALF[source][0])
    return half.to(TORCH[name]).view(torch.uint8).numpy()


def by_numpy(bits, source, name):
    return bits.view(HALF[source][1]).astype(NUMPY[name]).view(np.uint8)


def judged(source, name, saturate, convert):
    """The verdict's first line on every input of a half format."""
    command = ["--from", source, "--kind", "every"] + (["--saturate"] if saturate else [])
    given = subprocess.run([sys.argv[1], "gen", f"cast/{name}", *command], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    lines = [line for line in given if not line.startswith("#")]
    codes = convert(np.array([int(line, 16) for line in lines], np.uint16), source, name)
    text = [line for line in given if line.startswith("#")]
    text += [f"{line} {code:02x}" for line, code in zip(lines, codes)]
    return subprocess.run([sys.argv[1], "verify", f"cast/{name}"], input="\n".join(text) + "\n",
                          capture_output=True, text=True, check=False).stdout.splitlines()[0]


def beside_ties(name, convert):
    """How many positive ties of the format are taken for ties though the fp64 is above or below."""
    wrong, total = 0, 0
    for code in range(FORMATS[name][3]):
        tie = (value(name, code) + value(name, code + 1)) / 2
        for want, side in ((code + 1, 1), (code, -1)):
            x = float(tie * (1 + side * Fraction(1, 2**40)))
            wrong += int(convert(np.array([x]))[0]) != want
            total += 1
    return f"{wrong} of {total} fp64 beside a tie are rounded wrong"


np.seterr(all="ignore")
print(f"# torch {torch.__version__}, ml_dtypes {ml_dtypes.__version__}")
for system, formats, function in (("torch", TORCH, by_torch), ("ml_dtypes", NUMPY, by_numpy)):
    for name in formats:
        for source in HALF:
            saturate = system == "torch" and name == "e4m3"
            print(system, source, judged(source, name, saturate, function), sep="\t")
for name, dtype in TORCH.items():
    print("torch", "fp64", name, beside_ties(name, lambda x, t=dtype: (
        torch.from_numpy(x).to(t).view(torch.uint8).numpy())), sep="\t")
for name, dtype in NUMPY.items():
    print("ml_dtypes", "fp64", name, beside_ties(name, lambda x, t=dtype: (
        x.astype(t).view(np.uint8))), sep="\t")
