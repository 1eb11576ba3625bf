"""Typical acceptance: keep drafts that the target finds likely enough.

Cai et al., "Medusa: Simple LLM Inference Acceleration Framework with Multiple Decoding
Heads", ICML 2024, section 2.3.1 (https://arxiv.org/abs/2401.10774). The rule:

    Keep a draft x if p(x) > min(epsilon, delta e^(-H)), where H is the entropy of the
    target row p in natural units: a likely token, or one that is not much less likely
    than tokens of this row usually are. Of several drafted continuations take the one
    with the longest kept beginning.

This is no draw: the output does not follow the target, and is not meant to.

The first token
    The paper takes it from the target (greedily), so that something always comes out; here
    it is not among the candidates.
Equality
    A draft exactly at the threshold is rejected. Whether it is there is decided exactly:
    for rational shares e^(-H) is compared through sums of logarithms of rationals.
Candidates of one length
    The program of the authors takes the most probable beginning, and the first of equals;
    the paper does not say. So if nothing is kept it is the first candidate.
Numbers
    H is the entropy itself. The authors' program adds 1e-5 inside the logarithm.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import Any

from sampling_ref.errors import HistoryError
from sampling_ref.numbers.logarithm_sums import sign_of_logarithms
from sampling_ref.parameters import read_fraction, read_history
from sampling_ref.row import Number, TokenId
from sampling_ref.speculative.shares import read_rows, read_shares


def is_typical(
    weights: Any, token: TokenId, *, epsilon: Number = 0.3, delta: Number = 0.09
) -> bool:
    """Return whether a drafted token is likely enough under the target's weights.

    >>> is_typical([0.5, 0.25, 0.25], 0), is_typical([0.5, 0.5 - 2.0**-9, 2.0**-9], 2)
    (True, False)
    """
    eps, scale = (
        read_fraction("epsilon", epsilon, "(0, 1]"),
        read_fraction("delta", delta, "(0, 1]"),
    )
    shares = read_shares(weights)
    [token] = read_history([token], len(shares), "token")
    if shares[token] > eps:
        return True
    if shares[token] == 0:
        return False
    # p > delta e^(-H) if and only if log(p / delta) - (sum of share log share) > 0
    terms = [(Fraction(1), shares[token] / scale)]
    terms += [(-share, share) for share in shares if share]
    return sign_of_logarithms(terms) > 0


def best_typical_candidate(
    targets: Any,
    candidates: Sequence[Sequence[TokenId]],
    *,
    epsilon: Number = 0.3,
    delta: Number = 0.09,
) -> tuple[int, int]:
    """Return which candidate has the longest kept beginning, and how long that is.

    `targets[c][i]` is the target's row at the place of `candidates[c][i]`.

    >>> row = [0.5, 0.25, 0.25]
    >>> best_typical_candidate([[row, row], [row, row]], [[1, 1], [1, 0]])
    (1, 2)
    """
    if not isinstance(candidates, Sequence) or not candidates:
        raise HistoryError("candidates must be a sequence of at least one sequence of token ids")
    found = []
    for place, candidate in enumerate(candidates):
        rows = read_rows(targets[place], f"targets[{place}]", len(candidate))
        tokens = read_history(candidate, len(rows[0]) if rows else 1, f"candidates[{place}]")
        length = 0
        for row, token in zip(rows, tokens, strict=True):
            if not is_typical(row, token, epsilon=epsilon, delta=delta):
                break
            length += 1
        likelihood = prod(row[x] for row, x in zip(rows[:length], tokens, strict=False))
        found.append((length, likelihood, -place))
    length, _, place = max(found)
    return -place, length
