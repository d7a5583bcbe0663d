"""check: the cases of an op, on a Python function."""

import collections
import contextlib
import fcntl
import functools
import json
import os
import re
import subprocess
import tempfile

from . import program as _program
from .binding import Binding, Op
from .formats import DTYPES, format_named
from .names import resolved
from .pipe import Program
from .program import Error

LEVELS = ("quick", "standard", "exhaustive")
LAYOUTS = ("nchw", "nhwc")
_PIPE_SIZE = 1 << 20
_MOST_SHOWN = 8  # lines of a list in a message


class Wrong(AssertionError):
    """A function gives wrong numbers. `report` has all results, `verdict` the call that is wrong
    first, or None."""

    def __init__(self, text, report, verdict=None):
        super().__init__(text)
        self.report = report
        self.verdict = verdict


Wrong.__module__ = "halfcheck"  # where people find it


class Result:
    """What a case says: case, verdict, note, repro, and error, bound, unit and seconds."""

    def __init__(self, row):
        self.case, self.verdict, self.note = row["case"], row["verdict"], row.get("note", "")
        self.repro, self.unit = row.get("repro", ""), row.get("unit", "")
        self.error, self.bound = _real(row.get("error")), _real(row.get("bound"))
        self.seconds = row.get("seconds", 0.0)

    @property
    def ok(self):
        """Whether it is as claimed."""
        return self.verdict == "PASS"

    def __repr__(self):
        return f"<{self.verdict} {self.case}>"


class Report:
    """What a check has found: results; left_out, how many calls the function did not take, by why;
    and skipped, how many steps were left out for a function that takes no found_inf. str() of it is
    for people."""

    def __init__(self, name, op, results, left_out, skipped=0):
        self.name, self.op = name, op
        self.results, self.left_out, self.skipped = results, left_out, skipped
        self.said = ""

    @property
    def failed(self):
        """The results that are not PASS."""
        return [result for result in self.results if not result.ok]

    @property
    def ok(self):
        """Whether something was judged, and all of it passed."""
        return bool(self.results) and not self.failed

    @property
    def formats(self):
        """How many cases passed and how many did not, by their formats: {"bf16": (46, 0)}."""
        counts = collections.OrderedDict()
        for result in self.results:
            kind = _formats_of(result.case)
            passed, failed = counts.get(kind, (0, 0))
            counts[kind] = (passed + result.ok, failed + (not result.ok))
        return dict(counts)

    def only(self, case):
        """The report of this case alone."""
        return Report(self.name, self.op, [r for r in self.results if r.case == case],
                      self.left_out, self.skipped)

    def __str__(self):
        good = sum(result.ok for result in self.results)
        lines = [f"{self.name} as {self.op}: {good} of {len(self.results)} cases pass"]
        width = max(map(len, self.formats), default=0)
        for kind, (passed, failed) in self.formats.items():
            lines.append(f"  {kind:{width}}  {passed:4} pass" +
                         (f"  {failed:4} fail" if failed else ""))
        if self.skipped:
            lines.append(f"  it takes no found_inf: {self.skipped} calls that have it set were "
                         "answered for it")
        return "\n".join(lines + _left_out(self.left_out))

    __repr__ = __str__


def check(fn, op=None, formats=None, order=None, level="standard", seed=0, arrays=None,
          layout="nchw", cases=None, define=None, **more):
    """Runs the generated cases of an op on a function, and returns a Report; raises Wrong at wrong
    numbers, and what the function raises.

    fn's parameters are named as what they get: inputs (w, g, x, dy), parameters (beta2, stride),
    lr, beta1 and step. It returns the outputs in their order, or a dict of them, or None if it
    works in place. `formats` are those of the first input, by default all but gemm's fp8, which
    must be named ("e4m3", "e4m3xe5m2-fp32"); `order` also asks for the same bits as that order
    gives ("torch-fused", "torch-loop", "apex", "ours"). `level` is quick, standard or exhaustive.
    `arrays` is the library whose arrays fn wants, and by default the one that its module has
    imported. `cases` are patterns of halfcheck's cases, instead of all of the op.

    With `define`, a definition's text, file or name, the function is held to that, and there may be
    `backward`, `families`, `sizes` and the definition's options (halfcheck.definitions.check). With
    `like`, a plain function of torch without roundings of its own, it is held to what that has;
    `inputs` are those of a definition: like=plain, inputs="x[t, d], w[d]".
    """
    __tracebackhide__ = True
    if define is not None or "like" in more:
        from . import definitions
        if op is not None or order is not None or cases is not None or (
                define is not None and more.get("like") is not None):
            raise TypeError("check wants either op, define or like")
        return definitions.check(fn, define, formats, seed=seed, arrays=arrays, **more)
    if op is None or more:
        raise TypeError("check wants op or define" if op is None else
                        f"check has no {next(iter(more))!r} without define{_defined(op)}")
    job = Job(fn, op, formats, order, level, seed, arrays, layout)
    report = job.run(cases)
    if not report.results:
        raise Error(job.nothing(report))
    if report.failed:
        raise job.wrong(report)
    return report


