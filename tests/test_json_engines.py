"""The engines that read a tokenizer.json, each in a process of its own, or other files."""

import json
import os
import time
import unicodedata
from collections.abc import Callable
from doctest import DocTestParser, DocTestRunner
from pathlib import Path
from types import MappingProxyType

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref import (
    TextRules,
    Tokenizer,
    Vocabulary,
    post_processors,
    tokenizer_of,
    vocabulary_by_concatenation,
)
from bpe_ref.added_tokens import AddedToken, AddedTokens
from bpe_ref.formats.hugging_face_writing import dump_tokenizer_json
from bpe_ref.models.bpe import BPE
from bpe_ref.pre_tokenizers.pattern import Pattern
from bpe_ref.registry import REGISTRY
from bpe_ref.tiny import tiny_corpus
from bpe_ref.vocabulary.byte_alphabet import LETTER_OF_BYTE
from tests.strategies import examples
from tests.test_pages import ROOT
from tokenref.answers import Declared, Engine, LoadsTokenizers, Ok, Refused, Session, Unsupported
from tokenref.catalogue import open_catalogue
from tokenref.cli import main
from tokenref.engines import json_engines, llama_cpp_tokenizer
from tokenref.engines.child import ProcessEndedError, TimedOutError
from tokenref.engines.json_files import CrashError, JsonEngine, without_possessive
from tokenref.engines.json_process import Isolated
from tokenref.engines.table import Unavailable, engine
from tokenref.goldens import open_own
from tokenref.judge import judge
from tokenref.known import read_known
from tokenref.questions.text import TextInput, TokenizeInput, TokenizeOutput
from tokenref.record import make_case
from tokenref.runner import run_engine
from tokenref.subjects import TokenizerFile
from tokenref.verdicts import Exact

NAMES = ("kitoken", "tokie", "splintr-rs", "fastokens", "gigatoken", "iree-tokenizer")
OTHER_FILES = ("mistral-common", "sentencepiece")
BYTE_LEVEL = "onnxruntime-extensions"
WITH_NODE = (*NAMES, "tokenizers-js")
BYTES = {bytes([byte]): byte for byte in range(256)}
SPACED = vocabulary_by_concatenation(
    BYTES | {b"th": 256, b"the": 257, b" the": 258, "é".encode(): 259},
    text=TextRules(REGISTRY["o200k_base"].pattern, whole_piece=True),
    special_tokens={"<s>": 260},
)
ADDED = ("<s>", "</s>", "<t>")
FILE = b"""{"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": null,
"post_processor": null, "decoder": {"type": "ByteFallback"},
"model": {"type": "BPE", "merges": [["a", "b"]],
"vocab": {"a": 0, "b": 1, "ab": 2}}}"""


def installed(name: str) -> Engine:
    found = engine(name)
    if isinstance(found, Unavailable):
        pytest.skip(f"{name} {found.reason}")
    return found


@pytest.mark.parametrize(
    "name", ["llama.cpp", BYTE_LEVEL, *(name for name in WITH_NODE if name != "iree-tokenizer")]
)
def test_it_makes_the_tokens_of_the_reference(name: str) -> None:
    session, tokenizer = installed(name).load(SPACED, "spaced"), tokenizer_of(SPACED)
    assert not isinstance(session, Unsupported)

    @examples(100)
    @given(st.lists(st.sampled_from(["the", " the", "é", "x", "12", "<s>", "!"])).map("".join))
    def check(text: str) -> None:
        ids = tokenizer.encode(text, special="ordinary")
        assert session.answer("encode", {"text": text}) == Ok({"ids": ids})
        assert session.answer("count", {"text": text}) == Ok({"count": len(ids)})
        if ids or name not in {"tokenizers-js", BYTE_LEVEL}:  # no ids: a known difference
            assert session.answer("decode", {"ids": ids}) == Ok({"bytes": text.encode().hex()})
        found = tokenizer.encode(text, special="recognise")
        request = {"text": text, "allowed": "all", "disallowed": []}
        assert session.answer("special", request) == Ok({"ids": found})

    check()


