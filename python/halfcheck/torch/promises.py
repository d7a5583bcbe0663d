"""What PyTorch promises of pieces that are larger than an operator, and that may be wrong though
each of their operators is right: that an optimizer takes the step of its class, that gradients are
unscaled before they are used, that a parameter is stepped once; and what a function of autograd is
expected to do: to hand on the derivative of its forward pass."""

import functools
import random
import sys
import weakref

import torch
from torch.optim import optimizer as _optimizer

from .. import slopes
from .copies import Copies
from .gradients import Gradients
from .layers import caller
from .operators import SGD_NESTEROV
from .judged.optimizers import ADAM, ADAMW, EITHER
from .seen import Line
from .slices import Question

_ELEMENTS = 32  # of a parameter
_PARAMETERS = 4  # of a step
_LARGEST = 2**18  # elements of the arguments of a function that is run again
_CALLS = 2  # of each function, in a step

# The classes whose step is a definition, and the names there of what they keep.
_STEPS = ((torch.optim.Adam, "adamw", {"m": "exp_avg", "v": "exp_avg_sq"}),
          (torch.optim.AdamW, "adamw", {"m": "exp_avg", "v": "exp_avg_sq"}),
          (torch.optim.SGD, "sgd", {"buf": "momentum_buffer"}))


def _listening(method):
    """A method that PyTorch calls: what fails in it is listed, and the training goes on."""
    @functools.wraps(method)
    def listen(self, *given, **more):
        try:
            method(self, *given, **more)
        except Exception as error:
            who = given[0] if given and not isinstance(given[0], (list, tuple)) else None
            self.watch.seen.left_out(getattr(who, "__qualname__", type(who).__name__),
                                     f"what it does was not read: {type(error).__name__}: {error}")
    return listen


