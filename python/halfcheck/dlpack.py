"""Reads arrays of any library through DLPack, bf16 and fp8 included.

numpy's own reader refuses types that numpy lacks, and torch's and jax's readers need torch and jax.
This one takes both kinds of capsules, "dltensor" and "dltensor_versioned". It borrows the memory: a
capsule that nobody has taken frees its tensor when it dies, so that the array keeps it alive.
"""

import ctypes

import ml_dtypes
import numpy as np

_HOST = {1, 3, 11}  # CPU, and the memory of CUDA and ROCm that the CPU reads
_DEVICES = {1: "cpu", 2: "cuda", 3: "cuda host", 4: "opencl", 7: "vulkan", 8: "metal", 10: "rocm",
            13: "cuda managed", 14: "oneapi"}
_CPU = (1, 0)

_INT, _UINT, _FLOAT, _BFLOAT, _BOOL = 0, 1, 2, 4, 6
_TYPES = {
    (_BFLOAT, 16): np.dtype(ml_dtypes.bfloat16),
    (_BOOL, 8): np.dtype(np.bool_),
    (10, 8): np.dtype(ml_dtypes.float8_e4m3fn),
    (12, 8): np.dtype(ml_dtypes.float8_e5m2),
}
# Codes of dlpack.h 1.1; numbers of 6 and 4 bits come padded to a byte or are refused.
for _code, _kind in ((11, "float8_e4m3fnuz"), (13, "float8_e5m2fnuz"), (14, "float8_e8m0fnu")):
    if hasattr(ml_dtypes, _kind):
        _TYPES[_code, 8] = np.dtype(getattr(ml_dtypes, _kind))
for _code, _letter in ((_INT, "i"), (_UINT, "u"), (_FLOAT, "f")):
    for _bits in (8, 16, 32, 64):
        if (_code, _bits) != (_FLOAT, 8):
            _TYPES[_code, _bits] = np.dtype(f"{_letter}{_bits // 8}")


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    """DLTensor, which begins a DLManagedTensor."""

    _fields_ = [("data", ctypes.c_void_p), ("device", _Device), ("ndim", ctypes.c_int32),
                ("dtype", _Type), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned. Only `major` keeps its place in every version."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", Tensor)]


_is_capsule = ctypes.pythonapi.PyCapsule_IsValid
_is_capsule.restype = ctypes.c_int
_is_capsule.argtypes = [ctypes.py_object, ctypes.c_char_p]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def to_numpy(array):
    """What `array`, which has __dlpack__, holds. Not a copy, if it lies in the host's memory."""
    device = tuple(int(part) for part in array.__dlpack_device__())
    if device[0] in _HOST:
        return from_capsule(_capsule(array))
    try:
        return from_capsule(_capsule(array, dl_device=_CPU, copy=True))
    except (TypeError, BufferError, NotImplementedError, ValueError):
        pass  # a producer of before 2023.12, or one that does not copy
    for copy in ("cpu", "get"):
        if hasattr(array, copy):
            return _host(getattr(array, copy)(), device)
    raise TypeError(f"the array lies on {_name(*device)}, and its type {type(array).__name__} "
                    "makes no copy on the host: it has neither cpu() nor get()")


def _host(copy, device):
    if isinstance(copy, np.ndarray):
        return copy
    if int(copy.__dlpack_device__()[0]) not in _HOST:
        raise TypeError(f"the array lies on {_name(*device)}, and so does its copy on the host")
    return from_capsule(_capsule(copy))


def _capsule(array, **options):
    try:
        return array.__dlpack__(max_version=(1, 0), **options)
    except TypeError:  # a producer of before 2023.12
        if options:
            raise
        return array.__dlpack__()


def from_capsule(capsule):
    """The array in a capsule, which it keeps."""
    if _is_capsule(capsule, b"dltensor_versioned"):
        managed = Versioned.from_address(_pointer(capsule, b"dltensor_versioned"))
        if managed.major != 1:
            raise TypeError(f"the array comes by DLPack {managed.major}.{managed.minor}; "
                            "this reads version 1 and before")
        tensor = managed.tensor
    elif _is_capsule(capsule, b"dltensor"):
        tensor = Tensor.from_address(_pointer(capsule, b"dltensor"))
    else:
        raise TypeError("__dlpack__ gave no DLPack capsule, or one that was taken already")
    return _view(tensor, capsule)


def _view(tensor, capsule):
    if tensor.device.type not in _HOST:
        raise TypeError(f"the array lies on {_name(tensor.device.type, tensor.device.id)}, "
                        "not in the host's memory")
    dtype = _dtype(tensor.dtype)
    shape = tuple(tensor.shape[: tensor.ndim])
    if any(extent < 0 for extent in shape):
        raise TypeError(f"the array's shape is {list(shape)}")
    if 0 in shape:
        return np.empty(shape, dtype)
    steps = _strides(tensor, shape)
    first = sum((n - 1) * step for n, step in zip(shape, steps) if step < 0)
    last = sum((n - 1) * step for n, step in zip(shape, steps) if step > 0)
    address = tensor.data + tensor.byte_offset + first * dtype.itemsize
    memory = (ctypes.c_char * ((last - first + 1) * dtype.itemsize)).from_address(address)
    memory.capsule = capsule  # the array keeps its memory, and the memory keeps its owner
    view = np.ndarray(shape, dtype, np.frombuffer(memory, np.uint8), -first * dtype.itemsize,
                      tuple(step * dtype.itemsize for step in steps))
    view.flags.writeable = False
    return view


def _strides(tensor, shape):
    if tensor.strides:
        return tuple(tensor.strides[: tensor.ndim])
    steps, step = [], 1
    for extent in reversed(shape):
        steps.append(step)
        step *= extent
    return tuple(reversed(steps))


def _dtype(given):
    dtype = _TYPES.get((given.code, given.bits))
    if dtype is None or given.lanes != 1:
        raise TypeError(f"the array's elements are of DLPack's type code {given.code} with "
                        f"{given.bits} bits and {given.lanes} lanes, which halfcheck does not know")
    return dtype


def _name(device, number):
    return f"{_DEVICES.get(device, f'device {device}')}:{number}"
