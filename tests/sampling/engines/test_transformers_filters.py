"""Transformers' filters and ours keep the same tokens, except where 32-bit rounding decides.

The engine calculates in 32-bit floats. Where it keeps other tokens than the exact rule, the
test proves that rounding can be the reason: for each token that differs, the quantity that
decides about it lies closer to its threshold than the rounding of the engine's own formula
may carry it. A difference beyond that bound fails.

The bounds stand in `rounding`.
"""

from collections.abc import Callable, Iterable
from math import exp, inf, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch", reason="the engine needs PyTorch")
pytest.importorskip("transformers", reason="this file is about transformers")

import torch
from transformers import (
    EpsilonLogitsWarper,
    EtaLogitsWarper,
    MinPLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
    TypicalLogitsWarper,
)
from transformers.generation.logits_process import TopHLogitsWarper

from tests.sampling.engines.rounding import (
    OPEN_SHARES,
    ROWS,
    TINY,
    Doubt,
    Row,
    U,
    assert_same,
    largest,
    long_row,
)
from tests.sampling.filtering import (
    epsilon_logits,
    eta_logits,
    min_p_logits,
    top_h_logits,
    top_k_logits,
    top_p_logits,
    typical_logits,
)
from tests.sampling.rows import rows, shares
from tests.texts import CAMPAIGN, drawn


def kept_by(warper: Callable[..., torch.Tensor], row: list[float]) -> set[int]:
    scores = torch.tensor([row])
    after = warper(torch.zeros((1, 1), dtype=torch.long), scores)[0].tolist()
    assert scores[0].tolist() == row
    kept = {token for token, logit in enumerate(after) if logit > -inf}
    assert all(after[token] == row[token] for token in kept)
    return kept


# ------------------------------------------------------------------------------ top-k


@drawn(60)
@given(ROWS, st.integers(1, 60))
def test_top_k_is_the_same(row: list[float], k: int) -> None:
    assert kept_by(TopKLogitsWarper(k), row) == top_k_logits(row, k, ties="all")


# ------------------------------------------------------------------------------ top-p


def sorted_upwards(row: list[float]) -> list[int]:
    """Return the order that the engine's sort finds: not stable in rows longer than 16."""
    found: list[int] = torch.sort(torch.tensor(row)).indices.tolist()
    return found


def assert_same_nucleus(row: list[float], engine: set[int], ours: frozenset[int], p: float) -> None:
    """Compare nuclei: the same number of the largest logits, or rounding decides about more.

    Which of equals the engine takes depends on a sort that is not stable in long rows.
    """
    order = sorted(range(len(row)), key=lambda token: (row[token], token))
    for kept in (engine, ours):
        assert largest(row, kept) == largest(row, order)[: len(kept)]
    if order == sorted_upwards(row) and len(engine) == len(ours):
        assert engine == ours
    numbers = Row(row)
    upwards = numbers.p[order].cumsum(0).tolist()[::-1]
    for place in range(*sorted((len(engine), len(ours)))):
        distance = abs(upwards[place] - (1 - p))
        assert distance <= numbers.sum_error() + U, f"{place} tokens: no rounding explains this"


@drawn(60)
@given(ROWS, shares() | st.just(0.0), st.sampled_from([1, 1, 3]))
def test_top_p_is_the_same(row: list[float], p: float, least: int) -> None:
    engine = kept_by(TopPLogitsWarper(p, min_tokens_to_keep=least), row)
    ours = top_p_logits(row, p, ties="highest id", zero="best", least=least)
    assert_same_nucleus(row, engine, ours, p)


# ------------------------------------------------------------------------------ min-p


def min_p_doubt(m: float) -> Doubt:
    def doubt(row: Row, token: int) -> bool:
        error = float(row.gaps[token] + 16) * U * m + TINY
        return abs(float((-row.gaps[token]).exp()) - m) <= error

    return doubt


@drawn(60)
@given(ROWS, shares() | st.just(0.0))
def test_min_p_is_the_same(row: list[float], m: float) -> None:
    engine = kept_by(MinPLogitsWarper(m), row)
    assert_same(row, engine, min_p_logits(row, m), min_p_doubt(m))


@drawn(60)
@given(rows(), shares(), st.integers(2, 5))
def test_min_p_keeps_at_least_as_many(row: list[float], m: float, least: int) -> None:
    """Which of nearly equal tokens fill up the number is decided on rounded probabilities."""
    engine = kept_by(MinPLogitsWarper(m, min_tokens_to_keep=least), row)
    ours = min_p_logits(row, m, least=least)

    def doubt(numbers: Row, token: int) -> bool:
        last = min(float(numbers.p[other]) for other in ours)
        error = (numbers.probability_error(token) + 16 * U) * last + TINY
        return min_p_doubt(m)(numbers, token) or abs(float(numbers.p[token]) - last) <= error

    assert_same(row, engine, ours, doubt)


# ---------------------------------------------------------------------------- typical


