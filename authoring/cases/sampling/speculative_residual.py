"""What is left of the target after a rejection."""

from collections.abc import Iterator, Sequence
from math import inf, nan
from typing import Any, Final

from authoring.cases.sampling.draft import SamplerDraft, differs_from, gives, refuses
from authoring.cases.sampling.sentences import asked_as
from tokenref.floats import Type, nearest, pack
from tokenref.rules import STANDARD, rule_name
from tokenref.verdicts import Close

SPEC: Final = "docs/sampling.md#speculative-decoding"
TARGET: Final = rule_name("residual", if_equal="target")


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for slug, target, draft, left, about in (
        ("half", (0.5, 0.25, 0.25), (0.25, 0.75, 0.0), (0.5, 0.0, 0.5),
         ("Tokens with more probability in the draft get 0, not a negative number; the rest is "
         "scaled to 1.")),
        ("scaled", (0.5, 0.25, 0.25, 0.0), (0.25, 0.25, 0.0, 0.5), (0.5, 0.0, 0.5, 0.0),
         "Two differences of 1/4 become 1/2 each: without scaling the draw ends at a half."),
        ("disjoint", (0.25, 0.75, 0.0), (0.0, 0.0, 1.0), (0.25, 0.75, 0.0),
         "Rows that share no token: the whole target is left."),
        ("one-left", (0.25, 0.75), (0.75, 0.25), (0.0, 1.0),
         "One token is left, with certainty."),
        ("certain-drafter", (0.5, 0.25, 0.25), (1.0, 0.0, 0.0), (0.0, 0.5, 0.5),
         "A drafter that is certain: the target without its token."),
        ("any-scale", (2.0, 1.0, 1.0), (0.25, 0.75, 0.0), (0.5, 0.0, 0.5),
         "Rows of sums 4 and 1: shares are subtracted, not weights."),
        ("small-rest", (0.5 + 2.0**-20, 0.5 - 2.0**-20), (0.5, 0.5), (1.0, 0.0),
         "Rows that nearly agree: the little that is left is all there is, and becomes 1."),
    ):  # fmt: skip
        for dtype in ("f32", "f64", "bf16") if slug != "small-rest" else ("f32", "f64"):
            yield _case(f"{slug}-{dtype}", STANDARD, target, draft, about, left, dtype)
    thirds = ((0.5, 0.375, 0.125), (0.125, 0.25, 0.625))
    yield SamplerDraft(
        op="residual", topic="residuals", slug="quarters", profile=STANDARD,
        request={"target": pack(thirds[0]), "draft": pack(thirds[1]), "params": {}},
        why="Differences of 3/8 and 1/8 become 3/4 and 1/4; a clamp before the subtraction keeps more.",
        flags=["SpeculativeResidual"], spec=SPEC,
        purposes=[gives(probs=pack([0.75, 0.25, 0.0]))],
    )  # fmt: skip
    yield SamplerDraft(
        op="residual", topic="residuals", slug="thirds", profile=STANDARD,
        request={"target": pack([0.5, 0.5, 0.0]), "draft": pack([0.25, 0.0, 0.75]), "params": {}},
        why="Thirds have no exact float; one division rounds once, a reciprocal twice: two units are allowed.",
        flags=["SpeculativeResidual"], spec=SPEC, verdict=Close(ulp=2),
        purposes=[gives(probs=pack([nearest(1 / 3, "f32"), nearest(2 / 3, "f32"), 0.0]))],
    )  # fmt: skip
    equal = (0.5, 0.25, 0.25)
    yield SamplerDraft(
        op="residual", topic="residuals", slug="equal-rows", profile=STANDARD,
        request={"target": pack(equal), "draft": pack(equal), "params": {}},
        why="Equal rows leave nothing: 0 / 0 is not a row, and token 0 is not an answer.",
        flags=["InvalidRow", "SpeculativeResidual"], spec=SPEC,
        purposes=[refuses("INVALID_ROW"), differs_from(TARGET)],
    )  # fmt: skip
    yield _case(
        "equal-rows-target", TARGET, equal, equal,
        "Equal rows leave nothing, and this rule uses the target itself.", equal,
        rival=STANDARD,
    )  # fmt: skip
    yield _case(
        "other-rows-target", TARGET, (0.25, 0.75), (0.75, 0.25),
        "If something is left, the rule for equal rows has no effect.", (0.0, 1.0),
    )  # fmt: skip
    yield _case(
        "equal-in-shares-target", TARGET, (2.0, 2.0), (0.25, 0.25),
        "Rows in different scales are equal in shares: the target's shares, not its weights.",
        (0.5, 0.5), rival=STANDARD,
    )  # fmt: skip
    bad: list[tuple[str, Sequence[float], Sequence[float], str]] = [
        ("lengths", (0.5, 0.5), (1.0,), "Rows of two tokens and of one"),
        ("nan", (0.5, nan), (0.5, 0.5), "NaN in the target"),
        ("negative", (0.5, 0.5), (-0.5, 1.5), "A negative share in the draft"),
        ("infinite", (inf, 0.5), (0.5, 0.5), "Infinity in the target"),
        ("no-weight", (0.5, 0.5), (0.0, 0.0), "A draft row without any weight"),
    ]
    for name, first, second, sentence in bad:
        yield SamplerDraft(
            op="residual", topic="refused", slug=name, profile=STANDARD,
            request={"target": pack(first), "draft": pack(second), "params": {}},
            why=f"{sentence}: there is no residual, and none may be invented.",
            flags=["InvalidRow"], spec="docs/sampling.md#errors",
            purposes=[refuses("INVALID_ROW")],
        )  # fmt: skip


def _case(
    slug: str,
    profile: str,
    target: Sequence[float],
    draft: Sequence[float],
    why: str,
    left: Sequence[float],
    dtype: Type = "f32",
    *,
    rival: str = "",
) -> SamplerDraft:
    request: dict[str, Any] = {
        "target": pack(target, dtype),
        "draft": pack(draft, dtype),
        "params": {},
    }
    return SamplerDraft(
        op="residual",
        topic="residuals",
        slug=slug,
        profile=profile,
        request=request,
        why=asked_as(why, dtype),
        flags=["SpeculativeResidual"],
        spec=SPEC,
        purposes=[gives(probs=pack(left, dtype)), *([differs_from(rival)] if rival else [])],
    )
