r"""Which patterns `re` and `regex` can match, and their translation for them.

Translation
    Source text that Python's `re` and `regex` read alike and that means exactly the same. There is
    one unless the pattern has one of these, which the machine must do: back references, `\G`, `\K`;
    a repetition without bound, or more than once, of what may match the empty text (engines
    disagree about when to stop); and in look-behind anything but sets, sequences, choices and
    repetitions.

Costs
    How long one attempt to match at one place may take. In a sequence, a repetition is asked to
    give back only if something behind it can fail. Where in every branch at most one repetition
    without bound can be asked, and the bounded ones multiply to few choices, an attempt takes time
    in proportion to the longest run of characters in that repetition's set. Python's `re`, which
    knows no time limit, is safe where such runs are short: the whole search then takes linear time.
    A repeated group counts as such a repetition if it is of one width and matches in one way only,
    as in `(\d{3})+`.
"""

from dataclasses import dataclass

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
from bpe_ref.patterns.stand_ins import set_source
from bpe_ref.patterns.unicode_tables import CodePoints

_FEW = 64
_MANY = 1 << 20


@dataclass(frozen=True, slots=True)
class Cost:
    """What one attempt may have to try.

    Attributes:
        loops: how many repetitions without bound may be asked one inside the other.
        choices: how many ways the bounded ones may be taken.
        sets: what those repetitions repeat.

    """

    loops: int = 0
    choices: int = 1
    sets: frozenset[CodePoints] = frozenset()

    def is_cheap(self) -> bool:
        """Return whether an attempt takes time in proportion to the longest run of a set."""
        return self.loops <= 1 and self.choices <= _FEW


def cost(node: Node, *, may_fail: bool = False) -> Cost:
    """Return what an attempt may cost, if what follows may fail or may not.

    >>> cost(Repeat(One(1), 1, None)).loops, cost(Repeat(One(1), 1, None), may_fail=True).loops
    (0, 1)
    """
    match node:
        case Sequence(items):
            total = Cost()
            for item in reversed(items):
                total = _product(total, cost(item, may_fail=may_fail))
                may_fail = may_fail or _can_fail(item)
            return total
        case Choice(branches):
            each = [cost(branch, may_fail=may_fail) for branch in branches]
            sets = frozenset[CodePoints]().union(*(c.sets for c in each))
            ways = sum(c.choices for c in each) if may_fail else max(c.choices for c in each)
            return Cost(max(c.loops for c in each), min(ways, _MANY), sets)
        case Repeat():
            return _repeat_cost(node, may_fail=may_fail)
        case Look(body):
            return cost(body, may_fail=True)
        case Atomic(body) | Capture(_, body):
            return cost(body, may_fail=may_fail)
        case One(also=also):
            return Cost(choices=1 + len(also) if may_fail else 1)
    return Cost()


def _product(left: Cost, right: Cost) -> Cost:
    choices = min(left.choices * right.choices, _MANY)
    return Cost(left.loops + right.loops, choices, left.sets | right.sets)


def _repeat_cost(node: Repeat, *, may_fail: bool) -> Cost:
    least, most = node.least, node.most
    inner = cost(node.body, may_fail=True)
    if isinstance(node.body, One) and not node.body.also:
        if most is not None and most <= _FEW:
            return Cost(choices=most - least + 1) if may_fail else Cost()
        loops = 1 if may_fail or not node.greedy else 0
        return Cost(loops, 1, frozenset({node.body.members}) if loops else frozenset())
    low, high = width(node.body)
    if most is None and low == high and inner.loops == 0 and inner.choices == 1:
        # Every round takes the same number of characters, in one way only.
        loops = 1 if may_fail or not node.greedy else 0
        return Cost(loops, 1, frozenset({_union(node.body)}) if loops else frozenset())
    if most is not None and most <= 1:
        return Cost(inner.loops, min(inner.choices + 1, _MANY), inner.sets)
    if least == most and most <= _FEW and inner.loops == 0 and inner.choices == 1:
        return Cost()
    return Cost(_MANY, _MANY)


def _union(node: Node) -> CodePoints:
    """Return what the node's characters can be."""
    members = node.members if isinstance(node, One) else 0
    for child in children(node):
        members |= _union(child)
    return members


def _can_fail(node: Node) -> bool:
    match node:
        case Sequence(items):
            return any(map(_can_fail, items))
        case Choice(branches):
            return all(map(_can_fail, branches))
        case Repeat(body, least):
            return least > 0 and _can_fail(body)
        case Atomic(body) | Capture(_, body):
            return _can_fail(body)
    return True


class _Untranslatable(Exception):  # noqa: N818 -- not an error
    """The pattern has something that only the machine can match."""


def translate(node: Node, words: CodePoints) -> str | None:
    """Return the pattern for `re` and `regex`, or None if there is none.

    >>> translate(Repeat(One(1 << 0x61), 1, None), 0)
    'a+'
    >>> translate(Repeat(Repeat(One(1 << 0x61), 0, 1), 0, None), 0)
    """
    branches = node.branches if isinstance(node, Choice) else (node,)
    try:
        return "|".join(_source(branch, set_source(words)) for branch in branches)
    except _Untranslatable:
        return None


def _source(  # noqa: C901, PLR0911 -- one answer for each kind of node
    node: Node, words: str
) -> str:
    match node:
        case One(members, also):
            strings = ("".join(map(set_source, string)) for string in also)
            return (
                f"(?:{'|'.join((set_source(members), *strings))})" if also else set_source(members)
            )
        case Sequence(items):
            return "".join(_source(item, words) for item in items)
        case Choice(branches):
            return f"(?:{'|'.join(_source(branch, words) for branch in branches)})"
        case Repeat():
            return _repeat(node, words)
        case Atomic(Repeat(One(also=()), _, most, True) as body) if most != 0:
            return _repeat(body, words) + "+"
        case Atomic(body):
            return f"(?>{_source(body, words)})"
        case Capture(_, body):
            return f"(?:{_source(body, words)})"
        case Look(body, behind, negative) if _plain(body) or not behind:
            return f"(?{'<' if behind else ''}{'!' if negative else '='}{_source(body, words)})"
        case Place(name) if name in _PLACES:
            return _PLACES[name]
        case Place("b" | "B" as name):
            then, otherwise = ("(?!", "(?=") if name == "b" else ("(?=", "(?!")
            return f"(?:(?<={words}){then}{words})|(?<!{words}){otherwise}{words}))"
    raise _Untranslatable


def _repeat(node: Repeat, words: str) -> str:
    least, most = node.least, node.most
    if most == 0:
        return ""
    if width(node.body)[0] == 0 and most != 1:
        raise _Untranslatable
    body = _source(node.body, words)
    if not isinstance(node.body, One) or node.body.also or not node.body.members:
        body = f"(?:{body})"
    if most is None and least < 2:
        sign = "*+"[least]
    else:
        sign = f"{{{least},{'' if most is None else most}}}"
    return body + (sign if node.greedy else sign + "?")


def _plain(node: Node) -> bool:
    match node:
        case One():
            return True
        case Sequence(inner) | Choice(inner):
            return all(map(_plain, inner))
        case Repeat(body) | Capture(_, body):
            return _plain(body)
    return False


_PLACES = {
    "^": r"(?:\A|(?<=\n)(?!\Z))",  # not behind the newline that ends the text
    "$": r"(?![^\n])",
    "A": r"\A",
    "z": r"\Z",  # Python's name for the end of the text
    "Z": r"(?=\n?\Z)",
}
