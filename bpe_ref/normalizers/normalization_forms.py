"""NFC, NFD, NFKC and NFKD as Hugging Face has them: those of Unicode 9.0, with alignment.

Definition
    The three steps of Unicode Standard Annex 15 (see `bpe_ref.normalizers.nfc`), the compatibility
    decomposition instead of the canonical one for NFKC and NFKD. Each character carries a change
    (see `AlignedText`) along:

    1. Of what a character decomposes into, the first replaces it (0), the others are inserted (1).
    2. Marks keep their changes when they are ordered.
    3. A composite has the sum of the changes of its two parts, less one.

    So a mark that moved before others may stand for another's place, and a composite whose mark was
    not next to it says that its neighbour was removed. That is how the engine counts, and the
    reader of offsets sees it.

Characters that came after Unicode 9.0 are starters without decomposition, the engine does not know
them. All others never change their normalization, by the stability that Annex 15 promises, and
Python's `unicodedata` is asked about them.

Source: the crate unicode-normalization-alignments 0.1.12, in tokenizers 0.23.3
(normalizers/unicode.rs).

What the source leaves open
    Surrogates are starters without decomposition. A text that is in the form already keeps its
    ranges.
"""

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final, Literal, TypeAlias, cast

from bpe_ref.aligned_text import AlignedText, Change
from bpe_ref.components import Meeting
from bpe_ref.data import table
from bpe_ref.normalizers.normalizer_tables import known_to_forms, unknown_to_forms

Form: TypeAlias = Literal["NFC", "NFD", "NFKC", "NFKD"]
"""The name of a normalization form."""

_STARTER = 0  # the combining class of a character that is not a mark


def to_form(form: Form, text: str) -> str:
    """Return the text in that form.

    Why this is the same answer as `form_changes`: nothing moves past a character that the engine
    does not know, or composes with it; and a text of which both versions know every character
    normalizes alike in both.

    >>> to_form("NFKC", "\ufb01\u32ff") == "fi\u32ff"  # the second is of Unicode 12.1
    True
    """
    if text.isascii():
        return text
    if not any(map(unknown_to_forms().match, set(text))):
        return unicodedata.normalize(form, text)
    return known_to_forms().sub(lambda known: unicodedata.normalize(form, known[0]), text)


@dataclass(frozen=True, eq=False)
class UnicodeData:
    """What normalization must know of characters: Python's own data, made those of another version.

    Attributes:
        hides: returns whether there is a character in a text that the version does not know. Those
            are starters without decomposition.
        classes: returns the combining classes of marks that Python may lack.
        parts: returns the two parts of primary composites that Python may lack.

    """

    hides: Callable[[str], object]
    classes: Callable[[], Mapping[str, int]] = dict
    parts: Callable[[], Mapping[str, str]] = dict

    def changes(self, form: Form, text: str) -> list[Change]:
        """Return the changes that bring a text into a form."""
        changes = self._decomposed(text, "NFKD" if "K" in form else "NFD")
        return self._composed(changes) if form.endswith("C") else changes

    def _decomposed(self, text: str, form: Form) -> list[Change]:
        """Decompose every character, and sort each run of marks by class; the sort is stable."""

        def class_of(change: Change) -> int:
            return self._combining_class(change[0])

        ordered: list[Change] = []
        marks: list[Change] = []
        for character in text:
            for index, part in enumerate(self._decomposition(character, form)):
                change = (part, min(index, 1))
                if class_of(change) == _STARTER:
                    ordered += [*sorted(marks, key=class_of), change]
                    marks = []
                else:
                    marks.append(change)
        return ordered + sorted(marks, key=class_of)

    def _composed(self, changes: list[Change]) -> list[Change]:
        """Join each character with the last starter before it, where nothing blocks that.

        Invariant: `composed[starter]` is the last starter, and the classes after it do not descend,
        so that the last of them alone decides whether something blocks.
        """
        composites = {parts: composite for composite, parts in self.parts().items()}
        composed: list[Change] = []
        starter: int | None = None
        for character, change in changes:
            own_class = self._combining_class(character)
            if starter is not None:
                adjacent = starter == len(composed) - 1
                if adjacent or self._combining_class(composed[-1][0]) < own_class:
                    first, first_change = composed[starter]
                    joined = composites.get(first + character) or self._composite(first + character)
                    if joined is not None:
                        composed[starter] = (joined, first_change + change - 1)
                        continue
            if own_class == _STARTER:
                starter = len(composed)
            composed.append((character, change))
        return composed

    def _combining_class(self, character: str) -> int:
        if self.hides(character):
            return _STARTER
        return self.classes().get(character) or unicodedata.combining(character)

    def _decomposition(self, character: str, form: Form) -> str:
        """Return the full decomposition; most characters are their own."""
        parts = self.parts().get(character)
        if parts is not None:
            return "".join(self._decomposition(part, form) for part in parts)
        return character if self.hides(character) else unicodedata.normalize(form, character)

    def _composite(self, pair: str) -> str | None:
        """Return the primary composite that Python knows of two characters, if they have one.

        Python is asked only for neighbours in canonical order, so that a single character in its
        answer can only be their composite.
        """
        joined = pair if self.hides(pair) else unicodedata.normalize("NFC", pair)
        return joined if len(joined) == 1 else None


_ENGINE: Final = UnicodeData(lambda text: unknown_to_forms().search(text))


