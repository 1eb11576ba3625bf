"""The one shape of each kind of component, and what passes between them.

    text -> added tokens cut out -> normalizer -> pre-tokenizer -> model
         -> truncation -> post-processor -> padding

Each component is a frozen dataclass whose fields are those of the file format,
under the same names; a table in each module maps the format's type names to
the classes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from bpe_ref.aligned_text import AlignedText
from bpe_ref.vocabulary.merges import TokenId

Draw: TypeAlias = Callable[[], float]
"""Returns the next number of a random stream, each from 0 up to and without 1."""


class Normalizer(Protocol):
    """Changes a text."""

    def normalize(self, text: AlignedText) -> AlignedText:
        """Return the normalized text."""

    def normalize_text(self, text: str) -> str:
        """Return the normalized text only: that of `normalize(AlignedText.of(text))`."""


class PreTokenizer(Protocol):
    """Cuts a text into pieces, and may change them."""

    def cut(self, text: AlignedText) -> list[AlignedText]:
        """Return the pieces, none of them empty."""

    def cut_text(self, text: str, at_start: bool = True) -> list[str]:
        """Return the texts of the pieces; `at_start` if the original begins with this text."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a piece: its id, its string, and the bytes of the piece's UTF-8 it covers.

    One that covers no bytes stands for nothing, at the character that `start` is in.
    """

    id: TokenId
    string: str
    start: int
    end: int


class Model(Protocol):
    """Turns a piece into tokens."""

    @property
    def vocab(self) -> Mapping[str, TokenId]:
        """From the string of a token to its id."""

    @property
    def strings(self) -> Mapping[TokenId, str]:
        """From the id of a token to its string."""

    @property
    def ranks_of_tokens(self) -> Mapping[TokenId, float]:
        """From each token that merging makes to its rank; the lower, the earlier."""

    @property
    def drops_merges(self) -> bool:
        """Whether merges are passed over at random, so that `draw` is needed."""

    def tokenize(self, piece: str, draw: Draw | None = None) -> list[Token]:
        """Return the tokens of a piece, in order."""

    def ids(self, piece: str, draw: Draw | None = None) -> list[TokenId]:
        """Return the ids of the tokens of a piece, faster."""

    def steps(self, piece: str) -> list[list[TokenId]]:
        """Return the ids of a piece after each step of the definition, those it starts with first.

        The last ones are those of `ids`. Dropout is left out.
        """


class Decoder(Protocol):
    """Turns the strings of tokens into text, in steps: each maps a list to a list."""

    def decode_chain(self, tokens: Sequence[str]) -> list[str]:
        """Return the new list; the text is its strings joined."""
