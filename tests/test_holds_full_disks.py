"""Where a file has no room, a command says so, and what was there before is still there."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.children import ROOT, Children

if sys.platform == "win32":
    pytest.skip("files cannot be limited in size", allow_module_level=True)

ROOM = 200
"""Bytes that a file may have in most of these tests: less than any of them needs."""

WHY = "It was found by a campaign that a test has run."
FUZZ = ("fuzz", "greedy", "--op", "count", "--seed", "1")


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory, children: Children) -> Path:
    """Return a folder with what commands read."""
    folder = tmp_path_factory.mktemp("given")
    children.exchange(folder)
    (folder / "texts.txt").write_text("".join(f"line {n}\n" for n in range(50)), encoding="ascii")
    shutil.copy(folder / "fixtures/vocab/tiny.json", folder / "mine.json")
    for arguments in (
        ("check", "greedy", "--fixtures", "fixtures", "--json", "results.jsonl"),
        (*FUZZ, "--cases", "128", "--most", "1", "--state", "found.jsonl"),
    ):
        ended = children.run(folder, *arguments)
        assert ended.code in {0, 1}, ended
    return folder


COMMANDS = {
    "check --json": ("out.jsonl", "check greedy --fixtures {given}/fixtures --json out.jsonl"),
    "check --html": ("out.html", "check greedy --fixtures {given}/fixtures --html out.html"),
    "check --junit": ("out.xml", "check greedy --fixtures {given}/fixtures --junit out.xml"),
    "check --corpus": (
        "out.jsonl",
        "check greedy --corpus {given}/texts.txt --vocabulary tiny --json out.jsonl",
    ),
    "report --html": (
        "out.html",
        "report {given}/results.jsonl --fixtures {given}/fixtures --html out.html",
    ),
    "report --junit": (
        "out.xml",
        "report {given}/results.jsonl --fixtures {given}/fixtures --junit out.xml",
    ),
    "judge --json": (
        "out.jsonl",
        "judge {given}/requests.jsonl {given}/responses.jsonl --json out.jsonl --fixtures {folder}",
    ),
    "fill --texts": (
        "out.jsonl",
        "fill --replace --vocabulary tiny --texts {given}/texts.txt --out out.jsonl",
    ),
    "fill --texts of one's own": (
        "out.jsonl",
        "fill --replace --vocabulary {given}/mine.json --texts {given}/texts.txt --out out.jsonl",
    ),
    "promote": ("out.jsonl", "promote {given}/found.jsonl --out out.jsonl --why"),
    "train": ("out.tiktoken", "train {given}/texts.txt --size 300 --out out.tiktoken"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("there_before", [False, True])
def test_a_file_that_finds_no_room_is_named_and_what_was_there_stays(
    command: str, given: Path, children: Children, tmp_path: Path, *, there_before: bool
) -> None:
    name, line = COMMANDS[command]
    folder = tmp_path / "folder"
    folder.mkdir()
    if there_before and command != "promote":
        (folder / name).write_bytes(b"before")
    arguments = line.format(given=given, folder=given / "fixtures").split()
    if command == "promote":
        arguments.append(WHY)
    before = contents(folder)
    ended = children.run(folder, *arguments, limit=ROOM, out=os.devnull)
    assert ended.code == 2, ended
    sentence = ended.err.strip().removeprefix("tokenref: ")
    assert sentence.endswith("cannot be written: File too large")
    assert "\n" not in sentence
    assert contents(folder) == before
    of_another = command in {"fill --texts of one's own", "promote"}  # what lies beside it
    assert of_another or name in sentence or "results.jsonl" in sentence


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_fixtures_that_find_no_room_are_refused_by_whoever_reads_them_and_made_whole_later(
    given: Path, children: Children, tmp_path: Path
) -> None:
    made = given / "fixtures"
    folder = tmp_path / "fixtures"
    ended = children.run(
        tmp_path, "authoring", "fixtures", "--folder", folder, made=made, limit=20_000
    )
    assert ended.code == 2
    assert ended.err.endswith(": File too large\n")
    assert "Traceback" not in ended.err
    whole = contents(made)
    written = contents(folder)
    assert written
    assert "MANIFEST.json" not in written  # the promise comes last
    assert all(whole[path] == content for path, content in written.items())
    ended = children.run(tmp_path, "check", "reference", "--fixtures", folder)
    assert ended.code == 2
    assert children.run(tmp_path, "authoring", "fixtures", "--folder", folder, made=made).code == 0
    assert contents(folder) == whole


def test_an_export_that_finds_no_room_leaves_no_requests(
    given: Path, children: Children, tmp_path: Path
) -> None:
    ended = children.run(
        tmp_path, "export", "--fixtures", given / "fixtures", "--folder", "there", limit=ROOM
    )
    assert ended.code == 2
    assert "cannot be written: File too large" in ended.err
    vocabularies = list((tmp_path / "there").rglob("*.json"))
    assert contents(tmp_path) == {
        path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in vocabularies
    }


def test_a_campaign_that_finds_no_room_keeps_whole_lines_and_goes_on(
    children: Children, tmp_path: Path
) -> None:
    arguments = (*FUZZ, "--cases", "256", "--most", "3", "--state", "state.jsonl")
    whole = children.run(tmp_path, *arguments[:-1], "whole.jsonl")
    assert whole.code == 1, whole
    state = tmp_path / "state.jsonl"
    for room in (100, 600, 2000):
        ended = children.run(tmp_path, *arguments, limit=room, out=os.devnull)
        assert ended.code == 2, ended
        assert ended.err == "tokenref: state.jsonl cannot be written: File too large\n"
        assert state.stat().st_size <= room
        assert state.read_bytes()[-1:] in {b"", b"\n"}
    assert children.run(tmp_path, *arguments).code == 1
    assert found(state) == found(tmp_path / "whole.jsonl")


def found(state: Path) -> list[bytes]:
    """Return the lines of groups and findings, without the time they took."""
    from tokenref.fuzzing.journal import read_journal

    journal = read_journal(state)
    assert not journal.repeated
    groups = [(group.group, group.counts) for group in journal.groups.values()]
    return [repr(each).encode() for each in (*groups, *sorted(journal.findings))]


@pytest.mark.parametrize(
    "arguments",
    [
        *(["--help"], ["--version"], ["encode", "--help"], ["rules"], ["encode", "abc"]),
        ["check", "greedy", "--fixtures", "{given}/fixtures"],
        ["export", "--fixtures", "{given}/fixtures"],
        ["answer", "reference", "{given}/requests.jsonl"],
        ["judge", "{given}/requests.jsonl", "{given}/responses.jsonl"],
        ["report", "{given}/results.jsonl", "--fixtures", "{given}/fixtures"],
        ["fuzz", "greedy", "--op", "count", "--seed", "1", "--cases", "64"],
        ["merge", "{given}/found.jsonl"],
    ],
    ids=" ".join,
)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
def test_a_full_output_is_one_sentence_and_no_result(
    arguments: list[str], given: Path, children: Children, tmp_path: Path
) -> None:
    if arguments[0] == "judge":
        arguments = [*arguments, "--fixtures", "{given}/fixtures"]
    told = [each.format(given=given) for each in arguments]
    ended = children.run(tmp_path, *told, out="/dev/full")
    assert ended.code == 2, ended
    said = ended.err.strip()
    assert said == "tokenref: the output cannot be written: No space left on device"


def test_a_report_is_written_even_if_nobody_reads_what_is_printed(
    given: Path, tmp_path: Path
) -> None:
    path = tmp_path / "report.jsonl"
    command = [sys.executable, "-m", "tokenref", "check", "greedy", "--fixtures"]
    with subprocess.Popen(
        [*command, str(given / "fixtures"), "--json", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    ) as child:
        assert child.stdout
        assert child.stderr
        child.stdout.close()
        said = child.stderr.read()
    assert (child.returncode, said.strip()) == (1, b"")
    assert json.loads(path.read_bytes().splitlines()[-1])["kind"] == "footer"
