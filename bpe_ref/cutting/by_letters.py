"""Pipelines whose model merges the characters of whole texts, as those of Llama 2 and Mistral do.

    text -> added tokens cut out -> spaces written as a mark, and one put in front
         -> merging

Definition
    The *stretch* between two added tokens is normalized (a text put in front,
    spaces replaced by the mark) or goes through `Metaspace` (the same, but
    nothing is put before a stretch that begins with the mark, and with the
    scheme "first" nothing but at the beginning of the text). Then it is one
    piece; or, if `Metaspace` splits, one before each mark.

    `count_rest` is the number of tokens of a text before which nothing is put,
    as the first stretch goes on inside a longer one. What comes after its first
    added token is counted as ever.

Safe cuts
    A place in a stretch, where the model has a border: no merge crosses it, and
    the tokens left and right of it are those of both sides alone (see
    `letter_borders`; it needs a model without `ignore_merges`, prefix, suffix
    and dropout). And where `Metaspace` splits, the place before
    each mark, whatever the model: there one piece ends and another begins.

    Why counts add up: what is put in front of x + y is put in front of x alone,
    and spaces are replaced one by one. So x + y is written as x and then y as a
    rest. Both recognise the same added tokens if none has the two characters of
    the place next to each other, neither in the text nor as it is written; none
    strips white space, and none asks for the characters around it. As what is
    put before a stretch depends on where the stretch begins, a place right
    behind the last character of some added token is not safe: it may be inside
    a stretch, or at its beginning.

    With "Metaspace" a text that begins with a space is a rest already: nothing
    is put before it. With `Prepend` it is not: "a b" is written "▁a▁b", and " b"
    alone "▁▁b". That is why there are two counts.

What is not quick
    A long row of characters between which there is no border, such as a
    thousand equal letters. It is counted anew with each character.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bpe_ref.added_tokens import AddedVocabulary, Treatment
from bpe_ref.cutting.letter_borders import LetterBorders
from bpe_ref.cutting.surrogates import any_surrogate, in_the_original
from bpe_ref.cutting.whole import Span
from bpe_ref.given_text import without_surrogates


@dataclass(frozen=True)
class Writing:
    """What becomes of the text of a stretch before it is merged."""

    space: str
    """The one character that a space is written as."""

    splits: bool
    """Whether a piece begins at each of them, whatever the model."""

    rest: Callable[[str], str]
    """From the text of a stretch to what it is, if nothing is put in front."""

    def letter(self, character: str) -> str:
        """Return what a character is written as."""
        return self.space if character == " " else character


@dataclass(frozen=True)
class CountedByLetters:
    """A pipeline of which the module tells what is sure."""

    counts: Callable[[str], int]
    spans: Callable[[str], Sequence[Span]]
    """Where the added tokens are in a text without surrogates."""

    added: AddedVocabulary
    treatment: Treatment
    count_stretch: Callable[[str], int]
    """From what an added token, found in normalized text, leaves behind it to its tokens."""

    count_written: Callable[[str], int]
    """From a stretch, written, to the number of its tokens, with nothing put in front."""

    writing: Writing
    borders: LetterBorders | None
    added_pairs: frozenset[str]
    """Every two characters next to each other in some added token, as it is and as written."""

    added_ends: frozenset[str]
    """The last characters of the added tokens, likewise."""

    longest: int | None
    rest_is_alone: bool
    long_pieces: None = None

    def count(self, text: str) -> int:
        """Return the number of tokens of the text alone."""
        return self.counts(text)

    def count_rest(self, text: str) -> int:
        """Return the number of tokens of the text as it goes on behind a safe cut."""
        if self.rest_is_alone or not text:
            return self.counts(text)
        text = without_surrogates(text)
        treatment = self.treatment
        first = self.added.cut(text, normalized=False, treatment=treatment)[0]
        if first.token is not None:
            return self.counts(text)
        written = self.writing.rest(text[: first.stop])
        counted = 0
        for start, stop, token in self.added.cut(written, normalized=True, treatment=treatment):
            if token is not None:
                counted += 1
            elif start == 0:
                counted += self.count_written(written[:stop])
            else:
                counted += self.count_stretch(written[start:stop])
        return counted + self.counts(text[first.stop :])

    def unbreakable(self, text: str) -> Sequence[Span]:
        """Return where the added tokens and the surrogate pairs are."""
        return in_the_original(text, self.spans(without_surrogates(text)))

    def is_safe_cut(self, before: str, left: str, right: str) -> bool:
        """Return whether counts add up between two characters, see the module."""
        x, y = self.writing.letter(left), self.writing.letter(right)
        if left + right in self.added_pairs or x + y in self.added_pairs:
            return False
        if left in self.added_ends or x in self.added_ends or any_surrogate(left + right):
            return False
        if self.writing.splits and y == self.writing.space:
            return True
        return self.borders is not None and self.borders.between(x, y)
