"""What generate() of transformers does with some parameters: its processors, and their steps."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tokenref.engines.own_rules import NotExpressibleError, OwnRule
from tokenref.engines.torch_rows import device_name
from tokenref.engines.transformers_generation import processors
from tokenref.rules import STANDARD, rule_name

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
"""The step that each of the engine's classes is, in the engine's order."""

FILTERS: Final = frozenset({"top_h", "top_k", "top_p", "min_p", "typical", "epsilon", "eta"})
ROWS: Final = frozenset(PROCESSORS.values()) - FILTERS - {"logprobs"}
_FROM_THE_PROMPT: Final = (
    *("min_new_tokens", "max_new_tokens", "forced_eos_token_id", "begin_suppress_tokens"),
    *("exponential_decay_length_penalty", "encoder_repetition_penalty"),
    "encoder_no_repeat_ngram_size",
)
"""Parameters whose meaning depends on the prompt."""

_VALUES: Final[Mapping[str, tuple[str, Any]]] = {
    "top_k": ("top_k", 50),
    "top_p": ("top_p", 1.0),
    "min_p": ("min_p", None),
    "typical": ("typical_p", 1.0),
    "epsilon": ("epsilon_cutoff", 0.0),
    "eta": ("eta_cutoff", 0.0),
}
"""The parameter of each step that keeps at least so many tokens, and generate()'s default."""


_LEAST: Final = {"least": "min_tokens_to_keep"}
RULES: Final[Mapping[str, OwnRule]] = {
    "sequence_bias": OwnRule(STANDARD, {"biases": "sequence_bias"}),
    "encoder_repetition": OwnRule(
        STANDARD, {"penalty": "encoder_repetition_penalty", "encoder_input": "encoder_input_ids"}
    ),
    "repetition_penalty": OwnRule(
        STANDARD, {"penalty": "repetition_penalty", "skipped": "prompt_ignore_length"}
    ),
    "no_repeat_ngram": OwnRule(STANDARD, {"ngram_size": "no_repeat_ngram_size"}, {"ngram_size": 0}),
    "encoder_no_repeat_ngram": OwnRule(
        STANDARD,
        {"ngram_size": "encoder_no_repeat_ngram_size", "encoder_input": "encoder_input_ids"},
        {"ngram_size": 0},
    ),
    "bad_words": OwnRule(STANDARD, {"words": "bad_words_ids", "ends": "eos_token_id"}),
    "min_length": OwnRule(STANDARD, {"length": "min_length", "ends": "eos_token_id"}),
    "min_new_tokens": OwnRule(STANDARD, {"count": "min_new_tokens", "ends": "eos_token_id"}),
    "forced_bos": OwnRule(STANDARD, {"token": "forced_bos_token_id"}),
    "forced_eos": OwnRule(STANDARD, {"max_length": "max_length", "ends": "forced_eos_token_id"}),
    "suppress": OwnRule(STANDARD, {"tokens": "suppress_tokens"}),
    "begin_suppress": OwnRule(
        STANDARD, {"tokens": "begin_suppress_tokens", "forced": "forced_bos_token_id"}
    ),
    "temperature": OwnRule(STANDARD, {"temperature": "temperature"}),
    "top_k": OwnRule(rule_name("top_k", ties="all"), {"k": "top_k", **_LEAST}),
    "top_p": OwnRule(rule_name("top_p", ties="highest id", zero="best"), {"p": "top_p", **_LEAST}),
    "min_p": OwnRule(STANDARD, {"m": "min_p", **_LEAST}),
    "typical": OwnRule(STANDARD, {"mass": "typical_p", **_LEAST}),
    "epsilon": OwnRule(rule_name("epsilon", ties="all"), {"cutoff": "epsilon_cutoff", **_LEAST}),
    "eta": OwnRule(rule_name("eta", ties="all"), {"cutoff": "eta_cutoff", **_LEAST}),
    "logprobs": OwnRule(STANDARD, {}),
    "softmax": OwnRule(STANDARD, {}),
    "greedy": OwnRule(STANDARD, {}),
}
"""The rules that the engine's steps follow."""


class InvalidParameterError(Exception):
    """What the engine says about a parameter that it does not take."""


def steps(size: int, prompt: Sequence[int], parameters: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return generate()'s list for a row of a size, each processor after the name of its step.

    What the processors take and generate() does not is put in.
    """
    if not prompt and any(parameters.get(name) for name in _FROM_THE_PROMPT):
        raise NotExpressibleError("generate() begins with at least one token")
    if parameters.get("prefix_allowed_tokens_fn") is not None:
        raise NotExpressibleError("a function cannot be written in a record")
    ignored = parameters.get("prompt_ignore_length") or 0
    if not 0 <= ignored < max(1, len(prompt)):
        raise NotExpressibleError("generate() ignores no more than padding before the prompt")
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
        raise InvalidParameterError(" ".join(str(error).split())[:300]) from error
    return named


def _keeping(step: str, processor: Any, parameters: Mapping[str, Any], least: int) -> Any:
    """Return a filter that keeps at least so many tokens: generate() gives 1 to all of them."""
    if step not in _VALUES:
        return processor
    name, default = _VALUES[step]
    more = {"device": device_name()} if step == "eta" else {}
    return type(processor)(parameters.get(name, default), min_tokens_to_keep=least, **more)
