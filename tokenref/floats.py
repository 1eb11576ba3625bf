"""Floating-point numbers in records: as bit patterns, never in decimal.

A decimal that is read as a double and then cast may become a different 32-bit float than the
intended one. So numbers are big-endian hexadecimal digits, and the key names the type:
`{"f32":"3f0000003e800000"}`. A long row is a recipe and a digest, from which any language can
recreate it with integer arithmetic.
"""

import struct
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from itertools import compress, islice
from math import copysign, frexp, inf, isinf, isnan, ldexp, nan
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from sampling_ref.random.splitmix64 import splitmix64

Hex: TypeAlias = Annotated[str, Meta(pattern="^([0-9a-f]{2})*$")]
"""Bytes as lower-case hexadecimal digits."""


Id: TypeAlias = Annotated[int, Meta(ge=0)]
"""A token id from the reference."""


Count: TypeAlias = Annotated[int, Meta(ge=0)]
"""A number of tokens, characters or bytes."""


Digits: TypeAlias = Annotated[str, Meta(extra_json_schema={"pattern": "^([0-9a-f]{2})*$"})]
"""The same, checked by `Floats`: on long rows, a regular expression takes a hundred megabytes."""


LETTERS: Final = frozenset("0123456789abcdef")
"""The digits that `Digits` may have."""


class Strict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A structure without unknown fields."""


Type: TypeAlias = Literal["f64", "f32", "f16", "bf16"]
"""The type of a number: binary64, binary32, binary16, or bfloat16 (the upper half of binary32)."""

TYPES: Final[tuple[Type, ...]] = get_args(Type)

DIGITS: Final[Mapping[Type, int]] = {"f64": 16, "f32": 8, "f16": 4, "bf16": 4}
"""Number of hexadecimal digits per number."""

SHIFTS: Final[Mapping[Type, int]] = {"f64": 20, "f32": 20, "f16": 7, "bf16": 4}
"""A grid's numbers are multiples of 2 to the minus this, which the type represents exactly."""

LONGEST: Final = 1 << 20
"""Maximum length of a row from a recipe, so that a hostile recipe cannot fill the memory."""

_FORMATS: Final[Mapping[Type, str]] = {"f64": "d", "f32": "f", "f16": "e"}


class FloatsError(ValueError):
    """Numbers that their type cannot represent, or a row that does not match its digest."""


