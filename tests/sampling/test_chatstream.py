"""ChatStream's penalties to the letter, its worked example, and your own processors."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import permutations
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref.engines.chatstream import (
    LOGITS,
    FrequencyPenaltyProcessor,
    LogitsProcessor,
    PresencePenaltyProcessor,
    Processed,
    RepetitionPenaltyProcessor,
    as_published,
    exactly,
    process_all,
)
from sampling_ref.errors import HistoryError, ParameterError, RowError, UnknownNameError
from sampling_ref.row import Number
from tests.sampling.rows import rows
from tests.texts import drawn

POSITIVE = st.fractions(Fraction(1, 8), 4, max_denominator=16)
METHODS = st.sampled_from(["multiplicative", "subtractive"])


def frequency_of(tokens: list[int]) -> FrequencyPenaltyProcessor:
    processor = FrequencyPenaltyProcessor()
    processor.update_token_counts(tokens)
    return processor


def presence_of(tokens: list[int]) -> PresencePenaltyProcessor:
    processor = PresencePenaltyProcessor()
    processor.update_seen_tokens(tokens)
    return processor


Make = Callable[[list[int]], tuple[LogitsProcessor, dict[str, Any]]]
THREE: list[Make] = [
    lambda tokens: (RepetitionPenaltyProcessor(), {"past_tokens": tokens}),
    lambda tokens: (frequency_of(tokens), {}),
    lambda tokens: (presence_of(tokens), {}),
]
each = pytest.mark.parametrize("make", THREE, ids=["repetition", "frequency", "presence"])


@drawn(60)
@given(rows(most=6), st.lists(st.integers(0, 5), max_size=10), POSITIVE, METHODS)
def test_the_three_penalties_as_the_article_writes_them(
    given_row: list[float], tokens: list[int], penalty: Fraction, method: str
) -> None:
    row: list[Number] = [logit if logit == -inf else Fraction(logit) for logit in given_row]
    tokens = [token for token in tokens if token < len(row)]
    once, counted = list(row), list(row)
    for token in set(tokens):
        count = tokens.count(token)
        if row[token] > -inf:
            if method == "multiplicative":
                once[token] /= penalty
                counted[token] /= penalty**count
            else:
                once[token] -= penalty
                counted[token] -= penalty * count
    for make, expected in zip(THREE, (once, counted, once), strict=True):
        processor, more = make(tokens)
        params = {"penalty": penalty, "penalty_method": method, **more}
        assert processor.process(row, params)["logits"] == expected


@each
def test_the_name_the_type_and_the_name_of_the_parameters(make: Make) -> None:
    processor, _ = make([0])
    done = processor.process([1.0], {})
    assert done == {"name": type(processor).__name__, "type": "logits", "logits": [1.0]}
    assert processor.get_name() in {"rep_penalty", "freq_penalty", "presence_penalty"}


@each
def test_multiplicative_is_the_default_and_divides(make: Make) -> None:
    processor, more = make([0])
    assert processor.process([3.0, 3.0], {"penalty": 1.5, **more})["logits"] == [2.0, 3.0]


@each
def test_dividing_a_negative_logit_makes_a_repeat_likelier(make: Make) -> None:
    processor, more = make([0])
    assert processor.process([-3.0, -3.0], {"penalty": 1.5, **more})["logits"] == [-2.0, -3.0]


@each
def test_without_a_penalty_nothing_changes_and_nothing_is_shared(make: Make) -> None:
    processor, more = make([0])
    row = [1.0, 2.0]
    for params in ({}, {"penalty": None}, {"penalty": 1.0}, {"penalty": 1}):
        done = processor.process(row, {**params, **more})["logits"]
        assert done == row
        assert done is not row


@each
def test_a_subtractive_penalty_of_one_subtracts_one(make: Make) -> None:
    processor, more = make([0])
    params = {"penalty": 1.0, "penalty_method": "subtractive", **more}
    assert processor.process([1.0, 2.0], params)["logits"] == [0.0, 2.0]


def test_a_repetition_penalty_without_past_tokens_changes_nothing() -> None:
    processor = RepetitionPenaltyProcessor()
    for params in ({"penalty": 2.0}, {"penalty": 2.0, "past_tokens": None}):
        assert processor.process([1.0], params)["logits"] == [1.0]
    assert processor.process([1.0], {"past_tokens": [0]})["logits"] == [1.0]


@each
def test_no_argument_is_changed(make: Make) -> None:
    processor, more = make([0, 0])
    row = [1.0, 2.0]
    params = {"penalty": 2.0, **more}
    kept = dict(params)
    processor.process(row, params)
    assert row == [1.0, 2.0]
    assert params == kept
    assert processor.process(row, params) == processor.process(row, params)


def test_counts_and_tokens_are_added_to() -> None:
    processor = frequency_of([1, 0, 1])
    processor.update_token_counts((1,))
    assert processor.token_counts == {1: 3, 0: 1}
    seen = presence_of([1])
    seen.update_seen_tokens([2, 1])
    assert seen.seen_tokens == {1, 2}


def test_two_processors_do_not_share_their_memory() -> None:
    assert frequency_of([0]).token_counts != FrequencyPenaltyProcessor().token_counts
    assert presence_of([0]).seen_tokens != PresencePenaltyProcessor().seen_tokens


@each
@pytest.mark.parametrize("tokens", [[], [0]])
@pytest.mark.parametrize("penalty", [None, 2.0])
@pytest.mark.parametrize("method", ["additive", "", None, 1])
def test_an_unknown_method_is_an_error_at_once(
    make: Make, tokens: list[int], penalty: float | None, method: Any
) -> None:
    processor, more = make(tokens)
    params = {"penalty": penalty, "penalty_method": method, **more}
    sentence = r"^penalty_method must be one of multiplicative, subtractive, got"
    with pytest.raises(ParameterError, match=sentence):
        processor.process([1.0], params)


@each
@pytest.mark.parametrize("penalty", ["1.2", [1.2], nan, inf, True])
@pytest.mark.parametrize("method", ["multiplicative", "subtractive"])
def test_a_penalty_is_a_number(make: Make, penalty: Any, method: str) -> None:
    processor, more = make([])
    with pytest.raises(ParameterError, match=r"^penalty must be a finite number"):
        processor.process([1.0], {"penalty": penalty, "penalty_method": method, **more})


@each
@pytest.mark.parametrize("penalty", [0, 0.0, -1.5])
def test_only_a_subtractive_penalty_may_be_zero_or_negative(make: Make, penalty: float) -> None:
    processor, more = make([0])
    with pytest.raises(ParameterError, match=r"^penalty must be a finite number above 0"):
        processor.process([1.0], {"penalty": penalty, **more})
    params = {"penalty": penalty, "penalty_method": "subtractive", **more}
    assert processor.process([1.0], params)["logits"] == [1.0 - penalty]


@each
def test_a_misspelt_parameter_is_an_error_that_suggests_the_right_one(make: Make) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'penalty_method'"):
        make([0])[0].process([1.0], {"penalty_metod": "subtractive"})
    with pytest.raises(ParameterError, match=r"^params must map names"):
        make([0])[0].process([1.0], ["penalty"])  # type: ignore[arg-type]


@each
def test_one_mapping_of_parameters_serves_all_three(make: Make) -> None:
    params = {"penalty": 2.0, "penalty_method": "subtractive", "past_tokens": [0]}
    assert make([0])[0].process([1.0], params)["logits"] == [-1.0]


@each
def test_tokens_outside_the_row_are_errors(make: Make) -> None:
    processor, more = make([1])
    with pytest.raises(HistoryError, match="must be a token id below 1, got 1"):
        processor.process([1.0], {"penalty": 2.0, **more})


@pytest.mark.parametrize("tokens", [[-1], [0.0], [True], [None], "ab", None, 5])
def test_what_is_no_token_is_an_error_when_it_is_told(tokens: Any) -> None:
    with pytest.raises(HistoryError, match=r"^token_ids"):
        FrequencyPenaltyProcessor().update_token_counts(tokens)
    with pytest.raises(HistoryError, match=r"^token_ids"):
        PresencePenaltyProcessor().update_seen_tokens(tokens)
    if tokens is not None:
        with pytest.raises(HistoryError, match=r"^history"):
            RepetitionPenaltyProcessor().process([1.0], {"penalty": 2.0, "past_tokens": tokens})


@each
@pytest.mark.parametrize("row", [[], [nan], [inf], "ab", None])
def test_a_row_that_is_none_is_an_error(make: Make, row: Any) -> None:
    with pytest.raises(RowError, match=r"^logits"):
        make([])[0].process(row, {})


def test_processors_are_put_together_in_any_order() -> None:
    params: Mapping[str, Mapping[str, Any]] = {
        "rep_penalty": {"penalty": Fraction(3, 2), "past_tokens": [0]},
        "freq_penalty": {"penalty": Fraction(1, 2), "penalty_method": "subtractive"},
        "presence_penalty": {"penalty": Fraction(3)},
    }
    by_name: dict[str, Callable[[Fraction], Fraction]] = {
        "rep_penalty": lambda logit: logit / Fraction(3, 2),
        "freq_penalty": lambda logit: logit - 2 * Fraction(1, 2),
        "presence_penalty": lambda logit: logit / 3,
    }
    tokens = [0, 0]
    results = set()
    for order in permutations(make(tokens)[0] for make in THREE):
        logit, done = Fraction(9), process_all(order, [Fraction(9), 1.0], params)
        for processor, stage in zip(order, done, strict=True):
            logit = by_name[processor.get_name()](logit)
            assert stage["logits"] == [logit, 1.0]
        results.add(logit)
    assert len(results) == 4  # the order matters: only neighbouring divisions commute


def test_a_processor_of_one_s_own_needs_no_base_class() -> None:
    class Banning:
        def process(self, logits: Any, params: Mapping[str, Any]) -> Processed:
            row = list(logits)
            row[params["token"]] = -inf
            logits.clear()  # it may do with its own copy what it likes
            return {"name": "Banning", "type": "logits", "logits": row}

        def get_name(self) -> str:
            return "ban"

    row = [3.0, 3.0]
    done = process_all([Banning(), presence_of([0, 1])], row, {"ban": {"token": 0}})
    assert [stage["name"] for stage in done] == ["Banning", "PresencePenaltyProcessor"]
    assert done[-1]["logits"] == [-inf, 3.0]
    assert row == [3.0, 3.0]


def test_what_a_processor_returns_is_read_as_a_row() -> None:
    class Broken:
        def process(self, logits: Any, params: Mapping[str, Any]) -> Processed:
            return {"name": "Broken", "type": "logits", "logits": [nan]}

        def get_name(self) -> str:
            return "broken"

    with pytest.raises(RowError, match=r"^the logits of broken\[0\] must be finite"):
        process_all([Broken()], [1.0], {})


def test_parameters_for_no_processor_are_an_error() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'rep_penalty'"):
        process_all([RepetitionPenaltyProcessor()], [1.0], {"rep_penality": {}})
    with pytest.raises(ParameterError, match=r"^params must map"):
        process_all([], [1.0], [])  # type: ignore[arg-type]
    assert process_all([], [1.0], {}) == []


# The worked example


def as_text(numbers: tuple[Number, ...]) -> list[str]:
    return [f"{float(number):.2f}" for number in numbers]


def test_the_published_digits_of_the_worked_example() -> None:
    published = as_published()
    assert as_text(published.penalised) == ["1.67", "1.34", "0.89"]
    expected = ["1.27", "2.14", "1.43", "0.71", "0.43", "0.29", "0.14"]
    assert as_text(published.divided) == expected
    assert published.kept == ("May", "Change", "Qualiteg", "the")


def test_without_rounding_all_seven_tokens_count_and_six_are_kept() -> None:
    stages = exactly()
    assert stages.penalised == (Fraction(5, 3), Fraction(4, 3), Fraction(8, 9))
    assert stages.divided[0] == Fraction(8, 9) / Fraction(7, 10)
    assert stages.kept == ("May", "Change", "Qualiteg", "the", "World", "with")


def test_the_code_divides_where_the_example_multiplies() -> None:
    stages = exactly("divide")
    assert stages.penalised == (Fraction(5, 3), Fraction(25, 12), Fraction(25, 18))
    assert stages.kept == ("May", "Qualiteg", "Change", "the", "World")


def test_the_three_results_differ_only_in_qualiteg_before_the_filters() -> None:
    seven_tenths = Fraction(7, 10)
    for stages in (exactly(), exactly("divide")):
        assert list(stages.divided[1:]) == [logit / seven_tenths for logit in LOGITS[1:]]
