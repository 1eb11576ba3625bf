"""A text to tokens with their origins: steps 1 to 5 of `pipeline`, by the definition.

Definition
    1. Added tokens are cut out of the text as it is.
    2. Each stretch between them is normalized.
    3. Added tokens are cut out of what came of it.
    4. Each stretch between is cut into pieces by the pre-tokenizer.
    5. The model turns each piece into tokens.

Source, and what it leaves open: see `pipeline`.
"""

from collections.abc import Sequence
from typing import TypeAlias

from bpe_ref.added_tokens import AddedVocabulary
from bpe_ref.aligned_text import AlignedText, Span
from bpe_ref.components import Token
from bpe_ref.encoding import Encoding
from bpe_ref.hugging_face.piece_offsets import offsets_of
from bpe_ref.models.bpe import BPE
from bpe_ref.models.merging import Draw
from bpe_ref.normalizers.sequence import Step
from bpe_ref.pre_tokenizers.sequence import PreTokenizer
from bpe_ref.vocabulary.merges import TokenId

Piece: TypeAlias = tuple[AlignedText, TokenId | None]
"""A piece of a text; of an added token also the id."""


def pieces_of(
    text: str,
    added: AddedVocabulary,
    normalizer: Step | None,
    pre_tokenizer: PreTokenizer | None,
    *,
    special_as_text: bool = False,
) -> list[Piece]:
    """Return the pieces of a text in order: steps 1 to 4.

    >>> added = AddedVocabulary([], {})
    >>> [(piece.text, token) for piece, token in pieces_of("ab", added, None, None)]
    [('ab', None)]
    """
    pieces: list[Piece] = []
    for stretch, token in _stretches(
        added, AlignedText.of(text), as_text=special_as_text, normalized=False
    ):
        if token is not None:
            pieces.append((stretch, token))
            continue
        changed = stretch if normalizer is None else normalizer.normalize(stretch)
        for part, inner in _stretches(added, changed, as_text=special_as_text, normalized=True):
            if inner is not None or pre_tokenizer is None:
                pieces.append((part, inner))
            else:
                pieces += [(piece, None) for piece in pre_tokenizer.cut(part)]
    return pieces


def encode_pieces(
    model: BPE,
    pieces: Sequence[Piece],
    original: str,
    type_id: int,
    word: int | None = None,
    draw: Draw | None = None,
) -> Encoding:
    """Return the tokens of pieces: step 5. All are of one word, if that is given.

    >>> model = BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")])
    >>> encode_pieces(model, [(AlignedText.of("aba"), None)], "aba", 0).offsets
    ((0, 2), (2, 3))
    """
    rows: list[tuple[TokenId, str, Span, int | None]] = []
    for number, (piece, added) in enumerate(pieces):
        if added is not None:
            tokens = [Token(added, piece.text, 0, len(piece.text.encode()))]
        else:
            tokens = model.tokenize(piece.text, draw)
        spans = offsets_of(piece, tokens, original)
        rows += [
            (token.id, token.string, span, number if word is None else word)
            for token, span in zip(tokens, spans, strict=True)
        ]
    return Encoding.of(rows, type_id)


def _stretches(
    added: AddedVocabulary, text: AlignedText, *, as_text: bool, normalized: bool
) -> list[Piece]:
    """Return the added tokens in a text, and what is between them."""
    if not added.has(normalized=normalized):
        return [(text, None)] if text.text else []
    cuts = added.cut(text.text, normalized=normalized, special_as_text=as_text)
    return [(text.slice(start, stop), token) for start, stop, token in cuts]
