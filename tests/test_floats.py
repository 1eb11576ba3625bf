"""Numbers in records: every bit pattern survives, and nothing else gets in."""

import struct
from fractions import Fraction
from math import copysign, inf, isnan, nan, nextafter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from authoring.grids import grid
from tokenref.floats import (
    DIGITS,
    LONGEST,
    TYPES,
    Floats,
    FloatsError,
    Type,
    floats,
    from_digits,
    nearest,
    pack,
    to_digits,
    type_of,
    units_apart,
    unpack,
)
from tokenref.questions.sampling import pack_parameters, unpack_parameters

types = st.sampled_from(TYPES)


@st.composite
def patterns(draw: st.DrawFn) -> tuple[Type, str]:
    dtype = draw(types)
    bits = draw(st.integers(0, 16 ** DIGITS[dtype] - 1))
    return dtype, f"{bits:0{DIGITS[dtype]}x}"


@given(patterns())
def test_every_number_of_every_type_is_written_as_it_was_read(pattern: tuple[Type, str]) -> None:
    dtype, digits = pattern
    (value,) = from_digits(digits, dtype)
    if isnan(value):
        assert isnan(from_digits(to_digits([value], dtype), dtype)[0])
    else:
        assert to_digits([value], dtype) == digits
        assert unpack(pack([value], dtype)) == [value]
        assert copysign(1, unpack(pack([value], dtype))[0]) == copysign(1, value)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("f32", 0.1), ("f16", 2049.0), ("bf16", 257.0), ("f32", 1e39), ("f16", 65536.0)],
)
def test_a_number_that_its_type_does_not_hold_is_refused(dtype: Type, value: float) -> None:
    with pytest.raises(FloatsError, match=dtype if dtype != "bf16" or value < 1e38 else "f32"):
        floats([value], dtype)


@given(st.floats(allow_nan=False), st.sampled_from(["f32", "f16"]))
def test_rounding_is_that_of_the_machine(value: float, dtype: Type) -> None:
    letter = {"f32": "f", "f16": "e"}[dtype]
    try:
        expected = struct.unpack(letter, struct.pack(letter, value))[0]
    except OverflowError:
        expected = copysign(inf, value)
    got = nearest(value, dtype)
    assert got == expected
    assert copysign(1, got) == copysign(1, value) or got == 0


@given(st.fractions(), types)
def test_the_nearest_number_has_no_nearer_neighbour(value: Fraction, dtype: Type) -> None:
    found = nearest(value, dtype)
    if found in (inf, -inf):
        return
    bits = int(to_digits([found], dtype), 16)
    for other in (bits - 1, bits + 1):
        if 0 <= other < 16 ** DIGITS[dtype]:
            (neighbour,) = from_digits(f"{other:0{DIGITS[dtype]}x}", dtype)
            if not isnan(neighbour) and neighbour not in (inf, -inf):
                assert abs(Fraction(neighbour) - value) >= abs(Fraction(found) - value)


def test_ties_go_to_the_even_number() -> None:
    assert nearest(Fraction(2**24 + 1), "f32") == 2.0**24
    assert nearest(Fraction(2**24 + 3), "f32") == 2.0**24 + 4
    assert nearest(Fraction(1, 2**150), "f32") == 0.0
    assert nearest(Fraction(3, 2**150), "f32") == 2.0**-148
    largest = 2.0**128 - 2.0**104
    assert nearest(Fraction(largest) + 2**102, "f32") == largest
    assert nearest(Fraction(largest) + 2**103, "f32") == inf
    assert nearest(-0.0, "f32") == 0
    assert copysign(1, nearest(-0.0, "f32")) == -1


def test_a_row_of_a_recipe_is_made_of_whole_numbers_and_its_digest_proves_it() -> None:
    row = grid(0x2A, 1000, span=256, dtype="bf16", put={7: 12.0})
    values = row.values()
    assert values[7] == 12.0
    assert len(values) == 1000
    assert all(value * 16 == int(value * 16) < 256 for value in values)
    assert len(set(values)) > 100
    plain = msgspec.to_builtins(row)
    assert unpack(plain) == values
    assert type_of(plain) == "bf16"
    with pytest.raises(FloatsError, match="must have its sha256"):
        unpack({**plain, "seed": "0x2b"})
    with pytest.raises(FloatsError, match="at indices of its row"):
        unpack({**plain, "put": [[1000, "4140"]]})


@pytest.mark.parametrize(
    "plain",
    [
        {},
        {"f32": "3f00000"},
        {"f32": "3F000000"},
        {"f32": "3f000000", "f64": ""},
        {"f32": 0.5},
        {"gen": "grid.v1", "seed": "0x1", "n": 5},
        {"gen": "grid.v1", "seed": "0x1", "n": LONGEST + 1, "span": 1, "dtype": "f32"},
        {"f32": "", "n": 5},
        {"f8": "00"},
    ],
)
def test_what_is_no_list_of_numbers_is_refused(plain: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(plain, Floats)


@pytest.mark.parametrize("dtype", TYPES)
def test_neighbours_are_one_unit_apart_and_classes_never_mix(dtype: Type) -> None:
    one = f"{int(to_digits([1.0], dtype), 16) + 1:x}"
    (after,) = from_digits(one, dtype)
    assert units_apart(1.0, after, dtype) == units_apart(-1.0, -after, dtype) == 1
    (tiny,) = from_digits("1".zfill(DIGITS[dtype]), dtype)
    assert units_apart(tiny, -tiny, dtype) == 2
    assert units_apart(0.0, tiny, dtype) == 1
    assert units_apart(nan, nan, dtype) == 0
    assert units_apart(inf, inf, dtype) == 0
    for first, second in [(nan, 1.0), (inf, 1.0), (inf, -inf), (0.0, -0.0)]:
        assert units_apart(first, second, dtype) == units_apart(second, first, dtype) == inf


def test_the_grid_is_that_of_the_published_splitmix64() -> None:
    outputs = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    values = grid(0, 3, span=1000).values()
    assert [value * 2**20 for value in values] == [output % 1000 for output in outputs]


def test_parameters_come_back_as_they_were() -> None:
    parameters = {
        "p": nextafter(0.75, 1),
        "k": 40,
        "off": None,
        "do_sample": True,
        "breakers": ["\n", ":"],
        "bias": {3: -1.5, (1, 2): 0.1},
        "words": [[1, 2], [3]],
    }
    packed = pack_parameters(parameters)
    assert unpack_parameters(packed) == parameters
    assert packed["p"].keys() == {"f64"}
    with pytest.raises(FloatsError, match="a parameter must be"):
        unpack_parameters({"p": {"f32": "3f0000003f000000"}})
    with pytest.raises(FloatsError, match="a parameter must be"):
        unpack_parameters({"p": {"q": 1}})
