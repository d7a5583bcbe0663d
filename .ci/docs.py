"""Checks that the pages are true:

  .ci/docs HALFCHECK [--write] [PAGE...]   all pages, or these
  .ci/docs HALFCHECK --examples PAGE...    only the examples of these
  .ci/docs HALFCHECK --look PAGE...        all pages, but no examples, which only these may have:
                                           they are those with a test of their own

Where Python or mpirun is wanted, and cannot be had, --examples ends with 77.

A block of code in a page is one of these, and any other block is an error:

  ```console      Examples. sh runs a line "$ COMMAND", which a trailing backslash continues, and the
                  lines below it are what it prints, standard error included.
  <!-- from FILE -->    before a block: the block stands word for word in FILE.
  <!-- add FILE -->     before a block: it is a new FILE of the tree. The page's examples run with a
                  program in which it is compiled and linked.
  <!-- file FILE -->    before a block: it is written to FILE, with which the examples below it run.
  <!-- folders -->      before a block: each of its lines begins with folders of the tree.
  <!-- not run: WHY --> before a block: it is not checked. All of these are counted and listed.

A page with a line <!-- python --> has examples that need the Python package, and one with a line
<!-- mpirun --> ranks that mpirun starts. They are not run where these cannot be had.

In what is printed, and in blocks from a file, "..." inside a line stands for any text, and a line
of "..." alone for any number of lines. Examples of one page run in order in one folder, which holds
a link to everything in the checkout and, as hc, to the program.

It is also an error when a relative link leads nowhere; when a path, case, option or command in
`back quotes` does not exist; when a line of prose is longer than 100 columns; and when README.md
has more than 200 lines. --write puts what was printed into the pages, to be read with git diff. Of
an example that does not end, or that a signal ends, the page keeps what it says.
"""
import concurrent.futures
import fnmatch
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from docs_examples import run
from docs_pages import TOP, Page, pattern, text_of

WIDTH, README_LINES = 100, 200
PYTHON, MPIRUN = '<!-- python -->', '<!-- mpirun -->'


def quotes(page):
    """Blocks that are not examples: returns those that are not checked."""
    left = []
    for mark, argument, language, first, end in page.blocks:
        block = page.lines[first:end]
        if mark == 'from':
            try:
                text = '\n' + text_of(argument)
            except OSError:
                page.error(first, f'there is no file {argument}')
                continue
            if not re.search(r'\n' + pattern(block), text):
                page.error(first, f'this does not stand in {argument}')
        elif mark == 'folders':
            for word in re.findall(r'(?m)(?:^|(?<=/ ))([\w./-]+/)(?= )', '\n'.join(block)):
                if not os.path.isdir(os.path.join(TOP, word)):
                    page.error(first, f'there is no folder {word}')
        elif mark == 'not run' and argument:
            left.append(f'{page.name}:{first}: {argument}')
        elif language != 'console' and mark not in ('add', 'file'):
            page.error(first, 'this block is neither an example nor marked')
    return left


def slug(heading):
    """The anchor that GitHub makes of a heading."""
    text = re.sub(r'\[([^]]*)\]\([^)]*\)', r'\1', heading).strip().lower()
    return re.sub(r'[^\w\- ]', '', text).replace(' ', '-')


def anchors(page):
    return {slug(line.lstrip('#')) for _, line in page.prose if re.match(r'#+ ', line)}


def links(page):
    folder = os.path.dirname(os.path.join(TOP, page.name))
    text = '\n'.join(line if line is not None else '' for line in prose_by_line(page))
    for found in re.finditer(r'\]\(([^)\s]+)\)', text):
        line = text.count('\n', 0, found.start()) + 1
        target, _, anchor = found[1].partition('#')
        if re.match(r'[a-z]+:', target):
            continue
        path = os.path.normpath(os.path.join(folder, target))
        if not os.path.exists(path):
            page.error(line, f'the link {found[1]} leads nowhere')
        elif anchor and anchor not in anchors(Page(os.path.relpath(path, TOP)) if target else page):
            page.error(line, f'the link {found[1]} leads to no heading')


def prose_by_line(page):
    lines = [None] * len(page.lines)
    for number, line in page.prose:
        lines[number - 1] = line
    return lines


class Names:
    """What the program knows: its commands, options, cases and faults."""

    def __init__(self, program, pages):
        self.added = {block[1] for page in pages for block in page.blocks if block[0] == 'add'}

        def ask(*words):
            return subprocess.run([program, *words], stdout=subprocess.PIPE, text=True,
                                  check=False).stdout
        self.version = ask('--version').split()[1]
        self.commands = re.findall(r'^  ([\w-]+) ', ask('--help'), re.M)
        self.of_script = set(re.findall(r'\./hc test (--[a-z-]+)', text_of('hc')))
        self.options = set(re.findall(r'--[a-z][\w-]*', ask('--help') + ''.join(
            ask(command, '--help') for command in self.commands) + text_of('portable/gpu-check')))
        self.cases = [line.split('\t')[0] for line in ask('list', 'cases').splitlines()]
        self.components = {case.split('/')[0] for case in self.cases}
        self.scales = {line.split('\t')[0] for line in ask('list', 'scales').splitlines()}
        self.scalers = {line.split('\t')[0] for line in ask('list', 'scalers').splitlines()}

    def wrong(self, word):
        """What is wrong with a word in back quotes, or None."""
        head = word.split('/')[0]
        if word in self.added or word == head + '/' and head in self.components:
            return None
        path = re.fullmatch(r'[\w.+*{},-]+(/[\w.+*{},-]*)+', word)
        if path and head not in ('.', 'build', 'out'):
            if '{' in word or word.isupper():
                return None
            if os.path.lexists(os.path.join(TOP, head)) and head not in self.components:
                return None if glob.glob(os.path.join(TOP, word)) else 'there is no such file'
            if os.path.lexists(os.path.join(TOP, word)) or glob.glob(os.path.join(TOP, word)):
                return None
            if head == 'scale' and word.split('/')[1] in self.scales:
                return None
            if head == 'scaler' and word.split('/')[1] in self.scalers:
                return None
            if head in self.components and not re.search(r'[A-Z]{4}', word):
                begun = any(case.startswith(word.rstrip('/') + '/') for case in self.cases)
                return None if begun or fnmatch.filter(self.cases, word) else \
                    'no case has such a name'
        return None


FOREIGN = {'--error-exitcode', '--fmad', '--preset', '--build'}


def names(page, known):
    for number, line in page.prose:
        for span in re.findall(r'`([^`]+)`', line):
            words = span.replace("'", ' ').split()
            if words[0] in ('halfcheck', './hc') and len(words) > 1:
                of_hc = ['test', 'install', 'uninstall']
                if re.match('[a-z]', words[1]) and words[1] not in known.commands + of_hc:
                    page.error(number, f'`{span}`: there is no such command')
                if words[1] == 'bench':
                    continue
            for word in words:
                if word.startswith('--') and words[0] in ('halfcheck', './hc', word):
                    option = word.split('=')[0]
                    if option not in known.options | FOREIGN | known.of_script:
                        page.error(number, f'`{span}`: there is no option {option}')
                why = known.wrong(word)
                if why:
                    page.error(number, f'`{span}`: {why}')


def widths(page):
    for number, line in page.prose:
        if line.startswith('    '):
            page.error(number, 'code is fenced, not indented')
        if len(line) > WIDTH and not re.match(r'\s*[|<!\[]', line) and '](' not in line:
            page.error(number, f'{len(line)} columns of prose, more than {WIDTH}')
    if page.name == 'README.md' and len(page.lines) - 1 > README_LINES:
        page.error(len(page.lines) - 1, f'more than {README_LINES} lines')


def all_pages():
    listed = subprocess.run(['git', '-C', TOP, 'ls-files', '-co', '--exclude-standard', '*.md'],
                            stdout=subprocess.PIPE, text=True, check=False).stdout.split()
    return listed or ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md'] + [
        os.path.relpath(page, TOP) for page in sorted(glob.glob(TOP + '/docs/*.md'))]


