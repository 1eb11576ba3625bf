"""Leftmost-longest matching. This is *not* byte-pair encoding.

    Take the longest token that the text starts with. Repeat with the rest.

It is often mistaken for BPE, and it is what BPE encoders that guess first
(backtracking) begin with. With the tokens a b c ab cb ac the text abacb
becomes ab ac b here, and ab a cb in BPE, where cb has the lower rank than ac.

It shares the other encoders' shape, and their errors, so that it can stand
beside them in a table.
"""

from collections.abc import Sequence

from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.merges import TokenId
from bpe_ref.vocabulary.tries import trie_of_all_tokens


def encode_greedy(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """Return the leftmost-longest tokens. O(n) for tokens of bounded length.

    Raises `SymbolError` for an id that is not a single symbol.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ba": 2, b"ab": 3})
    >>> encode_greedy(vocabulary, vocabulary.symbols(b"aba"))
    [3, 0]
    """
    text = vocabulary.spell(symbols)
    trie = vocabulary.remember(trie_of_all_tokens)
    tokens: list[TokenId] = []
    start = 0
    while start < len(text):
        token = trie.longest(text, start)
        tokens.append(token)
        start += len(vocabulary.spellings[token])
    return tokens
