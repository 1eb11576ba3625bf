"""GGUF files: what is read is what llama.cpp reads, and what cannot be read is named."""

import ctypes
import json
import struct
import tarfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref import VocabularyFileError, load
from bpe_ref.data import document
from bpe_ref.formats import files, gguf
from bpe_ref.formats.gguf import parse_gguf, pre_tokenizers
from bpe_ref.formats.recognising import format_of
from bpe_ref.vocabulary.byte_alphabet import LETTER_OF_BYTE
from tests.sampling.engines.llama_cpp_vocabularies import unpacked
from tests.texts import drawn, text_of
from tokenref.cli import main
from tokenref.record_files import parse_records

llama_cpp = pytest.importorskip("llama_cpp")

U32, I32, F32, FLAG, TEXT, LIST = 4, 5, 6, 7, 8, 9


def text(content: str | bytes) -> bytes:
    data = content.encode() if isinstance(content, str) else content
    return struct.pack("<Q", len(data)) + data


def value(content: Any, kind: int | None = None) -> bytes:
    """Return a value with its type before it."""
    match content:
        case bool():
            return struct.pack("<IB", FLAG, content)
        case int():
            return struct.pack("<II", kind or U32, content)
        case str():
            return struct.pack("<I", TEXT) + text(content)
        case bytes():
            return struct.pack("<IIQ", LIST, 0, len(content)) + content
    items = list(content)
    if items and isinstance(items[0], str):
        return struct.pack("<IIQ", LIST, TEXT, len(items)) + b"".join(map(text, items))
    inner, form = (F32, "f") if items and isinstance(items[0], float) else (I32, "i")
    return struct.pack(f"<IIQ{len(items)}{form}", LIST, inner, len(items), *items)


def a_file(keys: Iterable[tuple[str, bytes]], version: int = 3) -> bytes:
    listed = list(keys)
    head = b"GGUF" + struct.pack("<IQQ", version, 0, len(listed))
    return head + b"".join(text(key) + content for key, content in listed)


def written(**fields: Any) -> bytes:
    """Return a file with these keys about its tokenizer."""
    return a_file(
        [
            ("general.architecture", value("llama")),
            *((f"tokenizer.ggml.{key}", value(content)) for key, content in fields.items()),
        ]
    )


MERGES = ["h e", "l l", "Ġ t", "Ġt he", "1 2", "he ll", "Ġ a", "Ã ©"]
TOKENS = [*LETTER_OF_BYTE, *(merge.replace(" ", "") for merge in MERGES), "<s>", "</s>", "<u>"]
BOS = TOKENS.index("<s>")
KINDS = [1] * BOS + [3, 3, 4]
GPT2: dict[str, Any] = {
    "model": "gpt2",
    "pre": "llama-bpe",
    "tokens": TOKENS,
    "token_type": KINDS,
    "merges": MERGES,
    "bos_token_id": BOS,
    "eos_token_id": BOS + 1,
}
PIECES = [
    *("<unk>", "<s>", "</s>"),
    *(f"<0x{byte:02X}>" for byte in range(256)),
    *("▁", "t", "h", "e", "a", "l", "▁t", "he", "▁the", "ll", "é", "<u>"),
]
LLAMA: dict[str, Any] = {
    "model": "llama",
    "tokens": PIECES,
    "token_type": [2, 3, 3, *[6] * 256, *[1] * (len(PIECES) - 260), 4],
    "scores": [0.0] * 259 + [-float(place) for place in range(len(PIECES) - 259)],
    "bos_token_id": 1,
    "eos_token_id": 2,
}
WORDS = [
    *("<unk>", "<s>", "</s>", "<u>", "▁", "▁▁", "▁t", "▁the", "▁T", "h", "he", "e", "ll", "l", "a"),
    *("▁h", "▁he", "▁a", "▁e", "▁é", "é", "▁1", "1", "▁.", "▁'", "▁s", "▁ve", "s", "▁ᄀ", "▁你"),
]
BERT: dict[str, Any] = {
    "model": "bert",
    "tokens": WORDS,
    "token_type": [2, 3, 3, 4, *[1] * (len(WORDS) - 4)],
    "unknown_token_id": 0,
    "bos_token_id": 1,
    "seperator_token_id": 2,
}
PATHS = {
    "<pad>": 0.0,
    "</s>": 0.0,
    "<unk>": 0.0,
    "<u>": 0.0,
    "<s>": 0.0,
    "▁": -2.5,
    "▁t": -3.0,
    "t": -4.0,
    "h": -4.25,
    "e": -3.5,
    "he": -7.75,
    "▁the": -5.0,
    "the": -6.5,
    "l": -4.0,
    "ll": -8.0,
    "▁he": -6.25,
    "é": -9.0,
    "1": -9.5,
    "12": -12.0,
    "▁▁": -30.0,
}
T5: dict[str, Any] = {
    "model": "t5",
    "tokens": list(PATHS),
    "scores": list(PATHS.values()),
    "token_type": [3, 3, 2, 4, 3, *[1] * (len(PATHS) - 5)],
    "add_space_prefix": True,
    "remove_extra_whitespaces": True,
}
TEXTS = text_of("<s>", "</s>", "<u>", "the", " the", "hell", longest=8)


