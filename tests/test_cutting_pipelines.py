"""What counting and cutting claims about the pipelines of files, against `Tokenizer.ids`."""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import product
from typing import Any

import pytest
from bpe_ref.sentencepiece.tokenizer import SentencePieceTokenizer
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref import ParameterError
from bpe_ref.added_tokens import AddedToken
from bpe_ref.cutting import growing
from bpe_ref.cutting.borders import REACH, BorderRule
from bpe_ref.cutting.counting import TextIntervalCounter, count_till_limit, safe_cuts
from bpe_ref.cutting.file_patterns import (
    BY_SOURCE,
    LLAMA3_PATTERN,
    TABLES_OF_FILES,
    TEKKEN_PATTERN,
    rule_of_source,
)
from bpe_ref.cutting.growing import AppendCounter, PrependCounter
from bpe_ref.cutting.kinds import BLANKS, LETTERS, LINE_ENDS, MARKS, NUMBERS, kinds_of
from bpe_ref.cutting.longest import MOST_DECOMPOSED
from bpe_ref.cutting.pipelines import whole_pipeline, whole_sentencepiece
from bpe_ref.cutting.splitting import chunks, split_at
from bpe_ref.cutting.whole import Whole, by_definition
from bpe_ref.models.bpe import BPE
from bpe_ref.models.sentencepiece import BYTE_PIECES, Piece, SentencePieceModel
from bpe_ref.normalizers import NFC, Lowercase, Prepend, Replace
from bpe_ref.normalizers import Sequence as Normalizers
from bpe_ref.normalizers.sentencepiece import NormalizationRules
from bpe_ref.patterns.matches import Literal, Regex
from bpe_ref.patterns.pretokenizer import Pretokenizer
from bpe_ref.patterns.to_oniguruma import to_oniguruma
from bpe_ref.patterns.unicode_tables import TABLES, to_ranges
from bpe_ref.post_processors import TemplateProcessing
from bpe_ref.post_processors.templates import parse_template
from bpe_ref.pre_tokenizers import ByteLevel, Digits, Metaspace, Split
from bpe_ref.pre_tokenizers import Sequence as Steps
from bpe_ref.registry import REGISTRY
from bpe_ref.tokenizer import Tokenizer
from bpe_ref.vocabulary.byte_alphabet import LETTER_OF_BYTE, to_letters
from tests.cuts import chunks_by_definition, split_by_definition
from tests.texts import drawn, text_of

WORDS = (
    *("the", " the", "The", "hello", " world", "token", "izer", "  ", "    ", "\n\n", "123", "12"),
    *("...", "--", "'s", "'ll", "'re", "été", "ï", "你好", "世界", "e\u0301", "aaaa", "xx", "!\n"),
    *("😀", " a", "ab", "ab ab", "b c", ", ", "日本", "lL"),
)
"""Merges can make these, letter by letter."""

DEAD = "hex"  # a token that no merge makes

SPECIALS = ("<s>", "<|end|>", "<s>b", "aaa", "é", "\n\n", "x ", " y")


def byte_model(
    *,
    missing: str = "",
    words: Sequence[str] = WORDS,
    **fields: Any,
) -> BPE:
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


