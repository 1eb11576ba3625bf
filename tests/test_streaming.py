"""Text from tokens, one at a time; offsets; token strings."""

import pickle
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, Literal

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref import (
    DecodingError,
    ParameterError,
    TokenIdError,
    Vocabulary,
    tokenizer_of,
    vocabulary_by_concatenation,
)
from bpe_ref.decoders.stream import Stream, printed
from bpe_ref.decoders.to_bytes import decode_each, decode_with_offsets
from bpe_ref.decoders.utf8_stream import STREAM_ERRORS, Utf8Stream
from bpe_ref.vocabulary.merges import TokenId
from tests.texts import drawn, text_of

BYTES = [bytes([byte]) for byte in range(256)]
TELLING = [
    *(b"\x00", b"a", b"\x7f", b"\x80", b"\x8f", b"\x90", b"\x9f", b"\xa0", b"\xbf", b"\xc0"),
    *(b"\xc1", b"\xc2", b"\xdf", b"\xe0", b"\xe1", b"\xec", b"\xed", b"\xee", b"\xef", b"\xbd"),
    *(b"\xf0", b"\xf1", b"\xf3", b"\xf4", b"\xf5", b"\xff", b"\xef\xbf\xbd", b"\xe2\x82", b"\xac"),
    *("é€😀\ufffd".encode()[cut:] for cut in range(0, 12, 2)),
]
"""Bytes at every edge of the rule, and characters without their beginning."""

telling_bytes = st.lists(st.sampled_from(TELLING) | st.binary(max_size=2), max_size=8).map(b"".join)
handlers = st.sampled_from(STREAM_ERRORS)


def small(*tokens: bytes, specials: Sequence[str] = ()) -> Vocabulary:
    ids = {content: place for place, content in enumerate(dict.fromkeys(tokens))}
    return vocabulary_by_concatenation(
        ids, special_tokens={text: 1000 + place for place, text in enumerate(specials)}
    )


@st.composite
def vocabularies_of_parts(draw: st.DrawFn) -> Vocabulary:
    """Draw a vocabulary whose tokens cut characters anywhere."""
    parts = draw(st.lists(telling_bytes.filter(bool), min_size=1, max_size=12))
    whole = draw(st.booleans())
    return small(*(BYTES if whole else ()), *parts, specials=["<s>", "é", "\ufffd"])


def outcome(vocabulary: Vocabulary, ids: list[int], errors: str, *, skip: bool) -> str | None:
    """Return the text, or None for an error."""
    try:
        return tokenizer_of(vocabulary).decode(ids, errors=errors, skip_special_tokens=skip)
    except DecodingError:
        return None


def streamed(decoder: Stream, ids: list[int]) -> list[str] | None:
    try:
        return [*map(decoder.push, ids), decoder.finish()]
    except DecodingError:
        return None


@drawn(500)
@given(st.data(), vocabularies_of_parts(), handlers, st.booleans())
def test_the_pieces_joined_are_the_text_decoded_at_once(
    data: st.DataObject, vocabulary: Vocabulary, errors: str, skip: Literal[True, False]
) -> None:
    ids = [*vocabulary.tokens, *vocabulary.special_tokens.values()]
    row = data.draw(st.lists(st.sampled_from(ids), max_size=10))
    tokenizer = tokenizer_of(vocabulary)
    decoder = tokenizer.stream(errors=errors, skip_special_tokens=skip)
    for _ in range(2):  # after `finish` a decoder is as new
        pieces = streamed(decoder, row)
        whole = outcome(vocabulary, row, errors, skip=skip)
        assert (None if pieces is None else "".join(pieces)) == whole
        if pieces is None:
            return


@drawn(500)
@given(st.lists(telling_bytes, max_size=6), handlers)
def test_any_chunking_of_the_bytes_gives_the_same_text(chunks: list[bytes], errors: str) -> None:
    stream = Utf8Stream(errors)
    try:
        expected = b"".join(chunks).decode("utf-8", errors)
    except UnicodeDecodeError as error:
        with pytest.raises(DecodingError, match=rf"byte {error.start} .*: {error.reason}$"):
            "".join([*map(stream.push, chunks), stream.finish()])
    else:
        assert "".join([*map(stream.push, chunks), stream.finish()]) == expected


SMALL_VOCABULARIES = {
    "a character cut at every place": small(b"a", b"\xf0", b"\x9f", b"\x98", b"\x80"),
    "U+FFFD itself": small(b"a", b"\xef", b"\xbf", b"\xbd"),
    "U+FFFD is all that EF can become": small(b"a", b"\xef", b"\xbf\xbd", b"\xbd"),
    "nothing continues": small(b"a", b"\xe2", b"\xc3", b"\xff"),
    "no third byte": small(b"a", b"\xe2", b"\x82"),
    "two bytes at once only": small(b"a", b"\xe2", b"\x82\xac", b"\xc3"),
    "a continuation that breaks": small(b"a", b"\xe2", b"\x82a", b"\xed", b"\xa0"),
    "surrogates and overlong": small(b"\xed", b"\xa0", b"\x80", b"\xe0", b"\xf4", b"\x90"),
}


