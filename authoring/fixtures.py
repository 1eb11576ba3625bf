"""Write the fixtures, or compare them byte for byte with what would be written.

Everything is made in memory first; nothing is written unless all of it was
made. Nothing depends on the time, the machine, the order of a hash table or
the language of the user.
"""

import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from authoring.cases.all import all_drafts
from authoring.cases.canaries import canaries
from authoring.cases.draft import finish
from authoring.cases.sampling.all import all_sampler_drafts
from authoring.cases.sampling.canaries import sampler_canaries
from authoring.cases.sampling.draft import finish_sampler
from authoring.cases.vocabularies import fixture_vocabularies
from authoring.kept_records import changed_answers, kept_records
from authoring.schemas import schemas
from authoring.tokenizer_files.table import fixture_tokenizers
from bpe_ref import BpeError, Vocabulary
from bpe_ref.formats.files import write_atomically
from bpe_ref.formats.plain_json import dump_plain_json
from tokenref.catalogue import check_budget, check_together
from tokenref.errors import InputError
from tokenref.judge import first_difference
from tokenref.operations import FLAGS
from tokenref.record import Case, RecordError, canonical_json
from tokenref.record_files import (
    LICENCES,
    MANIFEST,
    REGRESS,
    FileEntry,
    Manifest,
    VocabularyEntry,
    dump_manifest,
    dump_records,
    parse_manifest,
    parse_records,
)
from tokenref.subjects import TokenizerFile, load_bytes

FIXTURES: Final = Path(__file__).parent.parent / "fixtures"
CANARIES: Final = "canary.jsonl"
HAND_WRITTEN: Final = ("README.md",)
"""Files of the fixtures folder that are not generated."""

_HALF_WRITTEN: Final = re.compile(r"\.[0-9a-f]{16}\.tmp")
"""The names under which files are written, before they get their own."""

VERSION: Final = "1.0.0"
"""The version of the fixtures. `python -m authoring release` refuses one that promises too much."""

RETIRED: Final[Sequence[dict[str, str]]] = ()
"""Ids that are no longer used: id, the version that lost it, the reason."""


class FillError(RecordError):
    """The fixtures cannot be made here."""


def make_files(
    progress: Callable[[str], None] | None = None, folder: Path | None = None
) -> dict[str, bytes]:
    """Return every generated file by its path in the fixtures folder.

    The regression files are those of `folder` (by default the checkout's fixtures), with
    the answers that the reference gives now. Raises `FillError` if a vocabulary that
    cases need cannot be found, `PurposeError` if a case does not do what its `why`
    claims, and `RecordError` for a regression file that cannot be used.
    """
    named, tokenizers = fixture_vocabularies(), fixture_tokenizers()
    subjects: dict[str, Vocabulary | TokenizerFile] = {
        name: entry.vocabulary for name, entry in named.items()
    }
    subjects |= tokenizers
    files: dict[str, bytes] = {}
    cases: dict[str, list[Case]] = {}
    for draft in all_drafts():
        if draft.vocabulary not in subjects:
            subjects[draft.vocabulary] = _registered(draft.vocabulary)
        path = f"bpe/{draft.op}/{draft.topic}.jsonl"
        if path not in cases and progress is not None:
            progress(path)
        cases.setdefault(path, []).append(finish(draft, subjects[draft.vocabulary]))
    for each in all_sampler_drafts():
        path = f"sampling/{each.op}/{each.topic}.jsonl"
        if path not in cases and progress is not None:
            progress(path)
        cases.setdefault(path, []).append(finish_sampler(each))
    known = {subject.digest(): subject for subject in subjects.values()}
    kept = kept_records(folder or FIXTURES, known)
    subjects |= kept.subjects
    cases |= kept.cases
    check_budget(case for path in cases for case in cases[path])
    cases[CANARIES] = [*canaries(), *sampler_canaries()]
    for path, records in cases.items():
        files[path] = dump_records(path, records)
        parse_records(files[path], path, file=path)  # whoever reads them refuses what is not right
    for name, entry in named.items():
        files[f"vocab/{name}.json"] = dump_plain_json(entry)
    for name, file in tokenizers.items():
        files[f"tokenizer/{name}.json"] = file.content
    files |= kept.files
    for name, schema in schemas().items():
        files[f"schema/{name}"] = _one_line(schema)
    files["glossary.json"] = _one_line(
        {
            name: {
                "description": flag.description,
                "effect": flag.effect,
                "links": list(flag.links),
                "spec": flag.spec,
            }
            for name, flag in FLAGS.items()
        }
    )
    manifest = _manifest(files, cases, subjects)
    check_together((case for path in cases for case in cases[path]), manifest)
    files[MANIFEST] = dump_manifest(manifest)
    return files


