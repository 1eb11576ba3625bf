"""Find and read files of the user: a tokenizer, a whole text, or a text line by line."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from glob import escape, glob, has_magic
from pathlib import Path
from stat import S_ISREG
from typing import Final

from bpe_ref import Tokenizer, UnknownVocabularyError, load
from bpe_ref.finding import find, similar_names
from tokenref.errors import InputError, InvalidRunError

LARGEST: Final = 64 << 20
"""Bytes of the largest text that is taken."""

_ANY_FOLDERS: Final = re.compile(r"(?:^|(?<=/))\*\*(?:/|$)")
"""The part of a pattern that is any number of folders."""

_ESCAPED: Final = re.compile(r"\[[*?[]\]")
"""A character of a name that `escape` has put in brackets, so that it is not part of a pattern."""


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


def files_named(path: str, option: str, ending: str = "") -> Sequence[Path]:
    """Return the file, those in a folder with this `ending`, or those that match a pattern.

    Those whose names begin with a dot are left out of a folder.
    """
    if not path:
        raise InputError(f"{option} must name a file, got ''")
    is_folder = os.path.isdir(path)  # noqa: PTH112 - False for what may not be seen
    pattern = f"{escape(path)}/**" + f"/*{ending}" * bool(ending) if is_folder else path
    if not is_folder and (os.path.exists(path) or not has_magic(pattern)):  # noqa: PTH110 - as above
        return [Path(path)]
    found = [Path(each) for each in sorted({str(each) for each in _matching(pattern)})]
    if not found:
        raise InputError(f"{option} must name files, but {path!r:.200} has none")
    return found


def _matching(pattern: str) -> Iterator[Path]:
    """Yield the files that match a pattern, and folders that cannot be read.

    `**` is any number of folders, but not links to folders, which may lead to where they are.
    """
    begin, *rest = _ANY_FOLDERS.split(pattern, maxsplit=1)
    if not rest:
        paths = glob(pattern)  # noqa: PTH207 - Path's takes no absolute ones
        yield from filter(_may_be_file, map(Path, paths))
        yield from _closed(Path(pattern))
        return
    for top in glob(begin) if begin else ["."]:  # noqa: PTH207 - as above
        closed: list[OSError] = []
        for folder, names, _ in os.walk(top, onerror=closed.append):
            names[:] = [name for name in names if not name.startswith(".")]
            yield from _matching(f"{escape(folder)}/{rest[0] or '*'}")
        yield from (Path(error.filename) for error in closed)


def _closed(pattern: Path) -> Iterator[Path]:
    """Yield the folders in which `glob` saw nothing, because they cannot be read."""
    for place in (pattern, *pattern.parents):
        if has_magic(_ESCAPED.sub("", place.name)):
            for folder in glob(str(place.parent)):  # noqa: PTH207 - as above
                try:
                    os.scandir(folder).close()
                except PermissionError:
                    yield Path(folder)
                except OSError:  # it is not a folder
                    continue


def _may_be_file(path: Path) -> bool:
    """Return whether this is a file, or cannot be looked at: reading it will say why."""
    try:
        return S_ISREG(path.stat().st_mode)
    except PermissionError:
        return True
    except OSError:  # a link that leads nowhere
        return False
