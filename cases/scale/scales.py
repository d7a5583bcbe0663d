"""Scale rules in plain Python: a program for the pipe of `halfcheck verify scale/RULE`.

    halfcheck gen scale/te-delayed | python3 scales.py te-delayed | halfcheck verify scale/te-delayed

Each rule is written as its source has it, with `f32` around every operation that rounds. A word
behind the rule's name plants a mistake; see MISTAKES.
"""
import math
import struct
import sys
from fractions import Fraction

FM = struct.unpack("f", b"\xff\xff\x7f\x7f")[0]
LARGEST = {"e4m3": 448.0, "e5m2": 57344.0, "e2m1": 6.0}
EMAX = {"e4m3": 8, "e5m2": 15, "e2m1": 2}
MISTAKES = ("idle-rolls", "uses-this-step", "reciprocal", "no-limit", "leaks-fraction", "ties-away",
            "short-block", "through-bf16", "zero-code", "keeps-nan", "shorter", "longer",
            "margin-elsewhere")


def bits(x: float) -> int:
    """The bits of an fp32 number."""
    return struct.unpack("I", struct.pack("f", x))[0]


def number(word: str) -> float:
    """The fp32 number of eight hexadecimal digits."""
    return struct.unpack("f", struct.pack("I", int(word, 16)))[0]


def f32(x) -> float:
    """A number, a Fraction too, rounded to the nearest fp32 number."""
    if not isinstance(x, Fraction):
        if math.isnan(x) or math.isinf(x) or x == 0:
            return x
        x = Fraction(x)
    size = abs(x)
    e = max(size.numerator.bit_length() - size.denominator.bit_length() - 1, -127)
    while e < 130 and size >= Fraction(2) ** (e + 1):
        e += 1
    ulp = Fraction(2) ** (max(e, -126) - 23)
    rounded = round(size / ulp) * ulp
    value = math.inf if rounded >= 2 ** 128 else float(rounded)
    return -value if x < 0 else value


def divide(x: float, y: float) -> float:
    """x / y in fp32, x positive."""
    if y == 0:
        return math.inf
    if not (math.isfinite(x) and math.isfinite(y)):
        return x / y
    return f32(Fraction(x) / Fraction(y))


def multiply(x: float, y: float) -> float:
    """x y in fp32."""
    if not (math.isfinite(x) and math.isfinite(y)) or x == 0 or y == 0:
        return x * y
    return f32(Fraction(x) * Fraction(y))


def floor_power(x: float) -> float:
    """The greatest power of two that is not above x."""
    return math.ldexp(1, math.frexp(x)[1] - 1)


def te_current(amax: float, top: float, wrong: str) -> float:
    """TransformerEngine's compute_scale_from_amax."""
    if amax == 0 or not math.isfinite(amax):
        return 1.0
    scale = multiply(top, divide(1.0, amax)) if wrong == "reciprocal" else divide(top, amax)
    return scale if wrong == "no-limit" else min(scale, FM)


def torchao(amax: float, top: float, _wrong: str) -> float:
    """torchao's amax_to_scale, in Python's own fp64."""
    return f32(top * (1 / (amax if math.isnan(amax) else max(amax, 1e-12))))


def deepgemm(amax: float, top: float, _wrong: str) -> float:
    """DeepGEMM's decoding scale."""
    return divide(amax if math.isnan(amax) else max(amax, f32(1e-4)), top)


TENSOR = {
    "te-current": te_current,
    "te-current-pow2": lambda a, top, wrong: floor_power(te_current(a, top, wrong)),
    "torchao": torchao,
    "deepgemm": deepgemm,
}


def exponent(rule: str, amax: float, codes: str) -> int:
    """The exponent of a block's scale; amax is positive and finite."""
    fraction, e = math.frexp(amax)
    if rule == "mx-floor":
        return e - 1 - EMAX[codes]
    if rule == "mx-ceil":
        return e - 1 - EMAX[codes] + (fraction > 0.5)
    top, top_e = math.frexp(LARGEST[codes])  # mx-rp: the least k with amax <= top 2^k
    return e - top_e + (fraction > top)


def encode(x: float, codes: str, wrong: str) -> int:
    """A number's code in e4m3, e5m2 or e2m1: to nearest, ties to even, saturating."""
    sign_bit, mantissa, smallest = {"e4m3": (128, 3, -6), "e5m2": (128, 2, -14),
                                    "e2m1": (8, 1, 0)}[codes]
    sign = sign_bit if math.copysign(1, x) < 0 else 0
    if math.isnan(x):
        return 127 if sign_bit == 128 else 7
    size = min(abs(x), LARGEST[codes])
    if wrong == "through-bf16" and 0 < size < LARGEST[codes]:
        step = math.ldexp(1, math.frexp(size)[1] - 8)
        size = round(size / step) * step
    e = max(math.frexp(size)[1] - 1 if size else smallest, smallest)
    step = math.ldexp(1, e - mantissa)
    count = math.floor(size / step + 0.5) if wrong == "ties-away" else round(size / step)
    return sign | (count + ((e - smallest) << mantissa) if e > smallest else count)


