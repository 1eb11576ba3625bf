"""Findings: the smallest question that fails, the answers, and a record of it; and likely bugs.

The subject of a finding, a vocabulary or tokenizer, is stored by name if it is generally
available, otherwise completely.

One bug fails thousands of questions, and even the shrunk questions are not all equal. So findings
that are likely the same bug are a group, which is represented by the simplest. Two findings count
as one bug if they are about the same operation, their answers are wrong in the same way at the same
place (`disagreement`), the questions have the same traits (`traits_of`), and either the profiles
are equal or the questions are, apart from which tokens and numbers they contain. So a mistake under
one rule is not reported again for every other rule. This is a guess: two bugs may look alike. So no
finding is discarded. The groups and their representatives do not depend on the order of the
findings.

A disagreement leaves out indices and quoted values. Of two lists it says which is longer, of two
sets of tokens which contains the other, of two numbers which is larger.

Shrinking removes and simplifies whatever it can. So a space, a parameter or an infinity that is
still there says more about the bug than the number of letters or which letters they are. Such
properties are the traits of a question.
"""

import json
import unicodedata
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from math import inf, isfinite, isnan
from typing import Any, Final, TypeAlias

import msgspec

from bpe_ref import BpeError, TextRules, Vocabulary
from bpe_ref.formats.plain_json import NamedVocabulary, dump_plain_json, parse_plain_json
from tokenref.answers import Answer, Ok, Refused, request_text
from tokenref.catalogue import shipped_subject, shipped_subjects
from tokenref.errors import InputError
from tokenref.floats import FloatsError, Strict, is_numbers, numbers_of
from tokenref.fuzzing.comparing import Outcome, case_of
from tokenref.fuzzing.plan import GENERATOR, Question
from tokenref.fuzzing.shrinking import LARGEST, Shrunk
from tokenref.fuzzing.smaller_questions import HEXADECIMAL, ROWS, hardness, numbers_in
from tokenref.protocol.messages import short_log
from tokenref.record import PIPELINE_OPS, TOKENIZER_OPS, canonical_json
from tokenref.reports.terminal import split_detail
from tokenref.result import without_values
from tokenref.rules import STANDARD
from tokenref.subjects import SAMPLERS, Samplers, Subject, TokenizerFile, load_text_subject

LONGEST_GOT: Final = 2_000
"""Maximum length of an error or crash message, in characters."""

LONGEST_LOG: Final = 500
"""How much of a program's last standard error is kept, in characters."""


class Finding(Strict, frozen=True, kw_only=True, tag_field="kind", tag="finding"):
    """One failure, shrunk."""

    index: int
    """The number of the question that failed first."""

    status: str
    detail: str
    """Where the answer first differs."""

    got: dict[str, Any]
    """The engine's answer: `ok`, `err`, `crash` or `timeout`."""

    record: dict[str, Any]
    """The golden record. Its `why` says what differed and should be replaced by a reason."""

    subject: dict[str, Any] | None
    """The subject, see `written`."""

    asked: dict[str, Any]
    """The original question: `op`, `in`, and the name of its subject, if any."""

    unfinished: bool = False
    """Whether it may still become smaller, because a limit or an interrupt ended shrinking."""

    now_and_then: bool = False
    """Whether it did not fail when it was asked again."""

    only_later: bool = False
    """Whether it does not fail in a new process: the answer depends on earlier questions."""

    replaces: str = ""
    """The sum of the larger finding that this one replaces, if any."""

    perhaps: str = ""
    """The title of the known difference that it looks like, if any."""

    @property
    def sum(self) -> str:
        """The sum of the record: findings with the same sum are the same finding."""
        return str(self.record["sum"])

    def is_kept(self, known: Mapping[str, "Finding"]) -> bool:
        """Return whether it is kept, given the known findings by sum.

        If two findings have the same sum, the same one is kept in whatever order they are read.
        """
        other = known.get(self.sum)
        return other is None or (self.unfinished, self.index) < (other.unfinished, other.index)


