"""Whether an answer has a proven margin: what a filter keeps in every named arithmetic.

A row has a *proven margin* if every arithmetic of `arithmetics` gives the same answer as
no rounding at all, and still does if the number that decides is moved by sqrt(V) units of
rounding (2**-24) either way; for a row of fewer than 64 tokens by 8 units, because a single
weight is off by a few.

The measurements behind that: on random rows of 128,256 tokens the envelope of such
arithmetics was up to 5.5 tokens wide, one of V units of rounding up to 31,550: a check
that cannot fail.

Exact without a margin
    Probabilities that are multiples of 2**-20 and sum to 1 have exact sums in 32 bits, in
    every order. There nothing is moved, and a sum may meet p.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import inf, sqrt
from typing import Final, Literal, TypeAlias

from authoring.cases.sampling.arithmetics import ARITHMETICS, Arithmetic
from authoring.cases.sampling.rounded_filters import ROUNDED
from authoring.cases.sampling.rounded_shares import Kept, Shares, Values
from sampling_ref import STEPS
from tokenref.engines.reference_samplers import SamplerTools

Kind: TypeAlias = Literal["probs", "logits"]

FEWEST: Final = 64
"""A shorter row counts as one of so many tokens where the margin is concerned."""

UNIT: Final = 2.0**-24
"""A unit of rounding in 32 bits."""

_FILTERS: Final = SamplerTools().filters


@dataclass(frozen=True)
class Answers:
    """What a filter keeps by each arithmetic, and by those with the deciding number moved."""

    exact: Kept
    """Without any rounding."""

    by_name: Mapping[str, Kept]
    moved: frozenset[Kept]
    """All answers: the exact one, the arithmetics', and those a margin away from them."""

    @property
    def are_one(self) -> bool:
        """Whether all of them are the same."""
        return len(self.moved) == 1


def is_decided(row: Sequence[float], op: str, values: Values, *, kind: Kind = "logits") -> bool:
    """Say whether a filter's answer has a proven margin.

    `values` are the step's parameters and choices under the names of `sampling_ref.STEPS`;
    what is left out has its default.

    >>> is_decided([0.5, 0.25, 0.25], "top_p", {"p": 0.5}, kind="probs")
    True
    >>> is_decided([3.0, 2.0, 1.0], "top_p", {"p": 0.75}), is_decided([0.0] * 3, "top_k", {"k": 1})
    (True, True)
    >>> is_decided([0.5, 0.25, 0.25], "top_p", {"p": 0.5 + 2**-30}, kind="probs")
    False
    """
    return op not in ROUNDED or answers(row, op, values, kind=kind).are_one


def answers(row: Sequence[float], op: str, values: Values, *, kind: Kind = "logits") -> Answers:
    """Return what a filter keeps by every arithmetic.

    >>> found = answers([0.5, 0.25, 0.25], "top_p", {"p": 0.5 + 2**-30}, kind="probs")
    >>> sorted(found.by_name["f64"]), sorted(found.by_name["f32.tree"])
    ([0, 1], [0])
    """
    step = STEPS[op]
    standard = {point: allowed[0] for point, allowed in step.choices.items()}
    full = {**step.parameters, **standard, **values}
    exact = _exactly(row, op, values, kind)
    if not _acts(op, full):
        return Answers(exact, {}, frozenset({exact}))
    tokens = [
        token for token, number in enumerate(row) if number > (-inf if kind == "logits" else 0)
    ]
    place_of = {token: place for place, token in enumerate(tokens)}
    full["protected"] = [place_of[t] for t in full.get("protected", ()) if t in place_of]
    by_name: dict[str, Kept] = {}
    moved, whole = {exact}, tuple(row)
    for name, arithmetic in ARITHMETICS.items():
        shares = _shares(whole, kind, arithmetic)
        found = [frozenset(tokens[place] for place in kept) for kept in ROUNDED[op](shares, full)]
        by_name[name] = found[0]
        moved.update(found)
    return Answers(exact, by_name, frozenset(moved))


def _acts(op: str, values: Values) -> bool:
    """Say whether XTC's coin lets it act; other filters have none."""
    if op != "xtc":
        return True
    uniform, chance = values.get("uniform", 0), values["probability"]
    acts = uniform < chance or (uniform == chance and values["coin"] == "at most")
    return bool(chance > 0 and acts)


def _exactly(row: Sequence[float], op: str, values: Values, kind: Kind) -> Kept:
    name = op if kind == "probs" else f"{op}_logits"
    given = {name: value for name, value in values.items() if name != "base"}
    return _FILTERS[name](list(row), **given)


@lru_cache(maxsize=2 * len(ARITHMETICS))
def _shares(row: tuple[float, ...], kind: Kind, arithmetic: Arithmetic) -> Shares:
    """Return the probabilities of a row's possible tokens."""
    slack = sqrt(max(len(row), FEWEST)) * UNIT
    if kind == "probs":
        numbers = tuple(number for number in row if number > 0)
        is_exact = is_dyadic(row)
        total = 1.0 if is_exact else float(sum(map(Fraction, numbers)))
        shares = arithmetic.rounded(number / total for number in numbers)
        return Shares(arithmetic, numbers, shares, slack, is_exact, is_logits=False)
    numbers = tuple(number for number in row if number > -inf)
    best, count = max(numbers), len(numbers)
    weights = _weights(numbers, arithmetic.rounded, arithmetic.exponentials)
    total = arithmetic.total(weights)
    shares = arithmetic.rounded(weight / total for weight in weights)
    is_exact = min(numbers) == best and count & (count - 1) == 0
    return Shares(arithmetic, numbers, shares, slack, is_exact, is_logits=True)


@lru_cache(maxsize=4)
def _weights(
    numbers: tuple[float, ...],
    rounded: Callable[[Iterable[float]], list[float]],
    exponentials: Callable[[Sequence[float]], list[float]],
) -> list[float]:
    """Return e to each number less the largest, once for all arithmetics of a width."""
    best = max(numbers)
    return exponentials(rounded(number - best for number in numbers))


def is_dyadic(row: Sequence[float]) -> bool:
    """Say whether probabilities are multiples of 2**-20 that sum to 1.

    Then every sum of some of them is exact in 32 bits.

    >>> is_dyadic([0.5, 0.25, 0.25]), is_dyadic([0.3, 0.7]), is_dyadic([0.5, 0.25])
    (True, False, False)
    """
    scaled = [number * 2**20 for number in row]
    return all(number % 1 == 0 for number in scaled) and sum(scaled) == 2**20
