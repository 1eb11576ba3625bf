"""The cases about rows, laws, chains and draws, before they are files."""

from collections import Counter
from collections.abc import Mapping
from functools import cache
from math import inf
from typing import Final

import msgspec
import pytest

from authoring.cases.draft import PurposeError
from authoring.cases.sampling import chains_long, rows_penalties
from authoring.cases.sampling.all import TOPICS as ALL_TOPICS
from authoring.cases.sampling.canaries import row_canaries
from authoring.cases.sampling.chain_draft import ChainTopic, alone, chain_request
from authoring.cases.sampling.draft import SamplerDraft, finish_sampler
from authoring.cases.sampling.row_draft import becomes, row_request
from sampling_ref import PROFILES, STEPS
from tests.drafted import cases_of
from tests.test_cases import sections
from tokenref.answers import Ok
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import pack, unpack
from tokenref.judge import judge
from tokenref.operations import FLAGS
from tokenref.record import ROW_OPS, Case, canonical_json, op_of
from tokenref.rounding.margins import UndecidedError
from tokenref.rounding.rows import row_verdict, softmax_verdict
from tokenref.rounding.verdicts import asked, prove_decided
from tokenref.rules import rule_name
from tokenref.subjects import SAMPLERS
from tokenref.verdicts import Close, Either, Exact, MustRefuse, Set

TOPICS = tuple(
    topic
    for topic in ALL_TOPICS
    if topic.__name__.rpartition(".")[2].startswith(("rows_", "chains", "survey_", "worked_"))
    and topic is not chains_long
)
"""All but the long rows, which take ten seconds."""

WHOLE = {"chain", "distribution", "sample"}

