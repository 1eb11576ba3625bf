"""Encodings know the same about their tokens as the library's."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Encoding as EngineEncoding

from bpe_ref.encoding import Encoding, merge
from bpe_ref.errors import ParameterError
from bpe_ref.post_processors.padding import Padding
from tests.engine_encodings import encoded, ours, shown, words
from tests.texts import drawn

ABC = Encoding.of([(n, "abc"[n], (n, n + 1), n) for n in range(3)])


@drawn(300)
@given(words())
def test_an_encoding_answers_every_question_as_the_library_does(text: list[str]) -> None:
    engine = encoded(text)
    assert shown(ours(engine), engine=False) == shown(engine, engine=True)


@drawn(300)
@given(
    texts=st.lists(words(), max_size=4),
    growing=st.booleans(),
    sequences=st.lists(st.integers(0, 2), max_size=4),
    length=st.integers(0, 6),
)
def test_merged_encodings_are_the_librarys(
    *, texts: list[list[str]], growing: bool, sequences: list[int], length: int
) -> None:
    engines = [encoded(text) for text in texts]
    encodings = [Padding().pad_to(ours(engine), length) for engine in engines]
    for engine in engines:
        engine.pad(length)  # whose offsets, (0, 0), the next ones grow from
    for number, sequence in enumerate(sequences[: len(texts)]):
        engines[number].set_sequence_id(sequence)
        encodings[number] = encodings[number].of_sequence(sequence)
    engine = EngineEncoding.merge(engines, growing)
    assert shown(merge(encodings, growing_offsets=growing), engine=False) == shown(
        engine, engine=True
    )


@drawn(300)
@given(
    texts=st.lists(st.tuples(words(), st.integers(2, 4)), min_size=1, max_size=3),
    growing=st.booleans(),
)
def test_overflowing_parts_merge_with_each_other(
    *, texts: list[tuple[list[str], int]], growing: bool
) -> None:
    engines, encodings = [], []
    for text, length in texts:
        engine = encoded(text)
        whole = ours(engine)
        engine.truncate(length)
        starts = range(0, max(len(whole), 1), length)
        first, *parts = (whole.slice(start, start + length) for start in starts)
        engines.append(engine)
        encodings.append(replace(first, overflowing=tuple(parts)) if parts else whole)
    merged = merge(encodings, growing_offsets=growing)
    engine = EngineEncoding.merge(engines, growing)
    assert shown(merged, engine=False) == shown(engine, engine=True)


def test_n_and_m_parts_make_n_plus_m_plus_n_times_m() -> None:
    two = Encoding(overflowing=(ABC, ABC))
    three = Encoding(overflowing=(ABC, ABC, ABC))
    assert len(merge([two, three]).overflowing) == 2 + 3 + 2 * 3


def test_the_last_range_of_a_text_counts() -> None:
    twice = merge([ABC.of_sequence(0), ABC.of_sequence(0)])
    assert twice.sequence_ranges == ((0, 3, 6),)
    assert twice.sequence_ids == (None, None, None, 0, 0, 0)


def test_a_lonely_second_text_is_taken_for_the_first() -> None:
    second = ABC.of_sequence(1)
    assert second.n_sequences == 1
    assert second.sequence_ids == (0, 0, 0)
    assert second.token_to_sequence(0) == 1


def test_of_overlapping_ranges_the_lower_text_comes_first() -> None:
    both = ABC.of_sequence(1).of_sequence(0)
    assert both.token_to_sequence(1) == 0


@pytest.mark.parametrize("token", [-1, 4])
def test_a_token_that_is_not_there_is_in_no_text(token: int) -> None:
    assert ABC.token_to_sequence(token) is None
    assert ABC.token_to_chars(token) is None
    assert ABC.token_to_word(token) is None


def test_the_token_after_the_last_is_in_a_text_but_has_no_characters() -> None:
    assert ABC.token_to_sequence(3) == 0
    assert ABC.token_to_chars(3) is None


def test_the_representation_of_a_long_encoding_is_short() -> None:
    long = Encoding.of([(number, "a", (number, number + 1), 0) for number in range(10_000)])
    assert repr(long) == "<Encoding, 10000 tokens: [0, 1, 2, 3, 4, 5, 6, 7, ...]>"
    assert repr(replace(ABC, overflowing=(long,))).endswith("], 1 overflowing>")


def test_every_field_has_an_entry_per_token() -> None:
    with pytest.raises(ParameterError, match=r"type_ids must have one entry per token \(1\)"):
        Encoding(ids=(1,))


@pytest.mark.parametrize("row", [(0, 0, 4), (0, 2, 1), (-1, 0, 1), (0, -1, 1)])
def test_ranges_lie_within_the_tokens(row: tuple[int, int, int]) -> None:
    with pytest.raises(ParameterError, match="sequence_ranges must hold tokens"):
        replace(ABC, sequence_ranges=(row,))
