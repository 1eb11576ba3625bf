"""The command does what it says, and bad input of any kind ends in one sentence."""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bpe_ref import load, read_tiktoken, tiny_vocabulary, write_tiktoken
from bpe_ref.tiny import tiny_corpus
from tokenref.catalogue import fixtures_folder, open_catalogue
from tokenref.cli import main
from tokenref.record import parse_records

EXAMPLE = "bpe/encode/examples/*"


def tokenref(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def fixtures(tmp_path: Path) -> Path:
    """Return a copy of the fixtures that a test may spoil."""
    folder = tmp_path / "fixtures"
    shutil.copytree(fixtures_folder(), folder)
    return folder


def test_the_reference_passes_and_the_counts_are_shown() -> None:
    result = tokenref("check", "reference", "--id", EXAMPLE)
    count = sum(case.id.startswith("bpe/encode/examples/") for case in open_catalogue().cases)
    assert result.exit_code == 0
    assert re.search(rf"reference 0\.1\.0 .* encode .* {count} .* {count} ", result.output)


def test_a_failure_shows_why_where_and_how_to_see_it_again() -> None:
    result = tokenref("check", "greedy", "--id", EXAMPLE)
    assert result.exit_code == 1
    for word in ("why", "got", "see", "expected"):
        assert word in result.output
    again = re.search(r"tokenref (check greedy --id \S+)", result.output)
    assert again is not None
    rerun = tokenref(*again[1].split())
    assert rerun.exit_code == 1
    assert "1 failures" in rerun.output


def test_engines_can_be_named_together_and_one_failure_is_a_failure() -> None:
    result = tokenref("check", "naive", "minimal", "heap", "--id", EXAMPLE)
    assert result.exit_code == 1
    assert {"naive 0.1.0", "minimal 0.1.0", "heap 0.1.0"} <= set(
        re.findall(r"\w+ 0\.1\.0", result.output)
    )


def test_the_json_report_has_a_line_per_case_between_header_and_footer(tmp_path: Path) -> None:
    path = tmp_path / "report.jsonl"
    assert tokenref("check", "naive", "greedy", "--id", EXAMPLE, "--json", path).exit_code == 1
    header, *lines, footer = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    cases = [line for line in lines if line["kind"] == "case"]
    assert header["kind"] == "header"
    assert header["fixtures"].startswith("sha256:")
    assert len(cases) == header["cases"] == footer["cases"]
    assert footer == {"kind": "footer", "cases": len(cases), "complete": True}
    assert {line["status"] for line in cases if line["engine"] == "naive"} == {"pass"}
    assert "fail" in {line["status"] for line in cases if line["engine"] == "greedy"}
    engines = [line for line in lines if line["kind"] == "engine"]
    assert [line["exit"] for line in engines] == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["check", "no-such-engine"], 2, "an engine must be one of tiktoken, "),
        (["check"], 2, "Missing argument 'ENGINE...'"),
        (["check", "reference", "--op", "embed"], 2, "'embed' is not one of"),
        (["check", "reference", "--id", "nothing/*"], 3, "matches none of the"),
        (["check", "reference", "--flag", "NoSuchFlag"], 3, "matches none of the"),
        (["check", "reference", "--vocabulary", "nobody"], 3, "matches none of the"),
        (["check", "reference", "--fixtures", "/no/such"], 3, "cannot be read: "),
        (["check", "reference", "--known", "/no/such"], 3, "cannot be read: "),
        (["check", "reference", "--corpus", "x"], 2, "needs exactly one --vocabulary"),
        (
            ["check", "reference", "--corpus", "/no/such", "--vocabulary", "tiny"],
            2,
            "/no/such cannot be read",
        ),
        (["fill", "--vocabulary", "tiny"], 2, "need --vocabulary, --texts and --out"),
        (["show", "bpe/encode/no/such"], 3, "no case has the id"),
        (["encode", "a", "--vocabulary", "nobody"], 2, "'nobody'"),
        (["encode", "a", "--vocabulary", "/no/such.tiktoken"], 2, "cannot be read"),
        (["trace", "a", "--vocabulary", "/"], 2, "Is a directory"),
        (["vocabulary", "audit", "nobody"], 2, "'nobody'"),
        (["vocabulary", "fetch", "nobody"], 2, "'nobody'"),
        (["train", "/no/such", "--size", "300", "--out", "x"], 2, "cannot be read"),
        (["no-such-command"], 2, "No such command"),
    ],
)
def test_a_wrong_command_ends_in_one_sentence(
    arguments: Sequence[str], code: int, sentence: str
) -> None:
    result = tokenref(*arguments)
    assert result.exit_code == code
    assert sentence in result.output
    assert "Traceback" not in result.output


