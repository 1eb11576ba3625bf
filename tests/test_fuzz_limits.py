"""Shrinking ends: by time, by Ctrl-C, by a count. What was reached is kept, and gone on with."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from bpe_ref import Vocabulary, vocabulary_by_concatenation
from tokenref.answers import Answer, Crashed, Ok
from tokenref.cli import main
from tokenref.engines.reference import ReferenceEngine
from tokenref.errors import InputError
from tokenref.fuzzing import campaign, shrinking
from tokenref.fuzzing.campaign import (
    Done,
    done_group,
    made_smaller,
    no_longer_failing,
    open_engine,
    run_campaign,
)
from tokenref.fuzzing.comparing import Comparer, Outcome
from tokenref.fuzzing.drawn_questions import plan_of
from tokenref.fuzzing.findings import Finding, finding_of
from tokenref.fuzzing.journal import Journal, Writer, read_journal
from tokenref.fuzzing.plan import Limits, Plan, Question, Selection
from tokenref.fuzzing.shrinking import Shrunk, shrunk
from tokenref.fuzzing.smaller_questions import smaller_requests
from tokenref.protocol.channel import Patience

LETTERS = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"c": 2})
TEXT = "acab" * 6 + "bca" * 5
NONE = Limits(seconds=0)


class Wrong:
    """An engine that is wrong about `bb`; `each` is called before each answer."""

    name, version = "wrong", "1"

    def __init__(self, each: Callable[[int], object] = lambda _: None) -> None:
        self.asked = 0
        self._each = each

    def load(self, vocabulary: Vocabulary, name: str) -> "Wrong":
        self._right = ReferenceEngine(with_stages=False).load(vocabulary, name)
        return self

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        self.asked += 1
        wrong = self._each(self.asked)
        is_wrong = "bb" in request.get("text", "") if wrong is None else wrong
        return Ok({"ids": [9]}) if is_wrong else self._right.answer(op, request)


def failed_by(engine: Wrong, text: str = TEXT) -> tuple[Outcome, Comparer]:
    comparer = Comparer(engine)
    (failed,) = comparer.compare([Question("encode", "definition", LETTERS, "", {"text": text})])
    return failed, comparer


def interrupt(at: int) -> Callable[[int], None]:
    def each(asked: int) -> None:
        if asked == at:
            raise KeyboardInterrupt

    return each


class Clock:
    """A clock that goes on by a second each time somebody looks at it."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 1
        return self.now

    def perf_counter(self) -> float:
        return self.now


# ---- one failure


def test_without_limits_it_is_finished() -> None:
    small = shrunk(*failed_by(Wrong()))
    assert small.question.request == {"text": "bb"}
    assert (small.is_finished, small.was_interrupted, small.fails_again) == (True, False, True)


class Batches(Wrong):
    """An engine that takes many questions at once, and crashes on `bb`."""

    def __init__(self) -> None:
        super().__init__(lambda _: False)
        self.most = 0

    def answer_many(self, op: str, requests: Sequence[Mapping[str, Any]]) -> list[Answer]:
        self.most = max(self.most, len(requests))
        return [
            Crashed("died") if "bb" in each["text"] else self.answer(op, each) for each in requests
        ]


def test_questions_that_may_each_cost_a_restart_are_asked_one_by_one() -> None:
    engine = Batches()
    small = shrunk(*failed_by(engine, "acabbcab"))
    assert small.question.request == {"text": "bb"}
    assert engine.most == 1


def test_without_time_the_failure_stays_as_it_is_and_nothing_is_asked() -> None:
    engine = Wrong()
    small = shrunk(*failed_by(engine), NONE)
    assert small.question.request == {"text": TEXT}
    assert not small.is_finished
    assert engine.asked == 1


def test_when_time_is_over_no_more_is_asked_and_the_smallest_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failed, comparer = failed_by(engine := Wrong())
    monkeypatch.setattr(shrinking, "time", Clock())
    small = shrunk(failed, comparer, Limits(seconds=30))
    assert not small.is_finished
    assert len(small.question.request["text"]) < len(TEXT)
    assert "bb" in small.question.request["text"]
    assert engine.asked < 30


def test_a_count_ends_it_too() -> None:
    failed, comparer = failed_by(engine := Wrong())
    small = shrunk(failed, comparer, most=5)
    assert not small.is_finished
    assert engine.asked == 6


@pytest.mark.parametrize("at", [2, 3, 6, 9])
def test_ctrl_c_ends_it_and_keeps_the_smallest(at: int) -> None:
    small = shrunk(*failed_by(Wrong(interrupt(at))))
    assert small.was_interrupted
    assert not small.is_finished
    assert "bb" in small.question.request["text"]
    assert (len(small.question.request["text"]) < len(TEXT)) == (at > 3)


def test_what_fails_only_once_is_not_made_smaller_and_says_so() -> None:
    engine = Wrong(lambda asked: asked == 1)
    failed, comparer = failed_by(engine)
    small = shrunk(failed, comparer)
    assert engine.asked == 2
    assert not small.fails_again
    assert small.is_finished
    found = finding_of(failed, small, index=0, seed=0, engine="x")
    assert found.now_and_then
    assert not found.unfinished


