r"""Read a pattern in Oniguruma's own syntax.

Source: https://github.com/kkos/oniguruma, doc/RE and src/regparse.c (`prs_exp`,
`onig_reduce_nested_quantifier`), src/regcomp.c, and tokenizers 0.23.3 as executed.

Definition
    doc/RE of Oniguruma, for the syntax that the `onig` crate takes by default: Oniguruma's own,
    which is Ruby's with a few additions (`\N`, `\O`, `\x{...}`, look-behind of any width).
    `^` and `$` are the ends of every line, `(?m)` makes the dot match a newline, `(?i)` without
    a colon reaches to the end of the group, over its branches. `{1,3}+` repeats a repetition,
    `{2}?` may leave out, `{3,1}` is possessive, `{,n}` begins at 0, and a brace that is no
    quantifier is a character. As soon as a group has a name, groups without one do not capture.

    A quantifier upon a quantifier is replaced by one of them, wherever both are among
    `? * + ?? *? +?`: `a**` is `a*`, and so is `(?:a+)?`. `{2}` upon `{3}` is `{6}`. Upon `*` or
    `+`, `{n,m}` is `{n}`.

    A back reference (`\1`, `\k<1>`, `\k<name>`) is the text that the group captured last. A name
    may belong to several groups; the last one of them that captured something counts. A number that
    is no group is an error, or octal digits if it has more than one digit.

Where the definition differs from the words
    Not every replacement of quantifiers keeps the preference: `(?:a+?)??` becomes `a*?`,
    `(?:a?)+?` stays. `(?:ab){1}+` is `ab+`, since `{1}` vanishes together with the group.
    `(?i)` folds text that stands side by side, however it is written: `(?i)s\x73` matches U+00DF,
    `(?i)ss+` does not, since `+` takes the last letter away. Text in a group without a quantifier
    joins its neighbours too, except in the first place of a branch if more follows inside.

What is refused although Oniguruma takes it
    `\X`, `\y`, `\Y`, `\g<...>`, `(?~...)`, `(?(...)...)`, call-outs, the options W, D, S, P, y,
    C, I and L, `\k` with a level or a relative number, a back reference where case does not
    count, what `_may_be_behind` forbids, a group without a name beside one with a name
    if it holds a quantifier or ignores case, and what `characters.py` names.
    The engine hides from look-behind what follows the place, if its width is not fixed; it
    refuses `$` and most looks there, sometimes. So look-behind is taken only where all of that
    makes no difference: sets, sequences, choices, repetitions, captures and `^ \A \b \B`; if it is
    negative, without captures; and not a sequence that may be empty, such as `a?b*`, which the
    engine refuses with "undefined error code".
    Patterns of more than 10,000 characters, nesting deeper than 50, more than 300 word boundaries.
"""

import re
from dataclasses import replace
from functools import lru_cache
from typing import TypeAlias

from bpe_ref.errors import PatternError
from bpe_ref.patterns.cursor import MOST_NESTED, MOST_REPEATS, MOST_SETS, Cursor
from bpe_ref.patterns.expression import Expression
from bpe_ref.patterns.nodes import (
    EMPTY,
    Again,
    Atomic,
    Capture,
    Choice,
    Keep,
    Look,
    Node,
    One,
    Place,
    Repeat,
    Scope,
    Sequence,
    Text,
    children,
    descendants,
    has_boundary,
    width,
)
from bpe_ref.patterns.oniguruma.characters import property_set, read_bracket, read_escape
from bpe_ref.patterns.oniguruma.folding import fold, fold_bracket
from bpe_ref.patterns.unicode_tables import EVERY_CODE_POINT

Quantifier: TypeAlias = tuple[int, int | None, str]
"""How often at least, at most (None: no bound), and `?` if lazy, `+` if possessive, or nothing."""

_MOST_DIGITS = 6
_HIGHEST = 100

_SIGN = re.compile(r"([*+?])([+?]?)")
_BRACES = re.compile(r"\{(?:([0-9]+)(?:(,)([0-9]*))?|,([0-9]+))\}")
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


def _read_quantifier(cursor: Cursor) -> Quantifier | None:
    """Read a quantifier, or return None if something else comes, as a brace that is a character."""
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

    >>> from bpe_ref.patterns.nodes import EMPTY
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


_REFERENCE = re.compile(r"k(?:<([A-Za-z_][A-Za-z0-9_]*)>|'([A-Za-z_][A-Za-z0-9_]*)')")
_NUMBER = re.compile(r"k<([1-9][0-9]{0,3})>|k'([1-9][0-9]{0,3})'|([1-9][0-9]*)")
_ALWAYS_A_REFERENCE = 9
_MOST_REFERENCE_DIGITS = 4


