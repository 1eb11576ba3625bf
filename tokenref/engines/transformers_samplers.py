"""The samplers of transformers as an engine, on any device of PyTorch.

https://github.com/huggingface/transformers, `generation/logits_process.py`.

What it answers
    The profile "transformers", and the rules that its steps follow: single steps, chains,
    distributions and draws, with the list of processors that generate() itself builds
    (`transformers_steps`). A step that generate() omits changes nothing. The engine's own profile
    first converts 16-bit rows to 32 bits, as generate() does; a step under a rule works on the row
    in its own type, as it does when a processor is called directly. The complete chain uses 32
    bits. A mask of tokens, booleans or words is a function for the processor of allowed tokens.
    Which drafts its loop of assisted decoding accepts (`transformers_drafts`).
What it draws
    The token for given random numbers, on the CPU (`torch_draws`). Behind steps in a given order,
    and behind drafts, torch draws with replacement, which takes one number. Without sampling, the
    first largest logit.
What it refuses
    A parameter, with a `ValueError` or `TypeError` while the list is built. A row that torch's
    distributions or draws reject. Any other exception is a crash.
What is unsupported
    Probabilities, because it needs logits. An empty prompt, if something depends on its length.
    Rows of a batch with different parameters or lengths.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Final
from unittest.mock import patch

from tokenref.answers import Answer, Ok, Refused, Unsupported
from tokenref.engines.own_rules import (
    PREFIXES,
    NotExpressibleError,
    OwnRule,
    SamplerSession,
    answer_in_order,
    check_ties,
    checked_drafts,
    profiles_of,
    rows_of,
    whole_mask,
)
from tokenref.engines.torch_draws import (
    counted,
    drawn,
    drawn_after_steps,
    kept_in,
    refused,
    to_floats,
    to_tensor,
    with_logits,
)
from tokenref.engines.transformers_drafts import verified
from tokenref.engines.transformers_steps import FILTERS, MASK, ROWS, RULES, prepare, steps
from tokenref.floats import type_of, unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.rules import STANDARD, rule_name, rule_names

if TYPE_CHECKING:
    import torch

NAME: Final = "transformers"
_ONE: Final = FILTERS | ROWS | {"softmax", "logprobs", "greedy"}
"""Operations on single steps."""

_DRAFTS: Final = OwnRule(
    rule_name("speculative", equality="accept", undrafted="accept"),
    {"weight": "weight"},
    {"weight": (0, 1)},
)
_MATCHING: Final = rule_name("speculative", method="matching")

SEED: Final = 0
"""The seed of the engine's own draws, so that runs are repeatable."""

_MOST_OF_TOP_H: Final = 100
"""How many tokens the engine's top-h looks at."""

_LISTS: Final = 256
"""How many lists of processors are cached."""


