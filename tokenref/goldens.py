"""Golden records from the reference's answers, and your own golden records for other texts."""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from hashlib import sha256
from itertools import chain, groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

import msgspec

from bpe_ref import BpeError, Tokenizer, Vocabulary
from bpe_ref.formats.plain_json import parse_plain_json
from tokenref.answers import Ok, Refused, Unsupported, guarded
from tokenref.catalogue import (
    Catalogue,
    UnknownSubjectError,
    check_together,
    own_catalogue,
    package_manifest,
)
from tokenref.engines.reference import ReferenceEngine
from tokenref.errors import InputError
from tokenref.files import is_found
from tokenref.judge import judge
from tokenref.operations import ABOUT
from tokenref.questions.text import IdsOutput
from tokenref.record import (
    OPERATIONS,
    PIPELINE_OPS,
    Case,
    RecordError,
    answer_type,
    canonical_json,
    make_case,
    op_of,
    rows_op,
)
from tokenref.record_files import REGRESS, dump_records, parse_records, read_file, read_records
from tokenref.rules import NAMED, choices_of, other_rules
from tokenref.subjects import (
    SAMPLERS,
    Samplers,
    Subject,
    TokenizerFile,
    TokenizerSubject,
    encoding_of,
    load_bytes,
    load_subject,
    load_text_subject,
    read_tokenizer,
)
from tokenref.verdicts import Exact, MustRefuse, Seeds, Stat, Survey, Verdict


class GoldensError(InputError):
    """Golden records that cannot be made or used with what was given."""


def right_answer(
    op: str, profile: str, subject: Subject, name: str, request: Mapping[str, Any]
) -> Ok | Refused:
    """Return the reference's answer to a question. Raise `GoldensError` if it has no answer.

    >>> from tokenref.subjects import SAMPLERS
    >>> right_answer("greedy", "standard", SAMPLERS, "", {"logits": {"f32": "0000000040000000"}})
    Ok(out={'token': 1})
    """
    return next(right_answers(op, profile, subject, name, [request]))


def right_answers(
    op: str, profile: str, subject: Subject, name: str, requests: Iterable[Mapping[str, Any]]
) -> Iterator[Ok | Refused]:
    """Yield the reference's answers to questions about a subject, which is loaded once.

    Raises `GoldensError` if it has no answer.
    """
    session = load_subject(ReferenceEngine(), subject, name, profile)
    if isinstance(session, Unsupported):
        raise GoldensError(f"the reference cannot answer it: {session.reason}")
    for request in requests:
        answer = guarded(partial(session.answer, op, request))
        if not isinstance(answer, Ok | Refused):
            raise GoldensError(f"the reference cannot answer it: {answer}")
        yield answer


def golden(
    op: str,
    subject: Subject,
    request: Mapping[str, Any],
    right: Ok | Refused | None,
    *,
    verdict: Verdict | None = None,
    **parts: Any,
) -> Case:
    """Return the record of a question and the right answer; None if nothing is recorded.

    Without a verdict, an answer must be equal, and a refusal must have the same code.
    """
    if not isinstance(subject, Samplers):
        parts["vocab"] = subject.digest()
    if isinstance(right, Refused):
        verdict = verdict if isinstance(verdict, MustRefuse) else MustRefuse(codes=[right.code])
    elif right is not None:
        out = dict(right.out)
        if "recipe" in request and "ids" in out:
            out = {"runs": [(token, len(list(run))) for token, run in groupby(out["ids"])]}
        parts["out"] = msgspec.convert(out, type=answer_type(op))
    question = msgspec.convert(dict(request), type=OPERATIONS[op].question)
    return with_optional(make_case(op, **parts, input=question, verdict=verdict or Exact()))


OPTIONAL: Final = "Optional"
"""The flag of records about behaviour that a definition leaves open."""

_OTHER_ALGORITHMS: Final = frozenset({"method", "variant"})
"""Points whose choices are different algorithms, not different readings of one."""


