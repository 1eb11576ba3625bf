"""How both versions of mirostat learn from the drawn token.

The surprise of a token is -log2 of its probability, in bits (Shannon, "A Mathematical
Theory of Communication", 1948, section 6). At the start, mu is 2 * tau. After each draw,
mu becomes mu - eta * (surprise - tau), where tau is the target.

Whose surprise
    "whole": the drawn token's in the distribution before anything was removed, as the
    authors' program has it. "kept": in the distribution that it was drawn from, as llama.cpp
    has it.
The draw
    Tokens are walked by falling probability and rising id; the first one is drawn whose
    running share of the kept weight is at least the uniform number given.
Rounding
    In exact arithmetic the surprise is the nearest float, and what follows from it is
    calculated with plain operators.
"""

from collections.abc import Mapping
from typing import Any, Literal, get_args

from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.protocol import Numbers
from sampling_ref.parameters import read_choice, read_fraction
from sampling_ref.row import Candidates, Number, TokenId

Whose = Literal["whole", "kept"]


def next_mu(
    before: Candidates,
    after: Candidates,
    token: TokenId,
    mu: Number | None = None,
    *,
    tau: Number,
    eta: Number,
    whose: Whose = "whole",
    numbers: Numbers = EXACT,
) -> Mapping[str, Any]:
    """Return the new mu, given the candidates before and after the removal and the drawn token.

    >>> before, after = Candidates([0, 1, 2, 3], [0.0] * 4), Candidates([0, 1], [0.0] * 2)
    >>> next_mu(before, after, 0, 4.0, tau=1.5, eta=0.5)
    {'mu': 3.75}
    >>> next_mu(before, after, 0, 4.0, tau=1.5, eta=0.5, whose="kept")
    {'mu': 4.25}
    """
    read_choice("whose", whose, get_args(Whose))
    mu = 2 * tau if mu is None else mu
    for name, number in (("mu", mu), ("tau", tau), ("eta", eta)):
        read_fraction(name, number, "(-inf, inf)")
    drawn_from = after if whose == "kept" else before
    surprise = numbers.of(drawn_from).surprise(list(drawn_from.tokens).index(token))
    return {"mu": mu - eta * (surprise - tau)}
