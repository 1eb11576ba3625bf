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

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.merges import Spelling, TokenId

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


def fewest_tokens(
    vocabulary: Vocabulary, symbols: Sequence[TokenId], dropped: Callable[[], bool] = lambda: False
) -> list[TokenId]:
    """Return the fewest tokens that spell a text, the longest first of equals; see the encoders.

    Tokens of more than one symbol are left out where `dropped` returns true. It is called for each
    place from the end of the text, and there for each token from the longest to the shortest.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> fewest_tokens(vocabulary_by_concatenation({b"a": 0, b"aa": 1}), [0, 0, 0])
    [1, 0]
    """
    text = vocabulary.spell(symbols)
    trie = vocabulary.remember(trie_of_all_tokens)
    spellings, shorter = vocabulary.spellings, trie.shorter

    # From the end: fewest[i] tokens spell text[i:], and first[i] is the first of them.
    fewest = [0] * (len(text) + 1)
    first = [NOTHING] * len(text)
    for start in reversed(range(len(text))):
        best, token = len(text) + 1, trie.longest(text, start)
        while token != NOTHING:  # by falling length, so that a shorter token must be better
            end = start + len(spellings[token])
            if (end == start + 1 or not dropped()) and 1 + fewest[end] < best:
                best, first[start] = 1 + fewest[end], token
                if end == len(text):
                    break
            token = shorter[token]
        fewest[start] = best

    tokens: list[TokenId] = []
    start = 0
    while start < len(text):
        tokens.append(first[start])
        start += len(spellings[first[start]])
    return tokens
