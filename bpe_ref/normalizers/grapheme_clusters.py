"""Where what a reader sees as one character ends: extended grapheme clusters.

Definition (Unicode Standard Annex 29 for Unicode 16.0, section 3.1.1)
    There is a boundary between any two characters, except

    - GB3 to GB5: in CR LF; but always before and after any other control;
    - GB6 to GB8: between the parts of a Hangul syllable;
    - GB9 to GB9b: before an extending character, a zero width joiner or a spacing mark, and after
      a prepended mark;
    - GB9c: before a consonant that a linker, and nothing but extending characters and linkers,
      parts from the consonant before it;
    - GB11: between a zero width joiner and a pictograph, where a pictograph and nothing but
      extending characters come before the joiner;
    - GB12, GB13: between the first and the second of two regional indicators, counted from where
      a row of them starts.

Source: the crate unicode-segmentation in tokenizers 0.23.3, which `Precompiled` uses. Its classes
were measured through that (see `authoring/tables/make_tokenizers_tables.py`), as far as they
show there: all of them but the regional indicators.
"""

from functools import lru_cache

from bpe_ref.normalizers.normalizer_tables import ranges_of

_JOINER = "\u200d"
_NON_JOINER = "\u200c"  # extending, but a consonant after it stands alone
_FIRST_SYLLABLE, _LAST_SYLLABLE = 0xAC00, 0xD7A3
_TRAILING_COUNT = 28  # a syllable without trailing part, and 27 with one
_LONELY = frozenset({"OTHER", "CONTROL", "PICTOGRAPHIC", "CONSONANT", "LV", "LVT"})
"""Between characters of these classes, with none of the others there, is always a boundary."""

_SYLLABLE_JOINTS = frozenset(
    {
        *(("LEADING", after) for after in ("LEADING", "VOWEL", "LV", "LVT")),
        *((before, after) for before in ("VOWEL", "LV") for after in ("VOWEL", "TRAILING")),
        *((before, "TRAILING") for before in ("TRAILING", "LVT")),
    }
)


def has_plain_clusters(text: str) -> bool:
    r"""Return, quickly, whether every character is known to be a cluster of its own.

    >>> has_plain_clusters("na\u00efve"), has_plain_clusters("e\u0301")
    (True, False)
    """
    if "\r\n" in text:
        return False
    return text.isascii() or all(_kind(character) in _LONELY for character in set(text))


def grapheme_clusters(text: str) -> list[str]:
    r"""Return the clusters of a text, which joined are the text.

    >>> grapheme_clusters("e\u0301\r\na") == ["e\u0301", "\r\n", "a"]
    True
    """
    if has_plain_clusters(text):
        return list(text)
    kinds = [_kind(character) for character in text]
    boundaries = [at for at in range(1, len(text)) if _is_boundary(text, kinds, at)]
    return [
        text[start:end]
        for start, end in zip([0, *boundaries], [*boundaries, len(text)], strict=True)
    ]


def _is_boundary(text: str, kinds: list[str], at: int) -> bool:
    """Return whether a cluster ends before the character at `at`."""
    before, after = kinds[at - 1], kinds[at]
    if text[at - 1 : at + 1] == "\r\n":
        return False
    if "CONTROL" in (before, after):
        return True
    if (before, after) in _SYLLABLE_JOINTS:
        return False
    if after in ("EXTEND", "LINKER", "JOINER", "SPACING_MARK") or before == "PREPEND":
        return False
    if after == "CONSONANT":
        return not _is_linked(text, kinds, at - 1)
    if (before, after) == ("JOINER", "PICTOGRAPHIC"):
        return not _is_extended_pictograph(kinds, at - 2)
    if (before, after) == ("REGIONAL", "REGIONAL"):
        return _row_length(kinds, at - 1) % 2 == 0
    return True


def _is_linked(text: str, kinds: list[str], at: int) -> bool:
    """Return whether a consonant and then a linker come before, with nothing else between."""
    linker = False
    while at >= 0 and kinds[at] in ("EXTEND", "LINKER", "JOINER") and text[at] != _NON_JOINER:
        linker = linker or kinds[at] == "LINKER"
        at -= 1
    return linker and at >= 0 and kinds[at] == "CONSONANT"


def _is_extended_pictograph(kinds: list[str], at: int) -> bool:
    """Return whether a pictograph ends here, extended or not."""
    while at >= 0 and kinds[at] in ("EXTEND", "LINKER"):
        at -= 1
    return at >= 0 and kinds[at] == "PICTOGRAPHIC"


def _row_length(kinds: list[str], at: int) -> int:
    """Return how many regional indicators in a row end here."""
    start = at
    while start >= 0 and kinds[start] == "REGIONAL":
        start -= 1
    return at - start


def _kind(character: str) -> str:
    kind = _kinds().get(character)
    if kind is not None:
        return kind
    syllable = ord(character) - _FIRST_SYLLABLE
    if 0 <= syllable <= _LAST_SYLLABLE - _FIRST_SYLLABLE:
        return "LVT" if syllable % _TRAILING_COUNT else "LV"
    return "OTHER"


@lru_cache(maxsize=1)
def _kinds() -> dict[str, str]:
    """Return the class of every character that has one; a linker is extending too."""
    kinds = {
        chr(code_point): name
        for name in (
            *("CONTROL", "EXTEND", "SPACING_MARK", "PREPEND", "LEADING", "VOWEL", "TRAILING"),
            *("PICTOGRAPHIC", "CONSONANT", "LINKER"),
        )
        for first, last in ranges_of(name)
        for code_point in range(first, last + 1)
    }
    regional = {chr(code_point): "REGIONAL" for code_point in range(0x1F1E6, 0x1F200)}
    return kinds | regional | {_JOINER: "JOINER"}
