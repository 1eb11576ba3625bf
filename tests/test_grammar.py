"""Grammar masks, compared with their definition: all texts of small languages, written out."""

import re
from itertools import product
from math import inf
from string import punctuation
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from authoring.cases.sampling.row_draft import row_request
from bpe_ref import ParameterError, PatternError, TokenIdError, load, vocabulary_by_concatenation
from bpe_ref.grammar import (
    DEEPEST,
    MOST_REMEMBERED,
    MOST_STATES,
    Grammar,
    GrammarMatcher,
    byte_ranges,
)
from bpe_ref.vocabulary import Vocabulary
from tests.texts import drawn
from tokenref.answers import Unsupported
from tokenref.engines import table
from tokenref.engines.reference import ReferenceEngine
from tokenref.floats import unpack

LETTERS = ("a", "b", "\u00e9", "\u4f60", ".", "\U0001f600")

SPELLED = [
    *(letter.encode() for letter in LETTERS),
    *(b"ab", b"ba", b"aa", b"abab", b"a.", "b\u00e9".encode(), "a\u4f60b".encode()),
    *(b"\xc3", b"\xa9", b"\xa9a", b"a\xc3", b"\xe4", b"\xbd\xa0", b"\xe4\xbd", b"\xf0\x9f\x98"),
    *(b"\x80", b"\n", b"\xff"),
]
VOCABULARY = vocabulary_by_concatenation({data: id_ for id_, data in enumerate(SPELLED)})

Language = tuple[str, frozenset[str]]
"""A pattern, and all texts that match it, found without an automaton."""


def one(letter: str) -> Language:
    return (f"\\{letter}" if letter in punctuation else letter), frozenset([letter])


def some(letters: set[str]) -> Language:
    return "[" + "".join(sorted(letters)) + "]", frozenset(letters)


def joined(parts: list[Language]) -> Language:
    texts = frozenset("".join(each) for each in product(*(part[1] for part in parts)))
    return "".join(f"(?:{part[0]})" for part in parts), texts


def either(parts: list[Language]) -> Language:
    return f"({'|'.join(part[0] for part in parts)})", frozenset().union(*(p[1] for p in parts))


def repeated(part: Language, least: int, most: int) -> Language:
    counts = {(0, 1): "?", (1, 1): "{1}", (2, 2): "{2}"}
    quantifier = counts.get((least, most), f"{{{least},{most}}}")
    texts = [joined([part] * count)[1] for count in range(least, most + 1)]
    return f"(?:{part[0]}){quantifier}", frozenset().union(*texts)


def larger(inner: st.SearchStrategy[Language]) -> st.SearchStrategy[Language]:
    return st.one_of(
        st.lists(inner, max_size=3).map(joined),
        st.lists(inner, min_size=1, max_size=3).map(either),
        st.tuples(inner, st.sampled_from([(0, 1), (1, 1), (0, 2), (2, 2), (1, 2)])).map(
            lambda pair: repeated(pair[0], *pair[1])
        ),
    ).filter(lambda language: len(language[1]) <= 300)


LANGUAGES = st.recursive(
    st.sampled_from(LETTERS).map(one)
    | st.sets(st.sampled_from(LETTERS), min_size=1, max_size=3).map(some),
    larger,
    max_leaves=6,
)


def begins_a_text(data: bytes, texts: set[bytes]) -> bool:
    """Return whether some continuation is in the language, which is the definition."""
    return any(text.startswith(data) for text in texts)


@drawn(150)
@given(LANGUAGES, st.data())
def test_a_token_is_allowed_exactly_if_a_text_goes_on_with_it(
    language: Language, data: st.DataObject
) -> None:
    pattern, texts = language
    spelled = {text.encode() for text in texts}
    matcher, so_far, past = GrammarMatcher(Grammar(pattern), VOCABULARY), b"", [b""]
    for _ in range(6):
        allowed = matcher.allowed()
        assert allowed == [
            token for token, more in enumerate(SPELLED) if begins_a_text(so_far + more, spelled)
        ]
        assert matcher.may_end == (so_far in spelled)
        if len(past) > 1 and data.draw(st.booleans()):
            count = data.draw(st.integers(0, len(past) - 1))
            matcher.rollback(count)
            past = past[: len(past) - count]
        elif allowed:
            token = data.draw(st.sampled_from(allowed))
            matcher.accept(token)
            past.append(past[-1] + SPELLED[token])
        so_far = past[-1]


