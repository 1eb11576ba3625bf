"""Questions and answers for people: one line of JSON, with floats in decimal instead of bits."""

import json
from typing import Any

from tokenref.readable import readable
from tokenref.reports import short_json


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
