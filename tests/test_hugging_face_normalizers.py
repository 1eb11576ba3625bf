"""The normalizers of tokenizers 0.23.3: text, offsets, and every code point."""
# ruff: noqa: RUF001 -- letters that look alike are the point

import base64
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from authoring.tokenizer_files.charsmaps import compile_charsmap
from bpe_ref.aligned_text import AlignedText, Span
from bpe_ref.data import table
from bpe_ref.errors import ParameterError, VocabularyError
from bpe_ref.formats.hugging_face_components import KINDS
from bpe_ref.normalizers.grapheme_clusters import grapheme_clusters
from bpe_ref.normalizers.normalization_forms import Form, form_changes
from bpe_ref.normalizers.normalizer_tables import ranges_of
from bpe_ref.patterns.matches import Literal, Regex
from bpe_ref.patterns.unicode_tables import EVERY_CODE_POINT, TABLES, to_ranges
from bpe_ref.quirks import STRICT
from tests.charsmaps import RULE_NAMES, trained_charsmap
from tests.texts import drawn, text_of

NORMALIZERS = KINDS["normalizer"]
normalizers = SimpleNamespace(**NORMALIZERS)

tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
engine = tokenizers.normalizers

FORMS: tuple[Form, ...] = ("NFC", "NFD", "NFKC", "NFKD")
FIRST_BYTES = {bytes([b]): "X" for b in [*range(1, 0x80), *range(0xC2, 0xF5)]}
ODD_RULES = {
    "a": "",
    "e": "EEE",
    "e\u0301": "é",
    "the": "T",
    " ": "",
    "x": "xy",
    "\u200b": "",
    "\r\n": "\n",
    "\u0941": "",
    "०": "0",
    "\u0301": "",
    "o": "o",
}

Pair = tuple[Any, Any]
"""Our normalizer, and the engine's."""


def characters_in(ranges: Iterable[tuple[int, int]]) -> list[str]:
    return [chr(c) for first, last in ranges for c in range(first, last + 1)]


def characters_of(name: str) -> list[str]:
    return characters_in(ranges_of(name))


def precompiled(charsmap: bytes) -> Pair:
    ours = normalizers.Precompiled(base64.b64encode(charsmap).decode())
    return ours, engine.Precompiled(charsmap)


def strip(*fields: bool) -> Pair:
    return normalizers.Strip(*fields), engine.Strip(*fields)


def bert(*fields: bool | None) -> Pair:
    return normalizers.BertNormalizer(*fields), engine.BertNormalizer(*fields)


def prepend(text: str) -> Pair:
    return normalizers.Prepend(text), engine.Prepend(text)


def literal(pattern: str, content: str) -> Pair:
    return normalizers.Replace(Literal(pattern), content), engine.Replace(pattern, content)


def regex(pattern: str, content: str) -> Pair:
    ours = normalizers.Replace(Regex(pattern), content)
    return ours, engine.Replace(tokenizers.Regex(pattern), content)


def plain(name: str) -> Pair:
    return NORMALIZERS[name](), getattr(engine, name)()


def sequence(pairs: Sequence[Pair]) -> Pair:
    ours = normalizers.Sequence(tuple(pair[0] for pair in pairs))
    return ours, engine.Sequence([pair[1] for pair in pairs])


@cache
def groups() -> dict[str, list[Pair]]:
    """Return pairs that change at least one text in twenty."""
    names = ("Lowercase", "StripAccents", "Nmt", "ByteLevel")
    left_and_right = [(True, False), (False, True), (True, True)]
    return {
        "forms": [plain(name) for name in FORMS],
        "characters": [*map(plain, names), *[strip(*sides) for sides in left_and_right]],
        "bert": [
            bert(True, True, None, True),
            bert(True, False, False, False),
            bert(False, True, False, False),
            bert(False, False, True, False),
            bert(False, False, None, True),
        ],
        "insertions": [
            *[prepend(text) for text in ("▁", "ab", "é\u0301")],
            *[literal(" ", "▁"), literal("", "x"), literal("a", ""), literal("'", "’’")],
            *[regex(r"\s+", " "), regex("[a-z]+", "W"), regex("(?m).", ""), regex("$", "é")],
            *[regex("^", "▁"), regex(r"(?=\d)", "#")],
        ],
        "rules": [
            *map(precompiled, (compile_charsmap(FIRST_BYTES), compile_charsmap(ODD_RULES))),
            *[precompiled(trained_charsmap(name)) for name in RULE_NAMES],
        ],
    }


