"""What the operators of PyTorch are judged by that are no elementwise ones: a file a family, each
with up to three tables by the operators' names. STRUCTURED: takes a call that has run, and
returns its questions. MOVES: of one that hands numbers on, pairs of what is wanted and what was
got. BEFORE: takes a call that is about to write into its arguments, and returns what asks when
it has run."""

from .. import slices
from . import (attention, convolutions, grouped, indexing, losses, norms, optimizers, pools,
               recurrent, recurrent_gradient, scaled)

_FAMILIES = (slices, attention, convolutions, grouped, indexing, losses, norms, optimizers, pools,
             recurrent, recurrent_gradient, scaled)


def _joined(table):
    return {name: one for family in _FAMILIES for name, one in getattr(family, table, {}).items()}


STRUCTURED, MOVES, BEFORE = map(_joined, ("STRUCTURED", "MOVES", "BEFORE"))
