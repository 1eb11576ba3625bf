"""Filters at sizes: how many tokens are kept, and how many the row has.

Of the rows of shares, each number is a multiple of 2**-20, so the sum of the largest ones is exact,
and p is that sum. The heaviest token is the last one. Rows of logits have five heavy tokens, of
which one is the last and one is just beyond the block that ends before it.
"""

from collections.abc import Iterator
from functools import cache
from math import log
from typing import Any, Final

from authoring.cases.sampling.chain_draft import ChainTopic, alone, chain_request
from authoring.cases.sampling.draft import SamplerDraft, told_apart
from authoring.cases.sampling.filter_draft import FilterCase, Row
from authoring.grids import grid
from tokenref.floats import nearest

SMALL: Final = (64, 100, 128, 256, 512, 1000, 1024)
BLOCKS: Final = (*SMALL, 2048, 4096)
EVERY: Final = (*BLOCKS, 1 << 15, 1 << 16)
UNIT: Final = 1 << 20

CHAINS: Final = ChainTopic(
    "sizes", ("LongRow", "EngineProfile"), "docs/engines.md#the-order-of-the-steps"
)


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    cases = (*_counts(), *_ties(), *_beyond(), *_thresholds(), *_lengths())
    yield from told_apart([*(case.draft() for case in cases), *_engines()])


def about(size: int) -> tuple[int, ...]:
    """Return a size up to 256 with its neighbours, and of a larger one what lies beyond.

    >>> about(64), about(4096)
    ((63, 64, 65), (4097,))
    """
    return (size - 1, size, size + 1) if size <= 256 else (size + 1,)


# ---- how many tokens are kept


@cache
def shares(size: int) -> tuple[Row, list[int]]:
    """Return a row of shares and its weights in units of 2**-20, in falling order."""
    length = size + size // 8 + 9
    span = UNIT // length
    plain = grid(length, length, span=span, put={length - 1: 0.0})
    units = [round(share * UNIT) for share in plain.values()]
    units[-1] = UNIT - sum(units)
    row = grid(length, length, span=span, put={length - 1: units[-1] / UNIT})
    return Row(row, "probs"), sorted(units, reverse=True)


def _counts() -> Iterator[FilterCase]:
    for size in BLOCKS:
        row, falling = shares(size)
        for count in about(size):
            yield FilterCase(
                "top_k", "sizes", f"kept-{count}", row, {"k": count},
                f"k is {count:,}, and the row has more tokens than that.",
                ("LongRow", "Dyadic"),
            )  # fmt: skip
            if size <= 1024:
                yield FilterCase(
                    "top_p", "sizes", f"kept-{count}", row, {"p": sum(falling[:count]) / UNIT},
                    f"The {count:,} most probable tokens sum to exactly p.",
                    ("LongRow", "Dyadic", "Boundary"),
                )  # fmt: skip


def _ties() -> Iterator[FilterCase]:
    """Yield filters whose last tokens are among equal ones: programs select few and many otherwise."""
    for count in (17, 32, 33, 64, 100, 128, 200, 256):
        size = count + count // 8 + 5
        row = Row(grid(1, size, span=1, put={size - 1: 1.0}), "logits")
        yield FilterCase(
            "top_k", "sizes", f"tied-{count}", row, {"k": count},
            f"k is {count}: of equal tokens behind a better one, those with the lowest ids stay.",
            ("LongRow", "Ties"), keep=[*range(count - 1), size - 1],
            unlike=("ties.highest-id",),
        )  # fmt: skip
    for count in (40, 200):
        size = 2 * count
        yield FilterCase(
            "top_p", "sizes", f"tied-{count}", Row(grid(1, size, span=1), "logits"),
            {"p": (count - 0.5) / size},
            f"{count} of {size} equal tokens sum to p: the lowest ids stay.",
            ("LongRow", "Ties"), keep=[*range(count)], unlike=("ties.highest-id",),
        )  # fmt: skip


