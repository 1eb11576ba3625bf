"""Mistral's tekken.json: what is read, and what is refused."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any, Final

import pytest
import tiktoken
from hypothesis import given

from bpe_ref import DecodingError, TokenIdError, VocabularyFileError, load, tokenizer_of
from bpe_ref.formats.tekken import OLD_SPECIAL_TOKENS, parse_tekken
from bpe_ref.tiny import tiny_vocabulary
from bpe_ref.vocabulary import Vocabulary
from tests.broken_files import broken_bytes, broken_json, is_read_or_refused
from tests.texts import drawn, text_of

PATTERN: Final = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LISTED: Final = ("<unk>", "<s>", "</s>", "[INST]")
SPECIALS: Final = [
    {"rank": token, "token_str": name, "is_control": True} for token, name in enumerate(LISTED)
]


def tokens_of_tiny() -> list[bytes]:
    """Return the tokens of the tiny vocabulary, the bytes first and in their order."""
    tokens = [content for _, content in sorted(tiny_vocabulary().tokens.items())]
    return [bytes([byte]) for byte in range(256)] + [t for t in tokens if len(t) > 1]


def a_file(tokens: list[bytes], **changes: Any) -> dict[str, Any]:
    """Return the content of a tekken.json, with changes to its config and at its top."""
    config = {
        "pattern": PATTERN,
        "num_vocab_tokens": len(tokens),
        "default_vocab_size": len(tokens) + 10,
        "default_num_special_tokens": 10,
        "version": "v3",
    }
    top = {
        "type": "Tekken",
        "version": 1,
        "config": {key: changes.pop(key, value) for key, value in config.items()},
        "vocab": [
            {"rank": rank, "token_bytes": b64encode(token).decode(), "token_str": None}
            for rank, token in enumerate(tokens)
        ],
        "special_tokens": SPECIALS,
    }
    return {key: value for key, value in {**top, **changes}.items() if value != "absent"}


def parsed(content: dict[str, Any]) -> Vocabulary:
    return parse_tekken(json.dumps(content).encode(), "tekken.json")


BYTES: Final = [bytes([byte]) for byte in range(256)]
SMALL: Final = a_file([*BYTES, b"ab", b" a"], image={"image_token_id": 10}, audio=None)


def test_an_id_is_a_rank_behind_the_special_tokens() -> None:
    vocabulary = parsed(SMALL)
    assert vocabulary.tokens[10] == b"\x00"
    assert vocabulary.tokens[10 + 256] == b"ab"
    assert vocabulary.special_tokens["</s>"] == 2
    assert tokenizer_of(vocabulary).encode("ab", special="ordinary") == [266]
    assert (vocabulary.text.pattern, vocabulary.text.whole_piece) == (PATTERN, True)


def test_bytes_are_not_joined_over_a_special_token_that_is_left_out(tmp_path: Path) -> None:
    """mistral-common decodes the runs between special tokens one by one."""
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(SMALL))
    tokenizer = load(path)
    count = len(tokenizer.added.tokens)
    ids = [count + 0xC3, 0, count + 0xA9, count + 0xC3, count + 0xA9]
    assert tokenizer.decode(ids, skip_special_tokens=True) == "\ufffd\ufffdé"
    assert tokenizer.decode(ids, skip_special_tokens=True, errors="ignore") == "é"
    assert tokenizer.decode_bytes(ids, skip_special_tokens=True) == b"\xc3\xa9\xc3\xa9"
    stream = tokenizer.stream(skip_special_tokens=True)
    assert [stream.push(token) for token in ids] == ["", "\ufffd", "\ufffd", "", "é"]
    with pytest.raises(DecodingError):
        tokenizer.decode(ids, skip_special_tokens=True, errors="strict")
    with pytest.raises(TokenIdError):
        tokenizer.decode([0, [0]], skip_special_tokens=True)  # type: ignore[list-item]


def test_special_tokens_that_are_not_listed_have_names_made_for_them() -> None:
    specials = parsed(SMALL).special_tokens
    assert list(specials.items())[3:6] == [("[INST]", 3), ("<SPECIAL_4>", 4), ("<SPECIAL_5>", 5)]
    assert len(specials) == 10


@pytest.mark.parametrize("version", ["v1", "v3", "v7"])
def test_an_old_file_without_a_list_has_the_twenty_old_special_tokens(version: str) -> None:
    changes = {"version": version, "default_num_special_tokens": 22, "default_vocab_size": 278}
    for absent in ("absent", None):
        changed = {**changes, "special_tokens": absent} if absent else changes
        content = a_file(BYTES, **changed)
        content.setdefault("special_tokens", None)
        content["special_tokens"] = None
        specials = parsed(content).special_tokens
        assert [*specials][:20] == [*OLD_SPECIAL_TOKENS]
        assert [*specials][20:] == ["<SPECIAL_20>", "<SPECIAL_21>"]
    assert (OLD_SPECIAL_TOKENS[2], OLD_SPECIAL_TOKENS[11]) == ("</s>", "<pad>")


def test_the_vocabulary_is_cut_to_its_default_size() -> None:
    vocabulary = parsed(a_file([*BYTES, b"ab", b"abab"], default_vocab_size=267))
    assert max(vocabulary.tokens) == 266
    assert b"abab" not in vocabulary.tokens.values()


def test_ids_are_those_of_tiktoken_moved_up_as_mistral_does_it(tmp_path: Path) -> None:
    tokens = tokens_of_tiny()
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(a_file(tokens)))
    ours = load(path)
    ranks = {token: rank for rank, token in enumerate(tokens)}
    theirs = tiktoken.Encoding("tekken", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})

    @drawn(500)
    @given(text_of(*LISTED))
    def check(text: str) -> None:
        ids = [10 + token for token in theirs.encode(text, disallowed_special=())]
        assert ours.encode(text, special="ordinary") == ids
        assert ours.decode(ids) == text

    check()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"config": "absent"}, "must have the key 'config'"),
        ({"config": []}, "config must be an object, got a list"),
        ({"vocab": {}}, "vocab must be a list, got an object"),
        ({"merges": []}, "must have no keys but .*, got 'merges'"),
        ({"default_vocab_size": 10}, r"config\.default_vocab_size must be from 11 to 267"),
        ({"default_vocab_size": 268}, r"must be from 11 to 267, the number of all tokens, got 268"),
        ({"default_vocab_size": True}, "must be a whole number"),
        ({"default_num_special_tokens": 3, "default_vocab_size": 260}, "must be at least 4"),
        ({"default_num_special_tokens": 10**9}, "must be a whole number from 0 to 999999"),
        ({"pattern": None}, r"config\.pattern must be text, got null"),
        ({"special_tokens": "absent", "version": "v11"}, "v7 or earlier where there are no"),
        ({"special_tokens": "absent", "version": "x"}, "v7 or earlier where there are no"),
        ({"special_tokens": "absent"}, "must be at least 20, the number of special tokens"),
        ({"special_tokens": [SPECIALS[1]]}, r"special_tokens\[0\]\.rank must be 0, got 1"),
        ({"special_tokens": [{"rank": 0}]}, r"special_tokens\[0\] must have the key 'token_str'"),
        (
            {"special_tokens": [SPECIALS[0], {**SPECIALS[0], "rank": 1}]},
            "special token 1 must have a name of its own, '<unk>' is also token 0",
        ),
        ({"vocab": [{"rank": 0}] * 257}, r"vocab\[0\] must have the keys rank, token_bytes"),
    ],
)
def test_a_bad_file_is_an_error_that_names_the_place(
    changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(VocabularyFileError, match=f"tekken.json: .*{sentence}"):
        parsed(a_file([*BYTES, b"ab"], **changes))


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"rank": 5}, r"vocab\[256\]\.rank must be 256, got 5"),
        ({"rank": "256"}, r"vocab\[256\]\.rank must be a whole number"),
        ({"token_bytes": "YWI"}, "must be canonical base64 of at least one byte, got 'YWI'"),
        ({"token_bytes": "YW=="}, "must be canonical base64"),
        ({"token_bytes": ""}, "must be canonical base64"),
        ({"token_bytes": "é"}, "must be canonical base64"),
        ({"token_bytes": 1}, r"vocab\[256\]\.token_bytes must be text, got 1"),
        ({"token_bytes": "YQ=="}, "must be a new token, but it is token 97, got 'YQ=='"),
        ({"token_str": 1}, r"token_str must be text or null, got 1"),
    ],
)
def test_a_bad_token_is_an_error_that_names_it(entry: dict[str, Any], sentence: str) -> None:
    content = a_file([*BYTES, b"ab"])
    content["vocab"][256].update(entry)
    with pytest.raises(VocabularyFileError, match=sentence):
        parsed(content)


def test_the_first_tokens_are_the_bytes() -> None:
    with pytest.raises(VocabularyFileError, match=r"vocab\[97\].token_bytes must be the byte 0x61"):
        parsed(a_file([*BYTES[:97], b"ab", *BYTES[98:]]))


@drawn(200)
@given(broken_json(SMALL))
def test_a_file_with_wrong_parts_is_read_or_refused(content: bytes) -> None:
    is_read_or_refused(lambda: parse_tekken(content, "tekken.json"), "tekken.json")


@drawn(200)
@given(broken_bytes(json.dumps(SMALL).encode()))
def test_a_file_with_wrong_bytes_is_read_or_refused(content: bytes) -> None:
    is_read_or_refused(lambda: parse_tekken(content, "tekken.json"), "tekken.json")
