"""torchao's scales of MX blocks: python scale_torchao.py [--only MODE]

For a version that is not installed, put its sources first: PYTHONPATH=FOLDER.
"""
import logging

import numpy as np
import torch

logging.disable(logging.WARNING)

import torchao  # noqa: E402
from torchao.prototype.mx_formats.mx_tensor import ScaleCalculationMode, to_mx  # noqa: E402

from scales import report  # noqa: E402

FORMATS = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2,
           "e2m1": torch.float4_e2m1fn_x2}
RULES = {"floor": ScaleCalculationMode.FLOOR, "rp": ScaleCalculationMode.RCEIL,
         "ceil": ScaleCalculationMode.CEIL, "even": ScaleCalculationMode.EVEN}


def scale(dtype, mode):
    """Each amax is a block of two, beside a zero: torchao packs two codes of four bits a byte."""
    def codes(amaxes):
        blocks = np.zeros((len(amaxes), 2), np.float32)
        blocks[:, 0] = amaxes
        found, _ = to_mx(torch.from_numpy(blocks), dtype, 2, mode)
        return found.view(torch.uint8).numpy().ravel()
    return codes


torch.set_num_threads(1)
report(f"torchao {getattr(torchao, '__version__', '')}, torch {torch.__version__}, "
       f"{torch.backends.cpu.get_cpu_capability()}",
       [(mode.name, rule, name, scale(dtype, mode)) for name, dtype in FORMATS.items()
        for rule, mode in RULES.items()])
