"""Filters on rows of 32,000 and 128,256 tokens: the cut lies among a few heavy ones.

On such rows random numbers leave no margin: some partial sum lies near every p. So
five heavy tokens stand at scattered ids, and the rest is a grid. The rest has a third
of the mass together, though each of its tokens is light: whoever adds it up in 16 bits,
or leaves some of it out, gets other shares for the heavy ones.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.filter_draft import FilterCase, Row
from authoring.grids import grid
from tokenref.floats import Type

ROWS: Final[dict[str, tuple[int, Type, float, int]]] = {
    "32000-f32": (32_000, "f32", 11.125, 1 << 20),
    "32000-f16": (32_000, "f16", 11.125, 1 << 7),
    "32000-bf16": (32_000, "bf16", 11.125, 1 << 4),
    "128256-f32": (128_256, "f32", 12.5, 1 << 20),
    "128256-bf16": (128_256, "bf16", 12.5, 1 << 4),
    "128256-f16": (128_256, "f16", 12.5, 1 << 7),
}
"""Length, type, largest logit, and span of the grid."""

GAPS: Final = (0.0, 1.0, 1.5, 2.0, 3.5)
"""How far the heavy tokens lie below the largest."""

BOTH: Final = ("32000-f32", "128256-bf16")
EVERY: Final = tuple(ROWS)

QUESTIONS: Final[tuple[tuple[str, str, dict[str, Any], tuple[str, ...], int | None], ...]] = (
    ("top_k", "three", {"k": 3}, EVERY, 3),
    ("top_k", "five", {"k": 5}, BOTH, 5),
    ("top_p", "two", {"p": 0.4375}, EVERY, 2),
    ("top_p", "four", {"p": 0.640625}, BOTH, None),
    ("top_p", "one", {"p": 0.3125}, BOTH, 1),
    ("min_p", "two", {"m": 0.3125}, EVERY, 2),
    ("min_p", "four", {"m": 0.0625}, BOTH, 4),
    ("typical", "some", {"mass": 0.25}, ("32000-f16", "128256-bf16"), None),
    ("epsilon", "two", {"cutoff": 0.109375}, (*BOTH, "32000-f16"), 2),
    ("epsilon", "four", {"cutoff": 0.03125}, BOTH, 4),
    ("eta", "five", {"cutoff": 0.125}, ("32000-f16", "128256-bf16"), 5),
    ("top_n_sigma", "two", {"n": 4.0}, BOTH, 2),
    ("top_a", "three", {"a": 0.5}, ("32000-f16", "128256-bf16"), 3),
    ("tail_free", "two", {"z": 0.765625}, ("32000-f32", "32000-bf16"), 2),
    ("top_h", "best", {"alpha": 0.5, "best": 100}, BOTH, None),
)
"""Operation, slug, parameters, rows, and how many of the heavy tokens stay.

XTC has none: it keeps all the others.
"""

_ENGINES: Final[tuple[tuple[str, str, dict[str, Any], str], ...]] = (
    ("top_p", "transformers", {"top_p": 0.4375}, "128256-bf16"),
    ("top_p", "vllm", {"top_p": 0.4375}, "32000-bf16"),
    ("top_p", "sglang", {"top_p": 0.4375}, "32000-bf16"),
    ("top_p", "llama.cpp", {"top_p": 0.4375}, "32000-f32"),
    ("top_p", "flashinfer", {"top_p": 0.4375}, "32000-f16"),
    ("top_p", "exllamav3", {"top_p": 0.4375}, "32000-f16"),
    ("top_k", "transformers", {"top_k": 4}, "128256-bf16"),
    ("top_k", "llama.cpp", {"top_k": 4}, "32000-f32"),
    ("min_p", "transformers", {"min_p": 0.3125}, "128256-bf16"),
    ("min_p", "llama.cpp", {"min_p": 0.3125}, "32000-f32"),
    ("typical", "transformers", {"typical_p": 0.25}, "32000-bf16"),
    ("epsilon", "transformers", {"epsilon_cutoff": 0.109375}, "32000-f16"),
    ("eta", "transformers", {"eta_cutoff": 0.125}, "32000-bf16"),
    ("top_h", "transformers", {"top_h": 0.5}, "32000-bf16"),
    ("top_n_sigma", "llama.cpp", {"top_n_sigma": 4.0}, "32000-f32"),
)


@cache
def long_row(name: str) -> Row:
    """Return a row of the table.

    >>> long_row("32000-bf16").numbers.n
    32000
    """
    size, dtype, top, span = ROWS[name]
    put = {place: top - gap for place, gap in zip(heavy(size), GAPS, strict=True)}
    return Row(grid(2 * size + span, size, span=span, dtype=dtype, put=put), "logits", dtype)


def heavy(size: int) -> tuple[int, ...]:
    """Return the ids of the heavy tokens of a row, the heaviest first: the last one, too.

    >>> heavy(128_256)
    (64135, 128255, 3, 70001, 257)
    """
    return (size // 2 + 7, size - 1, 3, 70_001 if size > 1 << 16 else 20_001, 257)


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases, row by row: what was found out about a row is used again."""
    for name in ROWS:
        for case in _of_row(name):
            yield case.draft()


def _of_row(name: str) -> Iterator[FilterCase]:
    size, dtype = ROWS[name][:2]
    flags = ("LongRow", "HeavyHead", "Margin", *(("SixteenBit",) if dtype != "f32" else ()))
    for op, slug, params, rows, count in QUESTIONS:
        if name in rows:
            yield FilterCase(
                op,
                "long",
                f"{name}-{slug}",
                long_row(name),
                params,
                f"{size:,} tokens, five heavy ones: block-wise sorts, 16-bit ids, and sums without "
                "the light third keep others.",
                (*flags, *_more(op)),
                keep=None if count is None else sorted(heavy(size)[:count]),
            )
    for op, profile, params, row in _ENGINES:
        if name == row:
            yield FilterCase(
                op,
                "long",
                f"{name}-{profile}",
                long_row(name),
                params,
                f"{size:,} tokens as the engine filters them: its own fast paths for long rows, "
                "partial sorts and pivots, must keep what the rule keeps.",
                (*flags, "EngineProfile", *_more(op)),
                profile=profile,
            )


def _more(op: str) -> tuple[str, ...]:
    if op == "top_n_sigma":
        return ("Deviation",)
    return ("Entropy",) if op in {"typical", "eta", "top_h"} else ()