def mx_block(rule: str, elements: list, codes: str, wrong: str) -> str:
    """The scale's code and the elements' codes of a block of 32."""
    amax = max(abs(x) for x in (elements[:-1] if wrong == "short-block" else elements))
    digits = 1 if codes == "e2m1" else 2
    nothing = "ff " + "0" * digits * len(elements)
    if any(math.isnan(x) for x in elements):
        return nothing
    if math.isinf(amax):
        code = 254 if rule == "mx-rp" else 255
    elif amax == 0:
        code = 0
    else:
        code = min(max(exponent(rule, amax, codes) + 127, 0), 254)
    if code == 255:
        return nothing
    factor = 0.0 if wrong == "zero-code" and code == 0 else math.ldexp(1, 127 - code)
    if wrong == "leaks-fraction" and 0 < code < 254:
        factor = number(f"{(254 - code) << 23 | 1:08x}")
    packed = "".join(f"{encode(multiply(x, factor), codes, wrong):0{digits}x}" for x in elements)
    return f"{code:02x} {packed}"


def nvfp4_block(words: list, wrong: str) -> str:
    """TransformerEngine's NVFP4: the block's e4m3 scale and the codes of 16 elements."""
    tensor, elements = words[0], words[1:]
    encode_scale = divide(2688.0, tensor)
    encode_scale = 1.0 if tensor == 0 or encode_scale == 0 else min(encode_scale, FM)
    amax = max(abs(x) for x in elements)
    block = min(multiply(amax, multiply(encode_scale, divide(1.0, 6.0))), FM)
    code = encode(block, "e4m3", "")
    value = decode_e4m3(code)
    decode_scale = divide(1.0, encode_scale)
    if wrong == "reciprocal":
        factor = min(divide(divide(1.0, decode_scale), value), FM)
    else:
        factor = min(divide(1.0, multiply(value, decode_scale)), FM)
    return f"{code:02x} " + "".join(f"{encode(multiply(x, factor), 'e2m1', wrong):x}"
                                    for x in elements)


def decode_e4m3(code: int) -> float:
    """The number of a positive e4m3 code."""
    e, fraction = code >> 3, code & 7
    return math.ldexp(8 + fraction, e - 10) if e else math.ldexp(fraction, -9)


def largest(amaxes: list, keeps_nan: bool) -> float:
    """The largest amax; a NaN drops out or is kept."""
    if keeps_nan and any(math.isnan(a) for a in amaxes):
        return math.nan
    return max((a for a in amaxes if not math.isnan(a)), default=math.nan)


class Delayed:
    """TransformerEngine's delayed scaling: the fused kernel, the functions in Python, or JAX."""

    def __init__(self, rule: str, top: float, window: int, margin: int, recent: bool, wrong: str):
        self.fused, self.jax = rule == "te-delayed", rule == "te-jax"
        self.top, self.margin, self.recent, self.wrong = top, margin, recent, wrong
        window += {"shorter": -1, "longer": 1}.get(wrong, 0)
        self.history, self.scale = [0.0] * window, 1.0

    def step(self, amax: float) -> float:
        """The scale after one step."""
        before = self.scale
        idle = amax == 0
        window = [amax] + self.history[1:]
        keeps_nan = not self.fused or self.wrong == "keeps-nan"
        found = amax if self.recent else largest(window, keeps_nan)
        if not self.fused or not idle or self.wrong == "idle-rolls":
            self.history = [0.0] + (self.history[2:] + [amax] if len(self.history) > 1 else [])
        skips = idle and self.fused and self.wrong != "idle-rolls"
        if found > 0 and math.isfinite(found) and not skips:
            factor = 0.5 ** self.margin
            late = self.fused == (self.wrong == "margin-elsewhere")
            top = self.top if late else self.top * factor
            divides = self.fused or self.jax  # Python's 448 / tensor is 448 times the reciprocal
            scale = divide(top, found) if divides else multiply(top, divide(1.0, found))
            self.scale = multiply(scale, factor) if late else scale
        if self.scale == math.inf and self.wrong != "no-limit" and not self.jax:
            self.scale = FM
        return before if self.wrong == "uses-this-step" else self.scale


def options_of(line: str) -> dict:
    """The options in gen's first line."""
    words = line.split()[4:]
    options = {"most_recent": "--most-recent" in words}
    words = [w for w in words if w != "--most-recent"]
    options.update({words[i][2:]: words[i + 1] for i in range(0, len(words), 2)})
    return options


def main() -> None:
    """Echoes each line of gen with the rule's answer behind it."""
    rule, wrong = sys.argv[1], (sys.argv + [""])[2]
    assert wrong == "" or wrong in MISTAKES, wrong
    codes, delayed = "e4m3", None
    for line in sys.stdin:
        line = line.rstrip("\n")
        if line.startswith("#"):
            options = options_of(line)
            codes = options["codes"]
            if "window" in options:
                delayed = Delayed(rule, LARGEST[codes], int(options["window"]),
                                  int(options["margin"]), options["most_recent"], wrong)
            print(line)
            continue
        words = [number(w) for w in line.split()[1:]]
        if delayed:
            answer = f"{bits(delayed.step(words[0])):08x}"
        elif rule in TENSOR:
            answer = f"{bits(TENSOR[rule](words[0], LARGEST[codes], wrong)):08x}"
        elif rule == "nvfp4-te":
            answer = nvfp4_block(words, wrong)
        else:
            answer = mx_block(rule, words, codes, wrong)
        print(line, answer)


if __name__ == "__main__":
    main()
