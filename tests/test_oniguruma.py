"""Oniguruma's expressions mean here what they mean in tokenizers."""
# ruff: noqa: RUF001 -- letters that look alike are the point

import random
import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_ref.data import table
from bpe_ref.errors import PatternError
from bpe_ref.patterns import expression as searching
from bpe_ref.patterns.oniguruma.characters import posix_set, property_set
from bpe_ref.patterns.oniguruma.reading import compile_oniguruma
from bpe_ref.patterns.unicode_tables import TABLES, to_ranges
from tests.oniguruma_patterns import pattern_from, text_from
from tests.texts import CAMPAIGN, drawn

tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")

MARK = "\ue000"
SURROGATES = range(0xD800, 0xE000)
EVERYTHING = "".join(chr(c) for c in range(0x110000) if c not in SURROGATES)


def engine(pattern: str, text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return the text with each match replaced, and the places of what is not empty."""
    expression = tokenizers.Regex(pattern)
    split = tokenizers.pre_tokenizers.Split(expression, "isolated")
    places = [place for _, place in split.pre_tokenize_str(text)]
    return tokenizers.normalizers.Replace(expression, MARK).normalize_str(text), places


def ours(spans: list[tuple[int, int]], text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return the same for the matches that we found."""
    parts: list[str] = []
    places: list[tuple[int, int]] = []
    end = 0
    for start, stop in spans:
        parts += [text[end:start], MARK]
        places += [(end, start), (start, stop)]
        end = stop
    places.append((end, len(text)))
    replaced = "".join([*parts, text[end:]])
    return replaced, [place for place in places if place[0] < place[1]]


def is_taken(pattern: str) -> bool:
    """Tell whether the engine takes a pattern."""
    try:
        tokenizers.Regex(pattern)
    except Exception as error:  # noqa: BLE001 -- the library has no error class
        assert "Oniguruma error" in str(error)  # noqa: PT017
        return False
    return True


def refusal(pattern: str) -> str | None:
    """Return why we refuse a pattern, or None."""
    try:
        compile_oniguruma(pattern)
    except PatternError as error:
        return str(error)
    return None


@drawn(1500)
@given(seed=st.integers(0, 2**64))
def test_a_pattern_means_what_it_means_in_the_engine(seed: int) -> None:
    draw = random.Random(seed)
    pattern = pattern_from(draw)
    if refusal(pattern):
        return  # ours may refuse more; what, is tested below
    assert is_taken(pattern), pattern
    compiled = compile_oniguruma(pattern)
    for text in [text_from(draw) for _ in range(3)]:
        expected = engine(pattern, text)
        for find in (compiled.spans, compiled.spans_by_definition):
            try:
                spans = find(text)
            except PatternError as error:  # the engine looks for a letter that must occur first
                assert "in time" in str(error)  # noqa: PT017
                assert "{" in pattern or "*" in pattern or "+" in pattern
                continue
            assert ours(spans, text) == expected, (pattern, text)
            found = [text[start:stop] for start, stop in spans if start < stop]
            covered = [text[start:stop] for start, stop in expected[1]]
            assert compiled.texts(text, between=False) in (None, found), (pattern, text)
            assert compiled.texts(text, between=True) in (None, covered), (pattern, text)


def test_the_texts_found_are_those_of_the_spans() -> None:
    text = "a 1é\U0001f600b 22 c\U0001d7d8\U0001f600"
    compiled = compile_oniguruma(r"\p{N}+|\p{L}")
    found = ["a", "1", "é", "b", "22", "c", "\U0001d7d8"]
    assert [text[start:stop] for start, stop in compiled.spans(text)] == found
    assert compiled.texts(text, between=True) == [
        *("a", " ", "1", "é", "\U0001f600", "b", " ", "22", " ", "c", "\U0001d7d8", "\U0001f600")
    ]
    for part in (text, text[:3]):
        only = compiled.texts(part, between=False)
        assert only is None or only == [part[start:stop] for start, stop in compiled.spans(part)]
    assert compile_oniguruma(r"(?=a)").texts("a", between=True) is None


def test_the_patterns_drawn_are_taken_and_find_something() -> None:
    draw = random.Random(1)
    counts: Counter[str] = Counter()
    for _ in range(600):
        pattern = pattern_from(draw)
        taken, refused = is_taken(pattern), refusal(pattern)
        counts["taken" if taken else "not taken"] += 1
        counts["refused by us only"] += taken and refused is not None
        if refused is None:
            text = text_from(draw)
            counts["tried"] += 1
            counts["found"] += bool(compile_oniguruma(pattern).spans(text))
    assert counts["taken"] > 250
    assert counts["found"] > counts["tried"] * 0.2
    assert counts["refused by us only"] < counts["taken"] * 0.12


QUIRKS = [
    # syntax
    (r"(?i)s\x73", "ß", [(0, 1)]),
    (r"(?i)ss+", "ß", []),
    (r"(?i)(?:x+s)s", "xß", []),
    (r"(?i)y(?:x+s)s", "yxß", [(0, 3)]),
    (r"a(?i)b|c", "aB C aC", [(0, 2), (5, 7)]),
    (r"a{1,2}+", "aaaaa", [(0, 5)]),
    (r"a{2}?b", "aab b ab", [(0, 3), (4, 5), (7, 8)]),
    (r"a{2,1}a", "aaa", [(0, 3)]),
    (r"a{2,1}a", "aa", []),
    (r"a{,2}b", "aab", [(0, 3)]),
    (r"a{,}|b{|c{1|{", "a{,} b{ c{1 {", [(0, 4), (5, 7), (8, 11), (12, 13)]),
    (r"(?:ab){1}+", "abb", [(0, 3)]),
    (r"\h+|\q|\pL", "afg q pL", [(0, 2), (4, 5), (6, 8)]),
    (r"[a-c-e]+", "a-d-e", [(0, 2), (3, 5)]),
    (r"[]a]+|[^]b]", "]a b", [(0, 2), (2, 3)]),
    (r"[a-z&&[^aeiou]]+", "abcde", [(1, 4)]),
    (r"[a&&]|b", "ab", [(1, 2)]),
    (r"(?x) a # comment" + "\n +b", "aab ab", [(0, 3), (4, 6)]),
    (r"(?#x)a(?#y)+", "aa", [(0, 2)]),
    (r"\u0061\x{62}\143\o{144}\x65\t", "abcde\t", [(0, 6)]),
    (r"\xC3\xA9", "é", [(0, 1)]),
    # places
    (r"^", "a\nb\n", [(0, 0), (2, 2)]),
    (r"$", "a\nb\n", [(1, 1), (3, 3), (4, 4)]),
    (r"\Z", "a\n", [(1, 1), (2, 2)]),
    (r"\Ga", "aaba", [(0, 1), (1, 2)]),
    (r"a\Kb", "ab b", [(1, 2)]),
    (r"(?m:.)|.", "\n", [(0, 1)]),
    (r"\R", "\r\n\n\r\x85", [(0, 2), (2, 3), (3, 4), (4, 5)]),
    # groups
    (r"(a|ab)\1", "abab aa", [(0, 4), (5, 7)]),
    (r"(?<x>a)(?<x>b)?\k<x>", "aa abb", [(0, 2), (3, 6)]),
    (r"(?<=a+)b", "aab", [(2, 3)]),
    (r"(?>a|ab)c", "abc ac", [(4, 6)]),
    (r"(?:a|ab)??c", "abc", [(0, 3)]),
    (r"(?:|a)+", "aa", [(0, 0), (1, 1), (2, 2)]),
    # case
    (r"(?i)ß", "ss Ss ſs ß ẞ s", [(0, 2), (3, 5), (6, 8), (9, 10), (11, 12)]),
    (r"(?i)[ß]", "ssß", [(0, 2), (2, 3)]),
    (r"(?i)[^ß]", "ssßa", [(0, 1), (1, 2), (3, 4)]),
    (r"(?i)k[a-z]", "KK \u212aſ", [(0, 2), (3, 5)]),
    (r"(?i)ffi", "ﬃ ﬀi fﬁ FFI", [(0, 1), (8, 11)]),
    (r"(?i)\p{Lu}[\p{Lu}]", "Aa aa", [(0, 2)]),
    (r"(?i)(?<=ss)x", "ßx sSx", [(5, 6)]),
    # sets
    (r"\w+", "a²", [(0, 2)]),
    (r"[\w]+", "a²", [(0, 1)]),
    (r"[[:punct:]]", "$.", [(0, 1), (1, 2)]),
    (r"\p{Punct}", "$.", [(1, 2)]),
    (r"\p{ upper-case_LETTER }", "aB", [(1, 2)]),
]


@pytest.mark.parametrize(("pattern", "text", "spans"), QUIRKS)
def test_the_engine_s_reading_is_ours(
    pattern: str, text: str, spans: list[tuple[int, int]]
) -> None:
    compiled = compile_oniguruma(pattern)
    assert engine(pattern, text) == ours(compiled.spans(text), text)
    assert compiled.spans(text) == spans
    assert compiled.spans_by_definition(text) == compiled.spans(text)


SIGNS = ["?", "*", "+", "??", "*?", "+?", "{2}", "{1,3}", "{,2}", "{2,}", "*+", "{3,1}", "{1}"]


@pytest.mark.parametrize("inner", SIGNS)
@pytest.mark.parametrize("outer", SIGNS)
def test_a_quantifier_upon_a_quantifier_means_what_it_means_in_the_engine(
    inner: str, outer: str
) -> None:
    for pattern in (f"(?:a{inner}){outer}", f"xa{inner}{outer}a?y", f"(?:ba{inner}){outer}|a"):
        compiled = compile_oniguruma(pattern)
        for text in ["aaa", "xy xay xaay xaaaay", "b ba baabaaab bb"]:
            expected = engine(pattern, text)
            assert ours(compiled.spans(text), text) == expected, (pattern, text)
            assert ours(compiled.spans_by_definition(text), text) == expected, (pattern, text)


MALFORMED = [
    ("(", 0, "a group is never closed"),
    ("a)", 1, "a group closes that was never opened"),
    ("[a", 2, "the pattern ends too early"),
    ("[]", 1, "a class in brackets is empty"),
    ("*", 0, "there is nothing to repeat"),
    ("a|+", 2, "there is nothing to repeat"),
    ("(?=a)*", 6, "a place cannot be repeated"),
    (r"\p{Greekish}", 1, "there is no property 'Greekish'"),
    (r"\p{script=Greek}", 1, "there is no property 'script=Greek'"),
    ("[[:letter:]]", 1, "there is no POSIX bracket 'letter'"),
    ("[b-a]", 2, "a range must go from one character to a later one"),
    (r"[a-\w]", 2, "a range must end with a character"),
    (r"[\w-a]", 3, "a range must begin with a character"),
    (r"\u12", 1, "four hexadecimal digits must follow"),
    (r"\2", 1, "there is no group 2"),
    ("(?s:.)", 1, "the option 's' is none of i, m and x"),
    ("(?P<n>a)", 0, "this kind of group has no translation"),
    ("a{100001}", 1, "a quantifier may say at most 100000"),
    ("(?:a{50000}){50000}", 19, "quantifiers may say at most 100000 together"),
    ("a\\", 2, "the pattern ends too early"),
]
REFUSED = [
    (r"\X", 1, r"\X has no translation"),
    (r"\y", 1, r"\y has no translation"),
    (r"a\g<0>?", 2, "calling a group has no translation"),
    ("(?~a)", 0, "this kind of group has no translation"),
    ("(a)(?(1)b|c)", 3, "this kind of group has no translation"),
    ("(*FAIL)", 0, "call-outs have no translation"),
    (r"(?W:\w)", 1, "the option 'W' is none of i, m and x"),
    ("(?L)a|ab", 1, "the option 'L' is none of i, m and x"),
    (r"(?i)(a)\1", 8, "a back reference without regard to case has no translation"),
    (r"(a)\k<-1>", 4, "this kind of back reference has no translation"),
    (r"(?<=(?>a))b", 0, "this look-behind has no translation"),
    (r"(?<n>a)(b+)", 7, "this group beside named ones has no translation"),
    (r"\x{61 62}", 5, "braces must hold one code point"),
    (r"\x{110000}", 10, "an escape must name a Unicode scalar value"),
    (r"\x", 1, "a code point must have digits"),
    (r"\M-a", 1, "this way to write a control character is not known"),
    ("[a-[b]]", 2, "a hyphen before a class must be escaped"),
]


@pytest.mark.parametrize(("pattern", "place", "reason"), MALFORMED)
def test_what_the_engine_refuses_is_refused_with_place_and_reason(
    pattern: str, place: int, reason: str
) -> None:
    assert not is_taken(pattern)
    assert refusal(pattern) == f"pattern {pattern!r} cannot be used: at {place}, {reason}"


@pytest.mark.parametrize(("pattern", "place", "reason"), REFUSED)
def test_what_cannot_be_matched_exactly_is_refused_though_the_engine_takes_it(
    pattern: str, place: int, reason: str
) -> None:
    assert is_taken(pattern)
    assert refusal(pattern) == f"pattern {pattern!r} cannot be used: at {place}, {reason}"


def members(pattern: str) -> int:
    """Return the set of the code points that the engine matches."""
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "removed", invert=True)
    digits = bytearray(b"0" * 0x110000)
    for piece, _ in split.pre_tokenize_str(EVERYTHING):
        for character in piece:
            digits[ord(character)] = ord("1")
    return int(digits[::-1], 2)


