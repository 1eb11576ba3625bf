"""Learn merges from pieces, straight from the definition.

    Start with a token for each byte, and with every piece of the text as a sequence of these. Count
    all adjacent pairs. The most frequent one becomes the next token: merge it everywhere, left to
    right. Repeat.

Source: Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units", ACL 2016,
section 3.2 and algorithm 1 (https://aclanthology.org/P16-1162). `learn_naive` is that definition;
`learning.incremental` has the quick one.

What the source leaves open
    *Ties.* Of equally frequent pairs the one with the lowest left id comes first, and of those the
    one with the lowest right id. Bytes have the ids 0 to 255 and every new token gets the next id,
    so older tokens win. The order of the texts therefore does not matter. (Hugging Face's trainer
    and rustbpe choose the same way, with bytes in another order; minbpe and tiktoken's educational
    module take the pair that was seen first.)

    *Overlapping occurrences.* Every place counts: `aaa` holds (a, a) twice, although only one of
    the two can be merged. That is what the source's own code counts. Merging goes from left to
    right: `aaa` becomes aa a, as when encoding.

    *A new token that is a token already* cannot come up. Merging everywhere, pair by pair, is what
    encoding does with the tokens so far. What encoding makes of a stretch of bytes, as long as no
    merge crosses its borders, depends on the stretch alone. So wherever two adjacent tokens spell
    the same bytes, they are the same two tokens; and once they are merged, no others ever come to
    spell these bytes. It follows that to count pairs and to count what they spell is the same, and
    that encoding *by concatenation* arrives at exactly the state training left.

    *Borders of pieces.* Nothing is merged across them: pairs are counted inside a piece. A piece
    that occurs ten times counts ten times.

    *When to stop*: when there are `size` tokens, or when no pair is left that occurs at least
    `min_count` times and spells at most `max_token_length` bytes. Too little text makes a smaller
    vocabulary, not an error: `len(vocabulary.tokens)` tells. Without any text there are the 256
    bytes.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from bpe_ref.vocabulary.merges import Pair, TokenId

BYTES: Final = 256
"""How many tokens there are before anything is learned."""


class Learned(NamedTuple):
    """A pair that was merged, and how often it occurred just before."""

    left: TokenId
    right: TokenId
    occurrences: int


def learn_naive(
    pieces: Mapping[bytes, int], *, max_token_length: int | None = None, min_count: int = 2
) -> Iterator[Learned]:
    """Yield the pairs to merge, in order, until none is left. O(text) for each.

    `pieces` are different pieces and how often each occurs. The tokens are
    numbered 0 to 255 for the bytes, then 256 and on for what each pair makes.

    >>> list(learn_naive({b"abab": 1, b"b": 7}))
    [Learned(left=97, right=98, occurrences=2)]
    """
    lengths = [1] * BYTES
    limit = float("inf") if max_token_length is None else max_token_length
    states = [(list(piece), occurrences) for piece, occurrences in pieces.items()]
    while True:
        counts: Counter[Pair] = Counter()
        for tokens, occurrences in states:
            for pair in pairwise(tokens):
                counts[pair] += occurrences

        candidates = [
            (-count, left, right)
            for (left, right), count in counts.items()
            if count >= min_count and lengths[left] + lengths[right] <= limit
        ]
        if not candidates:
            return
        negative_count, left, right = min(candidates)
        yield Learned(left, right, -negative_count)

        result = len(lengths)
        lengths.append(lengths[left] + lengths[right])
        states = [
            (merge_everywhere(tokens, (left, right), result), occurrences)
            for tokens, occurrences in states
        ]


def merge_everywhere(tokens: Sequence[TokenId], pair: Pair, result: TokenId) -> list[TokenId]:
    """Return the tokens with `result` in place of `pair`, from left to right.

    >>> merge_everywhere([7, 7, 7, 8, 7, 7], (7, 7), 9)
    [9, 7, 8, 9]
    """
    merged: list[TokenId] = []
    place = 0
    while place < len(tokens):
        if tuple(tokens[place : place + 2]) == pair:
            merged.append(result)
            place += 2
        else:
            merged.append(tokens[place])
            place += 1
    return merged
