"""The pages as the checks of .ci/docs see them: lines, blocks of code, errors."""
import os
import re

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FENCE = re.compile(r'^( *)```(\w*)$')
MARK = re.compile(r'^<!-- (from|add|file|folders|not run)(?::? (.*))? -->$')


def text_of(name, folder=TOP):
    with open(os.path.join(folder, name), encoding='utf-8') as file:
        return file.read()


class Page:
    """A page as lines, and its blocks as (mark, argument, language, first line, end)."""

    def __init__(self, name, text=None):
        self.name = name
        self.lines = (text_of(name) if text is None else text).split('\n')
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
