"""Cases with vocabularies that are in use: cl100k_base and o200k_base.

They are too large to ship and are found by name. Nothing about them is odd (no
dead tokens, no improper ones); what is tested is that an engine has the right
tokens, the right pattern and the right special tokens. Some answers are known
from tiktoken 0.14.0 itself; those are written down here.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from authoring.cases.draft import Draft, answers, refuses
from authoring.cases.unicode_texts import EMOJI, MARKS, SCRIPTS
from authoring.cases.vocabularies import REAL_NAMES
from authoring.cases.words import CODE, DIGITS, WORDS
from tokenref.questions.text import DecodeInput, Recipe, SpecialInput, TextInput

_KNOWN: Final = (
    ("hello-world", "hello world", (15339, 1917), (24912, 2375)),
    ("great", "tiktoken is great!", (83, 1609, 5963, 374, 2294, 0), (83, 8251, 2488, 382, 2212, 0)),
    ("rer", "rer", (38149,), (27653,)),
    ("quote-rer", "'rer", (2351, 81), (15770, 259)),
    ("today-line-space", "today\n ", (31213, 198, 220), (58744, 198, 220)),
    ("today-line-space-line", "today\n \n", (31213, 27907), (58744, 47812)),
    ("today-line-spaces-line", "today\n  \n", (31213, 14211), (58744, 31835)),
    ("next-line-in-middle", " \u00850", (220, 126, 227, 15), (220, 126, 227, 15)),
    ("newlines-space", "\n\n ", (271, 220), (279, 220)),
    ("indented-newlines", "  \n\n  a", (19124, 220, 264), (11691, 220, 261)),
    ("byte-order-mark", "\ufeff", (3305,), (5574,)),
    ("byte-order-mark-using", "\ufeffusing", (4117,), (9251,)),
    ("byte-order-mark-behind-spaces", "  \ufeff", (220, 76880), (220, 71280)),
)
"""Slug, text, and the tokens of each vocabulary, as tiktoken 0.14.0 gives them."""

_PROSE: Final = (
    ("english", "The quick brown fox jumps over the lazy dog, didn't it?", "English"),
    (
        "german",
        "Zw\u00f6lf Boxk\u00e4mpfer jagen Viktor quer \u00fcber den Sylter Deich.",
        "German",
    ),
    ("french", "Portez ce vieux whisky au juge blond qui fume\u00a0!", "French"),
    ("spanish", "El veloz murci\u00e9lago hind\u00fa com\u00eda feliz cardillo y kiwi.", "Spanish"),
    (
        "portuguese",
        "\u00c0 noite, vov\u00f4 Kowalsky v\u00ea o \u00edm\u00e3 cair no p\u00e9.",
        "Portuguese",
    ),
    ("italian", "Quel vituperabile xenofobo zelante assaggia il whisky.", "Italian"),
    ("dutch", "Pa's wijze lynx bezag vroom het fikse aquaduct.", "Dutch"),
    ("swedish", "Flygande b\u00e4ckasiner s\u00f6ka hwila p\u00e5 mjuka tuvor.", "Swedish"),
    ("czech", "P\u0159\u00edli\u0161 \u017elu\u0165ou\u010dk\u00fd k\u016f\u0148.", "Czech"),
    (
        "russian",
        (
            "\u0421\u044a\u0435\u0448\u044c \u0435\u0449\u0451 \u044d\u0442\u0438\u0445 "
            "\u043c\u044f\u0433\u043a\u0438\u0445 \u0431\u0443\u043b\u043e\u043a."
        ),
        "Russian",
    ),
    (
        "greek",
        (
            "\u039e\u03b5\u03c3\u03ba\u03b5\u03c0\u03ac\u03b6\u03c9 \u03c4\u03b7\u03bd "
            "\u03c8\u03c5\u03c7\u03ae."
        ),
        "Greek",
    ),
    ("hebrew", "\u05d3\u05d2 \u05e1\u05e7\u05e8\u05df \u05e9\u05d8 \u05d1\u05d9\u05dd.", "Hebrew"),
    (
        "arabic",
        "\u0646\u0635 \u062d\u0643\u064a\u0645 \u0644\u0647 \u0633\u0631 \u0642\u0627\u0637\u0639.",
        "Arabic",
    ),
    (
        "hindi",
        "\u090b\u0937\u093f\u092f\u094b\u0902 \u0915\u094b \u0938\u0924\u093e\u0928\u0947.",
        "Hindi",
    ),
    ("chinese", "\u5929\u5730\u7384\u9ec4\uff0c\u5b87\u5b99\u6d2a\u8352\u3002", "Chinese"),
    (
        "japanese",
        "\u3044\u308d\u306f\u306b\u307b\u3078\u3068 \u3061\u308a\u306c\u308b\u3092",
        "Japanese",
    ),
    ("korean", "\ub2e4\ub78c\uc950 \ud5cc \uccc7\ubc14\ud034\uc5d0 \ud0c0\uace0\ud30c.", "Korean"),
    ("thai", "\u0e40\u0e1b\u0e47\u0e19\u0e21\u0e19\u0e38\u0e29\u0e22\u0e4c", "Thai"),
    (
        "turkish",
        "Pijamal\u0131 hasta ya\u011f\u0131z \u015fof\u00f6re \u00e7abucak g\u00fcvendi.",
        "Turkish",
    ),
    (
        "vietnamese",
        "Do b\u1ea1ch kim r\u1ea5t qu\u00fd, s\u1ebd d\u00f9ng \u0111\u1ec3 l\u1eafp.",
        "Vietnamese",
    ),
)

_RECIPES: Final = (
    ("letters", "a", 5000, "one word of 5,000 letters"),
    ("zeros", "0", 1000, "a thousand zeros, in groups of three"),
    ("spaces", " ", 1000, "a thousand spaces"),
    ("carets", "^", 5000, "5,000 carets"),
    ("newlines", "\n", 500, "500 line ends"),
    ("contractions", "'s", 500, "500 contractions"),
    ("underscores", "_", 3000, "3,000 underscores"),
    ("emoji", "\U0001f600", 300, "300 emoji in one run"),
)


def drafts() -> Iterator[Draft]:
    """Yield the cases of this topic, those of one vocabulary together."""
    for place, vocabulary in enumerate(REAL_NAMES):
        yield from _texts(vocabulary, place)
        yield from _long(vocabulary)
        yield from _special(vocabulary)
        yield from _decode(vocabulary)


def _encode(
    vocabulary: str, slug: str, text: str, why: str, flags: Sequence[str], known: Sequence[int] = ()
) -> Draft:
    return Draft(
        op="encode",
        topic=vocabulary,
        slug=slug,
        vocabulary=vocabulary,
        request=TextInput(text=text),
        why=why,
        flags=["RealVocabulary", *flags],
        spec="docs/bpe.md#vocabularies",
        purposes=(answers(*known),) if known else (),
    )


def _texts(vocabulary: str, place: int) -> Iterator[Draft]:
    for slug, text, *expected in _KNOWN:
        known = expected[place]
        yield _encode(
            vocabulary,
            f"known-{slug}",
            text,
            f"{text!a} with {vocabulary}: tiktoken 0.14.0 says {list(known)}.",
            ["Pretokenization"],
            known,
        )
    for slug, text, language in _PROSE:
        why = f"A sentence in {language} with {vocabulary}: real tokens of several bytes."
        yield _encode(vocabulary, f"prose-{slug}", text, why, ["Prose"])
    groups = (
        ("word", WORDS[::2], "Pretokenization"),
        ("code", CODE[::2], "Code"),
        ("digits", DIGITS[::2], "DigitGroup"),
        ("script", SCRIPTS[::3], "Script"),
        ("marks", MARKS[::3], "CombiningMark"),
        ("emoji", EMOJI[::2], "Emoji"),
    )
    for group, listed, flag in groups:
        for slug, text, fact in listed:
            why = f"{fact}, with the tokens of {vocabulary}."
            yield _encode(vocabulary, f"{group}-{slug}", text, why, [flag])


def _long(vocabulary: str) -> Iterator[Draft]:
    for slug, unit, times, what in _RECIPES:
        recipe = Recipe(unit=unit.encode().hex(), times=times, before="", after="")
        for op in ("encode", "count"):
            yield Draft(
                op=op,
                topic=vocabulary,
                slug=f"long-{slug}",
                vocabulary=vocabulary,
                request=TextInput(recipe=recipe),
                why=f"{what[0].upper()}{what[1:]} with {vocabulary}, asked for "
                f"{'their tokens' if op == 'encode' else 'the number of tokens'}.",
                flags=["RealVocabulary", "LongRun", *(["Count"] if op == "count" else [])],
                spec="docs/bpe.md#vocabularies" if op == "encode" else "docs/bpe.md#counting",
            )


def _special(vocabulary: str) -> Iterator[Draft]:
    end = {"cl100k_base": 100257, "o200k_base": 199999}[vocabulary]
    prompt = {"cl100k_base": 100276, "o200k_base": 200018}[vocabulary]
    text = "<|endoftext|>"
    for slug, asked, known, what in (
        ("end", SpecialInput(text=text, allowed="all", disallowed=[]), (end,), "the end of text"),
        (
            "end-of-prompt",
            SpecialInput(text="<|endofprompt|>", allowed="all", disallowed=[]),
            (prompt,),
            "the end of a prompt",
        ),
        (
            "refused",
            SpecialInput(text=f"a{text}", allowed=[], disallowed="all"),
            None,
            "the end of text where it is not allowed",
        ),
        ("as-text", SpecialInput(text=text, allowed=[], disallowed=[]), (), "the end as text"),
        (
            "fim",
            SpecialInput(text="<|fim_prefix|>a", allowed="all", disallowed=[]),
            (),
            "a token for filling in, which o200k_base does not have",
        ),
    ):
        purpose = refuses("DISALLOWED_SPECIAL") if known is None else answers(*known)
        yield Draft(
            op="special",
            topic=vocabulary,
            slug=slug,
            vocabulary=vocabulary,
            request=asked,
            why=f"Special tokens of {vocabulary}: {what}.",
            flags=["RealVocabulary", "SpecialToken"],
            spec="docs/bpe.md#special-tokens",
            purposes=() if known == () else (purpose,),
        )


def _decode(vocabulary: str) -> Iterator[Draft]:
    hole, beyond = {"cl100k_base": (100256, 100277), "o200k_base": (199998, 200019)}[vocabulary]
    last = {"cl100k_base": 100255, "o200k_base": 199997}[vocabulary]
    for slug, ids, what in (
        ("hole", [hole], "the hole before the special tokens"),
        ("beyond", [beyond], "one more than the highest id"),
        ("negative", [-1], "minus one"),
        ("all-bytes", list(range(256)), "the first 256 ids, which are the bytes in GPT-2's order"),
        ("last", [last], "the last ordinary token"),
        ("words", [15339, 1917], "two ordinary tokens"),
    ):
        unknown = slug in {"hole", "beyond", "negative"}
        yield Draft(
            op="decode",
            topic=vocabulary,
            slug=slug,
            vocabulary=vocabulary,
            request=DecodeInput(ids=ids),
            why=f"Decoding with {vocabulary}: {what}.",
            flags=["RealVocabulary", "UnknownId" if unknown else "ByteOrder"],
            spec="docs/bpe.md#decoding",
            purposes=(refuses("UNKNOWN_ID"),) if unknown else (),
        )
