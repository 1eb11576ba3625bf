"""Why two tokens may be side by side, or where they fail.

The text of both is encoded, merge by merge, until something merges across the seam between them.
This merge is the reason: it takes the last token of what the left one is made of so far, and the
first of what the right one is made of so far, and so it undoes whatever was still to come on both
sides. (The seam test of `compatibility` finds the same merge backwards.)

What this leaves open
    *A token that merging never makes* fails before any merge crosses: its own bytes encode to other
    tokens.
    *A byte that the vocabulary lacks*: then the text cannot be encoded at all.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from bpe_ref.errors import TokenIdError
from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.heap import encode_heap, merge_slots
from bpe_ref.vocabulary.merges import Merge, Pair, TokenId

Verdict: TypeAlias = Literal["compatible", "crossed", "left never made", "right never made"]


@dataclass(frozen=True)
class PairReport:
    """What becomes of the text of two tokens.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ba": 2, b"ab": 3})
    >>> report = explain_pair(vocabulary, 3, 0)
    >>> report.verdict, report.met, report.merge, report.undone, report.encoding
    ('crossed', (1, 0), Merge(rank=2, result=2), (((0, 1), Merge(rank=3, result=3)),), (0, 2))
    """

    left: TokenId
    right: TokenId
    verdict: Verdict

    encoding: tuple[TokenId, ...]
    """What the text of both encodes to: just the two of them, if they are compatible."""

    met: Pair | None = None
    """The two tokens that merged across the seam; None if none did."""

    merge: Merge | None = None
    """What they became, and at which rank."""

    undone: tuple[tuple[Pair, Merge], ...] = ()
    """The merges that would have gone on to make the left token, then those of the right one."""


def explain_pair(vocabulary: Vocabulary, left: TokenId, right: TokenId) -> PairReport:
    """Return whether the tokens are compatible, and if not, which merge crosses the seam.

    Raises `TokenIdError` for what is not the id of a token that is not special,
    and `SymbolError` if the vocabulary lacks one of their bytes.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"aa": 1})
    >>> explain_pair(vocabulary, 1, 0).verdict, explain_pair(vocabulary, 0, 1).verdict
    ('compatible', 'crossed')
    """
    left_symbols, right_symbols = (_symbols(vocabulary, token) for token in (left, right))
    symbols = left_symbols + right_symbols
    encoding = tuple(encode_heap(vocabulary, symbols))
    seam = len(left_symbols)
    ends = list(range(1, len(symbols) + 1))  # where the token in each slot ends
    done = [0, 0]  # how many merges there were on each side so far
    for pair, slot in merge_slots(vocabulary.rule.merge, symbols):
        ends[slot] = ends[ends[slot]]
        if slot < seam < ends[slot]:
            undone = [*_way(vocabulary, left_symbols)[done[0] :]]
            undone += _way(vocabulary, right_symbols)[done[1] :]
            merge = vocabulary.merge(*pair)
            return PairReport(left, right, "crossed", encoding, pair, merge, tuple(undone))
        done[slot >= seam] += 1
    if encoding == (left, right):
        return PairReport(left, right, "compatible", encoding)
    made = encode_heap(vocabulary, left_symbols) == [left]
    return PairReport(left, right, "right never made" if made else "left never made", encoding)


def render_pair(vocabulary: Vocabulary, report: PairReport) -> str:
    """Return the report as sentences, one on each line.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ba": 2, b"ab": 3})
    >>> print(render_pair(vocabulary, explain_pair(vocabulary, 3, 0)))
    'ab' (3) and 'a' (0) cannot stand side by side: together they encode to 'a' (0), 'ba' (2).
    At rank 2, 'b' (1) of the left one and 'a' (0) of the right one merge into 'ba' (2).
    So this no longer happens: at rank 3, 'a' (0) and 'b' (1) merge into 'ab' (3).
    """

    def name(token: TokenId) -> str:
        return f"{vocabulary.tokens[token]!r} ({token})".removeprefix("b")

    left, right = name(report.left), name(report.right)
    if report.verdict == "compatible":
        return f"{left} and {right} can stand side by side."
    together = ", ".join(map(name, report.encoding))
    lines = [f"{left} and {right} cannot stand side by side: together they encode to {together}."]
    if report.met is None or report.merge is None:
        never = left if report.verdict == "left never made" else right
        return f"{lines[0]}\nMerging never makes {never}: its own bytes encode to other tokens."
    lines.append(
        f"At rank {report.merge.rank}, {name(report.met[0])} of the left one and "
        f"{name(report.met[1])} of the right one merge into {name(report.merge.result)}."
    )
    lines += [
        f"So this no longer happens: at rank {merge.rank}, {name(pair[0])} and {name(pair[1])} "
        f"merge into {name(merge.result)}."
        for pair, merge in report.undone
    ]
    return "\n".join(lines)


def _symbols(vocabulary: Vocabulary, token: TokenId) -> list[TokenId]:
    content = vocabulary.tokens.get(token) if type(token) is int else None
    if content is None:
        raise TokenIdError(f"token id must be an ordinary one of this vocabulary's, got {token!r}")
    return vocabulary.symbols(content)


def _way(vocabulary: Vocabulary, symbols: list[TokenId]) -> list[tuple[Pair, Merge]]:
    """Return the merges that the symbols undergo alone, in order."""
    pairs = [pair for pair, _ in merge_slots(vocabulary.rule.merge, list(symbols))]
    return [(pair, merge) for pair in pairs if (merge := vocabulary.merge(*pair)) is not None]