def by_characters(normalizer: Any) -> Any:
    """Return a tokenizer that makes a token of every character."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"?": 0}, unk_token="?"))  # noqa: S106 -- no password
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex("(?m)."), "isolated")
    return tokenizer


def assert_as_in_the_engine(pair: Pair, tokenizer: Any, text: str) -> str:
    """Compare text and offsets, with and without alignment; return the text."""
    ours, theirs = pair
    expected: str = theirs.normalize_str(text)
    aligned: AlignedText = ours.normalize(AlignedText.of(text))
    assert aligned.text == expected, ours
    assert list(aligned.spans) == tokenizer.encode(text).offsets, ours
    assert ours.normalize_text(text) == expected, ours
    return expected


@pytest.mark.parametrize("group", ["forms", "characters", "bert", "insertions", "rules"])
def test_text_and_offsets_are_those_of_the_engine(group: str) -> None:
    pairs = [(pair, by_characters(pair[1])) for pair in groups()[group]]
    changed: Counter[int] = Counter()
    total = 0

    @drawn(500)
    @given(text_of())
    def check(text: str) -> None:
        nonlocal total
        total += 1
        for index, (pair, tokenizer) in enumerate(pairs):
            changed[index] += assert_as_in_the_engine(pair, tokenizer, text) != text

    check()
    assert [pairs[i][0][0] for i in range(len(pairs)) if changed[i] < total / 20] == []


def safe(pair: Pair) -> bool:
    return not getattr(pair[0], "may_insert_first", False)


def test_normalizers_one_after_the_other_keep_the_offsets_of_the_engine() -> None:
    pairs = [pair for group in groups().values() for pair in group]
    safe_pairs = [pair for pair in pairs if safe(pair)]
    changed = total = 0

    @drawn(500)
    @given(
        text_of(longest=6),
        text_of(longest=6),
        st.lists(st.sampled_from(safe_pairs), min_size=1, max_size=2),
        st.sampled_from(pairs),
    )
    def check(left: str, right: str, first: list[Pair], last: Pair) -> None:
        nonlocal changed, total
        pair = sequence([*first, last])
        tokenizer = by_characters(pair[1])
        total += 1
        changed += assert_as_in_the_engine(pair, tokenizer, left) != left
        # The pieces beside a special token are normalized each for itself.
        left, right = left.replace("<s>", ""), right.replace("<s>", "")
        text = f"{left}<s>{right}"
        tokenizer.add_special_tokens([tokenizers.AddedToken("<s>", normalized=False)])
        start = len(left)
        spans: list[Span] = [(start, start + 3)]
        if left:
            spans = [*pair[0].normalize(AlignedText.of(text).slice(0, start)).spans, *spans]
        if right:
            spans += pair[0].normalize(AlignedText.of(text).slice(start + 3, len(text))).spans
        assert spans == tokenizer.encode(text).offsets, pair[0]

    check()
    assert changed > total / 2


def test_what_stands_for_nothing_makes_the_engine_repeat_or_crash() -> None:
    """Where it repeats so do we; where it crashes we do what is meant."""
    inserting = [regex("^", "▁"), regex(r"\b", "|"), literal("", "é"), prepend("")]
    pairs = [*inserting, *[pair for group in groups().values() for pair in group]]
    trimming = [plain("Nmt"), strip(False, True), strip(True, True)]
    seen: Counter[str] = Counter()

    @drawn(500)
    @given(
        st.tuples(text_of(longest=6), st.sampled_from(["", "  ", "\x07\x07"])).map("".join),
        st.sampled_from(inserting),
        st.lists(st.sampled_from(trimming), min_size=1, max_size=1)
        | st.lists(st.sampled_from(pairs), max_size=2),
    )
    def check(text: str, first: Pair, more: list[Pair]) -> None:
        pair = sequence([first, *more])
        try:
            expected = pair[1].normalize_str(text)
        except BaseException as error:  # noqa: BLE001 -- a panic is one
            assert type(error).__name__ == "PanicException"  # noqa: PT017 -- it has no other name
            seen["crash"] += 1
            pair[0].normalize(AlignedText.of(text))
            return
        assert_as_in_the_engine(pair, by_characters(pair[1]), text)
        strict = [
            normalizers.Replace(step.pattern, step.content, STRICT)
            if isinstance(step, normalizers.Replace)
            else normalizers.Prepend(step.prepend, STRICT)
            if isinstance(step, normalizers.Prepend)
            else step
            for step in pair[0].normalizers
        ]
        seen["repeated"] += expected != normalizers.Sequence(tuple(strict)).normalize_text(text)
        seen["alike"] += 1

    check()
    assert min(seen["crash"], seen["repeated"]) > 20
    assert seen["alike"] > 100


@cache
def all_characters() -> tuple[str, ...]:
    """Return texts with all that Unicode 16.0 assigns, apart, and all that it does not."""
    table = TABLES["unicode-16.0"]
    unassigned, surrogates = table.code_points("Cn"), table.code_points("Cs")
    assigned = characters_in(to_ranges(EVERY_CODE_POINT ^ unassigned ^ surrogates))
    parts = ("|".join(assigned[start : start + 1000]) for start in range(0, len(assigned), 1000))
    return (*parts, "".join(characters_in(to_ranges(unassigned))))


@pytest.mark.parametrize("name", [*FORMS, "Lowercase", "StripAccents", "Nmt"])
def test_every_code_point_is_as_in_the_engine(name: str) -> None:
    ours, theirs = plain(name)
    for text in all_characters():
        assert ours.normalize_text(text) == theirs.normalize_str(text)


@pytest.mark.parametrize("part", range(4))
def test_every_code_point_is_as_in_each_part_of_bert(part: int) -> None:
    ours, theirs = bert(*[index == part for index in range(4)])
    for text in all_characters():
        assert ours.normalize_text(text) == theirs.normalize_str(text)


def test_only_white_space_is_stripped() -> None:
    theirs = engine.Strip()
    spaces = [c for c in map(chr, range(0x3001)) if not theirs.normalize_str(c)]
    assert len(spaces) == 25
    assert spaces == [
        c for c in map(chr, range(0x3001)) if not normalizers.Strip(True, True).normalize_text(c)
    ]


MARKS = characters_of("COMBINING_MARKS")
NEW = characters_of("UNKNOWN_TO_FORMS")
COMPOSED = [chr(c) for c in range(0x30000) if unicodedata.decomposition(chr(c))]
HANGUL = [*"\u1100\u1161\u11a8\u11a7", *[chr(c) for c in range(0xAC00, 0xD7A4, 101)]]
hard = st.lists(
    st.one_of(*map(st.sampled_from, (MARKS, NEW, COMPOSED, HANGUL, [*"aeo\u0301\u0323"]))),
    max_size=8,
).map("".join)


@pytest.mark.parametrize("form", FORMS)
def test_marks_and_composites_are_ordered_and_counted_as_in_the_engine(form: Form) -> None:
    pair = plain(form)
    tokenizer = by_characters(pair[1])

    @drawn(500)
    @given(hard)
    def check(text: str) -> None:
        expected = assert_as_in_the_engine(pair, tokenizer, text)
        assert "".join(c for c, _ in form_changes(form, text)) == expected

    check()


CLUSTER_CLASSES = (
    *("CONTROL", "EXTEND", "SPACING_MARK", "PREPEND", "LEADING", "VOWEL", "TRAILING"),
    *("PICTOGRAPHIC", "CONSONANT", "LINKER"),
)
in_clusters = st.lists(
    st.one_of(
        st.sampled_from("aé©®क\u094d\u0301\u0600\u200d\u200c\r\n가각\U0001f1e9\U0001f1ea"),
        *[st.sampled_from(characters_of(name)) for name in CLUSTER_CLASSES],
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=9,
).map("".join)


def test_clusters_end_where_the_engine_says() -> None:
    pair = precompiled(compile_charsmap(FIRST_BYTES))
    tokenizer = by_characters(pair[1])

    @drawn(1000)
    @given(in_clusters)
    def check(text: str) -> None:
        assert_as_in_the_engine(pair, tokenizer, text)

    check()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("क\u094dक\u0301", 1),  # linked
        ("क\u094d\u200dक\u0301", 1),
        ("क\u0301\u094dक\u0301", 1),
        ("क\u094d\u200cक\u0301", 2),  # kept apart
        ("क\u0903\u094dक\u0301", 2),  # a spacing mark stands between
        ("a\u094dक\u0301", 2),
        ("©\u200d©\u0301", 1),
        ("©\u094d\u0301\u200d©\u0301", 1),  # extending, linker or not
        ("©\u200d\u200d©\u0301", 2),
        ("©\u0903\u200d©\u0301", 2),
        ("\0\u0301\u0301", 2),
        ("\u1100각\u11a8\u0301", 1),
        ("각\u1161\u0301", 2),
    ],
)
def test_a_cluster_ends_here_as_in_the_engine(text: str, count: int) -> None:
    pair = precompiled(compile_charsmap(FIRST_BYTES))
    assert_as_in_the_engine(pair, by_characters(pair[1]), text)
    assert len(grapheme_clusters(text)) == count


def test_regional_indicators_pair_up() -> None:
    """The engine's answer does not show it: none of these clusters is short."""
    flags = "\U0001f1e9\U0001f1ea"
    assert grapheme_clusters(f"a{flags}{flags}{flags[0]}") == ["a", flags, flags, flags[0]]


