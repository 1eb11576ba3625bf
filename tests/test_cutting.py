"""What counting and cutting by whole tokenizers claims, against the definition: from scratch."""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from bpe_ref import (
    ParameterError,
    TextRules,
    Tokenizer,
    Vocabulary,
    tokenizer_of,
    vocabulary_by_concatenation,
)
from bpe_ref.cutting import growing, long_pieces, splitting
from bpe_ref.cutting.counting import TextIntervalCounter, count_till_limit, safe_cuts
from bpe_ref.cutting.growing import AppendCounter
from bpe_ref.cutting.long_pieces import REACH, in_one_run, runs_of
from bpe_ref.cutting.safe_cuts import TextCounter
from bpe_ref.cutting.splitting import split_at
from bpe_ref.patterns.borders import PatternBorders
from bpe_ref.patterns.matches import Regex
from bpe_ref.patterns.registered import PATTERNS
from bpe_ref.patterns.rust import to_oniguruma
from bpe_ref.pre_tokenizers.pattern import Pattern
from bpe_ref.pre_tokenizers.split_by_pattern import Split
from bpe_ref.registry import REGISTRY
from tests.cuts import Watched, chunks, chunks_by_definition, split_by_definition
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
def counter_for(kind: str) -> TextCounter:
    return tokenizer_of(vocabulary_of(kind)).text_counter()


def counted_from_scratch(kind: str, text: str) -> int:
    return len(tokenizer_of(vocabulary_of(kind)).encode(text))


texts = text_of(
    *SPECIALS, "aaaaaa", "é" * 5, "1" * 9, "x" * 9, "😀", "\ud83d\ude00", "\ud83d", "lL"
)


