"""mlx-lm's logits processors and samplers as an engine: https://github.com/ml-explore/mlx-lm.

Only its file `sample_utils.py` is loaded, on the processor, and its functions are not compiled.

What it answers
    The profile "mlx-lm": changes of logits, the temperature, top-k, top-p, min-p, the distribution,
    and tokens at temperature 0, by the functions that `make_logits_processors` and `make_sampler`
    return. The engine returns no distribution: it is the softmax, by MLX, of the logits that the
    engine draws from; at temperature 0 the token that it returns has all of it. By the rules that
    they follow, single changes of logits, of 16 bits as well, min-p, and XTC with a given random
    number.
What it refuses
    A parameter, with a `ValueError`.
What is unsupported
    Draws with given random numbers, because it draws its own. Stages of a chain. Rows of other
    types than 32-bit by its profile.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import module_from_spec, spec_from_file_location
from math import inf, isfinite
from types import ModuleType
from typing import Any, ClassVar, Final
from unittest.mock import patch

from tokenref.answers import Answer, Ok, Unsupported
from tokenref.engines.own_rules import (
    NotExpressibleError,
    OwnRule,
    SamplerSession,
    answer_in_order,
    check_ties,
    is_clear,
    logarithms,
    profiles_of,
)
from tokenref.floats import Type, pack, type_of, unpack
from tokenref.questions.sampling import unpack_parameters
from tokenref.rules import STANDARD, rule_name

NAME: Final = "mlx-lm"
_CHANGES: Final = frozenset(
    {"logit_bias", "repetition_penalty", "presence_penalty", "frequency_penalty"}
)
_FILTERS: Final = frozenset({"top_k", "top_p", "min_p", "xtc"})
_HALF: Final = 0.5
"""The largest threshold of its XTC."""

_ZERO: Final = {"penalty": (0,)}
RULES: Final[Mapping[str, OwnRule]] = {
    "logit_bias": OwnRule(STANDARD, {"biases": "logit_bias"}),
    "repetition_penalty": OwnRule(
        STANDARD, {"penalty": "repetition_penalty", "window": "repetition_context_size"}, _ZERO
    ),
    "presence_penalty": OwnRule(
        rule_name("presence_penalty", scope="all"),
        {"penalty": "presence_penalty", "window": "presence_context_size"},
        _ZERO,
    ),
    "frequency_penalty": OwnRule(
        rule_name("frequency_penalty", scope="all", arithmetic="one by one"),
        {"penalty": "frequency_penalty", "window": "frequency_context_size"},
        _ZERO,
    ),
    "min_p": OwnRule(STANDARD, {"m": "min_p", "least": "min_tokens_to_keep"}, {"m": (0,)}),
    "xtc": OwnRule(
        rule_name("xtc", equality="does not", ties="all"),
        {
            "probability": "xtc_probability",
            "threshold": "xtc_threshold",
            "protected": "xtc_special_tokens",
        },
        {"probability": (0,)},
    ),
}
"""The rules of the engine's functions."""


@cache
def sample_utils() -> ModuleType:
    """Return the engine's module that samples; its package would import a whole model."""
    import mlx.core as mx

    path = distribution(NAME).locate_file("mlx_lm/sample_utils.py")
    found = spec_from_file_location("sample_utils_of_mlx_lm", str(path))
    if found is None or found.loader is None:
        raise PackageNotFoundError(NAME)
    module = module_from_spec(found)
    mx.set_default_device(mx.cpu)
    mx.disable_compile()
    found.loader.exec_module(module)
    return module


class MlxLmSession(SamplerSession):
    """The functions with the engine's own profile."""

    profiles: ClassVar = profiles_of(RULES) | {NAME}
    start: ClassVar = staticmethod(sample_utils)
    refusing: ClassVar = (ValueError,)

    def _answered(self, op: str, request: Mapping[str, Any]) -> Answer:
        if op == "sequence":
            return answer_in_order(request, lambda each: self.answer("sample", each))
        return (self._by_profile if self.profile == NAME else self._by_rule)(op, request)

    def _by_profile(self, op: str, request: Mapping[str, Any]) -> Answer:
        if op not in {*_CHANGES, *_FILTERS, "temperature", "chain", "distribution", "sample"}:
            return Unsupported(f"has no operation {op} that can be called alone")
        if "logits" not in request or type_of(request["logits"]) != "f32":
            return Unsupported("is only given 32-bit logits")
        if request.get("state"):
            return Unsupported("has no state")
        given = unpack_parameters(request.get("params", {}))
        coin = "uniforms" in request and op in {"xtc", "chain"}
        if given.get("xtc_probability", 0) not in {0, 1} and not coin:
            return Unsupported("XTC draws its own random number")
        if op in {"sample", "temperature"} and bool(given.get("temp")) != (op == "temperature"):
            return Unsupported("draws its own random numbers, or is greedy")
        return _asked(op, request, unpack(request["logits"]), given)

    def _by_rule(self, op: str, request: Mapping[str, Any]) -> Answer:
        if op not in RULES:
            return Unsupported(f"its {op} follows no named rule")
        params, history = unpack_parameters(request["params"]), request.get("history", ())
        if op in _CHANGES - {"logit_bias"} and params.get("window") is None:
            params["window"] = max(1, len(history))  # all of it
        given = RULES[op].parameters(op, self.profile, params, request)
        row = _row(op, params, request)
        if not 1 <= params.get("least", 1) <= len(row) or not params.get("threshold", 0) <= _HALF:
            raise NotExpressibleError("keeps tokens that there are, and has thresholds up to 0.5")
        tokens = [*history, *params.get("protected", ()), *(given.get("logit_bias") or ())]
        if not all(0 <= token < len(row) for token in tokens):
            raise NotExpressibleError("does not check its tokens")
        if request.get("prompt_length", 0) > len(history) or params.get("window", 1) < 1:
            raise NotExpressibleError("knows no prompt, and does not check its window")
        numbers = [value for name, value in given.items() if type(value) is float]
        if not all(map(isfinite, [*numbers, *(given.get("logit_bias") or {}).values()])):
            raise NotExpressibleError("does not check that its parameters are finite")
        answer = _asked(op, request, row, given)
        if op == "min_p" and params.get("least", 1) > 1 and isinstance(answer, Ok):
            check_ties(request, answer.out["keep"])
        return answer


