"""What messages go through: the pipes of a child process, or a function."""

from typing import Protocol


class Channel(Protocol):
    """A program under test that is running."""

    @property
    def log(self) -> str:
        """The end of what it wrote to standard error."""

    def exchange(self, message: bytes, lines: int, seconds: float) -> list[bytes]:
        """Send lines, and return so many lines, or more. Raises `ChannelError`, `LateError`."""

    def bye(self, message: bytes) -> bool:
        """Send the last message and end the program; tell whether it ended by itself."""

    def end(self) -> None:
        """End the program now."""
