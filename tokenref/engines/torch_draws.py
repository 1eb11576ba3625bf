"""Draws of PyTorch: `torch.multinomial` with random numbers that are handed over, or its own.

On the processor one draw is a race: each token takes a uniform number of 53 bits, made of two
words of MT19937, the high one first. The state of a `torch.Generator` is public, so these
words can be chosen (`chosen_words`), as many as one state holds. On other devices the stream is
another one, and takes nothing from outside.

Source: `aten/src/ATen/CPUGeneratorImpl.cpp` (layout of the state), PyTorch 2.13.

Rows of records become tensors bit for bit, and tensors become rows. They are put on the device
that the environment variable `TOKENREF_TORCH_DEVICE` names ("cuda", "mps"), by default the CPU.
"""

import os
import struct
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from math import log1p
from typing import TYPE_CHECKING, Any, Final

from tokenref.answers import Refused, Unsupported
from tokenref.engines.chosen_words import WORDS, in_53_bits, state_of
from tokenref.floats import Type, to_digits, type_of, unpack

if TYPE_CHECKING:
    import torch


MOST: Final = (WORDS - 1) // 2
"""Uniform numbers that can be handed over: two words each, and the last word is never reached."""

_HEAD: Final = struct.Struct("<QiiQ")
"""Seed, words left, whether it was seeded, place of the next word; then 624 words, as 64 bits."""

_AT_ONCE: Final = 1 << 22
"""Numbers of a tensor of many draws."""


def drawn(
    shares: "torch.Tensor", uniforms: Sequence[float], count: int = 1, *, walk: bool = False
) -> list[int] | Refused | Unsupported:
    """Return the tokens that torch draws from a row of probabilities with these numbers.

    Without replacement it races, and takes a number for each token; with replacement it walks
    along the sums, and takes one for each draw.
    """
    import torch

    if device_name() != "cpu":
        return Unsupported("its generator on a device takes no random numbers from outside")
    needed = count if walk else len(shares)
    if len(uniforms) < needed:
        return Unsupported(f"takes {needed} random numbers here, got {len(uniforms)}")
    numbers = in_53_bits(uniforms[:needed])
    if numbers is None:
        return Unsupported("its random numbers are multiples of 2**-53 below 1")
    if needed > MOST:
        return Unsupported(f"at most {MOST} random numbers can be put into its generator")
    if not _follows_words():
        return Unsupported("torch on this machine makes its noise with another generator")
    words = [half for number in numbers for half in divmod(number, 1 << 32)]
    try:
        tokens: list[int] = torch.multinomial(
            shares, count, replacement=walk, generator=generator_of(words)
        ).tolist()
    except RuntimeError as error:
        return refused(error)
    return tokens


def refused(error: RuntimeError) -> Refused:
    """Return what `torch.multinomial` refuses: its documentation says which rows. Else raise."""
    sentence = str(error).partition("\n")[0]
    if "prob" in sentence or "assert" in sentence or "without replacement" in sentence:
        return Refused("INVALID_ROW", sentence)
    raise error


def counted(shares: "torch.Tensor", draws: int, seed: int) -> list[list[int]]:
    """Return how often each token comes, drawing as generate() does: one draw for each row."""
    import torch

    generator = torch.Generator(device=device_name()).manual_seed(seed)
    counts = torch.zeros(len(shares), dtype=torch.long, device=shares.device)
    rows = max(1, _AT_ONCE // len(shares))
    for done in range(0, draws, rows):
        many = shares.expand(min(rows, draws - done), -1)
        tokens = torch.multinomial(many, 1, generator=generator).flatten()
        counts += torch.bincount(tokens, minlength=len(shares))
    return [[token, count] for token, count in enumerate(counts.tolist()) if count]


def batched(shares: "torch.Tensor", rows: int, calls: int, seed: int) -> list[list[int]]:
    """Return the tokens of so many rows of one batch, call after call, with one generator."""
    import torch

    generator = torch.Generator(device=device_name()).manual_seed(seed)
    batch = shares.expand(rows, -1)
    drawn = [torch.multinomial(batch, 1, generator=generator) for _ in range(calls)]
    tokens: list[list[int]] = torch.cat(drawn, dim=1).T.tolist()
    return tokens


def generator_of(words: Sequence[int]) -> "torch.Generator":
    """Return a generator of the processor whose next words are these, at most 623."""
    import torch

    generator = torch.Generator()
    state = bytearray(generator.get_state().numpy().tobytes())
    _HEAD.pack_into(state, 0, 0, WORDS, 1, 0)
    struct.pack_into(f"<{WORDS}Q", state, _HEAD.size, *state_of(words))
    generator.set_state(torch.frombuffer(state, dtype=torch.uint8))
    return generator


@cache
def _follows_words() -> bool:
    """Say whether torch's noise is made of the words; with some processors a library makes it."""
    import torch

    numbers = [1 << 50, 1 << 52, (1 << 53) - 1, 12345]
    words = [half for number in numbers for half in divmod(number, 1 << 32)]
    noise = torch.empty(4, dtype=torch.float64).exponential_(generator=generator_of(words))
    wanted = [-log1p(-number / (1 << 53)) for number in numbers]
    return all(
        abs(one - other) <= 1e-9 * other for one, other in zip(noise.tolist(), wanted, strict=True)
    )


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
