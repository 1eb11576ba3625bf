"""The encoders: five ways to compute byte-pair encoding, and two other things."""

from collections.abc import Sequence

import pytest
from hypothesis import given

from bpe_ref import Vocabulary, vocabulary_by_concatenation, vocabulary_by_pair
from bpe_ref.encoders import ENCODERS, NOT_BPE, Encoder
from bpe_ref.encoders.greedy import encode_greedy
from bpe_ref.encoders.minimal import encode_minimal
from bpe_ref.encoders.naive import encode_naive
from bpe_ref.errors import SymbolError
from tests.strategies import (
    examples,
    spellings_in_tokens,
    vocabularies,
    vocabularies_and_pieces,
    vocabularies_by_concatenation,
    vocabularies_by_pair,
)

BPE = [name for name in ENCODERS if name not in NOT_BPE]
CLEVER = [name for name in BPE if name != "naive"]


def tokens_in(vocabulary: Vocabulary, encode: Encoder, piece: bytes) -> list[bytes]:
    """Return the bytes of each token that the piece becomes."""
    return [vocabulary.tokens[token] for token in encode(vocabulary, vocabulary.symbols(piece))]


def by_concatenation(*tokens: bytes) -> Vocabulary:
    return vocabulary_by_concatenation({token: rank for rank, token in enumerate(tokens)})


def by_pair(letters: bytes, *merges: tuple[bytes, bytes]) -> Vocabulary:
    tokens = [bytes([letter]) for letter in letters] + [left + right for left, right in merges]
    return vocabulary_by_pair(
        {token: place for place, token in enumerate(dict.fromkeys(tokens))}, merges
    )


# All of them compute the same function.


@pytest.mark.parametrize("name", CLEVER)
@examples(300)
@given(case=vocabularies_and_pieces(vocabularies_by_concatenation()))
def test_agrees_with_the_definition_by_concatenation(
    name: str, case: tuple[Vocabulary, bytes]
) -> None:
    vocabulary, piece = case
    symbols = vocabulary.symbols(piece)
    assert ENCODERS[name](vocabulary, symbols) == encode_naive(vocabulary, symbols)


@pytest.mark.parametrize("name", CLEVER)
@examples(300)
@given(case=vocabularies_and_pieces(vocabularies_by_pair()))
def test_agrees_with_the_definition_by_pair(name: str, case: tuple[Vocabulary, bytes]) -> None:
    vocabulary, piece = case
    symbols = vocabulary.symbols(piece)
    assert ENCODERS[name](vocabulary, symbols) == encode_naive(vocabulary, symbols)


@examples(200)
@given(case=vocabularies_and_pieces())
def test_the_definition_merges_the_lowest_rank_leftmost_until_no_pair_has_a_merge(
    case: tuple[Vocabulary, bytes],
) -> None:
    vocabulary, piece = case
    tokens = vocabulary.symbols(piece)
    while True:
        best: tuple[int, int] | None = None
        for place in range(len(tokens) - 1):
            merge = vocabulary.merge(tokens[place], tokens[place + 1])
            if merge is not None and (best is None or merge.rank < best[0]):
                best = (merge.rank, place)
        if best is None:
            break
        place = best[1]
        joined = vocabulary.tokens[tokens[place]] + vocabulary.tokens[tokens[place + 1]]
        tokens[place : place + 2] = [vocabulary.ids[joined.decode("latin-1")]]
    assert encode_naive(vocabulary, vocabulary.symbols(piece)) == tokens


@pytest.mark.parametrize("name", BPE)
def test_long_tokens_and_long_runs_agree_with_the_definition(name: str) -> None:
    doubling = by_concatenation(*(b"a" * 2**power for power in range(8)), b"a" * 33)
    for length in (31, 32, 33, 63, 64, 65, 127, 128, 200):
        expected = tokens_in(doubling, encode_naive, b"a" * length)
        assert tokens_in(doubling, ENCODERS[name], b"a" * length) == expected
    assert max(map(len, tokens_in(doubling, ENCODERS[name], b"a" * 200))) == 128


@pytest.mark.parametrize("name", sorted(NOT_BPE))
def test_greedy_and_minimal_find_tokens_longer_than_any_stride(name: str) -> None:
    vocabulary = by_concatenation(b"a", b"b", b"a" * 32, b"a" * 64, b"a" * 31 + b"b")
    piece = b"a" * 64 + b"a" * 31 + b"b" + b"a" * 33
    expected = [b"a" * 64, b"a" * 31 + b"b", b"a" * 32, b"a"]
    assert tokens_in(vocabulary, ENCODERS[name], piece) == expected


# What is not byte-pair encoding has a definition too.


@examples(150)
@given(case=vocabularies_and_pieces())
def test_greedy_takes_the_longest_token_at_each_place(case: tuple[Vocabulary, bytes]) -> None:
    vocabulary, piece = case
    rest, expected = piece, list[bytes]()
    while rest:
        expected.append(max(filter(rest.startswith, vocabulary.tokens.values()), key=len))
        rest = rest[len(expected[-1]) :]
    assert tokens_in(vocabulary, encode_greedy, piece) == expected


