"""Name the likely cause of failures: a seeded bug, another rule, or another engine's rules.

Failures are compared with signatures, of all operations together and then of each alone, because a
mistake of one kernel shows in one operation only. Questions that are misread make more signatures,
of the records of the run alone. Failures that remain resemble a cause if the same records fail with
other answers. Batches that remain are answered again with parts of other rows, and steps in another
order. What remains then is named by a fact that most failures of an operation have in common, or by
a property that only these questions have. A fact about at most half of them says so, and one about
less than a third is not named. Invalid inputs that are not refused are a group of their own,
because many engines check less. All other failures have no known cause.
"""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import filterfalse, starmap
from math import nan
from typing import Final

import msgspec

from tokenref.answers import Ok
from tokenref.catalogue import CANARY
from tokenref.diagnosis.facts import DIFFERS, ORDERED, PADDED, REFUSED, VAGUE
from tokenref.diagnosis.questions import property_of_failures, too_slow
from tokenref.diagnosis.row_facts import ALL_WRONG, AT_THE_END, OF_ANY_SUM, ROUGHLY
from tokenref.diagnosis.signatures import (
    FEWEST,
    MOST,
    NEARLY_ALL,
    Diagnosis,
    Known,
    Reference,
    are_own_draws,
    by_place,
    in_words,
    known_causes,
    likely,
    likely_there,
    matches_of,
    similar,
)
from tokenref.judge import FAILURES
from tokenref.questions.sampling import tokens_of
from tokenref.record import OPS, OWN_DRAW_OPS, Case, op_of, rows_op
from tokenref.result import (
    Result,
    answer_digest,
    digest,
    place_of,
    row_questions,
    size,
    without_values,
)
from tokenref.verdicts import MustRefuse
from tokenref.visible import visible

UNSPECIFIC: Final = frozenset(
    {
        *("stages", "long inputs", "late diagnosis"),
        *("invalid input", "known differences", "late draws"),
    }
)
"""Names of groups whose failures have no likely cause."""


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
    passed = {digest(seen.case.id): seen.case for seen in results if seen.status == "pass"}
    asked = (seen for seen in results if seen.status in FAILURES - {"timeout", "xpass"})
    failed = {digest(seen.case.id): seen for seen in asked}
    unexpected = [seen.case.id for seen in results if seen.status == "xpass"]
    says = "that the list of known differences names"
    found += _counted("known differences", unexpected, "record passes", "records pass", says)
    late = [s.case.id for s in results if s.status == "timeout" and op_of(s.case) in OWN_DRAW_OPS]
    says = "many draws and got no answer in time: allow more, such as --timeout 60"
    found += _counted("late draws", late, "question asks for", "questions ask for", says)
    named = {case_id for each in found for case_id in each.ids}
    late_too = [s for s in results if s.status == "timeout" and s.case.id not in named]
    found += _by_message("timeout", late_too, "timed out")
    stages = [failed.pop(record).case.id for record in [*failed] if _is_right(failed[record])]
    if not failed and not stages:
        return found
    unsteady = [failed.pop(record).case for record in _unsteady(failed)]
    if unsteady:
        ids = [case.id for case in unsteady]
        found.append(_diagnosis(DIFFERS, f"have in common: {DIFFERS}", ids))
    known = known or known_causes()
    if len(failed) == 1 and not (passed or unsteady or stages):
        (seen,) = failed.values()
        if alone := [*_of_one(seen, known, reference)]:
            return [*found, *alone]
    naming = _Naming(known, passed, failed, fewest, reference, {*map(rows_op, unsteady)})
    for name_more in _IN_ORDER:
        name_more(naming)
    found += naming.diagnoses()
    rest = naming.unnamed
    crashes = [record for record, seen in rest.items() if seen.status == "crash"]
    found += _by_message("crash", [rest.pop(record) for record in crashes], "crashed")
    says = "in a stage only; the answer is right"
    found += _counted("stages", stages, "failure is", "failures are", says)
    long = [seen for record, seen in naming.long.items() if record in rest]
    says = f"about inputs too long to be compared with known causes{_in_most(long)}"
    long_ids = sorted(seen.case.id for seen in long)
    found += _counted("long inputs", long_ids, "failure is", "failures are", says)
    late = sorted(rest[r].case.id for r in naming.late & rest.keys() - naming.long.keys())
    says = "not compared with all misread questions, for lack of time"
    found += _counted("late diagnosis", late, "failure was", "failures were", says)
    accepted = [
        seen.case.id
        for record, seen in rest.items()
        if record in naming.failed and isinstance(seen.case.verdict, MustRefuse)
    ]
    says = "not refused with the right code"
    found += _counted("invalid input", accepted, "invalid input was", "invalid inputs were", says)
    return found


