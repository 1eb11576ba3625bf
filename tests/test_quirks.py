"""Every choice of `Quirks` shows in a smallest example, and the documentation has it."""

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import pytest
import tokenizers

from authoring.tokenizer_files.charsmaps import compile_charsmap
from bpe_ref.errors import BpeError
from bpe_ref.formats.hugging_face import parse_tokenizer_json
from bpe_ref.models.bpe import BPE
from bpe_ref.quirks import HUGGING_FACE, STRICT, Quirks
from bpe_ref.tokenizer import Tokenizer, UnknownIds

PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "tokenizers.md"
FIELDS: Final = [field.name for field in fields(Quirks) if field.name != "name"]
FLAGS: Final = ("single_word", "lstrip", "rstrip", "normalized", "special")

Json = dict[str, Any]
Either = Tokenizer | tokenizers.Tokenizer
Question = Callable[[Either], str]


@dataclass(frozen=True)
class Quirk:
    """A file, what is asked of it, and both answers."""

    document: Json
    question: Question
    engine: str
    strict: str


def document(
    tokens: str, merges: Sequence[str] = (), *, added: Sequence[Json] = (), **sections: Any
) -> Json:
    """Return a file of tokens with the ids 0, 1, 2 and so on; `model` adds to the model."""
    vocab = {token: number for number, token in enumerate(tokens.split())}
    model = {"type": "BPE", "vocab": vocab, "merges": list(merges), **sections.pop("model", {})}
    listed = [
        {"id": len(vocab) + place, **dict.fromkeys(FLAGS, False), **entry}
        for place, entry in enumerate(added)
    ]
    return {"added_tokens": listed, **sections, "model": model}


def tokens_of(text: str) -> Question:
    """Ask for the tokens of a text."""

    def ask(tokenizer: Either) -> str:
        if isinstance(tokenizer, Tokenizer):
            return " ".join(tokenizer.tokenize(text, draw=lambda: 0.75).tokens)
        return " ".join(tokenizer.encode(text).tokens)

    return ask


def ids_of(text: str) -> Question:
    """Ask for the ids of a text."""

    def ask(tokenizer: Either) -> str:
        if isinstance(tokenizer, Tokenizer):
            return " ".join(map(str, tokenizer.encode(text)))
        return " ".join(map(str, tokenizer.encode(text).ids))

    return ask


def text_of(*ids: int) -> Question:
    """Ask for the text of ids."""

    def ask(tokenizer: Either) -> str:
        if isinstance(tokenizer, Tokenizer):
            unknown: UnknownIds = "refuse"
            if tokenizer.added_tokens.quirks.unknown_ids_dropped:
                unknown = "skip"
            return tokenizer.decode(ids, skip_special_tokens=True, unknown_ids=unknown)
        return str(tokenizer.decode(ids, skip_special_tokens=True))

    return ask


def merges_of(tokenizer: Either) -> str:
    """Ask for the number of merges."""
    if isinstance(tokenizer, Tokenizer):
        assert isinstance(tokenizer.model, BPE)
        return str(len(tokenizer.model.merges))
    return str(len(json.loads(tokenizer.to_str())["model"]["merges"]))


