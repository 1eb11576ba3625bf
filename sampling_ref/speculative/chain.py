"""Several drafts in a row: accepted up to the first rejection, then one token more.

Leviathan et al. 2023, algorithm 1 (https://arxiv.org/abs/2211.17192). The rule:

    Accept or reject the drafts in order (`acceptance.py`). At the first rejection draw a
    replacement from the residual of that place (`residual.py`) and stop. If all are
    accepted, draw one further token, the bonus, from the target row after the last draft.

So between one and `len(tokens) + 1` tokens come out, and with the tokens that the target
goes on to draw by itself they follow the law of the target exactly.

Random numbers
    One for each draft, in order, whether or not its draft is reached; then one for the
    token that is drawn at the end, from the residual or as bonus, by the inverse of the
    running sum in the order of the vocabulary. All must be independent of each other and
    of whatever drew the drafts. (transformers, vLLM, SGLang and FlashInfer spend them
    like this; mistral.rs goes on to the last one after a rejection.)

A drafter without probabilities
    It offers its token with certainty: give a row that is 1 there and 0 elsewhere.

Matching (`verify_by_matching`): draw from the target, and see whether the draft guessed it.

llama.cpp (`common_sampler_sample_and_accept_n`) and, where a drafter gives no
probabilities, transformers. The rule:

    Draw a token from the target row at each place, as if there were no drafts. As long as
    it is the drafted token, the target's row at the next place is known already.

What comes out is what the target draws, so the law is kept whatever the drafts are, even
if they were drawn with the same random numbers. A draft is accepted with probability p(x),
which is less than speculative sampling accepts, unless the drafter is certain.

Random numbers
    One for each place up to the first that differs, and in any case as many as there are
    drafts, plus one.

Penalties and masks in the loop (`processed_targets`): the target's row at a place is the one
from which it would draw there without drafts, so every step must see the drafts before it.

A step sees the history and the drafts before its place: not those after it, and not the token
that replaces a rejected draft, behind which nothing is drawn. The bonus row sees all drafts. The
draft row stays the law that the token was drawn from.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, get_args

from sampling_ref.numbers.softmax import softmax
from sampling_ref.parameters import read_choice
from sampling_ref.row import TokenId
from sampling_ref.speculative.acceptance import Equality, Undrafted, accepts
from sampling_ref.speculative.residual import IfEqual, subtract
from sampling_ref.speculative.shares import (
    read_drafted,
    read_exactly,
    read_targets,
    running_shares,
    token_at,
)


class Verified(NamedTuple):
    """What comes out: the accepted drafts and one further token; how many were accepted."""

    tokens: tuple[TokenId, ...]
    accepted: int


def verify_chain(
    targets: Any,
    drafts: Any,
    tokens: Any,
    uniforms: Any,
    *,
    equality: Equality = "reject",
    undrafted: Undrafted = "by ratio",
    if_equal: IfEqual = "error",
) -> Verified:
    """Return what comes out for the drafted `tokens`.

    `drafts[i]` is the row that `tokens[i]` was drawn from, `targets[i]` the target's row at
    the same place; `targets` has one row more, for the bonus, and `uniforms` one number.

    >>> even, left = [0.5, 0.5], [0.75, 0.25]
    >>> verify_chain([even, even, left], [left, even], [0, 1], [0.5, 0.5, 0.75])
    Verified(tokens=(0, 1, 1), accepted=2)
    >>> verify_chain([even, even, left], [left, even], [0, 1], [0.75, 0.5, 0.75])
    Verified(tokens=(1,), accepted=0)
    """
    read_choice("equality", equality, get_args(Equality))
    read_choice("undrafted", undrafted, get_args(Undrafted))
    read_choice("if_equal", if_equal, get_args(IfEqual))
    p, q, tokens = read_drafted(targets, drafts, tokens)
    *coins, last = read_exactly(uniforms, len(tokens) + 1)
    for place, (token, u) in enumerate(zip(tokens, coins, strict=True)):
        if not accepts(p[place][token], q[place][token], u, equality, undrafted):
            replacement = token_at(subtract(p[place], q[place], if_equal), last)
            return Verified((*tokens[:place], replacement), place)
    return Verified((*tokens, token_at(p[-1], last)), len(tokens))


def chain_breakpoints(targets: Any, drafts: Any, tokens: Any) -> list[list[Fraction]]:
    """Return, for each random number, every value at which the answer can change.

    >>> even, left = [0.5, 0.5], [0.75, 0.25]
    >>> chain_breakpoints([even, left], [left], [0])
    [[Fraction(2, 3)], [Fraction(0, 1), Fraction(1, 1), Fraction(3, 4), Fraction(1, 1)]]
    """
    p, q, tokens = read_drafted(targets, drafts, tokens)
    ratios, ends = [], []
    for mine, offered, token in zip(p, q, tokens, strict=False):
        ratios.append([mine[token] / offered[token]] if offered[token] else [])
        ends += running_shares(subtract(mine, offered, "target"))
    return [*ratios, [*ends, *running_shares(p[-1])]]


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


def processed_targets(
    logits: Sequence[Any],
    tokens: Sequence[TokenId],
    process: Callable[[Any, list[TokenId]], Sequence[float]],
    history: Sequence[TokenId] = (),
) -> list[list[float]]:
    """Return the target's probabilities at each place, after what an engine does to its rows.

    `logits` are the target's rows at the place of each drafted token, and one for the bonus.
    `process` takes a row and all tokens before its place, and returns the changed row.
    Probabilities are those of `softmax`, rounded once each. Behind a draft that is impossible
    after `process`, rows are not processed: no token is drawn there, and a mask that follows a
    grammar has no state for it.

    >>> def ban_the_last(row, history):
    ...     return [float("-inf") if token in history[-1:] else x for token, x in enumerate(row)]
    >>> processed_targets([[0.0, 0.0, 0.0]] * 3, [1, 2], ban_the_last, history=[0])
    [[0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]]
    """
    found: list[list[float]] = []
    possible = True
    for place, row in enumerate(logits):
        found.append(softmax(process(row, [*history, *tokens[:place]]) if possible else row))
        possible = possible and (place >= len(tokens) or found[place][tokens[place]] > 0)
    return found


def matching_breakpoints(targets: Any, tokens: Any) -> list[list[Fraction]]:
    """Return, for each random number, every value at which the answer can change.

    >>> matching_breakpoints([[0.5, 0.5]], [])
    [[Fraction(1, 2), Fraction(1, 1)]]
    """
    p, _ = read_targets(targets, tokens)
    return [running_shares(row) for row in p]
