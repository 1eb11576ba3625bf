"""transformers' `_speculative_sampling` and ours, given the same random numbers.

The engine computes both rows with a softmax in 32-bit floats. Ours takes these floats as
the exact numbers they are, so the two may differ only where 32-bit division or the last
digits of a sum decide; such cases are set aside by a bound and counted.
"""

from fractions import Fraction
from math import inf
from typing import Any, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref.speculative import (
    ACCEPTANCE_RULES,
    Verified,
    accept,
    ensemble,
    residual,
    verify_chain,
)
from tests.sampling.rows import TIED, uniforms
from tests.texts import drawn

torch = pytest.importorskip("torch", reason="transformers calculates with torch")
utils = pytest.importorskip("transformers.generation.utils", reason="the engine under test")

CLOSE = Fraction(1, 2**20)  # 32-bit softmax, division and sums err by less
RULE = ACCEPTANCE_RULES["transformers"]

Rows = list[list[float]]


class GivenNumbers:
    """Random numbers from a list in place of torch's, for the length of a `with` block.

    Acceptance takes `coins`; the draw at the end walks the running sum with `last`, and
    its row is kept as `row`.
    """

    def __init__(self, coins: list[float], last: float) -> None:
        self.coins, self.last = coins, last
        self.row: list[float] = []
        self.patch = pytest.MonkeyPatch()

    def __enter__(self) -> Self:  # noqa: D105 - see the class
        self.patch.setattr(torch, "rand_like", self._coins)
        self.patch.setattr(torch, "multinomial", self._draw)
        return self

    def __exit__(self, *_: object) -> None:  # noqa: D105 - see the class
        self.patch.undo()

    def _coins(self, like: Any) -> Any:
        return torch.tensor(self.coins, dtype=like.dtype).reshape(like.shape)

    def _draw(self, row: Any, num_samples: int) -> Any:
        assert num_samples == 1
        self.row = row[0].tolist()
        running = torch.cumsum(row[0].double(), 0)
        above = (running > self.last * running[-1]).int()
        return torch.argmax(above).reshape(1, 1)


def engine(
    targets: Rows, drafts: Rows, tokens: list[int], numbers: GivenNumbers, weight: float | None
) -> Verified:
    """Return what transformers makes of rows of logits."""
    with numbers:
        out, matches = utils._speculative_sampling(
            torch.tensor([[0, *tokens]]),
            torch.tensor([drafts]),
            len(tokens),
            torch.tensor([targets]),
            weight,
        )
    return Verified(tuple(out[0].tolist()), int(matches))


def weights_of(logits: list[float]) -> list[float]:
    """Return torch's 32-bit softmax: the rows that the engine sees."""
    shares: list[float] = torch.tensor(logits).softmax(-1).tolist()
    return shares


def is_close_call(p: list[float], q: list[float], token: int, u: float, weight: float) -> bool:
    """Say whether a random number is too near its ratio for 32-bit floats to tell."""
    if not q[token] or p == q:
        return False
    w, exact = Fraction(weight), Fraction(u)
    ratio = 1 - w + w * Fraction(p[token]) / Fraction(q[token])
    return ratio > 0 and abs(ratio - exact) <= CLOSE * ratio


def logits(size: int) -> st.SearchStrategy[list[float]]:
    value = TIED | st.floats(-8, 8, width=32) | st.just(-inf)
    return st.lists(value, min_size=size, max_size=size).filter(lambda row: max(row) > -inf)


def uniforms32() -> st.SearchStrategy[float]:
    rounded = uniforms().map(lambda u: float(torch.tensor(u, dtype=torch.float32)))
    return rounded.filter(lambda u: u < 1)