@pytest.mark.parametrize("name", [name for name in WITH_NODE if name != "gigatoken"])
def test_it_answers_the_ids_of_a_file(name: str) -> None:
    found = installed(name)
    assert isinstance(found, LoadsTokenizers)
    session = found.load_tokenizer(FILE, "file", "hugging-face")
    assert not isinstance(session, Unsupported)
    request = {"text": "bab", "add_special_tokens": False}
    assert session.answer("tokenize", request) == Ok({"ids": [1, 2]})
    decoded = session.answer("detokenize", {"ids": [1], "skip_special_tokens": False})
    assert decoded == Ok({"text": "b"})
    assert isinstance(session.answer("detokenize_stream", {}), Unsupported)
    assert isinstance(found.load_tokenizer(FILE, "file", "strict"), Unsupported)
    broken = found.load_tokenizer(b"{}", "broken", "hugging-face")
    assert not isinstance(broken, Unsupported)
    answer = broken.answer("tokenize", request)
    assert isinstance(answer, Unsupported)
    assert answer.reason.startswith("cannot load it: ")


@pytest.mark.parametrize("name", [*WITH_NODE, "llama.cpp", BYTE_LEVEL, *OTHER_FILES])
def test_every_known_difference_of_it_has_a_reason_and_a_link(name: str) -> None:
    entries = [entry for entry in read_known() if entry.engine == name]
    assert entries
    assert len({entry.title for entry in entries}) == len(entries)


def test_kitoken_refuses_an_unknown_id() -> None:
    session = installed("kitoken").load(SPACED, "spaced")
    assert not isinstance(session, Unsupported)
    answer = session.answer("decode", {"ids": [300]})
    assert isinstance(answer, Refused)
    assert answer.code == "UNKNOWN_ID"
    strict = session.answer("decode", {"ids": [255], "errors": "strict"})
    assert isinstance(strict, Refused)
    assert strict.code == "INVALID_UTF8"
    replaced = session.answer("decode", {"ids": [255], "errors": "replace"})
    assert replaced == Ok({"text": "\ufffd"})


def test_gigatoken_reads_the_pattern_of_cl100k_base_by_its_name() -> None:
    text = TextRules(REGISTRY["cl100k_base"].pattern, whole_piece=True)
    ranks = BYTES | {b"th": 256, b"the": 257}
    vocabulary = vocabulary_by_concatenation(ranks, text=text, special_tokens={"<s>": 300})
    session = installed("gigatoken").load(vocabulary, "cl100k")
    assert not isinstance(session, Unsupported)
    assert session.answer("encode", {"text": "the 1234"}) == Ok({"ids": [257, 32, 49, 50, 51, 52]})
    request = {"text": "th<s>", "allowed": "all", "disallowed": []}
    assert session.answer("special", request) == Ok({"ids": [256, 300]})


def test_gigatoken_is_not_run_with_ids_that_would_fill_the_memory() -> None:
    text = TextRules(REGISTRY["o200k_base"].pattern)
    vocabulary = vocabulary_by_concatenation(BYTES | {b"ab": 1 << 31}, text=text)
    session = installed("gigatoken").load(vocabulary, "high")
    assert not isinstance(session, Unsupported)
    answer = session.answer("encode", {"text": "ab"})
    assert isinstance(answer, Unsupported)
    assert "is not run with ids beyond 16,777,216" in answer.reason


def test_iree_tokenizer_makes_the_tokens_of_short_words() -> None:
    session, tokenizer = installed("iree-tokenizer").load(SPACED, "spaced"), tokenizer_of(SPACED)
    assert not isinstance(session, Unsupported)
    for text in ("the", "x the", "the12", "theé"):
        ids = tokenizer.encode(text, special="ordinary")
        assert session.answer("encode", {"text": text}) == Ok({"ids": ids})


FRAMED = """{"added_tokens": [{"id": 300, "content": "<s>", "special": true}], "normalizer": null,
"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}, "decoder": {"type": "ByteLevel"},
"post_processor": {"type": "TemplateProcessing", "special_tokens": {"<s>": {"ids": [300]}},
"single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}]},
"model": {"type": "BPE", "merges": MERGES, "vocab": VOCAB}}"""


