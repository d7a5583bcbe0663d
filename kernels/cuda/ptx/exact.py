"""What PTX's instructions give, by exact integers and fractions: the expected values of
translate_test.py. Nothing here knows instructions.h or table.py.

A float is its bits, as in PTX. Between, it is a pair: its sign, and its magnitude as a Fraction,
INFINITY or NAN.
"""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import isqrt
from typing import Callable, Dict, List, NamedTuple, Tuple, Union

INFINITY, NAN = "infinity", "nan"
Pair = Tuple[int, Union[Fraction, str]]


class Format(NamedTuple):
    """A binary format of IEEE 754: bits in all, bits behind the point, and the NaN of results."""

    width: int
    fraction: int
    nan: int

    def exponents(self) -> int:
        """The bias, which is also the largest exponent."""
        return (1 << self.width - self.fraction - 2) - 1


FORMATS = {"f16": Format(16, 10, 0x7fff), "bf16": Format(16, 7, 0x7fff),
           "f32": Format(32, 23, 0x7fffffff), "f64": Format(64, 52, 0x7ff8000000000000)}


def decode(bits: int, kind: str) -> Pair:
    """The number of an encoding."""
    f = FORMATS[kind]
    sign = bits >> f.width - 1
    exponent = bits >> f.fraction & (1 << f.width - 1 - f.fraction) - 1
    fraction = bits & (1 << f.fraction) - 1
    if exponent == 2 * f.exponents() + 1:
        return sign, NAN if fraction else INFINITY
    whole = fraction | (1 << f.fraction if exponent else 0)
    return sign, Fraction(whole) * Fraction(2) ** (max(exponent, 1) - f.exponents() - f.fraction)


def encode(number: Pair, kind: str, direction: str = "n") -> int:
    """The encoding of a number rounded to nearest even ('n') or downwards ('m')."""
    f = FORMATS[kind]
    sign, magnitude = number
    top = sign << f.width - 1
    infinity = (2 * f.exponents() + 1) << f.fraction
    if magnitude == NAN:
        return f.nan
    if magnitude == INFINITY:
        return top | infinity
    if not magnitude:
        return top
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent -= magnitude < Fraction(2) ** exponent
    exponent = max(exponent, 1 - f.exponents())
    scaled = magnitude / Fraction(2) ** (exponent - f.fraction)
    whole, rest = divmod(scaled, 1)
    if direction == "n":
        whole += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole & 1)
    else:
        whole += bool(rest) and bool(sign)
    code = whole + ((exponent + f.exponents() - 1) << f.fraction)
    if code >= infinity:
        return top | (infinity if direction == "n" or sign else infinity - 1)
    return top | code


def add(a: Pair, b: Pair, direction: str = "n") -> Pair:
    """The exact sum."""
    if NAN in (a[1], b[1]) or (a[1] == b[1] == INFINITY and a[0] != b[0]):
        return 0, NAN
    if INFINITY in (a[1], b[1]):
        return a if a[1] == INFINITY else b
    total = (-a[1] if a[0] else a[1]) + (-b[1] if b[0] else b[1])
    if total:
        return int(total < 0), abs(total)
    return a[0] if a[0] == b[0] and not a[1] else int(direction == "m"), total


def multiply(a: Pair, b: Pair) -> Pair:
    """The exact product."""
    if NAN in (a[1], b[1]) or (INFINITY in (a[1], b[1]) and Fraction(0) in (a[1], b[1])):
        return 0, NAN
    return a[0] ^ b[0], INFINITY if INFINITY in (a[1], b[1]) else a[1] * b[1]


def divide(a: Pair, b: Pair) -> Pair:
    """The exact quotient."""
    if NAN in (a[1], b[1]) or a[1] == b[1] == INFINITY or a[1] == b[1] == 0:
        return 0, NAN
    sign = a[0] ^ b[0]
    if a[1] == INFINITY or b[1] == 0:
        return sign, INFINITY
    return sign, Fraction(0) if b[1] == INFINITY else a[1] / b[1]