def engine(path: Path) -> Any:
    return llama_cpp.Llama(str(path), vocab_only=True, verbose=False)


@pytest.mark.parametrize(
    "fields",
    [
        GPT2,
        {**GPT2, "add_bos_token": False, "add_eos_token": True},
        LLAMA,
        {**LLAMA, "add_space_prefix": False, "add_bos_token": False, "add_eos_token": True},
        BERT,
        {**BERT, "normalizer.lowercase": False},
        {**BERT, "normalizer.lowercase": False, "normalizer.strip_accents": True},
        T5,
        {**T5, "add_space_prefix": False, "add_bos_token": True, "bos_token_id": 4},
        {**T5, "add_space_prefix": False, "remove_extra_whitespaces": False},
    ],
)
def test_ids_are_those_of_llama_cpp(tmp_path: Path, fields: dict[str, Any]) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(written(**fields))
    ours, theirs = load(path), engine(path)

    @drawn(150)
    @given(TEXTS.map(lambda one: one.replace("\0", "")), st.booleans(), st.booleans())
    def check(one: str, special: bool, frame: bool) -> None:
        expected = theirs.tokenize(one.encode(), add_bos=frame, special=special)
        how: Any = "recognise" if special else "ordinary"
        assert ours.encode(one, add_special_tokens=frame, special=how) == expected

    check()


@pytest.mark.parametrize("text", ["\u2581", "the\u2581", "the\u2581 ", " \u2581 \u2581", "the "])
def test_only_spaces_go_at_the_end_of_a_text(text: str, tmp_path: Path) -> None:
    """SentencePiece itself also takes away the letter that stands for a space."""
    path = tmp_path / "x.gguf"
    path.write_bytes(written(**T5))
    assert load(path).encode(text) == engine(path).tokenize(text.encode(), add_bos=True)


@pytest.mark.parametrize("flags", [{}, {"normalizer.lowercase": False}])
def test_words_of_bert_begin_and_end_as_there(tmp_path: Path, flags: dict[str, Any]) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(written(**{**BERT, **flags}))
    ours, theirs = load(path), engine(path)
    letters = "the THE é\u0301À ÉİΣ 가힣\u1100 你豈 .$+~'' \u2581\u2581 \x07\x85\u200b\ufffd½"

    @drawn(300)
    @given(st.text(letters))
    def check(one: str) -> None:
        assert ours.encode(one) == theirs.tokenize(one.encode(), add_bos=True, special=True)

    check()


@pytest.mark.parametrize("fields", [BERT, T5])
def test_ids_become_the_text_that_they_become_there(tmp_path: Path, fields: dict[str, Any]) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(written(**fields))
    ours, theirs = load(path), engine(path)
    vocabulary = llama_cpp.llama_model_get_vocab(theirs._model.model)
    marks = [at for at, text in enumerate(fields["tokens"]) if text in {"▁.", "▁'", "▁s", "▁"}]

    @drawn(200)
    @given(st.lists(st.sampled_from([*range(len(fields["tokens"])), *marks])))
    def check(ids: list[int]) -> None:
        buffer, listed = ctypes.create_string_buffer(4096), (llama_cpp.llama_token * len(ids))(*ids)
        size = llama_cpp.llama_detokenize(vocabulary, listed, len(ids), buffer, 4096, False, True)
        assert ours.decode(ids) == buffer.raw[:size].decode()

    check()


