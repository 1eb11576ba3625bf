"""The facade against the engine it is shaped like: same answers, same kinds of errors."""

import inspect
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

import bpe_ref.like_tiktoken as ours
from bpe_ref import VocabularyFileError
from bpe_ref import registry as vocabularies
from bpe_ref.finding import find
from bpe_ref.like_tiktoken import core, load, model
from bpe_ref.registry import REGISTRY
from tests.real_vocabularies import real_file
from tests.texts import drawn, text_of

SPECIALS = {"<|endoftext|>": 1000, "<b>": 1001}
RANKS = {bytes([byte]): byte for byte in range(256)} | {
    word: 256 + place
    for place, word in enumerate(
        [b"ab", b" a", b"  ", b"th", b"the", b"\xc3\xa9", b"\xe4\xbd", b"e\xcc", b"\n\n", b"Hel"]
    )
}
PATTERN = REGISTRY["cl100k_base"].pattern
OURS = ours.Encoding("x", pat_str=PATTERN, mergeable_ranks=RANKS, special_tokens=SPECIALS)
ENGINE = tiktoken.Encoding("x", pat_str=PATTERN, mergeable_ranks=RANKS, special_tokens=SPECIALS)

Call = Callable[[Any], Any]
"""Something done with an encoding, ours or the engine's."""

texts = text_of("<b>", "<|endoftext|>", "<|end", " a", "the", "\ud83d", "\ude00")


KINDS = (
    *(UnicodeError, KeyError, OverflowError, ValueError, LookupError),
    *(TypeError, AttributeError, AssertionError),
)


def outcome(call: Call, encoding: object) -> object:
    """Return the answer, or the kind of error: the most telling of Python's own."""
    try:
        return call(encoding)
    except Exception as error:  # noqa: BLE001 - which one is the question
        return next((kind for kind in KINDS if isinstance(error, kind)), error)


@drawn(500)
@given(texts, st.data())
def test_text_becomes_the_same_tokens(text: str, data: st.DataObject) -> None:
    choices = ["all", (), {"<b>"}, {"<|endoftext|>", "nothing"}, ["<b>"], frozenset({"a"})]
    allowed = data.draw(st.sampled_from(["all", set(), {"<b>"}, {"q", "<b>"}]))
    disallowed = data.draw(st.sampled_from(choices))
    given_ = {"allowed_special": allowed, "disallowed_special": disallowed}
    calls: list[Call] = [
        lambda e: e.encode(text),
        lambda e: e.encode(text, **given_),
        lambda e: e.encode_ordinary(text),
        lambda e: e.encode_batch([text, "ab"], **given_),
        lambda e: e.encode_ordinary_batch([text, "ab"], num_threads=2),
        lambda e: e.encode_to_numpy(text, **given_).tolist(),
        lambda e: [
            sorted(map(tuple, part)) if part and isinstance(part[0], list) else part
            for part in e.encode_with_unstable(text, **given_)
        ],
        lambda e: e.encode_single_token(text),
        lambda e: e._encode_bytes(text.encode("utf-8", "surrogatepass")),
        lambda e: e.decode_with_offsets(e.encode(text, allowed_special="all")),
    ]
    if text.isascii():  # beyond, that depends on the installed `regex`
        calls.append(lambda e: e._encode_only_native_bpe(text))
    if text:
        calls.append(lambda e: e._encode_single_piece(text))
    for call in calls:
        assert outcome(call, OURS) == outcome(call, ENGINE)


@drawn(500)
@given(
    st.lists(st.sampled_from([*RANKS.values(), 1000, 1001, 1002, 500, 0xC3, 0xA9, 256]), max_size=9)
)
def test_tokens_become_the_same_text(ids: list[int]) -> None:
    calls: list[Call] = [
        lambda e: e.decode(ids),
        lambda e: e.decode(ids, errors="strict"),
        lambda e: e.decode(tuple(ids), "ignore"),
        lambda e: e.decode_bytes(ids),
        lambda e: e.decode_tokens_bytes(ids),
        lambda e: e.decode_with_offsets(ids),
        lambda e: e.decode_batch([ids, []], errors="backslashreplace"),
        lambda e: e.decode_bytes_batch([ids, []], num_threads=1),
        lambda e: list(map(e.is_special_token, ids)),
        lambda e: list(map(e.decode_single_token_bytes, ids)),
    ]
    for call in calls:
        assert outcome(call, OURS) == outcome(call, ENGINE)


