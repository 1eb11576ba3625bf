"""Every kind of file gives one tokenizer: the same methods, with one meaning."""

import copy
import json
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref import (
    AddedToken,
    AddedTokens,
    DecodingError,
    ParameterError,
    Special,
    SpecialTokenError,
    TextRules,
    TokenIdError,
    Tokenizer,
    load,
    tokenizer_of,
    vocabulary_by_concatenation,
    vocabulary_of,
)
from bpe_ref.decoders.utf8_stream import STREAM_ERRORS
from bpe_ref.formats.byte_level_json import write_tokenizer_json
from bpe_ref.formats.gpt2 import write_gpt2
from bpe_ref.formats.merges_text import write_merges_text
from bpe_ref.formats.minbpe import write_minbpe
from bpe_ref.formats.plain_json import NamedVocabulary, dump_plain_json
from bpe_ref.formats.tiktoken import write_tiktoken
from bpe_ref.models.bpe import BPE
from bpe_ref.models.sentencepiece import Piece
from bpe_ref.normalizers.rewriting import Lowercase
from bpe_ref.post_processors import BertProcessing
from bpe_ref.post_processors.padding import Padding
from bpe_ref.post_processors.truncation import Truncation
from tests.sentencepiece_models import BYTES, UNKNOWN, a_model
from tests.test_gpt2_formats import SMALL
from tests.test_minbpe_format import small
from tests.test_tekken import SMALL as TEKKEN
from tests.texts import drawn, text_of