def write_files(files: dict[str, bytes], folder: Path) -> list[str]:
    """Write the files that changed, each atomically; return their paths.

    A file that the folder's manifest lists and that is no longer made is
    removed, and so is what a fill that was killed left half written. Any other
    file is left alone. The manifest goes last: until then the old one says that
    the folder is not whole, and which files are to be removed.
    """
    for half in folder.rglob(".*.tmp"):
        if _HALF_WRITTEN.fullmatch(half.name):
            half.unlink(missing_ok=True)
    removed = sorted(_listed(folder) - files.keys())
    changed = [path for path, data in files.items() if _read(folder / path) != data]
    for path in changed:
        if path != MANIFEST:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            write_atomically(files[path], folder / path)
    for path in removed:
        (folder / path).unlink(missing_ok=True)
    if MANIFEST in changed:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(files[MANIFEST], folder / MANIFEST)
    return [*changed, *removed]


def differences(files: dict[str, bytes], folder: Path) -> list[str]:
    """Return one sentence per file that is not, byte for byte, what would be written."""
    found = []
    for path, data in files.items():
        present = _read(folder / path)
        if present is None:
            found.append(f"{path}: is missing")
        elif present != data and path.startswith(f"{REGRESS}/"):
            other = f"{path}: is not in the one canonical form"
            found += list(changed_answers(path, data, present)) or [other]
        elif present != data:
            line = 1 + first_difference(data.split(b"\n"), present.split(b"\n"))
            found.append(f"{path}: differs from line {line} on")
    found += [f"{path}: is not generated any more" for path in _left_over(files, folder)]
    return found


def _registered(name: str) -> Vocabulary:
    try:
        return load_bytes(name)
    except BpeError as error:
        raise FillError(f"cases need the vocabulary {name}: {error}") from None


def _manifest(
    files: dict[str, bytes],
    cases: dict[str, list[Case]],
    subjects: dict[str, Vocabulary | TokenizerFile],
) -> Manifest:
    used = {case.vocab for records in cases.values() for case in records if case.vocab is not None}
    by_digest: dict[str, str] = {}
    for name, subject in subjects.items():
        digest = subject.digest()
        if digest in by_digest:
            raise FillError(f"{name} and {by_digest[digest]} are the same")
        by_digest[digest] = name
        if digest not in used:
            raise FillError(f"no case uses {name}")
    in_order = sorted(by_digest.items(), key=lambda item: item[1])
    counted = [case for path, records in cases.items() if path != CANARIES for case in records]
    for flag in sorted({flag for case in counted for flag in case.flags} - FLAGS.keys()):
        raise RecordError(f"the glossary has no flag {flag!r}")
    return Manifest(
        format=1,
        cases=len(counted),
        flags=sorted(FLAGS),
        files=[
            FileEntry(
                path=path,
                sha256=sha256(data).hexdigest(),
                bytes=len(data),
                cases=len(cases[path]) if path in cases else None,
            )
            for path, data in sorted(files.items())
        ],
        vocabularies=[
            _entry(name, digest, f"vocab/{name}.json", files)
            for digest, name in in_order
            if isinstance(subjects[name], Vocabulary)
        ],
        tokenizers=[
            _entry(name, digest, f"tokenizer/{name}.json", files)
            for digest, name in in_order
            if isinstance(subjects[name], TokenizerFile)
        ],
        retired=list(RETIRED),
        version=VERSION,
    )


def _entry(name: str, digest: str, path: str, files: dict[str, bytes]) -> VocabularyEntry:
    """Return the manifest's entry of a vocabulary or tokenizer, which may be shipped or not."""
    shipped = path in files
    licence = LICENCES["shipped" if shipped else "registered"]
    return VocabularyEntry(
        name=name, digest=digest, path=path if shipped else None, licence=licence
    )


def _listed(folder: Path) -> set[str]:
    """Return the files that a folder's manifest lists; none if there is no manifest."""
    try:
        return {entry.path for entry in parse_manifest(folder).files}
    except (InputError, RecordError):
        return set()


def _left_over(files: dict[str, bytes], folder: Path) -> list[str]:
    """Return the files of the folder that are neither made nor written by hand."""
    if not folder.is_dir():
        return []
    present = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    return sorted(present - files.keys() - set(HAND_WRITTEN))


def _one_line(value: object) -> bytes:
    return canonical_json(value) + b"\n"


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
