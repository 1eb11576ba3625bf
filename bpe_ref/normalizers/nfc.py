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
from typing import Final

from bpe_ref.aligned_text import AlignedText
from bpe_ref.components import Meeting
from bpe_ref.normalizers.normalization_forms import (
    UnicodeData,
    meeting_in_form,
    new_classes,
    new_parts,
)
from bpe_ref.patterns.unicode_tables import TABLES, characters_in

_PINNED_VERSION = (16, 0, 0)


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
    return "".join(character for character, _ in _PINNED.changes("NFC", text))


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
        changed = text.transform(_PINNED.changes("NFC", text.text))
        stops = [*(start for start, _ in changed.spans[1:]), text.end]
        spans = zip(changed.spans, stops, strict=True)
        return replace(changed, spans=tuple((at, max(end, stop)) for (at, end), stop in spans))

    def normalize_text(self, text: str) -> str:
        return nfc(text)

    def meeting(self, left: str, right: str) -> Meeting | None:
        return meeting_in_form(nfc, left, right)


@cache
def _hidden() -> frozenset[str]:
    """Return what the installed Python assigns and Unicode 16.0 does not."""
    if _installed_version() <= _PINNED_VERSION:
        return frozenset()
    unassigned = characters_in(TABLES["unicode-16.0"].code_points("Cn"))
    return frozenset(c for c in unassigned if unicodedata.category(c) != "Cn")


@cache
def _disputed() -> frozenset[str]:
    """Return characters of which every text has one that normalizes differently here.

    A new composite always has a new part, else normalized text would have ceased to be so.
    """
    if _installed_version() >= _PINNED_VERSION:
        return _hidden()
    parts = new_parts()
    return frozenset({*new_classes(), *parts, *(pair[0] for pair in parts.values())})


def _installed_version() -> tuple[int, ...]:
    return tuple(map(int, unicodedata.unidata_version.split(".")))


_PINNED: Final = UnicodeData(lambda text: not _hidden().isdisjoint(text), new_classes, new_parts)