LLAMA: Final[dict[str, Any]] = {
    "added_tokens": [
        {
            "id": 3,
            "content": "<s>",
            "special": True,
            "normalized": False,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
        }
    ],
    "normalizer": {
        "type": "Sequence",
        "normalizers": [
            {"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        ],
    },
    "post_processor": {
        "type": "TemplateProcessing",
        "single": [
            {"SpecialToken": {"id": "<s>", "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}},
        ],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [3], "tokens": ["<s>"]}},
    },
    "decoder": {
        "type": "Sequence",
        "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        ],
    },
    "model": {
        "type": "BPE",
        "byte_fallback": True,
        "unk_token": "<unk>",
        "vocab": {
            "<unk>": 0,
            "▁": 1,
            "a": 2,
            "<s>": 3,
            "b": 4,
            "ab": 5,
            "▁ab": 6,
            **{f"<0x{byte:02X}>": 7 + byte for byte in range(256)},
        },
        "merges": ["a b", "▁ ab"],
    },
}
"""A file like that of Llama 2."""


@cache
def written() -> dict[str, str]:
    """Return a file or folder, or a name, of every kind that `load` takes."""
    folder = Path(mkdtemp())
    write_tiktoken({content: token for token, content in SMALL.tokens.items()}, folder / "tiktoken")
    (folder / "plain.json").write_bytes(dump_plain_json(NamedVocabulary("small", "a test", SMALL)))
    write_minbpe(small(), folder / "minbpe.model")
    (folder / "tekken.json").write_text(json.dumps(TEKKEN))
    write_gpt2(SMALL, folder / "vocab.bpe", folder / "encoder.json")
    write_merges_text(small(), folder / "merges.txt", folder / "vocab.json")
    write_tokenizer_json(vocabulary_of(load("tiny")), folder / "bytes.json")
    (folder / "llama.json").write_text(json.dumps(LLAMA))
    scores = [[token, -2.0 * len(token)] for token in LLAMA["model"]["vocab"]]
    unigram = {"type": "Unigram", "unk_id": 0, "vocab": scores, "byte_fallback": True}
    (folder / "unigram.json").write_text(json.dumps({**LLAMA, "model": unigram}))
    pieces = [UNKNOWN, Piece("<s>", kind="control"), *BYTES]
    pieces += [Piece(text, -float(n)) for n, text in enumerate(["▁", "a", "b", "ab", "▁ab"])]
    pieces += [Piece("<|x|>", kind="user-defined")]
    model = a_model(pieces, {35: 1})
    (folder / "tokenizer.model").write_bytes(model)
    (folder / "folder").mkdir()
    (folder / "folder" / "tokenizer.model").write_bytes(model)
    names = [
        path.name for path in folder.iterdir() if path.name not in ("encoder.json", "merges.txt")
    ]
    return {"name": "tiny", **{name: str(folder / name) for name in names}}


KINDS: Final = sorted(written())
TEXT: Final = text_of("ab", " ab", "<s>", "<|x|>", "<|endoftext|>", "é", "漢", longest=8)


@cache
def loaded(kind: str) -> Tokenizer:
    return load(written()[kind])


def tokenizers(function: Callable[..., None]) -> Callable[..., None]:
    decorated: Callable[..., None] = pytest.mark.parametrize("kind", KINDS)(function)
    return decorated


@tokenizers
def test_encode_returns_the_ids_that_tokenize_returns_and_count_their_number(kind: str) -> None:
    tokenizer = loaded(kind)

    @drawn(60)
    @given(TEXT, st.booleans(), st.sampled_from(["recognise", "ordinary"]), st.booleans())
    def check(text: str, template: bool, special: Any, is_pair: bool) -> None:
        how: dict[str, Any] = {"add_special_tokens": template, "special": special}
        texts = (text, "ab") if is_pair else (text,)
        encoding = tokenizer.tokenize(*texts, **how)
        ids = tokenizer.encode(*texts, **how)
        assert type(ids) is list
        assert ids == list(encoding.ids)
        assert tokenizer.count(*texts, **how) == len(ids)
        assert tokenizer.encode_batch([texts if is_pair else text], **how) == [ids]
        assert tokenizer.tokenize_batch([texts if is_pair else text], **how) == [encoding]
        limit = len(text)
        assert all(0 <= start <= stop <= limit for start, stop in encoding.offsets if not is_pair)

    check()


@tokenizers
def test_a_trace_ends_with_the_tokens_of_each_piece(kind: str) -> None:
    tokenizer = loaded(kind)

    @drawn(40)
    @given(TEXT)
    def check(text: str) -> None:
        traced = tokenizer.trace(text)
        ids = [token for piece in traced for token in piece.steps[-1]]
        assert ids == tokenizer.encode(text, add_special_tokens=False)
        assert [piece.piece for piece in traced] == tokenizer.pieces(text)

    check()


@tokenizers
def test_streams_give_the_text_that_decode_gives_whatever_the_errors(kind: str) -> None:
    tokenizer = loaded(kind)
    known = sorted(set(tokenizer.vocab.values()))

    @drawn(80)
    @given(
        st.lists(st.sampled_from(known), max_size=8), st.sampled_from(STREAM_ERRORS), st.booleans()
    )
    def check(ids: list[int], errors: str, skip: bool) -> None:
        stream = tokenizer.stream(errors=errors, skip_special_tokens=skip)
        try:
            text = tokenizer.decode(ids, errors=errors, skip_special_tokens=skip)
        except DecodingError:
            with pytest.raises(DecodingError):
                _ = stream.extend(ids) + stream.finish()
        else:
            assert stream.extend(ids) + stream.finish() == text

    check()
    data = tokenizer.decode_bytes(tokenizer.encode("ab é", special="ordinary"))
    assert data.strip().endswith("ab é".encode())


@tokenizers
def test_a_limit_below_zero_is_refused_as_it_was_given(kind: str) -> None:
    for limit in (-1, -(10**30), 1.5, None):
        with pytest.raises(ParameterError, match=rf"limit .* got {str(limit)[:20]}"):
            loaded(kind).count_till_limit("ab", limit)  # type: ignore[arg-type]


@tokenizers
def test_unknown_ids_are_refused_or_skipped(kind: str) -> None:
    tokenizer = loaded(kind)
    ids = tokenizer.encode("ab")
    for wrong in (10**6, -1, True, "a", None):
        with pytest.raises(TokenIdError):
            tokenizer.decode([*ids, wrong])  # type: ignore[list-item]
    assert tokenizer.decode([10**6, *ids], unknown_ids="skip") == tokenizer.decode(ids)
    stream = tokenizer.stream(unknown_ids="skip")
    assert stream.extend([10**6, *ids]) + stream.finish() == tokenizer.decode(ids)
    for call in (tokenizer.decode, tokenizer.decode_bytes):
        with pytest.raises(ParameterError, match='unknown_ids must be "refuse" or "skip"'):
            call(ids, unknown_ids="drop")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="unknown_ids must be"):
        tokenizer.stream(unknown_ids="drop")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="errors must be"):
        tokenizer.decode(ids, errors="nonsense")


