"""Draws of PyTorch: `torch.multinomial` with given random numbers or its own, and rows as tensors.

On the CPU one draw is a race: each token takes a 53-bit uniform number, made from two words of
MT19937, high word first. The state of a `torch.Generator` is public, so these words can be chosen
(`chosen_words`), up to the size of one state. Other devices have another stream, which cannot take
given numbers.

Rows of records become tensors bit for bit, and tensors become rows. They are put on the device
that the environment variable `TOKENREF_TORCH_DEVICE` names ("cuda", "mps"), by default the CPU.

Source: `aten/src/ATen/CPUGeneratorImpl.cpp` (layout of the state), PyTorch 2.13.
"""

import os
import struct
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import log1p
from typing import TYPE_CHECKING, Any, Final

from tokenref.answers import Answer, Ok, Refused, Session, Unsupported
from tokenref.engines.chosen_words import WORDS, in_bits, state_of
from tokenref.engines.own_rules import NotExpressibleError, is_clear, logarithms, row_in_32_bits
from tokenref.floats import DIGITS, Type, is_numbers, pack, size_of, to_digits, type_of, unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.rules import rule_name

if TYPE_CHECKING:
    import torch


MOST: Final = (WORDS - 1) // 2
"""Maximum number of given uniform numbers: two words each, and the last word is never used."""

_HEAD: Final = struct.Struct("<QiiQ")
"""Seed, words left, whether it was seeded, index of the next word; then 624 words of 64 bits."""

_NEAR: Final = 1e-6
"""How near to a running sum rounding could decide."""

RACES: Final[Mapping[str, Callable[[float], float]]] = {
    rule_name("draw", method="exponential race"): lambda number: 1 - number,
    rule_name("draw", method="exponential race", noise="-log(1-u)"): lambda number: number,
}
"""The rules of races, and the number that torch takes, whose noise is -log(1 - u)."""

_AT_ONCE: Final = 1 << 22
"""Size of a tensor for many draws."""


def drawn(
    shares: "torch.Tensor", uniforms: Sequence[float], count: int = 1, *, walk: bool = False
) -> list[int]:
    """Return the tokens that torch draws from a row of probabilities with given numbers.

    Without replacement it uses a race, with one number per token. With replacement it uses the
    inverse CDF, with one number per draw.
    """
    import torch

    words = words_of(uniforms, count if walk else len(shares))
    tokens: list[int] = torch.multinomial(
        shares, count, replacement=walk, generator=generator_of(words)
    ).tolist()
    return tokens


def walked(
    shares: "torch.Tensor",
    number: float,
    draw: Callable[..., Any] | None = None,
    *,
    reaches: bool = False,
) -> int:
    """Return the first of two tokens that torch draws with replacement: each takes one number.

    A single draw is a race. `draw` is `torch.multinomial` if that is patched. Raises
    `NotExpressibleError` if the number is so near to a running sum that rounding decides, or that
    torch draws the token before. `reaches` means that this token is wanted.
    """
    import torch

    sums = shares.double().cumsum(-1)
    if not reaches and ((sums / sums[-1:] - number).abs() <= _NEAR).any():
        raise NotExpressibleError("draws by reaching a number, and this one is at a running sum")
    generator = generator_of(words_of([number] * 2, 2))
    draw = draw or torch.multinomial
    return int(draw(shares, 2, replacement=True, generator=generator)[0])


def drawn_after_steps(
    logits: "torch.Tensor", stages: Sequence[Mapping[str, Any]], request: Mapping[str, Any]
) -> Answer:
    """Return what the steps of a question keep, and the token if it asks for a draw."""
    out: dict[str, Any] = {"keep": kept_in(logits), "stages": stages}
    if "draw" in request:
        (number,) = unpack(request["draw"])
        out["token"] = walked(logits.softmax(-1), number)
    return Ok(out)


def words_of(uniforms: Sequence[float], needed: int) -> list[int]:
    """Return the words from which torch makes these uniform numbers.

    Raises `NotExpressibleError` if there are too few or too many, or if it cannot make them.
    """
    if device_name() != "cpu":
        raise NotExpressibleError("its generator on a device cannot take given random numbers")
    if len(uniforms) < needed:
        raise NotExpressibleError(f"takes {needed} random numbers, got {len(uniforms)}")
    numbers = in_bits(uniforms[:needed])
    if numbers is None:
        raise NotExpressibleError("its random numbers must be multiples of 2**-53 below 1")
    if needed > MOST:
        raise NotExpressibleError(f"its generator takes at most {MOST} given random numbers")
    if not _follows_words():
        raise NotExpressibleError("torch uses another generator for noise on this machine")
    return [half for number in numbers for half in divmod(number, 1 << 32)]


