"""Unigram, WordPiece and WordLevel do what the library's models do, byte by byte."""

import json
import pickle
import time
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Engine
from tokenizers import models as engine_models

from bpe_ref import Tokenizer, VocabularyError
from bpe_ref import like_tokenizers as facade
from bpe_ref.errors import BpeError, SymbolError
from bpe_ref.formats.hugging_face import parse_tokenizer_json
from bpe_ref.formats.hugging_face_writing import dump_tokenizer_json
from bpe_ref.models.unigram import LONGEST_EXACT, Unigram
from bpe_ref.models.word_level import WordLevel
from bpe_ref.models.word_piece import WordPiece
from bpe_ref.vocabulary.byte_alphabet import BYTE_PIECES
from tests.synthetic_tokenizers import Document, document
from tests.texts import drawn

TEXTS = st.text("abé<日x", max_size=9)
WORDS = st.lists(st.text("abé<日x", min_size=1, max_size=3), min_size=1, max_size=9)
SCORES = st.sampled_from(
    [[0.0, -1.0, -2.0], [-0.1, -0.2, -0.3], [-5.0, 21.0, 30.0, 50.0], [1e300, -1e300, 1.5]]
)
BYTES = st.sampled_from([[], [*BYTE_PIECES], [BYTE_PIECES[byte] for byte in "é日a".encode()]])


@st.composite
def unigrams(draw: st.DrawFn) -> Document:
    tokens = list(dict.fromkeys([*draw(WORDS), *draw(WORDS), *draw(BYTES)]))
    scores = st.sampled_from(draw(SCORES))
    return {
        "type": "Unigram",
        "unk_id": draw(st.none() | st.integers(0, len(tokens) - 1)),
        "vocab": [[token, draw(scores)] for token in tokens[:20]]
        + [[token, -1] for token in tokens[20:]],
        "byte_fallback": draw(st.booleans()),
    }


@st.composite
def word_pieces(draw: st.DrawFn) -> Document:
    prefix = draw(st.sampled_from(["##", "##", "", "a"]))
    words = draw(WORDS)
    tokens = dict.fromkeys([*words, *(prefix + word for word in draw(WORDS)), "[UNK]"])
    return {
        "type": "WordPiece",
        "unk_token": draw(st.sampled_from(["[UNK]", "[UNK]", words[0], "?"])),
        "continuing_subword_prefix": prefix,
        "max_input_chars_per_word": draw(st.sampled_from([0, 1, 3, 100, 100])),
        "vocab": {token: 2 * place for place, token in enumerate(tokens)},
    }


@st.composite
def word_levels(draw: st.DrawFn) -> Document:
    words = draw(WORDS)
    return {
        "type": "WordLevel",
        "vocab": {token: place for place, token in enumerate(dict.fromkeys(words))},
        "unk_token": draw(st.sampled_from([words[0], "?"])),
    }


def both(model: Document, **sections: object) -> tuple[Tokenizer, Engine]:
    """Return our tokenizer and the library's."""
    content = json.dumps(document(model, **sections))
    return parse_tokenizer_json(content.encode(), "x.json"), Engine.from_str(content)


def seen(tokenizer: Any, text: str) -> object:
    """Return what a tokenizer makes of a text, or None for an error."""
    try:
        encode = tokenizer.tokenize if isinstance(tokenizer, Tokenizer) else tokenizer.encode
        encoding = encode(text)
    except Exception:  # noqa: BLE001 -- the library raises nothing more specific
        return None
    return list(encoding.ids), list(encoding.tokens), list(encoding.offsets)


@pytest.mark.parametrize("models", [unigrams(), word_pieces(), word_levels()])
def test_tokens_and_offsets_are_the_librarys(models: st.SearchStrategy[Document]) -> None:
    several: list[bool] = []

    @drawn(400)
    @given(models, st.lists(TEXTS, min_size=4, max_size=4), st.booleans())
    def check(model: Document, texts: list[str], typed: bool) -> None:
        ours, theirs = both(
            model if typed else {key: model[key] for key in model.keys() - {"type"}}
        )
        for text in texts:
            expected = seen(theirs, text)
            assert seen(ours, text) == expected
            if expected is None:
                with pytest.raises(SymbolError):
                    ours.encode(text)
            else:
                ids = ours.encode(text)
                assert ids == expected[0]  # type: ignore[index]
                assert [token for piece in ours.trace(text) for token in piece.steps[-1]] == ids
                several.append(len(ids) > 1)
        again = pickle.loads(pickle.dumps(ours))  # noqa: S301 -- our own
        assert [seen(again, text) for text in texts] == [seen(ours, text) for text in texts]
        written = parse_tokenizer_json(dump_tokenizer_json(ours), "x.json")
        assert [seen(written, text) for text in texts] == [seen(ours, text) for text in texts]

    check()
    assert several