@pytest.fixture
def short_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pieces of five characters count as long, so that short texts have some, with tables."""
    for module in (growing, long_pieces):
        monkeypatch.setattr(module, "LONG", 5)
    monkeypatch.setattr(long_pieces, "LETTERS_FIRST", 0)
    monkeypatch.setattr(splitting, "WORD", 5)


# ---- borders that are certain


@cache
def borders_and_pieces(name: str) -> tuple[PatternBorders, Callable[[str], tuple[str, ...]]]:
    if name in REGISTRY:
        pattern = Pattern(REGISTRY[name].pattern or "", REGISTRY[name].tables)
    else:
        pattern = Pattern(r"\w+|\s+|\S", name)
    found = pattern.borders
    assert found is not None
    known: dict[str, tuple[str, ...]] = {}

    def pieces(text: str) -> tuple[str, ...]:
        if text not in known:
            known[text] = tuple(pattern.cut_text(text))
        return known[text]

    return found, pieces


def runs_and_pieces(name: str) -> tuple[Sequence[str], Callable[[str], Sequence[str]]]:
    """Return the runs of a registered vocabulary, or of a pattern that files have."""
    if name in REGISTRY:
        entry = REGISTRY[name]
        source = to_oniguruma(entry.pattern)
        pieces = Pattern(entry.pattern, entry.tables).cut_text
    else:
        source = PATTERNS[name].source
        pieces = Split(Regex(source), "Isolated", invert=False).cut_text
    found = runs_of(source)
    assert found is not None
    return found, cache(pieces)


ONE_OF_EACH_KIND = "sLl你A\u03011 \t\n'/!"
"""s, L and l are letters of contractions; a blank is a space or not."""


@pytest.mark.parametrize("name", [*PATTERNED, "unicode-16.0", "unicode-16.0-oniguruma"])
def test_a_certain_border_is_one_in_every_short_text(name: str) -> None:
    known, pieces = borders_and_pieces(name)
    certain = 0
    for length in (2, 3, 4):
        for letters in product(ONE_OF_EACH_KIND, repeat=length):
            text = "".join(letters)
            for place in range(1, length):
                if known.is_border(text[place - 1], text[place]):
                    certain += 1
                    assert pieces(text) == pieces(text[:place]) + pieces(text[place:])
    assert certain > 10_000


@pytest.mark.parametrize("name", PATTERNED)
@given(data=st.data())
@drawn(150)
def test_a_certain_border_is_one_in_every_text(name: str, data: st.DataObject) -> None:
    known, pieces = borders_and_pieces(name)
    text = data.draw(text_of())
    for place in range(1, len(text)):
        if known.is_border(text[place - 1], text[place]):
            assert pieces(text) == pieces(text[:place]) + pieces(text[place:])


@pytest.mark.parametrize("name", [*PATTERNED, "llama3", "tekken"])
def test_what_belongs_to_a_run_only_makes_a_piece_longer(name: str) -> None:
    known, pieces = runs_and_pieces(name)
    joined = 0
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
                if len(last) >= REACH and in_one_run(known, run):
                    joined += 1
                    assert pieces(text) == [*rest, last + run[-1]], text
    assert joined > 1000


def test_with_normalization_nothing_is_safe_beside_what_may_change() -> None:
    counter = counter_for("voyage3_base")
    assert counter.is_safe_cut("a", " ")
    assert counter.is_safe_cut("\u0436", " ")
    assert not counter.is_safe_cut("\u0301", " ")
    assert not counter.is_safe_cut("a", "\u037e")  # a Greek question mark becomes a semicolon


@pytest.mark.parametrize("kind", [*KINDS])
def test_there_are_safe_cuts_with_every_pattern(kind: str) -> None:
    text = "To be, or not to be: that is 1 question. " * 3
    assert len(list(safe_cuts(counter_for(kind), text))) > 30


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@drawn(50)
def test_counts_add_up_at_safe_cuts_of_every_part(kind: str, data: st.DataObject) -> None:
    counter, text = counter_for(kind), data.draw(texts)
    for cut in safe_cuts(counter, text):
        start = data.draw(st.integers(0, cut - 1))
        stop = data.draw(st.integers(cut + 1, len(text)))
        after = counter.count_after(text[cut - 1], text[cut:stop])
        assert after == counter.count(text[cut:stop])
        parts = counter.count(text[start:cut]) + after
        assert counter.count(text[start:stop]) == parts, (text[start:cut], text[cut:stop])


# ---- counting


@pytest.mark.parametrize("kind", KINDS)
@given(text=texts)
@drawn(50)
def test_the_count_is_that_of_encode(kind: str, text: str) -> None:
    assert counter_for(kind).count(text) == counted_from_scratch(kind, text)


@pytest.mark.parametrize("kind", KINDS)
@given(text=texts, missing=st.integers(-3, 3))
@drawn(50)
def test_every_limit_is_exact(kind: str, text: str, missing: int) -> None:
    expected = counter_for(kind).count(text)
    limit = max(0, expected - missing)
    found = count_till_limit(counter_for(kind), text, limit)
    assert found == (expected if expected <= limit else None)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@drawn(40)
def test_every_part_counts_as_if_encoded_alone(kind: str, data: st.DataObject) -> None:
    counter, text = counter_for(kind), data.draw(texts)
    parts = TextIntervalCounter(counter, text)
    assert len(parts) == len(text)
    for _ in range(5):
        start = data.draw(st.integers(0, len(text)))
        stop = data.draw(st.integers(start, len(text)))
        assert parts.count(start, stop) == counter.count(text[start:stop])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("short_is_long")
@given(text=texts)
@drawn(50)
def test_every_beginning_counts_as_if_encoded_alone(kind: str, text: str) -> None:
    counter = counter_for(kind)
    grown = AppendCounter(counter)
    for place in range(len(text)):
        grown.push(text[place])
        assert grown.count == counter.count(text[: place + 1])
    assert grown.text == text


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
    counter, text = counter_for(kind), "".join(part * times for part, times in runs)
    grown = AppendCounter(counter)
    for place in range(len(text)):
        grown.push(text[place])
        assert grown.count == counter.count(text[: place + 1])


class _Sequences(RuleBasedStateMachine):
    """Any sequence of additions and truncations leaves what the text alone gives."""

    @initialize(kind=st.sampled_from(KINDS))
    def begin(self, kind: str) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(growing, "LONG", 5)
        self.counter = counter_for(kind)
        self.grown = AppendCounter(self.counter)
        self.text = ""

    @rule(text=texts)
    def extend(self, text: str) -> None:
        self.grown.extend(text)
        self.text += text

    @rule(letter=st.sampled_from("xl1 \n!你"), times=st.integers(1, 12))
    def repeat(self, letter: str, times: int) -> None:
        self.extend(letter * times)

    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        length = data.draw(st.integers(0, len(self.text)))
        self.grown.truncate(length)
        self.text = self.text[:length]

    @rule()
    def refuse(self) -> None:
        with pytest.raises(ParameterError, match="character must be one character"):
            self.grown.push("ab")
        with pytest.raises(ParameterError, match="length must be an int in"):
            self.grown.truncate(len(self.grown) + 1)

    def teardown(self) -> None:
        if hasattr(self, "patch"):
            self.patch.undo()

    @invariant()
    def as_from_scratch(self) -> None:
        if not hasattr(self, "text"):
            return
        assert self.grown.text == self.text
        assert self.grown.count == self.counter.count(self.text)


_Sequences.TestCase.settings = settings(drawn(25), stateful_step_count=12)
TestSequences = _Sequences.TestCase


@pytest.mark.usefixtures("short_is_long")
def test_a_long_piece_is_not_taken_for_the_one_that_was_there_before() -> None:
    counter = counter_for("cl100k_as_is")
    grown = AppendCounter(counter)
    grown.extend("a" * 12)
    grown.truncate(2)
    for _ in range(12):
        grown.push("x")
        assert grown.count == counter.count(grown.text)


@pytest.mark.parametrize("kind", ["raw", *PATTERNED])
@pytest.mark.parametrize("text", ["the token is 12 here.\n", "a", "!", " ", "\n", "A", "1", "<a>"])
def test_a_text_that_grows_is_not_counted_again_and_again(kind: str, text: str) -> None:
    for length in (500, 2000):
        watched = Watched(counter_for(kind))
        counter = AppendCounter(watched.counter)
        counter.extend((text * length)[:length])
        assert watched.counted < 60 * length


def test_where_a_token_is_taken_whole_that_no_merge_makes_a_cut_may_make_it() -> None:
    ranks = {b"a": 0, b"b": 1, b"c": 2, b"abb": 3}
    counter = tokenizer_of(
        vocabulary_by_concatenation(ranks, text=TextRules(whole_piece=True))
    ).text_counter()
    assert [counter.count(text) for text in ("abb", "c", "abbc", "cabb")] == [1, 1, 4, 4]
    assert list(safe_cuts(counter, "abbc")) == list(safe_cuts(counter, "cabb")) == []
    assert list(safe_cuts(counter, "ccbc")) == [1, 2]


def test_counting_stops_early() -> None:
    watched = Watched(counter_for("cl100k_base"))
    assert count_till_limit(watched.counter, "the token is here. " * 30, 50) is None
    assert watched.counted < 200
    watched = Watched(counter_for("raw"))
    assert count_till_limit(watched.counter, "the token is here. " * 100_000, 50) is None
    assert watched.counted == 0


# ---- cutting


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("short_is_long")
@given(text=texts, n=st.integers(1, 12))
@drawn(40)
def test_the_cut_is_the_last_place_that_fits(kind: str, text: str, n: int) -> None:
    counter = counter_for(kind)
    expected = split_by_definition(counter, text, n)
    if expected == 0 and text:
        with pytest.raises(ParameterError, match="most must be at least"):
            split_at(counter, text, n)
    else:
        assert split_at(counter, text, n) == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("short_is_long")
@given(data=st.data(), text=texts, n=st.integers(1, 8))
@drawn(40)
def test_chunks_are_those_of_the_definition(
    kind: str, data: st.DataObject, text: str, n: int
) -> None:
    counter, overlap = counter_for(kind), data.draw(st.integers(0, n - 1))
    expected = chunks_by_definition(counter, text, n, overlap)
    if expected is None:
        with pytest.raises(ParameterError, match="most must be at least"):
            chunks(counter, text, n, overlap)
        return
    found = chunks(counter, text, n, overlap)
    assert found == expected
    # and so they cover the text in order
    reached = 0
    for chunk in found:
        assert chunk.start <= reached < chunk.stop
        assert counted_from_scratch(kind, text[chunk.start : chunk.stop]) == chunk.tokens <= n
        reached = chunk.stop
    assert reached == len(text)
    assert all(a.start < b.start for a, b in pairwise(found))


@pytest.mark.parametrize("kind", ["raw_nfc", *PATTERNED])
@pytest.mark.usefixtures("short_is_long")
@given(
    ends=st.tuples(texts, texts),
    part=st.text("ab 1\n!你é\u0301", min_size=1, max_size=3),
    n=st.integers(2, 6),
    overlap=st.integers(0, 2),
)
@drawn(25)
def test_text_that_repeats_is_cut_as_by_definition(
    kind: str, ends: tuple[str, str], part: str, n: int, overlap: int
) -> None:
    counter, text = counter_for(kind), ends[0][:9] + part * 30 + ends[1][:9]
    expected = chunks_by_definition(counter, text, n, min(overlap, n - 1))
    if expected is not None:
        assert chunks(counter, text, n, min(overlap, n - 1)) == expected


def test_what_follows_text_that_repeats_may_join_it() -> None:
    ranks = {b"b": 0, b"c": 1, b"d": 2, b" ": 3, b"cd": 4, b"bcd": 5}
    rules = TextRules(r"\p{L}+|\P{L}")
    counter = tokenizer_of(vocabulary_by_concatenation(ranks, text=rules)).text_counter()
    assert [counter.count(text) for text in ("bc", "bcd")] == [2, 1]
    for times in range(1, 20):
        for n in range(2, 9):
            text = "bc " * times + "bcd"
            assert chunks(counter, text, n) == chunks_by_definition(counter, text, n, 0)


@pytest.mark.parametrize("kind", ["raw", *PATTERNED])
@pytest.mark.parametrize("part", ["the ", "x", "!", " ", "1x", "xX"])
def test_text_that_repeats_is_cut_a_few_times(kind: str, part: str) -> None:
    work: list[int] = []
    for times in (1000, 4000):
        watched = Watched(counter_for(kind))
        assert len(chunks(watched.counter, part * times, 20, 5)) > 10
        work.append(watched.counted + watched.remembered)
    assert work[1] <= work[0] + 500


@pytest.mark.parametrize("kind", PATTERNED)
@pytest.mark.usefixtures("short_is_long")
def test_long_numbers_and_what_follows_special_tokens_grow_as_they_count(kind: str) -> None:
    counter = counter_for(kind)
    for text in ("1234567890" * 3, "abcabc<|end|>" * 3, "1234512345<a>1234512345"):
        growing_text = AppendCounter(counter)
        for length, character in enumerate(text, 1):
            growing_text.push(character)
            assert growing_text.count == counter.count(text[:length])


def test_a_completed_special_token_lowers_the_count_by_several() -> None:
    counter = counter_for("cl100k_base")
    text = "<|end|>a"
    counts = [counter.count(text[:place]) for place in range(len(text) + 1)]
    assert counts[6] > 3
    assert counts[7:] == [1, 2]
    assert [split_at(counter, text, n) for n in (1, 2)] == [7, 8]
    assert split_at(counter, text[:6], 1) == 1


def test_a_special_token_is_not_cut() -> None:
    counter = counter_for("raw")
    assert [chunk[:2] for chunk in chunks(counter, "x<|end|>x", 1)] == [(0, 1), (1, 8), (8, 9)]


def test_a_special_token_that_is_not_allowed_is_text() -> None:
    counter = tokenizer_of(vocabulary_of("raw")).text_counter("ordinary")
    assert counter.unbreakable("x<|end|>x") == []
    assert counter.count("<|end|>") == 7


def test_a_surrogate_pair_is_one_code_point() -> None:
    counter = counter_for("raw")
    text = "a\ud83d\ude00b"
    assert counter.unbreakable(text) == [(1, 3)]
    assert counter.count(text) == counter.count("a\U0001f600b")
    assert 2 not in {split_at(counter, text, n) for n in range(1, 7)}


def naive_chunk(tokenizer: Tokenizer, text: str, n: int) -> str:
    """Take n tokens, and drop tokens until whole characters are left."""
    tokens = tokenizer.encode(text, special="ordinary")[:n]
    while True:
        try:
            return tokenizer.decode_bytes(tokens).decode()
        except UnicodeDecodeError:
            tokens.pop()


def test_the_naive_cutter_loops_for_ever_where_ours_does_not() -> None:
    # é is C3 A9. The token A9 C3 neither starts nor ends at a character boundary, and a row of
    # them fills the text: C3, A9 C3, A9 C3, ..., A9.
    ranks = {b"\xc3": 0, b"\xa9": 1, b"\xa9\xc3": 2}
    tokenizer = tokenizer_of(vocabulary_by_concatenation(ranks))
    text = "é" * 50
    assert tokenizer.encode(text, special="ordinary") == [0, *[2] * 49, 1]
    for n in (2, 3, 10, 49):
        assert naive_chunk(tokenizer, text, n) == ""  # and so it goes on from where it was
        counter = tokenizer.text_counter()
        found = chunks(counter, text, n)
        assert {chunk.tokens for chunk in found[:-1]} == {n}
        assert [chunk.stop - chunk.start for chunk in found[:-1]] == [n - 1] * (len(found) - 1)
        assert found[-1].stop == 50


def test_a_code_point_that_alone_has_too_many_tokens_is_an_error() -> None:
    counter = tokenizer_of(vocabulary_by_concatenation({b"\xc3": 0, b"\xa9": 1})).text_counter()
    sentence = "most must be at least 2, the number of tokens of 'é' at character 0, .* got 1"
    with pytest.raises(ParameterError, match=sentence):
        split_at(counter, "é", 1)
    with pytest.raises(ParameterError, match=sentence):
        chunks(counter, "éé", 1)


def test_a_longer_beginning_may_fit_where_a_shorter_one_does_not() -> None:
    ranks = {b"\xc3": 0, b"\xa9": 1, b"a": 2, b"\xa9a": 3, b"\xc3\xa9a": 4}
    counter = tokenizer_of(vocabulary_by_concatenation(ranks)).text_counter()
    assert [counter.count("éa"[:place]) for place in range(3)] == [0, 2, 1]
    assert split_at(counter, "éa", 1) == 2


def test_an_overlap_gives_way_where_the_next_chunk_would_not_get_further() -> None:
    # the last character has three tokens: with one more before it, they do not fit
    ranks = {bytes([byte]): byte for byte in b"abc\xe4\xbd\xa0"}
    counter = tokenizer_of(vocabulary_by_concatenation(ranks)).text_counter()
    assert [chunk[:2] for chunk in chunks(counter, "abc你", 3, overlap=2)] == [(0, 3), (3, 4)]
    assert [chunk[:2] for chunk in chunks(counter, "abcab", 3, overlap=2)] == [
        (0, 3),
        (1, 4),
        (2, 5),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_text_has_no_chunks(kind: str) -> None:
    assert chunks(counter_for(kind), "", 1) == []
    assert split_at(counter_for(kind), "", 1) == 0
    assert counter_for(kind).count("") == 0


def test_normalization_speaks_of_the_original() -> None:
    counter = counter_for("voyage3_base")
    text = "e\u0301" * 4  # NFC makes four characters of these eight
    assert counter.count(text) == counter.count("é" * 4)
    unspecial = tokenizer_of(vocabulary_of("voyage3_base")).text_counter("ordinary")
    assert split_at(unspecial, text, 1) == 2
    assert chunks(unspecial, text, 1)[-1].stop == 8


NO_TEXT: Any = 5
"""What a caller without types may pass."""


@pytest.mark.parametrize(
    ("action", "sentence"),
    [
        (
            lambda counter: split_at(counter, "a", 0),
            "most must be a whole number of at least 1, got 0",
        ),
        (lambda counter: split_at(counter, NO_TEXT, 1), "text must be a str, got 5"),
        (lambda counter: chunks(counter, "a", 2, 2), "overlap must be less than 2, .*, got 2"),
        (
            lambda counter: chunks(counter, "a", 2, -1),
            "overlap must be a whole number of at least 0, got -1",
        ),
        (lambda counter: chunks(counter, NO_TEXT, 2), "text must be a str, got 5"),
        (
            lambda counter: count_till_limit(counter, "a", -1),
            "limit must be a whole number of at least 0",
        ),
        (lambda counter: count_till_limit(counter, NO_TEXT, 1), "text must be a str, got 5"),
        (lambda counter: counter.count(NO_TEXT), "text must be a str, got 5"),
        (lambda counter: TextIntervalCounter(counter, NO_TEXT), "text must be a str, got 5"),
        (lambda counter: TextIntervalCounter(counter, "a").count(1, 2), "stop must be an int in"),
        (lambda counter: AppendCounter(counter).extend(NO_TEXT), "text must be a str, got 5"),
    ],
)
def test_wrong_arguments_are_refused(
    action: Callable[[TextCounter], object], sentence: str
) -> None:
    with pytest.raises(ParameterError, match=sentence):
        action(counter_for("raw"))


# ---- tokenizers of which nothing is known but their answers


@given(text=texts, n=st.integers(1, 8), overlap=st.integers(0, 7))
@drawn(40)
def test_any_tokenizer_can_be_counted_and_cut(text: str, n: int, overlap: int) -> None:
    known = counter_for("cl100k_base")
    unknown = TextCounter(known.count, known.spans)
    assert not any(safe_cuts(unknown, text))
    overlap = min(overlap, n - 1)
    expected = chunks_by_definition(known, text, n, overlap)
    if expected is not None:
        assert chunks(unknown, text, n, overlap) == chunks(known, text, n, overlap) == expected
    assert count_till_limit(unknown, text, n) == count_till_limit(known, text, n)
    half = len(text) // 2
    assert TextIntervalCounter(unknown, text).count(0, half) == known.count(text[:half])
    counter = AppendCounter(unknown)
    counter.extend(text)
    assert counter.count == known.count(text)


@pytest.mark.parametrize("cut", [split_at, chunks, count_till_limit])
def test_a_tokenizer_is_no_counter(cut: Callable[..., object]) -> None:
    with pytest.raises(ParameterError, match="counter must be a TextCounter, such as"):
        cut(tokenizer_of(vocabulary_by_concatenation({b"a": 0})), "aaa", 3)
