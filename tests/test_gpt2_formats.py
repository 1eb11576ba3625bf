"""GPT-2's two files, and merges.txt with vocab.json: read, written, and refused."""

import json
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest
import tiktoken.load
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import decoders, models, pre_tokenizers

from bpe_ref import (
    TextRules,
    VocabularyError,
    VocabularyFileError,
    tokenizer_of,
    vocabulary_by_concatenation,
    vocabulary_by_pair,
)
from bpe_ref.formats.gpt2 import BYTE_ORDER, read_gpt2, write_gpt2
from bpe_ref.formats.merges_text import parse_ids, parse_merges, read_merges_text, write_merges_text
from bpe_ref.quirks import STRICT
from bpe_ref.tiny import tiny_vocabulary
from bpe_ref.vocabulary import Vocabulary
from bpe_ref.vocabulary.byte_alphabet import to_letters
from tests.broken_files import broken_bytes, broken_json, is_read_or_refused
from tests.strategies import vocabularies_and_pieces
from tests.texts import drawn, text_of
from tokenref.engines.reference import byte_model

BYTES: Final = [bytes([byte]) for byte in BYTE_ORDER]


def like_gpt2(tokens: list[bytes], specials: dict[str, int] | None = None) -> Vocabulary:
    """Return a vocabulary with GPT-2's order of bytes."""
    ranks = {token: rank for rank, token in enumerate([*BYTES, *tokens])}
    return vocabulary_by_concatenation(ranks, special_tokens=specials)


def trained() -> Vocabulary:
    """Return the tokens of the tiny vocabulary in GPT-2's order."""
    tiny = tiny_vocabulary()
    merged = [content for _, content in sorted(tiny.tokens.items()) if len(content) > 1]
    return like_gpt2(merged, {"<|endoftext|>": 256 + len(merged)})


SMALL: Final = like_gpt2([b"ab", b" a", b"abab"], {"<|endoftext|>": 259})
VOCAB_BPE: Final = "#version: 0.2\na b\nĠ a\nab ab\n".encode()
ENCODER_JSON: Final = json.dumps(
    {to_letters(content): token for token, content in SMALL.tokens.items()} | {"<|endoftext|>": 259}
).encode()


# ---- vocab.bpe and encoder.json


def test_gpt2s_files_come_back_as_they_were_written(tmp_path: Path) -> None:
    paths = tmp_path / "vocab.bpe", tmp_path / "encoder.json"
    for vocabulary in (SMALL, trained()):
        write_gpt2(vocabulary, *paths)
        assert read_gpt2(*paths).digest() == vocabulary.digest()
    write_gpt2(SMALL, *paths)
    assert paths[0].read_bytes() == VOCAB_BPE
    assert json.loads(paths[1].read_bytes()) == json.loads(ENCODER_JSON)


def test_tiktoken_reads_the_same_ranks_from_gpt2s_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")  # it would remember files by their path
    paths = str(tmp_path / "vocab.bpe"), str(tmp_path / "encoder.json")
    write_gpt2(trained(), *paths)
    theirs = tiktoken.load.data_gym_to_mergeable_bpe_ranks(*paths)
    assert theirs == {content: token for token, content in read_gpt2(*paths).tokens.items()}


def test_the_pattern_is_the_callers_to_give(tmp_path: Path) -> None:
    paths = tmp_path / "vocab.bpe", tmp_path / "encoder.json"
    write_gpt2(SMALL, *paths)
    assert read_gpt2(*paths).text == TextRules()
    assert read_gpt2(*paths, text=TextRules(r"\w+")).text.pattern == r"\w+"


def gpt2(vocab_bpe: bytes = VOCAB_BPE, encoder_json: bytes = ENCODER_JSON) -> Vocabulary:
    with TemporaryDirectory() as folder, chdir(folder):
        Path("vocab.bpe").write_bytes(vocab_bpe)
        Path("encoder.json").write_bytes(encoder_json)
        return read_gpt2("vocab.bpe", "encoder.json")


