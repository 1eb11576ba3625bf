r"""Write a pre-tokenization pattern in Oniguruma's dialect, with the same meaning.

Patterns with tiktoken's tables are in its dialect (see `bpe_ref.patterns.rust`). The library
tokenizers reads patterns with Oniguruma in its Ruby syntax, where some of them compile and mean
something else:

`$`, `^`
    are the ends of every line there, whatever the flags: `\z` and `\A` are meant.
`{1,3}+`
    is a repetition of a repetition there, so 1234 would be one run of digits; possessive is meant,
    as in `++`, which Oniguruma has. Said with an atomic group: `(?>\p{N}{1,3})`.
`{2}?`
    is "twice or not at all" there; exactly twice is meant.
`\xE9`
    is a byte there, and a character here: `\x{E9}`.

Not translated
    Flags besides `i`, and a switch such as `(?i)` that is not at the very start: in Ruby it ends
    the branch. Under `i`, neighbours that are the case folding of one character (ss of U+00DF):
    Oniguruma folds them together, Rust does not. The set operators `--` and `~~`.

Source: https://github.com/kkos/oniguruma/blob/master/doc/RE (Ruby syntax), and tokenizers 0.23.3
as executed.
"""

import re
from typing import Final

from bpe_ref.errors import PatternError
from bpe_ref.patterns.cursor import Cursor

_FOLDED_PAIRS: Final = ("ss", "ff", "fi", "fl", "st")  # U+00DF, U+FB00 to FB06
_QUANTIFIER: Final = re.compile(r"([*+?])([+?]?)|\{(?=,?\d)(\d*)(?:(,)(\d*))?\}([+?]?)")
_CODE_POINT: Final = re.compile(
    r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|[xuU]\{([0-9A-Fa-f]{1,8})\})"
)
_PROPERTY: Final = re.compile(r"\\[pP]\{\^?[A-Za-z_]+\}")
_GROUP: Final = re.compile(r"\((\?:|\?>|\?=|\?!|\?<=|\?<!|\?-?i:|\?P?<[A-Za-z_]\w*>|(?!\?))")
_KEPT_GROUPS: Final = (":", ">", "=", "!")
_SPELLED: Final = {"^": r"\A", "$": r"\z", "{": r"\x{7b}", "}": r"\x{7d}"}
_WORD: Final = re.compile(r"(?<!\\)(?:\\\\)*\\[wWbB]")


def asks_for_words(pattern: str) -> bool:
    r"""Return whether a pattern uses `\w` or `\b`, the only classes about which engines differ.

    >>> asks_for_words(r"\b\p{L}+"), asks_for_words(r"\\w")
    (True, False)
    """
    return _WORD.search(pattern) is not None


def to_oniguruma(pattern: str) -> str:
    r"""Return the pattern in Oniguruma's dialect.

    The pattern must be one that `bpe_ref.patterns.pretokenizer.Pretokenizer` takes, with tiktoken's
    tables. Raises `PatternError`, with the place.

    >>> to_oniguruma(r"\p{N}{1,3}+|\s++$|[\r\n]")
    '(?>\\p{N}{1,3})|\\s++\\z|[\\r\\n]'
    >>> to_oniguruma("a(?i)b")
    Traceback (most recent call last):
    bpe_ref.errors.PatternError: the pattern has '(?i)b' at 1, which Oniguruma...
    """
    folded = "(?i" in pattern
    for pair in _FOLDED_PAIRS:
        if folded and pair in pattern.lower():
            raise _untranslatable(pattern, pattern.lower().index(pair))
    cursor = Cursor(pattern)
    return f"(?i:{_translate(cursor)})" if cursor.accept("(?i)") else _translate(cursor)


def _translate(cursor: Cursor) -> str:
    parts: list[str] = []  # invariant: the last atom is parts[atom:]
    atom = 0
    open_groups: list[int] = []
    while cursor.peek():
        if parts and (quantifier := cursor.accept_match(_QUANTIFIER)):
            parts[atom:] = _repeat(parts[atom:], quantifier)
            continue
        atom = len(parts)
        if cursor.peek() == "(":
            group = cursor.accept_match(_GROUP)
            if group is None:
                raise _untranslatable(cursor.pattern, cursor.at)
            is_name = group[1].startswith(("?P", "?<")) and group[1].endswith(">")
            is_kept = group[1].endswith(_KEPT_GROUPS) and not is_name
            parts.append(f"({group[1]}" if is_kept else "(?:")
            open_groups.append(atom)
        elif cursor.accept(")"):
            parts.append(")")
            atom = open_groups.pop()
        elif cursor.accept("["):
            parts.append(_bracket(cursor))
        elif cursor.peek() == "\\":
            parts.append(_escape(cursor))
        else:
            character = cursor.take()
            parts.append(_SPELLED.get(character, character))
    return "".join(parts)


def _repeat(parts: list[str], quantifier: re.Match[str]) -> list[str]:
    sign, sign_mode, least, comma, most, mode = quantifier.groups("")
    if sign:
        return [*parts, sign + sign_mode]
    bounds = f"{{{least or '0'}{comma}{most}}}"
    if mode == "+":
        return ["(?>", *parts, bounds, ")"]
    return [*parts, bounds + (mode if comma else "")]


def _bracket(cursor: Cursor) -> str:
    """Return the translation of a class in brackets; the opening one has been read."""
    parts = ["[^" if cursor.accept("^") else "["]
    first = cursor.at
    while cursor.peek() != "]" or cursor.at == first:
        if cursor.peek() == "]" or cursor.peek(2) in {"--", "~~"}:
            raise _untranslatable(cursor.pattern, cursor.at)
        if cursor.accept("["):
            parts.append(_bracket(cursor))
        else:
            parts.append(_escape(cursor) if cursor.peek() == "\\" else cursor.take())
    return "".join([*parts, cursor.take()])


def _escape(cursor: Cursor) -> str:
    """Return the translation of a backslash and what belongs to it."""
    if found := cursor.accept_match(_CODE_POINT):
        return rf"\x{{{next(filter(None, found.groups()))}}}"
    if found := cursor.accept_match(_PROPERTY):
        return found[0]
    cursor.take()
    character = cursor.take()
    # Behind a backslash, Oniguruma takes some marks for anchors.
    return rf"\{character}" if character.isalnum() else rf"\x{{{ord(character):x}}}"


def _untranslatable(pattern: str, position: int) -> PatternError:
    return PatternError(
        f"the pattern has {pattern[position : position + 12]!r} at {position}, "
        "which Oniguruma does not have in this meaning"
    )
