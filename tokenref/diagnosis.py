"""Name the likely cause of failures: a seeded bug, another rule, or another engine's rules.

`causes.json.xz` contains a signature of each known cause: which records fail, and with which
answers. `python -m authoring mutants` writes it. Answers are compared by digests, in which numbers
are rounded, because engines calculate in different precisions.

A cause *explains* a failure if its signature has the record with this answer. The cause that
explains most is taken first, then the one that explains most of the rest. A cause is named only if
almost no record of its signature passed or has another answer, and if the named causes together
explain nearly all failures of its operations. A mistake of one kernel shows in one operation only,
so failures that remain are compared again, operation by operation; batches have the operation of
their rows.

The reference also answers the questions again as programs misread them; see
`tokenref.misreadings`. This makes more signatures, of the records of the run alone.

Batches that remain are answered again with parts of other rows, such as the parameters of the next
row, and steps that remain in another order, with a step twice or without one. What remains then is
named by a fact that most failures of an operation have in common; see `tokenref.hints`. A fact
about at most half of them says so, and one about less than a third is not named. Invalid
inputs that are not refused are a group of their own, because many engines check less. All other
failures have no known cause.
"""

import json
import lzma
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import starmap
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from tokenref.answers import Answer, Ok
from tokenref.catalogue import CANARY
from tokenref.floats import type_of
from tokenref.hints import (
    ALL_WRONG,
    AT_THE_END,
    DIFFERS,
    MOST_AGAIN,
    OF_ANY_SUM,
    ORDERED,
    SUMS,
    VAGUE,
    Reference,
    exchanged,
    rearranged,
    tokens_of,
)
from tokenref.judge import FAILURES, judge
from tokenref.questions.sampling import BatchInput
from tokenref.questions.text import TextInput
from tokenref.record import OWN_DRAW_OPS, Case, op_of
from tokenref.result import Result, answer_digest, digest, length, place_of, size
from tokenref.subjects import SAMPLERS
from tokenref.verdicts import MustRefuse

PATH: Final = Path(__file__).parent / "causes.json.xz"

NEARLY_ALL: Final = 0.9
"""The share of its predictions that must occur, and of the failures that must be explained."""

MOST: Final = 0.6
"""The share of failures that must have a fact in common, or the answers of a similar cause."""

FEWEST: Final = 3
"""How many failures a cause must explain to be named, unless its whole signature is smaller."""

MOST_ALIKE: Final = 3
"""How many causes that explain the same failures are named; more are no explanation."""

UNSPECIFIC: Final = frozenset({"stages", "long inputs", "invalid input", "known differences"})
"""Names of groups whose failures have no likely cause."""

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


def _in_words(cause: Signature) -> str:
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


# ---- the diagnosis


@dataclass
class _Match:
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
            verb = "resemble" if self.name.startswith("answers") else "have in common:"
        return f"{verb} {', or '.join(map(_in_words, self.causes))}"

    def gain(self, left: set[str]) -> int:
        """Return how much the cause explains of what is left, less its wrong predictions."""
        return len(self.hits & left) - 2 * self.passed - len(self.others & left)

    def is_likely(
        self,
        others: Iterable["_Match"],
        failed: Mapping[str, Result],
        fewest: int,
        aside: AbstractSet[str],
    ) -> bool:
        """Return whether the cause can be named together with the others; some are set aside."""
        shared = {record for each in others for record in (*each.hits, *each.others)}
        wrong = self.passed + len(self.others - shared)
        if len(self.hits) < NEARLY_ALL * (len(self.hits) + wrong):
            return False
        if len(self.hits) < fewest and all(len(c.answers) > len(self.hits) for c in self.causes):
            return False
        explained = shared | self.hits | self.others | aside
        if all(op_of(failed[record].case) in OWN_DRAW_OPS for record in self.hits) and any(
            op_of(failed[record].case) not in OWN_DRAW_OPS for record in failed.keys() - explained
        ):
            return False  # only which draws fail was compared, and something else fails as well
        of_area = Counter(map(_area, failed.values()))
        left = Counter(_area(failed[record]) for record in failed.keys() - explained)
        own = Counter(_area(failed[record]) for record in self.hits)
        share = sum(count * (1 - left[area] / of_area[area]) for area, count in own.items())
        return len(self.causes) <= MOST_ALIKE and share >= NEARLY_ALL * len(self.hits)


def _area(seen: Result) -> tuple[str, bool]:
    """Return the place, and whether the input is invalid: engines often accept too much."""
    return place_of(seen.case), isinstance(seen.case.verdict, MustRefuse)