@pytest.mark.parametrize(
    ("vocab_bpe", "sentence"),
    [
        ("", r"vocab\.bpe, line 1 must begin with '#version', got b''"),
        ("a b\n", r"vocab\.bpe, line 1 must begin with '#version'"),
        ("#version\na b\nab ab\nĠ a\n", r"encoder\.json: the id of 'abab' must be its rank 257"),
        ("#version\na b\na b\n", r"vocab\.bpe, line 3: each merge must make a new token, 'ab'"),
        ("#version\nab a\n", r"line 2: a merge must join tokens of lines before, 'ab' is none"),
        ("#version\na  b\n", r"line 2: a merge must be two tokens and one space, got 'a  b'"),
        ("#version\nab\n", r"line 2: a merge must be two tokens and one space"),
        ("#version\n\na b\n", r"line 2: a merge must be two tokens and one space, got ''"),
        ("#version\na 世\n", r"line 2 '世' must be in byte-level letters, '世' is none"),
        ("#version\na b\nĠ a\n", r"encoder\.json: 'abab' must be in vocab\.bpe"),
    ],
)
def test_a_bad_list_of_merges_is_an_error_that_names_the_line(
    vocab_bpe: str, sentence: str
) -> None:
    with pytest.raises(VocabularyFileError, match=sentence):
        gpt2(vocab_bpe.encode())


def test_bytes_that_are_no_text_are_an_error_that_names_the_byte() -> None:
    with pytest.raises(VocabularyFileError, match=r"vocab\.bpe, byte 9 is not UTF-8"):
        gpt2(b"#version\n\xff")


def test_merges_of_which_one_never_happens_are_no_gpt2_vocabulary() -> None:
    # (ab, c) makes abc first, so by pair (a, bc) never happens; here the order is the other one
    lines = "#version\nb c\na b\nab c\n"
    ids = {to_letters(content): rank for rank, content in enumerate(BYTES)}
    ids |= {"bc": 256, "ab": 257, "abc": 258}
    with pytest.raises(VocabularyFileError, match=r"merge 2 \('ab' and 'c'\) never happens"):
        gpt2(lines.encode(), json.dumps(ids).encode())


@pytest.mark.parametrize(
    ("vocabulary", "sentence"),
    [
        (vocabulary_by_pair({b"a": 0}, []), "must merge by concatenation"),
        (vocabulary_by_concatenation({b"a": 0}), "token 0 must be byte 0x21, got b'a'"),
        (vocabulary_by_concatenation({b"a": 1}), "ids must be ranks without holes"),
        (like_gpt2([b"abc"]), "merges must make every token, but not b'abc'"),
        (like_gpt2([], {"<x>": 256}), "a special token must be one of .*, got '<x>'"),
    ],
)
def test_what_gpt2s_files_cannot_hold_is_an_error_that_says_why(
    vocabulary: Vocabulary, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(VocabularyError, match=sentence):
        write_gpt2(vocabulary, tmp_path / "vocab.bpe", tmp_path / "encoder.json")
    assert list(tmp_path.iterdir()) == []


@drawn(250)
@given(broken_bytes(VOCAB_BPE), broken_json(json.loads(ENCODER_JSON)), st.integers(0, 2))
def test_broken_gpt2_files_are_read_or_refused(merges: bytes, ids: bytes, which: int) -> None:
    vocab_bpe = VOCAB_BPE if which == 1 else merges
    encoder_json = ENCODER_JSON if which == 0 else ids
    is_read_or_refused(lambda: gpt2(vocab_bpe, encoder_json), "vocab.bpe", "encoder.json")


# ---- merges.txt and vocab.json


def library(vocabulary: Vocabulary, merges: Path, vocab: Path) -> Any:
    """Return the library's tokenizer of two files that we wrote."""
    write_merges_text(vocabulary, merges, vocab)
    tokenizer = LibraryTokenizer(models.BPE.from_file(str(vocab), str(merges)))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def test_the_library_gives_the_same_ids_from_the_files_we_write(tmp_path: Path) -> None:
    paths = tmp_path / "merges.txt", tmp_path / "vocab.json"
    vocabulary = trained()
    theirs = library(vocabulary, *paths)
    ours = tokenizer_of(read_merges_text(*paths, special_tokens=["<|endoftext|>"]))
    merged = []

    @drawn(500)
    @given(text_of())
    def check(text: str) -> None:
        ids = theirs.encode(text).ids
        assert ours.encode(text, special="ordinary") == ids
        merged.append(len(ids) < len(text.encode()))

    check()
    assert sum(merged) > len(merged) / 20


def test_any_vocabulary_comes_back_with_the_same_tokens_and_merges(tmp_path: Path) -> None:
    paths = tmp_path / "merges.txt", tmp_path / "vocab.json"

    @drawn(200)
    @given(vocabularies_and_pieces())
    def check(drawn_pair: tuple[Vocabulary, bytes]) -> None:
        vocabulary, piece = drawn_pair
        write_merges_text(vocabulary, *paths)
        read = read_merges_text(*paths)
        assert read.tokens == vocabulary.tokens
        assert byte_model(tokenizer_of(read)).ids_of_bytes(piece) == byte_model(
            tokenizer_of(vocabulary)
        ).ids_of_bytes(piece)

    check()


def test_the_library_writes_what_we_read(tmp_path: Path) -> None:
    vocabulary = trained()
    theirs = library(vocabulary, tmp_path / "merges.txt", tmp_path / "vocab.json")
    names = theirs.model.save(str(tmp_path), "its")
    vocab, merges = sorted(map(Path, names), reverse=True)
    ours = read_merges_text(merges, vocab, special_tokens=["<|endoftext|>"])
    assert (ours.tokens, ours.special_tokens) == (vocabulary.tokens, vocabulary.special_tokens)
    plain = read_merges_text(merges, vocab)
    assert plain.tokens[len(vocabulary.tokens)] == b"<|endoftext|>"


def test_version_lines_are_dropped_as_the_profile_says() -> None:
    lines = b"#version: 1\na b\n#version x\nb c"
    assert [pair[:2] for pair in parse_merges(lines, "x")] == [("a", "b"), ("b", "c")]
    strict = parse_merges(lines, "x", quirks=STRICT)
    assert [pair[:2] for pair in strict] == [("a", "b"), ("#version", "x"), ("b", "c")]


def test_lines_may_end_with_a_carriage_return_and_the_first_may_be_a_merge() -> None:
    assert parse_merges(b"a b\r\nc d\r\n", "x") == [
        ("a", "b", "x, line 1"),
        ("c", "d", "x, line 2"),
    ]
    assert parse_merges(b"", "x") == []


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"[]", "x: the file must be an object, got a list"),
        (b'{"a": true}', r"x: a must be a whole number from 0 to \d+, got true"),
        (b'{"a": -1}', "got -1"),
        (b'{"a": 4294967296}', "got 4294967296"),
        (b'{"a": 1, "b": 1}', "each id must belong to one token, but 1 is given to 'a' and to 'b'"),
        (b'{"a": 1, "a": 2}', "the key 'a' comes twice"),
        (b'{"a": 1', "x: not JSON that can be used"),
    ],
)
def test_bad_ids_are_errors_that_name_the_token(content: bytes, sentence: str) -> None:
    with pytest.raises(VocabularyFileError, match=sentence):
        parse_ids(content, "x")