def test_a_changed_record_file_makes_the_run_invalid(fixtures: Path) -> None:
    path = fixtures / "bpe" / "encode" / "examples.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"text":"aaa"', b'"text":"aab"', 1))
    result = tokenref("check", "reference", "--fixtures", fixtures)
    assert result.exit_code == 3
    assert "examples.jsonl: the sha256 must be" in result.output


def test_a_missing_record_file_makes_the_run_invalid(fixtures: Path) -> None:
    (fixtures / "bpe" / "encode" / "examples.jsonl").unlink()
    result = tokenref("check", "reference", "--fixtures", fixtures)
    assert result.exit_code == 3
    assert "examples.jsonl: cannot be read" in result.output


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format":2}', b"\xff"])
def test_a_manifest_that_is_none_makes_the_run_invalid(fixtures: Path, content: bytes) -> None:
    (fixtures / "MANIFEST.json").write_bytes(content)
    result = tokenref("check", "reference", "--fixtures", fixtures)
    assert result.exit_code == 3
    assert "MANIFEST.json: not a manifest: " in result.output


def test_a_canary_that_passes_makes_the_run_invalid(fixtures: Path) -> None:
    """The answer of a canary is made right, and everything that vouches for the file with it."""
    catalogue = open_catalogue(fixtures)
    right = next(case for case in catalogue.cases if case.id.startswith("bpe/count/"))
    path = fixtures / "canary.jsonl"
    header, first, *rest = path.read_bytes().splitlines(keepends=True)
    line = (fixtures / "bpe/count/texts.jsonl").read_bytes().splitlines(keepends=True)[1]
    renamed = re.sub(rb'"id":"[^"]*"', b'"id":"canary/made/right"', line)
    before = path.read_bytes()
    path.write_bytes(b"".join([header, renamed, *rest]))
    assert right
    assert first != renamed
    manifest = fixtures / "MANIFEST.json"
    _vouch(manifest, before, path.read_bytes())
    result = tokenref("check", "reference", "--fixtures", fixtures, "--id", EXAMPLE)
    assert result.exit_code == 3
    assert "the canary canary/made/right passed" in result.output


def _vouch(manifest: Path, before: bytes, after: bytes) -> None:
    """Make a manifest agree with a file that was changed."""
    from hashlib import sha256  # noqa: PLC0415 - for this one test

    content = manifest.read_bytes()
    content = content.replace(
        sha256(before).hexdigest().encode(), sha256(after).hexdigest().encode()
    )
    manifest.write_bytes(content)


def test_a_vocabulary_that_is_not_found_is_counted_and_never_passes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("bpe_ref.finding._bpe_openai_folder", lambda: None)
    monkeypatch.setenv("TOKENREF_VOCABULARIES", str(tmp_path))
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    result = tokenref("check", "reference", "--vocabulary", "cl100k_base")
    assert result.exit_code == 3
    assert "not run" in result.output
    assert "no case could be run" in result.output


