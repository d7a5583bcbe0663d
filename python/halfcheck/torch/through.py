"""What roundings have come to: a chain of operators against the same chain in wide arithmetic.

Beside each tensor of a watched step goes its shadow, which is what fp64 makes of the same inputs by
the same calls, forward, backward and in the optimizer. It belongs to the memory and not to the
tensor, so that views share it and what writes into a tensor writes into its shadow. Where a chain
begins is the user's choice: with the step ("step"), with each innermost layer ("layers"), or with a
layer of a name. What no chain has made is taken as it is, and so are random numbers and integers.

An operator against its definition on the inputs that it had shows wrong operators and nothing
else. This shows coarse choices, too: statistics that are saved in bf16, or a cast too early."""

import math

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from . import wide
from .elements import FORMATS
from .view import View

_SWEEP = 512  # calls between two looks at which memory is gone
_SHOWN = 12


class Shadow:
    """The numbers of some memory in fp64, and of which chain they are."""

    def __init__(self, tensor, scope):
        storage = _storage(tensor)
        self.kept, self.scope, self.kind = StorageWeakRef(storage), scope, tensor.dtype
        count = _bytes(storage) // tensor.element_size()
        if count == tensor.numel():
            self.flat = torch.zeros(count, dtype=torch.float64, device=tensor.device)
        else:
            self.flat = tensor.detach().as_strided((count,), (1,), 0).double()

    def of(self, tensor):
        """That part of it which is the tensor's."""
        return self.flat.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


