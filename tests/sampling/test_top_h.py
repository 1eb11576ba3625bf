"""`top_h` keeps as many tokens as an entropy allows."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import inf
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref.errors import ParameterError, RowError
from sampling_ref.row import Ties
from tests.sampling.filtering import DIGITS, NO_NUMBERS, possible, top_h, top_h_logits, weights_of
from tests.sampling.rows import rows, shares, weights
from tests.sampling.test_eta import decimal
from tests.texts import drawn

Entropy = Literal["own", "shared"]

ENTROPIES: list[Entropy] = ["own", "shared"]
TIES: list[Ties] = ["lowest id", "highest id", "all"]
BESTS = st.none() | st.integers(1, 6)


def entropy_of(part: list[Fraction], whole: Fraction) -> Decimal:
    with localcontext(DIGITS):
        ps = [decimal(weight / whole) for weight in part]
        return -sum((p * p.ln() for p in ps), start=Decimal(0))


@drawn(40)
@given(weights(8), shares(), st.sampled_from(ENTROPIES), BESTS)
def test_the_printed_formula_decides(
    row: list[float], alpha: float, entropy: Entropy, best: int | None
) -> None:
    order = sorted(possible(row), key=lambda token: (-row[token], token))[:best]
    line = [Fraction(row[token]) for token in order]
    kept = top_h(row, alpha, entropy=entropy, best=best)
    assert kept == set(order[: len(kept)])
    assert kept
    with localcontext(DIGITS):
        bound = Decimal(alpha) * entropy_of(line, sum(line, start=Fraction(0)))
    for count in range(2, len(order) + 1):
        part = line[:count]
        found = entropy_of(part, sum(part if entropy == "own" else line, start=Fraction(0)))
        if abs(found - bound) > Decimal("1e-20"):
            assert (len(kept) >= count) == (found < bound)


@drawn(100)
@given(rows(most=10), shares(), st.sampled_from(ENTROPIES), BESTS, st.sampled_from(TIES))
def test_logits_are_decided_as_their_weights_are(
    row: list[float], alpha: float, entropy: Entropy, best: int | None, ties: Ties
) -> None:
    by_logits = top_h_logits(row, alpha, entropy=entropy, best=best, ties=ties)
    assert by_logits == top_h(weights_of(row), alpha, entropy=entropy, best=best, ties=ties)


@drawn(60)
@given(rows(most=8), shares(), st.sampled_from(ENTROPIES))
def test_logits_that_are_nearly_equal_are_told_apart(
    row: list[float], alpha: float, entropy: Entropy
) -> None:
    by_logits = top_h_logits(row, alpha, entropy=entropy, factor=2.0**-45)
    assert by_logits == top_h(weights_of(row, 2.0**-45), alpha, entropy=entropy)


@drawn(40)
@given(weights(8), st.sampled_from(ENTROPIES))
def test_the_whole_entropy_keeps_every_possible_token(row: list[float], entropy: Entropy) -> None:
    assert top_h(row, 1.0, entropy=entropy) == possible(row)


@drawn(40)
@given(weights(8), shares(), shares(), st.sampled_from(ENTROPIES), st.sampled_from(TIES))
def test_a_larger_alpha_keeps_more(
    row: list[float], alpha: float, more: float, entropy: Entropy, ties: Ties
) -> None:
    few = top_h(row, min(alpha, more), entropy=entropy, ties=ties)
    assert few <= top_h(row, max(alpha, more), entropy=entropy, ties=ties)


@drawn(40)
@given(weights(8), shares(), st.sampled_from(ENTROPIES), st.integers(0, 5))
def test_ties_and_least(row: list[float], alpha: float, entropy: Entropy, least: int) -> None:
    low = top_h(row, alpha, entropy=entropy, least=least)
    high = top_h(row, alpha, entropy=entropy, least=least, ties="highest id")
    every = top_h(row, alpha, entropy=entropy, least=least, ties="all")
    assert len(low) == len(high) >= min(least, len(possible(row)))
    assert every == {t for t in possible(row) if low and row[t] >= min(row[k] for k in low)}


@drawn(40)
@given(rows(most=8), shares(), st.sampled_from([0.5, 1.25]), st.sampled_from(ENTROPIES))
def test_a_factor_multiplies_the_logits(
    row: list[float], alpha: float, factor: float, entropy: Entropy
) -> None:
    multiplied = [x if x == -inf else Fraction(x) * Fraction(factor) for x in row]
    assert top_h_logits(row, alpha, factor=factor, entropy=entropy) == top_h_logits(
        multiplied, alpha, entropy=entropy
    )


@pytest.mark.parametrize("count", [1, 4, 16, 64])
def test_equal_tokens_at_the_bound(count: int) -> None:
    """log2 of the number kept is half of log2 of the count; or half of them are kept."""
    for function in (top_h, top_h_logits):
        assert len(function([1.0] * count, 0.5)) == round(count**0.5)
        assert len(function([1.0] * count, 0.5, entropy="shared")) == max(1, count // 2)
        assert len(function([1.0] * count, 0.5 - 2.0**-53)) == max(1, round(count**0.5) - 1)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("entropy", ENTROPIES)
def test_equal_logits_are_taken_as_equal_weights_are(ties: Ties, entropy: Entropy) -> None:
    for alpha in (0.25, 0.5, 0.75, 1.0):
        by_logits = top_h_logits([-7.5, -inf, -7.5, -7.5, -7.5], alpha, ties=ties, entropy=entropy)
        assert by_logits == top_h([0.5, 0, 0.5, 0.5, 0.5], alpha, ties=ties, entropy=entropy)


@pytest.mark.parametrize(
    ("alpha", "own", "shared"),
    [(0.25, 1, 1), (0.64, 2, 1), (0.75, 2, 2), (0.86, 2, 2), (0.9, 3, 3)],
)
def test_four_logits_one_apart(alpha: float, own: int, shared: int) -> None:
    """Of 0.948 nats, the first tokens have 0, 0.582, 0.832; their terms 0.284, 0.625, 0.837."""
    row = [3.0, 2.0, 1.0, 0.0]
    for weights_or_logits in (top_h(weights_of(row), alpha), top_h_logits(row, alpha)):
        assert len(weights_or_logits) == own
    for function, numbers in ((top_h, weights_of(row)), (top_h_logits, row)):
        assert len(function(numbers, alpha, entropy="shared")) == shared


def test_only_the_best_take_part() -> None:
    row = [8.0] * 4 + [1.0] * 12
    assert top_h(row, 0.5, best=4) == top_h([8.0] * 4, 0.5) == {0, 1}
    assert len(top_h(row, 0.5)) > 2
    assert top_h([2.0, 1.0, 1.0], 1.0, best=2, ties="highest id") == {0, 2}
    assert top_h([2.0, 1.0, 1.0], 1.0, best=2, ties="all") == {0, 1, 2}


def test_a_row_whose_entropy_no_float_can_hold() -> None:
    assert top_h_logits([0.0, -1000.0], 0.5) == {0}
    assert top_h_logits([0.0, -1000.0], 1.0) == {0, 1}
    assert top_h_logits([0.0, -1000.0], 0.5, entropy="shared") == {0}
    assert top_h_logits([0.0, -1e30], 0.5) == {0}


@pytest.mark.parametrize("alpha", [*NO_NUMBERS, 0.0, -0.5, 1.5])
def test_an_alpha_outside_its_domain_is_an_error(alpha: Any) -> None:
    for function in (top_h, top_h_logits):
        with pytest.raises(ParameterError, match=r"^alpha must be in \(0, 1\], got "):
            function([0.5, 0.5], alpha)


@pytest.mark.parametrize("name", ["least", "entropy", "best", "ties", "factor"])
def test_other_parameters_outside_their_domains_are_errors(name: str) -> None:
    wrong: dict[str, Any] = {name: -1}
    with pytest.raises(ParameterError, match=f"^{name} must be "):
        top_h_logits([0.5, 0.5], 0.5, **wrong)


def test_a_row_without_a_possible_token_is_an_error() -> None:
    with pytest.raises(RowError):
        top_h([0.0], 0.5)
    with pytest.raises(RowError):
        top_h_logits([-inf], 0.5)
