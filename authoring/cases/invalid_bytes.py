"""Cases about bytes that are not UTF-8, encoded as tiktoken does.

Up to the first byte that is not UTF-8 there is text. Its last piece, and the
tokens of white space before it, are taken back: what follows might have moved
their borders. From there on everything is one piece.
"""

from collections.abc import Iterator
from typing import Final

from authoring.cases.draft import Draft, refuses
from authoring.cases.vocabularies import vocabulary_named
from bpe_ref import Vocabulary, tokenizer_of
from bpe_ref.models.byte_bpe import encode_bytes
from tokenref.engines.reference import byte_model
from tokenref.questions.text import TextInput

SPEC: Final = "docs/bpe.md#bytes-that-are-not-utf8"

_BYTES: Final = (
    ("continuation", "80", "A continuation byte without a first byte"),
    ("continuation-last", "bf", "The highest continuation byte, alone"),
    ("c0", "c0", "A byte that begins no character, although it looks so"),
    ("overlong-two", "c080", "Zero in two bytes, which is one too many"),
    ("overlong-slash", "c0af", "A slash in two bytes, which is one too many"),
    ("overlong-three", "e08080", "Zero in three bytes"),
    ("overlong-four", "f0808080", "Zero in four bytes"),
    ("cut-two", "c3", "The first byte of two"),
    ("cut-three", "e4bd", "The first two bytes of three"),
    ("cut-four", "f09f98", "The first three bytes of four"),
    ("surrogate", "eda080", "A surrogate in three bytes"),
    ("surrogate-pair", "eda0bdedb880", "A pair of surrogates, each in three bytes"),
    ("too-high", "f4908080", "A code point beyond the last one"),
    ("f5", "f5", "A byte that would begin code points beyond the last one"),
    ("fe", "fe", "A byte that occurs in no UTF-8"),
    ("ff", "ff", "The highest byte"),
    ("utf16-mark", "fffe", "The byte order mark of UTF-16"),
    ("latin-1", "636166e9", "A word in Latin-1"),
    ("latin-1-more", "636166e9206175", "A word in Latin-1, and one more after it"),
    ("word", "68656c6c6fff", "A word right before the bad byte is taken back"),
    ("two-words", "68656c6c6f20776f726c64ff", "Only the last of two words is taken back"),
    ("space", "6120ff", "A space before the bad byte is taken back"),
    ("spaces", "61202020ff", "Three spaces before the bad byte are taken back together"),
    ("spaces-word", "2020746fff", "Only a word and the space right before it are taken back"),
    ("tab", "6109ff", "A tab before the bad byte is taken back"),
    ("newline", "610aff", "A line end before the bad byte is taken back"),
    ("newlines", "610a0a0aff", "Three line ends before the bad byte are taken back"),
    ("space-newline", "61200a20ff", "Space, line end and space before the bad byte"),
    ("crlf", "610d0aff", "CR and LF before the bad byte; tiktoken does not treat CR as blank"),
    ("sign-newline", "210aff", "A sign and its line end are one piece, which is taken back"),
    ("digits", "31323334ff", "Only the last group of four digits is taken back"),
    ("nbsp", "61c2a0ff", "A no-break space before the bad byte is taken back as a piece only"),
    ("first", "ff68656c6c6f", "The bad byte is first, so everything is one piece"),
    ("first-two-words", "ff68656c6c6f20776f726c64", "After a bad byte no pattern cuts words"),
    ("first-digits", "ff31323334353637", "After a bad byte no pattern groups digits"),
    ("first-contraction", "ff69742773", "After a bad byte there are no contractions"),
    ("middle", "6162ff6364", "A bad byte between letters"),
    ("middle-spaces", "6120ff2062", "A bad byte between spaces"),
    ("twice", "61ff62ff63", "Two bad bytes with a letter between"),
    ("run", "ffffffffffffffff", "Eight bad bytes"),
    ("run-of-80", "8080808080", "Five continuation bytes"),
    ("character-then", "e4bda0ff", "A whole character right before the bad byte"),
    ("character-cut", "e4bda0e5a5", "A whole character, then one cut short"),
    ("emoji-cut", "f09f9880f09f98", "A whole emoji, then one cut short"),
    ("emoji-tail", "9f9880", "An emoji without its first byte"),
    ("swapped", "a9c3", "Both bytes of a letter in the wrong order"),
    ("mark", "61cc", "The first byte of an accent after its letter"),
    ("special", "3c7c656e646f66746578747c3eff", "Special text before a bad byte is text"),
    ("nul", "00ff00", "Bad byte between two zero bytes"),
    ("indented", "0a20202020ff", "A line end and four spaces before the bad byte"),
    ("long-spaces", "20" * 30 + "ff", "Thirty spaces, of which the pieces are all taken back"),
    ("sentence", "54686520717569636b2062726f776e20666f78ff", "A sentence before the bad byte"),
    ("valid-ascii", "616263", "These bytes are UTF-8, so they are text like any other"),
    ("valid-two", "c3a9", "These two bytes are UTF-8: one letter"),
    ("valid-empty", "", "No bytes are the empty text"),
    ("valid-emoji", "f09f9880", "These four bytes are UTF-8: one emoji"),
    ("valid-last", "f48fbfbf", "These bytes are the last code point of all"),
)

