"""What to tell of a function that is wrong: the first wrong element, and how to see it again."""

import contextlib
import os
import re
import stat
import tempfile
import textwrap
import zlib

from .checks import Wrong
from .program import Error
from .verdicts import judge_tensors

_MOST_CASES = 4
_WIDTH = 72  # pytest takes eight columns of eighty
_COLUMN = " " * 12  # where halfcheck judge begins what it says of an element


def wrong(job, report):
    """A Wrong that says what is wrong first. The case is run once more, and its calls are judged."""
    first = report.failed[0]
    verdict, kept, assumed = _judged(job, first)
    failed = len(report.failed)
    cases = f": {failed} of {len(report.results)} cases fail" if len(report.results) > 1 else ""
    lines = [f"{job.name} is wrong as {job.op}{cases}", f"{first.verdict} {first.case}"]
    if verdict is not None:
        lines += _narrow(verdict.short.split("\n", 1)[-1])
    else:
        lines += _folded(first.note)
    lines += [f"  also {result.verdict} {result.case}" for result in report.failed[1:_MOST_CASES]]
    if failed > _MOST_CASES:
        lines.append(f"  and {failed - _MOST_CASES} more")
    right = [kind for kind, (_, wrong_ones) in report.formats.items() if not wrong_ones]
    if right:
        lines += _folded(f"all cases pass in {', '.join(right)}")
    lines += [f"  it takes no {name}, and was thought to have {name}={value}"
              for name, value in assumed.items()]
    absent = job.absent()
    if absent:
        lines.append(f"  it takes no {' and no '.join(absent)}, which is among the inputs")
    if cases and report.left_out:
        lines.append(f"  left out: {sum(report.left_out.values())} calls that it does not take "
                     "(report.left_out)")
    seed = f", seed={job.seed}" if job.seed else ""
    lines += [f"again: halfcheck.check({job.name}, op={job.op!r},",
              f"         cases=[{first.case!r}]{seed})"]
    if kept:
        lines.append(f"judge: halfcheck judge {kept}")
    return Wrong("\n".join(lines), report, verdict)


def _judged(job, result):
    """The verdict on the first call of the case that is wrong by itself, the file that keeps it, and
    the numbers that the function was thought to have; None, None, {} where each call is right, say
    because it is not the same each time."""
    calls = []
    with contextlib.suppress(Exception):  # the case was run before; here it is only looked at
        job.run([result.case], lambda line, inputs, outputs: calls.append((line, inputs, {
            slot: array.copy() for slot, array in outputs.items()})))
    folder = _folder()
    for line, inputs, outputs in calls:
        name = f"{job.op}-{zlib.crc32(result.case.encode()):08x}.safetensors"
        kept = os.path.join(folder, name)
        params = dict(line.get("params", {}))
        with contextlib.suppress(Error, ValueError, TypeError, OSError):
            verdict = judge_tensors(line["op"], {**inputs, **outputs}, params, job.layout,
                                    keep=kept)
            if not verdict.ok:
                return verdict, kept if os.path.exists(kept) else None, job.assumed(params)
    return None, None, {}


def _folder():
    """Where files are kept: this user's own folder beside those of others."""
    folder = os.path.join(tempfile.gettempdir(), f"halfcheck-{os.getuid()}")
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    found = os.lstat(folder)
    own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    return folder if own else tempfile.mkdtemp(prefix="halfcheck-")


def _narrow(text):
    """The lines of a verdict, folded: sentences as paragraphs, the others each under its column."""
    text = re.sub(r"\n *(kept|again)  (?:.*\\\n)*.*", "", text)
    lines = []
    for paragraph in re.split(r"\n(?=[A-Z\n])", text):
        if paragraph[:1].isupper():
            lines += textwrap.wrap(paragraph, _WIDTH)
            continue
        for row in re.sub(r"\n {12} *", " ", paragraph).splitlines():
            row = row.replace(" = ", "\0=\0")  # "v = 1" is not parted
            lines += textwrap.wrap(row, _WIDTH, subsequent_indent=_COLUMN,
                                   break_long_words=False, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines if line.strip()]


def _folded(text):
    return textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="  ",
                         break_long_words=False, break_on_hyphens=False)
