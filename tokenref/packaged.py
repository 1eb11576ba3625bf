"""Where the fixtures of this installation are, and which ones they are."""

import json
import zipfile
from functools import cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from tokenref.errors import InputError


@cache
def fixtures_folder() -> Path | zipfile.Path:
    """Return the folder of the fixtures in a checkout, or the archive in the installed package.

    The archive is kept in memory, so that forked processes can read it independently.

    >>> (fixtures_folder() / "MANIFEST.json").is_file()
    True
    """
    archive = Path(__file__).parent / "fixtures.zip"
    if not archive.is_file():
        return Path(__file__).parent.parent / "fixtures"
    try:
        opened = ZipFile(BytesIO(archive.read_bytes()))
    except BadZipFile:
        raise InputError(f"{archive} is damaged or incomplete: install tokenref again") from None
    opened.filename = str(archive)  # so that messages name it
    return zipfile.Path(opened)


def fixtures_named() -> str:
    """Return the version of the fixtures and the digest of their manifest, in one line."""
    data = (fixtures_folder() / "MANIFEST.json").read_bytes()
    return f"fixtures {json.loads(data)['version']}, sha256:{sha256(data).hexdigest()}"