@tokenizers
def test_counting_and_cutting_agree_with_count(kind: str) -> None:
    tokenizer = loaded(kind)

    @drawn(25)
    @given(TEXT.filter(bool), st.integers(0, 3), st.booleans())
    def check(text: str, more: int, template: bool) -> None:
        how: dict[str, Any] = {"add_special_tokens": template}
        total = tokenizer.count(text, **how)
        assert tokenizer.count_till_limit(text, total, **how) == total
        assert tokenizer.count_till_limit(text, total - 1, **how) is None
        growing = tokenizer.growing(**how)
        for end, character in enumerate(text, start=1):
            growing.push(character)
            assert growing.count == tokenizer.count(text[:end], **how)
        most = 20 + more
        for start, stop, tokens in tokenizer.chunks(text, most, **how):
            assert tokens == tokenizer.count(text[start:stop], **how) <= most
        fits = tokenizer.split_at(text, most, **how)
        assert tokenizer.count(text[:fits], **how) <= most

    check()


@tokenizers
def test_pickles_and_copies_answer_as_before(kind: str) -> None:
    tokenizer = loaded(kind)
    text = "ab <s>é ab<|endoftext|>"
    ids = tokenizer.encode(text)  # fills the caches
    assert tokenizer.decode(ids) == tokenizer.decode(ids)
    pickled = pickle.loads(pickle.dumps(tokenizer))  # noqa: S301 -- our own
    for again in (pickled, copy.deepcopy(tokenizer)):
        assert again.encode(text) == ids
        assert again.decode(ids) == tokenizer.decode(ids)
        assert again.tokenize(text) == tokenizer.tokenize(text)
        assert again.name == tokenizer.name
    assert len(pickle.dumps(tokenizer)) < 3 * len(pickle.dumps(load(written()[kind]))) // 2


def test_a_process_pool_encodes_with_every_kind() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        for kind in KINDS:
            assert pool.submit(loaded(kind).encode, "ab <s>é").result() == loaded(kind).encode(
                "ab <s>é"
            )


@tokenizers
def test_every_kind_is_audited(kind: str) -> None:
    found = loaded(kind).audit()
    assert set(found.dead_tokens) <= set(loaded(kind).model.strings)
    assert all(len(parts) == 2 for parts in found.splits.values())


@tokenizers
def test_tokens_are_found_by_their_strings_and_bytes(kind: str) -> None:
    tokenizer = loaded(kind)
    for string, token in list(tokenizer.vocab.items())[:300]:
        assert tokenizer.token_to_id(string) == token
        assert tokenizer.token_to_id(tokenizer.id_to_token(token)) == token
    found = tokenizer.token_to_id(b"ab")
    assert found is not None
    assert tokenizer.decode_bytes([found]) == b"ab"
    assert tokenizer.token_to_id("no such token") is None
    with pytest.raises(TokenIdError):
        tokenizer.id_to_token(10**6)


def test_refused_special_tokens_are_errors_in_the_text_and_behind_a_normalizer() -> None:
    tokenizer = Tokenizer(
        BPE({"<": 0, "e": 1, "n": 2, "d": 3, ">": 4}, []),
        normalizer=Lowercase(),
        added_tokens=AddedTokens([AddedToken("<end>", special=True)]),
    )
    assert tokenizer.encode("<END>") == [5]
    assert tokenizer.encode("<END>", special="ordinary") == [0, 1, 2, 3, 4]
    assert tokenizer.encode("e", special="refuse") == [1]
    for text in ("<end>", "<END>"):
        with pytest.raises(SpecialTokenError, match="must not spell a refused special token"):
            tokenizer.encode(text, special="refuse")
        with pytest.raises(SpecialTokenError):
            tokenizer.tokenize(text, special=Special(refuse=frozenset({"<end>"})))