class TransformersSession(SamplerSession):
    """The processors with a selected profile."""

    profiles: ClassVar = profiles_of(RULES) | {NAME, *rule_names("speculative")}
    start: ClassVar = staticmethod(prepare)

    def __init__(self, profile: str) -> None:
        super().__init__(profile)
        self._lists: dict[str, list[Any]] = {}

    def _refused(self, error: Exception) -> Answer | None:
        if isinstance(error, ValueError) and "Expected parameter" in str(error):
            # of a law: torch.distributions checks it
            return Refused("INVALID_ROW", str(error).partition("\n")[0])
        if isinstance(error, ValueError) and "`prefix_allowed_tokens_fn`" in str(error):
            return Refused("INVALID_ROW", str(error))  # which a mask leaves nothing of
        return refused(error) or super()._refused(error)

    def _answered(self, op: str, request: Mapping[str, Any]) -> Answer:  # noqa: PLR0911
        if "probs" in request and op in FILTERS:
            self._own_parameters(op, request)
            request = with_logits(request, None, op)
        if "probs" in request:
            return Unsupported("accepts logits, not probabilities")
        if request.get("prompt_length", 0) > len(request.get("history", ())):
            return Unsupported("needs the tokens of the prompt, not their number")
        if op in {"batch", "steps"}:
            return self._batch(request) if op == "batch" else self._steps(request)
        if op in {"speculative", "speculative_steps"}:
            return self._verified(op, request)
        if op == "residual" and self.profile == STANDARD:
            return Ok(_residual(request))
        if op in _ONE:
            return Ok(self._one_step(op, [request])[0])
        if self.profile != NAME:
            return Unsupported(f"has no {op} by a rule")
        if op in {"chain", "distribution", "sample", "stat"}:
            return self._whole(op, request)
        return (
            answer_in_order(request, lambda each: self._whole("sample", each))
            if op == "sequence"
            else Unsupported(f"has no {op}")
        )

    def _one_step(self, op: str, requests: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Answer questions about one step with one call, each a row of a tensor."""
        dtype = type_of(requests[0]["logits"])
        given = self._own_parameters(op, requests[0])
        # As generate() does. Sums of 16 bits would decide otherwise about entropies.
        is_widened = dtype in {"f16", "bf16"} and (self.profile == NAME or op == "top_h")
        rows = [request["logits"] for request in requests]
        scores = to_tensor(rows, "f32" if is_widened else None)
        if op == "greedy":
            return [{"token": token} for token in scores.argmax(dim=-1).tolist()]
        if op == "softmax":
            return [{"probs": to_floats(row, dtype)} for row in scores.softmax(dim=-1)]
        if op == "logprobs":
            from transformers import LogitNormalization

            after = LogitNormalization()(_tokens([[]] * len(scores)), scores)
            return [{"logprobs": to_floats(row, dtype)} for row in after]
        after = scores
        for step, processor in self._list(requests[0], given, scores.shape[-1]):
            if step == (MASK if op == "token_mask" else op):
                after = processor(_tokens([one.get("history", ()) for one in requests]), after)
        if op in FILTERS:
            for row, request in zip(after, requests, strict=True) if op in PREFIXES else ():
                check_ties(request, kept_in(row))
            return [{"keep": kept_in(row)} for row in after]
        return [{"logits": to_floats(row, dtype)} for row in after]

    def _own_parameters(self, op: str, request: Mapping[str, Any]) -> dict[str, Any]:
        given = unpack_parameters(request.get("params", {}))
        if self.profile == NAME:
            return given
        if op not in RULES:
            raise NotExpressibleError(f"its {op} follows no named rule")
        if op == "top_h":
            size = len(unpack(request["probs" if "probs" in request else "logits"]))
            if given.pop("best", max(size, _MOST_OF_TOP_H)) != _MOST_OF_TOP_H:
                raise NotExpressibleError(f"its top_h looks at the best {_MOST_OF_TOP_H} tokens")
        given = RULES[op].parameters(op, self.profile, given, request)
        if op == "exponential_decay_length":
            given["exponential_decay_length_penalty"] = [given.pop("start"), given.pop("growth")]
        if op == "remove_invalid_values":
            given[op] = True
        if op == "token_mask":
            given = {"prefix_allowed_tokens_fn": _allowed(request, **given)}
        return given

    def _verified(self, op: str, request: Mapping[str, Any]) -> Answer:
        """Accept drafts, and draw the token behind them."""
        is_matching, history = self.profile == _MATCHING, list(request.get("history", ()))
        by_rows = not is_matching and bool(request["tokens"])  # it has no rows without drafts
        tokens, numbers, target, draft = checked_drafts(request, by_rows=by_rows)
        given: dict[str, Any] = {}
        if op == "speculative" and not is_matching:
            given = unpack_parameters(request["params"])
            given = _DRAFTS.parameters(op, self.profile, given, request)
        of_logits = op == "speculative_steps"
        rows = _logits(target, is_law=not of_logits)
        laws = _logits(draft, is_law=True) if draft else None
        processors = _Processors(TransformersSession(STANDARD), request) if of_logits else ()
        return Ok(verified(history, tokens, rows, laws, numbers, processors, **given))

    def _steps(self, request: Mapping[str, Any]) -> Answer:
        """Apply processors in the order of a question, which generate() does not choose."""
        return drawn_after_steps(*self.apply_steps(request), request)

    def apply_steps(
        self, request: Mapping[str, Any]
    ) -> tuple["torch.Tensor", list[dict[str, Any]]]:
        """Return a row after processors, and what each of them kept."""
        row = request["logits"]
        dtype, stages = type_of(row), []
        for one in request["steps"]:
            op = one["step"]
            if op not in ROWS and op not in FILTERS:
                raise NotExpressibleError(f"has no {op}")
            about = {**request, "logits": row, "params": one["params"]}
            given = self._own_parameters(op, about)
            scores = to_tensor([row])
            for step, processor in self._list(about, given, scores.shape[-1]):
                if step == (MASK if op == "token_mask" else op):
                    scores = processor(_tokens([request["history"]]), scores)
            stages.append({"step": op, "keep": kept_in(scores[0])})
            row = to_floats(scores[0], dtype)
        return scores[0], stages

    def _whole(self, op: str, request: Mapping[str, Any]) -> Answer:
        """Answer a question about the whole chain."""
        if request.get("state"):
            return Unsupported("has no state")
        parameters = unpack_parameters(request["params"])
        scores, stages = self._chain(request, parameters)
        if op == "chain":
            return Ok({"keep": kept_in(scores), "stages": stages})
        if parameters.get("do_sample") is False:
            token = int(scores.argmax())
            if op == "sample":
                return Ok({"token": token})
            if op == "stat":
                return Ok({"counts": [[token, request["draws"]]]})
            shares = scores.new_zeros(len(scores))
            shares[token] = 1
        else:
            shares = scores.softmax(dim=-1)
        if op == "distribution":
            return Ok({"probs": to_floats(shares, type_of(request["logits"]))})
        if op == "stat":
            return Ok({"counts": counted(shares, request["draws"], SEED)})
        return Ok({"token": drawn(shares, unpack(request.get("uniforms", {"f64": ""})))[0]})

    def _chain(
        self, request: Mapping[str, Any], parameters: Mapping[str, Any]
    ) -> tuple["torch.Tensor", list[dict[str, Any]]]:
        """Apply generate()'s list to a row. Return the result, and the kept tokens of each step."""
        scores = to_tensor([request["logits"]], "f32")
        tokens = _tokens([request.get("history", ())])
        stages = []
        for step, processor in self._list(request, parameters, scores.shape[-1]):
            scores = processor(tokens, scores)
            # generate() makes a min_length of min_new_tokens, which says the same once more.
            if step != "min_length" or parameters.get("min_new_tokens") is None:
                stages.append({"step": step, "keep": kept_in(scores[0])})
        return scores[0], stages

    def _list(
        self, request: Mapping[str, Any], parameters: Mapping[str, Any], size: int
    ) -> list[tuple[str, Any]]:
        """Return generate()'s list, each processor with the name of its step.

        The last few are cached.
        """
        prompt = request.get("history", [])[: request.get("prompt_length", 0)]
        key = repr((parameters, size, prompt))
        if key not in self._lists:
            if len(self._lists) >= _LISTS:
                self._lists.clear()
            self._lists[key] = steps(size, prompt, parameters)
        return self._lists[key]

    def _batch(self, request: Mapping[str, Any]) -> Answer:
        """Answer the rows of a batch with one call, if the engine supports that."""
        op, rows = request["op"], rows_of(request)
        if op not in _ONE:
            return Unsupported(f"cannot process batches of {op}")
        if op == "repetition_penalty":
            return Unsupported("knows the length of one prompt only")
        shared = [
            [row.get("params"), row.get("prompt_length"), len(row.get("history", ()))]
            for row in rows
        ]
        if any("probs" in row for row in rows):
            return Unsupported("accepts logits, not probabilities")
        if shared.count(shared[0]) != len(rows):
            return Unsupported("needs the same parameters and length for all rows of a batch")
        if len({type_of(row["logits"]) for row in rows}) > 1:
            return Unsupported("needs one type for all rows of a batch")
        if len({len(unpack(row["logits"])) for row in rows}) > 1:
            return Unsupported("needs one vocabulary for all rows of a batch")
        calls = request.get("calls", 1)
        return Ok({"rows": [each for _ in range(calls) for each in self._one_step(op, rows)]})


@dataclass(frozen=True)
class _Processors:
    """Steps in the order of a question as the list of processors of the engine's loop."""

    session: TransformersSession
    request: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.request["steps"])

    def __call__(self, tokens: "torch.Tensor", scores: "torch.Tensor") -> "torch.Tensor":
        """Return a row of logits after the steps."""
        about = {"history": tokens[0].tolist(), "logits": to_floats(scores[0], "f32")}
        for one in self.request["steps"]:
            after = unpack_parameters(one["params"]).get("allowed_after")
            if isinstance(after, Mapping) and tuple(about["history"]) not in after:
                return scores  # behind a rejected draft, where a question says nothing
        return self.session.apply_steps({**self.request, **about})[0]


