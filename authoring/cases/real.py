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
from authoring.data import tables
from tokenref.questions.text import DecodeInput, Recipe, SpecialInput, TextInput

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
    for slug, text, *expected in tables("real")["known"]:
        known = expected[place]
        yield _encode(
            vocabulary,
            f"known-{slug}",
            text,
            f"{text!a} with {vocabulary}: tiktoken 0.14.0 returns {known}.",
            ["Pretokenization"],
            known,
        )
    for slug, text, language in tables("real")["prose"]:
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
            "the end-of-text token where it is not allowed",
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
