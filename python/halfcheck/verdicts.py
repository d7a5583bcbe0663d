"""judge: numbers of one's own, held to the bound of an op."""

import contextlib
import json
import os
import re
import subprocess
import tempfile

import numpy as np

from . import arrays as _arrays
from . import program as _program
from . import safetensors
from .formats import name_of
from .names import resolved
from .program import Error

_MOST_DIMENSIONS = 4
TYPES = {"fp64": "F64", "fp32": "F32", "fp16": "F16", "bf16": "BF16", "e4m3": "F8_E4M3",
          "e5m2": "F8_E5M2", "e4m3fnuz": "F8_E4M3FNUZ", "e5m2fnuz": "F8_E5M2FNUZ",
          "e8m0": "F8_E8M0", "i32": "I32", "u8": "U8", "int64": "I64"}


class Verdict:
    """What halfcheck says of an op's outputs.

    ok, and of the worst output: slot, worst (index, want, got, error, bound, ulps, inputs), ulps,
    error, bound, implementation and format (whose error it is, each as a part of the bound),
    histogram (edges, counts). outputs has all of it by slot. text is for people; kept is the file
    with the smallest sub-problem that is still wrong, if one was asked for.
    """

    def __init__(self, said, text):
        self.op, self.verdict = said["op"], said["verdict"]
        self.ok = self.verdict == "PASS"
        self.outputs = {output["slot"]: output for output in said["outputs"]}
        self.kept = said.get("kept")
        self.repro = said.get("repro") if self.kept else None
        # Without a file that is kept there is nothing to repeat it with: the inputs are gone.
        self.text = text if self.kept else re.sub(r"\n *again  (?:.*\\\n)*.*", "", text)
        worst = max(said["outputs"], key=_ratio, default={})
        self.slot = worst.get("slot")
        self.worst = worst.get("worst") or {}
        self.wrong = sum(output.get("wrong") or 0 for output in said["outputs"])
        self.ulps, self.error, self.bound = (_real(self.worst.get(key))
                                             for key in ("ulps", "error", "bound"))
        self.implementation = _real(worst.get("implementation"))
        self.format = _real(worst.get("format"))
        self.histogram = worst.get("histogram")
        if self.histogram:
            self.histogram["edges"] = [_real(edge) for edge in self.histogram["edges"]]

    def __bool__(self):
        return self.ok

    def __str__(self):
        return self.text

    __repr__ = __str__

    @property
    def short(self):
        """The text without histograms, and of wrong outputs without those that are right."""
        text = re.sub(r"\n *error/bound +elements\n(?: +\S.*\n)*", "", self.text)
        parts = [part for part in text.split("\n\n") if self.ok or ": 0 of " not in
                 part.strip().split("\n")[0]]
        return "\n\n".join(parts)


def judge(op=None, inputs=(), output=None, outputs=None, layout="nchw", accumulator=None, keep=None,
          define=None, like=None, **params):
    """Says whether outputs are within the bound that the op's contract allows for these inputs.

    inputs and outputs: arrays in the order of the op's slots, or a dict by slot; optional ones may
    be missing, and only outputs that are given are judged. layout: of images, "nchw" or "nhwc".
    accumulator: "fp32", "half", or "PRECISION,BLOCK,EXTRA_BITS". keep: a file for the smallest
    sub-problem that is still wrong. params: the op's (stride=1, eps=1e-5); and numbers that are
    inputs of one element or elements of one (lr, beta1 and step of an optimizer).

    With `define` instead of op, a definition's text, file or name, it says whether they are what
    that says; params are its options. With `like`, a plain function of torch or jax without
    roundings of its own, it says whether they are what that computes (halfcheck.definitions.judge).
    """
    if (output is None) == (outputs is None):
        raise TypeError("judge wants either output or outputs")
    if sum(given is not None for given in (op, define, like)) != 1:
        raise TypeError("judge wants either op, define or like")
    if op is None:
        from . import definitions
        return definitions.judge(define, inputs, outputs if outputs is not None else output,
                                 like=like, **params)
    name = resolved(op)
    op = name.op
    params = {**name.fixed, **params}
    given = outputs if outputs is not None else [output]
    tensors = _by_slot(op, "in", inputs)
    for slot in _program.op_named(op)["slots"]:
        of = [slot["name"], *(slot["elements"] or [])]
        if slot["direction"] == "in" and not slot["optional"] and slot["name"] not in tensors and \
                not any(name in params for name in of):
            raise TypeError(f"{op} needs its input {slot['name']}, {slot['shape']}")
    tensors.update(_by_slot(op, "out", given))
    _check_shapes(op, tensors)
    return judge_tensors(op, tensors, params, layout, accumulator, keep)


