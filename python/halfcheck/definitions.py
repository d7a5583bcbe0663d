"""check and judge by a definition: an op that is a text of a few lines (docs/definitions.md)."""

import contextlib
import functools
import hashlib
import inspect
import itertools
import json
import os
import subprocess
import tempfile

import numpy as np

from . import arrays as _arrays
from . import program as _program
from . import safetensors
from .formats import dtype_of, format_named, name_of
from .program import Error
from .verdicts import TYPES, array_of, by_name, tensor_of

FAMILIES = ("normal", "whole", "lognormal", "boundaries", "subnormals", "specials", "cancelling",
            "stagnating", "constant", "one-hot", "offset", "mixed", "far", "scaled",
            "settled", "asked")

# How long the axes of a definition are: rows of the program's, which finds others where these do
# not suit the text.
_SIZES = ("usual", "ones", "odd", "long", "tiles")

_FORMATS = ("fp32", "bf16", "fp16")
_ASKS = 4
_NAMES = {kind: name for name, kind in TYPES.items()}


class Definition:
    """A definition by its text, its file or its name in the library."""

    def __init__(self, source, folder):
        self.folder = folder
        self.source = source
        if "\n" in source:
            # The gradient's text lies in the same folder.
            name = hashlib.sha256(source.encode()).hexdigest()[:16]
            self.source = os.path.join(folder, f"{name}.op")
            with open(self.source, "w", encoding="utf-8") as file:
                file.write(source)
        said = json.loads(_said("define", self.source, "--json"))
        self.name, self.digest = said["name"], said["digest"]
        self.inputs, self.options, self.results = said["inputs"], said["options"], said["results"]
        self.rows, self.borders = said["rows"], said["borders"]

    @functools.cached_property
    def gradient(self):
        """The definition of the gradient."""
        return Definition(_said("define", self.source, "--grad"), self.folder)

    def axes(self):
        """The axes of the inputs, in their order."""
        return list(dict.fromkeys(axis for row in self.inputs for axis in row["axes"]))

    def sizes(self, inputs):
        """How long these are in drawn inputs."""
        return {axis: size for row in self.inputs
                for axis, size in zip(row["axes"], inputs[row["name"]].shape)}

    def draw(self, fmt, family, sizes, seed):
        """Inputs by name, as numpy arrays."""
        path = os.path.join(self.folder, "inputs.safetensors")
        words = ["--sizes", sizes] if isinstance(sizes, str) else [
            word for axis, size in sizes.items() for word in ("--size", f"{axis}={size}")]
        _said("define", self.source, "--draw", path, "--format", fmt, "--family", family, "--seed",
              str(seed), *words)
        tensors, _ = safetensors.read(path)
        return {name: np.frombuffer(data, dtype_of(_NAMES[kind])).reshape(shape).copy()
                for name, (kind, shape, data) in tensors.items()}


class Defined:
    """A function that computes a definition, for a program behind a pipe."""

    def __init__(self, source, function):
        with tempfile.TemporaryDirectory(prefix="halfcheck-") as folder:
            definition = Definition(source, folder)
        self.digest = definition.digest
        self.function = function
        self.name = getattr(function, "__name__", definition.name)
        self._named = _takes_names(function, [row["name"] for row in definition.inputs])

    def __call__(self, inputs):
        return self.function(**inputs) if self._named else self.function(*inputs.values())


def _takes_names(function, names):
    """Whether the function's parameters have all of these names."""
    known = {}
    with contextlib.suppress(TypeError, ValueError):
        known = inspect.signature(function).parameters
    return all(name in known and known[name].kind != inspect.Parameter.POSITIONAL_ONLY
               for name in names)