def framed(*merges: str, **changes: object) -> bytes:
    vocab = {letter: byte for byte, letter in enumerate(LETTER_OF_BYTE)}
    for merge in merges:
        vocab[merge.replace(" ", "")] = 290 + len(vocab)
    text = FRAMED.replace("VOCAB", json.dumps(vocab)).replace("MERGES", json.dumps(merges))
    return json.dumps(json.loads(text) | changes).encode()


def session_of_file(name: str, content: bytes) -> Session:
    found = installed(name)
    assert isinstance(found, LoadsTokenizers)
    session = found.load_tokenizer(content, "file", "hugging-face")
    assert not isinstance(session, Unsupported)
    return session


def test_llama_cpp_reads_a_file_as_a_vocabulary_of_its_own() -> None:
    found = installed("llama.cpp")
    assert isinstance(found, LoadsTokenizers)
    session = found.load_tokenizer(framed("t h", "th e"), "framed", "hugging-face")
    assert not isinstance(session, Unsupported)
    tokenized = session.answer("tokenize", {"text": "the<s>", "add_special_tokens": True})
    assert tokenized == Ok({"ids": [300, 547, 300]})
    request = {"ids": [300, 547, 33], "skip_special_tokens": True}
    assert session.answer("detokenize", request) == Ok({"text": "the" + chr(33)})
    with pytest.raises(Exception, match="the process ends for the id 548"):
        session.answer("detokenize", {"ids": [548], "skip_special_tokens": True})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (framed(pre_tokenizer=None), "has no such pre-tokenizer"),
        (framed(normalizer={"type": "NFC"}), "has no normalizer for bytes"),
        (framed(post_processor={"type": "BertProcessing"}), "has no such post-processor"),
        (FILE, "has no such pre-tokenizer"),
    ],
)
def test_llama_cpp_does_not_answer_for_files_that_it_cannot_express(
    content: bytes, reason: str
) -> None:
    found = installed("llama.cpp")
    assert isinstance(found, LoadsTokenizers)
    session = found.load_tokenizer(content, "other", "hugging-face")
    assert not isinstance(session, Unsupported)
    answer = session.answer("tokenize", {"text": "a", "add_special_tokens": False})
    assert answer == Unsupported(f"cannot load it: {reason}")


def test_every_expression_that_llama_cpp_replaces_is_known_by_its_type() -> None:
    for published, name in llama_cpp_tokenizer._PUBLISHED.items():
        types = llama_cpp_tokenizer._types()
        canonical = tuple(map(llama_cpp_tokenizer._canonical, published))
        assert types[canonical][0] == name


def test_mistral_common_answers_with_the_ids_of_the_vocabulary() -> None:
    ranks = {b"ab": 0, b"th": 300, b"the": 2} | {bytes([byte]): 258 - byte for byte in range(256)}
    ids = {word: 1000 - rank for word, rank in ranks.items()}
    text = TextRules(REGISTRY["o200k_base"].pattern, whole_piece=True)
    specials = {"<s>": 7, "<t>": 2000}
    vocabulary = vocabulary_by_concatenation(ranks, ids=ids, text=text, special_tokens=specials)
    session = installed("mistral-common").load(vocabulary, "moved")
    assert not isinstance(session, Unsupported)
    made = [ids[b"th"], ids[b" "], ids[b"the"], ids[b"ab"], ids[b"a"]]
    assert session.answer("encode", {"text": "th theaba"}) == Ok({"ids": made})
    assert session.answer("count", {"text": "th theaba"}) == Ok({"count": 5})
    assert session.answer("decode", {"ids": [2000, *made]}) == Ok({"bytes": b"<t>th theaba".hex()})
    replaced = session.answer("decode", {"ids": [7, ids[b"\xff"]], "errors": "replace"})
    assert replaced == Ok({"text": "<s>\ufffd"})
    for unknown in (0, 258, 1999):
        refused = session.answer("decode", {"ids": [unknown]})
        assert isinstance(refused, Refused)
        assert refused.code == "UNKNOWN_ID"
    special = {"text": "a<s>", "allowed": "all", "disallowed": []}
    assert session.answer("special", special) == Unsupported("finds no special tokens in a text")


