"""The list of merges of a file as tables, by ids.

Definition
    The first merge has the lowest rank. A merge of a and b makes the token spelled
    a and then b, b without its first `skipped` bytes, the length of
    `continuing_subword_prefix`. A pair that comes twice has the rank of its last
    place.

Source, and what it leaves open: see `models.bpe`.
"""

from collections.abc import Mapping, Sequence

from bpe_ref.errors import VocabularyError
from bpe_ref.models.merging import RankedMerges
from bpe_ref.vocabulary.merges import TokenId


def ranked_merges(
    vocab: Mapping[str, TokenId], merges: Sequence[tuple[str, str]], skipped: int = 0
) -> RankedMerges:
    """Return the merges by ids.

    Raises `VocabularyError` for a merge of what is no token, or one that makes none.

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
