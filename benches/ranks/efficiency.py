#!/usr/bin/env python3
"""How well ranks share a run: benches/ranks/efficiency.py HALFCHECK RANKS [TURNS] ARGUMENT...

Runs `halfcheck run ARGUMENT...` in one process with one thread, and on so many ranks with one
thread each, in turns, and prints

  wall     the time of one process, by RANKS times that of the ranks: the medians of the turns
  added    processor time of all ranks, by that of the one process

The goal is a wall efficiency of 0.9 up to as many ranks as there are idle cores.
"""
import json
import os
import resource
import statistics
import subprocess
import sys
import time

MPIRUN = ['mpirun', '--oversubscribe', '--bind-to', 'none', '-q', '-n']


def timed(command: list[str]) -> tuple[float, float]:
    """The seconds that a command takes, and those of the processors."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, sum(after[:2]) - sum(before[:2])


def main(arguments: list[str]) -> None:
    program, ranks, turns = arguments[0], int(arguments[1]), 3
    rest = arguments[2:]
    if rest and rest[0].isdigit():
        turns, rest = int(rest[0]), rest[1:]
    os.environ.update(OMP_NUM_THREADS='1', OMP_WAIT_POLICY='passive', OMPI_ALLOW_RUN_AS_ROOT='1',
                      OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1')
    alone = [program, 'run', *rest, '--jobs', '1', '--json', 'efficiency-1.json']
    shared = [*MPIRUN, str(ranks), program, 'run', *rest, '--jobs', '1', '--json',
              f'efficiency-{ranks}.json']
    ones, many = [], []
    for turn in range(turns):
        ones.append(timed(alone))
        many.append(timed(shared))
        print(f'turn {turn + 1}: one process {ones[-1][0]:.1f} s ({ones[-1][1]:.1f} s of a core), '
              f'{ranks} ranks {many[-1][0]:.1f} s ({many[-1][1]:.1f} s)', flush=True)
    with open(f'efficiency-{ranks}.json', encoding='utf-8') as file:
        seconds = sum(result['seconds'] for result in json.load(file)['results'])
    wall = statistics.median(w for w, _ in ones) / statistics.median(w for w, _ in many) / ranks
    added = statistics.median(c for _, c in many) / statistics.median(c for _, c in ones)
    print(f'{seconds:.1f} s of results; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores')
    print(f'wall {wall:.2f}, added {added:.3f}')


if __name__ == '__main__':
    main(sys.argv[1:])
