"""Byte-pair encoding of short pieces: the definition, with every pair's rank remembered.

Nearly all pieces of ordinary text are a few bytes long, and for those the lists below beat every
cleverer structure. tiktoken does the same up to 100 bytes.

Representation
    By concatenation a pair merges if its letters are those of a token, however they came together.
    So a token is a stretch of the text, and all there is to keep is where each begins: `starts`,
    with the end of the text behind them. By pair the two tokens matter and not only their letters,
    so there the tokens themselves are kept (`_scan_pairs`).

Invariant
    `ranks[i]` is the rank of the pair that begins at `starts[i]`, or `NEVER` where its letters are
    no token.

Why this is the same answer
    `min` and `index` find the lowest rank and, of equals, the leftmost, which is what the
    definition asks for. A merge changes only the pairs that its two tokens were part of, and
    exactly those are looked up again.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from operator import eq
from typing import Final

from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.merges import ByConcatenation, Spelling, TokenId

NEVER: Final = float("inf")


def encode_scan(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """Merge until no adjacent pair has a merge. O(n²), with a small constant.

    Raises `SymbolError` for an id that is not a single symbol.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2, b"aba": 3})
    >>> encode_scan(vocabulary, vocabulary.symbols(b"ababa"))
    [2, 3]
    """
    ranks_of_letters = vocabulary.remember(_ranks_by_spelling)
    if ranks_of_letters is None:
        return _scan_pairs(vocabulary, symbols)
    text = vocabulary.spell(symbols)
    rank_of = ranks_of_letters.get
    starts = list(range(len(text) + 1))
    ranks = [rank_of(text[start : start + 2], NEVER) for start in starts[:-2]]

    while ranks:
        lowest = min(ranks)
        if lowest == NEVER:
            break
        at = ranks.index(lowest)
        del starts[at + 1], ranks[at]
        if at < len(ranks):
            ranks[at] = rank_of(text[starts[at] : starts[at + 2]], NEVER)
        if at > 0:
            ranks[at - 1] = rank_of(text[starts[at - 1] : starts[at + 1]], NEVER)

    ids = vocabulary.ids
    return [ids[text[start:end]] for start, end in pairwise(starts)]


def _ranks_by_spelling(vocabulary: Vocabulary) -> Mapping[Spelling, int] | None:
    """Return the rank of each token by its letters; None by pair, where pairs have ranks."""
    rule = vocabulary.rule
    if not isinstance(rule, ByConcatenation):
        return None
    if all(map(eq, rule.ranks.keys(), rule.ranks.values())):
        return rule.ids  # id = rank, so the one table serves for both
    return {spelling: rule.ranks[token] for spelling, token in rule.ids.items()}


def _scan_pairs(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """Do the same with the tokens themselves, for any merge rule."""
    vocabulary.spell(symbols)  # raises for what is not a symbol
    tokens = list(symbols)
    merge_of = vocabulary.rule.merge
    never = (NEVER, -1)
    pairs = [merge_of(left, right) or never for left, right in pairwise(tokens)]
    ranks = [rank for rank, _ in pairs]
    while ranks:
        lowest = min(ranks)
        if lowest == NEVER:
            break
        at = ranks.index(lowest)
        tokens[at : at + 2] = [pairs[at][1]]
        del ranks[at], pairs[at]
        for changed in (at - 1, at):
            if 0 <= changed < len(ranks):
                pairs[changed] = merge_of(tokens[changed], tokens[changed + 1]) or never
                ranks[changed] = pairs[changed][0]
    return tokens
