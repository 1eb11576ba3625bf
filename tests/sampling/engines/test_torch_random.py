"""torch on a CPU gives the numbers and the draws of the reference, for equal seeds."""

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from struct import pack
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampling_ref.draws.exponential_race import exponential_race
from sampling_ref.draws.torch_cpu import (
    Bits,
    multinomial_torch_cpu,
    multinomial_torch_cpu_with_replacement,
    multinomial_torch_cpu_without_replacement,
)
from sampling_ref.random.mt19937 import mt19937, mt19937_state, mt19937_words
from sampling_ref.random.uniforms import torch_cpu_double, torch_cpu_float

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

MORE = int(os.environ.get("TOKENREF_CAMPAIGN", "1"))
WIDTHS: list[tuple[Bits, Any]] = [(32, torch.float32), (64, torch.float64)]

peaked = st.sampled_from([0.0, 0.0, 1.0, 0.5, 1e-3, 1e-30]) | st.floats(0, 1, width=32)
probability_rows = st.lists(peaked, min_size=1, max_size=40).filter(any)
seeds = st.integers(0, 2**32 - 1)


def numbers(words: Iterator[int], count: int) -> list[float]:
    return [torch_cpu_double(next(words), next(words)) for _ in range(count)]


def seeded(seed: int) -> Any:
    return torch.Generator().manual_seed(seed)


def with_zeros(places: Sequence[int]) -> tuple[Any, Iterator[int]]:
    """Return a generator of torch whose next words are 0 at some places, and its words."""
    state = mt19937_state(0)
    for place in places:
        state[1 + place] = 0
    generator = torch.Generator()
    old = generator.get_state().numpy().tobytes()
    # how many words are left, whether it was seeded, the next place, the words
    new = old[:8] + pack("<iiQ624Q", 624, 1, 1, *state)
    whole = torch.frombuffer(bytearray(new + old[len(new) :]), dtype=torch.uint8)
    generator.set_state(whole)
    return generator, mt19937_words(state, 1)


@pytest.mark.parametrize("seed", [0, 1, 5489, 2**32 - 1])
def test_rand_gives_the_same_numbers(seed: int) -> None:
    for count in (1, 15, 16, 17, 1000):
        words = mt19937(seed)
        expected = [torch_cpu_float(word) for word in islice(words, count)]
        assert torch.rand(count, generator=seeded(seed)).tolist() == expected
        doubles = torch.rand(count, dtype=torch.float64, generator=seeded(seed)).tolist()
        assert doubles == numbers(mt19937(seed), count)


def test_torch_keeps_the_low_32_bits_of_a_seed() -> None:
    for seed in (2**32, 2**40 + 5, 2**63 + 77):
        expected = [torch_cpu_float(word) for word in islice(mt19937(seed % 2**32), 100)]
        assert torch.rand(100, generator=seeded(seed)).tolist() == expected


@settings(max_examples=150 * MORE, deadline=None)
@given(row=probability_rows, seed=seeds, width=st.sampled_from(WIDTHS))
def test_one_draw_is_the_same_token(row: list[float], seed: int, width: tuple[Bits, Any]) -> None:
    bits, kind = width
    probabilities = torch.tensor(row, dtype=kind)
    words = mt19937(seed)
    generator = seeded(seed)
    for _ in range(8):
        drawn = torch.multinomial(probabilities, 1, generator=generator).item()
        assert multinomial_torch_cpu(probabilities.tolist(), words, bits=bits) == drawn


