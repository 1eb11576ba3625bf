"""SGLang's sampler for PyTorch as an engine: https://github.com/sgl-project/sglang.

The modules that sample run out of the wheel (`from_wheels`): the penalties with the object that
orchestrates them, as the overlapping scheduler uses them, and the sampler.

What it answers
    The profile "sglang", and the rules that its functions follow: single steps, the whole chain,
    its distribution, the token for given random numbers, batches. Filters take probabilities.
    The uniform numbers that it makes of hashes.
What it refuses
    A parameter, with a `ValueError` of `SamplingParams`.
What is unsupported
    Rows with ties where its sort decides, because the sort is not stable.
"""

from collections.abc import Mapping, Sequence
from math import inf
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, Final
from unittest.mock import patch

from tokenref.answers import Answer, Ok, Unsupported
from tokenref.engines.from_wheels import sglang
from tokenref.engines.own_rules import (
    NotExpressibleError,
    OwnRule,
    SamplerSession,
    answer_batch,
    answer_in_order,
    check_shares,
    must_be_within,
    profiles_of,
)
from tokenref.engines.torch_draws import (
    device_name,
    generator_of,
    kept_in,
    laid_out,
    places_of,
    refused,
    tensor_in_32_bits,
    to_floats,
    words_of,
)
from tokenref.floats import pack, unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.rules import STANDARD, rule_name

if TYPE_CHECKING:
    import torch

NAME: Final = "sglang"
SEED: Final = 0
FILTERS: Final = frozenset({"min_p", "top_k", "top_p"})
RULES: Final[Mapping[str, OwnRule]] = {
    "frequency_penalty": OwnRule(STANDARD, {"penalty": "frequency_penalty"}),
    "presence_penalty": OwnRule(STANDARD, {"penalty": "presence_penalty"}),
    "min_new_tokens": OwnRule(STANDARD, {"count": "min_new_tokens", "ends": "stop_token_ids"}),
    "repetition_penalty": OwnRule(
        rule_name("repetition_penalty", scope="output"), {"penalty": "repetition_penalty"}
    ),
    "logit_bias": OwnRule(STANDARD, {"biases": "logit_bias"}),
    "temperature": OwnRule(STANDARD, {"temperature": "temperature"}, {"temperature": (0,)}),
    "top_k": OwnRule(STANDARD, {"k": "top_k"}, {"k": (0, -1)}, frozenset({"ties"})),
    "top_p": OwnRule(
        rule_name("top_p", boundary="exceed", base="the whole row"),
        {"p": "top_p"},
        {"p": (0,)},
        frozenset({"ties"}),
    ),
    "min_p": OwnRule(STANDARD, {"m": "min_p"}, undefined=frozenset({"ties"})),
}
"""The rules of the engine's functions."""

_HELD: Final = ("top_k", "top_p", "min_p")
_DOMAINS: Final = {
    "temperature": (1e-6, inf),
    "frequency_penalty": (-2.0, 2.0),
    "presence_penalty": (-2.0, 2.0),
    "repetition_penalty": (0.0, 2.0),
}
"""The intervals of `SamplingParams` that are smaller than those of the rules."""


def settings(params: Mapping[str, Any]) -> Any:
    """Return the engine's own parameters, not yet checked."""
    given = dict(params)
    if isinstance(given.get("stop_token_ids"), list):
        given["stop_token_ids"] = set(given["stop_token_ids"])
    elif isinstance(given.get("stop_token_ids"), int):
        given["stop_token_ids"] = {given["stop_token_ids"]}
    return sglang().sampling_params.SamplingParams(max_new_tokens=None, **given)


class Batch:
    """A batch of requests, as far as the sampler looks at it."""

    def __init__(self, every: Sequence[Mapping[str, Any]], size: int) -> None:
        self.device, self.reqs = device_name(), []
        for params in every:
            own = settings(params)
            own.verify(size)
            self.reqs.append(
                SimpleNamespace(
                    sampling_params=own,
                    custom_logit_processor=None,
                    return_sampling_mask=False,
                    sampling_logprobs_mode="",
                    eos_token_ids=None,
                    tokenizer=SimpleNamespace(additional_stop_token_ids=None, eos_token_id=None),
                )
            )


