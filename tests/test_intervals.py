"""What counting parts of a text claims, against encoding each part from scratch."""

from itertools import combinations_with_replacement, product

import pytest
from hypothesis import given

from bpe_ref import ENCODERS, ParameterError, SymbolError, Vocabulary, vocabulary_by_concatenation
from bpe_ref.growing.counting import IntervalCounter
from tests.strategies import vocabularies_and_pieces
from tests.texts import drawn

SMALL = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2, b"aab": 3, b"ba": 4})


def check_every_part(vocabulary: Vocabulary, piece: bytes) -> None:
    counter = IntervalCounter(vocabulary, piece)
    for start, stop in combinations_with_replacement(range(len(piece) + 1), 2):
        expected = ENCODERS["scan"](vocabulary, vocabulary.symbols(piece[start:stop]))
        assert counter.count(start, stop) == len(expected), (piece, start, stop)


@given(vocabularies_and_pieces(longest=25))
@drawn(300)
def test_every_part_counts_as_if_encoded_alone(case: tuple[Vocabulary, bytes]) -> None:
    check_every_part(*case)


@pytest.mark.parametrize(
    "tokens",
    [b"a b ab ba aba", b"a b aaa aa bb", b"a aaa aa", b"a b aa aba ab", b"a b ab abab baba aabb"],
)
def test_every_part_of_every_short_text(tokens: bytes) -> None:
    # the third and fourth are those that GitHub's encoders are wrong about
    vocabulary = vocabulary_by_concatenation(
        {word: rank for rank, word in enumerate(tokens.split())}
    )
    letters = [letter for letter in (b"a", b"b") if letter in tokens.split()]
    for parts in product(letters, repeat=8):
        check_every_part(vocabulary, b"".join(parts))


def test_a_long_run_of_one_letter_counts_right_though_it_never_meets() -> None:
    vocabulary = vocabulary_by_concatenation({b"a": 0, b"aa": 1, b"aaaa": 2, b"aaaaaaaa": 3})
    check_every_part(vocabulary, b"a" * 60)


def test_counting_a_part_looks_at_few_tokens() -> None:
    looked: list[int] = []
    vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2, b"c": 3, b"abc": 4})
    counter = IntervalCounter(vocabulary, b"abcab" * 20_000)
    longest = counter._longest

    def watched(text: str, start: int) -> int:
        looked.append(start)
        return longest(text, start)

    counter._longest = watched
    counter.count(1, 100_000)
    counter.count(50_001, 99_999)
    assert len(looked) <= 6


@pytest.mark.parametrize(
    ("start", "stop", "sentence"),
    [
        (0, 5, r"stop must be an int in \[0, 4\], got 5"),
        (3, 2, r"start must be an int in \[0, 2\], got 3"),
        (-1, 2, r"start must be an int in \[0, 2\], got -1"),
        (0.0, 2, r"start must be an int in \[0, 2\], got 0.0"),
        (0, None, r"stop must be an int in \[0, 4\], got None"),
    ],
)
def test_a_part_that_is_none_is_refused(start: int, stop: int, sentence: str) -> None:
    counter = IntervalCounter(SMALL, b"abab")
    assert len(counter) == 4
    with pytest.raises(ParameterError, match=sentence):
        counter.count(start, stop)


def test_a_byte_without_a_token_is_refused() -> None:
    with pytest.raises(SymbolError, match="byte 0x78 at position 2"):
        IntervalCounter(SMALL, b"abx")