PITFALLS: Final[Mapping[str, tuple[str, ...]]] = {
    "1": ("repetition_penalty/penalties/signs", "repetition_penalty/bugs/signs.transformers"),
    "2": ("repetition_penalty/penalties/signs",),
    "3": ("distribution/bugs/shift-even", "distribution/bugs/shift-shifted"),
    "4": ("repetition_penalty/bugs/prompt.transformers", "repetition_penalty/bugs/prompt.sglang"),
    "5": ("repetition_penalty/penalties/three-times",),
    "6": ("repetition_penalty/bugs/compounds.transformers",),
    "7": ("repetition_penalty/bugs/compounds.vllm",),
    "8": ("repetition_penalty/bugs/padding.transformers",),
    "9": ("frequency_penalty/bugs/output.vllm",),
    "10": ("distribution/bugs/prompt-and-output.vllm",),
    "11": ("frequency_penalty/bugs/accepted-drafts.vllm",),
    "12": ("repetition_penalty/bugs/no-op.sglang",),
    "13": ("frequency_penalty/bugs/no-op.mlx-lm",),
    "14": ("repetition_penalty/bugs/twice.sglang",),
    "15": ("penalties/bugs/first-of-the-window.llama.cpp",),
    "16": ("presence_penalty/bugs/argument-shift.tensorrt-llm",),
    "20": ("chain/disagreements/top_p.one.candle", "distribution/disagreements/top_p.zero.candle"),
    "24": ("distribution/disagreements/top_p.zero.transformers",),
    "25": ("chain/disagreements/top_p.tiny.mlx-lm",),
    "26": ("chain/disagreements/top_k-then-top_p.5.mlx-lm",),
    "34": ("chain/disagreements/top_k.ties.vllm",),
    "35": ("chain/disagreements/top_k.ties.sglang",),
    "37": ("chain/bugs/k-of-one",),
    "38": ("distribution/bugs/last-of-equals.vllm", "greedy/greedy/two-equals"),
    "39": ("repetition_penalty/refused/repetition_penalty.history-beyond",),
    "40": ("sample/refused/flashinfer.row-nan",),
    "41": ("distribution/bugs/subnormal.flashinfer", "softmax/softmax/subnormal"),
    "42": ("chain/engine_llama_cpp/top_n_sigma.impossible",),
    "43": ("chain/bugs/sigma-and-the-rest",),
    "44": ("distribution/goldens/llama.min-p-105",),
    "45": ("chain/disagreements/temperature-min_p.llama.cpp",),
    "46": ("chain/disagreements/temperature-top_p.vllm",),
    "47": ("distribution/bugs/temperature-4.vllm", "temperature/temperature/two"),
    "48": ("chain/disagreements/temperature-top_p.mlx-lm",),
    "49": ("chain/disagreements/temperature-top_p.sglang",),
    "54": ("dry/bugs/exponent.llama.cpp",),
    "55": ("chain/engine_llama_cpp/xtc.two-above",),
    "57": ("dry/dry/breaker-not-there",),
    "58": ("dry/bugs/breakers.llama.cpp",),
    "59": ("penalties/bugs/no-op.mistral.rs",),
    "67": ("sample/draws/rank-2.vllm", "sample/draws/rank-0.vllm"),
    "74": ("bad_words/bugs/newest-token.vllm",),
    "75": ("min_new_tokens/bugs/one-too-long.vllm", "min_length/lengths/reached"),
    "77": ("sample/bugs/place-for-id-4",),
    "78": ("chain/disagreements/typical.impossible.transformers",),
    "79": ("chain/refused/vllm.top-p-zero", "chain/refused/vllm.top-p-zero-edge"),
    "80": ("distribution/bugs/control-logits", "distribution/bugs/control-logprobs"),
    "S3": ("dry_longest/bugs/copied-base.exllamav2",),
    "S4": ("chain/disagreements/top_p.inside.exllamav3",),
    "S5": ("decaying_penalties/bugs/oldest-is-lost.exllamav3",),
    "S6": ("chain/disagreements/top_k.ties.exllamav3",),
    "S11": ("sample/disagreements/zero.llama.cpp",),
    "S13": ("distribution/bugs/order-of-a-set.sglang",),
    "S14": ("sample/refused/sglang.row-impossible",),
    "S17": ("repetition_penalty/bugs/zero-is-off.mlx-lm",),
    "S20": ("distribution/disagreements/top_p.zero.transformers",),
    "S22": ("dry_nearby/bugs/last-token-breaks.mistral.rs",),
    "S23": ("lz/lz/e1.script", "lz/lz/e3.script"),
}
"""Known bugs about penalties, temperature, chains, greedy and logarithms, and who catches them."""


@cache
def drafts() -> tuple[SamplerDraft, ...]:
    return tuple(draft for topic in TOPICS for draft in topic.drafts())


@cache
def cases() -> Mapping[str, Case]:
    return {case.id: case for case in cases_of(drafts())}


def test_a_sample_is_as_the_fixtures_have_it_and_does_what_its_why_claims() -> None:
    assert len(cases()) == len(drafts())  # no id is used twice
    short = [draft for draft in drafts() if "LongRow" not in draft.flags]
    for draft in short[::25]:
        assert finish_sampler(draft).sum == cases()[draft.id].sum


def test_every_why_is_a_sentence_of_its_own() -> None:
    whys = Counter(draft.why for draft in drafts())
    assert [why for why, times in whys.items() if times > 1] == []
    assert [why for why in whys if len(why) < 25 or len(why) > 419 or not why.endswith(".")] == []


def test_every_case_has_flags_and_a_section_of_the_book() -> None:
    assert all(draft.flags for draft in drafts())
    assert {flag for draft in drafts() for flag in draft.flags} - FLAGS.keys() == set()
    assert {draft.spec for draft in drafts()} - sections() == set()


def test_every_step_on_rows_is_asked_by_its_rule_and_in_each_engine_that_has_it() -> None:
    asked_of = {(draft.profile, draft.op) for draft in drafts()}
    assert {op for profile, op in asked_of if profile == "standard"} >= set(ROW_OPS)
    for name, profile in PROFILES.items():
        having = {stage.step for stage in profile.stages} & set(ROW_OPS)
        assert having <= {op for asking, op in asked_of if asking == name}


