"""What a question still has when it is as small as it became: what the failure needs.

Shrinking takes away whatever it can, and makes the rest plain. So a space, a
parameter or an infinity that is still there says more about the mistake than how many
letters there are, or which ones.
"""

import unicodedata
from collections.abc import Iterator, Mapping
from math import inf, isnan
from typing import Any, Final

from tokenref.fuzzing.findings import Finding
from tokenref.fuzzing.plain_numbers import is_numbers, numbers_of
from tokenref.fuzzing.smaller_questions import HEXADECIMAL

_SMALLEST_NORMAL: Final = 2.0**-126
_ROWS: Final = frozenset({"logits", "probs", "target", "draft"})
_WORDS: Final = frozenset({"seed", "key", "counter", "words"})
"""Keys whose strings are numbers."""

_LATER: Final = 0x10000


def traits_of(finding: Finding) -> frozenset[str]:
    """Return what is still there, each in a few words.

    >>> finding = Finding(index=1, status="fail", detail="", got={}, subject=None, asked={},
    ...     record={"in": {"text": "a \u00e9", "params": {"k": 2}}})
    >>> sorted(traits_of(finding))
    ['beyond ASCII', 'params.k', 'white space']
    """
    return frozenset([*_of(finding.record.get("in"), ""), *_of_subject(finding.subject)])


def _of(value: Any, key: str) -> Iterator[str]:
    if is_numbers(value):
        yield from _of_row(value) if key in _ROWS else ()
    elif isinstance(value, Mapping):
        for name, entry in value.items():
            if key in {"params", "calls", "state"}:
                yield f"{key}.{name}"
            yield from _of(entry, name)
    elif isinstance(value, list):
        for entry in value:
            yield from _of(entry, key)
        if value and key in {"history", "prompt"}:
            yield key
    elif isinstance(value, bool):
        yield f"{key}={value}"
    elif isinstance(value, str):
        yield from _of_text(value, key)


def _of_row(value: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is odd about a row; its type, if it is not the usual one."""
    numbers = numbers_of(value)
    if numbers is None:
        return
    if "f32" not in value:
        yield f"row of {next(iter(value))}"
    if not numbers:
        yield "empty row"
    for number in numbers:
        if isnan(number) or number in {inf, -inf}:
            yield f"row with {number}"
        elif 0 < abs(number) < _SMALLEST_NORMAL:
            yield "row with subnormals"


def _of_text(text: str, key: str) -> Iterator[str]:
    if key in HEXADECIMAL:
        try:
            content = bytes.fromhex(text)
            text = content.decode()
        except ValueError:
            yield "no UTF-8"
            return
    elif key not in {"text", "pair", "allowed", "disallowed"}:
        if key not in _WORDS:
            yield f"{key}={text}"
        return
    if key in {"pair", "allowed", "disallowed"}:
        yield key
    for sign in text:
        yield from _of_sign(sign)


def _of_sign(sign: str) -> Iterator[str]:
    if sign.isspace():
        yield "lines" if sign in "\r\n" else "white space"
    elif not sign.isascii():
        beyond = "beyond 16 bits" if ord(sign) >= _LATER else "beyond ASCII"
        yield "marks" if unicodedata.combining(sign) else beyond
    elif sign.isdigit():
        yield "digits"
    elif not sign.isalpha():
        yield "signs"


def _of_subject(subject: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the rules of a vocabulary that was made smaller and still has them."""
    content = (subject or {}).get("vocabulary")
    if isinstance(content, Mapping):
        for name in ("pattern", "normalization", "whole_piece", "special_tokens"):
            if content.get(name):
                yield f"vocabulary with {name}"
