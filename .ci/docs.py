"""Checks that the pages are true: .ci/docs HALFCHECK [--write] [PAGE...]

A block of code in a page is one of these, and any other block is an error:

  ```console      Examples. A line "$ COMMAND" is run by sh, a trailing backslash continues it, and the
                  lines below it are what it prints, standard error included.
  <!-- from FILE -->    before a block: the block stands word for word in FILE.
  <!-- add FILE -->     before a block: it is a new FILE of the tree. The page's examples run with a
                  program in which it is compiled and linked.
  <!-- folders -->      before a block: each of its lines begins with a folder of the tree.
  <!-- not run: WHY --> before a block: it is not checked. All of these are counted and listed.

In what is printed, and in blocks from a file, "..." inside a line stands for any text, and a line of
"..." alone for any number of lines. Examples of one page run in order in one folder, which holds a link
to everything in the checkout and, as hc, to the program.

It is also an error when a relative link leads nowhere; when a path, case, option or command in
`back quotes` does not exist; when a line of prose is longer than 100 columns; and when README.md
has more than 200 lines. --write puts what was printed into the pages, to be read with git diff.
"""
import concurrent.futures
import difflib
import fnmatch
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WIDTH, README_LINES, SECONDS = 100, 200, 60
FENCE = re.compile(r'^( *)```(\w*)$')
MARK = re.compile(r'^<!-- (from|add|folders|not run)(?::? (.*))? -->$')


class Page:
    """A page as lines, and its blocks as (mark, argument, language, first line, end)."""

    def __init__(self, name):
        self.name = name
        with open(os.path.join(TOP, name), encoding='utf-8') as file:
            self.lines = file.read().split('\n')
        self.blocks, self.prose, self.errors = [], [], []
        inside, mark = None, None
        for i, line in enumerate(self.lines):
            fence = FENCE.match(line)
            if inside is not None:
                if fence and not fence[2]:
                    self.blocks.append((*inside, i))
                    inside, mark = None, None
            elif fence:
                inside = (*(mark or (None, '')), fence[2], i + 1)
            else:
                self.prose.append((i + 1, line))
                found = MARK.match(line)
                mark = (found[1], found[2] or '') if found else None
        if inside is not None:
            self.error(inside[-1], 'this block of code has no end')

    def error(self, line, text):
        self.errors.append(f'{self.name}:{line}: {text}')


def pattern(lines):
    """The regular expression for lines with wildcards."""
    parts = []
    for line in lines:
        if line.strip() == '...':
            parts.append(r'(?:[^\n]*\n)*?')
        else:
            parts.append('[^\n]*'.join(map(re.escape, line.split('...'))) + r'\n')
    return ''.join(parts)


def examples(page, first, end):
    """Of a console block: (line, command, what it prints, the lines where that stands)."""
    found, i = [], first
    while i < end:
        if not page.lines[i].startswith('$ '):
            page.error(i + 1, 'this line stands before any command')
            return found
        start, command = i, page.lines[i][2:]
        while command.endswith('\\'):
            i += 1
            command += '\n' + page.lines[i]
        i += 1
        output = i
        while i < end and not page.lines[i].startswith('$ '):
            i += 1
        found.append((start + 1, command, page.lines[output:i], output, i))
    return found


def extended(program, additions, folder):
    """Links the program anew, with files that it lacks; they register as CMake would register them."""
    build, objects = os.path.dirname(program), []
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as file:
        compiled = {os.path.relpath(entry['file'], TOP): entry['command'] for entry in json.load(file)}

    def compile_as_registry(root, path, number):
        command = re.sub(r' -o .*', '', compiled[root + '/registry.c'])
        command = command.replace(' -', f' -I{folder}/{root} -', 1)  # before the list of the build
        objects.append(f'{folder}/{number}.o')
        subprocess.run(f'{command} -o {objects[-1]} -c {path}', shell=True, cwd=build, check=True)

    for number, (path, text) in enumerate(additions):
        root = path.split('/')[0]
        prefix = {'cases': 'hc_cases', 'kernels': 'hc_backend'}[root]
        symbol = re.sub(r'[/-]', '_', re.sub(r'/backend$', '', path[len(root) + 1:-len('.c')]))
        listed = f'{root}/{prefix}_list.h'
        lines = text_of(listed, folder if os.path.exists(f'{folder}/{listed}') else f'{build}/registry')
        lines = re.sub(rf'(extern [\w ]* ){prefix}_\w+;', rf'\1{prefix}_{symbol};\n\g<0>', lines, 1)
        lines = lines.replace('#define HC_LIST', f'#define HC_LIST &{prefix}_{symbol},', 1)
        for name, content in ((listed, lines), (path, text)):
            os.makedirs(os.path.dirname(f'{folder}/{name}'), exist_ok=True)
            with open(f'{folder}/{name}', 'w', encoding='utf-8') as file:
                file.write(content)
        compile_as_registry(root, f'{folder}/{path}', number)
    for root in {path.split('/')[0] for path, _ in additions}:
        compile_as_registry(root, f'{TOP}/{root}/registry.c', root)
    link = subprocess.run(['ninja', '-t', 'commands', 'halfcheck'], cwd=build, text=True, check=True,
                          stdout=subprocess.PIPE).stdout.rstrip().split('\n')[-1]
    link = link.replace(' -o halfcheck ', f' -o {folder}/halfcheck {" ".join(objects)} ')
    subprocess.run(link, shell=True, cwd=build, check=True)
    return f'{folder}/halfcheck'


