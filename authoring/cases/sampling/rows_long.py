"""Rows of a whole vocabulary: every step that changes a row, softmax, and residuals.

The entries that matter stand where blocks of kernels begin and end, at the first place and at the
last one. Everything else is a grid of few values. So the answer is told in a few numbers (a
verdict `row`), and yet every entry of it is judged.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from math import inf, log
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.row_draft import Topic, in_32_bits
from authoring.grids import grid
from authoring.summing import BLOCK, lightest_block, row_logprobs_units, softmax_units
from tokenref.answers import Ok
from tokenref.catalogue import LARGE
from tokenref.floats import DIGITS, SMALLEST_NORMAL, Floats, Type, floats, nearest, pack
from tokenref.questions.sampling import pack_parameters
from tokenref.rules import rule_name
from tokenref.verdicts import Exact, Row

Part = Literal["logits", "probs", "logprobs"]

SMALL: Final = (257, 1025, 2049, 4097)
SIZES: Final = (*SMALL, 32_000, (1 << 16) + 1, 128_256)
MORE_SIZES: Final = (255, 256, 1024, *SIZES, (1 << 15) + 1, (1 << 17) + 1, 262_144)
LARGEST: Final = (262_145, 300_000)
"""Sizes for which 1,024 blocks of 256 are too few."""

_FEW: Final = 32
"""Up to so many numbers that change are listed with their places."""

_MOST: Final = 512
"""A verdict that needs more numbers than this does not tell an answer shortly."""

_EDGES: Final = (1, 32, 256, 1024, 2048, 4096, 1 << 15, 1 << 16, 1 << 17)


def places(size: int) -> list[int]:
    """Return the places of a row where blocks of kernels begin and end, and its two ends.

    >>> places(257)
    [0, 1, 31, 32, 255, 256]
    """
    edges = {place for edge in _EDGES for place in (edge - 1, edge)}
    return sorted(place for place in {*edges, size - 1} if place < size)


def long_row(size: int, dtype: Type = "f32", *, impossible: bool = False) -> Floats:
    """Return a row: a grid of eight values, logits from -4 to 4 at its `places`, and a heavy end.

    The last token is about 512 times as likely as one of the grid: as a power of two, so that
    32 bits add up the others without bias. One impossible token stands in the middle if it is
    asked for.

    >>> row = long_row(257).values()
    >>> row[0], round(row[256], 3), max(row[2:31]) < 2**-16
    (-4.0, 6.238, True)
    """
    at = places(size)
    put = {place: (number * 7 % 16) / 2 - 4.0 or 0.25 for number, place in enumerate(at)}
    put[at[-1]] = nearest(9 * log(2), dtype)
    if impossible:
        put[size // 3] = -inf
    return grid(size, size, span=8, dtype=dtype, put=put)


def told(
    part: Part, ulp: int | UnsetType = UNSET, floor: Floats | UnsetType = UNSET
) -> Callable[[Mapping[str, Any], Ok], Row]:
    """Return a function that tells an answer by how it differs from the question's row."""

    def verdict(question: Mapping[str, Any], answer: Ok) -> Row:
        row = question["target" if "target" in question else "logits"]
        asked = msgspec.convert(row, Floats)
        width = DIGITS[asked.type]
        given, got = (
            [digits[at : at + width] for at in range(0, len(digits), width)]
            for digits in (asked.digits(), answer.out[part][asked.type])
        )
        places_changed = [
            (place, after)
            for place, (before, after) in enumerate(zip(given, got, strict=True))
            if before != after
        ]
        if len(places_changed) <= _FEW:
            return Row(part=part, changed=places_changed, ulp=ulp, floor=floor)
        ways: dict[str, Counter[str]] = defaultdict(Counter)
        for before, after in zip(given, got, strict=True):
            ways[before][after] += 1
        usual = {before: ways[before].most_common(1)[0][0] for before in sorted(ways)}
        both = enumerate(zip(given, got, strict=True))
        changed = [(place, after) for place, (before, after) in both if usual[before] != after]
        if len(usual) + len(changed) > _MOST:
            raise PurposeError(
                f"a row of {len(usual)} values with {len(changed)} others is not told shortly"
            )
        values = (
            UNSET if all(before == after for before, after in usual.items()) else [*usual.items()]
        )
        return Row(part=part, changed=changed, values=values, ulp=ulp, floor=floor)

    return verdict


# ---- the cases

LONG: Final = "docs/sampling.md#long-rows"


def _flags(size: int, *flags: str) -> tuple[str, ...]:
    return ("LongRow", *flags, *[LARGE] * (size > SMALL[-1]))


def _changes(size: int) -> Iterator[tuple[str, str, dict[str, Any], str]]:
    """Yield steps that change a row: operation, name, parameters, and the flag of the bug."""
    at = places(size)
    last = at[-1]
    yield "temperature", "half", {"temperature": 0.5}, "Temperature"
    yield "repetition_penalty", "two", {"penalty": 2.0}, "PenaltyScope"
    yield "frequency_penalty", "quarter", {"penalty": 0.25}, "PenaltyCount"
    yield "presence_penalty", "half", {"penalty": 0.5}, "PenaltyOnce"
    all_three = {"repetition": 2.0, "frequency": 0.25, "presence": 0.5, "window": None}
    yield "penalties", "all", all_three, "PenaltyOrder"
    yield "logit_bias", "edges", {"biases": {place: place % 5 - 1.5 for place in at}}, "LogitBias"
    yield "suppress", "edges", {"tokens": at}, "TokenMask"
    yield "allowed_tokens", "edges", {"tokens": at}, "TokenMask"
    yield "bad_words", "last", {"words": [[last], [last, at[-2]], [0, at[-3]]]}, "TokenMask"
    yield "sequence_bias", "last", {"biases": {(last,): 1.5, (last, at[-2]): -1.0}}, "SequenceBias"
    yield "no_repeat_ngram", "two", {"ngram_size": 2}, "NGramBan"
    yield "min_length", "last", {"length": 1000, "ends": [0, last]}, "LeastLength"
    yield "forced_eos", "last", {"max_length": len(_history(size)) + 1, "ends": last}, "ForcedToken"


