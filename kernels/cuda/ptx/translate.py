#!/usr/bin/python3
"""Translates PTX into C, so that the emulation runs what nvcc made of the kernels.

    translate.py FILE.ptx FILE.c

Each kernel hc_dk_NAME_entry becomes a function hc_ptx_NAME_entry of its arguments, and the size of
these becomes hc_ptx_NAME_size. A register becomes a variable with its bits, an instruction a
statement (table.py), a label a label. What is not known is not translated: translate.py ends with
status 1 and a line that names it.
"""

import re
import sys
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from table import INSTRUCTIONS, WIDTHS

SPECIAL = {"%tid.x": "hc_thread()", "%ntid.x": "hc_threads()", "%ctaid.x": "hc_block()",
           "%nctaid.x": "hc_blocks()"}
ATOMICS = {"add.u32": "hc_atomic_add", "max.u32": "hc_atomic_max", "or.b32": "hc_atomic_or"}
PRAGMAS = re.compile(r'\.pragma "(nounroll|used_bytes_mask \w+)"')
# Where instructions come from, for debuggers (-lineinfo).
LINES = [re.compile(r"^\s*\.(loc|file)\s[^\n]*", re.M),
         re.compile(r"^\s*\.section\s+\.debug_\w+\s*\{[^}]*\}", re.M)]
REGISTER = re.compile(r"%?[A-Za-z_$][\w$]*")


class Refused(Exception):
    """What the translator does not know."""


class Statement(NamedTuple):
    """A piece of a body: an instruction or directive, a label with ':', or a brace."""

    line: int
    text: str


class Symbol(NamedTuple):
    """An array of a state space."""

    space: str
    align: int
    size: int


def refuse(path: str, line: int, what: str) -> Refused:
    """The line that a user sees."""
    return Refused(f"{path}:{line}: {what}")


def statements(text: str) -> Iterator[Statement]:
    """Splits PTX at ';', at labels and at the braces of scopes, not at those of vectors."""
    text = re.sub(r"//[^\n]*", "", text)
    for lines in LINES:
        text = lines.sub(lambda match: "\n" * match[0].count("\n"), text)
    line = 1
    start = None  # of the piece that is being read
    piece = ""
    depth = 0
    for char in text:
        if char == "\n":
            line += 1
        if not piece.strip():
            piece, start = "", line
        if char == "{" and not piece or char == "}" and not depth and not piece:
            yield Statement(line, char)
            continue
        depth += (char in "{(") - (char in "})")
        header = piece.startswith((".visible", ".entry", ".func"))
        if char == "{" and header and depth == 1:
            yield Statement(start, piece.strip())
            yield Statement(line, "{")
            piece, depth = "", 0
        elif char == ";":
            yield Statement(start, " ".join(piece.split()))
            piece = ""
        elif char == ":" and not depth and re.fullmatch(r"[\w$]+", piece.strip()):
            yield Statement(start, piece.strip() + ":")
            piece = ""
        elif char == "\n" and re.match(r"\.(version|target|address_size)\b", piece):
            yield Statement(start, piece.strip())
            piece = ""
        else:
            piece += char
    if piece.strip():
        yield Statement(start, " ".join(piece.split()))


