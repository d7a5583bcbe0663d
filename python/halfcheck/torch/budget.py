"""What each operator's rounding has moved the loss by: its own error, which is its result less that
of the same call in fp64, times the gradient of the loss by that result, summed over all elements.

This is the first order of what would happen if that operator alone were exact. Beside the sum
stands what chance alone would give, the root of the sum of the squares: a sum far beyond it goes
one way for a reason, and one within it is luck, which another batch has otherwise. Both are held
against what does happen in reports/measured/watch/budget.txt."""

import math

import torch

from . import wide
from .elements import FORMATS
from .view import View

_SHOWN = 12  # rows of the text


class Budget(View):
    """The table of a watch that was asked for it: watch(..., budget=True)."""

    name = "budget"

    def __init__(self, _=True):
        super().__init__()
        self.rows, self.losses, self.left = {}, [], {}
        self.fresh, self.wanted, self.backward, self.step = [], None, None, 0

    def begin(self, step, _):
        self.step = step
        self.backward = torch.autograd.backward
        torch.autograd.backward = self._following(self.backward)

    def end(self):
        self.meet()
        torch.autograd.backward = self.backward

    def _following(self, backward):
        def follow(roots, *args, **kwargs):
            given = [roots] if isinstance(roots, torch.Tensor) else list(roots)
            self.losses += [float(root.detach()) for root in given if root.numel() == 1]
            return backward(roots, *args, **kwargs)
        return follow

    def meet(self):
        """The results of the last call have their place in autograd's graph by now."""
        fresh, self.fresh = self.fresh, []
        for tensor, error, row in fresh:
            if tensor.requires_grad:
                tensor.register_hook(_taker(error, row, self.step))

    def before(self, call):
        self.wanted = None
        if not call.forward:
            return
        try:
            self.wanted, _ = wide.run(call.func, call.given, call.keywords)
        except wide.NotWide as why:
            if str(why) != "it is given no numbers":
                key = call.operator, str(why)
                self.left[key] = self.left.get(key, 0) + 1

    def after(self, call, results):
        if self.wanted is None:
            return
        for want, got in zip(self.wanted, wide.tensors([results])):
            if got.is_floating_point() and want.is_floating_point():
                # In fp32: an error needs few digits, and it waits for its gradient.
                error = wide.error(got, want).float()
                self.fresh.append((got, error, self._row(call, got)))
        self.wanted = None

    def _row(self, call, got):
        key = call.place(), call.operator, FORMATS.get(got.dtype, str(got.dtype))
        return self.rows.setdefault(key, {
            "place": key[0], "operator": key[1], "format": key[2], "where": call.where, "calls": 0,
            "sums": {}, "squares": {}})

    def table(self):
        """The rows, those that matter most first: what each has moved the loss by, a mean over the
        steps in which it had a gradient, and what chance would have given."""
        found = []
        for row in self.rows.values():
            steps = len(row["sums"])
            if not steps:
                continue
            moved = sum(row["sums"].values()) / steps
            chance = math.sqrt(sum(row["squares"].values()) / steps)
            # A mean of sums that go either way is smaller by the root of how many there are.
            found.append({**{key: row[key] for key in ("place", "operator", "format", "where",
                                                       "calls")},
                          "steps": steps, "moved": moved, "chance": chance,
                          "size": max(abs(moved), chance)})
        return sorted(found, key=lambda row: (-_number(row["size"]), row["place"]))

    def said(self):
        rows = self.table()
        return {"losses": self.losses, "rows": rows, "kept": _kept(rows),
                "unseen": [[*key, count] for key, count in self.left.items()]}

    def text(self):
        rows = self.table()
        if not rows:
            return ["no rounding has moved a loss: no backward pass was seen",
                    *self.told_failures()]
        loss = sum(self.losses) / len(self.losses) if self.losses else math.nan
        lines = ["what roundings have moved the loss by, to first order; the loss is "
                 f"{loss:.6g}", "     moved    chance"]
        for row in rows[:_SHOWN]:
            lines += [f"  {row['moved']:+8.1e}  {row['chance']:8.1e}  {row['operator']}, "
                      f"{row['format']}", f"           {row['place']}; {row['where']}"]
        if len(rows) > _SHOWN:
            rest = math.hypot(*(_number(row["size"]) for row in rows[_SHOWN:]))
            lines.append(f"  {len(rows) - _SHOWN} others, together about {rest:.1e}")
        kept = _kept(rows)
        if kept:
            lines.append(f"  {len(kept)} of {len(rows)} rows make half of it: exact, they would "
                         "halve its square")
        lines += [f"  {count:6}  not seen: {operator}, {why}"
                  for (operator, why), count in self.left.items()]
        return lines + self.told_failures()


def _taker(error, row, step):
    """Takes the gradient when it comes, and what was kept for it goes."""
    kept = [error]

    def take(gradient):
        if not kept or gradient is None:  # another result of its operator has one
            return
        with wide.alone(), torch.no_grad():
            product = kept.pop().double() * gradient.detach().double()
            row["calls"] += 1
            row["sums"][step] = row["sums"].get(step, 0.0) + float(product.sum())
            row["squares"][step] = row["squares"].get(step, 0.0) + float(product.square().sum())
    return take


def _number(value):
    """A size to sort by: what is no number comes first."""
    return value if math.isfinite(value) else math.inf


def _kept(rows):
    """The first rows that have half of the sum of the squares of all."""
    squares = [_number(row["size"]) ** 2 for row in rows]
    total, sum_ = sum(squares), 0.0
    if not total or not math.isfinite(total):
        return []
    for count, square in enumerate(squares, 1):
        sum_ += square
        if 2 * sum_ >= total:
            return [[row["place"], row["operator"], row["format"]] for row in rows[:count]]
    return []