def _is_right(seen: Result) -> bool:
    """Return whether the answer about a text is right, apart from its stages."""
    case = seen.case
    if case.vocab is None or case.out is None or seen.status != "fail":
        return False
    return seen.answer == answer_digest(op_of(case), Ok(msgspec.to_builtins(case.out)))


def diagnose(
    results: Iterable[Result],
    known: Known | None = None,
    *,
    fewest: int = FEWEST,
    reference: Reference | None = None,
) -> list[Diagnosis]:
    """Return the likely causes of failures, and the failures that each explains.

    A cause that explains less than `fewest` failures is named only if its signature is not larger.
    `reference` answers batches again; None: they are not.
    """
    results = list(results)
    slow = too_slow(results)
    found = [slow] if slow else []
    if unexpected := [seen.case.id for seen in results if seen.status == "xpass"]:
        these = "records pass" if len(unexpected) > 1 else "record passes"
        says = f"{these} that the list of known differences names"
        found.append(_counted("known differences", says, unexpected))
    passed = {digest(seen.case.id): seen.case for seen in results if seen.status == "pass"}
    asked = (seen for seen in results if seen.status in FAILURES - {"timeout", "xpass"})
    failed = {digest(seen.case.id): seen for seen in asked}
    stages = [seen.case.id for seen in failed.values() if _is_right(seen)]
    failed = {record: seen for record, seen in failed.items() if not _is_right(seen)}
    if not failed and not stages:
        return found
    unsteady = _unsteady(failed)
    if unsteady:
        ids = [failed.pop(record).case.id for record in unsteady]
        found.append(_diagnosis(DIFFERS, (f"have in common: {DIFFERS}", ids)))
    known = known or known_causes()
    if len(failed) == 1 and not (passed or unsteady or stages):
        (seen,) = failed.values()
        if alone := [*_of_one(seen, known, reference)]:
            return [*found, *alone]
    if reference is not None:
        known = known._replace(causes=[*known.causes, *_misread(failed, passed, reference)])
    matches = _matches(known.causes, passed.keys(), failed)
    hit = {record for match in matches for record in match.hits}
    long = {record: failed.pop(record) for record in known.left_out - hit if record in failed}
    found += _named(known, matches, passed, failed, long, fewest, reference)
    named = {case_id for each in found for case_id in each.ids}
    wrong = [*failed.values(), *long.values()]
    crashed = {seen.case.id for seen in wrong if seen.status == "crash"}
    if crashes := sorted(crashed - named):
        these = "questions have" if len(crashes) > 1 else "question has"
        says = f"{these} no answer that can be judged; each says why"
        found.append(_counted("crash", says, crashes))
        named |= crashed
    accepted = [
        seen.case.id
        for seen in failed.values()
        if seen.case.id not in named and isinstance(seen.case.verdict, MustRefuse)
    ]
    long_ids = sorted({seen.case.id for seen in long.values()} - named)
    for name, ids, says in (
        ("stages", stages, "in a stage only; the answer is right"),
        ("long inputs", long_ids, "about inputs too long to be compared with known causes"),
    ):
        these = "failures are" if len(ids) > 1 else "failure is"
        found += [_counted(name, f"{these} {says}", ids)] if ids else []
    if accepted:
        these = "invalid inputs were" if len(accepted) > 1 else "invalid input was"
        says = f"{these} not refused with the right code"
        found.append(_counted("invalid input", says, accepted))
    return found


_MOST_OF_ONE: Final = 4
"""How many causes of a failure that was asked alone are said."""


def _of_one(seen: Result, known: Known, reference: Reference | None) -> Iterator[Diagnosis]:
    """Yield all that explains a failure if nothing else was asked, which shows no size of blocks.

    So what is said fits what a whole run shows, which excludes most of it.
    """
    from tokenref.misreadings import misread  # which imports every step

    case, op, record = seen.case, op_of(seen.case), digest(seen.case.id)
    if seen.status != "fail" or op in OWN_DRAW_OPS or isinstance(case.verdict, MustRefuse):
        return
    alike = [each for each in known.causes if each.answers.get(record) == seen.answer]
    names = {_in_words(each): each.name for each in alike}
    if reference is not None and case.vocab is None:
        again = _asked_again(case, reference)
        others = [(_in_batches(says), answer) for says, answer, _ in again]
        for says, answer in [*others, *misread(case, reference)]:
            if answer_digest(op, answer) == seen.answer:
                names[_without_size(says)] = says
    telling = [fact for fact in seen.facts if fact not in VAGUE and OF_ANY_SUM not in fact]
    facts = telling or (() if names else seen.facts[:1])
    names |= {_without_size(fact): fact for fact in facts}
    if names:
        shown = [*names][:_MOST_OF_ONE]
        more = [f"{len(names) - len(shown)} more"] if len(names) > len(shown) else []
        fits = "fits several causes" if len(names) > 1 else "fits"
        says = f"Asked alone, this failure {fits}: {'; or '.join([*shown, *more])}"
        yield Diagnosis(" or ".join([*map(_without_size, names.values())]), says, [case.id])


