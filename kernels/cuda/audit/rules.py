"""What the PTX of the device kernels may hold: exact roundings, and fused or approximate
instructions only where the source, or a function of CUDA's library, has them."""

import re
from collections import Counter
from pathlib import Path

ARITHMETIC = {'add', 'sub', 'mul', 'div', 'rcp', 'sqrt'}
APPROXIMATE = {'ex2', 'lg2', 'sin', 'cos', 'tanh', 'rsqrt'}
FLOATS = {'f16', 'f16x2', 'bf16', 'bf16x2', 'f32', 'f64'}
ROUNDINGS = {'rn', 'rz', 'rm', 'rp'}

# What one call of a function becomes, of the instructions that are refused elsewhere. A call may
# appear several times, since loops are unrolled, but only as a whole: one more fma on its line is a
# contraction. A function with two rows is another in each generation of devices.
EXPANSIONS = [
    # The source's own fused operations.
    ('fmaf', {'fma.rn.f32': 1}),
    ('fma', {'fma.rn.f64': 1}),
    # exp(x) = 2^n 2^r: n = x log2(e) rounded down by an fma, r by two fma, and 2^r, the only
    # approximate instruction, whose error is within the 2 ulp that the CUDA Programming Guide
    # states for expf. r lies in (-1, 1), so that .ftz changes nothing.
    ('expf', {'fma.rn.f32': 3, 'fma.rm.f32': 1, 'ex2.approx.ftz.f32': 1}),
    # A polynomial of the significand, and e ln 2: 1 ulp.
    ('logf', {'fma.rn.f32': 12}),
    # Polynomials, and for large x 1 - 2^p or 1 - 2 / (exp(2 x) + 1): 2 ulp each by the same guide.
    ('erff', {'fma.rn.f32': 7, 'ex2.approx.ftz.f32': 1}),
    ('tanhf', {'fma.rn.f32': 6, 'ex2.approx.ftz.f32': 1, 'rcp.approx.ftz.f32': 1}),
    # cuda-half asks for the device's own instructions, one a kernel: with nothing to be contracted
    # with, an add needs no rounding in its name. sm_80 has no add.bf16: it is fma(x, 1, y).
    ('__hadd', {'add.f16': 1}),
    ('__hsub', {'sub.f16': 1}),
    ('__hmul', {'mul.f16': 1}),
    ('__hfma', {'fma.rn.f16': 1}),
    ('__hfma', {'fma.rn.bf16': 1}),
    ('__internal_sm80_device_hadd', {'fma.rn.bf16': 1}),
    ('__internal_sm80_device_hsub', {'fma.rn.bf16': 1}),
    ('__internal_sm80_device_hmul', {'fma.rn.bf16': 1}),
    ('__internal_sm80_device_hadd', {'add.bf16': 1}),
    ('__internal_sm80_device_hsub', {'sub.bf16': 1}),
    ('__internal_sm80_device_hmul', {'mul.bf16': 1}),
    # Quotients and roots of halves are those of fp32 approximations, corrected by fma.
    ('__hdiv', {'rcp.approx.ftz.f32': 1, 'fma.rn.f32': 2}),
    ('__internal_device_hdiv', {'div.approx.f32': 1}),
    ('__internal_device_hdiv', {'fma.rn.f32': 2}),
    ('hsqrt', {'sqrt.approx.ftz.f32': 1}),
    ('hsqrt', {'sqrt.approx.f32': 1}),
]


def needs_a_reason(opcode):
    """Whether an instruction stands only where EXPANSIONS has it."""
    name, *modifiers = opcode.split('.')
    if {'ftz', 'approx', 'full'} & set(modifiers) or name in {'fma'} | APPROXIMATE:
        return True
    if name == 'mad':
        return bool(FLOATS & set(modifiers))
    if name in ARITHMETIC and FLOATS & set(modifiers):
        return 'rn' not in modifiers
    return False


def why_not(opcode):
    """What is wrong with an instruction where nothing asks for it."""
    name, *modifiers = opcode.split('.')
    if 'ftz' in modifiers:
        return 'flushes subnormals'
    if {'approx', 'full'} & set(modifiers) or name in APPROXIMATE:
        return 'is approximate'
    if name in {'fma', 'mad'}:
        return 'is fused, and the source is not'
    if ROUNDINGS & set(modifiers):
        return 'does not round to nearest'
    return 'has no rounding, so that it may be fused'


def functions_at(place, lines):
    """The functions that may be expanded at a place: its own, and those that its line calls."""
    source = lines(place.path)
    text = source[place.line - 1] if 0 < place.line <= len(source) else ''
    return {place.function} | set(re.findall(r'(\w+)\s*\(', text))


ROOT = Path(__file__).resolve().parents[3]


def read_lines(cache={}):
    """A function that gives the lines of a file, none where it is not there. In the portable build
    slashes stand for the path of the repository."""
    def lines(path):
        if path not in cache:
            file = ROOT / path.lstrip('/') if path.startswith('//') else Path(path)
            cache[path] = file.read_text(errors='replace').splitlines() if file.is_file() else []
        return cache[path]
    return lines


def explain(counted, functions):
    """The function of which these instructions are a number of whole expansions, or None."""
    for name, expansion in EXPANSIONS:
        if name in functions and counted.keys() == expansion.keys():
            one = next(iter(expansion))
            times, rest = divmod(counted[one], expansion[one])
            if rest == 0 and all(counted[op] == times * n for op, n in expansion.items()):
                return name
    return None


def check(instructions):
    """The lines of what must not be there, and how many instructions each function explains."""
    wrong, explained, places = [], Counter(), {}
    lines = read_lines()
    for instruction in instructions:
        if needs_a_reason(instruction.opcode):
            key = (instruction.kernel, instruction.place)
            places.setdefault(key, Counter())[instruction.opcode] += 1
    for (kernel, place), counted in places.items():
        if place is None:
            wrong.append(f'{kernel}: no line information')
            continue
        name = explain(counted, functions_at(place, lines))
        if name:
            explained[name] += sum(counted.values())
            continue
        for opcode, number in counted.items():
            wrong.append(f'{kernel}: {place}: {opcode} {why_not(opcode)}, {number} of them')
    return wrong, explained
