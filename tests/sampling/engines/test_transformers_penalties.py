"""Every penalty and mask that transformers has, beside the one of this package.

The engine calculates with 32-bit floats and takes its parameters as 64-bit floats, which
it rounds to 32 bits before it uses them. Rows of `Binary32` do the same here, so all values
must be equal. Only signs of zeros are not compared: adding a row of zeros makes a zero of -0.0.
Where the two differ, a claim below says so, with a smallest input.
"""

from collections.abc import Sequence
from math import inf, isnan, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="transformers calculates with torch")
process = pytest.importorskip(
    "transformers.generation.logits_process", reason="the engine that is compared with"
)

from sampling_ref.errors import ParameterError, RowError  # noqa: E402
from sampling_ref.numbers.binary32 import Binary32  # noqa: E402 - after the skips
from sampling_ref.numbers.torch32 import TORCH32  # noqa: E402
from sampling_ref.row import Number  # noqa: E402
from sampling_ref.steps.bad_words import bad_words  # noqa: E402
from sampling_ref.steps.begin_suppress import begin_suppress  # noqa: E402
from sampling_ref.steps.encoder_no_repeat_ngram import encoder_no_repeat_ngram  # noqa: E402
from sampling_ref.steps.encoder_repetition import encoder_repetition  # noqa: E402
from sampling_ref.steps.exponential_decay_length import exponential_decay_length  # noqa: E402
from sampling_ref.steps.forced_bos import forced_bos  # noqa: E402
from sampling_ref.steps.forced_eos import forced_eos  # noqa: E402
from sampling_ref.steps.min_length import min_length  # noqa: E402
from sampling_ref.steps.min_new_tokens import min_new_tokens  # noqa: E402
from sampling_ref.steps.no_repeat_ngram import no_repeat_ngram  # noqa: E402
from sampling_ref.steps.prefix_allowed_tokens import prefix_allowed_tokens  # noqa: E402
from sampling_ref.steps.remove_invalid_values import remove_invalid_values  # noqa: E402
from sampling_ref.steps.repetition_penalty import repetition_penalty  # noqa: E402
from sampling_ref.steps.sequence_bias import sequence_bias  # noqa: E402
from sampling_ref.steps.suppress import suppress  # noqa: E402
from sampling_ref.steps.temperature import temperature  # noqa: E402
from tests.sampling.rows import histories, rows  # noqa: E402
from tests.texts import drawn  # noqa: E402

SIZE = 6
HISTORIES = histories(SIZE, most=14)
ROWS = rows(most=SIZE).map(lambda row: (row * SIZE)[:SIZE])
PENALTIES = st.sampled_from([0.25, 0.5, 1.0, 1.1, 1.2, 2.0, 3.0]) | st.floats(0.01, 100)
TOKENS = st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=3)
LENGTHS = st.integers(0, 8)


def theirs(processor: Any, row: Sequence[float], history: Sequence[int]) -> list[float]:
    """Return what a processor of the engine makes of one row."""
    tokens = torch.tensor([list(history)], dtype=torch.long)
    scores = processor(tokens, torch.tensor([list(row)], dtype=torch.float32))
    numbers: list[float] = scores[0].tolist()
    return numbers


def of_32_bits(row: Sequence[float]) -> list[Number]:
    return [Binary32(logit) for logit in row]


def as_floats(row: Sequence[Number]) -> list[float]:
    return [float(logit) for logit in row]


@drawn(100)
@given(ROWS, HISTORIES, PENALTIES)
def test_repetition_penalty(row: list[float], history: list[int], penalty: float) -> None:
    processor = process.RepetitionPenaltyLogitsProcessor(penalty)
    ours = repetition_penalty(of_32_bits(row), history, penalty)
    assert as_floats(ours) == theirs(processor, row, history)


@drawn(80)
@given(ROWS, HISTORIES, PENALTIES, st.integers(0, 14), st.booleans())
def test_repetition_penalty_without_the_prompt(
    row: list[float], history: list[int], penalty: float, ignored: int, as_tensor: bool
) -> None:
    ignored = min(ignored, len(history))
    given_length = torch.tensor([ignored]) if as_tensor else ignored
    processor = process.RepetitionPenaltyLogitsProcessor(penalty, given_length)
    ours = repetition_penalty(
        of_32_bits(row), history, penalty, scope="output", prompt_length=ignored
    )
    assert as_floats(ours) == theirs(processor, row, history)


