"""Infill: for filling gaps, end soon, and do not count one text by several tokens twice.

Definition (`llama_sampler_infill_apply` in src/llama-sampler.cpp), on probabilities of the
sorted candidates, in binary32; an *ending* is a token that ends a generation:

    1. If 3 * (probability of all endings) * (number of candidates) is greater than the
       probability of all others, only the endings stay.
    2. Otherwise, where the text of a candidate begins the text of another one, the less likely
       of the two (of equals the longer) loses its probability to the other and becomes impossible.
    3. Of candidates that are no endings, those with a probability of at least 0.2 stay. If
       there are none, one candidate is left: the token that ends a text, with a logit of 1.
    4. Probabilities are divided by what is left; of n candidates that are no endings those
       with at least 1 / (n + 1) stay.

Cost
    Step 2 compares every candidate with every other one: put `top_k` and `top_p` before.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from math import inf

from sampling_ref.candidates import Candidates
from sampling_ref.llama_cpp.candidates import read_possible, reordered
from sampling_ref.llama_cpp.falling_order import sorted_fully
from sampling_ref.llama_cpp.softmax import softmax
from sampling_ref.numbers.binary32 import all_to_binary32, sum_in_binary32, to_binary32
from sampling_ref.row import Number, TokenId

_LEAST_LIKELY = to_binary32(0.2)


def infill(
    candidates: Candidates,
    pieces: Sequence[bytes],
    endings: Collection[TokenId],
    end_of_text: TokenId,
) -> Candidates:
    """Keep the endings, or the few clearly likely candidates.

    `pieces` is the text of each token (empty for control tokens), `end_of_text` the token that
    ends a text.

    >>> row = Candidates([0, 1, 2, 3], [2.0, 1.0, 1.5, -9.0])
    >>> infill(row, [b"a", b"b", b"ab", b""], [3], 3).tokens
    [0, 3]
    >>> infill(row, [b"a", b"b", b"ab", b""], [1], 1).tokens
    [1]
    """
    read_possible(candidates)
    ordered = sorted_fully(candidates)
    tokens, probabilities = ordered.tokens, softmax(ordered)
    is_ending = [token in endings for token in tokens]
    ending = sum_in_binary32(p for p, ends in zip(probabilities, is_ending, strict=True) if ends)
    other = sum_in_binary32(p for p, ends in zip(probabilities, is_ending, strict=True) if not ends)
    if to_binary32(to_binary32(3 * ending) * len(tokens)) > other:
        positions = [position for position, ends in enumerate(is_ending) if ends]
        return reordered(ordered, positions, is_sorted=True)

    impossible = _combined([pieces[token] for token in tokens], probabilities, ordered.logits)
    ordered = replace(
        ordered,
        logits=[
            -inf if place in impossible else logit for place, logit in enumerate(ordered.logits)
        ],
    )
    kept = _at_least(_LEAST_LIKELY, probabilities, is_ending, range(len(tokens)))
    count = sum(not is_ending[place] for place in kept)
    if count == 0:
        return replace(ordered, tokens=[end_of_text], logits=[1.0])
    total = sum_in_binary32(probabilities[place] for place in kept)
    shares = all_to_binary32([probability / total for probability in probabilities])
    kept = _at_least(to_binary32(1.0 / (count + 1)), shares, is_ending, kept)
    return reordered(ordered, kept, is_sorted=True)


def _combined(
    texts: Sequence[bytes], probabilities: list[float], logits: Sequence[Number]
) -> set[int]:
    """Add up the probabilities of texts that begin alike, in place; return who lost its own."""
    impossible = {place for place, logit in enumerate(logits) if logit == -inf}
    for first, text in enumerate(texts):
        for second, longer in enumerate(texts):
            if first in impossible:
                break
            if first == second or second in impossible or not text or not longer.startswith(text):
                continue
            winner, loser = first, second
            if probabilities[second] > probabilities[first]:
                winner, loser = second, first
            probabilities[winner] = to_binary32(probabilities[winner] + probabilities[loser])
            probabilities[loser] = 0.0
            impossible.add(loser)
    return impossible


def _at_least(
    least: float, probabilities: Sequence[float], is_ending: Sequence[bool], places: Sequence[int]
) -> list[int]:
    """Return the places of all endings and of what is likely enough."""
    return [place for place in places if is_ending[place] or probabilities[place] >= least]
