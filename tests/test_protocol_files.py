"""Requests and responses as files: what is exported, and how answers to it are judged."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from tests.fakes import honest
from tokenref.catalogue import Catalogue, open_catalogue
from tokenref.cli import main
from tokenref.errors import InvalidRunError
from tokenref.protocol.channel import Function
from tokenref.protocol.requests import judge_responses, read_requests

SELECTION = ("--op", "limit", "--op", "decode")
Message = dict[str, Any]


def tokenref(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def read_lines(path: Path) -> list[Message]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with requests, and the honest answers to them."""
    folder = tmp_path_factory.mktemp("exported")
    result = tokenref("export", "--folder", folder, *SELECTION)
    assert result.exit_code == 0, result.output
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        engine = Function(honest.make())
        requests = (folder / "requests.jsonl").read_bytes()
        body, _, bye = requests[:-1].rpartition(b"\n")
        assert json.loads(bye) == {"cmd": "bye"}
        lines = engine.exchange(body, 10**6, 0)
    (folder / "responses.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
    return folder


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return open_catalogue()


@pytest.fixture(autouse=True)
def _read_once(catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare each command reading all fixtures again."""
    monkeypatch.setattr("tokenref.commands.options.open_catalogue", lambda *_: catalogue)


def changed(exported: Path, tmp_path: Path, change: Callable[[list[Message]], object]) -> Path:
    """Return the responses, changed."""
    messages = read_lines(exported / "responses.jsonl")
    returned = change(messages)
    path = tmp_path / "changed.jsonl"
    lines = returned if isinstance(returned, list) else messages
    path.write_text("".join(json.dumps(message) + "\n" for message in lines))
    return path


def judged(exported: Path, responses: Path, tmp_path: Path) -> tuple[int, list[Message], str]:
    """Return exit code, the report's lines, and what was printed."""
    report = tmp_path / "report.jsonl"
    result = tokenref("judge", exported / "requests.jsonl", responses, "--json", report)
    lines = read_lines(report) if report.exists() else []
    return result.exit_code, lines, result.output


def counts(report: list[Message]) -> Mapping[str, int]:
    return Counter(line["status"] for line in report if line["kind"] == "case")


def trouble(report: list[Message]) -> str:
    (line,) = [line for line in report if line["kind"] == "engine"]
    return "\n".join(line["trouble"])


def first_run(messages: list[Message]) -> Message:
    return next(message for message in messages if message.get("results"))


def test_neither_answers_nor_names_are_exported(exported: Path) -> None:
    text = (exported / "requests.jsonl").read_text()
    assert "bpe/" not in text
    first = json.loads(text.partition("\n")[0])
    assert first["cmd"] == "hello"
    questions = [
        case
        for message in read_lines(exported / "requests.jsonl")
        for case in message.get("cases", ())
    ]
    assert first["about"]["cases"] == len(questions)
    assert all(set(question) == {"k", "in"} for question in questions)
    assert len({question["k"] for question in questions}) == len(questions)


def test_every_vocabulary_is_loaded_once_and_lies_beside_the_requests(exported: Path) -> None:
    asked = read_lines(exported / "requests.jsonl")
    loads = [message for message in asked if message["cmd"] == "load"]
    assert len({message["vocab"] for message in loads}) == len(loads)
    for message in loads:
        content = json.loads((exported / message["path"]).read_text())
        assert content["digest"] == message["vocab"]


def test_honest_answers_are_clean(exported: Path, tmp_path: Path) -> None:
    code, report, _ = judged(exported, exported / "responses.jsonl", tmp_path)
    assert (code, trouble(report)) == (0, "")
    assert set(counts(report)) == {"pass"}
    assert report[0]["engines"][0]["name"] == "honest"
    assert report[-1]["complete"] is True


def test_the_order_of_lines_and_results_does_not_matter(exported: Path, tmp_path: Path) -> None:
    def reversed_lines(messages: list[Message]) -> list[Message]:
        for message in messages:
            message.get("results", []).reverse()
        return [messages[0], *reversed(messages[1:])]

    path = changed(exported, tmp_path, reversed_lines)
    assert judged(exported, path, tmp_path)[0] == 0


def test_a_wrong_answer_fails_alone(exported: Path, tmp_path: Path) -> None:
    def wrong(messages: list[Message]) -> None:
        run = next(m for m in messages if m.get("results") and "count" in str(m["results"][0]))
        next(r for r in run["results"] if "ok" in r)["ok"] = {"count": 1000}

    code, report, _ = judged(exported, changed(exported, tmp_path, wrong), tmp_path)
    assert code == 1
    assert counts(report)["fail"] >= 1
    (failed, *_) = [line for line in report if line.get("status") == "fail"]
    assert "got 1000" in failed["detail"]


def test_a_key_that_is_answered_twice_is_a_crash(exported: Path, tmp_path: Path) -> None:
    def twice(messages: list[Message]) -> list[Message]:
        run = first_run(messages)
        return [*messages, {"id": run["id"], "results": run["results"][:1]}]

    code, report, _ = judged(exported, changed(exported, tmp_path, twice), tmp_path)
    assert code == 1
    crashed = [line for line in report if line.get("status") == "crash"]
    assert crashed
    assert all("is answered twice" in line["detail"] for line in crashed)


def test_a_question_without_an_answer_is_not_run_and_the_run_invalid(
    exported: Path, tmp_path: Path
) -> None:
    path = changed(exported, tmp_path, lambda messages: first_run(messages)["results"].pop())
    code, report, _ = judged(exported, path, tmp_path)
    assert code == 3
    assert counts(report)["not_run"] >= 1
    assert trouble(report).startswith("1 of ")
    assert report[-1]["complete"] is False


@pytest.mark.parametrize("key", ["999999999", "x", "-1", "01", "", "1" * 5000, "\u0661"])
def test_a_key_that_was_not_asked_is_named_and_the_run_invalid(
    exported: Path, tmp_path: Path, key: str
) -> None:
    def foreign(messages: list[Message]) -> None:
        first_run(messages)["results"].append({"k": key, "ok": {}})

    code, report, _ = judged(exported, changed(exported, tmp_path, foreign), tmp_path)
    assert code == 3
    assert "was not asked, at $.results[" in trouble(report)
    assert set(counts(report)) == {"pass"}


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b"not json\n", "it is not JSON"),
        (b"\xff\n", "line "),
        (b'{"id":"zz","results":[]}\n', "no run had the id 'zz'"),
        (b'{"id":"b999999","results":[]}\n', "no run had the id 'b999999'"),
        (b'{"id":"l999999","ok":{}}\n', "nothing was loaded as 'l999999'"),
        (b'{"id":"b0","ok":{}}\n', "no run had the id 'b0'"),
        (b'{"id":"b0"}\n', "must have exactly one of"),
        (b'{"id":"b0","results":[]}', "the line is truncated"),
    ],
)
def test_a_wrong_line_is_named_with_its_number(
    exported: Path, tmp_path: Path, line: bytes, sentence: str
) -> None:
    path = tmp_path / "more.jsonl"
    content = (exported / "responses.jsonl").read_bytes()
    path.write_bytes(content + line)
    code, report, _ = judged(exported, path, tmp_path)
    assert code == 3
    assert sentence in trouble(report)
    assert f"line {content.count(chr(10).encode()) + 1}: " in trouble(report)


