"""How a call of halfcheck becomes a call of a Python function: by the names of its parameters.

A parameter may be named as an input slot (w, g, x, dy), as one of the op's parameters (beta2, eps,
stride), as an element of `hyper` (lr, beta1, step, as Python numbers), or out_format, out_dtype and
out_shape, which say what the first output is. A call that asks for something which the function
does not take, say eps_inside, is refused, unless it asks for what the function does anyhow.
"""

import contextlib
import functools
import inspect

import numpy as np

from . import arrays
from .arrays import Unsupported
from .formats import dtype_of, name_of

HYPER = ("lr", "beta1", "step")
OUT = ("out_format", "out_dtype", "out_shape")

# What a function does that lacks the parameter. Parameters that are off, and fp32 as the arithmetic,
# need no row.
_UNSAID = {"alpha": 1, "beta": 0, "stride": 1, "pad": 0, "weight_decay": 0, "direction": "nearest"}
_FREE = {"order"}  # it may have any: halfcheck --order says which it is held to

# The same by op, as PyTorch has them. The first part of a name stands for all ops that begin so.
_DEFAULTS = {"bn_": {"eps": 1e-5, "momentum": 0.1}, "adam": {"eps": 1e-8, "beta2": 0.999}}

# Optional inputs that change the result where they are given.
_OPTIONAL = ("c", "compensation", "found_inf", "order", "overflowed", "override", "partial")

# all_reduce's parameters that x.mean(0) has never heard of.
_AVERAGE = {"algorithm", "sum", "before", "after"}

# Numbers that a function may have of its own.
_NUMBERS = ("eps", "momentum", "beta2")

_FLOATS = ("fp64", "fp32", "bf16", "fp16")


class Op:
    """A function for an op, with the formats of the first input and the orders that it takes.

    With `raw` the function gets one argument, a Call, and gives a dict of arrays by output slot.
    `names` and `fixed` are those of a Binding.
    """

    def __init__(self, function, formats=None, orders=None, raw=False, names=None, fixed=None):
        if not callable(function):
            raise TypeError(f"{function!r} is not callable")
        for name in formats or ():
            dtype_of(name)
        self.function = function
        self.formats = list(formats) if formats is not None else None
        self.orders = list(orders) if orders is not None else None
        self.raw = raw
        self.names, self.fixed = dict(names or {}), dict(fixed or {})

    def binding(self):
        """How its function is called."""
        return Binding(self.function, self.names, self.fixed)

    def greeting(self):
        """What the greeting says of it."""
        said = {"formats": self.formats, "orders": self.orders}
        return {key: value for key, value in said.items() if value is not None}


def _asked(function):
    """What says which arguments there are: of a module of torch its forward. TypeError if it has
    weights, which it would keep whatever a call says."""
    module = getattr(function, "__self__", function)  # of a method, such as module.forward
    if not (hasattr(module, "forward") and hasattr(module, "named_parameters")):
        return function
    kept = [name for name, _ in module.named_parameters()]
    if kept:
        raise TypeError(
            f"{type(module).__name__} is a module that keeps its {_list(kept)}: give a function "
            f"of all inputs, such as lambda x, w: torch.func.functional_call(module, "
            f"{{{kept[0]!r}: w}}, (x,))")
    return module.forward


