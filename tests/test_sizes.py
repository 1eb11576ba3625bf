"""In each dimension of each operation's input, records go beyond the sizes where programs break.

`DIMENSIONS` is the table: operation, dimension, and the largest size that records go beyond. For
every size up to it there must be a record that is larger, but not more than four times as large: a
program that breaks there should fail a record that is not much larger. Of `CLOSE`, there must also
be a record of exactly the size, one just below, and one just beyond.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import msgspec
import pytest

from tokenref.answers import request_text
from tokenref.catalogue import open_catalogue
from tokenref.floats import DIGITS
from tokenref.record import Case, op_of

SIZES: Final = (64, 100, 128, 256, 512, 1000, 1024, 2048, 4096, 1 << 15, 1 << 16)

DIMENSIONS: Final = (
    ("encode", "bytes", 1 << 16),
    ("count", "bytes", 1 << 16),
    ("pieces", "bytes", 1 << 16),
    ("pieces", "out pieces", 1000),
    ("special", "bytes", 4096),
    ("special", "out ids", 1024),
    ("special", "allowed", 256),
    ("decode", "ids", 4096),
    ("stream", "ids", 1024),
    ("offsets", "ids", 256),
    ("canonical", "ids", 4096),
    ("append", "calls", 256),
    ("append", "bytes", 4096),
    ("prepend", "calls", 256),
    ("prepend", "bytes", 1024),
    ("eager", "pushes", 256),
    ("eager", "bytes", 1024),
    ("intervals", "bytes", 4096),
    ("intervals", "ranges", 256),
    ("limit", "bytes", 4096),
    ("split", "most", 1024),
    ("chunks", "most", 1024),
    ("chunks", "overlap", 128),
    ("chunks", "out chunks", 128),
    ("completions", "out completions", 256),
    ("completions", "bytes", 256),
    ("session", "calls", 256),
    ("tokenize", "out ids", 256),
    ("detokenize", "ids", 256),
    ("detokenize_stream", "ids", 256),
    ("repetition_penalty", "history", 4096),
    ("frequency_penalty", "history", 256),
    ("presence_penalty", "history", 256),
    ("penalties", "history", 256),
    ("decaying_penalties", "history", 256),
    ("repetition_penalty", "window", 256),
    ("dry", "history", 256),
    ("dry_longest", "history", 256),
    ("dry_nearby", "history", 256),
    ("no_repeat_ngram", "history", 256),
    ("no_repeat_ngram", "ngram_size", 256),
    ("top_k", "k", 4096),
    ("top_k", "row", 1 << 16),
    ("top_p", "row", 1 << 16),
    ("top_p", "out keep", 1024),
    ("min_p", "row", 1 << 16),
    ("epsilon", "row", 1 << 16),
    ("top_a", "row", 1 << 16),
    ("top_n_sigma", "row", 1 << 16),
    ("greedy", "row", 1 << 16),
    ("draw", "row", 1 << 16),
    ("draw", "order", 256),
    ("draw", "count", 256),
    ("softmax", "row", 256),
    ("logprobs", "row", 256),
    ("speculative", "tokens", 256),
    ("batch", "rows", 128),
    ("sequence", "calls", 256),
)

CLOSE: Final = (
    *(("encode", "bytes", size) for size in SIZES),
    *(("count", "bytes", size) for size in SIZES[:9]),
    *(("top_k", "row", size) for size in SIZES),
    *(("min_p", "row", size) for size in SIZES),
    *(("greedy", "row", size) for size in SIZES),
    *(("repetition_penalty", "history", size) for size in SIZES[:4]),
    *(("top_k", "k", size) for size in SIZES[:4]),
    *(("decode", "ids", size) for size in (64, 256)),
    *(("split", "most", size) for size in (64, 256)),
)


def numbers(row: Mapping[str, Any]) -> int:
    """Return how many numbers a row has."""
    if "gen" in row:
        return int(row["n"])
    return next(len(row[name]) // digits for name, digits in DIGITS.items() if name in row)


def sizes_of(case: Case) -> Iterator[tuple[str, int]]:
    """Yield the dimensions of a record and how large it is in each."""
    request = msgspec.to_builtins(case.input)
    answer = msgspec.to_builtins(case.out) or {}
    if case.vocab is not None and not {"text", "bytes", "recipe"}.isdisjoint(request):
        content = request_text(request)
        yield "bytes", len(content if isinstance(content, bytes) else content.encode())
    if "calls" in request and op_of(case) in ("append", "prepend"):
        yield "bytes", sum(len(call.get("push", "")) // 2 for call in request["calls"])
    if "pushes" in request:
        yield "bytes", sum(len(push) // 2 for push in request["pushes"])
    parameters = request.get("params") or {}
    for name, value in (*request.items(), *parameters.items()):
        if isinstance(value, int):
            yield name, value
        elif isinstance(value, list):
            yield name, len(value)
        elif name in ("probs", "logits"):
            yield "row", numbers(value)
    for name, value in answer.items():
        if isinstance(value, list):
            yield f"out {name}", len(value)


@cache
def found() -> Mapping[tuple[str, str], frozenset[int]]:
    """Return the sizes of all records, by operation and dimension."""
    every: dict[tuple[str, str], set[int]] = defaultdict(set)
    for case in open_catalogue().cases:
        for name, size in sizes_of(case):
            every[op_of(case), name].add(size)
    return {key: frozenset(sizes) for key, sizes in every.items()}


@pytest.mark.parametrize(("op", "dimension", "largest"), DIMENSIONS)
def test_records_go_beyond_each_size_up_to_the_largest(
    op: str, dimension: str, largest: int
) -> None:
    there = found()[op, dimension]
    for size in SIZES:
        if size <= largest:
            assert any(size < each <= 4 * size + 60 for each in there), size


@pytest.mark.parametrize(("op", "dimension", "size"), CLOSE)
def test_records_have_the_size_and_its_neighbours(op: str, dimension: str, size: int) -> None:
    assert {size - 1, size, size + 1} <= found()[op, dimension]


def test_answers_at_sizes_do_not_repeat_with_a_period_that_divides_the_size() -> None:
    for case in open_catalogue().cases:
        request = msgspec.to_builtins(case.input)
        if "/sizes/" in case.id and "recipe" in request and op_of(case) == "encode":
            unit = len(request["recipe"]["unit"]) // 2
            if unit > 1:
                assert all(size % unit for size in SIZES), case.id
