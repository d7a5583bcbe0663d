"""An operator in wide arithmetic: the same call with every number in fp64. What an operator's own
rounding is, and what a chain of them has come to, is told by it. It is PyTorch's own fp64, whose
errors are 2^-29 of fp32's; verdicts come from halfcheck and never from here."""

import contextlib

import torch
from torch.utils import _python_dispatch

# What draws random numbers would draw others; what makes no numbers of numbers has none to widen.
DRAWS = ("bernoulli", "exponential", "multinomial", "normal", "poisson", "rand", "rand_like",
          "randint", "randn", "randn_like", "randperm", "random", "uniform", "native_dropout",
          "rrelu_with_noise", "_fused_dropout", "alpha_dropout")


# What a watch computes is no part of the training: no other mode sees it.
@contextlib.contextmanager
def _guarded():
    guard = torch._C._DisableTorchDispatch()
    try:
        yield
    finally:
        del guard


_without_modes = getattr(_python_dispatch, "_disable_current_modes", _guarded)
_modes = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 1)
_nothing = contextlib.nullcontext()


def alone():
    """A context without modes. Within a mode's call there mostly is none, which costs nothing."""
    return _without_modes() if _modes() else _nothing


class NotWide(Exception):
    """Why a call has no form in wide arithmetic."""


def tensors(values):
    """The tensors in arguments or results, lists included."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from tensors(value)


def numbers(values):
    """Those of them that have floating-point numbers."""
    return [tensor for tensor in tensors(values) if tensor.is_floating_point()]


def plain(tensor):
    """The numbers as they are, in fp64, in memory of their own."""
    return tensor.detach().to(torch.float64, copy=True)


def error(got, want):
    """How far numbers are from what is wanted, in fp64; infinities and NaNs that are wanted are
    right."""
    got, want = got.detach().double(), want.reshape(got.shape)
    same = (got == want) | (got.isnan() & want.isnan())
    return torch.where(same, torch.zeros_like(want), got - want)


def _lifted(value, lift):
    if isinstance(value, torch.Tensor):
        return lift(value) if value.is_floating_point() else value.clone()
    if isinstance(value, (tuple, list)):
        return type(value)(_lifted(inner, lift) for inner in value)
    if isinstance(value, torch.dtype) and value.is_floating_point:
        return torch.float64
    return value


def run(func, args, kwargs, lift=plain):
    """What the call gives when lift(tensor) stands for each of its tensors of numbers: a list of
    the results, and one of what it has written. Call it before the call itself, which may write
    over its inputs. NotWide if there is nothing to compute, or torch cannot."""
    name = func._schema.name.split("::")[-1].rstrip("_")
    if name in DRAWS:
        raise NotWide("its numbers are random")
    if not numbers([*args, *kwargs.values()]):
        raise NotWide("it is given no numbers")
    args, kwargs = _lifted(tuple(args), lift), {k: _lifted(v, lift) for k, v in kwargs.items()}
    if name in ("_softmax", "_log_softmax"):
        args = (*args[:2], False)  # half_to_float is for half precision alone
    try:
        with torch.no_grad():
            results = func(*args, **kwargs)
    except (RuntimeError, TypeError, NotImplementedError, ValueError) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise NotWide(f"fp64 is refused: {said[:120]}") from error
    return list(tensors([results])), written(func, args, kwargs)


def written(func, args, kwargs):
    """What a call writes into of its arguments, in the order of its schema."""
    found = []
    for place, argument in enumerate(func._schema.arguments):
        if argument.alias_info and argument.alias_info.is_write:
            value = args[place] if place < len(args) else kwargs.get(argument.name)
            found += tensors([value])
    return found
