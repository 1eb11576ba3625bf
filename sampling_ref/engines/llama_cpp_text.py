"""What llama.cpp does with the text of tokens; no profile describes it.

Infill: for filling gaps, end soon, and do not count one text by several tokens twice.

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


DRY breakers that are strings, turned into the sequences of tokens that can spell them.

Definition (`llama_sampler_init_dry` and `get_overlapping_token_sequences` in
src/llama-sampler.cpp, after KoboldCpp): for each string (cut to 40 bytes), each token whose text

    contains the string               is a breaker by itself;
    ends with a beginning of it       begins a breaker: the rest of the string, tokenised (at
                                      most 20 tokens), is what has to follow. A text can end so
                                      in several ways, and each is a breaker.

What the rule misses
    The rest is tokenised on its own, in one way. Text in which the end of the string is
    spelled by other tokens does not count as a breaker.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from math import inf

from sampling_ref.engines.llama_cpp_order import LLAMA_32
from sampling_ref.numbers.binary32 import all_to_binary32, sum_in_binary32, to_binary32
from sampling_ref.row import Candidates, Number, TokenId

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
    row = LLAMA_32.of(candidates).ordered()
    ordered, tokens, probabilities = row.candidates, row.candidates.tokens, row.probabilities()
    is_ending = [token in endings for token in tokens]
    ending = sum_in_binary32(p for p, ends in zip(probabilities, is_ending, strict=True) if ends)
    other = sum_in_binary32(p for p, ends in zip(probabilities, is_ending, strict=True) if not ends)
    if to_binary32(to_binary32(3 * ending) * len(tokens)) > other:
        positions = [position for position, ends in enumerate(is_ending) if ends]
        return ordered.at(positions)

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
    return ordered.at(kept)


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


_MOST_BYTES = 40
_MOST_TOKENS = 20


def breakers_of_strings(
    strings: Iterable[bytes],
    pieces: Sequence[bytes],
    tokenize: Callable[[bytes], Sequence[TokenId]],
) -> list[tuple[TokenId, ...]]:
    """Return the breakers, as sequences of tokens, that some strings stand for.

    `pieces` is the text of each token, `tokenize` the engine's tokenizer without special tokens.

    >>> breakers_of_strings([b"ab"], [b"a", b"b", b"cab", b"ca"], lambda text: [1])
    [(2,), (0, 1), (3, 1)]
    """
    breakers: dict[tuple[TokenId, ...], None] = {}
    for string in strings:
        text = string[:_MOST_BYTES]
        if text:
            breakers |= dict.fromkeys(
                (token,) for token, piece in enumerate(pieces) if text in piece
            )
            for token, piece in enumerate(pieces):
                if text not in piece:
                    for length in _ends_that_begin(piece, text):
                        rest = tokenize(text[length:])[:_MOST_TOKENS]
                        breakers[token, *rest] = None
    return list(breakers)


def _ends_that_begin(piece: bytes, text: bytes) -> list[int]:
    """Return the lengths of all ends of a piece that are beginnings of a text."""
    most = min(len(piece), len(text) - 1)
    return [length for length in range(most, 0, -1) if piece.endswith(text[:length])]
