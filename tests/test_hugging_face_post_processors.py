"""Post-processors give the library's encodings: tokens, type ids, masks, ranges and parts."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.processors import TemplateProcessing as EngineTemplate

from bpe_ref.encoding import Encoding
from bpe_ref.errors import ParameterError, VocabularyError
from bpe_ref.post_processors import (
    POST_PROCESSORS,
    BertProcessing,
    ByteLevel,
    PostProcessor,
    PostProcessorSequence,
    RobertaProcessing,
    TemplateProcessing,
    process,
)
from bpe_ref.post_processors.templates import (
    Piece,
    SequencePiece,
    SpecialPiece,
    SpecialToken,
    parse_piece,
    parse_template,
)
from bpe_ref.post_processors.truncation import DIRECTIONS, STRATEGIES, Truncation
from tests.engine_encodings import (
    FAILED,
    encoded,
    engine_answer,
    our_answer,
    ours,
    shown,
    tokenizer_of,
    words,
)
from tests.texts import drawn

NAMES = ("[C]", "[S]", "two", "none")
SPECIAL = {
    "[C]": SpecialToken("[C]", (100,), ("[C]",)),
    "[S]": SpecialToken("[S]", (101,), ("[S]",)),
    "two": SpecialToken("two", (102, 103), ("[2]", "Ġ")),
    "none": SpecialToken("none", (), ()),
}
AB = Encoding.of([(n, "ab"[n], (n, n + 1), n) for n in range(2)])


def pieces(*, texts: str, missing: bool) -> st.SearchStrategy[tuple[Piece, ...]]:
    names = (*NAMES, "gone") if missing else NAMES
    numbers = st.integers(0, 3)
    sequences = st.builds(SequencePiece, st.sampled_from(texts), numbers)
    special = st.builds(SpecialPiece, st.sampled_from(names), numbers)
    return st.lists(sequences | special, min_size=1, max_size=5).map(tuple)


def templates() -> st.SearchStrategy[TemplateProcessing]:
    single = pieces(texts="AAAAAAAB", missing=False) | pieces(texts="A", missing=True)
    pair = pieces(texts="AB", missing=False)
    return st.builds(TemplateProcessing, single, pair, st.just(SPECIAL))


_SEP, _CLS = st.just(("[S]", 101)), st.just(("[C]", 100))
_FLAGS = st.booleans()
_SIMPLE: dict[type, st.SearchStrategy[Any]] = {
    ByteLevel: st.builds(ByteLevel, _FLAGS, _FLAGS, _FLAGS),
    BertProcessing: st.builds(BertProcessing, _SEP, _CLS),
    RobertaProcessing: st.builds(RobertaProcessing, _SEP, _CLS, _FLAGS, _FLAGS),
    TemplateProcessing: templates(),
}
_ROWS = st.lists(st.one_of(*_SIMPLE.values()), max_size=3).map(tuple)
PROCESSORS = {**_SIMPLE, PostProcessorSequence: st.builds(PostProcessorSequence, _ROWS)}


def as_json(processor: Any) -> dict[str, Any]:
    """Return a post-processor as a file has it."""
    kinds = {kind: name for name, kind in POST_PROCESSORS.items()}
    fields = {name: getattr(processor, name) for name in type(processor).__dataclass_fields__}
    if isinstance(processor, PostProcessorSequence):
        fields = {"processors": [as_json(one) for one in processor.processors]}
    if isinstance(processor, TemplateProcessing):
        fields = {
            "single": [_piece_as_json(piece) for piece in processor.single],
            "pair": [_piece_as_json(piece) for piece in processor.pair],
            "special_tokens": {
                name: {"id": token.id, "ids": token.ids, "tokens": token.tokens}
                for name, token in processor.special_tokens.items()
            },
        }
    return {"type": kinds[type(processor)], **fields}


def _piece_as_json(piece: Piece) -> dict[str, Any]:
    kind = "Sequence" if isinstance(piece, SequencePiece) else "SpecialToken"
    return {kind: {"id": piece.id, "type_id": piece.type_id}}


def truncations() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "max_length": st.integers(0, 12),
            "stride": st.integers(0, 1),
            "strategy": st.sampled_from(STRATEGIES),
            "direction": st.sampled_from(DIRECTIONS),
        }
    )


def answer(
    processor: PostProcessor,
    encodings: list[Encoding],
    truncation: dict[str, Any] | None,
    *,
    add_special_tokens: bool,
) -> object:
    """Return what a tokenizer makes of texts that are encoded already."""

    def ask() -> object:
        first, second = (*encodings, None)[:2]
        assert first is not None
        if truncation is not None:
            added = processor.added_tokens(is_pair=second is not None) if add_special_tokens else 0
            first, second = Truncation(**truncation).truncate(first, second, added)
        result = process(processor, first, second, add_special_tokens=add_special_tokens)
        return shown(result, engine=False)

    return our_answer(ask)


@pytest.mark.parametrize("kind", POST_PROCESSORS.values())
def test_what_a_post_processor_makes_of_texts_is_the_librarys(kind: type) -> None:
    seen: Counter[str] = Counter()

    @drawn(500)
    @given(
        processor=PROCESSORS[kind],
        texts=st.lists(words(), min_size=1, max_size=2),
        truncation=st.none() | truncations(),
        add_special_tokens=st.sampled_from([True, True, False]),
    )
    def check(
        *,
        processor: PostProcessor,
        texts: list[list[str]],
        truncation: dict[str, Any] | None,
        add_special_tokens: bool,
    ) -> None:
        engines = [encoded(text) for text in texts]
        tokenizer = tokenizer_of(post_processor=as_json(processor), truncation=truncation)
        encodings = [ours(engine) for engine in engines]
        result = answer(processor, encodings, truncation, add_special_tokens=add_special_tokens)
        expected = engine_answer(
            lambda: shown(
                tokenizer.post_process(engines[0], (*engines, None)[1], add_special_tokens),
                engine=True,
            )
        )
        assert result == expected
        for is_pair in (True, False):
            added = processor.added_tokens(is_pair=is_pair)
            assert added == tokenizer.num_special_tokens_to_add(is_pair)
        plain = our_answer(lambda: shown(process(None, *encodings), engine=False))
        seen["texts"] += 1
        seen["changed"] += result not in (plain, FAILED)

    check()
    assert seen["changed"] > seen["texts"] / 20


@drawn(500)
@given(
    st.text("$AaBb01239+-[]:é ", max_size=6)
    | st.sampled_from(["$4294967295", "$4294967296", "$A:+0001", "[S]:00000000000000000001"])
)
def test_a_template_string_is_read_like_the_librarys(text: str) -> None:
    special = [(name.partition(":")[0], 7) for name in text.split(" ")]

    def ask_engine() -> object:
        template = EngineTemplate(single=text, pair="$A $B", special_tokens=special)
        tokenizer = tokenizer_of()
        tokenizer.post_processor = template
        return shown(tokenizer.post_process(encoded(["a", "b"])), engine=True)

    def ask() -> object:
        table = {name: SpecialToken(name, (number,), (name,)) for name, number in special}
        template = TemplateProcessing(parse_template(text), (), table)
        return shown(process(template, ours(encoded(["a", "b"]))), engine=False)

    assert our_answer(ask) == engine_answer(ask_engine)


def test_pieces_may_come_one_by_one() -> None:
    assert parse_template(["[a b]", "$B:2"]) == (SpecialPiece("[a b]"), SequencePiece("B", 2))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("$C", "must be \\$A, \\$B or \\$NUMBER, got '\\$C'"),
        ("$A:x", "type id must be a number of 32 bits, got '\\$A:x'"),
        ("a:1:2", "type id must be a number of 32 bits, got 'a:1:2'"),
    ],
)
def test_a_piece_that_cannot_be_read_is_named(text: str, sentence: str) -> None:
    with pytest.raises(VocabularyError, match=sentence):
        parse_piece(text)


def test_a_special_token_that_the_table_lacks_is_named() -> None:
    template = TemplateProcessing(parse_template("[X] $A"), (), {})
    with pytest.raises(VocabularyError, match="special tokens of its own table, got '\\[X\\]'"):
        process(template, AB)
    assert process(template, AB, add_special_tokens=False).ids == (0, 1)


def test_a_second_text_where_there_is_none_is_an_error() -> None:
    with pytest.raises(VocabularyError, match="must not use the sequence B"):
        process(TemplateProcessing(parse_template("$A $B"), (), {}), AB)


def test_a_template_after_a_template_must_get_one_or_two_parts() -> None:
    template = TemplateProcessing(parse_template("[S] $A [S]"), (), SPECIAL)
    with pytest.raises(VocabularyError, match="must be given one text or two, got 3 parts"):
        process(PostProcessorSequence((template, template)), AB)


def test_a_special_token_has_as_many_ids_as_strings() -> None:
    with pytest.raises(VocabularyError, match="as many ids as tokens, got 1 and 2 for 'x'"):
        SpecialToken("x", (1,), ("a", "b"))


def test_a_sequence_is_a_or_b() -> None:
    with pytest.raises(VocabularyError, match="sequence must be A or B, got 'C'"):
        SequencePiece("C")


def test_framing_forgets_masks() -> None:
    padded = replace(AB, attention_mask=(0, 1), special_tokens_mask=(1, 0))
    framed = process(BertProcessing(sep=("[S]", 1), cls=("[C]", 2)), padded)
    assert framed.attention_mask == (1, 1, 1, 1)
    assert framed.special_tokens_mask == (1, 0, 0, 1)


def test_one_leading_space_stays_at_the_start_only_where_it_was_put_there() -> None:
    token = Encoding.of([(0, "Ġa", (3, 5), 0), (0, "Ġa", (3, 5), 0)])
    assert process(ByteLevel(add_prefix_space=True, trim_offsets=True), token).offsets == (
        (3, 5),
        (4, 5),
    )
    assert process(ByteLevel(add_prefix_space=False, trim_offsets=True), token).offsets == (
        (4, 5),
        (4, 5),
    )


@pytest.mark.parametrize(
    ("make", "fields", "rule"),
    [
        (ByteLevel, (1, True), "add_prefix_space must be a bool, got 1"),
        (ByteLevel, (True, None), "trim_offsets must be a bool, got None"),
        (BertProcessing, (("a", -1), ("b", 1)), "sep must be a token's string and its id"),
        (BertProcessing, (("a", 1), "b"), "cls must be a token's string and its id, got 'b'"),
        (RobertaProcessing, (("a", 1), (1, "b"), True, True), "cls must be a token's string"),
        (RobertaProcessing, (("a", 1), ("b", 1), "", True), "trim_offsets must be a bool"),
    ],
)
def test_post_processors_refuse_fields_of_other_types(
    make: Callable[..., PostProcessor], fields: tuple[object, ...], rule: str
) -> None:
    with pytest.raises(ParameterError, match=rule):
        make(*fields)