def typical_doubt(mass: float) -> Doubt:
    def doubt(row: Row, token: int) -> bool:
        """Say so, as a token is kept if those nearer to the entropy fall short of the mass."""
        far = (row.gaps - row.mean_gap).abs()
        error = (2 * row.gaps + row.size / 8 + 32) * U + row.entropy_error()
        error = error + far * U
        surely_nearer = far + error < far[token] - error[token]
        maybe_nearer = far - error <= far[token] + error[token]
        low, high = float(row.p[surely_nearer].sum()), float(row.p[maybe_nearer].sum())
        slack = row.sum_error() + U
        return low - slack <= mass <= high + slack

    return doubt


@drawn(60)
@given(ROWS, OPEN_SHARES)
def test_typical_is_the_same(row: list[float], mass: float) -> None:
    engine = kept_by(TypicalLogitsWarper(mass), row)
    assert_same(row, engine, typical_logits(row, mass), typical_doubt(mass))


# ---------------------------------------------------------------------- epsilon and eta


def epsilon_doubt(cutoff: float) -> Doubt:
    def doubt(row: Row, token: int) -> bool:
        error = (row.probability_error(token) + U) * cutoff + TINY
        return abs(float(row.p[token]) - cutoff) <= error

    return doubt


@drawn(60)
@given(ROWS, OPEN_SHARES | st.sampled_from([0.0003, 0.004]), st.integers(1, 4))
def test_epsilon_is_the_same(row: list[float], cutoff: float, least: int) -> None:
    engine = kept_by(EpsilonLogitsWarper(cutoff, min_tokens_to_keep=least), row)
    ours = epsilon_logits(row, cutoff, least=least, ties="all")
    assert_same(row, engine, ours, epsilon_doubt(cutoff))


def eta_doubt(cutoff: float) -> Doubt:
    def doubt(row: Row, token: int) -> bool:
        eta = min(cutoff, sqrt(cutoff) * exp(-row.entropy))
        error = (row.probability_error(token) + row.entropy_error() + 4 * U) * eta + TINY
        return abs(float(row.p[token]) - eta) <= error

    return doubt


@drawn(60)
@given(ROWS, OPEN_SHARES | st.sampled_from([0.0003, 0.004]), st.integers(1, 4))
def test_eta_is_the_same(row: list[float], cutoff: float, least: int) -> None:
    engine = kept_by(EtaLogitsWarper(cutoff, min_tokens_to_keep=least), row)
    ours = eta_logits(row, cutoff, least=least, ties="all")
    assert_same(row, engine, ours, eta_doubt(cutoff))


# ------------------------------------------------------------------------------ top-h


def assert_same_number(row: list[float], engine: set[int], ours: Iterable[int], h: float) -> None:
    """Which of equals the engine takes is an accident of its top-k, so numbers are compared."""
    low, high = sorted((len(engine), len(list(ours))))
    best = sorted((logit for logit in row if logit > -inf), reverse=True)[:100]
    numbers = Row(best)
    terms = torch.nan_to_num(numbers.p * (numbers.gaps + numbers.log_total)).cumsum(0)
    error = numbers.entropy_error() * (1 + numbers.log_total) + TINY
    for count in range(low, high):
        distance = float(terms[count]) - h * float(terms[-1])
        assert abs(distance) <= error, f"{count} tokens: no rounding explains this"


@drawn(60)
@given(ROWS, shares())
def test_top_h_is_the_same(row: list[float], h: float) -> None:
    engine = kept_by(TopHLogitsWarper(h), row)
    ours = top_h_logits(row, h, entropy="shared", best=100)
    if largest(row, engine) != largest(row, ours):
        assert_same_number(row, engine, ours, h)


# ------------------------------------------------- where nothing is excused, and controls


@pytest.mark.parametrize("size", [1, 2, 4, 16])
@pytest.mark.parametrize("eighths", range(1, 8))
def test_nothing_is_excused_where_32_bits_are_exact(size: int, eighths: int) -> None:
    """Equal logits, a power of two of them, and dyadic thresholds: no operation rounds."""
    row, share = [0.5] * size, eighths / 8
    every = set(range(size))
    assert kept_by(TopPLogitsWarper(share), row) == top_p_logits(row, share, ties="highest id")
    assert kept_by(TypicalLogitsWarper(share), row) == typical_logits(row, share) == every
    kept = kept_by(EpsilonLogitsWarper(share), row)
    assert kept == epsilon_logits(row, share, ties="all") == every
    assert kept_by(MinPLogitsWarper(1.0), row) == min_p_logits(row, 1.0) == every


def test_a_threshold_met_exactly() -> None:
    """As above, but some tokens are impossible, so that it matters which side equality is on."""
    row = [0.5, -inf, 0.5, 0.5, 0.5]
    assert kept_by(TopPLogitsWarper(0.5), row) == {3, 4}
    assert top_p_logits(row, 0.5, ties="highest id") == {3, 4}
    assert top_p_logits(row, 0.5, ties="highest id", boundary="exceed") == {2, 3, 4}
    assert kept_by(EpsilonLogitsWarper(0.25), row) == {0, 2, 3, 4}
    assert epsilon_logits(row, 0.25) == {0, 2, 3, 4}
    assert epsilon_logits(row, 0.25, equality="removed") == {0}


