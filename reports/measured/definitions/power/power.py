#!/usr/bin/env python3
"""Plants faults in right kernels, and says which are caught by halfcheck's inputs and bounds.

  power.py HALFCHECK [KERNEL...]     each fault of faults.txt in its kernel of kernels.py
  power.py HALFCHECK --later [KERNEL...]        those of later.txt; others.py has more kernels
  power.py HALFCHECK --hidden [KERNEL...]       those of hidden.txt: NaN and infinities that are lost
  power.py HALFCHECK --right STEP [KERNEL...]   the kernels as they are: all of them must pass, each
                                     on one call of STEP (1: on all)
  power.py HALFCHECK --family FAMILY ...        the same with inputs of one family alone

A fault is tried on the inputs that halfcheck.check draws, call by call, until one is called wrong.
Below it stand the inputs, the worst element, its error / bound, and the equation of the text that
parts first, of those that the kernel computes under their names."""

import inspect
import os
import pathlib
import re
import sys
import tempfile
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[3] / "python"), str(HERE)]

import numpy as np  # noqa: E402

import others as kernels  # noqa: E402
from halfcheck import definitions  # noqa: E402

TEXTS = HERE.parents[3] / "definitions"
FORMATS = ("bf16", "fp32", "fp16")


def sized(words):
    return [dict((axis, int(size)) for axis, size in re.findall(r"(\w+)=(\d+)", row))
            for row in words.split(";")]


# Kernels whose axes depend on one another, or that are slow on the lengths that check takes.
SIZES = {
    "rotary_halves": sized("h=2 t=5 d=8; h=1 t=1 d=2; h=3 t=17 d=64"),
    "rotary_pairs": sized("h=2 t=5 d=8 p=4; h=1 t=1 d=2 p=1; h=3 t=17 d=64 p=32"),
    "linear_int4": sized("n=5 i=16 o=3 p=8 g=4; n=1 i=4 o=1 p=2 g=1; n=3 i=64 o=33 p=32 g=16"),
    "linear_fp8_blocks": sized("n=5 i=16 o=8 p=4 b=2; n=1 i=4 o=1 p=1 b=1; n=3 i=64 o=33 p=16 b=9"),
    "attention_grouped": sized("h=4 t=5 d=8 g=2 u=9 e=8; h=1 t=1 d=1 g=1 u=1 e=1; "
                               "h=6 t=17 d=4 g=3 u=33 e=5"),
    "group_norm": sized("n=5 c=6 l=8; n=1 c=2 l=1; n=3 c=32 l=4; n=2 c=4 l=127"),
    "batch_norm": sized("n=5 c=17; n=2 c=1; n=33 c=3; n=127 c=2"),
    "avg_pool2d": sized("n=2 c=3 h=7 w=8; n=1 c=1 h=2 w=2; n=3 c=2 h=16 w=5"),
    "attention": sized("h=2 t=17 d=8 u=32 e=5; h=1 t=1 d=1 u=1 e=1; h=2 t=33 d=4 u=64 e=3; "
                       "h=1 t=40 d=32 u=40 e=8"),
    "ssm_scan": sized("t=5 c=7 s=8; t=1 c=1 s=1; t=33 c=3 s=4"),
    "conv1d_causal": sized("n=2 c=3 t=17 k=4; n=1 c=1 t=1 k=1; n=2 c=5 t=33 k=3"),
    "newton_schulz": sized("r=5 c=17; r=1 c=1; r=16 c=33"),
    "info_nce": sized("n=5 d=17; n=1 d=1; n=33 d=8"),
}
for name in ("backward", "window", "softcap", "sinks", "alibi"):
    SIZES[f"attention_{name}"] = SIZES["attention"]


def faults(table="faults.txt"):
    """(kernel, what is wrong, [(old, new)], why it is missed or None) for each row."""
    found = []
    for line in (HERE / table).read_text(encoding="utf-8").splitlines():
        if re.match(r"\w+: ", line):
            kernel, what = line.split(": ", 1)
            found.append([kernel, what, [], None])
        elif line.startswith("  missed: "):
            found[-1][3] = line[10:]
        elif line.startswith("        "):
            found[-1][2][-1] += " " + line.strip()
        elif line.startswith("  "):
            found[-1][2].append(line[2:])
    for row in found:
        row[2] = [edit.split(" -> ") for edit in "".join(row[2]).split(" && ")]
    return found


def planted(kernel, edits):
    """The kernel with texts replaced; each must stand there once."""
    source = inspect.getsource(getattr(kernels, kernel))
    for old, new in edits:
        if source.count(old) != 1:
            raise SystemExit(f"{kernel}: {old!r} stands there {source.count(old)} times")
        source = source.replace(old, new)
    space = dict(vars(kernels))
    exec(compile(source, f"{kernel}, planted", "exec"), space)  # pylint: disable=exec-used
    return space[kernel]


