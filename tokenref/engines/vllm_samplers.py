"""vLLM's samplers for PyTorch as an engine: https://github.com/vllm-project/vllm.

The modules that sample run out of the wheel (`from_wheels`). What the engine's input batch does,
filling the tensors of requests, is done here.

What it answers
    The profile "vllm", and the rules that its functions follow: single steps, steps in a given
    order, the whole chain, its distribution, the token for given random numbers, batches,
    log-probabilities of the best tokens, and rows with seeds. Behind steps in a given order, torch
    draws with replacement, which takes one number. The engine converts rows to 32 bits; a function
    under a rule works on the row in its own type. The profile "openai", as far as its tokens are
    not drawn: `SamplingParams` documents that it follows OpenAI's interface.
What it refuses
    A parameter, with a `ValueError` of `SamplingParams`.
What is unsupported
    Values outside the interval that `SamplingParams` documents, although a rule allows them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, Final
from unittest.mock import patch

from tokenref.answers import Answer, Ok, Unsupported
from tokenref.engines.from_wheels import vllm
from tokenref.engines.own_rules import (
    NotExpressibleError,
    OwnRule,
    SamplerSession,
    answer_batch,
    answer_in_order,
    check_ties,
    must_be_within,
    profiles_of,
    whole_mask,
)
from tokenref.engines.torch_draws import (
    RACES,
    device_name,
    drawn_after_steps,
    generator_of,
    kept_in,
    laid_out,
    places_of,
    row_of,
    to_floats,
    to_tensor,
    words_of,
)
from tokenref.floats import Type, type_of, unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.rules import STANDARD, choices_of, rule_name

if TYPE_CHECKING:
    import torch

NAME: Final = "vllm"
INTERFACE: Final = "openai"
"""The profile of the interface that the engine's parameters follow."""

SEED: Final = 0
FILTERS: Final = frozenset({"min_p", "top_k", "top_p"})
RULES: Final[Mapping[str, OwnRule]] = {
    "allowed_tokens": OwnRule(STANDARD, {"tokens": "allowed_token_ids"}),
    "token_mask": OwnRule(
        STANDARD,
        {"tokens": "allowed_token_ids", "booleans": "mask", "words": "words"},
        {"tokens": ([],)},
    ),
    "bad_words": OwnRule(rule_name("bad_words", scope="output"), {"words": "bad_words"}),
    "min_new_tokens": OwnRule(STANDARD, {"count": "min_tokens", "ends": "stop_token_ids"}),
    "logit_bias": OwnRule(STANDARD, {"biases": "logit_bias"}),
    "repetition_penalty": OwnRule(
        rule_name("repetition_penalty", arithmetic="reciprocal"), {"penalty": "repetition_penalty"}
    ),
    "frequency_penalty": OwnRule(STANDARD, {"penalty": "frequency_penalty"}),
    "presence_penalty": OwnRule(STANDARD, {"penalty": "presence_penalty"}),
    "penalties": OwnRule(
        rule_name("penalties", additive_scope="output"),
        {
            "repetition": "repetition_penalty",
            "frequency": "frequency_penalty",
            "presence": "presence_penalty",
        },
    ),
    "temperature": OwnRule(STANDARD, {"temperature": "temperature"}, {"temperature": (0,)}),
    "min_p": OwnRule(STANDARD, {"m": "min_p"}),
    "top_k": OwnRule(rule_name("top_k", ties="all"), {"k": "top_k"}, {"k": (0, -1)}),
    "top_p": OwnRule(rule_name("top_p", ties="highest id"), {"p": "top_p"}),
}
"""The rules of the engine's functions."""

_REPORTS: Final = frozenset(
    {STANDARD, *(rule_name("top_logprobs", of=of) for of in ("raw", "processed"))}
    | {rule_name("top_logprobs", ties="highest id")}
)
_NOT_SETTINGS: Final = frozenset({"bad_words", "mask", "words"})
"""What is given to functions as tokens and masks."""

_WINDOW: Final = 64
"""How many tokens the rule of all penalties looks back by default; the engine has no window."""