def common(texts: list[str]) -> str:
    first, last = min(texts), max(texts)
    same = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), None)
    return first[: min(len(first), len(last)) if same is None else same]


@pytest.mark.parametrize("name", SMALL_VOCABULARIES)
@pytest.mark.parametrize("errors", [name for name in STREAM_ERRORS if name != "strict"])
def test_text_comes_with_the_token_that_settles_it(name: str, errors: str) -> None:
    """Brute force: three more tokens decide about any character, so all of them are tried."""
    vocabulary = SMALL_VOCABULARIES[name]
    tokenizer = tokenizer_of(vocabulary)
    ids = list(vocabulary.tokens)
    endings = [list(row) for length in range(4) for row in product(ids, repeat=length)]
    for length in range(4):
        for row in product(ids, repeat=length):
            decoder = tokenizer.stream(errors=errors)
            certain = "".join(map(decoder.push, row))
            possible = [tokenizer.decode([*row, *ending], errors=errors) for ending in endings]
            assert certain == common(possible), (name, row)


def test_a_genuine_replacement_character_does_not_wait() -> None:
    decoder = tokenizer_of(small(*BYTES, "\ufffd".encode(), b"x\xef\xbf\xbd")).stream()
    assert [decoder.push(256), decoder.push(257)] == ["\ufffd", "x\ufffd"]


def test_an_incomplete_tail_is_not_lost() -> None:
    decoder = tokenizer_of(small(*BYTES)).stream()
    assert [decoder.push(0xC3), decoder.finish(), decoder.finish()] == ["", "\ufffd", ""]


def test_a_byte_that_begins_no_character_comes_at_once() -> None:
    decoder = tokenizer_of(small(*BYTES)).stream()
    assert [decoder.push(byte) for byte in (0xFF, 0xE2, 0x82, 0x41)] == [
        "\ufffd",
        "",
        "",
        "\ufffdA",
    ]


def test_bytes_around_a_skipped_special_token_make_one_character() -> None:
    vocabulary = small(*BYTES, specials=["<s>"])
    skipping = tokenizer_of(vocabulary).stream(skip_special_tokens=True)
    assert [skipping.push(token) for token in (0xC3, 1000, 0xA9)] == ["", "", "é"]
    showing = tokenizer_of(vocabulary).stream()
    assert [showing.push(token) for token in (0xC3, 1000, 0xA9)] == ["", "\ufffd<s>", "\ufffd"]


@pytest.mark.parametrize("token", [4, -1, True, "0", None, 1.0])
def test_what_is_no_token_is_refused_and_changes_nothing(token: object) -> None:
    decoder = tokenizer_of(small(b"a", b"\xc3", b"\xa9")).stream()
    decoder.push(1)
    with pytest.raises(TokenIdError, match="a token id must be "):
        decoder.push(token)  # type: ignore[arg-type]  # the point
    assert decoder.push(2) == "é"


def test_a_strict_decoder_is_after_an_error_as_it_was_before() -> None:
    decoder = tokenizer_of(small(b"a", b"\xc3", b"\xa9", b"b\xff")).stream(errors="strict")
    assert decoder.push(1) == ""
    with pytest.raises(DecodingError, match=r"byte 0 .0xC3. is not: invalid continuation byte"):
        decoder.push(0)
    with pytest.raises(DecodingError, match=r"byte 0 .0xC3. is not: unexpected end of data"):
        decoder.finish()
    assert decoder.extend([2, 0]) == "éa"
    with pytest.raises(DecodingError, match=r"byte 4 .0xFF. is not: invalid start byte"):
        decoder.push(3)


@pytest.mark.parametrize("errors", ["strikt", "namereplace", "surrogatepass", None, 3])
def test_an_unknown_way_with_errors_is_refused(errors: str) -> None:
    with pytest.raises(ParameterError, match="errors must be one of strict, replace"):
        tokenizer_of(small(b"a")).stream(errors=errors)


def test_printing_writes_only_what_is_new() -> None:
    vocabulary = small(*BYTES)
    written = list(printed(tokenizer_of(vocabulary).stream(), "Zoë €\ufffd".encode() + b"\xf0\x9f"))
    assert written == ["Z", "o", "ë", " ", "€", "\ufffd", "\ufffd"]


# ---- offsets and strings

