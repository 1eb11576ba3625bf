"""`tokenizer.json`: what the library reads is read alike, and nothing is ignored silently."""

import copy
import gzip
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as EngineTokenizer

from bpe_ref import load
from bpe_ref.errors import BpeError, VocabularyFileError
from bpe_ref.formats import files
from bpe_ref.formats.hugging_face import parse_tokenizer_json
from bpe_ref.formats.hugging_face_components import (
    _LISTS,
    _READER_OF_TYPE,
    _READERS,
    KINDS,
    _declared,
)
from bpe_ref.formats.hugging_face_writing import dump_tokenizer_json
from bpe_ref.quirks import STRICT
from bpe_ref.tokenizer import Tokenizer
from tests.synthetic_tokenizers import Document, added, document, engine, trained_model
from tests.texts import drawn

SMALL: Document = {
    "type": "BPE",
    "dropout": None,
    "unk_token": None,
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "byte_fallback": False,
    "ignore_merges": False,
    "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4},
    "merges": [["a", "b"], ["b", "c"]],
}
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [
        {"SpecialToken": {"id": "<s>", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
    ],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [5], "tokens": ["<s>"]}},
}
STRING = {"String": "a"}
COMPONENTS: dict[str, list[Document]] = {
    "normalizer": [
        {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        {"type": "Strip", "strip_left": True, "strip_right": False},
        {"type": "StripAccents"},
        {"type": "NFC"},
        {"type": "NFD"},
        {"type": "NFKC"},
        {"type": "NFKD"},
        {"type": "Lowercase"},
        {"type": "Nmt"},
        {"type": "ByteLevel"},
        {"type": "Prepend", "prepend": "_"},
        {"type": "Replace", "pattern": STRING, "content": "b"},
        {"type": "Replace", "pattern": {"Regex": "a+"}, "content": "b"},
        {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]},
    ],
    "pre_tokenizer": [
        {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": False},
        {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first", "split": False},
        {"type": "Digits", "individual_digits": True},
        {"type": "Punctuation", "behavior": "Contiguous"},
        {"type": "Whitespace"},
        {"type": "WhitespaceSplit"},
        {"type": "CharDelimiterSplit", "delimiter": "x"},
        {"type": "BertPreTokenizer"},
        {"type": "UnicodeScripts"},
        {"type": "FixedLength", "length": 3},
        {"type": "Split", "pattern": STRING, "behavior": "Isolated", "invert": False},
        {"type": "Sequence", "pretokenizers": [{"type": "Whitespace"}]},
    ],
    "post_processor": [
        {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        TEMPLATE,
        {"type": "BertProcessing", "sep": ["a", 0], "cls": ["b", 1]},
        {
            "type": "RobertaProcessing",
            "sep": ["a", 0],
            "cls": ["b", 1],
            "trim_offsets": True,
            "add_prefix_space": False,
        },
        {"type": "Sequence", "processors": [TEMPLATE]},
    ],
    "decoder": [
        {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        {"type": "ByteFallback"},
        {"type": "Metaspace", "replacement": "_", "prepend_scheme": "never", "split": True},
        {"type": "Replace", "pattern": STRING, "content": "b"},
        {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        {"type": "BPEDecoder", "suffix": "</w>"},
        {"type": "WordPiece", "prefix": "##", "cleanup": True},
        {"type": "Sequence", "decoders": [{"type": "Fuse"}]},
    ],
}
ALL = [(kind, component) for kind, components in COMPONENTS.items() for component in components]
FULL = document(
    SMALL,
    normalizer=COMPONENTS["normalizer"][-1],
    pre_tokenizer=COMPONENTS["pre_tokenizer"][-1],
    post_processor=TEMPLATE,
    decoder=COMPONENTS["decoder"][0],
    added_tokens=[added("<s>", "special", id_=5), added("abc", "normalized", id_=6)],
    truncation={"direction": "Right", "max_length": 9, "strategy": "LongestFirst", "stride": 0},
    padding={
        "strategy": {"Fixed": 3},
        "direction": "Left",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "a",
    },
)


def parse(content: object) -> Tokenizer:
    return parse_tokenizer_json(json.dumps(content).encode(), "x.json")


def sentence(content: object) -> str:
    with pytest.raises(VocabularyFileError) as caught:
        parse_tokenizer_json(
            content if isinstance(content, bytes) else json.dumps(content).encode(), "x.json"
        )
    assert "\n" not in str(caught.value)
    return str(caught.value)


def changed(content: Document, way: str, value: object) -> Document:
    """Return the document with the value at `a.b` replaced, or removed if it is `...`."""
    copied = copy.deepcopy(content)
    *steps, last = way.split(".")
    node = copied
    for step in steps:
        node = node[step]
    if value is ...:
        del node[last]
    else:
        node[last] = value
    return copied


def loads(content: Document) -> EngineTokenizer | None:
    """Return the library's tokenizer, or None if it refuses the file."""
    try:
        return engine(content)
    except Exception:  # noqa: BLE001 - it raises nothing more particular
        return None


# ---- components


def test_every_field_of_every_component_can_be_read() -> None:
    for components in KINDS.values():
        for component in components.values():
            for name, hint in _declared(component).items():
                assert name in _LISTS or name in _READERS or hint in _READER_OF_TYPE, component


@pytest.mark.parametrize(("kind", "component"), ALL)
def test_a_component_written_back_is_what_the_library_writes(
    kind: str, component: Document
) -> None:
    content = document(SMALL, **{kind: component})
    written = json.loads(dump_tokenizer_json(parse(content)))[kind]
    assert written == json.loads(engine(content).to_str())[kind] == component


@pytest.mark.parametrize(("kind", "component"), ALL)
def test_fields_may_be_absent_where_the_library_says_so_and_the_same_is_meant(
    kind: str, component: Document
) -> None:
    for key in component:
        content = document(SMALL, **{kind: {k: v for k, v in component.items() if k != key}})
        theirs = loads(content)
        if theirs is None or component["type"] == "RobertaProcessing" != key != "type":
            where = sentence(content)
            assert where.startswith(f"x.json: {kind} must have the key '")
        else:
            written = json.loads(dump_tokenizer_json(parse(content)))[kind]
            assert written == json.loads(theirs.to_str())[kind]


@pytest.mark.parametrize(("kind", "component"), ALL)
def test_unknown_fields_and_types_are_errors(kind: str, component: Document) -> None:
    where = sentence(document(SMALL, **{kind: {**component, "odd\n": 1}}))
    assert f"x.json: {kind} must have no keys but " in where
    assert where.endswith("got 'odd\\n'")
    where = sentence(document(SMALL, **{kind: {**component, "type": "Odd"}}))
    assert f"x.json: {kind}.type must be one of " in where
    where = sentence(document(SMALL, **{kind: 3}))
    assert where == f"x.json: {kind} must be an object, got 3"


def test_the_place_of_an_error_is_named() -> None:
    split = {"type": "Split", "pattern": 3, "behavior": "Isolated", "invert": False}
    inner = {"type": "Sequence", "pretokenizers": [{"type": "Whitespace"}, split]}
    assert sentence(document(SMALL, pre_tokenizer=inner)) == (
        "x.json: pre_tokenizer.pretokenizers[1].pattern must be "
        '{"String": ...} or {"Regex": ...}, got 3'
    )
    split = {"type": "Split", "pattern": STRING, "behavior": "isolated", "invert": False}
    assert sentence(document(SMALL, pre_tokenizer=split)).startswith("x.json: pre_tokenizer: ")
    entry = {"<s>": {"id": "<s>", "ids": [0, -1], "tokens": ["<s>", "b"]}}
    template = {**TEMPLATE, "special_tokens": entry}
    assert sentence(document(SMALL, post_processor=template)) == (
        "x.json: post_processor.special_tokens['<s>'].ids[1] must be a whole number "
        "from 0 to 4294967295, got -1"
    )
    assert "CTC is for speech" in sentence(
        document(SMALL, decoder={"type": "CTC", "pad_token": "", "cleanup": True})
    )


OLD_FIELDS: list[Document] = [
    {"add_prefix_space": True},
    {"add_prefix_space": False, "prepend_scheme": "never"},
    {"str_rep": "_", "add_prefix_space": True, "prepend_scheme": "first"},
]


@pytest.mark.parametrize("fields", OLD_FIELDS)
def test_old_fields_of_metaspace_mean_what_they_mean_to_the_library(fields: Document) -> None:
    content = document(SMALL, pre_tokenizer={"type": "Metaspace", "replacement": "_", **fields})
    written = json.loads(dump_tokenizer_json(parse(content)))["pre_tokenizer"]
    assert written == json.loads(engine(content).to_str())["pre_tokenizer"]


# ---- the model and the rest

ACCEPTED: list[tuple[str, object]] = [
    *((f"model.{key}", ...) for key in SMALL if key not in {"vocab", "merges"}),
    *((f"model.{key}", None) for key in SMALL if key not in {"vocab", "merges", "type"}),
    *((key, ...) for key in FULL if key != "model"),
    *((key, None) for key in FULL if key not in {"model", "version", "added_tokens"}),
    ("model.merges", []),
    ("model.merges", ["a b", "b c"]),
    ("model.merges", ["#version: 0.2", "a b"]),
    ("model.merges", [["b", "c"], ["a", "b"], ["b", "c"]]),
    ("model.dropout", 0),
    ("model.dropout", 0.0),
    ("model.unk_token", "c"),
    ("model.ignore_merges", True),
    ("model.vocab", {"b": 7, "c": 2**31, "a": 2**32 - 1, "ab": 5, "bc": 4}),
    ("added_tokens", [added("", id_=9), added("c", id_=9), added("<s>", "lstrip", id_=0)]),
    ("truncation.direction", ...),
    ("padding.pad_to_multiple_of", ...),
    ("padding.strategy", "BatchLongest"),
]


@pytest.mark.parametrize(("way", "value"), ACCEPTED)
def test_what_the_library_reads_means_the_same(way: str, value: object) -> None:
    content = changed(FULL, way, value)
    ours, theirs = parse(content), engine(content)
    written = engine(json.loads(dump_tokenizer_json(ours)))
    for text in ("abcabc", "c<s>ab", "a b ", ""):
        expected = theirs.encode(text)
        assert list(ours.tokenize(text).ids) == expected.ids == written.encode(text).ids
        assert list(ours.tokenize(text).tokens) == expected.tokens
        assert ours.encode(text) == expected.ids


REFUSED: list[tuple[str, object, str]] = [
    ("version", "1.1", "version must be '1.0', got '1.1'"),
    ("version", None, "version must be text, got null"),
    ("odd", 1, "the file must have no keys but added_tokens, decoder, "),
    (
        "normalizer",
        {"type": "Precompiled", "precompiled_charsmap": "AAA="},
        "normalizer: precompiled_charsmap must have at least 4 bytes, got 2",
    ),
    ("model", ..., "the file must have the key 'model', got an object"),
    ("model", None, "model must be an object, got null"),
    ("model.type", "Unigram", "model must have no keys but byte_fallback, type, unk_id, vocab,"),
    ("model.type", "wordpiece", "model.type must be one of BPE, WordPiece, WordLevel, Unigram"),
    ("model.odd", 1, "model must have no keys but "),
    ("model.vocab", ..., "model must have the key 'vocab', got an object"),
    ("model.merges", None, "model.merges must be a list, got null"),
    ("model.merges", ["a b c"], "model.merges[0] must be two tokens with one space between them"),
    ("model.merges", ["ab"], "model.merges[0] must be two tokens with one space between them"),
    ("model.merges", ["a b", ["b", "c"]], "model.merges[1] must be text, as the first one is"),
    ("model.merges", [["a", "b"], "b c"], "model.merges[1] must be a pair of tokens, got 'b c'"),
    ("model.merges", [["a", "b", "c"]], "model.merges[0] must be a pair of tokens, got a list"),
    ("model.merges", [["a", "x"]], "model.merges[0] must be of tokens and make a token of the"),
    ("model.vocab", {"a": -1}, "model.vocab.a must be a whole number from 0 to 4294967295, got -1"),
    ("model.vocab", {"a": 2**32}, "model.vocab.a must be a whole number from 0 to 4294967295"),
    ("model.vocab", {"a": 1.0}, "model.vocab.a must be a whole number from 0 to 4294967295"),
    ("model.vocab", {"\n": True}, "model.vocab['\\n'] must be a whole number from 0 to"),
    ("model.vocab", {"a": 1, "b": 1}, "model.vocab must give each id to one token, but 1 to both"),
    ("model.vocab", [["a", 0]], "model.vocab must be an object, got a list"),
    ("model.dropout", 2, "model.dropout must be from 0 to 1, got 2.0"),
    ("model.dropout", True, "model.dropout must be a number, got true"),
    ("model.dropout", 10**400, "model.dropout must be a number of ordinary size"),
    ("model.unk_token", 1, "model.unk_token must be text, got 1"),
    ("model.fuse_unk", 1, "model.fuse_unk must be true or false, got 1"),
    ("added_tokens", None, "added_tokens must be a list, got null"),
    ("added_tokens", [3], "added_tokens[0] must be an object, got 3"),
    ("added_tokens", [{"id": 1}], "added_tokens[0] must have the key 'content', got an object"),
    ("added_tokens", [{**added("x"), "lstrip": 1}], "added_tokens[0].lstrip must be true or false"),
    ("added_tokens", [{**added("x"), "id": -1}], "added_tokens[0].id must be a whole number from"),
    ("added_tokens", [{**added("x"), "odd": 1}], "added_tokens[0] must have no keys but content,"),
    ("truncation", 3, "truncation must be an object, got 3"),
    ("truncation.stride", -1, "truncation.stride must be a whole number from 0 to"),
    ("truncation.strategy", "longest_first", "truncation.strategy must be one of LongestFirst, "),
    ("padding.strategy", {"Fixed": -1}, "padding.strategy.Fixed must be a whole number from 0"),
    ("padding.strategy", "Longest", 'padding.strategy must be "BatchLongest" or {"Fixed": ...}'),
    ("padding.pad_id", 2**32, "padding.pad_id must be a whole number from 0 to 4294967295"),
]


@pytest.mark.parametrize(("way", "value", "expected"), REFUSED)
def test_what_is_wrong_is_said_in_one_sentence(way: str, value: object, expected: str) -> None:
    assert expected in sentence(changed(FULL, way, value))


def test_version_lines_are_merges_strictly() -> None:
    content = json.dumps(changed(FULL, "model.merges", ["#version: 0.2", "a b"])).encode()
    with pytest.raises(VocabularyFileError, match=r"x\.json: model\.merges\[0\] must be of tokens"):
        parse_tokenizer_json(content, "x.json", STRICT)


# ---- hostile files

BAD_BYTES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "not JSON that can be used: Expecting value"),
    "cut off": (json.dumps(FULL).encode()[:-9], "not JSON that can be used"),
    "not UTF-8": (b'{"a": "\xff"}', "byte 7 is not UTF-8"),
    "UTF-16": ("\ufeff{}".encode("utf-16"), "byte 0 is not UTF-8"),
    "byte order mark": ("\ufeff{}".encode(), "not JSON that can be used"),
    "twice": (b'{"model": 1, "model": 2}', "the key 'model' comes twice in one object"),
    "twice in vocab": (b'{"model": {"vocab": {"a": 0, "a": 1}}}', "the key 'a' comes twice"),
    "NaN": (b'{"model": NaN}', "NaN is no number"),
    "infinite": (b'{"model": -Infinity}', "-Infinity is no number"),
    "a long number": (b'{"model": ' + b"9" * 5000 + b"}", "a number is too long"),
    "a surrogate": (b'{"model": {"vocab": {"\\ud800": 0}}}', "holds half of a surrogate pair"),
    "a raw control character": (b'{"a\n": 0}', "not JSON that can be used"),
    "deep lists": (b"[" * 100_000, "the JSON is nested too deeply"),
    "deep objects": (b'{"a":' * 100_000, "the JSON is nested too deeply"),
    "a list": (b"[]", "the file must be an object, got a list"),
    "more behind": (b"{} x", "not JSON that can be used: Extra data"),
}


@pytest.mark.parametrize("name", BAD_BYTES)
def test_bytes_that_are_no_file_are_refused(name: str) -> None:
    data, expected = BAD_BYTES[name]
    assert expected in sentence(data)


@pytest.mark.parametrize("kind", ["normalizer", "pre_tokenizer", "post_processor", "decoder"])
def test_sequences_nested_too_deeply_are_refused(kind: str) -> None:
    field = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers"}
    key = field.get(kind, "processors" if kind == "post_processor" else "decoders")
    nested: Document = {"type": "Sequence", key: []}
    for _ in range(150):
        nested = {"type": "Sequence", key: [nested]}
    assert "must have at most 100 sequences in one another" in sentence(
        document(SMALL, **{kind: nested})
    )


def nodes(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each value in a JSON value."""
    yield way
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from nodes(value[key], (*way, key))


VALUES: list[object] = [
    *(None, True, False, 0, 1, -1, 2, 2**31, 2**32, 2**64, 10**30, 0.5, 1e308, "", "a", "ab", "x"),
    *("<s>", "\n", "NFC", "Sequence", "Right", [], {}, [[]], [0], ["a"], ["a", 0], {"a": 0}),
    *({"type": "NFC"}, {"type": "Fuse"}, {"String": ""}, {"Regex": "("}, {"Fixed": 2**40}),
]
DOCUMENTS = [FULL, *(document(SMALL, **{kind: component}) for kind, component in ALL)]
PLACES = [(content, way) for content in DOCUMENTS for way in nodes(content)]


def outcome(data: bytes) -> Tokenizer | str:
    """Return the tokenizer, or the sentence that refuses it; nothing else may happen."""
    try:
        return parse_tokenizer_json(data, "x.json")
    except VocabularyFileError as error:
        return str(error)


def used(pipeline: Tokenizer, text: str) -> list[int] | str:
    """Return ids that were decoded too, or the sentence that refuses the text."""
    try:
        ids = list(pipeline.tokenize(text, draw=lambda: 1.0).ids)
        pipeline.decode(ids)
    except BpeError as error:
        return str(error)
    return ids


@drawn(1500)
@given(st.sampled_from(PLACES), st.sampled_from(VALUES), st.booleans())
def test_any_value_anywhere_gives_a_tokenizer_or_one_sentence(
    place: tuple[Document, tuple[Any, ...]], value: object, remove: bool
) -> None:
    content, way = copy.deepcopy(place[0]), place[1]
    if way:
        node = content
        for step in way[:-1]:
            node = node[step]
        if remove:
            del node[way[-1]]
        else:
            node[way[-1]] = value
    pipeline = outcome(json.dumps(content if way or remove else value).encode())
    if isinstance(pipeline, str):
        assert pipeline.startswith("x.json: ")
        assert "\n" not in pipeline
        assert len(pipeline) < 600
        return
    theirs = loads(content)
    for text in ("abcabc", "c<s>ab a", ""):
        ids = used(pipeline, text)
        if isinstance(ids, str):
            assert "\n" not in ids
        elif theirs is not None and not pipeline.model.drops_merges:
            assert ids == theirs.encode(text).ids


@drawn(300)
@given(st.integers(0, 3000), st.integers(0, 255))
def test_any_byte_anywhere_gives_a_tokenizer_or_one_sentence(at: int, byte: int) -> None:
    data = bytearray(json.dumps(FULL, ensure_ascii=False).encode())
    data[at % len(data)] = byte
    assert "\n" not in str(outcome(bytes(data)))


def test_very_many_added_tokens_are_read_and_found_in_bounded_time() -> None:
    listed = [added(f"<{number}>", "normalized", id_=number) for number in range(100_000)]
    data = json.dumps(document(SMALL, added_tokens=listed)).encode()
    start = time.process_time()
    pipeline = parse_tokenizer_json(data, "x.json")
    assert pipeline.encode("a<99999>b<7><100000>")[:4] == [0, 100_004, 1, 12]
    assert time.process_time() - start < 10


def test_a_file_may_be_packed_and_must_not_be_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tokenizer.json.gz"
    path.write_bytes(gzip.compress(json.dumps(FULL).encode()))
    assert load(path).encode("abc") == parse(FULL).encode("abc")
    monkeypatch.setattr(files, "MAXIMUM_SIZE", 1000)
    with pytest.raises(VocabularyFileError, match="must have at most 1000 bytes unpacked"):
        load(path)


# ---- writing


def test_what_is_written_is_read_by_the_library_with_the_same_ids() -> None:
    models: list[Callable[[], Document]] = [
        lambda: trained_model(unk=True, byte_tokens=200),
        lambda: trained_model(prefix="##", suffix="</w>", words=True),
        lambda: trained_model(scripts=True, ignore_merges=True, fuse_unk=True, dropout=0.0),
    ]
    listed = [added("<s>", "special"), added("the", "single_word"), added("<s>", "lstrip")]
    for model in models:
        content = document(model(), added_tokens=listed)
        data = dump_tokenizer_json(parse(content))
        ours, theirs, original = parse(json.loads(data)), engine(json.loads(data)), engine(content)
        for text in ("the token 你好 <s>", "don't 'straße'"):
            assert ours.encode(text) == theirs.encode(text).ids == original.encode(text).ids
        assert dump_tokenizer_json(ours) == data


def test_half_a_surrogate_pair_cannot_be_written() -> None:
    from bpe_ref.models.bpe import BPE

    with pytest.raises(BpeError, match="a tokenizer file must hold text"):
        dump_tokenizer_json(Tokenizer(BPE({"\ud800": 0}, [])))
