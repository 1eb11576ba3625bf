"""expf, logf, log2f and powf are the C library's, bit for bit."""

import ctypes
import os
import platform
import struct
from collections.abc import Callable
from decimal import Decimal
from math import inf, isnan, nan
from random import Random
from typing import Any

import pytest

from sampling_ref.numbers.binary32 import to_binary32
from sampling_ref.numbers.glibc import expf, expf_of_all, log2f, logf, powf

CAMPAIGN = int(os.environ.get("TOKENREF_CAMPAIGN", "1"))
EDGES = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, inf, -inf, nan, 1.5, -1.5]
EDGES += [2.0**-149, -(2.0**-149), 2.0**-126, 3.4e38, -3.4e38, 2.0**24 + 1, 2.0**25, 1 + 2.0**-23]
EDGES += [1 - 2.0**-24, 0.69921875, 0.6992187, 88.72283, 88.72284, -103.97207, -103.97208, -104.0]
FUNCTIONS: dict[str, Callable[..., float]] = {
    "expf": expf,
    "logf": logf,
    "log2f": log2f,
    "powf": powf,
}
RANDOM = Random(7)

is_like_glibc = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc" or platform.machine() != "x86_64",
    reason="the numbers are those of glibc on x86-64",
)


def any_bits() -> float:
    number: float = struct.unpack("f", struct.pack("I", RANDOM.getrandbits(32)))[0]
    return number


def c_function(name: str) -> Any:
    function = getattr(ctypes.CDLL("libm.so.6"), name)
    function.restype = ctypes.c_float
    function.argtypes = [ctypes.c_float] * (2 if name == "powf" else 1)
    return function


def assert_same(ours: float, theirs: float, *arguments: float) -> None:
    same = struct.pack("f", ours) == struct.pack("f", theirs)
    assert same or (isnan(ours) and isnan(theirs)), arguments


@is_like_glibc
@pytest.mark.parametrize("name", ["expf", "logf", "log2f"])
def test_functions_of_one_argument_are_those_of_the_c_library(name: str) -> None:
    ours, theirs = FUNCTIONS[name], c_function(name)
    for _ in range(20_000 * CAMPAIGN):
        for x in (any_bits(), RANDOM.random(), RANDOM.uniform(-104, 90)):
            assert_same(ours(x), theirs(x), x)
    for x in EDGES:
        assert_same(ours(x), theirs(x), x)


@is_like_glibc
def test_powf_is_that_of_the_c_library() -> None:
    theirs = c_function("powf")
    pairs = [(x, y) for x in EDGES for y in EDGES]
    for _ in range(2_000 * CAMPAIGN):
        pairs += [(any_bits(), any_bits()), (RANDOM.random(), RANDOM.uniform(0, 20))]
        pairs += [(RANDOM.uniform(0, 5), RANDOM.uniform(-10, 10)), (2.0, RANDOM.uniform(-9, 20))]
    for x, y in pairs:
        assert_same(powf(x, y), theirs(x, y), x, y)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("expf", ["-0x1.f8cbb2p+5"], "0x1.f45326p-92"),  # the two that fused operations change
        ("expf", ["0x1.04845ep+5"], "0x1.f93e38p+46"),
        ("powf", ["0x1.4971bp-3", "0x1.ff3c8ep+3"], "0x1.d8d07ap-43"),
        ("powf", ["0x1.557ff2p+2", "0x1.ec1804p+2"], "0x1.7d3cfap+18"),
        ("expf", ["-0x1.000000p-1"], "0x1.368b30p-1"),
        ("expf", ["-0x1.9fe366p+6"], "0x1.0p-149"),
        ("expf", ["-0x1.9fe36ap+6"], "0x0p+0"),
        ("expf", ["0x1.62e42ep+6"], "0x1.ffff08p+127"),
        ("expf", ["0x1.62e430p+6"], "inf"),
        ("logf", ["0x1.8p+0"], "0x1.9f323ep-2"),
        ("logf", ["0x1.0p-149"], "-0x1.9d1da0p+6"),
        ("log2f", ["0x1.8p+0"], "0x1.2b8034p-1"),
        ("log2f", ["0x1.0p-149"], "-0x1.2ap+7"),
    ],
)
def test_recorded_results(name: str, arguments: list[str], expected: str) -> None:
    assert FUNCTIONS[name](*map(float.fromhex, arguments)) == float.fromhex(expected)


def test_the_functions_are_within_one_last_bit_of_the_exact_values() -> None:
    for _ in range(2000):
        x = to_binary32(RANDOM.uniform(0.01, 50))
        exact = Decimal(x)
        for ours, true in [
            (expf(-x), (-exact).exp()),
            (logf(x), exact.ln()),
            (log2f(x), exact.ln() / Decimal(2).ln()),
            (powf(x, 1.5), (exact.ln() * Decimal("1.5")).exp()),
        ]:
            assert abs(Decimal(ours) - true) <= abs(true) * Decimal(2) ** -23


def test_rows_get_the_same_exponentials() -> None:
    row = [to_binary32(RANDOM.uniform(-110, 0)) for _ in range(1000)] + [0.0, -inf, 100.0]
    assert expf_of_all(row) == [expf(x) for x in row]
    assert expf_of_all([]) == []


def test_arguments_are_rounded_to_32_bits_first() -> None:
    assert expf(0.1) == expf(to_binary32(0.1))
    assert logf(0.1) == logf(to_binary32(0.1))
    assert log2f(0.1) == log2f(to_binary32(0.1))
    assert powf(0.1, 0.7) == powf(to_binary32(0.1), to_binary32(0.7))
