"""The texts that tokenizers are asked about, by the kind of component that they aim at."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True)
class Asked:
    """A text, or a pair of them, and what is special about it."""

    slug: str
    text: str
    what: str
    """As the middle of a sentence."""

    flags: Sequence[str] = ()
    pair: str | None = None
    special: bool = True
    """Whether special tokens are to be added."""

    only: Sequence[str] = field(default_factory=tuple)
    """The tokenizers that are asked; all of the kind, if there are none."""


EMPTY: Final = Asked("empty", "", "an empty text", ("EmptyInput",))

MODEL: Final = (
    Asked("words", "the other hand", "words that merge", ("MergeOrder",)),
    Asked("spaces", "  the  and ", "doubled spaces and one at the end", ("TrailingSpace",)),
    Asked("accent", "thé é café", "letters of two bytes", ("ByteFallback",)),
    Asked("ideograph", "a日本b", "characters of three bytes", ("ByteFallback", "Script")),
    Asked("emoji", "the 👩‍💻 and 👍🏽", "emoji of several code points", ("Emoji", "ByteFallback")),
    Asked("unknown", "££ the££and £", "signs that no token stands for", ("UnknownToken",)),
    Asked("holes", "bcab dbbcd abc", "letters of which one may be missing", ("UnknownToken",)),
    Asked("abcd", "abcd ab bcd abc", "letters whose merges overlap", ("DuplicateMerge",)),
    Asked(
        "version", "#version: 0.2 #v", "a line that begins as some are dropped", ("MergesOfFile",)
    ),
    Asked("whole", "hello andante the.", "words that are tokens", ("WholePiece",)),
    Asked("byte-token", "<0x41> <0x61>", "text that spells tokens of bytes", ("ByteFallback",)),
    Asked(
        "swap",
        "xa ya xxaé",
        "an unknown letter before one that has its byte only",
        ("UnknownToken", "ByteFallback", "EngineQuirk"),
    ),
    Asked(
        "half", "é日é 日x", "characters of which all or some bytes are tokens", ("ByteFallback",)
    ),
    Asked("fallen", "áb a€ ab", "a missing letter inside a word", ("ByteFallback", "Affixes")),
    Asked("runs", "aaaaaaaaaaabbb", "a run of one letter", ("OneLetterRun",)),
    Asked("underline", "▁the  ▁ the", "underlines that are in the text", ("Metaspace",)),
    Asked("hyphens", "££-£-the-££", "unknown signs with hyphens between", ("UnknownToken",)),
    EMPTY,
)

ADDED: Final = (
    Asked("glued", "the<n>cat<s>and<n>", "added tokens glued to words", ("AddedToken",)),
    Asked("spaced", "the <n> cat <s> and", "added tokens between spaces", ("AddedToken",)),
    Asked(
        "left",
        "a  <l>b\t\u3000<l> <l>",
        "white space before a token that takes it",
        ("AddedStrip", "WhiteSpace"),
    ),
    Asked(
        "right",
        "<r>  a<r>\n\u00a0b<r> <n>",
        "white space behind a token that takes it",
        ("AddedStrip", "WhiteSpace"),
    ),
    Asked(
        "zero-width",
        "a\u200b<l>\u200b<r>\u200bb \u2003<r>\u2003c",
        "a zero-width space, which is none",
        ("AddedStrip", "NotWhiteSpace"),
    ),
    Asked("both", "a <b> b <b>  <b>", "white space on both sides", ("AddedStrip",)),
    Asked(
        "word",
        "word swords word. _word éword a<w>b <w>",
        "a word alone and inside others",
        ("SingleWord",),
    ),
    Asked(
        "word-space",
        "in  <lw> in<lw>",
        "a single word that takes the space before",
        ("SingleWord", "AddedStrip"),
    ),
    Asked(
        "overlaps",
        "abcde abcd ab <a><b><a> scat the cat cat xyz xy",
        "tokens that overlap",
        ("SpecialPrefix", "AddedToken"),
    ),
    Asked(
        "hidden",
        "scat cats xthe cat",
        "a rejected token with another one inside",
        ("SingleWord", "EngineQuirk"),
    ),
    Asked(
        "cases",
        "Foo foo FOO Bar bar <S><s> <T><t> baz BAZ xbaz",
        "capitals, small ones and both",
        ("AddedNormalized",),
    ),
    Asked(
        "eos",
        "a</s>a </s> <s>",
        "an end token in ordinary text",
        ("AddedNormalized", "SpecialToken"),
    ),
    Asked("ids", "<x>a<y>b<z>c", "tokens whose ids in the file are others", ("AddedIds",)),
    Asked(
        "repeats",
        "<a>  b<a>    <c>\n\n  <a>",
        "white space that two tokens want",
        ("AddedStrip", "EngineQuirk"),
    ),
    Asked(
        "bytes",
        "é!éĠfoo 日本 <|end|>a <|end",
        "tokens in letters of bytes",
        ("AddedToken", "Decoding"),
    ),
    Asked(
        "space-runs",
        "a  b    c\t\tif      x",
        "runs of spaces",
        ("AddedToken", "WhiteSpace", "Code"),
    ),
    Asked(
        "behind",
        "a<s>a a <s> a</s> a <t>a",
        "text behind special tokens",
        ("Metaspace", "AddedToken"),
    ),
    Asked(
        "inside",
        "in the pin_ then é théß ther\u0301e",
        "tokens inside words",
        ("SingleWord", "CombiningMark"),
    ),
    Asked(
        "twice", "<a>  a <a><b> a", "a token that is listed twice", ("AddedToken", "EngineQuirk")
    ),
    Asked("only", "<s>", "nothing but a special token", ("SpecialToken",)),
    Asked("row", "<s><s></s><n><n>", "special tokens in a row", ("SpecialToken",)),
    Asked("broken", "<s <n>> < s> <<n>", "what only looks like a token", ("SpecialNames",)),
    EMPTY,
)

NORMALIZERS: Final = (
    Asked(
        "composed",
        "é É ñ Å e\u0301 n\u0303 A\u030a a\u0323\u0307",
        "accents, composed and not",
        ("CombiningMark", "AlignedOffsets"),
    ),
    Asked("compatible", "ﬁ ² ½ ① \uff21 ｶﾞ µ", "variants of other characters", ("Normalization",)),
    Asked(
        "hangul",
        "한국 ㅎㅏㄴ \u1112\u1161\u11ab",
        "syllables and their letters",
        ("Script", "AlignedOffsets"),
    ),
    Asked("capitals", "THE ΑΣ ΣΑΣ. İI Éß", "capitals, a final sigma, a dotted I", ("CaseFolding",)),
    Asked("edges", "\t  the  cat \u3000\n", "white space at both ends", ("WhiteSpace",)),
    Asked(
        "zero-width",
        "\u200ba\u200bb\ufeff\u2028c\u00a0",
        "what looks like white space and what does not",
        ("NotWhiteSpace",),
    ),
    Asked(
        "controls",
        "a\x07b\tc\nd\x7f\ufffd\x00e",
        "control characters",
        ("CodePointEdge", "AlignedOffsets"),
    ),
    Asked("chinese", "中文ab日 本", "ideographs beside letters", ("Script", "AlignedOffsets")),
    Asked("dots", "a.b..c. -a-b- __x", "full stops, hyphens and underlines", ("AlignedOffsets",)),
    Asked("lines", "a\nbc\n\nd  e \n f", "lines and runs of spaces", ("LineEnd",)),
    Asked(
        "emoji", "👩‍💻a🇩🇪e\u0301👍🏽", "emoji of several code points", ("Emoji", "AlignedOffsets")
    ),
    Asked("special", "a<s> b <n>c <n>", "text around added tokens", ("AddedToken",)),
    Asked("prefixed", "__the _x", "a text that begins as a prefix does", ("AlignedOffsets",)),
    Asked(
        "rules",
        "abe\u0301①ﬁ中\u200b\u0410\tab",
        "characters that rules may rewrite",
        ("Normalization", "AlignedOffsets"),
    ),
    Asked(
        "leading-marks",
        "\u0301a\u0301\u0300\u0323 \u0301",
        "marks that stand alone, and several in a row",
        ("CombiningMark", "AlignedOffsets"),
    ),
    EMPTY,
)

PRE_TOKENIZERS: Final = (
    Asked(
        "hyphens",
        "the-final--countdown-",
        "hyphens alone, in a row and at the end",
        ("SplitBehavior",),
    ),
    Asked("leading", "--a-b c", "a text that begins with matches", ("SplitBehavior",)),
    Asked("contractions", "I'll don't THEY'RE the'S 'the", "contractions", ("Contraction",)),
    Asked("digits", "ab123 4567 ٤٥½²Ⅷ x1y", "numbers of all kinds", ("DigitGroup", "OtherDigits")),
    Asked("spaces", " a  b\u00a0c\u3000d\te\n\nf ", "white space of all kinds", ("WhiteSpace",)),
    Asked("trailing", "the  cat   ", "spaces at the end", ("TrailingSpace",)),
    Asked("marks", "a,b!? $5+€6 <x>^`|~ …。、“c”", "punctuation and symbols", ("Punctuation",)),
    Asked(
        "dots",
        r"a.b..c \d1 \.",
        "full stops, and what may look like an expression",
        ("SplitBehavior",),
    ),
    Asked("scripts", " 日本かな カタaяж 中,b", "scripts side by side", ("Script",)),
    Asked("combining", "e\u0301a \u0301 o\u200dp é", "marks and joiners", ("CombiningMark",)),
    Asked("emoji", "a👩‍💻b 🇩🇪 👍🏽", "emoji of several code points", ("Emoji",)),
    Asked("lines", "#a\n##b\r\n #c\n", "signs at the starts of lines", ("LineEnd",)),
    Asked("underlines", "_a__b ▁c ▁▁ d_", "underlines of two kinds", ("Metaspace",)),
    Asked("long", "theandthesing", "letters that nothing cuts but their number", ("MergeOrder",)),
    Asked("capitals", "the THE The's", "capitals", ("CaseFolding",)),
    Asked("only-spaces", "   ", "nothing but spaces", ("WhiteSpace",)),
    Asked("code", "def f(x1):\n    if x1 == 10:\n\t\treturn 'a'", "a program", ("Code",)),
    EMPTY,
)

POST_PROCESSORS: Final = (
    Asked("one", "the cat", "one text", ("Template",)),
    Asked(
        "bare", "the cat", "one text, and no special tokens wanted", ("Template",), special=False
    ),
    Asked("pair", "the cat", "two texts", ("TextPair", "TypeIds"), pair="and a dog"),
    Asked(
        "pair-bare",
        "the cat",
        "two texts, and no special tokens wanted",
        ("TextPair", "TypeIds"),
        pair="and",
        special=False,
    ),
    Asked(
        "pair-empty", "", "an empty text and another one", ("TextPair", "EmptyInput"), pair="the"
    ),
    Asked(
        "pair-second-empty", "the", "a text and an empty one", ("TextPair", "EmptyInput"), pair=""
    ),
    Asked(
        "spaces",
        "  the  cat é ",
        "doubled spaces, at the beginning too",
        ("OffsetsTrimmed", "WhiteSpace"),
    ),
    Asked(
        "pair-spaces",
        " the",
        "two texts that begin with spaces",
        ("OffsetsTrimmed", "TextPair"),
        pair="  cat ",
    ),
    Asked(
        "special",
        "<s>the</s> <sep>",
        "special tokens in the text itself",
        ("SpecialToken", "Template"),
    ),
    Asked(
        "wide",
        "the\u00a0cat\u3000é 日本 x",
        "white space of two and three bytes",
        ("OffsetsTrimmed",),
    ),
    EMPTY,
)

LENGTHS: Final = (
    Asked("long", "a c e g i k m o q s", "ten words", ("Truncation", "Overflow")),
    Asked("short", "a c", "a text that fits", ("Truncation",)),
    Asked("exact", "a c e g i", "five words", ("Truncation",)),
    Asked(
        "merged",
        "ab cd abcd ab abab cdab",
        "words of which some are two tokens",
        ("Truncation", "Overflow"),
    ),
    Asked(
        "long-bare",
        "a c e g i k m",
        "seven words, and no special tokens wanted",
        ("Truncation", "Overflow"),
        special=False,
    ),
    Asked(
        "pair-short", "a c", "a short text and a short one", ("TextPair", "Truncation"), pair="e"
    ),
    Asked(
        "pair-second-long",
        "a c",
        "a short text and a long one",
        ("TextPair", "Truncation", "Overflow"),
        pair="e g i k m o q s u",
    ),
    Asked(
        "pair-first-long",
        "a c e g i k m o q",
        "a long text and a short one",
        ("TextPair", "Truncation", "Overflow"),
        pair="s u",
    ),
    Asked(
        "pair-long",
        "a c e g i k m o q",
        "two long texts",
        ("TextPair", "Truncation", "Overflow"),
        pair="b d f h j l n",
    ),
    Asked(
        "pair-first-longer",
        "a c e g i k",
        "six words and four",
        ("TextPair", "Truncation", "Overflow"),
        pair="m o q s",
    ),
    Asked(
        "pair-equal",
        "a c e g i",
        "two texts of the same length",
        ("TextPair", "Truncation", "Overflow"),
        pair="b d f h j",
    ),
    Asked(
        "special",
        "<s>a c e</s> g i k",
        "special tokens in the text itself",
        ("SpecialToken", "Truncation"),
    ),
    EMPTY,
)

FAMILIES: Final = (
    Asked("hello", "Hello the world! hello", "a greeting", ("Prose",)),
    Asked("spaces", "  the  cat\t and\n\na ", "white space of several kinds", ("WhiteSpace",)),
    Asked("accents", "Café e\u0301 ﬁ ΣΑΣ", "accents, composed and not", ("CombiningMark",)),
    Asked("scripts", "日本語 中文 жя 👩‍💻", "several scripts and an emoji", ("Script", "Emoji")),
    Asked("numbers", "in 12345 ٤٥ x1.50$", "numbers", ("DigitGroup",)),
    Asked("contractions", "I'll don't THEY'RE it's", "contractions", ("Contraction",)),
    Asked(
        "special",
        "<s>hello</s> the<|endoftext|> <|end|> \n<|user|> a[INST] b [/INST]c",
        "special tokens glued to words",
        ("SpecialToken",),
    ),
    Asked(
        "chat",
        "<|im_start|>a\n<|im_end|> <|begin|>hello<|eot|> <start>\n\nthe",
        "a conversation",
        ("SpecialToken",),
    ),
    Asked("pair", "the cat", "two texts", ("TextPair",), pair="hello world"),
    Asked("bare", "hello", "no special tokens wanted", ("Template",), special=False),
    Asked("code", "if x:\n    y += 1  # <x>", "a program", ("Code",)),
    Asked(
        "bytes",
        "<0x41>\x00\x7f€",
        "what looks like a byte, and characters that are rare",
        ("ByteFallback",),
    ),
    EMPTY,
)
"""The texts for each kind."""
