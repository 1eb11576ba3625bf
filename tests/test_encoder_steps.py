"""The quick encoders step by step: they do what the encoders do, and their reasons are true."""

from collections.abc import Sequence
from heapq import heappop
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref import ENCODERS, SymbolError, vocabulary_by_concatenation
from bpe_ref.encoder_steps import ENCODER_STEPS, border_steps, heap_steps
from bpe_ref.tracing import trace
from bpe_ref.vocabulary import Vocabulary, heap
from bpe_ref.vocabulary.compatibility import build_derivations, compatible_by_definition, seam_test

LETTERS = {b"a": 0, b"b": 1, b"c": 2}


@st.composite
def vocabularies(draw: st.DrawFn) -> Vocabulary:
    """Draw a vocabulary of three letters, with tokens in any order: dead and improper ones, too."""
    text = st.text("abc", min_size=2, max_size=5).map(str.encode)
    longer = draw(st.lists(text, unique=True, max_size=12))
    return vocabulary_by_concatenation(LETTERS | {each: 3 + n for n, each in enumerate(longer)})


symbols = st.lists(st.integers(0, 2), max_size=14)


def spelled(vocabulary: Vocabulary, tokens: Sequence[int]) -> str:
    return "".join(vocabulary.spellings[token] for token in tokens)


@pytest.mark.parametrize("name", ENCODER_STEPS)
@given(vocabulary=vocabularies(), text=symbols)
def test_the_last_step_is_the_encoding(name: str, vocabulary: Vocabulary, text: list[int]) -> None:
    steps = list(ENCODER_STEPS[name](vocabulary, text))
    assert list(steps[-1].tokens if steps else ()) == ENCODERS[name](vocabulary, text)


@given(vocabulary=vocabularies(), text=symbols)
def test_the_heap_gives_the_entries_that_it_gives_the_encoder(
    vocabulary: Vocabulary, text: list[int]
) -> None:
    popped: list[Any] = []

    def remembering(entries: list[Any]) -> Any:
        popped.append(heappop(entries))
        return popped[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heap, "heappop", remembering)
        ENCODERS["heap"](vocabulary, text)
    begun, *steps = heap_steps(vocabulary, text)
    assert begun.tokens == tuple(text)
    assert len(steps) == len(popped)
    for (rank, slot, *_), step in zip(popped, steps, strict=True):
        assert f" of rank {rank} at {slot} " in step.why
        assert step.why.endswith(" merges") or "; new in the heap: " in step.why or step.new == -1
    merged = [step for step in steps if step.new >= 0]
    assert [(step.new, step.tokens) for step in merged] == [
        (step.position, step.tokens) for step in trace(vocabulary, text)
    ]


@given(vocabulary=vocabularies(), text=symbols)
def test_the_cells_are_the_encodings_of_the_prefixes(
    vocabulary: Vocabulary, text: list[int]
) -> None:
    steps = list(ENCODER_STEPS["prefix_table"](vocabulary, text))
    cells = [list(step.tokens) for step in steps]
    naive = ENCODERS["naive"]
    assert cells == [naive(vocabulary, text[:end]) for end in range(1, len(text) + 1)]
    made = vocabulary.remember(build_derivations).ids
    for cell, step in zip(cells, steps, strict=True):
        assert step.why.count("does not fit after") == len(step.refused)
        ends = [
            each for each in made if spelled(vocabulary, cell).endswith(spelled(vocabulary, [each]))
        ]
        assert sorted([cell[-1], *(each[-1] for each in step.refused)]) == sorted(ends)
        for *before, token in step.refused:
            assert spelled(vocabulary, [*before, token]) == spelled(vocabulary, cell)
            assert [*before, token] != cell
            assert before in cells


@given(vocabulary=vocabularies(), text=symbols)
def test_backtracking_moves_by_one_token(vocabulary: Vocabulary, text: list[int]) -> None:
    before: tuple[int, ...] = ()
    for step in ENCODER_STEPS["backtracking"](vocabulary, text):
        if step.new >= 0:
            assert step.tokens[:-1] == before
            assert step.new == len(before)
            assert step.refused == ()
        elif step.why.endswith("step back"):
            assert step.tokens == before[:-1]
            assert step.refused == (before,)
        else:
            assert step.tokens == before
            [refused] = step.refused
            assert refused[:-1] == before
            assert vocabulary.spell(text).startswith(spelled(vocabulary, refused))
        before = step.tokens


def test_a_step_back_is_explained() -> None:
    names = ["a", "b", "c", "ab", "cb", "ac", "bb", "cbb", "acbb"]
    vocabulary = vocabulary_by_concatenation({name.encode(): n for n, name in enumerate(names)})
    text = vocabulary.symbols(b"abacb")
    reasons = [step.why for step in ENCODER_STEPS["backtracking"](vocabulary, text)]
    assert reasons == [
        "the longest token here is ab",
        "the longest token here is ac, which fits after ab",
        "b does not fit after ac: together they become a + cb",
        "no token fits after ac, so no encoding has a border there: step back",
        "the next shorter token is a, which fits after ab",
        "the longest token here is cb, which fits after a",
    ]


@pytest.mark.parametrize("name", ENCODER_STEPS)
def test_what_is_no_symbol_is_refused(name: str) -> None:
    vocabulary = vocabulary_by_concatenation({b"a": 0, b"aa": 1})
    with pytest.raises(SymbolError):
        list(ENCODER_STEPS[name](vocabulary, [1]))


@given(vocabulary=vocabularies())
def test_the_border_of_two_tokens_is_decided_as_by_the_fast_test_and_by_the_definition(
    vocabulary: Vocabulary,
) -> None:
    made = vocabulary.remember(build_derivations)
    for left in vocabulary.tokens:
        for right in vocabulary.tokens:
            *steps, last = border_steps(vocabulary, left, right)
            by_definition = compatible_by_definition(vocabulary, left, right)
            assert (last.tokens == (left, right)) == by_definition
            if not made.places.keys() >= {left, right}:
                assert not steps
                assert "must not be asked, because" in last.why
                assert "is dead" in last.why
                continue
            fits = seam_test(made)(made.places[left], made.places[right])
            assert steps[-1].why.endswith("tokens fit" if fits else "tokens do not fit")
            assert ("The fast test is right" in last.why) == (fits == by_definition)
            if fits != by_definition:
                assert "because" in last.why
                assert "improper" in last.why
            for step in steps:
                halves = [step.tokens[: step.new], step.tokens[step.new :]]
                spelled = [b"".join(map(vocabulary.token_bytes, half)) for half in halves]
                assert spelled == [vocabulary.token_bytes(left), vocabulary.token_bytes(right)]
