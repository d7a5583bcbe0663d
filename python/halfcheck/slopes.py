"""What a gradient says along a direction, beside differences of the function itself in fp64."""

import math


def parts(terms, scale, got):
    """(the slope by differences, `got`) if they differ, else None. `terms(x)` is the function at x
    along the direction: the sum of its terms, and the sum of their magnitudes.

    A central difference over a width w errs by about c w^2, so that those over 2 w, w and w / 2
    part by 3 c w^2 and 3/4 c w^2: eight times the larger distance is far above what is left. Rounding
    adds 2^-53 of each of the terms' magnitudes over w, of which 2^-46 has room for long sums."""
    spread = 0.0

    def difference(width):
        nonlocal spread
        (above, above_spread), (below, below_spread) = terms(width), terms(-width)
        spread = max(spread, above_spread, below_spread)
        return (above - below) / (2 * width)

    width = scale * 2.0**-17
    wider, middle, want = difference(2 * width), difference(width), difference(width / 2)
    if not math.isfinite(wider + middle + want):
        raise ArithmeticError("what it computes in fp64 is not finite")
    allowed = 8 * max(abs(middle - want), abs(wider - middle)) + 2.0**-46 * spread / width
    return (want, got) if not abs(want - got) <= allowed else None
