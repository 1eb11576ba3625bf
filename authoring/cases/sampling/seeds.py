"""Rows with seeds of their own, alone and in company: what a seed gives depends on nothing else.

256 equal tokens and 32 draws: rows that have nothing to do with each other are the same once in
2**256 times, so no statistics are needed.
"""

from collections.abc import Iterator, Sequence
from math import comb
from typing import Final, NamedTuple

from authoring.cases.sampling.draft import SamplerDraft
from tokenref.floats import pack
from tokenref.rules import STANDARD
from tokenref.verdicts import Seeds

TOKENS: Final = 32
EQUALS: Final = 256
SPEC: Final = "docs/sampling.md#random-numbers-and-draws"


class _Batches(NamedTuple):
    slug: str
    batches: Sequence[Sequence[int | None]]
    why: str


_MIXED: Final = [None, 42, None, None, 1234, None, 7, None]

_EVERY: Final = (
    _Batches(
        "beside-a-row-without-a-seed", [[42], [42, None], [None, 42], [None, 42, None]],
        ("A row with a seed alone, and before, after and between rows without one: the seed "
        "counts everywhere."),
    ),
    _Batches(
        "beside-other-seeds", [[42], [42, 1234], [1234, 42], [7, 42, 1234], [1234]],
        ("A row with a seed next to rows with other seeds: each has its own stream, at any "
        "position."),
    ),
    _Batches(
        "eight-rows-mixed", [_MIXED, _MIXED[::-1], [42], [1234], [7], [None]],
        "Eight rows, three with seeds; the same batch turned round; and each of the three alone.",
    ),
    _Batches(
        "one-seed-twice", [[42, 42], [42, None, 42], [42, 7, 42]],
        "Two requests with one seed in one batch: both get what the seed gives.",
    ),
    _Batches(
        "neighbouring-seeds", [[1, 2, 3, 4], [4, 3, 2, 1], [1, None, None, 4], [3], [2]],
        "Seeds that follow each other: a row's place must not be added to its seed.",
    ),
    _Batches(
        "without-seeds", [[None], [None], [None, None], [None, None, None]],
        "Rows without seeds differ from each other, and from call to call.",
    ),
)  # fmt: skip


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for each in _EVERY:
        rows = sum(map(len, each.batches))
        bits = (TOKENS - 1) * (EQUALS.bit_length() - 1)  # of rows that never change: the likelier
        chances = comb(rows, 2) + rows
        yield SamplerDraft(
            op="seeds",
            topic="batches",
            slug=each.slug,
            profile=STANDARD,
            request={
                "probs": pack([1 / EQUALS] * EQUALS),
                "params": {},
                "batches": [list(batch) for batch in each.batches],
                "tokens": TOKENS,
            },
            why=each.why,
            flags=["BatchSeed"],
            verdict=Seeds(alpha=f"2^-{bits - chances.bit_length()}"),
            spec=SPEC,
        )
