"""Cases about the whole-piece rule, bytes without tokens, tokens that are not text, and ids."""

from collections.abc import Iterator
from typing import Final

from authoring.cases.draft import Draft, answers, refuses
from authoring.cases.rivals import fails
from authoring.cases.vocabularies import vocabulary_named
from tokenref.questions.text import TextInput

_WHOLE: Final = "docs/bpe.md#whole-piece"
_MISSING: Final = "docs/bpe.md#missing-bytes"
_PIECES: Final = "docs/bpe.md#pieces"

_TEXTS_BOTH_WAYS: Final = (
    ("abc", "it is the token itself"),
    ("abcd", "the token is only its beginning"),
    ("xabc", "the token is only its end"),
    ("abcabc", "it is the token twice, and so not the token"),
    ("ab", "it is the beginning of a token and none itself"),
    ("a", "a single byte is a token in any case"),
)

_DEAD: Final = ("abab", "abc", "bbb", "ababc", "bbbb", "cabc", "aba", "ba")


def drafts() -> Iterator[Draft]:
    """Yield the cases of this topic."""
    yield from _whole_pieces()
    yield from _missing_bytes()
    yield from _parts_of_characters()
    yield from _unmatched()
    yield from _byte_order()


def _whole_pieces() -> Iterator[Draft]:
    for text, fact in _TEXTS_BOTH_WAYS:
        for vocabulary, rule in (("shortcut", "taken whole"), ("shortcut_off", "only merged")):
            yield Draft(
                op="encode",
                topic="whole_piece",
                slug=f"{vocabulary.replace('_', '-')}-{text}",
                vocabulary=vocabulary,
                request=TextInput(text=text),
                why=f"The piece {text} where pieces are {rule}: {fact}.",
                flags=["WholePiece", "DeadToken"],
                spec=_WHOLE,
                purposes=fails("longest first") if "abc" in text and text != "abc" else (),
            )
    for text in _DEAD:
        for vocabulary in ("dead_tokens", "dead_tokens_whole"):
            whole = vocabulary.endswith("whole")
            dead = text in {"abab", "abc", "bbb"}
            said = "a dead token" if dead else "no dead token, though it may hold one"
            came = "taken whole all the same" if whole and dead else "left to the merges"
            yield Draft(
                op="encode",
                topic="whole_piece",
                slug=f"{vocabulary.replace('_', '-')}-{text}",
                vocabulary=vocabulary,
                request=TextInput(text=text),
                why=f"{text} is {said}; with {vocabulary} it is {came}.",
                flags=["WholePiece", "DeadToken"],
                spec=_WHOLE,
            )
    for text in ("hello", " the", "The", "  ", "\n\n", "123", "don't", " international"):
        for vocabulary in ("tiny", "tiny_merging"):
            yield Draft(
                op="encode",
                topic="whole_piece",
                slug=f"{vocabulary.replace('_', '-')}-{_slug(text)}",
                vocabulary=vocabulary,
                request=TextInput(text=text),
                why=f"{text!r} with {vocabulary}: no token is dead, so taking pieces whole must "
                "never change the tokens.",
                flags=["WholePiece"],
                spec=_WHOLE,
            )


def _slug(text: str) -> str:
    """Return a text as part of an id: letters and digits, everything else by its number."""
    return "".join(
        sign.lower() if sign.isascii() and (sign.islower() or sign.isdigit()) else f"_{ord(sign):x}"
        for sign in text
    )


