"""Questions about samplers that are one step smaller: fewer tokens, simpler numbers, defaults.

A token is removed from all rows at once, and from the history and everything else that names
tokens; later tokens move up. The weight of a removed token goes to the heaviest token, so that
weights still sum to 1.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from math import inf, isfinite
from typing import Any, Final

from tokenref.floats import TYPES, FloatsError, Type, pack, type_of, unpack

ROWS: Final = frozenset({"logits", "probs", "target", "draft"})
"""Keys of rows: a number for each token."""

NAMES_TOKENS: Final = frozenset(
    {
        "history",
        "tokens",
        "prompt",
        "ends",
        "encoder_input",
        "protected",
        "words",
        "accept",
        "token",
    }
)
"""Keys whose whole numbers are tokens."""

PER_TOKEN: Final = frozenset({"uniforms"})
"""Keys of numbers of which some draws need one for each token."""

PLAIN: Final = (0.0, 1.0, 0.5, 2.0)
SIMPLEST: Final[Mapping[int, Sequence[float]]] = {
    1: (1.0,),
    2: (0.5, 0.5),
    3: (0.5, 0.25, 0.25),
    4: (0.5, 0.25, 0.125, 0.125),
}
LONGEST: Final = 64
"""Tokens of the longest row in which single ones are tried; a longer one loses parts."""


def smaller_sampling(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield requests with fewer tokens, fewer parameters, or a plainer number.

    >>> request = {"logits": pack([0.5, 3.0]), "params": {"k": 1}}
    >>> [unpack(each["logits"]) for each in smaller_sampling(request) if each["params"]][:2]
    [[3.0], [0.5]]
    """
    size = _size(request)
    part = max(size // 2, 1)
    while part:
        for start in range(0, size, part) if part > 1 or size <= LONGEST else ():
            gone = range(start, min(start + part, size))
            if len(gone) < size:
                yield _without(request, gone, size)
        part //= 2
    params = request.get("params", {})
    for name in params:
        yield {**request, "params": {key: params[key] for key in params if key != name}}
    if "probs" in request:
        for few, weights in SIMPLEST.items():
            if few <= size:
                shorter = _without(request, range(few, size), size) if few < size else request
                yield from _with_simplest_weights(shorter, weights)
    yield from _in_32_bits(request)
    yield from _plainer(request)


def _with_simplest_weights(
    request: Mapping[str, Any], weights: Sequence[float]
) -> Iterator[dict[str, Any]]:
    """Yield the request about the simplest weights, each number at one of their sums.

    A failure at a boundary needs both to change at once.
    """
    row = {"probs": pack(weights, type_of(request["probs"]))}
    sums = sorted({*weights, *accumulate(weights)})
    yield {**request, **row}
    params = request.get("params", {})
    for name, value in params.items():
        if isinstance(value, dict) and _is_floats(value):
            for point in sums:
                yield {**request, **row, "params": {**params, name: pack([point])}}
    if "uniforms" in request:
        for point in (0.0, *sums[:-1]):
            yield {**request, **row, "uniforms": pack([point], type_of(request["uniforms"]))}


def _in_32_bits(request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the request with all its rows in 32 bits, if they represent the numbers."""
    rows = {key: request[key] for key in ROWS & request.keys() if isinstance(request[key], dict)}
    try:
        plain = {key: pack(unpack(row)) for key, row in rows.items()}
    except FloatsError:
        return
    if plain != rows:
        yield {**request, **plain}


def _size(request: Mapping[str, Any]) -> int:
    """Return the length of the rows of a request; 0 if they differ or there are none."""
    sizes = {len(unpack(row)) for row in _rows(request)}
    return sizes.pop() if len(sizes) == 1 else 0


def _rows(value: Any, key: str = "") -> Iterator[Mapping[str, Any]]:
    if isinstance(value, dict):
        if key in ROWS and _is_floats(value):
            yield value
        else:
            for inner, entry in value.items():
                yield from _rows(entry, inner)
    elif isinstance(value, list):
        for entry in value:
            yield from _rows(entry, key)


def _is_floats(value: Mapping[str, Any]) -> bool:
    return len(value) == 1 and not value.keys().isdisjoint(TYPES)


def _without(request: Mapping[str, Any], gone: range, size: int) -> dict[str, Any]:
    """Return a request without some tokens of its rows."""
    kept = [token for token in range(size) if token not in gone]
    place = {token: number for number, token in enumerate(kept)}

    def changed(value: Any, key: str) -> Any:
        if isinstance(value, dict):
            if key in ROWS and _is_floats(value):
                return _shorter(value, kept, is_weights=key != "logits")
            if key in PER_TOKEN and _is_floats(value) and len(unpack(value)) == size:
                return pack([unpack(value)[token] for token in kept], type_of(value))
            if key == "biases" and "map" in value:
                pairs = [[changed(name, "token"), number] for name, number in value["map"]]
                return {"map": [pair for pair in pairs if pair[0] not in (None, [])]}
            return {inner: changed(entry, inner) for inner, entry in value.items()}
        if isinstance(value, list):
            entries = [changed(entry, key) for entry in value]
            return [entry for entry in entries if entry is not None]
        if key in NAMES_TOKENS and isinstance(value, int) and not isinstance(value, bool):
            return place.get(value)
        return value

    result = {key: changed(value, key) for key, value in request.items()}
    if "prompt_length" in result:
        lost = len(request["history"]) - len(result["history"])
        result["prompt_length"] = max(0, request["prompt_length"] - lost)
    return result


def _shorter(row: Mapping[str, str], kept: Sequence[int], *, is_weights: bool) -> dict[str, str]:
    numbers, dtype = unpack(row), type_of(row)
    left = [numbers[token] for token in kept]
    finite = [number for number in numbers if isfinite(number)]
    if is_weights and left and len(finite) == len(numbers):
        heaviest = max(range(len(left)), key=left.__getitem__)
        left[heaviest] += sum(numbers) - sum(left)
    try:
        return pack(left, dtype)
    except FloatsError:
        return pack([numbers[token] for token in kept], dtype)


def _plainer(value: Any, key: str = "") -> Iterator[Any]:
    """Yield values with one number replaced by a plainer one; weights pass weight on."""
    if isinstance(value, dict):
        if _is_floats(value):
            moves = _moved_weights if key in {"probs", "target", "draft"} else _replaced_numbers
            numbers_now = unpack(value)
            for numbers in moves(numbers_now) if len(numbers_now) <= LONGEST else ():
                yield from _packed(numbers, type_of(value))
            return
        for inner, entry in value.items():
            for plainer in _plainer(entry, inner):
                yield {**value, inner: plainer}
    elif isinstance(value, list):
        for at, entry in enumerate(value):
            for plainer in _plainer(entry, key):
                yield [*value[:at], plainer, *value[at + 1 :]]


def _replaced_numbers(numbers: Sequence[float]) -> Iterator[list[float]]:
    plainer: list[Callable[[float], float]] = [*(lambda _, n=n: n for n in PLAIN), _rounded]
    for change in plainer:
        for at, number in enumerate(numbers):
            if number in (inf, -inf) or change(number) != number:
                yield [*numbers[:at], change(number), *numbers[at + 1 :]]


def _rounded(number: float) -> float:
    return float(round(number)) if isfinite(number) else 0.0


def _moved_weights(numbers: Sequence[float]) -> Iterator[list[float]]:
    """Yield weights in which one is the same as another, or none, and a third takes the rest."""
    for at in range(len(numbers)):
        for to in range(len(numbers)):
            if to == at:
                continue
            for part in (0.0, 0.25, 0.5):
                moved = list(numbers)
                moved[at], moved[to] = part, moved[to] + moved[at] - part
                if moved[to] >= 0 and part != numbers[at]:
                    yield moved


def _packed(numbers: Sequence[float], dtype: Type) -> Iterator[dict[str, str]]:
    try:
        yield pack(numbers, dtype)
    except FloatsError:
        return
