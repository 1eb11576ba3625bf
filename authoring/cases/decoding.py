"""Cases about decoding: bytes, split characters, text that is not, and ids that are none."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import UNSET

from authoring.cases.draft import Draft, Purpose, PurposeError, refuses
from authoring.cases.vocabularies import vocabulary_named
from authoring.data import tables
from bpe_ref import tokenizer_of
from tokenref.questions.text import DecodeInput, DecodeOutput
from tokenref.record import Case
from tokenref.subjects import Subject

SPEC: Final = "docs/bpe.md#decoding"

_TABLES: Final = tables("decoding")
NOT_TEXT: Final = _TABLES["not_text"]

Errors: TypeAlias = Literal["strict", "replace"] | None
"""What is done about bytes that are not UTF-8; None: bytes are wanted, and not text."""

_ALL: Final[Mapping[str, Errors]] = {"bytes": None, "strict": "strict", "replace": "replace"}
"""The ways to decode, by the name that a slug gives them."""


def drafts() -> Iterator[Draft]:
    """Yield the cases of this topic."""
    yield from _single_bytes()
    yield from _split_characters()
    yield from _not_text()
    yield from _unknown_ids()
    yield from _specials()
    yield from _sequences()


def _draft(
    topic: str,
    slug: str,
    vocabulary: str,
    request: tuple[Sequence[int], Errors],
    why: str,
    flags: Sequence[str],
    purposes: Sequence[Purpose] = (),
) -> Draft:
    ids, errors = request
    return Draft(
        op="decode",
        topic=topic,
        slug=slug,
        vocabulary=vocabulary,
        request=DecodeInput(ids=list(ids), errors=UNSET if errors is None else errors),
        why=why,
        flags=flags,
        spec=SPEC,
        purposes=purposes,
    )


def decodes_to(expected: bytes) -> Purpose:
    """Return the purpose "the bytes are these".

    >>> decodes_to(b"a")  # doctest: +ELLIPSIS
    <function ...>
    """

    def check(_: Subject, case: Case) -> None:
        if case.out != DecodeOutput(octets=expected.hex()):
            raise PurposeError(f"{case.id}: the bytes must be {expected.hex()}, got {case.out}")

    return check


def replacements(expected: int) -> Purpose:
    """Return the purpose "the text contains this number of replacement characters".

    >>> replacements(1)  # doctest: +ELLIPSIS
    <function ...>
    """

    def check(_: Subject, case: Case) -> None:
        text = case.out.text if isinstance(case.out, DecodeOutput) else None
        if not isinstance(text, str) or text.count("\ufffd") != expected:
            raise PurposeError(f"{case.id}: must have {expected} times U+FFFD, got {text!a}")

    return check


def _single_bytes() -> Iterator[Draft]:
    tiny = vocabulary_named("tiny")
    for byte in range(256):
        token = tiny.ids[chr(byte)]
        if byte % 5 == 0 or byte in {0x20, 0x7F, 0x80, 0xC2, 0xE1, 0xF0, 0xF4, 0xFF}:
            yield _draft(
                "single_bytes",
                f"{byte:02x}",
                "tiny",
                ([token], None),
                f"Token {token} is the byte {byte:02X} by itself, whether or not that is text.",
                ["ByteOrder"],
                [decodes_to(bytes([byte]))],
            )
    for vocabulary, order in (("byte_order", "reverse"), ("shortcut", "rising")):
        ids = list(range(256))
        yield _draft(
            "single_bytes",
            f"all-{vocabulary.replace('_', '-')}",
            vocabulary,
            (ids, None),
            f"All 256 single bytes at once, in {order} order: decoding is the join of bytes.",
            ["ByteOrder"],
        )


def _split_characters() -> Iterator[Draft]:
    parts = vocabulary_named("utf8_parts")
    token = {content: token for token, content in parts.tokens.items()}
    for slug, written, fact in _TABLES["split_characters"]:
        ids = [token[bytes.fromhex(part)] for part in written.split()]
        for name, errors in _ALL.items():
            said = {"bytes": "as bytes", "strict": "strictly, which is fine", "replace": "lossily"}
            yield _draft(
                "split_characters",
                f"{slug}-{name}",
                "utf8_parts",
                (ids, errors),
                f"Tokens {written}, {fact}, decoded {said[name]}: token by token it would fail.",
                ["SplitCharacter"],
                [replacements(0)] if errors == "replace" else [],
            )


def _not_text() -> Iterator[Draft]:
    for slug, digits, wrong, fact in NOT_TEXT:
        ids = list(bytes.fromhex(digits))
        yield _draft(
            "not_text",
            f"{slug}-replace",
            "shortcut",
            (ids, "replace"),
            f"{fact}: {wrong} times U+FFFD by the rule of maximal parts, for {digits}."
            if wrong
            else f"{fact}: nothing is replaced in {digits}.",
            ["ReplaceMaximalPart"],
            [replacements(wrong + digits.count("efbfbd"))],
        )
        yield _draft(
            "not_text",
            f"{slug}-strict",
            "shortcut",
            (ids, "strict"),
            f"{fact}: {digits} is {'not text, and so an error' if wrong else 'text, so no error'}.",
            ["StrictDecode"],
            [refuses("INVALID_UTF8")] if wrong else [],
        )
        if wrong:
            yield _draft(
                "not_text",
                f"{slug}-bytes",
                "byte_order",
                ([255 - byte for byte in ids], None),
                f"{fact}: as bytes, {digits} is unchanged.",
                ["StrictDecode"],
                [decodes_to(bytes.fromhex(digits))],
            )


def _unknown_ids() -> Iterator[Draft]:
    for slug, vocabulary, ids, fact in _TABLES["unknown_ids"]:
        for name in ("bytes", "replace"):
            yield _draft(
                "unknown_ids",
                f"{slug}-{name}",
                vocabulary,
                (ids, _ALL[name]),
                f"{fact}: an unknown id is an error as {name}, never nothing.",
                ["UnknownId", *(["IdHole"] if vocabulary == "holes" else [])],
                [refuses("UNKNOWN_ID")],
            )
    for slug, vocabulary, ids, expected, fact in _TABLES["known_ids"]:
        yield _draft(
            "known_ids",
            slug,
            vocabulary,
            (ids, None),
            f"{fact}: {ids} with {vocabulary} are the bytes of {expected.encode()!r}.",
            ["UnknownId", "Decoding"],
            [decodes_to(expected.encode())],
        )


def _specials() -> Iterator[Draft]:
    for slug, vocabulary, ids, expected, fact in _TABLES["special_ids"]:
        for name in ("bytes", "strict"):
            yield _draft(
                "specials",
                f"{slug}-{name}",
                vocabulary,
                (ids, _ALL[name]),
                f"{fact}: {ids} decode to their texts, as {'bytes' if name == 'bytes' else 'text'}.",
                ["SpecialToken", *(["SharedId"] if "shared" in slug else [])],
                [decodes_to(expected.encode())] if expected and name == "bytes" else [],
            )
    parts = vocabulary_named("specials_unicode")
    cut_by_special = [parts.ids["\xc3"], 1000, parts.ids["\xa9"]]
    for name, said in (
        ("replace", "both halves are replaced, one by one"),
        ("strict", "the halves do not meet, so this is an error"),
        ("bytes", "as bytes this is not a question"),
    ):
        yield _draft(
            "specials",
            f"between-halves-{name}",
            "specials_unicode",
            (cut_by_special, _ALL[name]),
            f"A special token between both bytes of a letter: {said}.",
            ["SpecialToken", "SplitCharacter"],
            [replacements(2)] if name == "replace" else [],
        )


def _sequences() -> Iterator[Draft]:
    tiny = tokenizer_of(vocabulary_named("tiny"))
    for name, errors in _ALL.items():
        yield _draft(
            "sequences",
            f"empty-{name}",
            "tiny",
            ([], errors),
            f"No ids at all, decoded as {name}: the result is empty, which is not an error.",
            ["EmptyInput", "Decoding"],
        )
    for slug, text, fact in _TABLES["sequences"]:
        ids = tiny.encode(text, special="ordinary")
        yield _draft(
            "sequences",
            slug,
            "tiny",
            (ids, "strict"),
            f"{fact}: {text!a} back from its {len(ids)} tokens.",
            ["Decoding"],
        )
    ordinary = [token for token in vocabulary_named("tiny").tokens if token % 3 == 0]
    yield _draft(
        "sequences",
        "every-third-token",
        "tiny",
        (ordinary, None),
        f"{len(ordinary)} tokens in a row, every third of tiny: long lists are only longer.",
        ["Decoding"],
    )
    yield _draft(
        "sequences",
        "long-run",
        "tiny",
        ([256] * 500, "strict"),
        "One token 500 times: a thousand spaces.",
        ["Decoding", "LongRun"],
    )
