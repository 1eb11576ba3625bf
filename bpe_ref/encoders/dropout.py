"""BPE dropout: encode so that some merges, at random, do not happen.

Three procedures go by that name. They give three different distributions, so each is here by
itself. All of them ask the same question of a random stream: a number from [0, 1) that is below
`rate` means that the merge is dropped. So a rate of 0 drops nothing and a rate of 1 everything.

`draws` is an iterator of floats in [0, 1), or a function without arguments that returns one each
time: `random.Random(7).random`. One number is taken for each question, in the order that each
procedure states. Nothing here is random by itself.

What the sources leave open
    *A number just at the rate* keeps the merge. (GitHub's encoder drops it.)
    *A rate of 0*: no number is taken. (In Hugging Face's library too; the paper has no such case.)
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

from bpe_ref.errors import ParameterError
from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.heap import merge_slots
from bpe_ref.vocabulary.merges import TokenId
from bpe_ref.vocabulary.tries import fewest_tokens

Draws: TypeAlias = Iterator[float] | Callable[[], float]
"""Where random numbers in [0, 1) come from."""


def encode_dropping(
    vocabulary: Vocabulary, symbols: Sequence[TokenId], rate: float, draws: Draws
) -> list[TokenId]:
    """Encode as in the paper: before each merge, drop some of all that could be next.

        Look at all adjacent pairs that have a merge, left to right, and drop
        each with probability `rate`. Of those left, merge the one with the lowest rank, the
        leftmost of equals. Repeat until none is left. What was dropped counts
        again the next time.

    Source: Provilkov et al., "BPE-Dropout: Simple and Effective Subword
    Regularization", ACL 2020, section 3.1, algorithm 1
    (https://arxiv.org/abs/1910.13267). Where it says "merges" it means places;
    the authors' program drops places too, but merges all places of one pair at once.

    Raises `SymbolError` for an id that is not a single symbol, and `ParameterError` for a
    rate outside [0, 1] and for draws that are used up or not from [0, 1).

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"aa": 1})
    >>> encode_dropping(vocabulary, [0, 0, 0], 0.5, iter([0.25, 0.75]))
    [0, 1]
    """
    vocabulary.spell(symbols)  # raises for what is not a symbol
    dropped = _question(rate, draws)
    encoded = list(symbols)
    while candidates := [
        (merge.rank, start, merge.result)
        for start, (left, right) in enumerate(pairwise(encoded))
        if (merge := vocabulary.merge(left, right)) is not None and not dropped()
    ]:
        _, start, result = min(candidates)
        encoded[start : start + 2] = [result]
    return encoded


def encode_dropping_queued(
    vocabulary: Vocabulary, symbols: Sequence[TokenId], rate: float, draws: Draws
) -> list[TokenId]:
    """Encode as Hugging Face's library: set aside what comes out of the queue.

        Take the merge with the lowest rank, the leftmost of equals, out of the
        queue. With probability `rate` set it aside; otherwise put back all that
        was set aside, and do the merge, unless one of its tokens has merged in
        the meantime. Repeat until the queue is empty.

    What was set aside last is dropped for good. An entry whose tokens have
    merged with others (a stale one) is asked about like any other, and when it
    is kept, it brings back what was set aside, though nothing merges.

    Source: huggingface/tokenizers 0.23.3, `Word::merge_all` in
    models/bpe/word.rs. The library's numbers cannot be set from outside.

    Raises what `encode_dropping` raises.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"aa": 1})
    >>> encode_dropping_queued(vocabulary, [0, 0, 0], 0.5, iter([0.25, 0.75, 0.75]))
    [0, 1]
    """
    vocabulary.spell(symbols)
    dropped = _question(rate, draws)
    slots: list[TokenId | None] = [*symbols]
    for _ in merge_slots(vocabulary.rule.merge, slots, dropped):
        pass
    return [token for token in slots if token is not None]


def encode_minimal_dropping(
    vocabulary: Vocabulary, symbols: Sequence[TokenId], rate: float, draws: Draws
) -> list[TokenId]:
    """Encode as GitHub's `encode_minimal_dropout`: the fewest tokens, some of them dropped.

        From the end of the text to its start, and at each place from the
        longest token that starts there to the shortest: drop it with
        probability `rate`, unless it is a symbol. A token that reaches the end
        of the text is taken at once, and shorter ones are not asked about.
        Otherwise the token with which the rest of the text takes fewest is
        taken, the longest of equals.

    It is not byte-pair encoding: see `encoders.minimal`, which this is at rate 0.

    Source: github/rust-gems a7aecfb97c96, crates/bpe/src/byte_pair_encoding.rs.

    Raises what `encode_dropping` raises.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"aa": 1})
    >>> encode_minimal_dropping(vocabulary, [0, 0, 0], 0.5, iter([0.75, 0.25]))
    [0, 1]
    """
    vocabulary.spell(symbols)
    return fewest_tokens(vocabulary, symbols, _question(rate, draws))


def _question(rate: float, draws: Draws) -> Callable[[], bool]:
    """Return what says, each time it is called, whether the next merge is dropped."""
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
        raise ParameterError("rate", rate, "must be a number in [0, 1]")
    if callable(draws):
        draw = draws
    elif isinstance(draws, Iterator):
        draw = draws.__next__
    else:
        raise ParameterError("draws", draws, "must be an iterator of floats or a function")
    if rate == 0:
        return lambda: False

    def dropped() -> bool:
        try:
            number = draw()
        except StopIteration:
            raise ParameterError("draws", draws, "must not end before the encoding does") from None
        if not isinstance(number, int | float) or not 0 <= number < 1:
            raise ParameterError("a number from draws", number, "must be in [0, 1)")
        return number < rate

    return dropped
