"""Results files, and what is made from them: every claim about them in one place."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
import tracemalloc
import xml.etree.ElementTree as ET
from base64 import b64decode, b64encode
from collections import Counter
from fnmatch import fnmatchcase
from hashlib import sha256
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args
from zlib import decompress

import msgspec
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from bpe_ref import load, vocabulary_of
from bpe_ref.formats.byte_level_json import write_tokenizer_json
from tests.results_files import catalogue, line, record, whole, write
from tests.small_fixtures import small_fixtures
from tokenref.catalogue import open_catalogue
from tokenref.cli import main
from tokenref.commands.report import Wanted
from tokenref.errors import InputError, InvalidRunError
from tokenref.known import Known, read_known, with_known
from tokenref.protocol.engine import incident_of
from tokenref.readable import readable, readable_answer, readable_json
from tokenref.record import RecordError
from tokenref.record_files import manifest_digest
from tokenref.reports.changes import Change, changes, notes
from tokenref.reports.html.page import compressed, html_report, pages_beside, table
from tokenref.reports.junit import junit_report
from tokenref.reports.known_list import known_list
from tokenref.reports.results import (
    LONGEST_DETAIL,
    LONGEST_LINE,
    CaseLine,
    EngineEntry,
    EngineLine,
    Footer,
    Header,
    KnownEntry,
    dump_report,
    merged,
    read_results,
)
from tokenref.reports.terminal import (
    SHOWN_FAILURES,
    Summary,
    _print_failure,
    _print_skipped,
    print_labelled,
)
from tokenref.result import Result as CaseResult
from tokenref.runner import Run
from tokenref.verdicts import Judgement, Status

HOSTILE = "</script><img src=x onerror=hit()>\u2028\u202e\x1b[31m\x00]]>&\"'"
CASES = [
    line("one", "bpe/count/topic/a", "pass", microseconds=1500),
    line("one", "bpe/count/topic/b", "fail", detail="count: expected 1, got 2", got='{"count":2}'),
    line("one", "bpe/encode/topic/c", "xfail", detail="boom", known="breaks"),
    line("two", "bpe/count/topic/a", "unsupported", detail="cannot"),
    line("two", "bpe/count/topic/b", "crash", detail="it broke", log="Segmentation fault"),
    line("two", "bpe/encode/topic/c", "skip", detail="later"),
]
KNOWN = KnownEntry(engine="one", title="breaks", reason="It always did so, and for long.")
EVERY_STATUS = get_args(Status)


@pytest.fixture
def whole_file(tmp_path: Path) -> Path:
    return write(tmp_path / "results.jsonl", whole(CASES, differences=[KNOWN]))


def tokenref(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


# ---- reading


def test_a_whole_file_is_read_line_by_line(whole_file: Path) -> None:
    results = read_results(whole_file)
    assert list(results.cases()) == CASES
    assert [entry.name for entry in results.header.engines] == ["one", "two"]
    assert results.footer.statuses["crash"] == 1


@settings(max_examples=40)
@given(st.data())
def test_a_file_that_lacks_any_line_or_has_one_twice_is_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    lines = whole(CASES)
    at = data.draw(st.integers(0, len(lines) - 1))
    times = data.draw(st.sampled_from([0, 2]))
    path = tmp_path_factory.mktemp("altered") / "results.jsonl"
    write(path, [*lines[:at], *[lines[at]] * times, *lines[at + 1 :]])
    with pytest.raises(InvalidRunError) as refused:
        read_results(path)
    assert str(refused.value).startswith(str(path))


@settings(max_examples=40)
@given(st.data())
def test_a_file_that_is_cut_off_anywhere_is_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = write(tmp_path_factory.mktemp("cut") / "results.jsonl", whole(CASES))
    content = path.read_bytes()
    path.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
    with pytest.raises(InvalidRunError):
        read_results(path)


HEADER, FIRST, *_, SUM_ONE, SUM_TWO, FOOTER = whole(CASES)
OTHER_SUMS = Footer(cases=6, statuses={"pass": 6}, complete=True)
OTHERWISE = line("one", "bpe/count/topic/a", "fail")


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([], "the file is empty"),
        ([b"[]\n"], "line 1: not a line of results: Expected `object`, got `array`"),
        ([FIRST], "line 1: the first line must be a header, got 'case'"),
        (
            [{"kind": "header", "format": 3}],
            "line 1: the format must be 2, got 3: written by a newer tokenref",
        ),
        ([{"kind": "header", "format": 1}], "line 1: the format must be 2, got 1"),
        (
            [{"kind": "header", "format": 1, "file": "a.jsonl", "cases": 1}],
            "line 1: the format must be 2, got 1: it is a file of records, not of results",
        ),
        (
            [{"kind": "header", "format": 1, "text": {}}],
            "line 1: the results of a text (--corpus), not of records",
        ),
        ([HEADER, b"nonsense\n"], "line 2: not a line of results: JSON is malformed"),
        ([HEADER, b"\xff\n"], "line 2: not a line of results: "),
        ([HEADER, b"[" * 100_000 + b"\n"], "line 2: not a line of results: "),
        ([HEADER, b'{"kind":"note"}\n'], "line 2: not a line of results: Invalid value 'note'"),
        (
            [HEADER, b'{"kind":"case","engine":"one","id":"bpe/a/b","op":"a","status":"good"}\n'],
            "line 2: not a line of results: Invalid enum value 'good' - at `$.status`",
        ),
        (
            [HEADER, b'{"kind":"case","engine":"one","id":"i","op":"a","status":"pass","x":1}\n'],
            "line 2: not a line of results: Object contains unknown field `x`",
        ),
        ([HEADER, b'{"kind":"case","engine":"\\ud800"}\n'], "line 2: not a line of results: "),
        (
            [HEADER, b" " * LONGEST_LINE + b"\n"],
            f"line 2: a line has at most {LONGEST_LINE:,} bytes",
        ),
        ([HEADER, line("three", "bpe/a/b", "pass")], "the header names no engine 'three'"),
        ([HEADER, FIRST, FIRST], "line 3: one has a result for bpe/count/topic/a already"),
        ([HEADER, HEADER], "line 2: a second header"),
        ([*whole(CASES)[:-1], b'{"kind":"footer"}'], "line 10: the line is truncated"),
        ([HEADER, SUM_ONE, SUM_ONE], "line 3: a second total of 'one'"),
        ([HEADER, *CASES, SUM_ONE, SUM_TWO], "there is no footer: the run did not finish"),
        ([HEADER, *CASES, SUM_ONE, FOOTER], "there is no total of 'two'"),
        (
            [HEADER, *CASES, SUM_ONE, SUM_TWO, FOOTER, FOOTER],
            "line 11: the footer must be the last line",
        ),
        (
            [HEADER, *CASES[1:], SUM_ONE, SUM_TWO, FOOTER],
            "the header announces 6 cases, but the file has 5",
        ),
        (
            [HEADER, OTHERWISE, *CASES[1:], SUM_ONE, SUM_TWO, FOOTER],
            "the total of 'one' does not match its lines",
        ),
        (
            [HEADER, *CASES, SUM_ONE, SUM_TWO, OTHER_SUMS],
            "the footer does not match the statuses of the lines",
        ),
        (
            [Header(format=2, cases=0, engines=[EngineEntry(name="a", version="")] * 2)],
            "the header names an engine twice: a, a",
        ),
    ],
)  # fmt: skip
def test_what_proves_nothing_is_refused_in_one_sentence(
    tmp_path: Path, lines: list[bytes], sentence: str
) -> None:
    path = write(tmp_path / "results.jsonl", lines)
    with pytest.raises(InvalidRunError, match=re.escape(sentence)) as refused:
        read_results(path)
    assert "\n" not in str(refused.value)
    result = tokenref("report", path)
    assert result.exit_code == 3
    assert result.output == f"tokenref: {refused.value}\n"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl cannot be read: No such file"):
        read_results(tmp_path / "none.jsonl")


def test_reading_keeps_no_lines(tmp_path: Path) -> None:
    cases = [line("one", f"bpe/count/topic/{n}", "fail", detail="x" * 500) for n in range(5_000)]
    path = write(tmp_path / "results.jsonl", whole(cases))
    del cases
    tracemalloc.start()
    try:
        read_results(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000 < path.stat().st_size


# ---- writing


def a_run(*judgements: Judgement, **more: object) -> Run:
    """Return a run over as many records."""
    cases = [record("count", f"r{at}") for at in range(len(judgements))]
    run = Run("one", "1", len(cases))
    run.results = [
        CaseResult(case, judgement, 1.5, **more)  # type: ignore[arg-type]
        for case, judgement in zip(cases, judgements, strict=True)
    ]
    return run


def test_what_check_writes_is_what_report_reads(tmp_path: Path) -> None:
    path, names = tmp_path / "results.jsonl", ["minimal", "greedy"]
    ids = "bpe/encode/examples/*"
    checked = tokenref("check", *names, "--id", ids, "--json", path)
    reported = tokenref("report", path)
    assert checked.exit_code == reported.exit_code == 1
    # The same tables and the same failures; only check says what greedy is.
    assert reported.output in checked.output
    results = read_results(path)
    assert results.header.selection == {"id": [ids]}
    assert {case.op for case in results.cases()} == {"encode"}


def test_texts_of_an_engine_are_bounded_and_have_no_surrogates(tmp_path: Path) -> None:
    run = a_run(Judgement("crash", "\ud800" + "x" * 10_000), log="a" * 10_000 + "end")
    run.trouble = ["\udc00"]
    path = tmp_path / "results.jsonl"
    path.write_bytes(dump_report([run], {}))
    (case,) = read_results(path).cases()
    assert case.detail.startswith("\\ud800xx")
    assert case.detail.endswith("x ... (10001 characters)")
    assert case.log.startswith("(10003 characters) aaa")
    assert len(case.log) <= LONGEST_DETAIL
    assert case.log.endswith("aend")
    summed = read_results(path).engines["one"]
    assert summed.trouble == ["\\udc00"]
    (cause,) = summed.causes
    assert cause.startswith("crash: \\ud800xx")


def test_a_line_says_the_stage_the_distance_and_the_alternative(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    run = a_run(
        Judgement("fail", "stage merges, entry 0: expected 1, got 2"),
        Judgement("pass", remark="f32.scan", ulp=3),
        got="{}",
    )
    path.write_bytes(dump_report([run], {}))
    fail, passed = read_results(path).cases()
    assert (fail.stage, fail.got, fail.ulp) == ("merges", "{}", None)
    assert (passed.stage, passed.remark, passed.ulp) == ("", "f32.scan", 3)


def test_a_known_difference_keeps_what_differs_and_is_explained_once(tmp_path: Path) -> None:
    known = [entry for entry in read_known() if entry.engine == "tiktoken"][:1]
    run = a_run(Judgement("xfail", f"known: {known[0].reason}", "count: expected 1, got 2"))
    run.engine = "tiktoken"
    run.results = [
        CaseResult(record("count", "r", id="bpe/count/missing_bytes/refused-x"), each.judgement, 1)
        for each in run.results
    ]
    path = tmp_path / "results.jsonl"
    path.write_bytes(dump_report([run], {}, known))
    results = read_results(path)
    (case,) = results.cases()
    assert (case.detail, case.known) == ("count: expected 1, got 2", known[0].title)
    assert results.header.differences[0].reason == known[0].reason


def test_a_run_that_lost_cases_is_told_as_invalid(tmp_path: Path) -> None:
    run = a_run(Judgement("pass"))
    run.selected = 2
    path = tmp_path / "results.jsonl"
    path.write_bytes(dump_report([run], {}))
    result = tokenref("report", path)
    assert result.exit_code == 3
    assert "one: the run is invalid: 2 cases were selected, 1 have a result" in result.output


def test_a_run_that_says_itself_that_it_proves_nothing_ends_with_three(tmp_path: Path) -> None:
    lines = whole(CASES[:1], sums={"one": {"trouble": ["no good"], "exit": 0}})
    assert tokenref("report", write(tmp_path / "results.jsonl", lines)).exit_code == 3


def test_two_versions_of_an_engine_are_shown_side_by_side(tmp_path: Path) -> None:
    paths = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    known = msgspec.structs.replace(read_known()[0], engine="one", cases=["*"], versions="<2")
    for path, version, judgement in zip(
        paths, ("1.4", "2.0"), (Judgement("xfail", "known: it"), Judgement("pass")), strict=True
    ):
        run = a_run(judgement)
        run.version = version
        path.write_bytes(dump_report([run], {}, [known]))
        assert [line.known for line in read_results(path).cases()] == [
            known.title if version == "1.4" else ""
        ]
        assert bool(read_results(path).header.differences) == (version == "1.4")
    both = tokenref("report", *paths).output
    assert "one 1.4" in both
    assert "one 2.0" in both
    changes = tokenref("report", paths[1], "--only-changes", paths[0]).output
    assert "xfail -> pass" in changes


def test_what_differs_is_the_remark_of_a_known_difference() -> None:
    entry = read_known()[0]
    assert entry.status != "incident"
    seen = Judgement(entry.status, "count: expected 1, got 2", ulp=4)
    found = with_known(seen, entry.engine, entry.cases[0], [entry])
    assert (found.status, found.remark, found.ulp) == ("xfail", seen.detail, 4)
    assert entry.reason in found.detail


def test_cases_that_were_not_run_are_told_once_or_by_engine(tmp_path: Path) -> None:
    cases = [
        line(engine, f"bpe/count/topic/{slug}", "not_run", detail=why)
        for engine in ("one", "two")
        for slug, why in (("a", "no such vocabulary"), ("b", f"{engine} was given up"))
    ]
    output = tokenref("report", write(tmp_path / "results.jsonl", whole(cases))).output
    assert output.count("1 case was not run: no such vocabulary") == 1
    assert "\none: 1 case was not run: one was given up" in output


@given(st.text("0123456789abcdefg", max_size=40), st.sampled_from(["f64", "f32", "f16", "bf16"]))
def test_bits_are_read_for_people_and_anything_else_is_left_alone(digits: str, dtype: str) -> None:
    each = {"f64": 16, "f32": 8}.get(dtype, 4)
    shown = readable({dtype: digits})[dtype]
    if "g" in digits or len(digits) % each:
        assert shown == digits
    else:
        assert len(shown) == len(digits) // each
    json.dumps(shown, allow_nan=False)


def test_an_answer_that_is_nested_deeply_is_shown_as_it_came() -> None:
    for depth in (300, 900, 20_000):
        answer = "[" * depth + "]" * depth
        assert readable_answer(answer, 100).startswith("[[[[")


def test_operations_that_an_engine_lacks_share_a_row(tmp_path: Path) -> None:
    cases = [
        line("one", f"bpe/{op}/topic/a", "pass" if op == "encode" else "unsupported")
        for op in ("encode", "decode", "stream")
    ]
    output = tokenref("report", write(tmp_path / "results.jsonl", whole(cases))).output
    rows = [row.split() for row in output.replace("│", " ").splitlines()[3:]]
    assert rows[:3] == [
        ["one", "1", "encode", "1", "1", "-", "-"],
        ["2", "others", "2", "-", "-", "2"],
        ["all", "3", "1", "-", "2"],
    ]


def test_the_smallest_of_very_many_failures_are_shown(tmp_path: Path) -> None:
    slugs = [f"{at:04}" for at in range(1_500)]
    cases = [line("one", f"bpe/count/topic/{slug}", "fail") for slug in reversed(slugs)]
    output = tokenref("report", write(tmp_path / "results.jsonl", whole(cases))).output
    assert re.findall(r"^  bpe/count/topic/(\d+) fail", output, re.MULTILINE) == slugs[:5]
    assert "one: 1,500 of 1,500 answered cases failed" in output
    assert "and 1,495 more" in output


# ---- several files


CANARY = line("one", "canary/count/one", "fail", cause="off by one")


def test_the_example_of_a_cause_is_a_record_and_no_canary_though_that_is_shorter(
    tmp_path: Path,
) -> None:
    record, canary = "sampling/min_p/rows/minus-infinity-keep-all", "canary/min_p/equality-removed"
    failed = [line("one", name, "fail", cause="a bug") for name in (canary, record)]
    sums = {"one": {"causes": {"a bug": "These 2 failures match a bug"}}}
    path = write(tmp_path / "results.jsonl", whole(failed, sums=sums))
    shown = tokenref("report", path).output
    assert f"  {record} fail" in shown
    assert f"  {canary} fail" not in shown


def test_shards_of_one_run_are_shown_as_one_run(tmp_path: Path) -> None:
    """The canary was asked in both. Each explains its failures with what it has seen."""
    paths = [tmp_path / name for name in ("a.jsonl", "b.jsonl")]
    for path, cases, said in zip(paths, (CASES[:1], CASES[1:3]), "AB", strict=True):
        selection = {"op": [said], "known": ["k"]}
        sums = {"one": {"causes": {"off by one": said}, "incidents": ["lost"], "restarts": 1}}
        write(path, whole([*cases, CANARY], sums=sums, differences=[KNOWN], selection=selection))
    to = {name: tmp_path / name for name in ("html", "junit", "badge", "write-known")}
    result = tokenref("report", *paths, *(part for n in to for part in (f"--{n}", to[n])))
    assert result.exit_code == 1
    rows = [row.split() for row in result.output.replace("│", " ").splitlines()[5:8]]
    assert rows[0] == ["one", "1", "encode", "1", "-", "-", "1"]
    assert rows[1] == ["count", "3", "1", "2", "-"]
    assert rows[2] == ["all", "4", "1", "2", "1"]
    assert "A. B. The smallest:" in result.output
    assert result.output.count("  canary/count/one fail") == result.output.count("lost") == 1
    assert "again    tokenref check one --id canary/count/one --known k" in result.output
    (suite,) = ET.parse(to["junit"]).getroot()  # noqa: S314 - our own text
    assert [test.get("name") for test in suite] == [
        *("bpe/count/topic/a", "canary/count/one", "bpe/count/topic/b", "bpe/encode/topic/c"),
        "incidents",
    ]
    assert (suite.get("tests"), suite.get("failures")) == ("5", "3")
    assert "2 of 4 failed" in to["badge"].read_text("utf-8")
    assert "<title>one 1 on 4 golden records</title>" in to["html"].read_text("utf-8")
    listed = tomllib.loads(to["write-known"].read_text("utf-8"))["known"]
    assert [each["cases"] for each in listed] == [["canary/count/one"], ["bpe/count/topic/b"]]
    (one,) = merged([read_results(path) for path in paths])
    assert one.header.selection == {"op": ["A", "B"], "known": ["k"]}
    assert one.engines["one"].restarts == 2


@pytest.mark.parametrize("other", [{"fixtures": "x"}, {"records": "x"}, {"known": "x"}])
def test_files_about_other_records_or_differences_are_no_shards(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    paths = [
        write(tmp_path / "a.jsonl", whole(CASES[:1])),
        write(tmp_path / "b.jsonl", whole(CASES[1:3], **other)),
        write(tmp_path / "c.jsonl", whole(CASES[3:])),
    ]
    files = [read_results(path) for path in paths]
    assert merged(files) == files


def test_files_with_the_same_case_are_no_shards(tmp_path: Path) -> None:
    first = write(tmp_path / "a.jsonl", whole(CASES[:1]))
    again = write(tmp_path / "c.jsonl", whole(CASES[:1]))
    result = tokenref("report", first, again, "--html", tmp_path / "x.html")
    assert result.exit_code == 3
    assert "one 1 has a result for bpe/count/topic/a in another file" in result.output
    assert "the run is invalid: " in (tmp_path / "x.html").read_text("utf-8")


def test_a_canary_that_two_runs_fail_is_one_line_of_the_page(tmp_path: Path) -> None:
    canary = [line("one", "canary/count/one", "fail", detail="count: expected 1, got 2")]
    golden = write(tmp_path / "golden.jsonl", whole(canary))
    own = write(tmp_path / "own.jsonl", whole(canary, fixtures="", records="sha256:0"))
    page = tmp_path / "page.html"
    assert tokenref("report", golden, own, "--html", page).exit_code == 1
    assert "<title>one 1 on 1 golden record</title>" in page.read_text("utf-8")


def test_two_versions_of_an_engine_are_two_columns(tmp_path: Path) -> None:
    files = [
        write(
            tmp_path / f"{version}.jsonl",
            whole(CASES[:1], [EngineEntry(name="one", version=version)]),
        )
        for version in ("1", "2")
    ]
    page = html_report([read_results(path) for path in files], catalogue([])).decode()
    assert "<title>2 engines on 1 golden record</title>" in page


# ---- JUnit


def suites(path: Path) -> list[ET.Element]:
    xml = junit_report([read_results(path)], open_catalogue())
    root = ET.fromstring(xml)  # noqa: S314 - our own text
    assert root.tag == "testsuites"
    return list(root)


def test_junit_has_a_test_per_case_and_counts_that_are_right(tmp_path: Path) -> None:
    cases = [
        line(engine, f"bpe/count/topic/{status}", status, detail=f"says {status}")
        for engine in ("one", "two")
        for status in EVERY_STATUS
    ]
    sums = {"two": {"trouble": ["no good"], "stale": ["gone"], "incidents": ["both"], "exit": 3}}
    path = write(tmp_path / "results.jsonl", whole(cases, sums=sums))
    for suite in suites(path):
        tests = list(suite)
        kinds = Counter(child.tag for test in tests for child in test)
        assert int(suite.attrib["tests"]) == len(tests)
        assert int(suite.attrib["failures"]) == kinds["failure"]
        assert int(suite.attrib["errors"]) == kinds["error"]
        assert int(suite.attrib["skipped"]) == kinds["skipped"]
        assert {test.tag for test in tests} == {"testcase"}
        assert all(test.attrib["classname"] and test.attrib["name"] for test in tests)
        found = {
            test.attrib["name"].rpartition("/")[2]: [child.tag for child in test]
            for test in tests
            if test.attrib["classname"] == "count"
        }
        failing = {"fail", "wrong_error", "crash", "timeout", "xpass"}
        assert found == {
            status: [] if status == "pass" else ["failure" if status in failing else "skipped"]
            for status in EVERY_STATUS
        }
    assert kinds == {"failure": 7, "error": 1, "skipped": 4}


def test_tests_of_a_whole_run_have_the_same_names_whatever_they_say(tmp_path: Path) -> None:
    for said in (["one"], ["two\n", "<three>"]):
        sums = {"one": {"trouble": said, "stale": said, "incidents": said, "exit": 3}}
        ((_, *tests),) = suites(write(tmp_path / "r.jsonl", whole(CASES[:1], sums=sums)))
        names = [(test.attrib["classname"], test.attrib["name"]) for test in tests]
        kinds = ["valid", "known differences", "incidents"]
        assert names == [("run", kind) for kind in kinds]
        text = "\n".join(each.replace("\n", "\\n") for each in said)
        assert [test[0].text for test in tests] == [text] * 3


def test_an_operation_that_an_engine_lacks_is_one_test(tmp_path: Path) -> None:
    why = "does not declare the operation count"
    lacks = [line("one", f"bpe/count/{name}", "unsupported", detail=why) for name in "abc"]
    other = line("one", "bpe/encode/a", "unsupported", detail="has no pattern")
    path = write(tmp_path / "results.jsonl", whole([*lacks, other]))
    (suite, *_) = suites(path)
    assert (suite.attrib["tests"], suite.attrib["skipped"]) == ("2", "2")
    assert [test.attrib["name"] for test in suite] == ["bpe/encode/a", "all records"]


def test_junit_says_what_differs_and_why_a_case_was_skipped(whole_file: Path) -> None:
    one, two = suites(whole_file)
    said = {test.attrib["name"]: child for test in [*one, *two] for child in test}
    failure = said["bpe/count/topic/b"]
    assert failure.attrib == {"message": "it broke", "type": "crash"}
    again = "tokenref check two --id bpe/count/topic/b"
    assert failure.text == f"got: it broke\nagain: {again}\nlog: Segmentation fault"
    assert said["bpe/encode/topic/c"].attrib["message"] == "skip: later"
    (known,) = one[2]
    assert known.attrib["message"] == f"xfail: known: breaks: {KNOWN.reason}"
    assert one[0].attrib["time"] == "0.001500"


def test_a_failing_test_of_junit_says_what_was_asked_why_and_how_to_ask_again(
    tmp_path: Path,
) -> None:
    record = open_catalogue().records["bpe/encode/examples/e2-leftmost"]
    failed = line("one", record.id, "fail", detail="ids: expected [1], got [2]", got='{"ids":[2]}')
    ((test,),) = suites(write(tmp_path / "results.jsonl", whole([failed])))
    said = dict(each.split(": ", 1) for each in (test[0].text or "").splitlines())
    assert said.pop("in").startswith('{"text":')
    assert said == {
        "why": record.why,
        "of": open_catalogue().name(record.vocab),
        "at": "ids",
        "expected": "[1]",
        "got": "[2]",
        "see": f"tokenref show {record.spec}",
        "learn": said["learn"],
        "again": f"tokenref check one --id {record.id}",
        "answer": '{"ids": [2]}',
    }


def test_an_unexpected_pass_has_no_likely_cause_in_junit(tmp_path: Path) -> None:
    for status, is_said in (("xpass", False), ("fail", True)):
        case = line("one", "bpe/count/a", status, cause="known differences")
        sums = {"one": {"causes": {"known differences": "1 record passes"}}}
        ((test,),) = suites(write(tmp_path / "results.jsonl", whole([case], sums=sums)))
        assert ("likely cause: known differences" in (test[0].text or "")) == is_said


TRACE = """==7==ERROR: AddressSanitizer: heap-buffer-overflow
    #0 0x1 in get /a/engine.c:3
