"""ChatStream's token samplers as an engine: https://github.com/qualiteg/ChatStream.

The files run out of the wheel (`from_wheels`). They take a row as a tensor of PyTorch.

What it answers
    The profile "chatstream", as far as its package has the steps: the repetition penalty, the
    temperature, top-k and top-p alone, and the sampler that has them all in the order of its
    profile, with its distribution, and its draw with a given number. By a rule, the repetition
    penalty, which divides or subtracts, and top-p, which drops the token across p.
What is unsupported
    The frequency and the presence penalty, which the package lacks. A row without a possible
    token: the engine replaces what is not finite.
"""

from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Final
from unittest.mock import patch

from tokenref.answers import Answer, Ok, Unsupported
from tokenref.engines.from_wheels import chatstream
from tokenref.engines.own_rules import NotExpressibleError, OwnRule, SamplerSession
from tokenref.engines.torch_draws import row_of, to_floats, walked
from tokenref.floats import type_of, unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.rules import choices_of, rule_name, rule_names

if TYPE_CHECKING:
    import torch

NAME: Final = "chatstream"
_PENALTY: Final = "repetition_penalty"
_METHODS: Final = {"divide": "multiplicative", "subtract": "subtractive"}
_OF_RULES: Final = {
    name: method
    for name in rule_names(_PENALTY)
    if (method := (choices_of(_PENALTY, name) or {}).get("method")) in _METHODS
}
"""The rules that penalise by one of the engine's methods, with the method."""

RULE: Final = OwnRule(rule_name("top_p", boundary="within"), {"p": "top_p"}, {"p": (1,)})
"""The rule of its top-p, which may keep no token, however."""

_NEAR: Final = frozenset(
    name
    for name in rule_names("top_p")
    if (choices_of("top_p", name) or {}).get("boundary") == "within"
)
"""The rules of top-p with the engine's boundary."""

_CLASSES: Final = {
    _PENALTY: ("repetition_penalty_processor", "RepetitionPenaltyProcessor"),
    "temperature": ("temperature_processor", "TemperatureProcessor"),
    "top_k": ("top_k_sampler", "TopKSampler"),
    "top_p": ("top_p_sampler", "TopPSampler"),
}
"""The module and the class of each step."""

_REMOVED: Final = -1e10
"""The logit of a removed token; no possible one of a question is as small."""


class ChatstreamSession(SamplerSession):
    """The steps with a selected profile."""

    profiles: ClassVar = frozenset({NAME, *_OF_RULES, *_NEAR})
    start: ClassVar = staticmethod(chatstream)

    def _rule(self, op: str) -> OwnRule | None:
        return _own(op, self.profile)

    def _answered(self, op: str, request: Mapping[str, Any]) -> Answer:
        if op not in {*_CLASSES, "chain", "distribution", "sample"}:
            return Unsupported(f"has no operation {op}")
        own = _own(op, self.profile)
        if self.profile != NAME and own is None:
            return Unsupported(f"has no {op} by a rule")
        if "logits" not in request and own is not RULE:
            return Unsupported("accepts logits, not probabilities")
        params = self._params(op, request, own)
        row = row_of(request, "f32", op, exact=False)
        if not (row < inf).all() or not (row > _REMOVED).any():
            raise NotExpressibleError("replaces what is not finite")
        if op not in _CLASSES:
            return Ok(_whole(op, row, params, request))
        module, name = _CLASSES[op]
        left = getattr(getattr(chatstream(), module), name)().process(row, params).get("logits")
        if left is None:
            raise NotExpressibleError("takes the best token at such a temperature")
        if op in {"top_k", "top_p"}:
            return Ok(_kept(left))
        return Ok({"logits": to_floats(left, type_of(request["logits"]))})

    def _params(self, op: str, request: Mapping[str, Any], own: OwnRule | None) -> dict[str, Any]:
        given, history = unpack_parameters(request["params"]), list(request.get("history", ()))
        if own is not None:
            given = own.parameters(op, self.profile, given, request)
            if op == _PENALTY:
                given["penalty_method"] = _METHODS[_OF_RULES[self.profile]]
        if not {"frequency_penalty", "presence_penalty"}.isdisjoint(given):
            raise NotExpressibleError("has no frequency penalty and no presence penalty")
        size = len(unpack(request["probs" if "probs" in request else "logits"]))
        if not all(0 <= token < size for token in history):
            raise NotExpressibleError("does not check the tokens of the history")
        if request.get("prompt_length", 0) > len(history) or given.get(_PENALTY) == 0:
            raise NotExpressibleError("does not check its penalty, and knows no prompt")
        given["penalty"] = given.pop(_PENALTY, None)
        return {**given, "past_tokens": history}


def _own(op: str, profile: str) -> OwnRule | None:
    """Return the rule of a step, with the method of the one that is asked about, or None."""
    if op == "top_p" and profile in _NEAR:
        return RULE
    if op == _PENALTY and profile in _OF_RULES:
        return OwnRule(rule_name(op, method=_OF_RULES[profile]), {"penalty": _PENALTY})
    return None


def _whole(
    op: str, row: "torch.Tensor", params: Mapping[str, Any], request: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the whole sampler keeps, its distribution, or its token."""
    import torch

    draw, numbers = torch.multinomial, unpack(request.get("uniforms", {"f64": ""}))

    def drawn(shares: "torch.Tensor", *_: object, **__: object) -> "torch.Tensor":
        return torch.tensor(walked(shares, numbers[0], draw) if op == "sample" else 0)

    if len(numbers) != (op == "sample") or not all(0 <= number < 1 for number in numbers):
        raise NotExpressibleError("takes one random number below 1")
    sampler = chatstream().token_sampler_hft.TokenSamplerHft().get_sampler()
    with patch.object(torch, "multinomial", drawn):
        found = sampler.process(row, {**params, "result_type": "dict"})
    if "probabilities" not in found or found["probabilities"] is None:
        raise NotExpressibleError("takes the best token at such a temperature")
    if op == "chain":
        return _kept(found["process_history"][-2]["logits"])
    if op == "sample":
        return {"token": found["token_id"]}
    return {"probs": to_floats(found["probabilities"], type_of(request["logits"]))}


def _kept(left: "torch.Tensor") -> dict[str, Any]:
    return {"keep": (left > _REMOVED).nonzero().flatten().tolist()}