def tokens(*more: AddedToken, normalized: bool = False) -> list[AddedToken]:
    return [*(AddedToken(text, normalized=normalized) for text in SPECIALS), *more]


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
        added_tokens=[AddedToken("<s>", special=True), AddedToken("s>")],
        encode_special_tokens=True,
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
        pre_tokenizer=split_by(LLAMA3_PATTERN),
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
        pre_tokenizer=split_by(TEKKEN_PATTERN),
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
        letter_model("▁"), LLAMA2, added_tokens=[AddedToken("<s>"), AddedToken("é")]
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
UNKNOWN: dict[str, Callable[[], Tokenizer]] = {
    "lower case": lambda: Tokenizer(byte_model(), Lowercase(), byte_level()),
    "digits": lambda: Tokenizer(
        byte_model(), pre_tokenizer=Steps([Digits(individual_digits=True), byte_level()])
    ),
    "single word": lambda: Tokenizer(
        byte_model(), pre_tokenizer=byte_level(), added_tokens=tokens(WORD)
    ),
    "single word, letters": lambda: Tokenizer(letter_model("▁"), LLAMA2, added_tokens=[WORD]),
    "stripping, letters": lambda: Tokenizer(letter_model("▁"), LLAMA2, added_tokens=[MASK_BEFORE]),
    "pattern of its own": lambda: Tokenizer(byte_model(), pre_tokenizer=split_by("[a-z]+|.")),
    "as registered": lambda: Tokenizer(
        byte_model(), pre_tokenizer=split_by(REGISTRY["cl100k_base"].pattern)
    ),
    "pieces removed": lambda: Tokenizer(
        byte_model(), pre_tokenizer=split_by(LLAMA3_PATTERN, "Removed")
    ),
    "bytes missing": lambda: Tokenizer(
        byte_model(missing="a", unk_token=DEAD), pre_tokenizer=byte_level(regex=False)
    ),
    "whole letters": lambda: Tokenizer(letter_model("▁", ignore_merges=True), LLAMA2),
    "suffix": lambda: Tokenizer(letter_model("▁", end_of_word_suffix="~"), LLAMA2),
    "twice": lambda: Tokenizer(
        byte_model(), pre_tokenizer=byte_level(), post_processor=template("$A $A")
    ),
}
PIPELINES = {**BY_PIECES, **BY_LETTERS, **UNKNOWN}
KNOWN = [*BY_PIECES, *BY_LETTERS]
UNBOUNDED = {
    *("gpt2, letters missing", "roberta", "o200k", "bytes, whole", "metaspace that splits"),
    *("llama2, no bytes", "letters", "lower case", "stripping, letters", "pieces removed"),
    *("suffix", "twice"),
}
"""Kinds of which nobody knows how much a token stands for."""


@cache
def whole_of(kind: str) -> Whole:
    return whole_pipeline(PIPELINES[kind]())


@cache
def counted_from_scratch(kind: str) -> Whole:
    """Return the definition."""
    pipeline = PIPELINES[kind]()
    spans = whole_of(kind).unbreakable
    return by_definition(lambda text: len(pipeline.ids(text, add_special_tokens=False)), spans)


texts = text_of(
    *SPECIALS, "<m>", "<n>", " ", "▁", "_", "aaaaaa", "1" * 9, DEAD, "\ud83d\ude00", "\ud83d", "lL"
)


