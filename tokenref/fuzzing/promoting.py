"""Turn findings into golden records of a regression file, which any engine can be run on.

A regression file has the form of the fixtures' record files. It is either one of them, in the
folder `regress`, or a user's own file; then the folders `vocab` and `tokenizer` next to it contain
the vocabularies and tokenizers that its records need and the fixtures lack. The reference computes
the answers again, because a journal is a report, not a source of truth.

When findings are added to fixtures, the manifest is updated too, so regenerating the fixtures
would change nothing. The caller gives the year of the file: fixtures do not depend on a clock.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from bpe_ref import Vocabulary
from bpe_ref.formats.plain_json import NamedVocabulary, dump_plain_json
from bpe_ref.registry import REGISTRY
from tokenref.catalogue import BudgetError, check_budget, check_together, open_catalogue
from tokenref.errors import InputError
from tokenref.fuzzing.comparing import answered_anew
from tokenref.fuzzing.findings import Finding, question_of, shipped_name
from tokenref.goldens import copy_for, with_optional
from tokenref.record import Case
from tokenref.record_files import (
    LICENCES,
    MANIFEST,
    REGRESS,
    FileEntry,
    VocabularyEntry,
    dump_manifest,
    dump_records,
    parse_records,
    read_records,
)
from tokenref.subjects import Samplers, Subject, TokenizerFile, TokenizerSubject

_SHORTEST_WHY: Final = 20
_SLUG: Final = re.compile(r"[a-z0-9_.-]+")


@dataclass(frozen=True)
class Promoted:
    """The new content of a regression file and of the files next to it."""

    cases: list[Case]
    files: Mapping[Path, bytes]
    """The files to write, the record file last."""

    subjects: Mapping[str, TokenizerSubject]
    """The vocabularies and tokenizers that were not available before, by name."""

    present: Sequence[str] = ()
    """The ids of the records that were there before, so that nothing was added."""


@dataclass(frozen=True)
class Target:
    """Where records are added, and what is already there."""

    out: Path
    header: str
    """The file's name in its header."""

    present: Sequence[Case]
    """Its current records."""

    elsewhere: Sequence[Case] = ()
    """Records of other files, whose ids and sums must not be repeated."""

    has: frozenset[str] | None = None
    """Digests of the subjects in the fixtures; None for a user's own file."""


def own_target(out: Path) -> Target:
    """Return a user's own file. Raises `RecordError` if it is not a record file.

    >>> own_target(Path("no/such.jsonl")).present
    []
    """
    return Target(out, out.name, read_records(out) if out.exists() else [])


def promoted(
    findings: Iterable[Finding],
    why: str,
    target: Target,
    *,
    slug: str | None = None,
    flags: Sequence[str] = (),
) -> Promoted:
    """Return the regression file with these findings added, unless they are already there.

    Raises `InputError` if `why` is too short, if no finding is given, if another record has the id
    of one, or if the reference cannot answer it.
    """
    if len(why.strip()) < _SHORTEST_WHY:
        raise InputError(f"--why must have at least {_SHORTEST_WHY} characters, got {why!r}")
    if slug is not None and not _SLUG.fullmatch(slug):
        raise InputError(f"--slug must consist of a-z, 0-9, _, . and -, got {slug!r}")
    sums = {case.sum: case.id for case in [*target.present, *target.elsewhere]}
    added: list[Case] = []
    present: list[str] = []
    files: dict[Path, bytes] = {}
    subjects: dict[str, TokenizerSubject] = {}
    for finding in findings:
        question = question_of(finding)
        case = answered_anew(question, finding.record["id"], slug=slug or "", why=why.strip())
        case = with_optional(msgspec.structs.replace(case, flags=sorted(set(flags)) or case.flags))
        if case.sum in sums:
            present.append(sums[case.sum])
            continue
        if case.id in sums.values():
            raise InputError(f"{target.out} has another case with the id {case.id}")
        sums[case.sum] = case.id
        added.append(case)
        name, content = _kept(finding, question.subject, target)
        if name and not isinstance(question.subject, Samplers):
            subjects[name] = question.subject
            if content is not None:
                files[_path(name, question.subject, target)] = content
    if not added and not present:
        raise InputError("no findings are selected")
    if not added:
        return Promoted([], {}, {}, present)
    content = dump_records(target.header, [*target.present, *added])
    parse_records(content, str(target.out), file=None if target.has is None else target.header)
    return Promoted(added, {**files, target.out: content}, subjects, present)


