"""Epsilon filtering.

Hewitt, Manning and Liang, "Truncation Sampling as Language Model Desmoothing", Findings of
EMNLP 2022, section 4 (https://arxiv.org/abs/2210.15191). The rule:

    Keep the tokens whose probability is above epsilon.

Equality
    The paper's sign is "greater than" ("removed": a token exactly at epsilon is not kept).
    The one engine that has this filter keeps such a token, and so does the default here
    ("kept").
Least
    Where no probability is that large the paper keeps nothing. Never fewer than `least`
    tokens are kept here, the most probable first; `ties` says which of equals.
Impossible tokens
    A token of no weight is never kept.
Rounding
    There is none. Given logits, a probability can be exactly epsilon only if all possible
    logits are equal.
"""

from typing import Literal

from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.protocol import Numbers, OfAll
from sampling_ref.parameters import read_fraction, read_whole
from sampling_ref.row import Candidates, Number, Ties
from sampling_ref.steps.step import rule


@rule(
    "keeps tokens with a probability of at least {cutoff}, or else the most probable one",
    whys={
        "ties all": "keeps tokens with a probability of at least {cutoff}, or else the most "
        "probable one and its equals"
    },
)
def epsilon(
    candidates: Candidates,
    cutoff: Number,
    *,
    equality: Literal["kept", "removed"] = "kept",
    least: int = 1,
    ties: Ties = "lowest id",
    numbers: Numbers = EXACT,
) -> Candidates:
    """Return the candidates whose probability is at least `cutoff`.

    >>> from sampling_ref import WEIGHTS
    >>> epsilon([0.5, 0.25, 0.125, 0.125], cutoff=0.25, numbers=WEIGHTS).tokens
    [0, 1]
    >>> epsilon([0.5, 0.25, 0.125, 0.125], cutoff=0.75, numbers=WEIGHTS).tokens
    [0]
    >>> epsilon([0.0, 0.0, float("-inf")], cutoff=0.5).tokens
    [0, 1]
    """
    read_whole("least", least, 0)
    share = read_fraction("cutoff", cutoff, "(0, 1)")
    here = numbers.of(candidates, "shares")
    return here.keep_at_least(OfAll(share), strictly=equality == "removed", least=least, ties=ties)
