"""SentencePiece models of type BPE: equal to the library, model by model."""

from functools import cache
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref import Special, Tokenizer
from bpe_ref.decoders import decode_tokens
from bpe_ref.errors import ParameterError, TokenIdError
from bpe_ref.models.sentencepiece import (
    Piece,
    PieceKind,
    SentencePieceModel,
    merge,
    merge_heap,
    merge_steps,
)
from bpe_ref.normalizers.sentencepiece import NormalizationRules, normalize
from bpe_ref.post_processors import BertProcessing
from tests.sentencepiece_models import (
    BYTES,
    MODELS,
    UNKNOWN,
    a_model,
    both,
    changed,
    normalizer_of,
    trained,
)
from tests.texts import CAMPAIGN, drawn, text_of

SPECIALS: Final = ("<s>", "</s>", "<unk>", "<c>", "<a b>", "  ", "▁the", "ab", "abc", "<|x|>", "e")
"""Atoms that some of the models below treat in their own way."""

TEXT: Final = text_of(*SPECIALS)


def normalized(tokenizer: Tokenizer, text: str) -> str:
    assert tokenizer.normalizer is not None
    return tokenizer.normalizer.normalize_text(text)


def check_text(tokenizer: Tokenizer, library: Any, text: str) -> bool:
    """Check all that is asked of a text; return whether it is not simply its characters."""
    theirs = library.encode(text, out_type="offset_mapping")
    ours = tokenizer.tokenize(text)
    assert normalized(tokenizer, text) == library.normalize(text)
    assert list(ours.ids) == tokenizer.encode(text) == theirs["ids"]
    assert list(ours.tokens) == theirs["pieces"]
    assert list(ours.offsets) == list(map(tuple, theirs["offsets"]))
    assert tokenizer.decode(theirs["ids"]) == library.decode(theirs["ids"])
    assert decode_tokens(tokenizer.decoder, theirs["pieces"]) == library.decode(theirs["pieces"])
    stream = tokenizer.stream()
    assert stream.extend(theirs["ids"]) + stream.finish() == library.decode(theirs["ids"])
    if text:
        traced = [ids for piece in tokenizer.trace(text) for ids in piece.steps[-1]]
        assert traced == theirs["ids"]
    assert tokenizer.count(text) == len(theirs["ids"])
    return list(ours.tokens) != list(text)


@pytest.mark.parametrize("name", MODELS)
def test_ids_pieces_offsets_and_text_are_those_of_the_library(name: str) -> None:
    tokenizer, library = both(changed(name))
    telling = []

    @drawn(500)
    @given(TEXT)
    def check(text: str) -> None:
        telling.append(check_text(tokenizer, library, text))

    check()
    assert sum(telling) > len(telling) / 20


def test_large_sums_of_scores_are_subtracted_as_in_the_library() -> None:
    pieces = [Piece("a", -6.1), Piece("aa", -12.3), Piece("aaa", -18.4), Piece("ab", -9.7)]
    tokenizer, library = both(a_model([UNKNOWN, *pieces, Piece("▁", -1.0)], {3: 1}))
    for size in (3_000, 20_000, 40_000):
        text = "aab" * size + "a" * size
        assert tokenizer.encode(text) == library.encode(text)
    assert not tokenizer.text_counter().is_safe_cut("b", "a")


@pytest.mark.parametrize("name", MODELS)
def test_any_ids_decode_as_the_library_decodes_them(name: str) -> None:
    tokenizer, library = both(changed(name))
    size = library.get_piece_size()

    @drawn(250)
    @given(st.lists(st.integers(0, 300) | st.integers(0, size - 1), max_size=9))
    def check(ids: list[int]) -> None:
        assert tokenizer.decode(ids) == library.decode(ids)

    check()


@pytest.mark.parametrize("name", ["plain", "unused", "like Llama"])
def test_the_special_ids_are_those_of_the_library(name: str) -> None:
    tokenizer, library = both(changed(name))
    model: Any = tokenizer.model
    ours = (model.bos_id, model.eos_id, model.pad_id, model.unknown_id)
    theirs = (library.bos_id(), library.eos_id(), library.pad_id(), library.unk_id())
    assert [-1 if token is None else token for token in ours] == list(theirs)
    assert model.stop_ids == (library.eos_id(),)
    framed = tokenizer.replace(
        post_processor=BertProcessing(sep=("</s>", model.eos_id), cls=("<s>", model.bos_id))
    )
    assert framed.encode("a") == library.encode("a", add_bos=True, add_eos=True)
    assert framed.tokenize("a").tokens[0] == "<s>"
    assert framed.encode("a", add_special_tokens=False) == library.encode("a")


