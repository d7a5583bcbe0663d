"""Sum of squares in blocks, each of them and then all added by halves, as on a GPU."""

import torch
import torch.nn.functional as F

BLOCK = 256


def halves(rows):
    """The sum along the last axis, whose length is a power of two."""
    while rows.shape[-1] > 1:
        half = rows.shape[-1] // 2
        rows = rows[..., :half] + rows[..., half:]
    return rows[..., 0]


def kernel(x, partial):
    flat = x.float().reshape(-1)
    blocks = F.pad(flat, (0, -len(flat) % BLOCK)).view(-1, BLOCK)
    sums = halves(blocks * blocks)
    padded = 1 << max(len(sums) - 1, 0).bit_length()
    total = halves(F.pad(sums, (0, padded - len(sums)))).reshape(1)
    return total if partial is None else partial + total