def test_every_name_of_a_pre_tokenizer_loads_here_and_there(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    sample = "The 12345 don't, été\n\n  x 你好! HELLO_world"
    for name in sorted(pre_tokenizers()):
        path.write_bytes(written(**{**GPT2, "pre": name}))
        expected = engine(path).tokenize(sample.encode(), add_bos=True, special=False)
        assert load(path).encode(sample) == expected, name


SMALL = (
    "bert-bge",
    "gpt-2",
    "falcon",
    "mpt",
    "llama-spm",
    "phi-3",
    "refact",
    "starcoder",
    "deepseek-coder",
)


def test_vocabularies_of_llama_cpp_give_the_ids_that_are_expected_there(tmp_path: Path) -> None:
    names = tuple(f"{name}.gguf{end}" for name in SMALL for end in ("", ".inp", ".out"))
    found = unpacked(names, tmp_path)
    for name in SMALL:
        tokenizer = load(found[f"{name}.gguf"])
        texts = found[f"{name}.gguf.inp"].read_bytes().decode().split("\n__ggml_vocab_test__\n")
        expected = found[f"{name}.gguf.out"].read_text().split("\n")
        assert len(texts) > 40
        for one, ids in zip(texts, expected, strict=False):
            assert tokenizer.encode(one, add_special_tokens=False) == [*map(int, ids.split())], name


def test_decoding_gives_the_text_and_names_of_special_tokens_are_known(tmp_path: Path) -> None:
    for fields, ids in ((GPT2, [BOS]), (LLAMA, [1])):
        tokenizer = parse_gguf(written(**fields), "x.gguf")
        assert tokenizer.encode("the<s>", add_special_tokens=False)[-1:] == ids
        assert tokenizer.decode(tokenizer.encode("the hell é"), skip_special_tokens=True) == (
            "the hell é"
        )
        assert tokenizer.encode("<s>", special=["<s>"]) == [*ids, *ids]


def test_a_file_of_gigabytes_is_read_at_its_beginning_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = written(**LLAMA)
    path = tmp_path / "x.gguf"
    path.write_bytes(content + bytes(1 << 20))
    monkeypatch.setattr(files, "MAXIMUM_SIZE", len(content))
    assert load(path).encode("the") == [1, PIECES.index("▁the")]
    monkeypatch.setattr(files, "MAXIMUM_SIZE", len(content) - 1)
    with pytest.raises(VocabularyFileError, match="bytes must follow, but"):
        load(path)


REFUSED: list[tuple[bytes, str]] = [
    (written(), "x must have the key tokenizer.ggml.model, it has none"),
    (written(model=3), "x: tokenizer.ggml.model must be text, got 3"),
    (written(model="rwkv"), "must be one of gpt2, gemma4, llama, bert, t5, got 'rwkv'"),
    (
        written(**{**T5, "remove_extra_whitespaces": False}),
        "remove_extra_whitespaces must be true if add_space_prefix is, got False",
    ),
    (written(**{**T5, "precompiled_charsmap": "a"}), "charsmap must be a list of bytes, got 'a'"),
    (written(**{**T5, "precompiled_charsmap": b"abc"}), "x: precompiled_charsmap must have at l"),
    (written(**{**T5, "add_bos_token": True}), "bos_token_id must be the id of a token, below 20"),
    (written(**{**BERT, "unknown_token_id": 999}), "unknown_token_id must be the id of a token, b"),
    (
        written(**{**GPT2, "pre": "my-own"}),
        "pre must be the name of a pre-tokenizer that is known ",
    ),
    (
        written(**{**GPT2, "pre": "kimi-k2"}),
        "must be a pre-tokenizer that is a pattern, and not co",
    ),
    (written(model="gpt2"), "x must have the key tokenizer.ggml.tokens, it has none"),
    (
        written(model="llama", tokens=["a", "a"]),
        "tokens must be different, but 0 and 1 are, got 'a",
    ),
    (written(**{**GPT2, "merges": ["ab"]}), "merges[0] must be two tokens and a space, got 'ab'"),
    (written(**{**GPT2, "merges": ["a Z?"]}), "x: merges[0] must be of tokens and make a token"),
    (written(**{**GPT2, "token_type": [1]}), f"must be a list of {len(TOKENS)} numbers, one for "),
    (written(**{**GPT2, "bos_token_id": 999}), "bos_token_id must be the id of a token, below 267"),
    (written(**{**GPT2, "add_bos_token": 1}), "add_bos_token must be true or false, got 1"),
    (written(model="llama", tokens=["a"]), "x: a model must have one unknown piece, it has 0"),
    (a_file([], version=1), "x must be a GGUF file of version 2 or 3, it is of version 1"),
    (b"GGUF" + bytes([0, 0, 0, 3]), "it is written for a big-endian machine"),
    (a_file([("a", b"\x0d\0\0\0")]), "the type of a value must be from 0 to 12, got 13"),
    (
        a_file([("a", struct.pack("<IIQ", LIST, LIST, 1))]),
        "a list must be of numbers or texts, got",
    ),
    (
        b"GGUF" + struct.pack("<IQQ", 3, 0, 2**64 - 1),
        "8 bytes must follow, but 0 are left of the 24",
    ),
    (a_file([("a", struct.pack("<IIQ", LIST, TEXT, 2**64 - 1))]), "8 bytes must follow, but 0 are"),
    (a_file([("a", struct.pack("<IIQ", LIST, F32, 2**62))]), "bytes must follow, but 0 are left"),
    (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text(b"\xff"), "the text at byte 24, byte 0 is not"),
]


@pytest.mark.parametrize(("content", "sentence"), REFUSED)
def test_what_cannot_be_read_is_said_in_one_sentence(content: bytes, sentence: str) -> None:
    with pytest.raises(VocabularyFileError) as caught:
        parse_gguf(content, "x")
    assert sentence in str(caught.value)


def test_a_file_of_very_many_tokens_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gguf, "MOST_TOKENS", 99)
    with pytest.raises(VocabularyFileError, match="tokens must be at most 99 texts, got 267"):
        parse_gguf(written(**GPT2), "x")


