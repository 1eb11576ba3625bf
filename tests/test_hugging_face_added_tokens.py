"""Added tokens are found as the library finds them, whatever their flags, in linear time."""

import re
import time
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as EngineTokenizer
from tokenizers import normalizers

from bpe_ref.added_tokens import AddedToken, AddedTokens, AddedVocabulary
from bpe_ref.aligned_text import AlignedText
from bpe_ref.errors import SpecialTokenError, VocabularyError
from bpe_ref.models.bpe import BPE
from bpe_ref.quirks import HUGGING_FACE, STRICT, Quirks
from bpe_ref.tokenizer import Tokenizer
from bpe_ref.vocabulary import longest_matches
from bpe_ref.vocabulary.longest_matches import (
    ByAutomaton,
    ByLength,
    Searcher,
    pattern_of_longest,
    searcher_of,
)
from tests.engine_encodings import FAILED, engine_answer, our_answer
from tests.synthetic_tokenizers import FLAGS, Document, added, document, engine, trained_model
from tests.texts import drawn, text_of

MODEL = trained_model(scripts=True)
CONTENTS = (
    "<a>",
    "<",
    "<a",
    "a>",
    " ",
    "  ",
    "\n",
    "ab",
    "the",
    "don't",
    "é",
    "<A>",
    "世",
    "a",
    "_",
)
MODEL_FIELDS = {"vocab": MODEL["vocab"], "merges": [(a, b) for a, b in MODEL["merges"]]}


class Lowercase:
    """As the library's, for these contents."""

    def normalize(self, text: AlignedText) -> AlignedText:
        """Return the text in lower case; no letter of the tests becomes two."""
        lowered = normalizers.Lowercase().normalize_str
        return AlignedText("".join(map(lowered, text.text)), text.spans, text.start, text.end)

    def normalize_text(self, text: str) -> str:
        """Return the same, as text."""
        return self.normalize(AlignedText.of(text)).text


LOWER = Lowercase()


def tokens_of(listed: Sequence[Document]) -> list[AddedToken]:
    return [AddedToken(**token) for token in listed]


def both(listed: list[Document], *, lower: bool) -> tuple[Tokenizer, EngineTokenizer]:
    """Return our tokenizer and the library's."""
    normalizer = {"type": "Lowercase"} if lower else None
    theirs = engine(document(MODEL, added_tokens=listed, normalizer=normalizer))
    pipeline = Tokenizer(
        BPE(**MODEL_FIELDS), LOWER if lower else None, added_tokens=AddedTokens(tokens_of(listed))
    )
    return pipeline, theirs


@st.composite
def added_tokens(draw: st.DrawFn) -> list[Document]:
    """Draw some added tokens whose contents overlap, each with its own flags."""
    contents = draw(st.lists(st.sampled_from(CONTENTS), min_size=1, max_size=6, unique=True))
    if {"<a>", "<A>"} <= set(contents):  # normalized, they are one: the engine picks any
        contents.remove("<A>")
    flags = st.lists(st.sampled_from(FLAGS), unique=True)
    return [added(content, *draw(flags), id_=n) for n, content in enumerate(contents)]


@pytest.mark.parametrize("lower", [False, True])
def test_tokens_ids_and_offsets_are_the_librarys_for_all_flags(lower: bool) -> None:
    found: list[bool] = []

    @drawn(500)
    @given(added_tokens(), text_of(*CONTENTS, *CONTENTS), st.booleans())
    def check(listed: list[Document], text: str, as_text: bool) -> None:
        if "İ" in text:  # the only letter that becomes two
            return
        ours, theirs = both(listed, lower=lower)
        theirs.encode_special_tokens = as_text
        special: Any = "ordinary" if as_text else "recognise"
        expected = engine_answer(lambda: theirs.encode(text))
        encoding = our_answer(lambda: ours.tokenize(text, special=special))
        if expected is FAILED or encoding is FAILED:
            assert (encoding, expected) == (FAILED, FAILED)
            return
        assert list(encoding.ids) == expected.ids  # type: ignore[attr-defined]
        assert list(encoding.tokens) == expected.tokens  # type: ignore[attr-defined]
        assert list(encoding.offsets) == expected.offsets  # type: ignore[attr-defined]
        assert list(encoding.words) == expected.word_ids  # type: ignore[attr-defined]
        assert ours.encode(text, special=special) == expected.ids  # type: ignore[attr-defined]
        ids = [*ours.added.tokens, *expected.ids[:5]]  # type: ignore[attr-defined]
        for skip in (False, True):
            decoded = theirs.decode(ids, skip_special_tokens=skip)
            assert ours.decode(ids, skip_special_tokens=skip) == decoded
        assert [ours.id_to_token(n) for n in ids] == [theirs.id_to_token(n) for n in ids]
        assert ours.vocab == theirs.get_vocab()
        assert len(ours.vocab) == theirs.get_vocab_size()
        size = theirs.get_vocab_size(with_added_tokens=False)
        assert len(ours.model.vocab) == size
        found.append(any(n in ours.added.tokens for n in expected.ids))  # type: ignore[attr-defined]

    check()
    assert sum(found) > len(found) / 10


