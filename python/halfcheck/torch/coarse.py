"""Results that are right, and coarser than what is made of them: angles whose neighbours lie far
apart, updates that change nothing, gradients of many passes that are added up in 16 bits. Each line
states what was seen. It may be meant, so that nothing is called wrong for it."""

import torch

_LOW = {torch.bfloat16: "bf16", torch.float16: "fp16"}

_APART = 0.25      # of angles, in radians
_UNCHANGED = 0.9   # of the numbers that were to change
_PASSES = 5


class Coarse:
    """Looks at some operators of a watched step, and keeps a line of each kind and where it was."""

    def __init__(self):
        self.lines, self.sums = {}, {}

    def before(self, name, call):
        """Keeps what an operator is going to write over, where that is wanted."""
        target = call.given[0]
        wanted = name in ("lerp_", "mul_") and isinstance(target, torch.Tensor) and \
            target.dtype in _LOW
        call.old = target.clone() if wanted else None

    def look(self, name, line, call):
        """Looks at a call that has run."""
        x = call.given[0] if call.given else None
        if not isinstance(x, torch.Tensor) or x.dtype not in _LOW or not x.numel():
            return
        if name in ("cos", "sin"):
            self._angles(name, line, x)
        elif name == "add_" and line.phase == "backward":
            self._summed(line, x)
        elif call.old is not None:
            self._updated(name, line, call, x)

    def _say(self, words, line):
        self.lines.setdefault(words, f"{line.place()}; {line.where}")

    def _angles(self, name, line, x):
        form = _LOW[x.dtype]
        largest = float(x.detach().abs().max())
        apart = torch.finfo(x.dtype).eps * 2.0 ** (torch.frexp(torch.tensor(largest))[1].item() - 1)
        if apart >= _APART and largest < float("inf"):
            self._say(f"{name} of angles in {form}, up to {largest:g}, where neighbours lie "
                      f"{apart:g} apart", line)

    def _summed(self, line, x):
        """Gradients that are added to a parameter's: each addition is the next version of one
        tensor, and whatever else is done to it breaks the row."""
        key = x.data_ptr(), x.numel()
        version, count = self.sums.get(key, (None, 1))
        count = count + 1 if version is not None and x._version == version + 1 else 2
        self.sums[key] = x._version, count
        if count >= _PASSES:
            self._say(f"gradients of {_PASSES} backward passes or more are added up in "
                      f"{_LOW[x.dtype]}", line)

    def _updated(self, name, line, call, x):
        by = call.given[1]
        if name == "mul_":
            if isinstance(by, torch.Tensor) and by.dim() or float(by) == 1:
                return
            meant = (call.old != 0) & call.old.isfinite()
        else:
            meant = by != call.old
        count = int(meant.sum())
        same = int(((x.detach() == call.old) & meant).sum())
        if count >= 16 and same > _UNCHANGED * count:
            what = "an average takes in" if name == "lerp_" else "a factor changes"
            self._say(f"{what} nothing in {_LOW[x.dtype]} of most numbers", line)
