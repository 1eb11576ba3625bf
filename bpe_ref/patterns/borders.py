r"""Which two neighbouring characters no match of a regular expression can contain.

Definition
    There is a *border* between the characters l and r if, for every text x that ends with l and
    every text y that begins with r, the matches in x + y are those in x and then those in y, and
    no text without a match reaches over the place. (Matches in y may depend on l, as with `^`.)

How it is found
    A regular expression is a graph of its sets of characters: from each set an edge to those that
    may match the next character of the same match (Glushkov's construction). No match contains
    l and r side by side unless an edge leads from a set with l to a set with r. Counted
    repetitions count as unlimited ones, which only adds edges.

Why that suffices
    Matching tries paths through the graph in a fixed order and takes the first that succeeds. From
    any start in x, no path gets over the place, so the same paths are tried, with the same
    success, whether y is there or not. The exceptions are conditions that look at what follows:
    `$`, `\b` and look-ahead. The graph treats them as if they consumed the characters that they
    look at, so a place that they look across is never a border. (`$` looks at any character.)
    From the place on, the search goes on as it begins in y. Look-behind and `^` see no more than l.

    Text without a match must not reach over the place either. If l alone, or r alone, always
    matches, then that character is in a match, so unmatched text ends or begins at the place.

Conditions that change nothing
    In `\s*[\r\n]+|\s+(?!\S)` a line end before y would be an exception. But at a run of white
    space that ends with a line end, the first alternative matches all of it, so the second one is
    never tried. In `\s++$|\s*[\r\n]` both match all of it. `_shadowed` looks for these two forms.

Source: V. M. Glushkov, "The abstract theory of automata", 1961.
"""

from collections.abc import Iterable
from collections.abc import Sequence as Row
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from bpe_ref.errors import PatternError
from bpe_ref.patterns.nodes import (
    Atomic,
    Capture,
    Choice,
    Look,
    Node,
    One,
    Place,
    Repeat,
    Sequence,
    children,
    width,
)
from bpe_ref.patterns.oniguruma.reading import compile_oniguruma
from bpe_ref.patterns.rust import compile_rust
from bpe_ref.patterns.unicode_tables import CODE_POINT_COUNT, EVERY_CODE_POINT, CodePoints

_BYTES = CODE_POINT_COUNT // 8
_MOST_SETS = 400
_MOST_KNOWN = 1 << 16


class PatternBorders:
    r"""The borders of a regular expression.

    >>> borders = borders_of(r"\p{L}+|\s+")
    >>> borders.is_border("a", " "), borders.is_border("a", "b"), borders.is_border("1", "2")
    (True, False, False)
    """

    def __init__(self, graph: "_Graph", alone: int, run: CodePoints) -> None:
        """Take the graph, the positions that are matches by themselves, and `run`.

        `run` is S if the whole pattern is `S+`.
        """
        self.looks_back = graph.looks_back
        """Whether matches may depend on the character before them."""

        positions: dict[CodePoints, int] = {}
        for at, members in enumerate(graph.sets):
            positions[members] = positions.get(members, 0) | 1 << at
        # As bytes, a set of a million bits tells at once whether it has a character.
        self._sets = [
            (members.to_bytes(_BYTES, "little"), bits) for members, bits in positions.items()
        ]
        self._follow = graph.follow
        self._alone = alone
        self._run = run
        self._known: dict[str, int] = {}
        self._reached: dict[int, int] = {}

    def is_border(self, left: str, right: str) -> bool:
        """Return whether there is a border between two characters."""
        matched = (self._positions(left) | self._positions(right)) & self._alone
        return bool(matched) and not self.may_hold_both(left, right)

    def may_hold_both(self, left: str, right: str) -> bool:
        """Return whether a match may contain the two characters side by side.

        >>> borders_of("[0-9]+").may_hold_both("1", "2")
        True
        >>> borders_of("[0-9]").may_hold_both("1", "2")
        False
        """
        here, there = self._positions(left), self._positions(right)
        if not here or not there:
            return False
        found = self._reached.get(here)
        if found is None:
            found = self._reached[here] = _union(self._follow[at] for at in _bits(here))
        return bool(found & there)

    @cached_property
    def covers_all(self) -> bool:
        """Whether every character of every text is in a match."""
        alone = 0
        for members, bits in self._sets:
            alone |= int.from_bytes(members, "little") if bits & self._alone else 0
        return alone == EVERY_CODE_POINT

    def is_inside(self, left: str, right: str) -> bool:
        """Return whether both characters are always in the same match, or both in none.

        >>> borders_of("[0-9]+").is_inside("a", "b"), borders_of("[0-9]+").is_inside("1", "2")
        (True, True)
        >>> borders_of("[0-9]{3}").is_inside("1", "2")
        False
        """
        if not (self._positions(left) | self._positions(right)):
            return True
        return bool(self._run >> ord(left) & self._run >> ord(right) & 1)

    def may_match(self, character: str) -> bool:
        """Return whether a match can contain the character, or look at it.

        >>> borders_of("[0-9]").may_match("a")
        False
        """
        return self._positions(character) != 0

    def always_matches(self, character: str) -> bool:
        """Return whether the character is in a match, whatever is beside it.

        >>> borders_of("[0-9]|ab").always_matches("1"), borders_of("[0-9]|ab").always_matches("a")
        (True, False)
        """
        return self._positions(character) & self._alone != 0

    def _positions(self, character: str) -> int:
        """Return the positions whose sets have the character, as bits."""
        found = self._known.get(character)
        if found is None:
            byte, bit = divmod(ord(character), 8)
            found = sum(bits for members, bits in self._sets if members[byte] >> bit & 1)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[character] = found
        return found


