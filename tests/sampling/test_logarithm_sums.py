"""The sign of a sum of logarithms is decided, zero included."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations
from math import gcd, prod

from hypothesis import given
from hypothesis import strategies as st

from sampling_ref.numbers.logarithm_sums import coprime_base, sign_of_logarithms
from tests.sampling.filtering import DIGITS
from tests.sampling.test_eta import decimal
from tests.texts import drawn

RATIONALS = st.fractions(min_value=Fraction(1, 50), max_value=50, max_denominator=50)
COEFFICIENTS = st.fractions(min_value=-5, max_value=5, max_denominator=12)


@drawn(40)
@given(st.lists(st.tuples(COEFFICIENTS, RATIONALS), max_size=6))
def test_many_digits_give_the_same_sign(terms: list[tuple[Fraction, Fraction]]) -> None:
    with localcontext(DIGITS):
        found = sum((decimal(c) * decimal(a).ln() for c, a in terms), start=Decimal(0))
    expected = 0 if abs(found) < Decimal("1e-60") else (found > 0) - (found < 0)
    assert sign_of_logarithms(terms) == expected


@drawn(40)
@given(st.lists(st.tuples(st.integers(-4, 4), RATIONALS), min_size=1, max_size=5))
def test_a_product_of_powers_cancels_against_itself(terms: list[tuple[int, Fraction]]) -> None:
    product = prod((argument**power for power, argument in terms), start=Fraction(1))
    assert sign_of_logarithms([*terms, (-1, product)]) == 0
    assert sign_of_logarithms([*terms, (-1, product * (1 + Fraction(1, 2**200)))]) == -1
    assert sign_of_logarithms([*terms, (-1, product * (1 - Fraction(1, 2**200)))]) == 1


@drawn(40)
@given(st.lists(st.integers(1, 10**6), max_size=6))
def test_the_base_is_coprime_and_every_number_is_a_product_of_it(numbers: list[int]) -> None:
    base = coprime_base(numbers)
    assert all(gcd(one, two) == 1 for one, two in combinations(base, 2))
    for number in numbers:
        left = number
        for divisor in base:
            while left % divisor == 0:
                left //= divisor
        assert left == 1


def test_numbers_that_no_float_can_hold() -> None:
    huge = Fraction(3**5000, 2**5000)
    assert sign_of_logarithms([(1, huge), (-5000, Fraction(3, 2))]) == 0
    assert sign_of_logarithms([(10**400, Fraction(3, 2)), (-(10**400), Fraction(4, 3))]) == 1
    assert sign_of_logarithms([(10**400, 9), (-2 * 10**400, 3)]) == 0


def test_no_terms_and_terms_without_value() -> None:
    assert sign_of_logarithms([]) == 0
    assert sign_of_logarithms([(0, 7), (3, 1), (1, 5), (-1, 5)]) == 0
