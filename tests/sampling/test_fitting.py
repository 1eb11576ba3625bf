"""What fits below a share: exllamav2's heap, on weights and on logits; and its heap for top-k."""

from collections.abc import Callable
from fractions import Fraction
from heapq import heappop, heappush
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref import step
from sampling_ref.numbers.orders import ORDERS
from sampling_ref.row import Candidates
from sampling_ref.steps.frequency_penalty import frequency_penalty
from sampling_ref.steps.presence_penalty import presence_penalty
from tests.sampling.filtering import top_p, top_p_logits, weights_of
from tests.sampling.rows import rows, shares, weights
from tests.texts import drawn


def by_the_heap(row: list[float] | list[Fraction], most: Fraction) -> set[int]:
    """Follow the engine: what cannot enter is passed over, and the smallest leave."""
    heap: list[tuple[Fraction, int]] = []
    total = Fraction(0)
    for token, weight in enumerate(map(Fraction, row)):
        if not weight or (total > most and weight < heap[0][0]):
            continue
        heappush(heap, (weight, token))
        total += weight
        while total > most and len(heap) > 1:
            total -= heappop(heap)[0]
    return {token for _, token in heap}


@drawn(100)
@given(weights(10), shares())
def test_weights_fit_as_in_the_engine(row: list[float], share: float) -> None:
    most = Fraction(share) * sum(map(Fraction, row))
    assert top_p(row, share, boundary="fitting") == by_the_heap(row, most)


@drawn(60)
@given(rows(most=10), shares(), st.sampled_from([0.5, 1.0, 2.0]))
def test_logits_fit_as_their_weights_do(row: list[float], share: float, factor: float) -> None:
    exact = weights_of(row, factor)
    expected = by_the_heap(exact, Fraction(share) * sum(exact))
    assert top_p_logits(row, share, boundary="fitting", factor=factor) == expected


def test_equal_logits_meet_a_share_exactly() -> None:
    assert top_p_logits([0.0] * 8, Fraction(3, 8), boundary="fitting") == {5, 6, 7}
    assert top_p_logits([0.0] * 8, Fraction(3, 8) - Fraction(1, 2**60), boundary="fitting") == {
        6,
        7,
    }
    assert top_p_logits([0.0] * 4, Fraction(1), boundary="fitting") == {0, 1, 2, 3}


def test_a_share_may_be_one_of_a_larger_row() -> None:
    assert top_p_logits([0.0, 0.0], Fraction(1, 4), total=[0.0] * 4, boundary="fitting") == {1}
    assert top_p_logits([0.0, 0.0], Fraction(1, 2), total=[0.0] * 4, boundary="fitting") == {0, 1}
    assert top_p_logits([0.0] * 2, 0.25, boundary="fitting", total=[0.0] * 4) == {1}
    assert top_p([1.0, 1.0], 0.25, boundary="fitting", total=4) == {1}


def test_one_token_stays_however_small_the_share() -> None:
    assert top_p([0.25, 0.5, 0.25], Fraction(1, 10**9), boundary="fitting") == {1}
    assert top_p_logits([0.0, 1.0, -inf], Fraction(1, 10**9), boundary="fitting") == {1}
    assert top_p([0.25, 0.5], 0.0, boundary="fitting", zero="best") == {1}


def test_never_fewer_than_the_least() -> None:
    assert top_p([0.5, 0.25, 0.25], 0.5, boundary="fitting", least=2) == {0, 1}
    assert top_p_logits([2.0, 1.0, 0.0], 0.25, boundary="fitting", least=2) == {0, 1}


def test_who_comes_when_matters() -> None:
    falling = [Fraction(share, 20) for share in (10, 8, 1, 1)]
    assert top_p(falling, Fraction(3, 5), boundary="fitting") == {0, 2, 3}
    assert top_p(falling[::-1], Fraction(3, 5), boundary="fitting") == {3}


@pytest.mark.parametrize("precision", ["exact", "f32"])
def test_the_engine_keeps_what_fits_in_both_precisions(precision: Any) -> None:
    row = step("exllamav2", "top_p", [3.0, 2.5, 1.0], top_p=0.75, precision=precision)
    assert row == [3.0, -inf, 1.0]


@drawn(60)
@given(rows(most=10, impossible=False), st.integers(1, 10))
def test_a_heap_holds_the_largest_falling(row: list[float], count: int) -> None:
    everything = Candidates(range(len(row)), row)
    found = ORDERS["heap"](everything, min(count, len(row)))
    if count >= len(row):
        assert found is everything
        return
    assert sorted(found.logits) == sorted(row)[-count:]
    pairs = list(zip(found.logits, found.tokens, strict=True))
    assert pairs == sorted(pairs, reverse=True)
    assert all(row[token] == logit for logit, token in pairs)


def test_a_newcomer_of_the_same_size_does_not_enter_the_heap() -> None:
    assert list(ORDERS["heap"](Candidates(range(4), [1.0, 1.0, 1.0, 1.0]), 2).tokens) == [1, 0]
    assert list(ORDERS["heap"](Candidates(range(4), [1.0, 1.0, 1.0, 2.0]), 2).tokens) == [3, 1]


@pytest.mark.parametrize("penalty", [frequency_penalty, presence_penalty])
def test_the_oldest_tokens_of_the_prompt_may_be_left_out_but_no_others(
    penalty: Callable[..., list[Any]],
) -> None:
    for skipped, expected in ((0, [0.0, 0.0]), (1, [1.0, 0.0]), (9, [1.0, 1.0])):
        changed = penalty([1.0, 1.0], [0, 1], 1, scope="all", skipped=skipped, prompt_length=2)
        assert changed == expected
    assert penalty([1.0], [0], 1, scope="all", skipped=1) == [0.0]
