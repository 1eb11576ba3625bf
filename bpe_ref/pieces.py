"""From a text to pieces, and from pieces to tokens with their offsets: the definition.

Definition
    1. Added tokens are cut out of the text as it is.
    2. Each stretch between them is normalized.
    3. Added tokens are cut out of the normalized stretch.
    4. Each stretch between them is cut into pieces by the pre-tokenizer.
    5. The model turns each piece into tokens.

    The offsets of a token go from the first character of the text that its first
    byte comes from to the last one that its last byte comes from. Bytes of one
    character share that character. A token that covers no bytes has empty offsets, at the
    character where it begins.

Source: `TokenizerImpl`, `into_encoding` and `BytesToCharOffsetConverter` of Hugging Face
tokenizers 0.23.3 (tokenizers/src/tokenizer/mod.rs, pre_tokenizer.rs).

What the source leaves open
    *Positions behind the end of a piece* (see `models.bpe`) are taken for bytes of
    the whole text, from its beginning, and where they lie behind that too, they
    stay the numbers they are.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final, TypeAlias

from bpe_ref.added_tokens import RECOGNISE_ALL, AddedVocabulary, Treatment
from bpe_ref.aligned_text import AlignedText, Span
from bpe_ref.components import Draw, Model, Normalizer, PreTokenizer, Token
from bpe_ref.encoding import Encoding
from bpe_ref.vocabulary.merges import TokenId

Piece: TypeAlias = tuple[AlignedText, TokenId | None]
"""A piece of a text; of an added token also the id."""

BEGINS: Final = bytes(byte & 0xC0 != 0x80 for byte in range(256))
"""For each byte 1 if a character begins with it, 0 if it continues one."""


def pieces_of(
    text: str,
    added: AddedVocabulary,
    normalizer: Normalizer | None,
    pre_tokenizer: PreTokenizer | None,
    treatment: Treatment = RECOGNISE_ALL,
) -> list[Piece]:
    """Return the pieces of a text in order: steps 1 to 4.

    >>> added = AddedVocabulary([])
    >>> [(piece.text, token) for piece, token in pieces_of("ab", added, None, None)]
    [('ab', None)]
    """
    pieces: list[Piece] = []
    treatment.check(text)
    for stretch, token in _stretches(added, AlignedText.of(text), treatment, normalized=False):
        if token is not None:
            pieces.append((stretch, token))
            continue
        changed = stretch if normalizer is None else normalizer.normalize(stretch)
        for part, inner in _stretches(added, changed, treatment, normalized=True):
            if inner is not None or pre_tokenizer is None:
                pieces.append((part, inner))
            else:
                pieces += [(piece, None) for piece in pre_tokenizer.cut(part)]
    return pieces


def encode_pieces(
    model: Model,
    pieces: Sequence[Piece],
    original: str,
    type_id: int,
    word: int | None = None,
    draw: Draw | None = None,
) -> Encoding:
    """Return the tokens of pieces: step 5. All are of one word, if that is given.

    >>> from bpe_ref.models.bpe import BPE
    >>> model = BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")])
    >>> encode_pieces(model, [(AlignedText.of("aba"), None)], "aba", 0).offsets
    ((0, 2), (2, 3))
    """
    ids: list[TokenId] = []
    strings: list[str] = []
    offsets: list[Span] = []
    words: list[int] = []
    for number, (piece, added) in enumerate(pieces):
        if added is not None:
            tokens = [Token(added, piece.text, 0, len(piece.text.encode()))]
        else:
            tokens = model.tokenize(piece.text, draw)
        ids += [id_ for id_, _, _, _ in tokens]
        strings += [string for _, string, _, _ in tokens]
        offsets += offsets_of(piece, tokens, original)
        words += [number if word is None else word] * len(tokens)
    return Encoding.of_columns(ids, strings, offsets, words, type_id=type_id)


def _stretches(
    added: AddedVocabulary, text: AlignedText, treatment: Treatment, *, normalized: bool
) -> list[Piece]:
    """Return the added tokens in a text, and what is between them."""
    if not added.has(normalized=normalized):
        return [(text, None)] if text.text else []
    cuts = added.cut(text.text, normalized=normalized, treatment=treatment)
    return [(text.slice(start, stop), token) for start, stop, token in cuts]


def offsets_of(piece: AlignedText, tokens: Iterable[Token], original: str) -> list[Span]:
    """Return the characters of the original that the tokens of a piece stand for.

    >>> offsets_of(AlignedText.of("éa"), [Token(0, "?", 1, 2), Token(1, "a", 2, 3)], "éa")
    [(0, 1), (1, 2)]
    """
    spans = piece.spans
    character_of = character_of_byte(piece.text)
    size = len(character_of)
    offsets: list[Span] = []
    for token in tokens:
        _, _, start, end = token
        if start == end:
            place = spans[character_of[start]][0]
            offsets.append((place, place))
        elif end <= size:
            offsets.append((spans[character_of[start]][0], spans[character_of[end - 1]][1]))
        else:
            offsets.append(_behind_the_end(token, original))
    return offsets


def character_of_byte(text: str) -> Sequence[int]:
    """Return for each byte of the text's UTF-8 the number of its character.

    >>> character_of_byte("éa")
    [0, 0, 1]
    """
    if text.isascii():
        return range(len(text))
    return list(accumulate(text.encode().translate(BEGINS), initial=-1))[1:]


def _behind_the_end(token: Token, original: str) -> Span:
    """Return the offsets of a token of which the piece has not enough bytes."""
    character_of = character_of_byte(original)
    size = len(character_of)
    if token.start >= size:
        return token.start, token.end
    start = character_of[token.start]
    if token.end < size:
        return start, character_of[token.end]
    return start, (character_of[token.end - 1] if token.end == size else start + 1) + 1
