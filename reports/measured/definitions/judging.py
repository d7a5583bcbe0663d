"""What the scripts of this folder share: the library's texts, and `halfcheck judge --define`."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(TOP / "python"), str(TOP / "python" / "tests")]

import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402

import definitions_oracle  # noqa: E402
import halfcheck.safetensors  # noqa: E402

LIBRARY = TOP / "definitions"
FORMATS = {"fp32": ("F32", np.float32), "fp16": ("F16", np.float16),
           "bf16": ("BF16", ml_dtypes.bfloat16)}


def names():
    return sorted(file.stem for file in LIBRARY.glob("*.op"))


def text_of(name):
    return definitions_oracle.equations((LIBRARY / f"{name}.op").read_text(encoding="utf-8"))


def definition_of(name):
    return definitions_oracle.Definition(text_of(name))


def judged(program, text, tensors, allow=()):
    """The judgement of every element of the results: a list of {"name", "wrong", "judged",
    "unbounded", "median", "worst"}. Tensors are arrays of the formats' types, or of int32; `allow`
    is what is stated of the implementation."""
    kinds = {np.dtype(np.int32): "I32", **{np.dtype(d): k for k, d in FORMATS.values()}}
    with tempfile.TemporaryDirectory() as folder:
        source, file = os.path.join(folder, "definition.op"), os.path.join(folder, "tensors")
        with open(source, "w", encoding="utf-8") as out:
            out.write(text)
        halfcheck.safetensors.write(file, {name: (kinds[a.dtype], a.shape, a.tobytes())
                                           for name, a in tensors.items()})
        done = subprocess.run([program, "judge", "--define", source, "--tensors", file, "--all",
                               "--json", "-", *(w for a in allow for w in ("--allow", a))], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False)
    if done.returncode == 2:
        raise SystemExit(f"{done.stderr}\n{text}")
    return json.loads(done.stdout)["outputs"]


class Tally:
    """Ratios of error and bound over some judgements."""

    def __init__(self):
        self.worst, self.where, self.median = -1.0, "", 0.0
        self.wrong = self.judged = self.unbounded = 0

    def add(self, outputs, how=""):
        for output in outputs:
            self.median = max(self.median, float(output["median"]))
            self.wrong += output["wrong"]
            self.judged += output["judged"]
            self.unbounded += output["unbounded"]
            ratio = float(output["worst"]["ratio"]) if "worst" in output else -1
            if ratio > self.worst:
                self.worst, self.where = ratio, f"{output['name']}{how}"
