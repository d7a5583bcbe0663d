"""What is done to the gradients of parameters between two steps of an optimizer: whether those that
a step has used are cleared before the next ones are added to them, and whether somebody has divided
them by the scale of the loss."""

import weakref

import torch

_CLEARS = ("zero_", "_foreach_zero_", "fill_", "copy_", "_foreach_copy_")
_DIVIDES = {"div_": False, "_foreach_div_": False, "mul_": True, "_foreach_mul_": True}


class Gradients:
    def __init__(self):
        self.used = {}     # by a step: of each gradient its version then
        self.places = {}   # where they lie, and which do
        self.added = {}    # to those that were used
        self.by_hand = {}  # numbers that gradients were divided by

    def used_by(self, optimizer):
        """Keeps what an optimizer's step has used."""
        self.used, self.places, self.added, self.by_hand = {}, {}, {}, {}
        for grad in _of(optimizer):
            if grad.layout == torch.strided and grad.device.type != "meta":
                self.used[id(grad)] = weakref.ref(grad), grad._version
                self.places.setdefault(_place(grad), []).append(id(grad))

    def written(self, name, given):
        """Looks at an operator that is about to write into its first argument, or into the tensors
        of that list. Autograd adds to the gradient itself. Whatever else is written there, be it
        through another view, or through .data, which has no version in common, may clear it."""
        tensors = given[0] if isinstance(given[0], (tuple, list)) else given[:1]
        for tensor in tensors if self.places else ():
            seen, version = self.used.get(id(tensor), (lambda: None, 0))
            if name == "add_" and seen() is tensor and version == tensor._version:
                self.added[id(tensor)] = seen
                continue
            for key in self.places.get(_place(tensor), ()):
                if name in _CLEARS or key not in self.added:
                    self.used.pop(key, None)
                    self.added.pop(key, None)
        by = given[1] if name in _DIVIDES and len(given) > 1 else None
        if isinstance(by, torch.Tensor) and not by.dim() and by.device.type == "cpu":
            by = by.item()
        if isinstance(by, (int, float)) and by:
            for tensor in tensors:
                self.by_hand[id(tensor)] = (weakref.ref(tensor), 1 / by if _DIVIDES[name] else by)

    def kept(self, optimizer):
        """Whether an optimizer is about to use sums that nothing has cleared."""
        return any(self.added.get(id(grad), lambda: None)() is grad for grad in _of(optimizer))

    def divided(self, optimizer, scale):
        """Whether somebody has divided an optimizer's gradients by the scale."""
        for grad in _of(optimizer):
            tensor, by = self.by_hand.get(id(grad), (lambda: None, 0))
            if tensor() is grad and scale != 1 and abs(by / scale - 1) < 1e-6:
                return True
        return False


def _place(tensor):
    return tensor.untyped_storage().data_ptr() if hasattr(tensor, "untyped_storage") else \
        tensor.storage().data_ptr()


def _of(optimizer):
    return [p.grad for group in optimizer.param_groups for p in group["params"]
            if p.grad is not None]
