"""Top-H filtering.

Potraghloo, Azizi, Kundu and Pedram, "Top-H Decoding: Adapting the Creativity and Coherence
with Bounded Entropy in Text Generation", NeurIPS 2025, section 5
(https://arxiv.org/abs/2509.02510). In our words:

    Of the most probable tokens keep as many as have, as a distribution of their own, an
    entropy of at most alpha times the entropy of the whole distribution.

Which entropy
    "own": the kept probabilities are scaled to sum 1, as the paper writes. "shared": they
    are not; the sum of their terms -p log p is compared with alpha times the sum of all
    terms, as the authors' program and transformers do. The two differ much: of four equal
    tokens and alpha = 1/2, "own" keeps 2 (1 bit of 2), and so does "shared" (1/2 bit each);
    of sixteen, "own" keeps 4 and "shared" keeps 8.
Which distribution
    The whole row, or only its `best` most probable tokens (100 in those programs), scaled
    to sum 1 before anything else. With "lowest id" or "highest id" exactly so many, with
    "all" their equals too.
Crossing
    The token that carries the entropy above the bound is not kept.
Equality
    An entropy that is exactly the bound is kept. With alpha = 1 every token is kept.
Ties
    Equal probabilities are taken by rising id or by falling id; with "all" the equals of
    the last kept token are kept too.
Least
    Never fewer than so many tokens, the first always being one of them by default.
Impossible tokens
    A token of no weight is never kept.
Rounding
    There is none. Both entropies grow with every token that is taken, so the last kept one
    is found by bisection. Given weights, every comparison is the sign of a sum of
    logarithms of rational numbers, and decided. Given logits, a float with a bound decides
    nearly always; where the two entropies agree to 200 digits and are not equal for one of
    the known reasons (alpha = 1, all logits equal), that is an `UndecidedError`. So it is
    where all tokens but one have less than 2**-8192 of the weight together, which leaves
    no entropy to speak of.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from math import exp, inf, log
from typing import Any, Literal, get_args

from sampling_ref.numbers.float_weights import WEIGHT_ERROR, float_gaps
from sampling_ref.numbers.logarithm_sums import Term, sign_of_logarithms
from sampling_ref.numbers.orders import Ties, largest, largest_first
from sampling_ref.numbers.reals import Real
from sampling_ref.numbers.totals import gap_sum, total_weight
from sampling_ref.parameters import read_choice, read_fraction, read_whole
from sampling_ref.row import Number, Row, TokenId, read_possible_logits, read_weights

Entropy = Literal["own", "shared"]


def top_h(
    weights: Any,
    alpha: Number,
    *,
    entropy: Entropy = "own",
    best: int | None = None,
    ties: Ties = "lowest id",
    least: int = 1,
) -> frozenset[TokenId]:
    """Return the ids of the most probable tokens, as many as the entropy allows.

    >>> sorted(top_h([1.0] * 16, alpha=0.5)), len(top_h([1.0] * 16, 0.5, entropy="shared"))
    ([0, 1, 2, 3], 8)
    """
    row = read_weights(weights)
    share = _read_choices(alpha, entropy, ties, least)
    tokens = [token for token in _candidates(row, best, ties) if row[token] > 0]
    line = [Fraction(row[token]) for token in tokens]
    total = sum(line, start=Fraction(0))
    # -sum of w log w over the first tokens, as terms; H of them is that over W, plus log W.
    terms: list[Term] = [(-weight, weight) for weight in line]
    sums = list(accumulate(line))

    def is_within(count: int) -> bool:
        mass = sums[count - 1]
        bound = [(share * c / total, a) for c, a in [*terms, (total, total)]]
        if entropy == "own":
            found = [(c / mass, a) for c, a in [*terms[:count], (mass, mass)]]
        else:
            found = [(c / total, a) for c, a in [*terms[:count], (mass, total)]]
        return sign_of_logarithms([*found, *((-c, a) for c, a in bound)]) <= 0

    return _kept(row, tokens, _last_within(len(tokens), is_within), ties, least)


def top_h_logits(
    logits: Any,
    alpha: Number,
    *,
    entropy: Entropy = "own",
    best: int | None = None,
    ties: Ties = "lowest id",
    least: int = 1,
    factor: Number = 1,
) -> frozenset[TokenId]:
    """Return the ids of the most probable tokens, as many as the entropy allows.

    >>> sorted(top_h_logits([3.0, 2.0, 1.0, 0.0], alpha=0.5))
    [0]
    >>> sorted(top_h_logits([3.0, 2.0, 1.0, 0.0], alpha=0.75))
    [0, 1]
    """
    row = read_possible_logits(logits)
    share = _read_choices(alpha, entropy, ties, least)
    scale = read_fraction("factor", factor, "(0, inf)")
    tokens = [token for token in _candidates(row, best, ties) if row[token] > -inf]
    line = [row[token] for token in tokens]
    if line[0] == line[-1]:
        in_line: Ties = "all" if ties == "all" else "lowest id"  # of places, which ties ordered
        chosen = top_h([1] * len(line), alpha, entropy=entropy, ties=in_line, least=least)
        return frozenset(tokens[place] for place in chosen)
    if share == 1:
        return frozenset(tokens)
    is_within = _entropy_test(line, share, entropy, scale)
    return _kept(row, tokens, _last_within(len(tokens), is_within), ties, least)


def _entropy_test(
    line: Sequence[Number], share: Fraction, entropy: Entropy, factor: Fraction
) -> Callable[[int], bool]:
    """Return a test whether the entropy of the first tokens is within the bound.

    The logits are not all equal, so there is an entropy, and the share is below 1.
    """
    gaps = float_gaps(line, factor)
    weights = [exp(-gap) for gap in gaps]
    sums = list(accumulate(weights))
    gap_sums = list(accumulate(gap * weight for gap, weight in zip(gaps, weights, strict=True)))
    relative = 64 * WEIGHT_ERROR + len(line) * 2.0**-50
    log_total = log(sums[-1])
    whole = log_total + gap_sums[-1] / sums[-1]

    def floats(count: int) -> tuple[float, float]:
        """Return entropy less bound, and how far off that may be."""
        mass, gap_sum = sums[count - 1], gap_sums[count - 1]
        if entropy == "own":
            found = log(mass) + gap_sum / mass
        else:
            found = (mass * log_total + gap_sum) / sums[-1]
        return found - float(share) * whole, relative * (2 + found + whole)

    def is_within(count: int) -> bool:
        if count == len(line):
            return False  # the whole entropy is not within less than itself
        if count == 1 and entropy == "own":
            return True  # no entropy, however little the bound
        distance, error = floats(count)
        if abs(distance) > error:
            return distance < 0
        bound = _entropy(line, line, factor) * share
        own = line[:count] if entropy == "own" else line
        return bool(_entropy(line[:count], own, factor) <= bound)

    return is_within


def _entropy(part: Sequence[Number], whole: Sequence[Number], factor: Fraction) -> Real:
    """Return the sum of -p log p over a part, where p are probabilities in the whole.

    Both begin with their largest logit. With g = factor * (largest - l), -log p is g plus
    the logarithm of the total weight.
    """
    total = total_weight(whole, factor)
    gaps = gap_sum(part, factor)
    return (total_weight(part, factor) * total.log() + gaps) / total


def _last_within(size: int, is_within: Callable[[int], bool]) -> int:
    """Return the largest number of tokens whose entropy is within the bound, or 0."""
    low, high = 0, size
    while low < high:
        middle = (low + high + 1) // 2
        if is_within(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _candidates(row: Row, best: int | None, ties: Ties) -> list[TokenId]:
    if best is None:
        return largest_first(row, ties)
    return largest(row, read_whole("best", best, 1), ties)


def _read_choices(alpha: Number, entropy: Entropy, ties: Ties, least: int) -> Fraction:
    read_choice("entropy", entropy, get_args(Entropy))
    read_choice("ties", ties, get_args(Ties))
    read_whole("least", least, 0)
    return read_fraction("alpha", alpha, "(0, 1]")


def _kept(
    row: Row, tokens: list[TokenId], count: int, ties: Ties, least: int
) -> frozenset[TokenId]:
    count = max(count, least)
    if ties == "all" and count > 0:
        while count < len(tokens) and row[tokens[count]] == row[tokens[count - 1]]:
            count += 1
    return frozenset(tokens[:count])
