"""Aphrodite's sampling operations as an engine.

https://github.com/aphrodite-engine/aphrodite-engine, its folder `v1/sample/ops`. The files run out
of the wheel (`from_wheels`). Each has one operation, which gets a row and the tensors of its
parameters.

What it answers
    The rules that its operations follow, on rows of logits with 32 bits, or 64 if these make given
    probabilities: top-a, tail-free, eta, epsilon, typical, top-n-sigma, XTC with a given random
    number, and mirostat 2. Of equal tokens, torch's sort on a CPU leaves the lowest id first.
    Mirostat draws with `torch.multinomial`, which is called here for draws with replacement, where
    it walks a row by given numbers; the row is sorted by falling probability.
What is unsupported
    Numbers that the operations do not check.
"""

from collections.abc import Mapping
from math import inf, isfinite
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, Final
from unittest.mock import patch

from tokenref.answers import Answer, Ok, Unsupported
from tokenref.engines.from_wheels import aphrodite
from tokenref.engines.own_rules import (
    PREFIXES,
    NotExpressibleError,
    OwnRule,
    SamplerSession,
    check_ties,
    profiles_of,
    row_in_32_bits,
)
from tokenref.engines.torch_draws import kept_in, row_of, walked
from tokenref.floats import pack, unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.rules import STANDARD, rule_name

if TYPE_CHECKING:
    import torch

RULES: Final[Mapping[str, OwnRule]] = {
    "top_a": OwnRule(rule_name("top_a", ties="all"), {"a": "top_a"}),
    "tail_free": OwnRule(STANDARD, {"z": "tfs"}),
    "eta": OwnRule(STANDARD, {"cutoff": "eta_cutoff"}, {"cutoff": (0, 1)}),
    "epsilon": OwnRule(STANDARD, {"cutoff": "epsilon_cutoff"}, {"cutoff": (0, 1)}),
    "typical": OwnRule(
        rule_name("typical", boundary="short", ties="lowest id"), {"mass": "typical_p"}
    ),
    "top_n_sigma": OwnRule(rule_name("top_n_sigma", deviation="sample"), {"n": "top_nsigma"}),
    "xtc": OwnRule(
        rule_name("xtc", coin="below"),
        {"threshold": "xtc_threshold", "probability": "xtc_probability"},
    ),
    "mirostat_2": OwnRule(STANDARD, {"tau": "mirostat_tau", "eta": "mirostat_eta"}),
}
"""The rules of the engine's operations."""

_FUNCTIONS: Final = {
    "tail_free": "tfs",
    "eta": "eta_cutoff",
    "epsilon": "epsilon_cutoff",
    "top_n_sigma": "top_nsigma",
    "typical": "typical_p",
}
"""Operations that have another name in the engine."""

_AT_MOST_1: Final = frozenset({"tfs", "typical_p", "xtc_probability", "xtc_threshold"})
"""Parameters that are probabilities; all others may be any number that is not negative."""


_MOST: Final = 3e38
"""No parameter is larger, so none is infinite."""


class AphroditeSession(SamplerSession):
    """The operations with a selected rule."""

    profiles: ClassVar = profiles_of(RULES)
    start: ClassVar = staticmethod(aphrodite)

    def _answered(self, op: str, request: Mapping[str, Any]) -> Answer:
        if op not in RULES:
            return Unsupported(f"has no operation {op}")
        params = unpack_parameters(request["params"])
        given = RULES[op].parameters(op, self.profile, params, request)
        if op == "mirostat_2":
            return Ok(_mirostat(request, given))
        uniforms = unpack(request.get("uniforms", {"f64": ""}))
        if len(uniforms) != (op == "xtc") or not all(0 <= number < 1 for number in uniforms):
            raise NotExpressibleError("takes one random number below 1 for its xtc, and no other")
        if given.get("typical_p", 1) == 0 or not all(
            0 <= value <= (1 if name in _AT_MOST_1 else _MOST) for name, value in given.items()
        ):
            raise NotExpressibleError("does not check its parameters in its operations")
        row = row_of(request, None, op)
        if not (row < inf).all() or not row.isfinite().any():
            raise NotExpressibleError("does not check its row")
        name = _FUNCTIONS.get(op, op)
        left = _called(name, row, given, uniforms)
        if op in PREFIXES and self.profile != RULES[op].rule:
            check_ties(request, kept_in(left))
        return Ok({"keep": kept_in(left)})


def _called(
    name: str, row: "torch.Tensor", given: Mapping[str, Any], uniforms: list[float]
) -> "torch.Tensor":
    """Return the row after an operation."""
    import torch

    about = SimpleNamespace(**{name: torch.tensor([value]) for name, value in given.items()})
    function = getattr(getattr(aphrodite(), name), name)
    with patch.object(torch, "rand_like", lambda _: torch.tensor(uniforms)):
        found: torch.Tensor = function(row.unsqueeze(0).clone(), about)[0]
    return found


def _mirostat(request: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the token that mirostat draws with a given number, and its next state."""
    import torch

    (number,), row = unpack(request["uniforms"]), row_in_32_bits(request, exact=False)
    state = request.get("state", {})
    known = {"miro_mu": unpack(state["mu"])[0]} if "mu" in state else {}
    numbers = (*given.values(), *known.values())
    if not all(map(isfinite, numbers)) or not all(logit < inf for logit in row):
        raise NotExpressibleError("checks neither its row nor its parameters")
    if len(given) < len(RULES["mirostat_2"].names) or not 0 <= number < 1 or max(row) == -inf:
        raise NotExpressibleError("has parameters without a default, and checks no number")
    about = SimpleNamespace(
        output_token_ids=[[]],
        persistent_data={0: known},
        mirostat_mode=torch.tensor([2]),
        **{name: torch.tensor([value]) for name, value in given.items()},
    )
    draw = torch.multinomial

    def falling(shares: "torch.Tensor", **_: object) -> "torch.Tensor":
        weights, tokens = shares[0].sort(descending=True, stable=True)
        return tokens[walked(weights, number, draw, reaches=True)].reshape(1, 1)

    with patch.object(torch, "multinomial", falling):
        left = aphrodite().mirostat.mirostat(torch.tensor([row]), about)
    mu = pack([about.persistent_data[0]["miro_mu"]], "f32")
    return {"token": left[0].argmax().item(), "state": {"mu": mu}}
