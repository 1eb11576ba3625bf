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
"""The files that define one rule each; a decorator makes it a step."""


def _step_in(file: str) -> Step:
    """Return the step that a decorator made of the rule in a file."""
    functions = vars(import_module(f"sampling_ref.steps.{file}")).values()
    (step,) = (vars(each)["step"] for each in functions if "step" in getattr(each, "__dict__", ()))
    assert isinstance(step, Step)  # noqa: S101 - nothing else has such an attribute
    return step


STEPS: Mapping[str, Step] = MappingProxyType({name: _step_in(name) for name in RULES})
"""Every step by its name."""

copyreg.pickle(Step, lambda step: (_step_in, (step.name,)))  # a step holds functions of functions