@drawn(150)
@given(LANGUAGES, st.text("ab\u00e9\u4f60.\n", max_size=6))
def test_a_language_is_that_of_pythons_re(language: Language, text: str) -> None:
    grammar = Grammar(language[0])
    for each in (text, *sorted(language[1])[:5]):
        assert grammar.matches(each.encode()) == (re.fullmatch(language[0], each) is not None)


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "a*",
            "(ab)*",
            "a+b?",
            "(a|b)*abb",
            "(a*)*",
            "(a?)*b",
            "(a|)(b|)+",
            "a{2,}b{0}",
            "",
            "|a",
        ),
        *(
            ".*",
            "[^a]*",
            "[^ab\\n]b",
            "a.b",
            "[a-b]+",
            "(?:ab|a)(?:b|)",
            "((a|ab)(c|bcd))?",
            "\\.\\*",
        ),
        *(
            "[\u00e9-\u4f60]",
            "[^\u00e0-\u4f61]",
            "[\\^\\]\\-]",
            "\\n|\\t|\\r",
            "\u00e9{1,3}",
            "(.a){2}",
        ),
    ],
)
def test_all_short_texts_match_as_in_pythons_re(pattern: str) -> None:
    grammar = Grammar(pattern)
    for letters in product("ab\u00e9\n", repeat=4):
        for count in range(5):
            text = "".join(letters[:count])
            assert grammar.matches(text.encode()) == (re.fullmatch(pattern, text) is not None), text
    for text in ("c", "bcd", ".*", "^", "]", "-", "\t", "\r", "\u4f60", "\u0800", "a\U0010ffffb"):
        assert grammar.matches(text.encode()) == (re.fullmatch(pattern, text) is not None), text


@pytest.mark.parametrize(
    ("first", "last"),
    [(0, 0x10FFFF), (0x7F, 0x80), (0x7FF, 0x800), (0xFFFF, 0x10000), (0xD7FF, 0xD7FF), (65, 65)],
)
def test_ranges_of_characters_are_their_bytes(first: int, last: int) -> None:
    sequences = list(byte_ranges(first, last))
    near = {first, last}
    near |= {
        n for edge in (0x80, 0x800, 0x1000, 0x10000, 0x40000) for n in range(edge - 66, edge + 66)
    }
    for number in near:
        if not 0xD800 <= number <= 0xDFFF:
            data = chr(number).encode()
            found = sum(
                len(each) == len(data)
                and all(low <= byte <= high for byte, (low, high) in zip(data, each, strict=True))
                for each in sequences
            )
            assert found == (first <= number <= last), number


def test_no_bytes_that_are_not_text_begin_a_text() -> None:
    grammar = Grammar("(.|\\n)*")
    for data in (b"\x80", b"\xc0", b"\xe0\x80", b"\xed\xa0", b"\xf4\x90", b"\xf5", b"a\xff"):
        assert not grammar.after(data)
    for data in (b"\xe0\xa0", b"\xed\x9f", b"\xf4\x8f\xbf", b"\xf0\x90"):
        assert grammar.after(data)
        assert not grammar.matches(data)


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("a**", "must not have a quantifier behind a quantifier (character 2)"),
        ("a*?", "must not have a quantifier behind a quantifier"),
        ("*a", "must escape '*' here (character 0)"),
        ("(a", "must close every group"),
        ("a)", "must open every group that it closes"),
        ("(?=a)", "must escape '?' here"),
        ("^a$", "must escape '^' here"),
        ("[]", "must not have an empty set"),
        ("[b-a]", "must not have a range that ends before it begins"),
        ("[a", "must not end here"),
        ("[[a]]", "must escape '[' here"),
        ("[a-]", "must escape ']' here"),
        ("a{2,1}", "must repeat as {m}, {m,} or {m,n} with n at least m"),
        ("a{,2}", "must have a number of one to nine digits after { or ,"),
        ("a{1234567890}", "must have a number of one to nine digits"),
        ("a}", "must escape '}' here"),
        ("\\d", "must escape a sign of ASCII, or n, r or t"),
        ("a\\", "must escape a sign of ASCII"),
        ("[^\x00-\U0010ffff]", "must match some text"),
        ("a\ud800", "must not contain surrogates"),
        ("(a{300}){300}", f"must need at most {MOST_STATES} states; repeat less"),
        ("(){999999999}", f"must need at most {MOST_STATES} states; repeat less"),
        (
            "(" * (DEEPEST + 1) + ")" * (DEEPEST + 1),
            f"must have groups in groups at most {DEEPEST}",
        ),
    ],
)
def test_what_is_no_pattern_is_one_sentence(pattern: str, says: str) -> None:
    with pytest.raises(PatternError) as raised:
        Grammar(pattern)
    assert says in str(raised.value)
    assert len(str(raised.value)) < 300
    assert "\n" not in str(raised.value)


