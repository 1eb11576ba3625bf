"""Which tokens a filter keeps in every arithmetic, and the verdict that follows.

A row has a *proven margin* if every arithmetic of `arithmetics` gives the same answer as exact
calculation, and still does if the number that decides is moved by sqrt(V) units of rounding
(2**-24) either way. For a row of fewer than 64 tokens it is moved by 8 units, because a single
weight is off by a few.

With a proven margin the verdict is `exact`. Otherwise it is `either` (every answer, with the
arithmetic that gives it) or `set` (what all of them keep, what any of them keeps, and how many).

The measurements behind the margin: on random rows of 128,256 tokens the answers of these
arithmetics differed by up to 5.5 tokens. A margin of V units of rounding was up to 31,550 tokens
wide, so it would accept nearly every answer.

Exact without a margin
    Probabilities that are multiples of 2**-20 and sum to 1 have exact sums in 32 bits, in
    every order. There nothing is moved, and a sum may equal p.

Ties
    Where an engine leaves open which of several equal tokens it keeps, the verdict is a set:
    any of the tokens equal to the last one, as many as there is room for.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import inf, sqrt
from typing import Any, Final, Literal, TypeAlias

from sampling_ref import PROFILES, STEPS, ParameterError
from sampling_ref.engines.profile import holds
from tokenref.answers import Ok
from tokenref.engines.reference_samplers import SamplerSession, SamplerTools
from tokenref.floats import unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.rounding.filters import ARITHMETICS, ROUNDED, Arithmetic, Kept, Shares, Values
from tokenref.rules import choices_of
from tokenref.verdicts import Alternative, Either, Exact, Set

Kind: TypeAlias = Literal["probs", "logits"]

FEWEST: Final = 64
"""A shorter row has the margin of a row with this many tokens."""

UNIT: Final = 2.0**-24
"""A unit of rounding in 32 bits."""

_FILTERS: Final = SamplerTools().filters


class UndecidedError(Exception):
    """Rounding decides the answer to a question, so no verdict can judge it."""


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
    """Return whether a filter's answer has a proven margin.

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
    """Return whether XTC's coin lets it act; other filters have no coin."""
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
    """Return whether probabilities are multiples of 2**-20 that sum to 1.

    Then every sum of some of them is exact in 32 bits.

    >>> is_dyadic([0.5, 0.25, 0.25]), is_dyadic([0.3, 0.7]), is_dyadic([0.5, 0.25])
    (True, False, False)
    """
    scaled = [number * 2**20 for number in row]
    return all(number % 1 == 0 for number in scaled) and sum(scaled) == 2**20


# ---- verdicts

CAP: Final = 8
"""The most tokens that may be kept but need not be, ties aside."""

MOST: Final = 4
"""The most answers that may be right where no set can describe them."""

NOT_BY_WEIGHT: Final = frozenset({"typical", "xtc"})
"""Filters that may remove a token and keep a lighter one, so that no `set` can describe them."""

UNDEFINED_TIES: Final = frozenset(
    {
        ("transformers", "top_h"),
        ("sglang", "top_k"),
        ("sglang", "top_p"),
        ("candle", "top_k"),
        ("mistral.rs", "top_k"),
        ("mistral.rs", "top_p"),
        ("mlx-lm", "top_k"),
        ("exllamav3", "top_k"),
        ("exllamav3", "top_p"),
    }
)
"""Profiles and steps whose sort is not stable: which of equals stay is an accident."""


def filter_verdict(op: str, profile: str, request: Mapping[str, Any]) -> Exact | Either | Set:
    """Return the verdict of a filter's question. Raises `UndecidedError`.

    >>> row, half = {"f32": "3f0000003e8000003e800000"}, {"f32": "3f000000"}
    >>> filter_verdict("top_p", "standard", {"probs": row, "params": {"p": half}})
    Exact()
    """
    kind: Kind = "probs" if "probs" in request else "logits"
    row = unpack(request[kind])
    by_stage = list(values_of(op, profile, request))
    if not by_stage:
        return Exact()
    (values,) = by_stage
    if op in ROUNDED:
        try:
            found = answers(row, op, values, kind=kind)
        except ParameterError:
            return Exact()  # an engine takes what the definition does not know
        if not found.are_one:
            return _open(op, row, found)
    return _by_ties(op, profile, request, row)


