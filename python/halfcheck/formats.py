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

# The formats below half that not every ml_dtypes has. A number of less than 8 bits has a byte of its
# own here, as there. ue4m3 has no type.
SMALL = {"e4m3fnuz": "float8_e4m3fnuz", "e5m2fnuz": "float8_e5m2fnuz", "e2m3": "float6_e2m3fn",
         "e3m2": "float6_e3m2fn", "e2m1": "float4_e2m1fn", "e8m0": "float8_e8m0fnu"}
DTYPES.update({name: np.dtype(getattr(ml_dtypes, kind)) for name, kind in SMALL.items()
               if hasattr(ml_dtypes, kind)})

NAMES = {dtype: name for name, dtype in DTYPES.items() if name != "tf32"}

_ALIASES = {"float64": "fp64", "double": "fp64", "float32": "fp32", "float": "fp32",
            "bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float8_e4m3fn": "e4m3",
            "float8_e5m2": "e5m2", **{kind: name for name, kind in SMALL.items()}}


def name_of(dtype):
    """The format of a numpy type: "bf16"; numpy's own name where halfcheck has none."""
    return NAMES.get(np.dtype(dtype), str(np.dtype(dtype)))


def format_named(name):
    """A format by a name that people give it: "bf16", "bfloat16", torch.bfloat16, numpy.float16."""
    word = name if isinstance(name, str) else getattr(name, "__name__", str(name)).split(".")[-1]
    return _ALIASES.get(word, word)


def dtype_of(name):
    """The numpy type of a format."""
    if name not in DTYPES:
        raise ValueError(f"there is no format {name!r}; there are {', '.join(DTYPES)}")
    return DTYPES[name]