def form_changes(form: Form, text: str) -> list[Change]:
    """Return the changes that bring a text into that form.

    >>> form_changes("NFC", "e\u0301a") == [("\u00e9", -1), ("a", 0)]
    True
    """
    return _ENGINE.changes(form, text)


@cache
def new_classes() -> Mapping[str, int]:
    """Return the combining class of each mark that Unicode 14.0 lacks, as Unicode 16.0 has them.

    >>> new_classes()["\u0897"]
    230
    """
    entries = (entry.split("=") for entry in table("unicode")["NEW_COMBINING_CLASSES"].split())
    return {chr(int(mark, 16)): int(number) for mark, number in entries}


@cache
def new_parts() -> Mapping[str, str]:
    """Return the two parts of each primary composite that Unicode 14.0 lacks.

    >>> new_parts()["\U000105c9"] == "\U000105d2\u0307"
    True
    """
    entries = (entry.split("=") for entry in table("unicode")["NEW_COMPOSITIONS"].split())
    return {
        chr(int(composite, 16)): "".join(chr(int(part, 16)) for part in parts.split("+"))
        for composite, parts in entries
    }


def meeting_in_form(normalize: Callable[[str], str], left: str, right: str) -> Meeting | None:
    """Return what two characters become in a form; None if one may change with its neighbours.

    Why this is right: neither character changes by itself, is a mark, or is composed with one
    before it. So nothing moves over the place, and x ends as it does alone. The second one may be
    composed with what comes behind it.

    >>> meeting_in_form(NFC().normalize_text, "a", "\u0301") is None
    True
    >>> "\u00e9" in meeting_in_form(NFC().normalize_text, "a", "e").rights
    True
    """
    composites, seconds = _composition()
    for character in (left, right):
        if (
            normalize(character) != character
            or character in seconds
            or unicodedata.combining(character)
            or unicodedata.category(character) == "Cn"
        ):
            return None
    if right in _LEADING_CONSONANTS:
        return None
    rights = {right} | composites.get(unicodedata.normalize("NFD", right)[0], set())
    if right in _SYLLABLES and not (ord(right) - ord(_SYLLABLES[0])) % len(_WITH_FINALS):
        rights.update(chr(ord(right) + final) for final in _WITH_FINALS)
    return Meeting(frozenset(left), frozenset(rights))


@lru_cache(maxsize=1 << 16)
def begins_anew(character: str) -> bool:
    """Return whether, in every form, a character is normalized apart from what is before it.

    It does so if what it decomposes into begins with a starter that is never composed with one
    before it: nothing moves over that, and nothing joins it.

    >>> begins_anew("\u00e9"), begins_anew("\u0301")
    (True, False)
    """
    seconds = _composition()[1]
    firsts = {unicodedata.normalize(form, character)[0] for form in ("NFD", "NFKD")}
    return not any(
        unicodedata.combining(one) or one in seconds or unicodedata.category(one) == "Cn"
        for one in (character, *firsts)
    )


_LEADING_CONSONANTS: Final = "".join(map(chr, range(0x1100, 0x1113)))
_VOWELS_AND_FINALS: Final = "".join(map(chr, (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))))
_SYLLABLES: Final = "".join(map(chr, range(0xAC00, 0xD7A4)))
_WITH_FINALS: Final = range(28)


@cache
def _composition() -> tuple[dict[str, set[str]], frozenset[str]]:
    """Return the composites by the first character of their decomposition, and second parts.

    The marks that Unicode 14.0 lacks count as second parts.
    """
    composites: dict[str, set[str]] = {}
    seconds = set(_VOWELS_AND_FINALS)
    for code_point in range(0xC0, 0x1E000):
        parts = unicodedata.decomposition(chr(code_point))
        if parts and not parts.startswith("<") and " " in parts:
            seconds.add(chr(int(parts.split()[1], 16)))
            first = unicodedata.normalize("NFD", chr(code_point))[0]
            composites.setdefault(first, set()).add(chr(code_point))
    seconds.update(new_classes())
    for composite, parts in new_parts().items():
        seconds.add(parts[1])
        composites.setdefault(parts[0], set()).add(composite)
    return composites, frozenset(seconds)


@dataclass(frozen=True)
class _InForm:
    """What the four have in common; only the form differs."""

    @property
    def form(self) -> Form:
        """The name of the form, which is that of the class."""
        return cast("Form", type(self).__name__)

    def normalize(self, text: AlignedText) -> AlignedText:
        if not text.starts_with_insertion and self.normalize_text(text.text) == text.text:
            return text
        return text.transform(form_changes(self.form, text.text))

    def normalize_text(self, text: str) -> str:
        return to_form(self.form, text)

    def meeting(self, left: str, right: str) -> Meeting | None:
        return meeting_in_form(self.normalize_text, left, right)


class NFC(_InForm):
    """Canonical decomposition, then composition.

    >>> NFC().normalize(AlignedText.of("e\u0301a")).spans
    ((0, 1), (2, 3))
    """


class NFD(_InForm):
    """Canonical decomposition.

    >>> NFD().normalize(AlignedText.of("\u00e9a")).spans
    ((0, 1), (0, 1), (1, 2))
    """


class NFKC(_InForm):
    """Compatibility decomposition, then composition.

    >>> NFKC().normalize_text("\ufb01 \u00b2")
    'fi 2'
    """


class NFKD(_InForm):
    """Compatibility decomposition.

    >>> NFKD().normalize_text("\u210c")
    'H'
    """
