"""torch.compile, judged: each region that a compiler makes, forward and backward, against the
region's own graph as one definition.

    regions = halfcheck.torch.compiled()
    step = torch.compile(step, backend=regions)
    step(x)
    print(regions)

A graph says which results are narrow: operators in bf16 or fp16, and casts. Written as it stands
each of these is a rounding. A compiler may keep such numbers wide inside of a kernel, as Inductor
does; then the region has other numbers than eager mode, mostly nearer to the real ones. So each
result is judged three times: by the graph as it is written, without its roundings, and with each
rounding done or not. What passes as none of them is wrong."""

import json
import os
import subprocess
import tempfile

import torch

from .. import program as _program
from .. import safetensors, traced
from ..graphs import Graph, Node, Untold
from .elements import FORMATS
from .files import _KINDS, _bytes
from .wide import alone

_NARROW = {torch.bfloat16: "bf16", torch.float16: "fp16"}
# These hand numbers on; a number that is narrow already is not rounded again.
_HANDED_ON = ("view", "_unsafe_view", "reshape", "permute", "transpose", "t", "expand", "unsqueeze",
              "squeeze", "select", "slice", "clone", "alias", "detach", "cat", "embedding",
              "index_select", "gather", "index", "neg", "abs", "relu", "where", "full", "maximum",
              "minimum", "amax", "amin", "max", "min", "masked_fill", "lift_fresh", "_to_copy")
# The ways to read a graph, and what a result is called that passes so and as none before.
READINGS = {"written": "as written", "elided": "roundings elided",
            "either": "some roundings elided"}
OUTCOMES = (*READINGS.values(), "wrong", "not judged")


_WORDS = {"written": "as written,", "elided": "without roundings,", "either": "with either"}


class Region:
    """One compiled graph: how often it ran, and what was found of each of its results."""

    def __init__(self, number, graph, backward):
        self.number, self.graph, self.backward = number, graph, backward
        self.calls, self.results, self.why = 0, [], None
        self.folder = None

    @property
    def outcome(self):
        """The worst that was found of a result."""
        found = [outcome for outcome, _ in self.results] or ["not judged"]
        return max(found, key=("not judged", *READINGS.values(), "wrong").index)

    def __str__(self):
        kind = "backward" if self.backward else "forward"
        operators = sum(node.op == "call_function" for node in self.graph.graph.nodes)
        lines = [f"region {self.number}, {kind}, {operators} operators, {self.calls} calls: "
                 f"{self.outcome}"]
        for number, (outcome, ratios) in enumerate(self.results, 1):
            if outcome not in ("as written", "not judged"):
                lines.append(f"  result {number}, {outcome}: " + " ".join(
                    f"{ratios[way]:.3g} {words}" for way, words in _WORDS.items()))
        return "\n".join([*lines, f"  {self.why}"] if self.why else lines)