class DefinedVerdict:
    """What halfcheck says of results, held to a definition: ok, verdict (PASS, FAIL, MISTRUSTED),
    outputs by name, and text for people. improbable: nothing is wrong, and errors of sums are larger
    than independent roundings come to with a chance of one in a million."""

    def __init__(self, said, text):
        self.verdict, self.definition, self.digest = (said[key] for key in
                                                      ("verdict", "definition", "digest"))
        self.outputs = {row["name"]: row for row in said["outputs"]}
        self.ok = self.verdict == "PASS"
        excesses = [float(row["excess"]) for row in said["outputs"]]
        self.improbable = self.ok and any(excess > 1 for excess in excesses)
        self.text = text

    def __bool__(self):
        return self.ok

    def __str__(self):
        return self.text

    __repr__ = __str__


class Report:
    """What a check by a definition has found: a row (format, family, sizes, verdict) for each call;
    and text, the definition that was made of a plain function. str() of it is for people."""

    def __init__(self, name, definition, text=""):
        self.name, self.definition, self.digest = name, definition.name, definition.digest
        self.text = text
        self.rows = []
        self.left_out = {}

    @property
    def failed(self):
        """The rows that are wrong: what neither passed nor was without a bound."""
        return [row for row in self.rows if row[3].verdict not in ("PASS", "MISTRUSTED")]

    @property
    def ok(self):
        """Whether something was judged, and nothing was wrong."""
        return any(row[3].ok for row in self.rows) and not self.failed

    def __str__(self):
        judged = [row for row in self.rows if row[3].verdict != "MISTRUSTED"]
        good = len(judged) - len(self.failed)
        lines = [f"{self.name} as {self.definition}: {good} of {len(judged)} calls pass"]
        for fmt in dict.fromkeys(row[0] for row in self.rows):
            rows = [row for row in judged if row[0] == fmt]
            wrong = sum(row[0] == fmt for row in self.failed)
            lines.append(f"  {fmt:5} {len(rows) - wrong:4} pass" +
                         (f"  {wrong:4} fail" if wrong else ""))
        unjudged = len(self.rows) - len(judged)
        if unjudged:
            lines.append(f"  not judged, {unjudged} calls: right orders may overflow or differ in NaN")
        lines += [f"  left out, {count} calls: {why}" for why, count in self.left_out.items()]
        if self.text:
            lines += ["judged by", *(f"  {line}" for line in self.text.splitlines())]
        return "\n".join(lines)

    __repr__ = __str__


def judge(define, inputs, outputs, variant=None, allow=(), like=None, axes=None, **options):
    """Says whether results are within the bound of a definition: its text, file or name. inputs and
    outputs are arrays in its order, or a dict by name; only results that are given are judged.
    variant: of the definition; "any": one of them for all elements. allow: what is stated of the
    implementation, ["order=blocks(16)"]; `halfcheck explain def/NAME` lists such words. With `like`
    the definition is what that plain function computes; axes: its inputs as a definition has them,
    "x[t, d], w[d]", if they are not to be named by the function's parameters and by lengths."""
    with tempfile.TemporaryDirectory(prefix="halfcheck-") as folder:
        if like is not None:
            if variant or options:
                raise TypeError("judge with like has no variant and no options: what the plain "
                                "function computes by itself is the definition")
            return _judged_like(like, axes, inputs, outputs, folder, allow)
        if axes is not None:
            raise TypeError("judge has axes with like alone")
        definition = Definition(define, folder)
        _check_options(definition, options)
        named = [by_name(definition.name, what, [row["name"] for row in rows], given)
                 for what, rows, given in (("input", definition.inputs, inputs),
                                           ("result", definition.results, outputs))]
        return _judged(definition, *named, options, variant, allow)