def test_of_many_wrong_lines_a_few_are_named_and_the_rest_counted(
    exported: Path, tmp_path: Path
) -> None:
    path = tmp_path / "more.jsonl"
    path.write_bytes((exported / "responses.jsonl").read_bytes() + b"{}\n" * 1000)
    _, report, _ = judged(exported, path, tmp_path)
    assert "and 995 more wrong lines" in trouble(report)


def test_answers_of_another_export_are_said_to_be_that(exported: Path, tmp_path: Path) -> None:
    """Each has the form of the other operation, and some requests have none."""

    def other(messages: list[Message]) -> None:
        forms = {False: {"count": 1}, True: {"bytes": "61"}}
        for message in messages[1:]:
            for result in message.get("results", ())[1:]:
                result.pop("err", None)
                if "ok" in result:
                    result["ok"] = forms["count" in result["ok"]]
            message.get("results", [])[:1] = []

    code, _, printed = judged(exported, changed(exported, tmp_path, other), tmp_path)
    assert code == 3
    assert "the responses do not seem to answer these requests: each of the" in printed
    code, _, printed = judged(exported, exported / "responses.jsonl", tmp_path)
    assert "do not seem to answer" not in printed


def test_what_a_program_cannot_do_is_no_failure(exported: Path, tmp_path: Path) -> None:
    def without_decode(messages: list[Message]) -> list[Message]:
        messages[0]["ops"] = {"limit": messages[0]["ops"]["limit"]}
        return [m for m in messages if not any("bytes" in str(r) for r in m.get("results", []))]

    code, report, _ = judged(exported, changed(exported, tmp_path, without_decode), tmp_path)
    assert code == 0
    assert set(counts(report)) == {"pass", "unsupported"}