def _in_batches(says: str) -> str:
    """Return what is said of batches with a part of other rows, or of other steps."""
    return says if says.startswith("steps") else f"batches with the {says}"


def _counted(name: str, says: str, ids: Sequence[str]) -> Diagnosis:
    return Diagnosis(name, f"{len(ids):,} {says}", ids)


def _unsteady(failed: Mapping[str, Result]) -> list[str]:
    """Return the failures whose answers differ, and all of an operation if a third of it are."""
    differ = [record for record, seen in failed.items() if DIFFERS in seen.facts]
    of_op = Counter(_op(seen.case) for seen in failed.values())
    there = Counter(_op(failed[record].case) for record in differ)
    whole = {op for op, count in there.items() if count >= of_op[op] / 3}
    return [r for r, seen in failed.items() if r in differ or _op(seen.case) in whole]


_BLOCK: Final = re.compile(r"(\bblocks? of )\d+(,\d{3})*( tokens)?")


def _without_size(says: str) -> str:
    """Return a fact without the size of a block.

    >>> _without_size("only numbers of the last block of 1,024, which is incomplete, are wrong")
    'only numbers of the last block, which is incomplete, are wrong'
    """
    return _BLOCK.sub(lambda found: found[1].removesuffix(" of "), says)


def _of_known_size(group: str, says: str, cases: Sequence[Case]) -> tuple[str, str]:
    """Return a fact, and what is said, without a size of blocks if all rows have one length."""
    questions = (msgspec.to_builtins(case.input) for case in cases)
    rows = (row for asked in questions for row in asked.get("rows", [asked]))
    if not _BLOCK.search(group) or len({tokens_of([row]) for row in rows}) > 1:
        return group, says
    return _without_size(group), _without_size(says)


def _like_others(
    left: Mapping[str, Result],
    failed: Mapping[str, Result],
    long: Container[str],
    groups: Mapping[str, tuple[str, Sequence[str]]],
) -> dict[str, str]:
    """Return failures that are left, each with a cause that was named for its operation.

    They are canaries, because an engine that gives a wrong answer of theirs has a bug that other
    records show, too. If one cause was named, they are inputs that are too long to be compared, and
    fused steps, because seeded bugs are in steps that are asked alone.
    """
    ops = {seen.case.id: _op(seen.case) for seen in failed.values()}
    causes: dict[str, list[str]] = {}
    for group, (_, ids) in groups.items():
        for op in dict.fromkeys(ops[case_id] for case_id in ids):
            causes.setdefault(op, []).append(group)
    found = {}
    for record, seen in left.items():
        about = [_op(seen.case), *_steps_of(seen.case)]
        group, *others = dict.fromkeys(each for op in about for each in causes.get(op, ())) or [""]
        is_like = record in long or _op(seen.case) == "steps"
        is_one = is_like and not others and group not in VAGUE and not is_of_few(group)
        if group and (is_one or seen.case.id.startswith(CANARY)):
            found[record] = group
    return found


def _steps_of(case: Case) -> list[str]:
    """Return the operations of the steps of a question, and whether it draws."""
    question = msgspec.to_builtins(case.input)
    rows = question.get("rows", [question])
    steps = (step for row in rows for step in row.get("steps", ()) if isinstance(step, dict))
    drawn = ["draw"] if any("draw" in row for row in rows) else []
    return [*dict.fromkeys(step["step"] for step in steps), *drawn]