def finding_of(first: Outcome, shrunk: Shrunk, *, index: int, seed: int, engine: str) -> Finding:
    """Return the finding of a failure, with the original and the smallest question."""
    smallest = shrunk.outcome
    question, detail = smallest.question, smallest.judgement.detail
    why = (
        f"{engine} differs: {detail[:300]}. Found by tokenref fuzz "
        f"(generator {GENERATOR}, seed {seed}, question {index})."
    )
    case = case_of(question, smallest.right, why=why.encode("ascii", "backslashreplace").decode())
    assert case is not None  # noqa: S101 - it was judged, so there is a record
    asked = {"op": first.question.op, "in": dict(first.question.request)}
    if first.question.name:
        asked["of"] = first.question.name
    return Finding(
        index=index,
        status=smallest.judgement.status,
        detail=detail,
        got=said(smallest.got),
        record=msgspec.to_builtins(case),
        subject=written(question.subject, question.name),
        asked=asked,
        unfinished=not shrunk.is_finished,
        now_and_then=not shrunk.fails_again,
        only_later=not shrunk.fails_alone,
    )


def question_of(finding: Finding) -> Question:
    """Return the question of a finding. Raises `InputError` if its subject is invalid."""
    record = finding.record
    try:
        subject = read_written(finding.subject)
    except (BpeError, LookupError, TypeError, ValueError) as error:
        raise InputError(
            f"{record['id']}: its vocabulary or tokenizer cannot be loaded: {error}"
        ) from None
    name = str((finding.subject or {}).get("name", ""))
    return Question(record["op"], record["profile"], subject, name, record["in"])


def said(answer: Answer) -> dict[str, Any]:
    """Return an engine's answer as plain data, in the form of the protocol.

    >>> said(Refused("MISSING_BYTE", "no token for 0xff"))
    {'err': {'code': 'MISSING_BYTE', 'msg': 'no token for 0xff'}}
    """
    if isinstance(answer, Ok):
        return {"ok": dict(answer.out)}
    if isinstance(answer, Refused):
        return {"err": {"code": answer.code, "msg": answer.message[:LONGEST_GOT]}}
    message = getattr(answer, "message", "") or getattr(answer, "reason", "")
    log = short_log(getattr(answer, "log", ""), LONGEST_LOG)
    said_last = {"log": log} if log else {}
    return {type(answer).__name__.lower(): {"msg": str(message)[:LONGEST_GOT], **said_last}}


def written(subject: Subject, name: str) -> dict[str, Any] | None:
    """Return a subject as plain data: null for samplers, a name for a shipped subject.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> sorted(written(vocabulary_by_concatenation({b"ac": 0}), ""))
    ['vocabulary']
    >>> written(shipped_subject("tiny"), "")
    {'name': 'tiny'}
    """
    if isinstance(subject, Samplers):
        return None
    shipped = shipped_name(subject)
    if shipped is not None:
        return {"name": shipped}
    if isinstance(subject, TokenizerFile):
        return {"tokenizer": json.loads(subject.content), "name": subject.name}
    if name and len(subject.tokens) > LARGEST:
        named = named_subject(name)
        has_rules = isinstance(named, Vocabulary) and named.text == subject.text
        return {"name": name} if has_rules else {"name": name, "text": asdict(subject.text)}
    drawn = NamedVocabulary(name or "drawn", "Drawn or made smaller by a campaign.", subject)
    return {"vocabulary": json.loads(dump_plain_json(drawn))}


def read_written(content: dict[str, Any] | None) -> Subject:
    """Return the subject from plain data; the inverse of `written`.

    Raises `BpeError` if a vocabulary is invalid or cannot be found.
    """
    if content is None:
        return SAMPLERS
    if "vocabulary" in content:
        data = canonical_json(content["vocabulary"])
        return parse_plain_json(data, "the vocabulary of a finding").vocabulary
    if "tokenizer" in content:
        return TokenizerFile(str(content["name"]), canonical_json(content["tokenizer"]))
    subject = named_subject(str(content["name"]))
    if "text" in content and isinstance(subject, Vocabulary):
        return replace(subject, text=msgspec.convert(content["text"], TextRules))
    return subject


