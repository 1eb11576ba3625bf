"""Merge the symbols of a piece, as the BPE model of Hugging Face does.

Definition (`merge_steps`)
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
    were part of. For `merge_long`, see `vocabulary.heap`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat
from typing import Final, TypeAlias

from bpe_ref.components import Draw
from bpe_ref.errors import VocabularyError
from bpe_ref.vocabulary.heap import merge_slots
from bpe_ref.vocabulary.merges import Pair, TokenId

Symbol: TypeAlias = tuple[TokenId, int]
"""A token, and how many bytes of the piece it covers."""

SHORT: Final = 100
"""Symbols of a piece up to which the lists of `merge_short` beat a queue."""

_NEVER: Final = 1 << 62  # a rank above all ranks


@dataclass(frozen=True, eq=False, slots=True)
class RankedMerges:
    """The merges as tables: from pair to rank, and from rank to the token it makes.

    >>> RankedMerges({(0, 1): 0}, [2]).results[0]
    2
    """

    ranks: Mapping[Pair, int]
    results: Sequence[TokenId]

    def merge(self, left: TokenId, right: TokenId) -> tuple[int, TokenId] | None:
        """Return the rank of two adjacent tokens, and what they become; None if nothing."""
        rank = self.ranks.get((left, right))
        return None if rank is None else (rank, self.results[rank])


def ranked_merges(
    vocab: Mapping[str, TokenId], merges: Sequence[tuple[str, str]], skipped: int = 0
) -> RankedMerges:
    """Return the merges of a file by ids; the first one has the lowest rank.

    A merge of a and b makes the token spelled a and then b, b without its first `skipped` bytes
    (as many as `continuing_subword_prefix` has). A pair that comes twice has the rank of its last
    place. Raises `VocabularyError` if a merge has or makes something that is not a token.

    >>> ranked_merges({"a": 0, "b": 1, "ab": 2}, [("a", "b")]).ranks
    {(0, 1): 0}
    """
    try:
        if not skipped:
            pairs = [(vocab[left], vocab[right]) for left, right in merges]
            results = tuple([vocab[left + right] for left, right in merges])
            return RankedMerges(dict(zip(pairs, range(len(pairs)), strict=True)), results)
    except KeyError:
        pass  # the slow way finds out which merge it is
    ranks, made = {}, []
    for rank, (left, right) in enumerate(merges):
        result = _joined(left, right, skipped, rank)
        for token in (left, right, result):
            if token not in vocab:
                raise VocabularyError(
                    f"merges[{rank}] must be of tokens and make a token of the vocabulary, "
                    f"but {token!r:.80} is none"
                )
        ranks[vocab[left], vocab[right]] = rank
        made.append(vocab[result])
    return RankedMerges(ranks, made)


def _joined(left: str, right: str, skipped: int, rank: int) -> str:
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


def merge(merges: RankedMerges, symbols: Sequence[Symbol]) -> list[Symbol]:
    """Return what the symbols are after the last merge, in O(n log n).

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
    merges: RankedMerges, tokens: list[TokenId], lengths: list[int] | None = None, until: int = 0
) -> None:
    """Merge the tokens in place, and the lengths along with them. O(n²), a small constant.

    Stop when so few pairs are left as `until` says.

    >>> tokens = [0, 1, 1]
    >>> merge_short(RankedMerges({(0, 1): 0}, [2]), tokens)
    >>> tokens
    [2, 1]
    """
    rank_of, results = merges.ranks.get, merges.results
    ranks = list(map(rank_of, pairwise(tokens), repeat(_NEVER)))
    while len(ranks) > until:
        lowest = min(ranks)
        if lowest == _NEVER:
            break
        at = ranks.index(lowest)
        tokens[at] = token = results[lowest]
        del tokens[at + 1], ranks[at]
        if lengths is not None:
            lengths[at] += lengths.pop(at + 1)
        if at < len(ranks):
            ranks[at] = rank_of((token, tokens[at + 1]), _NEVER)
        if at:
            ranks[at - 1] = rank_of((tokens[at - 1], token), _NEVER)


def merge_long(
    merges: RankedMerges, symbols: Sequence[Symbol], dropped: Callable[[], bool] | None = None
) -> list[Symbol]:
    """Do the same in O(n log n), with a heap; see `vocabulary.heap`, also for what is dropped.

    >>> merge_long(RankedMerges({(0, 1): 0}, [2]), [(0, 1), (1, 1), (1, 1)])
    [(2, 2), (1, 1)]
    """
    slots: list[TokenId | None] = [token for token, _ in symbols]
    for _ in merge_slots(merges.merge, slots, dropped):
        pass
    merged: list[Symbol] = []
    for token, (_, length) in zip(slots, symbols, strict=True):
        if token is None:  # the slot was merged into the one before it
            merged[-1] = merged[-1][0], merged[-1][1] + length
        else:
            merged.append((token, length))
    return merged


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
    return merge_long(merges, symbols, lambda: draw() < dropout)
