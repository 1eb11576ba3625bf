"""What a whole tokenizer must tell for its texts to be counted in parts and cut.

A whole tokenizer is all of it: normalization, special tokens, pattern, merges.
Whatever it is made of, the number of tokens of a text is defined: encode the
text alone, without the tokens that a template adds, and count. Everything in
this package equals that, and is only faster where a *safe cut* is known.

Some tokenizers put a space before every text, so that "a" is written "▁a"; but
where the text goes on, there is none. So there are two counts: `count` of a
text alone, and `count_rest` of one that something came before. Of most
tokenizers they are the same.

A place in a text is a safe cut if counts add up there:

    count(text[i:j])      = count(text[i:place])      + count_rest(text[place:j])
    count_rest(text[i:j]) = count_rest(text[i:place]) + count_rest(text[place:j])

for all i < place < j, and also for every other text that has the same two
characters around the place (and the same one before them, if there is one).
The last clause is what lets a text grow: what comes later cannot undo it.

`whole_of` (in `pipelines`) makes one of a `Tokenizer`, with proven safe cuts for
most kinds. `by_definition` (below) makes one of anything that can count; it has
no safe cuts, and everything is counted from scratch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from bpe_ref.added_tokens import AddedVocabulary, Recognised, Treatment
from bpe_ref.components import Model, Normalizer, PreTokenizer
from bpe_ref.vocabulary.merges import TokenId

Span: TypeAlias = tuple[int, int]
"""A half-open range of characters."""


class Components(Protocol):
    """A tokenizer: its components, and the ids of a text."""

    @property
    def model(self) -> Model:
        """What turns pieces into tokens."""

    @property
    def normalizer(self) -> Normalizer | None:
        """What changes a text first."""

    @property
    def pre_tokenizer(self) -> PreTokenizer | None:
        """What cuts a text into pieces."""

    @property
    def added(self) -> AddedVocabulary:
        """The added tokens with their ids."""

    def treatment(self, special: Recognised) -> Treatment:
        """Return what `special` means for the added tokens."""

    def encode(
        self, text: str, *, add_special_tokens: bool = True, special: Recognised = "recognise"
    ) -> list[TokenId]:
        """Return the ids of a text."""


class Ends(NamedTuple):
    """A piece at one of the ends of a text."""

    piece: str
    """The piece; empty if the text ends (starts) otherwise, or normalization changed the piece."""

    others: int
    """The number of all other tokens."""

    total: int
    """The number of all tokens."""


class LongPieces(Protocol):
    """What is known about long pieces, beyond the safe cuts.

    A text of one long word has no safe cut. But a letter after many letters
    only makes the last piece longer, and a piece that grows can be counted in
    constant time (see `growing.encoders`).
    """

    def ends(self, text: str) -> "Ends":
        """Return the last piece, and how many tokens are before it."""

    def starts(self, text: str) -> "Ends":
        """Return the first piece, and how many tokens are after it."""

    def joins_last(self, before: str, character: str) -> bool:
        """Return whether the character makes the last piece longer, and does nothing else.

        `before` is the end of that piece, of at least `REACH` characters, and of the text.
        """

    def joins_first(self, character: str, after: str) -> bool:
        """Return whether the character makes the first piece longer, and does nothing else."""

    def settled(self, text: str) -> int:
        """Return the last known place where counts add up, however the text goes on; or 0."""

    def appender(self) -> "PieceCounter":
        """Return an empty piece to which text can be appended."""

    def prepender(self) -> "PieceCounter":
        """Return an empty piece in front of which text can be put."""


class PieceCounter(Protocol):
    """A piece that grows character by character, and can be shortened again."""

    def __len__(self) -> int:
        """Return the number of characters."""

    def push(self, text: str) -> None:
        """Add text, in its order."""

    def truncate(self, length: int) -> None:
        """Keep as many characters."""

    def count(self) -> int:
        """Return the number of tokens of the piece."""


class Whole(Protocol):
    """A whole tokenizer, as far as counting and cutting see it."""

    @property
    def longest(self) -> int | None:
        """The most characters that a single token stands for; None if that is not known."""

    @property
    def long_pieces(self) -> LongPieces | None:
        """What is known about long pieces, if anything."""

    def count(self, text: str) -> int:
        """Return the number of tokens of the text alone, without template tokens."""

    @property
    def rest_is_alone(self) -> bool:
        """Whether `count_rest` is `count`."""

    def count_rest(self, text: str) -> int:
        """Return the number of tokens of a text that begins at a safe cut of a longer one."""

    def unbreakable(self, text: str) -> Sequence[Span]:
        """Return the parts of the text that must not be cut: special tokens, surrogate pairs."""

    def is_safe_cut(self, before: str, left: str, right: str) -> bool:
        """Return whether the place between two characters is a safe cut.

        `before` is the character before them; it is empty at the start of a text.
        """


@dataclass(frozen=True)
class CountedFromScratch:
    """A whole tokenizer of which nothing is known but its answers."""

    counts: Callable[[str], int]
    spans: Callable[[str], Sequence[Span]]
    longest: int | None = None
    long_pieces: None = None
    rest_is_alone: bool = True

    def count(self, text: str) -> int:
        """Return the number of tokens of the text alone."""
        return self.counts(text)

    def count_rest(self, text: str) -> int:
        """Return the same: there are no safe cuts at which it would matter."""
        return self.counts(text)

    def unbreakable(self, text: str) -> Sequence[Span]:
        """Return the parts of the text that must not be cut."""
        return self.spans(text)

    def is_safe_cut(self, before: str, left: str, right: str) -> bool:
        """Return False: nothing is known."""
        return False


def _no_spans(_text: str) -> Sequence[Span]:
    return ()


def by_definition(
    count: Callable[[str], int],
    special_spans: Callable[[str], Sequence[Span]] = _no_spans,
    longest: int | None = None,
) -> Whole:
    """Return a whole tokenizer of which nothing is known but its answers.

    `count` gives the number of tokens of a text alone, without template
    tokens; `special_spans` where its special tokens are, in characters of the
    original, in order; `longest` is the most characters that a token stands
    for, if that is known.

    >>> whole = by_definition(lambda text: len(text.split()))
    >>> whole.count("to be or not"), whole.is_safe_cut("o", " ", "b")
    (4, False)
    """
    return CountedFromScratch(count, special_spans, longest)