@lru_cache(maxsize=64)
def borders_of(source: str) -> PatternBorders | None:
    r"""Return the borders of a pattern in Oniguruma's syntax; None if nothing is known.

    Nothing is known of patterns with back references, `\K` or look-behind over several
    characters, of those that match the empty text, and of those that cannot be used.

    >>> borders_of("a*") is None, borders_of("(?<=ab)c") is None
    (True, True)
    """
    try:
        return borders_of_node(compile_oniguruma(source).node)
    except PatternError:
        return None


@lru_cache(maxsize=64)
def borders_of_pinned(pattern: str, tables: str) -> PatternBorders | None:
    r"""Return the borders of a pattern in tiktoken's dialect; None if nothing is known.

    >>> borders_of_pinned(r"\w+|\s", "unicode-16.0").is_border("a", " ")
    True
    """
    return borders_of_node(compile_rust(pattern, tables).node)


@lru_cache(maxsize=64)
def borders_of_text(text: str) -> PatternBorders | None:
    """Return the borders of a literal text.

    >>> borders_of_text("ab").is_border("a", "b"), borders_of_text("").__class__.__name__
    (False, 'NoneType')
    """
    return borders_of_node(Sequence(tuple(One(1 << ord(character)) for character in text)))


def borders_of_node(node: Node) -> PatternBorders | None:
    """Return the borders of a pattern that was read; None if nothing is known.

    >>> borders_of_node(One(1 << 0x61)).is_border("a", "a")
    True
    """
    graph = _Graph()
    try:
        end = graph.add(_shadowed(node))
    except _Unknown:
        return None
    if end.nullable:
        return None
    loop = isinstance(node, Repeat) and isinstance(node.body, One) and not node.body.also
    endless = isinstance(node, Repeat) and node.least <= 1 and node.most is None and node.greedy
    run = graph.sets[0] if loop and endless else 0
    return PatternBorders(graph, end.alone, run)


class _Unknown(Exception):  # noqa: N818 -- not an error
    """The pattern has something about which nothing is known."""


@dataclass(frozen=True, slots=True)
class _Ends:
    """What the graph of a node is joined with others by; positions are bits."""

    nullable: bool = True
    """Whether the node may match the empty text, perhaps on a condition."""

    empty: bool = True
    """Whether the node always matches the empty text, if nothing else."""

    first: int = 0
    last: int = 0
    seen: int = 0
    """What conditions at the start of the node look at."""

    alone: int = 0
    """The positions that make up a match by themselves, without a condition."""