def with_optional(case: Case) -> Case:
    """Return a record with the flag `Optional` if and only if its definition leaves it open.

    This is so if the profile is tiktoken's, or if it is a rule, and another choice at one of its
    points gives an answer that the record does not accept.

    >>> from tokenref.catalogue import open_catalogue
    >>> case = next(case for case in open_catalogue().cases if case.profile == "tiktoken")
    >>> with_optional(msgspec.structs.replace(case, flags=[])).flags
    ['Optional']
    """
    flags = {*case.flags} - {OPTIONAL}
    if case.profile == "tiktoken" or any(_differs(case, rule) for rule in _other_rules(case)):
        flags.add(OPTIONAL)
    return msgspec.structs.replace(case, flags=sorted(flags))


def _other_rules(case: Case) -> Iterator[str]:
    """Yield the rules that differ from the record's in one choice."""
    op = rows_op(case)
    chosen = None if op in NAMED else choices_of(op, case.profile)
    if chosen is not None and not isinstance(case.verdict, Seeds | Stat | Survey):
        for point, _, rule in other_rules(op, chosen):
            if point not in _OTHER_ALGORITHMS:
                yield rule


def _differs(case: Case, rule: str) -> bool:
    """Return whether the answer by another rule is wrong."""
    try:
        answer = right_answer(op_of(case), rule, SAMPLERS, "", msgspec.to_builtins(case.input))
    except GoldensError:
        return False
    return judge(case, answer, SAMPLERS).status != "pass"


def texts_of(content: str) -> list[str]:
    r"""Return the lines of a text: each ends with a line feed, the last one need not.

    A carriage return before the line feed is part of the line's end. Nothing
    else ends a line: not a lone carriage return, not U+2028.

    >>> texts_of("a\r\nb\rc\u2028d\n\nlast"), texts_of("a\n")
    (['a', 'b\rc\u2028d', '', 'last'], ['a'])
    """
    *lines, last = content.split("\n")
    return [line.removesuffix("\r") for line in lines] + ([last] if last else [])


class _Line(msgspec.Struct, frozen=True):
    """An object in a line of JSON. Other keys are allowed."""

    text: str


_ENCODED: Final = ", encoded by the reference with "
"""What is before the name of the vocabulary in the reason of a record."""

_LINE: Final = msgspec.json.Decoder(str | _Line)


def texts_in(content: str, name: str, each: str = "line") -> Iterator[tuple[str, str]]:
    r"""Yield the whole text of a file, or that of each line, with its place.

    Lines are JSON if the name ends in `.jsonl`. Raises `GoldensError` for one that is not.

    >>> list(texts_in("a\nb", "my.txt"))
    [('Line 1 of my.txt', 'a'), ('Line 2 of my.txt', 'b')]
    """
    if each == "whole":
        yield f"Text of {Path(name).name}", content
        return
    as_json = name.lower().endswith(".jsonl")
    for at, line in enumerate(texts_of(content), start=1):
        text = _text_of(line, f"{name}, line {at}") if as_json else line
        yield f"Line {at} of {Path(name).name}", text


def _text_of(line: str, place: str) -> str:
    try:
        found: str | _Line = _LINE.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise GoldensError(
            f'{place} must be JSON: a string, or an object whose "text" is a string; '
            f"got {line!r:.80}: {error}"
        ) from None
    return found if isinstance(found, str) else found.text


FILLED: Final[Mapping[str, Sequence[Mapping[str, Any]]]] = {
    **{op: [{}] for op in ("encode", "pieces", "count", "decode", "offsets", "canonical")},
    "chunks": [{"overlap": 0}],
    "tokenize": [{}],
    "special": [{"allowed": "all", "disallowed": []}],
    "stream": [{"errors": "replace"}],
    "detokenize": [{"skip_special_tokens": False}],
    "detokenize_stream": [
        {"skip_special_tokens": False, "mode": mode} for mode in ("certain", "engine")
    ],
}
"""The operations of records for your own texts, and what questions have besides text or ids."""


