"""What the public strategies promise, and that what they promise to draw really comes."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import accumulate, permutations
from math import inf, isnan
from struct import pack as to_bytes
from struct import unpack as from_bytes
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref import Vocabulary
from bpe_ref.vocabulary.merges import ByConcatenation, ByPair
from tests.strategies import examples
from tokenref.answers import Ok, Refused, guarded
from tokenref.engines.reference import ReferenceEngine
from tokenref.floats import FloatsError, Type, pack, unpack
from tokenref.fuzzing.drawn_questions import drawn
from tokenref.record import OPERATIONS
from tokenref.strategies import (
    SAMPLER_QUESTIONS,
    VOCABULARY_QUESTIONS,
    chains,
    dyadic_weights,
    growing_calls,
    histories,
    invalid_rows,
    logits,
    long_runs,
    mostly,
    near_boundary,
    profile_parameters,
    sampler_calls,
    sampler_questions,
    stepped,
    texts,
    texts_of,
    uniforms,
    vocabularies,
    vocabularies_of_letters,
    vocabularies_of_texts,
)
from tokenref.strategies.sampler_questions import profiles_of


def binary32(number: float) -> float:
    (rounded,) = from_bytes("f", to_bytes("f", number))
    return float(rounded)


def sample(strategy: st.SearchStrategy[Any], count: int = 200) -> list[Any]:
    return [drawn(strategy, "sample", index) for index in range(count)]


def share(found: list[Any], is_so: Callable[[Any], bool]) -> float:
    return sum(map(is_so, found)) / len(found)


# ---- rows


@given(dyadic_weights())
@examples(200)
def test_dyadic_weights_sum_to_one_and_every_sum_of_some_is_exact_in_32_bits(
    weights: list[float],
) -> None:
    assert sum(map(Fraction, weights)) == 1
    assert all(Fraction(weight) * 2**20 % 1 == 0 and weight >= 0 for weight in weights)
    for order in list(permutations(weights[:5]))[:24]:
        rounded = 0.0
        for exact, weight in zip(accumulate(map(Fraction, order)), order, strict=True):
            rounded = binary32(rounded + weight)
            assert rounded == exact


def test_dyadic_weights_tie_vanish_and_are_finer_than_sixteenths() -> None:
    weights = sample(dyadic_weights())
    assert share(weights, lambda row: len(set(row)) < len(row)) > 0.4
    assert share(weights, lambda row: 0.0 in row) > 0.2
    assert share(weights, lambda row: any(weight * 16 % 1 for weight in row)) > 0.2
    assert share(weights, lambda row: row != sorted(row, reverse=True)) > 0.3


@given(st.data(), dyadic_weights())
@examples(200)
def test_a_number_near_a_boundary_is_a_sum_of_weights_or_one_step_beside(
    data: st.DataObject, weights: list[float]
) -> None:
    number = data.draw(near_boundary(weights))
    orders = (sorted(weights), sorted(weights, reverse=True), weights)
    sums = {point for order in orders for point in accumulate(order)} | set(weights)
    around = {stepped(point, by) for point in sums for by in (-1, 0, 1)}
    assert number in around or number in {0.0, 1.0}
    assert 0 <= number <= 1


def test_numbers_near_a_boundary_are_below_at_and_above_it() -> None:
    found = Counter(sample(near_boundary([0.5, 0.25, 0.25])))
    assert {0.5, 0.5 + 2**-24, 0.5 - 2**-25} <= found.keys()


def test_logits_tie_peak_and_hold_minus_infinity_subnormals_and_equals() -> None:
    rows = sample(logits())
    assert share(rows, lambda row: len(set(row)) < len(row)) > 0.3
    assert share(rows, lambda row: -inf in row) > 0.1
    assert share(rows, lambda row: max(row) >= 30) > 0.1
    assert share(rows, lambda row: any(0 < abs(number) < 2**-120 for number in row)) > 0.03
    assert share(rows, lambda row: len(row) > 2 and len(set(row)) == 1) > 0.03
    assert share(rows, lambda row: max(row) == -inf) == 0


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16"])
def test_logits_of_a_type_are_numbers_of_that_type(dtype: Type) -> None:
    for row in [*sample(logits(dtype=dtype), 100), *sample(invalid_rows(dtype), 50)]:
        assert len(unpack(pack(row, dtype))) == len(row)


def test_invalid_rows_are_none_that_anything_can_be_drawn_from() -> None:
    for row in sample(invalid_rows(), 100):
        assert not row or max(row) == -inf or inf in row or any(map(isnan, row))


@given(uniforms([0.5, 0.25, 0.25]))
@examples(100)
def test_random_numbers_are_below_one(number: float) -> None:
    assert 0 <= number < 1


def test_histories_repeat_tokens_and_name_none_beyond_the_row() -> None:
    found = sample(histories(9))
    assert share(found, lambda history: len(set(history)) < len(history)) > 0.4
    assert {token for history in found for token in history} == set(range(9))


# ---- texts and vocabularies


def test_texts_have_what_tokenizers_differ_on() -> None:
    found = sample(texts("<|end|>"))
    for part, least in (("'", 0.1), ("\n", 0.1), ("  ", 0.05), ("\u0301", 0.01), ("<|end|>", 0.3)):
        assert sum(part in text for text in found) / len(found) > least, part
    assert share(found, lambda text: any(sign.isdigit() for sign in text)) > 0.15
    assert share(found, lambda text: any(ord(sign) > 0xFFFF for sign in text)) > 0.08


def test_long_runs_reach_beyond_what_a_byte_counts() -> None:
    lengths = {len(text) for text in sample(long_runs(["a"]))}
    assert {99, 100, 101} & lengths
    assert max(lengths) > 512


def test_vocabularies_break_every_habit_of_trained_ones() -> None:
    found = sample(vocabularies_of_letters())
    shares = {
        "by pair": lambda v: isinstance(v.rule, ByPair),
        "ids are not ranks": lambda v: (
            isinstance(v.rule, ByConcatenation)
            and any(v.rule.ranks[token] != token for token in v.tokens)
        ),
        "ranks before its parts": ranks_before_its_parts,
        "ids beyond 16 bits": lambda v: max(v.tokens) > 0xFFFF,
        "a dead token": lambda v: any(
            len(content) > 1
            and not any(content[:cut] in v.tokens.values() for cut in range(1, len(content)))
            for content in v.tokens.values()
        ),
        "a whole piece": lambda v: v.text.whole_piece,
        "a pair twice": lambda v: (
            isinstance(v.rule, ByPair) and len(v.rule.merges) > len(set(v.rule.merges))
        ),
    }
    counted = {name: sum(map(is_so, found)) for name, is_so in shares.items()}
    assert all(count >= 5 for count in counted.values()), counted


def ranks_before_its_parts(vocabulary: Vocabulary) -> bool:
    rule = vocabulary.rule
    if not isinstance(rule, ByConcatenation):
        return False
    rank = {content: rule.ranks[token] for token, content in vocabulary.tokens.items()}
    return any(
        rank[word] < max(rank.get(word[:cut], -1), rank.get(word[cut:], -1))
        for word in rank
        for cut in range(1, len(word))
        if word[:cut] in rank and word[cut:] in rank
    )


def test_vocabularies_of_texts_have_all_bytes_patterns_and_special_tokens() -> None:
    found = sample(vocabularies_of_texts(), 100)
    assert all(len(vocabulary.symbol_of_letter) == 256 for vocabulary in found)
    assert len({vocabulary.text.pattern for vocabulary in found}) >= 6
    assert sum(bool(vocabulary.special_tokens) for vocabulary in found) > 50
    assert any(vocabulary.text.normalization for vocabulary in found)


@given(st.data(), vocabularies_of_letters())
@examples(50)
def test_texts_of_a_vocabulary_mostly_spell_its_tokens(
    data: st.DataObject, vocabulary: Vocabulary
) -> None:
    known = {ord(letter) for letter in vocabulary.symbol_of_letter}
    text = data.draw(texts_of(vocabulary))
    assert known.issuperset(text.encode()) or vocabulary.symbol_of_letter.keys() < set(
        map(chr, range(256))
    )


@given(st.data(), vocabularies_of_letters())
@examples(50)
def test_calls_never_truncate_to_more_than_there_is(
    data: st.DataObject, vocabulary: Vocabulary
) -> None:
    length = 0
    for call in data.draw(growing_calls(vocabulary)):
        if "push" in call:
            length += len(call["push"]) // 2
        else:
            assert 0 <= call["truncate"] <= length
            length = call["truncate"]


# ---- questions


@pytest.mark.parametrize("op", VOCABULARY_QUESTIONS)
def test_every_question_about_a_vocabulary_is_one_that_the_reference_answers(op: str) -> None:
    kinds: Counter[str] = Counter()
    for index in range(12):
        vocabulary = drawn(vocabularies(), "vocabulary", index)
        session = ReferenceEngine().load(vocabulary, "drawn")
        questions = VOCABULARY_QUESTIONS[op](vocabulary)
        for number in range(4):
            request = drawn(questions, op, index, number)
            msgspec.convert(request, OPERATIONS[op].question)
            answer = guarded(partial(session.answer, op, request))
            assert isinstance(answer, Ok | Refused), (request, answer)
            kinds[type(answer).__name__] += 1
    assert kinds["Ok"] > kinds["Refused"]


def test_draws_are_from_logits_and_from_weights_that_do_not_add_up_to_1() -> None:
    found = sample(SAMPLER_QUESTIONS["draw"]("standard"))
    assert 0.1 < share(found, lambda request: "logits" in request) < 0.5
    others = [unpack(request["probs"]) for request in found if "probs" in request]
    assert 0.1 < share(others, lambda row: sum(row) != 1) < 0.6


@pytest.mark.parametrize("op", SAMPLER_QUESTIONS)
def test_every_question_about_samplers_is_one_that_the_reference_answers(op: str) -> None:
    kinds: Counter[str] = Counter()
    names = profiles_of(op)
    for profile in names[:: -(-len(names) // 4)]:
        session = ReferenceEngine().load_profile(profile)
        questions = SAMPLER_QUESTIONS[op](profile)
        for number in range(8):
            request = drawn(questions, op, profile, number)
            msgspec.convert(request, OPERATIONS[op].question)
            answer = guarded(partial(session.answer, op, request))
            assert isinstance(answer, Ok | Refused), (profile, request, answer)
            kinds[type(answer).__name__] += 1
    assert kinds["Ok"] > kinds["Refused"]


@pytest.mark.parametrize("op", SAMPLER_QUESTIONS)
def test_every_operation_can_be_asked_about_a_row_without_tokens(
    op: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such rows are rare, and a strategy that cannot draw one stops a whole campaign."""
    monkeypatch.setattr(sampler_questions, "_logits", lambda _: ([], pack([])))
    for profile in profiles_of(op)[:3]:
        sample(SAMPLER_QUESTIONS[op](profile), 20)


def test_calls_on_a_sampler_are_of_all_kinds() -> None:
    found = {
        key for calls in sample(sampler_calls("openai", 3), 60) for call in calls for key in call
    }
    assert found == {"sample", "accept", "truncate", "reset"}


def test_chains_set_parameters_of_their_engine_only() -> None:
    names = {name for request in sample(chains("vllm"), 60) for name in request["params"]}
    assert {"top_k", "top_p", "temperature"} <= names
    assert any(len(drawn) > 2 for drawn in sample(profile_parameters("vllm", 4), 60))


# ---- drawing


def test_the_rare_strategy_comes_as_often_as_said_though_it_is_one_object() -> None:
    rare = share(sample(mostly(st.just(0), st.just(1), 4)), bool)
    assert 0.15 < rare < 0.35


def test_a_key_gives_the_same_value_whatever_was_drawn_before() -> None:
    first = drawn(texts(), "key", 7)
    sample(vocabularies(), 5)
    assert drawn(texts(), "key", 7) == first
    assert len({drawn(texts(), "key", index) for index in range(20)}) > 10


def test_a_type_that_cannot_hold_a_number_says_so() -> None:
    with pytest.raises(FloatsError):
        pack([0.1], "bf16")
