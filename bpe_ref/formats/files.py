"""Read and write vocabulary files: never too much, and never by halves."""

import gc
import os
import sys
from binascii import crc32
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final

from bpe_ref.errors import BpeError, VocabularyFileError

MAXIMUM_SIZE: Final = 64 * 2**20
"""The most bytes that a vocabulary file may have, packed or unpacked."""

_GZIP_MAGIC: Final = b"\x1f\x8b"
_BEGINS_WITH_ALL: Final = b"GGUF"
"""How a file begins that has gigabytes, but all about its tokenizer at the beginning."""

_MANY_OBJECTS: Final = 100_000
"""Searching this many new objects takes longer than counting those that a program has frozen."""


@contextmanager
def no_collection() -> Iterator[None]:
    """Within this context, do not search the growing tables for garbage again and again.

    Afterwards large tables count as old: they are searched when everything is, not before.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if gc.get_count()[0] > _MANY_OBJECTS and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def read_unpacked(path: str | os.PathLike[str]) -> bytes:
    """Return what a vocabulary file holds, unpacked if it is gzip.

    Reads no more than `MAXIMUM_SIZE` bytes and unpacks no more. Of a GGUF file that has more,
    it returns the beginning. Raises `VocabularyFileError`.

    >>> read_unpacked(".")
    Traceback (most recent call last):
    bpe_ref.errors.VocabularyFileError: . cannot be read: Is a directory
    """
    if seen(Path(path).is_fifo):  # opening it would wait for somebody to write
        raise VocabularyFileError(f"{path} cannot be read: it is a pipe and not a file")
    try:
        with Path(path).open("rb") as file:
            too_large = os.fstat(file.fileno()).st_size > MAXIMUM_SIZE
            content = file.read(len(_BEGINS_WITH_ALL))
            if content == _BEGINS_WITH_ALL:  # the rest are weights
                return content + file.read(MAXIMUM_SIZE - len(content))
            content = b"" if too_large else content + file.read(MAXIMUM_SIZE + 1 - len(content))
    except OSError as error:
        raise VocabularyFileError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:  # a path with a NUL in it
        raise VocabularyFileError(f"{path!r} cannot be read: {error}") from error
    if too_large or len(content) > MAXIMUM_SIZE:
        raise VocabularyFileError(f"{path} must have at most {MAXIMUM_SIZE} bytes, it has more")
    return _unpack(content, os.fspath(path)) if content.startswith(_GZIP_MAGIC) else content


def seen(look: Callable[[], bool]) -> bool:
    """Return what looking at a path finds; what cannot be looked at is not there.

    >>> seen(Path(".").is_dir), seen(Path("no such file").exists)
    (True, False)
    """
    try:
        return look()
    except (OSError, ValueError):  # a closed folder; a name with a NUL in it
        return False


@contextmanager
def located(place: str) -> Iterator[None]:
    """Put the place in a file before every error of the block that does not name one.

    >>> with located("x.json: "):
    ...     raise BpeError("no tokens")
    Traceback (most recent call last):
    bpe_ref.errors.VocabularyFileError: x.json: no tokens
    """
    try:
        yield
    except VocabularyFileError:
        raise
    except BpeError as error:
        raise VocabularyFileError(f"{place}{error}") from None


def as_text(content: bytes, source: str) -> str:
    r"""Return the text of a file. Raises `VocabularyFileError` if it is not UTF-8.

    >>> as_text(b"a\xff", "x.txt")
    Traceback (most recent call last):
    bpe_ref.errors.VocabularyFileError: x.txt, byte 1 is not UTF-8
    """
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise VocabularyFileError(f"{source}, byte {error.start} is not UTF-8") from None


def write_atomically(content: bytes, path: str | os.PathLike[str]) -> None:
    """Write a file so that `path` holds all of `content`, or what it held before.

    The bytes go to a new file beside it, which then takes its name: see `replacing`. A link
    stays a link, to the new content; what is not a file (a pipe, /dev/stdout) is
    simply written to. Raises `OSError`, which names `path`, and leaves nothing behind.

    >>> write_atomically(b"", "no such folder/example")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'no such folder/example'
    """
    try:
        final = Path(os.path.realpath(path))
        if final.exists() and not final.is_file():
            final.write_bytes(content)  # for a folder, that is the error
            return
        with replacing(final) as file:
            file.write(content)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


def write_file(content: bytes, path: str | os.PathLike[str]) -> None:
    """Write a file. Raises `VocabularyFileError` where that cannot be."""
    try:
        write_atomically(content, path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise VocabularyFileError(f"{path} cannot be written: {reason}") from error


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new file that takes the name of `path` at the end of the block, if it ends well.

    If it does not, the new file is removed. Where a process is killed, that is done by the next
    one that writes to `path`. Raises `OSError`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "example")
    ...     with replacing(path) as file:
    ...         _ = file.write(b"so")
    ...         is_there = path.exists()
    ...     is_there, path.read_bytes(), len(list(path.parent.iterdir()))
    (False, b'so', 1)
    """
    final = Path(os.path.realpath(path))
    _remove_left_behind(final)
    temporary, file = _new_file(final)
    try:
        with file:
            yield file
            file.flush()
            if sys.platform != "win32":  # while it is locked, so that nobody takes it away
                temporary.replace(final)
        if sys.platform == "win32":  # what is open has to keep its name there
            temporary.replace(final)
    finally:
        temporary.unlink(missing_ok=True)


def _new_file(final: Path) -> tuple[Path, BinaryIO]:
    """Create what will replace a file, locked as long as it is open."""
    while True:
        # Short, so that it fits wherever `final` does; random, so that two writers never meet.
        temporary = final.parent / f"{_beginning(final)}{os.urandom(4).hex()}.tmp"
        file = temporary.open("xb")
        _lock(file, wait=True)
        if temporary.exists():
            return temporary, file
        file.close()  # it was taken for left behind before it was locked


def _remove_left_behind(final: Path) -> None:
    """Remove what writers of this file left when they were killed; a living one has a lock."""
    for path in final.parent.glob(f"{_beginning(final)}????????.tmp"):
        with suppress(OSError):
            if sys.platform == "win32":
                path.unlink()  # which fails as long as it is open
                continue
            with path.open("r+b") as file:
                if _lock(file, wait=False):
                    path.unlink()


def _beginning(final: Path) -> str:
    """Return how the names of all new files begin that are to replace this one."""
    return f".{crc32(os.fsencode(final.name)):08x}"


def _lock(file: BinaryIO, *, wait: bool) -> bool:
    """Lock a file until it is closed; return whether that was possible."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # another has it, or the file system knows no locks
        return False
    return True


def _unpack(content: bytes, source: str) -> bytes:
    """Return what gzip bytes hold, without ever holding more than `MAXIMUM_SIZE` of it."""
    import gzip
    import zlib

    try:
        unpacked = gzip.GzipFile(fileobj=BytesIO(content)).read(MAXIMUM_SIZE + 1)
    except EOFError:
        raise VocabularyFileError(
            f"{source} must be whole, but its gzip data is cut off after {len(content)} bytes"
        ) from None
    except (OSError, zlib.error) as error:
        raise VocabularyFileError(f"{source} must be sound gzip data: {error}") from error
    if unpacked[257:262] == b"ustar":
        raise VocabularyFileError(
            f"{source} must be a tokenizer file, not a tar archive: unpack it"
        )
    if len(unpacked) > MAXIMUM_SIZE:
        raise VocabularyFileError(
            f"{source} must have at most {MAXIMUM_SIZE} bytes unpacked, it has more"
        )
    return unpacked