def goldens_for(
    subject: TokenizerSubject,
    name: str,
    texts: Sequence[tuple[str, str]],
    out: Path,
    present: Sequence[Case] = (),
    *,
    ops: Sequence[str],
    encode: Callable[..., Sequence[int]],
    template: bool = True,
    special: bool = False,
    also: Mapping[str, Any] = MappingProxyType({}),
    progress: Callable[[int], None] | None = None,
) -> tuple[bytes, int]:
    """Return a record file for a user's own texts after the `present` cases, and how many are new.

    There is one case per distinct text, in order, for each of `ops`, or one for each mode. Without
    `ops` they are of `encode` for a vocabulary, or `special`, which recognises special tokens, and
    of `tokenize` for a whole tokenizer, which always does. An operation on ids is asked about those
    that `encode`, a method of the tokenizer, returns. Before each text is its place, for the
    reason. An id has the name of `out`, so that two files do not clash, and 16 digits of the sha256
    of the question, so that it is the same wherever the text is. A question of a present case is
    not added. `template` is whether a whole tokenizer adds the special tokens of its template,
    and `also` has other fields of questions that have them. `progress` is called with
    the number of cases that are done. Raises `GoldensError` if a text has no ids.
    """
    slug = re.sub(r"[^a-z0-9_.-]+", "-", out.stem.lower())
    usual, profile = encoding_of(subject)
    usual = "special" if special and usual == "encode" else usual
    treated = "ordinary" if usual == "encode" else "recognise"
    has = {(op_of(case), _digest(case.input)) for case in present}

    def questions(op: str, place: str, text: str) -> list[tuple[str, dict[str, Any]]]:
        given: dict[str, Any] = {"text": text}
        if op == "tokenize":
            given["add_special_tokens"] = template
        fields = OPERATIONS[op].question.__struct_fields__
        if "ids" in fields:
            try:
                given = {"ids": encode(text, add_special_tokens=template, special=treated)}
            except BpeError as error:
                raise GoldensError(f"{op} needs the ids of {place}, but {error}") from None
        given |= {name: value for name, value in also.items() if name in fields}
        return [(place, {**each, **given}) for each in FILLED[op]]

    cases: list[Case] = []
    for op in dict.fromkeys(usual if op == "encode" else op for op in ops or [usual]):
        asked: dict[str, tuple[str, dict[str, Any]]] = {}
        for where, request in (each for named in texts for each in questions(op, *named)):
            digest = _digest(msgspec.convert(request, type=OPERATIONS[op].question))
            if (op, digest) not in has:
                asked.setdefault(digest, (where, request))
        requests = [request for _, request in asked.values()]
        answers = right_answers(op, profile, subject, name, requests)
        for (digest, (place, request)), answer in zip(asked.items(), answers, strict=True):
            is_engine = request.get("mode") == "engine"
            case = golden(
                op,
                subject,
                request,
                answer,
                id=f"bpe/{op}/own/{slug}-{digest}",
                profile=profile,
                why=_unicode(f"{place}{_ENCODED}{name}."),
                flags=[],
                spec="docs/streaming.md#engines" if is_engine else ABOUT[op].spec,
            )
            cases.append(case)
            if progress is not None:
                progress(len(cases))
    return dump_records(_unicode(out.name), [*present, *cases]), len(cases)


Treated: TypeAlias = Literal["ordinary", "ordinary_added"]