@dataclass
class _Naming:
    """Failures, and what is said about those that have a name."""

    failed: dict[str, Result]
    long: dict[str, Result]
    left_out: AbstractSet[str]
    groups: dict[str, tuple[str, list[str]]] = field(default_factory=dict)
    unclear: set[str] = field(default_factory=set)
    """The ids of failures that could not be compared with the cause that they are said to have."""

    def __post_init__(self) -> None:
        """Begin without any name."""
        self.left = {**self.failed}
        self.every = {**self.failed, **self.long}

    def name(self, group: str, says: str, records: Iterable[str]) -> None:
        """Give those of the records a name that have none."""
        here = [record for record in records if record in self.every]
        group, says = _of_known_size(group, says, [self.every[record].case for record in here])
        for record in here:
            self.groups.setdefault(group, (says, []))[1].append(self.every.pop(record).case.id)
            self.left.pop(record, None)

    def name_like_others(self, op: str = "") -> None:
        """Give what is left, perhaps of one operation only, the names of others like it."""
        here = {r: seen for r, seen in self.every.items() if not op or _op(seen.case) == op}
        others = _like_others(here, {**self.failed, **self.long}, self.long, self.groups)
        unclear = {r for r in others if not here[r].case.id.startswith(CANARY)}
        added = Counter(others[record] for record in unclear)
        sizes = {seen.case.id: size(seen.case) for seen in (self.failed | self.long).values()}
        for record, group in others.items():
            ids = self.groups[group][1]
            clear = [each for each in ids if each not in self.unclear]
            if record in unclear and (
                added[group] > len(clear)  # most of the group would be guessed
                or size(here[record].case) < min(sizes[each] for each in clear)  # what is shown
            ):
                continue
            case_id = self.every.pop(record).case.id
            ids.append(case_id)
            self.unclear.update([case_id] * (record in unclear))

    def set_aside(self) -> None:
        """Ask no cause about long inputs to operations of which another was named."""
        ops = {_op(self.failed[record].case) for record in self.failed.keys() - self.left.keys()}
        for record in self.left_out & self.left.keys():
            if _op(self.left[record].case) in ops:
                self.long[record] = self.left.pop(record)

    def rest(self) -> dict[str, Result]:
        """Return what is left, with long inputs to operations without a name."""
        named = self.failed.keys() - self.left.keys()
        explained = {place_of(self.failed[record].case) for record in named}
        return {
            record: seen
            for record, seen in self.every.items()
            if record in self.left or place_of(seen.case) not in explained
        }


def _named(
    known: Known,
    matches: Sequence["_Match"],
    passed: Mapping[str, Case],
    failed: dict[str, Result],
    long: dict[str, Result],
    fewest: int,
    reference: Reference | None,
) -> list[Diagnosis]:
    """Return the failures with a likely cause, a similar one, or a fact in common.

    To the `long` inputs, those are added of which only some causes know an answer.
    """
    naming = _Naming(failed, long, known.left_out)
    for match in _likely(matches, failed, fewest, known.left_out):
        verb = ("match", "resemble")[_are_own_draws(match, failed)]
        naming.name(match.name, match.said(verb), match.hits)
    naming.set_aside()
    for match in _likely_there(known, passed, naming.left, fewest):
        naming.name(match.name, match.said("match, in some operations only,"), match.hits)
    naming.set_aside()
    for here in [{**naming.left}, *_by_place(naming.left).values()]:
        for match in _similar(known.causes, passed, here, failed):
            naming.name(match.name, match.said("resemble"), match.hits | match.others)
    rest = naming.rest()
    for fact, records in _of_exchanged(rest, passed, reference):
        naming.name(fact, f"resemble {_in_batches(fact)}", records)
    naming.name_like_others("steps")
    only = _only({**failed, **long}, passed.values())
    left = {record: rest[record] for record in rest if record in naming.every}
    for fact, says, records in _shared_facts(left, only):
        naming.name(fact, says, records)
    naming.name_like_others()
    _add_remarks(naming.groups, failed.values(), naming.unclear)
    return list(starmap(_diagnosis, naming.groups.items()))


def _add_remarks(
    groups: dict[str, tuple[str, list[str]]], failed: Iterable[Result], unclear: set[str]
) -> None:
    """Say which failures could not be compared, and in which rows lie in another order."""
    ordered = {seen.case.id for seen in failed if ORDERED in seen.facts}
    for group, (says, ids) in groups.items():
        if group != ORDERED and len(ids) >= FEWEST and ordered.issuperset(ids):
            groups[group] = f"{says}; in all of them, {ORDERED}", ids
        if count := len(unclear.intersection(ids)) if not is_of_few(group) else 0:
            rest = "could not be compared, because they are long or have several steps"
            groups[group] = f"{groups[group][0]}; {count:,} of them {rest}", ids


