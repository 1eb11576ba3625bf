"""Findings added to fixtures: to the regression file of a year, and to the manifest.

Afterwards the folder is complete: `python -m authoring fixtures` would change nothing in it. The
user gives the year, so that the fixtures do not depend on a clock.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from bpe_ref import Vocabulary
from bpe_ref.registry import REGISTRY
from tokenref.catalogue import BudgetError, Catalogue, check_budget, check_together, open_catalogue
from tokenref.fuzzing.errors import CampaignError
from tokenref.fuzzing.findings import Finding, question_of
from tokenref.fuzzing.promoting import Promoted, Target, promoted
from tokenref.manifest import (
    LICENCES,
    MANIFEST,
    FileEntry,
    Manifest,
    VocabularyEntry,
    dump_manifest,
)
from tokenref.record import Case
from tokenref.record_files import REGRESS, read_records
from tokenref.subjects import Samplers, TokenizerSubject


def promoted_to_fixtures(
    findings: Iterable[Finding],
    why: str,
    folder: Path,
    year: int,
    *,
    slug: str | None = None,
    flags: Sequence[str] = (),
) -> Promoted:
    """Return the files of a fixtures folder with these findings added, the manifest last.

    Raises `RecordError` for a folder whose fixtures are not whole, and `CampaignError` as
    `promoted` does, and where the records would have too many that are not exact.
    """
    catalogue, chosen = open_catalogue(folder), list(findings)
    file = f"{REGRESS}/{year:04}.jsonl"
    has = frozenset(entry.digest for entry in catalogue.manifest.subjects)
    target = Target(
        folder / file,
        file,
        *_records(catalogue, file),
        beside=folder,
        prefix=f"{REGRESS}-",
        has=has,
    )
    result = promoted(chosen, why, target, slug=slug, flags=flags)
    try:
        check_budget([*catalogue.cases, *result.cases])
    except BudgetError as error:
        raise CampaignError(str(error)) from None
    content = {path.relative_to(folder).as_posix(): data for path, data in result.files.items()}
    counts = {file: len(target.present) + len(result.cases)}
    manifest = manifest_with(catalogue.manifest, content, counts, _new(chosen, has))
    check_together([*catalogue.cases, *catalogue.canaries, *result.cases], manifest)
    return Promoted(result.cases, {**result.files, folder / MANIFEST: dump_manifest(manifest)})


def manifest_with(
    manifest: Manifest,
    files: Mapping[str, bytes],
    cases: Mapping[str, int],
    subjects: Mapping[str, TokenizerSubject],
) -> Manifest:
    """Return a manifest with more files, or with others in the place of those it lists.

    `cases` are the numbers of records of files that hold some, and `subjects` what they are
    about, by name.
    """
    entries = {entry.path: entry for entry in manifest.files}
    before = sum(entries[path].cases or 0 for path in cases if path in entries)
    for path, data in files.items():
        digest = sha256(data).hexdigest()
        entries[path] = FileEntry(path=path, sha256=digest, bytes=len(data), cases=cases.get(path))
    vocabularies, tokenizers = list(manifest.vocabularies), list(manifest.tokenizers)
    for name, subject in subjects.items():
        is_vocabulary = isinstance(subject, Vocabulary)
        path = f"{'vocab' if is_vocabulary else 'tokenizer'}/{name}.json"
        (vocabularies if is_vocabulary else tokenizers).append(
            VocabularyEntry(
                name=name,
                digest=subject.digest(),
                path=path if path in files else None,
                licence=LICENCES["shipped" if path in files else "registered"],
            )
        )
    return msgspec.structs.replace(
        manifest,
        cases=manifest.cases - before + sum(cases.values()),
        files=[entries[path] for path in sorted(entries)],
        vocabularies=sorted(vocabularies, key=lambda entry: entry.name),
        tokenizers=sorted(tokenizers, key=lambda entry: entry.name),
    )


def _records(catalogue: Catalogue, file: str) -> tuple[list[Case], list[Case]]:
    """Return the records of a regression file, in their order, and all others."""
    path = catalogue.folder / file
    is_listed = any(entry.path == file for entry in catalogue.manifest.files)
    present = read_records(path, file=file) if is_listed else []
    own = {case.id for case in present}
    others = [case for case in (*catalogue.cases, *catalogue.canaries) if case.id not in own]
    return present, others


def _new(findings: Iterable[Finding], has: frozenset[str]) -> dict[str, TokenizerSubject]:
    """Return what findings are about and the fixtures have not, by its name there."""
    found: dict[str, TokenizerSubject] = {}
    for finding in findings:
        subject = question_of(finding).subject
        if isinstance(subject, Samplers) or subject.digest() in has:
            continue
        name = str((finding.subject or {}).get("name", ""))
        short = subject.digest().removeprefix("sha256:")[:16]
        is_registered = isinstance(subject, Vocabulary) and name in REGISTRY
        found[name if is_registered else f"{REGRESS}-{short}"] = subject
    return found
