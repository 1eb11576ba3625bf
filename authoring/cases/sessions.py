"""Cases that are several calls on one tokenizer: what is kept from one call shows in the next."""

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

from authoring.cases.draft import Draft
from tokenref.questions.sequences import (
    CountCall,
    DecodeCall,
    EncodeCall,
    SessionCall,
    SessionInput,
    SpecialCall,
)
from tokenref.questions.text import DecodeInput, SpecialInput, TextInput

SPEC: Final = "docs/bpe.md#several-calls"

_END: Final = "<|endoftext|>"
_AT_START: Final = f"{_END}a"
_LONG: Final = "The quick brown fox jumps over the lazy dog. " * 4

Calls: TypeAlias = tuple[SessionCall, ...]


def _encode(text: str | bytes) -> EncodeCall:
    return EncodeCall(input=_text(text))


def _count(text: str | bytes) -> CountCall:
    return CountCall(input=_text(text))


def _text(text: str | bytes) -> TextInput:
    return TextInput(octets=text.hex()) if isinstance(text, bytes) else TextInput(text=text)


def _special(
    text: str, allowed: Literal["all"] | list[str], disallowed: Literal["all"] | list[str]
) -> SpecialCall:
    return SpecialCall(input=SpecialInput(text=text, allowed=allowed, disallowed=disallowed))


def _text_of(*ids: int, errors: Literal["strict", "replace"] = "replace") -> DecodeCall:
    return DecodeCall(input=DecodeInput(ids=list(ids), errors=errors))


def _bytes_of(*ids: int) -> DecodeCall:
    return DecodeCall(input=DecodeInput(ids=list(ids)))


_ALLOWED: Final = _special(_AT_START, "all", [])
_NOT_ALLOWED: Final = _special(_AT_START, [], [])
_REFUSED: Final = _special(_AT_START, [], "all")
_SMILE: Final = (0xF0, 0x9F, 0x98, 0x80)

_LEFT: Final[tuple[tuple[str, str, Calls, str], ...]] = (
    (
        "half-then-letter",
        "tiny",
        (_text_of(*_SMILE[:2]), _text_of(97), _text_of(98)),
        "Half a character is the end of the first call; the next ones begin with nothing",
    ),
    (
        "half-then-half",
        "tiny",
        (_text_of(97, *_SMILE[:2]), _text_of(*_SMILE[2:], 98)),
        "The two halves of a character are asked for in two calls, and never meet",
    ),
    (
        "half-then-whole",
        "cl100k_base",
        (_text_of(9468), _text_of(9468, 249, 239)),
        "The first two bytes of a sign, then the whole sign: what was cut off does not come again",
    ),
    (
        "half-then-nothing",
        "tiny",
        (_text_of(*_SMILE[:3]), _text_of(), _text_of(97)),
        "After three bytes of four nothing is decoded, and then a letter",
    ),
    (
        "long-then-short",
        "tiny",
        (_encode(_LONG), _encode("The"), _count("The"), _encode(""), _text_of(97)),
        "A long text, then short ones: of the long one's tokens none are left over",
    ),
    (
        "growing",
        "tiny",
        tuple(_encode("hello world"[:length]) for length in (1, 3, 5, 8, 11)),
        "Each text goes on where the last one stopped, and is encoded from its beginning",
    ),
    (
        "letter-by-letter",
        "cl100k_base",
        (_encode("h"), _encode("e"), _encode("hello"), _encode("h")),
        "Two letters in two calls are two texts; nothing merges across calls",
    ),
    (
        "bytes-then-text",
        "tiny",
        (_encode(b"\xf0\x9f"), _encode("\U0001f600"), _count(b"\xf0\x9f"), _encode("a")),
        "Bytes that are no text are encoded, and then a text that begins with the same ones",
    ),
    (
        "long-then-short-words",
        "cl100k_base",
        (_encode(_LONG), _encode("The"), _count(_LONG), _count(""), _encode("")),
        "A long text, its first word and nothing at all are encoded and counted in turn",
    ),
    (
        "decoded-then-encoded",
        "cl100k_base",
        (_text_of(15339, 1917), _encode("hello"), _text_of(15339), _encode("")),
        "Tokens are decoded before and after a text is encoded; neither shows in the other",
    ),
)
"""Slug, vocabulary, calls, and what is the case: what a call must not leave behind."""

