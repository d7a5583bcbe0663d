"""microxcaling's shared exponents: PYTHONPATH=FOLDER python scale_microxcaling.py

FOLDER holds its sources. Its exponent of 0 is that of 2^-126, since it adds that to zero blocks.
"""
import torch
from mx.formats import _get_format_params
from mx.mx_ops import _shared_exponents

from scales import report

NAMES = {"e4m3": "fp8_e4m3", "e5m2": "fp8_e5m2", "e2m3": "fp6_e2m3", "e3m2": "fp6_e3m2",
         "e2m1": "fp4_e2m1"}


def codes(name):
    """As _quantize_mx goes on: less emax, NaN above 127, at least -127."""
    emax = _get_format_params(NAMES[name])[2]

    def of(amaxes):
        exponents = _shared_exponents(torch.from_numpy(amaxes).reshape(-1, 1), axes=[1]) - emax
        exponents[exponents > 127] = float("nan")
        return torch.nan_to_num(exponents.clamp(min=-127) + 127, nan=255).numpy().ravel()
    return of


torch.set_num_threads(1)
report(f"microxcaling, torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}",
       [("_shared_exponents", "floor", name, codes(name)) for name in NAMES])