@pytest.mark.parametrize("wrong", ["share", "boundary", "base"])
def test_the_proof_does_not_excuse_a_wrong_rule(wrong: str) -> None:
    """The bound is narrow enough to catch a nucleus that is one token off."""
    row = [3.0, 2.0, 1.0, 0.5, 0.0, -1.0, -2.0]
    engine = kept_by(TopPLogitsWarper(0.75), row)
    ours = {
        "share": top_p_logits(row, 0.75 + 2.0**-3),
        "boundary": top_p_logits(row, 0.75, boundary="within"),
        "base": top_p_logits(row, 0.75, total=[*row, 2.0]),
    }[wrong]
    assert engine == top_p_logits(row, 0.75)
    with pytest.raises(AssertionError, match="no rounding explains this"):
        assert_same_nucleus(row, engine, ours, 0.75)


def test_the_proofs_of_the_other_filters_excuse_no_wrong_rule() -> None:
    row = [3.0, 2.0, 1.0, 0.5, 0.0, -1.0, -2.0]
    pairs: list[tuple[set[int], frozenset[int], Doubt]] = [
        (kept_by(MinPLogitsWarper(0.1), row), min_p_logits(row, 0.3), min_p_doubt(0.1)),
        (kept_by(TypicalLogitsWarper(0.5), row), typical_logits(row, 0.9), typical_doubt(0.5)),
        (kept_by(EpsilonLogitsWarper(0.05), row), epsilon_logits(row, 0.2), epsilon_doubt(0.05)),
        (kept_by(EtaLogitsWarper(0.01), row), eta_logits(row, 0.3), eta_doubt(0.01)),
    ]
    for engine, ours, doubt in pairs:
        assert engine != ours
        with pytest.raises(AssertionError, match="no rounding explains this"):
            assert_same(row, engine, ours, doubt)
    engine = kept_by(TopHLogitsWarper(0.5), row)
    with pytest.raises(AssertionError, match="no rounding explains this"):
        assert_same_number(row, engine, top_h_logits(row, 0.5), 0.5)  # the paper's entropy


@pytest.mark.parametrize("size", [4, 16, 17, 100])
def test_equals_are_taken_in_the_order_of_a_sort_that_is_not_stable(size: int) -> None:
    """Up to sixteen equal tokens lose the lowest ids; of seventeen, nobody can say which."""
    row = [0.5] * size
    engine = kept_by(TopPLogitsWarper(0.5), row)
    ours = top_p_logits(row, 0.5, ties="highest id")
    assert engine == set(sorted_upwards(row)[-len(ours) :])


def test_decimal_probabilities_that_sum_to_the_mass_are_decided_by_rounding() -> None:
    """3/5 of the mass are 3 * 1/5, but perhaps not in 32 bits: then everything is kept."""
    row = torch.tensor([0.4, 0.2, 0.2, 0.2]).log().tolist()
    engine = kept_by(TypicalLogitsWarper(0.6), row)
    assert engine >= {1, 2, 3}
    assert_same(row, engine, {1, 2, 3}, typical_doubt(0.6))
    assert_same(row, {0, 1, 2, 3}, typical_logits(row, 0.6), typical_doubt(0.6))


def test_a_whole_entropy_loses_what_32_bits_cannot_hold() -> None:
    """0 * log 0 is NaN in the engine, and NaN is not within any bound."""
    assert top_h_logits([0.0, -200.0], 1.0) == {0, 1}
    assert kept_by(TopHLogitsWarper(1.0), [0.0, -200.0]) == {0}


@pytest.mark.parametrize("spread", [2.0, 0.01][: min(2, CAMPAIGN)])
def test_a_whole_vocabulary_is_filtered_the_same_way(spread: float) -> None:
    row = long_row(128_256, 7, spread)
    assert kept_by(TopKLogitsWarper(50), row) == top_k_logits(row, 50, ties="all")
    engine = kept_by(TopPLogitsWarper(0.9), row)
    assert_same_nucleus(row, engine, top_p_logits(row, 0.9, ties="highest id"), 0.9)
    engine = kept_by(MinPLogitsWarper(0.05), row)
    assert_same(row, engine, min_p_logits(row, 0.05), min_p_doubt(0.05))
    engine = kept_by(TypicalLogitsWarper(0.9), row)
    assert_same(row, engine, typical_logits(row, 0.9), typical_doubt(0.9))
    engine = kept_by(EpsilonLogitsWarper(0.0003), row)
    assert_same(row, engine, epsilon_logits(row, 0.0003, ties="all"), epsilon_doubt(0.0003))
    engine = kept_by(EtaLogitsWarper(0.0003), row)
    assert_same(row, engine, eta_logits(row, 0.0003, ties="all"), eta_doubt(0.0003))
    engine = kept_by(TopHLogitsWarper(0.4), row)
    ours = top_h_logits(row, 0.4, entropy="shared", best=100)
    if largest(row, engine) != largest(row, ours):
        assert_same_number(row, engine, ours, 0.4)
