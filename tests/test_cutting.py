"""What counting and cutting by whole tokenizers claims, against the definition: from scratch."""

from collections.abc import Callable
from functools import cache
from itertools import pairwise, product
from typing import Any

import pytest
from bpe_ref.sentencepiece.tokenizer import SentencePieceTokenizer
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from bpe_ref import ParameterError, TextRules, Tokenizer, Vocabulary, vocabulary_by_concatenation
from bpe_ref.added_tokens import AddedToken
from bpe_ref.cutting import growing
from bpe_ref.cutting.borders import REACH, BorderRule, border_rule
from bpe_ref.cutting.counting import TextIntervalCounter, count, count_till_limit, safe_cuts
from bpe_ref.cutting.growing import AppendCounter, PrependCounter
from bpe_ref.cutting.pipelines import whole_pipeline, whole_sentencepiece
from bpe_ref.cutting.reference import whole_tokenizer
from bpe_ref.cutting.splitting import chunks, split_at
from bpe_ref.cutting.whole import CountedFromScratch, Whole, by_definition
from bpe_ref.models.bpe import BPE
from bpe_ref.models.sentencepiece import Piece, SentencePieceModel
from bpe_ref.normalizers import NORMALIZERS
from bpe_ref.patterns.pretokenizer import Pretokenizer
from bpe_ref.post_processors.truncation import Truncation
from bpe_ref.registry import REGISTRY
from bpe_ref.tokenizer import Tokenizer
from tests.cuts import chunks_by_definition, split_by_definition
from tests.texts import drawn, text_of

PATTERNED = ("gpt2", "cl100k_base", "o200k_base", "voyage3_base")
"""One name for each pattern of the registry."""

KINDS = ("raw", "raw_nfc", *PATTERNED, "cl100k_as_is", "own_pattern")

SPECIALS = {
    name: 1000 + place
    for place, name in enumerate(("<|end|>", "<a>", "<a>b", "s s", "aaaa", "é", "''", "\n\n"))
}
MERGED = (
    *("he", "th", "the", " t", " the", "ab", "abc", "aa", "aaa", "in", "ing", "  ", "    ", "\n\n"),
    *("'s", "'l", "'ll", "lo", "hel", "hello", " a", "12", "123", "1234", "..", "...", "<a", "a>"),
    *("é", "ä", "你", "你好", "\u0301", "e\u0301", "St", "RA", "AB", "tok", "token", "s s", "!\n"),
)


@cache
def vocabulary_of(kind: str) -> Vocabulary:
    """Return a small vocabulary with all bytes, whole characters and halves of some."""
    words = [bytes([byte]) for byte in range(256)]
    halves = [b"\xa9\xc3", b"\xa9\xc3\xa9\xc3", b"\x9f\x98", b"\xbd\xe5\xa5"]
    words += [part for word in MERGED for part in made_of(word.encode())] + halves
    ranks = {word: rank for rank, word in enumerate(dict.fromkeys(words))}
    if kind == "own_pattern":
        rules = TextRules(r"\p{L}+|\P{L}{1,2}", whole_piece=True)
    elif kind == "raw":
        rules = TextRules(whole_piece=True)
    elif kind == "raw_nfc":
        rules = TextRules(normalization="nfc")
    elif kind == "cl100k_as_is":
        rules = REGISTRY["cl100k_base"].text_rules()
    else:
        rules = REGISTRY[kind].text_rules()
    specials = {} if kind == "cl100k_as_is" else SPECIALS
    return vocabulary_by_concatenation(ranks, text=rules, special_tokens=specials)


def made_of(word: bytes) -> list[bytes]:
    """Return the beginnings of a word, so that merges can make it."""
    return [word[:size] for size in range(2, len(word) + 1)]


@cache
def whole_of(kind: str) -> Whole:
    return whole_tokenizer(Tokenizer(vocabulary_of(kind)))


def counted_from_scratch(kind: str, text: str) -> int:
    tokenizer = Tokenizer(vocabulary_of(kind))
    return len(tokenizer.encode(text, allowed_special="all"))


texts = text_of(
    *SPECIALS, "aaaaaa", "é" * 5, "1" * 9, "x" * 9, "😀", "\ud83d\ude00", "\ud83d", "lL"
)


