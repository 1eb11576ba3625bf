"""Places in texts that hold surrogates: a pair of them is one code point, and is not cut.

Tokenizers see a text with its surrogate pairs joined (see
`tokenizer.without_surrogates`), which has fewer characters. What they say of it
is put in terms of the original here.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from bpe_ref.cutting.whole import Span

_FIRST_HIGH: Final = "\ud800"
_LAST_HIGH: Final = "\udbff"
_FIRST_LOW: Final = "\udc00"
_LAST_LOW: Final = "\udfff"


def any_surrogate(text: str) -> bool:
    r"""Return whether there is any surrogate, in a pair or not.

    >>> any_surrogate("a"), any_surrogate("\ud83d")
    (False, True)
    """
    return any(_FIRST_HIGH <= character <= _LAST_LOW for character in text)


def in_the_original(text: str, spans: Iterable[Span]) -> list[Span]:
    r"""Return spans of the joined text as spans of the original, and the surrogate pairs.

    >>> in_the_original("\ud83d\ude00ab", [(1, 3)])
    [(0, 2), (2, 4)]
    """
    if text.isascii() or not any_surrogate(text):
        return list(spans)
    starts: list[int] = []
    at = 0
    while at < len(text):
        starts.append(at)
        at += 2 if is_pair(text[at : at + 2]) else 1
    starts.append(len(text))
    pairs = [(a, b) for a, b in pairwise(starts) if b - a > 1]
    return sorted([(starts[first], starts[last]) for first, last in spans] + pairs)


def is_pair(characters: str) -> bool:
    r"""Return whether the characters are a surrogate pair.

    >>> is_pair("\ud83d\ude00"), is_pair("\ude00\ud83d")
    (True, False)
    """
    return (
        len(characters) > 1
        and _FIRST_HIGH <= characters[0] <= _LAST_HIGH
        and _FIRST_LOW <= characters[1] <= _LAST_LOW
    )