@pytest.mark.parametrize("fields", [LLAMA, BERT, {**T5, "precompiled_charsmap": bytes(24)}])
def test_broken_files_give_a_tokenizer_or_one_sentence_in_bounded_time(
    fields: dict[str, Any],
) -> None:
    whole = written(**fields)
    start = time.process_time()

    @drawn(300)
    @given(st.integers(0, len(whole) - 1), st.binary(min_size=1, max_size=9), st.booleans())
    def check(at: int, change: bytes, cut: bool) -> None:
        content = whole[:at] if cut else whole[:at] + change + whole[at + len(change) :]
        if content.startswith(b"GGUF"):
            with suppress(VocabularyFileError):
                parse_gguf(content, "x")

    check()
    assert time.process_time() - start < 20


@pytest.mark.parametrize(("place", "magic", "what"), document("other_files")["files"])
def test_files_of_other_kinds_are_named(place: int, magic: str, what: str) -> None:
    content = (b"\x10" * place + magic.encode("latin-1")).ljust(300, b"\0")
    with pytest.raises(VocabularyFileError, match="x must be a tokenizer file, it is") as caught:
        format_of(content, "x")
    assert str(caught.value).endswith(what)


def test_an_archive_in_gzip_is_named_whatever_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bpe_ref.formats.files.MAXIMUM_SIZE", 10_000)
    for size in (10, 100_000):
        path = tmp_path / f"{size}.tgz"
        with tarfile.open(path, "w:gz") as archive:
            (tmp_path / "tokenizer.json").write_bytes(b"{" * size)
            archive.add(tmp_path / "tokenizer.json")
        with pytest.raises(VocabularyFileError, match="not a tar archive: unpack it"):
            load(path)


def test_models_of_onnx_and_binary_files_are_named() -> None:
    for content, what in (
        (b"\x08\x08\x12\x07pytorch", "a model of ONNX"),
        (b"\x01\x02\0\x03", "a binary file of unknown kind"),
    ):
        with pytest.raises(VocabularyFileError, match=what):
            format_of(content, "x")
    assert gguf.MAGIC == b"GGUF"
    assert format_of(written(), "x") == "gguf"