def test_special_tokens_can_be_chosen_one_by_one() -> None:
    tokenizer = load("tiny")
    text = "<|endoftext|><|fim_prefix|>"
    both = tokenizer.encode(text)
    assert len(both) == 2
    first = tokenizer.encode(text, special=["<|endoftext|>"])
    assert first[0] == both[0]
    assert first[1:] == tokenizer.encode("<|fim_prefix|>", special="ordinary")
    chosen = Special(recognise=frozenset({"<|endoftext|>"}), refuse="all")
    assert tokenizer.encode("<|endoftext|>", special=chosen) == both[:1]
    with pytest.raises(SpecialTokenError):
        tokenizer.encode(text, special=chosen)


def test_offsets_are_places_in_the_given_text_even_with_surrogate_pairs() -> None:
    tokenizer = load("tiny")
    text = "\ud83d\ude00ab"
    offsets = tokenizer.tokenize(text).offsets
    assert offsets[0] == (0, 2)
    assert offsets[-1][1] == len(text)


def test_limits_count_the_template_but_neither_truncation_nor_padding() -> None:
    model = BPE({"a": 0, "[CLS]": 1, "[SEP]": 2}, [])
    framed = Tokenizer(
        model,
        post_processor=BertProcessing(sep=("[SEP]", 2), cls=("[CLS]", 1)),
        truncation=Truncation(3),
        padding=Padding(8),
    )
    assert framed.count("aaaa") == 8
    growing = framed.growing()
    growing.extend("aaaa")
    assert growing.count == 6
    assert [tuple(chunk) for chunk in framed.chunks("aaaa", 4)] == [(0, 2, 4), (2, 4, 4)]
    assert framed.split_at("aaaa", 5) == 3
    assert framed.count_till_limit("aaaa", 6) == 6
    assert framed.count_till_limit("aaaa", 5) is None
    with pytest.raises(ParameterError, match=r"most must be at least 3, 2 for the template and"):
        framed.chunks("a", 2)


def test_limits_may_be_whole_numbers_of_any_type_but_a_bool() -> None:
    class Whole:
        def __init__(self, number: int) -> None:
            self.number = number

        def __index__(self) -> int:
            return self.number

    tokenizer, text, most = load("tiny"), "to be or not to be", cast("int", Whole(3))
    assert tokenizer.chunks(text, most, cast("int", Whole(1))) == tokenizer.chunks(text, 3, 1)
    assert tokenizer.split_at(text, most) == 8
    assert tokenizer.count_till_limit(text, most) is None
    assert type(tokenizer.count_till_limit("to be", most)) is int
    for action in (tokenizer.chunks, tokenizer.split_at, tokenizer.count_till_limit):
        for wrong in (True, 3.0, "3", None):
            with pytest.raises(ParameterError, match="must be a whole number of at least"):
                action(text, cast("int", wrong))


def test_only_special_tokens_of_the_tokenizer_can_be_named() -> None:
    rule = r"special must name special tokens of this tokenizer only, got '<\|nope\|>'"
    with pytest.raises(ParameterError, match=rule):
        load("tiny").encode("a", special={"<|endoftext|>", "<|nope|>"})
    refusing = Special(recognise=frozenset(), refuse=frozenset({"<|nope|>"}))
    with pytest.raises(SpecialTokenError):  # any text can be refused
        load("tiny").encode("<|nope|>", special=refusing)


def test_a_normalized_vocabulary_has_offsets_of_what_was_joined() -> None:
    rules = vocabulary_of(load("tiny")).text
    ranks = {bytes([byte]): byte for byte in range(256)} | {"é".encode(): 256}
    nfc = TextRules(rules.pattern, rules.tables, "nfc", whole_piece=True)
    tokenizer = tokenizer_of(vocabulary_by_concatenation(ranks, text=nfc))
    encoding = tokenizer.tokenize("xe\u0301y")
    assert list(encoding.ids) == tokenizer.encode("xe\u0301y") == [120, 256, 121]
    assert encoding.offsets == ((0, 1), (1, 3), (3, 4))