def root(a: Pair) -> Pair:
    """The square root, or a number on the same side of everything that a format has."""
    if a[1] == NAN or (a[0] and a[1]):
        return 0, NAN
    if a[1] == INFINITY or not a[1]:
        return a
    scale = 2400  # more bits than any magnitude has behind the point; the root keeps 1200
    square = a[1].numerator * (1 << scale) // a[1].denominator
    whole = isqrt(square)
    sticky = Fraction(int(whole * whole != square), 2)
    return 0, (whole + sticky) / Fraction(2) ** (scale // 2)


def power_of_two(a: Pair) -> Pair:
    """2^x to 60 digits; a subnormal argument is 0, and a subnormal result becomes 0."""
    if a[1] == NAN or (a[1] == INFINITY and not a[0]):
        return a
    if a[1] == INFINITY or (a[0] and a[1] > 200):
        return 0, Fraction(0)
    if a[1] > 200:
        return 0, INFINITY
    with localcontext() as context:
        context.prec = 220
        x = Decimal(a[1].numerator) / Decimal(a[1].denominator)
        context.prec = 60
        result = Fraction(Decimal(2) ** (-x if a[0] else x))
    return 0, result if result >= Fraction(1, 2 ** 126) else Fraction(0)


def less(a: Pair, b: Pair) -> bool:
    """a < b, where -0 is less than +0."""
    def key(x: Pair) -> Tuple:
        size = Fraction(2) ** 2000 if x[1] == INFINITY else x[1]
        return (-size if x[0] else size, not x[0])
    return key(a) < key(b)


def extreme(a: Pair, b: Pair, least: bool) -> Pair:
    """min and max: a NaN gives way."""
    if NAN in (a[1], b[1]):
        return b if a[1] == NAN else a
    return a if less(a, b) == least else b


def compare(name: str, a: Pair, b: Pair) -> bool:
    """setp of floats."""
    if NAN in (a[1], b[1]):
        return name == "nan" or (len(name) == 3 and name != "num")
    equal = a == b or a[1] == b[1] == 0
    before = not equal and less(a, b)
    return {"eq": equal, "ne": not equal, "lt": before, "le": before or equal,
            "gt": not before and not equal, "ge": not before, "nu": True, "na": False}[name[:2]]


def flushed(bits: int) -> int:
    """A subnormal of fp32 becomes a zero."""
    return bits & 1 << 31 if bits >> 23 & 255 == 0 else bits


def float_result(name: str, kind: str, values: List[int]) -> int:
    """Arithmetic of f32 and f64: `name` with its rounding."""
    top = 1 << FORMATS[kind].width - 1
    if name == "rcp.approx.ftz":
        return flushed(float_result("rcp.rn", kind, [flushed(values[0])]))
    numbers = [decode(value, kind) for value in values]
    if name == "copysign":
        return (values[0] & top) | (values[1] & top - 1)
    if name in ("neg", "abs") and numbers[0][1] != NAN:
        return values[0] ^ top if name == "neg" else values[0] & top - 1
    direction = "m" if name.endswith(".rm") else "n"
    exact: Dict[str, Callable[[], Pair]] = {
        "add": lambda: add(*numbers),
        "sub": lambda: add(numbers[0], (1 - numbers[1][0], numbers[1][1])),
        "mul": lambda: multiply(*numbers),
        "div": lambda: divide(*numbers),
        "rcp": lambda: divide((0, Fraction(1)), numbers[0]),
        "sqrt": lambda: root(numbers[0]),
        "fma": lambda: add(multiply(*numbers[:2]), numbers[2], direction),
        "min": lambda: extreme(*numbers, True),
        "max": lambda: extreme(*numbers, False),
        "ex2": lambda: power_of_two(numbers[0]),
        "neg": lambda: numbers[0],
        "abs": lambda: numbers[0],
    }
    return encode(exact[name.split(".")[0]](), kind, direction)


def truncate(number: Pair, low: int, high: int, nan: int) -> int:
    """Towards zero into an integer's range."""
    sign, magnitude = number
    if magnitude == NAN:
        return nan
    if magnitude == INFINITY:
        return low if sign else high
    return max(low, min(high, -int(magnitude) if sign else int(magnitude)))


def of_integer(value: int, kind: str) -> int:
    """An integer to nearest."""
    return encode((int(value < 0), Fraction(abs(value))), kind)
