"""The duality of prediction and compression: section 2.3 of the paper of the LZ penalty."""

import os
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, product
from math import exp, log2, prod
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampling_ref.errors import HistoryError, ParameterError, RowError
from sampling_ref.lz.arithmetic_coder import decode, encode, probability
from sampling_ref.lz.compressor_as_model import Model, dual_distribution, kraft_sum, lz_model
from sampling_ref.lz.variants import lz_changes
from sampling_ref.row import Number
from tests.sampling.lz_histories import Wrong, repetitive

CAMPAIGN = int(os.environ.get("TOKENREF_CAMPAIGN", "1"))


def constant(*weights: Number) -> Model:
    return lambda history: weights  # noqa: ARG005 - a model takes a history


def counting(size: int) -> Model:
    """One more than the number of times each token was seen (Laplace)."""

    def model(history: Sequence[int]) -> list[int]:
        return [1 + list(history).count(token) for token in range(size)]

    return model


# ------------------------------------------------------------------ a compressor as a model


def test_a_complete_code_has_its_rate_as_cross_entropy() -> None:
    lengths = [1, 2, 3, 3]
    powers = [2**length for length in lengths]
    assert kraft_sum(powers) == 1
    model = dual_distribution(powers)
    for tokens in product(range(4), repeat=3):
        bits = sum(lengths[token] for token in tokens)
        assert prod(model[token] for token in tokens) == Fraction(1, 2**bits)


def test_an_incomplete_code_has_a_larger_rate_than_its_model_has_cross_entropy() -> None:
    powers = [4, 4, 4]  # two bits each for three tokens: a quarter of all codes is unused
    assert kraft_sum(powers) == Fraction(3, 4)
    model = dual_distribution(powers)
    assert model == [Fraction(1, 3)] * 3
    assert 2 - -log2(model[0]) == pytest.approx(log2(4 / 3))


def test_the_printed_sign_makes_long_codes_likely() -> None:
    lengths = [1, 2, 3, 3]
    weights = [exp(length) for length in lengths]  # softmax(+length), as proposition 3 prints it
    printed = [weight / sum(weights) for weight in weights]
    assert printed[3] > printed[1] > printed[0]
    meant = dual_distribution([2**length for length in lengths])
    assert meant[0] > meant[1] > meant[3]
    # And even with the sign turned, e is not 2: the information is not the length.
    turned = [1 / weight for weight in weights]
    assert -log2(turned[0] / sum(turned)) != 1


@given(st.lists(st.builds(Fraction, st.integers(1, 99), st.integers(1, 9)), min_size=1, max_size=9))
def test_the_dual_model_is_a_distribution_in_proportion(powers: list[Fraction]) -> None:
    model = dual_distribution(powers)
    assert sum(model) == 1
    assert {power * p for power, p in zip(powers, model, strict=True)} == {1 / kraft_sum(powers)}


@pytest.mark.parametrize("powers", [[0], [1, -2], [0.5], [True], ["1"], [1, None]])
def test_powers_are_rational_numbers_above_zero(powers: Wrong) -> None:
    with pytest.raises(ParameterError, match=r"^powers\[\d\] must be a rational number above 0"):
        dual_distribution(powers)


def test_a_distribution_needs_a_token() -> None:
    with pytest.raises(ParameterError, match=r"^powers must hold at least one number, got \[\]$"):
        kraft_sum([])


@given(repetitive(4))
def test_the_penalty_is_the_information_in_its_dual_model(history: list[int]) -> None:
    model = lz_model(6, window=20, buffer=4)(history)
    changes = lz_changes(history, 6, window=20, buffer=4, variant="codelength")
    assert sum(model) == 1
    # -log2 p(a) and D(a) differ by the same number for all tokens.
    assert len({p * changes.of(token).power for token, p in enumerate(model)}) == 1


def test_the_dual_model_expects_a_loop_to_go_on() -> None:
    history = [1, 2, 3, 4, 5] * 20
    after = lz_model(64, variant="corrected")(history)
    assert max(after) == after[1] > Fraction(1, 3)


@pytest.mark.parametrize("variant", ["paper", "script", "", None])
def test_only_lengths_of_codes_make_a_model(variant: Wrong) -> None:
    with pytest.raises(ParameterError, match=r"^variant must be one of corrected, codelength, got"):
        lz_model(4, variant=variant)


# ------------------------------------------------------------------ a model as a compressor


@st.composite
def models_and_tokens(draw: st.DrawFn) -> tuple[Model, list[int]]:
    """Draw a model whose weights depend on the last token, and tokens it allows."""
    size = draw(st.integers(1, 4))
    weight = st.sampled_from([0, 1, 1, 2, 1000, 0.1, 2.0**-40, Fraction(5, 3), Fraction(1, 7)])
    row = st.lists(weight, min_size=size, max_size=size).filter(any)
    table = draw(st.lists(row, min_size=size + 1, max_size=size + 1))

    def model(history: Sequence[int]) -> list[Any]:
        return table[history[-1] if history else size]

    tokens: list[int] = []
    for _ in range(draw(st.integers(0, 12))):
        allowed = [token for token, weight in enumerate(model(tokens)) if weight]
        tokens.append(allowed[draw(st.integers(0, 59)) % len(allowed)])
    return model, tokens


