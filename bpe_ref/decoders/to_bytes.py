"""From tokens back to bytes, and from bytes to text.

Decoding is concatenation. Only the last step can fail: a token may hold part
of a character, so the bytes of some tokens need not be UTF-8. What becomes of
bytes that are not is the caller's choice, by Python's names; `decode` replaces by default:

strict
    is an error.
replace
    puts U+FFFD for each maximal part of a character that cannot be one (the
    rule of the WHATWG Encoding Standard, of Unicode 16 section 3.9.6, of Python,
    and of Rust's `from_utf8_lossy`). Information is lost.
ignore, backslashreplace, surrogateescape
    as in Python.
"""

import codecs
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
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
    row = list(in_order(ids))
    if not set(map(type, row)) <= {int}:  # True would pass for 1 as a key
        row = list(map(_whole_number, row))
    try:
        return b"".join(map(vocabulary.tokens.__getitem__, row))
    except KeyError:  # a special token, or none at all
        return b"".join(map(vocabulary.token_bytes, row))


def in_order(ids: Iterable[TokenId]) -> Iterable[TokenId]:
    """Return the ids; raise `ParameterError` for what is not a row of ids.

    >>> in_order({1, 2})
    Traceback (most recent call last):
    bpe_ref.errors.ParameterError: ids must be a sequence of token ids, got {1, 2}
    """
    if not isinstance(ids, Iterable) or isinstance(ids, str | bytes | AbstractSet | Mapping):
        raise ParameterError("ids", ids, "must be a sequence of token ids")
    return ids


def _whole_number(token: object) -> TokenId:
    """Return a whole number as an int; raise `TokenIdError` for anything else."""
    if not isinstance(token, bool):
        try:
            return index(token)  # type: ignore[arg-type]  # whether it has one is the question
        except TypeError:
            pass
    raise TokenIdError(f"token id must be one of this vocabulary's, got {shown(token)}")


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
