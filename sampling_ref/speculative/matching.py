"""Draw from the target, and see whether the draft guessed it.

llama.cpp (`common_sampler_sample_and_accept_n`) and, where a drafter gives no
probabilities, transformers. In our words:

    Draw a token from the target row at each place, as if there were no drafts. As long as
    it is the drafted token, the target's row at the next place is known already.

What comes out is what the target draws, so the law is kept whatever the drafts are, even
if they were drawn with the same random numbers. A draft is accepted with probability p(x),
which is less than speculative sampling accepts, unless the drafter is certain.

Random numbers
    One for each place up to the first that differs, and in any case as many as there are
    drafts, plus one.
"""

from fractions import Fraction
from typing import Any

from sampling_ref.speculative.chain import Verified
from sampling_ref.speculative.shares import read_exactly, read_targets, running_shares, token_at


def verify_by_matching(targets: Any, tokens: Any, uniforms: Any) -> Verified:
    """Return what comes out for the drafted `tokens`; arguments as for `verify_chain`.

    >>> even = [0.5, 0.5]
    >>> verify_by_matching([even, even, even], [0, 1], [0.25, 0.25, 0.0])
    Verified(tokens=(0, 0), accepted=1)
    """
    p, tokens = read_targets(targets, tokens)
    coins = read_exactly(uniforms, len(tokens) + 1)
    drawn: list[int] = []
    for row, u, guess in zip(p, coins, [*tokens, None], strict=True):
        drawn.append(token_at(row, u))
        if drawn[-1] != guess:
            break
    return Verified(tuple(drawn), len(drawn) - 1)


def matching_breakpoints(targets: Any, tokens: Any) -> list[list[Fraction]]:
    """Return, for each random number, every value at which the answer can change.

    >>> matching_breakpoints([[0.5, 0.5]], [])
    [[Fraction(1, 2), Fraction(1, 1)]]
    """
    p, _ = read_targets(targets, tokens)
    return [running_shares(row) for row in p]
