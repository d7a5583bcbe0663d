"""Python functions as a backend of halfcheck: `--backend 'pipe:python3 mine.py'`.

    import halfcheck.pipe
    halfcheck.pipe.serve(name="mine", ops={"adamw": my_adamw})

The protocol is that of docs/pipe.md: for each call a line of JSON and the bytes of its inputs, and
for the answer a line and the bytes of the outputs; large calls go through shared memory.
"""

import contextlib
import json
import mmap
import os
import sys
import traceback

import numpy as np

from . import arrays as _arrays
from .arrays import Unsupported
from .binding import Call, Op, known_names, outputs, unchanged
from .definitions import Defined
from .formats import dtype_of

__all__ = ["Op", "Program", "Unsupported", "serve"]

_LINE = 1 << 16  # the longest line that either side may send


def serve(ops=None, name="python", title=None, layout="nchw", arrays=None, facts=None,
          definitions=None, **more):
    """Answers the calls of the halfcheck that started this program, until it has no more.

    ops: functions, or Op(function, formats=[...], orders=[...]), by op. A function's parameters are
    named as what they get (docs/python.md). layout: of images, "nchw" or "nhwc". arrays: the
    library that the functions work with; by default torch, jax or cupy if their module has imported
    it, else numpy. definitions: functions by definition, its name in the library, file or text
    (docs/definitions.md); each gets the inputs in the text's order, or by name. facts go into the
    record. more: what else a greeting may say (docs/pipe.md), such as accumulator, borders,
    nondeterministic, canonical_nan, parallel.
    """
    program = Program(ops, name=name, title=title, layout=layout, arrays=arrays, facts=facts,
                      definitions=definitions, **more)
    if sys.stdin is not None and sys.stdin.isatty():
        cases = "op" if ops else "def"
        print(f"{name} answers halfcheck: halfcheck run '{cases}/*' --backend 'pipe:python3 "
              f"{sys.argv[0]}'", file=sys.stderr)
        sys.exit(2)
    reader, writer = os.dup(0), os.dup(1)
    # What a function prints would otherwise stand among the answers.
    sys.stdout.flush()
    os.dup2(2, 1)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    try:
        program.run(reader, writer)
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(130)
    except (AttributeError, EOFError, KeyError, TypeError, ValueError) as error:
        print(f"{name}: what came was not halfcheck's: {error}", file=sys.stderr)
        sys.exit(2)


class Program:
    """A greeting, and the functions that answer calls."""

    def __init__(self, ops, name="python", title=None, layout="nchw", arrays=None, facts=None,
                 shared=True, definitions=None, **more):
        ops = ops or {}
        defined = [Defined(source, function) for source, function in (definitions or {}).items()]
        self._defined = {entry.digest: entry for entry in defined}
        ops = {op: f if isinstance(f, Op) else Op(f) for op, f in ops.items()}
        self._ops = {op: (entry, None if entry.raw else entry.binding())
                     for op, entry in ops.items()}
        kind = arrays or _arrays.kind_of(entry.function for entry in [*ops.values(), *defined])
        self._make, self._dtypes = _arrays.maker(kind)
        said = {"pipe": 1, "name": name, "title": title, "layout": layout, "shared": shared,
                "ops": {op: entry.greeting() for op, entry in ops.items()}, "facts": facts,
                "definitions": list(self._defined) or None, **more}
        self.greeting = {key: value for key, value in said.items() if value is not None}
        self.listener = None  # called as listener(line, hosts, answer) after each call
        self.refusals = {}  # how often a call was refused, by why
        self.skipped = 0  # steps that were left out for a function which knows no found_inf
        self.raised = None  # the first exception of a function
        self.stops = False  # at the first exception of a function

    def run(self, reader, writer):
        """Talks with halfcheck through two descriptors, until it closes the one that is read, or a
        function raises and `stops` is set. Closes both."""
        with os.fdopen(reader, "rb", 1 << 18) as source, os.fdopen(writer, "wb", 0) as sink, \
                contextlib.ExitStack() as stack:
            opening = _line(source)
            if opening is None:
                return
            shared = _Shared(opening)
            stack.callback(shared.close)
            if shared.descriptor is None:
                self.greeting.pop("shared", None)
            _write(sink, json.dumps(self.greeting).encode() + b"\n")
            while (line := _line(source)) is not None:
                _write(sink, *self._answer(line, source, shared))
                if self.raised is not None and self.stops:
                    return

    def _answer(self, line, source, shared):
        memory = shared.memory(line["shared"]) if "shared" in line else None
        hosts = {}
        for slot, tensor in line["in"].items():
            bytes_ = memory[tensor["at"]:][:tensor["bytes"]] if memory is not None else \
                _read(source, tensor["bytes"])
            hosts[slot] = bytes_.view(dtype_of(tensor["format"])).reshape(tensor["shape"])
        try:
            results = self._call(line, hosts)
        except Unsupported as why:
            self.refusals[str(why)] = self.refusals.get(str(why), 0) + 1
            return [b"no such call: " + _one_line(why)]
        except Exception as error:  # whatever the function raises; the conversation goes on
            if self.raised is None:
                self.raised = error
                if hasattr(error, "add_note"):
                    error.add_note(_about(error, line))
            if not self.stops:
                traceback.print_exc(file=sys.stderr)
            return [b"error " + _one_line(f"{type(error).__name__}: {error}")]
        if memory is None:
            return [b"ok\n", *map(_bytes, results.values())]
        for slot, result in results.items():
            tensor = line["out"][slot]
            memory[tensor["at"]:][:tensor["bytes"]] = _bytes(result)
        return [b"ok\n"]

    def _call(self, line, hosts):
        if "define" in line:
            defined = self._defined[line["digest"]]
            call = Call(line, hosts, self._make, self._dtypes)
            return outputs(defined(call.inputs), call, defined.name)
        op, binding = self._ops[line["op"]]
        kept = {slot: host.copy() for slot, host in hosts.items()} if self.listener else None
        call = Call(line, hosts, self._make, self._dtypes)
        if op.raw:
            name = getattr(op.function, "__name__", "the function")
            results = outputs(op.function(call), call, name)
        else:
            why = binding.refusal(call)
            if why:
                raise Unsupported(why)
            if binding.skips(call):
                self.skipped += 1
                return unchanged(call)
            leading, named = binding.arguments(call, lambda: self._known(line))
            results = outputs(_ran(op.function, leading, named, call), call, binding.name)
        if self.listener:
            self.listener(line, kept, results)
        return results

    @staticmethod
    def _known(line):
        from .program import op_names  # asks the binary, which knows the slots that are absent here
        try:
            return op_names(line["op"])
        except OSError:
            return known_names(line["in"], line.get("params", {}))