def _counted(name: str, ids: Sequence[str], one: str, several: str, says: str) -> list[Diagnosis]:
    """Return failures without a likely cause as a group, if there are any."""
    these = several if len(ids) > 1 else one
    return [Diagnosis(name, f"{len(ids):,} {these} {says}", ids)] if ids else []


def _in_most(several: Sequence[Result]) -> str:
    """Return a fact about half of these failures or more, as the end of a sentence, if any is."""
    counts = Counter(fact for seen in several for fact in seen.facts)
    fact, count = (*counts.most_common(1), ("", 0))[0]  # of equals, the first says most
    return f"; of {count:,}, {_without_size(fact)}" if 2 * count >= len(several) > 0 else ""


_MOST_MESSAGES: Final = 20
"""How many messages of failures without an answer are groups of their own."""


def _by_message(name: str, several: Sequence[Result], what: str) -> Iterator[Diagnosis]:
    """Yield failures without an answer, those with the same message together.

    Messages may differ in numbers and quoted words, but not in what is on standard error.
    """
    groups: dict[str, list[str]] = {}
    for seen in several:
        message = without_values(seen.judgement.detail, None)
        groups.setdefault(visible(message[:300]), []).append(seen.case.id)
    in_order = sorted(groups.items(), key=lambda group: -len(group[1]))
    for message, ids in in_order[:_MOST_MESSAGES]:
        yield from _counted(
            f"{name}: {message}", sorted(ids), "question", "questions", f"{what}: {message}"
        )
    rest = sorted(case_id for _, ids in in_order[_MOST_MESSAGES:] for case_id in ids)
    yield from _counted(name, rest, "question", "questions", f"{what} with other messages")


_MOST_OF_ONE: Final = 4
"""How many causes of a failure that was asked alone are said."""


def _of_one(seen: Result, known: Known, reference: Reference | None) -> Iterator[Diagnosis]:
    """Yield all that explains a failure if nothing else was asked, which shows no size of blocks.

    So what is said fits what a whole run shows, which excludes most of it.
    """
    case, op, record = seen.case, op_of(seen.case), digest(seen.case.id)
    if seen.status != "fail" or op in OWN_DRAW_OPS or isinstance(case.verdict, MustRefuse):
        return
    alike = [each for each in known.causes if each.answers.get(record) == seen.answer]
    names = {in_words(each): each.name for each in alike}
    if reference is not None and case.vocab is None:
        from tokenref.diagnosis.misread_questions import exchanged
        from tokenref.diagnosis.misreadings import Patience, misread, said_of, usual

        patience = Patience()
        for ways in (exchanged, usual):
            for name, answer, _ in misread(case, reference, patience.some(ways)):
                if answer_digest(op, answer) == seen.answer:
                    names[_without_size(said_of(name))] = said_of(name)
    telling = [fact for fact in seen.facts if fact not in VAGUE and OF_ANY_SUM not in fact]
    facts = telling or (() if names else seen.facts[:1])
    names |= {_without_size(fact): fact for fact in facts}
    if names:
        shown = [*names][:_MOST_OF_ONE]
        more = [f"{len(names) - len(shown)} more"] if len(names) > len(shown) else []
        fits = "fits several causes" if len(names) > 1 else "fits"
        says = f"Asked alone, this failure {fits}: {'; or '.join([*shown, *more])}"
        yield Diagnosis(" or ".join([*map(_without_size, names.values())]), says, [case.id])


def _unsteady(failed: Mapping[str, Result]) -> list[str]:
    """Return the failures whose answers differ, and all of an operation if a third of it are."""
    differ = [record for record, seen in failed.items() if DIFFERS in seen.facts]
    of_op = Counter(rows_op(seen.case) for seen in failed.values())
    there = Counter(rows_op(failed[record].case) for record in differ)
    whole = {op for op, count in there.items() if count >= of_op[op] / 3}
    return [r for r, seen in failed.items() if r in differ or rows_op(seen.case) in whole]


