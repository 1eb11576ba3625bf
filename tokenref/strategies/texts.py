"""Texts on which tokenizers differ, made of atoms.

Random characters rarely occur where a tokenizer makes a decision. So a text is a sequence of
*atoms*: contractions, runs of digits, white space, line ends, marks, scripts, emoji, and texts
that the vocabulary knows. Nothing separates two atoms, so words join special tokens, and marks
join spaces.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from hypothesis import strategies as st

_Drawn = TypeVar("_Drawn")

ATOMS: Final[Mapping[str, Sequence[str]]] = json.loads(
    (Path(__file__).parent / "atoms.json").read_bytes()
)
"""The atoms of each kind. Some letters are of Unicode 16.0 and 17.0: older tables lack them."""

KINDS: Final = tuple(
    kind for name, kind in ATOMS.items() for _ in range(2 if name == "spaces" else 1)
)
"""The kinds of atoms. A kind is drawn first, so that large kinds do not dominate."""

_TIMES: Final = (*([1] * 24), 2, 2, 3, 4, 8)
"""How often an atom is repeated."""

RUNS: Final = (16, 32, 64, 100, 110, 128, 200, 255, 256, 300, 512)
"""Lengths where behaviour changes: a byte overflows, a piece is cut, another path is taken."""


@st.composite
def mostly(
    draw: st.DrawFn, usual: st.SearchStrategy[_Drawn], rare: st.SearchStrategy[_Drawn], times: int
) -> _Drawn:
    """Draw from `usual`, and once in `times` draws from `rare`.

    `one_of` cannot say that: it takes a strategy that is given twice only once.

    >>> from hypothesis import find
    >>> find(mostly(st.just("usual"), st.just("rare"), 8), lambda drawn: True)
    'usual'
    """
    return draw(rare if draw(st.integers(0, times - 1)) == times - 1 else usual)


def atoms(*more: str) -> st.SearchStrategy[str]:
    """Return a strategy for one atom; `more` are atoms of the tokenizer under test.

    >>> from hypothesis import find
    >>> find(atoms("<|end|>"), lambda atom: "|" in atom and "end" in atom)
    '<|end|>'
    """
    kinds = [*KINDS, *([more] * 6 if more else [])]
    characters = st.characters(exclude_categories=["Cs"])
    return mostly(st.sampled_from(kinds).flatmap(st.sampled_from), characters, len(kinds) + 1)


def texts(*more: str, longest: int = 12) -> st.SearchStrategy[str]:
    """Return a strategy for texts of up to `longest` atoms, some of them repeated.

    `more` are atoms of the tokenizer at hand: its words, its special tokens.

    >>> from hypothesis import find
    >>> " " in find(texts(), lambda text: " " in text and not text.isascii())
    True
    """
    atom = st.builds(str.__mul__, atoms(*more), st.sampled_from(_TIMES))
    return st.lists(atom, max_size=longest).map("".join)


@st.composite
def long_runs(draw: st.DrawFn, words: Sequence[str]) -> str:
    """Draw a long run of one word, with something at either end, to test work done in chunks.

    >>> from hypothesis import find
    >>> len(find(long_runs(["a"]), lambda text: True)) >= RUNS[0] - 1
    True
    """
    word = draw(st.sampled_from(words))
    length = draw(st.sampled_from(RUNS)) + draw(st.integers(-1, 2))
    before, after = (draw(st.sampled_from(["", *words])) for _ in range(2))
    return before + (word * length)[:length] + after
