"""Triton's interpreter (TRITON_INTERPRET=1), which needs no GPU: python cast_triton.py [HALFCHECK]

It converts by its own arithmetic in numpy. Use --some: all inputs take an hour.
"""
import numpy as np
import triton
import triton.language as tl
from triton.runtime import interpreter

from rule import report

TYPES = {"e4m3": tl.float8e4nv, "e5m2": tl.float8e5, "e4m3fnuz": tl.float8e4b8,
         "e5m2fnuz": tl.float8e5b16}


def cast(dtype):
    """What x.to(dtype) becomes in a kernel that is interpreted."""
    builder = interpreter.interpreter_builder

    def convert(x):
        handle = interpreter.TensorHandle(np.array(x), tl.float32)
        nearest = interpreter._ir.ROUNDING_MODE.RTNE
        return builder.create_fp_to_fp(handle, dtype, nearest).data.view(np.uint8)
    return convert


report(f"triton {triton.__version__}, interpreted",
       [(name, saturate, ".to", cast(dtype)) for name, dtype in TYPES.items()
        for saturate in ((True, False) if name in ("e4m3", "e5m2") else (False,))])
