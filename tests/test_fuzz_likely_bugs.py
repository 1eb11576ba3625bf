"""Findings that are likely one bug are told once; nothing is lost, and no order decides."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tests.small_fixtures import checkout_fixtures
from tests.strategies import examples
from tokenref.answers import Answer, Engine, Session
from tokenref.cli import main
from tokenref.engines.reference import ReferenceEngine
from tokenref.floats import pack
from tokenref.fuzzing.drawn_questions import plan_of
from tokenref.fuzzing.findings import Finding, LikelyBugs, disagreement, likely_bugs, traits_of
from tokenref.fuzzing.journal import Footer, Journal, merged, read_journal
from tokenref.fuzzing.plan import Plan, Selection, Shard
from tokenref.fuzzing.printing import print_bugs

HALVES = pack([0.5, 0.5])


def finding(
    request: dict[str, Any],
    *,
    op: str = "top_p",
    profile: str = "standard",
    expected: Any = None,
    got: Any = None,
    status: str = "fail",
    detail: str = "keep: expected [0], got [0, 1]",
    subject: dict[str, Any] | None = None,
    index: int = 1,
    **more: Any,
) -> Finding:
    name = json.dumps([op, profile, request, subject], sort_keys=True)
    record = {
        "id": f"sampling/{op}/regress/{name}",
        "op": op,
        "profile": profile,
        "in": request,
        "out": {"keep": [0]} if expected is None else expected,
        "sum": name,
        "spec": "docs/sampling.md",
        "verdict": {"kind": "exact"},
    }
    return Finding(
        index=index,
        status=status,
        detail=detail,
        got={"ok": {"keep": [0, 1]} if got is None else got},
        record=record,
        subject=subject,
        asked={},
        **more,
    )


def asked(probs: list[float] | None = None, p: float = 0.5, **more: Any) -> dict[str, Any]:
    row = HALVES if probs is None else pack(probs)
    return {"probs": row, "params": {"p": pack([p]), **more}}


SOME = [
    finding(asked(), profile="boundary.exceed", index=9),
    finding(asked([0.75, 0.25], 0.75), profile="zero.off", index=5),
    finding(asked(), profile="zero.off", index=7),
    finding(asked(), index=8),
    finding(asked(least=2), index=3),
    finding(asked(), profile="ties.all", expected={"keep": [0, 1]}, got={"keep": [0]}, index=4),
    finding(asked([0.25, 0.25, 0.5]), profile="ties.all", index=2),
]


def shape(bugs: list[Any]) -> list[tuple[str, list[str]]]:
    return [(bug.first.sum, [other.sum for other in bug.others]) for bug in bugs]


# ---- which findings are one bug


def test_the_same_wrong_answer_under_every_rule_is_one_bug() -> None:
    bugs = likely_bugs(SOME[:4])
    assert len(bugs) == 1
    assert bugs[0].profiles == ["boundary.exceed", "standard", "zero.off"]
    assert bugs[0].first == SOME[3]  # the plainest rule of the simplest question


def test_another_way_to_be_wrong_another_trait_and_another_operation_are_other_bugs() -> None:
    for other in (
        finding(asked(), got={"keep": [1]}),
        finding(asked(), status="crash", detail="KeyError: 3"),
        finding(asked(least=2)),
        finding(asked(), op="min_p"),
        finding({"logits": pack([0.0, float("-inf")]), "params": {"p": pack([0.5])}}),
        finding({"logits": {"f16": "00000000"}, "params": {"p": pack([0.5])}}),
    ):
        assert len(likely_bugs([SOME[3], other])) == 2, other.record


def test_a_question_of_another_shape_under_another_rule_is_another_bug() -> None:
    assert len(likely_bugs([SOME[3], SOME[6]])) == 2
    joined = finding(asked([0.25, 0.25, 0.5]), index=20)
    assert len(likely_bugs([SOME[3], SOME[6], joined])) == 1


def test_crashes_that_differ_in_numbers_and_quoted_words_are_one_bug() -> None:
    first = finding(asked(), status="crash", detail="KeyError: 'a' at 0x7f00 of 17")
    second = finding(asked([0.75, 0.25]), status="crash", detail="KeyError: 'bc' at 0x1a of 3")
    other = finding(asked([1.0]), status="crash", detail="IndexError: 17")
    assert len(likely_bugs([first, second])) == 1
    assert len(likely_bugs([first, other])) == 2


def test_a_program_that_hangs_at_an_operation_has_one_bug() -> None:
    one = finding(asked(), status="timeout", detail="no answer within 1 s (--timeout)")
    other = finding(asked([0.0, 1.0]), status="timeout", detail="no answer within 1 s", profile="b")
    third = finding(asked(), status="timeout", detail="no answer within 1 s", op="top_k")
    assert len(likely_bugs([one, other])) == 1
    assert len(likely_bugs([one, other, third])) == 2


def test_what_dies_now_and_then_is_one_bug_whatever_was_asked() -> None:
    died: dict[str, Any] = {
        "status": "crash",
        "detail": "it was ended by SIGABRT",
        "now_and_then": True,
    }
    some = [finding(asked(), **died), finding({"text": "a b"}, op="encode", **died)]
    assert len(likely_bugs(some)) == 1
    wrong = [finding(asked(), now_and_then=True), finding(asked(), op="min_p", now_and_then=True)]
    assert len(likely_bugs(wrong)) == 2


def test_a_refusal_that_does_not_come_is_told_by_its_code() -> None:
    missing = finding(asked(), detail="expected INVALID_ROW, got an answer: keep [0]")
    missing.record["out"] = None
    assert disagreement(missing) == ("fail", "expected INVALID_ROW, got an answer")


def test_the_bugs_of_tokenizers_are_told_apart_by_tokenizer_or_by_text() -> None:
    def of(name: str, text: str) -> Finding:
        out = {"ids": [1]}
        return finding(
            {"text": text}, op="tokenize", profile="hugging-face", expected=out,
            got={"ids": []}, detail="ids: expected [1], got []", subject={"name": name},
        )  # fmt: skip

    assert len(likely_bugs([of("one", "a"), of("one", "ab")])) == 1
    assert len(likely_bugs([of("one", "a"), of("two", "b")])) == 1
    assert len(likely_bugs([of("one", "a"), of("two", "ab")])) == 2


@pytest.mark.parametrize(
    ("request_", "traits"),
    [
        ({"text": "a b"}, {"white space"}),
        ({"text": "b\n1"}, {"lines", "digits"}),
        ({"text": "'"}, {"signs"}),
        ({"text": "e\u0301\U0001f600\u00e9"}, {"marks", "beyond 16 bits", "beyond ASCII"}),
        ({"bytes": "ff"}, {"no UTF-8"}),
        ({"bytes": "61"}, set()),
        ({"ids": [1], "errors": "strict"}, {"errors=strict"}),
        ({"calls": [{"push": "61"}, {"truncate": 1}]}, {"calls.push", "calls.truncate"}),
        ({"history": [1], "prompt": []}, {"history"}),
        ({"logits": pack([float("nan"), 2.0**-140])}, {"row with nan", "row with subnormals"}),
        ({"seed": "2a", "taken": 3}, set()),
        ({"params": {"a": True, "b": "x"}}, {"params.a", "a=True", "params.b", "b=x"}),
    ],
)
def test_a_trait_is_what_shrinking_could_not_take_away(
    request_: dict[str, Any], traits: set[str]
) -> None:
    assert traits_of(finding(request_)) == traits


# ---- no order decides


@given(st.permutations(SOME))
@examples(60)
def test_bugs_do_not_depend_on_the_order_of_findings(order: list[Finding]) -> None:
    assert shape(likely_bugs(order)) == shape(likely_bugs(SOME))
    bugs = LikelyBugs()
    began = [bugs.add(each) for each in order]
    assert len(bugs) == len(bugs.all()) == len(likely_bugs(SOME))
    assert sum(began) >= len(bugs)
    together = [each.sum for bug in bugs.all() for each in [bug.first, *bug.others]]
    assert sorted(together) == sorted(each.sum for each in SOME)


def test_bugs_that_turn_out_to_be_one_are_counted_once() -> None:
    bugs = LikelyBugs([SOME[3], SOME[6]])
    assert len(bugs) == 2
    assert not bugs.add(finding(asked([0.25, 0.25, 0.5]), index=20))
    assert len(bugs) == len(bugs.all()) == 1


def test_a_finding_that_is_whole_stands_before_one_that_is_not() -> None:
    small = finding(asked(), unfinished=True)
    large = finding(asked([0.25, 0.25, 0.5]))
    assert likely_bugs([small, large])[0].first is large
    rare = finding(asked([0.75, 0.25], 0.75), now_and_then=True)
    assert len(likely_bugs([rare, large])) == 2


def journal_of(number: int, *findings: Finding) -> Journal:
    plan = Plan(
        hypothesis="0", tokenref="0", seed=1, engine="x", engine_version="0",
        selection=Selection(ops=["top_p"]), fingerprint="", shard=Shard(number, 3),
    )  # fmt: skip
    journal = Journal(plan)
    for each in findings:
        journal.add(each)
    return journal


def test_shards_in_any_order_merge_to_the_same_findings_and_the_same_bugs() -> None:
    twice = [finding(asked(), index=index) for index in (30, 12)]
    half = finding(asked(), index=2, unfinished=True)
    shards = {
        "a": journal_of(1, *SOME[:3], twice[0]),
        "b": journal_of(2, *SOME[4:], half),
        "c": journal_of(3, twice[1]),
    }
    results = [merged(dict(order))[0] for order in permutations(shards.items())]
    for result in results:
        assert result.findings == results[0].findings
        found = likely_bugs(result.findings.values())
        assert shape(found) == shape(likely_bugs(results[0].findings.values()))
    assert results[0].findings[half.sum].index == 12  # whole, and of the first question


def test_of_one_finding_read_twice_the_same_is_kept_in_either_order() -> None:
    first, second = finding(asked(), index=3), finding(asked(), index=8)
    for order in ([first, second], [second, first]):
        assert journal_of(1, *order).findings[first.sum] is first


# ---- what is nobody's question


@pytest.mark.parametrize(
    "request_",
    [
        {"logits": pack([float("nan")])},
        {"logits": {"f32": "no digits"}},
        {"logits": {"f32": 5}},
        {"bytes": "no digits"},
        {"text": {"text": [None, 1.5]}},
        [],
        None,
    ],
)
def test_findings_of_a_strange_file_are_sorted_all_the_same(request_: Any) -> None:
    strange = finding(request_, got={"keep": {"f32": "zz"}}, detail="keep: expected , got")
    assert len(likely_bugs([strange, SOME[0]])) == 2


# ---- the commands


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


GREEDY = ("fuzz", "greedy", "--op", "encode", "--seed", "5", "--cases", "160")


@pytest.fixture(scope="module")
def greedy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    state = tmp_path_factory.mktemp("bugs") / "greedy.jsonl"
    return state, run(*GREEDY, "--state", str(state))


def test_a_campaign_tells_a_bug_once_and_keeps_every_finding(greedy: tuple[Path, Result]) -> None:
    state, result = greedy
    journal = read_journal(state)
    bugs = likely_bugs(journal.findings.values())
    assert 1 <= len(bugs) <= len(journal.findings)
    assert f"{len(journal.findings)} findings" in result.output
    footer = json.loads(state.read_bytes().splitlines()[-1])
    listed = [name for bug in footer["bugs"] for name in (bug["first"], *bug["others"])]
    assert sorted(listed) == sorted(each.record["id"] for each in journal.findings.values())
    for bug in bugs:
        assert f"\n{bug.first.record['id']} fail" in result.output
        assert f"\n  {bug.first.record['id']}  fail at" in result.output


def test_a_campaign_ends_after_so_many_bugs_or_ten_times_as_many_findings(
    greedy: tuple[Path, Result],
) -> None:
    assert "all questions were asked" in greedy[1].output
    ended = run(*GREEDY, "--most", "1")
    assert "enough bugs were found" in ended.output
    assert "1 likely bug (" in ended.output


def test_merging_prints_the_same_in_any_order(tmp_path: Path) -> None:
    files = [str(tmp_path / f"{number}.jsonl") for number in (1, 2)]
    for number, path in enumerate(files, start=1):
        run(*GREEDY[:-1], "96", "--shard", f"{number}/2", "--state", path)
    one, other = (run("merge", *order) for order in (files, files[::-1]))
    assert one.output == other.output
    assert one.exit_code == 1
    assert "likely bug" in one.output


def test_the_list_names_a_few_and_counts_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    many = [finding(asked(), profile=f"rule-{number}", index=number) for number in range(6)]
    plan = plan_of(seed=1, engine="x", engine_version="0", selection=Selection(ops=["top_p"]))
    print_bugs(Console(width=400), likely_bugs(many), plan, {many[0].sum})
    shown = capsys.readouterr().out
    assert "1 likely bug, the simplest question of each:" in shown
    assert "5 more findings like it" in shown
    assert "and 2 more" in shown
    assert "under 6 profiles: rule-0, rule-1, rule-2 and 3 more" in shown
    assert "  record" not in shown  # it was printed before
    print_bugs(Console(width=400), [], plan)
    assert not capsys.readouterr().out


def test_a_footer_of_before_is_read() -> None:
    assert Footer(why="it was so").bugs == []


@dataclass(frozen=True)
class Misreads(ReferenceEngine):
    """The reference, which is asked other questions about whole tokenizers."""

    misread: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict

    def load_tokenizer(self, content: bytes, name: str, profile: str) -> Session:
        return _Misread(super().load_tokenizer(content, name, profile), self.misread)


@dataclass(frozen=True)
class _Misread:
    right: Session
    misread: Callable[[Mapping[str, Any]], Mapping[str, Any]]

    def answer(self, op: str, request: Mapping[str, Any]) -> Answer:
        return self.right.answer(op, self.misread(request))


def loses_the_pair() -> Engine:
    return Misreads("loses", misread=lambda asked: {k: asked[k] for k in asked if k != "pair"})


def test_a_lost_pair_is_one_bug_and_pairs_can_be_left_out() -> None:
    """With the template, two empty texts are enough; without it, they are not."""
    engine = "py:tests.test_fuzz_likely_bugs:loses_the_pair"
    fuzz = ["fuzz", engine, "--op", "tokenize", "--vocabulary", str(FAMILY), "--cases", "64"]
    found = CliRunner().invoke(main, [*fuzz, "--seed", "4"])
    assert found.exit_code == 1, found.output
    for value in ("true", "false"):
        assert f'in        {{"add_special_tokens": {value}, "pair": ' in found.output
    assert "\n1 likely bug (" in found.output
    left_out = CliRunner().invoke(main, [*fuzz, "--seed", "3", "--no-pairs"])
    assert left_out.exit_code == 0, left_out.output
    assert "0 likely bugs" in left_out.output


def strips_texts() -> Engine:
    """Return an engine that drops white space around a text."""
    return Misreads("strips", misread=lambda asked: {**asked, "text": asked["text"].strip()})


def test_what_fails_with_and_without_the_template_is_one_bug_without_it() -> None:
    engine = "py:tests.test_fuzz_likely_bugs:strips_texts"
    fuzz = ["fuzz", engine, "--op", "tokenize", "--vocabulary", str(FAMILY), "--no-pairs"]
    found = CliRunner().invoke(main, [*fuzz, "--cases", "64", "--seed", "3"])
    assert found.exit_code == 1, found.output
    assert '  in        {"add_special_tokens": false, "text": " 0"}\n' in found.output
    assert '"add_special_tokens": true' not in found.output
    assert "\n1 likely bug (" in found.output


FAMILY = checkout_fixtures() / "tokenizer" / "family_bert.json"