class Subject:
    """A definition, and inputs for it that are drawn once."""

    def __init__(self, kernel, folder):
        self.name, self.backward = kernel.split("__")[0], kernel.endswith("__backward")
        self.definition = definitions.Definition(self.name, folder)
        self.text = (TEXTS / f"{self.name}.op").read_text(encoding="utf-8")
        self.sizes = SIZES.get(self.name) or definitions._SIZES
        self.drawn = {}

    def inputs(self, form, family, number, seed=0):
        key = form, family, number, seed
        if key not in self.drawn:
            self.drawn[key] = self.definition.draw(form, family, self.sizes[number], seed)
        return self.drawn[key]

    def calls(self):
        """Formats, families and sizes, those first that show most."""
        return [(form, family, number, seed) for family in definitions.FAMILIES for form in FORMATS
                for number in range(len(self.sizes)) for seed in definitions._seeds(family)]

    def asked(self, function):
        """How the function is called. Its options are its own, not the text's, as a kernel's
        constants are: a fault may be in one of them."""
        call = definitions._Call(function, self.definition, {},
                                 "torch" if self.backward else "numpy")
        call.keywords = {}
        return call

    def judged(self, function, call):
        """The verdict of one call."""
        inputs, definition, asked = self.inputs(*call), self.definition, self.asked(function)
        if self.backward:
            definition, inputs, outputs = asked.backward(inputs, 0)
        else:
            outputs = asked(inputs)
        return definitions._judged(definition, inputs, outputs, {}, None)

    def parts_at(self, function, call):
        """The first equation of the text of which the kernel has a wrong number."""
        inputs, form = self.inputs(*call), call[0]
        known = locals_of(function, {name: array.copy() for name, array in inputs.items()})
        extents = {axis: size for row in self.definition.inputs
                   for axis, size in zip(row["axes"], inputs[row["name"]].shape)}
        results, outputs = [], {}
        for name, axes, right in re.findall(r"^(\w+) *(?:\[([^\]]*)\])? *= *(.*)", self.text, re.M):
            shape = tuple(extents.get(axis.strip(), 0) for axis in axes.split(",") if axis.strip())
            value = known.get(name)
            if right.startswith("shift") or name in inputs or not isinstance(
                    value, np.ndarray | np.floating) or np.size(value) != np.prod(shape, dtype=int):
                continue
            value = np.asarray(value, np.float32).reshape(shape)
            outputs[name] = np.where(value == -np.inf, 0, value) if "where" in right else value
            results.append(name)
        for name in results:
            others = [row["name"] for row in self.definition.results if row["name"] != name]
            text = re.sub(r"^return .*", f"return {', '.join([f'{name}: fp32', *others])}", self.text,
                          flags=re.M)
            definition = definitions.Definition(text, self.definition.folder)
            verdict = definitions._judged(definition, inputs, {name: outputs[name]}, {}, None)
            if verdict.verdict == "FAIL" and not (form != "fp32" and name in (
                    row["name"] for row in self.definition.results)):
                return name
        return None


def locals_of(function, inputs):
    """The names that a function has when it returns."""
    found = {}

    def look(frame, event, _):
        if event == "return" and frame.f_code is function.__code__:
            found.update(frame.f_locals)

    sys.setprofile(look)
    try:
        function(**inputs)
    finally:
        sys.setprofile(None)
    return found


def said(subject, function, call, verdict):
    """Where a fault shows, in words."""
    form, family, *_ = call
    row = max((row for row in verdict.outputs.values() if row.get("wrong")),
              key=lambda row: float(row["worst"]["ratio"]))
    axes = subject.definition.sizes(subject.inputs(*call))
    sizes = " ".join(f"{axis}={size}" for axis, size in axes.items())
    element = re.search(rf"^{row['name']}, .*\n +wrong +(.*)", verdict.text, re.M)[1]
    equation = row["name"] if subject.backward else subject.parts_at(function, call)
    return (f"  {form}, {family}, {sizes}: {element}, "
            f"{float(row['worst']['ratio']):.3g} of its bound, from {equation or row['name']}")


def tried(subject, function, step=1):
    """Where a function is called wrong, or None."""
    for call in subject.calls()[::step]:
        verdict = subject.judged(function, call)
        if verdict.verdict == "FAIL":
            return said(subject, function, call, verdict)
    return None


def right(step, chosen):
    """All right kernels; the status is 1 if one is called wrong."""
    status = 0
    for kernel in chosen or kernel_names():
        with tempfile.TemporaryDirectory(prefix="halfcheck-") as folder:
            where = tried(Subject(kernel, folder), getattr(kernels, kernel), step)
        print(f"{kernel}: {'passes' if where is None else 'is called wrong'}", flush=True)
        if where:
            print(where, flush=True)
            status = 1
    return status


def kernel_names():
    return list(dict.fromkeys(kernel for table in ("faults.txt", "later.txt")
                              for kernel, *_ in faults(table)))


def main():
    os.environ["HALFCHECK_PROGRAM"] = os.path.abspath(sys.argv[1])
    np.seterr(all="ignore")
    warnings.simplefilter("ignore")
    words = sys.argv[2:]
    if words[:1] == ["--family"]:
        definitions.FAMILIES = (words[1],)
        words = words[2:]
    if words[:1] == ["--right"]:
        return right(int(words[1]), words[2:])
    table = "faults.txt"
    if words[:1] in (["--later"], ["--hidden"]):
        table = words[0][2:] + ".txt"
        words = words[1:]
    rows = [row for row in faults(table) if not words or row[0] in words]
    caught = surprises = 0
    with tempfile.TemporaryDirectory(prefix="halfcheck-") as folder:
        subject = None
        for kernel, what, edits, reason in rows:
            if subject is None or subject.kernel != kernel:
                subject = Subject(kernel, folder)
                subject.kernel = kernel
            where = tried(subject, planted(kernel, edits))
            caught += where is not None
            surprises += (where is None) != (reason is not None)
            print(f"{kernel}: {what}\n{where or '  MISSED: ' + (reason or 'nobody knows why')}",
                  flush=True)
    print(f"{caught} of {len(rows)} faults caught")
    return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(main())
