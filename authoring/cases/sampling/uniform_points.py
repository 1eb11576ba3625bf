"""Random numbers where a decision changes: at a point, one step below it, one step above it."""

from collections.abc import Iterable
from fractions import Fraction
from itertools import accumulate
from typing import Final, NamedTuple

from tokenref.floats import DIGITS, Type, from_digits, nearest, to_digits

LARGEST: Final = {"f32": 1 - 2.0**-24, "f64": 1 - 2.0**-53}
"""The largest number below 1 of a type."""


class Point(NamedTuple):
    """A random number, its name, and the place of the decision that it is at or beside."""

    name: str
    value: float
    end: Fraction | None = None
    """The point of decision, if this is one or a step beside it."""

    side: int = 0
    """-1, 0 or 1: below the point, at it, above it."""


def step(value: float, by: int, dtype: Type) -> float:
    """Return the number of a type that is `by` steps above a positive one.

    >>> step(0.5, -1, "f32") == 0.5 - 2**-25
    True
    """
    digits = DIGITS[dtype]
    return from_digits(f"{int(to_digits([value], dtype), 16) + by:0{digits}x}", dtype)[0]


def is_held(value: Fraction, dtype: Type) -> bool:
    """Return whether a type can represent a number exactly.

    >>> is_held(Fraction(1, 3), "f64"), is_held(Fraction(3, 8), "f32")
    (False, True)
    """
    return Fraction(nearest(value, dtype)) == value


def points_at(ends: Iterable[Fraction], dtype: Type, *, edges: bool = True) -> list[Point]:
    """Return 0, every point inside (0, 1) with its two neighbours, and the largest below 1.

    Points that the type does not hold exactly are left out: nobody knows on which side of
    them a rounded comparison falls.

    >>> [point.name for point in points_at([Fraction(1, 2), Fraction(1, 3)], "f32")]
    ['zero', 'below-1-2', 'at-1-2', 'above-1-2', 'largest']
    """
    found = [Point("zero", 0.0)] if edges else []
    for end in sorted({end for end in ends if 0 < end < 1 and is_held(end, dtype)}):
        name = f"{end.numerator}-{end.denominator}"
        for side, word in ((-1, "below"), (0, "at"), (1, "above")):
            value = step(float(end), side, dtype)
            found.append(Point(f"{word}-{name}", value, end, side))
    return [*found, Point("largest", LARGEST[dtype])] if edges else found


def ends_of(weights: Iterable[float]) -> list[Fraction]:
    """Return the running shares of a row.

    >>> ends_of([2.0, 1.0, 1.0])
    [Fraction(1, 2), Fraction(3, 4), Fraction(1, 1)]
    """
    sums = list(accumulate(map(Fraction, weights)))
    return [part / sums[-1] for part in sums]
