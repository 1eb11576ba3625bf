"""Rewrite rules of SentencePiece: written, read, searched, and refused when they are broken."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from authoring.tokenizer_files.charsmaps import compile_charsmap
from bpe_ref.errors import VocabularyError
from bpe_ref.normalizers.charsmap import Charsmap
from tests.charsmaps import RULE_NAMES, trained_charsmap
from tests.texts import drawn, text_of

letters = st.text(st.sampled_from("abé€\U0001f600\u0301"), min_size=1, max_size=4)
rules = st.dictionaries(letters, st.text(st.sampled_from("xyé"), max_size=3), max_size=12)
SMALL = compile_charsmap({"a": "x", "ab": "", "é": "yz"})
BLOCK = 1024  # bytes


@drawn(500)
@given(rules, st.text(st.sampled_from("abé€\U0001f600\u0301"), max_size=8))
def test_the_longest_and_the_shortest_match_are_those_of_the_definition(
    rules: dict[str, str], text: str
) -> None:
    charsmap = Charsmap(compile_charsmap(rules))
    for start in range(len(text) + 1):
        found = sorted(
            (len(source), to) for source, to in rules.items() if text.startswith(source, start)
        )
        assert charsmap.shortest_match(text, start) == (found[0] if found else None)
        assert charsmap.longest_match(text, start) == (found[-1] if found else None)
        at = len(text[:start].encode())
        data = text.encode()
        inside = [(len(s.encode()), to) for s, to in rules.items() if text.startswith(s, start)]
        assert charsmap.longest_match(data, at) == max(inside, default=None)


def test_a_rule_may_end_inside_a_character_for_bytes_but_not_for_a_string() -> None:
    charsmap = Charsmap(compile_charsmap({b"\xc3": "x"}))
    assert charsmap.shortest_match("é".encode(), 0) == (1, "x")
    assert charsmap.shortest_match("é", 0) is None


def test_nul_ends_a_search() -> None:
    charsmap = Charsmap(SMALL)
    assert charsmap.longest_match("\0a", 0) is None
    assert charsmap.longest_match("a\0b", 0) == (1, "x")


def test_a_place_inside_a_replacement_gives_its_rest() -> None:
    data = bytearray(compile_charsmap({"a": "xyz"}))
    at = data.index(struct.pack("<I", 1 << 31), 4)
    data[at : at + 4] = struct.pack("<I", 1 << 31 | 1)
    assert Charsmap(bytes(data)).longest_match("a", 0) == (1, "yz")


def test_a_replacement_without_nul_ends_with_the_data() -> None:
    assert Charsmap(compile_charsmap({"a": "xyz"})[:-1]).longest_match("a", 0) == (1, "xyz")


def test_a_rule_for_each_of_many_characters_finds_its_own() -> None:
    many = {chr(c): chr(c + 1) for c in range(0x4E00, 0x5200)}
    charsmap = Charsmap(compile_charsmap(many))
    assert all(charsmap.longest_match(c, 0) == (1, to) for c, to in many.items())


def test_an_offset_may_be_scaled() -> None:
    units = [0] * 512
    units[0] = 1 << 10 | 1 << 9  # the root's children are around 256
    units[256 ^ ord("a")] = ord("a") | 1 << 8 | (256 ^ ord("a") ^ 7) << 10  # the value is at 7
    units[7] = 1 << 31
    data = struct.pack("<513I", 4 * 512, *units) + b"x\0"
    assert Charsmap(data).longest_match("ab", 0) == (1, "x")


@pytest.mark.parametrize("rule_name", RULE_NAMES)
def test_what_sentencepiece_compiles_can_be_read(rule_name: str) -> None:
    charsmap = Charsmap(trained_charsmap(rule_name))
    assert charsmap.longest_match("\ufb01x", 0) == (1, "fi")
    assert charsmap.longest_match("x", 0) is None
    assert charsmap.longest_match("A", 0) == ((1, "a") if rule_name.endswith("cf") else None)


def replaced(data: bytes, position: int, unit: int) -> bytes:
    return data[: 4 + 4 * position] + struct.pack("<I", unit) + data[8 + 4 * position :]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "must have at least 4 bytes, got 0"),
        (b"\1\2\3", "must have at least 4 bytes, got 3"),
        (b"\0\0\0\0", "must hold a trie of whole blocks of 1024 bytes, got 0"),
        (b"\4\0\0\0abcd", "must hold a trie of whole blocks of 1024 bytes, got 4"),
        (b"\xff\xff\xff\xff", "must hold a trie of 4294967295 bytes, got 0"),
        (SMALL[:500], "must hold a trie of 1024 bytes, got 496"),
        (SMALL + b"\xff", "must have its replacements in UTF-8, got an error at byte 6 of them"),
        (SMALL[: 4 + BLOCK], "must have its values at replacements, got "),
        (replaced(SMALL, 0, 256 << 10), "must have its 256 units in the trie, got 256"),
        (replaced(SMALL, 0, 0x7FFFFFFF), "must have its 256 units in the trie, got "),
        (replaced(SMALL, 0, 1 << 8), "must have its values at replacements, got "),
        (compile_charsmap({"a": "é"})[:-3] + b"\x80", "must have its replacements in UTF-8"),
    ],
)
def test_broken_data_is_refused_in_one_sentence(data: bytes, sentence: str) -> None:
    with pytest.raises(VocabularyError) as error:
        Charsmap(data)
    assert str(error.value).startswith(f"precompiled_charsmap {sentence}")


@drawn(500)
@given(
    st.lists(st.tuples(st.integers(0, 255), st.integers(0, 2**32 - 1)), max_size=8),
    text_of("ab", longest=4),
)
def test_damaged_data_is_refused_or_can_be_searched(
    damage: list[tuple[int, int]], text: str
) -> None:
    data = SMALL
    for position, unit in damage:
        data = replaced(data, position, unit)
    try:
        charsmap = Charsmap(data)
    except VocabularyError as error:
        assert str(error).startswith("precompiled_charsmap must ")  # noqa: PT017 -- either is right
        return
    for start in range(len(text)):
        charsmap.longest_match(text, start)
        charsmap.shortest_match(text.encode(), start)


@pytest.mark.parametrize("wrong", [{"": "x"}, {"a\0": "x"}, {"a": "\0"}])
def test_rules_that_cannot_be_written_are_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(VocabularyError, match="must have rules from something, without NUL"):
        compile_charsmap(wrong)
