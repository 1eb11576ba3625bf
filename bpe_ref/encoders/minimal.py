"""The fewest tokens that spell the text. This is *not* byte-pair encoding.

    Take a shortest sequence of tokens that spells the text.

What this leaves open
    *Equals*: of the shortest sequences, the one whose first token is longest;
    among those, the one whose second token is longest; and so on. (GitHub's
    encoder of the same name chooses so.)

It is the lower bound that any tokenizer's count can be compared with.
"""

from collections.abc import Sequence

from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.merges import TokenId
from bpe_ref.vocabulary.tries import fewest_tokens


def encode_minimal(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """Return the fewest tokens that spell the text. O(all tokens that occur in it).

    Raises `SymbolError` for an id that is not a single symbol.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2, b"bab": 3})
    >>> encode_minimal(vocabulary, vocabulary.symbols(b"abab"))
    [2, 2]
    """
    return fewest_tokens(vocabulary, symbols)
