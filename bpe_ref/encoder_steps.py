"""The quick encoders, step by step, for teaching: what each looks at, and why it decides so.

Each function here repeats one encoder with its data in sight: `vocabulary.heap`,
`encoders.prefix_table` and `encoders.backtracking`, whose sources and proofs hold. The last
step shows what that encoder returns. `tracing.trace` does the same for the definition.

Two tokens *fit* if no merge crosses the border between them. If they do not, the reason is what
the definition makes of their text.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from types import MappingProxyType
from typing import Final, TypeAlias

from bpe_ref.encoders.backtracking import trie_of_made_tokens
from bpe_ref.encoders.naive import encode_naive
from bpe_ref.tracing import show_token
from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.compatibility import build_derivations
from bpe_ref.vocabulary.merges import TokenId
from bpe_ref.vocabulary.tries import NOTHING

_NOWHERE: Final = -1  # no slot


@dataclass(frozen=True)
class EncoderStep:
    """One step: the tokens after it, the index of the one that is new (-1: none), and why."""

    tokens: tuple[TokenId, ...]
    new: int
    why: str
    refused: tuple[tuple[TokenId, ...], ...] = ()
    """Tokens that were tried, or taken back, each at the end of those before it."""
    heap: tuple["Entry", ...] = ()
    """Of the heap encoder: what is left in its heap, in the order of the list."""


Entry: TypeAlias = tuple[int, int, TokenId, TokenId, TokenId]
"""Of the heap: rank, left slot, left and right token, result."""


def heap_steps(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> Iterator[EncoderStep]:
    """Yield the start of the heap encoder, and each entry that leaves its heap.

    Raises `SymbolError` for an id that is not a single symbol.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"aa": 1})
    >>> for step in heap_steps(vocabulary, [0, 0, 0]):
    ...     print(step.tokens, step.why)
    (0, 0, 0) the heap begins with a + a of rank 1 at 0, a + a of rank 1 at 1
    (1, 0) a + a of rank 1 at 0 merges
    (1, 0) a + a of rank 1 at 1 is stale: that place was merged into the one before it
    """
    vocabulary.spell(symbols)  # raises for what is not a symbol
    slots = dict(enumerate(symbols))  # those in use, in text order

    def show(entry: Entry) -> str:
        rank, slot, left, right, _ = entry
        return f"{_name(vocabulary, left)} + {_name(vocabulary, right)} of rank {rank} at {slot}"

    def pair_at(slot: int) -> list[Entry]:
        """Return the entry of the pair whose left half is in a slot, if it can merge."""
        following = min((other for other in slots if other > slot), default=_NOWHERE)
        if slot not in slots or following not in slots:
            return []
        left, right = slots[slot], slots[following]
        merge = vocabulary.merge(left, right)
        return [] if merge is None else [(merge.rank, slot, left, right, merge.result)]

    heap = [entry for slot in slots for entry in pair_at(slot)]
    heapify(heap)
    begun = ", ".join(map(show, sorted(heap))) or "nothing, because no pair can merge"
    yield EncoderStep(tuple(symbols), -1, f"the heap begins with {begun}", heap=tuple(heap))
    while heap:
        entry = heappop(heap)
        _, slot, left, right, result = entry
        following = min((other for other in slots if other > slot), default=_NOWHERE)
        why = ""
        if slot not in slots:
            why = "that place was merged into the one before it"
        elif slots[slot] != left:
            why = f"that place now holds {_name(vocabulary, slots[slot])}"
        elif slots.get(following) != right:
            after = _name(vocabulary, slots[following]) if following in slots else "nothing"
            why = f"{after} follows that place now"
        if why:
            why = f"{show(entry)} is stale: {why}"
            yield EncoderStep(tuple(slots.values()), -1, why, heap=tuple(heap))
            continue
        slots[slot] = result
        del slots[following]
        before = max((other for other in slots if other < slot), default=_NOWHERE)
        pushed = [each for place in (before, slot) for each in pair_at(place)]
        for each in pushed:
            heappush(heap, each)
        more = f"; new in the heap: {', '.join(map(show, pushed))}" if pushed else ""
        new = list(slots).index(slot)
        why = f"{show(entry)} merges{more}"
        yield EncoderStep(tuple(slots.values()), new, why, heap=tuple(heap))


def prefix_steps(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> Iterator[EncoderStep]:
    """Yield the cells of the prefix table: the encoding of every prefix, by its last token.

    All tokens that end there are tried here, so that all reasons are seen. The only one that fits
    is last. The encoder stops at the one that fits, in whatever order it tries them.

    Raises `SymbolError` for an id that is not a single symbol.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ba": 2, b"ab": 3})
    >>> for step in prefix_steps(vocabulary, [0, 1, 0]):
    ...     print(step.tokens, step.why)
    (0,) a is the whole prefix
    (3,) b does not fit after a: together they become ab; ab is the whole prefix
    (0, 2) a does not fit after ab: together they become a + ba; ba fits after a
    """
    text = vocabulary.spell(symbols)
    made = vocabulary.remember(build_derivations).ids
    tokens_in_it = [token for token in made if vocabulary.spellings[token] in text]
    by_length = sorted(tokens_in_it, key=lambda token: len(vocabulary.spellings[token]))
    cells: list[tuple[TokenId, ...]] = [()]
    for end in range(1, len(text) + 1):
        whys: list[str] = []
        refused: list[tuple[TokenId, ...]] = []
        for token in by_length:
            spelling = vocabulary.spellings[token]
            start = end - len(spelling)
            if start < 0 or text[start:end] != spelling:
                continue
            tokens = (*cells[start], token)
            wrong = start and _misfit(vocabulary, symbols, cells[start][-1], token, start)
            if wrong:
                whys.append(wrong)
                refused.append(tokens)
            else:
                cell = tokens
        cells.append(cell)
        *before, last = (_name(vocabulary, token) for token in cell)
        whys.append(f"{last} fits after {before[-1]}" if before else f"{last} is the whole prefix")
        yield EncoderStep(cell, len(cell) - 1, "; ".join(whys), tuple(refused))


def backtracking_steps(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> Iterator[EncoderStep]:
    """Yield each guess of backtracking, and each step back.

    Raises `SymbolError` for an id that is not a single symbol.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ba": 2, b"ab": 3})
    >>> for step in backtracking_steps(vocabulary, [0, 1, 0]):
    ...     print(step.tokens, step.why)
    (3,) the longest token here is ab
    (3,) a does not fit after ab: together they become a + ba
    () no token fits after ab, so no encoding has a border there: step back
    (0,) the next shorter token is a
    (0, 2) the longest token here is ba, which fits after a
    """
    text = vocabulary.spell(symbols)
    derivations = vocabulary.remember(build_derivations)
    made, places = derivations.ids, derivations.places
    trie, lengths = vocabulary.remember(trie_of_made_tokens)
    tokens: list[int] = []  # places, see Derivations
    dead_ends: set[int] = set()
    start = 0

    def step(new: int, why: str, *refused: int) -> EncoderStep:
        taken = tuple(made[each] for each in tokens)
        return EncoderStep(taken, new, why, tuple((*taken, made[each]) for each in refused))

    def named(place: int) -> str:
        return _name(vocabulary, made[place])

    dead = {token: text for token, text in vocabulary.spellings.items() if token not in places}

    def skipped(token: int) -> str:
        """Return which longer tokens are dead at this place."""
        names = [
            _name(vocabulary, each)
            for each, spelling in dead.items()
            if len(spelling) > lengths[token] and text[start : start + len(spelling)] == spelling
        ]
        return "".join(f"{name} is dead, skipped; " for name in names)

    while start < len(text):
        token = trie.longest(text, start)
        skips = skipped(token)
        guess = f"the longest {'valid ' * bool(skips)}token here"
        while True:
            if token == NOTHING:
                dead_ends.add(start)
                gone = tokens.pop()
                why = f"no token fits after {named(gone)}, so no encoding has a border there"
                yield step(-1, f"{why}: step back", gone)
                start -= lengths[gone]
                token, guess, skips = trie.shorter[gone], "the next shorter token", ""
                continue
            end = start + lengths[token]
            wrong = ""
            if end in dead_ends:
                wrong = f"{named(token)} ends where no encoding has a border"
            elif tokens:
                wrong = _misfit(vocabulary, symbols, made[tokens[-1]], made[token], start)
            if not wrong:
                break
            yield step(-1, wrong, token)
            token, guess = trie.shorter[token], "the next shorter token"
        fits = f", which fits after {named(tokens[-1])}" if tokens else ""
        tokens.append(token)
        start = end
        yield step(len(tokens) - 1, f"{skips}{guess} is {named(token)}{fits}")


def border_steps(vocabulary: Vocabulary, left: TokenId, right: TokenId) -> Iterator[EncoderStep]:
    """Yield the tokens that meet at the border in the fast test, and what the definition makes.

    `new` is the index of the first token after the border, in the last step -1: that step is by
    definition. See `vocabulary.compatibility`, also for the conditions of the test.

    >>> from bpe_ref import vocabulary_by_concatenation
    >>> vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2, b"bb": 3})
    >>> for step in border_steps(vocabulary, 2, 1):
    ...     print(step.tokens, step.new, step.why)
    (2, 1) 1 ab and b do not merge
    (0, 1, 1) 2 ab is undone; b and b would merge into bb, but too late: the two tokens fit
    (2, 1) -1 by definition: together they become ab + b. The fast test is right
    """
    made = vocabulary.remember(build_derivations)
    names = [_name(vocabulary, token) for token in (left, right)]
    together = encode_naive(
        vocabulary, vocabulary.symbols(vocabulary.token_bytes(left) + vocabulary.token_bytes(right))
    )
    odd = [
        f"{name} is {'dead' if token not in made.places else 'improper'}"
        for name, token in zip(names, (left, right), strict=True)
        if made.places.get(token, _NOWHERE) in {_NOWHERE, *made.disorderly}
    ]
    fits: bool | None = None
    if left in made.places and right in made.places:
        before, after = [made.places[left]], [made.places[right]]
        limit, undone = made.beyond, ""
        while fits is None:
            one, two = before[-1], after[0]
            merged = made.merged[one].get(two)
            meet = f"{_name(vocabulary, made.ids[one])} and {_name(vocabulary, made.ids[two])}"
            why = f"{undone}{meet} do not merge"
            if merged is not None:
                why = f"{undone}{meet} would merge into {_name(vocabulary, made.ids[merged])}"
                why += " in time" if merged < limit else ", but too late"
                fits = False if merged < limit else None
            if fits is None and max(one, two) < made.symbols:
                fits = True
            found = {None: "", True: ": the two tokens fit", False: ": the two tokens do not fit"}
            tokens = tuple(made.ids[place] for place in (*before, *after))
            yield EncoderStep(tokens, len(before), why + found[fits])
            undone = f"{_name(vocabulary, made.ids[max(one, two)])} is undone; "
            if one > two:  # of equal ranks the left one is first
                limit = one
                before[-1:] = [made.lefts[one], made.rights[one]]
            else:
                limit = two + 1
                after[:1] = [made.lefts[two], made.rights[two]]
    become = " + ".join(_name(vocabulary, token) for token in together)
    verdict = "The fast test must not be asked" if fits is None else "The fast test is right"
    if fits is not None and fits != (together == [left, right]):
        verdict = "The fast test is wrong"
    because = f", because {' and '.join(odd)}" if odd else ""
    why = f"by definition: together they become {become}. {verdict}{because}"
    yield EncoderStep(tuple(together), -1, why)


def _misfit(
    vocabulary: Vocabulary, symbols: Sequence[TokenId], left: TokenId, right: TokenId, border: int
) -> str:
    """Return why two tokens do not fit on the two sides of a border, or nothing if they do."""
    start = border - len(vocabulary.spellings[left])
    end = border + len(vocabulary.spellings[right])
    together = encode_naive(vocabulary, symbols[start:end])
    if together == [left, right]:
        return ""
    tokens = " + ".join(_name(vocabulary, token) for token in together)
    names = [_name(vocabulary, token) for token in (right, left)]
    return f"{names[0]} does not fit after {names[1]}: together they become {tokens}"


def _name(vocabulary: Vocabulary, token: TokenId) -> str:
    return show_token(vocabulary.token_bytes(token))


Steps: TypeAlias = Callable[[Vocabulary, Sequence[TokenId]], Iterator[EncoderStep]]

ENCODER_STEPS: Final[Mapping[str, Steps]] = MappingProxyType(
    {"heap": heap_steps, "prefix_table": prefix_steps, "backtracking": backtracking_steps}
)
"""The traced encoders, by their names in `ENCODERS`."""
