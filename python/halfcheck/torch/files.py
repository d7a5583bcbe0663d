"""Files of tensors for what judges a watched step."""

import functools
import math
import os

import torch

from .. import safetensors

_KINDS = {torch.float64: "F64", torch.float32: "F32", torch.bfloat16: "BF16",
          torch.float16: "F16", torch.int64: "I64"}
for _name, _kind in (("float8_e4m3fn", "F8_E4M3"), ("float8_e5m2", "F8_E5M2")):
    if hasattr(torch, _name):
        _KINDS[getattr(torch, _name)] = _kind


def write(path, tensors):
    """A file of a call's tensors. Thousands are written within a step, and many of them are alike
    but for their numbers."""
    parts = [_header(tuple((name, value.dtype, value.shape) for name, value in tensors.items())),
             *map(_bytes, tensors.values())]
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        text = b"".join(parts)
        while text:  # a file may take less than all at once
            text = text[os.write(file, text):]
    finally:
        os.close(file)


@functools.lru_cache(maxsize=1024)
def _header(tensors):
    """That of a file of tensors of these names, types and shapes."""
    return safetensors.packed({
        name: (_KINDS[kind], tuple(shape), bytes(
            math.prod(shape) * safetensors.BYTES[_KINDS[kind]]))
        for name, kind, shape in tensors})[0]


def _bytes(tensor):
    tensor = tensor.contiguous()
    if tensor.dtype not in (torch.float64, torch.float32, torch.float16, torch.int64):
        tensor = tensor.view({1: torch.uint8, 2: torch.int16}[tensor.element_size()])
    return tensor.numpy().tobytes()
