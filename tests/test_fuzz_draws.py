"""Campaigns about draws by noise and about samplers that steer: no false alarm, no bug missed."""

from collections import Counter
from functools import partial
from math import exp, inf, log
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from authoring.mutants.table import MUTANTS
from tests.fakes.honest_in_32_bits import answer_in_32_bits
from tests.strategies import examples
from tokenref.answers import Ok
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import nearest, pack, unpack
from tokenref.fuzzing.campaign import done_group
from tokenref.fuzzing.comparing import Comparer, case_of
from tokenref.fuzzing.drawn_questions import drawn, plan_of, questions_of
from tokenref.fuzzing.plan import Question, Selection
from tokenref.judge import FAILURES, judge
from tokenref.record import ADAPTIVE_OPS
from tokenref.rounding.verdicts import sampler_verdict
from tokenref.rules import RACE_PROFILES, STANDARD, choices_of, rule_name
from tokenref.strategies import SAMPLER_QUESTIONS, even_rows, mostly, plain_rows, race_numbers
from tokenref.strategies.sampler_questions import LATER, profiles_of
from tokenref.subjects import SAMPLERS
from tokenref.verdicts import Close, Exact

GUMBEL, RACE = (rule_name("draw", method=name) for name in ("gumbel max", "exponential race"))
OTHER_NOISE = rule_name("draw", method="exponential race", noise="-log(1-u)")
TORCH = rule_name("draw", method="torch race")
HONEST = [
    *(("draw", name) for name in RACE_PROFILES if "torch" not in name),
    *(("mirostat_2", name) for name in profiles_of("mirostat_2")),
    *(("adaptive_p", name) for name in profiles_of("adaptive_p")),
]


def verdict(op: str, profile: str, request: dict[str, Any]) -> Any:
    question = Question(op, profile, SAMPLERS, "", request)
    case = case_of(question, SamplerSession(profile).answer(op, request))
    return None if case is None else case.verdict


# ---- rows that are long or far apart


def test_top_k_is_asked_for_more_than_255_tokens_and_batches_for_rows_that_are_far_apart() -> None:
    """Campaigns of some hundred questions find a k of 8 bits, and one maximum for all rows."""
    asked = [drawn(SAMPLER_QUESTIONS["top_k"](STANDARD), "many", at) for at in range(200)]
    many = [
        each["params"]["k"] for each in asked if len(each.get("logits", {}).get("f32", "")) > 2048
    ]
    assert any(256 <= k < 600 for k in many)
    found = 0
    for at in range(200):
        batch = drawn(SAMPLER_QUESTIONS["batch"](STANDARD), "far", at)
        if batch["op"] == "softmax" and len(batch["rows"]) > 1:
            most = [max(unpack(row["logits"]), default=0.0) for row in batch["rows"]]
            is_close = isinstance(verdict("batch", STANDARD, batch), Close)
            found += is_close and max(most) - min(most) > 150
    assert found > 1


def test_batches_are_compared_as_their_rows_are() -> None:
    rows = [{"logits": pack(row)} for row in ([0.0, 1.0], [200.0, 201.5, 199.0])]
    close = [verdict("softmax", STANDARD, row) for row in rows]
    both = verdict("batch", STANDARD, {"op": "softmax", "rows": rows})
    assert both == max(close, key=lambda each: each.ulp)
    assert verdict("batch", STANDARD, {"op": "logprobs", "rows": rows}) is not None


# ---- honest engines


def in_halves(numbers: list[float], width: int = 32) -> float:
    """Return a sum in the order of a warp, in 32 bits: half of its lanes is added to the other."""
    lanes = [0.0] * width
    for place, number in enumerate(numbers):
        lanes[place % width] = nearest(lanes[place % width] + number, "f32")
    while width > 1:
        width //= 2
        lanes = [nearest(lanes[at] + lanes[at + width], "f32") for at in range(width)]
    return lanes[0]


