"""Loading: what a file is, its content tells; every format leads to the right tokenizer."""

import gc
import json
from hashlib import sha256
from pathlib import Path

import pytest
import tiktoken
import tiktoken.load
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref import (
    ParameterError,
    PatternError,
    Tokenizer,
    UnknownVocabularyError,
    VocabularyError,
    VocabularyFileError,
    load,
    tokenizer_of,
    vocabulary_of,
)
from bpe_ref.formats import files
from bpe_ref.formats.byte_level_json import write_tokenizer_json
from bpe_ref.formats.gpt2 import write_gpt2
from bpe_ref.formats.merges_text import write_merges_text
from bpe_ref.formats.minbpe import write_minbpe
from bpe_ref.formats.plain_json import NamedVocabulary, dump_plain_json
from bpe_ref.formats.recognising import format_of
from bpe_ref.formats.tiktoken import write_tiktoken
from bpe_ref.models.bpe import BPE
from bpe_ref.models.sentencepiece import Piece, SentencePieceModel
from bpe_ref.registry import REGISTRY, text_rules_of
from tests.broken_files import is_read_or_refused
from tests.real_vocabularies import real_file
from tests.sentencepiece_models import UNKNOWN, a_model
from tests.test_gpt2_formats import SMALL
from tests.test_minbpe_format import small
from tests.test_tekken import SMALL as TEKKEN
from tests.texts import drawn

TOKENS = dict(SMALL.tokens)


def test_every_format_of_a_vocabulary_is_known_by_its_content(tmp_path: Path) -> None:
    write_tiktoken({content: token for token, content in TOKENS.items()}, tmp_path / "a.model")
    named = NamedVocabulary("small", "a test", SMALL)
    (tmp_path / "b").write_bytes(dump_plain_json(named))
    write_minbpe(small(), tmp_path / "c.tiktoken")
    (tmp_path / "d.json").write_text(json.dumps(TEKKEN))
    assert dict(vocabulary_of(load(tmp_path / "a.model")).tokens) == TOKENS
    assert vocabulary_of(load(tmp_path / "b")).digest() == SMALL.digest()
    assert vocabulary_of(load(tmp_path / "c.tiktoken")).digest() == small().digest()
    assert vocabulary_of(load(str(tmp_path / "d.json"))).tokens[266] == b"ab"
    assert isinstance(load(tmp_path / "a.model"), Tokenizer)


def test_tiktoken_reads_what_we_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")  # it would remember files by their path
    ranks = {content: token for token, content in vocabulary_of(load("tiny")).tokens.items()}
    write_tiktoken(ranks, tmp_path / "tiny.tiktoken")
    assert tiktoken.load.load_tiktoken_bpe(str(tmp_path / "tiny.tiktoken")) == ranks


@pytest.fixture
def unpatterned(tmp_path: Path) -> Path:
    """Return a file in the tiktoken format: the tokens of tiny."""
    path = tmp_path / "tiny.tiktoken"
    tokens = vocabulary_of(load("tiny")).tokens
    write_tiktoken({content: token for token, content in tokens.items()}, path)
    return path


@pytest.mark.parametrize("pattern", ["cl100k_base", "o200k_base", "llama3", r"\p{L}+|\P{L}"])
def test_a_tiktoken_file_with_a_pattern_is_what_tiktoken_makes_of_both(
    unpatterned: Path, pattern: str
) -> None:
    tokens = vocabulary_of(load("tiny")).tokens
    theirs = tiktoken.Encoding(
        "theirs",
        pat_str=text_rules_of(pattern).pattern or "",
        mergeable_ranks={content: token for token, content in tokens.items()},
        special_tokens={},
    )
    ours = load(unpatterned, pattern=pattern)
    text = "It's the question, whether 12345 'tis nobler\n  in the mind<|endoftext|>\n  "
    assert ours.encode(text) == theirs.encode_ordinary(text) != load(unpatterned).encode(text)
    assert (ours.notes, ours.audit().notes) == ((), ())


