"""The total order of floats, in which Rust programs sort: `f32::total_cmp`.

IEEE 754-2019, section 5.10, the totalOrder predicate; Rust's documentation of
`f32::total_cmp` (https://doc.rust-lang.org/std/primitive.f32.html#method.total_cmp).

    negative NaN < minus infinity < negative numbers < -0 < +0 < positive numbers
    < plus infinity < positive NaN

Every two floats that differ in a bit differ in this order. What is left open, and what
programs do about it:

Equals
    The order says nothing about where equals go. `max_by` returns the last of them
    (`last_greatest`), and `sort_by` keeps them as they were (`greatest_first`).
NaNs among themselves
    Of two NaNs with the same sign the one with the larger significand is farther from
    zero. A 32-bit NaN keeps its sign and its significand's order as a 64-bit one, so the
    order of the 32-bit patterns is found here too.
Other exact numbers
    An `int` or a `Fraction` stands where it lies among the floats. It has one zero, +0.
"""

from math import copysign
from struct import pack, unpack

from sampling_ref.row import Number, Row, TokenId

TotalOrderKey = tuple[int, Number, bool]
"""What a number is sorted by: below, among or above the numbers; its place; whether it is +0."""


def total_order_key(number: Number) -> TotalOrderKey:
    """Return a key that sorts numbers in the total order.

    >>> sorted([float("nan"), 0.0, float("-inf"), -0.0, 1.5], key=total_order_key)
    [-inf, -0.0, 0.0, 1.5, nan]
    >>> total_order_key(-0.0) < total_order_key(0) == total_order_key(0.0)
    True
    """
    if not isinstance(number, float):
        return 0, number, number == 0
    if number == number:  # noqa: PLR0124 - only a NaN is unequal to itself
        return 0, float(number), number == 0 and copysign(1.0, number) > 0
    (pattern,) = unpack(">q", pack(">d", number))  # with its sign bit a negative integer
    significand = pattern & (2**52 - 1)
    return (1, significand, False) if pattern >= 0 else (-1, -significand, False)


def last_greatest(row: Row) -> TokenId:
    """Return the highest id among the greatest numbers: `max_by` with `total_cmp`.

    >>> last_greatest([0.5, 2.0, 2.0]), last_greatest([0.0, -0.0])
    (2, 0)
    >>> last_greatest([float("nan"), float("inf")])
    0
    """
    return max(reversed(range(len(row))), key=lambda token: total_order_key(row[token]))


def greatest_first(row: Row) -> list[TokenId]:
    """Return all token ids by falling number, equals by rising id.

    This is what `sort_by` makes of the ids 0, 1, 2, ... with `total_cmp` the other way round.

    >>> greatest_first([0.5, -0.0, 0.0, 0.5])
    [0, 3, 2, 1]
    """
    return sorted(range(len(row)), key=lambda token: total_order_key(row[token]), reverse=True)
