"""Master weights and their copies in 16 bits in a model. A copy that stays what it was, though its
master has moved and other copies have followed theirs, was forgotten."""

import weakref

import torch

_ELEMENTS = 256
_LOW = (torch.bfloat16, torch.float16)


class Copies:
    """Pairs of an optimizer's parameters in fp32 and a model's in 16 bits that are their rounding,
    bit for bit. They are found before a step, and looked at before the next one that is watched."""

    def __init__(self, layers):
        self.layers, self.pairs = layers, {}

    def forgotten(self, optimizer):
        """Whether a copy was forgotten since this optimizer's last watched step."""
        followed = stale = 0
        for master, copy, places, old in self.pairs.get(id(optimizer), ()):
            master, copy = master(), copy()
            if master is None or copy is None or copy.numel() != master.numel():
                continue
            now, want = _at(copy, places), _at(master, places)
            if torch.equal(now, old):
                far = (want - now.float()).abs() > torch.finfo(now.dtype).eps * want.abs()
                stale += 2 * int(far.sum()) > len(far)
            else:
                followed += 1
        self.pairs[id(optimizer)] = list(self._found(optimizer))
        return bool(stale and followed)

    def _found(self, optimizer):
        """Those that can be no other pair's: constant ones, such as biases, may be anybody's."""
        free = {id(p): p for model in self.layers.models() for p in model.parameters()
                if p.dtype in _LOW and p.numel() and p.layout == torch.strided}
        masters = [p for group in optimizer.param_groups for p in group["params"]
                   if p.dtype == torch.float32 and p.numel() and p.layout == torch.strided]
        for master in masters if free else ():
            alike = [p for p in free.values() if p.shape == master.shape and
                     p.device == master.device and torch.equal(p, master.to(p.dtype))]
            if len(alike) == 1 and bool((master != master.reshape(-1)[0]).any()):
                count = master.numel()
                places = torch.linspace(0, count - 1, min(count, _ELEMENTS)).long()
                yield (weakref.ref(master), weakref.ref(alike[0]), places,
                       _at(alike[0], places))


def _at(tensor, places):
    return tensor.detach().reshape(-1)[places.to(tensor.device)].clone()
