"""Settings beside a tokenizer: which ids stop a text, and which file says so."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref import VocabularyFileError
from bpe_ref.formats.generation import (
    GenerationSettings,
    parse_generation_settings,
    read_generation_settings,
)
from tests.broken_files import broken_bytes, broken_json, is_read_or_refused
from tests.texts import drawn

LLAMA: Final[dict[str, Any]] = {
    "generation_config.json": {"eos_token_id": [128001, 128008, 128009], "temperature": 0.6},
    "config.json": {"eos_token_id": 128001},
    "tokenizer_config.json": {
        "eos_token": {"__type": "AddedToken", "content": "<|eot_id|>", "lstrip": False},
        "added_tokens_decoder": {
            "128000": {"content": "<|begin_of_text|>"},
            "128009": {"content": "<|eot_id|>"},
        },
        "chat_template": "{% for message in messages %}",
    },
    "special_tokens_map.json": {"eos_token": "</s>", "bos_token": "<s>"},
}
VOCABULARY: Final = {"</s>": 2, "<s>": 1, "<|eot_id|>": 128009}


def parsed(contents: dict[str, Any], token_ids: dict[str, int] | None = None) -> GenerationSettings:
    files = {name: json.dumps(content).encode() for name, content in contents.items()}
    return parse_generation_settings(files, "model", token_ids or {})


def without(*names: str) -> dict[str, Any]:
    return {name: content for name, content in LLAMA.items() if name not in names}


def test_the_generation_config_comes_first_with_all_its_ids() -> None:
    settings = parsed(LLAMA)
    assert settings.stop_ids == (128001, 128008, 128009)
    assert settings.stop_source == "generation_config.json: eos_token_id"


def test_without_it_the_models_config_says_which() -> None:
    settings = parsed(without("generation_config.json"))
    assert (settings.stop_ids, settings.stop_source) == ((128001,), "config.json: eos_token_id")


def test_a_token_by_its_text_may_be_an_object_and_is_looked_up() -> None:
    settings = parsed(without("generation_config.json", "config.json"))
    assert settings.stop_ids == (128009,)
    assert settings.stop_source == "tokenizer_config.json: eos_token"


def test_the_map_of_special_tokens_comes_last() -> None:
    only = {"special_tokens_map.json": LLAMA["special_tokens_map.json"]}
    assert parsed(only, VOCABULARY).stop_ids == (2,)


def test_no_name_is_guessed() -> None:
    settings = parsed({"tokenizer_config.json": {"add_eos_token": True}}, VOCABULARY)
    assert settings == GenerationSettings()
    assert parsed({}, VOCABULARY) == GenerationSettings()
    assert settings.stop_source is None


def test_null_says_nothing_and_an_empty_list_says_that_nothing_stops() -> None:
    null = {"generation_config.json": {"eos_token_id": None}, "config.json": {"eos_token_id": 5}}
    assert parsed(null).stop_ids == (5,)
    empty = {"generation_config.json": {"eos_token_id": []}, "config.json": {"eos_token_id": 5}}
    assert parsed(empty).stop_ids == ()
    assert parsed(empty).stop_source == "generation_config.json: eos_token_id"


@pytest.mark.parametrize(
    ("contents", "sentence"),
    [
        ({"config.json": []}, r"model/config\.json: the file must be an object, got a list"),
        ({"config.json": {"eos_token_id": "2"}}, "eos_token_id must be a whole number .* got '2'"),
        ({"config.json": {"eos_token_id": True}}, "eos_token_id must be a whole number"),
        ({"config.json": {"eos_token_id": [1, -1]}}, r"eos_token_id\[1\] must be a whole number"),
        ({"tokenizer_config.json": {"eos_token": "x"}}, "eos_token must be a token of the vocab"),
        ({"tokenizer_config.json": {"eos_token": {}}}, "eos_token must have the key 'content'"),
        ({"tokenizer_config.json": {"eos_token": 5}}, "eos_token must be text, got 5"),
        (
            {"tokenizer_config.json": {"added_tokens_decoder": {"x": {}}}},
            "must be under an id from 0 to 4294967295",
        ),
        (
            {"tokenizer_config.json": {"added_tokens_decoder": {"5": {"content": "</s>"}}}},
            "must have its id 2 here too, got '</s>'",
        ),
    ],
)
def test_a_wrong_setting_is_an_error_that_names_the_place(
    contents: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(VocabularyFileError, match=sentence):
        parsed(contents, VOCABULARY)


def test_files_are_read_from_their_folder(tmp_path: Path) -> None:
    for name, content in LLAMA.items():
        (tmp_path / name).write_text(json.dumps(content))
    assert read_generation_settings(tmp_path) == parsed(LLAMA)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(VocabularyFileError, match=r"config\.json: not JSON that can be used"):
        read_generation_settings(tmp_path)
    assert read_generation_settings(tmp_path / "none") == GenerationSettings()


@drawn(400)
@given(st.sampled_from(sorted(LLAMA)), st.data())
def test_broken_settings_are_read_or_refused(name: str, data: st.DataObject) -> None:
    files = {other: json.dumps(content).encode() for other, content in LLAMA.items()}
    broken = broken_json(LLAMA[name]) | broken_bytes(files[name])
    files[name] = data.draw(broken)
    is_read_or_refused(lambda: parse_generation_settings(files, "model", VOCABULARY), "model/")
