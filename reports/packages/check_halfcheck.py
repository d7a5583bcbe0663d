"""halfcheck's vectors against rule.py: python check_halfcheck.py HALFCHECK

Its inputs are answered by the rule, which must pass, and by the rule with one answer changed, which
must not.
"""
import sys

import numpy as np

from rule import FORMATS, INFINITY, intervals, verified


def answers(name, saturate):
    """The rule as a conversion of an array. Of NaN it makes what halfcheck makes."""
    found = np.array(intervals(name, saturate), np.uint32)
    nan = {"e4m3": 0x7F, "e5m2": 0x7E, "e4m3fnuz": 0x80, "e5m2fnuz": 0x80}.get(name)
    nan = FORMATS[name][3] if nan is None else nan

    def convert(x):
        bits = x.view(np.uint32)
        magnitude = bits & 0x7FFFFFFF
        row = np.searchsorted(found[:, 0], magnitude, side="right") - 1
        codes = np.where(bits >> 31, found[row, 2], found[row, 1]).astype(np.uint8)
        return np.where(magnitude > INFINITY, nan, codes).astype(np.uint8)
    return convert


def with_fault(convert):
    """The same, but the answer in the middle is one code off."""
    def wrong(x):
        codes = convert(x)
        codes[len(codes) // 2] ^= 1
        return codes
    return wrong


program, failed = sys.argv[1], 0
for name in FORMATS:
    if name == "ue4m3":  # the rule is of positive inputs alone
        continue
    for saturate in (False, True):
        good = verified(program, name, saturate, answers(name, saturate))
        bad = verified(program, name, saturate, with_fault(answers(name, saturate)))
        right = good.startswith("PASS") and bad.startswith("FAIL")
        failed += not right
        print("PASS" if right else "FAIL", name, "sat" if saturate else "nosat",
              good.splitlines()[0], sep="\t")
        if not right:
            print(good, bad, sep="\n")
sys.exit(1 if failed else 0)