\t#1 0x2 in encode /a/engine.c:4\x1b
    #2 0x3 in main /a/engine.c:5
    #3 0x4 in _start
"""


def test_the_trace_of_a_crash_can_be_read(tmp_path: Path) -> None:
    ended = "it was ended by SIGABRT; on standard error: '==7==ERROR: ASan ... SUMMARY: a.c:3'"
    lost = incident_of(ended, " in a batch of 2 (count)", TRACE)
    case = line("one", "bpe/count/a", "crash", detail=ended, log=TRACE)
    path = write(
        tmp_path / "results.jsonl", whole([case], sums={"one": {"incidents": [lost], "exit": 1}})
    )
    ((crashed, run),) = suites(path)
    (failure,), (incident,) = crashed, run
    assert failure.attrib["message"] == "it was ended by SIGABRT"
    assert incident.attrib["message"] == "it was ended by SIGABRT in a batch of 2 (count)"
    for text in (failure.text or "", incident.text or ""):
        assert (
            "\n    #0 0x1 in get /a/engine.c:3\n        #1 0x2 in encode /a/engine.c:4\\x1b\n"
            in text
        )
    shown = tokenref("report", path).output
    (got,) = re.findall(r"    got      it was .*\n((?: {13}.*\n)*)", shown)
    assert [each.strip().partition(" 0x")[0] for each in got.splitlines()] == ["#0", "#1", "#2"]


@given(st.text(st.characters(), max_size=20))
def test_junit_is_xml_whatever_an_engine_says(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    said = text.encode("utf-8", "backslashreplace").decode()
    case = line("one", f"bpe/count/{said}", "fail", detail=said, got=said)
    entry = EngineEntry(name="one", version=said)
    path = tmp_path_factory.mktemp("junit") / "results.jsonl"
    ((test,),) = suites(write(path, whole([case], [entry])))
    shown = test[0].attrib["message"]
    assert shown.isprintable()
    if said.isprintable():
        assert shown == said


# ---- changes


@pytest.mark.parametrize(
    ("was", "now", "kind"),
    [
        ("pass", "fail", "new failure"),
        ("xpass", "fail", "new failure"),
        ("xfail", "xpass", "unexpected pass"),
        ("pass", "xpass", "unexpected pass"),
        (None, "xpass", "unexpected pass"),
        ("fail", "xpass", "other"),
        ("unsupported", "timeout", "new failure"),
        (None, "crash", "new case fails"),
        ("fail", "fail", "another answer"),
        (None, "pass", "appeared"),
        ("pass", None, "disappeared"),
        ("fail", None, "disappeared"),
        ("fail", "pass", "newly passing"),
        ("unsupported", "pass", "newly passing"),
        ("fail", "crash", "lost answer"),
        ("wrong_error", "timeout", "lost answer"),
        ("pass", "unsupported", "lost answer"),
        ("fail", "not_run", "lost answer"),
        ("xfail", "skip", "lost answer"),
        ("crash", "timeout", "other"),
        ("skip", "unsupported", "other"),
        ("fail", "xfail", "other"),
    ],
)
def test_a_change_has_one_kind(was: str | None, now: str | None, kind: str) -> None:
    assert Change("one", "bpe/a/b", was, now).kind == kind


def test_only_what_changed_is_told_and_new_failures_count(tmp_path: Path) -> None:
    old = write(tmp_path / "old.jsonl", whole(CASES))
    new_cases = [
        line("one", "bpe/count/topic/a", "crash", detail="broke\nbadly", cause="size"),
        line("one", "bpe/count/topic/b", "pass"),
        line("one", "bpe/count/topic/new", "pass"),
        line("three", "bpe/count/topic/a", "pass"),
    ]
    sums = {"one": {"causes": {"size": "This failure shows: it is long"}}}
    new = write(tmp_path / "new.jsonl", whole(new_cases, sums=sums))
    found = list(changes(read_results(old), [read_results(new)]))
    assert [(change.engine, change.id.rpartition("/")[2], change.kind) for change in found] == [
        ("one", "a", "new failure"),
        ("one", "b", "newly passing"),
        ("one", "new", "appeared"),
        ("three", "a", "appeared"),
        ("one", "c", "disappeared"),
    ]
    result = tokenref("report", new, "--only-changes", old)
    assert result.exit_code == 1
    assert (
        "new failure: 1\n"
        "  This failure shows: it is long:\n"
        "  one  bpe/count/topic/a  pass -> crash\n"
        "      got      broke\\nbadly\n"
        "      again    tokenref check one --id bpe/count/topic/a\n"
    ) in result.output
    assert f"two is only in {old}" in result.output
    assert f"three is not in {old}" in result.output
    assert tokenref("report", new, "--only-changes", new).exit_code == 0
    assert "nothing changed" in tokenref("report", new, "--only-changes", new).output


def test_another_wrong_answer_a_new_case_and_a_missing_engine_are_told(tmp_path: Path) -> None:
    cases = [
        line("one", "bpe/count/topic/a", "fail", got='{"count":1}'),
        line("one", "bpe/count/topic/b", "fail", got='{"count":1}'),
    ]
    both = whole([*cases, line("two", "bpe/count/topic/a", "pass")])
    old = write(tmp_path / "old.jsonl", both)
    cases[0] = msgspec.structs.replace(cases[0], got='{"count":2}')
    new = write(tmp_path / "new.jsonl", whole(cases))
    result = tokenref("report", new, "--only-changes", old)
    assert result.exit_code == 1
    assert f"two is only in {old}, so all its answers are lost\n" in result.output
    assert "nothing changed" not in result.output
    changed = (
        "  one  bpe/count/topic/a  still fail, with another answer\n"
        '      before   {"count":1}\n'
        '      now      {"count":2}\n'
        "      again    tokenref check one --id bpe/count/topic/a\n"
    )
    assert f"another answer: 1\n{changed}" in result.output
    assert "topic/b" not in result.output
    for more, code in (((), 0), (("--other-answers",), 1)):
        same = write(tmp_path / "same.jsonl", whole([cases[0]]))
        older = write(
            tmp_path / "older.jsonl", whole([msgspec.structs.replace(cases[1], id=cases[0].id)])
        )
        assert tokenref("report", same, "--only-changes", older, *more).exit_code == code
    assert tokenref("report", new, "--other-answers").exit_code == 2
    only_one = write(tmp_path / "one.jsonl", whole([cases[1]]))
    result = tokenref("report", new, "--only-changes", only_one)
    assert (result.exit_code, "new case fails: 1\n" in result.output) == (1, True)


def test_changes_to_the_worse_are_grouped_by_cause_the_largest_group_first(tmp_path: Path) -> None:
    ids = [f"bpe/count/topic/{name}" for name in "abcdefghi"]
    old = write(tmp_path / "old.jsonl", whole([line("one", each, "pass") for each in ids]))
    causes = ["", "few", *["many"] * 7]
    failed = [line("one", *each) for each in zip(ids, ["fail"] * 9, strict=True)]
    failed = [
        msgspec.structs.replace(each, cause=cause)
        for each, cause in zip(failed, causes, strict=True)
    ]
    sums = {"one": {"causes": {"few": "This one", "many": "These 7"}}}
    new = write(tmp_path / "new.jsonl", whole(failed, sums=sums))
    shown = tokenref("report", new, "--only-changes", old).output.partition("new failure: 9\n")[2]
    lines = [each for each in shown.splitlines() if not each.startswith("    ")]
    alike = [f"  one  {each}  pass -> fail" for each in ids]
    many = ["  These 7:", *alike[2 : 2 + SHOWN_FAILURES], f"  and {7 - SHOWN_FAILURES} more"]
    assert lines == [*many, "  This one:", alike[1], "  1 matches no known cause:", alike[0]]


def test_results_of_other_engines_or_of_an_invalid_run_cannot_be_compared(tmp_path: Path) -> None:
    of_one = [each for each in CASES if each.engine == "one"]
    new = write(tmp_path / "new.jsonl", whole(of_one))
    renamed = [msgspec.structs.replace(each, engine="other") for each in of_one]
    old = write(tmp_path / "old.jsonl", whole(renamed))
    result = tokenref("report", new, "--only-changes", old)
    assert result.exit_code == 3
    assert "the runs have no engine in common, so they cannot be compared" in result.output
    stopped = write(
        tmp_path / "stopped.jsonl", whole(of_one, sums={"one": {"trouble": ["it"], "exit": 3}})
    )
    result = tokenref("report", new, "--only-changes", stopped)
    assert result.exit_code == 3
    assert f"{stopped} is from an invalid run, so it says nothing about changes" in result.output
    assert "nothing changed" not in result.output


def test_an_answer_that_is_lost_fails_the_comparison_and_says_why(tmp_path: Path) -> None:
    old = write(tmp_path / "old.jsonl", whole(CASES))
    lost = line("one", "bpe/count/topic/b", "unsupported", detail="does not declare count")
    new = write(tmp_path / "new.jsonl", whole([CASES[0], lost, *CASES[2:]]))
    result = tokenref("report", new, "--only-changes", old)
    assert result.exit_code == 1
    assert (
        "lost answer: 1\n"
        "  one  bpe/count/topic/b  fail -> unsupported\n"
        "      because  does not declare count\n"
        "      again    tokenref check one --id bpe/count/topic/b\n"
    ) in result.output
    assert tokenref("report", old, "--only-changes", new).exit_code == 1  # a new failure


def test_results_to_compare_with_are_not_replaced_by_those_of_less(tmp_path: Path) -> None:
    results, own, texts = (tmp_path / name for name in ("results.jsonl", "own.jsonl", "texts"))
    texts.write_text("to be", encoding="ascii")
    tokenref("fill", "--vocabulary", "tiny", "--texts", texts, "--out", own)
    some: list[str | Path] = ["--id", "bpe/encode/examples/*"]
    both: list[str | Path] = ["--only-changes", results, "--json", results]
    assert tokenref("check", "naive", "heap", *some, "--json", results).exit_code == 0
    before = results.read_bytes()
    less: list[tuple[list[str | Path], int]] = [
        (["naive", *some], 24),
        (["naive", "heap", "--id", "bpe/encode/examples/e1-*"], 44),
        (["naive", "heap", "--records", own, "--vocabulary", "tiny"], 48),
    ]
    for arguments, lost in less:
        refused = tokenref("check", *arguments, *both)
        assert refused.exit_code == 2
        assert "--json must be another file than that of --only-changes, " in refused.output
        assert f"because {lost} of its results are about" in refused.output
        assert results.read_bytes() == before
    for arguments in (["naive", "heap", *some, "--seed", "1"], ["heap", "naive", "scan", *some]):
        assert tokenref("check", *arguments, *both).exit_code == 0
        assert results.read_bytes() != before


def test_a_run_of_a_part_keeps_what_it_did_not_run_in_the_list_of_known_differences(
    tmp_path: Path,
) -> None:
    """Also where a user's own records are run, of which the list names none."""
    own, texts, old, new = (tmp_path / name for name in ("own.jsonl", "texts", "old", "new"))
    texts.write_text("to be", encoding="ascii")
    tokenref("fill", "--vocabulary", "tiny", "--texts", texts, "--out", own)
    cases = ("bpe/count/*", "own/*", "bpe/encode/examples/e2-leftmost")
    how = 'status = "fail"\nreason = "It is an example of a reason."\n'
    begin = '[[known]]\ntitle = "one"\nengine = "naive"\ncases = '
    old.write_text("\n".join(f'{begin}["{case}"]\n{how}' for case in cases))
    run: list[str | Path] = ["check", "naive", "--known", old, "--write-known", new]
    shown = tokenref(*run, "--records", own, "--vocabulary", "tiny").output
    assert "0 new entries (old ones: 3 kept, 3 of them not run, 0 shortened, 0 removed)" in shown
    assert read_known(new) == read_known(old)
    new.unlink()
    shown = tokenref(*run, "--id", "bpe/encode/examples/*").output
    assert "0 new entries (old ones: 2 kept, 2 of them not run, 0 shortened, 1 removed)" in shown
    assert read_known(new) == read_known(old)[:2]


