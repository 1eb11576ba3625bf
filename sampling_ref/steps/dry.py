"""DRY ("don't repeat yourself"): a penalty for tokens that would continue a repetition.

p-e-w, "DRY: A modern repetition penalty that reliably prevents looping", 2024
(https://github.com/oobabooga/text-generation-webui/pull/5677), as in llama.cpp,
`src/llama-sampler.cpp`, function `llama_sampler_dry_apply`, shipped with llama-cpp-python
0.3.36. The rule:

    For every earlier place whose last tokens are also the last tokens of the history, the
    token that came next there would continue a repetition. Take for each token the longest
    such match, m tokens long. If m is at least `allowed_length`, subtract
    multiplier * base ** (m - allowed_length).

Breakers
    A match never reaches back over a breaker: a token, or a sequence of tokens, that ends
    what can be a repetition (a line break, the mark of a new speaker). Only the
    complete breaker that begins last in the history counts, and if several begin there, the
    longest of them. Matches may be as long as what
    follows the breaker. So a short breaker inside a long one hides the long one: with the
    breakers `a b c` and `b`, the history `a b c d` is cut behind `b`, and two tokens are left.
Breakers as next tokens
    A token that is a breaker by itself is never penalised.
Overlap
    The match may overlap with the end of the history: `a a a` matches itself shifted by
    one, two tokens long.
Window
    Only the last `window` tokens are looked at, for places and for matches. None: all.
Allowed length 0
    Every token that follows any token in the window is penalised.
Largest exponent
    The exponent is cut at ln(largest 32-bit float) / ln(base), rounded down, if the base is
    above 1.000001. llama.cpp means to keep the power a 32-bit float by that, and calculates
    the quotient in 32 bits; so does this module. For base 2 it rounds up to 128, and a
    repetition of that length makes the token impossible in 32 bits.
Off
    A multiplier of 0 subtracts nothing. llama.cpp also switches DRY off if the base is below
    1; here that is an error.

Comparing every place is avoided: read backwards, the last tokens are the first ones, and the
Z function gives for each place how far it equals them.
"""

from collections.abc import Sequence
from typing import Any

from sampling_ref.lz.matches import own_beginnings
from sampling_ref.numbers.binary32 import product_of_power, to_binary32
from sampling_ref.numbers.glibc import logf
from sampling_ref.parameters import read_number, read_sequences, read_whole, tokens_seen
from sampling_ref.row import Number, ReadRow, TokenId, change_logits
from sampling_ref.steps.step import row_rule

LOG_OF_LARGEST = to_binary32(88.7228391)
"""The natural logarithm of the largest 32-bit float, in 32 bits."""

SMALLEST_CUT_BASE = to_binary32(1.000001)
"""Up to this base the exponent is not cut."""


@row_rule(
    "continuing a repetition of at least {allowed_length} tokens costs {multiplier} * "
    "{base}**(excess)",
    numbers=("multiplier", "base"),
)
def dry(
    logits: ReadRow,
    history: list[TokenId],
    multiplier: Number,
    base: Number = 1.75,
    allowed_length: int = 2,
    *,
    window: int | None = None,
    breakers: Any = (),
) -> list[Number]:
    """Return the row with those tokens lowered that would continue a repetition.

    >>> dry([4.0, 4.0, 4.0], [0, 1, 2, 0, 1], multiplier=1.0, base=2.0, allowed_length=1)
    [4.0, 4.0, 2.0]
    >>> dry([4.0, 4.0, 4.0], [0, 1, 2, 0, 1], 1.0, 2.0, 1, breakers=[0])
    [4.0, 4.0, 3.0]
    """
    multiplier = read_number("multiplier", multiplier, "[0, inf)")
    base = read_number("base", base, "[1, inf)")
    read_whole("allowed_length", allowed_length)
    sequences = read_sequences(breakers, len(logits), "breakers")
    seen = tokens_seen(history, window=window)

    never = {sequence[0] for sequence in sequences if len(sequence) == 1}
    longest_matches = {
        token: length
        for token, length in longest_continuations(seen, since_breaker(seen, sequences)).items()
        if length >= allowed_length and token not in never
    }
    most = log_limit(base)

    def penalised(token: TokenId, logit: Number) -> Number:
        exponent = longest_matches[token] - allowed_length
        exponent = exponent if most is None else min(exponent, most)
        return logit - product_of_power(multiplier, base, exponent)

    return change_logits("DRY", logits, longest_matches, penalised)


def since_breaker(tokens: Sequence[TokenId], breakers: Sequence[tuple[TokenId, ...]]) -> int:
    """Return how many tokens follow the last breaker.

    >>> since_breaker([5, 1, 2, 7, 8], [(1, 2), (9,)])
    2
    """
    for begin in range(len(tokens) - 1, -1, -1):
        here = [
            len(breaker)
            for breaker in breakers
            if tuple(tokens[begin : begin + len(breaker)]) == breaker
        ]
        if here:
            return len(tokens) - begin - max(here)
    return len(tokens)


def longest_continuations(tokens: Sequence[TokenId], longest: int) -> dict[TokenId, int]:
    """Return for each token that came next somewhere the longest match there.

    No match counts for more than `longest` tokens.

    >>> longest_continuations([0, 1, 2, 0, 1], longest=9)
    {1: 0, 2: 2, 0: 0}
    """
    found: dict[TokenId, int] = {}
    for place, length in enumerate(common_suffixes(tokens)[:-1]):
        following = tokens[place + 1]
        found[following] = max(found.get(following, 0), min(length, longest))
    return found


def common_suffixes(tokens: Sequence[TokenId]) -> list[int]:
    """Return for each place how many tokens up to it equal the last ones of all.

    >>> common_suffixes([0, 1, 2, 0, 1])
    [0, 2, 0, 0, 5]
    """
    return own_beginnings(tokens[::-1])[::-1]


def log_limit(base: Number) -> int | None:
    """Return the largest exponent of a base, or None if there is none.

    >>> log_limit(2.0), log_limit(1.0)
    (128, None)
    """
    if to_binary32(base) <= SMALLEST_CUT_BASE:
        return None
    return int(to_binary32(LOG_OF_LARGEST / logf(base))) or None