def test_a_model_without_eos_has_no_stop_ids() -> None:
    tokenizer, library = both(a_model([UNKNOWN, Piece("a")]))
    model: Any = tokenizer.model
    assert library.eos_id() == -1
    assert model.stop_ids == ()
    assert model.eos_id is model.bos_id is None


@pytest.mark.parametrize("special", [["<s>"], {"</s>", "a"}, Special(refuse=frozenset({"<s>"}))])
def test_control_pieces_cannot_be_named_as_special_tokens_of_a_text(special: Any) -> None:
    tokenizer, _ = both_cached("plain")
    with pytest.raises(ParameterError, match="special must not name control tokens"):
        tokenizer.encode("a", special=special)


@drawn(500)
@given(TEXT)
def test_every_trained_character_map_normalizes_as_the_library_does(text: str) -> None:
    for name in ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"):
        tokenizer, library = both_cached(name)
        assert normalized(tokenizer, text) == library.normalize(text)


@cache
def both_cached(name: str) -> tuple[Tokenizer, Any]:
    return both(changed(name))


@pytest.mark.parametrize("name", ["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"])
def test_every_code_point_normalizes_as_in_the_library(name: str) -> None:
    tokenizer, library = both_cached(name)
    step = 1 if CAMPAIGN > 1 else 97  # all of them in a campaign
    for code in range(0, 0x110000, step):
        if not 0xD800 <= code < 0xE000:
            text = f"a{chr(code)}\u0301b"
            assert normalized(tokenizer, text) == library.normalize(text), hex(code)


@drawn(500)
@given(TEXT, st.sampled_from(["ties and unused", "user-defined", "unused"]))
def test_the_heap_merges_as_the_definition_does(text: str, name: str) -> None:
    tokenizer, _ = both_cached(name)
    written = normalized(tokenizer, text)
    model = tokenizer.model
    assert isinstance(model, SentencePieceModel)
    *_, merged = merge_steps(model, written)
    assert merge_heap(model, written) == merged == merge(model, written)


@st.composite
def small_models(draw: st.DrawFn) -> bytes:
    """Draw a model over two letters: any scores, kinds, overlaps, frozen and unused pieces."""
    words = draw(st.lists(st.text("ab▁", min_size=1, max_size=5), unique=True, max_size=14))
    kinds: st.SearchStrategy[PieceKind] = st.sampled_from(
        ["normal"] * 6 + ["unused"] * 3 + ["user-defined", "control"]
    )
    scores = st.sampled_from([0.0, -1.0, -2.0, -3.0, 1.5, float("-inf")])
    pieces = [Piece(word, draw(scores), draw(kinds)) for word in words]
    byte_fallback = draw(st.booleans())
    listed = [UNKNOWN, *(BYTES if byte_fallback else []), *pieces]
    flags = {place: int(draw(st.booleans())) for place in (3, 4, 5)}
    trainer = {24: int(draw(st.booleans())), 35: int(byte_fallback)}
    return a_model(listed, trainer, flags)


@drawn(500)
@given(small_models(), st.lists(st.text("aab ▁c", max_size=40), min_size=1, max_size=3), st.data())
def test_small_models_with_every_kind_of_piece_are_encoded_as_in_the_library(
    data: bytes, texts: list[str], source: st.DataObject
) -> None:
    tokenizer, library = both(data)
    model = tokenizer.model
    assert isinstance(model, SentencePieceModel)
    for text in texts:
        written = normalized(tokenizer, text)
        *_, merged = merge_steps(model, written)
        assert merged == merge_heap(model, written) == merge(model, written)
        assert model.ids(written) == [token.id for token in model.tokenize(written)]
        check_text(tokenizer, library, text)
    some_ids = st.lists(st.integers(0, library.get_piece_size() - 1), max_size=6)
    ids = source.draw(some_ids)
    assert tokenizer.decode(ids) == library.decode(ids)


def test_of_two_equal_scores_the_leftmost_merges_first() -> None:
    tokenizer, library = both(a_model([UNKNOWN, Piece("a"), Piece("aa"), Piece("▁")]))
    assert list(tokenizer.tokenize("aaa").tokens) == library.encode("aaa", out_type=str)
    assert list(tokenizer.tokenize("aaa").tokens) == ["▁", "aa", "a"]