def named_subject(name: str, pattern: str | None = None) -> Subject:
    """Return a subject by name or path; names in the fixtures come first.

    `pattern` is used for a file that holds none.
    """
    shipped = pattern is None and name in shipped_subjects()
    return shipped_subject(name) if shipped else _loaded(name, pattern)


@cache
def _loaded(name: str, pattern: str | None) -> Subject:
    return load_text_subject(name, pattern)[0]


def shipped_name(subject: Vocabulary | TokenizerFile) -> str | None:
    """Return the name that the fixtures have for a subject, or None."""
    return _shipped().get(subject.digest())


@cache
def _shipped() -> dict[str, str]:
    return {entry.digest: name for name, entry in shipped_subjects().items()}


# ---- likely bugs


Key: TypeAlias = tuple[Hashable, ...]


@dataclass(frozen=True)
class LikelyBug:
    """Findings that are likely the same bug."""

    first: Finding
    """The simplest finding, which represents all."""

    others: list[Finding]
    """The other findings, simplest first."""

    @property
    def profiles(self) -> list[str]:
        """The profiles under which it was found."""
        found = [self.first, *self.others]
        return sorted({str(finding.record.get("profile")) for finding in found})


class LikelyBugs:
    """Findings grouped into likely bugs as they arrive.

    Each bug is a set of keys. A finding joins all bugs that have one of its keys into one.

    >>> len(LikelyBugs())
    0
    """

    def __init__(self, findings: Iterable[Finding] = ()) -> None:
        self._findings: list[Finding] = []
        self._bugs: dict[Key, set[Key]] = {}
        for finding in findings:
            self.add(finding)

    def __len__(self) -> int:
        """Return the number of likely bugs."""
        return len(set(map(id, self._bugs.values())))

    def add(self, finding: Finding) -> bool:
        """Add a finding, and return whether it is a new likely bug."""
        self._findings.append(finding)
        keys = set(keys_of(finding))
        known = [self._bugs[key] for key in keys if key in self._bugs]
        bug = keys.union(*known)
        self._bugs |= dict.fromkeys(bug, bug)
        return not known

    def all(self) -> list[LikelyBug]:
        """Return the likely bugs in the order in which they were first found."""
        together: dict[int, list[Finding]] = {}
        for finding in self._findings:
            together.setdefault(id(self._bugs[keys_of(finding)[0]]), []).append(finding)
        bugs = [sorted(findings, key=_simplicity) for findings in together.values()]
        bugs.sort(key=lambda findings: min((each.index, each.sum) for each in findings))
        return [LikelyBug(findings[0], findings[1:]) for findings in bugs]


def likely_bugs(findings: Iterable[Finding]) -> list[LikelyBug]:
    """Return findings grouped into likely bugs, in the order in which they were first found."""
    return LikelyBugs(findings).all()


def _simplicity(finding: Finding) -> tuple[object, ...]:
    """Return a sort key that orders any two findings by simplicity."""
    record, subject = finding.record, finding.subject or {}
    request, profile = canonical_json(record.get("in")), str(record.get("profile"))
    vocabulary = subject.get("vocabulary", {})
    entries = sum(
        len(vocabulary.get(name) or ()) for name in ("tokens", "merges", "special_tokens")
    )
    try:
        hard = hardness(record.get("in"))
    except (FloatsError, TypeError, ValueError):
        hard = 0.0
    return (
        finding.now_and_then,
        finding.only_later,
        finding.unfinished,
        len(request) + entries + _UNREAD * ("name" in subject),
        hard,
        profile != STANDARD,
        len(profile),
        request,
        finding.sum,
        finding.index,
    )


