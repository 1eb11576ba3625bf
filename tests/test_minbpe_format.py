"""minbpe's .model files: read, written, and refused."""

from pathlib import Path
from typing import Final

import pytest
from hypothesis import given

from bpe_ref import (
    TextRules,
    VocabularyError,
    VocabularyFileError,
    load,
    tokenizer_of,
    vocabulary_by_concatenation,
    vocabulary_by_pair,
    vocabulary_of,
)
from bpe_ref.formats.minbpe import MAXIMUM_TOKEN_BYTES, parse_minbpe, write_minbpe
from bpe_ref.tiny import tiny_vocabulary
from bpe_ref.vocabulary import Vocabulary
from tests.broken_files import broken_bytes, is_read_or_refused
from tests.texts import drawn, text_of

BYTES: Final = {bytes([byte]): byte for byte in range(256)}

BASIC: Final = b"minbpe v1\n\n0\n97 97\n256 97\n257 98\n"
"""What `BasicTokenizer` saves when it is trained on `aaabdaaabac` with three merges."""

PATTERN: Final = r"\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+"
WITH_SPECIALS: Final = f"minbpe v1\n{PATTERN}\n2\n<a> 300\n<é> 301\n97 98\n32 97\n".encode()


def small(**changes: object) -> Vocabulary:
    """Return a vocabulary that minbpe can have, with changed rules about text."""
    text = TextRules(pattern=PATTERN, **changes)  # type: ignore[arg-type]  # the tests' own
    ids = {**BYTES, b"ab": 256, b" a": 257}
    merges = [(b"a", b"b"), (b" ", b"a")]
    return vocabulary_by_pair(ids, merges, text=text, special_tokens={"<a>": 300, "<é>": 301})


def test_the_first_example_of_minbpe_is_encoded_as_its_readme_has_it() -> None:
    vocabulary = parse_minbpe(b"minbpe v1\n\n0\n97 97\n256 97\n257 98\n", "x")
    assert tokenizer_of(vocabulary).encode("aaabdaaabac", special="ordinary") == [
        258,
        100,
        258,
        97,
        99,
    ]


def test_a_file_has_pattern_special_tokens_and_merges() -> None:
    vocabulary = parse_minbpe(WITH_SPECIALS, "x")
    assert vocabulary.digest() == small().digest()
    assert tokenizer_of(vocabulary).encode("ab ab<é>") == [*(256, 32, 256, 301)]


def test_a_vocabulary_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "x.model"
    write_minbpe(small(), path)
    assert path.read_bytes() == WITH_SPECIALS
    assert vocabulary_of(load(path)).digest() == small().digest()


def test_merges_by_concatenation_are_written_as_pairs_that_do_the_same(tmp_path: Path) -> None:
    path = tmp_path / "x.model"
    tokens = [content for _, content in sorted(tiny_vocabulary().tokens.items())]
    merged = [content for content in tokens if len(content) > 1]
    ranks = {**BYTES, **{content: 256 + place for place, content in enumerate(merged)}}
    vocabulary = vocabulary_by_concatenation(ranks)
    write_minbpe(vocabulary, path)
    ours, theirs = tokenizer_of(vocabulary), load(path)

    @drawn(300)
    @given(text_of())
    def check(text: str) -> None:
        assert ours.encode(text, special="ordinary") == theirs.encode(text, special="ordinary")

    check()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_any_line_end_will_do_and_the_last_may_be_missing(end: str) -> None:
    content = WITH_SPECIALS.decode().replace("\n", end).encode()
    assert parse_minbpe(content, "x").digest() == small().digest()
    whole = parse_minbpe(content.removesuffix(end.encode()), "x")
    assert whole.digest() == small().digest()


