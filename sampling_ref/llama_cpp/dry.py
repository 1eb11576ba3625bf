"""DRY, "don't repeat yourself": penalise tokens that would continue a repetition.

Definition (`llama_sampler_dry_apply` in src/llama-sampler.cpp, after p-e-w and pi6am,
https://github.com/oobabooga/text-generation-webui/pull/5677): of the last
`dry_penalty_last_n` accepted tokens, let n be the length of the longest part that equals the
end of them and is followed by token a. If n >= dry_allowed_length, then

    logit(a) = logit(a) - dry_multiplier * dry_base^(n - dry_allowed_length)

Off
    if the multiplier is 0, the base below 1, or the window 0 or negative; and also while no more
    than dry_allowed_length tokens are there.

Breakers
    A breaker is a sequence of tokens over which no repetition reaches. The newest token that
    begins one, followed by the rest of it, ends the search; of several breakers that begin
    with it the longest counts. Repetitions are then no longer than what comes after that
    breaker, whatever breakers of other tokens lie within it.
    If less than dry_allowed_length comes after it, nothing is penalised at all.
    A token that is a breaker by itself is never penalised.

The largest exponent
    is 88.7228391 / logf(dry_base), cut to an integer, so that the power stays finite. Base 2 gets
    128, and 2^128 is infinite. There is no limit if the base is at most 1.000001.

Rounding
    The power and the product are computed in binary64 and rounded to binary32 once. The
    engine's 64-bit `pow` may differ from the exact power used here in its last bit, which
    moves the rounded product in one of some billion cases.

The flag `sorted`
    is taken away once the search for repetitions has run, even if nothing was found.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf

from sampling_ref.candidates import Candidates
from sampling_ref.errors import ParameterError
from sampling_ref.history import last_tokens
from sampling_ref.llama_cpp.candidates import read_candidates, read_integer, read_real
from sampling_ref.numbers.binary32 import to_binary32
from sampling_ref.numbers.glibc import logf
from sampling_ref.row import Number, TokenId

_LOG_OF_LARGEST = to_binary32(88.7228391)
_LEAST_LIMITED_BASE = to_binary32(1.000001)


def dry(
    candidates: Candidates,
    history: Sequence[TokenId],
    dry_multiplier: Number = 0.0,
    dry_base: Number = 1.75,
    dry_allowed_length: int = 2,
    dry_penalty_last_n: int = 64,
    breakers: Iterable[Sequence[TokenId]] = (),
) -> Candidates:
    """Penalise the candidates that would continue a repetition.

    >>> row = Candidates([0, 1, 2], [0.0, 0.0, 0.0])
    >>> dry(row, [0, 1, 2, 0, 1], 1.0, 2.0, 1).logits
    [0.0, 0.0, -2.0]
    >>> dry(row, [0, 1, 2, 0, 1], 1.0, 2.0, 1, breakers=[[0]]).logits
    [0.0, 0.0, -1.0]
    """
    tokens, logits = read_candidates(candidates)
    multiplier = read_real("dry_multiplier", dry_multiplier)
    base = read_real("dry_base", dry_base)
    allowed = read_integer("dry_allowed_length", dry_allowed_length)
    window = max(0, read_integer("dry_penalty_last_n", dry_penalty_last_n))
    if multiplier == 0 or base < 1 or window == 0:
        return candidates
    newest_first = last_tokens(history, window)[::-1]
    if len(newest_first) <= allowed:
        return candidates
    tails = tails_of(breakers)
    limit = _length_after_breaker(newest_first, tails)
    if limit < allowed:
        return candidates
    lengths = _repeated_lengths(newest_first, limit, allowed)
    largest_exponent = _largest_exponent(base)
    for position, token in enumerate(tokens):
        if token in lengths and () not in tails.get(token, ()):
            exponent = lengths[token] - allowed
            if largest_exponent is not None:
                exponent = min(exponent, largest_exponent)
            penalty = to_binary32(multiplier * _power(base, exponent))
            logits[position] = to_binary32(logits[position] - penalty)
    return replace(candidates, tokens=tokens, logits=logits, is_sorted=False)


def tails_of(breakers: Iterable[Sequence[TokenId]]) -> dict[TokenId, set[tuple[TokenId, ...]]]:
    """Return, for each token that begins breakers, what follows it in them.

    >>> tails_of([[5], [5, 6, 7], []]) == {5: {(), (6, 7)}}
    True
    """
    tails: dict[TokenId, set[tuple[TokenId, ...]]] = {}
    for breaker in breakers:
        if isinstance(breaker, str | bytes | int):
            raise ParameterError("breakers", breaker, "must be sequences of token ids")
        for token in breaker:
            read_integer("breakers", token)
        if breaker:
            tails.setdefault(breaker[0], set()).add(tuple(breaker[1:]))
    return tails


def _length_after_breaker(
    newest_first: Sequence[TokenId], tails: dict[TokenId, set[tuple[TokenId, ...]]]
) -> int:
    """Return how many tokens came after the newest breaker; all, if there is none."""
    for age, token in enumerate(newest_first):
        after = tuple(reversed(newest_first[:age]))
        complete = [len(tail) for tail in tails.get(token, ()) if after[: len(tail)] == tail]
        if complete:
            return age - max(complete)
    return len(newest_first)


def _repeated_lengths(
    newest_first: Sequence[TokenId], limit: int, allowed: int
) -> dict[TokenId, int]:
    """Return the length of the longest repetition that each token would continue."""
    lengths: dict[TokenId, int] = {}
    for age, length in enumerate(_common_starts(newest_first)):
        if age == 0:
            continue  # the end itself
        repeated = min(length, limit)
        if repeated >= allowed:
            token = newest_first[age - 1]
            lengths[token] = max(lengths.get(token, 0), repeated)
    return lengths


def _common_starts(tokens: Sequence[TokenId]) -> list[int]:
    """Return for each place how many tokens from there on equal the first ones.

    This is the Z-function: [left, right) is the part found so far that reaches furthest and
    equals a start; inside it the answer for place - left is known, up to the part's end.
    """
    lengths = [len(tokens)]
    left = right = 0
    for place in range(1, len(tokens)):
        length = min(lengths[place - left], right - place) if place < right else 0
        while place + length < len(tokens) and tokens[length] == tokens[place + length]:
            length += 1
        if place + length > right:
            left, right = place, place + length
        lengths.append(length)
    return lengths


def _largest_exponent(base: float) -> int | None:
    """Return the exponent at which the penalty stops growing, or None."""
    if base <= _LEAST_LIMITED_BASE:
        return None
    return int(to_binary32(_LOG_OF_LARGEST / logf(base))) or None


def _power(base: float, exponent: int) -> float:
    """Return base**exponent in binary64."""
    try:
        return float(Fraction(base) ** exponent)
    except OverflowError:
        return inf