def renewed(want, got):
    """The lines of `want` as `got` has them now; those with wildcards that still fit stay."""
    lines, at = [], 0
    for line in want:
        if line.strip() == '...':
            lines.append(line)
            continue
        fits = [i for i in range(at, len(got)) if re.fullmatch(pattern([line]), got[i] + '\n')]
        if fits:
            lines.append(line)
            at = fits[0] + 1
            continue
        near = difflib.get_close_matches(line, got[at:], 1, 0.5)
        if near:
            lines.append(near[0])
            at = got.index(near[0], at) + 1
    return lines or got


def run(page, program, write):
    """Runs the examples of a page; returns how many there are."""
    count, new = 0, []
    additions = [(argument, '\n'.join(page.lines[first:end]) + '\n')
                 for mark, argument, _, first, end in page.blocks if mark == 'add']
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as built:
        if additions:
            try:
                program = extended(program, additions, built)
            except (OSError, KeyError, subprocess.CalledProcessError) as error:
                page.error(1, f'its files cannot be built: {error}')
                return 0
        for name in os.listdir(TOP):
            if name not in ('hc', 'out', 'build', '.git'):
                os.symlink(os.path.join(TOP, name), os.path.join(folder, name))
        os.symlink(program, os.path.join(folder, 'hc'))
        # The program looks for its plug-in beside itself.
        environment = dict(os.environ, LC_ALL='C', OMP_WAIT_POLICY='passive',
                           PATH=os.path.dirname(program) + ':' + os.environ['PATH'])
        for mark, _, language, first, end in page.blocks:
            if mark is not None or language != 'console':
                continue
            for line, command, want, start, stop in examples(page, first, end):
                count += 1
                if want and not ''.join(want).replace('.', '').strip():
                    page.error(line, f'$ {command}: wildcards alone compare nothing')
                try:
                    got = subprocess.run(['sh', '-c', command], cwd=folder, env=environment,
                                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT, timeout=SECONDS,
                                         check=False).stdout.decode('utf-8', 'replace')
                except subprocess.TimeoutExpired:
                    got = f'no end after {SECONDS} s\n'
                got = '\n'.join(text.rstrip() for text in got.split('\n'))
                if not re.fullmatch(pattern(want), got):
                    page.error(line, f'$ {command}\nwant:\n' + '\n'.join(want) + f'\ngot:\n{got}')
                    new.append((start, stop, renewed(want, got.rstrip('\n').split('\n'))))
    if write and new:
        for start, stop, lines in reversed(new):
            page.lines[start:stop] = lines
        with open(os.path.join(TOP, page.name), 'w', encoding='utf-8') as file:
            file.write('\n'.join(page.lines))
    return count


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
            for word in re.findall(r'(?m)^ *([\w./-]+/)(?= )', '\n'.join(block)):
                if not os.path.isdir(os.path.join(TOP, word)):
                    page.error(first, f'there is no folder {word}')
        elif mark == 'not run':
            left.append(f'{page.name}:{first}: {argument or "NO REASON"}')
        elif language != 'console' and mark != 'add':
            page.error(first, 'this block is neither an example nor marked')
    return left


def text_of(name, folder=TOP):
    with open(os.path.join(folder, name), encoding='utf-8') as file:
        return file.read()


def slug(heading):
    """The anchor that GitHub makes of a heading."""
    text = re.sub(r'\[([^]]*)\]\([^)]*\)', r'\1', heading).strip().lower()
    return re.sub(r'[^\w\- ]', '', text).replace(' ', '-')


