"""Findings become golden records of a regression file, which any engine can be run over.

A regression file has the form of the fixtures' record files, and beside it, in
`vocab` and `tokenizer`, are the vocabularies and tokenizers of its own. The answer is
computed anew by the reference: a journal is a report, not a source of truth.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from bpe_ref import BpeError, NamedVocabulary, Vocabulary, dump_plain_json
from tokenref.engines.answers import Ok, Refused, Unsupported
from tokenref.engines.reference import ReferenceEngine
from tokenref.fuzzing.errors import CampaignError
from tokenref.fuzzing.findings import Finding, question_of
from tokenref.fuzzing.records import case_of
from tokenref.fuzzing.written_subjects import shipped_name
from tokenref.goldens import GoldensError
from tokenref.record import Case
from tokenref.record_files import dump_records, parse_records
from tokenref.runner import guarded
from tokenref.subjects import Samplers, TokenizerFile, load_subject

SHORTEST_WHY: Final = 20
_SLUG: Final = re.compile(r"[a-z0-9_.-]+")


@dataclass(frozen=True)
class Promoted:
    """What a regression file is to be, with what lies beside it."""

    cases: list[Case]
    files: Mapping[Path, bytes]
    """What is to be written; the record file comes last."""


def promoted(
    findings: Iterable[Finding], why: str, out: Path, *, slug: str | None = None
) -> Promoted:
    """Return the regression file with these findings added.

    Raises `CampaignError` for a `why` that says nothing, for a finding that the file
    has already, and for one that the reference does not answer; `RecordError` for
    a file that is no record file.
    """
    if len(why.strip()) < SHORTEST_WHY:
        raise CampaignError(
            f"--why must say in {SHORTEST_WHY} characters or more why the case matters, got {why!r}"
        )
    if slug is not None and not _SLUG.fullmatch(slug):
        raise CampaignError(f"--slug must be of a-z, 0-9, _, . and -, got {slug!r}")
    present = _present(out)
    sums = {case.sum: case.id for case in present}
    ids = {case.id for case in present}
    added: list[Case] = []
    files: dict[Path, bytes] = {}
    for finding in findings:
        case = _case(finding, why.strip(), slug or "")
        if case.sum in sums:
            raise CampaignError(f"{out} has this case already, as {sums[case.sum]}")
        if case.id in ids:
            raise CampaignError(f"{out} has another case with the id {case.id}")
        sums[case.sum] = case.id
        ids.add(case.id)
        added.append(case)
        files.update(_beside(finding, out))
    if not added:
        raise CampaignError("no finding was chosen")
    content = dump_records(out.name, [*present, *added])
    parse_records(content, str(out))
    return Promoted(added, {**files, out: content})


def _present(out: Path) -> list[Case]:
    """Return the cases that a regression file has; none if there is no file."""
    if not out.exists():
        return []
    return parse_records(out.read_bytes(), str(out))


def _case(finding: Finding, why: str, slug: str) -> Case:
    """Return the record of a finding, answered anew."""
    name = finding.record["id"]
    try:
        question = question_of(finding)
    except (BpeError, GoldensError, LookupError, TypeError, ValueError) as error:
        raise CampaignError(f"{name}: what it is about cannot be loaded: {error}") from None
    session = load_subject(ReferenceEngine(), question.subject, name, question.profile)
    if isinstance(session, Unsupported):
        raise CampaignError(f"{name}: the reference cannot answer it: {session.reason}")
    answer = guarded(lambda: session.answer(question.op, question.request))
    if not isinstance(answer, Ok | Refused):
        raise CampaignError(f"{name}: the reference cannot answer it: {answer}")
    try:
        case = case_of(question, answer, slug=slug, why=why)
    except (msgspec.ValidationError, ValueError) as error:
        raise CampaignError(f"{name}: it is no question: {error}") from None
    if case is None:
        raise CampaignError(f"{name}: rounding decides the answer, so that it is no golden")
    return case


def _beside(finding: Finding, out: Path) -> dict[Path, bytes]:
    """Return the file of what a finding is about, unless everybody has it."""
    subject = question_of(finding).subject
    if isinstance(subject, Samplers) or shipped_name(subject) is not None:
        return {}
    short = subject.digest().removeprefix("sha256:")[:16]
    if isinstance(subject, TokenizerFile):
        return {out.parent / "tokenizer" / f"{short}.json": subject.content}
    if "vocabulary" not in (finding.subject or {}):
        return {}  # a registered one, which is found by its name
    assert isinstance(subject, Vocabulary)  # noqa: S101 - there is no third kind
    named = NamedVocabulary(f"regress-{short}", "Made smaller by a campaign.", subject)
    return {out.parent / "vocab" / f"{short}.json": dump_plain_json(named)}
