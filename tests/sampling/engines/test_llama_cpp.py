"""llama.cpp, rule by rule, is llama.cpp: same tokens, order, logits, probabilities, draws.

Everything is compared bit by bit: 32-bit logits and probabilities, the order of the
candidates, the flag `sorted`, and the selected token.

What is not compared
    The DRY power of the engine comes from the C library's 64-bit `pow`, here from exact
    rationals: no difference was ever seen. `pow`, and `exp` for the probabilities that
    the dynamic temperature leaves, are the only 64-bit functions involved.
    Rows that are only minus infinity, and logits that a step makes infinite: the engine goes on
    with NaN, this package has an error in the next step. The sign of NaN.
    Grammars: the engine's parser of grammars is not reproduced.
    DRY that is off, made by the engine's test constructor: it writes into an object of
    another kind and the process ends by a memory fault. So breakers are given only where it is on.
"""

import os
import platform
import sys
from array import array
from collections.abc import Iterator
from math import inf, nan
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sampling_ref.errors import RowError, SamplingError
from sampling_ref.row import Candidates
from tests.sampling.engines.llama_cpp_c import Engine, EngineStopped, Result
from tests.sampling.engines.llama_cpp_chains import (
    DEFAULT_CHAIN,
    FILTERS,
    KINDS,
    SELECTORS,
    candidates_of,
    history_of,
    in_32_bits,
    random_of,
    row_of,
    sampler_of,
)
from tests.sampling.engines.llama_cpp_twin import Twin
from tests.sampling.engines.llama_cpp_vocabularies import unpacked
from tests.sampling.llama_cpp_breakers import breakers_of_strings
from tests.sampling.llama_cpp_samplers import dry

pytest.importorskip("llama_cpp", reason="llama.cpp is compared where llama-cpp-python is installed")

if sys.platform != "linux" or platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc":
    pytest.skip("the numbers are those of glibc on x86-64", allow_module_level=True)

CAMPAIGN = int(os.environ.get("TOKENREF_CAMPAIGN", "1"))
VOCABULARIES = ("gpt-2", "llama-bpe")


@pytest.fixture(scope="module")
def vocabularies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return unpacked(VOCABULARIES, tmp_path_factory.mktemp("vocabularies"))


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine() as running:
        yield running


def in_bits(result: Result) -> tuple[Any, ...]:
    """Return a result so that equal means the same bits, signs of zero included, but any NaN."""
    logits = array("f", result.logits)
    probabilities = array("f", [p if p == p else nan for p in result.probabilities])  # noqa: PLR0124
    return (
        result.tokens,
        logits.tobytes(),
        probabilities.tobytes(),
        result.is_sorted,
        result.selected,
    )


def compare(
    engine: Engine, random: Random, samplers: list[list[Any]], sizes: list[int], kind: str
) -> int:
    """Run a chain here and in the engine, accept what is drawn; return how often it was applied.

    A row that this package refuses ends the run: the engine would go on with NaN.
    """
    size = sizes[0]
    history = history_of(random, size)
    events: list[list[Any]] = [["accept", token] for token in history]
    twin = Twin(samplers)
    for token in history:
        twin.accept(token)
    here = []
    for _ in sizes:
        tokens, logits, is_sorted = candidates_of(random, size, kind)
        try:
            here.append(twin.apply(tokens, logits, is_sorted=is_sorted))
        except SamplingError:
            break
        events.append(["apply", tokens, logits, is_sorted])
        if here[-1].selected >= 0:
            events.append(["accept", None])
            twin.accept(here[-1].token)
    there = engine.run(samplers, events)
    for ours, theirs in zip(here, there, strict=True):
        assert in_bits(ours) == in_bits(theirs), (samplers, kind)
    return len(here)


@pytest.mark.parametrize("name", [*FILTERS, *SELECTORS])
def test_every_sampler_alone_does_what_the_engine_does(engine: Engine, name: str) -> None:
    random = random_of(name)
    applied = 0
    for _ in range(6 * CAMPAIGN):
        for kind in KINDS:
            size = random.choice([1, 2, 3, 7, 16, 17, 40, 128, 129, 300])
            applied += compare(engine, random, [sampler_of(random, name, size)], [size], kind)
    assert applied > 40 * CAMPAIGN


