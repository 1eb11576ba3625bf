"""Files are replaced as a whole, and what a killed writer leaves is taken away, nothing else is."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bpe_ref.formats.files import replacing, write_atomically

ROOT = Path(__file__).parent.parent

WRITER = """
import sys
from bpe_ref.formats.files import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("written", flush=True)
    sys.stdin.read()
    file.write(b" and half")
"""


@contextmanager
def a_writer(path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Start a process that has written half a file, and waits until its input ends."""
    arguments = [sys.executable, "-c", WRITER, str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(arguments, stdin=pipe, stdout=pipe, text=True, cwd=ROOT) as process:
        assert process.stdout
        assert process.stdout.readline() == "written\n"
        yield process


def left(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in folder.iterdir() if path.suffix == ".tmp"]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_what_a_killed_writer_left_is_taken_away_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for _ in range(2):
        with a_writer(path) as process:
            process.send_signal(signal.SIGKILL)
        assert left(tmp_path) == [b"half"]
    assert not path.exists()
    write_atomically(b"other", tmp_path / "other")
    assert left(tmp_path) == [b"half"]
    write_atomically(b"whole", path)
    assert left(tmp_path) == []
    assert path.read_bytes() == b"whole"


def test_what_a_living_writer_writes_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with a_writer(path) as process:
        write_atomically(b"quick", path)
        assert path.read_bytes() == b"quick"
        assert left(tmp_path) == [b"half"]
        process.communicate()
    assert path.read_bytes() == b"half and half"
    assert left(tmp_path) == []


def test_files_of_other_names_are_left_alone(tmp_path: Path) -> None:
    names = [".0123456789abcdef.tmp", "file.tmp", ".file.tmp", ".tmp"]
    for name in names:
        (tmp_path / name).touch()
    write_atomically(b"", tmp_path / "file")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names, "file"])


@pytest.mark.skipif(os.name != "posix", reason="permission bits are POSIX")
def test_what_cannot_be_taken_away_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    with a_writer(path) as process:
        process.kill()

    def forbidden(self: Path, *, missing_ok: bool = False) -> None:
        if self.exists() or not missing_ok:
            raise PermissionError

    monkeypatch.setattr(Path, "unlink", forbidden)
    write_atomically(b"whole", path)
    assert path.read_bytes() == b"whole"


def test_a_new_file_that_was_taken_for_left_behind_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another writer comes between its making and its lock."""
    opened, path = Path.open, tmp_path / "file"
    taken: list[Path] = []

    def watched(self: Path, mode: str = "r") -> object:
        file = opened(self, mode)
        if mode == "xb" and not taken:
            taken.append(self)
            self.unlink()
        return file

    monkeypatch.setattr(Path, "open", watched)
    write_atomically(b"whole", path)
    monkeypatch.undo()
    assert taken
    assert path.read_bytes() == b"whole"
    assert left(tmp_path) == []


def test_a_block_that_does_not_end_well_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomically(b"old", path)

    def fail() -> None:
        with replacing(path) as file:
            file.write(b"new")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert path.read_bytes() == b"old"
    assert left(tmp_path) == []
