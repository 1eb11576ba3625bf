"""What is reported of a drawn token and of a prompt: log-probabilities, the best tokens, ranks.

Three tokens of the usual row are equal, so a rank tells how equals are counted. Rows have steps
that would change them, so an answer tells whether they were applied. In a prompt each row has
another best token, so an answer tells which row it is from.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import inf, nan
from typing import Any, Final

import msgspec

from authoring.cases.sampling.draft import SamplerDraft, refuses, told_apart
from authoring.cases.sampling.rows_long import places
from authoring.grids import grid
from authoring.summing import row_logprobs_units
from tokenref.catalogue import LARGE
from tokenref.floats import Type, pack
from tokenref.questions.sampling import pack_parameters
from tokenref.rounding.rows import report_verdict
from tokenref.rules import STANDARD, rule_name
from tokenref.verdicts import Close, Verdict

SPEC: Final = "docs/sampling.md#reported-log-probabilities"

ROW: Final = (2.0, 0.5, 1.0, 0.5, -1.0, 0.5, 1.5, -2.0)
MASKED: Final = (2.0, -inf, 1.0, 0.5, -inf, 1.5)
STEPS: Final = (("temperature", {"temperature": 0.5}), ("top_k", {"k": 4}))
"""What an engine does to the row before it draws, where the case does not say otherwise."""

USUAL: Final[tuple[tuple[str, Sequence[float], int, int, str, tuple[str, ...]], ...]] = (
    ("best", ROW, 0, 3, "The best token was drawn: it is reported once, not a second time among the best.", ("ReportedToken",)),
    ("second", ROW, 6, 3, "The second token was drawn: it comes first, and not again at its place.", ("ReportedToken",)),
    ("outside", ROW, 4, 2, "A token was drawn that is not among the two best: it is reported all the same.", ("ReportedToken",)),
    ("last", ROW, 7, 2, "The last token of the row was drawn, which is the least probable of all.", ("ReportedToken",)),
    ("none-asked", ROW, 2, 0, "No other token is asked for: only the drawn one is reported.", ("ReportedToken",)),
    ("one-asked", ROW, 2, 1, "One more token is asked for, and it is the best one.", ("ReportedToken",)),
    ("first-of-equals", ROW, 1, 1, "Three tokens are equal, and the first was drawn.", ("TokenRank",)),
    ("middle-of-equals", ROW, 3, 1, "Three tokens are equal, and the one in the middle was drawn.", ("TokenRank",)),
    ("last-of-equals", ROW, 5, 1, "Three tokens are equal, and the last was drawn.", ("TokenRank",)),
    ("all-equal", (0.0,) * 4, 2, 1, "All tokens are equal: the rank is that of the last, or of the first.", ("TokenRank",)),
    ("zeros-are-equal", (0.0, -0.0, -1.0, 0.0), 1, 0, "Zeros of different signs are equal, so the rank is the same.", ("TokenRank",)),
    ("equals-cut", ROW, 0, 4, "Of three equal tokens one is among the four best: the one with the lowest id.", ("TokenRank",)),
    ("equals-cut-drawn", ROW, 5, 4, "The last of three equal tokens was drawn, and another one of them is among the best.", ("TokenRank",)),
    ("whole-row", ROW, 2, 8, "As many tokens are asked for as there are.", ("ReportedToken",)),
    ("more-than-the-row", ROW, 2, 9, "More tokens are asked for than there are: all are reported.", ("ReportedToken",)),
    ("far-more", ROW, 2, 1 << 31, "The number of tokens that is asked for has 32 bits.", ("ReportedToken",)),
    ("impossible-beyond", MASKED, 3, 5, "Impossible tokens are reported if nothing better is left.", ("MinusInfinity",)),
    ("impossible-cut", MASKED, 3, 4, "All possible tokens are reported, and no impossible one.", ("MinusInfinity",)),
    ("impossible-drawn", MASKED, 4, 2, "An impossible token is reported: its log-probability is minus infinity.", ("MinusInfinity", "TokenRank")),
    ("below-zero", tuple(logit - 64 for logit in ROW), 4, 2, "The same numbers come from a row far below zero.", ("ReportedToken",)),
)  # fmt: skip

OTHERS: Final = (
    {"rank": "more"},
    {"placed": "if missing"},
    {"placed": "if missing", "rank": "more"},
    {"ties": "highest id"},
)
"""Other rules by which some of the cases are asked."""

PROMPT: Final = (
    (2.0, 0.5, 1.0, -1.0),
    (0.5, 2.5, 1.5, -0.5),
    (1.0, -1.5, 0.0, 3.0),
    (-2.0, 1.0, 4.0, 0.0),
)
"""The row behind each token of a prompt: the best tokens are 0, 1, 3, 2."""

PROMPTS: Final[tuple[tuple[str, Sequence[Sequence[float]], Sequence[int], int, str], ...]] = (
    ("four", PROMPT, [3, 0, 1, 3], 2, "Each token of a prompt is the best one of the row behind the token before it."),
    ("unlikely", PROMPT, [0, 3, 3, 0], 1, "No token of a prompt is the best one: it is reported beside the best."),
    ("own-row", PROMPT, [0, 1, 3, 2], 1, "Each token is the best one of its own row, which is about the next token."),
    ("one-token", PROMPT[:1], [2], 3, "A prompt of one token has a row, but nothing is reported."),
    ("two-tokens", PROMPT[:2], [1, 2], 4, "A prompt of two tokens: one report, with the whole row."),
    ("twice-the-same", PROMPT, [1, 1, 1, 1], 0, "The same token four times, with another rank each time."),
    ("equal-tokens", ((0.0, 0.0, -1.0), (0.0, -1.0, 0.0)), [2, 1], 1, "The second token of a prompt is one of two equals."),
)  # fmt: skip


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from told_apart([*_usual(), *_of_steps(), *_types(), *_long(), *_prompts()])
    yield from _refused()


def _request(
    logits: Mapping[str, Any], token: int, n: int, steps: Sequence[tuple[str, Mapping[str, Any]]]
) -> dict[str, Any]:
    asked = [{"step": name, "params": pack_parameters(params)} for name, params in steps]
    return {"logits": logits, "steps": asked, "token": token, "n": n}


def _draft(
    op: str,
    slug: str,
    request: Mapping[str, Any],
    why: str,
    flags: Sequence[str],
    choices: Mapping[str, str],
    verdict: Verdict | None = None,
) -> SamplerDraft:
    profile = rule_name(op, **choices)
    return SamplerDraft(
        op=op,
        topic="reports",
        slug=slug if profile == STANDARD else f"{slug}-{profile}",
        profile=profile,
        request=request,
        why=why,
        flags=flags,
        verdict=verdict or report_verdict(op, profile, request),
        spec=SPEC,
    )


def _usual() -> Iterator[SamplerDraft]:
    ask = partial(_draft, "top_logprobs")
    for slug, row, token, n, why, flags in USUAL:
        request = _request(pack(row), token, n, STEPS)
        yield ask(slug, request, why, flags, {})
        for choices in OTHERS:
            if slug in {"second", "outside", "middle-of-equals", "equals-cut-drawn"}:
                yield ask(slug, request, why, flags, choices)


def _of_steps() -> Iterator[SamplerDraft]:
    processed = {"of": "processed"}
    for slug, token, n, steps, why in (
        ("temperature", 2, 2, STEPS[:1], "The logits are divided by the temperature"),
        ("filter", 2, 4, STEPS[1:], "Top-k leaves four tokens, and the rest of the row is impossible"),
        ("both", 6, 3, STEPS, "A temperature and top-k"),
        ("removed", 4, 2, STEPS[1:], "The drawn token is one that top-k removed"),
        ("bias", 4, 1, [("logit_bias", {"biases": {4: 4.0}})], "A bias makes the drawn token the best"),
        ("no-steps", 2, 2, [], "Nothing is done to the row"),
    ):  # fmt: skip
        request = _request(pack(ROW), token, n, steps)
        for choices, words in ((processed, "after the steps"), ({}, "of the row as it came")):
            says = f"{why}; what is reported is {words}."
            yield _draft("top_logprobs", f"steps-{slug}", request, says, ["RawLogprobs"], choices)


def _types() -> Iterator[SamplerDraft]:
    for dtype in ("f16", "bf16", "f64"):
        of_type: Type = dtype
        flags = ["ReportedToken", *["SixteenBit"] * (dtype != "f64")]
        request = _request(pack(ROW, of_type), 4, 3, STEPS)
        why = f"Log-probabilities in {dtype}, the type of the row."
        yield _draft("top_logprobs", f"type-{dtype}", request, why, flags, {})


def _long() -> Iterator[SamplerDraft]:
    """Yield long rows in which the drawn token has a rank that few bits do not hold."""
    for size in (300, 1025, 4097, 70_000):
        at = [place for place in places(size) if place != 1]
        put = {place: 1 + number / 4 for number, place in enumerate(at)}
        row = grid(size, size, span=1, put={**put, 1: -2.0})
        verdict = Close(ulp=max(row_logprobs_units(row.values(), "f32"), 4))
        flags = ["TokenRank", "LongRow", *[LARGE] * (size > 4097)]
        for slug, token, rank, which in (
            ("worst", 1, size, "least probable"),
            ("equals", 2, size - 1, "second one"),
        ):
            request = _request(msgspec.to_builtins(row), token, len(at), ())
            why = f"The {which} of {size:,} tokens was drawn, of which nearly all are equal: its rank is {rank:,}."
            yield _draft("top_logprobs", f"{slug}-{size}", request, why, flags, {}, verdict)
    for size in (2049, 8193):
        word = size // 64
        numbers = grid(size, size, span=8, put={32 * word + token: token / 2 for token in range(8)})
        mask = [("token_mask", {"words": {word: 0b11101110}})]
        request = _request(msgspec.to_builtins(numbers), 32 * word + 2, 3, mask)
        why = f"A mask leaves six of {size:,} tokens, in one block: the sum of every other block is 0, and not NaN."
        flags = ["RawLogprobs", "MinusInfinity", "LongRow", *[LARGE] * (size > 4097)]
        yield _draft(
            "top_logprobs", f"masked-{size}", request, why, flags, {"of": "processed"}, Close(ulp=8)
        )


def _prompts() -> Iterator[SamplerDraft]:
    for slug, rows, tokens, n, why in PROMPTS:
        request = {"rows": [pack(row) for row in rows], "tokens": list(tokens), "n": n}
        for choices in ({}, *OTHERS[:2]):
            if not choices or slug in {"unlikely", "equal-tokens"}:
                yield _draft("prompt_logprobs", slug, request, why, ["PromptShift"], choices)


def _refused() -> Iterator[SamplerDraft]:
    usual = _request(pack(ROW), 2, 2, STEPS)
    rows = [pack(row) for row in PROMPT]
    prompt = {"rows": rows, "tokens": [3, 0, 1, 3], "n": 2}
    parameter, row = "INVALID_PARAMETER", "INVALID_ROW"
    for op, slug, request, code, why in (
        ("top_logprobs", "token-beyond", {**usual, "token": 8}, parameter, "The drawn token is beyond the row."),
        ("top_logprobs", "token-negative", {**usual, "token": -1}, parameter, "The drawn token is negative: it is not the last of the row."),
        ("top_logprobs", "n-negative", {**usual, "n": -1}, parameter, "A negative number of tokens is asked for; it does not mean all."),
        ("top_logprobs", "nan", {**usual, "logits": pack([1.0, nan, 0.0])}, row, "The row has a NaN beside the drawn token."),
        ("top_logprobs", "impossible", {**usual, "logits": pack([-inf] * 4)}, row, "No token of the row is possible."),
        ("prompt_logprobs", "no-tokens", {"rows": [], "tokens": [], "n": 1}, parameter, "The prompt has no token."),
        ("prompt_logprobs", "row-missing", {**prompt, "rows": rows[:3]}, parameter, "The last token of the prompt has no row."),
        ("prompt_logprobs", "token-beyond", {**prompt, "tokens": [3, 0, 4, 3]}, parameter, "A token of the prompt is beyond its row."),
        ("prompt_logprobs", "first-token-beyond", {**prompt, "tokens": [4, 0, 1, 3]}, parameter, "The first token of the prompt, of which nothing is reported, is beyond the rows."),
        ("prompt_logprobs", "sizes-differ", {**prompt, "rows": [*rows[:3], pack([0.0, 1.0])]}, parameter, "The last row, of which nothing is reported, is shorter than the others."),
        ("prompt_logprobs", "nan-behind", {**prompt, "rows": [*rows[:3], pack([0.0, nan, 1.0, 2.0])]}, row, "The last row, of which nothing is reported, has a NaN."),
        ("prompt_logprobs", "n-negative", {**prompt, "n": -1}, parameter, "A negative number of tokens is asked for of a prompt."),
    ):  # fmt: skip
        yield SamplerDraft(
            op=op,
            topic="reports",
            slug=f"refused-{slug}",
            profile=STANDARD,
            request=request,
            why=why,
            flags=["InvalidRow" if code == row else "InvalidNumber"],
            spec=SPEC,
            purposes=(refuses(code),),
        )