class Floats(Strict, frozen=True, kw_only=True):
    """Numbers of one type: either digits under the type's name, or a recipe."""

    f64: Digits | UnsetType = UNSET
    f32: Digits | UnsetType = UNSET
    f16: Digits | UnsetType = UNSET
    bf16: Digits | UnsetType = UNSET
    gen: Literal["grid.v1"] | UnsetType = UNSET
    seed: Annotated[str, Meta(pattern="^0x[0-9a-f]{1,16}$")] | UnsetType = UNSET
    n: Annotated[int, Meta(ge=1, le=LONGEST)] | UnsetType = UNSET
    span: Annotated[int, Meta(ge=1, le=1 << 20)] | UnsetType = UNSET
    """The grid's width: its numbers are k times the step, for k below `span`."""

    put: list[tuple[int, Hex]] | UnsetType = UNSET
    """Indices, and the numbers that replace those of the grid."""

    dtype: Type | UnsetType = UNSET
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] | UnsetType = UNSET

    def __post_init__(self) -> None:
        """Raise `ValueError` unless exactly one complete form is given."""
        given = [name for name in TYPES if getattr(self, name) is not UNSET]
        recipe = [self.seed, self.n, self.span, self.dtype, self.sha256]
        if self.gen is not UNSET:
            if given or UNSET in recipe:
                raise ValueError("a recipe must have gen, seed, n, span, dtype and sha256")
            return
        if len(given) != 1 or recipe.count(UNSET) != len(recipe) or self.put is not UNSET:
            raise ValueError(f"must have exactly one of {', '.join(TYPES)} and gen")
        digits = getattr(self, given[0])
        if not LETTERS.issuperset(digits):
            raise ValueError(f"{given[0]} must have lower-case hexadecimal digits")
        if len(digits) % DIGITS[given[0]]:
            raise ValueError(f"{given[0]} must have {DIGITS[given[0]]} digits for each number")

    @property
    def type(self) -> Type:
        """The type of the numbers."""
        if self.dtype is not UNSET:
            return self.dtype
        return next(name for name in TYPES if getattr(self, name) is not UNSET)

    def values(self) -> list[float]:
        """Return the numbers. Raises `FloatsError` if a recipe does not match its digest.

        >>> Floats(f32="3f000000bf800000").values()
        [0.5, -1.0]
        """
        return from_digits(self.digits(), self.type)

    def digits(self) -> str:
        """Return the digits of the numbers. Raises `FloatsError` as `values` does.

        >>> Floats(f32="3f000000bf800000").digits()
        '3f000000bf800000'
        """
        if self.gen is UNSET:
            return str(getattr(self, self.type))
        assert isinstance(self.seed, str)  # noqa: S101 - checked on construction, as the next ones
        assert isinstance(self.n, int)  # noqa: S101
        assert isinstance(self.span, int)  # noqa: S101
        puts = () if self.put is UNSET else tuple(self.put)
        if any(
            not 0 <= place < self.n or len(number) != DIGITS[self.type] for place, number in puts
        ):
            raise FloatsError("a recipe must put single numbers at indices of its row")
        digits = grid_digits(self.seed, self.n, self.span, self.type, puts)
        if sha256(bytes.fromhex(digits)).hexdigest() != self.sha256:
            raise FloatsError(f"the row of the recipe {self.seed} must have its sha256")
        return digits


def to_digits(values: Sequence[float], dtype: Type) -> str:
    """Return numbers as digits. Raises `FloatsError` if the type cannot represent one.

    NaN becomes the type's quiet NaN without a sign.

    >>> to_digits([0.5, -0.0], "f32"), to_digits([1.0], "bf16")
    ('3f00000080000000', '3f80')
    """
    if dtype != "bf16":
        return _packed(values, dtype).hex()
    halves = struct.unpack(f">{2 * len(values)}H", _packed(values, "f32"))
    high, low = halves[::2], halves[1::2]
    for value in compress(values, low):
        raise FloatsError(f"bf16 must represent {value!r} exactly")
    return struct.pack(f">{len(high)}H", *high).hex()


def _packed(values: Sequence[float], dtype: Type) -> bytes:
    form = f">{len(values)}{_FORMATS[dtype]}"
    clean = [*map(float, values)]
    if any(map(isnan, clean)):
        clean = [nan if isnan(value) else value for value in clean]
    try:
        packed = struct.pack(form, *clean)
    except OverflowError:
        raise FloatsError(f"{dtype} must represent every number, but one is too large") from None
    back = struct.unpack(form, packed)
    if clean != [*back]:  # as a whole, which takes less time; NaN differs from itself
        for value, other in zip(clean, back, strict=True):
            if value != other and not isnan(value):
                raise FloatsError(f"{dtype} must represent {value!r} exactly")
    return packed


def from_digits(digits: str, dtype: Type) -> list[float]:
    """Return the numbers that digits represent.

    >>> from_digits("7f80ff80", "bf16"), from_digits("3c00", "f16")
    ([inf, -inf], [1.0])
    """
    count = len(digits) // DIGITS[dtype]
    packed = bytes.fromhex(digits)
    if dtype == "bf16":
        high = struct.unpack(f">{count}H", packed)
        packed, dtype = struct.pack(f">{count}I", *[half << 16 for half in high]), "f32"
    return list(struct.unpack(f">{count}{_FORMATS[dtype]}", packed))


def floats(values: Sequence[float], dtype: Type = "f32") -> Floats:
    """Return numbers of one type in the form of a record.

    >>> floats([0.5, 0.25]).f32
    '3f0000003e800000'
    """
    return msgspec.convert(pack(values, dtype), Floats)