_KEPT: Final[tuple[tuple[str, str, Calls, str], ...]] = (
    (
        "same-text-twice",
        "tiny",
        (*((_encode("hello world"),) * 3), _count("hello world"), _encode("hello world")),
        "The same text again and again has the same tokens",
    ),
    (
        "allowed-then-not",
        "tiny",
        (_ALLOWED, _NOT_ALLOWED, _encode(_AT_START), _count(_AT_START), _ALLOWED),
        "What is special in one call is text in the next, and special again",
    ),
    (
        "not-then-allowed",
        "tiny",
        (_NOT_ALLOWED, _ALLOWED, _NOT_ALLOWED),
        "A text is asked for first with nothing allowed and then with everything",
    ),
    (
        "allowed-by-name",
        "tiny",
        (
            _special(_AT_START, [_END], []),
            _special(_AT_START, ["<|fim_prefix|>"], []),
            _special(_AT_START, [], []),
        ),
        "One special token is allowed, then another, then none",
    ),
    (
        "special-at-the-start",
        "cl100k_base",
        (_special(_END, "all", []), _encode(_END), _special(_END, "all", [])),
        "A special token, the same letters as text, and the special token again",
    ),
    (
        "texts-as-long-as-each-other",
        "tiny",
        (_encode("hello"), _encode("world"), _count("a b c"), _encode("olleh")),
        "Texts of one length, and two of the same letters, are different texts",
    ),
    (
        "same-beginning",
        "tiny",
        (_encode(f"{_LONG}one"), _encode(f"{_LONG}two"), _encode(_LONG)),
        "Long texts that differ in their ends only are different texts",
    ),
    (
        "count-of-another",
        "tiny",
        (_encode("hello world"), _count("hi"), _count("hello world"), _encode("hi")),
        "A count is that of its own text and not of the one encoded before",
    ),
    (
        "same-ids-other-errors",
        "tiny",
        (_text_of(97, 255), _bytes_of(97, 255), _text_of(97, 255, errors="strict")),
        "The same ids as text with a replacement, as bytes, and as text that must be refused",
    ),
    (
        "many-texts",
        "tiny",
        (
            *(_encode(f"{number} bottles of beer") for number in range(20)),
            *(_encode(f"{number} bottles of beer") for number in (0, 19)),
        ),
        "The first and the last of twenty texts again: what was forgotten is encoded anew",
    ),
    (
        "form-of-a-letter",
        "tiny",
        (_encode("\u00e9"), _encode("e\u0301"), _encode("\u00e9")),
        "A letter and its accent, composed and decomposed, look alike and are two texts",
    ),
    (
        "same-words-twice",
        "cl100k_base",
        (_encode("hello world"), _encode("hello world"), _encode(" hello world"), _count("hello")),
        "The same words twice, then with a space before them, then the first one counted",
    ),
    (
        "spaces-around",
        "tiny",
        (_encode("word"), _encode(" word"), _encode("  word"), _encode("word "), _count(" word ")),
        "One word with more and fewer spaces around it is as many different texts",
    ),
    (
        "upper-and-lower",
        "tiny",
        (_encode("Hello"), _encode("hello"), _encode("HELLO"), _count("hELLO"), _encode("Hello")),
        "One word in capital and small letters is as many different texts",
    ),
    (
        "ids-that-begin-alike",
        "tiny",
        (_text_of(97, 98), _text_of(97), _text_of(98, 97), _text_of(97, 98, 99), _text_of(97)),
        "Ids that begin or end like others, or are others in another order, are decoded anew",
    ),
)
"""The same of what an engine may remember, and must not give for another question."""

_AFTER: Final[tuple[tuple[str, str, Calls, str], ...]] = (
    (
        "strict-then-good",
        "tiny",
        (_text_of(97, 255, errors="strict"), _text_of(98, errors="strict"), _text_of(99)),
        "Bytes that are not UTF-8 are refused, and the next tokens are text by themselves",
    ),
    (
        "unknown-id-then-good",
        "tiny",
        (_bytes_of(97, 2999), _bytes_of(98), _bytes_of(97)),
        "An id that no token has is refused; the token before it comes in no later answer",
    ),
    (
        "refused-special-then-text",
        "tiny",
        (_REFUSED, _encode("hello"), _ALLOWED, _REFUSED, _encode("hello")),
        "A disallowed special token is refused, whatever was asked before, and nothing else is",
    ),
    (
        "refused-special-then-nothing",
        "tiny",
        (_REFUSED, _encode(""), _count(""), _bytes_of(), _REFUSED),
        "After a refusal nothing is encoded, counted and decoded: it is neither refused nor more",
    ),
    (
        "text-then-refused-special",
        "tiny",
        (_NOT_ALLOWED, _REFUSED, _NOT_ALLOWED, _REFUSED),
        "The same text is text where nothing is disallowed, and refused where all is",
    ),
    (
        "refused-special-then-count",
        "cl100k_base",
        (_REFUSED, _count(_AT_START), _encode("hello world")),
        "A disallowed special token is refused, and then counted as the text that it is",
    ),
    (
        "missing-byte-then-good",
        "missing_bytes",
        (_encode("ab"), _encode("axb"), _encode("ab"), _count("x"), _count("ab")),
        "A byte without a token is refused, and the text before and after it is the same as ever",
    ),
)
"""The same after a refusal."""


def drafts() -> Iterator[Draft]:
    """Yield the cases of this topic."""
    kinds = ((_LEFT, "CallState"), (_KEPT, "CallCache"), (_AFTER, "CallRefused"))
    for rows, flag in kinds:
        for slug, vocabulary, calls, fact in rows:
            yield Draft(
                op="session",
                topic="calls",
                slug=slug,
                vocabulary=vocabulary,
                request=SessionInput(calls=list(calls)),
                why=f"{fact}.",
                flags=[flag, *(["RealVocabulary"] if vocabulary == "cl100k_base" else [])],
                spec=SPEC,
                profile="definition",
            )
