"""halfcheck.jax.watch: a sanitizer for the numerics of a step of jax.

    step = halfcheck.jax.watch(step, every=100)
    for batch in batches:
        state, loss = step(state, batch)
    print(step.seen)
    assert step.seen.ok()

A step that is watched is traced, and the equations of its jaxpr run once more, one by one, each on
what the one before it has made; some elements of each result are judged by the equation's
definition (equations.py). What the step itself returns is handed on, and has the bits that it has
without a watch."""

import os
import random
import tempfile

import numpy as np

import jax
from jax.extend.core import Literal

from .. import program as _program
from .. import safetensors, seen
from ..judging import Judges
from . import equations
from .gradients import Written

_HERE = os.path.dirname(os.path.abspath(__file__))
_JAX = os.path.dirname(os.path.abspath(jax.__file__))
_INSIDE = ("jaxpr", "call_jaxpr", "fun_jaxpr")
_KINDS = {"fp64": "F64", "fp32": "F32", "bf16": "BF16", "fp16": "F16", "e4m3": "F8_E4M3",
          "e5m2": "F8_E5M2"}
_LOW = ("bf16", "fp16")
_HANDED_ON = ("reshape", "squeeze", "expand_dims", "transpose", "broadcast_in_dim", "slice", "rev",
              "copy")
_SHIFTED = ("jvp", "transpose", "vmap", "jit", "checkpoint", "rematted_computation", "remat")


class Seen(seen.Seen):
    """What was seen of a step of jax."""

    backend, version = "jax", jax.__version__

    def look(self, line, given, results):
        """Keeps where the first infinity and the first NaN were made: out of inputs that had
        none."""
        given, results = ([x for x in values if x.dtype in equations.FORMATS] for values in
                          (given, results))
        if len(self.first) == 2 or all(np.isfinite(y).all() for y in results):
            return
        for kind, test in (("infinity", np.isinf), ("NaN", np.isnan)):
            if kind in self.first or not any(test(y).any() for y in results):
                continue
            if not any(test(x).any() or np.isnan(x).any() for x in given):
                largest = max((float(np.abs(x.astype(np.float64)).max()) for x in given if x.size),
                              default=None)
                self.first[kind] = (line, largest)


class watch:
    """A step that is watched; called as the step is. every: of so many calls one is watched, the
    first one included. seed: of the choice of elements."""

    def __init__(self, step, every=1, seed=0):
        if every < 1:
            raise ValueError(f"every is {every}, and not 1 or more")
        _program.path()
        self.step, self.every, self.count = step, every, 0
        self.random = random.Random(seed)
        self.folder = tempfile.TemporaryDirectory(prefix="halfcheck-watch-")
        self._seen = Seen(self.folder)
        self._seen.seed = seed
        self.judges = Judges(self.folder.name, self._seen, _write, equations.FORMATS)
        self.questions, self.narrow = [], {}
        self.__name__ = getattr(step, "__name__", "step")

    @property
    def seen(self):
        """What was seen until now."""
        self.judges.finish()
        return self._seen

    def __call__(self, *args, **kwargs):
        if self.count % self.every == 0:
            # Before the step, which may be given its arguments to keep.
            self._watch(args, kwargs)
        self.count += 1
        return self.step(*args, **kwargs)

    def _watch(self, args, kwargs):
        written = Written()
        self.questions, self.narrow, kept = [], {}, []
        try:
            closed, given = _traced(self.step, args, kwargs, written)
        except Exception as error:
            self._seen.left_out("step", f"it cannot be traced: {type(error).__name__}")
            return
        self._seen.steps += 1
        try:
            _Run(self, written, kept).run(closed.jaxpr, closed.consts, given, ("", "forward", ""))
        except Exception as error:  # the training goes on
            self._seen.left_out("step", f"its equations cannot be run alone: "
                                        f"{type(error).__name__}")
        for name, why, found in written.wrong():
            if why:
                self._seen.left_out(f"{name}, its gradient", why)
            elif found:
                self._seen.gradients.setdefault(name, (_place_of(written, name), *found))
        for words, where in self.narrow.values():
            if words:
                self._seen.coarse.setdefault(words, where)
        if self.questions:
            self.judges.ask(self.questions)
            self.questions = []


