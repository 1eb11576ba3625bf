"""Wrong encoders, each a mistake that people have really made, to show what a case is for.

A case about merging is worth its line if some wrong encoder fails it. Its
`why` then quotes what that encoder would answer; so the sentence is true
because it was computed, and the case proves it again whenever it is made.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from heapq import heappop, heappush
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from bpe_ref import ENCODERS, ByConcatenation, ByPair, Encoder, Steps, TokenId, Vocabulary
from tokenref.cases.draft import Purpose, tells_apart
from tokenref.engines.reference import ReferenceEngine


def encode_rightmost(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """Merge the rightmost of equals, instead of the leftmost.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> encode_rightmost(vocabulary_by_concatenation({b"a": 0, b"aa": 1}), [0, 0, 0])
    [0, 1]
    """
    tokens = list(symbols)
    while candidates := [
        (merge.rank, -start, merge.result)
        for start, pair in enumerate(pairwise(tokens))
        if (merge := vocabulary.merge(*pair)) is not None
    ]:
        _, place, result = min(candidates)
        tokens[-place : 2 - place] = [result]
    return tokens


def encode_whole_rounds(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """Merge the best pair at all its places at once, and only then look again."""
    tokens = list(symbols)
    while merges := [merge for pair in pairwise(tokens) if (merge := vocabulary.merge(*pair))]:
        tokens = _everywhere(vocabulary, tokens, min(merges).rank)
    return tokens


def encode_rule_by_rule(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """Apply each rule everywhere, in rank order, and never go back to an earlier one."""
    tokens = list(symbols)
    for rank in _all_ranks(vocabulary):
        tokens = _everywhere(vocabulary, tokens, rank)
    return tokens


def encode_any_spelling(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """Merge every pair whose spellings join to a token's, listed or not, by the token's id."""
    tokens = list(symbols)
    spellings, ids = vocabulary.spellings, vocabulary.ids
    while results := [
        (result, start)
        for start, (left, right) in enumerate(pairwise(tokens))
        if (result := ids.get(spellings[left] + spellings[right])) is not None
    ]:
        result, start = min(results)
        tokens[start : start + 2] = [result]
    return tokens


def encode_trusting_heap(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """Merge whatever now stands where a heap entry points, if both tokens are still there."""
    tokens = list(symbols)
    after = [*range(1, len(tokens)), -1]
    alive = [True] * len(tokens)
    heap: list[tuple[int, int]] = []

    def offer(start: int) -> None:
        merge = vocabulary.merge(tokens[start], tokens[after[start]]) if after[start] >= 0 else None
        if merge is not None:
            heappush(heap, (merge.rank, start))

    for start in range(len(tokens)):
        offer(start)
    while heap:
        _, start = heappop(heap)
        if not alive[start] or after[start] < 0:
            continue
        merge = vocabulary.merge(tokens[start], tokens[after[start]])
        if merge is None:
            continue
        gone = after[start]
        tokens[start], after[start], alive[gone] = merge.result, after[gone], False
        offer(start)
        before = next((place for place in reversed(range(start)) if alive[place]), None)
        if before is not None:
            offer(before)
    return [token for token, there in zip(tokens, alive, strict=True) if there]


def encode_ids_as_ranks(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """Take the id of a result for its rank."""
    return _by_rank(lambda _, result: result)(vocabulary, symbols)


def _cut_to(bits: int) -> Encoder:
    return _by_rank(lambda rank, _: rank & ((1 << bits) - 1))


def _as_float32(rank: int, _: TokenId) -> float:
    nearest: float = struct.unpack("f", struct.pack("f", rank))[0]
    return nearest


def _as_signed(rank: int, _: TokenId) -> int:
    return rank - (1 << 32) if rank >> 31 else rank


def _by_rank(rank_of: Callable[[int, TokenId], float]) -> Encoder:
    """Return the definition, with another rank made of rank and result."""

    def encode(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
        tokens = list(symbols)
        while candidates := [
            (rank_of(merge.rank, merge.result), start, merge.result)
            for start, pair in enumerate(pairwise(tokens))
            if (merge := vocabulary.merge(*pair)) is not None
        ]:
            _, start, result = min(candidates)
            tokens[start : start + 2] = [result]
        return tokens

    return encode


def encode_first_listing(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """Give a pair that is listed twice its first place as rank."""
    rule = vocabulary.rule
    first = {pair: -place for place, pair in enumerate(reversed(_listed(rule)))}
    tokens = list(symbols)
    while candidates := [
        (first[pair], start) for start, pair in enumerate(pairwise(tokens)) if pair in first
    ]:
        _, start = min(candidates)
        merge = rule.merge(tokens[start], tokens[start + 1])
        assert merge is not None  # noqa: S101 - the pair is listed
        tokens[start : start + 2] = [merge.result]
    return tokens


def _listed(rule: ByConcatenation | ByPair) -> Sequence[tuple[TokenId, TokenId]]:
    return rule.merges if isinstance(rule, ByPair) else ()


def _all_ranks(vocabulary: Vocabulary) -> list[int]:
    rule = vocabulary.rule
    if isinstance(rule, ByConcatenation):
        return sorted(rule.ranks.values())
    return list(range(len(rule.merges)))


def _everywhere(vocabulary: Vocabulary, tokens: list[TokenId], rank: int) -> list[TokenId]:
    """Merge all pairs of that rank, from left to right."""
    merged: list[TokenId] = []
    start = 0
    while start < len(tokens):
        merge = vocabulary.merge(*tokens[start : start + 2]) if start + 1 < len(tokens) else None
        if merge is not None and merge.rank == rank:
            merged.append(merge.result)
            start += 2
        else:
            merged.append(tokens[start])
            start += 1
    return merged


RIVALS: Final[Mapping[str, Encoder]] = MappingProxyType(
    {
        "longest first": ENCODERS["greedy"],
        "fewest tokens": ENCODERS["minimal"],
        "rightmost": encode_rightmost,
        "whole rounds": encode_whole_rounds,
        "rule by rule": encode_rule_by_rule,
        "any spelling": encode_any_spelling,
        "trusting heap": encode_trusting_heap,
        "ids as ranks": encode_ids_as_ranks,
        "first listing": encode_first_listing,
        "8-bit ranks": _cut_to(8),
        "9-bit ranks": _cut_to(9),
        "16-bit ranks": _cut_to(16),
        "24-bit ranks": _cut_to(24),
        "float ranks": _by_rank(_as_float32),
        "signed ranks": _by_rank(_as_signed),
    }
)
"""Every wrong encoder by the name that a `why` gives it."""

EVERYDAY: Final = ("longest first", "fewest tokens", "rightmost", "whole rounds", "rule by rule")
"""The mistakes that are worth a look with every vocabulary."""


@cache
def rival(name: str) -> ReferenceEngine:
    """Return an engine that encodes so, and is right otherwise."""
    return ReferenceEngine(name=name, steps=Steps(encode_symbols=RIVALS[name]))


def fails(*names: str) -> tuple[Purpose, ...]:
    """Return the purposes "an engine that encodes so fails here"."""
    return tuple(tells_apart(name, rival(name)) for name in names)


def differing(
    vocabulary: Vocabulary, piece: bytes, names: Sequence[str] = EVERYDAY
) -> dict[str, list[TokenId]]:
    """Return the wrong answers of those encoders that are wrong about the piece.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> differing(vocabulary_by_concatenation({b"a": 0, b"aa": 1}), b"aaa")
    {'rightmost': [0, 1]}
    """
    symbols = vocabulary.symbols(piece)
    right = ENCODERS["heap"](vocabulary, symbols)
    answers = {name: RIVALS[name](vocabulary, symbols) for name in names}
    return {name: answer for name, answer in answers.items() if answer != right}


def quoted(vocabulary: Vocabulary, tokens: Sequence[TokenId]) -> str:
    """Return tokens as text for a `why`, with a bar between them.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> quoted(vocabulary_by_concatenation({b"a": 0, b"aa": 1}), [1, 0])
    'aa|a'
    """
    return b"|".join(vocabulary.tokens[token] for token in tokens).decode("latin-1")


def contrast(vocabulary: Vocabulary, piece: bytes, names: Sequence[str] = EVERYDAY) -> str:
    """Return a sentence that quotes the right answer and the wrong ones.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> contrast(vocabulary_by_concatenation({b"a": 0, b"aa": 1}), b"aaa")
    'Merging gives aa|a; wrong: a|aa (rightmost).'
    """
    right = quoted(vocabulary, ENCODERS["heap"](vocabulary, vocabulary.symbols(piece)))
    wrong: dict[str, list[str]] = {}
    for name, answer in differing(vocabulary, piece, names).items():
        wrong.setdefault(quoted(vocabulary, answer), []).append(name)
    if not wrong:
        return f"Merging gives {right}, as do {len(names)} wrong ways; a line to be complete."
    listed = ", ".join(f"{answer} ({', '.join(by)})" for answer, by in wrong.items())
    return f"Merging gives {right}; wrong: {listed}."
