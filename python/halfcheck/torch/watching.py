"""halfcheck.torch.watch: a sanitizer for the numerics of anybody's training.

It sees each operator that PyTorch calls, gathers some elements of its results with what they were
computed from (slices.py), and has halfcheck judge them by the operator's definition (operators.py).
It changes no number and draws none of torch's random ones."""

import contextlib
import functools
import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
import traceback

import torch
from torch.utils import _python_dispatch

from .. import program as _program
from .. import safetensors
from . import operators, slices
from .layers import Layers, caller
from .seen import Line, Seen

FORMATS = {torch.float64: "fp64", torch.float32: "fp32", torch.bfloat16: "bf16",
           torch.float16: "fp16"}
_KINDS = {torch.float64: "F64", torch.float32: "F32", torch.bfloat16: "BF16",
          torch.float16: "F16", torch.int64: "I64"}

# They hand numbers on, and make none. What starts with one of the words makes no sum or product.
_MOVES = ("view", "as_strided", "detach", "t", "transpose", "permute", "expand", "unsqueeze",
          "squeeze", "select", "slice", "split", "split_with_sizes", "unbind", "alias", "reshape",
          "_unsafe_view", "_reshape_alias", "lift_fresh", "unfold", "diagonal", "narrow",
          "empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "set_",
          "resize_", "_local_scalar_dense", "is_same_size", "chunk", "movedim")


_DRAWN = ("bernoulli", "exponential", "multinomial", "normal", "poisson", "rand", "rand_like",
          "randn", "randn_like", "random", "uniform")

# What is gathered is no part of the training: no other mode sees it.
@contextlib.contextmanager
def _guarded():
    guard = torch._C._DisableTorchDispatch()
    try:
        yield
    finally:
        del guard


_alone = getattr(_python_dispatch, "_disable_current_modes", _guarded)


class _Mode(_python_dispatch.TorchDispatchMode):
    def __init__(self, watch):
        super().__init__()
        self.watch = watch

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return self.watch.call(func, args, kwargs or {})