_BLOCK: Final = re.compile(r"(\bblocks? of )\d+(,\d{3})*( tokens)?")


def _without_size(says: str) -> str:
    """Return a fact without the size of a block.

    >>> _without_size("only numbers of the last block of 1,024, which is incomplete, are wrong")
    'only numbers of the last block, which is incomplete, are wrong'
    """
    return _BLOCK.sub(lambda found: found[1].removesuffix(" of "), says)


def _of_known_size(group: str, says: str, cases: Sequence[Case]) -> tuple[str, str]:
    """Return a fact, and what is said, without a size of blocks if all rows have one length."""
    rows = (row for case in cases for row in row_questions(case))
    if not _BLOCK.search(group) or len({tokens_of([row]) for row in rows}) > 1:
        return group, says
    return _without_size(group), _without_size(says)


# ---- naming

_MANY_PLACES: Final = 2
"""How many operations fail if what they have in common says more than a cause of one of them."""


class _Naming:
    """Failures, and what is said about those that have a name."""

    def __init__(
        self,
        known: Known,
        passed: Mapping[str, Case],
        failed: dict[str, Result],
        fewest: int,
        reference: Reference | None,
        unsteady: AbstractSet[str],
    ) -> None:
        """Begin without any name. Inputs that were not asked of all causes are set aside."""
        self.passed, self.failed, self.every = passed, failed, {**failed}
        self.unsteady = unsteady
        """The operations that answer one question in several ways."""

        self.fewest, self.reference = fewest, reference
        self.late = set[str]()
        """Failures that were not misread in every way, for lack of time."""
        if reference is not None:
            from tokenref.diagnosis.asked import MOST_AGAIN
            from tokenref.diagnosis.misreadings import signatures_of_misread, usual

            again = signatures_of_misread(failed, passed, reference, usual, MOST, self.late)
            asked = {r: s.case for r, s in failed.items() if op_of(s.case) not in OWN_DRAW_OPS}
            longest = {record for record, case in asked.items() if size(case)[0] > MOST_AGAIN}
            known = Known([*known.causes, *again], known.left_out | longest)
        self.known, self.matches = known, matches_of(known.causes, passed.keys(), failed)
        hit = {record for match in self.matches for record in match.hits}
        left_out = [record for record in known.left_out - hit if record in failed]
        self.long = {record: failed.pop(record) for record in left_out}
        """What was not asked of all causes, and so proves none."""

        self.left = {**failed}
        """What has no name yet, without long inputs."""

        self.unnamed = {**failed, **self.long}
        self.groups: dict[str, tuple[str, list[str]]] = {}
        """For each name, what is said about its failures, and their ids."""

        self.unclear: set[str] = set()
        """The ids of failures that could not be compared with the cause they are said to have."""

    def name(self, group: str, says: str, records: Iterable[str]) -> None:
        """Give those of the records a name that have none."""
        here = [record for record in records if record in self.unnamed]
        group, says = _of_known_size(group, says, [self.unnamed[record].case for record in here])
        for record in here:
            self.groups.setdefault(group, (says, []))[1].append(self.unnamed.pop(record).case.id)
            self.left.pop(record, None)

    def name_at_once(self) -> None:
        """Name what nearly all failures have in common if no cause explains most of them."""
        valid = {r: seen for here in by_place(self.every).values() for r, seen in here.items()}
        telling = [r for r, seen in valid.items() if not all(map(_is_rough, seen.facts))]
        best = max((len(match.hits) for match in self.matches), default=0)
        fewest = max(NEARLY_ALL * len(telling), MOST * len(valid), 2 * FEWEST)
        if best >= fewest or len({place_of(seen.case) for seen in valid.values()}) < _MANY_PLACES:
            return
        counts = Counter(fact for record in telling for fact in valid[record].facts)
        for fact, count in counts.items():
            if (fact in {PADDED, ORDERED} or not is_vague(fact)) and count >= fewest:
                self.name(fact, *_with_like(fact, {record: valid[record] for record in telling}))
                return

    def name_by_signatures(self) -> None:
        """Name the causes that explain the failures of all operations together."""
        for match in likely(self.matches, self.failed, self.fewest, self.known.left_out):
            is_own = are_own_draws(match, self.failed)
            facts = Counter(fact for record in match.hits for fact in self.failed[record].facts)
            is_fact = max(facts.values(), default=0) >= MOST * len(match.hits)
            if is_own and len(match.causes) > 1 and is_fact:
                continue  # a fact says more than bugs of which only is known which draws fail
            self.name(match.name, match.said(("match", "resemble")[is_own]), match.hits)
        self._set_aside()

    def name_by_operation(self) -> None:
        """Name the causes that explain the failures of one operation."""
        for match in likely_there(self.known, self.passed, self.left, self.fewest):
            self.name(match.name, match.said("match, in some operations only,"), match.hits)
        self._set_aside()

    def name_similar(self) -> None:
        """Name the causes that make the same records fail, though with other answers."""
        for here in [{**self.left}, *by_place(self.left).values()]:
            for match in similar(self.known.causes, self.passed, here, self.failed):
                self.name(match.name, match.said("resemble"), match.hits | match.others)

    def name_exchanged(self) -> None:
        """Name parts of other rows of a batch, and other steps, that give the answers."""
        rest, ops = self._rest(), {"steps"}
        if self.reference is not None:
            from tokenref.diagnosis.misread_questions import exchanged
            from tokenref.diagnosis.misreadings import signatures_of_misread

            again = signatures_of_misread(
                rest, self.passed, self.reference, exchanged, NEARLY_ALL, self.late
            )
            known = self.known._replace(causes=again)
            together = likely(
                matches_of(again, self.passed.keys(), rest), rest, self.fewest, known.left_out
            )
            for match in [*together, *likely_there(known, self.passed, rest, self.fewest)]:
                self.name(match.name, match.said("resemble"), match.hits)
                ops |= {rows_op(rest[record].case) for record in match.hits}
        self.name_like_others(ops)

    def name_like_unsteady(self) -> None:
        """Name what is left of unsteady operations if it has nothing telling in common."""
        valid = [(r, s) for each in by_place(self._rest()).values() for r, s in each.items()]
        here = {r: s for r, s in valid if self.unsteady & {rows_op(s.case), *_steps_of(s.case)}}
        if len(here) >= FEWEST and all(is_vague(fact) for fact, _ in _of_facts(here, {})):
            says = f"have no known cause of their own, but elsewhere {DIFFERS}"
            self.name(f"elsewhere {DIFFERS}", says, here)

    def name_by_facts(self) -> None:
        """Name what most failures of an operation have in common."""
        rest = self._rest()
        named = self.every.keys() - self.unnamed.keys()  # whose operations have another cause
        ops = {rows_op(seen.case) for seen in rest.values()}
        ops -= {rows_op(self.every[record].case) for record in named}
        only = property_of_failures(self.every, self.passed.values(), ops)
        few = []
        for each in _shared_facts(rest, only):
            if is_vague(each[0]) and len(each[2]) < FEWEST:
                few.append(each)
            else:
                self.name(*each)
        are_nan = f"{ALL_WRONG}{nan!r}"  # which is no chance, however few they are
        found = [record for record, seen in rest.items() if are_nan in seen.facts]
        self.name(are_nan, f"have in common: {are_nan}", found)
        self.name_like_others()  # which says more than a vague fact about one or two
        for each in few:
            self.name(*each)

    def name_like_others(self, ops: Container[str] = OPS) -> None:
        """Give what is left of these operations the names of others like it."""
        others = self._like_others(ops)
        unclear = {r for r in others if not self.unnamed[r].case.id.startswith(CANARY)}
        added = Counter(others[record] for record in unclear)
        sizes = {seen.case.id: size(seen.case) for seen in self.every.values()}
        for record, group in others.items():
            ids = self.groups[group][1]
            clear = [each for each in ids if each not in self.unclear]
            if record in unclear and (
                added[group] > len(clear)  # most of the group would be guessed
                or size(self.unnamed[record].case) < min(sizes[each] for each in clear)
            ):
                continue
            case_id = self.unnamed.pop(record).case.id
            ids.append(case_id)
            self.unclear.update([case_id] * (record in unclear))

    def _like_others(self, ops: Container[str]) -> dict[str, str]:
        """Return failures without a name, each with a cause that was named for its operation.

        They are canaries, because an engine that gives a wrong answer of theirs has a bug that
        other records show, too. If one cause was named, they are inputs that are too long to be
        compared, and fused steps, because seeded bugs are in steps that are asked alone.
        """
        op_of_id = {seen.case.id: rows_op(seen.case) for seen in self.every.values()}
        causes: dict[str, list[str]] = {}
        for group, (_, ids) in self.groups.items():
            for op in dict.fromkeys(op_of_id[case_id] for case_id in ids):
                causes.setdefault(op, []).append(group)
        found = {}
        for record, seen in self.unnamed.items():
            op = rows_op(seen.case)
            about = [op, *_steps_of(seen.case)] if op in ops else []
            named = dict.fromkeys(each for op in about for each in causes.get(op, ()))
            group, *others = named or [""]
            is_like = record in self.long or op == "steps"
            is_one = is_like and not others and group not in VAGUE and not is_of_few(group)
            if group and (is_one or seen.case.id.startswith(CANARY)):
                found[record] = group
        return found

    def _set_aside(self) -> None:
        """Ask no cause about long inputs to operations of which another was named."""
        named = self.failed.keys() - self.left.keys()
        ops = {rows_op(self.failed[record].case) for record in named}
        for record in self.known.left_out & self.left.keys():
            if rows_op(self.left[record].case) in ops:
                self.long[record] = self.left.pop(record)

    def _rest(self) -> dict[str, Result]:
        """Return what is left, with long inputs to operations without a name."""
        named = self.failed.keys() - self.left.keys()
        explained = {place_of(self.failed[record].case) for record in named}
        return {
            record: seen
            for record, seen in self.unnamed.items()
            if record in self.left or place_of(seen.case) not in explained
        }

    def diagnoses(self) -> list[Diagnosis]:
        """Return all that is said, also which failures could not be compared, or lie otherwise."""
        return [*starmap(self._diagnosis, self.groups.items())]

    def _diagnosis(self, group: str, said: tuple[str, list[str]]) -> Diagnosis:
        says, ids = said
        if part := "" if is_of_few(group) else self._part(ids):
            says = _one(says) if len(ids) == 1 else says
            return Diagnosis(f"{part}: {group}", f"Only {part} {says}", ids)
        ordered = {seen.case.id for seen in self.failed.values() if ORDERED in seen.facts}
        sizes = (getattr(case.input, "vocab_size", msgspec.UNSET) for case in self._cases(ids))
        is_telling = any(size is msgspec.UNSET for size in sizes)  # not all are padded as well
        if (
            group not in {PADDED, ORDERED}
            and len(ids) >= FEWEST
            and ordered.issuperset(ids)
            and is_telling
        ):
            says = f"{says}; in all of them, {ORDERED}"
        if count := len(self.unclear.intersection(ids)) if not is_of_few(group) else 0:
            they = "they are long or have" if count > 1 else "it is long or has"
            rest = f"could not be compared, because {they} several steps"
            says = f"{says}; {count:,} of them {rest}"
        return _diagnosis(group, says, ids)

    def _cases(self, ids: Iterable[str]) -> list[Case]:
        wanted = {*ids}
        return [seen.case for seen in self.every.values() if seen.case.id in wanted]

    def _part(self, ids: Sequence[str]) -> str:
        """Return of how many failures these are a minority, if more like them have no name.

        Those like them are of the same operations and steps, and all draws with own numbers.
        """
        cases = self._cases(ids)
        ops = {op for case in cases for op in (rows_op(case), *_steps_of(case))}
        ops |= set(OWN_DRAW_OPS) if ops & set(OWN_DRAW_OPS) else set()
        rest = {record: seen for record, seen in self.unnamed.items() if record not in self.long}
        valid = [seen for here in by_place(rest).values() for seen in here.values()]
        more = [rows_op(seen.case) for seen in valid if seen.status != "crash"]
        more = [op for op in more if op in ops]
        if len(ids) >= len(more):
            return ""
        names = dict.fromkeys([*map(rows_op, cases), *more])
        return f"{len(ids):,} of {len(ids) + len(more):,} failures of {', '.join(names)}"


