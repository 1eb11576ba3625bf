# ruff: noqa: RUF001 -- characters that look like others are what is tested here
"""Pieces are the engine's pieces, and the fast way is the definition."""

import re
from collections.abc import Callable
from functools import cache

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bpe_ref.errors import ParameterError, PatternError
from bpe_ref.patterns.nodes import sets_in
from bpe_ref.patterns.rust import read
from bpe_ref.patterns.translation import translate
from bpe_ref.patterns.unicode_tables import TABLES, characters_in, to_ranges
from bpe_ref.pre_tokenizers.pattern import Pattern

CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
CL100K_ORIGINAL = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
R50K = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
O200K = "|".join(
    (
        *(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
            + first
            + r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
            + second
            + r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
            for first, second in (("*", "+"), ("+", "*"))
        ),
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
QWEN = CL100K_ORIGINAL.replace("{1,3}", "")
DEEPSEEK = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
KIMI = (
    r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+"
)
MODELS = [CL100K, CL100K_ORIGINAL, R50K, O200K, QWEN, DEEPSEEK, KIMI]
SPLITS = [
    *[CL100K.replace("{1,3}+", "{1,3}"), CL100K_ORIGINAL, R50K, O200K, QWEN, DEEPSEEK, KIMI],
    *[r"\w+$|\s$|[\s\S]", r"\bs|\B\w|\W+?", r"(?>s+)t|\W|\S"],
]
SYNTAX = [
    r"[a-z]+",
    r"[^\S\n]+|\w+",
    r"\bs\w*\b|\B.",
    r"(?m)^.+$",
    r"(?s).{2,3}?",
    r"(?<=s)t|(?<!s)\w",
    r"(?<=s|a b)t",
    r"(?>s+)t|\W",
    r"(?:s|t)++a|\d+",
    r"[\w--\p{N}s]+|[\p{L}~~\p{Lu}]",
    r"[\x41-\x{5A}\u0e01é]+|\D",
    r"[^]s]+|[]s-]",
    r"(?i)[k-t]+|[^s]",
    r"a(?i)s|t",
    r"(?<word>s)(?P<other>t)?(a)?|{|a{,2}s",
    r"(?=[\p{L}\p{M}]{2})\p{L}|\P{L}|\p{^L}",
    r"(?-i:s)|(?i-s:t)|\/\-\ \.",
    r"(?i)s(?-i:t)+|k",
    r"(?i)[\w]+|(?i:\s|\d)|\W",
    r"[ſK]+|(?i:sk)",
]

# What the classes of these patterns divide, and where tables and engines are known to differ.
TRICKY = [
    *"sStTkKlLvVrReEdDmMaz'' 019!-_/[]{\\^&~|\t\n\r\v\f\x1c\x1d\x1e\x1f\x00\x7f",
    *"\x85\xa0\u1680\u2028\u2029\u202f\u3000\u180e\u200b\ufeff\u200c\u200d\xb2\xbc",
    *"ſKıéßẞǅʼª\u0301\u0345\u1df6\u0e01\u0e33中々한の",
    *"\u1c89\u088f\u0295\ua7cb\ua7ce\U00010940\U000105c9\U00011de0\U00016ff4\U0001e5ee",
    *"٣²ⅷⓐⒶ😀\u2019\ue000\U0010ffff",
]
texts = st.lists(st.sampled_from(TRICKY) | st.characters(exclude_categories=["Cs"])).map("".join)


def pieces_by_definition(pattern: str, text: str) -> list[str]:
    """Return the pieces that `regex` finds, every set written out as ranges of code points."""
    found: list[str] = definition(pattern).findall(text)
    return found


@cache
def definition(pattern: str) -> "regex.Pattern[str]":
    table = TABLES["unicode-16.0"]
    source = translate(read(pattern, table), table.code_points("word"))
    assert source is not None
    return regex.compile(source)


def tiktoken_pieces(pattern: str, text: str) -> list[str]:
    """Return tiktoken's pieces, by a vocabulary in which each possible piece is one token."""
    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is not installed")
    ranks = {bytes([byte]): byte for byte in range(256)}
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            ranks.setdefault(text[start:end].encode(), len(ranks))
    encoding = tiktoken.Encoding("probe", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    tokens = encoding.encode_ordinary(text)
    return [encoding.decode_single_token_bytes(token).decode() for token in tokens]


def split_of_tokenizers(pattern: str) -> Callable[[str], list[str]]:
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "removed", invert=True)
    return lambda text: [piece for piece, _ in split.pre_tokenize_str(text)]


@pytest.mark.parametrize("pattern", [*MODELS, *SYNTAX])
@settings(deadline=None)  # the first text compiles the pattern
@given(text=texts)
@example(text="".join(TRICKY))
@example(text="".join(reversed(TRICKY)))
def test_the_fast_way_is_the_definition(pattern: str, text: str) -> None:
    pretokenizer = Pattern(pattern)
    assert pretokenizer.cut_text(text) == pieces_by_definition(pretokenizer.pattern, text)


@pytest.mark.parametrize("pattern", [*MODELS, *SYNTAX])
@settings(deadline=None, max_examples=50)
@given(text=texts.map(lambda text: text[:16]))
@example(text="'sx 'ſ'LL a\x1cb\n\n  ")
@example(text="\u1c89\u088f\u0295\U00011de0")
@example(text="sT ST st\nkK a")
def test_pieces_are_those_of_tiktoken(pattern: str, text: str) -> None:
    assert Pattern(pattern).cut_text(text) == tiktoken_pieces(pattern, text)


@pytest.mark.parametrize("pattern", SPLITS)
@settings(deadline=None)
@given(text=texts)
@example(text="".join(TRICKY))
def test_pieces_are_those_of_the_split_of_tokenizers(pattern: str, text: str) -> None:
    pretokenizer = Pattern(pattern, "unicode-16.0-oniguruma")
    assert pretokenizer.cut_text(text) == split_of_tokenizers(pattern)(text)


@pytest.mark.parametrize("pattern", MODELS)
def test_the_edges_of_every_class_are_cut_by_the_definition(pattern: str) -> None:
    table = TABLES["unicode-16.0"]
    edges = {
        code_point
        for members in sets_in(read(pattern, table))
        for first, last in to_ranges(members)
        for code_point in (max(0, first - 1), first, last, min(0x10FFFF, last + 1))
    }
    text = "".join(f"a{chr(c)}1{chr(c)}" for c in sorted(edges))
    pretokenizer = Pattern(pattern)
    assert pretokenizer.cut_text(text) == pieces_by_definition(pretokenizer.pattern, text)


@pytest.mark.parametrize("pattern", MODELS)
def test_long_runs_are_cut_by_the_definition(pattern: str) -> None:
    times = 1100 if pattern == KIMI else 3000  # for which the definition takes quadratic time
    text = "".join(one * times for one in "a A你1-\n x\n\t 'S")
    assert Pattern(pattern).cut_text(text) == pieces_by_definition(pattern, text)


letters = st.sampled_from([r"\p{L}", r"\p{Lu}", r"\s", r"\w", r"[^\s\p{N}]", "s", "é", ".", r"\d"])
patterns = st.recursive(
    st.tuples(letters, st.sampled_from(["", "", "+", "++", "{1,2}", "{2}+", "+?"])).map("".join),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("|".join),
        st.tuples(st.sampled_from(["(?:", "(?i:", "(?>"]), inner).map(
            lambda pair: f"{pair[0]}{pair[1]})" if "i" not in pair[0] else f"(?:{pair[1]})"
        ),
        st.tuples(inner, st.sampled_from(["(?!", "(?="]), letters).map(
            lambda triple: f"(?:{triple[0]}){triple[1]}{triple[2]})"
        ),
        st.tuples(inner, st.sampled_from(["?", "*", "?+"]), letters).map(
            lambda triple: f"(?:{triple[0]}){triple[1]}{triple[2]}"
        ),
    ),
    max_leaves=5,
)


@settings(deadline=None, max_examples=200)
@given(pattern=patterns, text=texts)
def test_any_pattern_is_found_the_fast_way(pattern: str, text: str) -> None:
    pretokenizer = Pattern(pattern)
    assert pretokenizer.cut_text(text) == pieces_by_definition(pretokenizer.pattern, text)


@settings(deadline=None, max_examples=200)
@given(pattern=patterns, text=texts.map(lambda text: text[:12]))
def test_any_pattern_is_read_as_tiktoken_reads_it(pattern: str, text: str) -> None:
    assert Pattern(pattern).cut_text(text) == tiktoken_pieces(pattern, text)


@pytest.mark.parametrize("letter", "abcdefghijklmnopqrstuvwxyz")
def test_case_folding_of_ascii_is_that_of_tiktoken(letter: str) -> None:
    """Tiktoken drops what its pattern does not match, so its tokens spell the class."""
    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is not installed")
    ranks = {bytes([byte]): byte for byte in range(256)}
    everything = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000)
    table = TABLES["unicode-16.0"]
    for pattern in (f"(?i){letter}", f"(?i:[{letter.upper()}])"):
        encoding = tiktoken.Encoding(
            "probe", pat_str=pattern, mergeable_ranks=ranks, special_tokens={}
        )
        answer = bytes(encoding.encode_ordinary(everything)).decode()
        (members,) = sets_in(read(pattern, table))
        assert characters_in(members) == answer