def test_failures_are_written_as_a_list_that_is_refused_until_it_has_reasons(
    tmp_path: Path,
) -> None:
    cases = [
        line("one", "bpe/count/topic/b", "fail", detail="a\nb", cause="size"),
        line("one", "bpe/count/topic/c", "crash", cause="size"),
        line("one", "bpe/count/topic/d", "fail", cause="size"),
        line("one", "bpe/count/topic/h", "crash", cause="crash: it ended"),
        line("one", "bpe/encode/topic/e", "timeout"),
        line("one", "bpe/encode/topic/f", "xpass"),
        line("one", "bpe/encode/topic/g", "xfail", known="breaks"),
    ]
    sums = {"one": {"causes": {"size": "These 3 failures show: size"}}}
    results = write(tmp_path / "results.jsonl", whole(cases, sums=sums))
    path = tmp_path / "known.toml"
    said = f"{path} lists the failures in 4 entries; replace each 'TODO: why?' by the reason\n"
    assert said in tokenref("report", results, "--write-known", path).output
    comment = "# These 3 failures show: size.\n# For example bpe/count/topic/b: a\\nb\n"
    assert comment in path.read_text()
    with pytest.raises(RecordError, match=r"entry 1: reason must be .* got 'TODO: why\?'"):
        read_known(path)
    refused = tokenref("report", results, "--write-known", path)
    assert (refused.exit_code, "must be a new file" in refused.stderr) == (2, True)
    path.write_text(path.read_text().replace("TODO: why?", "An example of a reason."))
    assert {(each.title, *each.cases, each.status) for each in read_known(path, ["one"])} == {
        ("size (crash)", "bpe/count/topic/c", "crash"),
        ("crash: it ended", "bpe/count/topic/h", "crash"),
        ("encode, no known cause (timeout)", "bpe/encode/topic/e", "timeout"),
        ("size", "bpe/count/topic/b", "bpe/count/topic/d", "fail"),
    }


