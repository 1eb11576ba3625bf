"""What may be in a list of candidates here, and the reading of 32-bit parameters.

What the source leaves open
    The engine never looks whether its numbers make sense. An empty list stops its process;
    NaN or plus infinity makes every probability NaN, and some token is drawn. Here these are
    errors, as everywhere in this package. All logits and real parameters are rounded to
    binary32 first, which is what passing them to the engine does.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import inf, isfinite, nan
from typing import Any

from sampling_ref.candidates import Candidates
from sampling_ref.errors import ParameterError, RowError, shown
from sampling_ref.numbers.binary32 import all_to_binary32, to_binary32
from sampling_ref.parameters import read_whole
from sampling_ref.row import Row, TokenId, is_number


def read_candidates(candidates: Candidates) -> tuple[list[TokenId], list[float]]:
    """Return tokens and binary32 logits of candidates as new lists.

    >>> read_candidates(Candidates([3, 1], [0.5, 0.1]))
    ([3, 1], [0.5, 0.10000000149011612])
    >>> read_candidates(Candidates([], []))
    Traceback (most recent call last):
    sampling_ref.errors.RowError: candidates must hold at least one token, got none
    """
    if candidates.factor != 1:
        raise ParameterError("factor", candidates.factor, "must be 1: 32-bit logits are divided")
    tokens = list(candidates.tokens)
    logits = to_binary32_row(candidates.logits)
    if not tokens:
        raise RowError("candidates must hold at least one token, got none")
    if not -inf <= sum(logits) < inf:  # one pass for the usual row: NaN and infinity stay
        for token, logit in zip(tokens, logits, strict=True):
            if not -inf <= logit < inf:
                rule = "must be finite or minus infinity in 32 bits"
                raise RowError(f"the logit of token {token} {rule}, got {shown(logit)}")
    return tokens, logits


def read_possible(candidates: Candidates) -> tuple[list[TokenId], list[float]]:
    """Return the same, of candidates of which at least one is possible.

    >>> read_possible(Candidates([3], [-inf]))
    Traceback (most recent call last):
    sampling_ref.errors.RowError: candidates leave no token possible: all are minus infinity
    """
    tokens, logits = read_candidates(candidates)
    if max(logits) == -inf:
        raise RowError("candidates leave no token possible: all are minus infinity")
    return tokens, logits


def to_binary32_row(row: Row) -> list[float]:
    """Return the numbers of a row rounded to binary32.

    >>> from fractions import Fraction
    >>> to_binary32_row([Fraction(1, 2), 0.1])
    [0.5, 0.10000000149011612]
    """
    return all_to_binary32(
        number if isinstance(number, float) else to_binary32(number) for number in row
    )


def reordered(candidates: Candidates, positions: Sequence[int], *, is_sorted: bool) -> Candidates:
    """Return the candidates at some positions, in that order.

    >>> reordered(Candidates([7, 8], [0.5, 1.5]), [1, 0], is_sorted=True).tokens
    [8, 7]
    """
    return replace(
        candidates,
        tokens=[candidates.tokens[position] for position in positions],
        logits=[candidates.logits[position] for position in positions],
        is_sorted=is_sorted,
    )


def read_real(name: str, value: Any) -> float:
    """Return a real parameter rounded to binary32.

    >>> read_real("p", 0.1)
    0.10000000149011612
    >>> read_real("p", 1e39)
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: p must be a finite number in 32 bits, got 1e+39
    """
    number = to_binary32(value) if is_number(value) else nan
    if not isfinite(number):
        raise ParameterError(name, value, "must be a finite number in 32 bits")
    return number


def read_integer(name: str, value: Any, least: int = -(2**31)) -> int:
    """Return a whole parameter that fits into 32 bits.

    >>> read_integer("min_keep", -1, least=0)
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: min_keep must be a whole number from 0 to 2**31 - 1, got -1
    """
    return read_whole(name, value, least, 2**31 - 1)
