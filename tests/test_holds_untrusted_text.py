"""Text from outside is shown and never obeyed; no source of ours runs what it is given."""

import ast
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bpe_ref
import sampling_ref
import tokenref
from tests.broken_files import broken_json
from tests.results_files import line, whole, write
from tests.small_fixtures import small_fixtures
from tokenref.answers import Answer, Ok, Session
from tokenref.catalogue import open_catalogue
from tokenref.cli import main
from tokenref.reports.results import EngineEntry, KnownEntry

EVIL: Final = (
    "[/bold][red]\x1b]0;owned\x07\x1b[31m\x9b31m\r\n\b\x00\u202e\u2028"
    "</script><script>evil()</script><img src=x onerror=evil()>"
    "\"'&amp;<![CDATA[ ]]>--><!--${evil()}"
)
"""What breaks out of markup, out of a line, and out of what a terminal shows."""

CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029]")


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code != 4
    assert "Traceback" not in result.output
    assert not CONTROL.search(result.output), CONTROL.search(result.output)
    return result


@pytest.fixture(scope="module")
def fixtures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_fixtures(tmp_path_factory.mktemp("fixtures"))


class Tags(HTMLParser):
    """What elements and attributes a page has, as a browser would read it."""

    def __init__(self) -> None:
        """Read nothing yet."""
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take a note."""
        self.found.append((tag, dict(attrs)))


@pytest.fixture
def evil_results(tmp_path: Path, fixtures: Path) -> Path:
    """Return results in which every field that holds text holds that text."""
    catalogue = open_catalogue(fixtures)
    known = next(case.id for case in catalogue.cases)
    others = [f"bpe/count/{EVIL}/{number}" for number in range(6)]
    every = {"detail": EVIL, "stage": EVIL, "got": EVIL, "log": EVIL, "remark": EVIL}
    cases = [
        line(EVIL, known, "fail", **every),
        line(EVIL, others[0], "pass", **every),
        line(EVIL, others[1], "crash", **every),
        line(EVIL, others[2], "xfail", known=EVIL, **every),
        line(EVIL, others[3], "unsupported", **every),
        line(EVIL, others[4], "not_run", **every),
        line(EVIL, others[5], "fail", **{**every, "op": EVIL}),
    ]
    lines = whole(
        cases,
        [EngineEntry(name=EVIL, version=EVIL, again=["--cmd", EVIL])],
        {EVIL: {"trouble": [EVIL], "stale": [EVIL], "incidents": [EVIL]}},
        tokenref=EVIL,
        fixtures=EVIL,
        known=EVIL,
        differences=[
            KnownEntry(engine=EVIL, title=EVIL, reason=EVIL, link=f"javascript:evil(){EVIL}")
        ],
        selection={EVIL: [EVIL], "known": [EVIL], "fixtures": [EVIL]},
        unavailable={EVIL: EVIL},
        seed=EVIL,
        timeout=EVIL,
    )
    return write(tmp_path / "evil.jsonl", lines)


def test_a_terminal_is_never_given_what_it_would_obey(
    evil_results: Path, fixtures: Path, tmp_path: Path
) -> None:
    said = run("report", evil_results, "--fixtures", fixtures).output
    assert "\\x1b]0;owned" in said
    assert "[/bold][red]" in said  # neither is markup of the library obeyed
    old = write(
        tmp_path / "old.jsonl",
        whole([line(EVIL, f"bpe/count/{EVIL}/1", "pass"), line("x", "bpe/count/x", "pass")]),
    )
    run("report", evil_results, "--fixtures", fixtures, "--only-changes", old)
    run("report", old, "--fixtures", fixtures, "--only-changes", evil_results)


def test_a_page_has_no_element_and_no_attribute_that_came_with_text(
    evil_results: Path, fixtures: Path, tmp_path: Path
) -> None:
    plain = write(tmp_path / "plain.jsonl", whole([line("x", "bpe/count/topic/x", "fail")]))
    tags: list[set[str]] = []
    for source in (plain, evil_results):
        page = tmp_path / "page.html"
        run("report", source, "--fixtures", fixtures, "--html", page)
        text = page.read_text(encoding="utf-8")
        assert not CONTROL.search(text)
        reader = Tags()
        reader.feed(text)
        tags.append({tag for tag, _ in reader.found})
        for tag, attributes in reader.found:
            assert not any(name.startswith("on") for name in attributes), tag
            links = [attributes.get(name) or "" for name in ("href", "src", "action")]
            assert not any("javascript:" in link for link in links)
        assert [tag for tag, _ in reader.found].count("script") == text.count("<script")
        assert "<script>evil" not in text
    assert "img" not in tags[1]
    assert tags[1] - tags[0] <= {"p", "ul", "li", "th", "td", "tr", "dl", "dt", "dd", "a", "strong"}


def test_junit_is_xml_that_says_the_same(
    evil_results: Path, fixtures: Path, tmp_path: Path
) -> None:
    path = tmp_path / "junit.xml"
    run("report", evil_results, "--fixtures", fixtures, "--junit", path)
    assert not CONTROL.search(path.read_text(encoding="utf-8"))
    root = ET.fromstring(path.read_bytes())  # noqa: S314 - our own
    assert {each.tag for each in root.iter()} <= {
        *("testsuites", "testsuite", "testcase", "failure", "skipped", "error")
    }
    assert all("evil()" in suite.attrib["name"] for suite in root.iter("testsuite"))


class EvilSession:
    """Breaks with a sentence that is an attack, or answers with one."""

    def answer(self, op: str, request: object) -> Answer:
        """Raise, or answer nonsense."""
        del request
        if op == "count":
            raise ValueError(EVIL)
        return Ok({EVIL: EVIL})


class EvilEngine:
    """An engine whose every word is an attack."""

    name = EVIL
    version = EVIL

    def load(self, vocabulary: object, name: str) -> Session:
        """Load nothing."""
        del vocabulary, name
        return EvilSession()


@pytest.fixture
def evil_engine(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("tokenref.commands.check.engine", lambda _: EvilEngine())
    monkeypatch.setattr("tokenref.commands.exchange.available", lambda _: EvilEngine())
    monkeypatch.setattr("tokenref.commands.campaigns.open_engine", lambda *_: EvilEngine())
    monkeypatch.setattr("tokenref.fuzzing.campaign.open_engine", lambda *_: EvilEngine())
    return "evil"


def test_no_command_obeys_what_an_engine_calls_itself_or_says(
    evil_engine: str, fixtures: Path, tmp_path: Path
) -> None:
    (tmp_path / "text.txt").write_text("one two\n", encoding="ascii")
    state = tmp_path / "state.jsonl"
    for arguments in (
        ("check", evil_engine, "--fixtures", fixtures, "--json", tmp_path / "out.jsonl"),
        ("check", evil_engine, "--corpus", tmp_path / "text.txt", "--vocabulary", "tiny"),
        ("fuzz", evil_engine, "--op", "count", "--cases", "8", "--seed", "1", "--state", state),
        ("fuzz", evil_engine, "--op", "count", "--seed", "1", "--at", "0"),
        ("merge", state),
    ):
        assert run(*arguments).exit_code == 1


def test_no_command_obeys_what_stands_in_a_file(fixtures: Path, tmp_path: Path) -> None:
    path = tmp_path / "evil.jsonl"
    for content in (EVIL, json.dumps({EVIL: EVIL}), json.dumps({"kind": EVIL}), json.dumps(EVIL)):
        path.write_text(content + "\n", encoding="utf-8")
        for arguments in (
            ("report", path),
            ("judge", path, path, "--fixtures", fixtures),
            ("merge", path),
            ("promote", path, "--why", EVIL, "--out", tmp_path / "out.jsonl"),
            ("answer", "reference", path),
            ("check", "reference", "--records", path, "--vocabulary", "tiny"),
            ("check", "reference", "--fixtures", fixtures, "--known", path),
            ("encode", "a", "--vocabulary", path),
        ):
            assert run(*arguments).exit_code in {2, 3}


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    state = tmp_path_factory.mktemp("journal") / "state.jsonl"
    arguments = ("fuzz", "greedy", "--op", "count", "--cases", "64", "--seed", "1", "--most", "1")
    assert run(*arguments, "--state", state).exit_code == 1
    return state


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(data=st.data())
def test_a_journal_with_anything_in_it_is_one_sentence_or_a_sum(
    journal: Path, tmp_path: Path, data: st.DataObject
) -> None:
    lines = journal.read_bytes().splitlines(keepends=True)
    at = data.draw(st.integers(0, len(lines) - 1))
    lines[at] = data.draw(broken_json(json.loads(lines[at]))) + b"\n"
    changed = tmp_path / "changed.jsonl"
    changed.write_bytes(b"".join(lines))
    run("merge", changed)
    out = tmp_path / "out.jsonl"
    out.unlink(missing_ok=True)
    run("promote", changed, "--out", out, "--why", "It was found by a campaign of a test.")


def test_a_journal_that_is_one_of_very_many_is_told_so_at_once(
    journal: Path, tmp_path: Path
) -> None:
    """Each missing shard was named, and the memory did not hold the names."""
    header, *rest = journal.read_bytes().splitlines(keepends=True)
    changed = tmp_path / "changed.jsonl"
    plan = json.loads(header) | {"shard": [1, 10**18], "cases": None}
    first = [line for line in rest if b'"kind":"group"' in line][:1]
    changed.write_bytes(b"".join([json.dumps(plan).encode(), b"\n", *first]))
    result = run("merge", changed)
    assert result.exit_code == 3
    assert "more shards are missing" in result.output


FORBIDDEN_MODULES: Final = frozenset(
    {"pickle", "cPickle", "dill", "marshal", "shelve", "yaml", "commands", "code", "codeop", "pty"}
)
FORBIDDEN_CALLS: Final = frozenset({"eval", "exec", "compile", "__import__", "breakpoint", "input"})
FORBIDDEN_OF_OS: Final = re.compile(r"system|popen|exec[lv].*|spawn.*|posix_spawn.*|startfile")
STARTING: Final = frozenset({"Popen", "run", "call", "check_call", "check_output"})


def sources() -> Iterator[tuple[Path, ast.Module]]:
    for package in (bpe_ref, sampling_ref, tokenref):
        for path in sorted(Path(str(package.__file__)).parent.rglob("*.py")):
            yield path, ast.parse(path.read_bytes(), str(path))


def offences(tree: ast.Module) -> Iterator[str]:  # noqa: C901, PLR0912 - one case for each
    """Yield what a source does that no source of ours may do."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for each in names:
                    if each.name.partition(".")[0] in FORBIDDEN_MODULES:
                        yield f"{node.lineno}: imports {each.name}"
            case ast.ImportFrom(module=str(module), level=0):
                if module.partition(".")[0] in FORBIDDEN_MODULES:
                    yield f"{node.lineno}: imports from {module}"
                if module in {"os", "subprocess", "builtins"}:
                    for each in node.names:
                        if each.name in FORBIDDEN_CALLS | STARTING or FORBIDDEN_OF_OS.fullmatch(
                            each.name
                        ):
                            yield f"{node.lineno}: imports {each.name}, and hides it so"
            case ast.Call(func=ast.Name(id=name)) if name in FORBIDDEN_CALLS:
                yield f"{node.lineno}: calls {name}"
            case ast.Call(func=ast.Attribute(value=ast.Name(id="os"), attr=name)):
                if FORBIDDEN_OF_OS.fullmatch(name):
                    yield f"{node.lineno}: calls os.{name}"
            case ast.Call(func=ast.Attribute(value=ast.Name(id="builtins"), attr=name)):
                yield f"{node.lineno}: calls builtins.{name}"
            case ast.Call(func=ast.Attribute(value=ast.Name(id="subprocess"), attr=name)):
                if name in {"getoutput", "getstatusoutput"}:
                    yield f"{node.lineno}: calls subprocess.{name}, which starts a shell"
                if name in STARTING:
                    yield from _started(node)


