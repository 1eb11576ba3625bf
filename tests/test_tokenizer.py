"""The tokenizer does what tiktoken does, special tokens, odd bytes and surrogates included."""

import pickle
from collections.abc import Callable
from inspect import Parameter, signature
from types import FunctionType
from typing import Any, Final

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref import (
    BpeError,
    DecodingError,
    ParameterError,
    Special,
    SpecialTokenError,
    SymbolError,
    TextRules,
    TokenIdError,
    Tokenizer,
    UnknownVocabularyError,
    Vocabulary,
    encoding_name_for_model,
    like_tokenizers,
    load,
    tokenizer_of,
    vocabulary_by_concatenation,
    vocabulary_of,
)
from bpe_ref.cutting.counting import TextIntervalCounter
from bpe_ref.cutting.safe_cuts import TextCounter
from bpe_ref.decoders import Fuse
from bpe_ref.given_text import without_surrogates
from bpe_ref.grammar import Grammar, GrammarMatcher
from bpe_ref.growing.counting import IntervalCounter
from bpe_ref.growing.eager import EagerEncoder
from bpe_ref.growing.encoders import AppendEncoder
from bpe_ref.models.bpe import BPE
from bpe_ref.models.byte_bpe import _BACKTRACK_FROM, _SCAN_BELOW, encode_bytes, encode_quickly
from bpe_ref.models.piece_cache import LONGEST_PIECE, MOST_PIECES, PieceCache
from bpe_ref.models.unigram import Unigram
from bpe_ref.post_processors.padding import Padding
from bpe_ref.pre_tokenizers.pattern import Pattern
from bpe_ref.tiny import tiny_vocabulary

ATOMS = [
    *(
        "'s",
        "'LL",
        "'\u017f",
        "don't",
        "I'm",
        "a",
        "B",
        " the",
        "hello",
        "x1",
        "_",
        "é",
        "e\u0301",
        "ß",
    ),
    *("1", "12", "1234", "٣", "½", " 007"),
    *(" ", "  ", "   ", "\t", "\n", "\n\n", "\r\n", " \n ", "\u00a0", "\u3000", "\u2028", "\u001c"),
    *("漢字", "한국어", "ひら", "ไทย", "नमस्ते", "שלום", "👩‍👩‍👧", "🇫🇷", "\u200b", "\ufeff", "\x00"),
    *("<|endoftext|>", "<|fim_prefix|>", "<|", "|>", "endoftext", "!", "...", "??", "{}", "=="),
]
SPECIALS = ["<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"]


def texts() -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(ATOMS) | st.text(max_size=3), max_size=12).map("".join)


def encoding_of(vocabulary: Vocabulary) -> tiktoken.Encoding:
    assert vocabulary.text.pattern is not None
    return tiktoken.Encoding(
        "under test",
        pat_str=vocabulary.text.pattern,
        mergeable_ranks={content: token for token, content in vocabulary.tokens.items()},
        special_tokens=dict(vocabulary.special_tokens),
    )


TINY = load("tiny")
TIKTOKEN_TINY = encoding_of(tiny_vocabulary())
ORDINARY: Final = "ordinary"


def encode_tiny(data: bytes) -> list[int]:
    """Encode bytes that need not be UTF-8."""
    return encode_bytes(TINY, data)


@given(texts())
def test_ordinary_encoding_is_tiktokens(text: str) -> None:
    assert TINY.encode(text, special=ORDINARY) == TIKTOKEN_TINY.encode_ordinary(text)
    assert TINY.count(text, special=ORDINARY) == len(TIKTOKEN_TINY.encode_ordinary(text))


@given(texts(), st.sets(st.sampled_from(SPECIALS)), st.sets(st.sampled_from([*SPECIALS, "hello"])))
def test_allowed_and_disallowed_special_tokens_are_tiktokens(
    text: str, allowed: set[str], disallowed: set[str]
) -> None:
    try:
        expected = TIKTOKEN_TINY.encode(
            text, allowed_special=allowed, disallowed_special=disallowed
        )
    except ValueError:
        with pytest.raises(SpecialTokenError):
            TINY.encode(text, special=Special(frozenset(allowed), frozenset(disallowed)))
    else:
        special = Special(frozenset(allowed), frozenset(disallowed))
        assert TINY.encode(text, special=special) == expected
        if not disallowed:
            assert TINY.encode(text, special=allowed) == expected


