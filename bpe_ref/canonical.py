"""Whether tokens are what their own text encodes to.

Definition
    Token ids are *canonical* if decoding them and encoding the text gives the same ids back. A
    model may emit others; an encoder never does.

By neighbours
    For a vocabulary (one piece, nothing special): every token is one that merging makes, and every
    two neighbours are compatible. For the proof that it is the same answer, see `compatibility` and
    `encoders.backtracking`. So it takes one test for each token, and no encoding.

    For a tokenizer the text is cut first: at special tokens, which must be exactly where the text
    spells one, and into pieces, which must begin and end where tokens do. Each piece must then be
    the token that it is, if the vocabulary takes pieces whole, or else canonical by neighbours.

What this leaves open
    *Text* is encoded with every special token allowed: ids that spell a special token letter by
    letter are not canonical.
    *Bytes that are not UTF-8*: a stretch between special tokens that is no text is encoded as
    `encode_bytes` does.
    *A special id with two names* is the first one.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from bpe_ref.decoders.to_bytes import decode_each, in_order
from bpe_ref.models.byte_bpe import ByteBPE, encode_bytes
from bpe_ref.tokenizer import Tokenizer
from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.compatibility import build_derivations, compatibility
from bpe_ref.vocabulary.merges import TokenId

_BYTES_AS_TEXT = "surrogateescape"  # keeps bytes that are no text, one to one


def is_canonical(of: Vocabulary | Tokenizer, ids: Iterable[TokenId]) -> bool:
    """Return whether these are the ids that their own text encodes to.

    A vocabulary stands for one piece in which nothing is special; special
    tokens are then never canonical. Raises `TokenIdError` for what is not an id
    of the vocabulary, and `ParameterError` for what is not a row of ids.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"aa": 1})
    >>> is_canonical(vocabulary, [1, 1, 0]), is_canonical(vocabulary, [1, 0, 1])
    (True, False)
    """
    row = list(in_order(ids))
    if isinstance(of, Tokenizer):
        contents = [of.decode_bytes([token]) for token in row]  # raises if one is not an id
        row = list(map(int, row))
        if isinstance(of.model, ByteBPE):
            return _matches(of, of.model, row, contents)
        return of.encode(of.decode(row), add_special_tokens=False) == row
    decode_each(of, row)  # raises if one is not an id
    return _neighbours_fit(of, list(map(int, row)))


def _neighbours_fit(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> bool:
    places = vocabulary.remember(build_derivations).places
    compatible = vocabulary.remember(compatibility)
    return all(token in places for token in ids) and all(
        compatible(places[left], places[right]) for left, right in pairwise(ids)
    )


def _matches(
    tokenizer: Tokenizer, model: ByteBPE, ids: list[TokenId], contents: list[bytes]
) -> bool:
    """Return whether the special tokens are where the text has them, and the rest fits between."""
    text = b"".join(contents).decode("utf-8", _BYTES_AS_TEXT)
    start = 0
    for first, last, special in tokenizer.added.cut(text, normalized=False):
        if special is not None:
            if start == len(ids) or ids[start] != special:
                return False
            start += 1
            continue
        stretch = text[first:last]
        end = _reach(contents, start, len(stretch.encode("utf-8", _BYTES_AS_TEXT)))
        if end is None or not _stretch_fits(tokenizer, model, stretch, ids[start:end]):
            return False
        start = end
    return start == len(ids)


def _stretch_fits(tokenizer: Tokenizer, model: ByteBPE, stretch: str, ids: list[TokenId]) -> bool:
    """Return whether ordinary text, or bytes that are none, encode to these ids."""
    vocabulary = model.vocabulary
    if any(token not in vocabulary.tokens for token in ids):
        return False  # a special id whose text is not special here
    data = stretch.encode("utf-8", _BYTES_AS_TEXT)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return encode_bytes(tokenizer, data) == ids
    contents = [vocabulary.tokens[token] for token in ids]
    start = 0
    for piece in map(str.encode, tokenizer.pieces(stretch, special="ordinary")):
        end = _reach(contents, start, len(piece))
        # the bytes are compared too: normalization may have changed them
        if end is None or b"".join(contents[start:end]) != piece:
            return False
        whole = model.whole_token(piece)
        if whole is not None:
            if ids[start:end] != [whole]:
                return False
        elif not _neighbours_fit(vocabulary, ids[start:end]):
            return False
        start = end
    return start == len(ids)


def _reach(contents: list[bytes], start: int, length: int) -> int | None:
    """Return up to which token there are just that many bytes, or None if a token crosses."""
    while length > 0 and start < len(contents):
        length -= len(contents[start])
        start += 1
    return start if length == 0 else None
