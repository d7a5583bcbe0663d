"""Matrix product with split K, in fp32: parts of seven, the last first, added as a tree."""

import torch

PART = 7


def tree(parts):
    """The sum of tensors, by pairs."""
    while len(parts) > 1:
        pairs = [a + b for a, b in zip(parts[::2], parts[1::2])]
        parts = pairs + ([parts[-1]] if len(parts) % 2 else [])
    return parts[0]


def kernel(a, b, c, transpose_a, transpose_b, alpha, beta, out_dtype):
    a = (a.t() if transpose_a else a).float()
    b = (b.t() if transpose_b else b).float()
    starts = reversed(range(0, a.shape[1], PART))
    parts = [a[:, k:k + PART] @ b[k:k + PART] for k in starts]
    out = alpha * tree(parts) if parts else torch.zeros(a.shape[0], b.shape[1])
    if beta != 0:
        out = out + beta * c.float()
    return out.to(out_dtype)
