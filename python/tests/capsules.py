"""DLPack capsules of arrays that no library here makes: of devices, offsets, strides and types."""

import ctypes

import numpy as np

from halfcheck import dlpack

_new = ctypes.pythonapi.PyCapsule_New
_new.restype = ctypes.py_object
_new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_DESTRUCTOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_owners = []  # a capsule's tensor and destructor live as long as it does: here, for ever


class Fake:
    """An array-like of the bytes of `memory`, which it says to be `shape`, `strides` and so on."""

    def __init__(self, memory, shape, code=2, bits=32, lanes=1, strides=None, byte_offset=0,
                 device=(1, 0), versioned=True, major=1):
        self.memory = np.ascontiguousarray(memory)
        self.device, self.versioned = device, versioned
        self.freed = []
        self._shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        steps = None if strides is None else (ctypes.c_int64 * max(len(strides), 1))(*strides)
        tensor = dlpack.Tensor()
        tensor.data = self.memory.ctypes.data
        tensor.device.type, tensor.device.id = device
        tensor.ndim = len(shape)
        tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = code, bits, lanes
        tensor.shape = ctypes.cast(self._shape, ctypes.POINTER(ctypes.c_int64))
        if steps is not None:
            tensor.strides = ctypes.cast(steps, ctypes.POINTER(ctypes.c_int64))
        tensor.byte_offset = byte_offset
        self._kept = [steps, tensor]
        self._managed = dlpack.Versioned(major=major, minor=1, tensor=tensor) if versioned \
            else tensor
        self._destructor = _DESTRUCTOR(lambda _: self.freed.append(True))

    def __dlpack_device__(self):
        return self.device

    def capsule(self):
        """The capsule; `freed` grows when it dies."""
        name = b"dltensor_versioned" if self.versioned else b"dltensor"
        self._kept.append(name)
        _owners.append(self)
        return _new(ctypes.addressof(self._managed), name,
                    ctypes.cast(self._destructor, ctypes.c_void_p))

    def __dlpack__(self, **options):
        if not self.versioned and options:
            raise TypeError("__dlpack__() got an unexpected keyword argument")
        return self.capsule()


class OnDevice(Fake):
    """An array on a GPU, with some ways to a copy on the host."""

    def __init__(self, *arguments, copies=(), **more):
        super().__init__(*arguments, device=(2, 1), **more)
        self.copies = copies
        self._arguments, self._more = arguments, more
        for name in set(copies) & {"cpu", "get"}:
            setattr(self, name, self._copy)

    def _copy(self):
        return Fake(*self._arguments, **self._more)

    def __dlpack__(self, **options):
        if options.get("dl_device") is not None:
            if "dl_device" not in self.copies:
                raise BufferError("it does not copy")
            return self._copy_kept().capsule()
        return super().__dlpack__(**options)

    def _copy_kept(self):
        self._host = self._copy()
        return self._host
