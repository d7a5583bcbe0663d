"""Audits the machine code of the device kernels as far as its text tells.

    audit.py PTX... [--ptxas PTXAS] [--write]

PTX are folders sm_80, sm_90, ... with the files that nvcc writes (cmake/ptx.cmake). Each must round
as the source says (rules.py). With ptxas, no kernel may spill registers, or need more of them or
more stack than limits.txt allows; --write makes limits.txt anew from all that is given."""

import argparse
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ptx
import rules

LIMITS = Path(__file__).parent / 'limits.txt'

# The most registers of a thread with which a multiprocessor of 65,536 holds 8, 6, 5, 4, 3, 2 blocks
# of 256 threads, or 1. They are given out in eights.
STEPS = (32, 40, 48, 64, 80, 128, 255)

KERNEL = re.compile(r"Compiling entry function '(\w+)'")
STACK = re.compile(r'(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads')
REGISTERS = re.compile(r'Used (\d+) registers')


def resources(ptxas, architecture, path):
    """(kernel, registers, bytes of stack, bytes spilled) of the kernels of a file."""
    said = subprocess.run([ptxas, '-v', '--gpu-name', architecture, str(path), '-o', '/dev/null'],
                          capture_output=True, text=True, check=False)
    if said.returncode != 0:
        sys.exit(f'audit: ptxas {path}: {said.stderr.strip().splitlines()[-1]}')
    kernel, stack, spilled = '', 0, 0
    for line in said.stderr.splitlines():
        if found := KERNEL.search(line):
            kernel = found[1]
        elif found := STACK.search(line):
            stack, spilled = int(found[1]), int(found[2]) + int(found[3])
        elif found := REGISTERS.search(line):
            yield kernel, int(found[1]), stack, spilled


def read_limits():
    """{kernel: (registers, bytes of stack)}."""
    rows = [line.split() for line in LIMITS.read_text().splitlines() if line[:1] != '#']
    return {kernel: (int(registers), int(stack)) for kernel, registers, stack in rows}


def write_limits(used):
    """used: {kernel: [(registers, stack), ...]}, over the architectures."""
    with LIMITS.open('w') as file:
        file.write('# kernel, most registers of a thread, most bytes of stack: audit.py --write\n')
        for kernel in sorted(used):
            registers = max(row[0] for row in used[kernel])
            step = next(step for step in STEPS if step >= registers)
            file.write(f'{kernel} {step} {max(row[1] for row in used[kernel])}\n')


def check_resources(ptxas, folders, write):
    """The lines of what is too much, and {kernel: [(registers, stack), ...]}."""
    jobs = [(folder.name, path) for folder in folders for path in sorted(folder.glob('*.ptx'))]
    wrong, used = [], {}
    limits = {} if write else read_limits()
    with ThreadPoolExecutor(2) as pool:
        rows = pool.map(lambda job: list(resources(ptxas, *job)), jobs)
    for (architecture, _), kernels in zip(jobs, rows):
        for kernel, registers, stack, spilled in kernels:
            used.setdefault(kernel, []).append((registers, stack))
            most = limits.get(kernel, (255, 1 << 20))
            if kernel not in limits and not write:
                wrong.append(f'{kernel}: has no row in limits.txt (make the target hc_audit)')
            if spilled:
                wrong.append(f'{architecture}: {kernel}: spills {spilled} bytes of registers')
            if registers > most[0]:
                wrong.append(f'{architecture}: {kernel}: {registers} registers, at most {most[0]}')
            if stack > most[1]:
                wrong.append(f'{architecture}: {kernel}: {stack} bytes of stack, at most {most[1]}')
    wrong += [f'limits.txt: there is no kernel {kernel}' for kernel in sorted(limits.keys() - used)]
    return wrong, used


def check_text(folder):
    """Prints what the PTX of an architecture holds, and returns the lines of what it must not."""
    wrong, explained, kernels, checked = [], Counter(), 0, 0
    for path in sorted(folder.glob('*.ptx')):
        names, instructions = ptx.read(path)
        lines, reasons = rules.check(instructions)
        wrong += [f'{folder.name}: {line}' for line in lines]
        explained += reasons
        kernels += len(names)
        checked += len(instructions)
    if kernels == 0:
        return [f'{folder}: has no kernel']
    reasons = ', '.join(f'{number} of {name}' for name, number in sorted(explained.items()))
    print(f'{folder.name}: {kernels} kernels, {checked} instructions; asked for: {reasons}')
    return wrong


def main():
    """Exits with 1 and a line for each thing that is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('ptx', nargs='+', type=Path)
    parser.add_argument('--ptxas')
    parser.add_argument('--write', action='store_true')
    given = parser.parse_args()
    wrong = [line for folder in given.ptx for line in check_text(folder)]
    if given.ptxas:
        lines, used = check_resources(given.ptxas, given.ptx, given.write)
        wrong += lines
        if given.write:
            write_limits(used)
        most = max((row[0], kernel) for kernel, rows in used.items() for row in rows)
        print(f'registers: at most {most[0]}, of {most[1]}')
    for line in wrong:
        print(line, file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == '__main__':
    main()
