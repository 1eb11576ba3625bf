"""Cases about words, contractions, digits, signs and code."""

from collections.abc import Iterator
from typing import Final

from authoring.cases.draft import Draft
from authoring.cases.texts import rows, text_case, text_cases
from tokenref.questions.text import TextInput

_CONTRACTIONS: Final = ("s", "t", "re", "ve", "m", "ll", "d")

_APOSTROPHES: Final = (
    ("long-s", "it'\u017fx", "The long s folds to s, so it is a contraction before an x"),
    ("long-s-end", "it'\u017f", "The long s folds to s at the end of a text too"),
    ("dotted-i", "I'\u0130x", "No contraction begins with a dotted capital I"),
    ("curly", "it\u2019s", "The curly apostrophe begins no contraction"),
    ("curly-word", "don\u2019t stop", "The curly apostrophe clings to the t that follows"),
    ("modifier", "it\u02bcs", "The modifier apostrophe is a letter, so the word goes on"),
    ("full-width", "it\uff07s", "The full-width apostrophe is a sign like any other"),
    ("grave", "it`s", "A grave accent is no apostrophe"),
    ("s-and-more", "'sam", "A contraction is cut off even where a word goes on: 's and am"),
    ("re-and-more", "'reading", "'re is cut off the word that begins with it"),
    ("t-and-more", "'tis", "'t is cut off 'tis, old-fashioned or not"),
    ("d-and-more", "'door", "'d is cut off 'door"),
    ("ll-and-more", "'llama", "'ll is cut off the animal"),
    ("l-alone", "'lama", "A single l is no contraction, so the word keeps its sign"),
    ("v-alone", "'vx", "A v without e is no contraction"),
    ("r-alone", "'rx", "An r without e is no contraction"),
    ("ve-upper-and-more", "'VEx", "'VE is folded and cut off before an x"),
    ("s-upper-and-more", "'Sx", "'S is folded and cut off before an x"),
    ("ll-mixed-and-more", "'lLx", "'lL in mixed case is folded and cut off"),
    ("double", "''s", "Two apostrophes are a run of signs, so there is no contraction"),
    ("stacked", "he'd've", "Two contractions in a row"),
    ("quoted", "'quoted'", "A quoted word keeps the opening sign and not the closing one"),
    ("space-before", "it 's", "After a space the apostrophe is taken by the space, as in r50k"),
    ("alone", "'", "An apostrophe by itself"),
    ("at-end", "dogs'", "An apostrophe with nothing behind it"),
    ("digit", "90's", "A contraction behind digits"),
    ("digit-after", "'90s", "An apostrophe before digits joins neither them nor the s"),
    ("rock", "rock'n'roll", "An n between apostrophes is no contraction"),
    ("name", "O'Neil", "A capital N behind an apostrophe"),
    ("camel", "I'MeanIt", "'M is folded and cut off in the middle of mixed case"),
    ("french", "l'\u00e9t\u00e9 d'or", "An apostrophe before an accented letter"),
    ("newline", "it\n's", "A contraction at the start of a line"),
)