@drawn(100)
@given(ROWS, HISTORIES, PENALTIES)
def test_encoder_repetition_penalty(
    row: list[float], encoder_input: list[int], penalty: float
) -> None:
    tokens = torch.tensor([encoder_input], dtype=torch.long)
    processor = process.EncoderRepetitionPenaltyLogitsProcessor(penalty, tokens)
    ours = encoder_repetition(of_32_bits(row), [0], penalty, encoder_input)
    assert as_floats(ours) == theirs(processor, row, [0])


@drawn(100)
@given(ROWS, st.lists(st.integers(0, 2), max_size=14), st.integers(1, 5))
def test_no_repeat_ngram(row: list[float], history: list[int], size: int) -> None:
    processor = process.NoRepeatNGramLogitsProcessor(size)
    assert no_repeat_ngram(row, history, size) == theirs(processor, row, history)


@drawn(100)
@given(
    ROWS,
    st.lists(st.integers(0, 2), max_size=8),
    st.lists(st.integers(0, 2), max_size=14),
    st.integers(1, 5),
)
def test_encoder_no_repeat_ngram(
    row: list[float], history: list[int], encoder_input: list[int], size: int
) -> None:
    tokens = torch.tensor([encoder_input], dtype=torch.long)
    processor = process.EncoderNoRepeatNGramLogitsProcessor(size, tokens)
    ours = encoder_no_repeat_ngram(row, history, size, encoder_input)
    assert ours == theirs(processor, row, history)


BIASES = st.lists(
    st.tuples(
        st.lists(st.integers(0, 2), min_size=1, max_size=3),
        st.floats(-20, 20) | st.sampled_from([-inf, 0.1, -0.1, 1e-9]),
    ),
    min_size=1,
    max_size=6,
)


@drawn(100)
@given(ROWS, st.lists(st.integers(0, 2), max_size=6), BIASES)
def test_sequence_bias(
    row: list[float], history: list[int], biases: list[tuple[list[int], float]]
) -> None:
    processor = process.SequenceBiasLogitsProcessor([[list(key), bias] for key, bias in biases])
    rounded = [(key, Binary32(bias)) for key, bias in biases]
    ours = sequence_bias(of_32_bits(row), history, rounded)
    assert as_floats(ours) == theirs(processor, row, history)


@drawn(100)
@given(
    ROWS,
    st.lists(st.integers(0, 2), max_size=6),
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=3), min_size=1, max_size=5),
    st.none() | st.integers(0, 2) | st.lists(st.integers(0, 2), min_size=1, max_size=2),
)
def test_bad_words(
    row: list[float], history: list[int], words: list[list[int]], ends: int | list[int] | None
) -> None:
    final = [] if ends is None else [ends] if isinstance(ends, int) else ends
    processor = process.NoBadWordsLogitsProcessor(words, ends)
    assert bad_words(row, history, words, ends=final) == theirs(processor, row, history)


@drawn(100)
@given(ROWS, LENGTHS, LENGTHS, TOKENS)
def test_min_length(row: list[float], length: int, least: int, ends: list[int]) -> None:
    processor = process.MinLengthLogitsProcessor(least, ends)
    assert min_length(row, [0] * length, least, ends) == theirs(processor, row, [0] * length)


@drawn(100)
@given(ROWS, LENGTHS, LENGTHS, LENGTHS, TOKENS)
def test_min_new_tokens(
    row: list[float], length: int, prompt: int, least: int, ends: list[int]
) -> None:
    prompt = min(prompt, length)
    processor = process.MinNewTokensLengthLogitsProcessor(prompt, least, ends)
    ours = min_new_tokens(row, [0] * length, least, ends, prompt_length=prompt)
    assert ours == theirs(processor, row, [0] * length)


