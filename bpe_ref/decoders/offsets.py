"""Where in the decoded text each token starts.

    A token's offset is the number of characters that start before it in the
    text. A token that begins inside a character has that character's offset.

Source: openai/tiktoken 0.14.0, `Encoding.decode_with_offsets` (tiktoken/core.py).
A character starts at every byte that is not a continuation byte (0x80 to 0xBF).

What the source leaves open
    *Bytes that are not UTF-8* have no offsets: they are an error.
    *A token without bytes* does not exist in a vocabulary.
"""

from collections.abc import Iterable

from bpe_ref.decoders.to_bytes import bytes_to_text, decode_bytes, in_order
from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.merges import TokenId


def decode_with_offsets(vocabulary: Vocabulary, ids: Iterable[TokenId]) -> tuple[str, list[int]]:
    r"""Return the text of the tokens, and for each token the character it starts at.

    Raises `TokenIdError` for what is not an id of this vocabulary, and
    `DecodingError` if the bytes are not UTF-8.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a\xe2": 0, b"\x82\xac": 1, b"b": 2})
    >>> decode_with_offsets(vocabulary, [0, 1, 2])
    ('a€b', [0, 1, 2])
    """
    contents = decode_each(vocabulary, ids)
    offsets: list[int] = []
    characters = 0
    for content in contents:
        # max: a text that begins inside a character is refused below, with its own sentence
        offsets.append(max(0, characters - _continues(content[0])))
        characters += sum(not _continues(byte) for byte in content)
    return bytes_to_text(b"".join(contents), "strict"), offsets


def decode_each(vocabulary: Vocabulary, ids: Iterable[TokenId]) -> list[bytes]:
    """Return the bytes of each token. Raises `TokenIdError`.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> decode_each(vocabulary_by_concatenation({b"a": 0, b"bc": 1}), [1, 0])
    [b'bc', b'a']
    """
    return [decode_bytes(vocabulary, [token]) for token in in_order(ids)]


def _continues(byte: int) -> bool:
    return byte & 0b1100_0000 == 0b1000_0000
