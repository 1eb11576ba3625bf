"""The merge rule: which adjacent pairs merge, into what, and how early.

Two kinds of rule are in use, and they are not the same function:

By concatenation (tiktoken, GitHub's bpe)
    A pair merges if its two spellings, joined, are the spelling of a token.
    Its rank is the rank of that token.

By pair (Hugging Face tokenizers, after Sennrich et al., "Neural Machine
Translation of Rare Words with Subword Units", ACL 2016)
    A pair merges if it is on a list. Its rank is its place in the list.

With the tokens a, aa, aaa and the list (a, a), (a, aa), the text aaa becomes
aaa by concatenation and aa a by pair: (aa, a) is not on the list.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

TokenId: TypeAlias = int
"""A vocabulary entry, always by its integer id. Ids may have holes."""

ID_LIMIT: Final = 1 << 32
"""The ids and ranks in files are below this: engines keep them in 32 bits."""

Pair: TypeAlias = tuple[TokenId, TokenId]
"""Two adjacent tokens, left one first."""

Spelling: TypeAlias = str
"""The symbols of a token, one letter each; of a byte, the letter is `chr(byte)`."""


class Merge(NamedTuple):
    """What becomes of one adjacent pair, and how early."""

    rank: int
    """Merge priority. Lower ranks merge first."""

    result: TokenId
    """The token that replaces the pair."""


MergeTable: TypeAlias = Mapping[Pair, Merge]


@dataclass(frozen=True, eq=False)
class ByConcatenation:
    """Pairs merge if their spellings, joined, are a token's.

    >>> rule = ByConcatenation({7: "a", 8: "aa"}, {"a": 7, "aa": 8}, {7: 0, 8: 1})
    >>> rule.merge(7, 7), rule.merge(8, 7)
    (Merge(rank=1, result=8), None)
    """

    spellings: Mapping[TokenId, Spelling]
    ids: Mapping[Spelling, TokenId]
    ranks: Mapping[TokenId, int]

    def merge(self, left: TokenId, right: TokenId) -> Merge | None:
        """Return what becomes of the adjacent tokens `left` and `right`, if anything."""
        result = self.ids.get(self.spellings[left] + self.spellings[right])
        return None if result is None else Merge(self.ranks[result], result)


@dataclass(frozen=True, eq=False)
class ByPair:
    """Pairs merge if they are on the list.

    >>> rule = ByPair([(0, 0)], {(0, 0): Merge(rank=0, result=1)})
    >>> rule.merge(0, 0), rule.merge(1, 0)
    (Merge(rank=0, result=1), None)
    """

    merges: Sequence[Pair]
    """The list, first merge first. A pair may be listed twice; its last place counts."""

    table: MergeTable
    """The same as a table."""

    def merge(self, left: TokenId, right: TokenId) -> Merge | None:
        """Return what becomes of the adjacent tokens `left` and `right`, if anything."""
        return self.table.get((left, right))


MergeRule: TypeAlias = ByConcatenation | ByPair
