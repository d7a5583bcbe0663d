"""Reads and writes safetensors files, with Python's own library alone.

A file begins with eight bytes, the length of a JSON header; the header names each tensor with its
type, shape and place, and may hold texts under "__metadata__"; then come the tensors' bytes.
Nothing in a file is believed: every size is checked before it is used."""

import json
import math
import os
import tempfile

BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1,
         "F8_E4M3FNUZ": 1, "F8_E5M2FNUZ": 1, "F8_E8M0": 1,
         "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
MAX_HEADER = 100_000_000
ALIGNMENT = 64


def read(path):
    """The tensors of a file, {name: (type, shape, bytes)}, and its metadata. ValueError says what
    is wrong with a file that is none."""
    with open(path, "rb") as file:
        data = file.read()
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > min(len(data) - 8, MAX_HEADER):
        raise ValueError(f"{path}: no safetensors file: its header is longer than the file")
    try:
        header = json.loads(data[8:8 + length])
        metadata = header.pop("__metadata__", {})
        return {name: _tensor(path, name, row, memoryview(data)[8 + length:])
                for name, row in header.items()}, metadata
    except (AttributeError, KeyError, TypeError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path}: no safetensors file: {error}") from None


def _tensor(path, name, row, data):
    kind, shape, (begin, end) = row["dtype"], tuple(row["shape"]), row["data_offsets"]
    if kind not in BYTES:
        raise ValueError(f"{path}: {name!r} has the unknown type {kind!r}")
    if any(extent < 0 for extent in shape) or not 0 <= begin <= end <= len(data) \
            or end - begin != math.prod(shape) * BYTES[kind]:
        raise ValueError(f"{path}: {name!r} does not have the bytes that its shape asks for")
    return kind, shape, bytes(data[begin:end])


def packed(tensors, metadata=None):
    """The bytes of a file of these tensors, {name: (type, shape, bytes)}, in parts."""
    header = {"__metadata__": dict(metadata)} if metadata else {}
    at = 0
    for name, (kind, shape, data) in tensors.items():
        if len(data) != math.prod(shape) * BYTES[kind]:
            raise ValueError(f"{name!r} has {len(data)} bytes, not those of {kind} {tuple(shape)}")
        header[name] = {"dtype": kind, "shape": list(shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    return [len(text).to_bytes(8, "little") + text, *(data for _, _, data in tensors.values())]


def write(path, tensors, metadata=None):
    """Replaces the file in one step by these tensors, {name: (type, shape, bytes)}, in their
    order, and the metadata, {text: text}."""
    parts = packed(tensors, metadata)
    folder = os.path.dirname(os.path.abspath(path))
    handle, part = tempfile.mkstemp(prefix=os.path.basename(path) + ".", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(parts)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(part, 0o666 & ~umask)
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise
