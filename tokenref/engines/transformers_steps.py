"""The list of processors that transformers' generate() builds, without a model.

generate() only needs a stand-in that returns a given vocabulary size. It checks the parameters,
fills in its defaults, builds the list in its own order, and passes it to our function
(`custom_generate`) instead of computing anything.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, Final

from tokenref.engines.own_rules import InvalidParameterError, NotExpressibleError, OwnRule
from tokenref.engines.torch_draws import device_name
from tokenref.rules import STANDARD, rule_name

NOT_OF_GENERATE: Final = ("min_tokens_to_keep", "encoder_input_ids", "prompt_ignore_length")
"""Parameters of processors that generate() does not take by name."""

REAL: Final = (
    *("encoder_repetition_penalty", "repetition_penalty", "temperature", "top_h", "top_p"),
    *("min_p", "typical_p", "epsilon_cutoff", "eta_cutoff"),
)
"""Parameters that must be Python floats; a record does not distinguish 2 from 2.0."""


@cache
def _model_type() -> Callable[[int], Any]:
    import torch
    from transformers import GenerationMixin, PreTrainedConfig, PreTrainedModel
    from transformers.utils import logging

    logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # transformers has none

    class NoConfig(PreTrainedConfig):  # type: ignore[no-untyped-call]  # as above
        model_type = "none"

        def __init__(self, vocab_size: int = 1, **others: Any) -> None:
            self.vocab_size = vocab_size
            super().__init__(**others)

    class NoModel(PreTrainedModel, GenerationMixin):  # type: ignore[no-untyped-call]  # as above
        config_class = NoConfig

        def __init__(self, size: int) -> None:
            super().__init__(NoConfig(vocab_size=size))

        def forward(self, input_ids: Any) -> Any:
            raise NotImplementedError

        @property
        def device(self) -> torch.device:
            return torch.device(device_name())

    return NoModel


@lru_cache(maxsize=64)
def _model(size: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _model_type()(size)


def prepare() -> None:
    """Import the slow modules."""
    _model(1)


def processors(size: int, prompt: Sequence[int], parameters: Mapping[str, Any]) -> list[Any]:
    """Return the processors for a row of `size` tokens after a prompt, which must not be empty.

    Parameters have the engine's names; it samples by default. Raises `ValueError`, like the engine,
    for values that its documentation does not allow.
    """
    import torch

    caught: list[Any] = []

    def catch(model: Any, input_ids: Any, logits_processor: Any, **_: Any) -> Any:
        caught.extend(logits_processor)
        return input_ids

    ignored = parameters.get("prompt_ignore_length") or 0
    mask = [[place >= ignored for place in range(len(prompt))]]
    given = {name: _own(name, value) for name, value in parameters.items()}
    for name in NOT_OF_GENERATE:
        given.pop(name, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about parameters that are set and not used
        _model(size).generate(
            torch.tensor([list(prompt)], dtype=torch.long),
            attention_mask=torch.tensor(mask, dtype=torch.long),
            custom_generate=catch,
            use_cache=False,
            **{"do_sample": True, **given},
        )
    return caught


def _own(name: str, value: Any) -> Any:
    """Return a parameter in the Python types that the engine requires."""
    if name in REAL and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if name == "sequence_bias" and isinstance(value, Mapping):
        return {key: _real(bias) for key, bias in value.items()}
    if name == "sequence_bias" and isinstance(value, list):
        return [[tokens, _real(bias)] for tokens, bias in value]
    if name == "exponential_decay_length_penalty" and isinstance(value, list):
        return tuple(value)
    if name == "prefix_allowed_tokens_fn" and isinstance(value, Mapping):
        return lambda _, tokens: _allowed(value, tuple(tokens.tolist()))
    if name == "prefix_allowed_tokens_fn" and isinstance(value, list):
        return lambda *_: value
    if name == "prefix_allowed_tokens_fn" and value is not None:
        raise NotExpressibleError("gets the allowed tokens as a list, or as a map from histories")
    return value


def _allowed(after: Mapping[Any, Any], history: tuple[int, ...]) -> list[int]:
    if history not in after:
        raise NotExpressibleError("asks after a history that the question does not list")
    return list(after[history])


def _real(value: Any) -> Any:
    return float(value) if type(value) is int else value


PROCESSORS: Final[Mapping[str, str]] = {
    "SequenceBiasLogitsProcessor": "sequence_bias",
    "EncoderRepetitionPenaltyLogitsProcessor": "encoder_repetition",
    "RepetitionPenaltyLogitsProcessor": "repetition_penalty",
    "NoRepeatNGramLogitsProcessor": "no_repeat_ngram",
    "EncoderNoRepeatNGramLogitsProcessor": "encoder_no_repeat_ngram",
    "NoBadWordsLogitsProcessor": "bad_words",
    "MinLengthLogitsProcessor": "min_length",
    "MinNewTokensLengthLogitsProcessor": "min_new_tokens",
    "PrefixConstrainedLogitsProcessor": "prefix_allowed_tokens",
    "ForcedBOSTokenLogitsProcessor": "forced_bos",
    "ForcedEOSTokenLogitsProcessor": "forced_eos",
    "InfNanRemoveLogitsProcessor": "remove_invalid_values",
    "ExponentialDecayLengthPenalty": "exponential_decay_length",
    "SuppressTokensLogitsProcessor": "suppress",
    "SuppressTokensAtBeginLogitsProcessor": "begin_suppress",
    "TemperatureLogitsWarper": "temperature",
    "TopHLogitsWarper": "top_h",
    "TopKLogitsWarper": "top_k",
    "TopPLogitsWarper": "top_p",
    "MinPLogitsWarper": "min_p",
    "TypicalLogitsWarper": "typical",
    "EpsilonLogitsWarper": "epsilon",
    "EtaLogitsWarper": "eta",
    "LogitNormalization": "logprobs",
}
"""The step of each of the engine's classes, in the engine's order."""

FILTERS: Final = frozenset({"top_h", "top_k", "top_p", "min_p", "typical", "epsilon", "eta"})
ROWS: Final = {*PROCESSORS.values(), "token_mask"} - FILTERS - {"logprobs"}
MASK: Final = "prefix_allowed_tokens"
"""The step that applies a mask."""

_FROM_THE_PROMPT: Final = (
    *("min_new_tokens", "max_new_tokens", "forced_eos_token_id", "begin_suppress_tokens"),
    "exponential_decay_length_penalty",
)
_ENCODER: Final = ("encoder_repetition_penalty", "encoder_no_repeat_ngram_size")
"""Parameters whose meaning depends on the prompt; the last ones on the encoder's input if given."""

_VALUES: Final[Mapping[str, tuple[str, Any]]] = {
    "top_k": ("top_k", 50),
    "top_p": ("top_p", 1.0),
    "min_p": ("min_p", None),
    "typical": ("typical_p", 1.0),
    "epsilon": ("epsilon_cutoff", 0.0),
    "eta": ("eta_cutoff", 0.0),
}
"""The parameter for the minimum number of kept tokens of each step, and its default."""


_LEAST: Final = {"least": "min_tokens_to_keep"}
_NONE: Final = {"least": (0,)}
RULES: Final[Mapping[str, OwnRule]] = {
    "sequence_bias": OwnRule(STANDARD, {"biases": "sequence_bias"}),
    "encoder_repetition": OwnRule(
        STANDARD, {"penalty": "encoder_repetition_penalty", "encoder_input": "encoder_input_ids"}
    ),
    "repetition_penalty": OwnRule(
        STANDARD, {"penalty": "repetition_penalty", "skipped": "prompt_ignore_length"}
    ),
    "no_repeat_ngram": OwnRule(
        STANDARD, {"ngram_size": "no_repeat_ngram_size"}, {"ngram_size": (0,)}
    ),
    "encoder_no_repeat_ngram": OwnRule(
        STANDARD,
        {"ngram_size": "encoder_no_repeat_ngram_size", "encoder_input": "encoder_input_ids"},
        {"ngram_size": (0,)},
    ),
    "bad_words": OwnRule(STANDARD, {"words": "bad_words_ids", "ends": "eos_token_id"}),
    "min_length": OwnRule(STANDARD, {"length": "min_length", "ends": "eos_token_id"}),
    "min_new_tokens": OwnRule(STANDARD, {"count": "min_new_tokens", "ends": "eos_token_id"}),
    "forced_bos": OwnRule(STANDARD, {"token": "forced_bos_token_id"}),
    "forced_eos": OwnRule(STANDARD, {"max_length": "max_length", "ends": "forced_eos_token_id"}),
    "prefix_allowed_tokens": OwnRule(STANDARD, {"allowed_after": "prefix_allowed_tokens_fn"}),
    "token_mask": OwnRule(STANDARD, {"tokens": "tokens", "booleans": "booleans", "words": "words"}),
    "remove_invalid_values": OwnRule(STANDARD, {}),
    "exponential_decay_length": OwnRule(
        STANDARD, {"start": "start", "growth": "growth", "ends": "eos_token_id"}
    ),
    "top_h": OwnRule(
        rule_name("top_h", entropy="shared"), {"alpha": "top_h"}, undefined=frozenset({"ties"})
    ),
    "suppress": OwnRule(STANDARD, {"tokens": "suppress_tokens"}),
    "begin_suppress": OwnRule(
        STANDARD, {"tokens": "begin_suppress_tokens", "forced": "forced_bos_token_id"}
    ),
    "temperature": OwnRule(STANDARD, {"temperature": "temperature"}),
    "top_k": OwnRule(
        rule_name("top_k", ties="all"), {"k": "top_k", **_LEAST}, {"k": (0,), **_NONE}
    ),
    "top_p": OwnRule(
        rule_name("top_p", ties="highest id", zero="best"), {"p": "top_p", **_LEAST}, _NONE
    ),
    "min_p": OwnRule(STANDARD, {"m": "min_p", **_LEAST}, _NONE, undefined=frozenset({"ties"})),
    "typical": OwnRule(STANDARD, {"mass": "typical_p", **_LEAST}, _NONE),
    "epsilon": OwnRule(
        rule_name("epsilon", ties="all"),
        {"cutoff": "epsilon_cutoff", **_LEAST},
        {"cutoff": (0, 1), **_NONE},
    ),
    "eta": OwnRule(
        rule_name("eta", ties="all"),
        {"cutoff": "eta_cutoff", **_LEAST},
        {"cutoff": (0, 1), **_NONE},
    ),
    "logprobs": OwnRule(STANDARD, {}),
    "softmax": OwnRule(STANDARD, {}),
    "greedy": OwnRule(STANDARD, {}),
}
"""The rules that the engine's steps follow."""