class watch:
    """Watches what is called inside of it:

        with halfcheck.torch.watch(optimizer=optimizer, every=100) as seen:
            train()
        print(seen)

    optimizer: a step ends with each of its steps. every: of so many steps one is watched, the first
    one included. Without an optimizer all is one step. seed: of the choice of elements."""

    def __init__(self, optimizer=None, every=1, seed=0):
        if every < 1:
            raise ValueError(f"every is {every}, and not 1 or more")
        _program.path()
        self.optimizer, self.every, self.seed = optimizer, every, seed
        self.layers, self.mode, self.step = Layers(), None, 0
        self.seen, self.questions, self.calls, self.judges = None, [], 0, []
        self.folder = tempfile.TemporaryDirectory(prefix="halfcheck-watch-")

    def __enter__(self):
        self.seen = Seen(self.folder)
        if self.optimizer is not None:
            # A scheduler may have put its own step there, and looks for what it has marked.
            self._own = self.optimizer.__dict__.get("step")
            self._step = self.optimizer.step

            @functools.wraps(self._step)
            def after(*args, **kwargs):
                return self._after_step(*args, **kwargs)

            self.optimizer.step = after
        self._begin()
        return self.seen

    def __exit__(self, kind, error, trace):
        if self.optimizer is not None:
            self.optimizer.__dict__.pop("step", None)
            if self._own is not None:
                self.optimizer.step = self._own
        self._end()
        self._collect()

    def _after_step(self, *args, **kwargs):
        try:
            return self._step(*args, **kwargs)
        finally:
            self.next_step()

    def next_step(self):
        """Ends a step, for loops without an optimizer, and begins the next one."""
        self._end()
        self.step += 1
        if self.step % self.every == 0:
            self._begin()

    def _begin(self):
        self.layers.open()
        self.mode = _Mode(self)
        self.mode.__enter__()
        self.fresh = True

    def _end(self):
        if self.mode is None:
            return
        self.mode.__exit__(None, None, None)
        self.mode = None
        self.layers.close()
        with _alone():
            self._judge()

    def call(self, func, args, kwargs):
        """Runs an operator, and keeps what is to be judged of it."""
        schema = func._schema
        name = schema.name.split("::")[-1]
        overload = name + ("." + schema.overload_name if schema.overload_name else "")
        if name in _MOVES:
            return func(*args, **kwargs)
        bound = _bind(schema, args, kwargs)
        self.calls += 1
        written = [a.name for a in schema.arguments if a.alias_info and a.alias_info.is_write]
        before = self._kept(name, bound, written) if written else None
        results = func(*args, **kwargs)
        outputs = [bound[written[0]]] if written else _list(results)
        if not any(isinstance(t, torch.Tensor) and t.is_floating_point() for t in _flat(outputs)):
            return results
        with _alone():
            self._take(name, overload, bound, before, outputs)
        return results

    def _take(self, name, overload, bound, before, outputs):
        """Gathers what is to be judged of a call."""
        where, phase = caller()
        line = Line(overload, phase, self.layers.now(phase == "backward"), where,
                    _format(outputs), self.step)
        self.seen.made += 1
        self.seen.steps += self.fresh
        self.fresh = False
        self.seen.look(name, line, bound if before is None else {}, outputs)
        try:
            move = slices.MOVES.get(name.rstrip("_"))
            if move:
                pairs = move(slices.Call(name, bound, _flat(outputs), self._seed()))
                self.seen.moved(line, pairs)
                return
            if before is not None:
                asked = before(outputs)
            else:
                asked = _asked(name, slices.Call(name, bound, _flat(outputs), self._seed()))
        except slices.TooLong as error:
            self.seen.left_out(overload, str(error))
            return
        except Exception as error:  # whatever goes wrong here, the training goes on
            self.seen.left_out(overload, f"gathering failed: {type(error).__name__}: {error}")
            return
        if not asked:
            drawn = name.rstrip("_") in _DRAWN
            self.seen.left_out(overload, "its numbers are random" if drawn else
                               "it has no definition")
            return
        self.questions += [(line, question) for question in asked]
        self.seen.asked += 1

    def _kept(self, name, bound, written):
        try:
            with _alone():
                return _in_place(name, bound, written, self._seed())
        except Exception as error:
            said = f"gathering failed: {type(error).__name__}: {error}"

            def refused(outputs):
                raise slices.TooLong(said)
            return refused

    def _seed(self):
        return f"{self.seed} {self.calls}"

    def _judge(self):
        """Starts halfcheck on what the step has asked, beside the steps that come."""
        if not self.questions:
            return
        lines, folder = [], self.folder.name
        first = len(self.seen.lines)
        for number, (line, question) in enumerate(self.questions, first):
            text, base = os.path.join(folder, f"{number}.op"), os.path.join(folder, str(number))
            with open(text, "w", encoding="utf-8") as file:
                file.write(_with_formats(question))
            safetensors.write(base + ".safetensors", {
                name: (_KINDS[value.dtype], tuple(value.shape), _bytes(value))
                for name, value in {**question.inputs, **question.results}.items()})
            words = ["--define", text, "--tensors", base + ".safetensors", "--json",
                     base + ".json"]
            for option, value in question.options.items():
                words += ["--set", f"{option}={value!r}"]
            lines.append("\t".join(words))
            self.seen.lines.append((line, base))
        self.questions = []
        path = os.path.join(folder, f"lines-{first}")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        with open(path + ".err", "w", encoding="utf-8") as err:
            self.judges.append(subprocess.Popen(
                [_program.path(), "judge", "--lines", path], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=err))

    def _collect(self):
        for judge in self.judges:
            judge.wait()
        refused = set()
        for line, base in self.seen.lines:
            try:
                with open(base + ".json", encoding="utf-8") as file:
                    self.seen.judged(line, base, json.load(file))
            except OSError:
                refused.add(id(line))
                self.seen.left_out(line.operator, "halfcheck refused what was gathered")
        self.seen.asked -= len(refused)


