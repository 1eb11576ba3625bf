"""Draws, random words, drafts, states, batches and calls with wrong answers.

Each is a right record with one thing changed, the smallest that can be: a token beside the right
one, one bit of one word, a number one unit off, two rows exchanged, a draw that is not there.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from authoring.cases.sampling.adaptive import ULP, asked
from authoring.cases.sampling.draft import SamplerDraft, finish_sampler
from tokenref.floats import pack, type_of
from tokenref.questions.sampling import pack_parameters
from tokenref.record import Case, answer_type, make_case
from tokenref.rules import STANDARD, rule_name
from tokenref.verdicts import Close, Exact, MustRefuse, Verdict

Out = dict[str, Any]

SPEC: Final = "docs/sampling.md#random-numbers-and-draws"
ROW: Final = {"probs": pack([0.5, 0.25, 0.25])}


class _Canary(NamedTuple):
    op: str
    slug: str
    profile: str
    request: Mapping[str, Any]
    change: Callable[[Out], Out]
    why: str
    verdict: Verdict = Exact()


def draw_canaries() -> list[Case]:
    """Return the records with wrong answers.

    >>> {case.id.split("/")[1] for case in draw_canaries()} >= {"draw", "batch"}
    True
    """
    cases = []
    for each in [*_draws(), *_words(), *_drafts(), *_states(), *_calls()]:
        right = finish_sampler(_draft(each))
        out = each.change(msgspec.to_builtins(right.out))
        cases.append(_case(each, each.verdict, msgspec.convert(out, answer_type(each.op))))
    return [*cases, *_refusals()]


def _draft(each: _Canary) -> SamplerDraft:
    return SamplerDraft(
        op=each.op,
        topic="canary",
        slug=each.slug,
        profile=each.profile,
        request=each.request,
        why=each.why,
        flags=["Canary"],
        verdict=each.verdict,
        spec=SPEC,
    )


def _case(each: _Canary, verdict: Verdict, out: Any) -> Case:
    return make_case(
        each.op,
        id=f"canary/{each.op}/{each.slug}",
        profile=each.profile,
        why=f"{each.why} A right engine must fail this.",
        flags=["Canary"],
        spec=SPEC,
        verdict=verdict,
        input=finish_sampler(_draft(each)).input,
        out=out,
    )


def _put(name: str, value: object) -> Callable[[Out], Out]:
    """Return the change "this part is another one"."""
    return lambda out: {**out, name: value}


def _unit_off(numbers: Mapping[str, str], units: int = 1) -> dict[str, str]:
    """Return numbers of which the last one is some units off."""
    dtype = type_of(numbers)
    digits = numbers[dtype]
    return {dtype: f"{int(digits, 16) + units:0{len(digits)}x}"}


def _state_off(units: int) -> Callable[[Out], Out]:
    """Return the change "the state is some units off"."""
    return lambda out: {**out, "state": {"mu": _unit_off(out["state"]["mu"], units)}}


def _draws() -> Iterator[_Canary]:
    half = {**ROW, "uniforms": pack([0.5])}
    yield _Canary(
        "draw", "token-before", STANDARD, half, _put("token", 0), "The token before is expected."
    )
    yield _Canary(
        "draw", "token-behind", rule_name("draw", boundary="reach"), half, _put("token", 1),
        "The token after it is expected.",
    )  # fmt: skip
    several = {**ROW, "uniforms": pack([0.5, 0.0]), "count": 2}
    yield _Canary(
        "draw", "other-order", STANDARD, several, lambda out: {"tokens": out["tokens"][::-1]},
        "The tokens are right, and expected in another order.",
    )  # fmt: skip
    yield _Canary(
        "draw", "list-for-one", STANDARD, half, lambda out: {"tokens": [out["token"]]},
        "One token was requested, but a list is expected.",
    )  # fmt: skip
    race = {**ROW, "uniforms": pack([0.5, 0.5, 0.9375])}
    yield _Canary(
        "draw", "race-loser", rule_name("draw", method="exponential race"), race,
        _put("token", 0), "The most probable token is expected, which lost.",
    )  # fmt: skip


def _words() -> Iterator[_Canary]:
    start = {"seed": "1571", "taken": 0, "count": 3}
    words = ["d091bb5c", "22ae9ef6", "e7e1faee"]
    for slug, wrong, why in (
        ("bit", [*words[:2], "e7e1faef"], "The lowest bit of the last word is wrong."),
        ("order", words[::-1], "The words are expected in another order."),
        ("one-more", [*words, words[0]], "A word too many is expected."),
    ):
        yield _Canary("random_words", slug, "mt19937", start, _put("words", wrong), why)
    yield _Canary(
        "uniforms", "unit-off", "libstdcxx-double", {"words": ["00000000", "80000001"]},
        lambda out: {"uniforms": _unit_off(out["uniforms"])},
        "The number is one unit in the last place off.",
    )  # fmt: skip
    yield _Canary(
        "uniforms", "other-type", "numpy-float", {"words": ["80000000"]},
        lambda _: {"uniforms": pack([0.5], "f64")},
        "The number is right, and expected in another type.",
    )  # fmt: skip


def _drafts() -> Iterator[_Canary]:
    even, left = pack([0.5, 0.5]), pack([0.75, 0.25])
    question = {
        "draft": [left], "target": [even, even], "tokens": [0], "uniforms": pack([0.5, 0.75]),
        "params": {},
    }  # fmt: skip
    yield _Canary(
        "speculative", "count", STANDARD, question, _put("accepted", 0),
        "The tokens are right, and the number of accepted drafts is wrong.",
    )  # fmt: skip
    yield _Canary(
        "speculative", "bonus", STANDARD, question, _put("tokens", [0, 0]),
        "The token after the accepted draft is wrong.",
    )  # fmt: skip
    yield _Canary(
        "residual", "unit-off", STANDARD,
        {"target": pack([0.5, 0.25, 0.25]), "draft": pack([0.25, 0.75, 0.0]), "params": {}},
        lambda out: {"probs": _unit_off(out["probs"])},
        "The last share is one unit in the last place off.",
    )  # fmt: skip


def _states() -> Iterator[_Canary]:
    even = (0.0,) * 8
    for op in ("mirostat_1", "mirostat_2"):
        question = asked(even[:4], {"tau": 1.5, "eta": 0.5}, 0.75, {"mu": 4.0})
        yield _Canary(
            op, "token", STANDARD, question, _put("token", 0), "The state is right, not the token."
        )
        for slug, units, verdict in (
            ("state", 1, Exact()),
            ("state-too-far", ULP + 2, Close(ulp=ULP)),
        ):
            yield _Canary(
                op, slug, STANDARD, question,
                _state_off(units),
                "The token is right, and the state is off by more than is allowed.", verdict,
            )  # fmt: skip
    question = asked(even, {"target": 0.5, "decay": 0.5}, 0.75, {"past": [1.0, 2.0]})
    yield _Canary(
        "adaptive_p", "state-kept", STANDARD, question,
        lambda out: {**out, "state": {"past": pack([1.0, 2.0])}},
        "The state before is expected as the state after.",
    )  # fmt: skip


def _calls() -> Iterator[_Canary]:
    rows = [{"probs": pack(row), "params": {"k": 1}} for row in ([0.75, 0.25], [0.25, 0.75])]
    batch = {"op": "top_k", "rows": rows}
    yield _Canary(
        "batch", "rows-exchanged", STANDARD, batch, lambda out: {"rows": out["rows"][::-1]},
        "The answers of two rows are exchanged.",
    )  # fmt: skip
    yield _Canary(
        "batch", "last-row-missing", STANDARD, batch, lambda out: {"rows": out["rows"][:1]},
        "The answer of the last row is missing.",
    )  # fmt: skip
    sample = {"sample": {"logits": pack([4.0, 3.5]), "uniforms": pack([])}}
    sequence = {
        "params": pack_parameters({"temperature": 0.0, "presence_penalty": 1.0}), "prompt": [],
        "calls": [sample, {"accept": 0}, sample],
    }  # fmt: skip
    for slug, answers, why in (
        ("nothing-remembered", [0, None, 0], "The token that was accepted is expected to be forgotten."),
        ("answer-to-accept", [0, 0, 1], "A token is expected from a call that draws none."),
    ):  # fmt: skip
        yield _Canary("sequence", slug, "vllm", sequence, _put("answers", answers), why)


def _refusals() -> list[Case]:
    good = {**ROW, "uniforms": pack([0.5])}
    bad = {**ROW, "uniforms": pack([1.0])}
    listed: Sequence[tuple[_Canary, Verdict, Any]] = (
        (_Canary("draw", "refused", STANDARD, good, dict, "A good question is expected to be refused."),
         MustRefuse(codes=["INVALID_UNIFORM"]), None),
        (_Canary("draw", "other-reason", STANDARD, bad, dict, "The reason to refuse is another one."),
         MustRefuse(codes=["INVALID_ROW"]), None),
        (_Canary("draw", "answered", STANDARD, bad, dict, ("A token is expected for an invalid "
                                                          "number.")),
         Exact(), msgspec.convert({"token": 2}, answer_type("draw"))),
    )  # fmt: skip
    return [_case(each, verdict, out) for each, verdict, out in listed]
