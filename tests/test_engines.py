"""What the adapters ask of real engines, and whether these agree with the reference."""

import sys
from functools import cache
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref import (
    ENCODERS,
    TextRules,
    Tokenizer,
    Vocabulary,
    tokenizer_of,
    vocabulary_by_concatenation,
    vocabulary_by_pair,
)
from bpe_ref.errors import PatternError
from bpe_ref.models.byte_bpe import encode_bytes
from bpe_ref.patterns.rust import to_oniguruma
from bpe_ref.pre_tokenizers.pattern import Pattern
from bpe_ref.vocabulary.byte_alphabet import LETTER_OF_BYTE, to_letters
from bpe_ref.vocabulary.merges import ByConcatenation, ByPair
from tests.real_vocabularies import real_vocabulary
from tests.strategies import examples, vocabularies_by_concatenation, vocabularies_by_pair
from tests.test_json_engines import NAMES as JSON_ENGINES
from tokenref.answers import Answer, Engine, Ok, Refused, Session, Unsupported
from tokenref.engines import table
from tokenref.engines.node_packages import NODE_PACKAGES
from tokenref.engines.own_encodings import MemoryUnsafeError, which
from tokenref.engines.table import Unavailable, engine, engine_names
from tokenref.errors import InputError
from tokenref.strategies.tokenizer_questions import pieces_of

REAL = ("tiktoken", "tokenizers", "bpe-openai", "rs-bpe", "wordchipper")
FILES = ("sentencepiece", "onnxruntime-extensions", "mistral-common")
GRAMMARS = ("llguidance", "xgrammar", "outlines-core")
SAMPLERS = (
    *("transformers", "llama.cpp", "torch", "numpy", "mlx-lm", "randomgen", "mmh3", "pandas"),
    *("vllm", "sglang", "exllamav2", "sglang-kernels", "vllm-kernels", "exllamav3"),
    *("aphrodite-engine", "flashinfer", "chatstream", "mistral.rs", "rust-rand"),
    *("libstdc++", "python"),
)
BYTES = {bytes([byte]): byte for byte in range(256)}

ATOMS = (
    *(
        "a",
        "Z",
        "the",
        "Hello",
        " world",
        "don't",
        "'s",
        "'S",
        "'\u017f",
        "'LL",
        "\u01c5",
        "\u02b0",
    ),
    *("0", "12", "1234567", "\u0663", "\u00b2", "\u216b", "\u4e00", "\u6f22\u5b57", "\u304b"),
    *(" ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", "\u00a0", "\u3000", "\u0085", "\u200b", "\x1c"),
    *("e\u0301", "\u0915\u093f", "\u0301", "\u200d", "\U0001f600", "\U0001f468\u200d\U0001f469"),
    *("!", "?!", "/", "--", "{}", "\u2014", "\ufffd", "\ufeff", "\x00", "\u1c89", "\u088f"),
    *("<|endoftext|>", "x<|endoftext|>y", "<|endoftext", "<|fim_prefix|>"),
)

texts = st.lists(
    st.sampled_from(ATOMS) | st.characters(exclude_categories=["Cs"]), max_size=12
).map("".join)

PATTERNS = (
    *(r"\p{N}{1,3}+|\p{L}+", r"\p{N}{2}|\p{N}", r"\p{L}{2}?|.", r"\p{L}{1,2}?|\s", r"\s+$|\S"),
    *(r"\s++$|.", r"^\p{L}+|\s|\p{N}", r"\A\p{L}|.", r"\p{L}\z|.", r"(?i:'s|t)|\p{L}|."),
    *(r"(?i)S|.[A]", r"[^\s\p{L}]+|\p{L}", r"[\p{L}&&[^\p{Lu}]]+|\S+", r"[\x41-\u{1F600}]+"),
    *(r"\xE9|\u0301|\d+", r"(?<word>\p{L}+)|(\s)+", r"(?P<word>\p{L}+)", r"(?>\p{L}+|\s)\p{L}|."),
    *(r"\p{L}+(?=\s)|.", r"(?<=\p{L})\s|\p{L}+", r"[\-\/!]+|\p{^L}", r"{|}|\{|\}|\'|\`"),
    *(r"a{,2}b|\P{L}", r"(?:\p{L}{2}|\p{N}){1,2}+|\s"),
)
"""In tiktoken's dialect."""

