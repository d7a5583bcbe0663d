"""What a watch has seen of a training in torch."""

import math

import torch

from .. import seen

Line = seen.Line

# They put infinities where somebody wants them.
MEANT = ("full", "fill", "masked_fill", "where", "full_like", "new_full", "scalar_tensor", "copy",
         "_to_copy", "clone", "cat", "stack", "index", "index_put", "triu", "tril", "embedding")


class Seen(seen.Seen):
    """What was seen, and how tensors are looked at."""

    backend, version = "torch", torch.__version__

    def look(self, name, line, arguments, outputs):
        """Keeps where the first infinity and the first NaN were made: out of inputs that had
        none."""
        if name.rstrip("_") in MEANT or len(self.first) == 2:
            return
        if all(map(_finite, _floats(outputs))):
            return
        for kind, test in (("infinity", torch.isinf), ("NaN", torch.isnan)):
            if kind in self.first or not _any(outputs, test):
                continue
            if not _any(arguments.values(), test) and (kind == "NaN" or
                                                       not _any(arguments.values(), torch.isnan)):
                largest = max((float(t.detach().abs().max()) for t in _floats(arguments.values())
                               if t.numel()), default=None)
                self.first[kind] = (line, largest)

    def moved(self, line, pairs):
        """Takes pairs of what an operator was to hand on, and what it did."""
        from .slices import differing

        pairs = [(want.reshape(-1), got.reshape(-1)) for want, got in pairs]
        wrong, first = sum(differing(want, got) for want, got in pairs), None
        if wrong:
            want, got = next(pair for pair in pairs if differing(*pair))
            place = int((want != got).nonzero()[0]) if (want != got).any() else 0
            first = float(want[place]), float(got[place])
        self.handed_on(line, sum(got.numel() for _, got in pairs), wrong, first)

    def compare(self, other):
        """What differs from another run: a watch's, what traces.read gives, the folder of a report,
        or the seen.json in it. Both have been asked for their trace."""
        from . import traces

        if not any(view.name == "trace" for view in self.views):
            raise ValueError("this run has no calls: watch it with trace=True")
        other = other.said() if isinstance(other, Seen) else other
        return traces.Difference(self.said(), other if isinstance(other, dict) else
                                 traces.read(other))


def _floats(values):
    for value in values:
        if isinstance(value, torch.Tensor):
            if value.is_floating_point():
                yield value
        elif isinstance(value, (tuple, list)):
            yield from _floats(value)


def _any(values, test):
    return any(bool(test(tensor).any()) for tensor in _floats(values))


def _finite(tensor):
    """Whether it has neither an infinity nor a NaN, in one reading."""
    if not tensor.numel():
        return True
    tensor = tensor.detach()
    if tensor.element_size() == 1:
        tensor = tensor.float()
    try:
        low, high = torch.aminmax(tensor)
    except RuntimeError:  # of fp16, in an older PyTorch
        return bool(torch.isfinite(tensor).all())
    return math.isfinite(low) and math.isfinite(high)