def test_a_list_of_known_differences_is_empty_without_failures_and_absent_for_an_invalid_run(
    tmp_path: Path,
) -> None:
    passed = write(tmp_path / "passed.jsonl", whole(CASES[:1]))
    tokenref("report", passed, "--write-known", tmp_path / "known.toml")
    assert read_known(tmp_path / "known.toml") == []
    sums = {"one": {"trouble": ["no good"], "exit": 3}}
    broken = write(tmp_path / "broken.jsonl", whole(CASES[:2], sums=sums))
    shown = tokenref("report", broken, "--write-known", tmp_path / "new.toml")
    assert f"{tmp_path / 'new.toml'} is not written: the run is invalid\n" in shown.output
    sums["one"]["trouble"] = ["the engine was abandoned: it failed again (--restarts)"]
    given_up = write(tmp_path / "given-up.jsonl", whole(CASES[:2], sums=sums))
    shown = tokenref("report", given_up, "--write-known", tmp_path / "new.toml")
    assert "the run is invalid; with --restarts 1000 it may reach its end\n" in shown.output
    assert not (tmp_path / "new.toml").exists()


def test_a_list_continues_an_older_one_without_what_passes(tmp_path: Path) -> None:
    """Other engines and other versions keep their entries, and cases without a result theirs."""
    statuses = {"a1": "xfail", "a2": "xpass", "b1": "xfail", "b2": "unsupported", "c": "xpass"}
    statuses |= {"d1": "crash", "d2": "xfail", "e": "not_run", "g": "unsupported"}
    cases = [line("one", f"bpe/count/topic/{name}", status) for name, status in statuses.items()]
    results = read_results(write(tmp_path / "results.jsonl", whole(cases)))

    def entry(title: str, cases: str, engine: str = "one", versions: str = "") -> Known:
        globs = [f"bpe/count/topic/{each}" for each in cases.split()]
        more = {"reason": "It is an example.   ", "link": "an address", "versions": versions}
        return Known(title=title, engine=engine, cases=globs, status="fail", **more)

    old = [
        entry("partly fixed", "a? b? c d? f", versions=">=1"),
        entry("as it was", "b? e"),
        entry("fixed", "a2 c g nothing"),
        entry("another version", "a2", versions="<1"),
        entry("another engine", "a2", engine="two"),
    ]
    content, entries, not_run, count = known_list(
        [results], old, [*(each.id for each in cases), "bpe/count/topic/f"]
    )
    assert count == 1
    (tmp_path / "known.toml").write_bytes(content.replace(b"TODO: why?", b"It is an example.   "))
    *kept, new = read_known(tmp_path / "known.toml")
    assert kept == entries
    assert kept == [
        entry("partly fixed", "a1 b? d2 f", versions=">=1"),
        old[1],
        entry("fixed", "g"),
        *old[3:],
    ]
    assert not_run == old[3:]
    assert (new.cases, new.status) == (["bpe/count/topic/d1"], "crash")


