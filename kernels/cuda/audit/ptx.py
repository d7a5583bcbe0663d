"""Reads the PTX that nvcc writes with -lineinfo: kernels, and instructions with their source."""

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Place:
    """Where an instruction comes from: the innermost function, and the calls that it stands in."""

    path: str
    line: int
    function: str
    calls: tuple  # (path, line) of the call that this function was inlined into, and so on

    def __str__(self):
        inside = f' in {self.function}' if self.function else ''
        return f'{Path(self.path).name}:{self.line}{inside}'


@dataclass(frozen=True)
class Instruction:
    """`opcode` is as it stands there, such as fma.rn.f32."""

    opcode: str
    kernel: str
    place: Place


LOC = re.compile(r'\.loc\s+(\d+) (\d+) \d+(?:, function_name \$?(\w+), inlined_at (\d+) (\d+))?')
FILE = re.compile(r'^\s*\.file\s+(\d+) "([^"]+)"', re.M)
NAME = re.compile(r'^\$?(L__info_string\d+):\n((?:\.b8 [\d,]+\n)+)', re.M)
ENTRY = re.compile(r'\.(?:entry|func)\s+(?:\([^)]*\)\s*)?(\w+)\s*\(')
OPCODE = re.compile(r'(?:@!?%\w+\s+)?([a-z]\w*(?:\.\w+(?:::\w+)?)*)(?:\s|$)')


def last_name(mangled):
    """The function's own name in a mangled one: hc_fma of _ZN3abc6hc_fmaEfff."""
    at = re.match(r'_ZN?K?', mangled)
    name, i = mangled, at.end() if at else len(mangled)
    while digits := re.match(r'\d+', mangled[i:]):
        i += digits.end()
        name = mangled[i:i + int(digits[0])]
        i += int(digits[0])
    return name


def read(path):
    """The kernels of a file, and the list of their instructions."""
    text = Path(path).read_text()
    files = dict(FILE.findall(text))
    names = {}
    for label, data in NAME.findall(text):
        codes = [int(code) for code in re.findall(r'\d+', data.replace('.b8', ''))]
        names[label] = last_name(bytes(codes).rstrip(b'\0').decode())
    kernels, instructions, place, kernel = [], [], None, None
    for line in text.splitlines():
        line = line.split('//')[0].strip()
        if line.startswith('.section'):
            break
        if at := LOC.match(line):
            calls = ((files[at[4]], int(at[5])),) if at[4] else ()
            place = Place(files[at[1]], int(at[2]), names.get(at[3], ''), calls)
        elif entry := ENTRY.search(line):
            kernel, place = entry[1], None
            kernels.append(kernel)
        elif line and line[0] not in '.$%' and not line.endswith(':'):
            for part in line.strip('{}').split(';'):
                if found := OPCODE.match(part.strip(' \t{}')):
                    instructions.append(Instruction(found[1], kernel, place))
    return kernels, instructions
