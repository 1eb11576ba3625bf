"""Truncation and padding are the library's, for every strategy, direction, length and stride."""

from collections import Counter
from functools import partial
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref.encoding import Encoding
from bpe_ref.errors import ParameterError
from bpe_ref.post_processors import process
from bpe_ref.post_processors.padding import LONGEST, Padding
from bpe_ref.post_processors.truncation import DIRECTIONS, STRATEGIES, Truncation, truncate
from bpe_ref.quirks import STRICT
from tests.engine_encodings import (
    FAILED,
    encoded,
    engine_answer,
    our_answer,
    ours,
    shown,
    tokenizer_of,
    words,
)
from tests.texts import drawn

ABCDE = Encoding.of([(n, "abcde"[n], (n, n + 1), n) for n in range(5)])


LETTERS = ["a", "b", "Ġc", "▁i", "a", "long", "b", "a"]


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("size", range(len(LETTERS) + 1))
def test_every_length_and_stride_cuts_like_the_library(direction: str, size: int) -> None:
    for length, stride in product(range(size + 2), range(size + 1)):
        engine = encoded(LETTERS[:size])
        plain = ours(engine)
        cut = our_answer(partial(truncate, plain, length, stride, direction))
        failed = engine_answer(partial(engine.truncate, length, stride, direction.lower()))
        if isinstance(cut, Encoding):
            assert shown(cut, engine=False) == shown(engine, engine=True), (length, stride)
        assert (cut == FAILED) == (failed == FAILED), (length, stride)


def truncations() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "max_length": st.integers(0, 9),
            "stride": st.integers(0, 2),
            "strategy": st.sampled_from(STRATEGIES),
            "direction": st.sampled_from(DIRECTIONS),
        }
    )


def test_single_texts_and_pairs_are_truncated_like_the_librarys() -> None:
    seen: Counter[str] = Counter()

    @drawn(500)
    @given(words(), st.none() | words(), truncations())
    def check(text: list[str], pair: list[str] | None, parameters: dict[str, Any]) -> None:
        engines = [encoded(text), None if pair is None else encoded(pair)]
        first, second = (None if engine is None else ours(engine) for engine in engines)
        assert first is not None
        tokenizer = tokenizer_of(truncation=parameters)
        expected = engine_answer(lambda: shown(tokenizer.post_process(*engines), engine=True))
        cut = our_answer(lambda: process(None, *Truncation(**parameters).truncate(first, second)))
        answer = shown(cut, engine=False) if isinstance(cut, Encoding) else cut
        assert answer == expected
        seen["texts"] += 1
        seen["changed"] += answer != shown(process(None, first, second), engine=False)
        seen["failed"] += answer == FAILED

    check()
    assert seen["changed"] > seen["texts"] / 20
    assert seen["failed"] > seen["texts"] / 100


def test_a_length_below_the_templates_tokens_cuts_nothing_under_the_engines_profile() -> None:
    assert Truncation(1).truncate(ABCDE, added_tokens=2) == (ABCDE, None)


def test_a_length_below_the_templates_tokens_is_an_error_by_the_definition() -> None:
    with pytest.raises(ParameterError, match="max_length must be at least the number of tokens"):
        Truncation(1, quirks=STRICT).truncate(ABCDE, added_tokens=2)


def test_length_zero_keeps_the_whole_as_its_overflowing_part() -> None:
    cut = truncate(ABCDE.of_sequence(0), 0, stride=3)
    assert cut == Encoding(overflowing=(ABCDE.of_sequence(0),))


def test_what_overflowed_before_is_lost_when_more_is_cut() -> None:
    once = truncate(ABCDE, 4)
    assert [len(part) for part in truncate(once, 2).overflowing] == [2]


def test_the_odd_token_goes_to_the_second_of_two_equal_texts() -> None:
    cut = Truncation(5).truncate(ABCDE, ABCDE)
    assert [len(encoding or ()) for encoding in cut] == [2, 3]


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"max_length": -1}, "max_length must be a whole number of at least 0, got -1"),
        ({"max_length": 2.5}, "max_length must be a whole number of at least 0, got 2.5"),
        ({"max_length": True}, "max_length must be a whole number of at least 0, got True"),
        ({"stride": -1}, "stride must be a whole number of at least 0, got -1"),
        ({"strategy": "Longest"}, "strategy must be one of LongestFirst, OnlyFirst, OnlySecond"),
        ({"strategy": []}, "strategy must be one of LongestFirst, OnlyFirst, OnlySecond"),
        ({"direction": "Up"}, "direction must be one of Right, Left, got 'Up'"),
    ],
)
def test_truncation_refuses_what_it_does_not_know(
    parameters: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ParameterError, match=sentence):
        Truncation(**parameters)