WORDS: Final = (
    ("hello", "Hello, world!", "A greeting with comma and sign"),
    ("lower-upper", "camelCaseWord", "Lower case followed by upper case"),
    ("upper-lower", "HTTPServer", "Upper case followed by lower case"),
    ("all-caps", "SHOUTING LOUD", "Upper case only"),
    ("snake", "snake_case_name", "Underscores between words"),
    ("leading-underscore", "_private __dunder__", "Underscores before words"),
    ("kebab", "kebab-case-name", "Hyphens between words"),
    ("dots", "a.b.c", "A sign clings to the letter behind it"),
    ("url", "https://example.org/a?b=c&d=1#e", "An address with many signs"),
    ("mail", "someone@example.org", "A mail address"),
    ("path", "/usr/lib/x.so", "A path: o200k lets slashes follow a sign"),
    ("windows-path", "C:\\dir\\file.txt", "A path with backslashes"),
    ("mixed-digits", "abc123def456", "Letters and digits without space"),
    ("digit-letter", "3D 2nd 4x4", "A digit right before a letter"),
    ("sign-letter", "!a?b", "One sign before each letter"),
    ("signs-letter", "!!a??b", "Two signs are a piece of their own, so none clings to the letter"),
    ("space-sign", "a !b", "A space before a sign before a letter"),
    ("parentheses", "f(x)", "Parentheses: the opening one clings to the x"),
    ("brackets", "a[i][j]", "Brackets in a row"),
    ("ellipsis", "wait... what", "Three dots"),
    ("dashes", "a -- b --- c", "Dashes between spaces"),
    ("rule", "----------------", "A rule that is a token of its own"),
    ("rule-plus", "-----------------", "A rule that is one longer than its token"),
    ("slashes", "// a /* b */", "Signs of comments"),
    ("slash-line", "a./\nb", "A sign and a slash, and a line end behind them"),
    ("signs-newline", "end.\n\nNext", "A sign takes the line ends behind it"),
    ("signs-crlf", "end.\r\nNext", "A sign takes CR and LF behind it"),
    ("signs-space-newline", "end. \nNext", "A space between sign and line end keeps them apart"),
    ("copyright", "\u00a9 2024", "A sign beyond ASCII, space, digits"),
    ("math", "a\u00d7b\u2212c\u2260d", "Mathematical signs, three of them three bytes long"),
    ("currency", "\u20ac5 $5 \u00a35 \u00a55", "Signs of currencies before digits"),
    ("percent", "50% of 3.14", "A point between digits and a sign behind them"),
    ("box", "\u2500\u2500\u2500\u2500\u2550\u2550", "Box drawing, some of it in tokens"),
    ("tab-word", "\tindented", "A tab clings to the word as a space does"),
    ("nbsp-word", "\u00a0word", "A no-break space clings to the word in cl100k"),
    ("backslash-n", "a\\nb", "A backslash and an n are no line end"),
    ("quote", 'she said "hi"', "Quotation marks"),
    ("emoticon", ":-) ;-(", "Emoticons of signs"),
    ("html", '<p class="x">a&amp;b</p>', "Markup"),
    ("special-text", "<|endoftext|>", "The text of a special token is text like any other here"),
    ("special-inside", "a<|fim_prefix|>b", "A special token's text between letters stays text"),
    ("special-half", "<|endoftext", "Half of a special token's text"),
    ("special-space", " <|endoftext|> ", "A special token's text between spaces stays text"),
    ("empty", "", "The empty text"),
    ("one-letter", "x", "One letter"),
    ("one-space", " ", "One space"),
    ("byte-token-text", "<0x41>", "What looks like a byte token of other engines is text"),
    ("version-line", "#version: 0.2", "A line that merge files begin with is text"),
    ("g-with-dot", "\u0120the", "The letter that stands for a space in GPT-2's files is a letter"),
    ("lower-eighth", "\u2581the", "The block that stands for a space elsewhere is a sign here"),
)

CODE: Final = (
    ("python", "def f(x):\n    return x + 1\n", "Python with an indented line"),
    ("python-nested", "if a:\n        if b:\n            c()\n", "Indentation of 8 and 12 spaces"),
    ("python-decorator", "@cache\nclass A: ...", "A sign before a word at a line's start"),
    ("c", "for (int i = 0; i < n; ++i) {\n\tx[i] *= 2;\n}", "C with a tab"),
    ("c-include", "#include <stdio.h>\r\n\r\nint main(void)", "C with CR and LF twice"),
    ("rust", 'let x: &\'a str = "";', "A lifetime, which looks like the start of a contraction"),
    ("rust-static", "&'static str", "A lifetime that begins with an s: the two signs come first"),
    ("json", '{"a": [1, 2.5, null], "b": {}}', "JSON"),
    ("sql", "SELECT * FROM t WHERE id = 1000000;", "SQL with seven digits"),
    ("shell", "$ ls -la | grep '^d'", "A shell line with a quoted sign"),
    ("regex", r"^\s+(?!\S)|[^\r\n]$", "A regular expression"),
    ("diff", "-old\n+new\n \n", "A patch with an empty context line"),
    ("markdown", "# Title\n\n* item\n* item\n\n```\n", "Markdown"),
    ("yaml", "key:\n  - a\n  - b: 1\n", "YAML with short indentation"),
    ("csv", "a,b,,d\n1,2,,4\n", "Empty fields between commas"),
    ("hex", "0xDEADBEEF 0b1010", "Numbers with letters in them"),
    ("uuid", "123e4567-e89b-12d3-a456-426614174000", "Digits and letters in turn"),
    ("date", "2024-02-29T23:59:60Z", "A date with colons and letters"),
    ("tex", "\\frac{a}{b}^2_3", "TeX"),
    ("trailing", "x = 1   \ny = 2\t\n", "Spaces and a tab before line ends"),
    ("blank-lines", "a\n\n\n\nb\n \n \nc", "Empty lines, some with a space"),
    ("tabs", "\t\ta\t\tb", "Tabs before and between words"),
    ("mixed-indent", "\t  \t x", "Tabs and spaces before a word"),
    ("long-comment", "################", "A run of signs that is a token"),
)

