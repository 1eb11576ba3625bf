"""Whether tokens are what their own text encodes to.

Definition
    Token ids are *canonical* if decoding them and encoding the text gives the same ids back. A
    model may emit others; an encoder never does.

By neighbours
    For a vocabulary (one piece, nothing special): every token is one that merging makes, and every
    two neighbours are compatible. For the proof that it is the same answer, see `compatibility` and
    `encoders.backtracking`. So it takes one test for each token, and no encoding.

    The ids of a tokenizer are decoded and encoded again.

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
from bpe_ref.errors import SymbolError
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
        data = of.decode_bytes(row)  # raises if one is not an id
        row = list(map(int, row))
        if isinstance(of.model, ByteBPE):
            return _encoded(of, data) == row
        return of.encode(of.decode(row), add_special_tokens=False) == row
    decode_each(of, row)  # raises if one is not an id
    return _neighbours_fit(of, list(map(int, row)))


def _neighbours_fit(vocabulary: Vocabulary, ids: Sequence[TokenId]) -> bool:
    places = vocabulary.remember(build_derivations).places
    compatible = vocabulary.remember(compatibility)
    return all(token in places for token in ids) and all(
        compatible(places[left], places[right]) for left, right in pairwise(ids)
    )


def _encoded(tokenizer: Tokenizer, data: bytes) -> list[TokenId] | None:
    """Return the ids of text, or of bytes that are none; None if a byte has no token."""
    text = data.decode("utf-8", _BYTES_AS_TEXT)
    ids: list[TokenId] = []
    for start, stop, special in tokenizer.added.cut(text, normalized=False):
        if special is not None:
            ids.append(special)
            continue
        try:
            ids += encode_bytes(tokenizer, text[start:stop].encode("utf-8", _BYTES_AS_TEXT))
        except SymbolError:
            return None
    return ids