ODD_CALLS: dict[str, Call] = {
    "a number for a text": lambda e: e.encode(5),
    "bytes for a text": lambda e: e.encode(b"a"),
    "None for a text": lambda e: e.encode_ordinary(None),
    "no text, unstable": lambda e: e.encode_with_unstable(5),
    "no text, to an array": lambda e: e.encode_to_numpy(5),
    "one allowed text": lambda e: e.encode("a", allowed_special="<b>"),
    "a list of allowed texts": lambda e: e.encode("a", allowed_special=["<b>"]),
    "the letters of a text disallowed": lambda e: e.encode("aq", disallowed_special="q"),
    "the empty text disallowed": lambda e: e.encode("ab", disallowed_special={""}),
    "an unknown id": lambda e: e.decode([500]),
    "a negative id": lambda e: e.decode([-1]),
    "an id beyond 32 bits": lambda e: e.decode([2**40]),
    "a text for an id": lambda e: e.decode(["a"]),
    "True for an id": lambda e: e.decode([True]),
    "a float for an id": lambda e: e.decode([97.0]),
    "an array of ids": lambda e: e.decode(np.array([97, 98])),
    "a number of numpy's": lambda e: e.decode([np.int64(97)]),
    "bytes for ids": lambda e: e.decode(b"ab"),
    "a range of ids": lambda e: e.decode(range(97, 99)),
    "a number for ids": lambda e: e.decode(5),
    "a text for ids": lambda e: e.decode("ab"),
    "a set of ids": lambda e: e.decode({97}),
    "an iterator of ids": lambda e: e.decode(iter([97])),
    "an unknown way with errors": lambda e: e.decode([0xFF], errors="foo"),
    "an unknown single id": lambda e: e.decode_single_token_bytes(500),
    "a text for a single id": lambda e: e.decode_single_token_bytes("a"),
    "a negative single id": lambda e: e.decode_single_token_bytes(-1),
    "an unknown token": lambda e: e.encode_single_token("abc"),
    "unknown bytes": lambda e: e.encode_single_token(b"\xff\xfe"),
    "a special token": lambda e: e.encode_single_token("<b>"),
    "the bytes of a special token": lambda e: e.encode_single_token(b"<b>"),
    "a number for a token": lambda e: e.encode_single_token(5),
    "a surrogate for a token": lambda e: e.encode_single_token("\ud800"),
    "a bytearray for a token": lambda e: e.encode_single_token(bytearray(b"a")),
    "a text for a special id": lambda e: e.is_special_token("a"),
    "True for a special id": lambda e: e.is_special_token(True),
    "no threads": lambda e: e.encode_batch(["a"], num_threads=0),
    "a text for texts": lambda e: e.encode_batch("ab"),
    "a number for texts": lambda e: e.encode_ordinary_batch(5),
    "a number for rows": lambda e: e.decode_batch(5),
    "a surrogate to an array": lambda e: e.encode_to_numpy("\ud800"),
    "a surrogate, unstable": lambda e: e.encode_with_unstable("\ud800"),
    "a text for bytes": lambda e: e._encode_bytes("a"),
    "a surrogate, native": lambda e: e._encode_only_native_bpe("\ud800"),
    "a bytearray for bytes": lambda e: e._encode_bytes(bytearray(b"a")),
    "its name": repr,
    "its bytes": lambda e: e.token_byte_values(),
    "its size": lambda e: (e.n_vocab, e.max_token_value, e.eot_token, e.name),
    "its special tokens": lambda e: e.special_tokens_set,
    "its private parts": lambda e: (e._pat_str, e._mergeable_ranks, e._special_tokens),
    "not by position": lambda e: e.encode("a", "all"),
}


@pytest.mark.parametrize("name", ODD_CALLS)
def test_odd_calls_end_alike(name: str) -> None:
    assert outcome(ODD_CALLS[name], OURS) == outcome(ODD_CALLS[name], ENGINE)


