"""Which layer an operator belongs to, forward and backward, and which line of the user's code
called it."""

import os
import sys
import weakref

import torch
from torch.nn.modules import module as _module

_HERE = os.path.dirname(os.path.abspath(__file__))
_TORCH = os.path.dirname(os.path.abspath(torch.__file__))


class Layers:
    """Follows the modules that run. Forward, they say so themselves. Backward, the gradient of a
    module's output announces it, and the gradient of its input ends it; the operators between
    belong to it."""

    def __init__(self):
        self.path, self.names, self.backward = [], {}, []
        self.handles, self.outermost = [], {}

    def models(self):
        """The modules that were called from outside of all others, as far as they still exist."""
        return [model for model in (made() for made in self.outermost.values())
                if model is not None]

    def open(self):
        self.handles = [_module.register_module_forward_pre_hook(self._enter),
                        _module.register_module_forward_hook(self._leave)]

    def close(self):
        for handle in self.handles:
            handle.remove()
        self.handles, self.path, self.backward = [], [], []

    def now(self, backward):
        """The name of the innermost layer, or ''."""
        path = self.backward if backward else self.path
        return path[-1] if path else ""

    def _enter(self, module, inputs):
        if not self.path:
            self.outermost[id(module)] = weakref.ref(module)
            for name, inner in module.named_modules():
                self.names[id(inner)] = name or type(module).__name__
        before = list(self.path)
        self.path.append(self.names.get(id(module), type(module).__name__))
        self._mark(inputs, before)

    def _leave(self, module, inputs, outputs):
        self._mark(outputs, list(self.path))
        if self.path:
            self.path.pop()

    def _mark(self, tensors, path):
        """The gradient of these tensors begins that path; of a tensor that leaves one layer and
        enters another, or leaves several, that of the innermost one that made it."""
        for tensor in _tensors(tensors):
            if tensor.requires_grad and not hasattr(tensor, "_halfcheck_marked"):
                tensor._halfcheck_marked = True
                tensor.register_hook(lambda _, path=path: self._set(path))

    def _set(self, path):
        self.backward = path


def _tensors(values):
    if isinstance(values, torch.Tensor):
        yield values
    elif isinstance(values, (tuple, list)):
        for value in values:
            yield from _tensors(value)
    elif isinstance(values, dict):
        yield from _tensors(tuple(values.values()))


_KINDS = {}  # of the files that frames are of, and their names


def _kind(path):
    """What a frame's file tells: where of PyTorch it lies, a line of the user's, or nothing."""
    if path.startswith(_TORCH):
        rest = path[len(_TORCH):].replace(os.sep, "/")
        return "autograd" if rest.startswith("/autograd/") else "optimizer" if rest.startswith(
            ("/optim/", "/cuda/amp/grad_scaler", "/amp/grad_scaler")) else ""
    return "" if path.startswith(_HERE) or path.startswith("<") else "user"


def caller():
    """Where the running operator was called: 'file.py:12', and whether it is of the forward pass,
    of the backward pass or of the optimizer."""
    frame, phase = sys._getframe(1), "forward"
    while frame:
        code = frame.f_code
        kind = _KINDS.get(code.co_filename)
        if kind is None:
            kind = _KINDS[code.co_filename] = (_kind(code.co_filename),
                                               os.path.basename(code.co_filename))
        kind, name = kind
        if kind == "user":
            return f"{name}:{frame.f_lineno}", phase
        if kind == "autograd" and code.co_name in ("backward", "grad"):
            phase = "backward"
        elif kind == "optimizer" and phase == "forward":
            phase = "optimizer"
        frame = frame.f_back
    return "", phase