def steps(size: int, prompt: Sequence[int], parameters: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return generate()'s list for a vocabulary size, each processor with the name of its step.

    Parameters that only the processors take are set afterwards.
    """
    if not prompt and parameters:
        at_the_start = _at_the_start(**parameters)
        if at_the_start is not None:
            return [at_the_start]
    needing = _FROM_THE_PROMPT + (() if parameters.get("encoder_input_ids") else _ENCODER)
    if not prompt and any(parameters.get(name) for name in needing):
        raise NotExpressibleError("generate() needs at least one token")
    ignored = parameters.get("prompt_ignore_length") or 0
    if not 0 <= ignored < max(1, len(prompt)):
        raise NotExpressibleError("generate() ignores only padding before the prompt")
    try:
        found = processors(size, prompt or [0], parameters)
        encoder = parameters.get("encoder_input_ids")
        if encoder is not None:
            other = processors(size, encoder, {**parameters, "prompt_ignore_length": 0})
            found = [
                there if "Encoder" in type(here).__name__ else here
                for here, there in zip(found, other, strict=True)
            ]
        least = parameters.get("min_tokens_to_keep", 1)
        named = [(PROCESSORS[type(one).__name__], one) for one in found]
        if least != 1:
            named = [(step, _keeping(step, one, parameters, least)) for step, one in named]
    except (ValueError, TypeError) as error:
        raise InvalidParameterError(error) from error
    return named


def _at_the_start(**parameters: Any) -> tuple[str, Any] | None:
    """Return a step and its processor without a prompt, which generate() does not allow."""
    engine: Any = import_module("transformers")
    given = {name: value for name, value in parameters.items() if value is not None}
    try:
        match sorted(given):
            case ["eos_token_id", "exponential_decay_length_penalty" as name]:
                made = engine.ExponentialDecayLengthPenalty(
                    tuple(given[name]), given["eos_token_id"], 0
                )
            case ["begin_suppress_tokens" as name]:
                made = engine.SuppressTokensAtBeginLogitsProcessor(given[name], 0, device_name())
            case ["forced_eos_token_id" as name, "max_length"]:
                made = engine.ForcedEOSTokenLogitsProcessor(
                    given["max_length"], given[name], device_name()
                )
            case _:
                return None
    except (ValueError, TypeError) as error:
        raise InvalidParameterError(error) from error
    return PROCESSORS[type(made).__name__], made


def _keeping(step: str, processor: Any, parameters: Mapping[str, Any], least: int) -> Any:
    """Return a filter that keeps at least this many tokens; generate() always passes 1."""
    if step not in _VALUES:
        return processor
    name, default = _VALUES[step]
    more = {"device": device_name()} if step == "eta" else {}
    return type(processor)(parameters.get(name, default), min_tokens_to_keep=least, **more)
