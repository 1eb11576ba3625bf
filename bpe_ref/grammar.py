r"""Grammar masks: which tokens may follow, if the text has to match a pattern.

Definition
    A pattern describes a language, a set of texts. Let p be the bytes of the tokens so far. A
    token with the bytes t is *allowed* if the bytes p + t begin the UTF-8 of some text of the
    language, p + t itself included. The text *may end* if p is a text of the language.

    So a token is allowed if some continuation of it is in the language, whether the vocabulary
    has tokens for that continuation or not. A token may begin and end inside a character.
    Special tokens are never allowed, because they stand for no text; what ends a text is not a
    token here.

Patterns
    A small part of regular expressions, which means the same in most libraries. A pattern
    matches a text if it matches the whole of it.

    ===================  =====================================================================
    a character          that character, except one of ``\ . * + ? | ( ) [ ] { } ^ $``
    ``\`` and a sign     the sign: any of ASCII except letters, digits, white space, < and >
    ``\n \r \t``         a line feed, a carriage return, a tab
    ``.``                any character except a line feed
    ``[a-z_]``           any of these characters; ``[^a-z_]``: any other one, also a line feed
    ``x|y``              x or y; both may be empty
    ``x*  x+  x?``       x any number of times; at least once; at most once
    ``x{m} {m,} {m,n}``  x m times; at least m times; from m to n times
    ``(x)  (?:x)``       x; for alternatives and repetitions
    ===================  =====================================================================

    In square brackets ``\ [ ] ^ - & ~`` must be escaped to mean themselves. Characters are code
    points; surrogates are not text. A quantifier behind a quantifier is an error, and so is
    everything else that is not in the table.

How it works
    The pattern becomes a nondeterministic automaton over bytes (Thompson, "Regular expression
    search algorithm", Communications of the ACM 11(6), 1968). A range of characters becomes
    sequences of byte ranges. Then all states are removed from which no text can be completed.
    What the tokens so far mean for the next one is the set of states that they lead to.

Invariant
    From every state that is left, some bytes lead to the end. So a set of states is empty if
    and only if the bytes so far begin no text of the language: a token is allowed if its bytes
    lead to a set that is not empty.

Bounded memory
    An automaton has at most `MOST_STATES` states, however often a pattern repeats a part. At
    most `MOST_REMEMBERED` sets are remembered with the sets that follow them; then all of them
    are forgotten and found again. Each accepted token costs a reference to a set.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from string import digits, punctuation
from typing import Any, Final, TypeAlias

from bpe_ref.errors import ParameterError, PatternError, shown
from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.merges import TokenId
from bpe_ref.vocabulary.tries import NOTHING, Node, trie_of_all_tokens

MOST_STATES: Final = 1 << 16
"""Maximum number of states of an automaton."""

MOST_REMEMBERED: Final = 1 << 12
"""Maximum number of sets of states whose successors are remembered."""

DEEPEST: Final = 50
"""Maximum depth of groups inside groups."""

LAST: Final = 0x10FFFF

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Code points as ranges, in order, first and last included."""

States: TypeAlias = frozenset[int]
"""A set of states of an automaton. The empty set means that no text can be completed."""

Expression: TypeAlias = tuple[Any, ...]
"""One of ("set", ranges), ("in order", parts), ("either", parts), ("repeat", part, least, most)."""

# ---- patterns

_MEANING: Final = frozenset("\\.*+?|()[]{}^$")
_MEANING_IN_SETS: Final = frozenset("\\[]^-&~")
_SIGNS: Final = frozenset(punctuation) - {"<", ">"}
_CONTROLS: Final = {"n": "\n", "r": "\r", "t": "\t"}
_SURROGATES: Final = (0xD800, 0xDFFF)
_QUANTIFIERS: Final[dict[str, tuple[int, int | None]]] = {
    "*": (0, None),
    "+": (1, None),
    "?": (0, 1),
    "{": (1, 1),  # which what follows it replaces
}