ENGINE = tiktoken.Encoding(
    "parts",
    pat_str=r"\p{L}+|\s+|.",
    mergeable_ranks={
        **{content: place for place, content in enumerate(BYTES)},
        **{part: 256 + at for at, part in enumerate([b"a\xe2", b"\x82\xac", b"\xac\xe2", b"ab"])},
    },
    special_tokens={"<|é|>": 300},
)
VOCABULARY = vocabulary_by_concatenation(ENGINE._mergeable_ranks, special_tokens={"<|é|>": 300})
OURS = tokenizer_of(VOCABULARY)


@drawn(500)
@given(text_of("a€", "€€", "€", "<|é|>", longest=8), st.data())
def test_offsets_are_those_of_tiktoken(text: str, data: st.DataObject) -> None:
    ids = OURS.encode(text)
    if data.draw(st.booleans()):
        ids = ids[data.draw(st.integers(0, 3)) :]
    try:
        expected = ENGINE.decode_with_offsets(ids)
    except UnicodeDecodeError:
        with pytest.raises(DecodingError):
            decode_with_offsets(VOCABULARY, ids)
    else:
        assert decode_with_offsets(VOCABULARY, ids) == expected
    assert decode_each(VOCABULARY, ids) == ENGINE.decode_tokens_bytes(ids)


def test_a_token_that_begins_inside_a_character_has_its_offset() -> None:
    assert decode_with_offsets(VOCABULARY, [256, 257, 97]) == ("a€a", [0, 1, 2])


def test_skipping_special_tokens_leaves_their_text_out() -> None:
    assert OURS.decode([97, 300, 98], skip_special_tokens=True) == "ab"
    assert OURS.decode([97, 300, 98]) == "a<|é|>b"
    assert OURS.decode(iter([97, 300]), skip_special_tokens=True) == "a"


@pytest.mark.parametrize("ids", [[[1]], [True], [301], [None], ["a"]])
def test_skipping_special_tokens_forgives_no_bad_id(ids: list[TokenId]) -> None:
    for decode in (decode_with_offsets, decode_each):
        with pytest.raises(TokenIdError):
            decode(VOCABULARY, ids)
    with pytest.raises(TokenIdError):
        OURS.decode(ids, skip_special_tokens=True)


@pytest.mark.parametrize("ids", ["ab", b"ab", {1, 2}, 5, None])
def test_what_is_no_row_of_ids_is_refused(ids: list[TokenId]) -> None:
    for decode in (decode_with_offsets, decode_each):
        with pytest.raises(ParameterError, match="ids must be a sequence of token ids"):
            decode(VOCABULARY, ids)
    with pytest.raises(ParameterError, match="ids must be a sequence of token ids"):
        OURS.decode(ids, skip_special_tokens=True)


def test_token_strings_are_visible_letters() -> None:
    assert list(map(OURS.id_to_token, [32, 10, 97, 0xC3, 300, 256])) == [
        "Ġ",
        "Ċ",
        "a",
        "Ã",
        "<|é|>",
        "aâ",
    ]


def test_a_pickled_stream_of_bytes_goes_on_where_it_was() -> None:
    stream = tokenizer_of(small(*BYTES)).stream()
    assert stream.push(0xC3) == ""
    copy = pickle.loads(pickle.dumps(stream))  # noqa: S301 - our own
    assert (copy.push(0xA9), stream.finish()) == ("é", "\ufffd")


@given(
    st.lists(st.text("ab", max_size=3), max_size=6),
    st.lists(st.text("ab", min_size=1, max_size=3), max_size=3),
)
def test_the_recipe_for_stop_strings_cuts_at_the_one_that_ends_first_and_is_never_late(
    parts: list[str], stops: list[str]
) -> None:
    page = (Path(__file__).parent.parent / "docs" / "streaming.md").read_text("utf-8")
    lines = page.partition(">>> def until")[2].partition("\n>>> ")[0].split("\n... ")
    recipe: dict[str, Any] = {}
    exec("\n".join([f"def until{lines[0]}", *lines[1:]]), recipe)  # noqa: S102 - from our page
    text = "".join(parts)
    ends = [end for end in range(len(text) + 1) if text[:end].endswith(tuple(stops))]
    before = text
    if ends:
        before = text[: ends[0] - max(len(s) for s in stops if text[: ends[0]].endswith(s))]
    read: list[str] = []
    until = recipe["until"](iter(read.append(part) or part for part in parts), stops)  # type: ignore[func-returns-value]
    yielded = [(part, len("".join(read))) for part in until]
    assert "".join(part for part, _ in yielded) == before
    done = 0
    for part, known in yielded[:-1]:
        done += len(part)
        rest = text[done:known]
        assert any(stop.startswith(rest) for stop in stops) or not rest
    assert not ends or len("".join(read)) - len(read[-1]) < ends[0] <= len("".join(read))
