"""What makes a vocabulary, what it refuses and in which words, and what its digest covers."""

from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref import TextRules, Vocabulary, vocabulary_by_concatenation, vocabulary_by_pair
from bpe_ref.errors import BpeError, SymbolError, TokenIdError, VocabularyError
from bpe_ref.vocabulary import canonical_lines
from bpe_ref.vocabulary.merges import ByConcatenation, ByPair, Merge
from tests.strategies import examples, vocabularies, vocabularies_by_pair

Build = Callable[[], Vocabulary]

TOKENS = {b"a": 0, b"b": 1, b"ab": 2}


def joined(ranks: Mapping[Any, Any] = TOKENS, **rest: Any) -> Build:  # bad on purpose
    return lambda: vocabulary_by_concatenation(ranks, **rest)


def listed(
    ids: Mapping[Any, Any] = TOKENS,
    merges: Any = ((b"a", b"b"),),
    **rest: Any,  # bad on purpose
) -> Build:
    return lambda: vocabulary_by_pair(ids, merges, **rest)


# What is refused.


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (joined({"a": 0}), "a token must be bytes, got 'a'"),
        (listed({"": 0}, ()), "a token must be bytes, got ''"),
        (joined({b"": 3}), "a token must have at least one byte, got b'' with id 3"),
        (listed({b"a": 0, b"": 5}, ()), "a token must have at least one byte, got b'' with id 5"),
        (joined({}), "a vocabulary must have at least one token, got none"),
        (listed({}, ()), "a vocabulary must have at least one token, got none"),
        (joined({b"a": -1}), "the id of token b'a' must be a whole number from 0, got -1"),
        (joined({b"a": True}), "the id of token b'a' must be a whole number from 0, got True"),
        (joined({b"a": 1.0}), "the id of token b'a' must be a whole number from 0, got 1.0"),
        (joined({b"a": None}), "the id of token b'a' must be a whole number from 0, got None"),
        (listed({b"a": "0"}, ()), "the id of token b'a' must be a whole number from 0, got '0'"),
        (
            joined({b"a": -2}, ids={b"a": 0}),
            "the rank of token b'a' must be a whole number from 0, got -2",
        ),
        (
            joined({b"a": False}, ids={b"a": 0}),
            "the rank of token b'a' must be a whole number from 0, got False",
        ),
        (
            joined({b"a": 4, b"b": 4}),
            "each id must belong to one token, but id 4 is given to b'a' and to b'b'",
        ),
        (
            joined({b"a": 4, b"b": 4}, ids={b"a": 0, b"b": 1}),
            "each rank must belong to one token, but rank 4 is given to b'a' and to b'b'",
        ),
        (
            listed({b"a": 0, b"b": 0}, ()),
            "each id must belong to one token, but id 0 is given to b'a' and to b'b'",
        ),
        (
            joined({b"a": 0, b"b": 1}, ids={b"a": 0}),
            "every token must have a rank and an id, b'b' has only one",
        ),
        (
            joined({b"a": 0}, ids={b"a": 0, b"c": 1}),
            "every token must have a rank and an id, b'c' has only one",
        ),
        (
            listed({b"a": 0, b"aa": 1}, [(b"a", b"a"), (b"x", b"a")]),
            "merge 1 must join two tokens into a third, but b'x' is not a token",
        ),
        (
            listed({b"a": 0, b"aa": 1}, [(b"a", b"x")]),
            "merge 0 must join two tokens into a third, but b'x' is not a token",
        ),
        (
            listed({b"a": 0, b"aa": 1}, [(b"aa", b"a")]),
            "merge 0 must join two tokens into a third, but b'aaa' is not a token",
        ),
        (
            listed({b"a": 0, b"aa": 1}, [(b"", b"a")]),
            "merge 0 must join two tokens into a third, but b'' is not a token",
        ),
        (listed({b"a": 0}, 5), "merges must be pairs of bytes, got 5"),
        (listed({b"a": 0}, [5]), "merge 0 must be a pair of bytes, got 5"),
        (listed({b"a": 0}, [(b"a",)]), "merge 0 must be a pair of bytes, got (b'a',)"),
        (joined(special_tokens=[1]), "special_tokens must be a mapping of texts to ids, got [1]"),
        (listed(special_tokens=5), "special_tokens must be a mapping of texts to ids, got 5"),
        (joined(text="[ab]"), "text must be TextRules or None, got '[ab]'"),
        (
            joined(special_tokens={"": 9}),
            "a special token must be non-empty text without surrogates, got ''",
        ),
        (
            listed(special_tokens={b"<end>": 9}),
            "a special token must be non-empty text without surrogates, got b'<end>'",
        ),
        (
            joined(special_tokens={"<end>": -1}),
            "the id of special token '<end>' must be a whole number from 0, got -1",
        ),
        (
            joined(special_tokens={"<end>": True}),
            "the id of special token '<end>' must be a whole number from 0, got True",
        ),
        (
            listed(special_tokens={"<end>": 2}),
            "special token '<end>' must have an id of its own, but 2 is the id of b'ab'",
        ),
    ],
)
def test_what_is_no_vocabulary_is_refused_by_thing_rule_and_value(
    build: Build, sentence: str
) -> None:
    with pytest.raises(VocabularyError) as caught:
        build()
    assert str(caught.value) == sentence
    assert isinstance(caught.value, BpeError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("token", [True, False, -1, 3, None, "0", 0.0, b"a", 10**30])
def test_only_an_id_of_the_vocabulary_has_bytes(token: Any) -> None:  # bad on purpose
    for vocabulary in (joined()(), listed()()):
        with pytest.raises(TokenIdError) as caught:
            vocabulary.token_bytes(token)
        assert str(caught.value) == f"token id must be one of this vocabulary's, got {token!r}"


@pytest.mark.parametrize(
    ("piece", "byte", "place"), [(b"ac", "63", 1), (b"\x00", "00", 0), (b"ab\xffab\xff", "FF", 2)]
)
def test_a_missing_byte_is_named_in_hex_with_its_first_place(
    piece: bytes, byte: str, place: int
) -> None:
    with pytest.raises(SymbolError) as caught:
        joined()().symbols(piece)
    assert str(caught.value) == (
        f"byte 0x{byte} at position {place} of the piece is not a token "
        "of this vocabulary, so the piece cannot be encoded"
    )


# What is accepted.


def test_every_token_decodes_to_its_bytes_and_a_special_one_to_its_text() -> None:
    vocabulary = joined(special_tokens={"<é>": 9})()
    assert [vocabulary.token_bytes(token) for token in (0, 1, 2, 9)] == [
        b"a",
        b"b",
        b"ab",
        "<é>".encode(),
    ]


def test_of_two_special_tokens_with_one_id_the_first_listed_is_decoded_to() -> None:
    vocabulary = joined(special_tokens={"<one>": 9, "<two>": 9})()
    assert vocabulary.token_bytes(9) == b"<one>"
    assert dict(vocabulary.special_tokens) == {"<one>": 9, "<two>": 9}


def test_ids_may_have_holes_and_another_order_than_ranks() -> None:
    vocabulary = vocabulary_by_concatenation(
        {b"a": 0, b"b": 1, b"ab": 2}, ids={b"a": 50, b"b": 7, b"ab": 3}
    )
    assert vocabulary.symbols(b"ab") == [50, 7]
    assert vocabulary.merge(50, 7) == Merge(rank=2, result=3)
    assert vocabulary.merge(7, 50) is None


def test_a_pair_listed_twice_has_its_last_place_as_its_rank() -> None:
    tokens = {b"a": 0, b"b": 1, b"ab": 2, b"ba": 3}
    vocabulary = vocabulary_by_pair(tokens, [(b"a", b"b"), (b"b", b"a"), (b"a", b"b")])
    assert vocabulary.merge(0, 1) == Merge(rank=2, result=2)
    assert vocabulary.merge(1, 0) == Merge(rank=1, result=3)


@examples(100)
@given(vocabulary=vocabularies_by_pair())
def test_the_rank_of_a_pair_is_its_last_place_on_the_list(vocabulary: Vocabulary) -> None:
    assert isinstance(vocabulary.rule, ByPair)
    last_places = {pair: place for place, pair in enumerate(vocabulary.rule.merges)}
    ranks = {pair: merge.rank for pair, merge in vocabulary.rule.table.items()}
    assert ranks == last_places


def test_every_byte_may_be_a_symbol() -> None:
    vocabulary = vocabulary_by_concatenation({bytes([byte]): 255 - byte for byte in range(256)})
    assert vocabulary.symbols(bytes(range(256))) == list(range(255, -1, -1))
    assert vocabulary.spell([0, 255]) == "\xff\x00"


@examples(100)
@given(vocabulary=vocabularies())
def test_a_pair_merges_into_the_token_that_its_bytes_spell(vocabulary: Vocabulary) -> None:
    for left in vocabulary.tokens:
        for right in vocabulary.tokens:
            merge = vocabulary.merge(left, right)
            whole = vocabulary.token_bytes(left) + vocabulary.token_bytes(right)
            if merge is not None:
                assert vocabulary.token_bytes(merge.result) == whole
            elif isinstance(vocabulary.rule, ByConcatenation):
                assert whole not in vocabulary.tokens.values()


@examples(100)
@given(vocabulary=vocabularies())
def test_ranks_order_merges_strictly(vocabulary: Vocabulary) -> None:
    rule = vocabulary.rule
    ranks = (
        list(rule.ranks.values())
        if isinstance(rule, ByConcatenation)
        else [merge.rank for merge in rule.table.values()]
    )
    assert len(set(ranks)) == len(ranks)


def test_a_vocabulary_is_frozen_and_keeps_no_hold_on_what_it_was_built_from() -> None:
    tokens, special = dict(TOKENS), {"<end>": 9}
    vocabulary = vocabulary_by_concatenation(tokens, special_tokens=special)
    digest = vocabulary.digest()
    tokens[b"c"] = 3
    special["<more>"] = 10
    assert vocabulary.digest() == digest
    with pytest.raises(FrozenInstanceError):
        vocabulary.text = TextRules()  # type: ignore[misc]  # what is tested


# The digest.

PATTERN = TextRules(pattern=r"\w+|\W")

MEANINGS: dict[str, Build] = {
    "by concatenation": joined(),
    "by pair": listed(),
    "without merges": listed(merges=()),
    "other split": listed({b"a": 0, b"b": 1, b"ab": 2, b"aab": 3}, [(b"a", b"b"), (b"a", b"ab")]),
    "other order of merges": listed(
        {b"a": 0, b"b": 1, b"ab": 2, b"aab": 3}, [(b"a", b"ab"), (b"a", b"b")]
    ),
    "unmade token": listed({b"a": 0, b"b": 1, b"ab": 2, b"aab": 3}, [(b"a", b"b")]),
    "other token": joined({b"a": 0, b"b": 1, b"ba": 2}),
    "one token more": joined({**TOKENS, b"ba": 3}),
    "other ranks and ids": joined({b"b": 0, b"a": 1, b"ab": 2}),
    "other ranks": joined({b"b": 0, b"a": 1, b"ab": 2}, ids=TOKENS),
    "other ids": joined(TOKENS, ids={b"a": 1, b"b": 0, b"ab": 2}),
    "a hole": joined(TOKENS, ids={b"a": 0, b"b": 1, b"ab": 3}),
    "by pair, other ids": listed({b"a": 1, b"b": 0, b"ab": 2}),
    "merge listed twice": listed(merges=[(b"a", b"b"), (b"a", b"b")]),
    "pattern": joined(text=PATTERN),
    "other pattern": joined(text=TextRules(pattern=r"\w|\W")),
    "empty pattern": joined(text=TextRules(pattern="")),
    "pattern named none": joined(text=TextRules(pattern="none")),
    "other tables": joined(text=TextRules(pattern=r"\w+|\W", tables="unicode-15.0")),
    "normalization": joined(text=TextRules(normalization="nfc")),
    "whole piece": joined(text=TextRules(whole_piece=True)),
    "by pair, whole piece": listed(text=TextRules(whole_piece=True)),
    "special": joined(special_tokens={"<end>": 3}),
    "other special": joined(special_tokens={"<stop>": 3}),
    "other special id": joined(special_tokens={"<end>": 4}),
    "special with two names": joined(special_tokens={"<end>": 3, "<stop>": 3}),
    "special with two names, the other first": joined(special_tokens={"<stop>": 3, "<end>": 3}),
    "two specials": joined(special_tokens={"<end>": 3, "<stop>": 4}),
    "two specials crossed": joined(special_tokens={"<end>": 4, "<stop>": 3}),
}


def test_the_digest_changes_with_every_part_of_the_meaning() -> None:
    digests: dict[str, str] = {}
    for name, build in MEANINGS.items():
        digest = build().digest()
        assert digest not in digests, f"{name} and {digests[digest]} have one digest"
        digests[digest] = name


def test_the_digest_of_the_same_meaning_is_the_same_every_time() -> None:
    for build in MEANINGS.values():
        assert build().digest() == build().digest()


@examples(100)
@given(vocabulary=vocabularies(), data=st.data())
def test_the_digest_does_not_depend_on_insertion_order(
    vocabulary: Vocabulary, data: st.DataObject
) -> None:
    ids = {content: token for token, content in vocabulary.tokens.items()}
    contents = data.draw(st.permutations(list(ids)))
    ids_again = {content: ids[content] for content in contents}
    special = {"<a>": max(vocabulary.tokens) + 1, "<b>": max(vocabulary.tokens) + 2}
    special_again = dict(reversed(special.items()))
    rule = vocabulary.rule
    if isinstance(rule, ByConcatenation):
        ranks = {content: rule.ranks[token] for content, token in ids.items()}
        ranks_again = {content: ranks[content] for content in reversed(contents)}
        one = vocabulary_by_concatenation(ranks, ids=ids, special_tokens=special)
        other = vocabulary_by_concatenation(
            ranks_again, ids=ids_again, special_tokens=special_again
        )
    else:
        tokens = vocabulary.tokens
        merges = [(tokens[left], tokens[right]) for left, right in rule.merges]
        one = vocabulary_by_pair(ids, merges, special_tokens=special)
        other = vocabulary_by_pair(ids_again, merges, special_tokens=special_again)
    assert one.digest() == other.digest()


def test_ranks_that_are_ids_mean_the_same_given_once_or_twice() -> None:
    assert joined()().digest() == joined(TOKENS, ids=TOKENS)().digest()


def test_without_a_pattern_its_tables_mean_nothing() -> None:
    assert joined(text=TextRules(tables="unicode-15.0"))().digest() == joined()().digest()


def test_the_canonical_text_is_the_documented_one() -> None:
    text = TextRules(pattern=".", tables="unicode-15.0", normalization="nfc", whole_piece=True)
    special = {"<z>": 9, "<b>": 8, "<a>": 9}
    assert list(canonical_lines(listed(text=text, special_tokens=special)())) == [
        "rule\tpair",
        "whole_piece\tyes",
        "normalization\tnfc",
        "tables\tunicode-15.0",
        "pattern\t2e",
        "special\t8\t3c623e",
        "special\t9\t3c7a3e",  # it is what 9 decodes to, so it comes first
        "special\t9\t3c613e",
        "61\t\t0",
        "62\t\t1",
        "6162\t\t2",
        "0\t1",
    ]
    assert list(canonical_lines(joined(TOKENS, ids={b"a": 7, b"b": 5, b"ab": 6})())) == [
        "rule\tconcatenation",
        "whole_piece\tno",
        "normalization\tnone",
        "tables\tnone",
        "pattern\tnone",
        "62\t1\t5",
        "6162\t2\t6",
        "61\t0\t7",
    ]
