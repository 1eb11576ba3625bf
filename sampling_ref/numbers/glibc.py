"""The 32-bit exp, log, log2 and pow of the GNU C library, bit for bit.

An engine's `expf` is neither the exact exponential nor the binary32 number nearest to
it: of the 2**32 arguments some 170,000 give the other neighbour, and a draw that ends just
there picks another token. These functions give what the library gives.

Source: the algorithms of Szabolcs Nagy in glibc since version 2.27 (files e_expf.c,
e_logf.c, e_log2f.c, e_powf.c and their data in sysdeps/ieee754/flt-32,
https://sourceware.org/git/glibc.git), first published in ARM's optimized routines
(https://github.com/ARM-software/optimized-routines). All compute in binary64 and
round once at the end.

Powers of two
    For 2**x, x is split into k/32 + r with |r| <= 1/64. 2**(k/32) comes from a table of 32
    correctly rounded numbers, 2**r from a polynomial of degree 3. `expf` multiplies x by
    log2(e) first.

Logarithms
    x is split into 2**k * z with z near 1. A table gives a number 1/c so that z/c is nearer
    to 1 still, with log(c) beside it; the rest is a polynomial in z/c - 1. The sixteen 1/c are
    constants of the source; their logarithms are the correctly rounded ones.

Fused multiplication and addition
    On processors that have it (every x86-64 processor since 2013) the library computes
    a * b + c with one rounding. That can move the last bit of the binary64 result, and
    hardly ever the binary32 one. Trying every argument of binary32 showed: `expf` differs for
    two arguments (kept in a table below), `logf` and `log2f` for none. `powf` has too many
    arguments to try, so it is computed with fused operations throughout, by rational numbers.

What was compared
    glibc 2.36 on x86-64: all 4,278,190,082 arguments of expf, logf and log2f that are not NaN,
    398,960,103 pairs of arguments of powf; no result differs. On 64-bit ARM the
    library rounds k in another way, which is not described here.
"""

from collections.abc import Iterable
from decimal import Decimal, localcontext
from fractions import Fraction
from math import copysign, frexp, inf, isinf, isnan, isqrt, ldexp, nan

from sampling_ref.numbers.binary32 import all_to_binary32, quotient, to_binary32
from sampling_ref.row import Number


def _power_of_two(numerator: int) -> float:
    """Return the binary64 number nearest to 2**(numerator / 32)."""
    root = 1 << (numerator + 32 * 100)
    for _ in range(5):  # the square root of the square root ...: the 32nd root, rounded down
        root = isqrt(root)
    return root / 2**100


def _logarithms(numbers: list[float], base: int = 0) -> list[float]:
    """Return the binary64 numbers nearest to the logarithms of 1/x, natural or of a base."""
    with localcontext() as context:
        context.prec = 40
        scale = Decimal(base).ln() if base else 1
        return [float(-Decimal(number).ln() / scale) for number in numbers]


def _numbers(text: str) -> list[float]:
    return [float.fromhex(word) for word in text.split()]


_POWERS = [_power_of_two(numerator) for numerator in range(32)]
_RECIPROCALS = _numbers(
    "0x1.661ec79f8f3bep+0 0x1.571ed4aaf883dp+0 0x1.49539f0f010b0p+0 0x1.3c995b0b80385p+0 "
    "0x1.30d190c8864a5p+0 0x1.25e227b0b8ea0p+0 0x1.1bb4a4a1a343fp+0 0x1.12358f08ae5bap+0 "
    "0x1.0953f419900a7p+0 0x1.0000000000000p+0 0x1.e608cfd9a47acp-1 0x1.ca4b31f026aa0p-1 "
    "0x1.b2036576afce6p-1 0x1.9c2d163a1aa2dp-1 0x1.886e6037841edp-1 0x1.767dcf5534862p-1"
)
_LOGS = _logarithms(_RECIPROCALS)
_LOG2S = _logarithms(_RECIPROCALS, base=2)

