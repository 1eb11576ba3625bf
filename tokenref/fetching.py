"""Download a registered vocabulary or a tokenizer, for `tokenref vocabulary fetch NAME`.

Tokenizers of current models are taken from packages that carry them. `fetching.toml` lists these,
with the digest of each file. The user's own package manager gets the archive, with its settings.
Nothing of it is installed or run: one file is read from the archive. For a model of Hugging Face
there are two, in a folder that `load(folder, like=...)` accepts.

The content is held in memory (at most 64 MiB) until its sha256 has been checked. Only then it is
written, to a new file that is renamed. So a failed download leaves nothing behind, and there is
never a partial file. The digest, not the connection, ensures that the content is right.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from http.client import HTTPException, IncompleteRead
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Final, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import build_opener

from bpe_ref.errors import UnknownVocabularyError, VocabularyFileError, shown
from bpe_ref.finding import CARRIED, default_folder, find, similar_names, used_by
from bpe_ref.formats.files import MAXIMUM_SIZE, read_unpacked, write_atomically
from bpe_ref.registry import REGISTRY, RegisteredVocabulary, registered
from tokenref.errors import InputError

_PATIENCE_OF_MANAGERS: Final = 600.0
"""Seconds after which a package manager is given up."""


_SETTINGS: Final = "tokenizer_config.json"


class Packaged(NamedTuple):
    """A file in a package, and perhaps the settings next to it."""

    file: str
    """What it is called here."""

    manager: str
    package: str
    version: str
    path: str
    """Its path in the archive."""

    sha256: str
    settings_sha256: str = ""
    """The digest of the tokenizer_config.json next to it, if that is needed, too."""

    @property
    def digests(self) -> Mapping[str, str]:
        """The digest of each file, by its name here."""
        settings = {f"{Path(self.file).parent}/{_SETTINGS}": self.settings_sha256}
        return {self.file: self.sha256} | (settings if self.settings_sha256 else {})

    def contents(self) -> list[bytes]:
        """Get the package and return its files. Raises `InputError`; no digest is checked."""
        paths = [self.path, f"{Path(self.path).parent}/{_SETTINGS}"][: len(self.digests)]
        with TemporaryDirectory() as folder:
            self._download(folder)
            (archive,) = Path(folder).iterdir()
            try:
                if archive.suffix == ".whl":
                    with zipfile.ZipFile(archive) as opened:
                        return [_read(opened.open(path)) for path in paths]
                with tarfile.open(archive) as opened_too:
                    return [_read(opened_too.extractfile(path)) for path in paths]
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
                command,
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
                timeout=_PATIENCE_OF_MANAGERS,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InputError(f"{self.manager} cannot download {name}: {error}") from error
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["it failed"]
            raise InputError(f"{self.manager} cannot download {name}: {said[0][:200]}")


def _read(member: IO[bytes] | None) -> bytes:
    """Return the content, and a byte too many at most."""
    if member is None:  # a folder
        return b""
    with member:
        return member.read(MAXIMUM_SIZE + 1)


@cache
def packaged_files() -> Mapping[str, Packaged]:
    """Return the files by the names that they are fetched by.

    >>> packaged_files()["qwen3"].file
    'qwen3/tokenizer.json'
    """
    listed = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["files"]
    return {re.split("[./]", row[0])[0]: Packaged(*row) for row in listed}


_PATIENCE: Final = 30.0


def fetch_vocabulary(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    url: str | None = None,
    timeout: float = _PATIENCE,
    say: Callable[[str], object] = lambda _: None,
) -> Path:
    """Download a registered vocabulary, or a tokenizer, unless it exists, and return its path.

    `folder` is created if needed; the default is `bpe_ref.finding.default_folder()`. A file that is
    elsewhere on this machine, such as in an installed package, is copied to the folder, or left
    there if no folder is given. `url` is another address of the same content, and always used.
    `timeout` is the maximum silence of the server in seconds. `say` is called with a sentence if
    nothing is downloaded.

    Raises `InputError`, and `UnknownVocabularyError` for a name that is not registered.

    >>> fetch_vocabulary("voyage2_base")
    Traceback (most recent call last):
    bpe_ref.errors.UnknownVocabularyError: name must be one of ..., got 'voyage2_base'; did you ...
    """
    packaged = packaged_files().get(name)
    entry = packaged or _registered(name)
    target = Path(default_folder() if folder is None else folder)
    digests: Mapping[str, str] = (
        packaged.digests if packaged else {f"{entry.file}.tiktoken": entry.sha256}
    )
    path = target / next(iter(digests))
    here = [] if url is not None else _files_here(name, target, digests)
    if here:
        use = f"--vocabulary {name if folder is None else path}"
        say(f"{name} is on this machine, so nothing was downloaded; commands take it as {use}")
    if here and (folder is None or here[0] == path):
        return here[0]
    contents = [read_unpacked(file) for file in here]
    address = ""
    if not here:
        address, contents = _downloaded(entry, url, timeout)
    files = dict(zip(digests, contents, strict=False))  # an address is that of the first file
    for file, content in files.items():
        found = sha256(content).hexdigest()
        if found != digests[file]:
            raise InputError(f"{address} must be {file} with sha256 {digests[file]}, got {found}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for file, content in files.items():
            write_atomically(content, target / file)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error
    return path


def _downloaded(
    entry: Packaged | RegisteredVocabulary, url: str | None, timeout: float
) -> tuple[str, list[bytes]]:
    """Return where files were downloaded from, and their contents. Raises `InputError`."""
    if isinstance(entry, Packaged) and url is None:
        return f"{entry.package} {entry.version}", entry.contents()
    address = entry.url if url is None and not isinstance(entry, Packaged) else url
    if address is None:
        raise InputError(
            f"{entry.file} cannot be downloaded by itself; "
            "install the package bpe-openai, whose wheel carries its file"
        )
    try:
        return address, [_download(address, timeout)]
    except InputError as error:
        carried = url is None and entry.file in CARRIED
        instead = "; the package bpe-openai carries it, too: install it" * carried
        raise InputError(f"{error}{instead}") from error


def _files_here(name: str, target: Path, digests: Mapping[str, str]) -> Sequence[Path]:
    """Return the files of a name if they are in the folder or where `find` looks, and right."""
    places = [[target / file for file in digests]]
    with suppress(UnknownVocabularyError):
        found = find(name)
        places.append([found, found.with_name(_SETTINGS)][: len(digests)])
    right = (files for files in places if all(map(_is_there, files, digests.values())))
    return next(right, [])


def _registered(name: str) -> RegisteredVocabulary:
    try:
        return registered(name)
    except UnknownVocabularyError:
        known = [*REGISTRY, *packaged_files()]
        near = " or ".join(similar_names(name, known))
        rule = f"must be one of {', '.join(known)}"
        with suppress(UnknownVocabularyError):
            used = used_by(name)
            rule = f"must be a vocabulary, such as {used}, which the model of that name uses"
            near = ""
        meant = f"; did you mean {near}?" * bool(near)
        raise UnknownVocabularyError(f"name {rule}, got {shown(name)}{meant}") from None


def _is_there(path: Path, digest: str) -> bool:
    """Return whether the right file is at `path`; a wrong file will be replaced."""
    try:
        return sha256(read_unpacked(path)).hexdigest() == digest
    except VocabularyFileError:
        return False


def _download(address: str, timeout: float) -> bytes:
    """Return the complete content from a server. Raises `InputError`."""
    if not address.lower().startswith(("https://", "http://")):
        raise InputError(f"{address} cannot be downloaded: it must begin with https:// or http://")
    try:
        with build_opener().open(address, timeout=timeout) as response:
            announced = response.headers.get("Content-Length", "")
            length = int(announced) if announced.isdecimal() else None
            too_large = length is not None and length > MAXIMUM_SIZE
            content: bytes = b"" if too_large else response.read(MAXIMUM_SIZE + 1)
    except HTTPError as error:
        error.close()
        said = f"the server answered {error.code} {error.reason}"
        raise InputError(f"{address} cannot be downloaded: {said}") from error
    except IncompleteRead as error:
        content, length, too_large = error.partial, len(error.partial) + 1, False
    except (OSError, HTTPException, ValueError) as error:
        why = _why(error.reason if isinstance(error, URLError) else error)
        raise InputError(f"{address} cannot be downloaded: {why}") from error
    if too_large or len(content) > MAXIMUM_SIZE:
        raise InputError(f"{address} must send at most {MAXIMUM_SIZE} bytes")
    if length is not None and len(content) < length:
        raise InputError(
            f"{address} must send the whole file, but the connection ended after "
            f"{len(content)} bytes"
        )
    return content


def _why(error: BaseException | str) -> str:
    """Return the message of the operating system for an error, or its own, on one line."""
    words = error.strerror if isinstance(error, OSError) else None
    return " ".join((words or str(error)).split())
