"""How long an eager encoder may have to wait, proven for all texts.

Definition
    The delay is how many bytes no emitted token covers, see `eager`. Its bound
    is the greatest delay that any text has, or infinite.

Two rows of tokens
    A delay of n bytes means two rows of tokens from the same place (the root)
    over the same bytes. In each row neighbours are compatible. They share no
    border on the way, for the tokens before a border are determined by it. And
    both still cover the n-th byte. Any two such rows are a delay: each is the
    encoding of what it spells.

    Lay them down token by token, always on the row that is behind. All that
    matters for going on is the last token of each row, and how many bytes the
    one ahead hangs over: a *state*. From a state with an overhang of d bytes,
    the row behind goes on with a token that fits after its last one and agrees
    with the overhang:

        shorter than d: it stays behind; so many more bytes are delayed.
        longer than d: it is ahead now; d more bytes are delayed.
        just d: the rows meet, so one byte before that the delay ends.

    So the bound is the longest way through these states, and it is infinite if
    there is a way in a circle, which every lap makes longer.

This is exact: the bound is reached by the text that the longest way spells.

What this leaves open
    *Whether a bound can be missing at all*: every vocabulary of two letters and
    up to three longer tokens has one, and so did all that were drawn at random.
    *Real vocabularies* have more states than one would want to look at, so
    there is a limit to them.
"""

from collections.abc import Iterator
from typing import Final

from bpe_ref.encoders.backtracking import trie_of_made_tokens
from bpe_ref.errors import ParameterError
from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.compatibility import build_derivations, compatibility

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
    further: dict[State, int] = {_MET: 0}  # how many more bytes can be delayed from there
    underway: set[State] = set()
    bound = 0
    for length, first in rows.beginnings():
        stack: list[tuple[State, Iterator[tuple[int, State]]]] = []
        if first not in further:
            stack.append((first, rows.steps(first)))
            underway.add(first)
        best: dict[State, int] = {first: 0}
        while stack:
            state, steps = stack[-1]
            for more, following in steps:
                if following in further:
                    best[state] = max(best[state], more + further[following])
                elif following in underway:
                    return None
                else:
                    if len(further) + len(underway) > most_states:
                        raise ParameterError(
                            "most_states", most_states, "must be more to settle the delay"
                        )
                    # come back for this step's bytes when what follows is known
                    stack[-1] = (state, _again(more, following, steps))
                    stack.append((following, rows.steps(following)))
                    underway.add(following)
                    best[following] = 0
                    break
            else:
                stack.pop()
                underway.discard(state)
                further[state] = best.pop(state)
        bound = max(bound, length + further[first])
    return bound


def _again(
    more: int, following: State, steps: Iterator[tuple[int, State]]
) -> Iterator[tuple[int, State]]:
    yield more, following
    yield from steps


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
