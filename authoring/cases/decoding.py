"""Cases about decoding: bytes, split characters, text that is not, and ids that are none."""

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from authoring.cases.draft import Draft, Purpose, PurposeError, refuses
from authoring.cases.vocabularies import vocabulary_named
from bpe_ref import tokenizer_of
from tokenref.questions.text import DecodeInput, DecodeOutput
from tokenref.record import Case
from tokenref.subjects import Subject

SPEC: Final = "docs/bpe.md#decoding"

NOT_TEXT: Final = (
    ("lone-80", "80", 1, "A lone continuation byte"),
    ("lone-bf", "bf", 1, "The highest continuation byte, alone"),
    ("two-lone", "8080", 2, "Two continuation bytes that continue nothing"),
    ("c0-80", "c080", 2, "An overlong zero: neither byte can be part of a character"),
    ("c1-bf", "c1bf", 2, "An overlong DEL: neither byte can be part of a character"),
    ("c2-end", "c2", 1, "The first byte of two, and no more"),
    ("c2-a", "c261", 1, "The first byte of two, then a letter"),
    ("c2-c3", "c2c3", 2, "Two first bytes in a row"),
    ("e0-80-80", "e08080", 3, "An overlong zero in three bytes: E0 admits no 80 behind it"),
    ("e0-a0-end", "e0a0", 1, "Two good bytes of three are one maximal part"),
    ("e0-9f-bf", "e09fbf", 3, "E0 admits only A0 to BF behind it"),
    ("e1-80-a", "e18061", 1, "Two bytes of three, then a letter"),
    ("e4-bd-end", "e4bd", 1, "The first two bytes of a Chinese character are one part"),
    ("e4-bd-e4", "e4bde4bda0", 1, "A character cut short, then whole"),
    ("ed-9f-bf", "ed9fbf", 0, "U+D7FF, the last character before the surrogates, is fine"),
    ("ed-a0-80", "eda080", 3, "A high surrogate: ED admits only 80 to 9F behind it"),
    ("ed-bf-bf", "edbfbf", 3, "A low surrogate is three errors as well"),
    ("ee-80-80", "ee8080", 0, "U+E000, the first character behind the surrogates, is fine"),
    ("f0-80-80-80", "f0808080", 4, "An overlong zero in four bytes"),
    ("f0-90-80-end", "f09080", 1, "Three bytes of four are one maximal part"),
    ("f0-9f-end", "f09f", 1, "Two bytes of an emoji are one maximal part"),
    ("f0-9f-98-f0", "f09f98f09f9880", 1, "An emoji cut short, then whole"),
    ("f0-9f-a", "f09f61", 1, "Two bytes of an emoji, then a letter"),
    ("f0-9f-98-ff", "f09f98ff", 2, "Three bytes of an emoji, then a byte that is never one"),
    ("f4-8f-bf-bf", "f48fbfbf", 0, "The last code point is fine"),
    ("f4-90-80-80", "f4908080", 4, "One beyond the last code point: F4 admits only 80 to 8F"),
    ("f5-80-80-80", "f5808080", 4, "F5 begins nothing"),
    ("f8-88-80-80-80", "f888808080", 5, "Five bytes for one character, as long ago"),
    ("fe-ff", "feff", 2, "FE and FF occur in no UTF-8"),
    ("truncated-row", "e180e2f09192f1bf41", 4, "Four characters cut short one after the other"),
    ("mixed-row", "61f18081c280ff62", 2, "Good, cut-short and impossible characters in a row"),
    ("between", "41c35a", 1, "A first byte between two letters"),
    ("real-replacement", "efbfbd", 0, "A real U+FFFD is text and no error"),
    ("real-and-not", "efbfbdff", 1, "A real U+FFFD, then a bad byte: both look the same"),
    ("byte-order-mark", "efbbbf61", 0, "A byte order mark is a character, and stays"),
    ("cut-replacement", "efbf", 1, "A U+FFFD that is itself cut short"),
    ("swapped", "a9c3", 2, "Both bytes of a letter in the wrong order"),
    ("many", "ff" * 8, 8, "Eight bad bytes are eight replacements"),
    ("nul", "00ff00", 1, "Zero bytes around a bad one are kept"),
)
"""Bytes, how many replacement characters stand for what is wrong in them, and why."""


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
    request: tuple[Sequence[int], Literal["strict", "replace"] | None],
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
        request=DecodeInput(ids=list(ids), errors=errors)
        if errors is not None
        else DecodeInput(ids=list(ids)),
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
    """Return the purpose "so many replacement characters come out".

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
    splits = (
        ("ni-1-2", "e4 bda0", "a Chinese character cut after its first byte"),
        ("ni-2-1", "e4bd a0", "a Chinese character cut before its last byte"),
        ("ni-1-1-1", "e4 bd a0", "a Chinese character byte by byte"),
        ("nihao", "e4bd a0e5 a5bd", "two characters, one token with parts of both"),
        ("grin-2-2", "f09f 9880", "an emoji cut in the middle"),
        ("grin-1-2-1", "f0 9f98 80", "an emoji of which the middle is a token"),
        ("grin-1-1-1-1", "f0 9f 98 80", "an emoji byte by byte"),
        ("e-acute", "c3 a9", "a letter cut in two"),
        ("e-acute-twice", "c3 a9c3 a9", "two letters, one token with parts of both"),
        ("letters-around", "61 f09f 9880 62", "an emoji cut in two between letters"),
    )
    for slug, written, fact in splits:
        ids = [token[bytes.fromhex(part)] for part in written.split()]
        for name, errors in (("bytes", None), ("strict", "strict"), ("replace", "replace")):
            said = {"bytes": "as bytes", "strict": "strictly, which is fine", "replace": "lossily"}
            yield _draft(
                "split_characters",
                f"{slug}-{name}",
                "utf8_parts",
                (ids, _errors(errors)),
                f"Tokens {written}, {fact}, decoded {said[name]}: token by token it would fail.",
                ["SplitCharacter"],
                [replacements(0)] if errors == "replace" else [],
            )


def _errors(name: str | None) -> Literal["strict", "replace"] | None:
    return "strict" if name == "strict" else "replace" if name == "replace" else None


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
                f"{fact}: as bytes, {digits} comes back unharmed.",
                ["StrictDecode"],
                [decodes_to(bytes.fromhex(digits))],
            )


def _unknown_ids() -> Iterator[Draft]:
    unknown: tuple[tuple[str, str, list[int], str], ...] = (
        ("hole-first", "holes", [0], "id 0 is a hole, for the first token has id 2"),
        ("hole-middle", "holes", [2, 5, 3], "5 is a hole between two tokens"),
        ("hole-many", "holes", [29], "29 is the last id of a gap"),
        ("beyond-holes", "holes", [32], "31 is the highest id here"),
        ("beyond-tiny", "tiny", [2004], "one more than the last special token"),
        ("beyond-readme", "readme", [9], "the nine tokens end with id 8"),
        ("far", "tiny", [100_000], "an id of a larger vocabulary"),
        ("i32", "tiny", [2**31], "2 to the 31st, which wraps to a negative number"),
        ("u32-last", "tiny", [2**32 - 1], "the largest 32-bit number, used for no token at all"),
        ("u32", "tiny", [2**32], "2 to the 32nd, which wraps to id 0"),
        ("u32-and-five", "readme", [2**32 + 5], "2 to the 32nd and 5, which wraps to id 5"),
        ("i64", "readme", [2**63 - 1], "the largest signed 64-bit number"),
        ("minus-one", "tiny", [-1], "minus one, which is the last entry of a list in Python"),
        ("minus-nine", "readme", [-9], "minus nine, which is the first entry of nine from behind"),
        ("minus-i32", "tiny", [-(2**31)], "the smallest signed 32-bit number"),
        ("after-good", "tiny", [260, 261, 5000], "two good ids come before it"),
        ("before-good", "tiny", [5000, 260], "a good id comes after it"),
        ("between-good", "readme", [3, 77, 4], "it stands between good ids"),
        ("by-pair", "pair_unlisted", [3], "by pair there are three tokens, 0 to 2"),
        ("gap-of-specials", "specials_shared", [299], "a hole between bytes and special tokens"),
        ("i32-boundary", "ranks_beyond_i32", [0x8000_0001], "one above the highest id"),
    )
    for slug, vocabulary, ids, fact in unknown:
        for name, errors in (("bytes", None), ("replace", "replace")):
            yield _draft(
                "unknown_ids",
                f"{slug}-{name}",
                vocabulary,
                (ids, _errors(errors)),
                f"{fact[0].upper()}{fact[1:]}: an unknown id is an error as {name}, never nothing.",
                ["UnknownId", *(["IdHole"] if vocabulary == "holes" else [])],
                [refuses("UNKNOWN_ID")],
            )
    known: tuple[tuple[str, str, list[int], bytes, str], ...] = (
        ("last-special", "tiny", [2003], b"<|fim_suffix|>", "the last id of all is a special one"),
        ("dead", "dead_tokens", [5], b"abc", "a token that encoding never yields decodes like any"),
        ("not-canonical", "doubles", [0, 0, 0], b"aaa", "ids that no encoding yields are fine"),
        ("i32", "ranks_beyond_i32", [0x8000_0000], b"ab", "this id has the highest bit of 32 set"),
        ("i31", "ranks_beyond_i32", [0x7FFF_FFFF, 2], b"bcc", "this id is the largest signed one"),
        ("high", "high_ranks", [0x1_0004, 0x100_0011], b"dejk", "ids of 17 and 25 bits"),
        ("holes", "holes", [31, 2, 30], b"cabaabc", "every one of these ids is there"),
        ("shuffled", "shuffled_ids", [0, 1, 6], b"cababca", "ids are not places in the file"),
    )
    for slug, vocabulary, ids, expected, fact in known:
        yield _draft(
            "known_ids",
            slug,
            vocabulary,
            (ids, None),
            f"{fact[0].upper()}{fact[1:]}: {ids} with {vocabulary} are the bytes of {expected!r}.",
            ["UnknownId", "Decoding"],
            [decodes_to(expected)],
        )


def _specials() -> Iterator[Draft]:
    cases: tuple[tuple[str, str, list[int], bytes, str], ...] = (
        ("alone", "tiny", [2000], b"<|endoftext|>", "a special token by itself"),
        ("twice", "tiny", [2000, 2000], b"<|endoftext|>" * 2, "the same special token twice"),
        ("fim", "tiny", [2001, 97, 2002], b"", "special tokens around an ordinary one"),
        (
            "prefix",
            "specials_prefix",
            [1001, 1000, 1003],
            b"<|a|><|b|><|a|><|a|><",
            "special tokens that begin with one another",
        ),
        ("unicode", "specials_unicode", [1000, 1001, 1002], b"", "special tokens beyond ASCII"),
        (
            "nfc-nfd",
            "specials_unicode",
            [1003, 1004],
            b"\xc3\xa9e\xcc\x81",
            "two special tokens that look the same",
        ),
        (
            "shared",
            "specials_shared",
            [300],
            b"<|end|>",
            "an id with two names decodes to the one listed first",
        ),
        (
            "shared-start",
            "specials_shared",
            [301, 300],
            b"<|start|><|end|>",
            "an id with two names behind one with one",
        ),
        (
            "ordinary",
            "specials_ordinary",
            [1000, 257],
            b"abcabc",
            "a special token and an ordinary one with the same text",
        ),
        (
            "metacharacters",
            "specials_metacharacters",
            [1000, 1001, 1003],
            b"[x]a.c(?i)",
            "special tokens full of signs",
        ),
    )
    for slug, vocabulary, ids, expected, fact in cases:
        for name, errors in (("bytes", None), ("strict", "strict")):
            yield _draft(
                "specials",
                f"{slug}-{name}",
                vocabulary,
                (ids, _errors(errors)),
                f"{fact[0].upper()}{fact[1:]}: {ids} decode to their texts, as "
                f"{'bytes' if errors is None else 'text'}.",
                ["SpecialToken", *(["SharedId"] if "shared" in slug else [])],
                [decodes_to(expected)] if expected and errors is None else [],
            )
    parts = vocabulary_named("specials_unicode")
    cut_by_special = [parts.ids["\xc3"], 1000, parts.ids["\xa9"]]
    for name, errors, said in (
        ("replace", "replace", "both halves are replaced, one by one"),
        ("strict", "strict", "the halves do not meet, so this is an error"),
        ("bytes", None, "as bytes this is no question"),
    ):
        yield _draft(
            "specials",
            f"between-halves-{name}",
            "specials_unicode",
            (cut_by_special, _errors(errors)),
            f"A special token between both bytes of a letter: {said}.",
            ["SpecialToken", "SplitCharacter"],
            [replacements(2)] if errors == "replace" else [],
        )


def _sequences() -> Iterator[Draft]:
    tiny = tokenizer_of(vocabulary_named("tiny"))
    for name, errors in (("bytes", None), ("strict", "strict"), ("replace", "replace")):
        yield _draft(
            "sequences",
            f"empty-{name}",
            "tiny",
            ([], _errors(errors)),
            f"No ids at all, decoded as {name}: nothing comes out, and that is no error.",
            ["EmptyInput", "Decoding"],
        )
    texts = (
        ("leading-space", " hello", "the space before the first word is kept"),
        ("trailing-space", "hello ", "the space behind the last word is kept"),
        ("before-sign", "x != y ?", "no space before a sign is taken away"),
        ("contraction", "do n't they 're", "no space before a contraction is taken away"),
        ("lines", "a\r\n\tb\n\n", "line ends and tabs come back as they were"),
        ("bom", "\ufeffa", "a byte order mark is text and stays"),
        ("nul", "a\x00b", "a zero byte does not end the text"),
        ("emoji", "\U0001f468\u200d\U0001f469", "joined emoji over several tokens come back"),
        ("replacement", "a\ufffdb", "a real U+FFFD is not taken away"),
        ("nfd", "e\u0301", "a letter and its accent are not composed"),
        ("chinese", "\u4f60\u597d\u4e16\u754c", "characters over several tokens come back"),
        ("special-text", "<|endoftext|>", "special text in ordinary tokens is text"),
    )
    for slug, text, fact in texts:
        ids = tiny.encode(text, special="ordinary")
        yield _draft(
            "sequences",
            slug,
            "tiny",
            (ids, "strict"),
            f"{fact[0].upper()}{fact[1:]}: {text!a} back from its {len(ids)} tokens.",
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
