"""What counting and cutting claims about the tokenizers of files, against `Tokenizer.encode`."""

import random
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from doctest import DocTestParser
from functools import cache, partial
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from authoring.tokenizer_files.charsmaps import compile_charsmap
from bpe_ref import ParameterError, load
from bpe_ref.added_tokens import AddedToken, AddedTokens, Recognised
from bpe_ref.cutting import fewest, growing, long_pieces, splitting
from bpe_ref.cutting.counting import TextIntervalCounter, count_till_limit, safe_cuts
from bpe_ref.cutting.fewest import MOST_DECOMPOSED
from bpe_ref.cutting.growing import AppendCounter
from bpe_ref.cutting.long_pieces import kind_of
from bpe_ref.cutting.safe_cuts import TextCounter, counter_of
from bpe_ref.cutting.splitting import split_at
from bpe_ref.encoding import Encoding
from bpe_ref.growing.encoders import AppendEncoder, PrependEncoder
from bpe_ref.models.bpe import BPE
from bpe_ref.models.sentencepiece import Piece, SentencePieceModel
from bpe_ref.models.unigram import Unigram
from bpe_ref.normalizers.charsmap import Charsmap
from bpe_ref.normalizers.normalization_forms import NFC, NFD, NFKC, begins_anew
from bpe_ref.normalizers.replacing import Prepend, Replace
from bpe_ref.normalizers.rewriting import ByteLevel as ByteLevelNormalizer
from bpe_ref.normalizers.rewriting import Lowercase
from bpe_ref.normalizers.sentencepiece import NormalizationRules, SentencePieceNormalizer
from bpe_ref.normalizers.sequence import Sequence as Normalizers
from bpe_ref.normalizers.stripping import Strip, StripAccents
from bpe_ref.patterns.borders import PatternBorders, borders_of
from bpe_ref.patterns.matches import Literal, Regex
from bpe_ref.patterns.registered import PATTERNS
from bpe_ref.patterns.rust import to_oniguruma
from bpe_ref.patterns.unicode_tables import TABLES, to_ranges
from bpe_ref.post_processors import TemplateProcessing
from bpe_ref.post_processors.templates import parse_template
from bpe_ref.post_processors.truncation import Truncation
from bpe_ref.pre_tokenizers.byte_level import ByteLevel
from bpe_ref.pre_tokenizers.character_classes import Digits, Punctuation
from bpe_ref.pre_tokenizers.metaspace import Metaspace
from bpe_ref.pre_tokenizers.sequence import Sequence as Steps
from bpe_ref.pre_tokenizers.split_by_pattern import Split
from bpe_ref.registry import REGISTRY
from bpe_ref.tokenizer import Tokenizer
from bpe_ref.vocabulary.byte_alphabet import BYTE_PIECES, LETTER_OF_BYTE, to_letters
from tests.cuts import Watched, allowed_places, chunks, chunks_by_definition, split_by_definition
from tests.test_pages import ROOT, code_of
from tests.texts import drawn, text_of

WORDS = (
    *("the", " the", "The", "hello", " world", "token", "izer", "  ", "    ", "\n\n", "123", "12"),
    *("...", "--", "'s", "'ll", "'re", "été", "ï", "你好", "世界", "e\u0301", "aaaa", "xx", "!\n"),
    *("😀", " a", "ab", "ab ab", "b c", ", ", "日本", "lL"),
)
"""Merges can make these, letter by letter."""

DEAD = "hex"  # a token that no merge makes

SPECIALS = ("<s>", "<|end|>", "<s>b", "aaa", "é", "\n\n", "x ", " y")


def byte_model(*, missing: str = "", words: Sequence[str] = WORDS, **fields: Any) -> BPE:
    """Return a model over the letters of bytes, but for the missing ones."""
    letters = [letter for letter in LETTER_OF_BYTE if letter not in missing]
    return _model(letters, map(to_bytes, words), fields)


def letter_model(space: str, *, byte_tokens: int = 256, **fields: Any) -> BPE:
    """Return a model over characters, and the tokens of some bytes; spaces are written so."""
    letters = [f"<0x{byte:02X}>" for byte in range(byte_tokens)]
    letters += sorted({*"".join(WORDS), space, *"abcdefghijklmnopqrstuvwxyz<>/|ABT.,!?123"} - {" "})
    unk = {"unk_token": "<unk>"} if byte_tokens < 256 else {}
    fields = {"byte_fallback": byte_tokens > 0, **unk, **fields}
    return _model(["<unk>", *letters], [word.replace(" ", space) for word in WORDS], fields)


def unigram_model(*, byte_tokens: int = 256) -> Unigram:
    """Return a Unigram model with the tokens of a model over characters."""
    vocab = letter_model("▁", byte_tokens=byte_tokens).vocab
    scores = {token: -1.5 * len(token) - place % 7 for place, token in enumerate(vocab)}
    return Unigram([*scores.items()], vocab["<unk>"], byte_tokens == len(BYTE_PIECES))


def to_bytes(word: str) -> str:
    return to_letters(word.encode())