@pytest.mark.parametrize("op", ["softmax", "logprobs"])
def test_a_sum_in_the_order_of_a_warp_is_never_wrong(op: str) -> None:
    questions, fates = SAMPLER_QUESTIONS[op](STANDARD), Counter[str]()
    asked = [drawn(questions, "a warp", op, number) for number in range(400)]
    if op == "logprobs":
        asked.append({"logits": pack([10.0, 0.5, -0.0, 13.25])})
    for request in asked:
        question = Question(op, STANDARD, SAMPLERS, "", request)
        case = case_of(question, SamplerSession(STANDARD).answer(op, request))
        row = unpack(request["logits"])
        if case is None or "f64" in request["logits"] or not isinstance(case.verdict, Close):
            fates["left out"] += 1
            continue
        dtype = next(iter(request["logits"]))
        below = [nearest(number - max(row), "f32") for number in row]
        weights = [nearest(exp(number), "f32") for number in below]
        total = in_halves(weights)
        if op == "softmax":
            out = {"probs": pack([nearest(each / total, dtype) for each in weights], dtype)}
        else:
            logarithm = nearest(log(total), "f32")
            numbers = [nearest(nearest(each - logarithm, "f32"), dtype) for each in below]
            out = {"logprobs": pack(numbers, dtype)}
        judged = judge(case, Ok(out), SAMPLERS)
        assert judged.status not in FAILURES, (request, judged)
        fates["right"] += 1
    assert fates["right"] > 100, fates


@pytest.mark.parametrize(("op", "profile"), HONEST)
def test_an_honest_engine_in_32_bits_is_never_wrong(op: str, profile: str) -> None:
    questions, fates = SAMPLER_QUESTIONS[op](profile), Counter[str]()
    for number in range(25):
        request = drawn(questions, "honest", op, profile, number)
        question = Question(op, profile, SAMPLERS, "", request)
        right = SamplerSession(profile).answer(op, request)
        case, got = case_of(question, right), answer_in_32_bits(op, profile, request)
        if case is None:
            fates["undecided"] += 1
            continue
        judgement = judge(case, got, SAMPLERS)
        assert judgement.status not in FAILURES, (request, right, got, judgement.detail)
        fates["compared"] += 1
    assert fates["compared"] > 15, fates


# ---- bugs


@pytest.mark.parametrize(
    ("mutant", "op"),
    [
        ("mirostat-mixes-bits-and-nats", "mirostat_2"),
        ("mirostat-takes-the-other-surprise", "mirostat_1"),
        ("adaptive-p-does-not-fade", "adaptive_p"),
        ("race-has-one-noise-for-all", "draw"),
        ("race-noise-is-keyed-by-rank", "draw"),
    ],
)
def test_a_mutant_of_a_steering_sampler_or_of_a_race_is_found(mutant: str, op: str) -> None:
    profiles = [name for name in profiles_of(op) if name not in {STANDARD, "boundary.reach"}]
    selection = Selection(ops=[op], profiles=profiles if op == "draw" else [])
    chosen = plan_of(seed=5, engine=mutant, engine_version="0", selection=selection)
    comparer = Comparer(MUTANTS[mutant].engine)
    found = next(
        finding for group in range(120) for finding in done_group(chosen, comparer, group).findings
    )
    row = found.record["in"].get("probs") or found.record["in"]["logits"]
    assert len(unpack(row)) <= 3
    assert not found.unfinished


# ---- what rounding decides


@pytest.mark.parametrize(
    ("profile", "row", "numbers", "is_decided"),
    [
        (RACE, [0.5, 0.5], [0.5, 0.25], True),
        (RACE, [0.5, 0.5], [0.5, 0.5], True),  # equal in everything: the lower id
        (RACE, [0.5, 0.5], [0.5, 0.5 + 2**-20], False),
        (RACE, [0.5, 0.25], [0.25, 0.5], False),  # log 4 / 2 is log 2, but for rounding
        (RACE, [0.5, 0.5, 0.0], [0.0, 0.0, 0.5], False),  # all wait for ever, the impossible too
        (RACE, [0.5, 0.5], [0.0, 0.0], True),
        (OTHER_NOISE, [0.5, 0.5, 0.0], [0.0, 0.5, 0.0], True),
        (OTHER_NOISE, [0.75, 0.25], [0.0, 0.0], True),  # neither waits: the lower id
        (TORCH, [0.5, 0.5], [0.5, 0.5], True),
    ],
)
def test_a_race_is_compared_if_the_winner_is_well_ahead(
    profile: str, row: list[float], numbers: list[float], *, is_decided: bool
) -> None:
    request = {"probs": pack(row), "uniforms": pack(numbers)}
    assert verdict("draw", profile, request) == (Exact() if is_decided else None)


