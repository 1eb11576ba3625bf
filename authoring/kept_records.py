"""Regression files among the fixtures: the one input of the fixtures that no case module makes.

What a campaign found is kept as it was found, in `regress/YEAR.jsonl`, and what it is about
beside the others, in `vocab/regress-*.json` and `tokenizer/regress-*.json`. Their answers are
not believed: the reference gives them anew whenever the fixtures are made.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from bpe_ref import BpeError, Vocabulary
from bpe_ref.formats.plain_json import parse_plain_json
from bpe_ref.registry import REGISTRY
from tokenref.answers import Ok
from tokenref.errors import InputError
from tokenref.fuzzing.comparing import answered_anew, right_answer_to
from tokenref.fuzzing.plan import Question
from tokenref.goldens import with_optional
from tokenref.judge import judge
from tokenref.record import Case, RecordError, answer_type, meaning_digest, op_of
from tokenref.record_files import REGRESS, parse_records, read_file, read_records
from tokenref.subjects import SAMPLERS, Subject, TokenizerFile, TokenizerSubject, load_bytes
from tokenref.verdicts import Close, Exact

_YEAR: Final = re.compile(r"\d{4}\.jsonl")


@dataclass(frozen=True)
class Kept:
    """The regression files of a folder, answered anew."""

    cases: Mapping[str, list[Case]]
    """By the path of their file in the fixtures."""

    subjects: Mapping[str, TokenizerSubject]
    """What only they are about, by its name."""

    files: Mapping[str, bytes]
    """The files of these, as far as they are shipped."""


def kept_records(folder: Path, known: Mapping[str, TokenizerSubject]) -> Kept:
    """Return what a fixtures folder keeps; `known` is what other records are about, by digest.

    Raises `RecordError` for a file that is not one, and for a record that is about nothing
    that is there, or that the reference does not answer.
    """
    cases: dict[str, list[Case]] = {}
    subjects: dict[str, TokenizerSubject] = {}
    files: dict[str, bytes] = {}
    by_digest, beside = dict(known), _Beside(folder)
    for path in sorted((folder / REGRESS).glob("*.jsonl")):
        if not _YEAR.fullmatch(path.name):
            raise RecordError(f"{path}: a regression file must be named by a year, 2026.jsonl")
        file = f"{REGRESS}/{path.name}"
        for case in read_records(path, file=file):
            if case.vocab is not None and case.vocab not in by_digest:
                name, subject, content = beside.find(case.vocab, f"{path}: {case.id}")
                by_digest[case.vocab] = subjects[name] = subject
                files |= content
            about = SAMPLERS if case.vocab is None else by_digest[case.vocab]
            try:
                anew = kept_anew(case, about)
            except InputError as error:
                raise RecordError(f"{path}: {error}") from None
            cases.setdefault(file, []).append(anew)
    return Kept(cases, subjects, files)


def kept_anew(case: Case, subject: Subject) -> Case:
    """Return a record as it is, with the answer and the sum that it has now.

    How an answer is judged stays as it was when the record was made, unless the answer
    has become another one of those that it names, or a refusal. Raises `InputError`,
    which names the record.

    >>> from tokenref.catalogue import open_catalogue
    >>> catalogue = open_catalogue()
    >>> case = next(case for case in catalogue.cases if case.id.startswith("bpe/count/"))
    >>> kept_anew(case, catalogue.subject(case.vocab)) == case
    True
    """
    op, request = op_of(case), msgspec.to_builtins(case.input)
    question = Question(op, case.profile, subject, "", request)
    answer = right_answer_to(question, case.id)
    if isinstance(answer, Ok) and isinstance(case.verdict, Exact | Close):
        out = msgspec.convert(dict(answer.out), answer_type(op))
        anew = msgspec.structs.replace(case, out=out)
        return with_optional(msgspec.structs.replace(anew, sum=meaning_digest(anew)))
    if judge(case, answer, subject).status == "pass":
        return with_optional(case)
    other = answered_anew(question, case.id, slug="kept", why=case.why)
    return with_optional(
        msgspec.structs.replace(other, id=case.id, flags=case.flags, spec=case.spec)
    )


def changed_answers(file: str, made: bytes, present: bytes) -> Iterator[str]:
    """Yield one sentence for each record of a regression file that means something else now."""
    try:
        before = {case.id: case for case in parse_records(present, file, file=file)}
    except RecordError as error:
        yield str(error)
        return
    for case in parse_records(made, file, file=file):
        kept = before.get(case.id)
        if kept is not None and kept.sum != case.sum:
            yield (
                f"{file}: {case.id}: the kept answer is not the reference's: "
                f"kept {_said(kept, case)}, right {_said(case, kept)}"
            )


def _said(case: Case, other: Case) -> str:
    """Return the part of what a record says that another one says otherwise."""
    said = case.verdict if case.out is None or case.out == other.out else case.out
    return msgspec.json.encode(said).decode()[:200]


class _Beside:
    """What lies beside the regression files, loaded when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._found: dict[str, tuple[str, TokenizerSubject, dict[str, bytes]]] | None = None

    def find(self, digest: str, who: str) -> tuple[str, TokenizerSubject, dict[str, bytes]]:
        """Return a subject with its name and its file. Raises `RecordError`, beginning `who`."""
        if self._found is None:
            self._found = {}
            for kind, read in (("vocab", _vocabulary), ("tokenizer", _tokenizer)):
                self._read(kind, read)
        if digest in self._found:
            return self._found[digest]
        for name in REGISTRY:
            try:
                vocabulary = load_bytes(name)
            except BpeError:
                continue
            if vocabulary.digest() == digest:
                return name, vocabulary, {}
        raise RecordError(f"{who}: what it is about, {digest}, is not in the folder's vocab")

    def _read(self, kind: str, read: Callable[[bytes, Path], TokenizerSubject]) -> None:
        assert self._found is not None  # noqa: S101 - begun above
        for path in sorted((self._folder / kind).glob(f"{REGRESS}-*.json")):
            content = read_file(path)
            try:
                subject = read(content, path)
                digest = subject.digest()
            except (BpeError, ValueError) as error:
                raise RecordError(f"{path}: cannot be loaded: {error}") from None
            self._found[digest] = path.stem, subject, {f"{kind}/{path.name}": content}


def _vocabulary(content: bytes, path: Path) -> Vocabulary:
    return parse_plain_json(content, str(path)).vocabulary


def _tokenizer(content: bytes, path: Path) -> TokenizerFile:
    return TokenizerFile(path.stem, content)
