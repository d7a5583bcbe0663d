#!/usr/bin/python3
"""Tests of translate.py: translate_test.py CC INCLUDE... [-- PTXAS]

Every instruction of table.py becomes a kernel of its own, which is translated, compiled and called
with edge values; exact.py says what it must give. Then memory, predicates and scopes, and what must
be refused. With PTXAS, NVIDIA's assembler must accept the same kernels.
"""

import ctypes
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, Dict, List, Optional

import exact
from table import INSTRUCTIONS, WIDTHS
from translate import Refused, translate

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
PREFIX = {"pred": "%p", 16: "%rs", 32: "%r", 64: "%rd"}
PLACES = 5  # words of the argument: four operands and where the result goes

# What the emulation has, for a call without it. A refusal at run time is an exit status.
STUBS = r"""
#include <stdlib.h>
#include "kernels/cuda/ptx/memory.h"
int hc_ptx_ex2_off;
static _Alignas(16) unsigned char room[64];
int hc_thread(void) { return 5; }
int hc_threads(void) { return 64; }
int hc_block(void) { return 2; }
int hc_blocks(void) { return 3; }
void *hc_shared(void) { return room; }
size_t hc_ptx_shared_bytes(void) { return 48; }
void hc_sync_at(const char *file, int line) { (void)file; (void)line; }
float hc_shuffle_down_at(float x, int delta, const char *file, int line)
{
    (void)file; (void)line;
    return x + (float)delta;
}
unsigned hc_atomic_or(unsigned *to, unsigned x) { unsigned b = *to; *to |= x; return b; }
unsigned hc_atomic_max(unsigned *to, unsigned x) { unsigned b = *to; *to = b > x ? b : x; return b; }
unsigned hc_atomic_add(unsigned *to, unsigned x) { unsigned b = *to; *to += x; return b; }
_Noreturn void hc_ptx_misaligned(struct hc_ptx_site s, uint64_t a, size_t b)
{
    (void)s; (void)a; (void)b;
    _Exit(31);
}
_Noreturn void hc_ptx_outside(struct hc_ptx_site s, const char *w, uint64_t a, size_t b, size_t n)
{
    (void)s; (void)w; (void)a; (void)b; (void)n;
    _Exit(32);
}
_Noreturn void hc_ptx_shuffled(struct hc_ptx_site s) { (void)s; _Exit(33); }
_Noreturn uint64_t hc_ptx_divided_by_zero(void) { _Exit(34); }
"""


def kernel(name: str, body: str) -> str:
    """A kernel of PLACES words that has a few registers of each type."""
    return (f".visible .entry hc_dk_{name}_entry(\n.param .align 8 .b8 a[{8 * PLACES}]\n)\n{{\n"
            ".reg .pred %p<6>;\n.reg .b16 %rs<6>;\n.reg .b32 %r<6>;\n.reg .b64 %rd<6>;\n"
            f".reg .b64 %to;\nld.param.u64 %to, [a+32];\n{body}\nret;\n}}\n")


def sample(number: int, name: str) -> str:
    """A kernel that carries out one instruction on its words."""
    instruction = INSTRUCTIONS[name]
    lines, operands = [], []
    for i, kind in enumerate(instruction.operands):
        width = max(16, WIDTHS[kind])
        register = f"{PREFIX[width]}{i + 1}" if kind != "pred" else f"%p{i + 1}"
        if kind == "pred":
            lines += [f"ld.param.u32 %r0, [a+{8 * i}];", f"setp.ne.u32 {register}, %r0, 0;"]
        else:
            lines.append(f"ld.param.b{width} {register}, [a+{8 * i}];")
        operands.append(register)
    width = max(16, WIDTHS[instruction.result])
    result = "%p0" if instruction.result == "pred" else f"{PREFIX[width]}0"
    lines.append(f"{name} {', '.join([result] + operands)};")
    if instruction.result == "pred":
        lines += ["selp.u32 %r5, 1, 0, %p0;", "cvt.u64.u32 %rd5, %r5;"]
    else:
        lines.append(f"cvt.u64.u{width} %rd5, {result};")
    return kernel(f"i{number}", "\n".join(lines + ["st.global.u64 [%to], %rd5;"]))


