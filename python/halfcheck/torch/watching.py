"""halfcheck.torch.watch: a sanitizer for the numerics of anybody's training.

It sees each operator that PyTorch calls, collects some elements of its results with their inputs
(slices.py), and lets halfcheck judge them by the operator's definition (operators.py). It changes
no number, and draws no random numbers from torch."""

import contextlib
import functools
import os
import random
import runpy
import sys
import tempfile
import threading
import traceback
import types

import torch
from torch.utils import _python_dispatch

from .. import program as _program
from ..judging import Judges
from . import elements, files, judged, slices, traces
from .coarse import Coarse
from .elements import FORMATS
from .layers import Layers, caller
from .promises import Promises
from .seen import Line, Seen
from .texts import Texts
from .views import Views
from .wide import alone as _alone, tensors as _tensors

# They hand numbers on, and make none. What starts with one of the words makes no sum or product.
_MOVES = ("view", "as_strided", "detach", "t", "transpose", "permute", "expand", "unsqueeze",
          "squeeze", "select", "slice", "split", "split_with_sizes", "unbind", "alias", "reshape",
          "_unsafe_view", "_reshape_alias", "lift_fresh", "unfold", "diagonal", "narrow",
          "empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "set_",
          "resize_", "_local_scalar_dense", "is_same_size", "chunk", "movedim", "transpose_", "t_",
          "squeeze_", "unsqueeze_", "as_strided_", "unsafe_split", "unsafe_split_with_sizes",
          "unsafe_chunk", "view_as_real", "view_as_complex")


_DRAWN = ("bernoulli", "exponential", "multinomial", "normal", "poisson", "rand", "rand_like",
          "randn", "randn_like", "random", "uniform")

# Their numbers come from other processes.
_SENT = ("allreduce", "all_reduce", "allgather", "_allgather_base", "all_gather_into_tensor",
         "broadcast", "reduce", "reduce_scatter", "_reduce_scatter_base", "reduce_scatter_tensor",
         "alltoall", "alltoall_base", "scatter_", "recv")

# Their kernels call operators that autocast knows; it does not know them.
_CALLS_OTHERS = ("_scaled_mm", "_scaled_mm_v2")


class _Refused:
    """Why nothing was gathered; also what asks nothing."""

    def __init__(self, why):
        self.why = why

    def __call__(self):
        return self

    def __str__(self):
        return self.why


_Base = _python_dispatch.TorchDispatchMode
_stack = _python_dispatch._get_current_dispatch_mode_stack


@contextlib.contextmanager
def _taken_off(modes):
    """Takes the uppermost modes off for a while. The list keeps them alive: where PyTorch's stack
    alone has a mode, to pop it may give memory that was freed (its issue 165857)."""
    for mode in reversed(modes):
        _Base.__exit__(mode, None, None, None)
    try:
        yield
    finally:
        for mode in modes:
            _Base.__enter__(mode)


class _Mode(_Base):
    """A watch's mode, which comes and goes with the watched steps. It lies below all modes that
    were entered since the watch was opened: each of these leaves whatever lies on top."""

    def __init__(self, watch):
        super().__init__()
        self.watch, self.below, self.on = watch, _stack(), False

    def enter(self):
        stack, self.on = _stack(), True
        place = max((at + 1 for at, mode in enumerate(stack)
                     if any(mode is other for other in self.below)), default=0)
        with _taken_off(stack[place:]):
            self.__enter__()

    def leave(self):
        stack, self.on = _stack(), False
        place = next(at for at, mode in enumerate(stack) if mode is self)
        with _taken_off(stack[place + 1:]):
            self.__exit__(None, None, None)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return self.watch.call(func, args, kwargs or {})


