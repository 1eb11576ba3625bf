"""When 32-bit rounding may decide otherwise than the exact rule, as numbers.

An engine calculates in 32-bit floats. Where it keeps other tokens than the exact rule, its
test proves that rounding can be the reason: the quantity that decides lies closer to its
threshold than the rounding of the engine's own formula may carry it. A difference beyond
that bound fails.

The bounds, with u = 2**-24, gap = largest logit - logit, V tokens:

    e**-gap         relative (gap + 4) u    the subtraction, then exp, good to 2 units
    their sum       relative V/8 + 16 u     eight or more lanes, added one after another
    probability     relative (gap + V/8 + 24) u
    running sum     absolute (mean gap + V/8 + 32) u    torch adds up in 64 bits here
    log-probability absolute (2 gap + V/8 + 32) u, |log p| and its roundings included
    entropy         absolute (4 mean gap + 4 log V + V/8 + 64) u
    anything        absolute 2**-126        below, floats have fewer digits, or are zero

The deciding quantities are calculated here in 64 bits, so they are good to 2**-38 of their
size or better (see `whole_row.FLOAT_ERROR`), which is nothing beside u.
"""

import random
from collections.abc import Callable, Iterable
from decimal import Context, Decimal
from fractions import Fraction
from math import inf, log

import pytest
from hypothesis import strategies as st

pytest.importorskip("torch", reason="the bounds are calculated with PyTorch")

import torch

from tests.sampling.rows import rows, shares

U = 2.0**-24
TINY = 2.0**-126
DIGITS = Context(prec=60)


def long_row(size: int, seed: int, spread: float) -> list[float]:
    """Return a row as models have it: normal logits, a few peaks, ties from 16-bit rounding."""
    source = random.Random(seed)
    row = torch.tensor([source.gauss(0, spread) for _ in range(size)])
    for _ in range(source.randrange(4)):
        row[source.randrange(size)] += source.uniform(0, 12)
    if source.random() < 0.5:
        row = row.to(torch.bfloat16).to(torch.float32)
    if source.random() < 0.3:
        row[:: source.randrange(2, 9)] = -inf
    found: list[float] = row.tolist()
    return found if max(found) > -inf else [0.0] * size


LONG_ROWS = st.builds(
    long_row,
    st.sampled_from([7, 32, 151, 1000, 3001]),
    st.integers(0, 2**32),
    st.sampled_from([0.01, 1.0, 4.0]),
)
ROWS = rows() | LONG_ROWS
OPEN_SHARES = shares().filter(lambda share: share < 1)


class Row:
    """Probabilities, gaps and entropy of a row, in 64 bits."""

    def __init__(self, row: list[float]) -> None:
        self.logits = torch.tensor(row, dtype=torch.float64)
        self.size = len(row)
        self.p = self.logits.softmax(0)
        self.gaps = self.logits.max() - self.logits
        self.mean_gap = float((self.gaps * self.p).nansum())
        self.log_total = float((-self.gaps).exp().sum().log())
        self.entropy = self.log_total + self.mean_gap

    def probability_error(self, token: int) -> float:
        return float(self.gaps[token] + self.size / 8 + 24) * U

    def sum_error(self) -> float:
        return (self.mean_gap + self.size / 8 + 32) * U + TINY

    def entropy_error(self) -> float:
        return (4 * self.mean_gap + 4 * log(self.size) + self.size / 8 + 64) * U


Doubt = Callable[[Row, int], bool]
"""Says whether rounding may decide about a token."""


def assert_same(row: list[float], engine: set[int], ours: Iterable[int], doubt: Doubt) -> None:
    """Compare two kept sets; each token that differs must be one that rounding decides."""
    different = engine.symmetric_difference(ours)
    if different:
        numbers = Row(row)
        for token in different:
            assert doubt(numbers, token), f"token {token}: no rounding explains this"


def largest(row: list[float], tokens: Iterable[int]) -> list[float]:
    """Return the logits of tokens, largest first: what is kept, but for which of equals."""
    return sorted((row[token] for token in tokens), reverse=True)


def kept_in(row: Iterable[float]) -> set[int]:
    """Return the tokens of a row of logits that are possible."""
    return {token for token, logit in enumerate(row) if logit > -inf}


def supported(probabilities: Iterable[float]) -> set[int]:
    """Return the tokens that have a probability."""
    return {token for token, share in enumerate(probabilities) if share > 0}


def nearest_floats(shift: float, share: float) -> tuple[float, float]:
    """Return a share moved down and up by a rounding error, within (0, 1]."""
    return max(share - shift, TINY), min(share + shift, 1.0)


def assert_between(
    row: list[float],
    engine: set[int],
    ours: set[int],
    fewest: set[int],
    most: set[int],
    *,
    close: float,
) -> None:
    """Compare two sets of largest logits; where they differ, rounding must be able to do it.

    `fewest` and `most` are our own answers with every threshold moved by as much as the
    engine's rounding may move it, and `close` is how near two logits of `row` may lie to
    change places. Tokens too unlikely for 32 bits do not count.
    """
    if engine == ours:
        return
    numbers = Row(row)
    seen = {token for token in range(len(row)) if float(numbers.p[token]) >= TINY}
    engine, ours, fewest, most = (tokens & seen for tokens in (engine, ours, fewest, most))
    if engine == ours:
        return
    low = min(row[token] for token in engine)
    high = max((row[token] for token in seen - engine), default=-inf)
    assert high - low <= close, "a smaller logit is kept: no rounding explains this"
    message = f"{len(engine)} tokens, not {len(ours)}: no rounding explains this"
    assert len(fewest) <= len(engine) <= len(most), message


def uniform_of(exponential: float) -> Fraction:
    """Return the number u whose -log is an engine's exponential noise, to 60 digits."""
    return Fraction(DIGITS.exp(-Decimal(exponential)))
