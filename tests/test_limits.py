"""What counting without a list claims, and how far it reads."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref import ENCODERS, ParameterError, SymbolError, Vocabulary, vocabulary_by_concatenation
from bpe_ref.growing.counting import count, count_till_limit
from tests.strategies import vocabularies_and_pieces
from tests.texts import drawn

SMALL = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2})


class Read:
    """Bytes that remember how many of them were read."""

    def __init__(self, piece: bytes) -> None:
        self.piece = piece
        self.read = 0

    def __iter__(self) -> Iterator[int]:
        """Yield one byte after the other."""
        for byte in self.piece:
            self.read += 1
            yield byte


def true_count(vocabulary: Vocabulary, piece: bytes) -> int:
    return len(ENCODERS["scan"](vocabulary, vocabulary.symbols(piece)))


def github_example(k: int) -> tuple[Vocabulary, bytes]:
    """Return letters q0 to qk and !, the suffixes of q0..qk from short to long, then !q0."""
    letters = bytes(range(ord("A"), ord("A") + k + 1))
    words = [letters[place : place + 1] for place in range(k + 1)] + [b"!"]
    words += [letters[place:] for place in range(k - 1, -1, -1)] + [b"!" + letters[:1]]
    return vocabulary_by_concatenation(
        {word: rank for rank, word in enumerate(words)}
    ), b"!" + letters


@given(vocabularies_and_pieces())
@drawn(300)
def test_the_count_is_that_of_the_encoding(case: tuple[Vocabulary, bytes]) -> None:
    vocabulary, piece = case
    assert count(vocabulary, piece) == true_count(vocabulary, piece)
    assert count(vocabulary, iter(piece)) == count(vocabulary, piece)


@given(vocabularies_and_pieces())
@drawn(300)
def test_every_limit_is_exact(case: tuple[Vocabulary, bytes]) -> None:
    vocabulary, piece = case
    expected = true_count(vocabulary, piece)
    longest = max(map(len, vocabulary.tokens.values()))
    for limit in range(expected + 3):
        read = Read(piece)
        found = count_till_limit(vocabulary, read, limit)
        assert found == (expected if expected <= limit else None)
        if found is None:
            assert read.read <= limit * longest + 1


@pytest.mark.parametrize("k", [1, 2, 11, 12, 13, 14, 25])
def test_the_piece_on_which_a_margin_of_ten_fails(k: int) -> None:
    vocabulary, piece = github_example(k)
    assert true_count(vocabulary, piece) == 2
    assert count_till_limit(vocabulary, piece, 2) == 2
    assert count_till_limit(vocabulary, piece, 1) is None
    # the prefixes have far more tokens than the whole
    assert max(true_count(vocabulary, piece[:end]) for end in range(len(piece))) == k


def test_it_stops_early_in_a_text_of_any_length() -> None:
    reads = []
    for length in (1_000, 100_000):
        read = Read(b"ab" * length)
        assert count_till_limit(SMALL, read, 10) is None
        reads.append(read.read)
    assert reads[0] == reads[1] <= 10 * 2 + 1


def test_it_reads_on_while_a_longer_token_may_come() -> None:
    vocabulary, piece = github_example(20)
    read = Read(piece + b"!!!" + piece * 1000)
    assert count_till_limit(vocabulary, read, 2) is None
    assert len(piece) < read.read <= len(piece) + 3


def test_a_limit_of_nothing() -> None:
    assert count_till_limit(SMALL, b"", 0) == 0
    read = Read(b"ab" * 10)
    assert count_till_limit(SMALL, read, 0) is None
    assert read.read == 1


@pytest.mark.parametrize("limit", [-1, 1.5, True, None])
def test_a_limit_that_is_none_is_refused(limit: int) -> None:
    with pytest.raises(ParameterError, match="limit must be a whole number of at least 0, got"):
        count_till_limit(SMALL, b"ab", limit)


@given(st.binary(max_size=5))
@drawn(50)
def test_a_byte_without_a_token_is_refused_where_it_is_read(piece: bytes) -> None:
    known = piece.replace(b"x", b"")
    known = bytes(byte for byte in known if byte in b"ab")
    with pytest.raises(SymbolError, match=f"byte 0x78 at position {len(known)} of the piece"):
        count(SMALL, known + b"x")


def test_what_comes_after_the_answer_is_not_read() -> None:
    assert count_till_limit(SMALL, b"abababxxx", 1) is None


@pytest.mark.parametrize("byte", [256, -1, "a", 97.0])
def test_what_is_no_byte_is_refused(byte: int) -> None:
    with pytest.raises(ParameterError, match="byte must be an int in"):
        count(SMALL, [97, byte])
