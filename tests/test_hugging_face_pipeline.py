"""The whole pipeline gives what the library gives: on real files and on synthetic ones."""

import json
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as EngineTokenizer

from bpe_ref import load
from bpe_ref.added_tokens import AddedToken, AddedTokens
from bpe_ref.decoders import ByteLevel
from bpe_ref.encoding import Encoding
from bpe_ref.errors import ParameterError, TokenIdError
from bpe_ref.formats.files import read_unpacked
from bpe_ref.formats.hugging_face import parse_tokenizer_json
from bpe_ref.models.bpe import BPE
from bpe_ref.pieces import character_of_byte
from bpe_ref.quirks import STRICT
from bpe_ref.tokenizer import Tokenizer
from tests.engine_encodings import FAILED, engine_answer, our_answer
from tests.synthetic_tokenizers import Document, added, document, trained_model
from tests.texts import drawn, text_of

REAL_FILES: Final = Path(__file__).resolve().parents[2] / "shared" / "tokenizers"
SPECIALS: Final = ("<s>", "</s>", "<pad>", "<unk>", "<|end|>", "the", "  ", "é", "İ")
LISTED: Final = [
    added("<s>", "special"),
    added("</s>", "special", "lstrip", "rstrip"),
    added("<|end|>", "special", "normalized"),
    added("the", "single_word", "normalized"),
    added("é", "normalized", "rstrip"),
]
TEMPLATE: Final = {
    "type": "TemplateProcessing",
    "single": [
        {"SpecialToken": {"id": "<s>", "type_id": 1}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "end", "type_id": 2}},
    ],
    "pair": [
        {"Sequence": {"id": "B", "type_id": 1}},
        {"SpecialToken": {"id": "<s>", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 3}},
    ],
    "special_tokens": {
        "<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]},
        "end": {"id": "end", "ids": [2, 3], "tokens": ["x", "y"]},
    },
}
BYTE_LEVEL: Final = {
    "type": "ByteLevel",
    "add_prefix_space": True,
    "trim_offsets": True,
    "use_regex": True,
}
METASPACE: Final = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"}


def sequence(key: str, *components: Document) -> Document:
    return {"type": "Sequence", key: list(components)}


@cache
def byte_model() -> Document:
    """Return a model of byte letters, trained by the library."""
    from tokenizers import models, pre_tokenizers, trainers

    from tests.texts import SCRIPTS, WORDS

    tokenizer = EngineTokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=500, show_progress=False, initial_alphabet=alphabet)
    tokenizer.train_from_iterator([f"{a} {a} {b}" for a in WORDS for b in SCRIPTS], trainer)
    model: Document = json.loads(tokenizer.to_str())["model"]
    return model