def _history(size: int) -> list[int]:
    """Return the places of a row, some of them several times, and the last token at the end.

    >>> _history(32)
    [0, 1, 1, 31, 31, 31, 1, 31]
    """
    at = places(size)
    every = [place for number, place in enumerate(at) for _ in range(1 + number % 3)]
    return [*every, at[-2], at[-1]]


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for size in (*MORE_SIZES, *LARGEST):
        yield from _shares(size, "f32")
    for size in MORE_SIZES:
        yield _change(size, "temperature", "half", {"temperature": 0.5}, "Temperature", "f32")
    for size in (4097, 32_000):
        yield from _shares(size, "f16")
        yield from _shares(size, "bf16")
    for size in SIZES:
        for op, slug, params, flag in _changes(size):
            if op != "temperature":
                yield _change(size, op, slug, params, flag, "f32")
    for dtype in ("f16", "bf16"):
        for op, slug, params, flag in _changes(4097):
            yield _change(4097, op, slug, params, flag, dtype)
    yield from _speculative()


def _speculative() -> Iterator[SamplerDraft]:
    for size in (257, 4097, (1 << 16) + 1):
        yield _residual(size)
    for size in (257, 4097, (1 << 16) + 1, 70_000, 128_256):
        yield _speculation(size)


def _shares(size: int, dtype: Type) -> Iterator[SamplerDraft]:
    row = long_row(size, dtype, impossible=True)
    values = row.values()
    floor = floats([SMALLEST_NORMAL[dtype]], "f32") if dtype == "f16" else UNSET
    for op, part, units in (
        ("softmax", "probs", softmax_units(values, dtype)),
        ("logprobs", "logprobs", row_logprobs_units(values, dtype)),
    ):
        if dtype == "f32" and size > BLOCK and lightest_block(values) < 4 * units * 2.0**-23:
            raise PurposeError(f"{op} of {size} must tell a row without {BLOCK} of its tokens")
        part_: Part = "probs" if part == "probs" else "logprobs"
        yield Topic("long", _flags(size, "StableSoftmax"), LONG).case(
            op,
            f"{size}-{dtype}",
            "standard",
            {"logits": msgspec.to_builtins(row)},
            f"{op.capitalize()} of {size:,} tokens in {dtype}, heavy ones at the edges of blocks and at "
            "the end: the sum is that of all of them.",
            flags=("MinusInfinity", *["SixteenBit"] * (dtype != "f32")),
            verdict=told(part_, units, floor),
        )


def _change(
    size: int, op: str, slug: str, params: Mapping[str, Any], flag: str, dtype: Type
) -> SamplerDraft:
    return Topic("long", _flags(size, flag), LONG).case(
        op,
        f"{slug}-{size}-{dtype}",
        "standard",
        {
            "logits": msgspec.to_builtins(long_row(size, dtype, impossible=True)),
            "history": _history(size),
            "prompt_length": 2,
            "params": pack_parameters(in_32_bits(params)),
        },
        f"{op} on {size:,} tokens in {dtype}: those of the history and the parameters stand at the edges of blocks.",
        verdict=told("logits"),
    )


def _pair(size: int) -> tuple[Floats, Floats]:
    """Return a target's and a draft's probabilities: zero but for a few tokens at the edges."""
    at = places(size)
    target = dict.fromkeys(at, 0.5 / 32) | {at[-1]: 1 - (len(at) - 1) / 64}
    draft = dict.fromkeys(at, 1 / 32) | {at[-2]: 1 - (len(at) - 1) / 32}
    return grid(size, size, span=1, put=target), grid(size, size, span=1, put=draft)


def _residual(size: int) -> SamplerDraft:
    target, draft = map(msgspec.to_builtins, _pair(size))
    return Topic("long", _flags(size, "SpeculativeResidual"), LONG).case(
        "residual",
        f"{size}",
        "standard",
        {"target": target, "draft": draft, "params": {}},
        f"Of {size:,} tokens the target prefers only the last one: it is all that is left.",
        verdict=told("probs"),
    )


def _speculation(size: int) -> SamplerDraft:
    target, draft = map(msgspec.to_builtins, _pair(size))
    at = places(size)
    return Topic("long", _flags(size, "SpeculativeRatio"), LONG).case(
        "speculative",
        f"{size}",
        rule_name("speculative", method="chain"),
        {
            "draft": [draft, draft],
            "target": [target, target, target],
            "tokens": [at[-3], at[-2]],
            "uniforms": pack([0.25, 0.5, 0.5], "f64"),
            "params": {},
        },
        f"Of {size:,} tokens the draft's first is accepted with a probability of one half; the "
        "second is not, and the last token of the row takes its place.",
        verdict=Exact(),
    )
