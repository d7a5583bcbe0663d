"""What a view of a watch is told of a call, and what all views have (views.py)."""

import torch

from .layers import caller


class Call:
    """What a view is told of a call: the operator, and where it was called."""

    def __init__(self, func, overload, call, layers):
        self.func, self.operator = func, overload
        self.name = func._schema.name.split("::")[-1]
        self.given, self.keywords, self.arguments = call.given, call.keywords, call.args
        self.where, self.phase = caller()
        self.path = tuple(layers.backward if self.phase == "backward" else layers.path)
        self.layer = self.path[-1] if self.path else ""
        # Autograd's own functions run without it, and what they give may have a gradient.
        self.forward = self.phase == "forward" or torch.is_grad_enabled()

    def place(self):
        """The layer and, if it is no forward pass, which one."""
        place = self.layer or "outside of layers"
        return place if self.phase == "forward" else f"{place}, {self.phase}"


class View:
    """What all of them have."""

    name = ""  # of its part of seen.json

    def __init__(self):
        self.failures = {}

    def failed(self, why):
        """Counts what it could not see."""
        self.failures[why] = self.failures.get(why, 0) + 1

    def begin(self, step, layers):
        """A step that is watched begins. layers: which one runs (layers.py)."""

    def end(self):
        """It has ended."""

    def meet(self):
        """An operator is about to run."""

    def before(self, call):
        """A call that makes numbers is about to run."""

    def after(self, call, results):
        """It has run."""

    def optimizing(self, optimizer):
        """A step of the optimizer begins."""

    def optimized(self, optimizer):
        """It has ended."""

    def told_failures(self):
        return [f"  {count:6}  not seen: {why}" for why, count in self.failures.items()]
