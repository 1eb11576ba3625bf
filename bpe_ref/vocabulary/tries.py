"""A trie: of the tokens that start at a place in a text, the longest, and the shorter ones.

Representation
    A node is a dict from letter to child node. Under the empty string, which is no letter, it holds
    the value of the longest entry on the way to it. `shorter` leads from each entry to the longest
    one that is a proper prefix of it. So one walk finds the longest match, and `shorter` lists the
    others, by falling length, without another look at the text.

Invariant
    Entries go in by alphabet, and there a prefix comes before what it is a prefix of. So when an
    entry goes in, those that are prefixes of it are all there already for it to inherit from, and
    those that it is a prefix of are not, so its node is new. (By rising length the same would hold.
    But neighbours in the alphabet share most of their way and are close together in memory: the
    trie is built and searched in four fifths of the time.)

To find what *ends* at a place, put the spellings in backwards.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.merges import Spelling

Node: TypeAlias = dict[str, Any]
"""From letter to `Node`, and from the empty string to the value."""

NOTHING: Final = -1
"""The value where no entry matches."""

_STRIDE: Final = 32  # letters looked at in one go; most entries are shorter


class Trie:
    """Entries from spelling to a number from 0 up.

    >>> trie = Trie({"a": 0, "abc": 1, "b": 2})
    >>> trie.longest("xabcd", 1)
    1
    >>> trie.shorter[1], trie.shorter[0]
    (0, -1)
    """

    def __init__(self, entries: Mapping[Spelling, int]) -> None:
        """Put in the entries; none may have an empty spelling."""
        self.root: Node = {"": NOTHING}
        self.shorter: dict[int, int] = {}
        for spelling in sorted(entries):
            node = self.root
            for letter in spelling:
                if letter not in node:
                    node[letter] = {"": node[""]}
                node = node[letter]
            value = entries[spelling]
            self.shorter[value] = node[""]  # inherited, as the node is new
            node[""] = value

    def longest(self, text: Spelling, start: int) -> int:
        """Return the value of the longest entry that starts there, or `NOTHING`.

        In time proportional to that entry, however long the text is.
        """
        node = self.root
        while True:
            for letter in text[start : start + _STRIDE]:
                if letter not in node:
                    return node[""]  # type: ignore[no-any-return]  # see Node
                node = node[letter]
            start += _STRIDE
            if start >= len(text):
                return node[""]  # type: ignore[no-any-return]  # see Node


def trie_of_all_tokens(vocabulary: Vocabulary) -> Trie:
    """Return a trie from spelling to id, of all tokens, whether merges can make them or not.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> trie_of_all_tokens(vocabulary_by_concatenation({b"a": 7})).longest("aa", 0)
    7
    """
    return Trie(vocabulary.ids)
