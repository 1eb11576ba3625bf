"""The n-gram model: probabilities by the formula, and quick ways to the same numbers."""

from fractions import Fraction
from math import exp, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampling_ref import HistoryError, ParameterError
from sampling_ref.generation import NgramModel, generate

SIZE = 5
TEXTS = st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=30)
HISTORIES = st.lists(st.integers(0, SIZE - 1), max_size=6)
ORDERS = st.integers(1, 4)


def by_formula(text: list[int], context: list[int], token: int) -> Fraction:
    """Return p(w | c) as the module's docstring defines it."""
    following = [
        text[end]
        for end in range(len(context), len(text))
        if text[end - len(context) : end] == context
    ]
    shorter = by_formula(text, context[1:], token) if context else Fraction(1, SIZE)
    if not following:
        return shorter
    kinds = len(set(following))
    return (following.count(token) + kinds * shorter) / (len(following) + kinds)


@given(TEXTS, ORDERS, HISTORIES)
def test_probabilities_and_logits_are_those_of_the_formula(
    text: list[int], order: int, history: list[int]
) -> None:
    model = NgramModel(text, SIZE, order)
    context = history[max(0, len(history) - order + 1) :]
    wanted = [float(by_formula(text, context, token)) for token in range(SIZE)]
    assert sum(wanted) == pytest.approx(1)
    assert [model.probability(history, token) for token in range(SIZE)] == pytest.approx(wanted)
    assert [exp(logit) / SIZE for logit in model.row(history)] == pytest.approx(wanted)


@given(TEXTS, ORDERS, HISTORIES, st.integers(1, SIZE + 1))
def test_the_likeliest_tokens_are_those_of_the_row(
    text: list[int], order: int, history: list[int], count: int
) -> None:
    model = NgramModel(text, SIZE, order)
    row = [round(logit, 9) for logit in model.row(history)]
    tokens, logits = model.likeliest(history, count)
    assert [round(logit, 9) for logit in logits] == sorted(row, reverse=True)[:count]
    assert len(set(tokens)) == len(tokens) == min(count, SIZE)
    assert [row[token] for token in tokens] == [round(logit, 9) for logit in logits]


@given(TEXTS, ORDERS, HISTORIES, TEXTS)
def test_bits_are_the_mean_of_the_information_of_each_token(
    text: list[int], order: int, prompt: list[int], tokens: list[int]
) -> None:
    model = NgramModel(text, SIZE, order)
    both = prompt + tokens
    wanted = [
        -log2(model.probability(both[:place], both[place]))
        for place in range(len(prompt), len(both))
    ]
    assert model.bits(prompt, tokens) == pytest.approx(sum(wanted) / len(wanted))


def test_the_model_reads_what_generate_gives_it_and_forgets_what_is_read_again() -> None:
    text = [0, 1, 2, 3, 4] * 3
    model = NgramModel(text, SIZE, 3)
    greedy = [*generate(model, [0, 1], lambda row, _: row.index(max(row)), num_tokens=6)][-1]
    assert greedy.tokens == (2, 3, 4, 0, 1, 2)  # type: ignore[union-attr]
    assert model([1], 0) == NgramModel(text, SIZE, 3)([1], 0)
    with pytest.raises(ParameterError, match="start_pos must be at most 1, the number of tokens"):
        model([0], 2)


@pytest.mark.parametrize(
    ("tokens", "size", "order", "sentence"),
    [
        ([], 5, 4, "tokens must hold at least one token"),
        ([5], 5, 4, r"tokens\[0\] must be a token id below 5, got 5"),
        ([-1], 5, 4, r"tokens\[0\] must be a token id below 5, got -1"),
        ([1], 0, 4, "size must be"),
        ([1], 5, 0, "order must be"),
    ],
)
def test_bad_input_gives_one_sentence(
    tokens: list[int], size: int, order: int, sentence: str
) -> None:
    with pytest.raises((HistoryError, ParameterError), match=sentence):
        NgramModel(tokens, size, order)
