"""The cases about filters: what they cover, and how their verdicts are made."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache
from importlib import import_module
from itertools import accumulate, combinations
from pkgutil import iter_modules
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from authoring.cases import sampling
from authoring.cases.draft import PurposeError
from authoring.cases.sampling import filters_engines, filters_long
from authoring.cases.sampling.all import TOPICS
from authoring.cases.sampling.canaries import filter_canaries
from authoring.cases.sampling.draft import finish_sampler
from authoring.cases.sampling.filter_draft import FilterCase, Row, beside, eighths, logits
from sampling_ref import PROFILES, STEPS
from sampling_ref.numbers.binary32 import Binary32, to_binary32
from sampling_ref.steps.step import REQUIRED
from tests.drafted import cases_of
from tests.test_cases import sections
from tokenref.answers import Answer, Ok, Refused, Unsupported
from tokenref.catalogue import BudgetError, check_budget
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import unpack
from tokenref.judge import judge
from tokenref.questions.sampling import KeepOutput
from tokenref.record import FILTER_OPS, Case, op_of
from tokenref.rounding.arithmetics import ARITHMETICS, BLOCK, FEWEST, UNIT, Arithmetic, is_dyadic
from tokenref.rounding.margins import (
    CAP,
    UndecidedError,
    answers,
    filter_verdict,
    is_decided,
    set_of_ties,
    values_of,
)
from tokenref.rules import rule_names
from tokenref.subjects import SAMPLERS
from tokenref.verdicts import Either, Exact, MustRefuse, Set

SHORT_TOPICS = tuple(
    topic
    for topic in TOPICS
    if topic.__name__.rpartition(".")[2].startswith("filters_") and topic is not filters_long
)
SAME_ON_LOGITS = {("min_p", "mistral.rs", "exllamav2")}
"""Rules that differ at equality only, which logits meet at m = 1 alone: there both are off."""

HALVES = [0.5, 0.25, 0.125, 0.125]


@cache
def short_cases() -> tuple[Case, ...]:
    """Return every case but those with long rows."""
    return cases_of(draft for topic in SHORT_TOPICS for draft in topic.drafts())


def plain(case: Case) -> dict[str, Any]:
    return dict(msgspec.to_builtins(case.input))


def row_of(case: Case) -> list[float]:
    question = plain(case)
    return unpack(question.get("probs") or question["logits"])


def keep(answer: Answer) -> list[int] | str:
    return list(answer.out["keep"]) if isinstance(answer, Ok) else type(answer).__name__


# --- what the cases cover ---------------------------------------------------------------------


def test_every_module_that_has_cases_of_samplers_is_a_topic_of_the_fixtures() -> None:
    names = [f"{sampling.__name__}.{each.name}" for each in iter_modules(sampling.__path__)]
    modules = [import_module(name) for name in names if not name.endswith(".all")]
    assert {each for each in modules if hasattr(each, "drafts")} == set(TOPICS)


@pytest.mark.parametrize("op", FILTER_OPS)
def test_every_rule_of_a_filter_has_a_case(op: str) -> None:
    asked = {case.profile for case in short_cases() if op_of(case) == op}
    rules = {rule for rule in rule_names(op) if "base." not in rule or rule.startswith("base.")}
    assert rules <= asked


@pytest.mark.parametrize("op", FILTER_OPS)
def test_every_engine_that_has_a_filter_has_cases(op: str) -> None:
    asked = Counter(case.profile for case in short_cases() if op_of(case) == op)
    having = {name for name, profile in PROFILES.items() if op in {s.step for s in profile.stages}}
    assert having <= asked.keys()
    assert all(asked[name] >= 3 for name in having)


@pytest.mark.parametrize("op", FILTER_OPS)
def test_engines_with_different_rules_are_told_apart_by_a_question(op: str) -> None:
    step = STEPS[op]
    usual = {**step.parameters, **{point: allowed[0] for point, allowed in step.choices.items()}}

    def rule(name: str) -> dict[str, Any]:
        chosen = dict(PROFILES[name].stages_of(op)[0].choices)
        if chosen.get("walked") == "upwards":  # without rounding the same: see steps/top_p.py
            chosen |= {"walked": "downwards", "ties": "highest id"}
        return {
            point: choice
            for point, choice in chosen.items()
            if point not in {"base", "zero", "above_one"} and choice != usual[point]
        }

    having = [name for name, profile in PROFILES.items() if op in {s.step for s in profile.stages}]
    for one, two in combinations(having, 2):
        if rule(one) == rule(two) or (op, one, two) in SAME_ON_LOGITS:
            continue
        stages = PROFILES[one].stages_of(op)[0], PROFILES[two].stages_of(op)[0]
        told = False
        for slug, row, params, _, _ in filters_engines.QUESTIONS[op]:
            if not all(params.keys() <= stage.takes.keys() for stage in stages):
                continue
            found = []
            for name, stage in zip((one, two), stages, strict=True):
                own = {stage.takes[ours]: value for ours, value in params.items()}
                asked = FilterCase(op, "t", slug, row, own, "", (), name, uniform=0.5)
                found.append(keep(SamplerSession(name).answer(op, asked.request())))
            told |= found[0] != found[1]
        assert told, f"{one} and {two} do not differ on any question about {op}"


def test_every_non_standard_choice_is_told_from_the_standard_by_its_own_case() -> None:
    same = []
    for case in short_cases():
        if case.id.split("/")[2] != "rules" or case.profile in {"standard", "base.the-whole-row"}:
            continue
        own = SamplerSession(case.profile).answer(op_of(case), plain(case))
        if own == SamplerSession("standard").answer(op_of(case), plain(case)):
            same.append(case.id)
    assert same == []


def test_ids_are_unique_and_no_question_is_asked_twice() -> None:
    assert max(Counter(case.id for case in short_cases()).values()) == 1
    asked = Counter(
        (op_of(case), case.profile, msgspec.json.encode(case.input)) for case in short_cases()
    )
    assert [question for question, count in asked.items() if count > 1] == []


def test_sections_that_cases_point_to_exist() -> None:
    assert {case.spec for case in short_cases()} <= sections()
    assert {case.spec for case in filter_canaries()} <= sections()


def test_dyadic_cases_are_dyadic() -> None:
    claimed = [case for case in short_cases() if "Dyadic" in case.flags and "probs" in plain(case)]
    assert len(claimed) > 400
    assert [case.id for case in claimed if not is_dyadic(row_of(case))] == []


def test_exact_cases_are_decided_and_open_ones_say_so() -> None:
    for case in short_cases():
        if isinstance(case.verdict, Exact):
            assert filter_verdict(op_of(case), case.profile, plain(case)) == Exact(), case.id
        elif not isinstance(case.verdict, MustRefuse):
            assert {"Rounding", "Ties"} & set(case.flags), case.id


def test_at_most_one_in_twenty_records_is_open() -> None:
    check_budget(short_cases())
    opened = [case for case in short_cases() if isinstance(case.verdict, Set | Either)]
    assert len(opened) > 15
    with pytest.raises(BudgetError, match=r"^top_p: at most one in 20 .* got \d+ of \d+$"):
        check_budget([case for case in opened if op_of(case) == "top_p"])


def test_long_rows_ask_beyond_16_bits_and_the_last_token() -> None:
    case = finish_sampler(next(d for d in filters_long.drafts() if d.op == "top_k"))
    assert filters_long.heavy(128_256) == (64_135, 128_255, 3, 70_001, 257)
    assert isinstance(case.out, KeepOutput)
    assert case.out.keep == [3, 16_007, 31_999]
    assert len(msgspec.json.encode(case)) < 1500


def test_right_engines_fail_every_canary() -> None:
    for case in filter_canaries():
        answer = SamplerSession(case.profile).answer(op_of(case), plain(case))
        assert isinstance(answer, Ok | Refused)
        assert judge(case, answer, SAMPLERS).status in {"fail", "wrong_error"}, case.id


# --- how a case is made -----------------------------------------------------------------------


def usual(**more: Any) -> FilterCase:
    parts = {"row": eighths(4, 2, 2), "params": {"p": 0.5}, **more}
    return FilterCase("top_p", "t", "s", why="A case for this test.", flags=(), **parts)


def test_a_case_that_rounding_decides_must_say_so() -> None:
    near = {"p": 0.5 + 2.0**-30}
    with pytest.raises(PurposeError, match=r"^sampling/top_p/t/s: must be exact, got Either"):
        usual(params=near).draft()
    assert isinstance(usual(params=near, is_open=True).draft().verdict, Either)
    with pytest.raises(PurposeError, match="must not be exact"):
        usual(is_open=True).draft()
    thirds = {"row": logits(0.0, 0.0, 0.0), "params": {"p": to_binary32(Fraction(1, 3))}}
    with pytest.raises(PurposeError, match=r"^sampling/top_p/t/s: .*must be exact"):
        usual(**thirds).draft()
    nearly = {"row": logits(0.0, -(2.0**-22), -(2.0**-21)), "is_open": True}
    with pytest.raises(PurposeError, match=r"^sampling/epsilon/t/s: epsilon: between 0 and"):
        replace(
            usual(**nearly, params={"cutoff": to_binary32(Fraction(1, 3)), "least": 0}),
            op="epsilon",
        ).draft()


def test_a_case_must_give_what_a_person_knows_and_tell_apart_what_it_says() -> None:
    finish_sampler(usual(keep=[0], unlike=["boundary.exceed"]).draft())
    with pytest.raises(PurposeError, match=r"keep must be \[0, 1\]"):
        finish_sampler(usual(keep=[0, 1]).draft())
    with pytest.raises(PurposeError, match=r"must tell ties\.all apart"):
        finish_sampler(usual(unlike=["ties.all"]).draft())
    with pytest.raises(PurposeError, match="vllm cannot be asked the same"):
        finish_sampler(usual(unlike=["vllm"]).draft())
    with pytest.raises(PurposeError, match="must be refused"):
        finish_sampler(usual(refused="INVALID_ROW").draft())


@given(st.integers(1, 2**31 - 2**24))
def test_neighbours_are_neighbours(bits: int) -> None:
    number = to_binary32(Fraction(bits, 2**149))
    if 0 < number < float("inf"):
        above = beside(number, 1)
        assert above > number
        assert beside(above, -1) == number
        assert to_binary32((Fraction(number) + Fraction(above)) / 2) in {number, above}


# --- arithmetics ------------------------------------------------------------------------------

shares = st.lists(st.integers(0, 2**12), min_size=1, max_size=700).map(
    lambda counts: [count / 2**20 for count in counts]
)
floats32 = st.lists(
    st.floats(0, 1, width=32).filter(lambda number: number == 0 or number > 2.0**-60),
    min_size=1,
    max_size=300,
)
every = pytest.mark.parametrize("arithmetic", ARITHMETICS.values(), ids=ARITHMETICS.keys())


@every
@given(row=shares)
def test_sums_of_dyadic_shares_are_exact_in_every_arithmetic(
    arithmetic: Arithmetic, row: list[float]
) -> None:
    exact = [float(total) for total in accumulate(map(Fraction, row))]
    assert arithmetic.running(row) == exact
    assert arithmetic.total(row) == exact[-1]


@given(floats32)
def test_the_naive_sums_round_after_every_number(row: list[float]) -> None:
    expected = [float(total) for total in accumulate(map(Binary32, row))]
    assert ARITHMETICS["f32.seq.desc"].running(row) == expected
    assert ARITHMETICS["f32.seq.asc"].running(row) == expected


@given(floats32)
def test_the_blocked_sums_are_those_of_blocks_after_what_came_before(row: list[float]) -> None:
    row = row * (4 * BLOCK // len(row))  # what stands before the third block is rounded
    expected: list[float] = []
    before = Binary32(0)
    for start in range(0, len(row), BLOCK):
        own = list(accumulate(map(Binary32, row[start : start + BLOCK])))
        expected += [float(before + total) for total in own]
        before = before + own[-1]
    assert ARITHMETICS["f32.blocked"].running(row) == expected


@given(floats32)
def test_the_tree_adds_what_stands_1_2_4_before(row: list[float]) -> None:
    sums, step = [Binary32(number) for number in row], 1
    while step < len(sums):
        sums = [
            sums[place - step] + number if place >= step else number
            for place, number in enumerate(sums)
        ]
        step *= 2
    assert ARITHMETICS["f32.tree"].running(row) == [float(number) for number in sums]


def test_arithmetics_go_apart_where_sums_are_long() -> None:
    row = [to_binary32(0.1)] * 3000
    ends = {name: each.running(row)[-1] for name, each in ARITHMETICS.items()}
    totals = {each.total(row) for each in ARITHMETICS.values()}
    assert len(set(ends.values())) >= 4
    assert len(totals) >= 3


# --- margins ----------------------------------------------------------------------------------

usual_logits = st.lists(
    st.floats(-8, 8, width=32).map(lambda number: number + 0.0), min_size=1, max_size=24
)
parameters = {
    "top_p": {"p": st.floats(0.0625, 0.9375, width=32)},
    "min_p": {"m": st.floats(0.0078125, 1.0, width=32)},
    "typical": {"mass": st.floats(0.0625, 0.9375, width=32)},
    "epsilon": {"cutoff": st.floats(0.0009765625, 0.5, width=32)},
    "eta": {"cutoff": st.floats(0.0009765625, 0.5, width=32)},
    "top_n_sigma": {"n": st.floats(0.0625, 4.0, width=32)},
    "top_a": {"a": st.floats(0.0078125, 2.0, width=32)},
    "tail_free": {"z": st.floats(0.0625, 0.9375, width=32)},
    "top_h": {"alpha": st.floats(0.0625, 0.9375, width=32)},
    "xtc": {"threshold": st.floats(0.0078125, 0.5, width=32)},
}


@pytest.mark.parametrize("op", parameters)
@given(row=usual_logits, data=st.data())
def test_with_64_bits_nothing_goes_wrong_where_there_is_a_margin(
    op: str, row: list[float], data: st.DataObject
) -> None:
    values = data.draw(st.fixed_dictionaries(parameters[op]))
    found = answers(row, op, values)
    if found.are_one:
        assert set(found.by_name.values()) == {found.exact}


@given(usual_logits, st.integers(0, 23))
def test_a_p_at_a_sum_of_logits_is_not_decided(row: list[float], place: int) -> None:
    line = sorted(set(row), reverse=True)
    if len(line) < 3 or line[0] - line[-1] > 12:
        return
    from sampling_ref.numbers.softmax import softmax

    place %= len(line) - 1
    total = sum(map(Fraction, softmax(line)[: place + 1]))
    if total < Fraction(63, 64):
        assert not is_decided(line, "top_p", {"p": to_binary32(total)})


def test_the_margin_is_that_of_the_root_of_the_length() -> None:
    row = [0.0] * 3  # each share is 1/3, and rounding is not exact
    third = Fraction(1, 3)
    units = FEWEST**0.5
    for factor, decided in ((1.25, True), (0.75, False)):
        p = float(third + Fraction(units * factor * UNIT))
        assert is_decided(row, "top_p", {"p": p}) is decided
    wide = [5.0, *([0.0] * 4095)]
    from sampling_ref.numbers.softmax import softmax

    for factor, decided in ((1.5, True), (0.5, False)):
        p = softmax(wide)[0] + 64 * factor * UNIT
        assert is_decided(wide, "top_p", {"p": p}) is decided


@pytest.mark.parametrize("boundary", ["reach", "exceed", "within"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_dyadic_sums_that_meet_p_are_decided(boundary: str, count: int) -> None:
    p = sum(HALVES[:count])
    assert is_decided(HALVES, "top_p", {"p": p, "boundary": boundary}, kind="probs")
    assert is_decided(HALVES, "top_p", {"p": p - UNIT, "boundary": boundary}, kind="probs")
    if (boundary, count) != ("within", 1):  # the first stays in any case
        # 32 bits do not hold this p: rounded, it is the sum.
        beside_it = p + UNIT / 16 * (1 if boundary == "reach" else -1)
        assert not is_decided(HALVES, "top_p", {"p": beside_it, "boundary": boundary}, kind="probs")


def test_shares_that_are_not_dyadic_are_not_decided_at_a_sum() -> None:
    tenths = [to_binary32(Fraction(n, 10)) for n in (5, 3, 1, 1)]
    assert not is_decided(tenths, "top_p", {"p": to_binary32(Fraction(4, 5))}, kind="probs")
    assert is_decided(tenths, "top_p", {"p": 0.75}, kind="probs")


def test_equal_logits_of_a_power_of_two_are_decided_at_a_sum() -> None:
    assert is_decided([3.0] * 4, "top_p", {"p": 0.5})
    assert not is_decided([3.0] * 3, "top_p", {"p": to_binary32(Fraction(2, 3))})


def test_an_answer_that_no_arithmetic_gives_is_not_decided() -> None:
    above_a_half = Fraction(1, 2) + Fraction(1, 2**60)
    assert not is_decided([0.0, 0.0], "top_p", {"p": above_a_half})


def test_an_entropy_that_is_off_a_little_puts_either_side_first() -> None:
    case = next(c for c in short_cases() if c.id == "sampling/typical/rounding/either-side")
    assert isinstance(case.verdict, Either)
    keeps = [each.out["keep"] for each in case.verdict.alternatives]
    assert all(kept in keeps for kept in ([0], [1, 2], [0, 1, 2]))
    assert [each.label for each in case.verdict.alternatives][-1].startswith("margin.")


def test_a_coin_that_rests_decides() -> None:
    near = {"threshold": 0.25, "probability": 0.5, "uniform": 0.75}
    assert is_decided([0.0, 0.0, -0.5, -1.0], "xtc", near)


# --- verdicts ---------------------------------------------------------------------------------


def asked(row: Row, **params: Any) -> dict[str, Any]:
    return FilterCase("top_p", "t", "s", row, params, "", ()).request()


def test_either_has_each_arithmetic_and_its_own_answer() -> None:
    verdict = filter_verdict("top_p", "standard", asked(eighths(4, 2, 2), p=0.5 + 2.0**-30))
    assert isinstance(verdict, Either)
    found = {each.label: each.out["keep"] for each in verdict.alternatives}
    assert found == {
        "f64": [0, 1],
        "f32.seq.desc": [0],
        "f32.seq.asc": [0],
        "f32.blocked": [0],
        "f32.tree": [0],
    }
    assert all(len(each.reason) > 20 for each in verdict.alternatives)


def test_a_set_holds_every_answer_within_the_margin() -> None:
    case = next(c for c in short_cases() if c.id == "sampling/epsilon/rounding/standard-12")
    assert isinstance(case.verdict, Set)
    (values,) = values_of("epsilon", "standard", plain(case))
    found = answers(row_of(case), "epsilon", values)
    for kept in found.moved:
        assert set(case.verdict.must) <= kept <= set(case.verdict.may)
        assert len(kept) in case.verdict.sizes
    assert len(case.verdict.may) > len(case.verdict.must)


def test_a_set_in_which_nothing_is_sure_is_refused() -> None:
    close = logits(0.0, -(2.0**-22), -(2.0**-21), dtype="f32")
    with pytest.raises(UndecidedError, match="one must be sure"):
        filter_verdict(
            "epsilon", "standard", asked(close, cutoff=to_binary32(Fraction(1, 3)), least=0)
        )


def test_a_set_with_too_wide_a_gap_is_refused() -> None:
    flat = logits(4.0, *(-(n * 2.0**-26) for n in range(4 * CAP)))
    probability = 1 / (54.598150033144236 + 4 * CAP)
    with pytest.raises(UndecidedError, match=f"at most {CAP} may be open"):
        filter_verdict("epsilon", "standard", asked(flat, cutoff=to_binary32(probability)))


def test_ties_that_an_engine_leaves_open_are_a_set_without_a_cap() -> None:
    verdict = set_of_ties([3.0, 2.0, 2.0, 2.0, 1.0], [0, 1, 2])
    assert isinstance(verdict, Set)
    assert (verdict.must, verdict.may, verdict.sizes) == ([0], [0, 1, 2, 3], [3])
    wide = set_of_ties([1.0] * 50, [0])
    assert isinstance(wide, Set)
    assert (wide.must, len(wide.may), wide.sizes) == ([], 50, [1])


@pytest.mark.parametrize(
    ("kept", "status"),
    [
        ([0, 1, 2], "pass"),
        ([0, 2, 3], "pass"),
        ([0, 1, 3], "pass"),
        ([0], "fail"),  # only the best
        ([0, 1], "fail"),
        ([1, 2, 3], "fail"),  # without the best
        ([0, 1, 4], "fail"),  # a lighter one in the place of an equal
        ([0, 1, 2, 3], "fail"),
    ],
)
def test_top_k_3_of_3_2_2_2_1_passes_with_any_two_of_the_equals_only(
    kept: list[int], status: str
) -> None:
    case = next(c for c in short_cases() if c.id == "sampling/top_k/engines/sglang-ties")
    assert isinstance(case.verdict, Set)
    assert judge(case, Ok({"keep": kept}), SAMPLERS).status == status


def test_verdicts_are_judged_by_the_values_of_the_engine() -> None:
    request = FilterCase("top_p", "t", "s", logits(0.0, 0.0, 0.0, 0.0), {"top_p": 0.5}, "", ())
    assert filter_verdict("top_p", "vllm", request.request()) == Exact()
    assert filter_verdict("top_p", "flashinfer", request.request()) == Exact()
    opened = filter_verdict("top_p", "mistral.rs", request.request())
    assert isinstance(opened, Set)
    assert opened.sizes == [2]
    assert list(values_of("top_p", "vllm", {"params": {"top_p": {"f32": "3f800000"}}})) == []


@pytest.mark.parametrize("op", FILTER_OPS)
def test_a_parameter_that_is_missing_or_unknown_is_no_crash(op: str) -> None:
    question = {"logits": {"f32": "0000000000000000"}, "params": {"nonsense": 1}}
    session = SamplerSession("standard")
    assert isinstance(session.answer(op, question), Unsupported)
    answer = session.answer(op, {**question, "params": {}, "uniforms": {"f32": "00000000"}})
    if any(value is REQUIRED for value in STEPS[op].parameters.values()):
        assert isinstance(answer, Refused)
        assert "must be given to" in answer.message
    else:
        assert isinstance(answer, Ok)
