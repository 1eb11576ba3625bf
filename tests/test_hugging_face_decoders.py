"""Decoders give the library's text for any strings of tokens."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex as EngineRegex
from tokenizers import decoders

from bpe_ref.decoders import (
    DECODERS,
    BPEDecoder,
    ByteFallback,
    ByteLevel,
    DecoderSequence,
    Fuse,
    Metaspace,
    Replace,
    Strip,
    WordPiece,
    decode_tokens,
)
from bpe_ref.errors import DecodingError, ParameterError
from bpe_ref.patterns.matches import Literal, Regex
from bpe_ref.quirks import STRICT
from tests.engine_encodings import FAILED, engine_answer, our_answer
from tests.texts import drawn

ATOMS = (
    *("a", "b", "é", "Ġ", "Ċ", "Ã", "©", "ä", "½", "ł", "Ł", "ã", "ģ", "Ĥ", "ðŁĺ", "Ģ", "À"),
    *("<0xE4>", "<0xBD>", "<0xA0>", "<0xC3>", "<0xa9>", "<0x41>", "<0x+1>", "<0x-0>", "<0xé>"),
    *("<0xF0>", "<0x9F>", "<0x98>", "<0x80>", "<0xED>", "<0xFF>", "<0x0>", "<0x 1>", "<0X41>"),
    *("▁", "▁▁", "▁a", "a▁", " ", "  ", "_", "__", "##", "##a", "#", "</w>", "a</w>", "</w>b"),
    *("\ufffd", "", "", "é!", "Ġfoo", "你", "😀", "\u0301", "\n", ".", " .", " ?", " !", " ,"),
    *(" ' ", " n't", " 'm", " do not", " 's", " 've", " 're", "do", "not", "'s", "İ", "\x00"),
)
TOKENS = st.lists(
    st.sampled_from(ATOMS) | st.lists(st.sampled_from(ATOMS), max_size=3).map("".join), max_size=8
)
FLAGS = st.booleans()
LETTERS = st.sampled_from(["▁", "_", " ", "a", "é", "Ġ"])
TEXTS = st.sampled_from(["", "▁", " ", "a", "##", "</w>", "_", "é", "Ġ", "ab"])
PATTERNS = st.builds(Literal, TEXTS) | st.builds(
    Regex, st.sampled_from(["a+", "[▁_]", r"\s+", "^ ", "a|b", "é?"])
)
COUNTS = st.integers(0, 3)
SCHEMES = st.sampled_from(["always", "first", "never"])
_SIMPLE: dict[type, st.SearchStrategy[Any]] = {
    ByteLevel: st.builds(ByteLevel, FLAGS, FLAGS, FLAGS),
    ByteFallback: st.builds(ByteFallback),
    Metaspace: st.builds(Metaspace, LETTERS, SCHEMES, FLAGS),
    Replace: st.builds(Replace, PATTERNS, TEXTS),
    Fuse: st.builds(Fuse),
    Strip: st.builds(Strip, LETTERS, COUNTS, COUNTS),
    BPEDecoder: st.builds(BPEDecoder, TEXTS),
    WordPiece: st.builds(WordPiece, TEXTS, FLAGS),
}
_ROWS = st.lists(st.one_of(*_SIMPLE.values()), max_size=4).map(tuple)
KINDS = {**_SIMPLE, DecoderSequence: st.builds(DecoderSequence, _ROWS)}


def engine_of(decoder: Any) -> Any:  # noqa: PLR0911 -- of any class, each with its own case
    """Return the library's decoder for one of ours."""
    match decoder:
        case DecoderSequence(decoders=row):
            return decoders.Sequence([engine_of(one) for one in row])
        case ByteLevel():
            return decoders.ByteLevel()
        case Replace(pattern=pattern, content=content):
            if isinstance(pattern, Literal):
                return decoders.Replace(pattern.text, content)
            return decoders.Replace(EngineRegex(pattern.source), content)
        case Metaspace(replacement=letter, prepend_scheme=scheme, split=split):
            return decoders.Metaspace(replacement=letter, prepend_scheme=scheme, split=split)
        case Strip(content=content, start=start, stop=stop):
            return decoders.Strip(content, start, stop)
        case BPEDecoder(suffix=suffix):
            return decoders.BPEDecoder(suffix=suffix)
        case WordPiece(prefix=prefix, cleanup=cleanup):
            return decoders.WordPiece(prefix=prefix, cleanup=cleanup)
    return {Fuse: decoders.Fuse, ByteFallback: decoders.ByteFallback}[type(decoder)]()


