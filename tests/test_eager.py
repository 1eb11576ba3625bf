"""The eager encoder emits what is certain, and its delay is bounded as proven."""

from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bpe_ref import ParameterError, SymbolError, Vocabulary, vocabulary_by_concatenation
from bpe_ref.encoders.naive import encode_naive
from bpe_ref.growing.eager import EagerEncoder, delay_bound
from bpe_ref.vocabulary.heap import encode_heap
from tests.real_vocabularies import real_vocabulary
from tests.strategies import vocabularies, vocabularies_and_pieces
from tests.test_exhaustive import small_vocabularies
from tests.texts import drawn


def common(rows: list[list[int]]) -> list[int]:
    first, last = min(rows), max(rows)
    same = [a == b for a, b in zip(first, last, strict=False)]
    return first[: same.index(False) if False in same else len(same)]


def certain(vocabulary: Vocabulary, text: bytes, most: int) -> list[int]:
    """Return what the encodings of the text with every ending of up to `most` bytes begin with."""
    letters = [letter.encode("latin-1") for letter in vocabulary.symbol_of_letter]
    endings = [
        b"".join(some) for length in range(most + 1) for some in product(letters, repeat=length)
    ]
    return common([encode_naive(vocabulary, vocabulary.symbols(text + end)) for end in endings])


def test_exactly_the_common_beginning_is_out_after_every_byte() -> None:
    """Brute force: what follows matters up to the end of the straddling token only."""
    delayed = 0
    for number, (_, vocabulary) in enumerate(small_vocabularies()):
        if number % 97:
            continue
        for text in map(bytes, product(b"ab", repeat=5)):
            encoder = EagerEncoder(vocabulary)
            emitted: list[int] = []
            for length, byte in enumerate(text, 1):
                emitted += encoder.push(byte)
                assert emitted == certain(vocabulary, text[:length], 3)
                spelled = sum(len(vocabulary.tokens[token]) for token in emitted)
                assert encoder.delay == length - spelled
                delayed += encoder.delay > 0
    assert delayed > 1000


@drawn(150)
@given(vocabularies_and_pieces(longest=8))
def test_exactly_the_common_beginning_is_out_for_any_vocabulary(
    case: tuple[Vocabulary, bytes],
) -> None:
    vocabulary, text = case
    longest = max(map(len, vocabulary.tokens.values()))
    assume(len(vocabulary.symbol_of_letter) ** longest <= 300)
    encoder = EagerEncoder(vocabulary)
    assert encoder.extend(text) == certain(vocabulary, text, longest - 1)


@drawn(500)
@given(vocabularies_and_pieces())
def test_all_that_comes_out_is_the_encoding(case: tuple[Vocabulary, bytes]) -> None:
    vocabulary, text = case
    encoder = EagerEncoder(vocabulary)
    for _ in range(2):  # after `finish` it is as new
        tokens = [*encoder.extend(text), *encoder.finish()]
        assert tokens == encode_heap(vocabulary, vocabulary.symbols(text))
        assert encoder.delay == encoder.longest_delay == 0


@drawn(300)
@given(vocabularies_and_pieces())
def test_no_delay_exceeds_its_bound(case: tuple[Vocabulary, bytes]) -> None:
    vocabulary, text = case
    encoder = EagerEncoder(vocabulary)
    encoder.extend(text)
    bound = delay_bound(vocabulary)
    assert bound is None or encoder.longest_delay <= bound


def test_some_text_has_the_delay_that_is_the_bound() -> None:
    """All texts of eight letters, of a few hundred small vocabularies."""
    found = dict[int, int]()
    for number, (_, vocabulary) in enumerate(small_vocabularies()):
        if number % 211:
            continue
        longest = 0
        for text in map(bytes, product(b"ab", repeat=8)):
            encoder = EagerEncoder(vocabulary)
            encoder.extend(text)
            longest = max(longest, encoder.longest_delay)
        bound = delay_bound(vocabulary)
        assert bound == longest
        found[longest] = found.get(longest, 0) + 1
    assert len(found) > 3


def test_every_small_vocabulary_has_a_bound() -> None:
    assert {delay_bound(vocabulary) for _, vocabulary in small_vocabularies()} == set(range(6))


def test_a_byte_that_the_vocabulary_lacks_changes_nothing() -> None:
    vocabulary = vocabulary_by_concatenation({b"a": 0, b"aa": 1, b"ax": 2})
    encoder = EagerEncoder(vocabulary)
    assert encoder.extend(b"a") == []
    for byte in (ord("x"), ord("b")):
        with pytest.raises(SymbolError, match=rf"byte 0x{byte:02X} at position 1 of the piece"):
            encoder.push(byte)
    assert [*encoder.extend(b"a"), *encoder.finish()] == [1]


@pytest.mark.parametrize("byte", [-1, 256, True, "a", b"a", None, 1.0])
def test_what_is_no_byte_is_refused(byte: int) -> None:
    encoder = EagerEncoder(vocabulary_by_concatenation({b"a": 0}))
    with pytest.raises(ParameterError, match="byte must be an int from 0 to 255, got"):
        encoder.push(byte)


def test_a_vocabulary_with_too_many_states_is_said_to_have_them() -> None:
    ranks = {b"a" * length: length for length in range(1, 30)}
    with pytest.raises(ParameterError, match="most_states must be more to settle the delay, got 3"):
        delay_bound(vocabulary_by_concatenation(ranks), most_states=3)


@pytest.mark.parametrize("text", ["The quick brown fox jumps over the lazy dog. " * 3, " " * 100])
def test_a_real_vocabulary_is_encoded_eagerly(text: str) -> None:
    vocabulary = real_vocabulary("cl100k_base")
    encoder = EagerEncoder(vocabulary)
    tokens = encoder.extend(text.encode())
    longest = encoder.longest_delay
    assert [*tokens, *encoder.finish()] == encode_heap(
        vocabulary, vocabulary.symbols(text.encode())
    )
    assert longest > 5


@drawn(100)
@given(vocabularies(), st.integers(0, 5))
def test_a_bound_is_settled_or_the_limit_is_named(vocabulary: Vocabulary, limit: int) -> None:
    bound = delay_bound(vocabulary)
    try:
        assert delay_bound(vocabulary, most_states=limit) == bound
    except ParameterError as error:
        assert error.name == "most_states"  # noqa: PT017 - both ways are right
