"""Has halfcheck judge what the watched steps ask, in a program beside the training: one for each
step, at most two at a time, and one thread each, so that the training keeps the other cores."""

import functools
import json
import math
import os
import subprocess

import torch

from .. import program as _program
from .. import safetensors
from .elements import FORMATS

AT_ONCE = 2

_KINDS = {torch.float64: "F64", torch.float32: "F32", torch.bfloat16: "BF16",
          torch.float16: "F16", torch.int64: "I64"}
for _name, _kind in (("float8_e4m3fn", "F8_E4M3"), ("float8_e5m2", "F8_E5M2")):
    if hasattr(torch, _name):
        _KINDS[getattr(torch, _name)] = _kind


class Judges:
    """The programs that run, and those questions whose files are still needed."""

    def __init__(self, folder, seen):
        self.folder, self.seen = folder, seen
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
            _write(base + ".safetensors", {**question.inputs, **question.results})
            words = ["--define", self._definition(question), "--tensors", base + ".safetensors"]
            for option, value in question.options.items():
                words += ["--set", f"{option}={value!r}"]
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
        text = _with_formats(question)
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


def _with_formats(question):
    """The text, whose results get the formats of those that there are."""
    lines = question.text.rstrip("\n").split("\n")
    names = lines[-1].removeprefix("return ").split(", ")
    lines[-1] = "return " + ", ".join(
        name + (f": {FORMATS[question.results[name].dtype]}" if name in question.results else "")
        for name in names)
    return "\n".join(lines) + "\n"


def _write(path, tensors):
    """A file of a call's tensors. Thousands are written within a step, and many of them are alike
    but for their numbers."""
    parts = [_header(tuple((name, value.dtype, value.shape) for name, value in tensors.items())),
             *map(_bytes, tensors.values())]
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        text = b"".join(parts)
        while text:  # a file may take less than all at once
            text = text[os.write(file, text):]
    finally:
        os.close(file)


@functools.lru_cache(maxsize=1024)
def _header(tensors):
    """That of a file of tensors of these names, types and shapes."""
    return safetensors.packed({
        name: (_KINDS[kind], tuple(shape), bytes(
            math.prod(shape) * safetensors.BYTES[_KINDS[kind]]))
        for name, kind, shape in tensors})[0]


def _bytes(tensor):
    tensor = tensor.contiguous()
    if tensor.dtype not in (torch.float64, torch.float32, torch.float16, torch.int64):
        tensor = tensor.view({1: torch.uint8, 2: torch.int16}[tensor.element_size()])
    return tensor.numpy().tobytes()
