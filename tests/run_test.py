"""Tests of the runner: wrong transcripts, each of which it must refuse, and right ones."""
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import run

PROGRAM = '''#!/bin/sh
case $1 in
say) shift; echo "$@" ;;
warn) echo right; echo oh dear >&2; exit 3 ;;
die) kill -SEGV $$ ;;
read) cat "$2" ;;
esac
'''

RIGHT = r'''@with word=one

# A command prints what stands below it
Prose may stand here.

  $ halfcheck say $word; halfcheck say
  > halfcheck say two
  one

  two
  $ halfcheck warn
  right
  ! oh dear
  [3]
  $ halfcheck say a number 12 at the end
  a number ... at the end

# Files of one block are there in the next
  $ cat >f <<END
  > a
  >   b
  > END
  $ halfcheck read f
  a
    b
  $ halfcheck say '$ no command'; halfcheck say '[1]'; halfcheck say '! no error'
  \$ no command
  \[1]
  \! no error
  $ seq 9
  1
  ...
  9

# A block is left out where its condition fails
@if false
  $ halfcheck say wrong
'''

# What is wrong, a command and what stands below it, what the runner says of it.
WRONG = [
    ('another line', 'say one', 'two', 'want: two\ngot:  one'),
    ('a line that is missing', 'say one', 'one\ntwo', 'want: two\ngot:  nothing more'),
    ('a line more', 'read two', 'one', 'want: nothing more\ngot:  two'),
    ('output where none is wanted', 'say one', '', 'want: nothing more\ngot:  one'),
    ('a line between two', 'read two', 'one\nand\ntwo', 'want: and\ngot:  two'),
    ('a wildcard that does not fit', 'say one two', 'one ... three', 'want: one ... three'),
    ('a line after any number of lines', 'read two', '...\nthree', 'want: three'),
    ('an exit status that is not told', 'warn', 'right\n! oh dear', 'got:  [3]'),
    ('another exit status', 'warn', 'right\n! oh dear\n[2]', 'want: [2]\ngot:  [3]'),
    ('a status of success', 'warn', 'right\n! oh dear\n[0]', 'got:  [3]'),
    ('standard error that is not told', 'warn', 'right\n[3]', 'got:  ! oh dear'),
    ('standard error as output', 'warn', 'right\noh dear\n[3]', 'got:  ! oh dear'),
    ('output as standard error', 'say one', '! one', 'got:  one'),
    ('a death by a signal', 'die', '', '[139]'),
    ('wildcards alone', 'say one', '...', 'wildcards alone compare nothing'),
]

MALFORMED = [
    ('  $ halfcheck say one\n  one', 'a command stands before any title'),
    ('# A title\n  one', 'this line stands before any command'),
    ('# A title\nProse.', 'nothing is run here'),
    ('Prose alone.', 'there is no block'),
    ('# A title\n  $ true\n$ halfcheck say one', 'a command that is not indented'),
    ('# A title\n  $ true\n> more', 'a command that is not indented'),
    ('# A title\n' + 'long ' * 21 + '\n  $ true', 'columns of prose'),
]


class Runner(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.program = os.path.join(self.folder.name, 'program')
        self.path = os.path.join(self.folder.name, 'transcript.txt')
        self.write(self.program, PROGRAM)
        os.chmod(self.program, 0o755)

    @staticmethod
    def write(path, text):
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)

    def run_text(self, text, renew=False):
        self.write(self.path, text)
        return run.run(self.path, self.program, renew)

    def test_right_transcripts_pass(self):
        count, left, errors = self.run_text(RIGHT)
        self.assertEqual((count, len(left), errors), (7, 1, []))

    def test_what_is_wrong_is_found_and_told(self):
        for what, command, below, says in WRONG:
            lines = ''.join(f'  {line}\n' for line in below.split('\n') if line)
            with self.subTest(what):
                _, _, errors = self.run_text('# A title\n  $ printf "one\\ntwo\\n" >two; '
                                             f'halfcheck {command}\n{lines}')
                self.assertEqual(len(errors), 1)
                self.assertIn(says, errors[0])

    def test_malformed_transcripts_are_refused(self):
        for text, says in MALFORMED:
            with self.subTest(says):
                self.assertIn(says, '\n'.join(self.run_text(text)[2]))

    def test_a_wrong_transcript_ends_with_status_1(self):
        self.write(self.path, '# A title\n  $ halfcheck say one\n  two\n')
        command = [sys.executable, '-B', run.__file__, self.program, self.path]
        for extra, status in (([], 1), (['--renew'], 0), ([], 0)):
            ran = subprocess.run(command + extra, stdout=subprocess.DEVNULL, check=False)
            self.assertEqual(ran.returncode, status)

    def test_renewing_changes_what_is_printed_and_keeps_wildcards_that_fit(self):
        text = ('# A title\n  $ halfcheck say first; halfcheck say second 12; halfcheck say third\n'
                '  another\n  second ...\n  third\n\n# Another\n  $ halfcheck warn\n')
        self.run_text(text, renew=True)
        with open(self.path, encoding='utf-8') as file:
            self.assertEqual(file.read(), text.replace('another', 'first') +
                             '  right\n  ! oh dear\n  [3]\n')

    def test_renewing_keeps_what_stands_below_a_command_without_an_end(self):
        text = '# A title\n  $ halfcheck say one; sleep 3\n  two\n  $ halfcheck say two\n  three\n'
        self.write(self.path, text)
        with unittest.mock.patch.object(run, 'SECONDS', 1):
            with contextlib.redirect_stdout(io.StringIO()) as said:
                status = run.main(['--renew', self.program, self.path])
        with open(self.path, encoding='utf-8') as file:
            self.assertEqual(file.read(), text.replace('three', 'two'))
        self.assertEqual(status, 1)
        self.assertIn('not renewed', said.getvalue())


if __name__ == '__main__':
    unittest.main()