NAMES: dict[str, Call] = {
    "the encodings": lambda t: sorted(t.list_encoding_names()),
    "no encoding": lambda t: t.get_encoding("foo"),
    "a number for an encoding": lambda t: t.get_encoding(5),
    "no model": lambda t: t.encoding_for_model("foo"),
    "the name of no model": lambda t: t.encoding_name_for_model("foo"),
    "a new model": lambda t: t.encoding_name_for_model("gpt-4o-2031"),
    "an old model": lambda t: t.encoding_name_for_model("text-davinci-003"),
    "no tokens": lambda t: t.Encoding("x", pat_str="a", mergeable_ranks={}, special_tokens={}),
    "a bad pattern": lambda t: t.Encoding(
        "x", pat_str="(", mergeable_ranks={b"a": 0}, special_tokens={}
    ),
    "another size": lambda t: t.Encoding(
        "x", pat_str="a", mergeable_ranks={b"a": 0}, special_tokens={}, explicit_n_vocab=3
    ),
    "a size": lambda t: (
        t.Encoding(
            "x", pat_str="a", mergeable_ranks={b"a": 0}, special_tokens={"b": 1}, explicit_n_vocab=2
        ).n_vocab
    ),
    "no end of text": lambda t: (
        t.Encoding("x", pat_str="a", mergeable_ranks={b"a": 0}, special_tokens={}).eot_token
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_odd_names_end_alike(name: str) -> None:
    assert outcome(NAMES[name], ours) == outcome(NAMES[name], tiktoken)


def test_the_sentence_about_a_disallowed_token_is_tiktokens() -> None:
    with pytest.raises(ValueError, match="Encountered text") as theirs:
        ENGINE.encode("a<b>")
    with pytest.raises(ValueError, match="Encountered text") as error:
        OURS.encode("a<b>")
    assert str(error.value) == str(theirs.value)


@pytest.mark.parametrize(
    "call", [lambda e: e.decode([500]), lambda t: t.decode_tokens_bytes([500])]
)
def test_the_key_of_a_key_error_is_tiktokens(call: Call) -> None:
    with pytest.raises(KeyError) as theirs:
        call(ENGINE)
    with pytest.raises(KeyError) as error:
        call(OURS)
    assert error.value.args == theirs.value.args


def test_every_public_name_is_there_with_its_parameters_and_defaults() -> None:
    assert ours.__version__ == tiktoken.__version__
    public = {name for name in vars(tiktoken.Encoding) if not name.startswith("_")}
    public |= {"_encode_single_piece", "_encode_only_native_bpe", "_encode_bytes", "__init__"}
    assert public <= set(dir(ours.Encoding)) | {"name", "max_token_value"}
    for name in public:
        theirs, here = getattr(tiktoken.Encoding, name), getattr(ours.Encoding, name)
        if inspect.isfunction(theirs):
            expected = inspect.signature(theirs).parameters.values()
            found = inspect.signature(here).parameters.values()
            assert [(p.name, p.kind) for p in found] == [(p.name, p.kind) for p in expected]
            assert [p.default for p in found] == [p.default for p in expected], name
    for name in ("get_encoding", "encoding_for_model", "list_encoding_names"):
        parameters = [inspect.signature(getattr(t, name)).parameters for t in (ours, tiktoken)]
        assert list(parameters[0]) == list(parameters[1])


def test_models_are_tiktokens() -> None:
    from tiktoken import model as theirs

    assert model.MODEL_TO_ENCODING == theirs.MODEL_TO_ENCODING == vocabularies.MODELS
    assert list(model.MODEL_PREFIX_TO_ENCODING.items()) == list(
        theirs.MODEL_PREFIX_TO_ENCODING.items()
    )


@pytest.fixture
def r50k(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ours.Encoding:
    (tmp_path / "r50k_base.tiktoken").write_bytes(real_file("r50k_base"))
    monkeypatch.setenv("TOKENREF_VOCABULARIES", str(tmp_path))
    monkeypatch.setattr(core, "_ENCODINGS", {})
    return ours.get_encoding("r50k_base")


def test_a_named_encoding_is_built_once_and_pickled_by_its_name(r50k: ours.Encoding) -> None:
    assert ours.get_encoding("r50k_base") is r50k
    assert r50k.encode("hello world") == [31373, 995]
    assert ours.encoding_for_model("davinci") is r50k
    written = pickle.dumps(r50k)
    assert len(written) < 200
    assert pickle.loads(written).encode("hello world") == [31373, 995]  # noqa: S301 - our own
    assert r50k.encode("hello <|endoftext|>", allowed_special="all") == [31373, 220, 50256]


def test_any_other_encoding_is_pickled_by_its_content() -> None:
    again = pickle.loads(pickle.dumps(OURS))  # noqa: S301 - our own
    assert again is not OURS
    for text in ("the end", "a<b>"):
        assert again.encode(text, allowed_special="all") == ENGINE.encode(
            text, allowed_special="all"
        )


def test_without_numpy_there_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(ImportError, match="encode_to_numpy needs the package numpy"):
        OURS.encode_to_numpy("a")


def test_files_are_written_and_read(tmp_path: Path) -> None:
    path = str(tmp_path / "small.tiktoken")
    load.dump_tiktoken_bpe(RANKS, path)
    assert load.load_tiktoken_bpe(path) == RANKS
    with pytest.raises(VocabularyFileError, match=r"small.tiktoken must have sha256 00, got"):
        load.load_tiktoken_bpe(path, "00")
    assert load.load_tiktoken_bpe(str(find("cl100k_base")), REGISTRY["cl100k_base"].sha256)


def test_an_import_in_the_place_of_tiktoken_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", ours)
    monkeypatch.setitem(sys.modules, "tiktoken.load", load)
    program = "import tiktoken\nfrom tiktoken.load import load_tiktoken_bpe\nfound = tiktoken"
    names: dict[str, object] = {}
    exec(program, names)  # noqa: S102 - an import under another name
    assert names["found"] is ours
