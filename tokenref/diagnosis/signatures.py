"""Signatures: which records fail with a cause, and with which wrong answers.

`causes.json.xz` contains the signature of each seeded bug, of each rule and of each engine's rules.
`python -m authoring mutants` writes it, so a new mutant in `authoring/mutants` is a new named
cause. Answers are compared by digests, in which numbers are rounded, because engines calculate in
different precisions. `misreadings` makes the signatures of misread questions when they are needed.

A cause *explains* a failure if its signature has the record with this answer. The cause that
explains most is taken first, then the one that explains most of the rest. A cause is named only if
almost no record of its signature passed or has another answer, and if the named causes together
explain nearly all failures of its operations.
"""

import json
import lzma
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from tokenref.answers import Answer
from tokenref.diagnosis.mistakes import NO_ANSWERS
from tokenref.record import OWN_DRAW_OPS, Case, op_of, rows_op
from tokenref.result import Result, place_of
from tokenref.verdicts import MustRefuse

PATH: Final = Path(__file__).parent.parent / "causes.json.xz"

NEARLY_ALL: Final = 0.9
"""The share of its predictions that must occur, and of the failures that must be explained."""

MOST: Final = 0.6
"""The share of failures that must have a fact in common, or the answers of a similar cause."""

FEWEST: Final = 3
"""How many failures a cause must explain to be named, unless its whole signature is smaller."""

MOST_ALIKE: Final = 3
"""How many causes that explain the same failures are named; more are no explanation."""

_MOST_SAID: Final = 2
"""How many of these are said in full."""

Reference: TypeAlias = Callable[[Case, Mapping[str, Any]], Answer]
"""Answers another question like that of a case, given by it."""

Kind: TypeAlias = Literal["bug", "rule", "engine", "misreading"]


@dataclass(frozen=True)
class Signature:
    """What a cause makes fail."""

    kind: Kind
    name: str
    says: str
    answers: Mapping[str, str]
    """The digests of the wrong answers, by the digests of the records' ids."""


class Diagnosis(NamedTuple):
    """Failures with the same likely cause."""

    name: str
    """The name of the cause. If the records cannot distinguish several, the names of all."""

    sentence: str
    ids: Sequence[str]
    """The records that fail."""


def in_words(cause: Signature) -> str:
    """Return the name of a cause as part of a sentence."""
    if cause.kind == "bug":
        return f'the seeded bug {cause.name}: "{cause.says}"'
    return f"the rule {cause.name}" if cause.kind == "rule" else cause.says


# ---- the file


class Known(NamedTuple):
    """What is known about causes."""

    causes: Sequence[Signature]
    left_out: frozenset[str] = frozenset()
    """The digests of the records with inputs that are too long to ask every cause about them."""


def unpack_known(data: bytes) -> Known:
    """Return the content of the file, which `authoring.mutants.signatures` packs."""
    content = json.loads(data)
    records = _parts(content["records"], 8)
    found = []
    for kind, name, says, steps, of_answers in content["causes"]:
        answers, at = {}, 0
        for step, answer in zip(steps, _parts(of_answers, 4), strict=True):
            at += step
            answers[records[at]] = answer
        found.append(Signature(kind, name, says, answers))
    return Known(found, frozenset(_parts(content["left_out"], 8)))