def test_sentencepiece_makes_the_tokens_of_the_reference() -> None:
    ranks = {b"the": 5, b"th": 1, b" the": 9, b"!!": 2} | {
        bytes([byte]): byte + 10 for byte in range(256)
    }
    vocabulary = vocabulary_by_concatenation(ranks, special_tokens={"<s>": 7, "!e": 3000})
    session, tokenizer = (
        installed("sentencepiece").load(vocabulary, "moved"),
        tokenizer_of(vocabulary),
    )
    assert not isinstance(session, Unsupported)

    @examples(100)
    @given(st.lists(st.sampled_from(["the", " ", "é", "\0", "▁", "<s>", "!", "e"])).map("".join))
    def check(text: str) -> None:
        ids = tokenizer.encode(text, special="ordinary")
        assert session.answer("encode", {"text": text}) == Ok({"ids": ids})
        assert session.answer("count", {"text": text}) == Ok({"count": len(ids)})
        assert session.answer("decode", {"ids": ids}) == Ok({"bytes": text.encode().hex()})
        found = tokenizer.encode(text, special="recognise")
        request = {"text": text, "allowed": "all", "disallowed": []}
        assert session.answer("special", request) == Ok({"ids": found})

    check()


@pytest.mark.parametrize(
    ("ranks", "rules", "reason"),
    [
        ({b"a": 0}, TextRules("a"), "has no patterns"),
        (BYTES | {"ß".encode(): 256}, TextRules(), "merges characters, not bytes"),
        ({b"a": 0, b"\xff": 1}, TextRules(), "has tokens for all bytes, or for none"),
    ],
)
def test_sentencepiece_does_not_answer_for_vocabularies_that_it_cannot_express(
    ranks: dict[bytes, int], rules: TextRules, reason: str
) -> None:
    vocabulary = vocabulary_by_concatenation(ranks, text=rules)
    assert installed("sentencepiece").load(vocabulary, "other") == Unsupported(reason)


def test_the_unknown_piece_of_sentencepiece_is_a_refusal() -> None:
    session = installed("sentencepiece").load(vocabulary_by_concatenation({b"a": 5}), "one")
    assert not isinstance(session, Unsupported)
    refused = [
        session.answer("count", {"text": "aba"}),
        session.answer("decode", {"ids": [0]}),
        session.answer("decode", {"ids": [-1]}),
    ]
    assert all(isinstance(answer, Refused) for answer in refused)
    codes = [answer.code for answer in refused if isinstance(answer, Refused)]
    assert codes == ["MISSING_BYTE", "UNKNOWN_ID", "UNKNOWN_ID"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"decoder": None}, "is only asked about byte-level files"),
        ({"model": {"type": "BPE", "vocab": {"a": 1}, "merges": []}}, "is not run with ids beyond"),
        ({"pre_tokenizer": {"type": "Other"}}, "Failed to create tokenizer"),
    ],
)
def test_onnxruntime_extensions_is_not_asked_about_some_files(
    changes: dict[str, object], reason: str
) -> None:
    session = session_of_file(BYTE_LEVEL, framed(**changes))
    answer = session.answer("tokenize", {"text": "a", "add_special_tokens": False})
    assert isinstance(answer, Unsupported)
    assert reason in answer.reason


def test_onnxruntime_extensions_adds_no_special_tokens() -> None:
    session = session_of_file(BYTE_LEVEL, framed(added_tokens=[]))
    template = session.answer("tokenize", {"text": "th", "add_special_tokens": True})
    assert template == Unsupported("only adds the special tokens of tokenizer_config.json")
    plain = session.answer("tokenize", {"text": "th", "add_special_tokens": False})
    assert plain == Ok({"ids": [116, 104]})


# ---- what they share