_UNREAD: Final = 20
"""The size that a named vocabulary counts as, because a reader must look it up."""


def keys_of(finding: Finding) -> tuple[Key, Key]:
    """Return two keys; findings that share one of them are likely the same bug."""
    record, op = finding.record, str(finding.record.get("op"))
    how = disagreement(finding)
    if (
        finding.now_and_then or finding.only_later
    ):  # if the engine died, the question and its subject do not matter
        how_often = "now and then" if finding.now_and_then else "only later"
        alike: Key = (how_often, "" if finding.status in {"crash", "timeout"} else op, how)
        return (*alike, 1), (*alike, 2)
    if finding.status == "timeout":  # a program that hangs has no other sign of its cause
        return (op, "timeout", 1), (op, "timeout", 2)
    alike = op, how, traits_of(finding)
    rule = record.get("profile")
    if op in TOKENIZER_OPS:  # there, the question decides which profile it is
        rule = (finding.subject or {}).get("name") if op in PIPELINE_OPS else ""
    return (*alike, "rule", str(rule)), (*alike, "shape", _shape(record.get("in")))


def exact_key(finding: Finding) -> Hashable:
    """Return what is equal for findings that are surely the same bug.

    These are the question and where the answers differ, apart from which tokens and numbers.
    """
    request = {"row" if k in {"logits", "probs"} else k: v for k, v in finding.record["in"].items()}
    if not request.keys().isdisjoint(spellings := {"text", "bytes", "recipe"}):
        text = request_text(request)
        plain = text if isinstance(text, str) else text.decode(errors="backslashreplace")
        request = {k: v for k, v in request.items() if k not in spellings} | {"text": plain}
    return keys_of(finding)[1][:-1], _shape(request), without_values(finding.detail, None)


def _shape(request: Any) -> str:
    """Return a question with tokens and numbers renamed by their order."""
    seen: dict[str, int] = {}
    floats = {number: place for place, number in enumerate(sorted(set(_numbers(request))))}

    def renamed(value: Any) -> Any:
        if is_numbers(value):
            return sorted(floats[number] for number in _numbers(value))
        if isinstance(value, Mapping):
            return {str(key): renamed(entry) for key, entry in value.items()}
        if isinstance(value, list):
            return [renamed(entry) for entry in value]
        if isinstance(value, str):
            return [seen.setdefault(sign, len(seen)) for sign in value]
        return value

    return canonical_json(renamed(request)).decode()


def _numbers(value: Any) -> Iterator[tuple[bool, float]]:
    """Yield numbers in a form that can be sorted, NaN last."""
    for _, row in numbers_in(value):
        for number in numbers_of(row) or ():
            yield isnan(number), 0 if isnan(number) else number


def disagreement(finding: Finding) -> tuple[str, ...]:
    """Return the status, the place, and the way in which the answer is wrong.

    >>> finding = Finding(index=1, status="fail", detail="keep: expected [0], got [0, 1]",
    ...     got={"ok": {"keep": [0, 1]}}, record={"out": {"keep": [0]}}, subject=None, asked={})
    >>> disagreement(finding)
    ('fail', 'keep', 'keep: more')
    """
    got = finding.got.get("ok")
    if finding.status != "fail" or not isinstance(got, Mapping):
        return finding.status, without_values(finding.detail)
    if finding.record.get("out") is None:
        return "fail", without_values(finding.detail.partition(":")[0])
    parts = dict(split_detail(finding.detail)) if finding.detail else {}
    place = without_values(parts["at"]).partition(",")[0] if "at" in parts else ""
    return finding.status, place, _way(finding.record.get("out"), got)


