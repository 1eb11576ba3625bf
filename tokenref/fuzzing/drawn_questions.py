"""The questions of a campaign, by their numbers.

Questions come in groups of `GROUP` about one vocabulary, tokenizer or profile, so that it is
loaded only once. Question i is in group i // GROUP. The generator, the seed and i determine it.
Most vocabularies are random; some are those of the fixtures, which contain rare cases.

Hypothesis chooses examples depending on earlier examples, on its database and on constants in the
loaded code. None of that may influence question i. So the choices are read from bytes, as a fuzzer
would supply them (`fuzz_one_input`, a public function), and the bytes are SHAKE-256 of a key.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256, shake_256
from importlib.metadata import version
from threading import Lock
from typing import Any, Final, TypeVar

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bpe_ref import Tokenizer, Vocabulary
from tokenref.catalogue import shipped_subject, shipped_subjects
from tokenref.fuzzing.findings import named_subject, written
from tokenref.fuzzing.plan import GENERATOR, GROUP, Plan, Question, Selection, kind_of
from tokenref.record import OPS, canonical_json
from tokenref.strategies import (
    SAMPLER_QUESTIONS,
    TOKENIZER_QUESTIONS,
    VOCABULARY_QUESTIONS,
    mostly,
    vocabularies,
    vocabularies_of_texts,
)
from tokenref.strategies.sampler_questions import LATER, profiles_of
from tokenref.strategies.tokenizer_questions import words_of_tokenizer, worth_asking
from tokenref.subjects import SAMPLERS, Subject, TokenizerFile, read_tokenizer

_FINGERPRINTED: Final = 4
"""Number of groups in the fingerprint."""

_NEEDS_TEXTS: Final = frozenset({"pieces", "special"})
"""Operations that need a pattern or special tokens."""


def questions_of(selection: Selection, seed: int, group: int) -> list[Question]:
    """Return the questions of a group, whose numbers start at GROUP * group.

    >>> selection = Selection(ops=["encode"])
    >>> [question.op for question in questions_of(selection, 1, 0)] == ["encode"] * GROUP
    True
    >>> questions_of(selection, 1, 5)[3].request == questions_of(selection, 1, 5)[3].request
    True
    """
    kinds = sorted({kind_of(op) for op in selection.ops})
    kind = drawn(st.sampled_from(kinds), GENERATOR, seed, "kind", group)
    ops = [op for op in OPS if op in selection.ops and kind_of(op) == kind]
    if kind == "sampler":
        return _sampler_questions(ops, selection.profiles, seed, group)
    subject, name = _subject(ops, selection, seed, group)
    strategies = _strategies(ops, subject)
    either = st.one_of(*(st.tuples(st.just(op), each) for op, each in strategies.items()))
    places = range(GROUP * group, GROUP * (group + 1))
    asked = [drawn(either, GENERATOR, seed, "question", index) for index in places]
    if not selection.pairs:
        asked = [(op, {k: v for k, v in each.items() if k != "pair"}) for op, each in asked]
    return [Question(op, _profile(op, subject, each), subject, name, each) for op, each in asked]


def three_questions(op: str, name: str, pattern: str | None = None) -> Iterator[Question]:
    """Yield three questions about a named vocabulary or tokenizer, to try an engine.

    >>> [question.op for question in three_questions("count", "doubles")]
    ['count', 'count', 'count']
    """
    subject = named_subject(name, pattern)
    strategy = _strategies([op], subject)[op]
    for place in range(3):
        asked = drawn(strategy, "a few", op, place)
        yield Question(op, _profile(op, subject, asked), subject, name, asked)


def fingerprint(selection: Selection, seed: int) -> str:
    """Return a digest of a campaign's first questions, to detect when they change.

    Another version of the generator, of Hypothesis or of the fixtures may draw other questions for
    the same seed. Then earlier findings have other numbers.
    """
    hasher = sha256()
    groups = (questions_of(selection, seed, group) for group in range(_FINGERPRINTED))
    questions = [question for group in groups for question in group]
    subjects = {(id(each.subject), each.name): each.subject for each in questions}
    dumped = {key: canonical_json(written(it, key[1])) for key, it in subjects.items()}
    for each in questions:  # each as a list, but a subject, which may be large, is dumped once
        op, profile, request = map(canonical_json, (each.op, each.profile, dict(each.request)))
        subject = dumped[id(each.subject), each.name]
        hasher.update(b"[" + b",".join((op, profile, subject, request)) + b"]")
    return hasher.hexdigest()[:16]


def _sampler_questions(
    ops: Sequence[str], profiles: Sequence[str], seed: int, group: int
) -> list[Question]:
    """Return questions of one operation under one profile."""
    choices = []
    for op in [op for op in ops if op in SAMPLER_QUESTIONS]:
        known = [name for name in profiles_of(op) if not profiles or name in profiles]
        first = [name for name in known if name not in LATER.get(op, ())] or known
        if first:
            choices.append([(op, name) for name in first])
    either = st.sampled_from(choices).flatmap(st.sampled_from)
    op, profile = drawn(either, GENERATOR, seed, "profile", group)
    later = [name for name in LATER.get(op, ()) if not profiles or name in profiles]
    if later:  # by another key, so that groups that keep their profile keep their questions
        one = mostly(st.just(profile), st.sampled_from(later), 2)
        profile = drawn(one, GENERATOR, seed, "later profile", group)
    strategy = SAMPLER_QUESTIONS[op](profile)
    return [
        Question(op, profile, SAMPLERS, "", drawn(strategy, GENERATOR, seed, "question", index))
        for index in range(GROUP * group, GROUP * (group + 1))
    ]


def plan_of(*, seed: int, selection: Selection, **more: Any) -> Plan:
    """Return the plan of a new campaign; `more` are other fields of `Plan`."""
    return Plan(
        hypothesis=version("hypothesis"),
        tokenref=version("tokenref"),
        seed=seed,
        selection=selection,
        fingerprint=fingerprint(selection, seed),
        **more,
    )


def _subject(
    ops: Sequence[str], selection: Selection, seed: int, group: int
) -> tuple[Subject, str]:
    """Return the subject of questions of these operations, and its name if it has one."""
    either: st.SearchStrategy[Vocabulary | str]
    if selection.subjects:
        either = st.sampled_from(selection.subjects)
    elif kind_of(ops[0]) == "tokenizer":
        either = st.sampled_from(_tokenizer_names())
    else:
        own = vocabularies_of_texts() if _NEEDS_TEXTS.issuperset(ops) else vocabularies()
        either = mostly(own, st.sampled_from(_shipped("vocab")), 3)
    chosen = drawn(either, GENERATOR, seed, "subject", group)
    if isinstance(chosen, Vocabulary):
        return chosen, ""
    return named_subject(chosen, selection.pattern), chosen


def _strategies(
    ops: Sequence[str], subject: Subject
) -> Mapping[str, st.SearchStrategy[dict[str, Any]]]:
    """Return the strategies for questions of each operation about a subject."""
    if isinstance(subject, Vocabulary):
        worth = [op for op in ops if worth_asking(op, subject)]
        return {op: VOCABULARY_QUESTIONS[op](subject) for op in worth or ops}
    assert isinstance(subject, TokenizerFile)  # noqa: S101 - samplers are drawn elsewhere
    pipeline, words = _read(subject)
    return {op: TOKENIZER_QUESTIONS[op](pipeline, words) for op in ops}


def _profile(op: str, subject: Subject, request: Mapping[str, Any]) -> str:
    """Return the profile of a question about tokens."""
    if isinstance(subject, TokenizerFile):
        return "hugging-face"
    return "tiktoken" if "bytes" in request and op in {"encode", "count"} else "definition"


@cache
def _tokenizer_names() -> list[str]:
    """Return the tokenizers of the fixtures that do not use randomness."""
    files = {name: shipped_subject(name) for name in _shipped("tokenizer")}
    return [
        name
        for name, file in files.items()
        if isinstance(file, TokenizerFile) and not json.loads(file.content)["model"].get("dropout")
    ]


def _shipped(folder: str) -> list[str]:
    entries = shipped_subjects().values()
    return sorted(entry.name for entry in entries if str(entry.path).startswith(f"{folder}/"))


@cache
def _read(file: TokenizerFile) -> tuple[Tokenizer, list[str]]:
    pipeline = read_tokenizer(file.content, file.name, "hugging-face")
    return pipeline, words_of_tokenizer(pipeline)


_Drawn = TypeVar("_Drawn")

_BYTES: Final = 1 << 12
_MOST_BYTES: Final = 1 << 20
_ATTEMPTS: Final = 40


class DrawingError(Exception):
    """A strategy that draws nothing, because of a bug here or in the strategy."""


def drawn(strategy: st.SearchStrategy[_Drawn], *key: str | int) -> _Drawn:
    """Return the value that a strategy draws for a key.

    If a key's bytes are too few, or are filtered out, the next bytes are used.

    >>> drawn(st.integers(0, 99), 1, "a") == drawn(st.integers(0, 99), 1, "a")
    True
    """
    name, size = "/".join(map(str, key)), _BYTES
    with _LOCK:
        for attempt in range(_ATTEMPTS):
            _WANTED[:] = [strategy]
            _GOT.clear()
            _from_bytes(shake_256(f"{name}/{attempt}".encode()).digest(size))
            if _GOT:
                value: _Drawn = _GOT.pop()
                return value
            size = min(2 * size, _MOST_BYTES)
    raise DrawingError(f"nothing could be drawn for {name} in {_ATTEMPTS} attempts")


_LOCK: Final = Lock()
_WANTED: Final[list[st.SearchStrategy[Any]]] = []
_GOT: Final[list[Any]] = []


@settings(database=None, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def _keep(data: st.DataObject) -> None:
    _GOT.append(data.draw(_WANTED[0]))


_from_bytes: Final = _keep.hypothesis.fuzz_one_input  # type: ignore[attr-defined]  # set by given
