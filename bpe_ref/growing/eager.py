"""Tokens as early as they are certain: a text comes byte by byte, and may still go on.

Definition
    After each byte, the tokens emitted so far are exactly the common beginning of the encodings of
    all texts that start with the bytes so far. (Of one piece: nothing here knows of patterns or
    special tokens.) `finish` emits the rest. The *delay* is the number of bytes that no emitted
    token covers yet.

Source: Jiang and Gong, "Incremental BPE Tokenization", ICML 2026
(https://arxiv.org/abs/2605.30813), eager output; ModelTC's mtc-inc-bpe 0.9.2, src/eager.rs. Theirs
keeps every place within the longest beginning of a token that the text ends with; this one asks of
each place whether a token really can start there, so it emits exactly what is certain.

The tree of prefixes
    The encoding of the first n bytes is that of the first s bytes and one more token, its last. So
    the prefixes form a tree, whose root is the empty one. Call a place s *open* after n bytes if
    some text that goes on has a border at s and none from s + 1 to n. The encoding of such a text
    begins with that of the first s bytes (tokens up to a border are the encoding of what they
    cover), and then has a token that reaches beyond n. So s is open if some token starts with the
    bytes from s to n, goes on beyond them, and is compatible with the last token before s. And n
    itself is open: the text may stop.

    What all encodings begin with is therefore the way from the root to the lowest common ancestor
    of the open places. It is no more than that: the text that stops at n and one that leaves the
    ancestor otherwise, or passes over n there, have different next tokens.

Invariant
    `last` has the last token of each prefix from the root on, and `open` the bytes from each open
    place to the end, as a node of the trie. Everything above the root is emitted.

Why places only close
    A token that starts at s and reaches beyond n + 1 reaches beyond n. So each place is opened
    once, closed once, and asked about while it is no further back than the longest token.

The bound of the delay
    The greatest delay that any text has, or infinite. A delay of n bytes means two rows of tokens
    from the same place (the root) over the same bytes. In each row neighbours are compatible. They
    share no border on the way, for the tokens before a border are determined by it. And both still
    cover the n-th byte. Any two such rows are a delay: each is the encoding of what it spells.

    Lay them down token by token, always on the row that is behind. All that matters for going on is
    the last token of each row, and how many bytes the one ahead hangs over: a *state*. From a state
    with an overhang of d bytes, the row behind goes on with a token that fits after its last one
    and agrees with the overhang:

        shorter than d: it stays behind, and that many more bytes are delayed.
        longer than d: it is ahead now; d more bytes are delayed.
        just d: the rows meet, so one byte before that the delay ends.

    So the bound is the longest way through these states, and it is infinite if there is a way in a
    circle, which every lap makes longer. This is exact: the bound is reached by the text that the
    longest way spells.

    Whether a bound can be missing at all is open: every vocabulary of two letters and up to three
    longer tokens has one, and so did all that were drawn at random. Real vocabularies have more
    states than one would want to look at, so there is a limit to them.
"""

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from typing import Final

from bpe_ref.encoders.backtracking import trie_of_made_tokens
from bpe_ref.errors import ParameterError
from bpe_ref.vocabulary import Vocabulary, missing_symbol
from bpe_ref.vocabulary.compatibility import build_derivations, compatibility
from bpe_ref.vocabulary.merges import TokenId
from bpe_ref.vocabulary.tries import Node

_START: Final = -1  # the last token of the empty text
_DEAD_END: Final[Node] = {"": _START}
_MOST_KNOWN: Final = 1 << 16


