"""The records about draws, random numbers, drafts, states, batches and calls hunt what they say."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache
from types import ModuleType
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from authoring.cases.sampling import (
    adaptive,
    batches,
    draws,
    draws_races,
    draws_refused,
    draws_several,
    random_numbers,
    random_streams,
    sequences,
    speculative,
    speculative_listed,
    statistics,
)
from authoring.cases.sampling.canaries import draw_canaries
from authoring.cases.sampling.draft import SamplerDraft, finish_sampler
from authoring.cases.sampling.random_streams import PUBLISHED
from authoring.cases.sampling.statistics_bins import (
    EXPECTED,
    SURE,
    bins_of,
    effect,
    judged,
    least,
    limit,
    upper_tail,
)
from tokenref.answers import Answer, Ok, Unsupported
from tokenref.engines.reference_samplers import SamplerSession
from tokenref.floats import floats, unpack
from tokenref.generators import CONVERSIONS, GENERATORS
from tokenref.judge import judge
from tokenref.operations import FLAGS
from tokenref.record import OWN_DRAW_OPS, Case, op_of
from tokenref.rules import all_choices, choices_of, is_open, points, rule_name, rule_names
from tokenref.subjects import SAMPLERS
from tokenref.verdicts import MustRefuse, Stat

TOPICS: tuple[ModuleType, ...] = (
    draws, draws_races, draws_several, draws_refused, random_streams,
    random_numbers, speculative, speculative_listed, adaptive, batches,
    sequences, statistics,
)  # fmt: skip
OPS = {
    "draw", "random_words", "uniforms", "speculative", "residual", "mirostat_1", "mirostat_2",
    "adaptive_p", "batch", "sequence", "stat",
}  # fmt: skip
RULED = ("draw", "speculative", "residual", "mirostat_1", "mirostat_2", "adaptive_p")


@cache
def drafts() -> tuple[SamplerDraft, ...]:
    """Return the cases, those about batches, seeds and complete steps aside."""
    every = (draft for topic in TOPICS for draft in topic.drafts())
    return tuple(draft for draft in every if draft.op == "stat" or draft.op not in OWN_DRAW_OPS)


@cache
def cases() -> tuple[Case, ...]:
    """Finish all drafts; no purpose may be met by an answer that there is not.

    That a case differs from a rule that cannot answer at all would prove nothing.
    """
    answer = SamplerSession.answer

    def strict(self: SamplerSession, op: str, request: Mapping[str, Any]) -> Answer:
        found = answer(self, op, request)
        assert not isinstance(found, Unsupported), found
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SamplerSession, "answer", strict)
        return tuple(map(finish_sampler, drafts()))


def ask(profile: str, case: Case) -> Answer:
    return SamplerSession(profile).answer(op_of(case), msgspec.to_builtins(case.input))


# ---- all of them


def test_every_case_can_be_finished_and_every_operation_has_some() -> None:
    assert {op_of(case) for case in cases()} == OPS
    assert 700 <= len(cases()) <= 1300


def test_ids_and_sentences_are_each_their_own() -> None:
    for part in ("id", "why"):
        counted = Counter(getattr(draft, part) for draft in drafts())
        assert [each for each, times in counted.items() if times > 1] == []
    assert all(25 <= len(draft.why) < 420 and draft.why.endswith(".") for draft in drafts())
    assert all(set(draft.flags) <= set(FLAGS) and draft.flags for draft in drafts())


def test_every_operation_has_questions_that_must_be_refused() -> None:
    refused = Counter(op_of(case) for case in cases() if isinstance(case.verdict, MustRefuse))
    assert set(refused) == OPS - {"stat"}


@pytest.mark.parametrize("op", RULED)
def test_every_choice_is_told_from_every_other_one(op: str) -> None:
    """For each choice there is a record that asks for it and that the other choice fails."""
    told: dict[tuple[str, Any], set[Any]] = defaultdict(set)
    for case in cases():
        if op_of(case) != op or "LongRow" in case.flags:
            continue
        asked = dict(choices_of(op, case.profile) or {})
        mine = all_choices(op, asked)
        for point, allowed in points(op).items():
            for other in allowed:
                rival = {**asked, point: other}
                if other == mine[point] or not is_open(op, point, asked):
                    continue
                kept = {name: value for name, value in rival.items() if is_open(op, name, rival)}
                answer = ask(rule_name(op, **kept), case)
                if judge(case, answer, SAMPLERS).status not in {"pass", "unsupported"}:
                    told[point, mine[point]].add(other)
    for point, allowed in points(op).items():
        for choice in allowed:
            comparable = set(allowed) - {choice}
            if point == "method":
                comparable = told[point, choice]  # not all methods take one question
                assert comparable or choice == "typical"
            assert told[point, choice] == comparable, (point, choice)


def test_every_method_generator_and_conversion_is_asked_for() -> None:
    asked = defaultdict(set)
    for case in cases():
        asked[op_of(case)].add(case.profile)
    assert asked["random_words"] == set(GENERATORS)
    assert asked["uniforms"] == set(CONVERSIONS)
    assert asked["draw"] == set(rule_names("draw"))
    assert len({each.name for each in PUBLISHED}) > 15


def test_a_random_number_of_every_edge_is_asked() -> None:
    values = {
        number
        for case in cases()
        if op_of(case) == "draw" and not isinstance(case.verdict, MustRefuse)
        for number in unpack(msgspec.to_builtins(case.input.uniforms))
    }
    assert {0.0, 1 - 2.0**-24, 1 - 2.0**-53, 0.5, 0.5 - 2.0**-25, 0.5 + 2.0**-24} <= values


def test_long_rows_are_as_long_as_vocabularies() -> None:
    rows = {
        (case.input.probs.n, case.input.probs.type) for case in cases() if "LongRow" in case.flags
    }
    assert rows == {(n, dtype) for n in (32_000, 128_256) for dtype in ("f32", "f16", "bf16")}


def test_a_right_engine_fails_every_canary() -> None:
    found = draw_canaries()
    assert {op_of(case) for case in found} == OPS - {"stat"}
    for case in found:
        answer = ask(case.profile, case)
        assert judge(case, answer, SAMPLERS).status in {"fail", "wrong_error"}, case.id


def test_another_row_of_a_batch_may_leave_out_its_stages() -> None:
    case = next(case for case in cases() if op_of(case) == "batch" and case.input.op == "chain")
    answer = ask(case.profile, case)
    assert isinstance(answer, Ok)
    short = {"rows": [{"keep": row["keep"]} for row in answer.out["rows"]]}
    assert judge(case, Ok(short), SAMPLERS).status == "pass"
    wrong = {"rows": [{**row, "stages": row["stages"][:-1]} for row in answer.out["rows"]]}
    assert judge(case, Ok(wrong), SAMPLERS).status == "fail"


# ---- plain programs


def plain_draw(case: Case, width: type[Any]) -> list[int]:
    """Draw as the shortest program does, with every number rounded to the width."""
    asked = msgspec.to_builtins(case.input)
    uniforms = np.array(unpack(asked["uniforms"])).astype(width)
    row = np.array(unpack(asked.get("probs", asked.get("logits"))))
    choices = all_choices("draw", choices_of("draw", case.profile) or {})
    with np.errstate(all="ignore"):
        if choices["method"] != "inverse cdf":
            waits = -np.log(uniforms) if choices["noise"] == "-log u" else -np.log1p(-uniforms)
            weights = row.astype(width)
            scores = weights - np.log(waits) if "logits" in asked else weights / waits
            scores = np.where(weights > (-np.inf if "logits" in asked else 0), scores, -np.inf)
            return list(np.argsort(-scores, kind="stable")[: asked.get("count", 1)])
        weights = np.exp(row - row.max()) if "logits" in asked else row
        sums = np.cumsum(weights.astype(width), dtype=width)
        side: Any = "left" if choices["boundary"] == "reach" else "right"
        return [int(np.searchsorted(sums, uniforms[0] * sums[-1], side=side))]


@pytest.mark.parametrize(("width", "excused"), [("float64", set()), ("float32", {"WideNumber"})])
def test_a_plain_program_fails_only_what_it_cannot_see(width: str, excused: set[str]) -> None:
    """It draws impossible tokens at the number 0; 32 bits round numbers of 53 away."""
    tried = 0
    for case in cases():
        asked = case.input
        if op_of(case) != "draw" or case.out is None or "torch" in case.profile:
            continue
        if asked.order is not msgspec.UNSET or ("method" not in case.profile and asked.count):
            continue
        tried += 1
        out = msgspec.to_builtins(case.out)
        if plain_draw(case, getattr(np, width)) != out.get("tokens", [out.get("token")]):
            at_zero = "reach" in case.profile and "as-walked" not in case.profile
            at_zero &= unpack(msgspec.to_builtins(asked.uniforms)) == [0.0]
            assert at_zero or excused & set(case.flags), case.id
    assert tried > 250


# ---- the chi-square law


@pytest.mark.parametrize(
    ("freedom", "limit_", "least_", "effect_"),
    [  # by scipy 1.16, at 1e-6 / 18 and a power of 99 %
        (1, 29.512558, 4.848e-15, 60.2015),
        (4, 39.475684, 6.667e-4, 70.6096),
        (10, 53.684243, 0.187320, 82.8415),
        (300, 448.590733, 187.551699, 236.148),
    ],
)
def test_limits_are_those_of_the_chi_square_law(
    freedom: int, limit_: float, least_: float, effect_: float
) -> None:
    alpha = Fraction(1, 18 * 10**6)
    found = limit(alpha, freedom)
    assert 0 <= float(found) - limit_ <= 1 / 1024 + 1e-6
    assert 0 <= least_ - float(least(alpha, freedom)) <= 1 / 1024 + 1e-6
    assert abs(float(effect(freedom, found, Fraction(99, 100))) - effect_) < 0.003


def test_tails_are_those_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is a peer, not needed")
    for freedom in (1, 2, 3, 8, 51, 400):
        for x in (0.25, 3, 30, 500):
            mine = float(upper_tail(Decimal(x), freedom))
            assert mine == pytest.approx(stats.chi2.sf(x, freedom), rel=1e-9, abs=1e-30)
        found = limit(Fraction(1, 10**7), freedom)
        needed = float(effect(freedom, found, Fraction(9, 10)))
        assert stats.ncx2.sf(float(found), freedom, needed) == pytest.approx(0.9, abs=1e-3)


# ---- draws that are counted


Law: TypeAlias = NDArray[np.float64]


ALONE: Final = ("/between-16-bits", "/filtered")
"""Rows of `stat` that have tests of their own."""


@cache
def laws() -> tuple[tuple[Case, list[float]], ...]:
    found = []
    counted = (c for c in cases() if op_of(c) == "stat" and not c.id.endswith(ALONE))
    for case, row in zip(counted, statistics._ROWS, strict=True):
        law = [float(share) for share in statistics.law_of(row)]
        found.append((case, [share / sum(law) for share in law]))
    return tuple(found)


def counts(drawn: Iterable[int]) -> Ok:
    return Ok({"counts": [[token, int(n)] for token, n in enumerate(drawn) if n]})


def test_bins_are_heavy_enough_and_hold_all_that_is_possible() -> None:
    for case, law in laws():
        verdict = case.verdict
        assert isinstance(verdict, Stat)
        tokens = [token for bin_ in verdict.bins for token in bin_]
        assert sorted(tokens + verdict.never) == list(range(len(law)))
        shares = verdict.shares.values()
        assert sum(shares) == pytest.approx(1, abs=1e-15)
        assert min(shares) * case.input.draws >= EXPECTED
        falling = [max(law[token] for token in bin_) for bin_ in verdict.bins]
        assert falling == sorted(falling, reverse=True)
        assert set(verdict.must) == {
            token for token, share in enumerate(law) if share * case.input.draws >= SURE
        }
        assert verdict.alpha == f"1e-6/{len(laws())}"
        assert "find with 99 %" in verdict.power


def test_light_tokens_are_pooled_and_a_light_rest_joins_the_bin_before() -> None:
    shares = [Fraction(n, 100) for n in (50, 0, 32, 10, 5, 3)]
    assert bins_of(shares, 100) == [[0], [2, 3, 4, 5]]
    assert bins_of(shares, 10_000) == [[0], [2], [3], [4], [5]]
    assert bins_of(shares, 10) == [[0, 2, 3, 4, 5]]


def test_an_honest_sampler_passes_two_thousand_runs() -> None:
    generator = np.random.default_rng(20250101)
    per_law = -(-2000 // len(laws()))
    for case, law in laws():
        for drawn in generator.multinomial(case.input.draws, law, size=per_law):
            found = judge(case, counts(drawn), SAMPLERS)
            assert found.status == "pass", (case.id, found.detail)
            assert "too good" not in found.remark


def test_counts_that_fit_too_well_are_passed_and_remarked() -> None:
    case, law = next((c, law) for c, law in laws() if c.id.endswith("/falling"))
    exact = [round(share * case.input.draws) for share in law]
    exact[0] += case.input.draws - sum(exact)
    found = judge(case, counts(exact), SAMPLERS)
    assert found.status == "pass"
    assert found.remark.startswith("too good to be true")


def test_an_exact_fit_of_few_bins_is_nothing_to_remark() -> None:
    """With few bins counts fit exactly once in some hundred runs; G is then 0, and not less."""
    case, law = next((c, law) for c, law in laws() if c.id.endswith("/holes-at-both-ends"))
    exact = counts(round(share * case.input.draws) for share in law)
    assert judge(case, exact, SAMPLERS).remark.startswith("G is 0,")


def hotter(law: Law) -> Law:
    return np.power(law, 1 / 1.05)


def tail_cut(law: Law) -> Law:
    order = np.argsort(law)
    gone = order[np.cumsum(law[order]) <= 0.1]
    return np.where(np.isin(np.arange(len(law)), gone), 0, law)


def second_never(law: Law) -> Law:
    return np.where(np.arange(len(law)) == np.argsort(law)[-2], 0, law)


def top_two_swapped(law: Law) -> Law:
    first, second = np.argsort(law, kind="stable")[::-1][:2]
    return _exchanged(law, first, second)


def _exchanged(law: Law, one: int, other: int) -> Law:
    changed = law.copy()
    changed[[one, other]] = law[[other, one]]
    return changed


def one_off(law: Law) -> Law:
    return np.roll(law, 1)


def leak(law: Law) -> Law:
    return 0.98 * law + 0.02 / len(law)


def best_more(law: Law) -> Law:
    best = min(1.03 * float(law.max()), 1.0)
    rest = law * ((1 - best) / (1 - float(law.max())))
    return np.where(np.arange(len(law)) == np.argmax(law), best, rest)


WRONG: Mapping[str, tuple[Callable[[Law], Law], int]] = {
    "temperature 5 % too high": (hotter, 10),
    "a tail of 10 % is cut": (tail_cut, 14),
    "a frequent token is never drawn": (second_never, 18),
    "the two best are exchanged": (top_two_swapped, 14),
    "the index is one off": (one_off, 15),
    "2 % are drawn evenly": (leak, 15),
    "the best token comes 3 % too often": (best_more, 11),
}
"""A sampler that is wrong, and how many of the records find it at least."""


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_sampler_is_found(name: str) -> None:
    change, enough = WRONG[name]
    generator = np.random.default_rng(7)
    found = 0
    for case, law in laws():
        wrong = change(np.array(law))
        drawn = generator.multinomial(case.input.draws, wrong / wrong.sum())
        found += judge(case, counts(drawn), SAMPLERS).status == "fail"
    assert found >= enough


def test_one_draw_of_an_impossible_token_is_found_wherever_there_is_one() -> None:
    generator = np.random.default_rng(7)
    tried = 0
    for case, law in laws():
        for token in case.verdict.never:  # type: ignore[union-attr]  # all of them count draws
            drawn = generator.multinomial(case.input.draws, law)
            drawn[np.argmax(drawn)] -= 1
            drawn[token] += 1
            found = judge(case, counts(drawn), SAMPLERS)
            assert found.status == "fail"
            assert f"[{token}], of probability 0" in found.detail
            tried += 1
    assert tried > 10


def test_a_likely_token_that_never_comes_is_found_even_where_the_limit_is_wide() -> None:
    verdict = msgspec.structs.replace(judged([Fraction(1, 2)] * 2, 1000, 1), limit=floats([1e9]))
    case = msgspec.structs.replace(laws()[6][0], verdict=verdict)
    drawn = [case.input.draws, 0]
    assert "expected [1] to be drawn" in judge(case, counts(drawn), SAMPLERS).detail


@pytest.mark.parametrize(
    "wrong",
    [
        {"counts": [[0, 50_000], [1, 49_999]]},
        {"counts": [[0, 50_000], [0, 50_000]]},
        {"counts": [[0, 50_000], [2, 50_000]]},
        {"counts": [[0, 100_001], [1, -1]]},
        {"counts": [[0, 50_000.0], [1, 50_000]]},
        {"counts": {"0": 50_000, "1": 50_000}},
        {"counts": [[0], [1]]},
        {"tokens": [0, 1]},
        {},
    ],
)
def test_counts_that_are_none_fail(wrong: dict[str, Any]) -> None:
    case = next(case for case, _ in laws() if case.id.endswith("/even-coin"))
    assert judge(case, Ok(wrong), SAMPLERS).status == "fail"


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("shares", {"f64": "3fe0000000000000"}),
        ("shares", {"f64": "3fe00000000000000000000000000000"}),
        ("limit", {"f64": ""}),
        ("least", {"f64": "00" * 16}),
    ],
)
def test_a_verdict_about_draws_must_be_whole(part: str, value: dict[str, str]) -> None:
    good = msgspec.to_builtins(judged([Fraction(1, 2)] * 2, 1000, 1))
    assert msgspec.convert(good, Stat) == judged([Fraction(1, 2)] * 2, 1000, 1)
    with pytest.raises(msgspec.ValidationError, match="must be one number"):
        msgspec.convert({**good, part: value}, Stat)
