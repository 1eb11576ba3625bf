"""The tiktoken format: one token a line, its bytes in base64, a space, its rank.

    IQ== 0
    Ig== 1

The rank column is the rank *and* the id. It is not the line number: ranks may have holes (p50k_base
has no 50256), and lines may be in any order.

What the source leaves open, and what holds here
    *The empty file.* A vocabulary without tokens is refused.
    *Line ends.* LF or CR LF; the last one may be missing; empty lines are skipped, as in tiktoken.
    *Base64.* The standard alphabet, padded, without stray bits: a token has exactly one spelling.
    tiktoken skips foreign characters instead.
    *Numbers.* ASCII digits only, at most 2^32-1, as tiktoken keeps ranks in 32 bits. tiktoken reads
    them with Python's `int`, which also takes `+1`, `1_0` and the digits of other scripts. (In
    tiktoken the rank 2^32-1 means "no merge", so a token with that rank is only found whole there.)
    *Duplicates.* A token or a rank that comes twice is refused. tiktoken keeps the later of two
    equal tokens, and stops at equal ranks.
    *Size.* At most 64 MiB, packed or unpacked; the largest in use has 4 MB.
    *Compression.* A file that begins like gzip is unpacked first, whatever its name; files are
    written plain.

Source: openai/tiktoken 0.14.0, `tiktoken/load.py`, `load_tiktoken_bpe` and `dump_tiktoken_bpe`.
"""

import os
import re
from base64 import b64encode
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping
from io import BytesIO
from typing import Final

from bpe_ref.errors import VocabularyError, VocabularyFileError
from bpe_ref.formats.files import write_file
from bpe_ref.vocabulary.merges import ID_LIMIT

# Possessive (`++`): nothing is ever tried twice, and no state is kept for each line.
_WELL_FORMED: Final = re.compile(rb"(?:[A-Za-z0-9+/]++={0,2}+ [0-9]{1,10}+\n)++")


def parse_tiktoken(content: bytes, source: str) -> dict[bytes, int]:
    r"""Return the tokens in the text of a tiktoken file, each with its rank.

    `source` is what error sentences call the text. Raises `VocabularyFileError`.

    >>> parse_tiktoken(b"YQ== 0\nYWI= 7\n", "example")
    {b'a': 0, b'ab': 7}
    >>> parse_tiktoken(b"YQ== 0\nYWI= +7\n", "example")
    Traceback (most recent call last):
    bpe_ref.errors.VocabularyFileError: example, line 2: a rank must be ASCII digits, got b'+7'
    """
    ranks = _parse_in_bulk(content)
    return _parse_by_line(content, source) if ranks is None else ranks


def write_tiktoken(ranks: Mapping[bytes, int], path: str | os.PathLike[str]) -> None:
    """Write tokens, by rank, in the tiktoken format; `path` then holds all of it or what it held.

    Raises `VocabularyError` for tokens and ranks that the format cannot hold
    and `VocabularyFileError` where the file cannot be written.

    >>> write_tiktoken({b"a": -1}, "example.tiktoken")
    Traceback (most recent call last):
    bpe_ref.errors.VocabularyError: a rank must be a whole number from 0 to 2^32-1, got -1 for b'a'
    """
    _check_writable(ranks)
    in_order = sorted(ranks.items(), key=lambda item: item[1])
    content = b"".join(b"%b %d\n" % (b64encode(token), rank) for token, rank in in_order)
    write_file(content, path)


def _parse_in_bulk(content: bytes) -> dict[bytes, int] | None:
    """Return the tokens of a text in which nothing is wrong or unusual, or None.

    The same as `_parse_by_line` where that raises nothing. Each step is one
    loop in C: a text of 100,000 lines takes a third of the time.
    """
    if not _WELL_FORMED.fullmatch(content):
        return None
    words = content.split()
    encoded = words[0::2]
    try:
        tokens = list(map(a2b_base64, encoded))
    except Base64Error:
        return None
    numbers = list(map(int, words[1::2]))
    ranks = dict(zip(tokens, numbers, strict=True))
    # `a2b_base64` passes over stray bits and padding; encoding again shows them.
    canonical = b"".join(map(b2a_base64, tokens)) == b"\n".join(encoded) + b"\n"
    distinct = len(ranks) == len(tokens) == len(set(numbers))
    return ranks if canonical and distinct and max(numbers) < ID_LIMIT else None


