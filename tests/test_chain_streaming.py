"""Text through a decoder chain, one token at a time: what comes is certain, and nothing is lost."""

import pickle
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref import DecodingError
from bpe_ref.components import Decoder
from bpe_ref.decoders import (
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
from bpe_ref.decoders.chain_stream import ChainStream
from bpe_ref.models.bpe import BPE
from bpe_ref.patterns.matches import Literal, Regex
from bpe_ref.quirks import HUGGING_FACE, STRICT
from bpe_ref.tokenizer import Tokenizer
from tests.texts import drawn

TOKENS = [
    *(
        "a",
        "▁a",
        "▁",
        "▁▁",
        "ab",
        "b",
        "aab",
        " ",
        "  ",
        "_",
        "__",
        "a_",
        "_a",
        "",
        "x</w>",
        "</w>",
    ),
    *("<0xC3>", "<0xA9>", "<0xE4>", "<0xBD>", "<0xA0>", "<0xFF>", "<0x41>", "<0x", "41>", "<0x+1>"),
    *("Ã", "©", "Ġ", "ä½", "é", "##s", "##", " .", ".", " n", "'t", " do", " not", " '", "s", "你"),
]
profiles = st.sampled_from([HUGGING_FACE, STRICT])
single: st.SearchStrategy[Decoder] = st.one_of(
    st.builds(Metaspace, st.sampled_from("▁a"), st.sampled_from(["always", "never", "first"])),
    st.builds(
        Replace,
        st.sampled_from([*map(Literal, ["▁", "ab", "aab", "aa", "", " "]), Regex("a+b?")]),
        st.sampled_from([" ", "", "ab"]),
    ),
    st.builds(ByteFallback, profiles),
    st.just(Fuse()),
    st.just(Fuse()),
    st.builds(Strip, st.sampled_from(" _a"), st.integers(0, 2), st.integers(0, 2), profiles),
    st.builds(BPEDecoder, st.sampled_from(["</w>", "a", ""])),
    st.builds(WordPiece, st.sampled_from(["##", ""]), st.sampled_from([True, False])),
    st.just(ByteLevel(add_prefix_space=True, trim_offsets=True)),
)
chains: st.SearchStrategy[Decoder | None] = st.one_of(
    st.lists(single, max_size=4).map(tuple).map(DecoderSequence), single, st.none()
)


class Reversed:
    """A decoder of another kind."""

    def decode_chain(self, tokens: Sequence[str]) -> list[str]:
        return [token[::-1] for token in reversed(tokens)]


def streamed(stream: ChainStream, tokens: list[str]) -> list[str] | None:
    try:
        return [*map(stream.push, tokens), stream.finish()]
    except DecodingError:
        return None


@drawn(1500)
@given(chains, st.lists(st.sampled_from(TOKENS), max_size=8))
def test_the_pieces_joined_are_the_text_decoded_at_once(
    decoder: Decoder | None, tokens: list[str]
) -> None:
    stream = ChainStream(decoder)
    for _ in range(2):  # after `finish` a stream is as new
        pieces = streamed(stream, tokens)
        try:
            expected = decode_tokens(decoder, tokens)
        except DecodingError:
            assert pieces is None
            return
        assert pieces is not None
        assert "".join(pieces) == expected


@drawn(500)
@given(chains, st.lists(st.sampled_from(TOKENS), max_size=6), st.sampled_from(TOKENS))
def test_what_is_out_stays_whatever_follows(
    decoder: Decoder | None, tokens: list[str], following: str
) -> None:
    pieces = streamed(ChainStream(decoder), tokens)
    if pieces is None:
        return
    certain = "".join(pieces[:-1])
    for row in (tokens, [*tokens, following], [*tokens, following, following]):
        try:
            assert decode_tokens(decoder, row).startswith(certain)
        except DecodingError:
            continue


LLAMA = DecoderSequence((Replace(Literal("▁"), " "), ByteFallback(), Fuse(), Strip(" ", 1, 0)))
BYTES = ByteLevel(add_prefix_space=True, trim_offsets=True)


@pytest.mark.parametrize(
    ("decoder", "tokens", "pieces"),
    [
        (None, ["a", "b"], ["a", " b", ""]),
        (LLAMA, ["▁Hi", "▁you", "!"], ["Hi", " you", "!", ""]),
        (LLAMA, ["▁", "<0xC3>", "<0xA9>", "x"], ["", "", "", "éx", ""]),
        (LLAMA, ["a", "<0xC3>"], ["a", "", "\ufffd"]),
        (LLAMA, ["a", "<0x41>", "<0xFF>", "."], ["a", "", "", "\ufffd\ufffd.", ""]),
        (BYTES, ["Ġa", "Ã", "©", "Ã"], [" a", "", "é", "", "\ufffd"]),
        (Metaspace("▁"), ["▁a", "▁b"], ["a", " b", ""]),
        (BPEDecoder("</w>"), ["a", "b</w>", "c</w>"], ["a", "", "b ", "c"]),
        (WordPiece("##", cleanup=True), ["a", "##b", ".", "c"], ["a", "b", ".", " c", ""]),
        (DecoderSequence((Fuse(), Strip("_", 0, 1))), ["a_", "_", "b"], ["a", "_", "_b", ""]),
        (
            DecoderSequence((Fuse(), Replace(Literal("ab"), "!"))),
            ["xa", "b", "a"],
            ["x", "!", "", "a"],
        ),
        (DecoderSequence((Fuse(), ByteFallback())), ["<0x41", ">"], ["", "", "A"]),
        (Reversed(), ["ab", "c"], ["", "", "cba"]),
        (DecoderSequence((Fuse(), Reversed())), ["ab", "c"], ["", "", "cba"]),
    ],
)
def test_text_comes_with_the_token_that_settles_it(
    decoder: Decoder | None, tokens: list[str], pieces: list[str]
) -> None:
    assert streamed(ChainStream(decoder), tokens) == pieces


def test_a_stream_can_be_used_again_after_an_error() -> None:
    stream = ChainStream(DecoderSequence((Fuse(), Strip(" ", 0, 1))))
    with pytest.raises(DecodingError):
        stream.finish()
    assert [stream.push("a "), stream.finish()] == ["a", ""]


@drawn(60)
@given(chains, st.lists(st.integers(0, len(TOKENS) - 1), max_size=6), st.booleans())
def test_a_pickled_stream_goes_on_where_it_was(
    decoder: Decoder | None, ids: list[int], skips: bool
) -> None:
    model = BPE({token: place for place, token in enumerate(TOKENS)}, [])
    stream = Tokenizer(model, decoder=decoder).stream(skip_special_tokens=skips)
    stream.extend(ids[:3])
    copy = pickle.loads(pickle.dumps(stream))  # noqa: S301 - our own
    assert copy.extend(ids[3:]) + copy.finish() == stream.extend(ids[3:]) + stream.finish()