@given(texts())
def test_special_text_can_be_refused_as_tiktoken_does_by_default(text: str) -> None:
    try:
        expected = TIKTOKEN_TINY.encode(text)
    except ValueError:
        with pytest.raises(SpecialTokenError, match="must not spell a refused special token"):
            TINY.encode(text, special="refuse")
    else:
        assert TINY.encode(text, special="refuse") == TINY.encode(text) == expected


@given(st.lists(texts().map(str.encode) | st.binary(max_size=4), max_size=5).map(b"".join))
def test_bytes_that_are_not_utf8_are_encoded_as_in_tiktoken(data: bytes) -> None:
    assert encode_tiny(data) == TIKTOKEN_TINY._encode_bytes(data)


@pytest.mark.parametrize(
    "data",
    [
        b"\xff",
        b"a \xff",
        b"a  \n \xff",
        b"\n\n\xc3",
        b"  \xf0\x9f\x98",
        b"hello \xe4\xbd",
        b"a\t\xff",
    ],
)
def test_blank_tokens_before_a_bad_byte_are_taken_back(data: bytes) -> None:
    assert encode_tiny(data) == TIKTOKEN_TINY._encode_bytes(data)


@given(st.lists(st.integers(0, 2003), max_size=20))
def test_decoding_is_tiktokens(ids: list[int]) -> None:
    assert TINY.decode(ids) == TIKTOKEN_TINY.decode(ids)
    assert TINY.decode_bytes(ids) == TIKTOKEN_TINY.decode_bytes(ids)


@given(texts())
def test_decoding_undoes_encoding(text: str) -> None:
    assert TINY.decode(TINY.encode(text, special=ORDINARY), errors="strict") == text
    assert TINY.decode(TINY.encode(text)) == text


@pytest.mark.parametrize(
    "units",
    [
        [0xD83D, 0xDE00],
        [0xD83D],
        [0xDE00, 0xD83D],
        [0x61, 0xDFFF, 0x62],
        [0xFEFF, 0xD83D, 0xDE00, 0xD800],
        [0xD83D, 0xD83D, 0xDE00],
    ],
)
def test_lone_surrogates_are_treated_as_in_tiktoken(units: list[int]) -> None:
    text = "".join(map(chr, units))
    assert TINY.encode(text) == TIKTOKEN_TINY.encode(text)
    assert TINY.encode(text, special=ORDINARY) == TIKTOKEN_TINY.encode_ordinary(text)
    assert "".join(TINY.pieces(text)) == without_surrogates(text)


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_real_vocabularies_encode_as_in_tiktoken(name: str) -> None:
    tokenizer = load(name)
    encoding = encoding_of(vocabulary_of(tokenizer))
    for text in ("".join(ATOMS), " ".join(ATOMS), "\n".join(ATOMS), "".join(ATOMS[::-1])):
        assert tokenizer.encode(text, special=ORDINARY) == encoding.encode_ordinary(text)
        allowed = tokenizer.encode(text)
        assert allowed == encoding.encode(text, allowed_special="all")


def test_of_two_special_tokens_that_start_together_the_longest_allowed_one_wins() -> None:
    specials = {"<a>": 300, "<a><b>": 301, "<b>": 302}
    ranks = {bytes([byte]): byte for byte in range(256)}
    tokenizer = tokenizer_of(vocabulary_by_concatenation(ranks, special_tokens=specials))
    assert tokenizer.encode("<a><b><a>") == [301, 300]
    assert tokenizer.encode("<a><b>", special={"<a>", "<b>"}) == [300, 302]


