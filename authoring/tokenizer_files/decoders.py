"""Tokenizers for the decoders."""

from collections.abc import Iterator
from typing import Final

from authoring.tokenizer_files.document import (
    BYTE_TOKENS,
    LETTERS,
    Content,
    Described,
    added,
    byte_letters,
    byte_level,
    component,
    described,
    letters,
    metaspace,
    regex,
    replace,
    sequence,
    text,
)

_UNDERLINE: Final = "\u2581"
_SPECIAL: Final = [added("<s>", "special"), added("</s>", "special"), added("<t>")]
_TOKENS: Final = (
    *("<unk>", "<s>", "</s>", *BYTE_TOKENS[:16], *BYTE_TOKENS[0x80:0xC0]),
    *(BYTE_TOKENS[byte] for byte in (0x41, 0x61, 0xC3, 0xE4, 0xE6, 0xEF, 0xF0, 0xFF)),
    *("<0x+1>", "<0xe4>", "<0x4>"),
)
_WORDS: Final = (
    *("the", "cat", "##s", "##'", "don", "'", "t", "n't", "do not", ".", " .", "hello", "'s"),
    *(f"{_UNDERLINE}the", f"{_UNDERLINE}cat", f"{_UNDERLINE}{_UNDERLINE}", f"a{_UNDERLINE}b"),
    *("the</w>", "cat</w>", "</w>", "a</w>b", "日本", "\ufffd", "x\ufffd", " ", "  ", "a b"),
)


def decoders(*components: Content) -> Content:
    """Return decoders one after the other."""
    return sequence("decoders", *components)


def tokenizers() -> Iterator[Described]:
    """Yield these tokenizers."""
    for name, about, decoder in _decoders():
        yield described(
            f"decoder_{name}",
            about,
            letters([_UNDERLINE, *LETTERS], first=_TOKENS, words=_WORDS),
            decoder=decoder,
            added_tokens=_SPECIAL,
        )
    yield described(
        "decoder_byte_level",
        "Letters are read as bytes, in all tokens together",
        byte_letters(words=["the\u2581", "日"], first=("<unk>",)),
        pre_tokenizer=byte_level(),
        decoder=byte_level(),
        added_tokens=_SPECIAL,
    )


def _decoders() -> Iterator[tuple[str, str, Content | None]]:
    yield "none", "No decoder: tokens are joined with spaces", None
    yield "fuse", "Tokens are joined as they are", component("Fuse")
    yield "byte_fallback", "Runs of byte tokens are read as bytes", component("ByteFallback")
    for scheme, about in (
        ("always", "Underlines become spaces, not in the first token"),
        ("never", "All underlines become spaces"),
        ("first", "Underlines become spaces, not in the first token, as with always"),
    ):
        yield f"metaspace_{scheme}", about, metaspace(scheme)
    yield "replace_text", "Underlines become spaces in every token", replace(text(_UNDERLINE), " ")
    yield "replace_regex", "Vowels vanish, by an expression", replace(regex("[aeiou]"), "")
    yield (
        "strip",
        "Up to one space in front of each token",
        component("Strip", content=" ", start=1, stop=0),
    )
    yield (
        "strip_both",
        "Up to two of a letter in front, and one behind",
        component("Strip", content="t", start=2, stop=1),
    )
    yield "bpe", "The suffix of a word becomes a space", component("BPEDecoder", suffix="</w>")
    yield (
        "word_piece",
        "The prefix vanishes, other tokens get a space",
        component("WordPiece", prefix="##", cleanup=False),
    )
    yield (
        "word_piece_cleanup",
        "The same, and spaces before marks vanish",
        component("WordPiece", prefix="##", cleanup=True),
    )
    yield (
        "llama",
        "Underlines, bytes, one text, and one space less in front",
        decoders(
            replace(text(_UNDERLINE), " "),
            component("ByteFallback"),
            component("Fuse"),
            component("Strip", content=" ", start=1, stop=0),
        ),
    )
    yield (
        "gemma",
        "Underlines, bytes, one text",
        decoders(replace(text(_UNDERLINE), " "), component("ByteFallback"), component("Fuse")),
    )
    yield (
        "fallback_metaspace",
        "Bytes first, then underlines",
        decoders(component("ByteFallback"), metaspace("always")),
    )
