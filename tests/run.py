#!/usr/bin/env python3
"""Runs transcripts: tests/run.py HALFCHECK [--renew] [TRANSCRIPT...]

A transcript is a text file of commands and what they print, in blocks. A block has a title, which
says in a sentence what holds, and perhaps some prose:

    # A case that fails now is worse
    Prose stands at the left edge.
      $ halfcheck gate --baseline old.json new.json
      FAIL: 1 worse (1 verdict)
      ! halfcheck: this came to standard error
      [1]

sh runs a line "  $ COMMAND" and the lines "  > MORE" below it, here-documents for one. Below them
stands what it prints: standard output; then standard error, each line after "! "; then the exit
status in brackets, if it is not 0. "..." inside a line stands for any text, and alone for any
number of lines. A line of output that looks like one of these begins with a backslash. Blanks at
the end of lines and empty lines at the end of output do not count. An escape character is ^[.

All blocks of a file run in order in one new folder. A line "@if COMMAND" below a title leaves the
block out where the command fails. Lines "@with SHELL" above the first title, for functions and
variables, stand before every command of the file. $SOURCE is the checkout, $BUILD the program's
folder, and tests/tools is in PATH.

--renew writes what is printed now into the transcripts. Lines with "..." that still fit stay.
Below a command that does not end the transcript keeps what it says, and the status is 1.
"""
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, '.ci'))
from docs_pages import pattern  # noqa: E402 pylint: disable=wrong-import-position
from docs_examples import renewed  # noqa: E402 pylint: disable=wrong-import-position

SECONDS, WIDTH = 600, 100
NO_END = [f'! no end after {SECONDS} s']
NOT_RENEWED = '\nnot renewed: the transcript keeps what it says'
SPECIAL = re.compile(r'[$>!] |\\|\[\d+\]$|\.\.\.$')


class Block:
    """A title, a condition, and commands as (line, command, lines printed, where these stand)."""

    def __init__(self, line, title):
        self.line, self.title, self.condition, self.commands = line, title, None, []


def parse(name, lines):
    """The blocks of a transcript, and what is wrong with it."""
    blocks, before, errors, i = [], '', [], 0
    while i < len(lines):
        line, i = lines[i], i + 1
        if line.startswith('  '):
            if not line.startswith('  $ ') or not blocks:
                errors.append(f'{name}:{i}: ' + ('this line stands before any command' if blocks
                                                 else 'a command stands before any title'))
                continue
            start, command = i, line[4:]
            while i < len(lines) and lines[i].startswith('  >'):
                command, i = command + '\n' + lines[i][4:], i + 1
            first = end = i
            while i < len(lines) and not lines[i].startswith('  $ ') and (
                    not lines[i] or lines[i].startswith('  ')):
                i += 1
                end = i if lines[i - 1] else end
            want = [text[2:] for text in lines[first:end]]
            if want and not ''.join(want).replace('.', '').strip():
                errors.append(f'{name}:{start}: wildcards alone compare nothing')
            blocks[-1].commands.append((start, command, want, first, end))
        elif line.startswith('# '):
            blocks.append(Block(i, line[2:]))
        elif line.startswith('@if ') and blocks:
            blocks[-1].condition = line[4:]
        elif line.startswith('@with ') and not blocks:
            before += line[6:] + '\n'
        elif line.startswith(('$ ', '> ')):
            errors.append(f'{name}:{i}: a command that is not indented is prose, and never runs')
        elif len(line) > WIDTH:
            errors.append(f'{name}:{i}: {len(line)} columns of prose, more than {WIDTH}')
    errors += [f'{name}:{block.line}: nothing is run here'
               for block in blocks if not block.commands]
    if not blocks:
        errors.append(f'{name}:1: there is no block')
    return blocks, before, errors


