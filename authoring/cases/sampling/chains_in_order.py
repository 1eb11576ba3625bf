"""Each filter of an engine after each step before it: it must see what that step left.

For every pair, small rows and parameters are tried until the answer differs from what a program
keeps whose filter uses the row as it was before the earlier step.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any, Final, NamedTuple

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.chain_draft import ChainTopic, alone, chain_request
from authoring.cases.sampling.draft import SamplerDraft, SamplerPurpose
from sampling_ref import PROFILES
from tokenref.answers import Ok
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.record import Case
from tokenref.rounding.margins import UndecidedError
from tokenref.rounding.verdicts import prove_decided

TOPIC: Final = ChainTopic(
    "in_order", ("ChainOrder", "EngineProfile"), "docs/engines.md#the-order-of-the-steps"
)

ROWS: Final = (
    (3.0, 2.5, 2.0, 1.0, 0.0),
    (2.0, 3.25, 0.5, 2.75, 1.0, -1.0),
    (1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75),
    (4.0, 1.5, 1.25, 1.0, 0.75, 0.5, 0.25, 0.0),
)
HISTORY: Final = (1, 0, 1, 0)


class Step(NamedTuple):
    """A step of an engine: parameters to try, and whether it removes tokens."""

    params: tuple[Mapping[str, Any], ...]
    is_filter: bool = True
    uniforms: tuple[float, ...] | None = None


def _each(name: str, *values: Any, **more: Any) -> tuple[Mapping[str, Any], ...]:
    return tuple({name: value, **more} for value in values)


_K: Final = Step(_each("top_k", 2, 3, 4, 1))
_P: Final = Step(_each("top_p", 0.5, 0.625, 0.75, 0.375, 0.875))
_M: Final = Step(_each("min_p", 0.5, 0.25, 0.125, 0.75))
_TYPICAL: Final = (0.5, 0.25, 0.75, 0.9375)
_BIAS: Final = ({4: 3.0}, {0: -2.0}, {1: 1.0}, {3: -4.0})

STEPS: Final[Mapping[str, Mapping[str, Step]]] = {
    "transformers": {
        "sequence_bias": Step(tuple({"sequence_bias": {(t,): b for t, b in each.items()}} for each in _BIAS), False),
        "repetition_penalty": Step(_each("repetition_penalty", 2.0, 4.0, 1.5), False),
        "no_repeat_ngram": Step(_each("no_repeat_ngram_size", 2), False),
        "bad_words": Step(_each("bad_words_ids", [[1]], [[0]], [[3]]), False),
        "suppress": Step(_each("suppress_tokens", [0], [1], [2, 3]), False),
        "temperature": Step(_each("temperature", 2.0, 0.5), False),
        "top_h": Step(_each("top_h", 0.5, 0.75, 0.25)),
        "top_k": _K,
        "top_p": _P,
        "min_p": _M,
        "typical": Step(_each("typical_p", *_TYPICAL)),
        "epsilon": Step(_each("epsilon_cutoff", 0.25, 0.125, 0.3, 0.0625)),
        "eta": Step(_each("eta_cutoff", 0.25, 0.125, 0.4, 0.0625)),
    },
    "llama.cpp": {
        "logit_bias": Step(_each("logit_bias", *_BIAS), False),
        "penalties": Step(_each("repeat_penalty", 2.0, 4.0, 1.5), False),
        "dry": Step(_each("dry_multiplier", 2.0, 1.0, dry_allowed_length=1, dry_base=1.75), False),
        "top_n_sigma": Step(_each("top_n_sigma", 1.0, 0.5, 1.5)),
        "top_k": _K,
        "typical": Step(_each("typical_p", *_TYPICAL)),
        "top_p": _P,
        "min_p": _M,
        "xtc": Step(_each("xtc_threshold", 0.125, 0.25, 0.1, xtc_probability=1.0), True, (0.25, 0.25)),
    },
    "vllm": {
        "allowed_tokens": Step(_each("allowed_token_ids", [1, 2, 3, 4], [0, 2, 4]), False),
        "bad_words": Step(_each("bad_words", [[1]], [[0]]), False),
        "logit_bias": Step(_each("logit_bias", *_BIAS), False),
        "repetition_penalty": Step(_each("repetition_penalty", 2.0, 4.0, 1.5), False),
        "frequency_penalty": Step(_each("frequency_penalty", 1.0, 2.0, 0.5), False),
        "presence_penalty": Step(_each("presence_penalty", 1.0, 2.0, 0.5), False),
        "temperature": Step(_each("temperature", 2.0, 0.5), False),
        "min_p": _M,
        "top_k": _K,
        "top_p": _P,
    },
    "sglang": {
        "frequency_penalty": Step(_each("frequency_penalty", 1.0, 2.0, 0.5), False),
        "presence_penalty": Step(_each("presence_penalty", 1.0, 2.0, 0.5), False),
        "repetition_penalty": Step(_each("repetition_penalty", 2.0, 4.0, 1.5), False),
        "logit_bias": Step(_each("logit_bias", *_BIAS), False),
        "temperature": Step(_each("temperature", 2.0, 0.5), False),
        "top_k": _K,
        "top_p": _P,
        "min_p": _M,
    },
    "exllamav2": {
        "decaying_penalties": Step(_each("token_repetition_penalty", 2.0, 4.0, 1.5), False),
        "logit_bias": Step(_each("token_bias", *_BIAS), False),
        "temperature": Step(_each("temperature", 2.0, 0.5), False),
        "top_k": _K,
        "top_p": _P,
        "top_a": Step(_each("top_a", 0.5, 1.0, 0.25)),
        "min_p": _M,
        "tail_free": Step(_each("tfs", 0.5, 0.75, 0.25, 0.9375)),
        "typical": Step(_each("typical", *_TYPICAL)),
    },
    "exllamav3": {
        "decaying_penalties": Step(_each("rep_p", 2.0, 4.0, 1.5), False),
        "temperature": Step(_each("temperature", 2.0, 0.5), False),
        "min_p": _M,
        "top_k": _K,
        "top_p": _P,
    },
    "mlx-lm": {
        "logit_bias": Step(_each("logit_bias", *_BIAS), False),
        "repetition_penalty": Step(_each("repetition_penalty", 2.0, 4.0, 1.5), False),
        "presence_penalty": Step(_each("presence_penalty", 1.0, 2.0, 0.5), False),
        "frequency_penalty": Step(_each("frequency_penalty", 1.0, 2.0, 0.5), False),
        "top_p": _P,
        "min_p": _M,
        "xtc": Step(_each("xtc_threshold", 0.125, 0.25, 0.1, xtc_probability=1.0), True, (0.25, 0.25)),
        "top_k": _K,
    },
    "mistral.rs": {
        "dry": Step(_each("dry_multiplier", 2.0, 1.0, dry_allowed_length=1, dry_base=1.75), False),
        "penalties": Step(_each("repetition_penalty", 2.0, 4.0, 1.5), False),
        "temperature": Step(_each("temperature", 2.0, 0.5), False),
        "top_k": _K,
        "top_p": _P,
        "min_p": _M,
    },
    "candle": {
        "repetition_penalty": Step(_each("repeat_penalty", 2.0, 4.0, 1.5), False),
        "temperature": Step(_each("temperature", 2.0, 0.5), False),
        "top_k": _K,
        "top_p": _P,
    },
    "tensorrt-llm": {
        "repetition_penalty": Step(_each("repetition_penalty", 2.0, 4.0, 1.5), False),
        "presence_penalty": Step(_each("presence_penalty", 1.0, 2.0, 0.5), False),
        "frequency_penalty": Step(_each("frequency_penalty", 1.0, 2.0, 0.5), False),
        "temperature": Step(_each("temperature", 2.0, 0.5), False),
        "top_k": _K,
        "top_p": _P,
    },
    "antigravity": {
        "repetition_penalty": Step(_each("repetition_penalty", 2.0, 4.0, 1.5), False),
        "temperature": Step(_each("temperature", 2.0, 0.5), False),
        "top_k": _K,
        "top_p": _P,
    },
    "flashinfer": {
        "temperature": Step(_each("temperature", 2.0, 0.5), False),
        "top_k": _K,
        "top_p": _P,
        "min_p": _M,
    },
    "openai": {
        "frequency_penalty": Step(_each("frequency_penalty", 1.0, 2.0, 0.5), False),
        "presence_penalty": Step(_each("presence_penalty", 1.0, 2.0, 0.5), False),
        "logit_bias": Step(_each("logit_bias", *_BIAS), False),
        "temperature": Step(_each("temperature", 2.0, 0.5), False),
        "top_p": _P,
    },
}  # fmt: skip
"""For each engine, its steps by name, in any order: the profile has the right one."""


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for engine, steps in STEPS.items():
        order = [stage.step for stage in PROFILES[engine].stages]
        names = sorted(steps, key=lambda name: _place(order, name))
        for at, later in enumerate(names):
            if steps[later].is_filter:
                for earlier in names[:at]:
                    yield from _pair(engine, earlier, later)


def _place(order: Sequence[str], name: str) -> int:
    """Return where a step is among those of an engine; a name of its own is that of a part."""
    return next(at for at, step in enumerate(order) if step == name or step.startswith(f"{name}_"))


@cache
def _keep(engine: str, row: tuple[float, ...], params: str) -> frozenset[int] | None:
    given = _PARAMS[params]
    answer = SamplerSession(engine).answer("chain", _request(engine, row, given))
    return frozenset(answer.out["keep"]) if isinstance(answer, Ok) else None


_PARAMS: Final[dict[str, Mapping[str, Any]]] = {}


def _kept(engine: str, row: tuple[float, ...], given: Mapping[str, Any]) -> frozenset[int] | None:
    name = repr(sorted(given.items(), key=str))
    _PARAMS[name] = given
    return _keep(engine, row, name)


def _request(engine: str, row: Sequence[float], given: Mapping[str, Any]) -> dict[str, Any]:
    uniforms = (0.25,) if "xtc_threshold" in given else None
    history = [token for token in HISTORY if token < len(row)]
    return chain_request(row, alone(engine, **given), history, uniforms=uniforms)


def old_row(
    engine: str,
    row: tuple[float, ...],
    first: Mapping[str, Any],
    second: Mapping[str, Any],
    *,
    is_filter: bool,
) -> frozenset[int] | None:
    """Return what is kept if the second step uses the row as it was before the first.

    >>> sorted(old_row("vllm", (3.0, 2.5, 2.0), {"top_k": 2}, {"top_p": 0.6}, is_filter=True))
    [0, 1]
    """
    kept = _kept(engine, row, second)
    if kept is None or not is_filter:
        return kept
    others = _kept(engine, row, first)
    return None if others is None else kept & others


def _pair(engine: str, earlier: str, later: str) -> Iterator[SamplerDraft]:
    """Yield a case about two steps, if there is a question that shows their order."""
    one, two = STEPS[engine][earlier], STEPS[engine][later]
    for row, first, second in product(ROWS, one.params, two.params):
        right = _kept(engine, row, {**first, **second})
        wrong = old_row(engine, row, first, second, is_filter=one.is_filter)
        if right is None or wrong is None or right == wrong:
            continue
        request = _request(engine, row, {**first, **second})
        try:
            prove_decided(engine, request)
        except UndecidedError:
            continue
        yield TOPIC.case(
            "chain",
            f"{engine}-{earlier}-{later}",
            engine,
            request,
            f"{engine}: {later.replace('_', ' ')} after {earlier.replace('_', ' ')} keeps "
            f"{len(right)} tokens; by the row as it was before, {len(wrong)} would be left"
            + (", others." if len(wrong) == len(right) else "."),
            _keeps_other_than(sorted(wrong)),
        )
        return


def _keeps_other_than(wrong: list[int]) -> SamplerPurpose:
    def check(case: Case) -> None:
        if case.out is not None and list(getattr(case.out, "keep", [])) == wrong:
            raise PurposeError(f"{case.id}: must not keep {wrong}")

    return check
