r"""Write a pattern for Python's `re` and `regex`, where one means exactly the same.

Definition
    The parts of the translation are source text that both engines read alike, and between them
    sets. There is a translation unless the pattern has one of these, which the machine must do:
    back references, `\G`, `\K`; a repetition without bound, or more than once, of what may match
    the empty text (engines disagree about when to stop); and in look-behind anything but sets,
    sequences, choices and repetitions.
"""

from typing import TypeAlias

from bpe_ref.oniguruma.nodes import (
    Atomic,
    Capture,
    Choice,
    Look,
    Node,
    One,
    Place,
    Repeat,
    Sequence,
    width,
)
from bpe_ref.unicode_tables import EVERY_CODE_POINT, CodePoints

Part: TypeAlias = str | CodePoints
_NOT_NEWLINE = EVERY_CODE_POINT ^ (1 << ord("\n"))


def translate(  # noqa: C901, PLR0911 -- one answer for each kind of node
    node: Node, words: CodePoints
) -> list[Part] | None:
    """Return the parts of the translation, or None if there is none.

    >>> translate(Repeat(One(0b10), 1, None), 0)
    [2, '+']
    >>> translate(Repeat(Repeat(One(0b10), 0, 1), 0, None), 0)
    """
    match node:
        case One(members, also):
            if also:
                strings = tuple(Sequence(tuple(map(One, string))) for string in also)
                return translate(Choice((One(members), *strings)), words)
            return [members]
        case Sequence(items):
            return _all(items, words)
        case Choice(branches):
            parts = _all(branches, words, "|")
            return None if parts is None else ["(?:", *parts, ")"]
        case Repeat():
            return _repeat(node, words)
        case Atomic(Repeat(One(also=()), _, most, True) as body) if most != 0:
            parts = _repeat(body, words)
            return None if parts is None else [*parts, "+"]
        case Atomic(body):
            return _enclosed("(?>", translate(body, words))
        case Capture(_, body):
            return _enclosed("(?:", translate(body, words))
        case Look(body, behind, negative):
            if behind and not _plain(body):
                return None
            sign = "!" if negative else "="
            return _enclosed("(?<" + sign if behind else "(?" + sign, translate(body, words))
        case Place(name):
            return _place(name, words)
    return None


def _all(nodes: tuple[Node, ...], words: CodePoints, between: str = "") -> list[Part] | None:
    result: list[Part] = []
    for node in nodes:
        parts = translate(node, words)
        if parts is None:
            return None
        result += [between] if between and node is not nodes[0] else []
        result += parts
    return result


def _enclosed(opening: str, parts: list[Part] | None) -> list[Part] | None:
    return None if parts is None else [opening, *parts, ")"]


def _repeat(node: Repeat, words: CodePoints) -> list[Part] | None:
    least, most = node.least, node.most
    if most == 0:
        return []
    if width(node.body)[0] == 0 and most != 1:
        return None
    parts = translate(node.body, words)
    if parts is None:
        return None
    if len(parts) != 1 or parts[0] == 0:
        parts = ["(?:", *parts, ")"]
    if most is None and least < 2:
        sign = "*+"[least]
    else:
        sign = f"{{{least},{'' if most is None else most}}}"
    return [*parts, sign if node.greedy else sign + "?"]


def _plain(node: Node) -> bool:
    match node:
        case One():
            return True
        case Sequence(inner) | Choice(inner):
            return all(map(_plain, inner))
        case Repeat(body) | Capture(_, body):
            return _plain(body)
    return False


def _place(name: str, words: CodePoints) -> list[Part] | None:
    newline = 1 << ord("\n")
    match name:
        case "^":  # not behind the newline that ends the text
            return [r"(?:\A|(?<=", newline, r")(?!\Z))"]
        case "$":
            return ["(?!", _NOT_NEWLINE, ")"]
        case "A":
            return [r"\A"]
        case "z":
            return [r"\Z"]  # Python's name for the end of the text
        case "Z":
            return ["(?=", newline, r"?\Z)"]
        case "b" | "B":
            then, otherwise = ("(?!", "(?=") if name == "b" else ("(?=", "(?!")
            after = ("(?:(?<=", words, ")", then, words, ")")
            return [*after, "|(?<!", words, ")", otherwise, words, "))"]
    return None
