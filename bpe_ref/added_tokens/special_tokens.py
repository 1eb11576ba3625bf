"""Find special tokens in text.

Source: tiktoken 0.14.0, `Encoding.encode` (tiktoken/core.py and src/lib.rs,
https://github.com/openai/tiktoken). A text that spells a special token is one
of three things:

allowed
    It becomes that special token, and the text before and after it is encoded
    as two texts.
disallowed
    It is an error. This is the default, because whoever can slip a special
    token into a prompt can end it.
neither
    It is text like any other.

What the source leaves open
    *Two special tokens start at the same place*: the longest one wins. (tiktoken
    tries them in the order of a hash map, which is no order.) A token that is
    not allowed never hides one that is.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import Literal, TypeAlias

from bpe_ref.errors import ParameterError, SpecialTokenError

SpecialChoice: TypeAlias = Literal["all"] | Collection[str]
"""Some special tokens by their text, or all of them."""


def choose(
    special_tokens: Collection[str], allowed: SpecialChoice, disallowed: SpecialChoice
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the allowed and the disallowed texts. All disallowed ones are all but the allowed.

    Raises `ParameterError` for a choice that is a single text by mistake.

    >>> allowed, disallowed = choose(["<a>", "<b>"], {"<a>"}, "all")
    >>> sorted(allowed), sorted(disallowed)
    (['<a>'], ['<b>'])
    """
    wanted = _chosen("allowed_special", allowed)
    unwanted = _chosen("disallowed_special", disallowed)
    everything = frozenset(special_tokens)
    wanted = everything if wanted is None else wanted
    return wanted, everything - wanted if unwanted is None else unwanted


def _chosen(name: str, choice: SpecialChoice) -> frozenset[str] | None:
    """Return the texts of a choice, or None for all of them."""
    if choice == "all":
        return None
    if isinstance(choice, str | bytes) or not isinstance(choice, Iterable):
        raise ParameterError(name, choice, 'must be "all" or a collection of texts')
    texts = list(choice)
    if not all(isinstance(text, str) and text for text in texts):
        raise ParameterError(name, texts, "must hold non-empty texts only")
    return frozenset(texts)


def refuse_special(text: str, disallowed: frozenset[str]) -> None:
    """Raise `SpecialTokenError` if the text holds one of the disallowed special tokens.

    >>> refuse_special("a<b>", frozenset({"<b>"}))
    Traceback (most recent call last):
    bpe_ref.errors.SpecialTokenError: text must not spell a disallowed special token, ...
    """
    if disallowed and (found := _any_of(disallowed).search(text)):
        raise SpecialTokenError(
            "text must not spell a disallowed special token, "
            f"got {found.group()!r} at character {found.start()}; "
            "allow it, or pass disallowed_special=() to encode it as ordinary text"
        )


def split_special(text: str, allowed: frozenset[str]) -> Iterator[tuple[str, str | None]]:
    """Yield ordinary stretches of text, each with the special token that ends it, if any.

    >>> list(split_special("ab<x>c", frozenset({"<x>"})))
    [('ab', '<x>'), ('c', None)]
    """
    start = 0
    if allowed:
        for found in _any_of(allowed).finditer(text):
            yield text[start : found.start()], found.group()
            start = found.end()
    yield text[start:], None


@lru_cache(maxsize=64)
def _any_of(texts: frozenset[str]) -> re.Pattern[str]:
    """Return a pattern that finds any of the texts, the longest first."""
    longest_first = sorted(texts, key=lambda text: (-len(text), text))
    return re.compile("|".join(map(re.escape, longest_first)))
