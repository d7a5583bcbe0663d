"""A conversion to a format below half, in exact arithmetic, with the mistakes that people make.

usage: halfcheck gen cast/e4m3 | python3 conversion.py [MISTAKE...] | halfcheck verify cast/e4m3

It lists the format's values and looks for the one that is nearest, so that it shares no method with
halfcheck, which rounds bits. The first line of gen says which format, and whether to saturate.
"""

import bisect
import struct
import sys
from fractions import Fraction

# Bits of the exponent and the fraction, bias, and which codes are no numbers.
FORMATS = {
    "e4m3": (4, 3, 7, "fn"),
    "e5m2": (5, 2, 15, "ieee"),
    "e4m3fnuz": (4, 3, 8, "fnuz"),
    "e5m2fnuz": (5, 2, 16, "fnuz"),
    "e2m3": (2, 3, 1, "none"),
    "e3m2": (3, 2, 3, "none"),
    "e2m1": (2, 1, 1, "none"),
}
MISTAKES = {
    "ties-away", "ties-to-zero", "truncate", "via-fp16", "via-bf16", "early-overflow",
    "late-overflow", "nan-to-max", "flush", "no-carry", "no-sign-of-zero", "half-of-tiny",
    "no-sticky", "saturate", "unsaturated", "floor-of-half-more",
}  # fmt: skip


class Format:
    """All magnitudes of a format in the order of their codes, and one step beyond the largest."""

    def __init__(self, name: str):
        exponent, self.fraction, bias, self.special = FORMATS[name]
        self.sign = 1 << (exponent + self.fraction)
        unit = Fraction(1, 1 << self.fraction)

        def magnitude(code: int) -> Fraction:
            e, f = code >> self.fraction, code & ((1 << self.fraction) - 1)
            power = Fraction(2) ** (max(e, 1) - bias)
            return power * ((1 if e else 0) + f * unit)

        numbers = self.sign - {"fn": 1, "ieee": 1 << self.fraction}.get(self.special, 0)
        self.values = [magnitude(code) for code in range(numbers + 1)]
        self.last = numbers - 1  # the code of the largest number
        self.nan = {"fn": self.sign - 1, "ieee": numbers + 1, "fnuz": self.sign}.get(self.special)
        self.infinity = {"ieee": numbers, "none": self.last}.get(self.special, self.nan)


def nearest(f: Format, x: Fraction, wrong: set) -> int:
    """The magnitude's code; one more than the largest number's if it rounds beyond that."""
    below = bisect.bisect_right(f.values, x) - 1
    if below > f.last:
        return below
    middle = (f.values[below] + f.values[below + 1]) / 2
    quarter = (middle + f.values[below + 1]) / 2
    odd = below % 2 == 1
    up = x > middle or (x == middle and odd)
    if "ties-away" in wrong:
        up = x >= middle
    if "ties-to-zero" in wrong:
        up = x > middle
    if "no-sticky" in wrong:
        up = x >= quarter or (x >= middle and odd)
    if "truncate" in wrong:
        up = False
    if "half-of-tiny" in wrong and below == 0 and x == middle:
        up = True
    if "floor-of-half-more" in wrong:
        up = x >= (middle if below else middle * (1 - Fraction(1, 1 << 24)))
    ones = (1 << f.fraction) - 1
    if "no-carry" in wrong and up and below & ones == ones:
        return below - ones
    return 0 if "flush" in wrong and below + up <= ones else below + up


def by_way_of(x: float, wrong: set) -> float:
    """x rounded to another format first."""
    if "via-fp16" in wrong:
        try:
            return struct.unpack("e", struct.pack("e", x))[0]
        except OverflowError:
            return float("inf") if x > 0 else float("-inf")
    if "via-bf16" in wrong:
        (bits,) = struct.unpack("I", struct.pack("f", x))
        bits = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16
        return struct.unpack("f", struct.pack("I", bits))[0]
    return x


def convert(f: Format, x: float, saturate: bool, wrong: set) -> int:
    """The code of x."""
    if x != x:
        return f.last if "nan-to-max" in wrong or f.nan is None else f.nan
    sign = f.sign if struct.pack(">d", x)[0] & 0x80 else 0
    x = abs(by_way_of(x, wrong))
    saturate = (saturate or "saturate" in wrong) and "unsaturated" not in wrong
    code = f.last + 1 if x == float("inf") else nearest(f, Fraction(x), wrong)
    if "early-overflow" in wrong and x > f.values[f.last]:
        code = f.last + 1
    if "late-overflow" in wrong and x < f.values[f.last + 1]:
        code = min(code, f.last)
    if code > f.last:
        code = f.last if saturate else f.infinity
    if code == 0 and (f.special == "fnuz" or ("no-sign-of-zero" in wrong and x == 0)):
        return 0
    return code | sign


def main() -> None:
    wrong = set(sys.argv[1:])
    if not wrong <= MISTAKES:
        sys.exit(f"conversion.py: no mistake {' '.join(sorted(wrong - MISTAKES))}")
    for line in sys.stdin:
        if line.startswith("#"):
            words = line.split()
            f = Format(words[3].split("/")[1])
            source = words[words.index("--from") + 1]
            print(line, end="")
            continue
        bits = int(line, 16)
        if source == "fp16":
            (x,) = struct.unpack("e", struct.pack("H", bits))
        else:
            (x,) = struct.unpack("f", struct.pack("I", bits << (16 if source == "bf16" else 0)))
        print(line.strip(), f"{convert(f, x, '--saturate' in words, wrong):02x}")


main()