def test_an_unused_piece_comes_apart_as_it_was_proposed() -> None:
    pieces = [UNKNOWN, *(Piece(text) for text in "▁abc")]
    pieces += [Piece("ab", -1.0), Piece("bc", -2.0), Piece("abc", -3.0, "unused")]
    tokenizer, library = both(a_model(pieces))
    assert list(tokenizer.tokenize("abc").tokens) == library.encode("abc", out_type=str)
    assert list(tokenizer.tokenize("abc").tokens) == ["▁", "ab", "c"]


@pytest.mark.parametrize("text", ["a   b", "a    ", "  a", "a x  b", "a x   x b", "a¨ b"])
def test_spaces_in_user_defined_pieces_and_replacements_count_as_spaces(text: str) -> None:
    pieces = [Piece(piece, kind="user-defined") for piece in ("  ", " x ")]
    spec = {place: value for place, value in normalizer_of(trained("nfkc")).items() if place != 4}
    for kept in (0, 1):
        tokenizer, library = both(a_model([UNKNOWN, *pieces], normalizer={**spec, 4: kept}))
        check_text(tokenizer, library, text)


def test_control_and_unknown_pieces_are_never_found_in_text() -> None:
    pieces = [Piece("?", kind="unknown"), Piece("▁"), Piece("x", kind="control"), *BYTES]
    for model in (a_model(pieces[:3]), a_model(pieces, {35: 1})):
        tokenizer, library = both(model)
        for text in ("axb", "x", "?", "<0x41>"):
            check_text(tokenizer, library, text)
            assert 2 not in tokenizer.encode(text)


def test_an_unused_piece_of_one_character_is_unknown() -> None:
    for more in ({}, {35: 1}):
        unused_pieces = [Piece("a", kind="unused"), Piece("aa", kind="unused")]
        pieces = [UNKNOWN, Piece("▁"), *unused_pieces, *(BYTES if more else [])]
        tokenizer, library = both(a_model(pieces, more))
        for text in ("a", "aa", "baab"):
            check_text(tokenizer, library, text)


def test_unknown_characters_in_a_row_are_one_token_with_their_text() -> None:
    tokenizer, library = both(a_model([UNKNOWN, Piece("▁"), Piece("a")]))
    assert list(tokenizer.tokenize("xyaz").tokens) == library.encode("xyaz", out_type=str)
    assert list(tokenizer.tokenize("xyaz").tokens) == ["▁", "xy", "a", "z"]
    assert tokenizer.decode(tokenizer.encode("xyaz")) == " ⁇ a ⁇ "


def test_each_byte_of_a_broken_character_decodes_to_its_own_replacement() -> None:
    tokenizer, library = both(a_model([UNKNOWN, *BYTES], {35: 1}))
    ids = [1 + byte for byte in b"a\xf0\x9f\x98z\xe4\xbd\xa0\xc0"]
    assert tokenizer.decode(ids) == library.decode(ids) == "a\ufffd\ufffd\ufffdz你\ufffd"


def test_lone_surrogates_are_replaced() -> None:
    tokenizer, _ = both_cached("plain")
    assert tokenizer.encode("a\ud800b") == tokenizer.encode("a\ufffdb")
    assert tokenizer.encode("\ud83d\ude00") == tokenizer.encode("\U0001f600")


@pytest.mark.parametrize("token", [-1, 1800, True, "a", None, 2**70])
def test_what_is_no_id_is_an_error_that_says_so(token: Any) -> None:
    tokenizer, _ = both_cached("plain")
    with pytest.raises(TokenIdError, match="a token id must be "):
        tokenizer.decode([token])


def test_wrong_arguments_are_errors_that_say_so() -> None:
    tokenizer, _ = both_cached("plain")
    with pytest.raises(ParameterError, match="text must be a str"):
        tokenizer.encode(b"a")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="ids must be a sequence"):
        tokenizer.decode("12")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="token must be bytes"):
        tokenizer.token_to_id(5)  # type: ignore[arg-type]
    assert tokenizer.token_to_id("no such piece") is None
    assert repr(tokenizer) == "<Tokenizer unnamed, 1800 tokens, 2 of them special>"


def test_an_empty_text_stays_empty_and_spaces_are_removed() -> None:
    assert normalize(NormalizationRules(), "").text == ""
    assert normalize(NormalizationRules(), "   ").text == ""
    kept = NormalizationRules(remove_extra_whitespaces=False)
    assert normalize(kept, "").text == ""
    assert normalize(kept, " ").text == "▁▁"
