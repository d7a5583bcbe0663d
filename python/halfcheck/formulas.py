"""calc: a few numbers through a loop, in several formats beside the real ones."""

import json
import os
import subprocess
import tempfile

from . import program as _program


class Numbers:
    """What a formula gives. columns[name][arm] are the numbers at `steps`, and columns[name]["real"]
    the real ones; sentences[arm] say where they part. text is for people, record all that halfcheck
    says."""

    def __init__(self, record, text):
        self.record, self.text = record, text
        self.steps = [row.get("step", 0) for row in record["rows"]]
        self.arms = [arm["arm"] for arm in record["arms"]]
        self.sentences = {arm["arm"]: arm["sentences"] for arm in record["arms"]}
        self.columns = {}
        for row in record["rows"]:
            for shown in row["shown"]:
                column = self.columns.setdefault(shown["name"], {})
                for arm, cell in zip(self.arms, shown["arms"]):
                    column.setdefault(arm, []).append(_real(cell["value"]))
                column.setdefault("real", []).append(_real(shown["real_value"]))

    def __str__(self):
        return self.text

    __repr__ = __str__


def calc(*formulas, each=None, steps=None, formats=None, show=None, every=None, digits=None,
         hex=False, plot=None):  # pylint: disable=redefined-builtin
    """Evaluates formulas with every operation rounded to each format, and as real numbers
    (halfcheck calc). `each` is what every step does; formats are arms such as "fp16" and
    "fp32/bf16"; `every` shows each so manyth step; `plot` draws a picture into a file."""
    with tempfile.TemporaryDirectory(prefix="halfcheck-") as folder:
        said = os.path.join(folder, "said.json")
        words = [_program.path(), "calc", *_lines(formulas), "--json", said]
        words += ["--in", ",".join(formats)] if formats else []
        words += ["--show", show if isinstance(show, str) else ",".join(show)] if show else []
        words += [word for line in ([each] if isinstance(each, str) else each or [])
                  for word in ("--each", line)]
        for option, value in (("--steps", steps), ("--every", every), ("--digits", digits),
                              ("--plot", plot)):
            words += [option, os.fspath(value) if option == "--plot" else str(value)] \
                if value is not None else []
        words += ["--hex"] if hex else []
        ended = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, errors="replace", check=False)
        if ended.returncode not in (0, 1):
            raise ValueError(ended.stderr.strip().replace("halfcheck: ", "", 1) or
                             f"halfcheck calc ended with status {ended.returncode}")
        with open(said, encoding="utf-8") as record:
            return Numbers(json.load(record), ended.stdout.rstrip("\n"))


def _lines(formulas):
    if not formulas:
        raise TypeError("calc wants a formula, such as 'w = 1'")
    for formula in formulas:
        if not isinstance(formula, str) or formula.startswith("-"):
            raise TypeError(f"{formula!r} is no formula; 'w = 1' is one")
    return formulas


def _real(value):
    return float.fromhex(value) if isinstance(value, str) else float("nan")
