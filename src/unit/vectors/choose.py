#!/usr/bin/env python3
"""Chooses the golden vectors that stand beside this file: a third of the lines of a folder.

    src/unit/vectors/choose.py FOLDER

FOLDER holds UNIT.txt, the lines on which the published models agree, and UNIT.disputed.txt, those
on which they do not. A line is kept where the SHA-256 of its bytes, without the end of line, is a
multiple of three as a big-endian number. UNIT.txt here has the header of the first file, then what
is kept of both, in their order; a line of the second kind has one answer more. The vectors of AMX
are not chosen: src/unit/programs/amx_vectors.c measured them.
"""

import hashlib
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def kept(line: bytes) -> bool:
    """Whether the hash of the line chooses it."""
    return int.from_bytes(hashlib.sha256(line).digest(), "big") % 3 == 0


def lines_of(path: Path) -> tuple[list[bytes], list[bytes]]:
    """The lines that begin with '#', and the vectors; a file that is not there has none."""
    lines = path.read_bytes().splitlines() if path.exists() else []
    return [x for x in lines if x.startswith(b"#")], [x for x in lines if not x.startswith(b"#")]


def header_of(header: list[bytes], disputed: bool) -> list[bytes]:
    """The header without what holds for the whole file alone."""
    lines = [x for x in header if not x.startswith((b"# counts:", b"# split:"))]
    lines.append(b"# a third of the lines, chosen by choose.py")
    if disputed:
        lines.append(b"# lines with one answer more: d of c785138 (- where it raises), d of 2.1.1")
    return lines


def main() -> int:
    """Writes the files, and says how much there is."""
    if len(sys.argv) != 2 or not list(Path(sys.argv[1]).glob("*.txt")):
        print("choose.py: give the folder of the golden vectors", file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    count = size = 0
    for path in sorted(folder.glob("*.txt")):
        if path.name.endswith(".disputed.txt"):
            continue
        header, agreed = lines_of(path)
        _, disputed = lines_of(path.with_suffix(".disputed.txt"))
        chosen = [line for line in agreed + disputed if kept(line)]
        text = b"\n".join(header_of(header, bool(disputed)) + chosen) + b"\n"
        (HERE / path.name).write_bytes(text)
        count += len(chosen)
        size += len(text)
    print(f"{count} vectors, {size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
