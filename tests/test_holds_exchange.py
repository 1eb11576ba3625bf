"""Answers from outside, however wrong, many or hostile, are judged in bounded time and memory."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner, Result
from msgspec import convert

from tests.children import ROOT
from tests.small_fixtures import small_fixtures
from tokenref.catalogue import open_catalogue
from tokenref.cli import main
from tokenref.engines.table import engine
from tokenref.floats import Floats
from tokenref.judging_samplers import row_of
from tokenref.protocol.requests import answer_requests
from tokenref.questions.sampling import BatchInput
from tokenref.record import Case
from tokenref.verdicts import Rows

MEBIBYTE: Final = 2**20
Message = dict[str, Any]


@pytest.fixture(scope="module")
def exchanged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with fixtures, requests, and right answers to them."""
    folder = tmp_path_factory.mktemp("exchanged")
    small_fixtures(folder / "fixtures")
    result = tokenref(
        *("export", "--fixtures", folder / "fixtures", "--op", "limit", "--folder", folder)
    )
    assert result.exit_code == 0, result.output
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        reference: Any = engine("reference")
        lines = answer_requests(reference, folder / "requests.jsonl", lambda _: None)
        (folder / "responses.jsonl").write_bytes(b"".join(lines))
    return folder


def tokenref(*arguments: object) -> Result:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def judged(exchanged: Path, responses: Path, tmp_path: Path) -> tuple[int, str, list[Message]]:
    report = tmp_path / "report.jsonl"
    result = tokenref(
        *("judge", exchanged / "requests.jsonl", responses),
        *("--fixtures", exchanged / "fixtures", "--json", report),
    )
    assert "Traceback" not in result.output
    assert "\x1b" not in result.output
    lines = report.read_bytes().splitlines() if report.exists() else []
    return result.exit_code, result.output, [json.loads(line) for line in lines]


def test_right_answers_are_right(exchanged: Path, tmp_path: Path) -> None:
    assert judged(exchanged, exchanged / "responses.jsonl", tmp_path)[0] == 0


def test_answers_that_are_judged_twice_are_judged_the_same(exchanged: Path, tmp_path: Path) -> None:
    first = judged(exchanged, exchanged / "responses.jsonl", tmp_path)
    assert judged(exchanged, exchanged / "responses.jsonl", tmp_path) == first


def lines_of(exchanged: Path) -> list[bytes]:
    return (exchanged / "responses.jsonl").read_bytes().splitlines(keepends=True)


def with_first_answer(lines: list[bytes], ok: bytes) -> bytes:
    """Return responses in which one answer is this JSON."""
    at = next(number for number, line in enumerate(lines) if b'"results"' in line)
    start = lines[at].index(b'"ok":') + len(b'"ok":')
    end = lines[at].index(b"}", start) + 1
    lines[at] = lines[at][:start] + ok + lines[at][end:]
    return b"".join(lines)