@pytest.mark.parametrize("name", ["gpt2", "r50k_base", "cl100k_base", "o200k_base", "voyage3_base"])
def test_a_published_pattern_cuts_the_same_without_possessive_quantifiers(name: str) -> None:
    pattern = REGISTRY[name].pattern
    assert pattern is not None
    possessive, greedy = Pattern(pattern), Pattern(without_possessive(pattern))
    atoms = ["'s", "'T", "a", "Ab", "1", "2345", " ", "  ", "\n", "\r\n", "!", "?!", "é", "e\u0301"]

    @examples(300)
    @given(st.text(max_size=12) | st.lists(st.sampled_from(atoms)).map("".join))
    def check(text: str) -> None:
        assert greedy.cut_text(text) == possessive.cut_text(text)

    check()


def shown_pieces() -> Callable[[str], list[str]]:
    """Return the function that the page about one's own engine shows."""
    page = ROOT / "docs" / "your-engine.md"
    shown = DocTestParser().get_doctest(page.read_text("utf-8"), {}, page.name, None, None)
    assert DocTestRunner().run(shown, clear_globs=False).failed == 0
    found: Callable[[str], list[str]] = shown.globs["pieces"]
    return found


def test_the_portable_pattern_of_a_page_cuts_as_that_of_cl100k_base() -> None:
    right = Pattern(str(REGISTRY["cl100k_base"].pattern))
    pieces = shown_pieces()
    own = [case.input.text for case in open_catalogue().cases if isinstance(case.input, TextInput)]
    texts = {text for text in own if isinstance(text, str)} | {tiny_corpus()}
    texts |= {path.read_text("utf-8") for path in (ROOT / "docs").glob("*.md")}
    assert len(texts) > 1000
    for text in sorted(texts):
        if any(unicodedata.category(each) == "Cn" for each in text):
            continue  # `regex` may have newer tables
        assert pieces(text) == right.cut_text(text)
    spaces = [chr(each) for each in range(0x3001) if chr(each).isspace()]
    atoms = [*spaces, "'s", "'\u017f", "'lL", "a", "1", "23", "!", "\r\n", "\ufeff", "\u180e"]

    @examples(300)
    @given(st.lists(st.sampled_from(atoms) | st.characters(exclude_categories=["Cn", "Cs"])))
    def check(parts: list[str]) -> None:
        text = "".join(parts)
        assert pieces(text) == right.cut_text(text)

    check()


def test_the_expression_of_gpt_2_cuts_as_that_of_r50k_base() -> None:
    published = REGISTRY["r50k_base"].pattern
    assert published is not None
    newer, older = Pattern(published), Pattern(json.loads(json_engines._GPT2))

    @examples(300)
    @given(st.text(max_size=12) | st.text("'stre \n\r1a!", max_size=12))
    def check(text: str) -> None:
        assert newer.cut_text(text) == older.cut_text(text)

    check()


def vocabulary_of_two(
    specials: dict[str, int] | None = None, *, normalization: str | None = None
) -> Vocabulary:
    rules = TextRules(normalization=normalization)
    return vocabulary_by_concatenation(
        {b"a": 0, b"b": 1}, text=rules, special_tokens=specials or {}
    )


class Letters(JsonEngine):
    """An engine for tests, which does as the text says."""

    name = "letters"
    refusals = MappingProxyType({"no letter": "MISSING_BYTE"})

    def open(self, content: bytes) -> object:
        if b"normalizer" not in content:
            raise ValueError("no normalizer\nsecond line")
        if b'"panic"' in content:
            raise SystemExit("at the file")
        return content

    def encode(self, tokenizer: object, text: str, *, added: bool) -> list[int]:
        if text == "abort":
            os.write(2, b"stack overflow\nnote: more\n")
            os.abort()
        if text == "hang":
            time.sleep(600)
        if text == "panic":
            raise SystemExit("panicked")
        if text == "print":
            print("no result")  # noqa: T201 - what engines print must not be read as a result
        if "x" in text:
            raise ValueError("no letter x")
        if "y" in text:
            raise KeyError("y")
        return list(text.encode())

    def decode(self, tokenizer: object, ids: list[int], *, skip: bool) -> str | None:
        return None if ids == [255] else bytes(ids).decode("utf-8", "replace")


