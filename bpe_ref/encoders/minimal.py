"""The fewest tokens that spell the text. This is *not* byte-pair encoding.

    Of all sequences of tokens that spell the text, take a shortest one.

What this leaves open
    *Equals*: of the shortest sequences, the one whose first token is longest;
    among those, the one whose second token is longest; and so on. (GitHub's
    encoder of the same name chooses so.)

It is the lower bound that any tokenizer's count can be compared with.
"""

from collections.abc import Sequence

from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.merges import TokenId
from bpe_ref.vocabulary.tries import NOTHING, trie_of_all_tokens


def encode_minimal(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """Return the fewest tokens that spell the text. O(all tokens that occur in it).

    Raises `SymbolError` for an id that is not a single symbol.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2, b"bab": 3})
    >>> encode_minimal(vocabulary, vocabulary.symbols(b"abab"))
    [2, 2]
    """
    text = vocabulary.spell(symbols)
    trie = vocabulary.remember(trie_of_all_tokens)
    spellings, shorter = vocabulary.spellings, trie.shorter

    # From the end: fewest[i] tokens spell text[i:], and first[i] is the first of them.
    fewest = [0] * (len(text) + 1)
    first = [NOTHING] * len(text)
    for start in reversed(range(len(text))):
        best, token = len(text) + 1, trie.longest(text, start)
        while token != NOTHING:  # by falling length, so that a shorter token must be better
            count = 1 + fewest[start + len(spellings[token])]
            if count < best:
                best, first[start] = count, token
            token = shorter[token]
        fewest[start] = best

    tokens: list[TokenId] = []
    start = 0
    while start < len(text):
        tokens.append(first[start])
        start += len(spellings[first[start]])
    return tokens