def test_every_step_of_every_engine_acts_in_a_chain() -> None:
    acting: dict[str, set[str]] = {name: set() for name in PROFILES}
    for draft in drafts():
        if draft.op in WHOLE and not isinstance(cases()[draft.id].verdict, MustRefuse):
            answer = asked(draft.profile, draft.request)
            acting[draft.profile] |= {step for step, _ in answer.stages}
    for name, profile in PROFILES.items():
        assert acting[name] == {stage.step for stage in profile.stages}


def test_every_engine_has_ten_chains_laws_and_draws() -> None:
    counted = Counter((draft.profile, draft.op) for draft in drafts())
    for name in PROFILES:
        assert counted[name, "chain"] >= 10
        assert counted[name, "distribution"] >= 4
        assert counted[name, "sample"] >= 5


def test_every_choice_of_a_penalty_is_asked() -> None:
    for op in ("repetition_penalty", "frequency_penalty", "presence_penalty", "penalties", "lz"):
        asked_of = {draft.profile for draft in drafts() if draft.op == op}
        for point, choices in STEPS[op].choices.items():
            for choice in choices[1:]:
                assert rule_name(op, **{point: choice}) in asked_of


@pytest.mark.parametrize("row", PITFALLS)
def test_every_known_bug_about_rows_and_chains_has_a_case(row: str) -> None:
    assert {f"sampling/{name}" for name in PITFALLS[row]} <= cases().keys()


def test_what_two_controls_ask_has_one_answer() -> None:
    logits, logprobs = (
        unpack(
            msgspec.to_builtins(cases()[f"sampling/distribution/bugs/control-{name}"].out)["probs"]
        )
        for name in ("logits", "logprobs")
    )
    assert logits == pytest.approx(logprobs, rel=1e-6)