@drawn(500)
@given(in_clusters)
def test_the_clusters_are_the_text(text: str) -> None:
    assert "".join(grapheme_clusters(text)) == text
    assert all(grapheme_clusters(text))


letters = st.text(st.sampled_from("aeé€\u0301\u200d\r\n "), min_size=1, max_size=3)


@drawn(500)
@given(
    st.dictionaries(letters, st.text(st.sampled_from("xyé\u0301"), max_size=3), max_size=9),
    st.text(st.sampled_from("aeé€\u0301\u200d\r\n "), max_size=9),
)
def test_any_rules_apply_as_in_the_engine(rules: dict[str, str], text: str) -> None:
    pair = precompiled(compile_charsmap(rules))
    assert_as_in_the_engine(pair, by_characters(pair[1]), text)


@pytest.mark.parametrize("name", RULE_NAMES)
def test_the_strict_rules_are_those_of_sentencepiece(name: str) -> None:
    sentencepiece = pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")
    theirs = sentencepiece.SentencePieceNormalizer(
        rule_name=name,
        add_dummy_prefix=False,
        escape_whitespaces=False,
        remove_extra_whitespaces=False,
    )
    ours = normalizers.Precompiled(base64.b64encode(trained_charsmap(name)).decode(), STRICT)

    @drawn(500)
    @given(text_of())
    def check(text: str) -> None:
        text = text.replace("▁", "").replace("\0", "")  # stands for a space there; ends a search
        expected = theirs.normalize(text)
        assert ours.normalize_text(text) == expected
        aligned = ours.normalize(AlignedText.of(text))
        assert aligned.text == expected
        assert list(aligned.spans) == sorted(aligned.spans)

    check()


