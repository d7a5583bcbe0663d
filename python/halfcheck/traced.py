"""What a plain function of torch computes, as a graph of halfcheck.graphs: its operators are
watched while it runs on small numbers, and each has a text. A cast to a wider format is none; one
to a narrower format is the function of that name."""

import contextlib
import sys

from . import elementwise, reductions, views
from .graphs import Untold
from .reductions import extreme, extreme_dim

OPERATORS = {**elementwise.OPERATORS, **reductions.OPERATORS, **views.OPERATORS}


def overload(func, name):
    """What an overload's name says: max over a dimension gives indices, too."""
    if name in ("max", "min"):
        kind = func._overloadname  # pylint: disable=protected-access
        return extreme_dim(name) if kind == "dim" else extreme(name)
    return OPERATORS.get(name)


def trace(function, arguments, graph, nodes, finish=None, knows=None):
    """Runs a function of torch, and gives the nodes of its results. `nodes` are those of the
    arguments. finish(name, tensor, node, given) gives what stands for a result in its place,
    `given` being the operator's first argument; knows(node_of) is told how to find a
    tensor's node."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    known, kept = {}, list(arguments)
    for tensor, node in zip(arguments, nodes):
        known[id(tensor)] = node

    def node_of(value):
        if not isinstance(value, torch.Tensor):
            return [node_of(v) for v in value] if isinstance(value, (list, tuple)) else value
        if id(value) not in known:
            if value.numel() != 1:
                raise Untold(f"a constant of {value.numel()} elements")
            known[id(value)] = graph.number(value.item()) if not value.dim() else views.constant()(
                graph, value.shape, value.item())
            kept.append(value)
        return known[id(value)]

    def memory(tensor):
        whole = getattr(tensor, "untyped_storage", tensor.storage)  # of torch 2, and before
        return whole().data_ptr()

    def shares(a, b):
        return a is not b and memory(a) == memory(b)

    class Watch(TorchDispatchMode):
        """Makes a node of each operator's result."""

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            out = func(*args, **kwargs)
            name = func._schema.name.split("::")[1]
            changes = name.endswith("_") and not name.startswith("_")
            build = overload(func, name[:-1] if changes else name)
            if build is None:
                raise Untold(name)
            if changes and any(shares(args[0], other) for other in kept):
                raise Untold(f"{name} of a part of a tensor")
            given = [node_of(a) for a in args]
            made = build(graph, *given, **{k: node_of(v) for k, v in kwargs.items()})
            for tensor, node in zip(*(x if isinstance(x, (tuple, list)) else (x,)
                                      for x in (out, made))):
                if isinstance(tensor, torch.Tensor) and node is not None:
                    node = finish(name, tensor, node, args[0]) if finish and args else node
                    known[id(tensor)] = node
                    kept.append(tensor)
            return out

    if knows:
        knows(node_of)
    names = {}

    def look(frame, event, _):
        if event == "return" and frame.f_code is getattr(function, "__code__", None):
            names.update({id(value): name for name, value in frame.f_locals.items()
                          if isinstance(value, torch.Tensor)})

    with torch.no_grad(), contextlib.ExitStack() as stack:
        if hasattr(torch, "nn") and hasattr(torch.nn, "attention"):
            stack.enter_context(torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH))
        stack.callback(sys.setprofile, sys.getprofile())
        sys.setprofile(look)
        with Watch():
            results = function(*arguments)
    for key, name in names.items():
        if key in known and known[key] not in nodes:
            known[key].label = name
    results = results if isinstance(results, (tuple, list)) else [results]
    return [node_of(value) for value in results], [value.dtype for value in results]