def values_of(op: str, profile: str, request: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the values of a step in a rule, or those of each stage of an engine that is it.

    >>> (values,) = values_of("top_k", "vllm", {"params": {"top_k": 3}})
    >>> values["k"], values["ties"]
    (3, 'all')
    """
    given = unpack_parameters(request["params"])
    uniform = {}
    if op == "xtc" and "uniforms" in request:
        uniform = {"uniform": unpack(request["uniforms"])[0]}
    choices = choices_of(op, profile)
    if choices is not None:
        yield {**given, **choices, **uniform}
        return
    engine = PROFILES[profile]
    parameters = engine.read(given)
    for stage in engine.stages_of(op):
        if not holds(stage.off_if, parameters):
            yield {**stage.choices, **stage.given(parameters), **uniform}


def _open(op: str, row: Sequence[float], found: Answers) -> Either | Set:
    """Return a verdict that lets every answer pass which an arithmetic gives."""
    if found.moved <= set(found.by_name.values()):
        return _either(found)
    if op in NOT_BY_WEIGHT:
        if len(found.moved) > MOST:
            raise UndecidedError(f"{op}: {len(found.moved)} answers are possible, at most {MOST}")
        return _either(found)
    must = frozenset.intersection(*found.moved)
    may = frozenset.union(*found.moved)
    if not must or len(may - must) > CAP:
        raise UndecidedError(
            f"{op}: between {len(must)} and {len(may)} tokens are kept, "
            f"which is no test (at most {CAP} may be open, and one must be sure)"
        )
    sizes = sorted({len(kept) for kept in found.moved})
    names = ", ".join(sorted(ARITHMETICS))
    return Set(
        must=sorted(must),
        may=sorted(may),
        sizes=list(range(sizes[0], sizes[-1] + 1)),
        reason=f"Rounding decides: what {names} keep, and what they would within "
        f"{sqrt(max(len(row), FEWEST)):.0f} units of rounding of the threshold.",
    )


def _either(found: Answers) -> Either:
    """Return every arithmetic's answer, each under its name, and those within the margin."""
    named = [
        Alternative(
            label=name,
            reason=f"This is what {ARITHMETICS[name].about} gives.",
            out={"keep": sorted(kept)},
        )
        for name, kept in found.by_name.items()
    ]
    others = sorted(map(sorted, found.moved - set(found.by_name.values())))
    beside = [
        Alternative(
            label=f"margin.{number}",
            reason="Another exp, log or sum gives this: it lies within the margin of rounding.",
            out={"keep": kept},
        )
        for number, kept in enumerate(others)
    ]
    return Either(alternatives=[*named, *beside])


def _by_ties(
    op: str, profile: str, request: Mapping[str, Any], row: Sequence[float]
) -> Exact | Set:
    """Return the verdict where nothing is rounded: a set if the profile leaves ties open."""
    if (profile, op) not in UNDEFINED_TIES:
        return Exact()
    answer = SamplerSession(profile).answer(op, request)
    if not isinstance(answer, Ok):
        return Exact()
    return set_of_ties(row, answer.out["keep"])


def set_of_ties(row: Sequence[float], keep: Sequence[int]) -> Exact | Set:
    """Return a set of as many tokens, in which any equals of the lightest may stand.

    >>> set_of_ties([3.0, 2.0, 2.0, 2.0, 1.0], [0, 1, 2]).may
    [0, 1, 2, 3]
    >>> set_of_ties([3.0, 2.0, 1.0], [0, 1])
    Exact()
    """
    lightest = min(row[token] for token in keep)
    may = [token for token, number in enumerate(row) if number >= lightest]
    if len(may) == len(keep):
        return Exact()
    return Set(
        must=[token for token in may if row[token] > lightest],
        may=may,
        sizes=[len(keep)],
        reason="The engine's sort is not stable: which of the equals at the cut stay is open, "
        "how many of them is not.",
    )
