"""Mutants that merge wrongly: wrong orders, wrong queues, wrong shortcuts.

Several of them share one priority queue, `encode_by`, whose order is an
argument; with the right order it is the reference's `heap` encoder.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from heapq import heapify, heappop, heappush
from struct import pack, unpack
from typing import Final, TypeAlias
from zlib import crc32

from authoring.mutants.mutant import (
    RIGHT,
    Mutant,
    Prepare,
    bytewise,
    encode,
    named,
    paired,
    preparing,
    replacing,
    spelled,
)
from bpe_ref import (
    ENCODERS,
    TextRules,
    TokenId,
    Vocabulary,
    vocabulary_by_concatenation,
    vocabulary_by_pair,
)
from bpe_ref.vocabulary.compatibility import build_derivations
from bpe_ref.vocabulary.merges import ByConcatenation, ByPair, Merge

EncodeSymbols: TypeAlias = Callable[[Vocabulary, Sequence[TokenId]], list[TokenId]]

Key: TypeAlias = tuple[int, ...]
Order: TypeAlias = Callable[[Merge, int, Key], Key]
"""From a merge, its slot, and the key of the merge just made, to the key in the queue."""

_EMPTY: Final = -1
_HEAP: Final = ENCODERS["heap"]


def encode_by(order: Order, *, refresh_left: bool = True) -> EncodeSymbols:
    """Encode with a priority queue in this order.

    >>> leftmost = encode_by(lambda merge, slot, _: (merge.rank, slot))
    >>> leftmost(spelled("a aa"), [0, 0, 0])
    [1, 0]
    """

    @wraps(order)
    def encode_queue(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
        line = _Line(vocabulary, list(symbols))
        waiting = [
            (order(merge, slot, ()), slot, *line.pair(slot)) for slot, merge in line.merges()
        ]
        heapify(waiting)
        while waiting:
            key, slot, *pair = heappop(waiting)
            if [*line.pair(slot)] != pair:
                continue  # stale
            line.join(slot)
            for neighbour in (line.previous[slot], slot) if refresh_left else (slot,):
                merge = line.merge_at(neighbour)
                if merge is not None:
                    entry = (order(merge, neighbour, key), neighbour, *line.pair(neighbour))
                    heappush(waiting, entry)
        return line.tokens()

    return encode_queue


class _Line:
    """The tokens of a piece in slots that are linked both ways; see the `heap` encoder."""

    def __init__(self, vocabulary: Vocabulary, slots: list[TokenId]) -> None:
        self.merge_of = vocabulary.rule.merge
        self.slots = slots
        self.previous = [_EMPTY, *range(len(slots) - 1)]
        self.following = [*range(1, len(slots)), _EMPTY]

    def pair(self, slot: int) -> tuple[TokenId, TokenId]:
        """Return the token in a slot and the one after it, or something that is no pair."""
        gone = self.following[slot]
        return self.slots[slot], _EMPTY if gone == _EMPTY else self.slots[gone]

    def merge_at(self, slot: int) -> Merge | None:
        if slot == _EMPTY or self.slots[slot] == _EMPTY or self.following[slot] == _EMPTY:
            return None
        return self.merge_of(*self.pair(slot))

    def merges(self) -> Iterator[tuple[int, Merge]]:
        for slot in range(len(self.slots)):
            merge = self.merge_at(slot)
            if merge is not None:
                yield slot, merge

    def join(self, slot: int) -> None:
        merge = self.merge_at(slot)
        assert merge is not None  # noqa: S101 - whoever joins has looked
        gone = self.following[slot]
        self.slots[slot], self.slots[gone] = merge.result, _EMPTY
        self.following[slot] = self.following[gone]
        if self.following[slot] != _EMPTY:
            self.previous[self.following[slot]] = slot

    def tokens(self) -> list[TokenId]:
        return [token for token in self.slots if token != _EMPTY]


@encode_by
def _rightmost(merge: Merge, slot: int, _: Key) -> Key:
    return merge.rank, -slot


_LONG: Final = 100
"""From this length on tiktoken encodes with another algorithm."""


# ---- the merge rule


def with_ranks(rank: Callable[[Vocabulary, Merge], int]) -> Prepare:
    """Give each merge another rank."""

    @wraps(rank)
    def prepare(vocabulary: Vocabulary) -> Vocabulary:
        rule = vocabulary.rule
        if isinstance(rule, ByPair):
            table = {
                pair: Merge(rank(vocabulary, merge), merge.result)
                for pair, merge in rule.table.items()
            }
            return replace(vocabulary, rule=replace(rule, table=table))
        ranks = {
            token: rank(vocabulary, Merge(right, token)) for token, right in rule.ranks.items()
        }
        return replace(vocabulary, rule=replace(rule, ranks=ranks))

    return prepare


# ---- the seam test without a look at what it takes for granted


@dataclass(frozen=True)
class _Splits:
    """The tables of GitHub's `BytePairEncoding`, by rank: what each token was merged from."""

    spellings: list[str]
    places: dict[str, int]
    halves: list[tuple[int, int]]
    merged: dict[tuple[int, int], int]
    lengths: list[int]

    def valid(self, left: int, right: int) -> bool:
        """Undo merges on both sides of the seam, latest first; a token without halves is atomic."""
        limit = len(self.halves)
        while self.merged.get((left, right), limit) >= limit:
            for take_left in (left > right, left <= right):
                before = left if take_left else right
                half = self.halves[before][1 if take_left else 0]
                if half != before:
                    limit = before if take_left else before + 1
                    left, right = (half, right) if take_left else (left, half)
                    break
            else:
                return True
        return False

    def matches(self, text: str, start: int | None, end: int | None) -> Iterator[int]:
        """Yield the tokens that start, or end, there, the longest first."""
        for length in self.lengths:
            if start is not None:
                part = text[start : start + length]
            else:
                part = text[max(0, (end or 0) - length) : end]
            if len(part) == length and part in self.places:
                yield self.places[part]


