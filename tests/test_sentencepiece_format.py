"""SentencePiece files: what is read, and what is refused."""

from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref import load
from bpe_ref.errors import VocabularyFileError
from bpe_ref.formats.sentencepiece import parse_sentencepiece, sentencepiece_tokenizer
from bpe_ref.models.sentencepiece import Piece
from bpe_ref.normalizers.sentencepiece import normalize
from tests.sentencepiece_models import (
    BYTES,
    UNKNOWN,
    a_field,
    a_model,
    both,
    message,
    normalizer_of,
    trained,
)
from tests.texts import drawn

TINY: Final = a_model([UNKNOWN, Piece("a"), Piece("aa", -1.0)])


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "example: a model must have one unknown piece, it has 0"),
        (a_field(2, a_field(3, 3)), "example must be of type BPE or unigram, it is a word model"),
        (a_field(2, a_field(3, 4)), "it is a character model"),
        (TINY[:5], "example, byte 1: field 1 must have 14 bytes, there are 3 left"),
        (b"\xff" * 20, "example, byte 0: a variable-length number has more than ten bytes"),
        (b"\xff", "example, byte 0: a variable-length number is cut off"),
        (b"\x00\x00", "example, byte 0: a field's number must be from 1 to 2\\^29-1, got 0"),
        (b"\x0b\x0c", "example, byte 1: field 1 must have wire type 0, 1, 2 or 5, got 3"),
        (b"\x0e", "wire type 0, 1, 2 or 5, got 6"),
        (a_model([UNKNOWN, Piece("a"), Piece("a")]), "'a' is also piece 1"),
        (a_model([Piece("a")]), "a model must have one unknown piece, it has 0"),
        (a_model([UNKNOWN, Piece("b", kind="unknown")]), "one unknown piece, it has 2"),
        (a_model([UNKNOWN, Piece("")]), "example: piece 1 must not be empty"),
        (a_model([UNKNOWN, *BYTES]), "without byte_fallback must have no byte pieces"),
        (a_model([UNKNOWN, *BYTES[1:]], {35: 1}), "must have 256 byte pieces, it has 255"),
        (a_model([UNKNOWN, Piece("x", kind="byte")], {35: 1}), "must be a byte from <0x00>"),
        (a_model([UNKNOWN, Piece("a", float("nan"))]), "the score of piece 1 must be a number"),
        (a_model([UNKNOWN, Piece("a", float("inf"))], {3: 1}), "piece 1 must be finite, got inf"),
        (a_model([UNKNOWN, Piece("a\0b")]), "piece 1 must not hold U\\+0000"),
        (a_field(1, a_field(1, b"\xff")), "example: piece 0, byte 0 is not UTF-8"),
        (a_model([UNKNOWN], normalizer={2: b"abc"}), "example: .*precompiled_charsmap"),
        (a_model([UNKNOWN], normalizer={2: b"\xff\xff\xff\xff000"}), "precompiled_charsmap"),
        (a_model([UNKNOWN]) + a_field(2, a_field(44, b"\xff")), "unk_surface, byte 0 is not UTF-8"),
    ],
)
def test_a_file_that_is_no_such_model_is_an_error_that_names_the_place(
    content: bytes, sentence: str
) -> None:
    with pytest.raises(VocabularyFileError, match=sentence) as caught:
        parse_sentencepiece(content, "example")
    assert "\n" not in str(caught.value)


def test_unknown_fields_are_skipped_and_of_two_the_last_one_counts() -> None:
    unknown_fields = a_field(9, 5) + a_field(10, b"abc") + a_field(11, 1.5) + b"\x61" + bytes(8)
    twice = a_field(3, message({3: 0})) + a_field(3, message({3: 1, 5: 0}))
    data = TINY + unknown_fields + twice
    tokenizer, library = both(data)
    model: Any = tokenizer.model
    assert normalize(model.normalization, " a b").text == library.normalize(" a b") == " a b"
    odd = a_field(1, b"\x0a\x01b\x0a\x01c\x10\x01\x18\x63\x0d\0\0\0\0")
    tokenizer, library = both(TINY + odd)
    model = tokenizer.model
    assert [piece.text for piece in model.pieces][3] == library.id_to_piece(3) == "c"
    assert model.pieces[3].kind == "normal"
    far = a_field(2, b"\x18\x82\x80\x80\x80\x10")  # 2^32 + 2 is 2 in 32 bits
    assert parse_sentencepiece(TINY + far, "far")


def test_a_file_is_read_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "my.model"
    path.write_bytes(TINY)
    assert list(load(path).model.vocab) == ["<unk>", "a", "aa"]
    path.write_bytes(TINY[:-1])
    with pytest.raises(VocabularyFileError, match=r"my\.model, byte "):
        load(path)


def survives(content: bytes) -> None:
    """Check that content is a model, or an error of one line."""
    try:
        model = parse_sentencepiece(content, "example")
    except VocabularyFileError as error:
        sentence = str(error)
        assert sentence.startswith("example")
        assert "\n" not in sentence
        return
    tokenizer = sentencepiece_tokenizer(model)
    tokenizer.decode(tokenizer.encode(" aa ab①e\u0301 "))


@drawn(300)
@given(st.binary(max_size=60))
def test_random_bytes_are_a_model_or_an_error(content: bytes) -> None:
    survives(content)
    survives(TINY + content)


SMALL_WITH_MAP: Final = a_model(
    [UNKNOWN, Piece("▁"), Piece("a"), Piece("e", kind="user-defined"), Piece("aa", -1.0, "unused")],
    {44: "?"},
)


@drawn(500)
@given(st.data())
def test_a_changed_file_is_a_model_or_an_error(data: st.DataObject) -> None:
    content = bytearray(SMALL_WITH_MAP)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        match data.draw(st.sampled_from(["change", "cut", "insert", "remove"])):
            case "change":
                content[at] = data.draw(st.integers(0, 255))
            case "cut":
                del content[max(at, 1) :]
            case "insert":
                content[at:at] = data.draw(st.binary(max_size=3))
            case _ if len(content) > 1:
                del content[at]
    survives(bytes(content))


@drawn(300)
@given(st.data())
def test_a_changed_character_map_is_a_model_or_an_error(data: st.DataObject) -> None:
    spec = normalizer_of(trained("nfkc"))
    charsmap = spec[2]
    assert isinstance(charsmap, bytes)
    content = bytearray(charsmap)
    for _ in range(data.draw(st.integers(1, 40))):
        # the start of the trie is where every search begins
        at = data.draw(st.integers(0, 1500) | st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content))) :]
    survives(a_model([UNKNOWN, Piece("a")], normalizer={2: bytes(content)}))
