"""How many records of an operation may have more than one right answer: one in twenty."""

from collections.abc import Iterable
from typing import Final

from authoring.cases.draft import PurposeError
from tokenref.record import ROW_OPS, Case, op_of
from tokenref.verdicts import Either, Set

ONE_IN: Final = 20

OF_NUMBERS: Final = frozenset({*ROW_OPS, "softmax", "logprobs", "distribution", "residual"})
"""Operations that calculate, and decide nothing: their answers are numbers, some near enough."""


class BudgetError(PurposeError):
    """Too many records of an operation let several answers pass."""


def check_budget(cases: Iterable[Case]) -> None:
    """Raise `BudgetError` if more than one in twenty records that decide are not exact.

    >>> check_budget([])
    """
    every: dict[str, int] = {}
    several: dict[str, int] = {}
    for case in cases:
        op = op_of(case)
        if op not in OF_NUMBERS:
            every[op] = every.get(op, 0) + 1
            several[op] = several.get(op, 0) + isinstance(case.verdict, Either | Set)
    for op, count in several.items():
        if count * ONE_IN > every[op]:
            raise BudgetError(
                f"{op}: at most one in {ONE_IN} records may have several right answers, "
                f"got {count} of {every[op]}"
            )
