"""What torch does not do, told apart from what it does wrongly.

A call that torch has no function for is answered with "no" and a reason, never computed by a
detour through another format: a finding must be torch's own.
"""

import re
import struct

import torch

from ..arrays import Unsupported

DTYPES = {
    "fp64": torch.float64,
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "i32": torch.int32,
    "u8": torch.uint8,
}
for _format, _name in (("e4m3", "float8_e4m3fn"), ("e5m2", "float8_e5m2"),
                       ("e4m3fnuz", "float8_e4m3fnuz"), ("e5m2fnuz", "float8_e5m2fnuz"),
                       ("e8m0", "float8_e8m0fnu")):
    if hasattr(torch, _name):
        DTYPES[_format] = getattr(torch, _name)

FORMATS = {dtype: format for format, dtype in DTYPES.items()}


class Refusal(Unsupported):
    """torch has no function that does this."""


# What torch says of a dtype, a device or an argument that a function does not take. These never
# depend on the values in the tensors.
_REFUSALS = re.compile(
    r"not implemented for|could not run '|unexpected keyword argument|must have (the )?same"
    r"|same d(ata ?)?type|same type|scalar type|datatype|doesn't support|not supported"
    r"|does not support|different type|unsupported|expected .* (dtype|type)|dtypes?\b"
    r"|can't be cast|non-empty|non-zero|no elements",
    re.IGNORECASE,
)


def refusal_of(error: BaseException) -> "str | None":
    """The reason in one line if the exception says that torch lacks something, else None."""
    if isinstance(error, Refusal):
        return str(error)
    if not isinstance(error, (RuntimeError, TypeError, ValueError)):
        return None
    line = str(error).strip().split("\n")[0]
    return "torch: " + line[:200] if _REFUSALS.search(line) else None


def dtype_of(format: str) -> torch.dtype:
    """The dtype of one of halfcheck's formats."""
    if format not in DTYPES:
        raise Refusal(f"torch {torch.__version__} has no {format}")
    return DTYPES[format]


def into(result: torch.Tensor, out) -> torch.Tensor:
    """The result, which torch must have computed in the format that the call asks for."""
    format, shape = out
    if result.dtype != dtype_of(format):
        raise Refusal(f"torch gives {FORMATS.get(result.dtype, result.dtype)} here, not {format}")
    return result.reshape(tuple(shape))


def room_for(out, *inputs: torch.Tensor) -> torch.Tensor:
    """Memory for torch's argument out=, into which it rounds once from the inputs' common format.

    Into a wider format it would not compute more precisely; that is refused.
    """
    format, shape = out
    common = inputs[0].dtype
    for other in inputs[1:]:
        common = torch.promote_types(common, other.dtype)
    if torch.promote_types(common, dtype_of(format)) != common:
        raise Refusal(f"torch computes in {FORMATS[common]} here and then widens to {format}")
    return torch.empty(tuple(shape), dtype=dtype_of(format))


def single(parameter: float) -> float:
    """A parameter as halfcheck's contracts take it: rounded to fp32, but in the optimizers."""
    return struct.unpack("f", struct.pack("f", parameter))[0]