def anchors(path):
    page = Page(os.path.relpath(path, TOP))
    return {slug(line.lstrip('#')) for _, line in page.prose if re.match(r'#+ ', line)}


def links(page):
    folder = os.path.dirname(os.path.join(TOP, page.name))
    text = '\n'.join(line if line is not None else '' for line in prose_by_line(page))
    for found in re.finditer(r'\]\(([^)\s]+)\)', text):
        line = text.count('\n', 0, found.start()) + 1
        target, _, anchor = found[1].partition('#')
        if re.match(r'[a-z]+:', target):
            continue
        path = os.path.normpath(os.path.join(folder, target)) if target else os.path.join(TOP, page.name)
        if not os.path.exists(path):
            page.error(line, f'the link {found[1]} leads nowhere')
        elif anchor and anchor not in anchors(path):
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
        self.commands = re.findall(r'^  (\w+) ', ask('--help'), re.M)
        self.options = set(re.findall(r'--[a-z][\w-]*', ask('--help') + ''.join(
            ask(command, '--help') for command in self.commands) + text_of('portable/gpu-check')))
        self.cases = [line.split('\t')[0] for line in ask('list', 'cases').splitlines()]
        self.components = {case.split('/')[0] for case in self.cases}
        self.scalers = {line.split('\t')[0] for line in ask('list', 'scalers').splitlines()}

    def wrong(self, word):
        """What is wrong with a word in back quotes, or None."""
        head = word.split('/')[0]
        if word in self.added or word == head + '/' and head in self.components:
            return None
        if head not in ('.', 'build', 'out') and re.fullmatch(r'[\w.+*{},-]+(/[\w.+*{},-]*)+', word):
            if '{' in word or word.isupper():
                return None
            if os.path.lexists(os.path.join(TOP, head)) and head not in self.components:
                return None if glob.glob(os.path.join(TOP, word)) else 'there is no such file'
            if os.path.lexists(os.path.join(TOP, word)) or glob.glob(os.path.join(TOP, word)):
                return None
            if head == 'scaler' and word.split('/')[1] in self.scalers:
                return None
            if head in self.components and not re.search(r'[A-Z]{4}', word):
                return None if fnmatch.filter(self.cases, word) else 'no case has such a name'
        return None


FOREIGN = {'--error-exitcode', '--fmad', '--preset', '--build'}


def names(page, known):
    for number, line in page.prose:
        for span in re.findall(r'`([^`]+)`', line):
            words = span.replace("'", ' ').split()
            if words[0] in ('halfcheck', './hc') and len(words) > 1:
                if re.match('[a-z]', words[1]) and words[1] not in known.commands + ['test']:
                    page.error(number, f'`{span}`: there is no such command')
                if words[1] == 'bench':
                    continue
            for word in words:
                if word.startswith('--') and words[0] in ('halfcheck', './hc', word):
                    option = word.split('=')[0]
                    if option not in known.options | FOREIGN:
                        page.error(number, f'`{span}`: there is no option {option}')
                why = known.wrong(word)
                if why:
                    page.error(number, f'`{span}`: {why}')


def widths(page):
    for number, line in page.prose:
        if len(line) > WIDTH and not re.match(r'\s*[|<!\[]', line) and '](' not in line:
            page.error(number, f'{len(line)} columns of prose, more than {WIDTH}')
    if page.name == 'README.md' and len(page.lines) - 1 > README_LINES:
        page.error(len(page.lines) - 1, f'more than {README_LINES} lines')


def all_pages():
    listed = subprocess.run(['git', '-C', TOP, 'ls-files', '-co', '--exclude-standard', '*.md'],
                            stdout=subprocess.PIPE, text=True, check=False).stdout.split()
    return listed or ['README.md', *sorted(os.path.relpath(p, TOP) for p in glob.glob(TOP + '/docs/*.md'))]


def main(arguments):
    write = '--write' in arguments
    program, *chosen = [a for a in arguments if a != '--write']
    program = os.path.realpath(program)
    pages = [Page(name) for name in chosen or all_pages()]
    known = Names(program, pages)
    left = []
    for page in pages:
        left += quotes(page)
        links(page)
        if page.name != 'CHANGELOG.md':  # which also names what was
            names(page, known)
        widths(page)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        count = sum(pool.map(lambda page: run(page, program, write), pages))
    errors = [error for page in pages for error in page.errors]
    for error in errors:
        print(error)
    print(f'{len(pages)} pages: {count} examples run, {len(left)} blocks not run, {len(errors)} errors')
    for block in left:
        print(f'  not run: {block}')
    return 1 if errors else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