def _defined(op):
    """What to write instead of op, where the library has its definition."""
    name = resolved(op).op
    return f": write define={name!r} in the place of op" if name in _program.library() else ""


class Job:
    """A function and how it is checked."""

    def __init__(self, fn, op, formats=None, order=None, level="standard", seed=0, arrays=None,
                 layout="nchw"):
        __tracebackhide__ = True
        if level not in LEVELS:
            raise ValueError(f"level={level!r}: there are {', '.join(LEVELS)}")
        if layout not in LAYOUTS:
            raise ValueError(f"layout={layout!r}: there are {', '.join(LAYOUTS)}")
        name = resolved(op)
        op = name.op
        given = fn if isinstance(fn, Op) else Op(fn, names=name.names, fixed=name.fixed)
        self.op, self.level, self.seed, self.order = op, level, int(seed), order
        self.arrays, self.layout = arrays, layout
        self.patterns = patterns_of(op, formats, order)
        self.given = given
        self.name = "the function" if given.raw else Binding(given.function).name
        if not given.raw:
            binding = given.binding()
            binding.check(op, _program.op_names(op), _inputs(op))
            given.names = binding.meant

    def run(self, cases=None, listener=None):
        """A Report of the cases that the patterns name; by default of all of the op."""
        cases = [cases] if isinstance(cases, str) else cases
        program = Program({self.op: self._entry(cases or self.patterns)},
                          name=_backend_name(self.name), layout=self.layout, arrays=self.arrays)
        program.stops = True
        program.listener = listener
        record = _run(program, self._arguments(cases or self.patterns))
        results = [Result(row) for row in record.get("results", [])
                   if row["backend"] == program.greeting["name"]]
        report = Report(self.name, self.op, results, program.refusals, program.skipped)
        if not results:
            report.said = _complaint(record["said"], 0)
        return report

    def _entry(self, patterns):
        # fp64, and fp8 of gemm, are sent only to those that list them.
        given = self.given
        return Op(given.function, given.formats or _formats_of_first_input(self.op, patterns),
                  given.orders or _stated_orders(self.op, self.order), given.raw, given.names,
                  given.fixed)

    def _arguments(self, patterns):
        words = ["run", *patterns, "--level", self.level, "--seed", str(self.seed)]
        return words + (["--order", self.order] if self.order else [])

    def assumed(self, params):
        """The numbers of a call that the function does not take, and was thought to have."""
        return {} if self.given.raw else {name: _real(value) for name, value in
                                          self.given.binding().assumed(params).items()}

    def absent(self):
        """The inputs without which there is no result, and that the function does not take."""
        return [] if self.given.raw else self.given.binding().absent(_inputs(self.op))

    def nothing(self, report):
        """Why nothing was judged."""
        lines = [f"{self.name} as {self.op}: no case was judged"]
        if not report.left_out:
            lines += [f"  of {', '.join(self.patterns)} at level {self.level}", report.said]
        return "\n".join(lines + _left_out(report.left_out))

    def wrong(self, report):
        """The exception that says what is wrong first."""
        from .disagreement import wrong  # which judges the call, and so is needed only here
        return wrong(self, report)


def patterns_of(op, formats=None, order=None):
    """Patterns of the op's cases, of small calls and of large ones. A format is the first input's,
    so that "bf16" also means "bf16-state-bf16". With an order there are those that compare bits,
    too."""
    large = any(case.startswith(f"size/{op}/") for case in case_names())
    folders = ["op"] + (["size"] if large else []) + (["bits"] if order else [])
    if formats is None:
        return [f"{folder}/{op}/*" for folder in folders]
    sets = list(dict.fromkeys(_formats_of(case) for case in case_names()
                              if case.startswith(f"op/{op}/")))
    chosen = []
    several = isinstance(formats, (list, tuple, set))
    for name in map(format_named, formats if several else [formats]):
        found = [kind for kind in sets if kind == name or
                 name in DTYPES and kind.startswith(name + "-")]
        if not found:
            raise ValueError(f"there are no cases of {op} in {name!r}; there are "
                             f"{', '.join(sets) or 'none at all'}")
        chosen += [kind for kind in found if kind not in chosen]
    if not chosen:
        raise ValueError(f"formats={formats!r} names none; there are {', '.join(sets)}")
    return [pattern for kind in chosen for pattern in
            [f"op/{op}/{kind}/*"] + ([f"size/{op}/{kind}/*"] if large else []) +
            ([f"bits/{op}/{kind}*"] if order else [])]