PATTERNS_FOR_ONIGURUMA = (r"\s+$|\S", r"\w+|\b.|\s", r"\W|\p{L}++", r"(?i:'s|t)|\p{N}{1,3}|\s")


@cache
def installed(name: str) -> Engine:
    """Return a real engine, or skip the test."""
    found = engine(name)
    if isinstance(found, Unavailable):
        pytest.skip(f"{name} {found.reason}")
    return found


def session(name: str, vocabulary: Vocabulary) -> Session:
    loaded = installed(name).load(vocabulary, "under test")
    assert not isinstance(loaded, Unsupported), loaded.reason
    return loaded


@cache
def real_session(name: str, vocabulary: str) -> tuple[Session, Tokenizer]:
    return session(name, real_vocabulary(vocabulary)), tokenizer_of(real_vocabulary(vocabulary))


def ask(name: str, vocabulary: Vocabulary, op: str, **request: object) -> Answer:
    return session(name, vocabulary).answer(op, request)


def why_not(name: str, vocabulary: Vocabulary) -> str:
    loaded = installed(name).load(vocabulary, "under test")
    assert isinstance(loaded, Unsupported)
    return loaded.reason


# ---- the table


def test_every_name_makes_an_engine_of_that_name() -> None:
    assert engine_names() == (
        *REAL,
        *JSON_ENGINES,
        *FILES,
        *GRAMMARS,
        "reference",
        *NODE_PACKAGES,
        *SAMPLERS,
        *ENCODERS,
    )
    for name in engine_names():
        found = engine(name)
        assert found.name == name
        assert isinstance(found, Unavailable) or found.version


def test_an_unknown_name_is_an_error_that_names_a_similar_one_or_lists_all() -> None:
    with pytest.raises(InputError, match=r"must be one of tiktoken, .* minimal, got 'my-own'"):
        engine("my-own")
    with pytest.raises(InputError, match=r"no engine 'bpe'; did you mean 'rs-bpe'\? `tokenref eng"):
        engine("bpe")


@pytest.mark.parametrize("name", [*REAL, *JSON_ENGINES, *GRAMMARS])
def test_an_engine_that_is_not_installed_is_unavailable(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = table._TOKENIZERS[name][0]
    monkeypatch.setitem(sys.modules, module, None)
    found = engine(name)
    assert isinstance(found, Unavailable)
    assert "cannot be imported: ModuleNotFoundError" in found.reason


def test_an_engine_whose_import_panics_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(_: str) -> ModuleType:
        raise BaseException("index out of bounds")  # noqa: TRY002 - as a panic is

    monkeypatch.setattr(table, "import_module", panic)
    found = engine("tiktoken")
    assert found == Unavailable(
        "tiktoken", "cannot be imported: BaseException: index out of bounds"
    )


def test_the_users_interrupt_is_not_an_unavailable_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: str) -> ModuleType:
        raise KeyboardInterrupt

    monkeypatch.setattr(table, "import_module", interrupt)
    with pytest.raises(KeyboardInterrupt):
        engine("tiktoken")


@pytest.mark.parametrize("name", [name for name in ENCODERS if name not in {"greedy", "minimal"}])
def test_each_encoder_as_an_engine_says_what_the_reference_says(name: str) -> None:
    vocabulary = vocabulary_by_concatenation({b"a": 0, b"b": 1, b"ab": 2, b"ba": 3, b"aba": 4})
    for text in ("", "ababa", "bababab"):
        request = {"text": text}
        assert ask(name, vocabulary, "encode", **request) == ask(
            "reference", vocabulary, "encode", **request
        )


# ---- real vocabularies


