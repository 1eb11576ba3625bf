"""pandas as an engine: https://pandas.pydata.org.

`Series.nlargest` keeps the largest numbers of a row, and its argument `keep` says which of equal
ones: the first, the last or all.

What it answers
    Top-k with these three rules, for one row or for the groups of a batch; a k of 0 keeps nothing.
    Greedy with the last of equal tokens. Rows of any type, in 64 bits, of logits or probabilities.
What is unsupported
    Rows and parameters that must be refused: it checks neither. Tokens that are impossible are
    not given to it.
"""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, ClassVar, Final

from tokenref.answers import Answer, Ok
from tokenref.engines.own_rules import (
    NotExpressibleError,
    OwnRule,
    SamplerSession,
    profiles_of,
    rows_of,
)
from tokenref.floats import unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.rules import rule_name

_KEEP: Final = {"lowest id": "first", "highest id": "last", "all": "all"}
"""The engine's word for each choice among equal tokens."""

RULES: Final = {
    keep: OwnRule(rule_name("top_k", ties=ties, zero="none"), {"k": "n"})
    for ties, keep in _KEEP.items()
}
LAST: Final = rule_name("greedy", ties="last")


class PandasSession(SamplerSession):
    """The selection with a selected rule."""

    profiles: ClassVar = profiles_of({"top_k": RULES["first"]}) | {LAST}

    def _answered(self, op: str, request: Mapping[str, Any]) -> Answer:
        if op == "greedy" and self.profile == LAST:
            (best,) = _largest([_row(request)], 1, "last")
            return Ok({"token": best[0]})
        if op == "top_k":
            return Ok(self._kept([request])[0])
        if op != "batch" or request["op"] != "top_k":
            raise NotExpressibleError(f"has no {op} by the rule {self.profile}")
        if "layout" in request:
            raise NotExpressibleError("has no layout of rows in memory")
        return Ok({"rows": self._kept(rows_of(request)) * request.get("calls", 1)})

    def _kept(self, requests: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return what is kept of each of some rows, which have one parameter."""
        numbers = []
        for request in requests:
            given = unpack_parameters(request["params"])
            keep, own = self._own(given, request)
            numbers.append((own["n"], keep))
        (k, keep), *others = dict.fromkeys(numbers)
        if others or k < 0 or type(k) is not int:
            raise NotExpressibleError("takes one number for all rows, and does not check it")
        return [{"keep": sorted(kept)} for kept in _largest([*map(_row, requests)], k, keep)]

    def _own(
        self, given: Mapping[str, Any], request: Mapping[str, Any]
    ) -> tuple[str, dict[str, Any]]:
        """Return the word for equal tokens with which the engine can follow the rule."""
        for keep, own in RULES.items():
            try:
                return keep, own.parameters("top_k", self.profile, given, request)
            except NotExpressibleError as error:
                last = error
        raise last


def _row(request: Mapping[str, Any]) -> dict[int, float]:
    """Return the possible tokens of a row with their numbers."""
    name = "probs" if "probs" in request else "logits"
    least, row = 0.0 if name == "probs" else -inf, unpack(request[name])
    if not all(-inf <= number < inf for number in row) or any(number < least for number in row):
        raise NotExpressibleError("does not check its row")
    found = {token: number for token, number in enumerate(row) if number > least}
    if not found:
        raise NotExpressibleError("does not check its row")
    return found


def _largest(rows: Sequence[Mapping[int, float]], n: int, keep: str) -> list[list[int]]:
    """Return the tokens with the `n` largest numbers of each row."""
    import pandas as pd

    places = [(at, token) for at, row in enumerate(rows) for token in row]
    numbers = [number for row in rows for number in row.values()]
    if len(rows) == 1:
        only = pd.Series(numbers, index=[token for _, token in places], dtype="float64")
        return [only.nlargest(n, keep=keep).index.tolist()]
    series = pd.Series(numbers, index=pd.MultiIndex.from_tuples(places), dtype="float64")
    kept: list[list[int]] = [[] for _ in rows]
    for at, token in series.groupby(level=0, group_keys=False).nlargest(n, keep=keep).index:
        kept[at].append(token)
    return kept