def test_a_misspelt_profile_of_responses_is_printed(exported: Path, tmp_path: Path) -> None:
    def misspelt(messages: list[Message]) -> None:
        messages[0]["ops"] |= {"decode": {"profiles": ["definitoin"]}}

    _, _, said = judged(exported, changed(exported, tmp_path, misspelt), tmp_path)
    sentence = "no record of decode has the profile 'definitoin'; did you mean \"definition\"?\n"
    assert said.endswith(sentence)
    assert sentence not in judged(exported, exported / "responses.jsonl", tmp_path)[2]


def test_what_was_not_loaded_is_skipped_whatever_came_after(exported: Path, tmp_path: Path) -> None:
    def skipping(messages: list[Message]) -> None:
        load = next(message for message in messages if "ok" in message)
        del load["ok"]
        load["skip"] = {"reason": "too large"}

    code, report, _ = judged(exported, changed(exported, tmp_path, skipping), tmp_path)
    assert code == 0
    assert set(counts(report)) == {"pass", "skip"}


@pytest.mark.parametrize(("said", "status"), [("skip", "skip"), ("crash", "crash")])
def test_a_run_may_be_answered_as_a_whole(
    exported: Path, tmp_path: Path, said: str, status: str
) -> None:
    def whole(messages: list[Message]) -> None:
        run = first_run(messages)
        del run["results"]
        run[said] = {"reason": "no"} if said == "skip" else {"msg": "no"}

    _, report, _ = judged(exported, changed(exported, tmp_path, whole), tmp_path)
    assert counts(report)[status] >= 1
    assert trouble(report) == ""


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "the file is empty"),
        (b"Welcome\n", "line 1: not an answer to hello: it is not JSON"),
        (b'{"id":"l0","ok":{}}\n', "line 1: not an answer to hello: Object contains unknown"),
    ],
)
def test_responses_must_begin_with_hello(
    exported: Path, tmp_path: Path, content: bytes, sentence: str
) -> None:
    path = tmp_path / "responses.jsonl"
    path.write_bytes(content)
    code, report, output = judged(exported, path, tmp_path)
    assert (code, report[0]["engines"]) == (3, [])
    assert sentence in report[0]["trouble"]
    assert sentence in output


def altered(line: int, change: Callable[[Message], object]) -> Callable[[list[bytes]], list[bytes]]:
    def alter(lines: list[bytes]) -> list[bytes]:
        message = json.loads(lines[line])
        change(message)
        return [*lines[:line], json.dumps(message).encode() + b"\n", *lines[line + 1 :]]

    return alter


@pytest.mark.parametrize(
    ("alter", "sentence"),
    [
        (lambda lines: lines[:-1], "the file is truncated"),
        (lambda lines: [*lines[:-2], lines[-1]], "the file is truncated"),
        (lambda _: [], "the file is truncated"),
        (lambda lines: lines[1:], "line 1: must be the hello that `tokenref export` writes"),
        (lambda lines: [*lines[:2], b"x\n", *lines[2:]], "line 3: not a request: it is not JSON"),
        (lambda lines: [*lines[:2], *lines[3:]], "the id must be 'b0'"),
        (altered(2, lambda m: m["cases"][0].update(k="x")), "line 3: the key must be '0', got 'x'"),
        (altered(2, lambda m: m["cases"][0].update({"in": {"ids": [77777]}})), "no record asks"),
        (
            altered(0, lambda m: m["about"].update(fixtures="sha256:" + "0" * 64)),
            "was exported from records sha256:0000",
        ),
    ],
)
def test_requests_that_were_changed_are_refused(
    exported: Path, tmp_path: Path, alter: Callable[[list[bytes]], list[bytes]], sentence: str
) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_bytes(
        b"".join(alter((exported / "requests.jsonl").read_bytes().splitlines(keepends=True)))
    )
    result = tokenref("judge", path, exported / "responses.jsonl")
    assert result.exit_code == 3
    assert sentence in result.output