_IN_ORDER: Final[Sequence[Callable[[_Naming], None]]] = (
    _Naming.name_at_once,
    _Naming.name_by_signatures,
    _Naming.name_by_operation,
    _Naming.name_similar,
    _Naming.name_exchanged,
    _Naming.name_like_unsteady,
    _Naming.name_by_facts,
    _Naming.name_like_others,
)
"""How failures get their names. What has one keeps it."""


def _steps_of(case: Case) -> list[str]:
    """Return the operations of the steps of a question, and whether it draws."""
    rows = row_questions(case)
    steps = (step for row in rows for step in row.get("steps", ()) if isinstance(step, dict))
    drawn = ["draw"] if any("draw" in row for row in rows) else []
    return [*dict.fromkeys(step["step"] for step in steps), *drawn]


def _diagnosis(group: str, says: str, ids: Sequence[str]) -> Diagnosis:
    if is_of_few(group):
        return Diagnosis(group, says, ids)
    these = f"These {len(ids):,} failures {says}" if len(ids) > 1 else f"This failure {_one(says)}"
    return Diagnosis(group, these, ids)


_OF_ONE: Final = {"match": "matches", "resemble": "resembles", "have": "shows:"}


def _one(says: str) -> str:
    """Return what is said about several failures as it is said about one."""
    verb, _, rest = says.partition(" ")
    return f"{_OF_ONE[verb]} {rest.removeprefix('in common: ')}"