def test_what_becomes_small_by_chance_says_so_too() -> None:
    engine = Wrong(lambda asked: asked < 4)
    small = shrunk(*failed_by(engine))
    assert not small.fails_again
    assert len(small.question.request["text"]) < len(TEXT)


def test_a_limit_for_all_leaves_less_to_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokenref.fuzzing.plan.time.time", lambda: 1000.0)
    assert Limits(seconds=7).left() == 7
    assert Limits(seconds=7, until=1003).left() == 3
    assert Limits(seconds=7, until=1030).left() == 7
    assert Limits(seconds=7, until=990).left() == 0


# ---- a group, a campaign


def plan(**parts: Any) -> Plan:
    usual = {"engine": "wrong", "engine_version": "1", "selection": Selection(ops=["encode"])}
    return plan_of(**{"seed": 5, **usual, **parts})


def first_failing_group(chosen: Plan) -> tuple[int, Done]:
    return next(
        (group, done)
        for group in range(80)
        if (done := done_group(chosen, Comparer(Wrong()), group)).findings
    )


def test_ctrl_c_while_shrinking_is_told_with_what_was_found_until_then() -> None:
    chosen = plan()
    group, whole = first_failing_group(chosen)
    done = done_group(chosen, Comparer(Wrong(interrupt(18))), group)
    assert done.interrupted
    assert done.group.counts == whole.group.counts
    assert all(found.unfinished for found in done.findings)
    assert not any(found.unfinished for found in whole.findings)
    assert [found.index for found in done.findings] == [found.index for found in whole.findings]


def test_a_vocabulary_that_is_too_large_to_be_stored_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"c": 2, b"aba": 3})
    question = Question("encode", "definition", vocabulary, "", {"text": "ccababacab"})
    comparer = Comparer(open_engine("greedy"))
    [failed] = comparer.compare([question])
    for largest, same in ((4, False), (3, True)):
        monkeypatch.setattr(shrinking, "LARGEST", largest)
        smallest = shrunk(failed, comparer).question
        assert (smallest.request, smallest.subject is vocabulary) == ({"text": "aba"}, same)


def test_all_special_tokens_become_none() -> None:
    asked: dict[str, Any] = {"text": "", "allowed": "all", "disallowed": "all"}
    found = list(smaller_requests("special", asked))
    assert found == [{**asked, "allowed": []}, {**asked, "disallowed": []}]


def test_a_campaign_reports_an_interrupted_group_and_then_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen = plan(cases=1280)
    group, _ = first_failing_group(chosen)

    def interrupted(plan: Plan, _: Comparer, at: int, limits: Limits) -> Done:
        engine = Wrong(interrupt(18)) if at == group else Wrong()
        return done_group(plan, Comparer(engine), at, limits)

    monkeypatch.setattr(campaign, "done_group", interrupted)
    reported: list[Done] = []

    def report(done: Done) -> bool:
        reported.append(done)
        return True

    with pytest.raises(KeyboardInterrupt):
        run_campaign(Journal(chosen), report, Comparer(Wrong()), patience=Patience())
    assert [done.group.group for done in reported] == list(range(group + 1))
    assert reported[-1].findings


class Lazy(Executor):
    """An executor that does one group and leaves the others waiting."""

    def __init__(self) -> None:
        self.futures: list[Future[Any]] = []

    def submit(self, run: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if not self.futures:
            future.set_running_or_notify_cancel()
            future.set_result(run(*arguments))
        self.futures.append(future)
        return future


def test_when_time_is_up_an_executor_is_not_waited_for_with_what_it_has_not_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(campaign, "time", Clock())
    chosen, lazy = plan(engine="heap"), Lazy()
    journal = Journal(chosen)

    def report(done: Done) -> bool:
        journal.add(done.group)
        return True

    heap, patience = Comparer(open_engine("heap")), Patience()
    why = run_campaign(journal, report, heap, patience=patience, seconds=9, executor=lazy)
    assert why == "time is up"
    assert list(journal.groups) == [0]
    assert len(lazy.futures) > 1
    assert all(future.cancelled() for future in lazy.futures[1:])


# ---- going on


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["fuzz", *map(str, arguments)])


GREEDY = ("greedy", "--op", "encode", "--seed", "5", "--cases", "48", "--most", "99")


def test_what_was_not_made_small_is_gone_on_with(tmp_path: Path) -> None:
    whole, state = tmp_path / "whole.jsonl", tmp_path / "state.jsonl"
    run(*GREEDY, "--state", whole)
    quick = run(*GREEDY, "--shrink-seconds", "0", "--state", state)
    assert quick.exit_code == 1
    assert (
        "it may become smaller; with --state, the same command continues shrinking" in quick.output
    )
    large = read_journal(state)
    assert all(found.unfinished for found in large.findings.values())
    before = state.read_bytes()
    again = run(*GREEDY, "--state", state)
    assert again.exit_code == 1
    assert "may become smaller" not in again.output
    assert state.read_bytes().startswith(before)
    here, there = read_journal(state), read_journal(whole)
    assert here.findings.keys() == there.findings.keys()
    assert not any(found.unfinished for found in here.findings.values())
    assert {found.index for found in here.findings.values()} <= {
        found.index for found in large.findings.values()
    }
    assert here.counts() == there.counts()


