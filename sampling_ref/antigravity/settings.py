"""The parameters of the published function, checked and made numbers of one kind.

The defaults are those of the program's command line.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any, Final, Literal, TypeAlias, get_args

from sampling_ref.errors import ParameterError
from sampling_ref.numbers.binary32 import Binary32
from sampling_ref.parameters import read_choice, read_fraction, read_whole
from sampling_ref.random.sources import read_uniform
from sampling_ref.row import Number

Exhausted: TypeAlias = Literal["last candidate", "first candidate", "error"]
"""Which token is drawn if the subtraction never reaches 0."""

ZeroTopK: TypeAlias = Literal["none left", "no limit"]
"""What a `top_k` of 0 says."""

NumberKind: TypeAlias = type[Fraction] | type[Binary32]
"""The kind of numbers to calculate with: those that never round, or those of 32 bits."""

LARGEST_RANDOM_NUMBER: Final = 1 - 2.0**-24
"""The largest 32-bit number below 1, and the largest random number that the program draws."""


@dataclass(frozen=True)
class Settings:
    """The parameters of one call, all numbers of one kind.

    >>> Settings().repetition_penalty
    1.1
    """

    temperature: Number = 0.8
    top_p: Number = 0.9
    top_k: int = 40
    repetition_penalty: Number = 1.1
    repetition_window: int = 64
    exhausted: Exhausted = "last candidate"
    zero_top_k: ZeroTopK = "none left"


def read_settings(given: Settings, number: NumberKind) -> Settings:
    """Return the settings with every parameter checked, as numbers of that kind.

    >>> read_settings(Settings(top_p=0.5), Fraction).top_p
    Fraction(1, 2)
    >>> read_settings(Settings(top_p=1.5), Fraction)
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: top_p must be in [0, 1], got 1.5
    """
    temperature = number(read_fraction("temperature", given.temperature, "[0, inf)"))
    top_p = number(read_fraction("top_p", given.top_p, "[0, 1]"))
    penalty = number(read_fraction("repetition_penalty", given.repetition_penalty, "(0, inf)"))
    if temperature == inf:
        raise ParameterError("temperature", given.temperature, "must be finite in 32 bits")
    if not 0 < penalty < inf:
        requirement = "must be above 0 and finite in 32 bits"
        raise ParameterError("repetition_penalty", given.repetition_penalty, requirement)
    read_choice("exhausted", given.exhausted, get_args(Exhausted))
    read_choice("zero_top_k", given.zero_top_k, get_args(ZeroTopK))
    top_k = read_whole("top_k", given.top_k, 0)
    window = read_whole("repetition_window", given.repetition_window, 0)
    if top_k == 0 and given.zero_top_k == "none left" and temperature != 0:
        raise ParameterError("top_k", 0, "must be at least 1 to leave a token")
    return Settings(
        temperature=temperature,
        top_p=top_p,
        top_k=top_k,
        repetition_penalty=penalty,
        repetition_window=window,
        exhausted=given.exhausted,
        zero_top_k=given.zero_top_k,
    )


def read_random_number(r: Any, number: NumberKind) -> Number:
    """Return the random number as one of that kind, and below 1 in 32 bits too.

    >>> read_random_number(1 - 2.0**-53, Binary32) == LARGEST_RANDOM_NUMBER
    True
    >>> read_random_number(1.0, Fraction)
    Traceback (most recent call last):
    sampling_ref.errors.RandomNumberError: r must be in [0, 1), got 1.0
    """
    read_uniform(r, "r")
    return min(number(r), number(LARGEST_RANDOM_NUMBER)) if number is Binary32 else number(r)
