"""Say in one sentence why a filter keeps the wrong tokens."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tokenref.answers import Ok
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.rules import choices_of, rule_names

_SHOWN: Final = 8
"""Tokens that a sentence names."""


def diagnose(
    op: str,
    rule: str,
    request: Mapping[str, Any],
    row: Sequence[float],
    expected: Sequence[int],
    kept: Sequence[int],
) -> str:
    """Return the sentence; `expected` and `kept` are ascending ids, and differ.

    >>> diagnose("top_k", "standard", {"probs": {"f32": "3f0000003f000000"},
    ...     "params": {"k": 2}}, [0.5, 0.5], [0, 1], [0])
    'the crossing token is dropped, or more: [1] must be kept as well'
    """
    more = [token for token in kept if token not in expected]
    less = [token for token in expected if token not in kept]
    same = sorted(row[token] for token in more) == sorted(row[token] for token in less)
    other = _other_rule(op, rule, request, kept, "ties" if same else "")
    hint = f"; that is what the rule {other} gives, not {rule}" if other else ""
    if more and less:
        if same:
            return (
                f"of equals, {_ids(less)} is kept and {_ids(more)} removed, not the other way{hint}"
                if len(more) == 1
                else f"of equals, {_ids(less)} are kept and {_ids(more)} removed{hint}"
            )
        heaviest = max(less, key=row.__getitem__)
        lightest = min(more, key=row.__getitem__)
        if row[heaviest] > row[lightest]:
            return (
                f"the order is wrong: {heaviest} ({row[heaviest]!r}) is removed "
                f"and the lighter {lightest} ({row[lightest]!r}) kept{hint}"
            )
        return f"{_ids(less)} must be kept and {_ids(more)} removed{hint}"
    if more:
        return f"too much is kept: {_ids(more, brackets=True)} as well{hint}"
    crossing = "the crossing token is dropped, or more" if len(less) == 1 else "too much is removed"
    return f"{crossing}: {_ids(less, brackets=True)} must be kept as well{hint}"


def _other_rule(
    op: str, rule: str, request: Mapping[str, Any], kept: Sequence[int], point: str
) -> str:
    """Return the simplest other rule that keeps these tokens, if there is one.

    Of equally simple ones that which makes another choice at `point`.
    """
    if choices_of(op, rule) is None:
        return ""
    for name in sorted(
        rule_names(op), key=lambda name: (name.count("+"), not name.startswith(point), name)
    ):
        if name != rule:
            answer = SamplerSession(name).answer(op, request)
            if isinstance(answer, Ok) and answer.out["keep"] == list(kept):
                return name
    return ""


def _ids(ids: Sequence[int], *, brackets: bool = False) -> str:
    if len(ids) == 1 and not brackets:
        return str(ids[0])
    shown = ", ".join(map(str, ids[:_SHOWN]))
    return f"[{shown}]" if len(ids) <= _SHOWN else f"[{shown}, ... {len(ids)} in all]"
