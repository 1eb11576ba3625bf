"""A folder of fixtures that is small, whole, and opened in no time: what a test may spoil."""

import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from tokenref.packaged import fixtures_folder
from tokenref.record import canonical_json
from tokenref.record_files import FileEntry, Manifest, dump_manifest, parse_manifest

RECORDS: Final = ("bpe/limit/cutting.jsonl", "bpe/count/texts.jsonl")
"""The record files that are taken, as far as they are about the vocabularies below."""

OTHERS: Final = ("glossary.json", "schema/header.v1.json")


def checkout_fixtures() -> Path:
    """Return the folder of the fixtures of this checkout."""
    folder = fixtures_folder()
    assert isinstance(folder, Path)
    return folder


def small_fixtures(folder: Path, most: int = 40) -> Path:
    """Make such a folder from the package's fixtures, with at most `most` records per file."""
    package = checkout_fixtures()
    whole = parse_manifest(package)
    canaries = _records(package / "canary.jsonl")
    taken = {path: _records(package / path)[:most] for path in RECORDS}
    used = {record["vocab"] for records in taken.values() for record in records}
    taken["canary.jsonl"] = [record for record in canaries if record.get("vocab") in used]
    assert all(taken.values())
    files: dict[str, bytes] = {}
    for path, records in taken.items():
        header = {"cases": len(records), "file": path, "format": 1, "kind": "header"}
        files[path] = b"".join(canonical_json(line) + b"\n" for line in (header, *records))
    entries = [
        entry for entry in whole.vocabularies if entry.digest in used and entry.path is not None
    ]
    tokenizer = whole.tokenizers[0]
    for path in (*OTHERS, *(str(entry.path) for entry in (*entries, tokenizer))):
        files[path] = (package / path).read_bytes()
    manifest = Manifest(
        format=1,
        cases=sum(len(records) for path, records in taken.items() if path != "canary.jsonl"),
        flags=whole.flags,
        files=[
            FileEntry(
                path=path,
                sha256=sha256(data).hexdigest(),
                bytes=len(data),
                cases=len(taken[path]) if path in taken else None,
            )
            for path, data in sorted(files.items())
        ],
        vocabularies=entries,
        tokenizers=[tokenizer],
        retired=[],
        version=whole.version,
    )
    files["MANIFEST.json"] = dump_manifest(manifest)
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return folder


def vouch(folder: Path, edit: Callable[[dict[str, Any]], object] = bool) -> None:
    """Make every digest of the manifest right again, as a forger would; `edit` changes the rest."""
    path = folder / "MANIFEST.json"
    content = json.loads(path.read_bytes())
    edit(content)
    for entry in content["files"]:
        data = (folder / entry["path"]).read_bytes()
        entry |= {"sha256": sha256(data).hexdigest(), "bytes": len(data)}
    path.write_text(json.dumps(content), encoding="ascii")


def _records(path: Path) -> Sequence[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[1:-1]]
