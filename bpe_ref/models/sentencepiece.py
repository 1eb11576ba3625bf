"""SentencePiece's byte-pair encoding: by scores, over characters.

Definition
    The symbols are the user-defined pieces, the longest wherever one starts,
    and between them single characters. Of all adjacent symbols that are not
    user-defined and that, joined, are a normal, user-defined or unused piece,
    the pair with the highest score merges, the leftmost of equal ones; and so
    on until no pair can. At the end every symbol that is an unused piece is
    taken apart into the pair that it was *proposed* as: two adjacent symbols
    that could merge into it. Its parts are taken apart likewise.

Source: `Model::SampleEncode` in src/bpe_model.cc of google/sentencepiece (without
sampling); the wheel 0.2.3 as executed.

What the source leaves open
    *Proposed as two different pairs.* The library keeps the last one, whether it
    merged or not, anywhere in the text. But there is only one such pair for a
    string, in every text: a run inside a stretch whose borders nothing has crossed
    is the run of that stretch alone (`compatibility` has the argument), so
    two symbols that make up the stretch are always the same two.
    *An unused piece of one character* was never proposed: it is unknown.
"""

from collections.abc import Mapping
from heapq import heappop, heappush

from bpe_ref.sentencepiece.model import SentencePieceModel

_NOWHERE = -1


def merge_naive(model: SentencePieceModel, text: str) -> list[str]:
    """Return the symbols of a normalized text: the definition. O(n²).

    >>> from bpe_ref.sentencepiece.model import Piece
    >>> unknown, a, aa = Piece("?", kind="unknown"), Piece("a"), Piece("aa", -1.0)
    >>> merge_naive(SentencePieceModel([unknown, a, aa]), "aaa")
    ['aa', 'a']
    """
    symbols, mergeable = _symbols(model, text)
    halves: dict[str, tuple[str, str]] = {}

    def propose(left: int) -> None:
        """Note the pair whose left symbol this is, if it could merge."""
        pair = symbols[left : left + 2]
        if left >= 0 and _score(model, pair, mergeable[left : left + 2]) is not None:
            halves["".join(pair)] = (pair[0], pair[1])

    for left in range(len(symbols) - 1):
        propose(left)
    while True:
        scores = [
            (score, -left)
            for left in range(len(symbols) - 1)
            if (score := _score(model, symbols[left : left + 2], mergeable[left : left + 2]))
            is not None
        ]
        if not scores:
            return _without_unused(model, symbols, halves)
        left = -max(scores)[1]
        symbols[left : left + 2] = ["".join(symbols[left : left + 2])]
        mergeable[left : left + 2] = [True]
        propose(left - 1)
        propose(left)


def merge_heap(model: SentencePieceModel, text: str) -> list[str]:
    """Return the symbols of a normalized text. O(n log n).

    Invariant: the heap holds every pair that can merge now, and stale ones. An
    entry names the place of both symbols and the length of what they make; two
    symbols only grow or vanish, so the same length at the same places is the
    same pair.

    >>> from bpe_ref.sentencepiece.model import Piece
    >>> unknown, a, aa = Piece("?", kind="unknown"), Piece("a"), Piece("aa", -1.0)
    >>> merge_heap(SentencePieceModel([unknown, a, aa]), "aaa")
    ['aa', 'a']
    """
    symbols, mergeable = _symbols(model, text)
    previous = [_NOWHERE, *range(len(symbols) - 1)]
    following = [*range(1, len(symbols)), _NOWHERE]
    halves: dict[str, tuple[str, str]] = {}
    heap: list[tuple[float, int, int, int]] = []

    def propose(left: int, right: int) -> None:
        """Note a pair, if it could merge."""
        if _NOWHERE in (left, right) or not (mergeable[left] and mergeable[right]):
            return
        joined = symbols[left] + symbols[right]
        token = model.ordinary.get(joined)
        if token is not None:
            heappush(heap, (-model.pieces[token].score, left, right, len(joined)))
            halves[joined] = (symbols[left], symbols[right])

    for left in range(len(symbols) - 1):
        propose(left, left + 1)
    while heap:
        _, left, right, length = heappop(heap)
        if not symbols[left] or not symbols[right]:
            continue  # stale: one of them was merged into the symbol before it
        joined = symbols[left] + symbols[right]
        if len(joined) != length:
            continue  # stale: one of them has grown
        symbols[left], symbols[right] = joined, ""
        following[left] = following[right]
        if following[left] != _NOWHERE:
            previous[following[left]] = left
        propose(previous[left], left)
        propose(left, following[left])
    return _without_unused(model, [symbol for symbol in symbols if symbol], halves)


def _symbols(model: SentencePieceModel, text: str) -> tuple[list[str], list[bool]]:
    """Return what merging starts with, and whether each symbol may merge."""
    symbols: list[str] = []
    mergeable: list[bool] = []
    start = 0
    while start < len(text):
        length = model.frozen_at(text, start)
        mergeable.append(length == 0)
        symbols.append(text[start : start + (length or 1)])
        start += length or 1
    return symbols, mergeable


def _score(model: SentencePieceModel, pair: list[str], mergeable: list[bool]) -> float | None:
    """Return the score of what a pair makes, or None if it cannot merge."""
    token = model.ordinary.get("".join(pair)) if mergeable == [True, True] else None
    return None if token is None else model.pieces[token].score


def _without_unused(
    model: SentencePieceModel, symbols: list[str], halves: Mapping[str, tuple[str, str]]
) -> list[str]:
    """Return the symbols with the unused ones taken apart."""
    whole: list[str] = []
    waiting = symbols[::-1]  # a stack, the first symbol on top
    while waiting:
        symbol = waiting.pop()
        if symbol in halves and model.pieces[model.ordinary[symbol]].kind == "unused":
            left, right = halves[symbol]
            waiting += [right, left]
        else:
            whole.append(symbol)
    return whole
