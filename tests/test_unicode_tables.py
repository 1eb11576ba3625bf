"""The pinned tables are what the engines answer, for every code point there is."""

import subprocess
import sys
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bpe_ref.errors import ParameterError
from bpe_ref.patterns.unicode_tables import (
    EVERY_CODE_POINT,
    TABLES,
    CodePoints,
    category,
    code_point_range,
    to_ranges,
)

ROOT = Path(__file__).parent.parent
RUST = TABLES["unicode-16.0"]
ONIGURUMA = TABLES["unicode-16.0-oniguruma"]
SURROGATES = code_point_range(0xD800, 0xDFFF)
TEXT: CodePoints = EVERY_CODE_POINT ^ SURROGATES  # what a str for an engine may hold
CHARACTERS = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
EVERYTHING = "".join(CHARACTERS)
GENERAL = sorted(RUST.properties - {"White_Space", "word", "Han", "Cs"})


def set_of(characters: Sequence[str] | set[str]) -> CodePoints:
    digits = bytearray(b"0" * 0x110000)
    for character in characters:
        digits[-1 - ord(character)] = ord("1")
    return int(digits, 2)


def tiktoken_class(pattern: str) -> CodePoints:
    """Tiktoken drops what its pattern does not match; see the generator."""
    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is not installed")
    ranks = {bytes([byte]): byte for byte in range(256)}
    encoding = tiktoken.Encoding("probe", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return set_of(bytes(encoding.encode_ordinary(EVERYTHING)).decode())


def oniguruma_class(pattern: str) -> CodePoints:
    """Return what a pattern of tokenizers removes."""
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    others = tokenizers.NormalizedString(EVERYTHING).split(tokenizers.Regex(pattern), "removed")
    return TEXT ^ set_of("".join(other.normalized for other in others))


def alone_in_tokenizers(name: str, template: str = "a{}") -> CodePoints:
    """Return what a pre-tokenizer of tokenizers cuts off in `template`."""
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    options = {"Digits": {"individual_digits": True}, "ByteLevel": {"add_prefix_space": False}}
    pre_tokenizer = getattr(tokenizers.pre_tokenizers, name)(**options.get(name, {}))
    split: Callable[[str], Sequence[object]] = pre_tokenizer.pre_tokenize_str
    return set_of({c for c in CHARACTERS if len(split(template.replace("{}", c))) > 1})


@pytest.mark.parametrize("name", GENERAL)
def test_tiktoken_has_the_categories_of_the_table(name: str) -> None:
    assert tiktoken_class(rf"\p{{{name}}}") == RUST.code_points(name) & TEXT


@pytest.mark.parametrize(
    ("pattern", "name"),
    [(r"\s", "White_Space"), (r"\d", "Nd"), (r"\w", "word"), (r"\p{Han}", "Han")],
)
def test_tiktoken_has_the_shorthands_of_the_table(pattern: str, name: str) -> None:
    assert tiktoken_class(pattern) == RUST.code_points(name)


@pytest.mark.parametrize("name", GENERAL)
def test_the_split_of_tokenizers_has_the_categories_of_the_table(name: str) -> None:
    assert oniguruma_class(rf"\p{{{name}}}") == ONIGURUMA.code_points(name) & TEXT


@pytest.mark.parametrize(
    ("pattern", "name"),
    [(r"\s", "White_Space"), (r"\d", "Nd"), (r"\w", "word"), (r"\p{Han}", "Han")],
)
def test_the_split_of_tokenizers_has_the_shorthands_of_the_table(pattern: str, name: str) -> None:
    assert oniguruma_class(pattern) == ONIGURUMA.code_points(name)


@pytest.mark.parametrize(
    ("template", "names"), [("a{}", "L"), ("1{}", "N"), ("\t{}\t", "White_Space"), ("!{}", "other")]
)
def test_byte_level_has_the_classes_of_the_table(template: str, names: str) -> None:
    known = [ONIGURUMA.code_points(name) for name in ("L", "N", "White_Space")]
    other = TEXT & ~(known[0] | known[1] | known[2])
    expected = other if names == "other" else ONIGURUMA.code_points(names)
    assert TEXT ^ alone_in_tokenizers("ByteLevel", template) == expected


def test_digits_and_punctuation_of_tokenizers_have_tables_of_their_own() -> None:
    assert alone_in_tokenizers("Digits") == TABLES["tokenizers-digits"].code_points("N")
    punctuation = TABLES["tokenizers-punctuation"].code_points("P")
    assert alone_in_tokenizers("Punctuation") == punctuation


def test_whitespace_of_tokenizers_has_the_words_of_rust() -> None:
    # Spaces are dropped, so they leave the letter alone in one piece, as word characters do.
    joined = TEXT ^ alone_in_tokenizers("Whitespace")
    assert joined == RUST.code_points("word") | RUST.code_points("White_Space")
    assert TEXT ^ alone_in_tokenizers("WhitespaceSplit", "a{}b") == TEXT & ~RUST.code_points(
        "White_Space"
    )


@pytest.mark.parametrize("engine", ["bpe_openai", "rs_bpe"])
def test_the_wheels_with_fixed_patterns_have_the_classes_of_the_table(engine: str) -> None:
    """They show a class where a boundary between ASCII characters depends on it."""
    module = pytest.importorskip(engine, reason=f"{engine} is not installed")
    encode: Callable[[str], list[int]] = (
        module.get_encoding("o200k_base").encode_ordinary
        if engine == "bpe_openai"
        else module.openai.o200k_base().encode
    )
    (get,), (top,), (digits,), (spaces,) = map(encode, (".get", "top", "345", "  "))
    others = CHARACTERS[:0x20] + CHARACTERS[0x21:]  # U+0020 itself joins the neighbours
    numbers = set_of({c for c in others if encode(f"1{c}2345")[-1] == digits})
    assert numbers == RUST.code_points("N")
    white = set_of({c for c in others if encode(f"  {c}x")[0] == spaces})
    white |= 1 << ord("\n")  # two spaces and a newline are one token
    assert white == RUST.code_points("White_Space") ^ 1 << 0x20
    before_contraction = set_of({c for c in others if encode(f"{c}'stop")[-1] == top})
    letters, marks = RUST.code_points("L"), RUST.code_points("M")
    assert before_contraction == letters | marks
    takes_dot = set_of({c for c in others if encode(f"{c}.get")[-1] != get})
    known = letters | marks | numbers | white
    assert takes_dot == TEXT & ~known & ~(1 << 0x20)


def test_each_code_point_has_exactly_one_category() -> None:
    union = total = 0
    for name in GENERAL:
        if len(name) == 2 and name != "LC":
            union |= RUST.code_points(name)
            total += RUST.code_points(name).bit_count()
    assert union == TEXT
    assert total + 2048 == 0x110000
    assert RUST.code_points("Cs") == SURROGATES


def test_the_separators_that_python_calls_spaces_are_none() -> None:
    for code_point in range(0x1C, 0x20):
        assert chr(code_point).isspace()
        assert not RUST.contains("White_Space", code_point)
    assert RUST.code_points("White_Space").bit_count() == 25


def test_a_property_that_a_table_lacks_is_an_error_that_names_both() -> None:
    with pytest.raises(ParameterError, match=r"must be a property of .*-digits \(N\), got 'L"):
        TABLES["tokenizers-digits"].code_points("L")


@pytest.mark.parametrize("code_point", [-1, 0x110000])
def test_there_is_no_code_point_beyond_the_last(code_point: int) -> None:
    with pytest.raises(ParameterError, match=r"code_point must be in \[0, 0x10FFFF\], got"):
        category(code_point)
    with pytest.raises(ParameterError, match="code_point must be"):
        RUST.contains("L", code_point)


@pytest.mark.parametrize("ranges", [[], [(0, 0)], [(0x10FFFF, 0x10FFFF)], [(0, 3), (5, 0x10FFFF)]])
def test_ranges_describe_exactly_their_set(ranges: list[tuple[int, int]]) -> None:
    members = 0
    for first, last in ranges:
        members |= code_point_range(first, last)
    assert to_ranges(members) == ranges


def test_the_generator_still_writes_the_same_data() -> None:
    for engine in ("tiktoken", "tokenizers", "bpe_openai"):
        pytest.importorskip(engine, reason=f"{engine} is not installed")
    if unicodedata.unidata_version != "14.0.0":
        pytest.skip("the supplement is relative to Unicode 14.0, so to Python 3.11")
    from authoring.tables import DATA, make_unicode_tables

    written = (DATA / "unicode.json").read_text(encoding="utf-8")
    assert make_unicode_tables.content() == written


def test_importing_the_tables_decodes_none_of_them() -> None:
    script = (
        "import sys, bpe_ref.pre_tokenizers.pattern, bpe_ref.normalizers.nfc;"
        "from bpe_ref.pre_tokenizers.pattern import Pattern; Pattern(r'\\p{L}+');"
        "from bpe_ref.data import table; print(table.cache_info().currsize > 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
