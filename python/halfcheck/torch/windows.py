"""What formats cost a training, by layer and operand: which numbers lie below their format's
window, above it or near its ends, as counts and as histograms of exponents.

An operand is what a layer's operators give in the forward pass ("activations") and in the backward
pass ("gradients"), its weights and their gradients as a step of the optimizer finds them, and that
step's updates. Of each tensor every so many numbers are looked at, at most 65,536; a cast is known
on both sides, so what it flushes to 0 or makes infinite is counted."""

import math

import torch
from torch.nn.modules import module as _module

from . import wide
from .elements import FORMATS
from .seen import MEANT
from .view import View

MOST = 1 << 16
_NEAR = 16.0  # a number is near overflow from the largest one divided by this

# Precision, the exponent e of the smallest normal number 2^e, and the largest number.
_E4M3, _E5M2 = (getattr(torch, name, None) for name in ("float8_e4m3fn", "float8_e5m2"))
WINDOWS = {
    "fp32": (24, -126, 2.0 ** 127 * (2 - 2.0 ** -23)), "fp16": (11, -14, 65504.0),
    "bf16": (8, -126, 2.0 ** 127 * (2 - 2.0 ** -7)),
    "fp64": (53, -1022, 2.0 ** 1023 * (2 - 2.0 ** -52)),
    "e4m3": (4, -6, 448.0), "e5m2": (3, -14, 57344.0)}
NAMES = {**FORMATS, **{kind: name for kind, name in ((_E4M3, "e4m3"), (_E5M2, "e5m2")) if kind}}

COUNTS = ("numbers", "zero", "subnormal", "near", "infinite", "nan", "flushed", "overflowed",
          "saturated")
_SHOWN = 12
_CASTS = ("_to_copy", "copy_")


