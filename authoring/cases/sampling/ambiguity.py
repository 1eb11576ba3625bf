"""What rounding decides, and what it does not: verdicts from named arithmetics.

Where a margin is proven (see `margins`), the answer may be asked for exactly. Otherwise
the verdict is `either` (every answer, with the arithmetic that gives it) or `set` (what
all of them keep, what any of them keeps, and how many).

Ties
    Where a program's documentation leaves open which of equal tokens stay, the answer is a
    set: any of the equals of the last token, as many as there is room for.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from typing import Any, Final

from authoring.cases.sampling.arithmetics import ARITHMETICS
from authoring.cases.sampling.margins import FEWEST, Answers, Kind, answers, is_decided, is_dyadic
from authoring.cases.sampling.rounded_filters import ROUNDED
from sampling_ref import PROFILES, ParameterError
from tokenref.answers import Ok
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.rules import choices_of
from tokenref.verdicts import Alternative, Either, Exact, Set

__all__ = [
    "CAP",
    "UNDEFINED_TIES",
    "Answers",
    "TooAmbiguousError",
    "answers",
    "is_decided",
    "is_dyadic",
    "set_of_ties",
    "values_of",
    "verdict_of",
]

CAP: Final = 8
"""So many tokens may lie between what must be kept and what may be, ties aside."""

MOST: Final = 4
"""So many different answers may pass where no set can describe them."""

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


class TooAmbiguousError(Exception):
    """A question that no verdict can judge: nearly every answer would pass."""


def verdict_of(op: str, profile: str, request: Mapping[str, Any]) -> Exact | Either | Set:
    """Return the verdict of a filter's question. Raises `TooAmbiguousError`.

    >>> row, half = {"f32": "3f0000003e8000003e800000"}, {"f32": "3f000000"}
    >>> verdict_of("top_p", "standard", {"probs": row, "params": {"p": half}})
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

    >>> list(values_of("top_k", "vllm", {"params": {"top_k": 3}}))
    [{'ties': 'all', 'k': 3}]
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
        if not stage.is_off(parameters):
            yield {**stage.choices, **stage.given(parameters), **uniform}


def _open(op: str, row: Sequence[float], found: Answers) -> Either | Set:
    """Return a verdict that lets every answer pass which an arithmetic gives."""
    if found.moved <= set(found.by_name.values()):
        return _either(found)
    if op in NOT_BY_WEIGHT:
        if len(found.moved) > MOST:
            raise TooAmbiguousError(
                f"{op}: {len(found.moved)} answers are possible, at most {MOST}"
            )
        return _either(found)
    must = frozenset.intersection(*found.moved)
    may = frozenset.union(*found.moved)
    if not must or len(may - must) > CAP:
        raise TooAmbiguousError(
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