def _ran(function, leading, named, call):
    """What the function gives. Many do not care for tensors without elements, and raise."""
    try:
        return function(*leading, **named)
    except Unsupported:
        raise
    except Exception as error:
        empty = next((slot for slot, host in call.hosts.items() if host.size == 0), None)
        if empty is None:
            raise
        raise Unsupported(f"it raises {type(error).__name__} where {empty} is empty") from error


def _about(error, line):
    """The call that made a function raise."""
    said = [f"{slot} {tensor['format']} {tensor['shape']}" for slot, tensor in line["in"].items()]
    text = f"halfcheck asked for {line['op']} with {', '.join(said)}"
    if isinstance(error, AttributeError) and "numpy.ndarray" in str(error):
        text += "\nThese are numpy's arrays: arrays='torch' gives torch's, arrays='jax' jax's"
    elif isinstance(error, AttributeError) and "'Tensor' object" in str(error):
        text += "\nThese are torch's arrays: arrays='numpy' gives numpy's"
    return text


class _Shared:
    """The memory that both sides map."""

    def __init__(self, opening):
        self.descriptor = opening.get("shared")
        self._mapped = None
        self._own = None
        if self.descriptor is None and "shared_path" in opening:
            try:
                self._own = self.descriptor = os.open(opening["shared_path"], os.O_RDWR)
            except OSError:
                pass  # it then sends everything through the pipe

    def memory(self, size):
        """Its bytes, of which there are `size` now."""
        if self._mapped is None or len(self._mapped) < size:
            # Arrays that are still about keep the older mapping.
            self._mapped = np.frombuffer(mmap.mmap(self.descriptor, size), np.uint8)
        return self._mapped

    def close(self):
        """Gives back what it has opened."""
        if self._own is not None:
            os.close(self._own)


def _line(source):
    """The next line, or None at the end."""
    text = source.readline(_LINE)
    if not text:
        return None
    if not text.endswith(b"\n"):
        raise EOFError("halfcheck ended in the middle of a line")
    return json.loads(text)


def _read(source, count):
    bytes_ = np.empty(count, np.uint8)
    view = memoryview(bytes_)
    while len(view):
        got = source.readinto(view)
        if not got:
            raise EOFError("halfcheck ended in the middle of a tensor")
        view = view[got:]
    return bytes_


def _bytes(array):
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _write(sink, *parts):
    """Small answers in one piece, large ones without a copy."""
    if sum(len(part) for part in parts) < _LINE:
        parts = (b"".join(bytes(part) for part in parts),)
    for part in parts:
        view = memoryview(part)
        while len(view):
            view = view[sink.write(view):]


def _one_line(text):
    return " ".join(str(text).split())[:1000].encode("utf-8", "replace") + b"\n"