class Promises:
    """Listens while a watch is open. `now` says whether the step is watched, and `alone` is a
    context in which no mode sees what is gathered."""

    def __init__(self, watch, alone):
        self.watch, self.alone = watch, alone
        self.undo, self.calls, self.steps = [], [], []
        self.scaled, self.used = False, {}
        self.gradients = Gradients()
        self.copies = Copies(watch.layers)
        self.random = random.Random(watch.seed)

    def open(self):
        if hasattr(_optimizer, "register_optimizer_step_pre_hook"):
            self.undo += [_optimizer.register_optimizer_step_pre_hook(self._before).remove,
                          _optimizer.register_optimizer_step_post_hook(self._after).remove]
        else:
            self._profiled()
        scaler = getattr(torch.amp, "GradScaler", torch.cuda.amp.GradScaler)
        self._around(scaler, "scale", lambda scaler, *_: scaler.is_enabled() and self._set(True))
        self._around(scaler, "unscale_", self._unscaled)
        self._around(scaler, "update", lambda *_: self._set(False))
        clip = torch.nn.utils.clip_grad
        if hasattr(clip, "_clip_grads_with_norm_"):
            self._around(clip, "_clip_grads_with_norm_", self._clipped)
        else:
            for owner in (clip, torch.nn.utils):
                self._around(owner, "clip_grad_norm_", self._clipped)
        function, listen = torch.autograd.Function, self._applied
        own = function.__dict__.get("apply")  # in PyTorch 1.13 it has only its base's

        @classmethod
        def applied(cls, *args, **kwargs):
            listen(cls, args, kwargs)
            apply = own.__get__(None, cls) if own else super(function, cls).apply
            return apply(*args, **kwargs)

        function.apply = applied
        self.undo.append(lambda: setattr(function, "apply", own) if own else
                         delattr(function, "apply"))

    def close(self):
        for undo in self.undo:
            undo()
        self.undo = []

    def end(self):
        """Ends a watched step: runs its functions of autograd once more, in fp64."""
        calls, self.calls = self.calls, []
        self.gradients.by_hand.clear()
        for cls, where, args, wanted in calls:
            try:
                wrong = _derivative(cls, args, wanted)
            except Exception as error:  # a function may refuse fp64, or what is not its own tensor
                why = f"its derivative cannot be tried: {type(error).__name__}"
                self.watch.seen.left_out(f"{cls.__qualname__}.backward", why)
                continue
            if wrong:
                self.watch.seen.gradients.setdefault(cls.__qualname__, (where, *wrong))

    def _profiled(self):
        """PyTorch 1.13 has no hooks of all optimizers. Each step tells the profiler of itself, and
        calls a method of its optimizer at its end."""
        profiler, before = torch.autograd.profiler, self._before
        record = profiler.record_function

        class Told(record):
            def __init__(self, name, *args):
                super().__init__(name, *args)
                if name.startswith("Optimizer.step#"):
                    step = _calling().f_locals
                    before(step["obj"], step["args"], step["kwargs"])

        profiler.record_function = Told
        self.undo.append(lambda: setattr(profiler, "record_function", record))
        end = torch.optim.Optimizer._optimizer_step_code

        def ended(optimizer):
            end(optimizer)
            self._after(optimizer, (), {})

        torch.optim.Optimizer._optimizer_step_code = ended
        self.undo.append(lambda: setattr(torch.optim.Optimizer, "_optimizer_step_code", end))

    def _around(self, owner, name, listen):
        own, before = name in vars(owner), getattr(owner, name)

        @functools.wraps(before)
        def around(*args, **kwargs):
            if self.watch.here():
                listen(*args, **kwargs)
            return before(*args, **kwargs)

        setattr(owner, name, around)
        self.undo.append(lambda: setattr(owner, name, before) if own else delattr(owner, name))

    def _set(self, scaled):
        self.scaled = scaled

    @_listening
    def _unscaled(self, scaler, optimizer):
        with self.alone():
            if self.scaled and self.gradients.divided(optimizer, float(scaler.get_scale())):
                self._misused("gradients were divided by the scale by hand, and GradScaler unscales "
                              "them once more")
        self.scaled = False

    def _misused(self, words):
        self.watch.seen.misused.setdefault(words, caller()[0])

    @_listening
    def _clipped(self, *args, **kwargs):
        if self.scaled:
            self._misused("gradients are clipped while they are scaled: "
                          "GradScaler.unscale_ comes first")
        given = args[0] if args else kwargs.get("parameters")
        most = args[1] if len(args) > 1 else kwargs.get("max_norm")
        # With no limit nothing is clipped, and the norm may be wanted. A generator is left alone.
        if isinstance(given, (list, tuple)) and most is not None and float(most) < float("inf"):
            with_gradients = [p for p in given if p.grad is not None]
            if with_gradients and all(self._was_used(p) for p in with_gradients):
                self._misused("gradients are clipped when an optimizer has used them already")

    def _was_used(self, p):
        """Whether a watched step has used the gradient that a parameter has now."""
        grad, version, _ = self.used.get(id(p), (lambda: None, 0, None))
        return grad() is p.grad and version == p.grad._version

    @_listening
    def _before(self, optimizer, args, kwargs):
        if not self.watch.here() or _inside():
            return
        self.steps = []
        fused = getattr(optimizer, "grad_scale", None) is not None
        if self.scaled and not fused:
            self._misused(f"{type(optimizer).__name__} steps with gradients of a scaled loss, "
                          "which GradScaler did not unscale")
        with self.alone():
            if self.gradients.kept(optimizer):
                self._misused("gradients are added to those of the step before, which nothing has "
                              "cleared")
            self._used_twice(optimizer)
            grads = [p.grad for group in optimizer.param_groups for p in group["params"]
                     if p.grad is not None and p.grad.layout == torch.strided]
            if grads and not any(bool(grad.any()) for grad in grads):
                self.watch.seen.doubtful.setdefault(
                    "an optimizer steps with gradients that are all zeros", caller()[0])
            if self.copies.forgotten(optimizer):
                self._misused("a parameter in 16 bits stays what it was, though its master weights "
                              "move: the copy was forgotten")
            closure = any(args[1:]) or any(kwargs.values())
            self.steps = [] if fused or closure else list(self._chosen(optimizer))

    def _used_twice(self, optimizer):
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                seen, version, who = self.used.get(id(p), (lambda: None, 0, None))
                if seen() is p.grad and version == p.grad._version and who != id(optimizer):
                    self._misused("a parameter is stepped by two optimizers with one gradient")
                self.used[id(p)] = weakref.ref(p.grad), p.grad._version, id(optimizer)

    def _chosen(self, optimizer):
        """Of some parameters some elements: what they are before the step."""
        text, kept = next(((text, kept) for cls, text, kept in reversed(_STEPS)
                           if isinstance(optimizer, cls)), (None, {}))
        pairs = [(group, p) for group in optimizer.param_groups for p in group["params"]
                 if p.grad is not None and p.grad.layout == torch.strided and p.numel() and
                 p.device.type != "meta" and
                 p.dtype in (torch.float32, torch.float64) and p.grad.dtype == p.dtype]
        for group, p in self.random.sample(pairs, min(len(pairs), _PARAMETERS)) if text else ():
            options = _options(text, group, optimizer.state.get(p, {}),
                               isinstance(optimizer, torch.optim.AdamW))
            if options is None:
                continue
            name = SGD_NESTEROV if group.get("nesterov") else text
            if text == "adamw":
                name = (ADAM if options.pop("coupled") else ADAMW).format(
                    m2=EITHER[1 - options["beta1"] < 0.5])
            flat = p.grad.reshape(-1)
            places = torch.tensor([int(flat.abs().argmax())] + [
                self.random.randrange(p.numel()) for _ in range(min(p.numel(), _ELEMENTS) - 1)])
            state = optimizer.state.get(p, {})
            inputs = {"p": _at(p, places), ("g" if text == "sgd" else "w"): _at(p.grad, places)}
            for own, key in kept.items():
                value = state.get(key)
                inputs[own] = torch.zeros_like(inputs["p"]) if value is None else _at(value, places)
            if all(value.dtype == p.dtype for value in inputs.values()):
                yield name, p, places, inputs, options, kept

    @_listening
    def _after(self, optimizer, _args, _kwargs):
        if not self.watch.here() or _inside():
            return
        steps, self.steps = self.steps, []
        own = type(optimizer)
        name = next((cls.__name__ for cls, _, _ in reversed(_STEPS) if isinstance(optimizer, cls)),
                    "")
        if not own.__module__.startswith("torch."):
            name += f".step as {own.__name__} has it"
        else:
            name += ".step"
        with self.alone():
            for text, p, places, inputs, options, kept in steps:
                state = optimizer.state.get(p, {})
                results = {"p2": _at(p, places)}
                for key, value in kept.items():
                    if state.get(value) is not None and state[value].dtype == p.dtype:
                        results[key + "2"] = _at(state[value], places)
                line = Line(name, "optimizer", "", caller()[0],
                            "fp32" if p.dtype == torch.float32 else "fp64", self.watch.step)
                line.whole = True  # it is no call of an operator
                self.watch.questions.append((line, Question(text, inputs, results, options)))

    @_listening
    def _applied(self, cls, args, kwargs):
        """Keeps what a function of autograd was called with."""
        if not self.watch.here() or kwargs or cls.__module__.startswith("torch.") or \
                not torch.is_grad_enabled():
            return
        tensors = [a for a in args if isinstance(a, torch.Tensor)]
        wanted = [isinstance(a, torch.Tensor) and a.requires_grad for a in args]
        if not any(wanted) or any(type(t) not in (torch.Tensor, torch.nn.Parameter)
                                  for t in tensors) or \
                sum(call[0] is cls for call in self.calls) >= _CALLS:
            return
        if sum(t.numel() for t in tensors) > _LARGEST:
            self.watch.seen.left_out(f"{cls.__qualname__}.backward", "its arguments are large")
            return
        with self.alone(), torch.no_grad():
            kept = [a.detach().clone() if isinstance(a, torch.Tensor) else a for a in args]
        self.calls.append((cls, caller()[0], kept, wanted))


