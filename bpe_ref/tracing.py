r"""The definition of byte-pair encoding, step by step, for teaching.

    Among all adjacent pairs that the merge rule allows, merge the one with the lowest rank, the
    leftmost of equals. That is one step.

Source: as in `encoders/naive.py`, whose last state is the last state here. What the source leaves
open is decided as there. One thing is not shown: where the text rules say that a piece which is
itself a token is taken whole (`whole_piece`), no merge happens. A trace shows what merging makes of
the piece.

How tokens are shown
    Text is shown as it is, a space as `␣`. Everything else that does not print, and bytes that are
    not whole characters, are written as in Python: `\n`, `\xe4`. A combining mark at the beginning
    is on a `◌`, because it would be on whatever is before it. A backslash is `\\`, and the
    characters `␣` and `◌` themselves `\u2423` and `\u25cc`, so that no two tokens look the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final
from unicodedata import category

from bpe_ref.errors import ParameterError
from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.merges import TokenId

LONGEST: Final = 1_000
"""The most characters of a piece whose trace is shown: it grows with their square."""


def check_length(piece: str) -> None:
    """Raise `ParameterError` for a piece that is too long for a trace.

    >>> check_length("a" * 1001)
    Traceback (most recent call last):
    bpe_ref.errors.ParameterError: text must have pieces of at most 1000 characters, got 1001
    """
    if len(piece) > LONGEST:
        raise ParameterError(
            "text", len(piece), f"must have pieces of at most {LONGEST} characters"
        )


@dataclass(frozen=True)
class MergeStep:
    """One merge.

    >>> step = MergeStep(position=0, left=97, right=98, result=256, rank=256, tokens=(256, 97))
    >>> step.tokens[step.position] == step.result
    True
    """

    position: int
    """Where the left token was, and where the result is: an index, not a byte."""

    left: TokenId
    right: TokenId
    result: TokenId
    rank: int

    tokens: tuple[TokenId, ...]
    """All tokens of the piece after this merge."""

    lost: tuple[tuple[int, int], ...] = field(default=(), compare=False)
    """Rank and position of each other pair that could have merged, best first."""


def trace(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[MergeStep]:
    """Return the merges that encoding makes, in order. O(n²).

    Raises `SymbolError` for an id that is not a single symbol.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2, b"aba": 3})
    >>> [(step.position, step.tokens) for step in trace(vocabulary, vocabulary.symbols(b"ababa"))]
    [(0, (2, 0, 1, 0)), (1, (2, 2, 0)), (1, (2, 3))]
    """
    vocabulary.spell(symbols)  # raises for what is not a symbol
    tokens = list(symbols)
    steps: list[MergeStep] = []
    merged = cache(vocabulary.merge)
    while candidates := [
        (merge.rank, position, merge.result)
        for position, (left, right) in enumerate(pairwise(tokens))
        if (merge := merged(left, right)) is not None
    ]:
        rank, position, result = min(candidates)
        left, right = tokens[position : position + 2]
        tokens[position : position + 2] = [result]
        lost = tuple((rank, position) for rank, position, _ in sorted(candidates)[1:])
        steps.append(MergeStep(position, left, right, result, rank, tuple(tokens), lost))
    return steps


def render_trace(
    vocabulary: Vocabulary, symbols: Sequence[TokenId], steps: Sequence[MergeStep]
) -> str:
    """Return a plain-text table of a trace: one line per merge, after one for the symbols.

    `steps` is what `trace` returned for `symbols`. Raises `TokenIdError` for
    an id that the vocabulary lacks.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b" ": 2, b"ab": 3, b"aba": 4})
    >>> symbols = vocabulary.symbols(b"ab aba")
    >>> print(render_trace(vocabulary, symbols, trace(vocabulary, symbols)))
    step  rank  place  merge         tokens
       0                             a b ␣ a b a
       1     3      0  a + b = ab    ab ␣ a b a
       2     3      2  a + b = ab    ab ␣ ab a
       3     4      2  ab + a = aba  ab ␣ aba
    """

    def show(tokens: Sequence[TokenId]) -> str:
        return " ".join(show_token(vocabulary.token_bytes(token)) for token in tokens)

    rows = [("step", "rank", "place", "merge", "tokens"), ("0", "", "", "", show(symbols))]
    for number, step in enumerate(steps, 1):
        left, right, result = (show([token]) for token in (step.left, step.right, step.result))
        merge = f"{left} + {right} = {result}"
        rows.append((str(number), str(step.rank), str(step.position), merge, show(step.tokens)))

    wide = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        f"{number:>{wide[0]}}  {rank:>{wide[1]}}  {place:>{wide[2]}}  {merge:<{wide[3]}}  "
        f"{tokens}".rstrip()
        for number, rank, place, merge, tokens in rows
    )


MOST_LOST = 5
"""How many of the pairs that lost are shown for each merge."""


def render_details(
    vocabulary: Vocabulary, symbols: Sequence[TokenId], steps: Sequence[MergeStep]
) -> str:
    """Return the table of a trace with the ids after each merge and the pairs that lost.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b" ": 2, b"ab": 3, b"aba": 4})
    >>> symbols = vocabulary.symbols(b"abab")
    >>> print(render_details(vocabulary, symbols, trace(vocabulary, symbols)))
    step  rank  place  merge       tokens
       0                           a b a b
              ids 0 1 0 1
       1     3      0  a + b = ab  ab a b
              ids 3 0 1
              instead of a + b (rank 3, place 2)
       2     3      1  a + b = ab  ab ab
              ids 3 3
              instead of ab + a (rank 4, place 0)
    """
    head, *lines = render_trace(vocabulary, symbols, steps).splitlines()
    shown = [head]
    before: Sequence[TokenId] = symbols
    states = [tuple(symbols), *(step.tokens for step in steps)]
    for number, (line, tokens) in enumerate(zip(lines, states, strict=True)):
        shown += [line, f"          ids {' '.join(map(str, tokens))}"]
        lost = steps[number - 1].lost if number else ()
        names = [show_token(vocabulary.token_bytes(token)) for token in before] if lost else []
        shown += [f"          {line}" for line in lost_pairs(names, lost)]
        before = tokens
    return "\n".join(shown)


def lost_pairs(names: Sequence[str], lost: Sequence[tuple[int, int]]) -> list[str]:
    """Return a line with the pairs that lost, by rank and place in a row; none if none lost.

    >>> lost_pairs(["a", "b", "a", "b"], [(3, 2)])
    ['instead of a + b (rank 3, place 2)']
    """
    pairs = [
        f"{names[place]} + {names[place + 1]} (rank {rank}, place {place})"
        for rank, place in lost[:MOST_LOST]
    ]
    more = f" and {len(lost) - MOST_LOST} more" if len(lost) > MOST_LOST else ""
    return [f"instead of {', '.join(pairs)}{more}"] if pairs else []


@lru_cache(maxsize=1 << 12)
def show_token(content: bytes) -> str:
    r"""Return the bytes of a token, or of a text, so that a reader can see each of them.

    >>> print(show_token(" né\n".encode()), show_token("né".encode()[:2]))
    ␣né\n n\xc3
    """
    text = content.replace(b"\\", rb"\\").decode(errors="backslashreplace")
    is_mark = category(text[:1] or " ").startswith("M")
    return "◌" * is_mark + "".join(_show_character(character) for character in text)


def _show_character(character: str) -> str:
    if character == " ":
        return "␣"
    if character.isprintable() and character not in "␣◌":
        return character
    code = ord(character)
    if 0x80 <= code <= 0xFF:  # two digits would look like a byte
        return f"\\u{code:04x}"
    return character.encode("unicode_escape").decode()
