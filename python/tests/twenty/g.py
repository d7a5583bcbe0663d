"""Sum of squares for gradient clipping, added up in fp32.

Source: https://github.com/sgl-project/sglang/pull/27540
"""

import torch


def kernel(x, partial):
    total = (x * x).sum(dtype=torch.float32).reshape(1)
    return total if partial is None else total + partial
