"""Recipes of long rows."""

from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Any

from tokenref.floats import Floats, Type, grid_digits, to_digits


def grid(
    seed: int,
    n: int,
    *,
    span: int,
    dtype: Type = "f32",
    put: Mapping[int, float] = MappingProxyType({}),
) -> Floats:
    """Return the recipe of a long row; `put` replaces numbers at some indices.

    Number i of the grid is k * 2**-s, where s is the type's number in `SHIFTS`
    and k is SplitMix64's output i for the seed, modulo `span`.

    >>> row = grid(42, 5, span=16, put={3: 4.0}).values()
    >>> row[3], all(value < 16 * 2**-20 for value in row if value != 4.0)
    (4.0, True)
    """
    puts = tuple((place, to_digits([value], dtype)) for place, value in sorted(put.items()))
    digits = grid_digits(hex(seed), n, span, dtype, puts)
    parts: dict[str, Any] = {"put": list(puts)} if puts else {}
    return Floats(
        gen="grid.v1",
        seed=hex(seed),
        n=n,
        span=span,
        dtype=dtype,
        sha256=sha256(bytes.fromhex(digits)).hexdigest(),
        **parts,
    )
