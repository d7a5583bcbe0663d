"""Imports single modules of a package's own source, with stand-ins for all that they import.

A loss scaler's rule is a few lines of Python, which need neither tensors nor a GPU. What stands around
them here is a tensor of one number, and mocks that accept everything.
"""
import importlib.machinery
import importlib.util
import math
import os
import sys
import types
from unittest import mock


class Tensor:
    """A tensor of one element, which is its own data."""

    def __init__(self, value=0.0):
        self.value, self.grad, self.requires_grad = float(value), None, True

    @property
    def data(self):
        return self

    def clone(self):
        return Tensor(self.value)

    float = detach = sum = clone

    def __float__(self):
        return self.value

    def size(self):
        return (1,)

    def new(self, *size):
        return Tensor()

    def copy_(self, other):
        self.value = other.value

    def div_(self, scale):
        """IEEE's division, as torch's: by 0 too."""
        self.value = self.value / scale if scale else self.value * math.inf
        return self

    __itruediv__ = div_

    def __imul__(self, scale):
        self.value *= scale
        return self


class StandIn(types.ModuleType):
    """A module with the names it is given; any other name that is asked for is a mock."""

    def __init__(self, name, names):
        super().__init__(name)
        self.__dict__.update(names, __path__=[])

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self.__dict__[name] = mock.MagicMock(name=name)
        return self.__dict__[name]


class Finder:
    """The modules `own` come from the folder `root`; all others of the packages in `replaced` are
    stand-ins, with the names that `given` has for them."""

    def __init__(self, root, own, replaced, given):
        self.root, self.own, self.replaced, self.given = root, own, replaced, given

    def find_spec(self, name, path=None, target=None):
        if name in self.own:
            file = os.path.join(self.root, *name.split(".")) + ".py"
            return importlib.util.spec_from_file_location(name, file)
        if name.split(".")[0] in self.replaced:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return StandIn(spec.name, self.given.get(spec.name, {}))

    def exec_module(self, module):
        pass


def load(root, own, replaced, given):
    """Imports the modules `own` in that order; the last."""
    sys.meta_path.insert(0, Finder(root, own, replaced, given))
    for name in own:
        module = importlib.import_module(name)
    return module


def drive(start):
    """Stands between gen and verify. start(initial, interval) gives two functions: one takes a step
    whose gradients hold a number, the other says the scale."""
    for line in sys.stdin:
        if line.startswith("#"):
            print(line, end="")
            words = line.split()
            interval = int(words[words.index("--interval") + 1])
            step, scale = start(float.fromhex(words[words.index("--initial") + 1]), interval)
            continue
        number, steps, found = line.split()
        try:
            step(float(found))
            print(number, steps, found, float(scale()).hex())
        except Exception as error:
            print("raised:", repr(error), file=sys.stderr)
            print(number, steps, found, "raises")
            return
