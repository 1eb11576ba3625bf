"""Cases about characters: white space, line ends, letters, marks, scripts, emoji, code points."""

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Final

from authoring.cases.cutters import cut, cut_otherwise
from authoring.cases.draft import Draft
from authoring.cases.texts import VARIANTS, rows, text_case
from authoring.cases.vocabularies import vocabulary_named
from tokenref.questions.text import TextInput

WHITE_SPACE: Final = {
    0x09: "the tab",
    0x0A: "the line feed",
    0x0B: "the vertical tab",
    0x0C: "the form feed",
    0x0D: "the carriage return",
    0x20: "the space",
    0x85: "the next-line control",
    0xA0: "the no-break space",
    0x1680: "the Ogham space mark",
    0x2000: "the en quad",
    0x2001: "the em quad",
    0x2002: "the en space",
    0x2003: "the em space",
    0x2004: "the three-per-em space",
    0x2005: "the four-per-em space",
    0x2006: "the six-per-em space",
    0x2007: "the figure space",
    0x2008: "the punctuation space",
    0x2009: "the thin space",
    0x200A: "the hair space",
    0x2028: "the line separator",
    0x2029: "the paragraph separator",
    0x202F: "the narrow no-break space",
    0x205F: "the mathematical space",
    0x3000: "the ideographic space",
}
"""All 25 characters with the property White_Space."""

NOT_WHITE_SPACE: Final = {
    0x00: "byte zero",
    0x08: "the backspace",
    0x1C: "the file separator, a space to Python",
    0x1D: "the group separator, a space to Python",
    0x1E: "the record separator, a space to Python",
    0x1F: "the unit separator, a space to Python",
    0x7F: "the delete control",
    0xAD: "the soft hyphen",
    0x180E: "the Mongolian vowel separator, a space before Unicode 6.3",
    0x200B: "the zero-width space, a space by name only",
    0x200C: "the zero-width non-joiner",
    0x200D: "the zero-width joiner",
    0x2060: "the word joiner",
    0x2800: "the empty Braille pattern",
    0x3164: "the Hangul filler, a letter",
    0xFEFF: "the byte order mark",
}

_LETTERS: Final = (
    ("lu", "\u00c9\u0416\u03a9", "Three upper-case letters of three scripts"),
    ("ll", "\u00e9\u0436\u03c9", "Three lower-case letters of three scripts"),
    ("lt", "\u01c5\u01c8\u1f88", "Three title-case letters, neither upper nor lower case"),
    ("lt-in-word", "a\u01c5b", "A title-case letter within a lower-case word"),
    ("lm", "\u02b0\u02b2\u3005", "Three modifier letters"),
    ("lm-in-word", "ab\u02b0CD", "A modifier letter between lower and upper case"),
    ("lo", "\u05d0\u0e01\u4e2d", "Three letters without case"),
    ("lo-in-word", "ab\u4e2dCD", "A letter without case between lower and upper case"),
    ("lo-between-caps", "AB\u4e2dcd", "A letter without case between upper and lower case"),
    ("sharp-s", "Stra\u00dfe STRASSE \u1e9e", "The sharp s in both cases"),
    ("dotless-i", "\u0131 \u0130 i I", "The four letters i of Turkish"),
    ("final-sigma", "\u039f\u03b4\u03c5\u03c3\u03c3\u03b5\u03cd\u03c2", "A word in sigma twice"),
    ("ligature", "of\ufb01ce", "A ligature is one letter"),
    ("ordinal", "1\u00aa 2\u00ba", "The ordinal signs are letters"),
    ("micro", "5\u00b5m 5\u03bcm", "The micro sign and the mu are two letters"),
    ("kelvin", "\u212aelvin \u212b", "The Kelvin and Angstrom signs are letters"),
    ("circled-letter", "\u24d0\u24b6", "Circled letters are signs, although they have case"),
    ("mathematical", "\U0001d400\U0001d41a", "Mathematical letters, upper and lower case"),
    ("lt-last", "a\u01c5", "A title-case letter at the end of a lower-case word"),
    ("gothic-in-word", "a\U00010330b", "A letter of four bytes within a word"),
    ("fraktur-in-word", "a\U0001d51e", "A mathematical letter of four bytes behind a plain one"),
    ("full-width", "\uff21\uff42", "Full-width letters, upper and lower case"),
    ("superscript-n", "x\u207f", "The superscript n is a letter, unlike the superscript 2"),
    ("u0295", "a\u0295B", "U+0295 has lower case in the pinned tables; newer ones say none"),
    ("u1c89", "a\u1c89b", "U+1C89 has been a letter since Unicode 16"),
    ("u1c8a", "\u1c8a \u1c89", "U+1C8A, its lower case, has been a letter since Unicode 16"),
    ("ua7cb", "\ua7cb\ua7cc\ua7cd", "U+A7CB to U+A7CD have been letters since Unicode 16"),
    ("ua7da", "x\ua7da\ua7db\ua7dcy", "U+A7DA to U+A7DC have been letters since Unicode 16"),
    ("todhri", "\U000105c0\U000105f3", "Todhri letters have been ones since Unicode 16"),
    ("garay", "\U00010d50\U00010d70", "Garay letters with case have been ones since Unicode 16"),
    ("u088f", "a\u088fb", "U+088F becomes a letter with Unicode 17 only, so here it is a sign"),
    ("u088f-space", " \u088f", "U+088F after a space is taken with the space, as a sign is"),
    ("unassigned", "a\u0378b", "U+0378 belongs to no category with letters in it"),
    ("unassigned-twice", "\u0378\u0378", "Two unassigned code points are a run of signs"),
    ("private", "a\ue000b", "A code point for private use clings to the letter as a sign"),
    ("han-extension", "\U00020000\U0002a6df\U00031350", "Ideographs of four bytes"),
    ("old-scripts", "\U00010330\U00012000\U00013000", "Gothic, cuneiform and hieroglyph letters"),
)

