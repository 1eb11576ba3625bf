"""Top-p (nucleus) filtering.

Holtzman et al., "The Curious Case of Neural Text Degeneration", ICLR 2020,
section 3.1 (https://arxiv.org/abs/1904.09751). In our words:

    Keep the smallest set of the most probable tokens whose probabilities sum
    to at least p.

Boundary
    Tokens are walked by falling probability, with the sum of the probabilities so far.
    "reach": up to the token at which the sum is at least p. This is the definition, and
    what programs do that keep a token while the sum before it is below p, or that walk
    upwards and keep where the sum is above 1 - p.
    "exceed": up to the token at which the sum is strictly greater than p. Programs that
    keep a token while the sum before it is at most p do the same, and programs that walk
    upwards and keep where the sum is at least 1 - p. Where the sum meets p exactly, one
    token more than "reach".
    "within": while the sum is at most p. The token that carries the sum across p is lost,
    so that usually less than p is kept; `least` keeps the first one nevertheless.
    "fitting": the tokens are taken as they stand, not sorted. While more than one is held
    and their sum is more than p, the smallest leaves, of equals the one that stands first.
    So a later, smaller token may stay where a larger one had to leave: of 1/2, 1/4, 1/8,
    1/8 with p = 5/8 the first and the last. exllamav2 does this with a heap. `ties` has no
    say here.
Ties
    Equal probabilities are taken by rising id ("lowest id") or by falling id ("highest
    id", what a stable sort upwards gives), and the set may end between equals. "all": the
    equals of the last kept token are kept too.
p = 0
    An error in the definition. "best": the rule as it stands, so that the first token is
    kept. "off": no filter, every possible token is kept.
Least
    Never fewer than so many tokens, taken in the same order. The definition has 1.
Base of the mass
    p is a share of the total weight of the row: a row that sums to 0.999 or to 2 is as
    good as one that sums to 1. Where another filter went before and its losses were not
    made up for, the share is one of a larger total, which `total` gives; then p may never
    be reached, and every possible token is kept.
Impossible tokens
    A token of no weight is never kept, whatever the rule.
Rounding
    There is none. Weights and p are the rational numbers that they are. Given logits, the
    weights are the real numbers e**(factor * logit), and the comparison is decided as
    closely as it must be. A sum can meet p exactly only if all possible logits are equal.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import inf
from typing import Any, Literal, get_args

from sampling_ref.numbers.fitting import fitting, fitting_logits
from sampling_ref.numbers.nucleus import nucleus
from sampling_ref.numbers.orders import Ties, largest, largest_first
from sampling_ref.numbers.reaching import first_reaching
from sampling_ref.parameters import read_choice, read_fraction, read_whole
from sampling_ref.row import Number, Row, TokenId, possible, read_possible_logits, read_weights

Boundary = Literal["reach", "exceed", "within", "fitting"]
Zero = Literal["error", "best", "off"]


def top_p(
    weights: Any,
    p: Number,
    *,
    boundary: Boundary = "reach",
    ties: Ties = "lowest id",
    zero: Zero = "error",
    least: int = 1,
    total: Number | None = None,
) -> frozenset[TokenId]:
    """Return the ids of the tokens in the nucleus of a row of weights.

    >>> sorted(top_p([0.125, 0.5, 0.125, 0.25], p=0.75))
    [1, 3]
    >>> sorted(top_p([0.125, 0.5, 0.125, 0.25], p=0.75, boundary="exceed"))
    [0, 1, 3]
    >>> sorted(top_p([0.125, 0.5, 0.125, 0.25], p=0.625, boundary="within"))
    [1]
    >>> sorted(top_p([0.5, 0.25, 0.125, 0.125], p=0.625, boundary="fitting"))
    [0, 3]
    >>> sorted(top_p([3.0, 0.0, 1.0], p=1.0))
    [0, 2]
    """
    row = read_weights(weights)
    share = _read_choices(p, boundary, zero, least)
    tokens = [token for token in largest_first(row, ties) if row[token] > 0]
    if share == 0 and zero == "off":
        return frozenset(tokens)
    everything = sum((Fraction(weight) for weight in row), start=Fraction(0))
    if total is not None:
        everything = read_fraction("total", total, "(0, inf)")
    required = share * everything
    if boundary == "fitting":
        return _at_least(row, fitting(row, required), least, ties)
    collected = Fraction(0)
    crossing = len(tokens)
    for place, token in enumerate(tokens):
        collected += Fraction(row[token])
        if collected > required or (collected == required and boundary == "reach"):
            crossing = place
            break
    return _kept(row, tokens, crossing, boundary, ties, least)


def top_p_logits(
    logits: Any,
    p: Number,
    *,
    boundary: Boundary = "reach",
    ties: Ties = "lowest id",
    zero: Zero = "error",
    least: int = 1,
    total: Row | None = None,
    factor: Number = 1,
) -> frozenset[TokenId]:
    """Return the ids of the tokens in the nucleus of a row of logits.

    `total` is the row of logits to whose weight p refers, by default this row.

    >>> sorted(top_p_logits([0.0, 2.0, 1.0, 0.0], p=0.75))
    [1, 2]
    >>> sorted(top_p_logits([0.0, 0.0, 0.0, 0.0], p=0.5, boundary="exceed"))
    [0, 1, 2]
    >>> sorted(top_p_logits([3.0, float("-inf"), 1.0], p=1.0))
    [0, 2]
    """
    row = read_possible_logits(logits)
    share = _read_choices(p, boundary, zero, least)
    if share == 0 and zero == "off":
        return frozenset(possible(row))
    if boundary == "fitting":
        scale = read_fraction("factor", factor, "(0, inf)")
        whole = None if total is None else read_possible_logits(total)
        return _at_least(row, fitting_logits(row, share, total=whole, factor=scale), least, ties)
    if boundary != "within":
        found = nucleus(
            row,
            share,
            strictly=boundary == "exceed",
            ties=ties,
            total=total,
            factor=factor,
        )
        return _at_least(row, found, least, ties)
    tokens = [token for token in largest_first(row, ties) if row[token] > -inf]
    walk = [row[token] for token in tokens]
    crossing = first_reaching(walk, share, strictly=True, total=total, factor=factor)
    if crossing is None:
        crossing = len(tokens)
    return _kept(row, tokens, crossing, boundary, ties, least)


def _read_choices(p: Number, boundary: Boundary, zero: Zero, least: int) -> Fraction:
    read_choice("boundary", boundary, get_args(Boundary))
    read_choice("zero", zero, get_args(Zero))
    read_whole("least", least, 0)
    return read_fraction("p", p, "(0, 1]" if zero == "error" else "[0, 1]")


def _at_least(row: Row, kept: frozenset[TokenId], least: int, ties: Ties) -> frozenset[TokenId]:
    """Return the kept tokens; if they are fewer than `least`, with the leading ones."""
    if len(kept) >= least:
        return kept
    return kept.union(token for token in largest(row, least, ties) if row[token] > -inf)


def _kept(
    row: Row,
    tokens: Sequence[TokenId],
    crossing: int,
    boundary: Boundary,
    ties: Ties,
    least: int,
) -> frozenset[TokenId]:
    """Return the tokens up to the crossing one, as the choices have it."""
    count = max(crossing if boundary == "within" else crossing + 1, least)
    if ties == "all" and count > 0:
        while count < len(tokens) and row[tokens[count]] == row[tokens[count - 1]]:
            count += 1
    return frozenset(tokens[:count])