def _splits(vocabulary: Vocabulary) -> _Splits | None:
    """Build the tables; None for a vocabulary that GitHub's crate refuses or cannot express."""
    rule = vocabulary.rule
    if not isinstance(rule, ByConcatenation):
        return None
    if len(vocabulary.remember(build_derivations).places) < len(vocabulary.tokens):
        return None  # a token that does not encode to itself
    in_order = sorted(vocabulary.tokens, key=rule.ranks.__getitem__)
    spellings = [rule.spellings[token] for token in in_order]
    places = {spelling: place for place, spelling in enumerate(spellings)}
    lengths = sorted({len(spelling) for spelling in spellings}, reverse=True)
    made = _Splits(spellings, places, [], {}, lengths)
    for place, spelling in enumerate(spellings):
        made.halves.append((place, place))
        for cut in range(len(spelling) - 1, 0, -1):
            left, right = places.get(spelling[:cut], place), places.get(spelling[cut:], place)
            if left < place and right < place and made.valid(left, right):
                made.halves[place] = left, right
                made.merged[left, right] = place
                break
    return made


def _without_missing(vocabulary: Vocabulary, piece: bytes) -> list[TokenId]:
    letters = vocabulary.symbol_of_letter
    return [letters[letter] for letter in piece.decode("latin-1") if letter in letters]