def _read_reference(cursor: Cursor, *, folded: bool) -> Again | None:
    """Read a back reference behind its backslash, or None if something else comes."""
    start = cursor.at
    if match := cursor.accept_match(_REFERENCE):
        name = match[1] or match[2]
        if name not in cursor.names:
            raise cursor.error(f"no group before has the name {name!r}", start)
        numbers = cursor.names[name]
    elif match := _NUMBER.match(cursor.pattern, start):
        digits = match[1] or match[2] or match[3]
        number = int(digits[: _MOST_REFERENCE_DIGITS + 1])
        if match[3] and number > max(_ALWAYS_A_REFERENCE, cursor.groups):
            return None
        if cursor.names_only:
            raise cursor.error("a back reference by number does not go with named groups")
        if number > cursor.groups:
            raise cursor.error(f"there is no group {number}")
        cursor.at = match.end()
        numbers = (number,)
    elif cursor.peek(2) in {"k<", "k'"}:
        raise cursor.error("this kind of back reference has no translation")
    else:
        return None
    if folded:
        raise cursor.error("a back reference without regard to case has no translation", start)
    return Again(numbers)


_NO_NEWLINE = EVERY_CODE_POINT ^ 1 << ord("\n")
_NEWLINES = sum(1 << c for c in (0x0A, 0x0B, 0x0C, 0x0D, 0x85, 0x2028, 0x2029))
_SPACE_BETWEEN = re.compile(r"[ \t\n\r\f]+|#[^\n]*\n?")
_COMMENT = re.compile(r"\(\?#(?:[^)\\]|\\.)*\)", re.DOTALL)
_NAME = re.compile(r"([<'])([A-Za-z_][A-Za-z0-9_]*)[>']")
_LOOKS_NAMED = re.compile(r"\(\?(?:<[^=!]|')")  # also in brackets, where it is none
_LOOK = re.compile(r"\?(<?)([=!])")
_OPTIONS = re.compile(r"\?([a-zA-Z]*)(-[a-zA-Z-]*)?([:)])")
_PLACES = "AZzbBG"
_WITH_MEANING = frozenset(_PLACES + "wWdDsShHpPxuoKRNOXyYkgcCMtnrfaev0123456789")


def read(pattern: str) -> Node:
    """Return what a pattern is made of.

    Raises `PatternError`, which names the place and the reason.

    >>> read("ab*")
    Sequence(items=(Text(text='a', folded=False), Repeat(body=Text(text='b', folded=False), \
least=0, most=None, greedy=True)))
    """
    cursor = Cursor(pattern)
    cursor.names_only = _LOOKS_NAMED.search(pattern) is not None
    node = _choice(cursor, frozenset(), 0)
    if cursor.at < len(pattern):
        raise cursor.error("a group closes that was never opened")
    return node


@lru_cache(maxsize=64)
def compile_oniguruma(source: str) -> Expression:
    r"""Return the pattern, read.

    Raises `PatternError` if it is malformed or cannot be matched exactly as Oniguruma does.

    >>> try:
    ...     compile_oniguruma(r"a\g<1>")
    ... except PatternError as error:
    ...     print(error)
    pattern 'a\\g<1>' cannot be used: at 2, calling a group has no translation
    """
    node = read(source)
    if _height(node) > _HIGHEST:
        reason = f"groups and quantifiers may be nested at most {_HIGHEST} deep"
    elif len(_letters(node)) > MOST_SETS:
        reason = f"a pattern may have at most {MOST_SETS} different sets and letters beyond ASCII"
    else:
        words = property_set("word") if has_boundary(node) else None
        return Expression(source, fold(node), words or 0)
    raise PatternError(f"pattern {source[:200]!r} cannot be used: {reason}")


def _choice(cursor: Cursor, options: frozenset[str], depth: int) -> Node:
    """Read branches up to the end of the group, which stays."""
    if depth > MOST_NESTED:
        raise cursor.error(f"groups may be nested at most {MOST_NESTED} deep")
    branches = [_branch(cursor, options, depth)]
    while cursor.accept("|"):
        branches.append(_branch(cursor, options, depth))
    return branches[0] if len(branches) == 1 else Choice(tuple(branches))


