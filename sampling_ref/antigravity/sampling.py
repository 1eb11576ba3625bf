"""The published function itself, in both arithmetics. The arguments are read here."""

from fractions import Fraction
from math import inf
from typing import Any, Literal, TypeAlias, get_args

from sampling_ref.antigravity.exact import sample_exactly, stages_exactly
from sampling_ref.antigravity.rounded import stages_in_32_bits
from sampling_ref.antigravity.settings import (
    Exhausted,
    Settings,
    ZeroTopK,
    read_random_number,
    read_settings,
)
from sampling_ref.antigravity.stages import Stages
from sampling_ref.errors import RowError, shown
from sampling_ref.history import read_history
from sampling_ref.numbers.binary32 import Binary32, to_binary32
from sampling_ref.parameters import read_choice
from sampling_ref.row import Number, TokenId, numbers_of, read_possible_logits

Precision: TypeAlias = Literal["exact", "f32"]
"""Exact numbers, or 32-bit floats that round after every operation."""


def sample(
    logits: Any,
    history: Any,
    r: Number,
    *,
    temperature: Number = 0.8,
    top_p: Number = 0.9,
    top_k: int = 40,
    repetition_penalty: Number = 1.1,
    repetition_window: int = 64,
    exhausted: Exhausted = "last candidate",
    zero_top_k: ZeroTopK = "none left",
    precision: Precision = "exact",
) -> TokenId:
    """Return the token that the function draws with the random number `r`, in [0, 1).

    `logits`: one natural-log number per token. `history`: the tokens so far, oldest first.
    Raises `RowError`, `HistoryError`, `RandomNumberError` or `ParameterError`.

    Token 1 was seen twice, so 4 becomes 4 / 2 / 2, and token 0 is the likeliest:

    >>> sample([1.5, 4.0], [1, 1], 0.0, repetition_penalty=2.0)
    0

    At temperature 0 the last of equal maxima wins, in 32 bits also of maxima that are not
    equal before they are rounded:

    >>> sample([1.0, 1.0, 0.5], [], 0.5, temperature=0)
    1
    >>> row = [1.0 + 2.0**-40, 1.0]
    >>> [sample(row, [], 0, temperature=0, precision=precision) for precision in ("exact", "f32")]
    [0, 1]
    """
    given = Settings(
        temperature=temperature,
        top_p=top_p,
        top_k=top_k,
        repetition_penalty=repetition_penalty,
        repetition_window=repetition_window,
        exhausted=exhausted,
        zero_top_k=zero_top_k,
    )
    if _is_exact(precision):
        row, tokens, number, settings = _read_exactly(logits, history, r, given)
        return sample_exactly(row, tokens, number, settings)
    return stages(logits, history, r, given, precision=precision).token


def stages(
    logits: Any,
    history: Any,
    r: Number,
    settings: Settings | None = None,
    *,
    precision: Precision = "exact",
) -> Stages:
    """Return what every step of `sample` leaves behind; the same arguments, the same errors.

    >>> looked_into = stages([4.0, 4.0, -1.0], [0], 0.75, Settings(1, 1, 2, 2), precision="f32")
    >>> looked_into.penalised, looked_into.top_k, looked_into.token
    ([2.0, 4.0, -1.0], [1, 0], 1)
    """
    given = Settings() if settings is None else settings
    if _is_exact(precision):
        return stages_exactly(*_read_exactly(logits, history, r, given))
    return stages_in_32_bits(*_read_in_32_bits(logits, history, r, given))


def _is_exact(precision: object) -> bool:
    return read_choice("precision", precision, get_args(Precision)) == "exact"


def _read_exactly(
    logits: object, history: object, r: object, given: Settings
) -> tuple[list[Number], list[TokenId], Number, Settings]:
    row = read_possible_logits(logits)
    return (
        row,
        read_history(history, len(row)),
        read_random_number(r, Fraction),
        read_settings(given, Fraction),
    )


def _read_in_32_bits(
    logits: object, history: object, r: object, given: Settings
) -> tuple[list[float], list[TokenId], Number, Settings]:
    """Read everything as 32-bit floats. At temperature 0 a row may hold any of them."""
    settings = read_settings(given, Binary32)
    row = [to_binary32(logit) for logit in numbers_of(logits, "logits")]
    if settings.temperature != 0:
        for token, logit in enumerate(row):
            if not -inf <= logit < inf:
                rule = "must be finite or minus infinity in 32 bits above temperature 0"
                raise RowError(f"logits[{token}] {rule}, got {shown(logit)}")
    if set(row) == {-inf}:
        raise RowError("logits leave no token possible: all are minus infinity")
    return row, read_history(history, len(row)), read_random_number(r, Binary32), settings
