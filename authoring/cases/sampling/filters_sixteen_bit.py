"""Filters on logits of 16 bits: bfloat16 and binary16, as models give them."""

from collections.abc import Iterator
from math import inf
from typing import Any, Final

from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.filter_draft import FilterCase, Row, logits
from authoring.grids import grid
from tokenref.floats import Type, nearest

VALUES: Final[dict[str, dict[str, Any]]] = {
    "top_k": {"k": 3},
    "top_p": {"p": 0.75},
    "min_p": {"m": 0.3125},
    "typical": {"mass": 0.6875},
    "epsilon": {"cutoff": 0.09375},
    "eta": {"cutoff": 0.125},
    "top_n_sigma": {"n": 1.0},
    "top_a": {"a": 0.5},
    "tail_free": {"z": 0.75},
    "top_h": {"alpha": 0.625},
    "xtc": {"threshold": 0.109375, "probability": 1.0},
}
NUMBERS: Final = (17.25, -3.5, 18.5, -inf, 16.125, 0.0, 17.875, -0.0)
"""Numbers that both types hold; between 16 and 32 those of bfloat16 are 1/8 apart."""

_ENGINES: Final = (
    ("top_p", "transformers", {"top_p": 0.75}),
    ("top_p", "vllm", {"top_p": 0.75}),
    ("top_p", "llama.cpp", {"top_p": 0.75}),
    ("top_k", "transformers", {"top_k": 3}),
    ("min_p", "transformers", {"min_p": 0.3125}),
    ("typical", "transformers", {"typical_p": 0.6875}),
    ("epsilon", "transformers", {"epsilon_cutoff": 0.09375}),
    ("eta", "transformers", {"eta_cutoff": 0.125}),
    ("top_h", "transformers", {"top_h": 0.625}),
    ("top_n_sigma", "llama.cpp", {"top_n_sigma": 1.0}),
)
_TYPES: Final[tuple[Type, ...]] = ("bf16", "f16")


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for case in (*_usual(), *_many_equals(), *_ends(), *_engines()):
        yield case.draft()


def _case(
    op: str, slug: str, row: Row, params: dict[str, Any], why: str, **more: Any
) -> FilterCase:
    flags = ("SixteenBit", "Margin", *more.pop("flags", ()))
    flags += ("Entropy",) if op in {"typical", "eta", "top_h"} else ()
    flags += ("Deviation",) if op == "top_n_sigma" else ()
    flags += ("Xtc",) if op == "xtc" else ()
    uniform = 0.5 if op == "xtc" else None
    return FilterCase(op, "sixteen_bit", slug, row, params, why, flags, uniform=uniform, **more)


def _usual() -> Iterator[FilterCase]:
    for op, params in VALUES.items():
        for dtype in _TYPES:
            yield _case(
                op,
                f"{dtype}-usual",
                logits(*NUMBERS, dtype=dtype),
                params,
                "Logits of 16 bits are widened first: with shares or sums of 16 bits other tokens "
                "stay.",
                flags=("Unsorted", "MinusInfinity"),
            )


def _many_equals() -> Iterator[FilterCase]:
    """Yield two heavy tokens among light equals, whose sum in 16 bits stands still."""
    for dtype in _TYPES:
        row = Row(grid(1, 6000, span=1, dtype=dtype, put={700: 7.0, 5999: 6.5}), "logits", dtype)
        for op, params, keep in (
            ("top_k", {"k": 2}, [700, 5999]),
            ("top_p", {"p": 0.1875}, [700, 5999]),
            ("epsilon", {"cutoff": 0.09375}, [700]),
            ("top_a", {"a": 4.0}, [700, 5999]),
        ):
            yield _case(
                op,
                f"{dtype}-many-equals",
                row,
                params,
                "6,000 equal tokens except two heavier ones. Sums of ones stop growing at 256 "
                "in bfloat16 and at 2,048 in binary16, so the heavy tokens would seem heavier "
                "than they are.",
                flags=("HeavyHead", "LongRow"),
                keep=keep,
            )
        heavy = {700: 7.5, 2049: 7.5}
        yield _case(
            "top_p",
            f"{dtype}-sum-stands-still",
            Row(grid(1, 2050, span=1, dtype=dtype, put=heavy), "logits", dtype),
            {"p": nearest(0.640275, "f32")},
            "Two heavy tokens have 0.6384, and 11 of the 2,048 light ones reach p. A running sum in "
            "the type of the row stands still behind the heavy ones, so all tokens would stay.",
            flags=("NarrowSum", "HeavyHead", "Ties"),
            keep=[*range(11), *heavy],
        )


def _ends() -> Iterator[FilterCase]:
    """Yield the ends of both types, and numbers that only one bit tells apart."""
    rows: tuple[tuple[str, Row, int, list[int], str], ...] = (
        (
            "f16-largest",
            logits(65504.0, 65472.0, -65504.0, dtype="f16"),
            2,
            [0, 1],
            "The largest numbers of 16 bits",
        ),
        (
            "f16-subnormal",
            logits(2.0**-24, 0.0, 2.0**-23, -(2.0**-24), dtype="f16"),
            2,
            [0, 2],
            "Subnormal numbers of 16 bits",
        ),
        (
            "bf16-large",
            logits(2.0**127, 0.0, -(2.0**127), dtype="bf16"),
            1,
            [0],
            "Numbers as large as 32 bits have",
        ),
        (
            "bf16-subnormal",
            logits(2.0**-133, 0.0, 2.0**-132, dtype="bf16"),
            2,
            [0, 2],
            "Subnormal numbers of bfloat16",
        ),
        (
            "bf16-neighbours",
            logits(16.0, 16.125, 15.9375, 16.25, dtype="bf16"),
            2,
            [1, 3],
            "Neighbours in bfloat16",
        ),
        (
            "f16-neighbours",
            logits(16.0, 16.015625, 15.9921875, 16.03125, dtype="f16"),
            2,
            [1, 3],
            "Neighbours in binary16",
        ),
    )
    for slug, row, k, keep, what in rows:
        yield _case(
            "top_k",
            slug,
            row,
            {"k": k},
            f"{what}: the widening is exact, and neither overflows nor flushes to zero.",
            flags=("Subnormal",) if "subnormal" in slug else (),
            keep=keep,
        )
    for dtype in _TYPES:
        yield _case(
            "top_p",
            f"{dtype}-masked",
            logits(-inf, 1.0, -inf, 0.0, dtype=dtype),
            {"p": 0.9375},
            "Minus infinity in 16 bits is minus infinity, not the least finite number.",
            flags=("MinusInfinity",),
            keep=[1, 3],
        )


def _engines() -> Iterator[FilterCase]:
    for op, profile, params in _ENGINES:
        for dtype in _TYPES:
            yield _case(
                op,
                f"{dtype}-{profile}",
                logits(*(number for number in NUMBERS if number > -inf), dtype=dtype),
                params,
                "The engine takes logits of 16 bits and calculates in 32, whatever the model is.",
                flags=("EngineProfile", "Unsorted"),
                profile=profile,
            )
