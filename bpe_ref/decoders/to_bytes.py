"""From tokens back to bytes, and from bytes to text.

Decoding is concatenation. Only the last step can fail: a token may hold part of a character, so the
bytes of some tokens need not be UTF-8. What becomes of bytes that are not is the caller's choice,
by Python's names; `decode` replaces by default:

strict
    is an error.
replace
    puts U+FFFD for each maximal part of a character that cannot be one (the rule of the WHATWG
    Encoding Standard, of Unicode 16 section 3.9.6, of Python, and of Rust's `from_utf8_lossy`).
ignore, backslashreplace, surrogateescape
    as in Python.

Offsets
    A token's offset is the number of characters that start before it in the text. A token that
    begins inside a character has that character's offset. A character starts at every byte that is
    not a continuation byte (0x80 to 0xBF). Bytes that are not UTF-8 have no offsets: they are an
    error.

Source of offsets: openai/tiktoken 0.14.0, `Encoding.decode_with_offsets` (tiktoken/core.py).
"""

import codecs
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from operator import index

from bpe_ref.errors import DecodingError, ParameterError, TokenIdError, shown
from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.merges import TokenId


def decode_bytes(vocabulary: Vocabulary, ids: Iterable[TokenId]) -> bytes:
    """Return the bytes of the tokens, one after the other.

    Ids are ints, or other whole numbers such as numpy's. Raises `TokenIdError`
    for anything that is not an id of this vocabulary, and `ParameterError` for
    what has no order or is not a row of ids at all.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> decode_bytes(vocabulary_by_concatenation({b"a": 0, b"b": 1}), [1, 0, 1])
    b'bab'
    """
    return b"".join(decode_each(vocabulary, ids))


def in_order(ids: Iterable[TokenId]) -> Iterable[TokenId]:
    """Return the ids; raise `ParameterError` for what is not a row of ids.

    >>> in_order({1, 2})
    Traceback (most recent call last):
    bpe_ref.errors.ParameterError: ids must be a sequence of token ids, got {1, 2}
    """
    if not isinstance(ids, Iterable) or isinstance(ids, str | bytes | AbstractSet | Mapping):
        raise ParameterError("ids", ids, "must be a sequence of token ids")
    return ids


def as_id(token: object) -> TokenId:
    """Return an id of any whole type as an int; raise `TokenIdError` for anything else.

    >>> as_id(True)
    Traceback (most recent call last):
    bpe_ref.errors.TokenIdError: a token id must be an integer, got True
    """
    if not isinstance(token, bool):
        with suppress(TypeError):
            return index(token)  # type: ignore[arg-type]  # whether it has one is the question
    raise TokenIdError(f"a token id must be an integer, got {shown(token)}")


def bytes_to_text(data: bytes, errors: str) -> str:
    r"""Return the text that the bytes are in UTF-8.

    Raises `DecodingError` if they are not UTF-8 and `errors` is "strict", and
    `ParameterError` for an `errors` that nobody knows.

    >>> bytes_to_text(b"\xe4\xbd\xffa", "replace")
    '\ufffd\ufffda'
    """
    if errors != "strict":
        try:
            codecs.lookup_error(errors)
        except (LookupError, TypeError, ValueError):  # half a surrogate pair is a ValueError
            raise ParameterError(
                "errors", errors, 'must be "strict", "replace" or another of Python\'s handlers'
            ) from None
    try:
        return data.decode("utf-8", errors=errors)
    except UnicodeDecodeError as error:
        raise DecodingError(
            f"the tokens' bytes must be UTF-8 to decode strictly, "
            f"but byte {error.start} (0x{data[error.start]:02X}) is not: {error.reason}"
        ) from None


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
    return [vocabulary.token_bytes(as_id(token)) for token in in_order(ids)]


def _continues(byte: int) -> bool:
    return byte & 0b1100_0000 == 0b1000_0000
