"""The adaptive rules as functions of rows, sets of ids and numbers, for tests."""

from collections.abc import Collection
from typing import Any

from sampling_ref.draws.inverse_cdf import inverse_cdf
from sampling_ref.engines.draws import walk
from sampling_ref.numbers.exact import EXACT
from sampling_ref.row import Candidates, Number, TokenId, read_possible_logits
from sampling_ref.steps import mirostat, mirostat_1, mirostat_2
from sampling_ref.steps.adaptive_p import adaptive_p


def _candidates(row: Any, factor: Any = 1) -> Candidates:
    logits = read_possible_logits(row)
    return Candidates(range(len(logits)), logits, factor)


def mirostat_1_kept(row: Any, mu: Any, *, factor: Any = 1, **given: Any) -> frozenset[TokenId]:
    kept = mirostat_1.mirostat_1(_candidates(row, factor), mu, tau=1, **given)
    return frozenset(kept.tokens)


def mirostat_2_kept(row: Any, mu: Any, *, factor: Any = 1) -> frozenset[TokenId]:
    return frozenset(mirostat_2.mirostat_2(_candidates(row, factor), mu, tau=1).tokens)


def draw_falling(row: Any, kept: Collection[TokenId], uniform: Any, *, factor: Any = 1) -> TokenId:
    after = _candidates(row, factor).at(sorted(kept))
    return inverse_cdf(after, uniform, order=walk(after, "sorted"), boundary="reach")


def surprise(row: Any, token: TokenId, factor: Any = 1) -> Number:
    return EXACT.of(_candidates(row, factor)).surprise(token)


def next_mu(
    row: Any, kept: Collection[TokenId], token: TokenId, mu: Any, *, factor: Any = 1, **given: Any
) -> Number:
    before = _candidates(row, factor)
    found: Number = mirostat.next_mu(before, before.at(sorted(kept)), token, mu, **given)["mu"]
    return found


def step_of_mirostat_1(
    row: Any, mu: Any, *, uniform: Any, factor: Any = 1, **given: Any
) -> tuple[TokenId, Number]:
    kept = mirostat_1_kept(row, mu, factor=factor)
    token = draw_falling(row, kept, uniform, factor=factor)
    return token, next_mu(row, kept, token, mu, factor=factor, **given)


def step_of_mirostat_2(
    row: Any, mu: Any, *, uniform: Any, factor: Any = 1, **given: Any
) -> tuple[TokenId, Number]:
    kept = mirostat_2_kept(row, mu, factor=factor)
    token = draw_falling(row, kept, uniform, factor=factor)
    return token, next_mu(row, kept, token, mu, factor=factor, **given)


def adaptive_p_logits(row: Any, past: Any, target: Any) -> list[Number]:
    return list(adaptive_p(row, past, target=target, decay=0.5).logits)
