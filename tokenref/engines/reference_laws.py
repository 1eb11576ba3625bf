"""Exact distributions of what an engine draws with its own random numbers, by enumeration.

Rows of probabilities are exact. Probabilities of logits are rounded to 64 bits and then scaled to
sum to 1; no realistic number of draws can detect the difference.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import inf, prod
from random import Random
from typing import Any, Final, TypeAlias

from sampling_ref.errors import ParameterError
from sampling_ref.speculative.block import block_breakpoints, verify_block
from sampling_ref.speculative.chain import (
    chain_breakpoints,
    matching_breakpoints,
    verify_by_matching,
    verify_chain,
)
from sampling_ref.speculative.law import law_of
from tokenref.answers import Ok
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import pack, unpack
from tokenref.questions.sampling import pack_parameters, unpack_parameters
from tokenref.rules import STANDARD, Choices, all_choices, choices_of

Shares: TypeAlias = list[Fraction]
"""The probability of each token."""

StepLaw: TypeAlias = dict[tuple[int, ...], Fraction]
"""The probability of each list of tokens; impossible lists are left out."""

PARAMETERS: Final = ("temperature", "k")
"""The parameters that rows of a speculative step may have, in the order of their steps."""

_OF_ROWS: Final = (*PARAMETERS, "p")
"""The parameters that a row of logits may have."""


def shares_of_row(request: Mapping[str, Any]) -> Shares:
    """Return the distribution of a row: `probs` as they are, or `logits` after its `params`.

    >>> shares_of_row({"probs": {"f32": "3f0000003f000000"}, "params": {}})
    [Fraction(1, 2), Fraction(1, 2)]
    """
    if "logits" in request:
        params = unpack_parameters(request["params"])
        return shares_of_logits(unpack(request["logits"]), params, allowed=_OF_ROWS)
    for name, value in sorted(request["params"].items()):
        raise ParameterError(name, value, "must not be given: the row is drawn from as it is")
    return _shares(unpack(request["probs"]))


def shares_of_logits(
    logits: Sequence[float], params: Mapping[str, Any], *, allowed: Sequence[str] = PARAMETERS
) -> Shares:
    """Return the distribution of a row after `temperature`, `k`, then `p`, by the standard rules.

    >>> shares_of_logits([0.0, 1.0, 1.0], {"k": 2, "temperature": 0.5})
    [Fraction(0, 1), Fraction(1, 2), Fraction(1, 2)]
    """
    for name in sorted(params.keys() - set(allowed)):
        raise ParameterError(name, params[name], f"must be one of {', '.join(allowed)}")
    row = pack(logits, "f64")
    if "temperature" in params:
        given = {"temperature": pack([float(params["temperature"])], "f64")}
        asked = {"logits": row, "history": [], "prompt_length": 0, "params": given}
        row = _answer("temperature", asked)["logits"]
    for name in ("k", "p"):
        if name not in params:
            continue
        given = pack_parameters({name: params[name]})
        kept = set(_answer(f"top_{name}", {"logits": row, "params": given})["keep"])
        left = [logit if token in kept else -inf for token, logit in enumerate(unpack(row))]
        row = pack(left, "f64")
    return _shares(unpack(_answer("softmax", {"logits": row})["probs"]))


def _shares(weights: Sequence[float]) -> Shares:
    total = sum(map(Fraction, weights))
    return [Fraction(weight) / total if weight else Fraction(0) for weight in weights]


def rows_of_step(request: Mapping[str, Any]) -> tuple[list[Shares], list[Shares]]:
    """Return the distributions of a speculative step's drafts and those of its target."""
    of_draft, of_target = (unpack_parameters(request[name]) for name in ("draft_params", "params"))
    drafts = [shares_of_logits(unpack(row), of_draft) for row in request["draft"]]
    return drafts, [shares_of_logits(unpack(row), of_target) for row in request["target"]]


def law_of_step(choices: Choices, drafts: Sequence[Shares], targets: Sequence[Shares]) -> StepLaw:
    """Return the distribution of the tokens that a step returns if its drafts follow `drafts`.

    >>> even, sure = [Fraction(1, 2)] * 2, [Fraction(0), Fraction(1)]
    >>> law_of_step({}, [even], [sure, sure])
    {(1,): Fraction(1, 2), (1, 1): Fraction(1, 2)}
    """
    verify, breakpoints, needs_drafts = _METHODS[all_choices("stat_speculative", choices)["method"]]
    law: StepLaw = {}
    for tokens in product(*([t for t, share in enumerate(row) if share] for row in drafts)):
        chance = prod((row[t] for row, t in zip(drafts, tokens, strict=True)), start=Fraction(1))
        rows = (targets, drafts, tokens) if needs_drafts else (targets, tokens)

        def run(uniforms: Sequence[Fraction], given: Any = (verify, rows)) -> tuple[int, ...]:
            found: tuple[int, ...] = given[0](*given[1], uniforms).tokens
            return found

        for out, share in law_of(run, breakpoints(*rows)).items():
            law[out] = law.get(out, Fraction(0)) + chance * share
    return dict(sorted(law.items()))


def example_of_draws(op: str, profile: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a right answer to a question about an engine's own random numbers.

    >>> asked = {"probs": {"f32": "000000003f800000"}, "params": {}, "draws": 9}
    >>> example_of_draws("stat", "standard", asked)
    {'counts': [[1, 9]]}
    """
    number = Random(0)
    if op == "stat_speculative":
        law = law_of_step(choices_of(op, profile) or {}, *rows_of_step(request))
        drawn = number.choices(list(law), [*map(float, law.values())], k=request["draws"])
        return {"counts": [[list(out), count] for out, count in sorted(Counter(drawn).items())]}
    weights = [*map(float, shares_of_row(request))]
    if op == "stat":
        tokens = number.choices(range(len(weights)), weights, k=request["draws"])
        return {"counts": [[token, count] for token, count in sorted(Counter(tokens).items())]}
    if op == "stat_batch":
        calls = range(request["draws"])
        return {"tokens": [number.choices(range(len(weights)), weights, k=request["rows"])
                           for _ in calls]}  # fmt: skip
    return {"batches": [[(number if seed is None else Random(seed)).choices(
        range(len(weights)), weights, k=request["tokens"]) for seed in batch]
        for batch in request["batches"]]}  # fmt: skip


_METHODS: Final[Mapping[str, tuple[Callable[..., Any], Callable[..., Any], bool]]] = {
    "chain": (verify_chain, chain_breakpoints, True),
    "block": (verify_block, block_breakpoints, True),
    "matching": (verify_by_matching, matching_breakpoints, False),
}
"""How drafts are verified, the breakpoints of that, and whether it needs the drafts' rows."""


def _answer(op: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
    answer = SamplerSession(STANDARD).answer(op, request)
    if isinstance(answer, Ok):
        return answer.out
    raise ValueError(f"the reference must answer {op}, got {answer}")