def refused(error: Exception) -> Refused | None:
    """Return the refusal of a row that torch rejects as documented, or None for a crash.

    >>> refused(IndexError("argmax(): Expected reduction dim 1 to have non-zero size."))
    Refused(code='INVALID_ROW', message='argmax(): Expected reduction dim 1 to have non-zero size.')
    """
    sentence = str(error).partition("\n")[0]
    parts: tuple[str, ...] = ()
    if isinstance(error, RuntimeError):
        parts = ("prob", "assert", "without replacement")
    elif isinstance(error, IndexError):  # about an empty row
        parts = ("Expected reduction dim",)
    return Refused("INVALID_ROW", sentence) if any(part in sentence for part in parts) else None


def counted(shares: "torch.Tensor", draws: int, seed: int) -> list[list[int]]:
    """Return the counts of tokens, drawn as generate() does: one draw per row."""
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
    """Return the tokens of the rows of a batch for many calls, with one generator."""
    import torch

    generator = torch.Generator(device=device_name()).manual_seed(seed)
    batch = shares.expand(rows, -1)
    drawn = [torch.multinomial(batch, 1, generator=generator) for _ in range(calls)]
    tokens: list[list[int]] = torch.cat(drawn, dim=1).T.tolist()
    return tokens


def generator_of(words: Sequence[int]) -> "torch.Generator":
    """Return a CPU generator whose next words are these, at most 623."""
    import torch

    generator = torch.Generator()
    state = bytearray(generator.get_state().numpy().tobytes())
    _HEAD.pack_into(state, 0, 0, WORDS, 1, 0)
    struct.pack_into(f"<{WORDS}Q", state, _HEAD.size, *state_of(words))
    generator.set_state(torch.frombuffer(state, dtype=torch.uint8))
    return generator


@cache
def _follows_words() -> bool:
    """Return whether torch makes its noise from these words; on some CPUs a library makes it."""
    import torch

    numbers = [1 << 50, 1 << 52, (1 << 53) - 1, 12345]
    words = [half for number in numbers for half in divmod(number, 1 << 32)]
    noise = torch.empty(4, dtype=torch.float64).exponential_(generator=generator_of(words))
    wanted = [-log1p(-number / (1 << 53)) for number in numbers]
    return all(
        abs(one - other) <= 1e-9 * other for one, other in zip(noise.tolist(), wanted, strict=True)
    )


VARIABLE: Final = "TOKENREF_TORCH_DEVICE"


@cache
def _types() -> Mapping[Type, Any]:
    import torch

    names: tuple[Type, ...] = ("f64", "f32", "f16", "bf16")
    types = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
    return dict(zip(names, types, strict=True))


def device_name() -> str:
    """Return the name of the device for rows.

    >>> device_name() == os.environ.get("TOKENREF_TORCH_DEVICE", "cpu")
    True
    """
    return os.environ.get(VARIABLE) or "cpu"


def missing_device() -> str | None:
    """Return why the device is not available, or None if it is."""
    if device_name() == "cpu":
        return None
    import torch

    try:
        torch.zeros(1, device=device_name()).cpu()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).strip().partition("\n")[0]
        return f"{VARIABLE} is {device_name()!r}, which torch cannot use here: {reason}"
    return None


@dataclass(frozen=True)
class OnDevice:
    """A session whose tensors are on the device.

    A token outside a row would be an assertion in a kernel, after which a process cannot use the
    device any more. So such questions are not asked.
    """

    session: Session

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        import torch

        questions = [(op, request)]
        if op == "batch":
            questions = [(request["op"], row) for row in request["rows"]]
        if any(_reaches_outside(*question) for question in questions):
            return Unsupported("is not asked about tokens outside the row, on a device")
        with torch.device(device_name()):
            return self.session.answer(op, request)


def _reaches_outside(op: str, request: Mapping[str, Any]) -> bool:
    """Return whether a question names a token that its row does not have."""
    sizes = list[int]()
    for part in (request.get(name) for name in ("logits", "probs", "target", "rows")):
        for row in part if isinstance(part, list) else [part]:
            if isinstance(row, Mapping) and ("gen" in row or is_numbers(row)):
                sizes.append(size_of(row))
    given = [request.get(name) for name in ("history", "tokens", "token")]
    for name, step in [(op, request), *((each["step"], each) for each in request.get("steps", ()))]:
        for parameter, value in step.get("params", {}).items():
            is_one = parameter in {"ends", "token"} or "_id" in parameter
            if (is_one or not isinstance(value, int)) and (name, parameter) != (
                "token_mask",
                "words",
            ):
                given.append(value)
    return bool(sizes) and any(not 0 <= one < min(sizes) for one in _whole_numbers(given))