def _model(symbols: Sequence[str], words: Iterable[str], fields: dict[str, Any]) -> BPE:
    vocab = dict.fromkeys(symbols)
    merges: list[tuple[str, str]] = []
    for word in words:
        if set(word) <= vocab.keys():
            merges += [(word[:size], word[size]) for size in range(1, len(word))]
            vocab |= dict.fromkeys(word[:size] for size in range(2, len(word) + 1))
    vocab[DEAD] = None
    affix = fields.get("end_of_word_suffix")
    if affix:
        vocab |= dict.fromkeys(symbol + affix for symbol in symbols if len(symbol) == 1)
    ids = {token: number for number, token in enumerate(vocab)}
    return BPE(ids, list(dict.fromkeys(merges)), **fields)


def tokens(*more: AddedToken, normalized: bool = False) -> AddedTokens:
    return AddedTokens([*(AddedToken(text, normalized=normalized) for text in SPECIALS), *more])


def byte_level(*, prefix: bool = False, regex: bool = True) -> ByteLevel:
    return ByteLevel(add_prefix_space=prefix, trim_offsets=True, use_regex=regex)


def split_by(source: str, behavior: str = "Isolated", *, invert: bool = False) -> Steps:
    return Steps([Split(Regex(source), behavior, invert=invert), byte_level(regex=False)])


def template(text: str) -> TemplateProcessing:
    return TemplateProcessing(parse_template(text), parse_template("$A $B"), {})


SPACES = Replace(Literal(" "), "▁")
LLAMA2 = Normalizers((Prepend("▁"), SPACES))
MASK_BEFORE = AddedToken("<m>", lstrip=True, normalized=False)
MASK_BEHIND = AddedToken("<n>", rstrip=True, normalized=False)
WORD = AddedToken("the", single_word=True)
VOYAGE3 = REGISTRY["voyage3_base"].pattern
O200K = REGISTRY["o200k_base"].pattern
CL100K = to_oniguruma(REGISTRY["cl100k_base"].pattern)

BY_PIECES: dict[str, Callable[[], Tokenizer]] = {
    "gpt2": lambda: Tokenizer(
        byte_model(), pre_tokenizer=byte_level(), added_tokens=tokens(normalized=True)
    ),
    "gpt2, some normalized": lambda: Tokenizer(
        byte_model(),
        pre_tokenizer=byte_level(),
        added_tokens=tokens(AddedToken("b<s>"), AddedToken("end")),
    ),
    "gpt2, special as text": lambda: Tokenizer(
        byte_model(),
        pre_tokenizer=byte_level(),
        added_tokens=AddedTokens([AddedToken("<s>", special=True), AddedToken("s>")]),
    ),
    "gpt2, prefix": lambda: Tokenizer(
        byte_model(), pre_tokenizer=byte_level(prefix=True), added_tokens=tokens()
    ),
    "gpt2, letters missing": lambda: Tokenizer(
        byte_model(missing="ab©", unk_token=DEAD, fuse_unk=True),
        pre_tokenizer=byte_level(),
        added_tokens=tokens(),
    ),
    "roberta": lambda: Tokenizer(
        byte_model(), pre_tokenizer=byte_level(), added_tokens=tokens(MASK_BEFORE, MASK_BEHIND)
    ),
    "llama3": lambda: Tokenizer(
        byte_model(ignore_merges=True),
        pre_tokenizer=split_by(PATTERNS["llama3"].source),
        added_tokens=tokens(),
        post_processor=template("$A"),
    ),
    "cl100k": lambda: Tokenizer(
        byte_model(), pre_tokenizer=split_by(CL100K, "Removed", invert=True), added_tokens=tokens()
    ),
    "qwen2": lambda: Tokenizer(
        byte_model(), NFC(), split_by(VOYAGE3, "Isolated", invert=True), added_tokens=tokens()
    ),
    "qwen2, normalized tokens": lambda: Tokenizer(
        byte_model(), NFC(), split_by(VOYAGE3), added_tokens=tokens(normalized=True)
    ),
    "o200k": lambda: Tokenizer(
        byte_model(), pre_tokenizer=split_by(O200K), added_tokens=tokens(MASK_BEFORE)
    ),
    "tekken": lambda: Tokenizer(
        byte_model(ignore_merges=True),
        pre_tokenizer=split_by(PATTERNS["tekken"].source),
        added_tokens=tokens(),
    ),
    "bytes": lambda: Tokenizer(
        byte_model(), pre_tokenizer=byte_level(regex=False), added_tokens=tokens()
    ),
    "bytes, nfc": lambda: Tokenizer(
        byte_model(), NFC(), byte_level(regex=False), added_tokens=tokens()
    ),
    "bytes, whole": lambda: Tokenizer(
        byte_model(words=("xx", "12", "  ", "aaaa", "é"), ignore_merges=True),
        pre_tokenizer=byte_level(regex=False),
        added_tokens=tokens(MASK_BEHIND),
    ),
    "bytes, prefix": lambda: Tokenizer(
        byte_model(), pre_tokenizer=byte_level(regex=False, prefix=True), added_tokens=tokens()
    ),
}
BY_LETTERS: dict[str, Callable[[], Tokenizer]] = {
    "mistral": lambda: Tokenizer(
        letter_model("▁", unk_token="<unk>", fuse_unk=True),  # noqa: S106 - a token, no password
        pre_tokenizer=Metaspace("▁", "first", split=False),
        added_tokens=tokens(normalized=True),
    ),
    "metaspace": lambda: Tokenizer(
        letter_model("▁"), pre_tokenizer=Metaspace("▁", split=False), added_tokens=tokens()
    ),
    "metaspace, some normalized": lambda: Tokenizer(
        letter_model("▁"),
        pre_tokenizer=Metaspace("▁", split=False),
        added_tokens=tokens(AddedToken("c"), AddedToken("d ")),
    ),
    "metaspace that splits": lambda: Tokenizer(
        letter_model("_", byte_tokens=0, fuse_unk=True, end_of_word_suffix="~"),
        pre_tokenizer=Metaspace("_", "always"),
        added_tokens=tokens(),
    ),
    "metaspace that splits, whole": lambda: Tokenizer(
        letter_model("▁", ignore_merges=True),
        pre_tokenizer=Metaspace("▁", "never"),
        added_tokens=tokens(),
    ),
    "llama2": lambda: Tokenizer(letter_model("▁"), LLAMA2, added_tokens=tokens()),
    "llama2, normalized tokens": lambda: Tokenizer(
        letter_model("▁"), LLAMA2, added_tokens=AddedTokens([AddedToken("<s>"), AddedToken("é")])
    ),
    "llama2, no bytes": lambda: Tokenizer(
        letter_model("▁", byte_tokens=0, fuse_unk=True),
        Normalizers((SPACES, Prepend(" _"))),
        added_tokens=tokens(AddedToken("c")),
    ),
    "llama2, some bytes": lambda: Tokenizer(letter_model("▁", byte_tokens=200), LLAMA2),
    "gemma": lambda: Tokenizer(
        letter_model("▁"),
        SPACES,
        Split(Literal(" "), "MergedWithPrevious", invert=False),
        added_tokens=tokens(),
    ),
    "letters": lambda: Tokenizer(
        letter_model(" ", byte_tokens=0, unk_token=None), added_tokens=tokens(normalized=True)
    ),
}
DEEPSEEK = (
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ\u30a0-ヿ]+",
    (
        r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"
        r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
        r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
)
CLIP = (
    r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d"
    r"|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
)


