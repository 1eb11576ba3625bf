"""Rows of records as tensors of PyTorch, bit for bit, and back.

The device is what the environment variable `TOKENREF_TORCH_DEVICE` says ("cuda", "mps"),
by default the processor.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from tokenref.answers import Refused
from tokenref.floats import Type, to_digits, type_of, unpack

if TYPE_CHECKING:
    import torch

VARIABLE: Final = "TOKENREF_TORCH_DEVICE"
_BYTES: Final[Mapping[Type, int]] = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2}


@cache
def _types() -> Mapping[Type, Any]:
    import torch

    return {
        "f64": torch.float64,
        "f32": torch.float32,
        "f16": torch.float16,
        "bf16": torch.bfloat16,
    }


def device_name() -> str:
    """Return the device that rows are put on.

    >>> device_name() == os.environ.get("TOKENREF_TORCH_DEVICE", "cpu")
    True
    """
    return os.environ.get(VARIABLE) or "cpu"


def missing_device() -> str | None:
    """Return why there is no such device here, or None if there is one."""
    if device_name() == "cpu":
        return None
    import torch

    try:
        torch.zeros(1, device=device_name()).cpu()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).strip().partition("\n")[0]
        return f"{VARIABLE} is {device_name()!r}, which torch cannot use here: {reason}"
    return None


def to_tensor(rows: Sequence[Mapping[str, Any]], dtype: Type | None = None) -> "torch.Tensor":
    """Return rows of one type and length as a tensor of two dimensions, in their own type.

    With `dtype` they are converted, on the device.
    """
    import torch

    own = type_of(rows[0])
    digits = "".join(row[own] if own in row else to_digits(unpack(row), own) for row in rows)
    little = _reversed(bytearray.fromhex(digits), _BYTES[own])
    if not little:
        flat = torch.empty(0, dtype=_types()[own])
    else:
        flat = torch.frombuffer(little, dtype=_types()[own])
    tensor = flat.reshape(len(rows), -1 if little else 0).to(device_name())
    return tensor if dtype is None else tensor.to(_types()[dtype])


def to_floats(row: "torch.Tensor", dtype: Type) -> dict[str, str]:
    """Return a row of one dimension as a record has it, in the type that is asked for."""
    import torch

    little = row.detach().to("cpu").to(_types()[dtype]).contiguous().view(torch.uint8)
    return {dtype: _reversed(bytearray(little.numpy().tobytes()), _BYTES[dtype]).hex()}


def kept_in(row: "torch.Tensor") -> list[int]:
    """Return the tokens of a row that are not at minus infinity, ascending."""
    kept: list[int] = (row != float("-inf")).nonzero().flatten().tolist()
    return kept


def refused_as_empty(error: IndexError) -> Refused:
    """Return what torch refuses because a row is empty, which it checks and says. Else raise.

    >>> refused_as_empty(IndexError("argmax(): Expected reduction dim 1 to have non-zero size."))
    Refused(code='INVALID_ROW', message='argmax(): Expected reduction dim 1 to have non-zero size.')
    """
    if "Expected reduction dim" not in str(error):
        raise error
    return Refused("INVALID_ROW", str(error).partition("\n")[0])


def _reversed(content: bytearray, width: int) -> bytearray:
    """Turn the bytes of each number around: records begin with the high one, most machines not."""
    if sys.byteorder == "big":
        return content
    turned = bytearray(len(content))
    for place in range(width):
        turned[place::width] = content[width - 1 - place :: width]
    return turned