LETTERS = Isolated(Letters("1.0"))


def test_a_process_that_ends_is_a_crash_and_is_started_again() -> None:
    session = LETTERS.load(vocabulary_of_two(), "two")
    assert session.answer("encode", {"text": "ab"}) == Ok({"ids": [97, 98]})
    with pytest.raises(ProcessEndedError, match=r"exit status -6: stack overflow$"):
        session.answer("encode", {"text": "abort"})
    assert session.answer("count", {"text": "print"}) == Ok({"count": 5})


def test_an_engine_that_does_not_return_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    session = LETTERS.load(vocabulary_of_two(), "two")
    assert session.answer("encode", {"text": "a"}) == Ok({"ids": [97]})
    with monkeypatch.context() as patched:
        patched.setattr(LETTERS.child, "seconds", 0.2)
        with pytest.raises(TimedOutError, match=r"did not return in 0\.2 seconds"):
            session.answer("encode", {"text": "hang"})
    assert session.answer("encode", {"text": "a"}) == Ok({"ids": [97]})


def test_exceptions_keep_their_names_across_the_process() -> None:
    session = LETTERS.load(vocabulary_of_two(), "two")
    with pytest.raises(CrashError, match="panicked") as panic:
        session.answer("encode", {"text": "panic"})
    assert type(panic.value).__name__ == "SystemExit"
    refused = session.answer("encode", {"text": "x"})
    assert refused == Refused("MISSING_BYTE", "no letter x")
    with pytest.raises(Exception, match="y") as other:
        session.answer("encode", {"text": "y"})
    assert type(other.value).__name__ == "KeyError"


def test_a_panic_while_a_file_is_opened_is_a_crash_and_an_exception_is_not() -> None:
    session = LETTERS.load(vocabulary_of_two({"panic": 5}), "two")
    request = {"text": "a panic", "allowed": "all", "disallowed": []}
    with pytest.raises(CrashError, match="at the file"):
        session.answer("special", request)
    file = LETTERS.load_tokenizer(b"{}", "empty", "hugging-face")
    assert not isinstance(file, Unsupported)
    answer = file.answer("tokenize", {"text": "a", "add_special_tokens": True})
    assert answer == Unsupported("cannot load it: no normalizer")


def test_only_a_few_tokenizers_are_kept_open_and_each_is_opened_again() -> None:
    sessions = [LETTERS.load(vocabulary_of_two(), str(number)) for number in range(6)]
    for session in [*sessions, *sessions]:
        assert session.answer("count", {"text": "ab"}) == Ok({"count": 2})


def test_decoding_text_says_what_it_cannot_tell() -> None:
    session = LETTERS.load(vocabulary_of_two(), "two")
    unsupported = Unsupported("only decodes with replacement")
    assert session.answer("decode", {"ids": [255]}) == unsupported
    assert session.answer("decode", {"ids": [254]}) == unsupported
    assert session.answer("decode", {"ids": [97]}) == Ok({"bytes": "61"})
    replaced = session.answer("decode", {"ids": [254], "errors": "replace"})
    assert replaced == Ok({"text": "\ufffd"})
    refused = session.answer("decode", {"ids": [255], "errors": "strict"})
    assert refused == Refused("INVALID_UTF8", "decode returned None")


@pytest.mark.parametrize(
    ("vocabulary", "request_", "reason"),
    [
        (vocabulary_of_two(), {"bytes": "ff"}, "accepts only text"),
        (vocabulary_of_two(normalization="nfc"), {"text": "a"}, ""),
        (
            vocabulary_by_concatenation({b"a": 1 << 32}),
            {"text": "a"},
            "ids must be at most 2^32-1 in a tokenizer.json, got 4294967296",
        ),
    ],
)
def test_what_a_file_cannot_express_is_unsupported(
    vocabulary: Vocabulary, request_: dict[str, str], reason: str
) -> None:
    answer = LETTERS.load(vocabulary, "under test").answer("encode", request_)
    assert answer == (Unsupported(reason) if reason else Ok({"ids": [97]}))


