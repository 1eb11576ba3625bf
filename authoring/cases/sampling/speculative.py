"""Speculative decoding: which drafts are accepted, what is drawn after them, and the residual.

Rows are multiples of powers of two, ratios too, so that a division of 32-bit floats is exact. For
every random number, each value at which the answer changes is found by the reference's
breakpoints, and asked exactly and one step beside.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import inf, nan
from typing import Any, Final, NamedTuple

from authoring.cases.sampling.draft import (
    SamplerDraft,
    SamplerPurpose,
    asked_as,
    differs_from,
    gives,
    refuses,
)
from authoring.cases.sampling.uniform_points import Point, points_at
from sampling_ref.speculative import (
    Verified,
    block_breakpoints,
    chain_breakpoints,
    matching_breakpoints,
    target_only_breakpoints,
    tree_breakpoints,
    verify_block,
    verify_by_matching,
    verify_chain,
    verify_target_only,
    verify_tree,
)
from tokenref.floats import Type, nearest, pack
from tokenref.questions.sampling import pack_parameters
from tokenref.rules import STANDARD, rule_name
from tokenref.verdicts import Close


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from _speculative_cases()
    yield from _residual_cases()


# ---- drafts

SPEC: Final = "docs/sampling.md#speculative-decoding"

P: Final = (0.25, 0.5, 0.25, 0.0)
"""A target's row. Token 0 has the ratio 1/2 to the draft's row, 1 has 2, 2 was not offered."""

Q: Final = (0.5, 0.25, 0.0, 0.25)
BONUS: Final = (0.5, 0.25, 0.125, 0.125)
EVEN: Final = (0.25, 0.25, 0.25, 0.25)
STEEP: Final = (0.5, 0.25, 0.125, 0.125)


class Drafted(NamedTuple):
    """Drafted tokens, and the rows of both models."""

    slug: str
    target: Sequence[Sequence[float]]
    draft: Sequence[Sequence[float]]
    tokens: Sequence[int]
    about: str
    params: Mapping[str, Any] = {}


class _Method(NamedTuple):
    name: str
    verify: Callable[[Drafted, Sequence[float]], Verified]
    breakpoints: Callable[[Drafted], Sequence[Sequence[Fraction]]]
    flag: str


_CHAIN: Final = _Method(
    "chain",
    lambda each, u: verify_chain(each.target, each.draft, each.tokens, u, if_equal="target"),
    lambda each: chain_breakpoints(each.target, each.draft, each.tokens),
    "SpeculativeRatio",
)
_BLOCK: Final = _Method(
    "block",
    lambda each, u: verify_block(each.target, each.draft, each.tokens, u),
    lambda each: block_breakpoints(each.target, each.draft, each.tokens),
    "SpeculativeBlock",
)
_TREE: Final = _Method(
    "tree",
    lambda each, u: verify_tree(each.target, each.draft, each.tokens, each.params["parents"], u),
    lambda each: tree_breakpoints(each.target, each.draft, each.tokens, each.params["parents"]),
    "SpeculativeTree",
)
_TARGET_ONLY: Final = _Method(
    "target only",
    lambda each, u: verify_target_only(each.target, each.tokens, each.params["parents"], u),
    lambda each: target_only_breakpoints(each.target, each.tokens, each.params["parents"]),
    "SpeculativeTree",
)
_MATCHING: Final = _Method(
    "matching",
    lambda each, u: verify_by_matching(each.target, each.tokens, u),
    lambda each: matching_breakpoints(each.target, each.tokens),
    "SpeculativeMatching",
)

_PAIR: Final = {"parents": [0, 0]}

_ASKED: Final = (
    (_CHAIN, (
        Drafted("one-half", (P, BONUS), (Q,), (0,), "one draft of ratio 1/2"),
        Drafted("one-twice", (P, BONUS), (Q,), (1,), "one draft that the target likes twice as much"),
        Drafted("two", (P, EVEN, BONUS), (Q, STEEP), (0, 0), "two drafts of ratio 1/2 each"),
        Drafted("three", (P, P, EVEN, BONUS), (Q, Q, STEEP), (1, 0, 0), "three drafts, the first one certain"),
        Drafted("four", (EVEN, P, EVEN, P, BONUS), (STEEP, Q, STEEP, Q), (0, 0, 0, 0), "four drafts of ratio 1/2 each"),
    )),
    (_BLOCK, (
        Drafted("one", (P, BONUS), (Q,), (0,), "one draft, for which a block is a chain"),
        Drafted("made-good", (EVEN, STEEP, BONUS), (STEEP, EVEN), (0, 0), "a draft of ratio 1/2 and one of ratio 2 after it"),
        Drafted("three", (EVEN, STEEP, P, BONUS), (STEEP, EVEN, Q), (0, 0, 0), "ratios of 1/2, 2 and 1/2"),
    )),
    (_TREE, (
        Drafted("two-guesses", (P, BONUS, EVEN), (Q, Q), (0, 3), "two guesses for one place, the second one impossible", _PAIR),
        Drafted("guess-below-guess", (EVEN, P, BONUS, EVEN), (STEEP, Q, STEEP), (0, 0, 1), "two guesses, and one below the first", {"parents": [0, 1, 0]}),
        Drafted("picked", (EVEN, BONUS, EVEN), ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0)), (0, 1), "two guesses that were picked, not drawn", _PAIR),
    )),
    (_TARGET_ONLY, (
        Drafted("two-guesses", (P, BONUS, EVEN), (), (1, 0), "two guesses for one place", _PAIR),
        Drafted("guess-below-guess", (EVEN, P, BONUS, STEEP), (), (2, 0, 1), "two guesses, and one below the first", {"parents": [0, 1, 0]}),
    )),
    (_MATCHING, (
        Drafted("two", (P, STEEP, BONUS), (), (1, 0), "two drafts that the target may draw itself"),
    )),
)  # fmt: skip


def _speculative_cases() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    for method, every in _ASKED:
        for each in every:
            yield from _at_breakpoints(method, each)


def asked(each: Drafted, uniforms: Sequence[float], dtype: Any = "f32") -> dict[str, Any]:
    """Return a question about drafts."""
    return {
        "draft": [pack(row) for row in each.draft],
        "target": [pack(row) for row in each.target],
        "tokens": list(each.tokens),
        "uniforms": pack(uniforms, dtype),
        "params": pack_parameters(each.params),
    }


def _at_breakpoints(method: _Method, each: Drafted) -> Iterator[SamplerDraft]:
    """Yield the two of three neighbours between which the answer changes, once per place."""
    breakpoints = method.breakpoints(each)
    count, seen, number = len(breakpoints), set[object](), 0
    half = count // 2
    low, high = [0.0625] * count, [0.9375] * count
    for base in (low, high, [*low[:half], *high[half:]]):
        for place, ends in enumerate(breakpoints):
            points = points_at(ends, "f32", edges=False)
            for three in (points[at : at + 3] for at in range(0, len(points), 3)):
                numbers = [[*base[:place], point.value, *base[place + 1 :]] for point in three]
                answers = [method.verify(each, given) for given in numbers]
                is_last = place == count - 1
                key = (place, answers[1].tokens[:-1]) if is_last else (place, three[0].end)
                if len(set(answers)) == 1 or key in seen:
                    continue
                seen.add(key)
                for here in (0, 1) if answers[0] != answers[1] else (1, 2):
                    number += 1
                    slug = f"{each.slug}-{number:02}-{three[here].name}"
                    yield _one(method, each, slug, place, three[here], numbers[here])


def _one(
    method: _Method, each: Drafted, slug: str, place: int, point: Point, numbers: Sequence[float]
) -> SamplerDraft:
    side, end = point.side, point.end
    answer = method.verify(each, numbers)
    where = {-1: "one step below", 0: "exactly", 1: "one step above"}[side]
    which = "The last number" if place == len(numbers) - 1 else f"Number {place + 1}"
    kept = (
        "no draft is"
        if not answer.accepted
        else "1 draft is"
        if answer.accepted == 1
        else f"{answer.accepted} drafts are"
    )
    purposes: list[SamplerPurpose] = [gives(accepted=answer.accepted, tokens=list(answer.tokens))]
    flags = {method.flag, *(["SpeculativeEquality"] if side == 0 else [])}
    if side == 0 and place < len(numbers) - 1 and method.name in {"chain", "block", "tree"}:
        purposes.append(
            differs_from(rule_name("speculative", method=method.name, equality="accept"))
        )
    return SamplerDraft(
        op="speculative",
        topic=method.name.replace(" ", "_"),
        slug=slug,
        profile=rule_name("speculative", method=method.name),
        request=asked(each, numbers),
        why=asked_as(
            f"{each.about[0].upper()}{each.about[1:]}. {which} is {where} {end}, where the answer changes: {kept} accepted, then token {answer.tokens[-1]}.",
            method.name,
            f"numbers {', '.join(map(repr, numbers))}",
        ),
        flags=sorted(flags),
        spec=SPEC,
        purposes=purposes,
    )


# ---- the residual

TARGET: Final = rule_name("residual", if_equal="target")


def _residual_cases() -> Iterator[SamplerDraft]:
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