@drawn(60)
@given(ROWS, LENGTHS, st.integers(0, SIZE - 1))
def test_forced_bos(row: list[float], length: int, token: int) -> None:
    processor = process.ForcedBOSTokenLogitsProcessor(token)
    assert forced_bos(row, [0] * length, token) == theirs(processor, row, [0] * length)


@drawn(100)
@given(ROWS, LENGTHS, LENGTHS, TOKENS)
def test_forced_eos(row: list[float], length: int, most: int, ends: list[int]) -> None:
    processor = process.ForcedEOSTokenLogitsProcessor(most, ends)
    assert forced_eos(row, [0] * length, most, ends) == theirs(processor, row, [0] * length)


@drawn(100)
@given(st.lists(st.floats(width=32), min_size=1, max_size=SIZE))
def test_remove_invalid_values(row: list[float]) -> None:
    processor = process.InfNanRemoveLogitsProcessor()
    assert remove_invalid_values(row, [0]) == theirs(processor, row, [0])


@drawn(100)
@given(
    ROWS,
    st.integers(0, 14),
    LENGTHS,
    st.integers(0, 5),
    st.sampled_from([0.5, 1.0, 1.01, 1.5, 2.0]) | st.floats(0.1, 4),
    TOKENS,
)
def test_exponential_decay_length(
    row: list[float], length: int, prompt: int, start: int, factor: float, ends: list[int]
) -> None:
    prompt = min(prompt, length)
    processor = process.ExponentialDecayLengthPenalty((start, factor), ends, prompt)
    ours = exponential_decay_length(
        of_32_bits(row), [0] * length, start, factor, ends, prompt_length=prompt
    )
    assert as_floats(ours) == theirs(processor, row, [0] * length)


@drawn(60)
@given(ROWS, TOKENS)
def test_suppress(row: list[float], tokens: list[int]) -> None:
    processor = process.SuppressTokensLogitsProcessor(tokens)
    assert suppress(row, [0], tokens) == theirs(processor, row, [0])


@drawn(60)
@given(ROWS, LENGTHS, LENGTHS, TOKENS)
def test_begin_suppress(row: list[float], length: int, begin: int, tokens: list[int]) -> None:
    processor = process.SuppressTokensAtBeginLogitsProcessor(tokens, begin)
    ours = begin_suppress(row, [0] * length, tokens, begin)
    assert ours == theirs(processor, row, [0] * length)


@drawn(100)
@given(ROWS, HISTORIES, st.lists(TOKENS, min_size=SIZE, max_size=SIZE))
def test_prefix_allowed(row: list[float], history: list[int], table: list[list[int]]) -> None:
    def allowed_after(tokens: list[int]) -> list[int]:
        return table[tokens[-1] if tokens else 0]

    processor = process.PrefixConstrainedLogitsProcessor(
        lambda _, tokens: allowed_after(tokens.tolist()), 1
    )
    assert prefix_allowed_tokens(row, history, allowed_after) == theirs(processor, row, history)


@drawn(100)
@given(ROWS, PENALTIES)
def test_temperature(row: list[float], value: float) -> None:
    processor = process.TemperatureLogitsWarper(value)
    assert as_floats(temperature(of_32_bits(row), value, numbers=TORCH32).logits) == theirs(
        processor, row, [0]
    )


# Differences: what the engine does with input that is an error here, or another way round.


def test_an_empty_bad_word_is_passed_over_there() -> None:
    assert theirs(process.NoBadWordsLogitsProcessor([[]]), [1.0, 2.0], [0]) == [1.0, 2.0]
    with pytest.raises(ParameterError, match=r"^words\[0\] must hold at least one token"):
        bad_words([1.0, 2.0], [0], [[]])


def test_an_exponential_decay_grows_beyond_its_floats_there() -> None:
    processor = process.ExponentialDecayLengthPenalty((0, 2.0), 0, 0)
    assert theirs(processor, [1.0, 0.0], [1] * 127)[0] < inf
    assert theirs(processor, [1.0, 0.0], [1] * 128)[0] == inf
    assert isnan(theirs(processor, [0.0, 0.0], [1] * 128)[0])
    with pytest.raises(OverflowError):
        theirs(processor, [1.0, 0.0], [1] * 1024)
    with pytest.raises(RowError, match=r"^the exponential length decay makes no finite number"):
        exponential_decay_length(of_32_bits([1.0, 0.0]), [1] * 128, 0, 2.0, 0)