def _calling():
    """Where PyTorch has wrapped a step, which is about to begin or has just ended."""
    frame = sys._getframe(1)
    while frame and frame.f_code.co_name != "wrapper":
        frame = frame.f_back
    return frame


def _inside():
    """Whether another step calls the one that says so, as that of a class which inherits from its
    own does. A step that has failed never says that it has ended, and so none are counted."""
    frame = _calling()
    code = frame and frame.f_code
    while frame:
        frame = frame.f_back
        if frame and frame.f_code is code:
            return True
    return False


def _at(tensor, places):
    return tensor.detach().reshape(-1)[places.to(tensor.device)].clone()


def _options(text, group, state, decoupled):
    """The options of its definition, or None where it has none of that kind. decoupled: whether the
    class has its decay so, where its groups say nothing of it, as before PyTorch 2.7."""
    number = lambda key: float(group.get(key) or 0.0)
    if group.get("amsgrad") or group.get("maximize") or number("dampening"):
        return None
    options = {"lr": number("lr"), "decay": number("weight_decay")}
    if text == "sgd":
        return {**options, "momentum": number("momentum")}
    b1, b2 = (float(b) for b in group["betas"])
    step = float(state.get("step", 0)) + 1
    decoupled = group.get("decoupled_weight_decay", decoupled)
    return {**options, "beta1": b1, "beta2": b2, "eps": number("eps"), "c1": 1 - b1**step,
            "c2": 1 - b2**step, "coupled": bool(options["decay"]) and not decoupled}


