"""May two tokens stand side by side? The clever answers against the definition."""

import base64
import gzip
import importlib.util
from pathlib import Path
from random import Random

import pytest
from hypothesis import given

from bpe_ref import Vocabulary, vocabulary_by_concatenation
from bpe_ref.auditing import audit
from bpe_ref.encoders.naive import encode_naive
from bpe_ref.vocabulary.compatibility import (
    Derivations,
    build_derivations,
    compatibility,
    compatible_by_definition,
    seam_test,
    split_by_definition,
)
from bpe_ref.vocabulary.merges import Pair, TokenId
from tests.strategies import (
    examples,
    vocabularies,
    vocabularies_by_concatenation,
    vocabularies_by_pair,
)


def split_by_watching(vocabulary: Vocabulary, token: TokenId) -> Pair | None:
    """Return the last two tokens on the way to `token`, by merging as naively as can be."""
    content = vocabulary.tokens[token]
    if not {chr(byte) for byte in content} <= vocabulary.symbol_of_letter.keys():
        return None
    tokens = vocabulary.symbols(content)
    while len(tokens) > 1:
        found = [
            (merge.rank, place, merge.result)
            for place in range(len(tokens) - 1)
            if (merge := vocabulary.merge(tokens[place], tokens[place + 1])) is not None
        ]
        if not found:
            return None
        _, place, result = min(found)
        if len(tokens) == 2:
            return (tokens[0], tokens[1]) if result == token else None
        tokens[place : place + 2] = [result]
    return None


def is_encoding(vocabulary: Vocabulary, left: TokenId, right: TokenId) -> bool:
    """Return whether the text of both tokens encodes to them, by the naive encoder."""
    content = vocabulary.tokens[left] + vocabulary.tokens[right]
    if not {chr(byte) for byte in content} <= vocabulary.symbol_of_letter.keys():
        return False
    return encode_naive(vocabulary, vocabulary.symbols(content)) == [left, right]


def check_compatibility(vocabulary: Vocabulary) -> None:
    """Check the seam test where it applies, and the combined test everywhere."""
    made = vocabulary.remember(build_derivations)
    seam, compatible = seam_test(made), vocabulary.remember(compatibility)
    for left, left_id in enumerate(made.ids):
        for right, right_id in enumerate(made.ids):
            expected = is_encoding(vocabulary, left_id, right_id)
            assert compatible(left, right) == expected
            if made.disorderly.isdisjoint((left, right)):
                assert seam(left, right) == expected


def check_derivations(vocabulary: Vocabulary) -> None:
    """Check every split, the order of the places, and which tokens are disorderly."""
    made = vocabulary.remember(build_derivations)
    splits = {token: split_by_watching(vocabulary, token) for token in vocabulary.tokens}
    symbols = set(vocabulary.symbol_of_letter.values())
    expected = {token: split for token, split in splits.items() if split is not None}
    assert splits_found(made) == expected
    assert set(made.ids) == symbols | expected.keys()
    assert made.places == {token: place for place, token in enumerate(made.ids)}

    merges = [vocabulary.merge(*expected[token]) for token in made.ids[made.symbols :]]
    ranks = [merge.rank for merge in merges if merge is not None]
    assert len(ranks) == len(merges)
    assert ranks == sorted(ranks)
    orderly = set(symbols)
    for token in made.ids[made.symbols :]:
        if orderly.issuperset(expected[token]):  # so made before, and of lower rank
            orderly.add(token)
    assert {made.ids[place] for place in made.disorderly} == set(made.ids) - orderly


def splits_found(made: Derivations) -> dict[TokenId, Pair]:
    return {
        made.ids[place]: (made.ids[made.lefts[place]], made.ids[made.rights[place]])
        for place in range(made.symbols, len(made.ids))
    }


@examples(400)
@given(vocabulary=vocabularies_by_concatenation())
def test_compatibility_is_that_of_the_definition_by_concatenation(vocabulary: Vocabulary) -> None:
    check_compatibility(vocabulary)


@examples(400)
@given(vocabulary=vocabularies_by_pair())
def test_compatibility_is_that_of_the_definition_by_pair(vocabulary: Vocabulary) -> None:
    check_compatibility(vocabulary)


@examples(300)
@given(vocabulary=vocabularies_by_concatenation())
def test_derivations_are_those_of_the_definition_by_concatenation(vocabulary: Vocabulary) -> None:
    check_derivations(vocabulary)


