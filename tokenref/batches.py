"""The order in which questions are put: mixed, so that no engine lives by it, and repeatable."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Final

from tokenref.record import Case, op_of

LARGEST: Final = 64
"""The most questions that are put at once."""


def batches(cases: Sequence[Case], seed: int, most: int = LARGEST) -> Iterator[list[int]]:
    """Yield the numbers of cases that are asked together: of one operation, profile and vocabulary.

    All of one vocabulary follow each other, and in these all of one profile, so
    that each is loaded once. Otherwise the order is random, as `seed` has it.
    """
    random = Random(seed)
    groups: dict[tuple[str, str], dict[str, list[int]]] = {}
    for number, case in enumerate(cases):
        group = groups.setdefault((case.vocab or "", case.profile), {})
        group.setdefault(op_of(case), []).append(number)
    for key in sorted(groups):
        together: list[list[int]] = []
        for _, numbers in sorted(groups[key].items()):
            random.shuffle(numbers)
            together += (numbers[at : at + most] for at in range(0, len(numbers), most))
        random.shuffle(together)
        yield from together
