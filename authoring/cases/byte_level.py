"""Cases about the whole-piece rule, bytes without tokens, tokens that are not text, and ids."""

from collections.abc import Iterator, Sequence
from typing import Final

from authoring.cases.draft import Draft, Purpose, answers, refuses
from authoring.cases.rivals import fails
from authoring.cases.vocabularies import vocabulary_named
from authoring.data import tables
from tokenref.questions.text import TextInput

_WHOLE: Final = "docs/bpe.md#whole-piece"
_MISSING: Final = "docs/bpe.md#missing-bytes"
_PIECES: Final = "docs/bpe.md#pieces"
_COUNTING: Final = "docs/bpe.md#counting"

_TEXTS_BOTH_WAYS: Final = (
    ("abc", "it is the token itself"),
    ("abcd", "the token is only a prefix of it"),
    ("xabc", "the token is only its end"),
    ("abcabc", "it is the token twice, and so not the token"),
    ("ab", "it is a prefix of a token, but not a token itself"),
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


def _case(
    name: str,
    vocabulary: str,
    text: str,
    why: str,
    flags: Sequence[str],
    spec: str = "docs/bpe.md#definition",
    *purposes: Purpose,
    op: str = "encode",
    profile: str = "definition",
) -> Draft:
    """Return a case whose name is its topic and slug, with a slash between."""
    topic, slug = name.split("/")
    request = TextInput(text=text)
    return Draft(op, topic, slug, vocabulary, request, why, flags, spec, profile, purposes)


def _whole_pieces() -> Iterator[Draft]:
    flags = ["WholePiece", "DeadToken"]
    for text, fact in _TEXTS_BOTH_WAYS:
        for vocabulary, rule in (("shortcut", "taken whole"), ("shortcut_off", "only merged")):
            name = f"whole_piece/{vocabulary.replace('_', '-')}-{text}"
            why = f"The piece {text} where pieces are {rule}: {fact}."
            found = fails("longest first") if "abc" in text and text != "abc" else ()
            yield _case(name, vocabulary, text, why, flags, _WHOLE, *found)
    for text in _DEAD:
        for vocabulary in ("dead_tokens", "dead_tokens_whole"):
            whole = vocabulary.endswith("whole")
            dead = text in {"abab", "abc", "bbb"}
            said = "a dead token" if dead else "not a dead token, but may contain one"
            came = "taken whole all the same" if whole and dead else "left to the merges"
            name = f"whole_piece/{vocabulary.replace('_', '-')}-{text}"
            why = f"{text} is {said}; with {vocabulary} it is {came}."
            yield _case(name, vocabulary, text, why, flags, _WHOLE)
    for text in ("hello", " the", "The", "  ", "\n\n", "123", "don't", " international"):
        for vocabulary in ("tiny", "tiny_merging"):
            name = f"whole_piece/{vocabulary.replace('_', '-')}-{_slug(text)}"
            why = (
                f"{text!r} with {vocabulary}: no token is dead, so taking pieces whole must "
                "never change the tokens."
            )
            yield _case(name, vocabulary, text, why, ["WholePiece"], _WHOLE)


def _slug(text: str) -> str:
    """Return a text as part of an id: letters and digits, everything else by its number."""
    return "".join(
        sign.lower() if sign.isascii() and (sign.islower() or sign.isdigit()) else f"_{ord(sign):x}"
        for sign in text
    )


def _missing_bytes() -> Iterator[Draft]:
    refused = refuses("MISSING_BYTE")
    for slug, text, what in tables("byte_level")["missing"]:
        name, vocabulary = f"missing_bytes/refused-{slug}", "missing_bytes"
        why = f"No token for {what}: an error, never fewer tokens and never a wrong one."
        yield _case(name, vocabulary, text, why, ["MissingByte"], _MISSING, refused)
        why = f"Counting must refuse what encoding refuses; no token for {what}."
        flags = ["MissingByte", "Count"]
        yield _case(name, vocabulary, text, why, flags, _MISSING, refused, op="count")
    for text, tokens in (("a", (0,)), ("b", (1,)), ("ab", (2,)), ("ba", (1, 0)), ("", ())):
        name = f"missing_bytes/accepted-{text or 'empty'}"
        why = f"254 bytes are missing, but not those of {text!r}: this text is fine."
        known = answers(*tokens)
        yield _case(name, "missing_bytes", text, why, ["MissingByte"], _MISSING, known)
    for slug, text, known, fact in (
        (
            "piece",
            "\u00e9",
            answers(3),
            ("the piece is the token, so its bytes are never looked up"),
        ),
        ("before-a", "\u00e9a", refused, "now the piece is longer than the token"),
        ("after-a", "a\u00e9", refused, "the token is at the end of the piece"),
        ("twice", "\u00e9\u00e9", refused, "the token twice is not the token"),
        ("ab", "ab", answers(2), "every byte is there"),
        ("abb", "abb", answers(2, 1), "every byte has a token, but the piece is not a token"),
    ):
        why = f"{text!r} where \u00e9 is a token but its two bytes are none: {fact}."
        why = why.replace("\u00e9", "e-acute")
        name, flags = f"missing_bytes/whole-{slug}", ["MissingByte", "WholePiece"]
        yield _case(name, "missing_bytes_whole", text, why, flags, _MISSING, known)
    for text in ("aaaa", "ab", ""):
        name = f"missing_bytes/one-letter-{text or 'empty'}"
        why = f"{text!r} with a single token, a: nothing merges, and only a can be encoded."
        flags = ["MissingByte", "EmptyInput"] if not text else ["MissingByte"]
        yield _case(name, "one_letter", text, why, flags, _MISSING)


def _parts_of_characters() -> Iterator[Draft]:
    for slug, text, fact in tables("byte_level")["characters"]:
        why = f"{text.encode().hex()} in bytes: {fact}. Merging knows bytes, not characters."
        flags = ["SplitCharacter", "MergeOrder"]
        yield _case(f"split_characters/{slug}", "utf8_parts", text, why, flags)


def _unmatched() -> Iterator[Draft]:
    for slug, text, fact in tables("byte_level")["unmatched"]:
        for op in ("pieces", "encode", "count"):
            why = (
                f"{op} of {text!a} under [a-z]+: {fact}; unmatched text is dropped, as in tiktoken."
            )
            name, flags = f"unmatched_text/{slug}", ["UnmatchedText"]
            yield _case(
                name, "only_lowercase", text, why, flags, _PIECES, op=op, profile="tiktoken"
            )


def _byte_order() -> Iterator[Draft]:
    flags, spec = ["ByteOrder"], "docs/bpe.md#definition"
    for text in ("a", "\x00", "\x7f", "ABC", "\u00ff", "\u20ac", "\U0001f600", "\n\t ", "~!"):
        tokens = [255 - byte for byte in text.encode()]
        name = f"byte_order/{text.encode().hex()}"
        why = f"{text!a}: the ids of its bytes are {tokens}, not their values."
        yield _case(name, "byte_order", text, why, flags, spec, answers(*tokens))
    for byte in range(0, 0x80, 9):
        name = f"byte_order/with-shortcut-{byte:02x}"
        why = f"Byte {byte} alone is token {byte} here: a text of one byte needs no merge."
        yield _case(name, "shortcut", chr(byte), why, flags, spec, answers(byte))
    letters = vocabulary_named("shuffled_ids")
    for text in ("abc", "cab", "cabc", "abcab", "bcbc", "ccab", "abab"):
        assert letters.symbols(text.encode())  # noqa: S101 - all letters are there
        name, flags = f"byte_order/shuffled-{text}", ["IdNotRank", "Count"]
        why = f"{text} where ids fall as ranks rise: the count depends on ranks, not on ids."
        yield _case(name, "shuffled_ids", text, why, flags, _COUNTING, op="count")
