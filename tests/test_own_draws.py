"""What an engine draws with random numbers of its own: records, judgements, and wrong engines."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from authoring.cases.sampling import kernels, statistics
from authoring.cases.sampling.canaries import own_draw_canaries
from authoring.cases.sampling.draft import SamplerDraft
from authoring.cases.sampling.statistics_bins import EXPECTED, MOST, SURE, judged, judged_pairs
from authoring.mutants import sampling_own_numbers
from authoring.mutants.mutant import Mutant, declared
from authoring.mutants.own_numbers import OwnNumbersEngine
from tests.drafted import cases_of
from tokenref.answers import Answer, LoadsProfiles, Ok, Refused, Unsupported
from tokenref.catalogue import open_catalogue
from tokenref.engines.reference_laws import law_of_step, rows_of_step, shares_of_row
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import floats, pack
from tokenref.judge import judge
from tokenref.protocol.requests import answer_requests, export, judge_responses, read_requests
from tokenref.questions.sampling import BatchStatInput, SeedsInput, SpeculativeStatInput
from tokenref.record import OPERATIONS, OWN_DRAW_OPS, Case, make_case, op_of
from tokenref.rules import choices_of
from tokenref.subjects import SAMPLERS
from tokenref.verdicts import Judgement, Seeds, Stat, Verdict

KILLED_BY: Mapping[str, set[str]] = {
    "own-draws-are-hotter": {"falling", "peaked"},
    "own-draws-have-no-tail": {"rare", "long-tail"},
    "own-draws-miss-the-second-best": {"even-coin", "eight-equals"},
    "own-draws-are-one-off": {"hole", "rising"},
    "own-draws-leak": {"hole", "holes-at-both-ends"},
    "own-numbers-have-5-bits": {"many-equals", "long-tail"},
    "own-numbers-have-16-bits": {"between-16-bits"},
    "own-draws-are-not-filtered": {"filtered"},
    "own-batches-are-not-cut": {"filtered"},
    "own-draft-is-reported-unfiltered": {"draft-of-the-two-best", "hot-draft-cold-target"},
    "own-draft-is-drawn-unfiltered": {"draft-of-the-two-best", "hot-draft-cold-target"},
    "own-draft-is-drawn-in-16-bits": {"drafts-finer-than-16-bits"},
    "own-draft-and-replacement-share-their-noise": {"one-draft", "many-replacements"},
    "own-draft-and-bonus-share-their-noise": {"one-draft", "two-drafts"},
    "own-draft-is-tested-by-the-number-that-drew-it": {"one-draft", "two-drafts"},
    "own-noise-window-wraps": {"sixteen-rows"},
    "own-noise-is-one-for-all-rows": {"two-rows", "five-rows"},
    "own-noise-is-advanced-by-one": {"two-rows", "five-rows"},
    "own-noise-serves-two-calls": {"two-rows", "five-rows"},
    "own-seed-is-ignored-in-company": {"beside-a-row-without-a-seed", "eight-rows-mixed"},
    "own-seed-is-moved-by-its-place": {"beside-other-seeds", "neighbouring-seeds"},
    "own-seed-of-the-first-row-counts": {"beside-other-seeds"},
    "own-seed-twice-is-one-stream": {"one-seed-twice"},
    "own-seed-begins-anew-for-every-token": {"beside-a-row-without-a-seed"},
    "own-seed-is-there-by-default": {"without-seeds", "eight-rows-mixed"},
    "own-seed-has-32-bits": {"beyond-32-bits", "largest-seed"},
    "own-seed-0-is-none": {"seed-0"},
    "own-noise-for-64-rows": {"65-rows", "129-rows"},
    "own-draws-have-ids-of-10-bits": {"far-4097"},
}
"""Records that say in their sentence that they find this."""


def own_draws() -> Iterator[SamplerDraft]:
    drafts = (*statistics.drafts(), *kernels.drafts())
    return (draft for draft in drafts if draft.op in OWN_DRAW_OPS)


@cache
def cases() -> tuple[Case, ...]:
    """Return the cases of batches and of several draws in one step."""
    return cases_of(draft for draft in own_draws() if draft.op != "stat")


@cache
def single_draws() -> tuple[Case, ...]:
    return cases_of(draft for draft in own_draws() if draft.op == "stat")


def slug(case: Case) -> str:
    return case.id.rpartition("/")[2]


def of(op: str, name: str, profile: str = "standard") -> Case:
    known = single_draws() if op == "stat" else cases()
    (found,) = (c for c in known if (op_of(c), slug(c), c.profile) == (op, name, profile))
    return found


def ask(asked: LoadsProfiles, case: Case) -> Answer:
    session = asked.load_profile(case.profile)
    assert not isinstance(session, Unsupported)
    return session.answer(op_of(case), msgspec.to_builtins(case.input))


def verdict_on(answer: Answer | dict[str, Any], case: Case) -> Judgement:
    return judge(case, Ok(answer) if isinstance(answer, dict) else answer, SAMPLERS)


def small(op: str, request: dict[str, Any], verdict: Verdict) -> Case:
    return make_case(
        op,
        id=f"sampling/{op}/tests/small",
        profile="standard",
        why="An example for the tests of the judge.",
        flags=[],
        spec="docs/sampling.md",
        verdict=verdict,
        input=msgspec.convert(request, OPERATIONS[op].question),
        out=None,
    )


# ---- the risk


def test_a_run_by_rules_and_one_profile_is_wrong_once_in_a_million_runs_at_most() -> None:
    risks: Counter[str] = Counter()
    for case in [*single_draws(), *cases()]:
        if isinstance(case.verdict, Stat):
            part, whole = case.verdict.alpha.split("/")
            risks[case.profile] += Fraction(part) / int(whole)  # type: ignore[assignment]
    rules = [profile for profile in risks if profile == "standard" or "." in profile]
    rules.remove("llama.cpp")
    engines = set(risks) - set(rules)
    assert engines == {"llama.cpp", "transformers", "vllm"}
    by_rules = sum((Fraction(risks[profile]) for profile in rules), start=Fraction(0))
    assert all(by_rules + risks[profile] <= Fraction(1, 10**6) for profile in engines)
    others = [case for case in cases() if isinstance(case.verdict, Stat)]
    assert len(others) <= MOST
    assert {case.verdict.alpha for case in others} == {"1e-6/100"}  # type: ignore[union-attr]


# ---- records


def test_ids_and_sentences_are_each_their_own() -> None:
    for part in ("id", "why", "sum"):
        counted = Counter(getattr(case, part) for case in cases())
        assert [each for each, times in counted.items() if times > 1] == []
    assert {op_of(case) for case in cases()} == set(OWN_DRAW_OPS) - {"stat"}


def test_bins_of_steps_hold_all_that_is_possible_and_are_heavy_enough() -> None:
    for case in (case for case in cases() if op_of(case) == "stat_speculative"):
        verdict, asked = case.verdict, msgspec.to_builtins(case.input)
        assert isinstance(verdict, Stat)
        law = law_of_step(choices_of("stat_speculative", case.profile) or {}, *rows_of_step(asked))
        assert sum(law.values()) == 1
        assert [tuple(each) for each in verdict.outcomes] == list(law)  # type: ignore[union-attr]
        assert sorted(each for bin_ in verdict.bins for each in bin_) == list(range(len(law)))
        assert min(verdict.shares.values()) * case.input.draws >= EXPECTED
        assert verdict.must == [
            place for place, share in enumerate(law.values()) if share * case.input.draws >= SURE
        ]


@pytest.mark.parametrize("method", ["chain", "block", "matching"])
def test_the_first_token_of_a_step_follows_the_target_whatever_drafts_it(method: str) -> None:
    for case in (case for case in cases() if case.id.startswith("sampling/stat_speculative/chain")):
        drafts, targets = rows_of_step(msgspec.to_builtins(case.input))
        first = [Fraction(0)] * len(targets[0])
        for tokens, share in law_of_step({"method": method}, drafts, targets).items():
            first[tokens[0]] += share
        assert first == targets[0]


def test_pairs_of_a_batch_have_the_product_of_the_laws() -> None:
    for case in (case for case in cases() if op_of(case) == "stat_batch"):
        verdict = case.verdict
        assert isinstance(verdict, Stat)
        assert isinstance(verdict.outcomes, list)
        row = shares_of_row(msgspec.to_builtins(case.input))
        for pairs, share in zip(verdict.bins, verdict.shares.values(), strict=True):
            pooled = sum(row[a] * row[b] for a, b in (verdict.outcomes[pair] for pair in pairs))
            assert share == pytest.approx(float(pooled), rel=1e-15)
        assert min(verdict.shares.values()) * (case.input.draws // 2) >= EXPECTED
        assert all(row[token] for pair in verdict.outcomes for token in pair)


# ---- engines that are right, and engines that are not


def test_the_reference_is_not_asked_for_what_it_would_have_to_draw() -> None:
    for case in cases():
        asked = SamplerSession(case.profile).answer(op_of(case), msgspec.to_builtins(case.input))
        assert isinstance(asked, Unsupported)


def test_two_hundred_right_answers_to_each_record_about_steps_pass() -> None:
    generator = np.random.default_rng(20250101)
    for case in (case for case in cases() if op_of(case) == "stat_speculative"):
        choices = choices_of("stat_speculative", case.profile) or {}
        law = law_of_step(choices, *rows_of_step(msgspec.to_builtins(case.input)))
        shares = np.array([float(share) for share in law.values()])
        for drawn in generator.multinomial(case.input.draws, shares / shares.sum(), size=200):
            counts = [[list(out), int(n)] for out, n in zip(law, drawn, strict=True)]
            assert verdict_on({"counts": counts}, case).status == "pass", case.id


def test_an_engine_with_its_own_numbers_passes_all_records_by_files(tmp_path: Path) -> None:
    catalogue = open_catalogue()
    catalogue.cases = [case for case in catalogue.cases if op_of(case) in OWN_DRAW_OPS[1:]]
    catalogue.canaries = [case for case in catalogue.canaries if op_of(case) in OWN_DRAW_OPS[1:]]
    assert {case.id for case in catalogue.cases} == {case.id for case in cases()}
    requests, responses = tmp_path / "requests.jsonl", tmp_path / "responses.jsonl"
    requests.write_bytes(b"".join(export(catalogue.cases, catalogue, "sha256:" + "0" * 64, str)))
    responses.write_bytes(b"".join(answer_requests(OwnNumbersEngine("own"), requests)))
    verdicts = judge_responses(responses, read_requests(requests, catalogue), catalogue)
    assert (verdicts.trouble, verdicts.canaries) == ([], [])
    failed = [each for each in verdicts.results if each.judgement.status != "pass"]
    assert [(each.case.id, each.judgement.detail) for each in failed] == []
    assert len(verdicts.results) == len(cases())


@pytest.mark.parametrize("each", declared(sampling_own_numbers), ids=lambda each: each.name)
def test_a_wrong_engine_is_found_by_the_records_that_say_so(each: Mutant) -> None:
    for name in KILLED_BY[each.name]:
        case = of(each.witness.op, name)
        assert verdict_on(ask(each.engine, case), case).status == "fail", name


def test_every_wrong_engine_has_a_record_that_says_so() -> None:
    assert set(KILLED_BY) == {each.name for each in declared(sampling_own_numbers)}


def test_a_right_engine_fails_every_record_with_a_wrong_law() -> None:
    for case in own_draw_canaries():
        assert verdict_on(ask(OwnNumbersEngine(), case), case).status == "fail", case.id


# ---- answers that are none


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        ([[[0], 20_000]], "to be drawn, got none of them"),
        ([[[2, 2, 2], 1]], "expected [2, 2, 2], which is impossible, never to come"),
        ([[[0], 5], [[0], 5]], "each possible list once"),
        ([[[1], -1]], "counts[0][1]: expected an integer >= 0"),
        ([[[1], True]], "counts[0][1]: expected an integer, got true or false"),
        ([[1, 20_000]], "counts[0][0]: expected a list, got an integer"),
        ([[[0], 7]], "expected 20000 draws in all, got 7"),
        ([[[1]]], "counts[0]: expected a list of length 2, got 1"),
        ({"1": 20_000}, "counts: expected a list, got an object"),
        (None, "counts: expected a list, got null"),
    ],
)
def test_counts_of_lists_that_are_none_fail(counts: object, sentence: str) -> None:
    found = verdict_on({"counts": counts}, of("stat_speculative", "one-draft"))
    assert found.status == "fail"
    assert sentence in found.detail


def test_an_impossible_list_that_never_came_may_be_listed() -> None:
    case = of("stat_speculative", "one-draft")
    right = ask(OwnNumbersEngine(), case)
    assert isinstance(right, Ok)
    more = {"counts": [*right.out["counts"], [[9, 9], 0]]}
    assert verdict_on(more, case).status == "pass"
    pairs = {"counts": [(tuple(tokens), n) for tokens, n in right.out["counts"]]}
    assert verdict_on(pairs, case).status == "pass"


def test_one_draw_of_a_list_that_filters_make_impossible_is_found() -> None:
    case = of("stat_speculative", "draft-of-the-two-best")
    right = ask(OwnNumbersEngine(), case)
    assert isinstance(right, Ok)
    (tokens, n), *rest = right.out["counts"]
    wrong = {"counts": [[tokens, n - 1], *rest, [[0, 0], 1]]}  # 0 was never drafted
    assert "[0, 0], which is impossible" in verdict_on(wrong, case).detail


COIN = small(
    "stat_batch",
    {"probs": pack([0.5, 0.0, 0.5]), "params": {}, "rows": 2, "draws": 400},
    judged_pairs([Fraction(1, 2), Fraction(0), Fraction(1, 2)], 2, 400, 100),
)


def calls(change: Callable[[list[list[Any]]], object] | None = None) -> list[list[int]]:
    drawn: list[list[int]] = (2 * np.random.default_rng(3).integers(0, 2, size=(400, 2))).tolist()
    if change is not None:
        change(drawn)
    return drawn


def after_the_other(drawn: list[list[int]]) -> None:
    """Let the first row draw what the other one drew in the call before."""
    for call in range(1, 400):
        drawn[call][0] = drawn[call - 1][1]


def as_before(drawn: list[list[int]]) -> None:
    for call in range(1, 400, 2):
        drawn[call][0] = drawn[call - 1][0]


def test_calls_of_independent_rows_pass() -> None:
    found = verdict_on({"tokens": calls()}, COIN)
    assert found.status == "pass"
    assert found.remark.startswith("the largest G is ")
    assert verdict_on({"tokens": tuple(map(tuple, calls()))}, COIN).status == "pass"


@pytest.mark.parametrize(
    ("tokens", "sentence"),
    [
        (calls()[:-1], "expected 400 calls, got 399"),
        (calls(lambda drawn: drawn[7].append(0)), "expected 2 tokens in each call, got ["),
        (calls(lambda drawn: drawn[7].__setitem__(0, 1)), "which is impossible"),
        (calls(lambda drawn: drawn[7].__setitem__(0, 2.0)), "tokens[7][0]: expected an integer"),
        ([[call[0]] * 2 for call in calls()], "rows 0 and 1 of a call, as pairs of independent"),
        (calls(after_the_other), "row 1 of a call and row 0 of the next"),
        (calls(as_before), "row 0 of a call and row 0 of the next"),
        ([[0, call[1]] for call in calls()], "expected"),
        (None, "tokens: expected a list, got null"),
    ],
)
def test_calls_that_are_wrong_fail(tokens: object, sentence: str) -> None:
    found = verdict_on({"tokens": tokens}, COIN)
    assert found.status == "fail"
    assert sentence in found.detail


@pytest.mark.parametrize(("shared", "least", "most"), [(0.5, 95, 100), (0.0, 0, 0)])
def test_rows_that_share_their_numbers_are_found_as_often_as_the_record_says(
    shared: float, least: int, most: int
) -> None:
    """A bit more than the share of calls that `power` says is found with 99 %."""
    assert "share their random numbers in 44 % of the calls" in COIN.verdict.power  # type: ignore[union-attr]
    generator = np.random.default_rng(7)
    found = 0
    for _ in range(100):
        tokens = 2 * generator.integers(0, 2, size=(COIN.input.draws, 2))
        same = generator.random(COIN.input.draws) < shared
        tokens[same, 1] = tokens[same, 0]
        found += verdict_on({"tokens": tokens.tolist()}, COIN).status == "fail"
    assert least <= found <= most


SEEDED = small(
    "seeds",
    {"probs": pack([0.25] * 4), "params": {}, "batches": [[7], [None, 7], [8, None]], "tokens": 3},
    Seeds(alpha="2^-4"),
)
GOOD = [[[0, 1, 2]], [[3, 1, 0], [0, 1, 2]], [[1, 1, 2], [2, 0, 3]]]


def with_row(batch: int, row: int, tokens: object) -> list[list[Any]]:
    return [
        [tokens if (b, r) == (batch, row) else its for r, its in enumerate(rows)]
        for b, rows in enumerate(GOOD)
    ]


def test_rows_of_one_seed_that_agree_pass_and_no_others_do() -> None:
    found = verdict_on({"batches": GOOD}, SEEDED)
    assert (found.status, found.remark) == ("pass", "4 rows that differ, 2 seeds")
    tuples = tuple(tuple(tuple(row) for row in rows) for rows in GOOD)
    assert verdict_on({"batches": tuples}, SEEDED).status == "pass"


@pytest.mark.parametrize(
    ("batches", "sentence"),
    [
        (with_row(1, 1, [0, 1, 3]),
         "row 1 of batch 1 (seed 7): expected the tokens of row 0 of batch 0 (seed 7)"),
        (with_row(2, 0, [0, 1, 2]), "expected other tokens than those of row 0 of batch 0"),
        (with_row(1, 0, [0, 1, 2]), "row 0 of batch 1 (without a seed): expected other tokens"),
        (with_row(2, 1, [3, 1, 0]), "expected other tokens than those of row 0 of batch 1"),
        (with_row(2, 1, [3, 3, 3]), "expected tokens that change, got [3, 3, 3]"),
        (with_row(2, 1, [3, 0]), "expected 3 tokens for each row"),
        (with_row(2, 1, [3, 0, 4]), "expected tokens from 0 to 3"),
        (with_row(2, 1, [3, 0, True]), "batches[2][1][2]: expected an integer, got true or false"),
        (with_row(2, 1, None), "batches[2][1]: expected a list, got null"),
        (GOOD[:2], "expected batches of [1, 2, 2] rows, got [1, 2]"),
        ([*GOOD[:2], GOOD[2][:1]], "expected batches of [1, 2, 2] rows, got [1, 2, 1]"),
        ("abc", "batches: expected a list, got a string"),
    ],
)  # fmt: skip
def test_seeds_that_do_not_count_fail(batches: object, sentence: str) -> None:
    found = verdict_on({"batches": batches}, SEEDED)
    assert found.status == "fail"
    assert sentence in found.detail


# ---- questions and verdicts that are none


@pytest.mark.parametrize(
    ("kind", "request_", "sentence"),
    [
        (SpeculativeStatInput, {"draft": [pack([0.5])], "target": [pack([0.5])], "draft_params": {},
                                "params": {}, "draws": 1}, "one row more|length"),
        (SpeculativeStatInput, {"draft": [pack([0.5])], "target": [pack([0.5])] * 3,
                                "draft_params": {}, "params": {}, "draws": 1}, "one row more"),
        (BatchStatInput, {"probs": pack([1.0]), "params": {}, "rows": 1, "draws": 2}, ">= 2"),
        (BatchStatInput, {"params": {}, "rows": 2, "draws": 2}, "exactly one of `probs`"),
        (SeedsInput, {"probs": pack([1.0]), "params": {}, "batches": [[-1]], "tokens": 1}, ">= 0"),
        (SeedsInput, {"probs": pack([1.0]), "params": {}, "batches": [[]], "tokens": 1}, "length"),
    ],
)  # fmt: skip
def test_a_question_must_be_whole(
    kind: type[msgspec.Struct], request_: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(msgspec.ValidationError, match=sentence):
        msgspec.convert(request_, kind)


def test_a_verdict_names_only_outcomes_that_it_lists() -> None:
    good = judged([Fraction(1, 2)] * 2, 1000, 100, outcomes=[[0], [1, 0]])
    content = msgspec.to_builtins(good)
    assert msgspec.convert(content, Stat) == good
    for part, value in (("bins", [[0], [2]]), ("never", [2]), ("must", [2])):
        with pytest.raises(msgspec.ValidationError, match="numbers of outcomes"):
            msgspec.convert({**content, part: value}, Stat)
    assert "outcomes" not in msgspec.to_builtins(judged([Fraction(1, 2)] * 2, 1000, 100))


def test_the_limit_of_a_batch_shares_its_risk_among_all_pairs() -> None:
    few, many = (judged_pairs([Fraction(1, 2)] * 2, rows, 400, 100) for rows in (2, 30))
    assert few.limit.values()[0] < many.limit.values()[0]
    assert few.alpha == many.alpha
    assert floats(few.shares.values(), "f64") == many.shares


def test_parameters_that_rows_of_a_step_do_not_have_are_refused() -> None:
    case = of("stat_speculative", "one-draft")
    asked = {**msgspec.to_builtins(case.input), "draft_params": {"p": pack([0.5])}}
    answer = OwnNumbersEngine().load_profile("standard").answer("stat_speculative", asked)
    assert answer == Refused("INVALID_PARAMETER", "p must be one of temperature, k, got 0.5")
    batch = {**msgspec.to_builtins(COIN.input), "params": {"k": 1}}
    answer = OwnNumbersEngine().load_profile("standard").answer("stat_batch", batch)
    assert isinstance(answer, Refused)
    assert "must not be given" in answer.message