def test_a_negative_decay_factor_is_taken_there() -> None:
    processor = process.ExponentialDecayLengthPenalty((0, -2.0), 0, 0)
    assert theirs(processor, [1.0, 0.0], [1]) == [-2.0, 0.0]
    assert theirs(processor, [1.0, 0.0], [1, 1]) == [4.0, 0.0]
    with pytest.raises(ParameterError, match=r"^growth must be a finite number above 0"):
        exponential_decay_length([1.0, 0.0], [1], 0, -2.0, 0)


def test_a_temperature_that_32_bits_can_not_hold_is_taken_there() -> None:
    tiny, endless = process.TemperatureLogitsWarper(1e-46), process.TemperatureLogitsWarper(inf)
    row = theirs(tiny, [1.0, 0.0], [0])
    assert row[0] == inf
    assert isnan(row[1])
    assert isnan(theirs(endless, [1.0, -inf], [0])[1])
    with pytest.raises(RowError, match="makes logits too large for 32 bits"):
        temperature(of_32_bits([1.0, 0.0]), 1e-39, numbers=TORCH32)
    with pytest.raises(ParameterError, match=r"^temperature must be a finite number above 0"):
        temperature([1.0, -inf], inf)


def test_whole_numbers_are_no_temperatures_and_penalties_there() -> None:
    for make in (process.TemperatureLogitsWarper, process.RepetitionPenaltyLogitsProcessor):
        with pytest.raises(ValueError, match="strictly positive float"):
            make(2)
    assert temperature([4.0], 2).row(1) == repetition_penalty([4.0], [0], 2) == [2.0]


def test_the_encoder_s_input_must_fit_the_row_there_but_the_history_need_not() -> None:
    outside = torch.tensor([[3]])
    processor = process.EncoderRepetitionPenaltyLogitsProcessor(2.0, outside)
    with pytest.raises(RuntimeError, match="index 3 is out of bounds"):
        theirs(processor, [1.0, 2.0, 3.0], [0])
    with pytest.raises(IndexError):
        theirs(process.EncoderNoRepeatNGramLogitsProcessor(1, outside), [1.0, 2.0, 3.0], [0])
    for processor in (
        process.RepetitionPenaltyLogitsProcessor(2.0),
        process.NoRepeatNGramLogitsProcessor(1),
    ):
        assert theirs(processor, [1.0, 2.0, 3.0], [3]) == [1.0, 2.0, 3.0]


def test_negative_ids_name_tokens_from_the_end_there() -> None:
    assert theirs(process.ForcedBOSTokenLogitsProcessor(-1), [1.0, 2.0], [0]) == [-inf, 0.0]


def test_ids_outside_the_row_are_passed_over_in_masks_there() -> None:
    for processor in (
        process.SuppressTokensLogitsProcessor([5, -1]),
        process.MinLengthLogitsProcessor(9, [5]),
    ):
        assert theirs(processor, [1.0, 2.0], [0]) == [1.0, 2.0]


def test_endless_and_missing_biases_are_taken_there() -> None:
    assert theirs(process.SequenceBiasLogitsProcessor([[[0], inf]]), [1.0], [0]) == [inf]
    assert isnan(theirs(process.SequenceBiasLogitsProcessor([[[0], nan]]), [1.0], [0])[0])
    nothing = process.SequenceBiasLogitsProcessor([[[], 5.0]])
    assert theirs(nothing, [1.0], [0]) == [1.0]


def test_a_zero_loses_its_sign_there_when_nothing_is_added() -> None:
    row = torch.tensor([[-0.0, 1.0]])
    tokens = torch.tensor([[0]])
    added = process.SequenceBiasLogitsProcessor([[[1], 1.0]])(tokens, row)
    assert not torch.signbit(added[0, 0])
    assert str(sequence_bias([-0.0, 1.0], [], [([1], 1.0)])[0]) == "-0.0"
