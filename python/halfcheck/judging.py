"""Has halfcheck judge what the watched steps ask, in a program beside the training: one for each
step, at most two at a time, and one thread each, so that the training keeps the other cores."""

import json
import os
import subprocess

from . import program as _program

AT_ONCE = 2


class Judges:
    """The programs that run, and those questions whose files are still needed. write(path, tensors)
    makes a file of a question's tensors; formats: the name of each type's format."""

    def __init__(self, folder, seen, write, formats):
        self.folder, self.seen, self.write, self.formats = folder, seen, write, formats
        self.running, self.asked, self.steps = [], 0, 0
        self.texts = {}  # of definitions, and their files

    def ask(self, questions):
        """Starts a program on pairs of a line of what was seen, and a question; waits where there
        are too many already."""
        while len(self.running) >= AT_ONCE:
            self._take()
        lines, rows = [], []
        for line, question in questions:
            base = os.path.join(self.folder, str(self.asked))
            self.asked += 1
            self.write(base + ".safetensors", {**question.inputs, **question.results})
            words = ["--define", self._definition(question), "--tensors", base + ".safetensors"]
            for option, value in question.options.items():
                words += ["--set", f"{option}={value!r}"]
            for word in getattr(question, "allowed", ()):
                words += ["--allow", word]
            lines.append("\t".join([*words, "--json", "-"]))
            rows.append((line, words))
        path = os.path.join(self.folder, f"lines-{self.steps}")
        self.steps += 1
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        with open(path + ".out", "w", encoding="utf-8") as out:
            self.running.append((subprocess.Popen(
                [_program.path(), "judge", "--lines", path], stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, env={**os.environ, "OMP_NUM_THREADS": "1"}), path, rows))

    def finish(self):
        while self.running:
            self._take()

    def _definition(self, question):
        """The file of its text, or its name in the library."""
        if "\n" not in question.text:
            return question.text
        text = _with_formats(question, self.formats)
        if text not in self.texts:
            self.texts[text] = os.path.join(self.folder, f"{len(self.texts)}.op")
            with open(self.texts[text], "w", encoding="utf-8") as file:
                file.write(text)
        return self.texts[text]

    def _take(self):
        """Waits for the oldest program, and takes what it says."""
        judge, path, rows = self.running.pop(0)
        judge.wait()
        with open(path + ".out", encoding="utf-8") as file:
            answers = list(_answers(file.read()))
        refused = {}
        for number, (line, words) in enumerate(rows):
            said = answers[number] if number < len(answers) else None
            if said is None:
                refused[id(line)] = line
            else:
                self.seen.judged(line, words, said)
        for line in refused.values():
            self.seen.left_out(line.operator, "halfcheck refused what was gathered")
            self.seen.asked -= not line.whole
        # What is not the worst of a wrong row is not needed again.
        needed = {row["words"][3] for row in self.seen.rows.values()
                  if row["words"] and row["wrong"]}
        for _, words in rows:
            if words[3] not in needed:
                os.unlink(words[3])
        os.unlink(path)
        os.unlink(path + ".out")


def _answers(text):
    """One for each line that was asked: what halfcheck says, or None where it refused in one
    line."""
    decoder, place = json.JSONDecoder(), 0
    while place < len(text):
        if text[place] == "{":
            said, place = decoder.raw_decode(text, place)
            yield said
            continue
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        if text.startswith("halfcheck: ", place):
            yield None
        place = end + 1


def _with_formats(question, formats):
    """The text, whose results get the formats of those that there are."""
    lines = question.text.rstrip("\n").split("\n")
    names = lines[-1].removeprefix("return ").split(", ")
    lines[-1] = "return " + ", ".join(
        name + (f": {formats[question.results[name].dtype]}" if name in question.results else "")
        for name in names)
    return "\n".join(lines) + "\n"
