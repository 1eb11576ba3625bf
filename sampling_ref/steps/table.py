"""The closed list of steps, under the names that profiles and chains use."""

import copyreg
from collections.abc import Mapping
from types import MappingProxyType

from sampling_ref.steps import (
    adaptive_p,
    allowed_tokens,
    bad_words,
    begin_suppress,
    decaying_penalties,
    dry,
    dry_longest,
    dry_nearby,
    dynamic_temperature,
    encoder_no_repeat_ngram,
    encoder_repetition,
    epsilon,
    eta,
    exponential_decay_length,
    forced_bos,
    forced_eos,
    frequency_penalty,
    greedy,
    logit_bias,
    logprobs,
    lz,
    min_length,
    min_new_tokens,
    min_p,
    mirostat_1,
    mirostat_2,
    no_repeat_ngram,
    penalties,
    prefix_allowed_tokens,
    presence_penalty,
    remove_invalid_values,
    repetition_penalty,
    sequence_bias,
    smoothing,
    suppress,
    tail_free,
    temperature,
    top_a,
    top_h,
    top_k,
    top_n_sigma,
    top_p,
    typical,
    xtc,
)
from sampling_ref.steps.step import Step

RULES = (
    repetition_penalty,
    frequency_penalty,
    presence_penalty,
    penalties,
    decaying_penalties,
    encoder_repetition,
    no_repeat_ngram,
    encoder_no_repeat_ngram,
    dry,
    dry_nearby,
    dry_longest,
    lz,
    logit_bias,
    sequence_bias,
    bad_words,
    min_length,
    min_new_tokens,
    forced_bos,
    forced_eos,
    suppress,
    begin_suppress,
    remove_invalid_values,
    exponential_decay_length,
    allowed_tokens,
    prefix_allowed_tokens,
    temperature,
    dynamic_temperature,
    smoothing,
    greedy,
    logprobs,
    top_k,
    top_p,
    min_p,
    typical,
    epsilon,
    eta,
    top_n_sigma,
    top_a,
    top_h,
    tail_free,
    xtc,
    mirostat_1,
    mirostat_2,
    adaptive_p,
)
"""The files that define one rule each; `STEP` at the end of each is its step."""

STEPS: Mapping[str, Step] = MappingProxyType({rule.STEP.name: rule.STEP for rule in RULES})
"""Every step by its name."""


def _step_named(name: str) -> Step:
    return STEPS[name]


copyreg.pickle(Step, lambda step: (_step_named, (step.name,)))  # functions of steps are closures