def test_each_of_several_draws_must_be_well_ahead() -> None:
    request = {"probs": pack([0.5, 0.25, 0.25]), "uniforms": pack([0.75, 0.5, 0.5 + 2**-20])}
    assert verdict("draw", RACE, request) == Exact()
    assert verdict("draw", RACE, {**request, "count": 1}) == Exact()
    assert verdict("draw", RACE, {**request, "count": 2}) is None


def test_of_equals_torch_leaves_open_which_comes_second() -> None:
    request = {"probs": pack([0.5, 0.25, 0.25]), "uniforms": pack([0.5, 0.5, 0.5]), "count": 2}
    assert verdict("draw", TORCH, request) is None
    assert verdict("draw", RACE, request) == Exact()


def test_logits_that_race_are_well_ahead_or_not_by_their_noise() -> None:
    request = {"logits": pack([0.0, 1.0]), "uniforms": pack([0.5, 0.5])}
    assert verdict("draw", GUMBEL, request) == Exact()
    near = {"logits": pack([0.0, 2.0**-12]), "uniforms": pack([0.5, 0.5])}
    assert verdict("draw", GUMBEL, near) is None


def step(op: str, row: list[float], u: float, mu: float, **params: float) -> dict[str, Any]:
    given = {"tau": 2.0, "eta": 0.5, **params}
    state = {"past": pack([mu, 2.0])} if op == "adaptive_p" else {"mu": pack([nearest(mu, "f32")])}
    if op == "adaptive_p":
        given = {"target": 0.5, "decay": 0.5}
    return {
        "logits": pack(row),
        "params": {name: pack([value]) for name, value in given.items()},
        "state": state,
        "uniforms": pack([nearest(u, "f32")]),
    }


EVEN, UNEVEN = [0.0] * 4, [2.0, 1.0, 0.0, -1.0]


@pytest.mark.parametrize(
    ("op", "row", "u", "mu", "kind"),
    [
        ("mirostat_2", EVEN, 0.5, 4.0, Exact),
        ("mirostat_2", EVEN, 0.5, 2.0, Exact),  # a surprise of exactly mu
        ("mirostat_2", [0.0] * 3, 0.5, 4.0, Close),  # log2 3 is no number of 32 bits
        ("mirostat_2", UNEVEN, 0.5, 4.0, Close),
        ("mirostat_2", UNEVEN, 0.8, 2.0777, None),  # the second one has 2.07774 bits
        ("mirostat_2", UNEVEN, 0.8, 0.635, Close),  # the best has 0.63505, and is kept anyhow
        ("mirostat_2", UNEVEN, 0.6439, 9.0, None),  # its share is 0.64391
        ("mirostat_1", EVEN, 0.5, 1.0, Exact),
        ("mirostat_1", [0.0] * 5, 0.5, 2.0, None),  # 2**mu is as large as N - 1
        ("mirostat_1", UNEVEN, 0.5, 6.0, Close),
        ("adaptive_p", EVEN, 0.5, 1.0, Exact),
        ("adaptive_p", UNEVEN, 0.5, 1.0, Close),
    ],
)
def test_a_steering_step_is_compared_if_its_token_is_decided(
    op: str, row: list[float], u: float, mu: float, kind: type | None
) -> None:
    found = verdict(op, STANDARD, step(op, row, u, mu))
    assert (found is None) == (kind is None)
    assert kind is None or isinstance(found, kind)
    assert kind is not Close or found.ulp >= 8  # as golden records have it


def test_a_state_near_nothing_and_one_of_64_bits_are_not_compared() -> None:
    row = [1.0, 0.0]
    far = step("mirostat_2", row, 0.25, 4.0)
    assert isinstance(verdict("mirostat_2", STANDARD, far), Close)
    answer = SamplerSession(STANDARD).answer("mirostat_2", far)
    assert isinstance(answer, Ok)
    moved = unpack(answer.out["state"]["mu"])[0] - 4.0
    near = step("mirostat_2", row, 0.25, -moved)
    assert verdict("mirostat_2", STANDARD, near) is None
    wide = {**far, "state": {"mu": pack([4.0], "f64")}}
    assert verdict("mirostat_2", STANDARD, wide) is None
    assert verdict("mirostat_2", STANDARD, {**far, "state": {}}) is None
    assert verdict("mirostat_2", STANDARD, {**step("mirostat_2", EVEN, 0.5, 1), "state": {}})


