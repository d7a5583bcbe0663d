"""How an fp32 is rounded to a format of eight bits or fewer, in exact integers, and who differs.

The rule: round |x| to the format's grid with the exponent unbounded above, ties to the even code;
what then is above the largest finite number M overflows. So each code is the answer of one interval
of fp32 bits, and all 2^32 inputs are compared interval by interval. A package's script hands its
conversion to `report`.
"""
import argparse
import subprocess
from fractions import Fraction

import numpy as np

# Bits of the exponent and the fraction, bias, code of M, what overflow gives without saturation
# (+, -) or None for formats that always saturate, whether -0 is no number.
FORMATS = {
    "e4m3": (4, 3, 7, 0x7E, (0x7F, 0xFF), False),
    "e5m2": (5, 2, 15, 0x7B, (0x7C, 0xFC), False),
    "e4m3fnuz": (4, 3, 8, 0x7F, (0x80, 0x80), True),
    "e5m2fnuz": (5, 2, 16, 0x7F, (0x80, 0x80), True),
    "e2m3": (2, 3, 1, 0x1F, None, False),
    "e3m2": (3, 2, 3, 0x1F, None, False),
    "e2m1": (2, 1, 1, 0x7, None, False),
    "ue4m3": (4, 3, 7, 0x7E, None, True),  # of positive inputs alone
}
CHUNK = 1 << 22
INFINITY = 0x7F800000


def value(name, code):
    """The value of a positive code, also of those beyond M, as if they were numbers."""
    _, fraction_bits, bias, *_ = FORMATS[name]
    exponent, fraction = code >> fraction_bits, code & ((1 << fraction_bits) - 1)
    significand = fraction + ((1 << fraction_bits) if exponent else 0)
    return significand * Fraction(2) ** (max(exponent, 1) - bias - fraction_bits)


def bits_from(bound, inclusive):
    """The bits of the least positive fp32 above a bound, or at it if inclusive."""
    low, high = 0, INFINITY
    while low < high:
        middle = (low + high) // 2
        number = Fraction(float(np.uint32(middle).view(np.float32)))
        low, high = (low, middle) if number > bound or (inclusive and number == bound) else (
            middle + 1, high)
    return low


def intervals(name, saturate):
    """[(first bits, code of the positive inputs from there, code of the negative)], up to inf."""
    exponent_bits, fraction_bits, _, most, overflow, one_zero = FORMATS[name]
    sign = 1 << (exponent_bits + fraction_bits)
    found = [(0, 0, 0 if one_zero else sign)]
    for code in range(1, most + 2):
        tie = (value(name, code - 1) + value(name, code)) / 2
        pair = (code, sign | code)
        if code > most:
            pair = (most, sign | most) if saturate or overflow is None else overflow
        found.append((bits_from(tie, code % 2 == 0), *pair))
    return found


def magnitudes(some):
    """The bits of all positive fp32 that are no NaN, in order and in pieces. `some` takes every
    sign, exponent and upper eleven fraction bits with four lower parts: near ties and at them."""
    if some:
        upper = np.arange(0, INFINITY, 1 << 12, dtype=np.uint32)
        yield np.append(np.add.outer(upper, np.array([0, 1, 0x800, 0xFFF], np.uint32)).ravel(),
                        np.uint32(INFINITY))
        return
    for start in range(0, INFINITY + 1, CHUNK):
        yield np.arange(start, min(start + CHUNK, INFINITY + 1), dtype=np.uint32)


def differences(name, saturate, convert, some=False):
    """Converts every fp32 that is no NaN; yields arrays of (bits, want, got)."""
    found = np.array(intervals(name, saturate), np.uint32)
    for sign in (0,) if name == "ue4m3" else (0, 1):
        for bits in magnitudes(some):
            cuts = np.searchsorted(bits, found[:, 0])
            want = np.repeat(found[:, 1 + sign].astype(np.uint8), np.diff(cuts, append=len(bits)))
            bits = bits | np.uint32(sign << 31)
            yield bits, want, np.asarray(convert(bits.view(np.float32))).view(np.uint8)


def same_nan(name, codes):
    """The codes with every NaN made one, since nobody agrees on their signs and payloads."""
    table = np.arange(256, dtype=np.uint8)
    if name == "e4m3":
        table[0xFF] = 0x7F
    if name == "e5m2":
        table[0x7D:0x80] = table[0xFD:] = 0x7F
    return table[codes]


def count(name, saturate, convert, some=False):
    """How many inputs there are, how many differ, the first of them, and what becomes of NaN."""
    inputs, total, first = 0, 0, ""
    for bits, want, got in differences(name, saturate, convert, some):
        wrong = np.flatnonzero(same_nan(name, want) != same_nan(name, got))
        if len(wrong) and not total:
            at = wrong[0]
            first = f"{bits[at]:08x}: want {want[at]:02x}, got {got[at]:02x}"
        inputs, total = inputs + len(bits), total + len(wrong)
    nans = np.array([0x7FC00000, 0x7F800001, 0xFFC00000, 0xFF800001], np.uint32)
    answers = np.asarray(convert(nans.view(np.float32))).view(np.uint8)
    return inputs, total, first, " ".join(f"{code:02x}" for code in answers)


def verified(halfcheck, name, saturate, convert):
    """What `halfcheck verify cast/NAME` says of the conversion of the inputs that it gives."""
    options = ["--saturate"] if saturate else []
    given = subprocess.run([halfcheck, "gen", f"cast/{name}", *options], capture_output=True,
                           text=True, check=False)
    if given.returncode:
        return "not judged: " + given.stderr.strip()
    heads = [line for line in given.stdout.splitlines() if line.startswith("#")]
    lines = [line for line in given.stdout.splitlines() if not line.startswith("#")]
    bits = np.array([int(line, 16) for line in lines], np.uint32)
    codes = np.asarray(convert(bits.view(np.float32))).view(np.uint8)
    answers = heads + [f"{line} {code:02x}" for line, code in zip(lines, codes)]
    judged = subprocess.run([halfcheck, "verify", f"cast/{name}"], capture_output=True, text=True,
                            input="\n".join(answers) + "\n", check=False)
    return (judged.stdout + judged.stderr).strip()


def report(package, conversions):
    """Prints a line for each (format, saturating, what it is, conversion of an fp32 array)."""
    parser = argparse.ArgumentParser(description=f"{package} against the rule and halfcheck")
    parser.add_argument("halfcheck", nargs="?", help="also let this program judge it")
    parser.add_argument("--only", default="", help="conversions whose name has this in it")
    parser.add_argument("--judge", action="store_true", help="only let halfcheck judge it")
    parser.add_argument("--some", action="store_true", help="4,177,922 inputs, not all of them")
    options = parser.parse_args()
    print(f"# {package}; NaN is 7fc00000 7f800001 ffc00000 ff800001")
    print("# conversion\tformat\toverflow\tinputs\tdiffer\tfirst\tNaN", flush=True)
    np.seterr(invalid="ignore")
    for name, saturate, title, convert in conversions:
        if options.only not in f"{title} {name}":
            continue
        words = title, name, "sat" if saturate else "nosat"
        if not options.judge:
            inputs, total, first, nans = count(name, saturate, convert, options.some)
            print(*words, inputs, total, first or "-", nans, sep="\t", flush=True)
        if options.halfcheck:
            judged = verified(options.halfcheck, name, saturate, convert).splitlines()
            print("# halfcheck of", *words)
            print(*judged, sep="\n", flush=True)