def _kept(finding: Finding, subject: Subject, target: Target) -> tuple[str, bytes | None]:
    """Return the name and the file of a subject.

    What is already available has neither, and what is registered has no file.
    """
    if isinstance(subject, Samplers):
        return "", None
    written = finding.subject or {}
    name = str(written.get("name", ""))
    is_large = isinstance(subject, Vocabulary) and "vocabulary" not in written
    is_shipped = shipped_name(subject) is not None
    if target.has is None:
        whole = isinstance(subject, TokenizerFile)
        if is_large or is_shipped or copy_for(target.out, subject.digest(), whole=whole):
            return "", None  # found by its name, or next to other records
    elif subject.digest() in target.has:
        return "", None
    elif isinstance(subject, Vocabulary) and name in REGISTRY:
        return name, None
    elif is_large and not is_shipped:
        raise InputError(
            f"{finding.record['id']}: fixtures cannot keep a vocabulary as large as "
            f"{name}, only a registered one"
        )
    name = f"{REGRESS}-{subject.digest().removeprefix('sha256:')[:16]}"
    if isinstance(subject, TokenizerFile):
        return name, subject.content
    return name, dump_plain_json(NamedVocabulary(name, "Made smaller by a campaign.", subject))


def _path(name: str, subject: TokenizerSubject, target: Target) -> Path:
    folder = "tokenizer" if isinstance(subject, TokenizerFile) else "vocab"
    if target.has is None:
        return target.out.parent / folder / f"{name.removeprefix(f'{REGRESS}-')}.json"
    return target.out.parent.parent / folder / f"{name}.json"


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

    Raises `RecordError` for a folder whose fixtures are not complete, and `InputError` as
    `promoted` does, and if too many records would not be exact.
    """
    catalogue = open_catalogue(folder)
    manifest = catalogue.manifest
    file = f"{REGRESS}/{year:04}.jsonl"
    files = {entry.path: entry for entry in manifest.files}
    present = read_records(folder / file, file=file) if file in files else []
    ids = {case.id for case in present}
    elsewhere = [case for case in [*catalogue.cases, *catalogue.canaries] if case.id not in ids]
    has = frozenset(entry.digest for entry in manifest.subjects)
    target = Target(folder / file, file, present, elsewhere, has)
    result = promoted(findings, why, target, slug=slug, flags=flags)
    if not result.cases:
        return result
    try:
        check_budget([*catalogue.cases, *result.cases])
    except BudgetError as error:
        raise InputError(str(error)) from None
    for path, data in result.files.items():
        name = path.relative_to(folder).as_posix()
        count = len(present) + len(result.cases) if path == target.out else None
        files[name] = FileEntry(
            path=name, sha256=sha256(data).hexdigest(), bytes=len(data), cases=count
        )
    entries: dict[bool, list[VocabularyEntry]] = {True: [], False: []}
    for name, subject in result.subjects.items():
        path = _path(name, subject, target)
        is_shipped = path in result.files
        entry = VocabularyEntry(
            name=name,
            digest=subject.digest(),
            path=path.relative_to(folder).as_posix() if is_shipped else None,
            licence=LICENCES["shipped" if is_shipped else "registered"],
        )
        entries[isinstance(subject, Vocabulary)].append(entry)

    def by_name(entry: VocabularyEntry) -> str:
        return entry.name

    manifest = msgspec.structs.replace(
        manifest,
        cases=manifest.cases + len(result.cases),
        files=[files[path] for path in sorted(files)],
        vocabularies=sorted([*manifest.vocabularies, *entries[True]], key=by_name),
        tokenizers=sorted([*manifest.tokenizers, *entries[False]], key=by_name),
    )
    check_together([*catalogue.cases, *catalogue.canaries, *result.cases], manifest)
    whole = {**result.files, folder / MANIFEST: dump_manifest(manifest)}
    return Promoted(result.cases, whole, result.subjects, result.present)
