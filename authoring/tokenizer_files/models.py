"""Tokenizers for the flags of the model."""

from collections.abc import Iterator
from typing import Final

from authoring.tokenizer_files.document import (
    BYTE_TOKENS,
    LETTERS,
    MERGES,
    Described,
    component,
    described,
    letters,
    metaspace,
    plain,
    regex,
    replace,
    sequence,
    text,
)

_WORDS: Final = component("WhitespaceSplit")
_FALLBACK: Final = sequence("decoders", component("ByteFallback"), component("Fuse"))
_VERSION: Final = "# v, #v e, #ve r, #ver s, #vers i, #versi o, #versio n, #version :"


def tokenizers() -> Iterator[Described]:
    """Yield these tokenizers."""
    yield described(
        "merges_as_text",
        "Merges are texts, and lines that begin with #version are dropped",
        letters(
            [*LETTERS, "#", ":"],
            f"#version: 0.2, {_VERSION}, {MERGES}",
            words=["#version:", "0.2"],
            as_text=True,
        ),
    )
    yield described(
        "merges_as_pairs",
        "Merges are pairs, and one that is there twice has its last place",
        letters("abcd ", "a b, b c, c d, ab cd, a bc, a b"),
    )
    for name, about, ignored in (
        ("ignore_merges", "A piece that is a token is taken without merging", True),
        ("ignore_merges_off", "A piece that is a token is made by merges or not at all", False),
    ):
        yield described(
            name,
            about,
            plain(words=["hello", "the.", "é", "andante"], ignore_merges=ignored),
            pre_tokenizer=_WORDS,
        )
    yield described(
        "byte_fallback",
        "A missing character becomes its bytes, all 256 of them being tokens",
        letters(
            ["\u2581", *"abcdehlnotr<>0x4", "日"],
            "t h, th e, \u2581 the, \u2581 a",
            first=["<unk>", *BYTE_TOKENS],
            fuse_unk=True,
            byte_fallback=True,
        ),
        normalizer=replace(text(" "), "\u2581"),
        decoder=sequence("decoders", replace(text("\u2581"), " "), *_FALLBACK["decoders"]),
    )
    some = [f"<0x{byte:02X}>" for byte in (0x61, 0xC3, 0xA9, 0xE6, 0x97)]
    for name, about, first, is_fused in (
        (
            "byte_fallback_partial",
            "Of the bytes five are tokens; the rest is unknown, and fused",
            ["<unk>", *some],
            True,
        ),
        (
            "byte_fallback_partial_apart",
            "Of the bytes five are tokens; the rest is unknown, one by one",
            ["<unk>", *some],
            False,
        ),
        ("byte_fallback_no_unk", "Of the bytes five are tokens; the rest vanishes", some, False),
    ):
        yield described(
            name,
            about,
            letters(
                "bcdefgh ", "b c, c d, bc d", first=first, byte_fallback=True, fuse_unk=is_fused
            ),
            decoder=_FALLBACK,
        )
    yield described("unk", "Each unknown character is an unknown token of its own", plain())
    yield described(
        "unk_fused",
        "Unknown characters that follow one another are one unknown token",
        plain(fuse_unk=True),
    )
    yield described(
        "no_unk",
        "Characters without a token vanish, and merges join over them",
        letters("acdefghi tou", "a c, t h, th e, o u", first=()),
    )
    yield described(
        "no_unk_words",
        "Words are cut before characters without a token vanish",
        letters("acdefghi tou", "a c, t h, th e, o u", first=()),
        pre_tokenizer=_WORDS,
    )
    inner = [f"##{letter}" for letter in "abcdehlnorst.é"]
    yield described(
        "prefix",
        "Letters inside a word have a prefix, which a merge's right side loses",
        letters(
            [*"abcdehlnorst.", *inner],
            "t ##h, th ##e, ##t ##h, ##l ##l, a ##n, ##e ##r, an ##d, ##o ##r",
            continuing_subword_prefix="##",
        ),
        pre_tokenizer=_WORDS,
        decoder=component("WordPiece", prefix="##", cleanup=True),
    )
    last = [f"{letter}</w>" for letter in "abcdehlnorst.é"]
    yield described(
        "suffix",
        "The last letter of a word has a suffix",
        letters(
            [*"abcdehlnorst.", *last],
            "t h, th e</w>, a n, an d</w>, e r</w>, l l, l l</w>, o r",
            end_of_word_suffix="</w>",
        ),
        pre_tokenizer=_WORDS,
        decoder=component("BPEDecoder", suffix="</w>"),
    )
    both = [f"##{letter}</w>" for letter in "abcdehlnorst."]
    yield described(
        "prefix_and_suffix",
        "Letters have a prefix inside a word and a suffix at its end",
        letters(
            [*"abcdehlnorst.", *inner, *last, *both],
            "t ##h, th ##e</w>, a ##n, an ##d</w>, ##e ##r</w>, ##l ##l",
            continuing_subword_prefix="##",
            end_of_word_suffix="</w>",
        ),
        pre_tokenizer=_WORDS,
    )
    yield described(
        "prefix_falls_back",
        "A missing letter becomes the bytes of its prefix and suffix too",
        letters(
            ["a", "b", "##a", "##b", "##b</w>", "b</w>"],
            "a ##b, a ##b</w>",
            first=["<unk>", *BYTE_TOKENS],
            byte_fallback=True,
            continuing_subword_prefix="##",
            end_of_word_suffix="</w>",
        ),
        pre_tokenizer=_WORDS,
    )
    yield described(
        "dropout_zero",
        "Dropout with probability 0 drops no merge, and pieces are still taken whole",
        plain(words=["hello"], dropout=0.0, ignore_merges=True),
        pre_tokenizer=_WORDS,
    )
    yield described(
        "dropout_one",
        "Dropout with probability 1 drops every merge, and takes no piece whole",
        plain(words=["hello"], dropout=1.0, ignore_merges=True),
        pre_tokenizer=_WORDS,
    )
    yield described(
        "no_flags",
        "The model has no fields but its type, vocabulary and merges",
        {key: plain(first=())[key] for key in ("type", "vocab", "merges")},
    )
    yield described(
        "long_pieces",
        "Runs merge in twos, fours and eights, and nothing is cut",
        letters("ab", "a a, aa aa, aaaa aaaa, a b, b b"),
    )
    yield described(
        "space_tokens",
        "Tokens hold spaces, made by merges of visible ones",
        letters(
            ["\u2581", *"abcdehlnotr"],
            "\u2581 \u2581, \u2581\u2581 \u2581\u2581, t h, \u2581 th, \u2581th e, e \u2581",
        ),
        pre_tokenizer=metaspace("never", split=False),
        decoder=metaspace("never", split=False),
    )
    yield described(
        "unk_between_words",
        "Unknown tokens are fused inside a piece, and never over the border of two",
        plain(fuse_unk=True),
        pre_tokenizer=component("Split", pattern=regex("-"), behavior="Removed", invert=False),
    )
