"""torchao's scales and blocks, judged: python judge_torchao.py HALFCHECK

For sources that are not installed, PYTHONPATH=FOLDER and as a second argument `head`.
"""
import logging
import sys

import numpy as np
import torch

logging.disable(logging.WARNING)

from torchao.float8.float8_utils import amax_to_scale  # noqa: E402
from torchao.prototype.mx_formats.mx_tensor import ScaleCalculationMode, to_mx  # noqa: E402
from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize  # noqa: E402

from drive import bits, blocks, judge  # noqa: E402

DTYPES = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
HEAD = {"FLOOR": "mx-floor", "EVEN": "torchao-even", "CEIL": "mx-ceil", "RCEIL": "torchao-rceil"}


def tensor(pow2):
    return lambda amaxes: bits(amax_to_scale(torch.from_numpy(amaxes.ravel()), DTYPES["e4m3"],
                                             pow2))


def mx(dtype, mode):
    def answer(elements):
        scales, codes = to_mx(torch.from_numpy(elements), dtype, elements.shape[1], mode)
        return blocks(scales.view(torch.uint8).numpy().ravel(), codes.view(torch.uint8).numpy())
    return answer


def nvfp4(words):
    """The tensor's scale is its amax / 2688, as the package's own callers have it."""
    answers = []
    for row in words:
        scale = torch.tensor(float(row[0]), dtype=torch.float32) / (448.0 * 6.0)
        found, packed = nvfp4_quantize(torch.from_numpy(row[1:].reshape(1, -1).copy()), 16, scale)
        pairs = packed.view(torch.uint8).numpy().ravel()
        answers += blocks(found.view(torch.uint8).numpy().ravel(),
                          np.stack([pairs & 15, pairs >> 4], 1).ravel(), 1)
    return answers


head = sys.argv[2:] == ["head"]
torch.set_num_threads(1)
judge(f"torchao {'head' if head else '0.18.0'}, torch {torch.__version__}",
      [("torchao", [], tensor(False)), ("torchao-pow2", [], tensor(True))]
      + [(HEAD[mode.name] if head else f"torchao-0.18-{mode.name.lower()}", ["--codes", name],
          mx(dtype, mode)) for mode in ScaleCalculationMode for name, dtype in DTYPES.items()]
      + [("nvfp4-torchao", [], nvfp4)])
