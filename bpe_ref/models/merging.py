"""Merge the symbols of a piece, as the BPE model of Hugging Face does.

Definition (`merge_naive`)
    Repeat: among all adjacent pairs that have a merge, apply the one with the
    lowest rank, or the leftmost of them if several share that rank. The new
    symbol covers as many bytes as its two halves.

With dropout (`merge_with_dropout`)
    All candidate merges wait in a queue, lowest rank first, leftmost first.
    Take the first one out. With probability `dropout` set it aside; else put
    back whatever was set aside, and apply it, if its pair still stands there.
    Go on until the queue is empty. After Provilkov, Emelianenko and Voita,
    "BPE-Dropout", ACL 2020 (https://arxiv.org/abs/1910.13267), where every
    merge has its chance anew in every round.

Source: `Word::merge_all` of Hugging Face tokenizers 0.23.3
(tokenizers/src/models/bpe/word.rs).

What the source leaves open
    *A merge that is taken out when its pair is gone* counts as not dropped:
    what was set aside comes back. The frequencies of the outcomes depend on it.

Why the fast ways are the same answer
    `merge_short` keeps the rank of every pair and finds the lowest and leftmost
    with `min` and `index`; a merge changes only the pairs that its two symbols
    were part of. `merge_long` is dropout where nothing is dropped: the queue
    holds every adjacent pair that has a merge, and whatever else it holds is
    recognised when it is taken out, as its pair no longer stands there.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import pairwise, repeat
from typing import Final, TypeAlias

from bpe_ref.components import Draw
from bpe_ref.errors import VocabularyError
from bpe_ref.vocabulary.merges import Pair, TokenId

Symbol: TypeAlias = tuple[TokenId, int]
"""A token, and how many bytes of the piece it covers."""

_Candidate: TypeAlias = tuple[int, int]
"""A rank, and the slot of a left half."""

SHORT: Final = 100
"""Symbols of a piece up to which the lists of `merge_short` beat a queue."""

_NEVER: Final = 1 << 62  # a rank above all ranks
_NOWHERE: Final = -1  # in a link: there is no such neighbour


@dataclass(frozen=True, eq=False, slots=True)
class RankedMerges:
    """The merges as tables: from pair to rank, and from rank to the token it makes.

    >>> RankedMerges({(0, 1): 0}, [2]).results[0]
    2
    """

    ranks: Mapping[Pair, int]
    results: Sequence[TokenId]


def ranked_merges(
    vocab: Mapping[str, TokenId], merges: Sequence[tuple[str, str]], skipped: int = 0
) -> RankedMerges:
    """Return the merges of a file by ids; the first one has the lowest rank.

    A merge of a and b makes the token spelled a and then b, b without its first `skipped` bytes
    (as many as `continuing_subword_prefix` has). A pair that comes twice has the rank of its last
    place. Raises `VocabularyError` for a merge of what is no token, or one that makes none.

    >>> ranked_merges({"a": 0, "b": 1, "ab": 2}, [("a", "b")]).ranks
    {(0, 1): 0}
    """
    try:
        if not skipped:
            ranks = {(vocab[left], vocab[right]): rank for rank, (left, right) in enumerate(merges)}
            return RankedMerges(ranks, [vocab[left + right] for left, right in merges])
    except KeyError:
        pass  # the slow way finds out which merge it is
    ranks, results = {}, []
    for rank, (left, right) in enumerate(merges):
        result = _joined(left, right, skipped, rank)
        for token in (left, right, result):
            if token not in vocab:
                raise VocabularyError(
                    f"merges[{rank}] must be of tokens and make a token of the vocabulary, "
                    f"but {token!r:.80} is none"
                )
        ranks[vocab[left], vocab[right]] = rank
        results.append(vocab[result])
    return RankedMerges(ranks, results)


def _joined(left: str, right: str, skipped: int, rank: int) -> str:
    """Return the token that a merge makes."""
    content = right.encode()
    if len(content) < skipped:
        raise VocabularyError(
            f"merges[{rank}] must have a right side no shorter than continuing_subword_prefix, "
            f"got {right!r:.80}"
        )
    return left + content[skipped:].decode(errors="replace")


def merge_steps(merges: RankedMerges, symbols: Sequence[Symbol]) -> Iterator[list[Symbol]]:
    """Yield the symbols, and then what they are after each merge, by the definition. O(n²).

    >>> merges = RankedMerges({(0, 1): 0, (2, 0): 1}, [2, 3])
    >>> list(merge_steps(merges, [(0, 1), (1, 2), (0, 1)]))
    [[(0, 1), (1, 2), (0, 1)], [(2, 3), (0, 1)], [(3, 4)]]
    """
    merged = list(symbols)
    yield list(merged)
    while candidates := [
        (merges.ranks[left, right], at)
        for at, ((left, _), (right, _)) in enumerate(pairwise(merged))
        if (left, right) in merges.ranks
    ]:
        rank, at = min(candidates)
        length = merged[at][1] + merged[at + 1][1]
        merged[at : at + 2] = [(merges.results[rank], length)]
        yield list(merged)


def merge_naive(merges: RankedMerges, symbols: Sequence[Symbol]) -> list[Symbol]:
    """Return what the symbols are after the last merge, by the definition.

    >>> merges = RankedMerges({(0, 1): 0, (2, 0): 1}, [2, 3])
    >>> merge_naive(merges, [(0, 1), (1, 2), (0, 1), (1, 2), (0, 1)])
    [(2, 3), (3, 4)]
    """
    *_, merged = merge_steps(merges, symbols)
    return merged


def merge(merges: RankedMerges, symbols: Sequence[Symbol]) -> list[Symbol]:
    """Do the same in O(n log n).

    >>> merge(RankedMerges({(0, 1): 0}, [2]), [(0, 1), (1, 1), (1, 1)])
    [(2, 2), (1, 1)]
    """
    if len(symbols) > SHORT:
        return merge_long(merges, symbols)
    tokens = [token for token, _ in symbols]
    lengths = [length for _, length in symbols]
    merge_short(merges, tokens, lengths)
    return list(zip(tokens, lengths, strict=True))


def merge_short(
    merges: RankedMerges, tokens: list[TokenId], lengths: list[int] | None = None
) -> None:
    """Merge the tokens in place, and the lengths along with them. O(n²), a small constant.

    >>> tokens = [0, 1, 1]
    >>> merge_short(RankedMerges({(0, 1): 0}, [2]), tokens)
    >>> tokens
    [2, 1]
    """
    rank_of, results = merges.ranks.get, merges.results
    ranks = list(map(rank_of, pairwise(tokens), repeat(_NEVER)))
    while ranks:
        lowest = min(ranks)
        if lowest == _NEVER:
            break
        at = ranks.index(lowest)
        tokens[at] = results[lowest]
        del tokens[at + 1], ranks[at]
        if lengths is not None:
            lengths[at] += lengths.pop(at + 1)
        if at < len(ranks):
            ranks[at] = rank_of((tokens[at], tokens[at + 1]), _NEVER)
        if at:
            ranks[at - 1] = rank_of((tokens[at - 1], tokens[at]), _NEVER)


def merge_long(merges: RankedMerges, symbols: Sequence[Symbol]) -> list[Symbol]:
    """Do the same in O(n log n), with a queue.

    >>> merge_long(RankedMerges({(0, 1): 0}, [2]), [(0, 1), (1, 1), (1, 1)])
    [(2, 2), (1, 1)]
    """
    word = _Word(merges, symbols)
    while word.queue:
        word.apply(heappop(word.queue))
    return word.symbols()


def merge_with_dropout(
    merges: RankedMerges, symbols: Sequence[Symbol], dropout: float, draw: Draw
) -> list[Symbol]:
    """Merge, but set each merge aside with that probability whenever its turn comes.

    `draw` is asked once for each merge taken out of the queue; below `dropout` it is set aside.

    >>> merges = RankedMerges({(0, 1): 0, (1, 0): 1}, [2, 3])
    >>> chances = iter([0.2, 0.9, 0.9])
    >>> merge_with_dropout(merges, [(0, 1), (1, 1), (0, 1)], 0.5, chances.__next__)
    [(0, 1), (3, 2)]
    """
    word = _Word(merges, symbols)
    aside: list[_Candidate] = []
    while word.queue:
        candidate = heappop(word.queue)
        if draw() < dropout:
            aside.append(candidate)
            continue
        for waiting in aside:
            heappush(word.queue, waiting)
        aside = []
        word.apply(candidate)
    return word.symbols()


class _Word:
    """The symbols of a piece while they merge.

    Representation
        Slot `i` starts out holding symbol `i`. A merge puts the new symbol into
        the left of two slots and gives the right one the length 0. `previous`
        and `following` link the slots still in use. `queue` is a heap of
        candidates.
    """

    def __init__(self, merges: RankedMerges, symbols: Sequence[Symbol]) -> None:
        self.merges = merges
        self.tokens = [token for token, _ in symbols]
        self.lengths = [length for _, length in symbols]
        self.previous = [_NOWHERE, *range(len(symbols) - 1)]
        self.following = [*range(1, len(symbols)), _NOWHERE]
        self.queue: list[_Candidate] = [
            (merges.ranks[pair], slot)
            for slot, pair in enumerate(pairwise(self.tokens))
            if pair in merges.ranks
        ]
        heapify(self.queue)

    def apply(self, candidate: _Candidate) -> None:
        """Apply a merge taken out of the queue, unless its pair is gone."""
        rank, slot = candidate
        gone = self.following[slot]
        if not self.lengths[slot] or gone == _NOWHERE:
            return
        if self.merges.ranks.get((self.tokens[slot], self.tokens[gone])) != rank:
            return
        self.tokens[slot] = self.merges.results[rank]
        self.lengths[slot] += self.lengths[gone]
        self.lengths[gone] = 0
        self.following[slot] = self.following[gone]
        if self.following[slot] != _NOWHERE:
            self.previous[self.following[slot]] = slot
        self._remember(self.previous[slot])
        self._remember(slot)

    def _remember(self, slot: int) -> None:
        """Queue the merge of the pair whose left half is in `slot`, if there is one."""
        if slot == _NOWHERE or self.following[slot] == _NOWHERE:
            return
        rank = self.merges.ranks.get((self.tokens[slot], self.tokens[self.following[slot]]))
        if rank is not None:
            heappush(self.queue, (rank, slot))

    def symbols(self) -> list[Symbol]:
        """Return the symbols in use, in order."""
        in_order = zip(self.tokens, self.lengths, strict=True)
        return [(token, length) for token, length in in_order if length]