class EagerEncoder:
    """Bytes in, tokens out as soon as nothing can change them.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"c": 2, b"ab": 3, b"bc": 4})
    >>> encoder = EagerEncoder(vocabulary)
    >>> encoder.push(ord("a")), encoder.delay
    ([], 1)
    >>> encoder.push(ord("b")), encoder.push(ord("b")), encoder.delay
    ([3], [], 1)
    >>> encoder.finish()
    [1]
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        trie, self._lengths = vocabulary.remember(trie_of_made_tokens)
        self._ids: Final = vocabulary.remember(build_derivations).ids
        self._compatible: Final = vocabulary.remember(compatibility)
        self._top: Final = trie.root
        self._known: Final[dict[tuple[int, int], bool]] = {}
        self._clear()

    def __repr__(self) -> str:
        """Return the numbers of bytes so far, and of those that no emitted token covers."""
        return f"<EagerEncoder, {self._length} bytes, delay {self.delay}>"

    def _clear(self) -> None:
        self._length = self._root = 0
        self._open: dict[int, Node] = {}
        self._last = {0: _START}  # places of tokens, see Derivations
        self.longest_delay = 0
        """The longest delay so far."""

    @property
    def delay(self) -> int:
        """How many bytes no emitted token covers yet."""
        return self._length - self._root

    def push(self, byte: int) -> list[TokenId]:
        """Take one more byte; return the tokens that are certain now and were not before.

        Raises `SymbolError` for a byte that the vocabulary lacks, and
        `ParameterError` unless the value is a byte. The encoder is then as it was before.
        """
        if type(byte) is not int or not 0 <= byte <= 0xFF:
            raise ParameterError("byte", byte, "must be an int from 0 to 255")
        letter = chr(byte)
        if letter not in self._top:
            raise missing_symbol(byte, self._length)
        self._open[self._length] = self._top  # the place before the byte: any token may start
        self._length += 1
        self._grow(letter)
        self._open = {start: node for start, node in self._open.items() if self._is_open(start)}
        emitted = self._emit()
        self.longest_delay = max(self.longest_delay, self.delay)
        return emitted

    def extend(self, data: bytes) -> list[TokenId]:
        """Push several bytes; return the tokens that became certain. An error keeps those before.

        >>> from bpe_ref import vocabulary_by_concatenation
        >>> EagerEncoder(vocabulary_by_concatenation({b"a": 0, b"b": 1})).extend(b"ab")
        [0, 1]
        """
        return [token for byte in data for token in self.push(byte)]

    def finish(self) -> list[TokenId]:
        """Return the tokens of the rest, and start anew; `longest_delay` starts anew too."""
        tokens = self._tokens(self._length)
        self._clear()
        return tokens

    def _tokens(self, end: int) -> list[TokenId]:
        """Return the tokens on the way from the root to a prefix."""
        tokens: list[TokenId] = []
        while end > self._root:
            tokens.append(self._ids[self._last[end]])
            end -= self._lengths[self._last[end]]
        return tokens[::-1]

    def _grow(self, letter: str) -> None:
        """Find the last token of the text with one more letter."""
        for start, before in self._open.items():
            node = self._open[start] = before.get(letter, _DEAD_END)
            token = node[""]
            ends_here = token != _START and start + self._lengths[token] == self._length
            if ends_here and self._fits(self._last[start], token):
                # just one token that ends here fits (see `encoders.prefix_table`)
                self._last[self._length] = token

    def _fits(self, before: int, token: int) -> bool:
        return before == _START or self._compatible(before, token)

    def _is_open(self, start: int) -> bool:
        """Return whether a token that fits at `start` goes on beyond the end.

        The same is asked again and again, so answers are kept.
        """
        before, node = self._last[start], self._open[start]
        question = before, id(node)  # the trie outlives the encoder, so a node keeps its id
        if question not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[question] = self._goes_on(before, node, self._length - start)
        return self._known[question]

    def _goes_on(self, before: int, node: Node, depth: int) -> bool:
        """Return whether a token below a node of the trie fits after `before`."""
        waiting = [(node, depth)]
        while waiting:
            node, depth = waiting.pop()
            for letter, child in node.items():
                if letter:
                    token = child[""]
                    # an entry of its own, not one inherited from the way here
                    if self._lengths[token] == depth + 1 and self._fits(before, token):
                        return True
                    waiting.append((child, depth + 1))
        return False

    def _emit(self) -> list[TokenId]:
        """Move the root to the lowest common ancestor of the open places; return the tokens."""
        places = {*self._open, self._length}
        while len(places) > 1:
            last = max(places)  # the prefix without its last token is shorter
            places.remove(last)
            places.add(last - self._lengths[self._last[last]])
        (root,) = places
        tokens = self._tokens(root)
        for place in range(self._root, root):
            del self._last[place]
        self._root = root
        return tokens


State = tuple[int, int, int]
"""The last token of the row behind, that of the row ahead (both places), and the overhang."""

_MET: Final = (-1, -1, 0)
"""The rows have met."""


def delay_bound(vocabulary: Vocabulary, *, most_states: int = 100_000) -> int | None:
    """Return the greatest delay in bytes that an eager encoder ever has; None if there is none.

    Raises `ParameterError` if that takes a look at more than `most_states` states.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> delay_bound(vocabulary_by_concatenation({b"a": 0, b"b": 1}))
    0
    >>> delay_bound(vocabulary_by_concatenation({b"a": 0, b"aa": 1, b"aaa": 2}))
    3
    """
    rows = _Rows(vocabulary)
    beginnings = list(rows.beginnings())
    ways: dict[State, list[tuple[int, State]]] = {_MET: []}
    waiting = [state for _, state in beginnings]
    while waiting:
        state = waiting.pop()
        if state in ways:
            continue
        if len(ways) > most_states:
            raise ParameterError("most_states", most_states, "must be more to settle the delay")
        ways[state] = list(rows.steps(state))
        waiting += [following for _, following in ways[state]]
    sorter = TopologicalSorter({state: {to for _, to in steps} for state, steps in ways.items()})
    further: dict[State, int] = {}  # how many more bytes can be delayed from there
    try:
        for state in sorter.static_order():  # what follows a state is before it
            further[state] = max((more + further[to] for more, to in ways[state]), default=0)
    except CycleError:
        return None
    return max((length + further[state] for length, state in beginnings), default=0)


class _Rows:
    """The states and the steps between them."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        made = vocabulary.remember(build_derivations)
        trie, self._lengths = vocabulary.remember(trie_of_made_tokens)
        self._spellings: Final = [vocabulary.spellings[token] for token in made.ids]
        self._shorter: Final = trie.shorter
        self._top: Final = trie.root
        self._compatible: Final = vocabulary.remember(compatibility)

    def beginnings(self) -> Iterator[tuple[int, State]]:
        """Yield the states with one token in each row, and the length of the shorter one."""
        for ahead, length in enumerate(self._lengths):
            behind = self._shorter[ahead]
            while behind >= 0:
                yield self._lengths[behind], (behind, ahead, length - self._lengths[behind])
                behind = self._shorter[behind]

    def steps(self, state: State) -> Iterator[tuple[int, State]]:
        """Yield each state that comes next, and how many more bytes are delayed then."""
        behind, ahead, overhang = state
        node = self._top
        for depth, letter in enumerate(self._spellings[ahead][-overhang:], 1):
            if letter not in node:
                return
            node = node[letter]
            token = node[""]
            if token >= 0 and self._lengths[token] == depth and self._compatible(behind, token):
                if depth < overhang:
                    yield depth, (token, ahead, overhang - depth)
                else:
                    yield overhang - 1, _MET
        waiting = [(child, overhang + 1) for letter, child in node.items() if letter]
        while waiting:
            node, depth = waiting.pop()
            token = node[""]
            if self._lengths[token] == depth and self._compatible(behind, token):
                yield overhang, (ahead, token, depth - overhang)
            waiting += [(child, depth + 1) for letter, child in node.items() if letter]
