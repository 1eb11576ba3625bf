"""Top-n-sigma filtering.

Tang, Liu, Xu, Huang and Zhang, "Top-n-sigma: Not All Logits Are You Need", ACL 2025,
section 3 (https://arxiv.org/abs/2411.07641). In our words:

    Keep the tokens whose logit is at least the largest logit minus n standard deviations
    of the logits.

The filter looks at logits, not at probabilities: dividing all logits by a temperature
changes nothing. So there is no version for weights.

Deviation
    "population" divides the sum of squares by the number of logits, "sample" by one less,
    as PyTorch's `std` does, and with it the authors' program.
Which logits
    Impossible tokens take no part in mean and deviation, and are never kept.
Equality
    A token exactly at the threshold is kept.
n = 0
    Keeps the equals of the largest logit ("best"), as the rule says. Engines use it for
    "off", and then every possible token is kept.
One possible token
    It is kept. A sample deviation does not exist then.
Rounding
    There is none: (largest - l)**2 <= n**2 * variance is a comparison of rational numbers.
"""

from fractions import Fraction
from math import lcm
from typing import Any, Literal, get_args

from sampling_ref.parameters import read_choice, read_fraction
from sampling_ref.row import Number, TokenId, possible, read_possible_logits

Deviation = Literal["population", "sample"]
Zero = Literal["best", "off"]


def top_n_sigma_logits(
    logits: Any,
    n: Number,
    *,
    deviation: Deviation = "population",
    zero: Zero = "best",
) -> frozenset[TokenId]:
    """Return the ids of the tokens within n standard deviations of the largest logit.

    The logits below have the deviation 2, as a population.

    >>> sorted(top_n_sigma_logits([4.0, 4.0, 0.0, 0.0], n=2))
    [0, 1, 2, 3]
    >>> sorted(top_n_sigma_logits([4.0, 4.0, 0.0, 0.0], n=1.75))
    [0, 1]
    """
    row = read_possible_logits(logits)
    read_choice("deviation", deviation, get_args(Deviation))
    read_choice("zero", zero, get_args(Zero))
    multiple = read_fraction("n", n, "[0, inf)")
    tokens = possible(row)
    if len(tokens) == 1 or (multiple == 0 and zero == "off"):
        return frozenset(tokens)

    # Whole numbers, all logits times a common denominator: it falls out of the comparison.
    ratios = [row[token].as_integer_ratio() for token in tokens]
    common = lcm(*{denominator for _, denominator in ratios})
    wholes = [numerator * (common // denominator) for numerator, denominator in ratios]
    count = len(wholes)
    # The sum of squared distances from the mean is (count * squares - sum**2) / count.
    spread = Fraction(count * sum(whole * whole for whole in wholes) - sum(wholes) ** 2, count)
    variance = spread / (count if deviation == "population" else count - 1)
    farthest = multiple * multiple * variance
    largest = max(wholes)
    return frozenset(
        token
        for token, whole in zip(tokens, wholes, strict=True)
        if (largest - whole) ** 2 <= farthest
    )
