"""Turn findings into golden records of a regression file, which any engine can be run on.

A regression file has the form of the fixtures' record files. It is either one of them, in the
folder `regress`, or a user's own file; then the folders `vocab` and `tokenizer` next to it contain
the vocabularies and tokenizers that its records need and the fixtures lack. The reference computes
the answers again, because a journal is a report, not a source of truth.

When findings are added to fixtures, the manifest is updated too, so regenerating the fixtures
would change nothing. The caller gives the year of the file: fixtures do not depend on a clock.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from bpe_ref import BpeError, Vocabulary
from bpe_ref.formats.plain_json import NamedVocabulary, dump_plain_json, parse_plain_json
from bpe_ref.registry import REGISTRY
from tokenref.catalogue import BudgetError, Catalogue, check_budget, check_together, open_catalogue
from tokenref.fuzzing.findings import Finding, question_of, shipped_name
from tokenref.fuzzing.plan import CampaignError
from tokenref.fuzzing.records import answered_anew
from tokenref.goldens import GoldensError
from tokenref.manifest import (
    LICENCES,
    MANIFEST,
    FileEntry,
    Manifest,
    VocabularyEntry,
    dump_manifest,
)
from tokenref.record import Case, RecordError
from tokenref.record_files import REGRESS, dump_records, parse_records, read_file, read_records
from tokenref.subjects import Samplers, Subject, TokenizerFile, TokenizerSubject

SHORTEST_WHY: Final = 20
_SLUG: Final = re.compile(r"[a-z0-9_.-]+")


@dataclass(frozen=True)
class Promoted:
    """The new content of a regression file and of the files next to it."""

    cases: list[Case]
    files: Mapping[Path, bytes]
    """The files to write, the record file last."""


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

    beside: Path = field(default_factory=Path)
    """The folder that contains `vocab` and `tokenizer`."""

    prefix: str = ""
    """The prefix of the names of files in them."""

    has: frozenset[str] | None = None
    """Digests of the subjects in the fixtures; None for a user's own file."""


def own_target(out: Path) -> Target:
    """Return a user's own file. Raises `RecordError` if it is not a record file.

    >>> own_target(Path("no/such.jsonl")).present
    []
    """
    present = parse_records(out.read_bytes(), str(out)) if out.exists() else []
    return Target(out, out.name, present, beside=out.parent)


def promoted(
    findings: Iterable[Finding],
    why: str,
    target: Target,
    *,
    slug: str | None = None,
    flags: Sequence[str] = (),
) -> Promoted:
    """Return the regression file with these findings added.

    Raises `CampaignError` if `why` is too short, or if a finding is already there or cannot be
    answered by the reference.
    """
    if len(why.strip()) < SHORTEST_WHY:
        raise CampaignError(f"--why must have at least {SHORTEST_WHY} characters, got {why!r}")
    if slug is not None and not _SLUG.fullmatch(slug):
        raise CampaignError(f"--slug must consist of a-z, 0-9, _, . and -, got {slug!r}")
    there = [*target.present, *target.elsewhere]
    sums = {case.sum: case.id for case in there}
    ids = {case.id for case in there}
    added: list[Case] = []
    files: dict[Path, bytes] = {}
    for finding in findings:
        case = _case(finding, why.strip(), slug or "")
        if flags:
            case = msgspec.structs.replace(case, flags=sorted(set(flags)))
        if case.sum in sums:
            raise CampaignError(f"{target.out} already has this case as {sums[case.sum]}")
        if case.id in ids:
            raise CampaignError(f"{target.out} has another case with the id {case.id}")
        sums[case.sum] = case.id
        ids.add(case.id)
        added.append(case)
        files.update(_beside(finding, target))
    if not added:
        raise CampaignError("no findings are selected")
    content = dump_records(target.header, [*target.present, *added])
    parse_records(content, str(target.out), file=None if target.has is None else target.header)
    return Promoted(added, {**files, target.out: content})


