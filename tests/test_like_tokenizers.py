"""The facade answers as the Python package `tokenizers` does."""

import copy
import json
import pickle
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import tokenizers as engine
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref import like_tokenizers as ours
from bpe_ref.encoding import Encoding
from bpe_ref.errors import BpeError, ParameterError, TokenIdError, VocabularyFileError
from tests.engine_encodings import FAILED, engine_answer, fields_of, our_answer, shown
from tests.texts import drawn, text_of

VOCABULARY = {
    letter: number
    for number, letter in enumerate(["[UNK]", *"Ġabcdehilort'!ÃŠâĢ", "he", "ll", "Ġw", "th", "the"])
}
MERGES = [("h", "e"), ("l", "l"), ("t", "h"), ("th", "e")]


def built(library: Any) -> Any:
    """Return a tokenizer with a component of every kind."""
    options = {"unk_token": "[UNK]", "fuse_unk": True}
    model = library.models.BPE(dict(VOCABULARY), list(MERGES), **options)
    tokenizer = library.Tokenizer(model)
    tokenizer.normalizer = library.normalizers.Sequence(
        [library.normalizers.Replace("~", " "), library.normalizers.Lowercase()]
    )
    tokenizer.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = library.decoders.Sequence([library.decoders.ByteLevel()])
    tokenizer.add_special_tokens(["<s>", library.AddedToken("</s>", rstrip=True)])
    tokenizer.add_tokens([library.AddedToken("The", single_word=True), "don"])
    tokenizer.post_processor = library.processors.Sequence(
        [
            library.processors.ByteLevel(trim_offsets=True),
            library.processors.TemplateProcessing(
                single="<s> $A", pair=["<s>", "$A", "</s>:1", "$B:1"], special_tokens=_SPECIAL
            ),
        ]
    )
    return tokenizer


_SPECIAL = [("<s>", len(VOCABULARY)), ("</s>", len(VOCABULARY) + 1)]
ENGINE, OURS = built(engine), built(ours)
TEXTS = text_of("<s>", "</s>", "The", "don", "the~", "hello", longest=8)
NUMBERS = st.integers(0, 9)


def seen_in(encoding: Any) -> object:
    """Return all that an encoding can be asked for."""
    return shown(encoding, engine=True)


