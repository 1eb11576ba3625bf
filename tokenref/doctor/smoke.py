"""The records that `tokenref doctor` tries first: a few short ones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from tokenref.catalogue import Catalogue, is_large
from tokenref.record import Case, canonical_json, op_of
from tokenref.verdicts import MustRefuse, Row, Rows, Seeds, Stat, Survey

_SHORT: Final = 100
"""Maximum length of a short question, in characters. Very short ones reveal few mistakes."""

SMOKE_CASES: Final = 3
"""How many records with an answer are tried per operation."""


_NO_ONE_ANSWER: Final = (MustRefuse, Row, Rows, Seeds, Stat, Survey)


@dataclass(frozen=True)
class Trial:
    """Records of one operation, one profile, and at most one vocabulary."""

    op: str
    profile: str
    vocab: str | None
    answered: Sequence[Case]
    """Short records with an answer, shortest first."""

    refused: Sequence[Case]
    """At most one record that must be refused."""


def trials(catalogue: Catalogue, op: str, profiles: Sequence[str]) -> Iterator[Trial]:
    """Yield the trials for an operation: those with shipped vocabularies first, short ones first.

    >>> from tokenref.catalogue import open_catalogue
    >>> first = next(trials(open_catalogue(), "encode", ["definition"]))
    >>> len(first.answered), len(first.refused), first.profile
    (3, 1, 'definition')
    """
    groups: dict[tuple[str, str | None], list[Case]] = {}
    for case in catalogue.cases:
        if op_of(case) == op and case.profile in profiles and not is_large(case):
            groups.setdefault((case.profile, case.vocab), []).append(case)
    found = []
    for (profile, vocab), cases in groups.items():
        cases.sort(key=_length)
        answered = [case for case in cases if not isinstance(case.verdict, _NO_ONE_ANSWER)]
        refused = [case for case in cases if isinstance(case.verdict, MustRefuse)]
        if answered:
            found.append(Trial(op, profile, vocab, _spread(answered), refused[:1]))
    # Those with all kinds of records come first, then short ones.
    found.sort(
        key=lambda trial: (
            len(trial.answered) < SMOKE_CASES,
            not trial.refused,
            sum(map(_length, trial.answered)),
        )
    )
    yield from (trial for trial in found if is_shipped(catalogue, trial.vocab))
    yield from (trial for trial in found if not is_shipped(catalogue, trial.vocab))


def is_shipped(catalogue: Catalogue, vocab: str | None) -> bool:
    """Return whether nothing must be loaded or the fixtures contain the file."""
    return vocab is None or catalogue.entry(vocab).path is not None


def canaries(catalogue: Catalogue, abilities: Mapping[str, Sequence[str]]) -> list[Case]:
    """Return the canaries for the operations and profiles that a program declares."""
    return [
        case
        for case in catalogue.canaries
        if case.profile in abilities.get(op_of(case), ()) and is_shipped(catalogue, case.vocab)
    ]


def _spread(cases: Sequence[Case]) -> Sequence[Case]:
    """Return the first, the middle and the last of the short records.

    Records with 16-bit floats are short but test something other than the operation.
    """
    wide = [case for case in cases if "SixteenBit" not in case.flags] or cases
    short = [case for case in wide if _length(case) <= _SHORT] or wide[:1]
    return [short[at] for at in sorted({0, len(short) // 2, len(short) - 1})]


def _length(case: Case) -> int:
    return len(canonical_json(msgspec.to_builtins(case.input)))