def _missing_bytes() -> Iterator[Draft]:
    refused = (
        ("start", "xabab", "the first byte"),
        ("second", "axab", "the second byte, right behind a token"),
        ("middle", "abxab", "a byte between two tokens"),
        ("end", "ababx", "the last byte"),
        ("alone", "z", "the only byte"),
        ("twice", "axbxa", "two bytes; the first of them is reason enough"),
        ("space", "ab ab", "the space, as byte-level vocabularies are wrongly thought to have all"),
        ("two-byte-character", "ab\u00e9", "both bytes of the last character"),
        ("four-byte-character", "\U0001f600", "all four bytes of the only character"),
        ("nul", "a\x00b", "byte zero, which ends a text in C"),
        ("upper-case", "aB", "the upper-case letter: there is no folding"),
        ("newline", "ab\n", "the line end, which a reader of lines would drop"),
        ("del", "ab\x7f", "the highest ASCII byte"),
        ("far", "ab" * 60 + "c", "the byte after 120 good ones, beyond tiktoken's short path"),
    )
    for slug, text, what in refused:
        yield Draft(
            op="encode",
            topic="missing_bytes",
            slug=f"refused-{slug}",
            vocabulary="missing_bytes",
            request=TextInput(text=text),
            why=f"No token for {what}: an error, never fewer tokens and never a wrong one.",
            flags=["MissingByte"],
            spec=_MISSING,
            purposes=(refuses("MISSING_BYTE"),),
        )
        yield Draft(
            op="count",
            topic="missing_bytes",
            slug=f"refused-{slug}",
            vocabulary="missing_bytes",
            request=TextInput(text=text),
            why=f"Counting must refuse what encoding refuses; no token for {what}.",
            flags=["MissingByte", "Count"],
            spec=_MISSING,
            purposes=(refuses("MISSING_BYTE"),),
        )
    for text, tokens in (("a", (0,)), ("b", (1,)), ("ab", (2,)), ("ba", (1, 0)), ("", ())):
        yield Draft(
            op="encode",
            topic="missing_bytes",
            slug=f"accepted-{text or 'empty'}",
            vocabulary="missing_bytes",
            request=TextInput(text=text),
            why=f"254 bytes are missing, but not those of {text!r}: this text is fine.",
            flags=["MissingByte"],
            spec=_MISSING,
            purposes=(answers(*tokens),),
        )
    for slug, text, known, fact in (
        ("piece", "\u00e9", answers(3), "the piece is the token, so its bytes are never asked for"),
        ("before-a", "\u00e9a", refuses("MISSING_BYTE"), "now the piece is longer than the token"),
        ("after-a", "a\u00e9", refuses("MISSING_BYTE"), "the token is at the end of the piece"),
        ("twice", "\u00e9\u00e9", refuses("MISSING_BYTE"), "the token twice is not the token"),
        ("ab", "ab", answers(2), "every byte is there"),
        ("abb", "abb", answers(2, 1), "every byte is there, and the piece is no token"),
    ):
        yield Draft(
            op="encode",
            topic="missing_bytes",
            slug=f"whole-{slug}",
            vocabulary="missing_bytes_whole",
            request=TextInput(text=text),
            why=f"{text!r} where \u00e9 is a token but its two bytes are none: {fact}.".replace(
                "\u00e9", "e-acute"
            ),
            flags=["MissingByte", "WholePiece"],
            spec=_MISSING,
            purposes=(known,),
        )
    for vocabulary, text in (("one_letter", "aaaa"), ("one_letter", "ab"), ("one_letter", "")):
        yield Draft(
            op="encode",
            topic="missing_bytes",
            slug=f"one-letter-{text or 'empty'}",
            vocabulary=vocabulary,
            request=TextInput(text=text),
            why=f"{text!r} with a single token, a: nothing merges, and only a can be said.",
            flags=["MissingByte", "EmptyInput"] if not text else ["MissingByte"],
            spec=_MISSING,
        )