def test_each_question_may_be_asked_often_and_the_worst_answer_counts(
    tmp_path: Path, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    selection = ("--op", "limit", "--vocabulary", "tiny", "--repeat", 3, "--batch", 5)
    assert tokenref("export", "--folder", tmp_path, *selection).exit_code == 0
    monkeypatch.chdir(tmp_path)
    requests = Path("requests.jsonl").read_bytes().splitlines()[:-1]
    lines = Function(honest.make()).exchange(b"\n".join(requests), 10**6, 0)
    responses = Path("responses.jsonl")
    responses.write_bytes(b"\n".join(lines) + b"\n")
    questions = read_requests(Path("requests.jsonl"), catalogue)
    asked = Counter(questions.of_key)
    assert set(asked.values()) <= {1, 3, 4}  # canaries are asked once
    (named, *_) = questions.cases[0]
    alone = tokenref("export", "--id", named.id, "--vocabulary", "tiny")
    assert alone.stderr == "1 questions and 0 canaries\n"
    found = judge_responses(responses, questions, catalogue)
    assert {result.judgement.status for result in found.results} == {"pass"}
    runs = [number for number, line in enumerate(lines) if b'"results"' in line]
    for number in (runs[0], runs[-1]):
        message = msgspec.json.decode(lines[number])
        message["results"][0]["ok"] = {"count": 99}
        broken = [*lines[:number], msgspec.json.encode(message), *lines[number + 1 :]]
        responses.write_bytes(b"\n".join(broken) + b"\n")
        found = judge_responses(responses, questions, catalogue)
        assert Counter(result.judgement.status for result in found.results)["fail"] >= 1


def test_canaries_are_among_the_questions_and_one_that_passes_is_named(
    exported: Path, catalogue: Catalogue
) -> None:
    questions = read_requests(exported / "requests.jsonl", catalogue)
    found = judge_responses(exported / "responses.jsonl", questions, catalogue)
    assert found.canaries == []
    assert len(questions.of_key) > len(found.results)
    right = found.results[0].case
    passing = msgspec.structs.replace(right, id="canary/limit/passing")
    lenient = replace(catalogue, canaries=[passing])
    shown = [case for case in questions.cases if right in case]
    shown[0].append(passing)
    found = judge_responses(exported / "responses.jsonl", questions, lenient)
    assert [each.case.id for each in found.canaries] == [passing.id]
    assert passing.id not in {result.case.id for result in found.results}


def test_without_a_folder_paths_are_those_of_the_fixtures(catalogue: Catalogue) -> None:
    result = tokenref("export", "--op", "limit", "--vocabulary", "tiny")
    assert result.exit_code == 0
    messages = [json.loads(line) for line in result.stdout.splitlines()]
    (load, *_) = [message for message in messages if message["cmd"] == "load"]
    assert (catalogue.folder / load["path"]).is_file()


def test_no_question_has_more_rows_in_one_call_than_the_option_allows() -> None:
    """Not even a canary's."""
    rows: dict[str, set[int]] = {"batch": set(), "stat_batch": set()}
    for most in ("2", "40"):
        result = tokenref("export", "--op", "batch", "--op", "stat_batch", "--rows-at-most", most)
        assert result.exit_code == 0, result.output
        for message in map(json.loads, result.stdout.splitlines()):
            for case in message.get("cases", []):
                asked = case["in"]["rows"]
                rows[message["op"]].add(asked if message["op"] == "stat_batch" else len(asked))
        assert max(rows["batch"] | rows["stat_batch"]) <= int(most)
    assert (max(rows["batch"]), max(rows["stat_batch"])) == (36, 33)
    none = tokenref("export", "--op", "stat_batch", "--rows-at-most", "1")
    assert "matches none of the" in none.stderr
    assert "--op stat_batch --rows-at-most 1" in none.stderr


def test_a_file_that_cannot_be_read_is_said_in_a_sentence(exported: Path, tmp_path: Path) -> None:
    result = tokenref("judge", tmp_path / "none", exported / "responses.jsonl")
    assert (result.exit_code, result.output) == (
        2,
        f"tokenref: {tmp_path / 'none'} cannot be read: No such file or directory\n",
    )


def test_a_line_without_end_is_not_read_into_memory(
    exported: Path, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tokenref.protocol.requests.LONGEST_LINE", 1000)
    questions = read_requests(exported / "requests.jsonl", catalogue)
    with pytest.raises(InvalidRunError, match="a line has at most 1,000 bytes"):
        judge_responses(exported / "responses.jsonl", questions, catalogue)


def test_a_program_reads_the_file_as_its_input(exported: Path) -> None:
    fake = Path(__file__).parent / "fakes" / "fake.py"
    command = [sys.executable, "-I", "-S", str(fake), "right"]
    with (exported / "requests.jsonl").open("rb") as asked:
        done = subprocess.run(
            command, stdin=asked, capture_output=True, cwd=exported, check=False, timeout=120
        )
    assert json.loads(done.stdout.partition(b"\n")[0])["impl"]["name"] == "fake"
