"""Which characters of a text the tokens of a piece stand for.

Definition
    The offsets of a token go from the first character of the text that its first
    byte comes from to the last one that its last byte comes from. Bytes of one
    character share that character.

Source: `into_encoding` and `BytesToCharOffsetConverter` of Hugging Face
tokenizers 0.23.3 (tokenizers/src/tokenizer/pre_tokenizer.rs).

What the source leaves open
    *Positions behind the end of a piece* (see `model`) are taken for bytes of
    the whole text, from its beginning, and where they lie behind that too, they
    stay the numbers they are.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate

from bpe_ref.aligned_text import AlignedText, Span
from bpe_ref.components import Token


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
        if token.end <= size:
            first, last = character_of[token.start], character_of[token.end - 1]
            offsets.append((spans[first][0], spans[last][1]))
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
    # A character begins at each byte that does not continue one.
    starts = (byte & 0xC0 != 0x80 for byte in text.encode())
    return [number - 1 for number in accumulate(starts)]


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