@examples(300)
@given(vocabulary=vocabularies_by_pair())
def test_derivations_are_those_of_the_definition_by_pair(vocabulary: Vocabulary) -> None:
    check_derivations(vocabulary)


@examples(150)
@given(vocabulary=vocabularies())
def test_the_definitions_here_are_those_of_plain_merging(vocabulary: Vocabulary) -> None:
    for left in vocabulary.tokens:
        assert split_by_definition(vocabulary, left) == split_by_watching(vocabulary, left)
        for right in vocabulary.tokens:
            found = compatible_by_definition(vocabulary, left, right)
            assert found == is_encoding(vocabulary, left, right)


@examples(20)
@given(vocabulary=vocabularies())
def test_what_is_built_for_a_vocabulary_is_built_once(vocabulary: Vocabulary) -> None:
    assert vocabulary.remember(build_derivations) is vocabulary.remember(build_derivations)
    assert vocabulary.remember(compatibility) is vocabulary.remember(compatibility)


def test_a_missing_byte_makes_a_token_dead_and_incompatible() -> None:
    vocabulary = vocabulary_by_concatenation({b"a": 0, b"ab": 1, b"aa": 2})
    assert split_by_definition(vocabulary, 1) is None
    assert not compatible_by_definition(vocabulary, 0, 1)
    assert vocabulary.remember(build_derivations).ids == [0, 2]


def test_at_equal_ranks_undoing_a_left_token_allows_the_merge_and_a_right_one_does_not() -> None:
    vocabulary = vocabulary_by_concatenation({b"a": 0, b"aa": 1})
    assert compatible_by_definition(vocabulary, 1, 0)
    assert not compatible_by_definition(vocabulary, 0, 1)
    seam = seam_test(vocabulary.remember(build_derivations))
    assert seam(1, 0)
    assert not seam(0, 1)


# Real vocabularies.

REAL = ("cl100k_base", "o200k_base", "voyage3_base")


def read_wheel(name: str) -> Vocabulary:
    """Read a vocabulary out of the installed bpe-openai, or skip the test."""
    spec = importlib.util.find_spec("bpe_openai")
    if spec is None or spec.origin is None:
        pytest.skip("bpe-openai, whose wheel holds the vocabularies, is not installed")
    path = Path(spec.origin).parent / "data" / f"{name}.tiktoken.gz"
    if not path.exists():
        pytest.skip(f"the installed bpe-openai holds no {path.name}")
    lines = gzip.decompress(path.read_bytes()).splitlines()
    columns = [line.split() for line in lines if line]
    return vocabulary_by_concatenation(
        {base64.b64decode(content): int(rank) for content, rank in columns}
    )


@pytest.fixture(scope="module", params=REAL)
def real(request: pytest.FixtureRequest) -> Vocabulary:
    return read_wheel(request.param)


def test_real_vocabularies_have_no_dead_and_no_improper_token(real: Vocabulary) -> None:
    found = audit(real)
    assert found.is_orderly
    assert found.dead_tokens == ()
    assert found.improper_tokens == ()
    assert found.missing_bytes == b""
    assert found.ids_follow_ranks
    assert len(found.splits) == len(real.tokens) - 256


def test_real_splits_are_those_of_the_definition(real: Vocabulary) -> None:
    random = Random(20_000)  # a sample, not a secret
    splits = audit(real).splits
    for token in random.sample(sorted(splits), 5_000):
        assert splits[token] == split_by_definition(real, token)


def test_real_neighbours_are_compatible_exactly_by_definition(real: Vocabulary) -> None:
    """20,000 pairs: one half any two tokens, the other half two that spell a token or overlap."""
    random = Random(20_000)  # a sample, not a secret
    tokens = sorted(real.tokens)
    pairs = [(random.choice(tokens), random.choice(tokens)) for _ in range(10_000)]
    while len(pairs) < 20_000:
        content = real.tokens[random.choice(tokens)] + real.tokens[random.choice(tokens)]
        start, cut, end = sorted(random.choices(range(len(content) + 1), k=3))
        left = real.ids.get(content[start:cut].decode("latin-1"))
        right = real.ids.get(content[cut:end].decode("latin-1"))
        if left is not None and right is not None:
            pairs.append((left, right))
    compatible = real.remember(compatibility)
    places = real.remember(build_derivations).places
    answers = {True: 0, False: 0}
    for left, right in pairs:
        found = compatible(places[left], places[right])
        assert found == compatible_by_definition(real, left, right)
        answers[found] += 1
    assert min(answers.values()) > 2_000  # neither answer is rare
