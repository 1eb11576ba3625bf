"""Questions and answers for people, with floats in decimal instead of bits."""

import json
from collections.abc import Mapping
from math import inf, isfinite
from typing import Any, Final

from tokenref.floats import DIGITS, LETTERS, TYPES, Type, from_digits, to_digits, type_of
from tokenref.visible import short_json

_SHOWN: Final = 16
"""How many numbers of a row are shown."""

_PRECISION: Final[Mapping[Type, int]] = {"f64": 17, "f32": 9, "f16": 5, "bf16": 4}
"""Number of decimal digits that distinguish any two numbers of a type."""

_FEW: Final = 4
"""A row of at most this many numbers is shown in full."""


def readable(value: Any) -> Any:
    """Return plain data with floats in decimal instead of bits.

    A row whose entries are mostly minus infinity or 0 is shown as the ids of the others. The
    decimals have enough digits to distinguish any two numbers of the type.

    >>> readable({"logits": {"f32": "3f0000007f800000"}, "token": 7})
    {'logits': {'f32': [0.5, 'inf']}, 'token': 7}
    >>> readable({"f16": "fc00fc003c00fc00fc00"})
    {'f16': {'2': 1.0, 'the other 4': '-inf'}}
    """
    if isinstance(value, list):
        return [readable(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((key, digits),) = value.items()
        if key in TYPES and _are_digits(digits, DIGITS[key]):
            return {key: _decimals(digits, key)}
    if value.get("gen") == "grid.v1" and value.get("dtype") in TYPES and value.get("put"):
        each = DIGITS[value["dtype"]]
        put = [
            [place, *_shown(digits, value["dtype"])]
            if _are_digits(digits, each)
            else [place, digits]
            for place, digits in value["put"]
        ]
        return {**value, "put": put}
    return {key: readable(entry) for key, entry in value.items()}


def readable_verdict(verdict: Mapping[str, Any], question: Mapping[str, Any]) -> Any:
    """Return a verdict with floats in decimal; those of a long row are of its question's type.

    >>> verdict = {"kind": "row", "part": "probs", "changed": [[3, "3c00"]]}
    >>> readable_verdict(verdict, {"logits": {"f16": "3c00"}})["changed"]
    [[3, 1.0]]
    """
    row = question.get("logits", question.get("target"))
    if verdict.get("kind") != "row" or not isinstance(row, dict):
        return readable(verdict)
    dtype = type_of(row)
    changed = [[place, *_shown(number, dtype)] for place, number in verdict["changed"]]
    values = [
        [*_shown(before, dtype), *_shown(after, dtype)]
        for before, after in verdict.get("values", [])
    ]
    return {**verdict, "changed": changed} | ({"values": values} if values else {})


def _are_digits(digits: object, each: int) -> bool:
    """Return whether the value is the bits of complete numbers. An engine may answer anything."""
    return isinstance(digits, str) and len(digits) % each == 0 and LETTERS.issuperset(digits)


def _decimals(digits: str, dtype: Type) -> list[float | str] | dict[str, float | str]:
    """Return the first numbers in few digits and the number of others, or a masked row by ids."""
    each = DIGITS[dtype]
    count = len(digits) // each
    split = [digits[at * each : (at + 1) * each] for at in range(count)]
    for gone in (to_digits([-inf], dtype), "0" * each):
        left = [token for token, number in enumerate(split) if number != gone]
        if count > _FEW and 2 * len(left) < count:
            shown: dict[str, float | str] = {
                str(token): _shown(split[token], dtype)[0] for token in left[:_SHOWN]
            }
            if len(left) > _SHOWN:
                shown["and more"] = len(left) - _SHOWN
            return {**shown, f"the other {count - len(left):,}": _shown(gone, dtype)[0]}
    first = _shown(digits[: _SHOWN * each], dtype)
    return [*first, f"and {count - _SHOWN} more"] if count > _SHOWN else first


def _shown(digits: str, dtype: Type) -> list[float | str]:
    shown: list[float | str] = []
    for value in from_digits(digits, dtype):
        short = float(f"{value:.{_PRECISION[dtype]}g}")
        shown.append(short if isfinite(short) else str(value))
    return shown


def readable_json(value: Any, widest: int) -> str:
    """Return plain data as one line for people.

    >>> readable_json({"f16": "3c00"}, 50)
    '{"f16": [1.0]}'
    """
    return short_json(readable(value), widest)


def readable_answer(got: str, widest: int) -> str:
    """Return an engine's answer, given as JSON that may be truncated, as one line for people.

    >>> readable_answer('{"probs":{"f32":"3f000000"}}', 50), readable_answer('{"ids":[1, ...', 50)
    ('{"probs": {"f32": [0.5]}}', '{"ids":[1, ...')
    """
    try:
        return readable_json(json.loads(got), widest)
    except (ValueError, RecursionError):
        return got