def test_an_operation_that_is_not_declared_any_more_keeps_its_known_differences(
    tmp_path: Path,
) -> None:
    """What was not asked is not fixed, and a record that passes is."""
    ids = ("bpe/count/topic/a", "bpe/count/topic/b", "bpe/encode/topic/c")
    cases = [line("one", each, "unsupported") for each in ids[:2]] + [line("one", ids[2], "xpass")]
    results = read_results(write(tmp_path / "results.jsonl", whole(cases)))
    lost, fixed = (
        Known(
            title=title,
            cases=[each],
            reason="An example of an operation.",
            engine="one",
            status="fail",
        )
        for title, each in (("lost", "bpe/count/*"), ("fixed", "bpe/encode/*"))
    )
    old = [lost, fixed]
    content, *entries, count = known_list([results], old, ids)
    assert (entries, count) == ([[lost], [lost]], 0)
    (tmp_path / "known.toml").write_bytes(content)
    assert read_known(tmp_path / "known.toml") == [lost]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_list_names_an_engine_of_any_name_as_it_is(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    lines = whole([line(name, "bpe/count/topic/b", "fail")])
    content, *_ = known_list([read_results(write(tmp_path_factory.mktemp("r") / "r", lines))])
    assert tomllib.loads(content.decode())["known"][0]["engine"] == name


def test_a_run_of_a_part_changes_nothing_about_the_other_records(tmp_path: Path) -> None:
    old = read_results(write(tmp_path / "old.jsonl", whole(CASES)))
    part = whole([CASES[0]], selection={"op": ["count"], "known": ["k.toml"]})
    new = read_results(write(tmp_path / "new.jsonl", part))
    assert list(changes(old, [new], {"bpe/count/topic/b": None})) == [
        Change("one", "bpe/encode/topic/c", "xfail", None)  # which has no record any more
    ]
    (note,) = (each for each, _ in notes(old, [new]) if "only in" not in each)
    assert note == (
        f"only a part of the records was selected (--op): the others of {old.path} are not compared"
    )


def test_two_results_of_one_engine_that_contradict_each_other_are_pointed_out(
    tmp_path: Path,
) -> None:
    first = write(tmp_path / "a.jsonl", whole(CASES[:2]))
    other = write(tmp_path / "b.jsonl", whole([line("one", "bpe/count/topic/b", "pass")]))
    said = (
        f"{first} and {other} contradict each other about one 1: 1 case has another status, "
        "for example bpe/count/topic/b: fail and pass\n"
    )
    assert said in tokenref("report", first, other).output
    later = [EngineEntry(name="one", version="2")]
    write(other, whole([line("one", "bpe/count/topic/b", "pass")], later))
    assert "contradict" not in tokenref("report", first, other).output


def test_failures_that_were_there_before_do_not_count_as_changes(tmp_path: Path) -> None:
    old = write(tmp_path / "old.jsonl", whole(CASES))
    assert tokenref("report", old).exit_code == 1
    assert tokenref("report", old, "--only-changes", old).exit_code == 0


def test_runs_over_different_records_and_invalid_ones_are_named(tmp_path: Path) -> None:
    sums = {"one": {"trouble": ["no good"], "exit": 3}}
    old = read_results(
        write(tmp_path / "o.jsonl", whole(CASES[:1], sums=sums, fixtures="sha256:0"))
    )
    new = read_results(write(tmp_path / "n.jsonl", whole(CASES[:1], fixtures="sha256:1")))
    assert notes(old, [new]) == [
        (f"{old.path} is from an invalid run, so it says nothing about changes", 3),
        ("the runs are over different records", 0),
    ]
    assert tokenref("report", old.path, "--only-changes", new.path).exit_code == 3


# ---- the page, without a browser


@given(st.recursive(st.text() | st.integers() | st.none(), st.lists))
def test_data_in_the_page_is_inert_and_means_the_same(value: object) -> None:
    inert = compressed(value)
    assert json.loads(decompress(b64decode(inert))) == value
    assert inert.isascii()
    assert not set("<>&") & set(inert)


def test_the_page_lets_in_its_own_script_and_style_and_nothing_else(whole_file: Path) -> None:
    page = html_report([read_results(whole_file)], catalogue([])).decode()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in (style, script)]
    assert policy == (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'"
    )
    assert "{{" not in page
    assert not re.search(r'(?:src|href)="(?!#|data:,")', page)
    assert not re.search(r"\bon\w+=|style=|url\(|@import", page)


