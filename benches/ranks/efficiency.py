#!/usr/bin/env python3
"""How well ranks share a run: benches/ranks/efficiency.py HALFCHECK RANKS [TURNS] ARGUMENT...

Runs `halfcheck run ARGUMENT...` in turns: in one process with one thread; on so many ranks with one
thread each, parted by the seconds that halfcheck expects; and parted by those of the first run
(--times). Of each way to share it prints

  wall     the time of one process, by RANKS times that of the ranks: the medians of the turns
  added    processor time of all ranks, by that of the one process

The goal is a wall efficiency of 0.9 up to as many ranks as there are idle cores.
"""
import os
import resource
import statistics
import subprocess
import sys
import time

MPIRUN = ['mpirun', '--oversubscribe', '--bind-to', 'none', '-n']
RECORD = 'efficiency.json'


def timed(command: list[str]) -> tuple[float, float]:
    """The seconds that a command takes, and those of the processors."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, sum(after[:2]) - sum(before[:2])


def main(arguments: list[str]) -> None:
    program, ranks, turns = os.path.abspath(arguments[0]), arguments[1], 3
    rest = arguments[2:]
    if rest and rest[0].isdigit():
        turns, rest = int(rest[0]), rest[1:]
    os.environ.update(OMP_NUM_THREADS='1', OMP_WAIT_POLICY='passive', OMPI_ALLOW_RUN_AS_ROOT='1',
                      OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1')
    run = [program, 'run', *rest, '--jobs', '1']
    ways = {'one process': [*run, '--json', RECORD],
            f'{ranks} ranks': [*MPIRUN, ranks, *run],
            f'{ranks} ranks by --times': [*MPIRUN, ranks, *run, '--times', RECORD]}
    taken: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    for turn in range(turns):
        for way, command in ways.items():
            taken[way].append(timed(command))
            print(f'turn {turn + 1}: {way} %.1f s, %.1f s of a core' % taken[way][-1], flush=True)
    walls, cores = ({way: statistics.median(times[i] for times in taken[way]) for way in ways}
                    for i in (0, 1))
    print(f'load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores')
    for way in list(ways)[1:]:
        print(f'{way}: wall {walls["one process"] / walls[way] / int(ranks):.2f}, '
              f'added {cores[way] / cores["one process"]:.2f}')


if __name__ == '__main__':
    main(sys.argv[1:])
