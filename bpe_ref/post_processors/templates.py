"""What a template is made of: the texts that went in, and special tokens between them.

Definition
    A template is a row of pieces. A piece is one of the two texts, `A` or `B`, or the name of a
    special token, which the template's own table spells out as one or more tokens. Each piece
    says which type id its tokens get.

    Written as a string, pieces are separated by single spaces. `$A` and `$B` are the texts, `$`
    is `$A`, and `$3` is `$A` with type id 3. Everything else names a special token. After a colon
    stands the type id, which is 0 where there is none: `[CLS] $A:0 [SEP] $B:1 [SEP]:1`.

Source: processors/template.rs of Hugging Face tokenizers 0.23.3.

What the source leaves open, and what it does unexpectedly
    - Two spaces in a row name the special token of no letters, "".
    - No name can hold a colon or a space in a string, nor start with `$`; in a file any can.
    - The numbers are read as Rust reads them: `$+3` is `$3`.
    - `$a` and `$b` are texts as well.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bpe_ref.errors import VocabularyError
from bpe_ref.vocabulary.merges import TokenId

_NUMBER = re.compile(r"\+?[0-9]+")
_TEXTS = {"": "A", "A": "A", "a": "A", "B": "B", "b": "B"}


@dataclass(frozen=True)
class SequencePiece:
    """One of the texts: `id` is "A" or "B"."""

    id: str
    type_id: int = 0

    def __post_init__(self) -> None:
        """Check the text's name."""
        if self.id not in {"A", "B"}:
            raise VocabularyError(f"a template's sequence must be A or B, got {self.id!r}")


@dataclass(frozen=True)
class SpecialPiece:
    """A special token, by its name in the template's table."""

    id: str
    type_id: int = 0


@dataclass(frozen=True)
class SpecialToken:
    """What a name stands for: as many ids as token strings."""

    id: str
    ids: tuple[TokenId, ...]
    tokens: tuple[str, ...]

    def __post_init__(self) -> None:
        """Check that there are as many."""
        if len(self.ids) != len(self.tokens):
            raise VocabularyError(
                f"a template's special token must have as many ids as tokens, "
                f"got {len(self.ids)} and {len(self.tokens)} for {self.id!r}"
            )


Piece = SequencePiece | SpecialPiece


def parse_template(template: str | Sequence[str]) -> tuple[Piece, ...]:
    """Return the pieces of a template that is written as a string, or as one string per piece.

    Raises `VocabularyError` for a piece that cannot be read.

    >>> parse_template("[CLS] $B:1")
    (SpecialPiece(id='[CLS]', type_id=0), SequencePiece(id='B', type_id=1))
    """
    return tuple(map(parse_piece, template.split(" ") if isinstance(template, str) else template))


def parse_piece(text: str) -> Piece:
    """Return the piece that a string stands for.

    >>> parse_piece("$2")
    SequencePiece(id='A', type_id=2)
    """
    name, colon, number = text.partition(":")
    type_id = _number(number) if colon else None
    if colon and type_id is None:
        raise VocabularyError(f"a template's type id must be a number of 32 bits, got {text!r}")
    if not name.startswith("$"):
        return SpecialPiece(name, type_id or 0)
    if name[1:] in _TEXTS:
        return SequencePiece(_TEXTS[name[1:]], type_id or 0)
    default = _number(name[1:])
    if default is None:
        raise VocabularyError(f"a template's sequence must be $A, $B or $NUMBER, got {text!r}")
    return SequencePiece("A", default if type_id is None else type_id)


def _number(text: str) -> int | None:
    """Return the number of 32 bits that Rust reads in a text."""
    if not _NUMBER.fullmatch(text):
        return None
    digits = text.lstrip("+").lstrip("0") or "0"
    return int(digits) if len(digits) <= 10 and int(digits) < 1 << 32 else None
