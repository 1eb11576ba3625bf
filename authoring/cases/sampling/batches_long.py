"""Large batches: many rows, long rows, rows with padding, rows that lie apart in memory.

A few rows repeat with different parameters and histories. The reference computes each question
once. A row that gets its neighbour's row, parameter, history or place answers otherwise.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf, nan
from typing import Any, Final

import msgspec
from msgspec import UNSET

from authoring.cases.sampling.draft import SamplerDraft, VerdictOfAnswer, refuses
from authoring.cases.sampling.filters_long import long_row as heavy_row
from authoring.cases.sampling.rows_long import Part, long_row, places, told
from authoring.cases.splitmix import SplitMix64
from authoring.grids import grid
from authoring.summing import row_logprobs_units, softmax_units
from tokenref.answers import Ok
from tokenref.catalogue import LARGE
from tokenref.floats import Floats, cut_floats, pack
from tokenref.questions.sampling import pack_parameters
from tokenref.rules import STANDARD
from tokenref.verdicts import Exact, Row, Rows, Verdict

SPEC: Final = "docs/sampling.md#batches"
SMALL: Final = 4097
SHAPES: Final = ((32, SMALL), (16, 32_000), (8, 128_256))
"""Numbers of rows and of tokens."""

COUNTS: Final = (1, 31, 33, 65, 129, 257, 512)
"""Numbers of rows of sixteen tokens: the edges of warps, of blocks, and of a byte."""

TYPES: Final = ("f32", "f16", "bf16")
PADDED: Final = ((4000, 4097), (32_000, 32_064), (151_643, 151_936))
"""Sizes of vocabularies, and of the rows that models give for them."""


def told_rows(part: Part, units: Callable[[Sequence[float]], int] | None = None) -> VerdictOfAnswer:
    """Return a function that tells the answers of a batch by how they differ from its rows."""

    def verdict(question: Mapping[str, Any], answer: Ok) -> Rows:
        rows: list[Row] = []
        known: dict[str, Row] = {}
        answers = answer.out["rows"][: len(question["rows"])]
        for row, out in zip(question["rows"], answers, strict=True):
            key = repr(row)
            if key not in known:
                size = question.get("vocab_size", 1 << 20)
                logits = cut_floats(row["logits"], size)
                asked = msgspec.convert(logits, Floats)
                ulp = UNSET if units is None else units(asked.values())
                known[key] = told(part, ulp)({"logits": logits}, Ok(out))
            rows.append(known[key])
        return Rows(rows=rows)

    return verdict


def _case(
    slug: str,
    op: str,
    rows: Sequence[Mapping[str, Any]],
    why: str,
    verdict: Verdict | VerdictOfAnswer | None = None,
    flags: Sequence[str] = ("BatchRow",),
    **about: Any,
) -> SamplerDraft:
    return SamplerDraft(
        op="batch",
        topic="long",
        slug=f"{op.replace('_', '-')}-{slug}",
        profile=STANDARD,
        request={"op": op, "rows": [*rows], **about},
        why=why,
        flags=sorted(flags),
        verdict=verdict or Exact(),
        spec=SPEC,
    )


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from _many_rows()
    for count, size in SHAPES:
        yield from _long_rows(count, size)
    for size, whole in PADDED:
        yield from _padding(size, whole)
    yield from _layouts()
    yield from _mixed()
    yield _late_nan()


# ---- many rows


def _short(number: int) -> dict[str, Any]:
    generator = SplitMix64(number)
    return {"logits": pack([generator.below(64) / 4.0 - 8.0 for _ in range(16)])}


def _many_rows() -> Iterator[SamplerDraft]:
    for count in COUNTS:
        rows = [_short(number) for number in range(count)]
        says = f"A batch of {count} rows of sixteen tokens, each with its own"
        yield _case(f"{count}-rows", "greedy", rows, f"{says} best token.")
        if count in (33, 257):
            cut = [{**row, "params": {"k": 1 + n % 7}} for n, row in enumerate(rows)]
            yield _case(f"{count}-rows", "top_k", cut, f"{says} k.", flags=["BatchParameters"])
            biased = [
                {
                    **row,
                    "history": [n % 16] * (n % 4),
                    "prompt_length": 0,
                    "params": pack_parameters({"penalty": 0.25 * (1 + n % 3)}),
                }
                for n, row in enumerate(rows)
            ]
            yield _case(
                f"{count}-rows", "frequency_penalty", biased, f"{says} penalty and history, every "
                "fourth one empty.", told_rows("logits"), flags=["BatchParameters"],
            )  # fmt: skip


# ---- long rows


def _flags(size: int, *flags: str) -> tuple[str, ...]:
    return ("LongRow", *flags, *[LARGE] * (size > SMALL))


def _heavy(number: int, size: int) -> dict[str, Any]:
    """Return one of three rows whose cuts are far from every boundary."""
    if size != SMALL:
        return heavy_row("32000-f32" if size == 32_000 else "128256-f32").plain()
    at = places(size)[number % 3 :: 3]
    put = {at[0]: 14.0, at[-1]: 13.0, at[1]: 12.0}
    return {"logits": msgspec.to_builtins(grid(number % 3, size, span=1 << 20, put=put))}


def _long_rows(count: int, size: int) -> Iterator[SamplerDraft]:
    says = f"A batch of {count} rows of {size:,} tokens"
    at = places(size)
    rows = [
        {"logits": msgspec.to_builtins(long_row(size, impossible=n % 3 == 1))} for n in range(count)
    ]
    yield _case(
        f"{size}", "greedy",
        [_only(n, at[(5 * n) % len(at)], size) for n in range(count)],
        f"{says}: the best token is at another place in each.", flags=_flags(size, "BatchRow"),
    )  # fmt: skip
    for op, name, values in (
        ("top_k", "k", (1, 2, 3)),
        ("top_p", "p", (0.5, 0.75, 0.84375) if size == SMALL else (0.25, 0.5, 0.625)),
        ("min_p", "m", (0.75, 0.3125, 0.0625)),
    ):
        filtered = [
            {**_heavy(n, size), "params": pack_parameters({name: values[n * 2 % 3]})}
            for n in range(count)
        ]
        yield _case(
            f"{size}", op, filtered, f"{says}, each with its own {name}.",
            flags=_flags(size, "BatchParameters"),
        )  # fmt: skip
    for op, parameters in (
        ("temperature", ({"temperature": 0.5}, {"temperature": 1.0}, {"temperature": 2.0})),
        ("repetition_penalty", ({"penalty": 2.0}, {"penalty": 1.0}, {"penalty": 4.0})),
        (
            "logit_bias",
            ({"biases": {at[-1]: 1.5}}, {"biases": {}}, {"biases": {at[-2]: -1.0, 0: 2.0}}),
        ),
    ):
        changed = [
            {
                **row,
                "history": [[], at[:5], [at[-1], *at[-3:]] * 3][n % 3],
                "prompt_length": 0,
                "params": pack_parameters(parameters[n * 2 % 3]),
            }
            for n, row in enumerate(rows)
        ]
        yield _case(
            f"{size}", op, changed, f"{says}, each with its own parameters and history; some are "
            "switched off, and some histories are empty.", told_rows("logits"),
            flags=_flags(size, "BatchParameters"),
        )  # fmt: skip
    for op, part, units in _SHARES:
        yield _case(
            f"{size}-twice", op, rows, f"{says}, asked twice: the bits of both answers are the same.",
            told_rows(part, units), flags=_flags(size, "BatchRow", "StableSoftmax"), calls=2,
        )  # fmt: skip


def _only(number: int, place: int, size: int) -> dict[str, Any]:
    return {"logits": msgspec.to_builtins(grid(number % 3, size, span=1 << 20, put={place: 2.0}))}


_SHARES: Final[tuple[tuple[str, Part, Callable[[Sequence[float]], int]], ...]] = (
    ("softmax", "probs", partial(softmax_units, dtype="f32")),
    ("logprobs", "logprobs", partial(row_logprobs_units, dtype="f32")),
)


# ---- padding, and layouts


def _padding(size: int, whole: int) -> Iterator[SamplerDraft]:
    for slug, beyond in (("heavy", (9.0, 5.0, 7.0)), ("garbage", (nan, inf, -inf))):
        yield from _padded(slug, size, whole, beyond)


def _padded(slug: str, size: int, whole: int, padding: Sequence[float]) -> Iterator[SamplerDraft]:
    at = places(size)
    rows = []
    for number, beyond in enumerate(padding):
        put = {
            at[-1 - number]: 3.0,
            size: beyond,
            (size + whole) // 2: 2 * number + 1.0,
            whole - 1: beyond,
        }
        logits = grid(number, whole, span=8, put=put)
        rows.append({"logits": msgspec.to_builtins(logits)})
    says = f"Rows of {whole:,} numbers for a vocabulary of {size:,} tokens"
    tail = "what is behind it is neither kept nor drawn nor counted, whatever it is."
    for op, asked, verdict in (
        ("greedy", rows, None),
        ("top_k", [{**row, "params": {"k": 1}} for row in rows], None),
        ("softmax", rows, told_rows("probs", partial(softmax_units, dtype="f32"))),
        ("draw", [{**row, "uniforms": pack([u], "f64")} for row, u in zip(rows, (0.0, 0.5, 1 - 2.0**-20), strict=True)], None),
    ):  # fmt: skip
        yield _case(
            f"{slug}-{size}-of-{whole}", op, asked, f"{says}, {slug} behind it: {tail}", verdict,
            flags=_flags(whole, "BatchPadding"), vocab_size=size,
        )  # fmt: skip


def _layouts() -> Iterator[SamplerDraft]:
    size, count = SMALL, 8
    rows = [_only(n, places(size)[n], size) for n in range(count)]
    long = [
        {"logits": msgspec.to_builtins(long_row(size, impossible=n % 2 == 1))} for n in range(count)
    ]
    for slug, stride, order in (
        ("apart", 4224, [*range(count)]),
        ("reversed", size, [*reversed(range(count))]),
        ("apart-and-mixed", 8192, [3, 0, 6, 1, 7, 2, 5, 4]),
    ):
        layout = {"stride": stride, "order": order}
        says = f"Rows that begin {stride:,} numbers apart, at the places {order} in memory"
        yield _case(
            f"{slug}", "greedy", rows, f"{says}: each answer is that of its own row.",
            flags=["BatchLayout"], layout=layout,
        )  # fmt: skip
        yield _case(
            f"{slug}", "softmax", long, f"{says}: nothing that lies between them counts.",
            told_rows("probs", partial(softmax_units, dtype="f32")), flags=["BatchLayout"],
            layout=layout,
        )  # fmt: skip


PLACES: Final = {"stride": 7, "order": [2, 0, 3, 1]}


def _mixed() -> Iterator[SamplerDraft]:
    """Yield small batches whose rows are padded and lie in another order than their parameters."""
    says = "Four rows in another order in memory, with padding that would be the best token"
    beyond: dict[str, Any] = {"vocab_size": 4, "layout": PLACES}
    asked: tuple[tuple[str, list[dict[str, Any]], VerdictOfAnswer | None], ...] = (
        ("top_k", [{"k": k} for k in (1, 2, 3, 1)], None),
        ("top_p", [{"p": p} for p in (0.25, 0.75, 0.875, 0.5)], None),
        ("min_p", [{"m": m} for m in (0.75, 0.375, 0.0625, 0.1875)], None),
        ("temperature", [{"temperature": t} for t in (0.5, 1.0, 2.0, 4.0)], None),
        ("logprobs", [{}] * 4, told_rows("logprobs", partial(row_logprobs_units, dtype="f32"))),
    )
    for op, parameters, verdict in asked:
        rows: list[dict[str, Any]] = []
        for number, given in enumerate(parameters):
            row: dict[str, Any] = {"logits": pack(_apart(number))}
            if op == "temperature":
                row |= {"history": [], "prompt_length": 0}
            rows.append(row | ({"params": pack_parameters(given)} if given else {}))
        yield _case(
            "mixed-and-padded", op, rows, f"{says}: each row has its own answer to {op}.",
            verdict, flags=["BatchLayout", "BatchPadding"], **beyond,
        )  # fmt: skip
    drawn = [
        {"logits": pack(_apart(number)), "uniforms": pack([u], "f64")}
        for number, u in enumerate((0.125, 0.875, 0.5, 0.96875))
    ]
    yield _case(
        "mixed-and-padded", "draw", drawn, f"{says}: each row has its own random number.",
        flags=["BatchLayout", "BatchPadding"], **beyond,
    )  # fmt: skip
    masked = [
        {
            "logits": pack(_apart(number)),
            "history": [],
            "prompt_length": 0,
            "params": {"words": [word]} if word else {},
        }
        for number, word in enumerate((0b0101, 0b0110, 0, 0b1001))
    ]
    yield _case(
        "mixed", "token_mask", masked,
        "Four rows in another order in memory, masks in the order of the rows, one without a mask.",
        flags=["BatchLayout", "TokenMask"], layout=PLACES,
    )  # fmt: skip


def _apart(number: int) -> list[float]:
    """Return one of four rows of four tokens, each with another order, and of padding."""
    row = [3.0, 1.0, -0.5, -3.0]
    return [*row[number:], *row[:number], 9.0, 5.0]


def _late_nan() -> SamplerDraft:
    rows = [_only(n, places(SMALL)[n], SMALL) for n in range(3)]
    rows[2]["logits"] = msgspec.to_builtins(grid(2, SMALL, span=8, put={SMALL - 1: nan}))
    return replace(
        _case("nan-at-the-end", "softmax", rows, "The last of 3 * 4,097 numbers is NaN: the batch is refused."),
        purposes=[refuses("INVALID_ROW")],
    )  # fmt: skip