def split_off(*sources: str) -> list[Split]:
    return [Split(Regex(source), "Isolated", invert=False) for source in sources]


def sentencepiece_file(
    *, byte_fallback: bool = False, charsmap: Charsmap | None = None, **fields: bool
) -> Tokenizer:
    pieces = [Piece("<unk>", kind="unknown"), Piece("<s>", kind="user-defined")]
    pieces += [Piece("x ", kind="user-defined"), Piece("<c>", kind="control")]
    words = [*WORDS, *"abcdehklmnorstwxyz,.!TH123你好", " "]
    parts = [word[:size].replace(" ", "▁") for word in words for size in range(1, len(word) + 1)]
    pieces += [Piece(part, -float(place)) for place, part in enumerate(dict.fromkeys(parts))]
    pieces[-1] = Piece("unused", -1e3, "unused")
    if byte_fallback:
        pieces += [Piece(text, kind="byte") for text in BYTE_PIECES]
    rules = NormalizationRules(charsmap, **fields)
    model = SentencePieceModel(pieces, rules, byte_fallback=byte_fallback)
    return Tokenizer(model, SentencePieceNormalizer(rules, model.user_defined))


OTHERS: dict[str, Callable[[], Tokenizer]] = {
    "deepseek": lambda: Tokenizer(
        byte_model(),
        pre_tokenizer=Steps([*split_off(*DEEPSEEK), byte_level(regex=False)]),
        added_tokens=tokens(),
    ),
    "clip": lambda: Tokenizer(
        byte_model(end_of_word_suffix="</w>", unk_token=DEAD),
        Normalizers((NFC(), Replace(Regex(r"\s+"), " "), Lowercase())),
        Steps([Split(Regex(CLIP), "Removed", invert=True), byte_level()]),
        added_tokens=tokens(),
    ),
    "nfkc": lambda: Tokenizer(byte_model(), NFKC(), byte_level(), added_tokens=tokens()),
    "nfkc, llama3": lambda: Tokenizer(
        byte_model(), NFKC(), split_by(PATTERNS["llama3"].source), added_tokens=tokens()
    ),
    "nfd, stripped": lambda: Tokenizer(
        byte_model(),
        Normalizers((NFD(), Strip(strip_left=True, strip_right=True))),
        byte_level(),
        added_tokens=tokens(AddedToken("<s>x"), AddedToken("é!")),
    ),
    "digits, then prefixes": lambda: Tokenizer(
        byte_model(),
        pre_tokenizer=Steps([Digits(individual_digits=False), byte_level(prefix=True)]),
        added_tokens=tokens(),
    ),
    "punctuation, then words": lambda: Tokenizer(
        letter_model("▁"),
        pre_tokenizer=Steps([Punctuation("Contiguous"), Metaspace("▁", "first")]),
        added_tokens=tokens(),
    ),
    "bytes normalized": lambda: Tokenizer(
        byte_model(), Normalizers((Lowercase(), ByteLevelNormalizer())), added_tokens=tokens()
    ),
    "sentencepiece": sentencepiece_file,
    "sentencepiece, bytes": lambda: sentencepiece_file(byte_fallback=True),
    "sentencepiece, all spaces": lambda: sentencepiece_file(
        byte_fallback=True, remove_extra_whitespaces=False
    ),
    "sentencepiece, no prefix": lambda: sentencepiece_file(
        add_dummy_prefix=False, remove_extra_whitespaces=False
    ),
    "sentencepiece, map": lambda: sentencepiece_file(
        charsmap=Charsmap(
            compile_charsmap({"é": "e", "e\u0301": "e", "ab": "x", "\n": " ", "1": "one ", "ï": ""})
        )
    ),
    "lower case": lambda: Tokenizer(byte_model(), Lowercase(), byte_level()),
    "digits": lambda: Tokenizer(
        byte_model(), pre_tokenizer=Steps([Digits(individual_digits=True), byte_level()])
    ),
    "single word": lambda: Tokenizer(
        byte_model(), pre_tokenizer=byte_level(), added_tokens=tokens(WORD)
    ),
    "single word, letters": lambda: Tokenizer(
        letter_model("▁"), LLAMA2, added_tokens=AddedTokens([WORD])
    ),
    "stripping, letters": lambda: Tokenizer(
        letter_model("▁"), LLAMA2, added_tokens=AddedTokens([MASK_BEFORE])
    ),
    "pattern of its own": lambda: Tokenizer(byte_model(), pre_tokenizer=split_by("[a-z]+|.")),
    "as registered": lambda: Tokenizer(
        byte_model(), pre_tokenizer=split_by(REGISTRY["cl100k_base"].pattern)
    ),
    "pieces removed": lambda: Tokenizer(
        byte_model(), pre_tokenizer=split_by(PATTERNS["llama3"].source, "Removed")
    ),
    "bytes missing": lambda: Tokenizer(
        byte_model(missing="a", unk_token=DEAD), pre_tokenizer=byte_level(regex=False)
    ),
    "unigram": lambda: Tokenizer(unigram_model(), LLAMA2, added_tokens=tokens()),
    "unigram, unknown": lambda: Tokenizer(
        unigram_model(byte_tokens=0), LLAMA2, added_tokens=tokens()
    ),
    "whole letters": lambda: Tokenizer(letter_model("▁", ignore_merges=True), LLAMA2),
}
UNKNOWN: dict[str, Callable[[], Tokenizer]] = {
    "suffix": lambda: Tokenizer(letter_model("▁", end_of_word_suffix="~"), LLAMA2),
    "accents": lambda: Tokenizer(byte_model(), StripAccents(), byte_level()),
}
FILES = {**BY_PIECES, **BY_LETTERS, **OTHERS, **UNKNOWN}
KNOWN = [*BY_PIECES, *BY_LETTERS, *OTHERS]
UNBOUNDED = {
    *("gpt2, letters missing", "roberta", "o200k", "bytes, whole", "metaspace that splits"),
    *("llama2, no bytes", "letters", "stripping, letters", "pieces removed", "clip"),
    *("bytes normalized", "sentencepiece", "sentencepiece, bytes", "sentencepiece, no prefix"),
    *("sentencepiece, map", "accents", "nfd, stripped", "unigram, unknown"),
}
"""Kinds of which nobody knows how much a token stands for."""