class _Parser:
    """Reads a pattern from left to right, by recursive descent."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.at, self.depth = pattern, 0, 0

    def fail(self, rule: str) -> PatternError:
        return PatternError(f"the pattern {shown(self.pattern)} {rule} (character {self.at})")

    def next_is(self, text: str) -> bool:
        """Take the text if the pattern goes on with it, and return whether it does."""
        found = self.pattern.startswith(text, self.at)
        self.at += len(text) * found
        return found

    def either(self) -> Expression:
        parts = [self.in_order()]
        while self.next_is("|"):
            parts.append(self.in_order())
        return parts[0] if len(parts) == 1 else ("either", parts)

    def in_order(self) -> Expression:
        parts = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            parts.append(self.quantified())
        return ("in order", parts)

    def quantified(self) -> Expression:
        part = self.single()
        sign = next(filter(self.next_is, _QUANTIFIERS), None)
        if sign is None:
            return part
        least, most = _QUANTIFIERS[sign]
        if sign == "{":
            least = most = self.number()
            if self.next_is(","):
                most = None if self.pattern.startswith("}", self.at) else self.number()
            if not self.next_is("}") or (most is not None and most < least):
                raise self.fail("must repeat as {m}, {m,} or {m,n} with n at least m")
        if self.at < len(self.pattern) and self.pattern[self.at] in _QUANTIFIERS:
            raise self.fail("must not have a quantifier behind a quantifier")
        return ("repeat", part, least, most)

    def number(self) -> int:
        start = self.at
        while self.at < len(self.pattern) and self.pattern[self.at] in digits:
            self.at += 1
        if not 0 < self.at - start <= 9:
            raise self.fail("must have a number of one to nine digits after { or ,")
        return int(self.pattern[start : self.at])

    def single(self) -> Expression:
        if self.next_is("("):
            self.next_is("?:")
            self.depth += 1
            if self.depth > DEEPEST:
                raise self.fail(f"must have groups in groups at most {DEEPEST} deep")
            inner = self.either()
            if not self.next_is(")"):
                raise self.fail("must close every group")
            self.depth -= 1
            return inner
        if self.next_is("."):
            return ("set", _other_than([(10, 10)]))
        if self.next_is("["):
            return ("set", self.members())
        return ("set", (2 * (self.character(_MEANING),),))

    def members(self) -> Ranges:
        """Return the code points of a set, from behind its bracket."""
        negated, found = self.next_is("^"), list[tuple[int, int]]()
        while not self.next_is("]"):
            first = last = self.character(_MEANING_IN_SETS)
            if self.next_is("-"):
                last = self.character(_MEANING_IN_SETS)
            if last < first:
                raise self.fail("must not have a range that ends before it begins")
            found.append((first, last))
        if not found:
            raise self.fail("must not have an empty set")
        return _other_than(found) if negated else _other_than(_other_than(found))

    def character(self, meaning: frozenset[str]) -> int:
        """Return the code point of one character, which may be escaped."""
        if self.at == len(self.pattern):
            raise self.fail("must not end here")
        letter = self.pattern[self.at]
        self.at += 1
        if letter == "\\":
            escaped = self.pattern[self.at : self.at + 1]
            if escaped not in _CONTROLS and escaped not in _SIGNS:
                raise self.fail("must escape a sign of ASCII, or n, r or t")
            self.at += 1
            letter = _CONTROLS.get(escaped, escaped)
        elif letter in meaning:
            self.at -= 1
            raise self.fail(f"must escape {letter!r} here")
        return ord(letter)


def _other_than(ranges: Sequence[tuple[int, int]]) -> Ranges:
    """Return all other code points that are text, in order."""
    taken = sorted([(-1, -1), *ranges, _SURROGATES, (LAST + 1, LAST + 1)])
    found, reached = [], -1
    for first, last in taken:
        if first > reached + 1:
            found.append((reached + 1, first - 1))
        reached = max(reached, last)
    return tuple(found)


def parse(pattern: str) -> Expression:
    """Return a pattern as an expression. Raise `PatternError` if it is not one.

    >>> parse("a|b")[0]
    'either'
    >>> parse("a**")
    Traceback (most recent call last):
    bpe_ref.errors.PatternError: the pattern 'a**' must not have a quantifier ... (character 2)
    """
    if not isinstance(pattern, str):
        raise PatternError(f"a pattern must be a str, got {shown(pattern)}")
    if any("\ud800" <= letter <= "\udfff" for letter in pattern):
        raise PatternError(f"the pattern {shown(pattern)} must not contain surrogates")
    parser = _Parser(pattern)
    found = parser.either()
    if parser.at < len(pattern):
        raise parser.fail("must open every group that it closes")
    return found


def byte_ranges(first: int, last: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield the UTF-8 of a range of code points as sequences of byte ranges.

    >>> list(byte_ranges(0x61, 0xE9))
    [((97, 127),), ((194, 194), (128, 191)), ((195, 195), (128, 169))]
    """
    edges = (0, 0x80, 0x800, 0x10000, LAST + 1)  # where characters get another byte
    for low, high in pairwise(edges):
        start, stop = max(first, low), min(last, high - 1)
        if start <= stop:
            yield from _sequences(chr(start).encode(), chr(stop).encode())