def _place_of(written, name):
    """The file and line of a function."""
    for function, *_ in written.calls:
        if getattr(function.fun, "__qualname__", "") == name:
            code = getattr(function.fun, "__code__", None)
            if code is not None:
                return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"
    return ""


def _traced(step, args, kwargs, written):
    """The jaxpr of a step, with nothing compiled inside of it, and its inputs. Numbers of Python
    are inputs as arrays are, unless the step wants to know them."""
    leaves, tree = jax.tree.flatten((args, kwargs))
    numbers = (bool, int, float, complex)
    refusal = None
    for kinds in ((jax.Array, np.ndarray, np.generic, *numbers), (jax.Array, np.ndarray,
                                                                  np.generic)):
        places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, kinds)]

        def flat(*given, places=places):
            whole = list(leaves)
            for i, leaf in zip(places, given):
                whole[i] = leaf
            inner_args, inner_kwargs = jax.tree.unflatten(tree, whole)
            return step(*inner_args, **inner_kwargs)
        written.calls.clear()
        try:
            with jax.disable_jit(), written.listening():
                return jax.make_jaxpr(flat)(*(leaves[i] for i in places)), \
                    [jax.numpy.asarray(leaves[i]) for i in places]
        except Exception as error:  # it may want to know a number
            refusal = refusal or error
    raise refusal


class _Run:
    """Runs equations one by one."""

    def __init__(self, watch, written, kept):
        self.watch, self.written, self.kept = watch, written, kept

    def run(self, body, consts, given, around):
        """The results of a jaxpr. around: line, pass and layer of what it lies in."""
        known = dict(zip(body.constvars, consts))
        known.update(zip(body.invars, given))

        def value(var):
            return var.val if isinstance(var, Literal) else known[var]
        for equation in body.eqns:
            results = self.equation(equation, [value(var) for var in equation.invars], around)
            known.update(zip(equation.outvars, results))
        return [value(var) for var in body.outvars]

    def equation(self, equation, given, around):
        name, params = equation.primitive.name, equation.params
        where = _where(equation, around)
        if name == "halfcheck_mark":
            self.written.met(given[0], **params)
            return given
        if name == "scan":
            return self._scan(params, given, where)
        if name == "while":
            return self._while(params, given, where)
        if name == "cond":
            branch = params["branches"][int(given[0])]
            return self.run(branch.jaxpr, branch.consts, given[1:], where)
        inner = next((params[key] for key in _INSIDE if params.get(key) is not None), None)
        if inner is not None and name not in ("shard_map", "pallas_call", "xla_pmap",
                                              "custom_lin", "linear_solve"):
            inner, consts = getattr(inner, "jaxpr", inner), getattr(inner, "consts", ())
            if len(inner.invars) == len(given):
                return self.run(inner, consts, given, where)
        bound = equation.primitive.get_bind_params(params)
        functions, rest = bound if isinstance(bound, tuple) else ((), bound)  # before jax 0.10
        results = equation.primitive.bind(*functions, *given, **rest)
        results = results if equation.primitive.multiple_results else [results]
        self._take(equation, given, results, where)
        return results

    def _scan(self, params, given, where):
        """Turn by turn: of what is carried on the last one remains, and the rest is stacked."""
        fixed, carried = params["num_consts"], params["num_carry"]
        consts, carry, rows = (given[:fixed], given[fixed:fixed + carried],
                               given[fixed + carried:])
        turns = range(params["length"])
        made = []
        for turn in reversed(turns) if params["reverse"] else turns:
            out = self.run(params["jaxpr"].jaxpr, params["jaxpr"].consts,
                           [*consts, *carry, *(row[turn] for row in rows)], where)
            carry = out[:carried]
            made.append(out[carried:])
        made = made[::-1] if params["reverse"] else made
        if not made:
            return [*carry, *(jax.numpy.zeros(var.aval.shape, var.aval.dtype) for var in
                              params["jaxpr"].jaxpr.outvars[carried:])]
        return [*carry, *(jax.numpy.stack(column) for column in zip(*made))]

    def _while(self, params, given, where):
        first, second = params["cond_nconsts"], params["body_nconsts"]
        consts, inner, carry = (given[:first], given[first:first + second],
                                given[first + second:])
        test, body = params["cond_jaxpr"], params["body_jaxpr"]
        while True:
            on = self.run(test.jaxpr, test.consts, [*consts, *carry], where)[0]
            if not on.any():
                return carry
            made = self.run(body.jaxpr, body.consts, [*inner, *carry], where)
            # Of a vmap's loops those that have ended stay as they are.
            carry = [y if not on.ndim or on.all() else jax.numpy.where(
                on.reshape(on.shape + (1,) * (y.ndim - on.ndim)), y, x)
                for x, y in zip(carry, made)]

    def _take(self, equation, given, results, where):
        """Keeps what is to be judged of an equation that has run."""
        made = [y for y in results if getattr(y, "dtype", None) in equations.FORMATS]
        if not made:
            return
        watch, name = self.watch, equation.primitive.name
        place, phase, layer = where
        line = seen.Line(name, phase, layer, place, equations.FORMATS[made[0].dtype], watch.count)
        watch._seen.made += 1
        self._follow(name, given, results, line)
        given, results = ([np.asarray(x) for x in values if _plain(x)] for values in
                          (given, results))
        watch._seen.look(line, given, results)
        if len(given) < len(equation.invars) or results[0].dtype not in equations.FORMATS:
            watch._seen.left_out(name, "it has no definition")
            return
        call = equations.Call(equation, given, results, watch.random)
        try:
            asked = equations.question(call)
        except equations.TooLong as error:
            watch._seen.left_out(name, str(error))
            return
        except Exception as error:
            watch._seen.left_out(name, f"gathering failed: {type(error).__name__}: {error}")
            return
        if isinstance(asked, equations.Same):
            off = asked.differing()
            first = (float(asked.want.reshape(-1)[off[0]]), float(asked.got.reshape(-1)[off[0]])) \
                if off.size else None
            watch._seen.handed_on(line, asked.got.size, off.size, first)
        elif asked:
            watch.questions += [(line, question) for question in asked]
            watch._seen.asked += 1
        else:
            watch._seen.left_out(name, "it has no definition")

    def _follow(self, name, given, results, line):
        """Follows numbers that a cast has made narrow: those that are widened again, and are used
        in no other way, might have stayed as they were."""
        narrow = self.watch.narrow
        self.kept += results  # so that no other number has its identity
        if name == "convert_element_type" and results[0].dtype in equations.FORMATS:
            x, y = given[0], results[0]
            to, of = equations.FORMATS[y.dtype], equations.FORMATS.get(getattr(x, "dtype", None))
            if to in _LOW and of in ("fp32", "fp64"):
                narrow[id(y)] = (None, f"{line.place()}; {line.where}")
                return
            if id(x) in narrow and to in ("fp32", "fp64"):
                words, where = narrow[id(x)]
                if words is not False:
                    narrow[id(x)] = (f"numbers of {to} are cast to {of}, and cast back before "
                                     "anything is made of them", where)
                return
        if name in _HANDED_ON and id(given[0]) in narrow:
            narrow[id(results[0])] = narrow.pop(id(given[0]))
            return
        for x in given:
            if id(x) in narrow:
                narrow[id(x)] = (False, "")