def script(arguments):
    """Runs a script as `python SCRIPT ...` would, each optimizer's steps as those of `watch`.
    Returns its exit status, or 1 if anything is wrong."""
    path = arguments.script
    if not os.path.isfile(path):
        raise _program.Error(f"watch: there is no script {path}")
    if arguments.every < 1:
        raise _program.Error(f"watch: --every is {arguments.every}, and not 1 or more")
    watching = watch(every=arguments.every, seed=arguments.seed)
    init = torch.optim.Optimizer.__init__

    def made(optimizer, *args, **kwargs):
        init(optimizer, *args, **kwargs)
        step = optimizer.step

        @functools.wraps(step)
        def after(*args, **kwargs):
            try:
                return step(*args, **kwargs)
            finally:
                watching.next_step()

        optimizer.step = after

    argv, sys.argv = sys.argv, [path, *arguments.words]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    torch.optim.Optimizer.__init__ = made
    status = 0
    try:
        with watching as seen:
            try:
                runpy.run_path(path, run_name="__main__")
            except SystemExit as ended:
                status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
            except BaseException:
                traceback.print_exc()
                status = 1
    finally:
        torch.optim.Optimizer.__init__ = init
        sys.argv = argv
        del sys.path[0]
    print(seen)
    if arguments.report:
        seen.report(arguments.report)
    return status or int(bool(seen.wrong()))


def _bind(schema, args, kwargs):
    """Arguments by the names of the schema, defaults included."""
    bound = dict(zip((a.name for a in schema.arguments), args))
    bound.update(kwargs)
    for argument in schema.arguments:
        if argument.name not in bound and argument.has_default_value():
            bound[argument.name] = argument.default_value
    return bound