def info_of(size: int, outputs: Sequence[Sequence[int]], every: Sequence[Mapping[str, Any]]) -> Any:
    """Return the batch after these tokens were generated, ready for a forward pass.

    All requests must have generated the same number of tokens.
    """
    import torch

    batch = Batch(every, size)
    info = sglang().sampling_batch_info.SamplingBatchInfo.from_schedule_batch(batch, size)
    for tokens in zip(*outputs, strict=True):
        info.penalizer_orchestrator.cumulate_output_tokens(torch.tensor(tokens))
    return info.copy_for_forward()


class SglangSession(SamplerSession):
    """The functions with a selected profile."""

    profiles: ClassVar = profiles_of(RULES) | {NAME, "sglang-double"}
    start: ClassVar = staticmethod(sglang)
    refusing: ClassVar = (ValueError,)

    def _refused(self, error: Exception) -> Answer | None:
        return refused(error) or super()._refused(error)

    def _answered(self, op: str, request: Mapping[str, Any]) -> Answer:
        if request.get("prompt_length", 0) > len(request.get("history", ())):
            return Unsupported("needs the tokens of the prompt, not their number")
        if op in RULES:
            return Ok(self._one_step(op, [request])[0])
        if op == "batch":
            whole = self._whole if self.profile == NAME else None
            return answer_batch(request, RULES, self._one_step, whole)
        if op == "uniforms":
            return Ok({"uniforms": pack(_numbers_of(request["words"]), "f64")})
        if self.profile != NAME:
            return Unsupported(f"has no {op} by a rule")
        if op == "sequence":
            return answer_in_order(request, lambda each: Ok(self._whole("sample", [each])[0]))
        if op in {"chain", "distribution", "sample"}:
            return Ok(self._whole(op, [request])[0])
        return Unsupported(f"has no operation {op}")

    def _given(self, op: str, request: Mapping[str, Any]) -> dict[str, Any]:
        given = unpack_parameters(request["params"])
        if self.profile == NAME:
            return given
        given = RULES[op].parameters(op, self.profile, given, request)
        must_be_within(given, _DOMAINS)
        return given

    def _one_step(
        self,
        op: str,
        requests: Sequence[Mapping[str, Any]],
        layout: Mapping[str, Any] | None = None,
    ) -> list[dict[str, Any]]:
        """Answer questions about one step with one call, each a row of a tensor."""
        import torch

        every = [self._given(op, request) for request in requests]
        rows = torch.stack([_row(request, exact=op in FILTERS) for request in requests])
        places = places_of(len(every), layout)
        ordered = [every[places.index(place)] for place in range(len(every))]
        if op in FILTERS:
            weights = torch.stack(
                [
                    row if "probs" in one else row.softmax(-1)
                    for row, one in zip(rows, requests, strict=True)
                ]
            )
            for row, shares, request, given in zip(rows, weights, requests, every, strict=True):
                if "logits" in request and row.isfinite().any():
                    check_shares(row, shares, given.get("top_k"))
            ordered = [{name: one[name] for name in one if name == op} for one in ordered]
            after = _filtered(laid_out(weights, layout), ordered)[places].log()
            return [{"keep": kept_in(row)} for row in after]
        outputs = [one["history"][one["prompt_length"] :] for one in requests]
        outputs = [outputs[places.index(place)] for place in range(len(outputs))]
        if len({*map(len, outputs)}) > 1:
            raise NotExpressibleError("is given batches with outputs of one length")
        info = info_of(rows.shape[-1], outputs, ordered)
        rows = laid_out(rows, layout)
        if op == "temperature":
            rows.div_(info.temperatures)
        else:
            info.apply_logits_bias(rows)
        return [{"logits": to_floats(row, "f32")} for row in rows[places]]

    def _whole(self, op: str, requests: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Answer questions about the whole chain with one call."""
        import torch

        rows = torch.stack([_row(request) for request in requests])
        outputs = [one.get("history", [])[one.get("prompt_length", 0) :] for one in requests]
        if len({len(output) for output in outputs}) > 1:
            raise NotExpressibleError("is given batches with outputs of one length")
        every = [unpack_parameters(request["params"]) for request in requests]
        info = info_of(rows.shape[-1], outputs, every)
        info.apply_logits_bias(rows)
        changed = rows.clone()
        seen: list[torch.Tensor] = []
        simply: list[bool] = []
        engine = sglang().sampler
        simple = engine.sampling_from_probs_torch
        filtering = engine.top_k_top_p_min_p_sampling_from_probs_torch

        def prepare(places: torch.Tensor) -> None:
            """Give torch the random numbers of the tokens in the order in which it walks."""
            if op != "sample":
                torch.manual_seed(SEED)
                return
            every = [unpack(request["uniforms"]) for request in requests]
            if any(len(numbers) < rows.shape[-1] for numbers in every):
                raise NotExpressibleError(f"takes {rows.shape[-1]} random numbers")
            numbers = [
                1 - every[row][token] for row, walk in enumerate(places.tolist()) for token in walk
            ]
            words = words_of(numbers, len(numbers))
            torch.default_generator.set_state(generator_of(words).get_state())

        def watched_simple(shares: torch.Tensor, **others: Any) -> torch.Tensor:
            simply.append(True)
            seen.append(shares.clone())
            prepare(torch.arange(shares.shape[-1]).expand(len(shares), -1))
            found: torch.Tensor = simple(shares, **others)
            return found

        def watched(shares: torch.Tensor, *others: Any, **more: Any) -> torch.Tensor:
            asked = {**more, "return_filtered_probs": True, "max_top_k": None}
            _, weights, ids, _ = filtering(shares.clone(), *others, **asked)
            seen.append(torch.zeros_like(weights).scatter_(-1, ids.long(), weights))
            most = more.get("max_top_k") or shares.shape[-1]
            if most < shares.shape[-1]:
                ids = torch.topk(shares, k=most, dim=-1, sorted=True).indices
            prepare(ids)
            found: torch.Tensor = filtering(shares, *others, **more)
            return found

        with (
            patch.object(engine, "sampling_from_probs_torch", watched_simple),
            patch.object(engine, "top_k_top_p_min_p_sampling_from_probs_torch", watched),
        ):
            output = SimpleNamespace(next_token_logits=rows)
            places = torch.zeros(len(rows), dtype=torch.long)
            sampled = engine.Sampler()(output, info, False, [], [], places)
        tokens = sampled.tolist()
        if op == "sample":
            return [{"token": token} for token in tokens]
        if op == "chain":
            left = seen[0].log() if seen and not simply else changed
            return [{"keep": kept_in(row)} for row in left]
        laws = seen[0] if seen else torch.eye(rows.shape[-1])[tokens]
        return [{"probs": to_floats(law / law.sum(), "f32")} for law in laws]


def _numbers_of(hashes: Sequence[str]) -> list[float]:
    """Return the uniform numbers that the engine makes of hashes, which it takes logarithms of."""
    import torch

    engine, seen = sglang().sampler, list[float]()
    if any(len(word) != 8 for word in hashes):
        raise NotExpressibleError("takes hashes of 32 bits")
    words = torch.tensor([[int(word, 16) for word in hashes]], dtype=torch.int64)
    logarithm = torch.Tensor.log_

    def watched(numbers: torch.Tensor) -> torch.Tensor:
        if not seen:
            seen.extend(numbers[0].tolist())
        return logarithm(numbers)

    none = torch.zeros(1, dtype=torch.long)
    with (
        patch.object(engine, "murmur_hash32", lambda *_: words.to(torch.uint32)),
        patch.object(torch.Tensor, "log_", watched),
    ):
        engine.multinomial_with_seed(torch.zeros(words.shape), none, none)
    return seen


def _row(request: Mapping[str, Any], *, exact: bool = True) -> "torch.Tensor":
    row = tensor_in_32_bits(request, exact=exact)
    if device_name() != "cpu" and (not row.isfinite().any() or not (row < inf).all()):
        raise NotExpressibleError("ends its process when it draws from such a row on a device")
    return row


def _filtered(weights: "torch.Tensor", every: Sequence[Mapping[str, Any]]) -> "torch.Tensor":
    """Return rows of weights after the engine's filters, in the order of the tokens."""
    import torch

    own = [settings(params) for params in every]
    for one in own:
        one.verify(weights.shape[-1])
    held = [torch.tensor([getattr(one, name) for one in own]) for name in _HELD]
    # with the switch, it also returns the weights that it draws from
    _, after, ids, _ = sglang().sampler.top_k_top_p_min_p_sampling_from_probs_torch(
        weights, *held, bool(held[-1].any()), None, None, return_filtered_probs=True
    )
    return torch.zeros_like(after).scatter_(-1, ids.long(), after)