@pytest.mark.parametrize("kind", KINDS)
def test_the_default_chain_draws_the_tokens_that_the_engine_draws(
    engine: Engine, kind: str
) -> None:
    random = random_of(kind)
    for _ in range(9 * CAMPAIGN):
        size = random.choice([3, 7, 40, 130, 500])
        samplers = [sampler_of(random, name, size) for name in DEFAULT_CHAIN]
        compare(engine, random, samplers, [size] * 5, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_any_filters_in_any_order_do_what_the_engine_does(engine: Engine, kind: str) -> None:
    random = random_of(kind)
    for _ in range(9 * CAMPAIGN):
        size = random.choice([1, 2, 7, 40, 130, 500])
        names = [random.choice(FILTERS) for _ in range(random.randint(1, 5))]
        names.append(random.choice(SELECTORS))
        compare(
            engine,
            random,
            [sampler_of(random, name, size) for name in names],
            [size] * random.randint(1, 4),
            kind,
        )


@pytest.mark.parametrize("name", ["mirostat", "mirostat_v2", "adaptive_p", "dist"])
def test_states_and_generators_stay_equal_over_many_tokens(engine: Engine, name: str) -> None:
    random = random_of(name)
    for kind in KINDS:
        compare(engine, random, [sampler_of(random, name, 30)], [30] * 20 * CAMPAIGN, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_thousands_of_candidates_are_sorted_as_by_the_engine(engine: Engine, kind: str) -> None:
    random = random_of(kind)
    for size in (1024, 1025, 3000):
        for samplers in (
            [["top_k", size]],
            [["top_k", 300]],
            [["top_p", 0.99999, 0]],
            [["top_p", 0.3, 0]],
        ):
            compare(engine, random, [*samplers, ["dist", 1]], [size], kind)


@pytest.mark.parametrize("kind", ["gaussian", "integers", "impossible"])
def test_a_large_vocabulary_is_sampled_as_by_the_engine(engine: Engine, kind: str) -> None:
    random = random_of(kind)
    samplers = [["top_n_sigma", 2.5], ["top_k", 40], ["top_p", 0.95, 0], ["dist", 7]]
    logits = row_of(random, 128_256, kind)
    tokens = list(range(len(logits)))
    ours = Twin(samplers).apply(tokens, logits)
    theirs = engine.run(samplers, [["apply", tokens, logits, False]])[0]
    assert in_bits(ours) == in_bits(theirs)


def test_logits_beyond_32_bit_integers_fall_into_the_lowest_bucket(engine: Engine) -> None:
    logits = in_32_bits([335_544_256.0, 335_544_288.0, 3e38, -3e38] + [0.0] * 200)
    tokens = list(range(len(logits)))
    for count in (128, 129):
        ours = Twin([["top_k", count]]).apply(tokens, logits)
        assert in_bits(ours) == in_bits(engine.apply(["top_k", count], logits))
        assert ours.tokens[0] == (2 if count == 128 else 0)  # token 2 is the largest


def test_a_bias_on_sorted_candidates_leaves_the_flag_and_the_wrong_maximum(engine: Engine) -> None:
    samplers = [["logit_bias", 3, [[2, 5.0]]], ["dist", 3]]
    ours = Twin(samplers).apply([0, 1, 2], [3.0, 2.0, 1.0], is_sorted=True)
    theirs = engine.run(samplers, [["apply", [0, 1, 2], [3.0, 2.0, 1.0], True]])[0]
    assert in_bits(ours) == in_bits(theirs)


@pytest.mark.parametrize("base", [1.05, 1.5, 2.0, 3e38, 1.0000011])
def test_long_repetitions_meet_the_largest_exponent(engine: Engine, base: float) -> None:
    for length in (100, 128, 129, 2000):
        sampler = ["dry", 1.0, base, 0, 2000, []]
        theirs = engine.apply(sampler, [0.0, 0.0], history=[0] * length)
        ours = dry(Candidates([0, 1], [0.0, 0.0]), [0] * length, 1.0, base, 0, 2000)
        assert theirs.logits == ours.logits


def test_an_empty_row_ends_the_engine_and_is_an_error_here() -> None:
    with Engine() as short_lived, pytest.raises(EngineStopped):
        short_lived.apply(["mirostat_v2", 1, 5.0, 0.1], [])
    with pytest.raises(RowError, match="must hold at least one token"):
        Twin([["mirostat_v2", 1, 5.0, 0.1]]).apply([], [])


def test_a_row_of_minus_infinities_is_nan_in_the_engine_and_an_error_here(engine: Engine) -> None:
    theirs = engine.apply(["top_p", 0.5, 0], [-inf, -inf])
    assert theirs.probabilities[0] != theirs.probabilities[0]
    with pytest.raises(RowError, match="must leave a token possible"):
        Twin([["top_p", 0.5, 0]]).apply([0, 1], [-inf, -inf])


@pytest.mark.parametrize("name", VOCABULARIES)
def test_strings_that_break_repetitions_with_a_vocabulary(
    vocabularies: dict[str, Path], name: str
) -> None:
    random = random_of(4)
    strings = ["\n", ":", '"', "*", "User:", "\n\n###", " the end", "é"]
    ends = sorted({text[cut:] for text in map(str.encode, strings) for cut in range(len(text))})
    with Engine(vocabularies[name]) as engine:
        request = ["vocabulary", [list(text) for text in ends]]
        shown, tokenised = engine.ask(request)
        pieces = [bytes(piece) for piece in shown]
        tokens_of = dict(zip(ends, tokenised, strict=True))
        breakers = {
            string: breakers_of_strings([string.encode()], pieces, tokens_of.__getitem__)
            for string in strings
        }
        for _ in range(50 * CAMPAIGN):
            chosen = random.sample(strings, random.randint(1, 4))
            sequences = [sequence for string in chosen for sequence in breakers[string]]
            pool = [random.randrange(len(pieces)) for _ in range(3)] + list(
                random.choice(sequences)
            )
            history = [random.choice(pool) for _ in range(random.randint(3, 40))]
            tokens = sorted(set(pool))
            logits = row_of(random, len(tokens), "gaussian")
            allowed = random.choice([0, 1, 2])
            sampler = ["dry", 1.0, 1.5, allowed, 64, chosen]
            theirs = engine.apply(sampler, logits, tokens, history=history)
            ours = dry(Candidates(tokens, logits), history, 1.0, 1.5, allowed, 64, sequences)
            assert theirs.logits == ours.logits
