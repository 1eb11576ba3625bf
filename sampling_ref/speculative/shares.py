"""A row as exact shares of its total, and the token that lies at a point of them.

Everything in this folder compares a target with a draft. Two rows of floats never sum to
exactly the same number, so each is first divided by its own sum, in exact rationals: a
row that sums to 0.999 or to 2 is as good as a row that sums to 1.

Logits
    Rows here are weights. For logits, give `softmax(logits)`: these weights are rounded
    once each, correctly, and everything after that is exact.
"""

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from math import floor
from typing import Any

from sampling_ref.errors import HistoryError, RowError
from sampling_ref.parameters import read_history
from sampling_ref.random.sources import read_uniforms
from sampling_ref.row import Row, TokenId, read_weights, whole_numbers


def read_shares(weights: Any, name: str = "weights") -> list[Fraction]:
    """Return each weight divided by the sum of all, exactly.

    >>> read_shares([3.0, 0.0, 1.0])
    [Fraction(3, 4), Fraction(0, 1), Fraction(1, 4)]
    """
    zero = Fraction(0)  # one for all, because most tokens of a long row may have no weight
    wholes, _ = whole_numbers(read_weights(weights, name))
    total = sum(wholes)
    return [Fraction(whole, total) if whole else zero for whole in wholes]


def read_two_shares(target: Any, draft: Any) -> tuple[list[Fraction], list[Fraction]]:
    """Return the shares of a target and a draft row over the same tokens.

    >>> read_two_shares([1.0, 1.0], [1.0])
    Traceback (most recent call last):
    sampling_ref.errors.RowError: target and draft must have the same length, got 2 and 1
    """
    p, q = read_shares(target, "target"), read_shares(draft, "draft")
    if len(p) != len(q):
        sizes = f"{len(p)} and {len(q)}"
        raise RowError(f"target and draft must have the same length, got {sizes}")
    return p, q


def read_rows(rows: Any, name: str, count: int) -> list[list[Fraction]]:
    """Return the shares of exactly `count` rows.

    >>> read_rows([[1.0]], "targets", 2)
    Traceback (most recent call last):
    sampling_ref.errors.RowError: targets must hold 2 rows, got 1
    """
    if not isinstance(rows, Sequence) and not hasattr(rows, "tolist"):
        raise RowError(f"{name} must be a sequence of rows, got {type(rows).__name__}")
    found = [read_shares(row, f"{name}[{place}]") for place, row in enumerate(rows)]
    if len(found) != count:
        raise RowError(f"{name} must hold {count} rows, got {len(found)}")
    sizes = sorted({len(row) for row in found})
    if len(sizes) > 1:
        raise RowError(f"{name} must be rows of one length, got {sizes[0]} and {sizes[-1]}")
    return found


def read_targets(targets: Any, tokens: Any) -> tuple[list[list[Fraction]], list[TokenId]]:
    """Return checked drafted tokens, and one target row more than there are tokens.

    >>> read_targets([[1.0, 1.0]], [0])
    Traceback (most recent call last):
    sampling_ref.errors.RowError: targets must hold 2 rows, got 1
    """
    if hasattr(tokens, "tolist"):
        tokens = tokens.tolist()
    if not isinstance(tokens, Sequence):
        raise HistoryError(f"tokens must be a sequence of token ids, got {type(tokens).__name__}")
    p = read_rows(targets, "targets", len(tokens) + 1)
    return p, read_history(tokens, len(p[0]), "tokens")


def read_drafted(
    targets: Any, drafts: Any, tokens: Any
) -> tuple[list[list[Fraction]], list[list[Fraction]], list[TokenId]]:
    """Return checked drafts: one token and one row for each, and one target row more.

    >>> read_drafted([[1.0, 1.0]] * 2, [[1.0]], [0])
    Traceback (most recent call last):
    sampling_ref.errors.RowError: targets and drafts must be rows of one length, got 2 and 1
    """
    p, checked = read_targets(targets, tokens)
    q = read_rows(drafts, "drafts", len(checked))
    if q and len(p[0]) != len(q[0]):
        sizes = f"{len(p[0])} and {len(q[0])}"
        raise RowError(f"targets and drafts must be rows of one length, got {sizes}")
    return p, q, checked


def read_exactly(uniforms: Any, count: int) -> list[Fraction]:
    """Return exactly `count` random numbers in [0, 1).

    >>> read_exactly([0.5], 2)
    Traceback (most recent call last):
    sampling_ref.errors.RandomNumberError: uniforms must hold 2 numbers, got 1
    """
    return [Fraction(number) for number in read_uniforms(uniforms, count)]


def running_shares(shares: Row) -> list[Fraction]:
    """Return the running sums of a row, in the order of the vocabulary.

    >>> running_shares([Fraction(1, 4), Fraction(3, 4)])
    [Fraction(1, 4), Fraction(1, 1)]
    """
    wholes, unit = whole_numbers(shares)
    return [Fraction(running, unit) for running in accumulate(wholes)]


def token_at(shares: Row, u: Fraction) -> TokenId:
    """Return the first token whose running sum exceeds the share `u` of the total.

    Exceeds, and not reaches: so `u = 0` never yields a token of weight zero.

    >>> token_at([0, Fraction(1, 2), Fraction(1, 2)], Fraction(0))
    1
    >>> token_at([0, Fraction(1, 2), Fraction(1, 2)], Fraction(1, 2))
    2
    """
    wholes, _ = whole_numbers(shares)
    running = list(accumulate(wholes))
    if not running[-1]:
        raise RowError(
            "nothing is left to draw from: no draft row offers the draft that was rejected"
        )
    return bisect_right(running, floor(u * running[-1]))
