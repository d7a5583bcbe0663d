"""MLX's scales of MX blocks on the CPU: python scale_mlx.py"""
import importlib.metadata

import mlx.core as mx
import numpy as np

from scales import report


def codes(mode, bits):
    def of(amaxes):
        blocks = np.zeros((len(amaxes), 32), np.float32)
        blocks[:, 0] = amaxes
        found = mx.quantize(mx.array(blocks), group_size=32, bits=bits, mode=mode)
        return np.array(found[1]).ravel()
    return of


def decoded(title, x, mode, bits):
    """Says what a block of one number, and another at its end, is after quantising it."""
    block = np.full((1, 32), x[0], np.float32)
    block[0, -1] = x[1]
    packed, scales = mx.quantize(mx.array(block), group_size=32, bits=bits, mode=mode)
    back = mx.dequantize(packed, scales, group_size=32, bits=bits, mode=mode)
    back = np.array(back.astype(mx.float32))[0]
    print(mode, title, f"scale {int(np.array(scales)[0, 0]):02x}",
          f"becomes {back[0]:g}, {back[-1]:g}", sep="\t")


mx.set_default_device(mx.cpu)
report(f"mlx {importlib.metadata.version('mlx')}",
       [("quantize mxfp8", rule, "e4m3", codes("mxfp8", 8)) for rule in ("rp", "floor")]
       + [("quantize mxfp4", rule, "e2m1", codes("mxfp4", 4)) for rule in ("rp", "floor")])
print("# blocks of 32, quantised and decoded")
for mode, bits in (("mxfp8", 8), ("mxfp4", 4)):
    decoded("31 ones and a NaN", (1, np.nan), mode, bits)
    decoded("31 ones and an infinity", (1, np.inf), mode, bits)
    decoded("32 times 1e-38", (1e-38, 1e-38), mode, bits)
