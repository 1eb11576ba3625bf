"""All questions that are one step smaller than a question.

A request is plain JSON, so it is made smaller by what it consists of: texts and
lists lose a half, a quarter, ... one entry; characters become `a`; numbers go
towards 0; what may be absent goes. Whether the result still makes sense, and
still fails, is for others to say. What is made is tried boldest first.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from tokenref.floats import TYPES
from tokenref.fuzzing.smaller_rows import smaller_sampling

_Cut = TypeVar("_Cut", str, bytes, list[Any])

HEXADECIMAL: Final = frozenset({"bytes", "push", "pushes", "before", "unit", "after"})
"""Keys whose strings are bytes."""

OPTIONAL: Final = frozenset({"pair", "uniforms", "state"})
"""Keys that a request may do without."""

PLAIN: Final = ("a", " ", "0")
"""What a character is replaced by, the plainest first."""


def smaller_requests(op: str, request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield requests that are one step smaller, boldest first. They may be no requests at all.

    >>> [each["text"] for each in smaller_requests("encode", {"text": "xy"})]
    ['', 'y', 'x', 'aa', 'ay', 'xa', '  ', ' y', 'x ', '00', '0y', 'x0']
    """
    if "recipe" in request:
        recipe = request["recipe"]
        parts = (recipe["before"], recipe["unit"] * recipe["times"], recipe["after"])
        yield {"bytes": "".join(parts)}
    if "logits" in request or "probs" in request or "target" in request:
        yield from smaller_sampling(op, request)
    for key, value in request.items():
        if key in OPTIONAL:
            yield {other: kept for other, kept in request.items() if other != key}
        for smaller in _smaller(key, value):
            yield {**request, key: smaller}


def _smaller(key: str, value: Any) -> Iterator[Any]:  # noqa: ANN401 - any JSON
    if isinstance(value, bool):
        if value:
            yield False
    elif isinstance(value, int):
        yield from smaller_numbers(value)
    elif isinstance(value, str):
        if key in HEXADECIMAL:
            yield from map(bytes.hex, _smaller_bytes(bytes.fromhex(value)))
        elif key in {"text", "pair"}:
            yield from _smaller_text(value)
    elif isinstance(value, list):
        yield from cuts(value)
        for place, entry in enumerate(value):
            for smaller in _smaller(key, entry):
                yield [*value[:place], smaller, *value[place + 1 :]]
    elif isinstance(value, dict) and value.keys().isdisjoint(TYPES):
        for inner, entry in value.items():
            for smaller in _smaller(inner, entry):
                yield {**value, inner: smaller}


def smaller_numbers(number: int) -> Iterator[int]:
    """Yield whole numbers that are nearer to 0.

    >>> list(smaller_numbers(9)), list(smaller_numbers(-3)), list(smaller_numbers(1))
    ([0, 1, 4, 8], [0, 1, -1, -2], [0])
    """
    steps = (0, 1, int(number / 2), number - 1 if number > 0 else number + 1)
    yield from (step for step in dict.fromkeys(steps) if (abs(step), step < 0) < (abs(number), number < 0))


def cuts(whole: _Cut) -> Iterator[_Cut]:
    """Yield a sequence without its halves, its quarters, ... and each single entry.

    >>> list(cuts("abc"))
    ['', 'bc', 'ac', 'ab']
    """
    size = len(whole)
    while size:
        for start in range(0, len(whole), size):
            yield whole[:start] + whole[start + size :]
        size //= 2


def _smaller_text(text: str) -> Iterator[str]:
    yield from cuts(text)
    for plain in PLAIN:
        yield from _replaced(text, plain, lambda parts: "".join(parts))


def _smaller_bytes(content: bytes) -> Iterator[bytes]:
    yield from cuts(content)
    singles = [content[at : at + 1] for at in range(len(content))]
    yield from _replaced(singles, b"a", lambda parts: b"".join(parts))


def _replaced(
    parts: Sequence[Any], plain: Any, joined: Callable[[list[Any]], Any]  # noqa: ANN401 - text or bytes
) -> Iterator[Any]:
    """Yield what all of one kind, or a single part, replaced by something plain gives."""
    if any(part != plain for part in parts):
        yield joined([plain] * len(parts))
    kinds = [part for part in dict.fromkeys(parts) if part != plain]
    for kind in kinds:
        yield joined([plain if part == kind else part for part in parts])
