"""Formats by the names that halfcheck gives them, and their types in numpy."""

import ml_dtypes
import numpy as np

DTYPES = {
    "fp64": np.dtype(np.float64),
    "fp32": np.dtype(np.float32),
    "tf32": np.dtype(np.float32),  # stored as fp32
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "fp16": np.dtype(np.float16),
    "e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "i32": np.dtype(np.int32),
    "u8": np.dtype(np.uint8),
}

NAMES = {dtype: name for name, dtype in DTYPES.items() if name != "tf32"}


def name_of(dtype):
    """The format of a numpy type: "bf16"; numpy's own name where halfcheck has none."""
    return NAMES.get(np.dtype(dtype), str(np.dtype(dtype)))


def dtype_of(name):
    """The numpy type of a format."""
    if name not in DTYPES:
        raise ValueError(f"there is no format {name!r}; there are {', '.join(DTYPES)}")
    return DTYPES[name]