def _started(call: ast.Call) -> Iterator[str]:
    first = call.args[0] if call.args else None
    if isinstance(first, ast.Constant | ast.JoinedStr | ast.BinOp) or first is None:
        yield f"{call.lineno}: starts a program that is not given as a list"
    for keyword in call.keywords:
        if keyword.arg in {"shell", "executable", "preexec_fn"} or keyword.arg is None:
            yield f"{call.lineno}: starts a program with {keyword.arg or '**'}"


def test_no_source_runs_data_as_a_program() -> None:
    found = [f"{path}:{offence}" for path, tree in sources() for offence in offences(tree)]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        *("import pickle", "from marshal import loads", "import yaml", "eval('1')", "exec(x)"),
        *("import os; os.system(x)", "import os; os.popen(x)", "import os; os.execv(x, y)"),
        *("from os import system", "from subprocess import Popen", "__import__(x)"),
        *("subprocess.run('ls -l')", "subprocess.Popen(f'{x}')", "subprocess.run(x, shell=True)"),
        *("subprocess.run(x, **y)", "subprocess.getoutput(x)", "compile(x, y, 'exec')"),
    ],
)
def test_such_a_source_would_be_seen(source: str) -> None:
    assert list(offences(ast.parse(source)))


def test_what_looks_like_it_and_is_not_is_allowed() -> None:
    source = "re.compile(x); subprocess.Popen(arguments, stdin=1); model.eval(); session.exec(x)"
    assert list(offences(ast.parse(source))) == []