def test_the_tables_count_and_say_so_in_words(whole_file: Path) -> None:
    records = [
        record("count", "a", ["Count"]),
        record("count", "b", ["Count", "LongRun"]),
        record("encode", "c"),
    ]
    page = html_report([read_results(whole_file)], catalogue(records)).decode()
    cells = re.findall(r'<td class="([^"]*)" title="([^"]*)">(.*?)</td>', page)
    assert [(look, re.sub("<[^>]*>", " ", text).split()) for look, _, text in cells] == [
        ("known", ["≠", "1", "of", "1"]),
        ("none", ["·"]),
        ("bad much", ["✗", "1", "of", "2"]),
        ("bad much", ["✗", "1", "of", "1"]),
        ("bad much", ["✗", "1", "of", "2"]),
        ("bad much", ["✗", "1", "of", "1"]),
        ("bad much", ["✗", "1", "of", "1"]),
        ("bad much", ["✗", "1", "of", "1"]),
    ]
    assert [words for _, words, _ in cells[:3]] == [
        "1 differ as known",
        "1 skipped",
        "1 pass, 1 fail",
    ]
    # A card names the operation, and links to its cases.
    assert 'href="#engine=one+1&amp;op=count&amp;status=failures"' in page
    assert "one 1, count: 1 pass, 1 fail<" in page


def test_what_a_flag_means_is_text_as_well() -> None:
    counts = {"Flag": [Counter({"pass": 1})]}
    made = table("flag", counts, ["one 1"], {"Flag": '"><b>bold</b>'})
    assert "<b>" not in made
    assert "&quot;&gt;&lt;b&gt;bold" in made


def test_an_engine_that_is_invalid_or_stale_is_never_shown_as_right(tmp_path: Path) -> None:
    for more, sentence in (
        ({"trouble": ["a canary passed"], "exit": 3}, "✗ the run is invalid"),
        ({"stale": ["gone"], "exit": 1}, "✗ fails, but no single case does"),
        ({"incidents": ["together"], "exit": 1}, "✗ fails, but no single case does"),
    ):
        path = write(tmp_path / "results.jsonl", whole(CASES[:1], sums={"one": more}))
        page = html_report([read_results(path)], catalogue([])).decode()
        assert sentence in page
        assert "all cases pass" not in page


def test_only_paths_and_web_addresses_are_taken_for_links(whole_file: Path) -> None:
    result = tokenref("report", whole_file, "--html", "x.html", "--pages", "javascript:alert(1)//")
    assert result.exit_code == 2
    assert "--pages must be a path or an http(s) address, got 'javascript:" in result.output
    with pytest.raises(ValueError, match=r"path or an http\(s\) address, got 'data:x'"):
        html_report([read_results(whole_file)], catalogue([]), pages="data:x")