MARKS: Final = (
    ("decomposed", "cafe\u0301 au lait", "An e with its accent apart: the mark is no letter"),
    ("leading", "\u0301a", "A mark with no letter before it"),
    ("alone", "\u0301", "A mark by itself"),
    ("two", "a\u0301\u0323b", "Two marks on one letter"),
    ("space-mark", "a \u0301b", "A mark on a space"),
    ("enclosing", "a\u20ddb", "An enclosing mark"),
    ("spacing", "\u0915\u093e\u0915", "A spacing mark between two letters of Devanagari"),
    ("virama", "\u0915\u094d\u0937", "A virama between two letters of Devanagari"),
    ("keycap", "1\ufe0f\u20e3", "A digit with variation selector and enclosing keycap"),
    ("variation", "\u2764\ufe0f", "A heart with a variation selector"),
    ("upper-mark-lower", "A\u0301b", "A mark between an upper- and a lower-case letter"),
    ("lower-mark-upper", "a\u0301B", "A mark between a lower- and an upper-case letter"),
    ("zalgo", "h\u0336\u0321e\u0335", "A letter under several marks, twice"),
    ("thai", "\u0e17\u0e35\u0e48\u0e19\u0e35\u0e48", "Thai vowels and tones are marks"),
    ("hebrew-points", "\u05e9\u05c1\u05b8", "A Hebrew letter with two points"),
    ("arabic-points", "\u0645\u064f\u062d", "An Arabic vowel sign between two letters"),
    ("contraction", "e\u0301's", "A contraction behind a mark"),
    ("digit-mark", "1\u03012", "A mark between two digits"),
)