@st.composite
def drafts_of_logits(draw: st.DrawFn) -> tuple[Rows, Rows, list[int], list[float], float]:
    size, length = draw(st.integers(1, 7)), draw(st.integers(1, 4))
    targets = [draw(logits(size)) for _ in range(length + 1)]
    drafts = [draw(st.just(targets[n]) | logits(size)) for n in range(length)]
    tokens = [
        draw(st.sampled_from([x for x, weight in enumerate(weights_of(row)) if weight]))
        for row in drafts
    ]
    coins = draw(st.lists(uniforms32(), min_size=length, max_size=length))
    return targets, drafts, tokens, coins, draw(uniforms32())


@pytest.mark.parametrize("weight", [None, 0.25, 1.0])
@given(case=drafts_of_logits())
@drawn(80)
def test_accepts_the_same_drafts_and_draws_from_the_same_row(
    weight: float | None, case: tuple[Rows, Rows, list[int], list[float], float]
) -> None:
    targets, drafts, tokens, coins, last = case
    p, q = [weights_of(row) for row in targets], [weights_of(row) for row in drafts]
    mixed: list[Any] = [*p]
    if weight is not None:
        mixed = [ensemble(mine, offered, weight) for mine, offered in zip(p, q, strict=False)]
        mixed.append(p[-1])
    share = 1.0 if weight is None else weight
    judged = zip(p, q, tokens, coins, strict=False)
    if any(is_close_call(*one, share) for one in judged):
        return
    numbers = GivenNumbers(coins, last)
    theirs = engine(targets, drafts, tokens, numbers, weight)
    ours = verify_chain(mixed, q, tokens, [*coins, last], **RULE, if_equal="target")
    assert theirs.accepted == ours.accepted
    assert theirs.tokens[:-1] == ours.tokens[:-1]
    place = ours.accepted
    row = p[place] if place == len(tokens) else residual(p[place], q[place], if_equal="target")
    assert numbers.row == pytest.approx([float(share) for share in row], abs=2e-6, rel=1e-4)
    running = Fraction(0)
    for part in row:
        running += Fraction(part)
        if abs(running - Fraction(last)) < Fraction(1, 1000):
            return  # the draw itself hangs on rounding
    assert theirs.tokens == ours.tokens


def test_equality_is_accepted() -> None:
    """Rows of equal logits: the target's share is exactly half of the draft's."""
    targets, drafts = [[0.0] * 4, [0.0] * 4], [[0.0, 0.0, -inf, -inf]]
    for coin in (0.5, 0.5 + 2.0**-24):
        theirs = engine(targets, drafts, [1], GivenNumbers([coin], 0.0), None)
        assert theirs.accepted == (coin == 0.5)
        assert accept([1, 1, 1, 1], [1, 1, 0, 0], 1, coin, **RULE) == (coin == 0.5)


def test_a_random_number_of_zero_accepts_a_token_that_the_target_makes_impossible() -> None:
    targets, drafts = [[-inf, 0.0], [0.0, 0.0]], [[0.0, 0.0]]
    for coin in (0.0, 2.0**-24):
        theirs = engine(targets, drafts, [0], GivenNumbers([coin], 0.0), None)
        assert theirs.accepted == (coin == 0.0)
        assert accept([0, 1], [1, 1], 0, coin, **RULE) == (coin == 0.0)


def test_a_token_of_neither_row_is_rejected_and_of_the_target_alone_accepted() -> None:
    for target, expected in (([-inf, 0.0], 0), ([0.0, 0.0], 1)):
        theirs = engine([target, [0.0, 0.0]], [[-inf, 0.0]], [0], GivenNumbers([0.5], 0.0), 1.0)
        assert theirs.accepted == expected
        weights = [0 if logit == -inf else 1 for logit in target]
        assert accept(weights, [0, 1], 0, 0.5, **RULE) == bool(expected)


def test_the_residual_of_equal_rows_is_not_a_number_there() -> None:
    """0 / 0 in `p_prime.div_`: reached by a token that was not drawn from the draft row."""
    numbers = GivenNumbers([0.5], 0.0)
    engine([[-inf, 0.0], [0.0, 0.0]], [[-inf, 0.0]], [0], numbers, None)
    assert all(share != share for share in numbers.row)  # noqa: PLR0124 - only NaN differs
