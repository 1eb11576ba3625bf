"""Our own vocabulary files say everything, and are refused when they say it wrongly."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from bpe_ref import (
    TextRules,
    Vocabulary,
    VocabularyFileError,
    load,
    vocabulary_by_concatenation,
    vocabulary_by_pair,
    vocabulary_of,
)
from bpe_ref.formats.plain_json import NamedVocabulary, dump_plain_json, parse_plain_json
from tests.strategies import vocabularies

BY_PAIR = vocabulary_by_pair(
    {b"a": 5, b"b": 0, b"ab": 9, b"aba": 12},
    [(b"ab", b"a"), (b"a", b"b"), (b"ab", b"a")],
    text=TextRules(pattern=r"\w+", tables="unicode-16.0", normalization="nfc", whole_piece=True),
    special_tokens={"<é>": 77, "<b>": 77, "<c>": 3},
)


@given(vocabularies())
def test_every_vocabulary_survives_the_file(vocabulary: Vocabulary) -> None:
    data = dump_plain_json(NamedVocabulary("v", "any", vocabulary))
    assert data.isascii()
    again = parse_plain_json(data, "v.json")
    assert again.vocabulary.digest() == vocabulary.digest()
    assert dump_plain_json(again) == data


def test_duplicate_merges_and_shared_special_ids_survive_the_file() -> None:
    again = parse_plain_json(dump_plain_json(NamedVocabulary("v", "w", BY_PAIR)), "v.json")
    assert again.vocabulary.rule.merge(5, 0) == BY_PAIR.rule.merge(5, 0)
    assert again.vocabulary.token_bytes(77) == "<é>".encode()
    assert again.vocabulary.text == BY_PAIR.text
    assert (again.name, again.why) == ("v", "w")


def test_a_json_file_is_loaded_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_bytes(dump_plain_json(NamedVocabulary("v", "w", BY_PAIR)))
    assert vocabulary_of(load(path)).digest() == BY_PAIR.digest()
    assert vocabulary_of(load(str(path))).digest() == BY_PAIR.digest()


def edited(edit: Callable[[dict[str, Any]], Any]) -> bytes:
    content = json.loads(dump_plain_json(NamedVocabulary("v", "w", BY_PAIR)))
    edit(content)
    return json.dumps(content).encode()


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (lambda content: content.pop("rule"), "the file must have the key 'rule'"),
        (lambda content: content.update(more=1), "must have no keys but digest"),
        (lambda content: content.update(rule="both"), "rule must be one of concatenation, pair"),
        (lambda content: content.update(whole_piece=1), "whole_piece must be true or false, got 1"),
        (lambda content: content.update(pattern=5), "pattern must be text, got 5"),
        (
            lambda content: content["tokens"].append(["zz", 50, None]),
            "in lower-case hexadecimal, got 'zz'",
        ),
        (lambda content: content["tokens"].append(["61", 50, None]), "but b'a' is twice"),
        (lambda content: content["tokens"].append(["63", 5, None]), "id 5 is given to"),
        (lambda content: content["tokens"].append(["", 50, None]), "at least one byte"),
        (lambda content: content["tokens"].append(["63", -1, None]), "whole number from 0, got -1"),
        (lambda content: content["tokens"].append(["63", True, None]), "whole number from 0"),
        (
            lambda content: content["tokens"].append(["63"]),
            "tokens[4] must be [bytes in hex, id, rank]",
        ),
        (lambda content: content["merges"].append([5, 99]), "two tokens by their ids, got (5, 99)"),
        (lambda content: content["merges"].append([9, 9]), "b'abab' is not a token"),
        (lambda content: content["special_tokens"].append(["<d>", 5]), "an id of its own"),
        (
            lambda content: content["special_tokens"].append(["<d>"]),
            "special_tokens[3] must be [text, id]",
        ),
        (lambda content: content["tokens"].append(["63", 50, None]), "digest must be that of"),
        (lambda content: content.update(whole_piece=False), "digest must be that of"),
        (lambda content: content.update(tokens=[], merges=[]), "at least one token"),
        (lambda content: content.update(tables=None), "both a pattern and its tables, or neither"),
        (lambda content: content["special_tokens"].append(["<b>", 9]), "but one is twice"),
        (lambda content: content["tokens"].append(["6 1", 50, None]), "lower-case hexadecimal"),
        (lambda content: content["tokens"].append(["FF", 50, None]), "lower-case hexadecimal"),
        (lambda content: content.update(rule="concatenation"), "there must be no list of merges"),
    ],
)
def test_a_wrong_file_is_refused_in_one_sentence(
    edit: Callable[[dict[str, Any]], Any], sentence: str
) -> None:
    with pytest.raises(VocabularyFileError) as caught:
        parse_plain_json(edited(edit), "v.json")
    assert str(caught.value).startswith("v.json: ")
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_digest_name_and_why_may_be_left_out() -> None:
    def edit(content: dict[str, Any]) -> None:
        for key in ("digest", "name", "why"):
            del content[key]

    again = parse_plain_json(edited(edit), "v.json")
    assert again.vocabulary.digest() == BY_PAIR.digest()
    assert (again.name, again.why) == ("", "")


def test_a_key_that_comes_twice_is_refused() -> None:
    data = edited(lambda _: None).replace(b'"rule":', b'"rule": "pair", "rule":')
    with pytest.raises(VocabularyFileError, match="the key 'rule' comes twice"):
        parse_plain_json(data, "v.json")


def test_a_missing_rank_by_concatenation_is_refused() -> None:
    vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1})
    data = dump_plain_json(NamedVocabulary("v", "w", vocabulary)).replace(b"1,1]", b"1,null]")
    with pytest.raises(VocabularyFileError, match=r"the rank of token b'b' must be a whole number"):
        parse_plain_json(data, "v.json")


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"\xff", b"null", b"[" * 100_000])
def test_what_is_no_json_object_is_refused(data: bytes) -> None:
    with pytest.raises(VocabularyFileError, match=r"^v.json(: |, byte 0 )"):
        parse_plain_json(data, "v.json")
