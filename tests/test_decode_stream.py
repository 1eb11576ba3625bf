"""The stream decoder that behaves like the library's gives the library's text, step by step."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken as EngineToken
from tokenizers import Tokenizer as EngineTokenizer
from tokenizers.decoders import DecodeStream as EngineStream
from tokenizers.models import BPE as EngineBPE  # noqa: N811 -- a name of the library's

from bpe_ref.added_tokens import AddedToken, AddedTokens
from bpe_ref.decoders import BPEDecoder, ByteFallback, ByteLevel, Metaspace, Strip
from bpe_ref.errors import DecodingError, ParameterError, TokenIdError
from bpe_ref.like_tokenizers.decode_stream import DecodeStream
from bpe_ref.models.bpe import BPE
from bpe_ref.tokenizer import Tokenizer
from tests.engine_encodings import FAILED, engine_answer, our_answer
from tests.test_hugging_face_decoders import ATOMS, KINDS, engine_of
from tests.texts import drawn

VOCABULARY = {atom: number for number, atom in enumerate(dict.fromkeys(filter(None, ATOMS)))}
SIZE = len(VOCABULARY)
ADDED = {"<s>": True, "Ġé": False, "▁x▁": True}
IDS = st.integers(0, SIZE + len(ADDED) + 1) | st.sampled_from([VOCABULARY[c] for c in "▁_ "])
STEPS = st.lists(IDS | st.lists(IDS, max_size=3), max_size=10)
FALLIBLE = st.builds(Strip, st.sampled_from("▁_ "), st.just(2), st.just(2))
DECODERS = FALLIBLE | st.none() | st.one_of(*KINDS.values())


def engine_with(decoder: Any) -> EngineTokenizer:
    tokenizer = EngineTokenizer(EngineBPE(VOCABULARY, []))
    for content, special in ADDED.items():
        tokenizer.add_tokens([EngineToken(content, special=special)])
    if decoder is not None:
        tokenizer.decoder = engine_of(decoder)
    return tokenizer


class Skipping(NamedTuple):
    """A tokenizer that leaves out unknown ids, as the library does."""

    tokenizer: Tokenizer

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool) -> str:
        return self.tokenizer.decode(
            ids, skip_special_tokens=skip_special_tokens, unknown_ids="skip"
        )


def pipeline_with(decoder: Any) -> Skipping:
    added = [AddedToken(content, special=special) for content, special in ADDED.items()]
    return Skipping(
        Tokenizer(BPE(VOCABULARY, []), decoder=decoder, added_tokens=AddedTokens(added))
    )


def test_every_step_gives_the_librarys_text() -> None:
    seen: Counter[str] = Counter()

    @drawn(500)
    @given(
        decoder=DECODERS,
        start=st.none() | st.lists(IDS, max_size=4),
        steps=STEPS,
        skip=st.booleans(),
    )
    def check(
        *, decoder: Any, start: list[int] | None, steps: list[int | list[int]], skip: bool
    ) -> None:
        tokenizer, pipeline = engine_with(decoder), pipeline_with(decoder)
        engine, stream = EngineStream(start, skip), DecodeStream(start, skip)
        for ids in steps:
            text = our_answer(lambda ids=ids: stream.step(pipeline, ids))  # type: ignore[misc]
            assert text == engine_answer(lambda ids=ids: engine.step(tokenizer, ids))  # type: ignore[misc]
            seen["nothing" if text is None else "failed" if text == FAILED else "text"] += 1

    check()
    assert min(seen.values()) > seen.total() / 20, seen


BYTES = pipeline_with(ByteLevel(add_prefix_space=True, trim_offsets=True))
C3, A9 = VOCABULARY["Ã"], VOCABULARY["©"]


def test_the_end_of_a_text_never_comes() -> None:
    stream = DecodeStream()
    assert stream.step(BYTES, [VOCABULARY["a"]]) == "a"
    assert stream.step(BYTES, C3) is None


def test_a_stream_that_starts_inside_a_character_repeats_its_start() -> None:
    assert DecodeStream([VOCABULARY["a"], C3]).step(BYTES, A9) == "aé"
    assert DecodeStream([VOCABULARY["a"]]).step(BYTES, [C3, A9]) == "é"


def test_a_real_replacement_character_waits_for_more() -> None:
    pipeline = pipeline_with(ByteFallback())
    stream = DecodeStream()
    assert stream.step(pipeline, VOCABULARY["\ufffd"]) is None
    assert stream.step(pipeline, VOCABULARY["a"]) == "\ufffda"


def test_text_that_changes_is_an_error() -> None:
    pipeline = pipeline_with(BPEDecoder("</w>"))
    stream = DecodeStream()
    assert stream.step(pipeline, VOCABULARY["b"]) == "b"
    assert stream.step(pipeline, VOCABULARY["</w>b"]) == "b"
    with pytest.raises(DecodingError, match="must start with what was printed, 'b', got ' ba'"):
        stream.step(pipeline, VOCABULARY["a"])


def test_a_stream_keeps_the_space_that_one_token_alone_loses() -> None:
    pipeline = pipeline_with(Metaspace("▁"))
    stream = DecodeStream()
    token = VOCABULARY["▁a"]
    assert [stream.step(pipeline, token), stream.step(pipeline, token)] == ["a", " a"]


@pytest.mark.parametrize("ids", ["a", [1.5], -1, [1 << 32], None, {"a": 1}])
def test_what_is_no_id_is_refused(ids: Any) -> None:
    with pytest.raises((ParameterError, TokenIdError), match="id must be"):
        DecodeStream().step(BYTES, ids)
