"""Read a text file of the user."""

from pathlib import Path
from typing import Final

LARGEST: Final = 64 << 20
"""Bytes of the largest file that is taken."""


class CorpusError(Exception):
    """A text that cannot be used; the sentence names the file."""


def read_text(path: Path) -> tuple[str, int]:
    """Return a file's text and its size in bytes. Raises `CorpusError`.

    >>> read_text(Path("no/such.txt"))
    Traceback (most recent call last):
    tokenref.corpus_files.CorpusError: no/such.txt cannot be read: No such file or directory
    """
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise CorpusError(f"{path} must have at most {LARGEST} bytes, got {size}")
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise CorpusError(f"{path} cannot be read: {error.strerror or error}") from None
    if len(data) > LARGEST:  # a device or a pipe, which has no size
        raise CorpusError(f"{path} must have at most {LARGEST} bytes, it has more")
    if not data:
        raise CorpusError(f"{path} must contain text, got an empty file")
    try:
        return data.decode("utf-8"), len(data)
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path} must be UTF-8, but byte {error.start} is not") from None
