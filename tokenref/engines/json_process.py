"""An engine that reads a tokenizer.json, in a process of its own.

Some of these engines end their process: a stack that overflows cannot be caught. So this module
also runs as a program (`python -m tokenref.engines.json_process MODULE:CLASS`), which `Isolated`
starts, and starts again after a crash. It reads calls from standard input and writes what they
return, a line of JSON each.
"""

import json
import os
import sys
from importlib import import_module
from itertools import count
from typing import Any, Final

from tokenref.answers import Engine, Unsupported
from tokenref.engines.child import Child
from tokenref.engines.json_files import CrashError, JsonEngine

_KEPT: Final = 4
"""How many tokenizers the process keeps open."""

_LONGEST: Final = 60.0
"""How many seconds a call may take."""

_MESSAGE: Final = 2000
"""How many characters of an exception's message are reported."""


def isolated(engine: Engine) -> Engine:
    """Return the engine, in a process of its own if it reads a tokenizer.json.

    >>> from tokenref.engines.reference import ReferenceEngine
    >>> isolated(ReferenceEngine()).name
    'reference'
    """
    return Isolated(engine) if isinstance(engine, JsonEngine) else engine


def _forwarded(method: str) -> Any:
    """Return a method that calls the engine's, in its process."""

    def forwarded(isolated: "Isolated", tokenizer: Any, *given: Any, **named: bool) -> Any:
        return isolated.call(tokenizer, method, *given, **named)

    return forwarded


class Isolated(JsonEngine):
    """An engine in a process of its own."""

    def __init__(self, engine: JsonEngine) -> None:
        super().__init__(engine.version)
        self.name = engine.name
        self.refusals = engine.refusals
        self.longest = engine.longest
        self.ends_lines = engine.ends_lines
        variables = {"RUST_BACKTRACE": "0"}
        self.child = Child(*engine.command(), seconds=_LONGEST, variables=variables)
        self._keys = count()
        self._open: list[int] = []

    def open(self, content: bytes) -> "tuple[int, bytes]":
        """Return the content with a key, once the engine has read it."""
        tokenizer = next(self._keys), content
        self.call(tokenizer, "open")
        return tokenizer

    encode, encode_pair = _forwarded("encode"), _forwarded("encode_pair")
    decode, text = _forwarded("decode"), _forwarded("text")

    def call(self, tokenizer: "tuple[int, bytes]", method: str, *given: Any, **named: bool) -> Any:
        """Call a method, and raise what it raises."""
        key, content = tokenizer
        kept = self._open if self.child.is_running else []
        is_new = key not in kept
        self._open = [*kept[-_KEPT + 1 :], key] if is_new else kept
        file = content.decode("latin-1") if is_new else None  # whatever bytes it has
        call = [self._open, key, file, method, given, named]
        raised, is_panic, found = self.child.ask(call)
        if raised:  # under its own name, which is reported
            raise type(raised, (CrashError if is_panic else Exception,), {})(found)
        return _returned(found)


def _plain(returned: Any) -> Any:
    """Return what a method returned, as JSON can have it.

    >>> [_returned(_plain(each)) for each in ([1, 2], "a", b"a", None, Unsupported("no"))]
    [[1, 2], 'a', b'a', None, Unsupported(reason='no')]
    """
    if isinstance(returned, bytes):
        return {"bytes": returned.hex()}
    return {"unsupported": returned.reason} if isinstance(returned, Unsupported) else returned


def _returned(plain: Any) -> Any:
    if not isinstance(plain, dict):
        return plain
    return bytes.fromhex(plain["bytes"]) if "bytes" in plain else Unsupported(plain["unsupported"])


def main() -> None:
    """Answer calls until the input ends."""
    module, _, adapter = sys.argv[1].partition(":")
    engine: JsonEngine = getattr(import_module(module), adapter)("")
    calls, results = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the engine prints is no result
    tokenizers: dict[int, Any] = {}
    for line in calls:
        kept, key, content, method, given, named = json.loads(line)
        tokenizers = {each: tokenizers[each] for each in kept if each in tokenizers}
        try:
            if key not in tokenizers:
                tokenizers[key] = engine.open(content.encode("latin-1"))
            returned = None
            if method != "open":
                returned = getattr(engine, method)(tokenizers[key], *given, **named)
            answer: tuple[str, bool, Any] = "", False, _plain(returned)
        except BaseException as error:  # noqa: BLE001 - a Rust panic is a BaseException
            is_panic = not isinstance(error, Exception)
            answer = type(error).__name__, is_panic, str(error)[:_MESSAGE]
        results.write(json.dumps(answer).encode() + b"\n")
        results.flush()


if __name__ == "__main__":
    main()
