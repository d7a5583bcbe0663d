#!/usr/bin/env python3
"""One sum of four products, as each matrix unit adds it up.

    python3 one_sum.py [HALFCHECK]

2^23 - 2^13 * 2^10 - 0.5 * 1 - 0.25 * 1 - 0.125 * 1 is -0.875. The first product cancels with what
the sum starts from, and the three others are so small beside it that a unit which aligns them with
it loses their last bits. The numbers are those of an example of MMA-Sim. The program prints a line
for each unit: its backend, the format of the factors, the sum, and why it comes out so. gnuplot
draws its lines, which TABLE holds:

    cat reports/style.gp docs/examples/units/one_sum.gp |
        gnuplot -e "table='TABLE'; out='PNG'" -
"""
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

A = [-(2.0 ** 13), -0.5, -0.25, -0.125]
B = [2.0 ** 10, 1.0, 1.0, 1.0]
START = 2.0 ** 23
UNITS = [
    ("sim-v100", "fp16", "cuts what lies below 1"),
    ("sim-t4", "fp16", "cuts what lies below 1/2"),
    ("sim-a100", "fp16", "cuts what lies below 1/2"),
    ("sim-l40", "fp16", "cuts what lies below 1/2"),
    ("sim-h100", "fp16", "cuts what lies below 1/4"),
    ("sim-b200", "fp16", "cuts what lies below 1/4"),
    ("sim-mi100", "fp16", "rounds the exact sum once"),
    ("sim-mi250", "fp16", "rounds pairs, then their sum, then C"),
    ("sim-mi300", "fp16", "cuts what lies below 1/2"),
    ("sim-avx512bf16", "bf16", "rounds one by one, odd before even"),
    ("sim-amx", "bf16", "two chains; C comes last"),
    ("sim-bfmmla", "bf16", "rounds pairs to odd, then adds C"),
]


def encoded(name, numbers):
    """The bytes of numbers, each of which the format holds exactly."""
    if name == "fp16":
        return struct.pack(f"<{len(numbers)}e", *numbers)
    singles = struct.pack(f"<{len(numbers)}f", *numbers)
    if name == "fp32":
        return singles
    return b"".join(singles[i + 2:i + 4] for i in range(0, len(singles), 4))


def safetensors(tensors):
    """A file of safetensors: a length, a header in JSON, the bytes."""
    header, data = {}, b""
    for name, kind, shape, numbers in tensors:
        start = len(data)
        data += encoded(kind, numbers)
        header[name] = {"dtype": {"fp16": "F16", "bf16": "BF16", "fp32": "F32"}[kind],
                        "shape": shape, "data_offsets": [start, len(data)]}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def answer(program, backend, kind, folder):
    """What the backend makes of the sum."""
    file = Path(folder) / "sum.safetensors"
    file.write_bytes(safetensors([("a", kind, [1, 4], A), ("b", kind, [4, 1], B),
                                  ("c", "fp32", [1, 1], [START]), ("out", "fp32", [1, 1], [0.0])]))
    ran = subprocess.run([program, "judge", "gemm", "--tensors", str(file), "--set", "alpha=1",
                          "--set", "beta=1", "--backend", backend, "--json", "-"],
                         stdout=subprocess.PIPE, check=False)
    return json.loads(ran.stdout)["outputs"][0]["worst"]["got"]


def main():
    """Prints the table."""
    program = sys.argv[1] if len(sys.argv) > 1 else "halfcheck"
    with tempfile.TemporaryDirectory() as folder:
        for backend, kind, why in UNITS:
            print(f'{backend:16}{kind:6}{answer(program, backend, kind, folder):<8g}"{why}"')


if __name__ == "__main__":
    main()
