"""BPE dropout: three procedures, each against its distribution, worked out another way."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import chain, combinations, pairwise
from math import sqrt
from random import Random
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as HuggingFaceTokenizer
from tokenizers.models import BPE

from bpe_ref import (
    ParameterError,
    SymbolError,
    Vocabulary,
    vocabulary_by_concatenation,
    vocabulary_by_pair,
)
from bpe_ref.encoders.dropout import (
    Draws,
    encode_dropping,
    encode_dropping_queued,
    encode_minimal_dropping,
)
from bpe_ref.encoders.minimal import encode_minimal
from bpe_ref.encoders.naive import encode_naive
from tests.strategies import examples, vocabularies_and_pieces

Encode: TypeAlias = Callable[[Vocabulary, Sequence[int], float, Draws], list[int]]
Distribution: TypeAlias = dict[tuple[int, ...], Fraction]

ENCODERS: dict[str, Encode] = {
    "paper": encode_dropping,
    "queue": encode_dropping_queued,
    "minimal": encode_minimal_dropping,
}
RATE = Fraction(1, 4)

TINY = {
    "runs": vocabulary_by_concatenation({b"a": 0, b"aa": 1, b"aaa": 2, b"aaaa": 3}),
    "abra": vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2, b"ba": 3, b"aba": 4}),
    "improper": vocabulary_by_concatenation({b"a": 0, b"b": 1, b"bab": 2, b"ba": 3, b"ab": 4}),
    "pairs": vocabulary_by_pair(
        {b"a": 0, b"b": 1, b"ab": 2, b"aab": 3, b"aa": 4, b"abb": 5},
        [(b"a", b"a"), (b"a", b"b"), (b"aa", b"b"), (b"ab", b"b"), (b"a", b"ab")],
    ),
}
TEXTS = {"runs": [b"aaa", b"aaaa"], "abra": [b"abab"], "improper": [b"bab", b"abab"]}
TEXTS["pairs"] = [b"aab", b"aabb"]
CASES = [(name, text) for name in TINY for text in TEXTS[name]]


class Recorded(Exception):  # noqa: N818 - a signal, not an error
    """One more answer is needed."""


def enumerated(encode: Encode, vocabulary: Vocabulary, symbols: list[int]) -> Distribution:
    """Return the probability of every encoding: every sequence of answers is tried.

    A number of 0 is an answer "drop", one close to 1 an answer "keep".
    """
    found: Distribution = {}
    waiting: list[list[bool]] = [[]]
    while waiting:
        answers = waiting.pop()

        def draws(answers: list[bool] = answers) -> Iterator[float]:
            for drop in answers:
                yield 0.0 if drop else 0.999
            raise Recorded

        numbers = draws()
        try:
            tokens = tuple(encode(vocabulary, symbols, float(RATE), lambda: next(numbers)))  # noqa: B023 - called at once
        except Recorded:
            waiting += [[*answers, True], [*answers, False]]
            continue
        weight = Fraction(1)
        for drop in answers:
            weight *= RATE if drop else 1 - RATE
        found[tokens] = found.get(tokens, Fraction(0)) + weight
    return found


def seeded(seed: int) -> Callable[[], float]:
    return Random(seed).random


def mixed(parts: list[tuple[Fraction, Distribution]]) -> Distribution:
    total: Distribution = {}
    for weight, part in parts:
        for tokens, share in part.items():
            total[tokens] = total.get(tokens, Fraction(0)) + weight * share
    return total


def paper(vocabulary: Vocabulary, tokens: tuple[int, ...]) -> Distribution:
    """Merge at the j-th best place if it is kept and the j - 1 better ones are dropped."""
    candidates = sorted(
        (merge.rank, at, merge.result)
        for at, pair in enumerate(pairwise(tokens))
        if (merge := vocabulary.merge(*pair)) is not None
    )
    parts = [
        (RATE**better * (1 - RATE), paper(vocabulary, (*tokens[:at], result, *tokens[at + 2 :])))
        for better, (_, at, result) in enumerate(candidates)
    ]
    return mixed([*parts, (RATE ** len(candidates), {tokens: Fraction(1)})])


def queue(vocabulary: Vocabulary, symbols: tuple[int, ...]) -> Distribution:
    """Use the j-th entry of the queue if it is kept and those before it are set aside."""

    def after(
        parts: tuple[tuple[int, int], ...], waiting: tuple[tuple[int, int, int], ...]
    ) -> Distribution:
        """Parts are tokens with the place they start at."""
        ways = []
        for before, entry in enumerate(waiting):
            rest = tuple(other for at, other in enumerate(waiting) if at != before)
            ways.append((RATE**before * (1 - RATE), used(parts, entry, rest)))
        done = {tuple(token for _, token in parts): Fraction(1)}
        return mixed([*ways, (RATE ** len(waiting), done)])

    def used(
        parts: tuple[tuple[int, int], ...],
        entry: tuple[int, int, int],
        rest: tuple[tuple[int, int, int], ...],
    ) -> Distribution:
        _, place, result = entry
        at = next((at for at, (start, _) in enumerate(parts) if start == place), len(parts))
        if at + 1 >= len(parts):
            return after(parts, rest)
        merge = vocabulary.merge(parts[at][1], parts[at + 1][1])
        if merge is None or merge.result != result:
            return after(parts, rest)
        joined = (*parts[:at], (place, result), *parts[at + 2 :])
        new = [
            (merge.rank, joined[left][0], merge.result)
            for left in (at - 1, at)
            if 0 <= left < len(joined) - 1
            and (merge := vocabulary.merge(joined[left][1], joined[left + 1][1])) is not None
        ]
        return after(joined, tuple(sorted([*rest, *new])))

    parts = tuple(enumerate(symbols))
    first = [
        (merge.rank, at, merge.result)
        for at, pair in enumerate(pairwise(symbols))
        if (merge := vocabulary.merge(*pair)) is not None
    ]
    return after(parts, tuple(sorted(first)))


def minimal(vocabulary: Vocabulary, symbols: tuple[int, ...]) -> Distribution:
    """Every set of dropped edges; of the shortest ways left, the one with the longest tokens."""
    text = b"".join(vocabulary.tokens[symbol] for symbol in symbols)
    edges = [
        (start, token)
        for token, content in vocabulary.tokens.items()
        for start in range(len(text))
        if len(content) > 1 and text.startswith(content, start)
    ]
    found: Distribution = {}
    for dropped in chain.from_iterable(combinations(edges, n) for n in range(len(edges) + 1)):
        gone = set(dropped)

        best: dict[int, tuple[int, ...]] = {len(text): ()}
        for start in reversed(range(len(text))):
            ways = [
                (token, *best[start + len(content)])
                for token, content in vocabulary.tokens.items()
                if text.startswith(content, start) and (start, token) not in gone
            ]
            best[start] = min(ways, key=lambda way: (len(way), -len(vocabulary.tokens[way[0]])))
        weight = RATE ** len(gone) * (1 - RATE) ** (len(edges) - len(gone))
        found[best[0]] = found.get(best[0], Fraction(0)) + weight
    return found


BY_DEFINITION = {"paper": paper, "queue": queue, "minimal": minimal}


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize(("vocabulary", "text"), CASES)
def test_the_distribution_is_exactly_that_of_the_procedure(
    name: str, vocabulary: str, text: bytes
) -> None:
    known = TINY[vocabulary]
    symbols = known.symbols(text)
    found = enumerated(ENCODERS[name], known, symbols)
    assert sum(found.values()) == 1
    assert found == BY_DEFINITION[name](known, tuple(symbols))


def test_the_three_procedures_are_three_distributions() -> None:
    known = TINY["runs"]
    three = [enumerated(encode, known, [0] * 4) for encode in ENCODERS.values()]
    assert all(one != other for one, other in combinations(three, 2))


@examples(300)
@given(vocabularies_and_pieces(longest=14), st.sampled_from(sorted(ENCODERS)), st.integers(0, 99))
def test_nothing_is_dropped_at_0_and_everything_at_1(
    case: tuple[Vocabulary, bytes], name: str, seed: int
) -> None:
    vocabulary, piece = case
    symbols = vocabulary.symbols(piece)
    undropped = encode_minimal if name == "minimal" else encode_naive
    encode, draw = ENCODERS[name], seeded(seed)
    assert encode(vocabulary, symbols, 0, iter(())) == undropped(vocabulary, symbols)
    assert encode(vocabulary, symbols, 1, draw) == symbols
    # whatever is dropped, the tokens spell the piece
    dropped = encode(vocabulary, symbols, 0.5, draw)
    assert b"".join(vocabulary.tokens[token] for token in dropped) == piece
    again = [encode(vocabulary, symbols, 0.3, seeded(seed)) for _ in range(2)]
    assert again[0] == again[1]


@examples(100)
@given(vocabularies_and_pieces(longest=14), st.sampled_from(sorted(ENCODERS)))
def test_a_number_just_at_the_rate_keeps_the_merge(
    case: tuple[Vocabulary, bytes], name: str
) -> None:
    vocabulary, piece = case
    symbols = vocabulary.symbols(piece)
    encode = ENCODERS[name]
    kept = encode(vocabulary, symbols, 0.5, lambda: 0.5)
    assert kept == encode(vocabulary, symbols, 0, lambda: 0.5)


@pytest.mark.parametrize("text", ["aab", "aabb", "abab"])
def test_hugging_face_draws_from_the_queues_distribution(text: str) -> None:
    """40,000 encodings; each share within five standard deviations of the exact one."""
    known = TINY["pairs"]
    vocab = {content.decode(): token for token, content in known.tokens.items()}
    merges = [("a", "a"), ("a", "b"), ("aa", "b"), ("ab", "b"), ("a", "ab")]
    engine = HuggingFaceTokenizer(BPE(vocab, merges, dropout=float(RATE)))
    drawn = 40_000
    batches = engine.encode_batch_fast([text] * drawn)
    counts = Counter(tuple(one.ids) for one in batches)
    exact = enumerated(encode_dropping_queued, known, known.symbols(text.encode()))
    assert counts.keys() <= exact.keys()
    for tokens, share in exact.items():
        deviation = sqrt(drawn * share * (1 - share))
        assert abs(counts[tokens] - drawn * share) <= 5 * deviation + 1, tokens


@pytest.mark.parametrize("encode", ENCODERS.values())
def test_draws_may_be_a_function_or_an_iterator(encode: Encode) -> None:
    known, numbers = TINY["runs"], [0.1, 0.9, 0.2, 0.8] * 9
    from_iterator = encode(known, [0] * 4, 0.5, iter(numbers))
    assert from_iterator == encode(known, [0] * 4, 0.5, iter(numbers).__next__)


@pytest.mark.parametrize("encode", ENCODERS.values())
@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan"), "half", None, True])
def test_a_rate_outside_0_to_1_is_refused(encode: Encode, rate: float) -> None:
    with pytest.raises(ParameterError, match=r"rate must be a number in \[0, 1\], got"):
        encode(TINY["runs"], [0], rate, iter([0.5]))


@pytest.mark.parametrize("encode", ENCODERS.values())
@pytest.mark.parametrize("number", [1.0, -0.5, float("nan"), "x", None])
def test_a_number_outside_0_to_1_is_refused(encode: Encode, number: float) -> None:
    with pytest.raises(ParameterError, match=r"a number from draws must be in \[0, 1\), got"):
        encode(TINY["runs"], [0, 0], 0.5, iter([number]))


@pytest.mark.parametrize("encode", ENCODERS.values())
def test_draws_that_end_too_soon_or_are_none_are_refused(encode: Encode) -> None:
    with pytest.raises(ParameterError, match="draws must not end before the encoding does"):
        encode(TINY["runs"], [0, 0], 0.5, iter(()))
    with pytest.raises(ParameterError, match="draws must be an iterator of floats or a function"):
        encode(TINY["runs"], [0, 0], 0.5, [0.5])  # type: ignore[arg-type]  # a list is none


@pytest.mark.parametrize("encode", ENCODERS.values())
def test_only_symbols_are_encoded(encode: Encode) -> None:
    with pytest.raises(SymbolError, match="symbol 1 must be the id of a single-symbol token"):
        encode(TINY["runs"], [0, 1], 0.5, iter([0.5]))