def _branch(cursor: Cursor, options: frozenset[str], depth: int) -> Node:
    """Read items up to the end of the branch."""
    items: list[Node] = []
    while not _at_end(cursor, options):
        item = _quantified(cursor, options, depth)
        if items and isinstance(item, Sequence):
            items += item.items  # but in the first place a sequence stays together
        else:
            items.append(item)
    if not items:
        return EMPTY
    return items[0] if len(items) == 1 else Sequence(tuple(items))


def _at_end(cursor: Cursor, options: frozenset[str]) -> bool:
    """Step over comments; tell whether the branch ends here."""
    while cursor.accept_match(_COMMENT) or ("x" in options and cursor.accept_match(_SPACE_BETWEEN)):
        pass
    return cursor.peek() in {"", "|", ")"}


def _quantifier(cursor: Cursor, options: frozenset[str]) -> Quantifier | None:
    """Step over comments and read a quantifier, if one comes."""
    return None if _at_end(cursor, options) else _read_quantifier(cursor)


def _quantified(cursor: Cursor, options: frozenset[str], depth: int) -> Node:
    """Read one item and the quantifiers behind it."""
    start = cursor.at
    if _quantifier(cursor, options) is not None:
        raise cursor.error("there is nothing to repeat", start)
    cursor.at = start
    node, is_group = _atom(cursor, options, depth)
    before: Node | None = None
    while (found := _quantifier(cursor, options)) is not None:
        least, most, mode = found
        if not _may_be_repeated(node):
            raise cursor.error("a place cannot be repeated")
        if (least, most) != (1, 1):
            if isinstance(node, Text) and len(node.text) > 1 and not is_group:
                before, node = Text(node.text[:-1], node.folded), Text(node.text[-1], node.folded)
            body = repeated(node, least, most, greedy=mode != "?")
            if body is None:
                raise cursor.error(f"quantifiers may say at most {MOST_REPEATS} together")
            node = Atomic(body) if mode == "+" else body
        is_group = False
    return node if before is None else Sequence((before, node))


def _atom(cursor: Cursor, options: frozenset[str], depth: int) -> tuple[Node, bool]:
    """Read what a quantifier may follow; say whether it is a group that only groups."""
    if cursor.accept("("):
        return _group(cursor, options, depth)
    if cursor.accept("["):
        bracket = read_bracket(cursor)
        if "i" not in options:
            return One(cursor.one_of(bracket.resolved())), False
        one = fold_bracket(bracket.members, negated=bracket.negated)
        return One(cursor.one_of(one.members), one.also), False
    if cursor.accept("."):
        return _any(cursor, but_newline="m" not in options), False
    if cursor.peek() in {"^", "$"}:
        return Place(cursor.take()), False
    if cursor.accept("\\") and not _is_plain_escape(cursor):
        return _escaped(cursor, options), False
    return _literal(cursor, options), False


def _literal(cursor: Cursor, options: frozenset[str]) -> Text:
    """Read characters up to something that has a meaning, or a quantifier."""
    letters = [cursor.take()]
    while not _at_end(cursor, options) and cursor.peek() not in {"(", "[", ".", "^", "$"}:
        here = cursor.at
        if _quantifier(cursor, options) is not None:
            cursor.at = here
            break
        if cursor.peek() == "\\":
            cursor.take()
            if not _is_plain_escape(cursor):
                cursor.at = here
                break
        letters.append(cursor.take())
    return Text("".join(letters), "i" in options)


def _is_plain_escape(cursor: Cursor) -> bool:
    """Return whether the character behind a backslash stands for itself."""
    return cursor.peek() != "" and cursor.peek() not in _WITH_MEANING


def _any(cursor: Cursor, *, but_newline: bool) -> Node:
    return One(cursor.one_of(_NO_NEWLINE if but_newline else EVERY_CODE_POINT))


def _escaped(cursor: Cursor, options: frozenset[str]) -> Node:
    """Read what follows a backslash outside of brackets."""
    letter = cursor.peek()
    if letter in {"b", "B"}:
        cursor.count_boundary()
    if letter and letter in _PLACES:
        return Place(cursor.take())
    if cursor.accept("K"):
        return Keep()
    if cursor.accept("R"):
        pair = Sequence((Text("\r\n", folded=False),))
        return Atomic(Choice((pair, One(cursor.one_of(_NEWLINES)))))
    if letter in {"N", "O"}:
        return _any(cursor, but_newline=cursor.take() == "N")
    if letter in {"X", "y", "Y"}:
        raise cursor.error(f"\\{letter} has no translation")
    if cursor.peek(2) in {"g<", "g'"}:
        raise cursor.error("calling a group has no translation")
    if (again := _read_reference(cursor, folded="i" in options)) is not None:
        return again
    item = read_escape(cursor, in_brackets=False)
    if isinstance(item, str):
        return Text(item, "i" in options)
    return One(cursor.one_of(item))