def test_a_pattern_is_a_str() -> None:
    no_text: Any = b"a"
    with pytest.raises(PatternError, match=r"^a pattern must be a str, got b'a'$"):
        Grammar(no_text)


def with_special() -> Vocabulary:
    return vocabulary_by_concatenation({b"a": 0, b"b": 1}, special_tokens={"<end>": 2})


def test_a_token_that_is_not_allowed_changes_nothing() -> None:
    matcher = GrammarMatcher(Grammar("a<end>|ab"), with_special())
    matcher.accept(0)
    for token in (0, 2):  # the text of a special token is no text
        with pytest.raises(
            ParameterError, match=r"^token must be one that the grammar allows after 1"
        ):
            matcher.accept(token)
    for no_id in (3, -1, True):
        with pytest.raises(TokenIdError):
            matcher.accept(no_id)
    assert matcher.allowed() == [1]
    for count in (2, -1, True):
        with pytest.raises(ParameterError, match=r"^count must be a whole number from 0 to 1"):
            matcher.rollback(count)
    matcher.rollback(0)
    matcher.rollback()
    assert matcher.allowed() == [0]


def test_a_grammar_that_needs_missing_bytes_allows_nothing_and_says_so() -> None:
    matcher = GrammarMatcher(Grammar("ac"), with_special())
    assert matcher.allowed() == [0]  # some continuation is in the language: the bytes of ac
    matcher.accept(0)
    assert matcher.allowed() == []
    assert not matcher.may_end


def test_memory_is_bounded() -> None:
    grammar = Grammar("(a|b)*a(a|b){12}")  # 8,192 sets of states
    for letters in product(b"ab", repeat=13):
        grammar.after(bytes(letters))
    assert len(grammar._next) <= MOST_REMEMBERED
    assert grammar.matches(b"a" * 13)
    assert not grammar.matches(b"ab" + b"a" * 10)


JSON_LIKE = [
    ('\\{"n":(0|[1-9][0-9]*)(,"s":"[^"\\\\\n]*")?\\}', '{"n":120,"s":"Hi there"}'),
    ("(true|false)(, (true|false))*", "true, false, true"),
]


@pytest.mark.parametrize(("pattern", "text"), JSON_LIKE)
def test_the_tokens_of_a_text_are_allowed_one_after_the_other(pattern: str, text: str) -> None:
    tiny = load("tiny")
    matcher = GrammarMatcher(Grammar(pattern), tiny.model.vocabulary)  # type: ignore[attr-defined]
    for token in tiny.encode(text):
        assert token in matcher.allowed()
        matcher.accept(token)
    assert matcher.may_end


# ---- engines


@pytest.mark.parametrize("name", ["llguidance", "xgrammar", "outlines-core"])
def test_an_engine_answers_about_grammars_and_bitmasks_only(name: str) -> None:
    engine: Any = table.engine(name)
    if isinstance(engine, table.Unavailable):
        pytest.skip(engine.reason)
    session, right = engine.load(VOCABULARY, ""), ReferenceEngine().load(VOCABULARY, "")
    calls = [{"accept": SPELLED.index(b"\xc3")}, {"rollback": 1}, {"accept": 0}]
    request = {"pattern": "(a|\u00e9|\u00ea)b?", "calls": calls}
    assert session.answer("grammar_mask", request) == right.answer("grammar_mask", request)
    for wrong in ({"pattern": "(a", "calls": []}, {"pattern": "a", "calls": [{"accept": 1}]}):
        assert session.answer("grammar_mask", wrong).code == "INVALID_PARAMETER"
    unknown = {"pattern": "a", "calls": [{"accept": 999}]}
    assert session.answer("grammar_mask", unknown).code == "UNKNOWN_ID"
    assert session.answer("encode", {"text": "a"}) == Unsupported("only has grammars")
    large = vocabulary_by_concatenation({b"a": 1 << 32})
    assert isinstance(engine.load(large, ""), Unsupported)
    masks = engine.load_profile("standard")
    if name == "outlines-core":
        assert masks == Unsupported("has no samplers, only bitmasks")
        return
    row = row_request([float(n) for n in range(40)], words=[1 << 31 | 2, 1 << 7])
    kept = [1, 31, 39]
    answer = masks.answer("token_mask", row).out["logits"]
    assert [token for token, logit in enumerate(unpack(answer)) if logit != -inf] == kept
    assert isinstance(masks.answer("token_mask", row_request([1.0], tokens=[0])), Unsupported)
    assert isinstance(masks.answer("top_k", {}), Unsupported)