def test_the_command_recognises_control_tokens_as_python_does(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(written(**LLAMA))
    ids = load(path).encode("</s>")
    assert ids[-1] == load(path).special_tokens["</s>"]
    note = "tokenref: special tokens in the text, such as </s>, were recognised; --as-text treats "
    for option, said in (((), f"{note}them as text\n"), (("--special",), "")):
        arguments = ["encode", "</s>", *option, "--vocabulary", str(path), "--json"]
        told = CliRunner().invoke(main, arguments)
        assert (told.exit_code, told.stderr, json.loads(told.stdout)["ids"]) == (0, said, ids)


def test_a_folder_with_just_one_file_of_llama_cpp_is_that_file(tmp_path: Path) -> None:
    path = tmp_path / "model-q4.gguf"
    path.write_bytes(written(**BERT))
    (tmp_path / "README.md").touch()
    assert load(tmp_path).vocab == load(path).vocab
    assert repr(load(tmp_path)).startswith(f"<Tokenizer {tmp_path}, ")
    with pytest.raises(VocabularyFileError, match=r"must be a folder with a tokenizer\.json"):
        load(tmp_path, like="transformers-5")
    (tmp_path / "other.gguf").touch()
    with pytest.raises(VocabularyFileError, match=r"without any; to load model-q4\.gguf, give its"):
        load(tmp_path)


@pytest.mark.parametrize("fields", [GPT2, BERT])
def test_goldens_can_be_made_for_a_file_that_a_tokenizer_json_can_express(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    path, texts, out = tmp_path / "x.gguf", tmp_path / "texts.txt", tmp_path / "goldens.jsonl"
    path.write_bytes(written(**fields))
    lines = ["the hell <s>", "", " a  thé<u>12"]
    texts.write_text("\n".join(lines), encoding="utf-8")
    runner = CliRunner()
    fill = ["fill", "--vocabulary", str(path), "--texts", str(texts), "--out", str(out)]
    made = runner.invoke(main, fill)
    assert made.exit_code == 0, made.output
    records: list[Any] = parse_records(out.read_bytes(), "goldens.jsonl")
    tokenizer = load(path)
    assert [record.out.ids for record in records] == [tokenizer.encode(line) for line in lines]
    for given_as in ([], ["--vocabulary", str(path)]):
        check = ["check", "reference", "tokenizers", "--records", str(out), *given_as]
        checked = runner.invoke(main, check)
        assert checked.exit_code == 0, checked.output
    corpus = ["check", "tokenizers", "--corpus", str(texts), "--vocabulary", str(path)]
    assert runner.invoke(main, corpus).exit_code == 0


def test_a_file_that_does_not_name_its_pre_tokenizer_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    for fields in (GPT2, {**GPT2, "pre": "default"}, LLAMA, BERT):
        path.write_bytes(written(**fields))
        assert load(path).notes == ()
    path.write_bytes(written(**{key: each for key, each in GPT2.items() if key != "pre"}))
    [note] = load(path).notes
    assert note.startswith(f"{path} does not name its pre-tokenizer (tokenizer.ggml.pre), so it ")
    counted = CliRunner().invoke(main, ["count", "the hell", "--vocabulary", str(path)])
    assert (counted.exit_code, counted.stderr) == (0, f"tokenref: {note}\n")
    audited = CliRunner().invoke(main, ["audit", str(path)])
    assert f"note              {note}" in audited.output


def test_goldens_cannot_be_made_for_a_file_with_the_normalizer_of_sentencepiece(
    tmp_path: Path,
) -> None:
    path, texts, out = tmp_path / "x.gguf", tmp_path / "texts.txt", tmp_path / "goldens.jsonl"
    texts.write_text("a\n", encoding="utf-8")
    for fields, kind in ((LLAMA, "SentencePieceModel"), (T5, "Unigram")):
        path.write_bytes(written(**fields))
        fill = ["fill", "--vocabulary", str(path), "--texts", str(texts), "--out", str(out)]
        refused = CliRunner().invoke(main, fill)
        assert refused.exit_code == 2
        assert f"its model is {kind}, and a tokenizer.json has no normalizer " in refused.output
