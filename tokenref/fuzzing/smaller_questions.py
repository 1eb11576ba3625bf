"""All questions that are one step smaller than a question.

A request is plain JSON and is made smaller part by part: texts and lists lose a half, a quarter,
..., one entry; characters become `a`; numbers move towards 0; optional parts are removed. The
caller checks whether the result is still valid and still fails. Large steps come first.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, Final, TypeVar

from tokenref.floats import TYPES, FloatsError, pack, unpack
from tokenref.fuzzing.smaller_rows import smaller_sampling
from tokenref.record import SAMPLER_OPS

_Cut = TypeVar("_Cut", str, bytes, list[Any])
_Part = TypeVar("_Part", str, bytes)

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
    if op in SAMPLER_OPS:
        yield from smaller_sampling(request)
    for key, value in request.items():
        if key in OPTIONAL:
            yield {other: kept for other, kept in request.items() if other != key}
        for smaller in _smaller(key, value):
            yield {**request, key: smaller}


def _smaller(key: str, value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield from cuts(value)
        for place, entry in enumerate(value):
            for smaller in _smaller(key, entry):
                yield [*value[:place], smaller, *value[place + 1 :]]
    elif isinstance(value, dict):
        if value.keys().isdisjoint(TYPES):
            for inner, entry in value.items():
                for smaller in _smaller(inner, entry):
                    yield {**value, inner: smaller}
    else:
        yield from _smaller_leaf(key, value)


def _smaller_leaf(key: str, value: object) -> Iterator[Any]:
    if value is True:
        yield False
    elif isinstance(value, int) and not isinstance(value, bool):
        yield from smaller_numbers(value)
    elif isinstance(value, str) and key in HEXADECIMAL:
        yield from map(bytes.hex, _smaller_bytes(bytes.fromhex(value)))
    elif isinstance(value, str) and key in {"text", "pair"}:
        yield from _smaller_text(value)


def smaller_numbers(number: int) -> Iterator[int]:
    """Yield whole numbers that are nearer to 0.

    >>> list(smaller_numbers(9)), list(smaller_numbers(-3)), list(smaller_numbers(1))
    ([0, 1, 4, 8], [0, 1, -1, -2], [0])
    """
    steps = (0, 1, int(number / 2), number - 1 if number > 0 else number + 1)
    yield from (
        step for step in dict.fromkeys(steps) if (abs(step), step < 0) < (abs(number), number < 0)
    )


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
        yield from map("".join, _replaced(text, plain))


def _smaller_bytes(content: bytes) -> Iterator[bytes]:
    yield from cuts(content)
    singles = [content[at : at + 1] for at in range(len(content))]
    yield from map(b"".join, _replaced(singles, b"a"))


def _replaced(parts: Sequence[_Part], plain: _Part) -> Iterator[list[_Part]]:
    """Yield what is left if all parts, or those of one kind, are replaced by something plain."""
    if any(part != plain for part in parts):
        yield [plain] * len(parts)
    for kind in dict.fromkeys(parts):
        if kind != plain:
            yield [plain if part == kind else part for part in parts]


def is_numbers(value: Any) -> bool:
    """Return whether a value has the form of numbers: an object with a type as its only key.

    >>> is_numbers({"f32": "3f000000"}), is_numbers({"text": "a"}), is_numbers([0.5])
    (True, False, False)
    """
    return isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in TYPES


def numbers_of(value: Any) -> list[float] | None:
    """Return the numbers of a value, or None if it is not numbers.

    >>> numbers_of({"f32": "3f000000"}), numbers_of({"f32": "half"})
    ([0.5], None)
    """
    if not is_numbers(value):
        return None
    try:
        return unpack(value)
    except (FloatsError, TypeError, ValueError):
        return None


def evened(value: Any) -> tuple[Any, int]:
    """Return a request as long as it were with all numbers in 32 bits, and how many rows are not.

    >>> evened({"probs": {"f16": "3c00"}})
    ({'probs': {'f32': '00000000'}}, 1)
    """
    if isinstance(value, dict):
        if is_numbers(value):
            return pack([0.0] * len(unpack(value))), int("f32" not in value)
        parts = {key: evened(entry) for key, entry in value.items()}
        return {key: part for key, (part, _) in parts.items()}, sum(
            odd for _, odd in parts.values()
        )
    if isinstance(value, list):
        entries = [evened(entry) for entry in value]
        return [entry for entry, _ in entries], sum(odd for _, odd in entries)
    return value, 0


def hardness(value: Any) -> float:
    """Return how hard the numbers of a request are to read: the digits of each, added up.

    >>> hardness({"probs": pack([0.5, 0.5])}) < hardness({"probs": pack([0.3125, 0.6875])})
    True
    """
    if isinstance(value, dict):
        if is_numbers(value):
            return sum(map(_hardness_of_number, unpack(value)))
        return sum(map(hardness, value.values()))
    return sum(map(hardness, value)) if isinstance(value, list) else 0.0


def _hardness_of_number(number: float) -> float:
    return len(repr(number)) + abs(number) / 1000 if isfinite(number) else len("-inf.0")