def _plain(value):
    """Whether numpy can have it: a key of random numbers is none of its."""
    return not jax.dtypes.issubdtype(getattr(value, "dtype", np.dtype(float)),
                                     jax.dtypes.extended)


def _where(equation, around):
    """The user's line that made an equation, whether it is of the forward or the backward pass,
    and the layer's name; where it does not say so itself, as what it lies in."""
    source = equation.source_info
    place = ""
    for frame in getattr(source.traceback, "frames", None) or ():
        if not frame.file_name.startswith((_HERE, _JAX, "<")):
            place = f"{os.path.basename(frame.file_name)}:{frame.line_num}"
            break
    stack = str(source.name_stack)
    words = [word for word in stack.replace("(", "/").replace(")", "/").split("/")
             if word and word not in _SHIFTED]
    phase = "backward" if "transpose(" in stack or around[1] == "backward" else "forward"
    return place or around[0], phase, ".".join(words) or around[2]


def _write(path, tensors):
    """A file of a question's tensors."""
    packed = {}
    for name, value in tensors.items():
        value = np.ascontiguousarray(value)
        packed[name] = (_KINDS[equations.FORMATS[value.dtype]], value.shape, value.tobytes())
    with open(path, "wb") as file:
        file.writelines(safetensors.packed(packed))
