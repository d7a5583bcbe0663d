"""Arrays of numpy, torch, jax and cupy: numpy on this side, the user's library on the other."""

import importlib
import sys

import numpy as np

from . import dlpack
from .formats import DTYPES, SMALL, name_of

# torch's types of one number a byte; its float4_e2m1fn_x2 has two.
_TORCH_BYTES = {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "e4m3fnuz": "float8_e4m3fnuz",
                "e5m2fnuz": "float8_e5m2fnuz", "e8m0": "float8_e8m0fnu"}

KINDS = ("numpy", "torch", "jax", "cupy")


class Unsupported(Exception):
    """A function, or its library, does not take a call. Raise it to say so: the call is then
    counted as left out, not as wrong."""


def to_numpy(value, dtype=None):
    """A numpy array of what `value` holds; numbers and lists become `dtype`."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, (bool, int, float, list, tuple)):
        return np.asarray(value, dtype)
    if type(value).__module__.split(".")[0] == "torch":
        return _of_torch(value)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return dlpack.to_numpy(value)
    if hasattr(value, "__array__"):
        return np.asarray(value)
    raise TypeError(f"{type(value).__module__}.{type(value).__name__} is no array: it has neither "
                    "__dlpack__ nor __array__")


def _of_torch(tensor):
    # DLPack takes no tensor that needs a gradient or is a lazy conjugate. That of torch refuses
    # fp8, so fp8 goes through its bytes.
    import torch

    tensor = tensor.detach().resolve_conj().resolve_neg()
    for dtype, name in _TORCH_BYTES.items():
        if dtype in DTYPES and tensor.dtype == getattr(torch, name, None):
            return dlpack.to_numpy(tensor.view(torch.uint8)).view(DTYPES[dtype])
    return dlpack.to_numpy(tensor)


def kind_of(functions):
    """The library that a function's module works with: torch or jax if it has imported that."""
    for function in functions:
        names = getattr(function, "__globals__", {})
        home = str(getattr(function, "__module__", "") or "").split(".")[0]
        for kind in ("torch", "jax", "cupy"):
            if home in (kind, kind + "lib") or any(
                    getattr(value, "__name__", "").split(".")[0] == kind
                    for value in list(names.values()) if isinstance(value, type(sys))):
                return kind
    return "numpy"


def maker(kind):
    """The function that makes an array of that library from one of numpy, without a copy if it
    can; and the library's types by format."""
    if kind not in KINDS:
        raise ValueError(f"arrays={kind!r}: there are {', '.join(KINDS)}")
    if kind == "numpy":
        return lambda array: array, dict(DTYPES)
    try:
        library = importlib.import_module("jax.numpy" if kind == "jax" else kind)
    except ImportError as error:
        raise ImportError(f"arrays={kind!r}: {error}") from error
    return {"torch": _torch, "jax": _jax, "cupy": _cupy}[kind](library)


def _torch(torch):
    names = {"fp64": "float64", "fp32": "float32", "tf32": "float32", "bf16": "bfloat16",
             "fp16": "float16", "i32": "int32", "u8": "uint8", **_TORCH_BYTES}
    dtypes = {name: getattr(torch, dtype, None) for name, dtype in names.items()}
    through = {DTYPES[name]: (np.uint8, dtypes.get(name)) for name in ("e4m3", "e5m2", *SMALL)
               if name in DTYPES}
    through[DTYPES["bf16"]] = (np.int16, dtypes["bf16"])

    def make(array):
        if array.dtype not in through:
            return torch.from_numpy(array)
        plain, dtype = through[array.dtype]
        if dtype is None:
            raise Unsupported(f"torch {torch.__version__} has no {name_of(array.dtype)}")
        return torch.from_numpy(array.view(plain)).view(dtype)

    return make, dtypes


def _jax(jnp):
    def make(array):
        made = jnp.asarray(array)
        if made.dtype != array.dtype:
            raise Unsupported(f"jax has no {name_of(array.dtype)} (jax_enable_x64 is off)")
        return made

    return make, dict(DTYPES)


def _cupy(cupy):
    def make(array):
        try:
            return cupy.asarray(array)
        except (TypeError, ValueError) as error:
            raise Unsupported(f"cupy has no {name_of(array.dtype)}") from error

    return make, dict(DTYPES)