def _diagnosis(group: str, said: tuple[str, Sequence[str]]) -> Diagnosis:
    says, ids = said
    if is_of_few(group):
        return Diagnosis(group, says, ids)
    these = f"These {len(ids):,} failures {says}" if len(ids) > 1 else f"This failure {_one(says)}"
    return Diagnosis(group, these, ids)


_OF_ONE: Final = {"match": "matches", "resemble": "resembles", "have": "shows:"}


def _one(says: str) -> str:
    """Return what is said about several failures as it is said about one."""
    verb, _, rest = says.partition(" ")
    return f"{_OF_ONE[verb]} {rest.removeprefix('in common: ')}"


def is_of_few(group: str) -> bool:
    """Return whether a group is of a fact that holds for a minority of an operation's failures.

    >>> is_of_few("2 of 5 failures of top_k: one token more is kept"), is_of_few("one")
    (True, False)
    """
    return re.match(r"[\d,]+ of [\d,]+ failures of ", group) is not None


def _by_place(failed: Mapping[str, Result]) -> dict[str, dict[str, Result]]:
    """Return the failures that are no accepted invalid inputs, by their operation."""
    places: dict[str, dict[str, Result]] = {}
    for record, seen in failed.items():
        if not isinstance(seen.case.verdict, MustRefuse):
            places.setdefault(place_of(seen.case), {})[record] = seen
    return places


def _op(case: Case) -> str:
    """Return the operation of a case, for a batch that of its rows."""
    return case.input.op if isinstance(case.input, BatchInput) else op_of(case)


def _likely(
    matches: Sequence[_Match], failed: Mapping[str, Result], fewest: int, left_out: AbstractSet[str]
) -> list[_Match]:
    """Return the causes that explain most and can be named together.

    What was left out was not asked of every cause. So of an operation with a cause, it proves no
    other one.
    """
    every, left, chosen, aside = matches, set(failed), list[_Match](), set[str]()
    matches = list(every)
    while matches:
        best = max(matches, key=lambda match: match.gain(left))
        if best.gain(left) <= 0:
            break
        chosen.append(best)
        matches.remove(best)
        left -= best.hits
        ops = {_op(failed[record].case) for record in best.hits}
        aside |= {record for record in left & left_out if _op(failed[record].case) in ops}
        left -= aside
    while True:
        likely = [
            match
            for match in chosen
            if match.is_likely([o for o in chosen if o is not match], failed, fewest, aside)
        ]
        if likely == chosen:
            break
        chosen = likely
    own = [match for match in chosen if _are_own_draws(match, failed)]
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


def _similar(
    causes: Iterable[Signature],
    passed: Mapping[str, Case],
    here: Mapping[str, Result],
    failed: Mapping[str, Result],
) -> Iterator[_Match]:
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
    best: _Match | None = None
    for match in _matches(causes, right, valid, fewest_hits=0):
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


def _are_own_draws(match: _Match, failed: Mapping[str, Result]) -> bool:
    """Return whether a cause explains draws with own random numbers and nothing else."""
    return all(op_of(failed[record].case) in OWN_DRAW_OPS for record in match.hits)


def _also(match: _Match, every: Sequence[_Match], failed: Mapping[str, Result]) -> list[Signature]:
    """Return causes that explain most of the same failures and could be meant instead.

    They are rules, which are asked of their operation alone, while bugs are asked of batches too,
    and bugs of draws with own random numbers, of which only is compared which records fail.
    """
    are_own = _are_own_draws(match, failed)
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


def _likely_there(
    known: Known, passed: Mapping[str, Case], failed: Mapping[str, Result], fewest: int
) -> list[_Match]:
    """Return the likely causes of the failures of each operation, whatever the others did.

    Nothing is compared of draws with own random numbers but which records fail.
    """
    found: list[_Match] = []
    for place, here in _by_place(failed).items():
        if place not in OWN_DRAW_OPS:
            right = {record for record, case in passed.items() if place_of(case) == place}
            found += _likely(_matches(known.causes, right, here), here, fewest, known.left_out)
    return found


_MOST_OF_RIGHT: Final = 5_000
"""The tokens of the longest question that was answered right and is misread."""


def _by_profile(failed: Mapping[str, Result]) -> dict[tuple[str, str], dict[str, Result]]:
    """Return the failures that can be misread questions, by operation and profile."""
    found: dict[tuple[str, str], dict[str, Result]] = {}
    for place, here in _by_place(failed).items():
        for record, seen in here.items() if place not in OWN_DRAW_OPS else ():
            found.setdefault((place, seen.case.profile), {})[record] = seen
    return found


