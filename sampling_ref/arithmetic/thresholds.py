"""Which entries of a row lie at or above a threshold.

Probabilities
    `e**(factor * l) / Z >= share`, with Z the sum over the whole row, is the sign of a sum
    of exponentials (see `exponential_sums`). Equality is possible only where all finite
    logits are equal.

Logits
    `factor * l >= threshold` with a threshold that may be any computable real number, such
    as an entropy. Where the two cannot be told apart, `UndecidedError` is raised.

Minus infinity
    has no weight. It lies below every threshold, also below a share of zero.
"""

from collections import Counter
from fractions import Fraction
from math import inf

from sampling_ref.arithmetic.exponential_sums import sign_of_sum
from sampling_ref.arithmetic.parameters import read_factor, read_share
from sampling_ref.arithmetic.reals import Real
from sampling_ref.row import Number, Row, TokenId, read_logits, read_possible_logits


def probabilities_at_least(
    logits: Row, share: Number, *, strictly: bool = False, factor: Number = 1
) -> list[TokenId]:
    """Return the indices whose softmax probability is at least `share`, rising.

    >>> probabilities_at_least([0.0, 0.0, float("-inf")], 0.5)
    [0, 1]
    >>> probabilities_at_least([0.0, 0.0, float("-inf")], 0.5, strictly=True)
    []
    """
    wanted, scale = read_share(share), read_factor(factor)
    row = read_possible_logits(logits)
    counts = Counter(row)
    reaching: dict[Number, bool] = {-inf: False}
    for logit in counts:
        if logit == -inf:
            continue
        terms: dict[Number, Fraction | int] = {x: -wanted * count for x, count in counts.items()}
        terms[logit] += 1
        sign = sign_of_sum(terms, scale)
        reaching[logit] = sign > 0 or (sign == 0 and not strictly)
    return [token for token, logit in enumerate(row) if reaching[logit]]


def logits_at_least(
    logits: Row, threshold: Real, *, strictly: bool = False, factor: Number = 1
) -> list[TokenId]:
    """Return the indices with factor * logit at least `threshold`, rising.

    >>> logits_at_least([0.5, 1.0, float("-inf")], Real(2).log())
    [1]
    """
    scale = read_factor(factor)
    row = read_logits(logits)
    reaching: dict[Number, bool] = {-inf: False}
    for logit in set(row) - {-inf}:
        scaled = Fraction(logit) * scale
        reaching[logit] = threshold < scaled if strictly else threshold <= scaled
    return [token for token, logit in enumerate(row) if reaching[logit]]