@pytest.mark.parametrize("lower", [False, True])
def test_all_added_tokens_are_text_or_refused_whatever_their_flags(lower: bool) -> None:
    found: list[bool] = []

    @drawn(500)
    @given(added_tokens(), text_of(*CONTENTS, *CONTENTS))
    def check(listed: list[Document], text: str) -> None:
        ours, _ = both(listed, lower=lower)
        without = ours.replace(added_tokens=AddedTokens())
        as_text = ours.tokenize(text, special="ordinary_added")
        assert as_text == without.tokenize(text)
        assert ours.encode(text, special="ordinary_added") == without.encode(text)
        assert ours.count(text, special="ordinary_added") == without.count(text)
        assert ours.pieces(text, special="ordinary_added") == without.pieces(text)
        refuse = our_answer(lambda: ours.encode(text, special="refuse_added"))
        encoding = our_answer(lambda: ours.tokenize(text, special="refuse_added"))
        assert (refuse is FAILED) == (encoding is FAILED)
        names = [one for one in ours.added.ids if not one.isspace()]
        assert bool(ours.spelled(text)) == any(one in text for one in names)
        if refuse is FAILED:
            lowered = text.lower() if lower else text
            assert any(one in text or one.lower() in lowered for one in names)
        else:
            assert ours.spelled(text) == []
            assert refuse == ours.encode(text)
            if not any(one.isspace() for one in ours.added.ids):
                assert refuse == without.encode(text)
        found.append(refuse is FAILED)

    check()
    assert len(found) / 10 < sum(found) < len(found)


@pytest.mark.parametrize("flags", [f for n in range(6) for f in combinations(FLAGS, n)])
def test_each_combination_of_flags_beside_words_and_spaces(flags: tuple[str, ...]) -> None:
    listed = [added("<a>", *flags), added("ab", *flags)]
    ours, theirs = both(listed, lower=False)
    for before in ("", "x", " ", "x \n", "_", "é", "\u200d", "\u200b", ".", "²"):
        for after in ("", "y", "  ", "\u3000y", "\u0301", "<", "\x1c", "\u0085"):
            for token in ("<a>", "ab"):
                text = f"{before}{token}{after}"
                encoding, expected = ours.tokenize(text), theirs.encode(text)
                assert list(encoding.tokens) == expected.tokens, text
                assert list(encoding.offsets) == expected.offsets, text


# ---- ids


def ids_of(listed: list[Document], vocab: dict[str, int]) -> dict[str, int]:
    ours = AddedTokens(tokens_of(listed)).with_ids(vocab).ids
    model = {"type": "BPE", "vocab": vocab, "merges": []}
    theirs = engine(document(model, added_tokens=listed))
    assert all(theirs.token_to_id(content) == id_ for content, id_ in ours.items())
    return ours


def test_the_ids_of_the_file_are_not_read() -> None:
    listed = [added("<x>", id_=10), added("a", id_=3), added("<y>", id_=12)]
    assert ids_of(listed, {"a": 0, "b": 1}) == {"<x>": 2, "a": 0, "<y>": 3}


def test_the_next_free_id_may_be_that_of_a_token_where_ids_have_holes() -> None:
    listed = [added("<x>"), added("<y>")]
    assert ids_of(listed, {"a": 0, "b": 3, "c": 5}) == {"<x>": 3, "<y>": 4}


