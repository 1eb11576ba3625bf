"""Top-H filtering.

Potraghloo, Azizi, Kundu and Pedram, "Top-H Decoding: Adapting the Creativity and Coherence
with Bounded Entropy in Text Generation", NeurIPS 2025, section 5
(https://arxiv.org/abs/2509.02510). The rule:

    Keep as many of the most probable tokens as have, as a distribution of their own, an
    entropy of at most alpha times the entropy of the whole distribution.

Which entropy
    "own": the kept probabilities are scaled to sum 1, as the paper writes. "shared": they
    are not; the sum of their terms -p log p is compared with alpha times the sum of all
    terms, as the authors' program and transformers do. The two differ much: of four equal
    tokens and alpha = 1/2, "own" keeps 2 (1 bit of 2), and so does "shared" (1/2 bit each);
    of sixteen, "own" keeps 4 and "shared" keeps 8.
Which distribution
    The whole row, or only its `best` most probable tokens (100 in those programs), scaled
    to sum 1 before anything else. With "lowest id" or "highest id" exactly that many, with
    "all" their equals too.
Crossing
    The token that carries the entropy above the bound is not kept.
Equality
    An entropy that is exactly the bound is kept. With alpha = 1 every token is kept.
Ties
    Equal probabilities are taken by rising id or by falling id; with "all" the equals of
    the last kept token are kept too.
Least
    Never fewer than `least` tokens; by default the first one is always kept.
Impossible tokens
    A token of no weight is never kept.
Rounding
    There is none. `numbers/entropies.py` says how two entropies are compared, and when that
    is an `UndecidedError`.
"""

from typing import Literal

from sampling_ref.numbers.exact import EXACT
from sampling_ref.numbers.protocol import Numbers
from sampling_ref.parameters import read_fraction, read_whole
from sampling_ref.row import Candidates, Number, Ties
from sampling_ref.steps.step import rule


@rule("keeps the most probable tokens whose entropy is at most {alpha} times that of all")
def top_h(
    candidates: Candidates,
    alpha: Number,
    *,
    entropy: Literal["own", "shared"] = "own",
    best: int | None = None,
    ties: Ties = "lowest id",
    least: int = 1,
    numbers: Numbers = EXACT,
) -> Candidates:
    """Return the most probable candidates, as many as the entropy allows.

    >>> top_h([0.0] * 16, alpha=0.5).tokens, len(top_h([0.0] * 16, 0.5, entropy="shared").tokens)
    ([0, 1, 2, 3], 8)
    >>> top_h([3.0, 2.0, 1.0, 0.0], alpha=0.5).tokens
    [0]
    >>> top_h([3.0, 2.0, 1.0, 0.0], alpha=0.75).tokens
    [0, 1]
    """
    read_whole("least", least, 0)
    share = read_fraction("alpha", alpha, "(0, 1]")
    here = numbers.of(candidates)
    if best is None:
        line = here.falling(ties).places
    else:
        line = here.largest(read_whole("best", best, 1), ties)
    kept = line[: max(here.entropy_within(line, share, entropy=entropy), least)]
    return here.keep(here.with_equals(kept) if ties == "all" else kept, "falling")
