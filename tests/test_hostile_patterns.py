"""Patterns that are meant to do harm: a match, or one short sentence, both soon."""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bpe_ref import BpeError, ParameterError, TextRules, load, train, vocabulary_by_concatenation
from bpe_ref.like_tokenizers import Tokenizer as LikeTokenizers
from bpe_ref.patterns.borders import borders_of
from bpe_ref.patterns.oniguruma.reading import compile_oniguruma
from bpe_ref.pre_tokenizers.pattern import Pattern

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
    "letters of their own": "|".join(map(chr, range(0x4E00, 0x4E00 + 4_999))),
    "word boundaries": r"\b" * 4_999 + "a",
    "beginnings of lines": "^" * 9_999 + "a",
    "any characters": "." * 10_000,
    "digits without an end": "a{" + "1" * 9_998,
    "copies side by side": "a{1000}b{1000}c{1000}" * 470,
    "ranges without case": "(?i)" + "[ -~]" * 1_999,
    "categories without case": "(?i)"
    + "".join(rf"[^\p{{Lu}}{chr(c)}]" for c in range(0x4E00, 0x4F20)),
    "ligatures without case": "(?i)" + "st" * 4_998,
    "classes that overlap": "".join(
        f"[{''.join(chr(0x10000 + (i * 61 + j * 1009) % 0xFFFFF) for j in range(30))}]"
        for i in range(299)
    ),
    "atoms of two classes each": "".join(
        f"[{''.join(chr(0x4E00 + (i * j) % 5000) for j in range(1, 30))}]" for i in range(299)
    ),
}
TEXT = "aabab\u4e00 K" * 3
SECONDS = 5
"""Generous, because tests run on busy machines; most of it is the time limit of a search."""


def pieces_of_tokenizers(pattern: str) -> object:
    return compile_oniguruma(pattern).spans(TEXT)


def as_split(pattern: str) -> Pattern:
    return Pattern(pattern, "unicode-16.0-oniguruma")


def pieces_of_tiktoken(pattern: str) -> object:
    return Pattern(pattern).cut_text(TEXT)


@pytest.mark.parametrize("kind", [compile_oniguruma, borders_of, Pattern, as_split])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_pattern_is_read_within_a_second(name: str, kind: Callable[[str], Any]) -> None:
    seconds: list[float] = []
    while not seconds or (seconds[-1] >= 1 and len(seconds) < 3):  # a busy machine is slower
        compile_oniguruma.cache_clear()
        begin = time.process_time()
        with suppress(BpeError):
            read = kind(HOSTILE[name])
            for method in ("spans", "pieces"):
                if hasattr(read, method):
                    getattr(read, method)("")  # compiles it
        seconds.append(time.process_time() - begin)
    assert min(seconds) < 1


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
            assert Pattern(pattern).cut_text("aba") == ["a", "a"]
        else:
            with pytest.raises(BpeError, match="may be nested at most 50 deep"):
                Pattern(pattern)


def test_copies_are_multiplied() -> None:
    assert Pattern("(?:a{50}){2}").cut_text("a" * 100) == ["a" * 100]
    for pattern in (
        *("(?:a{1000}){101}", "(?:(?:a{1,50})b{50}){3000}", "(?:a{0,1000}b){101}"),
        "(?:abc){33334}",
    ):
        with pytest.raises(BpeError, match="quantifiers may say at most 100000 together"):
            Pattern(pattern)
    assert compile_oniguruma("(?:(?:a{1,50})b{50}){3000}").spans("a") == []


def test_a_tiktoken_file_with_a_hostile_pattern_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "tekken.json"
    vocab = [{"rank": byte, "token_bytes": "AA==", "token_str": None} for byte in range(256)]
    config = {"pattern": HOSTILE["nested groups"], "num_vocab_tokens": 256}
    file.write_text(json.dumps({"config": config, "vocab": vocab}), encoding="utf-8")
    with pytest.raises(BpeError):
        load(file)


@pytest.mark.parametrize("value", [2**31, 2**70, 5, "", [1], None, 1.5])
def test_whether_special_tokens_are_added_is_a_bool(value: Any) -> None:
    with pytest.raises(BpeError, match="add_special_tokens must be a bool"):
        load("tiny").encode("a", add_special_tokens=value)