class Through(View):
    """The table of a watch that was asked for it: watch(..., through="step")."""

    name = "through"

    def __init__(self, begins):
        super().__init__()
        self.begins = "step" if begins is True else str(begins)
        self.rows, self.shadows, self.left = {}, {}, {}
        self.chain = self.own = None
        self.scope, self.calls, self.why = None, 0, None

    def begin(self, step, layers):
        self.shadows = {}

    def end(self):
        self.shadows = {}

    def _scope_of(self, call):
        if self.begins == "step":
            return "step"
        if self.begins == "layers":
            return call.layer or None
        return self.begins if self.begins in call.path else None

    def _find(self, tensor):
        """Its shadow, of whatever chain."""
        found = self.shadows.get(_storage(tensor)._cdata)
        return found if found and not found.kept.expired() and found.kind == tensor.dtype else None

    def _lift(self, tensor):
        found = self._find(tensor)
        if found and found.scope == self.scope:
            return found.of(tensor).clone()
        return wide.plain(tensor)

    def before(self, call):
        self.scope, self.chain, self.own, self.why = self._scope_of(call), None, None, None
        if self.scope is None:
            return
        try:
            self.chain = wide.run(call.func, call.given, call.keywords, self._lift)
            self.own, _ = wide.run(call.func, call.given, call.keywords)
        except wide.NotWide as why:
            self.why = str(why)

    def after(self, call, results):
        got = list(wide.tensors([results]))
        written = wide.written(call.func, call.given, call.keywords)
        if self.chain is None:
            self._cut(call, got, written)
            return
        for number, (want, tensor) in enumerate(zip(self.chain[0], got)):
            if tensor.is_floating_point() and want.is_floating_point():
                own = self.own[number] if number < len(self.own) else None
                self._row(call, number, tensor, want, own)
                self._keep(tensor, want)
        for want, tensor in zip(self.chain[1], written):
            if tensor.is_floating_point():
                if not got:
                    self._row(call, 0, tensor, want, None)
                self._keep(tensor, want)
        self.calls += 1
        if self.calls % _SWEEP == 0:
            self.shadows = {key: shadow for key, shadow in self.shadows.items()
                            if not shadow.kept.expired()}

    def _cut(self, call, got, written):
        """A call that fp64 does not follow: what it makes is taken as it is. Dropout's mask is,
        and not what it is multiplied by."""
        if self.scope and call.name == "native_dropout" and len(got) == 2:
            share = call.arguments["p"]
            x = self._lift(call.arguments["input"])
            scale = 0.0 if share >= 1 else 1 / (1 - share)
            self._keep(got[0], x * got[1].double() * scale)
            return
        for tensor in [*got, *written]:
            if tensor.is_floating_point():
                self.shadows.pop(_storage(tensor)._cdata, None)
        if self.why and self.why != "it is given no numbers":
            key = call.operator, self.why
            self.left[key] = self.left.get(key, 0) + 1

    def _keep(self, tensor, want):
        found = self._find(tensor)
        if found is None or found.scope != self.scope:
            found = Shadow(tensor, self.scope)
            self.shadows[_storage(tensor)._cdata] = found
        found.of(tensor).copy_(want.reshape(tensor.shape))

    def _row(self, call, number, tensor, want, own):
        all_, of_own = _relative(tensor, want), None if own is None else _relative(tensor, own)
        if all_ is None:
            return
        key = call.place(), call.operator, number, FORMATS.get(tensor.dtype, str(tensor.dtype))
        row = self.rows.setdefault(key, {
            "place": key[0], "operator": key[1], "result": number, "format": key[3],
            "where": call.where, "calls": 0, "all": -1.0, "own": None})
        row["calls"] += 1
        if all_ > row["all"] or math.isnan(all_):
            row.update(all=all_, own=of_own, where=call.where)

    def table(self):
        """One row a layer and pass: its result that is furthest off, and the operator there whose
        own rounding is the largest; the furthest first."""
        found = {}
        for row in self.rows.values():
            found.setdefault(row["place"], []).append(row)
        table = []
        for place, rows in found.items():
            worst = max(rows, key=lambda row: _number(row["all"]))
            maker = max((row for row in rows if row["own"] is not None), default=None,
                        key=lambda row: _number(row["own"]))
            table.append({**worst, "maker": maker and maker["operator"],
                          "maker_own": maker and maker["own"], "place": place})
        return sorted(table, key=lambda row: -_number(row["all"]))

    def said(self):
        return {"begins": self.begins, "layers": self.table(), "rows": list(self.rows.values()),
                "unseen": [[*key, count] for key, count in self.left.items()]}

    def text(self):
        table = self.table()
        begin = {"step": "the step", "layers": "each layer"}.get(self.begins, self.begins)
        if not table:
            return [f"no call of {begin} was seen in wide arithmetic", *self.told_failures()]
        lines = [f"what has come together since the beginning of {begin}, against fp64",
                 "    in all  of it own  (relative)"]
        for row in table[:_SHOWN]:
            lines += [f"  {row['all']:8.1e}   {_told(row['own'])}  {_operator(row)}, "
                      f"{row['format']}", f"           {row['place']}; {row['where']}"]
            if row["maker"] and row["maker"] != row["operator"]:
                lines.append(f"           most of its own rounding there has {row['maker']}, "
                             f"{row['maker_own']:.1e}")
        if len(table) > _SHOWN:
            lines.append(f"  and {len(table) - _SHOWN} other layers")
        lines += [f"  {count:6}  not followed: {operator}, {why}"
                  for (operator, why), count in self.left.items()]
        return lines + self.told_failures()


def _operator(row):
    return row["operator"] + (f", result {row['result'] + 1}" if row["result"] else "")


def _told(value):
    return "        " if value is None else f"{value:8.1e}"


def _number(value):
    return value if math.isfinite(value) else math.inf


def _relative(got, want):
    """The root mean square of the error by that of what is wanted; None if there is nothing."""
    error = wide.error(got, want)
    size = torch.where(torch.isfinite(want), want, torch.zeros_like(want)).norm()
    off = float(error.norm())
    if off == 0:
        return 0.0 if error.numel() else None
    return off / float(size) if float(size) > 0 else math.inf


def _storage(tensor):
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else \
        tensor.storage().untyped()


def _bytes(storage):
    return storage.nbytes()