_DOMAINS: Final = {
    "temperature": (0.01, 2.0),
    "frequency_penalty": (-2.0, 2.0),
    "presence_penalty": (-2.0, 2.0),
}
"""The intervals of `SamplingParams` that are smaller than those of the rules."""


@dataclass(frozen=True)
class Requested:
    """A request of a batch: its tokens, its parameters, and the drafts of this step."""

    prompt: list[int]
    output: list[int]
    params: dict[str, Any]
    drafts: list[int] = field(default_factory=list)


def settings(params: Mapping[str, Any]) -> Any:
    """Return the engine's own parameters. Words are tokens here, so it does not get them."""
    given = {name: value for name, value in params.items() if name not in _NOT_SETTINGS}
    if isinstance(given.get("stop_token_ids"), int):
        given["stop_token_ids"] = [given["stop_token_ids"]]
    return vllm().sampling_params.SamplingParams(max_tokens=None, **given)


def metadata_of(size: int, requests: Sequence[Requested], generators: Mapping[int, Any]) -> Any:
    """Return the tensors of a batch of requests; all have penalties if one has."""
    import torch

    engine = vllm()
    every = [settings(request.params) for request in requests]
    config = SimpleNamespace(scheduler_config=SimpleNamespace(max_num_seqs=len(requests)))
    kinds = (
        engine.builtin.MinTokensLogitsProcessor,
        engine.builtin.LogitBiasLogitsProcessor,
        engine.builtin.MinPLogitsProcessor,
    )
    processors = [kind(config, torch.device(device_name()), is_pin_memory=False) for kind in kinds]
    update = engine.interface.BatchUpdate(
        batch_size=len(requests),
        removed=(),
        added=[
            (place, own, request.prompt, request.output)
            for place, (own, request) in enumerate(zip(every, requests, strict=True))
        ],
        moved=(),
    )
    for processor in processors:
        processor.update_state(update)
    allowed = None
    masks = [request.params["mask"] for request in requests if "mask" in request.params]
    if masks:
        if any(len(mask) != size for mask in masks) or len(masks) != len(requests):
            raise NotExpressibleError("has a mask with one boolean per token")
        allowed = ~torch.tensor(masks)
    if any(own.allowed_token_ids for own in every):
        allowed = torch.zeros((len(every), size), dtype=torch.bool)
        for row, own in zip(allowed, every, strict=True):
            if own.allowed_token_ids:
                row.fill_(value=True)
                row[own.allowed_token_ids] = False
    bad_words = {
        place: [list(word) for word in request.params["bad_words"]]
        for place, request in enumerate(requests)
        if request.params.get("bad_words")
    }
    neutral = all(
        (own.repetition_penalty, own.frequency_penalty, own.presence_penalty) == (1, 0, 0)
        for own in every
    )
    greedy = [own.temperature < 1e-5 for own in every]
    longest = max(len(request.prompt) for request in requests)
    prompts = [
        request.prompt + [size] * (longest - len(request.prompt))  # the engine's padding
        for request in requests
    ]
    counts = [own.top_k if 0 < own.top_k < size else size for own in every]
    return engine.metadata.SamplingMetadata(
        temperature=None if all(greedy) else torch.tensor([own.temperature for own in every]),
        all_greedy=all(greedy),
        all_random=not any(greedy),
        top_p=torch.tensor([own.top_p for own in every])
        if any(own.top_p < 1 for own in every)
        else None,
        top_k=torch.tensor(counts, dtype=torch.int32) if min(counts) < size else None,
        generators=dict(generators),
        max_num_logprobs=-1,
        no_penalties=neutral,
        prompt_token_ids=torch.tensor(prompts, dtype=torch.int64),
        frequency_penalties=torch.tensor([own.frequency_penalty for own in every]),
        presence_penalties=torch.tensor([own.presence_penalty for own in every]),
        repetition_penalties=torch.tensor([own.repetition_penalty for own in every]),
        output_token_ids=[request.output for request in requests],
        spec_token_ids=[request.drafts for request in requests],
        allowed_token_ids_mask=allowed,
        bad_words_token_ids=bad_words,
        logitsprocs=engine.state.LogitsProcessors(processors),
    )


