"""The instructions that translate.py knows, each as an expression of C.

An instruction is a row of INSTRUCTIONS: its whole name with all modifiers, the types of its result
and of its operands, and the expression. In the expression {a}, {b} and {c} are the operands:
integers are widened to 64 bits, as their type's sign says, and the result is cut to its type, so
that sums wrap as PTX's do; floats are their bits, and the functions of instructions.h know what a
float's instruction does. A name that is not in the table is not translated, so that no modifier is
passed over.
"""

from typing import Dict, List, NamedTuple

WIDTHS = {"pred": 1, "b8": 8, "u8": 8, "s8": 8, "b16": 16, "u16": 16, "s16": 16, "f16": 16,
          "bf16": 16, "b32": 32, "u32": 32, "s32": 32, "f32": 32, "b64": 64, "u64": 64,
          "s64": 64, "f64": 64}


class Instruction(NamedTuple):
    """One instruction: the types of its result and operands, and C for its value."""

    result: str
    operands: List[str]
    value: str


def integers() -> Dict[str, Instruction]:
    """Arithmetic on integers (PTX ISA, "Integer Arithmetic Instructions")."""
    table = {}

    def add(name: str, types: str, count: int, value: str) -> None:
        for t in types.split():
            table[f"{name}.{t}"] = Instruction(t, [t] * count, value)

    every = "u16 s16 u32 s32 u64 s64"
    add("add", every, 2, "(uint64_t){a} + (uint64_t){b}")
    add("sub", every, 2, "(uint64_t){a} - (uint64_t){b}")
    add("mul.lo", every, 2, "(uint64_t){a} * (uint64_t){b}")
    add("mad.lo", every, 3, "(uint64_t){a} * (uint64_t){b} + (uint64_t){c}")
    add("mul.hi", "u32 s32", 2, "{a} * {b} >> 32")
    add("mul.hi", "u64", 2, "hc_ptx_mul_hi_u64({a}, {b})")
    add("div", "u16 u32 u64", 2, "hc_ptx_div_u({a}, {b})")
    add("div", "s16 s32 s64", 2, "hc_ptx_div_s({a}, {b})")
    add("rem", "u16 u32 u64", 2, "hc_ptx_rem_u({a}, {b})")
    add("rem", "s16 s32 s64", 2, "hc_ptx_rem_s({a}, {b})")
    add("min", every, 2, "{a} < {b} ? {a} : {b}")
    add("max", every, 2, "{a} > {b} ? {a} : {b}")
    add("neg", "s16 s32 s64", 1, "-(uint64_t){a}")
    add("abs", "s16 s32 s64", 1, "{a} < 0 ? -(uint64_t){a} : (uint64_t){a}")
    for narrow, wide in (("u16", "u32"), ("s16", "s32"), ("u32", "u64"), ("s32", "s64")):
        table[f"mul.wide.{narrow}"] = Instruction(wide, [narrow] * 2, "{a} * {b}")
        table[f"mad.wide.{narrow}"] = Instruction(
            wide, [narrow, narrow, wide], "(uint64_t)({a} * {b}) + (uint64_t){c}")
    table["popc.b32"] = Instruction("u32", ["b32"], "__builtin_popcountll({a})")
    table["clz.b32"] = Instruction("u32", ["b32"], "{a} ? __builtin_clzll({a}) - 32 : 32")
    for n in (32, 64):
        table[f"bfi.b{n}"] = Instruction(f"b{n}", [f"b{n}", f"b{n}", "u32", "u32"],
                                         f"hc_ptx_bfi({{a}}, {{b}}, {{c}}, {{d}}, {n})")
    table["bfe.u32"] = Instruction("u32", ["u32"] * 3, "hc_ptx_bfe_u32({a}, {b}, {c})")
    return table


def logic() -> Dict[str, Instruction]:
    """Logic, shifts and moves. A shift by more than the width is one by the width."""
    table = {}
    for t in ("pred", "b16", "b32", "b64"):
        table[f"and.{t}"] = Instruction(t, [t, t], "{a} & {b}")
        table[f"or.{t}"] = Instruction(t, [t, t], "{a} | {b}")
        table[f"xor.{t}"] = Instruction(t, [t, t], "{a} ^ {b}")
        table[f"not.{t}"] = Instruction(t, [t], "!{a}" if t == "pred" else "~{a}")
    for n in (16, 32, 64):
        table[f"shl.b{n}"] = Instruction(f"b{n}", [f"b{n}", "u32"], "hc_ptx_shl({a}, {b})")
        table[f"shr.u{n}"] = Instruction(f"u{n}", [f"u{n}", "u32"], "hc_ptx_shr_u({a}, {b})")
        table[f"shr.b{n}"] = table[f"shr.u{n}"]
        table[f"shr.s{n}"] = Instruction(f"s{n}", [f"s{n}", "u32"], "hc_ptx_shr_s({a}, {b})")
    for side in "lr":
        table[f"shf.{side}.wrap.b32"] = Instruction(
            "b32", ["b32", "b32", "u32"], f"hc_ptx_shf_{side}_wrap({{a}}, {{b}}, {{c}})")
    table["prmt.b32"] = Instruction("b32", ["b32", "b32", "b32"], "hc_ptx_prmt({a}, {b}, {c})")
    for t in "pred b16 u16 s16 b32 u32 s32 f32 b64 u64 s64 f64".split():
        table[f"mov.{t}"] = Instruction(t, [t], "{a}")
        if t != "pred":
            table[f"selp.{t}"] = Instruction(t, [t, t, "pred"], "{c} ? {a} : {b}")
    return table


