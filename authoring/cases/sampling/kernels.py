"""What kernels get wrong only with many tokens kept, many calls, or ids and rows that lie far away.

Buffers for candidates overflow behind 256, 1,024 or 4,096 of them; a scan loses what the block
before carried on; a step writes into the row that the next call reads; 16 or 24 bits hold most
ids and offsets, but not all; weights of 16 bits are the right ones in most rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from math import exp, inf, nan
from typing import Any, Final

import msgspec

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.batches_long import far_from_boundaries, is_far, own_beyond, told_rows
from authoring.cases.sampling.draft import (
    SamplerDraft,
    SamplerPurpose,
    VerdictOfAnswer,
    gives,
    refuses,
)
from authoring.cases.sampling.filter_draft import FilterCase, logits, probs
from authoring.cases.sampling.filters_long import long_row as heavy_row
from authoring.cases.sampling.fused import is_far_from_boundaries
from authoring.cases.sampling.rows_long import long_row, told
from authoring.cases.sampling.statistics import DRAWS
from authoring.cases.sampling.statistics_bins import OTHERS, judged, judged_pairs
from authoring.cases.splitmix import SplitMix64
from authoring.grids import grid
from authoring.summing import reached
from tokenref.catalogue import LARGE
from tokenref.engines.reference_laws import shares_of_logits, shares_of_row
from tokenref.floats import Floats, Type, nearest, pack, unpack
from tokenref.questions.sampling import pack_parameters
from tokenref.record import Case
from tokenref.rounding.rows import report_verdict, softmax_verdict
from tokenref.rules import STANDARD, rule_name
from tokenref.verdicts import Exact, Seeds, Verdict

BATCHES: Final = "docs/sampling.md#batches"
FUSED: Final = "docs/sampling.md#fused-kernels"
LONG: Final = "docs/sampling.md#long-rows"
SPECULATIVE: Final = "docs/sampling.md#processors-in-the-loop"
DRAWN: Final = "docs/sampling.md#random-numbers-and-draws"
GREEDY: Final = "docs/engines.md#when-an-engine-draws-nothing"
FILTERS: Final = "docs/sampling.md#the-steps"
MASKS: Final = "docs/sampling.md#masks"
REPORTS: Final = "docs/sampling.md#reported-log-probabilities"

Steps = Sequence[tuple[str, Mapping[str, Any]]]


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from _last_tokens()
    yield from _many_kept()
    yield from _crowded_bins()
    yield from _far_from_zero()
    yield from _calls()
    yield from _wide_ids()
    yield from _fused_batches()
    yield from _histories()
    yield from _own_numbers()
    yield from _masks()
    yield from _far_rows()
    yield from _reports()
    yield from _draws()
    yield from _refused()
    yield from _sixteen_bits()
    yield from _narrow_weights()
    yield from _far_best()
    yield from _other_types()
    yield from _small_mistakes()
    yield from _seldom_own()
    yield from _narrow_shares()


def _case(
    op: str,
    topic: str,
    slug: str,
    request: Mapping[str, Any],
    why: str,
    spec: str,
    *flags: str,
    verdict: Verdict | VerdictOfAnswer | None = None,
    purposes: Sequence[SamplerPurpose] = (),
) -> SamplerDraft:
    return SamplerDraft(
        op=op,
        topic=topic,
        slug=slug,
        profile=STANDARD,
        request=request,
        why=why,
        flags=sorted(flags),
        verdict=verdict or Exact(),
        spec=spec,
        purposes=purposes,
    )


def _batch(
    op: str,
    slug: str,
    rows: Sequence[Mapping[str, Any]],
    why: str,
    *flags: str,
    verdict: Verdict | VerdictOfAnswer | None = None,
    purposes: Sequence[SamplerPurpose] = (),
    **about: Any,
) -> SamplerDraft:
    request = {"op": op, "rows": [*rows], **about}
    slug = f"{op.replace('_', '-')}-{slug}"
    return _case(
        "batch", "long", slug, request, why, BATCHES, *flags, verdict=verdict, purposes=purposes
    )


def _listed(steps: Steps) -> list[dict[str, Any]]:
    return [{"step": name, "params": pack_parameters(params)} for name, params in steps]


def _fused(
    row: Mapping[str, Any], steps: Steps, number: float | None, history: Sequence[int] = ()
) -> dict[str, Any]:
    draw = {} if number is None else {"draw": pack([number], "f64")}
    about = {"history": [*history], "prompt_length": 0, "steps": _listed(steps)}
    return {"logits": row, **about, **draw}


def _recipe(seed: int, size: int, **about: Any) -> dict[str, Any]:
    recipe: dict[str, Any] = msgspec.to_builtins(grid(seed, size, **about))
    return recipe


# ---- the last token, which a block that is not whole has


def _last_tokens() -> Iterator[SamplerDraft]:
    for size in (257, 1025, 4097, 128_257):
        row = _recipe(size, size, span=8, put={0: 12.0, size // 2: 13.0, size - 1: 14.0})
        large = [LARGE] * (size > 4097)
        both: Steps = [("top_k", {"k": 3}), ("top_p", {"p": 0.953125})]
        alone: Steps = [("min_p", {"m": 0.25})]
        for slug, steps, words in (
            ("k", both, "top-k and top-p keep"),
            ("m", alone, "min-p keeps"),
        ):
            if slug == "m" and size > 4097:
                continue
            yield _case(
                "steps", "fused", f"last-{size}-{slug}", _fused(row, steps, 0.875),
                f"Of {size:,} tokens {words} two or three, and the last one is drawn, which is alone in its block.",
                FUSED, "Fused", "LongRow", *large,
                purposes=[is_far_from_boundaries, gives(token=size - 1)],
            )  # fmt: skip


# ---- more tokens kept than buffers hold

SIZE: Final = 5121
KEPT: Final = ((300, 290), (1100, 1090), (5000, 4110))
"""Numbers of tokens that top-k keeps, and that top-p keeps of these."""


class _Kept:
    """The heaviest tokens of a row, and a share that lies in the middle of the last one of them."""

    def __init__(self, row: Floats, keep: int, of: int | None = None) -> None:
        values = row.values()
        order = sorted(range(len(values)), key=lambda token: (-values[token], token))[:of]
        self.weights = [exp(values[token] - values[order[0]]) for token in order]
        sums = [*accumulate(self.weights)]
        self.p = nearest((sums[keep - 1] + sums[keep - 2]) / 2 / sums[-1], "f32")
        self.tokens = sorted(order[:keep])
        self.by_id = [exp(values[token] - values[order[0]]) for token in self.tokens]
        if reached(self.weights, self.p, strictly=False) != {keep - 1}:
            raise PurposeError(f"the order of a sum decides whether {keep} tokens are kept")
        self.drawn = next(token for token in order[keep - 1 :: -1] if token > len(values) * 2 // 3)

    @property
    def number(self) -> float:
        """A random number that draws a token of the last third, one of the lightest."""
        place = self.tokens.index(self.drawn)
        before = sum(self.by_id[:place])
        number = nearest((before + self.by_id[place] / 2) / sum(self.by_id), "f32")
        if reached(self.by_id, number, strictly=True) != {place}:
            raise PurposeError(f"the order of a sum decides whether token {self.drawn} is drawn")
        return number


def _many_kept() -> Iterator[SamplerDraft]:
    fused = []
    for number, (k, keep) in enumerate(KEPT):
        row = grid(number, SIZE, span=1 << 20)
        kept = _Kept(row, keep, k)
        steps: Steps = [("top_k", {"k": k}), ("top_p", {"p": kept.p})]
        fused.append(_fused(msgspec.to_builtins(row), steps, kept.number))
    yield _batch(
        "steps", "many-kept", fused,
        f"Of {SIZE:,} tokens, top-k keeps 300, 1,100 and 5,000, top-p most of these, and one of the lightest is drawn, "
        "which lies in a late block.",
        "Fused", "LongRow", "BatchParameters", purposes=[own_beyond("steps")],
    )  # fmt: skip
    rows = []
    for number, keep in enumerate((3, 300, 1100, 4110)):
        put = {5: 14.0, SIZE // 2: 13.0, SIZE - 1: 13.5} if number == 0 else {}
        logits = grid(number, SIZE, span=1 << 20, put=put)
        p = _Kept(logits, keep).p
        rows.append({"logits": msgspec.to_builtins(logits), "params": pack_parameters({"p": p})})
    yield _batch(
        "top_p", "many-kept", rows,
        f"Four rows of {SIZE:,} tokens keep 3, 300, 1,100 and 4,110 of them: each has room for its own candidates.",
        "LongRow", "BatchParameters", purposes=[own_beyond("params")],
    )  # fmt: skip
    logits = grid(2049, 2305, span=1 << 20)
    kept = _Kept(logits, 2049)
    yield _case(
        "top_p", "long", "keeps-2049",
        {"logits": msgspec.to_builtins(logits), "params": pack_parameters({"p": kept.p})},
        "Top-p keeps 2,049 of 2,305 tokens, one more than a buffer of 2,048 candidates holds.",
        FILTERS, "LongRow", "Margin", purposes=[gives(keep=kept.tokens)],
    )  # fmt: skip
    for size, keep in ((8192, 4097), (1 << 15, 20_481)):
        equal = _recipe(1, size, span=1)
        wanted = {"p": (keep - 0.5) / size}
        last = _recipe(1, size, span=1, put={size - 1: 40.0})
        yield _case(
            "speculative_steps", "chain", f"keeps-{keep}",
            {
                "target": [equal, last], "draft": [_recipe(1, size, span=1, put=dict.fromkeys((keep - 1, size - 1), 0.5))],
                "tokens": [keep - 1], "history": [], "prompt_length": 0,
                "steps": _listed([("top_p", wanted)]), "uniforms": pack([2.0**-20, 0.5], "f64"),
            },
            f"Top-p keeps {keep:,} of {size:,} equal tokens, and the drafted token is the last of them: it is "
            "accepted by a small random number, but not where it was lost among the candidates.",
            SPECULATIVE, "LongRow", "SpeculativeSteps", *[LARGE] * (size > 8192),
            purposes=[gives(accepted=1)],
        )  # fmt: skip
    capped = [
        {"logits": _recipe(number, 1025, span=1 << 20), "params": {"k": k}}
        for number, k in enumerate((70, 2, 270))
    ]
    yield _batch(
        "top_k", "own-1025", capped,
        "Three rows of 1,025 tokens keep 70, 2 and 270 of them: a batch has no smaller limit for k than a row.",
        "LongRow", "BatchParameters", purposes=[own_beyond("params")],
    )  # fmt: skip


# ---- keys of few bits, and bins that overflow


def _crowded_bins() -> Iterator[SamplerDraft]:
    size = 40_000
    best = (16_385, 17_000, 20_001, size - 1)
    put = {token: 1 - 2.0 ** (place - 24) for place, token in enumerate(best)}
    row = _recipe(size, size, span=1 << 20, put=put)
    yield _case(
        "top_k", "long", "crowded-bin", {"logits": row, "params": {"k": 4}},
        f"Five thousand of {size:,} tokens share the highest bits of their logit with the best four, which stand behind token 16,384: "
        "a radix sort must keep all of a bin.",
        FILTERS, "LongRow", purposes=[gives(keep=list(best))],
    )  # fmt: skip
    tied = _recipe(1, 65_600, span=1, put={65_599: 1.0})
    yield _case(
        "top_k", "long", "tied-65600", {"logits": tied, "params": {"k": 300}},
        "299 of 65,599 equal tokens are kept beside the best one, those with the lowest ids: blocks finish in any order.",
        FILTERS, "LongRow", "Ties", purposes=[gives(keep=[*range(299), 65_599])],
    )  # fmt: skip
    close = (2.0, -1.0, 1.0, 1.0 + 2.0**-18, 0.0)
    why = "Token 3 is heavier than token 2 by 2^-18, which a key of 16 bits does not hold"
    yield _case(
        "top_p", "long", "close-logits", {"logits": pack(close), "params": pack_parameters({"p": 0.625})},
        f"{why}: top-p keeps token 3.", FILTERS, "Margin", purposes=[gives(keep=[0, 3])],
    )  # fmt: skip
    yield _case(
        "top_k", "long", "close-logits", {"logits": pack(close), "params": {"k": 2}},
        f"{why}: top-k keeps token 3.", FILTERS, "Margin", purposes=[gives(keep=[0, 3])],
    )  # fmt: skip
    yield _case(
        "steps", "fused", "close-logits", _fused(pack(close), [("top_k", {"k": 4}), ("top_p", {"p": 0.625})], 0.875),
        f"{why}: a fused kernel keeps token 3, and draws it.", FUSED, "Fused",
        purposes=[is_far_from_boundaries, gives(token=3)],
    )  # fmt: skip


# ---- logits far from zero, and far from each other


def _far_from_zero() -> Iterator[SamplerDraft]:
    steep = pack([0.0, -21.0, -40.0, -60.0, -80.0])
    low = pack([-100_001.0, -100_000.0, -100_002.5, -99_999.5])
    lower = pack([nearest(logit, "f32") for logit in (-1e31, -2e31, -1e31, -inf)])
    for slug, row, why in (
        ("steep", steep, "Tokens of probabilities down to e^-80, which 32 bits hold: an exponential is not cut off"),
        ("below-minus-1e4", low, "All logits are near -100,000: the search for the largest starts at minus infinity"),
        ("below-minus-1e30", lower, "All logits are at most -10^31: the search for the largest starts at minus infinity"),
    ):  # fmt: skip
        for op, rest in (
            ("softmax", {}),
            ("logprobs", {}),
            ("top_p", {"params": pack_parameters({"p": 0.75})}),
            ("draw", {"uniforms": pack([0.75])}),
        ):
            shares = op in {"softmax", "logprobs"}
            if row is steep and not shares:
                continue
            if row is steep and op == "logprobs":
                row_ = pack([-21.0, 0.0, -21.5, -40.0, -60.0, 0.5])  # none is nearly certain
            else:
                row_ = row
            yield _case(
                op, "long" if op != "draw" else "long_rows", slug, {"logits": row_, **rest}, f"{why} ({op}).", LONG,
                "StableSoftmax", verdict=softmax_verdict(op, row_, "f32") if shares else None,
            )  # fmt: skip


# ---- several calls

CALLS: Final[tuple[tuple[str, Mapping[str, Any]], ...]] = (
    ("temperature", {"temperature": 0.5}),
    ("repetition_penalty", {"penalty": 2.0}),
    ("frequency_penalty", {"penalty": 0.25}),
    ("presence_penalty", {"penalty": 0.5}),
    ("penalties", {"repetition": 2.0, "frequency": 0.25, "presence": 0.5, "window": None}),
    ("logit_bias", {"biases": {0: 1.5, 256: -1.0, 299: 2.0}}),
    ("token_mask", {"tokens": [1, 31, 255, 256, 299]}),
)


def _calls() -> Iterator[SamplerDraft]:
    size = 300
    says = "asked three times: a call must not read what the call before wrote"
    for op, params in CALLS:
        rows = [
            {
                "logits": msgspec.to_builtins(long_row(size, impossible=number == 1)),
                "history": [number, 255, 256, 299, 299],
                "prompt_length": 0,
                "params": pack_parameters(params),
            }
            for number in range(2)
        ]
        yield _batch(
            op, "thrice", rows, f"Two rows of {size} tokens, {says} ({op}).", "BatchRow",
            verdict=told_rows("logits"), calls=3,
        )  # fmt: skip
    at = {0: 14.0, 255: 13.0, 256: 13.5, 299: 15.0}
    heavy = [{"logits": _recipe(number, size, span=8, put=at)} for number in range(2)]
    tied = _recipe(1, size, span=1, put={290: 1.0})
    steps: Steps = [
        ("repetition_penalty", {"penalty": 1.0625}),
        ("temperature", {"temperature": 2.0}),
        ("top_k", {"k": 4}),
        ("top_p", {"p": 0.875}),
    ]
    for op, parts in (
        ("greedy", [{}, {}]),
        ("top_p", [{"params": pack_parameters({"p": p})} for p in (0.5, 0.8125)]),
        ("min_p", [{"params": pack_parameters({"m": m})} for m in (0.5, 0.1875)]),
        ("draw", [{"uniforms": pack([u])} for u in (0.125, 0.75)]),
        ("steps", [_fused({}, steps, number, [299, 0]) for number in (0.125, 0.75)]),
    ):
        rows = [{**part, **row} for row, part in zip(heavy, parts, strict=True)]
        yield _batch(
            op, "thrice", rows, f"Two rows of {size} tokens, {says} ({op}).", "BatchRow",
            purposes=[] if op == "greedy" else [far_from_boundaries], calls=3,
        )  # fmt: skip
    yield _batch(
        "top_k", "thrice", [{"logits": tied, "params": {"k": k}} for k in (3, 5)],
        f"Two rows of {size} tokens of which nearly all are equal, in two blocks, {says}, nor keep other equals.",
        "BatchRow", "Ties", calls=3,
    )  # fmt: skip


# ---- ids of more than 16 bits


def _wide_ids() -> Iterator[SamplerDraft]:
    size = 257 * 256
    wide = (65_537, 65_600, size - 1)
    asked: tuple[tuple[str, list[Mapping[str, Any]]], ...] = (
        ("repetition_penalty", [{"penalty": 2.0}, {"penalty": 4.0}]),
        ("frequency_penalty", [{"penalty": 0.25}, {"penalty": 0.5}]),
        ("penalties", [{"repetition": 2.0, "frequency": 0.5, "presence": 0.0, "window": None}] * 2),
    )
    for op, params in asked:
        put = {token: 3.0 for at in wide for token in (at, at - 65_536)}
        rows = [
            {
                "logits": _recipe(number, size, span=8, put=put),
                "history": [*wide, wide[number]],
                "prompt_length": 0,
                "params": pack_parameters(each),
            }
            for number, each in enumerate(params)
        ]
        yield _batch(
            op, "wide-ids", rows,
            f"Two rows of {size:,} tokens, whose histories have tokens that 16 bits do not hold; the tokens with the same 16 bits are as likely.",
            "LongRow", "BatchRow", LARGE, verdict=told_rows("logits"),
        )  # fmt: skip
    size = 128_256
    put = {4465: 13.0, 65_541: 12.0, 70_001: 14.0, size - 1: 13.5, 5: 11.0}
    steps: Steps = [
        ("repetition_penalty", {"penalty": 2.0}),
        ("logit_bias", {"biases": {65_541: 2.5, size - 1: -9.0}}),
        ("top_k", {"k": 3}),
        ("top_p", {"p": 0.984375}),
    ]
    row = _recipe(1, size, span=8, put=put)
    yield _batch(
        "steps", "wide-ids", [_fused(row, steps, number, [70_001]) for number in (0.5, 0.125)],
        f"The history and the biases of {size:,} tokens have ids that 16 bits do not hold; tokens with the same 16 bits are likely, too.",
        "Fused", "LongRow", LARGE, purposes=[far_from_boundaries],
    )  # fmt: skip


# ---- batches for fused kernels

FUSED_ROWS: Final = 9


def _own_steps(kind: str, generator: SplitMix64) -> tuple[list[float], Steps]:
    """Return a row of five logits, and steps with parameters of its own."""
    cut = generator.below(5)
    row = [3.5, 2.5, 2.0, 1.0, 0.0]
    if kind == "equals":
        row = [2.0, 2.0, 1.0, 1.0, 1.0]
        keep: Steps = [("top_p", {"p": (0.25, 0.5, 0.8125)[generator.below(3)]})]
        steps = keep if generator.below(2) else [("top_k", {"k": 3 + generator.below(2)}), *keep]
    elif kind == "biases":
        biases = {generator.below(5): generator.below(13) / 4 - 1.0 for _ in range(3)}
        steps = [("logit_bias", {"biases": biases}), ("top_k", {"k": 2 + generator.below(3)})]
    elif kind == "min-p":
        temperature = {"temperature": (1.0, 2.0, 4.0)[generator.below(3)]}
        steps = [("temperature", temperature), ("min_p", {"m": (1 + generator.below(13)) / 16})]
    else:
        penalties = {
            "repetition": (1.0, 2.0)[generator.below(2)],
            "frequency": generator.below(5) / 4,
            "presence": generator.below(3) / 2,
            "window": None,
        }
        steps = [("penalties", penalties), ("top_k", {"k": 2 + generator.below(3)})]
    return row[cut:] + row[:cut], steps


def _fused_batches() -> Iterator[SamplerDraft]:
    for kind, about, parts in (
        ("biases", "biases and k", ("steps", "draw")),
        ("min-p", "temperature and min-p", ("steps", "draw")),
        ("equals", "p and k, whose cuts lie among equal tokens", ("steps", "draw")),
        ("penalties", "penalties, history and prompt", ("steps", "draw", "history")),
    ):
        rows: list[dict[str, Any]] = []
        generator = SplitMix64(sum(kind.encode()))
        while len(rows) < FUSED_ROWS:
            logits, steps = _own_steps(kind, generator)
            history = [generator.below(5) for _ in range(generator.below(5))]
            asked = _fused(pack(logits), steps, (1 + 2 * generator.below(16)) / 32, history)
            asked["prompt_length"] = generator.below(len(history) + 1)
            if is_far({"op": "steps"}, asked):
                rows.append(asked)
        yield _batch(
            "steps", kind, rows,
            f"{FUSED_ROWS} rows in one call of a kernel for all steps, each with its own {about}.",
            "Fused", "BatchParameters",
            purposes=[far_from_boundaries, *map(own_beyond, parts)],
        )  # fmt: skip


# ---- histories


def _histories() -> Iterator[SamplerDraft]:
    rows = [
        {
            "logits": pack([1.0, 2.0, 3.0], "bf16"),
            "history": [(number * number + place) % 3 for place in range(2 + number % 5)],
            "prompt_length": number * 7 // 4 % 3,
            "params": pack_parameters({"penalty": 0.5}),
        }
        for number in range(70)
    ]
    yield _batch(
        "frequency_penalty", "70-histories", rows,
        "70 rows, each with a history and a prompt of its own: row 64 has not those of row 0.",
        "BatchParameters", "PenaltyCount", verdict=told_rows("logits"),
        purposes=[own_beyond("history"), own_beyond("prompt_length")],
    )  # fmt: skip


# ---- random numbers of an engine's own


def _own_numbers() -> Iterator[SamplerDraft]:
    for rows in (65, 129, 257):
        request = {"probs": pack([0.5, 0.5]), "params": {}, "rows": rows, "draws": 160}
        yield _case(
            "stat_batch", "rows", f"{rows}-rows", request,
            f"{rows} rows and a coin each: the last row has not the random numbers of the first one.",
            DRAWN, "BatchOwnNoise", *[LARGE] * (rows > 129),
            verdict=judged_pairs(shares_of_row(request), rows, 160, OTHERS),
        )  # fmt: skip
    for slug, batches, why in (
        ("beyond-32-bits", [[7, (1 << 32) + 7], [(1 << 32) + 7, 7]], "Two seeds with the same lowest 32 bits are two seeds."),
        ("seed-0", [[0], [0, 7], [7, 0], [0]], "The seed 0 is a seed, and a row that has it is the same in every batch."),
        ("largest-seed", [[(1 << 63) - 1], [(1 << 63) - 1, (1 << 31) - 1, (1 << 32) - 1]], "The largest seed of 63 bits, and those that have only its lowest bits."),
    ):  # fmt: skip
        yield _case(
            "seeds", "batches", slug,
            {"probs": pack([2.0**-8] * 256), "params": {}, "batches": batches, "tokens": 32},
            why, DRAWN, "BatchSeed", verdict=Seeds(alpha="2^-240"),
        )  # fmt: skip
    for size in (4097, 128_256):
        at = [0, 1023, size // 2 + 1, size - 2, size - 1]
        put = dict(zip(at, (60.0, 60.5, 61.0, 61.5, 62.0), strict=True))
        law = judged(shares_of_logits([*put.values()], {}), DRAWS, OTHERS)
        yield _case(
            "stat", "laws", f"far-{size}",
            {"logits": _recipe(1, size, span=8, put=put), "params": {}, "draws": DRAWS},
            f"Of {size:,} possible tokens five are ever drawn, three of them in the second half: an index must not wrap around.",
            DRAWN, "LawOfDraws", "LongRow", *[LARGE] * (size > 4097),
            verdict=msgspec.structs.replace(
                law,
                bins=[[at[token] for token in tokens] for tokens in law.bins],
                must=[at[token] for token in law.must],
            ),
        )  # fmt: skip


# ---- masks


def _masks() -> Iterator[SamplerDraft]:
    for size in (151_936, 262_144):
        allowed = (3, 131_071, 131_072, size - 33, size - 1)
        words: dict[int, int] = {}
        for token in allowed:
            words[token // 32] = words.get(token // 32, 0) | 1 << token % 32
        yield _case(
            "token_mask", "sizes", f"words-{size}",
            {"logits": _recipe(1, size, span=4), "history": [], "prompt_length": 0, "params": pack_parameters({"words": words})},
            f"A mask of {size // 32:,} words allows five of {size:,} tokens, the last one too: 12 bits do not hold the number of its word.",
            LONG, "TokenMask", "LongRow", LARGE, verdict=told("logits"),
        )  # fmt: skip
    row = pack([1.0, 3.0, 2.0, 0.5, 7.0, 9.0])
    rows = [
        {"logits": row, "history": [], "prompt_length": 0, "params": pack_parameters(params)}
        for params in ({"words": [0b0101]}, {"tokens": [1, 3]}, {})
    ]  # fmt: skip
    yield _batch(
        "token_mask", "padded", rows,
        "Rows of six numbers for four tokens, masks by words, by ids and none: an answer has four numbers, as the vocabulary.",
        "TokenMask", "BatchPadding", verdict=told_rows("logits"), vocab_size=4,
    )  # fmt: skip


# ---- rows that lie far away


def _far_rows() -> Iterator[SamplerDraft]:
    stride = (1 << 23) + 1
    rows = [
        {"logits": pack([float(at == best) for at in range(16)], "bf16")} for best in (3, 7, 12)
    ]
    yield _batch(
        "greedy", "beyond-2-24", rows,
        f"Rows that begin {stride:,} numbers apart: the last one begins behind 2^24, and an offset in 24 bits, or in a float of 32 bits, "
        "is that of other numbers.",
        "BatchLayout", "SixteenBit", LARGE, layout={"stride": stride, "order": [0, 2, 1]},
    )  # fmt: skip


# ---- reports


def _reports() -> Iterator[SamplerDraft]:
    row = pack([1.0 + (token * 11 % 48) / 2**14 for token in range(48)])
    for slug, token, n, why in (
        ("close-logits", 17, 5, "48 tokens whose logits 16 bits do not tell apart: each has a rank of its own."),
        ("more-than-20", 9, 30, "Thirty tokens of 48 are reported, more than an interface usually allows."),
    ):  # fmt: skip
        request = {"logits": row, "steps": [], "token": token, "n": n}
        yield _case(
            "top_logprobs", "reports", slug, request, why, REPORTS, "TokenRank", "ReportedToken",
            verdict=report_verdict("top_logprobs", STANDARD, request),
        )  # fmt: skip


# ---- draws


def _draws() -> Iterator[SamplerDraft]:
    fine = {"probs": pack([1.0, 2.0**26]), "uniforms": pack([2.0**-25], "f64")}
    yield _case(
        "draw", "long_rows", "below-2-24", fine,
        "The first token has a share of about 2^-26, and the random number is 2^-25: of 24 bits it is 0, and draws the first token.",
        DRAWN, "DrawGivenNumber", purposes=[gives(token=1)],
    )  # fmt: skip
    generator = SplitMix64(130)
    rows = [
        {"probs": pack([0.5, 0.5], "bf16"), "uniforms": pack([(0.25, 0.75)[generator.below(2)]])}
        for _ in range(130)
    ]
    yield _batch(
        "draw", "own-130-rows", rows,
        "130 rows and a coin each, with its own random number: row 128 has not that of row 0.",
        "BatchParameters", "BatchSize", purposes=[own_beyond("uniforms"), far_from_boundaries],
    )  # fmt: skip


# ---- what is refused


def _refused() -> Iterator[SamplerDraft]:
    row = _recipe(1, 300, span=8, put={290: nan})
    for op, topic, rest in (
        ("softmax", "refused", {}),
        ("logprobs", "refused", {}),
        ("greedy", "refused", {}),
        ("top_k", "rows", {"params": {"k": 2}}),
        ("top_p", "rows", {"params": pack_parameters({"p": 0.5})}),
        ("min_p", "rows", {"params": pack_parameters({"m": 0.5})}),
        ("draw", "refused", {"uniforms": pack([0.25])}),
    ):
        yield _case(
            op, topic, "nan-behind-256", {"logits": row, **rest},
            f"Token 290 is NaN, behind the first block of 256 tokens, and {op} refuses the row.",
            LONG, "InvalidRow", "LongRow", purposes=[refuses("INVALID_ROW")],
        )  # fmt: skip
    yield _case(
        "greedy", "refused", "nan-behind-32768", {"logits": _recipe(1, 32_769, span=1, put={32_768: nan})},
        "The last of 32,769 tokens is NaN, and 15 bits do not hold its number.",
        LONG, "InvalidRow", "LongRow", LARGE, purposes=[refuses("INVALID_ROW")],
    )  # fmt: skip


# ---- types of 16 bits


def _sixteen_bits() -> Iterator[SamplerDraft]:
    types: tuple[Type, ...] = ("f16", "bf16")
    steps: Steps = [
        ("repetition_penalty", {"penalty": 2.0}),
        ("temperature", {"temperature": 0.5}),
        ("top_k", {"k": 3}),
        ("top_p", {"p": 0.9375}),
    ]
    for dtype in types:
        row = pack([2.0, 3.0, 0.5, 2.5, 1.0, -1.0, 1.5, 0.0], dtype)
        for place, number in enumerate((0.125, 0.875)):
            yield _case(
                "steps", "fused", f"{dtype}-draw-{place}", _fused(row, steps, number, [1, 3]),
                f"Penalty, temperature, top-k, top-p and a draw by {number} in one kernel, on a row of {dtype}.",
                FUSED, "Fused", "SixteenBit", purposes=[is_far_from_boundaries],
            )  # fmt: skip
        heavy = heavy_row(f"32000-{dtype}").plain()["logits"]
        yield _case(
            "steps", "fused", f"long-32000-{dtype}",
            _fused(heavy, [("top_k", {"k": 5}), ("top_p", {"p": 0.890625})], 0.5),
            f"Of 32,000 tokens in {dtype}, top-k leaves 5 and top-p shares them out; one is drawn.",
            FUSED, "Fused", "LongRow", "SixteenBit", LARGE, purposes=[is_far_from_boundaries],
        )  # fmt: skip
        yield from _speculation(dtype)


def _speculation(dtype: Type) -> Iterator[SamplerDraft]:
    even, first, last = (0.25,) * 4, (0.5, 0.25, 0.125, 0.125), (0.125, 0.125, 0.25, 0.5)
    rows = [
        {
            "draft": [pack((first, last, even)[place % 3], dtype) for place in range(len(tokens))],
            "target": [
                pack((last, even, first)[place % 3], dtype) for place in range(len(tokens) + 1)
            ],
            "tokens": tokens,
            "uniforms": pack(numbers, "f64"),
            "params": {},
        }
        for tokens, numbers in (
            ([0], (0.75, 0.625)),
            ([3, 0, 1], (0.125, 0.375, 0.125, 0.875)),
            ([], (0.4375,)),
        )
    ]
    chain = rule_name("speculative", method="chain")
    for slug, asked in zip(("rejected", "three"), rows, strict=False):
        yield SamplerDraft(
            op="speculative", topic="chain", slug=f"{dtype}-{slug}", profile=chain, request=asked,
            why=f"Drafts are judged by rows of {dtype} ({slug}).",
            flags=["SixteenBit", "SpeculativeRatio"], spec="docs/sampling.md#speculative-decoding",
        )  # fmt: skip
    yield _batch(
        "speculative", f"own-{dtype}", rows,
        f"Three rows of {dtype} with one, three and no drafted tokens: each has its own rows and random numbers.",
        "BatchRow", "SixteenBit", "SpeculativeOwnRow", purposes=[own_beyond("uniforms")],
    )  # fmt: skip
    size = 4097
    target = _recipe(1, size, span=1, dtype=dtype, put={0: 0.25, 4095: 0.25, size - 1: 0.5})
    draft = _recipe(1, size, span=1, dtype=dtype, put={0: 0.5, 4095: 0.5})
    yield SamplerDraft(
        op="speculative", topic="long", slug=f"{size}-{dtype}", profile=chain,
        request={"draft": [draft] * 2, "target": [target] * 3, "tokens": [0, 4095], "uniforms": pack([0.25, 0.75, 0.5], "f64"), "params": {}},
        why=f"Of {size:,} tokens in {dtype} the first draft is accepted, the second is not, and the last token takes its place.",
        flags=["LongRow", "SixteenBit", "SpeculativeRatio"], spec=LONG, purposes=[gives(accepted=1, tokens=[0, size - 1])],
    )  # fmt: skip
    logits = _recipe(1, size, span=8, dtype=dtype, put={0: 14.0, 4095: 15.0, size - 1: 14.5})
    yield _case(
        "speculative_steps", "chain", f"long-{dtype}",
        {
            "target": [logits, logits], "draft": [draft], "tokens": [4095], "history": [0], "prompt_length": 0,
            "steps": _listed([("frequency_penalty", {"penalty": 4.0}), ("top_k", {"k": 2})]),
            "uniforms": pack([0.25, 0.25], "f64"),
        },
        f"Of {size:,} tokens in {dtype} the drafted one is accepted and penalised in the next row, which draws another one.",
        SPECULATIVE, "LongRow", "SixteenBit", "SpeculativeSteps", purposes=[gives(accepted=1)],
    )  # fmt: skip


# ---- weights, shares and steps in 16 bits


def _narrow_weights() -> Iterator[SamplerDraft]:
    share = nearest(0.626536, "f32")  # the first token has 0.626581; of weights in 16 bits 0.626491
    two = pack([0.0, -265 / 512])
    why = "Token 0 has 0.00004 more than the number, and less than it if weights or shares are rounded to binary16 or bfloat16"
    yield _case(
        "draw", "long_rows", "weights-in-16-bits", {"logits": two, "uniforms": pack([share])},
        f"{why}: it is drawn.", DRAWN, "DrawGivenNumber", purposes=[gives(token=0), _is_above(share)],
    )  # fmt: skip
    for op, slug, other, params, keep, says in (
        ("top_p", "weights-in-16-bits", -265 / 512, {"p": share}, [0], f"{why}: it is kept alone."),
        ("min_p", "weights-in-16-bits", -47 / 256, {"m": nearest(0.83215, "f32")}, [0, 1],
         "The second weight is 0.83227 and the least one 0.83215, but the weight is 0.83203 in binary16 and in bfloat16: both tokens are kept."),
        ("min_p", "weight-below-16-bits", -17.5, {"m": nearest(1e-8, "f32")}, [0, 1],
         "The second weight is 0.000000025, which is 0 in binary16, and the least one is smaller still: both tokens are kept."),
    ):  # fmt: skip
        yield FilterCase(
            op, "sixteen_bit", slug, logits(0.0, other), params, says, ["Margin"], keep=keep
        ).draft()
    types: tuple[tuple[Type, float], ...] = (("f16", 2048.0), ("bf16", 256.0))
    for dtype, equal in types:
        steps: Steps = [("logit_bias", {"biases": {1: 0.5}}), ("top_k", {"k": 1})]
        yield _case(
            "steps", "fused", f"{dtype}-between-steps", _fused(pack([equal] * 2, dtype), steps, None),
            f"A bias of 0.5 makes token 1 better than token 0, unless the logits are rounded to {dtype} before top-k.",
            FUSED, "Fused", "SixteenBit", purposes=[gives(keep=[1])],
        )  # fmt: skip
    yield FilterCase(
        "top_p", "sixteen_bit", "p-nearly-1", probs(1 - 2.0**-8, 2.0**-8 - 2.0**-12, 2.0**-12), {"p": nearest(0.9995, "f32")},
        "p is 0.9995, and the first two tokens have 0.99976: only p = 1 leaves top-p out.",
        ["Dyadic"], keep=[0, 1],
    ).draft()  # fmt: skip


def _is_above(number: float) -> SamplerPurpose:
    """Return the purpose "the share of the first token is above a number in every order"."""

    def check(case: Case) -> None:
        weights = [exp(logit) for logit in unpack(msgspec.to_builtins(case.input)["logits"])]
        if reached(weights, number, strictly=True) != {0}:
            raise PurposeError(f"{case.id}: the order of a sum decides which token is drawn")

    return check


# ---- possible tokens behind the first block


def _far_best() -> Iterator[SamplerDraft]:
    row = pack([*[-inf] * 256, 1.0, 2.0])
    says = "256 impossible tokens come before the two possible ones: a row is not invalid because its first block is empty"
    asked: tuple[tuple[str, str, Mapping[str, Any], Mapping[str, Any]], ...] = (
        ("greedy", "long", {}, {"token": 257}),
        ("top_k", "long", {"params": {"k": 1}}, {"keep": [257]}),
        ("min_p", "long", {"params": pack_parameters({"m": 0.5})}, {"keep": [257]}),
    )
    for op, topic, rest, answer in asked:
        yield _case(
            op, topic, "empty-first-256", {"logits": row, **rest}, f"{says} ({op}).", LONG,
            "LongRow", "MinusInfinity", purposes=[gives(**answer)],
        )  # fmt: skip
    yield _case(
        "token_mask", "sizes", "only-290-of-300",
        {"logits": _recipe(1, 300, span=8), "history": [], "prompt_length": 0, "params": pack_parameters({"tokens": [290]})},
        "The mask allows token 290 of 300 alone: a row is not invalid because nothing of its first 256 tokens is left.",
        LONG, "TokenMask", "LongRow", verdict=told("logits"),
    )  # fmt: skip


# ---- short rows of 16 and 64 bits


def _other_types() -> Iterator[SamplerDraft]:
    yield _case(
        "greedy", "greedy", "f16-below-zero", {"logits": pack([-2.0, -1.0], "f16")},
        "Both logits are negative: of their bits the larger ones, as whole numbers, are those of the smaller logit.",
        GREEDY, "SixteenBit", purposes=[gives(token=1)],
    )  # fmt: skip
    near = pack([1.0, 1 + 2.0**-40], "f64")
    for op, topic, rest, answer in (
        ("greedy", "greedy", {}, {"token": 1}),
        ("top_k", "rows", {"params": {"k": 1}}, {"keep": [1]}),
    ):
        yield _case(
            op, topic, "f64-near", {"logits": near, **rest},
            f"The second logit is larger by 2^-40, which 32 bits lose ({op}).",
            GREEDY if op == "greedy" else FILTERS, purposes=[gives(**answer)],
        )  # fmt: skip
    share = unpack({"f32": "3f19346d"})[0]
    yield _case(
        "draw", "rows", "bf16-weights", {"logits": {"bf16": "0000becd"}, "uniforms": pack([share])},
        "The logits have 16 bits, the weights have more: with weights of 16 bits, token 1 is drawn.",
        DRAWN, "SixteenBit", "DrawGivenNumber", purposes=[gives(token=0), _is_above(share)],
    )  # fmt: skip
    steps: Steps = [("temperature", {"temperature": nearest(1.97, "f32")}), ("top_k", {"k": 1})]
    yield _case(
        "steps", "fused", "bf16-after-temperature", _fused(pack([15.875, 15.9375], "bf16"), steps, None),
        "Divided by 1.97, the logits are equal in bf16, but not before they are rounded.",
        FUSED, "Fused", "SixteenBit", purposes=[gives(keep=[1])],
    )  # fmt: skip


# ---- halves, steps that come twice, small numbers, and random numbers of each row


def _small_mistakes() -> Iterator[SamplerDraft]:
    halves: tuple[tuple[Type, float], ...] = (("f16", 2.0**-10), ("bf16", 2.0**-7))
    for dtype, unit in halves:
        yield _case(
            "logit_bias", "biases", f"{dtype}-halves",
            {
                "logits": pack([1.0, 1 + unit], dtype), "history": [], "prompt_length": 0,
                "params": pack_parameters({"biases": {0: unit / 2, 1: unit / 2}}),
            },
            f"Two sums are halfway between two numbers of {dtype}: they become those whose last bit is 0.",
            "docs/engines.md#logit_bias", "LogitBias", "SixteenBit",
            purposes=[gives(logits=pack([1.0, 1 + 2 * unit], dtype))],
        )  # fmt: skip
    twice: Steps = [("top_k", {"k": 3}), ("temperature", {"temperature": 2.0}), ("top_k", {"k": 1})]
    yield _case(
        "steps", "fused", "k-3-then-1", _fused(pack([2.0, 1.0, 0.0]), twice, None),
        "Top-k is there twice: first with k = 3, then with k = 1.",
        FUSED, "Fused", purposes=[gives(keep=[0])],
    )  # fmt: skip
    yield _case(
        "steps", "fused", "k-1-of-f64",
        _fused(pack([1.0, 1 + 2.0**-40], "f64"), [("top_k", {"k": 1})], None),
        "The tokens have equal logits in 32 bits.", FUSED, "Fused", purposes=[gives(keep=[1])],
    )  # fmt: skip
    near = 1 - 2.0**-11
    yield _case(
        "temperature", "temperature", "near-1",
        {
            "logits": pack([near]), "history": [], "prompt_length": 0,
            "params": pack_parameters({"temperature": near}),
        },
        "1 - 2^-11 is not quite 1.",
        "docs/engines.md#temperature", "Temperature", purposes=[gives(logits=pack([1.0]))],
    )  # fmt: skip
    cold: Steps = [("temperature", {"temperature": 2.0**-10}), ("min_p", {"m": 0.25})]
    yield _case(
        "steps", "fused", "cold-min-p", _fused(pack([1.0, 1.0078125]), cold, None),
        "The temperature is 2^-10, and token 0 weighs e^-8 of the best one; at 0.01 it would be 0.46.",
        FUSED, "Fused", purposes=[is_far_from_boundaries, gives(keep=[1])],
    )  # fmt: skip
    rare = {
        "draft": [pack([1.0, 0.0])], "target": [pack([2.0**-21, 1 - 2.0**-21]), pack([0.5, 0.5])],
        "tokens": [0], "uniforms": pack([0.0, 0.25]), "params": {},
    }  # fmt: skip
    yield _case(
        "speculative", "chain", "rare-draft", rare,
        "The target gives the draft 2^-21, which is not 0: the random number 0 accepts it.",
        "docs/sampling.md#speculative-decoding", "SpeculativeRatio", purposes=[gives(accepted=1)],
    )  # fmt: skip
    for slug, draft, target, tokens, numbers, accepted, why in (
        (
            "all", [(0.5, 0.375, 0.125), (0.25, 0.25, 0.5), (0.75, 0.125, 0.125)],
            [(0.125, 0.625, 0.25), (0.375, 0.375, 0.25), (0.25, 0.375, 0.375), (0.25, 0.125, 0.625)],
            [2, 0, 1], [0.875, 0.875, 0.625, 0.125], 3,
            "Each draft has its own rows, by which it is accepted. By the rows of another draft one is rejected.",
        ),
        (
            "one", [(0.125, 0.25, 0.625), (0.25, 0.375, 0.375), (0.125, 0.625, 0.25)],
            [(0.375, 0.5, 0.125), (0.125, 0.375, 0.5), (0.5, 0.375, 0.125), (0.25, 0.125, 0.625)],
            [0, 0, 1], [0.125, 0.875, 0.875, 0.625], 1,
            "Each draft has its own rows, and the second is rejected by them. By the rows of another draft it is accepted.",
        ),
        (
            "two", [(0.125, 0.625, 0.25), (0.5, 0.25, 0.25), (0.375, 0.5, 0.125)],
            [(0.125, 0.375, 0.5), (0.375, 0.375, 0.25), (0.625, 0.25, 0.125), (0.25, 0.25, 0.5)],
            [2, 1, 1], [0.875, 0.875, 0.625, 0.875], 2,
            "Each draft has its own rows, and the third is rejected by them. By the rows of another draft it is accepted, or one before it is rejected.",
        ),
    ):  # fmt: skip
        yield _case(
            "speculative", "chain", f"own-rows-{slug}",
            {
                "draft": [*map(pack, draft)], "target": [*map(pack, target)], "tokens": tokens,
                "uniforms": pack(numbers), "params": {},
            },
            why, "docs/sampling.md#speculative-decoding", "SpeculativeRatio", purposes=[gives(accepted=accepted)],
        )  # fmt: skip
    even = pack([0.5, 0.5])
    rows = [
        {
            "draft": [even], "target": [pack([0.25, 0.75]), even], "tokens": [0],
            "uniforms": pack([number] * 2), "params": {},
        }
        for number in (0.25, 0.75)
    ]  # fmt: skip
    yield _batch(
        "speculative", "own-numbers", rows,
        "Two rows with one draft each: the first row's numbers accept it, the second row's do not.",
        "BatchRow", purposes=[own_beyond("uniforms")],
    )  # fmt: skip


# ---- parameters that seldom differ from row to row


def _seldom_own() -> Iterator[SamplerDraft]:
    seen = {"logits": pack([2.0], "f16"), "history": [0], "prompt_length": 0}
    own = [{"penalty": 2.0, "window": int(number % 2 or number == 32)} for number in range(33)]
    yield _batch(
        "repetition_penalty", "33-windows",
        [{**seen, "params": pack_parameters(params)} for params in own],
        "Row 32 has a window, row 0 has none.", "BatchParameters", purposes=[own_beyond("params")],
    )  # fmt: skip
    row = {"logits": pack([2.0, 2.0, 2.0]), "history": [0, 1, 0, 2], "prompt_length": 3}
    every = {"repetition": 1.0, "frequency": 0.5, "presence": 0.0}
    asked: tuple[tuple[str, Mapping[str, Any], str, Sequence[Mapping[str, Any]]], ...] = (
        ("penalties", row, "window", [{**every, "window": window} for window in (1, 4, 2)]),
        ("repetition_penalty", row, "skipped", [{"penalty": 2.0, "skipped": skipped} for skipped in (0, 3, 4)]),
        ("top_p", {"probs": pack([0.25, 0.5, 0.25])}, "least", [{"p": 0.25, "least": least} for least in (3, 1, 2)]),
        ("typical", {"probs": pack([0.125, 0.25, 0.5, 0.0625, 0.0625])}, "mass", [{"mass": mass} for mass in (0.75, 0.25, 0.875)]),
    )  # fmt: skip
    for op, about, name, rows in asked:
        yield _batch(
            op, f"own-{name}", [{**about, "params": pack_parameters(params)} for params in rows],
            f"Three rows are alike but for `{name}`.", "BatchParameters", purposes=[own_beyond("params")],
            verdict=told_rows("logits") if about is row else None,
        )  # fmt: skip
    yield _case(
        "repetition_penalty", "penalties", "skipped-and-window",
        {**row, "params": pack_parameters({"penalty": 2.0, "skipped": 2, "window": 3})},
        "The last three tokens have one of the two that are skipped: the last two count.",
        "docs/engines.md#repetition_penalty", "PenaltyScope",
        purposes=[gives(logits=pack([1.0, 2.0, 1.0]))],
    )  # fmt: skip


# ---- shares that 16 bits do not hold


def _narrow_shares() -> Iterator[SamplerDraft]:
    spec, tiny = "docs/sampling.md#speculative-decoding", 2.0**-13
    yield _case(
        "speculative", "chain", "ratio-in-16-bits",
        {
            "draft": [pack([0.5, 0.5])], "target": [pack([0.25 + tiny, 0.75 - tiny]), pack([0.5, 0.5])],
            "tokens": [0], "uniforms": pack([0.5 + tiny, 0.25]), "params": {},
        },
        "The ratio is 1/2 + 2^-12 and the number 1/2 + 2^-13: the draft is accepted, but not if the share or the ratio has 16 bits.",
        spec, "SpeculativeRatio", purposes=[gives(accepted=1)],
    )  # fmt: skip
    yield _case(
        "residual", "residuals", "shares-in-16-bits",
        {"target": pack([0.5 + tiny, 0.5 - tiny, 0.0]), "draft": pack([0.25, 0.25, 0.5]), "params": {}},
        "1/2 + 2^-12 and 1/2 - 2^-12 are left, which 16 bits do not hold.",
        spec, "SpeculativeResidual", purposes=[gives(probs=pack([0.5 + 2 * tiny, 0.5 - 2 * tiny, 0.0]))],
    )  # fmt: skip
    size = 70_000
    put = {0: 0.25, 4464: 0.25, 65_535: 0.25, 65_536: 0.25}
    row = _recipe(1, size, span=1, put=put)
    certain = _recipe(1, size, span=1, put={65_536: 1.0})
    yield _case(
        "speculative", "long", "token-65536",
        {"draft": [certain], "target": [row, certain], "tokens": [65_536], "uniforms": pack([0.125, 0.5]), "params": {}},
        "The draft is token 65,536, which has a ratio of 1/4; token 0, which has the same 16 bits, has none.",
        spec, "SpeculativeRatio", "LongRow", LARGE, purposes=[gives(accepted=1)],
    )  # fmt: skip
    share = nearest(0.626536, "f32")
    for slug, second, steps, number, keep in (
        ("p", -265 / 512, [("top_p", {"p": share})], None, [0]),
        ("m", -47 / 256, [("min_p", {"m": nearest(0.83215, "f32")})], None, [0, 1]),
        ("draw", -265 / 1024, [("temperature", {"temperature": 0.5})], share, [0]),
    ):
        yield _case(
            "steps", "fused", f"weights-in-16-bits-{slug}", _fused(pack([0.0, second]), steps, number),
            "The second weight is near what decides: weights in 16 bits give another answer.",
            FUSED, "Fused", "Margin",
            purposes=[gives(keep=keep)] if number is None else [gives(token=0)],
        )  # fmt: skip
