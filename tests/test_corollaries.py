"""The corollaries in the README of GitHub's `bpe` crate ("Properties of BPE").

A sequence of tokens is *valid* here if its text encodes to it. Stated so, the
corollaries hold for every vocabulary: dead and improper tokens, holes, either
rule. The README claims them for its own vocabularies only.

https://github.com/github/rust-gems/blob/main/crates/bpe/README.md
"""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from bpe_ref import Vocabulary
from bpe_ref.encoders.naive import encode_naive
from bpe_ref.vocabulary.merges import TokenId
from tests.strategies import (
    examples,
    spellings_in_tokens,
    vocabularies_and_pieces,
    vocabularies_and_two_pieces,
)


def encoding_of(vocabulary: Vocabulary, piece: bytes) -> list[TokenId]:
    return encode_naive(vocabulary, vocabulary.symbols(piece))


def text_of(vocabulary: Vocabulary, tokens: Sequence[TokenId]) -> bytes:
    return b"".join(vocabulary.tokens[token] for token in tokens)


def is_valid(vocabulary: Vocabulary, tokens: Sequence[TokenId]) -> bool:
    return encoding_of(vocabulary, text_of(vocabulary, tokens)) == list(tokens)


@examples(150)
@given(case=vocabularies_and_pieces(longest=8))
def test_corollary_i_exactly_one_spelling_of_a_text_is_valid(
    case: tuple[Vocabulary, bytes],
) -> None:
    vocabulary, piece = case
    spellings = spellings_in_tokens(vocabulary, piece)
    valid = [tokens for tokens in spellings if is_valid(vocabulary, tokens)]
    assert valid == [encoding_of(vocabulary, piece)]


@examples(150)
@given(case=vocabularies_and_pieces(longest=20))
def test_corollary_ii_every_part_of_a_valid_sequence_is_valid(
    case: tuple[Vocabulary, bytes],
) -> None:
    vocabulary, piece = case
    tokens = encoding_of(vocabulary, piece)
    for end in range(1, len(tokens) + 1):
        for start in range(end):
            assert is_valid(vocabulary, tokens[start:end])


@examples(150)
@given(case=vocabularies_and_pieces(longest=20))
def test_corollary_iia_the_last_token_of_every_prefix_determines_the_encoding(
    case: tuple[Vocabulary, bytes],
) -> None:
    vocabulary, piece = case
    last = {end: encoding_of(vocabulary, piece[:end])[-1] for end in range(1, len(piece) + 1)}
    rebuilt, end = list[TokenId](), len(piece)
    while end > 0:
        rebuilt.insert(0, last[end])
        end -= len(vocabulary.tokens[last[end]])
    assert rebuilt == encoding_of(vocabulary, piece)


@examples(150)
@given(case=vocabularies_and_pieces(longest=20))
def test_corollary_iia_the_first_token_of_every_suffix_determines_the_encoding(
    case: tuple[Vocabulary, bytes],
) -> None:
    vocabulary, piece = case
    first = {start: encoding_of(vocabulary, piece[start:])[0] for start in range(len(piece))}
    rebuilt, start = list[TokenId](), 0
    while start < len(piece):
        rebuilt.append(first[start])
        start += len(vocabulary.tokens[first[start]])
    assert rebuilt == encoding_of(vocabulary, piece)


@examples(150)
@given(case=vocabularies_and_two_pieces())
def test_corollary_iii_two_valid_sequences_that_share_a_token_compose(
    case: tuple[Vocabulary, bytes, bytes],
) -> None:
    vocabulary, one, other = case
    before, after = encoding_of(vocabulary, one), encoding_of(vocabulary, other)
    for shared in sorted(set(before) & set(after)):
        left = before[: before.index(shared) + 1]
        right = after[after.index(shared) :]
        assert is_valid(vocabulary, left)
        assert is_valid(vocabulary, right)
        assert is_valid(vocabulary, left + right[1:])


@examples(150)
@given(case=vocabularies_and_pieces())
def test_corollary_iiia_a_valid_pair_extends_a_valid_sequence(
    case: tuple[Vocabulary, bytes],
) -> None:
    vocabulary, piece = case
    tokens = encoding_of(vocabulary, piece)
    if not tokens:
        return
    known = {ord(letter) for letter in vocabulary.symbol_of_letter}
    for token, content in vocabulary.tokens.items():
        if known.issuperset(content):
            extends = is_valid(vocabulary, [tokens[-1], token])
            assert is_valid(vocabulary, [*tokens, token]) == extends


@examples(150)
@given(case=vocabularies_and_pieces(longest=8), data=st.data())
def test_a_sequence_is_valid_exactly_if_its_tokens_and_its_neighbours_are(
    case: tuple[Vocabulary, bytes], data: st.DataObject
) -> None:
    vocabulary, piece = case
    tokens = data.draw(st.sampled_from(spellings_in_tokens(vocabulary, piece)))
    singles = all(is_valid(vocabulary, [token]) for token in tokens)
    pairs = all(is_valid(vocabulary, tokens[place : place + 2]) for place in range(len(tokens)))
    assert is_valid(vocabulary, tokens) == (singles and pairs)
