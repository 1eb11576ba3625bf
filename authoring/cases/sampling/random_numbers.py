"""Numbers made of random words: the ends, the word that rounds up, and which bits are used."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.draft import SamplerDraft, SamplerPurpose, asked_as, refuses
from tokenref.floats import unpack
from tokenref.generators import CONVERSIONS
from tokenref.record import Case

SPEC: Final = "docs/sampling.md#random-numbers-and-draws"


class _Ends(NamedTuple):
    """What a conversion makes of words of zeros and of ones, and the highest words of interest."""

    least: float
    most: float
    last: tuple[int, ...] = ()
    """The last word before the largest number, or before 1, and the one after it."""


ONES: Final = 2**32 - 1
BELOW: Final = {"f32": 1 - 2.0**-24, "f64": 1 - 2.0**-53}

_KNOWN: Final = {
    "libstdcxx-double": ((0, 2**31), 0.5),
    "libstdcxx-float": ((2**31,), 0.5),
    "mt19937-double": ((2**31, 0), 0.5),
    "numpy-double": ((2**63,), 0.5),
    "numpy-float": ((2**31,), 0.5),
    "torch-cpu-double": ((2**20, 0), 0.5),
    "torch-cpu-float": ((2**23,), 0.5),
    "curand-float": ((2**31,), 0.5),
    "torch-cuda-float": ((2**31,), 0.5),
    "rust-double": ((2**63,), 0.5),
    "rust-float": ((2**31,), 0.5),
    "rust-weighted-index": ((2**31,), 0.5),
    "vllm-float": ((2**31,), 0.5),
    "vllm-double": ((0, 2**31), 0.5),
    "sglang-double": ((ONES // 5,), 0.2),
    "exllamav2-float": ((2**31, 0), 0.4999000132083893),
    "mlx-float": ((2**31,), 0.5),
}
"""Words, and the number that a person knows them to give."""

_ENDS: Final = {
    "libstdcxx-double": _Ends(0.0, BELOW["f64"]),
    "libstdcxx-float": _Ends(0.0, BELOW["f32"], (ONES - 384, ONES - 128, ONES - 127)),
    "mt19937-double": _Ends(0.0, BELOW["f64"]),
    "numpy-double": _Ends(0.0, BELOW["f64"], (2**64 - 4096, 2**64 - 2049, 2**64 - 2048)),
    "numpy-float": _Ends(0.0, BELOW["f32"], (ONES - 511, ONES - 256, ONES - 255)),
    "torch-cpu-double": _Ends(0.0, BELOW["f64"]),
    "torch-cpu-float": _Ends(0.0, BELOW["f32"], (2**24 - 2, 2**24 - 1, 2**24)),
    "curand-float": _Ends(2.0**-33, 1.0, (2**32 - 130, 2**32 - 129, 2**32 - 128)),
    "torch-cuda-float": _Ends(2.0**-33, 0.0, (2**32 - 130, 2**32 - 129, 2**32 - 128)),
    "rust-double": _Ends(0.0, BELOW["f64"], (2**64 - 4096, 2**64 - 2049, 2**64 - 2048)),
    "rust-float": _Ends(0.0, BELOW["f32"], (ONES - 511, ONES - 256, ONES - 255)),
    "rust-weighted-index": _Ends(0.0, 1 - 2.0**-23, (ONES - 1023, ONES - 512, ONES - 511)),
    "vllm-float": _Ends(2.0**-33, 1.0, (2**32 - 130, 2**32 - 129, 2**32 - 128)),
    "vllm-double": _Ends(2.0**-54, BELOW["f64"]),
    "sglang-double": _Ends(0.0, 1.0, (ONES - 2, ONES - 1)),
    "exllamav2-float": _Ends(0.0, 0.9998000264167786),
    "mlx-float": _Ends(0.0, BELOW["f32"], (ONES - 384, ONES - 128, ONES - 127)),
}


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for name, way in CONVERSIONS.items():
        ends, top = _ENDS[name], 2**way.bits - 1
        closed = ends.most == 1 or name == "torch-cuda-float"
        yield _case(
            name, "zeros", [0] * way.words,
            (f"Words of zeros give {ends.least!r}: if 0 is possible, a draw and a logarithm must "
            "handle it."),
            ["NumberEnds"], [_gives(ends.least)],
        )  # fmt: skip
        yield _case(
            name, "ones", [top] * way.words,
            f"Words of ones give {ends.most!r}: "
            + ("1 is outside the range of a draw, and every engine has its own solution."
               if closed else "nothing rounds up to 1."),
            ["NumberEnds"], [_gives(ends.most)],
        )  # fmt: skip
        words, number = _KNOWN[name]
        yield _case(
            name, "known", words,
            f"These words give {number}: which bits are the high ones, and of which word.",
            ["NumberBits"], [_gives(number)],
        )  # fmt: skip
        every = [
            word for bit in range(way.bits) for word in _one_set(way.words, way.words - 1, 1 << bit)
        ]
        yield _case(
            name, "each-bit-of-the-last-word", every,
            "One bit of the last word after the other: which of them count, and for how much.",
            ["NumberBits"],
        )  # fmt: skip
        if way.words > 1:
            every = [word for bit in range(way.bits) for word in _one_set(way.words, 0, 1 << bit)]
            yield _case(
                name, "each-bit-of-the-first-word", every,
                "One bit of the first word after the other: whether the first word is the high one.",
                ["NumberBits"],
            )  # fmt: skip
        pattern = {32: [0x01234567, 0x89ABCDEF], 64: [0x0123456789ABCDEF] * 2}[way.bits]
        yield _case(
            name, "digits", [*pattern, *reversed(pattern)],
            "Words whose parts all differ: a wrong half, order or shift gives another number.",
            ["NumberBits"],
        )  # fmt: skip
        if ends.last:
            yield _case(
                name, "last-steps", ends.last,
                "The words around the last step below the end: rounding to few bits begins here.",
                ["NumberEnds"],
            )  # fmt: skip
        if way.dtype == "f32" and way.words == 1:
            yield _case(
                name, "between-floats", [2**24 + 1, 2**25 + 2, 2**25 + 6, 2**31 + 128, 2**31 + 384],
                "Words half-way between two 32-bit floats: rounded to the even one, or cut.",
                ["NumberBits"],
            )  # fmt: skip
    yield from _pairs()
    yield from _refused()


def _one_set(words: int, place: int, value: int) -> list[int]:
    return [value if one == place else 0 for one in range(words)]


def _pairs() -> Iterator[SamplerDraft]:
    top = 2**32 - 1
    for name in ("libstdcxx-double", "vllm-double"):
        yield _case(
            name, "rounds-up", [top - 1024, top, top - 1023, top, top - 2048, top, 0, top],
            "A high word of ones and low words around the last step: what would round up to 1 is the number below.",
            ["NumberEnds"],
        )  # fmt: skip
    for name in ("mt19937-double", "torch-cpu-double"):
        yield _case(
            name, "last-steps", [top, top - 64, top - 32, top, top, top - 1],
            "Two words near the end: only bits that count may change the number.", ["NumberEnds"],
        )  # fmt: skip
    yield _case(
        "exllamav2-float", "last-part", [top, top, top - 2**20, top, 2**31, 0],
        "The last two of 10,000 numbers do not exist: tokens there lose their share.",
        ["NumberEnds"],
    )  # fmt: skip


def _refused() -> Iterator[SamplerDraft]:
    for name, words, about, code in (
        ("libstdcxx-double", ["00000000"], "One word, although a number needs two", "INVALID_UNIFORM"),
        ("torch-cpu-double", ["00000000"] * 3, "Three words, although each number needs two", "INVALID_UNIFORM"),
        ("numpy-double", ["00000000"], "A word of 32 bits instead of 64", "INVALID_PARAMETER"),
        ("curand-float", ["0" * 16], "A word of 64 bits instead of 32", "INVALID_PARAMETER"),
    ):  # fmt: skip
        yield SamplerDraft(
            op="uniforms", topic="refused", slug=name, profile=name, request={"words": words},
            why=f"{about}: nothing may be padded or truncated.",
            flags=["InvalidNumber" if code == "INVALID_UNIFORM" else "ParameterDomain"],
            spec=SPEC, purposes=[refuses(code)],
        )  # fmt: skip


def _case(
    name: str,
    slug: str,
    words: Sequence[int],
    why: str,
    flags: Sequence[str],
    purposes: Sequence[SamplerPurpose] = (),
) -> SamplerDraft:
    digits = CONVERSIONS[name].bits // 4
    return SamplerDraft(
        op="uniforms",
        topic="conversions",
        slug=f"{name}.{slug}",
        profile=name,
        request={"words": [f"{word:0{digits}x}" for word in words]},
        why=asked_as(why, name),
        flags=list(flags),
        spec=SPEC,
        purposes=purposes,
    )


def _gives(value: float) -> SamplerPurpose:
    """Return the purpose "each number is this one"."""

    def check(case: Case) -> None:
        found = unpack(msgspec.to_builtins(case.out.uniforms))
        if any(number != value for number in found):
            raise PurposeError(f"{case.id}: must give {value!r}, got {found}")

    return check