@pytest.mark.parametrize("vocabulary", ["cl100k_base", "o200k_base"])
@pytest.mark.parametrize("name", REAL)
def test_real_engines_make_the_tokens_of_the_reference(name: str, vocabulary: str) -> None:
    under_test, tokenizer = real_session(name, vocabulary)

    @examples(250)
    @given(texts)
    def check(text: str) -> None:
        ids = tokenizer.encode(text, special="ordinary")
        assert under_test.answer("encode", {"text": text}) == Ok({"ids": ids})
        assert under_test.answer("count", {"text": text}) == Ok({"count": len(ids)})
        assert under_test.answer("decode", {"ids": ids}) == Ok({"bytes": text.encode().hex()}) or (
            "\ufffd" in text and name == "tokenizers"
        )
        assert under_test.answer("decode", {"ids": ids, "errors": "replace"}) == Ok({"text": text})

    check()


@pytest.mark.parametrize("vocabulary", ["cl100k_base", "o200k_base", "voyage3_base"])
def test_tokenizers_cuts_where_the_reference_cuts(vocabulary: str) -> None:
    under_test, tokenizer = real_session("tokenizers", vocabulary)

    @examples(150)
    @given(texts)
    def check(text: str) -> None:
        pieces = [piece.encode().hex() for piece in tokenizer.pieces(text, special="ordinary")]
        assert under_test.answer("pieces", {"text": text}) == Ok({"pieces": pieces})
        ids = tokenizer.encode(text, special="ordinary")
        assert under_test.answer("encode", {"text": text}) == Ok({"ids": ids})

    check()


@pytest.mark.parametrize("name", ["tiktoken", "tokenizers", "bpe-openai"])
@pytest.mark.parametrize("allowed", ["all", [], ["<|endoftext|>"]])
def test_real_engines_find_the_special_tokens_of_the_reference(
    name: str, allowed: str | list[str]
) -> None:
    under_test, tokenizer = real_session(name, "cl100k_base")

    @examples(60)
    @given(texts)
    def check(text: str) -> None:
        request = {"text": text, "allowed": allowed, "disallowed": []}
        ids = tokenizer.encode(text, special="recognise" if allowed == "all" else allowed)
        assert under_test.answer("special", request) == Ok({"ids": ids})

    check()


@pytest.mark.parametrize("name", ["tiktoken", "bpe-openai", "wordchipper"])
def test_disallowed_special_text_is_refused(name: str) -> None:
    under_test, _ = real_session(name, "cl100k_base")
    request = {"text": "a<|endoftext|>", "allowed": [], "disallowed": "all"}
    answer = under_test.answer("special", request)
    assert isinstance(answer, Refused)
    assert answer.code == "DISALLOWED_SPECIAL"
    plain = under_test.answer("special", request | {"disallowed": ["<|fim_prefix|>"]})
    assert isinstance(plain, Ok)


@pytest.mark.parametrize("name", ["tiktoken", "bpe-openai", "wordchipper"])
def test_an_unknown_id_is_refused(name: str) -> None:
    under_test, _ = real_session(name, "cl100k_base")
    for token in (100256, 100277):
        answer = under_test.answer("decode", {"ids": [0, token]})
        assert isinstance(answer, Refused)
        assert answer.code == "UNKNOWN_ID"


@pytest.mark.parametrize("name", ["tiktoken", "bpe-openai", "rs-bpe", "wordchipper"])
def test_bytes_that_are_not_text_are_refused_where_text_is_wanted_strictly(name: str) -> None:
    under_test, tokenizer = real_session(name, "cl100k_base")
    ids = [tokenizer.token_to_id(b"\xff")]
    answer = under_test.answer("decode", {"ids": ids, "errors": "strict"})
    assert isinstance(answer, Refused)
    assert answer.code == "INVALID_UTF8"
    assert under_test.answer("decode", {"ids": ids}) == Ok({"bytes": "ff"})


def test_rs_bpe_is_never_asked_about_an_id_that_it_lacks() -> None:
    under_test, _ = real_session("rs-bpe", "cl100k_base")
    for token in (100256, 100277, 1_000_000_000):
        with pytest.raises(MemoryUnsafeError, match=str(token)):
            under_test.answer("decode", {"ids": [token]})
    for token in (-1, 1 << 32):
        with pytest.raises(OverflowError):
            under_test.answer("decode", {"ids": [token]})
    answer = under_test.answer("decode", {"ids": [100257]})
    assert answer == Unsupported("has no special tokens")