def test_under_the_strict_profile_what_vanishes_is_accounted_for() -> None:
    rules = base64.b64encode(compile_charsmap({"a": "", "e": "xyz"})).decode()
    strict, usual = normalizers.Precompiled(rules, STRICT), normalizers.Precompiled(rules)
    assert strict.normalize(AlignedText.of("aab")).spans == ((2, 3),)
    assert usual.normalize(AlignedText.of("aab")).spans == ((0, 1),)
    assert strict.normalize(AlignedText.of("eab")).spans[-1] == (2, 3)


def test_under_the_strict_profile_nothing_stands_for_nothing() -> None:
    before = normalizers.Replace(Regex("^"), "_", STRICT)
    assert before.normalize(AlignedText.of("ab")).spans == ((0, 1), (0, 1), (1, 2))
    both = normalizers.Sequence((before, normalizers.Lowercase()))
    assert not both.may_insert_first
    assert both.normalize_text("AB") == "_ab"
    text = AlignedText.of("ab")
    assert normalizers.Prepend("", STRICT).normalize(text) == text


@pytest.mark.parametrize("name", sorted(NORMALIZERS))
def test_the_empty_text_stays_empty(name: str) -> None:
    fields: dict[str, tuple[Any, ...]] = {
        "Strip": (True, True),
        "Prepend": ("x",),
        "Replace": (Regex("^"), "x"),
        "Sequence": ((),),
        "Precompiled": (base64.b64encode(compile_charsmap({"a": "b"})).decode(),),
    }
    normalizer = NORMALIZERS[name](*fields.get(name, ()))
    assert normalizer.normalize(AlignedText.of("")) == AlignedText.of("")
    assert normalizer.normalize_text("") == ""