def pack(values: Sequence[float], dtype: Type = "f32") -> dict[str, str]:
    """Return numbers of one type as plain data.

    >>> pack([0.5])
    {'f32': '3f000000'}
    """
    return {dtype: to_digits(values, dtype)}


def pack_shortly(values: Sequence[float]) -> dict[str, str]:
    """Return numbers as plain data, in 32 bits if these represent all exactly, else in 64.

    >>> pack_shortly([0.5]), pack_shortly([0.1])
    ({'f32': '3f000000'}, {'f64': '3fb999999999999a'})
    """
    try:
        return pack(values)
    except FloatsError:
        return pack(values, "f64")


def unpack(plain: Mapping[str, Any]) -> list[float]:
    """Return the numbers of a `Floats` given as plain data.

    >>> unpack({"f32": "3f0000003e800000"})
    [0.5, 0.25]
    """
    for name in TYPES:
        if name in plain and len(plain) == 1:
            return from_digits(plain[name], name)
    return msgspec.convert(plain, Floats).values()


def is_numbers(value: Any) -> bool:
    """Return whether a value has the form of numbers: an object with a type as its only key.

    >>> is_numbers({"f32": "3f000000"}), is_numbers({"text": "a"}), is_numbers([0.5])
    (True, False, False)
    """
    return isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in TYPES


def numbers_of(value: Any) -> list[float] | None:
    """Return the numbers of a value, or None if it is not numbers.

    >>> numbers_of({"f32": "3f000000"}), numbers_of({"f32": "half"})
    ([0.5], None)
    """
    if not is_numbers(value):
        return None
    try:
        return unpack(value)
    except (TypeError, ValueError, struct.error):
        return None


def cut_floats(plain: Mapping[str, Any], size: int) -> dict[str, str]:
    """Return the first numbers of a `Floats` given as plain data.

    >>> cut_floats({"f16": "3c0038003400"}, 2)
    {'f16': '3c003800'}
    """
    dtype = type_of(plain)
    digits = plain[dtype] if dtype in plain else msgspec.convert(plain, Floats).digits()
    return {dtype: digits[: size * DIGITS[dtype]]}


def size_of(plain: Mapping[str, Any]) -> int:
    """Return the number of numbers of a `Floats` given as plain data; a recipe is not followed.

    >>> size_of({"f16": "3c003800"}), size_of({"gen": "grid.v1", "n": 300})
    (2, 300)
    """
    return int(plain["n"]) if "gen" in plain else len(unpack(plain))


def type_of(plain: Mapping[str, Any]) -> Type:
    """Return the type of a `Floats` given as plain data.

    >>> type_of({"bf16": "3f80"})
    'bf16'
    """
    return next((name for name in TYPES if name in plain), plain.get("dtype", "f32"))


def grid_digits(
    seed: str, n: int, span: int, dtype: Type, puts: tuple[tuple[int, str], ...]
) -> str:
    """Return the digits of a recipe's row.

    Number i of the grid is k * 2**-s, where s is the type's number in `SHIFTS`
    and k is SplitMix64's output i for the seed, modulo `span`. `puts` replace some of the numbers.
    """
    make = _grid if n <= _KEPT else _grid.__wrapped__
    grid, width = make(seed, n, span, dtype), DIGITS[dtype]
    parts, start = [], 0
    for place, number in sorted(dict(puts).items()):
        parts += [grid[start : place * width], number]
        start = (place + 1) * width
    return "".join([*parts, grid[start:]])


_KEPT: Final = 1 << 18
"""Maximum length of a grid that is kept for other rows."""


@lru_cache(maxsize=256)  # the records have 218, of 51 megabytes
def _grid(seed: str, n: int, span: int, dtype: Type) -> str:
    """Return the digits of a grid, which many rows share but for some numbers."""
    step = 2.0 ** -SHIFTS[dtype]
    return to_digits([word % span * step for word in islice(splitmix64(int(seed, 16)), n)], dtype)


