"""`Regex` as the Python package `tokenizers` has it, and patterns that may be texts."""
# ruff: noqa: N802 -- the library's names

from bpe_ref.patterns import matches as definition


def Regex(pattern: str) -> definition.Regex:
    """Return a regular expression. Raises `PatternError` if it is none.

    >>> Regex("a+").source
    'a+'
    """
    regex = definition.Regex(pattern)
    regex.compile()
    return regex


def to_pattern(pattern: str | definition.Regex) -> definition.Literal | definition.Regex:
    """Return a pattern: a text stands for itself.

    >>> to_pattern("a+")
    Literal(text='a+')
    """
    return definition.Literal(pattern) if isinstance(pattern, str) else pattern
