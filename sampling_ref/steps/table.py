"""The closed list of steps, under the names that profiles and chains use."""

import copyreg
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from sampling_ref.steps import (
    allowed_tokens,
    bad_words,
    begin_suppress,
    decaying_penalties,
    dry,
    dry_longest,
    dry_nearby,
    encoder_no_repeat_ngram,
    encoder_repetition,
    exponential_decay_length,
    forced_bos,
    forced_eos,
    frequency_penalty,
    logit_bias,
    lz,
    min_length,
    min_new_tokens,
    no_repeat_ngram,
    penalties,
    prefix_allowed_tokens,
    presence_penalty,
    remove_invalid_values,
    repetition_penalty,
    sequence_bias,
    smoothing,
    suppress,
)
from sampling_ref.steps.adaptive import ADAPTIVE_STEPS
from sampling_ref.steps.filters import FILTER_STEPS
from sampling_ref.steps.shapes import SHAPE_STEPS
from sampling_ref.steps.step import Apply, Step

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
    smoothing,
)
"""The files that define one rule each; `STEP` at the end of each is its step."""

STEPS: Mapping[str, Step] = MappingProxyType(
    {
        step.name: step
        for step in (
            *(rule.STEP for rule in RULES[:-1]),
            *SHAPE_STEPS[:2],
            RULES[-1].STEP,
            *SHAPE_STEPS[2:],
            *FILTER_STEPS,
            *ADAPTIVE_STEPS,
        )
    }
)
"""Every step by its name."""


def steps_applying(applies: Mapping[str, Apply]) -> Mapping[str, Step]:
    """Return steps of the table that do what they do in another way, by their names.

    >>> list(steps_applying({"top_k": lambda candidates, situation, values: candidates}))
    ['top_k']
    """
    return MappingProxyType(
        {name: replace(STEPS[name], apply=apply) for name, apply in applies.items()}
    )


def _step_named(name: str) -> Step:
    return STEPS[name]


copyreg.pickle(Step, lambda step: (_step_named, (step.name,)))  # functions of steps are closures
