"""A Python function as a program under test: the same messages, without a process."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from tokenref.protocol.process import ChannelError


class Function:
    """A function that is given each message as a dict, and returns the answer as one.

    What it raises is a crash of the run that it was asked. There is no time limit: use
    a program for that.

    >>> echo = Function(lambda message: {"id": message["id"], "results": []})
    >>> echo.exchange(b'{"cmd":"run","id":"b1","cases":[]}', lines=1, seconds=0)
    [b'{"id":"b1","results":[]}']
    """

    log = ""
    """There is no standard error of its own."""

    def __init__(self, answer: Callable[[Mapping[str, Any]], Any]) -> None:
        """Take the function."""
        self._answer = answer

    def exchange(self, message: bytes, lines: int, seconds: float) -> list[bytes]:
        """Call the function with each message, and return its answers as lines."""
        return [self._call(msgspec.json.decode(line)) for line in message.splitlines()][:lines]

    def bye(self, message: bytes) -> bool:
        """Do nothing: there is nothing to end."""
        return True

    def end(self) -> None:
        """Do nothing: there is nothing to end."""

    def _call(self, message: Mapping[str, Any]) -> bytes:
        try:
            return msgspec.json.encode(self._answer(message))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a Rust panic is a BaseException
            sentence = f"{type(error).__name__}: {error}"[:300]
        if "id" not in message:
            raise ChannelError(f"it raised {sentence}")
        return msgspec.json.encode({"id": message["id"], "crash": {"msg": sentence}})