class Binding:
    """A function with what its signature asks for. `names` gives its own names for an op's inputs,
    and `fixed` the parameters that it has always, as linear has transpose_b."""

    def __init__(self, function, names=None, fixed=None):
        self.function = function
        self.meant, self.fixed = dict(names or {}), dict(fixed or {})
        self.name = getattr(function, "__name__", type(function).__name__)
        self.names, self.required, self.positional = [], set(), None
        self.takes_all = False
        asked = _asked(function)
        try:
            parameters = inspect.signature(asked).parameters.values()
        except (ValueError, TypeError):
            return  # built in: it gets the inputs in their order
        if isinstance(function, np.ufunc):
            return
        self.positional = [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY]
        self.takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
        self.names = [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        self.required = {p.name for p in parameters if p.name in self.names and
                         p.default is p.empty}
        if not self.names and not self.takes_all:
            self.positional = None

    def check(self, op, known, slots=()):
        """TypeError if a required parameter is none of the `known` names. A function all of whose
        names stand for `slots` in their order, as `lambda x, w: x @ w`, gets these."""
        unknown = [name for name in self.names if name in self.required and
                   self.meant.get(name, name) not in known]
        wanted = [name for name in self.names if name in self.required]
        if unknown and self._in_order(wanted, known, slots):
            self.meant.update(zip(wanted, (slot["name"] for slot in slots)))
            unknown = []
        if unknown:
            raise TypeError(f"{self.name} wants {_list(unknown)}, and {op} has no such thing. "
                            f"Its names: {', '.join(known)}")

    def _in_order(self, wanted, known, slots):
        least = sum(not slot["optional"] for slot in slots)
        if not least <= len(wanted) <= len(slots):
            return False
        # A known name in another place would say that the names are meant, and one is misspelt.
        return all(name not in known or name == slot["name"]
                   for name, slot in zip(wanted, slots))

    def arguments(self, call, known):
        """The arguments for a call; `known()` are all names that its op has."""
        if self.positional is None:
            return list(call.inputs.values()), {}
        values = call.values()
        if self._turns(call):
            turned = values["b"].T  # a kernel may know nothing of strides
            turned = turned.contiguous() if hasattr(turned, "contiguous") else turned.copy()
            values = {**values, "b": turned}
        if self.takes_all:
            return [], values
        chosen = {}
        for name in self.names:
            if self.meant.get(name, name) in values:
                chosen[name] = values[self.meant.get(name, name)]
            elif name in self.required:
                self.check(call.op, known())
                chosen[name] = None  # an optional slot that is absent
        leading = [chosen.pop(name) for name in self.positional if name in chosen]
        return leading, chosen

    def assumed(self, params):
        """The numbers of these that the function does not take, and was thought to have."""
        names = {self.meant.get(name, name) for name in self.names}
        return {} if self.takes_all else {name: params[name] for name in _NUMBERS
                                          if name in params and name not in names}

    def absent(self, slots):
        """The inputs that it does not take, though no call is without them."""
        names = {self.meant.get(name, name) for name in self.names}
        if self.takes_all or self.positional is None:
            return []
        return [slot["name"] for slot in slots if not slot["optional"] and
                slot["name"] not in names and slot["name"] != "hyper"]

    def refusal(self, call):
        """Why it does not take the call, whatever the numbers are; or None."""
        if self.takes_all:
            return None
        named = {self.meant.get(name, name) for name in self.names}
        required = {self.meant.get(name, name) for name in self.required}
        for name, value in call.params.items():
            if name in self.fixed and name not in named:
                if name == "transpose_b" and self._turns(call):
                    continue
                if value != self.fixed[name] and not (name == "beta" and "c" not in call.inputs):
                    return f"it always has {name} {self.fixed[name]}"
            elif name not in named and not self._as_usual(name, value, call):
                return f"it takes no {name}, which is {value}"
        if self.positional is None:
            return None  # it gets all inputs
        if call.op == "sgd" and not {"momentum", "beta1", "hyper"} & named and \
                call.params["weight_decay"] != 0:
            return "it takes no momentum"  # which the other calls have
        if "c" in required and "c" not in call.inputs:
            return "it always adds c, which is absent"
        for slot in _OPTIONAL:
            # Without found_inf an optimizer's whole step is left out: skips().
            if slot in call.inputs and slot not in named and \
                    not (slot == "found_inf" and "hyper" in call.inputs):
                return f"it takes no {slot}"
        return None

    def _turns(self, call):
        """Whether a linear layer without a bias gets the weight of a plain product, turned: all
        calls with a transposed one have a bias."""
        taken = {self.meant.get(name, name) for name in self.names}
        return self.fixed.get("transpose_b") is True and \
            not taken & {"c", "transpose_a", "transpose_b"} and "c" not in call.inputs and \
            not call.params.get("transpose_a") and not call.params.get("transpose_b")

    def _as_usual(self, name, value, call):
        # A function that takes c and no beta adds c.
        if name == "beta" and "c" in call.inputs and \
                "c" in {self.meant.get(own, own) for own in self.names}:
            return value == 1
        # One that averages over ranks divides by their number once, in whatever order it adds.
        if call.op == "all_reduce" and name in _AVERAGE and not _AVERAGE & set(self.names):
            usual = {"before": 1, "after": len(call.hosts["x"]), "sum": "fp32"}
            return name == "algorithm" or value == usual[name]
        return _as_usual(name, value, call)

    def skips(self, call):
        """Whether it is not asked: it knows no found_inf, so that whoever calls it looks at that,
        and leaves the step out."""
        return "found_inf" in call.hosts and "hyper" in call.hosts and not self.takes_all and \
            "found_inf" not in self.names and call.hosts["found_inf"][0] != 0


def _as_usual(name, value, call):
    """Whether a function that has never heard of the parameter does what the call asks for."""
    if value is False or name in _FREE or name in _UNSAID and value == _UNSAID[name]:
        return True
    for start, defaults in _DEFAULTS.items():
        if call.op.startswith(start) and name in defaults and \
                np.float32(value) == np.float32(defaults[name]):
            return True
    if name in ("arithmetic", "accumulator"):
        return value in ("fp32", call.format) if call.format == "fp64" else value == "fp32"
    if name in ("seed", "first"):
        return call.params.get("stochastic") is False
    if name == "eps" and call.op.endswith("_bwd"):  # batch norm's: it is in invstd
        return True
    return name == "eps" and np.float32(value) == np.float32(_usual_eps(call.op))


@functools.lru_cache(maxsize=None)
def _usual_eps(op):
    """That of a norm's definition; NaN where there is none, or no program that could be asked."""
    from . import program
    with contextlib.suppress(OSError, program.Error):
        return next((float(row["usual"]) for row in program.op_named(op).get("params", [])
                     if row["name"] == "eps" and "_norm" in op), np.nan)
    return np.nan


class Call:
    """A call: op, format (of the first input), inputs by slot, outputs as (format, shape) by slot,
    and params, numbers as Python numbers."""

    def __init__(self, line, inputs, make, dtypes):
        self.op = line["op"] if "op" in line else line["define"]
        self.format = next(iter(line["in"].values()))["format"]
        self.hosts = inputs
        self.inputs = {slot: make(array) for slot, array in inputs.items()}
        self.outputs = {slot: (tensor["format"], tuple(tensor["shape"]))
                        for slot, tensor in line["out"].items()}
        self.params = {name: _value(value) for name, value in line.get("params", {}).items()}
        self.dtypes = dtypes

    def values(self):
        """All that a function's parameter may be named as."""
        values = {**self.params, **self.inputs}
        if "hyper" in self.hosts:
            lr, beta1, step = self.hosts["hyper"].tolist()
            # Steps count from 1. halfcheck sends zeros to see whether a refusal depends on values.
            values.update(lr=lr, beta1=beta1, step=max(1, int(step)))
        name, shape = next(iter(self.outputs.values()))
        values.update(out_format=name, out_dtype=self.dtypes.get(name), out_shape=shape)
        return values


def known_names(slots, params):
    """The names that a function for an op may have: of its input slots and parameters."""
    names = list(slots)
    if "hyper" in names:
        names[names.index("hyper") + 1:names.index("hyper") + 1] = HYPER
    return names + [name for name in params if name not in names] + list(OUT)


def unchanged(call):
    """The outputs of a step that is left out: each is its input."""
    return {slot: call.hosts[slot[4:]] for slot in call.outputs}


def outputs(result, call, name):
    """The function's results as numpy arrays by output slot, of the formats and shapes that the
    call asks for. TypeError if they are of others; Unsupported if they are of another float
    format, as those of functions that know no out_format."""
    result = _by_slot(result, call, name)
    given = {}
    for slot, want in call.outputs.items():
        if slot in result:
            given[slot] = _fitting(result[slot], want, slot, name)
        elif (call.op, slot) in _FILLS:
            given[slot] = _FILLS[call.op, slot](call.hosts)
        else:
            raise TypeError(f"{name} gave no {slot}; {call.op} has the outputs "
                            f"{', '.join(call.outputs)}")
    return given


def _by_slot(result, call, name):
    wanted = call.outputs
    if result is None:  # it has worked in place
        result = {slot: call.inputs[slot[4:]] for slot in wanted
                  if slot.startswith("new_") and slot[4:] in call.inputs}
        if not result:
            raise TypeError(f"{name} returned None; the outputs are {', '.join(wanted)}")
        return result
    if isinstance(result, dict):
        strange = [slot for slot in result if slot not in wanted]
        if strange:
            raise TypeError(f"{name} gave {_list(strange)}; the outputs are {', '.join(wanted)}")
        return result
    if not isinstance(result, (tuple, list)):
        result = (result,)
    if len(result) > len(wanted):
        raise TypeError(f"{name} returned {len(result)} results; the outputs are "
                        f"{', '.join(wanted)}")
    return dict(zip(wanted, result))


def _fitting(value, want, slot, name):
    wanted, shape = want
    dtype = dtype_of(wanted)
    try:
        array = arrays.to_numpy(value, dtype)
    except (TypeError, RuntimeError, ValueError, BufferError) as error:
        raise TypeError(f"{name} gives {slot} as {_kind(value)}, not as an array of {wanted}: "
                        f"{error}") from error
    if array.dtype != dtype:
        line = f"{name} gives {slot} in {name_of(array.dtype)} where {wanted} is asked for"
        raise Unsupported(line) if name_of(array.dtype) in _FLOATS else TypeError(line)
    if array.shape != shape:
        if array.size != 1 or shape != (1,):  # a loss has no axes in torch and jax
            raise TypeError(f"{name} gives {slot} of shape {list(array.shape)}, "
                            f"not {list(shape)}")
        array = array.reshape(shape)
    return array


def _kind(value):
    """What people call it: torch.bool, str."""
    return str(getattr(value, "dtype", type(value).__name__))


def _correct(inputs):
    """xent's count of right rows, of which most losses know nothing: not theirs to be judged by."""
    logits = np.asarray(inputs["logits"], np.float64)
    label = np.asarray(inputs["labels"])
    rows = np.arange(len(label))
    own = logits[rows, label]
    with np.errstate(invalid="ignore"):
        # argmax takes a NaN for the largest. The label is right if nothing is larger, and
        # nothing before it is equal.
        larger = (logits > own[:, None]).any(axis=1)
        before = (logits == own[:, None]) & (np.arange(logits.shape[1]) < label[:, None])
    right = ~np.isnan(own) & ~larger & ~before.any(axis=1)
    wide = np.float64 if inputs["logits"].dtype == np.float64 else np.float32
    return np.array([right.sum()], wide)


def _gradient(inputs):
    """The momentum of a step that has none: beta1 is 0, and there is no decay."""
    return inputs["g"].astype(inputs["momentum"].dtype)


_FILLS = {("xent", "correct"): _correct, ("sgd", "new_momentum"): _gradient}


def _value(value):
    """A parameter's value. Numbers come as hex floats, since JSON has no exact ones."""
    if isinstance(value, list):
        return [_value(element) for element in value]
    if not isinstance(value, str):
        return value
    digits = value.lstrip("-")
    if digits in ("inf", "nan") or digits.startswith("0x") and "p" in digits:
        return float.fromhex(value)
    return int(value, 16) if digits.startswith("0x") else value


def _list(names):
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