def configured(tokenizer: Any, options: dict[str, Any]) -> Any:
    """Set truncation, padding and how special tokens are read."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    if options["truncation"] is not None:
        tokenizer.enable_truncation(**options["truncation"])
    if options["padding"] is not None:
        tokenizer.enable_padding(**options["padding"])
    tokenizer.encode_special_tokens = options["encode_special_tokens"]
    return tokenizer


SIDES = st.sampled_from(["left", "right"])
OPTIONS = st.fixed_dictionaries(
    {
        "truncation": st.none()
        | st.fixed_dictionaries(
            {
                "max_length": NUMBERS,
                "stride": st.integers(0, 2),
                "strategy": st.sampled_from(["longest_first", "only_first", "only_second"]),
                "direction": SIDES,
            }
        ),
        "padding": st.none()
        | st.fixed_dictionaries(
            {
                "direction": SIDES,
                "length": st.none() | NUMBERS,
                "pad_to_multiple_of": st.none() | st.integers(1, 4),
                "pad_id": NUMBERS,
                "pad_type_id": NUMBERS,
                "pad_token": st.sampled_from(["[PAD]", "<s>"]),
            }
        ),
        "encode_special_tokens": st.booleans(),
    }
)
INPUTS = st.lists(TEXTS | st.tuples(TEXTS, TEXTS), max_size=3)
WORDS = st.lists(TEXTS, max_size=3)
WORD_INPUTS = st.lists(WORDS | st.tuples(WORDS, WORDS), max_size=3)


def test_batches_of_texts_pairs_and_words_are_encoded_like_the_librarys() -> None:
    seen: Counter[str] = Counter()

    @drawn(500)
    @given(
        inputs=st.tuples(INPUTS, st.just(value=False))
        | st.tuples(WORD_INPUTS, st.just(value=True)),
        options=OPTIONS,
        add_special_tokens=st.booleans(),
    )
    def check(
        *, inputs: tuple[list[Any], bool], options: dict[str, Any], add_special_tokens: bool
    ) -> None:
        def ask(tokenizer: Any) -> object:
            tokenizer = configured(tokenizer, options)
            arguments = (*inputs, add_special_tokens)
            return [
                (tokenizer.truncation, tokenizer.padding),
                [fields_of(one, engine=True) for one in tokenizer.encode_batch(*arguments)],
                [fields_of(one, engine=True) for one in tokenizer.encode_batch_fast(*arguments)],
            ]

        answer = our_answer(lambda: ask(OURS))
        assert answer == engine_answer(lambda: ask(ENGINE))
        seen["failed" if answer == FAILED else "texts"] += 1

    check()
    assert seen["texts"] > seen.total() / 2


@drawn(500)
@given(TEXTS, st.none() | TEXTS, st.booleans())
def test_a_text_or_a_pair_is_encoded_and_decoded_like_the_librarys(
    text: str, pair: str | None, skip: bool
) -> None:
    options = {"truncation": None, "padding": None, "encode_special_tokens": False}

    def ask(tokenizer: Any) -> object:
        tokenizer = configured(tokenizer, options)
        encoding = tokenizer.encode(text, pair)
        again = tokenizer.post_process(tokenizer.encode(text, add_special_tokens=False))
        return [
            seen_in(encoding),
            seen_in(again),
            tokenizer.decode(encoding.ids, skip),
            tokenizer.decode_batch([encoding.ids, []], skip_special_tokens=skip),
        ]

    assert our_answer(lambda: ask(OURS)) == engine_answer(lambda: ask(ENGINE))


def test_the_vocabulary_is_the_librarys() -> None:
    for name in ("get_vocab", "get_vocab_size"):
        for flag in (True, False):
            assert getattr(OURS, name)(flag) == getattr(ENGINE, name)(flag)
    tokens = [*VOCABULARY, "<s>", "</s>", "The", "nothing"]
    assert [OURS.token_to_id(token) for token in tokens] == [
        ENGINE.token_to_id(token) for token in tokens
    ]
    assert [OURS.id_to_token(id_) for id_ in range(40)] == [
        ENGINE.id_to_token(id_) for id_ in range(40)
    ]
    assert {id_: repr(token) for id_, token in OURS.get_added_tokens_decoder().items()} == {
        id_: repr(token) for id_, token in ENGINE.get_added_tokens_decoder().items()
    }
    assert [OURS.num_special_tokens_to_add(is_pair) for is_pair in (False, True)] == [1, 2]


@drawn(200)
@given(
    st.lists(
        st.tuples(
            st.lists(
                st.tuples(
                    st.sampled_from(["", "a", "x", "y", "the", "z z"]),
                    st.none() | st.fixed_dictionaries({"special": st.booleans()}),
                ),
                max_size=3,
            ),
            st.booleans(),
        ),
        max_size=3,
    )
)
def test_tokens_are_added_and_counted_like_the_librarys(
    calls: list[tuple[list[tuple[str, dict[str, bool] | None]], bool]],
) -> None:
    def ask(library: ModuleType) -> object:
        tokenizer = library.Tokenizer(library.models.BPE({"a": 0, "the": 1}, []))
        counts = []
        for tokens, special in calls:
            row = [
                content if flags is None else library.AddedToken(content, **flags)
                for content, flags in tokens
            ]
            add = tokenizer.add_special_tokens if special else tokenizer.add_tokens
            counts.append((add(row), [str(token) for token in row]))
        decoder = tokenizer.get_added_tokens_decoder()
        return [
            counts,
            tokenizer.get_vocab(),
            {id_: repr(token) for id_, token in decoder.items()},
            tokenizer.decode(range(8)),
        ]

    assert ask(ours) == ask(engine)


def test_a_file_comes_back_as_it_was(tmp_path: Path) -> None:
    configured(OURS, {"truncation": None, "padding": None, "encode_special_tokens": False})
    OURS.save(tmp_path / "tokenizer.json")
    read = ours.Tokenizer.from_file(tmp_path / "tokenizer.json")
    theirs = engine.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert read.to_str() == OURS.to_str()
    text = "<s> the~don hello"
    assert read.encode(text).ids == OURS.encode(text).ids == theirs.encode(text).ids
    assert ours.Tokenizer.from_buffer(OURS.to_str().encode()).to_str() == OURS.to_str()


def test_what_the_library_writes_is_read_and_means_the_same() -> None:
    text = ENGINE.to_str()
    read = ours.Tokenizer.from_str(text)
    assert json.loads(read.to_str()) == json.loads(text)


def test_tokenizers_and_encodings_can_be_copied_and_pickled() -> None:
    encoding = OURS.encode("the")
    for again in (pickle.loads(pickle.dumps(OURS)), copy.deepcopy(OURS)):  # noqa: S301 -- our own
        assert again.to_str() == OURS.to_str()
    assert pickle.loads(pickle.dumps(encoding)).ids == encoding.ids  # noqa: S301 -- our own


def test_an_encoding_is_cut_and_filled_in_place() -> None:
    encoding, theirs = (tokenizer.encode("the hello") for tokenizer in (OURS, ENGINE))
    for one in (encoding, theirs):
        one.truncate(3, stride=1, direction="left")
        one.pad(6, direction="left", pad_id=7, pad_type_id=2)
        one.set_sequence_id(1)
    assert seen_in(encoding) == seen_in(theirs)
    assert repr(encoding) == repr(theirs)
    assert seen_in(ours.Encoding.merge([encoding, encoding])) == seen_in(
        engine.Encoding.merge([theirs, theirs])
    )
    with pytest.warns(DeprecationWarning, match=r"please use Encoding\.word_ids"):
        assert encoding.words == encoding.word_ids


def test_what_was_given_out_does_not_change_with_the_tokenizer() -> None:
    tokenizer = built(ours)
    frozen, encoding = tokenizer.frozen, tokenizer.encode("the")
    tokenizer.enable_padding(length=30)
    tokenizer.normalizer = tokenizer.pre_tokenizer = tokenizer.post_processor = None
    assert frozen.tokenize("the") == encoding.value
    assert len(tokenizer.encode("the")) == 30


def test_added_tokens_become_special_when_they_are_added_so() -> None:
    tokenizer, token = ours.Tokenizer(ours.models.BPE()), ours.AddedToken("a")
    assert token.normalized
    tokenizer.add_special_tokens([token])
    assert (token.special, token.normalized) == (True, False)
    assert token == ours.AddedToken("a", special=True)
    assert len({token, ours.AddedToken("a", special=True), ours.AddedToken("a")}) == 2


def test_a_stream_decodes_with_a_tokenizer() -> None:
    ids = OURS.encode("the Š", add_special_tokens=False).ids
    stream, theirs = ours.decoders.DecodeStream(), engine.decoders.DecodeStream()
    copied = copy.copy(stream)
    assert [stream.step(OURS, id_) for id_ in ids] == [theirs.step(ENGINE, id_) for id_ in ids]
    assert copied.step(OURS, ids) == OURS.decode(ids)


@pytest.mark.parametrize("kind", ["normalizers", "pre_tokenizers", "processors", "decoders"])
def test_every_component_has_its_librarys_name(kind: str) -> None:
    names = dir(getattr(engine, kind))
    theirs = {name for name in names if isinstance(getattr(getattr(engine, kind), name), type)}
    missing = theirs - {*dir(getattr(ours, kind))}
    assert missing <= {"CTC", "Decoder", "Normalizer", "PostProcessor", "PreTokenizer"}


@pytest.mark.parametrize("direction", ["removed", "isolated", "merged_with_next", "contiguous"])
def test_behaviors_have_the_librarys_names(direction: str) -> None:
    cut = ours.pre_tokenizers.Split(ours.Regex("[ab]"), direction).cut_text("xaby")
    theirs = engine.pre_tokenizers.Split(engine.Regex("[ab]"), direction).pre_tokenize_str("xaby")
    assert cut == [piece for piece, _ in theirs]


WRONG: dict[str, Any] = {
    "no model": lambda: ours.Tokenizer({}),  # type: ignore[arg-type]
    "no text": lambda: OURS.encode(5),
    "no second text": lambda: OURS.encode("a", ["b"]),
    "a text for words": lambda: OURS.encode("a", is_pretokenized=True),
    "words that are none": lambda: OURS.encode(["a", 1], is_pretokenized=True),
    "a text for a batch": lambda: OURS.encode_batch("ab"),
    "no batch": lambda: OURS.encode_batch(5),
    "three texts": lambda: OURS.encode_batch([("a", "b", "c")]),
    "no ids": lambda: OURS.decode(5),
    "no file": lambda: ours.Tokenizer.from_str("{"),
    "bytes for a text": lambda: ours.Tokenizer.from_str(b"{}"),  # type: ignore[arg-type]
    "a text for bytes": lambda: ours.Tokenizer.from_buffer("{}"),  # type: ignore[arg-type]
    "no token": lambda: OURS.token_to_id(5),
    "no list of tokens": lambda: OURS.add_tokens("abc"),
    "no tokens": lambda: OURS.add_tokens([5]),
    "no content": lambda: ours.AddedToken(5),  # type: ignore[arg-type]
    "a negative length": lambda: OURS.enable_truncation(-1),
    "no length": lambda: OURS.enable_truncation("a"),
    "no strategy": lambda: OURS.enable_truncation(3, strategy="x"),
    "a long stride": lambda: OURS.enable_truncation(3, stride=3),
    "no direction": lambda: OURS.enable_padding(direction="x"),
    "a negative token": lambda: OURS.encode("a").token_to_chars(-1),
    "no regular expression": lambda: ours.Regex("("),
    "no behavior": lambda: ours.pre_tokenizers.Punctuation("Isolated"),
    "an unknown special token": lambda: ours.processors.TemplateProcessing("[X] $A"),
    "a pair without a text": lambda: ours.processors.TemplateProcessing(pair="$A"),
    "no special token": lambda: ours.processors.TemplateProcessing(special_tokens=[5]),  # type: ignore[list-item]
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_errors_of_ours(name: str) -> None:
    with pytest.raises(BpeError) as caught:
        WRONG[name]()
    assert isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("id_", [-1, 1 << 32, "a", None, 1.5])
def test_what_is_no_id_is_an_error(id_: object) -> None:
    with pytest.raises(TokenIdError, match="an id must be an integer from 0 to 4294967295"):
        OURS.decode([id_])
    with pytest.raises(TokenIdError, match="an id must be an integer"):
        OURS.id_to_token(id_)


def test_lone_surrogates_are_replaced() -> None:
    assert OURS.encode("a\ud800").ids == OURS.encode("a\ufffd").ids


def test_errors_of_a_file_name_it(tmp_path: Path) -> None:
    with pytest.raises(VocabularyFileError, match=r"nothing\.json cannot be read"):
        ours.Tokenizer.from_file(tmp_path / "nothing.json")
    with pytest.raises(VocabularyFileError, match=r"tokenizer\.json"):
        ours.Tokenizer.from_str("[]")


def test_a_new_encoding_is_empty() -> None:
    assert ours.Encoding().value == Encoding()
    with pytest.raises(ParameterError, match="direction must be one of left, right"):
        ours.Encoding().truncate(1, direction="up")