def _list(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _flat(values):
    return [inner for value in values
            for inner in (value if isinstance(value, (tuple, list)) else [value])]


def _format(outputs):
    return next(FORMATS.get(t.dtype, str(t.dtype)) for t in _flat(outputs)
                if isinstance(t, torch.Tensor) and t.is_floating_point())


def _expression(name, bound):
    """The expression of an elementwise operator, or None."""
    base = name.rstrip("_") if not name.startswith("_foreach_") else name[9:].rstrip("_")
    if base in ("add", "sub") and "alpha" not in bound:
        bound = {**bound, "alpha": 1}
    if base == "gelu" or base == "gelu_backward":
        return operators.ELEMENTWISE.get(f"{base}:{bound.get('approximate', 'none')}")
    if base == "pow":
        exponent = bound.get("exponent")
        return operators.POWERS.get(float(exponent)) if isinstance(exponent, (int, float)) else None
    if base == "div" and bound.get("rounding_mode"):
        return None
    if base == "clamp":
        low, high = bound.get("min"), bound.get("max")
        inner = "self" if low is None else "max(self, min)"
        return inner if high is None else f"min({inner}, max)"
    if base == "softplus":
        return "select(self * beta > threshold, self, log1p(exp(self * beta)) / beta)"
    return operators.ELEMENTWISE.get(base)


def _elementwise(expression, bound, where, shape):
    """A question of the elements at `where`, without their results; or None."""
    words = dict.fromkeys(re.findall(r"[a-z_]\w*(?!\w*\s*\()", expression))
    inputs, options = {}, {}
    for word in words:
        if word not in bound:
            continue
        value = bound[word]
        if isinstance(value, torch.Tensor) and value.dim() == 0 and shape:
            value = value.item()
        if isinstance(value, torch.Tensor):
            taken = slices.at(value, where, shape)
            inputs[word] = taken.float() if taken.dtype == torch.bool else taken
            if inputs[word].dtype not in FORMATS:
                return None
        elif isinstance(value, (bool, int, float)):
            options[word] = float(value)
        else:
            return None
    names = {word: f"{word}_" for word in words if word in ("min", "max")}
    text = expression
    for word in inputs:
        text = re.sub(rf"(?<!\w){word}(?!\w)", f"{word}[i]", text)
    for word in options:
        if word in names:
            text = re.sub(rf"(?<!\w){word}(?!\w|\()", names[word], text)
    if not inputs:
        return None
    head = ", ".join(f"{word}[i]" for word in inputs)
    given = {names.get(word, word): value for word, value in options.items()}
    tail = "; " + ", ".join(f"{word} = 1.0" for word in given) if given else ""
    return slices.Question(f"op elementwise({head}{tail})\ny[i] = {text}\nreturn y\n", inputs, {},
                           given)


def _asked(name, call):
    """The questions of a call whose inputs are as they were, or None."""
    if name.startswith("_foreach_"):
        base = "linalg_vector_norm" if name == "_foreach_norm" else name[9:]
        parts = []
        for i in call.places(len(call.results), 4):
            one = slices.Call(base, _one_of(call.args, i, len(call.results)), [call.results[i]],
                              call.random.random())
            parts += _asked(base, one) or []
        return parts
    if name in slices.STRUCTURED:
        return slices.STRUCTURED[name](call)
    expression = _expression(name, call.args)
    y = call.results[0]
    if not expression or y.dtype not in FORMATS or not y.numel():
        return None
    where = call.chosen(y)
    question = _elementwise(expression, call.args, where, y.shape)
    if question is None:
        return None
    question.results = {"y": slices.kept(y[where].reshape(-1))}
    return [question]


def _in_place(name, bound, written, seed):
    """Of an operator that writes into an argument: gathers inputs, and returns what asks with the
    results."""
    target = bound[written[0]]
    if isinstance(target, (tuple, list)):
        return _each(name, bound, written, seed)
    if not isinstance(target, torch.Tensor) or target.dtype not in FORMATS or not target.numel():
        return lambda outputs: None
    base = name.rstrip("_")
    expression = _expression(name, bound)
    if not expression or len(written) > 1 or base in slices.STRUCTURED:
        return lambda outputs: None
    call = slices.Call(name, bound, [target], seed)
    where = call.chosen(target, values=False)
    question = _elementwise(expression, bound, where, target.shape)

    def ask(outputs):
        if question is None:
            return None
        question.results = {"y": slices.kept(outputs[0][where].reshape(-1))}
        return [question]
    return ask


# What operators over lists call the arguments of the operators over tensors.
_OF_LISTS = {"scalar": ("other", "value", "exponent"), "scalars": ("other", "value", "exponent"),
             "tensor": ("other",), "tensors1": ("end",), "weights": ("weight",)}


def _one_of(bound, i, count):
    """The arguments of the operator over tensors that is applied to the i-th ones of the lists."""
    one = {key: value[i] if isinstance(value, (tuple, list)) and len(value) == count else value
           for key, value in bound.items()}
    for ours, theirs in _OF_LISTS.items():
        for name in theirs if ours in one else ():
            one.setdefault(name, one[ours])
    return one


def _each(name, bound, written, seed):
    """Of an operator over lists of tensors: some of them."""
    count = len(bound[written[0]])
    call = slices.Call(name, bound, [], seed)
    parts = []
    for i in call.places(count, 4):
        one = _one_of(bound, i, count)
        parts.append((i, _in_place(name, one, written, f"{seed} {i}")))

    def ask(outputs):
        questions = []
        for i, part in parts:
            asked = part([outputs[0][i]])
            if not asked:
                return None
            questions += asked
        return questions
    return ask


def _with_formats(question):
    """The text, whose results get the formats of those that there are."""
    lines = question.text.rstrip("\n").split("\n")
    names = lines[-1].removeprefix("return ").split(", ")
    lines[-1] = "return " + ", ".join(
        name + (f": {FORMATS[question.results[name].dtype]}" if name in question.results else "")
        for name in names)
    return "\n".join(lines) + "\n"


def _bytes(tensor):
    tensor = tensor.contiguous()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.view(torch.int16)
    return tensor.numpy().tobytes()
