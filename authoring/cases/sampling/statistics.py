"""Many draws with an engine's own random numbers, for engines that accept none.

Rows
    Rows of several shapes. The law is exact for rows of probabilities, and rounded once to 32 bits
    for logits, which is a thousand times less than 100,000 draws can see.

Speculative decoding
    The engine draws everything itself, drafts included. The tokens must have the target's law
    whatever the drafts were drawn with. That holds only if an engine judges them by the row that
    they were drawn from, and with random numbers of their own.

Batches
    Batches of one row, drawn from many times: rows must be independent, and so must calls.

Seeds
    Rows with seeds of their own, alone and in a batch: nothing else may change what a seed gives.
    There are 256 equal tokens and 32 draws. Independent rows are the same once in 2**256 times, so
    no statistics are needed.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import comb, inf
from typing import Any, Final, NamedTuple

import msgspec

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.draft import SamplerDraft, asked_as
from authoring.cases.sampling.statistics_bins import OTHERS, judged, judged_pairs
from authoring.grids import grid
from tokenref.answers import Ok
from tokenref.engines.reference_laws import law_of_step, rows_of_step, shares_of_row
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import pack, unpack
from tokenref.questions.sampling import pack_parameters
from tokenref.rules import STANDARD, choices_of, rule_name
from tokenref.verdicts import Seeds


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from _statistics_cases()
    yield _sixteen_bits()
    yield from _filtered()
    yield from _speculative_cases()
    yield from _batches_cases()
    yield from _seeds_cases()


# ---- rows

DRAWS: Final = 100_000
SPEC: Final = "docs/sampling.md#random-numbers-and-draws"


class _Row(NamedTuple):
    slug: str
    profile: str
    row: Sequence[float]
    params: Mapping[str, Any]
    why: str


def _tail() -> list[float]:
    """Return 1,000 tokens: a few heavy ones in the middle, then less and less; sum exactly 1."""
    units = [2**20 // (4 * (rank + 2) ** 2) + 16 for rank in range(1000)]
    units[0] += 2**20 - sum(units)
    ranks = [(token * 379 + 500) % 1000 for token in range(1000)]  # each rank once, in no order
    return [units[rank] / 2**20 for rank in ranks]


_FLAT: Final = [2.0**-8] * 256
_FALLING: Final = [*(2.0**-place for place in range(1, 11)), 2.0**-10]
_LOGITS: Final = (3.0, 1.0, 2.0, 0.0, -1.0, 2.5, -4.0, 1.5)

_ROWS: Final = (
    _Row("eight-equals", STANDARD, [0.125] * 8, {},
         "Eight equal tokens: a first or last one that is drawn less shows at once."),
    _Row("many-equals", STANDARD, _FLAT, {},
         "256 equal tokens, about 390 draws each: a gap or a repeated block of ids shows."),
    _Row("falling", STANDARD, _FALLING, {},
         "Each token half as likely as the one before: an index that is off by one is off by two in share."),
    _Row("rising", STANDARD, _FALLING[::-1], {},
         "The most probable token is the last: a walk that ends early loses it."),
    _Row("peaked", STANDARD, [2.0**-6 / 4, 1 - 2.0**-6, *[2.0**-6 / 4] * 3], {},
         "One token of 98 % in front of three rare ones: rare ones must not be lost."),
    _Row("rare", STANDARD, [1 - 2.0**-10, 2.0**-10], {},
         "Two tokens, one of them about once in a thousand draws."),
    _Row("even-coin", STANDARD, [0.5, 0.5], {}, "A coin: the smallest bias that draws can show."),
    _Row("hole", STANDARD, [0.25, 0.25, 0.0, 0.25, 0.25], {},
         "An impossible token in the middle: a single draw of it is a failure."),
    _Row("holes-at-both-ends", STANDARD, [0.0, 0.5, 0.375, 0.125, 0.0], {},
         "Impossible tokens at both ends: where the smallest and the largest number go wrong."),
    _Row("long-tail", STANDARD, _tail(), {},
         "1,000 tokens in no order, a heavy head and a long tail: a tail that is cut off shows."),
    _Row("plain", "transformers", _LOGITS, {"top_k": 0},
         "Eight logits and no filter: the softmax, drawn as generate() draws."),
    _Row("cold-and-filtered", "transformers", _LOGITS, {"top_k": 4, "temperature": 0.5},
         ("Half the temperature and the four best tokens: the other four must never be drawn, "
         "and these follow the colder distribution.")),
    _Row("masked", "transformers", [*_LOGITS, -inf, -inf], {"top_k": 0, "temperature": 2.0},
         "Twice the temperature and impossible tokens at the end: impossible at any temperature."),
    _Row("plain", "llama.cpp", _LOGITS,
         {"top_k": 0, "top_p": 1.0, "min_p": 0.0, "temp": 1.0},
         "Eight logits and no filter: the softmax, drawn with the engine's own stream."),
    _Row("cold-and-filtered", "llama.cpp", _LOGITS,
         {"top_k": 4, "top_p": 1.0, "min_p": 0.0, "temp": 0.5},
         ("Half the temperature and the four best tokens: the other four must never be drawn, "
         "and these follow the colder distribution.")),
    _Row("defaults", "llama.cpp", _LOGITS, {},
         "What the program does by default: its filters, and a temperature of 0.8."),
    _Row("plain", "vllm", _LOGITS, {}, "Eight logits and no filter: the softmax."),
    _Row("cold-and-filtered", "vllm", _LOGITS, {"top_k": 4, "temperature": 0.5},
         ("Half the temperature and the four best tokens: the other four must never be drawn, "
         "and these follow the colder distribution.")),
)  # fmt: skip


def _statistics_cases() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for each in _ROWS:
        kind = "probs" if each.profile == STANDARD else "logits"
        request = {kind: pack(each.row), "params": pack_parameters(each.params), "draws": DRAWS}
        yield SamplerDraft(
            op="stat",
            topic="laws" if kind == "probs" else "engines",
            slug=each.slug if kind == "probs" else f"{each.profile}-{each.slug}",
            profile=each.profile,
            request=request,
            why=asked_as(each.why, each.profile),
            flags=["LawOfDraws", *(["ZeroWeightDrawn"] if 0.0 in law_of(each) else [])],
            verdict=judged(law_of(each), DRAWS, len(_ROWS)),
            spec=SPEC,
        )


_FILTERS: Final = {"temperature": 0.5, "k": 5, "p": 0.9375}


def _filtered() -> Iterator[SamplerDraft]:
    """Yield rows that are drawn from after filters, by the standard rules."""
    asked = {"logits": pack(_LOGITS), "params": pack_parameters(_FILTERS)}
    law = shares_of_row(asked)
    yield SamplerDraft(
        op="stat",
        topic="laws",
        slug="filtered",
        profile=STANDARD,
        request={**asked, "draws": DRAWS},
        why="A temperature, top-k and top-p, then a draw with the engine's own numbers: the filters leave three tokens.",
        flags=["LawOfDraws", "ZeroWeightDrawn"],
        verdict=judged(law, DRAWS, OTHERS),
        spec=SPEC,
    )
    rows, calls = 33, 2000
    yield SamplerDraft(
        op="stat_batch",
        topic="rows",
        slug="filtered",
        profile=STANDARD,
        request={**asked, "rows": rows, "draws": calls},
        why="33 rows with a temperature, top-k and top-p: each row is filtered, and draws with numbers of its own.",
        flags=["BatchOwnNoise"],
        verdict=judged_pairs(law, rows, calls, OTHERS),
        spec=SPEC,
    )


def _sixteen_bits() -> SamplerDraft:
    """Return a row in which half of the light tokens lie between two numbers of 16 bits.

    Numbers that are multiples of 2**-16 never draw them, and draw their neighbours twice.
    """
    unit = 2.0**-20
    light = [7 * unit, 9 * unit] * 128
    law = [Fraction(share) for share in (1 - sum(light), *light)]
    return SamplerDraft(
        op="stat",
        topic="laws",
        slug="between-16-bits",
        profile=STANDARD,
        request={"probs": pack([*map(float, law)]), "params": {}, "draws": DRAWS},
        why="256 light tokens, of which every second one lies between two multiples of 2^-16: a random number of 16 bits never draws it.",
        flags=["LawOfDraws"],
        verdict=judged(law, DRAWS, OTHERS),
        spec=SPEC,
    )


def law_of(each: _Row) -> list[Fraction]:
    """Return the share of each token."""
    if each.profile == STANDARD:
        return [Fraction(share) for share in each.row]
    request = {
        "logits": pack(each.row),
        "history": [],
        "prompt_length": 0,
        "params": pack_parameters(each.params),
    }
    answer = SamplerSession(each.profile).answer("distribution", request)
    if not isinstance(answer, Ok):
        raise PurposeError(f"the law of {each.profile}-{each.slug} must be known: {answer}")
    shares = [Fraction(share) for share in unpack(answer.out["probs"])]
    return [share / sum(shares) for share in shares]  # rounded shares sum to nearly 1


# ---- speculative decoding

DRAWS_SPECULATIVE: Final = 20_000
SPEC_SPECULATIVE: Final = "docs/sampling.md#speculative-decoding"
OP: Final = "stat_speculative"
BLOCK: Final = rule_name(OP, method="block")
MATCHING: Final = rule_name(OP, method="matching")


class _Step(NamedTuple):
    slug: str
    draft: Sequence[Sequence[float]]
    target: Sequence[Sequence[float]]
    draft_params: Mapping[str, Any]
    params: Mapping[str, Any]
    why: str
    flags: Sequence[str]
    profiles: Sequence[str] = (STANDARD,)


_LIKED: Final = (-0.25, 1.0, 0.5, -1.0)
_WANTED: Final = (1.0, -0.5, 0.75, 0.25)
_NEXT: Final = (0.0, 1.0, 1.5, -1.0)
_LAST: Final = (0.5, -1.5, 0.25, 1.0)

_SPREAD: Final = (2.0, 1.5, 0.0, -0.5, -1.0, 0.5)
_RISING: Final = (0.0, 0.25, 1.0, 1.25, 0.5, 1.5)

_OFFERED: Final = (1.0, -2.0, -0.75, 0.5, 1.5, 1.25)
_MISSED: Final = (-1.25, 1.5, -1.25, 1.5, -1.5, 1.75)
"""What the target likes best is what the drafting model likes least, and third best."""

_FINE: Final = (100.0, 100.1875, 99.6875, 100.25, 99.8125)
_FINE_TARGET: Final = (99.75, 100.125, 100.1875, 99.8125, 100.0625)
"""In bf16 numbers beside 100 are multiples of a half."""

_STEPS: Final = (
    _Step(
        "one-draft", [_LIKED], [_WANTED, _NEXT], {}, {},
        "One draft, and a further token where it is accepted: what comes out follows the target.",
        ["SpeculativeOwnNoise", "SpeculativeOwnRow"],
        (STANDARD, MATCHING),
    ),
    _Step(
        "draft-of-the-two-best", [_LIKED], [_WANTED, _NEXT], {"k": 2}, {},
        "The draft is one of its row's two best: judged by the whole row, it is accepted too often.",
        ["SpeculativeOwnRow"],
    ),
    _Step(
        "hot-draft-cold-target", [_SPREAD], [_RISING, _SPREAD],
        {"temperature": 2.0}, {"temperature": 0.5, "k": 4},
        "Drafts are drawn hot, the target is cold and filtered: each row has its own parameters.",
        ["SpeculativeOwnRow"],
    ),
    _Step(
        "drafts-finer-than-16-bits", [_FINE], [_FINE_TARGET, _FINE], {}, {},
        "Rows that bf16 does not hold: a draft that is drawn from the rounded row is judged by it, too.",
        ["SpeculativeOwnRow"],
    ),
    _Step(
        "many-replacements", [_OFFERED], [_MISSED, _SPREAD], {}, {},
        "More than half of the drafts are rejected, and three tokens may replace them: the noise that drew the draft does not draw these.",
        ["SpeculativeOwnNoise"],
    ),
    _Step(
        "two-drafts", [_LIKED, _WANTED], [_WANTED, _NEXT, _LAST], {}, {},
        "Two drafts and a further token: the second is independent of the first, and so is the third.",
        ["SpeculativeOwnNoise", "SpeculativeOwnRow"],
        (STANDARD, BLOCK),
    ),
    _Step(
        "two-filtered-drafts", [_LIKED, _WANTED], [_WANTED, _NEXT, _LAST],
        {"temperature": 0.75, "k": 2}, {"k": 3},
        "Two drafts from filtered rows, and a filtered target: impossible tokens come nowhere.",
        ["SpeculativeOwnRow"],
        (STANDARD, BLOCK, MATCHING),
    ),
)  # fmt: skip


def _speculative_cases() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for step in _STEPS:
        for profile in step.profiles:
            request = {
                "draft": [pack(row) for row in step.draft],
                "target": [pack(row) for row in step.target],
                "draft_params": pack_parameters(step.draft_params),
                "params": pack_parameters(step.params),
                "draws": DRAWS_SPECULATIVE,
            }
            law = law_of_step(choices_of(OP, profile) or {}, *rows_of_step(request))
            yield SamplerDraft(
                op=OP,
                topic="chain" if profile == STANDARD else profile.rpartition(".")[2],
                slug=step.slug,
                profile=profile,
                request=request,
                why=asked_as(step.why, profile),
                flags=step.flags,
                verdict=judged(list(law.values()), DRAWS_SPECULATIVE, OTHERS, outcomes=list(law)),
                spec=SPEC_SPECULATIVE,
            )


# ---- batches


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


def _batches_cases() -> Iterator[SamplerDraft]:
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


# ---- seeds

TOKENS: Final = 32
EQUALS: Final = 256


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


def _seeds_cases() -> Iterator[SamplerDraft]:
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