NAMES = sorted(name for names in table("oniguruma_properties") for name in names.split())


@pytest.mark.parametrize("name", NAMES if CAMPAIGN > 1 else random.Random(2).sample(NAMES, 4))
def test_a_property_holds_what_the_engine_s_holds(name: str) -> None:
    if name.startswith(":"):
        assert posix_set(name[1:]) == members(f"[[{name}:]]")
    else:
        assert property_set(name) == members(rf"\p{{{name}}}")


def test_the_general_categories_agree_with_the_other_table() -> None:
    table = TABLES["unicode-16.0-oniguruma"]
    for name in sorted(table.properties - {"White_Space", "word", "Cs", "C"}):
        assert property_set(name) == table.code_points(name), name
    assert property_set("word") == table.code_points("word")
    assert property_set("space") == table.code_points("White_Space")


def test_the_sets_are_those_measured() -> None:
    names = {name.lstrip(":") for name in NAMES}
    assert {"greek", "han", "hiragana", "emoji", "alphabetic", "incyrillic", "cased"} <= names
    assert len(NAMES) > 850
    assert property_set("Hiragana") == property_set("Hira")
    assert [to_ranges(posix_set("ascii") or 0), property_set("nonsense")] == [[(0, 0x7F)], None]


def test_every_folding_is_the_engine_s() -> None:
    foldable = table("oniguruma_foldings")["FOLD_ALIKE"].replace(" ", "")
    longer = table("oniguruma_foldings")["FOLD_LONG"].split()
    texts = ["\n".join(foldable), "\n".join(string for string in longer), foldable[::-1]]
    sample = random.Random(3).sample(foldable, len(foldable) if CAMPAIGN > 1 else 40)
    for c in [*sample, *(word[-1] for word in longer)]:
        for pattern in (f"(?i){c}", f"(?i)[{c}]", f"(?i)[^{c}]+"):
            for text in texts:
                spans = compile_oniguruma(pattern).spans(text)
                assert ours(spans, text) == engine(pattern, text), (pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+b", "a" * 3000),
        ("(?:a|aa)+$c", "a" * 3000),
        (r"(a|aa)+\1c", "a" * 3000),
        (r"(a*)*\1c", "a" * 3000),
        (r"(?:a+a+a+a+)?\z", "a" * 3000 + "b"),
    ],
)
def test_catastrophic_backtracking_ends_in_an_error(
    pattern: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "SECONDS", 0.2)
    monkeypatch.setattr(searching, "STEPS", 20_000)
    monkeypatch.setattr(searching, "STEPS_PER_CHARACTER", 1)
    monkeypatch.setattr(searching, "SECONDS_PER_CHARACTER", 0.0)
    before = time.process_time()
    with pytest.raises(PatternError, match="must find its matches in time"):
        compile_oniguruma(pattern).spans(text)
    assert time.process_time() - before < 2