def test_batches_are_the_same_as_one_by_one() -> None:
    batch = ["hello world", "", "<|endoftext|>", "漢字"]
    assert TINY.encode_batch(batch) == [TINY.encode(text) for text in batch]
    assert TINY.tokenize_batch(batch) == [TINY.tokenize(text) for text in batch]
    ids = TINY.encode_batch(batch, special=ORDINARY)
    assert TINY.decode_batch(ids) == batch


def test_a_token_is_found_by_its_text_and_by_its_bytes() -> None:
    for token in ("Ġthe", b" the"):
        assert TINY.token_to_id(token) == TIKTOKEN_TINY.encode_single_token(" the")
    assert TINY.token_to_id("<|endoftext|>") == TINY.token_to_id(b"<|endoftext|>") == 2000
    assert TINY.decode_bytes([2000]) == b"<|endoftext|>"
    assert TINY.token_to_id(b"\xff") == TIKTOKEN_TINY.encode_single_token(b"\xff")


@pytest.mark.parametrize("token", ["no such token", b"\xff\xff\xff", ""])
def test_what_is_no_token_has_no_id(token: str | bytes) -> None:
    assert TINY.token_to_id(token) is None


@pytest.mark.parametrize("bad", [-1, 2004, 2**31, 2**64, True, 1.0, "1", None])
def test_what_is_no_id_cannot_be_decoded(bad: Any) -> None:
    for ids in ([bad], [1, bad], [2000, bad]):
        with pytest.raises(TokenIdError, match=r"^a token id must be "):
            TINY.decode(ids)


def test_strict_decoding_refuses_part_of_a_character() -> None:
    with pytest.raises(DecodingError, match=r"byte 1 \(0xF0\) is not: unexpected end of data"):
        TINY.decode([97, 0xF0], errors="strict")
    assert TINY.decode([97, 0xF0], errors="ignore") == "a"