def test_bpe_openai_and_rs_bpe_say_what_they_cannot_do() -> None:
    github, _ = real_session("bpe-openai", "cl100k_base")
    assert github.answer("encode", {"bytes": "ff"}) == Unsupported("accepts only text")
    rs_bpe, _ = real_session("rs-bpe", "cl100k_base")
    assert rs_bpe.answer("encode", {"bytes": "ff"}) == Unsupported("accepts only text")
    assert rs_bpe.answer("pieces", {"text": "a"}) == Unsupported("does not return its pieces")
    assert rs_bpe.answer("special", {"text": "a"}) == Unsupported("has no special tokens")
    byte = real_vocabulary("cl100k_base").ids["\xff"]
    assert rs_bpe.answer("decode", {"ids": [byte], "errors": "replace"}) == Unsupported(
        "returns no text for invalid UTF-8"
    )


def test_bpe_openai_with_other_special_tokens_keeps_what_is_left() -> None:
    under_test = session("bpe-openai", real_vocabulary("o200k_harmony"))
    special = under_test.answer("special", {"text": "a", "allowed": "all", "disallowed": []})
    assert isinstance(special, Unsupported)
    assert under_test.answer("decode", {"ids": [64]}) == Ok({"bytes": "61"})
    assert isinstance(under_test.answer("decode", {"ids": [200002]}), Unsupported)


def test_engines_with_fixed_vocabularies_recognise_these_by_content() -> None:
    known = real_vocabulary("cl100k_base")
    assert which(known, ["o200k_base", "cl100k_base"]) == "cl100k_base"
    ranks = {content: token for token, content in known.tokens.items()}
    assert which(vocabulary_by_concatenation(ranks, text=known.text), ["cl100k_base"])
    assert which(vocabulary_by_concatenation(ranks), ["cl100k_base"]) is None
    swapped = ranks | {known.tokens[500]: 501, known.tokens[501]: 500}
    other = vocabulary_by_concatenation(swapped, text=known.text)
    assert which(other, ["cl100k_base"]) is None
    assert why_not("rs-bpe", other) == "has only cl100k_base, o200k_base"
    assert why_not("wordchipper", other) == "has only cl100k_base, o200k_base, p50k_base, r50k_base"


@pytest.mark.parametrize("name", REAL)
def test_a_million_characters_can_be_asked(name: str) -> None:
    under_test, tokenizer = real_session(name, "cl100k_base")
    recipe = {"recipe": {"unit": b"a bc ".hex(), "times": 200_000, "after": b"!".hex()}}
    ids = tokenizer.encode("a bc " * 200_000 + "!", special="ordinary")
    assert under_test.answer("encode", recipe) == Ok({"ids": ids})
    assert under_test.answer("count", recipe) == Ok({"count": len(ids)})


# ---- small vocabularies


@st.composite
def texts_of(draw: st.DrawFn, vocabulary: Vocabulary) -> str:
    return draw(pieces_of(vocabulary)).decode("utf-8", "ignore")


def as_ranked(vocabulary: Vocabulary, *, whole_piece: bool) -> Vocabulary:
    """Return the vocabulary with its ranks as ids."""
    assert isinstance(vocabulary.rule, ByConcatenation)
    ranks = {vocabulary.tokens[token]: rank for token, rank in vocabulary.rule.ranks.items()}
    return vocabulary_by_concatenation(ranks, text=TextRules(whole_piece=whole_piece))


@examples(300)
@given(st.data())
def test_tiktoken_merges_by_concatenation_as_the_reference_does(data: st.DataObject) -> None:
    vocabulary = as_ranked(data.draw(vocabularies_by_concatenation()), whole_piece=True)
    piece = data.draw(pieces_of(vocabulary))
    ids = encode_bytes(tokenizer_of(vocabulary), piece)
    assert ask("tiktoken", vocabulary, "encode", bytes=piece.hex()) == Ok({"ids": ids})