class Kernel:
    """One entry: its C is collected in `body`."""

    def __init__(self, path: str, name: str, parameter: Tuple[str, Symbol],
                 shared: Dict[str, Symbol]) -> None:
        self.path = path
        self.name = name
        self.line = 0
        self.size = parameter[1].size
        self.symbols = dict(shared)
        self.symbols[parameter[0]] = parameter[1]
        self.scopes: List[Dict[str, str]] = [{}]  # the types of registers, by name
        self.body: List[str] = []

    def refuse(self, what: str) -> Refused:
        """Of the current statement."""
        return refuse(self.path, self.line, what)

    # Declarations.

    def declare(self, text: str) -> None:
        """.reg .b32 %r<7>;  or .reg .b16 low,high;"""
        match = re.fullmatch(r"\.reg \.(\w+) (.*)", text)
        if not match or match[1] not in WIDTHS:
            raise self.refuse(f"'{text}' is not known")
        kind = match[1]
        names = []
        for name in match[2].split(","):
            numbered = re.fullmatch(r"(%[A-Za-z]+)<(\d+)>", name.strip())
            if numbered:
                names += [f"{numbered[1]}{i}" for i in range(int(numbered[2]))]
            elif REGISTER.fullmatch(name.strip()):
                names.append(name.strip())
            else:
                raise self.refuse(f"'{text}' is not known")
        for name in names:
            self.scopes[-1][name] = kind
            if len(self.scopes) > 1:
                self.body.append(self.declaration(name, kind))

    @staticmethod
    def declaration(name: str, kind: str) -> str:
        """A register has no value at first; all ones show as NaN."""
        if kind == "pred":
            return f"    _Bool {variable(name)} = 1;"
        width = WIDTHS[kind]
        return f"    uint{width}_t {variable(name)} = (uint{width}_t)-1;"

    def depot(self, text: str) -> None:
        """.local .align 16 .b8 __local_depot0[32];"""
        match = re.fullmatch(r"\.local \.align (\d+) \.b8 (\w+)\[(\d+)\]", text)
        if not match:
            raise self.refuse(f"'{text}' is not known")
        self.symbols[match[2]] = Symbol("local", int(match[1]), int(match[3]))
        self.body.append(f"    _Alignas({match[1]}) unsigned char {match[2]}[{match[3]}];")
        self.body.append(f"    memset({match[2]}, 0xff, sizeof {match[2]});")

    # Operands.

    def type_of(self, name: str) -> Optional[str]:
        """The type that the register was declared with."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def bits(self, operand: str, kind: str, wider: bool = False) -> str:
        """C for the bits of a register or an immediate, read as `kind`.

        The register has the width of its type; if `wider`, it may have more.
        """
        width = WIDTHS[kind]
        declared = self.type_of(operand)
        if declared:
            have = WIDTHS[declared]
            if have != width and not (wider and have > width and width > 1):
                raise self.refuse(f"{operand} is .{declared}, not .{kind}")
            return variable(operand) if have == width else f"(uint{width}_t){variable(operand)}"
        match = re.fullmatch(r"0([fd])([0-9A-Fa-f]+)", operand)
        if match:
            if kind != ("f32" if match[1] == "f" else "f64"):
                raise self.refuse(f"{operand} is not .{kind}")
            return literal(int(match[2], 16), width)
        if re.fullmatch(r"-?(\d+|0x[0-9A-Fa-f]+)", operand) and kind[0] != "f":
            value = int(operand, 0)
            if not -(1 << width - 1) - (width == 1) <= value < 1 << width:
                raise self.refuse(f"{operand} does not fit .{kind}")
            return literal(value, width)
        if operand in SPECIAL and width == 32:
            return f"(uint32_t){SPECIAL[operand]}"
        if operand in self.symbols and kind in ("u32", "b32", "u64", "b64"):
            return self.address_of(operand, width)
        raise self.refuse(f"operand '{operand}' of .{kind} is not known")

    def address_of(self, name: str, width: int) -> str:
        """Where a symbol begins (memory.h)."""
        if self.symbols[name].space == "local":
            return f"(uint{width}_t)(uintptr_t){name}"
        return "0"

    def value(self, operand: str, kind: str, wider: bool = False) -> str:
        """The operand for an expression of table.py: an integer is widened as its sign says."""
        bits = self.bits(operand, kind, wider)
        if kind[0] == "s":
            return f"(int64_t)(int{WIDTHS[kind]}_t){bits}"
        if kind[0] in "ub" and kind != "bf16":
            return f"(uint64_t){bits}"
        return bits

    def set(self, register: str, kind: str, value: str, wider: bool = False) -> str:
        """C that puts a value, cut to its type, into a register of its width, or a wider one."""
        declared = self.type_of(register)
        width = WIDTHS[kind]
        if not declared:
            raise self.refuse(f"'{register}' is no register")
        have = WIDTHS[declared]
        if have != width and not (wider and have > width and width > 1):
            raise self.refuse(f"{register} is .{declared}, not .{kind}")
        if width == 1:
            return f"{variable(register)} = {value};"
        sign = "" if kind[0] == "s" else "u"
        cut = f"({sign}int{width}_t)({value})"
        return f"{variable(register)} = (uint{have}_t){cut};"

    # Instructions.

    def site(self) -> str:
        """The place in the PTX, for messages and for hc_sync."""
        return f"(struct hc_ptx_site){{ptx, {self.line}}}"

    def memory(self, space: str, operand: str, count: int) -> str:
        """C for a pointer to the `count` bytes that an address such as [%rd1+16] means."""
        match = re.fullmatch(r"\[([%\w$]+)(?:\+(-?\d+))?\]", operand)
        if not match:
            raise self.refuse(f"address '{operand}' is not known")
        name, offset = match[1], match[2] or "0"
        symbol = self.symbols.get(name)
        if symbol and symbol.space != space:
            raise self.refuse(f"{name} is in .{symbol.space}, not in .{space}")
        width = 64
        if symbol:
            base = self.address_of(name, 64)
        else:
            declared = self.type_of(name)
            if declared not in ("b32", "u32", "b64", "u64"):
                raise self.refuse(f"'{name}' is no address")
            width = WIDTHS[declared]
            base = variable(name)
        if width == 32 and space != "shared":
            raise self.refuse(f"{name} is too narrow for an address in .{space}")
        address = f"(uint64_t){base} + (uint64_t)INT64_C({offset})"
        if space in ("global", "generic"):
            return f"hc_ptx_global({self.site()}, {address}, {count})"
        if space == "shared":
            return f"hc_ptx_shared({self.site()}, {address}, {count})"
        if space == "param":
            return (f"hc_ptx_within({self.site()}, \"the parameters\", (void *)(uintptr_t)a, "
                    f"{self.size}, {address}, {count})")
        depots = [(n, s) for n, s in self.symbols.items() if s.space == "local"]
        if space != "local" or len(depots) != 1:
            raise self.refuse(f"an access to .{space} is not known here")
        depot, local = depots[0]
        return (f"hc_ptx_within({self.site()}, \"local memory\", {depot}, {local.size}, "
                f"{address} - (uint64_t)(uintptr_t){depot}, {count})")

    def transfer(self, opcode: str, operands: List[str]) -> str:
        """ld and st: one element, or a vector of 2 or 4."""
        match = re.fullmatch(
            r"(ld|st)(?:\.(global|shared|param|local))?(?:\.v([24]))?\.([busf](?:8|16|32|64))",
            opcode)
        if not match or match[4] not in WIDTHS:
            raise self.refuse(f"instruction '{opcode}' is not known")
        loads, space, kind = match[1] == "ld", match[2] or "generic", match[4]
        if space == "param" and not loads:
            raise self.refuse(f"instruction '{opcode}' is not known")
        count, width = int(match[3] or 1), WIDTHS[kind]
        if len(operands) != 2:
            raise self.refuse(f"'{opcode}' has 2 operands")
        data, address = operands if loads else operands[::-1]
        elements = vector(data) if match[3] else [data]
        if len(elements) != count:
            raise self.refuse(f"'{data}' has not {count} elements")
        steps = [f"void *at = {self.memory(space, address, count * width // 8)};"]
        for i, element in enumerate(elements):
            if not loads:
                value = self.bits(element, kind, wider=True)
                steps.append(f"hc_ptx_store_{width}(at, {i}, {value});")
            elif element != "_":
                steps.append(self.set(element, kind, f"hc_ptx_load_{width}(at, {i})", wider=True))
        return "{ " + " ".join(steps) + " }"

    def atomic(self, opcode: str, operands: List[str]) -> str:
        """atom: the threads of the emulation change only at barriers, so that a call is atomic."""
        match = re.fullmatch(r"atom\.(global|shared)\.(\w+\.\w+)", opcode)
        if not match or match[2] not in ATOMICS:
            raise self.refuse(f"instruction '{opcode}' is not known")
        to, address, value = operands
        call = (f"{ATOMICS[match[2]]}({self.memory(match[1], address, 4)}, "
                f"{self.bits(value, 'u32')})")
        return f"(void){call};" if to == "_" else self.set(to, "u32", call)

    def shuffle(self, operands: List[str]) -> str:
        """shfl.sync.down.b32 d|p, a, b, c, mask"""
        match = re.fullmatch(r"(%\w+)\|(%\w+)", operands[0])
        if not match or len(operands) != 5:
            raise self.refuse("this form of shfl.sync.down.b32 is not known")
        arguments = ", ".join(self.bits(o, "b32") for o in operands[1:])
        call = f"hc_ptx_shuffle_down({self.site()}, {arguments}, &{variable(match[2])})"
        return self.set(match[1], "b32", call)

    def split(self, opcode: str, operands: List[str]) -> str:
        """mov.b32 {%rs1,%rs2}, %r1 and mov.b32 %r1, {%rs1,%rs2}, also of 64 bits."""
        width = WIDTHS[opcode[4:]]
        if operands[0].startswith("{"):
            parts = vector(operands[0])
            part = width // len(parts)
            whole = self.bits(operands[1], f"b{width}")
            return "{ uint64_t whole = %s; %s }" % (whole, " ".join(
                self.set(name, f"b{part}", f"whole >> {i * part}")
                for i, name in enumerate(parts) if name != "_"))
        parts = vector(operands[1])
        part = width // len(parts)
        return self.set(operands[0], f"b{width}", " | ".join(
            f"(uint64_t){self.bits(name, f'b{part}')} << {i * part}"
            for i, name in enumerate(parts)))

    def statement(self, opcode: str, operands: List[str]) -> str:
        """C for an instruction without its predicate."""
        if opcode in ("bra", "bra.uni"):
            return f"goto {label(operands[0])};"
        if opcode == "ret":
            return "return;"
        if opcode == "bar.sync" and operands == ["0"]:
            return f"hc_sync_at(ptx, {self.line});"
        if opcode in ("griddepcontrol.wait", "griddepcontrol.launch_dependents"):
            return ";"  # a launch of the emulation begins when the one before it has ended
        if opcode in ("membar.cta", "membar.gl"):
            return ";"  # the threads of the emulation see every write at once
        if opcode.startswith(("ld.", "st.")):
            return self.transfer(opcode, operands)
        if opcode.startswith("atom."):
            return self.atomic(opcode, operands)
        if opcode == "shfl.sync.down.b32":
            return self.shuffle(operands)
        if opcode in ("cvta.to.global.u64", "cvta.local.u64", "cvta.to.local.u64"):
            return self.set(operands[0], "u64", self.bits(operands[1], "u64"))
        if opcode in ("mov.b32", "mov.b64") and any("{" in operand for operand in operands):
            return self.split(opcode, operands)
        known = INSTRUCTIONS.get(opcode)
        if not known:
            raise self.refuse(f"instruction '{opcode}' is not known")
        if len(operands) != 1 + len(known.operands):
            raise self.refuse(f"'{opcode}' has {1 + len(known.operands)} operands")
        wider = opcode.startswith("cvt.")
        values = {letter: self.value(operand, kind, wider)
                  for letter, operand, kind in zip("abcd", operands[1:], known.operands)}
        return self.set(operands[0], known.result, known.value.format(**values), wider)

    def instruction(self, text: str) -> None:
        """One instruction, with its predicate."""
        match = re.fullmatch(r"(?:@(!?)([%\w]+) )?([a-z][\w.]*)(?: (.*))?", text)
        if not match:
            raise self.refuse(f"'{text}' is not known")
        operands = [o.strip() for o in re.split(r",(?![^{]*\})", match[4])] if match[4] else []
        done = self.statement(match[3], operands)
        if match[2]:
            done = f"if ({match[1]}{self.bits(match[2], 'pred')}) {done}"
        self.body.append("    " + done)

    def take(self, statement: Statement) -> bool:
        """Translates a statement of the body. Returns whether the body goes on."""
        self.line, text = statement
        if text == "{":
            self.scopes.append({})
            self.body.append("    {")
        elif text == "}":
            if len(self.scopes) == 1:
                return False
            self.scopes.pop()
            self.body.append("    }")
        elif text.endswith(":"):
            self.body.append(f"{label(text[:-1])}:;")
        elif text.startswith(".reg "):
            self.declare(text)
        elif text.startswith(".local "):
            self.depot(text)
        elif text.startswith("."):
            if not PRAGMAS.fullmatch(text):
                raise self.refuse(f"'{text}' is not known")
        else:
            self.instruction(text)
        return True

    def text(self) -> str:
        """The function."""
        body = "\n".join(self.body)
        used = set(re.findall(r"\bv_\w+", body))
        registers = [self.declaration(name, kind) for name, kind in self.scopes[0].items()
                     if variable(name) in used]
        return (f"extern const size_t hc_ptx_{self.name}_size;\n"
                f"const size_t hc_ptx_{self.name}_size = {self.size};\n"
                f"void hc_ptx_{self.name}_entry(const void *a);\n"
                f"void hc_ptx_{self.name}_entry(const void *a)\n{{\n"
                + "\n".join(registers) + f"\n    (void)a;\n{body}\n}}\n")


def variable(register: str) -> str:
    """The variable of a register."""
    return "v_" + register.lstrip("%").replace("$", "_")


def label(name: str) -> str:
    """The label in C."""
    return name.replace("$", "_")


def literal(value: int, width: int) -> str:
    """An unsigned number of that many bits."""
    if width == 1:
        return str(int(value != 0))
    return f"(uint{width}_t)UINT64_C({value & (1 << width) - 1:#x})"


def vector(text: str) -> List[str]:
    """The elements of {a, b}."""
    return [name.strip() for name in text.strip("{} ").split(",")]


def translate(text: str, path: str) -> str:
    """C of a PTX module."""
    shared: Dict[str, Symbol] = {}
    kernel: Optional[Kernel] = None
    done = []
    for statement in statements(text):
        line, words = statement
        if kernel:
            if words == "{" and not kernel.line:
                kernel.line = line
            elif not kernel.take(statement):
                done.append(kernel.text())
                kernel = None
            continue
        if re.fullmatch(r"\.version \d+\.\d+|\.target sm_\d+a?|\.address_size 64", words):
            continue
        match = re.fullmatch(r"\.extern \.shared \.align (\d+) \.b8 (\w+)\[\]", words)
        if match and int(match[1]) <= 16:
            shared[match[2]] = Symbol("shared", int(match[1]), 0)
            continue
        match = re.fullmatch(r"\.visible \.entry hc_dk_(\w+)_entry\(\s*"
                             r"\.param \.align (\d+) \.b8 (\w+)\[(\d+)\]\s*\)", words)
        if not match:
            raise refuse(path, line, f"'{words.splitlines()[0]}' is not known")
        parameter = (match[3], Symbol("param", int(match[2]), int(match[4])))
        kernel = Kernel(path, match[1], parameter, shared)
    if kernel:
        raise refuse(path, kernel.line, "the file ends within a kernel")
    return (f'/* From {path}, by kernels/cuda/ptx/translate.py. */\n'
            '#include "kernels/cuda/ptx/instructions.h"\n\n'
            f'static const char ptx[] = "{path}";\n\n' + "\n".join(done))


def main() -> int:
    """Returns the exit status."""
    if len(sys.argv) != 3:
        print("usage: translate.py FILE.ptx FILE.c", file=sys.stderr)
        return 2
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    try:
        text = translate(source.read_text(encoding="ascii"), source.name)
    except (Refused, OSError, UnicodeError) as error:
        print(str(error)[:200], file=sys.stderr)
        return 1
    target.write_text(text, encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