def test_answers_stay_short_and_decisions_are_nearly_all_exact() -> None:
    found = cases().values()
    assert max(len(canonical_json(msgspec.to_builtins(case))) for case in found) < 6_000
    deciding = [case for case in found if op_of(case) in WHOLE - {"distribution"}]
    opened = [case for case in deciding if isinstance(case.verdict, Either | Set)]
    assert 20 * len(opened) <= len(deciding)
    close = [case.verdict.ulp for case in found if isinstance(case.verdict, Close)]
    assert max(close) <= 64
    assert sorted(close)[len(close) // 2] <= 4


def test_every_canary_fails() -> None:
    statuses = {}
    for case in row_canaries():
        request = msgspec.to_builtins(case.input)
        answer = SamplerSession(case.profile).answer(op_of(case), request)
        statuses[case.id] = judge(case, answer, SAMPLERS).status
    assert set(statuses.values()) == {"fail", "wrong_error"}
    assert len(statuses) > 30


# ---- how closely answers are judged


@pytest.mark.parametrize(
    ("op", "logits", "params", "verdict"),
    [
        ("temperature", [1.0, 3.0], {"temperature": 2.0}, Exact()),
        ("temperature", [1.0, 3.0], {"temperature": 3.0}, Close(ulp=1)),
        ("frequency_penalty", [2.0], {"penalty": 0.5}, Exact()),
        ("temperature", [1.0], {"temperature": -1.0}, Exact()),
    ],
)
def test_a_row_is_judged_exactly_where_nothing_is_rounded(
    op: str, logits: list[float], params: dict[str, float], verdict: object
) -> None:
    request = row_request(logits, [0] if op != "temperature" else [], **params)
    assert row_verdict(op, "standard", request) == verdict


def test_a_logarithm_is_never_judged_exactly() -> None:
    request = row_request([0.0] * 4, [1, 2, 1], strength=1.0, window=2, buffer=1)
    assert isinstance(row_verdict("lz", "standard", request), Close)


def test_a_row_in_which_rounding_eats_all_digits_is_no_case() -> None:
    request = row_request([1.0 + 2.0**-20], [0], repetition=1.1, frequency=0.909091)
    with pytest.raises(ValueError, match="roundings are"):
        row_verdict("penalties", "standard", request)


def test_what_the_row_becomes_is_compared_with_its_sign() -> None:
    request = row_request([0.0], [0], penalty=2.0)
    draft = rows_penalties.REPETITION.case(
        "repetition_penalty", "zero", "standard", request, "A zero for a test.", becomes(-0.0)
    )
    with pytest.raises(PurposeError, match="logits must be"):
        finish_sampler(draft)


@pytest.mark.parametrize(
    ("op", "params", "logit", "sign"),
    [
        ("repetition_penalty", {"penalty": 2.0}, -0.0, "8"),
        ("frequency_penalty", {"penalty": 0.0}, -0.0, "8"),
        ("presence_penalty", {"penalty": 1.5}, 1.5, "0"),
        ("temperature", {"temperature": 2.0}, -0.0, "8"),
    ],
)
def test_a_zero_has_the_sign_that_floats_give_it(
    op: str, params: dict[str, float], logit: float, sign: str
) -> None:
    answer = SamplerSession("standard").answer(op, row_request([logit], [0], **params))
    assert answer == Ok({"logits": {"f32": f"{sign}0000000"}})


@pytest.mark.parametrize("bad", [inf, float("nan")])
def test_a_parameter_that_is_no_number_is_refused_and_no_crash(bad: float) -> None:
    session = SamplerSession("standard")
    for op, params in (
        ("repetition_penalty", {"penalty": bad}),
        ("frequency_penalty", {"penalty": bad}),
        ("logit_bias", {"biases": {0: bad}}),
    ):
        answer = session.answer(op, row_request([1.0], [0], **params))
        assert getattr(answer, "code", "") == "INVALID_PARAMETER"


def test_probabilities_near_nothing_may_be_flushed_and_others_may_not() -> None:
    verdict = softmax_verdict("softmax", pack([0.0, -90.0]), "f32")
    assert isinstance(verdict, Close)
    assert verdict.floor is not msgspec.UNSET
    other = softmax_verdict("softmax", pack([0.0, -1.0]), "f32")
    assert isinstance(other, Close)
    assert other.floor is msgspec.UNSET


# ---- what rounding decides


def test_a_cut_on_a_boundary_is_not_decided_and_one_between_two_sums_is() -> None:
    prove_decided("vllm", chain_request([2.0, 1.0, 0.0], {"top_p": 0.8125}))
    for p in (0.6652409, 0.66524094, 0.665241):  # the first of three shares, e**2 / sum
        with pytest.raises(UndecidedError, match=r"rounding decides|no margin"):
            prove_decided("vllm", chain_request([2.0, 1.0, 0.0], {"top_p": p}))


def test_a_draw_on_a_boundary_is_not_decided() -> None:
    request = chain_request([1.0, 0.0], {}, uniforms=[0.7310585786300049])
    with pytest.raises(UndecidedError, match="rounding decides"):
        prove_decided("openai", request)


def test_equals_at_the_cut_of_an_unstable_sort_are_a_set() -> None:
    topic = ChainTopic("test", ("Ties",))
    tied = topic.case(
        "chain", "tied", "sglang", chain_request([1.0, 1.0, 1.0], {"top_k": 2}),
        "Three equals for a test.", tied=True, meets=True,
    )  # fmt: skip
    assert isinstance(tied.verdict, Set)
    assert tied.verdict.sizes == [2]
    stable = topic.case(
        "chain", "stable", "antigravity",
        chain_request([1.0, 1.0, 1.0], alone("antigravity", top_k=2)),
        "Three equals for another test.", tied=True, meets=True,
    )  # fmt: skip
    assert stable.verdict == Exact()


def test_where_a_sum_meets_top_p_both_answers_pass() -> None:
    verdict = cases()["sampling/chain/goldens/llama.top-p-7"].verdict
    assert isinstance(verdict, Either)
    assert [each.out["keep"] for each in verdict.alternatives] == [[2, 3], [1, 2, 3]]