class Windows(View):
    """The table of a watch that was asked for it: watch(..., formats=True)."""

    name = "formats"

    def __init__(self, _=True):
        super().__init__()
        self.rows = {}
        self.source, self.names, self.updates, self.handle = None, {}, {}, None

    def begin(self, step, layers):
        """Whose weights are whose: a module that runs has its own."""
        def named(module, _):
            for weight in module.parameters(recurse=False):
                self.names.setdefault(id(weight), layers.now(False))
        self.handle = _module.register_module_forward_pre_hook(named)

    def end(self):
        self.handle.remove()

    def optimizing(self, optimizer):
        """A step of the optimizer begins: weights and gradients are as it finds them."""
        self.updates = {}
        with torch.no_grad():
            for group in optimizer.param_groups:
                for weight in group["params"]:
                    if weight.is_floating_point():
                        layer = self.names.get(id(weight), "outside of layers")
                        self._take(layer, "weights", weight)
                        if weight.grad is not None and not weight.grad.is_sparse:
                            self._take(layer, "weights' gradients", weight.grad)
                            if group.get("lr"):
                                self.updates[id(weight)] = (layer, weight, _some(weight).clone(),
                                                            _some(weight.grad).clone())

    def optimized(self, _):
        """It has ended: which weights stayed as they were, though they had a gradient?"""
        updates, self.updates = self.updates, {}
        for layer, weight, before, gradient in updates.values():
            row = self._row(layer, "updates", weight)
            moved = _some(weight)
            # Where a step is left out, as GradScaler does after an overflow, nothing is lost.
            if bool((moved == before).all()) and not bool(torch.isfinite(gradient).all()):
                continue
            asked = (gradient != 0) & torch.isfinite(gradient)
            row["numbers"] += int(asked.sum())
            row["lost"] = row.get("lost", 0) + int((asked & (moved == before)).sum())

    def before(self, call):
        """A cast's source, before it is written over."""
        self.source = None
        if call.name in _CASTS and call.given:
            source = call.given[1 if call.name == "copy_" else 0]
            if isinstance(source, torch.Tensor) and source.is_floating_point():
                self.source = source.detach()

    def after(self, call, results):
        if call.phase == "optimizer":
            return
        operand = "gradients" if call.phase == "backward" and not call.forward else "activations"
        layer = call.layer or "outside of layers"
        for tensor in wide.numbers([results]):
            row = self._take(layer, operand, tensor, self._meant(call, tensor))
            if row is not None and self.source is not None and \
                    self.source.shape == tensor.shape and self.source.dtype != tensor.dtype:
                _cast(row, self.source, tensor)
        self.source = None

    @staticmethod
    def _meant(call, tensor):
        """Whether infinities of a result are a mask's, or were there before."""
        return bool(torch.isinf(tensor.double()).any()) and (
            call.name.rstrip("_") in MEANT and call.name not in _CASTS or
            any(bool(torch.isinf(given.double()).any()) for given in
                wide.numbers([*call.given, *call.keywords.values()])))

    def _row(self, layer, operand, tensor):
        key = layer, operand, NAMES.get(tensor.dtype, str(tensor.dtype).removeprefix("torch."))
        return self.rows.setdefault(key, {
            "layer": key[0], "operand": key[1], "format": key[2],
            **dict.fromkeys(COUNTS, 0), "exponents": {}})

    def _take(self, layer, operand, tensor, meant=False):
        row = self._row(layer, operand, tensor)
        if row["format"] not in WINDOWS or not tensor.numel():
            return None
        values = _some(tensor).double()
        _, smallest, largest = WINDOWS[row["format"]]
        size = values.abs()
        there = torch.isfinite(values) & (size > 0)
        row["numbers"] += len(values)
        row["zero"] += int((values == 0).sum())
        row["infinite"] += 0 if meant else int(torch.isinf(values).sum())
        row["nan"] += int(torch.isnan(values).sum())
        row["subnormal"] += int((there & (size < 2.0 ** smallest)).sum())
        row["near"] += int((torch.isfinite(values) & (size >= largest / _NEAR)).sum())
        _, exponents = torch.frexp(size[there])
        for exponent, count in zip(*(part.tolist() for part in
                                     (exponents - 1).unique(return_counts=True))):
            row["exponents"][exponent] = row["exponents"].get(exponent, 0) + count
        return row

    def table(self):
        """The rows, those first whose formats cost them the largest share."""
        return sorted(self.rows.values(), key=lambda row: (
            -_share(row, "nan", "infinite", "overflowed", "saturated"),
            -_share(row, "flushed", "lost", "subnormal"), -_share(row, "near"),
            row["layer"], row["operand"]))

    def said(self):
        return {"windows": {name: [row[1], row[2]] for name, row in WINDOWS.items()},
                "rows": [{**row, "exponents": sorted(row["exponents"].items())}
                         for row in self.table() if row["numbers"]]}

    def text(self):
        lines = ["what formats cost, in shares of the numbers"]
        rows = [row for row in self.table() if row["numbers"]]
        costly = [(row, told) for row in rows for told in [_told(row)] if told]
        for row, told in costly[:_SHOWN]:
            lines += [f"  {row['layer']}, {row['operand']}, {row['format']}", f"           {told}"]
        if len(costly) > _SHOWN:
            lines.append(f"  and {len(costly) - _SHOWN} others")
        if len(costly) < len(rows):
            lines.append(f"  nothing in {len(rows) - len(costly)} "
                         + ("others" if costly else "tables of layers and operands"))
        return lines + self.told_failures()


def _share(row, *names):
    return sum(row.get(name, 0) for name in names) / max(row["numbers"], 1)


def _told(row):
    """What it costs, in words."""
    words = (("nan", "NaN"), ("infinite", "infinite"), ("overflowed", "overflow in a cast"),
             ("saturated", "saturated in a cast"), ("flushed", "flushed to 0 by a cast"),
             ("subnormal", "subnormal"), ("near", "within 16 times of overflow"),
             ("lost", "lost, below half an ulp of the weight"))
    return ", ".join(f"{_percent(_share(row, name))} {word}" for name, word in words
                     if row.get(name))


def _percent(share):
    return f"{100 * share:.2g} %" if share > 0.00005 else "below 0.005 %"


def _some(tensor):
    """At most MOST of its numbers, every so many, as a row."""
    flat = tensor.detach().reshape(-1) if tensor.is_contiguous() else \
        tensor.detach().contiguous().reshape(-1)
    return flat[::max(1, math.ceil(flat.numel() / MOST))]


def _cast(row, source, result):
    """What a cast does to the ends of the numbers."""
    wide_, narrow = _some(source).double(), _some(result).double()
    largest = WINDOWS[row["format"]][2]
    row["flushed"] += int(((wide_ != 0) & (narrow == 0)).sum())
    row["overflowed"] += int((torch.isfinite(wide_) & ~torch.isfinite(narrow)).sum())
    row["saturated"] += int(((wide_.abs() > largest) & (narrow.abs() == largest)).sum())