_ELSEWHERE: Final = (
    *("spaces", "spaces-word", "newlines", "digits"),
    *("first-digits", "nbsp", "latin-1-more", "crlf"),
)
_COUNTED: Final = ("ff", "spaces", "two-words", "run", "emoji-cut", "valid-two", "middle")
_PARTS: Final = ("cut-three", "cut-four", "emoji-tail", "swapped", "character-cut", "emoji-cut")


def drafts() -> Iterator[Draft]:
    """Yield the cases of this topic."""
    for slug, digits, fact in _BYTES:
        yield _draft("encode", slug, "tiny", digits, fact)
        if slug in _ELSEWHERE:
            for name in ("r50k", "o200k"):
                told = f"{fact}; with {name}'s pattern"
                yield _draft("encode", f"{slug}-{name}", f"tiny_{name}", digits, told)
        if slug in _COUNTED:
            yield _draft("count", slug, "tiny", digits, f"{fact}; counted")
        if slug in _PARTS:
            told = f"{fact}; here tokens contain parts of characters"
            yield _draft("encode", f"{slug}-parts", "utf8_parts", digits, told)
    yield Draft(
        op="encode",
        topic="invalid_bytes",
        slug="missing",
        vocabulary="missing_bytes",
        request=TextInput(octets="6162ff"),
        why="A bad byte without a token is refused for lack of a token, as any other byte is.",
        flags=["InvalidUtf8", "MissingByte"],
        spec=SPEC,
        profile="tiktoken",
        purposes=(refuses("MISSING_BYTE"),),
    )


def _draft(op: str, slug: str, vocabulary: str, digits: str, fact: str) -> Draft:
    data = bytes.fromhex(digits)
    lossy = tokenizer_of(vocabulary_named(vocabulary))
    right = encode_bytes(lossy, data)
    replaced = lossy.encode(data.decode("utf-8", "replace"), special="ordinary") != right
    whole = _in_one_piece(vocabulary_named(vocabulary), data) != right
    told = [
        *(["putting U+FFFD instead loses it"] if replaced else []),
        *(["taking all in one piece gives other tokens"] if whole else []),
    ]
    return Draft(
        op=op,
        topic="invalid_bytes",
        slug=slug,
        vocabulary=vocabulary,
        request=TextInput(octets=digits),
        why=f"{fact}" + (f" ({'; '.join(told)})." if told else "."),
        flags=["InvalidUtf8", *(["Count"] if op == "count" else [])],
        spec=SPEC,
        profile="tiktoken",
    )


def _in_one_piece(vocabulary: Vocabulary, data: bytes) -> list[int]:
    return byte_model(tokenizer_of(vocabulary)).ids_of_bytes(data)
