r"""Match by backtracking: what a pattern means.

Definition
    A *way* to match a node from a place on is where the match ends, and what the groups have
    captured by then. `Machine.ways` returns the ways of a node in the order of preference: branches
    from the left, greedy repetition as often as possible first, lazy repetition as rarely. The
    match of the pattern is the first way at the first place that has one.

    What is atomic, or looks ahead or behind, has at most one way: the first. A repetition without
    bound ends when its body matched the empty text. Look-behind tries the starts from the nearest
    to the farthest, each time to match up to here. `\G` is where the search began. `\K` moves the
    start of the match.

Representation
    The sets of the nodes hold stand-ins, and the text that is searched consists of them. What is
    captured is a dict from the number of a group to its start and end; group 0 is the match.
    Sequences and repetitions keep a stack of iterators, so that only the nesting of the pattern,
    not the length of a text, makes Python's own stack deeper.

Bounded
    Each node that is tried takes one of the steps that the caller allows; when they are used up,
    `OutOfStepsError` is raised.

Source: https://github.com/kkos/oniguruma, doc/RE, src/regexec.c.
"""

from collections.abc import Iterator
from itertools import chain, islice
from typing import TypeAlias

from bpe_ref.patterns.nodes import (
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
    Sequence,
    width,
)
from bpe_ref.patterns.unicode_tables import CodePoints

Captures: TypeAlias = dict[int, tuple[int, int]]

Way: TypeAlias = tuple[int, Captures]
"""Where a match ends, and what is captured by then."""


class OutOfStepsError(Exception):
    """The step limit was reached."""


class Machine:
    """The searches in one text: the stand-ins, the text itself, and the steps left.

    >>> machine = Machine(Repeat(One(1 << 0x61), 1, None), 0, "baa", "baa", steps=100)
    >>> machine.search(0), machine.search(2), machine.search(3)
    ((1, 3), (2, 3), None)
    """

    def __init__(self, node: Node, words: CodePoints, standing: str, text: str, steps: int) -> None:
        self.node = node
        self.words = words
        self.standing = standing
        self.text = text
        self.left = steps
        self.began = 0

    def search(self, start: int) -> tuple[int, int] | None:
        """Return the first match that starts at `start` or later.

        Raises `OutOfStepsError`.
        """
        self.began = start
        for at in range(start, len(self.text) + 1):
            for end, captures in self.ways(self.node, at, {0: (at, at)}):
                return captures[0][0], end
        return None

    def ways(  # noqa: C901, PLR0911 -- one answer for each kind of node
        self, node: Node, at: int, captures: Captures
    ) -> Iterator[Way]:
        """Return the ways to match a node from `at` on, the preferred one first."""
        self.left -= 1
        if self.left < 0:
            raise OutOfStepsError
        here: Iterator[Way] = iter([(at, captures)])
        match node:
            case One(members, also):
                one: list[Way] = [(at + 1, captures)] if self.is_in(members, at) else []
                strings = (self.in_sequence(tuple(map(One, s)), at, captures) for s in also)
                return chain(one, *strings) if also else iter(one)
            case Sequence(items):
                return self.in_sequence(items, at, captures)
            case Choice(branches):
                return (way for branch in branches for way in self.ways(branch, at, captures))
            case Repeat():
                return self.repeated(node, at, captures)
            case Capture(number, body):
                ways = self.ways(body, at, captures)
                return ((end, {**found, number: (at, end)}) for end, found in ways)
            case Again(numbers):
                return self.captured_again(numbers, at, captures)
            case Atomic(body):
                return islice(self.ways(body, at, captures), 1)
            case Look(negative=negative):
                seen = self.looked_at(node, at, captures)
                if (seen is None) != negative:
                    return iter(())
                return here if seen is None else iter([(at, seen)])
            case Place(name):
                return here if self.is_place(name, at) else iter(())
            case Keep():
                return iter([(at, {**captures, 0: (at, at)})])
        raise AssertionError(node)

    def in_sequence(self, items: tuple[Node, ...], at: int, captures: Captures) -> Iterator[Way]:
        """Yield the ways to match items one after the other."""
        if not items:
            yield at, captures
            return
        stack = [self.ways(items[0], at, captures)]  # the ways of each item reached
        while stack:
            way = next(stack[-1], None)
            if way is None:
                stack.pop()
            elif len(stack) == len(items):
                yield way
            else:
                stack.append(self.ways(items[len(stack)], *way))

    def repeated(self, node: Repeat, at: int, captures: Captures) -> Iterator[Way]:
        """Yield the ways to match a repetition."""
        least, most = node.least, node.most
        may_stall = most is None and width(node.body)[0] == 0
        before: Way = at, captures
        if most == 0 or (least == 0 and not node.greedy):
            yield before
        # The way by which each round was reached, and the ways to match that round.
        stack = [(before, self.ways(node.body, *before))] if most != 0 else []
        while stack:
            before, rounds = stack[-1]
            way = next(rounds, None)
            if way is None:
                stack.pop()
                if node.greedy and len(stack) >= least:
                    yield before
            elif len(stack) == most or (may_stall and way[0] == before[0]):
                yield way
            else:
                if not node.greedy and len(stack) >= least:
                    yield way
                stack.append((way, self.ways(node.body, *way)))

    def captured_again(
        self, numbers: tuple[int, ...], at: int, captures: Captures
    ) -> Iterator[Way]:
        """Yield the end of the text captured last, if that text follows."""
        for number in reversed(numbers):
            if number in captures:
                start, end = captures[number]
                if self.text.startswith(self.text[start:end], at):
                    self.left -= end - start
                    yield at + end - start, captures
                    return

    def looked_at(self, look: Look, at: int, captures: Captures) -> Captures | None:
        """Return what is captured if the body matches from here on, or up to here."""
        if not look.behind:
            return next((found for _, found in self.ways(look.body, at, captures)), None)
        least, most = width(look.body)
        farthest = 0 if most is None else max(0, at - most)
        for start in range(at - least, farthest - 1, -1):
            for end, found in self.ways(look.body, start, captures):
                if end == at:
                    return found
        return None

    def is_in(self, members: CodePoints, at: int) -> bool:
        """Return whether there is a character of the set."""
        return 0 <= at < len(self.text) and bool(members >> ord(self.standing[at]) & 1)

    def is_place(self, name: str, at: int) -> bool:
        """Return whether this is the place."""
        text = self.standing
        end = len(text)
        match name:
            case "^":
                return at == 0 or (at < end and text[at - 1] == "\n")
            case "$":
                return at == end or text[at] == "\n"
            case "A":
                return at == 0
            case "z":
                return at == end
            case "Z":
                return at == end or (at == end - 1 and text[at] == "\n")
            case "G":
                return at == self.began
        before, after = self.is_in(self.words, at - 1), self.is_in(self.words, at)
        return (before != after) == (name == "b")