class watch:
    """Watches and judges all operators that are called inside of it:

        with halfcheck.torch.watch(optimizer=optimizer, every=100) as seen:
            train()
        print(seen)

    optimizer: its steps end the watched steps; without it, everything is one step. A model or a
    scaler may be given, too; they are found anyway. every: watch one of this many steps, the first
    one included. seed: for choosing the elements to judge. views: what else to look at (views.py),
    such as budget=True."""

    def __init__(self, *given, optimizer=None, scaler=None, every=1, seed=0, **views):
        optimizer = _optimizer(given, optimizer)
        if not isinstance(every, int) or every < 1:
            raise ValueError(f"every is {every!r}, and not a whole number of 1 or more")
        _program.path()
        self.optimizer, self.every, self.chances = optimizer, every, random.Random(seed)
        self.layers, self.mode, self.step, self.open = Layers(), None, 0, False
        self.seed, self.views = seed, Views(views)
        self.seen, self.questions, self.judges = None, [], None
        self.folder = tempfile.TemporaryDirectory(prefix="halfcheck-watch-", dir=_memory())
        self.promises, self.coarse, self.texts = Promises(self, _alone), Coarse(), Texts()

    def __enter__(self):
        if self.open:
            raise RuntimeError("this watch is open already; a second one may be opened inside")
        self.thread = threading.get_ident()
        self.seen = Seen(self.folder)
        self.seen.views, self.seen.seed = self.views.all, self.seed
        self.seen.coarse, self.seen.doubtful = self.coarse.lines, self.texts.lines
        self.judges = Judges(self.folder.name, self.seen, files.write, FORMATS)
        self.open, self.mode = True, _Mode(self)
        if self.optimizer is not None:
            # A scheduler may have put its own step there.
            self._own = self.optimizer.__dict__.get("step")
            self._ours = self.follow(self.optimizer)
        self.promises.open()
        self._begin()
        return self.seen

    def __exit__(self, kind, error, trace):
        self.open = False
        # A scheduler that was made in here keeps its step, which calls ours.
        if self.optimizer is not None and self.optimizer.__dict__.get("step") is self._ours:
            del self.optimizer.step
            if self._own is not None:
                self.optimizer.step = self._own
        self.promises.close()
        self._end()
        self.judges.finish()

    def follow(self, optimizer):
        """Ends a step with each of this optimizer's."""
        step = optimizer.step

        @functools.wraps(step)  # a scheduler looks for what it has marked there
        def after(_, *args, **kwargs):
            if not self.open:
                return step(*args, **kwargs)
            if threading.get_ident() != self.thread:
                self.seen.left_out(f"{type(optimizer).__name__}.step",
                                   "another thread calls it than that which opened the watch")
                return step(*args, **kwargs)
            watched = self.mode.on
            if watched:
                self.views.optimizing(optimizer)
            try:
                return step(*args, **kwargs)
            finally:
                if watched:
                    self.views.optimized(optimizer)
                if (self.step + 1) % self.every == 0:
                    self.promises.gradients.used_by(optimizer)
                self.next_step()

        optimizer.step = types.MethodType(after, optimizer)  # a scheduler asks for its function
        return optimizer.step

    def here(self):
        """Whether a step is watched, and this is the thread whose operators are seen."""
        return self.mode.on and threading.get_ident() == self.thread

    def next_step(self):
        """Ends a step, for loops without an optimizer, and begins the next one."""
        self._end()
        self.step += 1
        if self.step % self.every == 0:
            self._begin()

    def _begin(self):
        self.layers.open()
        self.views.begin(self.step, self.layers)
        self.mode.enter()
        self.fresh = True

    def _end(self):
        if not self.mode.on:
            return
        self.mode.leave()
        self.views.end()
        self.layers.close()
        with _alone():
            self.promises.end()
            self._guarded(self.texts.end)
            self._judge()

    def call(self, func, args, kwargs):
        """Runs an operator, and keeps what is to be judged of it."""
        self.views.meet()
        name, overload, names, written, defaults = _told(func)
        if name in _MOVES:
            return func(*args, **kwargs)
        bound = {**defaults, **dict(zip(names, args)), **kwargs}
        why = _hidden(bound.values())
        if why:
            results = func(*args, **kwargs)
            if _format(_flat(_list(results))):
                self.seen.made += 1
                self.seen.left_out(overload, why)
            return results
        call = slices.Call(args, kwargs, bound, [], self.chances)
        ask = lambda: _questions(name, names, call)
        hidden = [bound.get(argument) for argument in slices.WRITTEN.get(name, ())]
        if written or hidden:
            with _alone():
                call.kept = [value.clone() for value in hidden if value is not None]
        if written:
            with _alone():
                ask = self._guarded(lambda: _before(name, names, call, written))
                self._guarded(lambda: self.coarse.before(name, call))
                self._guarded(lambda: self.promises.gradients.written(name, call.given))
        self.views.before(func, overload, call)
        results = _run(func, name, args, kwargs)
        self.views.after(func, call, results)
        call.results = _flat([bound[written[0]]] if written else _list(results))
        form = _format(call.results)
        if form:
            with _alone():
                why = _hidden(call.results)
                if why:
                    self.seen.made += 1
                    self.seen.left_out(overload, why)
                else:
                    self._take(name, overload, form, call, ask, bool(written))
        return results

    def _take(self, name, overload, form, call, ask, in_place):
        """Gathers what is to be judged of a call."""
        where, phase = caller()
        line = Line(overload, phase, self.layers.now(phase == "backward"), where,
                    form, self.step)
        self.seen.made += 1
        self.seen.steps += self.fresh
        self.fresh = False
        if not any(tensor.numel() for tensor in _tensors(call.results)):
            self.seen.asked += 1  # nothing can be wrong in it
            return
        self.seen.look(name, line, {} if in_place else call.args, call.results)
        self._guarded(lambda: self.coarse.look(name, line, call))
        self._guarded(lambda: self.texts.look(name, line, call))
        move = judged.MOVES.get(name.rstrip("_"))
        asked = self._guarded(lambda: move(call) if move else ask())
        if isinstance(asked, _Refused):
            self.seen.left_out(overload, str(asked))
            return
        if isinstance(asked, slices.Same):
            asked, move = asked.pairs, True
        if move:
            self.seen.moved(line, asked)
            return
        if not asked:
            base = name.rstrip("_")
            self.seen.left_out(overload, "its numbers are random" if base in _DRAWN else
                               "other processes have its numbers" if base in _SENT else
                               "it has no definition")
            return
        self.questions += [(line, question) for question in asked]
        self.seen.asked += 1
        if call.beside:
            self.seen.left_out(overload, call.beside)

    @staticmethod
    def _guarded(gather):
        """What it gathers; whatever goes wrong there, the training goes on."""
        try:
            return gather()
        except slices.TooLong as error:
            return _Refused(str(error))
        except Exception as error:
            return _Refused(f"gathering failed: {type(error).__name__}: {error}")

    def _judge(self):
        """Has judged what the step has asked, beside the steps that come."""
        if self.questions:
            self.judges.ask(self.questions)
            self.questions = []