def test_contradictions_between_the_two_files_are_errors(tmp_path: Path) -> None:
    merges, vocab = tmp_path / "merges.txt", tmp_path / "vocab.json"
    merges.write_text("a b\n")
    vocab.write_text('{"a": 0, "b": 1}')
    with pytest.raises(VocabularyFileError, match=r"line 1: .* but 'ab' is not in .*vocab\.json"):
        read_merges_text(merges, vocab)
    vocab.write_text('{"a": 0, "b": 1, "ab": 2, "a b": 3}')
    with pytest.raises(VocabularyFileError, match="'a b' must be in byte-level letters"):
        read_merges_text(merges, vocab)
    assert read_merges_text(merges, vocab, special_tokens=["a b"]).special_tokens == {"a b": 3}
    with pytest.raises(VocabularyFileError, match="the special token '<x>' is missing"):
        read_merges_text(merges, vocab, special_tokens=["<x>"])


@pytest.mark.parametrize(
    ("vocabulary", "sentence"),
    [
        (
            vocabulary_by_concatenation({b"a": 0}, special_tokens={"a": 1}),
            "special token 'a' cannot be told from an ordinary one",
        ),
        (
            vocabulary_by_concatenation({b"a": 0}, special_tokens={"b": 1, "c": 1}),
            "each token must have an id of its own",
        ),
        (
            vocabulary_by_pair({b"#version": 0, b"a": 1, b"#versiona": 2}, [(b"#version", b"a")]),
            "a merge must not begin with '#version'",
        ),
    ],
)
def test_what_the_text_files_cannot_hold_is_an_error_that_says_why(
    vocabulary: Vocabulary, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(VocabularyError, match=sentence):
        write_merges_text(vocabulary, tmp_path / "merges.txt", tmp_path / "vocab.json")


def test_a_folder_that_cannot_be_written_to_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(VocabularyFileError, match="cannot be written: No such file or directory"):
        write_merges_text(SMALL, tmp_path / "no" / "merges.txt", tmp_path / "vocab.json")


def test_broken_text_files_are_read_or_refused(tmp_path: Path) -> None:
    merges, vocab = tmp_path / "merges.txt", tmp_path / "vocab.json"

    @drawn(200)
    @given(broken_bytes(VOCAB_BPE), broken_json(json.loads(ENCODER_JSON)))
    def check(lines: bytes, ids: bytes) -> None:
        merges.write_bytes(lines)
        vocab.write_bytes(ids)
        is_read_or_refused(lambda: read_merges_text(merges, vocab), str(merges), str(vocab))

    check()