def _with_a_rank_of(rank: int) -> Vocabulary:
    return vocabulary_by_concatenation({b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": rank})


def _with_two_ranks(lower: int) -> Vocabulary:
    return vocabulary_by_concatenation({b"a": 0, b"b": 1, b"c": 2, b"bc": lower, b"ab": lower + 1})


_WHOLE: Final = TextRules(whole_piece=True)


@replacing("encode_symbols", encode(spelled("a aa"), "aaa"))
def ties_from_the_right(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """Among equal ranks the rightmost pair merges first, as in a queue without a second key."""
    return _rightmost(vocabulary, symbols)


@replacing("encode_symbols", encode(paired("a aa aaa", "aa+a a+a"), "aaaa"))
def all_occurrences_at_once(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """The best pair merges everywhere before the next look: GPT-2's encoder.py, transformers' slow
    tokenizers, minbpe. Differs where a merge makes a pair of lower rank.
    """
    line = _Line(vocabulary, list(symbols))
    waiting: list[tuple[int, ...]]
    waiting = [(merge.rank, slot, *line.pair(slot)) for slot, merge in line.merges()]
    heapify(waiting)
    while waiting:
        rank, _, *pair = waiting[0]
        round_: list[tuple[int, ...]] = []
        others: list[tuple[int, ...]] = []
        while waiting and waiting[0][0] == rank:
            entry = heappop(waiting)
            (round_ if [*entry[2:]] == pair else others).append(entry)
        touched: list[int] = []
        for _, slot, *_ in round_:
            if [*line.pair(slot)] == pair:
                line.join(slot)
                touched += (line.previous[slot], slot)
        for entry in others:
            heappush(waiting, entry)
        for slot in touched:
            merge = line.merge_at(slot)
            if merge is not None:
                heappush(waiting, (merge.rank, slot, *line.pair(slot)))
    return line.tokens()


@replacing("encode_symbols", encode(paired("a aa aaa", "aa+a a+a"), "aaa"))
def rule_by_rule(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """Each merge is applied everywhere in turn and never again. The literature names this reading
    after Hugging Face's library, which does not work this way.
    """
    line = _Line(vocabulary, list(symbols))
    waiting = [(merge.rank, slot, *line.pair(slot)) for slot, merge in line.merges()]
    heapify(waiting)
    while waiting:
        rank, slot, *pair = heappop(waiting)
        if [*line.pair(slot)] != pair:
            continue
        line.join(slot)
        for neighbour in (line.previous[slot], slot):
            merge = line.merge_at(neighbour)
            if merge is not None and merge.rank > rank:  # the others had their turn
                heappush(waiting, (merge.rank, neighbour, *line.pair(neighbour)))
    return line.tokens()


@preparing(encode(paired("a aa aaa", "a+a a+aa"), "aaa"), encode_symbols=_HEAP)
def pairs_by_concatenation(vocabulary: Vocabulary) -> Vocabulary:
    """A merge list is read as ranks of results, so pairs merge that are not listed. Happens when a
    tokenizer.json is converted to tiktoken's format without an audit.
    """
    rule = vocabulary.rule
    if not isinstance(rule, ByPair):
        return vocabulary
    ranks: dict[TokenId, int] = {}
    for merge in sorted(rule.table.values()):
        ranks.setdefault(merge.result, merge.rank)
    spellings = vocabulary.spellings
    made = {token: spellings[token] for token in ranks}
    ids = {spelling: token for token, spelling in made.items()}
    # a symbol needs a place in the tables too, though nothing merges into it
    by_concatenation = ByConcatenation(spellings, dict(vocabulary.ids) | ids, ranks)
    unmade = {token: len(rule.merges) + token for token in spellings if token not in ranks}
    return replace(vocabulary, rule=replace(by_concatenation, ranks=ranks | unmade))


@preparing(encode(spelled("a b c bc ab abc"), "abc"), encode_symbols=_HEAP)
def one_split_per_token(vocabulary: Vocabulary) -> Vocabulary:
    """Ranks become a merge list by splitting each token into its longest prefix and the rest, which
    need not be the pair that makes it. After openai/tiktoken#60.
    """
    rule = vocabulary.rule
    if not isinstance(rule, ByConcatenation):
        return vocabulary
    table: dict[tuple[TokenId, TokenId], Merge] = {}
    for token, spelling in sorted(rule.spellings.items(), key=lambda item: rule.ranks[item[0]]):
        for cut in range(len(spelling) - 1, 0, -1):
            left, right = rule.ids.get(spelling[:cut]), rule.ids.get(spelling[cut:])
            if left is not None and right is not None:
                table[left, right] = Merge(rule.ranks[token], token)
                break
    return replace(vocabulary, rule=ByPair(list(table), table))


@preparing(encode(spelled("a b c ab bc", ids=[0, 1, 2, 9, 8]), "abc"), encode_symbols=_HEAP)
@with_ranks
def order_by_id(_: Vocabulary, merge: Merge) -> int:
    """Merges are ordered by the id of their result, not by rank. tiktoken and GitHub's bpe have
    only one number; DeepSeek puts special tokens at 0 and 1.
    """
    return merge.result


@preparing(encode(paired("a b c ab bc", "a+b b+c a+b"), "abc"), encode_symbols=_HEAP)
def duplicate_merge_first_wins(vocabulary: Vocabulary) -> Vocabulary:
    """A merge that is listed twice keeps its first place; in Hugging Face's library the last place
    counts. ohdearquant/lattice#259, #260.
    """
    rule = vocabulary.rule
    if not isinstance(rule, ByPair):
        return vocabulary
    first: dict[tuple[TokenId, TokenId], Merge] = {}
    for rank, pair in enumerate(rule.merges):
        first.setdefault(pair, Merge(rank, rule.table[pair].result))
    return replace(vocabulary, rule=replace(rule, table=first))


@preparing(
    encode(vocabulary_by_pair({b"b": 0, b"a": 1, b"c": 1 << 32, b"ab": 2}, [(b"a", b"b")]), "bc"),
    encode_symbols=_HEAP,
)
def pairs_packed_into_64_bits(vocabulary: Vocabulary) -> Vocabulary:
    """The key of a pair is the left id shifted by 32 bits and the right one, so that pairs with
    larger ids share a key with others.
    """
    rule, ids = vocabulary.rule, vocabulary.tokens
    if not isinstance(rule, ByPair) or max(ids) < 1 << 32:
        return vocabulary

    def packed(pair: tuple[TokenId, TokenId]) -> int:
        return (pair[0] << 32 | pair[1]) & (1 << 64) - 1

    merges = {packed(pair): merge for pair, merge in rule.table.items()}
    every = ((left, right) for left in ids for right in ids)
    table = {pair: merges[packed(pair)] for pair in every if packed(pair) in merges}
    return replace(vocabulary, rule=replace(rule, table=table))


@replacing("encode_symbols", encode(spelled("a aa aaa aaaa"), "aaaaa"))
def stale_pairs_if_alive(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """A queue accepts an entry if both of its slots are in use, even if they hold other tokens by
    now. Found while searching for the smallest example against lazy heaps.
    """
    line = _Line(vocabulary, list(symbols))
    waiting = [(merge.rank, slot) for slot, merge in line.merges()]
    heapify(waiting)
    while waiting:
        _, slot = heappop(waiting)
        if line.merge_at(slot) is None:
            continue
        line.join(slot)
        for neighbour in (line.previous[slot], slot):
            merge = line.merge_at(neighbour)
            if merge is not None:
                heappush(waiting, (merge.rank, neighbour))
    return line.tokens()


@replacing("encode_symbols", encode(spelled("a b c bc abc"), "abc"))
@partial(encode_by, refresh_left=False)
def left_pair_forgotten(merge: Merge, slot: int, _: Key) -> Key:
    """After a merge only the pair on the right is looked up again. Seen in teaching code."""
    return merge.rank, slot


@replacing("encode_symbols", encode(spelled("x a b y aby xab ab"), "xaby"))
@encode_by
def queue_never_goes_back(merge: Merge, slot: int, last: Key) -> Key:
    """A queue that returns ranks in rising order (radix heap, buckets) treats a new pair of lower
    rank as if it had the current rank. After tokie's radix heap.
    """
    return max(merge.rank, last[0]) if last else merge.rank, slot


@replacing("encode_symbols", encode(spelled("a b c bc ab"), "abc"))
@encode_by
def leftmost_pair_first(_: Merge, slot: int, __: Key) -> Key:
    """The first pair that has a merge is merged, whatever its rank. Seen in teaching code."""
    return (slot,)


@preparing(encode(spelled("b c d e bc de bcd"), "bcde"), encode_symbols=_HEAP)
@with_ranks
def longest_merge_first(vocabulary: Vocabulary, merge: Merge) -> int:
    """The pair with the longest result merges first."""
    return merge.rank - (len(vocabulary.spellings[merge.result]) << 32)


@preparing(encode(spelled("a b c ab bc"), "abc"), encode_symbols=_HEAP)
@with_ranks
def highest_rank_first(_: Vocabulary, merge: Merge) -> int:
    """The comparison is reversed: the highest rank merges first."""
    return -merge.rank


@replacing("encode_symbols", encode(spelled("a aa"), "aa"))
def nothing_merges(_: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """The rank of a pair is looked up for only one of its tokens, so nothing merges.
    pie-project/pie#83, #84.
    """
    return list(symbols)


@replacing("encode_symbols", encode(spelled("a b ba ab"), "aba"))
def greedy(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """The longest token that the rest starts with is taken. This is often mistaken for byte-pair
    encoding.
    """
    return ENCODERS["greedy"](vocabulary, symbols)


@replacing("encode_symbols", encode(spelled("a b c d e bc abc ab cd cde"), "abcde"))
def fewest_tokens(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """The text is split into as few tokens as possible, regardless of merges. GitHub's bpe offers
    this as an option.
    """
    return ENCODERS["minimal"](vocabulary, symbols)


@replacing("encode_symbols", encode(spelled("a aaa aa"), "aaaa"))
def seam_unchecked_prefix_table(
    vocabulary: Vocabulary, symbols: Sequence[TokenId]
) -> list[TokenId]:
    """GitHub's bpe accepts a vocabulary in which a token is made from a part of higher rank, and
    its prefix table then encodes wrongly. Run on github/rust-gems itself.
    """
    made = vocabulary.remember(_splits)
    if made is None:
        return RIGHT.encode_symbols(vocabulary, symbols)
    text = vocabulary.spell(symbols)
    last: list[int] = []
    for end in range(1, len(text) + 1):
        for place in made.matches(text, None, end):
            start = end - len(made.spellings[place])
            if start == 0 or made.valid(last[start - 1], place):
                last.append(place)
                break
    tokens: list[TokenId] = []
    end = len(text)
    while end:
        spelling = made.spellings[last[end - 1]]
        tokens.append(vocabulary.ids[spelling])
        end -= len(spelling)
    return tokens[::-1]


@replacing("encode_symbols", encode(spelled("a b aa aba ab"), "abaa"))
def seam_unchecked_backtracking(
    vocabulary: Vocabulary, symbols: Sequence[TokenId]
) -> list[TokenId]:
    """GitHub's bpe makes the same mistake in its backtracking encoder. Run on github/rust-gems
    itself.
    """
    made = vocabulary.remember(_splits)
    if made is None:
        return RIGHT.encode_symbols(vocabulary, symbols)
    text = vocabulary.spell(symbols)
    dead: set[int] = set()
    tokens: list[int] = []
    guesses = [made.matches(text, 0, None)]
    ends = [0]
    while ends[-1] < len(text):
        for place in guesses[-1]:
            end = ends[-1] + len(made.spellings[place])
            if end not in dead and (not tokens or made.valid(tokens[-1], place)):
                tokens.append(place)
                ends.append(end)
                guesses.append(made.matches(text, end, None))
                break
        else:
            dead.add(ends.pop())
            guesses.pop()
            tokens.pop()
    return [vocabulary.ids[made.spellings[place]] for place in tokens]


@replacing("encode_symbols", encode(spelled("a aa"), "a" * 101))
def long_pieces_from_the_right(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """From 100 bytes on tiktoken uses another algorithm; here it breaks ties to the right. The
    second algorithm is due to openai/tiktoken#195; the mistake is invented.
    """
    encoder = RIGHT.encode_symbols if len(symbols) < _LONG else _rightmost
    return encoder(vocabulary, symbols)


@replacing("encode_symbols", encode(spelled("a aa"), "a" * 100))
def hundred_bytes_fall_between(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """One algorithm handles pieces shorter than 100 bytes, the other longer ones, and neither
    handles exactly 100.
    """
    return list(symbols) if len(symbols) == _LONG else RIGHT.encode_symbols(vocabulary, symbols)


def _chunks_of(size: int) -> Mutant:
    def encode_chunks(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
        starts = range(0, len(symbols), size)
        chunks = (RIGHT.encode_symbols(vocabulary, symbols[at : at + size]) for at in starts)
        return [token for chunk in chunks for token in chunk]

    description = (
        f"Long pieces are cut into {size} bytes each before merging, to bound the work. "
        "After the quadratic time of openai/tiktoken#195 and dqbd/tiktoken#156."
    )
    witness = encode(spelled("a b ab"), "b" * (size - 1) + "ab")
    return replacing("encode_symbols", witness)(
        named(f"chunks-of-{size}", description, encode_chunks)
    )


CHUNKS: Final = tuple(map(_chunks_of, (100, 255, 512)))


def _ranks_in(bits: int, description: str) -> Mutant:
    def cut(_: Vocabulary, merge: Merge) -> int:
        return merge.rank & ((1 << bits) - 1)

    witness = encode(_with_a_rank_of(1 << bits), "abc")
    wrong = with_ranks(named(f"ranks-in-{bits}-bits", description, cut))
    return preparing(witness, encode_symbols=_HEAP)(wrong)


RANKS: Final = (
    _ranks_in(16, "Ranks are kept in 16 bits, which was enough for GPT-2."),
    _ranks_in(9, "Ranks are packed into 9 bits."),
    _ranks_in(8, "Ranks are kept in a byte."),
    _ranks_in(24, "Ranks share a word of 32 bits with a length of 8."),
)


@preparing(encode(_with_two_ranks(1 << 24), "abc"), encode_symbols=_HEAP)
@with_ranks
def ranks_as_floats(_: Vocabulary, merge: Merge) -> int:
    """Ranks are 32-bit floats, which cannot distinguish 16,777,216 from 16,777,217. SentencePiece's
    scores are such numbers.
    """
    return int(unpack("f", pack("f", merge.rank))[0])


@preparing(encode(_with_a_rank_of(1 << 31), "abc"), encode_symbols=_HEAP)
@with_ranks
def ranks_with_a_sign(_: Vocabulary, merge: Merge) -> int:
    """Ranks from 2^31 on are read as negative numbers and merge first."""
    return merge.rank - ((merge.rank >> 31) << 32)


@replacing("encode_symbols", encode(spelled("a aa", ids=[0, 65536]), "aa"))
def ids_in_16_bits(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """Tokens are stored in 16 bits, as training code for GPT-2 does. Seen in teaching code."""
    return [token & 0xFFFF for token in RIGHT.encode_symbols(vocabulary, symbols)]


@replacing("whole_piece", encode(spelled("a b c abc", text=_WHOLE), "abc"))
def whole_piece_never(_: Vocabulary, __: bytes) -> TokenId | None:
    """A piece that is itself a token is merged like any other; tiktoken takes it whole. Matters for
    the tokens of Llama-3 that no merging makes, and for Hugging Face's ignore_merges.
    """
    return None


@replacing("whole_piece", encode(spelled("a b c abc"), "abc"))
def whole_piece_always(vocabulary: Vocabulary, piece: bytes) -> TokenId | None:
    """A piece that is itself a token is taken whole where the engine would merge it."""
    return vocabulary.ids.get(piece.decode("latin-1"))


@replacing("whole_piece", encode(spelled(f"a {'a' * 16}", text=_WHOLE), "a" * 16))
def whole_piece_below_16(vocabulary: Vocabulary, piece: bytes) -> TokenId | None:
    """Whole pieces are looked up only if they are shorter than 16 bytes."""
    return RIGHT.whole_piece(vocabulary, piece) if len(piece) < 16 else None


def _cache(_: Vocabulary) -> dict[tuple[int, ...], list[TokenId]]:
    return {}


@replacing(
    "encode_symbols",
    encode(bytewise("(?s).{9}"), "aaaaaaaa1aaaaaaaa2"),
    prepare=replace,  # the copy has an empty cache
)
def cache_without_comparison(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """Pieces are cached by their length and first 8 bytes and never compared. GitHub's bpe hashes
    tokens to 32 bits and does compare.
    """
    return _cached(vocabulary, symbols, (*symbols[:8], len(symbols)))


@replacing("encode_symbols", encode(bytewise(".{8}"), "plumlessbuckeroo"), prepare=replace)
def cache_by_crc_32(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """Pieces are cached by their CRC-32 and never compared."""
    return _cached(vocabulary, symbols, (crc32(_spelling(vocabulary, symbols)),))


@replacing("encode_symbols", encode(bytewise("[a-z]+"), "costarring liquid"), prepare=replace)
def cache_by_fnv(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> list[TokenId]:
    """Pieces are cached by their FNV-1a hash of 32 bits and never compared."""
    key = 0x811C9DC5
    for byte in _spelling(vocabulary, symbols):
        key = (key ^ byte) * 0x01000193 % (1 << 32)
    return _cached(vocabulary, symbols, (key,))


def _cached(
    vocabulary: Vocabulary, symbols: Sequence[TokenId], key: tuple[int, ...]
) -> list[TokenId]:
    cache = vocabulary.remember(_cache)
    if key not in cache:
        cache[key] = RIGHT.encode_symbols(vocabulary, symbols)
    return cache[key]


def _spelling(vocabulary: Vocabulary, symbols: Sequence[TokenId]) -> bytes:
    return b"".join(vocabulary.tokens[symbol] for symbol in symbols)


@replacing("symbols", encode(spelled("a b ab"), "axb"))
def missing_byte_dropped(vocabulary: Vocabulary, piece: bytes) -> list[TokenId]:
    """A byte without a token is dropped silently. GitHub's greedy and backtracking encoders;
    ollama/ollama#15232.
    """
    return _without_missing(vocabulary, piece)


@replacing("symbols", encode(spelled("a b ab"), "bx"))
def missing_byte_is_first_token(vocabulary: Vocabulary, piece: bytes) -> list[TokenId]:
    """A byte without a token becomes the first token. GitHub's minimal encoder."""
    first = min(vocabulary.symbol_of_letter.values(), default=min(vocabulary.tokens))
    return [vocabulary.symbol_of_letter.get(letter, first) for letter in piece.decode("latin-1")]


@replacing("symbols", encode(spelled("a b ab"), "axb"))
def missing_byte_loses_piece(vocabulary: Vocabulary, piece: bytes) -> list[TokenId]:
    """A byte without a token makes its whole piece disappear. GitHub's backtracking encoder."""
    symbols = _without_missing(vocabulary, piece)
    return symbols if len(symbols) == len(piece) else []