# Ways to be wrong that were seen in other projects, or that a hurried reader would write.
MUTANTS: dict[str, Callable[[str], list[str]]] = {
    "installed tables": regex.compile(CL100K.replace("$", r"\Z")).findall,
    "str.isspace": Pattern(CL100K.replace(r"\s", r"[\s\x1c-\x1f]")).cut_text,
    "ASCII case": Pattern(CL100K.replace("(?i:[sdmt]", "(?:[sdmtSDMT]")).cut_text,
    "ASCII digits": Pattern(CL100K.replace(r"\p{N}", "[0-9]")).cut_text,
    "decimal digits": Pattern(CL100K.replace(r"\p{N}", r"\d")).cut_text,
    "marks as letters": Pattern(CL100K.replace(r"\p{L}", r"[\p{L}\p{M}]")).cut_text,
    "the other spelling": Pattern(CL100K_ORIGINAL).cut_text,
    "no contractions": Pattern(CL100K.partition("|[^")[2].join(["[^", ""])).cut_text,
    "one digit": Pattern(CL100K.replace("{1,3}+", "")).cut_text,
    "zero-width space": Pattern(CL100K.replace(r"\s", "[\\s\u200b]")).cut_text,
}
FIXED_TEXTS = [
    "a\u1c89b a\u088fb",  # a letter since Unicode 16.0, and one of a later version
    "a \n",
    "a \x1c!",
    "'ſx",
    "'Sx",
    "x\u0663y\u00b2z",
    "e\u0301x!\u0301",
    "\n\n ",
    "it's",
    "1234",
    "a \u200bb",
]


