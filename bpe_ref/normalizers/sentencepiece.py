"""SentencePiece's normalization: text to the string that is cut into pieces.

Definition
    The text is read from left to right. Where a user-defined piece starts, the longest one is
    copied; elsewhere the longest key of the character map is replaced, and where there is none, one
    character is copied. Then, as the model says,

    remove_extra_whitespaces   spaces at both ends go, and of several in a row one is left
    add_dummy_prefix           a space is put in front (or behind)
    escape_whitespaces         each space is written as U+2581

Source: `Normalizer::Normalize` in src/normalizer.cc of google/sentencepiece; the wheel 0.2.3 as
executed.

What the source leaves open, and what it does
    *The empty text* stays empty: nothing is put in front of it. So does a text of spaces only, if
    extra ones are removed; if not, it gets its space.
    *Space* is U+0020 after the map, nothing else. Without a map a tab or a no-break space is a
    character like any other. With escaping, a U+2581 in the text cannot be told from a space
    afterwards; at the end of the text it is removed like one, at the start it is not.
    *Spaces inside a user-defined piece* are escaped, so that it may not be found again when the
    string is cut. If it starts with spaces, and one came before, it loses them.
    *Several spaces* are those next to each other after the map. A map that removes characters (of
    control characters, say) does not part them.
    *Origins.* What a key is replaced by comes from where the key starts, and ends where the next
    character comes from.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

from bpe_ref.aligned_text import AlignedText
from bpe_ref.components import Meeting
from bpe_ref.normalizers.charsmap import Charsmap

SPACE_SYMBOL: Final = "\u2581"
"""What a space is written as in pieces: U+2581, a low block."""


@dataclass(frozen=True, slots=True)
class NormalizationRules:
    """What becomes of text before it is cut into pieces; `normalize` has the steps."""

    charsmap: Charsmap | None = None
    """Which characters become which; None leaves them as they are."""

    add_dummy_prefix: bool = True
    """Whether a space is put in front of the text (or behind it, see below)."""

    remove_extra_whitespaces: bool = True
    """Whether spaces at both ends go, and one is left of several."""

    escape_whitespaces: bool = True
    """Whether a space is written as `SPACE_SYMBOL`."""

    space_behind: bool = False
    """Whether the added space stands behind the text: `treat_whitespace_as_suffix`."""

    symbol_is_space: bool = True
    """Whether a `SPACE_SYMBOL` that the text itself has at its end goes with the spaces."""


@dataclass(frozen=True)
class UserDefined:
    """The user-defined pieces of a model, which are found in text before anything else happens.

    >>> UserDefined(frozenset({"ab"})).length_at("cab", 1)
    2
    """

    pieces: frozenset[str] = frozenset()

    @cached_property
    def _lengths(self) -> dict[str, list[int]]:
        """By first character, the lengths that there are, the longest first."""
        lengths: dict[str, set[int]] = {}
        for text in self.pieces:
            lengths.setdefault(text[0], set()).add(len(text))
        return {first: sorted(found, reverse=True) for first, found in lengths.items()}

    def length_at(self, text: str, start: int) -> int:
        """Return the length of the longest piece that starts there, or 0.

        >>> UserDefined(frozenset({"ab"})).length_at("cab", 2)
        0
        """
        for length in self._lengths.get(text[start], ()):
            found = text[start : start + length]  # shorter at the end of the text
            if found in self.pieces:
                return len(found)
        return 0


@dataclass(frozen=True)
class SentencePieceNormalizer:
    """Normalizes a text as a SentencePiece model says.

    >>> SentencePieceNormalizer(NormalizationRules()).normalize(AlignedText.of(" a  b")).spans
    ((1, 1), (1, 2), (2, 4), (4, 5))
    """

    rules: NormalizationRules
    user_defined: UserDefined = UserDefined()

    def normalize(self, text: AlignedText) -> AlignedText:
        """Return the normalized text. A character reaches to where the next one begins."""
        changed = normalize(self.rules, text.text, self.user_defined)
        if not changed.text:
            return AlignedText("", (), text.start, text.start)
        starts = [*(start for start, _ in text.spans), text.end]
        places = [starts[at] for at in changed.origins]
        spans = tuple(pairwise(places))
        return AlignedText(changed.text, spans, text.start, text.end)

    def normalize_text(self, text: str) -> str:
        """Return the text only; where only spaces are added and escaped, at once."""
        rules = self.rules
        if rules.charsmap or rules.remove_extra_whitespaces or self.user_defined.pieces or not text:
            return normalize(rules, text, self.user_defined).text
        if rules.add_dummy_prefix:
            text = f"{text} " if rules.space_behind else f" {text}"
        return text.replace(" ", SPACE_SYMBOL) if rules.escape_whitespaces else text

    def meeting(self, left: str, right: str) -> Meeting | None:
        """Return what the two characters may become; see `components.Meeting`.

        Spaces on the left might be removed, and in front of y alone those on the right.
        """
        rules = self.rules
        lefts, rights = frozenset(left), frozenset(right)
        if rules.charsmap is not None:
            changes = rules.charsmap.changes
            if changes is None or left + right in changes.pairs:
                return None
            lefts |= changes.lasts.get(left, frozenset())
            rights |= changes.firsts.get(right, frozenset())
            if "" in lefts or "" in rights:
                return None  # something vanishes
        if rules.remove_extra_whitespaces and lefts & {" ", SPACE_SYMBOL}:
            return None
        if rules.add_dummy_prefix and rules.space_behind:
            return None
        if rules.escape_whitespaces:
            lefts, rights = (
                frozenset(SPACE_SYMBOL if one == " " else one for one in both)
                for both in (lefts, rights)
            )
        alone = not rules.add_dummy_prefix and not rules.remove_extra_whitespaces
        return Meeting(lefts, rights, alone=alone)


@dataclass(frozen=True, slots=True)
class Normalized:
    """A text and where each of its characters comes from."""

    text: str

    origins: list[int]
    """Of each character the place in the original; one more, for the end of the text."""


def normalize(
    rules: NormalizationRules, text: str, user_defined: UserDefined | None = None
) -> Normalized:
    """Return the normalized text; user-defined pieces are left alone.

    >>> normalize(NormalizationRules(), " a  b ")
    Normalized(text='▁a▁b', origins=[1, 1, 2, 4, 5])
    """
    start = _first_kept(rules, text, user_defined) if rules.remove_extra_whitespaces else 0
    if start == len(text):
        return Normalized("", [])
    space = SPACE_SYMBOL if rules.escape_whitespaces else " "
    characters: list[str] = []
    origins: list[int] = []
    if rules.add_dummy_prefix and not rules.space_behind:
        characters.append(" ")
        origins.append(start)
    after_space = rules.remove_extra_whitespaces
    while start < len(text):
        replacement, length = _replace(rules, text, start, user_defined)
        if after_space:
            replacement = replacement.lstrip(" ")
        characters += replacement
        origins += [start] * len(replacement)
        if replacement and rules.remove_extra_whitespaces:
            after_space = replacement.endswith(" ")
        start += length
    if rules.remove_extra_whitespaces:
        while characters and characters[-1] in {" ", space if rules.symbol_is_space else " "}:
            characters.pop()
            start = origins.pop()
    if rules.add_dummy_prefix and rules.space_behind:
        characters.append(" ")
        origins.append(start)
    return Normalized("".join(characters).replace(" ", space), [*origins, start])


def _first_kept(rules: NormalizationRules, text: str, user_defined: UserDefined | None) -> int:
    """Return where the text starts after what becomes single spaces."""
    start = 0
    while start < len(text):
        replacement, length = _replace(rules, text, start, user_defined)
        if replacement != " ":
            break
        start += length
    return start


def _replace(
    rules: NormalizationRules, text: str, start: int, user_defined: UserDefined | None
) -> tuple[str, int]:
    """Return what the text becomes at a place, and how many characters that is about."""
    if user_defined is not None:
        length = user_defined.length_at(text, start)
        if length:
            return text[start : start + length], length
    if rules.charsmap is not None:
        found = rules.charsmap.longest_match(text, start)
        if found is not None:
            return found[1], found[0]
    return text[start], 1
