"""Texts on which tokenizers differ, made of atoms.

Random characters rarely occur where a tokenizer makes a decision. So a text is a sequence of
*atoms*: contractions, runs of digits, white space, line ends, marks, scripts, emoji, and texts
that the vocabulary knows. Nothing separates two atoms, so words join special tokens, and marks
join spaces.
"""

from collections.abc import Sequence
from typing import Final, TypeVar

from hypothesis import strategies as st

_Drawn = TypeVar("_Drawn")

WORDS: Final = (
    *("a", "ab", "the", "The", "HELLO", "hello", "world", "token", "izer", "don", "it", "x", "I"),
    *("stra\u00dfe", "na\u00efve", "\u00dcber", "\u017f", "\u212a", "\ufb01n", "\u0130", "\u01c5"),
    *("\u039f\u0394\u039f\u03a3", "\u041f\u0440\u0438", "aB", "ABc", "camelCase", "\u02b0", "e"),
)
CONTRACTIONS: Final = (
    *("'s", "'S", "'t", "'re", "'VE", "'m", "'ll", "'d", "'", "'\u017f", "\u2019s", "''", "'M"),
)
DIGITS: Final = (
    *("0", "1", "12", "123", "1234", "\u0663", "\u00b2", "\u00bd", "\u2167", "\u4e00", "12.5"),
    *("1,000", "1234567", "1\u0662", "2\u00b2", "\u1041"),
)
SPACES: Final = (
    *(" ", " ", " ", "  ", "   ", "\t", "\n", "\n\n", "\r\n", "\r", " \n", "\n ", "\u00a0"),
    *("\u2003", "\u3000", "\u0085", "\u2028", "\u200b", "\ufeff", "\x0b", "\x0c", "\x1c", "\u180e"),
)
MARKS: Final = (
    *("\u0301", "\u0323", "\u0308", "e\u0301", "a\u0323\u0302", "\u0e33", "\u093f", "\u20e3"),
)
EMOJI: Final = (
    *("\U0001f600", "\U0001f44d\U0001f3fd", "\U0001f468\u200d\U0001f469\u200d\U0001f467"),
    *("\U0001f1e9\U0001f1ea", "\u2764\ufe0f", "\u200d", "\ufe0f"),
)
SCRIPTS: Final = (
    *("\u4f60\u597d", "\u4e16", "\u65e5\u672c\u8a9e", "\u3072\u3089", "\u30ab\u30bf", "\u30fc"),
    *("\ud55c\uad6d", "\uac00", "\u05e9\u05dc", "\u0645\u0631", "\u0939\u093f", "\u0e44\u0e17"),
    *("\u1112\u1161\u11ab", "\U0001d49c", "\U00010348", "\uff46\uff55", "\u338e", "\uf900"),
    *("\u1c89", "\u088f"),  # letters of Unicode 16.0 and 17.0: older tables do not know them
)
PUNCTUATION: Final = (
    *(".", ",", "!", "?!", "...", "-", "--", "\u2014", "_", "__", "(", ")", "[]", "{", "#", "$"),
    *("+", "=", "<", ">", "^", "`", "|", "~", "/", "\\", "@"),
    *("\u201c", "\u2026", "\u3002", "\u20ac"),
    *(".\n", ".\n/", " .", " ,", "a_b"),
)
ODD: Final = (
    *("\ufffd", "\u0000", "\x7f", "\u00ad", "\u2581", "\u0120", "\u010a", "##", "</w>", "<0x41>"),
    *("\ue000", "\u200d"),
)

KINDS: Final[Sequence[Sequence[str]]] = (
    *(WORDS, SPACES, SPACES, CONTRACTIONS, DIGITS, MARKS, EMOJI, SCRIPTS, PUNCTUATION, ODD),
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
    >>> find(texts(), lambda text: any(mark in text for mark in MARKS) and " " in text) != ""
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
