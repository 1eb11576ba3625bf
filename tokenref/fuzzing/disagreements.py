"""In which way an answer is wrong, in a few words: the same ones for the same mistake.

Places lose their numbers, messages lose what is quoted in them. Of two lists it counts
which is longer, of two sets of tokens which holds the other, of two numbers which is larger.
"""

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final

from tokenref.fuzzing.findings import Finding
from tokenref.fuzzing.plain_numbers import is_numbers, numbers_of
from tokenref.reports.terminal import split_detail

_LONGEST: Final = 80
_VARIES: Final = re.compile(
    r"'[^']*'|\"[^\"]*\"|0[xX][0-9a-fA-F]+|\[[^\]]*\]|-?\d+(?:\.\d+)?(?:e-?\d+)?"
)
"""What is another one in each message: quoted texts, numbers, lists."""


def disagreement(finding: Finding) -> tuple[str, ...]:
    """Return status, place, and the way in which the answer is wrong.

    >>> finding = Finding(index=1, status="fail", detail="keep: expected [0], got [0, 1]",
    ...     got={"ok": {"keep": [0, 1]}}, record={"out": {"keep": [0]}}, subject=None, asked={})
    >>> disagreement(finding)
    ('fail', 'keep', 'keep: more')
    """
    got = finding.got.get("ok")
    if finding.status != "fail" or not isinstance(got, Mapping):
        return finding.status, _without_values(finding.detail)
    if finding.record.get("out") is None:
        return "fail", _without_values(finding.detail.partition(":")[0])
    parts = dict(split_detail(finding.detail)) if finding.detail else {}
    place = _without_values(parts["at"]).partition(",")[0] if "at" in parts else ""
    return finding.status, place, _way(finding.record.get("out"), got)


def _without_values(text: str) -> str:
    return _VARIES.sub("*", text)[:_LONGEST]


def _way(expected: Any, got: Any) -> str:
    """Return how two values differ, with the name of the first part that does."""
    if got is None:
        return "missing"
    if is_numbers(expected) and is_numbers(got):
        return _of_numbers(numbers_of(expected), numbers_of(got))
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        return _of_parts(expected, got)
    if type(expected) is not type(got):
        return "of another kind"
    if isinstance(expected, list | str):
        return _by_length(expected, got)
    if isinstance(expected, int) and not isinstance(expected, bool):
        return "less" if got < expected else "more"
    return "others"


def _of_parts(expected: Mapping[str, Any], got: Mapping[str, Any]) -> str:
    for key, value in expected.items():
        if key != "stages" and value != got.get(key):
            return f"{key}: {'another' if key == 'token' else _way(value, got.get(key))}"
    return "stages"


def _by_length(expected: Sequence[Any], got: Sequence[Any]) -> str:
    if len(expected) == len(got):
        return "others"
    return "fewer" if len(got) < len(expected) else "more"


def _of_numbers(want: list[float] | None, have: list[float] | None) -> str:
    if want is None or have is None:
        return "no numbers"
    if len(want) != len(have):
        return _by_length(want, have)
    return "numbers" if list(map(isfinite, want)) == list(map(isfinite, have)) else "infinities"
