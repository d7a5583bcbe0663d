"""gguf's (llama.cpp's) scales of MXFP4 blocks: python scale_gguf.py"""
import importlib.metadata

import numpy as np
from gguf.quants import MXFP4

from scales import report


def codes(amaxes):
    """The first byte of each block of 32 whose largest element is the amax."""
    found = []
    for piece in np.array_split(amaxes, max(1, len(amaxes) >> 12)):
        blocks = np.zeros((len(piece), 32), np.float32)
        blocks[:, 0] = piece
        found.append(MXFP4.quantize_blocks(blocks)[:, 0])
    return np.concatenate(found)


np.seterr(all="ignore")
report(f"gguf {importlib.metadata.version('gguf')}, numpy {np.__version__}",
       [("MXFP4.quantize_blocks", "floor", "e2m1", codes)])