class VllmSession(SamplerSession):
    """The functions with a selected profile."""

    profiles: ClassVar = profiles_of(RULES) | {NAME, INTERFACE, *RACES} | _REPORTS
    refusing: ClassVar = (ValueError,)

    def __init__(self, profile: str) -> None:
        self.profile, self.is_own = profile, profile in {NAME, INTERFACE}
        vllm()

    def _rule(self, op: str) -> OwnRule | None:
        return RULES.get(op)

    def _answered(self, op: str, request: Mapping[str, Any]) -> Answer:  # noqa: PLR0911
        if request.get("prompt_length", 0) > len(request.get("history", ())):
            return Unsupported("needs the tokens of the prompt, not their number")
        if op == "seeds" and self.profile == STANDARD:
            return Ok({"batches": [_seeded(request, seeds) for seeds in request["batches"]]})
        if op in RULES or (self.is_own and op in {"chain", "distribution", "sample", "stat"}):
            asked = self._one_step if op in RULES else self._whole
            (out,) = asked(op, [request])
            if self.profile == INTERFACE and "keep" in out:
                check_ties(request, out["keep"])
            return Ok(out)
        if op == "batch":
            whole = self._whole if self.is_own else None
            return answer_batch(request, RULES, self._one_step, whole)
        if op == "draw" and self.profile in RACES:
            return self._race(request)
        if not self.is_own and op in {"steps", "top_logprobs", "prompt_logprobs"}:
            if op != "steps":
                return self._reports(op, request)
            return drawn_after_steps(*self.apply_steps(request), request)
        if self.is_own and op == "sequence":
            return answer_in_order(request, lambda each: Ok(self._whole("sample", [each])[0]))
        return Unsupported(f"has no {op} by the rule {self.profile}")

    def _race(self, request: Mapping[str, Any]) -> Answer:
        """Draw a token with torch's exponential noise of given numbers."""
        if "probs" not in request or "count" in request:
            return Unsupported("only draws one token from probabilities")
        row, numbers = row_of({"logits": request["probs"]}), unpack(request["uniforms"])
        if not len(row) or not 0 < float(row.sum()) < inf or float(row.min()) < 0:
            return Unsupported("does not check its probabilities")
        if len(numbers) != len(row) or not all(0 < number < 1 for number in numbers):
            return Unsupported("takes one random number above 0 and below 1 per token")
        words = words_of([RACES[self.profile](number) for number in numbers], len(row))
        sampled = vllm().topk_topp_sampler.random_sample(row.unsqueeze(0), {0: generator_of(words)})
        return Ok({"token": int(sampled)})

    def _given(self, op: str, request: Mapping[str, Any]) -> dict[str, Any]:
        given = unpack_parameters(request["params"])
        if self.is_own:
            return given
        given = RULES[op].parameters(op, self.profile, given, request)
        if op == "penalties" and len(request["history"]) > _WINDOW:
            raise NotExpressibleError("has no window")
        if given.get("temperature") != 0:  # which makes it greedy
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

        batch = [_requested(request, self._given(op, request)) for request in requests]
        exact = op in FILTERS
        rows = torch.stack([row_of(request, None, op, exact=exact) for request in requests])
        places = places_of(len(batch), layout)
        ordered = [batch[places.index(place)] for place in range(len(batch))]
        if self.is_own:
            rows = rows.float()
        after = _stepped(op, laid_out(rows, layout), ordered)[places]
        if op in FILTERS:
            return [{"keep": kept_in(row)} for row in after]
        dtype = type_of(requests[0]["logits"])
        return [{"logits": to_floats(row, dtype)} for row in after]

    def apply_steps(
        self, request: Mapping[str, Any]
    ) -> "tuple[torch.Tensor, list[dict[str, Any]]]":
        """Apply functions in the order of a question. Return the row, and what each one kept."""
        rows, stages = row_of(request).unsqueeze(0), []
        for one in request["steps"]:
            op = one["step"]
            if op not in RULES:
                raise NotExpressibleError(f"has no {op}")
            params = dict(one["params"])
            if op == "token_mask" and isinstance(params.get("vocab_size"), int):
                rows = rows[:, : params["vocab_size"]].clone()  # as the engine cuts its rows first
                _cut_words(params, rows.shape[-1])
            about = {**request, "logits": to_floats(rows[0], "f32"), "params": params}
            if params:
                rows = _stepped(op, rows, [_requested(request, self._given(op, about))])
            stages.append({"step": op, "keep": kept_in(rows[0])})
        return rows[0], stages

    def _whole(self, op: str, requests: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Answer questions about the whole chain with one call."""
        import torch

        rows = torch.stack([row_of(request) for request in requests])
        batch = [_requested(request, unpack_parameters(request["params"])) for request in requests]
        generators = {}
        if op == "sample":
            greedy = [settings(one.params).temperature < 1e-5 for one in batch]
            for place, request in enumerate(requests):
                if not greedy[place]:
                    numbers = [1 - number for number in unpack(request["uniforms"])]
                    words = words_of(numbers, rows.shape[-1])
                    generators[place] = generator_of(words)
        seen: list[torch.Tensor] = []
        engine, draw = vllm(), vllm().topk_topp_sampler.random_sample

        def watched(shares: torch.Tensor, *others: Any) -> torch.Tensor:
            seen.append(shares.clone())
            found: torch.Tensor = draw(shares, *others)
            return found

        sampler = engine.sampler.Sampler(logprobs_mode="processed_logits")
        with (
            patch.object(engine.topk_topp_sampler, "random_sample", watched),
            patch.object(engine.sampler, "LogprobsTensors", lambda _, logits, __: logits),
        ):
            torch.manual_seed(SEED)
            found = sampler(rows, metadata_of(rows.shape[-1], batch, generators))
        tokens, logits = found.sampled_token_ids.flatten().tolist(), found.logprobs_tensors
        answers: list[dict[str, Any]] = []
        for place, (request, token) in enumerate(zip(requests, tokens, strict=True)):
            if op == "sample":
                answers.append({"token": token})
            elif op == "chain":
                answers.append({"keep": kept_in(logits[place])})
            else:
                shares = seen[0][place] if seen else logits.new_zeros(logits.shape[-1])
                if not seen:
                    shares[token] = 1
                answers.append(_law(op, shares, request))
        return answers

    def _reports(self, op: str, request: Mapping[str, Any]) -> Answer:
        """Return the log-probabilities of the best tokens, and of a token."""
        if (choices_of(op, self.profile) or {}).keys() - {"of", "ties"}:
            return Unsupported(f"its {op} follows another rule")
        settings({"logprobs": request["n"]})  # which checks the number
        if op == "top_logprobs":
            row = row_of(request, exact=False)
            if self.profile != STANDARD:
                row, _ = VllmSession(STANDARD).apply_steps(request)
            dtype = type_of(request["logits"])
            return Ok(_reported(row, request["n"], request["token"], dtype))
        places = list(zip(request["rows"], request["tokens"][1:], strict=False))
        if len(places) + 1 != len(request["tokens"]):
            return Unsupported("has a row for each token of a prompt")
        rows = [
            _reported(row_of({"logits": row}, exact=False), request["n"], token, type_of(row))
            for row, token in places
        ]
        return Ok({"rows": [None, *rows]})


def _requested(request: Mapping[str, Any], params: dict[str, Any]) -> Requested:
    history, length = list(request.get("history", ())), request.get("prompt_length", 0)
    return Requested(history[:length], history[length:], params)


def _stepped(op: str, rows: "torch.Tensor", requests: Sequence[Requested]) -> "torch.Tensor":
    """Return the rows after one step, with the engine's function for it, which may change them."""
    engine = vllm()
    if any("words" in request.params for request in requests):
        if any(request.params.keys() > {"words"} for request in requests):
            raise NotExpressibleError("has one mask for a row")
        rows = _masked(rows, [request.params.get("words") for request in requests])
        others = [_only(one.params, one.params.keys() - {"words"}) for one in requests]
        requests = [replace(one, params=left) for one, left in zip(requests, others, strict=True)]
        if not any(others):
            return rows
    own = {"temperature", *FILTERS} & {op}
    batch = metadata_of(
        rows.shape[-1],
        [replace(one, params=_only(one.params, own or one.params)) for one in requests],
        {},
    )
    if op == "temperature":
        if not batch.all_random:
            raise NotExpressibleError("is greedy at this temperature")
        rows = engine.sampler.Sampler.apply_temperature(rows, batch.temperature, all_random=True)
    elif op == "min_p":
        for processor in batch.logitsprocs.argmax_invariant:
            rows = processor.apply(rows)
    elif op in {"top_k", "top_p"}:
        rows = engine.topk_topp_sampler.apply_top_k_top_p(rows, batch.top_k, batch.top_p)
    else:
        sampler = engine.sampler.Sampler()
        rows = sampler.apply_logits_processors(rows, batch, predict_bonus_token=False)
    return rows


def _cut_words(params: dict[str, Any], size: int) -> None:
    """Leave only the words of a mask that a vocabulary needs."""
    del params["vocab_size"]
    words, needed = params.get("words"), -(-size // 32)
    if isinstance(words, Mapping):
        params["words"] = {"map": [pair for pair in words["map"] if pair[0] < needed]}
    elif words is not None:
        params["words"] = words[:needed]


def _masked(rows: "torch.Tensor", masks: Sequence[Any]) -> "torch.Tensor":
    """Apply bitmasks with xgrammar's function, as the engine does."""
    import torch

    try:
        import xgrammar
    except ModuleNotFoundError:
        raise NotExpressibleError(
            "applies masks of words with xgrammar, which is missing"
        ) from None
    needed = -(-rows.shape[-1] // 32)
    places = [place for place, mask in enumerate(masks) if mask is not None]
    words = [whole_mask(mask, needed) if mask is not None else [0] * needed for mask in masks]
    bits = torch.tensor(words, dtype=torch.int64).to(torch.int32)
    xgrammar.apply_token_bitmask_inplace(rows, bits, indices=places)
    return rows


def _seeded(request: Mapping[str, Any], seeds: Sequence[int | None]) -> list[list[int]]:
    """Return the tokens of each row of a batch, some of which have seeds."""
    import torch

    if request["params"]:
        raise NotExpressibleError("only draws from unchanged rows")
    shares = to_tensor([request["probs"]]) if "probs" in request else row_of(request).softmax(-1)
    rows = shares.expand(len(seeds), -1)
    generators = {
        place: torch.Generator(device_name()).manual_seed(seed)
        for place, seed in enumerate(seeds)
        if seed is not None
    }
    draw, count = vllm().topk_topp_sampler.random_sample, request["tokens"]
    tokens = torch.stack([draw(rows.clone(), generators) for _ in range(count)], dim=1)
    found: list[list[int]] = tokens.tolist()
    return found


def _only(params: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if name in names}


def _law(op: str, shares: "torch.Tensor", request: Mapping[str, Any]) -> dict[str, Any]:
    if op == "distribution":
        return {"probs": to_floats(shares, type_of(request["logits"]))}
    many = shares.expand(request["draws"], -1).clone()
    counts = Counter(vllm().topk_topp_sampler.random_sample(many, {}).tolist())
    return {"counts": [list(pair) for pair in sorted(counts.items())]}


def _reported(row: "torch.Tensor", n: int, token: int, dtype: Type) -> dict[str, Any]:
    import torch

    size, falling = len(row), sorted(row.tolist(), reverse=True)
    if dtype == "f64":
        raise NotExpressibleError("reports log-probabilities of 32 bits")
    if not 0 <= token < size or n > size:
        raise NotExpressibleError("reports tokens that it drew, and no more than there are")
    if 0 < n < size and falling[n - 1] == falling[n]:
        raise NotExpressibleError("does not define which of equal tokens it reports")
    sampler, one = vllm().sampler.Sampler, torch.tensor([token])
    with patch.object(vllm().sampler, "LogprobsTensors", lambda *parts: parts):
        shares = sampler.compute_logprobs(row.unsqueeze(0))
        tokens, logprobs, ranks = sampler.gather_logprobs(shares, n, one)[:3]
    found = dict(zip(tokens[0].tolist(), logprobs[0].tolist(), strict=True))
    return {
        "tokens": list(found),
        "logprobs": to_floats(torch.tensor([*found.values()]), dtype),
        "rank": int(ranks[0]),
    }