def _judged_like(plain, axes, inputs, outputs, folder, allow):
    """The verdict on one call, by what a plain function computes on inputs of its sizes."""
    from .likeness import Head, head_of, text_of

    name = getattr(plain, "__name__", "plain")
    if not isinstance(inputs, (dict, list, tuple)):
        inputs = [inputs]
    if axes is None:
        axes = ", ".join(head_of(plain, {
            key: array_of(name, key, value) for key, value in inputs.items()
        } if isinstance(inputs, dict) else [
            array_of(name, f"input {i}", value) for i, value in enumerate(inputs)]).texts)
    head = Head(axes)
    inputs = by_name(name, "input", [row[0] for row in head.rows], inputs)
    sizes = {}
    for given, own, *_ in head.rows:
        shape = inputs[given].shape if given in inputs else None
        if shape is None or len(shape) != max(len(own), 1) or any(
                sizes.setdefault(axis, size) != size for axis, size in zip(own, shape)):
            raise ValueError(f"{name}: {given} " + (
                "is not given" if shape is None else f"has shape {list(shape)}, which is not that "
                f"of {axes}"))
    text, shapes = text_of(plain, head, sizes)
    results = Definition(text, folder).results
    outputs = by_name(name, "result", [row["name"] for row in results], outputs)
    own = next((array.dtype for array in inputs.values() if array.dtype.kind not in "iu"), None)
    formats = [name_of(outputs[row["name"]].dtype) if row["name"] in outputs and
               outputs[row["name"]].dtype != own else None for row in results]
    if any(formats):
        text, shapes = text_of(plain, head, sizes, formats)
    outputs = {row["name"]: _fitted(outputs[row["name"]], shape)
               for row, shape in zip(results, shapes) if row["name"] in outputs}
    verdict = _judged(Definition(text, folder), inputs, outputs, {}, None, allow)
    verdict.text += "\n\njudged by\n" + "\n".join(f"  {line}" for line in text.splitlines())
    return verdict


def _fitted(array, shape):
    """A result in the shape that a definition has for it, which has no axes of length 1 but those of
    inputs."""
    same = [n for n in shape if n != 1] == [n for n in array.shape if n != 1]
    return array.reshape(shape) if same else array


def check(fn, define, formats=None, backward=False, families=None, sizes=None, seed=0, arrays=None,
          variant=None, like=None, inputs=None, allow=(), **options):
    """Runs a function on drawn inputs of a definition, and returns a Report. Raises halfcheck.Wrong
    if numbers are wrong, and whatever the function raises.

    fn gets the inputs in the definition's order, or by name if its parameters have these names. It
    gets an option if it has a parameter of that name. backward: take the function's gradients by
    torch's autograd or by jax.vjp, and judge them by the definition's gradient. sizes: a list of
    dicts such as {"d": 768}. variant: judge by this variant of the definition; "any": by one that
    fits all elements of a call. allow: as in judge. like, inputs: instead of `define`, take what
    the function `like` computes as the definition.
    """
    __tracebackhide__ = True
    from .checks import Wrong

    with tempfile.TemporaryDirectory(prefix="halfcheck-") as folder:
        if like is not None:
            call = _LikeCall(fn, like, inputs, sizes, folder, options, arrays)
            definition = call.definition
        else:
            definition = Definition(define, folder)
            _check_options(definition, options)
            kind = arrays or (_arrays.kind_of([fn]) if backward else None)
            call = _Call(fn, definition, options, "torch" if backward and kind != "jax" else kind)
        call.variant = None if backward else variant
        call.allow = allow
        report = Report(getattr(fn, "__name__", "the function"), definition, call.text)
        formats = [formats] if isinstance(formats, str) else formats or _FORMATS
        for fmt in map(format_named, formats):
            for family in families or FAMILIES:
                for given, more in itertools.product(sizes or call.sizes(), _seeds(family)):
                    _one(report, call, fmt, family, given, seed + more, backward)
            if not (sizes or backward or like or families):
                _large(report, call, fmt, seed)
        if not (sizes or like or families):
            _at_borders(report, call, list(map(format_named, formats)), seed, backward)
        if report.failed:
            raise Wrong(_first_wrong(report), report)
        if not report.ok:
            raise Error(f"{report}\n  nothing was judged")
        return report


def _seeds(family):
    """What is added to the seed: one call has room only for some of the critical places."""
    return range(_ASKS if family == "asked" else 1)


