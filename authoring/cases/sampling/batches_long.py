"""Large batches: many rows, long rows, rows with padding, rows that lie apart in memory.

A few rows repeat with different parameters and histories. The reference computes each question
once. A row that gets its neighbour's row, parameter, history or place answers otherwise.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from math import inf, log, nan
from typing import Any, Final

import msgspec
from msgspec import UNSET

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.draft import SamplerDraft, SamplerPurpose, VerdictOfAnswer, refuses
from authoring.cases.sampling.filters_long import long_row as heavy_row
from authoring.cases.sampling.rows_long import Part, long_row, places, told
from authoring.cases.splitmix import SplitMix64
from authoring.grids import grid
from authoring.summing import row_logprobs_units, softmax_units
from tokenref.answers import Ok
from tokenref.catalogue import LARGE
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import Floats, Type, cut_floats, nearest, pack, unpack
from tokenref.questions.sampling import pack_parameters
from tokenref.record import Case
from tokenref.rounding.rows import report_verdict
from tokenref.rules import STANDARD
from tokenref.verdicts import Close, Exact, Row, Rows, Verdict

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
    purposes: Sequence[SamplerPurpose] = (),
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
        purposes=purposes,
    )


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from _many_rows()
    yield from _far_apart()
    for count, size in SHAPES:
        yield from _long_rows(count, size)
    for size, whole in PADDED:
        yield from _padding(size, whole)
    yield from _layouts()
    yield from _mixed()
    yield from _histories_and_biases()
    yield _late_nan()
    yield from _own_parameters()
    yield _many_kept()
    yield from _apart_and_padded()
    yield from _sixteen_bits()
    yield from _masked()
    yield from _empty_blocks()
    yield _far_end()
    yield from _fused()
    yield from _reports()
    yield from _speculation()


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


def _far_apart() -> Iterator[SamplerDraft]:
    """Yield rows whose largest logits are too far apart for exponentials of 32 bits."""
    rows = [{"logits": pack([most - 1.0, most])} for most in (1.0, 201.0, -199.0)]
    for op, part, units in _SHARES:
        yield _case(
            "far-apart", op, rows, "Each row has its own largest logit: with that of the first one, "
            "exponentials of the others overflow or vanish.", told_rows(part, units),
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
        ("draw", list(_padded_draws(size, whole, padding)), None),
    ):  # fmt: skip
        yield _case(
            f"{slug}-{size}-of-{whole}", op, asked, f"{says}, {slug} behind it: {tail}", verdict,
            flags=_flags(whole, "BatchPadding"), vocab_size=size,
            purposes=[far_from_boundaries] if op == "draw" else (),
        )  # fmt: skip


def _padded_draws(size: int, whole: int, padding: Sequence[float]) -> Iterator[dict[str, Any]]:
    """Yield rows with two tokens that have a third of the probability each, and draw one of them.

    A draw from many equal tokens would depend on how the row is added up.
    """
    at, heavy = places(size), nearest(log(size), "f32")
    for number, (u, beyond) in enumerate(zip((0.25, 0.6875, 0.65625), padding, strict=True)):
        put = dict.fromkeys((at[number], at[-1 - number]), heavy)
        put |= dict.fromkeys((size, whole - 1), beyond + 5.0)
        logits = grid(number, whole, span=8, put=put)
        yield {"logits": msgspec.to_builtins(logits), "uniforms": pack([u], "f64")}


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


def _histories_and_biases() -> Iterator[SamplerDraft]:
    """Yield small batches in another order in memory: of each row, history, biases, mask differ."""
    histories = ([1], [3, 2, 3], [2, 3, 3], [0, 1, 2, 0])
    biases: Sequence[dict[int, float]] = (
        {0: -2.0, 1: -4.0},
        {0: -2.0},
        {2: -4.0, 3: -2.0},
        {0: 2.0, 3: -4.0},
    )
    masks = ([0, 3], [1, 2], [0, 2, 3], [2])
    penalty = {"penalty": 3.0}
    all_three = {"repetition": 2.0, "frequency": 0.5, "presence": 1.0, "window": None}
    asked: tuple[tuple[str, Sequence[Mapping[str, Any]], Sequence[Type]], ...] = (
        ("repetition_penalty", [penalty] * 4, ("f32",)),
        ("frequency_penalty", [penalty] * 4, ("f32",)),
        ("presence_penalty", [penalty] * 4, ("bf16",)),
        ("penalties", [all_three] * 4, ("f32",)),
        ("logit_bias", [{"biases": each} for each in biases], ("f32", "bf16")),
        ("token_mask", [{"tokens": each} for each in masks], ("f32",)),
    )
    for op, parameters, dtypes in asked:
        part = "history" if "penalt" in op else "params"
        for dtype in dtypes:
            rows = [
                {
                    "logits": pack(_apart(number), dtype),
                    "history": histories[number] if part == "history" else [],
                    "prompt_length": 0,
                    "params": pack_parameters(given),
                }
                for number, given in enumerate(parameters)
            ]
            yield _case(
                f"mixed-and-padded{'' if dtype == 'f32' else '-' + dtype}", op, rows,
                f"Four rows in another order in memory: {op} of each is by its own {_LISTS.get(op, part)}.",
                told_rows("logits"), flags=["BatchLayout", "BatchPadding"], vocab_size=4,
                layout=PLACES, purposes=[by_its_own(part)],
            )  # fmt: skip
    own: Sequence[Callable[[int], list[dict[str, Any]]]] = (
        lambda number: [
            {"step": "frequency_penalty", "params": pack_parameters(penalty)},
            {"step": "logit_bias", "params": pack_parameters({"biases": biases[number]})},
            {"step": "top_k", "params": {"k": 2}},
        ],
        lambda number: [
            {"step": "token_mask", "params": {"tokens": masks[number]}},
            {"step": "top_k", "params": {"k": 4}},
        ],
    )
    for steps, slug, lists in zip(own, ("", "-masks"), ("history and biases", "mask"), strict=True):
        rows = [
            {
                "logits": pack(_apart(number)),
                "history": [] if slug else histories[number],
                "prompt_length": 0,
                "steps": steps(number),
            }
            for number in range(4)
        ]
        yield _case(
            f"mixed-and-padded{slug}", "steps", rows,
            f"Four rows in another order in memory, each with its own {lists}.",
            flags=["BatchLayout", "BatchPadding", "Fused"], vocab_size=4, layout=PLACES,
            purposes=[by_its_own(part) for part in ("history", "steps")[bool(slug) :]],
        )  # fmt: skip


_LISTS: Final = {"logit_bias": "biases", "token_mask": "list"}


def by_its_own(part: str) -> SamplerPurpose:
    """Return the purpose "every row would differ with that part of the row at its place"."""

    def check(case: Case) -> None:
        asked, right = msgspec.to_builtins(case.input), _answers(case)
        for row, place, answer in zip(asked["rows"], asked["layout"]["order"], right, strict=True):
            if _answered(asked, {**row, part: asked["rows"][place][part]}) == answer:
                raise PurposeError(f"{case.id}: each row must show whose {part} it has")

    return check


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


# ---- a parameter for each row

MODULI: Final = (4, 32, 64, 128, 256)
"""Numbers of rows after which a kernel may begin again with the first row's parameters."""