def test_white_space_around_the_pattern_is_lost_as_in_minbpe() -> None:
    assert parse_minbpe(b"minbpe v1\n \\w+ \n0\n", "x").text.pattern == r"\w+"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "x, line 1 must be 'minbpe v1', got ''"),
        ("minbpe v2\n", "x, line 1 must be 'minbpe v1', got 'minbpe v2'"),
        ("minbpe v1\n", "x, line 2 must have the pattern, but there is none"),
        ("minbpe v1\n\n", "x, line 3 must have the number of special tokens"),
        ("minbpe v1\n\n+1\n", r"x, line 3: a number must be digits, at most 2\^32-1, got '\+1'"),
        ("minbpe v1\n\n9999999999\n", "x, line 3: a number must be digits"),
        ("minbpe v1\n\n2\n<a> 300\n", "x, line 5 must have a special token, but there is none"),
        ("minbpe v1\n\n1\n<a b> 300\n", "x, line 4: a special token must be text without white"),
        ("minbpe v1\n\n1\n<a> x\n", "x, line 4: a number must be digits, .* got 'x'"),
        ("minbpe v1\n\n2\n<a> 300\n<a> 301\n", "x, line 5: each special token must come once"),
        ("minbpe v1\n\n1\n<a> 97\n", "x: special token '<a>' must have an id of its own"),
        ("minbpe v1\n\n0\n97\n", "x, line 4: a merge must be two ids, got '97'"),
        ("minbpe v1\n\n0\n97 98\n\n", "x, line 5: a merge must be two ids, got ''"),
        ("minbpe v1\n\n0\n256 97\n", "x, line 4: a merge must join ids below 256, got 256 97"),
        ("minbpe v1\n\n0\n97 -1\n", "x, line 4: a number must be digits, .* got '-1'"),
        ("minbpe v1\n\n0\n97 98\n97 98\n", "x, line 5: two ids must not have the same bytes"),
    ],
)
def test_a_bad_file_is_an_error_that_names_the_line(content: str, sentence: str) -> None:
    with pytest.raises(VocabularyFileError, match=sentence):
        parse_minbpe(content.encode(), "x")


def test_two_merges_that_make_the_same_bytes_are_an_error_that_says_so() -> None:
    lines = "minbpe v1\n\n0\n97 98\n98 99\n256 99\n97 257\n"
    with pytest.raises(VocabularyFileError, match=r"line 7: .* but b'abc' is also 258"):
        parse_minbpe(lines.encode(), "x")


def test_tokens_that_double_are_refused_before_they_fill_the_memory() -> None:
    doubling = "".join(f"{256 + place} {256 + place}\n" for place in range(60))
    with pytest.raises(VocabularyFileError, match=f"at most {MAXIMUM_TOKEN_BYTES} bytes"):
        parse_minbpe(f"minbpe v1\n\n0\n97 97\n{doubling}".encode(), "x")


def test_bytes_that_are_no_text_are_an_error_that_names_the_byte() -> None:
    with pytest.raises(VocabularyFileError, match="x, byte 3 is not UTF-8"):
        parse_minbpe(b"min\xff", "x")


@pytest.mark.parametrize(
    ("vocabulary", "sentence"),
    [
        (small(whole_piece=True), "a minbpe file holds no normalization and takes no piece whole"),
        (small(normalization="nfc"), "a minbpe file holds no normalization"),
        (vocabulary_by_pair(BYTES, [], text=TextRules(" a")), "must have no line ends, and no"),
        (vocabulary_by_pair(BYTES, [], text=TextRules("a\nb")), "must have no line ends"),
        (
            vocabulary_by_pair(BYTES, [], special_tokens={"a b": 256}),
            "a special token must have no white space for a minbpe file, got 'a b'",
        ),
        (vocabulary_by_pair({b"a": 0}, []), r"the id 0 must be that of b'\\x00', got b'a'"),
        (vocabulary_by_pair({**BYTES, b"ab": 256}, []), "a merge must make every token"),
        (
            vocabulary_by_pair({**BYTES, b"ab": 257}, [(b"a", b"b")]),
            "the id 256 must be that of b'ab', got None",
        ),
        (
            vocabulary_by_pair({**BYTES, b"aba": 256, b"ab": 257}, [(b"ab", b"a"), (b"a", b"b")]),
            "a merge must join tokens made before it, got b'ab' and b'a'",
        ),
    ],
)
def test_what_a_file_cannot_hold_is_an_error_that_says_why(
    vocabulary: Vocabulary, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(VocabularyError, match=sentence):
        write_minbpe(vocabulary, tmp_path / "x.model")
    assert list(tmp_path.iterdir()) == []


@drawn(400)
@given(broken_bytes(WITH_SPECIALS) | broken_bytes(BASIC))
def test_a_file_with_wrong_bytes_is_read_or_refused(content: bytes) -> None:
    is_read_or_refused(lambda: parse_minbpe(content, "x"), "x")