# A page with an error for each WRONG: a check that finds fewer is broken itself.
WRONG = '''# A page: WRONG

[a](docs/none.md) WRONG, [b](#none) WRONG, [c](#a-page-wrong), `src/none.c` WRONG, `src/num/`
`eps/none` WRONG, `eps/*`, `halfcheck rum` WRONG, `--sede` WRONG, `halfcheck run --level quick`
A line of prose is right until it is longer than a hundred columns, and then it is no longer so: WRONG

    code that is indented is WRONG

```console
$ echo right; echo varies 12
right
varies ...
$ echo WRONG
another word
$ echo more than it says; echo wrong
more than it says WRONG
$ echo wildcards alone: WRONG
...
$ echo killed; kill -SEGV $$ # WRONG
killed
```
```text
no mark: WRONG
```
<!-- not run -->
```text
no reason: WRONG
```
<!-- from LICENSE -->
```text
not in that file: WRONG
```
<!-- folders -->
```text
src/     is a folder
none/    WRONG
```
'''


def check_the_check(program):
    page = Page('the check itself', WRONG)
    look(page, Names(program, [page]))
    without_test([page], [])
    run(page, program, False)
    if len(page.errors) == WRONG.count('WRONG'):
        return []
    return [f'{page.name}: of {WRONG.count("WRONG")} wrong things it finds these:', *page.errors]


# What --write makes of a page: no example is replaced by what one printed that did not end.
BEFORE, AFTER = ("""```console
$ echo new
%s
$ echo begun; sleep 3
begun
and its end
$ echo begun; kill -SEGV $$
begun
and its end
```
""" % printed for printed in ('old', 'new'))


def check_the_writing(program):
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, 'page.md')
        with open(name, 'w', encoding='utf-8') as file:
            file.write(BEFORE)
        page = Page(name)
        run(page, program, True, seconds=1)
        written = text_of(name)
    refused = [error for error in page.errors if 'not written' in error]
    if written == AFTER and len(refused) == 2:
        return []
    return [f'the check itself: --write refuses {len(refused)} of 2 examples without an end, and '
            f'makes this of a page:', written]


def look(page, known):
    """All but the examples; returns the blocks that are not checked."""
    links(page)
    if page.name != 'CHANGELOG.md':
        names(page, known)
    elif f'## [{known.version}]' not in page.lines:  # it also names what was, so no names
        page.error(1, f'version {known.version} has no heading')
    widths(page)
    return quotes(page)


def lacking(program):
    """Of marks of pages: why their examples cannot be run here."""
    why = {}
    if os.environ.get('HC_NO_PYTHON'):
        why[PYTHON] = os.environ['HC_NO_PYTHON']
    if not shutil.which('mpirun'):
        why[MPIRUN] = 'there is no mpirun here'
    elif not os.path.exists(os.path.join(os.path.dirname(program), 'halfcheck-mpi.so')):
        why[MPIRUN] = 'halfcheck is built without MPI'
    return why


def without_test(pages, tested):
    """Pages with examples that no test runs, which is an error."""
    for page in pages:
        if page.name not in tested and any(b[0] is None and b[2] == 'console' for b in page.blocks):
            page.error(1, 'it has examples, and no test of its own in cmake/docs.cmake')


def main(arguments):
    program, *chosen = [a for a in arguments if not a.startswith('--')]
    options = {a for a in arguments if a.startswith('--')}
    if not options <= {'--write', '--examples', '--look'}:
        sys.exit(__doc__)
    write, only_look, only_run = ('--write' in options, '--look' in options,
                                  '--examples' in options)
    program = os.path.realpath(program)
    pages = [Page(name) for name in ([] if only_look else chosen) or all_pages()]
    left = []
    if not only_run:
        known = Names(program, pages)
        for page in pages:
            left += look(page, known)
    why = {page: reason for mark, reason in lacking(program).items()
           for page in pages if mark in page.lines}
    runnable = [page for page in pages if page not in why]
    skipped = 'SKIPPED: ' if only_run else ''
    left += [f'{skipped}{page.name}: {reason}' for page, reason in why.items()]
    if only_look:
        without_test(pages, chosen)
        runnable = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        count = sum(pool.map(lambda page: run(page, program, write), runnable))
    errors = [] if only_run else check_the_check(program) + check_the_writing(program)
    errors += [error for page in pages for error in page.errors]
    for error in errors:
        print(error)
    print(f'{len(pages)} pages: {count} examples run, {len(left)} blocks not run, '
          f'{len(errors)} errors')
    for block in left:
        print(f'  not run: {block}')
    return 1 if errors else 77 if only_run and why else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