def _optimizer(given, named):
    """The optimizer among what was given without a name, or that which has been named."""
    ours = [one for one in given if hasattr(one, "param_groups")]
    for one in [*given, *([named] if named is not None else [])]:
        known = hasattr(one, "param_groups") or isinstance(one, torch.nn.Module) or \
            hasattr(one, "unscale_")
        if not known or one is named and not hasattr(one, "param_groups"):
            raise TypeError(f"watch takes an optimizer, and not {type(one).__name__}")
    ours += [named] if named is not None else []
    if len(ours) > 1:
        raise TypeError("watch takes one optimizer, whose step ends a step of the training; "
                        "others are seen all the same")
    return ours[0] if ours else None


def _memory():
    """A folder that lies in memory, if there is one with room: a step writes many small files."""
    try:
        room = os.statvfs("/dev/shm")
        return "/dev/shm" if room.f_bavail * room.f_frsize >= 1 << 28 and \
            os.access("/dev/shm", os.W_OK) else None
    except OSError:
        return None


def script(arguments):
    """Runs a script as `python SCRIPT ...` would, each optimizer's steps as those of `watch`.
    Returns its exit status, or 1 if anything is wrong."""
    path = arguments.script
    if not os.path.isfile(path):
        raise _program.Error(f"watch: there is no script {path}")
    if arguments.every < 1:
        raise _program.Error(f"watch: --every is {arguments.every}, and not 1 or more")
    other, here = _other(arguments.compare), os.getcwd()
    if arguments.report:
        try:
            os.makedirs(arguments.report, exist_ok=True)
        except OSError as error:
            raise _program.Error(f"watch: --report: {error}") from None
    watching = watch(every=arguments.every, seed=arguments.seed, budget=arguments.budget,
                     formats=arguments.formats, through=arguments.through,
                     trace=arguments.trace or bool(other))
    init = torch.optim.Optimizer.__init__

    def made(optimizer, *args, **kwargs):
        init(optimizer, *args, **kwargs)
        watching.follow(optimizer)

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
        os.chdir(here)
    print(seen)
    if other:
        print("\n" + str(seen.compare(other)))
    if arguments.report:
        seen.report(arguments.report)
    return status or int(bool(seen.wrong() or seen.misused))