SCRIPTS: Final = (
    ("german", "Fu\u00dfg\u00e4nger\u00fcberg\u00e4nge \u00fcberall", "German with umlauts"),
    ("french", "\u00c7a co\u00fbte cher, No\u00ebl !", "French with a space before the sign"),
    ("spanish", "\u00bfD\u00f3nde est\u00e1 el ni\u00f1o?", "Spanish with an inverted sign"),
    ("polish", "Za\u017c\u00f3\u0142\u0107 g\u0119\u015bl\u0105 ja\u017a\u0144", "Polish letters"),
    ("turkish", "\u0130stanbul'da \u0131\u015f\u0131k", "Turkish: the apostrophe is before a d"),
    ("vietnamese", "Ti\u1ebfng Vi\u1ec7t c\u00f3 d\u1ea5u", "Vietnamese, composed"),
    (
        "greek",
        "\u039a\u03b1\u03bb\u03b7\u03bc\u03ad\u03c1\u03b1 \u03ba\u03cc\u03c3\u03bc\u03b5",
        "Greek with accents",
    ),
    ("russian", "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440!", "Russian"),
    (
        "ukrainian",
        "\u041f'\u044f\u0442\u044c \u0457\u0436\u0430\u043a\u0456\u0432",
        "Ukrainian with an apostrophe in a word",
    ),
    ("hebrew", "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", "Hebrew, right to left"),
    (
        "arabic",
        "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645",
        "Arabic, right to left",
    ),
    (
        "persian",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "Persian with a zero-width non-joiner in a word",
    ),
    (
        "hindi",
        "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e",
        "Hindi, where marks end letter runs",
    ),
    ("bengali", "\u09ac\u09be\u0982\u09b2\u09be \u09ad\u09be\u09b7\u09be", "Bengali"),
    ("tamil", "\u0ba4\u0bae\u0bbf\u0bb4\u0bcd \u0bae\u0bca\u0bb4\u0bbf", "Tamil"),
    (
        "thai",
        "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01",
        "Thai without spaces",
    ),
    ("chinese", "\u4f60\u597d\uff0c\u4e16\u754c\u3002", "Chinese with full-width signs"),
    ("chinese-mixed", "\u6211\u67093\u53f0MacBook", "Chinese with digits and Latin letters"),
    (
        "japanese",
        "\u3053\u3093\u306b\u3061\u306f\u3001\u4e16\u754c\uff01",
        "Japanese in two scripts",
    ),
    (
        "katakana",
        "\u30c8\u30fc\u30af\u30f3\u30fb\u30c7\u30fc\u30bf",
        "Katakana with the lengthening mark, a letter, and the middle dot, a sign",
    ),
    ("half-width", "\uff76\uff9e\uff77\uff9e", "Half-width katakana with sound marks as letters"),
    ("korean", "\uc548\ub155 \uc138\uacc4\uc57c", "Korean syllables"),
    ("korean-jamo", "\u1112\u1161\u11ab", "One Korean syllable as three letters"),
    ("amharic", "\u1230\u120b\u121d \u12d3\u1208\u121d", "Amharic syllables"),
    ("georgian", "\u10d2\u10d0\u10db\u10d0\u10e0\u10ef\u10dd\u10d1\u10d0", "Georgian"),
    ("georgian-caps", "\u1c92\u1c90\u1c9b\u10d2\u10d0\u10db", "Georgian capitals, then the others"),
    ("armenian", "\u0532\u0561\u0580\u0587 \u0561\u0577\u056d\u0561\u0580\u0570", "Armenian"),
    ("cherokee", "\u13e3\u13b3\u13a9 \uab70\uab71", "Cherokee in both cases"),
    ("tibetan", "\u0f56\u0f7c\u0f51\u0f0b\u0f61\u0f72\u0f42", "Tibetan with a mark between"),
    ("khmer", "\u1781\u17d2\u1798\u17c2\u179a", "Khmer with a joining mark"),
    ("mongolian", "\u182e\u1823\u1829\u180e\u182d", "Mongolian with the vowel separator"),
    ("ogham", "\u1691\u1680\u1692", "Ogham with its own space"),
    ("mixed", "a\u0431\u03b3\u05d3\u0e01\u4e2d", "Letters of six scripts are one word"),
    ("homoglyphs", "\u0441\u043eda code", "A word half Cyrillic, half Latin"),
)

EMOJI: Final = (
    ("one", "\U0001f600", "One emoji"),
    ("word", "hi\U0001f600there", "An emoji between letters clings to the second word"),
    ("space", "hi \U0001f600 there", "An emoji between spaces takes the first of them"),
    ("two", "\U0001f600\U0001f601", "Two emoji are one run of signs"),
    ("skin", "\U0001f44d\U0001f3fd", "A thumb with a skin tone"),
    ("family", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "A family of three, joined"),
    ("flag", "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", "Two flags of two letters each"),
    ("flag-tags", "\U0001f3f4\U000e0067\U000e0062\U000e007f", "A flag spelled with tags"),
    ("keycaps", "#\ufe0f\u20e3 3\ufe0f\u20e3", "Two keycaps, one on a sign and one on a digit"),
    ("text-style", "\u2600\ufe0e \u2600\ufe0f", "The sun as text and as a picture"),
    ("newline", "ok \U0001f44d\n\n", "An emoji takes the line ends behind it"),
    ("digits", "\U0001f51f10", "A keycap ten is a sign, the digits behind it are not"),
    ("profession", "\U0001f469\U0001f3fe\u200d\U0001f4bb", "Woman, skin tone, joiner, computer"),
    ("unicode-16", "\U0001fae9\U0001fac6", "Two emoji that Unicode 16 added"),
)