@pytest.mark.parametrize("errors", ["\ud800", "\0", "a" * 10**6])
def test_a_handler_of_errors_that_nobody_knows_is_an_error_of_ours(errors: str) -> None:
    with pytest.raises(BpeError, match=r"^errors must be"):
        load("tiny").decode([255], errors=errors)


def test_a_token_id_of_any_length_is_an_error_of_ours() -> None:
    tokenizer = load("tiny")
    for decode in (tokenizer.decode, tokenizer.decode_bytes):
        with pytest.raises(BpeError, match="a whole number of more than 4000 digits"):
            decode([10**5000])


def test_a_name_of_any_length_is_in_no_message_in_full() -> None:
    with pytest.raises(BpeError) as caught:
        load("a" * 100_000)
    assert len(str(caught.value)) <= 1000


@pytest.mark.parametrize("items", [[()], [("a", "b", "c")], ["a", ()], [None], [{}], "a", None])
def test_a_batch_of_the_wrong_type_is_an_error_of_ours(items: Any) -> None:
    tokenizer = load("tiny")
    for encode in (tokenizer.encode_batch, tokenizer.tokenize_batch):
        with pytest.raises(ParameterError, match=r"^inputs( |\[\d\]: (item|text) )must "):
            encode(items)


def test_a_chunk_may_have_any_number_of_tokens() -> None:
    tokenizer, huge = load("tiny"), 10**5000
    assert tokenizer.chunks("to be", huge) == tokenizer.chunks("to be", 2, 0)
    assert tokenizer.chunks("to be", huge, huge - 1) == tokenizer.chunks("to be", 2, 0)
    for overlap in (huge, -1, -huge):
        rule = "less than a whole number of more" if overlap > 0 else "a whole number of at least 0"
        with pytest.raises(ParameterError, match=f"overlap must be {rule}"):
            tokenizer.chunks("to be", huge, overlap)


def test_a_trace_of_a_long_piece_is_refused_at_once() -> None:
    tokenizer = load("tiny")
    assert len(tokenizer.trace("a" * 1000)[0].steps) == 751
    with pytest.raises(ParameterError, match="pieces of at most 1000 characters, got 1001"):
        tokenizer.trace("a" * 1001)


HUGE = 10**5000
NOT_TEXT: Any = [1]
PLAIN = '{"version":"1.0","model":{"type":"BPE","vocab":{"a":0},"merges":[]}}'


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (lambda: vocabulary_by_concatenation({b"": HUGE}), "a token must have at least one byte"),
        (
            lambda: vocabulary_by_concatenation({b"a": -HUGE}),
            "the id of token b'a' must be a whole",
        ),
        (lambda: vocabulary_by_concatenation({b"a": HUGE, b"b": HUGE}), "each id must belong to"),
        (lambda: vocabulary_by_concatenation(None), "the tokens must be a mapping"),  # type: ignore[arg-type]
        (
            lambda: vocabulary_by_concatenation({b"a": 0}, text=TextRules(NOT_TEXT)),
            "a pattern must be text",
        ),
        (lambda: train(["a"], 256, text_rules="a"), "text_rules must be TextRules or None"),  # type: ignore[arg-type]
        (lambda: train(["a"], 256, progress=5), "progress must be a function or None"),  # type: ignore[arg-type]
        (lambda: train(["a"], 256, special_tokens=5), "special_tokens must be texts"),  # type: ignore[arg-type]
        (lambda: like().decode([HUGE]), "an id must be an integer from 0 to 4294967295"),
        (lambda: like().post_process([]), "encoding must be an Encoding"),  # type: ignore[arg-type]
        *(
            (lambda name=name: setattr(like(), name, 5), f"{name} must be a ")
            for name in ("model", "normalizer", "pre_tokenizer", "post_processor", "decoder")
        ),
    ],
)
def test_a_value_of_the_wrong_kind_or_size_is_one_sentence(
    call: Callable[[], object], rule: str
) -> None:
    with pytest.raises(BpeError, match=rule):
        call()


def like() -> LikeTokenizers:
    return LikeTokenizers.from_str(PLAIN)
