"""Several calls on one tokenizer: each answer is the one that its call alone has."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from authoring.cases.sessions import drafts
from authoring.cases.vocabularies import vocabulary_named
from authoring.mutants import calls
from authoring.mutants.mutant import Mutant, declared
from bpe_ref import Vocabulary
from tokenref.answers import (
    Answer,
    Crashed,
    NotAsked,
    Ok,
    Refused,
    Skipped,
    TimedOut,
    Unsupported,
    answer_calls,
    answers_of,
)
from tokenref.engines.reference import ReferenceEngine
from tokenref.engines.table import Unavailable, engine
from tokenref.judge import judge
from tokenref.questions.sequences import SessionInput, SessionOutput
from tokenref.record import make_case
from tokenref.strategies import VOCABULARY_QUESTIONS
from tokenref.verdicts import Exact

TINY = vocabulary_named("tiny")
LETTER = {"op": "decode", "in": {"ids": [97], "errors": "replace"}}


def alone(vocabulary: Vocabulary, calls: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the answer to each call, each of a tokenizer just loaded."""
    answers = []
    for call in calls:
        session = ReferenceEngine(with_stages=False).load(vocabulary, "alone")
        answer = session.answer(call["op"], call["in"])
        answers.append(dict(answer.out) if isinstance(answer, Ok) else {"code": answer.code})
    return answers


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_each_answer_is_the_one_that_its_call_alone_has(data: st.DataObject) -> None:
    names = st.sampled_from(["tiny", "specials_prefix", "missing_bytes"])
    vocabulary = vocabulary_named(data.draw(names))
    request = data.draw(VOCABULARY_QUESTIONS["session"](vocabulary))
    msgspec.convert(request, SessionInput)
    answer = ReferenceEngine().load(vocabulary, "it").answer("session", request)
    assert answer == Ok({"answers": alone(vocabulary, request["calls"])})
    assert isinstance(answer, Ok)
    msgspec.convert(dict(answer.out), SessionOutput)


@pytest.mark.parametrize("name", ["heap", "backtracking", "naive", "tiktoken"])
def test_an_engine_answers_sessions_without_code_of_its_own(name: str) -> None:
    found = engine(name)
    if isinstance(found, Unavailable):
        pytest.skip(found.reason)
    session = found.load(TINY, "tiny")
    assert not isinstance(session, Unsupported)
    calls = [{"op": "encode", "in": {"text": "hello"}}, LETTER]
    (answer,) = answers_of(session, "session", [{"calls": calls}])
    assert answer == Ok({"answers": alone(TINY, calls)})


class Recorder:
    """A session that notes what it is asked."""

    def __init__(self, *answers: Answer) -> None:
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        self._answers = list(answers)

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        self.asked.append((op, request))
        return self._answers.pop(0)


class Whole(Recorder):
    """One that takes many questions at once, as another program does."""

    def answer_many(self, op: str, requests: Sequence[Mapping[str, Any]]) -> list[Answer]:
        return [self.answer(op, request) for request in requests]


def test_the_calls_are_put_in_order_to_one_session() -> None:
    calls = [{"op": "count", "in": {"text": text}} for text in ("a", "b")]
    session = Recorder(Ok({"count": 1}), Ok({"count": 2}))
    (answer,) = answers_of(session, "session", [{"calls": calls}])
    assert answer == Ok({"answers": [{"count": 1}, {"count": 2}]})
    assert session.asked == [("count", {"text": "a"}), ("count", {"text": "b"})]


def test_another_program_is_asked_the_session_as_a_whole() -> None:
    session = Whole(Ok({"answers": []}))
    request = {"calls": [LETTER]}
    assert answers_of(session, "session", [request]) == [Ok({"answers": []})]
    assert session.asked == [("session", request)]


def test_a_refusal_is_an_answer_and_the_other_calls_are_asked_all_the_same() -> None:
    session = Recorder(Refused("UNKNOWN_ID", "no"), Ok({"text": "a", "stages": {}}))
    assert answer_calls(session.answer, {"calls": [LETTER, LETTER]}) == Ok(
        {"answers": [{"code": "UNKNOWN_ID"}, {"text": "a"}]}
    )


@pytest.mark.parametrize(
    "broken",
    [
        Unsupported("has none"),
        Crashed("broke"),
        Skipped("later"),
        TimedOut("was late"),
        NotAsked("is gone"),
    ],
)
def test_what_is_no_answer_is_that_of_the_session(broken: Answer) -> None:
    session = Recorder(Ok({"text": "a"}), broken)
    assert answer_calls(session.answer, {"calls": [LETTER, LETTER, LETTER]}) == broken
    assert len(session.asked) == 2


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({"calls": []}, "length >= 1"),
        ({"calls": [{"op": "pieces", "in": {"text": "a"}}]}, "Invalid value 'pieces'"),
        ({"calls": [{"op": "encode"}]}, "missing required field `in`"),
        ({"calls": [{"op": "encode", "in": {"text": "a"}, "more": 1}]}, "unknown field `more`"),
        (
            {
                "calls": [
                    {
                        "op": "count",
                        "in": {"recipe": {"before": "", "unit": "61", "times": 2, "after": ""}},
                    }
                ]
            },
            "not a recipe",
        ),
    ],
)
def test_a_session_that_is_none_is_refused(content: dict[str, Any], sentence: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=sentence):
        msgspec.convert(content, SessionInput)


@pytest.mark.parametrize("answer", [{}, {"ids": [1], "count": 1}, {"code": "WRONG"}])
def test_an_answer_to_a_call_is_exactly_one_thing(answer: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"answers": [answer]}, SessionOutput)


def test_the_first_call_that_differs_is_named() -> None:
    calls = [LETTER, {"op": "decode", "in": {"ids": [98], "errors": "replace"}}]
    case = make_case(
        "session",
        id="bpe/session/calls/it",
        profile="definition",
        vocab=TINY.digest(),
        why="An example of what is said of a session.",
        flags=[],
        spec="docs/bpe.md#several-calls",
        verdict=Exact(),
        input=msgspec.convert({"calls": calls}, SessionInput),
        out=msgspec.convert({"answers": [{"text": "a"}, {"text": "b"}]}, SessionOutput),
    )
    wrong = Ok({"answers": [{"text": "a"}, {"text": "ab"}]})
    assert judge(case, wrong, TINY).detail == (
        "answers, entry 1: expected {'text': 'b'}, got {'text': 'ab'}"
    )
    short = judge(case, Ok({"answers": [{"text": "a"}]}), TINY)
    assert short.detail == "answers, entry 1: expected {'text': 'b'}, got the end"


@pytest.mark.parametrize("each", declared(calls), ids=lambda each: each.name)
def test_a_mutant_that_remembers_is_right_in_each_call_alone(each: Mutant) -> None:
    vocabulary = each.witness.vocabulary
    assert isinstance(vocabulary, Vocabulary)
    calls = each.witness.request["calls"]
    for call, right in zip(calls, alone(vocabulary, calls), strict=True):
        session = each.engine.load(vocabulary, "it")
        assert session.answer("session", {"calls": [call]}) == Ok({"answers": [right]})
        given = session.answer(call["op"], call["in"])
        assert (given.code if isinstance(given, Refused) else None) == right.get("code")


def test_each_flag_has_records() -> None:
    flags = {flag for draft in drafts() for flag in draft.flags}
    assert {"CallState", "CallCache", "CallRefused"} <= flags