_CODE_POINTS: Final = (
    ("nul", "\x00", "The first code point of all"),
    ("nul-inside", "a\x00b", "A zero byte within a text, where C would stop"),
    ("nul-twice", "\x00\x00", "Two zero bytes are a run of signs"),
    ("us", "\x1f", "The last control before the space"),
    ("del", "\x7f", "The last code point of one byte"),
    ("u80", "\u0080", "The first code point of two bytes"),
    ("u7ff", "\u07ff", "The last code point of two bytes"),
    ("u800", "\u0800", "The first code point of three bytes"),
    ("before-surrogates", "\ud7ff", "The last code point before the surrogates"),
    ("after-surrogates", "\ue000", "The first code point behind the surrogates"),
    ("replacement", "a\ufffdb", "A real replacement character must not be taken for an error"),
    ("replacement-twice", "\ufffd\ufffd", "Two real replacement characters"),
    ("noncharacter", "\uffff", "U+FFFF, which is no character and still text"),
    ("fdd0", "\ufdd0x", "U+FDD0, which is no character and still text"),
    ("u10000", "\U00010000", "The first code point of four bytes"),
    ("u10ffff", "\U0010ffff", "The last code point of all"),
    ("u10ffff-word", "a\U0010ffffb", "The last code point between letters"),
    ("bom-first", "\ufeffHello", "A byte order mark at the start is kept"),
    ("bom-inside", "a\ufeffb", "A byte order mark in the middle is kept"),
    ("bom-alone", "\ufeff", "A byte order mark is a text of one character"),
    ("right-to-left", "a\u202eb", "A mark that turns the direction"),
    ("tag-space", "a\U000e0020b", "The tag that looks like a space is none"),
    ("e-acute-twice", "\u00e9e\u0301", "The same letter composed and apart is not the same text"),
    ("latin-1", "\u00e0\u00e1\u00e2\u00ff", "Characters whose numbers fit into a byte"),
    ("crossing", "\u007f\u0080\u07ff\u0800\uffff\U00010000", "All borders of length in UTF-8"),
)

_NFC: Final = (
    ("e-acute", "caf\u0065\u0301", "An e and its accent become one letter"),
    ("composed", "caf\u00e9", "What is composed stays so"),
    ("angstrom", "\u212b", "The Angstrom sign becomes a letter A with ring"),
    ("ohm", "5 \u2126", "The Ohm sign becomes an omega"),
    ("hangul", "\u1112\u1161\u11ab", "Three Korean letters become one syllable"),
    ("order", "a\u0323\u0301 a\u0301\u0323", "Two marks are put in their order first"),
    ("no-compatibility", "\ufb01 \u00b2 \u2460", "Ligatures, superscripts, circles stay: no NFKC"),
    ("excluded", "\u0958", "A letter that is excluded from composing comes apart"),
    ("singleton", "\u2000\u2001", "The quads become the en and em space"),
    ("ascii", "plain text", "Plain text stays as it is"),
    ("leading-mark", "\u0301a", "A mark with nothing before it stays"),
    ("blocked", "a\u0323\u05b0\u0301", "A mark between blocks no composition of others"),
    ("across-pieces", "e\n\u0301", "A line end keeps a mark from its letter"),
    ("sharp", "\u1e9b\u0323", "A long s under marks comes apart and together again"),
    ("iota", "\u03b1\u0345\u0301", "Greek marks are ordered and then composed"),
    ("special", "<|endoftext|>e\u0301", "The text of a special token is not touched"),
)


def drafts() -> Iterator[Draft]:
    """Yield the cases of this topic."""
    yield from _white_space()
    yield from _not_white_space()
    yield from _line_ends()
    yield from rows("letters", ("Letters",), _LETTERS)
    for slug, text, fact in (*_LETTERS, *MARKS):
        yield text_case(
            "pieces", "letters", f"{slug}-o200k", "tiny_o200k", text, fact, ("Letters",)
        )
    yield from rows("marks", ("CombiningMark",), MARKS)
    yield from rows("scripts", ("Script",), SCRIPTS)
    yield from rows("emoji", ("Emoji",), EMOJI)
    yield from rows("code_points", ("CodePointEdge",), _CODE_POINTS)
    yield from _normalization()