def _logits(rows: Sequence[Mapping[str, Any]], *, is_law: bool) -> "torch.Tensor":
    """Return rows of logits, or of probabilities as logits, in 32 bits."""
    own = [with_logits({"probs": row}, "f32")["logits"] if is_law else row for row in rows]
    return to_tensor(own, "f32")


def _allowed(
    request: Mapping[str, Any],
    tokens: Sequence[int] | None = None,
    booleans: Sequence[bool] | Mapping[int, bool] | None = None,
    words: Any = None,
) -> list[int]:
    """Return the tokens that a mask allows."""
    row = unpack(request["logits"])
    if [tokens, booleans, words].count(None) != 2:
        raise NotExpressibleError("takes the tokens of one mask")
    if words is not None:
        mask = whole_mask(words, -(-len(row) // 32))
        tokens = [token for token in range(len(row)) if mask[token >> 5] >> (token & 31) & 1]
    if booleans is not None:
        is_map = isinstance(booleans, Mapping)
        pairs = list(booleans.items() if isinstance(booleans, Mapping) else enumerate(booleans))
        if (not is_map and len(pairs) != len(row)) or not all(
            type(one) is bool for _, one in pairs
        ):
            raise NotExpressibleError("has no mask of booleans that it could check")
        tokens = [token for token, is_allowed in pairs if is_allowed]
    tokens = tokens or ()
    if not all(0 <= token < len(row) for token in tokens):
        raise NotExpressibleError("does not check the tokens of a mask")
    if tokens and all(row[token] == -inf for token in tokens):
        raise NotExpressibleError("makes tokens possible if a mask leaves none")
    return list(tokens)


def _residual(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row from which a token is drawn after the rejection of a draft."""
    import torch
    from transformers.generation import utils

    target, draft = unpack(request["target"]), unpack(request["draft"])
    dtype = type_of(request["target"])
    worse = [
        token for token, pair in enumerate(zip(target, draft, strict=False)) if pair[0] < pair[1]
    ]
    if len(target) != len(draft) or not worse:
        raise NotExpressibleError("only rejects a draft that its target makes less probable")
    rows = [
        to_tensor([with_logits({"probs": row}, "f64")["logits"]])
        for row in (request["draft"], request["target"])
    ]
    seen: list[torch.Tensor] = []

    def watched(shares: torch.Tensor, **_: Any) -> torch.Tensor:
        seen.append(shares)
        return torch.zeros((1, 1), dtype=torch.long)

    with (
        patch.object(torch, "rand_like", torch.ones_like),
        patch.object(torch, "multinomial", watched),
    ):
        utils._speculative_sampling(  # noqa: SLF001 - the step of the engine's loop
            torch.tensor([worse[:1]]), rows[0].unsqueeze(0), 1, torch.stack([rows[1]] * 2, 1)
        )
    return {"probs": to_floats(seen[0][0], dtype)}


def _tokens(histories: Sequence[Sequence[int]]) -> "torch.Tensor":
    import torch

    return torch.tensor(histories, dtype=torch.long)