# The polynomials, highest power first: of 2**r - 1 for |r| <= 1/64, and of log(1 + r), of
# log2(1 + r), and of log2(1 + r) once more, to more digits, for |r| <= 1/24.
_POWER = _numbers("0x1.c6af84b912394p-5 0x1.ebfce50fac4f3p-3 0x1.62e42ff0c52d6p-1")
_LOG = _numbers("-0x1.00ea348b88334p-2 0x1.5575b0be00b6ap-2 -0x1.ffffef20a4123p-2")
_LOG2 = _numbers(
    "-0x1.712b6f70a7e4dp-2 0x1.ecabf496832ep-2 -0x1.715479ffae3dep-1 0x1.715475f35c8b8p+0"
)
_LOG2_FOR_POW = _numbers(
    "0x1.27616c9496e0bp-2 -0x1.71969a075c67ap-2 0x1.ec70a6ca7baddp-2 -0x1.7154748bef6c8p-1 "
    "0x1.71547652ab82bp+0"
)

# For expf r is counted in steps of 1/32.
_POWER_IN_STEPS = [_POWER[0] / 32**3, _POWER[1] / 32**2, _POWER[2] / 32]
_STEPS_BY_LOG_2 = 32 * float.fromhex("0x1.71547652b82fep+0")
_LOG_OF_2 = float.fromhex("0x1.62e42fefa39efp-1")

# To add this number to a binary64 number and to subtract it again rounds to an integer.
_ROUNDING = 1.5 * 2.0**52

# Trying every argument found two for which fused operations move the binary32 result.
_EXPF_IF_FUSED = {
    float.fromhex("0x1.04845ep+5"): float.fromhex("0x1.f93e38p+46"),
    float.fromhex("-0x1.f8cbb2p+5"): float.fromhex("0x1.f45326p-92"),
}

_LARGEST_EXPONENT = float.fromhex("0x1.62e42ep+6")  # above it expf is infinite
_SMALLEST_EXPONENT = float.fromhex("-0x1.9fe368p+6")  # below it expf is zero
_LARGEST_POWER = float.fromhex("0x1.fffffffd1d571p+6")  # the same, as a binary logarithm
_SMALLEST_POWER = -150.0
_FIRST_PART = 0.69921875  # where the sixteen parts of the logarithms' tables begin


def expf(x: Number) -> float:
    """Return e**x as the C library's `expf` computes it; `x` is rounded to binary32 first.

    >>> expf(0.0), expf(-inf), expf(100.0)
    (1.0, 0.0, inf)
    >>> expf(1.0)
    2.7182817459106445
    """
    exponent = to_binary32(x)
    return exponent if isnan(exponent) else expf_of_all([exponent])[0]


