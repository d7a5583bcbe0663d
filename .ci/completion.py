"""Presses the tab key in bash and in zsh, and looks at what becomes of the line.

completion.py PREFIX: where halfcheck is installed; its bin is on PATH.
"""
import os
import pty
import re
import select
import shutil
import sys
import tempfile
import time

SECONDS = 30  # for a machine with much else to do
TAB = '\t'

# What is typed, and what the line must then be, or what must be offered below it.
FILLED = [
    ('halfcheck sel' + TAB, 'halfcheck selftest '),
    ('halfcheck run --lev' + TAB, 'halfcheck run --level '),
    ('halfcheck run --level ex' + TAB, 'halfcheck run --level exhaustive '),
    ('halfcheck run --level=ex' + TAB, 'halfcheck run --level=exhaustive '),
    ('halfcheck run --backend exact,ho' + TAB, 'halfcheck run --backend exact,host '),
    ('halfcheck run --backend=exact,ho' + TAB, 'halfcheck run --backend=exact,host '),
    ('halfcheck run batchn' + TAB, 'halfcheck run batchnorm/'),
    ('halfcheck run \'batchn' + TAB, 'halfcheck run \'batchnorm/'),
    ('halfcheck explain eps/adam-in-half-z' + TAB,
     'halfcheck explain eps/adam-in-half-zero-gradient '),
    ('halfcheck explain op/ada' + TAB, 'halfcheck explain op/adam'),
    ('halfcheck train --recipe apex-fp16opt-d' + TAB,
     'halfcheck train --recipe apex-fp16opt-dynamic '),
    ('halfcheck list mech' + TAB, 'halfcheck list mechanisms '),
    ('halfcheck help ga' + TAB, 'halfcheck help gate '),
    ('halfcheck run --json rec' + TAB, 'halfcheck run --json record\\ 1.json '),
    ('halfcheck run --json=rec' + TAB, 'halfcheck run --json=record\\ 1.json '),
    ('halfcheck gate --baseline rec' + TAB, 'halfcheck gate --baseline record\\ 1.json '),
    ('halfcheck report rec' + TAB, 'halfcheck report record\\ 1.json '),
    ('halfcheck report x --out pag' + TAB, 'halfcheck report x --out pages/'),
    ('halfcheck judge --in w=rec' + TAB, 'halfcheck judge --in w=record\\ 1.json '),
    ('halfcheck run --seed rec' + TAB, 'halfcheck run --seed rec'),  # a number is no file
]
OFFERED = [
    ('halfcheck run --fault adam' + TAB + TAB, ['adam-no-bias-correction', 'adamw-flushes']),
    ('halfcheck ' + TAB + TAB, ['compare', 'explain', 'report']),
    ('halfcheck run op/' + TAB + TAB, ['op/gemm/', 'op/conv2d/']),
]


class Shell:
    """An interactive shell whose prompt is `> ` and which shows its line when it is told to."""

    def __init__(self, argv, folder, begin):
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.chdir(folder)
            os.execvpe(argv[0], argv, dict(os.environ, TERM='vt100', COLUMNS='200', LINES='100',
                                           HOME=folder, ZDOTDIR=folder, LC_ALL='C'))
        self.send(begin + '\n')
        self.until('ready-42')

    def send(self, text):
        os.write(self.terminal, text.encode())

    def until(self, word):
        """What is printed until the word comes, or the time is over."""
        seen, end = '', time.monotonic() + SECONDS
        while word not in seen and time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.2)[0]:
                try:
                    seen += os.read(self.terminal, 65536).decode('utf-8', 'replace')
                except OSError:
                    break
        return seen

    def typed(self, text):
        """What is offered, and the line in the end: control-X L prints it between marks."""
        self.send('\x15' + text + '\x18l')
        seen = self.until('>>>')
        line = re.search(r'<<<(.*?)>>>', seen, re.S)
        self.send('\x15')
        return seen, line[1] if line else None

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.child, 0)


BASH = '''bind 'set bell-style none'; bind 'set enable-bracketed-paste off'
bind 'set page-completions off'; bind 'set completion-query-items 0'
show() { printf '\\n<<<%s>>>\\n' "$READLINE_LINE"; }; bind -x '"\\C-xl": show'
. "{file}"; echo ready-$((41 + 1))'''
ZSH = '''PS1='> '; fpath=("{folder}" $fpath); autoload -Uz compinit; compinit -u -D
setopt no_beep no_auto_menu bash_auto_list; LISTMAX=0; bindkey -e
show() { printf '\\n<<<%s>>>\\n' "$BUFFER"; }; zle -N show; bindkey '^Xl' show
echo ready-$((41 + 1))'''


def check(name, argv, begin):
    """Types everything into one shell; returns what went wrong."""
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        open(os.path.join(folder, 'record 1.json'), 'w', encoding='utf-8').close()
        os.mkdir(os.path.join(folder, 'pages'))
        shell = Shell(argv, folder, begin)
        for typed, want in FILLED:
            seen, got = shell.typed(typed)
            # The shells differ in what they put behind it: a blank, or the closing quotation mark.
            if got is None or got.rstrip(" '") != want.rstrip(" '"):
                wrong.append(f'{name}: {typed.strip()!r} became {got!r}, not {want!r}: {seen!r}')
        for typed, words in OFFERED:
            seen, _ = shell.typed(typed)
            wrong += [f'{name}: {typed.strip()!r} does not offer {word}: {seen!r}'
                      for word in words if word not in seen]
        shell.close()
    return wrong


def main():
    share = os.path.join(os.path.abspath(sys.argv[1]), 'share')
    wrong = check('bash', ['bash', '--noprofile', '--norc', '-i'],
                  BASH.replace('{file}', f'{share}/bash-completion/completions/halfcheck'))
    if shutil.which('zsh'):
        wrong += check('zsh', ['zsh', '-f', '-i'],
                       ZSH.replace('{folder}', f'{share}/zsh/site-functions'))
    else:
        print('install: no zsh here: its completion is not tried')
    for line in wrong:
        print(f'completion: {line}', file=sys.stderr)
    sys.exit(1 if wrong else 0)


main()