def _parts(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@cache
def known_causes() -> Known:
    """Return what the package knows about causes."""
    return unpack_known(lzma.decompress(PATH.read_bytes()))


# ---- how they fit


@dataclass
class Match:
    """How the signature of a cause fits the results."""

    causes: list[Signature]
    hits: frozenset[str]
    """The failures that it explains."""

    others: frozenset[str]
    """The failures that it predicts, with other answers."""

    passed: int
    """How many records that passed it predicts to fail."""

    @property
    def name(self) -> str:
        """The name of the cause, or the names of all that the records cannot distinguish."""
        return " or ".join(each.name for each in self.causes)

    def said(self, verb: str) -> str:
        """Return what is said about failures that the causes explain."""
        if self.causes[0].kind == "misreading":
            verb = "have in common:" if self.causes[0].name in NO_ANSWERS else "resemble"
        said = [*map(in_words, self.causes[:_MOST_SAID])]
        said += [f"{len(self.causes) - _MOST_SAID} more"] if len(self.causes) > _MOST_SAID else []
        return f"{verb} {', or '.join(said)}"

    def gain(self, left: set[str]) -> int:
        """Return how much the cause explains of what is left, less its wrong predictions."""
        return len(self.hits & left) - 2 * self.passed - len(self.others & left)

    def is_likely(
        self,
        others: Iterable["Match"],
        failed: Mapping[str, Result],
        fewest: int,
        aside: AbstractSet[str],
    ) -> bool:
        """Return whether the cause can be named together with the others; some are set aside."""
        shared = {record for each in others for record in (*each.hits, *each.others)}
        wrong = self.passed + len(self.others - shared)
        if len(self.hits) < NEARLY_ALL * (len(self.hits) + wrong):
            return False
        # The signature of a rule is mostly about records of other profiles, which are not asked.
        is_all = len(self.hits) == len(failed) and all(c.kind == "rule" for c in self.causes)
        few = 2 if is_all else fewest
        if len(self.hits) < few and all(len(c.answers) > len(self.hits) for c in self.causes):
            return False
        explained = shared | self.hits | self.others | aside
        if are_own_draws(self, failed) and failed.keys() - explained:
            return False  # only which draws fail was compared, and something else fails as well
        of_area = Counter(map(_area, failed.values()))
        left = Counter(_area(failed[record]) for record in failed.keys() - explained)
        own = Counter(_area(failed[record]) for record in self.hits)
        share = sum(count * (1 - left[area] / of_area[area]) for area, count in own.items())
        return len(self.causes) <= MOST_ALIKE and share >= NEARLY_ALL * len(self.hits)


def _area(seen: Result) -> tuple[str, bool]:
    """Return the place, and whether the input is invalid: engines often accept too much."""
    return place_of(seen.case), isinstance(seen.case.verdict, MustRefuse)


def matches_of(
    signatures: Iterable[Signature],
    passed: AbstractSet[str],
    failed: Mapping[str, Result],
    fewest_hits: int = 1,
) -> list[Match]:
    """Return how each cause fits that explains anything. Causes that fit equally are together."""
    together: dict[tuple[object, ...], Match] = {}
    for each in signatures:
        predicted = frozenset(record for record in each.answers if record in failed)
        hits = frozenset(r for r in predicted if failed[r].answer == each.answers[r])
        if predicted and len(hits) >= fewest_hits:
            fit = hits, predicted - hits, len(passed & each.answers.keys())
            alike = together.setdefault(fit, Match([], *fit)).causes
            alike += [each] * (each.name not in {cause.name for cause in alike})
    for match in together.values():
        if len(match.causes) > MOST_ALIKE:  # a bug that was seeded says more than a misreading
            seeded = [cause for cause in match.causes if cause.kind != "misreading"]
            match.causes = seeded or match.causes
        match.causes.sort(key=lambda cause: len(cause.answers))
    return list(together.values())


def by_place(failed: Mapping[str, Result]) -> dict[str, dict[str, Result]]:
    """Return the failures that are no accepted invalid inputs, by their operation."""
    places: dict[str, dict[str, Result]] = {}
    for record, seen in failed.items():
        if not isinstance(seen.case.verdict, MustRefuse):
            places.setdefault(place_of(seen.case), {})[record] = seen
    return places


def likely(
    matches: Sequence[Match], failed: Mapping[str, Result], fewest: int, left_out: AbstractSet[str]
) -> list[Match]:
    """Return the causes that explain most and can be named together.

    What was left out was not asked of every cause. So of an operation with a cause, it proves no
    other one.
    """
    every, left, chosen, aside = matches, set(failed), list[Match](), set[str]()
    matches = list(every)
    while matches:
        best = max(matches, key=lambda match: match.gain(left))
        if best.gain(left) <= 0:
            break
        chosen.append(best)
        matches.remove(best)
        left -= best.hits
        ops = {rows_op(failed[record].case) for record in best.hits}
        aside |= {record for record in left & left_out if rows_op(failed[record].case) in ops}
        left -= aside
    while True:
        fitting = [
            match
            for match in chosen
            if match.is_likely([o for o in chosen if o is not match], failed, fewest, aside)
        ]
        if fitting == chosen:
            break
        chosen = fitting
    own = [match for match in chosen if are_own_draws(match, failed)]
    if len(own) > 1:  # one bug would explain all of them
        chosen = [match for match in chosen if match not in own]
    for match in chosen:
        match.causes += _also(match, every, failed)
        match.causes.sort(key=lambda cause: cause.kind != "rule")
    return chosen


_MANY: Final = 8
_LARGE_SHARE: Final = 0.75
"""How many failures, and which share of all, are similar whatever the answers, if a cause predicts
just these."""


def similar(
    causes: Iterable[Signature],
    passed: Mapping[str, Case],
    here: Mapping[str, Result],
    failed: Mapping[str, Result],
) -> Iterator[Match]:
    """Yield the cause that makes the same records fail, if most answers or all records agree.

    Most of its answers in other operations that fail, too, must agree as well.
    """
    valid = {
        record: seen
        for record, seen in here.items()
        if op_of(seen.case) not in OWN_DRAW_OPS
        and not isinstance(seen.case.verdict, MustRefuse)
        and seen.status != "crash"  # which says itself why
    }
    places = {place_of(seen.case) for seen in valid.values()}
    one = len(places) == 1
    right = {record for record, case in passed.items() if not one or place_of(case) in places}
    every = set(valid)
    best: Match | None = None
    for match in matches_of(causes, right, valid, fewest_hits=0):
        predicted = len(match.hits) + len(match.others)
        if predicted < MOST * len(valid) or match.passed > (1 - NEARLY_ALL) * predicted:
            continue
        are_most = len(match.hits) >= max(FEWEST, _LARGE_SHARE * len(valid)) and all(
            valid[record].status == "fail" for record in match.others
        )
        are_all = (
            not one and not match.passed and predicted >= max(_MANY, _LARGE_SHARE * len(valid))
        )
        is_better = best is None or match.gain(every) > best.gain(every)
        if (are_most or are_all) and is_better and _agrees(match.causes[0], failed, here):
            best = match
    if best is not None and len(best.causes) <= MOST_ALIKE:
        yield best


def _agrees(cause: Signature, failed: Mapping[str, Result], here: Mapping[str, Result]) -> bool:
    """Return whether a cause predicts most of the wrong answers elsewhere that it is about."""
    elsewhere = [
        failed[record].answer == answer
        for record, answer in cause.answers.items()
        if record in failed and record not in here
    ]
    return len(elsewhere) < FEWEST or sum(elsewhere) >= MOST * len(elsewhere)


def are_own_draws(match: Match, failed: Mapping[str, Result]) -> bool:
    """Return whether a cause explains draws with own random numbers and nothing else."""
    return all(op_of(failed[record].case) in OWN_DRAW_OPS for record in match.hits)


def _also(match: Match, every: Sequence[Match], failed: Mapping[str, Result]) -> list[Signature]:
    """Return causes that explain most of the same failures and could be meant instead.

    They are rules, which are asked of their operation alone, while bugs are asked of batches too,
    and bugs of draws with own random numbers, of which only is compared which records fail.
    """
    are_own = are_own_draws(match, failed)
    also = [
        cause
        for other in every
        for cause in other.causes
        if (cause.kind == "rule" or are_own)
        and other is not match
        and other.hits <= match.hits
        and not other.passed
        and len(other.hits) >= MOST * len(match.hits)
    ]
    return also if len(also) + len(match.causes) <= MOST_ALIKE else []


def likely_there(
    known: Known, passed: Mapping[str, Case], failed: Mapping[str, Result], fewest: int
) -> list[Match]:
    """Return the likely causes of the failures of each operation, whatever the others did.

    Nothing is compared of draws with own random numbers but which records fail.
    """
    found: list[Match] = []
    for place, here in by_place(failed).items():
        if place not in OWN_DRAW_OPS:
            right = {record for record, case in passed.items() if place_of(case) == place}
            found += likely(matches_of(known.causes, right, here), here, fewest, known.left_out)
    return found
