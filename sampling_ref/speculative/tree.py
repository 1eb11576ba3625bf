"""A tree of drafts: several guesses for one place, each followed by guesses of its own.

Miao et al., "SpecInfer", ASPLOS 2024, algorithm 2, multi-step speculative sampling
(https://arxiv.org/abs/2305.09781); Li et al., "EAGLE", ICML 2024, appendix
(https://arxiv.org/abs/2401.15077). The rule:

    Judge the guesses for one place one after the other. When one is rejected, the
    residual becomes the target for the next. The first that is accepted is kept and its
    own guesses are judged in the same way, against the target's row after it. Where no
    guess is left, draw from what remains of the target.

Why this makes the output follow the target
    One rejection and its residual keep the law, whatever the target row is; so the second
    guess, judged against that residual, hands the residual out exactly, and so on.

Which row a guess was drawn from
    Each node brings its own. Guesses drawn independently bring the same row; guesses
    drawn without replacement bring the row without the tokens drawn before; guesses that were
    picked and not drawn, such as the best three, bring rows that are 1 at their token.

A token that its row does not offer
    By its ratio: accepted if the target has it (see `acceptance`).

Random numbers
    One for each node, in the order of the lists, whether or not it is reached; then one
    for the token at the end.
"""

from fractions import Fraction
from typing import Any, get_args

from sampling_ref.errors import ParameterError
from sampling_ref.parameters import is_whole, read_choice
from sampling_ref.speculative.acceptance import Equality, accepts
from sampling_ref.speculative.chain import Verified
from sampling_ref.speculative.residual import subtract
from sampling_ref.speculative.shares import read_drafted, read_exactly, running_shares, token_at


def read_children(parents: Any, count: int) -> list[list[int]]:
    """Return the children of the root and of each node, in the order of the lists.

    `parents[i]` is the place of node i's parent, counted from 1; 0 is the root.

    >>> read_children([0, 0, 1], 3)
    [[1, 2], [3], [], []]
    >>> read_children([1], 1)
    Traceback (most recent call last):
    sampling_ref.errors.ParameterError: parents[0] must be the place of an earlier node, got 1
    """
    if hasattr(parents, "tolist"):
        parents = parents.tolist()
    if not isinstance(parents, list | tuple) or len(parents) != count:
        raise ParameterError("parents", parents, f"must be a list of {count} places")
    children: list[list[int]] = [[] for _ in range(count + 1)]
    for place, parent in enumerate(parents):
        if not is_whole(parent, most=place):
            rule = "must be the place of an earlier node"
            raise ParameterError(f"parents[{place}]", parent, rule)
        children[parent].append(place + 1)
    return children


def verify_tree(
    targets: Any,
    drafts: Any,
    tokens: Any,
    parents: Any,
    uniforms: Any,
    *,
    equality: Equality = "reject",
) -> Verified:
    """Return what comes out for a tree of drafts.

    Node i holds `tokens[i]`, drawn from `drafts[i]`, below the node at place `parents[i]`
    (counted from 1; 0 is the root). `targets[0]` is the target's row at the root,
    `targets[i + 1]` its row after node i. With parents 0, 1, 2 ... this is `verify_chain`.

    >>> even, left = [0.5, 0.5], [0.75, 0.25]
    >>> sure = [[1.0, 0.0], [0.0, 1.0]]  # both tokens were picked, not drawn
    >>> verify_tree([even, left, left], sure, [0, 1], [0, 0], [0.5, 0.5, 0.25])
    Verified(tokens=(1, 0), accepted=1)
    """
    read_choice("equality", equality, get_args(Equality))
    p, q, tokens = read_drafted(targets, drafts, tokens)
    children = read_children(parents, len(tokens))
    *coins, last = read_exactly(uniforms, len(tokens) + 1)
    kept: list[int] = []
    at, row = 0, p[0]
    while at is not None:
        for node in children[at]:
            token, offered = tokens[node - 1], q[node - 1]
            if accepts(row[token], offered[token], coins[node - 1], equality, "by ratio"):
                kept.append(token)
                at, row = node, p[node]
                break
            row = subtract(row, offered, "error")
        else:
            break
    return Verified((*kept, token_at(row, last)), len(kept))


def tree_breakpoints(targets: Any, drafts: Any, tokens: Any, parents: Any) -> list[list[Fraction]]:
    """Return, for each random number, every value at which the answer can change.

    >>> tree_breakpoints([[0.5, 0.5]] * 2, [[0.75, 0.25]], [0], [0])[0]
    [Fraction(2, 3)]
    """
    p, q, tokens = read_drafted(targets, drafts, tokens)
    ratios: list[list[Fraction]] = [[] for _ in tokens]
    ends: list[Fraction] = []
    for at, nodes in enumerate(read_children(parents, len(tokens))):
        row = p[at]
        ends += running_shares(row)
        for node in nodes:
            token, offered = tokens[node - 1], q[node - 1]
            if offered[token]:
                ratios[node - 1].append(row[token] / offered[token])
            row = subtract(row, offered, "target")
            ends += running_shares(row)
    return [*ratios, ends]