DIGITS: Final = (
    ("fraction", "1\u00bd cups", "A fraction character is a number"),
    ("superscript", "x\u00b2 + 10\u00b3", "Superscripts are numbers"),
    ("roman", "\u2167\u2168 and \u2160", "Roman numeral characters are numbers"),
    ("circled", "\u2460\u2461\u2462\u2463", "Circled digits are numbers, four of them"),
    ("arabic", "\u0663\u0664\u0665\u0666", "Four Arabic-Indic digits"),
    ("persian", "\u06f1\u06f2\u06f3\u06f4", "Four extended Arabic-Indic digits"),
    ("devanagari", "\u0967\u0968\u0969\u096a", "Four Devanagari digits"),
    ("thai", "\u0e51\u0e52\u0e53\u0e54", "Four Thai digits"),
    ("full-width", "\uff11\uff12\uff13\uff14", "Four full-width digits"),
    ("mathematical", "\U0001d7ce\U0001d7cf\U0001d7d0\U0001d7d1", "Digits of four bytes each"),
    ("mixed-scripts", "1\u06632\u0664", "Digits of two scripts in one number"),
    ("cjk-one", "\u4e00\u4e8c\u4e09", "Chinese numerals are letters, not numbers"),
    ("cjk-and-digit", "\u4e001\u4e8c2", "Chinese numerals and digits in turn"),
    ("ideographic-zero", "\u30070", "The ideographic zero is a number, unlike other ideographs"),
    ("tamil-ten", "\u0bf0\u0be7", "A Tamil ten, which is no decimal digit, before a digit"),
    ("digits-then-letter", "1234a", "Four digits and a letter"),
    ("space-digits", " 1234", "A space before digits is a piece of its own"),
    ("two-spaces-digits", "  1234", "Two spaces before digits"),
    ("minus", "-1234", "A minus before four digits"),
    ("thousands", "1,234,567.89", "Commas between groups"),
    ("years", "1999-2000", "Two years with a hyphen"),
    ("spaced", "1 2 3 4", "Digits with spaces between"),
    ("newline-digits", "\n123\n4567", "Digits after line ends"),
    ("long", "31415926535897932384626433", "26 digits, in groups of three from the left"),
    ("zeros", "000000000001", "Twelve digits, nearly all the same"),
    ("superscript-run", "2\u00b2\u00b3\u2074", "Digits that change to superscripts"),
    ("phone", "+1 (555) 010-9999", "A telephone number"),
)


def drafts() -> Iterator[Draft]:
    """Yield the cases of this topic."""
    yield from _contractions()
    yield from rows("contractions", ("Contraction",), _APOSTROPHES)
    yield from rows("words", ("Pretokenization",), WORDS)
    yield from rows("code", ("Code", "Pretokenization"), CODE)
    yield from _digit_runs()
    yield from rows("digits", ("OtherDigits",), DIGITS)
    yield from _counts()


def _contractions() -> Iterator[Draft]:
    for ending in _CONTRACTIONS:
        cases = dict.fromkeys(
            (ending, ending.upper(), ending.title(), ending[0] + ending[1:].upper())
        )
        for number, spelled in enumerate(cases):
            fact = f"'{spelled} between a word and a word that follows at once"
            slug = f"{ending}-{number}"
            text = f"we'{spelled}x"
            yield text_case(
                "pieces", "contractions", slug, "tiny", text, fact, ("Contraction", "CaseFolding")
            )
            yield text_case(
                "encode",
                "contractions",
                f"{slug}-o200k",
                "tiny_o200k",
                text,
                fact,
                ("Contraction", "CaseFolding"),
            )
            if number:
                yield text_case(
                    "encode",
                    "contractions",
                    f"{slug}-r50k",
                    "tiny_r50k",
                    text,
                    fact,
                    ("Contraction", "CaseFolding"),
                )


def _digit_runs() -> Iterator[Draft]:
    for length in range(1, 11):
        digits = "1234567890"[:length]
        fact = f"A run of {length} digit{'s' if length > 1 else ''}"
        yield from text_cases("digits", f"run-{length:02}", digits, fact, ("DigitGroup",))
        zeros = "0" * length
        fact = f"A space and {length} zero{'s' if length > 1 else ''}"
        yield text_case(
            "encode",
            "digits",
            f"zeros-{length:02}",
            "tiny_r50k",
            f" {zeros}",
            fact,
            ("DigitGroup",),
        )


def _counts() -> Iterator[Draft]:
    for slug, text, fact in (*WORDS[::2], *CODE[::2], *DIGITS[::3]):
        yield Draft(
            op="count",
            topic="texts",
            slug=slug,
            vocabulary="tiny",
            request=TextInput(text=text),
            why=f"{fact}: counting must agree with encoding, whatever road it takes.",
            flags=["Count"],
            spec="docs/bpe.md#counting",
        )
