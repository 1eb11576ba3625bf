"""Byte-level vocabularies written as tokenizer.json: the library reads them and gives our ids."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as LibraryTokenizer

from bpe_ref import (
    PatternError,
    TextRules,
    VocabularyError,
    VocabularyFileError,
    load,
    tokenizer_of,
    vocabulary_by_concatenation,
    vocabulary_by_pair,
    vocabulary_of,
)
from bpe_ref.formats.byte_level_json import dump_byte_level_json, write_tokenizer_json
from bpe_ref.formats.hugging_face import parse_tokenizer_json
from bpe_ref.vocabulary import Vocabulary
from tests.strategies import vocabularies_and_pieces
from tests.texts import drawn, text_of

BYTES: Final = {bytes([byte]): byte for byte in range(256)}


def library(vocabulary: Vocabulary) -> Any:
    return LibraryTokenizer.from_str(dump_byte_level_json(vocabulary).decode())


@pytest.mark.parametrize("name", ["tiny", "cl100k_base"])
def test_a_named_vocabulary_gives_the_same_ids_in_the_library(name: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    ours = load(name)
    write_tokenizer_json(vocabulary_of(ours), path)
    theirs = LibraryTokenizer.from_file(str(path))
    read_back = parse_tokenizer_json(path.read_bytes(), name)
    merged = []

    @drawn(500 if name == "tiny" else 250)
    @given(text_of(*vocabulary_of(ours).special_tokens))
    def check(text: str) -> None:
        ids = ours.encode(text)
        assert theirs.encode(text).ids == ids
        assert read_back.encode(text) == ids
        assert theirs.decode(ids, skip_special_tokens=False) == ours.decode(ids)
        merged.append(len(ids) < len(text.encode()))

    check()
    assert sum(merged) > len(merged) / 20
    for special, token in vocabulary_of(ours).special_tokens.items():
        assert theirs.token_to_id(special) == token


@drawn(200)
@given(drawn_pair=vocabularies_and_pieces(), whole_piece=st.booleans())
def test_any_small_vocabulary_gives_the_same_ids_in_the_library(
    *, drawn_pair: tuple[Vocabulary, bytes], whole_piece: bool
) -> None:
    vocabulary, piece = drawn_pair
    changed = Vocabulary(
        vocabulary.tokens, vocabulary.rule, TextRules(whole_piece=whole_piece), {"<|x|>": 10**6}
    )
    try:
        text = piece.decode()
    except UnicodeDecodeError:
        text = piece.replace(b"\xff", b"").decode()
    theirs = library(changed)
    assert theirs.encode(text).ids == tokenizer_of(changed).encode(text, special="ordinary")
    assert theirs.encode(f"{text}<|x|>").ids[-1] == 10**6


def test_normalization_special_tokens_and_odd_ids_go_along() -> None:
    ids = {content: 3 * token + 1 for content, token in {**BYTES, b"ab": 256, b" a": 257}.items()}
    ranks = {**BYTES, b"ab": 257, b" a": 256}
    rules = TextRules(r" ?\p{L}+|\p{N}{1,3}+|[^\s\p{L}\p{N}]+|\s++$|\s", normalization="nfc")
    vocabulary = vocabulary_by_concatenation(
        ranks, ids=ids, text=rules, special_tokens={"<|b|>": 0, "<|a|>": 2, "世 a": 3}
    )
    ours, theirs = tokenizer_of(vocabulary), library(vocabulary)

    @drawn(500)
    @given(text_of("<|a|>", "<|b|>", "K", "Å"))
    def check(text: str) -> None:
        assert theirs.encode(text).ids == ours.encode(text)

    check()


@pytest.mark.parametrize(
    ("vocabulary", "error", "sentence"),
    [
        (vocabulary_by_concatenation({b"a": 2**32}), VocabularyError, "ids must be at most 2"),
        (
            vocabulary_by_concatenation({b"a": 0}, special_tokens={"x": 1, "y": 1}),
            VocabularyError,
            "each special token must have an id of its own in a tokenizer.json",
        ),
        (
            vocabulary_by_concatenation({b" ": 0}, special_tokens={"Ġ": 1}),
            VocabularyError,
            "a special token must be told from ordinary tokens .*, got 'Ġ'",
        ),
        (
            vocabulary_by_concatenation({b"a": 0}, special_tokens={"Ġx": 1}),
            VocabularyError,
            "a special token must be told from ordinary tokens .*, got 'Ġx'",
        ),
        (
            vocabulary_by_concatenation(
                {b"a": 0},
                text=TextRules(normalization="nfc", whole_piece=True),
                special_tokens={"K": 1},
            ),
            VocabularyError,
            "a special token must be told from ordinary tokens .*, got 'K'",
        ),
        (
            vocabulary_by_concatenation({b"a": 0}, text=TextRules(normalization="nfd")),
            VocabularyError,
            "the normalization must be nfc or none, got 'nfd'",
        ),
        (
            vocabulary_by_concatenation({b"a": 0}, text=TextRules(r"\w+")),
            PatternError,
            r"a pattern must not use \\w, \\W, \\b or \\B",
        ),
        (
            vocabulary_by_concatenation({b"a": 0}, text=TextRules("a(?i)b")),
            PatternError,
            "which Oniguruma does not have in this meaning",
        ),
        (
            vocabulary_by_concatenation({b"a": 0}, text=TextRules("a", tables="unicode-15.0")),
            PatternError,
            "the tables must be unicode-16.0-oniguruma, got unicode-15.0",
        ),
    ],
)
def test_what_the_format_cannot_say_is_an_error_that_says_why(
    vocabulary: Vocabulary, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        dump_byte_level_json(vocabulary)


def test_a_pattern_in_onigurumas_own_dialect_is_written_as_it_is() -> None:
    rules = TextRules(r"\w+|\W", tables="unicode-16.0-oniguruma")
    vocabulary = vocabulary_by_concatenation({**BYTES, b"ab": 256}, text=rules)
    content = json.loads(dump_byte_level_json(vocabulary))
    split = content["pre_tokenizer"]["pretokenizers"][0]
    assert split["pattern"] == {"Regex": r"\w+|\W"}
    assert library(vocabulary).encode("ab²").ids == tokenizer_of(vocabulary).encode("ab²")


def test_dead_tokens_are_found_only_where_pieces_are_taken_whole() -> None:
    ranks = {b"a": 0, b"b": 1, b"c": 2, b"abc": 3}
    for whole_piece, ids in ((False, [0, 1, 2]), (True, [3])):
        rules = TextRules(whole_piece=whole_piece)
        vocabulary = vocabulary_by_concatenation(ranks, text=rules)
        assert library(vocabulary).encode("abc").ids == ids
        assert tokenizer_of(vocabulary).encode("abc") == ids


def test_a_token_whose_part_has_a_higher_rank_is_made_as_it_is_here() -> None:
    improper = vocabulary_by_concatenation({b"a": 0, b"aaa": 1, b"aa": 2})
    listed = vocabulary_by_pair({b"a": 0, b"aaa": 1, b"aa": 2}, [(b"aa", b"a"), (b"a", b"a")])
    for text in ("aa", "aaa", "aaaa", "aaaaaaa"):
        for vocabulary in (improper, listed):
            assert library(vocabulary).encode(text).ids == tokenizer_of(vocabulary).encode(text)


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(VocabularyFileError, match="cannot be written: No such file or directory"):
        write_tokenizer_json(vocabulary_by_concatenation({b"a": 0}), tmp_path / "no" / "x.json")
