"""A command that is killed, at whatever moment, leaves the old file or the new one, whole.

A report may also say, as a whole file, that its run did not finish.
"""

import json
import signal
import sys
from pathlib import Path

import pytest

from tests.children import Children
from tests.small_fixtures import small_fixtures

if sys.platform == "win32":
    pytest.skip("there is no kill -9", allow_module_level=True)

from tokenref.fuzzing.journal import read_journal
from tokenref.record_files import read_records

WHY = "It was found by a campaign that a test has run."
FUZZ = ("fuzz", "greedy", "--op", "count", "--seed", "1")
MOST_MOMENTS = 60
UNFINISHED = b"it did not finish"  # what a report says until its run has ended


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory, children: Children) -> Path:
    """Return a folder with what commands read."""
    folder = tmp_path_factory.mktemp("given")
    children.exchange(folder)
    (folder / "texts.txt").write_text("one\ntwo\nthree\n", encoding="ascii")
    ended = children.run(folder, *FUZZ, "--cases", "128", "--most", "1", "--state", "found.jsonl")
    assert ended.code == 1
    return folder


COMMANDS = {
    "check": ("check", "greedy", "--fixtures", "{given}/fixtures", "--json", "out"),
    "check --html": ("check", "greedy", "--fixtures", "{given}/fixtures", "--html", "out"),
    "judge": (
        *("judge", "{given}/requests.jsonl", "{given}/responses.jsonl"),
        *("--fixtures", "{given}/fixtures", "--json", "out"),
    ),
    "fill --texts": (
        "fill",
        "--replace",
        "--vocabulary",
        "tiny",
        "--texts",
        "{given}/texts.txt",
        "--out",
        "out",
    ),
    "promote": ("promote", "{given}/found.jsonl", "--why", WHY, "--out", "out"),
    "export": ("export", "--fixtures", "{given}/fixtures", "--folder", "."),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_is_killed_leaves_the_old_file_or_the_new_one(
    command: str, given: Path, children: Children, tmp_path: Path
) -> None:
    """It is killed before its first operation on a file here, its second, and so on to its end."""
    arguments = [part.format(given=given) for part in COMMANDS[command]]
    name = "requests.jsonl" if command == "export" else "out"
    old = b"" if command == "promote" else b"before\n"
    seen: list[bytes] = []
    for moment in range(MOST_MOMENTS):
        folder = tmp_path / str(moment)
        folder.mkdir()
        if old:
            (folder / name).write_bytes(old)
        ended = children.run(folder, *arguments, kill_at=moment)
        content = (folder / name).read_bytes() if (folder / name).exists() else b""
        if not ended.killed:
            assert ended.code in {0, 1}, ended
            break
        seen.append(content)
    else:
        raise AssertionError("it does not come to its end")
    assert len(seen) > 1
    assert len(content) > len(old)
    unfinished = {each for each in seen if UNFINISHED in each}
    assert len(unfinished) == (command in {"check", "check --html", "judge"})
    assert all(each.endswith((b"}\n", b"</html>\n")) for each in unfinished)
    for each in seen:
        assert each == old or each in unfinished or same(each, content)


def same(one: bytes, other: bytes) -> bool:
    """Tell whether two reports are the same but for the time that cases took."""

    def lines(data: bytes) -> list[object]:
        found = [json.loads(line) for line in data.splitlines()]
        for line in found:
            line.pop("microseconds", None)
        return found

    return one == other or lines(one) == lines(other)


def test_fixtures_whose_filling_is_killed_are_never_taken_for_whole_and_are_mended(
    given: Path, children: Children, tmp_path: Path
) -> None:
    """Old fixtures are replaced by others, of which one file more is new and one is gone."""
    whole = contents(given / "fixtures")
    made = tmp_path / "made"
    small_fixtures(made, most=20)
    (made / "schema/header.v1.json").rename(made / "schema/other.json")
    manifest = (made / "MANIFEST.json").read_text(encoding="ascii")
    (made / "MANIFEST.json").write_text(
        manifest.replace("schema/header.v1.json", "schema/other.json"), encoding="ascii"
    )
    new = contents(made)
    moments = 0
    for moment in range(0, MOST_MOMENTS * 4, 5):
        folder = tmp_path / str(moment)
        small_fixtures(folder)
        ended = children.run(
            tmp_path, "authoring", "fixtures", "--folder", folder, made=made, kill_at=moment
        )
        there = contents(folder)
        assert all(
            content in {whole.get(path), new.get(path)}
            for path, content in there.items()
            if not path.endswith(".tmp")
        )
        if not ended.killed:
            assert ended.code == 0, ended
            assert there == new
            break
        moments += 1
        if moment % 3 == 0:
            code = children.run(tmp_path, "check", "reference", "--fixtures", folder).code
            assert code == (0 if settled(there) in (whole, new) else 3)
        assert (
            children.run(tmp_path, "authoring", "fixtures", "--folder", folder, made=made).code == 0
        )
        assert contents(folder) == new
    else:
        raise AssertionError("it does not come to its end")
    assert moments > 5


def settled(there: dict[str, bytes]) -> dict[str, bytes]:
    return {path: content for path, content in there.items() if not path.endswith(".tmp")}


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_campaign_that_is_killed_in_every_few_writes_comes_to_the_same_end(
    children: Children, tmp_path: Path
) -> None:
    arguments = (*FUZZ, "--cases", "160", "--most", "6", "--state")
    assert children.run(tmp_path, *arguments, "whole.jsonl").code == 1
    state = tmp_path / "state.jsonl"
    kills = 0
    while True:
        ended = children.run(tmp_path, *arguments, "state.jsonl", kill_in_write=kills % 3 + 1)
        if not ended.killed:
            break
        kills += 1
        read_journal(state)  # half a line at its end is left aside
        assert kills < MOST_MOMENTS
    assert ended.code == 1, ended
    assert kills > 2
    whole, killed = read_journal(tmp_path / "whole.jsonl"), read_journal(state)
    assert (killed.counts(), killed.repeated) == (whole.counts(), [])
    assert killed.findings.keys() == whole.findings.keys()


def test_a_campaign_that_is_killed_at_any_time_has_a_journal_that_is_read(
    children: Children, tmp_path: Path
) -> None:
    arguments = (*FUZZ, "--cases", "100000", "--most", "100000", "--state", "state.jsonl")
    before, delay = 0, 0.05
    while before < 2 and delay < 60:  # on a machine that has other things to do as well
        delay *= 1.7
        ended = children.run(tmp_path, *arguments, after=delay, signal_number=signal.SIGKILL)
        assert ended.killed
        state = tmp_path / "state.jsonl"
        if state.exists() and state.stat().st_size:
            journal = read_journal(state)
            assert not journal.repeated
            assert len(journal.groups) >= before
            before = len(journal.groups)
    assert before > 1


def test_what_is_promoted_after_a_kill_is_there_once(
    given: Path, children: Children, tmp_path: Path
) -> None:
    arguments = ("promote", given / "found.jsonl", "--why", WHY, "--out", tmp_path / "out.jsonl")
    children.run(tmp_path, *arguments, kill_at=3)
    assert children.run(tmp_path, *arguments).code == 0
    (case,) = read_records(tmp_path / "out.jsonl")
    assert case.why == WHY
    again = children.run(tmp_path, *arguments)
    assert (again.code, "nothing was added" in again.err) == (0, True)
    assert read_records(tmp_path / "out.jsonl") == [case]
