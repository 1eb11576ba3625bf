"""mlx-lm's logits processors and samplers as an engine: https://github.com/ml-explore/mlx-lm.

Only its file `sample_utils.py` is loaded, on the processor, and its functions are not compiled.

What it answers
    The profile "mlx-lm": changes of logits, the temperature, top-k, top-p, min-p, the distribution,
    and tokens at temperature 0, by the functions that `make_logits_processors` and `make_sampler`
    return. The engine returns no distribution: it is the softmax, by MLX, of the logits that the
    engine draws from; at temperature 0 the token that it returns has all of it.
What it refuses
    A parameter, with a `ValueError`.
What is unsupported
    Given random numbers, because it draws its own. Stages of a chain. Rows of other types than
    32-bit.
"""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import module_from_spec, spec_from_file_location
from math import inf
from types import ModuleType
from typing import Any, ClassVar, Final
from unittest.mock import patch

from tokenref.answers import Answer, Ok, Refused, Unsupported
from tokenref.engines.own_rules import answer_in_order
from tokenref.floats import pack, type_of, unpack
from tokenref.questions.sampling import unpack_parameters

NAME: Final = "mlx-lm"
_CHANGES: Final = frozenset(
    {"logit_bias", "repetition_penalty", "presence_penalty", "frequency_penalty"}
)
_FILTERS: Final = frozenset({"top_k", "top_p", "min_p", "xtc"})


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


class MlxLmSession:
    """The functions with the engine's own profile."""

    profiles: ClassVar = frozenset({NAME})

    def __init__(self, profile: str) -> None:
        self.profile = profile
        sample_utils()

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        """Answer a request."""
        if op == "sequence":
            return answer_in_order(request, lambda each: self.answer("sample", each))
        if op not in {*_CHANGES, *_FILTERS, "temperature", "chain", "distribution", "sample"}:
            return Unsupported(f"has no operation {op} that can be called alone")
        if "logits" not in request or type_of(request["logits"]) != "f32":
            return Unsupported("is only given 32-bit logits")
        if request.get("state"):
            return Unsupported("has no state")
        given = unpack_parameters(request.get("params", {}))
        numbers = unpack(request["uniforms"]) if op == "xtc" else [0.0]
        if (given.get("xtc_probability", 0) not in {0, 1} and op != "xtc") or len(numbers) != 1:
            return Unsupported("XTC draws its own random number")
        if op in {"sample", "temperature"} and bool(given.get("temp")) != (op == "temperature"):
            return Unsupported("draws its own random numbers, or is greedy")
        if op in _FILTERS:
            given["temp"] = 1.0  # at 0 it filters nothing
        row = unpack(request["logits"])
        import mlx.core as mx

        try:
            with patch.object(mx.random, "uniform", lambda *_, **__: mx.array(numbers[0])):
                return _answered(op, row, list(request.get("history", ())), given)
        except ValueError as error:
            return Refused("INVALID_PARAMETER", str(error))


def _answered(op: str, row: list[float], history: list[int], given: dict[str, Any]) -> Answer:
    import mlx.core as mx

    before = {name: value for name, value in given.items() if _is_change(name)}
    rest = {name: value for name, value in given.items() if not _is_change(name)}
    logits: Any = mx.array([row], dtype=mx.float32)
    for processor in sample_utils().make_logits_processors(**before):
        logits = processor(mx.array(history, dtype=mx.int32), logits)
    if op == "temperature":
        seen: list[Any] = []
        with patch.object(mx.random, "categorical", seen.append):
            sample_utils().categorical_sampling(logits, rest["temp"])
        (logits,) = seen
    if op in {*_CHANGES, "temperature"}:
        return Ok({"logits": pack(logits[0].tolist(), "f32")})
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
