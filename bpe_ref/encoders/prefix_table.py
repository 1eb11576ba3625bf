"""Byte-pair encoding by dynamic programming: the last token of every prefix.

    The encoding of a prefix is its last token, after the encoding of what is left without it. So
    remember, for every prefix, its last token only: of the tokens that end there, the one that is
    compatible with the last token before it (or that spells the whole prefix).

Source: the README of GitHub's `bpe` crate, "Novel Algorithm"
(https://github.com/github/rust-gems/tree/main/crates/bpe). With the tokens a b c ab cb ac bb cbb
acbb the prefixes of abacbb end in a, ab, a, ac, cb, acbb, and so abacbb is ab acbb.

Why this is the same answer
    The encoding of a prefix has a last token, and what comes before it is the encoding of a shorter
    prefix (part of an encoding is an encoding). The other way round, an encoding and one more token
    that encodes to itself and is compatible with the last one are an encoding (see `backtracking`).
    So exactly one of the tokens that end at a place passes, in whatever order they are tried;
    longest first is merely the quickest guess.
"""

from collections.abc import Sequence

from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.compatibility import build_derivations, compatibility, joints
from bpe_ref.vocabulary.merges import TokenId
from bpe_ref.vocabulary.tries import Trie


def encode_prefix_table(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """Merge until no adjacent pair has a merge, without merging. O(all tokens that occur).

    Raises `SymbolError` for an id that is not a single symbol.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ba": 2, b"ab": 3})
    >>> encode_prefix_table(vocabulary, vocabulary.symbols(b"aba"))
    [0, 2]
    """
    text = vocabulary.spell(symbols)
    made = vocabulary.remember(build_derivations)
    trie, lengths = vocabulary.remember(_trie_of_reversed_tokens)
    longest, shorter, compatible = trie.longest, trie.shorter, vocabulary.remember(compatibility)
    crossed = vocabulary.remember(joints)

    backwards = text[::-1]
    last_tokens: list[int] = []  # places, see Derivations
    for end in range(1, len(text) + 1):
        token = longest(backwards, len(text) - end)
        start = end - lengths[token]
        # no token before the first one, whose seam has no two letters
        while text[start - 1 : start + 1] in crossed and not compatible(
            last_tokens[start - 1], token
        ):
            token = shorter[token]
            start = end - lengths[token]
        last_tokens.append(token)

    tokens: list[TokenId] = []
    end = len(text)
    while end > 0:
        token = last_tokens[end - 1]
        tokens.append(made.ids[token])
        end -= lengths[token]
    tokens.reverse()
    return tokens


def _trie_of_reversed_tokens(vocabulary: Vocabulary) -> tuple[Trie, list[int]]:
    """Return a trie of the reversed tokens that merging can make, by place, and their lengths."""
    made = vocabulary.remember(build_derivations)
    spellings = [vocabulary.spellings[token][::-1] for token in made.ids]
    trie = Trie({spelling: place for place, spelling in enumerate(spellings)})
    return trie, list(map(len, spellings))
