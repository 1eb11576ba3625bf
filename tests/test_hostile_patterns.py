"""Patterns that are meant to do harm: a match, or one short sentence, both soon."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bpe_ref import BpeError, load
from bpe_ref.patterns.oniguruma.matching import compile_oniguruma
from bpe_ref.patterns.pretokenizer import Pretokenizer

HOSTILE = {
    "nested groups": "(" * 300 + "a" + ")" * 300,
    "deeply nested groups": "(?:" * 6000 + "a" + ")" * 6000,
    "nested classes": "[" * 300 + "a" + "]" * 300,
    "100 kB of letters": "a" * 100_000,
    "100 kB of branches": "|".join(["ab"] * 33_000),
    "100 kB of categories": r"\p{L}" * 20_000,
    "many letters in a class": "[" + "".join(chr(0x4E00 + 2 * i) for i in range(9_000)) + "]",
    "many operators in a class": "[a" + "&&a" * 6_000 + "]",
    "many sets": "".join(f"[{chr(97 + i % 26)}-{chr(0x4E00 + i)}]" for i in range(3_000)),
    "negated classes": "[^a-z]" * 3_300,
    "optional letters": "a?" * 9_990 + "b",
    "repetitions in repetitions": "(?:" * 50 + "a" + "{1,1000})" * 50,
    "copies of copies": "(?:" * 3 + "a" + "{300}b)" * 3,
    "huge counts": "a{99999999999999999999}",
    "5,000 digits": "a{" + "9" * 5_000 + "}",
    "stars in stars": "(?:a+)+b",
    "one star after the other": ".*" * 200 + "x",
    "unclosed": "(" * 50,
    "half a surrogate pair": "\ud800",
}
TEXT = "aabab\u4e00 K" * 3
SECONDS = 5
"""Generous, because tests run on busy machines; most of it is the time limit of a search."""


def pieces_of_tokenizers(pattern: str) -> object:
    return compile_oniguruma(pattern).spans(TEXT)


def pieces_of_tiktoken(pattern: str) -> object:
    return Pretokenizer(pattern).pieces(TEXT)


@pytest.mark.parametrize("pieces", [pieces_of_tokenizers, pieces_of_tiktoken])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_pattern_ends_soon(name: str, pieces: Callable[[str], object]) -> None:
    begin, message = time.process_time(), ""
    try:
        pieces(HOSTILE[name])
    except BpeError as error:
        message = str(error)
    assert len(message) <= 500
    assert time.process_time() - begin < SECONDS


@pytest.mark.parametrize("depth", [50, 51])
def test_groups_and_classes_are_nested_at_most_50_deep(depth: int) -> None:
    for opening, closing in (("(", ")"), ("[", "]")):
        pattern = opening * depth + "a" + closing * depth
        if depth == 50:
            assert Pretokenizer(pattern).pieces("aba") == ["a", "a"]
        else:
            with pytest.raises(BpeError, match="may be nested at most 50 deep"):
                Pretokenizer(pattern)


def test_copies_are_multiplied() -> None:
    assert Pretokenizer("(?:a{50}){2}").pieces("a" * 100) == ["a" * 100]
    for pattern in ("(?:a{1000}){101}", "(?:(?:a{1,50})b{50}){3000}", "(?:a{0,1000}b){101}"):
        with pytest.raises(BpeError, match="quantifiers may say at most 100000 together"):
            Pretokenizer(pattern)
    assert compile_oniguruma("(?:(?:a{1,50})b{50}){3000}").spans("a") == []


def test_a_tiktoken_file_with_a_hostile_pattern_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "tekken.json"
    vocab = [{"rank": byte, "token_bytes": "AA==", "token_str": None} for byte in range(256)]
    config = {"pattern": HOSTILE["nested groups"], "num_vocab_tokens": 256}
    file.write_text(json.dumps({"config": config, "vocab": vocab}), encoding="utf-8")
    with pytest.raises(BpeError):
        load(file)