WRONG: list[tuple[str, tuple[Any, ...], str]] = [
    ("Strip", (1, True), "strip_left must be a bool, got 1"),
    ("Strip", (True, None), "strip_right must be a bool, got None"),
    ("Prepend", (None,), "prepend must be a str, got None"),
    ("Replace", ("a", "b"), "pattern must be a Literal or a Regex, got 'a'"),
    ("Replace", (Literal("a"), 1), "content must be a str, got 1"),
    ("Sequence", ([],), "normalizers must be a tuple, got []"),
    ("BertNormalizer", (True, True, None, 0), "lowercase must be a bool, got 0"),
    ("BertNormalizer", (True, True, 0), "strip_accents must be a bool or None, got 0"),
    ("Precompiled", (["x"],), "precompiled_charsmap must be a str, got a list"),
    ("Precompiled", ("a?",), "precompiled_charsmap must be in base64, got 'a?'"),
    ("Precompiled", ("é",), "precompiled_charsmap must be in base64, got 'é'"),
    ("Precompiled", ("AAAAAB==",), "precompiled_charsmap must be in base64, got 'AAAAAB=='"),
    ("Precompiled", ("",), "precompiled_charsmap must have at least 4 bytes, got 0"),
]


@pytest.mark.parametrize(("name", "fields", "sentence"), WRONG)
def test_wrong_fields_are_refused(name: str, fields: tuple[Any, ...], sentence: str) -> None:
    kind = VocabularyError if name == "Precompiled" else ParameterError
    with pytest.raises(kind) as error:
        NORMALIZERS[name](*fields)
    assert str(error.value) == sentence


def test_the_tables_hold_what_the_engine_counts() -> None:
    counts = {
        name: len(characters_of(name))
        for name in ("COMBINING_MARKS", "BERT_REMOVED", "BERT_ACCENTS")
    }
    assert counts == {"COMBINING_MARKS": 2097, "BERT_REMOVED": 137681, "BERT_ACCENTS": 1567}
    assert len(table("normalizers")["LOWERCASE"]) < 3000


def test_replacing_in_a_row_cannot_fill_the_memory() -> None:
    replace = NORMALIZERS["Replace"]
    row = NORMALIZERS["Sequence"]((replace(Literal("a"), "a" * 10),) * 12)
    for normalize in (row.normalize_text, lambda text: row.normalize(AlignedText.of(text)).text):
        with pytest.raises(ParameterError, match="at most 16777216 characters long"):
            normalize("aaaa")
    assert replace(Literal("a"), "").normalize_text("a" * 20_000_000) == ""