def all_nearest(values: Sequence[float | Fraction], dtype: Type) -> list[float]:
    """Return the number of a type that is nearest to each of many values; of equals, round one.

    >>> all_nearest([0.1, 1e39, -0.0], "f32")
    [0.10000000149011612, inf, -0.0]
    """
    if dtype != "bf16" and {*map(type, values)} <= {float}:  # struct rounds in the same way
        form = f">{len(values)}{_FORMATS[dtype]}"
        try:
            return [*struct.unpack(form, struct.pack(form, *values))]
        except OverflowError:
            pass
    found = {value: nearest(value, dtype) for value in {*values}}
    return [
        found[value] if value or not isinstance(value, float) else value  # a zero keeps its sign
        for value in values
    ]


def nearest(value: float | Fraction, dtype: Type) -> float:
    """Return the number of a type that is nearest to a value, ties to even.

    >>> nearest(Fraction(1, 3), "f16"), nearest(1e39, "f32"), nearest(1.00390625, "bf16")
    (0.333251953125, inf, 1.0)
    """
    if isinstance(value, float):
        if value == 0 or isnan(value) or isinf(value) or dtype == "f64":
            return value
        if dtype != "bf16":  # struct rounds in the same way
            letter = f">{_FORMATS[dtype]}"
            try:
                return float(struct.unpack(letter, struct.pack(letter, value))[0])
            except OverflowError:
                return copysign(inf, value)
    precision, least, largest = _SHAPES[dtype]
    numerator, denominator = value.as_integer_ratio()
    size = abs(numerator)
    exponent = size.bit_length() - denominator.bit_length()
    if size << max(-exponent, 0) < denominator << max(exponent, 0):
        exponent -= 1  # now 2**exponent is the largest power of two that is not above the value
    step = max(exponent, least) - precision + 1
    whole, rest = divmod(size << max(-step, 0), denominator << max(step, 0))
    half = (denominator << max(step, 0)) - 2 * rest
    try:
        rounded = ldexp(whole + (half < 0 or (half == 0 and whole % 2)), step)
    except OverflowError:
        rounded = inf
    rounded = rounded if rounded <= largest else inf
    return -rounded if numerator < 0 else rounded


_SHAPES: Final[Mapping[Type, tuple[int, int, float]]] = {
    "f64": (53, -1022, ldexp(2 - 2.0**-52, 1023)),
    "f32": (24, -126, ldexp(2 - 2.0**-23, 127)),
    "f16": (11, -14, ldexp(2 - 2.0**-10, 15)),
    "bf16": (8, -126, ldexp(2 - 2.0**-7, 127)),
}
"""Per type: bits of the significand, the least exponent, the largest number."""


SMALLEST_NORMAL: Final = {dtype: 2.0**least for dtype, (_, least, _) in _SHAPES.items()}
"""The smallest positive number of each type that has all its digits."""


def spacing(value: float, dtype: Type) -> float:
    """Return the distance of a normal number of a type from the next one away from zero.

    >>> spacing(1.5, "f16") == 2.0**-10
    True
    """
    return ldexp(1.0, frexp(value)[1] - _SHAPES[dtype][0])


def units_apart(first: float, second: float, dtype: Type) -> float:
    """Return the distance between two numbers of a type, in units in the last place.

    It is infinite for numbers of different classes: a NaN and a number, an infinity and a finite
    number, zeros of different signs.

    >>> units_apart(1.0, 1.0 + 2**-23, "f32"), units_apart(0.0, -0.0, "f32")
    (1, inf)
    """
    if isnan(first) or isnan(second):
        return 0 if isnan(first) and isnan(second) else inf
    digits = to_digits([first, second], dtype)
    half = DIGITS[dtype]
    if digits[:half] == digits[half:]:
        return 0
    if first == second or isinf(first) or isinf(second):  # zeros of different signs are equal
        return inf
    sign = 1 << (4 * half - 1)
    bits = [int(digits[:half], 16), int(digits[half:], 16)]
    one, other = (sign - each if each >= sign else each for each in bits)
    return abs(one - other)