def shown(text):
    """Output as lines of a transcript."""
    text = text.decode('utf-8', 'replace').replace('\x1b', '^[').replace('\r', '^M')
    lines = [line.rstrip() for line in text.split('\n')]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def outcome(command, folder, environment):
    """What a command prints, as it stands in a transcript."""
    try:
        ran = subprocess.run(['sh', '-c', command], cwd=folder, env=environment,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return NO_END
    lines = ['\\' + line if SPECIAL.match(line) else line for line in shown(ran.stdout)]
    lines += [('! ' + line).rstrip() for line in shown(ran.stderr)]
    return lines + ([f'[{ran.returncode}]'] if ran.returncode else [])


def difference(want, got):
    """The first line that is wanted and not there, and what stands in its place."""
    text = ''.join(line + '\n' for line in got)
    for count in range(len(want), -1, -1):
        found = re.match(pattern(want[:count]), text)
        if found:
            at = text[:found.end()].count('\n')
            return (want[count] if count < len(want) else 'nothing more',
                    got[at] if at < len(got) else 'nothing more')
    return want[0], got[0]


def settled(want, got):
    """What to write in place of `want`: `got`, with wildcards where they still fit."""
    lines = renewed(want, got)
    text = ''.join(line + '\n' for line in got)
    if re.fullmatch(pattern(lines), text):
        return lines
    lines, at = [], 0
    wild = [line for line in want if '...' in line and line.strip() != '...']
    for line in got:
        fits = [i for i in range(at, len(wild)) if re.fullmatch(pattern([wild[i]]), line + '\n')]
        lines.append(wild[fits[0]] if fits else line)
        at = fits[0] + 1 if fits else at
    return lines


def surroundings(program, folder):
    """The environment of commands: as on a machine without a GPU, whatever this one is."""
    unset = ('NO_COLOR', 'CLICOLOR', 'CLICOLOR_FORCE', 'FORCE_COLOR',
             'GITHUB_STEP_SUMMARY', 'COLUMNS')
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    os.mkdir(folder + '/bin')
    os.mkdir(folder + '/tmp')
    os.symlink(program, folder + '/bin/halfcheck')
    path = f'{folder}/bin:{TOP}/tests/tools:{os.environ["PATH"]}'
    environment.update(LC_ALL='C', TERM='dumb', HALFCHECK_PROGRESS='0',
                       OMP_WAIT_POLICY='passive', PATH=path, SOURCE=TOP,
                       BUILD=os.path.dirname(program), HALFCHECK_CUDA_PLUGIN='none',
                       HOME=folder + '/work', TMPDIR=folder + '/tmp', PYTHONDONTWRITEBYTECODE='1')
    return environment


def run(path, program, renew):
    """Runs a transcript; returns (commands run, blocks left out, errors)."""
    name = os.path.relpath(path, TOP) if path.startswith(TOP) else path
    with open(path, encoding='utf-8') as file:
        lines = file.read().rstrip('\n').split('\n')
    blocks, before, errors = parse(name, lines)
    count, left, new = 0, [], []
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(folder + '/work')
        environment = surroundings(program, folder)
        for block in blocks:
            if block.condition and outcome(f'{before}{block.condition} >/dev/null 2>&1',
                                           folder + '/work', environment):
                left.append(f'{name}:{block.line}: {block.title}')
                continue
            for line, command, want, first, end in block.commands:
                count += 1
                got = outcome(before + command, folder + '/work', environment)
                if re.fullmatch(pattern(want), ''.join(text + '\n' for text in got)):
                    continue
                expected, found = difference(want, got)
                errors.append(f'{name}:{line}: {block.title}\n$ {command}\nwant: {expected}\n'
                              f'got:  {found}')
                if not renew:
                    errors[-1] += '\nIn all it printed:\n' + '\n'.join(got)
                elif got == NO_END:  # what it would have printed is not known
                    errors[-1] += NOT_RENEWED
                    continue
                new.append((first, end, settled(want, got)))
    if renew and new:
        for first, end, got in reversed(new):
            lines[first:end] = [('  ' + text) if text else '' for text in got]
        with open(path, 'w', encoding='utf-8') as file:
            file.write('\n'.join(lines) + '\n')
    return count, left, errors


def main(arguments):
    renew = '--renew' in arguments
    program, *paths = [os.path.realpath(a) for a in arguments if a != '--renew']
    paths = paths or sorted(glob.glob(TOP + '/tests/*/*.txt'))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda path: run(path, program, renew), paths))
    errors = [error for result in results for error in result[2]]
    for error in errors:
        print(error + '\n')
    print(f'{len(paths)} transcripts: {sum(r[0] for r in results)} commands, {len(errors)} errors')
    for left in (line for result in results for line in result[1]):
        print(f'  left out: {left}')
    return 1 if any(not renew or error.endswith(NOT_RENEWED) for error in errors) else 0


if __name__ == '__main__':
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