def _whole_numbers(value: Any) -> Iterator[int]:
    """Yield the whole numbers in a value of a question."""
    if isinstance(value, Mapping):
        value = value.get("map")
    if isinstance(value, int) and not isinstance(value, bool):
        yield value
    for one in value if isinstance(value, list | tuple) else ():
        yield from _whole_numbers(one)


def to_tensor(rows: Sequence[Mapping[str, Any]], dtype: Type | None = None) -> "torch.Tensor":
    """Return rows of one type and length as a two-dimensional tensor, in their own type.

    With `dtype` they are converted, on the device.
    """
    import torch

    own = type_of(rows[0])
    digits = "".join(row[own] if own in row else to_digits(unpack(row), own) for row in rows)
    little = _reversed(bytearray.fromhex(digits), DIGITS[own] // 2)
    if not little:
        flat = torch.empty(0, dtype=_types()[own])
    else:
        flat = torch.frombuffer(little, dtype=_types()[own])
    tensor = flat.reshape(len(rows), -1 if little else 0).to(device_name())
    return tensor if dtype is None else tensor.to(_types()[dtype])


def with_logits(
    request: Mapping[str, Any], only: Type | None = None, op: str = ""
) -> dict[str, Any]:
    """Return a question with logits instead of probabilities, in 32 or in 64 bits, or in one type.

    Raises `NotExpressibleError` if torch's softmax does not return the probabilities, unless the
    question about an operation is clear.
    """
    import torch

    clear = bool(op) and is_clear(op, unpack_parameters(request["params"]), request)

    def made(dtype: torch.dtype, *, clear: bool = False) -> list[float]:
        return logarithms(
            request["probs"],
            lambda row: torch.tensor(row, dtype=dtype).softmax(-1).tolist(),
            lambda number: torch.tensor(number, dtype=dtype).item(),
            clear=clear,
        )

    try:
        if only == "f64":
            raise NotExpressibleError  # noqa: TRY301 - for 64 bits
        logits = pack(made(torch.float32, clear=clear and only == "f32"), "f32")
    except NotExpressibleError:
        if only == "f32":
            raise
        logits = pack(made(torch.float64, clear=clear), "f64")
    others = {name: value for name, value in request.items() if name != "probs"}
    return {**others, "logits": logits}


def row_of(
    request: Mapping[str, Any], only: Type | None = None, op: str = "", *, exact: bool = True
) -> "torch.Tensor":
    """Return the row of a question about an operation, of logits.

    With `exact` the answer contains no floats, and logits are converted to 32 bits; otherwise they
    stay in their own type. Raises `NotExpressibleError` if a conversion rounds the row.
    """
    if "probs" in request:
        request = with_logits(request, only, op)
    elif exact:
        return tensor_in_32_bits(request)
    return to_tensor([request["logits"]])[0]


def tensor_in_32_bits(request: Mapping[str, Any], *, exact: bool = True) -> "torch.Tensor":
    """Return the row of a question as a tensor, as `row_in_32_bits` does."""
    import torch

    return torch.tensor(row_in_32_bits(request, exact=exact), dtype=torch.float32)


def laid_out(rows: "torch.Tensor", layout: Mapping[str, Any] | None) -> "torch.Tensor":
    """Return the rows in the order and with the distances in memory that a question asks for.

    What lies between them is NaN.
    """
    if layout is None:
        return rows
    import torch

    count, size = rows.shape
    stride = max(layout["stride"], size)
    memory = torch.full((count, stride), torch.nan, dtype=rows.dtype, device=rows.device)
    memory[layout["order"], :size] = rows
    return memory[:, :size]


def places_of(count: int, layout: Mapping[str, Any] | None) -> list[int]:
    """Return where each row is in the memory of a layout.

    >>> places_of(2, None), places_of(2, {"order": [1, 0], "stride": 4})
    ([0, 1], [1, 0])
    """
    return [*range(count)] if layout is None else list(layout["order"])


def to_floats(row: "torch.Tensor", dtype: Type) -> dict[str, str]:
    """Return a one-dimensional row in the form of a record, in the given type."""
    import torch

    little = row.detach().to("cpu").to(_types()[dtype]).contiguous().view(torch.uint8)
    return {dtype: _reversed(bytearray(little.numpy().tobytes()), DIGITS[dtype] // 2).hex()}


def kept_in(row: "torch.Tensor") -> list[int]:
    """Return the tokens of a row whose logit is not minus infinity, ascending."""
    kept: list[int] = (row != float("-inf")).nonzero().flatten().tolist()
    return kept


def _reversed(content: bytearray, width: int) -> bytearray:
    """Reverse the bytes of each number, because records are big-endian and most machines not."""
    if sys.byteorder == "big":
        return content
    turned = bytearray(len(content))
    for place in range(width):
        turned[place::width] = content[width - 1 - place :: width]
    return turned