@pytest.mark.parametrize(
    ("strategy", "pair", "sentence"),
    [
        ("OnlySecond", None, 'pair must be given for the strategy "OnlySecond", got None'),
        ("OnlySecond", Encoding(), "the text to cut must be longer for the strategy 'OnlySecond'"),
        ("OnlyFirst", ABCDE, "the text to cut must be longer for the strategy 'OnlyFirst'"),
    ],
)
def test_a_strategy_that_cannot_cut_says_so(
    strategy: str, pair: Encoding | None, sentence: str
) -> None:
    with pytest.raises(ParameterError, match=sentence):
        Truncation(4, strategy=strategy).truncate(ABCDE, pair)


def test_the_stride_is_less_than_the_length() -> None:
    with pytest.raises(ParameterError, match="stride must be less than the max_length left"):
        truncate(ABCDE, 2, stride=2)


def paddings() -> st.SearchStrategy[dict[str, Any]]:
    fixed = st.builds(lambda length: {"Fixed": length}, st.integers(0, 12))
    return st.fixed_dictionaries(
        {
            "strategy": st.just("BatchLongest") | fixed,
            "direction": st.sampled_from(DIRECTIONS),
            "pad_to_multiple_of": st.none() | st.integers(0, 5),
            "pad_id": st.integers(0, 99),
            "pad_type_id": st.integers(0, 3),
            "pad_token": st.sampled_from(["[PAD]", "", "Ġ"]),
        }
    )


def padding_of(parameters: dict[str, Any]) -> Padding:
    """Return ours from the fields of a file."""
    rest = {name: value for name, value in parameters.items() if name != "strategy"}
    strategy = parameters["strategy"]
    return Padding(length=None if strategy == "BatchLongest" else strategy["Fixed"], **rest)


def test_overflowing_parts_are_padded_like_the_librarys() -> None:
    seen: Counter[str] = Counter()

    @drawn(500)
    @given(words(), paddings(), st.integers(1, 9), st.integers(0, 9))
    def check(text: list[str], parameters: dict[str, Any], cut_to: int, length: int) -> None:
        engine = encoded(text)
        whole = ours(engine).of_sequence(0)
        engine.set_sequence_id(0)
        engine.truncate(cut_to)
        cut = truncate(whole, cut_to)
        padded = padding_of(parameters).pad_to(cut, length)
        names = ("pad_id", "pad_type_id", "pad_token")
        rest = {name: parameters[name] for name in names}
        engine.pad(length, direction=parameters["direction"].lower(), **rest)
        assert shown(padded, engine=False) == shown(engine, engine=True)
        seen["texts"] += 1
        seen["changed"] += padded != cut

    check()
    assert seen["changed"] > seen["texts"] / 20


@drawn(500)
@given(st.lists(words(), min_size=1, max_size=4), paddings())
def test_a_batch_becomes_as_long_as_the_librarys(
    texts: list[list[str]], parameters: dict[str, Any]
) -> None:
    tokenizer = tokenizer_of(padding=parameters)
    engines = tokenizer.encode_batch(["|".join(text) for text in texts])
    padding = padding_of(parameters)
    single = [padding.pad([ours(encoded(text))])[0] for text in texts]
    assert [shown(one, engine=False) for one in padding.pad(single)] == [
        shown(engine, engine=True) for engine in engines
    ]


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"length": -1}, "length must be a whole number of at least 0, got -1"),
        ({"direction": "up"}, "direction must be one of Right, Left, got 'up'"),
        ({"pad_to_multiple_of": -8}, "pad_to_multiple_of must be a whole number"),
        ({"pad_id": "0"}, "pad_id must be a whole number of at least 0, got '0'"),
        ({"pad_type_id": None}, "pad_type_id must be a whole number of at least 0, got None"),
    ],
)
def test_padding_refuses_what_it_does_not_know(parameters: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        Padding(**parameters)


@pytest.mark.parametrize(
    "padding", [Padding(length=LONGEST + 1), Padding(pad_to_multiple_of=1 << 60)]
)
def test_padding_has_a_greatest_length(padding: Padding) -> None:
    with pytest.raises(ParameterError, match="the length to pad to must be at most 16777216"):
        padding.pad([ABCDE])