def test_goldens_for_a_vocabulary_and_texts_of_ones_own(tmp_path: Path) -> None:
    texts, out = tmp_path / "texts.txt", tmp_path / "goldens.jsonl"
    texts.write_text("Hello, world!\n\n  two  spaces\nHello, world!\n", encoding="utf-8")
    write_tiktoken(
        {content: token for token, content in tiny_vocabulary().tokens.items()},
        tmp_path / "mine.tiktoken",
    )
    result = tokenref(
        "fill", "--vocabulary", tmp_path / "mine.tiktoken", "--texts", texts, "--out", out
    )
    assert result.exit_code == 0, result.output
    cases = parse_records(out.read_bytes(), "goldens.jsonl")
    assert len(cases) == 3
    tokenizer = load(tmp_path / "mine.tiktoken")
    for case, text in zip(cases, ["Hello, world!", "", "  two  spaces"], strict=True):
        assert json.loads(out.read_bytes().splitlines()[1 + cases.index(case)])["out"]["ids"] == (
            tokenizer.encode_ordinary(text)
        )


@pytest.mark.parametrize(
    ("content", "sentence"), [(b"a\xffb", "must be UTF-8"), (b"", "an empty file")]
)
def test_texts_that_cannot_be_read_leave_nothing_behind(
    tmp_path: Path, content: bytes, sentence: str
) -> None:
    texts, out = tmp_path / "texts.txt", tmp_path / "goldens.jsonl"
    texts.write_bytes(content)
    result = tokenref("fill", "--vocabulary", "tiny", "--texts", texts, "--out", out)
    assert result.exit_code == 2
    assert sentence in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["texts.txt"]


def test_a_text_of_ones_own_is_compared_whole(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("The tokenizer's job\n  is 12345 things.\n" * 20, encoding="utf-8")
    same = tokenref("check", "tiktoken", "heap", "--corpus", text, "--vocabulary", "tiny")
    assert same.exit_code == 0, same.output
    assert same.output.count(" same ") == 2
    text.write_text(tiny_corpus(), encoding="utf-8")
    other = tokenref("check", "greedy", "--corpus", text, "--vocabulary", "tiny")
    assert other.exit_code == 1
    assert re.search(r"first differs at line \d+, byte \d+", other.output)
    assert "smallest" in other.output


def test_one_record_can_be_shown() -> None:
    case = open_catalogue().cases[0]
    result = tokenref("show", case.id)
    assert result.exit_code == 0
    assert case.why in result.output.replace("\n", " ")


def test_a_text_can_be_encoded_and_traced() -> None:
    result = tokenref("encode", "don't")
    ids = [int(line.split("\t")[0]) for line in result.output.splitlines()]
    assert ids == load("tiny").encode_ordinary("don't")
    assert 'piece "\'t"' in tokenref("trace", "don't").output


def test_a_vocabulary_can_be_trained_and_examined(tmp_path: Path) -> None:
    text, out = tmp_path / "text.txt", tmp_path / "mine.tiktoken"
    text.write_text("low lower lowest " * 50, encoding="utf-8")
    result = tokenref("train", text, "--size", "270", "--out", out)
    assert result.exit_code == 0, result.output
    assert b" low" in read_tiktoken(out)
    audit = tokenref("vocabulary", "audit", out)
    assert audit.exit_code == 0
    assert re.search(r"dead tokens\s+0", audit.output)
    assert re.search(r"missing bytes\s+0", audit.output)


def test_engines_are_listed_with_their_versions() -> None:
    result = tokenref("engines")
    assert result.exit_code == 0
    assert re.search(r"tiktoken\s+0\.", result.output)
    assert re.search(r"backtracking\s+0\.", result.output)


@pytest.mark.parametrize("command", [[], ["check"], ["fill"], ["vocabulary"], ["mutants"]])
def test_every_command_explains_itself(command: Sequence[str]) -> None:
    result = tokenref(*command, "--help")
    assert result.exit_code == 0
    assert "Usage:" in result.output
