"""The total order is that of the bit patterns, read as Rust's documentation says."""

from fractions import Fraction
from itertools import combinations, product
from math import inf, nan
from struct import pack, unpack

from hypothesis import given
from hypothesis import strategies as st

from sampling_ref.numbers.orders import greatest_first, last_greatest, total_order_key

IN_ORDER = [-nan, -inf, -2.0, -1.0, -(2.0**-149), -0.0, 0.0, 2.0**-149, 1.0, 2.0, inf, nan]
FLOATS = st.sampled_from(IN_ORDER) | st.floats() | st.floats(width=32)


def pattern(number: float) -> int:
    """Return the 64 bits as an integer that sorts as IEEE 754's totalOrder does.

    The bits without the sign are the distance from zero; a set sign turns them round, so
    that -0 comes just before +0.
    """
    (word,) = unpack(">Q", pack(">d", number))
    magnitude = int(word) & (2**63 - 1)
    return magnitude if word < 2**63 else -magnitude - 1


def test_the_order_is_the_documented_one() -> None:
    assert sorted(IN_ORDER[6:] + IN_ORDER[:6], key=total_order_key) == IN_ORDER
    for lower, higher in combinations(IN_ORDER, 2):
        assert total_order_key(lower) < total_order_key(higher)


@given(FLOATS, FLOATS)
def test_numbers_compare_as_their_bit_patterns(a: float, b: float) -> None:
    assert (total_order_key(a) < total_order_key(b)) == (pattern(a) < pattern(b))
    assert (total_order_key(a) == total_order_key(b)) == (pattern(a) == pattern(b))


def test_of_nans_the_larger_significand_is_farther_from_zero() -> None:
    quiet, larger = (unpack("<f", pack("<I", word))[0] for word in (0x7FC00000, 0x7FC00001))
    assert total_order_key(-larger) < total_order_key(-quiet) < total_order_key(-inf)
    assert total_order_key(inf) < total_order_key(quiet) < total_order_key(larger)


def test_fractions_and_integers_stand_among_the_floats_with_one_zero() -> None:
    assert total_order_key(Fraction(0)) == total_order_key(0) == total_order_key(0.0)
    assert total_order_key(-0.0) < total_order_key(0)
    assert total_order_key(0.25) < total_order_key(Fraction(1, 3)) < total_order_key(0.5)
    assert total_order_key(10**400) > total_order_key(1e308)


@given(st.lists(FLOATS, min_size=1, max_size=8))
def test_the_last_greatest_is_no_less_than_any_and_greater_than_any_later(row: list[float]) -> None:
    keys = [pattern(number) for number in row]
    token = last_greatest(row)
    assert all(keys[token] >= key for key in keys)
    assert all(keys[token] > key for key in keys[token + 1 :])


@given(st.lists(FLOATS, min_size=1, max_size=8))
def test_greatest_first_falls_and_leaves_equals_as_they_were(row: list[float]) -> None:
    tokens = greatest_first(row)
    assert sorted(tokens) == list(range(len(row)))
    places = {token: place for place, token in enumerate(tokens)}
    for a, b in product(tokens, repeat=2):
        if pattern(row[a]) > pattern(row[b]) or (pattern(row[a]) == pattern(row[b]) and a < b):
            assert places[a] < places[b]
