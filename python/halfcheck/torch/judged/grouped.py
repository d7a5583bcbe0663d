"""Products of matrices by groups, as experts have them: `offs` says where each group ends."""

import torch

from .. import operators
from ..slices import Question, Same, unravel


def grouped(call):
    """_grouped_mm: rows of a group by the group's matrix, or a sum over the rows of each group."""
    a, b, ends, y = call.args["self"], call.args["mat2"], call.args["offs"], call.results[0]
    if ends is None or a.dim() != 2 or call.args.get("bias") is not None:
        return None
    ends = ends.long()
    if b.dim() == 3:
        # Rows behind the last group are anything.
        shape = int(ends[-1]), y.shape[1]
        i, j = unravel(call.places(shape[0] * shape[1], call.elements(a.shape[1])), shape)
        group = torch.searchsorted(ends, i.to(ends.device), right=True)
        return [Question(operators.DOT, {"a": a[i], "b": b[group, :, j]}, {"y": y[i, j]})]
    begins = torch.cat([ends.new_zeros(1), ends[:-1]])
    longest = int((ends - begins).max())
    if not longest:
        return Same([(torch.zeros_like(y), y)])
    group, i, j = where = call.chosen(y, longest)
    k = begins[group][:, None] + torch.arange(longest, device=ends.device)
    inside = k < ends[group][:, None]
    k = k.clamp(max=len(b) - 1)
    taken = {"a": a[i[:, None], k], "b": b[k, j[:, None]]}
    return [Question(operators.DOT,
                     {name: torch.where(inside, rows, torch.zeros_like(rows))
                      for name, rows in taken.items()}, {"y": y[where]})]


STRUCTURED = {"_grouped_mm": grouped}