@pytest.fixture
def short_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pieces of five characters count as long, so that short texts have some."""
    monkeypatch.setattr(growing, "LONG", 5)


# ---- borders that are certain


@cache
def rule_and_pieces(name: str) -> tuple[BorderRule, Callable[[str], tuple[str, ...]]]:
    entry = REGISTRY[name]
    found = border_rule(entry.pattern, entry.tables, normalized=False)
    assert found is not None
    pretokenizer = Pretokenizer(entry.pattern, entry.tables)
    known: dict[str, tuple[str, ...]] = {}

    def pieces(text: str) -> tuple[str, ...]:
        if text not in known:
            known[text] = tuple(pretokenizer.pieces(text))
        return known[text]

    return found, pieces


ONE_OF_EACH_KIND = "sLl你A\u03011 \t\n'/!"
"""s, L and l are letters of contractions; a blank is a space or not."""


@pytest.mark.parametrize("name", PATTERNED)
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


@pytest.mark.parametrize("name", PATTERNED)
@given(data=st.data())
@drawn(150)
def test_a_certain_border_is_one_in_every_text(name: str, data: st.DataObject) -> None:
    known, pieces = rule_and_pieces(name)
    text = data.draw(text_of())
    for place in range(1, len(text)):
        before = text[place - 2] if place > 1 else ""
        if known.is_certain(before, text[place - 1], text[place]):
            assert pieces(text) == pieces(text[:place]) + pieces(text[place:])


@pytest.mark.parametrize("name", PATTERNED)
def test_what_belongs_to_a_run_only_makes_a_piece_longer(name: str) -> None:
    known, pieces = rule_and_pieces(name)
    joined_last = joined_first = 0
    beyond = ["", *map("".join, product(ONE_OF_EACH_KIND, repeat=1))]
    beyond += map("".join, product(ONE_OF_EACH_KIND, repeat=2))
    beyond += ["x's", "x'l", "x'r", "s\n\n", "  \n", "AB你", "你A", "A你a"]
    for kind in map(
        set, ("sl", "LA", "你l", "1", "!'", "/", "\t ", "\n", "\n \t", "!\u0301", "sL")
    ):
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
    assert min(joined_last, joined_first) > 1000


def test_with_normalization_nothing_is_certain_beside_what_may_change() -> None:
    pattern = REGISTRY["voyage3_base"].pattern
    known = border_rule(pattern, "unicode-16.0", normalized=True)
    assert known is not None
    assert known.is_certain("", "a", " ")
    assert not known.is_certain("", "\u0301", " ")
    assert not known.is_certain("", "a", "\u037e")  # a Greek question mark becomes a semicolon


@pytest.mark.parametrize("kind", [*KINDS])
def test_there_are_safe_cuts_where_a_rule_is_known(kind: str) -> None:
    text = "To be, or not to be: that is 1 question. " * 3
    cuts = list(safe_cuts(whole_of(kind), text))
    assert (len(cuts) > 30) == (kind != "own_pattern")


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@drawn(50)
def test_counts_add_up_at_safe_cuts_of_every_part(kind: str, data: st.DataObject) -> None:
    whole, text = whole_of(kind), data.draw(texts)
    for cut in safe_cuts(whole, text):
        start = data.draw(st.integers(0, cut - 1))
        stop = data.draw(st.integers(cut + 1, len(text)))
        parts = whole.count(text[start:cut]) + whole.count(text[cut:stop])
        assert whole.count(text[start:stop]) == parts, (text[start:cut], text[cut:stop])


# ---- counting


@pytest.mark.parametrize("kind", KINDS)
@given(text=texts)
@drawn(50)
def test_the_count_is_that_of_encode(kind: str, text: str) -> None:
    assert count(whole_of(kind), text) == counted_from_scratch(kind, text)


@pytest.mark.parametrize("kind", KINDS)
@given(text=texts, missing=st.integers(-3, 3))
@drawn(50)
def test_every_limit_is_exact(kind: str, text: str, missing: int) -> None:
    expected = whole_of(kind).count(text)
    limit = max(0, expected - missing)
    found = count_till_limit(whole_of(kind), text, limit)
    assert found == (expected if expected <= limit else None)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@drawn(40)
def test_every_part_counts_as_if_encoded_alone(kind: str, data: st.DataObject) -> None:
    whole, text = whole_of(kind), data.draw(texts)
    counter = TextIntervalCounter(whole, text)
    assert len(counter) == len(text)
    for _ in range(5):
        start = data.draw(st.integers(0, len(text)))
        stop = data.draw(st.integers(start, len(text)))
        assert counter.count(start, stop) == whole.count(text[start:stop])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("short_is_long")
@given(text=texts)
@drawn(50)
def test_every_beginning_and_end_counts_as_if_encoded_alone(kind: str, text: str) -> None:
    whole = whole_of(kind)
    forwards, backwards = AppendCounter(whole), PrependCounter(whole)
    for place in range(len(text)):
        forwards.push(text[place])
        assert forwards.count == whole.count(text[: place + 1])
        backwards.push(text[-1 - place])
        assert backwards.count == whole.count(text[len(text) - 1 - place :])
    assert forwards.text == backwards.text == text


@pytest.mark.parametrize("kind", ["raw", *PATTERNED])
@pytest.mark.usefixtures("short_is_long")
@given(
    runs=st.lists(
        st.tuples(
            st.sampled_from([*ONE_OF_EACH_KIND, "<a>", "aaaa", "aB", "你A"]), st.integers(1, 9)
        ),
        max_size=5,
    )
)
@drawn(50)
def test_long_runs_count_as_if_encoded_alone(kind: str, runs: list[tuple[str, int]]) -> None:
    whole, text = whole_of(kind), "".join(part * times for part, times in runs)
    forwards, backwards = AppendCounter(whole), PrependCounter(whole)
    for place in range(len(text)):
        forwards.push(text[place])
        assert forwards.count == whole.count(text[: place + 1])
        backwards.push(text[-1 - place])
        assert backwards.count == whole.count(text[len(text) - 1 - place :])


class _Sequences(RuleBasedStateMachine):
    """Any sequence of additions and truncations leaves what the text alone gives."""

    @initialize(kind=st.sampled_from(KINDS))
    def begin(self, kind: str) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(growing, "LONG", 5)
        self.whole = whole_of(kind)
        self.forwards, self.backwards = AppendCounter(self.whole), PrependCounter(self.whole)
        self.text = self.other = ""

    @rule(text=texts)
    def extend(self, text: str) -> None:
        self.forwards.extend(text)
        self.text += text
        self.backwards.extend(text)
        self.other = text + self.other

    @rule(letter=st.sampled_from("xl1 \n!你"), times=st.integers(1, 12))
    def repeat(self, letter: str, times: int) -> None:
        self.extend(letter * times)

    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        length = data.draw(st.integers(0, len(self.text)))
        self.forwards.truncate(length)
        self.text = self.text[:length]
        self.backwards.truncate(length)
        self.other = self.other[len(self.other) - length :]

    @rule()
    def refuse(self) -> None:
        for counter in (self.forwards, self.backwards):
            with pytest.raises(ParameterError, match="character must be a single character"):
                counter.push("ab")
            with pytest.raises(ParameterError, match="length must be an int in"):
                counter.truncate(len(counter) + 1)

    def teardown(self) -> None:
        if hasattr(self, "patch"):
            self.patch.undo()

    @invariant()
    def as_from_scratch(self) -> None:
        if not hasattr(self, "text"):
            return
        assert (self.forwards.text, self.backwards.text) == (self.text, self.other)
        assert self.forwards.count == self.whole.count(self.text)
        assert self.backwards.count == self.whole.count(self.other)


_Sequences.TestCase.settings = settings(drawn(25), stateful_step_count=12)
TestSequences = _Sequences.TestCase


@pytest.mark.usefixtures("short_is_long")
@pytest.mark.parametrize("kind", [AppendCounter, PrependCounter])
def test_a_long_piece_is_not_taken_for_the_one_that_was_there_before(
    kind: type[AppendCounter | PrependCounter],
) -> None:
    whole = whole_of("cl100k_as_is")
    counter = kind(whole)
    counter.extend("a" * 12)
    counter.truncate(2)
    for _ in range(12):
        counter.push("x")
        assert counter.count == whole.count(counter.text)


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


@pytest.mark.parametrize("kind", ["raw", *PATTERNED])
@pytest.mark.parametrize("text", ["the token is 12 here.\n", "a", "!", " ", "\n", "A", "1", "<a>"])
def test_a_text_that_grows_is_not_counted_again_and_again(kind: str, text: str) -> None:
    for length in (500, 2000):
        watched = Watched(whole_of(kind))
        counter = AppendCounter(watched)
        counter.extend((text * length)[:length])
        assert watched.counted < 60 * length


def test_where_a_token_is_taken_whole_that_no_merge_makes_a_cut_may_make_it() -> None:
    ranks = {b"a": 0, b"b": 1, b"c": 2, b"abb": 3}
    whole = whole_tokenizer(
        Tokenizer(vocabulary_by_concatenation(ranks, text=TextRules(whole_piece=True)))
    )
    assert [whole.count(text) for text in ("abb", "c", "abbc", "cabb")] == [1, 1, 4, 4]
    assert list(safe_cuts(whole, "abbc")) == list(safe_cuts(whole, "cabb")) == []
    assert list(safe_cuts(whole, "ccbc")) == [1, 2]


def test_counting_stops_early() -> None:
    watched = Watched(whole_of("cl100k_base"))
    assert count_till_limit(watched, "the token is here. " * 30, 50) is None
    assert watched.counted < 200
    watched = Watched(whole_of("raw"))
    assert count_till_limit(watched, "the token is here. " * 100_000, 50) is None
    assert watched.counted == 0


# ---- cutting


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("short_is_long")
@given(text=texts, n=st.integers(1, 12))
@drawn(40)
def test_the_cut_is_the_last_place_that_fits(kind: str, text: str, n: int) -> None:
    whole = whole_of(kind)
    expected = split_by_definition(whole, text, n)
    if expected == 0 and text:
        with pytest.raises(ParameterError, match="n must be at least"):
            split_at(whole, text, n)
    else:
        assert split_at(whole, text, n) == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("short_is_long")
@given(data=st.data(), text=texts, n=st.integers(1, 8))
@drawn(40)
def test_chunks_are_those_of_the_definition(
    kind: str, data: st.DataObject, text: str, n: int
) -> None:
    whole, overlap = whole_of(kind), data.draw(st.integers(0, n - 1))
    expected = chunks_by_definition(whole, text, n, overlap)
    if expected is None:
        with pytest.raises(ParameterError, match="n must be at least"):
            chunks(whole, text, n, overlap)
        return
    found = chunks(whole, text, n, overlap)
    assert found == expected
    # and so they cover the text in order
    reached = 0
    for chunk in found:
        assert chunk.start <= reached < chunk.stop
        assert counted_from_scratch(kind, text[chunk.start : chunk.stop]) == chunk.tokens <= n
        reached = chunk.stop
    assert reached == len(text)
    assert all(a.start < b.start for a, b in pairwise(found))


def test_a_completed_special_token_lowers_the_count_by_several() -> None:
    whole = whole_of("cl100k_base")
    text = "<|end|>a"
    counts = [whole.count(text[:place]) for place in range(len(text) + 1)]
    assert counts[6] > 3
    assert counts[7:] == [1, 2]
    assert [split_at(whole, text, n) for n in (1, 2)] == [7, 8]
    assert split_at(whole, text[:6], 1) == 1


def test_a_special_token_is_not_cut() -> None:
    whole = whole_of("raw")
    assert [chunk[:2] for chunk in chunks(whole, "x<|end|>x", 1)] == [(0, 1), (1, 8), (8, 9)]


def test_a_special_token_that_is_not_allowed_is_text() -> None:
    whole = whole_tokenizer(Tokenizer(vocabulary_of("raw")), allowed_special=())
    assert whole.unbreakable("x<|end|>x") == []
    assert whole.count("<|end|>") == 7


def test_a_surrogate_pair_is_one_code_point() -> None:
    whole = whole_of("raw")
    text = "a\ud83d\ude00b"
    assert whole.unbreakable(text) == [(1, 3)]
    assert whole.count(text) == whole.count("a\U0001f600b")
    assert 2 not in {split_at(whole, text, n) for n in range(1, 7)}


def naive_chunk(tokenizer: Tokenizer, text: str, n: int) -> str:
    """Take n tokens, and drop tokens until whole characters are left."""
    tokens = tokenizer.encode_ordinary(text)[:n]
    while True:
        try:
            return tokenizer.decode_bytes(tokens).decode()
        except UnicodeDecodeError:
            tokens.pop()


def test_the_naive_cutter_loops_for_ever_where_ours_does_not() -> None:
    # é is C3 A9. The token A9 C3 neither starts nor ends at a character boundary, and a row of
    # them fills the text: C3, A9 C3, A9 C3, ..., A9.
    ranks = {b"\xc3": 0, b"\xa9": 1, b"\xa9\xc3": 2}
    tokenizer = Tokenizer(vocabulary_by_concatenation(ranks))
    text = "é" * 50
    assert tokenizer.encode_ordinary(text) == [0, *[2] * 49, 1]
    for n in (2, 3, 10, 49):
        assert naive_chunk(tokenizer, text, n) == ""  # and so it goes on from where it was
        whole = whole_tokenizer(tokenizer)
        found = chunks(whole, text, n)
        assert {chunk.tokens for chunk in found[:-1]} == {n}
        assert [chunk.stop - chunk.start for chunk in found[:-1]] == [n - 1] * (len(found) - 1)
        assert found[-1].stop == 50


def test_a_code_point_that_alone_has_too_many_tokens_is_an_error() -> None:
    whole = whole_tokenizer(Tokenizer(vocabulary_by_concatenation({b"\xc3": 0, b"\xa9": 1})))
    sentence = "n must be at least 2, the number of tokens of 'é' at character 0, .* got 1"
    with pytest.raises(ParameterError, match=sentence):
        split_at(whole, "é", 1)
    with pytest.raises(ParameterError, match=sentence):
        chunks(whole, "éé", 1)


def test_a_longer_beginning_may_fit_where_a_shorter_one_does_not() -> None:
    ranks = {b"\xc3": 0, b"\xa9": 1, b"a": 2, b"\xa9a": 3, b"\xc3\xa9a": 4}
    whole = whole_tokenizer(Tokenizer(vocabulary_by_concatenation(ranks)))
    assert [whole.count("éa"[:place]) for place in range(3)] == [0, 2, 1]
    assert split_at(whole, "éa", 1) == 2


def test_an_overlap_gives_way_where_the_next_chunk_would_not_get_further() -> None:
    # the last character has three tokens: with one more before it, they do not fit
    ranks = {bytes([byte]): byte for byte in b"abc\xe4\xbd\xa0"}
    whole = whole_tokenizer(Tokenizer(vocabulary_by_concatenation(ranks)))
    assert [chunk[:2] for chunk in chunks(whole, "abc你", 3, overlap=2)] == [(0, 3), (3, 4)]
    assert [chunk[:2] for chunk in chunks(whole, "abcab", 3, overlap=2)] == [(0, 3), (1, 4), (2, 5)]


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_text_has_no_chunks(kind: str) -> None:
    assert chunks(whole_of(kind), "", 1) == []
    assert split_at(whole_of(kind), "", 1) == 0
    assert count(whole_of(kind), "") == 0


def test_normalization_speaks_of_the_original() -> None:
    whole = whole_of("voyage3_base")
    text = "e\u0301" * 4  # NFC makes four characters of these eight
    assert whole.count(text) == whole.count("é" * 4)
    allowed = Tokenizer(vocabulary_of("voyage3_base"))
    unspecial = whole_tokenizer(allowed, allowed_special=())
    assert split_at(unspecial, text, 1) == 2
    assert chunks(unspecial, text, 1)[-1].stop == 8


NO_TEXT: Any = 5
"""What a caller without types may pass."""


@pytest.mark.parametrize(
    ("action", "sentence"),
    [
        (lambda whole: split_at(whole, "a", 0), "n must be an int of at least 1, got 0"),
        (lambda whole: split_at(whole, NO_TEXT, 1), "text must be a str, got 5"),
        (lambda whole: chunks(whole, "a", 2, 2), r"overlap must be an int in \[0, 1\], got 2"),
        (lambda whole: chunks(whole, "a", 2, -1), r"overlap must be an int in \[0, 1\], got -1"),
        (lambda whole: chunks(whole, NO_TEXT, 2), "text must be a str, got 5"),
        (lambda whole: count_till_limit(whole, "a", -1), "limit must be an int of at least 0"),
        (lambda whole: count_till_limit(whole, NO_TEXT, 1), "text must be a str, got 5"),
        (lambda whole: count(whole, NO_TEXT), "text must be a str, got 5"),
        (lambda whole: TextIntervalCounter(whole, NO_TEXT), "text must be a str, got 5"),
        (lambda whole: TextIntervalCounter(whole, "a").count(1, 2), "stop must be an int in"),
        (lambda whole: AppendCounter(whole).extend(NO_TEXT), "text must be a str, got 5"),
        (lambda _: whole_tokenizer(NO_TEXT), "tokenizer must be a Tokenizer, got 5"),
    ],
)
def test_wrong_arguments_are_refused(action: Callable[[Whole], object], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        action(whole_of("raw"))


# ---- tokenizers of which nothing is known but their answers


@given(text=texts, n=st.integers(1, 8), overlap=st.integers(0, 7))
@drawn(40)
def test_any_tokenizer_can_be_counted_and_cut(text: str, n: int, overlap: int) -> None:
    known = whole_of("cl100k_base")
    unknown = by_definition(known.count, known.unbreakable)
    assert isinstance(unknown, CountedFromScratch)
    overlap = min(overlap, n - 1)
    expected = chunks_by_definition(known, text, n, overlap)
    if expected is not None:
        assert chunks(unknown, text, n, overlap) == chunks(known, text, n, overlap) == expected
    assert count_till_limit(unknown, text, n) == count_till_limit(known, text, n)
    half = len(text) // 2
    assert TextIntervalCounter(unknown, text).count(0, half) == known.count(text[:half])
    counter = PrependCounter(unknown)
    counter.extend(text)
    assert counter.count == known.count(text)


OTHERS_TEXT = text_of("<s>", "<pad> ", "ab", "\ud83d\ude00", longest=5)


@cache
def whole_of_other(kind: str) -> Whole:
    words = ["a", "b", "ab", " ", "▁", "▁a", "t", "h", "e", "th", "the"]
    if kind == "pipeline":
        vocab = {word: place for place, word in enumerate(words)}
        merges = [("a", "b"), ("▁", "a"), ("t", "h"), ("th", "e")]
        return whole_pipeline(
            Tokenizer(
                BPE(vocab, merges, unk_token=words[0]),
                normalizer=NORMALIZERS["Prepend"]("▁"),
                added_tokens=[
                    AddedToken("<s>", normalized=False),
                    AddedToken("<pad>", rstrip=True, normalized=False),
                ],
                truncation=Truncation(max_length=2),
            )
        )
    pieces = [Piece("<unk>", kind="unknown"), Piece("<s>", kind="user-defined")]
    pieces += [Piece(word, -float(place)) for place, word in enumerate(words) if word != " "]
    return whole_sentencepiece(SentencePieceTokenizer(SentencePieceModel(pieces)))


@pytest.mark.parametrize("kind", ["pipeline", "sentencepiece"])
@given(text=OTHERS_TEXT, n=st.integers(1, 5), overlap=st.integers(0, 2))
@drawn(40)
def test_tokenizers_of_other_formats_can_be_cut(kind: str, text: str, n: int, overlap: int) -> None:
    whole, overlap = whole_of_other(kind), min(overlap, n - 1)
    expected = chunks_by_definition(whole, text, n, overlap)
    if expected is None:
        with pytest.raises(ParameterError, match="n must be at least"):
            chunks(whole, text, n, overlap)
    else:
        assert chunks(whole, text, n, overlap) == expected
        if text:
            assert split_at(whole, text, n) == expected[0].stop


def test_what_is_added_to_a_pipeline_is_not_cut() -> None:
    whole = whole_of_other("pipeline")
    assert whole.unbreakable("ab<pad>  b\ud83d\ude00<s>") == [(2, 9), (10, 12), (12, 15)]
    assert whole_of_other("sentencepiece").unbreakable("ab<s>") == [(2, 5)]


def test_truncation_has_no_part_in_counting() -> None:
    assert whole_of_other("pipeline").count("b" * 9) == 10


@pytest.mark.parametrize("made", [whole_pipeline, whole_sentencepiece])
def test_another_object_is_refused(made: Callable[[Any], Whole]) -> None:
    with pytest.raises(ParameterError, match="must be a"):
        made(None)


@pytest.mark.parametrize("cut", [split_at, chunks, count_till_limit])
def test_a_tokenizer_that_was_not_made_whole_is_refused(cut: Callable[..., object]) -> None:
    with pytest.raises(ParameterError, match="whole must be what whole_tokenizer"):
        cut(Tokenizer(vocabulary_by_concatenation({b"a": 0})), "aaa", 3)