@drawn(300)
@given(unigrams(), TEXTS, TEXTS)
def test_a_border_of_unigram_divides_every_text(model: Document, left: str, right: str) -> None:
    ours = Unigram(
        [(text, float(score)) for text, score in model["vocab"]],
        model["unk_id"],
        model["byte_fallback"],
    )
    if not left or not right or not ours.is_border(left[-1], right[0]):
        return
    try:
        expected = ours.ids(left) + ours.ids(right)
    except SymbolError:
        return
    assert ours.ids(left + right) == expected


def test_where_sums_are_rounded_no_border_is_known() -> None:
    pieces = [("?", 0.0), ("a", -0.5), ("b", -1.0)]
    assert Unigram(pieces, 0).is_border("a", "b")
    assert not Unigram([*pieces, ("c", -0.1)], 0).is_border("a", "b")
    # The unknown score is -11. 2**24 of it are 1.375 * 2**27, in units of 2**-25 below 2**53.
    assert LONGEST_EXACT == 1 << 24
    assert Unigram([*pieces, ("c", -(2.0**-25))], 0).is_border("a", "b")
    assert not Unigram([*pieces, ("c", -(2.0**-26))], 0).is_border("a", "b")


def test_equal_sums_keep_the_path_whose_last_token_is_longest() -> None:
    pieces = [("?", 0.0), ("a", -1.0), ("b", -1.0), ("c", -1.0), ("ab", -1.0), ("bc", -1.0)]
    for order in (pieces, [pieces[0], *pieces[:0:-1]]):
        ours, theirs = both({"type": "Unigram", "unk_id": 0, "vocab": list(map(list, order))})
        assert ours.tokenize("abc").tokens == ("a", "bc") == tuple(theirs.encode("abc").tokens)


def test_the_library_reads_some_scores_of_17_digits_one_unit_off() -> None:
    score = -3.0123284804704786
    ours, theirs = both({"type": "Unigram", "unk_id": 0, "vocab": [["?", score], ["a", -1.5]]})
    assert isinstance(ours.model, Unigram)
    assert [number for _, number in ours.model.pieces] == [score, -1.5]
    read = [number for _, number in json.loads(theirs.to_str())["model"]["vocab"]]
    assert read == [-float(30123284804704786) / 1e16, -1.5]
    assert read[0] != score


def test_without_an_unknown_token_a_path_must_not_even_try_an_unknown_character() -> None:
    ours, theirs = both({"type": "Unigram", "unk_id": None, "vocab": [["ab", -100], ["a", 50]]})
    assert seen(theirs, "ab") is None
    with pytest.raises(SymbolError, match="'b' is none, and there is no unk_id"):
        ours.encode("ab")


def test_cutting_agrees_with_counting_for_every_model() -> None:
    for model in (
        {"type": "Unigram", "unk_id": 0, "vocab": [["?", 0], ["a", -1], ["b", -2], ["ab", -2.5]]},
        {"type": "WordPiece", "unk_token": "?", "continuing_subword_prefix": "##"}
        | {"max_input_chars_per_word": 5, "vocab": {"?": 0, "a": 1, "##b": 2, "ab": 3, "##a": 4}},
        {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1, "ab": 2}},
    ):
        ours, _ = both(model, pre_tokenizer={"type": "WhitespaceSplit"})
        for text in map("".join, product("abx ", repeat=5)):
            growing = ours.growing()
            growing.extend(text)
            assert growing.count == ours.count(text) == len(ours.encode(text))
            assert all(n == ours.count(text[s:e]) for s, e, n in ours.chunks(text, 2))
            fits = ours.split_at(text, 2)
            assert ours.count(text[:fits]) <= 2
            assert fits == len(text) or ours.count(text[: fits + 1]) > 2


