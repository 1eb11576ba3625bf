"""Correctly rounded floats: the nearest one, on every platform.

A C library's exp is a little off now and then (1 in some thousand values of a good one),
and differently on different machines. Here an enclosure is rounded at both ends, and is
made closer until both give the same float (Ziv, "Fast evaluation of elementary
mathematical functions with correctly rounded last bit", ACM Transactions on Mathematical
Software 17, 1991). e**x for rational x other than 0, and the logarithm of a rational other
than 1, are transcendental and so never in the middle of two floats: close enough enclosures
decide. A number that 16,384 binary places cannot round raises `UndecidedError`.

Overflow and underflow
    As IEEE 754 rounds to nearest: e**710 is infinity, e**-746 is zero, numbers between the
    smallest normal float and zero are subnormal. Nothing is raised.

Limits
    e**-inf is 0 and log 0 is -inf, which is what a weight of zero needs. Plus infinity,
    NaN and negative arguments of a logarithm are errors.
"""

from math import inf

from sampling_ref.errors import ParameterError
from sampling_ref.numbers.enclosures import SLACK, exp_mantissa, log_bounds
from sampling_ref.numbers.reals import nearest_to_enclosed, next_bits
from sampling_ref.parameters import read_fraction
from sampling_ref.row import Number


def rounded_exp(x: Number) -> float:
    """Return the float nearest to e**x.

    >>> rounded_exp(0), rounded_exp(1.0), rounded_exp(float("-inf")), rounded_exp(1000)
    (1.0, 2.718281828459045, 0.0, inf)
    """
    if x == -inf:
        return 0.0
    exponent = read_fraction("exponent", x)
    if exponent >= 710:
        return inf
    if exponent <= -746:
        return 0.0
    if exponent == 0:
        return 1.0
    numerator, denominator = exponent.as_integer_ratio()
    bits = 96
    while True:
        mantissa, shift = exp_mantissa(numerator, denominator, bits)
        found = nearest_to_enclosed(mantissa, mantissa + SLACK, bits - shift)
        if found is not None:
            return found
        bits = next_bits(bits)


def rounded_log(x: Number) -> float:
    """Return the float nearest to the natural logarithm of x.

    >>> rounded_log(1), rounded_log(2.0), rounded_log(0)
    (0.0, 0.6931471805599453, -inf)
    """
    number = read_fraction("logarithm's argument", x)
    if number < 0:
        raise ParameterError("logarithm's argument", x, "must not be negative")
    if number == 0:
        return -inf
    if number == 1:
        return 0.0
    numerator, denominator = number.as_integer_ratio()
    bits = 96
    while True:
        low, high = log_bounds(numerator, denominator, bits)
        found = nearest_to_enclosed(low, high, bits)
        if found is not None:
            return found
        bits = next_bits(bits)
