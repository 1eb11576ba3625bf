"""The drafts of a chain judged together: the longest acceptable beginning is kept.

Sun et al., "Block Verification Accelerates Speculative Decoding", 2024, algorithm 2
(https://arxiv.org/abs/2403.10444). The rule:

    Follow the running product of the ratios p(x) / q(x) along the drafts, cut down to 1
    wherever it exceeds 1. The beginning of length i is acceptable with probability
    S / (S + 1 - product), where S is what the product times the next target row has over
    the next draft row; the whole chain is acceptable with the product itself. Keep the
    longest beginning that its random number finds acceptable, and draw the token after it
    from those excesses, or the bonus from the target.

A draft that is bad alone can be made good by what follows. No rule that keeps the law
accepts more drafts on average, and at one draft this is `verify_chain`.

Equality and random numbers
    As in `acceptance` and `chain`: a random number must lie below its probability, and
    the numbers are one for each draft, then one for the token at the end. SGLang does so;
    vLLM's second model runner accepts equality and excludes 0.
Next rows that are equal, after a product of 1
    Then S / (S + 1 - product) is 0 / 0. It counts as 1: the next beginning is
    acceptable for certain, so this one is never the longest.
A token that its row does not offer
    Its ratio is plus infinity, or zero where what has been accepted so far has none of it.
"""

from fractions import Fraction
from itertools import pairwise
from typing import Any, get_args

from sampling_ref.parameters import read_choice
from sampling_ref.speculative.acceptance import Equality
from sampling_ref.speculative.chain import Verified
from sampling_ref.speculative.shares import read_drafted, read_exactly, running_shares, token_at


def _products(
    p: list[list[Fraction]], q: list[list[Fraction]], tokens: list[int]
) -> list[Fraction]:
    """Return the cut products for the beginnings of length 0, 1, and so on."""
    products = [Fraction(1)]
    for mine, offered, token in zip(p, q, tokens, strict=False):
        gained, needed = products[-1] * mine[token], offered[token]
        # A token that was never offered counts by its ratio, gained / 0.
        products.append(Fraction(1) if gained >= needed and gained else gained / (needed or 1))
    return products


def _excess(product: Fraction, mine: list[Fraction], offered: list[Fraction]) -> list[Fraction]:
    return [max(product * a - b, Fraction(0)) for a, b in zip(mine, offered, strict=True)]


def _acceptable(
    p: list[list[Fraction]], q: list[list[Fraction]], products: list[Fraction]
) -> list[Fraction]:
    """Return the probability of each beginning of length 1, 2 and so on."""
    found = []
    for length, (product, _) in enumerate(pairwise(products[1:]), start=1):
        excess = sum(_excess(product, p[length], q[length]))
        scale = excess + 1 - product
        found.append(excess / scale if scale else Fraction(1))
    return [*found, *products[1:][-1:]]


def verify_block(
    targets: Any, drafts: Any, tokens: Any, uniforms: Any, *, equality: Equality = "reject"
) -> Verified:
    """Return what comes out for the drafted `tokens`; arguments as for `verify_chain`.

    Here the target likes the first draft half as much as the draft row does, and the
    second one twice as much: together they are as likely as drafted.

    >>> even, sure = [0.5, 0.5], [0.0, 1.0]
    >>> verify_block([even, sure, even], [sure, even], [1, 1], [0.75, 0.75, 0.0])
    Verified(tokens=(1, 1, 0), accepted=2)
    """
    read_choice("equality", equality, get_args(Equality))
    p, q, tokens = read_drafted(targets, drafts, tokens)
    *coins, last = read_exactly(uniforms, len(tokens) + 1)
    products = _products(p, q, tokens)
    accepted = 0
    for length, chance in enumerate(_acceptable(p, q, products), start=1):
        u = coins[length - 1]
        if u < chance or (u == chance and equality == "accept"):
            accepted = length
    row = p[-1]
    if accepted < len(tokens):
        row = _excess(products[accepted], p[accepted], q[accepted])
    return Verified((*tokens[:accepted], token_at(row, last)), accepted)


def block_breakpoints(targets: Any, drafts: Any, tokens: Any) -> list[list[Fraction]]:
    """Return, for each random number, every value at which the answer can change.

    >>> even, left = [0.5, 0.5], [0.75, 0.25]
    >>> block_breakpoints([even, left], [left], [0])[0]
    [Fraction(2, 3)]
    """
    p, q, tokens = read_drafted(targets, drafts, tokens)
    products = _products(p, q, tokens)
    ends = running_shares(p[-1])
    for product, mine, offered in zip(products, p, q, strict=False):
        excess = _excess(product, mine, offered)
        total = sum(excess)
        ends += [end / total for end in running_shares(excess) if total]
    return [*([chance] for chance in _acceptable(p, q, products)), ends]