REFUSED: list[tuple[Document, str]] = [
    ({"type": "Unigrams"}, "model.type must be one of BPE, WordPiece, WordLevel, Unigram, got 'Un"),
    ({"type": "Unigram"}, "model must have the key 'vocab', got an object"),
    ({"unk_token": "?"}, "model must have the key 'type', one of BPE, WordPiece, WordLevel"),
    ({"vocab": []} | {"merges": []}, "model.vocab must be an object, got a list"),
    ({"unk_id": 0, "vocab": []}, "model.unk_id must be a place in vocab, from 0 to -1, got 0"),
    ({"unk_id": -1, "vocab": []}, "model.unk_id must be a whole number from 0 to"),
    ({"unk_id": 0, "vocab": {}}, "model.vocab must be a list, got an object"),
    ({"unk_id": 0, "vocab": [["a"]]}, "model.vocab[0] must be a token and its score, got a list"),
    ({"unk_id": 0, "vocab": [["a", "b"]]}, "model.vocab[0][1] must be a number, got 'b'"),
    ({"unk_id": 0, "vocab": [["a", True]]}, "model.vocab[0][1] must be a number, got true"),
    ({"unk_id": 0, "vocab": [["a", 10**400]]}, "model.vocab[0][1] must be a number of ordinary"),
    ({"unk_id": 0, "vocab": [[0, 1]]}, "model.vocab[0][0] must be text, got 0"),
    (
        {"unk_id": 0, "vocab": [["a", 0], ["a", 1]]},
        "model.vocab must list each token once, but 'a'",
    ),
    ({"unk_id": 0, "vocab": [], "odd": 1}, "model must have no keys but byte_fallback, type, unk"),
    ({"unk_token": "a", "vocab": {"a": 0, "b": 0}}, "model.vocab must give each id to one token"),
    ({"unk_token": None, "vocab": {}}, "model.unk_token must be text, got null"),
    ({"type": "WordPiece", "vocab": {}}, "model must have the key 'continuing_subword_prefix'"),
]


@pytest.mark.parametrize(("model", "expected"), REFUSED)
def test_what_makes_no_model_is_said_in_one_sentence(model: Document, expected: str) -> None:
    with pytest.raises(VocabularyError) as caught:
        parse_tokenizer_json(json.dumps(document(model)).encode(), "x.json")
    assert f"x.json: {expected}" in str(caught.value)


def test_scores_without_end_are_refused() -> None:
    content = json.dumps(document({"unk_id": 0, "vocab": [["a", 7]]})).replace("7]", "1e999]")
    with pytest.raises(VocabularyError, match=r"model\.vocab\[0\] must have a finite score, got i"):
        parse_tokenizer_json(content.encode(), "x.json")


def test_hostile_models_take_time_in_proportion_to_the_text() -> None:
    start = time.process_time()
    runs = ["a" * size for size in range(1, 90)] + ["a" * 200_000]
    unigram = Unigram([("?", 0.0), *((run, -1.0) for run in runs)], 0)
    assert len(unigram.ids("a" * 5_000)) == 5_000 // 89 + 1
    words = WordPiece({"[UNK]": 0, "a": 1, "##a": 2, "b" * 500: 3}, max_input_chars_per_word=10**9)
    assert len(words.ids("a" * 50_000)) == 50_000
    assert words.ids("a" * 50_000 + "c") == [0]
    assert WordLevel({"<unk>": 0}).ids("a" * 10**6) == [0]
    assert time.process_time() - start < 10


BUILDERS: list[Callable[[Any], Any]] = [
    lambda models: models.Unigram([("?", 0.0), ("a", -1.0), ("aa", -1.5)], 0, False),
    lambda models: models.WordPiece({"[UNK]": 0, "a": 1, "#b": 2}, continuing_subword_prefix="#"),
    lambda models: models.WordLevel({"<unk>": 0, "a": 1}),
]


@pytest.mark.parametrize("build", BUILDERS)
def test_the_facade_takes_these_models(build: Callable[[Any], Any]) -> None:
    ours: Any = facade.Tokenizer(build(facade.models))
    theirs: Any = Engine(build(engine_models))
    for text in ("", "a", "aa", "ab", "xa", "aaa"):
        assert ours.encode(text).tokens == theirs.encode(text).tokens
        assert ours.encode(text).ids == theirs.encode(text).ids
    assert ours.get_vocab_size() == theirs.get_vocab_size()
    assert json.loads(ours.to_str()) == json.loads(theirs.to_str())


def test_the_facade_takes_no_other_model() -> None:
    assert facade.models.Unigram().vocab == {"<unk>": 0}
    assert facade.models.WordPiece().vocab == facade.models.WordLevel().vocab == {}
    with pytest.raises(BpeError, match="model must be a BPE, Unigram, WordLevel or WordPiece"):
        facade.Tokenizer(3)  # type: ignore[arg-type]