def test_cited_pages_are_found_beside_the_fixtures_of_a_checkout(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    html = tmp_path / "docs" / "report.html"
    assert pages_beside(html, tmp_path / "fixtures") == ""
    (tmp_path / "docs" / "bpe.md").touch()
    assert pages_beside(html, tmp_path / "fixtures") == "../"


def test_a_report_says_if_its_records_are_not_those_that_are_here(tmp_path: Path) -> None:
    here = manifest_digest(open_catalogue().manifest)
    for digest, differs in ((here, False), ("sha256:0", True)):
        path = write(tmp_path / "results.jsonl", whole(CASES, fixtures=digest))
        output = tokenref("report", path, "--html", tmp_path / "x.html").output
        assert ("was made with other records than those here" in output) == differs
        page = (tmp_path / "x.html").read_text(encoding="utf-8")
        assert ("was made with other records than those here" in page) == differs


def test_a_report_on_records_of_one_s_own_says_where_their_questions_are(tmp_path: Path) -> None:
    path = write(tmp_path / "results.jsonl", whole(CASES, fixtures="", records="sha256:0"))
    output = tokenref("report", path, "--html", tmp_path / "x.html").output
    assert "contains results for your own records" in output
    assert "was made with other records" not in output


def test_a_report_on_own_and_golden_records_has_the_questions_of_both(tmp_path: Path) -> None:
    (tmp_path / "my.txt").write_text("unbelievable", "utf-8")
    own, junit = tmp_path / "own.jsonl", tmp_path / "junit.xml"
    tokenref("fill", "--vocabulary", "tiny", "--texts", tmp_path / "my.txt", "--out", own)
    files = [tmp_path / "golden-results.jsonl", tmp_path / "own-results.jsonl"]
    tokenref("check", "greedy", "--id", "bpe/encode/examples/*", "--json", files[0])
    tokenref("check", "greedy", "--records", own, "--json", files[1])
    result = tokenref("report", *files, "--records", own, "--junit", junit)
    assert result.exit_code == 1
    assert "other records" not in result.output
    failures = re.findall("><failure .*?</failure>", junit.read_text("utf-8"), re.DOTALL)
    assert len(failures) > 1
    assert "own/" in failures[-1]
    assert all(">why: " in failure for failure in failures)


def test_ten_engines_on_all_records_make_a_page_below_two_megabytes(tmp_path: Path) -> None:
    records = open_catalogue()
    cases = [
        CaseLine(
            engine=f"engine-{engine}",
            id=case.id,
            op=case.id.split("/")[1],
            status="fail" if (at + engine) % 97 == 0 else "pass",
            detail=f"ids, from token {at}: expected 1, got 2" if (at + engine) % 97 == 0 else "",
            got='{"ids":[1,2,3]}' if (at + engine) % 97 == 0 else "",
        )
        for engine in range(10)
        for at, case in enumerate(records.cases)
    ]
    path = write(tmp_path / "results.jsonl", whole(cases))
    page = html_report([read_results(path)], records)
    assert len(page) < 2_000_000
    (packed,) = re.findall(rb'id="data">([^<]*)<', page)
    data = json.loads(decompress(b64decode(packed)))
    assert [case["id"] for case in data["cases"]] == [case.id for case in records.cases]


def test_more_results_than_readers_can_hold_are_refused(
    whole_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, option, sentence in (
        ("html.page", "--html", "an HTML report can have at most 5 results, got 6: select fewer"),
        ("junit", "--junit", "JUnit XML can have at most 5 results, got 6"),
    ):
        monkeypatch.setattr(f"tokenref.reports.{module}.MOST_LINES", 5)
        result = tokenref("report", whole_file, option, tmp_path / "x")
        assert (result.exit_code, result.output) == (3, f"tokenref: {sentence}\n")
    assert tokenref("report", whole_file).exit_code == 1


def test_check_makes_the_same_reports(tmp_path: Path) -> None:
    json_path, html, junit = (tmp_path / name for name in ("r.jsonl", "r.html", "r.xml"))
    check = ("check", "greedy", "--id", "bpe/count/texts/*")
    made = tokenref(*check, "--json", json_path, "--html", html, "--junit", junit)
    pages = [html.read_bytes(), junit.read_bytes()]
    assert made.exit_code == 1
    reported = tokenref("report", json_path, "--html", html, "--junit", junit)
    assert reported.exit_code == 1
    assert pages == [html.read_bytes(), junit.read_bytes()]
    again = tokenref(*check, "--only-changes", json_path)
    assert again.exit_code == 0
    assert "nothing changed" in again.output
    refused = tokenref("check", "naive", "--corpus", junit, "--vocabulary", "tiny", "--html", html)
    assert refused.exit_code == 2


def test_results_may_replace_the_ones_that_they_are_compared_with(tmp_path: Path) -> None:
    path, selection = tmp_path / "r.jsonl", ("--id", "bpe/count/texts/*")
    assert tokenref("check", "heap", *selection, "--json", path).exit_code == 0
    path.write_text(path.read_text().replace('"heap"', '"greedy"'))
    before = path.read_bytes()
    changed = tokenref("check", "greedy", *selection, "--json", path, "--only-changes", path)
    assert changed.exit_code == 1
    assert "new failure" in changed.output
    assert f"{path} keeps the results of the run before: this one has changes to" in changed.output
    assert path.read_bytes() == before
    stops = shlex.join([sys.executable, "-c", "import sys; sys.exit(1)"])
    wanted = ("--json", path, "--only-changes", path)
    assert tokenref("check", "--cmd", stops, *selection, *wanted).exit_code == 3
    assert path.read_bytes() == before


def test_an_invalid_run_does_not_replace_the_results_that_it_is_compared_with(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "old.jsonl", whole(CASES))
    reports = Wanted(old=read_results(path))
    sums = {"one": {"trouble": ["abandoned"], "exit": 3}}
    bad = write(tmp_path / "bad.jsonl", whole(CASES, sums=sums)).read_bytes()
    before = path.read_bytes()
    _, said = reports.write_results(bad, path)
    assert said == [f"{path} keeps the results of the run before: this one is invalid"]
    assert path.read_bytes() == before
    assert reports.write_results(bad, tmp_path / "other.jsonl")[1] == []
    assert reports.write_results(before, path)[1] == []


def test_incidents_with_other_addresses_are_one_fault(tmp_path: Path) -> None:
    said = "it was ended by SIGABRT once, at {}, which was answered when asked again; "
    said += "its last line on standard error: 'race in cache 0x{}'"
    incidents = [said.format(*each) for each in (("a", "57f1"), ("b", "57f2"), ("c", "9"))]
    passed = [line("one", "bpe/count/topic/a", "pass")]
    path, new = tmp_path / "results.jsonl", tmp_path / "new.toml"
    write(path, whole(passed, sums={"one": {"incidents": incidents, "exit": 1}}))
    assert "; and 2 more like it" in tokenref("report", path, "--write-known", new).output
    (entry,) = tomllib.loads(new.read_text("utf-8"))["known"]
    assert all(fnmatchcase(each, entry["cases"][0]) for each in incidents)


def test_a_new_incident_is_a_change_to_the_worse(tmp_path: Path) -> None:
    old = write(tmp_path / "old.jsonl", whole(CASES))
    sums = {"one": {"incidents": ["it was late in a batch of 58"], "exit": 1}}
    new = write(tmp_path / "new.jsonl", whole(CASES, sums=sums))
    found = tokenref("report", new, "--only-changes", old)
    assert (found.exit_code, "one: it was late in a batch of 58" in found.output) == (1, True)
    assert tokenref("report", new, "--only-changes", new).exit_code == 0
    assert tokenref("report", old, "--only-changes", new).exit_code == 0


def test_an_old_run_that_proves_nothing_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").touch()
    result = tokenref("check", "no-such-engine", "--only-changes", tmp_path / "old.jsonl")
    assert result.exit_code == 3
    assert "old.jsonl: the file is empty" in result.output


def test_nothing_is_written_where_a_file_cannot_be(whole_file: Path) -> None:
    for option in ("--html", "--junit"):
        result = tokenref("report", whole_file, option, "no/such/folder/x")
        assert result.exit_code == 2
        assert "no/such/folder/x cannot be written: No such file or directory" in result.output


def test_markup_and_escapes_of_an_engine_do_nothing_in_a_terminal(tmp_path: Path) -> None:
    case = line("one", "bpe/count/topic/a", "crash", detail=f"[bold]{HOSTILE}")
    sums = {"one": {"stale": [HOSTILE], "incidents": [HOSTILE]}}
    entry = EngineEntry(name="one", version=f"[red]{HOSTILE}")
    path = write(tmp_path / "results.jsonl", whole([case], [entry], sums))
    output = tokenref("report", path).output
    assert "\x1b" not in output
    assert "\u202e" not in output
    assert "\\u202e" in output
    assert "[bold]</script>" in output


def test_sums_of_an_engine_line_may_name_incidents_and_restarts() -> None:
    sums = EngineLine(engine="e", statuses={}, trouble=[], stale=[], exit=0)
    assert (sums.incidents, sums.restarts) == ([], 0)


def test_reasons_for_skipped_cases_have_a_line_each_and_are_cut() -> None:
    sums: Any = None
    summary = Summary(EngineEntry(name="mine", version="1"), sums, {})
    summary.reasons["skip", "encode"].update(
        {"no f64": 9, "has no pattern " + "x y " * 50: 2, "a": 1, "b": 1, "c": 1, "d": 4}
    )
    with (console := Console(width=200)).capture() as captured:
        _print_skipped(console, summary)
    assert captured.get().splitlines() == [
        "",
        "mine skipped",
        "  9: no f64",
        "  4: d",
        f"  2: has no pattern {'x y ' * 13}...",
        "  1: a",
        "  1: b",
        "  1: other reasons, see --json FILE",
    ]


def test_reasons_for_a_selected_operation_without_an_answer_have_a_line() -> None:
    sums: Any = None
    for options, is_of_ops, said in (
        ([], True, ["", "mine: decode is unsupported: no ids; only text"]),
        (["--records", "a"], False, ["", "mine: decode is unsupported: no ids; only text"]),
        ([], False, []),  # of all operations, an engine may lack dozens
    ):
        summary = Summary(EngineEntry(name="mine", version="1"), sums, {}, {}, options, is_of_ops)
        for op, status, detail in (
            ("decode", "unsupported", "no ids"),
            ("decode", "unsupported", "only text"),
            ("encode", "unsupported", "only text"),
            ("encode", "pass", ""),
        ):
            summary.add(line("mine", f"bpe/{op}/topic/a", status, op=op, detail=detail))
        with (console := Console(width=200)).capture() as captured:
            _print_skipped(console, summary)
        assert captured.get().splitlines() == said


def test_operations_and_batches_that_were_skipped_altogether_are_named() -> None:
    sums: Any = None
    records = open_catalogue().records
    batch = "sampling/batch/long/greedy-512-rows"
    summary = Summary(EngineEntry(name="mine", version="1"), sums, records)
    for case_id, status in {
        "bpe/encode/topic/a": "skip",
        "bpe/encode/topic/b": "pass",
        "bpe/count/topic/a": "skip",
        "bpe/count/topic/b": "unsupported",
        "bpe/decode/topic/a": "unsupported",
        batch: "skip",
        "sampling/batch/long/top-p-many-kept": "pass",
    }.items():
        summary.add(line("mine", case_id, status, detail="not yet"))
    with (console := Console(width=200)).capture() as captured:
        _print_skipped(console, summary)
    assert captured.get().splitlines()[1:] == [
        "mine skipped",
        "  3: not yet",
        "  no answer was judged of count, batches of greedy",
    ]


def test_failures_without_any_known_cause_are_said_to_have_none(tmp_path: Path) -> None:
    failed = [line("one", "bpe/count/topic/a", "fail")]
    hint = "other operations may show the cause: try without --op"
    for selection in ({}, {"op": ["count"]}):
        path = write(tmp_path / "results.jsonl", whole(failed, selection=selection))
        printed = tokenref("report", path).output
        assert "1 failure matches no known cause. The smallest:" in printed
        assert (hint in printed) == bool(selection)


def test_of_failures_without_a_cause_each_operation_shows_one(tmp_path: Path) -> None:
    failed = [
        *(line("one", f"bpe/count/topic/{number}", "fail") for number in range(9)),
        line("one", "sampling/top_k/topic/z", "fail"),
    ]
    printed = tokenref("report", write(tmp_path / "results.jsonl", whole(failed))).output
    assert "10 failures match no known cause (9 of count, 1 of top_k). The smallest:" in printed
    shown = re.findall(r"^  (\S+/topic/\S+) fail$", printed, re.MULTILINE)
    assert shown == [f"bpe/count/topic/{n}" for n in (0,)] + ["sampling/top_k/topic/z"] + [
        f"bpe/count/topic/{n}" for n in (1, 2, 3)
    ]


def test_combining_marks_of_answers_are_escaped_and_paths_stay_as_they_are() -> None:
    with (console := Console(width=200)).capture() as captured:
        print_labelled(console, [("smallest", "'fe\u0301'"), ("again", "--id e\u0301.jsonl")])
    assert captured.get().split() == ["smallest", r"'fe\u0301'", "again", "--id", "e\u0301.jsonl"]
    assert readable_json({"text": "\u0301"}, 99) == r'{"text": "\u0301"}'


def test_how_many_questions_without_an_answer_are_not_shown_is_said(tmp_path: Path) -> None:
    says = "2 questions crashed: it ended"
    ids = ("bpe/count/topic/a", "bpe/count/topic/b")
    crashes = [line("one", each, "crash", detail=each, cause="crash: it ended") for each in ids]
    sums = {"one": {"causes": {"crash: it ended": says}}}
    shown = tokenref("report", write(tmp_path / "results.jsonl", whole(crashes, sums=sums))).output
    assert f"{says}. The smallest:" in shown
    assert "  and 1 more; use --json FILE to see all\n" in shown


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("report {read} --html {read}", "RESULTS and --html"),
        ("report {other} --only-changes {read} --junit {read}", "--only-changes and --junit"),
        ("check naive --only-changes {read} --json {other} --badge {read}", "--only-changes and "),
        ("check naive --known {read} --html {read}", "--known and --html"),
        ("check naive --known {read} --json {read}", "--known and --json"),
        ("check naive --records {read} --junit {read}", "--records and --junit"),
        ("check naive --corpus {read} --vocabulary tiny --json {read}", "--corpus and --json"),
        ("check naive --corpus {other} --vocabulary {read} --json {read}", "--vocabulary and "),
        ("check --cmd 'python {read}' --badge {read}", "--cmd and --badge"),
        ("judge {read} {other} --json {read}", "REQUESTS and --json"),
        ("judge {other} {read} --json {read}", "RESPONSES and --json"),
        ("judge {other} {other} --known {read} --json {read}", "--known and --json"),
        ("train {other} {read} --size 300 --out {read}", "FILE and --out"),
        ("explain bpe a --vocabulary {read} --html {read}", "--vocabulary and --html"),
        ("explain sample llama.cpp {read} --html {read}", "LOGITS and --html"),
        ("explain compare llama.cpp vllm {read} --html {read}", "LOGITS and --html"),
        ("explain speculative {other} {read} --html {read}", "DRAFT and --html"),
    ],
)
def test_what_a_command_reads_is_not_overwritten(
    command: str, options: str, tmp_path: Path
) -> None:
    read, other = (write(tmp_path / name, whole(CASES)) for name in ("read", "other"))
    before = read.read_bytes()
    refused = tokenref(*shlex.split(command.format(read=read, other=other)))
    assert refused.exit_code == 2
    assert refused.output.startswith(f"tokenref: {options}")
    assert refused.output.endswith(f" must be different files, got {read}\n")
    assert (read.read_bytes(), other.read_bytes()) == (before, before)