def test_each_fixed_mutant_gives_itself_away() -> None:
    right = Pattern(CL100K)
    answers = [right.cut_text(text) for text in FIXED_TEXTS]
    assert answers == [pieces_by_definition(CL100K, text) for text in FIXED_TEXTS]
    survivors = [name for name, mutant in MUTANTS.items() if [*map(mutant, FIXED_TEXTS)] == answers]
    assert survivors == []


@pytest.mark.parametrize("text", FIXED_TEXTS)
def test_the_fixed_texts_are_cut_as_tiktoken_cuts_them(text: str) -> None:
    assert Pattern(CL100K).cut_text(text) == tiktoken_pieces(CL100K, text)


def test_the_end_of_the_text_is_not_before_its_last_newline() -> None:
    assert Pattern("a$").cut_text("a\n") == []
    assert Pattern("a$").cut_text("é\na") == ["a"]
    assert Pattern("(?m)a$").cut_text("a\na\n") == ["a", "a"]


def test_text_that_nothing_matches_is_dropped() -> None:
    assert Pattern("[a-z]+").cut_text("ab12cd") == ["ab", "cd"]
    assert Pattern("[a-zé]+").cut_text("abé12écd") == ["abé", "écd"]
    assert Pattern("[a-z]+").cut_text("é12") == []


