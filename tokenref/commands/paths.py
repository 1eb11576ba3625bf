"""What commands read, write and show: paths, files written atomically, a progress bar."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from bpe_ref.formats.files import write_atomically

if TYPE_CHECKING:
    from rich.progress import Progress

FOLDER: Final = click.Path(path_type=Path, file_okay=False)
FILE: Final = click.Path(path_type=Path, dir_okay=False)


class InputError(Exception):
    """Something given to a command that cannot be used."""


def must_be_writable(path: Path) -> None:
    """Raise `InputError` if no file can be written there, so that no long run is in vain."""
    if path.exists() and not path.is_file():
        return  # a pipe or a device, which only writing tests
    try:
        with tempfile.TemporaryFile(dir=path.resolve().parent):
            pass
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None


def is_current(content: bytes, path: Path, *, only_check: bool) -> bool:
    """Write a page, or only compare it; return whether the file has this content now.

    Raises `InputError`.
    """
    if not only_check:
        write(content, path)
        return True
    return path.is_file() and path.read_bytes() == content


def write(content: bytes, path: Path) -> None:
    """Write a file atomically. Raises `InputError`, which names this path and no other."""
    try:
        write_atomically(content, path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None


def progress_bar() -> "Progress":
    """Return a bar that is gone in the end. Where nobody watches there is none at all.

    >>> with progress_bar() as bar:
    ...     bar.add_task("a test", total=1)
    0
    """
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    return Progress(console=console, transient=True, disable=not console.is_terminal)
