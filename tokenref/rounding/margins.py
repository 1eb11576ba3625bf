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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, sqrt
from typing import Any, Final, Literal, TypeAlias

import sampling_ref
from sampling_ref import EXACT, PROFILES, WEIGHTS, ParameterError
from sampling_ref.engines.profile import holds
from sampling_ref.row import Candidates
from tokenref.answers import Ok
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.record import FILTER_OPS
from tokenref.rounding.arithmetics import ARITHMETICS, FEWEST, Move, Rounded, RoundedRow
from tokenref.rules import choices_of
from tokenref.verdicts import Alternative, Either, Exact, Set

Kind: TypeAlias = Literal["probs", "logits"]

Values: TypeAlias = Mapping[str, Any]
"""A step's parameters and choices, under the names of `sampling_ref.STEPS`."""

Kept: TypeAlias = frozenset[int]

ROUNDED: Final = frozenset(FILTER_OPS) - {"top_k"}
"""The filters that compare numbers which programs round. Top-k compares the row's own."""


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
    rule, exactly = getattr(sampling_ref, op), EXACT if kind == "logits" else WEIGHTS
    given = {name: value for name, value in values.items() if name != "base"}
    exact = frozenset(rule(list(row), **given, numbers=exactly).kept)
    reaches = values.get("boundary", "reach") == "reach"
    if reaches and max(values.get("p", 0), values.get("mass", 0)) >= 1:
        return Answers(exact, {}, frozenset({exact}))  # programs leave the step out
    given.pop("walked", None)  # each arithmetic has its own way
    by_name: dict[str, Kept] = {}
    moved = {exact}
    for rounded in _rows(tuple(row), kind):
        possible = rounded.candidates
        impossible = exact.difference(possible.tokens)  # they stay if XTC does nothing
        found = [
            impossible.union(rule(possible, **given, numbers=Rounded(rounded.moved(move))).kept)
            for move in _moves(op, kind)
        ]
        by_name[rounded.arithmetic.name] = found[0]
        moved.update(found)
    return Answers(exact, by_name, frozenset(moved))


def _moves(op: str, kind: Kind) -> list[Move]:
    """Return how what decides is moved; first not at all."""
    entropies = _EITHER_WAY if op == "typical" else (0,)
    moves = [Move(limit, entropy) for entropy in entropies for limit in _EITHER_WAY]
    return [*moves, *[Move(by_logits=True)] * (op == "min_p" and kind == "logits")]


_EITHER_WAY: Final = (0, -1, 1)


@lru_cache(maxsize=2)
def _rows(row: tuple[float, ...], kind: Kind) -> list[RoundedRow]:
    """Return the possible tokens of a row in every arithmetic."""
    least = -inf if kind == "logits" else 0
    tokens = [token for token, number in enumerate(row) if number > least]
    possible = Candidates(tokens, [row[token] for token in tokens])
    return [
        RoundedRow(possible, arithmetic, len(row), is_weights=kind == "probs")
        for arithmetic in ARITHMETICS.values()
    ]


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
