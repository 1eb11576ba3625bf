"""Hypothesis strategies for tokenizers and samplers: what to ask, where they go wrong.

texts, vocabularies     texts of atoms, vocabularies that break the habits of trained ones
vocabulary_questions, tokenizer_questions     what each operation is asked, given one of them
"""

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
    "TOKENIZER_QUESTIONS",
    "VOCABULARY_QUESTIONS",
    "atoms",
    "disturbed",
    "growing_calls",
    "grown_splits",
    "ids_for",
    "long_runs",
    "mostly",
    "pieces_of",
    "texts",
    "texts_of",
    "trained_splits",
    "vocabularies",
    "vocabularies_of_letters",
    "vocabularies_of_texts",
    "words_of",
    "words_of_tokenizer",
    "worth_asking",
]
