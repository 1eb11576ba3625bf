r"""What a quantifier does to what stands before it, where that is a quantifier already.

Definition
    Oniguruma replaces a quantifier upon a quantifier by one of them, wherever both are among
    `? * + ?? *? +?`: `a**` is `a*`, and so is `(?:a+)?`. `{2}` upon `{3}` is `{6}`. Upon `*` or
    `+`, `{n,m}` is `{n}`.

Where the definition differs from the words
    Not every replacement keeps the preference: `(?:a+?)??` becomes `a*?`, `(?:a?)+?` stays.
    `(?:ab){1}+` is `ab+`, since `{1}` vanishes together with the group.

Source: https://github.com/kkos/oniguruma, src/regparse.c, `onig_reduce_nested_quantifier`.
"""

import re
from dataclasses import replace
from typing import TypeAlias

from bpe_ref.oniguruma.cursor import Cursor
from bpe_ref.oniguruma.nodes import Node, Repeat

Quantifier: TypeAlias = tuple[int, int | None, str]
"""How often at least, at most (None: no bound), and `?` if lazy, `+` if possessive, or nothing."""

MOST_REPEATS = 100_000
_MOST_DIGITS = 6

_SIGN = re.compile(r"([*+?])([+?]?)")
_BRACES = re.compile(r"\{(?:([0-9]+)(,?)([0-9]*)|,([0-9]+))\}")
_SIGNS = {"*": (0, None), "+": (1, None), "?": (0, 1)}

_KINDS = {
    (0, 1, True): "?",
    (0, None, True): "*",
    (1, None, True): "+",
    (0, 1, False): "??",
    (0, None, False): "*?",
    (1, None, False): "+?",
}
_BOUNDS = {kind: bounds for bounds, kind in _KINDS.items()}

_KEPT = "kept"
_SAME = "same"
_LAZY_PLUS = "(+)??"
_REDUCED = {
    # inner: what comes of it under each of  ?  *  +  ??  *?  +?
    "?": (_KEPT, "*", "*", "??", "*?", _SAME),
    "*": (_KEPT, _KEPT, _KEPT, _LAZY_PLUS, _LAZY_PLUS, _KEPT),
    "+": ("*", "*", _KEPT, _SAME, _LAZY_PLUS, _KEPT),
    "??": (_KEPT, "*?", "*?", _KEPT, "*?", "*?"),
    "*?": (_KEPT, _KEPT, _KEPT, _KEPT, _KEPT, _KEPT),
    "+?": (_SAME, "*", "+", "*?", "*?", _KEPT),
}


def read_quantifier(cursor: Cursor) -> Quantifier | None:
    """Read a quantifier, or return None if something else comes, as a brace that is a character.

    >>> read_quantifier(Cursor("{,3}?")), read_quantifier(Cursor("{3,1}?"))
    ((0, 3, '?'), (1, 3, '+'))
    """
    if match := cursor.accept_match(_SIGN):
        return *_SIGNS[match[1]], match[2]
    match = _BRACES.match(cursor.pattern, cursor.at)
    if match is None:
        return None
    first, comma, second, only_most = match.groups()
    if any(len(digits.lstrip("0")) > _MOST_DIGITS for digits in match.groups("")) or any(
        int(digits) > MOST_REPEATS for digits in (first, second, only_most) if digits
    ):
        raise cursor.error(f"a quantifier may say at most {MOST_REPEATS}")
    cursor.at = match.end()
    if first and not comma:
        return int(first), int(first), ""
    least, most = int(first or "0"), int(second or only_most) if second or only_most else None
    if most is not None and most < least:
        return most, least, "+"
    return least, most, "?" if cursor.accept("?") else ""


def repeated(  # noqa: PLR0911 -- one answer for each kind of replacement
    body: Node, least: int, most: int | None, *, greedy: bool
) -> Node | None:
    """Return `body` under a quantifier other than `{1}`; None if the product is too large.

    >>> from bpe_ref.oniguruma.nodes import EMPTY
    >>> repeated(Repeat(EMPTY, 0, 1), 1, None, greedy=True) == Repeat(EMPTY, 0, None)
    True
    """
    outer = Repeat(body, least, most, greedy)
    if not isinstance(body, Repeat):
        return outer
    kind = _KINDS.get((body.least, body.most, body.greedy))
    outer_kind = _KINDS.get((least, most, greedy))
    if kind is not None and outer_kind is None:
        if kind in {"*", "+"} and most is not None and most > 1 and greedy:
            return replace(outer, most=least or 1)
        return outer
    if kind is None or outer_kind is None:
        if least == most and body.least == body.most:
            product = least * body.least
            return None if product > MOST_REPEATS else Repeat(body.body, product, product, greedy)
        return outer
    reduced = _REDUCED[kind][list(_REDUCED).index(outer_kind)]
    if reduced == _KEPT:
        return body
    if reduced == _SAME:
        return outer
    if reduced == _LAZY_PLUS:
        return Repeat(Repeat(body.body, 1, None), 0, 1, greedy=False)
    return Repeat(body.body, *_BOUNDS[reduced])
