"""Findings that are likely one bug, behind the smallest of them.

One bug fails thousands of questions, and even when these are small they are not all the
same. Two findings count as one bug if they are about one operation, if their answers are
wrong in the same way at the same place (`disagreements`), if the questions still have the
same traits (`traits`), and if the profile is the same or the question is, up to which
tokens and which numbers these are. So what is wrong under one rule is not told once more for
each other rule.

That is a guess: two bugs may look alike. So nothing is thrown away. Which findings are
together, and which one stands for them, does not depend on the order in which they came.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isnan
from typing import Any, Final, TypeAlias

from tokenref.floats import FloatsError
from tokenref.fuzzing.disagreements import disagreement
from tokenref.fuzzing.findings import Finding
from tokenref.fuzzing.hardness import hardness
from tokenref.fuzzing.plain_numbers import is_numbers, numbers_of
from tokenref.fuzzing.traits import traits_of
from tokenref.record import PIPELINE_OPS, TOKENIZER_OPS, canonical_json
from tokenref.rules import STANDARD

Key: TypeAlias = tuple[Hashable, ...]


@dataclass(frozen=True)
class LikelyBug:
    """What is likely one bug."""

    first: Finding
    """The simplest finding, which stands for all."""

    others: list[Finding]
    """The others, simplest first."""

    @property
    def profiles(self) -> list[str]:
        """The profiles under which it was found."""
        found = [self.first, *self.others]
        return sorted({str(finding.record.get("profile")) for finding in found})


class LikelyBugs:
    """Findings as they come, sorted into bugs.

    >>> LikelyBugs().all()
    []
    """

    def __init__(self, findings: Iterable[Finding] = ()) -> None:
        """Begin with some findings."""
        self._findings: list[Finding] = []
        self._above: dict[Key, Key] = {}
        self._count = 0
        for finding in findings:
            self.add(finding)

    def __len__(self) -> int:
        """Return how many bugs there are."""
        return self._count

    def add(self, finding: Finding) -> bool:
        """Take in a finding; return whether it is of none of the bugs that are known."""
        self._findings.append(finding)
        keys = _keys(finding)
        known = {self._top(key) for key in keys if key in self._above}
        tops = sorted(known, key=repr) or [keys[0]]
        for key in (*tops, *keys):
            self._above[key] = tops[0]
        self._count += 1 - len(known)
        return not known

    def all(self) -> list[LikelyBug]:
        """Return the bugs, in the order in which they were found first."""
        together: dict[Key, list[Finding]] = {}
        for finding in self._findings:
            together.setdefault(self._top(_keys(finding)[0]), []).append(finding)
        bugs = [sorted(findings, key=simplicity) for findings in together.values()]
        bugs.sort(key=lambda findings: min((each.index, each.sum) for each in findings))
        return [LikelyBug(findings[0], findings[1:]) for findings in bugs]

    def _top(self, key: Key) -> Key:
        while self._above[key] != key:
            key = self._above[key]
        return key


def likely_bugs(findings: Iterable[Finding]) -> list[LikelyBug]:
    """Return findings sorted into what are likely single bugs, those found first to the front."""
    return LikelyBugs(findings).all()


def simplicity(finding: Finding) -> tuple[object, ...]:
    """Return what says which of two findings is simpler, for any two of them."""
    record, subject = finding.record, finding.subject or {}
    request, profile = canonical_json(record.get("in")), str(record.get("profile"))
    vocabulary = subject.get("vocabulary", {})
    entries = sum(
        len(vocabulary.get(name) or ()) for name in ("tokens", "merges", "special_tokens")
    )
    return (
        finding.now_and_then,
        finding.unfinished,
        len(request) + entries + _UNREAD * ("name" in subject),
        _hardness(record.get("in")),
        profile != STANDARD,
        len(profile),
        request,
        finding.sum,
        finding.index,
    )


_UNREAD: Final = 20
"""What a vocabulary counts that has a name, and that a reader must look up."""


def _hardness(request: Any) -> float:
    try:
        return hardness(request)
    except (FloatsError, TypeError, ValueError):
        return 0.0


def _keys(finding: Finding) -> tuple[Key, Key]:
    """Return two keys; findings that have one of them in common are one bug."""
    record, op = finding.record, str(finding.record.get("op"))
    how = disagreement(finding)
    if finding.now_and_then:  # it is no matter what was asked, nor of what, if the engine died
        alike: Key = ("now and then", "" if finding.status in {"crash", "timeout"} else op, how)
        return (*alike, 1), (*alike, 2)
    alike = op, how, traits_of(finding)
    rule = record.get("profile")
    if op in TOKENIZER_OPS:  # there, the question decides which profile it is
        rule = (finding.subject or {}).get("name") if op in PIPELINE_OPS else ""
    return (*alike, "rule", str(rule)), (*alike, "shape", _shape(record.get("in")))


def _shape(request: Any) -> str:
    """Return a question up to which tokens and which numbers they are: only their order counts."""
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
    """Yield numbers in a form that has an order: NaN comes last."""
    if is_numbers(value):
        for number in numbers_of(value) or ():
            yield isnan(number), 0 if isnan(number) else number
    elif isinstance(value, Mapping | list):
        for entry in value.values() if isinstance(value, Mapping) else value:
            yield from _numbers(entry)
