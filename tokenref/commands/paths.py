"""What commands read, write and show: options, paths, files written atomically, a progress bar."""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from tokenref.errors import InputError
from tokenref.visible import visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn, TaskID

FOLDER: Final = click.Path(path_type=Path, file_okay=False)
FILE: Final = click.Path(path_type=Path, dir_okay=False)


Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]


def options_as(parameter: str, make: Callable[..., Any], **options: Decorator) -> Decorator:
    """Return a decorator that adds options to a command and gathers their values.

    The command receives `make(...)` as one argument. Options are given by the names of `make`'s
    parameters, which are also theirs.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def gathered(*args: Any, **given: Any) -> Any:
            values = {name: given.pop(name) for name in options}
            return command(*args, **{parameter: make(**values)}, **given)

        decorated: Callable[..., Any] = gathered
        for option in reversed(options.values()):
            decorated = option(decorated)
        return decorated

    return decorate


@contextmanager
def written(path: Path) -> Iterator[None]:
    """Within this context, raise `InputError` if a file cannot be written."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None


def must_be_writable(path: Path) -> None:
    """Raise `InputError` if no file can be written there, before a long run is wasted."""
    if path.exists() and not path.is_file():
        return  # a pipe or a device: only writing shows whether it works
    with written(path), tempfile.TemporaryFile(dir=path.resolve().parent):
        pass


def must_not_overwrite(
    outputs: Mapping[str, Path | None], inputs: Mapping[str, Iterable[str | Path | None]]
) -> None:
    """Raise `InputError` if two outputs are the same file, or one is a file that is read.

    In a folder of fixtures these are all files. In any other folder they are those from which a
    tokenizer may be loaded: results may be kept beside them. A device may take several outputs.
    """
    read = {
        Path(path): option
        for option, paths in inputs.items()
        for path in paths
        if path is not None and os.path.exists(path)  # noqa: PTH110 - False for any text
    }
    options = {path.resolve(): option for path, option in read.items() if path.is_file()}
    for option, path in outputs.items():
        if path is not None and (path.is_file() or not path.exists()):
            for folder, its in read.items():
                if _is_read_in(folder.resolve(), path.resolve()):
                    rule = f"must not be a file that may be read in the folder of {its}"
                    raise InputError(f"{option} {rule}, got {path}")
            first = options.setdefault(path.resolve(), option)
            if first != option:
                raise InputError(f"{first} and {option} must be different files, got {path}")


def _is_read_in(folder: Path, path: Path) -> bool:
    """Return whether a file is read if its folder is what a command is given."""
    from bpe_ref.loading import is_read_in_folders  # here, so that `--version` is quick

    if (folder / "MANIFEST.json").is_file():
        return folder in path.parents
    return folder == path.parent and is_read_in_folders(path.name)


def write(content: bytes, path: Path) -> None:
    """Write a file atomically. Raises `InputError` with this path in the message."""
    from bpe_ref.formats.files import write_atomically  # here, so that `--version` is quick

    with written(path):
        write_atomically(content, path)


_WIDEST: Final = 10_000
"""The width of lines in a file or a pipe, where nothing needs to be truncated."""


def output_console() -> "Console":
    """Return the console for standard output. Only a terminal limits the width of tables.

    With NO_COLOR it writes plain text, also if FORCE_COLOR is set.

    >>> output_console().is_terminal
    False
    """
    from rich.console import Console

    console = Console(force_terminal=False if os.environ.get("NO_COLOR") else None)
    if not console.file.isatty() and "COLUMNS" not in os.environ:
        console.width = _WIDEST
    return console


@contextmanager
def progress_bar(*columns: "ProgressColumn") -> Iterator["Progress"]:
    """Show a progress bar that disappears at the end, on terminals only.

    It writes to a copy of standard error, because what engines write there is kept out of sight.
    Its console can print sentences meanwhile, whether or not it is a terminal.

    >>> with progress_bar() as bar:
    ...     bar.add_task("a test", total=1)
    0
    """
    from rich.console import Console
    from rich.progress import Progress

    with os.fdopen(os.dup(2), "w", encoding="utf-8", errors="replace") as file:
        console = Console(file=file, soft_wrap=True)
        shown = file.isatty()  # not `is_terminal`, which FORCE_COLOR makes true in a log
        with Progress(*columns, console=console, transient=True, disable=not shown) as bar:
            yield bar


def say(sentence: str) -> None:
    """Print a sentence to standard error."""
    click.echo(f"tokenref: {visible(sentence)}", err=True)


SLOW: Final = 5.0
"""Seconds after which a command that waits for a program says so."""


@contextmanager
def said_if_slow(sentence: str) -> Iterator[None]:
    """Print a sentence to standard error if this context takes more than a few seconds."""
    timer = Timer(SLOW, say, [sentence])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def shown_in(bar: "Progress", task: "TaskID") -> Callable[[int], None]:
    """Return what a long function calls with the number of steps that are done.

    >>> with progress_bar() as bar:
    ...     shown_in(bar, bar.add_task("a test", total=3))(2)
    >>> bar.tasks[0].completed
    2
    """
    return lambda done: bar.update(task, completed=done)