def _parse_by_line(content: bytes, source: str) -> dict[bytes, int]:
    """Return the tokens of a text, line by line; raise `VocabularyFileError` at a bad one."""
    ranks: dict[bytes, int] = {}
    line_of_token: dict[bytes, int] = {}
    line_of_rank: dict[int, int] = {}
    for number, ended in enumerate(BytesIO(content), start=1):
        line = ended.removesuffix(b"\n").removesuffix(b"\r")
        if not line:
            continue
        place = f"{source}, line {number}"
        token, rank = _parse_line(line, place)
        if token in ranks:
            raise VocabularyFileError(
                f"{place}: each token must come once, "
                f"but {_shortened(token)} is also on line {line_of_token[token]}"
            )
        if rank in line_of_rank:
            raise VocabularyFileError(
                f"{place}: each rank must come once, "
                f"but {rank} is also on line {line_of_rank[rank]}"
            )
        ranks[token] = rank
        line_of_token[token] = line_of_rank[rank] = number
    if not ranks:
        raise VocabularyFileError(f"{source} must hold at least one token, it holds none")
    return ranks


def _parse_line(line: bytes, place: str) -> tuple[bytes, int]:
    columns = line.split(b" ")
    if len(columns) != 2:
        raise VocabularyFileError(
            f"{place}: a line must be a token, one space and a rank, got {_shortened(line)}"
        )
    encoded, digits = columns
    token = from_base64(encoded)
    if token is None:
        raise VocabularyFileError(
            f"{place}: a token must be canonical base64, got {_shortened(encoded)}"
        )
    if not token:
        raise VocabularyFileError(f"{place}: a token must have at least one byte, got {token!r}")
    if digits.startswith(b"-") and digits[1:].isdigit():
        raise VocabularyFileError(f"{place}: a rank must not be negative, got {_shortened(digits)}")
    if not digits.isdigit():  # of bytes: only ASCII digits are
        raise VocabularyFileError(f"{place}: a rank must be ASCII digits, got {_shortened(digits)}")
    significant = digits.lstrip(b"0") or b"0"
    # The length first: Python refuses to read thousands of digits.
    if len(significant) > len(str(ID_LIMIT)) or int(significant) >= ID_LIMIT:
        raise VocabularyFileError(
            f"{place}: a rank must be at most 2^32-1, got {_shortened(digits)}"
        )
    return token, int(significant)


def from_base64(encoded: bytes) -> bytes | None:
    """Return what is in base64, if it is padded and without foreign characters and stray bits.

    >>> from_base64(b"YQ=="), from_base64(b"YR=="), from_base64(b"YQ")
    (b'a', None, None)
    """
    try:
        decoded = a2b_base64(encoded)
    except Base64Error:
        return None
    return decoded if b64encode(decoded) == encoded else None


def _shortened(value: bytes) -> str:
    """Return a value as an error sentence shows it: a line may have millions of bytes."""
    shown = 60
    return (
        repr(value) if len(value) <= shown else f"{value[:shown]!r} and {len(value) - shown} more"
    )


def _check_writable(ranks: Mapping[bytes, int]) -> None:
    """Raise `VocabularyError` unless `parse_tiktoken` would return the same tokens."""
    if not ranks:
        raise VocabularyError("a vocabulary must have at least one token, got none")
    token_of: dict[int, bytes] = {}
    for token, rank in ranks.items():
        if type(token) is not bytes or not token:
            raise VocabularyError(f"a token must be at least one byte, got {token!r}")
        if type(rank) is not int or not 0 <= rank < ID_LIMIT:
            raise VocabularyError(
                f"a rank must be a whole number from 0 to 2^32-1, got {rank!r} for {token!r}"
            )
        if rank in token_of:
            raise VocabularyError(
                f"each rank must belong to one token, "
                f"but {rank} is given to {token_of[rank]!r} and to {token!r}"
            )
        token_of[rank] = token
