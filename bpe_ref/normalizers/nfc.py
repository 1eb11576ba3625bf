"""Normalization Form C, pinned to Unicode 16.0 whatever Python is installed.

Definition (Unicode Standard Annex 15, and the Unicode Standard 16.0, section 3.11)
    1. Decompose every character fully and canonically.
    2. Order each run of marks stably by canonical combining class, where class 0 (a *starter*)
       ends a run.
    3. Compose: from left to right, join a character with the last starter before it if the two
       have a primary composite and nothing between them blocks it. Something blocks that stands
       between them and has class 0, or at least the character's own class.

`nfc_by_definition` is these three steps. Assigned characters never change their normalization, so
Python's own `unicodedata.normalize` gives the same answer for a text in which it knows every
character that Unicode 16.0 knows, and no other. `nfc` leaves such texts to it.

The data
    Python 3.11 has Unicode 14.0; `data/unicode.json` holds what 15.0 to 16.0 added, which is all
    that the definition needs beyond it: 21 combining classes and 20 composites. What a newer Python
    knows beyond 16.0 is hidden.

Which engine
    The voyage3_base tokenizer of GitHub's bpe-openai, whose crate `unicode-normalization` follows
    Unicode 16.0. The `NFC` of tokenizers 0.23.3 has older tables: see `tests/test_normalization.py`
    for each code point in which it differs.

What the sources leave open
    Surrogates are starters without decomposition.
"""

import unicodedata
from dataclasses import dataclass, replace
from functools import cache

from bpe_ref.aligned_text import AlignedText, Change
from bpe_ref.components import Meeting
from bpe_ref.data import table
from bpe_ref.normalizers.normalization_forms import compose, decompose, meeting_in_form
from bpe_ref.patterns.unicode_tables import TABLES, to_ranges

_PINNED_VERSION = (16, 0, 0)
_STARTER = 0  # the combining class of what is no mark


def nfc(text: str) -> str:
    """Return `text` in Normalization Form C of Unicode 16.0.

    Why this is the same answer as `nfc_by_definition`: a text without disputed characters
    normalizes alike in both versions, by the stability that Annex 15 promises.

    >>> nfc("e\u0301") == "\u00e9"
    True
    >>> nfc("\U000105d2\u0307") == "\U000105c9"  # composed since Unicode 16.0
    True
    """
    if text.isascii():
        return text
    if _disputed().isdisjoint(set(text)):
        return unicodedata.normalize("NFC", text)
    return nfc_by_definition(text)


def nfc_by_definition(text: str) -> str:
    """Return the same, by the three steps of the standard.

    >>> nfc_by_definition("a\u0301\u0323") == "\u1ea1\u0301"  # the mark below comes first
    True
    """
    return "".join(character for character, _ in nfc_changes(text))


def nfc_changes(text: str) -> list[Change]:
    """Return the changes that bring a text into the form; see `normalization_forms` for them.

    >>> nfc_changes("e\u0301a") == [("\u00e9", -1), ("a", 0)]
    True
    """
    decomposed = decompose(text, _decomposition, _combining_class)
    return compose(decomposed, _composite, _combining_class)


@dataclass(frozen=True)
class PinnedNFC:
    """Normalization Form C of Unicode 16.0.

    >>> PinnedNFC().normalize(AlignedText.of("e\u0301a")).spans
    ((0, 2), (2, 3))
    """

    def normalize(self, text: AlignedText) -> AlignedText:
        """Return the text in the form. A composite stands for both of its parts."""
        if nfc(text.text) == text.text:
            return text
        changed = text.transform(nfc_changes(text.text))
        stops = [*(start for start, _ in changed.spans[1:]), text.end]
        spans = zip(changed.spans, stops, strict=True)
        return replace(changed, spans=tuple((at, max(end, stop)) for (at, end), stop in spans))

    def normalize_text(self, text: str) -> str:
        """Return the text only."""
        return nfc(text)

    def meeting(self, left: str, right: str) -> Meeting | None:
        """Return what the two characters become; see `components.Meeting`."""
        return meeting_in_form(nfc, left, right)


def _combining_class(character: str) -> int:
    if character in _hidden():
        return _STARTER
    return _new_classes().get(character) or unicodedata.combining(character)


def _decomposition(character: str) -> str:
    """Return the full canonical decomposition; most characters are their own."""
    parts = _new_decompositions().get(character)
    if parts is not None:
        return "".join(map(_decomposition, parts))
    if character in _hidden():
        return character
    return unicodedata.normalize("NFD", character)


def _composite(first: str, second: str) -> str | None:
    """Return the primary composite of two characters, if they have one.

    Python is asked only for neighbours in canonical order, so that a single character in its
    answer can only be their composite.
    """
    new = _new_composites().get(first + second)
    if new is not None or not _hidden().isdisjoint(first + second):
        return new
    joined = unicodedata.normalize("NFC", first + second)
    return joined if len(joined) == 1 else None


@cache
def _new_classes() -> dict[str, int]:
    """Return the combining class of each mark that Unicode 14.0 lacks."""
    entries = (entry.split("=") for entry in table("unicode")["NEW_COMBINING_CLASSES"].split())
    return {chr(int(mark, 16)): int(number) for mark, number in entries}


@cache
def _new_decompositions() -> dict[str, str]:
    """Return the two parts of each primary composite that Unicode 14.0 lacks."""
    entries = (entry.split("=") for entry in table("unicode")["NEW_COMPOSITIONS"].split())
    return {
        chr(int(composite, 16)): "".join(chr(int(part, 16)) for part in parts.split("+"))
        for composite, parts in entries
    }


@cache
def _new_composites() -> dict[str, str]:
    return {parts: composite for composite, parts in _new_decompositions().items()}


@cache
def _hidden() -> frozenset[str]:
    """Return what the installed Python assigns and Unicode 16.0 does not."""
    if _installed_version() <= _PINNED_VERSION:
        return frozenset()
    unassigned = to_ranges(TABLES["unicode-16.0"].code_points("Cn"))
    characters = (chr(c) for first, last in unassigned for c in range(first, last + 1))
    return frozenset(c for c in characters if unicodedata.category(c) != "Cn")


@cache
def _disputed() -> frozenset[str]:
    """Return characters of which every text has one that normalizes differently here.

    A new composite always has a new part, else normalized text would have ceased to be so.
    """
    if _installed_version() >= _PINNED_VERSION:
        return _hidden()
    decompositions = _new_decompositions()
    return (
        frozenset(_new_classes())
        | frozenset(decompositions)
        | frozenset(parts[0] for parts in decompositions.values())
    )


def _installed_version() -> tuple[int, ...]:
    return tuple(map(int, unicodedata.unidata_version.split(".")))