def expf_of_all(row: Iterable[float]) -> list[float]:
    """Return `expf` of each of a row of binary32 numbers, none of them NaN.

    >>> expf_of_all([0.0, -inf])
    [1.0, 0.0]
    """
    a, b, c = _POWER_IN_STEPS
    powers = []  # in binary64, as they are before the last rounding
    for x in row:
        if x > _LARGEST_EXPONENT:
            powers.append(inf)
        elif x < _SMALLEST_EXPONENT:
            powers.append(0.0)
        elif x in _EXPF_IF_FUSED:
            powers.append(_EXPF_IF_FUSED[x])
        else:
            product = _STEPS_BY_LOG_2 * x
            whole = product + _ROUNDING - _ROUNDING
            r = product - whole
            steps = int(whole)
            polynomial = (a * r + b) * (r * r) + (c * r + 1.0)
            powers.append(polynomial * ldexp(_POWERS[steps % 32], steps // 32))
    return all_to_binary32(powers)


def logf(x: Number) -> float:
    """Return the natural logarithm of x as the C library's `logf` computes it.

    >>> logf(1.0), logf(0.0), logf(-1.0)
    (0.0, -inf, nan)
    >>> logf(2.0)
    0.6931471824645996
    """
    number = to_binary32(x)
    if not 0 < number < inf or number == 1:
        return _logarithm_of_edge(number)
    k, z, part = _split(number)
    r = z * _RECIPROCALS[part] - 1.0
    start = _LOGS[part] + k * _LOG_OF_2
    a, b, c = _LOG
    squared = r * r
    return to_binary32((a * squared + (b * r + c)) * squared + (start + r))


def log2f(x: Number) -> float:
    """Return the binary logarithm of x as the C library's `log2f` computes it.

    >>> log2f(8.0), log2f(0.0), log2f(-1.0)
    (3.0, -inf, nan)
    >>> log2f(3.0)
    1.5849624872207642
    """
    number = to_binary32(x)
    if not 0 < number < inf or number == 1:
        return _logarithm_of_edge(number)
    k, z, part = _split(number)
    r = z * _RECIPROCALS[part] - 1.0
    start = _LOG2S[part] + k
    a, b, c, d = _LOG2
    squared = r * r
    return to_binary32((a * squared + (b * r + c)) * squared + (d * r + start))


def _logarithm_of_edge(x: float) -> float:
    """Return the logarithm of a number that has no splitting."""
    if x == 1:
        return 0.0
    if x == 0:
        return -inf
    return x if x == inf else nan


def _split(x: float) -> tuple[int, float, int]:
    """Return (k, z, part) with x = 2**k * z, z from 0.699 to 1.398, and z's part of 16.

    The parts are equally many bit patterns: 1/32 wide below 1, and 1/16 wide above.
    """
    z, exponent = frexp(x)  # z in [1/2, 1)
    if z < _FIRST_PART:
        z, exponent = 2 * z, exponent - 1
    parts_below_1 = (min(z, 1.0) - _FIRST_PART) * 32
    parts_above_1 = (max(z, 1.0) - 1.0) * 16
    return exponent, z, int(parts_below_1 + parts_above_1)


def powf(base: Number, exponent: Number) -> float:
    """Return base**exponent as the C library's `powf` computes it.

    >>> powf(2.0, 0.5), powf(0.0, -1.0), powf(-8.0, 3.0), powf(-8.0, 0.5)
    (1.4142135381698608, inf, -512.0, nan)
    """
    x, y = to_binary32(base), to_binary32(exponent)
    if y == 0 or x == 1:
        return 1.0  # even if the other one is NaN
    if isnan(x) or isnan(y):
        return nan
    if isinf(y):
        return _power_to_infinity(abs(x), y)
    is_odd = y % 2 == 1
    if x in (0, inf, -inf):
        size = abs(x) if y > 0 else quotient(1.0, abs(x))
        return -size if is_odd and copysign(1.0, x) < 0 else size
    if x < 0 and y % 1:
        return nan
    size = _positive_power(abs(x), y)
    return -size if x < 0 and is_odd else size


def _power_to_infinity(x: float, y: float) -> float:
    """Return x**y for an infinite y and an x that is not negative."""
    if x == 1:
        return 1.0
    return inf if (x > 1) == (y > 0) else 0.0


def _positive_power(x: float, y: float) -> float:
    """Return x**y for finite numbers, x positive, y not zero."""
    k, z, part = _split(x)
    r = _fused(z, _RECIPROCALS[part], -1.0)
    squared = r * r
    a, b, c, d, e = _LOG2_FOR_POW
    end = _fused(e, r, _LOG2S[part] + k)
    end = _fused(_fused(c, r, d), squared, end)
    power = y * _fused(_fused(a, r, b), squared * squared, end)
    if power > _LARGEST_POWER:
        return inf
    if power <= _SMALLEST_POWER:
        return 0.0
    whole = power + _ROUNDING / 32 - _ROUNDING / 32  # a multiple of 1/32
    r = power - whole
    steps = int(32 * whole)
    a, b, c = _POWER
    polynomial = _fused(_fused(a, r, b), r * r, _fused(c, r, 1.0))
    return to_binary32(polynomial * ldexp(_POWERS[steps % 32], steps // 32))


def _fused(a: float, b: float, c: float) -> float:
    """Return a * b + c, rounded once."""
    return float(Fraction(a) * Fraction(b) + Fraction(c))