@pytest.mark.parametrize(
    ("pattern", "text", "pieces"),
    [
        (r"\p{L}+", "a\U0001d49c😀\U0001d49cé", ["a\U0001d49c", "\U0001d49cé"]),
        (r"\p{L}+|\P{L}", "😀\U0001d49ca😀", ["😀", "\U0001d49ca", "😀"]),
        (r"[😀a]+|é", "a😀é😀", ["a😀", "é", "😀"]),
        (r"😀+|é", "a😀😀é😀", ["😀😀", "é", "😀"]),
    ],
)
def test_characters_beyond_ffff_are_cut_as_themselves(
    pattern: str, text: str, pieces: list[str]
) -> None:
    pretokenizer = Pattern(pattern)
    assert pretokenizer.cut_text(text) == pieces_by_definition(pretokenizer.pattern, text) == pieces


def test_the_empty_text_has_no_pieces() -> None:
    assert Pattern(CL100K).cut_text("") == []


def test_surrogates_are_neither_letters_nor_spaces() -> None:
    text = "a\ud800b \udfff\u0301"
    assert Pattern(CL100K).cut_text(text) == ["a", "\ud800b", " \udfff\u0301"]
    assert pieces_by_definition(CL100K, text) == ["a", "\ud800b", " \udfff\u0301"]


def test_the_components_of_tokenizers_differ_where_their_tables_do() -> None:
    digits = r"\p{N}|\P{N}+"
    assert Pattern(digits).cut_text("a\U00011de0") == ["a\U00011de0"]
    assert Pattern(digits, "tokenizers-digits").cut_text("a\U00011de0") == ["a", "\U00011de0"]
    assert Pattern(r"\w+").cut_text("a\u200db²") == ["a\u200db"]
    assert Pattern(r"\w+", "unicode-16.0-oniguruma").cut_text("a\u200db²") == ["a", "b²"]


@pytest.mark.parametrize(
    ("pattern", "position", "reason"),
    [
        (r"\p{Greek}", 0, "table unicode-16.0 has no property 'Greek'"),
        (r"a\p{word}", 1, "table unicode-16.0 has no property 'word'"),
        (r"\pL", 0, "there is no escape for 'p'"),
        (r"\p{Lu", 0, "there is no escape for 'p'"),
        (r"(a)\1", 3, "there is no escape for '1'"),
        (r"a\Kb", 1, "there is no escape for 'K'"),
        (r"\<a", 0, "there is no escape for '<'"),
        (r"\b{start}a", 0, "there is no escape for 'b'"),
        (r"[\ud800]", 7, "an escape must name a Unicode scalar value"),
        (r"\x{110000}", 10, "an escape must name a Unicode scalar value"),
        ("a\\", 2, "the pattern ends too early"),
        ("[a", 2, "the pattern ends too early"),
        ("[]", 2, "the pattern ends too early"),
        ("(a", 2, "a group is never closed"),
        ("a)", 1, "a group closes that was never opened"),
        ("(?~a)", 0, "this kind of group is not known"),
        ("(?(1)a|b)", 0, "this kind of group is not known"),
        ("(?x)a", 0, "the flag 'x' is not one of i, m and s"),
        ("(?-u:a)", 5, "the flag 'u' is not one of i, m and s"),
        ("*a", 0, "there is nothing to repeat"),
        ("a|{2}", 2, "there is nothing to repeat"),
        ("^*a", 1, "there is nothing to repeat"),
        ("(?=a)+a", 5, "there is nothing to repeat"),
        ("a{2,1}", 1, "the quantifier's bounds must be in order"),
        ("a{2}{3}", 4, "a quantifier follows a quantifier"),
        ("a+*", 2, "a quantifier follows a quantifier"),
        ("(?:a?)*b", 6, "what is repeated may be empty"),
        ("[[:alpha:]]", 1, "POSIX brackets mean different sets in different engines"),
        ("[z-a]", 4, "a range must go from one character to a later one"),
        (r"[a-\d]", 5, "a range must go from one character to a later one"),
        (r"[\d-z]", 5, "a range must go from one character to a later one"),
        ("[a-c-e]", 5, "a hyphen in the midst of a class must be escaped"),
        ("(?i)é", 5, "case beyond ASCII cannot be folded"),
        ("(?i)[à-é]", 8, "case beyond ASCII cannot be folded"),
        (r"(?i)\p{Lu}", 4, "case beyond ASCII cannot be folded"),
        ("a*", 0, "it may match the empty text, where the engine panics"),
        ("a|(?=b)", 0, "it may match the empty text, where the engine panics"),
        ("", 0, "it may match the empty text, where the engine panics"),
    ],
)
def test_a_pattern_that_cannot_be_pinned_is_refused(
    pattern: str, position: int, reason: str
) -> None:
    expected = f"pattern {pattern!r} cannot be used: at {position}, {reason}"
    with pytest.raises(PatternError, match=f"^{re.escape(expected)}$"):
        Pattern(pattern)


