"""A SentencePiece model of type BPE: its pieces, and what the file says about text.

Definition
    A *piece* is a string with a score and a kind; its id is its place in the
    list. The kinds:

    normal         made by merging; the higher its score, the earlier
    user-defined   found whole in the text before any merge, and never merged
    unused         merged like a normal one, but taken apart again at the end
    unknown        the one piece for what nothing else stands for
    control        stands for no text, `<s>` for instance
    byte           one of the 256 bytes, `<0x00>` to `<0xFF>`

Source: google/sentencepiece, src/sentencepiece_model.proto and
src/model_interface.cc; the wheel 0.2.3 as executed.

What the source leaves open
    *Control, unknown and byte pieces* are never found in text, whatever their
    strings are; ordinary text cannot become `<s>`.
    *Scores* that are no number order nothing; they are refused here. The
    library takes them.
    *More than 64 user-defined pieces of which each is a prefix of the next*:
    the library sees the 64 shortest. Here all of them are seen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from bpe_ref.errors import VocabularyError
from bpe_ref.normalizers.charsmap import Charsmap
from bpe_ref.vocabulary.merges import TokenId

PieceKind: TypeAlias = Literal["normal", "unknown", "control", "user-defined", "unused", "byte"]

SPACE_SYMBOL: Final = "\u2581"
"""What a space is written as in pieces: U+2581, a low block."""

BYTE_PIECES: Final = tuple(f"<0x{byte:02X}>" for byte in range(256))
"""The string of the piece of each byte."""

ORDINARY_KINDS: Final = frozenset({"normal", "user-defined", "unused"})
"""The kinds that stand for their own string."""


@dataclass(frozen=True, slots=True)
class Piece:
    """An entry of the vocabulary."""

    text: str
    score: float = 0.0
    kind: PieceKind = "normal"


@dataclass(frozen=True, slots=True)
class NormalizationRules:
    """What becomes of text before it is cut into pieces; `normalizing` has the steps."""

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


@dataclass(frozen=True, slots=True)
class SpecialPieces:
    """The strings of the pieces that have a part to play. Nothing else tells which ones these are.

    A model need not have any of them but the unknown one, whatever its string.
    """

    bos: str = "<s>"
    eos: str = "</s>"
    pad: str = "<pad>"


@dataclass(frozen=True, eq=False)
class SentencePieceModel:
    """The pieces and the rules. Raises `VocabularyError` for what makes no model.

    >>> pieces = [Piece("<unk>", kind="unknown"), Piece("a"), Piece("aa", -1.0)]
    >>> model = SentencePieceModel(pieces)
    >>> model.ordinary["aa"], model.unknown_id
    (2, 0)
    """

    pieces: Sequence[Piece]
    normalization: NormalizationRules = NormalizationRules()
    denormalization: NormalizationRules | None = None
    """What becomes of decoded text; None leaves it as it is."""

    byte_fallback: bool = False
    """Whether a character that no piece stands for becomes the pieces of its bytes."""

    unknown_surface: str = " \u2047 "
    """What the unknown piece decodes to."""

    special: SpecialPieces = SpecialPieces()

    ids: Mapping[str, TokenId] = field(init=False, repr=False)
    """The ids of all pieces by their strings; no two pieces have the same."""

    ordinary: Mapping[str, TokenId] = field(init=False, repr=False)
    """The ids of those that merging can make: normal, user-defined and unused."""

    unknown_id: TokenId = field(init=False, repr=False)

    frozen_lengths: Mapping[str, Sequence[int]] = field(init=False, repr=False)
    """By first character, the lengths of the user-defined pieces, longest first."""

    frozen: frozenset[str] = field(init=False, repr=False)
    """The user-defined pieces."""

    def __post_init__(self) -> None:
        """Check the pieces and fill in what follows from them."""
        ids: dict[str, TokenId] = {}
        for token, piece in enumerate(self.pieces):
            _check(piece, token)
            if piece.text in ids:
                raise VocabularyError(
                    f"piece {token} must have a string of its own, "
                    f"but {piece.text!r:.80} is also piece {ids[piece.text]}"
                )
            ids[piece.text] = token
        unknown = [token for token, piece in enumerate(self.pieces) if piece.kind == "unknown"]
        if len(unknown) != 1:
            raise VocabularyError(f"a model must have one unknown piece, it has {len(unknown)}")
        self._check_bytes()
        ordinary = {
            text: token for text, token in ids.items() if self.pieces[token].kind in ORDINARY_KINDS
        }
        frozen = frozenset(piece.text for piece in self.pieces if piece.kind == "user-defined")
        object.__setattr__(self, "ordinary", ordinary)
        object.__setattr__(self, "ids", ids)
        object.__setattr__(self, "unknown_id", unknown[0])
        object.__setattr__(self, "frozen", frozen)
        object.__setattr__(self, "frozen_lengths", _lengths(frozen))

    def _check_bytes(self) -> None:
        """Raise `VocabularyError` unless there are all byte pieces with fallback, else none."""
        found = {piece.text for piece in self.pieces if piece.kind == "byte"}
        if found and not self.byte_fallback:
            raise VocabularyError("a model without byte_fallback must have no byte pieces")
        if self.byte_fallback and len(found) < len(BYTE_PIECES):
            raise VocabularyError(
                f"a model with byte_fallback must have 256 byte pieces, it has {len(found)}"
            )

    def id_of(self, text: str) -> TokenId:
        """Return the id of a piece by its string; that of the unknown piece where there is none.

        >>> SentencePieceModel([Piece("?", kind="unknown"), Piece("a")]).id_of("b")
        0
        """
        return self.ids.get(text, self.unknown_id)

    def id_of_symbol(self, symbol: str) -> TokenId:
        """Return the id of what merging ends with: a normal or user-defined piece, or unknown.

        >>> model = SentencePieceModel([Piece("?", kind="unknown"), Piece("a", kind="unused")])
        >>> model.id_of_symbol("a")
        0
        """
        token = self.ordinary.get(symbol, self.unknown_id)
        return self.unknown_id if self.pieces[token].kind == "unused" else token

    def control_id(self, text: str) -> TokenId | None:
        """Return the id of a control piece by its string, or None if it is no control piece."""
        token = self.id_of(text)
        return token if self.pieces[token].kind == "control" else None

    def frozen_at(self, text: str, start: int) -> int:
        """Return the length of the longest user-defined piece that starts there, or 0.

        >>> model = SentencePieceModel(
        ...     [Piece("?", kind="unknown"), Piece("ab", kind="user-defined")]
        ... )
        >>> model.frozen_at("cab", 1), model.frozen_at("cab", 2)
        (2, 0)
        """
        for length in self.frozen_lengths.get(text[start], ()):
            found = text[start : start + length]  # shorter at the end of the text
            if found in self.frozen:
                return len(found)
        return 0


def _check(piece: Piece, token: TokenId) -> None:
    """Raise `VocabularyError` for a piece that cannot be one."""
    if not piece.text:
        raise VocabularyError(f"piece {token} must not be empty")
    if "\0" in piece.text:
        raise VocabularyError(f"piece {token} must not hold U+0000, got {piece.text!r:.80}")
    if piece.score != piece.score:  # so only what is not a number is
        raise VocabularyError(f"the score of piece {token} must be a number, got {piece.score}")
    if piece.kind == "byte" and piece.text not in BYTE_PIECES:
        raise VocabularyError(
            f"piece {token} must be a byte from <0x00> to <0xFF>, got {piece.text!r:.80}"
        )


def _lengths(frozen: frozenset[str]) -> dict[str, list[int]]:
    """Return, by first character, the lengths there are, longest first."""
    lengths: dict[str, set[int]] = {}
    for text in frozen:
        lengths.setdefault(text[0], set()).add(len(text))
    return {first: sorted(found, reverse=True) for first, found in lengths.items()}