def test_what_cannot_be_smaller_is_only_said_to_be_finished() -> None:
    failed, comparer = failed_by(Wrong(), "bb")
    smallest = shrunk(failed, comparer).outcome
    cut_off = Shrunk(smallest, is_finished=False)
    journal = Journal(plan())
    old = finding_of(smallest, cut_off, index=3, seed=5, engine="wrong 1")
    journal.add(old)
    (new,) = made_smaller(journal, comparer, Limits())
    assert new.sum == old.sum
    assert not new.unfinished
    assert not new.replaces
    journal.add(new)
    assert list(journal.findings.values()) == [new]


def unfinished(text: str) -> tuple[Journal, Finding]:
    failed, _ = failed_by(Wrong(), text)
    cut_off = Shrunk(failed, is_finished=False)
    found = finding_of(failed, cut_off, index=3, seed=5, engine="wrong 1")
    journal = Journal(plan())
    journal.add(found)
    return journal, found


def test_the_smaller_finding_takes_the_place_of_the_larger_one(tmp_path: Path) -> None:
    journal, old = unfinished(TEXT)
    (new,) = made_smaller(journal, Comparer(Wrong()), Limits())
    assert (new.replaces, new.index, new.asked) == (old.sum, old.index, old.asked)
    assert len(new.record["in"]["text"]) == 2
    state = tmp_path / "state.jsonl"
    writer = Writer(state, Journal(journal.plan))
    for line in (old, new):
        writer.write(line)
    writer.close()
    assert list(read_journal(state).findings.values()) == [new]


def test_ctrl_c_while_going_on_keeps_what_was_reached() -> None:
    journal, old = unfinished(TEXT)
    smaller = made_smaller(journal, Comparer(Wrong(interrupt(9))), Limits())
    half = next(smaller)
    with pytest.raises(KeyboardInterrupt):
        next(smaller)
    assert half.unfinished
    assert half.replaces == old.sum
    assert 2 < len(half.record["in"]["text"]) < len(TEXT)
    journal.add(half)
    (last,) = made_smaller(journal, Comparer(Wrong()), Limits())
    assert len(last.record["in"]["text"]) == 2
    assert (last.replaces, last.asked) == (half.sum, old.asked)  # as it was drawn


def test_without_time_nothing_is_gone_on_with() -> None:
    journal, _ = unfinished(TEXT)
    assert not list(made_smaller(journal, Comparer(Wrong()), NONE))


def test_what_does_not_fail_any_more_is_said_and_is_not_intermittent() -> None:
    journal, old = unfinished(TEXT)
    right = Comparer(Wrong(lambda _: False))
    assert list(made_smaller(journal, right, Limits())) == []
    assert no_longer_failing(journal, right) == [old.record["id"]]
    assert no_longer_failing(journal, Comparer(Wrong())) == []
    assert list(journal.findings.values()) == [old]


def test_an_unfinished_finding_about_nothing_is_one_sentence() -> None:
    journal, old = unfinished(TEXT)
    broken = msgspec.structs.replace(old, subject={"name": "no such vocabulary"})
    journal.findings[old.sum] = broken
    with pytest.raises(InputError, match="cannot be loaded"):
        list(made_smaller(journal, Comparer(Wrong()), Limits()))


def test_a_program_that_hangs_is_not_asked_all_golden_records_to_find_the_cause(
    tmp_path: Path,
) -> None:
    starts, program = tmp_path / "starts", tmp_path / "hangs"
    ops = {"top_k": {"profiles": ["standard"]}}
    hello = json.dumps({"proto": 1, "impl": {"name": "hangs", "version": "1"}, "ops": ops})
    program.write_text(f"#!/bin/sh\necho >> {starts}\nread line\necho '{hello}'\nexec sleep 100\n")
    program.chmod(0o755)
    limits = ["--seed", "1", "--seconds", "0.1", "--shrink-seconds", "0", "--timeout", "0.1"]
    found = CliRunner().invoke(main, ["fuzz", "--cmd", str(program), "--op", "top_k", *limits])
    assert found.exit_code == 1, found.output
    assert "timeout: it did not answer within * seconds" in found.output
    assert "golden records" not in found.output
    assert len(starts.read_text()) < 40  # there are 125 golden records


def test_asking_one_question_again_is_limited_too() -> None:
    found = re.findall(r"--at (\d+)", run(*GREEDY).output)
    again = run(
        "greedy", "--op", "encode", "--seed", "5", "--at", found[0], "--shrink-seconds", "0"
    )
    assert again.exit_code == 1
    assert "it may become smaller" in again.output
