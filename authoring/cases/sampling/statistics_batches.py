"""Batches of one row, drawn from many times: rows must be independent, and so must calls."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.risk import OTHERS
from authoring.cases.sampling.statistics_bins import judged_pairs
from tokenref.engines.reference_laws import shares_of_row
from tokenref.floats import grid, pack
from tokenref.rules import STANDARD

SPEC: Final = "docs/sampling.md#random-numbers-and-draws"


class _Batch(NamedTuple):
    slug: str
    row: dict[str, Any]
    rows: int
    calls: int
    why: str
    flags: Sequence[str] = ("BatchOwnNoise",)


_SIZE: Final = 1 << 13
_TWO_OF_MANY: Final = msgspec.to_builtins(grid(1, _SIZE, span=1, put={7: 0.5, _SIZE - 10: 0.5}))
"""A row of nothing but two tokens."""

_BATCHES: Final = (
    _Batch(
        "two-rows", pack([0.5, 0.5]), 2, 10_000,
        "Two rows and a coin each: the smallest batch, where the smallest dependence shows.",
    ),
    _Batch(
        "five-rows", pack([0.5, 0.25, 0.125, 0.0625, 0.0, 0.0625]), 5, 4_000,
        "Five rows of falling shares and a hole: an odd number, so that rows change places in a window of noise.",
    ),
    _Batch(
        "sixteen-rows", pack([0.125] * 8), 16, 4_000,
        ("Sixteen rows of eight equal tokens: 128 numbers are needed for each call, and none is "
        "used twice."),
    ),
    _Batch(
        "thirty-three-rows", pack([0.25] * 4), 33, 2_000,
        "One row more than 32 lanes: the last one starts a new block, and draws alone.",
    ),
    _Batch(
        "eight-wide-rows", _TWO_OF_MANY, 8, 200,
        f"Eight rows of {_SIZE} tokens, two of them possible: a call needs 2^16 numbers, and a window of 2^13 to 2^15 gives two rows the same.",
        ("BatchOwnNoise", "LongRow"),
    ),
)  # fmt: skip


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for each in _BATCHES:
        request = {"probs": each.row, "params": {}, "rows": each.rows, "draws": each.calls}
        yield SamplerDraft(
            op="stat_batch",
            topic="rows",
            slug=each.slug,
            profile=STANDARD,
            request=request,
            why=each.why,
            flags=each.flags,
            verdict=judged_pairs(shares_of_row(request), each.rows, each.calls, OTHERS),
            spec=SPEC,
        )
