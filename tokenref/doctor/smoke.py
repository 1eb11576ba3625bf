"""Which records a program is tried with first: a few that are as short as can be."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from tokenref.catalogue import Catalogue
from tokenref.record import Case, MustRefuse, canonical_json, op_of
from tokenref.verdicts import Seeds, Stat, Survey

_SHORT: Final = 100
"""Characters of a question that is short. One of a single token shows few mistakes."""

SMOKE_CASES: Final = 3
"""Records with an answer that are tried of each operation."""


_NO_ONE_ANSWER: Final = (MustRefuse, Seeds, Stat, Survey)


@dataclass(frozen=True)
class Trial:
    """Records of one operation, one profile, and one vocabulary or none."""

    op: str
    profile: str
    vocab: str | None
    answered: Sequence[Case]
    """Records with an answer, short ones, the shortest first."""

    refused: Sequence[Case]
    """Records that must be refused, one at most."""


def trials(catalogue: Catalogue, op: str, profiles: Sequence[str]) -> Iterator[Trial]:
    """Yield what an operation may be tried with: what comes with the fixtures first, short first.

    >>> from tokenref.catalogue import open_catalogue
    >>> first = next(trials(open_catalogue(), "encode", ["definition"]))
    >>> len(first.answered), len(first.refused), first.profile
    (3, 1, 'definition')
    """
    groups: dict[tuple[str, str | None], list[Case]] = {}
    for case in catalogue.cases:
        if op_of(case) == op and case.profile in profiles:
            groups.setdefault((case.profile, case.vocab), []).append(case)
    found = []
    for (profile, vocab), cases in groups.items():
        cases.sort(key=_length)
        answered = [case for case in cases if not isinstance(case.verdict, _NO_ONE_ANSWER)]
        refused = [case for case in cases if isinstance(case.verdict, MustRefuse)]
        if answered:
            found.append(Trial(op, profile, vocab, _spread(answered), refused[:1]))
    found.sort(key=_rank)
    yield from (trial for trial in found if is_shipped(catalogue, trial.vocab))
    yield from (trial for trial in found if not is_shipped(catalogue, trial.vocab))


def is_shipped(catalogue: Catalogue, vocab: str | None) -> bool:
    """Return whether nothing has to be loaded, or the fixtures have the file."""
    return vocab is None or catalogue.entry(vocab).path is not None


def canaries(catalogue: Catalogue, abilities: Mapping[str, Sequence[str]]) -> list[Case]:
    """Return the canaries about the operations and profiles that a program has."""
    return [
        case
        for case in catalogue.canaries
        if case.profile in abilities.get(op_of(case), ()) and is_shipped(catalogue, case.vocab)
    ]


def _rank(trial: Trial) -> tuple[bool, bool, int]:
    """Return a key that puts those first that have all kinds of records, then the short ones."""
    complete = len(trial.answered) == SMOKE_CASES
    return not complete, not trial.refused, sum(map(_length, trial.answered))


def _spread(cases: Sequence[Case]) -> Sequence[Case]:
    """Return the first, the middle and the last of the short ones, from the shortest on.

    Those of 16 bits are short, and about something else than the operation.
    """
    wide = [case for case in cases if "SixteenBit" not in case.flags] or cases
    short = [case for case in wide if _length(case) <= _SHORT] or wide[:1]
    return [short[at] for at in sorted({0, len(short) // 2, len(short) - 1})]


def _length(case: Case) -> int:
    return len(canonical_json(msgspec.to_builtins(case.input)))