@dataclass
class _Graph:
    """The sets of a pattern in the order of their positions, and the edges between them."""

    sets: list[CodePoints] = field(default_factory=list)
    follow: list[int] = field(default_factory=list)
    looks_back: bool = False

    def add(self, node: Node) -> _Ends:  # noqa: C901, PLR0911 -- one answer for each kind of node
        """Add a node; return its ends."""
        match node:
            case One(members, also):
                if also:
                    strings = tuple(Sequence(tuple(map(One, string))) for string in also)
                    return self.add(Choice((One(members), *strings)))
                if len(self.sets) >= _MOST_SETS:
                    raise _Unknown
                self.sets.append(members)
                self.follow.append(0)
                bit = 1 << len(self.sets) - 1
                return _Ends(nullable=False, empty=False, first=bit, last=bit, alone=bit)
            case Sequence(items):
                return self._sequence(items)
            case Choice(branches):
                ends = [self.add(branch) for branch in branches]
                return _Ends(
                    any(end.nullable for end in ends),
                    any(end.empty for end in ends),
                    _union(end.first for end in ends),
                    _union(end.last for end in ends),
                    _union(end.seen for end in ends),
                    _union(end.alone for end in ends),
                )
            case Repeat(body, least, most):
                return self._repeat(body, least, most)
            case Atomic(body) | Capture(_, body):
                return self.add(body)
            case Look(body, behind):
                if behind:
                    if width(body) != (1, 1):
                        raise _Unknown
                    self.looks_back = True
                    return _Ends(empty=False)
                inner = self.add(body)
                return _Ends(empty=False, seen=inner.first | inner.seen)
            case Place(name):
                seen = 0 if name in "^A" else self.add(One(EVERY_CODE_POINT)).first
                if name == "G":
                    raise _Unknown
                self.looks_back = self.looks_back or name in "^AbB"
                return _Ends(empty=False, seen=seen)
        raise _Unknown

    def _sequence(self, items: Row[Node]) -> _Ends:
        if len(items) > _MOST_SETS:
            raise _Unknown
        ends = [self.add(item) for item in items]
        nullable, first, last, seen = True, 0, 0, 0
        for end in ends:
            self._join(last, end.first | end.seen)
            if nullable:
                first |= end.first
                seen |= end.seen
            last = end.last | (last if end.nullable else 0)
            nullable = nullable and end.nullable
        alone = 0
        for at, end in enumerate(ends):
            others = [*range(at), *range(at + 1, len(ends))]
            # What is atomic might take the character away from this item.
            takers = _union(
                ends[other].first for other in others if isinstance(items[other], Atomic)
            )
            if all(ends[other].empty for other in others):
                alone |= _union(
                    1 << position
                    for position in _bits(end.alone)
                    if not any(self.sets[position] & self.sets[taker] for taker in _bits(takers))
                )
        return _Ends(nullable, all(end.empty for end in ends), first, last, seen, alone)

    def _repeat(self, body: Node, least: int, most: int | None) -> _Ends:
        if most == 0:
            return _Ends()
        end = self.add(body)
        if most is None or most > 1:
            self._join(end.last, end.first | end.seen)
        return replace(
            end,
            nullable=end.nullable or least == 0,
            empty=end.empty or least == 0,
            alone=end.alone if least <= 1 else 0,
        )

    def _join(self, left: int, right: int) -> None:
        for position in _bits(left):
            self.follow[position] |= right


def _shadowed(node: Node) -> Node:
    """Return the pattern with conditions left out that are met or never reached after line ends.

    The condition behind a run of S does not matter after a character of E, if the alternative
    `S*E` or `S*E+` precedes it, or, for `S+` and the end of the text, follows it directly. So
    the run counts as one that ends with another character than those of E.
    """
    if not isinstance(node, Choice):
        return node
    branches = list(node.branches)
    for at, branch in enumerate(node.branches):
        run = _run_before_condition(branch)
        if run is None:
            continue
        behind = node.branches[at + 1 : at + 2] if isinstance(children(branch)[-1], Place) else ()
        for other in (*node.branches[:at], *behind):
            ends = _run_that_ends_in(other, run)
            if ends:
                loop = Repeat(One(run), 0, None)
                condition = children(branch)[-1]
                anywhere = Sequence(
                    (Repeat(One(run), 1, None), Look(One(0), behind=False, negative=True))
                )
                branches[at] = Choice((Sequence((loop, One(run & ~ends), condition)), anywhere))
    return Choice(tuple(branches))


def _run_before_condition(branch: Node) -> CodePoints | None:
    """Return S of the branches `S+(?!...)`, `S+$` and `S++$`, else None."""
    if not isinstance(branch, Sequence) or len(branch.items) != 2:
        return None
    loop, condition = branch.items
    if isinstance(loop, Atomic):
        loop = loop.body
    if not isinstance(loop, Repeat) or not isinstance(loop.body, One) or loop.body.also:
        return None
    is_end = isinstance(condition, Place) and condition.name in "zZ$"
    looks = isinstance(condition, Look) and not condition.behind
    endless = loop.least <= 1 and loop.most is None and loop.greedy
    return loop.body.members if endless and (is_end or looks) else None


def _run_that_ends_in(branch: Node, run: CodePoints) -> CodePoints:
    """Return E of the branches `S*E` and `S*E+`, of the same S; else the empty set."""
    if not isinstance(branch, Sequence) or len(branch.items) != 2:
        return 0
    loop, end = branch.items
    if isinstance(end, Repeat) and end.least == 1 and end.most is None and end.greedy:
        end = end.body
    if loop != Repeat(One(run), 0, None) or not isinstance(end, One) or end.also:
        return 0
    return end.members & run


def _union(masks: Iterable[int]) -> int:
    found = 0
    for mask in masks:
        found |= mask
    return found


def _bits(mask: int) -> list[int]:
    return [at for at in range(mask.bit_length()) if mask >> at & 1]
