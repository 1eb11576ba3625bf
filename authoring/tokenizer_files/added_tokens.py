"""Tokenizers for added tokens: their flags, how they overlap, and their ids."""

from collections.abc import Iterator
from typing import Final

from authoring.tokenizer_files.document import (
    BYTE_MERGES,
    LETTERS,
    Described,
    added,
    byte_letters,
    byte_level,
    component,
    described,
    letters,
    metaspace,
    plain,
    replace,
    sequence,
    text,
)

_CAPITALS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ<>/éÉ\u00a0\u3000"


def tokenizers() -> Iterator[Described]:
    """Yield these tokenizers."""
    yield described(
        "added_flags",
        "Added tokens with one flag each",
        plain("<>"),
        added_tokens=[
            added("<n>"),
            added("<l>", "lstrip"),
            added("<r>", "rstrip"),
            added("<b>", "lstrip", "rstrip"),
            added("<w>", "single_word"),
            added("word", "single_word"),
            added("<s>", "special"),
            added("<lw>", "single_word", "lstrip", "special"),
        ],
    )
    yield described(
        "added_overlapping",
        "Added tokens overlap, and are the beginnings of one another",
        plain("<>"),
        added_tokens=[
            added("ab"),
            added("abc"),
            added("bcde"),
            added("<a>"),
            added("<a><b>"),
            added("<b>", "special"),
            added("xyz"),
            added("xy"),
            added("cat", "single_word"),
            added("at"),
            added("the cat", "single_word"),
        ],
    )
    yield described(
        "added_normalized",
        "Some added tokens are looked for in the text, some in the normalized one",
        plain(_CAPITALS),
        normalizer=component("Lowercase"),
        added_tokens=[
            added("Foo", "normalized"),
            added("Bar"),
            added("<S>", "normalized", "special"),
            added("<T>", "special"),
            added("baz", "normalized", "single_word"),
        ],
    )
    yield described(
        "added_prepend",
        "Special tokens are looked for in normalized text, which begins with an underscore",
        letters(
            ["\u2581", *LETTERS, "<", ">", "/"],
            "\u2581 a, \u2581 th, t h",
            first=["<unk>", "<s>", "</s>"],
            fuse_unk=True,
        ),
        normalizer=sequence(
            "normalizers", component("Prepend", prepend="\u2581"), replace(text(" "), "\u2581")
        ),
        added_tokens=[
            added("<unk>", "special"),
            added("<s>", "special"),
            added("</s>", "normalized", "special"),
        ],
    )
    yield described(
        "added_ids",
        "The ids of added tokens are those of the vocabulary, or the next free ones",
        {**letters("ab", first=()), "vocab": {"a": 0, "b": 1, "<x>": 2, "c": 7}},
        added_tokens=[
            added("<x>", "special", id_=10),
            added("<y>", id_=12),
            added("<z>", "special", id_=3),
        ],
    )
    yield described(
        "added_repeats",
        "White space that one added token takes is there again for the next one",
        plain("<>"),
        added_tokens=[added("<a>", "rstrip"), added("  "), added("<c>"), added("\n", "rstrip")],
    )
    yield described(
        "added_bytes",
        "Added tokens are spelled in letters that stand for bytes as well",
        byte_letters(),
        pre_tokenizer=byte_level(use_regex=True),
        decoder=byte_level(),
        added_tokens=[
            added("é!", "normalized"),
            added("Ġfoo"),
            added("日本", "special"),
            added("<|end|>", "special"),
        ],
    )
    yield described(
        "added_spaces",
        "Runs of spaces are added tokens, found before the pattern sees them",
        byte_letters(),
        pre_tokenizer=byte_level(use_regex=True),
        decoder=byte_level(),
        added_tokens=[
            added("<|end|>", "special"),
            added("    ", "normalized"),
            added("  ", "normalized"),
            added("\t\t", "normalized"),
        ],
    )
    yield described(
        "added_metaspace",
        "Whether an underscore is put before text behind a special token",
        letters(
            ["\u2581", *LETTERS],
            "\u2581 a, t h, \u2581 th, \u2581th e, th e",
            first=["<unk>", "<s>", "</s>"],
        ),
        pre_tokenizer=metaspace("first"),
        decoder=metaspace("first"),
        added_tokens=[
            added("<s>", "special"),
            added("</s>", "special", "rstrip"),
            added("<t>", "lstrip"),
        ],
    )
    yield described(
        "added_always",
        "Each stretch between added tokens is normalized, and cut, by itself",
        letters(
            ["\u2581", *LETTERS],
            "\u2581 a, t h, \u2581 th, \u2581th e, th e",
            first=["<unk>", "<s>", "</s>"],
        ),
        pre_tokenizer=metaspace("always"),
        decoder=metaspace("always"),
        added_tokens=[added("<s>", "special"), added("</s>", "special"), added("<t>")],
    )
    yield described(
        "added_inside",
        "Added tokens without brackets are found inside words, unless they are single words",
        plain("éßж\u0301"),
        pre_tokenizer=component("Whitespace"),
        added_tokens=[
            added("in"),
            added("the", "single_word"),
            added("_", "single_word"),
            added("é"),
        ],
    )
    yield described(
        "added_twice",
        "An added token is listed twice: its last flags count, but special it remains",
        byte_letters(BYTE_MERGES),
        pre_tokenizer=byte_level(),
        decoder=byte_level(),
        added_tokens=[added("<a>", "special", "rstrip"), added("<b>"), added("<a>", "lstrip")],
    )