def _group(cursor: Cursor, options: frozenset[str], depth: int) -> tuple[Node, bool]:
    """Read a group; its opening parenthesis has been read."""
    start = cursor.at - 1
    if cursor.peek() == "*":
        raise cursor.error("call-outs have no translation", start)
    if cursor.peek() != "?":
        return _plain_group(cursor, options, depth, start), False
    if match := cursor.accept_match(_LOOK):
        look = Look(_closed(cursor, options, depth, start), bool(match[1]), match[2] == "!")
        if look.behind and not _may_be_behind(look.body, negative=look.negative):
            raise cursor.error("this look-behind has no translation", start)
        return look, False
    if cursor.accept("?:"):
        return _closed(cursor, options, depth, start), True
    if cursor.accept("?>"):
        return Atomic(_closed(cursor, options, depth, start)), False
    if match := _OPTIONS.match(cursor.pattern, cursor.at):
        return Scope(_with_options(cursor, options, depth, match)), False
    if cursor.peek(2) in {"?<", "?'"}:
        cursor.take()
        return _named(cursor, options, depth, start), False
    raise cursor.error("this kind of group has no translation", start)


def _plain_group(cursor: Cursor, options: frozenset[str], depth: int, start: int) -> Node:
    """Read a group without any mark; it captures, unless there are names."""
    if not cursor.names_only:
        cursor.groups += 1
        number = cursor.groups
        return Capture(number, _closed(cursor, options, depth, start))
    body = _closed(cursor, options, depth, start)
    if "i" in options or isinstance(body, Repeat):
        raise cursor.error("this group beside named ones has no translation", start)
    return Scope(body)


def _named(cursor: Cursor, options: frozenset[str], depth: int, start: int) -> Node:
    """Read a group with a name, from its name on."""
    match = _NAME.match(cursor.pattern, cursor.at)
    if match is None or (match[1] == "<") != (match[0][-1] == ">"):
        raise cursor.error("a group's name must be a word that begins with a letter", start)
    cursor.at = match.end()
    cursor.groups += 1
    number = cursor.groups
    cursor.names[match[2]] = (*cursor.names.get(match[2], ()), number)
    return Capture(number, _closed(cursor, options, depth, start))


def _with_options(
    cursor: Cursor, options: frozenset[str], depth: int, match: re.Match[str]
) -> Node:
    """Read options and what they are for: a group, or the rest of the group around."""
    start = cursor.at - 1
    on, off = frozenset(match[1]), frozenset((match[2] or "").replace("-", ""))
    if unknown := (on | off) - frozenset("imx"):
        raise cursor.error(f"the option {min(unknown)!r} is none of i, m and x")
    cursor.at = match.end()
    options = (options | on) - off
    if match[3] == ":":
        return _closed(cursor, options, depth, start)
    return _choice(cursor, options, depth + 1)


def _closed(cursor: Cursor, options: frozenset[str], depth: int, start: int) -> Node:
    """Read up to the end of the group, its closing parenthesis included."""
    body = _choice(cursor, options, depth + 1)
    if not cursor.accept(")"):
        raise cursor.error("a group is never closed", start)
    return body


def _may_be_repeated(node: Node) -> bool:
    """Return whether a quantifier may follow: not behind a place, nor a choice of places.

    >>> _may_be_repeated(Place("A"))
    False
    """
    match node:
        case Place() | Look() | Keep():
            return False
        case Choice(branches):
            return all(map(_may_be_repeated, branches))
    return True


def _may_be_behind(node: Node, *, negative: bool) -> bool:
    match node:
        case Atomic() | Look() | Keep() | Again():
            return False
        case Capture() if negative:
            return False
        case Sequence(items) if len(items) > 1 and width(node)[0] == 0 != width(node)[1]:
            return False
        case Place(name):
            return name in "^AbB"
    return all(_may_be_behind(child, negative=negative) for child in children(node))


def _letters(node: Node) -> set[str]:
    """Return all characters beyond ASCII of the texts in a node."""
    texts = (item.text for item in descendants(node) if isinstance(item, Text))
    return {c for text in texts if not text.isascii() for c in text if not c.isascii()}


def _height(node: Node) -> int:
    height = 0
    layer: tuple[Node, ...] = (node,)
    while layer and height <= _HIGHEST:
        layer = tuple(child for item in layer for child in children(item))
        height += 1
    return height
