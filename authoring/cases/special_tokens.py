"""Cases about special tokens in text: allowed, disallowed, or text like any other."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from authoring.cases.draft import Draft, Purpose, answers, refuses
from tokenref.questions.text import SpecialInput

SPEC: Final = "docs/bpe.md#special-tokens"

Choice: TypeAlias = Literal["all"] | list[str]

_END: Final = "<|endoftext|>"
_PREFIX: Final = "<|fim_prefix|>"
_MIDDLE: Final = "<|fim_middle|>"

_MATRIX_TEXTS: Final = (
    ("none", "plain text", "a text without any special token"),
    ("one", f"a{_END}b", "one special token inside a text"),
    ("two", f"{_PREFIX}a{_MIDDLE}", "two different special tokens"),
    ("half", "<|endoftext", "half of a special token"),
)

_CHOICES: Final[tuple[tuple[str, Choice], ...]] = (
    ("all", "all"),
    ("none", []),
    ("end", [_END]),
    ("prefix", [_PREFIX]),
)


@dataclass(frozen=True)
class _Row:
    slug: str
    vocabulary: str
    text: str
    allowed: Choice
    disallowed: Choice
    fact: str
    known: tuple[int, ...] | None = None
    refused: bool = False


_ROWS: Final = (
    _Row("alone", "tiny", _END, "all", [], "A special token is the whole text", (2000,)),
    _Row(
        "twice",
        "tiny",
        _END * 2,
        "all",
        [],
        "The same one twice, with nothing between",
        (2000, 2000),
    ),
    _Row(
        "adjacent",
        "tiny",
        _PREFIX + _MIDDLE + _END,
        "all",
        [],
        "Three of them in a row",
        (2001, 2002, 2000),
    ),
    _Row("both-ends", "tiny", f"{_END}hello{_END}", "all", [], "One at each end of a text"),
    _Row("in-a-word", "tiny", f"hel{_END}lo", "all", [], "Inside a word, which it cuts in two"),
    _Row("in-a-number", "tiny", f"123{_END}456", "all", [], "Inside a number"),
    _Row("in-digits", "tiny", f"12{_END}3456", "all", [], "Groups of three start anew behind it"),
    _Row("after-space", "tiny", f"a {_END}b", "all", [], "The space before it ends a text"),
    _Row(
        "after-spaces",
        "tiny",
        f"a   {_END}b",
        "all",
        [],
        "Three spaces before it are at the end of a text, so they stay together",
    ),
    _Row("before-space", "tiny", f"{_END} b", "all", [], "The space behind it belongs to the b"),
    _Row("between-newlines", "tiny", f"\n{_END}\n", "all", [], "Between line ends"),
    _Row("in-contraction", "tiny", f"don'{_END}t", "all", [], "Inside a contraction"),
    _Row("after-sign", "tiny", f"!{_END}\n", "all", [], "Between a sign and its line end"),
    _Row("upper-case", "tiny", "<|ENDOFTEXT|>", "all", [], "In upper case it is text"),
    _Row("with-space", "tiny", "<| endoftext |>", "all", [], "With spaces in it, it is text"),
    _Row("full-width", "tiny", "\uff1c|endoftext|\uff1e", "all", [], "In full width it is text"),
    _Row("accent", "tiny", f"{_END}\u0301", "all", [], "An accent behind it starts a text"),
    _Row("bom", "tiny", f"\ufeff{_END}", "all", [], "A byte order mark before it"),
    _Row("nested", "tiny", "<|endof<|endoftext|>text|>", "all", [], "One within the halves of one"),
    _Row("almost", "tiny", "<|endoftext|<|endoftext|>", "all", [], "One broken off, then a whole"),
    _Row("empty", "tiny", "", "all", "all", "No text at all, so nothing can be refused", ()),
    _Row(
        "unknown-allowed",
        "tiny",
        "<|nothing|>",
        ["<|nothing|>"],
        [],
        "Allowing a name that is no special token leaves it text",
    ),
    _Row(
        "unknown-allowed-beside",
        "tiny",
        f"<|nothing|>{_END}",
        ["<|nothing|>", _END],
        [],
        "Allowing an unknown name does not disturb a known one",
    ),
    _Row(
        "unknown-disallowed",
        "tiny",
        "a<|nothing|>",
        [],
        ["<|nothing|>"],
        "A disallowed text is refused even if it is no special token",
        refused=True,
    ),
    _Row(
        "unknown-disallowed-absent",
        "tiny",
        "plain",
        [],
        ["<|nothing|>"],
        "A disallowed text that does not occur refuses nothing",
    ),
    _Row(
        "word-disallowed",
        "tiny",
        "a secret word",
        [],
        ["secret"],
        "Any text can be disallowed",
        refused=True,
    ),
    _Row(
        "allowed-and-disallowed",
        "tiny",
        f"a{_END}",
        [_END],
        [_END],
        "What is both allowed and disallowed is refused",
        refused=True,
    ),
    _Row(
        "other-disallowed",
        "tiny",
        f"a{_END}",
        [_END],
        [_PREFIX],
        "Another one is disallowed, and does not occur",
    ),
    _Row("neither", "tiny", f"a{_END}b", [], [], "Neither allowed nor disallowed: text"),
    _Row(
        "neither-of-two",
        "tiny",
        f"{_END}{_PREFIX}",
        [_PREFIX],
        [],
        "One is allowed, the other neither: token and text side by side",
    ),
    _Row(
        "disallowed-second",
        "tiny",
        f"{_PREFIX}{_END}",
        [_PREFIX],
        "all",
        "The first is allowed, the second is not, and all others are disallowed",
        refused=True,
    ),
    _Row(
        "all-disallowed-by-name",
        "tiny",
        f"a{_END}",
        [],
        [_END, _PREFIX],
        "Two are disallowed by name and one of them occurs",
        refused=True,
    ),
    _Row(
        "prefix-longest",
        "specials_prefix",
        "<|a|><|b|>",
        "all",
        [],
        "Three begin at the same place: the longest wins",
        (1001,),
    ),
    _Row(
        "prefix-middle",
        "specials_prefix",
        "<|a|><x",
        "all",
        [],
        "The longest does not fit, the second longest does",
    ),
    _Row(
        "prefix-shortest", "specials_prefix", "<|a|>x", "all", [], "Only the shortest of three fits"
    ),
    _Row(
        "prefix-long-not-allowed",
        "specials_prefix",
        "<|a|><|b|>",
        ["<|a|>", "<|b|>"],
        [],
        "The longest is not allowed, so two shorter ones are found",
        (1000, 1002),
    ),
    _Row(
        "prefix-only-b",
        "specials_prefix",
        "<|a|><|b|>",
        ["<|b|>"],
        [],
        "Only the one at the end is allowed: what hides it is text",
    ),
    _Row(
        "prefix-refused",
        "specials_prefix",
        "<|a|><|b|>",
        ["<|a|><|b|>"],
        "all",
        "A disallowed one inside an allowed one is still refused",
        refused=True,
    ),
    _Row(
        "prefix-twice",
        "specials_prefix",
        "<|a|><|a|><|b|>",
        "all",
        [],
        "A longer match takes the first sign of what follows",
    ),
    _Row(
        "ordinary-token",
        "specials_ordinary",
        "abc",
        "all",
        [],
        "A special token wins over an ordinary one of the same text",
        (1000,),
    ),
    _Row(
        "ordinary-not-allowed",
        "specials_ordinary",
        "abc",
        [],
        [],
        "The same text is an ordinary token where the special one is not allowed",
    ),
    _Row(
        "ordinary-inside",
        "specials_ordinary",
        "xabcx",
        "all",
        [],
        "Special text inside a word cuts it",
    ),
    _Row(
        "ordinary-shorter",
        "specials_ordinary",
        "abab",
        "all",
        [],
        "The shorter of two that begin alike, twice",
        (1001, 1001),
    ),
    _Row(
        "ordinary-newline",
        "specials_ordinary",
        "a\nb",
        "all",
        [],
        "A line end can be a special token",
        (97, 1002, 98),
    ),
    _Row(
        "ordinary-refused",
        "specials_ordinary",
        "drab",
        [],
        "all",
        "Special text hidden in a harmless word is refused all the same",
        refused=True,
    ),
    _Row(
        "unicode",
        "specials_unicode",
        "a\u00abend\u00bbb",
        "all",
        [],
        "A special token in French quotation marks",
        (97, 1000, 98),
    ),
    _Row(
        "unicode-chinese",
        "specials_unicode",
        "\u6587\u672b\u6587",
        "all",
        [],
        "A special token of two characters, of which the first follows again",
    ),
    _Row(
        "unicode-emoji",
        "specials_unicode",
        "\U0001f6d1\U0001f6d1",
        "all",
        [],
        "A special token of one emoji, twice",
        (1002, 1002),
    ),
    _Row(
        "unicode-composed",
        "specials_unicode",
        "\u00e9",
        "all",
        [],
        "The composed letter is its own special token",
        (1003,),
    ),
    _Row(
        "unicode-apart",
        "specials_unicode",
        "e\u0301",
        "all",
        [],
        "The letter with its accent apart is another special token",
        (1004,),
    ),
    _Row(
        "unicode-half",
        "specials_unicode",
        "\u00abend",
        "all",
        [],
        "A special token without its last sign is text",
    ),
    _Row(
        "class",
        "specials_metacharacters",
        "x[x]",
        "all",
        [],
        "Brackets mean themselves, so x alone is no match",
        (120, 1000),
    ),
    _Row(
        "dot",
        "specials_metacharacters",
        "abc a.c",
        "all",
        [],
        "The dot means itself, so abc is no match",
    ),
    _Row(
        "anchors",
        "specials_metacharacters",
        "a$^b",
        "all",
        [],
        "Anchors mean themselves",
        (97, 1002, 98),
    ),
    _Row(
        "flag",
        "specials_metacharacters",
        "(?i)A.C",
        "all",
        [],
        "What looks like a flag folds nothing",
    ),
    _Row(
        "escape",
        "specials_metacharacters",
        "1\\d",
        "all",
        [],
        "A backslash and d mean themselves",
        (49, 1004),
    ),
    _Row(
        "star",
        "specials_metacharacters",
        "abc.*",
        "all",
        [],
        "Dot and star mean themselves",
        (97, 98, 99, 1005),
    ),
    _Row(
        "bar",
        "specials_metacharacters",
        "a a|b b",
        "all",
        [],
        "The bar means itself, so a alone is no match",
    ),
    _Row("hash", "specials_metacharacters", "# a #", "all", [], "A hash begins no comment"),
    _Row(
        "refused-star",
        "specials_metacharacters",
        "abc",
        [],
        [".*"],
        "A disallowed dot and star do not match everything",
    ),
    _Row(
        "overlap-left",
        "specials_overlapping",
        "<ab><c>",
        "all",
        [],
        "Two that share a sign: the left one is found, and then the third",
        (1000, 1002),
    ),
    _Row(
        "overlap-only-right",
        "specials_overlapping",
        "<ab><c>",
        ["b><c"],
        [],
        "Only the one across is allowed",
    ),
    _Row(
        "overlap-outer",
        "specials_overlapping",
        "<<ab>>",
        "all",
        [],
        "The outer one begins earlier and wins",
        (1003,),
    ),
    _Row(
        "overlap-inner",
        "specials_overlapping",
        "<<ab>x",
        "all",
        [],
        "The outer one does not fit, the inner one does",
    ),
    _Row(
        "overlap-inner-only",
        "specials_overlapping",
        "<<ab>>",
        ["<ab>"],
        [],
        "The outer one is not allowed, the inner one is",
        (60, 1000, 62),
    ),
    _Row(
        "overlap-refused",
        "specials_overlapping",
        "<ab><c>",
        ["<ab>", "<c>"],
        "all",
        "A disallowed one across two allowed ones is refused",
        refused=True,
    ),
    _Row(
        "shared-first",
        "specials_shared",
        "<|end|>",
        "all",
        [],
        "The first of two names of one id",
        (300,),
    ),
    _Row(
        "shared-second",
        "specials_shared",
        "<|reserved|>",
        "all",
        [],
        "The second of two names of one id",
        (300,),
    ),
    _Row(
        "shared-both",
        "specials_shared",
        "<|start|><|end|><|reserved|>",
        "all",
        [],
        "Both names of one id and another",
        (301, 300, 300),
    ),
    _Row(
        "shared-one-allowed",
        "specials_shared",
        "<|end|><|reserved|>",
        ["<|end|>"],
        [],
        "Names are allowed, not ids: the other name of the same id stays text",
    ),
)

_AMBIGUOUS: Final = frozenset({"specials_prefix", "specials_ordinary"})


def drafts() -> Iterator[Draft]:
    """Yield the cases of this topic."""
    yield from _matrix()
    for row in _ROWS:
        known: tuple[Purpose, ...] = ()
        if row.refused:
            known = (refuses("DISALLOWED_SPECIAL"),)
        elif row.known is not None:
            known = (answers(*row.known),)
        flags = ["SpecialToken"]
        flags += ["SpecialPrefix"] if row.vocabulary in _AMBIGUOUS else []
        flags += ["SpecialNames"] if row.vocabulary in _NAMES else []
        flags += ["SharedId"] if row.vocabulary == "specials_shared" else []
        flags += ["SpecialRefused"] if row.refused else []
        yield Draft(
            op="special",
            topic="texts",
            slug=f"{row.vocabulary.replace('_', '-')}-{row.slug}",
            vocabulary=row.vocabulary,
            request=SpecialInput(text=row.text, allowed=row.allowed, disallowed=row.disallowed),
            why=f"{row.fact}, with {row.text!a:.40}.",
            flags=flags,
            spec=SPEC,
            profile="tiktoken" if row.vocabulary in _AMBIGUOUS else "definition",
            purposes=known,
        )


_NAMES: Final = frozenset({"specials_unicode", "specials_metacharacters", "specials_overlapping"})


def _matrix() -> Iterator[Draft]:
    for slug, text, what in _MATRIX_TEXTS:
        for allowed_name, allowed in _CHOICES:
            for disallowed_name, disallowed in _CHOICES:
                yield Draft(
                    op="special",
                    topic="matrix",
                    slug=f"{slug}-{allowed_name}-{disallowed_name}",
                    vocabulary="tiny",
                    request=SpecialInput(text=text, allowed=allowed, disallowed=disallowed),
                    why=f"Allowed {allowed_name}, disallowed {disallowed_name}, and {what}: "
                    "all disallowed ones are all but the allowed.",
                    flags=["SpecialToken", "SpecialAllowed"],
                    spec=SPEC,
                )
