"""What is reported of a drawn token, against its definition."""

from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref import SamplingError
from sampling_ref.draws.reported import PLACED, RANKS, TIES, reported, reported_of_prompt
from sampling_ref.numbers.softmax import log_softmax

LOGITS = st.sampled_from([-inf, -2.0, -0.0, 0.0, 0.5, 3.0])
ROWS = st.lists(LOGITS, min_size=1, max_size=7).filter(lambda row: max(row) > -inf)


@given(ROWS, st.data(), st.sampled_from(PLACED), st.sampled_from(TIES))
def test_the_drawn_token_and_the_n_best_are_reported_once_each(
    row: list[float], data: st.DataObject, placed: str, ties: str
) -> None:
    token = data.draw(st.integers(0, len(row) - 1))
    n = data.draw(st.integers(0, len(row) + 1))
    report = reported(row, token, n, placed=placed, ties=ties)
    ids = range(len(row)) if ties == "lowest id" else range(len(row))[::-1]
    best = sorted(ids, key=lambda each: row[each], reverse=True)[:n]  # equal ones stay in order
    assert len(set(report.tokens)) == len(report.tokens)
    assert set(report.tokens) == {token, *best}
    if placed == "first":
        assert report.tokens[0] == token
        assert [each for each in report.tokens if each != token] == [
            each for each in best if each != token
        ]
    else:
        assert list(report.tokens[: len(best)]) == best


@given(ROWS, st.data())
def test_ranks_count_the_better_tokens_and_the_equal_ones(
    row: list[float], data: st.DataObject
) -> None:
    token = data.draw(st.integers(0, len(row) - 1))
    assert RANKS == ("at least", "more")
    last, first = (reported(row, token, 1, rank=rank).rank for rank in RANKS)
    assert last == len([each for each in row if each >= row[token]])
    assert first == 1 + len([each for each in row if each > row[token]])


@given(ROWS)
def test_log_probabilities_are_those_of_the_whole_row(row: list[float]) -> None:
    report = reported(row, 0, len(row))
    logs = log_softmax(row)
    assert [*report.logprobs] == [logs[token] for token in report.tokens]
    assert sorted(report.tokens) == [*range(len(row))]


@given(st.lists(st.tuples(LOGITS, LOGITS, st.just(0.0)), min_size=1, max_size=5), st.data())
def test_a_report_of_a_prompt_comes_from_the_row_before(
    rows: list[tuple[float, ...]], data: st.DataObject
) -> None:
    tokens = data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    first, *others = reported_of_prompt(rows, tokens, 2, rank="more")
    assert first is None
    assert others == [
        reported(rows[place - 1], tokens[place], 2, rank="more") for place in range(1, len(rows))
    ]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"token": 3}, "token must be a whole number from 0 to 2, got 3"),
        ({"token": -1}, "token must be a whole number from 0 to 2, got -1"),
        ({"n": -1}, "n must be a whole number of at least 0, got -1"),
        ({"n": 1.5}, "n must be a whole number of at least 0, got 1.5"),
        ({"rank": "least"}, "rank must be one of at least, more, got 'least'"),
        ({"placed": "last"}, "placed must be one of first, if missing, got 'last'"),
        ({"ties": "first"}, "ties must be one of lowest id, highest id, got 'first'"),
        ({"logits": [0.0, nan, 1.0]}, "logits[1]"),
        ({"logits": [-inf] * 3}, "possible"),
        ({"logits": []}, "logits must hold at least one number, got none"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(change: dict[str, Any], says: str) -> None:
    with pytest.raises(SamplingError) as error:
        reported(**{"logits": [0.0, 1.0, 2.0], "token": 1, "n": 1, **change})
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("rows", "tokens", "says"),
    [
        ([], [], "the number of rows must be that of the tokens, 0, and at least 1, got 0"),
        (
            [[0.0]],
            [0, 0],
            "the number of rows must be that of the tokens, 2, and at least 1, got 1",
        ),
        ([[0.0], [0.0, 1.0]], [0, 0], "the length of rows[1] must be 1, got 2"),
        ([[0.0], [nan]], [0, 0], "rows[1]: "),
        ([[0.0], [0.0]], [1, 0], "tokens[0] must be a whole number from 0 to 0, got 1"),
        ([[0.0], [0.0]], [0, 1], "tokens[1] must be a whole number from 0 to 0, got 1"),
    ],
)
def test_bad_prompts_are_refused_with_the_number_of_the_row(
    rows: list[list[float]], tokens: list[int], says: str
) -> None:
    with pytest.raises(SamplingError) as error:
        reported_of_prompt(rows, tokens, 1)
    assert says in str(error.value)