def _misread(
    failed: Mapping[str, Result], passed: Mapping[str, Case], reference: Reference
) -> list[Signature]:
    """Return the signatures of misread questions that explain at least two failures.

    The reference makes them now. They are about the failures, and about the records of the same
    operations that pass.
    """
    from tokenref.misreadings import changes_sum, misread  # which import every step

    likely: dict[str, dict[str, str]] = {}
    of_place: dict[tuple[str, str], set[str]] = {}
    for about, here in _by_profile(failed).items():
        of_place[about] = _of_shortest(here, reference)
    for record, case in {**{r: seen.case for r, seen in failed.items()}, **passed}.items():
        only = of_place.get((place_of(case), case.profile))
        if only and not isinstance(case.verdict, MustRefuse):
            most = MOST_AGAIN if record in failed else _MOST_OF_RIGHT
            for says, answer in misread(case, reference, only, most):
                if _fails(case, answer):
                    likely.setdefault(says, {})[record] = answer_digest(op_of(case), answer)
    for says, answers in likely.items():
        answers |= {record: seen.answer for record, seen in failed.items() if says in seen.facts}

    def tells(record: str, answer: str) -> bool:
        seen = failed.get(record)
        return seen is not None and seen.answer == answer and AT_THE_END not in seen.facts

    shown = {fact for seen in failed.values() if _op(seen.case) in _SUMMING for fact in seen.facts}
    right = [
        case
        for case in passed.values()
        if _op(case) in _SUMMING
        and not isinstance(case.verdict, MustRefuse)
        and size(case)[0] <= _MOST_OF_RIGHT
    ]
    return [
        Signature("misreading", says, says, answers)
        for says, answers in likely.items()
        if len(answers) > 1
        and any(starmap(tells, answers.items()))
        and not (says in SUMS and says not in shown and any(changes_sum(says, c) for c in right))
    ]


_SUMMING: Final = frozenset({"softmax", "logprobs"})
"""Operations whose answers show a wrong sum at once."""


def _of_shortest(here: Mapping[str, Result], reference: Reference) -> set[str]:
    """Return the misreadings that explain most of the shortest failures."""
    from tokenref.misreadings import misread  # which imports every step

    hits: Counter[str] = Counter()
    only: set[str] | None = None
    tried = _shortest(here, here)
    for left, record in zip(reversed(range(len(tried))), tried, strict=True):
        case, wrong = here[record].case, here[record].answer
        for says, answer in misread(case, reference, only):
            hits[says] += answer_digest(op_of(case), answer) == wrong
        if left < MOST * len(tried):  # what is asked from here on can still explain most
            only = {says for says, count in hits.items() if count + left >= MOST * len(tried)}
    return only or set()


def _shortest(records: Iterable[str], here: Mapping[str, Result]) -> list[str]:
    """Return a few failures with the fewest tokens."""
    return sorted(records, key=lambda record: size(here[record].case))[:_MOST_TRIED]


def _asked_again(
    case: Case, reference: Reference, only: Container[str] | None = None
) -> Iterator[tuple[str, Answer, int]]:
    """Yield other questions like that of a case, their answers, and how many rows differ."""
    if isinstance(case.input, BatchInput):
        yield from exchanged(case, reference, only)
    if _op(case) == "steps":
        yield from rearranged(case, reference, only)


_TRIED: Final = 4
"""How many batches are answered again with parts of other rows."""

_MOST_TRIED: Final = 12
"""How many are, if several explanations fit the first few equally, and how many single rows."""


def _of_exchanged(
    failed: Mapping[str, Result], passed: Mapping[str, Case], reference: Reference | None
) -> Iterator[tuple[str, list[str]]]:
    """Yield what explains failures, and these: parts of other rows of a batch, or other steps.

    An answer to one question may be that to other steps by chance. So this explains nothing if
    records that pass would fail.
    """
    if reference is None:
        return
    for place, here in _by_place(failed).items():
        asked = [record for record in here if _op(here[record].case) not in OWN_DRAW_OPS]
        is_alone = not place.startswith("batches")
        fits: Counter[str] = Counter()
        rows: Counter[str] = Counter()
        tried = 0
        best: list[str] = []
        for record in _shortest(asked, here):
            if tried >= _TRIED and len(best) < 2 and (not best or not is_alone):
                break
            tried += 1
            case = here[record].case
            for says, answer, changed in _asked_again(case, reference):
                if answer_digest(op_of(case), answer) == here[record].answer:
                    fits[says] += 1
                    rows[says] += changed
            best = [says for says, count in fits.items() if count == max(fits.values())]
        if not best or fits[best[0]] < NEARLY_ALL * tried:
            continue
        best = _allowed(best, place, passed.values(), reference)
        many = [says for says in best if rows[says] >= FEWEST]
        said = (" or " if is_alone or "steps" in place else " or the ").join(many)
        few = len(best) < MOST_ALIKE or not said.startswith("steps")
        if said and few and len(best) <= MOST_ALIKE:
            yield said, asked


