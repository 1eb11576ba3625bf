"""Programs under test, right and broken: what becomes of the guilty case, and of all others."""

import re
import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import pytest
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from bpe_ref import vocabulary_by_concatenation
from tokenref.answers import Answer, Ok, without_log
from tokenref.catalogue import Catalogue, batches
from tokenref.errors import InputError
from tokenref.known import Known
from tokenref.protocol import channel
from tokenref.protocol import engine as protocol_engine
from tokenref.protocol.channel import Patience, Process, StartError
from tokenref.protocol.engine import ProtocolEngine, ProtocolSession
from tokenref.protocol.opening import GreetingError, open_program
from tokenref.questions.text import CountOutput, IdsOutput, Stages, TextInput
from tokenref.record import Case, make_case, op_of
from tokenref.record_files import Manifest, VocabularyEntry
from tokenref.runner import Run, run_engine
from tokenref.verdicts import Exact, MustRefuse

FAKE = Path(__file__).parent / "fakes" / "fake.py"
VOCABULARY = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2})
CALM = Patience(per_batch=60, per_case=0, to_start=60)
"""Where an answer comes, however busy the machine is."""

SHORT = Patience(per_batch=0.1, per_case=0, to_start=0.2)
"""Where none comes, by a clock that waits for that."""

TRIGGER = "abba"
OTHERS = 30


def case(
    slug: str,
    text: str,
    ids: list[int] | None,
    profile: str = "definition",
    stages: Stages | UnsetType = UNSET,
) -> Case:
    return make_case(
        "encode",
        id=f"bpe/encode/protocol/{slug}",
        profile=profile,
        vocab=VOCABULARY.digest(),
        why="A case to run a program with.",
        flags=[],
        spec="definition",
        verdict=Exact() if ids is not None else MustRefuse(codes=["MISSING_BYTE"]),
        input=TextInput(text=text),
        out=None if ids is None else IdsOutput(ids=ids, stages=stages),
    )


