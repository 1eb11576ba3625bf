"""Read files of the user: a tokenizer, a whole text, or a text line by line."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from bpe_ref import Tokenizer, UnknownVocabularyError, load
from bpe_ref.finding import find, similar_names
from tokenref.errors import InputError, InvalidRunError

LARGEST: Final = 64 << 20
"""Bytes of the largest text that is taken."""


def load_tokenizer(name: str, like: str | None = None, pattern: str | None = None) -> Tokenizer:
    """Return the tokenizer of a name or a file. An error about a name suggests similar ones.

    >>> load_tokenizer("tiny").name
    'tiny'
    """
    try:
        return load(name, like=like, pattern=pattern)
    except UnknownVocabularyError as error:
        if error.uses:
            raise
        from tokenref.fetching import packaged_files

        absent = [each for each in similar_names(name, packaged_files()) if not is_found(each)]
        fetch = f"; to download it: tokenref vocabulary fetch {' or '.join(absent)}" * bool(absent)
        raise UnknownVocabularyError(error.reason + fetch, similar=error.similar) from None


def is_found(name: str) -> bool:
    """Return whether a file of this name is on this machine."""
    with suppress(UnknownVocabularyError):
        return find(name).is_file()
    return False


def read_text(path: Path) -> str:
    """Return the text of a file, which must not be empty. Raises `InputError`.

    >>> read_text(Path("no/such.txt"))
    Traceback (most recent call last):
    tokenref.errors.InputError: no/such.txt cannot be read: No such file or directory
    """
    text = text_of(read_bytes(path), str(path))
    if not text:
        raise InputError(f"{path} must contain text, got an empty file")
    return text


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, but at most one byte more than a text may have."""
    try:
        with path.open("rb") as file:
            return file.read(LARGEST + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None


def text_of(data: bytes, name: str) -> str:
    """Return bytes as text. Raises `InputError` if they are too many or not UTF-8."""
    if len(data) > LARGEST:
        raise InputError(f"{name} must have at most {LARGEST} bytes, it has more")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        marks = ("\ufeff".encode("utf-16-le"), "\ufeff".encode("utf-16-be"))
        looks = "; it begins like UTF-16" if data.startswith(marks) else ""
        raise InputError(f"{name} must be UTF-8, but byte {error.start} is not{looks}") from None


def lines_of(
    path: Path, longest: int, kind: type[Exception] = InvalidRunError
) -> Iterator[tuple[int, bytes]]:
    """Yield number and content of each line, with its end.

    Raises `InputError` if the file cannot be read, and `kind` for a line of more than `longest`
    bytes, which could fill the memory.
    """
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(longest + 1):
                number += 1
                if len(line) > longest:
                    raise kind(f"{path}, line {number}: a line has at most {longest:,} bytes")
                yield number, line
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