def without_added(subject: TokenizerFile, tokenizer: Tokenizer, treated: Treated) -> TokenizerFile:
    """Return a tokenizer.json without its special, or without all, added tokens.

    It has the answers of the file if these are text: a question of `tokenize` has no field for it.
    With merges, they become tokens of the model that no merge makes, for engines that look up those
    of a template. In other files, if added tokens are left, a special one that is no token of the
    model is not removed, because the ids of those behind it follow from its place. It gets a name
    with U+FDD0, a noncharacter, which texts do not spell.

    >>> from bpe_ref.models.word_level import WordLevel
    >>> made = Tokenizer(WordLevel({"<s>": 0}))
    >>> tokens = b'[{"content": "<s>", "special": true}, {"content": "<think>", "special": false}]'
    >>> file = TokenizerFile("one", b'{"added_tokens": %s, "model": {}}' % tokens)
    >>> without_added(file, made, "ordinary").content
    b'{"added_tokens":[{"content":"<think>","special":false}],"model":{}}'
    """
    content = json.loads(subject.content)
    added, known = content.get("added_tokens") or [], tokenizer.model.vocab
    if "merges" in content["model"]:
        known = content["model"]["vocab"] = {**tokenizer.added.ids, **content["model"]["vocab"]}
    if treated == "ordinary_added" or all(each["special"] for each in added):
        added = []
    content["added_tokens"] = [
        each | {"content": f"\ufdd0{each['content']}"} if each["special"] else each
        for each in added
        if not (each["special"] and each["content"] in known)
    ]
    return TokenizerFile(subject.name, msgspec.json.encode(content))


def check_without(
    made: TokenizerFile,
    tokenizer: Tokenizer,
    treated: Treated,
    texts: Sequence[tuple[str, str]],
    *,
    template: bool,
) -> None:
    """Raise `GoldensError` if a file without added tokens has another answer for a text.

    `tokenizer` is that of the complete file.
    """
    other = read_tokenizer(made.content, made.name, "hugging-face")

    def answer(of: Tokenizer, text: str, special: Literal["recognise"] | Treated) -> object:
        try:
            return of.tokenize(text, add_special_tokens=template, special=special)
        except BpeError as error:
            return type(error)

    for place, text in texts:
        if answer(other, text, "recognise") != answer(tokenizer, text, treated):
            raise GoldensError(
                f"{place} must have the same tokens with a copy of the file that lacks the added "
                f"tokens, which records of them as text need, but it has others: {text!r:.80}"
            )


def _digest(question: Any) -> str:
    return sha256(canonical_json(msgspec.to_builtins(question))).hexdigest()[:16]


def beside_goldens(path: Path) -> Path | None:
    """Return the file that `tokenref fill` wrote next to these records, if it exists.

    If there are two, one is left from earlier records with this name.

    >>> beside_goldens(Path("no/such/goldens.jsonl")) is None
    True
    """
    named = (path.with_name(f"{path.stem}.{kind}.json") for kind in ("vocabulary", "tokenizer"))
    found = [beside for beside in named if beside.is_file()]
    if len(found) > 1:
        vocabulary, tokenizer = found
        return tokenizer if op_of(read_records(path)[0]) in PIPELINE_OPS else vocabulary
    return found[0] if found else None


def copy_for(path: Path, digest: str | None, *, whole: bool) -> Path | None:
    """Return a file with this vocabulary, or `whole` tokenizer, that `fill` wrote for records.

    It is in their folder. The first choice is named after the records, or after others of it.
    """
    if digest is None:
        return None
    suffix = f".{'tokenizer' if whole else 'vocabulary'}.json"

    def choice(copy: Path) -> int:
        own = copy.with_name(f"{copy.name.removesuffix(suffix)}.jsonl")
        with suppress(InputError, RecordError):
            return 0 if own == path else 2 - (digest.encode() in read_file(own))
        return 2

    for copy in sorted(sorted(path.parent.glob(f"*{suffix}")), key=choice):
        with suppress(OSError):
            about = copy.stat()
            if _digest_of(copy, about.st_size, about.st_mtime_ns) == digest:
                return copy
    return None


@lru_cache(maxsize=256)
def _digest_of(path: Path, size: int, changed: int) -> str | None:
    """Return the digest of what `fill` wrote, or None if it is not that any more."""
    with suppress(InputError, RecordError):
        return _copied(path).digest()
    return None


def _is_present(digest: str | None) -> bool:
    """Return whether a subject is one of the fixtures', or has a name and is on this machine."""
    every = package_manifest().subjects
    return any(e.digest == digest and (e.path or is_found(e.name)) for e in every)


