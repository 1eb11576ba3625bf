"""The one shape of each kind of component, and what passes between them.

    text -> added tokens cut out -> normalizer -> pre-tokenizer -> model
         -> truncation -> post-processor -> padding

Each component is a frozen dataclass whose fields are those of the file format,
under the same names; a table in each module maps the format's type names to
the classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bpe_ref.aligned_text import AlignedText
from bpe_ref.vocabulary.merges import TokenId


class Normalizer(Protocol):
    """Changes a text."""

    def normalize(self, text: AlignedText) -> AlignedText:
        """Return the normalized text."""


class PreTokenizer(Protocol):
    """Cuts a text into pieces, and may change them."""

    def cut(self, text: AlignedText) -> list[AlignedText]:
        """Return the pieces, none of them empty."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a piece: its id, its string, and the bytes of the piece's UTF-8 it covers."""

    id: TokenId
    string: str
    start: int
    end: int


class Model(Protocol):
    """Turns a piece into tokens."""

    def tokenize(self, piece: str) -> list[Token]:
        """Return the tokens of a piece, in order."""


class Decoder(Protocol):
    """Turns the strings of tokens into text, in steps: each maps a list to a list."""

    def decode_chain(self, tokens: Sequence[str]) -> list[str]:
        """Return the new list; the text is its strings joined."""