def test_special_tokens_that_a_file_cannot_express_are_unsupported() -> None:
    def special(text: str, disallowed: str | list[str], **specials: int) -> object:
        session = LETTERS.load(vocabulary_of_two(specials), "two")
        request = {"text": text, "allowed": "all", "disallowed": disallowed}
        return session.answer("special", request)

    assert special("a", [], s=4, t=4) == Ok({"ids": [97]})
    assert special("as", ["s"], s=4) == Unsupported("cannot disallow special tokens")
    assert special("st", [], s=4, t=4) == Unsupported("cannot give two special tokens the same id")
    assert special("a", [], a=4) == Unsupported("cannot distinguish 'a' from an ordinary token")


def test_of_declared_fields_only_these_are_judged() -> None:
    file = TokenizerFile("file", FILE)
    out = TokenizeOutput(
        ids=[2],
        tokens=["ab"],
        offsets=[(0, 2)],
        type_ids=[0],
        words=[0],
        special_tokens_mask=[0],
        attention_mask=[1],
        overflowing=[],
    )
    case = make_case(
        "tokenize",
        id="bpe/tokenize/topic/ids",
        profile="hugging-face",
        vocab=file.digest(),
        why="An answer with only the ids.",
        flags=[],
        spec="docs/tokenizers.md#model",
        verdict=Exact(),
        input=TokenizeInput(text="ab", add_special_tokens=False),
        out=out,
    )
    declared = Declared(fields=("ids",))
    assert judge(case, Ok({"ids": [2]}), file).status == "fail"
    passed = judge(case, Ok({"ids": [2]}), file, declared)
    assert (passed.status, passed.remark) == ("pass", "only ids")
    assert judge(case, Ok({"ids": [0, 1]}), file, declared).status == "fail"
    assert judge(case, Ok({}), file, declared).status == "fail"


@pytest.mark.parametrize("name", ["tokenizers", "tokenizers-js"])
def test_templates_still_add_the_tokens_that_a_copy_for_text_from_users_lacks(
    name: str, tmp_path: Path
) -> None:
    runs, file, out = installed(name), tmp_path / "tokenizer.json", tmp_path / "own.jsonl"
    tokens = {token: number for number, token in enumerate([*"<s>/think", "th", *ADDED])}
    listed = [AddedToken(each, special=each != "<t>", normalized=False) for each in ADDED]
    begin, end = (("<s>", tokens["<s>"]), ("</s>", tokens["</s>"]))
    made = Tokenizer(
        BPE(dict([*tokens.items()][: -len(ADDED)]), [("t", "h")]),
        added_tokens=AddedTokens(listed),
        post_processor=post_processors.framed(([begin], [end])),
    )
    file.write_bytes(dump_tokenizer_json(made))
    for option in ("--as-text", "--added-as-text"):
        fill = ["fill", "--vocabulary", file, "--out", out, "--replace", option, "th<s><t></s>"]
        assert CliRunner().invoke(main, list(map(str, fill))).exit_code == 0
        catalogue = open_own(out)
        (result,) = run_engine(runs, catalogue.cases, catalogue).results
        assert result.judgement.status == "pass", result.judgement
        right = catalogue.cases[0].out
        assert isinstance(right, TokenizeOutput)
        ids = right.ids
        assert (ids[0], ids[-1]) == (begin[1], end[1])
        assert {tokens[each] for each in ADDED}.intersection(ids[1:-1]) == (
            {tokens["<t>"]} if option == "--as-text" else set()
        )


@pytest.mark.parametrize("name", [*WITH_NODE, "llama.cpp", BYTE_LEVEL])
def test_a_canary_about_another_field_than_the_ids_does_not_pass(name: str) -> None:
    catalogue = open_catalogue()
    canaries = [case for case in catalogue.canaries if case.id.startswith("canary/tokenize/")]
    run = run_engine(installed(name), canaries, catalogue)
    assert run.count("fail") == 0
    assert not [line for line in run.trouble if "self-check" in line]
