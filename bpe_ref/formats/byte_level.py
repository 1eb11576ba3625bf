"""The merges of a vocabulary as a list, whatever its rule, for formats that need one.

By pair
    the list is the vocabulary's.
By concatenation
    each token that merging can make has one pair that it is made from, its
    *split*; the list is these pairs by the rank of what they make. That is the
    same function for every vocabulary: whenever a token comes to be, it does so
    from its split (`compatibility` has the proof), so of all the pairs
    that spell a token only this one ever occurs, with the token's rank.

What a list of pairs does not say
    Dead tokens, which no merge makes, have no pair. They are found only where
    a piece that is a token is taken whole.
"""

from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.compatibility import build_derivations
from bpe_ref.vocabulary.merges import ByPair


def byte_level_merges(vocabulary: Vocabulary) -> list[tuple[bytes, bytes]]:
    """Return the merges as pairs of tokens' bytes, first merge first.

    >>> from bpe_ref.vocabulary import vocabulary_by_concatenation
    >>> byte_level_merges(vocabulary_by_concatenation({b"a": 0, b"aaa": 1, b"aa": 2}))
    [(b'aa', b'a'), (b'a', b'a')]
    """
    rule, tokens = vocabulary.rule, vocabulary.tokens
    if isinstance(rule, ByPair):
        return [(tokens[left], tokens[right]) for left, right in rule.merges]
    made = vocabulary.remember(build_derivations)
    ids, lefts, rights = made.ids, made.lefts, made.rights
    places = sorted(range(made.symbols, len(ids)), key=lambda place: rule.ranks[ids[place]])
    return [(tokens[ids[lefts[place]]], tokens[ids[rights[place]]]) for place in places]
