"""Hypothesis strategies for questions to tokenizers and samplers, aimed at where they go wrong.

texts, vocabularies     texts made of atoms; vocabularies unlike trained ones
rows, parameters     rows with ties and thresholds; numbers at which decisions change
vocabulary_questions, tokenizer_questions, sampler_questions, draw_questions     per operation
"""

from tokenref.strategies.draw_questions import (
    adaptive_p,
    even_rows,
    mirostat,
    plain_rows,
    race_numbers,
    races,
)
from tokenref.strategies.parameters import profile_parameters, step_parameters
from tokenref.strategies.rows import (
    dyadic_weights,
    histories,
    invalid_rows,
    logits,
    near_boundary,
    stepped,
    uniforms,
)
from tokenref.strategies.sampler_questions import SAMPLER_QUESTIONS, chains, sampler_calls
from tokenref.strategies.texts import atoms, long_runs, mostly, texts
from tokenref.strategies.tokenizer_questions import TOKENIZER_QUESTIONS
from tokenref.strategies.vocabularies import (
    vocabularies,
    vocabularies_of_letters,
    vocabularies_of_texts,
)
from tokenref.strategies.vocabulary_questions import VOCABULARY_QUESTIONS, growing_calls, texts_of

__all__ = [
    "SAMPLER_QUESTIONS",
    "TOKENIZER_QUESTIONS",
    "VOCABULARY_QUESTIONS",
    "adaptive_p",
    "atoms",
    "chains",
    "dyadic_weights",
    "even_rows",
    "growing_calls",
    "histories",
    "invalid_rows",
    "logits",
    "long_runs",
    "mirostat",
    "mostly",
    "near_boundary",
    "plain_rows",
    "profile_parameters",
    "race_numbers",
    "races",
    "sampler_calls",
    "step_parameters",
    "stepped",
    "texts",
    "texts_of",
    "uniforms",
    "vocabularies",
    "vocabularies_of_letters",
    "vocabularies_of_texts",
]
