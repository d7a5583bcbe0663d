"""Two runs of one training, call by call: the first operator whose inputs are equal and whose
results are not.

Each call has a hash of its inputs' bits and one of its results'. Two runs are lined up by what was
called in which layer. Where their hashes part for good is told by the first call that was given
equal bits and gave others: it, and nothing before it, is what differs between the runs. Beside it
stand the rows of operators whose errors have another size."""

import difflib
import hashlib
import json
import os

import torch

from . import wide
from .elements import FORMATS
from .view import View

# What a run keeps of a call, in this order.
FIELDS = ("step", "operator", "place", "where", "format", "inputs", "results")
# What their first argument had before is nobody's number.
_WRITES_OVER = ("copy_", "fill_", "zero_", *(name + "_" for name in wide.DRAWS))
_FACTOR = 4.0  # errors whose ratios to their bounds differ by this are of another size


class Trace(View):
    """The calls of a watch that was asked for them: watch(..., trace=True)."""

    name = "trace"

    def __init__(self, _=True):
        super().__init__()
        self.calls, self.step, self.given = [], 0, ""

    def begin(self, step, layers):
        self.step = step

    def before(self, call):
        given = call.given[1:] if call.name in _WRITES_OVER else call.given
        self.given = digest([*given, *call.keywords.values()])

    def after(self, call, results):
        got = list(wide.tensors([results])) or wide.written(call.func, call.given, call.keywords)
        formats = [FORMATS.get(t.dtype, str(t.dtype)) for t in wide.numbers(got)]
        self.calls.append([self.step, call.operator, call.place(), call.where,
                           formats[0] if formats else "", self.given, digest(got)])

    def said(self):
        return {"torch": torch.__version__, "fields": FIELDS, "calls": self.calls}

    def text(self):
        return [f"{len(self.calls)} calls are kept, to be compared with those of another run",
                *self.told_failures()]


def digest(values):
    """16 letters that say which bits tensors and numbers have."""
    found = hashlib.blake2b(digest_size=8)

    def take(value):
        if isinstance(value, torch.Tensor):
            found.update(f"{value.dtype}{tuple(value.shape)}".encode())
            host = value.detach().to("cpu").contiguous().reshape(-1)
            found.update(host.view(torch.uint8).numpy().tobytes() if host.numel() else b"")
        elif isinstance(value, torch.Generator):
            pass  # its text has an address
        elif isinstance(value, (tuple, list)):
            found.update(b"[")
            for inner in value:
                take(inner)
        else:
            found.update(repr(value).encode())
    for value in values:
        take(value)
    return found.hexdigest()


class Difference:
    """What two runs have otherwise."""

    def __init__(self, mine, other):
        ours, theirs = (_calls(run) for run in (mine, other))
        self.calls = len(ours), len(theirs)
        self.first = self.input = None
        self.paired = self.equal = self.made = 0
        same = difflib.SequenceMatcher(None, *([tuple(call[1:3]) for call in run]
                                               for run in (ours, theirs)), autojunk=False)
        for a, b, size in same.get_matching_blocks():
            for one, two in zip(ours[a:a + size], theirs[b:b + size]):
                self._pair(dict(zip(FIELDS, one)), dict(zip(FIELDS, two)))
        self.rows = _sizes(mine, other)

    def _pair(self, one, two):
        self.paired += 1
        inputs, results = (one[name] == two[name] for name in ("inputs", "results"))
        self.equal += inputs and results
        if inputs and not results:
            self.made += 1
            self.first = self.first or (one, two)
        if not inputs and not self.input and not self.first:
            self.input = one

    def same(self):
        """Whether all calls are there in both, with equal bits."""
        return self.calls == (self.equal, self.equal)

    def __str__(self):
        lines = [f"{self.calls[0]} calls here and {self.calls[1]} there; {self.paired} are of one "
                 f"operator and layer, {self.equal} of these have equal bits"]
        if self.first:
            one, two = self.first
            lines += ["", f"first difference that is made: {one['operator']}, {one['format']}"
                      + ("" if one["format"] == two["format"] else f" and {two['format']}")
                      + f", step {one['step']}",
                      f"  {one['place']}; {one['where']} here, {two['where']} there",
                      f"  its inputs have equal bits; {self.made} calls are so"]
        elif self.paired and self.equal < self.paired:
            lines += ["", "no operator makes a difference of its own"]
        if self.input:
            lines += ["", f"before it come other inputs: {self.input['operator']}, "
                      f"step {self.input['step']}",
                      f"  {self.input['place']}; {self.input['where']}",
                      "  These are other data, weights or random numbers, or an operator that only "
                      "one", "  of the runs calls."]
        for place, was, is_ in self.rows:
            if place == self.rows[0][0]:
                lines += ["", "errors of another size, in bounds"]
            lines.append(f"  {is_:8.3g} here, {was:8.3g} there  {place}")
        if self.same():
            lines += ["", "the runs are the same, bit for bit"]
        return "\n".join(lines)


def read(path):
    """What a watch has kept: a folder of `report`, or its seen.json. ValueError if it is none."""
    path = os.path.join(path, "seen.json") if os.path.isdir(path) else path
    with open(path, encoding="utf-8") as file:
        try:
            said = json.load(file)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} is no JSON: {error}") from None
    if not isinstance(said, dict) or not isinstance(said.get("rows"), list):
        raise ValueError(f"{path} is not what a watch has kept")
    trace = said.get("trace")
    if not isinstance(trace, dict):
        raise ValueError(f"{path} has no calls: watch it with trace=True, or --trace")
    calls = trace.get("calls")
    if tuple(trace.get("fields", ())) != FIELDS or not isinstance(calls, list) or any(
            not isinstance(call, list) or len(call) != len(FIELDS) or
            not all(isinstance(part, str) for part in call[1:]) for call in calls):
        raise ValueError(f"{path} has calls of another version")
    return said


def _calls(run):
    return run["trace"]["calls"]


def _sizes(mine, other):
    """Rows of operators whose worst errors differ by a factor, where one is above a tenth of its
    bound."""
    def worst(run):
        found = {}
        for row in run["rows"]:
            key = f"{row['operator']}, {row['output']}, {row['format']}, {row['place']}"
            found[key] = float(row["ratio"])
        return found
    ours, theirs = worst(mine), worst(other)
    rows = [(key, theirs[key], ours[key]) for key in ours if key in theirs and
            max(ours[key], theirs[key]) > 0.1 and
            max(ours[key], theirs[key]) > _FACTOR * min(ours[key], theirs[key])]
    return sorted(rows, key=lambda row: -max(row[1:]))[:12]