@pytest.mark.parametrize(("bits", "kind"), WIDTHS)
@pytest.mark.parametrize("size", [1, 2, 3, 100, 1000, 50_000])
def test_one_draw_is_the_same_token_in_rows_of_any_size(bits: Bits, kind: Any, size: int) -> None:
    for seed in range(MORE * max(1, min(30, 20_000 // size))):
        source = seeded(1000 + seed)
        logits = torch.randn(size, dtype=kind, generator=source) * (1 + seed % 5)
        probabilities = torch.softmax(logits, -1)
        drawn = torch.multinomial(probabilities, 1, generator=seeded(seed)).item()
        assert multinomial_torch_cpu(probabilities.tolist(), mt19937(seed), bits=bits) == drawn


def test_rows_of_a_batch_take_their_words_one_after_another() -> None:
    probabilities = torch.softmax(torch.randn(5, 33, generator=seeded(3)), -1)
    words = mt19937(9)
    drawn = torch.multinomial(probabilities, 1, generator=seeded(9)).flatten().tolist()
    assert [multinomial_torch_cpu(row, words) for row in probabilities.tolist()] == drawn


@settings(max_examples=100 * MORE, deadline=None)
@given(
    row=st.lists(st.floats(2.0**-20, 1, width=32), min_size=1, max_size=40),
    seed=seeds,
    width=st.sampled_from(WIDTHS),
    data=st.data(),
)
def test_several_draws_without_replacement_are_the_same_tokens(
    row: list[float], seed: int, width: tuple[Bits, Any], data: st.DataObject
) -> None:
    bits, kind = width
    count = data.draw(st.integers(1, len(row)))
    drawn = torch.multinomial(torch.tensor(row, dtype=kind), count, generator=seeded(seed))
    expected = multinomial_torch_cpu_without_replacement(row, count, mt19937(seed), bits=bits)
    assert drawn.tolist() == expected


@settings(max_examples=100 * MORE, deadline=None)
@given(row=probability_rows, seed=seeds, width=st.sampled_from(WIDTHS), count=st.integers(1, 50))
def test_several_draws_with_replacement_are_the_same_tokens(
    row: list[float], seed: int, width: tuple[Bits, Any], count: int
) -> None:
    bits, kind = width
    probabilities = torch.tensor(row, dtype=kind)
    drawn = torch.multinomial(probabilities, count, replacement=True, generator=seeded(seed))
    expected = multinomial_torch_cpu_with_replacement(row, count, mt19937(seed), bits=bits)
    assert drawn.tolist() == expected


@pytest.mark.parametrize(("bits", "kind"), WIDTHS)
def test_long_rows_are_walked_to_the_same_tokens(bits: Bits, kind: Any) -> None:
    probabilities = torch.rand(30_000, dtype=kind, generator=seeded(1))
    drawn = torch.multinomial(probabilities, 3000, replacement=True, generator=seeded(2)).tolist()
    row = probabilities.tolist()
    assert multinomial_torch_cpu_with_replacement(row, 3000, mt19937(2), bits=bits) == drawn


@pytest.mark.parametrize(("bits", "kind"), WIDTHS)
@pytest.mark.parametrize("scale", [1.0, 0.3, 1e-3])
def test_scores_that_nearly_meet_are_rounded_as_torch_rounds_them(
    bits: Bits, kind: Any, scale: float
) -> None:
    """The probabilities are the noise to come, so that all scores are nearly the scale."""
    for seed in range(40 * MORE):
        noise = torch.empty(200, dtype=kind).exponential_(generator=seeded(seed))
        probabilities = noise * scale
        drawn = torch.multinomial(probabilities, 1, generator=seeded(seed)).item()
        assert multinomial_torch_cpu(probabilities.tolist(), mt19937(seed), bits=bits) == drawn


def test_the_number_of_a_walk_is_not_rounded_to_32_bits() -> None:
    """The border is the number to come, rounded: on which side it lies decides."""
    drawn = []
    for seed in range(40 * MORE):
        border = torch.tensor(numbers(mt19937(seed), 1)[0], dtype=torch.float32)
        row = torch.stack([border, 1 - border])
        tokens = torch.multinomial(row, 2, replacement=True, generator=seeded(seed)).tolist()
        assert multinomial_torch_cpu_with_replacement(row.tolist(), 2, mt19937(seed)) == tokens
        drawn.append(tokens[0])
    assert set(drawn) == {0, 1}


@pytest.mark.parametrize(("bits", "kind"), WIDTHS)
def test_a_number_of_zero_draws_what_it_draws_in_torch(bits: Bits, kind: Any) -> None:
    """Infinite scores win, NaN wins against them, and a walk begins at an impossible token."""
    for row, zeros, expected in (
        ([0.5, 0.5, 0.0], [2, 3], 1),  # the second is certain
        ([0.5, 0.25, 0.25], [0, 1, 2, 3], 0),  # two are: the first of them
        ([0.5, 0.5, 0.0], [0, 1, 4, 5], 2),  # the impossible one is drawn
        ([0.0, 0.5, 0.0], [0, 1, 4, 5], 0),  # the first impossible one
    ):
        generator, words = with_zeros(zeros)
        probabilities = torch.tensor(row, dtype=kind)
        assert torch.multinomial(probabilities, 1, generator=generator).item() == expected
        assert multinomial_torch_cpu(row, words, bits=bits) == expected
    generator, words = with_zeros([0, 1])
    drawn = torch.multinomial(
        torch.tensor([0.0, 1.0], dtype=kind), 2, replacement=True, generator=generator
    )
    assert drawn.tolist() == [0, 1]
    assert multinomial_torch_cpu_with_replacement([0.0, 1.0], 2, words, bits=bits) == [0, 1]


@settings(max_examples=60, deadline=None)
@given(row=probability_rows, seed=seeds)
def test_the_race_of_torch_is_the_exact_race(row: list[float], seed: int) -> None:
    """In 64 bits; a difference would need two arrivals within rounding of each other."""
    uniforms = numbers(mt19937(seed), len(row))
    exact = exponential_race(row, uniforms, noise="-log(1-u)")
    assert multinomial_torch_cpu(row, mt19937(seed), bits=64) == exact