@examples(300)
@given(st.data())
def test_tokenizers_merges_by_concatenation_as_the_reference_does(data: st.DataObject) -> None:
    drawn = data.draw(vocabularies_by_concatenation())
    assert isinstance(drawn.rule, ByConcatenation)
    ranks = {drawn.tokens[token]: rank for token, rank in drawn.rule.ranks.items()}
    ids = {content: token for token, content in drawn.tokens.items()}
    text = TextRules(whole_piece=data.draw(st.booleans()))
    vocabulary = vocabulary_by_concatenation(ranks, ids=ids, text=text)
    content = data.draw(texts_of(vocabulary))
    expected = tokenizer_of(vocabulary).encode(content, special="ordinary")
    assert ask("tokenizers", vocabulary, "encode", text=content) == Ok({"ids": expected})


@examples(300)
@given(st.data())
def test_tokenizers_merges_by_pair_as_the_reference_does(data: st.DataObject) -> None:
    vocabulary = data.draw(vocabularies_by_pair())
    assert isinstance(vocabulary.rule, ByPair)
    content = data.draw(texts_of(vocabulary))
    expected = tokenizer_of(vocabulary).encode(content, special="ordinary")
    assert ask("tokenizers", vocabulary, "encode", text=content) == Ok({"ids": expected})


def test_tokenizers_gives_a_merge_that_is_listed_twice_its_last_rank() -> None:
    merges = [(b"a", b"b"), (b"b", b"c"), (b"a", b"b")]
    ids = {b"a": 0, b"b": 1, b"c": 2, b"ab": 3, b"bc": 4}
    vocabulary = vocabulary_by_pair(ids, merges)
    assert ask("tokenizers", vocabulary, "encode", text="abc") == Ok({"ids": [0, 4]})


def test_tiktoken_takes_bytes_that_are_not_text() -> None:
    pair = BYTES | {b"\xff\xfe": 256}
    one_piece = vocabulary_by_concatenation(pair)
    assert ask("tiktoken", one_piece, "encode", bytes="61fffe") == Ok({"ids": [97, 256]})
    by_pattern = vocabulary_by_concatenation(pair, text=TextRules(r"\w+|\s+", whole_piece=True))
    assert ask("tiktoken", by_pattern, "encode", bytes="61fffe") == Ok({"ids": [97, 256]})
    assert ask("tiktoken", one_piece, "encode", text="") == Ok({"ids": []})


def test_tiktoken_refuses_completions_of_special_text_as_the_reference_does() -> None:
    vocabulary = vocabulary_by_concatenation(BYTES, special_tokens={"<a>": 500})
    for name in ("tiktoken", "reference"):
        answer = ask(name, vocabulary, "completions", text="<a>", complete=False)
        assert isinstance(answer, Refused)
        assert answer.code == "DISALLOWED_SPECIAL"


def test_tiktoken_says_why_it_cannot_express_a_vocabulary() -> None:
    ranks = {b"a": 0, b"b": 1}
    ids = {b"a": 1, b"b": 0}
    rules = TextRules("a", normalization="nfc")
    oniguruma = TextRules("a", tables="unicode-16.0-oniguruma")
    dead = {b"a": 0, b"b": 1, b"abb": 2}
    for vocabulary, reason in (
        (vocabulary_by_pair(ranks, []), "only merges by concatenation"),
        (vocabulary_by_concatenation(ranks, ids=ids), "has no ids other than the ranks"),
        (vocabulary_by_concatenation({b"a": 1 << 32}), "only has 32-bit ids"),
        (vocabulary_by_concatenation(ranks, text=rules), "has no normalization"),
        (vocabulary_by_concatenation(ranks, text=oniguruma), "only has the tables unicode-16.0"),
        (vocabulary_by_concatenation(dead), "never merges a piece that is a token"),
    ):
        assert reason in why_not("tiktoken", vocabulary)
    whole = vocabulary_by_concatenation(dead, text=TextRules(whole_piece=True))
    assert ask("tiktoken", whole, "encode", text="abb") == Ok({"ids": [2]})
    assert ask("tiktoken", whole, "pieces", text="abb") == Unsupported("does not return its pieces")