def _white_space() -> Iterator[Draft]:
    topic, flags = "white_space", ("WhiteSpace",)
    for code, name in WHITE_SPACE.items():
        sign, slug = chr(code), f"{code:04x}"
        yield text_case(
            "pieces", topic, f"{slug}-alone", "tiny", sign, f"Nothing but {name}", flags
        )
        yield text_case(
            "encode",
            topic,
            f"{slug}-doubled",
            "tiny",
            f"a{sign}{sign}b",
            f"Between two words, twice {name}",
            flags,
        )
        yield text_case(
            "pieces",
            topic,
            f"{slug}-before",
            "tiny_o200k",
            f"{sign}b",
            f"Before a word, {name}",
            flags,
        )
        yield text_case(
            "encode",
            topic,
            f"{slug}-before-r50k",
            "tiny_r50k",
            f"{sign}b",
            f"Before a word, {name}; only a space may join it here",
            flags,
        )
        yield text_case(
            "encode",
            topic,
            f"{slug}-end",
            "tiny_original_cl100k",
            f"a{sign}{sign}",
            f"At the end of a text, twice {name}",
            (*flags, "TrailingSpace"),
        )
        yield text_case(
            "encode",
            topic,
            f"{slug}-line",
            "tiny",
            f" {sign}\n!",
            f"Before a line end, a space and {name}",
            (*flags, "LineEnd"),
        )
        yield text_case(
            "pieces",
            topic,
            f"{slug}-signs",
            "tiny",
            f"{sign}{sign}!",
            f"Before a sign, twice {name}",
            flags,
        )


def _not_white_space() -> Iterator[Draft]:
    topic, flags = "white_space", ("NotWhiteSpace",)
    for code, name in NOT_WHITE_SPACE.items():
        sign, slug = chr(code), f"not-{code:04x}"
        yield text_case(
            "pieces",
            topic,
            f"{slug}-between",
            "tiny",
            f"a {sign} b",
            f"Between spaces, {name}: not white space",
            flags,
        )
        yield text_case(
            "encode",
            topic,
            f"{slug}-run",
            "tiny",
            f"  {sign}{sign}",
            f"After two spaces, twice {name}: not white space",
            flags,
        )
        yield text_case(
            "pieces",
            topic,
            f"{slug}-o200k",
            "tiny_o200k",
            f"a{sign}B",
            f"Between letters, {name}: not white space",
            flags,
        )


def _line_ends() -> Iterator[Draft]:
    """Yield short texts of spaces, line ends, a letter and a sign; few of each kind.

    Two texts are of one kind if the same wrong ways and the same patterns cut
    them otherwise: more of a kind would find nothing more.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    names = {" ": "s", "\n": "n", "\r": "r", "x": "x", "!": "e", "\t": "t"}
    for length in range(1, 6):
        for signs in product(" \n\r\tx!", repeat=length):
            text = "".join(signs)
            if not text.strip(" x!") or (length > 3 and "\t" in text):
                continue
            usual = cut(vocabulary_named("tiny"), text)
            other = tuple(v for v in VARIANTS if cut(vocabulary_named(v), text) != usual)
            kind = (*cut_otherwise(vocabulary_named("tiny"), text), "|", *other)
            seen[kind] += 1
            if seen[kind] > 3 and length > 2:
                continue
            slug = "".join(names[sign] for sign in text)
            for vocabulary in ("tiny", *other):
                told = "" if vocabulary == "tiny" else vocabulary.removeprefix("tiny")
                yield text_case(
                    "encode",
                    "line_ends",
                    slug + told.replace("_", "-"),
                    vocabulary,
                    text,
                    f"{text!a}, as a text of white space and line ends",
                    ("LineEnd", "WhiteSpace", *(["PatternVariant"] if told else [])),
                )


def _normalization() -> Iterator[Draft]:
    for slug, text, fact in _NFC:
        for op in ("encode", "pieces"):
            yield Draft(
                op=op,
                topic="normalization",
                slug=slug,
                vocabulary="tiny_nfc",
                request=TextInput(text=text),
                why=f"{fact}; {'tokens' if op == 'encode' else 'pieces'} are of the text in NFC.",
                flags=["Normalization"],
                spec="docs/bpe.md#unicode",
            )