def _sequences(first: bytes, last: bytes) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield the byte strings from one to another of the same length, as byte ranges."""
    rest = len(first) - 1
    low, high = first[0], last[0]
    if rest and low == high:
        yield from (((low, low), *more) for more in _sequences(first[1:], last[1:]))
        return
    if rest and first[1:] != b"\x80" * rest:
        yield from (((low, low), *more) for more in _sequences(first[1:], b"\xbf" * rest))
        low += 1
    ends_early = rest and last[1:] != b"\xbf" * rest
    if low <= high - ends_early:
        yield ((low, high - ends_early), *[(0x80, 0xBF)] * rest)
    if ends_early:
        yield from (((high, high), *more) for more in _sequences(b"\x80" * rest, last[1:]))


# ---- automata


class Grammar:
    r"""The language of a pattern, as an automaton over bytes.

    >>> grammar = Grammar("(ab)+")
    >>> grammar.matches(b"abab"), grammar.matches(b"aba"), bool(grammar.after(b"aba"))
    (True, False, True)
    >>> bool(grammar.after(b"aa"))
    False
    """

    def __init__(self, pattern: str) -> None:
        """Build the automaton. Raises `PatternError`, also for a pattern that matches no text."""
        expression = parse(pattern)
        self.pattern = pattern
        self._edges: list[list[tuple[int, int, int]]] = []  # from state: first and last byte, to
        self._jumps: list[list[int]] = []  # from state: to, without a byte
        self._next: dict[States, dict[int, States]] = {}
        start = self._state()
        self.end = self._build(expression, start)
        self._remove_dead_states()
        self.start = self._reached([start])
        """The states before the first byte."""

        if not self.start:
            raise PatternError(f"the pattern {shown(pattern)} must match some text")

    def __repr__(self) -> str:
        """Return the call that makes the same grammar."""
        return f"Grammar({self.pattern!r})"

    def step(self, states: States, byte: int) -> States:
        """Return the states after one more byte."""
        known = self._next.get(states)
        if known is None:
            if len(self._next) >= MOST_REMEMBERED:
                self._next.clear()
            known = self._next[states] = {}
        if byte not in known:
            edges = (edge for state in states for edge in self._edges[state])
            known[byte] = self._reached([to for first, last, to in edges if first <= byte <= last])
        return known[byte]

    def after(self, data: bytes, states: States | None = None) -> States:
        """Return the states after some bytes, from the start or from other states."""
        states = self.start if states is None else states
        for byte in data:
            if not states:  # nothing leads back from there
                break
            states = self.step(states, byte)
        return states

    def matches(self, data: bytes) -> bool:
        """Return whether the bytes are a text of the language."""
        return self.end in self.after(data)

    def _state(self) -> int:
        if len(self._edges) == MOST_STATES:
            rule = f"must need at most {MOST_STATES} states; repeat less"
            raise PatternError(f"the pattern {shown(self.pattern)} {rule}")
        self._edges.append([])
        self._jumps.append([])
        return len(self._edges) - 1

    def _build(self, expression: Expression, start: int) -> int:
        """Add the states of an expression behind a state, and return the last one."""
        match expression:
            case ("set", ranges):
                end = self._state()
                for sequence in (each for pair in ranges for each in byte_ranges(*pair)):
                    state = start
                    for first, last in sequence[:-1]:
                        state = self._edge(state, first, last, self._state())
                    self._edge(state, *sequence[-1], end)
                return end
            case ("in order", parts):
                for part in parts:
                    start = self._build(part, start)
                return start
            case ("either", parts):
                ends = [self._build(part, self._jump(start, self._state())) for part in parts]
                end = self._state()
                for each in ends:
                    self._jump(each, end)
                return end
        _, part, least, most = expression
        return self._repeat(part, least, most, start)

    def _repeat(self, part: Expression, least: int, most: int | None, start: int) -> int:
        for _ in range(least):  # a new state each time, so that repeating nothing ends, too
            start = self._build(part, self._jump(start, self._state()))
        end = self._state()
        if most is None:
            loop = self._jump(start, self._state())
            self._jump(self._build(part, loop), loop)
            return self._jump(loop, end)
        self._jump(start, end)
        for _ in range(most - least):
            start = self._build(part, self._jump(start, self._state()))
            self._jump(start, end)
        return end

    def _edge(self, state: int, first: int, last: int, to: int) -> int:
        self._edges[state].append((first, last, to))
        return to

    def _jump(self, state: int, to: int) -> int:
        self._jumps[state].append(to)
        return to

    def _remove_dead_states(self) -> None:
        """Remove what leads to states from which no bytes lead to the end."""
        comes_from: list[list[int]] = [[] for _ in self._edges]
        for state, edges in enumerate(self._edges):
            for to in (*self._jumps[state], *(edge[2] for edge in edges)):
                comes_from[to].append(state)
        alive, waiting = {self.end}, [self.end]
        while waiting:
            new = set(comes_from[waiting.pop()]) - alive
            alive |= new
            waiting += new
        self._edges = [[edge for edge in edges if edge[2] in alive] for edges in self._edges]
        self._jumps = [
            [to for to in jumps if to in alive] if state in alive else []
            for state, jumps in enumerate(self._jumps)
        ]
        self._alive = alive

    def _reached(self, states: Sequence[int]) -> States:
        """Return these states and those that jumps lead to."""
        found = {state for state in states if state in self._alive}
        waiting = list(found)
        while waiting:
            new = set(self._jumps[waiting.pop()]) - found
            found |= new
            waiting += new
        return frozenset(found)


# ---- tokens


class GrammarMatcher:
    """The tokens that a grammar allows next, while a text grows token by token.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2, b"ba": 3})
    >>> matcher = GrammarMatcher(Grammar("(ab)+"), vocabulary)
    >>> matcher.allowed(), matcher.may_end
    ([0, 2], False)
    >>> matcher.accept(2)
    >>> matcher.allowed(), matcher.may_end
    ([0, 2], True)
    >>> matcher.accept(0)
    >>> matcher.allowed()
    [1, 3]
    >>> matcher.rollback(2)
    >>> matcher.may_end
    False
    """

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary) -> None:
        """Start with no tokens."""
        self.grammar, self.vocabulary = grammar, vocabulary
        self._past = [grammar.start]  # the states after each number of tokens, never empty sets

    def __repr__(self) -> str:
        """Return the grammar and the number of tokens."""
        return f"<GrammarMatcher of {self.grammar!r}, {len(self._past) - 1} tokens>"

    @property
    def may_end(self) -> bool:
        """Whether the text so far is in the language."""
        return self.grammar.end in self._past[-1]

    def allowed(self) -> list[TokenId]:
        """Return the ids of the allowed tokens, in order. There may be none.

        In time proportional to the part of the vocabulary's trie that the grammar allows.
        """
        found = []
        root: Node = self.vocabulary.remember(trie_of_all_tokens).root
        waiting = [(root, NOTHING, self._past[-1])]
        while waiting:
            node, inherited, states = waiting.pop()
            if node[""] != inherited:  # a token ends here
                found.append(node[""])
            for letter, child in node.items():
                after = self.grammar.step(states, ord(letter)) if letter else None
                if after:
                    waiting.append((child, node[""], after))
        return sorted(found)

    def accept(self, token: TokenId) -> None:
        """Add a token to the text.

        Raises `TokenIdError` for what is not an id, and `ParameterError` for a token that is not
        allowed; nothing has changed then.
        """
        data = self.vocabulary.token_bytes(token)
        after = self.grammar.after(data, self._past[-1])
        if token not in self.vocabulary.tokens or not after:
            place = f"after {len(self._past) - 1} tokens"
            raise ParameterError("token", token, f"must be one that the grammar allows {place}")
        self._past.append(after)

    def rollback(self, count: int = 1) -> None:
        """Take the last tokens back. Raises `ParameterError` if there are fewer."""
        if type(count) is not int or not 0 <= count < len(self._past):
            most = len(self._past) - 1
            raise ParameterError("count", count, f"must be a whole number from 0 to {most}")
        del self._past[len(self._past) - count :]