@examples(150)
@given(case=vocabularies_and_pieces(longest=9))
def test_minimal_is_a_shortest_spelling_the_one_with_the_longest_tokens_first(
    case: tuple[Vocabulary, bytes],
) -> None:
    vocabulary, piece = case
    best = min(
        spellings_in_tokens(vocabulary, piece),
        key=lambda tokens: (len(tokens), [-len(vocabulary.tokens[token]) for token in tokens]),
    )
    assert encode_minimal(vocabulary, vocabulary.symbols(piece)) == best


@examples(80)
@given(case=vocabularies_and_pieces())
def test_no_encoder_returns_fewer_tokens_than_minimal(case: tuple[Vocabulary, bytes]) -> None:
    vocabulary, piece = case
    symbols = vocabulary.symbols(piece)
    fewest = len(encode_minimal(vocabulary, symbols))
    assert all(len(encode(vocabulary, symbols)) >= fewest for encode in ENCODERS.values())


# What every encoder has in common.


@pytest.mark.parametrize("name", ENCODERS)
@examples(60)
@given(case=vocabularies_and_pieces())
def test_every_encoding_spells_its_piece(name: str, case: tuple[Vocabulary, bytes]) -> None:
    vocabulary, piece = case
    assert b"".join(tokens_in(vocabulary, ENCODERS[name], piece)) == piece


@pytest.mark.parametrize("name", ENCODERS)
@examples(30)
@given(case=vocabularies_and_pieces())
def test_no_encoder_changes_its_arguments_or_depends_on_their_kind(
    name: str, case: tuple[Vocabulary, bytes]
) -> None:
    vocabulary, piece = case
    symbols = vocabulary.symbols(piece)
    before, digest = list(symbols), vocabulary.digest()
    encoded = ENCODERS[name](vocabulary, symbols)
    assert symbols == before
    assert vocabulary.digest() == digest
    assert type(encoded) is list
    assert encoded is not symbols
    assert ENCODERS[name](vocabulary, tuple(symbols)) == encoded


@pytest.mark.parametrize("name", ENCODERS)
@examples(15)
@given(vocabulary=vocabularies())
def test_nothing_encodes_to_nothing(name: str, vocabulary: Vocabulary) -> None:
    assert ENCODERS[name](vocabulary, []) == []
    assert vocabulary.symbols(b"") == []


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize(
    ("symbols", "place", "value"),
    [
        ([2], 0, "2"),
        ([0, 2, 1], 1, "2"),
        ([0, 1, 99], 2, "99"),
        ([-1, 0], 0, "-1"),
        ([0, None], 1, "None"),
        (["a"], 0, "'a'"),
    ],
)
@pytest.mark.parametrize(
    "vocabulary",
    [by_concatenation(b"a", b"b", b"ab"), by_pair(b"ab", (b"a", b"b"))],
    ids=["by_concatenation", "by_pair"],
)
def test_what_is_not_a_symbol_is_refused_by_place_and_value(
    name: str, symbols: Sequence[int], place: int, value: str, vocabulary: Vocabulary
) -> None:
    with pytest.raises(SymbolError) as caught:
        ENCODERS[name](vocabulary, symbols)
    assert (
        str(caught.value) == f"symbol {place} must be the id of a single-symbol token, got {value}"
    )


# The minimal examples of the survey, by their names there.

README_TOKENS = (b"a", b"b", b"c", b"ab", b"cb", b"ac", b"bb", b"cbb", b"acbb")


@pytest.mark.parametrize("name", BPE)
def test_e1_one_more_byte_can_lower_the_count(name: str) -> None:
    vocabulary = by_concatenation(*README_TOKENS)
    assert tokens_in(vocabulary, ENCODERS[name], b"abacb") == [b"ab", b"a", b"cb"]
    assert tokens_in(vocabulary, ENCODERS[name], b"abacbb") == [b"ab", b"acbb"]


def test_e1_greedy_is_not_byte_pair_encoding() -> None:
    vocabulary = by_concatenation(*README_TOKENS)
    assert tokens_in(vocabulary, encode_greedy, b"abacb") == [b"ab", b"ac", b"b"]


def test_e1_the_last_tokens_of_all_prefixes_are_those_of_the_readme() -> None:
    vocabulary = by_concatenation(*README_TOKENS)
    for name in BPE:
        last_tokens = [
            tokens_in(vocabulary, ENCODERS[name], b"abacbb"[:end])[-1] for end in range(1, 7)
        ]
        assert last_tokens == [b"a", b"ab", b"a", b"ac", b"cb", b"acbb"]


@pytest.mark.parametrize("name", BPE)
def test_e2_of_equal_ranks_the_leftmost_merges(name: str) -> None:
    vocabulary = by_concatenation(b"a", b"aa")
    assert tokens_in(vocabulary, ENCODERS[name], b"aaa") == [b"aa", b"a"]