def _allowed(
    said: Sequence[str], place: str, passed: Iterable[Case], reference: Reference
) -> list[str]:
    """Return what would let nearly all records pass that do so: parts of rows, or other steps."""
    here = sorted((case for case in passed if place_of(case) == place), key=size)[:_MOST_TRIED]
    wrong = Counter[str]()
    for case in here:
        again = [(says, answer) for says, answer, _ in _asked_again(case, reference, said)]
        wrong.update({says for says, answer in again if _fails(case, answer)})
    return [says for says in said if wrong[says] <= (1 - NEARLY_ALL) * len(here)]


def _fails(case: Case, answer: Answer) -> bool:
    """Return whether an answer fails apart from its stages, which programs need not have."""
    if isinstance(answer, Ok):
        answer = Ok({key: part for key, part in answer.out.items() if key != "stages"})
    return judge(case, answer, SAMPLERS).status in FAILURES


_BY_CHANCE: Final = 0.05
"""How likely it may be that all failures have a property by chance."""


def _is_padded(parts: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> bool:
    return "vocab_size" in parts and any(tokens_of([row]) > parts["vocab_size"] for row in rows)


def _is_narrow(_: object, rows: Sequence[Mapping[str, Any]]) -> bool:
    given = (row.get("logits", row.get("probs")) for row in rows)
    return all(isinstance(each, Mapping) and type_of(each) in {"f16", "bf16"} for each in given)


def _is_multiple(size: int, parts: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> bool:
    count = tokens_of(rows[:1])
    return count > 0 and int(parts.get("vocab_size", count)) % size == 0


_SIZES: Final = (1024, 512, 256, 128, 64, 32)

_PROPERTIES: Final[Mapping[str, Callable[[Mapping[str, Any], Sequence[Any]], bool]]] = {
    "rows are padded, and all others pass: perhaps `vocab_size` is ignored": _is_padded,
    "rows have numbers of 16 bits, and all others pass": _is_narrow,
    **{
        f"rows have a multiple of {size:,} tokens, and all others pass": partial(_is_multiple, size)
        for size in _SIZES
    },
}
"""Properties of questions, which only failures may have."""


def _only(failed: Mapping[str, Result], passed: Iterable[Case]) -> dict[str, str]:
    """Return what all failures of an operation have that few questions have, by operation."""
    wrong: dict[str, list[Case]] = {}
    for here in _by_place(failed).values():
        for seen in here.values():
            if seen.case.vocab is None:
                wrong.setdefault(_op(seen.case), []).append(seen.case)
    right: dict[str, list[Case]] = {op: [] for op in wrong}
    for case in passed:
        if (op := _op(case)) in right and not isinstance(case.verdict, MustRefuse):
            right[op].append(case)
    found = {}
    for op, others in right.items():
        asked, count = [*map(_parts_of, [*wrong[op], *others])], len(wrong[op])
        best = _BY_CHANCE
        for says, has in _PROPERTIES.items():
            if all(has(*each) for each in asked[:count]):
                share = sum(has(*each) for each in asked) / len(asked)
                tries = len(_SIZES) if isinstance(has, partial) else 1
                if share < 1 and (chance := tries * share**count) < best:
                    found[op], best = says, chance
    return found


def _parts_of(case: Case) -> tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]:
    """Return the parts of a question, and its rows."""
    parts = msgspec.to_builtins(case.input)
    return parts, parts.get("rows", [parts])


def _shared_facts(
    failed: Mapping[str, Result], only: Mapping[str, str]
) -> list[tuple[str, str, list[str]]]:
    """Return facts that enough failures of an operation have in common, what is said, and these.

    A fact is about a place; the batches of an operation count as its failures, too.
    """
    of_op = Counter(_op(seen.case) for here in _by_place(failed).values() for seen in here.values())
    together: dict[tuple[str, str], list[str]] = {}
    for fact, records in _of_facts(failed, only):
        together.setdefault((_op(failed[records[0]].case), fact), []).extend(records)
    found = []
    for (op, fact), records in together.items():
        if len(records) > of_op[op] / 2:
            found.append((fact, f"have in common: {fact}", records))
        elif len(records) >= max(2, of_op[op] / 3):
            part = f"{len(records):,} of {of_op[op]:,} failures of {op}"
            found.append((f"{part}: {fact}", f"Only {part} have in common: {fact}", records))
    return found


def _of_facts(
    failed: Mapping[str, Result], only: Mapping[str, str]
) -> Iterator[tuple[str, list[str]]]:
    """Yield what holds for most failures of an operation and says most, and these failures.

    What is known of the questions that fail says more than a vague fact.
    """
    for here in _by_place(failed).values():
        holds: dict[str, list[str]] = {}
        for record, seen in here.items():
            for fact in seen.facts:
                holds.setdefault(fact, []).append(record)
        places: Counter[str] = Counter()  # facts are in order of how much they say
        for seen in here.values():
            places |= Counter({fact: at for at, fact in enumerate(seen.facts)})
        if len(here) == 1:
            holds = {f: records for f, records in holds.items() if not f.startswith(ALL_WRONG)}
        if says := only.get(_op(next(iter(here.values())).case)):
            holds[says] = [*here]
        shared = [fact for fact, records in holds.items() if len(records) >= MOST * len(here)]
        if shared:
            vague = {fact for fact in shared if fact in VAGUE or OF_ANY_SUM in fact}
            vague |= {AT_THE_END} if says else set()
            rank = {fact: 1 if fact == says else 2 * (fact not in vague) for fact in shared}
            fact = max(shared, key=lambda f: (rank[f], len(holds[f]), -places[f]))
            plain, records = _without_size(fact), holds[fact]
            alike = [f for f in shared if _without_size(f) == plain and holds[f] == records]
            yield plain if len(alike) > 1 else fact, records


def _matches(
    signatures: Iterable[Signature],
    passed: AbstractSet[str],
    failed: Mapping[str, Result],
    fewest_hits: int = 1,
) -> list[_Match]:
    """Return how each cause fits that explains anything. Causes that fit equally are together."""
    together: dict[tuple[object, ...], _Match] = {}
    for each in signatures:
        predicted = frozenset(record for record in each.answers if record in failed)
        hits = frozenset(r for r in predicted if failed[r].answer == each.answers[r])
        if predicted and len(hits) >= fewest_hits:
            fit = hits, predicted - hits, len(passed & each.answers.keys())
            together.setdefault(fit, _Match([], *fit)).causes.append(each)
    for match in together.values():
        match.causes.sort(key=lambda cause: len(cause.answers))
    return list(together.values())


# ---- time


def too_slow(results: Iterable[Result]) -> Diagnosis | None:
    """Return the timeouts on long texts, if running time appears to be quadratic.

    It does if the engine gave up at a length that it would have reached in time if its running time
    were proportional to the length.
    """
    timed = [
        (length(each.case), each.milliseconds / 1000, each)
        for each in results
        if isinstance(each.case.input, TextInput)
    ]
    answered = [(size, time) for size, time, each in timed if each.status in {"pass", "fail"}]
    longest = max((size for size, _ in answered), default=0)
    late = [(size, time, each) for size, time, each in timed if each.status == "timeout"]
    beyond = [(size, time) for size, time, _ in late if size > longest]
    if not longest or not beyond:
        return None
    # Questions in one message share its time, so the shortest time says most.
    seconds = min(time for size, time in answered if size > longest / 2)
    shortest, waited = min(beyond)[0], max(time for _, time in beyond)
    if waited < seconds * (shortest / longest) ** _ABOVE_LINEAR:
        return None
    texts = f"{len(late):,} texts" if len(late) > 1 else "1 text"
    texts += f" of {shortest:,} or more characters"
    but = f"but one of {longest:,}"
    if waited > seconds * (2 * shortest / longest) ** _ABOVE_ANY:
        name = "no answer"
        sentence = f"{texts} got no answer in time, {but} took only {seconds:.2g} s"
    else:
        name = "quadratic time"
        sentence = f"Running time appears to be quadratic: {texts} took too long, {but} only "
        sentence += f"{seconds:.2g} s"
    return Diagnosis(name, sentence, [each.case.id for _, _, each in late])


_ABOVE_LINEAR: Final = 1.4
"""The exponent from which growth is taken to be quadratic, because measured times are inexact."""

_ABOVE_ANY: Final = 4
"""The exponent above which a program hangs rather than being slow. The shorter of the texts that
were answered may have taken the shortest time, so lengths are compared with half of the longest."""