def treatment_of(kind: str) -> Recognised:
    return "ordinary" if kind == "gpt2, special as text" else "recognise"


@cache
def counter_for(kind: str) -> TextCounter:
    return FILES[kind]().text_counter(treatment_of(kind))


@cache
def counted_from_scratch(kind: str) -> TextCounter:
    """Return the definition."""
    tokenizer, special = FILES[kind](), treatment_of(kind)

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False, special=special))

    return TextCounter(count, counter_for(kind).spans)


SPELLED_UNBOUNDED = {"roberta", "o200k", "bytes, whole", "stripping, letters", "clip"}
SPELLED = [kind for kind in FILES if kind not in UNBOUNDED or kind in SPELLED_UNBOUNDED]
"""Kinds of which it is known how few tokens a text may have."""

texts = text_of(
    *SPECIALS, "<m>", "<n>", " ", "▁", "_", "aaaaaa", "1" * 9, DEAD, "\ud83d\ude00", "\ud83d", "lL"
)


@pytest.fixture
def short_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pieces of five characters count as long, so that short texts have some, with tables."""
    for module in (growing, long_pieces):
        monkeypatch.setattr(module, "LONG", 5)
    monkeypatch.setattr(long_pieces, "LETTERS_FIRST", 0)
    monkeypatch.setattr(splitting, "WORD", 5)


# ---- which files are known


@pytest.mark.parametrize("kind", FILES)
def test_the_census_of_files(kind: str) -> None:
    counter, text = counter_for(kind), "To be, or not to be: that is one question. " * 3
    assert (len(list(safe_cuts(counter, text))) > 20) == (kind not in UNKNOWN)
    assert (counter.longest is None) == (kind in UNBOUNDED)
    assert (counter.fewest is not None) == (kind in SPELLED)


def test_with_dropout_no_place_is_safe() -> None:
    counter = Tokenizer(byte_model(dropout=1.0), pre_tokenizer=byte_level()).text_counter()
    assert not counter.is_safe_cut("a", " ")


def test_what_is_put_in_front_of_a_text_does_not_count_behind_a_safe_cut() -> None:
    counter = counter_for("llama2")
    assert counter.count_after("a", "<s>a") == counter.count("<s>a") == 2  # "▁a" behind it, in both
    assert (counter.count(" a"), counter.count_after("a", " a")) == (2, 1)


def test_another_template_is_no_reason_not_to_count() -> None:
    once = Tokenizer(byte_model(), pre_tokenizer=byte_level())
    twice = once.replace(post_processor=template("$A $A"))
    assert twice.count("hello") == 2 * once.count("hello")
    assert twice.chunks("hello " * 9, 20) == [
        (start, stop, 2 * tokens) for start, stop, tokens in once.chunks("hello " * 9, 10)
    ]


# ---- counts add up


@pytest.mark.parametrize("kind", KNOWN)
@given(data=st.data())
@drawn(40)
def test_counts_add_up_at_safe_cuts_of_every_part(kind: str, data: st.DataObject) -> None:
    counter, scratch, text = counter_for(kind), counted_from_scratch(kind), data.draw(texts)
    for cut in safe_cuts(counter, text):
        start = data.draw(st.integers(0, cut - 1))
        stop = data.draw(st.integers(cut + 1, len(text)))
        after = counter.count_after(text[cut - 1], text[cut:stop])
        expected = scratch.count(text[start:stop])
        assert expected == scratch.count(text[start:cut]) + after, (text[start:cut], text[cut:stop])


ATOMS = ("a", " ", "c", "t", "<s>", "<n>", "<m>", "\n", "é", "1")


@pytest.mark.parametrize("kind", KNOWN)
def test_counts_add_up_in_every_short_text(kind: str) -> None:
    counter, scratch = counter_for(kind), counted_from_scratch(kind)
    counts = cache(scratch.count)
    for atoms in product(ATOMS, repeat=3):
        text = "".join(atoms)
        for cut in safe_cuts(counter, text):
            before, after = text[:cut], text[cut:]
            added = counter.count_after(text[cut - 1], after)
            assert counts(text) == counts(before) + added, (before, after)


@pytest.mark.parametrize("kind", KNOWN)
@pytest.mark.usefixtures("short_is_long")
@given(text=texts)
@drawn(25)
def test_every_beginning_counts_as_if_encoded_alone(kind: str, text: str) -> None:
    scratch, grown = counted_from_scratch(kind), AppendCounter(counter_for(kind))
    for place in range(len(text)):
        grown.push(text[place])
        assert grown.count == scratch.count(text[: place + 1])


@pytest.mark.parametrize("kind", BY_PIECES)
@pytest.mark.usefixtures("short_is_long")
@given(
    runs=st.lists(
        st.tuples(st.sampled_from([*"sLl你A1 \n'/!", "<s>", "<n>", "aB", "é"]), st.integers(1, 9)),
        max_size=4,
    )
)
@drawn(20)
def test_long_runs_count_as_if_encoded_alone(kind: str, runs: list[tuple[str, int]]) -> None:
    scratch, text = counted_from_scratch(kind), "".join(part * times for part, times in runs)
    grown = AppendCounter(counter_for(kind))
    for place in range(len(text)):
        grown.push(text[place])
        assert grown.count == scratch.count(text[: place + 1])


@pytest.mark.parametrize("kind", FILES)
@given(data=st.data(), missing=st.integers(-2, 2))
@drawn(20)
def test_limits_and_parts_are_exact(kind: str, data: st.DataObject, missing: int) -> None:
    counter, scratch, text = counter_for(kind), counted_from_scratch(kind), data.draw(texts)
    expected = scratch.count(text)
    limit = max(0, expected - missing)
    assert count_till_limit(counter, text, limit) == (expected if expected <= limit else None)
    if counter.longest is not None:
        assert len(text) <= counter.longest * expected
    parts = TextIntervalCounter(counter, text)
    for _ in range(3):
        start = data.draw(st.integers(0, len(text)))
        stop = data.draw(st.integers(start, len(text)))
        assert parts.count(start, stop) == scratch.count(text[start:stop])


def sentencepiece(rules: NormalizationRules, *, byte_fallback: bool) -> Tokenizer:
    pieces = [Piece("<unk>", kind="unknown"), Piece("<s>", kind="user-defined")]
    pieces += [Piece(text, -float(place)) for place, text in enumerate(("▁", "▁t", "he", "▁the"))]
    pieces += [Piece("aa", -9.0, "unused"), Piece("a b", kind="user-defined")]
    if byte_fallback:
        pieces += [Piece(text, kind="byte") for text in BYTE_PIECES]
    model = SentencePieceModel(pieces, rules, byte_fallback=byte_fallback)
    return Tokenizer(model, SentencePieceNormalizer(rules, model.user_defined))


KEEPING = NormalizationRules(remove_extra_whitespaces=False)


@given(text=text_of("<s>", " the", "a b", "aa"), limit=st.integers(0, 8))
@drawn(50)
def test_of_a_sentencepiece_model_the_longest_piece_bounds_the_text(text: str, limit: int) -> None:
    tokenizer = sentencepiece(KEEPING, byte_fallback=True)
    counter, expected = tokenizer.text_counter(), tokenizer.count(text)
    assert counter.longest == 6  # that of <0x00>
    assert len(text) <= 4 * expected
    assert count_till_limit(counter, text, limit) == (expected if expected <= limit else None)


def test_a_sentencepiece_model_that_lets_characters_vanish_has_no_bound() -> None:
    for rules, byte_fallback in ((NormalizationRules(), True), (KEEPING, False)):
        tokenizer = sentencepiece(rules, byte_fallback=byte_fallback)
        assert tokenizer.text_counter().longest is None
        assert tokenizer.count(" " * 50 + "x" * 50) == (51 if byte_fallback else 52)


# ---- cutting


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.usefixtures("short_is_long")
@given(data=st.data(), text=texts, n=st.integers(1, 8))
@drawn(15)
def test_cuts_and_chunks_are_those_of_the_definition(
    kind: str, data: st.DataObject, text: str, n: int
) -> None:
    counter, scratch = counter_for(kind), counted_from_scratch(kind)
    overlap = data.draw(st.integers(0, n - 1))
    expected = chunks_by_definition(scratch, text, n, overlap)
    if expected is None:
        with pytest.raises(ParameterError, match="most must be at least"):
            chunks(counter, text, n, overlap)
        return
    assert chunks(counter, text, n, overlap) == expected
    assert split_at(counter, text, n) == split_by_definition(scratch, text, n)


OF_CHARACTERS = (
    *("mistral", "metaspace", "metaspace, some normalized", "llama2", "llama2, normalized tokens"),
    *("llama2, some bytes", "gemma", "sentencepiece, all spaces"),
)
"""Files whose models merge characters, and whose pre-tokenizers look at nothing but spaces."""


@pytest.mark.parametrize("kind", OF_CHARACTERS)
@pytest.mark.parametrize("part", ["x", "ab", "hello"])
def test_a_long_word_is_counted_a_few_times(kind: str, part: str) -> None:
    watched, text = Watched(counter_for(kind)), part * 1000
    assert 200 <= split_at(watched.counter, text, 200) < len(text)
    assert watched.counted < 40 * len(text)


long_texts = st.lists(
    st.tuples(
        st.text("ablx 你é1\n'!\u0301\u0323\u1100\u1161\u11a8\uac00", min_size=1, max_size=9)
        | st.sampled_from([*SPECIALS, "e\u0301", "😀", "\ud83d"]),
        st.integers(1, 25),
    ),
    max_size=5,
).map(lambda runs: "".join(part * times for part, times in runs))


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.usefixtures("short_is_long")
@given(data=st.data(), text=long_texts, n=st.integers(1, 30))
@drawn(8)
def test_long_words_are_cut_as_by_definition(
    kind: str, data: st.DataObject, text: str, n: int
) -> None:
    scratch, text = counted_from_scratch(kind), text[:80]
    overlap = data.draw(st.integers(0, n - 1))
    expected = chunks_by_definition(scratch, text, n, overlap)
    if expected is not None:
        assert chunks(counter_for(kind), text, n, overlap) == expected


@pytest.mark.usefixtures("short_is_long")
def test_a_token_may_take_text_that_repeats() -> None:
    counter, scratch = counter_for("stripping, letters"), counted_from_scratch("stripping, letters")
    for size in range(1, 9):
        text = " " * 50 + "x" * size + " " * 50 + "<m>"
        assert chunks(counter, text, 3) == chunks_by_definition(scratch, text, 3, 0)


@pytest.mark.parametrize("kind", SPELLED)
@given(data=st.data(), text=long_texts, n=st.integers(0, 30))
@drawn(15)
def test_where_no_text_of_few_tokens_ends_or_begins_there_is_none(
    kind: str, data: st.DataObject, text: str, n: int
) -> None:
    known, scratch = counter_for(kind).fewest, counted_from_scratch(kind)
    assert known is not None
    text = text.replace("\ud83d", "")[:100]
    places = allowed_places(scratch, text)
    start = data.draw(st.sampled_from(places))
    stop = data.draw(st.sampled_from([place for place in places if place >= start]))
    has_added = bool(scratch.unbreakable(text))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fewest, "_FIRST_SIZE", data.draw(st.sampled_from([0, 4])))
        places_of = partial(known.places, text, start, stop, n, has_added=has_added)
        found, read = places_of(forwards=True)
        before, behind = [*found], [*places_of(forwards=False)[0]]
    assert before == sorted(before, reverse=True)
    assert start <= read <= stop
    assert behind == sorted(behind)
    for place in places:
        if start < place <= stop and place not in before:
            assert scratch.count(text[start:place]) > n
        if start <= place < stop and place not in behind:
            assert scratch.count(text[place:stop]) > n


@pytest.mark.parametrize("kind", ["gemma", "llama2", "metaspace"])
@pytest.mark.usefixtures("short_is_long")
def test_a_long_word_of_characters_is_not_encoded_again_for_every_place(kind: str) -> None:
    watched, scratch = Watched(counter_of(FILES[kind]())), counted_from_scratch(kind)
    letters = random.Random(5)
    text = "".join(letters.choice("aab") for _ in range(600))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_pieces, "_TOKENS_LOOKED_AT", 1 << 30)
        assert chunks(watched.counter, text, 100, 10) == chunks_by_definition(
            scratch, text, 100, 10
        )
    assert watched.remembered > 0
    assert watched.counted < 3 * len(text)
    not_a_token = text[:60] + "你" + text[60:120]
    expected = chunks_by_definition(scratch, not_a_token, 30, 0)
    assert chunks(watched.counter, not_a_token, 30) == expected


@pytest.mark.parametrize("kind", [kind for kind in SPELLED if kind != "qwen2, normalized tokens"])
@pytest.mark.parametrize("part", ["x", "hello", "你", "1", " ", "\n ", "e\u0301"])
def test_a_long_piece_is_counted_a_few_times(
    kind: str, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The places that are tried, and what is encoded for them, grow no faster than the text."""
    pushed = 0

    def push(encoder: Any, byte: int) -> None:
        nonlocal pushed
        pushed += 1
        plain(encoder, byte)

    plain = AppendEncoder.push
    monkeypatch.setattr(long_pieces, "LETTERS_FIRST", 0)
    monkeypatch.setattr(AppendEncoder, "push", push)
    monkeypatch.setattr(PrependEncoder, "push", push)
    for length in (400, 1600):
        watched, text = Watched(counter_for(kind)), (part * length)[:length]
        assert chunks(watched.counter, text, 25, 5)
        assert watched.remembered < 3 * length
        assert pushed < 12 * length
        assert watched.counted < 150 * length
        pushed = 0


