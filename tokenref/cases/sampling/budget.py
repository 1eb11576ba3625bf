"""How many records of an operation may have more than one right answer: one in twenty."""

from collections.abc import Iterable

from tokenref.record import Case, op_of
from tokenref.verdicts import Either, Set

ONE_IN: int = 20


class BudgetError(ValueError):
    """Too many records of an operation let several answers pass."""


def check_budget(cases: Iterable[Case]) -> None:
    """Raise `BudgetError` if more than one in twenty records of an operation is not exact.

    Records whose numbers may differ by units in the last place are not meant: there every
    answer is judged, only not bit by bit.

    >>> check_budget([])
    """
    every: dict[str, int] = {}
    several: dict[str, int] = {}
    for case in cases:
        op = op_of(case)
        every[op] = every.get(op, 0) + 1
        several[op] = several.get(op, 0) + isinstance(case.verdict, Either | Set)
    for op, count in several.items():
        if count * ONE_IN > every[op]:
            raise BudgetError(
                f"{op}: at most one in {ONE_IN} records may have several right answers, "
                f"got {count} of {every[op]}"
            )