@pytest.mark.parametrize("kind", DECODERS.values())
def test_what_a_decoder_makes_of_strings_is_the_librarys(kind: type) -> None:
    seen: Counter[str] = Counter()

    @drawn(500)
    @given(KINDS[kind], TOKENS)
    def check(decoder: Any, tokens: list[str]) -> None:
        text = our_answer(lambda: decode_tokens(decoder, tokens))
        assert text == engine_answer(lambda: engine_of(decoder).decode(tokens))
        seen["lists"] += 1
        if kind is Fuse:
            seen["changed"] += our_answer(lambda: decoder.decode_chain(tokens)) != tokens
        else:
            seen["changed"] += text not in ("".join(tokens), FAILED)

    check()
    assert seen["changed"] > seen["lists"] / 20


def test_there_is_a_class_for_each_type_name() -> None:
    kinds = {name for name in dir(decoders) if isinstance(getattr(decoders, name), type)}
    assert kinds - {"CTC", "DecodeStream", "Decoder"} == {*DECODERS}


def test_without_a_decoder_strings_are_joined_with_spaces() -> None:
    assert decode_tokens(None, ["a", "", "b"]) == "a  b"


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (["<0xE4>", "<0xBD>", "<0xA0>", "<0xFF>"], "你\ufffd"),
        (["<0x+1>", "<0xc3>", "<0xC3>", "<0xA9>"], "<0x+1><0xc3>é"),
    ],
)
def test_by_the_definition_byte_fallback_loses_what_is_wrong_only(
    tokens: list[str], text: str
) -> None:
    assert "".join(ByteFallback(STRICT).decode_chain(tokens)) == text


@pytest.mark.parametrize(
    ("token", "start", "stop"), [("", 0, 1), ("_", 1, 1), ("__", 0, 3), ("___", 2, 2)]
)
def test_a_string_too_short_to_strip_is_an_error_or_stripped_bare(
    token: str, start: int, stop: int
) -> None:
    with pytest.raises(DecodingError, match="Strip must be given tokens that are long enough"):
        Strip("_", start, stop).decode_chain([token])
    assert Strip("_", start, stop, STRICT).decode_chain([token]) == [""]


@pytest.mark.parametrize(
    ("make", "fields", "rule"),
    [
        (ByteLevel, (1, True), "add_prefix_space must be a bool, got 1"),
        (Metaspace, ("ab",), "replacement must be one character, got 'ab'"),
        (Metaspace, ("a", "ever"), "prepend_scheme must be one of first, never, always"),
        (Metaspace, ("a", "always", True, False), 'prepend_scheme must be "never"'),
        (Strip, ("", 0, 0), "content must be one character, got ''"),
        (Strip, ("a", -1, 0), "start must be a whole number of at least 0, got -1"),
        (Strip, ("a", 0, 0.5), "stop must be a whole number of at least 0, got 0.5"),
        (BPEDecoder, (None,), "suffix must be a str, got None"),
        (WordPiece, (b"#", True), "prefix must be a str, got b'#'"),
        (WordPiece, ("#", 1), "cleanup must be a bool, got 1"),
        (Replace, ("a", "b"), "pattern must be a Literal or a Regex, got 'a'"),
        (Replace, (Literal("a"), 1), "content must be a str, got 1"),
    ],
)
def test_decoders_refuse_fields_of_other_types(
    make: Callable[..., object], fields: tuple[object, ...], rule: str
) -> None:
    with pytest.raises(ParameterError, match=rule):
        make(*fields)
