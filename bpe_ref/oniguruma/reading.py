r"""Read a pattern in Oniguruma's own syntax.

Definition
    doc/RE of Oniguruma, for the syntax that the `onig` crate takes by default: Oniguruma's own,
    which is Ruby's with a few additions (`\N`, `\O`, `\x{...}`, look-behind of any width).
    `^` and `$` are the ends of every line, `(?m)` makes the dot match a newline, `(?i)` without
    a colon reaches to the end of the group, over its branches. `{1,3}+` repeats a repetition,
    `{2}?` may leave out, `{3,1}` is possessive, `{,n}` begins at 0, and a brace that is no
    quantifier is a character. As soon as a group has a name, groups without one do not capture.

Where the definition differs from the words
    `(?i)` folds text that stands side by side, however it is written: `(?i)s\x73` matches U+00DF,
    `(?i)ss+` does not, since `+` takes the last letter away. Text in a group without a quantifier
    joins its neighbours too, except in the first place of a branch if more follows inside.

What is refused although Oniguruma takes it
    `\X`, `\y`, `\Y`, `\g<...>`, `(?~...)`, `(?(...)...)`, call-outs, the options W, D, S, P, y,
    C, I and L, `\k` with a level or a relative number, a back reference where case does not
    count, what `may_look` forbids in look-behind, a group without a name beside one with a name
    if it holds a quantifier or ignores case, and what `escapes.py` and `brackets.py` name.
    Patterns of more than 20,000 characters, nesting deeper than 50.

Source: https://github.com/kkos/oniguruma, doc/RE and src/regparse.c (`prs_exp`), and tokenizers
0.23.3 as executed.
"""

import re

from bpe_ref.oniguruma.brackets import read_bracket
from bpe_ref.oniguruma.cursor import Cursor
from bpe_ref.oniguruma.escapes import read_escape
from bpe_ref.oniguruma.folding import fold_bracket
from bpe_ref.oniguruma.nodes import (
    EMPTY,
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
)
from bpe_ref.oniguruma.quantifiers import MOST_REPEATS, Quantifier, read_quantifier, repeated
from bpe_ref.oniguruma.references import read_reference
from bpe_ref.oniguruma.restrictions import may_be_repeated, may_look
from bpe_ref.unicode_tables import EVERY_CODE_POINT

MOST_CHARACTERS = 20_000
MOST_NESTED = 50

_NEWLINE = 1 << ord("\n")
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
    if len(pattern) > MOST_CHARACTERS:
        reason = f"a pattern may have at most {MOST_CHARACTERS} characters, not {len(pattern)}"
        raise cursor.error(reason)
    cursor.names_only = _LOOKS_NAMED.search(pattern) is not None
    node = _choice(cursor, frozenset(), 0)
    if cursor.at < len(pattern):
        raise cursor.error("a group closes that was never opened")
    return node


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
    return None if _at_end(cursor, options) else read_quantifier(cursor)


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
        if not may_be_repeated(node):
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
    """Tell whether the character behind a backslash stands for itself."""
    return cursor.peek() != "" and cursor.peek() not in _WITH_MEANING


def _any(cursor: Cursor, *, but_newline: bool) -> Node:
    return One(cursor.one_of(EVERY_CODE_POINT ^ (_NEWLINE if but_newline else 0)))


def _escaped(cursor: Cursor, options: frozenset[str]) -> Node:
    """Read what follows a backslash outside of brackets."""
    letter = cursor.peek()
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
    if (again := read_reference(cursor, folded="i" in options)) is not None:
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
        if not may_look(look):
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
