"""Which tokens may be side by side in an encoding.

    Two adjacent tokens are *compatible* if encoding the text of both gives just these two tokens
    back.

Source: the README of GitHub's `bpe` crate, "Novel Algorithm"
(https://github.com/github/rust-gems/tree/main/crates/bpe). A sequence of tokens is an encoding
exactly if its neighbours are compatible, so whoever can answer this question fast can encode
without ever merging.

By definition
    Encode the text of both and compare. That is right for every vocabulary.

At the seam
    Run the making of both tokens backwards, latest merge first, and look whether the two tokens
    that meet at the seam would have merged before the merge that was just undone. At equal ranks
    the left one comes first, so undoing a left token t allows a merge of rank t across the seam (it
    would have come later), and undoing a right one does not.

Why the seam test is the same answer, and when
    Say that a token is *orderly* if merges make it (its own bytes encode to it) and each merge on
    the way has a higher rank than the two merges that made its parts. Merges inside two orderly
    tokens then happen in the order of their ranks, and both tokens are made side by side,
    undisturbed, until something merges across the seam. The tokens x and y meet there until one of
    them is merged away, which happens at the lower of the two ranks that do so; they merge with
    each other if their own rank is lower still. The test asks this of each x and y that meet. Which
    merges there are does not matter beyond that, so the test holds for two orderly tokens of any
    vocabulary. GitHub's original takes all tokens for orderly, and encodes wrongly where they are
    not.

Only one merge makes a token
    A run restricted to a stretch of text whose borders nothing has crossed is the run of that
    stretch alone. So whenever a token comes to be, it does so from the last pair in the run of its
    own bytes: its *split*. A token whose own bytes do not encode to it never comes to be by
    merging: it is *dead*.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from operator import add

from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.heap import encode_heap, merge_slots
from bpe_ref.vocabulary.merges import ByConcatenation, ByPair, Pair, Spelling, TokenId

SeamTest = Callable[[int, int], bool]

_UNKNOWN = -1  # the place of a half that is not made yet


def compatible_by_definition(vocabulary: Vocabulary, left: TokenId, right: TokenId) -> bool:
    """Return whether the text of both tokens encodes to just these two.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"aa": 1})
    >>> compatible_by_definition(vocabulary, 1, 0), compatible_by_definition(vocabulary, 0, 1)
    (True, False)
    """
    symbols = _symbols_of(vocabulary, vocabulary.spellings[left] + vocabulary.spellings[right])
    return symbols is not None and encode_heap(vocabulary, symbols) == [left, right]


def split_by_definition(vocabulary: Vocabulary, token: TokenId) -> Pair | None:
    """Return the pair that `token` is made from, or None for a symbol and for a dead token.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"aa": 1, b"aaa": 2})
    >>> split_by_definition(vocabulary, 2)
    (1, 0)
    """
    slots = _symbols_of(vocabulary, vocabulary.spellings[token])
    if slots is None or len(slots) == 1:
        return None
    length = len(slots)
    merges = list(merge_slots(vocabulary.rule.merge, slots))
    return merges[-1][0] if len(merges) == length - 1 and slots[0] == token else None


@dataclass(eq=False)
class Derivations:
    """How each token that merging can make is made.

    Representation
        Tokens are numbered anew, by *place*: first the symbols, then the others
        in the order of the merges that make them. So of two tokens the one
        with the higher place is made later. A symbol is its own two halves.
    """

    ids: list[TokenId] = field(default_factory=list)
    """Place to id."""

    lefts: list[int] = field(default_factory=list)
    rights: list[int] = field(default_factory=list)
    """Place to the places of the two halves."""

    places: dict[TokenId, int] = field(default_factory=dict)
    """Id to place; dead tokens have none."""

    symbols: int = 0
    """How many symbols there are; the places below are theirs."""

    beyond: int = 0
    """More than any place, also of the tokens that are not made yet."""

    merged: list[dict[int, int]] = field(default_factory=list)
    """For each place as a left half: from the place of a right half to that of the token."""

    disorderly: set[int] = field(default_factory=set)
    """Places of the tokens that the seam test must not be asked about."""


def build_derivations(vocabulary: Vocabulary) -> Derivations:
    """Find out how every token is made. Use it through `vocabulary.remember`.

    By induction over the merges, lowest rank first: if two orderly tokens of
    lower rank spell a token, are compatible as far as the merges so far go,
    and may merge into it now, then merging its bytes arrives at just these two
    and goes on to merge them. What the induction does not reach (dead tokens,
    tokens with a part of higher rank) is decided by definition.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"aaa": 1, b"aa": 2})
    >>> derivations = vocabulary.remember(build_derivations)
    >>> derivations.ids, [derivations.ids[place] for place in derivations.disorderly]
    ([0, 1, 2], [1])
    """
    beyond = len(vocabulary.tokens)
    made = Derivations(beyond=beyond, merged=[{} for _ in range(beyond)])
    ids, lefts, rights, places = made.ids, made.lefts, made.rights, made.places
    merged, disorderly = made.merged, made.disorderly
    for token in sorted(vocabulary.symbol_of_letter.values()):
        place = len(ids)
        ids.append(token)
        lefts.append(place)
        rights.append(place)
        places[token] = place
    made.symbols = len(ids)

    waiting: dict[TokenId, list[Pair]] = {}  # a half that is not made yet, and whose half it is
    seam = seam_test(made)
    rule = vocabulary.rule
    steps = (
        _made_by_concatenation(vocabulary, rule, made, seam)
        if isinstance(rule, ByConcatenation)
        else _made_by_pair(vocabulary, rule, made, seam)
    )
    for token, halves in steps:
        place = len(ids)
        left, right = places.get(halves[0], _UNKNOWN), places.get(halves[1], _UNKNOWN)
        ids.append(token)
        lefts.append(left)
        rights.append(right)
        places[token] = place
        if _UNKNOWN in (left, right):
            disorderly.add(place)
            for half in halves:
                waiting.setdefault(half, []).append(halves)
        else:
            merged[left][right] = place
            if disorderly and not disorderly.isdisjoint((left, right)):
                disorderly.add(place)
        if token in waiting:
            for pair in waiting.pop(token):
                _fill_in(made, vocabulary, pair)
    return made


def seam_test(made: Derivations) -> SeamTest:
    """Return the seam test, of two *places* that both are orderly.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"aa": 1})
    >>> seam = seam_test(vocabulary.remember(build_derivations))
    >>> seam(1, 0), seam(0, 1)
    (True, False)
    """
    merged, lefts, rights = made.merged, made.lefts, made.rights
    symbols, beyond = made.symbols, made.beyond

    def seam(left: int, right: int) -> bool:
        limit = beyond  # merges from this place on come too late
        merged_with = merged[left]
        while right not in merged_with or merged_with[right] >= limit:
            if left > right:
                if left < symbols:
                    return True
                limit = left
                left = rights[left]
                merged_with = merged[left]
            else:
                if right < symbols:
                    return True
                limit = right + 1
                right = lefts[right]
        return False

    return seam


def compatibility(vocabulary: Vocabulary) -> SeamTest:
    """Return the fastest right test of two *places*: at the seam, else by definition.

    Use it through `vocabulary.remember`.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"aaa": 1, b"aa": 2})
    >>> compatible = vocabulary.remember(compatibility)
    >>> compatible(1, 0), compatible(2, 0)
    (True, False)
    """
    made = vocabulary.remember(build_derivations)
    seam, disorderly, ids = seam_test(made), made.disorderly, made.ids
    if not disorderly:
        return seam

    @lru_cache(maxsize=1 << 16)
    def exactly(left: int, right: int) -> bool:
        return compatible_by_definition(vocabulary, ids[left], ids[right])

    def compatible(left: int, right: int) -> bool:
        if left in disorderly or right in disorderly:
            return exactly(left, right)
        return seam(left, right)

    return compatible


def joints(vocabulary: Vocabulary) -> frozenset[Spelling]:
    """Return every two letters that stand next to each other inside some token.

    Whatever merges across a seam holds the letters on both sides of it, so
    where those two are no joint (a letter and a space, say) any two tokens are
    compatible, and nothing need be tested. That is most seams of ordinary text.

    Use it through `vocabulary.remember`.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> sorted(joints(vocabulary_by_concatenation({b"a": 0, b"b": 1, b"aab": 2})))
    ['aa', 'ab']
    """
    found: set[Spelling] = set()
    for spelling in vocabulary.ids:
        found.update(map(add, spelling, spelling[1:]))
    return frozenset(found)


def joint_table(vocabulary: Vocabulary) -> bytes:
    """Return the same as 65,536 flags, for letters that come one by one as numbers.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> table = joint_table(vocabulary_by_concatenation({b"a": 0, b"b": 1, b"aab": 2}))
    >>> table[ord("a") << 8 | ord("b")], table[ord("b") << 8 | ord("a")], sum(table)
    (1, 0, 2)
    """
    flags = bytearray(1 << 16)
    for joint in vocabulary.remember(joints):
        first, second = map(ord, joint)
        flags[first << 8 | second] = 1
    return bytes(flags)


def _made_by_concatenation(
    vocabulary: Vocabulary, rule: ByConcatenation, made: Derivations, seam: SeamTest
) -> Iterator[tuple[TokenId, Pair]]:
    """Yield each token that merging can make, with its split, in the order of their merges."""
    ids, places, disorderly = made.ids, made.places, made.disorderly
    orderly = {letter: places[symbol] for letter, symbol in vocabulary.symbol_of_letter.items()}
    for token in sorted(vocabulary.tokens, key=rule.ranks.__getitem__):
        spelling = rule.spellings[token]
        if len(spelling) == 1:
            continue
        halves = _orderly_halves(orderly, seam, spelling)
        if halves is not None:
            yield token, (ids[halves[0]], ids[halves[1]])
            orderly[spelling] = places[token]
        elif (split := split_by_definition(vocabulary, token)) is not None:
            yield token, split
            if places[token] not in disorderly:
                orderly[spelling] = places[token]


def _made_by_pair(
    vocabulary: Vocabulary, rule: ByPair, made: Derivations, seam: SeamTest
) -> Iterator[tuple[TokenId, Pair]]:
    known: dict[TokenId, Pair | None] = {}
    for pair, merge in sorted(rule.table.items(), key=lambda item: item[1].rank):
        token = merge.result
        if token in made.places:
            continue
        left, right = (made.places.get(half, _UNKNOWN) for half in pair)
        if _UNKNOWN in (left, right) or not made.disorderly.isdisjoint((left, right)):
            if token not in known:
                known[token] = split_by_definition(vocabulary, token)
            if known[token] == pair:
                yield token, pair
        elif seam(left, right):
            yield token, pair


def _orderly_halves(
    orderly: dict[Spelling, int], seam: SeamTest, spelling: Spelling
) -> tuple[int, int] | None:
    """Return the places of two compatible tokens that spell this, if there are such in `orderly`.

    `orderly` has the place of every orderly token made so far.
    """
    for cut in range(len(spelling) - 1, 0, -1):
        left = orderly.get(spelling[:cut])
        if left is not None:
            right = orderly.get(spelling[cut:])
            if right is not None and seam(left, right):
                return left, right
    return None


def _fill_in(made: Derivations, vocabulary: Vocabulary, halves: Pair) -> None:
    """Enter the halves of a token that was made before one of them could be."""
    left, right = (made.places.get(half, _UNKNOWN) for half in halves)
    merge = vocabulary.merge(*halves)
    if _UNKNOWN in (left, right) or merge is None:
        return  # the other half is still missing, and will be filled in with it
    place = made.places[merge.result]
    made.lefts[place], made.rights[place] = left, right
    made.merged[left][right] = place


def _symbols_of(vocabulary: Vocabulary, spelling: Spelling) -> list[TokenId] | None:
    """Return the symbols of a spelling, or None if one of them is not in the vocabulary."""
    symbols = [vocabulary.symbol_of_letter.get(letter) for letter in spelling]
    return None if None in symbols else symbols  # type: ignore[return-value]  # just checked
