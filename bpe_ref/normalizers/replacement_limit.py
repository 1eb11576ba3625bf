"""How long a text may become by replacing: a few rules in a row multiply its length."""

from typing import Final

from bpe_ref.errors import ParameterError
from bpe_ref.patterns.matches import Literal, Pattern, matches

LONGEST: Final = 1 << 24
"""Characters of the longest text that replacing may make of a shorter one."""


def check_growth(pattern: Pattern, content: str, text: str) -> None:
    """Raise `ParameterError` if replacing the matches would make the text longer than `LONGEST`.

    >>> check_growth(Literal("a"), "b" * 1000, "a" * 100_000)
    Traceback (most recent call last):
    bpe_ref.errors.ParameterError: content must make the text at most 16777216 characters long, ...
    """
    if isinstance(pattern, Literal) and len(content) <= len(pattern.text):
        return  # it only becomes shorter
    if len(text) + (len(text) + 1) * len(content) <= LONGEST:
        return  # even if every place matched
    found = matches(pattern, text)
    length = len(text) + sum(len(content) - (end - start) for start, end in found)
    if length > max(LONGEST, len(text)):
        rule = f"must make the text at most {LONGEST} characters long, not {length}"
        raise ParameterError("content", content[:40], rule)