def _with_like(fact: str, here: Mapping[str, Result]) -> tuple[str, list[str]]:
    """Return what is said about failures with a fact, and of those with other numbers in it."""
    own = [record for record, seen in here.items() if fact in seen.facts]
    plain = without_values(fact)
    like = [r for r, s in here.items() if r not in own and plain in map(without_values, s.facts)]
    others = f"; of {len(like):,} with other numbers" if like else ""
    return f"have in common: {fact}{others}", own + like


def is_of_few(group: str) -> bool:
    """Return whether a group is of a fact that holds for a minority of an operation's failures.

    >>> is_of_few("2 of 5 failures of top_k: one token more is kept"), is_of_few("one")
    (True, False)
    """
    return re.match(r"[\d,]+ of [\d,]+ failures of ", group) is not None


def is_vague(fact: str) -> bool:
    """Return whether a fact holds for many mistakes.

    >>> is_vague("all wrong numbers are nan"), is_vague("the sum lacks the first token")
    (True, False)
    """
    return fact in VAGUE or OF_ANY_SUM in fact or fact.startswith((ALL_WRONG, REFUSED))


def _is_rough(fact: str) -> bool:
    return fact.startswith(ROUGHLY)


def _shared_facts(
    failed: Mapping[str, Result], only: Mapping[str, str]
) -> list[tuple[str, str, list[str]]]:
    """Return facts that enough failures of an operation have in common, what is said, and these.

    A fact is about a place; the batches of an operation count as its failures, too.
    """
    of_op = Counter(
        rows_op(seen.case) for here in by_place(failed).values() for seen in here.values()
    )
    together: dict[tuple[str, str], list[str]] = {}
    for fact, records in _of_facts(failed, only):
        together.setdefault((rows_op(failed[records[0]].case), fact), []).extend(records)
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
    for here in by_place(failed).values():
        holds: dict[str, list[str]] = {}
        for record, seen in here.items():
            for fact in filterfalse(_is_rough, seen.facts):
                holds.setdefault(fact, []).append(record)
        places: Counter[str] = Counter()  # facts are in order of how much they say
        for seen in here.values():
            places |= Counter({fact: at for at, fact in enumerate(seen.facts)})
        if len(here) == 1:
            holds = {f: records for f, records in holds.items() if not f.startswith(ALL_WRONG)}
        if says := only.get(rows_op(next(iter(here.values())).case)):
            holds[says] = [*here]
        shared = [fact for fact, records in holds.items() if len(records) >= MOST * len(here)]
        if shared:
            vague = {f for f in shared if is_vague(f) or (says and f == AT_THE_END)}
            rank = {fact: 1 if fact == says else 2 * (fact not in vague) for fact in shared}
            fact = max(shared, key=lambda f: (rank[f], len(holds[f]), -places[f]))
            plain, records = _without_size(fact), holds[fact]
            alike = [f for f in shared if _without_size(f) == plain and holds[f] == records]
            yield plain if len(alike) > 1 else fact, records
