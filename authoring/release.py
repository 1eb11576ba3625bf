"""Archives of the fixtures, for anyone, for npm and for Cargo; and what a new version may change.

The archives depend on nothing but the fixtures: files are sorted, and have no owner and no date.
Only another version of zlib may compress the same bytes in another way. Nothing is published.
"""

import gzip
import io
import json
import tarfile
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from tokenref.record_files import MANIFEST, Manifest, manifest_digest, parse_records, read_manifest

NAME: Final = "tokenref-fixtures"
SUMS: Final = "SHA256SUMS"
CANARIES: Final = "canary.jsonl"
_ABOUT: Final = "Golden records for byte-pair tokenizers and LLM samplers"

_INDEX_JS: Final = """\
"use strict";
const { readFileSync } = require("node:fs");
const { join } = require("node:path");

/** The folder of the fixtures. Its README.md defines the format. */
const folder = join(__dirname, "fixtures");
const manifest = JSON.parse(readFileSync(join(folder, "MANIFEST.json"), "utf8"));

/** Return the records of a file as lines of JSON. Ids may have 64 bits, so JSON.parse may round. */
function lines(path) {
  return readFileSync(join(folder, path), "utf8").split("\\n").slice(1, -1);
}

module.exports = { folder, manifest, lines };
"""

_INDEX_D_TS: Final = """\
export const folder: string;
export const manifest: {
  format: 1;
  version: string;
  cases: number;
  flags: string[];
  files: { path: string; sha256: string; bytes: number; cases: number | null }[];
  vocabularies: { name: string; digest: string; path: string | null; licence: string }[];
  tokenizers: { name: string; digest: string; path: string | null; licence: string }[];
  retired: Record<string, string>[];
};
export function lines(path: string): string[];
"""

_LIB_RS: Final = """\
//! Golden records for byte-pair tokenizers and LLM samplers.
//!
//! `README.md` in the folder defines the format. This crate has no dependencies, so bring your own
//! reader of JSON. Ids may have 64 bits.

use std::{fs, io, path::Path};

/// The folder of the fixtures, in the source of this crate.
pub const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");

/// The version of the fixtures.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Read a file of the fixtures, for example `MANIFEST.json`.
pub fn read(path: &str) -> io::Result<String> {
    fs::read_to_string(Path::new(FOLDER).join(path))
}

/// Return the records of a file as lines of JSON, without the header.
pub fn lines(path: &str) -> io::Result<Vec<String>> {
    Ok(read(path)?.lines().skip(1).map(str::to_owned).collect())
}
"""


class ReleaseError(Exception):
    """Fixtures that cannot be released as they are."""


def release(folder: Path, licence: bytes) -> dict[str, bytes]:
    """Return the archives of a folder of fixtures and their checksums, by file name.

    Raises `RecordError` if a file of the fixtures is missing or changed.
    """
    manifest = read_manifest(folder)
    paths = sorted([MANIFEST, "README.md", *(entry.path for entry in manifest.files)])
    fixtures = {path: (folder / path).read_bytes() for path in paths}
    inside = {f"fixtures/{path}": data for path, data in fixtures.items()} | {"LICENSE": licence}
    root = f"{NAME}-{manifest.version}"
    archives = {
        f"{root}.tar.gz": _archive(root, {**fixtures, "LICENSE": licence}),
        f"{root}.tgz": _archive("package", {**inside, **_npm(manifest.version)}),
        f"{root}.crate": _archive(root, {**inside, **_cargo(manifest.version)}),
    }
    sums = "".join(f"{sha256(data).hexdigest()}  {name}\n" for name, data in archives.items())
    return {**archives, SUMS: sums.encode()}


def _npm(version: str) -> Mapping[str, bytes]:
    about = {
        "name": NAME,
        "version": version,
        "description": _ABOUT,
        "license": "MIT",
        "main": "index.js",
        "types": "index.d.ts",
        "files": ["fixtures", "index.js", "index.d.ts"],
    }
    return {
        "package.json": (json.dumps(about, indent=2) + "\n").encode(),
        "index.js": _INDEX_JS.encode(),
        "index.d.ts": _INDEX_D_TS.encode(),
    }


def _cargo(version: str) -> Mapping[str, bytes]:
    about = {"name": NAME, "version": version, "edition": "2021", "description": _ABOUT}
    lines = (f"{key} = {json.dumps(value)}\n" for key, value in {**about, "license": "MIT"}.items())
    return {"Cargo.toml": ("[package]\n" + "".join(lines)).encode(), "src/lib.rs": _LIB_RS.encode()}


def _archive(root: str, files: Mapping[str, bytes]) -> bytes:
    """Return a compressed tar archive in which all files are in the folder `root`."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as compressed,
        tarfile.open(mode="w", fileobj=compressed, format=tarfile.USTAR_FORMAT) as archive,
    ):
        for path, data in sorted(files.items()):
            entry = tarfile.TarInfo(f"{root}/{path}")  # no owner, and the date is 1970
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


def broken_promises(previous: Path, folder: Path, changelog: str) -> Iterator[str]:
    """Yield one sentence for each thing that a new version must not change.

    `previous` is the archive of the version before, `NAME-VERSION.tar.gz`.
    """
    manifest, new = read_manifest(folder), _meanings(_files_of(folder))
    old_files = _unpacked(previous)
    try:
        old_manifest = msgspec.json.decode(old_files[MANIFEST], type=Manifest)
    except msgspec.DecodeError as error:
        raise ReleaseError(f"{previous}: {MANIFEST} is not a manifest: {error}") from None
    old = _meanings(old_files)
    retired = {entry["id"] for entry in manifest.retired}
    for case_id in sorted(old.keys() - new.keys() - retired):
        yield f"{case_id} is gone and not listed under retired"
    for case_id in sorted(old.keys() & new.keys()):
        if old[case_id] != new[case_id] and case_id not in changelog:
            yield f"{case_id} has another meaning, which the changelog does not explain"
    for entry in old_manifest.retired:
        if entry["id"] in new:
            yield f"{entry['id']} was retired and must not be used again"
    if manifest_digest(manifest) != manifest_digest(old_manifest):
        rises = 1 if old.keys() != new.keys() else 2
        before, after = (_numbers(each.version) for each in (old_manifest, manifest))
        if after[: rises + 1] <= before[: rises + 1]:
            which = ("second", "third")[rises - 1]
            yield f"the {which} number of the version must rise: it was {old_manifest.version}"


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]


def _meanings(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the sums of all records but the canaries, by id."""
    return {
        case.id: case.sum
        for path, data in files.items()
        if path.endswith(".jsonl") and path != CANARIES
        for case in parse_records(data, path, file=path)
    }


def _files_of(folder: Path) -> Mapping[str, bytes]:
    return {entry.path: (folder / entry.path).read_bytes() for entry in read_manifest(folder).files}


def _unpacked(archive: Path) -> Mapping[str, bytes]:
    """Return the files of an archive without their root. Raises `ReleaseError`."""
    try:
        with tarfile.open(archive) as opened:
            files = {
                member.name.partition("/")[2]: file.read()
                for member in opened
                if (file := opened.extractfile(member)) is not None
            }
    except (OSError, EOFError, tarfile.TarError) as error:
        raise ReleaseError(f"{archive} cannot be read: {error}") from None
    if MANIFEST not in files:
        raise ReleaseError(f"{archive} must be an archive {NAME}-VERSION.tar.gz")
    return files