def test_what_may_be_read_in_a_folder_is_not_overwritten(tmp_path: Path) -> None:
    texts = write(tmp_path / "texts.txt", [b"a\n"])
    folder = tmp_path / "mine"
    folder.mkdir()
    read = folder / "tokenizer.json"
    write_tokenizer_json(vocabulary_of(load("tiny")), read)
    before = read.read_bytes()
    fill: list[str | Path] = ["fill", "--vocabulary", folder, "--texts", texts, "--out"]
    rule = "must not be a file that may be read in the folder of"
    for name in ("tokenizer.json", "tokenizer_config.json", "tekken.json"):
        refused = tokenref(*fill, folder / name)
        assert refused.exit_code == 2
        assert f"tokenref: --out {rule} --vocabulary, got {folder / name}\n" == refused.output
    for _ in range(2):
        assert tokenref(*fill, folder / "goldens.jsonl", "--replace").exit_code == 0
    assert read.read_bytes() == before
    fixtures = small_fixtures(tmp_path / "fixtures")
    before = (fixtures / "MANIFEST.json").read_bytes()
    for name in ("MANIFEST.json", "bpe/new.jsonl"):
        run: list[str | Path] = [
            "check",
            "naive",
            "--fixtures",
            fixtures,
            "--json",
            fixtures / name,
        ]
        assert f"--json {rule} --fixtures, got {fixtures / name}\n" in tokenref(*run).output
    assert (fixtures / "MANIFEST.json").read_bytes() == before


def test_two_reports_in_one_file_are_refused(tmp_path: Path) -> None:
    results, new = tmp_path / "results.jsonl", tmp_path / "new"
    run = ["naive", "--id", "bpe/encode/examples/*", "--json"]
    assert tokenref("check", *run, results).exit_code == 0
    (tmp_path / "link").symlink_to("new")
    asked: list[tuple[list[str | Path], str]] = [
        (["check", *run, new, "--junit", new], "--json and --junit"),
        (["check", *run, new, "--write-known", new], "--json and --write-known"),
        (["report", results, "--junit", tmp_path / "link", "--html", new], "--html and --junit"),
        (["report", results, "--badge", new, "--write-known", new], "--badge and --write-known"),
    ]
    for arguments, options in asked:
        refused = tokenref(*arguments)
        assert refused.exit_code == 2
        assert f"{options} must be different files, got " in refused.output
        assert not new.exists()
    ignored = Path(os.devnull)
    assert tokenref("report", results, "--junit", ignored, "--html", ignored).exit_code == 0


def test_the_steps_of_a_failure_are_shown_whole() -> None:
    case = open_catalogue().records["sampling/steps/fused/bias-temperature-top-k-draw-0"]
    entry = EngineEntry(name="kernels", version="1")
    summary: Any = SimpleNamespace(records={case.id: case}, entry=entry, options=[], names={})
    line: Any = SimpleNamespace(
        id=case.id, status="fail", detail="token: expected 1, got 2", log=""
    )
    console = Console(file=StringIO(), width=4000)
    _print_failure(console, summary, line)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    (steps,) = [each for each in shown.splitlines() if each.strip().startswith("steps ")]
    assert [json.loads(steps.split(None, 1)[1])[at]["step"] for at in range(3)] == [
        step.step for step in case.input.steps
    ]


def test_tables_and_changes_are_written_in_ascii(whole_file: Path, tmp_path: Path) -> None:
    old = write(tmp_path / "old.jsonl", whole(CASES[:1] + CASES[3:4]))
    for options in ((), ("--only-changes", old)):
        shown = subprocess.run(
            [sys.executable, "-m", "tokenref", "report", whole_file, *options],
            env={**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
            capture_output=True,
            check=False,
        ).stdout.decode("ascii")
        assert " - " in shown or " -> " in shown
        assert "?" not in shown


@pytest.mark.parametrize(
    ("statuses", "stale", "said", "color"),
    [
        (["pass", "xfail", "skip"], [], "1 of 2 passed", "brightgreen"),
        (
            ["pass", "xpass", "xpass"],
            [],
            "3 of 3 passed, 2 known differences did not occur",
            "yellow",
        ),
        (["pass"], ["'a' (b)"], "1 of 1 passed, 1 known difference did not occur", "yellow"),
        (["pass", "xpass", "crash"], [], "1 of 3 failed, 1 known difference did not occur", "red"),
    ],
)
def test_the_badge_and_the_terminal_count_the_same_answered_cases(
    statuses: list[Status], stale: list[str], said: str, color: str, tmp_path: Path
) -> None:
    cases = [line("one", f"bpe/a/{at}", status) for at, status in enumerate(statuses)]
    exit_code = 0 if color == "brightgreen" else 1
    sums = {"one": {"stale": stale, "exit": exit_code}}
    path = write(tmp_path / "results.jsonl", whole(cases, sums=sums))
    reported = tokenref("report", path, "--badge", tmp_path / "badge.json")
    assert reported.exit_code == exit_code
    badge = json.loads((tmp_path / "badge.json").read_text())
    assert (badge["message"], badge["color"]) == (said, color)
    shown = re.search(r"^one: .* answered cases .*$", reported.output, re.MULTILINE)
    assert shown is not None
    assert shown[0].replace(" answered cases", "") == f"one: {said}"
