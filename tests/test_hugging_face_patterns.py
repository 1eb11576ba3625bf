"""Patterns find what `Split` and `Replace` of tokenizers find."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref.errors import ParameterError, PatternError
from bpe_ref.patterns.matches import Literal, Pattern, Regex, find_matches, matches
from tests.texts import drawn, text_of

tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")

MARK = "\ue000"

LLAMA = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        + CONTRACTIONS,
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        + CONTRACTIONS,
        r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    )
)
CLIP = (
    r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
)
MODELS = {
    "GPT-2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "Llama 3": LLAMA,
    "Qwen2": LLAMA.replace("{1,3}", ""),
    "cl100k": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
    "DeepSeek": (
        r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
        r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "DeepSeek CJK": "[一-龥぀-ゟ゠-ヿ]+",  # noqa: RUF001 -- as it is in the file
    "o200k": O200K,
    "Tekken": O200K.replace(CONTRACTIONS, "").replace("{1,3}", ""),
    "Kimi": (
        r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
        r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+" + CONTRACTIONS + r"|\p{N}{1,3}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "SuperBPE": r"(?=(\d{3})+(?!\d))",
    "StarCoder": r"\d",
    "three digits": r"\d{1,3}",
    "three from the right": r"\d{1,3}(?=(?:\d{3})*\b)",
    "CLIP": CLIP,
    "CLIP without case": "(?i)" + CLIP,
    "BLOOM": r" ?[^(\s|[.,!?…。，、।۔،])]+",  # noqa: RUF001 -- as it is in the file
    "Falcon": r"[0-9][0-9][0-9]",
    "Bert": r"[^\s\p{P}\p{S}]+|[\p{P}\p{S}]",
    "words": r"\w+|[^\w\s]+",
    "spaces": r"\s+",
    "lines": r"^.*$",
}


def wrapped(pattern: Pattern) -> Any:
    return tokenizers.Regex(pattern.source) if isinstance(pattern, Regex) else pattern.text


def replaced(pattern: Pattern, text: str) -> str:
    """Return the text with each match marked, the empty ones too."""
    parts = []
    end = 0
    for start, stop in matches(pattern, text):
        parts += [text[end:start], MARK]
        end = stop
    return "".join([*parts, text[end:]])


def assert_same(pattern: Pattern, text: str) -> None:
    """Compare places and emptiness of all matches: each of two components shows one."""
    split = tokenizers.pre_tokenizers.Split(wrapped(pattern), "isolated")
    places = [place for _, place in split.pre_tokenize_str(text)]
    found = find_matches(pattern, text)
    assert [(start, end) for start, end, _ in found if end > start] == places
    if text:
        replace = tokenizers.normalizers.Replace(wrapped(pattern), MARK)
        assert replaced(pattern, text) == replace.normalize_str(text)


@pytest.mark.parametrize("name", MODELS)
@drawn(80)
@given(text=text_of("<|startoftext|>", "123456", "1234567", " (a|b)", "'LL", "\n\n "))
def test_the_patterns_of_models_find_what_the_library_finds(name: str, text: str) -> None:
    assert_same(Regex(MODELS[name]), text)


@pytest.mark.parametrize("name", sorted(set(MODELS) - {"DeepSeek CJK"}))
def test_the_patterns_of_models_find_something(name: str) -> None:
    assert len(matches(Regex(MODELS[name]), "It's 1234567 of 's Été, 中文!\n x")) > 1


@drawn(300)
@given(text=text_of("aa", "a"), literal=st.sampled_from(["a", "aa", " ", "", "é", "."]))
def test_a_literal_is_found_from_the_left_without_overlaps(text: str, literal: str) -> None:
    assert_same(Literal(literal), text)


@pytest.mark.parametrize("pattern", [Literal(""), Literal("a"), Regex("a*"), Regex("")])
def test_the_empty_text_is_one_stretch_without_a_match(pattern: Pattern) -> None:
    assert find_matches(pattern, "") == [(0, 0, False)]
    assert matches(pattern, "") == []


@drawn(200)
@given(text=text_of("aa", "b"), source=st.sampled_from(["a*", "a*?", "b|", "|b", "", "(?=a)", "$"]))
def test_the_stretches_cover_the_text_in_order(text: str, source: str) -> None:
    stretches = find_matches(Regex(source), text)
    assert "".join(text[start:end] for start, end, _ in stretches) == text
    assert [start for start, _, _ in stretches[1:]] == [end for _, end, _ in stretches[:-1]]
    assert_same(Regex(source), text)


def test_an_empty_match_right_behind_a_match_does_not_count() -> None:
    assert matches(Regex("b*"), "abbc") == [(0, 0), (1, 3), (4, 4)]
    assert_same(Regex("b*"), "abbc")


def test_a_regular_expression_is_read_when_it_is_used() -> None:
    pattern = Regex("(")
    with pytest.raises(PatternError, match=re.escape("at 0, a group is never closed")):
        matches(pattern, "a")


def test_patterns_are_text() -> None:
    with pytest.raises(ParameterError, match="text must be a str, got 1"):
        Literal(1)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="source must be a str, got None"):
        Regex(None)  # type: ignore[arg-type]