def _parts_of_characters() -> Iterator[Draft]:
    texts = (
        ("ni", "\u4f60", "three bytes with tokens for both overlapping pairs of them"),
        ("hao", "\u597d", "three bytes with tokens for both overlapping pairs of them"),
        (
            "nihao",
            "\u4f60\u597d",
            "a token holds the last byte of the first and the first of the second character",
        ),
        ("haoni", "\u597d\u4f60", "the same two characters in the other order share no token"),
        ("ninini", "\u4f60\u4f60\u4f60", "no token joins this character to itself"),
        ("grin", "\U0001f600", "four bytes, and tokens for all three pairs of neighbours"),
        ("grin-grin", "\U0001f600\U0001f600", "four bytes twice, with nothing across"),
        ("e-acute", "\u00e9", "both bytes are one token"),
        (
            "e-acute-twice",
            "\u00e9\u00e9",
            "a token of last and first byte competes with the character itself",
        ),
        (
            "e-acute-thrice",
            "\u00e9\u00e9\u00e9",
            "the whole characters come first by rank, three times",
        ),
        ("mixed", "a\u00e9\u4f60\U0001f600", "one character of each length in UTF-8"),
        ("wave", "\U0001f44b", "begins as the grin does and goes on otherwise"),
        ("same-tail", "\u0098", "two bytes, of which the second is the grin's third"),
    )
    for slug, text, fact in texts:
        yield Draft(
            op="encode",
            topic="split_characters",
            slug=slug,
            vocabulary="utf8_parts",
            request=TextInput(text=text),
            why=f"{text.encode().hex()} in bytes: {fact}. Merging knows bytes, not characters.",
            flags=["SplitCharacter", "MergeOrder"],
            spec="docs/bpe.md#definition",
        )


def _unmatched() -> Iterator[Draft]:
    texts = (
        ("between", "ab12cd", "digits between two words leave two pieces and no trace"),
        ("all", "12 34", "nothing is matched, so there are no tokens"),
        ("leading", "  ab", "spaces before the word"),
        ("trailing", "ab!", "a sign behind the word"),
        ("upper", "aBcd", "an upper-case letter within a word cuts it in two"),
        ("accent", "ab\u00e9cd", "a letter outside a to z, of two bytes"),
        ("emoji", "a\U0001f600b", "a character of four bytes"),
        ("none", "abcd", "everything is matched: one piece, one token"),
        ("single", "a1b1c1d", "no merge happens across what was dropped"),
        ("long-s", "ab\u017fcd", "the long s is no s without case folding"),
        ("empty", "", "no text, no pieces"),
        ("newlines", "\nab\n\ncd\n", "line ends around and between"),
    )
    for slug, text, fact in texts:
        for op in ("pieces", "encode", "count"):
            yield Draft(
                op=op,
                topic="unmatched_text",
                slug=slug,
                vocabulary="only_lowercase",
                request=TextInput(text=text),
                why=f"{op} of {text!a} under [a-z]+: {fact}; unmatched text is dropped, as in "
                "tiktoken.",
                flags=["UnmatchedText"],
                spec=_PIECES,
                profile="tiktoken",
            )


def _byte_order() -> Iterator[Draft]:
    for text in ("a", "\x00", "\x7f", "ABC", "\u00ff", "\u20ac", "\U0001f600", "\n\t ", "~!"):
        tokens = [255 - byte for byte in text.encode()]
        yield Draft(
            op="encode",
            topic="byte_order",
            slug=text.encode().hex(),
            vocabulary="byte_order",
            request=TextInput(text=text),
            why=f"{text!a}: the ids of its bytes are {tokens}, not their values.",
            flags=["ByteOrder"],
            purposes=(answers(*tokens),),
        )
    for byte in range(0x80):
        if byte % 9 == 0:
            yield Draft(
                op="encode",
                topic="byte_order",
                slug=f"with-shortcut-{byte:02x}",
                vocabulary="shortcut",
                request=TextInput(text=chr(byte)),
                why=f"Byte {byte} alone is token {byte} here: a text of one byte needs no merge.",
                flags=["ByteOrder"],
                purposes=(answers(byte),),
            )
    letters = vocabulary_named("shuffled_ids")
    for text in ("abc", "cab", "cabc", "abcab", "bcbc", "ccab", "abab"):
        assert letters.symbols(text.encode())  # noqa: S101 - all letters are there
        yield Draft(
            op="count",
            topic="byte_order",
            slug=f"shuffled-{text}",
            vocabulary="shuffled_ids",
            request=TextInput(text=text),
            why=f"{text} where ids fall as ranks rise: the count depends on ranks, not on ids.",
            flags=["IdNotRank", "Count"],
            spec="docs/bpe.md#counting",
        )