def test_long_runs_are_given_to_an_engine_with_a_time_limit() -> None:
    compiled = compile_oniguruma(r"\s+$|\S")
    assert compiled.spans(" " * 50 + "x" * 3000 + " " * 50) == [
        *((at, at + 1) for at in range(50, 3050)),
        (3050, 3100),
    ]
    text = "a b" * 1000 + " " * 600 + "x"
    assert ours(compiled.spans(text), text) == engine(r"\s+$|\S", text)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("a" * 10_001, "a pattern may have at most 10000 characters, not 10001"),
        ("(" * 10_000, "groups may be nested at most 50 deep"),
        ("(?i)" * 2_000, "groups may be nested at most 50 deep"),
        ("[" * 10_000, "classes may be nested at most 50 deep"),
        ("a" + "{2,3}" * 1_900, "groups and quantifiers may be nested at most 100 deep"),
        (
            "".join(f"[{chr(c)}-\U0010ffff]" for c in range(0x4E00, 0x4E00 + 600)),
            "a pattern may have at most 300 different sets",
        ),
        ("".join(map(chr, range(0x4E00, 0x4E00 + 600))), "different sets"),
        ("(?:" * 40 + "a" + "{99999}*)" * 40, None),
    ],
)
def test_a_hostile_pattern_is_refused_soon(pattern: str, reason: str | None) -> None:
    before = time.process_time()
    found = refusal(pattern)
    assert (found is None) if reason is None else (found is not None and reason in found)
    assert time.process_time() - before < 2


def test_patterns_read_are_kept_but_not_without_bound() -> None:
    assert compile_oniguruma.cache_info().maxsize == 64
    assert compile_oniguruma("a") is compile_oniguruma("a")