BYTES: Final = " ".join(f"<0x{byte:02X}>" for byte in range(256))
BYTE_FALLBACK: Final = {
    "type": "Sequence",
    "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}],
}
BYTE_LEVEL: Final = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False}
INSERTING: Final = {
    "type": "Sequence",
    "normalizers": [
        {"type": "Replace", "pattern": {"Regex": "^"}, "content": "_"},
        {"type": "Strip", "strip_left": False, "strip_right": True},
    ],
}
REWRITING: Final = {
    "type": "Precompiled",
    "precompiled_charsmap": base64.b64encode(compile_charsmap({"ab": "x"})).decode(),
}
BERT: Final = {"type": "BertProcessing", "sep": ["<e>", 2], "cls": ["<b>", 1]}
ONE: Final = {"direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 0}

QUIRKS: Final[Mapping[str, Quirk]] = {
    "ids_from_vocabulary": Quirk(
        document("a b", added=[{"content": "<x>", "id": 7}]), ids_of("a<x>"), "0 2", "0 7"
    ),
    "version_lines_dropped": Quirk(
        document("a #version #versiona", ["#version a"]), merges_of, "0", "1"
    ),
    "unknown_after_bytes": Quirk(
        document("<unk> <0x61>", model={"unk_token": "<unk>", "byte_fallback": True}),
        tokens_of("ba"),
        "<0x61> <unk>",
        "<unk> <0x61>",
    ),
    "missing_characters_dropped": Quirk(
        document("a b ab", ["a b"]), tokens_of("axb"), "ab", "error"
    ),
    "stripped_text_repeats": Quirk(
        document("a", added=[{"content": "<x>", "rstrip": True}, {"content": "\t"}]),
        tokens_of("<x>\ta"),
        "<x>\t \t a",
        "<x>\t a",
    ),
    "rejected_match_hides": Quirk(
        document("a b", added=[{"content": "-b", "single_word": True}, {"content": "-"}]),
        tokens_of("-ba"),
        "b a",
        "- b a",
    ),
    "ignore_merges_off_with_dropout": Quirk(
        document("a b ab", model={"ignore_merges": True, "dropout": 0.5}),
        tokens_of("ab"),
        "a b",
        "ab",
    ),
    "unknown_ids_dropped": Quirk(document("a b"), text_of(0, 9, 1), "a b", "error"),
    "byte_fallback_all_or_nothing": Quirk(
        document(BYTES, decoder=BYTE_FALLBACK),
        text_of(0x61, 0xC3, 0xA9, 0xC3),
        "\ufffd\ufffd\ufffd\ufffd",
        "aé\ufffd",
    ),
    "byte_fallback_reads_any_number": Quirk(
        document("<0x6a>", decoder=BYTE_FALLBACK), text_of(0), "j", "<0x6a>"
    ),
    "byte_level_maps_added_tokens": Quirk(
        document("a", added=[{"content": "Ġfoo"}], decoder=BYTE_LEVEL),
        text_of(0, 1),
        "a foo",
        "aĠfoo",
    ),
    "short_strip_fails": Quirk(
        document("_", decoder={"type": "Strip", "content": "_", "start": 1, "stop": 1}),
        text_of(0),
        "error",
        "",
    ),
    "short_max_length_ignored": Quirk(
        document(
            "a",
            added=[{"content": "<b>", "special": True}, {"content": "<e>", "special": True}],
            post_processor=BERT,
            truncation=ONE,
        ),
        tokens_of("aa"),
        "<b> a a <e>",
        "error",
    ),
    "normalized_form_shown": Quirk(
        document(
            "a",
            added=[{"content": "<X>", "normalized": True, "special": True}],
            normalizer={"type": "Lowercase"},
        ),
        text_of(0, 1),
        "a <x>",
        "a",
    ),
    "insertions_may_stand_for_nothing": Quirk(
        document("a b _", normalizer=INSERTING), tokens_of("ab "), "_ _ a b", "_ a b"
    ),
    "precompiled_by_clusters": Quirk(
        document("a b x", normalizer=REWRITING), tokens_of("ab"), "a b", "x"
    ),
}
"""By field. The answers are as in the table of the page."""


def answer(quirk: Quirk, quirks: Quirks) -> str:
    """Return our answer."""
    try:
        content = json.dumps(quirk.document).encode()
        return quirk.question(parse_tokenizer_json(content, "example", quirks))
    except BpeError:
        return "error"


def test_every_choice_has_an_example() -> None:
    assert sorted(QUIRKS) == sorted(FIELDS)


@pytest.mark.parametrize("name", QUIRKS)
def test_the_engine_does_what_the_example_says(name: str) -> None:
    quirk = QUIRKS[name]
    try:
        theirs = quirk.question(tokenizers.Tokenizer.from_str(json.dumps(quirk.document)))
    except BaseException as error:  # noqa: BLE001 -- a panic is one
        assert type(error).__name__ == "PanicException"  # noqa: PT017 -- it has no other name
        theirs = "error"
    assert theirs == quirk.engine == answer(quirk, HUGGING_FACE)


@pytest.mark.parametrize("name", QUIRKS)
def test_the_choice_alone_makes_the_difference(name: str) -> None:
    quirk = QUIRKS[name]
    alone = Quirks(name, *[field != name for field in FIELDS])
    assert answer(quirk, STRICT) == answer(quirk, alone) == quirk.strict != quirk.engine


@pytest.mark.parametrize("name", QUIRKS)
def test_the_page_has_the_example_and_both_answers(name: str) -> None:
    row = re.search(rf"^\| `{name}` \|.*$", PAGE.read_text(), re.MULTILINE)
    assert row is not None
    cells = [cell.strip() for cell in row[0].strip("|").split("|")]
    shown = [
        {"error": "an error", "": "nothing"}.get(text, f"`{json.dumps(text)[1:-1]}`")
        for text in (QUIRKS[name].engine, QUIRKS[name].strict)
    ]
    assert cells[3:5] == [text.replace("\\u00e9", "é").replace("\\u0120", "Ġ") for text in shown]
