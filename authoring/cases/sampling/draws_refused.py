"""Draws that must be refused: numbers, rows and orders that mean nothing."""

from collections.abc import Iterator
from math import inf, nan
from typing import Any, Final

from authoring.cases.sampling.draft import SamplerDraft, refuses, told_apart
from tokenref.floats import pack
from tokenref.rules import STANDARD, rule_name

SPEC: Final = "docs/sampling.md#errors"
RACE: Final = rule_name("draw", method="exponential race")
GUMBEL: Final = rule_name("draw", method="gumbel max")
TORCH: Final = rule_name("draw", method="torch race")
ROW: Final = {"probs": pack([0.5, 0.25, 0.25])}
LOGITS: Final = {"logits": pack([0.0, 1.0, 2.0])}
HALF: Final = {"uniforms": pack([0.5])}


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from told_apart(_refused())


def _refused() -> Iterator[SamplerDraft]:
    for slug, number, about in (
        ("one", 1.0, "1 is not in [0, 1): it is beyond the last token"),
        ("negative", -(2.0**-149), "the largest negative number is before the first token"),
        ("nan", nan, "no comparison with NaN is true, and a loop runs off the row"),
        ("infinite", inf, "infinity is not in [0, 1)"),
    ):
        why = f"An invalid random number: {about}."
        yield _case(f"walk-{slug}", STANDARD, {**ROW, "uniforms": pack([number])}, why)
        yield _case(f"logits-{slug}", STANDARD, {**LOGITS, "uniforms": pack([number])}, why)
        for name, profile, row in (("race", RACE, ROW), ("gumbel", GUMBEL, LOGITS)):
            uniforms = pack([0.5, number, 0.25])
            yield _case(f"{name}-{slug}", profile, {**row, "uniforms": uniforms}, why)
    for slug, profile, row, numbers in (
        ("walk-no-number", STANDARD, ROW, []),
        ("walk-two-numbers", STANDARD, ROW, [0.5, 0.5]),
        ("race-too-few", RACE, ROW, [0.5, 0.5]),
        ("race-too-many", RACE, ROW, [0.5] * 4),
        ("race-none", RACE, ROW, []),
        ("gumbel-too-few", GUMBEL, LOGITS, [0.5, 0.5]),
        ("gumbel-too-many", GUMBEL, LOGITS, [0.5] * 4),
    ):
        yield _case(
            slug, profile, {**row, "uniforms": pack(numbers)},
            (f"{len(numbers)} random numbers were given; none may be invented, used twice or "
            "left over."),
        )  # fmt: skip
    yield _case(
        "several-too-few", STANDARD, {**ROW, "uniforms": pack([0.5]), "count": 2},
        "Two draws need two numbers; the first one must not be used twice.",
    )  # fmt: skip
    yield _case(
        "torch-too-fine", TORCH, {**ROW, "uniforms": pack([0.5, 2.0**-54, 0.5], "f64")},
        "torch only generates multiples of 2**-53, so a finer number cannot be its own.",
    )  # fmt: skip
    for slug, weights, about in (
        ("all-zero", [0.0, 0.0, 0.0], "nothing can be drawn from a row without weight"),
        ("nan", [0.5, nan, 0.25], "a weight is NaN, and so is the total"),
        ("negative", [0.5, -0.25, 0.75], "a weight is negative"),
        ("infinite", [0.5, inf, 0.25], "a weight is infinite"),
        ("empty", [], "a row without tokens has no draw"),
    ):
        why = f"An invalid row: {about}. Whatever is returned instead was not drawn."
        yield _case(
            f"walk-row-{slug}", STANDARD, {"probs": pack(weights), **HALF}, why, "INVALID_ROW"
        )
        enough = pack([0.5] * len(weights))
        yield _case(
            f"race-row-{slug}", RACE, {"probs": pack(weights), "uniforms": enough}, why,
            "INVALID_ROW",
        )  # fmt: skip
    for slug, logits, about in (
        ("all-impossible", [-inf, -inf, -inf], "every token is impossible"),
        ("nan", [0.0, nan, 1.0], "a logit is NaN"),
        ("infinite", [0.0, inf, 1.0], "a logit is plus infinity, and infinity less infinity NaN"),
        ("empty", [], "a row without tokens has no draw"),
    ):
        why = f"An invalid row of logits: {about}."
        yield _case(
            f"walk-logits-{slug}", STANDARD, {"logits": pack(logits), **HALF}, why, "INVALID_ROW"
        )
        enough = pack([0.5] * len(logits))
        yield _case(
            f"gumbel-logits-{slug}", GUMBEL, {"logits": pack(logits), "uniforms": enough}, why,
            "INVALID_ROW",
        )  # fmt: skip
    for slug, order in (("twice", [0, 1, 0]), ("unknown", [0, 3])):
        yield _case(
            f"order-{slug}", STANDARD, {**ROW, **HALF, "order": order},
            "Candidates must be different tokens of the row: a wrong index reads another token's weight.",
            "INVALID_PARAMETER",
        )  # fmt: skip
    yield _case(
        "order-without-weight", STANDARD, {"probs": pack([0.0, 1.0, 0.0]), **HALF, "order": [2, 0]},
        "None of the candidates has any weight: nothing can be drawn from them.", "INVALID_ROW",
    )  # fmt: skip
    holes: dict[str, Any] = {"probs": pack([0.5, 0.0, 0.5])}
    for slug, profile, count in (("walk", STANDARD, 3), ("race", RACE, 3)):
        yield _case(
            f"{slug}-too-many-draws", profile,
            {**holes, "uniforms": pack([0.5] * 3), "count": count},
            "Three different tokens of two possible ones: an impossible one must not fill the gap.",
            "INVALID_PARAMETER",
        )  # fmt: skip


def _case(
    slug: str, profile: str, request: dict[str, Any], why: str, code: str = "INVALID_UNIFORM"
) -> SamplerDraft:
    flag = {"INVALID_UNIFORM": "InvalidNumber", "INVALID_ROW": "InvalidRow"}.get(code)
    return SamplerDraft(
        op="draw",
        topic="refused",
        slug=slug,
        profile=profile,
        request=request,
        why=why,
        flags=[flag or "ParameterDomain"],
        spec=SPEC,
        purposes=[refuses(code)],
    )