# ---- what is drawn


@given(st.data(), st.integers(0, 9))
@examples(60)
def test_each_token_has_a_number_below_one(data: st.DataObject, size: int) -> None:
    numbers = data.draw(race_numbers(size))
    assert len(numbers) == size
    assert all(0 <= number < 1 for number in numbers)


@pytest.mark.parametrize("profile", RACE_PROFILES)
def test_races_draw_one_or_several_by_numbers_that_are_0_or_nearly_1_or_neither(
    profile: str,
) -> None:
    found = [drawn(SAMPLER_QUESTIONS["draw"](profile), "races", profile, n) for n in range(60)]
    numbers = [number for request in found for number in unpack(request["uniforms"])]
    assert 0.0 in numbers
    assert max(numbers) > 1 - 2**-20
    assert sum(0.01 < number < 0.99 for number in numbers) > len(numbers) * 0.7
    walks = (choices_of("draw", profile) or {})["method"] == "torch walk"
    assert (len([request for request in found if "count" not in request]) > 25) == (not walks)
    assert len([request for request in found if "count" in request]) > 4


@given(even_rows())
@examples(60)
def test_even_rows_have_a_power_of_two_of_equals(row: list[float]) -> None:
    possible = [logit for logit in row if logit > -inf]
    assert len(possible) in {1, 2, 4, 8}
    assert len(set(possible)) == 1


@given(plain_rows())
@examples(60)
def test_plain_rows_have_a_possible_token(row: list[float]) -> None:
    assert -inf < max(row) < inf
    assert len(row) > 1


@pytest.mark.parametrize("op", ADAPTIVE_OPS)
def test_a_state_is_absent_only_where_all_is_exact(op: str) -> None:
    found = [drawn(SAMPLER_QUESTIONS[op]("standard"), "states", op, number) for number in range(80)]
    absent = [request for request in found if not request["state"]]
    assert 2 < len(absent) < 40
    for request in absent:
        assert len({logit for logit in unpack(request["logits"]) if logit > -inf}) == 1
    kinds = Counter(type(verdict(op, STANDARD, request)) for request in found)
    assert kinds[Exact] > 15
    assert kinds[Close] > 15
    assert kinds[type(None)] < 16


def test_new_profiles_leave_the_questions_of_other_groups_as_they_were() -> None:
    first = [name for name in profiles_of("draw") if name not in LATER["draw"]]
    before = Selection(ops=["draw"], profiles=first)
    now, kept = Selection(ops=["draw"]), 0
    for group in range(24):
        there, here = (questions_of(selection, 5, group) for selection in (before, now))
        if here[0].profile not in LATER["draw"]:
            kept += 1
            assert [question.request for question in here] == [
                question.request for question in there
            ]
            assert here[0].profile == there[0].profile
    assert 9 < kept < 22  # half of them, and more, since the first choice comes more often


def test_later_profiles_alone_can_be_asked_for() -> None:
    selection = Selection(ops=["draw", "top_k"], profiles=[GUMBEL, RACE])
    found = {questions_of(selection, 1, group)[0].profile for group in range(8)}
    assert found == {GUMBEL, RACE}


def test_a_rare_strategy_comes_every_second_time_if_that_is_said() -> None:
    either = partial(drawn, mostly(st.just(0), st.just(1), 2), "either")
    assert 20 < sum(either(number) for number in range(80)) < 60


def test_only_accepted_tokens_are_the_history_of_later_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []
    monkeypatch.setattr(
        "tokenref.rounding.verdicts.prove_decided",
        lambda _, request: asked.append(request["history"]),
    )
    draw = {"sample": {"logits": pack([0.0, 1.0]), "uniforms": pack([0.5])}}
    request = {"params": {}, "prompt": [1], "calls": [draw, {"accept": 0}, draw]}
    assert sampler_verdict("sequence", "vllm", request, Ok({"answers": [1, None, 0]})) == Exact()
    assert asked == [[1], [1, 0]]
