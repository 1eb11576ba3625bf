"""Draws with noise for each token: Gumbel-max on logits, exponential races on weights.

Unless a tie is what is asked, the best score is well ahead of the second: no logarithm that is
a little wrong can change the token.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import inf, log
from typing import Any, Final

import msgspec

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.draft import (
    SamplerDraft,
    SamplerPurpose,
    differs_from,
    gives,
    told_apart,
)
from authoring.cases.sampling.uniform_points import LARGEST, is_held
from tokenref.floats import Type, pack
from tokenref.record import Case
from tokenref.rounding.verdicts import CLEAR, runners
from tokenref.rules import rule_name

SPEC: Final = "docs/sampling.md#random-numbers-and-draws"
METHODS: Final = ("gumbel max", "exponential race")
NOISES: Final = ("-log u", "-log(1-u)")


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from told_apart([*_both(), *_one_noise(), *_several()])


def name_of(method: str, noise: str) -> str:
    """Return the rule of a race.

    >>> name_of("gumbel max", "-log(1-u)")
    'method.gumbel-max+noise.log-1-u'
    """
    return rule_name("draw", method=method, noise=noise)


def is_clear(noise: str) -> SamplerPurpose:
    """Return the purpose "each token drawn is well ahead of all that are left"."""

    def check(case: Case) -> None:
        asked = msgspec.to_builtins(case.input)
        out = msgspec.to_builtins(case.out)
        tokens = out.get("tokens", [out.get("token")])
        left = runners(asked, noise)
        for token in tokens:
            best = left.pop(token).score
            if any(best - runner.score < CLEAR for runner in left.values()):
                raise PurposeError(f"{case.id}: token {token} must be well ahead, got {left}")

    return check


def _case(
    topic: str,
    slug: str,
    method: str,
    noise: str,
    row: Sequence[float],
    uniforms: Sequence[float],
    why: str,
    flags: Sequence[str],
    *,
    answer: Mapping[str, Any],
    count: int | None = None,
    clear: bool = True,
    rival: bool = False,
    dtype: Type = "f32",
    u_type: Type = "f32",
) -> SamplerDraft:
    kind = "logits" if method == "gumbel max" else "probs"
    more = {} if count is None else {"count": count}
    wide = [] if all(is_held(Fraction(u), "f32") for u in uniforms) else ["WideNumber"]
    purposes: list[SamplerPurpose] = [gives(**answer)]
    if clear:
        purposes.append(is_clear(noise))
    if rival:
        purposes.append(differs_from(name_of(method, NOISES[noise == NOISES[0]])))
    return SamplerDraft(
        op="draw",
        topic=topic,
        slug=f"{slug}-{'gumbel' if kind == 'logits' else 'race'}"
        + ("" if noise == NOISES[0] else "-other-noise"),
        profile=name_of(method, noise),
        request={kind: pack(row, dtype), "uniforms": pack(uniforms, u_type), **more},
        why=why,
        flags=sorted({*flags, *wide}),
        spec=SPEC,
        purposes=purposes,
    )


def _both() -> Iterator[SamplerDraft]:
    """Yield cases for both methods: the same token, once from logits and once from weights."""
    even = {"gumbel max": (0.0,) * 4, "exponential race": (0.25,) * 4}
    odd = {
        "gumbel max": (0.0, 2.0, 1.0, -1.0, 2.0),
        "exponential race": (0.0625, 0.375, 0.125, 0.0625, 0.375),
    }
    holes = {
        "gumbel max": (-inf, 0.0, -inf, 1.0, -inf),
        "exponential race": (0.0, 0.25, 0.0, 0.75, 0.0),
    }
    one = {"gumbel max": (5.0,), "exponential race": (1.0,)}
    for method in METHODS:
        for token in (0, 3):
            uniforms = [0.25, 0.375, 0.3125, 0.4375]
            uniforms[token] = 0.75
            yield _case(
                "races", f"largest-number-{token}", method, NOISES[0], even[method], uniforms,
                "Among equals the token with the largest number arrives first: noise belongs to its token.",
                ["RaceNoise"], answer={"token": token}, rival=True,
            )  # fmt: skip
            uniforms = [0.75, 0.625, 0.6875, 0.5]
            uniforms[token] = 0.125
            yield _case(
                "races", f"smallest-number-{token}", method, NOISES[1], even[method], uniforms,
                "With -log(1-u) the smallest number arrives first: engines that write log1p(-u) do so.",
                ["RaceNoise"], answer={"token": token}, rival=True,
            )  # fmt: skip
        rows = [
            ("by-token", (0.5, 0.5, 0.96875, 0.5, 0.25), 2, NOISES[0], ["NoiseByRank"],
             "The noise of token 2 is the best; keyed by the rank after sorting it would go to another token."),
            ("last-token-wins", (0.5, 0.25, 0.5, 0.9921875, 0.25), 3, NOISES[0], ["NoiseByRank"],
             "The least likely token wins by its own noise, which no likelier one may borrow."),
            ("first-of-two-best", (0.5, 0.75, 0.5, 0.5, 0.25), 1, NOISES[0], ["NoiseByRank"],
             "Two tokens are equally likely: the first one's number decides, not the second one's."),
            ("second-of-two-best", (0.5, 0.25, 0.5, 0.5, 0.75), 4, NOISES[0], ["NoiseByRank"],
             ("The same numbers, with those of the two most probable tokens exchanged: the other "
             "token.")),
            ("by-token", (0.5, 0.5, 0.03125, 0.5, 0.75), 2, NOISES[1], ["NoiseByRank"],
             "The noise of token 2 is the best; keyed by the rank after sorting it would go to another token."),
        ]  # fmt: skip
        for slug, uniforms_of, token, noise, flags, why in rows:
            yield _case("races", slug, method, noise, odd[method], uniforms_of, why, flags,
                        answer={"token": token})  # fmt: skip
        yield _case(
            "races", "impossible-best", method, NOISES[0], holes[method],
            (LARGEST["f32"], 0.5, LARGEST["f32"], 0.25, LARGEST["f32"]),
            "Impossible tokens have the best noise of all, at both ends and between: still never drawn.",
            ["ZeroWeightDrawn"], answer={"token": _best(holes[method], (1, 0.5), (3, 0.25))},
        )  # fmt: skip
        yield _case(
            "races", "impossible-zero", method, NOISES[1], holes[method],
            (0.0, 0.5, 0.0, 0.25, 0.0),
            ("With -log(1-u), the number 0 means a wait of 0. For an impossible token this is 0 "
            "/ 0, which does not win."),
            ["ZeroWeightDrawn"], answer={"token": 3},
        )  # fmt: skip
        for place in (0, 3):
            uniforms = [0.5, 0.375, 0.4375, 0.25]
            uniforms[place] = 0.0
            rest = 0 if place else 2
            yield _case(
                "races", f"zero-{place}", method, NOISES[0], even[method], uniforms,
                "The number 0 waits for ever: log 0 is minus infinity, and the token loses, without NaN.",
                ["RaceEnds"], answer={"token": rest},
            )  # fmt: skip
            yield _case(
                "races", f"zero-{place}", method, NOISES[1], even[method], uniforms,
                ("With -log(1-u), the number 0 means a wait of 0: the token wins against all "
                "others."),
                ["RaceEnds"], answer={"token": place}, rival=True,
            )  # fmt: skip
        for noise in NOISES:
            yield _case(
                "races", "all-zero", method, noise, even[method], (0.0,) * 4,
                "All numbers are 0: equal scores, though infinite ones, go to the lowest id.",
                ["RaceTie"], answer={"token": 0}, clear=False,
            )  # fmt: skip
            yield _case(
                "races", "all-equal", method, noise, even[method], (0.5,) * 4,
                "All numbers and all weights are equal: the lowest id.",
                ["RaceTie"], answer={"token": 0}, clear=False,
            )  # fmt: skip
            best, worst = (0.75, 0.25) if noise == NOISES[0] else (0.25, 0.75)
            yield _case(
                "races", "two-equal", method, noise, even[method], (worst, best, worst, best),
                "Two of four have the best number: the lower id of the two.",
                ["RaceTie"], answer={"token": 1}, clear=False,
            )  # fmt: skip
            for u_type in ("f32", "f64"):
                for place in (0, 3):
                    edge = LARGEST[u_type] if noise == NOISES[0] else 2.0**-30
                    uniforms = [0.5] * 4
                    uniforms[place] = edge
                    yield _case(
                        "races", f"near-the-end-{place}-{u_type}", method, noise, even[method],
                        uniforms,
                        f"The number {edge!r} has nearly no wait; rounded, the wait is 0 and its logarithm none.",
                        ["RaceEnds"], answer={"token": place}, u_type=u_type,
                    )  # fmt: skip
            yield _case(
                "races", "one-token", method, noise, one[method],
                (LARGEST["f32"],),
                "A vocabulary of one token: it is drawn, whatever its noise is.",
                ["RaceEnds"], answer={"token": 0}, clear=False,
            )  # fmt: skip
            yield _case(
                "races", "one-token-zero", method, noise, one[method], (0.0,),
                "A vocabulary of one token and the number 0: infinite noise must not lose it.",
                ["RaceEnds"], answer={"token": 0}, clear=False,
            )  # fmt: skip


def _best(row: Sequence[float], *tokens: tuple[int, float]) -> int:
    """Return the token with the smallest e / weight among a few."""
    weights = [2.718281828**x if max(row) >= 1 else x for x in row]
    return min(tokens, key=lambda each: -log(each[1]) / weights[each[0]])[0]


def _one_noise() -> Iterator[SamplerDraft]:
    race, gumbel = "exponential race", "gumbel max"
    yield _case(
        "races", "powers-tie", race, NOISES[0], (2.0, 1.0, 4.0), (0.25, 0.5, 0.0625),
        "Waits of log 4 / 2, log 2 and log 16 / 4 are one number: the lowest id of three equals.",
        ["RaceTie"], answer={"token": 0}, clear=False,
    )  # fmt: skip
    yield _case(
        "races", "powers-tie-behind", race, NOISES[0], (1.0, 2.0, 0.5), (0.25, 0.25, 0.5),
        "Waits of log 4, log 4 / 2 and log 2 / 0.5: the middle one is the shortest.",
        ["RaceNoise"], answer={"token": 1},
    )  # fmt: skip
    yield _case(
        "races", "weights-in-any-scale", race, NOISES[0], (8.0, 4.0, 4.0), (0.25, 0.5, 0.375),
        "Weights need not sum to 1: log 4 / 8, log 2 / 4, log 2.67 / 4. The first two are equal.",
        ["RaceTie"], answer={"token": 0}, clear=False,
    )  # fmt: skip
    yield _case(
        "races", "tail-token", gumbel, NOISES[0], (0.0, -10.0), (0.5, LARGEST["f32"]),
        "Ten units below the best, and drawn: noise that is cut at 6.9 never reaches it.",
        ["TailMass"], answer={"token": 1},
    )  # fmt: skip
    yield _case(
        "races", "far-tail-token", gumbel, NOISES[0], (0.0, -20.0), (0.5, 1 - 2.0**-40),
        "Twenty units below, with a number that 32 bits round to 1: a floor of 2**-24 under the wait loses the tail.",
        ["TailMass"], answer={"token": 1}, u_type="f64",
    )  # fmt: skip
    yield _case(
        "races", "far-tail-token", gumbel, NOISES[1], (0.0, -20.0), (0.5, 2.0**-40),
        "Twenty units below, and a very small number: 1 - u in 32 bits is 1, and its logarithm 0.",
        ["TailMass"], answer={"token": 1},
    )  # fmt: skip
    yield _case(
        "races", "smallest-weight", race, NOISES[0], (1.0, 2.0**-30), (0.5, 1 - 2.0**-40),
        "A weight of 2**-30 wins with a wait of 2**-40; with a floor of 2**-24 it never can.",
        ["TailMass"], answer={"token": 1}, u_type="f64",
    )  # fmt: skip
    yield _case(
        "races", "tail-token-does-not-win", gumbel, NOISES[0], (0.0, -20.0), (0.5, LARGEST["f32"]),
        "Its noise is 16.6, which is less than twenty units and what the other token has.",
        ["TailMass"], answer={"token": 0},
    )  # fmt: skip
    yield _case(
        "races", "large-logits", gumbel, NOISES[0], (1000.0, 1001.0), (0.9375, 0.5),
        "Noise is added to logits as they are: 1000 + 2.7 against 1001 + 0.4.",
        ["RaceNoise"], answer={"token": 0},
    )  # fmt: skip
    for dtype in ("f16", "bf16"):
        for noise, uniforms in ((NOISES[0], (0.5, 0.25, 0.9375)), (NOISES[1], (0.5, 0.75, 0.0625))):
            yield _case(
                "races", f"{dtype}-row", gumbel, noise, (1.0, 0.5, 0.25), uniforms,
                f"Logits in {dtype}; the noise must not be rounded to so few bits.",
                ["RaceNoise"], answer={"token": 2}, dtype=dtype,
            )  # fmt: skip
            yield _case(
                "races", f"{dtype}-weights", race, noise, (0.5, 0.25, 0.25), uniforms,
                f"Weights in {dtype}; the waits must not be rounded to so few bits.",
                ["RaceNoise"], answer={"token": 2}, dtype=dtype,
            )  # fmt: skip


def _several() -> Iterator[SamplerDraft]:
    rows = {
        "gumbel max": (0.0, 1.0, -inf, 0.5, 1.0),
        "exponential race": (0.125, 0.25, 0.0, 0.375, 0.25),
    }
    uniforms = (0.9375, 0.25, 0.984375, 0.1875, 0.5)
    for method in METHODS:
        scores = _scores_of(method, rows[method], uniforms)
        order = sorted(scores, key=scores.__getitem__, reverse=True)
        for count in range(1, 5):
            yield _case(
                "several", f"first-{count}", method, NOISES[0], rows[method], uniforms,
                f"The {count} best scores, best first: draws without replacement, each token once.",
                ["DrawSeveral"], answer={"tokens": order[:count]}, count=count,
            )  # fmt: skip
        mirrored = tuple(1 - u for u in uniforms)
        yield _case(
            "several", "all", method, NOISES[1], rows[method], mirrored,
            "The same waits from mirrored numbers, all four possible tokens: the same order.",
            ["DrawSeveral"], answer={"tokens": order}, count=4,
        )  # fmt: skip
        yield _case(
            "several", "ties", method, NOISES[0], rows[method][3:4] * 4, (0.5, 0.75, 0.5, 0.75),
            "Equal scores in two pairs: the lower id is first everywhere.",
            ["DrawSeveral", "RaceTie"], answer={"tokens": [1, 3, 0]}, count=3, clear=False,
        )  # fmt: skip


def _scores_of(method: str, row: Sequence[float], uniforms: Sequence[float]) -> dict[int, float]:
    kind = "logits" if method == "gumbel max" else "probs"
    found = runners({kind: pack(row), "uniforms": pack(uniforms)}, NOISES[0])
    return {token: runner.score for token, runner in found.items()}