def _row(op: str, params: Mapping[str, Any], request: Mapping[str, Any]) -> list[float]:
    """Return the row of a question about a rule."""
    clear = op in _FILTERS and is_clear(op, params, request)
    if op == "min_p" and not clear and params["m"] != 1:
        raise NotExpressibleError("compares logarithms, which rounding could decide")
    if "probs" in request:
        row = logarithms(request["probs"], _softmax, float, clear=clear or op == "min_p")
    else:
        row = unpack(request["logits"])
    if not all(logit < inf for logit in row) or max(row, default=-inf) == -inf:
        raise NotExpressibleError("does not check its row")
    if op in _FILTERS and "logits" in request and type_of(request["logits"]) != "f32":
        raise NotExpressibleError("is only given 32-bit logits for its filters")
    return row


def _softmax(row: Sequence[float]) -> list[float]:
    import mlx.core as mx

    logits: Any = mx.array(list(row), dtype=mx.float64)
    shares: Any = mx.softmax(logits - mx.logsumexp(logits), axis=-1).tolist()
    return list(shares)


def _asked(op: str, request: Mapping[str, Any], row: list[float], given: dict[str, Any]) -> Answer:
    """Answer a question about a row, with the parameters under the engine's names."""
    import mlx.core as mx

    has_coin = op == "xtc" or (op == "chain" and "uniforms" in request)
    numbers = unpack(request["uniforms"]) if has_coin else [0.0]
    if len(numbers) != 1 or not 0 <= numbers[0] < 1:
        return Unsupported("takes one random number below 1 for its XTC")
    if op in _FILTERS:
        given["temp"] = 1.0  # at 0 it filters nothing
    dtype = type_of(request["logits"]) if "logits" in request else "f64"
    with patch.object(mx.random, "uniform", lambda *_, **__: mx.array(numbers[0])):
        return _answered(op, row, dtype, list(request.get("history", ())), given)


def _answered(
    op: str, row: list[float], dtype: Type, history: list[int], given: dict[str, Any]
) -> Answer:
    import mlx.core as mx

    types = {"f64": mx.float64, "f32": mx.float32, "f16": mx.float16, "bf16": mx.bfloat16}
    before = {name: value for name, value in given.items() if _is_change(name)}
    rest = {name: value for name, value in given.items() if not _is_change(name)}
    logits: Any = mx.array([row], dtype=types[dtype])
    for processor in sample_utils().make_logits_processors(**before):
        logits = processor(mx.array(history, dtype=mx.int32), logits)
    if op == "temperature":
        seen: list[Any] = []
        with patch.object(mx.random, "categorical", seen.append):
            sample_utils().categorical_sampling(logits, rest["temp"])
        (logits,) = seen
    if op in {*_CHANGES, "temperature"}:
        return Ok({"logits": pack(logits[0].tolist(), dtype)})
    scores, token = _sampled(logits - mx.logsumexp(logits, keepdims=True), rest)
    if op == "sample":
        return Ok({"token": token})
    if op in {"chain", *_FILTERS}:
        kept = scores[0].tolist()
        return Ok({"keep": [at for at, score in enumerate(kept) if score > -inf]})
    if not rest.get("temp"):
        return Ok({"probs": pack([float(at == token) for at in range(len(row))], "f32")})
    shares: Any = mx.softmax(scores * (1 / rest["temp"]), axis=-1)
    return Ok({"probs": pack(shares[0].tolist(), "f32")})


def _is_change(name: str) -> bool:
    return name in _CHANGES or name.endswith("_context_size")


def _sampled(scores: Any, params: Mapping[str, Any]) -> tuple[Any, int]:
    """Run the engine's sampler. Return what it draws from (or was given), and its token."""
    seen, engine = [scores], sample_utils()
    draw = engine.categorical_sampling

    def watched(left: Any, temp: float) -> Any:
        seen.append(left)
        return draw(left, temp)

    engine.categorical_sampling = watched  # type: ignore[attr-defined]
    try:
        token = engine.make_sampler(**params)(scores).item()
    finally:
        engine.categorical_sampling = draw  # type: ignore[attr-defined]
    return seen[-1], int(token)
