"""The runner, driven by small engines that are right, wrong, broken, or say nothing useful."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pytest

from bpe_ref import Vocabulary, vocabulary_by_concatenation
from tokenref.answers import Answer, Ok, Refused, Session, Unsupported
from tokenref.catalogue import Catalogue, Selection
from tokenref.engines.reference import ReferenceEngine
from tokenref.engines.table import engine_names
from tokenref.errors import InvalidRunError
from tokenref.known import Known, read_known, stale_globs
from tokenref.questions.text import IdsOutput, TextInput
from tokenref.record import Case, make_case
from tokenref.record_files import Manifest, VocabularyEntry
from tokenref.runner import Run, run_engine
from tokenref.verdicts import Exact, MustRefuse

VOCABULARY = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2})
ABSENT = "sha256:" + "0" * 64

Reply: TypeAlias = Callable[[str, Mapping[str, Any]], Answer]


class PanicError(BaseException):
    """As a Rust panic arrives in Python."""


@dataclass(frozen=True)
class FakeEngine:
    """An engine that answers as the function says."""

    reply: Reply
    name: str = "fake"
    version: str = "1.0"

    def load(self, vocabulary: Vocabulary, name: str) -> Session | Unsupported:
        assert vocabulary is VOCABULARY
        assert name == "small"
        return FakeSession(self.reply)


@dataclass(frozen=True)
class FakeSession:
    reply: Reply

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        return self.reply(op, request)


@dataclass(frozen=True)
class FakeBatches:
    """An engine that takes many questions at once, and may lose some, or break."""

    keeps: Callable[[list[Answer]], list[Answer]]
    name: str = "fake"
    version: str = "1.0"

    def load(self, vocabulary: Vocabulary, name: str) -> "FakeBatches":
        assert vocabulary is VOCABULARY
        assert name == "small"
        return self

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        return panicking_at_ab(op, request)

    def answer_many(self, op: str, requests: Sequence[Mapping[str, Any]]) -> list[Answer]:
        return self.keeps([right(op, request) for request in requests])


@dataclass(frozen=True)
class FailingToLoad:
    """An engine that can load nothing: it says so, or breaks."""

    refusal: Unsupported | BaseException
    name: str = "fake"
    version: str = "1.0"

    def load(self, vocabulary: Vocabulary, name: str) -> Session | Unsupported:
        assert vocabulary.tokens
        assert name
        if isinstance(self.refusal, BaseException):
            raise self.refusal
        return self.refusal


def right(op: str, request: Mapping[str, Any]) -> Answer:
    session = ReferenceEngine(with_stages=False).load(VOCABULARY, "small")
    assert not isinstance(session, Unsupported)
    return session.answer(op, request)


def wrong(_: str, __: Mapping[str, Any]) -> Answer:
    return Ok({"ids": [0, 0, 0, 0]})


def refusing(_: str, __: Mapping[str, Any]) -> Answer:
    return Refused("UNKNOWN_ID", "no")


def without_operations(_: str, __: Mapping[str, Any]) -> Answer:
    return Unsupported("can do nothing")


def raising(_: str, __: Mapping[str, Any]) -> Answer:
    raise KeyError("lost")


def panicking_at_ab(op: str, request: Mapping[str, Any]) -> Answer:
    if request["text"] == "ab":
        raise PanicError("index out of bounds")
    return right(op, request)


def encode_case(slug: str, text: str, ids: list[int], vocab: str | None = None) -> Case:
    return make_case(
        "encode",
        id=f"bpe/encode/runner/{slug}",
        profile="definition",
        vocab=vocab or VOCABULARY.digest(),
        why="A case to run the runner with.",
        flags=[],
        spec="definition",
        verdict=Exact(),
        input=TextInput(text=text),
        out=IdsOutput(ids=ids),
    )


TOGETHER = encode_case("together", "ab", [2])
APART = encode_case("apart", "ba", [1, 0])
CANARY = encode_case("canary", "ab", [0, 1])
NOT_HERE = encode_case("not-here", "ab", [2], ABSENT)
MISSING = make_case(
    "encode",
    id="bpe/encode/runner/missing",
    profile="definition",
    vocab=VOCABULARY.digest(),
    why="A case that must be refused.",
    flags=[],
    spec="definition",
    verdict=MustRefuse(codes=["MISSING_BYTE"]),
    input=TextInput(text="x"),
)
CASES = [TOGETHER, APART, MISSING]


def catalogue(*canaries: Case) -> Catalogue:
    entries = [
        VocabularyEntry(name="small", digest=VOCABULARY.digest(), path="small.json", licence="MIT"),
        VocabularyEntry(name="no_such_name", digest=ABSENT, path=None, licence="MIT"),
    ]
    manifest = Manifest(
        format=1,
        cases=len(CASES),
        flags=[],
        files=[],
        vocabularies=entries,
        tokenizers=[],
        retired=[],
        version="1.0.0",
    )
    chosen = list(canaries) or [CANARY]
    return Catalogue(Path("no-folder"), manifest, CASES, chosen, {VOCABULARY.digest(): VOCABULARY})


def run(
    reply: Reply,
    *cases: Case,
    known: Sequence[Known] = (),
    complete: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Run:
    return run_engine(
        FakeEngine(reply),
        cases or CASES,
        catalogue(),
        known=known,
        complete=complete,
        progress=progress,
    )


def statuses(finished: Run) -> list[str]:
    return [result.judgement.status for result in finished.results]


def entry(*globs: str, status: Literal["fail", "crash"] = "fail", engine: str = "fake") -> Known:
    return Known(
        engine=engine,
        cases=list(globs),
        status=status,
        title="differs",
        reason="A difference that is understood.",
        link="docs/known.md",
    )


def test_a_right_engine_is_clean() -> None:
    finished = run(right)
    assert statuses(finished) == ["pass", "pass", "pass"]
    assert (finished.exit_code, finished.is_valid, finished.failures) == (0, True, [])
    assert (finished.engine, finished.version, finished.selected) == ("fake", "1.0", 3)
    assert all(result.milliseconds >= 0 for result in finished.results)


def test_a_wrong_engine_fails_everywhere() -> None:
    finished = run(wrong)
    assert statuses(finished) == ["fail", "fail", "fail"]
    assert (finished.exit_code, len(finished.failures)) == (1, 3)
    assert "expected 2 'ab', got 0 'a'" in finished.results[0].judgement.detail


def test_a_refusal_passes_only_for_the_right_reason() -> None:
    finished = run(refusing)
    assert statuses(finished) == ["wrong_error", "wrong_error", "wrong_error"]
    finished = run(lambda _, __: Refused("MISSING_BYTE", "x"))
    assert statuses(finished) == ["wrong_error", "wrong_error", "pass"]
    assert finished.exit_code == 1


def test_an_exception_is_a_crash_of_that_case_and_no_refusal() -> None:
    finished = run(raising)
    assert statuses(finished) == ["crash", "crash", "crash"]
    assert finished.results[0].judgement.detail == "KeyError: 'lost'"
    assert finished.exit_code == 1


def test_the_run_goes_on_after_a_panic() -> None:
    finished = run(panicking_at_ab)
    assert statuses(finished) == ["crash", "pass", "pass"]
    assert finished.results[0].judgement.detail == "PanicError: index out of bounds"
    assert finished.exit_code == 1


def test_questions_are_put_together_where_an_engine_takes_many() -> None:
    finished = run_engine(FakeBatches(lambda answers: answers), CASES, catalogue())
    assert statuses(finished) == ["pass", "pass", "pass"]


def test_where_many_questions_break_together_each_is_asked_alone() -> None:
    def panic(_: list[Answer]) -> list[Answer]:
        raise PanicError("all at once")

    for keeps in (panic, lambda answers: answers[1:]):
        finished = run_engine(FakeBatches(keeps), CASES, catalogue())
        assert statuses(finished) == ["crash", "pass", "pass"]


def test_the_users_interrupt_ends_the_run() -> None:
    def interrupt(_: str, __: Mapping[str, Any]) -> Answer:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(interrupt)


def test_an_engine_that_breaks_while_loading_crashes_in_each_case() -> None:
    finished = run_engine(FailingToLoad(PanicError("table full")), CASES, catalogue())
    assert statuses(finished) == ["crash", "crash", "crash"]
    assert finished.exit_code == 1


def test_a_run_in_which_all_is_unsupported_is_invalid() -> None:
    finished = run_engine(FailingToLoad(Unsupported("too large")), CASES, catalogue())
    assert statuses(finished) == ["unsupported", "unsupported", "unsupported"]
    assert finished.results[0].judgement.detail == "too large"
    assert finished.exit_code == 3
    assert run(without_operations).exit_code == 3


def test_unsupported_cases_are_no_failures() -> None:
    def only_apart(op: str, request: Mapping[str, Any]) -> Answer:
        return right(op, request) if request["text"] == "ba" else Unsupported("too hard")

    finished = run(only_apart)
    assert statuses(finished) == ["unsupported", "pass", "unsupported"]
    assert finished.exit_code == 0
    assert finished.count("unsupported", "pass") == 3


def test_a_case_whose_vocabulary_is_absent_is_not_run() -> None:
    finished = run(right, TOGETHER, NOT_HERE)
    assert statuses(finished) == ["pass", "not_run"]
    assert "no_such_name" in finished.results[1].judgement.detail
    assert finished.exit_code == 0
    assert run(right, NOT_HERE).exit_code == 3


def test_a_canary_that_passes_makes_the_run_invalid() -> None:
    finished = run_engine(FakeEngine(right), CASES, catalogue(TOGETHER))
    assert statuses(finished) == ["pass", "pass", "pass"]
    assert finished.trouble == [
        (
            "self-check failed: the judge accepted a known-wrong answer (canary "
            "bpe/encode/runner/together)"
        )
    ]
    assert (finished.is_valid, finished.exit_code) == (False, 3)


def test_a_run_without_a_result_for_each_case_is_invalid() -> None:
    finished = run(right)
    finished.results.pop()
    assert finished.exit_code == 3


def test_a_known_difference_is_no_failure() -> None:
    entries = [entry("bpe/encode/runner/*", status="fail")]
    finished = run(wrong, known=entries, complete=True)
    assert statuses(finished) == ["xfail", "xfail", "xfail"]
    assert finished.exit_code == 0


def test_a_known_difference_that_passes_is_a_failure() -> None:
    finished = run(right, known=[entry("*/together")], complete=True)
    assert statuses(finished) == ["xpass", "pass", "pass"]
    assert finished.exit_code == 1


def test_a_known_crash_does_not_excuse_a_wrong_answer() -> None:
    finished = run(wrong, known=[entry("*", status="crash")])
    assert statuses(finished) == ["fail", "fail", "fail"]
    finished = run(panicking_at_ab, known=[entry("*/together", status="crash")])
    assert statuses(finished) == ["xfail", "pass", "pass"]


def test_a_known_difference_with_another_status_fails_and_is_not_gone() -> None:
    finished = run(wrong, known=[entry("*/together", status="crash")], complete=True)
    assert (finished.exit_code, finished.stale) == (1, [])
    said = " (fails with another status than its known difference, crash)"
    assert sum(each.judgement.detail.endswith(said) for each in finished.results) == 1


def test_known_differences_of_ones_own_records_are_not_gone_in_a_run_of_others() -> None:
    patterns = ["bpe/encode/regress/0123", "bpe/encode/own/*"]
    entries = [entry(pattern) for pattern in patterns]
    assert run(right, known=entries, complete=True).stale == []
    assert stale_globs(entries, entries[0].engine, {patterns[0]: "pass"})[0].startswith(
        "'bpe/encode/regress"
    )


def test_a_known_difference_of_another_engine_excuses_nothing() -> None:
    finished = run(wrong, known=[entry("*", engine="other")], complete=True)
    assert statuses(finished) == ["fail", "fail", "fail"]
    assert finished.stale == []


def test_an_entry_that_matches_nothing_is_stale_in_a_complete_run_only() -> None:
    entries = [entry("bpe/encode/retired/*")]
    assert run(right, known=entries).exit_code == 0
    finished = run(right, known=entries, complete=True)
    assert len(finished.stale) == 1
    assert finished.stale[0].endswith(": no record matches")
    assert finished.exit_code == 1


def test_an_entry_about_what_is_not_answered_any_more_is_stale_and_says_why() -> None:
    def only_apart(op: str, request: Mapping[str, Any]) -> Answer:
        return right(op, request) if request["text"] == "ba" else Unsupported("too hard")

    for listed, why in zip(
        [entry("*/together"), entry("*")],
        ["not answered any more: too hard", "no case that matches it differs as the entry says"],
        strict=True,
    ):
        finished = run(only_apart, known=[listed], complete=True)
        assert finished.exit_code == 1
        assert finished.stale == [f"{listed.cases[0]!r} ({listed.title}): {why}"]


def test_what_an_engine_writes_to_standard_error_is_kept_away(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def noisy(op: str, request: Mapping[str, Any]) -> Answer:
        os.write(2, b"thread '<unnamed>' panicked at src/lib.rs\n")
        return right(op, request)

    assert run(noisy).exit_code == 0
    os.write(2, b"afterwards\n")
    assert capfd.readouterr().err == "afterwards\n"


def test_progress_is_told_now_and_then() -> None:
    told: list[int] = []
    run(right, *([TOGETHER] * 250), progress=told.append)
    assert len(told) > 2
    assert told == sorted(set(told))
    assert told[-1] == 250


def test_a_selection_of_nothing_is_an_error() -> None:
    with pytest.raises(InvalidRunError, match="matches none of the 3 cases"):
        catalogue().select(Selection(ids=("bpe/decode/*",)))
    chosen = catalogue().select(Selection(ids=("*/apart", "*/missing"), ops=("encode",)))
    assert chosen == [APART, MISSING]
    assert catalogue().select(Selection(vocabularies=("small",))) == CASES


def test_each_known_difference_names_an_engine_and_has_a_link() -> None:
    entries = read_known()
    assert {found.engine for found in entries} <= set(engine_names())
    assert all(found.link.startswith("https://") for found in entries)
