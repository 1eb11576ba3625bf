"""Hypothesis strategies for questions to tokenizers and samplers, aimed at where they go wrong.

texts, vocabularies     texts made of atoms; vocabularies unlike trained ones
rows, parameters     rows with ties and thresholds; numbers at which decisions change
vocabulary_questions, tokenizer_questions, sampler_questions, draw_questions     per operation
"""

from tokenref.rules import RACE_PROFILES
from tokenref.strategies.draw_questions import (
    ADAPTIVE_QUESTIONS,
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
from tokenref.strategies.sampler_questions import (
    LATER,
    SAMPLER_QUESTIONS,
    chains,
    profiles_of,
    sampler_calls,
    uniforms_for,
)
from tokenref.strategies.texts import atoms, long_runs, mostly, texts
from tokenref.strategies.tokenizer_questions import TOKENIZER_QUESTIONS, words_of_tokenizer
from tokenref.strategies.vocabularies import (
    disturbed,
    grown_splits,
    trained_splits,
    vocabularies,
    vocabularies_of_letters,
    vocabularies_of_texts,
    words_of,
)
from tokenref.strategies.vocabulary_questions import (
    VOCABULARY_QUESTIONS,
    growing_calls,
    ids_for,
    pieces_of,
    texts_of,
    worth_asking,
)

__all__ = [
    "ADAPTIVE_QUESTIONS",
    "LATER",
    "RACE_PROFILES",
    "SAMPLER_QUESTIONS",
    "TOKENIZER_QUESTIONS",
    "VOCABULARY_QUESTIONS",
    "adaptive_p",
    "atoms",
    "chains",
    "disturbed",
    "dyadic_weights",
    "even_rows",
    "growing_calls",
    "grown_splits",
    "histories",
    "ids_for",
    "invalid_rows",
    "logits",
    "long_runs",
    "mirostat",
    "mostly",
    "near_boundary",
    "pieces_of",
    "plain_rows",
    "profile_parameters",
    "profiles_of",
    "race_numbers",
    "races",
    "sampler_calls",
    "step_parameters",
    "stepped",
    "texts",
    "texts_of",
    "trained_splits",
    "uniforms",
    "uniforms_for",
    "vocabularies",
    "vocabularies_of_letters",
    "vocabularies_of_texts",
    "words_of",
    "words_of_tokenizer",
    "worth_asking",
]
