"""Byte-pair encoding, straight from the definition.

    Start from single symbols. Among all adjacent pairs that the merge rule
    allows, merge the one with the lowest rank, the leftmost of equals. Repeat
    until there is none.

Source: Sennrich et al., "Neural Machine Translation of Rare Words with Subword
Units", ACL 2016, section 3.2 (https://aclanthology.org/P16-1162), read the way
engines apply it: by the rank of a merge, one place at a time.

What the source leaves open
    *Equal ranks*: the leftmost pair. `aaa` with the token aa is aa a.
    *All places at once or one*: one. A merge can make a pair of lower rank
    (in a vocabulary that training did not make), and that pair comes next.

Every other encoder in this package that calls itself BPE must return exactly
what this one returns.
"""

from collections.abc import Sequence
from itertools import pairwise

from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.merges import TokenId


def encode_naive(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """Merge until no adjacent pair has a merge. O(n²).

    Raises `SymbolError` for an id that is not a single symbol.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2, b"aba": 3})
    >>> encode_naive(vocabulary, vocabulary.symbols(b"ababa"))
    [2, 3]
    """
    vocabulary.spell(symbols)  # raises for what is not a symbol
    encoded = list(symbols)
    while candidates := [
        (merge.rank, start, merge.result)
        for start, (left, right) in enumerate(pairwise(encoded))
        if (merge := vocabulary.merge(left, right)) is not None
    ]:
        _, start, result = min(candidates)
        encoded[start : start + 2] = [result]
    return encoded