def _derivative(cls, args, wanted):
    """Compares what a function's backward pass says with differences of its forward pass, both in
    fp64, along three directions of each argument, near a point that it was called at: at the point
    itself a mask or a rectified zero may be a corner. Returns None, or of the argument that is off
    its number, the difference and what backward says.

    Differences over three widths tell how far they are off themselves; beyond eight times that, and
    64 roundings of the terms of the sum, in all three directions, backward is another function."""
    random = torch.Generator().manual_seed(0)

    def value(inputs):
        torch.manual_seed(0)  # for what draws masks
        outputs = cls.apply(*inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        outputs = [y for y in outputs if isinstance(y, torch.Tensor) and y.is_floating_point()]
        if any(y.dtype != torch.float64 for y in outputs):
            raise TypeError("it computes in fp32 whatever its arguments are")
        return outputs

    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        wide = [a.double() if isinstance(a, torch.Tensor) and a.is_floating_point() else a
                for a in args]
        _same(cls, args, value(_copies(wide)))
        scales = {i: float(wide[i].square().mean().sqrt()) or 1.0
                  for i, want in enumerate(wanted) if want and wide[i].numel()}
        for i, scale in scales.items():
            moved = torch.randn(wide[i].shape, generator=random, dtype=torch.float64)
            wide[i] = (wide[i] + scale / 64 * moved).requires_grad_()
        outputs = value(_copies(wide))
        weights = [torch.randn(y.shape, generator=random, dtype=torch.float64) for y in outputs]
        used = [(y, w) for y, w in zip(outputs, weights) if y.requires_grad]
        gradients = torch.autograd.grad([y for y, _ in used], [wide[i] for i in scales],
                                        [w for _, w in used], allow_unused=True)
        with torch.no_grad():
            for (i, scale), gradient in zip(scales.items(), gradients):
                gradient = torch.zeros_like(wide[i]) if gradient is None else gradient
                off = [_off(value, wide, i, scale, gradient, weights, random) for _ in range(3)]
                if all(off):
                    return i, *max(off, key=lambda pair: abs(pair[0] - pair[1]))
    return None


def _copies(args):
    return [a.clone() if isinstance(a, torch.Tensor) else a for a in args]


def _same(cls, args, wide):
    """Refuses a function that computes something else in fp64 than in its own formats, as one whose
    kernel knows no fp64 may. What is drawn depends on the format, and is not compared."""
    state = torch.random.get_rng_state()
    outputs = cls.apply(*_copies(args))
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    if not torch.equal(state, torch.random.get_rng_state()):
        return
    for y, want in zip((y for y in outputs if isinstance(y, torch.Tensor) and
                        y.is_floating_point()), wide):
        if not float((y.double() - want).norm()) <= float(want.norm()) / 4:
            raise ArithmeticError("it is another function in fp64")


def _off(value, wide, i, scale, gradient, weights, random):
    """The difference along a direction, and what the gradient says of it, if they differ."""
    along = torch.randn(wide[i].shape, generator=random, dtype=torch.float64)

    def terms(moved):
        inputs = [w.detach().clone() if isinstance(w, torch.Tensor) else w for w in wide]
        inputs[i] += moved * along
        weighted = [y * w for y, w in zip(value(inputs), weights)]
        return float(sum(t.sum() for t in weighted)), float(sum(t.abs().sum() for t in weighted))

    return slopes.parts(terms, scale, float((gradient * along).sum()))