def test_the_last_of_two_with_one_content_gives_the_flags() -> None:
    listed = [added("<x>", "lstrip", "special"), added("<x>", id_=1)]
    assert ids_of(listed, {}) == {"<x>": 0}
    [cut] = AddedTokens(tokens_of(listed)).with_ids({}).cut("<x>", normalized=False)
    assert (cut.start, cut.stop) == (0, 3)
    pipeline = Tokenizer(BPE({"a": 0}, []), added_tokens=AddedTokens(tokens_of(listed)))
    assert (
        pipeline.decode([0, 1], skip_special_tokens=True) == "a"
    )  # what was special once remains so


def test_strictly_the_ids_are_the_files_and_contradictions_are_errors() -> None:
    def build(*tokens: AddedToken) -> AddedVocabulary:
        return AddedTokens(tokens, quirks=STRICT).with_ids({"a": 0, "b": 5})

    assert build(AddedToken("<x>", id=9), AddedToken("b", id=5)).ids == {"<x>": 9, "b": 5}
    for tokens, sentence in (
        ([AddedToken("b", id=4)], "must have the id of the vocabulary, 5, got 4"),
        ([AddedToken("<x>", id=5)], "must have an id of its own, but 5 is that of another"),
        ([AddedToken("<x>", id=9), AddedToken("<x>", id=9)], "must differ in content and id"),
        ([AddedToken("<x>", id=9), AddedToken("<y>", id=9)], "must differ in content and id"),
        ([AddedToken("<x>")], "must have the id of the vocabulary, None, got None"),
    ):
        with pytest.raises(VocabularyError) as caught:
            build(*tokens)
        assert sentence in str(caught.value)


def test_the_first_of_two_that_normalize_to_one_text_is_found() -> None:
    listed = [AddedToken("<X>"), AddedToken("<x>")]
    vocabulary = AddedTokens(listed).with_ids({}, LOWER)
    assert [cut.token for cut in vocabulary.cut("<x>", normalized=True)] == [0]


def test_a_token_that_normalizes_to_nothing_is_an_error() -> None:
    class Nothing:
        def normalize(self, text: AlignedText) -> AlignedText:
            return text.slice(0, 0)

        def normalize_text(self, text: str) -> str:
            return ""

    with pytest.raises(VocabularyError, match="must not be empty once it is normalized, but ' '"):
        AddedTokens([AddedToken(" ")]).with_ids({}, Nothing())


def test_a_special_token_that_normalization_changes_is_not_skipped_but_strictly_it_is() -> None:
    listed = [AddedToken("<X>", special=True, id=1)]
    decoded = []
    for quirks in (HUGGING_FACE, STRICT):
        pipeline = Tokenizer(BPE({"a": 0}, []), LOWER, added_tokens=AddedTokens(listed, quirks))
        decoded.append(pipeline.decode([0, 1], skip_special_tokens=True))
    assert decoded == ["a <x>", "a"]


# ---- white space


def cuts(text: str, *tokens: AddedToken, quirks: Quirks = HUGGING_FACE) -> list[str]:
    vocabulary = AddedTokens(tokens, quirks).with_ids({})
    return [text[start:stop] for start, stop, _ in vocabulary.cut(text, normalized=True)]


def test_stripped_white_space_repeats_but_not_strictly() -> None:
    tokens = [AddedToken("<a>", rstrip=True, id=0), AddedToken("  ", id=1)]
    assert cuts("<a>  b", *tokens) == ["<a>  ", "  ", "b"]
    assert cuts("<a>  b", *tokens, quirks=STRICT) == ["<a>  ", "b"]


def test_where_the_engine_dies_there_is_an_error_and_strictly_none() -> None:
    tokens = [AddedToken("<a>", rstrip=True, id=0), AddedToken("  ", lstrip=True, id=1)]
    with pytest.raises(SpecialTokenError, match="must not strip white space that others have"):
        cuts("<a>   b", *tokens)
    assert cuts("<a>   b", *tokens, quirks=STRICT) == ["<a>   ", "b"]


def test_white_space_is_not_repeated_without_end() -> None:
    with pytest.raises(SpecialTokenError):
        cuts(" " * 20_000, AddedToken(" ", rstrip=True))


