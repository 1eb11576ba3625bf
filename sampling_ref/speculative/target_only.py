"""A tree of drafts judged by the target alone, as SGLang does it.

SGLang 0.5.23, `kernels/jit/include/sgl_kernel/speculative/sampling.cuh:60-95`. The rule:

    For the guesses at one place, add up the target's shares as you go. The first guess at
    which the running sum exceeds the random number of this place is kept. Where none is,
    draw from the target without the guesses.

This is a draw from the target by its running sum, with the guesses moved to the front: so
with both thresholds at 1 the law is kept, whichever way the guesses were found, as long as
no guess occurs twice at one place. A guess that occurs twice is counted twice.

Thresholds
    The running sum is divided by `threshold_acc` before it is compared, and a guess with a
    share of at least `threshold_single` is kept at once. Below 1 both accept more than
    the law allows. `threshold_acc` counts as 1e-9 if it is smaller.
Guesses that the target makes impossible
    Never kept, whatever the thresholds.
Random numbers
    One for the root, then one for each node: it judges the children of that place. Then
    one for the token at the end.
"""

from fractions import Fraction
from typing import Any

from sampling_ref.parameters import read_fraction
from sampling_ref.row import Number
from sampling_ref.speculative.chain import Verified
from sampling_ref.speculative.shares import read_exactly, read_targets, running_shares, token_at
from sampling_ref.speculative.tree import read_children

SMALLEST_THRESHOLD = Fraction(1e-9)
"""What SGLang uses instead of a smaller `threshold_acc`."""


def verify_target_only(
    targets: Any,
    tokens: Any,
    parents: Any,
    uniforms: Any,
    *,
    threshold_single: Number = 1.0,
    threshold_acc: Number = 1.0,
) -> Verified:
    """Return what comes out for a tree of guesses; the tree is given as for `verify_tree`.

    >>> even, left = [0.5, 0.5], [0.75, 0.25]
    >>> verify_target_only([even, left, left], [0, 1], [0, 0], [0.5, 0.0, 0.0, 0.25])
    Verified(tokens=(1, 0), accepted=1)
    """
    single = read_fraction("threshold_single", threshold_single, "[0, 1]")
    share = read_fraction("threshold_acc", threshold_acc, "[0, 1]")
    share = max(share, SMALLEST_THRESHOLD)
    p, tokens = read_targets(targets, tokens)
    children = read_children(parents, len(tokens))
    *coins, last = read_exactly(uniforms, len(tokens) + 2)
    kept: list[int] = []
    at = 0
    while True:
        running, chosen = Fraction(0), None
        for node in children[at]:
            mine = p[at][tokens[node - 1]]
            running += mine
            if mine > 0 and (coins[at] < running / share or mine >= single):
                chosen = node
                break
        if chosen is None:
            break
        kept.append(tokens[chosen - 1])
        at = chosen
    tried = {tokens[node - 1] for node in children[at]}
    left = [Fraction(0) if token in tried else mine for token, mine in enumerate(p[at])]
    return Verified((*kept, token_at(left, last)), len(kept))


def target_only_breakpoints(
    targets: Any, tokens: Any, parents: Any, threshold_acc: Number = 1.0
) -> list[list[Fraction]]:
    """Return, for each random number, every value at which the answer can change.

    >>> target_only_breakpoints([[0.5, 0.5], [0.75, 0.25]], [0], [0])[:2]
    [[Fraction(1, 2)], []]
    """
    p, tokens = read_targets(targets, tokens)
    share = max(read_fraction("threshold_acc", threshold_acc, "[0, 1]"), SMALLEST_THRESHOLD)
    coins: list[list[Fraction]] = []
    ends: list[Fraction] = []
    for at, nodes in enumerate(read_children(parents, len(tokens))):
        guesses = [tokens[node - 1] for node in nodes]
        coins.append([end / share for end in running_shares([p[at][guess] for guess in guesses])])
        left = [Fraction(0) if x in guesses else mine for x, mine in enumerate(p[at])]
        total = sum(left)
        ends += [end / total for end in running_shares(left) if total]
    return [*coins, ends]