@settings(max_examples=60 * CAMPAIGN)
@given(models_and_tokens())
def test_what_was_coded_comes_back(case: tuple[Model, list[int]]) -> None:
    model, tokens = case
    assert decode(encode(tokens, model), model, len(tokens)) == tokens


@settings(max_examples=60 * CAMPAIGN)
@given(models_and_tokens())
def test_a_code_is_less_than_two_bits_longer_than_the_information(
    case: tuple[Model, list[int]],
) -> None:
    model, tokens = case
    bits, p = len(encode(tokens, model)), probability(tokens, model)
    assert 2**bits * p >= 1  # never shorter
    assert 2**bits * p < 4


@settings(max_examples=40 * CAMPAIGN)
@given(models_and_tokens(), st.text("01", max_size=8))
def test_bits_after_a_code_change_nothing(case: tuple[Model, list[int]], rest: str) -> None:
    model, tokens = case
    assert decode(encode(tokens, model) + rest, model, len(tokens)) == tokens


@settings(max_examples=40 * CAMPAIGN)
@given(models_and_tokens())
def test_a_code_that_is_cut_is_an_error(case: tuple[Model, list[int]]) -> None:
    model, tokens = case
    bits = encode(tokens, model)
    if bits:
        with pytest.raises(ParameterError, match=r"^bits must be the whole code of \d+ tokens"):
            decode(bits[:-1], model, len(tokens))


@pytest.mark.parametrize("model", [constant(3, 1, 4), counting(3)])
def test_no_code_begins_another_code_of_as_many_tokens(model: Model) -> None:
    codes = sorted(encode(tokens, model) for tokens in product(range(3), repeat=4))
    for one, following in pairwise(codes):
        assert not following.startswith(one)
    assert sum(Fraction(1, 2 ** len(code)) for code in codes) <= 1


@given(st.text("01", max_size=12), st.integers(0, 6))
def test_bits_that_leave_a_token_open_are_an_error(bits: str, length: int) -> None:
    model = constant(5, 0, 3)
    continued = {
        tuple(decode(bits + "0" * 99, model, length)),
        tuple(decode(bits + "1" * 99, model, length)),
    }
    try:
        tokens = decode(bits, model, length)
    except ParameterError:
        assert len(continued) == 2
    else:
        assert continued == {tuple(tokens)}


def test_a_sure_sequence_has_an_empty_code() -> None:
    assert encode([1] * 99, constant(0, 1)) == ""
    assert decode("", constant(0, 1), 99) == [1] * 99


def test_dyadic_probabilities_cost_their_bits_and_at_most_one() -> None:
    assert [encode([token], constant(4, 2, 1, 1)) for token in range(4)] == [
        "0",
        "10",
        "110",
        "111",
    ]


def test_the_model_sees_the_tokens_so_far_and_cannot_change_them() -> None:
    seen: list[Any] = []

    def model(history: Sequence[int]) -> list[int]:
        seen.append(history)
        return [1, 1, 1, 1]

    bits = encode([3, 1, 2], model)
    assert seen == [(), (3,), (3, 1)]
    seen.clear()
    decode(bits, model, 3)
    assert seen == [(), (3,), (3, 1)]


def test_a_token_that_the_model_excludes_is_an_error() -> None:
    sentence = r"^tokens\[1\] is 2, to which the model gives no weight$"
    with pytest.raises(HistoryError, match=sentence):
        encode([0, 2], constant(1, 1, 0))
    with pytest.raises(HistoryError, match=sentence):
        probability([0, 2], constant(1, 1, 0))


@pytest.mark.parametrize(
    ("tokens", "sentence"),
    [
        ([0, 3], r"^tokens\[1\] must be a token id below 3, got 3$"),
        ([-1], r"^tokens\[0\] must be a token id, got"),
        (["0"], r"^tokens\[0\] must be a token id, got"),
        (None, r"^tokens must be a sequence of token ids, got NoneType$"),
    ],
)
def test_what_is_no_token_is_an_error(tokens: Wrong, sentence: str) -> None:
    with pytest.raises(HistoryError, match=sentence):
        encode(tokens, constant(1, 1, 1))


@pytest.mark.parametrize("weights", [(0, 0), (1, -1), (float("nan"), 1), (float("inf"), 1), ()])
def test_weights_that_mean_nothing_are_an_error(weights: tuple[float, ...]) -> None:
    with pytest.raises(RowError):
        encode([0], constant(*weights))


@pytest.mark.parametrize(("bits", "length"), [("012", 1), (b"0", 1), (0, 1), ("0", -1), ("0", 1.0)])
def test_bits_and_length_are_checked(bits: Wrong, length: Wrong) -> None:
    with pytest.raises(ParameterError, match=r"^(bits|length) must be "):
        decode(bits, constant(1, 1), length)


def test_the_dual_model_of_a_compressor_compresses() -> None:
    loop = [1, 2, 3, 4, 5] * 12
    bits = encode(loop, lz_model(64, window=32, buffer=4))
    assert decode(bits, lz_model(64, window=32, buffer=4), 60) == loop
    assert len(bits) * 2 < len(encode(loop, constant(*[1] * 64))) == 60 * 6