def own_beyond(part: str) -> SamplerPurpose:
    """Return the purpose "some row would differ with that part of another row".

    The other row is the one before, or that of the row's number modulo 4, 32, 64, 128 or 256.
    """

    def check(case: Case) -> None:
        asked, right = msgspec.to_builtins(case.input), _answers(case)
        count = len(right)
        others = [
            [*range(-1, count - 1)],
            *([row % size for row in range(count)] for size in MODULI),
        ]
        for rows in others:
            differ = [
                _answered(asked, {**asked["rows"][row], part: asked["rows"][max(other, 0)][part]})
                != right[row]
                for row, other in enumerate(rows)
                if row != max(other, 0)
            ]
            if differ and not any(differ):
                raise PurposeError(f"{case.id}: no row shows whose {part} it has")

    return check


def far_from_boundaries(case: Case) -> None:
    """Raise `PurposeError` if shares or random numbers that are a little off change a row's answer."""
    asked = msgspec.to_builtins(case.input)
    for row in asked["rows"]:
        if not is_far(asked, row):
            raise PurposeError(f"{case.id}: the answer to {row} must be far from boundaries")


def is_far(batch: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Return whether shares and random numbers that are a little off leave a row's answer as it is."""
    right = _answered(batch, row)
    return all(
        _answered(batch, {name: _moved(name, value, step) for name, value in row.items()}) == right
        for step in (-(2.0**-9), 2.0**-9)
    )


def _moved(name: str, value: Any, step: float) -> Any:
    """Return a part of a question in which each share and random number is a little off."""
    if name in {"uniforms", "draw", "p", "m"}:
        (number,) = unpack(value)
        return pack([min(max(number + step, 2.0**-20), 1 - 2.0**-20)], "f64")
    if name in {"params", "step"} and isinstance(value, dict):
        return {key: _moved(key, each, step) for key, each in value.items()}
    if name == "steps":
        return [_moved("step", each, step) for each in value]
    return value


def _answers(case: Case) -> list[Any]:
    """Return the reference's answer to each row, also where the verdict tells it."""
    asked = msgspec.to_builtins(case.input)
    return [_answered(asked, row) for row in asked["rows"]]


def _answered(batch: Mapping[str, Any], row: Mapping[str, Any]) -> Any:
    alone = {**batch, "rows": [row], "calls": 1}
    answer = SamplerSession(STANDARD).answer("batch", alone)
    return answer.out["rows"][0] if isinstance(answer, Ok) else answer


SALT: Final = 11_500
"""The seed of the first row, chosen so that rows differ where the purposes need it."""


def _own_parameters() -> Iterator[SamplerDraft]:
    """Yield batches of small rows, of which each has a random parameter of its own."""
    units = {op: (part, of_row) for op, part, of_row in _SHARES}
    for op, part, count in (
        ("draw", "uniforms", 257),
        ("top_p", "params", 65),
        ("min_p", "params", 33),
        ("temperature", "params", 33),
        ("token_mask", "params", 33),
        ("softmax", "logits", 33),
        ("logprobs", "logits", 33),
    ):
        rows = [_own(op, number) for number in range(count)]
        verdict = told_rows("logits") if op in {"temperature", "token_mask"} else None
        if op in units:
            verdict = told_rows(*units[op])
        decides = op in {"draw", "top_p", "min_p"}
        what = {"uniforms": "random number", "params": "parameter", "logits": "logits"}[part]
        yield _case(
            f"own-{count}-rows", op, rows,
            f"{count} rows of three tokens, each with its own {what}: row 32 has not that of row 0, "
            "and no row that of the one before.",
            verdict, flags=["BatchParameters", "BatchSize"],
            purposes=[own_beyond(part), *[far_from_boundaries] * decides],
        )  # fmt: skip


def _own(op: str, number: int) -> dict[str, Any]:
    generator = SplitMix64(SALT + number)
    logits = [0.5 * place for place in (generator.below(3), 3 + generator.below(3), 7)]
    logits = logits[number % 3 :] + logits[: number % 3]
    row: dict[str, Any] = {"logits": pack(logits, "bf16" if op == "draw" else "f32")}
    several: dict[str, Callable[[int], dict[str, Any]]] = {
        "draw": lambda step: {"uniforms": pack([step / 64])},
        "top_p": lambda step: {"params": pack_parameters({"p": step / 64})},
        "min_p": lambda step: {"params": pack_parameters({"m": step / 64})},
    }
    if op in several:
        begin = generator.below(63)
        numbers = ((begin + other) % 63 + 1 for other in range(63))
        return next(
            row | several[op](step)
            for step in numbers
            if is_far({"op": op}, row | several[op](step))
        )
    if op == "temperature":
        params = pack_parameters({"temperature": 2.0 ** (generator.below(5) - 2)})
    else:
        params = {"words": [1 + generator.below(7)]}
    return row if op in {"softmax", "logprobs"} else row | _history() | {"params": params}


def _history() -> dict[str, Any]:
    return {"history": [], "prompt_length": 0}


def _many_kept() -> SamplerDraft:
    rows = [
        {**_heavy(n, SMALL), "params": {"k": k}} for n, k in enumerate((9, 1, 300, 65, 1100, 17))
    ]
    return _case(
        "own-4097", "top_k", rows,
        "Six rows of 4,097 tokens keep from 1 to 1,100 of them: each has room for its own candidates.",
        flags=["LongRow", "BatchParameters"], purposes=[own_beyond("params")],
    )  # fmt: skip


# ---- padding and layouts of long rows, and of rows of 16 bits

_FAR: Final = {"stride": 8192, "order": [2, 0, 3, 1]}


def _apart_and_padded() -> Iterator[SamplerDraft]:
    size, whole = PADDED[0]
    at = [place for place in places(whole) if place < size]
    asked: tuple[tuple[str, list[dict[str, Any]]], ...] = (
        ("greedy", [{}] * 4),
        ("top_k", [{"params": {"k": k}} for k in (1, 3, 2, 1)]),
        ("top_p", [{"params": pack_parameters({"p": p})} for p in (0.5, 0.75, 0.9375, 0.25)]),
        ("min_p", [{"params": pack_parameters({"m": m})} for m in (0.75, 0.25, 0.0625, 0.5)]),
        ("draw", [{"uniforms": pack([u])} for u in (0.125, 0.875, 0.5, 0.03125)]),
        ("temperature", [_history() | {"params": pack_parameters({"temperature": t})} for t in (0.5, 1.0, 4.0, 2.0)]),
        ("logprobs", [{}] * 4),
        ("softmax", [{}] * 4),
    )  # fmt: skip
    for op, parts in asked:
        rows = []
        flat = op in {"temperature", "logprobs", "softmax"}
        for number, part in enumerate(parts):
            put = {
                at[-1 - number]: 14.0,
                at[number]: 13.0,
                at[8 - number]: 12.0,
                size: 15.0,
                whole - 1: 16.0,
            }
            logits = grid(number, whole, span=8 if flat else 1 << 20, put=put)
            rows.append({"logits": msgspec.to_builtins(logits), **part})
        verdicts = {each: told_rows(part, units) for each, part, units in _SHARES}
        yield _case(
            "apart-and-padded", op, rows,
            f"Four rows of {whole:,} numbers for {size:,} tokens, 8,192 numbers apart and in another "
            f"order: {op} of each counts its own tokens, and no padding.",
            told_rows("logits") if op == "temperature" else verdicts.get(op),
            flags=["LongRow", "BatchLayout", "BatchPadding"], vocab_size=size, layout=_FAR,
            purposes=[far_from_boundaries] if op in {"top_p", "min_p", "draw"} else (),
        )  # fmt: skip


def _sixteen_bits() -> Iterator[SamplerDraft]:
    asked: tuple[tuple[str, list[dict[str, Any]], Sequence[Type]], ...] = (
        ("greedy", [{}] * 4, ("f16", "bf16")),
        ("softmax", [{}] * 4, ("f16", "bf16")),
        ("draw", [{"uniforms": pack([u])} for u in (0.125, 0.875, 0.5, 0.96875)], ("f16", "bf16")),
        ("top_k", [{"params": {"k": k}} for k in (1, 2, 3, 1)], ("f16", "bf16")),
        ("top_p", [{"params": pack_parameters({"p": p})} for p in (0.25, 0.75, 0.9375, 0.5)], ("f16",)),
        ("min_p", [{"params": pack_parameters({"m": m})} for m in (0.75, 0.375, 0.015625, 0.1875)], ("bf16",)),
        ("logprobs", [{}] * 4, ("bf16",)),
        ("temperature", [_history() | {"params": pack_parameters({"temperature": t})} for t in (0.5, 1.0, 2.0, 4.0)], ("f16",)),
    )  # fmt: skip
    for op, parts, dtypes in asked:
        for dtype in dtypes:
            rows = [{"logits": pack(_apart(n), dtype), **part} for n, part in enumerate(parts)]
            verdict = told_rows("logits") if op == "temperature" else None
            if op == "softmax":
                verdict = told_rows("probs", partial(softmax_units, dtype=dtype))
            if op == "logprobs":
                verdict = told_rows("logprobs", partial(row_logprobs_units, dtype=dtype))
            yield _case(
                f"mixed-and-padded-{dtype}", op, rows,
                f"Four rows of {dtype}, padded and an odd number apart, so that some begin inside a "
                f"word of 32 bits: {op} of each is that of its own numbers.",
                verdict, flags=["BatchLayout", "BatchPadding", "SixteenBit"],
                vocab_size=4, layout=PLACES,
                purposes=[far_from_boundaries] if op in {"top_p", "min_p", "draw"} else (),
            )  # fmt: skip


def _masked() -> Iterator[SamplerDraft]:
    for size in (SMALL, 128_256):
        at = places(size)
        rows = []
        for number in range(4):
            allowed = at[number::4]
            words = {place // 32: 0 for place in allowed}
            for place in allowed:
                words[place // 32] |= 1 << place % 32
            params = pack_parameters({"words": words}) if number != 2 else {}
            logits = msgspec.to_builtins(grid(number, size, span=8))
            rows.append({"logits": logits, **_history(), "params": params})
        yield _case(
            f"own-{size}", "token_mask", rows,
            f"Four rows of {size:,} tokens: three have masks of a few tokens at the edges of blocks, "
            "each another one, and one has none.",
            told_rows("logits"), flags=_flags(size, "TokenMask", "BatchParameters"),
            purposes=[own_beyond("params")],
        )  # fmt: skip


# ---- blocks of nothing


def _empty_blocks() -> Iterator[SamplerDraft]:
    """Yield rows in which some blocks are impossible: the first and the last, or another one."""
    with_sums = ("softmax", "logprobs", "top_p", "draw")
    narrow, wide = range(96), range(300)
    for block, size, ops, several in (
        (32, 96, (*with_sums, "greedy", "top_k", "min_p"), ({*narrow[:32], *narrow[64:]}, {*narrow[32:64]})),
        (256, 300, with_sums, ({*wide[:256]}, {*wide[44:]})),
    ):  # fmt: skip
        for op in ops:
            rows = []
            for number, gone in enumerate(several):
                row = [((token * 5 + number) % 16) / 4 - 2.0 for token in range(size)]
                best = max(token for token in range(size - 9) if token not in gone)
                row = [-inf if token in gone else logit for token, logit in enumerate(row)]
                row[best] = 6.0
                dtype: Type = "f32" if op in {"softmax", "logprobs"} else "bf16"
                rows.append({"logits": pack(row, dtype), **_BESIDE.get(op, {})})
            verdicts = {each: told_rows(part, units) for each, part, units in _SHARES}
            yield _case(
                f"empty-blocks-of-{block}", op, rows,
                f"Rows in which whole blocks of {block} tokens are impossible: minus infinity less minus "
                f"infinity, the largest logit of such a block, is NaN, and must not get into {op}.",
                verdicts.get(op), flags=["MinusInfinity", "StableSoftmax"],
                purposes=[far_from_boundaries] if op in {"top_p", "min_p", "draw"} else (),
            )  # fmt: skip


_BESIDE: Final[Mapping[str, Mapping[str, Any]]] = {
    "top_p": {"params": pack_parameters({"p": 0.5})},
    "min_p": {"params": pack_parameters({"m": 0.03125})},
    "top_k": {"params": {"k": 2}},
    "draw": {"uniforms": pack([0.5])},
}


def _far_end() -> SamplerDraft:
    rows = []
    for number in range(8):
        put = dict.fromkeys((5, 297, 298, 299), -inf)
        logits = msgspec.to_builtins(grid(number, 300, span=1 << 20, put=put))
        rows.append({"logits": logits, "uniforms": pack([1 - 2.0**-24])})
    return _case(
        "far-end", "draw", rows,
        "The largest random number of 32 bits, and impossible tokens at the end: if a rounded sum "
        "never exceeds it, the last possible token is drawn, and no impossible one.",
        flags=["ZeroWeightDrawn", "BatchRow"],
    )  # fmt: skip


# ---- several steps in a kernel, reports, and speculative decoding, for each row its own


def _fused() -> Iterator[SamplerDraft]:
    rows: list[Mapping[str, Any]] = []
    for number in range(SALT, SALT + 100):
        generator = SplitMix64(number)
        logits = [0.5 * place for place in (7, 5, 4, 2, 0)]
        cut = number % 5
        logits = logits[cut:] + logits[:cut]
        steps: list[tuple[str, dict[str, Any]]] = [
            ("repetition_penalty", {"penalty": 2.0}),
            ("temperature", {"temperature": (0.5, 1.0, 2.0)[generator.below(3)]}),
            ("top_k", {"k": 2 + generator.below(3)}),
            ("top_p", {"p": (0.75, 0.875, 0.96875)[generator.below(3)]}),
        ]
        if generator.below(2):
            steps.insert(1, ("token_mask", {"words": [1 + 2 * generator.below(15)]}))
        if not generator.below(3):
            del steps[0]
        listed = [{"step": name, "params": pack_parameters(params)} for name, params in steps]
        history = [generator.below(5) for _ in range(generator.below(4))]
        row = {"logits": pack(logits), "history": history, "prompt_length": 0, "steps": listed}
        begin = generator.below(16)
        drawn = ((begin + other) % 16 / 16 + 1 / 32 for other in range(16))
        asked = ({**row, "draw": pack([u])} for u in drawn)
        rows += islice((each for each in asked if is_far({"op": "steps"}, each)), 1)
    yield _case(
        "36-rows", "steps", rows[:36],
        "36 rows in one call of a kernel for all steps: each has its own penalty or none, mask or none, "
        "temperature, k, p, history and random number.",
        flags=["Fused", "BatchParameters"],
        purposes=[far_from_boundaries, *map(own_beyond, ("steps", "draw", "history"))],
    )  # fmt: skip


_REPORTED: Final = (2.0, 0.5, 1.0, 0.5, -1.0, 0.5, 1.5, -2.0)


def _reports() -> Iterator[SamplerDraft]:
    rows = []
    for number, (token, n) in enumerate(((6, 3), (3, 1), (7, 0), (0, 8), (4, 2))):
        logits = [*_REPORTED[number:], *_REPORTED[:number]]
        rows.append({"logits": pack(logits), "steps": [], "token": token, "n": n})
    verdicts = [report_verdict("top_logprobs", STANDARD, row) for row in rows]
    ulp = max(each.ulp for each in verdicts if isinstance(each, Close))
    yield _case(
        "own", "top_logprobs", rows,
        "Five rows, each with its own drawn token and number of tokens to report, one with none: "
        "a buffer for the largest number must not fill the others.",
        Close(ulp=ulp), flags=["ReportedToken", "BatchParameters"],
        purposes=[own_beyond("token"), own_beyond("n")],
    )  # fmt: skip


def _speculation() -> Iterator[SamplerDraft]:
    even, first, last = (0.25,) * 4, (0.5, 0.25, 0.125, 0.125), (0.125, 0.125, 0.25, 0.5)
    both = [(first, last), (last, first), (even, first), (first, even)]
    residuals = [{"target": pack(a), "draft": pack(b), "params": {}} for a, b in both]
    yield _case(
        "own", "residual", residuals,
        "Four rows of a target, each with its own draft: the draft of another row leaves other tokens.",
        flags=["SpeculativeResidual", "BatchRow"], purposes=[own_beyond("draft")],
    )  # fmt: skip
    rows = []
    for tokens, numbers in (
        ([0], (0.75, 0.625)),
        ([3, 0, 1], (0.125, 0.375, 0.125, 0.875)),
        ([], (0.4375,)),
        ([2, 3], (0.5, 0.9375, 0.1875)),
        ([1, 1, 0, 2], (0.25, 0.25, 0.8125, 0.5, 0.5)),
        ([3], (0.3125, 0.6875)),
    ):
        drafts_ = [(first, last, even)[place % 3] for place in range(len(tokens))]
        targets = [(last, even, first)[place % 3] for place in range(len(tokens) + 1)]
        rows.append({
            "draft": [*map(pack, drafts_)], "target": [*map(pack, targets)], "tokens": tokens,
            "uniforms": pack(numbers, "f64"), "params": {},
        })  # fmt: skip
    yield _case(
        "own", "speculative", rows,
        "Six rows with none to four drafted tokens: the rows and random numbers of each begin where "
        "those of the row before end.",
        flags=["SpeculativeOwnRow", "BatchRow"], purposes=[own_beyond("uniforms")],
    )  # fmt: skip