class Compiled:
    """A backend of torch.compile that keeps what it has compiled, and judges the first call of
    each. every: of so many calls of a region one is judged. seconds: how long one reading of a
    graph may take."""

    def __init__(self, inner=None, every=1 << 62, seconds=60):
        _program.path()
        self.inner, self.every, self.seconds, self.regions = inner, every, seconds, []
        self.folder = tempfile.TemporaryDirectory(prefix="halfcheck-compiled-")

    def __call__(self, graph, example_inputs, **more):
        from torch._inductor.compile_fx import compile_fx

        return compile_fx(graph, example_inputs, inner_compile=self._compile, **more)

    def _compile(self, graph, example_inputs, **more):
        from torch._inductor.compile_fx import compile_fx_inner

        kept = torch.fx.GraphModule(graph, _copied(graph.graph))
        region = Region(len(self.regions) + 1, kept, bool(more.get("is_backward")))
        self.regions.append(region)
        run = (self.inner or compile_fx_inner)(graph, example_inputs, **more)

        def call(*inputs):
            boxed = len(inputs) == 1 and isinstance(inputs[0], list)
            given = list(inputs[0] if boxed else inputs)
            judged = region.calls % self.every == 0
            region.calls += 1
            # A compiled region may write over what it is given.
            before = [_held(value) for value in given] if judged else None
            results = run(inputs[0] if boxed else given) if _is_boxed(run) else run(*given)
            if judged:
                with torch.no_grad(), alone():
                    self._judge(region, before, results)
            return results

        call._boxed_call = True
        return call

    def _judge(self, region, inputs, results):
        """Takes what halfcheck says of one call."""
        flat = list(results) if isinstance(results, (tuple, list)) else [results]
        try:
            outputs = next(node for node in region.graph.graph.nodes if node.op == "output").args[0]
            places = [place for place, (node, value) in enumerate(zip(outputs, flat))
                      if isinstance(value, torch.Tensor) and value.dtype in FORMATS
                      and node.op != "placeholder"]
            if not places:
                raise Untold("no result of numbers")
            texts = {way: _text(region.graph, inputs, flat, places, way) for way in READINGS}
            said = {way: self._said(way, text, inputs, [flat[place] for place in places])
                    for way, text in texts.items()}
        except Untold as untold:
            region.why = f"its graph has {untold}, of which halfcheck has no text"
            region.results = []
            return
        except subprocess.TimeoutExpired:
            region.why = f"one reading of its graph takes more than {self.seconds} s"
            region.results = []
            return
        except Exception as error:  # the training goes on, whatever a graph has
            region.why = f"gathering failed: {type(error).__name__}: {str(error)[:200]}"
            region.texts = locals().get("texts")
            region.results = []
            return
        region.texts = texts
        region.results = [_outcome({way: said[way][number] for way in READINGS})
                          for number in range(len(places))]

    def _said(self, kind, text, inputs, results):
        """Of each result the worst error by its bound, and how many elements were judged."""
        base = os.path.join(self.folder.name, kind)
        source, used = text
        with open(base + ".op", "w", encoding="utf-8") as file:
            file.write(source)
        names = [name.split(":")[0].strip() for name in
                 source.rstrip("\n").rsplit("return ", 1)[1].split(",")]
        tensors = {name: inputs[place] for place, name in used.items()}
        tensors.update(zip(names, results))
        packed = {}
        for name, value in tensors.items():
            host = value.detach().to("cpu")
            host = host.reshape([n for n in host.shape if n != 1])  # a definition has no others
            host = host.float() if host.dtype == torch.bool else host
            packed[name] = (_KINDS[host.dtype], tuple(host.shape), _bytes(host))
        with open(base + ".safetensors", "wb") as file:
            file.writelines(safetensors.packed(packed))
        ended = subprocess.run(
            [_program.path(), "judge", "--define", base + ".op", "--tensors",
             base + ".safetensors", "--json", base + ".json"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            timeout=self.seconds)
        if ended.returncode not in (0, 1):
            raise ValueError(ended.stderr.strip()[:200])
        with open(base + ".json", encoding="utf-8") as file:
            outputs = json.load(file)["outputs"]
        return [(float(output["worst"]["ratio"]) if output["judged"] else 0.0,
                 output["judged"] - output["unbounded"]) for output in outputs]

    def ok(self):
        """Whether something was judged, and nothing is wrong."""
        return any(region.results for region in self.regions) and not any(
            region.outcome == "wrong" for region in self.regions)

    def __str__(self):
        counts = [f"{sum(region.outcome == outcome for region in self.regions)} {outcome}"
                  for outcome in OUTCOMES]
        return "\n".join([f"{len(self.regions)} compiled regions: {', '.join(counts)}",
                          *map(str, self.regions)])


def _outcome(said):
    """What a result is called, and its worst errors by their bounds; said: these by way, and how
    many elements were judged."""
    ratios = {way: ratio for way, (ratio, _) in said.items()}
    if not said["written"][1]:
        return "not judged", ratios
    return next((name for way, name in READINGS.items() if said[way][1] and ratios[way] <= 1),
                "wrong"), ratios


def _text(graph, inputs, results, places, way):
    """The definition of these results of a graph, read in that way, and by place which inputs it
    reads under which name."""
    g = Graph({})
    nodes, names = [], []
    sizes = {}
    for value in inputs:
        if not isinstance(value, torch.Tensor):
            raise Untold(f"an input that is {type(value).__name__}")
        axes = []
        for size in value.shape:
            if size == 1:
                axes.append(None)
                continue
            free = [axis for axis, length in sizes.items() if length == size and axis not in axes]
            if not free:
                free = [_axis(g, len(sizes))]
                sizes[free[0]] = size
            axes.append(free[0])
        node = Node(axes, None, integer=not value.is_floating_point())
        node.name = g.new_name("x")
        nodes.append(node)
        named = ", ".join(axis for axis in axes if axis)
        names.append(f"{node.name}[{named}]" if named else node.name)
        if node.integer and value.dtype != torch.bool:
            names[-1] += ": index"
    g.sizes.update(sizes)
    g.given = list(sizes)

    def finish(name, tensor, node, given):
        if name in ("_to_copy", "convert_element_type") and tensor.is_floating_point():
            narrow = _NARROW.get(tensor.dtype)
            wider = given.dtype in _NARROW and not narrow
            node = known_node(given)
            if not narrow or wider or given.dtype == tensor.dtype:
                return node
            return _rounded(g, node, narrow, way)
        if name in _HANDED_ON or tensor.dtype not in _NARROW:
            return node
        return _rounded(g, node, _NARROW[tensor.dtype], way)

    known_node = None

    def knows(node_of):
        nonlocal known_node
        known_node = node_of

    made, _ = traced.trace(graph, list(inputs), g, nodes, finish, knows)
    chosen = []
    for place in places:
        node = made[place]
        # The rounding to the result's own format is the result's, and within its bound.
        chosen.append((getattr(node, "before_rounding", node), FORMATS[results[place].dtype]))
    source, _ = g.source(chosen, g.new_name("region"), names)
    body = source.split("\n", 1)[1]
    used = {place: node.name for place, node in enumerate(nodes) if _reads(body, node.name)}
    head = ", ".join(name for place, name in enumerate(names) if place in used)
    return f"op region({head})\n" + body, used


def _reads(text, name):
    return any(word == name for word in "".join(
        c if c.isalnum() or c == "_" else " " for c in text).split())


def _axis(g, number):
    """A name of an axis of the inputs."""
    return g.new_name("nmtdchuvwefghl"[number] if number < 14 else f"n{number}")


def _rounded(g, node, narrow, way):
    """What stands for a number that the graph rounds."""
    if way == "elided" or node.truth or node.integer:
        return node
    made = g.each(f"{narrow}({{0}})", node) if way == "written" else \
        g.each(f"either({{0}}, {narrow}({{1}}))", node, node)
    made.before_rounding = node
    return made


def _held(value):
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def _is_boxed(run):
    return getattr(run, "_boxed_call", False)


def _copied(graph):
    copied = torch.fx.Graph()
    result = copied.graph_copy(graph, {}, return_output_node=True)
    values, output = result
    copied.output(values)
    return copied
