"""Byte-pair encoding by guessing: longest match first, step back when it does not fit.

    Append the longest token that the rest of the text starts with. If it is not compatible with the
    token before it, try the next shorter one. If none is left, this place is a dead end: take the
    last token back, and try the next shorter one in its stead.

Source: the README of GitHub's `bpe` crate, "Backtracking"
(https://github.com/github/rust-gems/tree/main/crates/bpe). Theirs is right if every token encodes
to itself, its parts rank below it, and id = rank; this one is right for every vocabulary, because
compatibility is (see `compatibility`).

Invariant
    The tokens so far spell the text up to `start`, and neighbours among them are compatible.
    `open_ends[i]` is 0 only where no encoding of the whole text has a border, given that the tokens
    up to there are an encoding.

Why this is the same answer
    A sequence whose neighbours are compatible, and whose every token encodes to itself, is the
    encoding of what it spells: take the first merge that would cross a border between two of its
    tokens; up to there each token's stretch was merged as if alone, and so was the stretch of those
    two, so the same merge would cross their border when they are alone, and they would not be
    compatible. The search visits such sequences only, and it cannot miss the one that spells the
    whole text: the tokens before a border are determined by the place of the border, so a dead end
    stays one whatever comes before it.

Why it is linear
    Only one row of tokens leads to a place, and the search leaves it for good when it steps back,
    so it comes to each place once. The bit per place says so without asking about the tokens again.
"""

from collections.abc import Sequence

from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.compatibility import build_derivations, compatibility, joints
from bpe_ref.vocabulary.merges import TokenId
from bpe_ref.vocabulary.tries import NOTHING, Trie


def encode_backtracking(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """Merge until no adjacent pair has a merge, without merging. O(n).

    Raises `SymbolError` for an id that is not a single symbol.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ba": 2, b"ab": 3})
    >>> encode_backtracking(vocabulary, vocabulary.symbols(b"aba"))
    [0, 2]
    """
    text = vocabulary.spell(symbols)
    made = vocabulary.remember(build_derivations)
    trie, lengths = vocabulary.remember(trie_of_made_tokens)
    longest, shorter, compatible = trie.longest, trie.shorter, vocabulary.remember(compatibility)
    crossed = vocabulary.remember(joints)

    open_ends = bytearray(b"\1") * (len(text) + 1)
    tokens: list[int] = []  # places, see Derivations
    start = 0
    while start < len(text):
        token = longest(text, start)
        end = start + lengths[token]
        while not (
            open_ends[end]
            # no token before the first one, whose seam has no two letters
            and (text[start - 1 : start + 1] not in crossed or compatible(tokens[-1], token))
        ):
            token = shorter[token]
            while token == NOTHING:
                open_ends[start] = 0
                token = tokens.pop()
                start -= lengths[token]
                token = shorter[token]
            end = start + lengths[token]
        tokens.append(token)
        start = end
    return list(map(made.ids.__getitem__, tokens))


def trie_of_made_tokens(vocabulary: Vocabulary) -> tuple[Trie, list[int]]:
    """Return a trie of the tokens that merging can make, by place, and their lengths.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2, b"abab": 9})
    >>> trie_of_made_tokens(vocabulary)[1]
    [1, 1, 2, 4]
    """
    made = vocabulary.remember(build_derivations)
    spellings = [vocabulary.spellings[token] for token in made.ids]
    trie = Trie({spelling: place for place, spelling in enumerate(spellings)})
    return trie, list(map(len, spellings))