def build(ptx: str, compiler: List[str], folder: Path) -> ctypes.CDLL:
    """Translates, compiles and loads."""
    source, library = folder / "sample.c", folder / "sample.so"
    source.write_text(STUBS + translate(ptx, "sample.ptx"), encoding="ascii")
    subprocess.run(compiler + ["-w", "-O1", "-shared", "-fPIC", "-ffp-contract=off",
                               "-fno-math-errno", str(source), "-o", str(library), "-lm"],
                   check=True)
    loaded = ctypes.CDLL(str(library))
    library.unlink()
    return loaded


def call(entry: Callable, values: List[int], room: int = 8) -> List[int]:
    """Runs a kernel on its words. Returns the words that it wrote."""
    out = (ctypes.c_uint64 * room)(*[0xa5a5a5a5a5a5a5a5] * room)
    words = (ctypes.c_uint64 * PLACES)(*values, *[0] * (PLACES - 1 - len(values)),
                                       ctypes.addressof(out))
    entry(ctypes.byref(words))
    return list(out)


def edges(kind: str) -> List[int]:
    """Values of a type where instructions turn."""
    width = WIDTHS[kind]
    if kind == "pred":
        return [0, 1]
    if kind not in exact.FORMATS:
        near = [0, 1, 2, 3, 5, 8, 15, 16, 24, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 0x7654]
        top = [1 << width - 1, (1 << width) - 1, (1 << width) - 2, (1 << width - 1) - 1,
               (1 << width - 1) + 1]
        return [value % (1 << width) for value in near + top]
    f = exact.FORMATS[kind]
    unit = 1 << f.fraction
    infinity = (2 * f.exponents() + 1) * unit
    one = f.exponents() * unit
    codes = [0, 1, 3, unit - 1, unit, unit + 1, one - unit, one - 1, one, one + 1, one + unit // 2,
             one + unit, infinity - unit, infinity - 1, infinity, infinity + 1,
             infinity + unit // 2, infinity + unit - 1]
    if kind in ("f32", "f64"):
        # Around the ends of half formats and of integers, and ties of fp16, bf16 and fp32.
        for value in (65504, 65519, 65520, 65536, 2 ** 31, 2 ** 32, 2 ** 63, 2 ** 64, 2 ** 24 + 1):
            code = exact.of_integer(value, kind)
            codes += [code - 1, code, code + 1]
        for exponent in (-14, -24, -25, -126, -133, -134, -149, -150, 7, 0):
            code = exact.encode((0, exact.Fraction(2) ** exponent), kind)
            codes += [code + tie * (1 << f.fraction) // 2 ** bits + more
                      for bits in (8, 11, 24) for tie in (0, 1, 3) for more in (-1, 0, 1)
                      if bits <= f.fraction + 1 and code]
    return [code | sign << width - 1 for code in codes if 0 <= code < 1 << width - 1
            for sign in (0, 1)]


def signed(value: int, kind: str) -> int:
    """The integer that the bits of a type mean."""
    width = WIDTHS[kind]
    value &= (1 << width) - 1
    return value - (1 << width) if kind[0] == "s" and value >> width - 1 else value


def quotient(a: int, b: int) -> int:
    """Towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def shifted(value: int, by: int, width: int) -> int:
    """Positive is to the left; at most by the width."""
    return value << min(by, width) if by >= 0 else value >> min(-by, width)


def permuted(a: int, b: int, selector: int) -> int:
    """prmt in its default mode."""
    data = list(a.to_bytes(4, "little") + b.to_bytes(4, "little"))
    chosen = [selector >> 4 * i & 15 for i in range(4)]
    return int.from_bytes([data[c] if c < 8 else 0xff * (data[c - 8] >> 7) for c in chosen],
                          "little")


def inserted(a: int, b: int, position: int, length: int) -> int:
    """bfi, bit by bit. What lies beyond the word is cut off later."""
    position, length = position & 255, length & 255
    for i in range(length):
        b = b & ~(1 << position + i) | (a >> i & 1) << position + i
    return b


INTEGER: Dict[str, Callable[..., int]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul.lo": lambda a, b: a * b,
    "mad.lo": lambda a, b, c: a * b + c, "mul.wide": lambda a, b: a * b,
    "mad.wide": lambda a, b, c: a * b + c, "div": quotient,
    "rem": lambda a, b: a - b * quotient(a, b), "min": min, "max": max, "neg": lambda a: -a,
    "abs": abs, "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
    "mov": lambda a: a, "selp": lambda a, b, c: a if c else b,
    "popc": lambda a: bin(a).count("1"), "clz": lambda a: 32 - a.bit_length(),
    "prmt": permuted, "bfi": inserted,
    "shf.l.wrap": lambda a, b, c: (b << 32 | a) << (c & 31) >> 32,
    "shf.r.wrap": lambda a, b, c: (b << 32 | a) >> (c & 31),
    "bfe": lambda a, b, c: a >> (b & 255) & (1 << (c & 255)) - 1,
}


def want(name: str, values: List[int]) -> Optional[int]:
    """The result's bits; None: it is left open."""
    parts = name.split(".")
    kinds = INSTRUCTIONS[name].operands
    if parts[0] == "cvt":
        return converted(parts, values[0])
    if parts[0] == "setp":
        if parts[2] in exact.FORMATS:
            return int(exact.compare(parts[1], *(exact.decode(v, parts[2]) for v in values)))
        a, b = (signed(value, parts[2]) for value in values)
        return int(exact.compare(parts[1], (int(a < 0), exact.Fraction(abs(a))),
                                 (int(b < 0), exact.Fraction(abs(b)))))
    if parts[-1] in exact.FORMATS and parts[0] not in ("mov", "selp"):
        return exact.float_result(".".join(parts[:-1]), parts[-1], values)
    whole = [signed(value, kind) for value, kind in zip(values, kinds)]
    base = ".".join(parts[:-1])
    if base in ("div", "rem") and whole[1] == 0:
        return None
    if base == "not":
        return 1 - whole[0] if parts[-1] == "pred" else ~whole[0]
    if base in ("shl", "shr"):
        return shifted(whole[0], whole[1] if base == "shl" else -whole[1], WIDTHS[kinds[0]])
    if base == "mul.hi":
        return whole[0] * whole[1] >> WIDTHS[kinds[0]]
    return INTEGER[base](*whole)


def converted(parts: List[str], value: int) -> int:
    """cvt."""
    to, source = parts[-2:]
    if source not in exact.FORMATS:
        whole = signed(value, source)
        return exact.of_integer(whole, to) if to in exact.FORMATS else signed(whole, to)
    number = exact.decode(value, source)
    if parts[1] == "rzi":
        width = WIDTHS[to]
        low, high = (-1 << width - 1, (1 << width - 1) - 1) if to[0] == "s" else (0, 2 ** width - 1)
        return exact.truncate(number, low, high, low if width == 64 else 0)
    if parts[1] == "rmi":
        if number[1] in (exact.INFINITY, exact.NAN) or number[1].denominator == 1:
            return exact.encode(number, to)
        return exact.encode((number[0], exact.Fraction(int(number[1]) + number[0])), to)
    if parts[1] == "sat":
        if number[0] or number[1] == exact.NAN:
            return 0
        return exact.encode((0, exact.Fraction(1)) if number[1] == exact.INFINITY or
                            number[1] > 1 else number, to)
    return exact.encode(number, to)


def is_nan(bits: int, kind: str) -> bool:
    """Of an fp64 result, whose payload is not compared."""
    return kind == "f64" and exact.decode(bits, kind)[1] == exact.NAN


def check_instruction(name: str, entry: Callable, draw: random.Random) -> List[str]:
    """What differs."""
    kinds = INSTRUCTIONS[name].operands
    values = [edges(kind) for kind in kinds]
    some = [[draw.choice(column) for column in values] for _ in range(250 * len(kinds))]
    # Of an operand of 8 bits the register has more, which must not count.
    some += [[draw.getrandbits(max(16, WIDTHS[kind])) for kind in kinds if kind != "pred"] +
             [draw.getrandbits(1) for kind in kinds if kind == "pred"] for _ in range(100)]
    if len(kinds) == 2:
        some += [[v, v ^ flip] for v in values[0] for flip in (0, 1 << WIDTHS[kinds[0]] - 1)
                 if kinds[0] == kinds[1]]
    if len(kinds) == 1:
        some += [[value] for value in values[0]]
    if name.startswith("fma"):
        some += [cancelling(row, kinds[0]) for row in some[:300]]
    wrong = []
    for row in some:
        expected = want(name, row)
        if expected is None:
            continue
        kind = INSTRUCTIONS[name].result
        width = {"pred": 64}.get(kind, max(16, WIDTHS[kind]))
        got = call(entry, row)[0]
        if kind in exact.FORMATS or kind[0] != "s":
            expected %= 1 << WIDTHS[kind]
        expected %= 1 << width
        if got != expected and not (is_nan(got, kind) and is_nan(expected, kind)):
            wrong.append(f"{name} {[hex(v) for v in row]}: want {expected:#x}, got {got:#x}")
    return wrong[:2]


def cancelling(row: List[int], kind: str) -> List[int]:
    """A factor pair and the rounded product with the other sign."""
    product = exact.float_result("mul.rn", kind, row[:2])
    return row[:2] + [product ^ 1 << WIDTHS[kind] - 1]


# What a kernel does with memory and flow: its body, its words, the words that it writes, or a
# status that ends the process.
FLOWS = [
    ("vector", "ld.param.v4.u32 {%r1, %r2, _, %r4}, [a];\n"
     "st.global.v4.u32 [%to+16], {%r4, %r2, %r1, %r4};",
     [0x200000001, 0x400000003], {2: 0x200000004, 3: 0x400000001}),
    ("halves", "ld.param.v2.u16 {%rs1, %rs2}, [a];\nmov.b32 %r1, {%rs2, %rs1};\n"
     "mov.b32 {%rs3, _}, %r1;\nst.global.u32 [%to], %r1;\nst.global.u16 [%to+4], %rs3;\n"
     "st.global.u16 [%to+6], %rs3;", [0xaaaabbbb], {0: 0xaaaaaaaabbbbaaaa}),
    ("signed", "ld.param.s8 %r1, [a];\nst.global.u32 [%to], %r1;\nld.param.u8 %rs1, [a];\n"
     "st.global.u16 [%to+4], %rs1;\nld.param.s16 %r2, [a];\nst.global.u8 [%to+6], %r2;\n"
     "st.global.u8 [%to+7], %r2;", [0x81], {0: 0x81810081ffffff81}),
    ("shared", "mov.u32 %r1, room;\nst.shared.u32 [%r1+44], 7;\nld.shared.u32 %r2, [room+44];\n"
     "atom.shared.add.u32 %r3, [%r1+44], 5;\natom.shared.max.u32 _, [room+44], 3;\n"
     "ld.shared.u32 %r4, [%r1+44];\nst.global.v2.u32 [%to], {%r2, %r3};\n"
     "st.global.u32 [%to+8], %r4;", [], {0: 0x700000007, 1: 0xa5a5a5a50000000c}),
    ("local", ".local .align 16 .b8 depot[16];\nmov.u64 %rd1, depot;\ncvta.local.u64 %rd2, %rd1;\n"
     "st.local.u64 [%rd1+8], 9;\nld.u64 %rd3, [%rd2+8];\nld.local.u64 %rd4, [depot];\n"
     "st.global.v2.u64 [%to], {%rd3, %rd4};", [], {0: 9, 1: 2 ** 64 - 1}),
    ("loop", "mov.b64 %rd1, 0;\nmov.b32 %r1, 0;\n$L_1:\nadd.s32 %r1, %r1, 1;\n"
     "setp.lt.s32 %p1, %r1, 7;\n@%p1 bra $L_1;\nsetp.eq.s32 %p2, %r1, 7;\n"
     "@!%p2 mov.b32 %r1, 1;\n@%p2 bra.uni $L_2;\nmov.b32 %r1, 2;\n$L_2:\n"
     "st.global.u32 [%to], %r1;\n@%p2 ret;\nst.global.u32 [%to], 3;", [], {0: 0xa5a5a5a500000007}),
    ("scope", ".loc 1 20 3\n.loc 1 24 5, function_name $L__info, inlined_at 1 20 3\nmembar.gl;\n"
     "griddepcontrol.wait;\nmov.b32 %r1, 1;\n{.reg .b32 low;\nmov.b32 low, 5;\nmov.b32 %r2, low;}\n"
     "st.global.v2.u32 [%to], {%r1, %r2};", [], {0: 0x500000001}),
    ("thread", "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %ctaid.x;\n"
     "mov.u32 %r4, %nctaid.x;\nbar.sync 0;\nst.global.v4.u32 [%to], {%r1, %r2, %r3, %r4};", [],
     {0: 0x4000000005, 1: 0x300000002}),
    ("shuffle", "mov.b32 %r1, 0f3F800000;\nshfl.sync.down.b32 %r2|%p1, %r1, 16, 31, -1;\n"
     "selp.u32 %r3, 1, 0, %p1;\nst.global.v2.u32 [%to], {%r2, %r3};"
     .replace("mov.b32 %r1, 0f", "mov.f32 %r1, 0f"), [], {0: 0x141880000}),
    ("part-shuffle", "shfl.sync.down.b32 %r2|%p1, %r1, 16, 15, -1;", [], 33),
    ("misaligned", "ld.param.v2.u32 {%r1, %r2}, [a+4];", [], 31),
    ("misaligned-v4", "st.global.v4.u32 [%to+4], {%r1, %r1, %r1, %r1};", [], 31),
    ("beyond-shared", "ld.shared.u32 %r1, [room+48];", [], 32),
    ("before-shared", "mov.u32 %r1, room;\nld.shared.u32 %r1, [%r1+-4];", [], 32),
    ("beyond-parameters", "ld.param.u64 %rd1, [a+40];", [], 32),
    ("beyond-local", ".local .align 8 .b8 depot[16];\nld.local.u64 %rd1, [depot+16];", [], 32),
    ("by-zero", "div.u32 %r1, %r2, 0;", [], 34),
]

# What is not translated: a piece of a body, and what the message names.
REFUSALS = [
    ("add.rn.ftz.f32 %r1, %r2, %r3;", "instruction 'add.rn.ftz.f32' is not known"),
    ("add.f32 %r1, %r2, %r3;", "instruction 'add.f32' is not known"),
    ("fma.rn.ftz.f32 %r1, %r2, %r3, %r4;", "instruction 'fma.rn.ftz.f32' is not known"),
    ("cvt.rz.f16.f32 %rs1, %r2;", "instruction 'cvt.rz.f16.f32' is not known"),
    ("cvt.rn.ftz.f32.f64 %r1, %rd2;", "instruction 'cvt.rn.ftz.f32.f64' is not known"),
    ("div.approx.f32 %r1, %r2, %r3;", "instruction 'div.approx.f32' is not known"),
    ("ex2.approx.f32 %r1, %r2;", "instruction 'ex2.approx.f32' is not known"),
    ("max.NaN.f32 %r1, %r2, %r3;", "instruction 'max.NaN.f32' is not known"),
    ("setp.lt.ftz.f32 %p1, %r2, %r3;", "instruction 'setp.lt.ftz.f32' is not known"),
    ("setp.lt.and.s32 %p1, %r2, %r3, %p2;", "instruction 'setp.lt.and.s32' is not known"),
    ("frobnicate.b32 %r1, %r2;", "instruction 'frobnicate.b32' is not known"),
    ("ld.volatile.global.u32 %r1, [%rd1];", "instruction 'ld.volatile.global.u32' is not known"),
    ("st.param.u32 [a], %r1;", "instruction 'st.param.u32' is not known"),
    ("ld.global.v8.u32 {%r1}, [%rd1];", "instruction 'ld.global.v8.u32' is not known"),
    ("atom.global.cas.b32 %r1, [%rd1], %r2, %r3;", "'atom.global.cas.b32' is not known"),
    ("bar.sync 1;", "instruction 'bar.sync' is not known"),
    ("bar.warp.sync -1;", "instruction 'bar.warp.sync' is not known"),
    ("call f, (%r1);", "is not known"),
    ("add.s32 %r1, %r2;", "'add.s32' has 3 operands"),
    ("add.s32 %r1, %r2, %rd3;", "%rd3 is .b64, not .s32"),
    ("add.s32 %rd1, %r2, %r3;", "%rd1 is .b64, not .s32"),
    ("add.s32 %r1, %r2, %r9;", "operand '%r9' of .s32 is not known"),
    ("add.s32 %r1, %r2, 4294967296;", "4294967296 does not fit .s32"),
    ("add.s32 %r1, %r2, 0f00000000;", "0f00000000 is not .s32"),
    ("cvt.u32.u64 %r1, %r2;", "%r2 is .b32, not .u64"),
    ("mov.u32 %r1, %tid.y;", "operand '%tid.y' of .u32 is not known"),
    ("mov.u32 %r1, %laneid;", "operand '%laneid' of .u32 is not known"),
    ("ld.global.u32 %r1, [%r2];", "%r2 is too narrow for an address in .global"),
    ("ld.global.u32 %r1, [a];", "a is in .param, not in .global"),
    ("ld.global.u32 %r1, [nothing];", "'nothing' is no address"),
    ("@%r1 bra $L;", "%r1 is .b32, not .pred"),
    (".reg .b128 %q<3>;", "'.reg .b128 %q<3>' is not known"),
    (".shared .align 4 .b8 more[8];", "is not known"),
    ('.pragma "enable_something";', "is not known"),
]
MODULES = [
    (".global .align 4 .b8 table[4] = {1, 2, 3, 4};", "is not known"),
    (".visible .func f()\n{\nret;\n}", "'.visible .func f()' is not known"),
    (".version 8.0, something", "is not known"),
    (kernel("cut", "add.s32 %r1, %r1, 1;").rstrip("}\n"), "the file ends within a kernel"),
]
ROOM = ".extern .shared .align 16 .b8 room[];\n"


def check_refusals() -> List[str]:
    """What was translated, or refused with other words."""
    wrong = []
    texts = [(HEAD + kernel("k", "$L:\n" + piece), words) for piece, words in REFUSALS]
    for text, words in texts + [(HEAD + module, words) for module, words in MODULES]:
        try:
            translate(text, "t.ptx")
            wrong.append(f"translated where '{words}' was to be said")
        except Refused as error:
            if words not in str(error) or not re.match(r"t\.ptx:\d+: ", str(error)):
                wrong.append(f"'{error}' where '{words}' was to be said")
    return wrong


def check_flow(number: int, library: ctypes.CDLL) -> List[str]:
    """Runs one of FLOWS, in a process of its own where that is to end."""
    name, _, values, expected = FLOWS[number]
    entry = getattr(library, f"hc_ptx_flow{number}_entry")
    if isinstance(expected, int):
        child = os.fork()
        if child == 0:
            call(entry, values)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return [] if status == expected else [f"{name}: status {status}, not {expected}"]
    out = (ctypes.c_uint64 * 16)(*[0xa5a5a5a5a5a5a5a5] * 16)
    start = 1 if ctypes.addressof(out) % 16 else 0  # aligned to 16
    words = (ctypes.c_uint64 * PLACES)(*values, *[0] * (PLACES - 1 - len(values)),
                                       ctypes.addressof(out) + 8 * start)
    entry(ctypes.byref(words))
    return [f"{name}: word {i} is {out[start + i]:#x}, not {word:#x}"
            for i, word in expected.items() if out[start + i] != word]


def main() -> int:
    """Returns the exit status."""
    arguments = sys.argv[1:]
    ptxas = arguments[arguments.index("--") + 1:] if "--" in arguments else []
    compiler = arguments[:arguments.index("--")] if "--" in arguments else arguments
    compiler = compiler[:1] + ["-I" + folder for folder in compiler[1:]]
    names = list(INSTRUCTIONS)
    ptx = HEAD + ROOM + "".join(sample(i, name) for i, name in enumerate(names))
    ptx += "".join(kernel(f"flow{i}", flow[1]) for i, flow in enumerate(FLOWS))
    ptx += '.file 1 "a.c"\n.section .debug_str\n{\n$L__info:\n.b8 95,0\n}\n'
    wrong = check_refusals()
    with tempfile.TemporaryDirectory() as folder:
        library = build(ptx, compiler, Path(folder))
        if ptxas:
            (Path(folder) / "sample.ptx").write_text(ptx, encoding="ascii")
            done = subprocess.run(ptxas + ["-arch=sm_90", "sample.ptx", "-o", "/dev/null"],
                                  cwd=folder, stderr=subprocess.PIPE, text=True, check=False)
            wrong += done.stderr.splitlines()[:20] if done.returncode else []
    draw = random.Random(1)
    for i, name in enumerate(names):
        wrong += check_instruction(name, getattr(library, f"hc_ptx_i{i}_entry"), draw)
    for i in range(len(FLOWS)):
        wrong += check_flow(i, library)
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{len(names)} instructions, {len(FLOWS)} flows, {len(REFUSALS) + len(MODULES)} refusals: "
          f"{len(wrong)} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