def synthetic() -> dict[str, Document]:
    """Return tokenizers which together have every component and flag of ours in them."""
    return {
        "gpt2-like": document(
            byte_model(),
            added_tokens=LISTED,
            pre_tokenizer=BYTE_LEVEL,
            post_processor=BYTE_LEVEL,
            decoder=BYTE_LEVEL,
        ),
        "llama3-like": document(
            {**byte_model(), "ignore_merges": True},
            added_tokens=LISTED,
            normalizer={"type": "NFC"},
            pre_tokenizer=sequence(
                "pretokenizers",
                {
                    "type": "Split",
                    "pattern": {"Regex": r"(?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|\s+|."},
                    "behavior": "Isolated",
                    "invert": False,
                },
                {**BYTE_LEVEL, "add_prefix_space": False, "use_regex": False},
            ),
            post_processor=sequence("processors", BYTE_LEVEL, TEMPLATE),
            decoder=BYTE_LEVEL,
        ),
        "llama2-like": document(
            trained_model(unk=True, byte_tokens=256, fuse_unk=True),
            added_tokens=[added("<unk>", "special"), *LISTED],
            normalizer=sequence(
                "normalizers",
                {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            ),
            post_processor=TEMPLATE,
            decoder=sequence(
                "decoders",
                {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ),
        ),
        "metaspace": document(
            trained_model(unk=True, byte_tokens=0xC8),
            added_tokens=LISTED,
            pre_tokenizer={**METASPACE, "split": False},
            decoder={**METASPACE, "split": False},
        ),
        "metaspace, split, lowercase": document(
            trained_model(scripts=True),
            added_tokens=LISTED,
            normalizer={"type": "Lowercase"},
            pre_tokenizer={**METASPACE, "split": True},
            decoder={**METASPACE, "split": True},
        ),
        "clip-like": document(
            trained_model(suffix="</w>", words=True, unk=True),
            added_tokens=LISTED,
            normalizer=sequence(
                "normalizers",
                {"type": "NFKC"},
                {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
                {"type": "Lowercase"},
            ),
            pre_tokenizer={"type": "BertPreTokenizer"},
            post_processor={
                "type": "RobertaProcessing",
                "sep": ["</s>", 1],
                "cls": ["<s>", 0],
                "trim_offsets": True,
                "add_prefix_space": False,
            },
            decoder={"type": "BPEDecoder", "suffix": "</w>"},
        ),
        "bert-like": document(
            trained_model(prefix="##", words=True, unk=True, fuse_unk=True),
            added_tokens=LISTED,
            normalizer={
                "type": "BertNormalizer",
                "clean_text": True,
                "handle_chinese_chars": True,
                "strip_accents": None,
                "lowercase": True,
            },
            pre_tokenizer={"type": "BertPreTokenizer"},
            post_processor={"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
            decoder={"type": "WordPiece", "prefix": "##", "cleanup": True},
        ),
        "prefix, suffix, bytes": document(
            trained_model(prefix="#", suffix="</w>", words=True, byte_tokens=256),
            added_tokens=LISTED,
            normalizer=sequence("normalizers", {"type": "NFD"}, {"type": "StripAccents"}),
            pre_tokenizer=sequence(
                "pretokenizers",
                {"type": "WhitespaceSplit"},
                {"type": "Digits", "individual_digits": True},
                {"type": "Punctuation", "behavior": "MergedWithPrevious"},
            ),
            decoder={"type": "ByteFallback"},
        ),
        "pieces of four": document(
            trained_model(scripts=True, ignore_merges=True),
            added_tokens=LISTED,
            normalizer={"type": "Strip", "strip_left": True, "strip_right": True},
            pre_tokenizer=sequence(
                "pretokenizers", {"type": "UnicodeScripts"}, {"type": "FixedLength", "length": 4}
            ),
            decoder={"type": "Fuse"},
        ),
        "cut and filled up": document(
            trained_model(scripts=True),
            added_tokens=LISTED,
            pre_tokenizer={"type": "Whitespace"},
            post_processor=TEMPLATE,
            truncation={
                "direction": "Left",
                "max_length": 7,
                "strategy": "LongestFirst",
                "stride": 1,
            },
            padding={
                "strategy": "BatchLongest",
                "direction": "Right",
                "pad_to_multiple_of": 4,
                "pad_id": 3,
                "pad_type_id": 2,
                "pad_token": "<pad>",
            },
        ),
        "nothing but a model": document(trained_model(scripts=True)),
        "bytes normalized": document(
            byte_model(), added_tokens=LISTED, normalizer={"type": "ByteLevel"}, decoder=BYTE_LEVEL
        ),
    }


@cache
def files() -> dict[str, bytes]:
    """Return the synthetic files, and the real ones where they are beside the checkout."""
    found = {name: json.dumps(content).encode() for name, content in synthetic().items()}
    for path in sorted(REAL_FILES.glob("*.tokenizer.json.gz")):
        found[path.name] = read_unpacked(path)
    return found


@cache
def pair_of(name: str) -> tuple[Tokenizer, EngineTokenizer]:
    """Return our tokenizer and the library's."""
    data = files()[name]
    return parse_tokenizer_json(data, name), EngineTokenizer.from_str(data.decode())


def rows(encoding: Any) -> list[Any]:
    """Return all that an encoding says."""
    ours = isinstance(encoding, Encoding)
    return [
        list(encoding.ids),
        list(encoding.tokens),
        list(encoding.offsets),
        list(encoding.words if ours else encoding.word_ids),
        list(encoding.type_ids),
        list(encoding.special_tokens_mask),
        list(encoding.attention_mask),
        list(encoding.sequence_ids),
        [rows(part) for part in encoding.overflowing],
    ]


@pytest.mark.parametrize("name", files())
def test_everything_that_an_encoding_says_is_the_librarys(name: str) -> None:
    ours, theirs = pair_of(name)
    several: list[bool] = []

    @drawn(500)
    @given(text_of(*SPECIALS, longest=10), st.booleans())
    def check(text: str, special: bool) -> None:
        expected = engine_answer(lambda: theirs.encode(text, add_special_tokens=special))
        encoding = our_answer(lambda: ours.tokenize(text, add_special_tokens=special))
        if expected is FAILED or encoding is FAILED:
            assert (encoding, expected) == (FAILED, FAILED)
            return
        assert rows(encoding) == rows(expected)
        ids = expected.ids  # type: ignore[attr-defined]
        assert ours.encode(text, add_special_tokens=special) == ids
        assert ours.count(text, add_special_tokens=special) == len(ids)
        for skip in (False, True):
            decoded = our_answer(partial(ours.decode, ids, skip_special_tokens=skip))
            assert decoded == engine_answer(partial(theirs.decode, ids, skip_special_tokens=skip))
        several.append(len(set(encoding.words)) > 1 or len(text) > len(ids) > 0)  # type: ignore[attr-defined]

    check()
    assert sum(several) > len(several) / 5


@pytest.mark.parametrize("name", files())
def test_pairs_words_and_batches_are_the_librarys(name: str) -> None:
    ours, theirs = pair_of(name)
    text = text_of(*SPECIALS, longest=5)

    @drawn(80)
    @given(st.lists(st.tuples(text, text), max_size=3), st.lists(text, max_size=4), st.booleans())
    def check(pairs: list[tuple[str, str]], words: list[str], special: bool) -> None:
        for ask_ours, ask_theirs in (
            (
                lambda: ours.tokenize_batch(pairs, add_special_tokens=special),
                lambda: theirs.encode_batch(pairs, add_special_tokens=special),
            ),
            (
                lambda: [ours.tokenize(words, is_pretokenized=True, add_special_tokens=special)],
                lambda: [theirs.encode(words, is_pretokenized=True, add_special_tokens=special)],
            ),
            (
                lambda: [ours.tokenize(words, words[::-1], is_pretokenized=True)],
                lambda: [theirs.encode(words, words[::-1], is_pretokenized=True)],
            ),
        ):
            expected, encodings = engine_answer(ask_theirs), our_answer(ask_ours)
            if expected is FAILED or encodings is FAILED:
                assert (encodings, expected) == (FAILED, FAILED)
            else:
                assert list(map(rows, encodings)) == list(map(rows, expected))  # type: ignore[call-overload]

    check()


@pytest.mark.parametrize("name", files())
def test_any_ids_decode_as_the_library_decodes_them(name: str) -> None:
    ours, theirs = pair_of(name)
    size = theirs.get_vocab_size()
    assert ours.vocab == theirs.get_vocab()
    assert len(ours.vocab) == size

    @drawn(200)
    @given(st.lists(st.integers(0, size + 3), max_size=12), st.booleans())
    def check(ids: list[int], skip: bool) -> None:
        decoded = our_answer(lambda: ours.decode(ids, skip_special_tokens=skip, unknown_ids="skip"))
        assert decoded == engine_answer(lambda: theirs.decode(ids, skip_special_tokens=skip))
        for id_ in ids:
            content = theirs.id_to_token(id_)
            if content is None:
                with pytest.raises(TokenIdError):
                    ours.id_to_token(id_)
            else:
                assert ours.id_to_token(id_) == content

    check()


@pytest.mark.parametrize("name", files())
def test_a_long_text_with_all_its_pieces_is_the_librarys(name: str) -> None:
    ours, theirs = pair_of(name)
    text = "The tokenizer's 12345 naïve 你好 words, e\u0301tc. <s> don't \n\n stop</s>  now. " * 50
    expected = engine_answer(lambda: theirs.encode(text).ids)
    assert our_answer(lambda: ours.encode(text)) == expected
    assert our_answer(lambda: list(ours.tokenize(text).ids)) == expected


def test_files_that_are_there_are_read_packed(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(files()["gpt2-like"])
    assert load(path).encode("the world") == pair_of("gpt2-like")[0].encode("the world")


# ---- what the library cannot be asked

SMALL: Final = BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")])


def test_surrogates_are_read_as_tiktoken_reads_them() -> None:
    model = BPE({"\U0001f600": 0, "\ufffd": 1}, [])
    assert Tokenizer(model).encode("\ud83d\ude00\ud83d") == [0, 1]
    assert Tokenizer(model).tokenize(["\ud83d"], is_pretokenized=True).ids == (1,)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"text": 3}, "text must be a str, got 3"),
        ({"text": "a", "pair": 3}, "pair must be a str, got 3"),
        ({"text": "a", "is_pretokenized": True}, "text must be a sequence of words if is_pre"),
        ({"text": ["a", 3], "is_pretokenized": True}, r"text[1] must be a str, got 3"),
        ({"text": 3, "is_pretokenized": True}, "text must be a sequence of words"),
    ],
)
def test_what_is_no_text_is_an_error(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Tokenizer(SMALL).tokenize(**arguments)
    assert str(caught.value).startswith(sentence)


def test_what_is_no_id_is_an_error_and_so_is_an_id_without_a_token_unless_it_is_skipped() -> None:
    with pytest.raises(TokenIdError, match=r"^a token id must be an integer, got 'a'"):
        Tokenizer(SMALL).decode(["a"])  # type: ignore[list-item]
    assert Tokenizer(SMALL).decode([0, 99, 1], unknown_ids="skip") == "a b"
    with pytest.raises(
        TokenIdError,
        match=r"^a token id must be one of this tokenizer's \d+, from 0 to \d+, got 99",
    ):
        Tokenizer(SMALL).decode([0, 99, 1])


def test_strictly_an_added_token_decodes_to_its_text_even_if_it_spells_bytes() -> None:
    listed = [AddedToken("é!", normalized=False, id=3)]
    byte_level = ByteLevel(add_prefix_space=False, trim_offsets=False)
    engines = Tokenizer(SMALL, decoder=byte_level, added_tokens=AddedTokens(listed))
    strict = engines.replace(added_tokens=AddedTokens(listed, STRICT))
    assert (engines.decode([0, 3]), strict.decode([0, 3])) == ("a\ufffd!", "aé!")


def test_dropout_draws_from_the_callers_numbers() -> None:
    model = BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")], dropout=0.5)
    pipeline = Tokenizer(model)
    draws = iter([0.1, 0.9] * 4).__next__
    assert pipeline.encode("ab", draw=draws) == [0, 1]
    assert pipeline.encode("ab", draw=draws) == [2]
    assert pipeline.tokenize("ab", draw=draws).ids == (0, 1)
    assert pipeline.count("ab", draw=draws) == 1
    with pytest.raises(ParameterError, match=r"^draw must be given"):
        pipeline.encode("ab")


@given(st.text())
def test_each_byte_belongs_to_its_character(text: str) -> None:
    expected = [at for at, letter in enumerate(text) for _ in letter.encode()]
    assert list(character_of_byte(text)) == expected