def test_a_table_without_the_class_refuses_the_pattern() -> None:
    with pytest.raises(PatternError, match="table tokenizers-digits has no property 'L'"):
        Pattern(r"\p{L}", "tokenizers-digits")


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"\p{N}{1,3}+", "'\\+' after braces has another meaning in Oniguruma"),
        (r"a{2}?b", "'\\?' after braces has another meaning in Oniguruma"),
        (r"\xE9", "this escape is a byte in Oniguruma, and no code point"),
        ("(?s).", "flags without a group reach over branches in Oniguruma"),
        ("a(?i)b|c", "flags without a group reach over branches in Oniguruma"),
        ("(?m:a)", "the flags m and s have other meanings in Oniguruma"),
        ("^a", "a caret has another meaning in Oniguruma"),
        ("(?i:'st)", "Oniguruma folds these two letters into one"),
        (r"[\w]", "another set"),
    ],
)
def test_what_oniguruma_reads_otherwise_is_refused_there(pattern: str, reason: str) -> None:
    assert Pattern(pattern)
    with pytest.raises(PatternError, match=reason):
        Pattern(pattern, "unicode-16.0-oniguruma")


def test_an_unknown_table_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"tables must be one of unicode-16.0, .*, got 'x'"):
        Pattern("a", "x")


@pytest.mark.parametrize("name", sorted(TABLES["unicode-16.0"].properties - {"word"}))
def test_every_property_can_be_written_within_and_without_brackets(name: str) -> None:
    text = "".join(TRICKY)
    for pattern in (rf"\p{{{name}}}", rf"[\p{{{name}}}]", rf"[^\P{{{name}}}]"):
        pretokenizer = Pattern(pattern)
        expected = [c for c in text if TABLES["unicode-16.0"].contains(name, ord(c))]
        assert (
            pretokenizer.cut_text(text)
            == pieces_by_definition(pretokenizer.pattern, text)
            == expected
        )


def test_a_pattern_that_takes_exponential_time_is_stopped() -> None:
    pretokenizer = Pattern("(?:a|aa)+c")
    assert pretokenizer.cut_text("aaac aac") == ["aaac", "aac"]
    for text in ("a" * 60, "é" + "a" * 60):
        with pytest.raises(PatternError, match="must find its matches in time"):
            pretokenizer.cut_text(text)


@given(st.text("abc é"))
def test_a_pattern_with_a_time_limit_finds_what_the_definition_finds(text: str) -> None:
    pretokenizer = Pattern(r"(?:ab?)+|c(?: c){0,2}|\s")
    assert pretokenizer.cut_text(text) == pieces_by_definition(pretokenizer.pattern, text)
