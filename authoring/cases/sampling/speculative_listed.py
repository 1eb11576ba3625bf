"""Speculative decoding, case by case: what engines got wrong, and what each rule decides."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from authoring.cases.sampling.draft import (
    SamplerDraft,
    SamplerPurpose,
    differs_from,
    gives,
    refuses,
    told_apart,
)
from authoring.cases.sampling.speculative import BONUS, EVEN, SPEC, STEEP, Drafted, P, Q, asked
from authoring.cases.sampling.uniform_points import LARGEST
from tokenref.rules import STANDARD, rule_name

ACCEPT: Final = rule_name("speculative", equality="accept")
BLOCK: Final = rule_name("speculative", method="block")
TREE: Final = rule_name("speculative", method="tree")
TARGET: Final = rule_name("speculative", method="target only")
MATCHING: Final = rule_name("speculative", method="matching")
TYPICAL: Final = rule_name("speculative", method="typical")
SURE: Final = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0))


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from told_apart(_all())


def _all() -> Iterator[SamplerDraft]:
    yield from _rules()
    yield from _lengths()
    yield from _against_each_other()
    yield from _trees()
    yield from _typical()
    yield from _mixtures()
    yield from _refused()


def _case(
    topic: str,
    profile: str,
    each: Drafted,
    uniforms: Sequence[float],
    accepted: int,
    tokens: Sequence[int],
    flag: str,
    *,
    rivals: Sequence[str] = (),
    slug: str = "",
    dtype: Any = "f32",
) -> SamplerDraft:
    purposes: list[SamplerPurpose] = [gives(accepted=accepted, tokens=list(tokens))]
    return SamplerDraft(
        op="speculative",
        topic=topic,
        slug=slug or each.slug,
        profile=profile,
        request=asked(each, uniforms, dtype),
        why=each.about,
        flags=[flag] if dtype == "f32" else sorted([flag, "WideNumber"]),
        spec=SPEC,
        purposes=[*purposes, *map(differs_from, rivals)],
    )


def _rules() -> Iterator[SamplerDraft]:
    zero = Drafted(
        "impossible-at-zero", (P, BONUS), (Q,), (3,),
        "The target makes the draft impossible and the number is 0: comparing with <= accepts it, and the law is lost.",
    )  # fmt: skip
    yield _case("chain", STANDARD, zero, (0.0, 0.25), 0, (1,), "SpeculativeZero", rivals=[ACCEPT])
    yield _case(
        "chain", ACCEPT, zero._replace(about="The rule of Leviathan's paper, which several engines have: at the number 0 equality accepts an impossible draft."),
        (0.0, 0.25), 0 + 1, (3, 0), "SpeculativeZero", rivals=[STANDARD], slug="impossible-at-zero-accepts",
    )  # fmt: skip
    yield _case(
        "chain", ACCEPT, zero._replace(about="One step above 0 no rule accepts a draft that the target makes impossible."),
        (2.0**-149, 0.25), 0, (1,), "SpeculativeZero", slug="impossible-above-zero",
    )  # fmt: skip
    undrafted = Drafted(
        "undrafted", (P, BONUS), (Q,), (2,),
        "The draft row gives its own token no weight, the target does: by its ratio, p / 0, it is accepted.",
    )  # fmt: skip
    reject = rule_name("speculative", undrafted="reject")
    accept = rule_name("speculative", undrafted="accept")
    yield _case(
        "chain",
        STANDARD,
        undrafted,
        (LARGEST["f32"], 0.25),
        1,
        (2, 0),
        "SpeculativeUndrafted",
        rivals=[reject],
    )
    yield _case(
        "chain", reject, undrafted._replace(about=("A draft with probability 0 in its own row is "
                                                  "rejected by rule, whatever its probability "
                                                  "in the target.")),
        (0.0, 0.75), 0, (2,), "SpeculativeUndrafted", rivals=[STANDARD], slug="undrafted-rejected",
    )  # fmt: skip
    nobody = Drafted(
        "undrafted-by-both", ((0.5, 0.5, 0.0, 0.0), BONUS), ((0.25, 0.75, 0.0, 0.0),), (2,),
        "Neither row has the token: 0 / 0 is NaN and not a reason to accept.",
    )  # fmt: skip
    yield _case(
        "chain", STANDARD, nobody, (0.0, 0.25), 0, (0,), "SpeculativeUndrafted", rivals=[accept]
    )
    yield _case(
        "chain", accept, nobody._replace(about="The rule of an engine whose 0 / 0 is not a number, and no number is above that: accepted."),
        (LARGEST["f32"], 0.25), 1, (2, 0), "SpeculativeUndrafted", rivals=[STANDARD],
        slug="undrafted-accepted",
    )  # fmt: skip
    equal = Drafted(
        "equal-rows", (STEEP, BONUS), (STEEP,), (0,),
        "Target and draft agree: every draft is accepted, even with the largest number below 1.",
    )  # fmt: skip
    for dtype in ("f32", "f64"):
        yield _case(
            "chain", STANDARD, equal, (LARGEST[dtype], 0.5), 1, (0, 1), "SpeculativeRatio",
            slug=f"equal-rows-{dtype}", dtype=dtype,
        )  # fmt: skip
    same = Drafted(
        "nothing-left", ((0.5, 0.5, 0.0), (0.25, 0.5, 0.25)), ((0.5, 0.5, 0.0),), (2,),
        ("A rejection although the rows are equal: nothing is left of the target, so this must "
        "be refused."),
    )  # fmt: skip
    yield _refusal("chain", STANDARD, same, (0.5, 0.5), "INVALID_ROW")
    yield _case(
        "chain", rule_name("speculative", if_equal="target"),
        same._replace(about=("A rejection although the rows are equal: by this rule, the token "
                            "is drawn from the target itself.")),
        (0.5, 0.5), 0, (1,), "SpeculativeResidual", slug="nothing-left-target", rivals=[STANDARD],
    )  # fmt: skip
    yield _case(
        "chain", STANDARD,
        Drafted("capped", (P, BONUS), (Q,), (1,), "The target gives the draft twice its share: the ratio is capped at 1, the number does not matter."),
        (LARGEST["f32"], 0.875), 1, (1, 3), "SpeculativeRatio",
    )  # fmt: skip
    disjoint = ((0.0, 0.0, 0.5, 0.5), BONUS)
    for u, token in ((0.25, 2), (0.5, 3)):
        yield _case(
            "chain", STANDARD,
            Drafted(f"disjoint-{token}", disjoint, ((0.5, 0.5, 0.0, 0.0),), (0,), "The rows share no token: always rejected, and the residual is the whole target."),
            (0.0, u), 0, (token,), "SpeculativeResidual",
        )  # fmt: skip
    yield _case(
        "chain", STANDARD,
        Drafted("residual-by-token", ((0.5, 0.0, 0.25, 0.25), BONUS), ((0.0, 0.5, 0.5, 0.0),), (1,), "The rows have different candidates: subtracted by token 0 and 3 are left; by place in two short lists, others."),
        (0.5, 0.75), 0, (3,), "SpeculativeResidual",
    )  # fmt: skip
    yield _case(
        "chain", STANDARD,
        Drafted("any-scale", ((1.0, 2.0, 1.0, 0.0), BONUS), ((0.25, 0.125, 0.0, 0.125),), (0,), "Rows of sums 4 and 1/2: shares are compared, not weights, and the ratio is 1/2."),
        (0.5, 0.25), 0, (1,), "SpeculativeRatio", rivals=[ACCEPT],
    )  # fmt: skip
    yield _case(
        "chain", STANDARD,
        Drafted("certain-drafter", (P, BONUS), (SURE[0],), (0,), "A drafter without probabilities is certain of its token: accepted with the target's share, 1/4."),
        (0.1875, 0.0), 1, (0, 0), "SpeculativeRatio",
    )  # fmt: skip
    yield _case(
        "chain", STANDARD,
        Drafted("certain-drafter-rejected", (P, BONUS), (SURE[0],), (0,), "After a rejection of a certain drafter the residual is the target without that token."),
        (0.25, 0.5), 0, (1,), "SpeculativeResidual",
    )  # fmt: skip


def _lengths() -> Iterator[SamplerDraft]:
    four = Drafted("", (P, P, P, P, BONUS), (Q, Q, Q, Q), (0, 1, 0, 1), "")
    for place, uniforms, tokens, about in (
        (0, (0.75, 0.25, 0.25, 0.25, 0.75), (2,), "The first of four drafts is rejected: nothing after it counts, however acceptable."),
        (2, (0.25, 0.75, 0.75, 0.25, 0.25), (0, 1, 1), "The third of four is rejected: two accepted, one drawn from what is left at its place."),
        (4, (0.25, 0.75, 0.25, 0.75, 0.875), (0, 1, 0, 1, 3), ("All four are accepted: the bonus is "
                                                              "drawn from the row after the last draft, "
                                                              "with the last number.")),
    ):  # fmt: skip
        yield _case(
            "chain", STANDARD, four._replace(slug=f"four-accepts-{place}", about=about), uniforms,
            place, tokens, "SpeculativeOrder",
        )  # fmt: skip
    for count in range(1, 5):
        rows = (EVEN,) * count
        each = Drafted(
            f"bonus-after-{count}", (*rows, (0.0, 0.0, 0.0, 1.0)), rows, tuple(range(count)),
            f"{count} drafts from rows that agree, and a bonus row with one token only: a bonus from an earlier row is another one.",
        )  # fmt: skip
        yield _case(
            "chain",
            STANDARD,
            each,
            (0.5,) * (count + 1),
            count,
            (*range(count), 3),
            "SpeculativeBonus",
        )
        each = Drafted(
            f"own-number-{count}", (P,) * count + (BONUS,), (Q,) * count, (0,) * count,
            f"The last of {count} drafts is rejected by its own number; the first draft's number would accept it.",
        )  # fmt: skip
        yield _case(
            "chain", STANDARD, each, (*[0.25] * (count - 1), 0.75, 0.25), count - 1,
            (*[0] * (count - 1), 1), "SpeculativeNoise",
        )  # fmt: skip
        each = each._replace(
            slug=f"own-number-of-the-residual-{count}",
            about="The number of the residual is the last one: the one that rejected would draw another token.",
        )  # fmt: skip
        yield _case(
            "chain", STANDARD, each, (*[0.25] * (count - 1), 0.75, 0.0), count - 1,
            (*[0] * (count - 1), 1), "SpeculativeNoise",
        )  # fmt: skip
    for profile, slug in ((STANDARD, "chain"), (BLOCK, "block"), (MATCHING, "matching")):
        each = Drafted(
            "no-drafts", (BONUS,), (), (), "No draft at all: one token, drawn from the target."
        )
        yield _case(slug, profile, each, (0.5,), 0, (1,), "SpeculativeBonus")


def _against_each_other() -> Iterator[SamplerDraft]:
    made_good = Drafted(
        "block-accepts-more", ((0.5, 0.5), (0.0, 1.0), (0.5, 0.5)), ((0.0, 1.0), (0.5, 0.5)),
        (1, 1),
        "The first draft is half as likely as drafted, the second twice: judged together both are accepted.",
    )  # fmt: skip
    yield _case(
        "block",
        BLOCK,
        made_good,
        (0.75, 0.75, 0.0),
        2,
        (1, 1, 0),
        "SpeculativeBlock",
        rivals=[STANDARD],
    )
    yield _case(
        "chain", STANDARD, made_good._replace(slug="chain-accepts-less", about="The same question, judged one by one: the first draft is rejected by its own number."),
        (0.75, 0.75, 0.0), 0, (0,), "SpeculativeRatio", rivals=[BLOCK],
    )  # fmt: skip
    yield _case(
        "matching", MATCHING,
        Drafted("draws-first", ((0.5, 0.5), (0.5, 0.5)), (), (0,), ("The target draws token 1 and the draft "
                                                                   "was 0: the drawn token is the output, "
                                                                   "without a residual.")),
        (0.75, 0.0), 0, (1,), "SpeculativeMatching",
    )  # fmt: skip
    yield _case(
        "matching", MATCHING,
        Drafted("impossible-guess", ((0.0, 1.0), (0.5, 0.5)), (), (0,), "A guess that the target makes impossible is never matched, not at the number 0 either."),
        (0.0, 0.0), 0, (1,), "SpeculativeZero",
    )  # fmt: skip
    yield _case(
        "matching", MATCHING,
        Drafted("all-matched", (STEEP, STEEP, BONUS), (), (0, 1), "Both drafts are what the target draws: the third row draws the bonus with the third number."),
        (0.25, 0.625, 0.9375), 2, (0, 1, 3), "SpeculativeBonus",
    )  # fmt: skip


def _trees() -> Iterator[SamplerDraft]:
    target = ((0.5, 0.25, 0.25, 0.0), BONUS, EVEN, STEEP)
    picked = Drafted(
        "second-judged-by-residual", target, SURE, (0, 1, 2),
        "The second guess is judged by what is left of the target after the first: 1/4 of the remaining 1/2.",
        {"parents": [0, 0, 0]},
    )  # fmt: skip
    yield _case("tree", TREE, picked, (0.5, 0.4375, 0.0, 0.0), 1, (1, 0), "SpeculativeTree")
    yield _case(
        "tree", TREE, picked._replace(slug="third-is-certain", about="After two rejections only the third guess is left of the target: it is accepted for certain."),
        (0.5, 0.5, LARGEST["f32"], 0.5), 1, (2, 1), "SpeculativeTree",
    )  # fmt: skip
    yield _case(
        "tree", TREE, picked._replace(slug="first-wins", about="The first guess is accepted: its brothers are not looked at, and the next row is its own."),
        (0.25, 0.0, 0.0, 0.875), 1, (0, 3), "SpeculativeTree",
    )  # fmt: skip
    deep = Drafted(
        "way-down", (EVEN, EVEN, EVEN, EVEN, (0.0, 0.0, 0.0, 1.0)), (EVEN,) * 4, (0, 1, 2, 3),
        "Four nodes, of which the second is below the first and the fourth below the second: the third is a brother.",
        {"parents": [0, 1, 0, 2]},
    )  # fmt: skip
    yield _case("tree", TREE, deep, (0.5, 0.5, 0.5, 0.5, 0.5), 3, (0, 1, 3, 3), "SpeculativeTree")
    twice = Drafted(
        "guess-twice", ((0.5, 0.25, 0.25, 0.0), BONUS, BONUS), (SURE[0], SURE[0]), (0, 0),
        "The same guess twice at one place: after its rejection the target has none of it left.",
        {"parents": [0, 0]},
    )  # fmt: skip
    yield _case("tree", TREE, twice, (0.5, 0.0, 0.5), 0, (2,), "SpeculativeTree")
    only = Drafted(
        "running-sum", ((0.25, 0.25, 0.5), EVEN[:3], EVEN[:3]), (), (0, 1),
        "The shares of guesses are added up: 1/4 and 1/4 exceed 0.375 at the second guess.",
        {"parents": [0, 0]},
    )  # fmt: skip
    yield _case("target_only", TARGET, only, (0.375, 0.0, 0.0, 0.0), 1, (1, 0), "SpeculativeTree")
    yield _case(
        "target_only", TARGET, only._replace(slug="none-kept", about="At the number 1/2 neither guess is kept: a draw from the target without both of them."),
        (0.5, 0.0, 0.0, 0.0), 0, (2,), "SpeculativeEquality",
    )  # fmt: skip
    yield _case(
        "target_only", TARGET,
        Drafted("impossible-guess", ((0.0, 1.0), (0.5, 0.5)), (), (0,), "A guess that the target makes impossible, and the number 0: it must not be kept.", {"parents": [0]}),
        (0.0, 0.0, 0.0), 0, (1,), "SpeculativeZero",
    )  # fmt: skip
    for name, value, about in (
        ("threshold_acc", 0.5, "Divided by a threshold of 1/2 the share 1/4 is 1/2 and exceeds 0.375: more is accepted than the law allows."),
        ("threshold_single", 0.25, "A guess with a share of at least the threshold is kept at once, whatever the number."),
    ):  # fmt: skip
        each = Drafted(
            name.replace("_", "-"), ((0.25, 0.75), (0.5, 0.5)), (), (0,), about,
            {"parents": [0], name: value},
        )  # fmt: skip
        yield _case(
            "target_only", TARGET, each, (0.375, 0.0, 0.5), 1, (0, 1), "SpeculativeThreshold"
        )


def _typical() -> Iterator[SamplerDraft]:
    eight = (0.125,) * 8
    half = (0.5, 0.25, 0.25, 0.0)  # e to the minus entropy is 0.35
    for slug, target, tokens, params, kept, about in (
        ("above-epsilon", (EVEN, EVEN), (0,), {"epsilon": 0.125, "delta": 1.0}, 1,
         "A share of 1/4 is above epsilon: kept, whatever the entropy."),
        ("above-delta", (half, EVEN), (1,), {"epsilon": 0.5, "delta": 1.0}, 0,
         "E to the minus entropy is 0.35, below epsilon: a share of 1/4 does not reach it."),
        ("below-delta", (EVEN, EVEN), (0,), {"epsilon": 0.5, "delta": 0.5}, 1,
         "With delta of 1/2 the threshold is 1/8: entropy in bits instead of nats gives another."),
        ("at-epsilon", (half, EVEN), (1,), {"epsilon": 0.25, "delta": 1.0}, 0,
         "A share that is exactly epsilon, well below the other threshold of 0.35: rejected."),
        ("stops", (STEEP, half, EVEN), (0, 2), {"epsilon": 0.25, "delta": 1.0}, 1,
         "The first is kept; the second is exactly at epsilon, and ends the prefix."),
        ("impossible", (P, EVEN), (3,), {"epsilon": 0.25, "delta": 0.5}, 0,
         "A draft without any share is never kept."),
        ("longest", (STEEP, STEEP, EVEN, STEEP, EVEN), (1, 0, 0, 0),
         {"epsilon": 0.25, "delta": 1.0, "parents": [0, 1, 0, 3]}, 2,
         ("Two candidates: the first ends at once, the second is kept completely, and the longer "
         "prefix is taken.")),
        ("eight", (eight, eight), (5,), {"epsilon": 0.5, "delta": 0.75}, 1,
         "Eight equal tokens: 1/8 is above 3/4 of e to the minus log 8."),
    ):  # fmt: skip
        each = Drafted(slug, target, (), tokens, about, params)
        answer = {"stops": (0,), "longest": (0, 0), "eight": (5,)}.get(slug, tuple(tokens)[:kept])
        yield _case("typical", TYPICAL, each, (), kept, answer, "SpeculativeThreshold")


def _mixtures() -> Iterator[SamplerDraft]:
    for weight, u, accepted, tokens, about in (
        (
            1.0,
            0.5,
            0,
            (1,),
            "A weight of 1 is the target alone: at its ratio of 1/2 the draft is rejected.",
        ),
        (0.5, 0.5, 1, (0, 0), "Half target and half draft: the ratio is 3/4, and 1/2 accepts."),
        (0.5, 0.75, 0, (1,), "Half target and half draft, exactly at the ratio 3/4: rejected."),
        (0.0, 0.9375, 1, (0, 0), "A weight of 0 is the draft itself: always accepted."),
    ):
        slug = f"weight-{int(weight * 4)}-quarters-at-{int(u * 16)}"
        each = Drafted(slug, (P, BONUS), (Q,), (0,), about, {"weight": weight})
        rivals = [ACCEPT] if (weight, u) != (0.0, 0.9375) and accepted == 0 else []
        yield _case(
            "chain",
            STANDARD,
            each,
            (u, 0.25),
            accepted,
            tokens,
            "SpeculativeMixture",
            rivals=rivals,
        )


def _refusal(
    topic: str, profile: str, each: Drafted, uniforms: Sequence[float], code: str
) -> SamplerDraft:
    flags = {"INVALID_ROW": "InvalidRow", "INVALID_UNIFORM": "InvalidNumber"}
    return SamplerDraft(
        op="speculative",
        topic=topic,
        slug=each.slug,
        profile=profile,
        request=asked(each, uniforms),
        why=each.about,
        flags=[flags.get(code, "ParameterDomain" if "PARAM" in code else "InvalidHistory")],
        spec="docs/sampling.md#errors",
        purposes=[refuses(code)],
    )


def _refused() -> Iterator[SamplerDraft]:
    short = EVEN[:3]
    for slug, profile, target, draft, tokens, uniforms, code, about in (
        ("number-one", STANDARD, (P, BONUS), (Q,), (0,), (1.0, 0.5), "INVALID_UNIFORM", "A number of 1, which rejects even a certain draft"),
        ("too-few-numbers", STANDARD, (P, BONUS), (Q,), (0,), (0.5,), "INVALID_UNIFORM", "One number for one draft and the token after it: the second may not be the first again"),
        ("too-many-numbers", STANDARD, (P, BONUS), (Q,), (0,), (0.5,) * 3, "INVALID_UNIFORM", ("One number too many: it is unclear which "
                                                                                              "one is meant")),
        ("target-only-too-few", TARGET, (EVEN, EVEN), (), (0,), (0.5, 0.5), "INVALID_UNIFORM", ("Two numbers, although a method without "
                                                                                               "draft rows takes three")),
        ("no-bonus-row", STANDARD, (P,), (Q,), (0,), (0.5, 0.5), "INVALID_ROW", "No target row after the last draft: there is nothing to draw the bonus from"),
        ("no-draft-row", STANDARD, (P, BONUS), (), (0,), (0.5, 0.5), "INVALID_ROW", "A draft without the row it was drawn from"),
        ("other-vocabulary", STANDARD, (P, BONUS), (short,), (0,), (0.5, 0.5), "INVALID_ROW", "A draft row of three tokens and target rows of four"),
        ("draft-without-weight", STANDARD, (P, BONUS), ((0.0,) * 4,), (0,), (0.5, 0.5), "INVALID_ROW", "A draft row without any weight"),
        ("nan-in-target", STANDARD, ((0.5, float("nan"), 0.5, 0.0), BONUS), (Q,), (0,), (0.5, 0.5), "INVALID_ROW", ("A target row with NaN, from which "
                                                                                                                   "nothing can be accepted")),
        ("unknown-token", STANDARD, (P, BONUS), (Q,), (4,), (0.5, 0.5), "INVALID_HISTORY", ("A draft beyond the vocabulary, one after "
                                                                                           "its last token")),
        ("negative-token", STANDARD, (P, BONUS), (Q,), (-1,), (0.5, 0.5), "INVALID_HISTORY", "A placeholder of -1 for a draft, which in some languages is the last token"),
    ):  # fmt: skip
        each = Drafted(slug, target, draft, tokens, f"{about}: refused.")
        yield _refusal("refused", profile, each, uniforms, code)
    loop = Drafted(
        "parent-of-itself", (EVEN, EVEN), (EVEN,), (0,),
        "A node below itself: following the parents never ends.", {"parents": [1]},
    )  # fmt: skip
    yield _refusal("refused", TREE, loop, (0.5, 0.5), "INVALID_PARAMETER")
    few = loop._replace(
        slug="too-few-parents",
        params={"parents": []},
        about="A tree of one node and no parents: its shape is not known.",
    )
    yield _refusal("refused", TREE, few, (0.5, 0.5), "INVALID_PARAMETER")
    above = Drafted(
        "threshold-above-one", (EVEN, EVEN), (), (0,), ("A threshold of 2 is not a share: "
                                                       "refused."),
        {"parents": [0], "threshold_acc": 2.0},
    )  # fmt: skip
    yield _refusal("refused", TARGET, above, (0.5, 0.5, 0.5), "INVALID_PARAMETER")
    weight = Drafted(
        "weight-above-one",
        (P, BONUS),
        (Q,),
        (0,),
        "A weight of 2 makes shares negative: refused.",
        {"weight": 2.0},
    )
    yield _refusal("refused", STANDARD, weight, (0.5, 0.5), "INVALID_PARAMETER")