def test_tiktoken_panics_at_a_byte_without_a_token() -> None:
    under_test = session("tiktoken", vocabulary_by_concatenation({b"a": 0}))
    with pytest.raises(BaseException, match="no entry found for key") as panic:
        under_test.answer("encode", {"text": "ab"})
    assert not isinstance(panic.value, Exception)


def test_tokenizers_says_why_it_cannot_express_a_vocabulary() -> None:
    ids = {b"a": 0, b"b": 1}
    for rules, reason in (
        (TextRules("(?s).|a"), "Oniguruma does not have in this meaning"),
        (TextRules(r"a(?i)b"), "the pattern has '(?i)b' at 1, which Oniguruma"),
        (TextRules(r"\xE9", "unicode-16.0-oniguruma"), "its pattern does not compile: "),
        (TextRules(r"\w"), "only has the tables unicode-16.0-oniguruma"),
        (TextRules(r"\p{N}", tables="tokenizers-digits"), "only has the tables"),
    ):
        assert reason in why_not("tokenizers", vocabulary_by_pair(ids, [], text=rules))
    assert why_not("tokenizers", vocabulary_by_pair({b"a": 1 << 32}, [])) == ("only has 32-bit ids")


def special(vocabulary: Vocabulary, text: str, **choice: object) -> Answer:
    request: dict[str, object] = {"allowed": "all", "disallowed": []} | choice
    return ask("tokenizers", vocabulary, "special", text=text, **request)


def test_tokenizers_gives_special_tokens_their_ids_across_holes() -> None:
    specials = {"<b>": 900, "<a>": 500, "\uff5cx y\uff5c": 700}
    vocabulary = vocabulary_by_concatenation(BYTES, special_tokens=specials)
    assert special(vocabulary, "x<a><b>\uff5cx y\uff5c<") == Ok({"ids": [120, 500, 900, 700, 60]})
    assert special(vocabulary, "<a><b>", allowed=["<b>"]) == Ok({"ids": [60, 97, 62, 900]})
    decoded = ask("tokenizers", vocabulary, "decode", ids=[700, 500], errors="replace")
    assert decoded == Ok({"text": "\uff5cx y\uff5c<a>"})
    assert special(vocabulary, "<a>", allowed=[], disallowed="all") == Unsupported(
        "cannot disallow special tokens"
    )


def test_ordinary_text_never_becomes_a_special_token_in_tokenizers() -> None:
    rules = TextRules(whole_piece=True)
    vocabulary = vocabulary_by_concatenation(BYTES, text=rules, special_tokens={"<a>": 500})
    ordinary = Ok({"ids": [60, 97, 62]})
    assert ask("tokenizers", vocabulary, "encode", text="<a>") == ordinary
    assert special(vocabulary, "<a>", allowed=[]) == ordinary


def test_tokenizers_gives_two_special_tokens_one_id_only_in_different_texts() -> None:
    specials = {"<a>": 500, "<b>": 500}
    vocabulary = vocabulary_by_concatenation(BYTES, special_tokens=specials)
    assert special(vocabulary, "<a>") == special(vocabulary, "<b>") == Ok({"ids": [500]})
    assert special(vocabulary, "<a><b>") == Unsupported(
        "cannot give two special tokens the same id"
    )
    decoded = ask("tokenizers", vocabulary, "decode", ids=[500])
    assert decoded == Ok({"bytes": b"<a>".hex()})


@pytest.mark.parametrize("content", ["ab", "\u0120x"])
def test_tokenizers_cannot_tell_a_special_token_from_a_token_spelled_alike(content: str) -> None:
    vocabulary = vocabulary_by_concatenation(BYTES | {b"ab": 256}, special_tokens={content: 500})
    reason = f"cannot distinguish {content!r} from an ordinary token"
    assert special(vocabulary, content) == Unsupported(reason)
    assert ask("tokenizers", vocabulary, "decode", ids=[500]) == Unsupported(reason)
    assert ask("tokenizers", vocabulary, "encode", text="ab") == Ok({"ids": [256]})


