"""How counts of draws are judged: bins, a limit, and what the judgement can find."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import sqrt
from typing import Any, Final

from authoring.chi_square import effect, least, limit
from tokenref.floats import floats
from tokenref.verdicts import Stat

EXPECTED: Final = 20
"""Draws that each bin must expect."""

SURE: Final = 64
"""A token that is expected so often must come: it is missed once in e**64 times."""

POWER: Final = Fraction(99, 100)


def bins_of(shares: Sequence[Fraction], draws: int) -> list[list[int]]:
    """Return the tokens that have a share in bins, by falling share; light ones are pooled.

    >>> bins_of([Fraction(1, 4), Fraction(1, 2), Fraction(1, 8), Fraction(1, 8)], 100)
    [[1], [0], [2, 3]]
    """
    order = sorted((token for token in range(len(shares)) if shares[token]),
                   key=lambda token: (-shares[token], token))  # fmt: skip
    bins: list[list[int]] = [[]]
    expected = Fraction(0)
    for token in order:
        if expected >= EXPECTED:
            bins.append([])
            expected = Fraction(0)
        bins[-1].append(token)
        expected += shares[token] * draws
    if expected < EXPECTED and len(bins) > 1:
        last = bins.pop()
        bins[-1] += last
    return bins


def judged(
    shares: Sequence[Fraction],
    draws: int,
    records: int,
    *,
    outcomes: Sequence[Sequence[int]] | None = None,
) -> Stat:
    """Return the verdict on draws from a law, one of so many records that share the risk.

    With `outcomes` the shares are those of lists of tokens.
    """
    bins = bins_of(shares, draws)
    weights = [sum((shares[token] for token in tokens), start=Fraction(0)) for tokens in bins]
    alpha = Fraction(1, 10**6 * records)
    freedom = len(bins) - 1
    most = limit(alpha, freedom)
    lists: dict[str, Any] = {} if outcomes is None else {"outcomes": list(map(list, outcomes))}
    return Stat(
        **lists,
        bins=bins,
        shares=floats([float(weight) for weight in weights], "f64"),
        never=[token for token, share in enumerate(shares) if not share],
        must=[token for token, share in enumerate(shares) if share * draws >= SURE],
        limit=floats([float(most)], "f64"),
        least=floats([float(least(alpha, freedom))], "f64"),
        alpha=f"1e-6/{records}",
        power=_power(bins, weights, draws, float(effect(freedom, most, POWER))),
    )


def judged_pairs(shares: Sequence[Fraction], rows: int, draws: int, records: int) -> Stat:
    """Return the verdict on rows of one law in batches: that any two of them are independent.

    Each two rows of a call are a test, and each row of a call with each of the next, of which
    there are half as many; the record's risk is divided among all of them.
    """
    tokens = [token for token, share in enumerate(shares) if share]
    outcomes = list(product(tokens, repeat=2))
    joint = [shares[one] * shares[other] for one, other in outcomes]
    bins = bins_of(joint, draws // 2)
    weights = [sum((joint[pair] for pair in pairs), start=Fraction(0)) for pairs in bins]
    tests = rows * (rows - 1) // 2 + rows * rows
    alpha = Fraction(1, 10**6 * records * tests)
    freedom = len(bins) - 1
    most = limit(alpha, freedom)
    needed = float(effect(freedom, most, POWER))
    same = _copied(bins, outcomes, joint)
    found = [_percent(min(sqrt(needed / (times * same)), 1)) for times in (draws, draws // 2)]
    return Stat(
        outcomes=list(map(list, outcomes)),
        bins=bins,
        shares=floats([float(weight) for weight in weights], "f64"),
        never=[],
        must=[pair for pair, share in enumerate(joint) if share * (draws // 2) >= SURE],
        limit=floats([float(most)], "f64"),
        least=floats([float(least(alpha, freedom))], "f64"),
        alpha=f"1e-6/{records}",
        power=f"{draws} calls of {rows} rows find with 99 %: two rows that share their random "
        f"numbers in {found[0]} of the calls, two of calls that follow each other in {found[1]}.",
    )


def _copied(
    bins: Sequence[Sequence[int]], outcomes: Sequence[Sequence[int]], joint: Sequence[Fraction]
) -> float:
    """Return the noncentrality per call of a row that copies another one in all calls."""
    one = {token: sum(p for pair, p in zip(outcomes, joint, strict=True) if pair[0] == token)
           for token, _ in outcomes}  # fmt: skip
    same = [one[a] if a == b else Fraction(0) for a, b in outcomes]
    total = Fraction(0)
    for pairs in bins:
        expected = sum((joint[pair] for pair in pairs), start=Fraction(0))
        excess = sum((same[pair] for pair in pairs), start=-expected)
        total += excess * excess / expected
    return float(total)


def _power(
    bins: Sequence[Sequence[int]], weights: Sequence[Fraction], draws: int, needed: float
) -> str:
    """Say which changes are found with 99 %, from the noncentrality that is needed for that.

    Shares q instead of p have the noncentrality draws * sum of (q - p)**2 / p. One bin whose
    share p is off by a part d, all others making room evenly: draws * p * d**2 / (1 - p).
    """
    size = sum(map(len, bins))
    heavy, light = float(weights[0]), float(weights[-1])
    leak = sum((len(tokens) / size - float(p)) ** 2 / float(p)
               for tokens, p in zip(bins, weights, strict=True))  # fmt: skip
    says = [
        f"the likeliest bin off by {_percent(sqrt(needed * (1 - heavy) / heavy / draws))}",
        f"the least likely one by {_percent(sqrt(needed * (1 - light) / light / draws))}",
    ]
    if leak > 0 and sqrt(needed / draws / leak) <= 1:
        found = _percent(sqrt(needed / draws / leak))
        says.append(f"a part of {found} drawn evenly instead")
    return f"{draws} draws find with 99 %: {', '.join(says)}."


def _percent(part: float) -> str:
    percent = 100 * part
    return f"{percent:.2g} %" if percent < 99.5 else f"{round(percent / 10) * 10} %"