def _one(report, call, fmt, family, sizes, seed, backward):
    """Draws inputs, calls the function and judges what it gives."""
    try:
        call.at(sizes)
        definition = call.definition
        inputs = definition.draw(fmt, family, sizes, seed)
        sizes = definition.sizes(inputs)
        if backward:
            definition, inputs, outputs = call.backward(inputs, seed)
        else:
            outputs = call(inputs)
    except _arrays.Unsupported as error:
        report.left_out[str(error)] = report.left_out.get(str(error), 0) + 1
        return
    except Exception as error:
        # A function may ask for a row: what it raises where there is none is told, and no more.
        if isinstance(error, Error) or isinstance(sizes, str) or 0 not in sizes.values():
            raise
        empty = next(axis for axis, size in sizes.items() if size == 0)
        why = f"{report.name} raises {type(error).__name__} where {empty} = 0: {error}"
        report.left_out[why] = report.left_out.get(why, 0) + 1
        return
    verdict = _judged(definition, inputs, outputs, call.options, call.variant, call.allow)
    if any(np.size(array) for array in outputs.values()):  # else only shapes are judged
        report.rows.append((fmt, family, sizes, verdict))


def _at_borders(report, call, formats, seed, backward):
    """Normal inputs of sizes around the borders of blocks, in the formats in turn."""
    for number, sizes in enumerate(call.definition.borders):
        _one(report, call, formats[number % len(formats)], "normal", sizes, seed, backward)


# A large call has so many elements in its largest input, and its results so many different ones, as
# many as the judge looks at.
_LARGE, _DIFFERENT = 1 << 22, 4096