def test_tokenizers_answers_bytes_only_where_they_are_text() -> None:
    vocabulary = vocabulary_by_concatenation(BYTES)
    replaced = ask("tokenizers", vocabulary, "decode", ids=[0xFF], errors="replace")
    assert replaced == Ok({"text": "\ufffd"})
    for request in ({"ids": [0xFF]}, {"ids": [0xFF], "errors": "strict"}):
        answer = ask("tokenizers", vocabulary, "decode", **request)
        assert answer == Unsupported("only decodes with replacement")
    for op in ("encode", "pieces", "count"):
        assert ask("tokenizers", vocabulary, op, bytes="ff") == Unsupported("accepts only text")


def test_text_that_the_pattern_does_not_match_is_dropped_by_tokenizers() -> None:
    vocabulary = vocabulary_by_concatenation(BYTES, text=TextRules("[a-z]"))
    assert ask("tokenizers", vocabulary, "encode", text="ab12c") == Ok({"ids": [97, 98, 99]})
    pieces = ask("tokenizers", vocabulary, "pieces", text="ab12c")
    assert pieces == Ok({"pieces": ["61", "62", "63"]})


# ---- the byte-level alphabet and Oniguruma's dialect


def test_every_byte_has_a_letter_of_its_own_that_can_be_seen() -> None:
    letters = list(LETTER_OF_BYTE)
    assert len(set(letters)) == 256
    assert all(letter.isprintable() and not letter.isspace() for letter in letters)
    assert to_letters(bytes(range(0x21, 0x7F))) == bytes(range(0x21, 0x7F)).decode()
    assert (letters[0], letters[0x20], letters[0x7F], letters[0xA0]) == (
        *("\u0100", "\u0120", "\u0121", "\u0142"),
    )


@pytest.mark.parametrize(
    ("pattern", "tables"),
    [(pattern, "unicode-16.0") for pattern in PATTERNS]
    + [(pattern, "unicode-16.0-oniguruma") for pattern in PATTERNS_FOR_ONIGURUMA],
)
def test_tokenizers_cuts_at_any_pattern_as_the_reference_does(pattern: str, tables: str) -> None:
    vocabulary = vocabulary_by_concatenation(BYTES, text=TextRules(pattern, tables))
    under_test = session("tokenizers", vocabulary)
    cut = Pattern(pattern, tables).cut_text

    @examples(60)
    @given(texts)
    def check(text: str) -> None:
        expected = {"pieces": [piece.encode().hex() for piece in cut(text)]}
        assert under_test.answer("pieces", {"text": text}) == Ok(expected)

    check()


@pytest.mark.parametrize(
    ("pattern", "translated"),
    [
        (r"\p{N}{1,3}+", r"(?>\p{N}{1,3})"),
        (r"x(?:ab|c){2,}+y", r"x(?>(?:ab|c){2,})y"),
        (r"[ab]{2}?$", r"[ab]{2}\z"),
        (r"^(a)(?<b>b)", r"\A(?:a)(?:b)"),
        (r"[^\xE9\-[b]]\u00E9", r"[^\x{E9}\x{2d}[b]]\x{00E9}"),
        (r"(?i)a|b", r"(?i:a|b)"),
        (r"a{,3}{", r"a{0,3}\x{7b}"),
    ],
)
def test_what_oniguruma_reads_otherwise_is_said_otherwise(pattern: str, translated: str) -> None:
    assert to_oniguruma(pattern) == translated


@pytest.mark.parametrize(
    ("pattern", "place"),
    [("(?s).", 0), ("a(?i)b", 1), ("a(?m:^b)", 1), ("(?i:ss)", 4), ("[a--b]", 2), ("[]a]", 1)],
)
def test_what_oniguruma_cannot_say_is_not_said(pattern: str, place: int) -> None:
    with pytest.raises(PatternError, match=f"at {place}, which"):
        to_oniguruma(pattern)
