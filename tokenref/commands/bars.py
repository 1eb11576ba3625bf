"""A bar on standard error that shows how far a command is."""

from rich.console import Console
from rich.progress import Progress


def progress_bar() -> Progress:
    """Return a bar that is gone in the end. Where nobody watches there is none at all.

    >>> with progress_bar() as bar:
    ...     bar.add_task("a test", total=1)
    0
    """
    console = Console(stderr=True)
    return Progress(console=console, transient=True, disable=not console.is_terminal)