def other_user(copy: Path, out: Path) -> Path | None:
    """Return records in the folder of a copy that need it, other than those in `out`."""
    with suppress(InputError, RecordError):
        digest = _copied(copy).digest().encode()
        for path in sorted(copy.parent.glob("*.jsonl")):
            with suppress(InputError, RecordError):  # of a file that holds something else
                if path != out and beside_goldens(path) is None and digest in read_file(path):
                    return path
    return None


def _copied(path: Path) -> TokenizerSubject:
    """Return what `fill` or `promote` wrote. Raises `RecordError` if it is not that any more."""
    content = read_file(path)
    is_tokenizer = path.name.endswith(".tokenizer.json") or path.parent.name == "tokenizer"
    try:
        if not is_tokenizer:
            return parse_plain_json(content, str(path)).vocabulary
        found = TokenizerFile(path.stem, content)
        found.digest()
    except BpeError as error:
        raise RecordError(f"{path}: not a vocabulary: {error}") from None
    except ValueError as error:
        raise RecordError(f"{path}: not a tokenizer.json: {error}") from None
    return found


def check_subject(
    path: Path, cases: Sequence[Case], subject: TokenizerSubject, name: str, instead: str
) -> None:
    """Raise `GoldensError` if records have another subject; `instead` is what to do then."""
    digest = subject.digest()
    other = next((case for case in cases if case.vocab != digest), None)
    if other is None:
        return
    if isinstance(subject, Vocabulary) and subject.text.pattern is None:
        instead = f"it holds no pattern: give the --pattern of the records, or {instead}"
    raise GoldensError(
        f"{path}: {other.id} is a record of the vocabulary {other.vocab}, "
        f"but {name} is {digest}; {instead}"
    )


def open_own(
    path: Path, vocabulary: str | None = None, pattern: str | None = None, *, upgrade: bool = False
) -> Catalogue:
    """Return a user's own records, written by `fill` or `promote`, with the package's canaries.

    Without `vocabulary`, a name or a path, it is what lies next to the file, perhaps for other
    records of the folder. With `upgrade` it replaces that of the records, and the answers are still
    the old ones.

    Raises `RecordError` if the file has no records, or what lies next to it is missing or invalid,
    `BpeError` if the vocabulary is invalid, and `GoldensError` if it is not that of the records, or
    with `upgrade` one of another kind.
    """
    data = read_file(path)
    cases = parse_records(data, str(path), merged=True)
    named = vocabulary or beside_goldens(path)
    needs = dict.fromkeys((case.vocab, op_of(case) in PIPELINE_OPS) for case in cases)
    copies = [
        copy
        for digest, whole in ({} if named else needs)
        if not _is_present(digest) and (copy := copy_for(path, digest, whole=whole))
    ]
    if copies and len(needs) == 1:
        named = copies[0]
    try:
        if named is None:
            return own_catalogue(path, data, cases, _subjects_beside(path, copies))
        return _with_subject(path, data, cases, str(named), pattern, upgrade=upgrade)
    except UnknownSubjectError as error:
        lost = next(case for case in cases if str(error).startswith(f"{case.id}: "))
        kinds = [f"{path.stem}.{kind}.json" for kind in ("vocabulary", "tokenizer")]
        writer = "fill"
        if f"/{REGRESS}/" in lost.id:
            folder = "tokenizer" if op_of(lost) in PIPELINE_OPS else "vocab"
            writer, kinds = "promote", [f"{folder}/{str(lost.vocab)[7:23]}.json"]
        _, found, name = lost.why.removesuffix(".").rpartition(_ENCODED)
        name, given = (name, name) if found else (str(lost.vocab), "NAME")
        raise RecordError(
            f"{path}: {lost.id} needs the vocabulary {name}: give --vocabulary {given}, in pytest "
            f'vocabulary="{given}", or put the file that `{writer}` wrote next to the records '
            f"there again, and commit it with them ({' or '.join(kinds)})"
        ) from None


