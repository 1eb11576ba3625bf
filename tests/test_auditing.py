"""The audit finds what the definitions of its findings say, and nothing else."""

from hypothesis import given

from bpe_ref import Vocabulary, vocabulary_by_concatenation, vocabulary_by_pair
from bpe_ref.auditing import audit, audit_model
from bpe_ref.encoders.naive import encode_naive
from bpe_ref.errors import SymbolError
from bpe_ref.models.bpe import BPE
from bpe_ref.vocabulary.compatibility import split_by_definition
from bpe_ref.vocabulary.merges import ByConcatenation, TokenId
from tests.strategies import examples, vocabularies, vocabularies_by_concatenation


def encodes_to_itself(vocabulary: Vocabulary, token: TokenId) -> bool:
    if vocabulary.text.whole_piece:
        return True
    try:
        symbols = vocabulary.symbols(vocabulary.tokens[token])
    except SymbolError:
        return False
    return encode_naive(vocabulary, symbols) == [token]


def rank_of_making(vocabulary: Vocabulary, token: TokenId) -> int:
    """Return the rank of the merge that makes a token; of a symbol, less than any."""
    split = split_by_definition(vocabulary, token)
    merge = None if split is None else vocabulary.merge(*split)
    return -1 if merge is None else merge.rank


@examples(200)
@given(vocabulary=vocabularies())
def test_a_token_is_dead_if_its_bytes_do_not_encode_to_it(vocabulary: Vocabulary) -> None:
    dead = [token for token in vocabulary.tokens if not encodes_to_itself(vocabulary, token)]
    assert list(audit(vocabulary).dead_tokens) == sorted(dead)


@examples(200)
@given(vocabulary=vocabularies())
def test_a_token_is_improper_if_a_part_is_made_by_a_later_merge(vocabulary: Vocabulary) -> None:
    improper = [
        token
        for token in vocabulary.tokens
        if (split := split_by_definition(vocabulary, token)) is not None
        and any(
            rank_of_making(vocabulary, part) > rank_of_making(vocabulary, token) for part in split
        )
    ]
    assert list(audit(vocabulary).improper_tokens) == sorted(improper)


@examples(150)
@given(vocabulary=vocabularies())
def test_every_token_is_a_symbol_or_dead_or_has_the_split_of_the_definition(
    vocabulary: Vocabulary,
) -> None:
    found = audit(vocabulary)
    assert list(found.splits) == sorted(found.splits)
    for token, content in vocabulary.tokens.items():
        assert found.splits.get(token) == split_by_definition(vocabulary, token)
        assert (len(content) == 1) + (token in found.splits) + (token in found.dead_tokens) == 1


@examples(80)
@given(vocabulary=vocabularies())
def test_holes_are_the_ids_below_the_highest_that_no_token_has(vocabulary: Vocabulary) -> None:
    holes = {token for hole in audit(vocabulary).holes for token in hole}
    assert holes == set(range(max(vocabulary.tokens))) - vocabulary.tokens.keys()


@examples(80)
@given(vocabulary=vocabularies())
def test_the_missing_bytes_are_those_without_a_token_of_their_own(vocabulary: Vocabulary) -> None:
    single = {content for content in vocabulary.tokens.values() if len(content) == 1}
    missing = audit(vocabulary).missing_bytes
    assert missing == bytes(byte for byte in range(256) if bytes([byte]) not in single)


@examples(80)
@given(vocabulary=vocabularies_by_concatenation())
def test_ids_follow_ranks_if_no_two_tokens_are_the_other_way_round(vocabulary: Vocabulary) -> None:
    assert isinstance(vocabulary.rule, ByConcatenation)
    ranks = vocabulary.rule.ranks
    expected = all(ranks[one] < ranks[other] for one in ranks for other in ranks if one < other)
    assert audit(vocabulary).ids_follow_ranks == expected


def test_a_special_token_fills_a_hole_and_makes_one_below_it() -> None:
    vocabulary = vocabulary_by_concatenation(
        {b"a": 1, b"b": 4}, special_tokens={"<end>": 2, "<stop>": 2, "<far>": 7}
    )
    assert audit(vocabulary).holes == (range(1), range(3, 4), range(5, 7))


def test_an_orderly_vocabulary_has_neither_dead_nor_improper_tokens() -> None:
    assert audit(vocabulary_by_concatenation({b"a": 0, b"aa": 1})).is_orderly
    assert not audit(vocabulary_by_concatenation({b"a": 0, b"aaa": 1, b"aa": 2})).is_orderly
    assert not audit(vocabulary_by_concatenation({b"a": 0, b"aaa": 1})).is_orderly


def test_a_token_whose_merges_are_not_listed_is_dead_by_pair_only() -> None:
    tokens = {b"a": 0, b"aa": 1, b"aaa": 2}
    assert audit(vocabulary_by_concatenation(tokens)).dead_tokens == ()
    assert audit(vocabulary_by_pair(tokens, [(b"a", b"a"), (b"a", b"aa")])).dead_tokens == (2,)


def test_a_token_like_that_of_llama_3_is_improper_because_its_last_merge_needs_a_later_token() -> (
    None
):
    vocabulary = vocabulary_by_concatenation(
        {b".": 0, b":": 1, b".:": 2, b".:.:": 3, b".:.": 4, b":.": 5}
    )
    found = audit(vocabulary)
    assert found.splits[3] == (2, 2)
    assert found.improper_tokens == ()
    other = vocabulary_by_concatenation(
        {b".": 0, b":": 1, b".:": 4, b":.": 5, b".:.:": 2, b".:.": 3}
    )
    assert audit(other).improper_tokens == (2, 3)


def test_a_token_that_is_also_an_added_one_is_not_dead() -> None:
    model = BPE({"a": 0, "<": 1, "<s>": 2, "aa": 3}, [])
    assert audit_model(model, (2,), {}).dead_tokens == (3,)
    assert audit_model(model, (), {}).dead_tokens == (2, 3)
