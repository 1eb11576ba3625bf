"""Patterns and texts at random, on which readers of Oniguruma's syntax are likely to differ.

Drawn from a seed: Hypothesis would take ten times as long to draw as the engine to match.
"""
# ruff: noqa: RUF001 -- letters that look alike are the point

import random
from typing import Final

LITERALS: Final[tuple[str, ...]] = (
    *"aabbsSfiKk 1-'.\n",
    *("ß", "é", "ſ", "ﬀ", "中", "\u0301", "ss", "ffi", "st", "α", "Α", "K", "i̇"),
)
SETS: Final = (
    *(r"\w", r"\W", r"\s", r"\S", r"\d", r"\D", r"\h", r"\H", r"\N", r"\O", r"\R", "."),
    *(r"\p{L}", r"\P{L}", r"\p{^N}", r"\p{Lu}", r"\p{Han}", r"\p{greek}", r"\p{Punct}"),
    *("[[:alpha:]]", "[^[:punct:]]", r"\x61", r"\u0073", r"\x{df}", r"\n", r"\.", r"\141"),
    *(r"\xC3\x9F", r"\cA", r"\o{163}", r"\q", r"\pL"),
)
MEMBERS: Final = (
    *("a-c", "s", "k", "^", "&&", "[^a-f]", "[:alpha:]", "[:^lower:]", r"\w", r"\d", "-", "ß"),
    *("ﬀ", "]", r"\]", "é", "ſ", r"\p{Lu}", r"\s", "K", "[s]", " ", r"\x61", "b-", r"\b", "ΐ"),
)
PLACES: Final = ("^", "$", r"\A", r"\z", r"\Z", r"\b", r"\B", r"\G", r"\K", "(?=a)", "(?!s)")
QUANTIFIERS: Final = (
    *("*", "+", "?", "*?", "+?", "??", "*+", "++", "?+", "{2}", "{1}", "{1,2}", "{,2}", "{1,}"),
    *("{2}?", "{1,3}+", "{2,1}", "{0}", "{,", "{0,1}?", "{2}{3}", "{1,1}", "{,}", "{1,2}{1,2}"),
)
GROUPS: Final = (
    *("(?:", "(?:", "(?:", "(", "(?>", "(?=", "(?!", "(?<=", "(?<!", "(?i:", "(?m:", "(?-i:"),
    *("(?x:", "(?i-m:", "(?:a(?i)", "(?<n>"),
)
ATOMS: Final = (
    *("a", "b", "ab", "s", "ss", "S", "ß", "ẞ", "ſ", "f", "ff", "ffi", "ﬃ", "ﬀ", "ﬁ", "i", "k"),
    *("K", "\u212a", " ", "  ", "\n", "1", "12", "'", "-", ".", "é", "É", "中", "\u0301", "α"),
    *("Α", "st", "ﬆ", "c", "]", "İ", "²", "\u0390", "\r\n", "$", "👨"),
)


def pattern_from(draw: random.Random) -> str:
    """Return a pattern; about every second one is well-formed."""
    if draw.random() < 0.2:
        return "(?i)" + _choice(draw, 2)
    return _choice(draw, draw.choice([1, 2, 2, 3]))


def text_from(draw: random.Random) -> str:
    """Return a text of up to nine atoms."""
    return "".join(draw.choice(ATOMS) for _ in range(draw.randint(1, 9)))


def _choice(draw: random.Random, depth: int) -> str:
    return "|".join(_sequence(draw, depth) for _ in range(draw.choice([1, 1, 1, 2, 2, 3])))


def _sequence(draw: random.Random, depth: int) -> str:
    parts = []
    for _ in range(draw.randint(0 if draw.random() < 0.1 else 1, 4)):
        parts.append(_atom(draw, depth))
        while draw.random() < 0.3:
            parts.append(draw.choice(QUANTIFIERS))
    return "".join(parts)


def _atom(draw: random.Random, depth: int) -> str:
    kind = draw.random()
    if depth > 0 and kind < 0.34:
        return draw.choice(GROUPS) + _choice(draw, depth - 1) + ")"
    if kind < 0.55:
        return "".join(draw.choice(LITERALS) for _ in range(draw.randint(1, 3)))
    if kind < 0.75:
        return draw.choice(SETS)
    if kind < 0.87:
        members = (draw.choice(MEMBERS) for _ in range(draw.randint(1, 4)))
        return "[" + draw.choice(["", "^"]) + "".join(members) + "]"
    if kind < 0.93:
        return draw.choice(PLACES)
    return draw.choice(["(?#c)", "{", "}", "]", r"\1", r"\k<n>", *LITERALS[:6]])