def joined(catalogues: Iterable[Catalogue]) -> Catalogue:
    """Return the records of several own files as one catalogue, which may be one file's.

    Raises `RecordError` if two of them use the same id.
    """
    first, *others = every = list(catalogues)
    if not others:
        return first
    manifests = [each.manifest for each in every]
    cases = [case for each in every for case in each.cases]
    manifest = msgspec.structs.replace(
        first.manifest,
        cases=len(cases),
        flags=sorted({flag for each in manifests for flag in each.flags}),
        files=[file for each in manifests for file in each.files],
        vocabularies=[*{e.digest: e for each in manifests for e in each.vocabularies}.values()],
        tokenizers=[*{e.digest: e for each in manifests for e in each.tokenizers}.values()],
    )
    check_together(cases, manifest)
    return replace(
        first,
        manifest=manifest,
        cases=cases,
        loaded={digest: own for each in every for digest, own in each.loaded.items()},
        own_digest=f"sha256:{sha256(''.join(e.own_digest for e in every).encode()).hexdigest()}",
        notes=[note for each in every for note in each.notes],
        replaced={new: old for each in every for new, old in each.replaced.items()},
    )


def _with_subject(
    path: Path, data: bytes, cases: Sequence[Case], name: str, pattern: str | None, *, upgrade: bool
) -> Catalogue:
    """Return records with the subject that a name or a path stands for."""
    subject, tokenizer = load_text_subject(name, pattern)
    is_whole = isinstance(subject, TokenizerFile)
    if not upgrade:
        instead = "with --upgrade, the new file is tested with the answers of the old one"
        check_subject(path, cases, subject, name, instead)
    other = next((case for case in cases if (op_of(case) in PIPELINE_OPS) != is_whole), None)
    if other is not None:
        raise GoldensError(
            f"{path}: {other.id} is a record of {op_of(other)}, which cannot be asked of "
            f"{name}, a {'tokenizer.json' if is_whole else 'vocabulary of bytes'}"
        )
    old, digest = cases[0].vocab, subject.digest()
    if upgrade:
        cases = [msgspec.structs.replace(_without_stages(case), vocab=digest) for case in cases]
    flags = {flag for case in cases for flag in case.flags}
    opened = own_catalogue(path, data, cases, {name: subject}, flags)
    opened.notes = tokenizer.notes
    if old != digest and not is_whole:
        opened.replaced = {digest: _vocabulary_of(path, opened, old)}
    return opened


def _vocabulary_of(path: Path, opened: Catalogue, digest: str | None) -> Vocabulary | None:
    """Return the vocabulary of own records if it lies next to them or is known, or else None."""
    found: object = None
    with suppress(BpeError, StopIteration):
        beside = beside_goldens(path) or copy_for(path, digest, whole=False)
        found = load_bytes(beside) if beside else opened.subject(digest)
    return found if isinstance(found, Vocabulary) and found.digest() == digest else None


def _without_stages(case: Case) -> Case:
    """Return a record whose answer is only tokens: others may merge to the same ones."""
    if not isinstance(case.out, IdsOutput):
        return case
    return msgspec.structs.replace(
        case, out=msgspec.structs.replace(case.out, stages=msgspec.UNSET)
    )


def _subjects_beside(path: Path, copies: Sequence[Path]) -> dict[str, TokenizerSubject]:
    """Return copies, and what `promote` wrote next to records and the fixtures lack, by a name."""
    written = (sorted((path.parent / kind).glob("*.json")) for kind in ("vocab", "tokenizer"))
    found = [_copied(file) for file in chain(copies, *written)]
    known = {entry.digest for entry in package_manifest().subjects}
    by_digest = {subject.digest(): subject for subject in found}
    own = by_digest.keys() - known
    return {f"{path.name}:{digest[7:15]}": by_digest[digest] for digest in sorted(own)}


def _unicode(name: str) -> str:
    """Return a file's name as text, with invalid UTF-8 replaced."""
    return os.fsencode(name).decode("utf-8", "replace")