def _other(path):
    """What another run has kept."""
    try:
        return traces.read(path) if path else None
    except (OSError, ValueError) as error:
        raise _program.Error(f"watch: --compare: {error}") from None


@functools.lru_cache(maxsize=None)
def _told(func):
    """What an operator's schema says: its name, that with the overload's, the names of its
    arguments, those that it writes into, and what an argument is that is not given."""
    schema = func._schema
    name = schema.name.split("::")[-1]
    return (name, name + ("." + schema.overload_name if schema.overload_name else ""),
            [argument.name for argument in schema.arguments],
            [a.name for a in schema.arguments if a.alias_info and a.alias_info.is_write],
            {a.name: a.default_value for a in schema.arguments if a.has_default_value()})


def _run(func, name, args, kwargs):
    """The operator, as it runs without a watch. Within any dispatch mode PyTorch has autocast off:
    what casts its arguments has done so before. But a kernel of these calls other operators, whose
    arguments are cast where no mode is, and so it gets back the state that its caller had."""
    if name not in _CALLS_OTHERS or not hasattr(torch._C, "_RestorePythonTLSSnapshot"):
        return func(*args, **kwargs)
    excluded = torch._C._dispatch_tls_is_dispatch_key_excluded
    with torch._C._RestorePythonTLSSnapshot():
        on = [key for key in ("AutocastCPU", "AutocastCUDA") if not excluded(key)]
    on = [key for key in on if excluded(key)]
    try:
        for key in on:
            torch._C._dispatch_tls_set_dispatch_key_excluded(key, False)
        return func(*args, **kwargs)
    finally:
        for key in on:
            torch._C._dispatch_tls_set_dispatch_key_excluded(key, True)


def _list(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _flat(values):
    return [inner for value in values
            for inner in (value if isinstance(value, (tuple, list)) else [value])]


def _hidden(values):
    """Why tensors among these have no numbers that can be read, or None."""
    for tensor in _tensors(values):
        if tensor.device.type == "meta":
            return "its tensors are on the meta device, and have no numbers"
        if tensor.layout != torch.strided or tensor.is_quantized:
            return "its tensors are sparse or quantized"
        if tensor._is_zerotensor():
            return "one of its tensors is zeros that lie nowhere in memory"
    return None


def _format(outputs):
    """That of the first floating-point numbers among them, or None."""
    for tensor in outputs:
        if isinstance(tensor, torch.Tensor) and tensor.is_floating_point():
            return FORMATS.get(tensor.dtype) or str(tensor.dtype)
    return None


def _questions(name, names, call):
    """What a call that wrote into no argument has to answer, or None."""
    if name.startswith("_foreach_"):
        base, count = name[9:], len(call.results)
        questions = []
        for i in call.places(count, 4):
            given = elements.one_of(call.given, i, count)
            one = slices.Call(given, call.keywords, dict(zip(names, given)), [call.results[i]],
                              call.random)
            questions += _questions(base, names, one) or []
        return questions
    gather = judged.STRUCTURED.get(name)
    return gather(call) if gather else elements.ask(name, names, call)


def _before(name, names, call, written):
    """The same for one that writes into its first argument, or the tensors of that list: gathers
    what they were, and returns what asks when it has run."""
    if name in judged.BEFORE:
        return judged.BEFORE[name](call) or (lambda: None)
    if written == ["out"]:
        if name in judged.STRUCTURED:
            return lambda: _questions(name, names, call)
        others = {key: value for key, value in call.keywords.items() if key != "out"}
        return elements.before(name, names, slices.Call(call.given, others, call.args, [],
                                                        call.random), call.args["out"])
    if len(written) > 1 or written[0] != names[0]:
        return lambda: None
    base = name[:-1] if name.endswith("_") else name
    if not name.startswith("_foreach_"):
        return elements.before(base, names, call)
    count = len(call.given[0])
    parts = [elements.before(base[9:], names,
                             slices.Call(elements.one_of(call.given, i, count), call.keywords, {},
                                         [], call.random))
             for i in call.places(count, 4)]

    def ask():
        asked = [part() for part in parts]
        return None if None in asked else [question for one in asked for question in one]
    return ask
