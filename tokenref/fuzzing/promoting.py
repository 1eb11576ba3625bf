"""Findings become golden records of a regression file, which any engine can be run over.

A regression file has the form of the fixtures' record files. It is one of them, in `regress`,
where fixtures are given; else a file of one's own, and beside it, in `vocab` and `tokenizer`, are
the vocabularies and tokenizers of its own. The answer is computed anew by the reference: a
journal is a report, not a source of truth.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from bpe_ref import BpeError, Vocabulary
from bpe_ref.formats.plain_json import NamedVocabulary, dump_plain_json
from bpe_ref.registry import REGISTRY
from tokenref.fuzzing.errors import CampaignError
from tokenref.fuzzing.findings import Finding, question_of
from tokenref.fuzzing.records import answered_anew
from tokenref.fuzzing.written_subjects import shipped_name
from tokenref.goldens import GoldensError
from tokenref.record import Case
from tokenref.record_files import dump_records, parse_records
from tokenref.subjects import Samplers, Subject, TokenizerFile

SHORTEST_WHY: Final = 20
_SLUG: Final = re.compile(r"[a-z0-9_.-]+")


@dataclass(frozen=True)
class Promoted:
    """What a regression file is to be, with what lies beside it."""

    cases: list[Case]
    files: Mapping[Path, bytes]
    """What is to be written; the record file comes last."""


@dataclass(frozen=True)
class Target:
    """Where records are added, and what is there already."""

    out: Path
    header: str
    """What the file calls itself."""

    present: Sequence[Case]
    """Its records, as yet."""

    elsewhere: Sequence[Case] = ()
    """Records of other files that belong to it, whose ids and meanings are taken."""

    beside: Path = field(default_factory=Path)
    """The folder that has the folders `vocab` and `tokenizer`."""

    prefix: str = ""
    """What the names of the files in them begin with."""

    has: frozenset[str] | None = None
    """Digests of what fixtures have; None for a file of one's own."""


def own_target(out: Path) -> Target:
    """Return a file of one's own. Raises `RecordError` for a file that is no record file.

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

    Raises `CampaignError` for a `why` that says nothing, for a finding that is there
    already, and for one that the reference does not answer.
    """
    if len(why.strip()) < SHORTEST_WHY:
        raise CampaignError(
            f"--why must say in {SHORTEST_WHY} characters or more why the case matters, got {why!r}"
        )
    if slug is not None and not _SLUG.fullmatch(slug):
        raise CampaignError(f"--slug must be of a-z, 0-9, _, . and -, got {slug!r}")
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
            raise CampaignError(f"{target.out} has this case already, as {sums[case.sum]}")
        if case.id in ids:
            raise CampaignError(f"{target.out} has another case with the id {case.id}")
        sums[case.sum] = case.id
        ids.add(case.id)
        added.append(case)
        files.update(_beside(finding, target))
    if not added:
        raise CampaignError("no finding was chosen")
    content = dump_records(target.header, [*target.present, *added])
    parse_records(content, str(target.out), file=None if target.has is None else target.header)
    return Promoted(added, {**files, target.out: content})


def _case(finding: Finding, why: str, slug: str) -> Case:
    """Return the record of a finding, answered anew."""
    name = finding.record["id"]
    try:
        question = question_of(finding)
    except (BpeError, GoldensError, LookupError, TypeError, ValueError) as error:
        raise CampaignError(f"{name}: what it is about cannot be loaded: {error}") from None
    return answered_anew(question, name, slug=slug, why=why)


def _beside(finding: Finding, target: Target) -> dict[Path, bytes]:
    """Return the file of what a finding is about, unless everybody has it."""
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
    """Return the folder, the name and the content of the file of what records are about.

    >>> beside(TokenizerFile("one", b"{}"), "regress-")
    ('tokenizer', 'regress-44136fa355b3678a.json', b'{}')
    """
    assert not isinstance(subject, Samplers)  # noqa: S101 - these need no file
    short = subject.digest().removeprefix("sha256:")[:16]
    if isinstance(subject, TokenizerFile):
        return "tokenizer", f"{prefix}{short}.json", subject.content
    named = NamedVocabulary(f"regress-{short}", "Made smaller by a campaign.", subject)
    return "vocab", f"{prefix}{short}.json", dump_plain_json(named)