def _case(finding: Finding, why: str, slug: str) -> Case:
    """Return the record of a finding, answered again by the reference."""
    name = finding.record["id"]
    try:
        question = question_of(finding)
    except (BpeError, GoldensError, LookupError, TypeError, ValueError) as error:
        raise CampaignError(
            f"{name}: its vocabulary or tokenizer cannot be loaded: {error}"
        ) from None
    return answered_anew(question, name, slug=slug, why=why)


def _beside(finding: Finding, target: Target) -> dict[Path, bytes]:
    """Return the file of a finding's subject, unless it is generally available."""
    subject, written = question_of(finding).subject, finding.subject or {}
    if isinstance(subject, Samplers) or subject.digest() in (target.has or ()):
        return {}
    is_large = isinstance(subject, Vocabulary) and "vocabulary" not in written
    if target.has is None:
        if is_large or shipped_name(subject) is not None:
            return {}  # found by its name
    elif written.get("name") in REGISTRY:
        return {}
    elif is_large and shipped_name(subject) is None:
        raise CampaignError(
            f"{finding.record['id']}: fixtures cannot keep a vocabulary as large as "
            f"{written.get('name')}, only a registered one"
        )
    kind, name, content = beside(subject, target.prefix)
    return {target.beside / kind / name: content}


def beside(subject: Subject, prefix: str) -> tuple[str, str, bytes]:
    """Return the folder, the name and the content of the file of a subject.

    >>> beside(TokenizerFile("one", b"{}"), "regress-")
    ('tokenizer', 'regress-44136fa355b3678a.json', b'{}')
    """
    assert not isinstance(subject, Samplers)  # noqa: S101 - these need no file
    short = subject.digest().removeprefix("sha256:")[:16]
    if isinstance(subject, TokenizerFile):
        return "tokenizer", f"{prefix}{short}.json", subject.content
    named = NamedVocabulary(f"regress-{short}", "Made smaller by a campaign.", subject)
    return "vocab", f"{prefix}{short}.json", dump_plain_json(named)


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
    """Return a manifest with files added or replaced.

    `cases` maps record files to their number of records, `subjects` contains their new subjects by
    name.
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


def open_regressions(path: Path) -> Catalogue:
    """Return the records of a regression file, ready to be run.

    Raises `RecordError` if the file has no records, if a vocabulary next to it is invalid, or if a
    vocabulary of a record is missing.
    """
    data = read_file(path)
    cases = parse_records(data, str(path))
    package = open_catalogue()
    found = dict(_subjects_beside(path))
    known = {entry.digest for entry in package.manifest.subjects}
    own = {
        digest: VocabularyEntry(
            name=f"{path.name}:{digest[7:15]}", digest=digest, path=None, licence="its owner's"
        )
        for digest in found
        if digest not in known
    }
    whole = {digest for digest, subject in found.items() if isinstance(subject, TokenizerFile)}
    manifest = Manifest(
        format=1,
        cases=len(cases),
        flags=package.manifest.flags,
        files=[
            FileEntry(
                path=str(path), sha256=sha256(data).hexdigest(), bytes=len(data), cases=len(cases)
            )
        ],
        vocabularies=[
            *package.manifest.vocabularies,
            *(entry for digest, entry in own.items() if digest not in whole),
        ],
        tokenizers=[
            *package.manifest.tokenizers,
            *(entry for digest, entry in own.items() if digest in whole),
        ],
        retired=[],
    )
    check_together(cases, manifest)
    loaded: dict[str, Subject | str] = {digest: found[digest] for digest in own}
    return Catalogue(package.folder, manifest, cases, package.canaries, loaded)


def _subjects_beside(path: Path) -> Iterator[tuple[str, Subject]]:
    """Yield what lies beside a regression file, by its digest."""
    for file in sorted((path.parent / "vocab").glob("*.json")):
        try:
            vocabulary = parse_plain_json(read_file(file), str(file)).vocabulary
        except BpeError as error:
            raise RecordError(f"{file}: not a vocabulary: {error}") from None
        yield vocabulary.digest(), vocabulary
    for file in sorted((path.parent / "tokenizer").glob("*.json")):
        tokenizer = TokenizerFile(file.stem, read_file(file))
        try:
            yield tokenizer.digest(), tokenizer
        except ValueError as error:
            raise RecordError(f"{file}: not a tokenizer.json: {error}") from None