NOT_ANSWERS: Final[dict[str, bytes]] = {
    "nested deeply": b'{"count":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "nested deeply in what is not looked at": b'{"count":1,"x":'
    + b'{"a":' * 900
    + b"1"
    + b"}" * 901,
    "a number of 100,000 digits": b'{"count":' + b"9" * 100_000 + b"}",
    "a float": b'{"count":2.5}',
    "NaN": b'{"count":NaN}',
    "infinity": b'{"count":1e400}',
    "a list of a million": b'{"count":[' + b"1," * 1_000_000 + b"1]}",
    "another answer": b'{"ids":[1]}',
    "markup for a key": b'{"<script>alert(1)</script>":1}',
    "an escape for a key": b'{"\\u001b[31m":1}',
    "text": b'"\\u001b]0;title\\u0007"',
    "null": b"null",
}


@pytest.mark.parametrize("name", NOT_ANSWERS)
def test_what_is_no_answer_is_a_failure_or_makes_the_run_invalid(
    name: str, exchanged: Path, tmp_path: Path
) -> None:
    path = tmp_path / "responses.jsonl"
    path.write_bytes(with_first_answer(lines_of(exchanged), NOT_ANSWERS[name]))
    code, _, report = judged(exchanged, path, tmp_path)
    assert code in {1, 3}
    assert not all(line.get("status", "pass") == "pass" for line in report)
    assert all(len(json.dumps(line)) < 10_000 for line in report)


def keys_changed(change: Callable[[list[Message]], object]) -> Callable[[list[bytes]], bytes]:
    def apply(lines: list[bytes]) -> bytes:
        at = next(number for number, line in enumerate(lines) if b'"results"' in line)
        message = json.loads(lines[at])
        change(message["results"])
        lines[at] = json.dumps(message).encode() + b"\n"
        return b"".join(lines)

    return apply


def first(results: list[Message], key: str) -> Message:
    return {**results[0], "k": key}


NOT_RESPONSES: Final[dict[str, tuple[Callable[[list[bytes]], bytes], str]]] = {
    "a key twice": (keys_changed(lambda r: r.append(r[0])), "is answered twice"),
    "a key less": (keys_changed(lambda r: r.pop()), "of 41 questions have no answer|no answer"),
    "a foreign key": (keys_changed(lambda r: r.append(first(r, "x"))), "was not asked"),
    "a key beyond": (keys_changed(lambda r: r.append(first(r, "99999"))), "was not asked"),
    "a negative key": (keys_changed(lambda r: r.append(first(r, "-1"))), "was not asked"),
    "a key in other digits": (
        keys_changed(lambda r: r.append(first(r, "\u0661"))),
        "was not asked",
    ),
    "a key of 10,000 digits": (
        keys_changed(lambda r: r.append(first(r, "9" * 10_000))),
        "was not asked",
    ),
    "half a line": (lambda lines: b"".join(lines)[:-20], "the line is truncated"),
    "a line that is no JSON": (lambda lines: b"".join([*lines, b"done!\n"]), "it is not JSON"),
    "an empty line": (lambda lines: b"".join([*lines, b"\n"]), "it is not JSON"),
    "NULs": (lambda lines: b"".join([*lines, bytes(100), b"\n"]), "it is not JSON"),
    "nesting": (lambda lines: b"".join([*lines, b"[" * 100_000, b"\n"]), "."),
    "the hello alone": (lambda lines: lines[0], "have no answer"),
    "nothing": (lambda _: b"", "the file is empty"),
    "no hello": (lambda lines: b"".join(lines[1:]), "not an answer to hello"),
    "UTF-16": (lambda lines: b"".join(lines).decode().encode("utf-16"), "not an answer to hello"),
    "a line without an end": (lambda lines: lines[0] + b" " * (17 * MEBIBYTE), "at most"),
    "another run's id": (
        lambda lines: b"".join([*lines, b'{"id":"b99","results":[]}\n']),
        "no run had the id",
    ),
}


@pytest.mark.parametrize("name", NOT_RESPONSES)
def test_responses_that_are_none_are_told_and_never_clean(
    name: str, exchanged: Path, tmp_path: Path
) -> None:
    change, sentence = NOT_RESPONSES[name]
    path = tmp_path / "responses.jsonl"
    path.write_bytes(change(lines_of(exchanged)))
    code, said, _ = judged(exchanged, path, tmp_path)
    assert code == (1 if name == "a key twice" else 3), said
    flat = " ".join(said.split())
    assert any(each in flat for each in sentence.split("|")) or sentence == "."


def test_responses_to_other_requests_are_never_clean(exchanged: Path, tmp_path: Path) -> None:
    """The keys are the same; what they stand for is not."""
    result = tokenref(
        *("export", "--fixtures", exchanged / "fixtures", "--op", "limit"),
        *("--seed", "7", "--folder", tmp_path),
    )
    assert result.exit_code == 0
    result = tokenref(
        *("judge", tmp_path / "requests.jsonl", exchanged / "responses.jsonl"),
        *("--fixtures", exchanged / "fixtures"),
    )
    assert result.exit_code in {1, 3}


def test_requests_of_other_fixtures_are_refused(exchanged: Path, tmp_path: Path) -> None:
    small_fixtures(tmp_path / "others", most=20)
    result = tokenref(
        *("judge", exchanged / "requests.jsonl", exchanged / "responses.jsonl"),
        *("--fixtures", tmp_path / "others"),
    )
    assert result.exit_code == 3
    assert result.output.startswith(f"tokenref: {exchanged / 'requests.jsonl'}")


def test_a_line_of_very_many_foreign_keys_takes_no_time(exchanged: Path, tmp_path: Path) -> None:
    """Each was shown with its line once, so that the time grew with the square of their number."""
    path = tmp_path / "responses.jsonl"
    foreign = b",".join(b'{"k":"x%d","ok":{}}' % number for number in range(400_000))
    path.write_bytes(b"".join([*lines_of(exchanged), b'{"id":"b0","results":[', foreign, b"]}\n"]))
    before = os.times().user
    code, said, _ = judged(exchanged, path, tmp_path)
    assert code == 3
    assert "and 399,995 more wrong lines" in " ".join(said.split())
    assert os.times().user - before < 30  # it was minutes


def judged_by_a_child(folder: Path, fixtures: Path, repeat: int) -> tuple[float, int]:
    """Ask each question so often; return the mebibytes and the exit code of judging the answers."""
    requests, responses = folder / "requests.jsonl", folder / "responses.jsonl"
    tokenref = [sys.executable, "-m", "tokenref"]
    for path, arguments in (
        (requests, ["export", "--fixtures", str(fixtures), "--repeat", str(repeat)]),
        (responses, ["answer", "reference", str(requests)]),
    ):
        with path.open("wb") as file:
            done = subprocess.run(
                [*tokenref, *arguments],
                stdout=file,
                stderr=subprocess.DEVNULL,
                cwd=fixtures,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
                check=False,
            )
        assert done.returncode == 0
    return memory_of_judging(requests, responses, "--fixtures", str(fixtures))


def memory_of_judging(requests: Path, responses: Path, *options: str) -> tuple[float, int]:
    """Return the largest number of mebibytes that judging needed, and its exit code."""
    judging = [sys.executable, "-m", "tokenref", "judge", str(requests), str(responses), *options]
    # A child's peak begins with that of the process that starts it: so a small one does.
    started = [sys.executable, "-c", _STARTS_AND_MEASURES, *judging]
    done = subprocess.run(started, stdout=subprocess.PIPE, cwd=ROOT, check=True)
    code, kibibytes = map(int, done.stdout.split())
    in_bytes = 1 if sys.platform == "darwin" else 1024
    return kibibytes * in_bytes / MEBIBYTE, code


_STARTS_AND_MEASURES = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)
os._exit(0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nobody says what a child needed")
def test_the_memory_for_judging_does_not_grow_with_the_number_of_answers(tmp_path: Path) -> None:
    """With TOKENREF_CAMPAIGN there are a million of them."""
    fixtures = small_fixtures(tmp_path / "fixtures")
    few, code = judged_by_a_child(tmp_path, fixtures, 50)
    assert code == 0
    times = 12_500 if os.environ.get("TOKENREF_CAMPAIGN") else 1000
    many, code = judged_by_a_child(tmp_path, fixtures, times)
    assert code == 0
    assert (tmp_path / "responses.jsonl").stat().st_size > 20 * times  # they are there
    assert many < 300
    assert many - few < 8 + 16 * times * 80 / MEBIBYTE, (few, many)


@pytest.mark.skipif(sys.platform == "win32", reason="nobody says what a child needed")
def test_batches_of_the_longest_rows_are_judged_within_300_mebibytes(tmp_path: Path) -> None:
    """Right or wrong, no answer is kept, and no digit takes more than its letter."""
    right, wrong = (
        open_catalogue().records[f"sampling/batch/long/{op}-128256-twice"]
        for op in ("softmax", "logprobs")
    )
    answers = ((right, right_rows(right)), (wrong, right_rows(wrong, last="7f7fffff")))
    requests, responses = tmp_path / "requests.jsonl", tmp_path / "responses.jsonl"
    requests.write_text(tokenref("export", "--id", right.id, "--id", wrong.id).stdout)
    impl = {"name": "kernels", "version": "1"}
    hello = {"proto": 1, "impl": impl, "ops": {"batch": {"profiles": ["standard"]}}}
    with responses.open("w") as file:
        file.write(json.dumps(hello) + "\n")
        for message in map(json.loads, requests.read_text().splitlines()):
            if message["cmd"] == "run":
                asked = {case["k"]: convert(case["in"], BatchInput) for case in message["cases"]}
                results = [
                    {"k": key, "ok": out}
                    for key, question in asked.items()
                    for case, out in answers
                    if case.input == question
                ]
                results = results or [{"k": key, "skip": {"reason": "no"}} for key in asked]
                file.write(json.dumps({"id": message["id"], "results": results}) + "\n")
    assert responses.stat().st_size > 30 * MEBIBYTE
    mebibytes, code = memory_of_judging(requests, responses)
    assert code == 1
    assert mebibytes < 220  # it was 286


def right_rows(case: Case, last: str | None = None) -> Message:
    """Return the answer to a batch of long rows, optionally with another number at the end."""
    assert isinstance(case.verdict, Rows)
    rows = [
        row_of(verdict, convert(asked["logits"], Floats))
        for verdict, asked in zip(case.verdict.rows, case.input.rows, strict=True)
    ]
    if last is not None:
        ((_, numbers),) = rows[-1].items()
        numbers["f32"] = numbers["f32"][: -len(last)] + last
    return {"rows": rows * case.input.calls}


HOSTILE: Final = """
import json, sys
kind = sys.argv[1]
def say(text):
    sys.stdout.write(text + "\\n")
    sys.stdout.flush()
for line in sys.stdin:
    message = json.loads(line)
    if message["cmd"] == "hello":
        name = "hostile \\x1b[31m<b>&"
        ops = {"limit": {"profiles": ["definition"]}}
        say(json.dumps({"proto": 1, "impl": {"name": name, "version": "1"}, "ops": ops}))
    elif message["cmd"] == "load":
        say(json.dumps({"id": message["id"], "ok": {}}))
    elif message["cmd"] == "run":
        ok = {
            "deep": '{"count":' + "[" * 100000 + "]" * 100000 + "}",
            "long": '{"count":[' + "1," * 2000000 + "1]}",
            "huge": '{"count":' + "9" * 100000 + "}",
            "markup": '{"\\\\u001b[31m<script>alert(1)</script>":1}',
        }.get(kind, '{"count":1}')
        keys = [json.dumps(case["k"]) for case in message["cases"]]
        results = ['{"k":' + key + ',"ok":' + ok + "}" for key in keys]
        if kind == "many":
            results = ['{"k":"x%d","ok":{}}' % number for number in range(100000)]
        if kind == "long":
            results = results[:1]
        say('{"id":' + json.dumps(message["id"]) + ',"results":[' + ",".join(results) + "]}")
"""


@pytest.mark.skipif(os.name != "posix", reason="programs are run on Unix only")
@pytest.mark.parametrize("kind", ["deep", "long", "huge", "markup", "many"])
def test_a_hostile_program_fails_and_does_no_harm(
    kind: str, exchanged: Path, tmp_path: Path
) -> None:
    program = tmp_path / "hostile.py"
    program.write_text(HOSTILE, encoding="ascii")
    report = tmp_path / "report.jsonl"
    result = tokenref(
        *("check", "--cmd", f"{sys.executable} -S {program} {kind}", "--op", "limit"),
        *("--id", "bpe/limit/cutting/runs-f*", "--fixtures", exchanged / "fixtures"),
        *("--json", report, "--html", tmp_path / "page.html", "--junit", tmp_path / "junit.xml"),
    )
    assert result.exit_code in {1, 3}, result.output
    assert "Traceback" not in result.output
    assert "\x1b" not in result.output
    assert report.stat().st_size < 200_000
    assert b"\x1b" not in (tmp_path / "page.html").read_bytes()
    assert b"\x1b" not in (tmp_path / "junit.xml").read_bytes()
    assert b"<script>alert" not in (tmp_path / "page.html").read_bytes()


@pytest.fixture
def marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a path at which nothing may appear, whatever the command says."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path / "ran"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("joined", ["true; touch ran", "true && touch ran", "true | touch ran"])
@pytest.mark.parametrize("command", ["check", "doctor"])
def test_a_command_is_split_into_arguments_and_given_to_no_shell(
    joined: str, command: str, marker: Path
) -> None:
    result = tokenref(command, "--cmd", joined)
    assert result.exit_code in {1, 2, 3}
    assert not marker.exists()


@pytest.mark.parametrize("quoted", ["`touch ran`", "$(touch ran)", "> ran", "*", "~", "$HOME", "&"])
def test_an_argument_reaches_the_program_as_it_is_written(quoted: str, marker: Path) -> None:
    program = marker.parent / "says.py"
    program.write_text("import sys; print(repr(sys.argv[1:]), flush=True)", encoding="ascii")
    result = tokenref("check", "--cmd", f"{sys.executable} -S {program} '{quoted}'")
    assert result.exit_code == 3
    assert f"it wrote ['{quoted}']" in result.output


@pytest.mark.parametrize("ending", ["raise SystemExit(0)", "sys.exit()", "exit(0)"])
@pytest.mark.parametrize("form", ["engine", "function", "module"])
def test_an_engine_in_this_process_that_ends_it_is_a_crash_and_never_clean(
    ending: str, form: str, exchanged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's own way to end a program is an exception: it ended the run, with 0."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    hello = (
        "{'proto':1,'impl':{'name':'x','version':'1'},'ops':{'limit':{'profiles':['definition']}}}"
    )
    sources = {
        "module": f"import sys\n{ending}\n",
        "function": (
            f"import sys\ndef answer(message):\n    if message['cmd'] == 'hello': return {hello}\n"
            f"    {ending}\ndef make(): return answer\n"
        ),
        "engine": (
            f"import sys\nclass S:\n    def answer(self, op, request):\n        {ending}\n"
            "class E:\n    name = version = 'x'\n    def load(self, *_): return S()\n"
            "def make(): return E()\n"
        ),
    }
    module = f"ending_{form}_{abs(hash(ending))}"
    (tmp_path / f"{module}.py").write_text(sources[form], encoding="ascii")
    result = tokenref("check", f"py:{module}:make", "--fixtures", exchanged / "fixtures")
    assert result.exit_code == (2 if form == "module" else 1), result.output
    assert result.output.strip()
