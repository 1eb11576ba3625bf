"""Which question has which number: the generator of a campaign.

Questions come in *groups* of `GROUP` about one vocabulary, tokenizer or profile,
so that it is loaded once. Question i is in group i // GROUP; what it is follows
from the generator, the seed and i alone. Of the vocabularies, most are drawn, and
some are those of the fixtures, which break habits that are rare among drawn ones.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from typing import Any, Final, Literal, TypeAlias

from hypothesis import strategies as st
from msgspec import Struct

from bpe_ref import Pipeline, Vocabulary
from tokenref.cases.tokenizers import fixture_tokenizers
from tokenref.cases.vocabularies import fixture_vocabularies
from tokenref.engines.reference import read_tokenizer
from tokenref.fuzzing.drawing import drawn
from tokenref.fuzzing.question import Question
from tokenref.fuzzing.written_subjects import named_subject, written
from tokenref.record import OPS, PIPELINE_OPS, SAMPLER_OPS, canonical_json
from tokenref.strategies import (
    TOKENIZER_QUESTIONS,
    VOCABULARY_QUESTIONS,
    mostly,
    vocabularies,
    words_of_tokenizer,
)
from tokenref.subjects import SAMPLERS, Subject, TokenizerFile

GENERATOR: Final = 1
"""Changes whenever a question of some seed and index becomes another one."""

GROUP: Final = 16
"""Questions about one thing."""

FINGERPRINTED: Final = 4
"""Groups of which the fingerprint is made."""

Kind: TypeAlias = Literal["vocabulary", "tokenizer", "sampler"]


class Selection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which questions a campaign asks."""

    ops: list[str]
    profiles: list[str] = []
    """Of samplers; all that there are if empty."""

    subjects: list[str] = []
    """Vocabularies and tokenizers by name or path; if empty, drawn ones and those shipped."""


def kind_of(op: str) -> Kind:
    """Return what an operation asks about.

    >>> kind_of("encode"), kind_of("tokenize"), kind_of("top_p")
    ('vocabulary', 'tokenizer', 'sampler')
    """
    if op in PIPELINE_OPS:
        return "tokenizer"
    return "sampler" if op in SAMPLER_OPS else "vocabulary"


def questions_of(selection: Selection, seed: int, group: int) -> list[Question]:
    """Return the questions of a group: those with the numbers from GROUP * group on.

    >>> selection = Selection(ops=["encode"])
    >>> [question.op for question in questions_of(selection, 1, 0)] == ["encode"] * GROUP
    True
    >>> questions_of(selection, 1, 5)[3].request == questions_of(selection, 1, 5)[3].request
    True
    """
    kinds = sorted({kind_of(op) for op in selection.ops})
    kind = drawn(st.sampled_from(kinds), GENERATOR, seed, "kind", group)
    ops = [op for op in OPS if op in selection.ops and kind_of(op) == kind]
    subject, name = _subject(kind, selection.subjects, seed, group)
    strategies = _strategies(ops, subject)
    either = st.one_of(*(st.tuples(st.just(op), each) for op, each in strategies.items()))
    questions = []
    for index in range(GROUP * group, GROUP * (group + 1)):
        op, request = drawn(either, GENERATOR, seed, "question", index)
        questions.append(Question(op, _profile(op, subject, request), subject, name, request))
    return questions


def fingerprint(selection: Selection, seed: int) -> str:
    """Return a digest of a campaign's first questions: equal where the same ones are drawn.

    Another version of the generator, of Hypothesis or of the fixtures may draw
    others for the same seed. What was found then has other numbers here.
    """
    hasher = sha256()
    for group in range(FINGERPRINTED):
        for question in questions_of(selection, seed, group):
            subject = written(question.subject, question.name)
            about = [question.op, question.profile, subject, dict(question.request)]
            hasher.update(canonical_json(about))
    return hasher.hexdigest()[:16]


def _subject(kind: Kind, names: Sequence[str], seed: int, group: int) -> tuple[Subject, str]:
    """Return what a group is about, and its name if it has one."""
    if kind == "sampler":
        return SAMPLERS, ""
    key = GENERATOR, seed, "subject", group
    if names:
        name = drawn(st.sampled_from(names), *key)
        return named_subject(name), name
    if kind == "tokenizer":
        name = drawn(st.sampled_from(_tokenizer_names()), *key)
        return fixture_tokenizers()[name], name
    shipped = st.sampled_from(sorted(fixture_vocabularies()))
    chosen: Vocabulary | str = drawn(mostly(vocabularies(), shipped, 3), *key)
    if isinstance(chosen, Vocabulary):
        return chosen, ""
    return fixture_vocabularies()[chosen].vocabulary, chosen


def _strategies(
    ops: Sequence[str], subject: Subject
) -> Mapping[str, st.SearchStrategy[dict[str, Any]]]:
    """Return what draws the questions of each operation about a subject."""
    if isinstance(subject, Vocabulary):
        return {op: VOCABULARY_QUESTIONS[op](subject) for op in ops}
    assert isinstance(subject, TokenizerFile)  # noqa: S101 - samplers are drawn elsewhere
    pipeline, words = _read(subject)
    return {op: TOKENIZER_QUESTIONS[op](pipeline, words) for op in ops}


def _profile(op: str, subject: Subject, request: Mapping[str, Any]) -> str:
    """Return whose answer a question about tokens asks for."""
    if isinstance(subject, TokenizerFile):
        return "hugging-face"
    return "tiktoken" if "bytes" in request and op in {"encode", "count"} else "definition"


@cache
def _tokenizer_names() -> list[str]:
    """Return the tokenizers of the fixtures whose answers do not depend on chance."""
    return [
        name
        for name, file in sorted(fixture_tokenizers().items())
        if b'"dropout": null' in file.content or b'"dropout"' not in file.content
    ]


@cache
def _read(file: TokenizerFile) -> tuple[Pipeline, list[str]]:
    pipeline = read_tokenizer(file.content, file.name, "hugging-face")
    return pipeline, words_of_tokenizer(pipeline)
