"""What the fixtures consist of: every file with its sha256, every vocabulary by its meaning.

Nothing here depends on when, where or by which version the files were made,
so that they come out the same, byte for byte, wherever they are made again.
"""

from hashlib import sha256
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct

from tokenref.record import Digest, RecordError, canonical_json
from tokenref.record_files import FixturePath, read_file

MANIFEST: Final = "MANIFEST.json"


LICENCES: Final = {"shipped": "MIT", "registered": "its publisher's"}
"""The licences of vocabularies and tokenizers that are part of the fixtures, and of others."""


class FileEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file."""

    path: str
    sha256: str
    bytes: int
    cases: int | None
    """How many cases it holds; null for a file that is not a record file."""


class VocabularyEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One vocabulary that cases use."""

    name: str
    digest: Digest
    path: str | None
    """Its file here; null if it is too large to ship and must be found under its name."""

    licence: str


class Manifest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole of the fixtures."""

    format: Literal[1]
    cases: int
    flags: list[str]
    files: list[FileEntry]
    vocabularies: list[VocabularyEntry]
    tokenizers: list[VocabularyEntry]
    """The tokenizer.json files that cases use."""

    retired: list[dict[str, str]]
    """Ids that are no longer used, each with the reason."""

    @property
    def subjects(self) -> list[VocabularyEntry]:
        """All that cases are about."""
        return [*self.vocabularies, *self.tokenizers]


def dump_manifest(manifest: Manifest) -> bytes:
    """Return the content of the manifest file, one entry per line."""
    content = msgspec.to_builtins(manifest)
    lines = []
    for key, value in sorted(content.items()):
        if isinstance(value, list) and value:
            rows = b",\n  ".join(canonical_json(row) for row in value)
            lines.append(b'"%b":[\n  %b\n]' % (key.encode(), rows))
        else:
            lines.append(b'"%b":%b' % (key.encode(), canonical_json(value)))
    return b"{\n" + b",\n".join(lines) + b"\n}\n"


def manifest_digest(manifest: Manifest) -> str:
    """Return `sha256:` and the digest of the manifest file: it names the fixtures as they are."""
    return f"sha256:{sha256(dump_manifest(manifest)).hexdigest()}"


def parse_manifest(folder: FixturePath) -> Manifest:
    """Read the manifest of a folder without looking at the files. Raises `RecordError`.

    No path in it leads out of the folder: files are read by it, and removed.
    """
    data = read_file(folder / MANIFEST)
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except RecursionError:
        raise RecordError(f"{folder / MANIFEST}: not a manifest: nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RecordError(f"{folder / MANIFEST}: not a manifest: {error}") from None
    for named in (each.path for entries in (manifest.files, manifest.subjects) for each in entries):
        path = Path(named or "")
        if path.is_absolute() or ".." in path.parts or "\0" in str(path):
            raise RecordError(f"{folder / MANIFEST}: {named!r} must be inside the folder")
    return manifest


def read_manifest(folder: FixturePath) -> Manifest:
    """Read the manifest of a folder, and check the sha256 of every file that it lists.

    Raises `RecordError`, naming the file.
    """
    manifest = parse_manifest(folder)
    for entry in manifest.files:
        path = folder / entry.path
        found = sha256(read_file(path)).hexdigest()
        if found != entry.sha256:
            raise RecordError(
                f"{path}: the sha256 must be {entry.sha256} as the manifest says, got {found}"
            )
    return manifest
