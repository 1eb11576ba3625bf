"""Samplers that steer: one step after the other, state in and state out.

Where all possible logits are equal and a power of two many, the surprise is a whole number of
bits and everything is exact. Elsewhere the state may be a few units off: a share that is
computed with 32 bits is wrong by some ten units of 2**-24, and so is its logarithm.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf, nan
from typing import Any, Final

import msgspec

from authoring.cases.draft import PurposeError
from authoring.cases.sampling.draft import (
    SamplerDraft,
    SamplerPurpose,
    differs_from,
    gives,
    refuses,
    told_apart,
)
from authoring.cases.sampling.uniform_points import LARGEST, step
from tokenref.answers import Ok
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import Type, pack, unpack
from tokenref.questions.sampling import pack_parameters
from tokenref.record import Case, op_of
from tokenref.rules import STANDARD, rule_name
from tokenref.verdicts import Close, Exact, Verdict

SPEC: Final = "docs/engines.md#"
ULP: Final = 8
"""Units by which a state may be off that is at least 1, see above."""

KEPT: Final = {op: rule_name(op, whose="kept") for op in ("mirostat_1", "mirostat_2")}
LLAMA: Final = rule_name("mirostat_1", flat="one", whose="kept")
ROW: Final = (2.0, 1.0, 0.5, 0.0, -1.0, 1.5, -2.0, 0.25)


def drafts() -> Iterator[SamplerDraft]:
    """Yield the cases."""
    yield from told_apart(_all())


def _all() -> Iterator[SamplerDraft]:
    yield from _exact_steps()
    yield from _steps()
    yield from _mirostat_1()
    yield from _adaptive_p()
    yield from _refused()


def asked(
    logits: Sequence[float],
    params: Mapping[str, Any],
    u: float,
    state: Mapping[str, Any],
    dtype: Type = "f32",
) -> dict[str, Any]:
    """Return a question about one step."""
    parts = {
        name: pack([value] if isinstance(value, float) else value, dtype)
        for name, value in state.items()
    }
    return {
        "logits": pack(logits),
        "params": pack_parameters(params),
        "state": parts,
        "uniforms": pack([u]),
    }


def is_steady(case: Case) -> None:
    """Prove that a state or a number that is a little off draws the same token."""
    question = msgspec.to_builtins(case.input)
    (u,) = unpack(question["uniforms"])
    for shift in (-(2.0**-10), 2.0**-10):
        moved = {**question, "uniforms": pack([min(max(u + shift, 0.0), LARGEST["f32"])], "f64")}
        if u not in (0.0, LARGEST["f32"]):
            _same(case, moved)
        if "mu" in question["state"]:
            (mu,) = unpack(question["state"]["mu"])
            _same(case, {**question, "state": {"mu": pack([mu + shift], "f64")}})


def _same(case: Case, question: Mapping[str, Any]) -> None:
    answer = SamplerSession(case.profile).answer(op_of(case), question)
    if not isinstance(answer, Ok) or answer.out["token"] != case.out.token:
        raise PurposeError(f"{case.id}: must draw token {case.out.token} nearby, got {answer}")


def _case(
    op: str,
    topic: str,
    slug: str,
    profile: str,
    request: Mapping[str, Any],
    why: str,
    flag: str,
    *,
    verdict: Verdict | None = None,
    purposes: Sequence[SamplerPurpose] = (),
) -> SamplerDraft:
    return SamplerDraft(
        op=op,
        topic=topic,
        slug=slug,
        profile=profile,
        request=request,
        why=why,
        flags=[flag],
        verdict=verdict or Exact(),
        spec=f"{SPEC}{op}",
        purposes=purposes,
    )


def _exact_steps() -> Iterator[SamplerDraft]:
    even, tau = (0.0,) * 8, {"tau": 2.0, "eta": 0.5}
    for slug, row, u, mu, token, after, about in (
        ("all-kept", even, 0.3125, 4.0, 2, 3.5,
         "Eight equal tokens have 3 bits each, below mu: all are kept, and mu falls by half of the one bit too many."),
        ("all-kept-zero", even, 0.0, 3.5, 0, 3.0, "The number 0 draws the first token of the walk."),
        ("exactly-mu", even, LARGEST["f32"], 3.0, 7, 2.5,
         "A surprise of exactly mu is kept: the last of eight tokens can still be drawn."),
        ("just-above-mu", even, 0.75, step(3.0, -1, "f32"), 0, 2.4999997615814209,
         "One step below three bits: every token is too surprising, and the first one alone is kept."),
        ("none-below-mu", even, 0.75, 1.0, 0, 0.5, ("If even the best token is too surprising, "
                                                   "only it is kept: among equal ones the "
                                                   "lowest id.")),
        ("border", even, 0.25, 4.0, 1, 3.5, "The number is exactly at the end of the second token's share: the sum needs to reach it."),
        ("impossible", (-inf, 0.0, -inf, 0.0, 0.0, 0.0), 0.75, 4.0, 4, 4.0,
         "Four possible tokens have two bits each, as many as aimed at: mu stays; impossible ones have no share."),
        ("negative-mu", even, 0.5, -3.0, 0, -3.5, "A mu below 0 keeps the best token alone, and falls on."),
        ("one-token", (5.0,), 0.5, 4.0, 0, 5.0, "One token has no surprise at all: mu grows by half of what is missing, two bits."),
    ):  # fmt: skip
        bits = "MirostatBits"
        yield _case(
            "mirostat_2", "exact", slug, STANDARD, asked(row, tau, u, {"mu": mu}), about, bits,
            purposes=[gives(token=token, state={"mu": pack([after])})],
        )  # fmt: skip
        if slug != "one-token":
            continue
        yield _case(
            "mirostat_1", "exact", slug, STANDARD, asked(row, tau, u, {"mu": mu}), about, bits,
            purposes=[gives(token=token, state={"mu": pack([after])})],
        )  # fmt: skip
    for op in ("mirostat_1", "mirostat_2"):
        profile = KEPT[op] if op == "mirostat_2" else LLAMA
        yield _case(
            op, "exact", "surprise-among-kept", profile, asked(even, tau, 0.75, {"mu": 2.5}),
            ("Only one token is kept, so it is not surprising in the distribution that it was "
             "drawn from, and mu grows."),
            "MirostatWhose",
            purposes=[
                gives(token=0, state={"mu": pack([3.5])}),
                differs_from(STANDARD if op == "mirostat_2" else rule_name(op, flat="one")),
            ],
        )  # fmt: skip
        yield _case(
            op, "exact", "first-step", profile, asked(even, tau, 0.75, {}),
            "Without a state mu begins at twice tau, 4: nothing is too surprising yet.",
            "AdaptiveState",
            purposes=[
                gives(token=5, state={"mu": pack([3.5], "f64")}) if op == "mirostat_2"
                else gives(token=0, state={"mu": pack([5.0], "f64")}),
            ],
        )  # fmt: skip
        for name, eta, after in (("none", 0.0, 4.0), ("one", 1.0, 3.0), ("negative", -0.5, 4.5)):
            yield _case(
                op, "exact", f"rate-{name}",
                STANDARD, asked(even, {"tau": 2.0, "eta": eta}, 0.75, {"mu": 4.0}),
                f"The rate {eta} moves mu by that much of the one bit that the draw surprised too much.",
                "MirostatBits", purposes=[gives(state={"mu": pack([after])})],
            )  # fmt: skip


def _steps() -> Iterator[SamplerDraft]:
    """Yield texts of five draws, each step with the state that the one before left."""
    for op, profile, name in (
        ("mirostat_1", STANDARD, "paper"),
        ("mirostat_1", LLAMA, "llama-cpp"),
        ("mirostat_2", STANDARD, "paper"),
        ("mirostat_2", KEPT["mirostat_2"], "llama-cpp"),
        ("adaptive_p", STANDARD, "rule"),
    ):
        params = {"target": 0.25, "decay": 0.5} if op == "adaptive_p" else {"tau": 1.5, "eta": 0.25}
        for dtype in ("f32", "f64") if op == "adaptive_p" else ("f32",):
            start: Any = {"past": pack([0.5, 2.0], dtype)}
            state = start if op == "adaptive_p" else {"mu": pack([3.0], dtype)}
            for place, u in enumerate((0.3125, 0.8125, 0.9375, 0.0625, 0.6875)):
                row = [*ROW[place:], *ROW[:place]]
                request = {**asked(row, params, u, {}), "state": state}
                yield _case(
                    op, "steps", f"{name}-{dtype}-{place + 1}", profile, request,
                    f"Step {place + 1} of five, with the state that the step before left: a state that is not carried on draws otherwise." if place else ("The first of five steps, with a state "
                                                                                                                                                         "that is not the initial one."),
                    "AdaptiveState", verdict=Close(ulp=ULP), purposes=[is_steady],
                )  # fmt: skip
                answer = SamplerSession(profile).answer(op, request)
                assert isinstance(answer, Ok)  # noqa: S101 - a question of ours
                state = answer.out["state"]


def _mirostat_1() -> Iterator[SamplerDraft]:
    op = "mirostat_1"
    params = {"tau": 2.0, "eta": 0.5}
    nine = (0.5,) * 9
    one, nearest = rule_name(op, flat="one"), rule_name(op, whole="nearest and one")
    for slug, profile, mu, token, rival, about in (
        ("flat-above", STANDARD, 3.5, 8, one, "Nine equal tokens and 2**mu above eight: in the limit of a flat row all are kept."),
        ("flat-above-one", one, 3.5, 0, STANDARD, ("The same row, by the rule that a flat row "
                                                  "leaves one token: 1/0 is not a number of "
                                                  "tokens.")),
        ("flat-below", STANDARD, 2.5, 0, "", "Nine equal tokens and 2**mu below eight: in the limit none, and at least one is kept."),
        ("flat-at", STANDARD, 3.0, 0, nearest, "Nine equal tokens and 2**mu exactly eight: k is 1."),
        ("flat-at-nearest", nearest, 3.0, 1, STANDARD, "The same, where k is rounded and one is added: two tokens are kept."),
    ):  # fmt: skip
        rivals = [differs_from(rival)] if rival else []
        yield _case(
            op, "edges", slug, profile, asked(nine, params, LARGEST["f32"], {"mu": mu}), about,
            "MirostatFlat", verdict=Close(ulp=ULP), purposes=[_draws(token), *rivals],
        )  # fmt: skip
    for ranks in (2, 3, 100):
        yield _case(
            op, "edges", f"ranks-{ranks}", STANDARD,
            asked(ROW, {**params, "ranks": ranks}, LARGEST["f32"], {"mu": 3.0}),
            f"The exponent is estimated from {ranks} ranks, or from all if there are fewer: that decides how many are kept.",
            "MirostatFlat", verdict=Close(ulp=ULP), purposes=[is_steady],
        )  # fmt: skip
    for size in (8, 1000, 128_256):
        yield _case(
            op, "edges", f"vocabulary-{size}", STANDARD,
            asked(ROW, {**params, "vocabulary": size}, LARGEST["f32"], {"mu": 3.0}),
            f"N is the size of the vocabulary, {size}, not the number of candidates that are left.",
            "MirostatFlat", verdict=Close(ulp=ULP), purposes=[is_steady],
        )  # fmt: skip
    yield _case(
        op, "edges", "nearest-and-one", nearest, asked(ROW, params, LARGEST["f32"], {"mu": 3.0}),
        "The authors' program rounds k and adds one: a token more than the whole part.",
        "MirostatFlat", verdict=Close(ulp=ULP), purposes=[is_steady, differs_from(STANDARD)],
    )  # fmt: skip
    yield _case(
        op, "edges", "large-k", STANDARD, asked(ROW, params, 0.5, {"mu": 100.0}),
        "A k far beyond the row keeps all of it; converted to a whole number of 32 bits it is negative.",
        "MirostatFlat", verdict=Close(ulp=ULP), purposes=[is_steady],
    )  # fmt: skip
    yield _case(
        op, "edges", "largest-k", STANDARD,
        asked(ROW, {**params, "largest_k": 2**31 - 1}, 0.5, {"mu": 100.0}),
        "The same k, where 32 bits are its limit: what does not fit leaves one token.",
        "MirostatFlat", verdict=Close(ulp=ULP), purposes=[_draws(0)],
    )  # fmt: skip


def _draws(token: int) -> SamplerPurpose:
    return gives(token=token)


def _adaptive_p() -> Iterator[SamplerDraft]:
    op = "adaptive_p"
    reach = rule_name(op, boundary="reach")
    even = (0.0,) * 4
    for slug, profile, row, params, u, state, token, about in (
        ("even", STANDARD, even, (0.5, 0.5), 0.5, (1.0, 2.0), 2,
         "Equal tokens stay equal, whatever is aimed at: the number is at a border, and must be exceeded."),
        ("even-reach", reach, even, (0.5, 0.5), 0.5, (1.0, 2.0), 1,
         "The same border where the sum needs to reach the number only."),
        ("impossible", STANDARD, (-inf, 0.0, -inf, 0.0), (0.5, 0.5), 0.0, (1.0, 2.0), 1,
         "Impossible tokens stay impossible: their new logit is not 5 less something."),
        ("impossible-last", STANDARD, (0.0, 0.0, -inf), (0.5, 0.5), LARGEST["f32"], (1.0, 2.0), 1,
         "The largest number does not draw the impossible token at the end."),
        ("no-past", STANDARD, even, (0.5, 0.5), 0.25, (0.0, 0.0), 1,
         "A past without weight is 0 / 0: the aim is then the target itself."),
        ("no-memory", STANDARD, even, (0.5, 0.0), 0.75, (0.5, 1.0), 3,
         "A decay of 0 forgets everything but the last draw."),
    ):  # fmt: skip
        names = {"target": params[0], "decay": params[1]}
        rivals = {"even": reach, "even-reach": STANDARD}.get(slug)
        yield _case(
            op, "edges", slug, profile, asked(row, names, u, {"past": list(state)}), about,
            "AdaptiveP",
            purposes=[gives(token=token), *([differs_from(rivals)] if rivals else [])],
        )  # fmt: skip
    for slug, target, past, about in (
        ("aims-higher", 0.5, (0.25, 2.0), "Unlikely tokens were drawn before: the aim is above the target, at 7/8."),
        ("aims-lower", 0.5, (1.75, 2.0), "Likely tokens were drawn before: the aim is below the target, at 1/8."),
        ("aims-at-one", 1.0, (0.25, 2.0), "Twice the target less the past is above 1: the aim is 1."),
        ("aims-at-zero", 0.0, (1.0, 2.0), "Twice the target less the past is below 0: the aim is 0."),
    ):  # fmt: skip
        for u in (0.25, 0.75):
            yield _case(
                op, "edges", f"{slug}-{int(u * 4)}-quarters", STANDARD,
                asked(ROW, {"target": target, "decay": 0.5}, u, {"past": list(past)}), about,
                "AdaptiveP", verdict=Close(ulp=ULP), purposes=[is_steady],
            )  # fmt: skip
    yield _case(
        op, "edges", "start", STANDARD, asked(even, {"target": 0.5, "decay": 0.75}, 0.25, {}),
        "Without a past the average is the target, as if it had been drawn for ever: 2 of 4.",
        "AdaptiveState", purposes=[gives(token=1, state={"past": pack([1.75, 4.0], "f64")})],
    )  # fmt: skip


def _refused() -> Iterator[SamplerDraft]:
    even, good = (0.0,) * 4, {"tau": 2.0, "eta": 0.5}
    for op in ("mirostat_1", "mirostat_2"):
        for slug, row, params, u, state, code, about in (
            ("number-one", even, good, 1.0, {"mu": 4.0}, "INVALID_UNIFORM", "A random number of 1"),
            ("nan-tau", even, {"tau": nan, "eta": 0.5}, 0.5, {"mu": 4.0}, "INVALID_PARAMETER", "A target that is not a number"),
            ("infinite-eta", even, {"tau": 2.0, "eta": inf}, 0.5, {"mu": 4.0}, "INVALID_PARAMETER", "An infinite rate"),
            ("no-tau", even, {"eta": 0.5}, 0.5, {"mu": 4.0}, "INVALID_PARAMETER", "No target"),
            ("nan-mu", even, good, 0.5, {"mu": nan}, "INVALID_PARAMETER", "A state that is not a number"),
            ("all-impossible", (-inf, -inf), good, 0.5, {"mu": 4.0}, "INVALID_ROW", "No possible token"),
            ("nan-logit", (0.0, nan), good, 0.5, {"mu": 4.0}, "INVALID_ROW", "A logit that is not a number"),
        ):  # fmt: skip
            yield _refusal(op, slug, asked(row, params, u, state), code, about)
    for slug, row, names, u, past, code, about in (  # type: ignore[assignment]  # rows of two sizes
        ("decay-one", even, {"target": 0.5, "decay": 1.0}, 0.5, [1.0, 2.0], "INVALID_PARAMETER", "A decay of 1, with which nothing is ever forgotten"),
        ("target-above-one", even, {"target": 1.5, "decay": 0.5}, 0.5, [1.0, 2.0], "INVALID_PARAMETER", "A target that is not a probability"),
        ("number-one", even, {"target": 0.5, "decay": 0.5}, 1.0, [1.0, 2.0], "INVALID_UNIFORM", "A random number of 1"),
        ("half-a-past", even, {"target": 0.5, "decay": 0.5}, 0.5, [1.0], "INVALID_PARAMETER", "One number where the past has two"),
        ("all-impossible", (-inf,), {"target": 0.5, "decay": 0.5}, 0.5, [1.0, 2.0], "INVALID_ROW", "No possible token"),
    ):  # fmt: skip
        yield _refusal("adaptive_p", slug, asked(row, names, u, {"past": past}), code, about)


def _refusal(op: str, slug: str, request: Mapping[str, Any], code: str, about: str) -> SamplerDraft:
    flag = {"INVALID_UNIFORM": "InvalidNumber", "INVALID_ROW": "InvalidRow"}.get(code)
    return _case(
        op, "refused", slug, STANDARD, request, f"{about}: refused, no step and no new state.",
        flag or "ParameterDomain", purposes=[refuses(code)],
    )  # fmt: skip
