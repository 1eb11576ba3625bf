"""The power of tests on seeded bugs: the statistics, and the table of the book."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import power_divergence

from authoring.power import (
    LEVEL,
    MARK,
    PAGE,
    PARAMETERS,
    ROWS,
    SIMILAR,
    TESTS,
    cosine,
    p_values,
    page,
    right,
    rows,
    softmax,
    tokens_of,
)
from sampling_ref.draws.inverse_cdf import inverse_cdf
from sampling_ref.numbers.exact import WEIGHTS


@given(st.lists(st.integers(1, 50), min_size=2, max_size=6), st.integers(0, 2**32))
def test_p_values_are_those_of_scipy(weights: list[int], seed: int) -> None:
    shares = [weight / sum(weights) for weight in weights]
    tokens = Random(seed).choices(range(len(shares)), shares, k=5 * 300)
    observed = [tokens.count(token) for token in range(len(shares))]
    expected = [share * len(tokens) for share in shares]
    if min(expected) < 5:
        return
    for value, kind in zip(p_values(shares, tokens), ("pearson", "log-likelihood"), strict=True):
        wanted = power_divergence(observed, expected, lambda_=kind).pvalue
        assert value == pytest.approx(wanted, rel=1e-6, abs=1e-12)


def test_tokens_are_those_of_inverse_cdf_and_no_right_sampler_is_suspected() -> None:
    shares = [1 / 2, 1 / 4, 0.0, 1 / 8, 1 / 8]
    numbers = [number / 64 for number in range(64)]
    drawn = [inverse_cdf(shares, number, numbers=WEIGHTS) for number in numbers]
    assert tokens_of(shares, numbers) == drawn
    law = softmax(rows()[0])
    tokens = Random(3).choices(range(len(law)), law, k=10_000)
    assert min(p_values(law, tokens)) > 0.001
    assert cosine(law, law) == 1.0


@pytest.mark.parametrize(
    ("op", "count"),
    [(op, 1 if op == "draw" else ROWS) for ops in PARAMETERS.values() for op in ops],
)
def test_no_test_suspects_the_reference(op: str, count: int) -> None:
    for number in range(count):
        seen = right(op, "standard", number)
        assert min(p_values(seen.law, seen.tokens)) > LEVEL / count
        assert cosine(seen.shares, seen.law) > SIMILAR


def test_the_table_of_the_book_is_what_is_measured() -> None:
    path = Path(__file__).parent.parent / PAGE
    text = path.read_text("utf-8")
    assert page(text) == text
    for test in TESTS:
        assert f" {test} |" in text.partition(MARK)[2]