@pytest.fixture
def short_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pieces of five characters count as long, so that short texts have some."""
    monkeypatch.setattr(growing, "LONG", 5)


# ---- which pipelines are recognised


@pytest.mark.parametrize("kind", PIPELINES)
def test_the_census_of_recognised_pipelines(kind: str) -> None:
    whole, text = whole_of(kind), "To be, or not to be: that is one question. " * 3
    made = "CountedFromScratch"
    if kind not in UNKNOWN:
        made = "CountedByPieces" if kind in BY_PIECES else "CountedByLetters"
    assert type(whole).__name__ == made
    assert (len(list(safe_cuts(whole, text))) > 20) == (kind not in UNKNOWN)
    assert (whole.longest is None) == (kind in UNBOUNDED)


def test_a_spaces_prefix_costs_the_second_count_nothing_but_what_is_put_in_front() -> None:
    for kind, alone in (("llama2", False), ("mistral", False), ("gemma", True)):
        assert whole_of(kind).rest_is_alone == alone
    whole = whole_of("llama2")
    assert whole.count("<s>a") == whole.count_rest("<s>a") == 2  # "▁a" behind it, in both
    assert (whole.count(" a"), whole.count_rest(" a")) == (2, 1)


def test_another_template_is_no_reason_not_to_count() -> None:
    assert whole_of("twice").count("hello") == 2 * whole_of("gpt2").count("hello")


# ---- counts add up


@pytest.mark.parametrize("kind", KNOWN)
@given(data=st.data())
@drawn(40)
def test_counts_add_up_at_safe_cuts_of_every_part(kind: str, data: st.DataObject) -> None:
    whole, scratch, text = whole_of(kind), counted_from_scratch(kind), data.draw(texts)
    for cut in safe_cuts(whole, text):
        start = data.draw(st.integers(0, cut - 1))
        stop = data.draw(st.integers(cut + 1, len(text)))
        rest = whole.count_rest(text[cut:stop])
        expected = scratch.count(text[start:stop])
        assert expected == scratch.count(text[start:cut]) + rest, (text[start:cut], text[cut:stop])
        sum_of_rests = whole.count_rest(text[start:cut]) + rest
        assert whole.count_rest(text[start:stop]) == sum_of_rests


ATOMS = ("a", " ", "c", "t", "<s>", "<n>", "<m>", "\n", "é")


@pytest.mark.parametrize("kind", KNOWN)
def test_counts_add_up_in_every_short_text(kind: str) -> None:
    whole, pipeline = whole_of(kind), PIPELINES[kind]()
    counts = cache(lambda text: len(pipeline.ids(text, add_special_tokens=False)))
    rests = cache(whole.count_rest)
    for atoms in product(ATOMS, repeat=3):
        text = "".join(atoms)
        for cut in safe_cuts(whole, text):
            before, after = text[:cut], text[cut:]
            assert counts(text) == counts(before) + rests(after), (before, after)
            assert rests(text) == rests(before) + rests(after), (before, after)


@pytest.mark.parametrize("kind", KNOWN)
@pytest.mark.usefixtures("short_is_long")
@given(text=texts)
@drawn(25)
def test_every_beginning_and_end_counts_as_if_encoded_alone(kind: str, text: str) -> None:
    whole, scratch = whole_of(kind), counted_from_scratch(kind)
    forwards, backwards = AppendCounter(whole), PrependCounter(whole)
    for place in range(len(text)):
        forwards.push(text[place])
        assert forwards.count == scratch.count(text[: place + 1])
        backwards.push(text[-1 - place])
        assert backwards.count == scratch.count(text[len(text) - 1 - place :])
        assert backwards.count_as_rest == whole.count_rest(backwards.text)


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
    forwards, backwards = AppendCounter(whole_of(kind)), PrependCounter(whole_of(kind))
    for place in range(len(text)):
        forwards.push(text[place])
        assert forwards.count == scratch.count(text[: place + 1])
        backwards.push(text[-1 - place])
        assert backwards.count == scratch.count(text[len(text) - 1 - place :])


@pytest.mark.parametrize("kind", PIPELINES)
@given(data=st.data(), missing=st.integers(-2, 2))
@drawn(20)
def test_limits_and_parts_are_exact(kind: str, data: st.DataObject, missing: int) -> None:
    whole, scratch, text = whole_of(kind), counted_from_scratch(kind), data.draw(texts)
    expected = scratch.count(text)
    limit = max(0, expected - missing)
    assert count_till_limit(whole, text, limit) == (expected if expected <= limit else None)
    if whole.longest is not None:
        assert len(text) <= whole.longest * expected
    counter = TextIntervalCounter(whole, text)
    for _ in range(3):
        start = data.draw(st.integers(0, len(text)))
        stop = data.draw(st.integers(start, len(text)))
        assert counter.count(start, stop) == scratch.count(text[start:stop])


def sentencepiece(rules: NormalizationRules, *, byte_fallback: bool) -> SentencePieceTokenizer:
    pieces = [Piece("<unk>", kind="unknown"), Piece("<s>", kind="user-defined")]
    pieces += [Piece(text, -float(place)) for place, text in enumerate(("▁", "▁t", "he", "▁the"))]
    pieces += [Piece("aa", -9.0, "unused"), Piece("a b", kind="user-defined")]
    if byte_fallback:
        pieces += [Piece(text, kind="byte") for text in BYTE_PIECES]
    return SentencePieceTokenizer(SentencePieceModel(pieces, rules, byte_fallback=byte_fallback))


KEEPING = NormalizationRules(remove_extra_whitespaces=False)


@given(text=text_of("<s>", " the", "a b", "aa"), limit=st.integers(0, 8))
@drawn(50)
def test_of_a_sentencepiece_model_the_longest_piece_bounds_the_text(text: str, limit: int) -> None:
    tokenizer = sentencepiece(KEEPING, byte_fallback=True)
    whole, expected = whole_sentencepiece(tokenizer), tokenizer.count(text)
    assert whole.longest == 6  # that of <0x00>
    assert len(text) <= 4 * expected
    assert count_till_limit(whole, text, limit) == (expected if expected <= limit else None)


def test_a_sentencepiece_model_that_lets_characters_vanish_has_no_bound() -> None:
    for rules, byte_fallback in ((NormalizationRules(), True), (KEEPING, False)):
        tokenizer = sentencepiece(rules, byte_fallback=byte_fallback)
        assert whole_sentencepiece(tokenizer).longest is None
        assert tokenizer.count(" " * 50 + "x" * 50) == (51 if byte_fallback else 52)


# ---- cutting


@pytest.mark.parametrize("kind", PIPELINES)
@pytest.mark.usefixtures("short_is_long")
@given(data=st.data(), text=texts, n=st.integers(1, 8))
@drawn(15)
def test_cuts_and_chunks_are_those_of_the_definition(
    kind: str, data: st.DataObject, text: str, n: int
) -> None:
    whole, scratch = whole_of(kind), counted_from_scratch(kind)
    overlap = data.draw(st.integers(0, n - 1))
    expected = chunks_by_definition(scratch, text, n, overlap)
    if expected is None:
        with pytest.raises(ParameterError, match="n must be at least"):
            chunks(whole, text, n, overlap)
        return
    assert chunks(whole, text, n, overlap) == expected
    assert split_at(whole, text, n) == split_by_definition(scratch, text, n)


class Watched:
    """A whole tokenizer that remembers how many characters it was asked to count."""

    def __init__(self, whole: Whole) -> None:
        self.whole = whole
        self.longest, self.long_pieces = whole.longest, whole.long_pieces
        self.unbreakable, self.is_safe_cut = whole.unbreakable, whole.is_safe_cut
        self.rest_is_alone = whole.rest_is_alone
        self.counted = 0

    def count(self, text: str) -> int:
        self.counted += len(text)
        return self.whole.count(text)

    def count_rest(self, text: str) -> int:
        self.counted += len(text)
        return self.whole.count_rest(text)


@pytest.mark.parametrize("kind", KNOWN)
def test_chunks_of_prose_are_not_counted_again_and_again(kind: str) -> None:
    watched = Watched(whole_of(kind))
    text = "The tokens of words, 12 or more; it's as you like.\n" * 40
    assert len(chunks(watched, text, 100, 10)) > 10
    assert watched.counted < 40 * len(text)


@pytest.mark.parametrize("text", ["a", "!", " ", "\n", "你"])
def test_a_long_piece_of_a_pipeline_grows_in_place(text: str) -> None:
    for kind in ("gpt2", "llama3", "bytes", "qwen2"):
        watched = Watched(whole_of(kind))
        AppendCounter(watched).extend(text * 1000)
        assert watched.counted < 90 * 1000


# ---- what the rules stand on


ONE_OF_EACH_KIND = "sLl你A\u03011 \n'/!"
SOURCES = {"llama3": LLAMA3_PATTERN, "tekken": TEKKEN_PATTERN}


def test_every_source_is_a_pattern_of_the_files_tables() -> None:
    assert len(BY_SOURCE) >= 7
    assert rule_of_source(REGISTRY["cl100k_base"].pattern, normalized=False) is None


@cache
def rule_and_pieces(name: str) -> tuple[BorderRule, Callable[[str], tuple[str, ...]]]:
    found = rule_of_source(SOURCES[name], normalized=False)
    assert found is not None
    pretokenizer = Pretokenizer(SOURCES[name], TABLES_OF_FILES)
    known: dict[str, tuple[str, ...]] = {}

    def pieces(text: str) -> tuple[str, ...]:
        if text not in known:
            known[text] = tuple(pretokenizer.pieces(text))
        return known[text]

    return found, pieces


@pytest.mark.parametrize("name", SOURCES)
def test_a_certain_border_is_one_in_every_short_text(name: str) -> None:
    known, pieces = rule_and_pieces(name)
    certain = 0
    for length in (2, 3, 4):
        for letters in product(ONE_OF_EACH_KIND, repeat=length):
            text = "".join(letters)
            for place in range(1, length):
                before = text[place - 2] if place > 1 else ""
                if known.is_certain(before, text[place - 1], text[place]):
                    certain += 1
                    assert pieces(text) == pieces(text[:place]) + pieces(text[place:])
    assert certain > 10_000


@pytest.mark.parametrize("name", SOURCES)
def test_what_belongs_to_a_run_only_makes_a_piece_longer(name: str) -> None:
    known, pieces = rule_and_pieces(name)
    joined_last = joined_first = 0
    beyond = ["", *ONE_OF_EACH_KIND, "x's", "x'l", "s\n\n", "  \n", "AB你", "你A", "A你a"]
    for kind in map(set, ("sl", "LA", "你l", "1", "!'", "/", "\t ", "\n", "\n ", "!\u0301")):
        for run in map("".join, product(sorted(kind), repeat=REACH + 1)):
            for other in beyond:
                text = other + run
                *rest, last = pieces(text[:-1])
                if len(last) >= REACH and known.joins_last(run[:-1], run[-1]):
                    joined_last += 1
                    assert pieces(text) == (*rest, last + run[-1]), text
                text = run + other
                first, *rest = pieces(text[1:])
                if len(first) >= REACH and known.joins_first(run[0], run[1:]):
                    joined_first += 1
                    assert pieces(text) == (run[0] + first, *rest), text
    assert min(joined_last, joined_first) > 500


@pytest.mark.parametrize("source", BY_SOURCE)
@given(text=text_of())
@drawn(25)
def test_a_certain_border_of_a_source_is_one_where_the_file_cuts(source: str, text: str) -> None:
    known = rule_of_source(source, normalized=False)
    assert known is not None
    cut = Split(Regex(source), "Isolated", invert=False).cut_text
    for place in range(1, len(text)):
        before = text[place - 2] if place > 1 else ""
        if known.is_certain(before, text[place - 1], text[place]):
            assert cut(text) == cut(text[:place]) + cut(text[place:])


def test_the_kinds_of_characters_are_those_of_the_files_patterns() -> None:
    kinds = kinds_of(TABLES_OF_FILES)
    edges: set[int] = set()
    for name in ("L", "Ll", "Lu", "Lt", "M", "N", "White_Space"):
        for first, last in to_ranges(TABLES[TABLES_OF_FILES].code_points(name)):
            edges |= {first - 1, first, last, last + 1}
    text = "".join(chr(one) for one in sorted(edges) if not 0xD800 <= one < 0xE000)
    for source, letters in (
        (r"\p{L}", LETTERS),
        (r"\p{N}", NUMBERS),
        (r"\p{M}", MARKS),
        (r"\s", BLANKS + LINE_ENDS),
        (r"\p{Ll}", "l"),
    ):
        found = {text[start] for start, _ in Regex(source).compile().spans(text)}
        assert found == {one for one in text if kinds[one] in letters}, source


def test_no_character_decomposes_into_more_than_the_most() -> None:
    lengths = {len(unicodedata.normalize("NFD", chr(one))) for one in range(0x110000)}
    assert max(lengths) == MOST_DECOMPOSED