def _beyond() -> Iterator[FilterCase]:
    """Yield filters with more candidates than buffers of 1,025 or 4,097, and equal ones beyond 2^16."""
    row, falling = shares(2048)
    yield FilterCase(
        "top_p", "sizes", "kept-1100", row, {"p": sum(falling[:1100]) / UNIT},
        "The 1,100 most probable tokens sum to exactly p.", ("LongRow", "Dyadic", "Boundary"),
    )  # fmt: skip
    size = (1 << 16) + 2
    equal = grid(1, size, span=1, put={size // 2: 1.0})
    yield FilterCase(
        "top_k", "sizes", f"equal-{size}", Row(equal, "logits"), {"k": 3},
        f"One token is the best, and {size - 1:,} others are equal: a count of 16 bits is 1, too few for the rest of k.",
        ("LongRow", "Ties"), keep=[0, 1, size // 2],
    )  # fmt: skip
    lighter = grid(1, size, span=1, put={size // 2: 1.0, size - 1: -1.0})
    yield FilterCase(
        "top_k", "sizes", f"equal-{size - 1}-one-lighter", Row(lighter, "logits"), {"k": 2},
        f"{size - 2:,} equal tokens, a better and a lighter one: with counts of 16 bits there seem to be none of the equals.",
        ("LongRow", "Ties"), keep=[0, size // 2],
    )  # fmt: skip


def _thresholds() -> Iterator[FilterCase]:
    """Yield filters by a threshold that keep a few more tokens than the size."""
    for size in (64, 100, 256, 1024):
        row, falling = shares(size)
        place = next(
            at for at in range(size + 1, len(falling)) if falling[at - 1] > falling[at] + 1
        )
        between = (falling[place - 1] + falling[place]) / 2 / UNIT
        largest = falling[0] / UNIT
        asked: tuple[tuple[str, dict[str, Any], str], ...] = (
            ("min_p", {"m": nearest(between / largest, "f32")}, "Margin"),
            ("epsilon", {"cutoff": nearest(between, "f32")}, "Margin"),
            ("top_a", {"a": nearest(between / largest**2, "f32")}, "Margin"),
        )
        for op, params, flag in asked:
            yield FilterCase(
                op, "sizes", f"kept-{place}", row, params,
                f"The threshold lies between the tokens of rank {place:,} and {place + 1:,}.",
                ("LongRow", "Dyadic", flag),
            )  # fmt: skip
        if size <= 256:
            yield FilterCase(
                "xtc", "sizes", f"removed-{place - 1}", row,
                {"probability": 0.5, "threshold": nearest(between, "f32")},
                f"All of the {place:,} tokens above the threshold but the least probable one go.",
                ("LongRow", "Dyadic", "Xtc"), uniform=0.25,
            )  # fmt: skip


# ---- how long the row is

LONG: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("top_k", {"k": 3}),
    ("top_p", {"p": 0.4375}),
    ("min_p", {"m": 0.3125}),
    ("typical", {"mass": 0.25}),
    ("epsilon", {"cutoff": 0.03125}),
    ("eta", {"cutoff": 0.125}),
    ("top_n_sigma", {"n": 4.0}),
    ("top_a", {"a": 0.5}),
    ("tail_free", {"z": 0.765625}),
    ("top_h", {"alpha": 0.5, "best": 100}),
)
"""Filters and parameters with which the cut lies well between two of the heavy tokens."""

ALWAYS: Final = frozenset({"top_k", "top_p", "min_p"})
_SLOW: Final = frozenset({"typical", "eta", "top_h", "tail_free"})


@cache
def heavy_row(size: int) -> Row:
    """Return a row of logits with five heavy tokens, the best one just before the end.

    >>> heavy_row(65).numbers.n
    65
    """
    top = round(8 * (11.125 + log(size / 32_000))) / 8
    gaps = (0.0, 1.0, 1.5, 2.0, 3.5)
    places = (size - 1, size // 2 + 1, 0, size // 4 + 1, size - 3)
    put = {place: top - gap for place, gap in zip(places, gaps, strict=True)}
    return Row(grid(3 * size + 1, size, span=UNIT, put=put), "logits")


def _lengths() -> Iterator[FilterCase]:
    for op, params in LONG:
        for size in EVERY:
            if op in _SLOW and size in (1 << 15, 512, 2048):
                continue
            for length in (size - 1, size, size + 1) if op in ALWAYS else (size + 1,):
                yield FilterCase(
                    op,
                    "sizes",
                    f"row-{length}",
                    heavy_row(length),
                    params,
                    f"A row of {length:,} tokens, of which the last one is the best.",
                    ("LongRow", "HeavyHead", "Margin"),
                )


# ---- engines

CAPS: Final[tuple[tuple[str, str], ...]] = (
    ("transformers", "top_k"),
    ("llama.cpp", "top_k"),
    ("vllm", "top_k"),
    ("sglang", "top_k"),
    ("flashinfer", "top_k"),
    ("exllamav2", "top_k"),
    ("exllamav3", "top_k"),
    ("mlx-lm", "top_k"),
    ("mistral.rs", "top_k"),
    ("candle", "top_k"),
    ("tensorrt-llm", "top_k"),
    ("antigravity", "top_k"),
)
"""Engines, and the parameter of which they may have a largest value."""


def _engines() -> Iterator[SamplerDraft]:
    for size in (64, 100, 128, 256, 512, 1000, 1024):
        flat = grid(size, size + size // 8 + 3, span=UNIT)
        for engine, name in CAPS:
            if size in (100, 128, 1024) and engine not in {"llama.cpp", "sglang", "vllm"}:
                continue
            if size in (512, 1000) and engine != "llama.cpp":
                continue
            yield CHAINS.case(
                "chain",
                f"{engine}-{name}-{size + 1}",
                engine,
                chain_request(flat, alone(engine, **{name: size + 1})),
                f"{engine} with a {name} of {size + 1:,}: a cap of {size:,}, or a list of that "
                "length, keeps fewer.",
            )