GUILTY = case("guilty", TRIGGER, [2, 1, 0])
MISSING = case("missing", "x", None)
APART = case("apart", "ba", [1, 0])
CASES = [
    *(case(f"all-b-{number}", "b" * number, [1] * number) for number in range(OTHERS // 2)),
    GUILTY,
    *(case(f"all-ab-{number}", "ab" * number, [2] * number) for number in range(OTHERS // 2 - 1)),
    MISSING,
]
CANARY = case("canary", "ab", [0, 1])


def catalogue(*canaries: Case) -> Catalogue:
    entry = VocabularyEntry(
        name="small", digest=VOCABULARY.digest(), path="small.json", licence="MIT"
    )
    manifest = Manifest(
        format=1,
        cases=len(CASES),
        flags=[],
        files=[],
        vocabularies=[entry],
        tokenizers=[],
        retired=[],
        version="1.0.0",
    )
    return Catalogue(
        Path("no-folder"), manifest, CASES, list(canaries), {VOCABULARY.digest(): VOCABULARY}
    )


@contextmanager
def fake(mode: str, patience: Patience = CALM) -> Iterator[ProtocolEngine]:
    command = shlex.join([sys.executable, "-I", "-S", str(FAKE), mode])
    engine = open_program(command, patience)
    try:
        yield engine
    finally:
        engine.close()


def run(
    mode: str,
    *cases: Case,
    patience: Patience = CALM,
    canaries: tuple[Case, ...] = (),
    known: Sequence[Known] = (),
) -> Run:
    with fake(mode, patience) as engine:
        return run_engine(engine, cases or CASES, catalogue(*canaries), known=known)


class Clock:
    """Time for a runner that passes only when the program notes that it answers nothing more.

    So nothing that is right is ever late, however busy the machine is.
    """

    def __init__(self, notes: Path) -> None:
        self._notes = notes

    def monotonic(self) -> float:
        """Return the seconds: a thousand for each line of the notes."""
        return 1000.0 * (self._notes.read_bytes().count(b"\n") if self._notes.exists() else 0)

    def sleep(self, seconds: float) -> None:
        """Sleep, which takes no time."""
        time.sleep(seconds)


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let time pass by a program's notes alone, and return their path."""
    path = tmp_path / "notes"
    monkeypatch.setenv("FAKE_NOTES", str(path))
    for module in (channel, protocol_engine):
        monkeypatch.setattr(module, "time", Clock(path))
    return path


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for what a program that dies leaves, however long that takes."""
    monkeypatch.setattr(channel, "_LAST_WORDS", 60.0)


def statuses(finished: Run) -> Counter[str]:
    return Counter(result.judgement.status for result in finished.results)


def guilty_alone(finished: Run, status: str) -> str:
    """Return what is said of the guilty case, when all others have passed."""
    assert statuses(finished) == {"pass": OTHERS, status: 1}
    result = next(result for result in finished.results if result.case is GUILTY)
    assert result.judgement.status == status
    return result.judgement.detail


def test_a_right_program_is_clean_and_never_restarted() -> None:
    finished = run("right", canaries=(CANARY,))
    assert statuses(finished) == {"pass": OTHERS + 1}
    assert (finished.exit_code, finished.restarts, finished.incidents) == (0, 0, [])
    assert (finished.engine, finished.version) == ("fake", "1.0")
    assert finished.again[0] == "--cmd"
    assert [result.case for result in finished.results] == CASES


def test_a_program_that_is_always_wrong_fails_everywhere() -> None:
    finished = run("always-wrong")
    assert statuses(finished) == {"fail": OTHERS + 1}
    assert finished.exit_code == 1


def test_answers_may_be_out_of_order() -> None:
    assert statuses(run("out-of-order")) == {"pass": OTHERS + 1}


def test_a_canary_that_passes_makes_the_run_invalid() -> None:
    assert run("right", canaries=(case("canary", "ab", [2]),)).exit_code == 3


BROKEN = {
    "crash": "it ended with exit status 101; its last line on standard error: 'thread main",
    "killed": "it was ended by SIGSEGV",
    "cut": 'it ended with exit status 0 after {"id": "b',
    "close": "it closed its standard output",
    "answer-twice": "after its answer it wrote a line that is not the answer to the next run",
    "print": "it is not JSON: JSON is malformed: invalid character (byte 0); it wrote encoding 1 t",
    "print-after": "without questions): it is not JSON",
    "no-json": "it wrote Segmentation fault; expected",
    "no-utf8": "it is not UTF-8",
    "deep": "it wrote [[[[",
    "empty-line": "it is not JSON",
    "wrong-id": "the id must be 'b",
    "number-as-id": "Expected `str`, got `int`, at $.id",
    "results-as-map": "Expected `array`, got `object`, at $.results",
    "no-results": "must have exactly one of `results`, `skip` and `crash`",
    "flood-lines": "",
    "wrong-key": "the key 'zz' was not asked, at $.results[0].k",
    "neighbours-key": "was not asked",
    "number-as-key": "Expected `str`, got `int`, at $.results[0].k",
    "result-twice": "is answered twice, at $.results[1].k",
    "missing": "has no answer, at $.results",
    "extra-field": "Object contains unknown field `ms`, at $.results[0]",
    "two-of-four": "must have exactly one of `ok`, `err`, `skip` and `crash`, at $.results[0]",
    "none-of-four": "must have exactly one of `ok`, `err`, `skip` and `crash`, at $.results[0]",
}


@pytest.mark.parametrize("mode", BROKEN)
def test_a_broken_answer_is_a_crash_of_the_guilty_case_alone(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if mode == "close":  # it does not die, and nothing is to be waited for
        monkeypatch.setattr(channel, "_LAST_WORDS", 0.05)
    finished = run(mode)
    detail = guilty_alone(finished, "crash")
    assert BROKEN[mode] in detail
    assert finished.exit_code == 1
    assert finished.is_valid
    assert finished.restarts == 3


MALFORMED = {
    "strings-as-ids": "Expected `int`, got `str`, at $.ok.ids[0]; it wrote",
    "floats-as-ids": "Expected `int`, got `float`, at $.ok.ids[0]",
    "truth-as-ids": "Expected `int`, got `bool`, at $.ok.ids[0]",
    "no-ids": "must have exactly one of `ids` and `runs`, at $.ok; it wrote {}; the form is ",
    "other-field": "Object contains unknown field `note`, at $.ok",
}

FALSE = {
    **MALFORMED,
    "unknown-code": "a code must be one of MISSING_BYTE, ",
    "panic": "caught a panic",
    "whole-crash": "caught",
}


@pytest.mark.parametrize("mode", FALSE)
def test_one_answer_of_a_wrong_form_needs_no_restart(mode: str) -> None:
    finished = run(mode)
    status = "fail" if mode in MALFORMED else "crash"  # nothing crashed
    assert FALSE[mode] in guilty_alone(finished, status)
    assert finished.restarts == 0


@pytest.mark.usefixtures("notes")
@pytest.mark.parametrize("mode", ["hang", "cut-and-stay"])
def test_a_program_that_hangs_is_ended_and_the_case_timed_out(mode: str) -> None:
    finished = run(mode, patience=SHORT)
    detail = guilty_alone(finished, "timeout")
    assert detail.startswith("it did not answer within 0.1 seconds")
    assert (', but wrote {"id": "b' in detail) == (mode == "cut-and-stay")
    assert detail.endswith(f"{' without a line feed' * (mode == 'cut-and-stay')} (--timeout)")
    assert (finished.exit_code, finished.restarts) == (1, 3)
    seconds = {each.status: each.milliseconds / 1000 for each in finished.results}
    assert seconds["pass"] < 0.1 <= seconds["timeout"]  # waiting in vain is no time of the others


def test_questions_for_many_draws_have_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = list[float]()
    with fake("right", patience=Patience()) as engine:
        exchange = engine._channel.exchange  # type: ignore[union-attr]

        def noted(message: bytes, lines: int, seconds: float) -> list[bytes]:
            allowed.append(seconds)
            return exchange(message, lines, seconds + 60)

        monkeypatch.setattr(engine._channel, "exchange", noted)
        session = engine.load_profile("standard")
        for draws in (1, 100_000):
            engine._exchange(session, "encode", [{"text": "a", "draws": draws}])
    assert allowed[:2] == [2.05, 7.05]


def test_a_flood_without_a_line_feed_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "LONGEST_LINE", 2**21)
    detail = guilty_alone(run("flood-line"), "crash")
    assert detail.startswith("it wrote a line of more than 2,097,152 bytes: xxx")


def test_half_a_line_beyond_the_answer_is_noticed() -> None:
    """It stands before the answer to the run without questions that follows."""
    assert "it wrote don{" in guilty_alone(run("print-half"), "crash")


def test_standard_error_is_read_and_its_end_is_kept() -> None:
    with fake("flood-log") as engine:
        finished = run_engine(engine, CASES, catalogue())
        assert engine._channel is not None
        assert len(engine._channel.log) <= channel.KEPT_LOG
        assert engine._channel.log.endswith("the last words\n")
    assert statuses(finished) == {"pass": OTHERS + 1}
    finished = run("crash")
    logs = [result.log for result in finished.results if result.log]
    assert logs == ["thread main panicked: index out of bounds\n"]


def test_all_that_a_program_started_is_ended_with_it(notes: Path) -> None:
    guilty_alone(run("hang-with-children", patience=SHORT), "timeout")
    pids = [int(word) for word in notes.read_text().split()]
    assert len(pids) == 6  # in the batch, alone, and alone once more
    for pid in pids:
        assert not is_running(pid)


def is_running(pid: int) -> bool:
    """Tell whether a process stays there, and is no zombie that waits for its parent."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2]
        except (FileNotFoundError, ProcessLookupError):
            return False
        if state.split()[0] == "Z":
            return False
        time.sleep(0.01)
    return True


def test_a_skip_is_neither_a_pass_nor_a_failure() -> None:
    finished = run("skip")
    assert guilty_alone(finished, "skip") == "no palindromes"
    assert finished.exit_code == 0
    finished = run("whole-skip")
    assert statuses(finished) == {"skip": OTHERS + 1}
    assert finished.exit_code == 3


def test_what_is_not_declared_is_unsupported_and_never_sent() -> None:
    other = case("other", TRIGGER, [2, 1, 0], profile="tiktoken")
    finished = run("crash", MISSING, other)
    assert statuses(finished) == {"pass": 1, "unsupported": 1}
    assert finished.results[1].judgement.detail == "does not declare the profile tiktoken"


def test_a_stage_that_was_promised_must_be_there() -> None:
    stages = Stages(pieces=["6162"], merges=[[(0, 2)]])
    staged = case("staged", "ab", [2], stages=stages)
    assert statuses(run("right", staged, APART)) == {"pass": 2}
    finished = run("promises-stages", staged, APART)
    assert [result.judgement.status for result in finished.results] == ["fail", "pass"]
    assert finished.results[0].judgement.detail == (
        "stage pieces: declared in hello but missing in the answer"
    )


def test_batches_are_no_larger_than_the_program_can_take() -> None:
    assert statuses(run("small-batches")) == {"pass": OTHERS + 1}


def test_a_batch_that_fails_only_together_is_an_incident_and_a_failure() -> None:
    finished = run("in-company")
    assert statuses(finished) == {"pass": OTHERS + 1}
    assert len(finished.incidents) == 1
    said = " in a batch of 31 (encode), of which no question failed alone"
    assert said in finished.incidents[0]
    _, _, again = finished.incidents[0].partition("; ask again with ")
    found = re.fullmatch(
        "--op encode, for( --id bpe/encode/[^ ]+){3} and 28 more", without_log(again)
    )
    assert found, again
    assert finished.exit_code == 1


@pytest.mark.parametrize("is_late", [False, True])
def test_a_crash_that_does_not_occur_again_is_an_incident_and_no_failure_of_its_case(
    is_late: bool, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_late:
        monkeypatch.setenv("FAKE_NOTES", str(tmp_path / "crashes"))  # time does not pass by these
    entry = Known(
        title="crashes now and then",
        engine="fake",
        cases=["it * once, at bpe/*"],
        status="incident",
        reason="It ends. " * 3,
    )
    for known in ([], [entry]):
        for path in tmp_path.iterdir():
            path.unlink()
        finished = run("hang-twice" if is_late else "crash-twice", patience=SHORT, known=known)
        assert statuses(finished) == {"pass": OTHERS + 1}
        assert (finished.exit_code, finished.restarts) == (not known, 2)
        assert len(finished.incidents) == (not known)
        for incident in finished.incidents:
            assert f" once, at {GUILTY.id}, which was answered when asked again" in incident
            assert without_log(incident).endswith(f"; ask again with --id {GUILTY.id}")
            assert ("\nlog: thread main panicked" in incident) == (not is_late)


def test_a_case_that_crashes_again_and_again_is_the_cause() -> None:
    finished = run("crash", patience=Patience(60, 0, 60, restarts=2))
    assert guilty_alone(finished, "crash")
    assert (finished.incidents, finished.exit_code, finished.restarts) == ([], 1, 3)


def test_after_too_many_restarts_the_rest_is_not_run_and_the_run_invalid() -> None:
    finished = run("always-crash")
    assert statuses(finished) == {"crash": 20, "not_run": OTHERS + 1 - 20}
    assert finished.trouble == [
        "the engine was abandoned: it failed again after 20 restarts (--restarts)"
    ]
    assert finished.exit_code == 3
    finished = run("always-crash", patience=Patience(60, 0, 60, restarts=0))
    assert statuses(finished) == {"not_run": OTHERS + 1}


@pytest.mark.parametrize("status", ["crash", "timeout"])
def test_listed_crashes_cost_one_restart_each_and_do_not_count_towards_the_limit(
    status: Literal["crash", "timeout"], notes: Path
) -> None:
    listed = [case(f"listed-{number}", TRIGGER, [2, 1, 0]) for number in range(30)]
    entry = Known(
        title="ends", engine="fake", cases=["*/listed-*"], status=status, reason="It ends. " * 3
    )
    mode, none = {"crash": "crash", "timeout": "hang"}[status], Patience(0.1, 0, 0.2, restarts=0)
    others = [each for each in CASES if each is not GUILTY]
    finished = run(mode, *listed, *others, patience=none, known=[entry])
    assert (finished.exit_code, finished.trouble, finished.restarts) == (0, [], 30)
    assert statuses(finished) == {"xfail": 30, "pass": OTHERS}
    finished = run(mode, *listed, *CASES, patience=none, known=[entry])
    assert finished.exit_code == 3
    assert "it failed again after 0 restarts (--restarts)" in finished.trouble[0]
    other = "timeout" if status == "crash" else "crash"
    enough = Patience(0.1, 0, 0.2, restarts=30)
    finished = run(mode, *listed, *others, patience=enough, known=[replace(entry, status=other)])
    assert (finished.exit_code, statuses(finished)) == (1, {status: 30, "pass": OTHERS})


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("count", [1, 5])
def test_listed_crashes_hide_no_leak(seed: int, count: int) -> None:
    listed = [case(f"listed-{number}", TRIGGER, [2, 1, 0]) for number in range(count)]
    entry = Known(
        title="ends", engine="fake", cases=["*/listed-*"], status="crash", reason="It ends. " * 3
    )
    for others, said in ((CASES[:10], ["after bye, it ended with exit status 1"]), ([APART], [])):
        with fake("leaks-and-crashes") as engine:
            finished = run_engine(engine, [*listed, *others], catalogue(), known=[entry], seed=seed)
        assert [each.partition(";")[0] for each in finished.incidents] == said
        assert (finished.exit_code, finished.restarts) == (len(said), count)
        assert statuses(finished) == {"xfail": count, "pass": len(others)}


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("hello-once", "it could not be restarted: it ended with exit status 2"),
        ("hello-changes", "after a restart it answered hello differently"),
    ],
)
def test_a_program_that_cannot_be_restarted_is_given_up(
    mode: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_NOTES", str(tmp_path / "flag"))
    finished = run(mode)
    assert statuses(finished) == {"not_run": OTHERS + 1}
    assert finished.exit_code == 3
    assert finished.trouble[-1].startswith("no cases were run")
    assert any(reason in sentence for sentence in finished.trouble)


@pytest.mark.parametrize(
    ("mode", "sentence"),
    [
        ("hello-dies", "it ended with exit status 2; its last line on standard error: 'no licence"),
        ("hello-throws", "on standard error: 'TypeError: x is not a function ... Node.js v20.1.0'"),
        ("hello-hangs", "it did not answer within 0.3 seconds"),
        ("hello-prints", "it is not JSON: JSON is malformed"),
        ("hello-of-protocol-2", "Invalid enum value 2, at $.proto; it wrote {"),
        ("hello-without-version", "missing required field `version`, at $.impl"),
        ("hello-of-a-typo", "unknown operation 'enc0de'; did you mean 'encode'? `tokenref show "),
    ],
)
def test_a_program_that_greets_wrongly_is_told_why(mode: str, sentence: str) -> None:
    with pytest.raises(GreetingError, match=r"(no|a wrong) answer to hello: ") as caught:
        run(mode, patience=Patience(to_start=0.3 if mode == "hello-hangs" else 60))
    assert sentence in str(caught.value)


def test_what_cannot_be_started_is_said_in_a_sentence() -> None:
    for command, sentence in {
        "/no/such/program": "'/no/such/program' cannot be started: No such file or directory; "
        "the folder /no/such is missing",
        "'": 'the command "\'" cannot be split: No closing quotation',
        "  ": "the command must name a program, got '  '",
        "a\0b": "'a\\x00b' cannot be started: embedded null byte",
    }.items():
        with pytest.raises(StartError) as caught:
            open_program(command)
        assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("mode", "status", "detail"),
    [
        ("load-dies", "crash", "while it was loading, it ended with exit status 1"),
        ("load-hangs", "timeout", "while it was loading, it did not answer within 0.2 seconds"),
        ("load-skips", "skip", "has no pairs"),
        ("load-refuses", "crash", "loading was refused: NO: bad file"),
        ("load-panics", "crash", "out of memory"),
        ("load-wrongly", "crash", "while it was loading, the id must be 'l0', got 'zz', at $.id"),
    ],
)
def test_what_cannot_be_loaded_is_tried_once_and_after_a_crash_once_more(
    mode: str, status: str, detail: str, request: pytest.FixtureRequest
) -> None:
    if mode == "load-hangs":
        request.getfixturevalue("notes")
    patience = SHORT if mode == "load-hangs" else CALM
    finished = run(mode, *CASES * 3, patience=patience)  # several batches
    assert statuses(finished) == {status: 3 * (OTHERS + 1)}
    assert finished.results[0].judgement.detail.startswith(detail)
    assert finished.restarts == int("while" in detail) + int(
        "while" in detail and status == "crash"
    )


def test_a_crash_by_chance_while_loading_is_one_incident_and_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_NOTES", str(tmp_path / "died"))
    finished = run("load-dies-once")
    assert statuses(finished) == {"pass": OTHERS + 1}
    (incident,) = finished.incidents
    assert " once, at a vocabulary that was loaded when asked again" in incident


def test_a_program_that_ignores_bye_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "GRACE", 0.2)
    with fake("ignore-bye") as engine:
        assert statuses(run_engine(engine, CASES, catalogue())) == {"pass": OTHERS + 1}
        pid = engine._channel._process.pid  # type: ignore[union-attr]
    assert not is_running(pid)


def test_a_vocabulary_that_finds_no_room_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with fake("right") as engine:
        monkeypatch.setattr(Path, "write_bytes", full)
        with pytest.raises(
            InputError, match=r"/tokenref-.*\.json cannot be written: No space left"
        ):
            run_engine(engine, CASES, catalogue())


def test_an_interrupt_ends_the_program() -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    def interrupted() -> None:
        with fake("right") as engine:
            pids.append(engine._channel._process.pid)  # type: ignore[union-attr]
            run_engine(engine, CASES, catalogue(), progress=interrupt)

    pids: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not is_running(pids[0])


def test_a_session_answers_one_question_as_well() -> None:
    with fake("right") as engine:
        session = engine.load(VOCABULARY, "small")
        assert session.answer("encode", {"text": "ab"}) == Ok({"ids": [2]})


def test_the_order_is_mixed_and_its_seed_repeats_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    original = ProtocolEngine.ask

    def ask(
        engine: ProtocolEngine, session: ProtocolSession, op: str, requests: list[Any]
    ) -> list[Answer]:
        asked[-1] += [request["text"] for request in requests]
        return original(engine, session, op, requests)

    monkeypatch.setattr(ProtocolEngine, "ask", ask)
    for seed in (0, 0, 1):
        asked.append([])
        with fake("right") as engine:
            run_engine(engine, CASES, catalogue(), seed=seed)
    first, again, other = asked
    assert first == again
    assert first != other
    assert sorted(first) == sorted(other) == sorted(each.input.text for each in CASES)
    assert first != [each.input.text for each in CASES]


def test_batches_of_several_operations_are_mixed_and_each_has_one() -> None:
    counts = [
        make_case(
            "count",
            id=f"bpe/count/protocol/{number}",
            profile="definition",
            vocab=VOCABULARY.digest(),
            why="A case to run a program with.",
            flags=[],
            spec="definition",
            verdict=Exact(),
            input=TextInput(text="b" * number),
            out=CountOutput(count=number),
        )
        for number in range(len(CASES))
    ]
    asked = [*CASES, *counts]
    made = list(batches(asked, seed=0, most=4))
    assert sorted(number for batch in made for number in batch) == list(range(len(asked)))
    ops = [{op_of(asked[number]) for number in batch} for batch in made]
    assert all(len(names) == 1 for names in ops)
    changes = sum(one != other for one, other in pairwise(ops))
    assert changes > 2


def test_a_program_that_floods_and_does_not_read_is_not_waited_for() -> None:
    yes = Process(["yes"])
    lines = yes.exchange(b"x" * 10**7, lines=1, seconds=60)
    yes.end()
    assert len(lines) > 1
    assert sum(map(len, lines)) < 2**20


def test_what_stands_beyond_the_answer_is_returned_with_it() -> None:
    program = Process([sys.executable, "-c", "import os; os.write(1, b'one\\ntw'); input()"])
    assert program.exchange(b"", lines=1, seconds=60) == [b"one", b"tw"]
    program.end()
    program.end()
