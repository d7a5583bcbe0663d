"""MLX's conversions of fp32 on the CPU: python cast_mlx.py [HALFCHECK]

Of e4m3 it has a conversion. Of e2m1 it has blocks alone, so each number stands in one with a 6,
whose scale is 1; what is above 6 is made 6 here.
"""
import importlib.metadata

import mlx.core as mx
import numpy as np

from rule import report


def e4m3(x):
    return np.array(mx.to_fp8(mx.array(x)))


def e2m1(x):
    """31 numbers a block, behind a 6."""
    padded = np.zeros((-(-len(x) // 31), 32), np.float32)
    padded[:, 0] = 6
    numbers = np.zeros(len(padded) * 31, np.float32)
    numbers[:len(x)] = np.clip(x, -6, 6)
    padded[:, 1:] = numbers.reshape(-1, 31)
    packed, scales = mx.quantize(mx.array(padded), group_size=32, bits=4, mode="mxfp4")
    assert (np.array(scales) == 127).all() or np.isnan(x).any()
    pairs = np.array(packed).view(np.uint8).reshape(len(padded), -1)
    codes = np.stack([pairs & 15, pairs >> 4], 2).reshape(len(padded), 32)
    return np.ascontiguousarray(codes[:, 1:].ravel()[:len(x)])


mx.set_default_device(mx.cpu)
report(f"mlx {importlib.metadata.version('mlx')}",
       [("e4m3", True, "to_fp8", e4m3), ("e2m1", True, "quantize mxfp4", e2m1)])
