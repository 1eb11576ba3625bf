"""The closed list of steps, under the names that profiles and chains use."""

import copyreg
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from sampling_ref.steps.step import Step

RULES = (
    *("repetition_penalty", "frequency_penalty", "presence_penalty", "penalties"),
    *("decaying_penalties", "encoder_repetition", "no_repeat_ngram", "encoder_no_repeat_ngram"),
    *("dry", "dry_nearby", "dry_longest", "lz", "logit_bias", "sequence_bias", "bad_words"),
    *("min_length", "min_new_tokens", "forced_bos", "forced_eos", "suppress", "begin_suppress"),
    *("remove_invalid_values", "exponential_decay_length", "allowed_tokens", "token_mask"),
    *("prefix_allowed_tokens", "temperature", "dynamic_temperature", "smoothing", "greedy"),
    *("logprobs", "top_k", "top_p", "min_p", "typical", "epsilon", "eta", "top_n_sigma", "top_a"),
    *("top_h", "tail_free", "xtc", "mirostat_1", "mirostat_2", "adaptive_p"),
)
"""The files that define one rule each; `STEP` at the end of each is its step."""

_FOUND: list[Step] = [import_module(f"sampling_ref.steps.{name}").STEP for name in RULES]

STEPS: Mapping[str, Step] = MappingProxyType({step.name: step for step in _FOUND})
"""Every step by its name."""


def _step_named(name: str) -> Step:
    return STEPS[name]


copyreg.pickle(Step, lambda step: (_step_named, (step.name,)))  # functions of steps are closures