def _large(report, call, fmt, seed):
    """Judges all rows of a call at a model's size, which repeats a few: of each element of those the
    least and the largest that their copies give."""
    definition = call.definition
    if not definition.rows:
        return
    axis, *_ = definition.rows
    others = [name for name in definition.axes() if name != axis]
    longest = {0: [], 1: [1024], 2: [128, 64]}.get(len(others), [16, 32, 8, 16])
    sizes = dict(zip(others, itertools.cycle(longest or [1])))
    kinds = max(2, min(4093, _DIFFERENT // int(np.prod([1, *sizes.values()]))))
    try:
        few = definition.draw(fmt, "normal", {axis: kinds, **sizes}, seed)
    except ValueError:  # whatever suits the text
        usual = definition.sizes(definition.draw(fmt, "normal", "usual", seed))
        few = definition.draw(fmt, "normal", {**usual, axis: kinds}, seed)
    rows = min(1 << 20, 4097 if others else 1 << 20,
               kinds * _LARGE // max(array.size for array in few.values()))
    which = np.random.default_rng(seed).integers(0, kinds, rows)
    which[:kinds] = range(kinds)
    places = {row["name"]: row["axes"].index(axis)
              for row in definition.inputs + definition.results if axis in row["axes"]}
    try:
        many = call({name: array.take(which, places[name]) if name in places else array
                     for name, array in few.items()})
    except _arrays.Unsupported as error:
        report.left_out[str(error)] = report.left_out.get(str(error), 0) + 1
        return
    ends = {name: _ends(array, places[name], which, kinds) for name, array in many.items()}
    sizes = {**definition.sizes(few), axis: rows}
    for end in range(2):
        verdict = _judged(definition, few, {name: both[end] for name, both in ends.items()},
                          call.options, call.variant)
        if end and verdict.verdict == "PASS":
            continue
        verdict.text += (f"\n  of {rows} places on {axis}, which repeat these {kinds}, and of which "
                         f"the {'largest' if end else 'least'} results are judged")
        report.rows.append((fmt, "normal", sizes, verdict))


def _ends(array, place, which, kinds):
    """Of each kind of row the least and the largest elements; NaN if any is NaN."""
    array = _arrays.to_numpy(array)
    if array.ndim <= place or array.shape[place] != len(which):
        return array, array  # whose shape is refused
    begins = np.searchsorted(np.sort(which), np.arange(kinds))
    copies = array.take(np.argsort(which, kind="stable"), place)
    if copies.dtype.kind not in "iu":
        copies = copies.astype(np.float64)
    return [function.reduceat(copies, begins, place).astype(array.dtype)
            for function in (np.minimum, np.maximum)]


class _Call:
    """A function, and how it is called."""

    text = ""

    def sizes(self):
        """How long the axes are where nobody says it."""
        return _SIZES

    def at(self, sizes):
        """Gets ready for inputs of these sizes."""

    def fitted(self, _, array):
        """A result as the definition has it."""
        return array

    def __init__(self, fn, definition, options, kind):
        self.fn, self.definition, self.options = fn, definition, options
        self.variant, self.allow = None, ()
        self.kind = kind or _arrays.kind_of([fn])
        self.make, _ = _arrays.maker(self.kind)
        names = [row["name"] for row in definition.inputs]
        known = {}
        with contextlib.suppress(TypeError, ValueError):
            known = inspect.signature(fn).parameters
        self.named = _takes_names(fn, names)
        # Of an option that nobody gives it gets what the text says, where that is a number.
        said = {row["name"]: _number(row["value"]) for row in definition.options}
        self.keywords = {name: value for name, value in {**said, **options}.items()
                         if name in known and value is not None}

    def _call(self, tensors):
        given = self.fn(**tensors, **self.keywords) if self.named else \
            self.fn(*tensors.values(), **self.keywords)
        if isinstance(given, dict):
            return given
        given = given if isinstance(given, (tuple, list)) else [given]
        return dict(zip((row["name"] for row in self.definition.results), given))

    def __call__(self, inputs):
        # Copies: what a function does to its inputs is not judged, and must not change them.
        got = self._call({name: self.make(array.copy()) for name, array in inputs.items()})
        return {name: _arrays.to_numpy(value) for name, value in got.items() if value is not None}

    def backward(self, inputs, seed):
        """The gradient's definition, its inputs, and the gradients that torch's autograd or jax.vjp
        gives."""
        indices = {row["name"] for row in self.definition.inputs if row["index"] is not None}
        tensors = {name: self.make(array.copy()) for name, array in inputs.items()}
        numbers = [name for name in tensors if name not in indices]
        derive = self._by_jax if self.kind == "jax" else self._by_torch
        given, grads = derive(tensors, numbers, np.random.default_rng(seed))
        gradient = self.definition.gradient
        taken = {*inputs, *(row["name"] for row in self.definition.options),
                 *self.definition.axes()}
        all_inputs = {**inputs, **{
            _gradient_name(name, taken): self.fitted(name, _arrays.to_numpy(value))
            for name, value in given.items()}}
        wanted = {row["name"] for row in gradient.inputs}
        names = [row["name"] for row in gradient.results]
        return gradient, {name: array for name, array in all_inputs.items() if name in wanted}, {
            # Where nothing depends on an input, its gradient is 0.
            name: np.zeros_like(inputs[of]) if value is None else _arrays.to_numpy(value)
            for name, of, value in zip(names, numbers, grads)}

    def _by_torch(self, tensors, numbers, rng):
        """Drawn gradients of the results by name, and those of the inputs that follow."""
        import torch

        for name in numbers:
            tensors[name].requires_grad_(True)
        results = self._call(tensors)
        given = {name: torch.from_numpy(rng.standard_normal(tuple(value.shape))).to(value.dtype)
                 for name, value in results.items()}
        return given, torch.autograd.grad(
            list(results.values()), [tensors[name] for name in numbers], list(given.values()),
            allow_unused=True)

    def _by_jax(self, tensors, numbers, rng):
        """The same by jax.vjp."""
        import jax

        results, back = jax.vjp(lambda *of: self._call({**tensors, **dict(zip(numbers, of))}),
                                *(tensors[name] for name in numbers))
        given = {name: jax.numpy.asarray(rng.standard_normal(value.shape), value.dtype)
                 for name, value in results.items()}
        return given, back(given)


class _LikeCall(_Call):
    """A function that is held to what a plain function of torch or jax computes, which is a definition of
    its own for each choice of sizes."""

    # As those of the program, which finds them once a definition is there.
    _ROWS = ((5, 17, 8, 32), (1, 1, 1, 1), (3, 33, 4, 64), (2, 127, 3, 129), (4, 64, 32, 64))

    def __init__(self, fn, plain, inputs, sizes, folder, options, arrays):
        from .likeness import Head, shown

        if not isinstance(inputs, str):
            raise TypeError("check with like wants inputs, as a definition has them: "
                            '"x[t, d], w[d]"')
        if options:
            raise TypeError(f"check with like has no {next(iter(options))!r}: what the plain "
                            "function computes by itself is the definition")
        self.plain, self.head, self.folder = plain, Head(inputs), folder
        self.text = shown(plain, self.head, sizes[0] if sizes else None)
        self.known, self.made_for, self.shapes = {}, None, []
        super().__init__(fn, Definition(self.text, folder), options,
                         arrays or _arrays.kind_of([fn, plain]))
        if self.kind == "torch":  # whose indices have 64 bits
            make = self.make
            self.make = lambda array: make(array.astype(np.int64) if array.dtype.kind == "i" else
                                           array)

    def sizes(self):
        axes = self.definition.axes()
        return [dict(zip(axes, itertools.cycle(row))) for row in self._ROWS]

    def at(self, sizes, formats=None):
        from .likeness import text_of

        self.made_for = sizes
        try:
            text, self.shapes = text_of(self.plain, self.head, sizes, formats)
        except TypeError:
            raise
        except (RuntimeError, ValueError, IndexError, AssertionError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise _arrays.Unsupported(f"{self.plain.__name__} refuses them: {reason}") from None
        if text not in self.known:
            self.known[text] = Definition(text, self.folder)
        self.definition = self.known[text]

    def __call__(self, inputs):
        outputs = super().__call__(inputs)
        own = next(array.dtype for array in inputs.values() if array.dtype.kind not in "iu")
        formats = [name_of(array.dtype) if array.dtype != own else None
                   for array in outputs.values()]
        if any(formats):  # results that are wider than the inputs, and are judged as such
            self.at(self.made_for, formats)
        return {name: self.fitted(name, array) for name, array in outputs.items()}

    def fitted(self, name, array):
        names = [row["name"] for row in self.definition.results]
        return _fitted(array, self.shapes[names.index(name)])


def _gradient_name(name, taken):
    """What the gradient's text calls the gradient by a result."""
    name = "d" + name
    while name in taken:
        name += "_"
    return name


def _number(text):
    """A number or truth value that a definition has; None of what depends on lengths."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return None


def _check_options(definition, options):
    known = [row["name"] for row in definition.options]
    for name in options:
        if name not in known:
            raise TypeError(f"{definition.name} has no option {name!r}; it has "
                            f"{', '.join(known) or 'none'}")


def _judged(definition, inputs, outputs, options, variant, allow=()):
    path = os.path.join(definition.folder, "tensors.safetensors")
    said = os.path.join(definition.folder, "said.json")
    safetensors.write(path, {name: tensor_of(array_of(definition.name, name, array))
                             for name, array in {**inputs, **outputs}.items()})
    known = {row["name"] for row in definition.options}
    words = [f"{name}={_text(value)}" for name, value in options.items() if name in known]
    named = ["--variant", variant] if variant else []
    named += [word for one in ([allow] if isinstance(allow, str) else allow)
              for word in ("--allow", one)]
    text = _said("judge", "--define", definition.source, "--tensors", path, "--json", said, *named,
                 *(word for option in words for word in ("--set", option)))
    with open(said, encoding="utf-8") as file:
        return DefinedVerdict(json.load(file), text)


def _text(value):
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _said(*words):
    """What the program prints; ValueError with its line where it refuses."""
    ended = subprocess.run([_program.path(), *words], stdin=subprocess.DEVNULL, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if ended.returncode not in (0, 1):
        line = ended.stderr.strip() or "halfcheck failed without a word"
        raise ValueError(line.removeprefix("halfcheck: "))
    return ended.stdout.rstrip("\n")


def _first_wrong(report):
    fmt, family, sizes, verdict = report.failed[0]
    sized = ", ".join(f"{axis} = {size}" for axis, size in sizes.items())
    return f"{report}\n\nfirst wrong: {fmt}, {family} inputs, {sized}\n\n{verdict.text}"