def _check_shapes(op, tensors):
    """An array has a shape, which the program cannot know of a list of numbers."""
    first = _program.slots(op)[0]
    for slot in _program.op_named(op)["slots"]:
        name = slot["name"]
        if slot["shape"] == f"as {first}" and name in tensors and first in tensors and \
                tensors[name].shape != tensors[first].shape:
            raise ValueError(f"{op}: {name} has shape {list(tensors[name].shape)}, not "
                             f"{list(tensors[first].shape)} as {first}")


def judge_tensors(op, tensors, params, layout="nchw", accumulator=None, keep=None):
    """As judge, of numpy arrays by slot."""
    with tempfile.TemporaryDirectory(prefix="halfcheck-") as folder:
        file, said = (os.path.join(folder, name) for name in ("tensors.safetensors", "said.json"))
        safetensors.write(file, {slot: tensor_of(array) for slot, array in tensors.items()})
        words = [_program.path(), "judge", op, "--tensors", file, "--layout", layout, "--json",
                 said]
        for name, value in params.items():
            words += ["--set", f"{name}={_text(value)}"]
        if accumulator:
            words += ["--accumulator", accumulator]
        if keep:
            words += ["--keep", os.fspath(keep)]
        ended = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, errors="replace", check=False)
        if ended.returncode not in (0, 1):
            raise _refusal(op, ended.stderr)
        with open(said, encoding="utf-8") as answer:
            return Verdict(json.load(answer), ended.stdout.rstrip("\n"))


def _by_slot(op, direction, given):
    what = "input" if direction == "in" else "output"
    return by_name(op, what, _program.slots(op, direction), given)


def by_name(op, what, names, given):
    """Arrays by the names that the op has for them, from a dict, or in their order."""
    if not isinstance(given, dict):
        given = list(given) if isinstance(given, (list, tuple)) else [given]
        if len(given) > len(names):
            raise TypeError(f"{op} has {len(names)} {what}s ({', '.join(names)}), not {len(given)}")
        given = dict(zip(names, given))
    strange = [name for name in given if name not in names]
    if strange:
        raise TypeError(f"{op} has no {what} {strange[0]!r}; it has {', '.join(names)}")
    return {name: array_of(op, name, value) for name, value in given.items() if value is not None}


def array_of(op, slot, value):
    """An array as halfcheck has it: labels of 64 bits become i32, and a number becomes [1]."""
    array = _arrays.to_numpy(value, np.float32 if isinstance(value, float) else None)
    if array.dtype in (np.int64, np.bool_):
        least, most = np.iinfo(np.int32).min, np.iinfo(np.int32).max
        if array.size and not least <= int(array.min()) <= int(array.max()) <= most:
            raise TypeError(f"{op}: {slot} has integers beyond 32 bits")
        array = array.astype(np.int32)
    if name_of(array.dtype) not in TYPES:
        raise TypeError(f"{op}: {slot} is {array.dtype}; halfcheck has {', '.join(TYPES)}")
    if array.ndim > _MOST_DIMENSIONS:
        raise TypeError(f"{op}: {slot} has {array.ndim} dimensions; tensors have "
                        f"{_MOST_DIMENSIONS} at most")
    return array.reshape(1) if array.ndim == 0 else array


def tensor_of(array):
    """What a safetensors file has of an array."""
    array = np.ascontiguousarray(array)
    return TYPES[name_of(array.dtype)], array.shape, array.tobytes()


def _text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return value.hex()
    return ",".join(map(_text, value)) if isinstance(value, (list, tuple)) else str(value)


def _refusal(op, complaint):
    """halfcheck's line as an exception: what it refuses is the caller's error."""
    lines = complaint.strip().splitlines() or ["halfcheck judge failed without a word"]
    line = lines[0]
    for head in ("halfcheck: ", "halfcheck judge: "):
        line = line[len(head):] if line.startswith(head) else line
    return ValueError(line) if op in line else Error(line)


def _real(value):
    return float.fromhex(value) if isinstance(value, str) else value


def _ratio(output):
    worst = output.get("worst") or {}
    error, bound = _real(worst.get("error")), _real(worst.get("bound"))
    wrong = output.get("wrong") or 0
    with contextlib.suppress(TypeError, ZeroDivisionError):
        ratio = error / bound
        return wrong > 0, ratio if ratio == ratio else float("inf")
    return wrong > 0, float("inf") if wrong else 0.0