def _way(expected: Any, got: Any) -> str:
    """Return how two values differ, with the name of the first part that differs."""
    if is_numbers(expected) and is_numbers(got):
        return _of_numbers(numbers_of(expected), numbers_of(got))
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        for key, value in expected.items():
            if key != "stages" and value != got.get(key):
                return f"{key}: {'another' if key == 'token' else _way(value, got.get(key))}"
        return "stages"
    if got is None or type(expected) is not type(got):
        return "missing" if got is None else "of another kind"
    if isinstance(expected, list | str) and len(expected) != len(got):
        return "fewer" if len(got) < len(expected) else "more"
    if isinstance(expected, int) and not isinstance(expected, bool):
        return "less" if got < expected else "more"
    return "others"


def _of_numbers(want: list[float] | None, have: list[float] | None) -> str:
    if want is None or have is None:
        return "no numbers"
    if len(want) != len(have):
        return "fewer" if len(have) < len(want) else "more"
    return "numbers" if list(map(isfinite, want)) == list(map(isfinite, have)) else "infinities"


_SMALLEST_NORMAL: Final = 2.0**-126
_WORDS: Final = frozenset({"seed", "key", "counter", "words"})
"""Keys whose strings are numbers."""

_LATER: Final = 0x10000


def traits_of(finding: Finding) -> frozenset[str]:
    """Return the traits of a question, each in a few words.

    >>> finding = Finding(index=1, status="fail", detail="", got={}, subject=None, asked={},
    ...     record={"in": {"text": "a \u00e9", "params": {"k": 2}}})
    >>> sorted(traits_of(finding))
    ['beyond ASCII', 'params.k', 'white space']

    A pair that is still there after shrinking is the cause, whatever the texts are.
    """
    request = finding.record.get("in")
    if isinstance(request, Mapping) and "pair" in request and not finding.unfinished:
        request = {"pair": ""}
    return frozenset([*_of(request, ""), *_of_subject(finding.subject)])


def _of(value: Any, key: str) -> Iterator[str]:
    if is_numbers(value):
        yield from _of_row(value) if key in ROWS else ()
    elif isinstance(value, Mapping):
        for name, entry in value.items():
            if key in {"params", "calls", "state"}:
                yield f"{key}.{name}"
            yield from _of(entry, name)
    elif isinstance(value, list):
        for entry in value:
            yield from _of(entry, key)
        if value and key in {"history", "prompt"}:
            yield key
    elif isinstance(value, bool):
        yield f"{key}={value}"
    elif isinstance(value, str):
        yield from _of_text(value, key)


def _of_row(value: Mapping[str, Any]) -> Iterator[str]:
    """Yield unusual properties of a row, including its type if it is not 32 bits."""
    numbers = numbers_of(value)
    if numbers is None:
        return
    if "f32" not in value:
        yield f"row of {next(iter(value))}"
    if not numbers:
        yield "empty row"
    for number in numbers:
        if isnan(number) or number in {inf, -inf}:
            yield f"row with {number}"
        elif 0 < abs(number) < _SMALLEST_NORMAL:
            yield "row with subnormals"


def _of_text(text: str, key: str) -> Iterator[str]:
    if key in HEXADECIMAL:
        try:
            text = bytes.fromhex(text).decode()
        except ValueError:
            yield "no UTF-8"
            return
    elif key in {"pair", "allowed", "disallowed"}:
        yield key
    elif key != "text":
        if key not in _WORDS:
            yield f"{key}={text}"
        return
    yield from filter(None, map(_of_sign, text))


def _of_sign(sign: str) -> str:
    """Return what is special about a character; nothing about a letter of ASCII."""
    if sign.isspace():
        return "lines" if sign in "\r\n" else "white space"
    if not sign.isascii():
        beyond = "beyond 16 bits" if ord(sign) >= _LATER else "beyond ASCII"
        return "marks" if unicodedata.combining(sign) else beyond
    if sign.isdigit():
        return "digits"
    return "" if sign.isalpha() else "signs"


def _of_subject(subject: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the rules that a shrunk vocabulary still has."""
    content = (subject or {}).get("vocabulary")
    if isinstance(content, Mapping):
        for name in ("pattern", "normalization", "whole_piece", "special_tokens"):
            if content.get(name):
                yield f"vocabulary with {name}"