def test_a_rejected_match_hides_what_is_in_it_but_not_strictly() -> None:
    tokens = [AddedToken("xaby", single_word=True, id=0), AddedToken("ab", id=1)]
    assert cuts("_xaby", *tokens) == ["_xaby"]
    assert cuts("_xaby", *tokens, quirks=STRICT) == ["_x", "ab", "y"]
    tokens = [AddedToken("abc", single_word=True, id=0), AddedToken("a", id=1)]
    assert cuts("abcd", *tokens, quirks=STRICT) == ["a", "bcd"]


# ---- the search


@drawn(500)
@given(
    st.lists(st.text("ab<", min_size=1, max_size=6), unique=True, max_size=8),
    st.text("abc<", max_size=30),
)
def test_both_searches_list_all_entries_that_start_at_a_place(
    entries: list[str], text: str
) -> None:
    for searcher in (ByLength(frozenset(entries)), ByAutomaton(entries), searcher_of(entries)):
        matches = searcher.matches(text)
        for place in range(len(text)):
            expected = sorted((len(e) for e in entries if text.startswith(e, place)), reverse=True)
            assert list(matches.lengths_at(place)) == expected
            following = matches.next_place(place)
            assert not expected or following == place
        assert matches.next_place(len(text)) is None


@drawn(500)
@given(
    st.lists(st.text("ab<", min_size=1, max_size=6), unique=True, max_size=8),
    st.text("abc<", max_size=30),
)
def test_one_pattern_finds_what_the_rules_find(entries: list[str], text: str) -> None:
    plain = AddedTokens([AddedToken(entry, normalized=False) for entry in entries]).with_ids({})
    ruled = AddedToken("-", single_word=True, normalized=False)  # with it, there is no pattern
    by_rules = AddedTokens([*plain.tokens.values(), ruled]).with_ids({})
    found = plain.cut(text, normalized=False)
    assert found == by_rules.cut(text, normalized=False)
    pieces = [text[start:stop] for start, stop, token in found if token is not None]
    assert re.findall(pattern_of_longest(sorted(entries)) or "(?!)", text) == pieces


def test_a_pattern_may_nest_as_deep_as_tokens_may_begin_with_one_another() -> None:
    runs = ["a" * length for length in range(1, 91)]
    assert isinstance(searcher_of(runs), ByLength)
    assert isinstance(searcher_of([*runs, "a" * 91]), ByAutomaton)
    assert cuts("a" * 100, *map(AddedToken, runs)) == [runs[-1], runs[9]]


def hostile() -> dict[str, list[str]]:
    return {
        "many short ones": [f"<{n}>" for n in range(300_000)],
        "long ones with one beginning": ["a" * n + "b" for n in range(1, 1400)],
        "one long one": ["a" * 500_000 + "b"],
    }


@pytest.mark.parametrize("name", hostile())
def test_hostile_tokens_take_bounded_time(name: str) -> None:
    searcher: Searcher = searcher_of(hostile()[name])
    start = time.process_time()
    matches = searcher.matches("a" * 200_000)
    place = matches.next_place(0)
    while place is not None:
        matches.lengths_at(place)
        place = matches.next_place(place + 1)
    assert time.process_time() - start < 5


def test_an_automaton_of_too_many_letters_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(longest_matches, "MOST_LETTERS", 10_000)
    with pytest.raises(VocabularyError, match="must have at most 10000 characters together, got 1"):
        searcher_of(["a" * 9_000, "b" * 9_000])


def test_spaces_and_letters_do_not_depend_on_the_installed_tables() -> None:
    assert cuts("\u0085\u2028\u3000<a>", AddedToken("<a>", lstrip=True)) == [
        "\u0085\u2028\u3000<a>"
    ]
    assert cuts("\u200b<a>", AddedToken("<a>", lstrip=True)) == ["\u200b", "<a>"]
    assert cuts("\x1c<a>", AddedToken("<a>", lstrip=True)) == ["\x1c", "<a>"]
    assert cuts("\u200d<a>", AddedToken("<a>", single_word=True)) == ["\u200d<a>"]
    assert cuts("²<a>", AddedToken("<a>", single_word=True)) == ["²", "<a>"]