@functools.lru_cache(maxsize=None)
def _case_rows(path):
    text = subprocess.run([path, "list", "cases"], stdout=subprocess.PIPE, text=True, check=True,
                          stdin=subprocess.DEVNULL).stdout
    return [line.split("\t")[:2] for line in text.splitlines()]


def case_names(level="exhaustive"):
    """The names of all cases up to a level."""
    levels = LEVELS[:LEVELS.index(level) + 1]
    return [name for name, of in _case_rows(_program.path()) if of in levels]


def _run(program, arguments):
    """Runs halfcheck with the program as its backend, and gives the record."""
    with tempfile.TemporaryDirectory(prefix="halfcheck-") as folder, \
            contextlib.ExitStack() as files:
        record = os.path.join(folder, "record.json")
        out = files.enter_context(open(os.path.join(folder, "out"), "w+", encoding="utf-8"))
        reader, their_writer = os.pipe()
        their_reader, writer = os.pipe()
        for end in (their_writer, writer):
            with contextlib.suppress(OSError):
                fcntl.fcntl(end, getattr(fcntl, "F_SETPIPE_SZ", 1031), _PIPE_SIZE)
        backend = f"pipe-fd:{their_reader},{their_writer}"
        try:
            child = subprocess.Popen(
                [_program.path(), *arguments, "--backend", backend, "--json", record],
                pass_fds=(their_reader, their_writer), stdin=subprocess.DEVNULL, stdout=out,
                stderr=out)
        finally:
            os.close(their_reader)
            os.close(their_writer)
        try:
            with contextlib.suppress(BrokenPipeError, EOFError):
                program.run(reader, writer)
            if program.raised is not None:
                raise program.raised
            status = child.wait()
        finally:
            _end(child)
        out.seek(0)
        said = out.read()
        if not os.path.exists(record):
            raise Error(_complaint(said, status))
        with open(record, encoding="utf-8") as file:
            found = json.load(file)
        # Where every case was left out the status is 2, and the results are none.
        if status not in (0, 1) and found["results"]:
            raise Error(_complaint(said, status))
        return {**found, "said": said}


def _end(child):
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(5)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _complaint(said, status):
    lines = [line for line in said.splitlines() if line.strip()]
    if status < 0:
        return f"halfcheck died by signal {-status}"
    return "\n".join(lines[-_MOST_SHOWN:]) or f"halfcheck ended with status {status}"


# What a signature lacks where a call is left out, and what takes the call.
_CURES = (("it takes no ", "a parameter of that name"), ("it always adds c", "c=None"),
          ("is asked for", "a result in out_dtype"))


def _left_out(refusals):
    if not refusals:
        return []
    rows = sorted(refusals.items(), key=lambda row: -row[1])
    lines = [f"  left out, {count} calls: {why}" for why, count in rows[:_MOST_SHOWN]]
    if len(rows) > _MOST_SHOWN:
        lines.append(f"  and {len(rows) - _MOST_SHOWN} more reasons")
    cures = [cure for words, cure in _CURES if any(words in why for why in refusals)]
    return lines + ([f"  to get these calls: {'; '.join(cures)}"] if cures else [])


def _formats_of_first_input(op, patterns):
    """All that the op takes; of fp8, which few functions that multiply take, what is asked for."""
    slot = _program.op_named(op)["slots"][0]
    formats = list(dict.fromkeys(slot["formats"] + (slot["formats_fp64"] or [])))
    fp8 = ("e4m3", "e5m2") + (("e4m3fnuz", "e5m2fnuz") if op == "gemm" else ())
    return [name for name in formats if name not in fp8 or op == "cast" or
            any(f"/{name}" in pattern for pattern in patterns)]


def _inputs(op):
    return [slot for slot in _program.op_named(op)["slots"] if slot["direction"] == "in"]


def orders_of(op):
    """The orders that an op's parameter names; [] if it has none."""
    return next((param["choices"] for param in _program.op_named(op).get("params", [])
                 if param["name"] == "order"), [])


def _stated_orders(op, order):
    """What the greeting says: that it has the order which is asked for. Everybody has "ours"."""
    return [order] if order != "ours" and order in orders_of(op) else None


def _formats_of(case):
    parts = case.split("/")
    return parts[2] if len(parts) > 2 else case


def _backend_name(name):
    """A name that a greeting may say."""
    plain = re.sub("[^a-z0-9_.-]+", "-", name.lower()).strip("-")[:24] or "function"
    return "my-" + plain if plain in ("exact", "host") or plain.startswith("cuda") else plain


def _real(value):
    return float.fromhex(value) if isinstance(value, str) else value