@pytest.mark.parametrize("name", BPE)
def test_e3_the_two_merge_rules_are_not_the_same_function(name: str) -> None:
    joined = by_concatenation(b"a", b"aa", b"aaa")
    listed = by_pair(b"a", (b"a", b"a"), (b"a", b"aa"))
    assert tokens_in(joined, ENCODERS[name], b"aaa") == [b"aaa"]
    assert tokens_in(listed, ENCODERS[name], b"aaa") == [b"aa", b"a"]


@pytest.mark.parametrize("name", BPE)
def test_e3_prime_nor_are_they_without_repeated_letters(name: str) -> None:
    joined = by_concatenation(b"a", b"b", b"c", b"ab", b"bc", b"abc")
    listed = by_pair(b"abc", (b"a", b"b"), (b"b", b"c"), (b"a", b"bc"))
    assert tokens_in(joined, ENCODERS[name], b"abc") == [b"abc"]
    assert tokens_in(listed, ENCODERS[name], b"abc") == [b"ab", b"c"]


@pytest.mark.parametrize("name", BPE)
def test_e4_a_merge_made_possible_late_still_comes_first_by_rank(name: str) -> None:
    vocabulary = by_pair(b"a", (b"aa", b"a"), (b"a", b"a"))
    assert tokens_in(vocabulary, ENCODERS[name], b"aaa") == [b"aaa"]


@pytest.mark.parametrize("name", BPE)
def test_e5_merges_happen_one_place_at_a_time(name: str) -> None:
    vocabulary = by_pair(b"a", (b"aa", b"a"), (b"a", b"a"))
    assert tokens_in(vocabulary, ENCODERS[name], b"aaaa") == [b"aaa", b"a"]


@pytest.mark.parametrize("name", BPE)
def test_e6_a_remembered_pair_is_stale_as_soon_as_one_of_its_tokens_has_changed(name: str) -> None:
    vocabulary = by_concatenation(b"a", b"aa", b"aaa", b"aaaa")
    assert tokens_in(vocabulary, ENCODERS[name], b"aaaaa") == [b"aa", b"aaa"]


@pytest.mark.parametrize("name", BPE)
def test_e7_an_improper_vocabulary_that_misleads_prefix_tables(name: str) -> None:
    vocabulary = by_concatenation(b"a", b"aaa", b"aa")
    assert tokens_in(vocabulary, ENCODERS[name], b"aaaa") == [b"aaa", b"a"]


@pytest.mark.parametrize("name", BPE)
def test_e8_an_improper_vocabulary_that_misleads_backtracking(name: str) -> None:
    vocabulary = by_concatenation(b"a", b"b", b"aa", b"aba", b"ab")
    assert tokens_in(vocabulary, ENCODERS[name], b"abaa") == [b"ab", b"aa"]


@pytest.mark.parametrize(
    ("piece", "place"), [(b"xab", 0), (b"axb", 1), (b"abx", 2), (b"x", 0), (b"abxx", 2)]
)
def test_e10_a_missing_byte_is_an_error_at_its_place(piece: bytes, place: int) -> None:
    for vocabulary in (by_concatenation(b"a", b"b", b"ab"), by_pair(b"ab", (b"a", b"b"))):
        with pytest.raises(SymbolError) as caught:
            vocabulary.symbols(piece)
        assert str(caught.value) == (
            f"byte 0x78 at position {place} of the piece is not a token "
            "of this vocabulary, so the piece cannot be encoded"
        )


@pytest.mark.parametrize("name", BPE)
def test_e12_a_dead_token_is_never_made(name: str) -> None:
    vocabulary = by_concatenation(b"a", b"b", b"c", b"d", b"abc")
    assert tokens_in(vocabulary, ENCODERS[name], b"abcd") == [b"a", b"b", b"c", b"d"]


@pytest.mark.parametrize("name", BPE)
def test_e13_of_a_merge_listed_twice_the_last_place_counts(name: str) -> None:
    vocabulary = by_pair(b"abc", (b"a", b"b"), (b"b", b"c"), (b"a", b"b"))
    assert tokens_in(vocabulary, ENCODERS[name], b"abc") == [b"a", b"bc"]


@pytest.mark.parametrize("name", BPE)
def test_ranks_decide_and_ids_come_out(name: str) -> None:
    tokens = {b"a": 7, b"b": 3, b"ab": 0, b"ba": 9}
    vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ba": 2, b"ab": 3}, ids=tokens)
    assert ENCODERS[name](vocabulary, vocabulary.symbols(b"aba")) == [7, 9]


def test_the_table_names_every_encoder_and_says_which_are_not_byte_pair_encoding() -> None:
    assert list(ENCODERS) == [
        "naive",
        "scan",
        "heap",
        "prefix_table",
        "backtracking",
        "greedy",
        "minimal",
    ]
    assert {"greedy", "minimal"} == NOT_BPE
    assert all(encode.__name__ == f"encode_{name}" for name, encode in ENCODERS.items())
