"""What a pattern is made of, once read.

`Text` and `Scope` are gone after folding; the rest is what matches.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from bpe_ref.patterns.unicode_tables import CodePoints


@dataclass(frozen=True, slots=True)
class Text:
    """Literal characters; `folded` if their case does not count."""

    text: str
    folded: bool


@dataclass(frozen=True, slots=True)
class One:
    """One character out of a set.

    `also` are strings of such sets that may stand there instead, each tried after the one
    before: what a class in brackets folds into beyond single characters.
    """

    members: CodePoints
    also: tuple[tuple[CodePoints, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other."""

    items: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Choice:
    """The first branch with which the whole matches."""

    branches: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Repeat:
    """The body, from `least` to `most` times (None: no bound); as often as can be if greedy."""

    body: "Node"
    least: int
    most: int | None
    greedy: bool = True


@dataclass(frozen=True, slots=True)
class Scope:
    """A group that only sets options: its text does not join with its neighbours'."""

    body: "Node"


@dataclass(frozen=True, slots=True)
class Atomic:
    """The body's first match, and no other."""

    body: "Node"


@dataclass(frozen=True, slots=True)
class Capture:
    """The body, whose text `Again` finds under this number."""

    number: int
    body: "Node"


@dataclass(frozen=True, slots=True)
class Again:
    """The text captured under one of these numbers, the last one that captured anything."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Look:
    """The body matches (or not, if negative) from here on, or up to here if behind."""

    body: "Node"
    behind: bool
    negative: bool


@dataclass(frozen=True, slots=True)
class Place:
    r"""A place in the text, by the character that names it: one of `^ $ A Z z b B G`."""

    name: str


@dataclass(frozen=True, slots=True)
class Keep:
    r"""`\K`: what matched so far is no part of the match."""


Node: TypeAlias = (
    Text | One | Sequence | Choice | Repeat | Scope | Atomic | Capture | Again | Look | Place | Keep
)

EMPTY = Text("", folded=False)


def width(  # noqa: PLR0911 -- one answer for each kind of node
    node: Node,
) -> tuple[int, int | None]:
    """Return the least and the greatest number of characters a node matches; None: no bound.

    >>> width(Repeat(Text("ab", folded=False), 1, None))
    (2, None)
    """
    match node:
        case Text(text):
            return len(text), len(text)
        case One(also=also):
            lengths = [1, *map(len, also)]
            return min(lengths), max(lengths)
        case Sequence(items):
            widths = [width(item) for item in items]
            return sum(w[0] for w in widths), _sum(w[1] for w in widths)
        case Choice(branches):
            widths = [width(branch) for branch in branches]
            most = [w[1] for w in widths]
            bounded = [m for m in most if m is not None]
            return min(w[0] for w in widths), max(bounded) if len(bounded) == len(most) else None
        case Repeat(body, least, most):
            low, high = width(body)
            if most == 0 or high == 0:
                return 0, 0
            return low * least, None if most is None or high is None else high * most
        case Scope(body) | Atomic(body) | Capture(_, body):
            return width(body)
        case Again():
            return 0, None
    return 0, 0


def _sum(numbers: Iterable[int | None]) -> int | None:
    total = 0
    for number in numbers:
        if number is None:
            return None
        total += number
    return total


def children(node: Node) -> "tuple[Node, ...]":
    """Return the nodes inside a node.

    >>> children(Atomic(EMPTY)) == (EMPTY,)
    True
    """
    match node:
        case Sequence(inner) | Choice(inner):
            return inner
        case Repeat(body) | Scope(body) | Atomic(body) | Capture(_, body) | Look(body):
            return (body,)
    return ()


def descendants(node: Node) -> Iterator[Node]:
    """Yield a node and all nodes inside it, in the order of the pattern.

    >>> list(descendants(Atomic(EMPTY))) == [Atomic(EMPTY), EMPTY]
    True
    """
    waiting = [node]
    while waiting:
        item = waiting.pop()
        yield item
        waiting += reversed(children(item))


def has_boundary(node: Node) -> bool:
    r"""Return whether `\b` or `\B` is in a node.

    >>> has_boundary(Atomic(Place("b")))
    True
    """
    return any(isinstance(item, Place) and item.name in "bB" for item in descendants(node))


def sets_in(node: Node) -> Iterator[CodePoints]:
    """Yield each set in a node, equal ones again.

    >>> list(sets_in(Sequence((One(1), One(2), One(1)))))
    [1, 2, 1]
    """
    for item in descendants(node):
        if isinstance(item, One):
            yield item.members
            for string in item.also:
                yield from string


def with_sets(node: Node, change: Callable[[CodePoints], CodePoints]) -> Node:
    """Return a node with each of its sets changed.

    >>> with_sets(Atomic(One(0b1)), lambda members: members << 1)
    Atomic(body=One(members=2, also=()))
    """
    match node:
        case One(members, also):
            return One(change(members), tuple(tuple(map(change, string)) for string in also))
        case Sequence(items):
            return Sequence(tuple(with_sets(item, change) for item in items))
        case Choice(branches):
            return Choice(tuple(with_sets(branch, change) for branch in branches))
        case Repeat(body) | Scope(body) | Atomic(body) | Capture(_, body) | Look(body):
            return replace(node, body=with_sets(body, change))
    return node
