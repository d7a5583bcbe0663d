"""What a watch has seen: operators beyond their bounds, by layer; where the first infinity and the
first NaN were made; and what was not judged. Those of torch and of jax add how they look at
numbers."""

import collections
import json
import math
import os
import shutil
import subprocess

from . import program, record


class Line:
    """One call: the operator, where it was called, and the format of its result."""

    def __init__(self, operator, phase, layer, where, fmt, step):
        self.operator, self.phase, self.layer = operator, phase, layer
        self.where, self.format, self.step = where, fmt, step
        self.whole = False  # more than a call of an operator: an optimizer's step

    def place(self):
        place = self.layer or "outside of layers"
        return place if self.phase == "forward" else f"{place}, {self.phase}"


class Seen:
    """What was seen. print() of it is for people; ok() is for tests."""

    backend = version = None  # what was watched

    def __init__(self, folder):
        self.folder = folder
        self.steps = self.made = self.asked = self.seed = 0
        self.rows = {}
        self.unjudged = collections.Counter()
        self.first = {}
        self.views = []  # what else is seen of the same calls (views.py)
        self.elements = self.unbounded = 0
        self.misused = {}  # what was used against its library's rules, and where
        self.gradients = {}  # functions whose gradient is not their derivative
        self.coarse = {}  # what is coarser than what is made of it, and where
        self.doubtful = {}  # what is hardly what somebody wants to train, and where

    def ok(self):
        """Whether something was judged, and nothing was wrong or used wrongly."""
        return self.elements > 0 and not self.wrong() and not self.misused

    def wrong(self):
        """The rows that are beyond their bound, the worst one first."""
        return sorted((row for row in self.rows.values() if row["wrong"]),
                      key=lambda row: -row["ratio"])

    def left_out(self, operator, why):
        self.unjudged[operator, why] += 1

    def handed_on(self, line, elements, wrong, first):
        """Takes how many numbers an operator handed on, how many of them are not what they were,
        and of the first of these what it was and what it is."""
        self.asked += 1
        self.elements += elements
        row = self._row(line, "y", line.format)
        row["calls"] += 1
        if wrong:
            want, got = first
            row.update(wrong=row["wrong"] + 1, ratio=float("inf"), worst={
                "real": want, "got": got, "error": abs(want - got), "bound": 0.0})

    def _row(self, line, output, fmt):
        key = (line.operator, output, fmt, line.place())
        return self.rows.setdefault(key, {
            "operator": line.operator, "output": output, "format": fmt, "place": line.place(),
            "where": line.where, "calls": 0, "wrong": 0, "ratio": -1.0, "step": line.step,
            "worst": None, "words": None, "kept": None})

    def judged(self, line, words, said):
        """Takes what halfcheck says of one question."""
        for output in said["outputs"]:
            self.elements += output["judged"] - output["unbounded"]
            self.unbounded += output["unbounded"]
            if not output["judged"]:
                continue
            row = self._row(line, output["name"], output["format"])
            row["calls"] += 1
            row["wrong"] += output["wrong"] > 0
            ratio = output["worst"]["ratio"]
            ratio = float(ratio) if isinstance(ratio, (int, float)) else float("inf")
            if ratio > row["ratio"]:
                row.update(ratio=ratio, worst=output["worst"], where=line.where, step=line.step,
                           words=words)

    def report(self, path):
        """Writes a folder: watch.html, a page; record.json, for `halfcheck gate`; seen.json; and
        for each wrong row that has one, the worst one first, its definition and its tensors,
        wrong-1.op and wrong-1.safetensors; `halfcheck judge --lines` takes up wrong.lines, which
        has all of them."""
        os.makedirs(path, exist_ok=True)
        again = []
        for row in self.wrong():
            if row["words"]:
                row["kept"] = f"wrong-{len(again) + 1}"
                again.append([self._kept_word(word, os.path.join(path, row["kept"]))
                              for word in row["words"]])
        with open(os.path.join(path, "wrong.lines"), "w", encoding="utf-8") as file:
            file.writelines("\t".join(words) + "\n" for words in again)
        seen = os.path.join(path, "seen.json")
        _write(seen, self.said())
        _write(os.path.join(path, "record.json"), record.record(self))
        if program.has_option("report", "--watch"):
            subprocess.run([program.path(), "report", "--watch", seen, "--out", path], check=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def said(self):
        """All of it, as seen.json has it: what is no number is a word, "inf" or "nan"."""
        return _plain({
            "steps": self.steps, "made": self.made, "asked": self.asked, "elements": self.elements,
            "rows": [{key: value for key, value in row.items() if key != "words"}
                     for row in self.rows.values()],
            "first": {kind: {**vars(line), "largest": largest}
                      for kind, (line, largest) in self.first.items()},
            "misused": self.misused, "gradients": self.gradients, "coarse": self.coarse,
            "doubtful": self.doubtful,
            "unjudged": [[*key, count] for key, count in self.unjudged.items()],
            **{view.name: view.said() for view in self.views}})

    def _kept_word(self, word, base):
        """A word of the command, whose file is kept."""
        if not word.startswith(self.folder.name):
            return word
        kept = base + os.path.splitext(word)[1]
        shutil.copy(word, kept)
        return kept

    def __str__(self):
        share = 100 * self.asked / self.made if self.made else 0
        lines = [f"{self.steps} steps watched, {self.made} calls that make numbers, "
                 f"{self.asked} of them judged ({share:.0f} %), {self.elements} elements"]
        wrong = self.wrong()
        lines += ["", "wrong" if wrong else "nothing is wrong" if self.asked else
                  "nothing was judged"]
        for rows in _alike(wrong):
            worst = rows[0]["worst"]
            calls = sum(row["wrong"] for row in rows)
            others = f", and {len(rows) - 1} other place{'s' if len(rows) > 2 else ''}" \
                if len(rows) > 1 else ""
            lines += [f"  {_times(rows[0]['ratio']):>8} times its bound  {rows[0]['operator']}" +
                      ("" if rows[0]["output"] == "y" else f", {rows[0]['output']}") +
                      f", {rows[0]['format']}, {calls} call{'s' if calls > 1 else ''}",
                      f"           real {_number(worst['real'])}, got {_number(worst['got'])}, "
                      f"bound {_number(worst['bound'])}",
                      f"           {rows[0]['place']}{others}; {rows[0]['where']}"]
        if self.misused:
            lines += ["", "used wrongly"]
            lines += [f"  {words}; {where}" for words, where in self.misused.items()]
        if self.gradients:
            lines += ["", "gradients that are not the derivative of their function, which may be "
                      "meant"]
            lines += [f"  {name}, argument {place}: {_number(got)} where differences say "
                      f"{_number(want)}; {where}"
                      for name, (where, place, want, got) in self.gradients.items()]
        if self.coarse:
            lines += ["", "coarser than what is made of it, which may be meant"]
            lines += [f"  {words}; {where}" for words, where in self.coarse.items()]
        if self.doubtful:
            lines += ["", "hardly what is to be trained, though it may be meant"]
            lines += [f"  {words}; {where}" for words, where in self.doubtful.items()]
        for kind, (line, largest) in self.first.items():
            lines += ["", f"first {kind}: {line.operator}, {line.format}, step {line.step}",
                      f"  {line.place()}; {line.where}" +
                      (f"; its inputs are at most {largest:.6g}" if largest is not None else "")]
        for view in self.views:
            lines += ["", *view.text()]
        if self.unjudged:
            lines += ["", "not judged"]
            width = max(len(key[0]) for key in self.unjudged)
            lines += [f"  {count:6}  {key[0]:{width}}  {key[1]}"
                      for key, count in self.unjudged.most_common()]
        if self.unbounded:
            lines.append(f"  {self.unbounded} elements may be infinite or NaN either way")
        return "\n".join(lines)


def _times(ratio):
    """How far something is beyond its bound: 1.002 is not rounded to 1."""
    return f"{ratio:.6g}" if 1 < ratio < 1.005 else f"{ratio:.3g}"


def _alike(rows):
    """Rows of one operator in one format, the worst ones first."""
    groups = {}
    for row in rows:
        groups.setdefault((row["operator"], row["output"], row["format"]), []).append(row)
    return groups.values()


def _write(path, document):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)


def _plain(value):
    """As JSON can have it."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(inner) for inner in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _number(value):
    return f"{value:.6g}" if isinstance(value, (int, float)) else str(value)