def test_a_file_without_a_pattern_says_so_and_which_one_fits(
    unpatterned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = f"{unpatterned} holds no pattern, so each text is one piece; "
    (note,) = load(unpatterned).audit().notes
    assert note == (
        f"{begin}to cut texts as cl100k_base does, "
        "use --pattern cl100k_base, in Python pattern='cl100k_base'"
    )
    monkeypatch.setattr("bpe_ref.loading._LLAMA3", sha256(unpatterned.read_bytes()).hexdigest())
    (note,) = load(unpatterned).notes
    assert note == (
        f"{begin}its tokens are those of llama3, use --pattern llama3, in Python pattern='llama3'"
    )
    (tmp_path / "plain.json").write_bytes(dump_plain_json(SMALL))
    assert load(tmp_path / "plain.json").notes == ()  # it says that there is none


def test_the_tokens_of_a_registered_file_are_known_by_their_digest(tmp_path: Path) -> None:
    path = tmp_path / "copy.tiktoken"
    path.write_bytes(real_file("cl100k_base"))
    (note,) = load(path).notes
    assert "; its tokens are those of cl100k_base, use --pattern cl100k_base, in" in note
    text = "to be\n\n  or not\n  to be"
    expected = load("cl100k_base").encode(text)
    assert load(path, pattern="cl100k_base").encode(text) == expected != load(path).encode(text)


def test_a_list_of_merges_takes_a_pattern_too(tmp_path: Path) -> None:
    write_gpt2(SMALL, tmp_path / "vocab.bpe", tmp_path / "encoder.json")
    write_merges_text(small(), tmp_path / "merges.txt", tmp_path / "vocab.json")
    for name in ("vocab.bpe", "encoder.json", "merges.txt", "vocab.json"):
        assert "use --pattern gpt2, in Python" in load(tmp_path / name).notes[0]
        rules = vocabulary_of(load(tmp_path / name, pattern="gpt2")).text
        assert (rules.pattern, rules.whole_piece) == (REGISTRY["gpt2"].pattern, False)


def test_a_pattern_is_refused_by_files_that_hold_their_own_and_if_it_is_none(
    unpatterned: Path, tmp_path: Path
) -> None:
    write_tokenizer_json(SMALL, tmp_path / "tokenizer.json")
    (tmp_path / "plain.json").write_bytes(dump_plain_json(SMALL))
    for name in ("tiny", "odd", tmp_path, tmp_path / "plain.json"):
        with pytest.raises(ParameterError, match=r"^pattern must not be given for .*, which holds"):
            load(name, pattern="cl100k_base")
    with pytest.raises(ParameterError, match=r"^pattern must not be given for .*, which holds"):
        load(tmp_path, like="transformers-5", pattern="cl100k_base")
    for wrong in ("", "cl100k", "gpt-4", 5):
        with pytest.raises(ParameterError, match=r"^pattern must be one of gpt2, .*, llama3, or"):
            load(unpatterned, pattern=wrong)  # type: ignore[arg-type]
    with pytest.raises(PatternError, match="a group is never closed"):
        load(unpatterned, pattern="(")


def test_a_tiktoken_file_is_saved_with_its_pattern_as_plain_json(
    unpatterned: Path, tmp_path: Path
) -> None:
    tokenizer = load(unpatterned, pattern="cl100k_base")
    (tmp_path / "x.json").write_bytes(dump_plain_json(vocabulary_of(tokenizer)))
    assert load(tmp_path / "x.json").encode("it's 1234") == tokenizer.encode("it's 1234")
    with pytest.raises(ParameterError, match=r"^named must be a vocabulary, which `vocabulary_of`"):
        dump_plain_json(tokenizer)  # type: ignore[arg-type]


def test_of_two_files_either_leads_to_both(tmp_path: Path) -> None:
    write_gpt2(SMALL, tmp_path / "vocab.bpe", tmp_path / "encoder.json")
    write_merges_text(small(), tmp_path / "merges.txt", tmp_path / "vocab.json")
    for name in ("vocab.bpe", "encoder.json"):
        assert vocabulary_of(load(tmp_path / name)).digest() == SMALL.digest()
    for name in ("merges.txt", "vocab.json"):
        assert load(tmp_path / name).encode(" ab") == [32, 256]
    (tmp_path / "vocab.json").rename(tmp_path / "other.json")
    with pytest.raises(VocabularyFileError, match=r"vocab\.json cannot be read: No such file"):
        vocabulary_of(load(tmp_path / "merges.txt"))
    with pytest.raises(VocabularyFileError, match=r"other\.json must be called merges\.txt, "):
        vocabulary_of(load(tmp_path / "other.json"))


def test_words_of_other_formats_are_tokens_like_any_other(tmp_path: Path) -> None:
    assert format_of(b'{"model": 0, "config": 1, "vocab": 2}', "x") == "ids"
    assert format_of(b'{"model": {}, "version": 1}', "x") == "tokenizer.json"
    letters = sorted(set("model"))
    ids = {
        content: number for number, content in enumerate([*letters, "mo", "de", "mode", "model"])
    }
    (tmp_path / "vocab.json").write_text(json.dumps(ids))
    (tmp_path / "merges.txt").write_text("#version: 0.2\nm o\nd e\nmo de\nmode l\n")
    for path in (tmp_path, tmp_path / "vocab.json", tmp_path / "merges.txt"):
        tokenizer = load(path)
        assert isinstance(tokenizer, Tokenizer)
        assert tokenizer.encode("model") == [ids["model"]]


def test_the_name_of_a_model_on_a_hub_is_not_downloaded() -> None:
    sentence = (
        "^Qwen/Qwen3-8B cannot be read: there is no such file, and models are not downloaded$"
    )
    with pytest.raises(VocabularyFileError, match=sentence):
        load("Qwen/Qwen3-8B")


def test_whole_tokenizers_are_loaded_as_such(tmp_path: Path) -> None:
    write_tokenizer_json(SMALL, tmp_path / "x.json")
    (tmp_path / "y.json").write_bytes(a_model([UNKNOWN, Piece("▁a")]))
    pipeline = load(tmp_path / "x.json")
    assert isinstance(pipeline.model, BPE)
    assert pipeline.encode("ab") == SMALL_IDS
    assert vocabulary_of(pipeline).tokens == SMALL.tokens
    pieces = load(str(tmp_path / "y.json"))
    assert isinstance(pieces.model, SentencePieceModel)
    assert pieces.encode("a") == [1]
    with pytest.raises(VocabularyError, match="must merge bytes, which a SentencePieceModel does"):
        vocabulary_of(pieces)


SMALL_IDS = tokenizer_of(SMALL).encode("ab")


def test_a_folder_with_a_file_of_another_name_says_how_to_load_it(tmp_path: Path) -> None:
    with pytest.raises(VocabularyFileError, match=r"without any$"):
        load(tmp_path)
    file = tmp_path / "tokenizer.json.gz"
    file.write_bytes(b"")
    with pytest.raises(VocabularyFileError) as caught:
        load(tmp_path)
    assert str(caught.value).endswith(f"; to load tokenizer.json.gz, give its path: {file}")


def test_a_folder_is_looked_through(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.model").write_bytes(a_model([UNKNOWN, Piece("▁a")]))
    assert isinstance(load(tmp_path).model, SentencePieceModel)
    write_tokenizer_json(SMALL, tmp_path / "tokenizer.json")
    assert isinstance(load(str(tmp_path)).model, BPE)
    (tmp_path / "empty").mkdir()
    with pytest.raises(VocabularyFileError, match=r"must hold one of tokenizer\.json, tekken"):
        load(tmp_path / "empty")


def test_names_are_names_and_nothing_else_is() -> None:
    assert repr(load("tiny")) == "<Tokenizer tiny, 2004 tokens, 4 of them special>"
    with pytest.raises(UnknownVocabularyError):
        load("no_such_name")
    with pytest.raises(ParameterError, match="name_or_path must be a name or a path"):
        load(5)  # type: ignore[arg-type]


def test_an_empty_line_at_the_start_of_a_tiktoken_file_is_no_message() -> None:
    assert format_of(b"\nYQ== 0\n", "x") == "tiktoken"
    assert format_of(b"\r\n\r\nYQ== 0\r\n", "x") == "tiktoken"
    assert format_of(b"", "x") == "tiktoken"
    assert format_of(b' \n {"rule": ""}', "x") == "plain json"


def test_any_bytes_are_loaded_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    starts = st.sampled_from([b"", b"{", b"minbpe v1\n", b"#version\n", b"\n\x05", b"YQ== 0\n"])

    @drawn(200)
    @given(starts, st.binary(max_size=20))
    def check(start: bytes, rest: bytes) -> None:
        path.write_bytes(start + rest)
        is_read_or_refused(lambda: load(path), str(path))

    check()


def test_a_byte_order_mark_is_refused_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(b"\xef\xbb\xbf{}")
    with pytest.raises(VocabularyFileError, match="must not begin with a byte order mark"):
        load(path)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"To be, or not to be.\n", "a plain text"),
        (b"\nTo be, or not to be.\n", "a plain text"),
        (b'"To be" is how it begins', "a plain text"),
        (b"* a list\n", "a plain text"),
        ("\u00c9lan vital".encode(), "a plain text"),
        (b"Hello world\n", "a plain text"),
        (b"a,b\n1,2\n", "a plain text"),
        (b"[PAD]\n[UNK]\nthe\n##s\n", "a vocab.txt"),
        (b"{curly, is how it begins", "a plain text"),
        (b"the\n[UNK]\n##s\n", "a vocab.txt, words without rules: load the tokenizer.json"),
        (b'{"model_type": "llama", "vocab_size": 32000}', "JSON with other keys: model_type, voc"),
    ],
)
def test_a_file_of_another_kind_is_identified_by_its_content(
    content: bytes, kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(VocabularyFileError) as refused:
        load(path)
    assert str(refused.value).startswith(f"{path} must be a tokenizer file, it is {kind}")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"YQ==  0\n", "line 1"),
        (b"YQ==\n", "line 1"),
        (b"!! 0\n", "line 1: a token must be canonical base64"),
        (b"YQ -1\n", "line 1"),
    ],
)
def test_a_mistake_in_the_first_line_of_a_tiktoken_file_is_still_named(
    content: bytes, sentence: str, tmp_path: Path
) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(VocabularyFileError, match=sentence):
        load(path)


def test_objects_that_a_program_has_frozen_stay_so_and_no_others_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(files, "_MANY_OBJECTS", -1)
    gc.unfreeze()
    load("tiny")
    assert (gc.get_freeze_count(), gc.isenabled()) == (0, True)
    gc.freeze()
    load("tiny")
    assert gc.get_freeze_count() > 0