@pytest.mark.parametrize("kind", ["gpt2", "qwen2"])
def test_tables_for_long_pieces_are_not_built_for_a_few_letters(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a large vocabulary take seconds, in which the model encodes many letters."""
    made: list[object] = []
    plain = AppendEncoder.__init__

    def noted(encoder: Any, vocabulary: Any) -> None:
        made.append(encoder)
        plain(encoder, vocabulary)

    monkeypatch.setattr(AppendEncoder, "__init__", noted)
    tokenizer = FILES[kind]()
    text = "x" * len(tokenizer)
    found = tokenizer.chunks(text, 100)
    assert not made
    monkeypatch.setattr(long_pieces, "LETTERS_FIRST", 0)
    assert tokenizer.chunks(text, 100) == found
    assert made


@pytest.mark.parametrize("kind", [kind for kind in KNOWN if kind != "pieces removed"])
def test_chunks_of_prose_are_not_counted_again_and_again(kind: str) -> None:
    watched = Watched(counter_for(kind))
    text = "The tokens of words, 12 or more; it's as you like.\n" * 40
    assert len(chunks(watched.counter, text, 100, 10)) > 10
    assert watched.counted < 40 * len(text)


@pytest.mark.parametrize("text", ["a", "!", " ", "\n", "你"])
def test_a_long_piece_of_a_pipeline_grows_in_place(text: str) -> None:
    for kind in ("gpt2", "llama3", "bytes", "qwen2"):
        watched = Watched(counter_for(kind))
        AppendCounter(watched.counter).extend(text * 1000)
        assert watched.counted < 90 * 1000


# ---- what the rules stand on


ONE_OF_EACH_KIND = "sLl你A\u03011 \n'/!"
SOURCES = {
    "llama3": PATTERNS["llama3"].source,
    "tekken": PATTERNS["tekken"].source,
    "deepseek": DEEPSEEK[2],
    "clip": CLIP,
    "own": r"\p{L}+|\P{L}{1,2}",
    "conditions": r"\s+(?!\S)|a(?=b)|\b\w+|^ |.",
}


@cache
def borders_and_pieces(name: str) -> tuple[PatternBorders, Callable[[str], tuple[str, ...]]]:
    found = borders_of(SOURCES[name])
    assert found is not None
    cut = Split(Regex(SOURCES[name]), "Isolated", invert=False).cut_text
    known: dict[str, tuple[str, ...]] = {}

    def pieces(text: str) -> tuple[str, ...]:
        if text not in known:
            known[text] = tuple(cut(text))
        return known[text]

    return found, pieces


def behind(pieces: Callable[[str], tuple[str, ...]], left: str, text: str) -> tuple[str, ...]:
    """Return what becomes of a text behind a character and a border."""
    first, *rest = pieces(left + text)
    assert first == left
    return tuple(rest)


@pytest.mark.parametrize("name", SOURCES)
def test_a_certain_border_is_one_in_every_short_text(name: str) -> None:
    known, pieces = borders_and_pieces(name)
    certain = 0
    for length in (2, 3, 4):
        for letters in product(ONE_OF_EACH_KIND, repeat=length):
            text = "".join(letters)
            for place in range(1, length):
                if known.is_border(text[place - 1], text[place]):
                    certain += 1
                    assert pieces(text) == pieces(text[:place]) + behind(
                        pieces, text[place - 1], text[place:]
                    )
    assert certain > 10_000


@pytest.mark.parametrize("name", SOURCES)
@given(text=text_of())
@drawn(40)
def test_a_certain_border_is_one_in_every_text(name: str, text: str) -> None:
    known, pieces = borders_and_pieces(name)
    for place in range(1, len(text)):
        if known.is_border(text[place - 1], text[place]):
            rest = behind(pieces, text[place - 1], text[place:])
            assert pieces(text) == pieces(text[:place]) + rest


def test_white_space_that_an_added_token_takes_must_not_be_cut_from_it() -> None:
    tokenizer = Tokenizer(BPE({"a": 0, " ": 1}, []), added_tokens=AddedTokens([MASK_BEHIND]))
    counter = counter_of(tokenizer)
    assert counter.unbreakable("a<n>  a") == [(1, 6)]
    assert split_at(counter, "a<n>  a", 2) == 6
    assert [chunk[:2] for chunk in chunks(counter, "a<n>  a", 1)] == [(0, 1), (1, 6), (6, 7)]


@pytest.mark.parametrize("source", ["a*", r"(a)\1", r"(?<=ab)c", r"a\Kb", "(", r"\Ga"])
def test_of_some_patterns_nothing_is_known(source: str) -> None:
    assert borders_of(source) is None


def test_the_kinds_of_characters_are_those_of_the_files_patterns() -> None:
    edges: set[int] = set()
    for name in ("L", "Ll", "Lu", "Lt", "M", "N", "White_Space"):
        for first, last in to_ranges(TABLES["unicode-16.0-oniguruma"].code_points(name)):
            edges |= {first - 1, first, last, last + 1}
    text = "".join(chr(one) for one in sorted(edges) if not 0xD800 <= one < 0xE000)
    for source, letters in (
        (r"\p{L}", "luo"),
        (r"\p{N}", "n"),
        (r"\p{M}", "m"),
        (r"\s", "br"),
        (r"\p{Ll}", "l"),
    ):
        found = {text[start] for start, _ in Regex(source).compile().spans(text)}
        assert found == {one for one in text if kind_of(one) in letters}, source


def test_what_begins_anew_is_normalized_apart_from_what_is_before_it() -> None:
    befores = ("a", "e\u0301", "a\u0323", "\u1100", "\uac00", "\u09c7", "\u0b47", "<", "\u0f71")
    anew = [chr(one) for one in range(0x20, 0x30000) if begins_anew(chr(one))]
    assert len(anew) > 90_000
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        for before in befores:
            changed = unicodedata.normalize(form, before)
            for one in anew:
                apart = changed + unicodedata.normalize(form, one)
                assert unicodedata.normalize(form, before + one) == apart


def test_no_character_decomposes_into_more_than_the_most() -> None:
    lengths = {len(unicodedata.normalize("NFD", chr(one))) for one in range(0x110000)}
    assert max(lengths) == MOST_DECOMPOSED


def shown_last_tokens() -> Callable[[Tokenizer, str, int], str]:
    """Return the function that the page about the commands shows."""
    shown = "".join(code_of(ROOT / "docs" / "commands.md", "python"))
    examples = DocTestParser().get_examples(shown)
    [source] = [one.source for one in examples if one.source.startswith("def last_tokens(")]
    made: dict[str, Any] = {}
    exec(source, made)  # noqa: S102 - our own page
    found: Callable[[Tokenizer, str, int], str] = made["last_tokens"]
    return found


LAST_TOKENS = shown_last_tokens()


@pytest.mark.parametrize("kind", FILES)
@given(text=texts, most=st.integers(0, 8))
@drawn(20)
def test_the_recipe_for_the_last_tokens_keeps_an_end_within_the_limit(
    kind: str, text: str, most: int
) -> None:
    tokenizer = FILES[kind]()
    kept = LAST_TOKENS(tokenizer, text, most)
    assert text.endswith(kept)
    assert tokenizer.count(kept, add_special_tokens=False) <= most
    if tokenizer.count(text, add_special_tokens=False) <= most:
        assert kept == text


def test_the_recipe_for_the_last_tokens_keeps_as_many_as_there_may_be() -> None:
    tiny = load("tiny").replace(truncation=Truncation(2))
    text = "To be or not to be<|endoftext|>: that is the question."
    ids = load("tiny").encode(text)
    for most in range(len(ids) + 2):
        kept = LAST_TOKENS(tiny, text, most)
        assert load("tiny").encode(kept) == ids[max(0, len(ids) - most) :]


def test_the_recipe_for_the_last_tokens_reads_only_the_end_of_a_long_text() -> None:
    tiny = load("tiny")
    read: list[int] = []

    class Watched(Tokenizer):
        """A tokenizer that notes how many characters it was asked about."""

        def encode(self, text: Any, *given: Any, **named: Any) -> list[int]:
            read.append(len(text))
            return super().encode(text, *given, **named)

        def tokenize(self, text: Any, *given: Any, **named: Any) -> Encoding:
            read.append(len(text))
            return super().tokenize(text, *given, **named)

    watched = Watched(**{each.name: getattr(tiny, each.name) for each in fields(tiny) if each.init})
    text = "To be or not to be, that is the question. " * 2000
    kept = LAST_TOKENS(watched, text, 100)
    assert tiny.encode(kept) == tiny.encode(text)[-100:]
    assert sum(read) < 100 * 100 < len(text)