class WholeNumber:
    """What numpy's integers are to Python: no int, but with an index."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:  # noqa: D105 - the class says it
        return self.value


def test_ids_may_come_from_any_ordered_iterable_of_whole_numbers() -> None:
    ids = TINY.encode("hello world")
    assert TINY.decode(tuple(ids)) == "hello world"
    assert TINY.decode(iter(ids)) == "hello world"
    assert TINY.decode([WholeNumber(token) for token in ids]) == "hello world"  # type: ignore[misc]  # on purpose


@pytest.mark.parametrize("ids", [{97, 98}, {97: 98}, "97", b"ab", None, 97])
def test_what_has_no_order_is_no_sequence_of_ids(ids: Any) -> None:
    with pytest.raises(ParameterError, match=r"^ids must be a sequence of token ids, got "):
        TINY.decode(ids)


def test_a_choice_that_can_be_read_only_once_is_not_lost() -> None:
    refuse: Any = (text for text in ["b"])
    with pytest.raises(SpecialTokenError):
        TINY.encode("ab", special=Special(refuse=refuse))


@pytest.mark.parametrize("data", ["abc", None, 5, [97]])
def test_what_is_no_bytes_is_refused(data: Any) -> None:
    with pytest.raises(ParameterError, match=r"^data must be bytes, got "):
        encode_tiny(data)


@pytest.mark.parametrize("data", [bytearray(b"abc"), memoryview(b"abc")])
def test_anything_like_bytes_is_bytes(data: Any) -> None:
    assert encode_tiny(data) == encode_tiny(b"abc")


@pytest.mark.parametrize("flag", ["no", 1, None])
def test_a_flag_must_be_a_bool(flag: Any) -> None:
    for decode in (TINY.decode, TINY.decode_bytes, TINY.decode_batch):
        ids: Any = [[1]] if decode == TINY.decode_batch else [1]
        with pytest.raises(ParameterError, match=r"^skip_special_tokens must be a bool, got "):
            decode(ids, skip_special_tokens=flag)
    with pytest.raises(ParameterError, match=r"^skip_special_tokens must be a bool, got "):
        TINY.stream(skip_special_tokens=flag)
    for count in (TINY.count, TINY.growing, lambda *_, **how: TINY.chunks("ab", 3, **how)):
        with pytest.raises(ParameterError, match=r"^add_special_tokens must be a bool, got "):
            count(*["ab"] * (count == TINY.count), add_special_tokens=flag)


@pytest.mark.parametrize(("text", "most"), [(None, 3), ("ab", 0), ("ab", "3")])
def test_chunks_that_cannot_be_are_refused_before_the_first_is_asked_for(
    text: Any, most: Any
) -> None:
    with pytest.raises(ParameterError, match=r"^(text|most) must be "):
        TINY.each_chunk(text, most)


def test_a_wrong_argument_of_count_is_one_of_count() -> None:
    wrong: dict[str, Any] = {"limit": 3}
    with pytest.raises(TypeError, match=r"count\(\) got an unexpected keyword argument 'limit'"):
        TINY.count("ab", **wrong)


@pytest.mark.parametrize("token", [None, 5])
def test_a_token_is_named_by_text_or_bytes(token: Any) -> None:
    with pytest.raises(ParameterError, match=r"^token must be bytes or str, got "):
        TINY.token_to_id(token)
    assert TINY.token_to_id("\ud800") is None


@pytest.mark.parametrize("texts", ["abc", b"abc", None, 5])
def test_a_batch_is_not_one_text(texts: Any) -> None:
    for encode in (TINY.encode_batch, TINY.tokenize_batch):
        with pytest.raises(ParameterError, match=r"^inputs must be an iterable, "):
            encode(texts)


@pytest.mark.parametrize("name", [None, b"tiny", 5])
def test_what_is_neither_name_nor_path_is_refused(name: Any) -> None:
    with pytest.raises(ParameterError, match=r"^name_or_path must be a name or a path, got "):
        load(name)
    with pytest.raises(ParameterError, match=r"^model must be the name of a model, got "):
        encoding_name_for_model(name)
    with pytest.raises(ParameterError, match=r"^pattern must be a str, got "):
        Pattern(name)


def test_a_vocabulary_cannot_be_changed_behind_its_digest() -> None:
    vocabulary: Any = vocabulary_by_concatenation({b"a": 0}, special_tokens={"<x>": 1})
    for part in ("tokens", "special_tokens", "ids", "spellings", "special_bytes"):
        with pytest.raises(TypeError):
            getattr(vocabulary, part)["<y>"] = 5


@pytest.mark.parametrize("errors", ["nonsense", "", None, 3])
def test_an_unknown_error_handler_is_refused(errors: Any) -> None:
    with pytest.raises(ParameterError, match=r"^errors must be "):
        TINY.decode([97], errors=errors)


@pytest.mark.parametrize("choice", ["<|endoftext|>", "", [""], [3], None, 5, b"x"])
def test_a_choice_of_special_tokens_is_all_or_a_collection_of_texts(choice: Any) -> None:
    with pytest.raises(ParameterError, match=r"^special must "):
        TINY.encode("a", special=choice)
    with pytest.raises(ParameterError, match=r"^recognise must "):
        TINY.encode("a", special=Special(recognise=choice))
    with pytest.raises(ParameterError, match=r"^refuse must "):
        TINY.encode("a", special=Special(refuse=choice))


@pytest.mark.parametrize("text", [b"bytes", None, 3])
def test_what_is_no_text_is_refused(text: Any) -> None:
    for encode in (TINY.encode, TINY.tokenize, TINY.pieces, TINY.count, TINY.trace):
        with pytest.raises(ParameterError, match=r"^text must be a str, got "):
            encode(text)


def test_a_missing_byte_is_an_error_and_not_silence() -> None:
    tokenizer = tokenizer_of(vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2}))
    for text in ("xab", "axb", "abx", "x"):
        with pytest.raises(
            SymbolError, match=r"byte 0x78 at position \d of the piece is not a token"
        ):
            tokenizer.encode(text)


@pytest.mark.parametrize("whole", [True, False])
def test_a_piece_that_is_a_token_is_taken_whole_only_if_the_rules_say_so(whole: bool) -> None:
    ranks = {b"a": 0, b"b": 1, b"c": 2, b"d": 3, b"abc": 4}
    rules = TextRules(whole_piece=whole)
    tokenizer = tokenizer_of(vocabulary_by_concatenation(ranks, text=rules))
    assert tokenizer.encode("abc") == ([4] if whole else [0, 1, 2])
    assert tokenizer.encode("abcd") == [0, 1, 2, 3]


def test_an_unknown_normalization_is_refused() -> None:
    rules = TextRules(normalization="nfz")
    with pytest.raises(ParameterError, match=r'^normalization must be "nfc" or None, got '):
        tokenizer_of(vocabulary_by_concatenation({b"a": 0}, text=rules))


@pytest.mark.parametrize("length", [_SCAN_BELOW - 1, _SCAN_BELOW, _BACKTRACK_FROM])
def test_the_encoder_may_change_with_the_length_but_not_the_answer(length: int) -> None:
    vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2, b"aba": 3})
    symbols = ([0, 1] * length)[:length]
    expected = [2] * (length // 2) if length % 2 == 0 else [*[2] * (length // 2 - 1), 3]
    assert encode_quickly(vocabulary, symbols) == expected


def test_the_cache_holds_short_pieces_only_and_not_too_many() -> None:
    cache = PieceCache(lambda piece: [len(piece)])
    assert cache.encode(["a" * LONGEST_PIECE, "a" * (LONGEST_PIECE + 1)]) == [
        LONGEST_PIECE,
        LONGEST_PIECE + 1,
    ]
    assert list(cache) == ["a" * LONGEST_PIECE]
    cache.encode(list(map(str, range(MOST_PIECES + 10))))
    assert len(cache) <= MOST_PIECES
    assert cache.encode(["7", "123"]) == [1, 3]


def test_a_name_that_nobody_knows_is_one_sentence() -> None:
    with pytest.raises(UnknownVocabularyError) as caught:
        load("no_such_vocabulary")
    assert "no_such_vocabulary" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_loading_tiny_by_name_is_the_embedded_vocabulary() -> None:
    assert vocabulary_of(load("tiny")).digest() == tiny_vocabulary().digest()
    assert repr(load("tiny")) == "<Tokenizer tiny, 2004 tokens, 4 of them special>"


def test_special_tokens_are_those_that_decoding_skips() -> None:
    assert list(TINY.special_tokens) == SPECIALS
    skipped = [string for string, id_ in TINY.vocab.items() if is_skipped(id_)]
    assert sorted(skipped) == sorted(SPECIALS)
    assert (
        repr(TINY) == f"<Tokenizer tiny, {len(TINY.vocab)} tokens, {len(skipped)} of them special>"
    )


def is_skipped(token: int) -> bool:
    return TINY.decode_bytes([token], skip_special_tokens=True) == b""


NOTHING: Any = None
FIVE: Any = 5
THREE: Any = ("a", "b", "c")
PADDED = TINY.replace(padding=Padding(pad_id=0))

WRONG_ITEMS: dict[str, tuple[Callable[[], object], str]] = {
    "text": (lambda: TINY.encode_batch(["a"] * 500 + [NOTHING]), "inputs[500]: text must be a str"),
    "pair": (lambda: TINY.tokenize_batch([("a", FIVE)]), "inputs[0]: pair must be a str, got 5"),
    "special": (
        lambda: TINY.encode_batch(["a", SPECIALS[0]], special="refuse"),
        "inputs[1]: text must not spell a refused special token",
    ),
    "three": (
        lambda: TINY.encode_batch([THREE]),
        "inputs[0]: item must be a text, or a pair of texts, got ('a', 'b', 'c')",
    ),
    "id": (
        lambda: TINY.decode_batch([[1], [9999]]),
        "batch[1]: a token id must be one of this tokenizer's 2004, from 0 to 2003, got 9999",
    ),
    "ids": (lambda: TINY.decode_batch([NOTHING]), "batch[0]: ids must be a sequence of token ids"),
    "padded": (lambda: PADDED.encode_batch(["a", NOTHING]), "inputs[1]: text must be a str"),
    "what all have": (lambda: TINY.decode_batch([[1]], errors="x"), "errors must be "),
}


@pytest.mark.parametrize("what", WRONG_ITEMS)
def test_an_error_about_an_item_of_a_batch_names_it(what: str) -> None:
    ask, sentence = WRONG_ITEMS[what]
    with pytest.raises(BpeError) as caught:
        ask()
    assert str(caught.value).startswith(sentence)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301 - our own


def test_a_tokenizer_of_a_name_is_loaded_and_not_constructed() -> None:
    rule = "model must be a model, such as BPE; `load` returns the tokenizer of a name or a file"
    with pytest.raises(ParameterError, match=f"^{rule}, got 'tiny'$"):
        Tokenizer("tiny")  # type: ignore[arg-type]


METHODS = {
    name: method
    for name, method in vars(Tokenizer).items()
    if not name.startswith("_") and isinstance(method, FunctionType) and name != "replace"
}


@pytest.mark.parametrize("name", METHODS)
def test_help_and_errors_of_a_method_name_its_own_arguments(name: str) -> None:
    kinds = {each.kind for each in signature(METHODS[name]).parameters.values()}
    assert not kinds & {Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL}
    with pytest.raises(TypeError, match=rf"^Tokenizer\.{name}\(\) got an unexpected keyword"):
        getattr(TINY, name)(add_special_token=False)


def test_what_a_tokenizer_returns_has_a_short_repr() -> None:
    stream, growing = TINY.stream(), TINY.growing()
    stream.push(195)
    growing.extend("to be")
    assert repr(stream) == r"<Stream through <Utf8Stream, errors='replace', held back: b'\xc3'>>"
    assert repr(growing) == "<AppendCounter, 5 characters, 2 tokens>"
    pieces = Tokenizer(BPE({"a": 0}, []), decoder=Fuse())
    assert repr(pieces.stream()) == "<Stream through <ChainStream of Fuse>>"
    vocabulary = vocabulary_of(TINY)
    assert repr(vocabulary) == "<Vocabulary, 2000 ordinary and 4 special tokens>"
    assert repr(TINY.added) == "<AddedVocabulary, 4 tokens, 4 of them special>"
    assert repr(TINY.added_tokens) == "<AddedTokens, 4 tokens>"
    assert repr(TINY.model) == f"ByteBPE(vocabulary={vocabulary!r}, whole_piece=True)"
    unigram = Unigram([("<unk>", 0.0), ("a", -1.0)], unk_id=0)
    assert repr(unigram) == "Unigram(pieces=<2 items>, unk_id=0)"
    facade = like_tokenizers.Tokenizer(unigram)
    assert repr(facade) == "<Tokenizer unnamed, 2 tokens, 0 of them special>"
    matcher = GrammarMatcher(Grammar("(ab)+"), vocabulary)
    assert repr(matcher) == "<GrammarMatcher of Grammar('(ab)+'), 0 tokens>"
    assert repr(AppendEncoder(vocabulary)) == "<AppendEncoder, 0 bytes, 0 tokens>"
    assert repr(EagerEncoder(vocabulary)) == "<EagerEncoder, 0 bytes, delay 0>"
    assert repr(IntervalCounter(vocabulary, b"ab")) == "<IntervalCounter, 2 bytes>"
    counter = TextIntervalCounter(TINY.text_counter(), "ab")
    assert repr(counter) == "<TextIntervalCounter, 2 characters>"


def test_a_component_that_no_tokenizer_has_is_said_in_one_sentence() -> None:
    with pytest.raises(TypeError, match=r"^a tokenizer has no component 'foo'; there are: model, "):
        TINY.replace(foo=1)
    with pytest.raises(TypeError, match=r"component 'normaliser'; did you mean 'normalizer'\?$"):
        TINY.replace(normaliser=None)
    with pytest.raises(ParameterError, match=r"^truncation must be a truncation or None, got 512$"):
        TINY.replace(truncation=512)


def test_a_counter_says_whether_it_knows_safe_cuts() -> None:
    assert repr(TINY.text_counter()) == "<TextCounter with safe cuts>"
    assert repr(TextCounter(len)) == "<TextCounter without safe cuts>"