def comparisons() -> Dict[str, Instruction]:
    """setp (PTX ISA, "Comparison and Selection Instructions": "Floating Point Comparisons").

    A comparison of floats without u is false where an operand is NaN, one with u is true.
    """
    signs = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
    table = {}
    for name, sign in signs.items():
        for t in "u16 s16 u32 s32 u64 s64".split():
            table[f"setp.{name}.{t}"] = Instruction("pred", [t, t], f"{{a}} {sign} {{b}}")
        for t in ("b16", "b32", "b64"):
            if name in ("eq", "ne"):
                table[f"setp.{name}.{t}"] = Instruction("pred", [t, t], f"{{a}} {sign} {{b}}")
    for t in ("f32", "f64"):
        nan = f"hc_ptx_nan_{t}({{a}}, {{b}})"
        values = {name: f"hc_ptx_{name}_{t}({{a}}, {{b}})" for name in signs if name != "ne"}
        values["ne"] = f"!({values['eq']} || {nan})"
        values.update({name + "u": f"({value}) || {nan}" for name, value in values.items()})
        values.update({"nan": nan, "num": f"!{nan}"})
        for name, value in values.items():
            table[f"setp.{name}.{t}"] = Instruction("pred", [t, t], value)
    return table


def floats() -> Dict[str, Instruction]:
    """Arithmetic of floats, all in instructions.h."""
    table = {}
    for t in ("f32", "f64"):
        for name, count in (("add.rn", 2), ("sub.rn", 2), ("mul.rn", 2), ("div.rn", 2),
                            ("fma.rn", 3), ("sqrt.rn", 1), ("rcp.rn", 1), ("neg", 1), ("abs", 1),
                            ("min", 2), ("max", 2), ("copysign", 2)):
            arguments = ", ".join("{" + letter + "}" for letter in "abc"[:count])
            function = "hc_ptx_" + name.replace(".", "_") + "_" + t
            table[f"{name}.{t}"] = Instruction(t, [t] * count, f"{function}({arguments})")
    table["fma.rm.f32"] = Instruction("f32", ["f32"] * 3, "hc_ptx_fma_rm_f32({a}, {b}, {c})")
    table["ex2.approx.ftz.f32"] = Instruction("f32", ["f32"], "hc_ptx_ex2_approx_ftz_f32({a})")
    table["rcp.approx.ftz.f32"] = Instruction("f32", ["f32"], "hc_ptx_rcp_approx_ftz_f32({a})")
    return table


def conversions() -> Dict[str, Instruction]:
    """cvt. Among integers it cuts or extends, as the source's sign says."""
    table = {}
    kinds = "u8 s8 u16 s16 u32 s32 u64 s64".split()
    for to in kinds:
        for source in kinds:
            table[f"cvt.{to}.{source}"] = Instruction(to, [source], "{a}")
    for source in kinds:
        sign = source[0]
        for t in ("f32", "f64"):
            table[f"cvt.rn.{t}.{source}"] = Instruction(
                t, [source], f"hc_ptx_{t}_of_{sign}64({{a}})")
    for to, source in (("f32", "f64"), ("f16", "f32"), ("bf16", "f32")):
        table[f"cvt.rn.{to}.{source}"] = Instruction(
            to, [source], f"hc_ptx_cvt_rn_{to}_{source}({{a}})")
    for to, source in (("f64", "f32"), ("f32", "f16"), ("f32", "bf16")):
        table[f"cvt.{to}.{source}"] = Instruction(
            to, [source], f"hc_ptx_cvt_{to}_{source}({{a}})")
    for name, to, source in (("rzi", "u32", "f32"), ("rzi", "s32", "f32"), ("rzi", "s64", "f64"),
                             ("rmi", "f64", "f64"), ("sat", "f32", "f32")):
        table[f"cvt.{name}.{to}.{source}"] = Instruction(
            to, [source], f"hc_ptx_cvt_{name}_{to}_{source}({{a}})")
    return table


INSTRUCTIONS: Dict[str, Instruction] = {
    **integers(), **logic(), **comparisons(), **floats(), **conversions()}
