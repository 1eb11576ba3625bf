"""The law of what comes out, by exact enumeration: no sampling, no rounding.

The claim of speculative decoding is about a law, so it is checked as one. A verification
is a function of some random numbers, and between two neighbouring breakpoints of each it
returns the same tokens. So the probability of an answer is the sum of the volumes of the
boxes in which it is given: products of differences of rational numbers.

For models given as functions from a beginning to a row, `output_law` goes through every
sequence that the draft model can offer, weighs it with its probability, adds up what
verification makes of it, and lets the target finish sequences that stopped early. The
theorem is that this equals `target_law`, number for number.

Where a single value matters
    A box has no volume if only one value of a random number leads into it. What happens
    at u = 0, say, the law cannot show; with random numbers of 24 bits it happens all the
    same.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from itertools import pairwise, product
from math import prod
from typing import Any, TypeAlias, TypeVar

from sampling_ref.row import Row, TokenId
from sampling_ref.speculative.shares import read_shares

Outcome = TypeVar("Outcome", bound=Hashable)

Model: TypeAlias = Callable[[tuple[TokenId, ...]], Row]
"""A row of weights for each beginning."""

Law: TypeAlias = dict[tuple[TokenId, ...], Fraction]
"""The probability of each sequence; sequences of probability zero are left out."""


def _intervals(points: Iterable[Fraction]) -> list[tuple[Fraction, Fraction]]:
    inside = {Fraction(point) for point in points if 0 < point < 1}
    return list(pairwise(sorted({Fraction(0), Fraction(1)} | inside)))


def law_of(
    run: Callable[[Sequence[Fraction]], Outcome], breakpoints: Sequence[Iterable[Fraction]]
) -> dict[Outcome, Fraction]:
    """Return the probability of each outcome of `run`, given independent random numbers.

    `run` takes a list of random numbers, as many as there are `breakpoints`, and must give
    one answer between two neighbouring breakpoints; it is asked in the middle.

    >>> law_of(lambda u: u[0] < Fraction(1, 4), [[Fraction(1, 4)]])
    {True: Fraction(1, 4), False: Fraction(3, 4)}
    """
    law: dict[Outcome, Fraction] = {}
    for box in product(*map(_intervals, breakpoints)):
        outcome = run([(low + high) / 2 for low, high in box])
        volume = prod((high - low for low, high in box), start=Fraction(1))
        law[outcome] = law.get(outcome, Fraction(0)) + volume
    return law


def target_law(target: Model, length: int, beginning: tuple[TokenId, ...] = ()) -> Law:
    """Return the law of the sequences of `length` tokens that a model draws by itself.

    `beginning` is what they begin with.

    >>> target_law(lambda _: [0.25, 0.75], 1)
    {(0,): Fraction(1, 4), (1,): Fraction(3, 4)}
    """
    law = {beginning: Fraction(1)}
    for _ in range(length - len(beginning)):
        law = {
            (*tokens, token): probability * share
            for tokens, probability in law.items()
            for token, share in enumerate(read_shares(target(tokens)))
            if share
        }
    return law


def output_law(
    target: Model,
    draft: Model,
    length: int,
    verify: Callable[..., Any],
    breakpoints: Callable[..., Sequence[Iterable[Fraction]]],
) -> Law:
    """Return the law of `length + 1` tokens, of which `length` are drafted and verified.

    `verify(targets, drafts, tokens, uniforms)` returns the tokens that come out and how
    many were accepted, `breakpoints(targets, drafts, tokens)` where its answer can change:
    `verify_chain` and `chain_breakpoints`, for example. Tokens that did not come out are
    drawn from the target.

    >>> from sampling_ref.speculative.chain import chain_breakpoints, verify_chain
    >>> target, draft = lambda _: [0.25, 0.75], lambda _: [0.5, 0.5]
    >>> law = output_law(target, draft, 2, verify_chain, chain_breakpoints)
    >>> law == target_law(target, 3)
    True
    """
    law: Law = {}
    for tokens, drafted in target_law(draft, length).items():
        beginnings = [tokens[:place] for place in range(length + 1)]
        targets = [target(beginning) for beginning in beginnings]
        drafts = [draft(beginning) for beginning in beginnings[:-1]]

        def run(uniforms: Sequence[Fraction], rows: Any = (targets, drafts, tokens)) -> Any:
            return tuple(verify(*rows, uniforms)[0])

        for verified, probability in law_of(run, breakpoints(targets, drafts, tokens)).items():
            for whole, finished in target_law(target, length + 1, verified).items():
                law[whole] = law.get(whole, Fraction(0)) + drafted * probability * finished
    return law
